"""evaluate, compare and cross_population: how rows are divided, what comes back, and in which form."""

from io import StringIO

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayeskit as bk
from bayeskit.model.labelled_table import Rows

X, Y = load_iris(return_X_y=True)
GAUSSIAN = GaussianNB(var_smoothing=0)


def rows(sizes, groups=None):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return Rows(codes, np.ones(len(codes)), np.arange(len(sizes)), groups)


def split_of(method, some, seed=0):
    (split,) = method.splits(some, np.random.default_rng(seed))
    return split


# -- dividing rows ----------------------------------------------------------------------------------


def test_stratified_folds_have_the_same_number_of_each_class():
    some = rows([23, 41, 16])
    split = split_of(bk.CrossValidation(5), some)
    table = np.array([[np.sum((split.fold == f) & (some.codes == c)) for c in range(3)] for f in range(5)])
    assert np.ptp(table, axis=0).max() <= 1
    assert np.ptp(table.sum(axis=1)) <= 1


def test_plain_folds_have_the_same_number_of_rows():
    split = split_of(bk.CrossValidation(7, stratified=False), rows([23, 41, 16]))
    assert np.ptp(np.bincount(split.fold)) <= 1


def test_groups_stay_together_and_folds_stay_even():
    groups = np.random.default_rng(0).integers(0, 40, 80)
    groups = np.unique(groups, return_inverse=True)[1]
    split = split_of(bk.CrossValidation(4), rows([23, 41, 16], groups))
    assert all(len(set(split.fold[groups == g])) == 1 for g in groups)
    assert np.ptp(np.bincount(split.fold)) <= 4


def test_a_holdout_takes_its_share_of_every_class():
    some = rows([30, 60, 3])
    split = split_of(bk.Holdout(1 / 3), some)
    assert [int(np.sum((split.fold == 0) & (some.codes == c))) for c in range(3)] == [10, 20, 1]


def test_a_holdout_of_groups_takes_whole_groups():
    groups = np.repeat(np.arange(10), 8)
    split = split_of(bk.Holdout(0.3), rows([40, 40], groups))
    assert all(len(set(split.fold[groups == g])) == 1 for g in range(10))
    assert np.sum(split.fold == 0) == 24


def test_a_seed_gives_the_same_folds_and_another_seed_others():
    one, same, other = (bk.evaluate(bk.NaiveBayes(), X, Y, random_state=seed).proba for seed in (3, 3, 4))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("splitter", [KFold(5), StratifiedKFold(4), StratifiedKFold(3, shuffle=True, random_state=1)])
@pytest.mark.parametrize("model", [bk.NaiveBayes(), GAUSSIAN], ids=["algebra", "refit"])
def test_splitters_of_scikit_learn_give_what_cross_val_predict_gives(splitter, model):
    y = Y % 2
    wanted = cross_val_predict(GAUSSIAN, X, y, cv=splitter, method="predict_proba")
    found = bk.evaluate(model, X, y, bk.CrossValidation(splitter))
    assert np.abs(found.proba - wanted).max() < 1e-10
    assert found.computed == ("refit" if model is GAUSSIAN else "algebra")


def test_grouped_splitters_get_the_groups():
    groups = np.arange(150) % 30
    wanted = cross_val_predict(GAUSSIAN, X, Y, cv=GroupKFold(5), groups=groups, method="predict_proba")
    found = bk.evaluate(bk.NaiveBayes(), X, Y, bk.CrossValidation(GroupKFold(5)), groups=groups)
    assert np.abs(found.proba - wanted).max() < 1e-10


@pytest.mark.parametrize("splitter", [ShuffleSplit(4, random_state=0), TimeSeriesSplit(3)])
def test_splitters_that_leave_rows_out_test_only_the_others(splitter):
    order = np.random.default_rng(0).permutation(150)
    x, y = X[order], Y[order]
    found = bk.evaluate(bk.NaiveBayes(), x, y, bk.CrossValidation(splitter))
    summed, times = np.zeros((150, 3)), np.zeros(150)
    for train, test in splitter.split(x):
        summed[test] += clone(GAUSSIAN).fit(x[train], y[train]).predict_proba(x[test])
        times[test] += 1
    assert np.isnan(found.proba[times == 0]).all()
    assert np.abs(found.proba[times > 0] - (summed / times.clip(1)[:, None])[times > 0]).max() < 1e-10


