"""Sets that hold the true class: against refits, MAPIE and crepes, and by simulation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import check_estimator

import bayeskit as bk
from bayeskit.decision.conformity import Nonconformity, ScoredRows
from bayeskit.errors import InputError, KindError

pytestmark = pytest.mark.filterwarnings("ignore")


def normals(n: int, seed: int, classes: int = 3, columns: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    y[:2] = 0, 1
    return rng.normal(size=(n, columns)) + 0.9 * y[:, None] * rng.normal(1, 0.3, columns), y


def brute_force(fit: Any, X: Any, y: Any, row: Any, label: Any, score: Any) -> float:
    """The p-value of a label by a refit without each row of the table that has the new one."""
    both, labels = np.vstack([X, row]), np.append(y, label)
    found = []
    for i in range(len(labels)):
        rest = np.arange(len(labels)) != i
        model = fit(both[rest], labels[rest])
        found.append(score(model.predict_proba(both[i : i + 1])[0], model.classes_.tolist().index(labels[i])))
    return float(np.mean(np.array(found) >= found[-1] - 1e-12))


@pytest.mark.parametrize(
    ("name", "score"),
    [("lac", lambda p, k: 1 - p[k]), ("margin", lambda p, k: np.delete(p, k).max() - p[k])],
)
def test_full_conformal_is_that_of_refits_by_scikit_learn(name: str, score: Any) -> None:
    X, y = normals(40, 0)
    asked = normals(4, 1)[0]
    model = bk.Conformal(bk.NaiveBayes(), conformity_score=name).fit(X, y)
    found = model.p_values(asked)

    def fit(X: Any, y: Any) -> Any:
        return GaussianNB(var_smoothing=0).fit(X, y)

    wanted = [[brute_force(fit, X, y, row, k, score) for k in range(3)] for row in asked]
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    np.testing.assert_array_equal(model.predict_set(asked, 0.8), np.array(wanted) > 0.2)


def mixed(n: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b"], n)
    colour = np.where(rng.random(n) < 0.6, np.where(y == "a", "red", "blue"), rng.choice(["green", "red", "grey"], n))
    colour = colour.astype(object)
    colour[rng.random(n) < 0.1] = None
    x = rng.normal(y == "b")
    x[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame({"x": x, "colour": colour, "hits": rng.poisson(2 + (y == "a"))}), y


COUNTED = {
    "naive": (bk.NaiveBayes(kinds={"hits": "count"}), ["x", "colour", "hits"]),
    "smooth": (bk.NaiveBayes(unseen="smooth", prior="uniform", missing="level"), ["x", "colour"]),
    "kernel": (bk.NaiveBayes(families={"x": bk.families.Kernel()}), ["x", "colour"]),
    "neighbours": (bk.KNNBayes(k=3, metric="gower"), ["x", "colour"]),
    "full": (bk.FullBayes(kinds={"hits": "nominal"}), ["colour", "hits"]),
    "words": (bk.NaiveBayes(families="Multinomial"), ["hits", "misses"]),
    "opposites": (bk.NaiveBayes(families="Complement"), ["hits", "misses"]),
    "presence": (bk.NaiveBayes(families="Bernoulli"), ["hits", "misses"]),
    "tree": (bk.TAN(penalty=None, unseen="smooth"), ["colour", "shape"]),
    "order": (bk.KDB(k=1, penalty=None), ["colour", "shape"]),
    "averaged": (bk.AODE(), ["colour", "shape"]),
    "pairs": (bk.AODE(n=2), ["colour", "shape", "size"]),
    "network": (bk.NetworkBayes([("class", "colour"), ("class", "shape"), ("colour", "shape")]), ["colour", "shape"]),
    "rows": (bk.TAN(exact=True), ["x", "colour", "shape"]),  # cuts and arcs are chosen anew
}


def a_table(columns: list[str]) -> tuple[Any, Any, Any]:
    """Rows, their classes, and rows to be asked about: with a level that one row has, and one that none has."""
    X, y = mixed(24, 3)
    rng = np.random.default_rng(3)
    X["misses"] = rng.poisson(1 + 2 * (y == "b"))
    X["shape"] = np.where(rng.random(24) < 0.7, X["colour"] == "red", y == "a").astype(str)
    X["size"] = rng.choice(["s", "m"], 24)
    X.loc[0, "colour"] = "violet"
    asked = X[:3].copy()
    asked["colour"] = ["violet", "new to all", None]
    return X[columns].copy(), y, asked[columns]


def odds(estimator: Any, X: Any, y: Any, row: Any, label: str) -> float:
    """The log-odds against a label by a model of some rows."""
    (p,) = type(estimator)(**estimator.get_params()).fit(X, y).predict_log_proba(row)
    return float(p[1 - "ab".index(label)] - p["ab".index(label)])


@pytest.mark.parametrize("name", COUNTED)
def test_full_conformal_is_that_of_refits(name: str) -> None:
    estimator, columns = COUNTED[name]
    X, y, asked = a_table(columns)
    found = bk.Conformal(estimator).fit(X, y).p_values(asked)
    for r in range(3):
        for k, label in enumerate("ab"):
            both, labels = pd.concat([X, asked[r : r + 1]], ignore_index=True), np.append(y, label)
            rest = ~np.eye(len(both), dtype=bool)
            scores = [odds(estimator, both[m], labels[m], both[~m], labels[i]) for i, m in enumerate(rest)]
            assert found[r, k] == pytest.approx(np.mean(np.array(scores) >= scores[-1] - 1e-9), abs=1e-12)


@pytest.mark.parametrize("name", ["tree", "averaged", "network", "opposites"])
def test_jackknife_is_that_of_refits(name: str) -> None:
    estimator, columns = COUNTED[name]
    X, y, asked = a_table(columns)
    model = bk.Conformal(estimator, method="jackknife+").fit(X, y)
    rest = ~np.eye(len(X), dtype=bool)
    own = np.array([odds(estimator, X[m], y[m], X[~m], y[i]) for i, m in enumerate(rest)])
    np.testing.assert_allclose(model.scores_, own, atol=1e-12)
    wanted = np.ones((3, 2))
    for i, m in enumerate(rest):
        for r in range(3):
            new = np.array([odds(estimator, X[m], y[m], asked[r : r + 1], label) for label in "ab"])
            wanted[r] += own[i] >= new - 1e-9
    np.testing.assert_allclose(model.p_values(asked), wanted / (len(X) + 1), atol=1e-12)


def test_the_order_of_the_rows_does_not_matter() -> None:
    X, y = mixed(60, 5)
    order = np.random.default_rng(0).permutation(60)
    asked = mixed(5, 6)[0]
    one = bk.Conformal(bk.NaiveBayes()).fit(X, y)
    other = bk.Conformal(bk.NaiveBayes()).fit(X.iloc[order], y[order])
    np.testing.assert_array_equal(one.p_values(asked), other.p_values(asked))


def test_jackknife_is_that_of_refits_by_scikit_learn() -> None:
    X, y = normals(30, 2)
    asked = normals(5, 3)[0]
    counts = np.ones((5, 3))
    for i in range(30):
        model = GaussianNB(var_smoothing=0).fit(np.delete(X, i, 0), np.delete(y, i))
        counts += 1 - model.predict_proba(X[i : i + 1])[0, y[i]] >= 1 - model.predict_proba(asked) - 1e-12
    found = bk.Conformal(bk.NaiveBayes(), method="jackknife+").fit(X, y).p_values(asked)
    np.testing.assert_allclose(found, counts / 31, atol=1e-12)


@pytest.mark.parametrize("name", ["lac", "aps"])
def test_split_sets_are_mapies(name: str) -> None:
    mapie = pytest.importorskip("mapie.classification", reason="MAPIE is not installed ([peers])")
    X, y = normals(600, 4, classes=4)
    fitted = GaussianNB().fit(X[:200], y[:200])
    settings = {"confidence_level": 0.9, "conformity_score": name, "prefit": True, "random_state": 7}
    theirs = mapie.SplitConformalClassifier(fitted, **settings).conformalize(X[200:400], y[200:400])
    if name == "lac":
        _, sets = theirs.predict_set(X[400:])
        mine = bk.Conformal(fitted, 0.9, "split").around(fitted, X[200:400], y[200:400])
        np.testing.assert_array_equal(mine.predict_set(X[400:]), sets[:, :, 0])
        return
    _, sets = theirs.predict_set(X[400:], conformity_score_params={"include_last_label": "randomized"})
    how, calibration, asked = (
        Nonconformity(name),
        fitted.predict_log_proba(X[200:400]),
        fitted.predict_log_proba(X[400:]),
    )
    part = 1 - np.random.RandomState(7).uniform(size=200)
    rows = ScoredRows(how(calibration, y[200:400], part), y[200:400], np.zeros(200, dtype=int), np.ones(200))
    ranked = rows.rank(how.of_classes(asked, part), np.zeros(200, dtype=int))
    np.testing.assert_array_equal(ranked.p_values() > 0.1, sets[:, :, 0])


def test_cv_plus_sets_are_mapies() -> None:
    mapie = pytest.importorskip("mapie.classification", reason="MAPIE is not installed ([peers])")
    X, y = normals(300, 14)
    folds = KFold(5)
    theirs = mapie.CrossConformalClassifier(GaussianNB(var_smoothing=0), 0.9, "lac", cv=folds, random_state=0)
    theirs.fit_conformalize(X[:200], y[:200])
    _, sets = theirs.predict_set(X[200:], agg_scores="crossval")
    for estimator in (bk.NaiveBayes(), GaussianNB(var_smoothing=0)):
        mine = bk.Conformal(estimator, 0.9, "cv+", folds=folds).fit(X[:200], y[:200])
        np.testing.assert_array_equal(mine.predict_set(X[200:]), sets[:, :, 0])


@pytest.mark.parametrize("by", [None, "class"])
@pytest.mark.parametrize("name", ["lac", "margin"])
def test_p_values_are_those_of_crepes(by: str | None, name: str) -> None:
    crepes = pytest.importorskip("crepes", reason="crepes is not installed ([peers])")
    extras = pytest.importorskip("crepes.extras")
    X, y = normals(500, 8)
    fitted = GaussianNB().fit(X[:200], y[:200])
    theirs = crepes.WrapClassifier(fitted)
    nc = extras.hinge if name == "lac" else extras.margin
    theirs.calibrate(X[200:400], y[200:400], nc=nc, class_cond=by == "class")
    wanted = theirs.predict_p(X[400:], smoothing=False)
    mine = bk.Conformal(fitted, 0.9, "split", conformity_score=name, by=by).around(fitted, X[200:400], y[200:400])
    np.testing.assert_allclose(mine.p_values(X[400:]), wanted, atol=1e-12)
    sets = theirs.predict_set(X[400:], confidence=0.83, smoothing=False)
    assert [np.flatnonzero(row).tolist() for row in mine.predict_set(X[400:], 0.83)] == [sorted(some) for some in sets]


def test_randomised_p_values_are_uniform_and_split_ties() -> None:
    rows = ScoredRows(np.array([0.1, 0.5, 0.5, 0.9]), np.zeros(4, dtype=int), np.zeros(4, dtype=int), np.ones(4))
    ranked = rows.rank(np.array([[0.5]]), np.zeros(1, dtype=int))
    assert ranked.p_values()[0, 0] == pytest.approx((1 + 2 + 1) / 5)
    assert ranked.p_values(share=0.25)[0, 0] == pytest.approx((1 + 0.25 * 3) / 5)


def test_weights_of_a_covariate_shift_are_those_of_the_formula() -> None:
    """Tibshirani, Barber, Candès and Ramdas (2019), equation 7."""
    X, y = normals(80, 20, classes=2)
    ratio, new = np.exp(X[:, 0]), np.exp(0.3)
    model = bk.Conformal(bk.NaiveBayes(), method="split").fit(X, y, ratio=ratio)
    asked = normals(4, 21)[0]
    own = 1 - model.estimator_.predict_proba(asked)
    held = 1 / (1 + np.exp(-model.scores_))
    wanted = [[(model.ratio_[held >= a - 1e-12].sum() + new) / (model.ratio_.sum() + new) for a in row] for row in own]
    np.testing.assert_allclose(model.p_values(asked, ratio=np.full(4, new)), wanted, atol=1e-9)


def held(model: Any, draw: Any, tables: int, asked: int = 1) -> int:
    """How many sets of new rows hold their class, over new tables; with one row of each they are independent trials."""
    found = 0
    for seed in range(tables):
        X, y = draw(seed)
        sets = model.fit(X[:-asked], y[:-asked]).predict_set(X[-asked:])
        found += int(sets[np.arange(asked), y[-asked:]].sum())
    return found


def strange(seed: int) -> tuple[Any, Any]:
    """Rows that no naive model describes: dependent, heavy-tailed, noisy labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 50)
    common = rng.standard_t(2, 50)
    X = np.column_stack([common + y, common + rng.normal(size=50), rng.exponential(1 + y)])
    return X, np.where(rng.random(50) < 0.1, 1 - y, y)


