"""Every model writes itself down; every target computes what Python does, or the model says why it cannot."""

import json
import random
import shutil
import sqlite3
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import bayeskit as bk
import cluster
import server
from bayeskit.densities.density import Density
from bayeskit.errors import InputError
from bayeskit.portable.symbol import evaluate
from bayeskit.structures import naive
from browser import chromium
from portable_cases import CASES, case, inputs, table

CLOSE = 1e-9
NAMES = sorted(CASES)
SLOW = {"A2DE", "KernelBackoff", "Pool", "PoolTrees", "Auto"}  # long queries


def compared(name):
    """A model, rows, its posteriors, and the rows in which doubles have digits left for them.

    Where log p(x | c) is beyond 1e12 in every class, what tells the classes apart is below the last digit of a double.
    """
    model, rows = case(name)
    program = model.program()
    read = inputs(program, model, rows)
    score = [evaluate([member.whole], read)[0].max(axis=1) for member in program.members]
    held = ~np.any([np.isfinite(s) & (s < -1e12) for s in np.broadcast_arrays(*score, np.zeros(len(rows)))], axis=0)
    assert held.mean() > 0.5
    return model, rows, model.predict_proba(rows), held


def agree(found, true, held):
    np.testing.assert_allclose(np.asarray(found, dtype=float)[held], true[held], rtol=0, atol=CLOSE)


@pytest.mark.parametrize("name", NAMES)
def test_a_program_says_what_the_model_does(name):
    model, rows, true, held = compared(name)
    program = model.program()
    agree(np.exp(program.log_proba(inputs(program, model, rows))), true, held)


def answers(text, rows, dialect):
    numbered = rows.assign(row_number=np.arange(len(rows)))
    if dialect == "duckdb":
        db = duckdb.connect()
        db.register("frame", numbered)
        db.execute("CREATE TABLE t AS SELECT * FROM frame")
        found = db.execute(text).fetch_df()
    else:
        db = sqlite3.connect(":memory:")
        plain = numbered.astype(object).where(numbered.notna(), None)
        db.execute(f"CREATE TABLE t ({', '.join(quoted(c) for c in plain)})")
        lines = [[v.item() if isinstance(v, np.generic) else v for v in row] for row in plain.to_numpy().tolist()]
        db.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(plain.columns))})", lines)
        cursor = db.execute(text)
        found = pd.DataFrame(cursor.fetchall(), columns=[d[0] for d in cursor.description])
    return found.sort_values("row_number").reset_index(drop=True)


SERVED = ["Gaussian", "Gamma", "Poisson", "Histogram", "Kernel", "Categorical0", "MissingLevel", "Weights", "FullMixed"]
SERVED += ["TAN", "KDB", "AODE", "AJE", "CalibratedTwo", "GaussianBackoff", "Forest", "ForestMissing", "VennAbers"]


@pytest.mark.slow
@pytest.mark.parametrize("name", SERVED)
def test_a_server_says_what_the_model_does(name):
    pytest.importorskip("adbc_driver_postgresql")
    from adbc_driver_postgresql import dbapi

    model, rows, true, held = compared(name)
    text = bk.export(model, "sql", dialect="postgresql", source="t", keep=["row_number"])
    kept = pa.Table.from_pandas(rows.assign(row_number=np.arange(len(rows))), preserve_index=False)
    with dbapi.connect(server.holding(kept, "t")) as connection, connection.cursor() as cursor:
        cursor.execute(text)
        found = cursor.fetch_arrow_table().to_pandas().sort_values("row_number")
    agree(found[[f"P({c})" for c in model.classes_]], true, held)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["Categorical", "Gaussian", "Histogram", "Full", "TAN", "CalibratedTwo", "VennAbers", "BoostedMissing"]
)
def test_a_cluster_says_what_the_model_does(name):
    model, rows, true, held = compared(name)
    text = bk.export(model, "sql", dialect="spark", source="t", keep=["row_number"])
    kept = pa.Table.from_pandas(rows.assign(row_number=np.arange(len(rows))), preserve_index=False)
    lines = [tuple(line.values()) for line in kept.to_pylist()]
    kinds = {"double": "double", "int64": "bigint", "bool": "boolean", "string": "string"}
    schema = ", ".join(f"`{f.name}` {kinds[str(f.type).removeprefix('large_')]}" for f in kept.schema)
    spark = cluster.session()
    spark.createDataFrame(lines, schema).createOrReplaceTempView("t")
    found = pd.DataFrame([row.asDict() for row in spark.sql(text).collect()]).sort_values("row_number")
    agree(found[[f"P({c})" for c in model.classes_]], true, held)


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
@pytest.mark.parametrize("name", [n if n not in SLOW else pytest.param(n, marks=pytest.mark.slow) for n in NAMES])
def test_a_query_says_what_the_model_does(name, dialect):
    model, rows, true, held = compared(name)
    found = answers(bk.export(model, "sql", dialect=dialect, source="t", keep=["row_number"]), rows, dialect)
    agree(found[[f"P({c})" for c in model.classes_]], true, held)
    sure = np.sort(true, axis=1)[:, -1] - np.sort(true, axis=1)[:, -2] > CLOSE
    assert found["prediction"][sure & held].tolist() == model.classes_[true.argmax(axis=1)][sure & held].tolist()


