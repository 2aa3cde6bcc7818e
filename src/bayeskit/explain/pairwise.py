"""PairwiseEffect: what two columns say of the class together, and what of it neither says alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayeskit.arrays import Array, Float, Frame
from bayeskit.data.frame import TableRepr, frame
from bayeskit.docstrings import document_frame

LINES = 12


@dataclass(frozen=True, eq=False, repr=False)
class PairwiseEffect(TableRepr):
    """log P(c | a, b)/P(c) at typical values of two columns, where nothing else is known of a row.

    >>> import bayeskit as bk
    >>> rows = [("n", "n"), ("n", "y"), ("y", "n"), ("y", "y")] * 50
    >>> table = {"a": [a for a, _ in rows], "b": [b for _, b in rows]}
    >>> model = bk.AutoBayes().fit(table, [a != b for a, b in rows])
    >>> found = model.pairwise("a", "b")
    >>> found.together.shape, bool(abs(found.alone[0]).max() < 0.01), bool(found.interaction.max() > 1)
    ((2, 2, 2), True, True)
    """

    names: tuple[str, str]
    classes: Array  # (K,)
    values: tuple[Sequence[Any], Sequence[Any]]  # (m,) and (n,)
    prior: Float  # (K,) P(c) of a row of which nothing is known
    together: Float  # (m, n, K) log P(c | a, b)/P(c)
    alone: tuple[Float, Float]  # (m, K) log P(c | a)/P(c) and (n, K) log P(c | b)/P(c)

    _left = 2

    @cached_property
    def interaction(self) -> Float:
        """What both say beyond what each says alone; of all classes together it is 0: (m, n, K).

        Between two classes, log-odds by both are those by each alone plus the difference of their interactions.
        """
        more = self.together - self.alone[0][:, None] - self.alone[1][None]
        out: Float = more - more.mean(axis=2, keepdims=True)
        return out

    @document_frame
    def frame(self, kind: str = "pyarrow") -> Frame:
        """A line for each pair of values: P(c | a, b) and the interaction of every class."""
        a, b = (of.ravel() for of in np.indices(self.together.shape[:2]))
        proba = (np.exp(self.together) * self.prior).reshape(len(a), -1)
        more, labels = self.interaction.reshape(len(a), -1), self.classes.tolist()
        named = {f"P({label})": proba[:, k] for k, label in enumerate(labels)}
        named |= {f"interaction {label}": more[:, k] for k, label in enumerate(labels)}
        pairs = zip(self.names, self.values, (a, b), strict=True)
        return frame({**{name: [of[i] for i in at.tolist()] for name, of, at in pairs}, **named}, kind)

    def _title(self) -> str:
        return f"columns {self.names[0]} and {self.names[1]}: the largest interactions, in nats"

    def _lines(self) -> list[list[str]]:
        most = np.argsort(-np.abs(self.interaction).max(axis=2), axis=None, kind="stable")[:LINES]
        lines = [[*self.names, "class", "alone", "together", "interaction"]]
        for i, j in zip(*np.unravel_index(most, self.together.shape[:2]), strict=True):
            k = int(np.abs(self.interaction[i, j]).argmax())
            said = self.alone[0][i, k] + self.alone[1][j, k], self.together[i, j, k], self.interaction[i, j, k]
            held = (_show(of[at]) for of, at in zip(self.values, (i, j), strict=True))
            lines.append([*held, str(self.classes[k]), *(f"{number:+.3f}" for number in said)])
        return lines


def _show(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
