"""Files: a path, a pattern or a folder, what kind of files it names and how DuckDB is to read them."""

from __future__ import annotations

import glob
import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from bayeskit.engines.delimited import Delimited
from bayeskit.engines.parquet import parquet_fields
from bayeskit.engines.reading import FILES, JSON, PACKED, PARQUET, Reading, is_place
from bayeskit.engines.sql import Table, literal, unlike
from bayeskit.errors import InputError


@dataclass(frozen=True)
class Files:
    """The files of a place: one of that very name, all that match it as a pattern, or all in a folder."""

    reading: Reading
    pattern: str
    all: tuple[str, ...]
    ending: str

    @classmethod
    def of(cls, reading: Reading) -> Files:
        place = reading.place
        if Path(place).is_dir():
            return cls._folder(reading)
        ending = _ending(place)
        if ending not in FILES:
            known = ", ".join(FILES)
            raise InputError(f"{place}: cannot tell what kind of file this is; known endings: {known}")
        pattern = glob.escape(place) if Path(place).exists() else place
        found = tuple(sorted(glob.iglob(pattern, recursive=True)))
        if not found:
            raise InputError(f"{place}: no such file")
        if Path(found[0]).is_dir():
            raise InputError(f"{place}: {found[0]} is a folder; name the folder, or the files in it")
        if Path(found[0]).stat().st_size == 0:
            raise InputError(f"{found[0]}: the file is empty")
        return cls(reading, pattern, found, ending)

    @classmethod
    def _folder(cls, reading: Reading) -> Files:
        """Every file in it, and in folders in it, that has a known ending; all must have the same."""
        found = sorted(p for p in Path(reading.place).rglob("*") if p.is_file() and _ending(p.name) in FILES)
        endings = sorted({_ending(p.name) for p in found})
        if len(endings) != 1:
            told = f"has files of several kinds ({', '.join(endings)})" if endings else "has no file of a known kind"
            raise InputError(f"{reading.place}: the folder {told}; name them by a pattern, {reading.place}/*.parquet")
        (last,) = {"".join(p.suffixes[-2:]) if p.suffix in PACKED else p.suffix for p in found} or {""}
        return cls(reading, f"{glob.escape(reading.place)}/**/*{last}", tuple(map(str, found)), endings[0])

    def table(self, connection: Any, known: Mapping[str, str]) -> Table:
        """How to read the files, columns matched by name."""
        if self.ending in PARQUET:
            unlike(self.all[0], pq.read_schema(self.all[0]).names)
            return Table(f"read_parquet({literal(self.pattern)}, union_by_name=true)", fields=parquet_fields(self.all))
        if self.ending in JSON:
            if self.reading.bad_lines != "error":
                raise InputError(f"{self.reading.place}: bad lines can be left out of CSV files only; mend the file")
            form = "auto" if self.ending == ".json" else "newline_delimited"
            return Table(
                f"read_json({literal(self.pattern)}, format='{form}', union_by_name=true, sample_size=-1, "
                f"maximum_sample_files={len(self.all)})"
            )
        return Delimited.of(self.all, self.reading).typed(connection, known)


def rows_of(source: Any) -> int | None:
    """How many rows a place has, where its files say so."""
    if not is_place(source, "files") or Reading.of(source).query:
        return None
    files = Files.of(Reading.of(source))
    return sum(pq.read_metadata(path).num_rows for path in files.all) if files.ending in PARQUET else None


def bytes_of(source: Any) -> int:
    """How many bytes the files of a place have; 0 where it has none."""
    if not is_place(source, "files", "arrow") or Reading.of(source).query:
        return 0
    return sum(Path(path).stat().st_size for path in Files.of(Reading.of(source)).all)


def malformed(paths: Sequence[str]) -> str:
    """Where the first line that is no JSON stands; DuckDB's own count is one off."""
    for path in paths:
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    json.loads(line or "null")
                except ValueError as error:
                    return f"line {number} of {path} is not JSON: {error}"
    return "a line is not JSON"


def _ending(place: str) -> str:
    endings = [s.lower() for s in Path(place).suffixes if s.lower() not in PACKED]
    return endings[-1] if endings else ""
