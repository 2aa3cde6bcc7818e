"""Observed: the rows that arcs are learned from, ready to be scored and tested."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Bool, Code, Float, KindsLike, TableLike, WeightsLike
from bayeskit.data.levels import Levels
from bayeskit.errors import NetworkError
from bayeskit.estimators.node_table import NodeKinds, NodeTable
from bayeskit.memory import check_pairs
from bayeskit.model.open_table import OpenTable
from bayeskit.networks.exploration import Completion, Exploration
from bayeskit.networks.fitted import DistinctRows
from bayeskit.networks.graph import Graph
from bayeskit.networks.hybrid_completion import HybridCompletion
from bayeskit.networks.independence import Independence
from bayeskit.networks.number_score import MixedScores
from bayeskit.networks.score import Scores, score_rule
from bayeskit.networks.search import Limits, Step


@dataclass(frozen=True)
class Observed:
    """Levels as codes, -1 where missing, and numbers, NaN where missing."""

    listed: tuple[str, ...]  # the columns as the table has them
    names: tuple[str, ...]  # in the order of the search
    levels: Mapping[str, Levels]
    codes: Code  # (columns of levels, rows)
    values: Float  # (columns of numbers, rows)
    weights: Float | None

    @classmethod
    def of(
        cls,
        X: TableLike,
        weight: WeightsLike,
        n_jobs: int | None,
        kinds: KindsLike,
        cuts: Mapping[str, tuple[float, ...]],
        by_name: bool,
    ) -> Observed:
        """All rows; ``by_name`` puts the columns in the order of their names, which then breaks ties."""
        listed = tuple(OpenTable.of(X, None, weight, n_jobs).names)
        check_pairs(len(listed), "scores")
        table = NodeTable.of(X, Graph.of((), listed), weight, n_jobs, kinds, NodeKinds(cuts=cuts))
        levels, numbers = table.levels({}), table.numbers
        parts = list(table.steps(levels, numbers, "error", lambda *parts: parts))
        codes, values = (np.concatenate([part[i] for part in parts], axis=1) for i in (0, 1))
        weights = None if parts[0][2] is None else np.concatenate([w for *_, w in parts if w is not None])
        names = tuple(sorted(listed)) if by_name else listed
        codes = np.ascontiguousarray(codes[[list(levels).index(name) for name in names if name in levels]])
        values = np.ascontiguousarray(values[[numbers.index(name) for name in names if name not in levels]])
        return cls(listed, names, {name: levels[name] for name in names if name in levels}, codes, values, weights)

    @property
    def numbers(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name not in self.levels)

    @property
    def sizes(self) -> dict[str, int]:
        return {name: max(len(states), 1) for name, states in self.levels.items()}

    @property
    def incomplete(self) -> bool:
        return bool((self.codes < 0).any() or np.isnan(self.values).any())

    def scores(self, score: str, ess: float) -> Scores:
        """Of rows without missing values."""
        if self.numbers:
            mixed = MixedScores.of(self.names, self.sizes, (self.codes, self.values), score, ess, self.weights)
            mixed.check_singular()
            return mixed
        return Scores(self.codes, tuple(self.sizes.values()), score_rule(score, ess), self.weights)

    def explore(
        self, exploration: Exploration, limits: Limits, tell: Callable[[Step], None], score: str, ess: float
    ) -> tuple[Bool, list[Step], Scores]:
        """Arcs (child, parent) of a high score, the way there, and the scores."""
        if not self.incomplete:
            scores = self.scores(score, ess)
            self._check_required(scores, limits)
            return *exploration.find(scores, limits, tell), scores
        if self.numbers:
            both = HybridCompletion(self.names, self.levels, self.codes, self.values, self.weights, score, ess)
            both.scores((np.maximum(self.codes, 0), np.nan_to_num(self.values)))  # refuses a wrong score
            return exploration.find_with_missing(both, limits, tell)
        rule = score_rule(score, ess)
        mass = np.ones(self.codes.shape[1]) if self.weights is None else self.weights
        distinct = DistinctRows.of(self.levels, self.codes, mass)
        rows = Completion(distinct.codes, tuple(self.sizes.values()), distinct.weights, rule)
        return exploration.find_with_missing(rows, limits, tell)

    def _check_required(self, scores: Scores, limits: Limits) -> None:
        """Refuse required arcs that no table of these rows can fill: no search leads away from them."""
        for node in np.flatnonzero(limits.required.any(axis=1)).tolist():
            parents = np.flatnonzero(limits.required[node]).tolist()
            if not np.isfinite(scores(node, parents)):
                above = ", ".join(repr(self.names[p]) for p in parents)
                raise NetworkError(
                    f"{self.names[node]!r} cannot be learned given the columns it is required to have as parents "
                    f"({above}): a cell of their states has too few rows or a single value, or the table would be too "
                    f"large; require fewer arcs into it, or cut its values into intervals (cuts)"
                )

    def tests(self, test: str, seed: int | None) -> Independence:
        """Of independence, of any two columns given others."""
        every = np.zeros((len(self.names), self.codes.shape[1]), dtype=np.int32)
        every[[self.names.index(name) for name in self.levels]] = self.codes
        number = tuple(self.numbers.index(name) if name not in self.levels else -1 for name in self.names)
        sizes = tuple(self.sizes.get(name, 1) for name in self.names)
        return Independence(every, sizes, number, self.values, self.weights, test, seed)
