"""FullBayes of numbers: peers, references, leave-one-out, algebra, and what bad input gets."""

import copy

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.metrics import log_loss
from sklearn.model_selection import ShuffleSplit, cross_val_score

import bayeskit as bk
from bayeskit.data.encode import Roles
from bayeskit.errors import ForgetError, InputError
from full_reference import FullReference, left_out, log_densities, log_normal

SHAPES = ("full", "tied", "diagonal", "spherical")


def data(n=90, seed=0, classes="abc"):
    """Correlated numbers of different sizes, one far from zero; classes and weights."""
    rng = np.random.default_rng(seed)
    y = rng.choice(list(classes), n)
    centre = rng.normal(size=(len(classes), 4))[np.unique(y, return_inverse=True)[1]]
    X = rng.normal(size=(n, 4)) @ rng.normal(size=(4, 4)) + centre
    return X * [1, 30, 1e-3, 1] + [0, 5, 0, 1e6], y, rng.choice([0.5, 1.0, 2.25], n)


def plain(X):
    return [()] * len(X)


# -- peers and references -------------------------------------------------------------------------


def test_quadratic_discriminant_analysis_agrees():
    X, y = load_iris(return_X_y=True)
    theirs = QuadraticDiscriminantAnalysis().fit(X, y)
    mine = bk.FullBayes(shrinkage=None).fit(X, y)
    scale = [np.cov(X[y == k].T, ddof=0) for k in range(3)]
    logs = np.column_stack([log_normal(X, X[y == k].mean(axis=0), s) for k, s in enumerate(scale)])
    assert log_densities(mine, X) == pytest.approx(logs, rel=1e-11)
    assert mine.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_linear_discriminant_analysis_agrees(seed):
    X, y, _ = data(seed=seed)
    X = (X - [0, 5, 0, 1e6]) / [1, 30, 1e-3, 1]  # which theirs needs
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    mine = bk.FullBayes(covariance="tied", shrinkage=None).fit(X, y)
    assert mine.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shrinkage", ["auto", 0.3, None, "pooled"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_formula_written_out_agrees(shape, shrinkage, weighted):
    X, y, w = data()
    w = w if weighted else np.ones(len(y))
    mine = bk.FullBayes(covariance=shape, shrinkage=shrinkage).fit(X, y, sample_weight=w)
    theirs = FullReference(X, plain(X), y, w, shape=shape, shrinkage=shrinkage)
    assert log_densities(mine, X) == pytest.approx(theirs.log(X).T, rel=1e-8)


@pytest.mark.parametrize("holes", [0.0, 0.2])
@pytest.mark.parametrize("shrinkage", ["auto", None])
def test_a_diagonal_is_naive_bayes(shrinkage, holes):
    X, y, w = data()
    X[:, 3] -= 1e6  # from where the mean of naive Bayes, one double, has ten digits
    X[np.random.default_rng(3).random(X.shape) < holes] = np.nan
    naive = bk.NaiveBayes().fit(X, y, sample_weight=w)
    full = bk.FullBayes(covariance="diagonal", shrinkage=shrinkage).fit(X, y, sample_weight=w)
    assert full.predict_joint_log_proba(X) == pytest.approx(naive.predict_joint_log_proba(X), rel=1e-12)
    assert full.predict_proba(X) == pytest.approx(naive.predict_proba(X), abs=1e-12)


def test_a_diagonal_has_the_floors_of_naive_bayes():
    """Columns still in a class, a class of one row, a class that never holds a column."""
    X, y, _ = data()
    X[:, 3] -= 1e6
    y = np.where(np.arange(len(y)) == 3, "alone", y)
    X[y == "b", 0], X[y == "c", 1] = 7.0, np.nan
    naive, full = (model.fit(X, y) for model in (bk.NaiveBayes(), bk.FullBayes(covariance="diagonal")))
    assert full.predict_joint_log_proba(X) == pytest.approx(naive.predict_joint_log_proba(X), rel=1e-12)


# -- classes that differ in scale alone ------------------------------------------------------------


