"""Zero-count corrections: from the counts of a column's levels to their probabilities in each class."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Protocol

import numpy as np

from bayeskit.arrays import Float
from bayeskit.errors import InputError


class Smoothing(Protocol):
    """Turns counts into probabilities."""

    @property
    def normalised(self) -> bool:
        """Whether the probabilities of a class sum to one."""

    def probabilities(self, counts: Float, classes: Float) -> Float:
        """Of the levels, (K, m), from their weights (K, m) and the weight of all rows of each class (K,)."""

    def unseen(self, counts: Float, classes: Float) -> Float | None:
        """Of a level never seen, (K,): what a refit with it declared would give; None if that says nothing."""


@dataclass(frozen=True)
class Laplace:
    """alpha pseudo-rows per level: p = (n + alpha) / (n_c + alpha m).

    >>> Laplace(1).probabilities(np.array([[0.0, 990.0, 10.0]]), np.array([1000.0])) * 1003
    array([[  1., 991.,  11.]])
    """

    alpha: float = 1.0

    def __post_init__(self) -> None:
        _positive("Laplace alpha", self.alpha)

    @property
    def normalised(self) -> bool:
        return True

    def probabilities(self, counts: Float, classes: Float) -> Float:
        total = counts.sum(axis=1, keepdims=True) + self.alpha * counts.shape[1]
        out: Float = (counts + self.alpha) / total
        return out

    def unseen(self, counts: Float, classes: Float) -> Float | None:
        out: Float = self.alpha / (counts.sum(axis=1) + self.alpha * (counts.shape[1] + 1))
        return out


@dataclass(frozen=True)
class NoSmoothing:
    """p = n / n_c; a level a class never had is impossible there.

    A class without any value of the column gets the pooled frequencies.

    >>> NoSmoothing().probabilities(np.array([[3.0, 1.0]]), np.array([4.0]))
    array([[0.75, 0.25]])
    """

    @property
    def normalised(self) -> bool:
        return True

    def probabilities(self, counts: Float, classes: Float) -> Float:
        return _relative(counts)

    def unseen(self, counts: Float, classes: Float) -> Float | None:
        return None


@dataclass(frozen=True)
class ReplaceZeros:
    """A zero becomes by/n, or P(class)/n with ``by="class"``; n is the weight of all rows. It does not normalise.

    >>> ReplaceZeros(0.5).probabilities(np.array([[0.0, 4.0]]), np.array([4.0]))
    array([[0.125, 1.   ]])
    """

    by: float | str = 0.5

    def __post_init__(self) -> None:
        if self.by != "class":
            if isinstance(self.by, str):
                raise InputError(f"ReplaceZeros(by={self.by!r}): by is a number, or 'class' for P(class)")
            _positive("ReplaceZeros by", self.by)

    @property
    def normalised(self) -> bool:
        return False

    def probabilities(self, counts: Float, classes: Float) -> Float:
        return np.where(counts > 0, _relative(counts), self._zero(classes)[:, None])

    def unseen(self, counts: Float, classes: Float) -> Float | None:
        return self._zero(classes)

    def _zero(self, classes: Float) -> Float:
        rows = classes.sum()
        share = classes / rows if self.by == "class" else np.full(len(classes), float(self.by))
        out: Float = share / rows
        return out


@dataclass(frozen=True)
class MEstimate:
    """m pseudo-rows spread by a prior over the levels (uniform unless given): p = (n + m q) / (n_c + m).

    ``prior`` lists q in the order of the column's levels.

    >>> MEstimate(2).probabilities(np.array([[0.0, 2.0]]), np.array([2.0]))
    array([[0.25, 0.75]])
    """

    m: float = 1.0
    prior: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        _positive("MEstimate m", self.m)
        if self.prior is not None:
            object.__setattr__(self, "prior", tuple(float(q) for q in self.prior))
            if not self.prior or min(self.prior) < 0 or abs(sum(self.prior) - 1) > 1e-9:
                raise InputError(f"MEstimate prior {self.prior} must be probabilities that sum to one")

    @property
    def normalised(self) -> bool:
        return True

    def probabilities(self, counts: Float, classes: Float) -> Float:
        levels = counts.shape[1]
        prior = np.full(levels, 1 / max(levels, 1)) if self.prior is None else np.array(self.prior)
        if len(prior) != levels:
            raise InputError(f"MEstimate prior has {len(prior)} entries, the column has {levels} levels")
        out: Float = (counts + self.m * prior) / (counts.sum(axis=1, keepdims=True) + self.m)
        return out

    def unseen(self, counts: Float, classes: Float) -> Float | None:
        if self.prior is not None:
            return None
        out: Float = self.m / (counts.shape[1] + 1) / (counts.sum(axis=1) + self.m)
        return out


@dataclass(frozen=True)
class AddM:
    """p = (n + m) / (n_c + m), as some texts print it; it does not normalise, so there is no evidence from it.

    >>> AddM(1).probabilities(np.array([[0.0, 3.0]]), np.array([3.0]))
    array([[0.25, 1.  ]])
    """

    m: float = 1.0

    def __post_init__(self) -> None:
        _positive("AddM m", self.m)

    @property
    def normalised(self) -> bool:
        return False

    def probabilities(self, counts: Float, classes: Float) -> Float:
        out: Float = (counts + self.m) / (counts.sum(axis=1, keepdims=True) + self.m)
        return out

    def unseen(self, counts: Float, classes: Float) -> Float | None:
        out: Float = self.m / (counts.sum(axis=1) + self.m)
        return out


def smoothing(given: float | Smoothing) -> Smoothing:
    """A number is Laplace's alpha; 0 is none.

    >>> smoothing(0), smoothing(0.5)
    (NoSmoothing(), Laplace(alpha=0.5))
    """
    if isinstance(given, Real) and not isinstance(given, bool | np.bool_):
        return NoSmoothing() if given == 0 else Laplace(float(given))
    if not hasattr(given, "probabilities"):
        raise InputError(f"smoothing={given!r}: give a number, or one of bayeskit.smoothing")
    return given  # type: ignore[return-value]


def _relative(counts: Float) -> Float:
    """Frequencies by class; a class without any value takes those of all classes together."""
    total = counts.sum(axis=1, keepdims=True)
    pooled = counts.sum(axis=0, keepdims=True)
    everything = pooled.sum()
    fallback = pooled / everything if everything > 0 else np.full_like(pooled, 1 / max(counts.shape[1], 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Float = np.where(total > 0, counts / total, fallback)
    return out


def _positive(what: str, value: float) -> None:
    if not (np.isfinite(value) and value > 0):
        raise InputError(f"{what} = {value}: it must be a finite number above 0")
