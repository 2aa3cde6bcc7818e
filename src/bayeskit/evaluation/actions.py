"""Actions: what a model does with a row, as codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayeskit.arrays import Array, Int, Label


@dataclass(frozen=True)
class Actions:
    """Codes are those of the classes, which a model may name, then of whatever else it does.

    >>> codes, actions = Actions(("ill", "well")).coded(["well", "wait", "ill"])
    >>> codes.tolist(), actions.others
    ([1, 2, 0], ('wait',))
    """

    classes: tuple[Any, ...]
    others: tuple[Any, ...] = ()  # actions that are no classes
    abstain: int | None = None  # the code that stands for no decision

    @property
    def names(self) -> tuple[Label, ...]:
        return (*self.classes, *self.others)

    def coded(self, taken: Sequence[Label] | Array) -> tuple[Int, Actions]:
        """The code of each action taken, (n,), and the actions with those that are new."""
        code = {name: k for k, name in enumerate(self.names)}
        listed = taken.tolist() if isinstance(taken, np.ndarray) else list(taken)
        codes = np.array([code.setdefault(name, len(code)) for name in listed], dtype=np.int64)
        return codes, replace(self, others=tuple(code)[len(self.classes) :])
