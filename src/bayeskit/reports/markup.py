"""Markup: texts, tables and sections as HTML in which nothing a user named can be anything but text."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Label

LONG = 44  # characters of a name that are shown
_IN_SCRIPT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


class Safe(str):
    """HTML that was made here."""

    __slots__ = ()


@dataclass(frozen=True)
class Section:
    """A part of the page with its heading and the place to jump to."""

    place: str
    title: str
    body: str

    def html(self) -> str:
        return f'<section id="{self.place}"><h2>{self.title}</h2>\n{self.body}\n</section>'


def text(what: object, most: int = LONG) -> Safe:
    """A name as text; a long one is cut and shown whole on pointing.

    >>> text("<b>")
    '&lt;b&gt;'
    """
    whole = "missing" if what is None else f"{what:.6g}" if isinstance(what, float) else str(what)
    if len(whole) <= most:
        return Safe(html.escape(whole))
    return Safe(f'<span title="{html.escape(whole[:400])}">{html.escape(cut(whole, most))}</span>')


def cut(whole: str, most: int = LONG) -> str:
    """A long name without its middle: names often differ at their ends only.

    >>> cut("systolic pressure, left arm", 16)
    'systolic…eft arm'
    """
    if len(whole) <= most:
        return whole
    return f"{whole[: most // 2]}…{whole[len(whole) - (most - 1) // 2 :]}"


def chance(p: float) -> str:
    """A probability for people; a little is not nothing."""
    return "< 0.0001" if 0 < p < 0.0001 else number(p, 4)


def plain(what: object, most: int = LONG) -> Safe:
    """A name for attributes and pictures, which hold no elements.

    >>> plain('"x" onload=y', 8)
    '&quot;x&quot; …d=y'
    """
    whole = str(what)
    return Safe(html.escape(cut(whole, most)))


def script(what: object) -> str:
    """JSON that can stand in a script element.

    >>> script({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    plain = json.dumps(what, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for mark, code in _IN_SCRIPT.items():
        plain = plain.replace(mark, code)
    return plain


def number(value: float | None, places: int = 3) -> str:
    """A number for people; a dash where there is none."""
    return "–" if value is None or not np.isfinite(value) else f"{value:,.{places}f}"


def percent(share: float) -> str:
    """A share for people; a little is not nothing.

    >>> percent(0.0004), percent(0.25)
    ('< 0.1 %', '25.0 %')
    """
    return "–" if not np.isfinite(share) else "< 0.1 %" if 0 < share < 0.001 else f"{share:.1%}".replace("%", " %")


def table(head: Sequence[Label], rows: Sequence[Sequence[Label]], words: int = 1) -> str:
    """A table whose first ``words`` columns are words and the others numbers."""

    def cell(tag: str, j: int, what: object) -> str:
        shown = what if isinstance(what, Safe) else text(what)
        kind = "" if j < words else ' class="n"'
        scope = ' scope="col"' if tag == "th" else ""
        return f"<{tag}{scope}{kind}>{shown}</{tag}>"

    top = "".join(cell("th", j, what) for j, what in enumerate(head))
    body = "".join(f"<tr>{''.join(cell('td', j, what) for j, what in enumerate(row))}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def folding_table(rows: Sequence[Sequence[Label]], head: Sequence[Label], words: int = 1, shown: int = 20) -> str:
    """A table of which the first rows are shown and the others unfold."""
    if len(rows) <= shown + 3:  # to unfold so few would take as much room
        return table(head, rows, words)
    whole = table(head, rows[:shown], words)
    rest = table(head, rows[shown:], words)
    return f"{whole}<details><summary>{len(rows) - shown:,} more</summary>{rest}</details>"
