"""From whatever a user has (matrix, frame, Arrow, records, file) to a source an engine can read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from bayeskit.arrays import Array, Label, LabelsLike, TableLike
from bayeskit.data.encode import FOLD, LABEL, WEIGHT, Roles
from bayeskit.data.frame import (
    as_arrow,
    coded_levels,
    column_type,
    holds_arrow,
    is_arrow_stream,
    is_lazy,
    is_pandas_frame,
    is_sparse_matrix,
    package_of,
    read_polars,
    written_out,
)
from bayeskit.data.matrix import Matrix, Sparse
from bayeskit.engines.engine import is_outside
from bayeskit.engines.fields import (
    Declared,
    check_names,
    check_names_differ,
    check_sound,
    declare_levels,
    name_damage,
    plain_column,
)
from bayeskit.errors import InputError, KindError, SchemaError, warn

FEW = 4096  # rows of a frame that may be copied to be read


@dataclass(frozen=True)
class Source:
    """What an engine reads, which of its columns are not features, and what Arrow types do not say."""

    rows: Any  # pa.Table, Matrix, a path, or a relation
    roles: Roles = Roles()
    named: bool = True
    label: str = "O"
    records: bool = False  # whether a row may lack a column, which then is missing

    @property
    def known_rows(self) -> int | None:
        """How many rows a table in memory has; None of others, which are to be read first."""
        return self.rows.num_rows if isinstance(self.rows, pa.Table | Matrix) else None


def source(X: TableLike, y: LabelsLike | None = None, weight: object = None, fold: object = None) -> Source:
    """The source of a table; y, weight and fold are arrays beside it or names of its columns."""
    if not is_pandas_frame(X) and is_outside(X):
        for argument, given in (("y", y), ("sample_weight", weight), ("folds", fold)):
            if given is not None and not isinstance(given, str):
                raise InputError(
                    f"{argument} must name a column of the file, relation or frame, not be {type(given).__name__}"
                )
        return Source(X, Roles(*(None if given is None else str(given) for given in (y, weight, fold))))
    table, named = _table(X)
    if is_pandas_frame(X):
        for argument, given in (("y", y), ("sample_weight", weight), ("folds", fold)):
            _warn_of_order(X, given, argument)
    if not len(table.schema):
        raise InputError(
            f"Found array with 0 feature(s) (shape=({table.num_rows}, 0)) while a minimum of 1 is required. "
            f"The table has no column"
        )
    beside: dict[str, pa.Array] = {}
    roles = Roles(
        _role(table, y, LABEL, "y", beside),
        _role(table, weight, WEIGHT, "sample_weight", beside),
        _role(table, fold, FOLD, "folds", beside),
    )
    label = "O" if y is None else _label(y, table, roles.label, beside)
    if isinstance(table, Matrix):
        return Source(Matrix(table.x, beside), roles, named, label)
    for name, array in beside.items():
        table = table.append_column(name, array)
    return Source(table, roles, named, label, _is_records(X))


def _warn_of_order(X: Any, given: Any, argument: str) -> None:
    """Say so where a frame and a column of pandas have the same index in another order: rows are paired by position."""
    if package_of(given) != "pandas" or len(given) != len(X) or given.index is X.index or given.index.equals(X.index):
        return
    try:
        permuted = X.index.sort_values().equals(given.index.sort_values())
    except TypeError:  # names of rows that have no order
        return
    if permuted:
        warn(
            f"{argument} has the index of the frame in another order; rows are paired by position, as scikit-learn "
            f"does. Give {argument}.loc[frame.index] to pair them by index, or {argument}.to_numpy() if this is meant"
        )


def _categories(values: object) -> Declared | None:
    """What a column of pandas declares, if it is one of categories."""
    kind = column_type(values)
    levels = kind.categories.tolist() if type(kind).__name__ == "CategoricalDtype" else []
    if not levels or not all(isinstance(level, str | bool | int | float | Decimal) for level in levels):
        return None
    return Declared(tuple(levels), bool(kind.ordered))


def _is_records(X: object) -> bool:
    return isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], Mapping)


def _table(X: Any) -> tuple[pa.Table | Matrix, bool]:
    """An Arrow table or a matrix, and whether its columns had names of their own."""
    _check_table(X)
    if is_pandas_frame(X):
        return _pandas(X), True
    if is_sparse_matrix(X):
        _check_matrix(X)
        wide = X.dtype.kind == "f" and X.dtype.itemsize > 8
        return Matrix(Sparse.of(X.tocsr().astype(np.float64) if wide else X.tocsr()), {}), False
    if isinstance(X, pa.Table):
        return _unique(check_sound(X, "the table")), True
    if isinstance(X, pa.RecordBatch):
        return _unique(check_sound(pa.Table.from_batches([X]), "the batch")), True
    if is_arrow_stream(X):
        return _unique(_import(X)), True
    if isinstance(X, Mapping):
        held = {name: _column(name, values) for name, values in X.items()}
        return _unique(_declaring(_name_columns(held), X.values())), True
    if _is_records(X):
        keys = dict.fromkeys(k for row in X for k in row)  # a key a row lacks is a missing value
        return _name_columns({k: _objects([row.get(k) for row in X], f"column {k!r}") for k in keys}), True
    return _array(X), False


def _import(X: object) -> pa.Table:
    """A table from whoever speaks Arrow's interface; what Polars makes is sound by its own making."""
    if package_of(X) == "polars":
        return read_polars(X)
    what = f"the {type(X).__name__}"
    with name_damage(what):
        reader = X if isinstance(X, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(X)
        check_names(reader.schema)
        return pa.Table.from_batches([check_sound(batch, what) for batch in reader], reader.schema)


def _check_table(X: object) -> None:
    """Refuse what looks like a table's place or parts, with what to give instead."""
    kinds = "a frame, an Arrow table, a matrix, a mapping of columns, a path or a DuckDB relation"
    if X is None:
        raise InputError(f"None is no table; give {kinds}")
    if type(X).__name__ == "Series":
        raise InputError(
            "Expected 2D array, got 1D array instead: a Series is one row or column without its table; give a row as "
            "frame.iloc[[5]], a column as frame[['age']]"
        )
    if type(X).__name__ == "DuckDBPyConnection":
        raise InputError(
            "a DuckDB connection has any number of tables; say which rows: connection.sql('select * from people')"
        )
    if isinstance(X, list | tuple) and X and all(isinstance(part, str | os.PathLike) for part in X):
        raise InputError(
            f"a list of {len(X)} texts is no table (Expected 2D array, got 1D array instead); texts to classify need a "
            f"vectorizer before the classifier (make_pipeline(CountVectorizer(), ...)), and files a known ending (.csv)"
        )


def _column(name: object, values: object) -> pa.Array:
    if values is None or np.isscalar(values):
        raise InputError(f"column {name!r} is the single value {values!r}; write it as a list, [{values!r}]")
    return _one(values, f"column {name!r}")


def _name_columns(columns: Mapping[Any, pa.Array]) -> pa.Table:
    """Columns by name, which are texts from here on."""
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        raise InputError(f"the columns have different lengths: {', '.join(map(str, sorted(lengths)))}")
    names = [str(name) for name in columns]
    check_names_differ(names)
    return pa.table(list(columns.values()), names=names)


def _declaring(table: pa.Table, given: Iterable[object]) -> pa.Table:
    """A table with what the columns it was made of declare."""
    declared = [_categories(values) for values in given]
    if not any(declared):
        return table
    fields = (f if d is None else d.on(f) for f, d in zip(table.schema, declared, strict=True))
    return pa.table(table.columns, schema=pa.schema(list(fields)))


def _pandas(X: Any) -> pa.Table:
    names, held = [str(name) for name in X.columns.tolist()], list(_column_arrays(X))
    check_names_differ(names)
    columns = [_objects(values, f"column {n!r}") for n, values in zip(names, held, strict=True)]
    return _unique(_declaring(pa.table(columns, names=names), held))


def _column_arrays(X: Any) -> Iterator[Any]:
    """What a frame keeps the values of each column in, where that is Arrow's already or NumPy's; a series elsewhere.

    A series of every column costs more than reading a frame of few rows, so numbers of one type come as a matrix.
    """
    kinds = X.dtypes.tolist() if len(X) <= FEW else []
    if kinds and _plain_numbers(kinds[0]) and kinds.count(kinds[0]) == len(kinds):
        yield from X.to_numpy().T
        return
    for _, column in X.set_axis(range(X.shape[1]), axis=1).items():  # names of texts are slow to read one by one
        values = column.array
        yield column.to_numpy() if _plain_numbers(column.dtype) else values if holds_arrow(values) else column


def _plain_numbers(kind: object) -> bool:
    return isinstance(kind, np.dtype) and kind.kind in "biuf"


def _unique(table: pa.Table) -> pa.Table:
    """The table with plain types, and what its dictionaries declare; a name may not occur twice."""
    check_names_differ(table.column_names)
    if not any(isinstance(t, pa.BaseExtensionType | pa.DictionaryType) for t in table.schema.types):
        return table.replace_schema_metadata(None)
    declared = declare_levels(table.schema, lambda name: (chunk.dictionary for chunk in table.column(name).chunks))
    plain = [plain_column(column) for column in table.columns]
    fields = [f.with_type(column.type) for f, column in zip(declared, plain, strict=True)]
    return pa.table(plain, schema=pa.schema(fields))


def _array(X: object) -> pa.Table | Matrix:
    """A NumPy matrix as it is, or one of texts and objects as an Arrow table."""
    if is_lazy(X):
        raise InputError("a lazy frame has no rows yet; call .collect() first")
    x = _native(np.ma.filled(X.astype(np.float64), np.nan) if isinstance(X, np.ma.MaskedArray) else np.asarray(X))
    _check_matrix(x)
    if x.dtype.kind in "biuf":
        return Matrix(x, {})
    columns = [_objects(x[:, j].tolist(), f"column {j} of the matrix") for j in range(x.shape[1])]
    return pa.table(columns, names=[f"x{j}" for j in range(x.shape[1])])


def _check_matrix(x: Any) -> None:
    """Refuse what is no matrix of values, dense or sparse."""
    if x.dtype.kind == "c":
        raise InputError("Complex data not supported: give real numbers")
    if x.dtype.kind in "mM":
        raise KindError(f"a matrix of {x.dtype} has no numbers; convert dates to days since an event, or to levels")
    if (axes := len(x.shape)) != 2:
        raise InputError(
            f"Expected 2D array, got {axes}D array instead: a table has rows and columns. "
            f"Reshape your data with array.reshape(-1, 1) if it is one column, or array.reshape(1, -1) if it is one row"
        )


def _native(x: Array) -> Array:
    """The array in this machine's byte order, extended precision as doubles."""
    if x.dtype.kind == "f" and x.dtype.itemsize > 8:
        return x.astype(np.float64)
    return x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))


