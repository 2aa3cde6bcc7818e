"""Intervals and what they rest on, against R's pROC, statsmodels, SciPy and published figures.

The figures come from tests/references/intervals.R and tests/references/intervals.py.
"""

import re

import numpy as np
import pytest
from scipy import optimize, stats
from sklearn import metrics
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import bayeskit as bk
from bayeskit import plots
from bayeskit.errors import InputError
from bayeskit.evaluation.areas import Areas, ScoreHistogram, log_odds, newcombe
from bayeskit.evaluation.bootstrapped import Influence
from bayeskit.evaluation.comparison import holm
from bayeskit.evaluation.intervals import against_rest, by_rows, dirichlet_interval, f1, mean_of_ends, mean_of_shares
from bayeskit.evaluation.recalibration import debiased_gap, debiased_square, square_interval
from bayeskit.evaluation.scores import SCORES
from bayeskit.numerics.rates import effective, sum_cells, width_bins, wilson
from bayeskit.reports.one_class import OneClass
from bayeskit.reports.performance import calibration

SCORE = np.array([2.1, 0.3, -0.4, 1.2, 0.3, 3.3, -1.0, 0.8, 0.3, -2.2, 1.9, -0.4])
CLASS = np.array([1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0])
THREE = np.array([0.9, 0.2, 0.7, 0.1, 0.8, 0.3, 0.2, 0.6, 0.05, 0.4, 0.15, 0.35])
IRIS, KIND = load_iris(return_X_y=True)


def two_sided(scores, codes, weights=None):
    weights = np.ones(len(codes)) if weights is None else weights
    return Areas.of(codes, np.stack([-scores, scores], axis=1), weights)


# -- areas ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "codes", "area", "variance"),
    [
        (SCORE, CLASS, 0.757142857143, 0.0231972789116),
        (THREE, (np.arange(12) < 3).astype(int), 0.759259259259, 0.0408093278464),
    ],
    ids=["ties", "three rows of a class"],
)
def test_area_and_its_variance_are_those_of_pROC(scores, codes, area, variance):
    found = two_sided(scores, codes)
    assert found.area == pytest.approx([area, area], abs=1e-11)
    assert found.variance == pytest.approx([variance, variance], rel=1e-10)


def test_newcombes_method_5_is_that_of_R_and_near_the_printed_one():
    """SingleCaseES prints 0.5973406 and 0.9860176 for the first, by a coarser root finder."""
    assert newcombe(38.5 / 42, 6, 7) == pytest.approx((0.5973193600, 0.9859976894), abs=1e-9)
    assert newcombe(38.5 / 42, 6, 7) == pytest.approx((0.5973406, 0.9860176), abs=5e-5)
    assert newcombe(1.0, 5, 20) == pytest.approx((0.7606992023, 1.0), abs=1e-9)
    assert newcombe(0.75, 8, 92) == pytest.approx((0.5412747894, 0.8778999065), abs=1e-9)


