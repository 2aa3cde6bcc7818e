"""Numbers in networks: against multivariate normals of SciPy, least squares of NumPy, and figures of bnlearn."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

import bayeskit as bk
from bayeskit.errors import InputError, KindError, NetworkError
from bayeskit.networks.number_score import MixedScores

EDGES = [("a", "b"), ("a", "x"), ("x", "y"), ("b", "y"), ("x", "z"), ("y", "z"), ("c", "w"), ("z", "w")]
LEVELS = {"a": ["u", "v"], "b": ["k", "l", "m"], "c": [True, False]}
NUMBERS = ("x", "y", "z", "w")


def given(seed: int = 0) -> bk.Network:
    """A network whose parameters are drawn by NumPy."""
    rng = np.random.default_rng(seed)

    def row(parents: list[str]) -> dict[str, Any]:
        slopes = {p: float(rng.normal()) for p in parents}
        return {"intercept": float(rng.normal() * 2), "slopes": slopes, "deviation": float(rng.uniform(0.3, 2))}

    def share(states: list[Any]) -> dict[Any, float]:
        p = rng.dirichlet(np.ones(len(states)))
        return dict(zip(states, p.tolist(), strict=True))

    tables: dict[str, Any] = {
        "a": share(LEVELS["a"]),
        "b": {s: share(LEVELS["b"]) for s in LEVELS["a"]},
        "c": share(LEVELS["c"]),
        "x": {s: row([]) for s in LEVELS["a"]},
        "y": {s: row(["x"]) for s in LEVELS["b"]},
        "z": row(["x", "y"]),
        "w": {s: row(["z"]) for s in LEVELS["c"]},
    }
    return bk.Network(EDGES, tables)


class Brute:
    """All configurations of the levels, each with its normal of all numbers."""

    def __init__(self, net: bk.Network) -> None:
        self.names = NUMBERS
        self.cells = []
        for labels in product(*LEVELS.values()):
            state = dict(zip(LEVELS, labels, strict=True))
            p = 1.0
            for node in LEVELS:
                table = net.table(node)
                at = tuple(table.states[i].index(state[n]) for i, n in enumerate((*table.parents, node)))
                p *= float(table.probabilities[at])
            mean, spread = np.zeros(4), np.zeros((4, 4))
            for j, node in enumerate(NUMBERS):
                one = net.table(node)
                at = tuple(one.states[i].index(state[n]) for i, n in enumerate(one.levels))
                mean[j], spread[j, j] = one.intercept[at], one.deviation[at]
                for slope, parent in zip(one.slopes[at], one.numbers, strict=True):
                    mean[j] += slope * mean[NUMBERS.index(parent)]
                    spread[j] += slope * spread[NUMBERS.index(parent)]
            self.cells.append((state, p, mean, spread @ spread.T))

    def weights(self, evidence: dict[str, Any]) -> tuple[np.ndarray, float]:
        """Of the configurations given the evidence, and its log density."""
        seen = [NUMBERS.index(n) for n in evidence if n in NUMBERS]
        values = [evidence[NUMBERS[j]] for j in seen]
        logs = []
        for state, p, mean, cov in self.cells:
            fits = all(state[n] == v for n, v in evidence.items() if n in LEVELS)
            density = multivariate_normal(mean[seen], cov[np.ix_(seen, seen)]).logpdf(values) if seen else 0.0
            logs.append(np.log(p) + density if fits else -np.inf)
        total = float(logsumexp(logs))
        return np.exp(np.array(logs) - total), total

    def level(self, node: str, evidence: dict[str, Any]) -> dict[Any, float]:
        weights, _ = self.weights(evidence)
        return {s: sum(w for w, c in zip(weights, self.cells, strict=True) if c[0][node] == s) for s in LEVELS[node]}

    def normals(self, node: str, evidence: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights, means and deviations of the normals of a number given the evidence."""
        weights, _ = self.weights(evidence)
        seen, j = [NUMBERS.index(n) for n in evidence if n in NUMBERS], NUMBERS.index(node)
        found = []
        for _, _, mean, cov in self.cells:
            if seen:
                gain = np.linalg.solve(cov[np.ix_(seen, seen)], cov[seen, j])
                away = np.array([evidence[NUMBERS[k]] for k in seen]) - mean[seen]
                found.append((mean[j] + gain @ away, np.sqrt(cov[j, j] - gain @ cov[seen, j])))
            else:
                found.append((mean[j], np.sqrt(cov[j, j])))
        means, deviations = np.array(found).T
        return weights, means, deviations


