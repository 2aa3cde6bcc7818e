"""Nomograms: points that add up to the odds, or the reason why there are none."""

from dataclasses import replace

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.errors import InputError
from shapes import LABELS, NAMES, ROWS, TABLE, exact_joint


def mixed(seed=0, classes=2, n=120):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    X = {
        "age": rng.normal(y, 1 + 0.3 * y),
        "visits": rng.poisson(2 + y),
        "colour": rng.choice(["red", "blue", "green"], n).tolist(),
        "hole": [None if rng.random() < 0.3 else float(v) for v in rng.normal(y)],
    }
    return X, np.array(["low", "mid", "top"])[y]


@pytest.mark.parametrize("weights", [None, "fitted"])
def test_points_of_two_classes_give_the_posterior(weights):
    X, y = mixed()
    model = bk.NaiveBayes(kinds={"visits": "count"}, weights=weights).fit(X, y)
    chart = model.nomogram("mid")
    read = chart.probability(chart.points(X).sum(axis=1))
    assert read == pytest.approx(model.predict_proba(X)[:, 1], abs=1e-9)
    assert max(np.ptp(s.points) for s in chart.scales) == pytest.approx(100)


def test_points_read_from_the_table_give_exact_fractions():
    chart = bk.NaiveBayes().fit(TABLE, LABELS).nomogram("+")
    table = chart.frame().to_pydict()
    points = {(c, v): p for c, v, p in zip(table["column"], table["value"], table["points"], strict=True)}
    for row in [*(r[:3] for r in ROWS), [None, "red", "small"], [None, None, None]]:
        joint = exact_joint(row, 1)
        total = sum(points[name, value] for name, value in zip(NAMES, row, strict=True))
        assert float(chart.probability(total)) == pytest.approx(float(joint["+"] / sum(joint.values())), abs=1e-9)


def test_of_two_classes_the_second_is_shown_unless_another_is_named():
    model = bk.NaiveBayes().fit(TABLE, LABELS)
    shown = [model.nomogram(*named) for named in ((), ("+",), (None, "+"))]
    assert [(chart.target, chart.rival) for chart in shown] == [("-", "+"), ("+", "-"), ("-", "+")]


def test_with_three_classes_a_rival_is_named_and_the_two_compared():
    X, y = mixed(classes=3)
    model = bk.NaiveBayes().fit(X, y)
    with pytest.raises(InputError, match="rival"):
        model.nomogram("low")
    p = model.predict_proba(X)
    chart = model.nomogram("low", rival="top")
    assert chart.probability(chart.points(X).sum(axis=1)) == pytest.approx(p[:, 0] / (p[:, 0] + p[:, 2]), abs=1e-9)


@pytest.mark.parametrize(
    ("model", "message"),
    [(bk.FullBayes(), "independent"), (bk.KNNBayes(metric="gower"), "independent"), (bk.TAN(), "independent")],
    ids=["full", "neighbours", "tree"],
)
def test_models_whose_columns_depend_on_each_other_have_no_nomogram(model, message):
    X, y = mixed()
    del X["hole"]
    with pytest.raises(InputError, match=message):
        model.fit(X, y).nomogram("low")


def test_a_value_that_rules_a_class_out_has_no_points():
    with pytest.raises(InputError, match="smoothing"):
        bk.NaiveBayes(smoothing=0).fit({"a": ["x", "y"]}, ["p", "q"]).nomogram("p")


def test_a_new_prior_moves_the_odds_only():
    X, y = mixed()
    model = bk.NaiveBayes().fit(X, y)
    prior = {"low": 0.9, "mid": 0.1}
    chart = model.nomogram("low", prior=prior)
    assert chart.probability(chart.points(X).sum(axis=1)) == pytest.approx(
        model.predict_proba(X, prior=prior)[:, 0], abs=1e-9
    )


