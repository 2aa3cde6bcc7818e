"""families="auto": the choice recovers what made the data, is algebra on statistics, and explains itself."""

import pickle
from fractions import Fraction
from math import log

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import bayeskit as bk
from bayeskit.data.block import Block
from bayeskit.families import Categorical, Gaussian, Poisson
from bayeskit.smoothing import TowardPooled

N = 900  # fewer than the cells of the bins, so that leave-one-out is exact


def table(seed=0, n=N):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "normal": rng.normal(y, 1.0, n),
            "log": rng.lognormal(0.8 * y, 1.0, n),
            "gamma": rng.gamma(1.5 + 2 * y, 1.0, n),
            "waves": np.where(rng.random(n) < 0.5, -4, 4) + rng.normal(0, 0.4 + 0.6 * y, n),
            "events": rng.poisson(40 + 8 * y),
            "noise": rng.normal(size=n),
            "colour": np.where(rng.random(n) < 0.3 + 0.4 * y, "red", "blue"),
            "coin": rng.choice(["heads", "tails"], n),
        }
    ), y


@pytest.fixture(scope="module")
def fitted():
    X, y = table()
    return bk.NaiveBayes(families="auto").fit(X, y), X, y


def test_the_choice_recovers_the_family_that_made_the_column(fitted):
    chosen = {c.name: c.family for c in fitted[0].schema_.columns}
    assert chosen["normal"] == "Gaussian"
    assert chosen["log"] == "LogNormal"
    assert chosen["gamma"] == "Gamma"
    assert chosen["waves"] in ("Histogram", "Kernel")
    assert chosen["events"] in ("Poisson", "Gaussian", "Gamma")


def test_weights_say_which_columns_depend_on_the_class(fitted):
    model = fitted[0]
    (weights,) = {id(d.inclusion): d.inclusion.weights for d in model.model_.density.densities}.values()
    assert set(weights) == set(table()[0].columns), "numbers and categories together"
    assert all(weights[name] > 0.99 for name in ("normal", "log", "gamma", "waves", "events", "colour"))
    assert all(weights[name] < 0.8 for name in ("noise", "coin")), "most columns do, so these may"


def test_the_schema_says_what_else_was_tried_how_much_it_lost_by_and_how_much_the_column_counts(fitted):
    why = fitted[0].schema_["normal"].why_family
    assert "leave-one-out" in why
    assert all(f"{other} by" in why for other in ("Kernel", "Histogram"))
    assert why.startswith("weight 1, as a density for each class gains ")
    assert "over one for all; chosen" in fitted[0].schema_["coin"].why_family
    assert "weight 1: a density for each class gains" in str(fitted[0].summary())


def test_a_column_without_news_hardly_moves_the_posterior(fitted):
    model, X, _ = fitted
    some = X[:50]
    moved = model.predict_log_proba(some.assign(noise=0.5, coin="heads")) - model.predict_log_proba(some)
    assert np.abs(np.diff(moved, axis=1)).max() < 0.1


def test_learning_in_parts_forgetting_and_merging_give_the_model_of_the_rows():
    X, y = table(1, 600)
    whole = bk.NaiveBayes(families="auto").fit(X, y)
    parts = bk.NaiveBayes(families="auto").fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    other = bk.NaiveBayes(families="auto").fit(X[200:], y[200:])
    first = bk.NaiveBayes(families="auto").fit(X[:200], y[:200])
    assert parts.model_.digest == whole.model_.digest == (first + other).model_.digest
    assert (parts.predict_proba(X) == whole.predict_proba(X)).all()
    assert ((first + other).predict_proba(X) == whole.predict_proba(X)).all()
    assert whole.forget(X[200:], y[200:]).model_.digest == first.model_.digest
    assert (whole.predict_proba(X) == first.predict_proba(X)).all()