CHANCE = 1e-4  # of a true promise that is called broken


def at_least(share: float, hits: int, trials: int) -> None:
    """Fails where so few of independent trials hold that a promise of this share would be kept by chance alone."""
    assert stats.binom.cdf(hits, trials, share) > CHANCE, f"{hits} of {trials} hold, {share} promised"


def just(share: float, hits: int, trials: int) -> None:
    """Also where so many do that it gives more than it promises."""
    at_least(share, hits, trials)
    assert stats.binom.sf(hits - 1, trials, share) > CHANCE, f"{hits} of {trials} hold, no more than {share} meant"


def shifted(seed: int, to: float) -> tuple[Any, Any, Any]:
    """60 rows of N(0, 1), a last one of N(to, 1), and the ratio of the densities; labels are noise where x is large."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=61)
    x[-1] += to
    y = np.where(rng.random(61) < np.where(x > 0.7, 0.5, 0.05), rng.integers(0, 2, 61), x > 0).astype(int)
    y[:2] = 0, 1
    return np.column_stack([x, rng.normal(size=61)]), y, np.exp(to * x - to**2 / 2)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["full", "split"])
def test_coverage_holds_under_a_covariate_shift(method: str) -> None:
    """Tibshirani, Barber, Candès and Ramdas (2019), corollary 1, by simulation; without the ratio it does not hold."""
    kept, lost = 0, 0
    for seed in range(400):
        X, y, ratio = shifted(seed, 2.0)
        model = bk.Conformal(bk.NaiveBayes(), 0.8, method, randomised=True, random_state=seed)
        weighted = model.fit(X[:-1], y[:-1], ratio=ratio[:-1]).predict_set(X[-1:], ratio=ratio[-1:])
        plain = model.fit(X[:-1], y[:-1]).predict_set(X[-1:])
        kept, lost = kept + int(weighted[0, y[-1]]), lost + int(plain[0, y[-1]])
    just(0.8, kept, 400)
    assert stats.binom.cdf(lost, 400, 0.8) < CHANCE, "rows that need no ratio show nothing"


@pytest.mark.parametrize("method", ["full", "jackknife+", "cv+", "split"])
def test_coverage_is_as_promised(method: str) -> None:
    found = held(bk.Conformal(bk.NaiveBayes(), 0.8, method, folds=5, randomised=True), strange, 300)
    if method in ("jackknife+", "cv+"):
        at_least(0.6, found, 300)
    else:
        just(0.8, found, 300)  # ties broken at random: not more than promised


MODELS = {
    "naive": bk.NaiveBayes(),
    "student": bk.NaiveBayes(families=bk.families.Gaussian(predictive=True)),
    "kernel": bk.NaiveBayes(families="Kernel"),
    "full": bk.FullBayes(),
    "tied": bk.FullBayes(covariance="tied"),
    "neighbours": bk.KNNBayes(k=5),
}


def each_as_new(model: Any, X: Any, y: Any, asks: Any) -> Any:
    """What is said of every row by a model of all others."""
    rest = ~np.eye(len(y), dtype=bool)
    return np.array([asks(model.fit(X[rest[i]], y[rest[i]]), X[i : i + 1], y[i]) for i in range(len(y))])


@pytest.mark.parametrize("by", [None, "class"])
@pytest.mark.parametrize("name", MODELS)
def test_the_theorem_holds_for_every_table(name: str, by: str | None) -> None:
    """Each of n rows in turn is new to the others: without ties the p-values of the true classes are 1/n, 2/n, ..., 1.

    This is the theorem itself (Vovk, Gammerman and Shafer 2005, proposition 2.3) before chance enters: coverage is what
    the share of the rows is, of which each is as likely the new one.
    """
    X, y = strange(7)
    X, y = X[:18], y[:18]
    model = bk.Conformal(MODELS[name], by=by)
    p = each_as_new(model, X, y, lambda fitted, row, label: fitted.p_values(row)[0, label])
    for mine in [y == 0, y == 1] if by else [y >= 0]:
        n = mine.sum()
        least = np.arange(1, n + 1) / n
        if name == "neighbours":  # votes are equal for many rows, and ties speak for the class
            assert (np.sort(p[mine]) >= least - 1e-9).all()
        else:
            np.testing.assert_allclose(np.sort(p[mine]), least)


@pytest.mark.parametrize("name", ["naive", "full"])
def test_novelty_holds_its_level_in_every_table(name: str) -> None:
    """The least over the classes would be 1/n, 2/n, ... if the class were told; the largest is no less."""
    X, y = strange(8)
    usual = each_as_new(bk.Conformal(MODELS[name]), X[:18], y[:18], lambda fitted, row, _: fitted.novelty(row)[0])
    assert (np.sort(usual) >= np.arange(1, 19) / 18 - 1e-9).all()
    assert usual.min() < 0.2, "a level that is held because nothing is ever unusual promises nothing"


@pytest.mark.slow
@pytest.mark.parametrize("by", [None, "class"])
@pytest.mark.parametrize("name", MODELS)
def test_full_conformal_covers_whatever_the_model(name: str, by: str | None) -> None:
    """Randomised p-values of true classes are uniform, which Kolmogorov's test looks at as a whole."""
    model, found = bk.Conformal(MODELS[name], 0.8, randomised=True, by=by), []
    tables = 500 if name in ("naive", "student", "kernel") else 150
    for seed in range(tables):
        X, y = strange(seed)
        model.random_state = seed
        found.append(model.fit(X[:-1], y[:-1]).p_values(X[-1:])[0, y[-1]])
    just(0.8, int((np.array(found) > 0.2).sum()), tables)
    assert stats.kstest(found, "uniform").pvalue > CHANCE


