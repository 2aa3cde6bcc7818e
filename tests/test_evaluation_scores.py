"""Scores and intervals against scikit-learn, SciPy and plain sums."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

import bayeskit as bk
from bayeskit.evaluation.areas import ScoreHistogram
from bayeskit.evaluation.decisions import DecisionCosts
from bayeskit.evaluation.intervals import by_folds
from bayeskit.evaluation.measures import Measures
from bayeskit.evaluation.score import PredictedRows, SumScore
from bayeskit.evaluation.score_sums import ScoreSums
from bayeskit.evaluation.scores import SCORES
from bayeskit.model.labelled_table import Rows
from bayeskit.numerics.rates import curve, gap, wilson

LABELS = np.array(["a", "b", "c", "d"])
RNG = np.random.default_rng(0)


def table(classes, rows=400, ties=False, seed=0):
    """Classes, probabilities that know something of them, and weights."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, classes, rows)
    p = rng.dirichlet(np.ones(classes), rows) + 0.4 * np.eye(classes)[codes]
    p = p / p.sum(axis=1, keepdims=True)
    p = (1 + rng.multinomial(16 - classes, p)) / 16 if ties else p  # sixteenths, which tie exactly
    return codes, p, rng.choice([0.0, 0.5, 1.0, 2.0], rows)


CASES = [
    pytest.param(k, ties, id=f"{k} classes{', ties' if ties else ''}") for k in (2, 3, 4) for ties in (False, True)
]


def measures(codes, p, w):
    return Measures.of(Rows(codes, w, LABELS[: p.shape[1]]), np.log(p), 1.0)


