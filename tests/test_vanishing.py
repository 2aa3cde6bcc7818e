"""With no smoothing and a zero in every class: the posterior is the limit of vanishing smoothing, left out or not."""

import numpy as np
import pytest
from scipy import stats

import bayeskit as bk
from bayeskit import families as f

Y = np.array(list("aaabbbbb"))
COUNTS = np.array([[0, 2], [0, 3], [0, 1], [1, 0], [2, 0], [3, 0], [1, 0], [4, 0]], dtype=float)
ZEROS = np.array([[0, 2], [1, 3], [2, 1], [1, 0], [2, 0], [3, 1], [1, 0], [4, 2]], dtype=float)
TINY = 1e-9


def limit(log_density, rows, asked):
    """Posteriors from log densities (columns of rows, class, asked) under a smoothing of 1e-9, prior by frequency."""
    joint = []
    for mine in (Y == "a", Y == "b"):
        terms = [log_density(rows[mine, j], rows[:, j], asked[j]) for j in range(rows.shape[1])]
        joint.append(np.log(mine.mean()) + sum(terms))
    return np.exp(joint - np.logaddexp(*joint))


def pulled(mine, everyone):
    return (mine.sum() + TINY * everyone.mean()) / (len(mine) + TINY)


def share(hits, size, cells=2):
    return (hits + TINY) / (size + cells * TINY)


def inflated(mine, everyone, x):
    z = share((mine == 0).sum(), len(mine))
    if x == 0:
        return np.log(z)
    logs = np.log(mine[mine > 0] if (mine > 0).any() else everyone[everyone > 0])
    return np.log(share((mine > 0).sum(), len(mine))) + stats.lognorm.logpdf(x, logs.std(), scale=np.exp(logs.mean()))


def in_cells(mine, everyone, x, cuts=(-1.0, 0.5, 3.5, 25.0)):
    cell = np.searchsorted(cuts, x)
    hits = (np.searchsorted(cuts, mine) == cell).sum()
    return np.log(share(hits, len(mine), len(cuts) + 1)) - np.log(np.diff(cuts)[cell - 1])


def successes(mine, everyone, x, trials=5):
    return stats.binom.logpmf(x, trials, (mine.sum() + TINY) / (trials * len(mine) + 2 * TINY))


CASES = [
    (f.Poisson(0), lambda m, e, x: stats.poisson.logpmf(x, pulled(m, e)), COUNTS, [1, 1]),
    (f.Poisson(0), lambda m, e, x: stats.poisson.logpmf(x, pulled(m, e)), COUNTS, [1, 3]),
    (f.NegativeBinomial(0), lambda m, e, x: stats.poisson.logpmf(x, pulled(m, e)), COUNTS, [1, 1]),
    (f.Binomial(5, 0), successes, COUNTS, [1, 1]),
    (f.Binomial(5, 0), successes, 5 - COUNTS, [4, 4]),
    (f.Binomial(5, 0), successes, COUNTS, [1, 2]),
    (f.ZeroInflated(smoothing=0), inflated, ZEROS, [0, 0]),
    (f.ZeroInflated(smoothing=0), inflated, COUNTS, [1, 1]),
    (f.Histogram((-1, 0.5, 3.5, 25), smoothing=0), in_cells, COUNTS * [1, 5], [1, 10]),
]


@pytest.mark.parametrize(
    ("family", "log_density", "rows", "asked"), CASES, ids=lambda v: str(v) if hasattr(v, "kinds") else ""
)
def test_the_posterior_is_the_limit_of_vanishing_smoothing(family, log_density, rows, asked):
    model = bk.NaiveBayes(families=family).fit(rows, Y)
    wanted = limit(log_density, rows, asked)
    assert model.predict_proba([asked])[0] == pytest.approx(wanted, abs=1e-6)


def test_a_level_beside_those_of_the_class_vanishes_slower():
    """p = a m q / n with q = 1/(2m) + (f_below + f_above)/4, from the docstring of Ordinal, as a -> 0."""
    table = {"p": list("lllmmmhh"), "q": list("mmmllllh")}
    model = bk.NaiveBayes(families=f.Ordinal(0), kinds={"p": list("lmh"), "q": list("lmh")}).fit(table, Y)
    far, near = 3 / 6 / 3, 3 * (1 / 6 + (4 / 5 + 1 / 5) / 4) / 5  # h where all are l; m between four l and one h
    a, b = 3 / 8 * far * 1, 5 / 8 * 2 / 5 * near
    assert model.predict_proba({"p": ["h"], "q": ["m"]})[0] == pytest.approx([a / (a + b), b / (a + b)], rel=1e-12)


LEFT = [
    f.Poisson(0), f.NegativeBinomial(0), f.Binomial(9, 0), f.ZeroInflated(smoothing=0), f.Multinomial(0),
    f.Histogram((0.5, 1.5, 3.5), smoothing=0),
]  # fmt: skip


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("family", LEFT, ids=str)
def test_leaving_a_row_out_is_a_refit_where_every_class_is_impossible(family, weighted):
    rng = np.random.default_rng(3)
    lost = 0
    for _ in range(3):
        rows, labels = rng.poisson(0.3, (9, 4)).astype(float), np.array(list("aaabbbbcc"))
        weights = rng.random(9) + 0.1 if weighted else None
        found = bk.evaluate(bk.NaiveBayes(families=family), rows, labels, bk.LeaveOneOut(), sample_weight=weights).proba
        for i in range(9):
            keep = np.arange(9) != i
            less = bk.NaiveBayes(families=family)
            less.fit(rows[keep], labels[keep], sample_weight=None if weights is None else weights[keep])
            lost += np.isneginf(less.predict_joint_log_proba(rows[i : i + 1])).all()
            assert found[i] == pytest.approx(less.predict_proba(rows[i : i + 1])[0], abs=1e-10)
    assert lost  # else nothing was tried