@pytest.mark.slow
@pytest.mark.parametrize("method", ["jackknife+", "cv+"])
def test_plus_methods_promise_half(method: str) -> None:
    """Of models that know their own rows by heart, or choose arcs by them; 20 rows are learned, one is asked."""
    estimator = bk.TAN() if method == "cv+" else bk.KNNBayes(k=1)
    model = bk.Conformal(estimator, 0.8, method, folds=5)
    at_least(0.6, held(model, lambda seed: tuple(part[:21] for part in strange(seed)), 150), 150)


def test_groups_are_promised_each() -> None:
    X, y = mixed(120, 9)
    X["colour"] = X["colour"].fillna("none")
    model = bk.Conformal(bk.NaiveBayes(), by=["class", "colour"]).fit(X, y)
    asked = X[:3].copy()
    asked["colour"] = ["never seen", "red", "blue"]
    assert model.predict_set(asked)[0].all(), "a row of a group that none is of gets all classes"
    apart = bk.Conformal(bk.NaiveBayes(), by="colour", method="split").fit(X, y)
    red = np.array(X["colour"] == "red")
    assert (apart.stratum_[apart.stratum_ == apart.groups_[("red",)]].size > 0) == red.any()


def test_a_row_without_values_gets_all_classes() -> None:
    X, y = mixed(60, 9)
    for method in ("full", "cv+", "split", "jackknife+"):
        model = bk.Conformal(bk.NaiveBayes(), 0.5, method).fit(X, y)
        assert model.predict_set({"x": [None], "colour": [None], "hits": [None]}).all()


