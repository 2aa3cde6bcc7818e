"""Foreign: what users' tables, columns and labels are, by what they offer; no other module below the doors asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa


def package_of(X: object) -> str:
    """The package that a value's type comes from.

    >>> package_of(np.zeros(1))
    'numpy'
    """
    return type(X).__module__.split(".")[0]


def is_pandas_frame(X: object) -> bool:
    """Whether it is a frame of pandas, which takes its time to say that it lacks an attribute."""
    return package_of(X) == "pandas" and hasattr(type(X), "columns")


def is_sparse_matrix(X: object) -> bool:
    """Whether it is a matrix or array of SciPy that keeps what is not zero."""
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def is_arrow_stream(X: object) -> bool:
    """Whether it is a table, and no column, that speaks Arrow's interface."""
    return hasattr(X, "__arrow_c_stream__") and not hasattr(X, "name")


def is_lazy(X: object) -> bool:
    """Whether it is a frame whose rows are yet to be computed."""
    return hasattr(X, "collect") and hasattr(X, "lazy")


def is_array_only(X: object) -> bool:
    """Whether its rows cannot be taken but as those of the array it says it is."""
    return hasattr(X, "__array__") and not hasattr(X, "__getitem__")


def is_frame(X: object) -> bool:
    """Whether it has columns by name."""
    return hasattr(X, "columns") and hasattr(X, "__getitem__") and not isinstance(X, Mapping)


def is_column_vector(y: object) -> bool:
    """Whether labels come as a matrix of one column."""
    return getattr(y, "ndim", 1) == 2 and np.shape(y)[1] == 1  # type: ignore[call-overload]


def column_names(X: object) -> Sequence[Any]:
    """The names of its columns, if it has any."""
    if isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
        return list(X[0])
    if isinstance(X, Mapping):
        return list(X)
    return list(X.column_names if isinstance(X, pa.Table) else getattr(X, "columns", ()))


def column_type(values: object) -> Any:
    """The type that a column says its values have, NumPy's or that of a frame; None if it does not say."""
    return getattr(values, "dtype", None)


def is_category(kind: object) -> bool:
    """Whether a type says which levels there are: categories of pandas, an enumeration of Polars."""
    return hasattr(kind, "categories") and not isinstance(kind, str)


def is_ordered(kind: object) -> bool:
    """Whether a type of categories orders them; pandas says so, an enumeration of Polars always does."""
    return bool(getattr(kind, "ordered", True))


def written_out(values: object) -> Any:
    """A column that pandas keeps by what differs from one value, in full; any other as it is."""
    dense = getattr(getattr(values, "array", values), "to_dense", None)
    return values if dense is None else dense()


def coded_levels(values: object) -> tuple[Any, Any] | None:
    """The codes of a column of categories of pandas, -1 where a value is missing, and its levels; None of any other."""
    held: Any = getattr(values, "array", values)
    return (held.codes, held.categories) if type(held).__name__ == "Categorical" else None


def as_arrow(values: object) -> Any:
    """A column as Arrow has it, where it can say that itself; else as it is."""
    return values.to_arrow() if hasattr(values, "to_arrow") else values


def holds_arrow(values: object) -> bool:
    """Whether a column of pandas keeps its values as Arrow does."""
    return hasattr(values, "__arrow_array__")


def as_list(values: Any) -> Iterable[Any]:
    """Values of an array, a column or a list as those of Python."""
    if hasattr(values, "to_pylist"):
        values = values.to_pylist()
    return values.tolist() if hasattr(values, "tolist") else values  # type: ignore[no-any-return]
