"""Tests of independence against SciPy and fractions; PC and max-min against d-separation; BGe against Student's t."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayeskit as bk
from bayeskit.errors import InputError, NetworkError
from bayeskit.networks.equivalence import Pattern
from bayeskit.networks.graph import Graph
from bayeskit.networks.independence import Independence, Outcome, _drawn_p, exact_p
from bayeskit.networks.number_score import MixedScores
from bayeskit.networks.search import Limits
from bayeskit.networks.skeleton import Skeleton, extend


def levels(n: int, seed: int = 0) -> np.ndarray:
    """z -> x, z -> y, and w beside them: codes of 3, 2, 4 and 2 states."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, n)
    x = (z + (rng.random(n) < 0.3)) % 2
    y = (z + rng.integers(0, 2, n)) % 4
    return np.array([z, x, y, rng.integers(0, 2, n)], dtype=np.int32)


SIZES = (3, 2, 4, 2)


def g2(a: np.ndarray, b: np.ndarray, strata: np.ndarray) -> tuple[float, int]:
    """By SciPy, stratum by stratum."""
    statistic, free = 0.0, 0
    for s in np.unique(strata):
        table = pd.crosstab(a[strata == s], b[strata == s]).to_numpy()
        if min(table.shape) > 1:
            found = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
            statistic, free = statistic + found.statistic, free + found.dof
    return statistic, free


@pytest.mark.parametrize(("a", "b", "given"), [(1, 2, ()), (1, 2, (0,)), (0, 2, (1, 3)), (1, 3, (0, 2))])
def test_g2_is_that_of_scipy_in_every_stratum(a: int, b: int, given: tuple[int, ...]) -> None:
    codes = levels(900)
    strata = np.ravel_multi_index(codes[list(given)], [SIZES[n] for n in given]) if given else np.zeros(900, int)
    statistic, free = g2(codes[a], codes[b], strata)
    found = Independence(codes, SIZES, test="g2")(a, b, given)
    assert found.statistic == pytest.approx(statistic, rel=1e-9)
    assert found.p == pytest.approx(stats.chi2.sf(statistic, free), rel=1e-9)


def by_permutation(tables: list[list[tuple[int, int]]]) -> Fraction:
    """Of pairs in strata: the share of all permutations of the second within the strata with as large a G^2."""

    def inside(pairs: list[tuple[int, int]]) -> float:
        return sum(n * np.log(n) for n in Counter(pairs).values())

    every = [
        Counter(
            round(inside(list(zip([a for a, _ in some], ordered, strict=True))), 9)
            for ordered in permutations([b for _, b in some])
        )
        for some in tables
    ]
    seen = sum(inside(some) for some in tables)
    whole = extreme = 0
    for some in product(*(c.items() for c in every)):
        times = int(np.prod([n for _, n in some], dtype=object))
        whole += times
        extreme += times * (sum(v for v, _ in some) >= seen - 1e-6)
    return Fraction(extreme, whole)


@pytest.mark.parametrize("seed", range(4))
def test_exact_p_values_are_shares_of_all_permutations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    strata = [[(int(a), int(b)) for a, b in rng.integers(0, (2, 3), (n, 2))] for n in (7, 6)]
    tables = [pd.crosstab([a for a, _ in s], [b for _, b in s]).to_numpy(dtype=float) for s in strata]
    wanted = float(by_permutation(strata))
    assert exact_p(tables) == pytest.approx(wanted, rel=1e-9)
    seen = sum(float((t[t > 0] * np.log(t[t > 0])).sum()) for t in tables)
    assert _drawn_p(tables, seen - 1e-9, 0) == pytest.approx(wanted, abs=0.15)


def test_few_rows_are_tested_exactly_and_drawn_tables_agree() -> None:
    codes = levels(30, 5)
    found = Independence(codes, SIZES)(1, 3)
    table = pd.crosstab(codes[1], codes[3]).to_numpy(dtype=float)
    assert found.p == Independence(codes, SIZES, test="g2")(1, 3).p  # 30 rows suffice for four cells
    assert Independence(codes, SIZES, test="exact")(1, 3).p == pytest.approx(exact_p([table]))
    large = np.random.default_rng(0).multinomial(60, np.full(20, 0.05)).reshape(4, 5).astype(float)  # too many to write
    ours, theirs = exact_p([large]), stats.chi2_contingency(large, lambda_="log-likelihood").pvalue
    assert ours == pytest.approx(theirs, abs=0.12)  # 60 rows in 20 cells are few for the chi-square distribution


