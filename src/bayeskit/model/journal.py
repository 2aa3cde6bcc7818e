"""Journal: what was done to a model file, and with which rows; beside the model, no part of its identity."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from bayeskit.arrays import Json
from bayeskit.errors import ModelFileError

OPERATIONS = ("fit", "update", "forget", "renew", "merge", "prune")
SHA256 = re.compile(r"([0-9a-f]{64})?")


@dataclass(frozen=True)
class Origin:
    """The files that rows came from: what they are called, their bytes, and a digest of what they hold.

    All is empty where rows came from elsewhere, as from a database.
    """

    file: str = ""
    size: int = 0
    sha256: str = ""

    def __post_init__(self) -> None:
        if self.size < 0 or not SHA256.fullmatch(self.sha256):
            raise ModelFileError(f"the journal names the files {self}, which cannot be")


@dataclass(frozen=True)
class Entry:
    """One line: the operation, the weight of its rows (their number, unless they had weights), when, and from where."""

    operation: str
    rows: float
    time: str  # ISO 8601, UTC
    origin: Origin = Origin()

    def __post_init__(self) -> None:
        if self.operation not in OPERATIONS or not self.rows >= 0:
            raise ModelFileError(f"the journal has the unknown line {self}")

    @classmethod
    def now(cls, operation: str, rows: float, origin: Origin = Origin()) -> Entry:
        return cls(operation, float(rows), datetime.now(UTC).isoformat(timespec="seconds"), origin)

    def __str__(self) -> str:
        return f"{self.time}  {self.operation}  {self.rows:.12g} rows  {self.origin.file}".rstrip()


Journal = tuple[Entry, ...]


def find_learned(journal: Journal, origin: Origin) -> Entry | None:
    """The line that says that the same files have been learned, if any does."""
    same = (entry for entry in journal if origin.sha256 and entry.origin.sha256 == origin.sha256)
    return next(same, None)


def without_origin(journal: Journal, origin: Origin) -> Journal:
    """The journal without a trace of files whose rows were forgotten."""
    entry = find_learned(journal, origin)
    return tuple(replace(e, origin=Origin()) if e is entry else e for e in journal)


def as_record(entry: Entry) -> Json:
    """A line as a command prints it; what is empty is left out."""
    plain = {name: value for name, value in asdict(entry).items() if name != "origin"}
    return plain | {name: value for name, value in asdict(entry.origin).items() if value}
