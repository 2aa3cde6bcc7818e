"""Deadline: when a pool has to be ready."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np


class OutOfTime(Exception):
    """What is under way would not be ready in time."""


@dataclass(frozen=True)
class Deadline:
    """A moment; without one there is all the time that is wanted.

    >>> Deadline().is_past(1e9), Deadline.within(0.5).is_past(1.0)
    (False, True)
    """

    at: float = np.inf  # as time.monotonic() has it

    @classmethod
    def within(cls, seconds: float | None) -> Deadline:
        """So many seconds from now; None is none."""
        return cls() if seconds is None else cls(time.monotonic() + seconds)

    def is_past(self, needed: float = 0.0) -> bool:
        """Whether what needs so many seconds more would be late."""
        return time.monotonic() + needed > self.at

    def check(self, needed: float = 0.0) -> None:
        """Raise ``OutOfTime`` where it would be late."""
        if self.is_past(needed):
            raise OutOfTime
