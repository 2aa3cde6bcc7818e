"""A table of one row is read by a way of its own, and answered as the same row among others, bit for bit."""

from __future__ import annotations

import datetime
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import bayeskit as bk
from bayeskit.data.row import RowReader
from bayeskit.errors import BayeskitError
from bayeskit.model.open_table import OpenTable

ROWS = 200
RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 3, ROWS)
MIXED: dict[str, list[Any]] = {
    "size": [None if i % 17 == 0 else float(x) for i, x in enumerate(RNG.gamma(2.0 + LABELS))],
    "count": [None if i % 19 == 0 else int(k) for i, k in enumerate(RNG.poisson(2 + LABELS))],
    "colour": [None if i % 13 == 0 else "rgby"[k] for i, k in enumerate((RNG.integers(0, 2, ROWS) + LABELS) % 4)],
    "wet": [bool(b) for b in RNG.random(ROWS) < 0.2 + 0.3 * LABELS],
}
NUMBERS = RNG.normal(LABELS[:, None], 1.0, (ROWS, 4)).round(2)
NUMBERS[::11, 1] = np.nan
ASKED = (0, 1, 11, 13, 17, 19, 26, 199)
MODELS = {
    "naive": bk.NaiveBayes(),
    "auto": bk.NaiveBayes(families="auto"),
    "smooth": bk.NaiveBayes(unseen="smooth"),
    "missing is a level": bk.NaiveBayes(missing="level"),
    "weights": bk.NaiveBayes(weights="fitted"),
    "full": bk.FullBayes(),
    "tan": bk.TAN(),
    "neighbours": bk.KNNBayes(k=5, metric="gower"),
    "pool": bk.AutoBayes(fast=True),
    "calibrated": bk.Calibrated(bk.NaiveBayes()),
}
METHODS = ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "log_evidence")


def records(table: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def tables() -> dict[str, Any]:
    coded = np.array(list(zip(*MIXED.values(), strict=True)), dtype=object)
    return {
        "columns": (MIXED, lambda i: {name: values[i : i + 1] for name, values in MIXED.items()}),
        "records": (records(MIXED), lambda i: records(MIXED)[i : i + 1]),
        "objects": (coded, lambda i: coded[i : i + 1]),
        "doubles": (NUMBERS, lambda i: NUMBERS[i : i + 1]),
        "floats": (NUMBERS.astype(np.float32), lambda i: NUMBERS[i : i + 1].astype(np.float32)),
        "integers": ((x := np.nan_to_num(4 * NUMBERS).astype(np.int64)), lambda i: x[i : i + 1]),
    }


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", tables())
def test_a_row_alone_is_answered_as_among_others(kind: str, model: str) -> None:
    table, row = tables()[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(MODELS[model]).fit(table, LABELS)
        for method in METHODS:
            try:
                whole = getattr(fitted, method)(table)
            except (BayeskitError, AttributeError):
                continue  # a question this classifier does not answer
            for i in ASKED:
                np.testing.assert_array_equal(getattr(fitted, method)(row(i)), whole[i : i + 1], strict=True)


USUAL: dict[str, list[Any]] = {"size": [1.5], "count": [2], "colour": ["g"], "wet": [True]}
ODD: dict[str, Any] = {
    "usual": USUAL,
    "unseen level": {**USUAL, "colour": ["violet"]},
    "unseen beyond ASCII": {**USUAL, "colour": ["grün"]},
    "half of a character": {**USUAL, "colour": ["\ud800"]},
    "infinite": {**USUAL, "size": [-np.inf]},
    "NaN as a level": {**USUAL, "colour": [np.nan]},
    "number as a text": {**USUAL, "size": ["1.5"]},
    "level of another type": {**USUAL, "colour": [3]},
    "truth as a number": {**USUAL, "wet": [1]},
    "number as a truth": {**USUAL, "count": [True]},
    "more than 53 bits": {**USUAL, "count": [2**53 + 1]},
    "more than 64 bits": {**USUAL, "count": [2**70]},
    "number of NumPy": {**USUAL, "size": [np.float64(1.5)], "count": [np.int64(2)]},
    "array": {**USUAL, "size": np.array([1.5])},
    "tuple": {**USUAL, "size": (1.5,)},
    "below the support": {**USUAL, "size": [-1.0]},
    "date": {**USUAL, "size": [datetime.date(2020, 1, 1)]},
    "one column less": {name: v for name, v in USUAL.items() if name != "size"},
    "one column more": {**USUAL, "weight": [3.0]},
    "another name": {**{name: v for name, v in USUAL.items() if name != "size"}, "sizes": [1.0]},
    "no list": {**USUAL, "size": 1.5},
    "no row": {name: [] for name in USUAL},
    "two rows": {name: v * 2 for name, v in USUAL.items()},
    "two lengths": {**USUAL, "size": [1.0, 2.0]},
    "record": [{name: v for name, (v,) in USUAL.items()}],
    "record with less": [{"size": 1.5}],
    "record with more": [{"size": 1.5, "weight": 3.0}],
    "without names": np.array([[1.5, 2, "g", True]], dtype=object),
}


@pytest.fixture(scope="module")
def asked() -> dict[str, Any]:
    gamma = {"size": "gamma"}
    return {
        "missing": bk.NaiveBayes(families=gamma).fit(MIXED, LABELS),
        "error": bk.NaiveBayes(families=gamma, unseen="error").fit(MIXED, LABELS),
        "pool": bk.AutoBayes(fast=True).fit(MIXED, LABELS),
    }


@pytest.mark.parametrize("row", ODD)
@pytest.mark.parametrize("unseen", ["missing", "error", "pool"])
def test_an_odd_row_is_answered_or_refused_as_tables_are(
    row: str, unseen: str, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _outcome(asked[unseen], ODD[row])
    monkeypatch.setattr(RowReader, "read", lambda self, X: None)
    assert found == _outcome(asked[unseen], ODD[row])


def _outcome(model: Any, row: Any) -> tuple[Any, ...]:
    """The posterior and what was warned of, or the refusal."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            answer = model.predict_proba(row).tolist()
        except (BayeskitError, UnicodeError) as refusal:
            return type(refusal), str(refusal)
    return answer, sorted(str(w.message) for w in told)


def test_a_plain_row_is_not_read_as_a_table(asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpenTable, "of", None)
    for model in asked.values():
        assert model.predict_proba(USUAL).shape == (1, 3)
