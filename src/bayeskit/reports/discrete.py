"""Discrete: the programs of models whose columns depend on each other: their tables as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Float
from bayeskit.model import Model
from bayeskit.reports.profile import Profile
from bayeskit.reports.program import FRONT, Mixture, Parts, Question, Table
from bayeskit.statistics.sliced import Slices
from bayeskit.structures.augmented import AugmentedDensity
from bayeskit.structures.averaged import AveragedDensity
from bayeskit.structures.conditional import strides

CELLS = 120_000  # numbers in all tables together


@dataclass(frozen=True)
class Discrete:
    """Trees, k-dependence and averaged one-dependence: numbers are read as the interval they lie in."""

    model: Model
    profiles: Mapping[str, Profile]

    @property
    def possible(self) -> bool:
        densities = self.model.density.densities
        if len(densities) != 1 or densities[0].parts != self.model.schema.names:
            return False
        density = densities[0]
        if isinstance(density, AveragedDensity):
            return sum(table.size for table in density.tables) <= CELLS
        return isinstance(density, AugmentedDensity) and density.table.size <= CELLS

    def parts(self) -> Parts:
        density = self.model.density.densities[0]
        assert isinstance(density, AugmentedDensity | AveragedDensity)
        questions = tuple(self._question(name, density.slices) for name in density.parts)
        if isinstance(density, AveragedDensity):
            return _averaged(questions, density)
        factors = []
        for j, parents in enumerate(density.arcs):
            members = (*parents, j)
            steps = tuple(strides([density.sizes[i] for i in members]).tolist())
            factors.append(Table(members, steps, density.table[density.offset[j] : density.offset[j + 1]]))
        return Parts(questions, tuple(factors))

    def _question(self, name: str, slices: Slices) -> Question:
        profile = self.profiles[name]
        if name not in slices.cuts:
            return Question.level(profile, self.model.counted.domain.levels[name].values)
        cuts = slices.cuts[name]
        hole = len(cuts) + 1 if name in slices.holes else -1
        return Question.number(profile, profile.type.startswith(("int", "uint")), cuts, hole)


def _averaged(questions: tuple[Question, ...], density: AveragedDensity) -> Parts:
    """Naive Bayes where no column can be a parent, else the mean over the parents there are."""
    columns = range(len(questions))
    naive = tuple(Table((j,), (1,), np.log(density.margins[j].fronted.T)) for j in columns)
    mixtures = []
    for i, p in enumerate(density.parents):
        given = density.tables[i * len(questions) : (i + 1) * len(questions)]
        factors = tuple(Table((p,), (1,), given[j]) if j == p else _under(p, j, given[j]) for j in columns)
        mixtures.append(Mixture(p, tuple(density.known[p].tolist()), factors))
    return Parts(questions, naive, mixtures=tuple(mixtures))


def _under(parent: int, child: int, table: Float) -> Table:
    """A table (levels of the parent, levels of the child + 2, K), with places in front of the parent's levels too."""
    front = np.zeros((FRONT, *table.shape[1:]))
    whole = np.concatenate([front, table])
    return Table((parent, child), (table.shape[1], 1), whole.reshape(-1, table.shape[2]))
