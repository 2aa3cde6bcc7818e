"""What families predict from the cells of a column is what their densities say with one row of the cell left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

import bayeskit as bk
from bayeskit import _core
from bayeskit.data.block import Block, Columns
from bayeskit.data.schema import Column, Schema
from bayeskit.densities.likelihood import Context
from bayeskit.families import Kernel, families
from bayeskit.families.kernel import KernelDensity, Kernels
from bayeskit.statistics.bins import FINEST, BinnedColumn, Bins
from bayeskit.structures.family_fit import LooFamilyScores, OnSteps
from bayeskit.structures.wrapped import BackedOff

ROWS = 240
ALMOST = 2e-8  # logarithms of numbers a million deviations from zero have so many digits
LABEL = np.arange(ROWS) % 3
RNG = np.random.default_rng(8)
COLUMNS = {
    "normal": RNG.normal(LABEL, 1.0),
    "far from zero": 1e6 + RNG.normal(LABEL, 1.0),
    "positive": RNG.gamma(1.5 + LABEL, 2.0),
    "rounded": RNG.gamma(1.5 + LABEL, 2.0).round(1) + 0.1,
    "counts": RNG.poisson(4 + LABEL).astype(float),
    "wide counts": RNG.negative_binomial(1.5, 0.05 + 0.02 * LABEL).astype(float),
    "many zeros": np.where(RNG.random(ROWS) < 0.4, 0.0, RNG.lognormal(LABEL, 1.0)),
    "zeros and ones": (RNG.random(ROWS) < 0.2 + 0.2 * LABEL).astype(float),
    "two values": np.where(RNG.random(ROWS) < 0.3, -2.5, 0.7),
}
CASES = [
    pytest.param(family(), x, id=f"{name}, {column}")
    for name, family in families().items()
    if getattr(family(), "recipe", None) is not None
    for column, x in COLUMNS.items()
    if getattr(family(), "support", None) is None or family().support.inside(x).all()
]


def block_of(x: np.ndarray, group: np.ndarray, weight: np.ndarray) -> Block:
    schema = Schema((Column("v", "quantitative", "double", "a test"),))
    codes = np.empty((0, len(x)), dtype=np.int32)
    return Block(schema, Columns((x,), len(x)), codes, group.astype(np.int32), weight)


def per_step(family: Any, x: np.ndarray, step: float) -> np.ndarray:
    """What makes a density a probability of a recording step; those of counts and of a point mass are such."""
    of_step = 0.0 if family.recipe.integer else np.log(step)
    return np.where((x == 0) & getattr(family, "point_mass", False), 0.0, of_step)


def holding(density: Any) -> Any:
    """With bandwidths held, as the core scores kernels."""
    return replace(density, hold=True) if isinstance(density, KernelDensity) else density


def log_sums(family: Any, column: Any, density: Any) -> np.ndarray:
    """log of the sum of a density over all steps around the values, by class; 0 where it is no more than one."""
    low, step = column.edges[0], column.step
    steps = (column.edges - low) / step
    if family.recipe.integer or not np.allclose(steps, steps.round(), rtol=0, atol=1e-6) or steps[-1] > 256:
        return np.zeros(1)
    beyond = max(round(steps[-1]), 8)
    points = low + step * np.arange(-beyond, round(steps[-1]) + beyond + 1)
    points = np.where(np.abs(points) < 1e-6 * step, 0.0, points)
    inside = points if getattr(family, "support", None) is None else points[family.support.inside(points)]
    terms = density.terms(block_of(inside, np.zeros(len(inside)), np.ones(len(inside))))[:, 0]
    return np.maximum(logsumexp(terms + per_step(family, inside, step)[:, None], axis=0), 0.0)


@pytest.mark.parametrize(("family", "x"), CASES)
def test_scores_are_those_of_densities_that_leave_rows_out(family: Any, x: np.ndarray) -> None:
    one = np.ones(ROWS)
    rows = block_of(x, LABEL, one)
    bins = Bins.empty(["v"], 3).update(rows)
    column = bins.column(0)
    told = LooFamilyScores.of(bins, [family])
    if not told.allowed[0, 0]:
        return  # too few zeros for a mass of their own
    (shared, most), (by_class, largest) = told.scores[0, 0]
    if np.isnan(shared):
        pytest.skip("left to the density itself")
    weights = np.bincount(LABEL).astype(float)
    density = holding(family.fit(family.statistic(rows.schema.columns, 3).update(rows), Context(weights)))
    every = np.arange(ROWS)
    alone = replace(rows, groups=np.zeros(ROWS, dtype=np.int32))
    every_class = Context(weights.sum(keepdims=True))
    pooled = holding(family.fit(family.statistic(rows.schema.columns, 1).update(alone), every_class))
    wanted = pooled.left_out.terms(alone)[:, 0, 0]
    excess, narrow = (log_sums(family, column, each) for each in (density, pooled))
    backed = BackedOff(OnSteps(density, excess), weights[None]).left_out.terms(rows)[every, 0, LABEL]
    more = per_step(family, x, column.step)
    close = 1e-6 if isinstance(family, Kernel) and excess.any() else 1e-9  # a kernel density away from its cells
    assert shared == pytest.approx((wanted + more - narrow).sum(), rel=close)
    assert by_class == pytest.approx((backed + more).sum(), rel=close)
    assert largest == pytest.approx((backed + more).max() + excess.max(), rel=close, abs=10 * ALMOST)
    assert most == pytest.approx((wanted + more).max(), rel=close, abs=10 * ALMOST)


ODD = {
    "a class without values": np.where(LABEL == 1, np.nan, COLUMNS["positive"]),
    "one class with values": np.where(LABEL == 1, COLUMNS["positive"], np.nan),
    "one value": np.full(ROWS, 2.5),
    "no value": np.full(ROWS, np.nan),
    "one row apart": np.where(np.arange(ROWS) == 7, 1.0, 0.0),
    "beyond 1e100": COLUMNS["normal"] * 1e150,
    "below 1e-100": COLUMNS["positive"] * 1e-150,
    "rounded to 1e120": COLUMNS["rounded"].round(1) * 1e121,
}


@pytest.mark.parametrize("x", ODD.values(), ids=list(ODD))
def test_odd_columns_are_told_as_densities_say(x: np.ndarray) -> None:
    (trial,) = bk.NaiveBayes(families="auto").fit(x[:, None], LABEL).model_.density.trials
    assert trial.loo_scores.enough, "no density was needed"
    slow = replace(trial, loo_scores=None)  # every density fitted, and asked with a row left out
    known = {repr(tried.family): tried for tried in slow.scores}
    for family, score, gain in trial.scores:
        close = 1e-6 if isinstance(family, Kernel) else 1e-9  # its densities away from cells come from a table
        assert score == pytest.approx(known[repr(family)].score, rel=close, abs=1e-9)
        assert gain == pytest.approx(known[repr(family)].gain, rel=close, abs=close * max(1.0, abs(score)))


def test_kernels_on_whole_numbers_are_compared_as_probabilities() -> None:
    """Kernels half a step wide sum to 1.0144 over whole numbers: each class is divided by its sum, found by SciPy."""
    x = COLUMNS["counts"]
    rows = block_of(x, LABEL, np.ones(ROWS))
    bins = Bins.empty(["v"], 3).update(rows)
    (told,) = LooFamilyScores.of(bins, [Kernel()]).by_column(bins.steps)
    found = told.of(0)
    made = Kernels.of(bins.column(0), "silverman")
    assert found is not None
    assert made is not None
    width = np.ldexp([*made.bandwidth, made.common], -made.shift)
    points = np.arange(-60.0, 90.0)

    def probability(of: np.ndarray, h: float, at: float) -> float:
        """Of a whole number, under kernels on other values; their sum is that of all values."""
        return float(norm.pdf(at, of, h).mean() / norm.pdf(points[:, None], x[:1], h).sum())

    pooled = by_class = 0.0
    for i in range(ROWS):
        keep = np.arange(ROWS) != i
        pooled += np.log(probability(x[keep], width[3], x[i]))
        each = [probability(x[keep & (k == LABEL)], width[k], x[i]) for k in range(3)]
        size = np.bincount(LABEL[keep])
        mine = size[LABEL[i]]
        by_class += np.log((mine * each[LABEL[i]] + size @ each / size.sum()) / (mine + 1))
    assert norm.pdf(points, 3.0, 0.5).sum() == pytest.approx(1.0144, abs=1e-4)
    assert found == pytest.approx((pooled, by_class), rel=1e-9)


def test_a_column_of_one_value_says_so() -> None:
    schema = bk.NaiveBayes(families="auto").fit(np.column_stack([ODD["one value"], ODD["no value"]]), LABEL).schema_
    assert [c.why_family for c in schema.columns] == [
        "the first that fits: the column has one value",
        "the column has no value",
    ]


def test_most_columns_need_no_density() -> None:
    bins = Bins.empty(["v"], 3).update(block_of(COLUMNS["positive"], LABEL, np.ones(ROWS)))
    every = {name: family() for name, family in families().items()}
    told = np.isfinite(LooFamilyScores.of(bins, list(every.values())).scores[0]).all(axis=(1, 2))
    found = {name for name, known in zip(every, told, strict=True) if known}
    assert found >= {"Gaussian", "LogNormal", "Exponential", "Gamma", "Histogram", "Kernel"}


@pytest.mark.parametrize("clone", _core.clones())
def test_every_clone_gives_the_same_scores(clone: str) -> None:
    """Of a column of single values, and of one so long that its cells lie on a grid."""
    rng, chosen = np.random.default_rng(11), _core.clone()
    label = np.arange(6000) % 3
    bins = Bins.empty(["v"], 3)
    short = bins.update(block_of(COLUMNS["positive"], LABEL, np.ones(ROWS)))
    long = bins.update(block_of(rng.gamma(2.0 + label, 1.0), label, np.ones(6000)))
    every = [family() for family in families().values()]
    wanted = [LooFamilyScores.of(column, every).scores for column in (short, long)]
    try:
        _core.use_clone(clone)
        found = [LooFamilyScores.of(column, every).scores for column in (short, long)]
    finally:
        _core.use_clone(chosen)
    for a, b in zip(wanted, found, strict=True):
        assert np.array_equal(a, b, equal_nan=True)


@pytest.mark.parametrize("size", [500, 6000], ids=["single values", "a grid"])
def test_kernel_scores_are_those_of_scipy(size: int) -> None:
    """Of single values, and of so many that their cells lie on a grid; the outermost cells are far from all others."""
    rng = np.random.default_rng(5)
    label = np.append(np.arange(size) % 3, [0, 1])
    x = np.append(rng.gamma(2.0 + label[:-2], 1.0), [60.0, 61.0])
    bins = Bins.empty(["v"], 3).update(block_of(x, label, np.ones(len(x))))
    column = bins.column(0)
    column = column if column.distinct else BinnedColumn(column.name, FINEST, column.centres, column.cells)
    assert np.ptp(column.edges) > 256 * column.step, "no sum over all steps"
    made = Kernels.of(column, "silverman")
    assert made is not None
    width = np.ldexp([*made.bandwidth, made.common], -made.shift)
    groups = np.vstack([column.weights, column.pooled])
    heights = norm.logpdf(column.edges[:, None], column.edges, width[:, None, None])
    here = np.eye(len(column.edges))
    left = [np.maximum(w - here, 0) / (w.sum() - 1) for w in groups]
    own = logsumexp(heights, b=left, axis=2)
    others = logsumexp(heights[:3], b=[np.tile(w / w.sum(), (len(w), 1)) for w in groups[:3]], axis=2)
    shared = (column.pooled * own[3]).sum()
    sizes, by_class = column.weights.sum(axis=1), 0.0
    for k, w in enumerate(column.weights):
        rest = sizes - (np.arange(3) == k)
        terms = np.where(np.arange(3)[:, None] == k, own[:3], others)
        everyone = logsumexp(terms, b=(rest / rest.sum())[:, None], axis=0)
        mine = np.logaddexp(np.log(rest[k]) + own[k], everyone) - np.log(rest[k] + 1)
        by_class += w[w > 0] @ mine[w > 0]
    found = LooFamilyScores.of(bins, [Kernel()]).scores[0, 0, :, 0]
    assert found == pytest.approx(np.array([shared, by_class]) + np.log(column.step) * len(x), rel=1e-10)


def test_parts_of_a_histogram_are_counted_by_cubes() -> None:
    """Twice the cube root, where libraries differ in the last digit of a cube root."""
    assert [_core.histogram_bins(float(k**3)) for k in range(1, 129)] == [2 * k for k in range(1, 129)]
    assert [_core.histogram_bins(float(k**3 + 1)) for k in range(1, 120)] == [2 * k + 1 for k in range(1, 120)]
    assert _core.histogram_bins(1e300) == 256
