"""Commands that ask what if, and draw: counterfactual, ask, nomogram, plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import bayeskit as bk
from bayeskit.arrays import Json, Label
from bayeskit.cli.options import (
    CostsFile,
    ModelFile,
    Prior,
    command,
    exact,
    load_classifier,
    parse_settings,
    prior_of,
    split_names,
)
from bayeskit.cli.output import DRAWING, Force, Saying, check_output, command_line, notes
from bayeskit.cli.predict import Asker
from bayeskit.cli.sources import Rows, open_source
from bayeskit.data.frame import align, shorten
from bayeskit.errors import InputError, UsageError

if TYPE_CHECKING:
    from bayeskit.plots.style import Display

Picture = Annotated[Path | None, typer.Option("--output", "-o", help="An .svg or .png file.")]
Target = Annotated[str | None, typer.Option("--class", help="The class it is about; needed with more than two.")]
Rival = Annotated[str | None, typer.Option(help="The class it is held against; needed with more than two.")]


@dataclass(frozen=True)
class RowRange:
    """Which rows."""

    row: Annotated[int, typer.Option(help="Which row, from 1.", min=1)] = 1
    count: Annotated[int, typer.Option(help="How many rows from there on.", min=1)] = 1


def register(app: typer.Typer) -> None:
    command(app, counterfactual, "bayeskit counterfactual people.bayes new.csv --row 7 --hold age,sex")
    command(app, ask, "bayeskit ask people.bayes new.csv --row 7 --costs costs.csv --price scan=5,blood=1")
    command(app, nomogram, "bayeskit nomogram people.bayes --class high --rival low -o nomogram.svg")
    command(app, plot, "bayeskit plot people.bayes --column age -o age.svg")


def counterfactual(
    file: ModelFile,
    rows: Rows,
    chosen: RowRange,
    say: Saying,
    hold: Annotated[list[str] | None, typer.Option(help="Columns that stay as they are: age,sex")] = None,
    columns: Annotated[int, typer.Option(help="Change one column, or two together.", min=1, max=2)] = 1,
    prior: Prior = None,
) -> None:
    """Say what would change the decision of a row: in each column the nearest value that does."""
    asker = Asker.of(file)
    given = prior_of(prior, asker.model.classes.tolist())
    with notes(say) as messages, open_source(rows, say, "reading") as source:
        table = asker.some_rows(source, chosen.row, chosen.count)
        model: Any = bk.load(file)
        found = model.counterfactual(table, given, hold=split_names(hold), columns=columns)
    lines = [{**line, "row": chosen.row + line["row"]} for line in found.frame("pyarrow").to_pylist()]
    text = _changes(lines, chosen, found.untried)
    then = command_line("explain", file, *rows.words, "--row", chosen.row)
    say.answer(text, {"changes": lines, "untried": list(found.untried), "notes": messages}, then)


def ask(
    file: ModelFile,
    rows: Rows,
    chosen: RowRange,
    say: Saying,
    costs: CostsFile = None,
    price: Annotated[list[str] | None, typer.Option(help="What it costs to know a column: scan=5,blood=1")] = None,
    column: Annotated[list[str] | None, typer.Option(help="Only these columns; else all that are missing.")] = None,
    prior: Prior = None,
) -> None:
    """Say which missing value of a row is worth asking for: what knowing it is expected to save, less its price."""
    asker = Asker.of(file)
    given, prices = prior_of(prior, asker.model.classes.tolist()), _prices(price)
    table_of_costs = None if costs is None else bk.Costs(costs)
    with notes(say) as messages, open_source(rows, say, "reading") as source:
        table = asker.some_rows(source, chosen.row, chosen.count)
        model: Any = bk.load(file)
        asked = split_names(column) or None
        found = [
            model.value_of_information(table.slice(i, 1), table_of_costs, prices, asked, given)
            for i in range(table.num_rows)
        ]
    data = [
        {
            "row": chosen.row + i,
            "action": each.action,
            "expected_cost": each.cost,
            "ask": each.best,
            "columns": each.frame("pyarrow").to_pylist(),
            "left_out": list(each.left_out),
        }
        for i, each in enumerate(found)
    ]
    advice = [f"ask for {each.best}" if each.best else "nothing is worth asking for" for each in found]
    pairs = zip(found, advice, strict=True)
    text = "\n\n".join(f"row {chosen.row + i}\n{each}\n{first}" for i, (each, first) in enumerate(pairs))
    then = command_line("explain", file, *rows.words, "--row", chosen.row)
    say.answer(text, {"rows": data, "notes": messages}, then)


def _prices(given: list[str] | None) -> dict[str, float]:
    """Prices by column, from texts such as scan=5."""
    return {name: float(exact(text, "--price")) for name, text in parse_settings(given or (), "--price").items()}


def nomogram(
    file: ModelFile,
    say: Saying,
    target: Target = None,
    rival: Rival = None,
    prior: Prior = None,
    output: Picture = None,
    most: Annotated[int, typer.Option(help="Columns to draw, those with the most points.", min=1)] = 12,
    force: Force = False,
) -> None:
    """Points for every value of every column, which add up to the odds of a class: to read off by hand."""
    if output is not None:
        check_output(output, DRAWING, [file], force)
    model: Any = load_classifier(file, "draw it with bayeskit network draw")
    labels = model.classes_.tolist()
    one, other = (None if label is None else label_of(label, labels) for label in (target, rival))
    with notes(say) as messages:
        found = model.nomogram(one, other, prior_of(prior, labels))
        if output is not None:
            save_picture(found.plot(most), output)
    written = "" if output is None else f"\n\ndrawn in {output}"
    data = {"points": found.frame("pyarrow").to_pylist(), "picture": None if output is None else str(output)}
    then = command_line("explain", file, "NEW.csv", "--row", 1)
    say.answer(f"{found}{written}", {**data, "notes": messages}, then)


def plot(
    file: ModelFile,
    rows: Rows,
    say: Saying,
    output: Annotated[Path, typer.Option("--output", "-o", help="An .svg or .png file.", show_default=False)],
    column: Annotated[str | None, typer.Option(help="Draw p(value | class) of this column.")] = None,
    row: Annotated[int, typer.Option(help="Draw what the columns of this row say, from 1.", min=1)] = 1,
    target: Annotated[
        str | None, typer.Option("--class", help="The class a row is drawn for; the predicted one.")
    ] = None,
    force: Force = False,
) -> None:
    """Draw a column of a model by class, or, with rows, the way from the prior to the posterior of one of them."""
    if (column is None) == (rows.place is None and rows.sql is None):
        raise UsageError("name a column of the model (--column), or rows to draw one of, and not both")
    check_output(output, DRAWING, [file, rows.place], force, rows.sql)
    model: Any = load_classifier(file, "draw it with bayeskit network draw")
    with notes(say) as messages:
        if column is not None:
            columns = (model.reader_ if isinstance(model, bk.AutoBayes) else model).model_.schema.names
            if column not in columns:
                known = ", ".join(columns[:12])
                raise InputError(f"{file}: there is no column {column!r} (there are: {known})")
            save_picture(model.marginal(column).plot(), output)
        else:
            with open_source(rows, say, "reading") as source:
                table = Asker.of(file).some_rows(source, row, 1)
            label = None if target is None else label_of(target, model.classes_.tolist())
            save_picture(model.explain(table).plot(0, label), output)
    subject = f"column {column}" if column is not None else f"row {row}"
    then = command_line("explain", file, *(rows.words or ["NEW.csv"]), "--row", row)
    say.answer(f"{subject}; drawn in {output}", {"picture": str(output), "notes": messages}, then)


def _changes(lines: Sequence[Json], chosen: RowRange, untried: Sequence[str]) -> str:
    """The changes as a table, and the rows that no change turns."""
    head = [["row", "column", "from", "to", "decision", "P", "distance"]]
    body = [
        [
            str(line["row"]),
            *(shorten(line[name]) for name in ("column", "value", "becomes")),
            f"{line['before']} → {line['after']}",
            *("" if line[name] is None else f"{line[name]:.3g}" for name in ("probability", "distance")),
        ]
        for line in lines
    ]
    fixed = sorted({*range(chosen.row, chosen.row + chosen.count)} - {line["row"] for line in lines})
    said = [align(head + body, 4)] if body else []
    said += [f"no change of so few columns turns row {', '.join(map(str, fixed))}"] if fixed else []
    return "\n\n".join([*said, *([f"not tried: {', '.join(map(shorten, untried[:8]))}"] if untried else [])])


def label_of(text: str, labels: Sequence[Label]) -> Label:
    """A class by how it is written."""
    written = {str(label): label for label in labels}
    if text not in written:
        raise InputError(f"{text!r} is not a class (there are: {', '.join(list(written)[:20])})")
    return written[text]


def save_picture(display: Display, path: Path) -> None:
    """A figure as a file, whole or not at all, the same bytes every time."""
    import io

    import matplotlib as mpl
    import matplotlib.pyplot as plt

    from bayeskit.replacement import replace_file

    kind = path.suffix.lower()[1:]
    about = {"Creator": "bayeskit", "Date": None} if kind == "svg" else {"Software": "bayeskit"}
    held = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "bayeskit", "svg.fonttype": "none"}):
        display.figure_.savefig(held, format=kind, dpi=150, metadata=about)
    plt.close(display.figure_)
    replace_file(str(path), [held.getvalue()])
