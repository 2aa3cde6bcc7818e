"""RowReader: one row, as a mapping, put to a model without a table around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayeskit.arrays import Float
from bayeskit.data.block import Block, Columns
from bayeskit.data.levels import Key, key
from bayeskit.model.model import Model

LARGEST = 2.0**53  # whole numbers beyond it may be rounded, which is told of tables


class RowReader:
    """The columns of a model, ready for rows of plain values; whatever is not plain is left to the way of tables."""

    def __init__(self, model: Model) -> None:
        schema, domain = model.schema, model.counted.domain
        self.model, self.base = model, model.log_base()
        self.plain = not any(column.missing == "level" for column in schema.columns)
        self.numbers = tuple(schema.numeric)
        self.codes: list[tuple[str, Mapping[Key, int], frozenset[int]]] = []
        for name in schema.coded:
            index = domain.levels[name].index if name in domain.levels else {}
            self.codes.append((name, index, frozenset(family for family, _ in index)))

    def posterior(self, row: Mapping[str, Any]) -> Float | None:
        """P(class | row), (K,); None where a table has to be asked."""
        block = self._block(row) if self.plain else None
        return None if block is None else self.model.posterior(block, self.base)[0]

    def _block(self, row: Mapping[str, Any]) -> Block | None:
        numbers = np.empty((1, len(self.numbers)))
        for j, name in enumerate(self.numbers):
            x = row.get(name)
            if x is None:
                x = np.nan
            elif type(x) is int:
                if not -LARGEST < x < LARGEST:
                    return None
            elif type(x) is not float or abs(x) == np.inf:  # refused, or converted
                return None
            numbers[0, j] = x
        codes = np.empty((len(self.codes), 1), dtype=np.int32)
        for j, (name, index, families) in enumerate(self.codes):
            level = row.get(name)
            if level is None:
                codes[j, 0] = -1
                continue
            if type(level) not in (str, bool, int):
                return None
            found = key(level)
            if found is None:
                return None
            code = index.get(found, -2)
            if code == -2 and (found[0] not in families or self.model.unseen == "error"):
                return None
            codes[j, 0] = code
        return Block(self.model.schema, Columns(numbers, 1), codes, levels=self.model.counted.domain.levels)
