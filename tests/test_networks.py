"""Networks: how they are built, asked and sampled, and what wrong ones get."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk
from bayeskit.errors import ImpossibleEvidence, InputError, KindError, NetworkError, SchemaError

# The sprinkler: Russell and Norvig's figures.
EDGES = [("cloudy", "sprinkler"), ("cloudy", "rain"), ("sprinkler", "wet"), ("rain", "wet")]
TABLES = {
    "cloudy": {"no": 0.5, "yes": 0.5},
    "sprinkler": {"no": {"no": 0.5, "yes": 0.5}, "yes": {"no": 0.9, "yes": 0.1}},
    "rain": {"no": {"no": 0.8, "yes": 0.2}, "yes": {"no": 0.2, "yes": 0.8}},
    "wet": {
        ("no", "no"): {"no": 1.0, "yes": 0.0},
        ("no", "yes"): {"no": 0.1, "yes": 0.9},
        ("yes", "no"): {"no": 0.1, "yes": 0.9},
        ("yes", "yes"): {"no": 0.01, "yes": 0.99},
    },
}


@pytest.fixture
def sprinkler() -> bk.Network:
    return bk.Network(EDGES, TABLES)


# -- built -------------------------------------------------------------------------------------------


def test_published_answers(sprinkler: bk.Network) -> None:
    """P(s | w) = 0.2781 / 0.6471 and P(r | w) = 0.4581 / 0.6471 (Murphy's tutorial on the same network)."""
    assert sprinkler.query("sprinkler", {"wet": "yes"})["yes"] == pytest.approx(0.2781 / 0.6471, abs=1e-12)
    assert sprinkler.query("rain", {"wet": "yes"})["yes"] == pytest.approx(0.4581 / 0.6471, abs=1e-12)
    assert sprinkler.probability({"wet": "yes"}) == pytest.approx(0.6471, abs=1e-12)
    assert sprinkler.query("sprinkler", {"wet": "yes", "rain": "yes"})["yes"] == pytest.approx(0.1945, abs=5e-5)


def test_probability_is_the_product_of_the_tables(sprinkler: bk.Network) -> None:
    state = {"cloudy": "yes", "sprinkler": "no", "rain": "yes", "wet": "yes"}
    assert sprinkler.probability(state) == pytest.approx(0.5 * 0.9 * 0.8 * 0.9, rel=1e-15)


def test_tables_from_arrays_and_frames_equal_those_from_dicts(sprinkler: bk.Network) -> None:
    states = {node: ["no", "yes"] for node in TABLES}
    arrays = {node: sprinkler.table(node).probabilities for node in TABLES}
    assert bk.Network(EDGES, arrays, states=states).network_ == sprinkler.network_
    rows = [(s, r, w, p) for (s, r), row in TABLES["wet"].items() for w, p in row.items()]
    frame = pd.DataFrame(rows, columns=["sprinkler", "rain", "wet", "probability"])
    assert bk.Network(EDGES, {**TABLES, "wet": frame}).network_ == sprinkler.network_


def test_graph_questions(sprinkler: bk.Network) -> None:
    assert sprinkler.parents("wet") == ("sprinkler", "rain")
    assert sprinkler.markov_blanket("rain") == {"cloudy", "sprinkler", "wet"}
    assert sprinkler.d_separated("sprinkler", "rain", ["cloudy"])
    assert not sprinkler.d_separated("sprinkler", "rain", ["cloudy", "wet"])
    assert not sprinkler.d_separated("cloudy", "wet")


def test_to_networkx(sprinkler: bk.Network) -> None:
    networkx = pytest.importorskip("networkx")
    graph = sprinkler.to_networkx()
    assert networkx.is_directed_acyclic_graph(graph)
    assert sorted(graph.edges) == sorted(EDGES)
    assert graph.nodes["rain"]["states"] == ("no", "yes")


def test_html_shows_nodes_escaped() -> None:
    net = bk.Network([], {"a<b": {"x": 1.0}})
    assert "a&lt;b" in net._repr_html_()


def test_the_picture_has_every_node_below_its_parents(sprinkler: bk.Network) -> None:
    import xml.etree.ElementTree as tree

    picture = tree.fromstring(sprinkler.svg())
    space = "{http://www.w3.org/2000/svg}"
    height = {t.text: float(t.get("y", "nan")) for t in picture.iter(f"{space}text")}
    assert set(height) == set(sprinkler.nodes)
    assert all(height[parent] < height[child] for parent, child in EDGES)
    assert len([p for p in picture.iter(f"{space}path") if p.get("class") == "arc"]) == len(EDGES)
    boxes = [{k: float(r.get(k, "nan")) for k in ("x", "y", "width")} for r in picture.iter(f"{space}rect")]
    for a in boxes:
        assert all(
            a is b or a["y"] != b["y"] or a["x"] + a["width"] < b["x"] or b["x"] + b["width"] < a["x"] for b in boxes
        )


def test_states_keep_their_types() -> None:
    net = bk.Network(
        [("a", "b")], {"a": {1: 0.5, 2: 0.5}, "b": {1: {True: 1.0, False: 0.0}, 2: {True: 0.5, False: 0.5}}}
    )
    assert net.states("b") == (True, False)
    assert net.query("a", {"b": False}) == {1: 0.0, 2: 1.0}
    assert net.predict(pd.DataFrame({"b": [True, None, False]}), "a").tolist() == [1, 1, 2]


# -- asked -------------------------------------------------------------------------------------------


def test_none_and_nan_and_absent_columns_are_not_observed(sprinkler: bk.Network) -> None:
    prior = [0.5, 0.5]
    X = pd.DataFrame({"rain": [None, "yes"], "wet": [np.nan, None]}, dtype=object)
    assert sprinkler.predict_proba(X, "cloudy")[0] == pytest.approx(prior)
    assert sprinkler.predict_proba(X, "cloudy")[1] == pytest.approx([0.2, 0.8])
    assert sprinkler.query("cloudy", {"rain": None}) == pytest.approx({"no": 0.5, "yes": 0.5})


def test_the_column_of_the_target_is_not_looked_at(sprinkler: bk.Network) -> None:
    X = sprinkler.sample(50, random_state=0)
    assert (sprinkler.predict_proba(X, "rain") == sprinkler.predict_proba(X.drop(columns="rain"), "rain")).all()


def test_many_equal_rows_are_answered_alike(sprinkler: bk.Network) -> None:
    X = sprinkler.sample(5000, random_state=0).drop(columns="rain")
    found = sprinkler.predict_proba(X, "rain")
    for row in (0, 77, 4999):
        wanted = sprinkler.query("rain", X.iloc[row].to_dict())
        assert found[row] == pytest.approx(list(wanted.values()), abs=1e-14)


def test_a_matrix_without_names_is_taken_in_the_order_of_the_nodes() -> None:
    net = bk.Network([("a", "b")], {"a": {0: 0.5, 1: 0.5}, "b": {0: {0: 0.9, 1: 0.1}, 1: {0: 0.2, 1: 0.8}}})
    X = np.array([[0.0, 1.0], [np.nan, 0.0]])
    assert net.log_evidence(X) == pytest.approx(np.log([0.05, 0.55]))


@pytest.mark.parametrize("method", ["weighting", "gibbs"])
def test_approximate_answers_lie_within_their_stated_error(sprinkler: bk.Network, method: str) -> None:
    evidence = {"wet": "yes"}
    exact = sprinkler.query("rain", evidence)
    found = sprinkler.query("rain", evidence, approximate=method, samples=20_000, random_state=0)
    assert found.standard_error is not None
    for state, p in exact.items():
        assert 0 < found.standard_error[state] < 0.02
        assert abs(found[state] - p) < 5 * found.standard_error[state]


def test_the_error_of_weighting_is_the_spread_of_its_answers(sprinkler: bk.Network) -> None:
    runs = [
        sprinkler.query("rain", {"wet": "yes"}, approximate="weighting", samples=500, random_state=i)
        for i in range(200)
    ]
    spread = np.std([run["yes"] for run in runs], ddof=1)
    stated = np.mean([run.standard_error["yes"] for run in runs])  # type: ignore[index]
    assert stated == pytest.approx(spread, rel=0.2)


def test_rows_can_be_estimated_too(sprinkler: bk.Network) -> None:
    X = [{"wet": "yes"}, {"rain": "no"}]
    found = sprinkler.predict_proba(X, "cloudy", approximate="weighting", samples=4000, random_state=0)
    assert np.abs(found - sprinkler.predict_proba(X, "cloudy")).max() < 0.05


def test_a_network_too_wide_says_the_size_it_needs_and_offers_an_estimate() -> None:
    side = 30
    edges = [(f"{i},{j}", f"{i + 1},{j}") for i in range(side - 1) for j in range(side)]
    edges += [(f"{i},{j}", f"{i},{j + 1}") for i in range(side) for j in range(side - 1)]
    graph = bk.Network(edges)
    tables = {}
    for node in graph.nodes:
        ones = np.indices((2,) * len(graph.parents(node))).sum(axis=0) if graph.parents(node) else np.zeros(())
        p = (ones + 1) / 4
        tables[node] = np.stack([1 - p, p], axis=-1)
    net = bk.Network(edges, tables)
    corner = f"{side - 1},{side - 1}"
    with pytest.raises(NetworkError, match=r"GiB.*approximate="):
        net.query(corner)
    found = net.query(corner, approximate="weighting", samples=500, random_state=0)
    assert sum(found.values()) == pytest.approx(1)
    assert found.standard_error[0] < 0.05  # type: ignore[index]


def test_tiny_probabilities_multiply_without_vanishing() -> None:
    """10^-200 three times over is nothing to a double; the posterior still is 3 to 1."""
    tables: dict[str, object] = {"c": {0: 0.75, 1: 0.25}}
    tables |= {x: {c: {"rare": 1e-200, "common": 1.0} for c in (0, 1)} for x in ("x", "y", "z")}
    net = bk.Network([("c", x) for x in ("x", "y", "z")], tables)
    row = dict.fromkeys(("x", "y", "z"), "rare")
    assert net.query("c", row)[0] == pytest.approx(0.75)
    assert net.log_evidence([row, {}])[0] == pytest.approx(-600 * np.log(10), rel=1e-12)


def test_a_hub_with_many_children_and_parents_with_one_state() -> None:
    parents = [f"p{j}" for j in range(40)]
    tables: dict[str, object] = {p: {"only": 1.0} for p in parents}
    tables["hub"] = np.full((1,) * 40 + (2,), 0.5)
    tables |= {f"x{i}": [[0.9, 0.1], [0.1, 0.9]] for i in range(100)}
    edges = [(p, "hub") for p in parents] + [("hub", f"x{i}") for i in range(100)]
    net = bk.Network(edges, tables, states={"hub": 2})
    row = {f"x{i}": int(i < 49) for i in range(100)}
    assert net.query("hub", row)[0] == pytest.approx(1 / (1 + 9.0**-2))
    assert net.query("p3", row) == {"only": pytest.approx(1.0)}


# -- sampled -----------------------------------------------------------------------------------------


def test_samples_have_the_frequencies_of_the_network(sprinkler: bk.Network) -> None:
    n = 20_000
    for evidence in ({}, {"wet": "yes"}, {"wet": "no", "cloudy": "yes"}):
        X = sprinkler.sample(n, evidence, random_state=1)
        for node, state in evidence.items():
            assert (X[node] == state).all()
        for node in sprinkler.nodes:
            p = sprinkler.query(node, evidence)["yes"]
            assert abs((X[node] == "yes").mean() - p) <= 5 * np.sqrt(p * (1 - p) / n)
        pair = sprinkler.query(["rain", "sprinkler"], evidence)[("yes", "yes")]
        both = ((X["rain"] == "yes") & (X["sprinkler"] == "yes")).mean()
        assert abs(both - pair) <= 5 * np.sqrt(pair * (1 - pair) / n)


def test_samples_repeat_with_their_seed(sprinkler: bk.Network) -> None:
    for evidence in (None, {"wet": "yes"}):
        a, b, c = (sprinkler.sample(100, evidence, random_state=s) for s in (7, 7, 8))
        assert a.equals(b)
        assert not a.equals(c)


# -- refused -----------------------------------------------------------------------------------------


def changed(node: str, spec: object) -> dict[str, object]:
    return {**TABLES, node: spec}


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (lambda: bk.Network([("a", "b"), ("b", "c"), ("c", "a")]), "cycle: .*-> "),
        (lambda: bk.Network([("a", "a")]), "a -> a"),
        (lambda: bk.Network([("a", "b", "c")]), "pairs"),
        (lambda: bk.Network(["ab"]), "pairs"),
        (lambda: bk.Network([("a", "b"), ("a", "b")]), "twice"),
        (lambda: bk.Network(EDGES, {"cloudy": TABLES["cloudy"]}), "'sprinkler' has no table"),
        (lambda: bk.Network(EDGES, changed("cloudy", {"no": 0.5, "yes": 0.6})), "'cloudy' add up to 1.1"),
        (lambda: bk.Network(EDGES, changed("cloudy", {"no": -0.5, "yes": 1.5})), "'cloudy' .*negative"),
        (lambda: bk.Network(EDGES, changed("cloudy", {"no": float("nan"), "yes": 0.5})), "'cloudy'"),
        (lambda: bk.Network(EDGES, changed("rain", {"no": {"no": 0.8, "yes": 0.2}})), "'rain' says nothing on"),
        (lambda: bk.Network(EDGES, changed("rain", {"no": 0.8, "yes": 0.2})), "'rain' must map"),
        (
            lambda: bk.Network(EDGES, changed("rain", {"maybe": {"no": 0.8, "yes": 0.2}})),
            "'cloudy' has no state 'maybe'",
        ),
        (lambda: bk.Network(EDGES, changed("wet", {("no",): {"no": 0.8, "yes": 0.2}})), "one state for each"),
        (lambda: bk.Network(EDGES, changed("cloudy", [[0.5, 0.5]])), "shape"),
        (lambda: bk.Network([("a", "b")], states={"c": 2}), "'c', which is no node"),
        (lambda: bk.Network([("a", "b")], states={"a": 10**9}), "states of 'a' must be 1 to"),
        (lambda: bk.Network([("a", "b")], states={"a": ["x", "x"]}), "states of 'a'.*different"),
        (lambda: bk.Network([("a", "b")], states={"a": []}), "states of 'a'"),
        (lambda: bk.Network(EDGES, unseen="ignore"), "unseen='ignore'"),
    ],
)
def test_wrong_networks_are_refused_by_name(build: object, told: str) -> None:
    with pytest.raises(InputError, match=told):
        build()  # type: ignore[operator]


