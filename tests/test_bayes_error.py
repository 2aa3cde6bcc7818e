"""The Bayes error against SciPy's distributions, enumeration and sampling with SciPy."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, special, stats

import bayeskit as bk
from bayeskit.errors import BayeskitError
from bayeskit.families import Exponential, Gaussian, Histogram, Kernel, LogNormal, Poisson, ZeroInflated


def normal_pair(gap, s=1.0, t=1.0):
    """A table whose class means and deviations are exactly 0, s and gap, t."""
    x = [-s, s, gap - t, gap + t]
    return np.array(x)[:, None], np.array(["a", "a", "b", "b"])


def overlap_of(p, q, low=-60.0, high=60.0):
    """Half the integral of min(p, q), by SciPy on small intervals."""
    edges = np.linspace(low, high, 400)
    parts = [integrate.quad(lambda x: min(p(x), q(x)), a, b, epsabs=1e-13)[0] for a, b in itertools.pairwise(edges)]
    return sum(parts) / 2


@pytest.mark.parametrize(("gap", "s", "t"), [(2, 1, 1), (0, 1, 5), (1, 0.1, 3), (10, 1, 1)])
def test_two_normal_classes_also_with_regions_in_pieces(gap, s, t):
    found = bk.bayes_error(bk.NaiveBayes().fit(*normal_pair(gap, s, t)))
    expected = overlap_of(stats.norm(0, s).pdf, stats.norm(gap, t).pdf)
    assert found.error == pytest.approx(expected, abs=1e-8)
    assert found.method == "integration"
    assert found.bounds[0] <= found.error <= found.bounds[1]


def test_a_class_decided_in_two_pieces():
    found = bk.bayes_error(bk.NaiveBayes().fit(*normal_pair(0, 1, 5)))
    edge = np.sqrt(2 * np.log(5) / (1 - 1 / 25))  # where N(0, 1) and N(0, 25) are equal
    np.testing.assert_allclose(found.by_class, [2 * stats.norm.sf(edge), 1 - 2 * stats.norm.sf(edge / 5)], atol=1e-8)


def test_bhattacharyya_bounds_of_unequal_priors():
    found = bk.bayes_error(bk.NaiveBayes(prior={"a": 0.2, "b": 0.8}).fit(*normal_pair(1.5, 1, 2)))
    r = np.exp(-(1 / 4) * 1.5**2 / (1 + 4) - 0.5 * np.log((1 + 4) / (2 * 1 * 2)))
    expected = (1 - np.sqrt(1 - 4 * 0.16 * r**2)) / 2, min(np.sqrt(0.16) * r, 0.2)
    np.testing.assert_allclose(found.bounds, expected, rtol=1e-12)


def test_two_columns_against_sampling_with_scipy():
    rng = np.random.default_rng(1)
    X = np.vstack(
        [rng.normal([0, 0], [1, 2], (60, 2)), rng.normal([1, 2], [0.5, 1], (40, 2)), rng.normal([3, 0], 1, (50, 2))]
    )
    y = np.repeat([0, 1, 2], [60, 40, 50])
    found = bk.bayes_error(bk.NaiveBayes().fit(X, y))
    c = rng.choice(3, 400_000, p=[0.4, 40 / 150, 50 / 150])
    mean, deviation = (np.array([f(X[y == k], axis=0) for k in range(3)]) for f in (np.mean, np.std))
    x = rng.normal(mean[c], deviation[c])
    logs = [stats.norm.logpdf(x, mean[k], deviation[k]).sum(axis=1) + np.log(np.mean(y == k)) for k in range(3)]
    wrong = (np.argmax(logs, axis=0) != c).mean()
    assert found.error == pytest.approx(wrong, abs=4 * np.sqrt(wrong / 400_000))


def test_many_columns_are_sampled_with_a_standard_error():
    """Ten columns of N(0, 1) against N(0.6, 1): the distance is 0.6 sqrt(10), and half of it decides."""
    X = np.vstack([np.tile([[-1.0], [1.0]], 10), np.tile([[-0.4], [1.6]], 10)])
    found = bk.bayes_error(bk.NaiveBayes().fit(X, ["a", "a", "b", "b"]))
    assert found.method == "sampling"
    assert 0 < found.standard_error < 0.002
    assert found.error == pytest.approx(stats.norm.sf(0.3 * np.sqrt(10)), abs=4 * found.standard_error)


def test_other_priors():
    model = bk.NaiveBayes().fit(*normal_pair(2))
    found = bk.bayes_error(model, prior={"a": 0.9, "b": 0.1})
    edge = 1 + np.log(9) / 2
    assert found.error == pytest.approx(0.9 * stats.norm.sf(edge) + 0.1 * stats.norm.cdf(edge - 2), abs=1e-8)


FAMILIES = {
    "LogNormal": (LogNormal(), lambda x: stats.lognorm(np.log(x).std(), scale=np.exp(np.log(x).mean())).pdf, 1e-9, 400),
    "Exponential": (Exponential(0), lambda x: stats.expon(scale=x.mean()).pdf, 0, 400),
}


@pytest.mark.parametrize("name", ["LogNormal", "Exponential"])
def test_families_of_positive_numbers(name):
    family, density, low, high = FAMILIES[name]
    x = np.array([0.5, 1.0, 2.5, 0.8, 4.0, 9.0, 12.0, 5.0])
    y = np.repeat(["a", "b"], 4)
    found = bk.bayes_error(bk.NaiveBayes(families=family).fit(x[:, None], y))
    p, q = density(x[:4]), density(x[4:])
    assert found.error == pytest.approx(overlap_of(p, q, low, high), abs=1e-6)


@pytest.mark.parametrize(
    ("a", "b"), [((2, 3), (5, 3)), ((0.5, 0.5), (1.5, 0.5)), ((9e3, 1e4), (1e4, 1e4)), ((0.1, 5), (0.2, 5))]
)
def test_shares_are_integrated_between_zero_and_one(a, b):
    """Against SciPy's fit of both classes, integrated on the scale of the log-odds, where no density is infinite."""
    rng = np.random.default_rng(2)
    parts = [rng.beta(*a, 300), rng.beta(*b, 300)]
    u = np.linspace(-230, 36, 400_001)
    x, slope = special.expit(u), np.exp(special.log_expit(u) + special.log_expit(-u))
    fits = [stats.beta(*stats.beta.fit(part, floc=0, fscale=1)) for part in parts]
    wanted = 1 - integrate.trapezoid(np.maximum(*(fit.pdf(x) / 2 for fit in fits)) * slope, u)
    model = bk.NaiveBayes(families="Beta").fit(np.concatenate(parts)[:, None], np.repeat(["a", "b"], 300))
    assert bk.bayes_error(model).error == pytest.approx(wanted, abs=2e-4)


