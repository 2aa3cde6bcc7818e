"""Discrete: the factors of models whose columns depend on each other: their tables as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from bayeskit.arrays import Float, Json
from bayeskit.data.levels import MISSING, PRESENT, key
from bayeskit.densities.tabular import FRONT
from bayeskit.model.model import Model
from bayeskit.reports.factors import Coding, Factors, Mixture, Table
from bayeskit.reports.inputs import InputField
from bayeskit.reports.packed import Store
from bayeskit.statistics.sliced import Slices
from bayeskit.structures.averaged import AveragedDensity
from bayeskit.structures.conditional import strides
from bayeskit.structures.factored import FactorDensity
from bayeskit.structures.hidden import NetworkedDensity

BELOW = -1.7e308  # below any number of a table


@dataclass(frozen=True)
class Summed:
    """A member that multiplies the tables of a network, what is missing summed out."""

    codings: tuple[Coding, ...]  # of each question
    of: tuple[int, ...]  # the question of each column
    density: NetworkedDensity

    note: ClassVar[str] = ""

    def log(self, read: Sequence[Float]) -> Float:
        """(n, K)."""
        codes = [self.codings[q].of(read[q]) for q in self.of]
        return self.density.of_codes(np.array(codes, dtype=np.int32).reshape(len(codes), -1))

    def json(self, store: Store) -> Json:
        density, tables = self.density, self.density.tables
        return {
            "kind": "network",
            "codings": [c.json() for c in self.codings],
            "of": [*self.of, *([None] if density.class_parents else [])],
            "size": tables.sizes,
            "parents": tables.arcs,
            "order": density.order,
            "rank": density.rank.tolist(),
            "limit": density.most_cells,
            "smooth": density.smooth_unseen,
            "tables": [store.close(tables.table[a:b]) for a, b in pairwise(tables.offset.tolist())],
            "weights": None if density.weight is None else density.weight.tolist(),
            "logClass": density.log_class.tolist(),
        }


@dataclass(frozen=True)
class Discrete:
    """Trees, k-dependence and averaged one-dependence: numbers are read as the interval they lie in."""

    model: Model
    questions: Sequence[InputField]  # of all columns

    def factors(self, density: FactorDensity | AveragedDensity | NetworkedDensity) -> Factors | Summed:
        place = {q.name: j for j, q in enumerate(self.questions)}
        of = [place[name] for name in density.columns]
        codings = tuple(sliced(self.model, q, density.slices) for q in self.questions)
        if isinstance(density, AveragedDensity):
            return _averaged(codings, of, density)
        if isinstance(density, NetworkedDensity):
            return Summed(codings, tuple(of), density)
        factors = []
        for t, members in enumerate(density.members):
            steps = tuple(strides([density.sizes[i] for i in members]).tolist())
            table = density.table[density.offset[t] : density.offset[t + 1]]
            factors.append(Table(tuple(of[i] for i in members), steps, table, density.scale))
        return Factors(codings, tuple(factors))


def coding(model: Model, question: InputField) -> Coding:
    """How a model codes the answers to a question; of numbers whether they are there."""
    levels = model.counted.domain.levels.get(question.name)
    if levels is None:
        return Coding(None if question.levels is None else ())
    hole = levels.index.get(MISSING, -1)
    if question.levels is not None:
        known = (key(value) for value in question.levels)
        return Coding(tuple(-2 if k is None else levels.index.get(k, -2) for k in known), hole=hole)
    return Coding(cuts=(BELOW,) * levels.index.get(PRESENT, 0), hole=hole)


def sliced(model: Model, question: InputField, slices: Slices) -> Coding:
    """The same where numbers are cut into intervals."""
    if question.name not in slices.cuts:
        return coding(model, question)
    cuts = slices.cuts[question.name]
    return Coding(cuts=cuts, hole=len(cuts) + 1 if question.name in slices.missing else -1)


def _averaged(codings: tuple[Coding, ...], of: Sequence[int], density: AveragedDensity) -> Factors:
    """Naive Bayes where no column can be a parent, else the mean over the parents there are."""
    columns = range(len(of))
    naive = tuple(Table((of[j],), (1,), np.log(density.margins[j].fronted.T)) for j in columns)
    mixtures = []
    for i, p in enumerate(density.parents):
        given = density.tables[i * len(of) : (i + 1) * len(of)]
        factors = tuple(Table((of[p],), (1,), given[j]) if j == p else _under(of[p], of[j], given[j]) for j in columns)
        mixtures.append(Mixture(of[p], tuple(density.known[p].tolist()), factors))
    return Factors(codings, naive, tuple(mixtures))


def _under(parent: int, child: int, table: Float) -> Table:
    """A table (levels of the parent, levels of the child + 2, K), with places in front of the parent's levels too."""
    front = np.zeros((FRONT, *table.shape[1:]))
    whole = np.concatenate([front, table])
    return Table((parent, child), (table.shape[1], 1), whole.reshape(-1, table.shape[2]))