def test_the_choice_does_not_depend_on_row_order_or_threads(fitted):
    model, X, y = fitted
    order = np.random.default_rng(5).permutation(len(y))
    again = bk.NaiveBayes(families="auto", n_jobs=2).fit(X.iloc[order], y[order])
    assert again.model_.digest == model.model_.digest
    assert [c.family for c in again.schema_.columns] == [c.family for c in model.schema_.columns]


def test_it_survives_being_pickled_before_and_after_it_was_asked(fitted):
    model, X, _ = fitted
    fresh = bk.NaiveBayes(families="auto").fit(*table())
    again = pickle.loads(pickle.dumps(fresh))
    assert (again.predict_proba(X[:20]) == model.predict_proba(X[:20])).all()
    assert (pickle.loads(pickle.dumps(again)).predict_proba(X[:20]) == model.predict_proba(X[:20])).all()


def test_it_survives_a_file_and_explains_itself(fitted, tmp_path):
    model, X, _ = fitted
    model.save(tmp_path / "m.bayes")
    loaded = bk.load(tmp_path / "m.bayes")
    assert (loaded.predict_proba(X[:20]) == model.predict_proba(X[:20])).all()
    told = model.explain(X[:20])
    assert told.joint == pytest.approx(model.predict_joint_log_proba(X[:20]), rel=1e-12)


def test_scores_are_those_of_refits_without_each_row():
    """Distinct values fit the bins: the score of a candidate is the sum of log densities of real refits."""
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 20)
    x = rng.normal(2 * y, 1).round(2)
    trial = bk.NaiveBayes(families="auto").fit(x[:, None], y).model_.density.trials[0]
    scores = {type(tried.family).__name__: tried for tried in trial.scores}
    step, n = np.diff(np.unique(x)).min(), len(x)
    expected = pooled_expected = 0.0
    for i in range(n):
        keep = np.arange(n) != i
        refit = bk.NaiveBayes(families=Gaussian(), prior="uniform").fit(x[keep][:, None], y[keep])
        log = refit.predict_joint_log_proba([[x[i]]])[0] + np.log(2)
        size = np.bincount(y[keep])
        pooled = np.log((size / size.sum() * np.exp(log)).sum())
        backed = np.logaddexp(log[y[i]] + np.log(size[y[i]]), pooled) - np.log(size[y[i]] + 1)
        expected += backed + np.log(step)
        pooled_expected += norm.logpdf(x[i], x[keep].mean(), x[keep].std()) + np.log(step)
    assert scores["Gaussian"].score == pytest.approx(expected, rel=1e-9)
    assert scores["Gaussian"].gain == pytest.approx(expected - pooled_expected, rel=1e-9)


def test_scores_of_levels_are_those_of_the_other_rows():
    """p = (n + m P(v)) / (n_c + m) from the counts of all rows but one, in exact fractions."""
    levels, labels = list("uuvwuvvwwwuv"), [0, 0, 0, 1, 1, 1, 1, 0, 1, 1, 0, 1]
    trial = bk.NaiveBayes(families="auto").fit({"c": levels}, labels).model_.density.trials[0]
    found = {tried.family.smoothing.m: tried for tried in trial.scores}
    rows = list(zip(levels, labels, strict=True))
    for m in (1, 4, 16):
        alone, together = 0.0, 0.0
        for i, (level, label) in enumerate(rows):
            rest = rows[:i] + rows[i + 1 :]
            share = Fraction(sum(v == level for v, _ in rest), len(rest))
            mine = [v for v, c in rest if c == label]
            alone += log((mine.count(level) + m * share) / (len(mine) + m))
            together += log(share)
        assert found[m].score == pytest.approx(alone, rel=1e-12)
        assert found[m].gain == pytest.approx(alone - together, rel=1e-12)


@pytest.mark.parametrize("column", [["a", "b", None, "a"], [1.0, np.nan, 2.0, 2.5], [7.0] * 4, [None] * 4])
def test_small_and_poor_columns_are_accepted(column):
    model = bk.NaiveBayes(families="auto").fit({"x": column}, [0, 1, 0, 1])
    proba = model.predict_proba({"x": column})
    assert np.isfinite(proba).all()
    assert proba.sum(axis=1) == pytest.approx(np.ones(4))