def test_novelty_is_a_p_value_of_the_evidence() -> None:
    X, y = normals(200, 30, classes=2)
    for method in ("full", "split", "cv+", "jackknife+"):
        model = bk.Conformal(bk.NaiveBayes(), method=method).fit(X[:150], y[:150])
        usual = model.novelty(X[150:])
        assert 0.2 < usual.mean() < 0.9
        assert model.novelty([[60.0, -60, 60]])[0] < 0.03
    split = bk.Conformal(bk.NaiveBayes(), method="split").fit(X[:150], y[:150])
    held = split.evidence_
    for row, p in zip(X[150:], split.novelty(X[150:]), strict=True):
        assert p == pytest.approx((1 + (held >= -split.log_evidence([row])[0] - 1e-9).sum()) / (len(held) + 1))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "loo"}, "choose one of full, jackknife"),
        ({"conformity_score": "hinge"}, "choose one of lac, margin, aps, raps"),
        ({"by": "shape"}, "names no column of the rows"),
        ({"by": ["class", "class"]}, "each once"),
        ({"penalty": -1.0, "conformity_score": "raps"}, "at least 0"),
        ({"method": "split", "calibration_size": 1.5}, "test_size"),
    ],
)
def test_settings_that_promise_nothing_are_refused(settings: dict[str, Any], message: str) -> None:
    X, y = mixed(30, 0)
    with pytest.raises(InputError, match=message):
        bk.Conformal(bk.NaiveBayes(), **settings).fit(X, y)