def test_wrong_questions_are_refused_by_name(sprinkler: bk.Network) -> None:
    with pytest.raises(NetworkError, match="no node is named 'snow'"):
        sprinkler.query("snow")
    with pytest.raises(NetworkError, match=r"'rain' has no state 'maybe' .*no, yes"):
        sprinkler.query("wet", {"rain": "maybe"})
    with pytest.raises(NetworkError, match="'rain' has no state 1"):
        sprinkler.query("wet", {"rain": 1})
    with pytest.raises(InputError, match="likelihoods of 'rain'"):
        sprinkler.query("wet", {"rain": {"yes": -1.0}})
    with pytest.raises(InputError, match="likelihoods of 'rain'"):
        sprinkler.query("wet", {"rain": {"yes": 0.0}})
    with pytest.raises(NetworkError, match="twice"):
        sprinkler.query(["wet", "wet"])
    with pytest.raises(InputError, match="weighting or gibbs"):
        sprinkler.query("wet", approximate="guess")
    with pytest.raises(InputError, match="sampling takes states"):
        sprinkler.sample(3, {"rain": {"yes": 1.0}})
    with pytest.raises(InputError, match="n=-1"):
        sprinkler.sample(-1)
    with pytest.raises(SchemaError, match="'snow' is no node"):
        sprinkler.predict_proba(pd.DataFrame({"snow": ["yes"]}), "wet")
    with pytest.raises(SchemaError, match="4 nodes"):
        sprinkler.predict_proba(np.zeros((2, 3)), "wet")
    with pytest.raises(KindError, match="'rain'"):
        sprinkler.predict_proba(pd.DataFrame({"rain": [1, 0]}), "wet")
    with pytest.raises(InputError, match="0 sample"):
        sprinkler.predict_proba(pd.DataFrame({"rain": pd.Series([], dtype=str)}), "wet")


