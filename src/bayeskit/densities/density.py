"""Densities: the protocols of families and structures, and of what they become once fitted."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass, fields
from types import ModuleType
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from bayeskit.arrays import Array, Bool, Float, Int
from bayeskit.data.block import Block
from bayeskit.data.schema import Column
from bayeskit.statistics.exact import ExactSum
from bayeskit.statistics.statistic import Statistic

S = TypeVar("S", bound=Statistic)


@dataclass(frozen=True)
class Context:
    """What a likelihood may know besides its own statistic."""

    weights: Float  # (K,) weight of all rows of each class
    unseen: str = "missing"  # what a level never seen means
    exact: ExactSum | None = None  # (K,) the same weights, exactly
    labels: Array | None = None  # (K,) the classes by name, for messages

    def without(self, groups: Int, mass: Float) -> Float:
        """Weight of the class of each row without that row's own: (n,)."""
        return self.weights[groups] - mass if self.exact is None else self.exact.without(groups, mass)


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


class LogDensity(Protocol):
    """log p(x | class), read back from a statistic."""

    @property
    def columns(self) -> tuple[str, ...]:
        """What its terms belong to: the columns."""

    @property
    def normalised(self) -> bool:
        """Whether it is a density: sums or integrates to one in every class."""

    def add(self, block: Block, out: Float, left_out: bool = False) -> None:
        """Add log p(x | class) into out (n, K), of any layout unless ``left_out``; a missing value adds nothing.

        ``left_out=True`` takes each row's own mass out first, for all classes: what a refit without the row would give,
        with levels, grids and classes held, and what ``held`` names. The block then has groups (classes) and weights.
        """

    def terms(self, block: Block, left_out: bool = False) -> Float:
        """log p of each part, (n, parts, K); -inf where it is zero or below the range of a double."""

    def log2_magnitude(self, block: Block, left_out: bool = False) -> Float:
        """log2 of the largest magnitude of a term of each row, (n,)."""

    def tail(self, block: Block, unit: Float, left_out: bool = False) -> TailLogDensity:
        """log p(x | class) where ``add`` would give -inf; terms beyond 2^900 in units of 2^unit of the row."""

    def out_of_support(self, block: Block) -> dict[str, int]:
        """How many values of each column lie outside the support and are taken as missing; only columns with some."""


@runtime_checkable
class Chooses(Protocol):
    """A likelihood that has chosen something by rows and holds it from then on."""

    @property
    def choices(self) -> tuple[str, ...]:
        """What, in words."""


@runtime_checkable
class Holding(Protocol):
    """A density that, with a row left out, still has something of it: what a refit would find anew."""

    @property
    def held(self) -> tuple[str, ...]:
        """What that is, in words; nothing if empty."""


def held_by(density: Any) -> tuple[str, ...]:
    """What a density holds where a row is left out."""
    return density.held if isinstance(density, Holding) else ()


@runtime_checkable
class Approximates(Protocol):
    """A density that cannot take every row exactly."""

    @property
    def bound(self) -> str:
        """What was done instead, and beyond what."""

    def approximated(self, block: Block) -> int:
        """In how many rows."""


class Bounded:
    """What a density can inherit whose terms are never zero and never overflow."""

    def terms(self, block: Block, left_out: bool = False) -> Float:
        raise NotImplementedError

    def log2_magnitude(self, block: Block, left_out: bool = False) -> Float:
        return np.zeros(block.rows)

    def tail(self, block: Block, unit: Float, left_out: bool = False) -> TailLogDensity:
        rest = self.terms(block, left_out).sum(axis=1)
        return TailLogDensity(np.zeros_like(rest), np.zeros_like(rest), rest)

    def out_of_support(self, block: Block) -> dict[str, int]:
        return {}


class Likelihood(Protocol[S]):
    """Names a statistic and reads it back; a family and a structure are the same thing.

    One that chooses what to count from what was counted before (cuts, then arcs) has two methods more: ``next_stage(
    statistic, context)`` gives the likelihood to count for next, None when nothing is left, and ``unfitted()`` the one
    before any choice. Rows are then read once for each; what was chosen is part of the likelihood, and is held for rows
    learned later.
    """

    def statistic(self, columns: Sequence[Column], n_groups: int) -> S:
        """Empty: what to count, for all its columns at once."""

    def fit(self, statistic: S, context: Context) -> Any:
        """Hyper-parameters enter here, rows never."""


def describe_family(family: Any) -> str:
    """The family with what differs from its defaults."""
    told = [f for f in fields(family) if f.repr and getattr(family, f.name) != f.default]
    settings = [f"{f.name}={getattr(family, f.name)!r}" for f in told]
    return type(family).__name__ + (f"({', '.join(settings)})" if settings else "")


def revealed(density: LogDensity, block: Block, n_classes: int, left_out: bool = False) -> Float:
    """Terms of any density: how log p(x | c) changes as each column is revealed, in schema order: (n, columns, K).

    The sums telescope, so they add up for every model. Additive densities know their terms without this.
    """
    columns = len(block.schema.names)
    seen: Bool = np.zeros(columns, dtype=bool)
    before, out = np.zeros((block.rows, n_classes)), np.empty((block.rows, columns, n_classes))
    for j in range(columns):
        seen[j] = True
        after = np.zeros_like(before)
        density.add(block.reveal(seen), after, left_out)
        out[:, j] = after - before
        before = after
    return out


def likelihoods(package: ModuleType) -> dict[str, type[Any]]:
    """Every likelihood of a package by name: its classes that say which kinds of columns they take."""
    found: dict[str, type[Any]] = {}
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ == module.__name__ and hasattr(value, "kinds"):
                found[value.__name__] = value
    return found
