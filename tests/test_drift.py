"""Drift: tests against SciPy, margins of every model against its rows, false alarms and power."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import bayeskit as bk
from bayeskit.cli.example import clinic
from bayeskit.decision.shift import prior_shift
from bayeskit.errors import InputError, KindError
from bayeskit.evaluation.column_counts import known_columns
from bayeskit.numerics.two_samples import (
    binomial_test,
    holm,
    homogeneity,
    mean_test,
    merge_neighbours,
    normal_index,
    proportions,
    spread_test,
    stability_index,
)

OLD, NEW = clinic(1500, 1), clinic(700, 3)
MODELS: dict[str, Any] = {
    "naive": bk.NaiveBayes(),
    "level": bk.NaiveBayes(missing="level"),
    "auto families": bk.NaiveBayes(families="auto"),
    "views": bk.NaiveBayes(families={"pulse": "LogNormal", "temperature": "Kernel", "age": "Histogram"}),
    "full": bk.FullBayes(),
    "available": bk.FullBayes(missing="available"),
    "tan": bk.TAN(),
    "exact": bk.TAN(exact=True),
    "kdb": bk.KDB(),
    "aode": bk.AODE(),
    "knn": bk.KNNBayes(metric="gower"),
    "pool": bk.AutoBayes(max_candidates=3),
    "calibrated": bk.Calibrated(bk.NaiveBayes()),
}


@pytest.fixture(scope="module", params=list(MODELS))
def model(request: Any) -> Any:
    return MODELS[request.param].fit(OLD, "diagnosis")


def test_what_a_model_knows_of_a_column_is_what_its_rows_had(model: Any) -> None:
    rows = OLD.to_pandas()
    for known in known_columns(model.table_reader()):
        x, counts = rows[known.name], known.counts
        assert counts.rows == pytest.approx(len(rows))
        assert counts.there == pytest.approx(x.notna().sum())
        if known.levels is not None:
            told = dict(zip(known.levels.values, counts.levels, strict=True))
            assert {k: v for k, v in told.items() if v} == x.dropna().value_counts().to_dict()
        elif known.borders is not None:
            edges = np.concatenate([[-np.inf], known.borders, [np.inf]])
            there = x.dropna().to_numpy(dtype=float)
            held = [((there > low) & (there <= high)).sum() for low, high in pairwise(edges)]
            np.testing.assert_allclose(counts.cells, held)
            assert max(held) < 0.35 * len(there)  # divided about evenly
        else:
            (sums,) = known.sums
            seen = np.log(x.dropna()) if sums.view.function == "log x" else x.dropna()
            assert (sums.mean, sums.deviation) == pytest.approx((seen.mean(), seen.std(ddof=0)), rel=1e-12)


def test_a_column_that_moves_is_marked_and_no_other(model: Any) -> None:
    table = NEW.to_pandas()
    table["temperature"] += 0.8
    table.loc[:199, "cough"] = "whooping"
    table.loc[:199, "pulse"] = np.nan
    found = bk.drift(model, table)
    by_name = {c.name: c for c in found.columns}
    assert bool(found)
    assert {c.name for c in found.moved} == {"temperature", "cough"}
    assert by_name["temperature"].strength in ("moderate", "large")
    assert by_name["cough"].unseen_levels == ("whooping",)
    assert by_name["cough"].unseen == pytest.approx((table.cough == "whooping").sum() / table.cough.notna().sum())
    assert [c.name for c in found.columns if c.missing_moved] == ["pulse"]
    assert by_name["pulse"].missing_now == pytest.approx(table.pulse.isna().mean())
    assert "whooping" in str(found)
    assert "<table" in found._repr_html_()
    assert found.frame("pandas").shape[0] == 5
    assert found.classes is not None
    assert found.data["columns"][0]["moved"]


def test_rows_of_the_same_kind_are_not(model: Any) -> None:
    found = bk.drift(model, NEW)
    assert not found
    assert found.accuracy is not None
    assert found.accuracy.as_is == pytest.approx(0.9, abs=0.05)
    said = model.predict_proba(NEW.drop_columns(["diagnosis"]))
    assert found.accuracy.believed == pytest.approx(said.max(axis=1).mean())


def test_false_alarms_are_as_rare_as_is_said() -> None:
    rng, alarms, tables = np.random.default_rng(5), 0, 120

    def table(rows: int) -> dict[str, Any]:
        return {
            "normal": rng.normal(size=rows),
            "skew": rng.lognormal(size=rows),
            "heavy": rng.standard_t(3, rows),
            "town": rng.choice(list("abc"), rows),
            "rare": [f"level {min(level, 60)}" for level in rng.zipf(1.6, rows)],
            "id": [str(word) for word in rng.integers(0, 1 << 40, rows)],
            "holes": np.where(rng.random(rows) < 0.03, np.nan, rng.normal(size=rows)),
        }

    for _ in range(tables):
        old, new = rng.choice([60, 400], 2)
        model = bk.NaiveBayes(families={"skew": "Kernel"}).fit(table(old), rng.integers(0, 2, old))
        alarms += bool(bk.drift(model, table(new)))
    assert alarms <= stats.binom.ppf(0.999, tables, 0.05)


@pytest.mark.parametrize("rows", [(5000, 200), (200, 5000), (400, 60)])
def test_means_of_skewed_values_are_told_apart_no_more_often_than_is_said(rows: tuple[int, int]) -> None:
    rng, draws = np.random.default_rng(11), 2000
    x, y = (rng.lognormal(size=(draws, n)) for n in rows)
    skewness = stats.skew(y, axis=1)
    shift, variances = y.mean(axis=1) - x.mean(axis=1), (x.var(axis=1), y.var(axis=1))
    each = zip(shift.tolist(), variances[0].tolist(), variances[1].tolist(), skewness.tolist(), strict=True)
    found = np.array([mean_test(d, (a, b), (float(rows[0]), float(rows[1])), g) for d, a, b, g in each])
    for level in (0.05, 0.01, 0.001):
        assert (found <= level).sum() <= stats.binom.ppf(0.999, draws, level)


@pytest.mark.parametrize("rows", [(50, 50), (50, 400), (200, 50), (400, 400)])
def test_cells_that_old_rows_divide_are_told_apart_no_more_often_than_is_said(rows: tuple[int, int]) -> None:
    """Ten cells between values of the first sample, as a model that counts cells has them."""
    rng, draws, (n, m) = np.random.default_rng(12), 2000, rows
    last = np.ceil(np.arange(1, 10) * n / 10).astype(int) - 1
    old = np.diff(last, prepend=-1, append=n - 1).astype(float)
    borders = np.sort(rng.random((draws, n)), axis=1)[:, last]
    places = (np.searchsorted(b, y) for b, y in zip(borders, rng.random((draws, m)), strict=True))
    new = [np.bincount(place, minlength=10).astype(float) for place in places]
    found = np.array([homogeneity(*merge_neighbours(old, counts)) for counts in new])
    for level in (0.05, 0.01, 0.001):
        assert (found <= level).sum() <= stats.binom.ppf(0.999, draws, 1.3 * level)


def test_the_tests_are_those_of_scipy() -> None:
    old, new = np.array([30.0, 50, 20]), np.array([25.0, 15, 20])
    assert homogeneity(old, new) == pytest.approx(stats.chi2_contingency([old, new], correction=False)[1], rel=1e-12)
    assert proportions(10, 40, 100, 150) == pytest.approx(
        stats.chi2_contingency([[10, 90], [40, 110]], correction=False)[1], rel=1e-12
    )
    tails = stats.binom(5, 0.1)
    assert binomial_test(1.0, 4.0, 900.0, 100.0) == pytest.approx(2 * tails.sf(3), rel=1e-12)
    x, y = np.random.default_rng(0).normal(size=(2, 40))
    told = mean_test(float(y.mean() - x.mean()), (float(x.var()), float(y.var())), (40.0, 40.0))
    assert told == pytest.approx(stats.ttest_ind(x, y).pvalue, rel=1e-10)
    for shift in (-0.2, 0.1, 0.4, 0.9):  # of skewed values a gamma distribution, at least
        skew = 5 * (1 / 60**2 - 1 / 900**2) / (1 / 60 + 1 / 900) ** 1.5
        z = shift / np.sqrt(960 / 958 * (1 / 60 + 1 / 900))
        gamma, student = stats.pearson3(skew), 2 * stats.t(958).sf(abs(z))
        wanted = max(student, 2 * min(gamma.cdf(z), gamma.sf(z)))
        assert mean_test(shift, (1.0, 1.0), (900.0, 60.0), 5.0) == pytest.approx(wanted, rel=1e-9)
    assert holm(np.array([0.04, 0.01, 0.03])).tolist() == pytest.approx([0.06, 0.03, 0.06])
    assert homogeneity(np.array([5000.0, 0]), np.array([95.0, 5])) < 1e-6  # a level that is new
    assert np.isnan(homogeneity(np.array([50.0]), np.array([30.0])))
    assert spread_test((1.0, 4.0), (500.0, 500.0), 48.0, 3.0) < 1e-6
    grid = np.linspace(-12, 14, 200_001)
    p, q = stats.norm.pdf(grid), stats.norm.pdf(grid, 0.5, 1.5)
    assert normal_index(0.5, 1.5) == pytest.approx(np.trapezoid((p - q) * np.log(p / q), grid), rel=1e-6)
    shares = np.array([0.2, 0.8]), np.array([0.3, 0.7])
    index = sum((b - a) * np.log(b / a) for a, b in zip(*shares, strict=True))
    assert stability_index(shares[0] * 1e9, shares[1] * 1e9) == pytest.approx(index, rel=1e-6)


@pytest.mark.parametrize("name", ["naive", "auto families", "tan", "full", "exact"])
def test_another_model_says_what_its_rows_say(name: str) -> None:
    one, other = (MODELS[name].fit(rows, "diagnosis") for rows in (OLD, OLD))
    two = type(other)(**other.get_params()).fit(NEW, "diagnosis")
    by_rows = {c.name: c for c in bk.drift(one, NEW).columns}
    found = bk.drift(one, two)
    assert found.classes is None
    for column in found.columns:
        assert column.missing_now == pytest.approx(by_rows[column.name].missing_now)
        if column.measure == "mean difference" or column.kind in ("nominal", "binary"):
            assert column.size == pytest.approx(by_rows[column.name].size, rel=1e-6)
            assert column.psi == pytest.approx(by_rows[column.name].psi, rel=1e-6)


def test_weights_count_by_the_rows_they_are_worth() -> None:
    model, rows = bk.NaiveBayes().fit(OLD, "diagnosis"), NEW.drop_columns(["diagnosis"])
    plain = bk.drift(model, rows)
    twice = bk.drift(model, rows, sample_weight=np.full(rows.num_rows, 2.0))
    assert twice.rows_now == pytest.approx(plain.rows_now)
    assert [c.p for c in twice.columns] == pytest.approx([c.p for c in plain.columns], nan_ok=True)
    half = np.where(np.arange(rows.num_rows) < 350, 1.0, 0.0)
    some = bk.drift(model, rows, sample_weight=half)
    only = bk.drift(model, rows.slice(0, 350))
    assert [c.psi for c in some.columns] == pytest.approx([c.psi for c in only.columns])
    np.testing.assert_allclose(some.classes.new, only.classes.new, atol=1e-6)
    assert bk.drift(model, rows, effective_rows=150).rows_before == pytest.approx(150)


def test_a_prior_shift_of_weighted_rows_is_that_of_repeated_ones() -> None:
    posterior = np.random.default_rng(0).dirichlet([1, 1, 1], 50)
    weight = np.random.default_rng(1).integers(0, 4, 50)
    classes, old = np.arange(3), np.log([0.2, 0.3, 0.5])
    one = prior_shift(classes, np.log(posterior), old, weight.astype(float))
    other = prior_shift(classes, np.log(np.repeat(posterior, weight, axis=0)), old)
    np.testing.assert_allclose(one.new, other.new, atol=1e-9)
    assert one.gain == pytest.approx(other.gain)


def test_what_cannot_be_compared_is_told(tmp_path: Any) -> None:
    model = bk.NaiveBayes().fit(OLD, "diagnosis")
    with pytest.raises(InputError, match="level=2: give a chance between 0 and 1"):
        bk.drift(model, NEW, level=2)
    with pytest.raises(InputError, match="at most the 1,500 rows"):
        bk.drift(model, NEW, effective_rows=10_000)
    with pytest.raises(InputError, match="belongs to rows"):
        bk.drift(model, model, sample_weight=[1.0])
    with pytest.raises(KindError, match="keeps no counts"):
        bk.drift(object(), NEW)
    with pytest.raises(InputError, match="all weights of the new rows are zero"):
        bk.drift(model, NEW, sample_weight=np.zeros(NEW.num_rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = bk.NaiveBayes(families="Multinomial").fit(np.eye(4), [0, 0, 1, 1])
    found = bk.drift(text, np.eye(4))
    assert not found
    assert any("not compared" in note for note in found.notes)
    pool = bk.drift(MODELS["pool"].fit(OLD, "diagnosis"), NEW)
    assert pool.evidence is None
    assert any("no evidence" in note for note in pool.notes)


def test_the_page_holds_the_figures(tmp_path: Any) -> None:
    moved = NEW.set_column(NEW.column_names.index("cough"), "cough", pa.array(["<b>"] * NEW.num_rows))
    found = bk.drift(bk.NaiveBayes().fit(OLD, "diagnosis"), moved)
    page = bk.report(found, tmp_path / "drift.html").read_text()
    assert found.verdict in page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page.split("<main")[1]
    assert all(name in page for name in ("Columns", "Levels never seen", "Missing values", "Classes", "Evidence"))
