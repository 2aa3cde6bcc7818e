"""Level probabilities under every smoothing, as exact fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath

from bayeskit.families.categorical import Categorical
from bayeskit.smoothing import AddM, Laplace, MEstimate, NoSmoothing, ReplaceZeros, TowardPooled, smoothing

Groups = list[list[tuple[Any, float]]]
RULES = [1.0, 0, 0.25, Laplace(2.5), ReplaceZeros(), ReplaceZeros("class"), MEstimate(0.3), TowardPooled(1.5), AddM(2)]
VARIANTS = [Categorical(rule) for rule in RULES]
SUPPORT = "levels"


def probability(
    rule: Any, n: Fraction, n_c: Fraction, m: int, share: Fraction, rows: Fraction, pooled: Fraction
) -> Fraction:
    """Of a level of weight n: n_c values in the class, m levels, the class's share, all rows, its share in them."""
    match smoothing(rule):
        case Laplace(alpha):
            return (n + Fraction(alpha)) / (n_c + Fraction(alpha) * m)
        case NoSmoothing():
            return n / n_c
        case ReplaceZeros(by):
            return n / n_c if n else (share if by == "class" else Fraction(by)) / rows
        case MEstimate(pseudo, None):
            return (n + Fraction(pseudo) / m) / (n_c + Fraction(pseudo))
        case TowardPooled(pseudo):
            return (n + Fraction(pseudo) * pooled) / (n_c + Fraction(pseudo))
        case AddM(pseudo):
            return (n + Fraction(pseudo)) / (n_c + Fraction(pseudo))
    raise NotImplementedError(f"no reference for {rule}")


def log_density(family: Categorical, groups: Groups, points: list[Any]) -> list[list[Any]]:
    """A class without values of the column takes the frequencies of all classes where nothing smooths."""
    exact = [[(x, Fraction(w)) for x, w in rows if w > 0] for rows in groups]
    weights = [sum((w for _, w in rows), Fraction(0)) for rows in exact]
    levels = {x for rows in exact for x, _ in rows if x is not None}
    found = []
    everywhere = [row for rows in exact for row in rows if row[0] is not None]
    for point in points:
        line = []
        whole = sum((w for _, w in everywhere), Fraction(0))
        pooled = sum((w for x, w in everywhere if x == point), Fraction(0)) / whole if whole else Fraction(0)
        for rows, weight in zip(exact, weights, strict=True):
            there = [row for row in rows if row[0] is not None]
            if not there and smoothing(family.smoothing) == NoSmoothing():
                there = [row for all_rows in exact for row in all_rows if row[0] is not None]
            n = sum((w for x, w in there if x == point), Fraction(0))
            n_c = sum((w for _, w in there), Fraction(0))
            p = probability(family.smoothing, n, n_c, len(levels), weight / sum(weights), sum(weights), pooled)
            line.append(mpmath.log(mpmath.mpf(p.numerator) / p.denominator) if p else -mpmath.inf)
        found.append(line)
    return found