def test_impossible_evidence_is_refused_by_row(sprinkler: bk.Network) -> None:
    dry = {"sprinkler": "no", "rain": "no", "wet": "yes"}
    with pytest.raises(ImpossibleEvidence, match="probability zero"):
        sprinkler.query("cloudy", dry)
    with pytest.raises(ImpossibleEvidence, match="probability zero"):
        sprinkler.most_probable(dry)
    with pytest.raises(ImpossibleEvidence, match="row 1"):
        sprinkler.predict_proba([{"wet": "yes"}, dry], "cloudy")
    for method in ("weighting", "gibbs"):
        with pytest.raises(ImpossibleEvidence, match="impossible"):
            sprinkler.query("cloudy", dry, approximate=method, samples=100, random_state=0)
    assert sprinkler.probability(dry) == 0
    assert sprinkler.log_evidence([dry])[0] == -np.inf


def test_a_state_never_seen_is_an_error_or_missing(sprinkler: bk.Network) -> None:
    X = pd.DataFrame({"rain": ["yes", "hail"], "wet": ["yes", "yes"]})
    with pytest.raises(InputError, match="'rain' has level 'hail'"):
        sprinkler.predict_proba(X, "cloudy")
    lenient = bk.Network(EDGES, TABLES, unseen="missing")
    wanted = lenient.query("cloudy", {"wet": "yes"})
    assert lenient.predict_proba(X, "cloudy")[1] == pytest.approx(list(wanted.values()))


