"""Discretizer: numbers into intervals, from a statistic that can be streamed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Array, Float, KindsLike, LabelsLike
from bayeskit.data.kinds import by_name
from bayeskit.data.schema import Schema
from bayeskit.errors import InputError, SchemaError
from bayeskit.estimators.binned import Binned
from bayeskit.estimators.docstrings import document
from bayeskit.numerics.cut_points import CutPoints, ascending, few, intervals
from bayeskit.statistics.bins import BinnedColumn, Bins
from bayeskit.statistics.cuts import cell_of

METHODS = ("width", "frequency", "mdlp")


@document()
@dataclass(kw_only=True, eq=False, repr=False)
class Discretizer(Binned):
    """Cuts number columns into right-closed intervals (a, b]; other columns pass, and what is missing stays missing.

    Cuts are made from bins: exactly between values while a column has at most 1,024 distinct ones, else at the ends
    of the finest grid cells that fit, so a stream can be learned. A frame comes back as the same kind of frame, with
    intervals as categories in order; anything without column names as numbers of intervals from 0 on, NaN where
    missing.

    Parameters
    ----------
    method : {"width", "frequency", "mdlp"}, default "width"
        Equal steps from the smallest to the largest value, equal weight, or the cuts of Fayyad and Irani, which tell
        the classes apart; "mdlp" needs y and finds the number of intervals itself.
    bins : int or "auto", default "auto"
        Number of intervals; "auto" is n^(1/3), but from 3 to 12.
    cuts : sequence or mapping, optional
        The cuts themselves, for all number columns or by column.
    n_jobs : int, optional
        Number of threads; -1 is all cores, None those this process may use. Results do not depend on it.

    Attributes
    ----------
    cuts_ : dict
        The cuts of each number column.
    intervals_ : dict
        Its intervals as texts.

    Examples
    --------
    >>> import bayeskit as bk
    >>> Discretizer(cuts=[5.2, 6.1]).fit_transform([[5.2], [5.3], [7.0], [float("nan")]]).ravel()
    array([ 0.,  1.,  2., nan])
    >>> found = Discretizer(method="mdlp").fit({"age": [20, 25, 31, 60, 62, 70]}, ["well"] * 3 + ["ill"] * 3)
    >>> found.intervals_
    {'age': ['(-inf, 45.5]', '(45.5, inf)']}
    """

    method: str = "width"
    bins: int | str = "auto"
    cuts: Any = None
    kinds: KindsLike = None
    n_jobs: int | None = None

    @property
    def _labelled(self) -> bool:
        return self.method == "mdlp"

    def _column(self, name: str, x: Float, as_numbers: bool) -> Any:
        cells = cell_of(x, np.array(self.cuts_[name]))
        return _codes(cells) if as_numbers else _categories(cells, self.intervals_[name])

    def _check(self, schema: Schema) -> None:
        self._given(schema)

    def _read(self, schema: Schema, bins: Bins) -> None:
        given = self._given(schema)
        self.cuts_ = {
            name: given[name] if name in given else tuple(self._cut(bins.column(j)).tolist())
            for j, name in enumerate(schema.numeric)
        }
        self.intervals_ = {name: intervals(cuts) for name, cuts in self.cuts_.items()}

    def _cut(self, column: BinnedColumn) -> Array:
        points = CutPoints(column)
        if self.method == "mdlp":
            return points.mdlp()
        cells = few(float(column.pooled.sum())) if self.bins == "auto" else int(self.bins)
        return points.equal_width(cells) if self.method == "width" else points.equal_frequency(cells)

    def _given(self, schema: Schema) -> dict[str, tuple[float, ...]]:
        """The cuts given from outside, by column."""
        if self.cuts is None:
            return {}
        if not isinstance(self.cuts, Mapping):
            return dict.fromkeys(schema.numeric, ascending(self.cuts, f"cuts={self.cuts!r}"))
        found = {}
        for name, cuts in by_name(self.cuts, schema.names, schema.named, "cuts").items():
            if name not in schema.numeric_index:
                raise SchemaError(f"cuts names column {name!r}, which is {schema[name].kind} ({schema[name].why})")
            found[name] = ascending(cuts, f"cuts[{name!r}] = {cuts!r}")
        return found

    def _check_settings(self, y: LabelsLike | None) -> None:
        if self.method not in METHODS:
            raise InputError(f"method={self.method!r}: choose one of {', '.join(METHODS)}")
        whole = isinstance(self.bins, Integral) and not isinstance(self.bins, bool)
        if self.bins != "auto" and not (whole and 1 <= int(self.bins) <= 10**6):
            raise InputError(f"bins={self.bins!r}: give a number of intervals of at least 1, or 'auto'")
        if self.method == "mdlp" and y is None:
            raise InputError(
                'requires y to be passed, but the target y is None: method="mdlp" cuts by the labels; '
                'give them, or use "frequency"'
            )


def _codes(cells: Array) -> Array:
    return np.where(cells < 0, np.nan, cells.astype(np.float64))


def _categories(cells: Array, labels: list[str]) -> pa.Array:
    """Intervals by name, in order."""
    codes = pa.array(cells, mask=cells < 0)
    return pa.DictionaryArray.from_arrays(codes, pa.array(labels, pa.string()), ordered=True)
