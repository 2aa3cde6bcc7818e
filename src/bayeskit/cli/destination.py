"""Destination: the file a command writes, checked before the work; what is not the command's own stays as it is."""

from __future__ import annotations

import glob
import gzip
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from bayeskit.errors import BayeskitError, FileError, UsageError

BEGIN = 4096  # bytes that tell what a file is
SMALL = 10**9  # bytes of a sheet, unpacked
PAGE = b'<meta name="generator" content="bayeskit'

Force = Annotated[
    bool,
    typer.Option("--force", help="Replace a file of another kind, too; never an input.", rich_help_panel="Output"),
]


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
