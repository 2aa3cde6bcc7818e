"""Inference: exact answers of a network for all rows of a batch."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import heappop, heappush
from itertools import count
from math import prod

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Array, Bool, Code, Float, Int
from bayeskit.data.hash_split import ODD
from bayeskit.errors import NetworkError
from bayeskit.networks.compiler import MOST_WORK, TooWide, compile_plan
from bayeskit.networks.contradiction import check_possible
from bayeskit.networks.network import Network
from bayeskit.networks.plan import Numbered, Pattern, Plan, eliminate
from bayeskit.numerics.special import LOG_2

PLANS = 512  # kept in the cache
COMPILING = 40_000  # what compiling costs for every node, counted in products of one row
FEW_NODES = 128
SAMPLE = 512
ORDERING = 400  # what an order for one row costs for every node, in the same units
MOST_OF_ROW = 1e6  # products of a row that has an order of its own
TRIED = 12  # nodes of which one is given its states


@dataclass(frozen=True)
class Inference:
    """Answers from codes (nodes, rows), -1 where nothing was observed; plans are kept from call to call."""

    network: Network
    memory: int | None = None  # bytes that the messages of a plan may take; the free memory, up to 1 GiB, if None
    plans: OrderedDict[Pattern, Plan] = field(default_factory=OrderedDict, repr=False)
    splits: dict[Pattern, tuple[float, int, TooWide]] = field(default_factory=dict, repr=False)  # of those too wide

    @cached_property
    def numbered(self) -> Numbered:
        return Numbered(self.network)

    def plan(self, pattern: Pattern) -> Plan:
        """The plan of a pattern of evidence, compiled once."""
        found = self.plans.pop(pattern, None) or compile_plan(self.numbered, pattern, self.memory)
        self.plans[pattern] = found
        if len(self.plans) > PLANS:
            self.plans.popitem(last=False)
        return found

    def joint(
        self, codes: Code, targets: Sequence[str] = (), likelihoods: Mapping[str, Float] | None = None
    ) -> tuple[Float, Float]:
        """P(targets | evidence), (rows, states of the first target, ...), and log P(evidence), (rows,).

        ``likelihoods`` has soft evidence, (states, rows) by node. Where the evidence is impossible, log P is -inf and
        the probabilities are NaN.
        """
        sizes = self.numbered.sizes
        if not sizes:  # a network of numbers alone
            return np.ones(codes.shape[1]), np.zeros(codes.shape[1])
        which = tuple(self.numbered.number[self.network.graph.check(t)] for t in targets)
        if not likelihoods and _repeats(codes):
            labels, first = distinct(codes)
            if len(first) < len(labels):
                few, logs = self.joint(np.ascontiguousarray(codes[:, first]), targets)
                return few[labels], logs[labels]
        if len(set(which)) < len(which):
            raise NetworkError(f"a node is asked for twice: {', '.join(targets)}")
        shape = tuple(sizes[v] for v in which)
        if not likelihoods and self._differ(codes, which):
            found, log_evidence, wide = self._by_row(codes, which)
            out = found.reshape(-1, *shape)
            if len(wide):
                out[wide], log_evidence[wide] = self._by_plan(np.ascontiguousarray(codes[:, wide]), which, {})
            return out, log_evidence
        return self._by_plan(codes, which, {self.numbered.number[n]: given for n, given in (likelihoods or {}).items()})

    def _differ(self, codes: Code, which: tuple[int, ...]) -> bool:
        """Whether an order for each row costs less than a plan for each pattern, or one for all of them."""
        nodes, rows = len(codes), codes.shape[1]
        if (nodes <= FEW_NODES and rows == 1) or not rows:
            return False
        seen = np.packbits(codes[:, :SAMPLE] >= 0, axis=0)
        if _different(seen) * COMPILING < min(rows, SAMPLE) * ORDERING:
            return False
        if nodes > FEW_NODES:
            return True
        anything = Pattern(mixed=frozenset(range(nodes)) - set(which), targets=which)
        try:
            return self.plan(anything).elimination.work > ORDERING * nodes
        except TooWide:
            return True

    def _by_row(self, codes: Code, which: tuple[int, ...]) -> tuple[Float, Float, Int]:
        """The same by an order for each row, and which rows leave so much open that they are not answered."""
        rows = np.ascontiguousarray(codes.T)
        out = np.empty((len(rows), prod(self.numbered.sizes[v] for v in which)))
        log_evidence, state = np.empty(len(rows)), np.empty(len(rows), dtype=np.int32)
        targets = np.array(which, dtype=np.int32)
        _core.eliminate_rows(rows, *self.numbered.arrays, targets, MOST_OF_ROW, out, log_evidence, state)
        return out, log_evidence, np.flatnonzero(state)

    def _by_plan(
        self, codes: Code, which: tuple[int, ...], likely: Mapping[int, Float], times: float = 1.0
    ) -> tuple[Float, Float]:
        """The same by plans that rows share; where one is too wide, given each state of a node in turn.

        ``times`` is how many states were given already.
        """
        shape = tuple(self.numbered.sizes[v] for v in which)
        out, log_evidence = np.empty((codes.shape[1], *shape)), np.empty(codes.shape[1])
        scale, stacked = _scale([likely[v] for v in sorted(likely)])
        places: Int | slice
        for places, pattern in self._groups(codes, which, tuple(sorted(likely))):
            mine = np.ascontiguousarray(codes[:, places])
            extra = None if stacked is None else np.ascontiguousarray(stacked[:, places])
            plan = self._plan_or_split(pattern, times)
            if isinstance(plan, int):
                soft = {v: np.ascontiguousarray(given[:, places]) for v, given in likely.items()}
                found, log_evidence[places] = self._given_states(mine, pattern, soft, (plan, times))
                out[places] = found
                continue
            found, exponent = plan.run(mine, extra)
            total = found.sum(axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                out[places] = (found / total).T.reshape(-1, *shape)
                log_evidence[places] = np.log(total) + exponent * LOG_2 + _part(scale, places)
        return out, log_evidence

    def _plan_or_split(self, pattern: Pattern, times: float) -> Plan | int:
        """The plan of a pattern, or, where that is too wide, the node whose states are to be given in turn.

        It is the one without which the others are narrowest. Refused where all states together take for ever.
        """
        if pattern not in self.splits:
            try:
                return self.plan(pattern)
            except TooWide as wide:
                near, sizes = self.numbered.near(pattern), self.numbered.sizes
                kept = {*pattern.targets, *pattern.likelihoods}
                heaviest = sorted(near, key=lambda v: -len(near[v]) * np.log2(sizes[v]))
                tried = [v for v in heaviest if v not in kept][:TRIED]

                def without(v: int) -> float:
                    rest = {u: others - {v} for u, others in near.items() if u != v}
                    return sizes[v] * eliminate(rest, sizes, pattern.targets).work

                self.splits[pattern] = *min(((without(v), v) for v in tried), default=(np.inf, -1)), wide
        work, node, refusal = self.splits[pattern]
        if times * work > MOST_WORK:
            raise refusal
        return node

    def _given_states(
        self, codes: Code, pattern: Pattern, likely: Mapping[int, Float], split: tuple[int, float]
    ) -> tuple[Float, Float]:
        """P(targets | evidence) as the mean of what each state of one node leaves, by P(state | evidence).

        What is left may be split again (cutset conditioning): memory no longer grows with the width, the time does.
        """
        node, states = split[0], self.numbered.sizes[split[0]]
        parts = []
        for state in range(states):
            given = codes.copy()
            given[node] = state
            out, log = self._by_plan(given, pattern.targets, likely, split[1] * states)
            parts.append((out, np.where((codes[node] < 0) | (codes[node] == state), log, -np.inf)))
        logs = np.array([log for _, log in parts])
        total = np.logaddexp.reduce(logs, axis=0)
        with np.errstate(invalid="ignore"):
            share = np.exp(logs - total)  # NaN where no state is possible
        out = np.zeros_like(parts[0][0])
        for weight, (answer, _) in zip(share, parts, strict=True):
            mass = weight.reshape(-1, *(1,) * (answer.ndim - 1))
            out += np.where(mass == 0, 0.0, mass * answer)
        return out, total

    def marginals(self, codes: Code) -> dict[str, Float]:
        """P(node | evidence) of every node at once, (rows, states) each: a pass forward and one back.

        P(x = k | evidence) = l_k * d log P / d l_k, with l_k = 1 the likelihood of state k.
        """
        names, sizes = self.network.nodes, self.numbered.sizes
        out = {node: np.zeros((codes.shape[1], size)) for node, size in zip(names, sizes, strict=True)}
        for places, pattern in self._groups(codes, (), (), tuple(range(len(codes))), folded=False):
            mine = np.ascontiguousarray(codes[:, places])
            plan = self.plan(pattern)
            belief = np.empty((sum(sizes[v] for v in plan.indicators), mine.shape[1]))
            found = plan.believe(mine, belief)
            with np.errstate(divide="ignore"):
                logs = np.log(found[0])
            check_possible(logs, self, mine)
            for v, node in enumerate(names):
                if v in plan.indicators:
                    begin = plan.indicators[v]
                    out[node][places] = belief[begin : begin + sizes[v]].T
                else:
                    out[node][places] = np.eye(sizes[v])[mine[v]]
        return out

    def most_probable(self, codes: Code) -> tuple[Code, Float]:
        """The most probable states of all nodes given what is observed, and log P of them with it."""
        found, log_p = self._trace(codes, True, 0)
        check_possible(log_p, self, codes)
        return found, log_p

    def rank_states(self, codes: Code, k: int) -> tuple[Code, Float]:
        """The k most probable states of all nodes given one row, (nodes, at most k), and log P of each with it.

        What is left once the best is taken falls into parts: the best up to a node, and another state there. The best
        of each part is known at once, and the next of all is the best of the parts (Lawler 1972, Nilsson 1998).
        """
        best, log_p = self.most_probable(codes)
        number = count()
        parts = [
            (-float(log_p[0]), next(number), best[:, 0], 0)
        ]  # log P, an order among equals, states, nodes held fixed
        found: list[tuple[float, Code]] = []
        while parts and len(found) < k:
            log, _, states, held = heappop(parts)
            found.append((-log, states))
            rows = []
            for v in range(held, len(states)):
                for other in range(self.numbered.sizes[v]) if codes[v, 0] < 0 else ():
                    if other != states[v]:
                        row = codes[:, 0].copy()
                        row[:v], row[v] = states[:v], other
                        rows.append((v + 1, row))
            if rows and len(found) < k:
                asked = np.ascontiguousarray(np.array([row for _, row in rows], dtype=codes.dtype).T)
                chosen, logs = self._trace(asked, True, 0)
                for i, (held, _) in enumerate(rows):
                    if not np.isneginf(logs[i]):
                        heappush(parts, (-float(logs[i]), next(number), chosen[:, i].copy(), held))
        return np.array([states for _, states in found]).T, np.array([log for log, _ in found])

    def draw(self, codes: Code, rng: np.random.Generator) -> Code:
        """States of all nodes drawn from P(all | observed), one draw for each row."""
        found, log_p = self._trace(codes, False, int(rng.integers(2**63)))
        check_possible(log_p, self, codes)
        return found

    def _trace(self, codes: Code, largest: bool, seed: int) -> tuple[Code, Float]:
        chosen, log_p = codes.copy(), np.empty(codes.shape[1])
        every = tuple(range(len(codes)))
        for places, pattern in self._groups(codes, (), (), every, folded=False):
            mine = np.ascontiguousarray(codes[:, places])
            states, found, exponent = self.plan(pattern).trace(mine, largest, seed)
            with np.errstate(divide="ignore"):
                log_p[places] = np.log(found[0]) + exponent * LOG_2
            chosen[:, places] = states
            seed = (seed + int(ODD)) % 2**64  # other numbers for other rows
        return chosen, log_p

    def expect_counts(self, codes: Code, weights: Float | None, tables: Float | None = None) -> tuple[Float, Float]:
        """Expected counts of the cells of all tables one after the other, and log P(evidence) of each row.

        N(cell) = sum over rows of weight * P(cell | row): the E-step. ``tables`` replaces the network's own.
        """
        counts, log_evidence = np.zeros(len(self.numbered.tables)), np.empty(codes.shape[1])
        every = tuple(range(len(codes)))
        for places, pattern in self._groups(codes, (), (), every, folded=False):
            mine = np.ascontiguousarray(codes[:, places])
            masses = None if weights is None else np.ascontiguousarray(weights[places])
            found, exponent = self.plan(pattern).count(mine, counts, masses, tables)
            with np.errstate(divide="ignore"):
                log_evidence[places] = np.log(found[0]) + exponent * LOG_2
        return counts, log_evidence

    def _groups(
        self,
        codes: Code,
        targets: tuple[int, ...],
        likelihoods: tuple[int, ...] = (),
        hidden: tuple[int, ...] = (),
        folded: bool = True,
    ) -> Iterator[tuple[Int | slice, Pattern]]:
        """Rows that share a plan: one plan that takes every pattern of missing values, or one for each pattern.

        A plan for one pattern is cheaper to run and must be compiled; which is better is estimated. ``hidden`` nodes
        stay in the plan even if nothing depends on them.
        """
        seen = codes >= 0
        always: Bool = np.asarray(seen.all(axis=1))
        mixed: Bool = ~always & np.asarray(seen.any(axis=1))
        if not codes.shape[1]:
            return
        if not mixed.any():
            pattern = self._pattern(always, mixed, targets, likelihoods, hidden, folded)
            yield slice(None), self._thrifty(pattern, codes.shape[1])
            return
        shared = self._pattern(always, mixed, targets, likelihoods, hidden, folded)
        try:
            together = self.plan(shared).elimination.work * codes.shape[1]
        except NetworkError:
            together = float(MOST_WORK) * codes.shape[1]  # too wide unless what is observed cuts it
        compiling = COMPILING * len(codes)
        patterns = np.packbits(seen[mixed], axis=0)
        few = distinct(patterns[:, :SAMPLE])[1]  # enough to see, most of the time
        labels, first = (few, few) if len(few) * compiling > together else distinct(patterns)
        if len(first) * compiling > together:
            yield slice(None), shared
            return
        none = np.zeros_like(mixed)
        order = np.argsort(labels, kind="stable")
        ends = np.searchsorted(labels[order], np.arange(len(first) + 1))
        for i, row in enumerate(first.tolist()):
            places = order[ends[i] : ends[i + 1]]
            yield places, self._pattern(seen[:, row], none, targets, likelihoods, hidden, folded)

    def _thrifty(self, pattern: Pattern, rows: int) -> Pattern:
        """For few rows, the pattern that takes any evidence: its plan serves the next question too."""
        nodes = len(self.numbered.sizes)
        if pattern in self.plans or nodes > FEW_NODES:
            return pattern
        anything = replace(pattern, observed=frozenset(), mixed=frozenset(range(nodes)))
        try:
            work = self.plan(anything).elimination.work
        except NetworkError:
            return pattern
        return anything if work * rows <= COMPILING * nodes else pattern

    def _pattern(
        self,
        always: Bool,
        mixed: Bool,
        targets: tuple[int, ...],
        likelihoods: tuple[int, ...],
        hidden: tuple[int, ...],
        folded: bool,
    ) -> Pattern:
        """A target that is observed stays open, with the likelihood of what was observed."""
        observed = frozenset(np.flatnonzero(always).tolist()) - set(targets) - set(likelihoods)
        soft = frozenset(np.flatnonzero(mixed).tolist())
        soft |= {v for v in (*targets, *likelihoods) if always[v]}
        return Pattern(observed, soft | (set(hidden) - observed), targets, likelihoods, folded)


def _scale(likelihoods: Sequence[Float]) -> tuple[Float | float, Float | None]:
    """Likelihoods one under the other with the largest of each row and node one, and the logarithm taken out."""
    if not likelihoods:
        return 0.0, None
    taken: Float | float = 0.0
    parts = []
    for given in likelihoods:
        top = given.max(axis=0)
        parts.append(given / np.where(top > 0, top, 1.0))
        with np.errstate(divide="ignore"):
            taken = taken + np.log(top)
    return taken, np.concatenate(parts)


def _part(scale: Float | float, places: Int | slice) -> Float | float:
    return scale if isinstance(scale, float) else scale[places]


def _repeats(codes: Code) -> bool:
    """Whether rows seem to come again often enough to look for them."""
    rows = codes.shape[1]
    return rows > SAMPLE and _different(codes[:, :SAMPLE]) < SAMPLE / 2


def _different(columns: Array) -> int:
    """How many of a few columns are distinct, which costs less than to say which."""
    return len({column.tobytes() for column in np.ascontiguousarray(columns.T)})


def distinct(columns: Array) -> tuple[Int, Int]:
    """For every column which of the distinct columns it is, and where each of these stands first.

    >>> labels, first = distinct(np.array([[1, 0, 1], [2, 2, 2]]))
    >>> labels.tolist(), first.tolist()
    ([1, 0, 1], [1, 0])
    """
    rows = np.ascontiguousarray(columns.T)
    whole: Array = rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize))).ravel()
    _, first, labels = np.unique(whole, return_index=True, return_inverse=True)
    return labels.reshape(-1).astype(np.int64), first.astype(np.int64)