def tensors(session, rows, none):
    """The columns as a graph takes them: texts, or doubles."""
    given = {}
    for one in session.get_inputs():
        text = one.type == "tensor(string)"
        empty = none if text else np.nan
        values = [empty if pd.isna(v) else v if text else float(v) for v in rows[one.name]]
        given[one.name] = np.array(values, dtype=object if text else np.float64).reshape(-1, 1)
    return given


def run_onnx(made, rows, none=""):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(made)
    return session.run(["label", "probabilities"], tensors(session, rows, none))


@pytest.mark.parametrize("name", NAMES)
def test_a_graph_says_what_the_model_does(name):
    model, rows, true, held = compared(name)
    label, proba = run_onnx(bk.export(model, "onnx", missing="(none)"), rows, "(none)")
    assert proba.dtype == np.float64
    agree(proba, true, held)
    sure = np.sort(true, axis=1)[:, -1] - np.sort(true, axis=1)[:, -2] > CLOSE
    assert label[sure & held].tolist() == model.classes_[true.argmax(axis=1)][sure & held].tolist()


def test_threads_of_a_graph_add_up_trees_one_at_a_time():
    """Many rows, as sums by row are lost only where several threads add to them."""
    runtime = pytest.importorskip("onnxruntime")
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.normal(size=12_000), "b": rng.integers(0, 4, 12_000).astype(float)}).mask(
        rng.random((12_000, 2)) < 0.2
    )
    model = bk.BoostedTrees(trees=60).fit(X[:2000], (X.a * (X.b - 1.5) > 0)[:2000])
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 4
    session = runtime.InferenceSession(bk.export(model, "onnx"), options)
    agree(session.run(["probabilities"], tensors(session, X, ""))[0], model.predict_proba(X), slice(None))


def test_a_graph_is_one_that_the_checker_of_onnx_takes():
    onnx = pytest.importorskip("onnx")
    for name in ("Kernel", "KDB", "CalibratedIsotonic", "FullMixed", "Forest"):
        made = onnx.load_from_string(bk.export(case(name)[0], "onnx"))
        onnx.checker.check_model(made, full_check=True)
        assert {o.domain: o.version for o in made.opset_import} == {"": 18, "ai.onnx.ml": 3}


def test_labels_of_a_graph_have_the_type_of_the_classes():
    for classes in (["a", "b"], [3, -4], [True, False], [2.0, 1.0]):
        y = np.array(classes * 10)
        rows = pd.DataFrame({"x": np.where(y == y[0], 0.0, 9.0) + np.arange(20) / 20})
        label, _ = run_onnx(bk.export(bk.NaiveBayes().fit(rows, y), "onnx"), rows)
        assert label.tolist() == y.tolist()
        assert isinstance(label.tolist()[0], type(classes[0]))


def test_a_graph_has_nan_where_the_model_refuses_a_row():
    rows = pd.DataFrame({"x": [1.0, 2.0, np.inf, 3.0, np.nan], "c": ["a", "b", "a", "never", None]})
    model = bk.NaiveBayes(unseen="error").fit(rows.head(2), ["u", "v"])
    label, proba = run_onnx(bk.export(model, "onnx"), rows)
    assert np.isnan(proba).all(axis=1).tolist() == [False, False, True, True, False]
    assert label.tolist() == ["u", "v", "", "", "u"]


def test_a_level_that_stands_for_missing_texts_is_refused():
    model = bk.NaiveBayes().fit(pd.DataFrame({"c": ["", "b"] * 5}), ["u", "v"] * 5)
    with pytest.raises(InputError, match="missing="):
        bk.export(model, "onnx")
    rows = pd.DataFrame({"c": ["", "b", None]})
    proba = run_onnx(bk.export(model, "onnx", missing="?"), rows, "?")[1]
    agree(proba, model.predict_proba(rows), slice(None))


