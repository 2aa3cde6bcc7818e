"""Pruned models: nothing below the least count can be read from their files, and the rest is as it was."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk
from bayeskit.errors import ForgetError, InputError
from bayeskit.storage import container, model_file

LEAST = 5


def clinic(n=400, seed=3):
    rng = np.random.default_rng(seed)
    y = rng.choice(["well", "ill", "rare", "odd"], n, p=[0.6, 0.36, 0.025, 0.015])
    rows = pd.DataFrame({
        "site": rng.choice(list("abcdefgh"), n, p=[0.5, 0.3, 0.15, 0.02, 0.01, 0.01, 0.005, 0.005]),
        "flag": rng.random(n) < 0.99,
        "age": rng.normal(50, 9, n).round(1),
        "sugar": rng.gamma(4, 2, n),
        "once": np.where(rng.random(n) < 0.006, 1, 0),
    })  # fmt: skip
    rows.loc[rng.choice(n, 3), "age"] = np.nan
    rows.loc[rng.choice(n, 80), "site"] = None
    rows.loc[rng.choice(n, 60), "sugar"] = np.nan
    return rows, y


def fitted(rows, y):
    families = {"sugar": "Histogram", "once": "Gaussian", "age": "Gaussian"}
    return bk.NaiveBayes(families=families, kinds={"site": "nominal"}).fit(rows, y)


def small(weight):
    return (weight > 0) & (weight < LEAST)


def test_no_small_cell_is_in_the_file_or_follows_from_it(tmp_path):
    rows, y = clinic()
    whole = fitted(rows, y)
    assert all(small(weight.to_float()).any() for _, weight in whole.model_.features.column_weights())
    with pytest.warns(UserWarning, match="gone"):
        pruned = whole.prune(min_count=LEAST)
    pruned.save(tmp_path / "shared.bayes")
    header, arrays = container.read(tmp_path / "shared.bayes", model_file.tensor_spec)
    counts = pd.Series(y).value_counts()
    assert set(pruned.classes_) == set(counts[counts >= LEAST].index) < set(y)
    # a walk over all tensors: whole numbers that count, and what they leave of their class
    assert not {name for name in arrays if name.startswith("ranges")}
    assert [entry["operation"] for entry in header["journal"]] == ["prune"]
    assert "tally" not in header
    again = bk.load(tmp_path / "shared.bayes")
    model = again.model_
    features = model.features
    looked = set()
    for part in features.parts.values():
        kind = type(part).__name__
        for name, weight in part.column_weights():
            looked.add(name)
            present = weight.to_float()
            assert not small(present).any(), name
            assert not small(model.weights - present).any(), name
        if kind in ("Tables", "Bins", "Cuts"):
            assert not small(part.cells.to_float()).any()
        else:
            ones = part.column(part.columns.index("once"))
            assert not small(ones.first.to_float()).any()
            assert not small(ones.present.to_float() - ones.first.to_float()).any()
    assert looked == set(rows.columns)
    levels = model.counted.domain.levels["site"]
    kept = pd.Series(rows["site"]).value_counts()
    assert {value for _, value in levels.keys} <= set(kept[kept >= LEAST].index) < set("abcdefgh")
    np.testing.assert_array_equal(again.predict_proba(rows), pruned.predict_proba(rows))
    assert again.model_.digest == pruned.model_.digest != whole.model_.digest == fitted(rows, y).model_.digest


def test_what_is_kept_is_what_was_counted():
    """By a second way: pandas counts, and the rule of the least cells is applied by hand."""
    rows, y = clinic()
    rows = rows[["site"]]
    pruned = bk.NaiveBayes().fit(rows, y).prune(LEAST).model_
    (table,) = pruned.features.parts.values()
    found = table.table(0).to_float()
    for c, label in enumerate(pruned.classes.tolist()):
        inside = rows["site"][y == label]
        left = inside.value_counts().sort_values()
        while len(left) and (left.iloc[0] < LEAST or 0 < len(inside) - left.sum() < LEAST):
            left = left.iloc[1:]
        names = [value for _, value in pruned.counted.domain.levels["site"].keys]
        assert {n: w for n, w in zip(names, found[c], strict=True) if w} == left.to_dict()


def test_a_table_without_small_cells_stays_as_it_is():
    rows = pd.DataFrame({"a": ["x", "y"] * 20, "n": np.arange(40) % 7})
    model = bk.NaiveBayes().fit(rows, ["u"] * 20 + ["v"] * 20)
    pruned = model.prune(LEAST)
    assert pruned.model_.digest == model.model_.digest
    more = pruned.merge(model).forget(rows, ["u"] * 20 + ["v"] * 20)
    assert more.model_.digest == model.model_.digest


def test_rows_of_which_a_count_fell_are_not_forgotten():
    rows = pd.DataFrame({"a": ["x"] * 20 + ["y"] * 20 + ["z"] * 2})
    y = ["u"] * 42
    pruned = bk.NaiveBayes().fit(rows, y).prune(LEAST)
    assert pruned.forget(rows[20:23], y[:3]).model_.counted.weight == 39
    with pytest.raises(ForgetError, match="'z'"):
        pruned.forget(rows.tail(1), ["u"])


@pytest.mark.parametrize("model", [bk.FullBayes(), bk.TAN(), bk.AODE(), bk.KNNBayes(),
                                   bk.NaiveBayes(families="Multinomial"), bk.NaiveBayes(weights="fitted"),
                                   bk.ProbabilityForest(trees=3)])  # fmt: skip
def test_models_that_keep_more_are_refused_by_name(model):
    rng = np.random.default_rng(0)
    X = rng.poisson(3, (60, 3))
    with pytest.raises(InputError, match=r"NaiveBayes|weights=None"):
        model.fit(X, np.arange(60) % 2).prune(LEAST)


@pytest.mark.parametrize("least", [1, 0, -2, True, "5", float("nan"), float("inf"), None])
def test_a_least_count_is_a_number_above_one(least):
    model = bk.NaiveBayes().fit({"a": ["x", "y"] * 20}, ["u", "v"] * 20)
    with pytest.raises(InputError, match="min_count"):
        model.prune(least)
    with pytest.raises(InputError, match="no class has"):
        model.prune(30)


def test_the_command_writes_another_file(tmp_path):
    rows, y = clinic()
    fitted(rows, y).save(tmp_path / "site.bayes")
    before = (tmp_path / "site.bayes").read_bytes()
    words = ["prune", str(tmp_path / "site.bayes"), "--min-count", "5", "-o", str(tmp_path / "shared.bayes"), "-q"]
    code = f"import sys; sys.argv[1:] = {words!r}; from bayeskit.cli.app import main; main()"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
    with pytest.warns(UserWarning, match="gone"):
        pruned = fitted(rows, y).prune(LEAST)
    assert bk.load(tmp_path / "shared.bayes").model_.digest == pruned.model_.digest
    assert (tmp_path / "site.bayes").read_bytes() == before
