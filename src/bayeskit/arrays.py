"""Names for the types used in signatures: arrays, whose axes are stated beside each field, and what users may give."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike as ArrayLike
from numpy.typing import NDArray

if TYPE_CHECKING:
    import duckdb
    import matplotlib.axes
    import pandas
    import polars
    import pyarrow

Float = NDArray[np.float64]
Int = NDArray[np.int64]
Code = NDArray[np.int32]
Bool = NDArray[np.bool_]
Array = NDArray[Any]


class SupportsArrow(Protocol):
    """Frames and columns that speak Arrow's interface: pandas, Polars, PyArrow, a DuckDB relation."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class SupportsSparse(Protocol):
    """Matrices of SciPy that keep what is not zero."""

    nnz: int

    def tocsr(self) -> SupportsSparse: ...


@runtime_checkable
class HasColumns(Protocol):
    """Frames, also of a cluster, and relations of a database."""

    @property
    def columns(self) -> Sequence[str]: ...


@runtime_checkable
class HasItems(Protocol):
    """Numbers by label, as a mapping or a pandas Series has them."""

    def items(self) -> Iterable[tuple[Any, Any]]: ...


class Classifier(Protocol):
    """A classifier with probabilities, of this library or another."""

    @property
    def classes_(self) -> Array: ...

    def fit(self, X: Any, y: Any) -> Self: ...

    def predict(self, X: Any) -> Any: ...  # others give tuples too, as far as a type checker sees

    def predict_proba(self, X: Any) -> Float: ...


@runtime_checkable
class CostTable(Protocol):
    """What each action costs when each class is the true one."""

    @property
    def actions(self) -> tuple[Any, ...]: ...

    def matrix_for(self, classes: Any) -> Float: ...


FRONT = 2  # places in front of a column's levels in a table, and codes below theirs: never seen, missing

Label: TypeAlias = Hashable  # a class, a level, a state or an action
FilePath: TypeAlias = str | PathLike[str]
ColumnLike: TypeAlias = ArrayLike | SupportsArrow  # values, or the name of a column
LabelsLike: TypeAlias = ColumnLike
WeightsLike: TypeAlias = ColumnLike | None  # None: each row counts once
TableLike: TypeAlias = (
    ArrayLike
    | SupportsArrow
    | SupportsSparse
    | HasColumns
    | Mapping[str, ColumnLike]
    | Sequence[Mapping[str, object]]
    | FilePath
)
PriorLike: TypeAlias = str | HasItems | Iterable[float] | None  # a word, or probabilities by class or in their order
CostsLike: TypeAlias = CostTable | TableLike | Mapping[Any, Mapping[Any, float]] | None
NamesLike: TypeAlias = ColumnLike | None  # names of columns that have none
KindsLike: TypeAlias = str | Mapping[str, object] | None  # of all columns, or by column
MissingLike: TypeAlias = str | Mapping[str, str]  # "skip" or "level", of all columns or by column
ColumnNames: TypeAlias = str | Sequence[str]  # names of columns
Seed: TypeAlias = int | np.random.Generator | np.random.RandomState | None
Frame: TypeAlias = "pyarrow.Table | pandas.DataFrame | polars.DataFrame"
Axes: TypeAlias = "matplotlib.axes.Axes"
Batch: TypeAlias = "pyarrow.RecordBatch"  # or some rows of a matrix, which are read alike
Connection: TypeAlias = "duckdb.DuckDBPyConnection"
Relation: TypeAlias = "duckdb.DuckDBPyRelation"
Json: TypeAlias = dict[str, Any]  # an object of JSON
