"""Columns whose family the data choose count as far as they depend on the class, by one rule for all of them."""

from __future__ import annotations

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

import bayeskit as bk
from bayeskit.structures.choice import inclusion

GAINS = {
    "mixed": [7.3, -1.2, 0.4, -0.9, 2.2, -1.7],
    "one column": [-0.7],
    "all tell": [40.0, 3e3, 1e6],
    "none tells": [-2.0] * 30,
    "nothing to say": [0.0] * 4,
    "impossible rows": [-1e6, 12.0],
}


@pytest.mark.parametrize("gains", GAINS.values(), ids=list(GAINS))
def test_the_weights_are_those_of_the_iteration(gains: list[float]) -> None:
    """w_j = pi e^g / (pi e^g + 1 - pi), pi <- (sum of w + 1/2) / (d + 1), iterated in 60 digits from 1/2."""
    with mpmath.workdps(60):
        ratio = [mpmath.exp(mpmath.mpf(g)) for g in gains]
        pi, before = mpmath.mpf(1) / 2, mpmath.mpf(0)
        while abs(pi - before) > mpmath.mpf(10) ** -25:
            weight = [pi * r / (pi * r + 1 - pi) for r in ratio]
            pi, before = (sum(weight) + mpmath.mpf(1) / 2) / (len(gains) + 1), pi
    found, prior = inclusion(np.array(gains))
    assert found == pytest.approx([float(w) for w in weight], rel=1e-12, abs=1e-300)
    assert prior == pytest.approx(float(pi), rel=1e-12)


def test_a_column_that_says_nothing_moves_no_other() -> None:
    gains = np.array(GAINS["mixed"])
    alone, _ = inclusion(gains)
    beside, prior = inclusion(np.append(gains, 0.0))
    assert beside[:-1] == pytest.approx(alone, rel=1e-12)
    assert beside[-1] == pytest.approx(prior, rel=1e-12)


def _levels(level: np.ndarray, label: np.ndarray) -> tuple[float, float]:
    """Sums of log p_-i(v | c) with m = 4 rows toward all classes, and of log p_-i(v)."""
    by_class = pooled = 0.0
    for i in range(len(level)):
        rest, mine = np.delete(level, i), np.delete(level, i)[np.delete(label, i) == label[i]]
        share = (rest == level[i]).mean()
        by_class += np.log(((mine == level[i]).sum() + 4 * share) / (len(mine) + 4))
        pooled += np.log(share)
    return by_class, pooled


def _normal(x: np.ndarray, label: np.ndarray, classes: int) -> tuple[float, float]:
    """The same of normal densities, those of a class backed off by one row."""
    by_class = pooled = 0.0
    for i in range(len(x)):
        rest, of = np.delete(x, i), np.delete(label, i)
        log = np.array([norm.logpdf(x[i], rest[of == c].mean(), rest[of == c].std()) for c in range(classes)])
        size = np.bincount(of, minlength=classes)
        together = logsumexp(log, b=size / size.sum())
        by_class += np.logaddexp(log[label[i]] + np.log(size[label[i]]), together) - np.log(size[label[i]] + 1)
        pooled += norm.logpdf(x[i], rest.mean(), rest.std())
    return by_class, pooled


def test_posteriors_follow_the_rule_for_numbers_and_levels_together() -> None:
    """p(x | c) = w_j p_c(x) + (1 - w_j) p(x), p(x) = sum over c of n_c p_c(x) / n; gains from real leave-one-out."""
    rng = np.random.default_rng(12)
    n, classes = 60, 3
    y = np.arange(n) % classes
    X = pd.DataFrame(
        {
            "weak": rng.normal(0.5 * y, 1.0),
            "none": rng.normal(size=n),
            "level": np.where(rng.random(n) < 0.3 + 0.2 * y, "u", "v"),
        }
    )
    model = bk.NaiveBayes(families="auto").fit(X, y)
    chosen = [c.family for c in model.schema_.columns]
    strengths = {tried.family.smoothing.m: tried.gain for tried in model.model_.density.trials[-1].scores}
    assert chosen[:2] == ["Gaussian", "Gaussian"]
    by_class, pooled = _levels(X["level"].to_numpy(), y)
    assert strengths[4.0] == pytest.approx(by_class - pooled, rel=1e-9)
    gains = [float(np.subtract(*_normal(X[name].to_numpy(), y, classes))) for name in ("weak", "none")]
    best = model.model_.density.trials[-1].scores[0].family.smoothing.m
    weight, _ = inclusion(np.array([*gains, strengths[best]]))
    size = np.bincount(y)
    log = np.tile(np.log(size / n), (n, 1))
    for name, w in zip(("weak", "none"), weight, strict=False):
        x = X[name].to_numpy()
        own = np.array([norm.pdf(x, x[y == c].mean(), x[y == c].std()) for c in range(classes)]).T
        mixed = own @ size / n
        backed = (size * own + mixed[:, None]) / (size + 1)
        log += np.log(w * backed + (1 - w) * mixed[:, None])
    level = X["level"].to_numpy()
    share = np.array([(level == v).mean() for v in level])
    count = np.array([[((level == v) & (y == c)).sum() for c in range(classes)] for v in level])
    own = (count + best * share[:, None]) / (size + best)
    log += np.log(weight[2] * own + (1 - weight[2]) * (own @ size / n)[:, None])
    expected = np.exp(log - logsumexp(log, axis=1, keepdims=True))
    assert model.predict_proba(X) == pytest.approx(expected, rel=1e-9)
    assert model.predict_joint_log_proba(X) == pytest.approx(log, rel=1e-9)