def test_both_of_two_classes_have_the_same_area_however_sure_the_model_is():
    """Probabilities that are 1.0 in double precision, log-odds that are not."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 1)) + y[:, None] + np.zeros((1, 300))  # one column 300 times over
    found = bk.evaluate(bk.NaiveBayes(), X, y, bk.CrossValidation(5))
    by_class = list(found.auc_by_class.values())
    assert (found.proba == 1.0).any(axis=1).mean() > 0.5
    assert by_class[0] == pytest.approx(by_class[1], abs=1e-12)
    odds = np.empty(400)
    (trial,) = found.measures.kept.repeats
    for f in range(5):
        out = trial.fold == f
        joint = GaussianNB(var_smoothing=0).fit(X[~out], y[~out]).predict_joint_log_proba(X[out])
        odds[out] = joint[:, 1] - joint[:, 0]
    assert found.auc == pytest.approx(metrics.roc_auc_score(y, odds), abs=1e-12)
    assert found.roc(1).area == pytest.approx(found.auc, abs=1e-12)


def test_log_odds_of_many_classes_are_those_of_one_against_the_others():
    with np.errstate(divide="ignore"):
        logs = np.log(np.array([[0.7, 0.2, 0.1], [1.0, 0.0, 0.0]]))
    assert log_odds(logs)[0] == pytest.approx(np.log([7 / 3, 0.25, 1 / 9]))
    assert log_odds(logs)[1].tolist() == [np.inf, -np.inf, -np.inf]


@pytest.mark.parametrize("y", [KIND, (KIND == 2).astype(int)], ids=["three classes", "two"])
def test_the_mean_area_of_folds_is_that_of_scikit_learn(y):
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    found = bk.evaluate(bk.NaiveBayes(), IRIS, y, bk.CrossValidation(folds))
    wanted = cross_val_score(GaussianNB(var_smoothing=0), IRIS, y, cv=folds, scoring="roc_auc_ovr").mean()
    assert found.auc_by_fold == pytest.approx(wanted, abs=1e-12)
    assert found.interval("auc_by_fold").low <= found.auc <= found.interval("auc").high


def test_leave_one_out_has_no_area_by_fold():
    found = bk.evaluate(bk.NaiveBayes(), IRIS, KIND, bk.LeaveOneOut())
    assert np.isnan(found.auc_by_fold)
    assert found.interval("auc").low < found.auc < found.interval("auc").high


def test_areas_of_bins_have_the_variance_of_rows():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, 3000)
    odds = rng.normal(codes, 1)
    logs = -np.logaddexp(0, np.stack([odds, -odds], axis=1))
    exact = Areas.of(codes, log_odds(logs), np.ones(3000))
    binned = ScoreHistogram.empty(1, 2).update(codes, logs, np.ones(3000), np.zeros(3000, int)).areas(exact.rows)
    assert binned.area == pytest.approx(exact.area, abs=1e-3)
    assert binned.variance == pytest.approx(exact.variance, rel=1e-2)
    assert binned.interval().low == pytest.approx(exact.interval().low, abs=1e-3)


# -- shares, means, tables --------------------------------------------------------------------------


def test_mean_of_recalls_is_newcombes_printed_difference():
    """56/70 - 48/80: 0.0524 to 0.3339 (Newcombe, Statistics in Medicine 17, 1998); recalls 56/70 and 32/80."""
    shares = np.array([56 / 70, 32 / 80])
    ends = [wilson(*each) for each in zip(shares.tolist(), (70, 80), strict=True)]
    low, high = np.array([e.low for e in ends]), np.array([e.high for e in ends])
    found = mean_of_ends(shares, low, high, np.eye(2), "")
    wanted = 0.5 + np.array([0.05243147240236498, 0.33387265403690614]) / 2
    assert (found.low, found.high) == pytest.approx(tuple(wanted), abs=1e-12)


def test_mean_of_recalls_inverts_the_score_test_with_students_t():
    """Where |r - p| = t √(p (1 - p) / n), t of n - 1 degrees of freedom: SciPy finds both ends of each recall."""
    table = bk.Confusion([[7, 2, 1], [3, 20, 1], [0, 0, 4]], ["a", "b", "c"])
    rows, recalls = np.array([10, 24, 4]), np.array([0.7, 20 / 24, 1.0])
    low, high = [], []
    for r, n in zip(recalls, rows, strict=True):
        t = stats.t.ppf(0.975, n - 1)

        def off(p, r=r, n=n, t=t):
            return (r - p) ** 2 - t**2 * p * (1 - p) / n

        low.append(optimize.brentq(off, 1e-9, r - 1e-9))
        high.append(1.0 if r == 1 else optimize.brentq(off, r, 1 - 1e-9))
    mean = recalls.mean()
    down, up = (np.sqrt(((end - recalls) ** 2).sum()) / 3 for end in (np.array(low), np.array(high)))
    found = table.interval("balanced_accuracy")
    assert (found.low, found.high) == pytest.approx((mean - down, mean + up), abs=1e-6)
    assert found == mean_of_shares(recalls, rows.astype(float))


def test_one_row_of_a_class_says_nothing_of_its_recall():
    found = bk.Confusion([[50, 0], [0, 1]], ["a", "b"]).interval("balanced_accuracy")
    assert found.low == pytest.approx(0.5, abs=0.01)
    assert found.high == 1.0


def test_small_coverage_of_the_mean_recall_of_three_classes():
    rng, recall = np.random.default_rng(11), np.array([0.8, 0.75, 0.85])

    def draw(_):
        right = rng.binomial(12, recall)
        return mean_of_shares(right / 12, np.full(3, 12.0)), 0.8

    assert 138 <= held(draw) <= 149


def test_mean_over_rows_is_halls_and_without_skewness_students():
    x = np.array([0.1, 0.2, 0.05, 2.3, 0.4, 0.15, 1.1, 0.02, 0.3, 0.6])
    apart = x - x.mean()
    found = by_rows(x.mean(), (apart**2).mean(), (apart**3).mean(), 10)
    assert (found.low, found.high) == pytest.approx((0.1623652631, 2.5077691979), abs=1e-9)
    even = np.array([1.0, 2.0, 3.0, 4.0])
    found = by_rows(2.5, even.var(), 0.0, 4)
    assert (found.low, found.high) == pytest.approx(stats.t.interval(0.95, 3, 2.5, stats.sem(even)))


def test_agreement_is_that_of_scikit_learn_for_many_tables_at_once():
    rng = np.random.default_rng(0)
    true, done = rng.integers(0, 3, 200), rng.integers(0, 3, 200)
    table = metrics.confusion_matrix(true, done).astype(float)
    both = np.stack([table, 5 * table])
    assert SCORES["mcc"].of_tables(both) == pytest.approx([metrics.matthews_corrcoef(true, done)] * 2, abs=1e-12)
    assert SCORES["kappa"].of_tables(both) == pytest.approx([metrics.cohen_kappa_score(true, done)] * 2, abs=1e-12)
    assert f1(against_rest(table, 1)) == pytest.approx(metrics.f1_score(true, done, average=None)[1], abs=1e-12)


def test_percentiles_of_one_share_are_jeffreys():
    """With one measure that is a single recall, the draws are Beta(k + 1/2, n - k + 1/2)."""
    found = dirichlet_interval(lambda t: t[:, 0, 0] / t[:, 0].sum(axis=1), 0.8, np.array([[40.0, 10.0], [5.0, 45.0]]))
    wanted = stats.beta.ppf([0.025, 0.975], 40.5, 10.5)
    assert (found.low, found.high) == pytest.approx(tuple(wanted), abs=0.01)


@pytest.mark.parametrize("rate", ["mcc", "kappa"])
def test_percentiles_hold_the_value_of_many_small_classes(rate):
    """With Jeffreys' 1/2 for each of 26 cells of a row, 10 rows right of 10 would be drowned."""
    table = bk.Confusion(np.diag(np.full(26, 10.0)), range(26))
    assert table.interval(rate).low > 0.95
    assert table.interval(rate).high == 1.0