def scales(n, d, seed):
    """N(0, I) and N(0, 4 I)."""
    y = np.arange(n) % 2
    return np.random.default_rng(seed).normal(size=(n, d)) * (1 + y)[:, None], y


@pytest.mark.parametrize(
    "settings",
    [{}, {"shrinkage": "pooled"}, {"shrinkage": 0.5}, {"covariance": "diagonal"}, {"covariance": "spherical"}],
    ids=str,
)
def test_classes_that_differ_in_scale_alone_are_told_apart(settings):
    """The rule that knows the truth says |x|^2 / 20 > 8 log(2) / 3: 98.4 % are right, log-loss 0.045."""
    (X, y), (new, truth) = scales(4000, 20, 0), scales(4000, 20, 1)
    proba = bk.FullBayes(**settings).fit(X, y).predict_proba(new)
    best = np.mean(((new**2).mean(axis=1) > 8 * np.log(2) / 3) == truth)
    assert (proba.argmax(axis=1) == truth).mean() >= best - 0.002
    assert -np.log(proba[np.arange(len(truth)), truth]).mean() < 0.05


@pytest.mark.parametrize("seed", range(3))
def test_small_classes_of_different_scales_in_25_columns(seed):
    """The design and the bar of scikit-learn's test of shrunk quadratic discriminant analysis: D^2 Brier above 0.9."""
    rng = np.random.default_rng(seed)
    wide, narrow = rng.uniform(2.0, 3.0, 25), rng.uniform(0.2, 1.0, 25)
    X = rng.standard_normal((1000, 25)) * np.sqrt(np.repeat([wide, narrow], 500, axis=0))
    y = np.repeat([0, 1], 500)
    folds = ShuffleSplit(n_splits=5, train_size=100, random_state=0)
    for settings in ({}, {"shrinkage": "pooled"}, {"covariance": "diagonal"}, {"covariance": "spherical"}):
        assert cross_val_score(bk.FullBayes(**settings), X, y, cv=folds, scoring="d2_brier_score").mean() > 0.9


def factor(n, seed):
    """One factor moves 30 columns together, 2.5 times as far in one class; what is left of each column is the same."""
    rng, y = np.random.default_rng(seed), np.arange(n) % 2
    return 0.7 * rng.normal(size=(n, 30)) + (1 + 1.5 * y[:, None]) * rng.normal(size=(n, 1)) + 0.3 * y[:, None], y


@pytest.mark.parametrize("settings", [{}, {"shrinkage": "pooled"}], ids=str)
def test_the_scale_of_one_factor_is_not_taken_for_that_of_all_directions(settings):
    """29 of the 30 directions have one scale in both classes; scikit-learn's shrunk model is the bar."""
    ours, theirs = [], []
    for seed in range(3):
        (X, y), (new, truth) = factor(80, seed), factor(2000, 9 + seed)
        peer = QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto")
        ours.append(log_loss(truth, bk.FullBayes(**settings).fit(X, y).predict_proba(new)))
        theirs.append(log_loss(truth, peer.fit(X, y).predict_proba(new)))
    assert np.mean(ours) < 1.3
    assert np.mean(ours) < np.mean(theirs) - 0.3


def test_a_hole_is_integrated_out():
    X, y, _ = data()
    model = bk.FullBayes(shrinkage=None).fit(X, y)
    holes = X[:4].copy()
    holes[[0, 1, 1, 2, 2, 2], [3, 0, 2, 0, 1, 2]] = np.nan
    for row, found in zip(holes, log_densities(model, holes), strict=True):
        there = ~np.isnan(row)
        for k, c in enumerate("abc"):
            mean, covariance = X[y == c].mean(axis=0)[there], np.cov(X[y == c].T, ddof=0)[np.ix_(there, there)]
            assert found[k] == pytest.approx(log_normal(row[there], mean, covariance), rel=1e-8)


def test_a_row_of_holes_gets_the_prior():
    X, y, _ = data()
    model = bk.FullBayes(prior={"a": 0.2, "b": 0.5, "c": 0.3}).fit(X, y)
    assert model.predict_proba(np.full((1, 4), np.nan))[0] == pytest.approx([0.2, 0.5, 0.3])


