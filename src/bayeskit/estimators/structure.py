"""learn_network: a network whose arcs the rows decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Bool, Int, KindsLike, TableLike, WeightsLike
from bayeskit.errors import InputError, NetworkError
from bayeskit.estimators.cutting import Cutting
from bayeskit.estimators.network import Network
from bayeskit.estimators.observed import Observed
from bayeskit.model.open_table import OpenTable
from bayeskit.networks.equivalence import Pattern
from bayeskit.networks.exploration import SEARCHES, TESTED, Exploration, check_count, graph_score
from bayeskit.networks.linear import check_arcs
from bayeskit.networks.search import Limits, Step
from bayeskit.networks.skeleton import Skeleton, extend

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
        steps, or by moving columns within an order and taking the families that fit it; the best of all graphs, of up
        to 22 columns, faster with ``max_parents``; parents among the columns before, in their order; the tree of
        largest likelihood; by tests of independence alone (PC-stable), with no score; or tests say which columns may
        be joined, and hill climbing joins them (max-min hill climbing).
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