def test_f1_of_a_class_of_few_rows_has_no_interval():
    table = bk.Confusion([[5, 4], [3, 88]], ["a", "b"])
    assert np.isnan(table.interval("f1", "a").low)
    assert table.interval("f1", "b").low < table.f1["b"] < table.interval("f1", "b").high


# -- calibration ------------------------------------------------------------------------------------


def test_whiskers_of_reliability_are_those_of_rows_not_of_weights():
    """SciPy's Wilson intervals of the rows of each cell; unequal weights count as (Σw)² / Σw² rows."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.5, 1, 120)
    y, cell = (rng.random(120) < p).astype(int), np.ceil(p * 4).astype(int) - 1
    drawn = plots.ReliabilityDisplay.from_predictions
    shown = drawn(y, p, [0, 1], 1, bins=4, sample_weight=np.full(120, 400.0)).frame("pandas")
    for k, (low, high) in zip((2, 3), shown[["low", "high"]].to_numpy(), strict=True):
        ends = stats.binomtest(int(y[cell == k].sum()), int((cell == k).sum())).proportion_ci(method="wilson")
        assert (low, high) == pytest.approx((ends.low, ends.high), abs=1e-12)
    weight = rng.choice([1.0, 9.0], 120)
    rows = drawn(y, p, [0, 1], 1, bins=4, sample_weight=weight).frame("pandas")["rows"]
    assert rows.tolist() == pytest.approx(
        [weight[cell == k].sum() ** 2 / (weight[cell == k] ** 2).sum() for k in (2, 3)]
    )


def test_a_page_of_rows_of_weight_ten_thousand_has_the_whiskers_of_the_rows():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 100)
    X = rng.normal(y[:, None], 1.0, (100, 2))
    folds = bk.CrossValidation(np.arange(100) % 4)
    plain, heavy = (bk.evaluate(bk.NaiveBayes(), X, y, folds, sample_weight=w) for w in (None, np.full(100, 1e4)))
    one, other = (found.frame("pandas", of="reliability") for found in (plain, heavy))
    assert one["rows"].tolist() == pytest.approx(other["rows"].tolist())
    assert one["rows"].sum() == pytest.approx(100)
    pages = [calibration(found, OneClass.of(found, None)).body for found in (plain, heavy)]
    whiskers = [re.findall('<line class="whisker"[^>]*>', page) for page in pages]
    assert whiskers[0] == whiskers[1] != []


def test_calibration_errors_without_chance_are_those_of_their_authors():
    said = np.repeat([0.2, 0.5, 0.9], [40, 60, 100])
    true = np.concatenate([np.arange(40) < 14, np.arange(60) < 31, np.arange(100) < 82])
    table = sum_cells(said, true, np.ones(200), width_bins(said), 15)
    assert np.sqrt(debiased_square(table)) == pytest.approx(0.06783390088969324, abs=1e-12)
    assert debiased_gap(table) == pytest.approx(0.06353271348788261, abs=1.5e-3)  # theirs is simulated


def test_chance_is_taken_off_the_calibration_error_of_a_calibrated_model():
    """400 tables of 200 rows: the plain error is by chance alone."""
    rng = np.random.default_rng(0)
    plain, first, second = [], [], []
    for _ in range(400):
        p = rng.uniform(0.5, 1, 200)
        table = sum_cells(p, rng.random(200) < p, np.ones(200), width_bins(p), 15)
        plain.append(np.abs(table[1] - table[2]).sum() / 200)
        first.append(debiased_gap(table))
        second.append(debiased_square(table))
    assert np.mean(plain) > 0.06
    assert np.mean(first) < 0.7 * np.mean(plain)
    assert abs(np.mean(second)) < 3 * np.std(second) / 20


def test_the_squared_calibration_error_lies_in_its_interval():
    found = bk.evaluate(bk.NaiveBayes(), IRIS, KIND)
    assert found.interval("ece_l2").low <= found.ece_l2 <= found.interval("ece_l2").high


def test_a_model_of_few_probabilities_has_no_interval_of_its_calibration_error():
    """Of one neighbour, in simulation only 70 to 93 of 100 held the truth: how many rows a cell has is by chance."""
    found = bk.evaluate(bk.KNNBayes(k=1, pseudo=1.0), IRIS, KIND)
    assert np.isnan(found.interval("ece_l2").low)
    assert "same probability" in found.interval("ece_l2").how


# -- weights ----------------------------------------------------------------------------------------


def test_heavy_rows_are_no_more_rows():
    """Weight 10,000 on each of 100 rows says what 100 rows say."""
    some = np.random.default_rng(0).permutation(150)[:100]
    folds = bk.CrossValidation(np.arange(100) % 5)
    plain, heavy = (
        bk.evaluate(bk.NaiveBayes(), IRIS[some], KIND[some], folds, sample_weight=w) for w in (None, np.full(100, 1e4))
    )
    for name in plain.measures.names:
        one, other = plain.interval(name), heavy.interval(name)
        assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-9, nan_ok=True), name
    one, other = (e.confusion.interval("f1", 1) for e in (plain, heavy))
    assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-9)


def test_unequal_weights_count_as_fewer_rows():
    assert effective(4.0, 10.0) == pytest.approx(1.6)
    w = np.where(np.arange(150) % 3 == 0, 10.0, 1.0)
    found = bk.evaluate(bk.NaiveBayes(), IRIS, KIND, sample_weight=w)
    rows = w.sum() ** 2 / (w**2).sum()
    wanted = stats.norm.ppf(0.975) / np.sqrt(rows) * np.sqrt(found.accuracy * (1 - found.accuracy))
    assert found.interval("accuracy").high - found.interval("accuracy").low > 2 * wanted
    assert found.interval("accuracy") == wilson(found.accuracy, rows / found.measures.design_effect)


# -- rows in groups, several models, bootstraps -----------------------------------------------------


def test_rows_in_groups_are_judged_by_folds():
    groups = np.repeat(np.arange(30), 5)
    found = bk.evaluate(bk.NaiveBayes(), IRIS, KIND, bk.CrossValidation(5), groups=groups)
    assert found.interval("accuracy").how == "folds, corrected t"
    held_out = bk.evaluate(bk.NaiveBayes(), IRIS, KIND, bk.Holdout(), groups=groups)
    assert held_out.interval("accuracy").how == "rows come in groups"
    assert np.isnan(held_out.interval("accuracy").low)


def test_holm_is_that_of_statsmodels():
    assert holm(np.array([0.01, 0.04, 0.03, 0.2])) == pytest.approx([0.04, 0.09, 0.09, 0.2])
    assert holm(np.array([np.nan, 0.5, 0.9]))[1:] == pytest.approx([1.0, 1.0])


def test_differences_to_the_best_are_corrected_unless_told_otherwise():
    models = {name: bk.NaiveBayes(prior=prior) for name, prior in (("a", "empirical"), ("b", [0.1, 0.1, 0.8]))}
    models |= {"c": bk.FullBayes(), "d": bk.KNNBayes()}
    found = bk.compare(models, IRIS, KIND, bk.CrossValidation(5))
    table = found.frame("pandas")
    assert table["p"][1:].tolist() == pytest.approx(holm(table["p_alone"].to_numpy()[1:]).tolist())
    assert "Holm over 3" in table["test"][1]
    assert "p by Holm" in str(found)
    alone = bk.compare(models, IRIS, KIND, bk.CrossValidation(5), correction=None)
    assert alone.frame("pandas")["p"][1:].tolist() == table["p_alone"][1:].tolist()
    assert "p of each alone" in str(alone)
    with pytest.raises(InputError, match="correction='bonferroni'"):
        bk.compare(models, IRIS, KIND, correction="bonferroni")


def test_influence_of_a_loss_that_no_model_moves_is_that_of_the_mean():
    """Where every model says the same of a row, the error is the standard error of the mean (with n)."""
    rng = np.random.default_rng(0)
    loss, weights = rng.exponential(size=(60, 1)), np.ones(60)
    draws = rng.multinomial(60, np.full(60, 1 / 60), 200).astype(float)
    repeats = np.array([(drawn == 0) @ loss for drawn in draws])
    found = Influence.of(loss, repeats, weights, draws)
    assert found.error == pytest.approx(loss.std(axis=0) / np.sqrt(60), rel=1e-9)


def test_influence_shows_what_the_training_rows_do():
    """The loss of a row is its own noise plus the mean of the drawn values: both move the mean loss by 1/n."""
    rng = np.random.default_rng(1)
    n, repeats = 50, 4000
    x, noise = rng.normal(size=n), rng.normal(size=n)
    draws = rng.multinomial(n, np.full(n, 1 / n), repeats).astype(float)
    level = draws @ x / n
    loss = noise[None] + level[:, None]
    out = draws == 0
    mean = ((loss * out).sum(axis=0) / out.sum(axis=0))[:, None]
    found = Influence.of(mean, ((loss * out).sum(axis=1))[:, None], np.ones(n), draws)
    assert found.error[0] == pytest.approx((x + noise).std() / np.sqrt(n), rel=0.1)


def test_a_model_that_overfits_gets_no_interval_from_a_bootstrap():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.tile([0, 1], 30)
    found = bk.evaluate(bk.KNNBayes(k=1), X, y, bk.Bootstrap632(50))
    assert np.isnan(found.interval("accuracy").low)
    assert "overfits" in found.interval("accuracy").how


# -- coverage, in small -----------------------------------------------------------------------------


def held(draw, repeats=150):
    """How many of the intervals hold the truth."""
    return sum(found.low <= truth <= found.high for found, truth in (draw(r) for r in range(repeats)))


def test_small_coverage_of_areas_with_eight_rows_of_a_class():
    rng, truth = np.random.default_rng(3), stats.norm.cdf(1.2 / np.sqrt(2))
    codes = np.arange(100) < 8

    def draw(_):
        return two_sided(rng.normal(1.2 * codes, 1), codes.astype(int)).interval(), truth

    assert 138 <= held(draw) <= 150


def test_small_coverage_of_balanced_accuracy_and_correlation_with_a_rare_class():
    rng = np.random.default_rng(4)
    shares = np.array([[0.92 * 0.95, 0.92 * 0.05], [0.08 * 0.4, 0.08 * 0.6]])
    truths = {"balanced_accuracy": 0.775, "mcc": float(SCORES["mcc"].of_tables(shares))}
    tables = [bk.Confusion(rng.multinomial(200, shares.ravel()).reshape(2, 2), "ab") for _ in range(150)]
    for rate, truth in truths.items():
        assert 137 <= held(lambda r, rate=rate, truth=truth: (tables[r].interval(rate), truth)) <= 150, rate


def test_small_coverage_of_a_skew_loss():
    rng = np.random.default_rng(5)

    def draw(_):
        x = rng.gamma(0.3, size=100)
        apart = x - x.mean()
        return by_rows(x.mean(), (apart**2).mean(), (apart**3).mean(), 100), 0.3

    assert 135 <= held(draw) <= 149


@pytest.mark.parametrize("off", [0.0, 0.15])
def test_small_coverage_of_the_squared_calibration_error(off):
    rng = np.random.default_rng(6)

    def draw(_):
        p = np.repeat(np.linspace(0.55, 0.8, 15), 20)
        return square_interval(
            sum_cells(p, rng.random(300) < p + off, np.ones(300), np.repeat(np.arange(15), 20), 15)
        ), off

    assert 137 <= held(draw) <= 150


def test_breast_cancer_has_both_kinds_of_areas():
    X, y = load_breast_cancer(return_X_y=True)
    found = bk.evaluate(bk.NaiveBayes(), X, y, bk.CrossValidation(10))
    assert found.auc_by_fold > found.auc > 0.98


def test_what_has_no_interval_says_so_and_shows_no_number(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    found = bk.evaluate(bk.NaiveBayes(), rng.normal(y[:, None], 1.0, (200, 2)), y)
    assert np.isnan(found.interval("ece_mass").low)
    assert "nan" not in str(found)
    page = bk.report(found, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "beyond chance" in page  # in its place
    assert "– to –" not in page


# -- rows that made the models of other folds ----------------------------------------------------------


def test_rows_count_for_less_the_more_a_model_errs_less_on_its_own_rows():
    """By scikit-learn: 1 + 0.8 G, G the share of the errors on new rows that the model of all rows does not make."""
    X, y = load_breast_cancer(return_X_y=True)
    fold, peer = np.arange(len(y)) % 5, GaussianNB(var_smoothing=0)
    found = bk.evaluate(bk.NaiveBayes(), X, y, bk.CrossValidation(fold))
    own = peer.fit(X, y).score(X, y)
    right = [peer.fit(X[fold != f], y[fold != f]).predict(X[fold == f]) == y[fold == f] for f in range(5)]
    new = np.concatenate(right).mean()
    effect = 1 + 0.8 * (own - new) / (1 - new)
    assert 1 < effect < 1.4
    assert found.measures.design_effect == pytest.approx(effect, abs=1e-12)
    assert found.interval("accuracy").low == pytest.approx(wilson(new, len(y) / effect).low, abs=1e-12)
    loss = -np.log(np.clip(found.proba[np.arange(len(y)), y], 1e-15, 1))
    moments = (((loss - loss.mean()) ** k).mean() for k in (2, 3))
    assert found.interval("log_loss").high == pytest.approx(by_rows(loss.mean(), *moments, len(y) / effect).high)


def test_a_model_that_knows_its_rows_by_heart_has_the_widest_intervals_and_new_rows_are_as_many_as_they_are():
    for model in (bk.KNNBayes(k=1), DecisionTreeClassifier(random_state=0)):
        found = bk.evaluate(model, IRIS, KIND, bk.CrossValidation(5))
        assert found.interval("accuracy") == wilson(found.accuracy, 150 / 1.4)
        found = bk.evaluate(model, IRIS, KIND, bk.Holdout(0.4))
        assert found.interval("accuracy") == wilson(found.accuracy, found.confusion.weight)


@pytest.mark.slow
def test_small_coverage_of_one_neighbour():
    """Without the design effect 89 to 91 % of such intervals hold the truth."""
    rng = np.random.default_rng(8)

    def rows(n):
        y = rng.integers(0, 2, n)
        return 0.75 * y[:, None] + 0.8 * rng.normal(size=(n, 4)) + 0.6 * rng.normal(size=(n, 1)), y

    fresh, label = rows(10_000)

    def draw(_):
        X, y = rows(100)
        fold = np.arange(100) % 5
        models = [KNeighborsClassifier(1).fit(X[fold != f], y[fold != f]) for f in range(5)]
        truth = np.mean([m.score(fresh[f::5], label[f::5]) for f, m in enumerate(models)])
        return bk.evaluate(KNeighborsClassifier(1), X, y, bk.CrossValidation(fold)).interval("accuracy"), truth

    assert 279 <= held(draw, 300) <= 296


@pytest.mark.parametrize("weight", [1.0, 10_000.0])
def test_paired_differences_take_weights_for_no_more_rows(weight):
    models = {"a": bk.NaiveBayes(), "b": bk.NaiveBayes(families="Kernel")}
    found = bk.compare(models, IRIS, KIND, bk.LeaveOneOut(), sample_weight=np.full(150, weight))
    losses = [-np.log(np.clip(found[name].proba[np.arange(150), KIND], 1e-15, 1)) for name in "ab"]
    assert found.difference("a", "b").p == pytest.approx(stats.ttest_rel(*losses).pvalue, abs=1e-9)
