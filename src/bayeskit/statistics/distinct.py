"""Distinct: every different row with its weight, up to a number beyond which they are refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from bayeskit.data.schema import Column
from bayeskit.errors import InputError
from bayeskit.statistics.batch import Batch
from bayeskit.statistics.rows import Rows

MOST = 200_000


@dataclass(frozen=True)
class Distinct(Rows):
    """The rows of a table, equal ones of a group once with the sum of their weights, and none left out.

    What is derived from them is the same in any order and split, and after others were learned and forgotten.
    """

    @classmethod
    def empty(cls, columns: Sequence[Column], n_groups: int, most: int | None = MOST, seed: int = 0) -> Distinct:
        made = cls(tuple(columns), n_groups, (), {}, most, seed)
        return replace(made, parts=(made._nothing,), sizes=dict.fromkeys(made.schema.coded, 0))

    @cached_property
    def _capped(self) -> Self:
        rows = Batch.joined(self.parts).canonical()
        if self.most is not None and len(rows) > self.most:
            raise InputError(
                f"exact=True keeps every different row, here more than {self.most:,}; join levels, round numbers, or "
                f"leave exact=True out: then cuts and arcs are held as the first rows chose them"
            )
        return replace(self, parts=(rows,))

    def sample(self, most: int) -> Rows:
        """Those that a statistic of so many rows would keep."""
        kept = Rows.empty(self.columns, self.groups, most, self.seed)
        return replace(kept, parts=(self.rows,), sizes=dict(self.sizes), bound=np.uint64(self.bound))
