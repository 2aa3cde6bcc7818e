"""Spark: executors in processes of their own give the local model, whatever happens to them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayeskit as bk
from bayeskit.cli.example import clinic
from cluster import MISSING, SETTINGS, session

pytestmark = [pytest.mark.spark, pytest.mark.skipif(MISSING is not None, reason=str(MISSING))]
VISITS = clinic(4000)
LOCAL = bk.NaiveBayes().fit(VISITS, "diagnosis")


def frame(data: pa.Table = VISITS) -> Any:
    return session().createDataFrame(data)


@pytest.mark.parametrize("partitions", [1, 5, 40])
def test_any_partitioning_gives_the_local_model(partitions: int) -> None:
    """Forty partitions leave some of the rows of a class, or a level, to few of them."""
    model = bk.NaiveBayes().fit(frame().repartition(partitions), "diagnosis")
    assert model.model_.digest == LOCAL.model_.digest


def test_empty_partitions_count_as_nothing() -> None:
    few = VISITS.slice(0, 6)
    model = bk.NaiveBayes().fit(frame(few).repartition(9), "diagnosis")
    assert model.model_.digest == bk.NaiveBayes().fit(few, "diagnosis").model_.digest


def test_bins_and_weights_come_home_too() -> None:
    data = VISITS.append_column("w", pa.array(np.random.default_rng(0).random(VISITS.num_rows)))
    kinds = {"families": {"age": "Kernel", "pulse": "Histogram"}, "missing": {"temperature": "level"}}
    there = bk.NaiveBayes(**kinds).fit(frame(data).repartition(3), "diagnosis", sample_weight="w")
    here = bk.NaiveBayes(**kinds).fit(data, "diagnosis", sample_weight="w")
    assert there.model_.digest == here.model_.digest


def test_learning_more_and_forgetting_on_a_cluster() -> None:
    model = bk.NaiveBayes().fit(VISITS.slice(0, 1000), "diagnosis")
    model.partial_fit(frame(VISITS.slice(1000)), "diagnosis")
    assert model.model_.digest == LOCAL.model_.digest
    model.forget(frame(VISITS.slice(0, 1000)), "diagnosis")
    assert model.model_.digest == bk.NaiveBayes().fit(VISITS.slice(1000), "diagnosis").model_.digest


def test_a_killed_executor_changes_nothing(tmp_path: Path) -> None:
    """A task kills its executor (kill -9) when it has handed on some of its rows; Spark runs the lost tasks again."""
    mark = str(tmp_path / "killed")

    def fatal(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os
        import signal

        from pyspark import TaskContext

        for batch in batches:
            yield batch.slice(0, batch.num_rows // 2)
            if TaskContext.get().partitionId() == 3 and not os.path.exists(mark):
                with open(f"/proc/{os.getppid()}/status") as status:  # the parent of the worker's parent is the JVM
                    executor = int(next(line for line in status if line.startswith("PPid")).split()[1])
                with open(mark, "x") as file, open(f"/proc/{executor}/cmdline") as command:
                    file.write(command.read())
                os.kill(executor, signal.SIGKILL)
            yield batch.slice(batch.num_rows // 2)

    source = frame().repartition(8)
    model = bk.NaiveBayes().fit(source.mapInArrow(fatal, source.schema), "diagnosis")
    assert "CoarseGrainedExecutorBackend" in Path(mark).read_text()
    assert model.model_.digest == LOCAL.model_.digest


def test_a_predicted_frame_stays_on_the_cluster() -> None:
    data = VISITS.slice(0, 500).append_column("id", pa.array(range(500)))
    there = LOCAL.predict_frame(frame(data).repartition(3), keep="id", evidence=True)
    assert type(there).__module__.startswith("pyspark.sql")
    here = LOCAL.predict_frame(data, keep="id", evidence=True)
    assert there.toArrow().sort_by("id").to_pydict() == here.to_pydict()
    assert here["P(flu)"].to_pylist() == LOCAL.predict_proba(VISITS.slice(0, 500))[:, 1].tolist()


def test_predictions_may_come_to_the_driver() -> None:
    assert LOCAL.predict_proba(frame()).tobytes() == LOCAL.predict_proba(VISITS).tobytes()


def test_executors_never_load_scikit_learn() -> None:
    def loaded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import sys

        list(batches)
        yield pa.RecordBatch.from_pydict({"name": sorted({n for n in sys.modules if n.count(".") < 3})})

    bk.NaiveBayes().fit(frame(), "diagnosis")
    LOCAL.predict_frame(frame()).toArrow()
    seen = set(frame().mapInArrow(loaded, "name string").toArrow()["name"].to_pylist())
    assert {"bayeskit.statistics", "bayeskit.explain.answers"} <= seen  # the very workers that counted and answered
    assert not {"sklearn", "duckdb"} & seen


@pytest.mark.parametrize(
    ("column", "error", "said"),
    [
        (pa.array([1.0, float("inf")]), bk.errors.InputError, "'v' has an infinite value"),
        (pa.array(["2024-05-01", None]).cast(pa.date32()), bk.errors.KindError, "'v' has type date32"),
    ],
)
def test_what_is_wrong_on_an_executor_is_told_as_here(column: pa.Array, error: type, said: str) -> None:
    with pytest.raises(error, match=said):
        bk.NaiveBayes().fit(frame(pa.table({"v": column, "class": ["a", "b"]})), "class")


ODD = ["a.b", "c`d", "*", "e f", "`", "a", "g.`h`.*", "P(x)"]


def test_names_are_names_whatever_signs_they_have() -> None:
    """A dot is no field of a structure, a star not all columns, a backtick no quote."""
    rng = np.random.default_rng(0)
    numbers = {name: rng.normal(size=40) for name in ODD[:-1]}
    data = pa.table({**numbers, ODD[-1]: rng.choice(["u", "v"], 40), "y.z": rng.choice(["p", "q"], 40)})
    here, there = bk.NaiveBayes().fit(data, "y.z"), frame(data).repartition(2)
    assert bk.NaiveBayes().fit(there, "y.z").model_.digest == here.model_.digest
    weighed = bk.NaiveBayes().fit(frame(data.set_column(0, "w.`t", [[2.0] * 40])), "y.z", sample_weight="w.`t")
    assert weighed.model_.digest == bk.NaiveBayes().fit(pa.concat_tables([data.drop(["a.b"])] * 2), "y.z").model_.digest
    answers = here.predict_frame(there, keep=ODD).toArrow()
    assert answers.column_names == [*ODD, "prediction", "P(p)", "P(q)"]
    by_row = dict(zip(data["a.b"].to_pylist(), here.predict_proba(data)[:, 0].tolist(), strict=True))
    assert dict(zip(answers["a.b"].to_pylist(), answers["P(p)"].to_pylist(), strict=True)) == by_row


@pytest.mark.parametrize("other", [pa.array(["x", "y", "z"]), pa.array([1, 2, 3])], ids=["text", "whole"])
def test_files_of_different_types_are_told_with_column_and_file(tmp_path: Path, other: pa.Array) -> None:
    lake = tmp_path / "two parts"
    lake.mkdir()
    for i, values in enumerate((pa.array([1.5, 2.5, 3.5]), other)):
        pq.write_table(pa.table({"v.w": values, "class": list("aab")}), lake / f"{i}.parquet")
    model = bk.NaiveBayes().fit({"v.w": [1.0, 2.0], "class": ["a", "b"]}, "class")
    there = session().read.parquet(str(lake))
    for ask in (
        lambda: bk.NaiveBayes().fit(there, "class"),
        lambda: model.predict(there.select("`v.w`")),
        lambda: bk.evaluate(bk.NaiveBayes(), there, "class", bk.CrossValidation(2)),
    ):
        with pytest.raises(
            bk.errors.SchemaError, match=r"two parts/\d\.parquet: column 'v\.w' has type \w+, .*the same"
        ):
            ask()


def test_a_damaged_file_is_told_by_name(tmp_path: Path) -> None:
    pq.write_table(pa.table({"v": [1.0, 2.0], "class": ["a", "b"]}), tmp_path / "0.parquet")
    there = session().read.parquet(str(tmp_path))
    (tmp_path / "0.parquet").write_bytes(b"PAR1 no more PAR1")
    with pytest.raises(bk.errors.InputError, match=r"0\.parquet: Spark cannot read it"):
        bk.NaiveBayes().fit(there, "class")


def test_names_spark_cannot_tell_apart_are_refused() -> None:
    with pytest.raises(bk.errors.SchemaError, match="'A' and 'a'"):
        bk.NaiveBayes().fit(frame(pa.table({"A": [1.0], "a": [2.0], "class": ["x"]})), "class")


CONNECT = """
import json, sys, warnings
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
import bayeskit as bk
from bayeskit.cli.example import clinic
builder = SparkSession.builder.remote("local[2]")
for name, value in json.loads(sys.argv[1]).items():
    builder = builder.config(name, value)
