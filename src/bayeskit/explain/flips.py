"""Flips: what would change a decision, one column at a time or two together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from bayeskit.arrays import Array, Batch, ColumnNames, Float, Frame, Int, Json, Label, NamesLike, TableLike
from bayeskit.data.frame import TableRepr, frame, shorten
from bayeskit.docstrings import document_frame_like_x
from bayeskit.errors import InputError
from bayeskit.explain.trials import Change, Numbers, Trials, ask
from bayeskit.explain.words import name_columns

ROUNDS, STEPS = 3, 33  # how often, and in how many pieces, the place where a decision turns is looked at closer
PAIRED = 8  # columns of which two are changed together: those that come nearest to turning the decision
LINES = 20

Decide = Callable[[Any], tuple[Int, Float]]  # of a table the outcome of each row by number, and its probability: (n,)


@dataclass(frozen=True)
class Flip:
    """A change of one column, or of two, that changes the decision; None is a missing value.

    Of two columns, ``column``, ``value`` and ``becomes`` are pairs, and the distance is the sum of both.
    """

    column: Any
    value: Any  # what the row holds
    becomes: Any  # the nearest value that flips it
    before: Any  # class, or action
    after: Any  # class, or action
    probability: float  # of the class after; NaN for an action that is none
    distance: float  # deviations of a number, steps of an ordered level or interval, else 1; NaN for leaving it out


class Turn(NamedTuple):
    """The outcome of a decision before and after a change, by number, and the probability of the one after."""

    before: int
    after: int
    probability: float


@dataclass(frozen=True)
class Freedom:
    """What may be changed: to values of a table, not in some columns, in one column or in two at once.

    ``names`` are those of columns that have none, such as words.
    """

    among: Any = None
    hold: tuple[str, ...] = ()
    columns: int = 1
    names: Any = None

    @classmethod
    def of(cls, among: TableLike | None, hold: ColumnNames, columns: int, names: NamesLike = None) -> Freedom:
        if columns not in (1, 2):
            raise InputError(f"columns={columns!r}: one column may be changed at a time, or two; give 1 or 2")
        return cls(among, (hold,) if isinstance(hold, str) else tuple(hold), int(columns), names)


@dataclass(frozen=True, eq=False, repr=False)
class Flips(TableRepr):
    """For each row the changes that flip its decision, the smallest first."""

    rows: tuple[tuple[Flip, ...], ...]  # (n)
    classes: Array  # (K,) what is decided between
    untried: tuple[str, ...] = ()  # columns whose values no one knows; give ``among`` to try values of a table
    kind: str = "pyarrow"

    _left = 4

    def with_names(self, columns: Sequence[str], names: NamesLike) -> Flips:
        """The same with columns by the names given for them."""
        if names is None:
            return self
        words = dict(zip(columns, name_columns(columns, names), strict=True))

        def rename(column: Any) -> Any:
            return tuple(map(rename, column)) if isinstance(column, tuple) else words[column]

        rows = tuple(tuple(replace(flip, column=rename(flip.column)) for flip in row) for row in self.rows)
        return replace(self, rows=rows, untried=tuple(map(rename, self.untried)))

    @property
    def nearest(self) -> tuple[Flip | None, ...]:
        """The smallest change of each row; None where no change flips it."""
        return tuple(row[0] if row else None for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @document_frame_like_x
    def frame(self, kind: str | None = None) -> Frame:
        """A line for each change."""
        each = [(i, flip) for i, row in enumerate(self.rows) for flip in row]
        return frame(
            {
                "row": np.array([i for i, _ in each], dtype=np.int64),
                "column": [_text(f.column) for _, f in each],
                "value": [_text(f.value) for _, f in each],
                "becomes": [_text(f.becomes) for _, f in each],
                "before": [str(f.before) for _, f in each],
                "after": [str(f.after) for _, f in each],
                "probability": np.array([f.probability for _, f in each]),
                "distance": np.array([f.distance for _, f in each]),
            },
            kind or self.kind,
        )

    def _title(self) -> str:
        held = sum(not row for row in self.rows)
        note = f"; not tried: {', '.join(map(shorten, self.untried[:8]))}" if self.untried else ""
        return f"changes that flip the decision ({held} of {len(self)} rows have none){note}"

    def _lines(self) -> list[list[str]]:
        each = [(i, flip) for i, row in enumerate(self.rows) for flip in row][:LINES]
        return [["row", "column", "from", "to", "decision", "P", "distance"]] + [
            [
                str(i),
                shorten(_text(f.column)),
                _short_text(f.value),
                _exact_text(f.becomes),
                f"{shorten(f.before)} → {shorten(f.after)}",
                "" if np.isnan(f.probability) else f"{f.probability:.3f}",
                "" if np.isnan(f.distance) else f"{f.distance:.3g}",
            ]
            for i, f in each
        ]


def _text(value: object) -> str | None:
    """A value, or those of two columns."""
    if isinstance(value, tuple):
        return " and ".join("missing" if v is None else str(v) for v in value)
    return None if value is None else str(value)


def _short_text(value: object) -> str:
    """What a row holds, as short as a table needs it."""
    each = value if isinstance(value, tuple) else (value,)
    return " and ".join("missing" if v is None else shorten(v) for v in each)


def _exact_text(value: object) -> str:
    """What it becomes, with every digit, for a rounded number may not flip."""
    each = value if isinstance(value, tuple) else (value,)
    return " and ".join("missing" if v is None else shorten(str(v).removesuffix(".0")) for v in each)


@dataclass(frozen=True)
class Row:
    """One row of a batch, whose decision is to be turned."""

    trials: Trials
    decide: Decide
    outcomes: Sequence[Any]
    batch: Any  # a record batch or a matrix
    place: int
    columns: int = 1  # how many may be changed at once

    def flips(self) -> tuple[Flip, ...]:
        """Those of the row, the smallest first."""
        columns = [(name, self._trial(name)) for name in self.trials.columns]
        if not columns:
            return ()
        held = {name: Change.value_at(self.batch, self.place, name) for name, _ in columns}
        kept = Change(columns[0][0], [held[columns[0][0]]])
        (first, _), *found = self._ask([kept, *(Change(name, [*tried.values, None]) for name, tried in columns)])
        decision = int(first[0])
        flips: list[Flip] = []
        near: dict[str, tuple[float, float]] = {}  # of continuous numbers: what keeps the decision, what turns it
        for (name, tried), (after, chance) in zip(columns, found, strict=True):
            lost = after != decision
            value = held[name]
            if lost[:-1].any():
                best = tried.nearest(lost[:-1], value)
                if isinstance(tried, Numbers) and tried.dense and value is not None:
                    start = min(max(value, tried.values[0]), tried.values[-1])  # what was never seen is not tried
                    near[name] = start, tried.values[best]
                else:
                    turn = Turn(decision, after[best], chance[best])
                    flips.append(self._flip(name, value, tried.values[best], turn, tried.distance(value, best)))
            if lost[-1] and value is not None:
                flips.append(self._flip(name, value, None, Turn(decision, after[-1], chance[-1]), np.nan))
        flips += self._closer(near, held, decision)
        if self.columns == 2:
            flips += self._pairs(dict(columns), found, held, decision, flips)
        return tuple(sorted(flips, key=lambda f: (np.isnan(f.distance), f.distance)))

    def _trial(self, name: str) -> Any:
        tried = self.trials.columns[name]
        return tried.whole() if Change.whole(self.batch, name) else tried

    def _closer(self, near: dict[str, tuple[float, float]], held: Json, decision: int) -> Iterator[Flip]:
        """For numbers the value nearest to what the row holds that still flips, on the way to one that does."""
        last: dict[str, tuple[int, float]] = {}
        tried = {name: self._trial(name) for name in near}
        for _ in range(ROUNDS if near else 0):
            steps = {name: tried[name].closer(*ends, STEPS) for name, ends in near.items()}
            found = self._ask([Change(name, along) for name, along in steps.items()])
            for (name, along), (after, chance) in zip(steps.items(), found, strict=True):
                turn = max(1, int(np.argmax(after != decision)))
                near[name], last[name] = (along[turn - 1], along[turn]), (int(after[turn]), float(chance[turn]))
        short = {name: tried[name].shorter(*ends) for name, ends in near.items()}
        asked = self._ask([Change(name, [value]) for name, value in short.items()]) if short else []
        for (name, (_, target)), (after, chance) in zip(near.items(), asked, strict=True):
            if after[0] != decision:
                target, last[name] = short[name], (int(after[0]), float(chance[0]))
            away = tried[name].away(held[name], target)
            yield self._flip(name, held[name], target, Turn(decision, *last[name]), away)

    def _pairs(
        self,
        columns: Json,
        found: Sequence[tuple[Int, Float]],
        held: Json,
        decision: int,
        flips: Sequence[Flip],
    ) -> Iterator[Flip]:
        """Two columns together, where that takes a smaller change than either alone."""
        doubt = {
            n: float(np.where(after == decision, p, 0.0).min()) for n, (after, p) in zip(columns, found, strict=True)
        }
        nearest = sorted(columns, key=lambda name: doubt[name])[:PAIRED]
        alone = {flip.column: flip.distance for flip in flips if flip.becomes is not None}
        changes = []
        for one, other in combinations(sorted(nearest, key=list(columns).index), 2):
            both = list(product(columns[one].few(held[one]), columns[other].few(held[other])))
            if both:
                changes.append(Change(one, [a for a, _ in both], (other, [b for _, b in both])))
        for change, (after, chance) in zip(changes, self._ask(changes) if changes else [], strict=True):
            (one, mine), (other, theirs) = change.each
            sums = [
                columns[one].away(held[one], a) + columns[other].away(held[other], b)
                for a, b in zip(mine, theirs, strict=True)
            ]
            away = np.where(after != decision, sums, np.inf)
            best = int(np.argmin(away))
            if away[best] < min(alone.get(one, np.inf), alone.get(other, np.inf)):
                pair = (one, other), (held[one], held[other]), (mine[best], theirs[best])
                yield self._flip(*pair, Turn(decision, after[best], chance[best]), away[best])

    def _ask(self, changes: Sequence[Change]) -> list[tuple[Int, Float]]:
        """Outcomes and their probabilities with each value of each change."""
        return ask(self.batch, self.place, changes, self.decide)

    def _flip(self, name: Label, value: Label, becomes: Label, turn: Turn, distance: float) -> Flip:
        before, after = self.outcomes[turn.before], self.outcomes[int(turn.after)]
        return Flip(name, value, becomes, before, after, float(turn.probability), float(distance))


def flips(
    trials: Trials, decide: Decide, outcomes: Sequence[Label], batch: Batch, rows: int, columns: int
) -> list[tuple[Flip, ...]]:
    """Those of every row of a batch."""
    return [Row(trials, decide, outcomes, batch, i, columns).flips() for i in range(rows)]


def most_probable(proba: Float) -> tuple[Int, Float]:
    """The decision of each row where a mistake is a mistake, and its probability."""
    return np.argmax(proba, axis=1), proba.max(axis=1)
