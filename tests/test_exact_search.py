"""Exact search against all graphs one by one, constraints, patterns of equivalent graphs and their distance."""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.special import xlogy

import bayeskit as bk
from bayeskit import _core
from bayeskit.errors import InputError, MemoryRefusal, NetworkError
from bayeskit.networks.equivalence import Pattern
from bayeskit.networks.graph import Graph
from bayeskit.networks.optimal import optimal
from bayeskit.networks.score import Scores, score_rule
from bayeskit.networks.search import Limits, reach

NODES = "abcd"


@cache
def graphs(nodes: str = NODES) -> list[dict[str, tuple[str, ...]]]:
    """All directed graphs without cycles, by trying every set of parents of every node."""
    choices = [
        [tuple(s) for k in range(len(nodes)) for s in combinations([n for n in nodes if n != v], k)] for v in nodes
    ]
    found = []
    for parents in product(*choices):
        given = dict(zip(nodes, parents, strict=True))
        done: set[str] = set()
        while ready := [n for n in nodes if n not in done and set(given[n]) <= done]:
            done.update(ready)
        if len(done) == len(nodes):
            found.append(given)
    return found


def family_bic(data: pd.DataFrame, node: str, parents: tuple[str, ...]) -> float:
    """By pandas alone."""
    n = len(data)
    if data[node].dtype == float:
        cells = (
            [c for _, c in data.groupby(list(levels))]
            if (levels := [p for p in parents if data[p].dtype != float])
            else [data]
        )
        numbers = [p for p in parents if data[p].dtype == float]
        size = int(np.prod([data[p].nunique() for p in levels]))
        total = -np.log(n) / 2 * size * (len(numbers) + 2)
        for cell in cells:
            A = np.column_stack([np.ones(len(cell)), *(cell[p] for p in numbers)])
            found, *_ = np.linalg.lstsq(A, cell[node].to_numpy(), rcond=None)
            rest = float(((cell[node] - A @ found) ** 2).sum())
            free = len(cell) - len(numbers) - 1
            total += -len(cell) / 2 * np.log(2 * np.pi * rest / free) - free / 2
        return float(total)
    if any(data[p].dtype == float for p in parents):
        return -np.inf
    counts = data.groupby([*parents, node]).size()
    rows = counts.groupby(level=list(parents)).transform("sum") if parents else n
    size = int(np.prod([data[p].nunique() for p in parents])) * (data[node].nunique() - 1)
    return float((counts * np.log(counts / rows)).sum() - np.log(n) / 2 * size)


def best(data: pd.DataFrame, allowed: object = None) -> float:
    known = cache(lambda node, parents: family_bic(data, node, parents))
    some = [g for g in graphs() if allowed is None or allowed(g)]  # type: ignore[operator]
    return max(sum(known(n, parents) for n, parents in g.items()) for g in some)


def drawn(seed: int, numbers: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, 300), rng.integers(0, 3, 300)
    c = (a + b + (rng.random(300) < 0.3)) % 3
    d = (c + (rng.random(300) < 0.4)) % 2
    table = pd.DataFrame({"a": a, "b": b, "c": c, "d": d}).astype(str)
    if numbers:
        table["c"] = a * 1.0 + rng.normal(size=300)
        table["d"] = table["c"] * b + rng.normal(size=300)
    return table


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("numbers", [False, True])
def test_exact_search_finds_the_best_of_all_graphs(seed: int, numbers: bool) -> None:
    data = drawn(seed, numbers)
    net = bk.learn_network(data, search="exact")
    assert net.search_.score == pytest.approx(best(data), rel=1e-12)
    assert bk.learn_network(data).search_.score <= net.search_.score + 1e-9


def test_limits_are_kept_and_the_best_graph_within_them_is_found() -> None:
    data = drawn(1)
    cases: list[tuple[dict[str, object], object]] = [
        ({"max_parents": 1}, lambda g: all(len(p) <= 1 for p in g.values())),
        ({"required": [("d", "a")]}, lambda g: "d" in g["a"]),
        ({"forbidden": [("a", "c"), ("c", "a")]}, lambda g: "a" not in g["c"] and "c" not in g["a"]),
        ({"tiers": [["d"], ["c"], ["a", "b"]]}, lambda g: not (set("abc") & set(g["d"]) or set("ab") & set(g["c"]))),
        ({"roots": ["c"], "leaves": ["b"]}, lambda g: not g["c"] and not any("b" in p for p in g.values())),
    ]
    for settings, allowed in cases:
        net = bk.learn_network(data, search="exact", **settings)  # type: ignore[arg-type]
        assert net.search_.score == pytest.approx(best(data, allowed), rel=1e-12), settings
        climbed = bk.learn_network(data, **settings)  # type: ignore[arg-type]
        ordered = bk.learn_network(data, search="order", **settings)  # type: ignore[arg-type]
        assert climbed.search_.score <= ordered.search_.score <= net.search_.score + 1e-9
        for found in (net, climbed, ordered):
            assert allowed({n: found.parents(n) for n in NODES}), settings  # type: ignore[operator]


