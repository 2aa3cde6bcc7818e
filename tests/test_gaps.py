"""Intervals of calibration errors by cells and of the parts of the Brier score, in simulation and against NumPy."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax
from sklearn.datasets import load_iris

import bayeskit as bk
from bayeskit.evaluation import gaps
from bayeskit.evaluation.gaps import MOST_CLASSES, Gaps, uncertainty_ends
from bayeskit.evaluation.out_of_fold import OutOfFold, Repeat
from bayeskit.evaluation.scores.smooth_ece import smooth_ends
from bayeskit.model.labelled_table import Rows
from bayeskit.numerics.rates import BINS, width_bins, wilson

IRIS, KIND = load_iris(return_X_y=True)
NAMES = ("ece", "ece_debiased", "smooth_ece", "ece_classwise", "brier_reliability", "brier_resolution")


def drawn(rng, rows, classes, sure):
    """Probabilities that are too far apart by ``sure``, and classes drawn from the true ones."""
    odds = rng.normal(size=(rows, classes))
    codes = (softmax(odds, axis=1).cumsum(axis=1) < rng.random((rows, 1))).sum(axis=1)
    return softmax(sure * odds, axis=1), codes


def parts(p, codes):
    """Class-wise error, reliability and resolution over 15 cells, by loops."""
    error = reliability = resolution = 0.0
    for k in range(p.shape[1]):
        cell, came = np.ceil(p[:, k] * BINS), codes == k
        for b in np.unique(cell):
            mine = cell == b
            gap = came[mine].mean() - p[mine, k].mean()
            error += mine.mean() * abs(gap) / p.shape[1]
            reliability += mine.mean() * gap**2
            resolution += mine.mean() * (came[mine].mean() - came.mean()) ** 2
    return error, reliability, resolution


def out_of_fold(p, codes, weights=None):
    rows = Rows(codes, np.ones(len(codes)) if weights is None else weights, np.arange(p.shape[1]))
    return OutOfFold(rows, (Repeat(p, np.zeros(len(codes), dtype=np.int64)),))


def ends(p, codes):
    kept = out_of_fold(p, codes)
    low, high = kept.gaps.absolute_ends()
    return (low / p.shape[1], high / p.shape[1]), kept.gaps.square_ends(), kept.apart.square_ends()


@pytest.mark.parametrize(("classes", "sure"), [(2, 1), (3, 2)])
def test_ends_hold_the_truth_of_drawn_rows(classes, sure):
    """Percentiles of a bootstrap held it in 0 to 82 %; of 40 draws 95 % intervals leave more than 6 out once in 300."""
    rng = np.random.default_rng(3)
    true = (0.0, 0.0) if sure == 1 else parts(*drawn(rng, 50_000, classes, sure))[:2]
    true = (*true, parts(*drawn(rng, 50_000, classes, sure))[2])
    found = np.array([ends(*drawn(rng, 200, classes, sure)) for _ in range(40)])
    held = (found[:, :, 0] <= np.array(true)) & (np.array(true) <= found[:, :, 1])
    assert held.sum(axis=0).min() >= 34


def test_the_figures_are_those_of_the_scores():
    p, codes = drawn(np.random.default_rng(0), 300, 3, 2)
    kept, (error, reliability, resolution) = out_of_fold(p, codes), parts(p, codes)
    assert kept.gaps.share @ np.abs(kept.gaps.gap) == pytest.approx(3 * error, rel=1e-12)
    assert kept.gaps.share @ kept.gaps.gap**2 == pytest.approx(reliability, rel=1e-12)
    assert kept.apart.share @ kept.apart.gap**2 == pytest.approx(resolution, rel=1e-12)


def test_cells_of_two_classes_hang_together_as_numpy_finds():
    p, codes = drawn(np.random.default_rng(1), 400, 3, 1)
    found = out_of_fold(p, codes).gaps
    place = width_bins(p) + BINS * np.arange(3)
    used = np.unique(place)
    residual = (codes[:, None] == np.arange(3)) - p
    each = np.zeros((400, 3 * BINS))
    np.put_along_axis(each, place, residual, axis=1)
    there = np.zeros((400, 3 * BINS))
    np.put_along_axis(there, place, 1.0, axis=1)
    apart = (each - there * (each.sum(axis=0) / np.maximum(there.sum(axis=0), 1)))[:, used]
    assert found.both == pytest.approx((there.T @ there / 400)[np.ix_(used, used)], abs=1e-12)
    deviation = apart.std(axis=0)
    seen = deviation > 1e-9
    mine = found.within[np.ix_(seen, seen)]
    scale = np.sqrt(np.diagonal(mine))
    want = (apart.T @ apart / 400)[np.ix_(seen, seen)] / np.outer(deviation[seen], deviation[seen])
    assert mine / np.outer(scale, scale) == pytest.approx(want, abs=1e-9)


def test_one_cell_is_as_a_proportion():
    """Of 70 in 100 rows told 0.5: Wilson's interval is 0.604 to 0.781, so the gap 0.104 to 0.281."""
    said = np.full((100, 1), 0.5)
    found = Gaps.of(said, said, np.arange(100)[:, None] < 70, np.ones(100))
    low, high = found.absolute_ends()
    assert (low, high) == pytest.approx((0.104, 0.281), abs=0.015)
    assert np.sqrt(found.square_ends()) == pytest.approx((0.104, 0.281), abs=0.015)


