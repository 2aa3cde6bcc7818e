"""Compiler: from a pattern of evidence to the program that answers it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from bayeskit import _core
from bayeskit._core import MOST_INPUTS, OpKind
from bayeskit.errors import NetworkError
from bayeskit.memory import SMALL, free_memory
from bayeskit.networks.plan import ARENA_BYTES, Elimination, Numbered, Pattern, Plan, eliminate

MOST_MESSAGE_CELLS = 1 << 27
MESSAGE_BYTES = 16  # for each number of a message, what its products take beside it included
MOST_WORK = 1 << 32
TABLE, FOLDED, ROWS = range(3)
DEEP = -900.0  # log2 of the smallest entry a message may have before it is scaled
SCALED = -200.0  # and what is expected of it afterwards
LEARNED = -40.0  # the same for tables that are still being learned


class TooWide(NetworkError):
    """A pattern whose messages fit no memory, or would take for ever."""


@dataclass(frozen=True)
class Factor:
    """A table or message: where its cells begin, and how far apart the states of each variable are."""

    place: int  # TABLE, FOLDED or ROWS
    offset: int
    strides: dict[int, int]
    floor: float  # log2 of a bound from below on its entries that are not zero


def compile_plan(numbered: Numbered, pattern: Pattern, memory: int | None = None) -> Plan:
    """The plan of a pattern; refused with its size where that is more than ``memory``, or than is free."""
    return _Compiler(numbered, pattern, memory).plan()


class _Compiler:
    """Collects ops while variables are eliminated one after the other."""

    def __init__(self, numbered: Numbered, pattern: Pattern, memory: int | None) -> None:
        self.numbered, self.pattern, self.memory = numbered, pattern, memory
        self.words: list[int] = []
        self.before: list[int] = []  # steps that no row changes
        self.cells = self.folded = 0
        soft = pattern.mixed | set(pattern.likelihoods)
        self.relevant = numbered.relevant(pattern)
        self.indicators = {v: self._room(numbered.sizes[v]) for v in sorted(soft)}

    def plan(self) -> Plan:
        sizes, targets = self.numbered.sizes, self.pattern.targets
        elimination = self._order()
        factors = self._indicators() + self._families()
        holding: dict[int, set[int]] = {v: set() for v in self.relevant}
        for i, factor in enumerate(factors):
            for v in factor.strides:
                holding[v].add(i)
        gone: set[int] = set()
        for v in elimination.order:
            used = sorted(holding[v])
            gone.update(used)
            for i in used:
                for u in factors[i].strides:
                    holding[u].discard(i)
            message = self._step([factors[i] for i in used], v)
            for u in message.strides:
                holding[u].add(len(factors))
            factors.append(message)
        last = [factor for i, factor in enumerate(factors) if i not in gone]
        result = self._emit(self._few(last), targets, 1, -1, ROWS)
        tables = self.numbered.tables
        if self.before:
            arena = np.empty((self.folded, 1))
            none = np.zeros((len(sizes), 1), dtype=np.int32)
            program = np.array(self.before, dtype=np.int64)
            _core.propagate(program, tables, self.folded, 0, none, None, 1, False, arena, np.empty(1))
            tables = np.concatenate([tables, arena[:, 0]])
        shape = tuple(sizes[v] for v in targets)
        words = np.array(self.words, dtype=np.int64)
        room = ARENA_BYTES if self.memory is None else min(ARENA_BYTES, self.memory)
        return Plan(words, tables, self.cells, result.offset, shape, self.indicators, elimination, room)

    def _order(self) -> Elimination:
        numbered, targets = self.numbered, self.pattern.targets
        found = eliminate(numbered.near(self.pattern), numbered.sizes, targets)
        joint = float(prod(numbered.sizes[v] for v in targets))
        cells, work = found.cells + joint, found.work + joint
        taken = cells * MESSAGE_BYTES
        if self.memory is None:
            too_many = cells > MOST_MESSAGE_CELLS or (taken > SMALL and taken > free_memory())
        else:
            too_many = taken > self.memory
        if too_many or work > MOST_WORK:
            hub = f", most of them around {numbered.network.nodes[found.hub]!r}" if found.hub >= 0 else ""
            raise TooWide(
                f"this network is too wide to be asked exactly: messages of {cells:.3g} numbers ("
                f"{cells * 8 / 2**30:.3g} GiB) and {work:.3g} products for each row{hub}; ask for fewer nodes at once, "
                f'observe more, give memory=, or pass approximate="weighting" or approximate="gibbs"'
            )
        return found

    def _indicators(self) -> list[Factor]:
        """What is observed in some rows, or only likely, as a factor of its own."""
        sizes, found, begin = self.numbered.sizes, [], 0
        place = {}
        for v in self.pattern.likelihoods:
            place[v], begin = begin, begin + sizes[v]
        for v, offset in self.indicators.items():
            column = v if v in self.pattern.mixed else -1
            self.words += [6, OpKind.INDICATE, offset, column, sizes[v], place.get(v, -1)]
            found.append(Factor(ROWS, offset, {v: 1}, SCALED / 2 if v in place else 0.0))
        return found

    def _families(self) -> list[Factor]:
        """The tables; where something is observed, the part of them that each row leaves open."""
        found, observed = [], self.pattern.observed
        for v in sorted(self.relevant):
            family = self.numbered.families[v]
            sizes = [self.numbered.sizes[u] for u in family]
            strides = dict(zip(family, _strides(sizes), strict=True))
            begin, floor = self.numbered.begin[v], self.numbered.floors[v]
            floor = floor if self.pattern.folded else min(floor, LEARNED)
            known = [u for u in family if u in observed]
            if not known:
                found.append(Factor(TABLE, begin, strides, floor))
                continue
            free = [u for u in family if u not in observed]
            size = {u: self.numbered.sizes[u] for u in family}
            out = self._room(prod(size[u] for u in free))
            op = [out, begin, len(free), len(known), *known, *(strides[u] for u in known), *(size[u] for u in known)]
            op += [*(size[u] for u in free), *(strides[u] for u in free)]
            self.words += [len(op) + 2, OpKind.GATHER, *op]
            layout = dict(zip(free, _strides([size[u] for u in free]), strict=True))
            found.append(Factor(ROWS, out, layout, floor))
        return found

    def _step(self, parts: list[Factor], v: int) -> Factor:
        """The product of all factors that hold a variable, summed over its states."""
        parts = self._few(parts)
        scope = self._axes(parts, v)
        place = FOLDED if self.pattern.folded and all(p.place != ROWS for p in parts) else ROWS
        return self._emit(parts, scope, self.numbered.sizes[v], v, place)

    def _few(self, parts: list[Factor]) -> list[Factor]:
        """The factors, scaled or multiplied beforehand where they are too many, or their product too small."""
        if sum(part.floor for part in parts) < DEEP:
            parts = [
                self._emit([part], self._axes([part]), 1, -1, ROWS, True)
                if part.place == ROWS and part.floor < SCALED
                else part
                for part in parts
            ]
        queue = sorted(parts, key=lambda part: prod(self.numbered.sizes[u] for u in part.strides))
        while len(queue) > MOST_INPUTS or sum(part.floor for part in queue) < DEEP:
            group, floor = [queue[0]], queue[0].floor
            for part in queue[1:MOST_INPUTS]:
                if floor + part.floor < DEEP - 100 or len(group) == len(queue) - 1:
                    break
                group.append(part)
                floor += part.floor
            if len(group) == 1:
                break
            queue = [self._emit(group, self._axes(group), 1, -1, ROWS, True), *queue[len(group) :]]
        return queue

    def _axes(self, parts: list[Factor], but: int = -1) -> tuple[int, ...]:
        """The variables of some factors; those with one state need no axis."""
        every = dict.fromkeys(u for part in parts for u in part.strides)
        return tuple(u for u in every if u != but and self.numbered.sizes[u] > 1)

    def _emit(
        self, parts: list[Factor], scope: Sequence[int], states: int, v: int, place: int, scaled: bool = False
    ) -> Factor:
        sizes = [self.numbered.sizes[u] for u in scope]
        floor = sum(part.floor for part in parts)
        scaled = place == ROWS and (scaled or floor < DEEP)
        cells = prod(sizes)
        if place == FOLDED:
            out, self.folded, words = self.folded, self.folded + cells, self.before
        else:
            out, words = self._room(cells + scaled), self.words
        op = [out, len(scope), states, v, int(scaled), len(parts), *sizes, *scope]
        for part in parts:
            message = part.place == place
            shift = self.numbered.begin[-1] if part.place == FOLDED and not message else 0
            op += [int(message), part.offset + shift, part.strides.get(v, 0), *(part.strides.get(u, 0) for u in scope)]
        words += [len(op) + 2, OpKind.STEP, *op]
        layout = dict(zip(scope, _strides(sizes), strict=True))
        return Factor(place, out, layout, max(floor, SCALED) if scaled else floor)

    def _room(self, cells: int) -> int:
        self.cells += cells
        return self.cells - cells


def _strides(sizes: Sequence[int]) -> list[int]:
    """Of an array with the last axis fastest."""
    found, step = [], 1
    for size in reversed(sizes):
        found.append(step)
        step *= size
    return found[::-1]
