"""Additive: the factors of a model in which every column speaks for itself, found by asking the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Float
from bayeskit.densities.density import Axis
from bayeskit.densities.tabular import FRONT
from bayeskit.model.model import Model
from bayeskit.reports.cubics import Cubics, refined
from bayeskit.reports.curve import Curve, Formula, Pieces, Whole
from bayeskit.reports.factors import Coding, Factors, Shape, Table
from bayeskit.reports.inputs import InputField

POINTS = 48  # values at which a formula must fit
WHOLE = 2000  # whole numbers in a table
ROOM = 160_000  # numbers of all cubics
CHECKS = 256  # values at which cubics are judged
SMALL = 1e-6  # an error of terms that goes without saying


@dataclass(frozen=True)
class Additive:
    """Terms at chosen values of every column at once: in such a model none depends on the others."""

    model: Model  # without weights of its columns
    questions: Sequence[InputField]
    weight: Float  # (columns,) how much each counts

    @classmethod
    def of(cls, model: Model, questions: Sequence[InputField]) -> Additive:
        weight = np.ones(len(questions)) if model.weighting is None else model.weighting.weight
        return cls(replace(model, weighting=None), questions, weight)

    def factors(self) -> Factors:
        questions, weight = self.questions, self.weight.tolist()
        numbers = [j for j, q in enumerate(questions) if q.levels is None]
        curves, error = self._curves({j: questions[j] for j in numbers})
        factors: list[Table | Shape] = []
        levels = self._levels({j: q for j, q in enumerate(questions) if q.levels is not None})
        for j in range(len(questions)):
            if j in levels:
                factors.append(Table((j,), (1,), levels[j], weight[j]))
            elif j in curves:
                zero = self._at_zero[j] if self._axis(questions[j].name).point_mass else None
                factors.append(Shape((j,), curves[j], self._missing[j], zero, weight[j]))
        pieced = sum(isinstance(curve, Cubics) for curve in curves.values())
        note = "" if error < SMALL else f"{pieced} of the columns by cubics, whose terms are off by up to {error:.1g}"
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

    def _levels(self, questions: Mapping[int, InputField]) -> dict[int, Float]:
        asked = {j: q.levels or () for j, q in questions.items()}
        terms = self._terms(asked) if any(asked.values()) else np.empty((0, len(self._missing), 0))
        front = {j: np.tile(self._missing[j], (FRONT, 1)) for j in questions}
        return {j: np.concatenate([front[j], terms[: len(asked[j]), j]]) if asked[j] else front[j] for j in questions}

    def _curves(self, questions: Mapping[int, InputField]) -> tuple[dict[int, Curve], float]:
        """A curve for each column of numbers that has any, and the largest error of a grid."""
        left = {j: q for j, q in questions.items() if q.start is not None}
        found: dict[int, Curve] = {}
        for find in (self._formulas, self._wholes, self._pieces):
            if left:
                found |= find(left)
                left = {j: q for j, q in left.items() if j not in found}
        if not left:
            return found, 0.0
        cubics = self._cubics(left)
        return found | cubics, self._error(left, cubics)

    def _formulas(self, questions: Mapping[int, InputField]) -> dict[int, Curve]:
        point_masses = {j for j, q in questions.items() if self._axis(q.name).point_mass}
        values = {j: _spread(q, POINTS) for j, q in questions.items()}
        values = {j: x[x != 0] if j in point_masses else x for j, x in values.items()}
        terms = self._terms({j: x.tolist() for j, x in values.items()})
        tried = {j: Formula.through(x, terms[: len(x), j]) for j, x in values.items() if self._finite(terms, j, x)}
        return {j: curve for j, curve in tried.items() if curve is not None}

    def _wholes(self, questions: Mapping[int, InputField]) -> dict[int, Curve]:
        whole = {
            j: np.arange(q.low, q.high + 1)
            for j, q in questions.items()
            if (q.whole or self._axis(q.name).integer) and q.high - q.low < WHOLE
        }
        if not whole:
            return {}
        terms = self._terms({j: x.tolist() for j, x in whole.items()})
        return {j: Whole(int(x[0]), terms[: len(x), j]) for j, x in whole.items() if self._finite(terms, j, x)}

    def _pieces(self, questions: Mapping[int, InputField]) -> dict[int, Curve]:
        probes = {j: Pieces.probes(self._axis(q.name).points, q.low, q.high) for j, q in questions.items()}
        terms = self._terms({j: x.tolist() for j, (_, x) in probes.items()})
        tried = {j: Pieces.through(b, terms[: len(x), j]) for j, (b, x) in probes.items() if self._finite(terms, j, x)}
        return {j: curve for j, curve in tried.items() if curve is not None}

    def _cubics(self, questions: Mapping[int, InputField]) -> dict[int, Curve]:
        room = ROOM // (4 * self._missing.shape[1])
        first = room // (2 * len(questions))
        start = {j: _laid(self._axis(q.name).points, q, first) for j, q in questions.items()}
        point_masses = {j for j, q in questions.items() if self._axis(q.name).point_mass}

        def ask(values: Mapping[int, Float]) -> Float:
            beside = {
                j: np.where(x == 0, 1e-12 * questions[j].high, x) if j in point_masses else x for j, x in values.items()
            }
            return self._terms({j: x.tolist() for j, x in beside.items()})

        return dict(refined(ask, start, room))

    def _error(self, questions: Mapping[int, InputField], curves: Mapping[int, Curve]) -> float:
        """Half of the places anywhere, half of them where the values lie."""
        rng = np.random.default_rng(0)
        values = {}
        for j in curves:
            q = questions[j]
            usual = np.clip(rng.choice(self._axis(q.name).points, CHECKS), q.low, q.high)
            anywhere = rng.uniform(q.low, q.high, CHECKS)
            values[j] = np.concatenate([anywhere, (3 * usual + rng.permutation(usual)) / 4])
        terms = self._terms({j: x.tolist() for j, x in values.items()})
        off = [float(np.abs(c.at(values[j]) - terms[: 2 * CHECKS, j]).max()) for j, c in curves.items()]
        return max(off, default=0.0)

    @staticmethod
    def _finite(terms: Float, j: int, x: Float) -> bool:
        return len(x) > 0 and bool(np.isfinite(terms[: len(x), j]).all())


def _laid(points: Float, question: InputField, most: int) -> Float:
    """Pieces between the points of an axis, a few of them where it has many: (m, 2)."""
    inside = points[(points > question.low) & (points < question.high)]
    some = inside[:: -(-len(inside) // max(most, 1)) or 1]
    breaks = np.unique(np.concatenate([[question.low], some, [question.high]]))
    return np.column_stack([breaks[:-1], breaks[1:]])


def _spread(question: InputField, points: int) -> Float:
    """Values from the lowest to the highest; whole ones where only these occur."""
    values = np.linspace(question.low, question.high, points)
    return np.unique(np.rint(values)) if question.whole else values
