"""Integrals over none, one or two numbers of what each class has, and of what the best decision gets right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise, product

import numpy as np

from bayeskit.arrays import Float

TOLERANCE = {1: 1e-9, 2: 1e-6}  # of the whole integral, by the number of axes
MOST = 4_000_000  # points
AXIS = 40  # panels of each of two axes to begin with
COARSE, FINE = np.polynomial.legendre.leggauss(5), np.polynomial.legendre.leggauss(8)


def integrate(joint: Callable[[Float], Float], points: Sequence[Float], classes: int) -> tuple[Float, Float]:
    """Integral of P(c, x) where c is the best class, and everywhere: (K,) each.

    Panels between the points of each axis; those on which two Gauss-Legendre rules differ are halved along every axis,
    the worst first, until they agree: a boundary between decisions is a kink that only small panels follow.
    """
    if not points:
        value = joint(np.empty((1, 0)))
        return _best(value)[0], value[0]
    if len(points) > 1:
        points = [np.append(p[:-1][:: -(-len(p) // AXIS)], p[-1]) for p in points]
    panels = np.array(list(product(*(pairwise(p) for p in points))))  # (m, d, 2)
    right, mass, used = np.zeros(classes), np.zeros(classes), 0
    tolerance = TOLERANCE[len(points)]
    while len(panels):
        used += len(panels) * (len(COARSE[0]) ** len(points) + len(FINE[0]) ** len(points))
        rough, fine = _panels(joint, panels, COARSE), _panels(joint, panels, FINE)
        gap = np.abs(fine[0] - rough[0]).sum(axis=1) + np.abs(fine[1] - rough[1]).sum(axis=1)
        order = np.argsort(gap)
        settled = order[: np.searchsorted(np.cumsum(gap[order]), tolerance / 2)]
        open_ones = order[len(settled) :]
        if used > MOST:
            settled, open_ones = order, order[:0]
        right += fine[0][settled].sum(axis=0)
        mass += fine[1][settled].sum(axis=0)
        panels, tolerance = _halve(panels[open_ones]), tolerance / 2
    return right, mass


def _panels(joint: Callable[[Float], Float], panels: Float, rule: tuple[Float, Float]) -> tuple[Float, Float]:
    """The two integrals over each panel: (m, K) each."""
    d = panels.shape[1]
    nodes = np.array(list(product(rule[0], repeat=d)))  # (q, d)
    weights = np.array([np.prod(w) for w in product(rule[1], repeat=d)])  # (q,)
    half, middle = (panels[:, :, 1] - panels[:, :, 0]) / 2, (panels[:, :, 1] + panels[:, :, 0]) / 2
    right, mass = [], []
    step = max(1, (1 << 18) // len(nodes))
    for begin in range(0, len(panels), step):
        part = slice(begin, begin + step)
        x = middle[part, None] + half[part, None] * nodes  # (m, q, d)
        value = joint(x.reshape(-1, d)).reshape(*x.shape[:2], -1)
        scale = weights[:, None] * half[part].prod(axis=1)[:, None, None]
        right.append((_best(value) * scale).sum(axis=1))
        mass.append((value * scale).sum(axis=1))
    return np.concatenate(right), np.concatenate(mass)


def _best(value: Float) -> Float:
    """What each class has where it is the best (the first of equal ones), 0 elsewhere."""
    best = np.zeros_like(value)
    place = np.argmax(value, axis=-1)[..., None]
    np.put_along_axis(best, place, np.take_along_axis(value, place, axis=-1), axis=-1)
    return best


def _halve(panels: Float) -> Float:
    """Each panel in two along every axis: (2^d m, d, 2)."""
    middle = panels.mean(axis=2)
    ends = np.stack(
        [np.stack([panels[:, :, 0], middle], -1), np.stack([middle, panels[:, :, 1]], -1)], -2
    )  # (m, d, 2, 2)
    d = panels.shape[1]
    axis = np.arange(d)
    return np.concatenate([ends[:, axis, list(side)] for side in product((0, 1), repeat=d)])
