"""Distinct: every different row with its weight, up to a number beyond which they are refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from bayeskit.errors import InputError
from bayeskit.statistics.batch import Batch
from bayeskit.statistics.rows import Rows

CAP = 200_000


@dataclass(frozen=True)
class Distinct(Rows):
    """The rows of a table, equal ones of a group once with the sum of their weights, and none left out.

    What is derived from them is the same in any order and split, and after others were learned and forgotten.
    """

    @cached_property
    def _capped(self) -> Self:
        rows = Batch.joined(self.parts).canonical()
        if len(rows) > CAP:
            raise InputError(
                f"exact=True keeps every different row, here more than {CAP:,}; join levels, round numbers, or leave "
                f"exact=True out: then cuts and arcs are held as the first rows chose them"
            )
        return replace(self, parts=(rows,))

    def _more(self, parts: tuple[Batch, ...], bound: np.uint64) -> Self:
        more = replace(self, parts=self.parts + parts)
        return more._capped if sum(map(len, more.parts)) > 2 * CAP else more

    def sample(self, most: int) -> Rows:
        """At most so many of them, those of the smallest fingerprints."""
        return replace(
            Rows.empty(self.columns, self.groups),
            parts=(self.rows.at(np.arange(len(self.rows)) < most),),  # they are in the order of fingerprints
            sizes=dict(self.sizes),
        )