@pytest.mark.parametrize("family", [Kernel(), Histogram(), Gaussian(predictive=True)], ids=str)
def test_shapes_without_a_formula_are_integrated_from_their_own_density(family):
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(0, 1, 30), rng.normal(2, 1.5, 30)])[:, None]
    model = bk.NaiveBayes(families=family, prior="uniform").fit(x, np.repeat(["a", "b"], 30))
    grid = np.linspace(-300, 300, 1_200_001)
    joint = np.exp(model.predict_joint_log_proba(grid[:, None]))
    assert bk.bayes_error(model).error == pytest.approx(joint.min(axis=1).sum() * 0.0005, abs=2e-4)


def test_counts_and_levels_are_summed():
    table = pd.DataFrame({"hits": [0, 1, 1, 3, 4, 6], "colour": ["red", "red", "blue", "blue", "blue", "green"]})
    model = bk.NaiveBayes(families={"hits": Poisson(0)}, kinds={"hits": "count"}).fit(table, list("aaabbb"))
    k = np.arange(200)
    hits = [stats.poisson.pmf(k, 2 / 3), stats.poisson.pmf(k, 13 / 3)]
    colours = [
        np.array([1 + 1, 0 + 1, 2 + 1]) / 6,
        np.array([2 + 1, 1 + 1, 0 + 1]) / 6,
    ]  # blue, green, red with Laplace
    expected = sum(np.minimum(hits[0] * colours[0][j], hits[1] * colours[1][j]).sum() for j in range(3)) / 2
    found = bk.bayes_error(model)
    assert found.error == pytest.approx(expected, abs=1e-9)
    assert found.method == "sum"


def test_an_atom_at_zero_counts_as_a_value_of_its_own():
    x = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 3.0, 5.0, 8.0, 4.0])[:, None]
    model = bk.NaiveBayes(families=ZeroInflated(), prior="uniform").fit(x, np.repeat(["a", "b"], 5))
    at_zero = np.exp(model.predict_joint_log_proba([[0.0]]))[0]
    grid = np.linspace(1e-4, 200, 2_000_001)
    rest = np.exp(model.predict_joint_log_proba(grid[:, None])).min(axis=1).sum() * (grid[1] - grid[0])
    assert bk.bayes_error(model).error == pytest.approx(at_zero.min() + rest, abs=1e-3)


def test_what_has_no_error_probability_is_refused():
    model = bk.NaiveBayes(smoothing=bk.smoothing.ReplaceZeros()).fit([{"a": "x"}, {"a": "y"}], [0, 1])
    with pytest.raises(BayeskitError, match="do not integrate"):
        bk.bayes_error(model)
    with pytest.raises(BayeskitError, match="fitted bayeskit classifier"):
        bk.bayes_error(object())


def test_classes_that_never_meet_and_a_table_that_says_nothing():
    assert bk.bayes_error(bk.NaiveBayes().fit(*normal_pair(1e6))).error == pytest.approx(0, abs=1e-12)
    same = bk.NaiveBayes().fit([[1.0], [1.0], [1.0]], ["a", "a", "b"])
    assert bk.bayes_error(same).error == pytest.approx(1 / 3, abs=1e-12)


def test_full_covariances_in_two_columns_and_in_many():
    """Classes that differ by a shift only: the Mahalanobis distance decides, whatever the covariance."""
    rng = np.random.default_rng(5)
    for d in (2, 5):
        root = rng.normal(size=(d, d)) + 2 * np.eye(d)
        corners = np.vstack([np.eye(d), -np.eye(d)]) * np.sqrt(d) @ root.T  # their covariance is root root'
        shift = rng.normal(size=d)
        X, y = np.vstack([corners, corners + shift]), ["a"] * 2 * d + ["b"] * 2 * d
        found = bk.bayes_error(bk.FullBayes(shrinkage=None).fit(X, y))
        far = np.sqrt(shift @ np.linalg.solve(root @ root.T, shift))
        exact = stats.norm.sf(far / 2)
        assert found.error == pytest.approx(exact, abs=max(4 * found.standard_error, 2e-6))
        assert found.method == ("integration" if d == 2 else "sampling")
        r = np.exp(-(far**2) / 8)
        np.testing.assert_allclose(found.bounds, [(1 - np.sqrt(1 - r**2)) / 2, r / 2], rtol=1e-9)
