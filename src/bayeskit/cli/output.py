"""Commands: answers on standard output, progress and notes on standard error, and the files they write."""

from __future__ import annotations

import codecs
import glob
import gzip
import io
import json
import math
import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Protocol, TypeAlias, cast, runtime_checkable

import typer

from bayeskit.errors import BayeskitError, FileError, UsageError

BEGIN = 4096  # bytes that tell what a file is
SMALL = 10**9  # bytes of a sheet, unpacked
PAGE = b'<meta name="generator" content="bayeskit'

Force = Annotated[
    bool,
    typer.Option("--force", help="Replace a file of another kind, too; never an input.", rich_help_panel="Output"),
]


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


def check_output(
    path: str | Path,
    kinds: Mapping[str, Kind],
    inputs: Iterable[str | Path | None],
    force: bool,
    sql: str | None = None,
) -> None:
    """Refuse, before the work, a file that cannot be written or must not be replaced.

    ``kinds`` says by the endings allowed whether a file that is there is of the kind that the command writes; inputs
    are never replaced.
    """
    target = Path(path)
    kind = next((kind for ending, kind in kinds.items() if target.name.lower().endswith(ending)), None)
    if kind is None:
        raise UsageError(f"{target}: choose a name that ends in {' or '.join(filter(None, kinds))}")
    folder = target.absolute().parent
    if not folder.is_dir():
        raise FileError(f"{target}: No such file or directory; make the folder {folder} first")
    if not os.access(folder, os.W_OK):  # a file is replaced by one that is written beside it
        raise FileError(f"{target}: the folder {folder} may not be written to; choose another")
    if not os.path.lexists(target):
        return
    if target.is_dir():
        raise FileError(f"{target}: a folder; name a file in it")
    if target.exists() and not target.is_file():
        raise FileError(f"{target}: not a regular file; choose another name")
    if not os.access(target, os.W_OK):
        raise FileError(f"{target}: the file is protected; choose another name")
    if any(os.path.samefile(target, path) for path in _files(inputs)) or (sql and target.name in sql):
        raise FileError(f"{target}: an input is never overwritten; choose another name (--output)")
    if not force and not kind(target):
        raise FileError(f"{target}: it is there already and is not what this command writes; --force replaces it")


def _files(inputs: Iterable[str | Path | None]) -> Iterable[str]:
    """The files that the inputs name; a folder or a pattern names many."""
    for place in map(str, filter(None, inputs)):
        if Path(place).is_dir():
            yield from (str(path) for path in Path(place).rglob("*") if path.is_file())
        elif Path(place).exists():
            yield place
        elif "://" not in place:
            yield from glob.iglob(place, recursive=True)


def _begin(path: Path) -> bytes:
    with gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb") as file:
        try:
            return file.read(BEGIN)
        except (OSError, EOFError):  # not packed, whatever its name says
            return b""


def is_model(path: Path) -> bool:
    """Whether a file is a model of bayeskit's."""
    from bayeskit.storage import container

    try:
        return "model" in container.peek(path)
    except BayeskitError:
        return False


def is_page(path: Path) -> bool:
    """Whether a file is a report that bayeskit wrote."""
    return PAGE in _begin(path)


def is_network(path: Path) -> bool:
    """Whether a file begins as BIF does."""
    return _begin(path).lstrip().startswith((b"network", b"//", b"/*"))


def is_picture(path: Path) -> bool:
    """Whether a file is a picture that bayeskit drew."""
    return _begin(path).startswith(b"<svg") and b'<marker id="tip"' in _begin(path)


def is_drawing(path: Path) -> bool:
    """Whether a file is a figure that bayeskit saved."""
    begin = _begin(path)
    return begin.startswith((b"<?xml", b"\x89PNG")) and b"bayeskit" in begin


def are_answers(path: Path) -> bool:
    """Whether a file has the columns that predict writes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.suffix.lower() in (".parquet", ".pq"):
        try:
            names = pq.read_schema(path).names
        except (pa.ArrowException, OSError):
            return False
    elif path.suffix.lower() == ".xlsx":
        names = _names_of_sheet(path)
    elif path.suffix.lower() in (".jsonl", ".ndjson"):
        names = re.findall(r'"((?:[^"\\]|\\.)*)": ', _begin(path).decode(errors="replace").split("\n")[0])
    else:
        names = _begin(path).decode(errors="replace").split("\n")[0].replace('"', "").split(",")
    return "prediction" in names and any(name.startswith("P(") for name in names)


def _names_of_sheet(path: Path) -> list[str]:
    """What stands in the first row of a sheet."""
    from bayeskit.engines.workbook import rows_of

    try:
        return [str(cell) for cell in next(rows_of(str(path), SMALL, None)[0], (0, []))[1]]
    except BayeskitError:
        return []


Kind: TypeAlias = Callable[[Path], bool]
MODEL: Mapping[str, Kind] = {".bayes": is_model}
ANSWERS: Mapping[str, Kind] = dict.fromkeys((".parquet", ".pq", ".csv", ".xlsx", ".jsonl", ".ndjson"), are_answers)
REPORT: Mapping[str, Kind] = dict.fromkeys((".html", ".htm"), is_page)
NETWORK: Mapping[str, Kind] = {".bif": is_network, ".bif.gz": is_network, ".bayes": is_model}
PICTURE: Mapping[str, Kind] = {".svg": is_picture}
DRAWING: Mapping[str, Kind] = dict.fromkeys((".svg", ".png"), is_drawing)
