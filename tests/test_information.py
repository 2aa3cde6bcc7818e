"""The value of information: against exact fractions, quadrature by SciPy, and enumeration."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.integrate import quad

import bayeskit as bk
from bayeskit.errors import BayeskitError, InputError

COSTS = {"ill": {"treat": 1, "wait": 50}, "well": {"treat": 5, "wait": 0}}


def patients(n: int, seed: int) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    y = rng.choice(["ill", "well"], n, p=[0.3, 0.7])
    test = np.where(rng.random(n) < np.where(y == "ill", 0.8, 0.1), "positive", "negative")
    cough = np.where(rng.random(n) < np.where((y == "ill") & (test == "positive"), 0.7, 0.4), "wet", "dry")
    return pd.DataFrame({"test": test, "cough": cough, "heat": rng.normal(37 + (y == "ill"), 0.7), "age": 40.0}), y


def test_a_level_is_worth_what_fractions_say() -> None:
    """10 ill of whom 8 are positive, 30 well of whom 3 are: Laplace's (n + 1) / (N + 2)."""
    y = ["ill"] * 10 + ["well"] * 30
    test = ["+"] * 8 + ["-"] * 2 + ["+"] * 3 + ["-"] * 27
    model = bk.NaiveBayes().fit({"test": test}, y)
    found = model.value_of_information({"test": [None]}, COSTS, {"test": 0.25})
    prior = {"ill": F(1, 4), "well": F(3, 4)}
    positive = {"ill": F(9, 12), "well": F(4, 32)}

    def cost(share: dict[str, F]) -> F:
        return min(sum(share[c] * COSTS[c][action] for c in share) for action in ("treat", "wait"))

    shares = [positive, {c: 1 - p for c, p in positive.items()}]
    informed = sum(cost({c: prior[c] * share[c] for c in prior}) for share in shares)
    assert found.cost == pytest.approx(float(cost(prior)))
    assert found.saving[0] == pytest.approx(float(cost(prior) - informed))
    assert found.net[0] == pytest.approx(float(cost(prior) - informed) - 0.25)
    assert found.action == "treat"
    assert found.best == ("test" if found.net[0] > 0 else None)


def test_a_number_is_worth_what_quadrature_says() -> None:
    X, y = patients(200, 0)
    model = bk.NaiveBayes().fit(X[["test", "heat"]], y)
    found = model.value_of_information({"test": ["negative"], "heat": [None]}, COSTS)
    share = model.predict_proba({"test": ["negative"], "heat": [None]})[0]
    normal = [stats.norm(X["heat"][y == c].mean(), X["heat"][y == c].std(ddof=0)) for c in ("ill", "well")]
    table = np.array([[1, 50], [5, 0]])

    def least(x: float) -> float:
        return float(((share * [d.pdf(x) for d in normal]) @ table).min())

    informed = quad(least, 30, 45, limit=500, epsabs=1e-10, points=[36, 37, 38, 39])[0]
    assert found.saving[0] == pytest.approx((share @ table).min() - informed, abs=1e-6)
    assert list(found.frame().to_pydict()) == ["column", "saving", "price", "net"]


def test_a_number_that_hangs_together_with_a_known_one_is_worth_what_quadrature_says() -> None:
    rng = np.random.default_rng(3)
    y = rng.choice(["ill", "well"], 150)
    heat = rng.normal(37 + (y == "ill"), 0.6)
    X = np.column_stack([heat, heat - 37 + rng.normal(0, 0.4, 150) + 0.5 * (y == "ill")])
    found = bk.FullBayes(shrinkage=None).fit(X, y).value_of_information([[37.3, np.nan]], COSTS)
    joint = [stats.multivariate_normal(X[y == c].mean(axis=0), np.cov(X[y == c].T, ddof=0)) for c in ("ill", "well")]
    share, table = np.array([np.mean(y == "ill"), np.mean(y == "well")]), np.array([[1, 50], [5, 0]])
    v = np.linspace(-8, 9, 40_001)
    p = share * np.column_stack([d.pdf(np.column_stack([np.full_like(v, 37.3), v])) for d in joint])
    whole = np.trapezoid(p.sum(axis=1), v)
    informed = np.trapezoid((p @ table).min(axis=1), v) / whole
    uninformed = (np.trapezoid(p, v, axis=0) @ table).min() / whole
    assert found.saving[0] == pytest.approx(uninformed - informed, abs=1e-6)


