"""The commands by name, as one program of typer's."""

from __future__ import annotations

from typing import Annotated

import typer

from bayeskit.cli import drift, evaluate, export, fit, inspect, networks, pictures, predict, report

EPILOG = (
    "Exit codes: 0 done; 2 wrong usage; 3 the data or the model was refused; "
    "4 a file could not be read or written; 5 drift was found that --fail-on names; 130 interrupted."
)

app = typer.Typer(
    name="bayeskit",
    help="Probabilities one can trust, from any table: learn, forget, predict, explain, decide.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from bayeskit import __version__

        print(f"bayeskit {__version__}")
        raise typer.Exit


@app.callback()
def _begin(
    version: Annotated[
        bool, typer.Option("--version", help="Say which version this is.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Probabilities one can trust, from any table: learn, forget, predict, explain, decide."""


for group in (fit, predict, pictures, report, evaluate, drift, networks, inspect, export):
    group.register(app)