@pytest.mark.parametrize(
    "estimator",
    [bk.NaiveBayes(families="auto"), bk.NaiveBayes(weights="fitted"), bk.TAN(), bk.AutoBayes(), GaussianNB()],
)
def test_what_labels_choose_is_refused_with_a_way_out(estimator: Any) -> None:
    X, y = normals(60, 0)
    with pytest.raises(KindError, match="use method='cv\\+'"):
        bk.Conformal(estimator).fit(X, y)


@pytest.mark.parametrize("estimator", [bk.KDB(k=2), bk.NetworkBayes()])
def test_arcs_that_are_held_are_refused_by_name(estimator: Any) -> None:
    X, y = mixed(40, 0)
    X = X.assign(shape=X["colour"], size=y)[["colour", "shape", "size"]]
    with pytest.raises(KindError, match=r"chose by all rows.*: the arcs; use method='cv\+'.*or fit with exact=True"):
        bk.Conformal(estimator).fit(X, y)
    assert type(estimator)(**estimator.get_params() | {"exact": True}).fit(X, y).exact_.forgetting


BY_PLACE = "copies of a row and a weight are dealt alike only if rows stand in the same order, which the check changes"


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (bk.Conformal(bk.NaiveBayes()), {}),
        (bk.Conformal(GaussianNB(), method="split"), {"check_sample_weight_equivalence_on_dense_data": BY_PLACE}),
        (bk.VennAbers(bk.NaiveBayes()), {}),
        (bk.VennAbers(GaussianNB()), {}),
    ],
    ids=repr,
)
def test_scikit_learns_checks_pass(estimator: Any, expected: dict[str, str]) -> None:
    results = check_estimator(estimator, expected_failed_checks=expected, on_skip=None, on_fail=None)
    assert [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"] == []


@pytest.mark.parametrize("method", ["full", "jackknife+", "cv+", "split"])
def test_a_weight_is_as_many_rows(method: str) -> None:
    X, y = mixed(40, 5)
    weight = np.random.default_rng(2).integers(0, 4, 40)
    often = np.repeat(np.arange(40), weight)
    one = bk.Conformal(bk.NaiveBayes(), method=method, folds=4).fit(X.assign(w=weight, label=y), "label", "w")
    other = bk.Conformal(bk.NaiveBayes(), method=method, folds=4).fit(X.iloc[often], y[often])
    np.testing.assert_array_equal(one.p_values(X), other.p_values(X))
    with pytest.raises(InputError, match=r"sample_weight of row 3 is 0.5: .* give ratio="):
        bk.Conformal(bk.NaiveBayes(), method=method).fit(X, y, np.where(np.arange(40) == 3, 0.5, 1))
    with pytest.raises(MemoryError, match="rows, as many as sample_weight says"):
        bk.Conformal(bk.NaiveBayes(), method=method).fit(X, y, np.full(40, 1e12))


def test_other_bad_input() -> None:
    X, y = mixed(60, 0)
    model = bk.Conformal(bk.NaiveBayes()).fit(X, y)
    with pytest.raises(TypeError, match="weights"):
        bk.Conformal(bk.NaiveBayes()).fit(X, y, weights=np.ones(60))
    with pytest.raises(InputError, match="ratio has shape"):
        model.p_values(X, ratio=np.ones(3))
    with pytest.raises(InputError, match="two classes"):
        bk.Conformal(bk.NaiveBayes()).fit(X, np.repeat("a", 60))
    with pytest.raises(InputError, match="method='split'"):
        model.around(model.estimator_, X, y)
    with pytest.raises(KindError, match="no density"):
        bk.Conformal(GaussianNB(), method="split").fit(X[["hits"]].to_numpy(), y).novelty([[1.0]])


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 1.5, np.nan, np.inf, None, True, "0.9"])
def test_no_coverage_outside_0_and_1_is_promised(coverage: Any) -> None:
    X, y = mixed(60, 0)
    model = bk.Conformal(bk.NaiveBayes()).fit(X, y)
    asked = [lambda: bk.Conformal(bk.NaiveBayes(), coverage).fit(X, y)]
    if coverage is not None:  # which means that of the settings
        asked += [lambda: model.predict_set(X, coverage), lambda: model.predict_frame(X, coverage=coverage)]
    for ask in asked:
        with pytest.raises(InputError, match=r"coverage=.*between 0 and 1"):
            ask()