def _objects(values: object, where: str) -> pa.Array:
    """Values of one type, or missing, as an Arrow array; numbers of NumPy stay where they are, NaN among them."""
    values = written_out(values)
    here = isinstance(values, np.ndarray) and values.dtype.kind in "biuf"
    coded = coded_levels(values)
    try:
        if coded is not None:
            codes, levels = coded[0], pa.array(coded[1], from_pandas=True)
            places = pa.array(codes, mask=codes < 0 if len(codes) and codes.min() < 0 else None)
            return pa.DictionaryArray.from_arrays(places, levels, ordered=column_type(values).ordered, safe=False)
        return pa.array(values, from_pandas=not here)
    except OverflowError:  # whole numbers of Python
        return _to_unsigned(values, where)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError) as error:
        raise KindError(
            f"{where} mixes types or has an unknown one: {error}; each argument must be a string or a number: "
            f"convert it to one type"
        ) from error


def _to_unsigned(values: object, where: str) -> pa.Array:
    """Whole numbers of which some need the 64th bit."""
    try:
        return pa.array(values, pa.uint64(), from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError) as error:
        raise KindError(
            f"{where} has whole numbers that 64 bits do not hold; give floats, or text where they are names"
        ) from error


def _role(
    table: pa.Table | Matrix, given: object, reserved: str, argument: str, beside: dict[str, pa.Array]
) -> str | None:
    """The name under which the engine finds what stands beside the features."""
    if given is None:
        return None
    if isinstance(given, str):
        if isinstance(table, Matrix) or given not in table.column_names:
            if isinstance(table, Matrix):
                raise SchemaError(
                    f"{argument}={given!r} names no column: the table is a matrix (a pipeline makes one), which has no "
                    f"names; give the values themselves, frame[{given!r}]"
                )
            known = ", ".join(table.column_names[:12])
            raise SchemaError(f"{argument}={given!r} names no column of the table (it has: {known})")
        return given
    values = _one(given, argument)
    if len(values) != table.num_rows:
        raise InputError(
            f"Found input variables with inconsistent numbers of samples: [{table.num_rows}, {len(values)}]: "
            f"{argument} has {len(values)} values, the table {table.num_rows} rows{_texts(table)}"
        )
    beside[reserved] = values
    return reserved


