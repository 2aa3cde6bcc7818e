"""The command that watches: drift."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayeskit.cli.options import ModelFile, Weight, command, load_classifier, split_names
from bayeskit.cli.output import REPORT, Force, Saying, check_output, command_line, notes
from bayeskit.cli.sources import Rows, open_source, with_dates
from bayeskit.errors import UsageError

if TYPE_CHECKING:
    from bayeskit.evaluation.drift import Drift

FOUND = 5  # the exit code where something was found that --fail-on names
CAUSES = ("any", "moderate", "large", "missing", "unseen", "classes")
SHIFTED = 0.1  # total variation of class shares from which they count as moved


def register(app: typer.Typer) -> None:
    command(app, drift, "bayeskit drift people.bayes january.parquet --fail-on moderate,unseen -o drift.html")


def drift(
    file: ModelFile,
    rows: Rows,
    say: Saying,
    weight: Weight = None,
    level: Annotated[float, typer.Option(help="The chance of a false alarm, of all tests together.")] = 0.05,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(help=f"End with exit code {FOUND} if it is found: {', '.join(CAUSES)}."),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A page (.html) to write.")] = None,
    force: Force = False,
) -> None:
    """Say whether new rows, or those of another model file, are still like the rows a model has learned.

    No old row is needed. --fail-on any: a column or its missing values moved; moderate, large: by so much (population
    stability index 0.1, 0.25); missing: their share moved; unseen: a level the model does not know; classes: their
    shares moved by 0.1 (total variation, not tested).
    """
    import bayeskit as bk
    from bayeskit.estimators.wrapper import core

    causes = split_names(fail_on)
    for cause in causes:
        if cause not in CAUSES:
            raise UsageError(f"--fail-on {cause!r}: choose of {', '.join(CAUSES)}")
    if not 0 < level < 1:
        raise UsageError(f"--level {level:g}: give a chance between 0 and 1, as 0.05")
    if output is not None:
        check_output(output, REPORT, [file, rows.place], force, rows.sql)
    model: Any = load_classifier(file)
    with notes(say) as messages:
        if rows.place is not None and rows.place.endswith(".bayes"):
            found = bk.drift(model, load_classifier(Path(rows.place)), level=level)
        else:
            with open_source(rows, say, "reading") as source:
                source = with_dates(source, core(model).model_.schema.names)
                found = bk.drift(model, source, sample_weight=weight, level=level)
    if output is not None:
        bk.report(found, output, f"Drift: {rows.place or 'the query'} against {file.name}")
    failed = _causes(found, causes)
    then = command_line("update", file, "LABELLED.csv") if found else command_line("predict", file, "NEW.csv")
    written = "" if output is None else f"\n\nwritten to {output}"
    say.answer(
        f"{found}{written}", {**found.data, "failed_on": failed, "notes": [*found.data["notes"], *messages]}, then
    )
    if failed:
        raise typer.Exit(FOUND)


def _causes(found: Drift, causes: tuple[str, ...]) -> list[str]:
    """Those of the causes to fail that were found."""
    strengths = {column.strength for column in found.columns}
    shares = 0.0 if found.classes is None else float(abs(found.classes.new - found.classes.old).sum() / 2)
    happened = {
        "any": bool(found),
        "moderate": bool(strengths & {"moderate", "large"}),
        "large": "large" in strengths,
        "missing": any(column.missing_moved for column in found.columns),
        "unseen": any(column.unseen > 0 for column in found.columns),
        "classes": shares >= SHIFTED,
    }
    return [cause for cause in causes if happened[cause]]
