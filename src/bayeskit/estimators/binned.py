"""Binned: numbers cut or ranked by their bins, for transformers and for networks, so that a stream will do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bayeskit.arrays import Array, Batch, Float, Frame, KindsLike, LabelsLike, TableLike, WeightsLike
from bayeskit.data.frame import convert_frame, kind_of
from bayeskit.data.kinds import by_name
from bayeskit.data.matrix import Matrix
from bayeskit.data.schema import Schema
from bayeskit.errors import InputError, SchemaError
from bayeskit.estimators.docstrings import document
from bayeskit.estimators.learner import any_table
from bayeskit.model.open_table import OpenTable, check_rows
from bayeskit.numerics.cut_points import CutPoints, ascending
from bayeskit.numerics.scale import Scale
from bayeskit.statistics.bins import Bins
from bayeskit.statistics.counted import Counted
from bayeskit.statistics.statistic import Product
from bayeskit.statistics.tables import Tables


@document()
class Binned(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Counts the bins of every number column; what is made of them is for subclasses to say."""

    kinds: Any
    n_jobs: int | None

    @property
    def _labelled(self) -> bool:
        """Whether the classes are counted apart."""
        return False

    def fit(self, X: TableLike, y: LabelsLike | None = None, sample_weight: WeightsLike = None) -> Self:
        """Learn from a table; ``y`` holds the labels or names a column of X, which is left out.

        Parameters
        ----------
        y : array of shape (n,) or str, optional
            The labels, or the name of their column, which is left out.
        """
        return self._adopt(self._count(X, y, sample_weight, None))

    def partial_fit(self, X: TableLike, y: LabelsLike | None = None, sample_weight: WeightsLike = None) -> Self:
        """Learn more rows: as if all had been learned at once.

        Parameters
        ----------
        y : array of shape (n,) or str, optional
            The labels, or the name of their column, which is left out.
        """
        known = self.counted_ if "counted_" in vars(self) else None
        fresh = self._count(X, y, sample_weight, known)
        return self._adopt(fresh if known is None else self._with(fresh, Counted.merge))

    def forget(self, X: TableLike, y: LabelsLike | None = None, sample_weight: WeightsLike = None) -> Self:
        """Unlearn rows: as if only the others had been learned.

        Parameters
        ----------
        y : array of shape (n,) or str, optional
            The labels, or the name of their column, which is left out.
        """
        check_is_fitted(self, "counted_")
        return self._adopt(self._with(self._count(X, y, sample_weight, self.counted_), Counted.subtract))

    def transform(self, X: TableLike) -> Frame | Array:
        """All values anew: the kind of frame X is, an Arrow table of a file, or a matrix of numbers."""
        check_is_fitted(self, "counted_")
        schema = self.counted_.schema
        table = OpenTable.of(X, None, None, self.n_jobs, self.counted_.types).against(schema, type(self).__name__)
        as_numbers = not table.source.named
        parts = list(
            table.engine.map(table.rows(False), schema.names, lambda batch, _: self._batch(batch, schema, as_numbers))
        )
        if not parts:
            raise InputError(
                f"Found array with 0 sample(s) (shape=(0, {len(schema.names)})) while a minimum of 1 is required"
            )
        if as_numbers:
            return np.concatenate(parts)
        whole = pa.Table.from_batches(parts)
        fields = [f.with_metadata(table.fields.field(f.name).metadata) for f in whole.schema]
        out = convert_frame(pa.table([c.combine_chunks() for c in whole.columns], schema=pa.schema(fields)), kind_of(X))
        given: Any = X
        return out.set_index(given.index) if kind_of(X) == "pandas" else out

    def _batch(self, batch: Batch, schema: Schema, as_numbers: bool) -> Any:
        """One batch; as numbers, or as a record batch."""
        numbers, _ = self.counted_.block(batch).numbers(schema.numeric)
        columns: dict[str, Any] = {}
        for name in schema.names:
            if name in schema.numeric_index:
                columns[name] = self._column(name, numbers.column(schema.numeric_index[name]), as_numbers)
            elif isinstance(batch, Matrix):
                columns[name] = batch.dense()[:, batch.positions[name]]
            else:
                values = batch.column(name)
                columns[name] = values.to_numpy(zero_copy_only=False) if as_numbers else values
        return np.column_stack(list(columns.values())) if as_numbers else pa.RecordBatch.from_pydict(columns)

    def _column(self, name: str, x: Float, as_numbers: bool) -> Any:
        """A column anew: numbers with NaN where it is missing, or what a frame should have."""
        raise NotImplementedError

    def _read(self, schema: Schema, bins: Bins) -> None:
        """Set what is learned."""
        raise NotImplementedError

    def _check(self, schema: Schema) -> None:
        """Refuse settings that do not fit the columns."""

    def _check_settings(self, y: LabelsLike | None) -> None:
        """Refuse settings that fit no table."""

    # -- learning --------------------------------------------------------------------------------

    def _count(self, X: TableLike, y: LabelsLike | None, weight: WeightsLike, known: Counted | None) -> Counted:
        """The bins of one table alone; ``known`` if its columns must be those of the fit."""
        self._check_settings(y)
        opened = OpenTable.of(X, y if self._labelled or isinstance(y, str) else None, weight, self.n_jobs)
        table = opened if known is None else opened.against(known.schema, type(self).__name__)
        schema = table.schema(self.kinds, "skip", ())
        roles = table.source.roles if self._labelled else replace(table.source.roles, label=None)
        self._check(schema)
        empty = Counted.empty(schema, bins_of(schema), roles)
        counted: Counted = table.engine.reduce(table.rows(False), [*schema.names, *roles.names], empty)
        check_rows(counted, table.place)
        return counted.canonical()

    def _with(self, other: Counted, combine: Callable[[Counted, Counted], Counted]) -> Counted:
        schema = self.counted_.schema.unify(other.schema)
        empty = bins_of(schema)
        return combine(self.counted_.conform(schema, empty), other.conform(schema, empty)).canonical()

    def _adopt(self, counted: Counted) -> Self:
        schema, bins = counted.schema, counted.statistic["bins"]
        assert isinstance(bins, Bins)
        self._read(schema, bins)
        self.counted_ = counted
        self.n_features_in_ = len(schema.names)
        if schema.named:
            self.feature_names_in_: Array = np.array(schema.names, dtype=object)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = any_table(super().__sklearn_tags__())
        tags.target_tags.required = self._labelled
        return tags