def test_many_levels_and_cuts_of_a_graph_are_found():
    rng = np.random.default_rng(4)
    rows = pd.DataFrame({"id": [f"level {i}" for i in range(10_000)], "n": rng.permutation(10_000) * 3})
    model = bk.NaiveBayes(kinds={"n": "nominal"}).fit(rows, np.arange(10_000) % 3)
    asked = pd.DataFrame({"id": ["level 17", "level 9999", "no", None], "n": [0, 29_997, 5, 300]})
    agree(run_onnx(bk.export(model, "onnx"), asked)[1], model.predict_proba(asked), slice(None))


def test_a_graph_of_many_columns_is_short():
    """One formula for all columns of a family, whose cuts and levels are not equally many."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 150)
    rows = {f"n{j}": rng.normal(y * 0.2, 1) for j in range(300)}
    rows |= {f"h{j}": rng.gamma(2 + y, 1, 150).round(j % 3) for j in range(100)}
    rows |= {f"c{j}": np.array(list("abcdef"))[rng.integers(0, 2 + j % 5, 150)] for j in range(300)}
    families = {f"h{j}": "Histogram(bins='mdlp')" if j % 2 else "Histogram(bins=40)" for j in range(100)}
    model = bk.NaiveBayes(families=families).fit(pd.DataFrame(rows), y)
    asked = pd.DataFrame(rows).head(40)
    asked.iloc[:20, ::7] = None
    asked.loc[3, "n5"], asked.loc[4, "c3"] = 1e300, "never"
    made = bk.export(model, "onnx")
    assert len(pytest.importorskip("onnx").load_from_string(made).graph.node) < 1500
    agree(run_onnx(made, asked)[1], model.predict_proba(asked), slice(None))


def test_pipelines_are_converted():
    skl2onnx = pytest.importorskip("skl2onnx")
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    runtime = pytest.importorskip("onnxruntime")
    assert "AutoBayes" in bk.register_onnx()
    frame, y = table()
    rows = frame[["age", "colour", "visits"]].dropna().reset_index(drop=True)
    y = y[frame[["age", "colour", "visits"]].notna().all(axis=1)]
    kinds = [("age", DoubleTensorType([None, 1])), ("colour", StringTensorType([None, 1]))]
    kinds += [("visits", Int64TensorType([None, 1]))]
    given = {"age": rows[["age"]].to_numpy(), "colour": rows[["colour"]].to_numpy(dtype=object),
             "visits": rows[["visits"]].to_numpy()}  # fmt: skip
    columns = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(sparse_output=False), ["colour"]))
    for model in (make_pipeline(columns, bk.TAN()), bk.NaiveBayes(families={"visits": "Poisson"})):
        fitted = model.fit(rows, y)
        made = skl2onnx.to_onnx(fitted, initial_types=kinds).SerializeToString()
        label, proba = runtime.InferenceSession(made).run(None, given)
        agree(proba, fitted.predict_proba(rows), slice(None))
        assert label.tolist() == fitted.predict(rows).tolist()
    matrix = rows[["age", "visits"]].to_numpy(dtype=np.float64)
    scaled = make_pipeline(StandardScaler(), bk.Calibrated(bk.FullBayes())).fit(matrix, y)
    made = skl2onnx.to_onnx(scaled, matrix[:1]).SerializeToString()
    agree(runtime.InferenceSession(made).run(None, {"X": matrix})[1], scaled.predict_proba(matrix), slice(None))
    with pytest.raises(InputError, match="target_opset"):
        skl2onnx.to_onnx(scaled, matrix[:1], target_opset=15)
    with pytest.raises(InputError, match="learned as texts"):
        skl2onnx.to_onnx(fitted, initial_types=[kinds[0], ("colour", DoubleTensorType([None, 1])), kinds[2]])


def records(rows):
    return [{n: None if pd.isna(v) else v.item() if isinstance(v, np.generic) else v for n, v in r.items()}
            for r in rows.to_dict("records")]  # fmt: skip


def test_a_python_file_says_what_the_models_do(tmp_path):
    """All models in one process, which sees nothing but the files and the standard library."""
    wanted = {}
    for name in NAMES:
        model, rows, true, held = compared(name)
        (tmp_path / f"m_{name}.py").write_text(bk.export(model, "python"), encoding="utf-8")
        (tmp_path / f"m_{name}.json").write_text(json.dumps(records(rows)), encoding="utf-8")
        wanted[name] = true, held
    code = (
        "import importlib, json, sys, pathlib\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        f"for n in {NAMES!r}:\n"
        "    m = importlib.import_module('m_' + n)\n"
        f"    rows = json.loads(pathlib.Path({str(tmp_path)!r}, f'm_{{n}}.json').read_text())\n"
        "    print(json.dumps([list(m.predict_proba(r).values()) for r in rows]))\n"
        "assert not {'numpy', 'bayeskit', 'scipy'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-2000:]
    for name, line in zip(NAMES, done.stdout.splitlines(), strict=True):
        agree(json.loads(line), *wanted[name])


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_javascript_module_says_what_the_models_do(tmp_path):
    wanted, code = {}, "import fs from 'node:fs';\n"
    for name in NAMES:
        model, rows, true, held = compared(name)
        (tmp_path / f"{name}.mjs").write_text(bk.export(model, "javascript"), encoding="utf-8")
        (tmp_path / f"{name}.json").write_text(json.dumps(records(rows)), encoding="utf-8")
        code += (
            f"{{ const m = await import('./{name}.mjs');"
            f" console.log(JSON.stringify(JSON.parse(fs.readFileSync('{name}.json')).map(m.predictProba))); }}\n"
        )
        wanted[name] = true, held
    (tmp_path / "all.mjs").write_text(code, encoding="utf-8")
    done = subprocess.run(["node", "all.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    for name, line in zip(NAMES, done.stdout.splitlines(), strict=True):
        agree(json.loads(line), *wanted[name])


IMPORTED = """async ([text, rows]) => {
  const place = URL.createObjectURL(new Blob([text], {type: "text/javascript"}));
  const made = await import(place);
  return rows.map(row => made.predictProba(row));
}"""


def test_a_browser_imports_the_module_too():
    with chromium() as browser:
        page = browser.new_page()
        for name in ("Gaussian", "Categorical0", "FullMixed", "TAN", "CalibratedTwo", "Boosted"):
            model, rows, true, held = compared(name)
            agree(page.evaluate(IMPORTED, [bk.export(model, "javascript"), records(rows)]), true, held)


def subclasses(kind):
    for one in kind.__subclasses__():
        yield one
        yield from subclasses(one)


def test_every_density_writes_itself_or_is_named():
    """Those that leave a row out are for evaluation alone, and keep what they inherit."""
    assert naive  # loads all structures
    silent = {d.__name__ for d in subclasses(Density) if d.portable is Density.portable and not d.__abstractmethods__}
    assert silent == set(), "give them portable(inputs); where there is no formula it raises Unportable with the reason"


def test_rows_that_are_kept_are_refused_by_name():
    frame, y = table(60)
    model = bk.KNNBayes(metric="gower").fit(frame[["age", "select"]], y)
    for target in ("sql", "javascript", "python"):
        with pytest.raises(InputError, match=r"learned rows.*NaiveBayes, FullBayes and TAN can"):
            bk.export(model, target, **({"source": "t"} if target == "sql" else {}))


def test_a_pool_with_neighbours_is_led_to_one_without():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (400, 2))
    model = bk.AutoBayes().fit(x, (np.hypot(*x.T) > 1.2) ^ (rng.random(400) < 0.02))
    with pytest.raises(InputError, match=r"'15 nearest' look up the learned rows.*AutoBayes\(portable=True\)"):
        bk.export(model, "sql", source="t")


def test_maps_that_a_program_cannot_hold_are_refused():
    frame, y = table()
    model = bk.VennAbers(bk.NaiveBayes()).fit(frame[["age", "select"]], y)
    with pytest.raises(InputError, match="method='inductive' or 'loo'"):
        bk.export(model, "python")
    twice = bk.VennAbers(bk.Calibrated(bk.NaiveBayes(), "temperature"), "inductive").fit(frame[["age"]], y)
    with pytest.raises(InputError, match="calibrated itself"):
        bk.export(twice, "python")


WORDS = [
    *(
        "select",
        "from",
        "a b",
        'q"uote',
        "it's",
        "semi;colon",
        "-- x",
        "/* x */",
        "back\\slash",
        "$1",
        "?",
        "%s",
        "`t`",
    ),
    *("null", "P(a)", "x0", "q1", "", "ünï", "new\nline", "tab\t", "a.b", "[x]", "{y}", ":z", "\u2028"),
]


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
@pytest.mark.parametrize("seed", range(6))
def test_names_and_levels_stay_text(dialect, seed):
    rng = random.Random(seed)
    names = rng.sample([w for w in WORDS if w], 4)
    if dialect == "sqlite":
        names = [n for n in names if n.strip()]
    levels, labels = rng.sample(WORDS, 6), rng.sample([w for w in WORDS if w], 3)
    rows = pd.DataFrame({n: [rng.choice(levels) for _ in range(60)] for n in names})
    model = bk.NaiveBayes().fit(rows, [rng.choice(labels) for _ in range(60)])
    text = bk.export(model, "sql", dialect=dialect, source="t", keep=["row_number"])
    found = answers(text, rows, dialect)
    agree(found[[f"P({c})" for c in model.classes_]], model.predict_proba(rows), np.ones(60, dtype=bool))


def test_a_character_that_sql_does_not_have_is_refused():
    model = bk.NaiveBayes().fit(pd.DataFrame({"a": ["x\0y", "z"] * 5}), ["u", "v"] * 5)
    with pytest.raises(InputError, match="NUL"):
        bk.export(model, "sql", source="t")
    plain = bk.NaiveBayes().fit(pd.DataFrame({"a": ["x", "z"] * 5}), ["u", "v"] * 5)
    with pytest.raises(InputError, match="NUL"):
        bk.export(plain, "sql", source="t\0")


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_actions_reasons_and_kept_columns_are_those_of_predict_frame(dialect):
    frame, y = table()
    model = bk.NaiveBayes().fit(frame[["age", "sugar", "colour", "flag"]], y)
    rows = frame[["age", "sugar", "colour", "flag", "rooms"]].head(60)
    costs = {c: {"act": float(i), "wait": 2.0 - i} for i, c in enumerate(model.classes_)}
    text = bk.export(model, "sql", dialect=dialect, source="t", keep=["row_number", "rooms"], costs=costs, reasons=2)
    found = answers(text, rows, dialect)
    wanted = model.predict_frame(rows, keep=["rooms"], costs=costs, reasons=2)
    assert list(found.columns) == ["row_number", *wanted.columns]
    for name in wanted.columns:
        if wanted[name].dtype.kind == "f":
            np.testing.assert_allclose(found[name], wanted[name], atol=CLOSE)
        elif name == "reasons":  # the columns that speak most for the prediction
            told = model.explain(rows.drop(columns="rooms"))
            for i, text in enumerate(found[name]):
                shares = dict(zip(told.parts, told.evidence(i)[1:], strict=True))
                best = sorted((n for n in shares if shares[n] > 0), key=lambda n: -shares[n])[:2]
                assert text == ", ".join(f"{n} {shares[n]:+.2f}" for n in best)
        else:
            assert found[name].tolist() == wanted[name].tolist()


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_what_the_model_refuses_is_null(dialect):
    rows = pd.DataFrame({"x": [1.0, 2.0, np.inf, 3.0], "c": ["a", "b", "a", "never"]})
    model = bk.NaiveBayes(unseen="error").fit(rows.head(2), ["u", "v"])
    found = answers(bk.export(model, "sql", dialect=dialect, source="t", keep=["row_number"]), rows, dialect)
    assert found["P(u)"].isna().tolist() == [False, False, True, True]
    assert found["prediction"].isna().tolist() == [False, False, True, True]


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"target": "excel"}, "choose one of sql"),
        ({"target": "sql"}, "give source"),
        ({"target": "sql", "source": ""}, "name of a table"),
        ({"target": "sql", "source": "t", "dialect": "oracle"}, "choose one of duckdb"),
        ({"target": "sql", "source": "t", "keep": ["prediction"]}, "name of an answer"),
        ({"target": "sql", "source": "t", "reasons": -1}, "number of columns"),
        ({"target": "python", "source": "t"}, "belong to SQL"),
        ({"target": "onnx", "reasons": 2}, "belong to SQL"),
        ({"target": "sql", "source": "t", "missing": "?"}, "belongs to onnx"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, match):
    model = bk.NaiveBayes().fit([[1.0], [2.0]], ["a", "b"])
    with pytest.raises(InputError, match=match):
        bk.export(model, **settings)


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match="fitted classifier of this library"):
        bk.export("model", "python")


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgresql", "spark"])
def test_more_columns_than_a_query_can_have_are_refused(dialect):
    model = bk.NaiveBayes().fit(np.random.default_rng(0).normal(size=(6, 2000)), ["a", "b"] * 3)
    with pytest.raises(InputError, match=r"2,000 columns.*onnx, javascript or python.*FeatureSelector"):
        bk.export(model, "sql", dialect=dialect, source="t")


def test_ten_thousand_levels_are_joined():
    levels = [f"level {i}" for i in range(10_000)]
    rows = pd.DataFrame({"id": levels})
    model = bk.NaiveBayes().fit(rows, np.arange(10_000) % 3)
    found = answers(bk.export(model, "sql", source="t", keep=["row_number"]), rows.head(50), "duckdb")
    agree(found[[f"P({c})" for c in model.classes_]], model.predict_proba(rows.head(50)), np.ones(50, dtype=bool))
