"""Costs and decisions: every way to give a table, least expected cost, and what bad tables get."""

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.errors import BayeskitError

TABLE = {"ill": {"treat": 1.0, "wait": 50.0}, "well": {"treat": 5.0, "wait": 0.0}}
MATRIX = [[1.0, 50.0], [5.0, 0.0]]


def ways(path):
    path.write_text("class,treat,wait\nill,1,50\nwell,5,0\n")
    columns = {"class": ["ill", "well"], "treat": [1, 5], "wait": [50, 0]}
    return {
        "mapping": (TABLE,),
        "matrix": (np.array(MATRIX), ["ill", "well"], ["treat", "wait"]),
        "nested lists": (MATRIX, ["ill", "well"], ["treat", "wait"]),
        "pandas index": (pd.DataFrame(MATRIX, index=["ill", "well"], columns=["treat", "wait"]),),
        "pandas first column": (pd.DataFrame(columns),),
        "polars": (pl.DataFrame(columns),),
        "arrow": (pa.table(columns),),
        "csv": (str(path),),
        "path": (path,),
    }


def test_the_same_table_from_every_source(tmp_path):
    for name, arguments in ways(tmp_path / "costs.csv").items():
        assert bk.Costs(*arguments) == bk.Costs(TABLE), name


@given(st.lists(st.integers(1, 99), min_size=3, max_size=3), st.lists(st.integers(-50, 50), min_size=9, max_size=9))
def test_expected_costs_are_the_sums_of_exact_fractions(shares, cells):
    p = [Fraction(s, sum(shares)) for s in shares]
    costs = np.array(cells, dtype=float).reshape(3, 3)
    decision = bk.decide([list(map(float, p))], bk.Costs(costs, ["a", "b", "c"], ["x", "y", "z"]))
    exact = [sum(p[c] * cells[3 * c + a] for c in range(3)) for a in range(3)]
    np.testing.assert_allclose(decision.expected[0], [float(e) for e in exact], atol=1e-12)
    assert decision.margin[0] == pytest.approx(float(sorted(exact)[1] - sorted(exact)[0]), abs=1e-12)


def test_zero_one_costs_give_the_most_probable_class():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(4), 500)
    classes = np.array(["a", "b", "c", "d"])
    assert (bk.decide(proba, bk.Costs.zero_one(classes)).action == classes[proba.argmax(axis=1)]).all()


def test_a_tie_goes_to_the_first_action_of_the_table():
    costs = {"a": {"second": 1, "first": 1}, "b": {"second": 2, "first": 2}}
    assert bk.decide([[0.5, 0.5]], bk.Costs(costs)).action.tolist() == ["second"]


def test_classes_say_which_column_is_which_and_so_do_the_names_of_a_frame():
    costs = bk.Costs(TABLE)
    swapped = bk.decide([[0.9, 0.1]], costs, classes=["well", "ill"])
    np.testing.assert_allclose(swapped.expected, [[0.1 * 1 + 0.9 * 5, 0.1 * 50]])
    framed = bk.decide(pd.DataFrame({"well": [0.9], "ill": [0.1]}), costs)
    np.testing.assert_array_equal(framed.expected, swapped.expected)


