"""The ``bayeskit`` command: every command by name, and what an error means to a shell."""

from __future__ import annotations

import io
import re
import sys
from typing import Annotated

import typer

from bayeskit.cli import drift, evaluate, export, fit, inspect, networks, pictures, predict, report

EPILOG = (
    "Exit codes: 0 done; 2 wrong usage; 3 the data or the model was refused; "
    "4 a file could not be read or written; 5 drift was found that --fail-on names; 130 interrupted."
)

IN_PLAIN_WORDS = {  # what scikit-learn's contract has errors say, as a person without Python reads it
    r"Found array with 0 sample\(s\)[^:]*: ": "",
    r"Found array with 0 feature\(s\)[^.]*\. ": "",
    r"Input y contains NaN only: ": "",
    r"Unknown label type: \S+ ": "",
    r"The feature names should match those that were passed during fit\.\n": "",
    r"Feature names unseen at fit time:\n((?:- .*\n)+)": r"the model does not know these columns:\n\1",
    r"Feature names seen at fit time, yet now missing:\n((?:- .*\n)+)": r"the model needs these columns, too:\n\1",
    r"Leave out the columns that are unseen\n": "leave those it does not know unread with --ignore, or carry them "
    "through predict with --keep\n",
}

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


def main() -> None:
    """Run a command; an error that we raise on purpose is a line, not a traceback."""
    from bayeskit.errors import BayeskitError, FileError, UsageError

    for stream in (sys.stdout, sys.stderr):  # where a terminal has no sign for a letter, it shows another
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app()
    except UsageError as error:
        _leave(str(error), 2)
    except FileError as error:
        _leave(str(error), 4)
    except BayeskitError as error:
        said = str(error)
        for theirs, ours in IN_PLAIN_WORDS.items():
            said = re.sub(theirs, ours, said)
        _leave(said, 3)
    except OSError as error:
        _leave(f"{error.filename or 'a file'}: {error.strerror or error}", 4)
    except KeyboardInterrupt:
        _leave("interrupted", 130)


def _leave(message: str, code: int) -> None:
    from bayeskit.data.frame import visible

    print(f"bayeskit: {visible(message.strip())}", file=sys.stderr)
    sys.exit(code)
