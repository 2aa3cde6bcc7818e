"""Numbers as they are recorded: explanations propose values that a column can have, with the digits it has."""

import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import bayeskit as bk

MODELS = [
    bk.NaiveBayes(),
    bk.NaiveBayes(families="auto"),
    bk.NaiveBayes(families="Kernel", weights="fitted"),
    bk.FullBayes(),
    bk.KNNBayes(k=5),
    bk.TAN(),
    bk.KDB(k=1, exact=True),
    bk.AODE(),
    bk.AJE(),
    bk.AutoBayes(max_candidates=3),
    bk.Calibrated(bk.NaiveBayes()),
    bk.RiskClassifier(bk.NaiveBayes(), {"ill": {"ill": 0, "well": 5}, "well": {"ill": 1, "well": 0}}),
]


def patients(n: int = 150, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Vessels are whole numbers and some are missing, so that pandas has floats; doses have one decimal."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["ill", "well"], n)
    ill = y == "ill"
    vessels = np.where(rng.random(n) < 0.1, np.nan, rng.binomial(3, np.where(ill, 0.6, 0.2)))
    dose = np.round(rng.gamma(np.where(ill, 3.0, 2.0)), 1)
    level = rng.normal(np.where(ill, 1.0, 0.0), 1.0)
    cholesterol = np.rint(rng.normal(np.where(ill, 260, 220), 60)).clip(80) * 10
    return pd.DataFrame({"vessels": vessels, "dose": dose, "level": level, "cholesterol": cholesterol}), y


def decimals(value: float) -> int:
    return max(0, -Decimal(repr(value)).normalize().as_tuple().exponent)


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("columns", [1, 2])
def test_proposals_are_values_that_a_column_can_have(model: Any, columns: int) -> None:
    X, y = patients()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    rows = X.iloc[:6]
    found = model.counterfactual(rows, columns=columns)
    tried = [(i, f) for i, row in enumerate(found.rows) for f in row]
    assert tried
    changed = pd.concat([rows.iloc[[i]] for i, _ in tried], ignore_index=True)
    for i, (_, flip) in enumerate(tried):
        pair = [(flip.column, flip.becomes)]
        if isinstance(flip.column, tuple):
            pair = list(zip(flip.column, flip.becomes, strict=True))
        for name, value in pair:
            changed.loc[i, name] = np.nan if value is None else value
            if value is not None and name != "level":
                assert decimals(float(value)) <= (name == "dose")
            elif value is not None and not isinstance(model, bk.KNNBayes | bk.KDB):  # which try values of their rows
                assert decimals(float(value)) <= 6
    decided = model.predict(changed)
    assert decided.tolist() == [flip.after for _, flip in tried]


def test_the_nearest_recorded_value_flips_and_the_one_before_does_not() -> None:
    X, y = patients()
    model = bk.NaiveBayes().fit(X, y)
    for row, flips in zip(range(6), model.counterfactual(X.iloc[:6]).rows, strict=True):
        for flip in flips:
            if flip.becomes is not None and flip.column != "level" and flip.value is not None:
                step = 0.1 if flip.column == "dose" else 1.0
                before = X.iloc[[row]].copy()
                before[flip.column] = np.round(flip.becomes - step * np.sign(flip.becomes - flip.value), 1)
                assert model.predict(before)[0] == flip.before


def test_a_printed_table_says_numbers_as_short_as_they_are() -> None:
    X, y = patients()
    text = str(bk.NaiveBayes().fit(X, y).counterfactual(X.iloc[:6]))
    assert max(len(word.lstrip("-")) for word in text.split() if word.replace(".", "").lstrip("-").isdigit()) <= 8


def test_a_nomogram_has_the_values_that_a_column_can_have() -> None:
    X, y = patients()
    chart = bk.NaiveBayes().fit(X, y).nomogram("ill", "well")
    scales = {scale.name: scale for scale in chart.scales}
    assert scales["vessels"].values == (0.0, 1.0, 2.0, 3.0)
    assert not scales["vessels"].joined
    assert all(decimals(v) <= 1 for v in scales["dose"].values)
    assert all(decimals(v) <= 4 for v in scales["level"].values)
    assert scales["level"].joined
    rows = pd.DataFrame({name: [scale.values[len(scale.values) // 2]] for name, scale in scales.items()})
    expected = [scale.points[len(scale.points) // 2] for scale in chart.scales]
    np.testing.assert_allclose(chart.points(rows)[0], expected, atol=1e-9)


def test_ticks_of_whole_numbers_are_whole() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    from bayeskit.plots.nomogram import number_ticks

    ticks = number_ticks([0.0, 1.0, 2.0, 3.0], np.array([0.0, 20.0, 50.0, 90.0]), False)
    assert [text for _, text in ticks] == [*"0123"]


# -- what was recorded ---------------------------------------------------------------------------


def written(model: Any) -> list[float]:
    return model.model_.counted.ranges.decimals.tolist()


@pytest.mark.parametrize(
    ("values", "places"),
    [
        ([1.0, 2.0, np.nan], 0),
        ([1.5, 2.0], 1),
        ([0.07, 1e6], 2),
        ([1e300, 3.0], 0),
        ([1e17, 0.5], 1),
        ([1e300, 0.25, 1e308], 2),
        ([5e-324, 1e308], np.inf),
        ([0.1 + 0.2, 1.0], np.inf),
        ([np.pi, 1.0], np.inf),
        ([-0.0, 0.0], 0),
        ([1e-12, 1.0], 12),
        ([1e-13, 1.0], np.inf),
        ([np.nan, np.nan], -np.inf),
    ],
)
def test_decimals_are_those_of_the_shortest_decimal_numbers(values: list[float], places: float) -> None:
    rows = pd.DataFrame({"x": values * 40, "z": np.arange(len(values) * 40) % 7 * 1.0})
    y = np.arange(len(rows)) % 2
    assert written(bk.NaiveBayes().fit(rows, y))[0] == places
    assert written(bk.NaiveBayes().fit(rows[["x", "z"]].to_numpy(), y))[0] == places
    if not np.isnan(values).any():
        assert written(bk.NaiveBayes().fit(sparse.csr_array(rows.to_numpy()), y))[0] == places


def test_decimals_are_the_same_in_any_split_and_come_back_from_a_file(tmp_path: Path) -> None:
    X, y = patients()
    whole = bk.NaiveBayes().fit(X, y)
    parts = bk.NaiveBayes().fit(X[:50], y[:50])
    parts.partial_fit(X[50:], y[50:])
    assert written(whole) == written(parts) == [0, 1, np.inf, 0]
    assert written(bk.NaiveBayes().fit(X[:50], y[:50]).merge(bk.NaiveBayes().fit(X[50:], y[50:]))) == written(whole)
    whole.save(tmp_path / "model.bayes")
    assert written(bk.load(tmp_path / "model.bayes")) == written(whole)


def test_no_trace_of_forgotten_decimals_stays() -> None:
    X, y = patients()
    odd = pd.DataFrame({"vessels": [0.25], "dose": [0.5], "level": [0.5], "cholesterol": [2000.0]})
    model = bk.NaiveBayes().fit(pd.concat([X, odd]), [*y, "ill"])
    assert written(model) == [2, 1, np.inf, 0]
    model.forget(odd, ["ill"])
    np.testing.assert_array_equal(written(model), [np.nan, np.nan, np.inf, 0])


@pytest.mark.parametrize("model", [bk.TAN, bk.KDB, bk.AODE, bk.AJE, bk.KNNBayes, bk.AutoBayes], ids=repr)
def test_ranges_come_from_the_rows_that_are_kept(model: Any) -> None:
    X, y = patients(60)
    far = pd.DataFrame({"vessels": [9.5], "dose": [-3.25], "level": [50.0], "cholesterol": [0.5]})
    kept = {} if model is bk.KNNBayes else {"exact": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fresh = model(**kept).fit(X, y)
        left = model(**kept).fit(pd.concat([X, far]), [*y, "ill"]).forget(far, ["ill"])
    mine, other = (m.reader_.model_.counted if model is bk.AutoBayes else m.model_.counted for m in (left, fresh))
    for name in X:
        assert mine.seen(name) == other.seen(name) == (X[name].min(), X[name].max())
        assert mine.decimals(name) == other.decimals(name)


@pytest.mark.parametrize("scale", [1e-20, 1e-3, 1e3, 1e20, 1e300])
@pytest.mark.parametrize("model", [bk.NaiveBayes(), bk.TAN()], ids=repr)
def test_computed_numbers_of_any_size_are_told_in_few_digits(model: Any, scale: float) -> None:
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 60)
    X = pd.DataFrame({"x": rng.normal(y, 1.0) * scale, "z": rng.normal(y, 1.0) * scale})
    model.fit(X, y)
    flips = [f for row in model.counterfactual(X[:10]).rows for f in row if f.becomes is not None]
    assert flips
    assert all(len(Decimal(repr(f.becomes)).normalize().as_tuple().digits) <= 7 for f in flips)
    if isinstance(model, bk.NaiveBayes):
        values = [v for s in model.nomogram(1, 0).scales for v in s.values]
        assert all(len(Decimal(repr(v)).normalize().as_tuple().digits) <= 5 for v in values)
