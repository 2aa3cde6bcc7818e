"""NodeTable: the table a user gives, as states of the nodes of a network."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TypeVar

import numpy as np

from bayeskit.arrays import Batch, Code, Float, KindsLike, TableLike, WeightsLike
from bayeskit.data.encode import encode_asked, error_on_unseen, weights_of
from bayeskit.data.levels import Domain, Levels
from bayeskit.data.schema import UNDETERMINED, Column, Schema, different_names
from bayeskit.errors import InputError, KindError, SchemaError
from bayeskit.model.open_table import OpenTable, check_rows
from bayeskit.networks.fitted import DistinctRows, family_counts, interval_levels
from bayeskit.networks.graph import Graph
from bayeskit.networks.linear import check_arcs
from bayeskit.networks.network import Network
from bayeskit.networks.table import cells_of
from bayeskit.statistics.counted import Counted
from bayeskit.statistics.sliced import Slices

Result = TypeVar("Result")
WHY = "a node of the network"


@dataclass(frozen=True)
class NodeKinds:
    """What is known of nodes before their columns are read."""

    levels: Collection[str] = ()  # nodes that have levels
    cuts: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # nodes whose numbers are read as intervals
    numbers: Collection[str] = ()  # nodes that must be numbers


@dataclass(frozen=True)
class NodeTable:
    """A source of rows; each of its columns is a node, and nodes without a column are never observed."""

    table: OpenTable
    schema: Schema
    graph: Graph
    cuts: Mapping[str, tuple[float, ...]]  # of the nodes whose numbers are read as intervals

    @property
    def numbers(self) -> tuple[str, ...]:
        """The nodes that are numbers, in the order of the graph."""
        return tuple(n for n in self.graph.nodes if n in self.schema.numeric_index and n not in self.cuts)

    @classmethod
    def of(
        cls,
        X: TableLike,
        graph: Graph,
        weight: WeightsLike = None,
        n_jobs: int | None = None,
        kinds: KindsLike = None,
        known: NodeKinds | None = None,
    ) -> NodeTable:
        """The table opened; columns of numbers are numbers unless they have cuts or are known as levels."""
        known = known or NodeKinds()
        if isinstance(X, Mapping) and not any(_is_column(values) for values in X.values()):
            X = [X]  # one row
        table = OpenTable.of(X, None, weight, n_jobs)
        if not table.source.named:
            if len(table.names) != len(graph.nodes):
                raise SchemaError(
                    f"a matrix without names needs a column for each of the {len(graph.nodes)} nodes in their order, "
                    f"and has {len(table.names)}; name its columns"
                )
            rows = table.source.rows.rename_columns([*graph.nodes, *table.source.roles.names])
            table = OpenTable(replace(table.source, rows=rows), table.engine, table.engine.schema(rows))
        if strange := [name for name in table.names if name not in graph.parents]:
            raise SchemaError(f"column {strange[0]!r} is no node of the network (nodes: {', '.join(graph.nodes[:12])})")
        schema = table.schema(kinds, "skip", ())
        for c in schema.columns:
            if c.name in known.numbers and not c.numeric and c.kind != UNDETERMINED:
                raise KindError(f"column {c.name!r} is {c.kind} ({c.why}), and its node is a number; give numbers")
        schema = replace(schema, columns=tuple(_read_as(c, known) for c in schema.columns))
        made = cls(table, schema, graph, {name: known.cuts[name] for name in schema.numeric if name in known.cuts})
        check_arcs([arc for arc in graph.edges if arc[1] in schema.names], set(made.numbers))
        return made

    @classmethod
    def known(cls, X: TableLike, network: Network, weight: WeightsLike, n_jobs: int | None) -> NodeTable:
        """The table opened for a network that knows what its nodes are."""
        return cls.of(X, network.graph, weight, n_jobs, None, NodeKinds(network.coded, network.cuts, network.numbers))

    @property
    def observed(self) -> tuple[str, ...]:
        """The nodes that have a column."""
        return self.schema.names

    def check_columns(self, names: tuple[str, ...]) -> None:
        """Refuse other columns than those learned before."""
        if set(self.observed) != set(names):
            raise SchemaError(different_names(names, self.observed))

    def count(self, declared: Mapping[str, Levels], families: bool) -> Counted:
        """Counts of the states of every column and, on demand, of every family; where states are declared, no others.

        The states are found before families are counted, so that no table is made that memory cannot hold.
        """
        columns = (replace(c, why=WHY) for c in self.schema.columns)
        states = {name: tuple(values.values) for name, values in declared.items()}
        known = (
            replace(c, order=states[c.name], levels=()) if c.name in states and not c.numeric else c for c in columns
        )
        schema = replace(self.schema, columns=tuple(known))
        found = self._reduce(schema, False)
        check_rows(found, self.table.place)
        if not families:
            return found.canonical()
        if lacking := [n for name in self.observed for n in self.graph.parents[name] if n not in self.observed]:
            raise InputError(f'node {lacking[0]!r} has no column to count; fit(..., method="em") learns a hidden node')
        sizes = {name: len(levels) for name, levels in found.canonical().domain.levels.items()}
        sizes |= {name: len(cuts) + 1 for name, cuts in self.cuts.items()}
        for name in self.observed:
            cells_of(name, sizes, tuple(n for n in self.graph.family(name) if n in sizes))
        return self._reduce(schema, True).canonical()

    def levels(self, declared: Mapping[str, Levels]) -> dict[str, Levels]:
        """The states that nodes have or were declared to have; numbers have none."""
        found = {**self.count(declared, False).domain.levels, **interval_levels(self.cuts)}
        nodes = (node for node in self.graph.nodes if node not in self.numbers)
        return {node: declared.get(node) or found.get(node, Levels()) for node in nodes}

    def rows(self, declared: Mapping[str, Levels]) -> DistinctRows:
        """The distinct rows, with the states they have or were declared to have."""
        levels, names = self.levels(declared), self.numbers

        def step(codes: Code, numbers: Float, weights: Float | None) -> DistinctRows:
            return DistinctRows.of(
                levels, codes, np.ones(codes.shape[1]) if weights is None else weights, numbers, names
            )

        return reduce(DistinctRows.merge, self.steps(levels, names, "error", step))

    def _reduce(self, schema: Schema, families: bool) -> Counted:
        statistic = family_counts(self.graph, schema, self.cuts, families)
        empty = Counted.empty(schema, statistic, self.table.source.roles)
        return self.table.engine.reduce(self.table.rows(False), self.table.columns(schema), empty)

    def steps(
        self,
        levels: Mapping[str, Levels],
        numbers: Sequence[str],
        unseen: str,
        step: Callable[[Code, Float, Float | None], Result],
    ) -> Iterator[Result]:
        """A step over codes (nodes with levels, rows), numbers (number nodes, rows) and weights of every batch.

        Nodes stand in the order of the graph; -1 and NaN where nothing was observed.
        """
        place = {node: j for j, node in enumerate(n for n in self.graph.nodes if n in levels)}
        coded = [c for c in self.schema.columns if c.name in place]
        slices = Slices.of(coded, self.cuts)
        where = [place[name] for name in slices.columns]
        domain = Domain(Levels(), {name: levels[name] for name in self.schema.coded})
        roles, there = self.table.source.roles, self.schema.numeric_index

        def one(batch: Batch, start: int) -> Result:
            block = encode_asked(batch, self.schema, domain)
            if unseen == "error":
                error_on_unseen(block, batch, domain)
            codes = np.full((len(place), block.rows), -1, dtype=np.int32)
            codes[where] = np.maximum(slices.codes(block), -1)
            values = np.full((len(numbers), block.rows), np.nan)
            for j, name in enumerate(numbers):
                if name in there:
                    values[j] = block.numeric.column(there[name])
            return step(codes, values, weights_of(batch, roles))

        found = self.table.engine.map(self.table.rows(False), self.table.columns(self.schema), one)
        empty = True
        for result in found:
            empty = False
            yield result
        if empty:
            raise InputError("Found array with 0 sample(s) while a minimum of 1 is required: the table has no row")


def _read_as(column: Column, known: NodeKinds) -> Column:
    """A column as numbers or as levels; one without a value is what its node is."""
    if column.name in known.numbers:
        return replace(column, kind="quantitative")
    as_number = column.numeric and (column.name in known.cuts or column.name not in known.levels)
    return column if as_number else replace(column, kind="nominal")


def _is_column(values: object) -> bool:
    return not isinstance(values, str) and isinstance(values, Sized)
