"""Frames: what users' tables, columns and labels are, by what they offer, and answers as the kind a user has."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bayeskit.arrays import Frame, TableLike
from bayeskit.errors import InputError

KINDS = ("pyarrow", "pandas", "polars")
SPARSE = 8  # rows at least for each category of Polars that is looked up
NO_TEX = "tex2jax_ignore mathjax_ignore"  # classes whose text notebooks do not typeset
CONTROLS = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]")


def kind_of(X: TableLike) -> str:
    """The kind of frame a table is; what is no frame (a matrix, records, a file) counts as pyarrow.

    >>> kind_of([[1.0]])
    'pyarrow'
    """
    packages = (kind.__module__.split(".")[0] for kind in type(X).__mro__)  # a frame may be derived from pandas'
    return next((package for package in packages if package in KINDS), "pyarrow")


def frame(columns: Mapping[str, object], kind: str = "pyarrow") -> Frame:
    """Columns of equal length as a frame of one kind.

    >>> frame({"class": ["ill", "well"], "weight": [2.0, 3.0]}).column_names
    ['class', 'weight']
    """
    return convert_frame(pa.table({name: pa.array(values, from_pandas=True) for name, values in columns.items()}), kind)


def convert_frame(table: pa.Table, kind: str) -> Frame:
    """An Arrow table as a frame of one kind."""
    if kind not in KINDS:
        raise InputError(f"frame({kind!r}): choose one of {', '.join(KINDS)}")
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        import polars

        frame = polars.from_arrow(table)  # makes ordered categories unordered ones
        ordered = {f.name: f.type for f in table.schema if pa.types.is_dictionary(f.type) and f.type.ordered}
        levels = {
            name: dict.fromkeys(v for c in table[name].chunks for v in c.dictionary.to_pylist()) for name in ordered
        }
        return frame.with_columns(polars.col(n).cast(polars.Enum(list(values))) for n, values in levels.items())
    return table


def read_polars(X: Any) -> pa.Table:
    """A frame of Polars in Arrow; its categories by the numbers it has for them, which it would look up row by row."""
    import polars

    names = [name for name, kind in X.schema.items() if kind == polars.Categorical]
    if not names:
        return pa.table(X)
    table = pa.table(X.with_columns(polars.col(names).to_physical()))
    for name, field in zip(names, pa.table(X.select(names).clear()).schema, strict=True):
        place, chunks = table.schema.get_field_index(name), table[name].chunks
        numbers = chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks) if chunks else pa.nulls(0, pa.uint32())
        found = _dictionary(X[name], numbers, field.type)
        if found is None:
            table = table.set_column(place, field, pa.table(X.select(name))[name])
        else:
            table = table.set_column(place, field.with_type(found.type), found)
    return table


def _dictionary(values: Any, numbers: pa.Array, kind: pa.DictionaryType) -> pa.DictionaryArray | None:
    """Categories of Polars by their numbers; None where these have gaps, as those of a pool of many columns may."""
    low, high = pc.min_max(numbers).as_py().values()
    if low is None or high - low > len(numbers) // SPARSE:
        return None
    place, begin, step = np.full(high - low + 1, -1), 0, 4096  # a row of each category; most occur early
    while begin < len(numbers) and place.min() < 0:
        part = numbers.slice(begin, step)
        rows = np.flatnonzero(part.is_valid().to_numpy(zero_copy_only=False))
        place[part.drop_null().to_numpy() - low] = begin + rows
        begin, step = begin + step, 8 * step
    if place.min() < 0:
        return None
    names = values.gather(place.tolist()).cast(str).to_list()
    codes = pc.subtract(numbers, pa.scalar(low, numbers.type)) if low else numbers
    texts = pa.array(names, kind.value_type)  # as many as there are numbers from the least to the greatest
    return pa.DictionaryArray.from_arrays(codes, texts, ordered=kind.ordered, safe=False)


def visible(text: str) -> str:
    """The text with signs that a terminal would obey (escape sequences, reversed writing) as one can read them.

    >>> print(visible("a\\x1b[31mb"))
    a\\x1b[31mb
    """
    return CONTROLS.sub(lambda sign: ascii(sign[0])[1:-1], text)


def align(lines: Sequence[Sequence[str]], left: int) -> str:
    """Rows of cells under each other, the first ``left`` of them to the left."""
    lines = [[visible(cell) for cell in line] for line in lines]
    width = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = (
        (cell.ljust(w) if j < left else cell.rjust(w) for j, (cell, w) in enumerate(zip(line, width, strict=True)))
        for line in lines
    )
    return "\n".join("  ".join(cells).rstrip() for cells in text)


def shorten(value: object, most: int = 24) -> str:
    """A value as text of at most so many letters, on one line.

    >>> shorten("antidisestablishmentarianism", 12)
    'antidisest…m'
    """
    text = " ".join(f"{value:.6g}".split() if isinstance(value, float) else visible(str(value)).split())
    return text if len(text) <= most else f"{text[: most - 2]}…{text[-1]}"


def html_table(lines: Sequence[Sequence[str]], left: int, caption: str = "") -> str:
    """The same as a small HTML table, the first line as its head; every text is escaped, and no TeX to notebooks.

    >>> html_table([["a<b"]], left=1)
    '<table class="tex2jax_ignore mathjax_ignore"><thead><tr><th>a&lt;b</th></tr></thead><tbody></tbody></table>'
    """
    head, *body = [[html.escape(cell) for cell in line] for line in lines]

    def row(cells: Sequence[str]) -> str:
        marked = (f'<th scope="row">{c}</th>' if j < left else f"<td>{c}</td>" for j, c in enumerate(cells))
        return f"<tr>{''.join(marked)}</tr>"

    top = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    names = "".join(f"<th>{cell}</th>" for cell in head)
    rows = "".join(map(row, body))
    return f'<table class="{NO_TEX}">{top}<thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>'


class TableRepr:
    """A result that shows itself as a table: in text, in a terminal by rich, and in a notebook."""

    _left = 1  # cells of a line that stand to the left

    def _title(self) -> str:
        return ""

    def _lines(self) -> list[list[str]]:
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n".join(filter(None, (visible(self._title()), align(self._lines(), self._left))))

    def __repr__(self) -> str:
        return str(self)

    def __rich__(self) -> str:
        return str(self).replace("[", "\\[")  # names in brackets are no markup

    def _repr_html_(self) -> str:
        return html_table(self._lines(), self._left, self._title())


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
    plain: Iterable[Any] = values.tolist() if hasattr(values, "tolist") else values
    return plain