def bins_of(schema: Schema) -> Callable[[int], Product]:
    """What to count: rows, and the bins of every column of numbers."""
    return lambda groups: Product(
        {"classes": Tables.empty([()], groups), "bins": Bins.empty(schema.numeric, groups)}, groups
    )


@document()
class NormalScores(Binned):
    """Puts number columns on the scale of N(0, 1) by their ranks; other columns pass, what is missing stays missing.

    The score of a value is the quantile of N(0, 1) at the share of the rows below it and half of those equal to it,
    classes not looked at; between the values learned it is straight, beyond them level. So a column of any shape
    looks normal, and outliers are no farther than others: what ``FullBayes`` and ``KNNBayes`` like. Scores are read
    from bins: exact while a column has at most 1,024 distinct values, to the width of a cell beyond, so a stream can
    be learned, and rows forgotten.

    Parameters
    ----------
    n_jobs : int, optional
        Number of threads; -1 is all cores, None those this process may use. Results do not depend on it.

    Examples
    --------
    >>> import bayeskit as bk
    >>> from sklearn.pipeline import make_pipeline
    >>> NormalScores().fit_transform([[1.0], [10.0], [1000.0], [float("nan")]]).ravel().round(2)
    array([-0.97,  0.  ,  0.97,   nan])
    >>> model = make_pipeline(NormalScores(), bk.FullBayes())
    """

    def __init__(self, *, kinds: KindsLike = None, n_jobs: int | None = None) -> None:
        self.kinds = kinds
        self.n_jobs = n_jobs

    def _column(self, name: str, x: Float, as_numbers: bool) -> Any:
        scores = self.scales_[name].of(x)
        return scores if as_numbers else pa.array(scores, mask=np.isnan(scores))

    def _read(self, schema: Schema, bins: Bins) -> None:
        self.scales_ = {}
        for j, name in enumerate(schema.numeric):
            column = bins.column(j)
            there = column.pooled > 0
            known = (column.centres[there], column.pooled[there]) if there.any() else (np.zeros(1), np.ones(1))
            self.scales_[name] = Scale.normal(*known)


