"""Frame: columns of numbers and texts as the kind of data frame a user has, as text, and as HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence

import pyarrow as pa

from bayeskit.arrays import Frame, TableLike
from bayeskit.errors import InputError

KINDS = ("pyarrow", "pandas", "polars")
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
        return frame.with_columns(polars.col(n).cast(polars.Enum(list(some))) for n, some in levels.items())
    return table


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
