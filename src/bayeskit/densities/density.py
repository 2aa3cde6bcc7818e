"""Density: the protocol of what a likelihood becomes once it is fitted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Bool, Float, Int
from bayeskit.data.block import Block
from bayeskit.data.written import Ratio
from bayeskit.errors import InputError
from bayeskit.portable.program import Inputs, Term, Unportable


@dataclass(frozen=True)
class WorkedFactor:
    """p(columns | given, c) of one row, by class."""

    columns: tuple[str, ...]  # whose values it is the probability of
    log: Float  # (K,)
    given: tuple[str, ...] = ()  # columns it depends on besides the class
    ratios: tuple[Ratio, ...] = ()  # (K) as fractions, where counts make it
    mass: bool = False  # whether it is a probability, and not a density
    formulas: tuple[str, ...] = ()  # (K) where a density comes from
    relative: bool = False  # whether it is known up to a number that all classes share, and no probability
    of_class: bool = True  # whether it depends on the class
    products: tuple[tuple[tuple[Ratio, ...], ...], ...] = ()  # (K) those it is the mean of, where it is one


@dataclass(frozen=True)
class Axis:
    """Where the values of a numeric column lie under the densities of the classes.

    Nearly all probability lies between the first and the last point, and between two neighbours no density has more
    than a bend or two: what integrating, drawing and choosing values to show need to know.
    """

    points: Float  # sorted
    integer: bool = False  # whether whole numbers only have probability
    point_mass: bool = False  # whether zero has a probability of its own beside a density

    @classmethod
    def around(cls, mean: Float, deviation: Float, far: float = 12.0) -> Axis:
        """Around the middle of each class, out to ``far`` deviations and then in steps that double."""
        near = np.concatenate([np.arange(0.0, 4.0, 0.5), np.arange(4.0, 13.0)])
        steps = np.concatenate([near, 12.0 * 2.0 ** np.arange(1, max(0, int(np.log2(far / 12.0))) + 1)])
        offsets = np.concatenate([-steps[:0:-1], steps])
        points = np.unique(mean[:, None] + deviation[:, None] * offsets)
        return cls(points[np.isfinite(points)])

    @classmethod
    def above(cls, low: float, high: float, mean: Float) -> Axis:
        """From ``low`` up to ``high`` or far beyond the mean of each class, in steps that double away from an end."""
        steps = 2.0 ** np.arange(-50.0, 7.0)
        points = [low + np.abs(m - low) * steps for m in mean]
        if np.isfinite(high):
            points += [high - np.abs(high - m) * steps for m in mean]
        whole = np.unique(np.concatenate([[low], *points, [high]]))
        return cls(whole[np.isfinite(whole) & (whole >= low) & (whole <= high)])


OVERFLOW = 900.0  # log2 of the magnitude above which terms are compared apart


@dataclass(frozen=True)
class TailLogDensity:
    """A log-density beyond the range of a double: zeros * log(a) + overflow * 2^unit + rest, as a -> 0+."""

    zeros: Float  # (n, K) factors that vanish with the smoothing
    overflow: Float  # (n, K) sum of the terms beyond 2^OVERFLOW, in a unit of the row
    rest: Float  # (n, K)

    def __add__(self, other: TailLogDensity) -> TailLogDensity:
        return TailLogDensity(self.zeros + other.zeros, self.overflow + other.overflow, self.rest + other.rest)


class CoreFormula(NamedTuple):
    """log p(x | class) of one column as the core computes it."""

    kind: int  # of ``FormulaKind``
    numbers: Float  # (3, K)
    table: Float | None = None  # (counts, K)


class Density(ABC):
    """log p(x | class), read back from a statistic: every question that is asked of one, and the usual answers.

    Each density says ``columns``, ``normalised``, ``add`` and ``terms``. The other answers are those of one whose terms
    are never zero, never overflow, and do not depend on each other.
    """

    if TYPE_CHECKING:  # at run time a property here would be the default of a dataclass field of its name

        @property
        @abstractmethod
        def columns(self) -> tuple[str, ...]:
            """What its terms belong to: the columns."""

        @property
        @abstractmethod
        def normalised(self) -> bool:
            """Whether it is a density: sums or integrates to one in every class."""

    @abstractmethod
    def add(self, block: Block, out: Float) -> None:
        """Add log p(x | class) into out (n, K), of any layout unless ``by_rows``; a missing value adds nothing."""

    @abstractmethod
    def terms(self, block: Block) -> Float:
        """log p of each part, (n, parts, K); -inf where it is zero or below the range of a double."""

    @property
    def core_formula(self) -> CoreFormula | None:
        """Its one column as the core knows it, where that is as right as ``terms``; None if it does not."""
        return None

    def verify(self) -> None:
        """Refuse sums that no rows can have, where that shows only in use; a file can hold any."""
        return

    def terms_of(self, block: Block, which: Int) -> Float:
        """The terms of some parts, by position: (n, which, K)."""
        return self.terms(block)[:, which]

    def class_range(self, block: Block) -> Float:
        """How far apart the classes are in the terms of each part, summed over the rows: (parts,)."""
        terms = self.terms(block)
        apart: Float = np.ptp(np.where(np.isfinite(terms), terms, -1e300), axis=2).sum(axis=0)
        return apart

    def work_out(self, row: Block) -> list[WorkedFactor]:
        """p(x | c) of a block of one row as a product; what says nothing is left out.

        Where columns depend on each other, each is given those before it.
        """
        names, axes = self.columns, self.axes
        found: list[WorkedFactor] = []
        for j, log in enumerate(self.terms(row)[0]):
            if log.any():
                given = () if self.additive else tuple(name for f in found for name in f.columns)
                mass = names[j] not in axes or axes[names[j]].integer
                found.append(self.write_factor(j, row, WorkedFactor((names[j],), log, given, mass=mass)))
        return found

    def write_factor(self, j: int, row: Block, factor: WorkedFactor) -> WorkedFactor:
        """The factor of column j of a block of one row, with the fractions or the formula it comes from."""
        return factor

    def odds(self, block: Block, floor: float, out: Float) -> None:
        """Add to out (parts, K - 1, n) the log-odds of the other classes against each row's own.

        Log densities count as -floor at least; every row has a class.
        """
        terms = self.terms(block)
        for j in range(terms.shape[1]):
            term = np.broadcast_to(terms[:, j], (block.rows, out.shape[1] + 1))
            _core.log_odds(np.array(term), block.classes, floor, out[j])

    def log2_magnitude(self, block: Block) -> Float:
        """log2 of the largest magnitude of a term of each row, (n,)."""
        return np.zeros(block.rows)

    def tail(self, block: Block, unit: Float) -> TailLogDensity:
        """log p(x | class) where ``add`` would give -inf; terms beyond 2^900 in units of 2^unit of the row."""
        rest = self.terms(block).sum(axis=1)
        return TailLogDensity(np.zeros_like(rest), np.zeros_like(rest), rest)

    def out_of_support(self, block: Block) -> dict[str, int]:
        """How many values of each column lie outside the support and are taken as missing; only columns with some."""
        return {}

    def count_approximations(self, block: Block) -> dict[str, int]:
        """In how many rows something was approximated, by what was done instead and beyond what."""
        return {}

    def portable(self, inputs: Inputs) -> list[Term]:
        """Itself as terms of a portable program, from the symbols of its columns."""
        raise Unportable(f"{type(self).__name__} has no portable form")

    @property
    def additive(self) -> bool:
        """Whether what a column says does not depend on which others are known."""
        return True

    @property
    def class_ratios(self) -> bool:
        """Whether terms are log P(c | x)/P(c), so that log p(x) is missing from them."""
        return False

    @property
    def by_rows(self) -> bool:
        """Whether ``add`` wants ``out`` row by row."""
        return False

    @property
    def held(self) -> tuple[str, ...]:
        """What leave-one-out still has of the row, and a refit would find anew, in words."""
        return ()

    @property
    def constant(self) -> tuple[str, ...]:
        """Columns with one value, which say nothing."""
        return ()

    @property
    def axes(self) -> dict[str, Axis]:
        """Where each number column that says something has its values."""
        return {}

    @property
    def intervals(self) -> dict[str, Float]:
        """Of columns of numbers that are cut, one value of each interval; the density is of the intervals."""
        return {}

    @property
    def checks_infinite(self) -> Collection[str]:
        """The columns in which ``add`` itself refuses infinite numbers."""
        return ()

    @property
    def regularised(self) -> tuple[tuple[str, ...], ...]:
        """By class, the columns whose covariance had to be helped; of densities of several columns together."""
        return ()

    @property
    def overlap(self) -> Float | None:
        """log of the integral of sqrt(p_a p_b) over all columns, for each pair of classes, if it is known: (K, K)."""
        return None


class SupportsLeftOut(Density):
    """A density that can take rows it has learned out again."""

    @property
    @abstractmethod
    def left_out(self) -> Density:
        """The same with each row's own mass taken out first, for all classes, of blocks with classes and weights.

        This is what a refit without the row would give, but that levels, grids, classes and what ``held`` names stay.
        """


def left_out(density: Density) -> Density:
    """A density that leaves each row out, or an error where leaving one out is no algebra."""
    if isinstance(density, SupportsLeftOut):
        return density.left_out
    raise InputError(
        f"{type(density).__name__} cannot take a row out, as what is counted may have been chosen with the labels of "
        f"all rows; fit anew without the row"
    )


class Factored(Density):
    """A density of columns that depend on each other: it says itself what weights multiply."""

    @property
    def factor_names(self) -> tuple[str, ...]:
        """What weights belong to: the columns, or sets of them."""
        return self.columns

    @abstractmethod
    def factors(self, block: Block) -> Float:
        """What each factor says by itself, before any weight: (n, factors, K)."""

    @abstractmethod
    def with_weights(self, weight: Float) -> Density:
        """The same with the logarithm of each factor multiplied: (factors,)."""


def reveal_terms(density: Density, block: Block, n_classes: int) -> Float:
    """Terms of any density: how log p(x | c) changes as each column is revealed, in schema order: (n, columns, K).

    The sums telescope, so they add up for every model. Additive densities know their terms without this.
    """
    columns = len(block.schema.names)
    seen: Bool = np.zeros(columns, dtype=bool)
    before, out = np.zeros((block.rows, n_classes)), np.empty((block.rows, columns, n_classes))
    for j in range(columns):
        seen[j] = True
        after = np.zeros_like(before)
        density.add(block.reveal(seen), after)
        out[:, j] = after - before
        before = after
    return out
