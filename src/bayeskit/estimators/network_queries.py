"""Questions: what can be asked of a fitted network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np
from scipy.special import rel_entr

from bayeskit.arrays import Array, Code, CostsLike, Float, Frame, Label, Seed, TableLike
from bayeskit.data.frame import frame
from bayeskit.decision.costs import Costs
from bayeskit.decision.information import InformationValue, rank_values
from bayeskit.errors import InputError
from bayeskit.estimators.docstrings import ROWS, document
from bayeskit.estimators.node_table import NodeTable
from bayeskit.networks.answer import (
    WorkedQuery,
    answer,
    check_levels,
    estimate,
    evidence_of,
    hard_evidence,
    sample,
    work_query,
)
from bayeskit.networks.contradiction import check_possible
from bayeskit.networks.fitted import Fitted
from bayeskit.networks.graph import Graph
from bayeskit.networks.hybrid import HybridInference
from bayeskit.networks.sensitivity import Sensitivity, vary_parameters

Result = TypeVar("Result")
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
    _bytes: int | None  # that messages may take

    @property
    def fitted(self) -> Fitted:
        raise NotImplementedError

    @property
    def _inference(self) -> HybridInference:
        return self.fitted.inference(self._bytes)

    def parents(self, node: str) -> tuple[str, ...]:
        """The parents of a node."""
        return self.graph.family(node)[:-1]

    def children(self, node: str) -> tuple[str, ...]:
        """The children of a node."""
        return self.graph.children[self.graph.check(node)]

    def markov_blanket(self, node: str) -> set[str]:
        """Parents, children and the children's other parents."""
        return self.graph.markov_blanket(node)

    def d_separated(self, a: str | Iterable[str], b: str | Iterable[str], given: str | Iterable[str] = ()) -> bool:
        """Whether the graph makes a and b independent given others, whatever the tables.

        Parameters
        ----------
        a : str or sequence
            Nodes.
        b : str or sequence
            Nodes.
        given : str or sequence, optional
            Nodes that are known.
        """
        return self.graph.d_separated(a, b, given)

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
    ) -> Any:
        """P(target | evidence) by state; a list of targets gives their joint distribution, by tuples of states.

        Of a number the answer has ``mean``, ``deviation``, ``quantile(p)``, ``cdf(x)`` and ``density(x)``, and the
        normals it is a mixture of. Evidence that is a mapping {state: likelihood} is soft. ``approximate``
        ("weighting", "gibbs") estimates instead, with a standard error; ``random_state`` seeds the draws.
        """
        if approximate is None:
            return answer(self._inference, target, evidence or {})
        return estimate(self.fitted.network, target, evidence or {}, approximate, samples, random_state)

    def worked(self, target: str, evidence: Mapping[str, object] | None = None) -> WorkedQuery:
        """The calculation of P(target | evidence) by hand: products over nodes, summed over hidden ones."""
        check_levels(self.fitted.network, "a calculation by hand")
        return work_query(self.fitted.network, target, evidence or {})

    def value_of_information(
        self,
        target: str,
        evidence: Mapping[str, object] | None = None,
        costs: CostsLike = None,
        prices: Mapping[str, float] | None = None,
    ) -> InformationValue:
        """Which node is worth looking at before a decision about another: what knowing its state is expected to save.

        Parameters
        ----------
        target : str
            The node the costs are of.
        costs : Costs or mapping, optional
            A row for each state of the target and a column for each action; None is 0/1.
        prices : mapping, optional
            What it costs to know a node, by name; 0 unless given.

        Returns
        -------
        InformationValue
            ``frame()`` has the columns "column", "saving", "price" and "net"; ``best`` is the node to look at first.
        """
        network, given = self.fitted.network, dict(evidence or {})
        network.check_coded(target)
        if target in given:
            raise InputError(f"{target!r} is in the evidence, so nothing is to be decided about it; leave it out")
        states = self.states(target)
        table = Costs.of(costs, list(states))
        good = table.matrix_for(list(states))
        most = good.max()
        now = np.array([self.query(target, given)[state] for state in states]) @ (most - good)
        saving = {}
        for node in network.coded:
            if node != target and node not in given:
                both = self.query([target, node], given)
                joint = np.array([[both[t, v] for t in states] for v in self.states(node)])
                worth = joint @ (most - good)  # (states of the node, actions)
                saving[node] = max(float(worth.max(axis=1).sum() - worth.sum(axis=0).max()), 0.0)
        best = int(np.argmax(now))
        numbers = tuple(node for node in network.numbers if node not in given)
        return rank_values(saving, prices, table.actions[best], float(most - now[best]), numbers)

    def marginals(self, evidence: Mapping[str, object] | None = None) -> dict[str, Any]:
        """P(node | evidence) of every node at once; of numbers as ``query`` gives it."""
        given = hard_evidence(self.fitted.network, evidence or {}, "the marginals of all nodes")
        inference, network = self._inference, self.fitted.network
        numbers = {node: answer(inference, node, evidence or {}) for node in network.numbers}
        if np.isnan(given.numbers).all():
            found = inference.levels.marginals(given.codes) if network.coded else {}
        else:
            found = {node: inference.joint(given.codes, [node], None, given.numbers)[0] for node in network.coded}
        levels = {node: dict(zip(self.states(node), p[0].tolist(), strict=True)) for node, p in found.items()}
        return {node: levels[node] if node in levels else numbers[node] for node in network.nodes}

    def predict_proba(
        self, X: TableLike, target: str, approximate: str | None = None, samples: int = 10_000, random_state: Seed = 0
    ) -> Float:
        """P(target | the other columns) of every row, (n, states) in the order of ``states(target)``.

        None and NaN are not observed; a column of the target is not looked at. ``approximate`` is as in ``query``.
        """
        network, inference = self.fitted.network, self._inference
        network.check_coded(target)
        place, rng = network.coded.index(target), np.random.default_rng(random_state)
        if approximate is not None:
            check_levels(network, "an approximate answer")

        def step(codes: Code, numbers: Float, _: Float | None) -> tuple[Float, Float, Code]:
            codes[place] = -1
            if approximate is None:
                found, logs = inference.joint(codes, [target], None, numbers)
                return found, logs, codes[:, np.isneginf(logs)]
            estimates = [sample(network, row, target, approximate, samples, rng) for row in codes.T]
            return np.array([one.probabilities for one in estimates]), np.zeros(len(estimates)), codes[:, :0]

        parts, logs, impossible = zip(*self._steps(X, step), strict=True)
        check_possible(np.concatenate(logs), inference.levels, np.concatenate(impossible, axis=1))
        return np.concatenate(parts)

    def predict(self, X: TableLike, target: str) -> Any:
        """The most probable state of the target in every row; of a number the mean."""
        network, inference = self.fitted.network, self._inference
        if target in network.normals:
            place = network.numbers.index(target)

            def step(codes: Code, numbers: Float, _: Float | None) -> Float:
                numbers[place] = np.nan
                return inference.mixture(codes, numbers, target).mean

            return np.concatenate(self._steps(X, step))
        return _values(self.states(target))[np.argmax(self.predict_proba(X, target), axis=1)]

    def log_evidence(self, X: TableLike) -> Float:
        """log P(row), (n,): missing values summed out; -inf where a row is impossible. Of numbers it is the density."""
        joint = self._inference.joint
        return np.concatenate(self._steps(X, lambda codes, numbers, _: joint(codes, (), None, numbers)[1]))

    def log_likelihood(self, X: TableLike) -> float:
        """The sum of log P(row) over all rows."""
        return float(self.log_evidence(X).sum())

    def probability(self, state: Mapping[str, object]) -> float:
        """The probability of a state of some or all nodes; with numbers in it, the density.

        Parameters
        ----------
        state : mapping
            States of some or all nodes.
        """
        given = evidence_of(self.fitted.network, state)
        return float(np.exp(self._inference.joint(given.codes, (), given.likelihoods, given.numbers)[1][0]))

    def most_probable(self, evidence: Mapping[str, object] | None = None, k: int | None = None) -> Any:
        """The most probable states of all nodes together, given the evidence.

        Parameters
        ----------
        k : int, optional
            How many: then a list of ``(states, P(states | evidence))``, the most probable first, exactly; fewer where
            no others are possible.

        Examples
        --------
        >>> from bayeskit import Network
        >>> net = Network([("rain", "wet")], {"rain": {"no": 0.8, "yes": 0.2},
        ...               "wet": {"no": {"no": 0.9, "yes": 0.1}, "yes": {"no": 0.05, "yes": 0.95}}})
        >>> [(states["rain"], round(p, 3)) for states, p in net.most_probable({"wet": "yes"}, k=2)]
        [('yes', 0.704), ('no', 0.296)]
        """
        check_levels(self.fitted.network, "the most probable explanation")
        codes = hard_evidence(self.fitted.network, evidence or {}, "the most probable explanation").codes
        inference = self._inference.levels
        if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
            raise InputError(f"k={k!r}: give a whole number of at least 1")
        found, logs = inference.rank_states(codes, k or 1)
        named = [
            {node: self.states(node)[code] for node, code in zip(self.graph.nodes, column, strict=True)}
            for column in found.T.tolist()
        ]
        if k is None:
            return named[0]
        return list(zip(named, np.exp(logs - inference.joint(codes)[1][0]).tolist(), strict=True))

    def sensitivity(
        self, target: str, state: Label, evidence: Mapping[str, object] | None = None, odds: float = 2.0
    ) -> Sensitivity:
        """How P(target = state | evidence) moves with each probability of the tables, the others of its line in step.

        Parameters
        ----------
        target : str
            The node asked about.
        state : label
            One of its states.
        odds : float, default 2.0
            The odds of each probability are divided and multiplied by it for the range of the picture.

        Returns
        -------
        Sensitivity
            ``parameters`` are exact functions (a t + b) / (c t + d), those that move the answer most first; ``frame()``
            has them, ``plot()`` draws the tornado. Probabilities of 0 and 1 count as certain and are left out.
        """
        check_levels(self.fitted.network, "sensitivity")
        network = self.fitted.network
        network.check_coded(target)
        codes = hard_evidence(network, evidence or {}, "sensitivity").codes
        if state not in self.states(target):
            raise InputError(f"{target!r} has no state {state!r} (it has: {', '.join(map(str, self.states(target)))})")
        place = self.states(target).index(state)
        return vary_parameters(self._inference.levels, codes, target, place, odds)

    def relevance(self, target: str, evidence: Mapping[str, object] | None = None) -> dict[str, float]:
        """What is most informative on a node: in nats, the most first.

        Of a node in the evidence, how far P(target | evidence) is from what it would be without it (Kullback and
        Leibler); of any other, the mutual information with it given the evidence.

        Parameters
        ----------
        target : str
            A node with states.
        """
        network, given = self.fitted.network, dict(evidence or {})
        network.check_coded(target)
        if target in given:
            raise InputError(f"{target!r} is in the evidence, so it is known; leave it out of one of them")
        now = np.array(list(self.query(target, given).values()))
        found: dict[str, float] = {}
        for node in network.nodes:
            if node in given:
                without = np.array(list(self.query(target, {n: s for n, s in given.items() if n != node}).values()))
                found[node] = float(rel_entr(now, without).sum())
            elif node != target and node in network.coded:
                both = np.array(list(self.query([target, node], given).values())).reshape(len(now), -1)
                apart = both.sum(axis=1, keepdims=True) * both.sum(axis=0)
                found[node] = max(float(rel_entr(both, apart).sum()), 0.0)
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def sample(self, n: int, evidence: Mapping[str, object] | None = None, random_state: Seed = None) -> Frame:
        """Rows drawn from the network, given the evidence exactly: a pandas frame, or Arrow without pandas.

        Parameters
        ----------
        n : int
            How many rows.
        """
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise InputError(f"n={n!r}: give a number of rows")
        rng, network = np.random.default_rng(random_state), self.fitted.network
        given = hard_evidence(network, evidence or {}, "sampling")
        numbers = np.repeat(given.numbers, n, axis=1)
        codes = np.repeat(given.codes, n, axis=1) if evidence else network.level_part.sample_codes(int(n), rng)
        if n and (evidence or network.numbers):
            codes, numbers = self._inference.draw(codes, numbers, rng)
        columns = {node: _values(self.states(node))[codes[j]] for j, node in enumerate(network.coded)}
        columns |= dict(zip(network.numbers, numbers, strict=True))
        columns = {node: columns[node] for node in network.nodes}
        return frame(columns, "pandas" if find_spec("pandas") else "pyarrow")

    def _steps(self, X: TableLike, step: Callable[[Code, Float, Float | None], Result]) -> list[Result]:
        network = self.fitted.network
        table = NodeTable.known(X, network, None, self.n_jobs)
        return list(table.steps(network.levels, network.numbers, self.unseen, step))


def _values(states: Sequence[Label]) -> Array:
    """States as an array to pick from, in their own type."""
    alike = len({type(state) for state in states}) == 1
    return np.array(states, dtype=None if alike else object)