def test_ratios_that_are_nothing_or_huge_promise_nothing_false() -> None:
    X, y = mixed(60, 0)
    plain = bk.Conformal(bk.NaiveBayes()).fit(X, y)
    huge = bk.Conformal(bk.NaiveBayes()).fit(X, y, ratio=np.full(60, 1e308))
    np.testing.assert_allclose(huge.p_values(X[:4], ratio=np.full(4, 1e308)), plain.p_values(X[:4]))
    nothing = bk.Conformal(bk.NaiveBayes()).fit(X, y, ratio=np.zeros(60))
    for own in (np.zeros(4), np.ones(4)):
        assert nothing.predict_set(X[:4], ratio=own).all(), "there is nothing to be ranked among"


@pytest.mark.parametrize("method", ["full", "jackknife+", "cv+", "split"])
@pytest.mark.parametrize("estimator", [bk.NaiveBayes(), bk.AODE()], ids=["naive", "averaged"])
def test_a_class_of_one_row_gets_what_the_ranks_say(estimator: Any, method: str) -> None:
    """By class, one row of a class is ranked among at most one other: its p-value is 1/2 or 1, so it is in the set."""
    X, y = mixed(60, 4)
    X, y = X[["colour"]], np.append(y[:-1], "only")
    model = bk.Conformal(estimator, 0.9, method, by="class", folds=3).fit(X, y)
    p = model.p_values(X[-5:])
    assert np.isfinite(p).all()
    assert (p[:, model.classes_.tolist().index("only")] >= 0.5).all()
    assert np.isfinite(bk.Conformal(estimator, 0.9, method, folds=3).fit(X, y).p_values(X[-2:])).all()


