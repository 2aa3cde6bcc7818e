"""Exactness: what learning in batches, forgetting and merging give bit for bit, and what is held instead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bayeskit.densities.likelihood import Staged
from bayeskit.statistics.bins import FINEST, Bins
from bayeskit.statistics.keyed import Keyed
from bayeskit.statistics.rows import Rows
from bayeskit.statistics.statistic import Product
from bayeskit.structures.naive import Naive

SAMPLE = "the sample of rows"


@dataclass(frozen=True)
class Exactness:
    """Whether the model is, bit for bit, the one that a single fit of the rows it has would give.

    Counts always are, given what is ``held``: choices of an earlier fit that rows learned or forgotten since do not
    change. ``lost`` is what was rounded off and does not come back when rows are forgotten.

    >>> Exactness(("the cuts of 2 columns of numbers",)).forgetting, Exactness(lost=("the grid of 'x'",)).learning
    (False, True)
    """

    held: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    @classmethod
    def of(cls, structure: Naive, statistic: Product, tuned: bool) -> Exactness:
        chosen = [what for family, _ in structure.components if isinstance(family, Staged) for what in family.choices]
        weights = ["the weights of the columns"] if tuned and not structure.kept else []
        return cls((*chosen, *weights), tuple(_lost(statistic)))

    @property
    def learning(self) -> bool:
        """Batches, in any order, give the model of one fit."""
        return not self.held

    merging = learning

    @property
    def forgetting(self) -> bool:
        """What is left is the model that never saw the rows forgotten."""
        return not self.held and not self.lost

    def __str__(self) -> str:
        if not self.held and not self.lost:
            return "learning, forgetting and merging are exact, bit for bit"
        exceptions = [f"held as an earlier fit chose them: {', '.join(self.held)}"] if self.held else []
        exceptions += [f"as coarse as rows learned before made them: {', '.join(self.lost)}"] if self.lost else []
        return f"counts are exact; {'; '.join(exceptions)}"


def _lost(statistic: object) -> Iterator[str]:
    if isinstance(statistic, Product):
        for part in statistic.parts.values():
            yield from _lost(part)
    elif isinstance(statistic, Keyed):
        yield from _lost(statistic.inner)
    elif isinstance(statistic, Bins):
        yield from (
            f"the grid of {n!r}" for n, e in zip(statistic.columns, statistic.exponent, strict=True) if e > FINEST
        )
    elif isinstance(statistic, Rows) and statistic.sampled:
        yield SAMPLE
