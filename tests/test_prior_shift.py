"""Priors adapted to new rows by EM: against direct maximisation and the truth."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm

import bayeskit as bk
from bayeskit.decision.shift import prior_shift


def test_it_maximises_the_likelihood_of_the_new_rows():
    rng = np.random.default_rng(0)
    posterior = rng.dirichlet([1, 1], 300)
    old = np.array([0.3, 0.7])
    ratio = posterior / old

    def loss(q):
        return -np.log(ratio @ [q, 1 - q]).sum()

    best = minimize_scalar(loss, bounds=(1e-9, 1 - 1e-9), method="bounded", options={"xatol": 1e-12})
    found = prior_shift(np.array([0, 1]), np.log(posterior), np.log(old))
    assert found.new[0] == pytest.approx(best.x, abs=1e-6)
    assert found.converged
    assert found.gain == pytest.approx(loss(0.3) - best.fun, abs=1e-6)


def test_it_finds_the_priors_the_rows_were_drawn_with():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 2000)
    model = bk.NaiveBayes().fit(rng.normal(2.0 * y)[:, None], y)
    moved = (rng.random(20_000) < 0.1).astype(int)
    rows = rng.normal(2.0 * moved)[:, None]
    adapted = model.adapt_prior(rows)
    assert adapted.prior_shift_.new[1] == pytest.approx(0.1, abs=0.02)
    np.testing.assert_allclose(adapted.prior_shift_.old, [0.5, 0.5])
    assert (adapted.predict(rows) == moved).mean() > (model.predict(rows) == moved).mean() + 0.02
    assert model.prior == "empirical"
    assert "new prior" in str(adapted.prior_shift_)


def test_the_adapted_model_is_bayes_rule_with_the_new_prior():
    x = np.array([[-1.0], [1.0], [1.0], [3.0]])
    adapted = bk.NaiveBayes().fit(x, ["a", "a", "b", "b"]).adapt_prior([[0.0], [0.1], [-0.5], [2.0]])
    q = adapted.prior_shift_.new
    joint = q * norm.pdf(0.5, [0, 2], 1)
    np.testing.assert_allclose(adapted.predict_proba([[0.5]]), [joint / joint.sum()], atol=1e-12)


def test_a_class_without_a_prior_stays_without():
    model = bk.NaiveBayes(prior={"a": 1.0, "b": 0.0}).fit([[0.0], [1.0], [5.0], [6.0]], list("aabb"))
    assert model.adapt_prior([[5.5]]).prior_shift_.new.tolist() == [1.0, 0.0]