def test_means_and_covariances_keep_their_digits_far_from_zero():
    """Values that are exact at 1e9 as they are at 0: the densities must be the same."""
    rng = np.random.default_rng(1)
    X, y = rng.integers(-64, 65, (60, 3)) / 8, rng.choice(["a", "b"], 60)
    near = bk.FullBayes().fit(X, y)
    far = bk.FullBayes().fit(X + 1e9, y)
    assert far.predict_joint_log_proba(X + 1e9) == pytest.approx(near.predict_joint_log_proba(X), rel=1e-13)


def test_mahalanobis_is_the_distance_in_deviations_of_the_class():
    X, y, _ = data()
    found = bk.FullBayes(shrinkage=None).fit(X, y).mahalanobis(X[:5])
    for k, c in enumerate("abc"):
        away = X[:5] - X[y == c].mean(axis=0)
        wanted = np.sqrt(np.einsum("ni,ij,nj->n", away, np.linalg.inv(np.cov(X[y == c].T, ddof=0)), away))
        assert found[:, k] == pytest.approx(wanted, rel=1e-6)


def test_evidence_is_the_mixture_of_the_classes():
    X, y, _ = data()
    model = bk.FullBayes().fit(X, y)
    joint = model.predict_joint_log_proba(X)
    assert model.log_evidence(X) == pytest.approx(np.logaddexp.reduce(joint, axis=1), rel=1e-12)


def test_terms_are_revealed_one_after_the_other():
    X, y, _ = data()
    model = bk.FullBayes().fit(X, y)
    shown = model.explain(X[:6])
    for j in range(4):
        part = X[:6].copy()
        part[:, j + 1 :] = np.nan
        assert shown.terms[:, : j + 1].sum(axis=1) == pytest.approx(log_densities(model, part), rel=1e-9)


@pytest.mark.parametrize("top", [1, 2, 3])
def test_some_terms_and_the_rest_add_up(top):
    X, y, _ = data()
    X[:, 0] += 5 * (y == "a")  # the first column matters most: what the others say depends on it
    model = bk.FullBayes().fit(X, y)
    shown = model.explain(X[:6], top=top)
    assert len(shown.parts) == top + 1
    assert shown.joint == pytest.approx(model.predict_joint_log_proba(X[:6]), rel=1e-11)


# -- leave-one-out ---------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_leaving_a_row_out_is_a_refit_with_the_target_held(shape, weighted):
    X, y, w = data(40)
    X = X / [1, 30, 1e-3, 1] - [0, 0, 0, 1e6]
    w = w if weighted else np.ones(len(y))
    found = left_out(bk.FullBayes(covariance=shape), pd.DataFrame(X, columns=list("pqrs")), y, w)
    whole = FullReference(X, plain(X), y, w, shape=shape)
    for i in range(40):
        kept = np.arange(40) != i
        less = FullReference(X[kept], plain(X[kept]), y[kept], w[kept], shape=shape, held=whole)
        assert found[i] == pytest.approx(less.log(X[i]), rel=1e-10, abs=1e-10)


def test_leaving_out_the_only_row_of_a_class_leaves_the_pooled_density():
    X, y, _ = data(40)
    y[0] = "z"
    found = left_out(bk.FullBayes(), pd.DataFrame(X, columns=list("pqrs")), y, np.ones(40))
    whole = FullReference(X, plain(X), y, np.ones(40))
    assert found[0, 3] == pytest.approx(log_normal(X[0], X[1:].mean(axis=0), np.diag(whole.target)), rel=1e-8)


def test_the_terms_without_a_row_add_up():
    X, y, w = data(30)
    model, frame = bk.FullBayes(), pd.DataFrame(X, columns=list("pqrs"))
    found = left_out(model, frame, y, w)
    table = pa.RecordBatch.from_pandas(frame.assign(**{"class": y, "weight": w}), preserve_index=False)
    fitted = model.model_
    terms = fitted.terms(fitted.counted.block_with_classes(table, Roles("class", "weight")), left_out=True)
    assert terms.sum(axis=1) == pytest.approx(found, rel=1e-11)