CASES: list[dict[str, Any]] = [
    {},
    {"x": 0.4},
    {"w": 2.0},
    {"z": -1.0, "a": "v"},
    {"x": 0.1, "y": 0.2, "z": 0.3, "w": 0.4},
    {"y": 1.5, "w": -3.0, "b": "m"},
    {"w": 40.0, "z": -40.0},
    {"a": "u", "b": "k", "c": True, "w": 0.0},
]


@pytest.mark.parametrize("evidence", CASES, ids=str)
def test_answers_are_those_of_all_normals(evidence: dict[str, Any]) -> None:
    net = given()
    brute = Brute(net)
    for node in LEVELS:
        assert dict(net.query(node, evidence)) == pytest.approx(brute.level(node, evidence), rel=1e-9, abs=1e-12)
    if evidence:
        assert np.log(net.probability(evidence)) == pytest.approx(brute.weights(evidence)[1], rel=1e-10)
    for node in NUMBERS:
        if node in evidence:
            assert (net.query(node, evidence).mean, net.query(node, evidence).deviation) == (evidence[node], 0.0)
            continue
        weights, means, deviations = brute.normals(node, evidence)
        found = net.query(node, evidence)
        mean = weights @ means
        assert found.mean == pytest.approx(mean, rel=1e-9, abs=1e-9)
        wanted = np.sqrt(weights @ (deviations**2 + (means - mean) ** 2))
        assert found.deviation == pytest.approx(wanted, rel=1e-9)
        for p in (0.01, 0.5, 0.9):
            assert weights @ norm.cdf(found.quantile(p), means, deviations) == pytest.approx(p, abs=1e-9)
        assert found.cdf(0.3) == pytest.approx(weights @ norm.cdf(0.3, means, deviations), abs=1e-10)
        assert found.density(0.3) == pytest.approx(weights @ norm.pdf(0.3, means, deviations), rel=1e-9)


def test_a_batch_with_missing_values_is_asked_row_by_row_and_by_elimination(monkeypatch: pytest.MonkeyPatch) -> None:
    net = given(1)
    rows = net.sample(60, random_state=2).astype(object)
    rows = rows.mask(np.random.default_rng(3).random(rows.shape) < 0.4)
    rows = rows.astype(dict.fromkeys(NUMBERS, float))
    brute = Brute(net)
    cases = [{n: v for n, v in row.items() if not pd.isna(v)} for row in rows.to_dict("records")]
    wanted = [brute.weights(case)[1] for case in cases]
    levels = [list(brute.level("b", {n: v for n, v in case.items() if n != "b"}).values()) for case in cases]
    means = [net.query("y", {n: v for n, v in case.items() if n != "y"}).mean for case in cases]
    for enumerated in (1 << 12, 1):  # by the sum over all configurations, and by scopes as nodes
        monkeypatch.setattr("bayeskit.networks.hybrid.ENUMERATED", enumerated)
        assert net.log_evidence(rows) == pytest.approx(wanted, rel=1e-9, abs=1e-9)
        assert net.predict_proba(rows, "b") == pytest.approx(np.array(levels), abs=1e-9)
        assert net.predict(rows, "y") == pytest.approx(means, rel=1e-9, abs=1e-9)