@pytest.mark.parametrize(("classes", "ties"), CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_scikit_learn(classes, ties, weighted):
    codes, p, w = table(classes, ties=ties)
    w = w if weighted else np.ones(len(w))
    found, best = measures(codes, p, w), np.argmax(p, axis=1)
    given = {"sample_weight": w}
    wanted = {
        "accuracy": metrics.accuracy_score(codes, best, **given),
        "error_rate": metrics.zero_one_loss(codes, best, **given),
        "balanced_accuracy": metrics.balanced_accuracy_score(codes, best, **given),
        "mcc": metrics.matthews_corrcoef(codes, best, **given),
        "kappa": metrics.cohen_kappa_score(codes, best, **given),
        "log_loss": metrics.log_loss(codes, p, **given),
        "brier": metrics.brier_score_loss(codes, p, scale_by_half=False, labels=range(classes), **given)
        if classes > 2
        else 2 * metrics.brier_score_loss(codes, p[:, 1], **given),
        "auc": np.mean([metrics.roc_auc_score(codes == k, p[:, k], **given) for k in range(classes)]),
    }
    for name, value in wanted.items():
        assert found.value(name) == pytest.approx(value, abs=1e-12), name


@pytest.mark.parametrize(("classes", "ties"), CASES)
def test_rates_by_class_are_those_of_scikit_learn(classes, ties):
    codes, p, w = table(classes, ties=ties)
    best = np.argmax(p, axis=1)
    confusion = bk.Confusion(metrics.confusion_matrix(codes, best, sample_weight=w), LABELS[:classes])
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(codes, best, sample_weight=w)
    others = [metrics.recall_score(codes != k, best != k, sample_weight=w) for k in range(classes)]
    for found, wanted in (
        (confusion.precision, precision),
        (confusion.sensitivity, recall),
        (confusion.f1, f1),
        (confusion.specificity, others),
    ):
        assert list(found) == LABELS[:classes].tolist()
        assert list(found.values()) == pytest.approx(list(wanted), abs=1e-12)


def test_calibration_error_by_plain_sums():
    codes, p, w = table(3)
    top, right = p.max(axis=1), np.argmax(p, axis=1) == codes
    gaps = []
    for b in range(15):
        cell = (top > b / 15) & (top <= (b + 1) / 15)
        if w[cell].sum() > 0:
            gaps.append(abs((w * right)[cell].sum() - (w * top)[cell].sum()))
    assert measures(codes, p, w).value("ece") == pytest.approx(sum(gaps) / w.sum(), abs=1e-12)


def test_calibration_error_of_each_class_by_plain_sums():
    codes, p, w = table(3)
    means = []
    for k in range(3):
        cell = np.ceil(p[:, k] * 15).clip(1).astype(int)
        apart = [abs((w * ((codes == k) - p[:, k]))[cell == b].sum()) for b in range(1, 16)]
        means.append(sum(apart) / w.sum())
    assert measures(codes, p, w).value("ece_classwise") == pytest.approx(np.mean(means), abs=1e-12)


def test_equal_mass_cells_hold_the_same_number_of_rows():
    codes, p, _ = table(2, rows=450)
    order = np.argsort(p.max(axis=1))
    wanted = 0.0
    for some in np.array_split(order, 15):
        right = (np.argmax(p[some], axis=1) == codes[some]).mean()
        wanted += len(some) / 450 * abs(right - p[some].max(axis=1).mean())
    assert measures(codes, p, np.ones(450)).value("ece_mass") == pytest.approx(wanted, abs=1e-12)


def test_equal_mass_cells_do_not_depend_on_the_order_of_rows():
    codes, p, w = table(3, ties=True)
    order = RNG.permutation(len(codes))
    one, other = measures(codes, p, w), measures(codes[order], p[order], w[order])
    assert one.value("ece_mass") == pytest.approx(other.value("ece_mass"), abs=1e-12)


def test_log_loss_of_an_impossible_truth_is_that_of_1e_15():
    found = ScoreSums.of(PredictedRows(np.array([0]), np.array([[0.0, 1.0]])))
    assert found.mean("log_loss")[0] == pytest.approx(-np.log(1e-15), abs=1e-12)


def test_roc_curve_is_that_of_scikit_learn():
    codes, p, w = table(2, ties=True)
    found = curve(p[:, 1], codes == 1, w)
    false, true, at = metrics.roc_curve(codes, p[:, 1], sample_weight=w, drop_intermediate=False)
    assert found.false_positive == pytest.approx(false, abs=1e-12)
    assert found.true_positive == pytest.approx(true, abs=1e-12)
    assert found.threshold[1:] == pytest.approx(at[1:])


def test_scores_of_blocks_merge_to_those_of_all_rows():
    codes, p, w = table(3)
    fold = RNG.integers(0, 4, len(codes))
    rows = PredictedRows(codes, p, w)
    whole = ScoreSums.of(rows, fold, 4)
    parts = [ScoreSums.of(rows.take(s), fold[s], 4) for s in np.array_split(np.arange(len(codes)), 7)]
    merged = ScoreSums.empty(4, 3)
    for part in parts:
        merged = merged.merge(part)
    for score in (s for s in SCORES.values() if isinstance(s, SumScore) and not s.needs):
        assert score.of_sums(merged) == pytest.approx(score.of_sums(whole), abs=1e-12)
        for f in range(4):
            alone = ScoreSums.of(rows.take(fold == f))
            assert score.of_sums(whole)[f] == pytest.approx(score.of_sums(alone)[0], abs=1e-12)


@pytest.mark.parametrize("classes", [2, 4])
def test_binned_area_keeps_its_bound(classes):
    codes, p, w = table(classes, rows=3000)
    ranks = ScoreHistogram.empty(1, classes)
    for s in np.array_split(np.arange(len(codes)), 5):
        ranks = ranks.update(codes[s], np.log(p[s]), w[s], np.zeros(len(s), dtype=int))
    for k in range(classes):
        area, bound = ranks.area(k)
        assert abs(area - metrics.roc_auc_score(codes == k, p[:, k], sample_weight=w)) <= bound + 1e-12
        assert bound < 0.01
    assert gap(ranks.mass_table(1.0)) == pytest.approx(measures(codes, p, w).value("ece_mass"), abs=0.01)


def test_costs_by_plain_sums():
    codes, p, w = table(3)
    costs = np.array([[0.0, 4.0], [1.0, 0.0], [-2.0, 3.0]])
    found = ScoreSums.of(PredictedRows(codes, p, w, costs=DecisionCosts(costs, reject=0.5)))
    expected, realised, decided, right = 0.0, 0.0, 0.0, 0.0
    for y, probabilities, weight in zip(codes, p, w, strict=True):
        by_action = [sum(probabilities[k] * costs[k, a] for k in range(3)) for a in range(2)]
        action = int(np.argmin(by_action))
        if by_action[action] <= 0.5:
            expected, realised = expected + weight * by_action[action], realised + weight * costs[y, action]
            decided, right = decided + weight, right + weight * (np.argmax(probabilities) == y)
        else:
            expected, realised = expected + weight * 0.5, realised + weight * 0.5
    assert 0 < decided < w.sum()
    each = {"expected_cost": expected, "realised_cost": realised, "coverage": decided}
    for name, total in each.items():
        assert SCORES[name].of_sums(found)[0] == pytest.approx(total / w.sum(), abs=1e-12)
    assert SCORES["covered_accuracy"].of_sums(found)[0] == pytest.approx(right / decided, abs=1e-12)


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (3, 10), (81, 263), (1000, 1000)])
def test_wilson_is_that_of_scipy(hits, n):
    wanted = stats.binomtest(hits, n).proportion_ci(0.95, method="wilson")
    found = wilson(hits / n, n)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=1e-12)