def test_exact_p_values_hold_their_level_where_chi_square_does_not() -> None:
    """Independent columns, 40 rows in 3 x 2 x 2 x 4 cells: at most 5 % of exact p-values lie below 0.05."""
    exact, chi = [], []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        codes = np.array([rng.integers(0, k, 40) for k in SIZES], dtype=np.int32)
        exact.append(Independence(codes, SIZES, test="exact", seed=seed)(0, 2, (1, 3)).p)
        chi.append(Independence(codes, SIZES, test="g2")(0, 2, (1, 3)).p)
    assert np.mean(np.array(exact) <= 0.05) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 100)
    assert np.mean(np.array(chi) <= 0.05) > 0.1


def numbers(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    code = rng.integers(0, 3, (1, n)).astype(np.int32)
    a = rng.normal(size=n)
    b = a + rng.normal(size=n)
    c = b + 0.5 * code[0] + rng.normal(size=n)
    return code, np.array([a, b, c]) * 1e3 + 7.0


def mixed(code: np.ndarray, values: np.ndarray, **settings: object) -> Independence:
    every = np.vstack([code, np.zeros((3, code.shape[1]), dtype=np.int32)])
    return Independence(every, (3, 1, 1, 1), (-1, 0, 1, 2), values, **settings)  # type: ignore[arg-type]


def test_partial_correlations_are_those_of_residuals() -> None:
    code, (a, b, c) = numbers(60)
    design = np.column_stack([np.ones(60), b])
    rest = [v - design @ np.linalg.lstsq(design, v, rcond=None)[0] for v in (a, c)]
    r = stats.pearsonr(*rest).statistic
    wanted = 2 * stats.t.sf(
        abs(r) * np.sqrt(57 / (1 - r * r)), 57
    )  # one degree less than pearsonr, which knows of no b
    tests = mixed(code, np.array([a, b, c]))
    assert tests(1, 3, (2,)).p == pytest.approx(wanted, rel=1e-9)
    assert tests(1, 3).p == pytest.approx(stats.pearsonr(a, c).pvalue, rel=1e-9)


def test_a_level_and_a_number_are_tested_by_analysis_of_variance() -> None:
    code, values = numbers(90, 3)
    tests = mixed(code, values)
    groups = [values[2, code[0] == s] for s in range(3)]
    assert tests(0, 3).p == pytest.approx(stats.f_oneway(*groups).pvalue, rel=1e-9)
    each = [stats.pearsonr(values[0, code[0] == s], values[2, code[0] == s]).pvalue for s in range(3)]
    joined = stats.chi2.sf(sum(stats.chi2.isf(p, 1) for p in each), 3)  # Lancaster
    assert tests(1, 3, (0,)).p == pytest.approx(joined, rel=1e-9)
    design = np.column_stack([np.ones(90), values[1]])  # slopes and means by state against one line: Chow

    def rest(X: np.ndarray, y: np.ndarray) -> float:
        return float(((y - X @ np.linalg.lstsq(X, y, rcond=None)[0]) ** 2).sum())

    own = sum(rest(design[code[0] == s], values[2, code[0] == s]) for s in range(3))
    f = (rest(design, values[2]) - own) / 4 / (own / 84)
    assert tests(0, 3, (2,)).p == pytest.approx(stats.f.sf(f, 4, 84), rel=1e-7)
    with pytest.raises(InputError, match="two levels given numbers"):
        Independence(np.zeros((3, 9), np.int32), (1, 1, 1), (-1, -1, 0), np.zeros((1, 9)))(0, 1, (2,))


def test_weights_are_repetition_and_missing_rows_are_left_out() -> None:
    codes, (code, values) = levels(200, 1), numbers(200, 1)
    times = np.random.default_rng(1).integers(0, 4, 200)
    for given in ((), (0,)):
        one = Independence(codes, SIZES, weights=times.astype(float))(1, 2, given)
        assert one.p == pytest.approx(Independence(np.repeat(codes, times, axis=1), SIZES)(1, 2, given).p, rel=1e-9)
    for a, b, some in ((1, 3, (2,)), (0, 3, (1,)), (1, 2, (0,))):
        one = mixed(code, values, weights=times.astype(float))(a, b, some)
        two = mixed(np.repeat(code, times, axis=1), np.repeat(values, times, axis=1))(a, b, some)
        assert one.p == pytest.approx(two.p, rel=1e-8)
    holes, gone = codes.copy(), np.random.default_rng(2).random(200) < 0.3
    holes[0, gone] = -1
    kept = Independence(codes[:, ~gone], SIZES)(1, 2, (0,))
    assert Independence(holes, SIZES)(1, 2, (0,)).p == pytest.approx(kept.p, rel=1e-12)
    values[1, gone] = np.nan
    assert mixed(code, values)(1, 3, (2,)).p == pytest.approx(mixed(code[:, ~gone], values[:, ~gone])(1, 3, (2,)).p)


# -- graphs from d-separation --------------------------------------------------------------------------


class Oracle(Independence):
    """Knows the graph."""

    graph: Graph

    def __call__(self, a: int, b: int, given: object = ()) -> Outcome:
        parted = self.graph.d_separated(str(a), str(b), [str(n) for n in given])  # type: ignore[attr-defined]
        return Outcome(1.0 if parted else 0.0, 0.0 if parted else 1.0)


def oracle(seed: int, d: int = 7) -> tuple[Graph, Oracle, Limits]:
    rng = np.random.default_rng(seed)
    arcs = np.triu(rng.random((d, d)) < 0.35, 1)
    order = rng.permutation(d)
    edges = [(str(order[a]), str(order[b])) for a, b in np.argwhere(arcs)]
    tests = Oracle(np.zeros((d, 1), np.int32), (1,) * d)
    graph = Graph.of(edges, map(str, range(d)))
    object.__setattr__(tests, "graph", graph)
    none = np.zeros((d, d), dtype=bool)
    return graph, tests, Limits(none, none, np.full(d, d))


@pytest.mark.parametrize("seed", range(30))
def test_pc_finds_the_pattern_when_the_tests_are_right(seed: int) -> None:
    graph, tests, limits = oracle(seed)
    skeleton = Skeleton(tests, limits, 0.05)
    near, separators = skeleton.pc()
    found = skeleton.orient(near, separators, graph.nodes)
    assert found == Pattern.of(graph)
    assert Pattern.of(Graph.of(extend(found), graph.nodes)) == found
    joined = {frozenset((str(a), str(b))) for a, b in np.argwhere(skeleton.mmpc())}
    assert joined >= {frozenset(edge) for edge in graph.edges}
    if all(len(p) <= 1 for p in graph.parents.values()):
        assert joined == {frozenset(edge) for edge in graph.edges}


def weather() -> bk.Network:
    """u -> x -> y <- v, and x -> z."""
    noisy = {"0": {"0": 0.9, "1": 0.1}, "1": {"0": 0.2, "1": 0.8}}
    either = {("0", "0"): [0.95, 0.05], ("0", "1"): [0.3, 0.7], ("1", "0"): [0.25, 0.75], ("1", "1"): [0.05, 0.95]}
    given = {k: dict(zip("01", p, strict=True)) for k, p in either.items()}
    half = {"0": 0.5, "1": 0.5}
    tables = {"u": {"0": 0.6, "1": 0.4}, "v": half, "x": noisy, "y": given, "z": noisy}
    return bk.Network([("u", "x"), ("x", "y"), ("v", "y"), ("x", "z")], tables)


@pytest.mark.parametrize("search", ["pc", "mmhc"])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_a_known_graph_is_recovered_and_holes_attract_no_arcs(search: str, share: float) -> None:
    truth, false = weather(), 0
    for seed in range(3):
        rows = pd.DataFrame(truth.sample(4000, random_state=seed))
        rows["w"] = np.random.default_rng(seed).choice(["0", "1"], len(rows))  # depends on nothing
        rows = rows.mask(np.random.default_rng(seed + 9).random(rows.shape) < share, None)
        net = bk.learn_network(rows, search=search, alpha=0.01)
        found, wanted = ({frozenset(e) for e in edges} for edges in (net.edges, truth.edges))
        assert found >= wanted
        false += len(found - wanted)
        if search == "pc":
            assert {("x", "y"), ("v", "y")} <= net.search_.pattern.arcs
            assert net.search_.separators[frozenset("uz")] == ("x",)
            assert np.isnan(net.search_.score) == (share > 0)
    assert false <= 1


def test_pc_takes_numbers_beside_levels() -> None:
    """k -> a -> c, k -> b -> c."""
    rng = np.random.default_rng(0)
    k = rng.integers(0, 2, 1500)
    a, b = k + rng.normal(size=(2, 1500))
    c = a - b + rng.normal(size=1500)
    rows = pd.DataFrame({"k": np.where(k, "yes", "no"), "a": a, "b": b, "c": c})
    for search in ("pc", "mmhc"):
        net = bk.learn_network(rows, search=search, alpha=0.01)
        assert set(net.edges) == {("k", "a"), ("k", "b"), ("a", "c"), ("b", "c")}
    shuffled = bk.learn_network(rows[["c", "k", "b", "a"]], search="pc", alpha=0.01)
    assert set(shuffled.edges) == set(net.edges)


def test_limits_hold_for_tests_too() -> None:
    rows = pd.DataFrame(weather().sample(2000, random_state=0))
    for search in ("pc", "mmhc"):
        learn = lambda search=search, **more: set(bk.learn_network(rows, search=search, **more).edges)  # noqa: E731
        assert ("z", "x") in learn(required=[("z", "x")])
        assert not {("x", "y"), ("y", "x")} & learn(forbidden=[("x", "y"), ("y", "x")])
        assert not any(
            child in "xz" and parent in "yuv" for parent, child in learn(tiers=[["x", "z"], ["u", "v", "y"]])
        )
        assert not any(child == "x" for _, child in learn(roots=["x"]))
        assert not any(parent == "x" for parent, _ in learn(leaves=["x"]))
    for search in ("mmhc", "hill-climb", "tabu", "exact", "k2"):
        net = bk.learn_network(rows, search=search, score="bic", max_parents={"y": 1, "x": 0})
        assert len(net.parents("y")) <= 1
        assert not net.parents("x")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"alpha": 0}, "alpha=0"),
        ({"search": "pc", "test": "fisher"}, "test='fisher'"),
        ({"search": "pc", "depth": -1}, "depth=-1"),
        ({"search": "pc", "max_parents": 2}, "mmhc"),
        ({"max_parents": {"q": 1}}, "'q', which is no column"),
        ({"max_parents": {"x": -1}}, r"max_parents\['x'\]=-1"),
        ({"max_parents": {"x": 0}, "required": [("u", "x")]}, "'x' is required to have more parents"),
    ],
)
def test_settings_that_cannot_be_are_named(settings: dict[str, object], told: str) -> None:
    rows = pd.DataFrame(weather().sample(50, random_state=0))
    with pytest.raises((InputError, NetworkError), match=told):
        bk.learn_network(rows, **settings)  # type: ignore[arg-type]


