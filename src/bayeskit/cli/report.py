"""The command that writes a page: report."""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayeskit.cli.evaluate import ByGroup, EvaluationOptions, Task, measures
from bayeskit.cli.options import ModelName, Settings, Target, command, split_names
from bayeskit.cli.output import MODEL, REPORT, Force, Saying, check_output, command_line, notes
from bayeskit.cli.sources import Rows, Taken

if TYPE_CHECKING:
    from bayeskit.evaluation.evaluation import Evaluation
    from bayeskit.reports.provenance import Provenance


def register(app: typer.Typer) -> None:
    command(app, report, "bayeskit report people.csv --target income -o people.html")


def report(
    target: Target,
    rows: Rows,
    options: EvaluationOptions,
    settings: Settings,
    say: Saying,
    model: ModelName = "auto",
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="The heading of the page.")] = None,
    note: Annotated[str, typer.Option(help="What the model is for, in words; it stands on the page.")] = "",
    interest: Annotated[
        str | None, typer.Option(help="The class whose calibration and precision are drawn; the rarest unless given.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="A .bayes file for the model that was judged, fitted to all rows.")
    ] = None,
    embed: Annotated[
        bool,
        typer.Option(
            "--rows/--no-rows",
            help="Whether learned rows may be part of the page: values of the hardest cases, and neighbours.",
        ),
    ] = False,
    by: ByGroup = None,
    coverage: Annotated[
        float | None,
        typer.Option(help="Judge sets of classes that hold the true one in this share of the rows, by class and size."),
    ] = None,
    force: Force = False,
) -> None:
    """Judge a model and write what was found as one HTML page, with the model to try out.

    The model is AutoBayes unless another is named: it tries many and pools them. All rows are judged, in passes over
    files that take much memory; --sample draws some.
    """
    from bayeskit.reports.page import Page

    check_output(output, REPORT, [rows.place, options.costs], force, rows.sql)
    if save is not None:
        check_output(save, MODEL, [rows.place, options.costs], force, rows.sql)
    task = Task(model, target, rows, options, settings, split_names(by), coverage)
    pages: list[Page] = []

    with notes(say) as messages:

        def write_page(found: Evaluation, taken: Taken) -> None:
            assert found.model is not None  # its warnings belong on the page
            origin = provenance(task, taken, note, tuple(messages))
            pages.append(Page.of(found, title, embed, origin, interest))
            pages[0].write(output)
            if save is not None:
                _save(found.model, save, taken)

        found = task.evaluate(say, write_page)
    page = pages[0]
    said = "\n".join(page.verdict.sentences)
    held = "\n".join(f"  {line}" for line in page.contents)
    data = {
        "verdict": page.verdict.sentences,
        **measures(found),
        "path": str(output),
        "model_file": None if save is None else str(save),
        "contains": list(page.contents),
        "notes": messages,
    }
    words = ("fit", *rows.words, "--target", target, "--model", model)
    then = command_line(*words) if save is None else command_line("predict", save, "NEW.csv")
    kept = "" if save is None else f"\nthe model is saved in {save}"
    say.answer(f"{said}\n\n{found}\n\nwritten to {output}; the page contains\n{held}{kept}", data, then)


def _save(model: Any, path: Path, taken: Taken) -> None:
    """The model that was judged, with where its rows came from."""
    from bayeskit.estimators.files import add_to_journal, warn_of_journal
    from bayeskit.estimators.wrapper import core
    from bayeskit.model.journal import Origin

    warn_of_journal(path)
    origin = Origin(*taken.files[0]) if len(taken.files) == 1 else Origin()
    add_to_journal(model, "fit", core(model).model_.counted.weight, origin).save(path)


def provenance(task: Task, taken: Taken, note: str, warned: tuple[str, ...]) -> Provenance:
    """Where the rows came from and how they were judged, for the page."""
    from bayeskit.engines.reading import without_password
    from bayeskit.model.journal import Origin
    from bayeskit.reports.provenance import Provenance

    rows, options, by = task.rows, task.options, task.by
    excluded = dict.fromkeys(split_names(rows.ignore), "not read (--ignore)")
    beside = [name for name in split_names(rows.ignore) if name in by]
    excluded |= dict.fromkeys(beside, "no feature, only groups rows (--ignore, --by)")
    excluded |= {options.groups: "keeps rows together (--groups)"} if options.groups else {}
    excluded |= {options.weight: "the weight of a row (--weight)"} if options.weight else {}
    given = {"costs": options.costs and f"Costs({str(options.costs)!r})"}
    given |= {"reject": "" if options.reject is None else repr(options.reject)}
    given |= {"groups": options.groups and repr(options.groups)}
    given |= {"sample_weight": options.weight and repr(options.weight)}
    read = "X" if rows.place == "-" else _python(taken)
    values = "{" + ", ".join(f"{name!r}: {read}[{name!r}]" for name in by) + "}"
    given |= {"by": (values if beside else repr(list(by))) if by else ""}
    return Provenance(
        note,
        without_password(command_line(*sys.argv[1:])),
        tuple(Origin(*one) for one in taken.files),
        f"{read}.drop_columns({beside!r})" if beside else read,
        repr(task.target),
        {name: value for name, value in given.items() if value},
        taken.read if taken.sampled else None,
        taken.numbers,
        excluded,
        warned,
    )


def _python(taken: Taken) -> str:
    """The rows as Python reads them."""
    from bayeskit.engines.reading import Reading

    source = replace(taken.source, place=taken.source.shown if taken.source.place else "", watch=None)
    plain = Reading()
    changed = [f.name for f in fields(source) if f.compare and getattr(source, f.name) != getattr(plain, f.name)]
    reading = f"Reading({', '.join(f'{name}={getattr(source, name)!r}' for name in changed)})"
    if taken.streamed:
        return reading
    most = f", most={len(taken.table)}, seed={taken.seed}" if taken.sampled else ""
    return f"read_rows({reading}{most})[0]"