def test_columns_left_out_of_the_printed_page_count_as_missing():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 9))
    model = bk.NaiveBayes().fit(X, X[:, 0] + X[:, 4] > 0)
    chart = model.nomogram(True)
    page = chart.plot(most=2)
    shown = [s.name for s in page.scales]
    kept = [int(name[1:]) for name in shown]
    some = np.full_like(X, np.nan)
    some[:, kept] = X[:, kept]
    read = page.probability(chart.points(X)[:, kept].sum(axis=1))
    assert read == pytest.approx(model.predict_proba(some)[:, 1], abs=1e-9)
    assert page.total(page.probability(120.0)) == pytest.approx(120.0)


@pytest.mark.parametrize(("method", "classes"), [("temperature", 2), ("temperature", 3), ("sigmoid", 2)])
def test_points_of_a_calibrated_model_give_its_posterior(method, classes):
    X, y = mixed(classes=classes)
    model = bk.Calibrated(bk.NaiveBayes(), method).fit(X, y)
    prior = dict.fromkeys(model.classes_, 1 / classes)
    for given in (None, prior):
        chart = model.nomogram("low", "mid", prior=given)
        p = model.predict_proba(X, prior=given)
        wanted = p[:, 0] / (p[:, 0] + p[:, 1])
        assert chart.probability(chart.points(X).sum(axis=1)) == pytest.approx(wanted, abs=1e-9)
    assert float(chart.probability(chart.total(0.3))) == pytest.approx(0.3)


def test_a_pool_of_one_member_between_two_classes_has_a_nomogram():
    X, y = mixed()
    pool = bk.AutoBayes(max_candidates=1)
    pool.fit(X, y)
    naive = next(c for c in bk.AutoBayes().fit(X, y).members_ if c.name == "naive, families chosen")
    pool.ensemble_ = replace(pool.ensemble_, members=(naive,), pool=replace(pool.pool_, weight=np.array([0.8])))
    chart = pool.nomogram("mid")
    read = chart.probability(chart.points(X).sum(axis=1))
    assert read == pytest.approx(pool.predict_proba(X)[:, 1], abs=1e-9)
    assert chart.probability(chart.total([0.2, 0.7])) == pytest.approx([0.2, 0.7])
    assert not np.isfinite(chart.total(1 - 1e-6))  # backed off to the prior, it is never as sure as that
    later, truth = mixed(seed=1)
    for method in ("temperature", "sigmoid"):
        made = pool.calibrated(later, truth, method)
        chart = made.nomogram("mid")
        read = chart.probability(chart.points(X).sum(axis=1))
        assert read == pytest.approx(made.predict_proba(X)[:, 1], abs=1e-9)


@pytest.mark.parametrize(
    ("model", "classes", "message"),
    [
        (bk.AutoBayes(max_candidates=3), 2, "depend on each other"),
        (bk.Calibrated(bk.NaiveBayes(), "isotonic"), 2, "in steps"),
        (bk.Calibrated(bk.NaiveBayes(), "sigmoid"), 3, "more than two"),
        (bk.Calibrated(bk.TAN()), 2, "independent"),
        (bk.NetworkBayes(), 2, "independent"),
    ],
    ids=["pool", "steps", "three", "tree", "network"],
)
def test_why_there_is_no_nomogram_is_said(model, classes, message):
    X, y = mixed(classes=classes)
    with pytest.raises(InputError, match=message):
        model.fit(X, y).nomogram("low", "mid")


def test_an_axis_ends_where_the_learned_or_the_given_rows_end():
    rng = np.random.default_rng(3)
    X = {"waiting": rng.exponential(1.0, 200)}  # never negative, but a normal density is
    y = (X["waiting"] + rng.normal(0, 0.5, 200) > 1).astype(int)
    model = bk.NaiveBayes().fit(X, y)
    some = {"waiting": np.sort(X["waiting"])[20:60]}
    for chart, known in ((model.nomogram(1), X), (model.nomogram(1, among=some), some)):
        assert min(chart.scales[0].values) >= known["waiting"].min()
        assert max(chart.scales[0].values) <= known["waiting"].max()
        found = chart.probability(chart.points(X).sum(axis=1))
        np.testing.assert_allclose(found, model.predict_proba(X)[:, 1], atol=1e-12)
