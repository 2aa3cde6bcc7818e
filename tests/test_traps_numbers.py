"""Silent surprises of other libraries: numbers at the edges of a double, small classes, degenerate columns."""

import mpmath
import numpy as np
import pytest
from scipy import stats

import bayeskit as bk
from bayeskit.errors import InputError
from bayeskit.families import Gaussian

EXTREME = np.array([1e300, -1.7e308, 5e-324, 0.0, 1.7976931348623157e308, -5e-324, 1.0, 2.2250738585072014e-308])
FAMILIES = [Gaussian(), Gaussian(predictive=True)]
IDS = ["normal", "student"]


def sound(model, X):
    """Posteriors are probabilities and nothing is NaN."""
    proba, log = model.predict_proba(X), model.predict_log_proba(X)
    assert np.isfinite(proba).all()
    assert proba.sum(axis=1) == pytest.approx(np.ones(len(proba)), rel=1e-12)
    assert not np.isnan(log).any()
    assert not np.isnan(model.predict_joint_log_proba(X)).any()
    assert not np.isnan(model.log_evidence(X)).any()
    explained = model.explain(X)
    assert not np.isnan(explained.terms).any()
    assert np.isfinite(explained.proba).all()


@pytest.mark.parametrize("family", FAMILIES, ids=IDS)
def test_extreme_numbers_at_prediction(family):
    model = bk.NaiveBayes(families=family).fit([[1.0, 2.0], [2.0, 1.0], [5.0, 7.0], [6.0, 9.0]], [0, 0, 1, 1])
    sound(model, np.stack(np.meshgrid(EXTREME, EXTREME), axis=-1).reshape(-1, 2))


@pytest.mark.parametrize("family", FAMILIES, ids=IDS)
@pytest.mark.parametrize("rows", [3, 4, 5, 8])
def test_extreme_numbers_in_fitting(family, rows):
    for start in range(8):
        X = np.roll(EXTREME, start)[:rows, None]
        model = bk.NaiveBayes(families=family).fit(X, np.arange(rows) % 2)
        sound(model, EXTREME[:, None])
        sound(model, np.array([[3.0], [np.nan]]))


@pytest.mark.parametrize("family", FAMILIES, ids=IDS)
@pytest.mark.parametrize("power", [-1060, -900, -500, 500, 900, 1018])
def test_posteriors_do_not_change_with_the_unit(family, power):
    X, y = np.array([[1.0], [2.0], [4.0], [9.0], [11.0], [15.0]]), [0, 0, 0, 1, 1, 1]
    new = np.array([[3.0], [6.0], [7.0], [30.0]])
    scale = 2.0**power  # exact: the numbers keep all their bits, even as subnormals
    model = bk.NaiveBayes(families=family).fit(X * scale, y)
    expected = []
    for x in new[:, 0]:
        if family.predictive:
            p = [_student(X[:3, 0], X[:, 0], x), _student(X[3:, 0], X[:, 0], x)]
        else:
            p = [stats.norm(part.mean(), part.std()).pdf(x) for part in (X[:3, 0], X[3:, 0])]
        expected.append([p[0] / sum(p), p[1] / sum(p)])
    assert model.predict_proba(new * scale) == pytest.approx(np.array(expected), rel=1e-11, abs=1e-300)


def _student(mine, everything, x):
    """Normal-inverse-gamma predictive: kappa 1, nu 2, the grand mean, scale^2 = the total variance."""
    n, middle, total = len(mine), everything.mean(), everything.var()
    kappa, nu = n + 1, n + 2
    centre = (middle + n * mine.mean()) / kappa
    squares = 2 * total + n * mine.var() + n / kappa * (mine.mean() - middle) ** 2
    return stats.t(nu, centre, np.sqrt(squares / nu * (kappa + 1) / kappa)).pdf(x)


def test_the_farthest_tails_against_fifty_digits():
    X, y = [[0.0], [2.0], [4.0], [10.0]], [0, 0, 1, 1]  # N(1, 1) and N(7, 3)
    model = bk.NaiveBayes().fit(X, y)
    with mpmath.workdps(50):
        for x in (-1e3, 1e5, 1e10, 1e100):
            z = [(mpmath.mpf(x) - m) / s for m, s in ((1, 1), (7, 3))]
            log = [-(v**2) / 2 - mpmath.log(s) - mpmath.log(2 * mpmath.pi) / 2 for v, s in zip(z, (1, 3), strict=True)]
            joint = [float(v + mpmath.log(0.5)) for v in log]
            assert model.predict_joint_log_proba([[x]])[0] == pytest.approx(joint, rel=1e-13)


@pytest.mark.parametrize("x", [-1e154, 1e155, 1e200, -1e250, 1e300, 1.7e308])
def test_the_wider_class_wins_beyond_where_squares_overflow(x):
    model = bk.NaiveBayes().fit([[0.0], [2.0], [4.0], [10.0]], [0, 0, 1, 1])  # N(1, 1) and N(7, 3)
    assert model.predict_proba([[x]])[0].tolist() == [0, 1]


