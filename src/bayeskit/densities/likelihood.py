"""Likelihood: the protocol of families and structures, which say what to count and read it back as densities."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from inspect import isabstract
from types import ModuleType
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeAlias, TypeVar

from bayeskit.arrays import Array, Float, Int
from bayeskit.data.levels import Domain
from bayeskit.data.schema import Column, Schema
from bayeskit.data.support import ANY, Support
from bayeskit.densities.density import Density
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
    domain: Domain | None = None  # what the codes of classes and levels mean

    def without(self, groups: Int, mass: Float) -> Float:
        """Weight of the class of each row without that row's own: (n,)."""
        return self.weights[groups] - mass if self.exact is None else self.exact.without(groups, mass)


class Likelihood(ABC, Generic[S]):
    """Names a statistic and reads it back; a family and a structure are the same thing."""

    identifier: ClassVar[str]  # its name in files
    kinds: ClassVar[tuple[str, ...]]  # of the columns it takes

    @abstractmethod
    def statistic(self, columns: Sequence[Column], n_groups: int) -> S:
        """Empty: what to count, for all its columns at once."""

    @abstractmethod
    def fit(self, statistic: S, context: Context) -> Density:
        """Hyper-parameters enter here, rows never."""

    def check_columns(self, schema: Schema) -> None:
        """Refuse columns that do not fit what it holds of some; a file can say anything."""

    @property
    def leave_one_out(self) -> bool:
        """Whether its density can take a row out; not where labels chose something that a refit would choose anew."""
        return True

    @property
    def sparse(self) -> bool:
        """Whether rows are read by what is not zero, whatever the number of columns."""
        return False

    @property
    def factor_sets(self) -> Sequence[tuple[str, ...]] | None:
        """The sets of columns that weights belong to; None where it is the columns."""
        return None


class Staged(Likelihood[S]):
    """One that chooses what to count from what was counted before: cuts, then arcs.

    Rows are read once for each stage. What was chosen is part of the likelihood, and is held for rows learned later.
    """

    @abstractmethod
    def first_stage(self) -> Self:
        """The same before any row was read."""

    @abstractmethod
    def next_stage(self, statistic: Any, context: Context) -> Self | None:
        """What to count next, now that this has been counted; None if nothing is left."""

    @property
    @abstractmethod
    def choices(self) -> tuple[str, ...]:
        """What was chosen by rows and is no longer changed by others, in words."""


class Recipe(NamedTuple):
    """A family as the core knows it."""

    name: str
    smoothing: float = 0.0
    zeros: float = -1.0  # pseudo-rows of a point mass at zero beside it; below 0 there is none
    integer: bool = False  # whether it gives probabilities, not densities


class Family(Likelihood[S]):
    """Columns of one kind given the class."""

    @property
    def support(self) -> Support:
        """The values it takes."""
        return ANY

    @property
    def point_mass(self) -> bool:
        """Whether p(0) is a probability, not a density."""
        return False

    @property
    def recipe(self) -> Recipe | None:
        """As the core knows it, for the choice among families; None if it does not, and a density is fitted instead."""
        return None


AnyFamily: TypeAlias = Family[Any]  # whatever it counts


def describe_family(family: Any) -> str:
    """The family with what differs from its defaults."""
    changed = [f for f in fields(family) if f.repr and getattr(family, f.name) != f.default]
    settings = [f"{f.name}={getattr(family, f.name)!r}" for f in changed]
    return type(family).__name__ + (f"({', '.join(settings)})" if settings else "")


def likelihoods(package: ModuleType) -> dict[str, type[Any]]:
    """Every likelihood of a package by name."""
    found: dict[str, type[Any]] = {}
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for value in vars(module).values():
            mine = isinstance(value, type) and value.__module__ == module.__name__
            if mine and issubclass(value, Likelihood) and not isabstract(value):
                found[value.__name__] = value
    return found
