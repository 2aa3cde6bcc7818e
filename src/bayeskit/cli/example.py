"""The embedded example, visits to a clinic, and ``bayeskit demo``, which learns from it and explains one case."""

from __future__ import annotations

import sys
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TextIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import bayeskit as bk
from bayeskit.arrays import Array

DIAGNOSES = ("cold", "flu", "pneumonia")
PRIOR = (0.55, 0.30, 0.15)
TEMPERATURE = ((37.0, 0.4), (38.7, 0.6), (38.9, 0.8))
PULSE = ((76, 8), (90, 9), (101, 12))
COUGHS = ("none", "dry", "wet")
COUGH = ((0.45, 0.40, 0.15), (0.15, 0.65, 0.20), (0.03, 0.22, 0.75))
ACHES = (0.15, 0.80, 0.45)
AGE = ((35, 16), (38, 18), (62, 15))
MISSING = {"temperature": 0.08, "pulse": 0.15, "cough": 0.05}


def clinic(rows: int = 3000, seed: int = 7) -> pa.Table:
    """A table of invented visits; the diagnosis is the class.

    >>> clinic(2).column_names
    ['age', 'temperature', 'pulse', 'cough', 'aches', 'diagnosis']
    """
    rng = np.random.default_rng(seed)
    kind = rng.choice(len(DIAGNOSES), rows, p=PRIOR)

    def normal(parameters: tuple[tuple[float, float], ...], digits: int) -> Array:
        mean, deviation = np.array(parameters)[kind].T
        drawn: Array = rng.normal(mean, deviation).round(digits)
        return drawn

    cough = (rng.random(rows)[:, None] > np.cumsum(np.array(COUGH)[kind], axis=1)).sum(axis=1)
    columns = {
        "age": np.clip(normal(AGE, 0), 1, 99).astype(np.int64),
        "temperature": normal(TEMPERATURE, 1),
        "pulse": normal(PULSE, 0),
        "cough": np.array(COUGHS)[np.minimum(cough, len(COUGHS) - 1)],
        "aches": rng.random(rows) < np.array(ACHES)[kind],
        "diagnosis": np.array(DIAGNOSES)[kind],
    }
    missing = {name: rng.random(rows) < share for name, share in MISSING.items()}
    return pa.table({name: pa.array(values, mask=missing.get(name)) for name, values in columns.items()})


TARGET = "diagnosis"
NEXT = """
Next, with a table of your own:
  bayeskit report people.csv --target income    # judge AutoBayes on it, and write the page to try it out
  bayeskit fit people.csv --target income       # learn a model and save it as people.bayes
  make docs                                     # the guide, the course and the reference, in docs/_build/html"""


def demonstrate(out: TextIO | None = None, report: str | PathLike[str] = "report.html") -> None:
    """Run the demonstration, print what it finds, and write a report."""
    out = sys.stdout if out is None else out
    table = clinic()
    held = table.num_rows // 3
    with TemporaryDirectory() as folder:
        seen, unseen = Path(folder, "seen.parquet"), Path(folder, "unseen.parquet")
        pq.write_table(table.slice(held), seen)
        pq.write_table(table.slice(0, held), unseen)

        model = bk.NaiveBayes().fit(seen, TARGET)
        print(f"Learned {table.num_rows - held} visits from {seen.name} through DuckDB.\n", file=out)
        print(model.summary(), file=out)

        proba = model.predict_proba(unseen)
        answer = model.classes_[proba.argmax(axis=1)]
        truth = np.array(table.column(TARGET).slice(0, held).to_pylist(), dtype=object)
        common = max(float(np.mean(truth == c)) for c in model.classes_)
        print(f"\nOn {held} visits held out ({unseen.name}):", file=out)
        print(f"  accuracy {np.mean(answer == truth):.3f} (always the commonest diagnosis: {common:.3f})", file=out)
        found = bk.evaluate(bk.NaiveBayes(), table, TARGET)
        print(f"\n{found}", file=out)

        case = int(np.argmin(np.abs(proba.max(axis=1) - 0.8)))
        print(f"\nWhy visit {case} is called {answer[case]} (it was {truth[case]}), in natural logarithms:\n", file=out)
        print(model.explain(table.slice(case, 1)), file=out)

        saved = Path(folder, "clinic.bayes")
        model.save(saved)
        loaded = cast("bk.NaiveBayes", bk.load(saved))
        again = loaded.partial_fit(unseen, TARGET).forget(unseen, TARGET)
        same = "the same" if again.model_.digest == model.model_.digest else "NOT the same"
        print(f"\nSaved, loaded, taught the {held} held-out visits and made to forget them: {same} model,", file=out)
        print(f"digest {model.model_.digest[:16]}...", file=out)
        print(f"\nThe report: {bk.report(found, report)}", file=out)
    print(NEXT, file=out)
