"""learn_network: a network whose arcs the rows decide, and these rows, ready to be scored and tested."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Bool, Code, Float, Int, KindsLike, TableLike, WeightsLike
from bayeskit.data.levels import Levels
from bayeskit.errors import InputError, NetworkError
from bayeskit.estimators.binned import Cutting
from bayeskit.estimators.network import Network
from bayeskit.estimators.node_table import NodeKinds, NodeTable
from bayeskit.memory import check_pairs
from bayeskit.model.open_table import OpenTable
from bayeskit.networks.equivalence import Pattern
from bayeskit.networks.exploration import SEARCHES, TESTED, Completion, Exploration, check_count, graph_score
from bayeskit.networks.fitted import DistinctRows
from bayeskit.networks.graph import Graph
from bayeskit.networks.hybrid_completion import HybridCompletion
from bayeskit.networks.independence import Independence
from bayeskit.networks.linear import check_arcs
from bayeskit.networks.number_score import MixedScores
from bayeskit.networks.score import Scores, score_rule
from bayeskit.networks.search import Limits, Step
from bayeskit.networks.skeleton import Skeleton, extend


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


SHAKES = 30  # times the best graph is shaken


@dataclass(frozen=True)
class Found:
    """What a search found.

    Attributes
    ----------
    score : float
        Of the graph; NaN where rows with missing values were tested and not scored.
    path : tuple
        The way there, one arc at a time: "add", "drop" or "turn", parent, child and the score after it.
    families : int
        How many families were scored.
    tests : int
        How many tests of independence were made.
    pattern : Pattern or None
        What "pc" found: arcs, and edges that may go either way.
    separators : dict
        Of pairs of columns that "pc" found independent, given what.
    """

    score: float
    path: tuple[tuple[str, str, str, float], ...]
    families: int
    tests: int = 0
    pattern: Pattern | None = None
    separators: Mapping[frozenset[str], tuple[str, ...]] = field(default_factory=dict)


def learn_network(
    X: TableLike,
    score: str = "bic",
    search: str = "hill-climb",
    required: Iterable[tuple[str, str]] = (),
    forbidden: Iterable[tuple[str, str]] = (),
    max_parents: int | Mapping[str, int] | None = None,
    restarts: int = 1,
    ess: float = 1.0,
    smoothing: object = 1.0,
    sample_weight: WeightsLike = None,
    random_state: int | None = 0,
    callback: Callable[[str, str, str, float], object] | None = None,
    n_jobs: int | None = None,
    kinds: KindsLike = None,
    cuts: object = None,
    label: str | None = None,
    tiers: Iterable[Iterable[str]] = (),
    roots: Iterable[str] = (),
    leaves: Iterable[str] = (),
    alpha: float = 0.05,
    test: str = "auto",
    depth: int | None = None,
) -> Network:
    """A network over the columns of a table: arcs by a search for a high score, tables by counting.

    Columns of numbers are linear normals given their parents; no arc goes from a number to a level.

    From a peak the search climbs on from equivalent graphs; unless ``restarts`` is 0, thirty times two columns of the
    best graph lose their arcs, and it climbs on from there. Missing values: structural EM. In turns the missing
    values are filled by draws from what the network found so far holds likely given the rest of the row, and arcs are
    searched on the rows so completed, until the arcs stay; the score is that of the last round. The tables are then
    counted from the rows whose family is complete; ``fit(X, method="em")`` learns them from all.

    Parameters
    ----------
    X : table
        Rows of categories and numbers.
    score : {"bic", "aic", "bdeu", "k2", "loo", "bge"}, default "bic"
        What arcs are chosen by; "loo" is how well rows are predicted by the others. With numbers "bic" and "aic", the
        same as bnlearn's; "bge" is for numbers alone.
    search : {"hill-climb", "tabu", "order", "exact", "k2", "chow-liu", "pc", "mmhc"}, default "hill-climb"
        Add, drop or turn the best arc until none helps; the same, and on past the highest peak without undoing recent
        steps, or by moving columns within an order and taking the families that fit it; the best of all graphs, of
        about 30 columns or as many as memory holds, faster with ``max_parents``; parents among the columns before, in
        their order; the tree of largest likelihood; by tests of independence alone (PC-stable), with no score; or tests
        say which columns may be joined, and hill climbing joins them (max-min hill climbing).
    required : sequence of pairs
        Arcs (parent, child) that must be there.
    forbidden : sequence of pairs
        Arcs (parent, child) that must not.
    max_parents : int or mapping, optional
        Most parents of a node, of all or by column.
    restarts : int, default 1
        How often to climb again from the start, with ties between equivalent steps broken at random.
    ess : float, default 1.0
        Equivalent sample size of "bdeu".
    smoothing : float or str, default 1.0
        Pseudo-rows in every cell of the tables, as in ``Network.fit``.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    random_state : int, default 0
        Seed of ties and restarts.
    callback : callable, optional
        Called with every step: what was done, parent, child, gain.
    n_jobs : int, optional
        Number of threads; -1 is all cores, None those this process may use. Results do not depend on it.
    kinds : mapping or str, optional
        As in ``NaiveBayes``. A column of numbers is a number, a linear normal given its parents, unless it is declared
        as levels, or cut.
    cuts : {"frequency", "mdlp"}, int, sequence or mapping, optional
        How columns of numbers become intervals, as in ``Network.fit``.
    label : str, optional
        The column of levels by which "mdlp" cuts.
    tiers : sequence of sequences
        Columns in order of time: no arc goes from a later tier to an earlier one. Columns in none are free.
    roots : sequence
        Columns that have no parents.
    leaves : sequence
        Columns that have no children.
    alpha : float, default 0.05
        For "pc" and "mmhc": columns are independent where the p-value of a test is above it.
    test : {"auto", "g2", "exact"}, default "auto"
        How levels are tested: G² with its distribution given all margins where there are fewer than five rows to a
        cell; by the chi-square distribution always; or never by it. Numbers are tested by partial correlation, a number
        and a level by analysis of covariance. Each test takes the rows that have all its columns.
    depth : int, optional
        Most columns that are held fixed in a test.

    Returns
    -------
    Network
        The network; ``search_`` has score and path, or what tests found.

    Examples
    --------
    >>> rows = [{"a": a, "b": a, "c": c} for a in "xy" for c in "uvw" for _ in range(9)]
    >>> net = learn_network(rows)
    >>> net.edges, len(net.search_.path)
    ((('b', 'a'),), 1)
    """
    if search not in (*SEARCHES, *TESTED):
        raise InputError(f"search={search!r}: choose one of {', '.join((*SEARCHES, *TESTED))}")
    climb = "hill-climb" if search in TESTED else search
    exploration = Exploration(climb, restarts, random_state, SHAKES if restarts else 0)
    if not 0 < alpha < 1:
        raise InputError(f"alpha={alpha!r}: give a number between 0 and 1")
    if search == "pc" and max_parents is not None:
        raise InputError('search="pc" joins what tests do not part, however many; take "mmhc" for max_parents')
    if sample_weight is None and isinstance(rows := OpenTable.of(X, None, None, n_jobs).source.rows, pa.Table):
        X = rows  # converted once
    found = Cutting(cuts, label).learn(X, kinds, sample_weight, n_jobs)
    table = Observed.of(X, sample_weight, n_jobs, kinds, found, search != "k2")
    names = table.names
    barred = _matrix(_bar(tiers, roots, leaves, names), names, "tiers, roots or leaves")
    wanted = list(required)
    asked = _matrix(wanted, names, "required")
    check_arcs([(str(a), str(b)) for a, b in wanted], set(table.numbers))
    barred |= _matrix(forbidden, names, "forbidden")
    most = _most_parents(max_parents, names, asked)
    if search == "chow-liu" and (asked.any() or barred.any() or not most.all()):
        raise InputError(
            'search="chow-liu" takes the most informative tree as it is: no arcs required or forbidden, no tiers, '
            'roots, leaves or columns without parents; take "hill-climb" with max_parents=1'
        )
    limits = Limits(asked, barred | _numbers_above_levels(names, table.levels), most)

    def tell(step: Step) -> None:
        if callback is not None:
            callback(step.move, names[step.parent], names[step.child], step.score)

    tests, pattern, separators = None, None, {}
    if search in TESTED:
        tests = table.tests(test, random_state)
        skeleton = Skeleton(tests, limits, float(alpha), check_count("depth", depth))
    if search == "pc":
        near, parted = skeleton.pc()
        pattern = skeleton.orient(near, parted, names)
        separators = {frozenset(names[n] for n in p): tuple(names[n] for n in given) for p, given in parted.items()}
        arcs, path = _matrix(extend(pattern), names, "pc"), list[Step]()
        scores = None if table.incomplete else table.scores(score, ess)
    else:
        if search == "mmhc":
            limits = replace(limits, forbidden=limits.forbidden | ~skeleton.mmpc())
        arcs, path, scores = table.explore(exploration, limits, tell, score, ess)
    edges = [(names[p], names[c]) for c, p in zip(*(a.tolist() for a in np.nonzero(arcs)), strict=True)]
    network = Network(edges, nodes=table.listed, n_jobs=n_jobs)
    network.fit(X, smoothing=smoothing, sample_weight=sample_weight, kinds=kinds, cuts=cuts, label=label)
    network.search_ = Found(
        np.nan if scores is None else graph_score(scores, arcs),
        tuple((s.move, names[s.parent], names[s.child], s.score) for s in path),
        0 if scores is None else len(scores.known),
        0 if tests is None else len(tests.known),
        pattern,
        separators,
    )
    return network


def _most_parents(given: object, names: tuple[str, ...], required: Bool) -> Int:
    """The most parents of each column."""
    if isinstance(given, Mapping):
        if strange := [name for name in given if str(name) not in names]:
            raise InputError(
                f"max_parents names {strange[0]!r}, which is no column (there are: {', '.join(names[:12])})"
            )
        each = [check_count(f"max_parents[{name!r}]", given.get(name)) for name in names]
    else:
        each = [check_count("max_parents", given)] * len(names)
    most = np.array([len(names) if one is None else one for one in each], dtype=np.int64)
    if (over := required.sum(axis=1) > most).any():
        node = names[int(np.argmax(over))]
        raise InputError(
            f"{node!r} is required to have more parents than max_parents allows; require fewer arcs into it"
        )
    return most


def _bar(
    tiers: Iterable[Iterable[str]], roots: Iterable[str], leaves: Iterable[str], names: tuple[str, ...]
) -> list[tuple[str, str]]:
    """The arcs (parent, child) that tiers, roots and leaves forbid."""
    for what, given in (("tiers", tiers), ("roots", roots), ("leaves", leaves)):
        if isinstance(given, str):
            raise InputError(f"{what}={given!r}: give a list of columns")
    order = [[str(name) for name in tier] for tier in tiers]
    every = [name for tier in order for name in tier]
    if len(set(every)) < len(every):
        twice = next(name for name in every if every.count(name) > 1)
        raise InputError(f"tiers name {twice!r} twice; a column stands in one tier")
    late = [(b, a) for i, tier in enumerate(order) for a in tier for later in order[i + 1 :] for b in later]
    into = [(other, str(root)) for root in roots for other in names if other != root]
    out = [(str(leaf), other) for leaf in leaves for other in names if other != leaf]
    return [*late, *into, *out]


def _numbers_above_levels(names: tuple[str, ...], levels: Mapping[str, object]) -> Bool:
    """Arcs from numbers to levels, which no network has: (child, parent)."""
    level = np.array([name in levels for name in names], dtype=bool)
    return np.outer(level, ~level)


def _matrix(pairs: Iterable[tuple[str, str]], names: tuple[str, ...], what: str) -> Bool:
    """(parent, child) pairs as (child, parent)."""
    place = {name: j for j, name in enumerate(names)}
    out = np.zeros((len(names), len(names)), dtype=bool)
    for pair in pairs:
        if isinstance(pair, str) or len(pair) != 2:
            raise NetworkError(f"{what} holds {pair!r}; arcs are pairs (parent, child)")
        parent, child = map(str, pair)
        for name in (parent, child):
            if name not in place:
                raise NetworkError(f"{what} names {name!r}, which is no column (there are: {', '.join(names[:12])})")
        out[place[child], place[parent]] = True
    return out