def test_evidence_a_thousand_nats_apart_is_weighed_in_logarithms() -> None:
    """Two numbers, each sure of another class by more than a double can hold."""
    spec = {"u": {"intercept": 0.0, "deviation": 1.0}, "v": {"intercept": 60.0, "deviation": 1.0}}
    net = bk.Network([("a", "x"), ("a", "y")], {"a": {"u": 0.5, "v": 0.5}, "x": spec, "y": spec})
    assert net.query("a", {"x": 0.0, "y": 60.02})["v"] == pytest.approx(1 / (1 + np.exp(-60 * 0.02)), rel=1e-9)


def test_draws_follow_the_network() -> None:
    net, n = given(4), 40_000
    brute = Brute(net)
    for evidence in ({}, {"w": 1.0, "b": "l"}):
        rows = net.sample(n, evidence, random_state=0)
        for node in LEVELS:
            if node not in evidence:
                for state, p in brute.level(node, evidence).items():
                    assert (rows[node] == state).mean() == pytest.approx(p, abs=4 * np.sqrt(0.25 / n))
        for node in NUMBERS:
            if node not in evidence:
                weights, means, deviations = brute.normals(node, evidence)
                mean = weights @ means
                deviation = np.sqrt(weights @ (deviations**2 + (means - mean) ** 2))
                assert rows[node].mean() == pytest.approx(mean, abs=4 * deviation / np.sqrt(n))
                assert rows[node].std() == pytest.approx(deviation, rel=0.05)
        assert list(rows) == list(net.nodes)


# -- learning ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return given(5).sample(900, random_state=6)


def least_squares(rows: pd.DataFrame, node: str, parents: list[str]) -> tuple[np.ndarray, float]:
    A = np.column_stack([np.ones(len(rows)), *(rows[p] for p in parents)])
    found, *_ = np.linalg.lstsq(A, rows[node].to_numpy(), rcond=None)
    return found, float(np.sqrt(np.mean((rows[node] - A @ found) ** 2)))


def test_regressions_are_least_squares_in_every_cell(rows: pd.DataFrame) -> None:
    net = bk.Network(EDGES).fit(rows, smoothing=0)
    for node, level, parents in (("x", "a", []), ("y", "b", ["x"]), ("w", "c", ["z"])):
        one = net.table(node)
        for i, state in enumerate(net.states(level)):
            found, deviation = least_squares(rows[rows[level] == state], node, parents)
            assert [one.intercept[i], *one.slopes[i]] == pytest.approx(found, rel=1e-9)
            assert one.deviation[i] == pytest.approx(deviation, rel=1e-9)
    found, deviation = least_squares(rows, "z", ["x", "y"])
    one = bk.Network(EDGES).fit(rows).table("z")  # one cell: smoothing has nothing to lean on
    assert [float(one.intercept), *one.slopes, float(one.deviation)] == pytest.approx([*found, deviation], rel=1e-9)


def test_smoothing_leans_a_cell_on_the_variation_within_all() -> None:
    """Three cells of 4, 2 and 0 rows, by hand."""
    data = pd.DataFrame({"k": [*"aaaa", *"bb"], "x": [1.0, 2.0, 3.0, 6.0, 10.0, 14.0]})
    one = bk.Network([("k", "x")], states={"k": ["a", "b", "c"]}).fit(data, smoothing=2.0).table("x")
    within = (14.0 + 8.0) / 6
    assert one.mean == pytest.approx([3.0, 12.0, 6.0])
    assert one.deviation**2 == pytest.approx([(14 + 2 * within) / 6, (8 + 2 * within) / 4, np.var(data.x)])