def test_rows_of_no_value_are_left_to_a_person() -> None:
    X, y = mixed(60, 9)
    empty = X[:1].assign(x=np.nan, colour=None, hits=np.nan)
    model = bk.RiskClassifier(bk.Conformal(bk.NaiveBayes(), 0.5), reject="set", novelty=0.05).fit(X, y)
    assert model.abstained(empty).all(), "its set has all classes"
    (row,) = model.estimator_.predict_frame(empty, novelty=True)[["set", "novelty"]].to_numpy().tolist()
    assert row == ["a; b", 1.0]


def test_sets_stand_beside_predictions() -> None:
    X, y = mixed(80, 1)
    model = bk.Conformal(bk.NaiveBayes(), 0.9).fit(X, y)
    frame = model.predict_frame(X[:9], novelty=True, coverage=0.95)
    sets = [set(text.split("; ")) - {""} for text in frame["set"]]
    assert sets == [{c for c, there in zip("ab", row, strict=True) if there} for row in model.predict_set(X[:9], 0.95)]
    np.testing.assert_array_equal(frame["novelty"], model.novelty(X[:9]))


def test_decisions_are_taken_where_one_class_is_left() -> None:
    X, y = mixed(80, 1)
    inner = bk.Conformal(bk.NaiveBayes(), 0.9)
    model = bk.RiskClassifier(inner, reject="set", novelty=0.05).fit(X, y)
    sets, usual = model.estimator_.predict_set(X), model.estimator_.novelty(X)
    np.testing.assert_array_equal(model.abstained(X), (sets.sum(axis=1) != 1) | (usual <= 0.05))
    found = bk.evaluate(model, X, y, 4)
    assert 0 < found.coverage < 1
    with pytest.raises(KindError, match="wrap it: RiskClassifier"):
        bk.RiskClassifier(bk.NaiveBayes(), reject="set").fit(X, y)
    with pytest.raises(InputError, match="or 'set'"):
        bk.RiskClassifier(inner, reject="sets").fit(X, y)
    with pytest.raises(InputError, match="novelty=5"):
        bk.RiskClassifier(inner, novelty=5).fit(X, y)


