"""Explanation: the evidence of each column for each class, adding up to the posterior."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from bayeskit.arrays import Array, Float, Int
from bayeskit.errors import InputError
from bayeskit.frame import aligned, html_table

REST = "(rest)"
SHOWN = 3  # rows printed


@dataclass(frozen=True)
class Explanation:
    """log P(c | x) = prior_c + sum over parts of terms_c - log p(x).

    With ``top`` only the parts that matter most are kept and the others summed into "(rest)".
    """

    classes: Array  # (K,)
    prior: Float  # (K,) log P(c)
    parts: tuple[str, ...]
    terms: Float  # (n, parts, K) log p(x_j | c, columns before j)
    values: tuple[tuple[Any, ...], ...]  # (n)(parts) what the rows hold, None where missing
    proba: Float  # (n, K) the posterior the terms add up to

    @cached_property
    def joint(self) -> Float:
        """log P(c) + log p(x | c): (n, K)."""
        whole: Float = self.prior + self.terms.sum(axis=1)
        return whole

    def __len__(self) -> int:
        return len(self.terms)

    def evidence(self, row: int = 0, label: Any = None) -> Float:
        """Log-odds of one class (the most probable unless given) against all others, in nats.

        First the prior's, then each part's share as the parts are revealed in order: (1 + parts,).
        """
        if label is not None and label not in self.classes.tolist():
            raise InputError(f"label {label!r} is not a class ({', '.join(map(str, self.classes))})")
        c = int(np.argmax(self.proba[row])) if label is None else self.classes.tolist().index(label)
        path = np.vstack([np.zeros_like(self.prior), self.prior, self.prior + np.cumsum(self.terms[row], axis=0)])
        with np.errstate(invalid="ignore", divide="ignore"):
            odds = path[:, c] - np.logaddexp.reduce(np.delete(path, c, axis=1), axis=1)
            odds[0] = 0.0
            steps = np.diff(odds)
        return np.where(np.isnan(steps), 0.0, steps)  # once a class is certain or impossible, nothing adds to it

    def top(self, most: int) -> Explanation:
        """The parts with the widest spread between classes, over all rows; the others as one."""
        if check_top(most) >= len(self.parts):
            return self
        kept = widest(np.ptp(np.where(np.isfinite(self.terms), self.terms, -1e300), axis=2).sum(axis=0), most)
        rest = np.delete(self.terms, kept, axis=1).sum(axis=1, keepdims=True)
        return Explanation(
            self.classes,
            self.prior,
            (*(self.parts[j] for j in kept), REST),
            np.concatenate([self.terms[:, kept], rest], axis=1),
            tuple((*(row[j] for j in kept), None) for row in self.values),
            self.proba,
        )

    def __str__(self) -> str:
        """The first rows as tables: what each column says for each class."""
        return "\n\n".join(self.row(i) for i in range(min(len(self), SHOWN)))

    def row(self, i: int) -> str:
        """One row as a table."""
        return aligned(self._lines(i), left=2)

    def _repr_html_(self) -> str:
        tables = (html_table(self._lines(i), left=2, caption=f"row {i}") for i in range(min(len(self), SHOWN)))
        return f"<div>{''.join(tables)}</div>"

    def _lines(self, i: int) -> list[list[str]]:
        head = ["", "value", *(str(c) for c in self.classes)]
        lines = [["prior", "", *_signed(self.prior)]]
        for part, value, term in zip(self.parts, self.values[i], self.terms[i], strict=True):
            shown = "" if part == REST else "missing" if value is None else _short(value)
            lines.append([part, shown, *_signed(term)])
        lines.append(["log P(c, x)", "", *_signed(self.joint[i])])
        lines.append(["P(c | x)", "", *(f"{p:.4f}" for p in self.proba[i])])
        return [head, *lines]


def check_top(most: Any) -> int:
    """A number of parts to show."""
    if isinstance(most, bool) or not isinstance(most, Integral) or most < 1:
        raise InputError(f"top={most!r}: give the number of parts to show, 1 or more")
    return int(most)


def widest(spread: Float, most: int) -> Int:
    """Positions of the parts with the widest spread, in order; the first of equal ones."""
    return np.sort(np.argsort(-spread, kind="stable")[:most])


def _signed(numbers: Float) -> list[str]:
    return [f"{number:+.3f}" for number in numbers]


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
