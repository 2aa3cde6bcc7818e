"""Flips: what would change a decision, one column at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayeskit.arrays import Array, Code, Float
from bayeskit.data.block import Block, Columns
from bayeskit.data.levels import MISSING, PRESENT, Levels
from bayeskit.explain.marginal import CELLS, Marginal, marginals
from bayeskit.frame import Shown, frame, shortened
from bayeskit.model import Model

ROUNDS, STEPS = 3, 33  # how often, and in how many pieces, the place where a decision turns is looked at closer
TRIED = 96  # values along a continuous column
TAIL = 1e-6  # share of a column's values that are too unusual to be tried
LINES = 20


@dataclass(frozen=True)
class Flip:
    """A change of one column that changes the decision; None is a missing value."""

    column: str
    value: Any  # what the row holds
    becomes: Any  # the nearest value that flips it
    before: Any  # class
    after: Any  # class
    probability: float  # of the class after
    distance: float  # deviations of a number, steps of an ordered level, else 1; NaN for leaving the value out


@dataclass(frozen=True, eq=False, repr=False)
class Flips(Shown):
    """For each row the changes of a single column that flip its decision, the smallest first."""

    rows: tuple[tuple[Flip, ...], ...]  # (n)
    classes: Array  # (K,)
    untried: tuple[str, ...] = ()  # columns without a density of their own; give ``among`` to try values of a table
    kind: str = "pyarrow"

    _left = 4

    @property
    def nearest(self) -> tuple[Flip | None, ...]:
        """The smallest change of each row; None where no single column flips it."""
        return tuple(row[0] if row else None for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def frame(self, kind: str | None = None) -> Any:
        """A line for each change."""
        each = [(i, flip) for i, row in enumerate(self.rows) for flip in row]
        return frame(
            {
                "row": np.array([i for i, _ in each], dtype=np.int64),
                "column": [f.column for _, f in each],
                "value": [None if f.value is None else str(f.value) for _, f in each],
                "becomes": [None if f.becomes is None else str(f.becomes) for _, f in each],
                "before": [str(f.before) for _, f in each],
                "after": [str(f.after) for _, f in each],
                "probability": np.array([f.probability for _, f in each]),
                "distance": np.array([f.distance for _, f in each]),
            },
            kind or self.kind,
        )

    def _title(self) -> str:
        held = sum(not row for row in self.rows)
        note = f"; not tried: {', '.join(map(shortened, self.untried[:8]))}" if self.untried else ""
        return f"single changes that flip the decision ({held} of {len(self)} rows have none){note}"

    def _lines(self) -> list[list[str]]:
        each = [(i, flip) for i, row in enumerate(self.rows) for flip in row][:LINES]
        return [["row", "column", "from", "to", "decision", "P", "distance"]] + [
            [
                str(i),
                shortened(f.column),
                _shown(f.value),
                _shown(f.becomes),
                f"{shortened(f.before)} → {shortened(f.after)}",
                f"{f.probability:.3f}",
                "" if np.isnan(f.distance) else f"{f.distance:.3g}",
            ]
            for i, f in each
        ]


def _shown(value: Any) -> str:
    return "missing" if value is None else shortened(value)


@dataclass(frozen=True)
class Numbers:
    """Values of a number column to try."""

    values: Float  # (m,) sorted
    spread: float
    middle: float
    dense: bool  # whether values between them may be tried too


@dataclass(frozen=True)
class Trials:
    """What to try in each column of a model."""

    model: Model
    numbers: dict[str, Numbers]
    usual: dict[str, Float]  # of coded columns: how usual each level is
    untried: tuple[str, ...]

    @classmethod
    def of(cls, model: Model, prior: Any, among: Iterable[Block] | None) -> Trials:
        alone = marginals(model, prior=prior)
        blocks = None if among is None else list(among)
        numbers: dict[str, Numbers] = {}
        for name in model.schema.numeric:
            if name in alone:
                numbers[name] = _along(alone[name])
            elif blocks is not None:
                found = np.concatenate([np.asarray(b.numbers((name,))[0].column(0)) for b in blocks])
                found = found[~np.isnan(found)]
                if len(found):
                    numbers[name] = Numbers(np.unique(found), float(found.std()), float(found.mean()), False)
        usual = {n: alone[n].shares @ alone[n].prior for n in model.schema.coded if n in alone and not alone[n].numeric}
        silent = set(model.constant)
        untried = tuple(n for n in model.schema.numeric if n not in numbers and n not in silent)
        return cls(model, numbers, usual, untried)

    def flips(self, block: Block, prior: Float) -> tuple[Flip, ...]:
        """Those of a block of one row, the smallest first."""
        decision = int(np.argmax(self.model.posterior(block, prior)[0]))
        found: list[Flip] = []
        for name in self.model.schema.names:
            column = self.model.schema[name]
            if column.numeric and name in self.numbers:
                found += self._of_number(block, prior, decision, name)
            elif column.coded and not column.numeric:
                found += self._of_levels(block, prior, decision, name)
        return tuple(sorted(found, key=lambda f: (np.isnan(f.distance), f.distance)))

    def _of_number(self, block: Block, prior: Float, decision: int, name: str) -> Iterator[Flip]:
        tried = self.numbers[name]
        held = float(np.asarray(block.numbers((name,))[0].column(0))[0])
        start = tried.middle if np.isnan(held) else held
        lost, chances = self._changed(block, prior, decision, name, np.append(tried.values, np.nan))
        value = None if np.isnan(held) else held
        if lost[:-1].any():
            away = np.where(lost[:-1], np.abs(tried.values - start), np.inf)
            best = int(np.argmin(away))
            target, chance = float(tried.values[best]), chances[best]
            if tried.dense and not np.isnan(held):
                target, chance = self._closer(block, prior, decision, name, held, target)
            far = 1.0 if value is None else abs(target - held) / max(tried.spread, 1e-300)
            yield self._flip(name, value, target, decision, chance, far)
        if lost[-1] and value is not None:
            yield self._flip(name, value, None, decision, chances[-1], np.nan)

    def _closer(
        self, block: Block, prior: Float, decision: int, name: str, held: float, target: float
    ) -> tuple[float, Float]:
        """The value nearest to what the row holds that still flips the decision, on the way to one that does."""
        near = held
        chance = np.empty(0)
        for _ in range(ROUNDS):
            steps = np.linspace(near, target, STEPS)
            lost, chances = self._changed(block, prior, decision, name, steps)
            first = max(1, int(np.argmax(lost)))
            near, target, chance = float(steps[first - 1]), float(steps[first]), chances[first]
        return target, chance

    def _of_levels(self, block: Block, prior: Float, decision: int, name: str) -> Iterator[Flip]:
        levels: Levels = self.model.counted.domain.levels[name]
        held = int(block.codes[self.model.schema.coded_index[name], 0])
        codes = np.append(np.arange(len(levels)), -1).astype(np.int32)
        lost, chances = self._changed(block, prior, decision, name, codes)
        values = [*levels.values, None]
        value = values[held] if held >= -1 else "(never seen)"
        if lost[:-1].any():
            ordered = self.model.schema[name].kind == "ordinal" and held >= 0
            steps = np.abs(codes[:-1] - held).astype(np.float64)
            usual = self.usual.get(name, np.ones(len(levels)))
            if len(usual) < len(levels):  # a missing value that is a level has no share of its own
                usual = np.append(usual, np.zeros(len(levels) - len(usual)))
            best = int(np.argmin(np.where(lost[:-1], steps if ordered else -usual, np.inf)))
            yield self._flip(name, value, values[best], decision, chances[best], float(steps[best]) if ordered else 1.0)
        if lost[-1] and held != -1 and MISSING not in levels.index:
            yield self._flip(name, value, None, decision, chances[-1], np.nan)

    def _flip(self, name: str, value: Any, becomes: Any, before: int, chance: Float, distance: float) -> Flip:
        labels, after = self.model.classes.tolist(), int(np.argmax(chance))
        return Flip(name, value, becomes, labels[before], labels[after], float(chance[after]), float(distance))

    def _changed(
        self, block: Block, prior: Float, decision: int, name: str, tried: Float | Code
    ) -> tuple[Array, Float]:
        """Which values of a column change the decision, (m,), and the posterior with each: (m, K)."""
        chunk = max(1, CELLS // max(1, len(block.schema.names)))
        parts = [self._posterior(block, prior, name, tried[i : i + chunk]) for i in range(0, len(tried), chunk)]
        chances = np.concatenate(parts)
        return np.argmax(chances, axis=1) != decision, chances

    def _posterior(self, block: Block, prior: Float, name: str, tried: Float | Code) -> Float:
        schema, rows = block.schema, len(tried)
        many = block.at(np.zeros(rows, dtype=np.int64))
        numbers, codes = many.numeric.matrix(), many.codes
        if schema[name].numeric:
            numbers[:, schema.numeric_index[name]] = tried
            if name in schema.coded_index:  # whether it is there is a column of its own
                index = self.model.counted.domain.levels[name].index
                there, gone = index.get(PRESENT, -1), index.get(MISSING, -1)
                codes[schema.coded_index[name]] = np.where(np.isnan(tried), gone, there)
        else:
            codes[schema.coded_index[name]] = tried
        return self.model.posterior(replace(many, numeric=Columns(numbers, rows), codes=codes), prior)


def _along(alone: Marginal) -> Numbers:
    """The usual values of a column, as finely as its density bends."""
    low, high = alone.usual(TAIL)
    values = np.asarray(alone.values, dtype=np.float64)
    pooled = alone.shares @ alone.prior
    middle = float(values @ pooled)
    spread = float(np.sqrt((values - middle) ** 2 @ pooled))
    inside = values[(values >= low) & (values <= high)]
    if alone.continuous:  # between them it is looked closer where a decision turns
        inside = inside[:: -(-len(inside) // TRIED)]
    return Numbers(inside, spread, middle, alone.continuous)
