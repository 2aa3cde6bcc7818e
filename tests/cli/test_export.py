"""The command that writes a model for another place."""

import duckdb
import numpy as np
import pyarrow.parquet as pq

import bayeskit as bk


def test_a_query_is_written_and_runs(run, model, here):
    ask = ("export", model, "--to", "sql", "--source", "t", "-o", "score.sql")
    assert run(*ask)[0] == 0
    db = duckdb.connect()
    db.execute("CREATE VIEW t AS SELECT * FROM 'all.parquet'")
    found = db.execute((here / "score.sql").read_text(encoding="utf-8")).fetch_df()
    fitted = bk.load(model)
    rows = pq.read_table("all.parquet").select(list(fitted.model_.schema.names))
    wanted = fitted.predict_frame(rows).to_pandas()
    assert list(found.columns) == list(wanted.columns)
    for label in fitted.classes_:
        np.testing.assert_allclose(np.sort(found[f"P({label})"]), np.sort(wanted[f"P({label})"]), atol=1e-9)
    assert run(*ask)[0] == 0  # a file of its own is replaced


def test_a_file_of_another_kind_is_not_replaced(run, model, here):
    (here / "mine.py").write_text("print('mine')\n", encoding="utf-8")
    assert run("export", model, "--to", "python", "-o", "mine.py")[0] != 0
    assert (here / "mine.py").read_text(encoding="utf-8") == "print('mine')\n"


def test_standard_output_has_the_text_alone(run, model):
    assert run("export", model, "--to", "javascript")[:2] == (0, bk.export(bk.load(model), "javascript"))


def test_a_graph_is_written_and_replaced(run, model, here):
    ask = ("export", model, "--to", "onnx", "-o", "model.onnx")
    assert run(*ask)[0] == 0
    assert (here / "model.onnx").read_bytes() == bk.export(bk.load(model), "onnx")
    assert run(*ask)[0] == 0
    (here / "mine.onnx").write_bytes(b"another")
    assert run("export", model, "--to", "onnx", "-o", "mine.onnx")[0] != 0


def test_what_cannot_be_is_said(run, model):
    code, _, said = run("export", model, "--to", "sql")
    assert code != 0
    assert "source" in said
