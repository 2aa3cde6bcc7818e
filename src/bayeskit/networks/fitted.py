"""Fitted: a network, the statistic or distinct rows it was learned from, and how; learning gives a new one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from bayeskit.arrays import Code, Float
from bayeskit.data.levels import Levels
from bayeskit.data.schema import Schema
from bayeskit.errors import ForgetError, InputError, warn
from bayeskit.networks.graph import Graph
from bayeskit.networks.hybrid import HybridInference
from bayeskit.networks.hybrid_learning import HybridLearning, independent_normal
from bayeskit.networks.inference import distinct
from bayeskit.networks.learning import METHODS, Learned, Learning, pseudo_counts, tables_from_counts
from bayeskit.networks.linear import Linear, NumberNode, linear_from_counts, linear_statistic, split_parents
from bayeskit.networks.network import Network
from bayeskit.networks.state_order import hidden_nodes, order_states
from bayeskit.networks.table import Table, cells_of
from bayeskit.numerics.cut_points import intervals
from bayeskit.statistics.complete import Complete
from bayeskit.statistics.counted import Counted
from bayeskit.statistics.exact import ExactSum
from bayeskit.statistics.sliced import LEVELS, Sliced, Slices
from bayeskit.statistics.statistic import Product, Statistic
from bayeskit.statistics.tables import Tables

MOST_KEPT = 1 << 18


@dataclass(frozen=True)
class DistinctRows:
    """Distinct rows of codes and numbers, sorted, and their weights, added without rounding: the same in any order.

    >>> levels = {"a": Levels.of("xy")}
    >>> rows = DistinctRows.of(levels, np.array([[0, 1, 0, -1]], dtype=np.int32), np.ones(4))
    >>> rows.weights.tolist(), rows.subtract(rows).weights.tolist()
    ([2.0, 1.0, 1.0], [])
    """

    levels: Mapping[str, Levels]
    codes: Code  # (nodes, rows): -1 where not observed
    mass: ExactSum  # (rows,) above 0
    numbers: Float  # (number nodes, rows): NaN where not observed
    names: tuple[str, ...] = ()  # of the nodes that are numbers

    @classmethod
    def of(
        cls,
        levels: Mapping[str, Levels],
        codes: Code,
        weights: Float,
        numbers: Float | None = None,
        names: tuple[str, ...] = (),
    ) -> DistinctRows:
        held = np.empty((0, codes.shape[1])) if numbers is None else numbers
        return cls.join(levels, codes, ExactSum.of(weights), held, names)

    @classmethod
    def join(
        cls, levels: Mapping[str, Levels], codes: Code, mass: ExactSum, numbers: Float, names: tuple[str, ...]
    ) -> DistinctRows:
        """Equal rows once, those without weight left out."""
        plain = np.where(np.isnan(numbers), np.nan, numbers + 0.0)  # one way to write 0, and missing
        labels, first = distinct(np.vstack([codes.astype(np.int64), plain.view(np.int64)]) if len(plain) else codes)
        total = mass.place(labels, len(first))
        kept = np.flatnonzero(total.nonzero())
        held = np.ascontiguousarray(codes[:, first[kept]])
        return cls(
            levels, held, ExactSum(total.limbs[kept], total.low), np.ascontiguousarray(plain[:, first[kept]]), names
        )

    @cached_property
    def weights(self) -> Float:
        """Each rounded once: (rows,)."""
        return self.mass.to_float()

    @property
    def kept(self) -> bool:
        """Whether they are few enough to be kept for learning more and forgetting."""
        return len(self.weights) <= MOST_KEPT

    def on(self, levels: Mapping[str, Levels]) -> DistinctRows:
        """The same rows in the codes of other levels, which must have all of these."""
        moved = np.empty_like(self.codes)
        for j, (name, mine) in enumerate(self.levels.items()):
            table = np.append(mine.codes_in(levels[name]), -1).astype(np.int32)
            moved[j] = table[self.codes[j]]
        return DistinctRows.join(levels, moved, self.mass, self.numbers, self.names)

    def merge(self, other: DistinctRows) -> DistinctRows:
        """The rows of both tables, with the levels of both."""
        levels = {name: mine.union(other.levels[name]) for name, mine in self.levels.items()}
        ordered = {name: known.ordered for name, known in levels.items()}
        levels = {name: levels[name] if levels[name] == self.levels[name] else known for name, known in ordered.items()}
        one, two = self.on(levels), other.on(levels)
        return one._beside(two, two.mass)

    def subtract(self, other: DistinctRows, declared: Collection[str] = ()) -> DistinctRows:
        """Without the other's rows; refused where they cannot have been learned.

        A level goes with its last row, unless the states of its node were declared.
        """
        for name, theirs in other.levels.items():
            for key in theirs.keys:
                if key not in self.levels[name].index:
                    raise ForgetError(f"column {name!r} has the value {key[1]!r}, which was never learned")
        gone = other.on(self.levels)
        less = ExactSum.zeros(gone.mass.shape) - gone.mass
        rest = self._beside(gone, less)
        if rest.mass.negative().any():
            raise ForgetError("these rows cannot have been learned: one of them was never seen, or not so often")
        before, after = self._occupied, rest._occupied
        return rest.on(
            {
                name: known
                if name in declared
                else Levels(tuple(k for k, c in known.index.items() if c in after[name] or c not in before[name]))
                for name, known in self.levels.items()
            }
        )

    def independent(self, graph: Graph, sizes: Mapping[str, int]) -> dict[str, Linear]:
        """The numbers as they are by themselves: where EM begins."""
        found = {}
        for name, values in zip(self.names, self.numbers, strict=True):
            levels, numbers = split_parents(graph.parents[name], sizes)
            shape = cells_of(name, sizes, levels)
            if not (~np.isnan(values)).any():
                raise InputError(f"the number {name!r} has no value in any row; leave its column out")
            found[name] = independent_normal(name, levels, numbers, shape, values, self.weights)
        return found

    def _beside(self, other: DistinctRows, mass: ExactSum) -> DistinctRows:
        """With the rows of another of the same levels, of other weights."""
        codes, numbers = np.hstack([self.codes, other.codes]), np.hstack([self.numbers, other.numbers])
        return DistinctRows.join(self.levels, codes, _after(self.mass, mass), numbers, self.names)

    @property
    def _occupied(self) -> dict[str, set[int]]:
        """The codes that rows have, by node."""
        return {name: set(np.unique(codes).tolist()) for name, codes in zip(self.levels, self.codes, strict=True)}


def _after(one: ExactSum, two: ExactSum) -> ExactSum:
    """Sums one after the other: (n + m,) of (n,) and (m,)."""
    low, high = min(one.low, two.low), max(one.high, two.high)
    return ExactSum(np.concatenate([each.widen(low, high).limbs for each in (one, two)]), low)


COUNTS, EM = "counts", "em"
CUT = "cut"  # the counts of a network in which numbers are cut
NUMBERS = "numbers"  # the products of numbers
RESTARTS = 5  # where a node is hidden and nothing says how to begin


@dataclass(frozen=True)
class Recipe:
    """How tables are learned, so that more rows are learned the same way."""

    method: str = COUNTS
    smoothing: Any = 1.0
    ess: float = 1.0
    restarts: int | None = None
    random_state: Any = 0
    tolerance: float = 1e-8
    iterations: int = 1000

    def __post_init__(self) -> None:
        if self.method not in (COUNTS, *METHODS):
            raise InputError(f"method={self.method!r}: choose {', '.join((COUNTS, *METHODS))}")
        seed = self.random_state
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0):
            raise InputError(f"random_state={seed!r}: give a whole number of at least 0, or None")
        if self.restarts is not None and self.restarts < 1:
            raise InputError(f"restarts={self.restarts!r}: choose at least 1")
        if not self.tolerance >= 0 or not self.iterations >= 1:
            raise InputError(f"tolerance={self.tolerance!r}, iterations={self.iterations!r}: at least 0 and 1")


def family_counts(
    graph: Graph, schema: Schema, cuts: Mapping[str, tuple[float, ...]], families: bool = True
) -> Callable[[int], Product]:
    """What to count: rows, states of every column and, on demand, every node with its parents.

    Numbers with cuts are counted by the intervals between them, others by the products of a family.
    """
    coded = [c for c in schema.columns if not c.numeric or c.name in cuts]
    levels = {c.name: c for c in coded}
    nodes = [(name,) for name in levels]
    tables = [graph.family(name) for name in levels if graph.parents[name]] if families else []

    def statistic(groups: int) -> Product:
        parts: dict[str, Statistic] = {"classes": Tables.empty([()], groups)}
        if any(name in levels for name in cuts):
            parts[CUT] = Sliced.empty(Slices.of(coded, cuts), {LEVELS: nodes, "families": tables}, groups)
        else:
            parts |= {"nodes": Tables.empty(nodes, groups), "families": Tables.empty(tables, groups)}
        if numbers := [name for name in graph.nodes if name in schema.names and name not in levels]:
            every = {
                (name,): linear_statistic(name, *split_parents(graph.parents[name] if families else (), levels), groups)
                for name in numbers
            }
            parts[NUMBERS] = Product(every, groups)
        return Product(parts, groups)

    return statistic


def counted_tables(statistic: Product) -> tuple[Tables, Tables]:
    """The counts of the nodes alone, and of the nodes that have parents with them."""
    if CUT in statistic.parts:
        sliced = statistic.part(CUT, Sliced)
        return sliced.levels, sliced["families"]
    return statistic.part("nodes", Tables), statistic.part("families", Tables)


@dataclass(frozen=True)
class Fitted:
    """Tables that were given have no statistic; counted ones have counts; those of EM the distinct rows, if few."""

    network: Network
    recipe: Recipe = Recipe()
    counted: Counted | None = None
    rows: DistinctRows | None = None
    learned: Learned | None = None
    _inferences: dict[int | None, HybridInference] = field(default_factory=dict, init=False, repr=False, compare=False)

    def inference(self, memory: int | None = None) -> HybridInference:
        """What answers exactly, in messages of so many bytes; kept with its plans."""
        if memory not in self._inferences:
            self._inferences[memory] = HybridInference(self.network, memory)
        return self._inferences[memory]

    @property
    def given(self) -> bool:
        """Whether the tables were given, not learned."""
        return self.counted is None and self.learned is None and self.rows is None

    @classmethod
    def from_counts(
        cls, graph: Graph, counted: Counted, recipe: Recipe, cuts: Mapping[str, tuple[float, ...]]
    ) -> Fitted:
        names = set(counted.schema.names)
        if lacking := [node for node in graph.nodes if node not in names]:
            raise InputError(f'node {lacking[0]!r} has no column to count; fit(..., method="em") learns a hidden node')
        if not counted.weight > 0:
            raise InputError("forgetting these rows would leave nothing; drop the network instead")
        counts: dict[str, Float] = {}
        for tables in counted_tables(counted.statistic):
            counts |= {family[-1]: tables.table(t).to_float()[0] for t, family in enumerate(tables.tables)}
        known = interval_levels(cuts)
        every = counted.statistic.part(NUMBERS, Product) if NUMBERS in counted.statistic.parts else Product({}, 1)
        coded = [node for node in graph.nodes if (node,) not in every.parts]
        levels = {node: known.get(node) or counted.domain.levels[node] for node in coded}
        _check_states(levels)
        found = tables_from_counts(counts, recipe.smoothing, recipe.ess)
        normals = {}
        for (node,), part in every.parts.items():
            assert isinstance(part, Complete)
            number = NumberNode(node, *split_parents(graph.parents[node], levels), levels)
            normals[node] = linear_from_counts(number, part, pseudo_counts(number.shape, recipe.smoothing, recipe.ess))
        return cls(_network(graph, levels, found, cuts, normals), recipe, counted)

    @classmethod
    def from_rows(
        cls,
        graph: Graph,
        rows: DistinctRows,
        recipe: Recipe,
        begin: Network | None,
        cuts: Mapping[str, tuple[float, ...]],
    ) -> Fitted:
        """By EM or gradient, from the tables of ``begin`` where they fit: hidden states then keep their sense."""
        if not len(rows.weights):
            raise InputError("no row with a weight is left to learn from")
        _check_states(rows.levels)
        if rows.names and recipe.method != EM:
            raise InputError(
                f'method={recipe.method!r} is for levels alone, and {rows.names[0]!r} is a number; choose "{EM}"'
            )
        sizes = {node: len(states) for node, states in rows.levels.items()}
        restarts = recipe.restarts or 1
        unseen: tuple[str, ...] = ()
        if begin is None or dict(begin.levels) != dict(rows.levels):
            shapes = {node: cells_of(node, sizes, graph.family(node)) for node in sizes}
            uniform = {n: np.full(s, 1 / s[-1]) for n, s in shapes.items()}
            begin = _network(graph, rows.levels, uniform, cuts, rows.independent(graph, sizes))
            unseen = hidden_nodes(begin, rows.codes)
            restarts = recipe.restarts or (RESTARTS if unseen else 1)
        rng = np.random.default_rng(recipe.random_state)
        if rows.names:
            mixed = HybridLearning(begin, rows.codes, rows.numbers, rows.weights, recipe.smoothing, recipe.ess)
            learned = mixed.learn(restarts, rng, recipe.tolerance, recipe.iterations)
        else:
            learning = Learning(begin, rows.codes, rows.weights, recipe.smoothing, recipe.ess)
            learned = learning.learn(recipe.method, restarts, rng, recipe.tolerance, recipe.iterations)
        if not learned.converged:
            warn(
                f"{recipe.method} had not converged after {recipe.iterations} iterations; allow more iterations, or a "
                f"larger tolerance"
            )
        learned = replace(learned, network=order_states(learned.network, unseen))
        return cls(learned.network, recipe, rows=rows if rows.kept else None, learned=learned)

    def merge(self, other: Fitted) -> Fitted:
        """Of the rows of both."""
        schema = None if other.counted is None else other.counted.schema
        return self._with(other, schema, Counted.merge, DistinctRows.merge)

    def subtract(self, other: Fitted, declared: Collection[str] = ()) -> Fitted:
        """Without the other's rows; ``declared`` are the nodes whose states are."""
        schema = None if other.counted is None else other.counted.schema.without_declared()
        return self._with(other, schema, Counted.subtract, partial(DistinctRows.subtract, declared=declared))

    def _with(
        self,
        other: Fitted,
        schema: Schema | None,
        counts: Callable[..., Counted],
        rows: Callable[..., DistinctRows],
    ) -> Fitted:
        """With the other's rows, whose columns are as ``schema``, or without them."""
        graph, cuts = self.network.graph, self.network.cuts
        if self.counted is not None and other.counted is not None and schema is not None:
            schema = self.counted.schema.unify(schema)
            empty = family_counts(graph, schema, cuts)
            both = counts(self.counted.conform(schema, empty), other.counted.conform(schema, empty)).canonical()
            return Fitted.from_counts(graph, both, self.recipe, cuts)
        if self.rows is not None and other.rows is not None:
            return Fitted.from_rows(graph, rows(self.rows, other.rows), self.recipe, self.network, cuts)
        self.check_learns()
        other.check_learns()
        raise ForgetError("one network was learned by counting and the other was not; fit both the same way")

    def check_learns(self) -> None:
        """Refuse to learn more or forget where no statistic was kept."""
        if self.counted is None and self.rows is None:
            why = "its tables were given" if self.given else "there were too many distinct rows to keep them all"
            raise ForgetError(f"this network cannot learn more or forget: {why}; fit it anew with all rows")


def interval_levels(cuts: Mapping[str, tuple[float, ...]]) -> dict[str, Levels]:
    """The states of nodes that are cut into intervals."""
    return {node: Levels.of(intervals(points)) for node, points in cuts.items()}


def _network(
    graph: Graph,
    levels: Mapping[str, Levels],
    tables: Mapping[str, Float],
    cuts: Mapping[str, tuple[float, ...]],
    normals: Mapping[str, Linear],
) -> Network:
    return Network(graph, levels, {n: Table(n, graph.parents[n], tables[n]) for n in levels}, dict(cuts), normals)


def _check_states(levels: Mapping[str, Levels]) -> None:
    for node, states in levels.items():
        if not states:
            raise InputError(
                f"node {node!r} has no value in any row; declare its states, for a hidden one their number: "
                f"states={{{node!r}: 2}}"
            )