def test_learning_is_algebra_and_files_hold_it(rows: pd.DataFrame, tmp_path: Path) -> None:
    holes = rows.astype(object).mask(np.random.default_rng(0).random(rows.shape) < 0.1)
    holes = holes.astype(dict.fromkeys(NUMBERS, float))
    whole = bk.Network(EDGES).fit(holes)
    first, second = bk.Network(EDGES).fit(holes[:400]), bk.Network(EDGES).fit(holes[400:])
    assert (first + second).digest == whole.digest
    assert bk.Network(EDGES).fit(holes.sample(frac=1, random_state=1)).digest == whole.digest
    first.save(tmp_path / "n.bayes")
    loaded = bk.load(tmp_path / "n.bayes")
    assert loaded.digest == first.digest
    assert loaded.partial_fit(holes[400:]).digest == whole.digest
    assert loaded.forget(holes[400:]).digest == first.digest
    assert loaded.query("w", {"x": 1.0}).mean == first.query("w", {"x": 1.0}).mean
    complete = holes.dropna(subset=["x", "y", "z"])  # a family is counted where it is complete
    found, deviation = least_squares(complete, "z", ["x", "y"])
    assert whole.table("z").slopes == pytest.approx(found[1:], rel=1e-9)
    assert float(whole.table("z").deviation) == pytest.approx(deviation, rel=1e-9)
    weights = np.random.default_rng(1).integers(0, 3, len(rows))
    one = bk.Network(EDGES).fit(rows, sample_weight=weights)
    assert one.digest == bk.Network(EDGES).fit(rows.loc[rows.index.repeat(weights)]).digest


def test_large_numbers_far_from_zero_keep_their_digits(rows: pd.DataFrame) -> None:
    moved = rows.assign(x=rows.x * 2.0**40 + 2.0**60, y=rows.y * 2.0**-30)
    one, two = bk.Network(EDGES).fit(rows, smoothing=0), bk.Network(EDGES).fit(moved, smoothing=0)
    x = float(moved.x[0])
    back = {"x": (x - 2.0**60) / 2.0**40}
    assert two.query("y", {"x": x}).mean * 2.0**30 == pytest.approx(one.query("y", back).mean, rel=1e-4)
    assert two.query("y", {"x": x}).deviation * 2.0**30 == pytest.approx(one.query("y", back).deviation, rel=1e-6)


