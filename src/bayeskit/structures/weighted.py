"""Weighted: densities whose pieces count more or less than the probabilities they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Float
from bayeskit.data.block import Block
from bayeskit.data.levels import Levels
from bayeskit.densities.density import Density, Factored
from bayeskit.structures.backoff import Wrapped


@dataclass(frozen=True, eq=False)
class FactorWeights:
    """How much each column counts, and what is added for each class, found by the rows' own labels.

    score_c = log P(c) + bias_c + sum over columns of weight_j log p(x_j | ..., c), weights of 0 or more.
    """

    weight: Float  # (columns,)
    bias: Float  # (K,)
    classes: Levels  # those the biases are for

    def bias_of(self, classes: Levels) -> Float:
        """The biases in the order of some classes; a class that came later has none: (K,)."""
        place = classes.codes_in(self.classes)
        return np.where(place < 0, 0.0, np.append(self.bias, 0.0)[place])

    def on(self, classes: Levels) -> FactorWeights:
        """For these classes alone."""
        return self if classes == self.classes else FactorWeights(self.weight, self.bias_of(classes), classes)


@dataclass(frozen=True)
class Weighted(Wrapped):
    """weight_j times the logarithm of each piece of another density; no longer a density itself."""

    weight: Float  # (parts,)

    @property
    def normalised(self) -> bool:
        return False

    def add(self, block: Block, out: Float) -> None:
        out += np.einsum("j,njk->nk", self.weight, self._finite(block))

    def terms(self, block: Block) -> Float:
        out: Float = self._finite(block) * self.weight[:, None]
        return out

    def _finite(self, block: Block) -> Float:
        return np.maximum(self.density.terms(block), -1e300)


def weighted(density: Density, weight: Float) -> Density:
    """A density with the logarithm of each part multiplied; its own way if it has one."""
    return density.weighted(weight) if isinstance(density, Factored) else Weighted(density, weight)