def test_repeats_are_averaged():
    repeated = RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=0)
    found = bk.evaluate(bk.NaiveBayes(), X, Y, bk.CrossValidation(repeated))
    losses, means = [], np.zeros((150, 3))
    for train, test in repeated.split(X, Y):
        proba = clone(GAUSSIAN).fit(X[train], Y[train]).predict_proba(X[test])
        losses.append(log_loss(Y[test], proba, labels=[0, 1, 2]))
        means[test] += proba / 3
    assert np.abs(found.proba - means).max() < 1e-10
    assert found.frame("pandas", of="folds")["log_loss"].to_numpy() == pytest.approx(losses, abs=1e-10)
    assert found.log_loss == pytest.approx(np.mean(losses), abs=1e-10)


def test_our_own_repeats_keep_the_number_of_rows():
    found = bk.evaluate(bk.NaiveBayes(), X, Y, bk.CrossValidation(5, repeats=4))
    assert found.confusion.weight == pytest.approx(150)
    assert len(found.frame(of="folds")) == 20


# -- sources ----------------------------------------------------------------------------------------

NAMES = ["a", "b", "c", "d"]
FRAME = pd.DataFrame(X, columns=NAMES).assign(town=np.where(X[:, 0] > 5.5, "north", "south"), kind=Y)
FOLDS = bk.CrossValidation(np.arange(150) % 5)


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        (FRAME, pd.DataFrame),
        (pl.from_pandas(FRAME), pl.DataFrame),
        (pa.Table.from_pandas(FRAME), pa.Table),
        (FRAME.to_dict("records"), pa.Table),
        (FRAME.to_dict("list"), pa.Table),
    ],
    ids=["pandas", "polars", "arrow", "records", "columns"],
)
def test_every_table_gives_the_same_and_frames_of_its_own_kind(table, kind):
    found = bk.evaluate(bk.NaiveBayes(), table, "kind", FOLDS)
    wanted = bk.evaluate(bk.NaiveBayes(), FRAME.drop(columns="kind"), Y, FOLDS)
    assert np.abs(found.proba - wanted.proba).max() < 1e-12
    assert isinstance(found.frame(), kind)
    assert found.classes.tolist() == [0, 1, 2]
    assert isinstance(found.frame("polars"), pl.DataFrame)


@pytest.mark.parametrize("table", [FRAME, pl.from_pandas(FRAME), pa.Table.from_pandas(FRAME)], ids=["pd", "pl", "pa"])
def test_baselines_take_every_table(table):
    found = bk.compare({"nb": bk.NaiveBayes()}, table, "kind", FOLDS, baselines=True)
    assert {"nb", "logistic regression", "SVM (RBF)"} == set(found.ranking)
    assert found["logistic regression"].accuracy > 0.9
    assert found["nb"].computed == "algebra"
    assert found["logistic regression"].computed == "refit"


def test_baselines_take_holes_and_levels_never_seen():
    table = FRAME.copy()
    table.loc[::4, "a"] = np.nan
    table.loc[::5, "town"] = None
    table.loc[3, "town"] = "lonely"
    found = bk.compare({}, table, "kind", FOLDS, baselines=True)
    assert found["SVM (RBF)"].accuracy > 0.9


def test_sparse_matrices_are_evaluated():
    counts = np.random.default_rng(0).poisson(1 + Y[:, None], (150, 5))
    one, other = (
        bk.evaluate(bk.NaiveBayes(families="Multinomial"), form(counts), Y, FOLDS)
        for form in (np.asarray, sparse.csr_matrix)
    )
    assert np.abs(one.proba - other.proba).max() < 1e-12


def test_a_pipeline_is_refitted_in_processes():
    model = make_pipeline(StandardScaler(), LogisticRegression())
    wanted = cross_val_predict(model, X, Y, cv=StratifiedKFold(5), method="predict_proba")
    found = bk.evaluate(model, X, Y, bk.CrossValidation(StratifiedKFold(5)), n_jobs=2)
    assert np.abs(found.proba - wanted).max() < 1e-12


