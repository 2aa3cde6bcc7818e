"""Explanation: the evidence of each column for each class, adding up to the posterior."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Protocol, runtime_checkable

import numpy as np

from bayeskit.arrays import Array, Axes, Bool, Float, Frame, Int, Label, TableLike
from bayeskit.data.frame import TableRepr, align, frame, html_table, shorten
from bayeskit.docstrings import complete_docstrings, document_frame_like_x
from bayeskit.errors import InputError
from bayeskit.explain.worked import AskedRows, Working
from bayeskit.numerics.special import LOG_2
from bayeskit.plots.style import Display

REST = "(rest)"
UNITS = {"nats": 1.0, "bits": 1 / LOG_2, "points": 10 / np.log(10)}  # of a nat
ROWS, CLASSES, PARTS = 3, 8, 20  # shown
SHARED = {
    "row": """int, default 0
        Which row.""",
    "label": """class, optional
        The class to speak for; the most probable unless given.""",
    "rival": """class, optional
        The class it is compared with; all others unless given.""",
    "unit": """{"nats", "bits", "points"}
        Ten points multiply the odds by ten.""",
    "most": """int, default 12
        Parts to show; the others stand as one.""",
    "ax": """matplotlib axes, optional
        Where to draw; a new figure unless given.""",
}


@runtime_checkable
class Explains(Protocol):
    """A classifier that says what each column adds to its answer."""

    def explain(self, X: TableLike) -> Explanation:
        """The terms of every row."""


@complete_docstrings(SHARED, {})
@dataclass(frozen=True, repr=False)
class Explanation(TableRepr):
    """log P(c | x) = prior_c + sum over parts of terms_c - log p(x).

    With ``top`` only the parts that matter most are kept and the others summed into "(rest)".

    >>> import bayeskit as bk
    >>> model = bk.NaiveBayes(smoothing=0).fit({"test": ["+", "+", "+", "-"] * 2}, ["ill"] * 3 + ["well"] * 5)
    >>> model.explain({"test": ["+"]}).evidence(label="ill", unit="bits").round(3).tolist()
    [-0.737, 0.737]
    """

    classes: Array  # (K,)
    prior: Float  # (K,) log P(c)
    parts: tuple[str, ...]
    terms: Float  # (n, parts, K) log p(x_j | c, columns before j)
    values: tuple[tuple[Any, ...], ...]  # (n)(parts) what the rows hold, None where missing
    proba: Float  # (n, K) the posterior the terms add up to
    unseen: Bool | None = None  # (n, parts) levels that were never learned; None is nowhere
    kind: str = "pyarrow"  # of frames
    asked: AskedRows | None = field(default=None, compare=False)  # where the calculation can be followed
    density: bool = True  # whether prior + terms is log P(c, x), and not a score: that and what all classes share

    @cached_property
    def joint(self) -> Float:
        """log P(c) + log p(x | c), or the score that stands in its place: (n, K)."""
        whole: Float = self.prior + self.terms.sum(axis=1)
        return whole

    def __len__(self) -> int:
        return len(self.terms)

    def evidence(
        self, row: int = 0, label: Label | None = None, rival: Label | None = None, unit: str = "nats"
    ) -> Float:
        """Log-odds of one class (the most probable unless given) against all others or one ``rival``: (1 + parts,).

        First the prior's, then each part's share as the parts are revealed in order. The ``unit`` is "nats", "bits",
        or "points": ten points multiply the odds by ten (decibans).
        """
        if unit not in UNITS:
            raise InputError(f"unit={unit!r}: choose one of {', '.join(UNITS)}")
        c = int(np.argmax(self.proba[row])) if label is None else self._place(label)
        against = (
            np.arange(len(self.classes)) != c if rival is None else np.arange(len(self.classes)) == self._place(rival)
        )
        if against[c]:
            raise InputError(f"the class {rival!r} cannot be its own rival; name another")
        path = np.vstack([np.zeros_like(self.prior), self.prior, self.prior + np.cumsum(self.terms[row], axis=0)])
        with np.errstate(invalid="ignore", divide="ignore"):
            odds = path[:, c] - np.logaddexp.reduce(path[:, against], axis=1)
            odds[0] = 0.0
            steps = np.diff(odds)
        # once a class is certain or impossible, nothing adds to it
        known: Float = np.where(np.isnan(steps), 0.0, steps) * UNITS[unit]
        return known

    def _place(self, label: Label) -> int:
        labels: list[Any] = self.classes.tolist()
        if label not in labels:
            raise InputError(f"label {label!r} is not a class ({', '.join(shorten(c) for c in labels[:20])})")
        return labels.index(label)

    def top(self, most: int) -> Explanation:
        """The parts with the widest spread between classes, over all rows; the others as one.

        Parameters
        ----------
        most : int
            Parts to show; the others stand as one.
        """
        if check_top(most) >= len(self.parts):
            return self
        kept = _most_telling(self.terms, most)
        rest = np.delete(self.terms, kept, axis=1).sum(axis=1, keepdims=True)
        return replace(
            self,
            parts=(*(self.parts[j] for j in kept), REST),
            terms=np.concatenate([self.terms[:, kept], rest], axis=1),
            values=tuple((*(row[j] for j in kept), None) for row in self.values),
            unseen=None if self.unseen is None else np.pad(self.unseen[:, kept], ((0, 0), (0, 1))),
        )

    def value(self, row: int, part: int) -> str:
        """What a row holds there, as a person reads it; missing and unseen values are shown as such.

        Parameters
        ----------
        part : int
            Which part.
        """
        value = self.values[row][part] if self.values[row] else None
        if self.parts[part] == REST:
            return ""
        if value is None:
            return "missing"
        never = self.unseen is not None and self.unseen[row, part]
        return shorten(value) + (" (never seen)" if never else "")

    def worked(self, row: int = 0, most: int = 12) -> Working:
        """The calculation of one row as a textbook writes it, with the ``most`` factors that matter most.

        Counts stand as fractions, corrections of zero counts as (2+1)/(9+3), densities as numbers.

        Examples
        --------
        >>> import bayeskit as bk
        >>> model = bk.NaiveBayes(smoothing=0).fit({"test": ["+", "+", "+", "-"] * 2}, ["ill"] * 3 + ["well"] * 5)
        >>> print(model.explain({"test": ["+"]}).worked())
        P(ill) · P(test = + | ill) = 3/8 · 3/3 = 0.375
        P(well) · P(test = + | well) = 5/8 · 3/5 = 0.375
        P(ill | x) = 0.375 / (0.375 + 0.375) = 1/2 = 0.5
        P(well | x) = 0.375 / (0.375 + 0.375) = 1/2 = 0.5
        """
        if self.asked is None:
            raise InputError(
                "a pool, a forest, a corrected model, a calibration or fitted weights have no calculation by hand: "
                "their answer is no prior times factors; ask a model of one kind without them"
            )
        texts = {part: self.value(row, j) for j, part in enumerate(self.parts)}
        return self.asked.worked(range(len(self))[row], texts, check_top(most))

    # -- showing ---------------------------------------------------------------------------------

    @document_frame_like_x
    def frame(self, kind: str | None = None) -> Frame:
        """A line for the prior and for each part of each row: what it holds, and its term for every class."""
        n, parts = len(self), ("(prior)", *self.parts)
        terms = np.concatenate([np.broadcast_to(self.prior, (n, 1, len(self.prior))), self.terms], axis=1)
        values = [text for i in range(n) for text in (None, *(self.value(i, j) for j in range(len(self.parts))))]
        columns: dict[str, Any] = {
            "row": np.repeat(np.arange(n), len(parts)),
            "part": list(parts) * n,
            "value": values,
        }
        named = {str(label): terms[:, :, k].ravel() for k, label in enumerate(self.classes.tolist())}
        return frame(columns | named, kind or self.kind)

    def plot(
        self,
        row: int = 0,
        label: Label | None = None,
        rival: Label | None = None,
        unit: str = "bits",
        most: int = 12,
        ax: Axes | None = None,
    ) -> Display:
        """The weights of evidence of one row as a waterfall, from the prior to the posterior."""
        from bayeskit.plots.bars import WaterfallDisplay

        steps = self.evidence(row, label, rival, unit)
        c = int(np.argmax(self.proba[row])) if label is None else self._place(label)
        names = ["prior", *(_name_part(part, self.value(row, j)) for j, part in enumerate(self.parts))]
        against = "the rest" if rival is None else str(rival)
        title = f"{shorten(self.classes[c])} against {shorten(against)}"
        return WaterfallDisplay.from_steps(names, steps, unit, title, UNITS[unit], most).plot(ax)

    def __str__(self) -> str:
        """The first rows as tables: what each column says for each class."""
        more = f"\n\n... and {len(self) - ROWS} more rows" if len(self) > ROWS else ""
        return "\n\n".join(self.row(i) for i in range(min(len(self), ROWS))) + more

    def _repr_html_(self) -> str:
        shown = (html_table(self._table(i), 2, f"row {i}{self._note}") for i in range(min(len(self), ROWS)))
        return f"<div>{''.join(shown)}</div>"

    def row(self, i: int) -> str:
        """One row as a table.

        Parameters
        ----------
        i : int
            Which row.
        """
        return align(self._table(i), left=2) + self._note

    @property
    def _note(self) -> str:
        more = len(self.classes) - CLASSES
        note = f"\n(the {CLASSES} most probable classes; {more} more)" if more > 0 else ""
        if len(self.parts) > PARTS:
            note += f"\n(at most {PARTS} of {len(self.parts):,} parts, where classes differ most; .frame() has all)"
        return note

    def _table(self, i: int) -> list[list[str]]:
        shown = widest(self.proba[i], CLASSES)
        lines = [["", "value", *(shorten(c) for c in self.classes[shown].tolist())]]
        lines.append(["prior", "", *_with_sign(self.prior[shown])])
        kept = np.arange(len(self.parts))
        if len(kept) > PARTS:  # words that a text has not say nothing
            kept = _most_telling(self.terms[i], PARTS)
            kept = kept[self.terms[i, kept].any(axis=1)]
        for j in kept.tolist():
            lines.append([shorten(self.parts[j]), self.value(i, j), *_with_sign(self.terms[i, j, shown])])
        if len(kept) < len(self.parts):
            others = np.delete(self.terms[i][:, shown], kept, axis=0).sum(axis=0)
            lines.append([f"({len(self.parts) - len(kept):,} others)", "", *_with_sign(others)])
        lines.append(["log P(c, x)" if self.density else "score", "", *_with_sign(self.joint[i, shown])])
        lines.append(["P(c | x)", "", *(f"{p:.4f}" for p in self.proba[i, shown])])
        return lines


def check_top(most: int) -> int:
    """A number of parts to show."""
    if isinstance(most, bool) or not isinstance(most, Integral) or most < 1:
        raise InputError(f"top={most!r}: give the number of parts to show, 1 or more")
    return int(most)


def widest(spread: Float, most: int) -> Int:
    """Positions of the parts with the widest spread, in order; the first of equal ones."""
    return np.sort(np.argsort(-spread, kind="stable")[:most])


def _most_telling(terms: Float, most: int) -> Int:
    """The parts of terms (..., parts, K) in which classes lie farthest apart, over all rows."""
    apart = np.ptp(np.where(np.isfinite(terms), terms, -1e300), axis=-1)
    return widest(apart.reshape(-1, apart.shape[-1]).sum(axis=0), most)


def _with_sign(numbers: Float) -> list[str]:
    return [f"{number:+.3f}" for number in numbers]


def _name_part(part: str, value: str) -> str:
    return f"{shorten(part)} = {value}" if value else shorten(part)
