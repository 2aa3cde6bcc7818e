"""Questions: what can be asked of a fitted network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from bayeskit.arrays import Array, Code, Float, Frame, Json, Label, Seed, TableLike
from bayeskit.data.frame import frame
from bayeskit.errors import InputError
from bayeskit.estimators.docstrings import ROWS, document
from bayeskit.estimators.node_table import NodeTable
from bayeskit.networks.answer import (
    Answer,
    WorkedQuery,
    answer,
    estimate,
    evidence_of,
    hard_evidence,
    sample,
    work_query,
)
from bayeskit.networks.fitted import Fitted
from bayeskit.networks.graph import Graph
from bayeskit.networks.inference import check_possible

NODES = {  # parameters of methods
    "X": """table
        Rows; a missing value, or column, is summed out.""",
    "node": """str
        A node.""",
    "target": """str or sequence of str
        A node, or several for their joint distribution.""",
    "evidence": """mapping, optional
        States by node; {state: likelihood} is soft evidence.""",
    "approximate": """{"weighting", "gibbs"}, optional
        Estimate by draws instead, with a standard error.""",
    "samples": """int, default 10,000
        How many draws.""",
    "random_state": """int, optional
        Seed of the draws.""",
} | {name: ROWS[name] for name in ("sample_weight", "path", "ax")}


@document(NODES)
class Questions:
    """Answers of one network: for one case by names of nodes, or for all rows of a table."""

    graph: Graph
    unseen: str
    n_jobs: int | None

    @property
    def fitted(self) -> Fitted:
        raise NotImplementedError

    def states(self, node: str) -> tuple[Label, ...]:
        """The states of a node; probabilities come in this order."""
        return self.fitted.network.states(node)

    def query(
        self,
        target: str | Sequence[str],
        evidence: Mapping[str, object] | None = None,
        approximate: str | None = None,
        samples: int = 10_000,
        random_state: Seed = 0,
    ) -> Answer:
        """P(target | evidence) by state; a list of targets gives their joint distribution, by tuples of states.

        Evidence that is a mapping {state: likelihood} is soft. ``approximate`` ("weighting", "gibbs") estimates
        instead, with a standard error; ``random_state`` seeds the draws.
        """
        if approximate is None:
            return answer(self.fitted.inference, target, evidence or {})
        return estimate(self.fitted.network, target, evidence or {}, approximate, samples, random_state)

    def worked(self, target: str, evidence: Mapping[str, object] | None = None) -> WorkedQuery:
        """The calculation of P(target | evidence) by hand: products over nodes, summed over hidden ones."""
        return work_query(self.fitted.network, target, evidence or {})

    def marginals(self, evidence: Mapping[str, object] | None = None) -> dict[str, dict[Label, float]]:
        """P(node | evidence) of every node at once."""
        codes = hard_evidence(self.fitted.network, evidence or {}, "the marginals of all nodes")
        found = self.fitted.inference.marginals(codes)
        return {node: dict(zip(self.states(node), p[0].tolist(), strict=True)) for node, p in found.items()}

    def predict_proba(
        self, X: TableLike, target: str, approximate: str | None = None, samples: int = 10_000, random_state: Seed = 0
    ) -> Float:
        """P(target | the other columns) of every row, (n, states) in the order of ``states(target)``.

        None and NaN are not observed; a column of the target is not looked at. ``approximate`` is as in ``query``.
        """
        place, inference = self.graph.nodes.index(self.graph.check(target)), self.fitted.inference
        rng = np.random.default_rng(random_state)

        def step(codes: Code, _: Float | None) -> tuple[Float, Float]:
            codes[place] = -1
            if approximate is None:
                return inference.joint(codes, [target])
            found = [sample(self.fitted.network, row, target, approximate, samples, rng) for row in codes.T]
            return np.array([one.probabilities for one in found]), np.zeros(len(found))

        parts, logs = zip(*self._steps(X, step), strict=True)
        check_possible(np.concatenate(logs))
        return np.concatenate(parts)

    def predict(self, X: TableLike, target: str) -> Any:
        """The most probable state of the target in every row."""
        return _values(self.states(target))[np.argmax(self.predict_proba(X, target), axis=1)]

    def log_evidence(self, X: TableLike) -> Float:
        """log P(row), (n,): missing values summed out; -inf where a row is impossible."""
        inference = self.fitted.inference
        return np.concatenate(list(self._steps(X, lambda codes, _: inference.joint(codes)[1])))

    def log_likelihood(self, X: TableLike) -> float:
        """The sum of log P(row) over all rows."""
        return float(self.log_evidence(X).sum())

    def probability(self, state: Mapping[str, object]) -> float:
        """The probability of a state of some or all nodes.

        Parameters
        ----------
        state : mapping
            States of some or all nodes.
        """
        codes, likelihoods = evidence_of(self.fitted.network, state)
        return float(np.exp(self.fitted.inference.joint(codes, (), likelihoods)[1][0]))

    def most_probable(self, evidence: Mapping[str, object] | None = None) -> Json:
        """The most probable states of all nodes together, given the evidence."""
        codes = hard_evidence(self.fitted.network, evidence or {}, "the most probable explanation")
        found, _ = self.fitted.inference.most_probable(codes)
        return {
            node: self.states(node)[code] for node, code in zip(self.graph.nodes, found[:, 0].tolist(), strict=True)
        }

    def sample(self, n: int, evidence: Mapping[str, object] | None = None, random_state: Seed = None) -> Frame:
        """Rows drawn from the network, given the evidence exactly: a pandas frame, or Arrow without pandas.

        Parameters
        ----------
        n : int
            How many rows.
        """
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise InputError(f"n={n!r}: give a number of rows")
        rng = np.random.default_rng(random_state)
        if evidence:
            one = hard_evidence(self.fitted.network, evidence, "sampling")
            codes = self.fitted.inference.draw(np.repeat(one, n, axis=1), rng) if n else one[:, :0]
        else:
            codes = self.fitted.network.sample_codes(int(n), rng)
        columns = {node: _values(self.states(node))[codes[j]] for j, node in enumerate(self.graph.nodes)}
        return frame(columns, "pandas" if find_spec("pandas") else "pyarrow")

    def _steps(self, X: TableLike, step: Callable[[Code, Float | None], object]) -> list[Label]:
        network = self.fitted.network
        table = NodeTable.of(X, self.graph, None, self.n_jobs, known=self.graph.nodes, cuts=network.cuts)
        return list(table.steps(network.levels, self.unseen, step))


def _values(states: Sequence[Label]) -> Array:
    """States as an array to pick from, in their own type."""
    alike = len({type(state) for state in states}) == 1
    return np.array(states, dtype=None if alike else object)
