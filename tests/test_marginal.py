"""Columns by themselves: what they tell, alone and in a summary."""

from collections import Counter
from fractions import Fraction
from math import log2

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import bayeskit as bk
from bayeskit.errors import InputError
from shapes import LABELS, ROWS, TABLE, two_normals


def test_a_column_tells_what_an_integral_says():
    X, y = two_normals()
    found = bk.NaiveBayes().fit(X, y).marginal("x")
    pooled = lambda x: (norm.pdf(x) + norm.pdf(x, 2)) / 2  # noqa: E731
    told = quad(lambda x: norm.pdf(x) * log2(norm.pdf(x) / pooled(x)), -9, 11)[0]
    assert found.information == pytest.approx(told, abs=1e-6)
    assert found.mean == pytest.approx([0, 2], abs=1e-8)
    assert found.deviation == pytest.approx([1, 1], abs=1e-8)


def test_levels_tell_what_their_shares_say():
    found = bk.NaiveBayes(smoothing=0).fit(TABLE, LABELS).marginal("size")
    told = 0.0
    for size in ("small", "medium", "large"):
        for label, n in Counter(LABELS).items():
            joint = Fraction(sum(r[2] == size and r[3] == label for r in ROWS), len(ROWS))
            if joint:
                told += float(joint) * log2(joint / (Fraction(TABLE["size"].count(size), 11) * Fraction(n, 11)))
    assert found.information == pytest.approx(told, abs=1e-12)


def test_full_bayes_knows_its_columns_alone():
    rng = np.random.default_rng(4)
    X = rng.multivariate_normal([0, 0], [[2, 1.2], [1.2, 1]], 200)
    y = np.repeat(["a", "b"], 100)
    found = bk.FullBayes(shrinkage=None).fit(X, y).marginal("x1")
    assert found.mean == pytest.approx([X[:100, 1].mean(), X[100:, 1].mean()], abs=1e-6)
    assert found.deviation == pytest.approx([X[:100, 1].std(), X[100:, 1].std()], rel=1e-6)


def test_a_hole_that_is_a_level_does_not_colour_other_columns():
    X, y = two_normals(20)
    X["hole"] = [None, 1.0] * 10 + [1.0] * 20
    found = bk.NaiveBayes(missing={"hole": "level"}).fit(X, y).marginal("x")
    values = np.asarray(found.values)
    assert np.exp(found.log_density[:, 0]) == pytest.approx(norm.pdf(values), abs=1e-9)


def test_the_summary_ranks_columns_and_tells_their_parameters():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 100)
    X = {"noise": rng.normal(size=200), "signal": rng.normal(size=200) + 3 * (y == "b"), "empty": [None] * 200}
    summary = bk.NaiveBayes().fit(X, y).summary()
    assert [p["column"] for p in summary.parameters] == ["signal", "noise"]
    mean = [c["mean"] for c in summary.parameters[0]["classes"]]
    assert mean == pytest.approx([X["signal"][:100].mean(), X["signal"][100:].mean()], abs=1e-7)
    assert "most informative" in str(summary)


def test_one_row_and_one_class_are_explained_or_refused_by_name():
    with pytest.warns(UserWarning, match="one class"):
        model = bk.NaiveBayes().fit({"a": ["x"]}, ["p"])
    assert "P(c | x)" in str(model.explain({"a": ["x"]}))
    assert model.counterfactual({"a": ["x"]}).nearest == (None,)
    with pytest.raises(InputError, match="one class"):
        model.nomogram("p")


def test_a_share_near_the_least_double_does_not_make_information_infinite():
    """Far in the tails a share may vanish when it is multiplied by P(c); such values tell nothing."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.gamma(45, 12.1 / 45, 357), rng.gamma(30, 17.5 / 30, 212)])
    model = bk.NaiveBayes(families="Gamma").fit({"x": x}, np.repeat(["a", "b"], [357, 212]))
    found = model.marginal("x")
    assert (found.shares[found.shares > 0] < 1e-300).any()
    assert 0 < found.information < 1
