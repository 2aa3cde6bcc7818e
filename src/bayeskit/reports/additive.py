"""Additive: the factors of a model in which every column speaks for itself, found by asking the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Float
from bayeskit.likelihood import Axis
from bayeskit.model import Model
from bayeskit.reports.curve import Curve, Formula, Grid, Pieces, Whole
from bayeskit.reports.factors import FRONT, Coding, Factors, Shape, Table
from bayeskit.reports.question import Question

POINTS = 48  # values at which a formula must fit
WHOLE = 2000  # whole numbers in a table
FINEST, COARSEST = 2001, 65  # points of a grid
ROOM = 600_000  # characters for all grids
CHECKS = 257  # values at which a grid is judged


@dataclass(frozen=True)
class Additive:
    """Terms at chosen values of every column at once: in such a model none depends on the others."""

    model: Model
    questions: Sequence[Question]

    def factors(self) -> Factors:
        questions = self.questions
        numbers = [j for j, q in enumerate(questions) if q.levels is None]
        curves, error = self._curves({j: questions[j] for j in numbers})
        factors: list[Table | Shape] = []
        levels = self._levels({j: q for j, q in enumerate(questions) if q.levels is not None})
        for j in range(len(questions)):
            if j in levels:
                factors.append(Table((j,), (1,), levels[j]))
            elif j in curves:
                zero = self._at_zero[j] if self._axis(questions[j].name).atom else None
                factors.append(Shape((j,), curves[j], self._missing[j], zero))
        grids = sum(isinstance(curve, Grid) for curve in curves.values())
        note = (
            f"{grids} of the columns on a grid of values, whose terms are off by at most {error:.1g}" if grids else ""
        )
        codings = tuple(Coding(None if q.levels is None else tuple(range(len(q.levels)))) for q in questions)
        return Factors(codings, tuple(factors), note=note)

    def _terms(self, values: Mapping[int, Sequence[Any]]) -> Float:
        """Terms at some values of some columns, less their mean over the classes: (n, columns, K)."""
        n = max(map(len, values.values()), default=0)
        arrays = []
        for j, column in enumerate(self.model.schema.columns):
            mine = list(values.get(j, ()))
            mine += [None] * (n - len(mine))
            arrays.append(pa.array(mine, pa.float64()) if column.numeric else pa.array(mine))
        batch = pa.RecordBatch.from_arrays(arrays, names=list(self.model.schema.names))
        terms = self.model.terms(self.model.counted.block(batch))
        with np.errstate(invalid="ignore"):
            centred = terms - terms.mean(axis=2, keepdims=True)
        out: Float = np.where(np.isfinite(terms).all(axis=2, keepdims=True), centred, terms)
        return out

    @cached_property
    def _missing(self) -> Float:
        """(columns, K)."""
        alone: Float = self._terms({0: [None]})[0]
        return alone

    @cached_property
    def _at_zero(self) -> Float:
        """(columns, K)."""
        numeric = [j for j, c in enumerate(self.model.schema.columns) if c.numeric]
        alone: Float = self._terms({j: [0.0] for j in numeric})[0]
        return alone

    def _axis(self, name: str) -> Axis:
        return self._axes.get(name, Axis(np.empty(0)))

    @cached_property
    def _axes(self) -> dict[str, Axis]:
        return self.model.density.axes

    def _levels(self, questions: Mapping[int, Question]) -> dict[int, Float]:
        asked = {j: q.levels or () for j, q in questions.items()}
        terms = self._terms(asked) if any(asked.values()) else np.empty((0, len(self._missing), 0))
        front = {j: np.tile(self._missing[j], (FRONT, 1)) for j in questions}
        return {j: np.concatenate([front[j], terms[: len(asked[j]), j]]) if asked[j] else front[j] for j in questions}

    def _curves(self, questions: Mapping[int, Question]) -> tuple[dict[int, Curve], float]:
        """A curve for each column of numbers that has any, and the largest error of a grid."""
        left = {j: q for j, q in questions.items() if q.start is not None}
        found: dict[int, Curve] = {}
        for find in (self._formulas, self._wholes, self._pieces):
            if left:
                found |= find(left)
                left = {j: q for j, q in left.items() if j not in found}
        if not left:
            return found, 0.0
        grids = self._grids(left)
        return found | grids, self._error(left, grids)

    def _formulas(self, questions: Mapping[int, Question]) -> dict[int, Curve]:
        atoms = {j for j, q in questions.items() if self._axis(q.name).atom}
        values = {j: _spread(q, POINTS) for j, q in questions.items()}
        values = {j: x[x != 0] if j in atoms else x for j, x in values.items()}
        terms = self._terms({j: x.tolist() for j, x in values.items()})
        tried = {j: Formula.through(x, terms[: len(x), j]) for j, x in values.items() if self._finite(terms, j, x)}
        return {j: curve for j, curve in tried.items() if curve is not None}

    def _wholes(self, questions: Mapping[int, Question]) -> dict[int, Curve]:
        whole = {
            j: np.arange(q.low, q.high + 1)
            for j, q in questions.items()
            if (q.whole or self._axis(q.name).whole) and q.high - q.low < WHOLE
        }
        if not whole:
            return {}
        terms = self._terms({j: x.tolist() for j, x in whole.items()})
        return {j: Whole(int(x[0]), terms[: len(x), j]) for j, x in whole.items() if self._finite(terms, j, x)}

    def _pieces(self, questions: Mapping[int, Question]) -> dict[int, Curve]:
        probes = {j: Pieces.probes(self._axis(q.name).points, q.low, q.high) for j, q in questions.items()}
        terms = self._terms({j: x.tolist() for j, (_, x) in probes.items()})
        tried = {j: Pieces.through(b, terms[: len(x), j]) for j, (b, x) in probes.items() if self._finite(terms, j, x)}
        return {j: curve for j, curve in tried.items() if curve is not None}

    def _grids(self, questions: Mapping[int, Question]) -> dict[int, Curve]:
        classes = self._missing.shape[1]
        points = int(np.clip(ROOM / (5.4 * len(questions) * classes), COARSEST, FINEST))
        values = {j: np.linspace(q.low, q.high, points) for j, q in questions.items()}
        terms = self._terms({j: x.tolist() for j, x in values.items()})
        return {
            j: Grid(q.low, (q.high - q.low) / (points - 1), terms[:points, j])
            for j, q in questions.items()
            if self._finite(terms, j, values[j])
        }

    def _error(self, questions: Mapping[int, Question], curves: Mapping[int, Curve]) -> float:
        rng = np.random.default_rng(0)
        values = {j: rng.uniform(questions[j].low, questions[j].high, CHECKS) for j in curves}
        terms = self._terms({j: x.tolist() for j, x in values.items()})
        return max((float(np.abs(c.at(values[j]) - terms[:CHECKS, j]).max()) for j, c in curves.items()), default=0.0)

    @staticmethod
    def _finite(terms: Float, j: int, x: Float) -> bool:
        return len(x) > 0 and bool(np.isfinite(terms[: len(x), j]).all())


def _spread(question: Question, points: int) -> Float:
    """Values from the lowest to the highest; whole ones where only these occur."""
    values = np.linspace(question.low, question.high, points)
    return np.unique(np.rint(values)) if question.whole else values