def test_an_array_without_classes_warns_where_the_table_is_not_in_the_order_of_a_classifier():
    costs = {"spam": {"keep": 1, "move": 0}, "ham": {"keep": 0, "move": 10}}
    model = bk.NaiveBayes().fit({"word": ["win", "win", "lunch", "lunch"]}, ["spam", "spam", "ham", "ham"])
    p = model.predict_proba({"word": ["lunch"]})
    with pytest.warns(UserWarning, match=r"\(spam, ham\).*order ham, spam: give classes=model.classes_"):
        bk.decide(p, costs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        decision = bk.decide(p, costs, model.classes_)
        bk.decide(p, {"ham": costs["ham"], "spam": costs["spam"]})
        bk.decide([[0.5, 0.5]], costs)  # typed by hand
    assert repr(decision) == "<Decision: rows by action keep: 1, move: 0; action has each, frame() has expected costs>"


def test_a_matrix_without_names_leads_on_to_them():
    with pytest.raises(BayeskitError, match=r"no names: write \{class: \{action: cost\}\}"):
        bk.decide([[0.35, 0.45, 0.2]], [[0, 1], [1, 0], [0, 1]])
    with pytest.raises(BayeskitError, match=r"actions that are no classes need names"):
        bk.decide([[0.35, 0.45, 0.2]], [[0, 1], [1, 0], [0, 1]], ["a", "b", "c"])


def test_labels_of_a_file_stand_for_numbers_written_that_way(tmp_path):
    path = tmp_path / "costs.csv"
    path.write_text("class,0,1\n0,0,1\n1,9,0\n")
    np.testing.assert_array_equal(bk.Costs(path).matrix_for(np.array([0, 1])), [[0, 1], [9, 0]])


def test_gains_are_negative_costs():
    decision = bk.decide([0.5, 0.5], bk.Costs({"up": {"buy": -3, "hold": 0}, "down": {"buy": 1, "hold": 0}}))
    assert decision.action.tolist() == ["buy"]
    assert decision.expected[0, 0] == -1.0


def test_a_decision_is_a_frame():
    table = bk.decide([[0.05, 0.95]], bk.Costs(TABLE)).frame("pandas")
    assert table.columns.tolist() == ["action", "margin", "cost of treat", "cost of wait"]
    np.testing.assert_allclose(table.iloc[0, 1:].astype(float), [2.3, 4.8, 2.5])


BAD_TABLES = {
    "lacks a cost": (({"a": {"x": 1}, "b": {"y": 1}},), "'y' for class 'a'"),
    "not numbers": (({"a": {"x": "dear"}},), "'dear'"),
    "infinite": (({"a": {"x": np.inf}},), "inf"),
    "empty": (({},), "empty"),
    "flat": (({"a": 3},), "mapping from action to cost"),
    "no labels": ((np.eye(2),), r"classes=\["),
    "other shape": ((np.eye(2), ["a", "b", "c"]), "3 classes"),
    "twice": ((np.eye(2), ["a", "a"]), "'a' occurs twice"),
    "no file": (("nowhere.csv",), "nowhere.csv"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_a_bad_table_is_refused_by_name(name):
    arguments, words = BAD_TABLES[name]
    with pytest.raises(BayeskitError, match=words):
        bk.Costs(*arguments)


def test_a_ragged_file_is_refused_with_its_line(tmp_path):
    path = tmp_path / "costs.csv"
    path.write_text("class,treat,wait\nill,1,50\nwell,5\n")
    with pytest.raises(BayeskitError, match="line 3"):
        bk.Costs(path)


def test_labels_must_match_the_classes():
    with pytest.raises(BayeskitError, match="no row for class 'dead'"):
        bk.Costs(TABLE).matrix_for(["ill", "well", "dead"])
    with pytest.raises(BayeskitError, match="'well', which is not a class"):
        bk.Costs(TABLE).matrix_for(["ill"])


@pytest.mark.parametrize("row", [[0.5, 0.6], [1.5, -0.5], [np.nan, 1.0], [1.0], [0.2, 0.3, 0.5]])
def test_what_is_no_distribution_is_refused(row):
    with pytest.raises(BayeskitError, match="proba"):
        bk.decide([row], bk.Costs(TABLE))


NUMBERS = pd.DataFrame({"x": [0.0, 0.4, 0.9, 1.1, 1.6, 2.0] * 4})
PRICES = [[0.0, 1.0], [5.0, 0.0]]


def written(labels, path):
    """A table of costs whose labels are texts, as files have them."""
    lines = [f"{label},{','.join(map(str, row))}" for label, row in zip(labels, PRICES, strict=True)]
    path.write_text("\n".join([f"class,{','.join(map(str, labels))}", *lines]) + "\n")
    frame = pd.read_csv(path, index_col=0)
    texts = {str(c): dict(zip(map(str, labels), row, strict=True)) for c, row in zip(labels, PRICES, strict=True)}
    return {"path": path, "Costs": bk.Costs(path), "pandas": frame, "polars": pl.read_csv(path), "texts": texts}


@pytest.mark.parametrize("labels", [(0, 1), (-3, 12), (False, True), ("a", "b")], ids=str)
@pytest.mark.parametrize("way", ["path", "Costs", "pandas", "polars", "texts"])
def test_actions_that_are_classes_have_the_labels_of_the_classes(labels, way, tmp_path):
    """What a file calls "1" is the class 1: in decisions, frames, confusions and costs."""
    y = np.array([labels[k] for k in (0, 0, 1, 0, 1, 1)] * 4)
    costs = written(labels, tmp_path / "costs.csv")[way]
    plain = {c: dict(zip(labels, row, strict=True)) for c, row in zip(labels, PRICES, strict=True)}
    expected, found = (bk.RiskClassifier(bk.NaiveBayes(), some).fit(NUMBERS, y) for some in (plain, costs))
    assert found.costs_.actions == labels
    assert [type(a) for a in found.costs_.actions] == [type(label) for label in labels]
    np.testing.assert_array_equal(found.predict(NUMBERS), expected.predict(NUMBERS))
    assert found.predict(NUMBERS).dtype == expected.predict(NUMBERS).dtype
    judged = [bk.evaluate(bk.RiskClassifier(bk.NaiveBayes(), some), NUMBERS, y) for some in (plain, costs)]
    np.testing.assert_array_equal(judged[0].confusion.matrix, judged[1].confusion.matrix)
    assert judged[0].confusion.others == judged[1].confusion.others == ()
    assert judged[1].confusion.cost(costs) == judged[0].confusion.cost(plain)
    model = bk.NaiveBayes().fit(NUMBERS, y)
    told = [model.predict_frame(NUMBERS[:6], costs=c) for c in (plain, costs)]
    assert told[0]["action"].equals(told[1]["action"])
    decided = bk.decide(model.predict_proba(NUMBERS), costs, model.classes_).action
    assert decided.tolist() == found.predict(NUMBERS).tolist()


def test_an_action_beside_the_classes_keeps_its_name(tmp_path):
    path = tmp_path / "costs.csv"
    path.write_text("class,0,1,ask\n0,0,1,0.1\n1,5,0,0.1\n")
    assert bk.Costs.of(path, [0, 1]).actions == (0, 1, "ask")


def test_a_class_without_costs_is_refused_before_any_answer(tmp_path):
    path = tmp_path / "costs.csv"
    path.write_text("class,0,1\n0,0,1\n")
    model = bk.NaiveBayes().fit(NUMBERS, [0, 0, 1, 0, 1, 1] * 4)
    with pytest.raises(BayeskitError, match="no row for class 1"):
        model.predict_frame(NUMBERS, costs=path)
