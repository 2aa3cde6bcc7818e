"""Rows: what is known of the rows of a labelled table beside their features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from bayeskit.arrays import Array, Bool, Float, Int


@dataclass(frozen=True)
class Rows:
    """What a method may know of the rows: their classes, weights and groups, never their features."""

    codes: Int  # (n,) class of each row, -1 without a label
    weights: Float  # (n,)
    classes: Array  # (K,) labels
    groups: Int | None = None  # (n,) rows of one group stay together

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def counted(self) -> Bool:
        """Rows that have a label and some weight; the others are predicted but neither learned nor judged."""
        return (self.codes >= 0) & (self.weights > 0)