def test_weights_reach_the_last_step_of_a_pipeline():
    w = np.where(Y == 2, 5.0, 1.0)
    found = bk.evaluate(make_pipeline(StandardScaler(), GaussianNB()), X, Y, FOLDS, sample_weight=w)
    mine = np.arange(150) % 5 == 0
    model = make_pipeline(StandardScaler(), GaussianNB()).fit(X[~mine], Y[~mine], gaussiannb__sample_weight=w[~mine])
    assert np.abs(found.proba[mine] - model.predict_proba(X[mine])).max() < 1e-12
    assert found.accuracy == pytest.approx(accuracy_score(Y, found.proba.argmax(axis=1), sample_weight=w))


def test_the_model_given_is_left_alone_and_one_of_all_rows_is_at_hand():
    model = bk.NaiveBayes()
    found = bk.evaluate(model, X, Y)
    assert not hasattr(model, "model_")
    assert np.abs(found.model.predict_proba(X) - clone(GAUSSIAN).fit(X, Y).predict_proba(X)).max() < 1e-10


# -- bootstrap --------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [bk.NaiveBayes(), GAUSSIAN], ids=["algebra", "refit"])
def test_632_bootstrap_by_hand(model):
    """The draws are read from the method; everything else is done again by scikit-learn."""
    method, seed = bk.Bootstrap632(repeats=5), np.random.default_rng(7)
    found = bk.evaluate(model, X, Y, method, random_state=np.random.default_rng(7))
    draws = list(method.draws(Rows(Y, np.ones(150), np.arange(3)), np.random.default_rng(seed.integers(1 << 62))))
    right, loss, times = np.zeros(150), np.zeros(150), np.zeros(150)
    for drawn in draws:
        out = drawn == 0
        fitted = clone(GAUSSIAN).fit(np.repeat(X, drawn.astype(int), axis=0), np.repeat(Y, drawn.astype(int)))
        right[out] += fitted.predict(X[out]) == Y[out]
        loss[out] -= np.log(np.clip(fitted.predict_proba(X[out])[np.arange(out.sum()), Y[out]], 1e-15, 1))
        times[out] += 1
    known, whole = times > 0, clone(GAUSSIAN).fit(X, Y)
    new = (right[known] / times[known]).mean(), (loss[known] / times[known]).mean()
    apparent = whole.score(X, Y), log_loss(Y, whole.predict_proba(X))
    assert found.accuracy == pytest.approx(0.632 * new[0] + 0.368 * apparent[0], abs=1e-12)
    assert found.log_loss == pytest.approx(0.632 * new[1] + 0.368 * apparent[1], abs=1e-9)
    assert found.confusion.accuracy == pytest.approx(found.accuracy, abs=1e-12)
    assert found.interval("accuracy").how == "fewer than 50 repeats"


def test_632_plus_weighs_new_rows_more_when_labels_are_noise():
    """A model that learns rows by heart: right on all it drew, by chance on the others; .632+ then says chance."""
    y = np.tile([0, 1], 50)
    by_heart = bk.NaiveBayes(kinds="nominal", smoothing=0)
    names = np.array([f"row {i}" for i in range(100)])[:, None]
    plain, plus = (bk.evaluate(by_heart, names, y, bk.Bootstrap632(30, plus=plus)).accuracy for plus in (False, True))
    assert plain > 0.62
    assert abs(plus - 0.5) < abs(plain - 0.5) / 2


# -- costs ------------------------------------------------------------------------------------------


def test_costs_of_the_best_action_are_those_that_follow_from_the_probabilities():
    costs = bk.Costs({0: {"wait": 0, "treat": 1}, 1: {"wait": 2, "treat": -1}, 2: {"wait": 5, "treat": 0}})
    found = bk.evaluate(bk.NaiveBayes(), X, Y, FOLDS, costs=costs)
    table = np.array([[0, 1], [2, -1], [5, 0]])
    expected = found.proba @ table
    best = expected.argmin(axis=1)
    assert found.expected_cost == pytest.approx(expected.min(axis=1).mean(), abs=1e-12)
    assert found.realised_cost == pytest.approx(table[Y, best].mean(), abs=1e-12)
    assert "realised cost" in str(found)


