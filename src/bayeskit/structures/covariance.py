"""Covariance: the shape of class covariances, and shrinkage toward the pooled diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bayeskit.arrays import Array, Float
from bayeskit.errors import InputError
from bayeskit.sums import FLOOR

SHAPES = ("full", "tied", "diagonal", "spherical")
SINGULAR = 1e-12


@dataclass(frozen=True)
class Covariance:
    """S_c' = (1 - rho_c) S_c + rho_c D, D the diagonal of the pooled within-class variance (Chen et al. 2010: OAS)."""

    shape: str
    weight: Float  # (K,)
    raw: Float  # (K, d, d) S_c before its shape is imposed
    target: Float  # (d,) D
    share: Float  # (K,) rho
    matrix: Float  # (K, d, d)

    @classmethod
    def of(cls, shape: str, shrinkage: float | str | None, weight: Float, raw: Float, total: Float) -> Covariance:
        """From class covariances (ddof 0) and the variance of each column over all rows."""
        pooled = _pooled(weight, raw)
        target = np.maximum(np.diag(pooled), FLOOR * total)
        if shape == "spherical":
            target = np.full_like(target, target.mean())
        shaped = shaped_like(shape, np.broadcast_to(pooled, raw.shape) if shape == "tied" else raw)
        rows = np.full_like(weight, weight.sum()) if shape == "tied" else weight
        if shrinkage == "pooled":  # d + 2 pseudo-rows of all classes together, whose own share of the target is tiny
            pseudo = len(target) + 2.0
            shaped = (rows[:, None, None] * shaped + pseudo * shaped_like(shape, pooled)) / (rows + pseudo)[
                :, None, None
            ]
            rows = np.full_like(weight, weight.sum())
        if shrinkage in ("auto", "pooled"):
            size = np.sqrt(np.outer(target, target))
            share = np.array([_oas(s / size, w, shape) for s, w in zip(shaped, rows, strict=True)])
        else:
            share = np.where(rows > 0, 0.0 if shrinkage is None else float(shrinkage), 1.0)
        return cls(shape, weight, raw, target, share, _shrunk(shaped, share, target))

    def held(self, weight: Float, raw: Float, share: Float) -> Covariance:
        """Of other class covariances with this target and given shares: what leave-one-out holds."""
        new = replace(self, weight=weight, raw=raw, share=share)
        shaped = new.pooled if self.shape == "tied" else shaped_like(self.shape, raw)
        return replace(new, matrix=_shrunk(shaped, share, self.target))

    @property
    def pooled(self) -> Float:
        """The pooled covariance, for every class: (K, d, d)."""
        return np.broadcast_to(_pooled(self.weight, self.raw), self.raw.shape)

    def singular(self, total: Float) -> list[tuple[int, ...]]:
        """The columns of each class that its own covariance alone does not tell apart."""
        own = self.pooled if self.shape == "tied" else shaped_like(self.shape, self.raw)
        return [_dependent(m, total) for m in own]


def shaped_like(shape: str, raw: Float) -> Float:
    """Covariances, (..., d, d), with a shape imposed."""
    if shape in ("full", "tied"):
        return raw
    d = raw.shape[-1]
    variance = np.diagonal(raw, axis1=-2, axis2=-1)
    if shape == "spherical":
        variance = np.broadcast_to(variance.mean(axis=-1, keepdims=True), variance.shape)
    out: Float = variance[..., None] * np.eye(d)
    return out


def _shrunk(shaped: Float, share: Float, target: Float) -> Float:
    out: Float = (1 - share)[:, None, None] * shaped + share[:, None, None] * np.diag(target)
    return out


def _pooled(weight: Float, raw: Float) -> Float:
    part = weight / max(float(weight.max(initial=0.0)), 1e-300)
    out: Float = np.tensordot(part, raw, axes=1) / max(float(part.sum()), 1e-300)
    return out


def _oas(scaled: Float, weight: float, shape: str) -> float:
    """((1 - 2/p) tr S^2 + tr^2 S) / ((n + 1 - 2/p) (tr S^2 - tr^2 S / p)), at most 1; 1 for fewer than two rows.

    One variance alone (one column, or spherical) leaves the formula 0/0: then the target counts as one row more.
    """
    p = len(scaled)
    trace, square = float(np.trace(scaled)), float((scaled * scaled).sum())
    if weight < 2 or square == 0:
        return 1.0
    if p == 1 or shape == "spherical":
        return 1 / (weight + 1)
    above = (1 - 2 / p) * square + trace**2
    below = (weight + 1 - 2 / p) * (square - trace**2 / p)
    return 1.0 if below <= above else above / below


def _dependent(covariance: Float, total: Float) -> tuple[int, ...]:
    """Columns without variance, and those of combinations without variance."""
    variance = np.diag(covariance)
    still = variance < FLOOR * total
    moving = np.flatnonzero(~still)
    if len(moving):
        size = np.sqrt(variance[moving])
        values, vectors = np.linalg.eigh(covariance[np.ix_(moving, moving)] / np.outer(size, size))
        mixed = np.abs(vectors[:, values < SINGULAR * len(size)]) > 1e-3
        still[moving[mixed.any(axis=1)]] = True
    return tuple(np.flatnonzero(still).tolist())


def refuse_singular(found: list[tuple[int, ...]], weight: Float, columns: Sequence[str], labels: Array | None) -> None:
    """Say which class and which columns leave a covariance without an inverse."""
    for k, some in enumerate(found):
        if some and weight[k] > 0:
            label = k if labels is None else labels.tolist()[k]
            names = ", ".join(repr(columns[j]) for j in some[:8]) + (", ..." if len(some) > 8 else "")
            raise InputError(
                f"the covariance of class {label!r} is singular: columns {names} are constant in it or depend on each "
                f"other; pass shrinkage='auto' (or a number between 0 and 1), covariance='diagonal', or drop columns"
            )
