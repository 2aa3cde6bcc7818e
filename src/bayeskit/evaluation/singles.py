"""Singles: levels that one row has and no other, which are unseen to the model without that row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from bayeskit.arrays import Bool, Int
from bayeskit.data.block import Block
from bayeskit.errors import InputError
from bayeskit.model.model import Model


@dataclass(frozen=True)
class Singles:
    """Leave-one-out takes the row's mass out of its levels, but knows them all: these it must not know."""

    once: tuple[Bool, ...]  # by coded column: (levels,)

    @classmethod
    def of(cls, counts: Iterable[list[Int]], model: Model) -> Singles:
        """From the rows of each level, block by block; a declared level is known without a row."""
        totals = [np.zeros(len(model.counted.domain.levels[name]), dtype=np.int64) for name in model.schema.coded]
        for batch in counts:
            totals = [one + other for one, other in zip(totals, batch, strict=True)]
        levels = ((model.counted.domain.levels[n].keys, set(model.schema[n].declared)) for n in model.schema.coded)
        found = [np.array([key not in declared for key in keys], dtype=bool) for keys, declared in levels]
        return cls(tuple((rows == 1) & undeclared for rows, undeclared in zip(totals, found, strict=True)))

    @staticmethod
    def count(block: Block) -> list[Int]:
        """Rows that count by level, of each coded column of a labelled block."""
        own = block.rows_with_weight()[0]
        batch = (block.codes[j, own] for j in range(len(block.codes)))
        sizes = [len(block.levels[name]) for name in block.schema.coded]
        return [np.bincount(c[c >= 0], minlength=size) for c, size in zip(batch, sizes, strict=True)]

    def without_each(self, model: Model, block: Block) -> tuple[Block, Int]:
        """Learned rows as the model without each would read them, and those that only a refit can judge."""
        alone = np.zeros(block.codes.shape, dtype=bool)
        own = block.rows_with_weight()[0]
        for j, once in enumerate(self.once):
            if once.any():
                codes = block.codes[j, own]
                alone[j, own] = (codes >= 0) & once[codes]
        if not alone.any():
            return block, np.empty(0, dtype=np.int64)
        if model.unseen == "error":
            raise unseen_level(block, *np.argwhere(alone)[0].tolist())
        if not model.density.additive:
            return block, np.flatnonzero(alone.any(axis=0))
        if model.unseen == "missing":  # "smooth" gives what the level has once the row is gone
            block = replace(block, codes=np.where(alone, np.int32(-2), block.codes))
        return block, np.empty(0, dtype=np.int64)


def unseen_level(block: Block, column: int, row: int) -> InputError:
    """The refusal of a level that no other row has."""
    name, code = block.schema.coded[column], int(block.codes[column, row])
    level = repr(block.levels[name].values[code]) if code >= 0 else "a level"
    return InputError(
        f"column {name!r} has {level}, which no row has that the model of others learned; "
        f'evaluate with unseen="missing" or "smooth", or declare the levels'
    )