def test_rejection_leaves_unsure_rows_undecided():
    found = bk.evaluate(bk.NaiveBayes(), X, Y, FOLDS, reject=0.05)
    sure = found.proba.max(axis=1) >= 0.95
    assert found.coverage == pytest.approx(sure.mean())
    assert found.covered_accuracy == pytest.approx((found.proba.argmax(axis=1) == Y)[sure].mean())


# -- comparing --------------------------------------------------------------------------------------


def test_differences_are_tested_by_the_corrected_resampled_t_test():
    x, y = load_breast_cancer(return_X_y=True)
    found = bk.compare({"few": bk.NaiveBayes(), "other": bk.NaiveBayes(prior="uniform")}, x, y, bk.CrossValidation(10))
    few, other = (found[name].frame("pandas", of="folds")["log_loss"].to_numpy() for name in ("few", "other"))
    apart = few - other
    t = (found["few"].log_loss - found["other"].log_loss) / np.sqrt(apart.var(ddof=1) * (1 / 10 + 1 / 9))
    difference = found.difference("few", "other")
    assert difference.p == pytest.approx(2 * stats.t.sf(abs(t), 9), rel=0.02)  # folds of 56 and 57 rows
    assert difference.low < difference.value < difference.high
    assert found.best == min(("few", "other"), key=lambda name: found[name].log_loss)


def test_one_fold_is_compared_row_by_row():
    found = bk.compare({"a": bk.NaiveBayes(), "b": bk.NaiveBayes(families="Kernel")}, X, Y, bk.LeaveOneOut())
    losses = [-np.log(np.clip(found[name].proba[np.arange(150), Y], 1e-15, 1)) for name in "ab"]
    assert found.difference("a", "b").p == pytest.approx(stats.ttest_rel(*losses).pvalue, abs=1e-9)


def test_a_comparison_can_be_ranked_by_any_measure():
    found = bk.compare([bk.NaiveBayes(), GAUSSIAN, bk.NaiveBayes(prior="uniform")], X, Y, FOLDS, by="accuracy")
    assert set(found.ranking) == {"NaiveBayes 1", "GaussianNB", "NaiveBayes 2"}
    table = found.frame("pandas")
    assert table["accuracy"].is_monotonic_decreasing
    assert table["difference"][0] == 0


def test_models_meet_the_same_folds_even_of_a_random_splitter():
    found = bk.compare({"a": bk.NaiveBayes(), "b": GAUSSIAN}, X, Y, bk.CrossValidation(KFold(5, shuffle=True)))
    assert np.abs(found["a"].proba - found["b"].proba).max() < 1e-10


# -- showing ----------------------------------------------------------------------------------------


def test_results_show_as_text_and_html_with_names_escaped():
    y = np.array(["<img src=x>", "plain"])[(Y > 0).astype(int)]
    found = bk.evaluate(bk.NaiveBayes(), X, y, FOLDS)
    assert "accuracy" in str(found)
    assert "Wilson" in repr(found)
    assert "<img" not in found._repr_html_()
    assert "&lt;img src=x&gt;" in found._repr_html_()
    assert "<img" not in bk.compare({"<b>": bk.NaiveBayes()}, X, y, FOLDS)._repr_html_()


def test_rich_prints_brackets_as_they_are():
    rich = pytest.importorskip("rich.console")
    found = bk.evaluate(bk.NaiveBayes(), X, np.where(Y > 0, "[red]no[/red]", "yes"), FOLDS)
    console = rich.Console(width=200, file=StringIO())
    console.print(found)
    assert "[red]no[/red]" in console.file.getvalue()


@pytest.mark.parametrize("of", ["measures", "classes", "folds", "rows", "reliability", "roc"])
def test_frames_have_no_empty_column(of):
    table = bk.evaluate(bk.NaiveBayes(), FRAME, "kind", FOLDS).frame(of=of)
    assert len(table)
    assert not table.isna().all().any()
