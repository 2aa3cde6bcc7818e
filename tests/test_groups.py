"""Evaluation by group, worst segments, fairness and decision curves, by other libraries and by hand."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import chi2, chi2_contingency, fisher_exact, ttest_ind
from sklearn.metrics import (
    balanced_accuracy_score,
    brier_score_loss,
    cohen_kappa_score,
    log_loss,
    matthews_corrcoef,
    roc_auc_score,
)

import bayeskit as bk
from bayeskit.evaluation.decisions import DecisionCurve
from bayeskit.evaluation.grouping import Grouping
from bayeskit.evaluation.groups import measures_of


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    n = 1200
    y, sex, region = rng.integers(0, 2, n), rng.choice(["f", "m"], n, p=[0.4, 0.6]), rng.choice(["e", "n", "s"], n)
    hard = (sex == "f") & (region == "n")
    x = np.where(hard, rng.normal(0.5, 1.0, n), y + rng.normal(0, 0.6, n))
    table = pd.DataFrame({"x": x, "sex": sex, "region": region, "age": rng.normal(50, 10, n)})
    table.loc[:49, "region"] = None
    return table, y, rng.random(n) + 0.2


@pytest.fixture(scope="module")
def found(rows):
    table, y, _ = rows
    return bk.evaluate(bk.NaiveBayes(), table, y, by=["sex", "region"])


@pytest.mark.parametrize("weighted", [False, True])
def test_measures_of_a_group_are_those_of_its_rows(rows, weighted):
    table, y, w = rows
    found = bk.evaluate(bk.NaiveBayes(), table, y, sample_weight=w if weighted else None, by="sex")
    done, odds = found.measures.kept.action, found.measures.kept.odds[:, 1]
    for group, mine in found.groups["sex"].items():
        s = (table.sex == group).to_numpy()
        given = {"sample_weight": w[s]} if weighted else {}
        wanted = {
            "auc": roc_auc_score(y[s], odds[s], **given),
            "log_loss": log_loss(y[s], found.proba[s], **given),
            "brier": 2 * brier_score_loss(y[s], found.proba[s, 1], **given),
            "balanced_accuracy": balanced_accuracy_score(y[s], done[s], **given),
            "kappa": cohen_kappa_score(y[s], done[s], **given),
            "mcc": matthews_corrcoef(y[s], done[s], **given),
        }
        assert {name: mine.value(name) for name in wanted} == pytest.approx(wanted, abs=1e-9)


def test_all_rows_as_one_group_have_the_measures_of_the_evaluation(found):
    whole = measures_of(found.measures, np.ones(1200, dtype=bool))
    for name in found.measures.names:
        assert whole.value(name) == pytest.approx(found.value(name), nan_ok=True)
        one, other = whole.interval(name), found.interval(name)
        assert (one.low, one.high) == pytest.approx((other.low, other.high), nan_ok=True)


def test_a_column_of_one_value_has_one_group_and_no_difference(rows):
    table, y, _ = rows
    groups = bk.evaluate(bk.NaiveBayes(), table[:100].assign(one="k"), y[:100], by="one").groups
    frame = groups.frame()
    assert set(frame["group"]) == {"k"}
    assert frame[["rest", "difference", "p"]].isna().all(axis=None)
    assert "k" in str(groups)


def test_groups_are_of_each_column_and_of_both_together(found):
    assert found.groups.names == ("sex", "region", "sex × region")
    assert list(found.groups["region"]) == ["e", "n", "s", "missing"]
    sizes = {g: m.total.weight[0] for g, m in found.groups["sex × region"].items()}
    assert sum(sizes.values()) == 1200
    assert len(sizes) == 8
    lines = found.groups.frame("pandas")
    assert set(lines.measure) == set(found.measures.names)
    assert len(lines) == 14 * len(found.measures.names)
    assert "sex × region" in str(found)


def test_difference_of_shares_is_newcombes(found, rows):
    """Newcombe's tenth method by its own formula: Wilson's ends of the two shares."""
    table, y, _ = rows
    right = found.measures.kept.action == y
    z, effect = 1.959963984540054, found.measures.design_effect
    assert 1 <= effect < 1.1

    def wilson(s):
        n, p = s.sum() / effect, right[s].mean()
        half = z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return p, (p + z * z / (2 * n) - half) / (1 + z * z / n), (p + z * z / (2 * n) + half) / (1 + z * z / n)

    s = (table.sex == "f").to_numpy()
    (a, a_low, a_high), (b, b_low, b_high) = wilson(s), wilson(~s)
    mine = found.groups.differences("sex", "accuracy")["f"]
    assert mine.value == pytest.approx(a - b)
    assert mine.low == pytest.approx(a - b - np.hypot(a - a_low, b_high - b))
    assert mine.high == pytest.approx(a - b + np.hypot(a_high - a, b - b_low))
    assert mine.p < 0.05


def test_groups_that_differ_by_chance_are_not_told_apart(rows):
    table, y, _ = rows
    coin = np.random.default_rng(5).choice(["u", "v", "w"], len(y))
    found = bk.evaluate(bk.NaiveBayes(), table, y, by={"coin": coin})
    for name in ("accuracy", "log_loss", "auc"):
        assert min(d.p for d in found.groups.differences("coin", name).values()) > 0.05


def test_rows_that_belong_together_are_tested_by_fold(rows):
    table, y, _ = rows
    found = bk.evaluate(bk.NaiveBayes(), table, y, groups=np.arange(1200) // 4, by="sex")
    d = found.groups.differences("sex", "accuracy")["f"]
    assert d.how == "folds, corrected t"
    assert d.low < d.value < d.high
    female, male = (found.groups["sex"][g].value("accuracy") for g in "fm")
    assert d.value == pytest.approx(female - male)


def test_numbers_are_cut_into_quarters(rows):
    table, y, _ = rows
    found = bk.evaluate(bk.NaiveBayes(), table, y, by="age")
    sizes = [m.total.weight[0] for m in found.groups["age"].values()]
    assert sizes == [300, 300, 300, 300]
    most = Grouping.of("x", pa.chunked_array([[9.0] * 90 + [float(i) for i in range(9)] + [None]]))
    assert most.groups == ("up to 8", "over 8", "missing")


# -- fairness: fairlearn 0.15 gives the same -----------------------------------------------------------------------


def test_fairness_by_definition(found, rows):
    table, y, _ = rows
    done = pd.Series(found.measures.kept.action)
    mine = {m.name: m for m in found.groups.fairness("region", 1)}
    region = table.region.fillna("missing")
    chosen = (done == 1).groupby(region).mean()
    hit, false = ((done == 1)[y == k].groupby(region[y == k]).mean() for k in (1, 0))
    precision = pd.Series(y == 1)[done == 1].groupby(region[done == 1]).mean()
    wanted = {
        "demographic parity difference": np.ptp(chosen),
        "demographic parity ratio": chosen.min() / chosen.max(),
        "equal opportunity difference": np.ptp(hit),
        "equal opportunity ratio": hit.min() / hit.max(),
        "equalized odds difference": max(np.ptp(hit), np.ptp(false)),
        "equalized odds ratio": min(hit.min() / hit.max(), false.min() / false.max()),
        "predictive parity difference": np.ptp(precision),
    }
    assert {name: mine[name].value for name in wanted} == pytest.approx(wanted)
    counts = pd.crosstab(region, done == 1)
    test = chi2_contingency(counts, correction=False)
    wanted = chi2.sf(test.statistic / found.measures.design_effect, test.dof)
    assert mine["demographic parity ratio"].p == pytest.approx(wanted)
    assert mine["demographic parity difference"].lowest == chosen.idxmin()


def test_fairness_is_that_of_fairlearn(found, rows):
    theirs = pytest.importorskip("fairlearn.metrics", reason="fairlearn is not installed ([peers])")
    table, y, _ = rows
    done, region = found.measures.kept.action, table.region.fillna("missing")
    mine = {m.name: m.value for m in found.groups.fairness("region", 1)}
    for what in ("demographic parity", "equal opportunity", "equalized odds"):
        for side in ("difference", "ratio"):
            wanted = getattr(theirs, f"{what} {side}".replace(" ", "_"))(y, done, sensitive_features=region)
            assert mine[f"{what} {side}"] == pytest.approx(wanted, abs=1e-12)


def test_fairness_of_groups_of_few_rows_has_no_test():
    y = np.array([0, 1] * 10)
    found = bk.evaluate(bk.NaiveBayes(), {"x": y + 0.1 * np.arange(20)}, y, by={"g": ["a"] * 17 + ["b"] * 3})
    assert np.isnan(found.groups.fairness("g", 1)[0].p)
    assert found.groups.fairness("g", 1, least=20) == ()
    lines = found.groups.frame("pandas").set_index(["group", "measure"])
    assert lines.p.isna().all()
    assert np.isnan(lines.low["b", "log_loss"])  # three losses do not show their tail
    assert lines.high["b", "accuracy"] <= 1


# -- worst segments ----------------------------------------------------------------------------------------------------


def test_the_worst_segment_is_found_and_tested(found, rows):
    table, y, _ = rows
    segments = found.worst_segments(columns=["sex", "region", "age"])
    worst = segments[0]
    assert dict(worst.where) == {"sex": "f", "region": "n"}
    wrong = found.measures.kept.action != y
    inside = ((table.sex == "f") & (table.region == "n")).to_numpy()
    assert (worst.rows, worst.value, worst.rest) == (
        inside.sum(),
        pytest.approx(wrong[inside].mean()),
        pytest.approx(wrong[~inside].mean()),
    )
    against = [inside | ~inside, (table.sex == "f").to_numpy(), (table.region == "n").to_numpy()]
    tables = [[[wrong[s].sum(), (~wrong[s]).sum()] for s in (inside, all_ & ~inside)] for all_ in against]
    p = max(fisher_exact(t, alternative="greater").pvalue for t in tables)
    assert segments.tested * p * 0.99 <= worst.p <= segments.tested * p * 1.01 or worst.p < 1e-6
    assert worst.p >= p


def test_segments_that_repeat_worse_ones_are_left_out(found, rows):
    table, _, _ = rows
    every = found.worst_segments(columns=["sex", "region", "age"], most=99)
    different = found.worst_segments(columns=["sex", "region", "age"], most=99, overlap=0.4)
    listed, wanted = np.zeros(len(table), dtype=bool), []
    for s in every.found:  # all are of levels
        inside = np.all([(table[name] == group).to_numpy() for name, group in s.where], axis=0)
        assert inside.sum() == s.rows
        if (inside & listed).sum() <= 0.4 * s.rows:
            wanted.append(s)
            listed |= inside
    assert len(wanted) < len(every)
    assert different.found == tuple(wanted)
    assert (different.tested, different.compared) == (every.tested, every.compared)


def test_segments_that_were_not_compared_are_not_counted_as_compared():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 300)
    columns = {f"c{j}": rng.choice(list("uv"), 300) for j in range(30)}
    found = bk.evaluate(bk.NaiveBayes(), {"x": y + rng.normal(size=300), **columns}, y).worst_segments(
        columns=list(columns)
    )
    assert found.compared == 2 * 30 + 4 * 20 * 19 // 2  # in twos the 20 whose groups differ most
    assert found.tested == 2 * 30 + 4 * 30 * 29 // 2


def test_losses_are_tested_by_welch(found, rows):
    table, y, _ = rows
    loss = -np.log(found.proba[np.arange(1200), y])
    (worst, *_) = found.worst_segments("log_loss", columns=["sex"], most=1)
    s = (table.sex == "f").to_numpy()
    p = ttest_ind(loss[s], loss[~s], equal_var=False, alternative="greater").pvalue
    assert worst.p == pytest.approx(2 * p)  # two segments: f and m
    assert worst.value == pytest.approx(loss[s].mean())


def test_chance_alone_has_no_worst_segment():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 400)
    table = {"x": y + rng.normal(size=400), **{f"c{j}": rng.choice(list("uvw"), 400) for j in range(8)}}
    found = bk.evaluate(bk.NaiveBayes(), table, y).worst_segments(columns=[f"c{j}" for j in range(8)])
    assert len(found) == 0
    assert found.tested == 24 + 28 * 9
    assert "no segment" in str(found)


# -- decision curves: net benefit as Vickers and Elkin define it -----------------------------------------------------


def test_net_benefit_by_hand(found, rows):
    _, y, _ = rows
    p, curve = found.proba[:, 1], found.decision_curve(1, [0.1, 0.35, 0.8])
    for t, benefit, everyone in zip(curve.threshold, curve.benefit, curve.treat_all, strict=True):
        gain = (p >= t) * np.where(y == 1, 1.0, -t / (1 - t))
        assert benefit == pytest.approx(gain.mean())
        assert everyone == pytest.approx(np.where(y == 1, 1.0, -t / (1 - t)).mean())
    assert (curve.low < curve.benefit).all()
    assert (curve.benefit < curve.high).all()
    whole = found.decision_curve(1).frame("pandas")
    assert len(whole) == 99
    assert (whole.treat_none == 0).all()


def test_net_benefit_of_weighted_rows_is_that_of_copies():
    p, y = np.array([0.9, 0.6, 0.4, 0.1]), np.array([True, False, True, False])
    once = DecisionCurve.of("ill", p.repeat([2, 1, 3, 1]), y.repeat([2, 1, 3, 1]))
    heavy = DecisionCurve.of("ill", p, y, np.array([2.0, 1, 3, 1]))
    assert once.benefit == pytest.approx(heavy.benefit)
    assert (heavy.high - heavy.low >= once.high - once.low).all()  # rows count, not their weight


def test_a_cost_curve_is_the_mean_cost_of_the_decisions_taken(found, rows):
    """By the costs themselves: a miss costs m, a false alarm f; the most that can be paid is π m + (1 - π) f."""
    y = rows[1] == 1
    p, share = found.proba[:, 1], y.mean()
    curve = found.cost_curve(1, [0.1, 0.4, 0.85])
    for pc, cost, least, trivial in zip(curve.weighed, curve.cost, curve.least, curve.trivial, strict=True):
        miss, alarm = pc / share, (1 - pc) / (1 - share)
        costs = {0: {0: 0.0, 1: alarm}, 1: {0: miss, 1: 0.0}}
        decided = bk.decide(found.proba, costs, [0, 1]).action
        paid = np.mean([costs[int(t)][int(a)] for t, a in zip(y, decided, strict=True)])
        assert cost == pytest.approx(paid)
        each = [np.mean(np.where(y, miss * (p < t), alarm * (p >= t))) for t in [*p, 2.0]]
        assert least == pytest.approx(min(each))
        assert trivial == pytest.approx(min(np.mean(miss * y), np.mean(alarm * ~y)))
    assert (curve.low < curve.cost).all()
    assert (curve.cost < curve.high).all()
    assert (curve.least <= np.minimum(curve.cost, curve.trivial) + 1e-12).all()
    assert found.cost_curve(1).frame("pandas").shape == (99, 7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e, X, y: bk.evaluate(bk.NaiveBayes(), X, y, by="sx"), "by='sx' names no column.*sex"),
        (lambda e, X, y: bk.evaluate(bk.NaiveBayes(), X, y, by=["sex", "sex"]), "names a column twice"),
        (lambda e, X, y: bk.evaluate(bk.NaiveBayes(), X, y, by={"g": [1, 2]}), "has 2 values, the table 1,200 rows"),
        (lambda e, X, y: bk.evaluate(bk.NaiveBayes(), X, y, by=3), "name a column"),
        (lambda e, X, y: bk.evaluate(bk.NaiveBayes(), X, y, bk.Bootstrap632(), by="sex"), "bootstrap"),
        (lambda e, X, y: e.groups["age"], "not grouped by 'age'"),
        (lambda e, X, y: e.groups.fairness("sex", 7), "label 7 is not a class"),
        (lambda e, X, y: e.worst_segments("auc"), "mean over rows .*log_loss"),
        (lambda e, X, y: e.worst_segments(overlap=2), "overlap=2: give a share"),
        (lambda e, X, y: e.worst_segments(columns=["q"]), "'q' is no column"),
        (lambda e, X, y: e.decision_curve(1, [0.0]), "between 0 and 1"),
        (lambda e, X, y: e.decision_curve(5), "label 5 is not a class"),
        (lambda e, X, y: e.cost_curve(5), "label 5 is not a class"),
        (lambda e, X, y: e.cost_curve(1, [1.5]), "between 0 and 1"),
    ],
)
def test_what_cannot_be_judged_is_refused(found, rows, call, message):
    with pytest.raises(ValueError, match=message):
        call(found, *rows[:2])


def test_files_are_judged_by_group_in_memory_only(tmp_path, rows):
    rows[0].assign(y=rows[1]).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="read it into memory"):
        bk.evaluate(bk.NaiveBayes(), str(tmp_path / "rows.parquet"), "y", by="sex")
