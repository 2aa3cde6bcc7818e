"""Network: the door to Bayesian networks; build, learn, ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from itertools import product
from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError

from bayeskit.arrays import Code, Float
from bayeskit.data.levels import Levels
from bayeskit.errors import ForgetError, InputError, MergeError, NetworkError
from bayeskit.estimators.nodes import NodeTable
from bayeskit.networks import bif
from bayeskit.networks.approximate import METHODS, Estimate
from bayeskit.networks.graph import Graph
from bayeskit.networks.inference import Inference, check_possible
from bayeskit.networks.learning import Learned, Learning, counted_tables
from bayeskit.networks.network import Network as Value
from bayeskit.networks.rows import DistinctRows
from bayeskit.networks.table import Table, cells_of
from bayeskit.statistics.counted import Counted

UNSEEN = ("error", "missing")
ITERATIVE = ("em", "gradient")


@dataclass(frozen=True)
class Recipe:
    """How the tables were learned, so that more rows are learned the same way."""

    method: str = "counts"
    smoothing: Any = 1.0
    ess: float = 1.0
    restarts: int | None = None
    random_state: Any = None
    tolerance: float = 1e-8
    iterations: int = 1000


@dataclass(frozen=True)
class Fit:
    """The fitted state, replaced whole: the network, what was counted, and how."""

    network: Value
    recipe: Recipe = Recipe()
    counted: Counted | None = None
    rows: DistinctRows | None = None
    learned: Learned | None = None

    @cached_property
    def inference(self) -> Inference:
        return Inference(self.network)


class Answer(dict[Any, float]):
    """Probabilities by state; with ``standard_error`` by state where they were estimated by chance."""

    standard_error: dict[Any, float] | None = None


class Network:
    """A Bayesian network over categorical columns: P(x) = product over nodes of P(node | its parents).

    ``edges`` are (parent, child) pairs; ``tables`` maps nodes to their probabilities: {state: p}, {parents' states:
    {state: p}}, an array (parents' states ..., states) or a frame; ``states`` declares states (a number of them for a
    hidden node), ``nodes`` those without arcs; ``unseen`` says what a state never seen means ("error", "missing").

    >>> net = Network([("rain", "wet")]).fit({"rain": ["no", "no", "no", "yes"], "wet": ["no", "no", "yes", "yes"]})
    >>> {state: round(p, 3) for state, p in net.query("rain", {"wet": "yes"}).items()}
    {'no': 0.545, 'yes': 0.455}
    """

    def __init__(
        self,
        edges: Iterable[Any] = (),
        tables: Mapping[Any, Any] | None = None,
        states: Mapping[Any, Any] | None = None,
        nodes: Iterable[Any] = (),
        unseen: str = "error",
        n_jobs: int | None = None,
    ) -> None:
        if unseen not in UNSEEN:
            raise InputError(f"unseen={unseen!r}: choose one of {', '.join(UNSEEN)}")
        self.unseen, self.n_jobs = unseen, n_jobs
        self._declared = {str(n): Levels.of(range(s) if isinstance(s, int) else s) for n, s in (states or {}).items()}
        self._fit: Fit | None = None
        if tables is None:
            self.graph = Graph.of(edges, (*nodes, *(n for n in self._declared)) if not edges else nodes)
            if extra := [n for n in self._declared if n not in self.graph.parents]:
                raise NetworkError(f"states are declared for {extra[0]!r}, which is no node; add it to nodes")
        else:
            levels = {name: some.values for name, some in self._declared.items()}
            value = Value.of(edges, tables, levels, nodes)
            self.graph, self._declared, self._fit = value.graph, dict(value.levels), Fit(value)

    @classmethod
    def of(cls, value: Value, unseen: str = "error", n_jobs: int | None = None) -> Network:
        """The door to a network that is there already."""
        made = cls((), None, None, value.nodes, unseen, n_jobs)
        made.graph, made._declared, made._fit = value.graph, dict(value.levels), Fit(value)
        return made

    # -- the graph -------------------------------------------------------------------------------

    @property
    def nodes(self) -> tuple[str, ...]:
        return self.graph.nodes

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        return self.graph.edges

    def parents(self, node: str) -> tuple[str, ...]:
        return self.graph.family(node)[:-1]

    def children(self, node: str) -> tuple[str, ...]:
        return self.graph.children[self.graph.check(node)]

    def markov_blanket(self, node: str) -> set[str]:
        """Parents, children and the children's other parents."""
        return self.graph.markov_blanket(node)

    def d_separated(self, a: Any, b: Any, given: Any = ()) -> bool:
        """Whether the graph makes a and b independent given others, whatever the tables."""
        return self.graph.d_separated(a, b, given)

    # -- the fitted value ------------------------------------------------------------------------

    @property
    def fitted(self) -> Fit:
        if self._fit is None:
            raise NotFittedError("this network has no tables yet; give tables=, or call fit with rows")
        return self._fit

    @property
    def network_(self) -> Value:
        """The immutable network; what is learned replaces it whole."""
        return self.fitted.network

    @property
    def learned_(self) -> Learned | None:
        """The way EM or gradient went, None after counting."""
        return self.fitted.learned

    def states(self, node: str) -> tuple[Any, ...]:
        """The states of a node; probabilities come in this order."""
        return self.network_.states(node)

    def table(self, node: str) -> Table:
        """P(node | parents)."""
        return self.network_.tables[self.graph.check(node)]

    def to_networkx(self) -> Any:
        return self.network_.to_networkx()

    # -- learning --------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        method: str = "counts",
        smoothing: Any = 1.0,
        ess: float = 1.0,
        sample_weight: Any = None,
        restarts: int | None = None,
        random_state: Any = None,
        tolerance: float = 1e-8,
        iterations: int = 1000,
    ) -> Self:
        """Learn the tables: "counts" from rows whose family is complete, "em" and "gradient" from all rows.

        ``smoothing`` adds to every cell (a number, or "bdeu" with equivalent sample size ``ess``). Nodes without a column
        are hidden: declare how many ``states`` they have and take "em" or "gradient".
        """
        if method not in ("counts", *ITERATIVE):
            raise InputError(f"method={method!r}: choose counts, em or gradient")
        recipe = Recipe(method, smoothing, ess, restarts, random_state, tolerance, iterations)
        table = NodeTable.of(X, self.graph, sample_weight, self.n_jobs)
        if method == "counts":
            fit = self._from_counts(table.counted(self._declared, True), recipe)
        else:
            fit = self._from_rows(self._rows(table), recipe, None if self._fit is None else self._fit.network)
        self._fit = fit
        return self

    def partial_fit(self, X: Any, sample_weight: Any = None) -> Self:
        """Learn more rows, the way the others were learned; new states are welcome unless they were declared."""
        if self._fit is None or (self._fit.counted is None and self._fit.rows is None and self._fit.learned is None):
            return self.fit(X, sample_weight=sample_weight)
        self._fit = self._combined(self._other(X, sample_weight), Counted.merge, DistinctRows.merge)
        return self

    def forget(self, X: Any, sample_weight: Any = None) -> Self:
        """Unlearn rows: afterwards the counts are those of a network that never saw them."""
        fit = self.fitted
        if fit.counted is None and fit.rows is None:
            self._statistic_needed(fit)
        self._fit = self._combined(self._other(X, sample_weight), Counted.subtract, DistinctRows.subtract)
        return self

    def merge(self, other: Network) -> Network:
        """A new network that has learned what both have."""
        one, two = self.fitted, other.fitted
        if dict(self.graph.parents) != dict(other.graph.parents):
            raise MergeError("the networks have different graphs and cannot be merged")
        if one.recipe != two.recipe:
            raise MergeError(f"the networks were learned differently ({one.recipe} and {two.recipe}); fit both the same way")
        both = Network((), None, None, self.nodes, self.unseen, self.n_jobs)
        both.graph, both._declared = self.graph, self._declared
        both._fit = self._combined(two, Counted.merge, DistinctRows.merge)
        return both

    def __add__(self, other: Any) -> Network:
        return self.merge(other) if isinstance(other, Network) else NotImplemented

    def _other(self, X: Any, sample_weight: Any) -> Fit:
        """What is counted of other rows, the way it was before."""
        fit = self.fitted
        table = NodeTable.of(X, self.graph, sample_weight, self.n_jobs)
        if fit.counted is not None:
            return replace(fit, counted=table.counted(self._declared, True))
        if fit.rows is not None:
            return replace(fit, rows=self._rows(table))
        return self._statistic_needed(fit)

    def _combined(self, other: Fit, counts: Callable[..., Counted], rows: Callable[..., DistinctRows]) -> Fit:
        fit = self.fitted
        if fit.counted is not None and other.counted is not None:
            if fit.counted.schema.names != other.counted.schema.names:
                if set(fit.counted.schema.names) != set(other.counted.schema.names):
                    raise InputError("the rows have other columns than those learned before; give the same ones")
            both = counts(fit.counted, other.counted).canonical()
            if not both.weight > 0:
                raise InputError("forgetting these rows would leave nothing; drop the network instead")
            return self._from_counts(both, fit.recipe)
        if fit.rows is not None and other.rows is not None:
            return self._from_rows(rows(fit.rows, other.rows), fit.recipe, fit.network)
        return self._statistic_needed(fit if fit.rows is None else other)

    @staticmethod
    def _statistic_needed(fit: Fit) -> Fit:
        why = "its tables were given" if fit.learned is None else "EM met too many distinct rows to keep them"
        raise ForgetError(f"this network cannot learn more or forget: {why}; fit it anew with all rows")

    def _from_counts(self, counted: Counted, recipe: Recipe) -> Fit:
        names = set(counted.schema.names)
        if lacking := [node for node in self.nodes if node not in names]:
            raise InputError(f'node {lacking[0]!r} has no column; counting needs all, method="em" does not')
        statistic = counted.statistic
        counts: dict[str, Float] = {}
        for part in ("nodes", "families"):
            tables = statistic[part]
            for t, family in enumerate(tables.tables):  # type: ignore[attr-defined]
                counts[family[-1]] = tables.table(t).rounded()[0]  # type: ignore[attr-defined]
        levels = {node: counted.domain.levels[node] for node in self.nodes}
        self._has_states(levels)
        learned = counted_tables(counts, recipe.smoothing, recipe.ess)
        return Fit(self._value(levels, learned), recipe, counted=counted)

    def _value(self, levels: Mapping[str, Levels], tables: Mapping[str, Float]) -> Value:
        return Value(self.graph, levels, {n: Table(n, self.graph.parents[n], tables[n]) for n in self.nodes})

    def _rows(self, table: NodeTable) -> DistinctRows:
        """The distinct rows of a table, with the states they have or were declared to have."""
        found = table.counted(self._declared, False).domain.levels
        levels = {node: self._declared.get(node) or found.get(node, Levels()) for node in self.nodes}
        rows: DistinctRows | None = None

        def step(codes: Code, weights: Float | None) -> DistinctRows:
            return DistinctRows.of(levels, codes, np.ones(codes.shape[1]) if weights is None else weights)

        for some in table.steps(levels, "error", step):
            rows = some if rows is None else rows.merge(some)
        assert rows is not None  # steps refuses a table without rows
        return rows

    def _from_rows(self, rows: DistinctRows, recipe: Recipe, begin: Value | None) -> Fit:
        if not len(rows.weights):
            raise InputError("no row with a weight is left to learn from")
        self._has_states(rows.levels)
        sizes = {node: len(rows.levels[node]) for node in self.nodes}
        shapes = {node: cells_of(node, sizes, self.graph.family(node)) for node in self.nodes}
        if begin is None or dict(begin.levels) != dict(rows.levels):
            begin = self._value(rows.levels, {n: np.full(shape, 1 / shape[-1]) for n, shape in shapes.items()})
        learning = Learning(begin, rows.codes, rows.weights, recipe.smoothing, recipe.ess)
        rng = np.random.default_rng(recipe.random_state)
        learned = learning.learn(recipe.method, recipe.restarts, rng, recipe.tolerance, recipe.iterations)
        return Fit(learned.network, recipe, rows=rows if rows.kept else None, learned=learned)

    def _has_states(self, levels: Mapping[str, Levels]) -> None:
        for node in self.nodes:
            if not levels[node]:
                raise InputError(
                    f"node {node!r} has no value in any row; declare its states, for a hidden one their number: "
                    f"states={{{node!r}: 2}}"
                )

    # -- asking ----------------------------------------------------------------------------------

    def query(
        self,
        target: Any,
        evidence: Mapping[str, Any] | None = None,
        approximate: str | None = None,
        samples: int = 10_000,
        random_state: Any = None,
    ) -> Answer:
        """P(target | evidence) by state; a list of targets gives their joint distribution, by tuples of states.

        Evidence that is a mapping {state: likelihood} is soft. ``approximate`` ("weighting", "gibbs") estimates instead,
        with a standard error.
        """
        targets = [target] if isinstance(target, str) else list(target)
        codes, likelihoods = self._evidence(evidence or {})
        if approximate is not None:
            return self._estimated(targets, codes, likelihoods, approximate, samples, random_state)
        found, logs = self.fitted.inference.joint(codes, targets, likelihoods)
        check_possible(logs)
        labels = product(*(self.states(t) for t in targets))
        keys = [label[0] for label in labels] if isinstance(target, str) else list(labels)
        return Answer(zip(keys, found[0].ravel().tolist(), strict=True))

    def _estimated(
        self, targets: list[str], codes: Code, likelihoods: Mapping[str, Float], method: str, samples: int, seed: Any
    ) -> Answer:
        if method not in METHODS or len(targets) != 1 or likelihoods or samples < 1:
            raise InputError(
                f"approximate={method!r}: choose {' or '.join(METHODS)}, with one target, hard evidence and samples > 0"
            )
        (target,) = targets
        states = self.states(target)
        found: Estimate = METHODS[method](
            self.network_, codes[:, 0].astype(np.int64), target, samples, np.random.default_rng(seed)
        )
        answer = Answer(zip(states, found.probabilities.tolist(), strict=True))
        answer.standard_error = dict(zip(states, found.standard_error.tolist(), strict=True))
        return answer

    def predict_proba(self, X: Any, target: str) -> Float:
        """P(target | the other columns) of every row, (n, states) in the order of ``states(target)``.

        None and NaN are not observed; a column of the target is not looked at.
        """
        place, inference = self.nodes.index(self.graph.check(target)), self.fitted.inference

        def step(codes: Code, _: Float | None) -> tuple[Float, Float]:
            codes[place] = -1
            return inference.joint(codes, [target])

        parts, logs = zip(*self._steps(X, step), strict=True)
        check_possible(np.concatenate(logs))
        return np.concatenate(parts)

    def predict(self, X: Any, target: str) -> Any:
        """The most probable state of the target in every row."""
        states = np.array(self.states(target))
        return states[np.argmax(self.predict_proba(X, target), axis=1)]

    def log_evidence(self, X: Any) -> Float:
        """log P(row), (n,): missing values summed out; -inf where a row is impossible."""
        inference = self.fitted.inference
        return np.concatenate(list(self._steps(X, lambda codes, _: inference.joint(codes)[1])))

    def log_likelihood(self, X: Any) -> float:
        """The sum of log P(row) over all rows."""
        return float(self.log_evidence(X).sum())

    def probability(self, state: Mapping[str, Any]) -> float:
        """The probability of a state of some or all nodes."""
        codes, likelihoods = self._evidence(state)
        return float(np.exp(self.fitted.inference.joint(codes, (), likelihoods)[1][0]))

    def most_probable(self, evidence: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The most probable states of all nodes together, given the evidence."""
        codes, likelihoods = self._evidence(evidence or {})
        if likelihoods:
            raise InputError("the most probable explanation takes hard evidence only; give states")
        found, _ = self.fitted.inference.most_probable(codes)
        return {node: self.states(node)[code] for node, code in zip(self.nodes, found[:, 0].tolist(), strict=True)}

    def sample(self, n: int, evidence: Mapping[str, Any] | None = None, random_state: Any = None) -> Any:
        """Rows drawn from the network, given the evidence exactly: a pandas frame, or Arrow without pandas."""
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise InputError(f"n={n!r}: give a number of rows")
        rng = np.random.default_rng(random_state)
        if evidence:
            one, likelihoods = self._evidence(evidence)
            if likelihoods:
                raise InputError("sampling takes hard evidence only; give states")
            codes = self.fitted.inference.drawn(np.repeat(one, n, axis=1), rng) if n else one[:, :0]
        else:
            codes = self.network_.sampled(int(n), rng)
        return _frame({node: np.array(self.states(node))[codes[j]] for j, node in enumerate(self.nodes)})

    def _steps(self, X: Any, step: Callable[[Code, Float | None], Any]) -> list[Any]:
        table = NodeTable.of(X, self.graph, None, self.n_jobs)
        return list(table.steps(self.network_.levels, self.unseen, step))

    def _evidence(self, evidence: Mapping[str, Any]) -> tuple[Code, dict[str, Float]]:
        """Codes (nodes, 1) of what is observed, and likelihoods (states, 1) of what is only likely."""
        value = self.network_
        codes, likelihoods = np.full((len(self.nodes), 1), -1, dtype=np.int32), {}
        for node, state in evidence.items():
            place = self.nodes.index(self.graph.check(node))
            if isinstance(state, Mapping):
                likelihood = np.zeros((value.sizes[node], 1))
                for label, given in state.items():
                    likelihood[value.code(node, label)] = float(given)
                if not (np.isfinite(likelihood) & (likelihood >= 0)).all() or not likelihood.any():
                    raise InputError(f"the likelihoods of {node!r} must be finite, at least 0 and not all 0")
                likelihoods[node] = likelihood
            elif state is not None and state == state:
                codes[place] = value.code(node, state)
        return codes, likelihoods

    # -- showing ---------------------------------------------------------------------------------

    def __repr__(self) -> str:
        free = f", {self._fit.network.parameters} free probabilities" if self._fit else ", without tables"
        return f"Network({len(self.nodes)} nodes, {len(self.edges)} arcs{free})"

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{head}</th>" for head in ("node", "parents", "states"))
        rows = []
        for node in self.nodes:
            states: Sequence[Any] = self.states(node) if self._fit else self._declared.get(node, Levels()).values
            cells = (node, ", ".join(self.parents(node)), ", ".join(map(str, states[:12])))
            rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
        return f"<p>{escape(repr(self))}</p><table><tr>{heads}</tr>{''.join(rows)}</table>"


def read_bif(path: Any) -> Network:
    """The network of a BIF file, gzipped or not."""
    return Network.of(bif.read_bif(path))


def write_bif(network: Network, path: Any) -> None:
    """Write a network as BIF, gzipped if the name ends in .gz."""
    bif.write_bif(network.network_, path)


def _frame(columns: dict[str, Any]) -> Any:
    try:
        import pandas
    except ImportError:
        import pyarrow

        return pyarrow.table(columns)
    return pandas.DataFrame(columns)
