"""WhatIf: the model in the page, or why it is not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bayeskit.arrays import Classifier, Float, Int
from bayeskit.portable.program import Portable, Program, Unportable, numbers_of
from bayeskit.reports.profile import Profile, Table, questions
from bayeskit.reports.program import PageProgram, Store

AGREES = 1e-6  # what a panel may differ from Python
FAR = 1e-4  # a panel that differs by more is left out
COLUMNS = 2000  # of which a panel can hold terms
MOST = 4_000_000  # numbers of one classifier, before they are packed
ROOM = 2_300_000  # characters of all numbers: the page stays under three million


@dataclass(frozen=True)
class WhatIf:
    """A program, how far it was from Python on the evaluated rows, and what is to be said of it."""

    program: PageProgram | None
    note: str
    gap: float = np.nan
    checked: int = 0  # rows
    less: str = ""  # what the program is without, and how far that moves answers
    lead: str = ""  # what a panel of some columns is made of

    @classmethod
    def of(cls, estimator: Classifier, table: Table | None, which: Int, proba: Float | None, rows: bool) -> WhatIf:
        """Written down, and checked on some rows whose posterior is known; too far off, it is left out.

        ``rows`` says whether learned rows may be in the page; a pool does without the members that look them up, and
        how far its answers move is said.
        """
        if table is None:
            return cls(None, "the rows were streamed and none was kept, so the range of values is not known")
        try:
            whole = _program(estimator, table.profiles)
            program = whole if rows else _without_rows(whole)
            _check_room(program)
        except Unportable as why:
            return cls(None, str(why))
        assert proba is not None  # what can be written down can be explained
        values = table.values(which, [q.name for q in program.questions])
        apart = whole.apart(values, proba)
        gap = float(apart.max(initial=0.0))
        if gap > FAR:
            return cls(None, f"what could be written down differs from the model by {gap:.1g}")
        if program is not whole:
            kept = {m.name for m in program.members}
            gone = [m.name for m in whole.members if m.name not in kept]
            apart = program.apart(values, proba)
            gap = float(apart.max(initial=0.0))
            return cls(program, "", gap, len(apart), _name_moved(gone, apart))
        return cls(program, "", gap, len(apart))


def _without_rows(program: PageProgram) -> PageProgram:
    if not program.rows:
        return program
    less = program.without_rows()
    if less is None:
        raise Unportable(
            "neighbours are looked up in the learned rows, which are in a page only if they are asked for (--rows, or "
            "rows=True in Python)"
        )
    return less


def _name_moved(gone: Sequence[str], apart: Float) -> str:
    names = " and ".join(filter(None, (", ".join(map(repr, gone[:-1])), repr(gone[-1]))))
    look, are = ("look", "are") if len(gone) > 1 else ("looks", "is")
    return (
        f"{names}, which {look} up learned rows, {are} left out (--rows puts them in the page, rows=True in "
        f"Python): that moves answers by {apart.mean():.3f} on average and {apart.max(initial=0.0):.3f} at most"
    )


def _program(estimator: Classifier, profiles: Mapping[str, Profile]) -> PageProgram:
    if not isinstance(estimator, Portable):
        raise Unportable(f"{type(estimator).__name__} cannot be written down term by term")
    program = _without_calibration(estimator.program())
    if not program.members:
        raise Unportable("nothing predicts the class better than its prior, whatever the values")
    names = [column.name for column in program.columns]
    if len(names) > COLUMNS or not set(names) <= set(profiles):
        raise Unportable(f"its {len(names):,} columns are too many for a page")
    return PageProgram(program, questions(program, profiles))


def _without_calibration(program: Program) -> Program:
    """The same scores with a calibration that multiplies them and adds to them as a part of the pool."""
    kind, *found = program.calibration or ("temperature", 1.0)
    if kind == "sigmoid" and len(program.classes) == 2:
        return program.scale(found[0][0], np.array([0.0, found[1][1]]))
    if kind != "temperature":
        raise Unportable(f"calibration by {kind!r} cannot be written down term by term")
    return program.scale(found[0], np.zeros(len(program.classes)))


def _check_numbers(program: Program) -> None:
    """Refuse early what cannot fit."""
    for member in program.members:
        numbers = numbers_of(member)
        if numbers > MOST:
            raise Unportable(f"{member.name} has {numbers:,} numbers, too many for a page")


def _check_room(program: PageProgram) -> None:
    _check_numbers(program.program)
    whole, sizes = len(program.json()["numbers"]["data"]), {}
    if whole > ROOM:
        for member in program.members:
            store = Store()
            replace(program.program, members=(member,)).json(store)
            sizes[member.name] = len(store.json()["data"])
        largest = max(sizes, key=lambda name: sizes[name])
        raise Unportable(
            f"its numbers take {whole / 1e6:.1f} MB ({largest} alone {sizes[largest] / 1e6:.1f}), too much for a page"
        )