def test_em_climbs_to_the_maximum_of_a_normal_with_missing_values() -> None:
    """y is missing at random given x: the maximum is known in closed form, by the factored likelihood."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=400)
    y = 1 + 2 * x + rng.normal(size=400)
    data = pd.DataFrame({"x": x, "y": np.where(x > 0.3, np.nan, y)})
    net = bk.Network([("x", "y")]).fit(data, "em", smoothing=0, tolerance=1e-13, iterations=5000)
    seen = data.dropna()
    found, deviation = least_squares(seen, "y", ["x"])
    one = net.table("y")
    assert [float(one.intercept), *one.slopes, float(one.deviation)] == pytest.approx([*found, deviation], rel=1e-4)
    assert net.query("x").mean == pytest.approx(x.mean())
    turned = bk.Network([("y", "x")]).fit(data, "em", smoothing=0, tolerance=1e-13, iterations=5000)
    assert turned.query("y").mean == pytest.approx(found[0] + found[1] * x.mean(), rel=1e-4)  # the mean of all rows
    assert abs(seen.y.mean() - turned.query("y").mean) > 0.3  # which the rows that have it are far from
    assert turned.log_likelihood(data) == pytest.approx(net.log_likelihood(data), rel=1e-7)
    path = turned.learned_.path
    assert all(b >= a - 1e-9 * abs(a) for a, b in pairwise(path))


def test_em_finds_a_hidden_level_behind_numbers(tmp_path: Path) -> None:
    """Two normals of known place: the log-likelihood is that of the truth or better."""
    rng = np.random.default_rng(8)
    k = rng.random(600) < 0.35
    data = pd.DataFrame(
        {"x": np.where(k, 4.0, 0.0) + rng.normal(size=600), "y": np.where(k, -3, 1) + rng.normal(size=600)}
    )
    net = bk.Network([("k", "x"), ("k", "y")], states={"k": 2}).fit(data, "em", smoothing=0.1, random_state=1)
    truth = logsumexp(
        [
            np.log(0.35) + norm.logpdf(data.x, 4) + norm.logpdf(data.y, -3),
            np.log(0.65) + norm.logpdf(data.x) + norm.logpdf(data.y, 1),
        ],
        axis=0,
    ).sum()
    assert net.log_likelihood(data) > truth
    assert sorted(net.table("x").mean) == pytest.approx([0, 4], abs=0.3)
    net.save(tmp_path / "n.bayes")
    loaded = bk.load(tmp_path / "n.bayes")
    assert loaded.digest == net.digest
    assert loaded.forget(data[:100]).log_likelihood(data[100:]) > net.log_likelihood(data[100:]) - 1e-3


# -- scores ------------------------------------------------------------------------------------------


def test_scores_are_those_of_bnlearn(rows: pd.DataFrame) -> None:
    """bic-g by its definition: n - p - 1 degrees of freedom; a cell of levels is a regression of its own."""
    net, total = bk.Network(EDGES).fit(rows, smoothing=0), 0.0
    sizes = {n: len(LEVELS[n]) for n in LEVELS}
    codes = np.array([[net.states(n).index(v) for v in rows[n]] for n in LEVELS], dtype=np.int32)
    values = rows[list(NUMBERS)].to_numpy().T.copy()
    names = [*LEVELS, *NUMBERS]
    scores = MixedScores.of(names, sizes, (codes, values), "bic", 1.0, None)
    for node, level, parents in (("x", "a", []), ("y", "b", ["x"]), ("z", None, ["x", "y"]), ("w", "c", ["z"])):
        cells = [rows] if level is None else [rows[rows[level] == s] for s in LEVELS[level]]
        wanted = -np.log(len(rows)) / 2 * len(cells) * (len(parents) + 2)
        for cell in cells:
            A = np.column_stack([np.ones(len(cell)), *(cell[p] for p in parents)])
            found, *_ = np.linalg.lstsq(A, cell[node].to_numpy(), rcond=None)
            rest = cell[node] - A @ found
            deviation = np.sqrt((rest**2).sum() / (len(cell) - len(parents) - 1))
            wanted += norm.logpdf(rest, 0, deviation).sum()
        family = [names.index(n) for n in ([level] if level else []) + parents]
        assert scores(names.index(node), family) == pytest.approx(wanted, rel=1e-10)
        total += wanted
    assert scores(names.index("a"), [names.index("x")]) == -np.inf


def test_the_structure_of_a_known_network_is_found(rows: pd.DataFrame) -> None:
    big = given(5).sample(4000, random_state=9)
    net = bk.learn_network(big)
    assert {frozenset(e) for e in net.edges} >= {frozenset(e) for e in EDGES}
    assert len(net.edges) <= len(EDGES) + 1
    assert not [e for e in net.edges if e[0] in NUMBERS and e[1] in LEVELS]


def test_missing_values_do_not_attract_arcs() -> None:
    """Independent columns, a third of them missing: no more arcs than in the whole tables; and a chain is found."""
    false, hidden, chains = 0, 0, 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        alone = pd.DataFrame(rng.normal(size=(1000, 4)), columns=list("pqrs")).assign(k=rng.choice(list("uv"), 1000))
        false += len(bk.learn_network(alone).edges)
        hidden += len(bk.learn_network(alone.mask(rng.random(alone.shape) < 0.35)).edges)
        k, noise = rng.random(1000) < 0.5, rng.normal(size=(3, 1000))
        x = np.where(k, 2.0, 0.0) + noise[0]
        chain = pd.DataFrame({"k": np.where(k, "u", "v"), "x": x, "y": x + noise[1], "z": noise[2]})
        found = bk.learn_network(chain.mask(rng.random(chain.shape) < 0.25))
        chains += {frozenset(e) for e in found.edges} == {frozenset("kx"), frozenset("xy")}
    assert hidden <= false + 2
    assert chains >= 5


# -- what bad input gets -----------------------------------------------------------------------------


def test_bad_input_is_refused_by_node(rows: pd.DataFrame) -> None:
    net = given()
    data = pd.DataFrame({"age": [1.0, 2.0, 4.0], "k": ["a", "b", "a"], "c": [1.0, 1.0, 1.0], "d": [2.0, 4.0, 8.0]})
    with pytest.raises(NetworkError, match=r"'k' has levels, and the number 'age'.*cuts=\{'age'"):
        bk.Network([("age", "k")]).fit(data[["age", "k"]])
    with pytest.raises(NetworkError, match="number 'c' is constant"):
        bk.Network([], nodes=["c"]).fit(data[["c"]])
    with pytest.raises(NetworkError, match="'d' is an exact linear function of age"):
        bk.Network([("age", "d")]).fit(data[["age", "d"]])
    wide = rows.assign(x2=rows.x * 2)[["x", "x2", "y"]]
    with pytest.raises(NetworkError, match=r"'y' cannot be learned: the numbers above it \(x, x2\) depend"):
        bk.Network([("x", "y"), ("x2", "y")]).fit(wide)
    with pytest.raises(NetworkError, match=r"'age' has a single value in the rows where k = b, .*; pass smoothing"):
        bk.Network([("k", "age")]).fit(data[["age", "k"]], smoothing=0)
    with pytest.raises(InputError, match="'x' is 'many'; give a finite number"):
        net.query("y", {"x": "many"})
    with pytest.raises(InputError, match="finite"):
        net.query("y", {"x": float("inf")})
    with pytest.raises(InputError, match="ask for it alone"):
        net.query(["a", "x"])
    with pytest.raises(NetworkError, match="'x' is a number and has no states"):
        net.predict_proba(rows, "x")
    with pytest.raises(NetworkError, match="levels alone"):
        net.most_probable({"x": 1.0})
    with pytest.raises(NetworkError, match="levels alone"):
        net.query("a", {"x": 1.0}, approximate="gibbs")
    with pytest.raises(KindError, match="'x' is nominal"):
        net.log_evidence(pd.DataFrame({"x": ["one"]}))
    with pytest.raises(InputError, match="quantile"):
        net.query("x").quantile(1.0)
    with pytest.raises(InputError, match="score='bdeu' is for levels alone"):
        bk.learn_network(rows, score="bdeu")
    with pytest.raises(InputError, match='"bge" is for numbers alone'):
        bk.learn_network(rows, score="bge")
    with pytest.raises(InputError, match='choose "em"'):
        bk.Network(EDGES).fit(rows, "gradient")
    with pytest.raises(NetworkError, match="'a' has levels, and the number 'x'"):
        bk.learn_network(rows, required=[("x", "a")])
    flat = rows.assign(x=np.where(rows.a == rows.a.iloc[0], 1.0, rows.x))
    with pytest.raises(NetworkError, match=r"'x' cannot be learned given .* \('a'\): .*require fewer arcs"):
        bk.learn_network(flat, required=[("a", "x")])
    with pytest.raises(NetworkError, match="no mean for"):
        bk.Network([("k", "x")], {"k": {"u": 0.5, "v": 0.5}, "x": {"u": {"intercept": 0.0, "deviation": 1.0}}})
    with pytest.raises(NetworkError, match="deviation that is not above 0"):
        bk.Network([], {"x": {"intercept": 0.0, "deviation": 0.0}})
    with pytest.raises(NetworkError, match="slopes of 'y' must name the numbers above it"):
        bk.Network([("x", "y")], {n: {"intercept": 0.0, "deviation": 1.0} for n in "xy"})


def test_the_schema_says_what_each_node_is(rows: pd.DataFrame) -> None:
    net = bk.Network([("a", "x"), ("a", "y")]).fit(rows[["a", "x", "y"]], cuts={"y": [0.0]})
    shown = str(net.schema_)
    assert "linear normal" in shown
    assert "2 intervals" in shown
    assert "cut at 0" in shown
    assert net.query("a", {"x": 0.0, "y": 3.0}) == net.query("a", {"x": 0.0, "y": "(0, inf)"})
