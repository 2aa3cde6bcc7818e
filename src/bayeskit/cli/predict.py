"""Commands that predict: predict, explain."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from bayeskit.arrays import ColumnNames, PriorLike, TableLike
from bayeskit.cli.options import CostsFile, ModelFile, Prior, Reject, command, prior_of, split_names
from bayeskit.cli.output import ANSWERS, REPORT, Force, Saying, check_output, command_line, notes, standard_output
from bayeskit.cli.sources import Cluster, Rows, open_source, with_dates
from bayeskit.errors import FileError, InputError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from bayeskit.model.batch_predictor import BatchPredictor

Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        help="A .csv, .xlsx, .parquet or .jsonl file, on Spark a folder; else CSV (or JSON) on standard output.",
    ),
]


def register(app: typer.Typer) -> None:
    command(app, predict, "bayeskit predict people.bayes new.parquet --keep id --reasons 3 -o answers.csv")
    command(app, explain, "bayeskit explain people.bayes new.csv --row 7 --top 5")


@dataclass(frozen=True)
class Asker:
    """The model of a file, read without scikit-learn, whose start would take longer than most answers."""

    model: Any
    kind: str
    pool: Any = None

    @classmethod
    def of(cls, file: Path) -> Asker:
        from bayeskit.storage import container, identifiers, model_file, network_file

        kind = container.peek(file).get("model")
        if kind == network_file.KIND:
            raise InputError(f"{file}: this is a network, not a classifier; ask it with bayeskit network query")
        if kind in identifiers.BUNDLES.values():
            import bayeskit as bk
            from bayeskit.estimators.wrapper import core

            wrapper: Any = bk.load(file)
            return cls(core(wrapper).model_, type(wrapper).__name__, wrapper)
        model, kind, _ = model_file.load(file)
        return cls(model, kind)

    def about(self, source: TableLike, keep: ColumnNames = (), jobs: int | None = None) -> BatchPredictor:
        from bayeskit.model.batch_predictor import BatchPredictor

        rows = with_dates(source, self.model.schema.names, () if keep == "all" else keep)
        return BatchPredictor.of(self.model, rows, self.kind, keep, jobs, self.pool)

    def some_rows(self, source: TableLike, row: int, count: int) -> pa.Table:
        """A few rows of a source from one, its number from 1, on."""
        from bayeskit.estimators.frames import some_rows

        return some_rows(self.about(source), row - 1, count)


def predict(
    file: ModelFile,
    rows: Rows,
    cluster: Cluster,
    say: Saying,
    output: Output = None,
    keep: Annotated[list[str] | None, typer.Option(help="Columns to carry through: id, or all.")] = None,
    prior: Prior = None,
    costs: CostsFile = None,
    reject: Reject = None,
    evidence: Annotated[bool, typer.Option("--evidence", help="Add log p(row): how usual a row is.")] = False,
    coverage: Annotated[
        float | None,
        typer.Option(help="Add the set of classes that holds the true one in this share of the rows (fit --coverage)."),
    ] = None,
    novelty: Annotated[
        bool, typer.Option("--novelty", help="Add a p-value: how usual a row is (fit --coverage).")
    ] = False,
    reasons: Annotated[
        int, typer.Option(help="Add so many columns that speak most for or against the prediction, in words.", min=0)
    ] = 0,
    digits: Annotated[
        int | None, typer.Option("--round", help="Round probabilities, costs and evidence to so many places.", min=0)
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", help="Of standard output: csv, json or jsonl (a line for each row).")
    ] = None,
    spreadsheet_safe: Annotated[
        bool,
        typer.Option(
            "--spreadsheet-safe",
            help="In CSV, put ' before texts that a spreadsheet would run: those that begin with = + - @ or a tab.",
        ),
    ] = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads, -1 for all cores.")] = -1,
    force: Force = False,
) -> None:
    """Predict every row: the class, the probability of each, and if wished the action, the evidence and reasons."""
    import bayeskit as bk
    from bayeskit.engines.spark import save_frame
    from bayeskit.estimators.frames import predict_file, predict_frame

    if cluster.engine == "spark":
        _check_folder(output)
    elif output is not None:
        check_output(output, ANSWERS, [file, rows.place, costs], force, rows.sql)
    shape = _form(form, output, say)
    is_csv = shape == "csv" if output is None else output.lower().endswith(".csv")
    if spreadsheet_safe and (cluster.engine == "spark" or not is_csv):
        raise UsageError(
            "--spreadsheet-safe is for CSV that is written here; leave it out, or name a .csv file (--output)"
        )
    asker = Asker.of(file)
    given = prior_of(prior, asker.model.classes.tolist())
    wanted: dict[str, Any] = {
        "costs": None if costs is None else bk.Costs(costs),
        "reject": reject,
        "evidence": evidence,
        "reasons": reasons,
    }
    if asker.kind == "RiskClassifier":  # by name, as the class would bring scikit-learn
        asker.pool.check_acts()
        wanted["costs"] = wanted["costs"] or asker.pool.costs_
        wanted["reject"] = asker.pool.reject_cost if reject is None else reject
    if asker.kind == "Conformal":
        wanted |= {"coverage": asker.pool.coverage if coverage is None else coverage, "novelty": novelty}
    elif coverage is not None or novelty:
        raise UsageError(
            f"{file} is a {asker.kind}, which promises no coverage; fit it anew with --coverage, bayeskit fit ... "
            f"--coverage {coverage or 0.9:g}"
        )
    kept = "all" if split_names(keep) == ("all",) else split_names(keep)
    with notes(say) as messages, open_source(rows, say, "predicting", cluster) as source:
        asked = asker.about(source, kept, jobs)
        if cluster.engine == "spark":
            done = save_frame(predict_frame(asked, source, kept, given, wanted), str(output), source.count())
        else:
            shape = "safe csv" if spreadsheet_safe else shape
            done = predict_file(asked, output or standard_output(), kept, given, shape, digits=digits, **wanted)
    if output is not None:
        names = asked.table.fields.names if kept == "all" else kept
        beside = [name for name in names if name not in asker.model.schema.names]
        beside += [name for name in split_names(rows.ignore) if name not in beside]
        words = replace(rows, ignore=beside or None).words
        then = command_line("explain", file, *words, "--row", 1)
        say.answer(
            f"{done:,} rows answered in {output}", {"answers": str(output), "rows": done, "notes": messages}, then
        )


def _form(given: str | None, output: str | None, say: Saying) -> str | None:
    """How answers are written to standard output; of a file its name says it."""
    if output is not None:
        if given is not None:
            raise UsageError("--format is of standard output; a file is written as its name says (--output)")
        return None
    forms = {"csv": "csv", "json": "json", "jsonl": "json lines"}
    if given is not None and given not in forms:
        raise UsageError(f"--format {given!r}: choose of {', '.join(forms)}")
    return forms[given or ("json" if say.json else "csv")]


def _check_folder(output: str | None) -> None:
    """Refuse what executors cannot write to, before they are called."""
    if output is None:
        raise UsageError("on Spark the executors write the answers: name a folder for them (--output)")
    if "://" not in output and os.path.lexists(output):
        raise FileError(f"{output}: it is there already, and Spark writes a folder; remove it, or choose another name")


def explain(
    file: ModelFile,
    rows: Rows,
    say: Saying,
    row: Annotated[int, typer.Option(help="Which row, from 1.", min=1)] = 1,
    count: Annotated[int, typer.Option(help="How many rows from there on.", min=1)] = 1,
    top: Annotated[int | None, typer.Option(help="Only so many columns, those that matter most.", min=1)] = None,
    prior: Prior = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A page (.html) for the row; of several rows a folder of pages."),
    ] = None,
    force: Force = False,
) -> None:
    """Say what each column of a row adds for each class, in natural logarithms that add up."""
    import bayeskit as bk

    pages = _pages(output, row, count)
    for page in pages:
        check_output(page, REPORT, [file, rows.place], force, rows.sql)
    asker = Asker.of(file)
    labels = asker.model.classes.tolist()
    with notes(say) as messages, open_source(rows, say, "reading") as source:
        chosen = asker.some_rows(source, row, count)
        model = cast("bk.NaiveBayes | bk.AutoBayes", bk.load(file))
        found = model.explain(chosen, top, prior_of(prior, labels))
        pages = pages[: len(found)]
        if pages:
            _write_pages(pages, model, chosen, prior_of(prior, labels), rows.place or "the query", row)
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
    then = command_line("counterfactual", file, *rows.words, "--row", row)
    written = f"\n\nwritten to {output}" if pages else ""
    say.answer(f"{text}{written}", {"rows": data, "pages": [str(page) for page in pages], "notes": messages}, then)


def _pages(output: Path | None, row: int, count: int) -> list[Path]:
    """The pages to write: one, or in a folder one for each row."""
    if output is None:
        return []
    if count == 1:
        return [output]
    if output.suffix:
        raise UsageError(f"{output}: of several rows name a folder, in which each has a page")
    output.mkdir(exist_ok=True)
    return [output / f"row-{row + i}.html" for i in range(count)]


def _write_pages(pages: list[Path], model: Any, chosen: TableLike, prior: PriorLike, place: str, row: int) -> None:
    from bayeskit.engines.reading import without_password
    from bayeskit.reports import cases
    from bayeskit.reports.page import write_sections

    found = model.explain(chosen, prior=prior)
    flips = model.counterfactual(chosen, prior)
    for i, page in enumerate(pages):
        head = cases.lead(found, i)
        title = f"Row {row + i} of {without_password(place)}"
        write_sections(page, cases.sections(found, i, flips), title, head)
