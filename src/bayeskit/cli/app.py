"""The ``bayeskit`` command: what an error means to a shell."""

from __future__ import annotations

import io
import re
import sys

INTERRUPTED = 130

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


def main() -> None:
    """Run a command; an error that we raise on purpose is a line, not a traceback."""
    try:
        _run()
    except (KeyboardInterrupt, SystemExit) as left:
        if isinstance(left, SystemExit) and left.code != INTERRUPTED:  # typer leaves with it, without a word
            raise
        print("bayeskit: interrupted; files are as they were", file=sys.stderr)
        sys.exit(INTERRUPTED)


def _run() -> None:
    from bayeskit.cli.commands import app  # takes a second, in which a person may change their mind
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
        _leave(f"{error.filename or 'standard output'}: {error.strerror or error}", 4)


def _leave(message: str, code: int) -> None:
    from bayeskit.data.frame import visible

    print(f"bayeskit: {visible(message.strip())}", file=sys.stderr)
    sys.exit(code)