def test_a_report_says_what_is_promised(tmp_path: Path) -> None:
    X, y = mixed(80, 1)
    found = bk.evaluate(bk.Conformal(bk.NaiveBayes(), 0.9), X, y, 3)
    bk.report(found, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert page.count("conformal prediction holds the true class in at least 90 %.") >= 2  # uncut, in both places
    split = found.fold_models.split
    held, size = np.zeros(80, dtype=bool), np.zeros(80)
    for f in split.tested:
        mine = split.fold == f
        sets = bk.Conformal(bk.NaiveBayes(), 0.9).fit(X[~mine], y[~mine]).predict_set(X[mine])
        held[mine], size[mine] = sets[np.arange(mine.sum()), (y[mine] == "b").astype(int)], sets.sum(axis=1)
    lines = re.findall(r"<tr>.*?</tr>", page[page.index('id="sets"') :], re.DOTALL)
    cells = [re.sub(r"<[^>]+>", " ", line).split() for line in lines[1:4]]
    wanted = [("all", y >= "a"), ("a", y == "a"), ("b", y == "b")]
    for line, (name, mine) in zip(cells, wanted, strict=True):
        assert line[:2] == [name, str(mine.sum())]
        assert float(line[2].rstrip("%")) == pytest.approx(100 * held[mine].mean(), abs=0.06)
        assert float(line[-1]) == pytest.approx(size[mine].mean(), abs=0.006)
    usual = np.empty(80)
    for f in split.tested:
        mine = split.fold == f
        usual[mine] = bk.Conformal(bk.NaiveBayes(), 0.9).fit(X[~mine], y[~mine]).novelty(X[mine])
    cells = [line for line in re.findall(r"<tr>.*?</tr>", page, re.DOTALL) if "at most 0.05" in line]
    assert re.sub(r"<[^>]+>", " ", cells[0]).split()[3] == str((usual <= 0.05).sum())
