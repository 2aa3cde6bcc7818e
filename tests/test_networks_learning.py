"""Learning the tables of a network: counts, their algebra, EM and gradient, and what wrong data get."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp

import bayeskit as bk
from bayeskit.errors import ForgetError, InputError, KindError, MergeError, ModelFileError, NetworkError
from bayeskit.storage import container, network_file

EDGES = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]


def drawn(n: int, seed: int) -> pd.DataFrame:
    """Rows of a known network, drawn by NumPy alone."""
    rng = np.random.default_rng(seed)
    a = rng.random(n) < 0.4
    b = rng.random(n) < np.where(a, 0.8, 0.3)
    c = rng.choice(3, n, p=[0.2, 0.5, 0.3])
    c = np.where(a, c, rng.choice(3, n, p=[0.6, 0.1, 0.3]))
    d = rng.random(n) < np.where(b, 0.9, 0.2) * np.where(c == 2, 0.5, 1.0)
    return pd.DataFrame({"a": a, "b": b, "c": [f"c{k}" for k in c], "d": d})


# -- counts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("smoothing", [0, 1.0, 2.5, "bdeu"])
def test_tables_are_smoothed_relative_frequencies(smoothing: object) -> None:
    X = drawn(200, 0)
    net = bk.Network(EDGES).fit(X, smoothing=smoothing, ess=6.0)
    family = ["b", "c", "d"]
    cells = 2 * 3 * 2
    alpha = Fraction(6, cells) if smoothing == "bdeu" else Fraction(smoothing)  # type: ignore[arg-type]
    states = [net.states(n) for n in family]
    for i, b in enumerate(states[0]):
        for j, c in enumerate(states[1]):
            rows = X[(X.b == b) & (X.c == c)]
            for k, d in enumerate(states[2]):
                total = len(rows) + 2 * alpha
                wanted = (int((rows.d == d).sum()) + alpha) / total if total else Fraction(1, 2)
                assert net.table("d").probabilities[i, j, k] == pytest.approx(float(wanted), rel=1e-15)


@pytest.mark.parametrize("method", ["counts", "em"])
def test_weights_are_repetitions(method: str) -> None:
    X = drawn(60, 1).astype(object)
    X = X.mask(np.random.default_rng(1).random(X.shape) < 0.1)
    weight = np.random.default_rng(2).integers(0, 4, len(X))
    one = bk.Network(EDGES).fit(X, method=method, sample_weight=weight)
    two = bk.Network(EDGES).fit(X.loc[X.index.repeat(weight)], method=method)
    assert one.digest == two.digest


@pytest.mark.parametrize("method", ["counts", "em"])
def test_learning_is_algebra(method: str, tmp_path: Path) -> None:
    X = drawn(300, 3)
    fit = {"method": method, "smoothing": 0.5}
    whole = bk.Network(EDGES).fit(X, **fit)
    first, second = bk.Network(EDGES).fit(X[:120], **fit), bk.Network(EDGES).fit(X[120:], **fit)

    def same(one: bk.Network, other: bk.Network) -> None:
        for node in one.nodes:
            assert one.states(node) == other.states(node)
            assert one.table(node).probabilities == pytest.approx(other.table(node).probabilities, abs=1e-12)
        assert method == "em" or one.digest == other.digest

    same(first.merge(second), whole)
    same(first + second, whole)
    same(bk.merge([second, first]), whole)
    first.save(tmp_path / "first.bayes")
    loaded = bk.load(tmp_path / "first.bayes")
    same(loaded, first)
    same(loaded.partial_fit(X[120:]), whole)
    same(loaded.forget(X[120:]), first)


def test_new_states_may_arrive_unless_states_are_declared() -> None:
    X = pd.DataFrame({"a": ["x", "x"], "b": ["u", "v"]})
    more = pd.DataFrame({"a": ["w"], "b": ["u"]})
    net = bk.Network([("a", "b")]).fit(X).partial_fit(more)
    assert net.states("a") == ("w", "x")
    assert net.digest == bk.Network([("a", "b")]).fit(pd.concat([X, more])).digest
    strict = bk.Network([("a", "b")], states={"a": ["x", "y"]}).fit(X)
    assert strict.states("a") == ("x", "y")
    with pytest.raises(InputError, match="'a' has level 'w'"):
        strict.partial_fit(more)
    assert strict.states("a") == ("x", "y")


def test_counting_takes_the_rows_whose_family_is_complete() -> None:
    X = pd.DataFrame({"a": ["x", "x", None, "y"], "b": ["u", None, "u", "v"]})
    net = bk.Network([("a", "b")]).fit(X, smoothing=0)
    assert net.table("a").probabilities == pytest.approx([2 / 3, 1 / 3])
    assert net.table("b").probabilities == pytest.approx(np.array([[1, 0], [0, 1]]))


# -- EM and gradient ---------------------------------------------------------------------------------


def missing_at_random(n: int, seed: int) -> pd.DataFrame:
    """x0 goes missing often where y is true: dropping rows then misjudges both."""
    rng = np.random.default_rng(seed)
    x0 = rng.random(n) < 0.5
    y = rng.random(n) < np.where(x0, 0.9, 0.2)
    holes = pd.DataFrame({"x0": x0, "y": y}).astype(object)
    holes.loc[rng.random(n) < np.where(y, 0.8, 0.05), "x0"] = None
    return holes


@pytest.mark.parametrize("method", ["em", "gradient"])
def test_missing_at_random_is_repaired_and_dropping_rows_is_wrong(method: str) -> None:
    n = 20_000
    holes = missing_at_random(n, 0)
    net = bk.Network([("x0", "y")]).fit(holes, method=method, smoothing=0, tolerance=1e-12)
    p = net.query("x0")[True]
    # y is always there, so the maximum is known: P(x0) = sum over y of P(y) P(x0 | y), from the rows that show it
    seen = holes.dropna()
    known = sum((holes.y == v).mean() * (seen.x0[seen.y == v] == True).mean() for v in (True, False))  # noqa: E712
    assert p == pytest.approx(known, abs=1e-5)
    error = np.sqrt(0.25 / n / 0.2)
    assert abs(p - 0.5) < 4 * error
    dropped = bk.Network([("x0", "y")]).fit(seen, smoothing=0).query("x0")[True]
    assert abs(dropped - 0.5) > 20 * error


@pytest.mark.parametrize("method", ["em", "gradient"])
def test_holes_everywhere_still_recover_the_network(method: str) -> None:
    n = 6000
    X = drawn(n, 5)
    holes = X.astype(object).mask(np.random.default_rng(6).random(X.shape) < 0.25)
    net = bk.Network(EDGES).fit(holes, method=method, smoothing=0.0)
    truth = {
        "a": np.array([0.6, 0.4]),
        "b": np.array([[0.7, 0.3], [0.2, 0.8]]),
        "c": np.array([[0.6, 0.1, 0.3], [0.2, 0.5, 0.3]]),
    }
    for node, wanted in truth.items():
        rows = n * 0.75**2 * 0.4  # at least so many show the family
        assert np.abs(net.table(node).probabilities - wanted).max() < 5 * np.sqrt(0.25 / rows)


def test_em_never_goes_down_and_meets_the_gradient() -> None:
    X = drawn(400, 7).astype(object)
    X = X.mask(np.random.default_rng(8).random(X.shape) < 0.3)
    em = bk.Network(EDGES).fit(X, method="em", tolerance=1e-11, iterations=5000)
    gradient = bk.Network(EDGES).fit(X, method="gradient", tolerance=1e-10, iterations=5000)
    path = em.learned_.path
    assert all(b >= a - 1e-9 for a, b in pairwise(path))
    assert em.learned_.converged
    for node in em.nodes:
        assert em.table(node).probabilities == pytest.approx(gradient.table(node).probabilities, abs=2e-4)


@pytest.mark.parametrize("method", ["em", "gradient"])
def test_a_hidden_class_is_found(method: str) -> None:
    """Four symptoms of a class nobody noted: no likelihood beats the maximum, not even that of the truth."""
    rng, n = np.random.default_rng(9), 3000
    h = rng.random(n) < 0.3
    symptoms = [f"s{j}" for j in range(4)]
    p = {True: [0.9, 0.8, 0.85, 0.7], False: [0.1, 0.2, 0.15, 0.3]}
    X = pd.DataFrame({s: rng.random(n) < np.where(h, p[True][j], p[False][j]) for j, s in enumerate(symptoms)})
    net = bk.Network([("h", s) for s in symptoms], states={"h": 2})
    net.fit(X, method=method, smoothing=0, restarts=3, random_state=0)
    logs = []
    for c, prior in ((True, 0.3), (False, 0.7)):
        chance = [np.where(X[s], p[c][j], 1 - p[c][j]) for j, s in enumerate(symptoms)]
        logs.append(np.log(prior) + np.log(chance).sum(axis=0))
    truth = float(logsumexp(logs, axis=0).sum())
    assert truth < net.log_likelihood(X) < truth + 30  # nine free numbers gain about 4.5
    assert abs(min(net.query("h").values()) - 0.3) < 0.05
    assert net.learned_.log_likelihood == pytest.approx(net.log_likelihood(X), rel=1e-9)


def test_given_tables_are_where_em_begins_and_keep_the_sense_of_hidden_states() -> None:
    rng, n = np.random.default_rng(9), 4000
    ill = rng.random(n) < 0.3
    X = pd.DataFrame({f"s{j}": np.where(rng.random(n) < np.where(ill, 0.9, 0.2), "yes", "no") for j in range(3)})
    guess: dict[str, object] = {"ill": {"no": 0.5, "yes": 0.5}}
    guess |= {s: {"no": {"no": 0.6, "yes": 0.4}, "yes": {"no": 0.4, "yes": 0.6}} for s in X}
    net = bk.Network([("ill", s) for s in X], guess).fit(X[:2000], method="em", random_state=0)
    assert abs(net.query("ill")["yes"] - 0.3) < 0.06
    assert abs(net.partial_fit(X[2000:]).query("ill")["yes"] - 0.3) < 0.04
    assert net.query("ill", dict.fromkeys(X, "yes"))["yes"] > 0.9


def test_a_second_fit_does_not_remember_the_first() -> None:
    X = drawn(200, 1).astype(object).mask(np.random.default_rng(1).random((200, 4)) < 0.2)
    once, twice = bk.Network(EDGES).fit(X, method="em"), bk.Network(EDGES).fit(X[:50], method="em").fit(X, method="em")
    assert once.digest == twice.digest


def test_a_climb_cut_short_warns() -> None:
    X = drawn(200, 1).astype(object).mask(np.random.default_rng(1).random((200, 4)) < 0.2)
    with pytest.warns(UserWarning, match="had not converged after 2 iterations"):
        bk.Network(EDGES).fit(X, method="em", iterations=2)


def test_restarts_repeat_with_their_seed() -> None:
    X = drawn(200, 1)[["b", "d"]]
    nets = [bk.Network([("h", "b"), ("h", "d")], states={"h": 2}).fit(X, method="em", random_state=4) for _ in range(2)]
    assert nets[0].digest == nets[1].digest


# -- refused -----------------------------------------------------------------------------------------


def test_too_many_levels_are_refused_before_memory_is_spent() -> None:
    many = pd.DataFrame({"id": [f"r{i}" for i in range(100_000)], "a": ["x", "y"] * 50_000})
    with pytest.raises(NetworkError, match="'id' has 100000 states"):
        bk.Network([("a", "id")]).fit(many)
    with pytest.raises(NetworkError, match="'id' has 100000 states"):
        bk.Network([("a", "id")]).fit(many, method="em")


def test_too_large_a_table_is_refused_before_memory_is_spent() -> None:
    rng = np.random.default_rng(0)
    wide = pd.DataFrame({f"p{j}": rng.integers(0, 50, 2000) for j in range(6)} | {"y": rng.integers(0, 2, 2000)})
    with pytest.raises(NetworkError, match=r"'y' would have .* cells"):
        bk.Network([(f"p{j}", "y") for j in range(6)]).fit(wide, kinds="nominal")


@pytest.mark.parametrize(
    ("X", "settings", "error", "told"),
    [
        ({"a": ["x"]}, {}, InputError, "'b' has no column"),
        ({"a": ["x"]}, {"method": "em"}, InputError, "'b' has no value in any row"),
        ({"a": ["x"], "b": ["u"], "z": ["v"]}, {}, InputError, "'z' is no node"),
        ({"a": ["x"], "b": ["u"]}, {"method": "guess"}, InputError, "counts, em, gradient"),
        ({"a": ["x"], "b": ["u"]}, {"smoothing": -1}, InputError, "smoothing=-1"),
        ({"a": ["x"], "b": ["u"]}, {"smoothing": "k2"}, InputError, "bdeu"),
        ({"a": ["x"], "b": ["u"]}, {"smoothing": "bdeu", "ess": 0}, InputError, "ess=0"),
        ({"a": ["x"], "b": ["u"]}, {"method": "em", "restarts": 0}, InputError, "restarts=0"),
        ({"a": ["x"], "b": ["u"]}, {"sample_weight": [-1.0]}, InputError, "weights"),
        ({"a": ["x"], "b": ["u"]}, {"sample_weight": [0.0]}, InputError, "weights are zero"),
        ({"a": np.array(["2020-01-01"], dtype="datetime64[D]"), "b": ["u"]}, {}, KindError, "'a'"),
    ],
)
def test_wrong_fits_are_refused_by_name(X: object, settings: dict, error: type[Exception], told: str) -> None:
    net = bk.Network([("a", "b")])
    with pytest.raises(error, match=told):
        net.fit(X, **settings)
    assert net._fit is None


def test_what_was_never_learned_cannot_be_forgotten() -> None:
    X = drawn(50, 0)
    for method in ("counts", "em"):
        net = bk.Network(EDGES).fit(X, method=method)
        before = net.digest
        with pytest.raises(ForgetError):
            net.forget(pd.concat([X, X[:1]]))
        with pytest.raises(ForgetError, match="never learned"):
            net.forget(X.assign(c="c9"))
        with pytest.raises(InputError, match=r"leave nothing|is left"):
            net.forget(X)
        assert net.digest == before
    given = bk.Network([("a", "b")], {"a": {0: 1.0}, "b": {0: {0: 1.0}}})
    for call in (given.forget, given.partial_fit):
        with pytest.raises(ForgetError, match="given"):
            call(X)


def test_networks_learned_differently_are_not_merged() -> None:
    X = drawn(50, 0)
    one = bk.Network(EDGES).fit(X)
    with pytest.raises(MergeError, match="differently"):
        one.merge(bk.Network(EDGES).fit(X, smoothing=2))
    with pytest.raises(MergeError, match="different graphs"):
        one.merge(bk.Network(EDGES[:3]).fit(X))


def test_beyond_the_cap_em_fits_but_keeps_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayeskit.networks.fitted.MOST_KEPT", 3)
    X = drawn(50, 0)
    net = bk.Network(EDGES).fit(X, method="em")
    for call in (net.partial_fit, net.forget):
        with pytest.raises(ForgetError, match="too many distinct rows"):
            call(X)


def test_files_that_contradict_themselves_are_refused(tmp_path: Path) -> None:
    """Sealed as bayeskit seals its own, with content that no network can have."""
    path = tmp_path / "net.bayes"
    net = bk.Network([("a", "b")]).fit(
        drawn(20, 0)[["a", "b"]].astype(object).mask(np.eye(20, 2, dtype=bool)), method="em"
    )
    net.save(path)
    header, arrays = container.read(path, network_file._tensor_spec)
    changes = {
        "parents": np.array([1]),  # b its own parent
        "parents.sizes": np.array([1, 1]),
        "states.sizes": np.array([2, 3]),
        "probabilities": arrays["probabilities"] + 0.1,
        "rows.codes": arrays["rows.codes"] + 5,
        "rows.mass": -arrays["rows.mass"],
    }
    for name, wrong in changes.items():
        container.write(path, header, {**arrays, name: wrong})
        with pytest.raises(ModelFileError, match=r"net\.bayes"):
            bk.load(path)
    for name, value in {"kept": "nothing", "recipe": None, "declared": [True], "shapes": {}, "digest": ""}.items():
        container.write(path, {**header, name: value}, dict(arrays))
        with pytest.raises(ModelFileError, match=r"net\.bayes"):
            bk.load(path)


@pytest.mark.parametrize("method", ["counts", "em", None])
def test_no_damage_of_a_file_goes_unnoticed(method: str | None, tmp_path: Path) -> None:
    net = bk.Network([("a", "b")], {"a": {0: 0.5, 1: 0.5}, "b": {0: {0: 1.0, 1: 0.0}, 1: {0: 0.3, 1: 0.7}}})
    if method:
        net = bk.Network([("a", "b")]).fit(drawn(20, 0)[["a", "b"]], method=method)
    path = tmp_path / "net.bayes"
    net.save(path)
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(150):
        place, bit = int(rng.integers(len(data))), int(rng.integers(8))
        hurt = bytearray(data)
        hurt[place] ^= 1 << bit
        path.write_bytes(bytes(hurt))
        with pytest.raises(ModelFileError):
            bk.load(path)
    for end in (0, 7, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:end])
        with pytest.raises(ModelFileError):
            bk.load(path)


# -- chance is seeded ------------------------------------------------------------------------------------


def hidden_cause(n=300):
    rng = np.random.default_rng(5)
    h = rng.integers(0, 2, n)
    flips = rng.random((4, n)) < 0.2
    return pd.DataFrame({f"x{i}": np.where(flip, 1 - h, h) for i, flip in enumerate(flips)}).astype(str)


@pytest.mark.parametrize("method", ["em", "gradient"])
def test_a_network_with_a_hidden_node_is_learned_the_same_twice(method):
    X = hidden_cause()
    arcs, states = [("h", name) for name in X], {"h": 2}
    one, two = (bk.Network(arcs, states=states).fit(X, method) for _ in range(2))
    assert one.digest == two.digest
    assert one.partial_fit(X[:50]).digest == two.partial_fit(X[:50]).digest
    first = bk.Network(arcs, states=states).fit(X, method, random_state=1, restarts=1, iterations=1)
    other = bk.Network(arcs, states=states).fit(X, method, random_state=2, restarts=1, iterations=1)
    assert first.digest != other.digest  # another seed begins elsewhere


def test_a_search_over_holes_and_approximate_answers_are_the_same_twice():
    rng = np.random.default_rng(0)
    X = hidden_cause()
    X = X.mask(rng.random(X.shape) < 0.2, None)
    one, two = bk.learn_network(X), bk.learn_network(X)
    assert one.edges == two.edges
    assert one.digest == two.digest
    for how in ("weighting", "gibbs"):
        told = [net.query("x0", {"x1": "1"}, approximate=how, samples=500) for net in (one, two)]
        assert dict(told[0]) == dict(told[1])
        rows = [net.predict_proba(X[:3], "x0", approximate=how, samples=500) for net in (one, two)]
        assert np.array_equal(*rows)
