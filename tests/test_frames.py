"""predict_frame: answers beside the columns to keep, as the kind of frame that was asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayeskit as bk
from bayeskit.cli.example import clinic
from bayeskit.errors import InputError, SchemaError
from bayeskit.estimators.frames import predict_file
from bayeskit.model.batch_predictor import BatchPredictor

VISITS = clinic(300)
MODEL = bk.NaiveBayes().fit(VISITS, "diagnosis")


def test_the_columns_are_what_was_kept_the_prediction_and_the_probabilities() -> None:
    found = MODEL.predict_frame(VISITS, keep=["age", "cough"])
    assert found.column_names == ["age", "cough", "prediction", "P(cold)", "P(flu)", "P(pneumonia)"]
    assert found["prediction"].to_pylist() == MODEL.predict(VISITS).tolist()
    assert (
        np.column_stack([found[f"P({c})"] for c in MODEL.classes_]).tobytes() == MODEL.predict_proba(VISITS).tobytes()
    )


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.Table])
def test_the_frame_is_of_the_kind_that_was_asked(kind: type) -> None:
    asked = {pd.DataFrame: VISITS.to_pandas, pl.DataFrame: lambda: pl.from_arrow(VISITS), pa.Table: lambda: VISITS}
    assert isinstance(MODEL.predict_frame(asked[kind](), keep="all"), kind)


def test_a_key_may_be_a_column_the_model_never_saw() -> None:
    found = MODEL.predict_frame(VISITS.append_column("id", pa.array(range(300))), keep="id")
    assert found["id"].to_pylist() == list(range(300))


def test_a_prior_given_counts() -> None:
    prior = {"cold": 0.1, "flu": 0.1, "pneumonia": 0.8}
    found = MODEL.predict_frame(VISITS, prior=prior)
    assert found["P(flu)"].to_pylist() == MODEL.predict_proba(VISITS, prior=prior)[:, 1].tolist()


def test_labels_keep_their_type() -> None:
    found = (
        bk.NaiveBayes().fit(pa.table({"x": [0.0, 1.0, 5.0, 6.0], "y": [1, 1, 7, 7]}), "y").predict_frame({"x": [5.5]})
    )
    assert found.to_pydict()["prediction"] == [7]
    assert found.column_names[1:] == ["P(1)", "P(7)"]


REASONED = [
    bk.NaiveBayes(),
    bk.FullBayes(),
    bk.KNNBayes(),
    bk.TAN(),
    bk.KDB(),
    bk.AODE(),
    bk.AJE(),
    bk.CorrectedNaiveBayes(),
    bk.ProbabilityForest(trees=10),
    bk.BoostedTrees(trees=10),
    bk.NetworkBayes(),
    bk.AutoBayes(max_candidates=3),
]


@pytest.mark.parametrize("model", REASONED, ids=lambda model: type(model).__name__)
def test_reasons_are_the_largest_shares_of_the_explanation(model: Any) -> None:
    rng = np.random.default_rng(3)
    y = rng.choice(["a", "b"], 60)
    X = pa.table({"u": rng.normal(0, 1, 60) + (y == "a"), "v": rng.normal(0, 1, 60), "w": rng.normal(0, 1, 60)})
    told = model.fit(X, y).predict_frame(X, reasons=2)["reasons"].to_pylist()
    explained = model.explain(X)
    for i, text in enumerate(told):
        shares = dict(zip(explained.parts, explained.evidence(i)[1:], strict=True))
        most = sorted(shares, key=lambda part: abs(shares[part]), reverse=True)[:2]
        words = text.split("; ") if text else []
        assert [word.split()[-1] for word in words] == [f"({shares[p]:+.2f})" for p in most if shares[p]]
        for word, part in zip(words, most, strict=False):
            assert word.startswith(part)
            assert (" for " in word) == (shares[part] > 0)
            if part in X.column_names:
                assert word.startswith(f"{part} = {X[part][i].as_py():.6g} ")
    assert any(told)


def test_reasons_name_the_columns_that_speak_for_the_prediction() -> None:
    """Two classes, one column that tells them apart and one that does not."""
    rows = {"told": ["a"] * 9 + ["b"] * 9, "idle": ["u", "v", "w"] * 6}
    model = bk.NaiveBayes().fit(rows, ["x"] * 9 + ["y"] * 9)
    (reasons,) = model.predict_frame({"told": ["a"], "idle": ["u"]}, reasons=2)["reasons"].to_pylist()
    assert reasons == "told = a clearly for (+2.30)"  # log of (9 + 1)/(9 + 2) over 1/(9 + 2)


def test_evidence_is_that_of_log_evidence() -> None:
    found = MODEL.predict_frame(VISITS, evidence=True)
    assert found["log_evidence"].to_pylist() == MODEL.log_evidence(VISITS).tolist()


def test_a_column_to_keep_that_is_not_there_is_named() -> None:
    with pytest.raises(SchemaError, match=r"'id'.*age"):
        MODEL.predict_frame(VISITS, keep="id")


def test_a_kept_column_may_not_have_the_name_of_an_answer() -> None:
    with pytest.raises(SchemaError, match="'prediction'"):
        MODEL.predict_frame(VISITS.append_column("prediction", pa.array(range(300))), keep="prediction")


def test_a_matrix_has_no_columns_to_keep() -> None:
    model = bk.NaiveBayes().fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(InputError, match="matrix"):
        model.predict_frame(np.eye(4))


def written(rows: pa.Table, path: Path, keep: Any) -> int:
    return predict_file(BatchPredictor.of(MODEL.model_, rows, "NaiveBayes", keep), path, keep)


def test_kept_columns_of_any_type_reach_a_file(tmp_path: Path) -> None:
    """Views of texts, as Polars writes them, too; lists have a place in Parquet only."""
    more = VISITS.slice(0, 3).append_column("note", pa.array(["a", None, "c"], pa.string_view()))
    more = more.append_column("tags", pa.array([[1], [], [2, 3]])).append_column("nothing", pa.nulls(3))
    assert written(more.drop_columns(["tags"]), tmp_path / "t.csv", ["note", "nothing"]) == 3
    assert (tmp_path / "t.csv").read_text().splitlines()[1].startswith('"a",,')
    assert written(more, tmp_path / "t.parquet", "all") == 3
    assert pq.read_table(tmp_path / "t.parquet")["tags"].to_pylist() == [[1], [], [2, 3]]
    with pytest.raises(InputError, match=r"'tags'.*Parquet"):
        written(more, tmp_path / "u.csv", "all")
    assert not (tmp_path / "u.csv").exists()