def test_heavy_rows_are_no_more_rows_and_classes_have_no_order():
    p, codes = drawn(np.random.default_rng(2), 200, 3, 2)
    plain, heavy = out_of_fold(p, codes), out_of_fold(p, codes, np.full(200, 1e4))
    turned = out_of_fold(p[:, ::-1], 2 - codes)
    for of in ("gaps", "apart"):
        want = getattr(plain, of).square_ends()
        assert getattr(heavy, of).square_ends() == pytest.approx(want, rel=1e-6)
        assert getattr(turned, of).square_ends() == pytest.approx(want, rel=1e-6)
    assert heavy.gaps.absolute_ends() == pytest.approx(plain.gaps.absolute_ends(), rel=1e-6)


def test_rows_in_several_batches_are_as_in_one(monkeypatch):
    p, codes = drawn(np.random.default_rng(6), 300, 3, 2)
    one = out_of_fold(p, codes).gaps
    monkeypatch.setattr(gaps, "BATCH", 70)
    several = out_of_fold(p, codes).gaps
    for of in ("share", "gap", "within", "both"):
        assert getattr(several, of) == pytest.approx(getattr(one, of), abs=1e-15)


@pytest.mark.parametrize(("share", "rows"), [(0.3, 100), (0.5, 80), (0.04, 500)])
def test_uncertainty_of_two_classes_is_as_wilsons_interval(share, rows):
    wilsons = wilson(share, rows)
    points = np.linspace(wilsons.low, wilsons.high, 1001)
    want = (2 * points * (1 - points)).min(), (2 * points * (1 - points)).max()
    assert uncertainty_ends(np.array([share, 1 - share]), rows) == pytest.approx(want, rel=0.13)


@pytest.mark.parametrize("share", [(0.5, 0.5), (1 / 3, 1 / 3, 1 / 3), (0.46, 0.46, 0.08)])
def test_uncertainty_is_held(share):
    rng, share = np.random.default_rng(4), np.array(share)
    found = [uncertainty_ends(rng.multinomial(100, share) / 100, 100.0) for _ in range(100)]
    true = 1 - (share**2).sum()
    assert sum(low - 1e-9 <= true <= high + 1e-9 for low, high in found) >= stats.binom.ppf(0.005, 100, 0.95)


def test_the_smooth_error_of_a_shift_is_found():
    """Told 0.5 to 0.7, a tenth less than comes true: no cell edge and no kernel changes that."""
    rng = np.random.default_rng(5)
    said = rng.uniform(0.5, 0.7, 2000)
    low, high = smooth_ends(said, rng.random(2000) < said + 0.1, np.ones(2000), 1.0)
    assert 0.06 < low < 0.1 < high < 0.14
    low, high = smooth_ends(said, rng.random(2000) < said, np.ones(2000), 1.0)
    assert low < 0.01 < high < 0.05


def test_every_calibration_error_by_fixed_cells_has_an_interval():
    found = bk.evaluate(bk.NaiveBayes(), IRIS, KIND)
    for name in NAMES:
        interval = found.interval(name)
        assert 0 <= interval.low < interval.high <= 1, name
    table = found.frame("pandas", of="brier").set_index("part")
    assert table.low["uncertainty"] < table.high["uncertainty"] == pytest.approx(2 / 3)
    assert table.low["resolution"] <= table.value["resolution"] <= table.high["resolution"]
    assert np.isnan(table.low["within cells"])
    assert np.isnan(found.interval("ece_mass").low)  # its cells are not those of other rows


def test_where_there_is_none_it_says_why():
    grouped = bk.evaluate(bk.NaiveBayes(), IRIS, KIND, groups=np.arange(150) // 3)
    many = np.arange(2 * MOST_CLASSES + 4)
    many = bk.evaluate(bk.NaiveBayes(), many[:, None] * 1.0, many // 2, bk.CrossValidation(many % 2))
    for name in ("ece_classwise", "brier_reliability", "brier_resolution"):
        assert "groups" in grouped.interval(name).how
        assert f"more than {MOST_CLASSES} classes" in many.interval(name).how
    assert np.isfinite(many.interval("ece").low)


def test_groups_are_not_compared_by_what_chance_adds_to():
    """Of a calibrated model the smaller group has the larger figure."""
    found = bk.evaluate(bk.NaiveBayes(), IRIS, KIND, by={"part": np.arange(150) % 3 > 0})
    test = next(iter(found.groups.differences("part", "ece_classwise").values()))
    assert np.isnan(test.p)
    assert "chance" in test.how