# -- algebra ---------------------------------------------------------------------------------------


def mixed(n=240, seed=2):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=n), "c": rng.choice(list("uvw"), n), "z": rng.normal(1e5, 3, n)})
    frame.loc[::7, "x"] = np.nan
    frame.loc[::11, "c"] = None
    return frame, rng.choice(["no", "yes"], n)


@pytest.mark.parametrize("shape", SHAPES)
def test_learning_in_parts_forgetting_and_merging_give_the_same_model_bit_for_bit(shape):
    frame, y = mixed()

    def model(**more):
        return bk.FullBayes(covariance=shape, **more)

    whole = model().fit(frame, y)
    parts = model().partial_fit(frame[:50], y[:50]).partial_fit(frame[50:], y[50:])
    more = model().fit(pd.concat([frame, frame[:70]]), np.append(y, y[:70])).forget(frame[:70], y[:70])
    both = model().fit(frame[::2], y[::2]) + model().fit(frame[1::2], y[1::2])
    threads = model(n_jobs=2).fit(frame, y)
    assert {m.model_.digest for m in (whole, parts, more, both, threads)} == {whole.model_.digest}
    for other in (parts, more, both):
        assert np.array_equal(other.predict_proba(frame), whole.predict_proba(frame))


@pytest.mark.parametrize("shape", ["diagonal", "spherical"])
def test_variances_alone_need_no_products_of_columns(shape):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3000)), np.arange(30) % 2
    model = bk.FullBayes(covariance=shape).fit(X, y)
    counted = model.model_.counted.statistic.arrays()
    assert sum(array.nbytes for array in counted.values()) < 200 * X.shape[1]  # a matrix would be 36 MB a class
    assert model.explain(X[:2]).terms.shape == (2, 3000, 2)


def test_engines_and_files_give_the_same_model_bit_for_bit(tmp_path):
    frame, y = mixed()
    table = frame.assign(y=y)
    table.to_parquet(tmp_path / "t.parquet")
    whole = bk.FullBayes().fit(table, "y")
    assert bk.FullBayes().fit(duckdb.from_df(table), "y").model_.digest == whole.model_.digest
    assert bk.FullBayes().fit(str(tmp_path / "t.parquet"), "y").model_.digest == whole.model_.digest


@pytest.mark.parametrize("shape", ["tied", "diagonal"])
@pytest.mark.parametrize("missing", ["skip", "available", "level"])
def test_a_saved_model_comes_back_and_goes_on_learning(tmp_path, missing, shape):
    frame, y = mixed()
    model = bk.FullBayes(missing=missing, covariance=shape).fit(frame[:200], y[:200])
    model.save(tmp_path / "m.bayes")
    back = bk.load(tmp_path / "m.bayes")
    assert isinstance(back, bk.FullBayes)
    assert np.array_equal(back.predict_proba(frame), model.predict_proba(frame))
    back.partial_fit(frame[200:], y[200:])
    assert back.model_.digest == bk.FullBayes(missing=missing, covariance=shape).fit(frame, y).model_.digest


def test_rows_never_learned_cannot_be_forgotten():
    frame, y = mixed()
    model = bk.FullBayes().fit(frame, y)
    with pytest.raises(ForgetError):
        copy.deepcopy(model).forget(frame.assign(x=5e8)[:5], y[:5])


# -- bad input -------------------------------------------------------------------------------------


def test_more_columns_than_rows_of_a_class():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 30)), np.repeat(["a", "b"], 6)
    model = bk.FullBayes().fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert set(model.regularised_) == {"a", "b"}
    with pytest.raises(InputError, match=r"class 'a' is singular.*shrinkage='auto'"):
        bk.FullBayes(shrinkage=None).fit(X, y)