frame = builder.getOrCreate().createDataFrame(clinic(4000)).repartition(3)
assert "connect" in type(frame).__module__
model = bk.NaiveBayes().fit(frame, "diagnosis")
print(model.model_.digest, model.predict_frame(frame).count())
"""


def test_spark_connect_gives_the_local_model() -> None:
    pytest.importorskip("grpc", reason="needs pyspark[connect]")
    environment = {
        **os.environ,
        "PYTHONPATH": SETTINGS["spark.executorEnv.PYTHONPATH"],
        "PYSPARK_PYTHON": sys.executable,
    }
    run = subprocess.run(
        [sys.executable, "-c", CONNECT, json.dumps(SETTINGS)], env=environment, capture_output=True, text=True
    )
    assert run.stdout.split() == [LOCAL.model_.digest, "4000"], run.stderr[-2000:]


def test_a_partition_that_does_not_come_home_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last one: the numbers of those that came are without a gap."""
    from bayeskit.engines import spark

    mapped = spark._map
    monkeypatch.setattr(spark, "_map", lambda *given: mapped(*given).where("partition < 2"))
    with pytest.raises(bk.errors.InputError, match="the frame has 4000 rows, but Spark's tasks read 2"):
        bk.NaiveBayes().fit(frame().repartition(3), "diagnosis")


