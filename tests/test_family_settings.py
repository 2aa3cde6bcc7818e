"""Settings of likelihoods in any type of number: the same model, the same name, a file that can be read back."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk
from bayeskit import families as f
from bayeskit.errors import InputError
from bayeskit.smoothing import AddM, Laplace, MEstimate, TowardPooled

X = np.random.default_rng(0).poisson(3, (40, 2)) + 1.0
Y = np.arange(40) % 2
ALIKE = [  # the same setting, in the types that grids, frames and configuration files give
    (f.Kernel, "bandwidth", (0.5, np.float64(0.5), np.float32(0.5), Fraction(1, 2))),
    (f.Kernel, "bandwidth", (1, 1.0, np.int64(1))),
    (f.Histogram, "bins", (5, np.int64(5), np.uint8(5))),
    (f.Histogram, "bins", ((2.0, 4.0), [2, 4], np.array([2, 4]), pd.Series([2, 4]), pd.Index([2.0, 4.0]))),
    (f.Histogram, "smoothing", (0.5, np.float64(0.5), Fraction(1, 2))),
    (f.Histogram, "smoothing", (1, 1.0, np.int32(1))),
    (f.Binomial, "trials", (20, np.int64(20), 20.0, np.float64(20))),
    *((kind, "smoothing", (1, 1.0, np.int64(1))) for kind in (f.Multinomial, f.Complement, f.Bernoulli, f.Poisson)),
    *((kind, "smoothing", (0.5, np.float64(0.5), np.float32(0.5))) for kind in (f.Multinomial, f.Complement)),
    (f.Complement, "norm", (True, np.True_)),
    (f.Multinomial, "group", (2, np.int64(2))),
]


def fitted(kind, name, value):
    others = {"trials": 20} if kind is f.Binomial and name != "trials" else {}
    return bk.NaiveBayes(families=kind(**{name: value}, **others)).fit(X, Y)


@pytest.mark.parametrize(("kind", "name", "values"), ALIKE, ids=str)
def test_a_setting_is_its_value_whatever_its_type(kind, name, values, tmp_path):
    first, *others = (fitted(kind, name, value) for value in values)
    for model in others:
        assert model.model_.digest == first.model_.digest
        assert model.schema_.columns[0].family == first.schema_.columns[0].family
        model.save(tmp_path / "m.bayes")
        assert bk.load(tmp_path / "m.bayes").model_.digest == first.model_.digest


def test_neighbours_by_a_number_out_of_a_range_can_be_saved(tmp_path):
    plain = bk.KNNBayes(k=3, pseudo=1).fit(X, Y)
    model = bk.KNNBayes(k=np.arange(1, 5)[2], pseudo=np.float64(1)).fit(X, Y)
    model.save(tmp_path / "m.bayes")
    assert bk.load(tmp_path / "m.bayes").model_.digest == model.model_.digest == plain.model_.digest


WRONG = [
    *((f.Binomial, "trials", value) for value in ("many", None, np.nan, np.inf, [20], np.True_, 0, 2.5)),
    *((f.Kernel, "bandwidth", value) for value in (10**400, Fraction(10**400), np.True_, Fraction(0))),
    *((f.Histogram, "bins", value) for value in ([10**400], pd.Series([2.0, 1.0]), pd.Series(dtype=float), {1: 2})),
    *((f.Histogram, "smoothing", value) for value in (True, 10**400, [1.0])),
    *((kind, "smoothing", True) for kind in (f.Multinomial, f.Complement, f.Bernoulli, f.Poisson)),
    *((kind, "smoothing", 10**400) for kind in (f.Multinomial, f.Complement, f.Bernoulli, f.Poisson)),
    *((kind, "group", value) for kind in (f.Multinomial, f.Complement, f.Bernoulli) for value in ("a", 1.5, True)),
    (f.Complement, "norm", "yes"),
    (f.Gaussian, "predictive", "yes"),
]


@pytest.mark.parametrize(("kind", "name", "value"), WRONG, ids=lambda v: getattr(v, "__name__", None) or repr(v)[:20])
def test_a_setting_that_cannot_be_is_named_with_its_value(kind, name, value):
    with pytest.raises(InputError, match=rf"{kind.__name__}\({name}="):
        kind(**{name: value})


@pytest.mark.parametrize("rule", [Laplace, MEstimate, TowardPooled, AddM])
@pytest.mark.parametrize("value", ["much", True, None, 10**400])
def test_a_smoothing_rule_takes_numbers_only(rule, value):
    with pytest.raises(InputError, match=rule.__name__):
        rule(value)


TEXTS = {
    "Binomial(trials=20)": f.Binomial(20),
    "Kernel(0.5)": f.Kernel(0.5),
    "Histogram(bins=(2, 4), smoothing=1)": f.Histogram((2, 4), 1),
    "ZeroInflated(Gamma)": f.ZeroInflated("Gamma"),
    "ZeroInflated(family=Exponential(smoothing=0.0))": f.ZeroInflated(f.Exponential(0)),
    "Gaussian(predictive=True)": f.Gaussian(True),
}


@pytest.mark.parametrize(("text", "family"), TEXTS.items(), ids=str)
def test_a_family_may_be_written_as_the_schema_shows_it(text, family):
    model, known = (bk.NaiveBayes(families={"x0": given}).fit(X[:, :1], Y) for given in (text, family))
    assert model.model_.digest == known.model_.digest
    again = bk.NaiveBayes(families={"x0": model.schema_["x0"].family}).fit(X[:, :1], Y)
    assert again.model_.digest == known.model_.digest


@pytest.mark.parametrize("text", ["Kernel(0)", "Kernel(width=1)", "Kernel(", "Kernel(__import__('os'))", "Laplace(1)",
                                  "open('x')", "Kernel()()", "1", "", "Gaussian.statistic", "(" * 500])  # fmt: skip
def test_a_text_that_names_no_family_is_refused_with_its_column(text):
    with pytest.raises(InputError, match="'x0'"):
        bk.NaiveBayes(families={"x0": text}).fit(X[:, :1], Y)
