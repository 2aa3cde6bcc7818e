"""Discrete: what likelihoods over levels share; their first pass over the rows cuts numbers into intervals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from bayeskit.data.schema import Column
from bayeskit.densities.likelihood import Staged
from bayeskit.errors import InputError
from bayeskit.memory import check_pairs
from bayeskit.numerics.cut_points import CutPoints, ascending
from bayeskit.statistics.bins import Bins
from bayeskit.statistics.sliced import Sliced, Slices
from bayeskit.statistics.statistic import Statistic
from bayeskit.validation import positive

MDLP: str = "mdlp"
FREQUENCY: str = "frequency"
Grid = tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True)
class Discrete(Staged[Any]):
    """Numbers become the interval they lie in. The rows are read twice: the bins of the first pass give the cuts.

    ``cuts`` is "mdlp" (Fayyad and Irani: where the class changes, by minimum description length) or "frequency"
    (n^(1/3) intervals of equal weight, from 3 to 12: no label has a say). Cuts are part of the model from then on: rows
    learned later, or forgotten, are counted between them. So partial_fit, forget and merge of models with the same
    cuts are exact, and models whose own data were cut differently are not merged. A column in which "mdlp" finds no
    cut has one interval, and says nothing.
    """

    cuts: str = FREQUENCY
    grid: Grid | None = field(default=None, repr=False, kw_only=True)  # by column, once a first pass has cut them

    pairwise: ClassVar[bool] = False  # whether every two columns are counted together

    def __post_init__(self) -> None:
        if self.cuts not in (MDLP, FREQUENCY):
            raise InputError(f"cuts={self.cuts!r}: choose {MDLP!r} or {FREQUENCY!r}")
        if self.grid is not None:
            made = ((name, ascending(cuts, f"column {name!r}") if cuts else ()) for name, cuts in self.grid)
            object.__setattr__(self, "grid", tuple(made))

    def first_stage(self) -> Self:
        return replace(self, grid=None)

    @property
    def choices(self) -> tuple[str, ...]:
        many = len(self.grid or ())
        return (f"the cuts of {many} column{'s' * (many > 1)} of numbers",) if many else ()

    @abstractmethod
    def tables(self, columns: Sequence[str]) -> Mapping[str, Sequence[tuple[str, ...]]]:
        """Which tables to count over the columns, by name."""

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Statistic:
        if self.pairwise:
            check_pairs(len(columns), "counts")
        if self.grid is None:
            return Bins.empty([c.name for c in columns if c.numeric], n_groups)
        slices = Slices.of(columns, dict(self.grid))
        return Sliced.empty(slices, self.tables(slices.columns), n_groups)

    def cut(self, bins: Bins) -> Self:
        """The same with cuts made of the bins of a first pass."""
        columns = [bins.column(j) for j in range(len(bins.columns))]
        made = ((column.name, CutPoints(column).to_hold(self.cuts == MDLP)) for column in columns)
        return replace(self, grid=tuple(made))


@dataclass(frozen=True)
class Smoothed(Discrete):
    """Every level of a column has ``smoothing`` pseudo-rows in every class."""

    smoothing: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "smoothing", positive("smoothing", self.smoothing))
