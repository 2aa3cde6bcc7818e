"""learn_network: a network whose arcs the rows decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Bool, KindsLike, TableLike, WeightsLike
from bayeskit.errors import InputError, NetworkError
from bayeskit.estimators.cutting import Cutting
from bayeskit.estimators.network import Network
from bayeskit.estimators.node_table import NodeKinds, NodeTable
from bayeskit.memory import check_pairs
from bayeskit.model.open_table import OpenTable
from bayeskit.networks.exploration import Completion, Exploration, check_count, graph_score
from bayeskit.networks.fitted import DistinctRows
from bayeskit.networks.graph import Graph
from bayeskit.networks.hybrid_completion import HybridCompletion
from bayeskit.networks.linear import check_arcs
from bayeskit.networks.number_score import MixedScores
from bayeskit.networks.score import Scores, score_rule
from bayeskit.networks.search import Limits, Step

SHAKES = 10  # times the best graph is shaken


@dataclass(frozen=True)
class Found:
    """What a search found: the score, and the way there, one arc at a time."""

    score: float
    path: tuple[tuple[str, str, str, float], ...]  # "add", "drop" or "turn", parent, child, score after it
    families: int  # how many were scored


def learn_network(
    X: TableLike,
    score: str = "bic",
    search: str = "hill-climb",
    required: Iterable[tuple[str, str]] = (),
    forbidden: Iterable[tuple[str, str]] = (),
    max_parents: int | None = None,
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
) -> Network:
    """A network over the columns of a table: arcs by a search for a high score, tables by counting.

    Columns of numbers are linear normals given their parents; no arc goes from a number to a level.

    From a peak the search climbs on from equivalent graphs; unless ``restarts`` is 0, ten times two columns of the
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
    search : {"hill-climb", "tabu", "exact", "k2", "chow-liu"}, default "hill-climb"
        Add, drop or turn the best arc until none helps; the same, and on past the highest peak without undoing recent
        steps; the best of all graphs, of up to 22 columns, faster with ``max_parents``; parents among the columns
        before, in their order; or the tree of largest likelihood.
    required : sequence of pairs
        Arcs (parent, child) that must be there.
    forbidden : sequence of pairs
        Arcs (parent, child) that must not.
    max_parents : int, optional
        Most parents of a node.
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
        Told every step: what was done, parent, child, gain.
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

    Returns
    -------
    Network
        The network; ``search_`` tells score and path.

    Examples
    --------
    >>> rows = [{"a": a, "b": a, "c": c} for a in "xy" for c in "uvw" for _ in range(9)]
    >>> net = learn_network(rows)
    >>> net.edges, len(net.search_.path)
    ((('b', 'a'),), 1)
    """
    exploration = Exploration(search, restarts, random_state, SHAKES if restarts else 0)
    most = check_count("max_parents", max_parents)
    intake = OpenTable.of(X, None, sample_weight, n_jobs)
    names = tuple(intake.names)
    check_pairs(len(names), "scores")
    if sample_weight is None and isinstance(intake.source.rows, pa.Table):
        X = intake.source.rows  # converted once
    found = Cutting(cuts, label).learn(X, kinds, sample_weight, n_jobs)
    listed = names
    table = NodeTable.of(X, Graph.of((), names), sample_weight, n_jobs, kinds, NodeKinds(cuts=found))
    levels, numbers = table.levels({}), table.numbers
    parts = list(table.steps(levels, numbers, "error", lambda *parts: parts))
    codes, values = (np.concatenate([part[i] for part in parts], axis=1) for i in (0, 1))
    weights = None if parts[0][2] is None else np.concatenate([w for *_, w in parts if w is not None])
    if search != "k2":  # ties go by name, not by the order of the columns
        names = tuple(sorted(listed))
        codes = np.ascontiguousarray(codes[[list(levels).index(name) for name in names if name in levels]])
        values = np.ascontiguousarray(values[[numbers.index(name) for name in names if name not in levels]])
        levels = {name: levels[name] for name in names if name in levels}
    sizes = {name: max(len(some), 1) for name, some in levels.items()}
    barred = _matrix(_bar(tiers, roots, leaves, names), names, "tiers, roots or leaves")
    wanted = list(required)
    asked = _matrix(wanted, names, "required")
    check_arcs([(str(a), str(b)) for a, b in wanted], set(numbers))
    limits = Limits(
        asked,
        _matrix(forbidden, names, "forbidden") | _numbers_above_levels(names, levels) | barred,
        len(names) if most is None else most,
    )

    def tell(step: Step) -> None:
        if callback is not None:
            callback(step.move, names[step.parent], names[step.child], step.score)

    holes = bool((codes < 0).any() or np.isnan(values).any())
    if numbers and holes:
        both = HybridCompletion(names, levels, codes, values, weights, score, ess)
        both.scores((np.maximum(codes, 0), np.nan_to_num(values)))  # refuses a wrong score
        arcs, path, scores = exploration.find_with_missing(both, limits, tell)
    elif numbers:
        scores = MixedScores.of(names, sizes, (codes, values), score, ess, weights)
        arcs, path = exploration.find(scores, limits, tell)
    elif holes:
        rule = score_rule(score, ess)
        some = DistinctRows.of(levels, codes, np.ones(codes.shape[1]) if weights is None else weights)
        rows = Completion(some.codes, tuple(sizes.values()), some.weights, rule)
        arcs, path, scores = exploration.find_with_missing(rows, limits, tell)
    else:
        scores = Scores(codes, tuple(sizes.values()), score_rule(score, ess), weights)
        arcs, path = exploration.find(scores, limits, tell)
    edges = [(names[p], names[c]) for c, p in zip(*(a.tolist() for a in np.nonzero(arcs)), strict=True)]
    network = Network(edges, nodes=listed, n_jobs=n_jobs)
    network.fit(X, smoothing=smoothing, sample_weight=sample_weight, kinds=kinds, cuts=cuts, label=label)
    reached = graph_score(scores, arcs)
    told = tuple((s.move, names[s.parent], names[s.child], s.score) for s in path)
    network.search_ = Found(reached, told, len(scores.known))
    return network


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