def test_other_scores_and_many_columns() -> None:
    """No graph that climbing finds is better; sixteen columns, of up to three parents."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 2, (400, 16)), columns=[f"c{i:02}" for i in range(16)])
    for i in range(2, 16):
        table[f"c{i:02}"] = table[f"c{i - 1:02}"] ^ table[f"c{i - 2:02}"] ^ (rng.random(400) < 0.2)
    table = table.astype(str)
    climbed = bk.learn_network(table, max_parents=3).search_.score
    assert bk.learn_network(table, search="exact", max_parents=3).search_.score >= climbed - 1e-9
    few = table.iloc[:, :6]
    for score in ("bdeu", "k2", "loo", "aic"):
        found = bk.learn_network(few, score, "exact").search_.score
        assert found >= bk.learn_network(few, score, "tabu").search_.score - 1e-9
    with pytest.raises(InputError, match="max_parents"):
        bk.learn_network(table, "bdeu", "exact")
    wide = pd.DataFrame(rng.integers(0, 2, (20, 59))).astype(str)
    with pytest.raises(NetworkError, match="58 nodes, and the table has 59"):
        bk.learn_network(wide, search="exact")


def planted(columns: int, rows: int, states: int = 2, seed: int = 0) -> pd.DataFrame:
    """Each column hangs on two of the six before it."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, states, (columns, rows))
    for i in range(2, columns):
        a, b = rng.choice(np.arange(max(0, i - 6), i), 2, replace=False)
        told = rng.integers(0, states, (states, states))[codes[a], codes[b]]
        codes[i] = np.where(rng.random(rows) < 0.7, told, codes[i])
    return pd.DataFrame(codes.T, columns=[f"c{i:02}" for i in range(columns)]).astype(str)


def by_integer_program(table: pd.DataFrame, most: int) -> float:
    """The best BIC of graphs of up to ``most`` parents: a variable for each family, a row for each set of nodes found
    on a cycle (of which one has no parent in the set)."""
    codes, n = table.to_numpy().astype(int).T, len(table)
    d, states, families = len(codes), int(codes.max()) + 1, list[tuple[int, frozenset[int], float]]()
    for v in range(d):
        best: dict[frozenset[int], float] = {}
        for parents in (s for k in range(most + 1) for s in combinations([p for p in range(d) if p != v], k)):
            cell = np.ravel_multi_index(tuple(codes[[*parents, v]]), (states,) * (len(parents) + 1))
            count = np.bincount(cell, minlength=states ** (len(parents) + 1)).reshape(-1, states)
            score = float(xlogy(count, count).sum() - xlogy(count.sum(axis=1), count.sum(axis=1)).sum())
            score -= np.log(n) / 2 * len(count) * (states - 1)
            if all(score > s for p, s in best.items() if p < frozenset(parents)):
                best[frozenset(parents)] = score
        families += [(v, p, s) for p, s in best.items()]
    rows = [frozenset({v}) for v in range(d)] + [frozenset(pair) for pair in combinations(range(d), 2)]
    while True:
        matrix = np.array([[v in row and not parents & row for v, parents, _ in families] for row in rows], dtype=float)
        most_of = np.where([len(row) == 1 for row in rows], 1.0, np.inf)
        found = milp(
            [-s for *_, s in families], integrality=np.ones(len(families)), bounds=Bounds(0, 1),
            constraints=LinearConstraint(matrix, 1, most_of), options={"mip_rel_gap": 0},
        )  # fmt: skip
        arcs, chosen = (
            np.zeros((d, d), dtype=bool),
            [family for family, x in zip(families, found.x, strict=True) if x > 0.5],
        )
        for v, parents, _ in chosen:
            arcs[v, list(parents)] = True
        cyclic = (reach(arcs) & reach(arcs).T).any(axis=0)
        if not cyclic.any():
            return sum(score for *_, score in chosen)
        for v in np.flatnonzero(cyclic).tolist():
            tree, last = {v: v}, [v]  # the shortest way from v back to it
            while not any(arcs[v, u] for u in last):
                last = [w for u in last for w in np.flatnonzero(arcs[:, u]) if tree.setdefault(w, u) == u]
            node, cycle = next(u for u in last if arcs[v, u]), {v}
            while node != v:
                cycle.add(node)
                node = tree[node]
            rows.append(frozenset(cycle))


