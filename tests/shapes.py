"""Eleven shapes of two classes and their exact posteriors; two normal classes."""

from collections import Counter
from fractions import Fraction

import numpy as np
from scipy.stats import norm

SHAPES = [
    *("circle blue large +", "circle red medium -", "circle red large -", "square blue small -", "square red small -"),
    *("square red medium +", "square blue medium +", "square blue large -", "triangle red small -"),
    *("triangle red large +", "triangle blue medium +"),
]
NAMES = ("shape", "colour", "size")
ROWS = [line.split() for line in SHAPES]
TABLE = {name: [row[j] for row in ROWS] for j, name in enumerate(NAMES)}
LABELS = [row[3] for row in ROWS]


def exact_joint(values, smoothing):
    """Joint probability of each class by counting, as fractions; None is a missing value."""
    found = {}
    for label, n in Counter(LABELS).items():
        joint = Fraction(n, len(ROWS))
        for j, value in enumerate(values):
            if value is not None:
                count = sum(row[j] == value and row[3] == label for row in ROWS)
                levels = len({row[j] for row in ROWS})
                joint *= Fraction(count + smoothing, n + smoothing * levels)
        found[label] = joint
    return found


def one(*values):
    return {name: [value] for name, value in zip(NAMES, values, strict=True)}


def two_normals(n=200, seed=0):
    """Classes whose means and deviations are exactly 0, 1 and 2, 1."""
    z = norm.ppf((np.arange(n) + 0.5) / n)
    z = (z - z.mean()) / z.std()
    return {"x": np.concatenate([z, z + 2])}, np.repeat(["a", "b"], n)