def test_a_small_difference_on_a_large_number():
    X = 1e7 + np.array([0.1, 0.2, 0.3, 0.4, 0.6, 0.8])
    model = bk.NaiveBayes().fit(X[:, None], [0, 0, 0, 1, 1, 1])
    with mpmath.workdps(50):
        exact = [mpmath.mpf(float(v)) for v in X]
        for k, part in enumerate((exact[:3], exact[3:])):
            mean = sum(part) / 3
            variance = sum((v - mean) ** 2 for v in part) / 3
            log = -((exact[1] - mean) ** 2) / variance / 2 - mpmath.log(2 * mpmath.pi * variance) / 2
            rounding = float(abs(exact[1] - mean) / variance) * np.spacing(1e7)  # of the mean, once
            assert model.explain(X[1:2, None]).terms[0, 0, k] == pytest.approx(float(log), abs=rounding + 1e-15)


def test_integers_beyond_two_to_the_53_are_rounded_once_and_reported():
    big = 2**53
    with pytest.warns(UserWarning, match="2 integers"):
        model = bk.NaiveBayes().fit({"n": [big + 1, big + 3, big, 5]}, [0, 1, 0, 1])
    assert model.summary().rounded == 2
    floats = bk.NaiveBayes().fit({"n": np.array([big + 1, big + 3, big, 5], dtype=float)}, [0, 1, 0, 1])
    assert model.model_.digest == floats.model_.digest


# -- weights ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [5e-324, 1e-300, 1e300])
def test_extreme_weights_give_no_nan(weight):
    X, y = {"x": [1.0, 2.0, 5.0, 9.0], "c": ["u", "v", "u", "u"]}, [0, 0, 1, 1]
    model = bk.NaiveBayes().fit(X, y, sample_weight=[weight] * 4)
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    assert proba.sum(axis=1) == pytest.approx(np.ones(4))


def test_weights_whose_sum_no_double_holds_are_refused():
    with pytest.raises(InputError, match="add up"):
        bk.NaiveBayes().fit([[1.0], [2.0]], [0, 1], sample_weight=[1.7e308, 1.7e308])


def test_a_weight_is_a_repetition_and_zero_is_absence():
    X, y = np.array([[1.0], [2.5], [5.0], [9.0], [9.5]]), np.array([0, 0, 1, 1, 2])
    weighted = bk.NaiveBayes().fit(X, y, sample_weight=[1, 3, 2, 1, 0])
    repeated = bk.NaiveBayes().fit(np.repeat(X, [1, 3, 2, 1, 0], axis=0), np.repeat(y, [1, 3, 2, 1, 0]))
    assert weighted.model_.digest == repeated.model_.digest
    assert weighted.classes_.tolist() == [0, 1]


# -- small classes ---------------------------------------------------------------------------------


def test_a_class_of_one_row_borrows_the_pooled_variance():
    X, y = np.array([[1.0], [2.0], [6.0], [5.0]]), [0, 0, 0, 1]
    total, pooled = X.var(), (3 * X[:3].var() + 0) / 4
    one = stats.norm(5, np.sqrt(max(pooled / (1 + 1), 1e-9 * total)))
    model = bk.NaiveBayes().fit(X, y)
    assert model.explain([[4.0]]).terms[0, 0] == pytest.approx(
        [stats.norm(3, X[:3].std()).logpdf(4), one.logpdf(4)], rel=1e-13
    )


def test_a_constant_class_borrows_by_its_weight():
    X, y = np.array([[1.0], [2.0], [6.0], [5.0], [5.0], [5.0]]), [0, 0, 0, 1, 1, 1]
    pooled = (3 * X[:3].var() + 0) / 6
    model = bk.NaiveBayes().fit(X, y)
    log = stats.norm(5, np.sqrt(pooled / (3 + 1))).logpdf(4)
    assert model.explain([[4.0]]).terms[0, 0, 1] == pytest.approx(log, rel=1e-13)


def test_classes_constant_each_get_a_billionth_of_the_total_variance():
    X, y = np.array([[1.0], [1.0], [5.0], [5.0]]), [0, 0, 1, 1]
    model = bk.NaiveBayes().fit(X, y)
    deviation = np.sqrt(1e-9 * 4)
    assert model.explain([[1.0]]).terms[0, 0] == pytest.approx(
        [stats.norm(1, deviation).logpdf(1), stats.norm(5, deviation).logpdf(1)], rel=1e-9
    )


def test_every_class_of_one_row():
    model = bk.NaiveBayes().fit(np.diag([1.0, 2.0, 3.0]), [0, 1, 2])
    sound(model, np.diag([1.0, 2.0, 3.0]))
    assert model.predict(np.diag([1.0, 2.0, 3.0])).tolist() == [0, 1, 2]


def test_one_row_alone():
    with pytest.warns(UserWarning, match="only one class"):
        model = bk.NaiveBayes().fit({"x": [3.0], "c": ["u"]}, ["a"])
    assert model.predict_proba({"x": [1e9], "c": ["w"]}).tolist() == [[1.0]]


def test_one_class_is_accepted_with_a_warning():
    with pytest.warns(UserWarning, match="only one class.*'a'"):
        model = bk.NaiveBayes().fit([[1.0], [2.0]], ["a", "a"])
    assert model.predict([[9.0]]).tolist() == ["a"]
    with pytest.warns(UserWarning, match="only one class"):
        model.partial_fit([[3.0]], ["a"])
    model.partial_fit([[7.0], [8.0]], ["b", "b"])
    assert model.classes_.tolist() == ["a", "b"]
