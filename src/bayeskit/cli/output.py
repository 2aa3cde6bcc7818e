"""What a command says: answers on standard output, progress and notes on standard error."""

from __future__ import annotations

import codecs
import io
import json
import math
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, BinaryIO, Protocol, cast, runtime_checkable

import typer


@dataclass(frozen=True)
class Saying:
    """How to answer."""

    json: Annotated[bool, typer.Option("--json", help="Answer in JSON.", rich_help_panel="Output")] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.", rich_help_panel="Output")] = (
        False
    )

    @property
    def silent(self) -> bool:
        """Whether nothing is to be said beside the answer."""
        return self.json or self.quiet

    def answer(self, text: object, data: object, then: str = "") -> None:
        """The answer as text for people, with the command that comes next, or as JSON for machines."""
        from bayeskit.data.frame import CONTROLS, visible

        if self.json:
            line = json.dumps(_plain(data), ensure_ascii=False, allow_nan=False)
            print(CONTROLS.sub(lambda sign: f"\\u{ord(sign[0]):04x}", line))  # the same text to who reads JSON
        elif not self.quiet:
            print(visible(f"{text}\n\nnext: {then}" if then else str(text)))


@contextmanager
def notes(say: Saying) -> Iterator[list[str]]:
    """Warnings of the library as notes, in the list as they come, and printed at the end unless that is unwanted."""
    from bayeskit.data.frame import visible

    messages: list[str] = []

    def tell(message: Warning | str, *_: object, **__: object) -> None:
        if str(message) not in messages:
            messages.append(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = tell
        try:
            yield messages
        finally:
            for note in () if say.silent else messages:
                print(f"note: {visible(note)}", file=sys.stderr)


@contextmanager
def progress(title: str, say: Saying, source: object) -> Iterator[Callable[[int], object] | None]:
    """Rows so far, rows a second and the time left, for people who look at a terminal; else nothing to call."""
    if say.silent or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from bayeskit.engines.files import rows_of

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} rows  {task.fields[speed]:,.0f} rows/s"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(title, total=rows_of(source), speed=0.0)

        def more(rows: int) -> None:
            bar.update(task, advance=rows, speed=bar.tasks[0].speed or 0.0)

        yield more


@contextmanager
def trying(say: Saying, fits: int) -> Iterator[Callable[[int, int, str], None] | None]:
    """Which candidate of which fit is tried, and the time left, likewise; AutoBayes calls it."""
    if say.silent or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("fit {task.fields[fit]} of {task.fields[fits]}"),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("trying {task.description}"),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("", total=fits, fit=0, fits=fits)

        def now(done: int, of: int, name: str) -> None:
            fit = bar.tasks[0].fields["fit"] + (done == 0)
            bar.update(task, completed=fit - 1 + done / of, description=name, fit=fit, fits=max(fit, fits))

        yield now


def command_line(*words: object) -> str:
    """A command as one types it.

    >>> command_line("fit", "my table.csv", "--target", "income")
    "bayeskit fit 'my table.csv' --target income"
    """
    return shlex.join(["bayeskit", *map(str, words)])


class _Terminal(io.RawIOBase):
    """Standard output for people: bytes of text without signs that a terminal would obey."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        from bayeskit.data.frame import visible

        sys.stdout.write(visible(self._decoder.decode(bytes(data))))
        return len(data)


def standard_output() -> BinaryIO:
    """Where answers go that have no file: to a pipe as they are."""
    return cast(BinaryIO, _Terminal()) if sys.stdout.isatty() else sys.stdout.buffer


@runtime_checkable
class SupportsList(Protocol):
    """Numbers and arrays of NumPy, which is not imported for this."""

    def tolist(self) -> object:
        """As Python's own."""


def _plain(value: object) -> Any:
    """A value as JSON has it; numbers it does not have are null."""
    if isinstance(value, SupportsList):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(name): _plain(v) for name, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | None) else str(value)
