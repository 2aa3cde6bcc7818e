"""Commands that ask a model: predict, explain."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bayeskit.cli.commands import command
from bayeskit.cli.options import CostsFile, ModelFile, Prior, listed, prior_of
from bayeskit.cli.output import Saying, notes
from bayeskit.cli.places import Rows, opened

Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="A .parquet or .csv file; CSV on standard output unless given."),
]


def register(app: typer.Typer) -> None:
    command(app, predict, "bayeskit predict people.bayes new.parquet --keep id --reasons 3 -o answers.csv")
    command(app, explain, "bayeskit explain people.bayes new.csv --row 7 --top 5")


def predict(
    file: ModelFile,
    rows: Rows,
    say: Saying,
    output: Output = None,
    keep: Annotated[list[str] | None, typer.Option(help="Columns to carry through: id, or all.")] = None,
    prior: Prior = None,
    costs: CostsFile = None,
    evidence: Annotated[bool, typer.Option("--evidence", help="Add log p(row): how usual a row is.")] = False,
    reasons: Annotated[int, typer.Option(help="Add so many columns that speak most for the prediction.", min=0)] = 0,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads, -1 for all cores.")] = -1,
) -> None:
    """Predict every row: the class, the probability of each, and if wished the action, the evidence and reasons."""
    import bayeskit as bk
    from bayeskit.estimators.frames import predicted_file

    classifier = bk.load(file).set_params(n_jobs=jobs)
    given = prior_of(prior, classifier.classes_.tolist())
    table = None if costs is None else bk.Costs(costs)
    kept = "all" if listed(keep) == ("all",) else listed(keep)
    to = output or sys.stdout.buffer
    with notes(say) as told, opened(rows, say, "predicting") as source:
        done = predicted_file(classifier, source, to, kept, given, costs=table, evidence=evidence, reasons=reasons)
    if output is not None:
        say.answer(f"{done:,} rows answered in {output}", {"answers": str(output), "rows": done, "notes": told})


def explain(
    file: ModelFile,
    rows: Rows,
    say: Saying,
    row: Annotated[int, typer.Option(help="Which row, from 0.", min=0)] = 0,
    count: Annotated[int, typer.Option(help="How many rows from there on.", min=1)] = 1,
    top: Annotated[int | None, typer.Option(help="Only so many columns, those that matter most.", min=1)] = None,
    prior: Prior = None,
) -> None:
    """Say what each column of a row tells for each class, in natural logarithms that add up."""
    import bayeskit as bk
    from bayeskit.estimators.frames import some_rows

    classifier = bk.load(file)
    labels = classifier.classes_.tolist()
    with notes(say) as told, opened(rows, say, "reading") as source:
        some = some_rows(classifier, source, row, count)
        found = classifier.explain(some, top, prior_of(prior, labels))
    data = [
        {
            "row": row + i,
            "prior": dict(zip(labels, found.prior, strict=True)),
            "parts": [
                {"column": part, "value": value, "terms": dict(zip(labels, terms.tolist(), strict=True))}
                for part, value, terms in zip(found.parts, found.values[i], found.terms[i], strict=True)
            ],
            "probability": dict(zip(labels, found.proba[i].tolist(), strict=True)),
        }
        for i in range(len(found))
    ]
    text = "\n\n".join(f"row {row + i}\n{found.row(i)}" for i in range(len(found)))
    say.answer(text, {"rows": data, "notes": told})
