"""Worked examples about decisions, to the digits printed in the course texts."""

import numpy as np
import pytest

import bayeskit as bk


def test_d4_unequal_costs_change_the_decision_not_the_probability():
    x, y = np.array([[-1.0], [1.0], [1.0], [3.0]]), ["well", "well", "ill", "ill"]
    costs = bk.Costs({"ill": {"ill": 0, "well": 100}, "well": {"ill": 1, "well": 0}})
    plain, careful = bk.NaiveBayes().fit(x, y), bk.RiskClassifier(bk.NaiveBayes(), costs).fit(x, y)
    np.testing.assert_array_equal(plain.predict_proba([[0.0]]), careful.predict_proba([[0.0]]))
    assert plain.predict([[0.0]]).tolist() == ["well"]
    assert careful.predict([[0.0]]).tolist() == ["ill"]


def test_e2_actions_need_not_be_classes():
    proba = [[0.35, 0.45, 0.20]]
    classes = ["c1", "c2", "c3"]
    assert bk.decide(proba, bk.Costs.zero_one(classes)).action.tolist() == ["c2"]
    treatment = {"c1": {"A": 0, "B": 1}, "c2": {"A": 1, "B": 0}, "c3": {"A": 0, "B": 1}}
    decision = bk.decide(proba, bk.Costs(treatment))
    assert decision.action.tolist() == ["A"]
    np.testing.assert_allclose(1 - decision.expected, [[0.55, 0.45]])


def test_e4_error_is_the_integral_over_the_wrong_regions():
    line = bk.NaiveBayes().fit([[-1.0], [1.0], [1.0], [3.0]], ["a", "a", "b", "b"])
    assert round(bk.bayes_error(line).error, 4) == 0.1587
    corners = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1.0]])
    plane = bk.NaiveBayes().fit(np.vstack([corners, corners + np.array([2, 0])]), ["a"] * 4 + ["b"] * 4)
    assert round(bk.bayes_error(plane).error, 4) == 0.1587


def test_e5_expectations():
    die = bk.decide([[1 / 6] * 6], bk.Costs({face: {"roll": face} for face in range(1, 7)}))
    assert die.expected[0, 0] == pytest.approx(3.5)
    p = 1 / 200_000
    raffle = bk.decide([[p, 1 - p]], bk.Costs({"prize": {"buy": -99_999, "pass": 0}, "none": {"buy": 1, "pass": 0}}))
    assert raffle.expected[0, 0] == pytest.approx(0.5)
    assert raffle.action.tolist() == ["pass"]
