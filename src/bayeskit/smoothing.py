"""Zero-count corrections: from the counts of a column's levels to their probabilities in each class."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from bayeskit.arrays import Float, Int
from bayeskit.data.written import Ratio, decimal, plain
from bayeskit.errors import InputError
from bayeskit.validation import keep, number

__all__ = ["AddM", "Laplace", "MEstimate", "NoSmoothing", "ReplaceZeros", "TowardPooled"]


def __dir__() -> list[str]:
    return __all__


@dataclass(frozen=True)
class Cells:
    """Weights that decide the probability of a level in each class; the first axis of all arrays is the class."""

    count: Float  # (K, ...) of the level in the class
    total: Float  # (K, ...) of all levels in the class
    pooled: Float  # (...) of the level in all classes
    everything: Float  # (...) of all levels in all classes
    classes: Float  # (K, ...) of all rows of the class
    below: Float  # (K, ...) as count, of the level before; the first stands beside itself
    above: Float  # (K, ...) as count, of the level after; the last stands beside itself
    level: Int  # (...) which level
    levels: int  # how many there are

    @classmethod
    def of(cls, counts: Float, classes: Float) -> Cells:
        """All cells of a table (K, m) of one column."""
        total, pooled = counts.sum(axis=1, keepdims=True), counts.sum(axis=0)
        levels = counts.shape[1]
        below, above = beside(levels)
        beside_ = counts[:, below], counts[:, above]
        return cls(counts, total, pooled, pooled.sum(), classes[:, None], *beside_, np.arange(levels), levels)

    def at(self, index: Int) -> Cells:
        """Some of the cells, along the last axis."""
        return Cells(
            self.count[..., index],
            self.total[..., index],
            self.pooled[..., index],
            self.everything[..., index],
            self.classes[..., index],
            self.below[..., index],
            self.above[..., index],
            self.level[index],
            self.levels,
        )

    @property
    def relative(self) -> Float:
        """Frequencies by class; a class without any value takes those of all classes together."""
        even = np.full_like(self.pooled, 1 / max(self.levels, 1))
        with np.errstate(invalid="ignore", divide="ignore"):
            fallback = np.where(self.everything > 0, self.pooled / self.everything, even)
            return np.where(self.total > 0, self.count / self.total, fallback)


def beside(levels: int) -> tuple[Int, Int]:
    """Which levels stand before and after each, (m,) both; the first and the last stand beside themselves."""
    every = np.arange(levels)
    return np.maximum(every - 1, 0), np.minimum(every + 1, max(levels - 1, 0))


@runtime_checkable
class Smoothing(Protocol):
    """Turns counts into probabilities."""

    @property
    def normalised(self) -> bool:
        """Whether the probabilities of a class sum to one."""

    def probabilities(self, counts: Float, classes: Float) -> Float:
        """Of the levels, (K, m), from their weights (K, m) and the weight of all rows of each class (K,)."""
        return self.at(Cells.of(counts, classes))

    def at(self, cells: Cells) -> Float:
        """Of one level each, (K, ...), from the weights that decide it."""

    def vanishing(self, cells: Cells) -> Float:
        """p / a of a level a class never had, as its pseudo-rows a -> 0+: (K, ...)."""
        return np.broadcast_to(1 / np.maximum(cells.total, 1e-300), cells.count.shape)

    def unseen(self, counts: Float, classes: Float) -> Float | None:
        """Of a level never seen, (K,): what a refit with it declared would give; None if that says nothing."""

    def written(self, level: int, counts: Float, classes: Float) -> tuple[Ratio, ...]:
        """The probabilities of one level as fractions, by class; none if the rule is not one: (K)."""
        return ()


@dataclass(frozen=True)
class Laplace(Smoothing):
    """alpha pseudo-rows per level: p = (n + alpha) / (n_c + alpha m).

    Parameters
    ----------
    alpha : float, default 1.0
        Pseudo-rows of each level.

    Examples
    --------
    >>> Laplace(1).probabilities(np.array([[0.0, 990.0, 10.0]]), np.array([1000.0])) * 1003
    array([[  1., 991.,  11.]])
    """

    alpha: float = 1.0

    identifier: ClassVar[str] = "smoothing/laplace"

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", _positive("Laplace alpha", self.alpha))

    @property
    def normalised(self) -> bool:
        return True

    def at(self, cells: Cells) -> Float:
        out: Float = (cells.count + self.alpha) / (cells.total + self.alpha * cells.levels)
        return out

    def unseen(self, counts: Float, classes: Float) -> Float | None:
        out: Float = self.alpha / (counts.sum(axis=1) + self.alpha * (counts.shape[1] + 1))
        return out

    def written(self, level: int, counts: Float, classes: Float) -> tuple[Ratio, ...]:
        spread = self.alpha * counts.shape[1]
        return tuple(Ratio.of([row[level], self.alpha], [row.sum(), spread]) for row in counts)


@dataclass(frozen=True)
class NoSmoothing(Smoothing):
    """p = n / n_c; a level a class never had is impossible there.

    A class without any value of the column gets the pooled frequencies.

    >>> NoSmoothing().probabilities(np.array([[3.0, 1.0]]), np.array([4.0]))
    array([[0.75, 0.25]])
    """

    identifier: ClassVar[str] = "smoothing/none"

    @property
    def normalised(self) -> bool:
        return True

    def at(self, cells: Cells) -> Float:
        return cells.relative

    def unseen(self, counts: Float, classes: Float) -> Float | None:
        return None

    def written(self, level: int, counts: Float, classes: Float) -> tuple[Ratio, ...]:
        rows = (row if row.any() else counts.sum(axis=0) for row in counts)
        return tuple(Ratio.of([row[level]], [row.sum()]) for row in rows)


@dataclass(frozen=True)
class ReplaceZeros(Smoothing):
    """A zero becomes by/n, or P(class)/n with ``by="class"``; n is the weight of all rows. It does not normalise.

    Parameters
    ----------
    by : float or "class", default 0.5
        What a zero count becomes, divided by the weight of all rows: a number, or P(class).

    Examples
    --------
    >>> ReplaceZeros(0.5).probabilities(np.array([[0.0, 4.0]]), np.array([4.0]))
    array([[0.125, 1.   ]])
    """

    by: float | str = 0.5

    identifier: ClassVar[str] = "smoothing/replace_zeros"

    def __post_init__(self) -> None:
        if self.by != "class":
            if isinstance(self.by, str):
                raise InputError(f"ReplaceZeros(by={self.by!r}): by is a number, or 'class' for P(class)")
            object.__setattr__(self, "by", _positive("ReplaceZeros by", self.by))

    @property
    def normalised(self) -> bool:
        return False

    def at(self, cells: Cells) -> Float:
        return np.where(cells.count > 0, cells.relative, self._zero(cells.classes))

    def unseen(self, counts: Float, classes: Float) -> Float | None:
        return self._zero(classes)

    def written(self, level: int, counts: Float, classes: Float) -> tuple[Ratio, ...]:
        known, rows = NoSmoothing().written(level, counts, classes), classes.sum()
        zeros = (
            [Ratio.of([float(self.by)], [rows])] * len(classes)
            if self.by != "class"
            else [Ratio(f"{plain(w)}/{plain(rows)}", plain(rows), decimal(w) / decimal(rows) ** 2) for w in classes]
        )
        return tuple(zero if row[level] == 0 else ratio for row, ratio, zero in zip(counts, known, zeros, strict=True))

    def _zero(self, classes: Float) -> Float:
        rows = classes.sum(axis=0)
        share = classes / rows if self.by == "class" else np.full_like(classes, float(self.by))
        out: Float = share / rows
        return out


@dataclass(frozen=True)
class MEstimate(Smoothing):
    """m pseudo-rows spread by a prior over the levels (uniform unless given): p = (n + m q) / (n_c + m).

    ``prior`` lists q in the order of the column's levels.

    Parameters
    ----------
    m : float, default 1.0
        Pseudo-rows of a class.
    prior : tuple of float, optional
        Their shares q, in the order of the levels; equal unless given.

    Examples
    --------
    >>> MEstimate(2).probabilities(np.array([[0.0, 2.0]]), np.array([2.0]))
    array([[0.25, 0.75]])
    """

    m: float = 1.0
    prior: tuple[float, ...] | None = None

    identifier: ClassVar[str] = "smoothing/m_estimate"

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", _positive("MEstimate m", self.m))
        if self.prior is not None:
            object.__setattr__(self, "prior", tuple(float(q) for q in self.prior))
            if not self.prior or min(self.prior) < 0 or abs(sum(self.prior) - 1) > 1e-9:
                raise InputError(f"MEstimate prior {self.prior} must be probabilities that sum to one")

    @property
    def normalised(self) -> bool:
        return True

    def at(self, cells: Cells) -> Float:
        levels = cells.levels
        prior = np.full(levels, 1 / max(levels, 1)) if self.prior is None else np.array(self.prior)
        if len(prior) != levels:
            raise InputError(f"MEstimate prior has {len(prior)} entries, the column has {levels} levels")
        out: Float = (cells.count + self.m * prior[cells.level]) / (cells.total + self.m)
        return out

    def unseen(self, counts: Float, classes: Float) -> Float | None:
        if self.prior is not None:
            return None
        out: Float = self.m / (counts.shape[1] + 1) / (counts.sum(axis=1) + self.m)
        return out

    def written(self, level: int, counts: Float, classes: Float) -> tuple[Ratio, ...]:
        share = Fraction(1, counts.shape[1]) if self.prior is None else decimal(self.prior[level])
        return _toward(share, self.m, level, counts)


@dataclass(frozen=True)
class TowardPooled(Smoothing):
    """m pseudo-rows spread as the levels are in all classes together: p = (n + m P(v)) / (n_c + m).

    A level a class never had then counts against it by how common it is elsewhere.

    Parameters
    ----------
    m : float, default 1.0
        Pseudo-rows of a class.

    Examples
    --------
    >>> TowardPooled(1).probabilities(np.array([[0.0, 2.0], [3.0, 1.0]]), np.array([2.0, 4.0]))
    array([[0.16666667, 0.83333333],
           [0.7       , 0.3       ]])
    """

    m: float = 1.0

    identifier: ClassVar[str] = "smoothing/toward_pooled"

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", _positive("TowardPooled m", self.m))

    @property
    def normalised(self) -> bool:
        return True

    def at(self, cells: Cells) -> Float:
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(cells.everything > 0, cells.pooled / cells.everything, 1 / max(cells.levels, 1))
        out: Float = (cells.count + self.m * share) / (cells.total + self.m)
        return out

    def unseen(self, counts: Float, classes: Float) -> Float | None:
        return None

    def written(self, level: int, counts: Float, classes: Float) -> tuple[Ratio, ...]:
        share = Ratio.of([counts[:, level].sum()], [counts.sum()])
        return _toward(share.value, self.m, level, counts, str(share))


@dataclass(frozen=True)
class AddM(Smoothing):
    """p = (n + m) / (n_c + m), as some texts print it; it does not normalise, so there is no evidence from it.

    Parameters
    ----------
    m : float, default 1.0
        What is added to counts and to the total.

    Examples
    --------
    >>> AddM(1).probabilities(np.array([[0.0, 3.0]]), np.array([3.0]))
    array([[0.25, 1.  ]])
    """

    m: float = 1.0

    identifier: ClassVar[str] = "smoothing/add_m"

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", _positive("AddM m", self.m))

    @property
    def normalised(self) -> bool:
        return False

    def at(self, cells: Cells) -> Float:
        out: Float = (cells.count + self.m) / (cells.total + self.m)
        return out

    def unseen(self, counts: Float, classes: Float) -> Float | None:
        out: Float = self.m / (counts.sum(axis=1) + self.m)
        return out

    def written(self, level: int, counts: Float, classes: Float) -> tuple[Ratio, ...]:
        return tuple(Ratio.of([row[level], self.m], [row.sum(), self.m]) for row in counts)


def _toward(share: Fraction, m: float, level: int, counts: Float, shown: str | None = None) -> tuple[Ratio, ...]:
    """(n + m q) / (n_c + m) of one level, by class."""
    text = f"{plain(m)}·{shown or share}"
    each = ((row[level], row.sum()) for row in counts)
    return tuple(
        Ratio(f"{plain(n)}+{text}", f"{plain(of)}+{plain(m)}", (decimal(n) + decimal(m) * share) / decimal(of + m))
        for n, of in each
    )


def smoothing(given: object) -> Smoothing:
    """A number is Laplace's alpha; 0 is none.

    >>> smoothing(0), smoothing(0.5)
    (NoSmoothing(), Laplace(alpha=0.5))
    """
    if isinstance(given, Real) and not isinstance(given, bool):  # asked first: a protocol takes long to ask
        return NoSmoothing() if given == 0 else Laplace(_positive("Laplace alpha", given))
    if not isinstance(given, Smoothing):
        raise InputError(
            f"smoothing={given!r}: give a number (1 is Laplace's rule, 0 none), "
            f"or one of bayeskit.smoothing, as bayeskit.smoothing.MEstimate(2)"
        )
    return given


def pseudo_rows(family: Any, zero: bool = True) -> None:
    """Check the ``smoothing`` of a family of numbers: a weight of pseudo-rows, of none only if ``zero`` says so."""
    given = number(family.smoothing)
    if given is None or given < 0 or (given == 0 and not zero):
        least = "of at least 0" if zero else "above 0"
        raise InputError(f"{type(family).__name__}(smoothing={family.smoothing!r}): give a finite number {least}")
    keep(family, smoothing=given)


def _positive(what: str, value: object) -> float:
    """The value as a plain number: settings are compared and saved by what they print."""
    plain = number(value)
    if plain is None or not plain > 0:
        raise InputError(f"{what} = {value!r}: it must be a finite number above 0")
    return plain