def test_duplicate_columns_are_named():
    X, y, _ = data()
    frame = pd.DataFrame(X, columns=list("pqrs")).assign(again=X[:, 1])
    model = bk.FullBayes().fit(frame, y)
    assert np.isfinite(model.predict_log_proba(frame)).all()
    assert model.regularised_ == dict.fromkeys("abc", ("q", "again"))
    assert "regularised" in str(model.summary())
    with pytest.raises(InputError, match="columns 'q', 'again'"):
        bk.FullBayes(shrinkage=0).fit(frame, y)


def test_a_constant_column_says_nothing():
    X, y, _ = data()
    frame = pd.DataFrame(X, columns=list("pqrs"))
    for settings in ({}, {"shrinkage": None}):
        with_it = bk.FullBayes(**settings).fit(frame.assign(still=7.0), y)
        without = bk.FullBayes(**settings).fit(frame, y)
        assert with_it.summary().constant == ("still",)
        assert with_it.predict_proba(frame.assign(still=8.0)) == pytest.approx(without.predict_proba(frame), rel=1e-12)


def test_a_column_constant_in_one_class_stays_usable():
    X, y, _ = data()
    X[y == "b", 0] = 0.0
    model = bk.FullBayes().fit(X, y)
    assert model.regularised_ == {"b": ("x0",)}
    assert np.isfinite(model.predict_log_proba(X)).all()
    with pytest.raises(InputError, match=r"class 'b' is singular: columns 'x0'"):
        bk.FullBayes(shrinkage=None).fit(X, y)


def test_a_class_of_one_row():
    X, y, _ = data()
    y = np.where(np.arange(len(y)) == 3, "alone", y)
    model = bk.FullBayes().fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert model.mahalanobis(X[3:4])[0].argmin() == 1


def test_a_column_of_holes_says_nothing():
    X, y, _ = data()
    frame = pd.DataFrame(X, columns=list("pqrs"))
    empty = bk.FullBayes().fit(frame.assign(hole=np.nan, blank=pd.Series([None] * len(y), dtype="string")), y)
    assert empty.predict_proba(frame.assign(hole=1.0, blank="u")) == pytest.approx(
        bk.FullBayes().fit(frame, y).predict_proba(frame), rel=1e-12
    )


@pytest.mark.parametrize("scale", [1e300, 1e-300, 5e-324])
def test_extreme_numbers_give_finite_posteriors(scale):
    X, y, _ = data()
    X = np.column_stack([X[:, 0], np.round(X[:, 1]) * scale])
    model = bk.FullBayes().fit(X, y)
    far = np.array([[1e300, 0.0], [0.0, 1.7e308], [-1e308, -1e308], [5e-324, 5e-324]])
    for rows in (X, far):
        assert np.isfinite(model.predict_proba(rows)).all()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"covariance": "round"}, "covariance='round': choose one of full, tied, diagonal, spherical"),
        ({"shrinkage": 1.5}, "shrinkage=1.5: give 'auto', None or a number between 0 and 1"),
        ({"shrinkage": "some"}, "shrinkage='some'"),
        ({"smoothing": -1}, "smoothing=-1: give 'auto' or a number of at least 0"),
        ({"smoothing": float("nan")}, "smoothing=nan"),
        ({"missing": "drop"}, "missing"),
    ],
)
def test_settings_out_of_range_are_refused(settings, says):
    X, y, _ = data()
    with pytest.raises(InputError, match=says):
        bk.FullBayes(**settings).fit(X, y)


def test_columns_that_all_are_constant_say_nothing():
    """Also where a fold has learned a single row."""
    found = bk.evaluate(bk.FullBayes(prior="uniform"), [[1.0], [2.0]], ["a", "b"], bk.CrossValidation(2))
    assert found.proba.tolist() == [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize("value", [1.0, np.nan])
def test_columns_that_all_say_nothing_leave_the_prior(value):
    model = bk.FullBayes().fit(np.full((6, 2), value), list("aaaabb"))
    assert model.predict_proba(np.ones((2, 2))) == pytest.approx(np.tile([2 / 3, 1 / 3], (2, 1)))