def test_a_folder_with_too_few_rows_is_not_left(tmp_path: Path) -> None:
    from bayeskit.engines.spark import save_frame

    with pytest.raises(bk.errors.InputError, match="4001 rows were to be answered, but 4000 were written"):
        save_frame(frame(), str(tmp_path / "answers"), 4001)
    assert not list(tmp_path.iterdir())


def test_a_pool_is_learned_and_asked_on_executors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates are judged on some rows, which executors draw; members learn all in passes."""
    monkeypatch.setattr("bayeskit.ensemble.candidate_run.JUDGED", 300)
    some = VISITS.slice(0, 1500)
    local, spread = bk.AutoBayes().fit(some, "diagnosis"), bk.AutoBayes()
    spread.fit(frame(some).repartition(5), "diagnosis")
    assert spread.ensemble_.digest == local.ensemble_.digest
    assert any(m.view for m in local.members_)
    assert len(local.members_) > 2
    asked = some.drop_columns(["diagnosis"]).slice(0, 200)
    found = spread.predict_frame(frame(asked), prior="uniform").toArrow()
    probabilities = np.column_stack([found[f"P({label})"].to_numpy() for label in local.classes_])
    np.testing.assert_allclose(probabilities, local.predict_proba(asked, prior="uniform"), rtol=1e-12)
    with pytest.raises(bk.errors.InputError, match="executors, which have no scikit-learn"):
        bk.Calibrated(bk.AutoBayes(fast=True), folds=2).fit(some, "diagnosis").predict_frame(frame(asked))
    keyed = some.append_column("id", pa.array(range(1500)))
    ways = {"method": bk.Holdout(0.3), "groups": "id"}  # the same rows are held out whatever order they come in
    parts, whole = frame(keyed).repartition(5), duckdb.from_arrow(keyed)
    judged = [bk.evaluate(bk.AutoBayes(max_candidates=2), rows, "diagnosis", **ways) for rows in (parts, whole)]
    assert judged[0].confusion.matrix.tolist() == judged[1].confusion.matrix.tolist()
    assert judged[0].log_loss == pytest.approx(judged[1].log_loss, rel=1e-12)
    more = VISITS.slice(1500, 200)
    assert spread.partial_fit(frame(more).repartition(3), "diagnosis").ensemble_.digest == (
        local.partial_fit(more, "diagnosis").ensemble_.digest
    )


def typed(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The command on a Spark of its own."""
    environment = {k: v for k, v in os.environ.items() if k != "PYSPARK_PYTHON"}
    environment["PYTHONPATH"] = SETTINGS["spark.executorEnv.PYTHONPATH"]
    command = [sys.executable, "-m", "bayeskit.cli", *words, "--engine", "spark", "--master", "local[2]"]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("query", ["drop table t", "select 1; select 2", "insert overwrite directory 'x' select 1"])
def test_a_query_for_spark_is_one_select(query: str) -> None:
    from bayeskit.engines.spark import frame_of

    with pytest.raises(bk.errors.InputError, match="one SELECT"), frame_of(None, query, "local[1]"):
        raise AssertionError("it was run")


def test_the_command_learns_and_predicts_on_spark(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    data = VISITS.append_column("id", pa.array(range(4000)))
    for i in range(3):
        pq.write_table(data.slice(1500 * i, 1500), tmp_path / "lake" / f"{i}.parquet")
    fit = typed("fit", "lake", "-t", "diagnosis", "--ignore", "id", "-o", "m.bayes", folder=tmp_path)
    assert fit.returncode == 0, fit.stderr[-2000:]
    assert bk.load(tmp_path / "m.bayes").model_.digest == LOCAL.model_.digest
    predict = typed("predict", "m.bayes", "lake", "--keep", "id", "-o", "answers", folder=tmp_path)
    said = "4,000 rows answered in answers\n\nnext: bayeskit explain m.bayes lake --ignore id --row 1\n"
    assert (predict.returncode, predict.stdout) == (0, said), predict.stderr[-2000:]
    found = pq.read_table(tmp_path / "answers").sort_by("id")
    assert found["id"].to_pylist() == list(range(4000))
    assert found["P(flu)"].to_pylist() == LOCAL.predict_proba(VISITS)[:, 1].tolist()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["answers", "lake", "m.bayes"]
    again = typed("predict", "m.bayes", "lake", "--keep", "id", "-o", "answers", folder=tmp_path)
    assert (again.returncode, "it is there already" in again.stderr) == (4, True)