@pytest.mark.parametrize("columns", [25, pytest.param(30, marks=pytest.mark.slow)])
def test_the_best_of_all_graphs_is_that_of_an_integer_program(columns: int) -> None:
    table = planted(columns, 300, seed=1)
    found = bk.learn_network(table, search="exact", max_parents=2)
    assert found.search_.score == pytest.approx(by_integer_program(table, 2), rel=1e-12)


def test_the_best_order_is_that_of_all_orders() -> None:
    """Families of six nodes drawn at random; no order where the best does not reach what is asked."""
    rng, d = np.random.default_rng(0), 6
    for _ in range(8):
        begin = np.cumsum([0, *rng.integers(1, 9, d)])
        sets = np.array([rng.integers(1 << d) & ~(1 << v) for v in range(d) for _ in range(begin[v], begin[v + 1])])
        sets[begin[1:] - 1] = 0
        values = np.concatenate([np.sort(-rng.exponential(size=n))[::-1] for n in np.diff(begin)])

        def of(order: tuple[int, ...], sets: Any = sets, begin: Any = begin, values: Any = values) -> float:
            masks = {v: sum(1 << u for u in order[:i]) for i, v in enumerate(order)}
            each = ([s for p, s in zip(sets[a:b], values[a:b], strict=True) if not p & ~masks[v]]
                    for v, a, b in zip(range(d), begin, begin[1:], strict=False))  # fmt: skip
            return sum(map(max, each))

        top = max(map(of, permutations(range(d))))
        asked = sets.astype(np.int64), values, begin
        score, order, met = _core.best_order(*asked, top - 1e-9, 1 << 20)
        assert score == pytest.approx(top)
        assert of(tuple(order)) == pytest.approx(top)
        assert met <= 1 << d
        assert _core.best_order(*asked, top + 1e-9, 1 << 20)[1] == []


def test_what_does_not_fit_in_memory_is_refused() -> None:
    table = planted(12, 300)
    scores = Scores(np.ascontiguousarray(table.to_numpy().astype(np.int32).T), (2,) * 12, score_rule("bic"))
    limits = Limits(np.zeros((12, 12), bool), np.zeros((12, 12), bool), np.full(12, 2))
    with pytest.raises(MemoryRefusal, match=r"sets of columns .* more than 0\.0 GB hold; give max_parents"):
        optimal(scores, limits, lambda: -1e9, memory=1000)


def test_columns_apart_are_ordered_apart() -> None:
    """Two tables side by side: the best graph joins those of each; both are small, the whole is not."""
    one, other = planted(14, 2000, seed=1), planted(14, 2000, seed=2).add_prefix("d")
    both = bk.learn_network(one.join(other), search="exact", max_parents=2)
    parts = [bk.learn_network(part, search="exact", max_parents=2) for part in (one, other)]
    assert both.search_.score == pytest.approx(sum(part.search_.score for part in parts), rel=1e-12)


@pytest.mark.parametrize("seed", [5, 11])
def test_orders_lead_past_peaks_to_the_best_graph(seed: int) -> None:
    """Columns of three states that hang on two others each; climbing stops below the best graph."""
    rng, n = np.random.default_rng(seed), 500
    codes = rng.integers(0, 3, (12, n))
    for i in range(2, 12):
        a, b = rng.choice(i, 2, replace=False)
        told = rng.integers(0, 3, (3, 3))[codes[a], codes[b]]
        codes[i] = np.where(rng.random(n) < 0.7, told, rng.integers(0, 3, n))
    table = pd.DataFrame(codes.T, columns=[f"c{i:02}" for i in range(12)]).astype(str)
    climbed, ordered, exact = (
        bk.learn_network(table, search=search, max_parents=3).search_.score
        for search in ("hill-climb", "order", "exact")
    )
    assert climbed < ordered - 1
    assert ordered == pytest.approx(exact, rel=1e-12)


def test_the_best_step_is_that_of_all_steps() -> None:
    """Graphs drawn at random, every step tried by hand; numbers of nodes around a word of bits."""
    rng = np.random.default_rng(0)
    for nodes in (1, 2, 5, 9, 64, 66):
        order = rng.permutation(nodes)
        arcs = np.tril(rng.random((nodes, nodes)) < 3 / (nodes + 2), -1)[np.ix_(order, order)]
        gain = np.round(rng.normal(size=(nodes, nodes)), 1)
        gain[rng.random((nodes, nodes)) < 0.1] = -np.inf
        recent = rng.integers(nodes, size=(3, 2))
        late, found = {frozenset(arc) for arc in recent.tolist()}, (-np.inf, 0, 0, 0)
        for move, child, parent in product(range(3), range(nodes), range(nodes)):
            if child == parent or arcs[child, parent] != (move > 0) or (move == 0 and arcs[parent, child]):
                continue
            after = arcs.copy()
            after[child, parent], after[parent, child] = move == 0, move == 2
            value = gain[child, parent] + (gain[parent, child] if move == 2 else 0.0)
            barred = frozenset((child, parent)) in late and value <= 1.5
            if value > found[0] and not barred and (move == 1 or not np.linalg.matrix_power(after * 1.0, nodes).any()):
                found = value, move, child, parent
        assert _core.best_step(arcs, gain, recent, 1.5, 0.0, 0) == found
    with pytest.raises(ValueError, match="cycle"):
        _core.best_step(~np.eye(2, dtype=bool), np.zeros((2, 2)), np.empty((0, 2), np.int64), 0.0, 0.0, 0)


