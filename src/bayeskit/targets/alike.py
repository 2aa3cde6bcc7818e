"""Alike: terms of many columns that have one formula, so that it is written once for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bayeskit.portable.symbol import Step, Table

MANY = 8  # arguments of a sum that are looked through, and steps that are worth a formula together


@dataclass(frozen=True)
class Alike:
    """Sums of many, with their arguments grouped by formula."""

    made: Sequence[Step]
    groups: dict[int, tuple[list[int], list[list[int]]]]  # of a sum: arguments by themselves, and those alike
    needed: list[int]  # steps to compute by themselves, in order

    @classmethod
    def of(cls, made: Sequence[Step], root: int) -> Alike:
        """The steps that lead to a root."""
        forms, wide = _forms(made)
        groups: dict[int, tuple[list[int], list[list[int]]]] = {}
        for i in wide:
            by_form: dict[int, list[int]] = {}
            for a in made[i][1:]:
                by_form.setdefault(forms[a] if forms[a] >= 0 else -2 - a, []).append(a)
            alike = [members for members in by_form.values() if len(members) >= MANY]
            groups[i] = [a for members in by_form.values() if len(members) < MANY for a in members], alike
        needed, waiting = set[int](), [root]
        while waiting:
            i = waiting.pop()
            if i in needed:
                continue
            needed.add(i)
            single, alike = groups.get(i, (arguments(made[i]), []))
            waiting += [*single, *(one for members in alike for one in _shared(made, members[0], groups))]
        return cls(made, groups, sorted(needed))


def arguments(step: Step) -> list[int]:
    """The steps that a step needs."""
    op, *args = step
    if op in ("number", "code", "constant"):
        return []
    return args[:1] if op == "class" else [a for a in args if isinstance(a, int)]


def _shared(made: Sequence[Step], first: int, groups: dict[int, Any]) -> list[int]:
    """The sums that a formula uses."""
    seen, waiting, found = set[int](), [first], []
    while waiting:
        i = waiting.pop()
        if i in seen:
            continue
        seen.add(i)
        if i in groups:
            found.append(i)
        else:
            waiting += arguments(made[i])
    return found


def _forms(made: Sequence[Step]) -> tuple[list[int], list[int]]:
    """A number for each step that says its formula, whatever columns and numbers are in it; and the sums of many.

    -1 is a formula that only its own step has: with a node, whose numbers are not by class.
    """
    known: dict[tuple[Any, ...], int] = {}
    forms: list[int] = []
    wide: list[int] = []
    for i, (op, *args) in enumerate(made):
        if op in ("add", "peak") and len(args) > MANY:
            wide.append(i)
            form: tuple[Any, ...] = ("sum", i)
        elif op in ("number", "code"):
            form = (op,)
        elif op == "constant":
            form = (op, len(args[0]) if isinstance(args[0], tuple) else 1)
        else:
            parts = [
                forms[a] if isinstance(a, int) else a.numbers.ndim if isinstance(a, Table) else -1
                for a in (args[:1] if op == "class" else args)
            ]
            form = (op, len(args), *parts, *(args[1:] if op == "class" else ()))
            if -1 in parts:
                forms.append(-1)
                continue
        forms.append(known.setdefault(form, len(known)))
    return forms, wide