FREQUENCY, MDLP = "frequency", "mdlp"
MOST = 1000  # intervals of a node


@dataclass(frozen=True)
class Cutting:
    """Which number columns are cut and how: "frequency", "mdlp", so many intervals, or the cuts, for all or by column.

    "mdlp" cuts where the shares of a ``label`` change, which is a column of levels: a network has no class of its own,
    so that it must be named.
    """

    cuts: Any
    label: str | None = None

    def learn(
        self, X: TableLike, kinds: KindsLike, weight: WeightsLike, n_jobs: int | None, known: Iterable[str] = ()
    ) -> dict[str, tuple[float, ...]]:
        """The cuts of the columns of numbers that are to be cut, ``known`` levels left out: one pass over the rows."""
        if self.cuts is None:
            if self.label is not None:
                raise InputError(f'label={self.label!r} is for cuts="mdlp" alone; leave it out')
            return {}
        table = OpenTable.of(X, None, weight, n_jobs)
        schema = table.schema(kinds, "skip", ())
        asked = self._by_column(schema, set(known))
        given = {name: ascending(how, f"cuts[{name!r}] = {how!r}") for name, how in asked.items() if _listed(how)}
        found = dict(given)
        for by_class in (False, True):
            names = [n for n, how in asked.items() if n not in given and (how == MDLP) == by_class]
            if names:
                bins = self._count(X, schema, names, weight, n_jobs, by_class)
                for j, name in enumerate(names):
                    cells = int(asked[name]) if isinstance(asked[name], Integral) else None
                    found[name] = CutPoints(bins.column(j)).to_hold(by_class, cells)
        return {name: found[name] for name in asked}

    def _by_column(self, schema: Schema, known: set[str]) -> dict[str, Any]:
        numbers = [name for name in schema.numeric if name not in known]
        if not isinstance(self.cuts, Mapping):
            asked = dict.fromkeys(numbers, self.cuts)
            _check(self.cuts, "cuts")
        else:
            asked = by_name(self.cuts, schema.names, True, "cuts")
        for name, how in asked.items():
            if name not in numbers:
                raise SchemaError(
                    f"cuts names column {name!r}, which is {schema[name].kind} ({schema[name].why}) and has no numbers "
                    f"to cut; leave it out"
                )
            _check(how, f"cuts[{name!r}]")
        if MDLP in [how for how in asked.values() if isinstance(how, str)]:
            if self.label is None:
                raise InputError(
                    'cuts="mdlp" cuts where the shares of a label change, and a network has none: name a column of '
                    'levels (label="diagnosis"), or take cuts="frequency"'
                )
            if self.label not in schema or schema[self.label].numeric:
                raise InputError(f"label={self.label!r} is no column of levels; name one")
        elif self.label is not None:
            raise InputError(f'label={self.label!r} is for cuts="mdlp" alone; leave it out')
        return asked

    def _count(
        self, X: TableLike, schema: Schema, names: list[str], weight: WeightsLike, n_jobs: int | None, by_class: bool
    ) -> Any:
        """The bins of some columns, by label where they are to be cut by it."""
        table = OpenTable.of(X, self.label if by_class else None, weight, n_jobs)
        chosen = replace(schema, columns=tuple(schema[name] for name in names))
        empty = Counted.empty(chosen, bins_of(chosen), table.source.roles)
        counted = table.engine.reduce(table.rows(False), [*names, *table.source.roles.names], empty)
        check_rows(counted, table.place)
        return counted.canonical().statistic["bins"]


def _listed(how: object) -> bool:
    return not isinstance(how, str | Integral)


def _check(how: object, where: str) -> None:
    """Refuse what is neither a rule, nor a number of intervals, nor a list of cuts."""
    if isinstance(how, str) and how in (FREQUENCY, MDLP):
        return
    if isinstance(how, Integral) and not isinstance(how, bool) and 2 <= int(how) <= MOST:
        return
    if isinstance(how, str | bool | Integral) or not isinstance(how, Iterable):
        raise InputError(
            f'{where}={how!r}: choose "{FREQUENCY}", "{MDLP}", a number of intervals from 2 to {MOST}, or list the cuts'
        )
