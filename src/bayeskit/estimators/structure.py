"""learn_network: a network whose arcs the rows decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Bool
from bayeskit.errors import InputError, NetworkError
from bayeskit.estimators.intake import Intake
from bayeskit.estimators.network import Network
from bayeskit.estimators.nodes import NodeTable
from bayeskit.networks.graph import Graph
from bayeskit.networks.score import Scores, score_rule, total
from bayeskit.networks.search import TOLERANCE, Climb, Limits, Step, chow_liu, in_order, turned

SEARCHES = ("hill-climb", "tabu", "k2", "chow-liu")
PATIENCE, MEMORY = 30, 15  # of tabu search: steps without a new best, and steps that may not be undone
TURNINGS = 8  # times an equivalent graph is tried from a peak


@dataclass(frozen=True)
class Found:
    """What a search found: the score, and the way there, one arc at a time."""

    score: float
    path: tuple[tuple[str, str, str, float], ...]  # "add", "drop" or "turn", parent, child, score after it
    families: int  # how many were scored


def learn_network(
    X: Any,
    score: str = "bic",
    search: str = "hill-climb",
    required: Iterable[tuple[str, str]] = (),
    forbidden: Iterable[tuple[str, str]] = (),
    max_parents: int | None = None,
    restarts: int = 1,
    ess: float = 1.0,
    smoothing: Any = 1.0,
    sample_weight: Any = None,
    random_state: int | None = 0,
    callback: Callable[[str, str, str, float], object] | None = None,
    n_jobs: int | None = None,
) -> Network:
    """A network over the columns of a table: arcs by a search for a high score, tables by counting.

    ``score`` is "bic", "aic", "bdeu" (with equivalent sample size ``ess``) or "k2". ``search`` is "hill-climb" (the
    best arc added, dropped or turned, until none helps), "tabu" (the same, and on past the peak without undoing recent
    steps), "k2" (parents among the columns before, in their order) or "chow-liu" (the tree of largest likelihood).
    ``required`` and ``forbidden`` are (parent, child) pairs. From a peak both climb on from equivalent graphs; each of
    ``restarts`` climbs again from the start, with ties between equivalent steps broken at random. ``callback`` is told
    every step. Missing values: available cases (see ``Scores``). The network's ``search_`` tells score and path.

    >>> rows = [{"a": a, "b": a, "c": c} for a in "xy" for c in "uvw" for _ in range(9)]
    >>> net = learn_network(rows)
    >>> net.edges, len(net.search_.path)
    ((('b', 'a'),), 1)
    """
    if search not in SEARCHES:
        raise InputError(f"search={search!r}: choose one of {', '.join(SEARCHES)}")
    for name, value, least in (("max_parents", max_parents, 0), ("restarts", restarts, 0)):
        if value is not None and (not isinstance(value, Integral) or isinstance(value, bool) or value < least):
            raise InputError(f"{name}={value!r}: give a whole number of at least {least}")
    intake = Intake.of(X, None, sample_weight, n_jobs)
    names = tuple(intake.names)
    if sample_weight is None and isinstance(intake.source.rows, pa.Table):
        X = intake.source.rows  # converted once
    table = NodeTable.of(X, Graph.of((), names), sample_weight, n_jobs)
    levels = table.counted({}, False).domain.levels
    parts = list(table.steps(levels, "error", lambda codes, weights: (codes, weights)))
    codes = np.concatenate([codes for codes, _ in parts], axis=1)
    weights = None if parts[0][1] is None else np.concatenate([w for _, w in parts])
    limits = Limits(
        _matrix(required, names, "required"),
        _matrix(forbidden, names, "forbidden"),
        len(names) if max_parents is None else int(max_parents),
    )
    scores = Scores(codes, tuple(max(len(levels[n]), 1) for n in names), score_rule(score, ess), weights)
    arcs, path = _found(search, scores, limits, int(restarts), np.random.default_rng(random_state), names, callback)
    edges = [(names[p], names[c]) for c, p in zip(*(a.tolist() for a in np.nonzero(arcs)), strict=True)]
    network = Network(edges, nodes=names, n_jobs=n_jobs).fit(X, smoothing=smoothing, sample_weight=sample_weight)
    reached = total(scores, {c: np.flatnonzero(row).tolist() for c, row in enumerate(arcs)})
    told = tuple((s.move, names[s.parent], names[s.child], s.score) for s in path)
    network.search_ = Found(reached, told, len(scores.known))
    return network


def _found(
    search: str,
    scores: Scores,
    limits: Limits,
    restarts: int,
    rng: np.random.Generator,
    names: tuple[str, ...],
    callback: Callable[[str, str, str, float], object] | None,
) -> tuple[Bool, list[Step]]:
    """The arcs (child, parent) and the way there."""
    if search == "k2":
        return in_order(scores, limits), []
    if search == "chow-liu":
        return chow_liu(scores), []
    scores.pairs()
    patience, memory = (PATIENCE, MEMORY) if search == "tabu" else (0, 0)

    def tell(step: Step) -> None:
        if callback is not None:
            callback(step.move, names[step.parent], names[step.child], step.score)

    def climbed(climb: Climb) -> tuple[float, Bool, list[Step]]:
        arcs = climb.climb(patience, memory)
        return _score(scores, arcs), arcs, climb.path

    top, best, path = -np.inf, limits.required, list[Step]()
    for attempt in range(restarts + 1):
        climb = Climb(scores, limits, limits.required.copy(), tell, rng if attempt else None)
        here, left = climbed(climb), TURNINGS
        while left:  # a peak may be none for an equivalent graph
            climb = climb.moved(turned(here[1], limits, rng, len(names)))
            score, arcs, steps = climbed(climb)
            left -= 1
            if score > here[0] + TOLERANCE * abs(here[0]):
                here, left = (score, arcs, here[2] + steps), TURNINGS
        if here[0] > top:
            top, best, path = here
    return best, path


def _score(scores: Scores, arcs: Bool) -> float:
    return total(scores, {c: np.flatnonzero(row).tolist() for c, row in enumerate(arcs)})


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
