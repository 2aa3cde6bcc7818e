"""Whether an installed bayeskit works: run as a script, in an empty folder, with nothing but what it requires."""

import importlib.metadata
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import bayeskit as bk
from bayeskit.cli.example import clinic

installed = Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("platlib"))
assert any(Path(bk.__file__).is_relative_to(place) for place in installed), bk.__file__
for name in bk.__all__:
    assert getattr(bk, name) is not None

rows = clinic(400)
new = rows.drop_columns(["diagnosis"])
models = {}
for name in (
    "NaiveBayes",
    "FullBayes",
    "TAN",
    "KDB",
    "AODE",
    "AJE",
    "NetworkBayes",
    "KNNBayes",
    "ProbabilityForest",
    "BoostedTrees",
):
    settings = {"metric": "gower"} if name == "KNNBayes" else {}
    model = models[name] = getattr(bk, name)(**settings).fit(rows, "diagnosis")
    proba = model.predict_proba(new)
    assert proba.shape == (400, 3), name
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert np.mean(model.predict(new) == rows["diagnosis"].to_numpy(zero_copy_only=False)) > 0.8, name
pool = bk.AutoBayes(max_candidates=2).fit(rows, "diagnosis")
assert pool.predict_proba(new).shape == (400, 3)

naive = models["NaiveBayes"]
terms = naive.explain(new)
np.testing.assert_allclose(terms.prior + terms.terms.sum(axis=1), naive.predict_joint_log_proba(new))
half = bk.NaiveBayes().fit(rows.slice(0, 200), "diagnosis")
assert half.partial_fit(rows.slice(200), "diagnosis").model_.digest == naive.model_.digest
assert bk.evaluate(bk.NaiveBayes(), rows, "diagnosis", 5).accuracy > 0.8
naive.save("clinic.bayes")
assert bk.load("clinic.bayes").model_.digest == naive.model_.digest
assert "SELECT" in bk.export(naive, "sql", source="t")
bk.report(bk.evaluate(bk.NaiveBayes(), rows, "diagnosis", 3), "report.html")
naive.summary()

pq.write_table(rows, "clinic.parquet")
shell = Path(sysconfig.get_path("scripts"), "bayeskit")
fit = ["fit", "clinic.parquet", "--target", "diagnosis", "-o", "again.bayes"]
for command in (fit, ["predict", "again.bayes", "clinic.parquet"]):
    done = subprocess.run([shell, *command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
assert bk.load("again.bayes").model_.digest == naive.model_.digest
print(f"bayeskit {importlib.metadata.version('bayeskit')} works with {len(bk.__all__)} names")
