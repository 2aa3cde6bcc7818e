"""A model file is the model: the same digest, posteriors and bytes; it goes on learning and forgetting."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit import families, smoothing

from .tables import FEATURES, random_batch

ADD = smoothing.AddM(2)
SETTINGS = {
    "default": {},
    "predictive": {"families": families.Gaussian(predictive=True), "prior": "uniform"},
    "by column": {"families": {("x", "y"): families.Gaussian(), "colour": families.Categorical(ADD)}},
    "missing as a level": {"missing": "level", "unseen": "smooth", "smoothing": 0.25},
    "declared": {"kinds": {"hits": "count", "grade": ["low", "middle", "high"]}, "smoothing": 0},
    "prior by label": {"prior": {"ham": 0.5, "spam": 0.25, "eggs": 0.25}},
}
every_setting = pytest.mark.parametrize("settings", SETTINGS.values(), ids=list(SETTINGS))
pytestmark = pytest.mark.filterwarnings("ignore:.*rows have no label")


def table(seed: int, rows: int = 200) -> pa.Table:
    return pa.Table.from_batches([random_batch(seed, rows, "fraction")])


def fitted(settings: dict[str, object], *seeds: int) -> bk.NaiveBayes:
    model = bk.NaiveBayes(**settings)
    for seed in seeds:
        model.partial_fit(table(seed), "class", sample_weight="w")
    return model


@every_setting
def test_what_is_loaded_is_what_was_saved(settings: dict[str, object], tmp_path: Path) -> None:
    model, new = fitted(settings, 1), table(9).select(FEATURES.names)
    model.save(tmp_path / "m.bayes")
    back = bk.load(tmp_path / "m.bayes")
    assert back.model_.digest == model.model_.digest
    assert back.classes_.tolist() == model.classes_.tolist()
    assert back.classes_.dtype == model.classes_.dtype
    assert back.predict_proba(new).tobytes() == model.predict_proba(new).tobytes()
    assert back.explain(new).terms.tobytes() == model.explain(new).terms.tobytes()
    assert str(back.schema_) == str(model.schema_)


@every_setting
def test_a_loaded_model_goes_on_learning_and_forgetting(settings: dict[str, object], tmp_path: Path) -> None:
    fitted(settings, 1, 2).save(tmp_path / "m.bayes")
    back = bk.load(tmp_path / "m.bayes")
    back.partial_fit(table(3), "class", sample_weight="w")
    assert back.model_.digest == fitted(settings, 3, 1, 2).model_.digest
    back.forget(table(1), "class", sample_weight="w").forget(table(3), "class", sample_weight="w")
    assert back.model_.digest == fitted(settings, 2).model_.digest


@every_setting
def test_loaded_models_merge(settings: dict[str, object], tmp_path: Path) -> None:
    for seed in (1, 2):
        fitted(settings, seed).save(tmp_path / f"{seed}.bayes")
    both = bk.load(tmp_path / "1.bayes") + bk.load(tmp_path / "2.bayes")
    assert both.model_.digest == fitted(settings, 1, 2).model_.digest


@pytest.mark.parametrize("width", [1, 3])
def test_a_matrix_learned_in_parts_comes_back(width: int, tmp_path: Path) -> None:
    X, y = np.random.default_rng(0).normal(size=(40, width)), [0, 1] * 20
    bk.NaiveBayes().fit(X[:20], y[:20]).partial_fit(X[20:], y[20:]).save(tmp_path / "m.bayes")
    assert bk.load(tmp_path / "m.bayes").model_.digest == bk.NaiveBayes().fit(X, y).model_.digest


@every_setting
def test_two_saves_give_the_same_bytes(settings: dict[str, object], tmp_path: Path) -> None:
    model = fitted(settings, 1)
    model.save(tmp_path / "1.bayes")
    model.save(tmp_path / "2.bayes")
    bk.load(tmp_path / "1.bayes").save(tmp_path / "3.bayes")
    assert len({(tmp_path / f"{i}.bayes").read_bytes() for i in (1, 2, 3)}) == 1


def test_learning_in_another_order_gives_the_same_bytes(tmp_path: Path) -> None:
    whole = pa.concat_tables([table(1), table(2)])
    orders = [np.arange(400), np.arange(400)[::-1], np.random.default_rng(0).permutation(400)]
    for i, order in enumerate(orders):
        bk.NaiveBayes().fit(whole.take(order), "class", sample_weight="w").save(tmp_path / f"{i}.bayes")
    assert len({(tmp_path / f"{i}.bayes").read_bytes() for i in range(3)}) == 1


@pytest.mark.parametrize("labels", [[1, 2, 3], [True, False], ["b", "a"], [-1, 10, 9]])
def test_labels_keep_their_type_and_order(labels: list[object], tmp_path: Path) -> None:
    y = np.array(labels * 4)
    model = bk.NaiveBayes().fit(np.arange(len(y), dtype=float)[:, None] ** 2, y)
    model.save(tmp_path / "m.bayes")
    back = bk.load(tmp_path / "m.bayes").classes_
    assert (back.tolist(), back.dtype.kind) == (sorted(labels), y.dtype.kind)


SAVER = """
import sys
import bayeskit as bk
rows = [{"x": i / 7, "colour": ["red", "blue"][i % 2], "größe": None if i % 4 else str(i)} for i in range(60)]
families = {("x",): bk.families.Gaussian(), ("colour", "größe"): bk.families.Categorical(0.5)}
bk.NaiveBayes(families=families, prior={"b": 0.5, "a": 0.5}).fit(rows, ["a", "b"] * 30).save(sys.argv[1])
"""


def test_another_process_writes_the_same_bytes(tmp_path: Path) -> None:
    """Whatever the seed of Python's hashes."""
    source = str(Path(bk.__file__).parents[1])
    path = os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])
    for seed in ("0", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
        target = tmp_path / f"{seed}.bayes"
        subprocess.run([sys.executable, "-c", SAVER, str(target)], env=environment, check=True)
    assert len({file.read_bytes() for file in tmp_path.glob("*.bayes")}) == 1