@pytest.mark.parametrize(("columns", "effect", "rows", "bar"), [(100, 0.25, 200, 0.80), (30, 0.15, 1000, 0.63)])
def test_weak_columns_are_heard(columns: int, effect: float, rows: int, bar: float) -> None:
    """Many columns of a small effect on two normal classes; Gaussian naive Bayes has 0.83 and 0.64 there."""
    right = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, rows + 4000)
        X = rng.normal(size=(len(y), columns)) + np.outer(y - 0.5, np.full(columns, effect))
        model = bk.NaiveBayes(families="auto").fit(X[:rows], y[:rows])
        right.append((model.predict(X[rows:]) == y[rows:]).mean())
    assert np.mean(right) >= bar


def test_noise_is_not_believed() -> None:
    """Expected log-loss of labels that have nothing to do with 100 columns: log 2 = 0.693 knowing that."""
    rng = np.random.default_rng(1)
    y = np.arange(200) % 2
    X, new = rng.normal(size=(200, 100)), rng.normal(size=(2000, 100))
    proba = bk.NaiveBayes(families="auto").fit(X, y).predict_proba(new)[:, 0]
    assert -(np.log(proba) + np.log(1 - proba)).mean() / 2 < 0.75


@pytest.mark.parametrize("mean", [0.5, 1, 2, 4, 8, 15])
def test_poisson_columns_are_taken_for_counts(mean: float) -> None:
    """40 columns: at least 90 % Poisson or NegativeBinomial, whether classes differ or not."""
    rng = np.random.default_rng(int(10 * mean))
    y = np.arange(200) % 2
    rates = np.where(np.arange(40) % 2, mean, mean * (1 + y[:, None] / 2))
    schema = bk.NaiveBayes(families="auto").fit(rng.poisson(rates).astype(float), y).schema_
    families = [c.family for c in schema.columns]
    assert sum(name in ("Poisson", "NegativeBinomial") for name in families) >= 36, families
    assert families.count("Kernel") <= 1


def test_thirty_rows_of_a_normal_column_are_not_a_histogram() -> None:
    rng = np.random.default_rng(4)
    y = np.arange(30) % 2
    X = rng.normal(size=(30, 100)) + np.where(np.arange(100) % 2, y[:, None], 0)
    families = [c.family for c in bk.NaiveBayes(families="auto").fit(X, y).schema_.columns]
    assert families.count("Histogram") <= 10
    assert families.count("Gaussian") >= 80


@pytest.mark.parametrize("families", ["auto", None])
@pytest.mark.parametrize("far", [1e3, 1e8, 1e200, 1e300])
def test_a_value_beyond_all_others_says_no_more_than_the_rule_allows(far: float, families: str | None) -> None:
    """Backed off by one row, a value far from all speaks for the widest class by log((n_c + 1) / P(widest)) at most."""
    rng = np.random.default_rng(2)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 2)) * np.where(y[:, None] == 1, 3.0, 1.0)
    model = bk.NaiveBayes(families=families, backoff=1.0, prior="uniform").fit(X, y)
    odds = np.diff(model.predict_log_proba([[far, 0.0], [0.0, 0.0]]), axis=1)[:, 0]
    assert 0 < odds[0] - odds[1] < np.log(41) + np.log(2) + 2.5  # 2.5: what the other column's zero says