def test_interval_of_folds_is_the_corrected_one():
    scores = np.array([0.8, 0.85, 0.9, 0.7])
    found = by_folds(0.8125, scores, ratio=1 / 3)
    half = stats.t.ppf(0.975, 3) * np.sqrt(scores.var(ddof=1) * (1 / 4 + 1 / 3))
    assert (found.low, found.high) == pytest.approx((0.8125 - half, 0.8125 + half))
    assert found.how == "folds, corrected t"


def test_interval_of_an_area_covers_the_truth():
    """Two normals one apart: the area is Phi(1 / sqrt 2)."""
    truth, rng, hits = stats.norm.cdf(1 / np.sqrt(2)), np.random.default_rng(1), 0
    for _ in range(100):
        codes = rng.integers(0, 2, 200)
        p = stats.norm.cdf(rng.normal(codes, 1))
        found = measures(codes, np.column_stack([1 - p, p]), np.ones(200)).interval("auc")
        hits += found.low <= truth <= found.high
    assert 88 <= hits <= 100


@pytest.mark.parametrize("name", ["log_loss", "brier"])
def test_interval_of_a_loss_has_the_width_of_its_standard_error(name):
    codes, p, _ = table(2, rows=4000)
    mine = p[np.arange(4000), codes]
    loss = -np.log(mine) if name == "log_loss" else 2 * (1 - mine) ** 2
    found = measures(codes, p, np.ones(4000))
    interval = found.interval(name)
    assert interval.low < found.value(name) < interval.high
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * loss.std() / np.sqrt(4000), rel=0.02)


def test_ranks_of_many_rows_come_from_bins_and_say_so() -> None:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 100_002)
    x = (rng.normal(size=(100_002, 1)) + y[:, None]).round(2)
    found = bk.evaluate(bk.NaiveBayes(), x, y, bk.CrossValidation(np.arange(100_002) % 3))
    p = found.proba[:, 1]
    assert abs(found.measures.value("auc") - metrics.roc_auc_score(y, p)) <= found.measures.area_bound < 1e-3
    each = [metrics.roc_auc_score(y[f::3], p[f::3]) for f in range(3)]
    assert found.measures.value("auc_by_fold") == pytest.approx(np.mean(each), abs=1e-3)
    assert "from bins" in found.measures.interval("auc").how
    few = replace(found.measures, ranks=None)
    assert few.value("ece_mass") == pytest.approx(found.measures.value("ece_mass"), abs=5e-4)
    assert few.interval("auc").low == pytest.approx(found.measures.interval("auc").low, abs=1e-4)
