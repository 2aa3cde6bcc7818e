"""NetworkedDensity: log p(x | c) of a network, with what is missing summed out exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from bayeskit.arrays import Bool, Code, Float, Int
from bayeskit.data.block import Block
from bayeskit.data.levels import Levels
from bayeskit.likelihood import Bounded, revealed
from bayeskit.networks.graph import Graph
from bayeskit.networks.inference import Inference, distinct
from bayeskit.networks.network import Network
from bayeskit.networks.table import Table
from bayeskit.structures.conditional import FRONT
from bayeskit.structures.factored import FactorDensity, refuse

LEAST = -1e300  # a logarithm that is still a number
KEPT = 64  # networks with plans, one for each set of columns with levels never seen


@dataclass(frozen=True, eq=False)
class Factored(Network):
    """A network whose observed nodes may have a state more than those that share a probability of one."""

    factors: dict[str, Float] = field(default_factory=dict)

    @cached_property
    def potentials(self) -> dict[str, Float]:
        return self.factors


@dataclass(frozen=True)
class NetworkedDensity(Bounded):
    """log P(x, c) - log P(c), so that it is a density whether or not the class has parents.

    Rows in which every value has its parents beside it are a sum of table entries: a missing value that nothing
    present depends on drops out. In the others the missing values are summed out by variable elimination.
    """

    tables: FactorDensity  # of every column, and last, if it has parents, of the class
    of_class: tuple[bool, ...]  # whether the class is a parent, by column
    smooth_unseen: bool
    kept: dict[tuple[int, ...], Inference] = field(default_factory=dict, repr=False, compare=False)

    normalised: ClassVar[bool] = True
    additive: ClassVar[bool] = False

    @property
    def parts(self) -> tuple[str, ...]:
        return self.tables.slices.columns

    @property
    def constant(self) -> tuple[str, ...]:
        return tuple(name for name, size in zip(self.parts, self.tables.sizes, strict=False) if size < 2)

    @property
    def _classes(self) -> int:
        return int(self.tables.table.shape[1])

    @property
    def class_parents(self) -> tuple[int, ...]:
        """Columns that are parents of the class."""
        return self.tables.arcs[-1] if len(self.tables.arcs) > len(self.parts) else ()

    def named(self) -> Iterator[tuple[str | None, tuple[str | None, ...]]]:
        """Each node and its parents; None is the class."""
        yield None, tuple(self.parts[p] for p in self.class_parents)
        for name, parents, of_class in zip(self.parts, self.tables.arcs, self.of_class, strict=False):
            yield name, (*((None,) if of_class else ()), *(self.parts[p] for p in parents))

    def add(self, block: Block, out: Float, own: bool = False) -> None:
        refuse(own)
        codes = self.tables.slices.codes(block)
        if not self.smooth_unseen:
            codes = np.maximum(codes, np.int32(-1))
        hidden = self._hidden(codes)
        if not hidden.any():
            self._look_up(codes, out)
            return
        plain, rest = np.flatnonzero(~hidden), np.flatnonzero(hidden)
        some = out[plain]
        self._look_up(np.ascontiguousarray(codes[:, plain]), some)
        out[plain] = some
        out[rest] += self._summed(codes[:, rest])

    def _look_up(self, codes: Code, out: Float) -> None:
        if not self.class_parents:
            self.tables.look_up(codes, out)
            return
        itself = np.zeros((1, codes.shape[1]), dtype=np.int32)
        self.tables.look_up(np.vstack([codes, itself]), out)
        out -= self._log_class

    def _hidden(self, codes: Code) -> Bool:
        """Whether a value, or the class, depends on one that is missing: (rows,)."""
        missing, found = codes == -1, np.zeros(codes.shape[1], dtype=bool)
        for j, parents in enumerate(self.tables.arcs):
            for p in parents:
                found |= missing[p] if j == len(codes) else missing[p] & ~missing[j]
        return found

    def _summed(self, codes: Code) -> Float:
        """log p(what is there | c): (rows, K)."""
        out = np.empty((codes.shape[1], self._classes))
        for places, new in _apart(codes == -2):
            sizes = np.array(self.tables.sizes[: len(codes)], dtype=np.int32)[:, None]
            mine = np.where(codes[:, places] == -2, sizes, codes[:, places])
            out[places] = self._logs(mine, new)
        return np.maximum(out - self._log_class, LEAST)

    def _logs(self, codes: Code, new: tuple[int, ...]) -> Float:
        """log P(what is there, c), each class observed in turn: (rows, K)."""
        rows, classes = codes.shape[1], self._classes
        asked = np.vstack([np.tile(codes, classes), np.repeat(np.arange(classes, dtype=np.int32), rows)])
        _, logs = self._inference(new).joint(np.ascontiguousarray(asked, dtype=np.int32))
        return logs.reshape(classes, rows).T

    @cached_property
    def _log_class(self) -> Float:
        """log P(c) of the network: (K,)."""
        found: Float = self._logs(np.full((len(self.parts), 1), -1, dtype=np.int32), ())[0]
        return found

    def _inference(self, new: tuple[int, ...]) -> Inference:
        """For rows with levels never seen in some columns, which have a state more for them."""
        if new not in self.kept:
            if len(self.kept) >= KEPT:
                self.kept.clear()
            self.kept[new] = Inference(self._network(set(new)))
        return self.kept[new]

    def _network(self, new: set[int]) -> Network:
        tables, sizes = self.tables, self.tables.sizes
        states = [_places(size, j in new) for j, size in enumerate(sizes[: len(self.parts)])]
        label = str(len(self.parts))
        factors, parents = {}, {}
        for j, (arcs, of_class) in enumerate(zip(tables.arcs, self.of_class, strict=False)):
            table = self._table(j)[np.ix_(*(states[i] for i in (*arcs, j)), range(self._classes))]
            factors[str(j)] = np.ascontiguousarray(np.moveaxis(table, -1, 0) if of_class else table[..., 0])
            parents[str(j)] = (*((label,) if of_class else ()), *map(str, arcs))
        if self.class_parents:
            places = (*(states[i] for i in self.class_parents), [FRONT], range(self._classes))
            factors[label] = np.ascontiguousarray(self._table(len(self.parts))[np.ix_(*places)][..., 0, :])
        else:
            factors[label] = np.full(self._classes, 1 / self._classes)
        parents[label] = tuple(map(str, self.class_parents))
        levels = {node: Levels.of(range(factor.shape[-1])) for node, factor in factors.items()}
        shares = {n: Table(n, parents[n], f / f.sum(axis=-1, keepdims=True)) for n, f in factors.items()}
        return Factored(Graph(parents), levels, shares, factors)

    def _table(self, j: int) -> Float:
        """Probabilities of a table with its places in front: (parents + 2 ..., states + 2, K)."""
        tables = self.tables
        shape = [tables.sizes[i] + FRONT for i in (*tables.arcs[j], j)]
        return np.exp(tables.table[tables.offset[j] : tables.offset[j + 1]]).reshape(*shape, self._classes)

    def terms(self, block: Block, own: bool = False) -> Float:
        place = {name: j for j, name in enumerate(block.schema.names)}
        return revealed(self, block, self._classes, own)[:, [place[name] for name in self.parts]]


def _places(size: int, new: bool) -> list[int]:
    """Where the states of a column stand on an axis of its tables; the one never seen is the last."""
    return [*range(FRONT, FRONT + size), *([0] if new else [])] or [1]


def _apart(new: Bool) -> Iterator[tuple[Int, tuple[int, ...]]]:
    """The rows of each different set of columns."""
    labels, first = distinct(np.packbits(new, axis=0))
    for i, row in enumerate(first.tolist()):
        yield np.flatnonzero(labels == i), tuple(np.flatnonzero(new[:, row]).tolist())
