"""What is no table, or has no rows, is told with the file, the column and what to give instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayeskit as bk
from bayeskit.errors import FileError, InputError, SchemaError

NO_TABLES: dict[str, tuple[Callable[[], Any], str]] = {
    "nothing": (lambda: None, "None is no table; give a frame"),
    "several texts": (lambda: ["a text", "another"], "vectorizer"),
    "files that are not there": (lambda: ["a.csv", "b.csv"], r"a\.csv: no such file"),
    "a connection": (duckdb.connect, r"connection\.sql"),
    "a single value": (lambda: {"a": 1, "b": [1]}, r"column 'a' is the single value 1; write it as a list"),
}
DOORS: dict[str, Callable[[Any], Any]] = {
    "fit": lambda X: bk.NaiveBayes().fit(X, "b"),
    "partial_fit": lambda X: bk.TAN().partial_fit(X, "b"),
    "auto": lambda X: bk.AutoBayes().fit(X, "b"),
    "predict": lambda X: _fitted().predict(X),
    "explain": lambda X: _fitted().explain(X),
    "evaluate": lambda X: bk.evaluate(bk.NaiveBayes(), X, "b"),
    "learn_network": bk.learn_network,
    "transform": lambda X: bk.Discretizer().fit(X),
}


def _fitted() -> bk.NaiveBayes:
    return bk.NaiveBayes().fit({"a": [1.0, 2.0, 5.0], "b": ["x", "y", "y"]}, "b")


@pytest.mark.parametrize("door", DOORS.values(), ids=list(DOORS))
@pytest.mark.parametrize(("make", "said"), NO_TABLES.values(), ids=list(NO_TABLES))
def test_what_is_no_table(make: Callable[[], Any], said: str, door: Callable[[Any], Any]) -> None:
    with pytest.raises(InputError, match=said):
        door(make())


@pytest.mark.parametrize("door", [n for n in DOORS if n not in ("learn_network", "auto")])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_without_rows_is_named(tmp_path: Path, door: str, ending: str) -> None:
    path = tmp_path / f"none.{ending}"
    if ending == "csv":
        path.write_text("a,b\n")
    else:
        pq.write_table(pa.table({"a": pa.array([], pa.float64()), "b": pa.array([], pa.string())}), path)
    with pytest.raises(InputError, match=r"none\.(csv|parquet): .* no rows"):
        DOORS[door](path)


def test_a_column_that_is_not_there_is_named_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "less.csv").write_text("z\n1\n")
    with pytest.raises(SchemaError, match=r"(?s)less\.csv: .*missing:\n- a\nLeave out .* unseen\nAdd what is missing"):
        _fitted().predict(tmp_path / "less.csv")
    with pytest.raises(SchemaError, match=r"(?s)missing:\n- a\nLeave out .* unseen\nAdd what is missing"):
        _fitted().predict(pd.DataFrame({"z": [1.0]}))
    with pytest.raises(SchemaError, match=r"less\.csv: no column is named 'b'"):
        bk.NaiveBayes().fit(tmp_path / "less.csv", "b")


@pytest.mark.parametrize("name", ["gone.csv", "gone.parquet", "gone.arrow", "gone.sqlite", "gone.duckdb", "gone/*.csv"])
def test_a_missing_file_is_a_file_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileError, match="gone"):
        bk.NaiveBayes().fit(tmp_path / name, "b")
    with pytest.raises(FileError, match="gone"):
        bk.load(tmp_path / "gone.bayes")
    with pytest.raises(FileError, match="gone"):
        bk.read_bif(tmp_path / "gone.bif")


def test_priors_of_the_rule_sum_to_one_as_those_of_a_model() -> None:
    with pytest.raises(InputError, match=r"sum to one \(the sum is 0\.8\)"):
        bk.bayes_rule({"ill": 0.5, "well": 0.3}, {"ill": 0.9, "well": 0.1})
    with pytest.raises(InputError, match=r"sum to one \(the sum is 0\.8\)"):
        _fitted().predict_proba({"a": [1.0]}, prior={"x": 0.5, "y": 0.3})
    assert bk.bayes_rule([0.5, 0.3], [0.2, 0.1], evidence=0.2) == pytest.approx([0.5, 0.15])  # some are left out
