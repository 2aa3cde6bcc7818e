"""Values a family cannot take: a named error in fit, missing and counted at prediction."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats

import bayeskit as bk
from bayeskit import families as f

Y = ["a", "a", "a", "b", "b", "b"]
GOOD = np.array([0.1, 0.2, 0.4, 0.5, 0.8, 0.9])
BAD = [
    (f.Poisson(), 10 * GOOD, -1.0, "whole numbers of at least 0"),
    (f.Poisson(), 10 * GOOD, 1.5, "whole numbers of at least 0"),
    (f.NegativeBinomial(), 10 * GOOD, 2.25, "whole numbers of at least 0"),
    (f.Binomial(trials=12), 10 * GOOD, 13.0, "from 0 to 12"),
    (f.LogNormal(), GOOD, 0.0, "above 0"),
    (f.Gamma(), GOOD, -2.0, "above 0"),
    (f.Exponential(), GOOD, -0.5, "at least 0"),
    (f.Beta(), GOOD, 1.0, "below 1"),
    (f.VonMises(), GOOD, 90.0, "pi/180"),
    (f.ZeroInflated(f.Gamma()), GOOD, -1.0, "at least 0"),
]
every = pytest.mark.parametrize(("family", "good", "bad", "says"), BAD, ids=[f"{b[0]}, {b[2]}" for b in BAD])


def table(values: np.ndarray) -> list[dict[str, float]]:
    return [{"dose": float(v)} for v in values]


@every
def test_a_value_outside_is_an_error_in_fit(family, good, bad, says):
    values = good.copy()
    values[3] = bad
    with pytest.raises(ValueError, match=says) as error:
        bk.NaiveBayes(families=family).fit(table(values), Y)
    assert "'dose'" in str(error.value)
    assert f"{bad:g}" in str(error.value)
    assert type(family).__name__ in str(error.value)


@every
def test_a_failed_batch_leaves_the_model_as_it_was(family, good, bad, says):
    model = bk.NaiveBayes(families=family).fit(table(good), Y)
    before = model.model_.digest
    with pytest.raises(ValueError, match="dose"):
        model.partial_fit(table(np.array([good[0], bad])), ["a", "b"])
    assert model.model_.digest == before


@every
def test_a_value_outside_is_missing_at_prediction_and_counted(family, good, bad, says):
    model = bk.NaiveBayes(families=family).fit(table(good), Y)
    with pytest.warns(UserWarning, match="dose") as seen:
        found = model.predict_proba(table(np.array([bad, good[0], bad])))
    assert len(seen) == 1
    assert "2" in str(seen[0].message)
    assert type(family).__name__ in str(seen[0].message)
    assert found[0] == pytest.approx([0.5, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict_proba(table(good[:1]))[0] == pytest.approx(found[1])


@every
def test_weight_zero_is_absence(family, good, bad, says):
    rows, weights = table(np.append(good, bad)), [1.0] * 6 + [0.0]
    model = bk.NaiveBayes(families=family).fit(rows, [*Y, "a"], sample_weight=weights)
    assert model.model_.digest == bk.NaiveBayes(families=family).fit(table(good), Y).model_.digest


@every
def test_the_extremes_inside_are_finite(family, good, bad, says):
    model = bk.NaiveBayes(families=family).fit(table(good), Y)
    points = [5e-324, 1e-300, 1e300, 1.7e308, 0.0, 12.0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = model.predict_proba(table(np.array(points)))
    assert np.isfinite(found).all()
    assert found.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("make", [
    lambda: f.Binomial(trials=0), lambda: f.Binomial(trials=2.5), lambda: f.Poisson(smoothing=-1),
    lambda: f.Poisson(smoothing="much"), lambda: f.ZeroInflated(f.Poisson()), lambda: f.ZeroInflated("Nonsense"),
])  # fmt: skip
def test_settings_that_cannot_be(make):
    with pytest.raises(ValueError, match="give a"):
        make()


def test_a_nearly_constant_column_is_refused_by_gamma_and_beta():
    values = 0.5 + 1e-9 * np.arange(6)
    for family in (f.Gamma(), f.Beta()):
        with pytest.raises(ValueError, match=r"'dose'.*Gaussian"):
            bk.NaiveBayes(families=family).fit(table(values), Y)


def test_counts_are_poisson_and_orders_ordinal_unless_said_otherwise():
    rows = [{"hits": i, "pain": p} for i, p in enumerate(["low", "high", "low", "mid", "mid", "high"])]
    model = bk.NaiveBayes(kinds={"hits": "count", "pain": ["low", "mid", "high"]}, smoothing=0.5).fit(rows, Y)
    assert [c.family for c in model.schema_.columns] == ["Poisson(smoothing=0.5)", "Ordinal(smoothing=0.5)"]


X = np.array([1.0, 2.0, 4.0, 5.0, 8.0, 9.0])
SCIPY = {
    "Poisson": (f.Poisson(0), X, lambda v: stats.poisson(v.mean()).logpmf),
    "Exponential": (f.Exponential(0), X, lambda v: stats.expon(scale=v.mean()).logpdf),
    "Binomial": (f.Binomial(12, 0), X, lambda v: stats.binom(12, v.mean() / 12).logpmf),
    "LogNormal": (f.LogNormal(), X, lambda v: stats.lognorm(np.log(v).std(), scale=np.exp(np.log(v).mean())).logpdf),
    "Gamma": (f.Gamma(), X, lambda v: _fitted(stats.gamma, v, floc=0).logpdf),
    "Beta": (f.Beta(), X / 10, lambda v: _fitted(stats.beta, v, floc=0, fscale=1).logpdf),
    "VonMises": (f.VonMises(), X / 3, lambda v: _fitted(stats.vonmises, v, fscale=1).logpdf),
}


def _fitted(kind, values, **fixed):
    return kind(*kind.fit(values, **fixed))


@pytest.mark.parametrize(("family", "values", "scipy"), SCIPY.values(), ids=SCIPY)
def test_the_fit_is_that_of_scipy(family, values, scipy):
    """SciPy's optimisers stop at about 1e-7 in the parameters of Gamma, Beta and VonMises."""
    model = bk.NaiveBayes(families=family, prior="uniform").fit(table(values), Y)
    wanted = np.column_stack([scipy(values[:3])(values), scipy(values[3:])(values)])
    assert model.predict_joint_log_proba(table(values)) + np.log(2) == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("value", [1.0000001, 16777217.5, 0.1])
def test_a_value_outside_is_told_with_the_digits_that_put_it_there(value):
    with pytest.raises(ValueError, match=rf"'dose' has the value {value!r}; Poisson"):
        bk.NaiveBayes(families=f.Poisson()).fit(table(np.array([0.0, 1.0, 2.0, value, 4.0, 5.0])), Y)