@pytest.mark.parametrize(
    "estimator",
    [bk.NaiveBayes(), bk.FullBayes(), bk.TAN(), bk.KDB(), bk.AODE(), bk.NetworkBayes()],
    ids=lambda m: type(m).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_levels_are_worth_what_posteriors_say(estimator: Any) -> None:
    """p(v | x) and P(c | x, v) from the posteriors of rows and from the evidence alone."""
    X, y = patients(300, 1)
    model = estimator.fit(X[["test", "cough"]], y)
    row = {"test": ["positive"], "cough": [None]}
    found = model.value_of_information(row, COSTS)
    table = np.array([[1, 50], [5, 0]])
    full = {"test": ["positive"] * 2, "cough": ["dry", "wet"]}
    evidence = np.logaddexp.reduce(model.predict_joint_log_proba(full), axis=1)
    weight = np.exp(evidence - np.logaddexp.reduce(evidence))
    informed = weight @ (model.predict_proba(full) @ table).min(axis=1)
    uninformed = (weight @ model.predict_proba(full) @ table).min()
    assert found.saving[0] == pytest.approx(uninformed - informed, abs=1e-9)


def test_a_constant_column_and_a_certain_decision_are_worth_nothing() -> None:
    X, y = patients(200, 2)
    model = bk.NaiveBayes().fit(X, y)
    row = {"test": ["negative"], "cough": ["dry"], "heat": [36.0], "age": [None]}
    assert model.value_of_information(row, COSTS).saving.tolist() == [0.0]
    idle = {"ill": {"treat": 0, "wait": 1}, "well": {"treat": 0, "wait": 1}}
    assert model.value_of_information({**row, "test": [None]}, idle).saving == pytest.approx([0, 0], abs=1e-12)


def test_the_classifier_that_decides_uses_its_own_costs() -> None:
    X, y = patients(200, 2)
    model = bk.RiskClassifier(bk.NaiveBayes(), COSTS).fit(X[["test", "heat"]], y)
    row = {"test": [None], "heat": [37.5]}
    np.testing.assert_array_equal(
        model.value_of_information(row).saving, model.estimator_.value_of_information(row, COSTS).saving
    )


def test_a_network_says_the_same_as_enumeration() -> None:
    network = bk.Network(
        [("ill", "test"), ("ill", "cough")],
        {
            "ill": {"no": 0.9, "yes": 0.1},
            "test": {"no": {"-": 0.95, "+": 0.05}, "yes": {"-": 0.2, "+": 0.8}},
            "cough": {"no": {"n": 0.7, "y": 0.3}, "yes": {"n": 0.4, "y": 0.6}},
        },
    )
    costs = {"no": {"act": 10, "wait": 0}, "yes": {"act": 0, "wait": 40}}
    found = network.value_of_information("ill", {"cough": "y"}, costs, {"test": 0.5})
    share = np.array([0.9 * 0.3, 0.1 * 0.6])
    share /= share.sum()
    table = np.array([[10, 0], [0, 40]])
    informed = sum(((share * t) @ table).min() for t in (np.array([0.95, 0.2]), np.array([0.05, 0.8])))
    assert found.columns == ("test",)
    assert found.cost == pytest.approx((share @ table).min())
    assert found.saving[0] == pytest.approx((share @ table).min() - informed)
    with pytest.raises(InputError, match="is in the evidence"):
        network.value_of_information("ill", {"ill": "no"}, costs)


def test_bad_input_is_refused_by_name() -> None:
    X, y = patients(60, 3)
    model = bk.NaiveBayes().fit(X, y)
    row = {"test": ["positive"], "cough": [None], "heat": [37.0], "age": [40.0]}
    with pytest.raises(InputError, match="known in this row"):
        model.value_of_information(row, COSTS, columns=["test"])
    with pytest.raises(InputError, match="no column of the model"):
        model.value_of_information(row, COSTS, columns=["x-ray"])
    with pytest.raises(InputError, match="price of 'cough'"):
        model.value_of_information(row, COSTS, {"cough": -1})
    with pytest.raises(InputError, match="prices name 'x-ray'"):
        model.value_of_information(row, COSTS, {"x-ray": 1})
    with pytest.raises(InputError, match="one row"):
        model.value_of_information(X, COSTS)
    with pytest.raises(BayeskitError, match="well"):
        model.value_of_information(row, {"ill": {"treat": 1}})
    with pytest.raises(InputError, match="no densities"):
        bk.NaiveBayes(weights="fitted").fit(X, y).value_of_information(row, COSTS)


@pytest.mark.parametrize("model", [bk.TAN(), bk.KDB(), bk.NetworkBayes()], ids=lambda m: type(m).__name__)
def test_a_number_that_the_model_cuts_is_summed_over_its_intervals(model: Any) -> None:
    """Joint probabilities along the number are steps: each is an interval, and together they are the row without it."""
    X, y = patients(400, 3)
    row = X.iloc[[0]].assign(heat=np.nan, cough=None)
    found = model.fit(X, y).value_of_information(row, COSTS)
    assert not found.left_out
    heat = np.linspace(X["heat"].min() - 1, X["heat"].max() + 1, 20_001)
    joint = np.exp(model.predict_joint_log_proba(row.loc[row.index.repeat(len(heat))].assign(heat=heat)))
    steps = joint[np.append(True, np.abs(np.diff(joint, axis=0)).sum(axis=1) > 1e-12)]
    now = np.exp(model.predict_joint_log_proba(row))[0]
    assert steps.sum(axis=0) == pytest.approx(now, rel=1e-9)
    table = np.array([[COSTS[c][action] for action in ("treat", "wait")] for c in ("ill", "well")])
    saving = ((now @ table).min() - (steps @ table).min(axis=1).sum()) / now.sum()
    assert saving > 0
    assert dict(zip(found.columns, found.saving, strict=True))["heat"] == pytest.approx(saving, rel=1e-9)
