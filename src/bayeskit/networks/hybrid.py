"""HybridInference: exact answers of a network of levels and numbers, for all rows of a batch."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np

from bayeskit.arrays import Array, Code, Float, Int
from bayeskit.data.levels import Levels
from bayeskit.deferred import deferred
from bayeskit.errors import NetworkError
from bayeskit.networks.component import Cell, Component, find_components
from bayeskit.networks.contradiction import check_possible
from bayeskit.networks.graph import Graph
from bayeskit.networks.inference import Inference, distinct
from bayeskit.networks.mixture import Mixture
from bayeskit.networks.network import Network
from bayeskit.networks.table import Table

logsumexp = deferred("scipy.special", "logsumexp")

ENUMERATED = 1 << 12  # configurations of levels that are summed one by one, in logarithms
JOINED = 1 << 11  # configurations of one component that become the states of a node
AT_ONCE = 1 << 21  # numbers held for a piece of a batch
Scope = tuple[str, ...]


@dataclass(frozen=True)
class Evidence:
    """Rows that have the same numbers observed: what these say of the levels, as tables over some of them."""

    inference: HybridInference
    codes: Code  # (levels, rows)
    likelihoods: Mapping[str, Float]  # (states, rows) by level
    components: list[Component]
    cells: list[list[Cell]]  # by component

    @property
    def rows(self) -> int:
        return int(self.codes.shape[1])

    @cached_property
    def open(self) -> set[str]:
        """The levels that some row has not observed."""
        names = self.inference.levels.network.nodes
        return {n for n, yes in zip(names, np.asarray((self.codes < 0).any(axis=1)).tolist(), strict=True) if yes}

    def open_scope(self, component: Component) -> Scope:
        return tuple(n for n in component.scope if n in self.open)

    def position(self, component: Component, cell: Cell) -> int:
        """Of a configuration among those of the levels that are open."""
        levels = [
            (code, component.sizes[n]) for n, code in zip(component.scope, cell.codes, strict=True) if n in self.open
        ]
        return int(np.ravel_multi_index(tuple(c for c, _ in levels), tuple(s for _, s in levels))) if levels else 0

    @cached_property
    def tables(self) -> dict[Scope, Float]:
        """log p(observed numbers | levels) by scope: (rows, configurations of its open levels)."""
        found: dict[Scope, Float] = {}
        for component, cells in zip(self.components, self.cells, strict=True):
            if not component.seen:
                continue
            scope = self.open_scope(component)
            table = np.full((self.rows, prod(component.sizes[n] for n in scope)), -np.inf)
            for cell in cells:
                table[cell.rows, self.position(component, cell)] = cell.log_density
            found[scope] = found[scope] + table if scope in found else table
        return found

    def joint(self, targets: Sequence[str]) -> tuple[Float, Float]:
        """P(targets | all that is observed), (rows, states, ...), and log p of what is observed, (rows,)."""
        constant = self.tables.get((), np.zeros((self.rows, 1)))[:, 0]
        tables = {scope: table for scope, table in self.tables.items() if scope}
        levels = self.inference.levels
        if not tables:
            found, logs = levels.joint(self.codes, targets, self.likelihoods)
            return found, logs + constant
        rest = [n for n in levels.network.nodes if n not in targets and any(n in scope for scope in tables)]
        axes, sizes = [*targets, *rest], levels.network.sizes
        if prod(sizes[n] for n in axes) <= ENUMERATED:
            found, logs = self._enumerate(axes, len(targets), tables)
        else:
            found, logs = self._as_likelihoods(targets, tables)
        return found, logs + constant

    def _enumerate(self, axes: list[str], kept: int, tables: Mapping[Scope, Float]) -> tuple[Float, Float]:
        """By the sum over all configurations of the levels that numbers hang on, in logarithms."""
        levels = self.inference.levels
        shape = tuple(levels.network.sizes[n] for n in axes)
        out, logs = np.empty((self.rows, *shape[:kept])), np.empty(self.rows)
        step = max(AT_ONCE // prod(shape), 1)
        for begin in range(0, self.rows, step):
            part = slice(begin, begin + step)
            soft = {n: given[:, part] for n, given in self.likelihoods.items()}
            prior, before = levels.joint(np.ascontiguousarray(self.codes[:, part]), axes, soft)
            with np.errstate(divide="ignore"):
                terms = np.log(np.nan_to_num(prior))
            for scope, table in tables.items():
                mine = table[part].reshape(len(prior), *(levels.network.sizes[n] for n in scope))
                order = sorted(range(len(scope)), key=lambda i: axes.index(scope[i]))
                mine = mine.transpose(0, *(1 + i for i in order))
                wide = [s if n in scope else 1 for n, s in zip(axes, shape, strict=True)]
                terms = terms + mine.reshape(len(prior), *wide)
            if len(shape) > kept:
                terms = logsumexp(terms, axis=tuple(range(1 + kept, 1 + len(shape))))
            total = logsumexp(terms.reshape(len(terms), -1), axis=1)
            with np.errstate(invalid="ignore"):
                out[part] = np.exp(terms - total.reshape(-1, *(1,) * kept))
            logs[part] = total + before
        return out, logs

    def _as_likelihoods(self, targets: Sequence[str], tables: Mapping[Scope, Float]) -> tuple[Float, Float]:
        """By elimination: each scope is a node that has its configurations as states, with a likelihood for each."""
        joined = tuple(scope for scope in tables if len(scope) > 1)
        inference = self.inference.joined(joined)
        names = inference.network.nodes
        codes = np.full((len(names), self.rows), -1, dtype=np.int32)
        codes[: len(self.codes)] = self.codes
        likelihoods, logs = dict(self.likelihoods), np.zeros(self.rows)
        for scope, table in tables.items():
            top = table.max(axis=1)
            node = scope[0] if len(scope) == 1 else _name(scope)
            with np.errstate(invalid="ignore"):
                soft = np.nan_to_num(np.exp(table - top[:, None])).T
            likelihoods[node] = likelihoods[node] * soft if node in likelihoods else soft
            logs += top
        found, rest = inference.joint(codes, targets, likelihoods)
        lost = np.flatnonzero(np.isneginf(rest))
        if len(lost) and not np.isneginf(self.inference.levels.joint(self.codes[:, lost])[1]).all():
            raise NetworkError(
                f"the numbers of {len(lost)} rows contradict each other by more than a double can tell; look for wrong "
                f"values in them, or observe more levels"
            )
        return found, logs + rest


@dataclass(frozen=True)
class HybridInference:
    """Numbers are integrated out first, component by component, then levels are summed out.

    Codes are those of the levels, (levels, rows), -1 where not observed; numbers (numbers, rows), NaN where not.
    """

    network: Network
    memory: int | None = None  # bytes that messages between levels may take
    _joined: dict[tuple[Scope, ...], Inference] = field(default_factory=dict, repr=False)

    @cached_property
    def levels(self) -> Inference:
        """Of the levels alone, which have no numbers above them."""
        return Inference(self.network.level_part, self.memory)

    def joined(self, scopes: tuple[Scope, ...]) -> Inference:
        """Of the levels, with a node for each scope, whose states are the configurations of its levels."""
        if scopes not in self._joined:
            base = self.levels.network
            graph = Graph({**base.graph.parents, **{_name(scope): scope for scope in scopes}})
            levels, tables = dict(base.levels), dict(base.tables)
            for scope in scopes:
                shape = tuple(base.sizes[n] for n in scope)
                if prod(shape) > JOINED:
                    raise NetworkError(
                        f"numbers depend on {prod(shape):.3g} configurations of the levels {', '.join(scope[:5])}, "
                        f"more than {JOINED}; observe some of them, or take arcs away"
                    )
                levels[_name(scope)] = Levels.of(range(prod(shape)))
                tables[_name(scope)] = Table(_name(scope), scope, np.eye(prod(shape)).reshape(*shape, -1))
            self._joined[scopes] = Inference(Network(graph, levels, tables), self.memory)
        return self._joined[scopes]

    def evidence(
        self,
        codes: Code,
        numbers: Float,
        asked: Collection[str] = (),
        likelihoods: Mapping[str, Float] | None = None,
    ) -> Iterator[tuple[Int, Evidence]]:
        """Rows that have the same numbers observed, in pieces; ``asked`` are numbers that are to be kept."""
        names, sizes = self.network.numbers, self.levels.network.sizes
        there = ~np.isnan(numbers)
        labels, first = distinct(np.packbits(there, axis=0)) if len(names) else _one(codes.shape[1])
        order = np.argsort(labels, kind="stable")
        ends = np.searchsorted(labels[order], np.arange(len(first) + 1))
        for i, row in enumerate(first.tolist()):
            mine = order[ends[i] : ends[i + 1]]
            observed = [n for n, yes in zip(names, there[:, row].tolist(), strict=True) if yes]
            parts = find_components(self.network.graph, self.network.normals, sizes, observed, asked)
            held = sum(prod(part.shape) * (len(part.hidden) + 1) for part in parts)
            step = int(np.clip(AT_ONCE // max(held, 1), 1, 1 << 16))
            for begin in range(0, len(mine), step):
                places = mine[begin : begin + step]
                rows_of = np.ascontiguousarray(codes[:, places])
                states = dict(zip(sizes, rows_of, strict=True))
                values = {n: numbers[j, places] for j, n in enumerate(names) if n in observed}
                cells = [list(part.cells(states, values, len(places))) for part in parts]
                soft = {n: np.ascontiguousarray(given[:, places]) for n, given in (likelihoods or {}).items()}
                yield places, Evidence(self, rows_of, soft, parts, cells)

    def joint(
        self,
        codes: Code,
        targets: Sequence[str] = (),
        likelihoods: Mapping[str, Float] | None = None,
        numbers: Float | None = None,
    ) -> tuple[Float, Float]:
        """P(levels asked for | evidence), (rows, states, ...), and log p(evidence), (rows,); as ``Inference.joint``."""
        if numbers is None or not len(numbers):
            return self.levels.joint(codes, targets, likelihoods)
        shape = tuple(self.levels.network.sizes[t] for t in targets)
        out, logs = np.empty((codes.shape[1], *shape)), np.empty(codes.shape[1])
        for places, evidence in self.evidence(codes, numbers, (), likelihoods):
            out[places], logs[places] = evidence.joint(targets)
        return out, logs

    def mixture(
        self, codes: Code, numbers: Float, target: str, likelihoods: Mapping[str, Float] | None = None
    ) -> Mixture:
        """p(number | evidence) of every row: a normal for each configuration of the levels it hangs on."""
        place, rows = self.network.numbers.index(target), codes.shape[1]
        parts = []
        for places, evidence in self.evidence(codes, numbers, [target], likelihoods):
            check_possible(evidence.joint(())[1], self.levels, evidence.codes, evidence.likelihoods)
            at = next(i for i, part in enumerate(evidence.components) if target in part.nodes)
            component = evidence.components[at]
            if target in component.hidden:
                mine = component.hidden.index(target)
                weight = evidence.joint(evidence.open_scope(component))[0].reshape(len(places), -1)
                mean, deviation = np.zeros(weight.shape), np.zeros(weight.shape)
                for cell in evidence.cells[at]:
                    to = evidence.position(component, cell)
                    mean[cell.rows, to] = cell.mean[:, mine]
                    deviation[cell.rows, to] = np.sqrt(max(cell.covariance[mine, mine], 0.0))
            else:
                mean = numbers[place, places][:, None]
                weight, deviation = np.ones(mean.shape), np.zeros(mean.shape)
            parts.append((places, weight, mean, deviation))
        width = max((weight.shape[1] for _, weight, _, _ in parts), default=1)
        found = np.zeros((3, rows, width))
        for places, *arrays in parts:
            for out, array in zip(found, arrays, strict=True):
                out[places, : array.shape[1]] = array
        return Mixture(*found)

    def draw(self, codes: Code, numbers: Float, rng: np.random.Generator) -> tuple[Code, Float]:
        """States and numbers of all nodes drawn from p(all | observed), one draw for each row."""
        codes, numbers = codes.copy(), numbers.copy()
        if len(numbers) and not np.isnan(numbers).all():
            for places, evidence in self.evidence(codes, numbers):
                open_ = {n for scope in evidence.tables for n in scope}
                mine = [n for n in self.levels.network.nodes if n in open_]
                for scope in [mine] if self._few(mine) else [[n] for n in mine]:
                    given = codes[:, places]
                    found, logs = self.joint(given, scope, None, numbers[:, places]) if scope else (None, None)
                    if found is None or logs is None:
                        continue
                    check_possible(logs, self.levels, given)
                    chosen = _pick(found.reshape(len(places), -1), rng)
                    for n, code in zip(scope, np.unravel_index(chosen, found.shape[1:]), strict=True):
                        codes[self.levels.network.nodes.index(n), places] = code
        if len(codes):
            codes = self.levels.draw(codes, rng)
        for places, evidence in self.evidence(codes, numbers, self.network.numbers):
            for component, cells in zip(evidence.components, evidence.cells, strict=True):
                to = np.array([self.network.numbers.index(n) for n in component.hidden], dtype=np.int64)
                for cell in cells if len(to) else ():
                    values, vectors = np.linalg.eigh(cell.covariance)
                    root = vectors * np.sqrt(np.maximum(values, 0.0))
                    noise = rng.standard_normal((len(cell.rows), len(to))) @ root.T
                    numbers[np.ix_(to, places[cell.rows])] = (cell.mean + noise).T
        return codes, numbers

    def _few(self, scope: Sequence[str]) -> bool:
        return prod(self.levels.network.sizes[n] for n in scope) <= ENUMERATED


def _one(rows: int) -> tuple[Int, Int]:
    """Labels and first rows where all rows are alike."""
    return np.zeros(rows, dtype=np.int64), np.zeros(min(rows, 1), dtype=np.int64)


def _name(scope: Scope) -> str:
    """Of the node that stands for the configurations of several levels; no column has it."""
    return "\0".join(("", *scope))


def _pick(probabilities: Float, rng: np.random.Generator) -> Array:
    """One state for each row, drawn by its probabilities."""
    ladder = np.cumsum(probabilities, axis=1)
    drawn = (rng.random(len(ladder))[:, None] * ladder[:, -1:] >= ladder).sum(axis=1)
    return np.asarray(np.minimum(drawn, ladder.shape[1] - 1))
