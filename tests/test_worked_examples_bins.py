"""The worked examples of histograms and kernels (shared/WORKED_EXAMPLES.md: E1, E7) through the public API."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_iris

import bayeskit as bk
from bayeskit.families import Histogram, Kernel

# Heights of letters a and b, counted between the cuts 0, 1, ..., 6.
COUNTS = {"a": [1, 4, 9, 8, 2, 0], "b": [0, 1, 2, 6, 9, 7]}


def letters() -> tuple[list[list[float]], list[str]]:
    rows = [(j + 0.5, c) for c, counts in COUNTS.items() for j, n in enumerate(counts) for _ in range(n)]
    return [[x] for x, _ in rows], [c for _, c in rows]


def test_e1_histogram_posterior_from_bin_counts() -> None:
    """P(x_j | c) = n_cj / n_c; P(c, x_j) = P(x_j | c) P(c); P(c | x_j) by Bayes' rule, with the prior from outside."""
    X, y = letters()
    prior = {"a": 0.75, "b": 0.25}
    model = bk.NaiveBayes(families=Histogram(range(7), smoothing=0), prior=prior).fit(X, y)
    middles = [[j + 0.5] for j in range(6)]
    joint = [[Fraction(COUNTS[c][j], sum(COUNTS[c])) * Fraction(prior[c]) for c in "ab"] for j in range(6)]
    assert np.exp(model.predict_joint_log_proba(middles)) == pytest.approx(np.array(joint, dtype=float), abs=1e-14)
    known = np.array([[float(p / sum(row)) for p in row] for row in joint])
    assert model.predict_proba(middles) == pytest.approx(known, abs=1e-14)
    assert model.predict(middles).tolist() == ["a", "a", "a", "a", "b", "b"]


def test_e1_the_empirical_prior_gives_shares_of_the_bin() -> None:
    X, y = letters()
    model = bk.NaiveBayes(families=Histogram(tuple(range(7)), smoothing=0)).fit(X, y)
    shares = [[COUNTS[c][j] / (COUNTS["a"][j] + COUNTS["b"][j]) for c in "ab"] for j in range(6)]
    assert model.predict_proba([[j + 0.5] for j in range(6)]) == pytest.approx(np.array(shares), abs=1e-14)


def test_e7_kernel_naive_bayes_does_not_mind_the_scale() -> None:
    """Accuracy is the same unscaled, scaled to [0, 1] and standardised; so are the posteriors."""
    X, y = load_iris(return_X_y=True)
    X = X * [1.0, 100.0, 0.01, 7.0] + [0.0, -30.0, 5.0, 1e3]
    unit = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    fits = [bk.NaiveBayes(families=Kernel()).fit(scaled, y) for scaled in (X, unit, standard)]
    plain, *others = [model.predict_proba(scaled) for model, scaled in zip(fits, (X, unit, standard), strict=True)]
    scores = [model.score(scaled, y) for model, scaled in zip(fits, (X, unit, standard), strict=True)]
    assert scores[0] == scores[1] == scores[2] > 0.94
    for posterior in others:
        assert posterior == pytest.approx(plain, abs=1e-5)
