"""Steps: the operations of a program in order, as symbols give them and as they are written down."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from bayeskit.portable.nodes import Node, TableStore, to_json, to_list
from bayeskit.portable.symbol import Symbol, Table, Value

Step: TypeAlias = tuple[Any, ...]  # an operation by its name, and its arguments: places of steps, tables or nodes


class Steps:
    """Operations, each once, in an order in which arguments come first."""

    def __init__(self) -> None:
        self.made: list[Step] = []
        self._known: dict[Step, int] = {}
        self._of: dict[int, int] = {}
        self._held: list[tuple[Value, Step]] = []  # so that no id is given twice

    def add(self, value: Value) -> int:
        """The place of a symbol or constant."""
        waiting = [value]
        while waiting:
            one = waiting[-1]
            if id(one) in self._of:
                waiting.pop()
                continue
            if not isinstance(one, Symbol):
                self._put(one, ("constant", one if isinstance(one, float) else tuple(np.asarray(one).tolist())))
                waiting.pop()
                continue
            left = [a for a in one.args if not isinstance(a, int) and is_step(a) and id(a) not in self._of]
            if left:
                waiting += reversed(left)
                continue
            self._put(
                one, (one.op, *(self._of[id(a)] if not isinstance(a, int) and is_step(a) else a for a in one.args))
            )
            waiting.pop()
        return self._of[id(value)]

    def _put(self, value: Value, step: Step) -> None:
        key = tuple(id(a) if isinstance(a, Table | Node) else a for a in step)
        place = self._known.setdefault(key, len(self.made))
        if place == len(self.made):
            self.made.append(step)
        self._of[id(value)] = place
        self._held.append((value, step))

    def json(self, store: TableStore) -> list[list[object]]:
        return [_write_step(step, store) for step in self.made]


def is_step(argument: object) -> bool:
    """Whether an argument of a symbol is a step of its own: a symbol or a constant."""
    return isinstance(argument, Symbol | float | np.ndarray)


def _write_step(step: Step, store: TableStore) -> list[object]:
    op, *args = step
    if op == "constant":
        value = args[0]
        return [op, to_list(np.array(value)) if isinstance(value, tuple) else to_json(value)]
    out: list[object] = [op]
    for argument in args:
        if isinstance(argument, Table):
            many = argument.numbers.ndim > 1  # by class: logarithms
            out.append(store.logs(argument.numbers) if many else store.table(argument.numbers))
        elif isinstance(argument, int):
            out.append(argument)
        else:
            out.append(argument.json(store))
    return out
