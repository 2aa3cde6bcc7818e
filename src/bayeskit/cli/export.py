"""The command that writes a model for another place: export."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from bayeskit.cli.options import CostsFile, ModelFile, command, split_names
from bayeskit.cli.output import Force, Kind, Saying, check_output

ENDINGS = {"sql": (".sql",), "javascript": (".js", ".mjs"), "python": (".py",), "onnx": (".onnx",)}


def register(app: typer.Typer) -> None:
    command(app, export, "bayeskit export people.bayes --to sql --dialect duckdb --source people -o score.sql")


def export(
    file: ModelFile,
    say: Saying,
    to: Annotated[str, typer.Option("--to", help="sql, javascript, python or onnx.", show_default=False)],
    output: Annotated[str | None, typer.Option("--output", "-o", help="A file; standard output unless given.")] = None,
    dialect: Annotated[str, typer.Option(help="Of SQL: duckdb, sqlite, postgresql or spark.")] = "duckdb",
    source: Annotated[str | None, typer.Option(help="The table or view that SQL reads, with its schema.")] = None,
    keep: Annotated[str | None, typer.Option(help="Columns that SQL selects too: id,name")] = None,
    costs: CostsFile = None,
    reasons: Annotated[int, typer.Option(help="Columns that speak most for the prediction; in SQL.")] = 0,
    missing: Annotated[str, typer.Option(help="The text that stands for a missing one; in ONNX.")] = "",
    force: Force = False,
) -> None:
    """Write a model as SQL, a JavaScript module, a Python file or ONNX, which score rows without bayeskit."""
    import bayeskit as bk
    from bayeskit.replacement import replace_file

    if output is not None:
        endings: Mapping[str, Kind] = dict.fromkeys(ENDINGS.get(to, (Path(output).suffix,)), is_export)
        check_output(output, endings, [file, costs], force)
    written: str | bytes = bk.export(
        bk.load(file),
        to,
        dialect=dialect,
        source=source,
        keep=split_names([keep] if keep else None),
        costs=None if costs is None else bk.Costs(costs),
        reasons=reasons,
        missing=missing,
    )
    if output is None:
        typer.echo(written, nl=False)
        return
    raw = written if isinstance(written, bytes) else written.encode()
    replace_file(output, [raw])
    say.answer(f"{to} of {len(raw):,} bytes in {output}", {"target": to, "output": output, "bytes": len(raw)})


def is_export(path: Path) -> bool:
    """Whether a file is one that this command wrote."""
    from bayeskit.targets.door import MARK
    from bayeskit.targets.onnx import START

    with open(path, "rb") as file:
        begin = file.read(100)
    return MARK.encode() in begin or begin.startswith(START)
