"""Leave-one-out of whole tables: adversarial columns against refits without the row, and every clone alike."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit import _core
from bayeskit.data.encode import Roles
from bayeskit.families import Categorical, Gaussian
from bayeskit.smoothing import AddM, Laplace, MEstimate, NoSmoothing, ReplaceZeros, TowardPooled

from .test_leave_one_out import close, refit

ROWS = 90
WEIGHTS = {
    "no weights": lambda rng: np.ones(ROWS),
    "repeated": lambda rng: rng.integers(1, 4, ROWS).astype(float),
    "fractions": lambda rng: rng.random(ROWS) + 0.01,
    "some heavy": lambda rng: rng.choice([0.0, 1e-9, 1.0, 1e9], ROWS),
}
SMOOTHINGS = [Laplace(0.5), NoSmoothing(), MEstimate(2.0), TowardPooled(3.0), AddM(1.0), ReplaceZeros()]


def table(seed: int, sort: str) -> pa.RecordBatch:
    """Classes of 50, 30, 7, 2 and 1 rows; columns that are plain, far from zero, still in a class, or nearly so."""
    rng = np.random.default_rng(seed)
    label = rng.permutation(np.repeat(np.arange(5), [50, 30, 7, 2, 1]))
    z = rng.normal(size=(9, ROWS))
    spike = np.where(np.arange(ROWS) == np.flatnonzero(label == 0)[3], 1.0, 0.0)
    columns: dict[str, Any] = {
        "plain": z[0] + label,
        "far": 1e8 + z[1],
        "farther": 1e12 + 1e-3 * z[2],
        "still": np.where(label == 1, 3.0, z[3]),
        "all still": label * 1.0,
        "nearly still": np.where(label == 0, 1e-5 * z[4], z[5]),
        "outlier": z[6] + 1e6 * spike,
        "spike": np.where(label == 0, spike, z[7]),
        "holes": np.where((rng.random(ROWS) < 0.3) | (label == 2), np.nan, z[8]),
        "tiny": z[0] * 1e-300,
        "colour": pa.array(rng.choice(["red", "green", "blue", None], ROWS)),
        "town": pa.array([f"town {i}" for i in rng.integers(0, 9, ROWS)]),
    }
    return pa.RecordBatch.from_pydict({**columns, "w": WEIGHTS[sort](rng), "class": label})


def model_of(rows: pa.RecordBatch, family: Any, names: list[str]) -> Any:
    some = pa.Table.from_batches([rows.select([*names, "w", "class"])])
    return bk.NaiveBayes(families=dict.fromkeys(names, family)).fit(some, "class", sample_weight="w").model_


def check(rows: pa.RecordBatch, family: Any, names: list[str]) -> None:
    roles = Roles("class", "w")
    model = model_of(rows, family, names)
    found = np.zeros((ROWS, len(model.classes)))
    model.density.left_out.add(model.counted.block_with_classes(rows, roles), found)
    for i in range(ROWS):
        others = pa.Table.from_batches([rows.slice(0, i), rows.slice(i + 1)]).combine_chunks().to_batches()[0]
        less = refit(model, others)
        wanted = np.zeros((1, found.shape[1]))
        less.density.add(less.counted.block(rows.slice(i, 1)), wanted)
        assert close(found[i], wanted[0]), (i, found[i] - wanted[0])


NUMBERS = ["plain", "far", "farther", "still", "all still", "nearly still", "outlier", "spike", "holes", "tiny"]


@pytest.mark.parametrize("sort", WEIGHTS)
@pytest.mark.parametrize("name", NUMBERS)
def test_a_column_of_numbers_is_that_of_a_refit(name: str, sort: str) -> None:
    check(table(4, sort), Gaussian(), [name])


@pytest.mark.parametrize("sort", WEIGHTS)
def test_many_columns_are_those_of_a_refit(sort: str) -> None:
    check(table(5, sort), Gaussian(), NUMBERS)


@pytest.mark.parametrize("sort", WEIGHTS)
@pytest.mark.parametrize("rule", SMOOTHINGS, ids=str)
def test_categories_are_those_of_a_refit(rule: Any, sort: str) -> None:
    check(table(6, sort), Categorical(rule), ["colour", "town"])


@pytest.mark.parametrize("clone", _core.clones())
def test_every_clone_leaves_the_same_bits(clone: str) -> None:
    rows, chosen = table(7, "fractions"), _core.clone()
    model = model_of(rows, Gaussian(), NUMBERS)
    block = model.counted.block_with_classes(rows, Roles("class", "w"))

    def run() -> bytes:
        out = np.zeros((ROWS, len(model.classes)))
        model.density.left_out.add(block, out)
        return out.tobytes()

    known = run()
    try:
        _core.use_clone(clone)
        assert run() == known
    finally:
        _core.use_clone(chosen)


@pytest.mark.parametrize("sort", list(WEIGHTS))
def test_odds_by_column_alone_are_those_of_the_terms(sort: str) -> None:
    """What attribute choice asks for, in one pass over all columns, beside the terms of one column after the other."""
    rows = table(11, sort)
    names = [n for n in rows.schema.names if n not in ("w", "class", "colour", "town")]
    model = model_of(rows, Gaussian(), names)
    block = model.counted.block_with_classes(rows, Roles("class", "w"))
    row, group, mass = block.rows_with_weight()
    some, classes = replace(block.at(row), weights=None if sort == "no weights" else mass), len(model.classes)
    found, floor = np.zeros((len(names), classes - 1, len(row))), 1e5
    model.density.left_out.odds(some, floor, found)
    terms = np.maximum(model.terms(some, left_out=True), -floor)
    others = np.arange(classes - 1)[:, None] + (np.arange(classes - 1)[:, None] >= group)
    at = np.arange(len(row))
    for j in range(len(names)):
        wanted = terms[at, j, others] - terms[at, j, group]
        size = np.abs(terms[:, j]).max(axis=1)
        assert (np.abs(found[j] - wanted) <= 1e-10 * (1 + size)).all(), names[j]
