"""Discretizer: numbers into intervals, from a statistic that can be streamed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bayeskit.arrays import Array
from bayeskit.borders import Borders, ascending, few, intervals
from bayeskit.data.kinds import by_name
from bayeskit.data.matrix import Matrix
from bayeskit.data.schema import Schema
from bayeskit.errors import InputError, SchemaError
from bayeskit.estimators.intake import Intake, check_rows
from bayeskit.frame import frame, kind_of
from bayeskit.statistics.bins import BinnedColumn, Bins
from bayeskit.statistics.counted import Counted
from bayeskit.statistics.cuts import cell_of
from bayeskit.statistics.product import Product
from bayeskit.statistics.tables import Tables

METHODS = ("width", "frequency", "mdlp")


class Discretizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Cuts number columns into right-closed intervals (a, b]; other columns pass, and what is missing stays missing.

    ``method`` is "width" (equal steps from the smallest to the largest value), "frequency" (equal weight) or "mdlp"
    (the cuts of Fayyad and Irani, which tell the classes apart; it needs y and finds their number itself). ``bins`` is
    the number of intervals, "auto" for n^(1/3) but from 3 to 12. ``cuts`` gives the cuts themselves, for all number
    columns or by column. Cuts are made from bins: exactly between values while a column has at most 1,024 distinct
    ones, else at the ends of the finest grid cells that fit, so a stream can be learned.

    A frame comes back as the same kind of frame, with intervals as categories in order; anything without column names
    as numbers of intervals from 0 on, NaN where missing.

    >>> import bayeskit as bk
    >>> Discretizer(cuts=[5.2, 6.1]).fit_transform([[5.2], [5.3], [7.0], [float("nan")]]).ravel()
    array([ 0.,  1.,  2., nan])
    >>> found = Discretizer(method="mdlp").fit({"age": [20, 25, 31, 60, 62, 70]}, ["well"] * 3 + ["ill"] * 3)
    >>> found.intervals_
    {'age': ['(-inf, 45.5]', '(45.5, inf)']}
    """

    def __init__(
        self,
        *,
        method: str = "width",
        bins: int | str = "auto",
        cuts: Any = None,
        kinds: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.method = method
        self.bins = bins
        self.cuts = cuts
        self.kinds = kinds
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the cuts of a table; ``y`` holds the labels or names a column of X, which is left out."""
        return self._adopt(self._counted(X, y, sample_weight, None))

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows: the cuts become those of all rows."""
        known = self.counted_ if hasattr(self, "counted_") else None
        fresh = self._counted(X, y, sample_weight, known)
        return self._adopt(fresh if known is None else self._with(fresh, Counted.merge))

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Unlearn rows: the cuts become those of the others."""
        check_is_fitted(self, "counted_")
        return self._adopt(self._with(self._counted(X, y, sample_weight, self.counted_), Counted.subtract))

    def transform(self, X: Any) -> Any:
        """The intervals of all values: the kind of frame X is, an Arrow table of a file, or a matrix of numbers."""
        check_is_fitted(self, "counted_")
        schema = self.counted_.schema
        table = Intake.of(X, None, None, self.n_jobs, self.counted_.types).against(schema, type(self).__name__)
        as_codes = not table.source.named
        parts = list(
            table.engine.map(table.rows(False), schema.names, lambda batch, _: self._batch(batch, schema, as_codes))
        )
        if not parts:
            raise InputError(
                f"Found array with 0 sample(s) (shape=(0, {len(schema.names)})) while a minimum of 1 is required"
            )
        if as_codes:
            return np.concatenate(parts)
        whole = pa.Table.from_batches(parts)
        out = frame({name: whole[name].combine_chunks() for name in whole.column_names}, kind_of(X))
        return out.set_index(X.index) if kind_of(X) == "pandas" else out

    def _batch(self, batch: Any, schema: Schema, as_codes: bool) -> Any:
        """One batch cut; as numbers of intervals, or as a record batch of categories."""
        numbers, _ = self.counted_.block(batch).numbers(schema.numeric)
        columns: dict[str, Any] = {}
        for name in schema.names:
            if name in schema.numeric_index:
                cells = cell_of(numbers.column(schema.numeric_index[name]), np.array(self.cuts_[name]))
                columns[name] = _codes(cells) if as_codes else _categories(cells, self.intervals_[name])
            elif isinstance(batch, Matrix):
                columns[name] = batch.dense()[:, batch.positions[name]]
            else:
                values = batch.column(name)
                columns[name] = values.to_numpy(zero_copy_only=False) if as_codes else values
        return np.column_stack(list(columns.values())) if as_codes else pa.RecordBatch.from_pydict(columns)

    # -- learning --------------------------------------------------------------------------------

    def _counted(self, X: Any, y: Any, weight: Any, known: Counted | None) -> Counted:
        """The bins of one table alone; ``known`` if its columns must be those of the fit."""
        self._check_settings(y)
        labelled = self.method == "mdlp"
        opened = Intake.of(X, y if labelled or isinstance(y, str) else None, weight, self.n_jobs)
        table = opened if known is None else opened.against(known.schema, type(self).__name__)
        schema = table.schema(self.kinds, "skip", ())
        roles = table.source.roles if labelled else replace(table.source.roles, label=None)
        self._given(schema)
        empty = Counted.empty(schema, self._statistic(schema), roles)
        counted: Counted = table.engine.reduce(table.rows(False), [*schema.names, *roles.names], empty)
        check_rows(counted)
        return counted.canonical()

    @staticmethod
    def _statistic(schema: Schema) -> Callable[[int], Product]:
        return lambda groups: Product(
            {"classes": Tables.empty([()], groups), "bins": Bins.empty(schema.numeric, groups)}, groups
        )

    def _with(self, other: Counted, combine: Callable[[Counted, Counted], Counted]) -> Counted:
        schema = self.counted_.schema.unify(other.schema)
        empty = self._statistic(schema)
        return combine(self.counted_.conform(schema, empty), other.conform(schema, empty)).canonical()

    def _adopt(self, counted: Counted) -> Self:
        schema, bins = counted.schema, counted.statistic["bins"]
        assert isinstance(bins, Bins)
        given = self._given(schema)
        self.cuts_ = {
            name: given[name] if name in given else tuple(self._cut(bins.column(j)).tolist())
            for j, name in enumerate(schema.numeric)
        }
        self.intervals_ = {name: intervals(cuts) for name, cuts in self.cuts_.items()}
        self.counted_ = counted
        self.n_features_in_ = len(schema.names)
        if schema.named:
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        return self

    def _cut(self, column: BinnedColumn) -> Array:
        borders = Borders(column)
        if self.method == "mdlp":
            return borders.mdlp()
        cells = few(float(column.pooled.sum())) if self.bins == "auto" else int(self.bins)
        return borders.equal_width(cells) if self.method == "width" else borders.equal_frequency(cells)

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

    def _check_settings(self, y: Any) -> None:
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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        tags.target_tags.required = self.method == "mdlp"
        return tags


def _codes(cells: Array) -> Array:
    return np.where(cells < 0, np.nan, cells.astype(np.float64))


def _categories(cells: Array, labels: list[str]) -> pa.Array:
    """Intervals by name, in order."""
    codes = pa.array(cells, mask=cells < 0)
    return pa.DictionaryArray.from_arrays(codes, pa.array(labels, pa.string()), ordered=True)