def test_auto_may_be_named_for_some_columns():
    X, y = table(2, 300)
    model = bk.NaiveBayes(families={"log": "auto", "events": Poisson()}).fit(X, y)
    assert model.schema_["log"].family.startswith("LogNormal")
    assert model.schema_["events"].family == "Poisson"
    assert model.schema_["normal"].family == "Gaussian"


def test_smoothing_toward_all_classes_by_fractions():
    rule = Categorical(TowardPooled(3))
    model = bk.NaiveBayes(families=rule, prior="uniform").fit({"c": ["u", "u", "v", "v", "v"]}, list("aabbb"))
    a, b = (2 + 3 * 2 / 5) / (2 + 3), (0 + 3 * 2 / 5) / (3 + 3)
    assert model.predict_proba({"c": ["u"]})[0] == pytest.approx([a / (a + b), b / (a + b)], rel=1e-14)


def test_a_column_with_one_candidate_is_weighed_too():
    """Levels in order: p = (n_v + m q_v) / (n_c + m), q_v = 1/(2m) + (f_(v-1) + f_(v+1))/4, from the other rows."""
    rows = {"pain": ["low", "high", "low", "high"], "void": [None] * 4}
    model = bk.NaiveBayes(families="auto", kinds={"pain": ["low", "high"]}).fit(rows, [0, 1, 0, 1])
    assert model.schema_["pain"].family == "Ordinal"
    assert model.schema_["pain"].why_family.endswith("over one for all; the only one tried")
    trial = next(t for t in model.model_.density.trials if t.name == "pain")
    alone = 4 * log((1 + 2 * (Fraction(1, 4) + Fraction(1, 4))) / (1 + 2))  # a row of the class is left: its own level
    together = 4 * log((1 + 2 * (Fraction(1, 4) + Fraction(3, 12))) / (3 + 2))
    assert (trial.scores[0].score, trial.gain) == pytest.approx((alone, alone - together), rel=1e-12)
    assert (model.schema_["void"].family, model.schema_["void"].why_family) == ("", "no value so far")


def test_a_warning_tells_where_most_candidates_failed(monkeypatch):
    """Each failure stands in the summary with its reason."""
    from bayeskit.ensemble.candidate_run import CandidateRun

    whole = CandidateRun._predictions

    def broken(self, candidate):
        if candidate.name != "naive, families chosen":
            raise ValueError("no such luck")
        return whole(self, candidate)

    monkeypatch.setattr(CandidateRun, "_predictions", broken)
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.warns(UserWarning, match="of 4 candidates failed"):
        model = bk.AutoBayes(max_candidates=4).fit(X, (X[:, 0] > 0).astype(int))
    assert str(model.summary()).count("failed: no such luck") == 3


def test_the_sum_of_the_core_is_that_of_the_terms_and_the_same_for_a_row_alone(fitted):
    """Values no row had, out of support, subnormal and beyond any table among them."""
    model, X, _ = fitted
    odd = [-3.0, 0.0, 1e-310, 0.5, 2000.0, 1e5, 1e300, np.nan]
    rows = pd.concat([X.head(40), X.head(len(odd)).assign(**dict.fromkeys(X.columns[:6], odd), colour="green")])
    block = Block.concatenate(list(model._predictor(rows).blocks()))
    terms, found = model.model_.density.terms(block).sum(axis=1), np.zeros((len(rows), 2))
    model.model_.density.add(block, found)
    np.testing.assert_allclose(found, terms, rtol=1e-12, atol=1e-12)
    for i in range(len(rows)):
        alone = np.zeros((1, 2))
        model.model_.density.add(block.at(np.array([i])), alone)
        np.testing.assert_array_equal(alone[0], found[i])
