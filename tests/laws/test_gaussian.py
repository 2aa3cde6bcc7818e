"""The rules of the Gaussian family, on numbers small enough to work out by hand."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import mpmath
import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import bayeskit as bk

Classes = dict[str, list[float | None]]


def log_density(classes: Classes, points: list[float], predictive: bool = False) -> dict[str, np.ndarray]:
    """log p(point | class) by class."""
    rows = [(x, label) for label, values in classes.items() for x in values]
    x, label = zip(*rows, strict=True)
    family = bk.families.Gaussian(predictive=predictive)
    model = bk.NaiveBayes(families=family, prior="uniform").fit(pa.table({"x": x, "class": label}), "class")
    joint = model.predict_joint_log_proba(pa.table({"x": pa.array(points, pa.float64())}))
    return dict(zip(model.classes_, (joint + np.log(len(classes))).T, strict=True))


def normal(points: list[float], mean: Fraction | float, variance: Fraction | float) -> np.ndarray:
    return stats.norm.logpdf(points, float(mean), np.sqrt(float(variance)))


POINTS = [-3.0, 0.0, 1.0, 4.9, 5.0, 5.5, 20.0]


def test_the_variance_divides_by_n() -> None:
    found = log_density({"a": [0.0, 2.0], "b": [4.0, 5.0, 9.0]}, POINTS)
    assert found["a"] == pytest.approx(normal(POINTS, 1, 1), rel=1e-13)
    assert found["b"] == pytest.approx(normal(POINTS, 6, Fraction(14, 3)), rel=1e-13)


def test_a_class_of_one_row_takes_a_share_of_the_pooled_variance() -> None:
    """S_a = 2, W = 3, so P = 2/3, and the class has P / (1 + 1)."""
    found = log_density({"a": [0.0, 2.0], "b": [5.0]}, POINTS)
    assert found["b"] == pytest.approx(normal(POINTS, 5, Fraction(1, 3)), rel=1e-13)


def test_a_constant_class_takes_less_the_more_it_weighs() -> None:
    """P = 2/6 and W = 4: P / 5."""
    found = log_density({"a": [0.0, 2.0], "b": [5.0] * 4}, POINTS)
    assert found["b"] == pytest.approx(normal(POINTS, 5, Fraction(2, 30)), rel=1e-13)


def test_where_every_class_is_constant_the_floor_is_a_billionth_of_the_total() -> None:
    """P = 0 and T = 4."""
    found = log_density({"a": [0.0, 0.0], "b": [4.0, 4.0]}, [0.0, 1e-4, 4.0])
    assert found["a"] == pytest.approx(normal([0.0, 1e-4, 4.0], 0, 4e-9), rel=1e-12)


@pytest.mark.parametrize(("step", "floored"), [(2.0e-5, True), (2.1e-5, False)])
def test_the_floor_begins_at_a_billionth_of_the_total(step: float, floored: bool) -> None:
    """The class has variance step^2: above 1e-9 T as it is, below it P / (W + 1); here P = T."""
    classes: Classes = {"a": [-step, step], "b": [-1.0, 1.0, -0.5, 0.5]}
    exact = {label: [Fraction(x) for x in values] for label, values in classes.items()}
    squares = {label: sum(x * x for x in values) for label, values in exact.items()}
    total = sum(squares.values()) / 6
    own = squares["a"] / 2
    assert (own < total / 10**9) == floored
    near = [0.0, 1e-5, 0.1]
    wanted = normal(near, 0, total / 3 if floored else own)
    assert log_density(classes, near)["a"] == pytest.approx(wanted, rel=1e-12)


def test_the_floor_is_on_the_columns_own_scale() -> None:
    """A noise column of deviation 1e6 moves no other: its floor is its own."""
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 1e6, 40)
    x, label = rng.normal(0, 1e-3, 40) + np.repeat([0, 0.01], 20), np.repeat(["a", "b"], 20)
    alone = bk.NaiveBayes().fit({"x": x}, label).explain({"x": x}).terms
    beside = bk.NaiveBayes().fit({"x": x, "noise": noise}, label).explain({"x": x, "noise": noise}).terms
    assert beside[:, :1].tobytes() == alone.tobytes()


def test_a_column_without_spread_says_nothing() -> None:
    for predictive in (False, True):
        found = log_density({"a": [7.5, 7.5], "b": [7.5], "c": [None]}, [7.5, 0.0, 1e300], predictive)
        assert np.array(list(found.values())).tolist() == [[0.0] * 3] * 3


def test_a_column_without_spread_is_reported() -> None:
    table = {"x": [7.5, 7.5, 7.5], "y": [1.0, 2.0, 3.0]}
    model = bk.NaiveBayes().fit(table, ["a", "a", "b"])
    assert model.model_.constant == ("x",)


def test_a_class_without_values_has_those_of_the_whole_column() -> None:
    found = log_density({"a": [0.0, 2.0], "b": [7.0], "c": [None]}, POINTS)
    assert found["c"] == pytest.approx(normal(POINTS, 3, Fraction(26, 3)), rel=1e-13)


def test_thirty_deviations_out_the_tail_is_exact() -> None:
    far = [30.0, -30.0, 300.0, 1e150]
    found = log_density({"a": [-1.0, 1.0], "b": [0.0, 9.0]}, far)["a"]
    assert found == pytest.approx(normal(far, 0, 1), rel=1e-13)


# -- the Student-t predictive ------------------------------------------------------------------------


def evidence(values: list[Fraction], middle: Fraction, scale: Fraction) -> mpmath.mpf:
    """log p(values) under x ~ N(m, v), m ~ N(middle, v / 1), v ~ scaled inverse chi^2 (2, scale).

    Integrating m out, x is normal with covariance v (I + 11'), integrating v out it is a multivariate t: with
    q = r' (I + 11')^-1 r and det = n + 1, p = G((2 + n)/2) / G(1) (2 scale pi)^(-n/2) det^(-1/2)
    (1 + q / (2 scale))^(-(2 + n)/2).
    """
    n, r = len(values), [x - middle for x in values]
    q = Fraction(sum(x * x for x in r)) - Fraction(sum(r)) ** 2 / (n + 1)
    spread = mpmath.mpf((2 * scale).numerator) / (2 * scale).denominator
    inner = 1 + mpmath.mpf(q.numerator) / q.denominator / spread
    return (
        mpmath.loggamma(mpmath.mpf(2 + n) / 2)
        - mpmath.mpf(n) / 2 * mpmath.log(spread * mpmath.pi)
        - mpmath.log(n + 1) / 2
        - mpmath.mpf(2 + n) / 2 * mpmath.log(inner)
    )


@pytest.mark.parametrize("values", [[], [5.0], [5.0, 5.0], [4.0, 5.5, 9.25], [0.5 * i for i in range(40)]])
def test_student_is_the_ratio_of_two_evidences(values: list[float]) -> None:
    """p(x | class) = p(values, x) / p(values) under the prior kappa 1, nu 2, grand mean, T."""
    classes: Classes = {"a": [0.0, 2.0, 3.0], "b": [*values, None]}
    every = [Fraction(x) for x in [*classes["a"], *values] if x is not None]
    middle = sum(every) / len(every)
    total = sum((x - middle) ** 2 for x in every) / len(every)
    found = log_density(classes, POINTS, predictive=True)["b"]
    known = [Fraction(x) for x in values]
    with mpmath.workdps(50):
        before = evidence(known, middle, total)
        wanted = [float(evidence([*known, Fraction(x)], middle, total) - before) for x in POINTS]
    assert found == pytest.approx(wanted, rel=1e-12)


def test_student_agrees_with_scipy() -> None:
    """One row at 5 beside 0 and 2: mean 7/3, T = 38/9, kappa 2, nu 3."""
    found = log_density({"a": [0.0, 2.0], "b": [5.0]}, POINTS, predictive=True)["b"]
    middle, total = Fraction(7, 3), Fraction(38, 9)
    scale = (2 * total + Fraction(1, 2) * (5 - middle) ** 2) / 3 * Fraction(3, 2)
    wanted = stats.t.logpdf(POINTS, 3, float((middle + 5) / 2), np.sqrt(float(scale)))
    assert found == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("unit", [5e-324, 1e-300, 1.0, 1e300])
@pytest.mark.parametrize("point", [0.0, 1.0, -1e300, 1.7e308])
def test_a_student_tail_is_finite_at_every_double(unit: float, point: float) -> None:
    found = log_density({"a": [unit, 3 * unit], "b": [7 * unit, 9 * unit]}, [point], predictive=True)
    assert all(-inf < value[0] < inf for value in found.values())


def test_student_counts_in_single_steps_of_the_smallest_double() -> None:
    """Odd multiples of 5e-324 are not halved away."""
    unit = 5e-324
    steps = np.array([1.0, 2.0, 3.0])
    classes: Classes = {"a": [unit, 3 * unit], "b": [7 * unit, 9 * unit]}
    found = log_density(classes, (steps * unit).tolist(), predictive=True)["a"]
    # mean 5, T = 10; class mean 2, S = 2: kappa 3, nu 4, centre 3, scale^2 = (20 + 2 + 2/3 * 9)/4 * 4/3
    wanted = stats.t.logpdf(steps, 4, 3, np.sqrt(28 / 3)) + 1074 * np.log(2)
    assert found == pytest.approx(wanted, rel=1e-12)
