"""Augmented: the program of a model whose columns have parents: its tables as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bayeskit.model import Model
from bayeskit.reports.profile import Profile
from bayeskit.reports.program import Question, Shape, Table
from bayeskit.structures.augmented import AugmentedDensity
from bayeskit.structures.conditional import strides

CELLS = 100_000  # numbers in all tables together


@dataclass(frozen=True)
class Augmented:
    """Trees and k-dependence: every table is given the codes of a column and of its parents."""

    model: Model
    profiles: Mapping[str, Profile]

    @property
    def possible(self) -> bool:
        densities = self.model.density.densities
        return (
            len(densities) == 1
            and isinstance(densities[0], AugmentedDensity)
            and densities[0].parts == self.model.schema.names
            and densities[0].table.size <= CELLS
        )

    def parts(self) -> tuple[tuple[Question, ...], tuple[Table | Shape, ...], str]:
        """Questions, factors, and a note on what is not exact: nothing."""
        density = self.model.density.densities[0]
        assert isinstance(density, AugmentedDensity)
        factors = []
        for j, parents in enumerate(density.arcs):
            members = (*parents, j)
            steps = tuple(strides([density.sizes[i] for i in members]).tolist())
            factors.append(Table(members, steps, density.table[density.offset[j] : density.offset[j + 1]]))
        return tuple(self._question(name, density) for name in density.parts), tuple(factors), ""

    def _question(self, name: str, density: AugmentedDensity) -> Question:
        profile = self.profiles[name]
        if name in density.slices.cuts:
            cuts = density.slices.cuts[name]
            hole = len(cuts) + 1 if name in density.slices.holes else -1
            return Question.number(profile, profile.type.startswith(("int", "uint")), cuts, hole)
        return Question.level(profile, self.model.counted.domain.levels[name].values)