def test_tabu_search_gives_a_column_of_one_state_no_arcs() -> None:
    """They would cost nothing, so that the walk downhill would add all, and score tables of all columns together."""
    data = drawn(2).assign(one="x")
    net = bk.learn_network(data, search="tabu")
    assert not any("one" in edge for edge in net.edges)
    assert net.search_.families <= bk.learn_network(data.drop(columns="one"), search="tabu").search_.families + 9


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"tiers": "abcd"}, "list of columns"),
        ({"tiers": [["a"], ["a", "b"]]}, "'a' twice"),
        ({"roots": ["e"]}, "'e', which is no column"),
        ({"roots": ["a"], "required": [("b", "a")]}, "required and forbidden"),
    ],
)
def test_bad_limits_are_refused(settings: dict[str, object], told: str) -> None:
    with pytest.raises((InputError, NetworkError), match=told):
        bk.learn_network(drawn(0), **settings)  # type: ignore[arg-type]


# -- equivalence -------------------------------------------------------------------------------------


def signature(
    graph: dict[str, tuple[str, ...]],
) -> tuple[frozenset[frozenset[str]], frozenset[tuple[str, frozenset[str]]]]:
    """Edges, and where arcs meet whose other ends are not joined: the same in equivalent graphs (Verma and Pearl)."""
    edges = frozenset(frozenset((p, n)) for n, parents in graph.items() for p in parents)
    met = frozenset(
        (n, frozenset(pair)) for n, ps in graph.items() for pair in combinations(ps, 2) if frozenset(pair) not in edges
    )
    return edges, met


def test_patterns_hold_what_all_equivalent_graphs_share() -> None:
    classes: dict[object, list[dict[str, tuple[str, ...]]]] = {}
    for graph in graphs():
        classes.setdefault(signature(graph), []).append(graph)
    assert len(classes) == 185  # of the 543 graphs of four nodes (Gillispie and Perlman 2001)
    assert len(graphs()) == 543
    for members in classes.values():
        arcs = [{(p, n) for n, parents in graph.items() for p in parents} for graph in members]
        shared = set.intersection(*arcs)
        free = {frozenset(arc) for arc in set.union(*arcs) - shared}
        for graph in members:
            found = Pattern.of(Graph(graph))
            assert (set(found.arcs), set(found.edges)) == (shared, free)


def test_distances_count_edges() -> None:
    def net(*edges: str) -> bk.Network:
        return bk.Network([tuple(e) for e in edges], nodes=list(NODES))

    assert net("ab", "bc").structural_distance(net("cb", "ba")) == 0  # equivalent
    assert net("ab", "cb").structural_distance(net("ab", "bc")) == 2  # both edges lose their arrows
    assert net("ab").structural_distance(net("ab", "cd")) == 1
    assert len(net("ab", "cb", "bd").cpdag().arcs) == 3
    with pytest.raises(NetworkError, match="different nodes"):
        net().structural_distance(bk.Network(nodes=["a"]))


# -- resampled rows ----------------------------------------------------------------------------------


def test_strengths_are_shares_of_resampled_rows() -> None:
    """An arc that most samples show, and a column that hangs on nothing; tables of all rows."""
    data = drawn(3).assign(e=np.random.default_rng(0).choice(["x", "y"], 300))
    net = bk.average_network(data, samples=25)
    strong = {edge for edge, share in net.search_.edges.items() if share > 0.5}
    assert {frozenset(e) for e in net.edges} == strong
    assert frozenset("bc") in strong
    assert not any("e" in edge for edge in strong)
    assert all(0 < share <= 1 for share in net.search_.arcs.values())
    rng, wanted = np.random.default_rng(0), 0  # the same samples, by hand
    for _ in range(25):
        rows = data.iloc[np.sort(rng.integers(0, len(data), len(data)))]
        wanted += any(set(e) == set("bc") for e in bk.learn_network(rows).edges)
    assert net.search_.edges[frozenset("bc")] == pytest.approx(wanted / 25)
    again = bk.Network(net.edges, nodes=list(data)).fit(data)
    assert net.digest == again.digest
    for settings in ({"samples": 0}, {"threshold": 1.0}, {"sample_weight": [1.0]}):
        with pytest.raises(InputError):
            bk.average_network(data, **settings)  # type: ignore[arg-type]