def _texts(table: pa.Table | Matrix) -> str:
    """What to do where a vectorizer was given a frame, of which it reads the names of the columns."""
    counted = isinstance(table, Matrix) and not isinstance(table.x, np.ndarray)
    return "; a vectorizer reads texts: give it a column, X['text'], not the frame" if counted else ""


def _one(given: object, argument: str) -> pa.Array:
    """One-dimensional values as an Arrow array."""
    if isinstance(given, pa.ChunkedArray):
        return given.combine_chunks()
    if isinstance(given, pa.Array):
        return given
    if (arrow := as_arrow(given)) is not given:
        return _one(arrow, argument)
    if package_of(given) == "pandas":
        return _one(_objects(given, argument), argument)
    if isinstance(given, list | tuple):
        return _objects(list(given), argument)
    values = _native(np.asarray(given))
    if values.ndim != 1:
        raise InputError(f"{argument} should be a 1d array, got an array of shape {values.shape} instead")
    return _objects(values.tolist() if values.dtype.kind in "OUS" else values, argument)


def _label(y: LabelsLike, table: Any, role: str | None, beside: dict[str, pa.Array]) -> str:
    """The NumPy type in which labels are to come back."""
    dtype = column_type(y)
    if isinstance(dtype, np.dtype) and dtype.kind in "biufU":
        return "U" if dtype.kind == "U" else dtype.newbyteorder("=").str
    if isinstance(y, list | tuple):
        dtype = np.asarray(y).dtype
        return "U" if dtype.kind == "U" else (dtype.str if dtype.kind in "biuf" else "O")
    return label_of(beside[role].type if role in beside else table.schema.field(role).type)


def labels(values: Sequence[Label], label: str) -> Array:
    """Labels in the type they came in, or in a wider one where a label that came later does not fit it.

    >>> labels(["ill", "well"], "U"), labels([1, 300], "|i1")
    (array(['ill', 'well'], dtype='<U4'), array([  1, 300]))
    """
    kinds = {(isinstance(value, bool), isinstance(value, str)) for value in values}
    array = np.empty(len(values), dtype=object)
    array[:] = values
    if label == "O" or kinds - {(label == "|b1", label == "U")}:  # classes of two types
        return array
    for kind in (label,) if label in ("U", "|b1") else (label, "<i8", "<u8", "<f8"):
        try:
            typed: Array = array.astype(np.dtype(kind))
        except OverflowError:
            continue
        if typed.tolist() == list(values):
            return typed
    return array


def label_of(kind: pa.DataType) -> str:
    """The NumPy type of labels of an Arrow type."""
    if pt.is_dictionary(kind):
        kind = kind.value_type
    if pt.is_integer(kind) or pt.is_floating(kind) or pt.is_boolean(kind):
        return str(np.dtype(kind.to_pandas_dtype()).str)
    return "O"