# -- BGe ---------------------------------------------------------------------------------------------


def test_bge_is_the_marginal_likelihood_row_by_row() -> None:
    """The product of the predictive Student densities of SciPy, of the rows one after the other."""
    _, values = numbers(12)
    values = (values - 7) / 1e3
    d, ess = 3, 1.5
    scores = MixedScores.of(tuple("abc"), {}, (np.empty((0, 12), np.int32), values), "bge", ess, None)
    t = ess * (d + 2 - d - 1) / (ess + 1)

    def marginal(some: list[int]) -> float:
        x, k = values[some].T, len(some)
        mean, weight, free, scatter = x.mean(axis=0), ess, d + 2 - d + k, t * np.eye(k)
        found = 0.0
        for row in x:
            df = free - k + 1
            shape = scatter * (weight + 1) / (weight * df)
            found += stats.multivariate_t.logpdf(row, mean, shape, df)
            away = row - mean
            scatter = scatter + weight / (weight + 1) * np.outer(away, away)
            mean = mean + away / (weight + 1)
            weight, free = weight + 1, free + 1
        return found

    for node, parents in ((0, ()), (1, (0,)), (2, (0, 1)), (0, (1, 2))):
        wanted = marginal([*parents, node]) - (marginal(list(parents)) if parents else 0.0)
        assert scores(node, parents) == pytest.approx(wanted, rel=1e-10)