def test_a_network_without_tables_says_so() -> None:
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="no tables yet"):
        bk.Network(EDGES).query("rain")


# -- a table shows its states ----------------------------------------------------------------------------


def test_a_table_shows_the_states_of_parents_and_node_and_makes_the_same_network_again():
    given = {(r, s): {"dry": p, "wet": 1 - p} for (r, s), p in zip(product("ny", "ny"), (1, 0.25, 0.1, 0), strict=True)}
    net = bk.Network(
        [("rain", "wet"), ("sprinkler", "wet")],
        {"rain": {"n": 0.8, "y": 0.2}, "sprinkler": {"n": 0.6, "y": 0.4}, "wet": given},
    )
    shown = repr(net.table("wet")).splitlines()
    assert shown[0] == "P(wet | rain, sprinkler)"
    assert shown[1].split() == ["rain", "sprinkler", "dry", "wet"]
    assert [line.split() for line in shown[2:]] == [
        ["n", "n", "1", "0"], ["n", "y", "0.25", "0.75"], ["y", "n", "0.1", "0.9"], ["y", "y", "0", "1"],
    ]  # fmt: skip
    assert repr(net.table("rain")) == "P(rain)\n  n    y\n0.8  0.2"
    assert "<th>dry</th>" in net.table("wet")._repr_html_()
    frames = {node: net.table(node).frame("pandas") for node in net.nodes}
    assert list(frames["wet"].columns) == ["rain", "sprinkler", "wet", "probability"]
    assert bk.Network(net.edges, frames).digest == net.digest
