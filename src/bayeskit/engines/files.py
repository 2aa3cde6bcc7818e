"""Files: a path, a pattern or a folder, what kind of files it names and how DuckDB is to read them."""

from __future__ import annotations

import base64
import glob
import gzip
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt

from bayeskit.arrays import Connection
from bayeskit.engines.delimited import FEW, ROOM, WIDE, Delimited, Header, check_room
from bayeskit.engines.fields import Declared, declare_levels, is_level, is_text, name_damage, plain_type
from bayeskit.engines.reading import CSV, FILES, JSON, PARQUET, Reading, ending_of, is_place
from bayeskit.engines.sql import Table, check_sql_names, literal
from bayeskit.errors import FileError, InputError, SchemaError
from bayeskit.replacement import check_readable

SHARE = 0.5  # of the memory; the rest is Python, the batches under way, and what is counted
FIRST_LINE = 1 << 26  # bytes of the first line of a JSON file that are looked at
OTHER_SHEETS = (".xls", ".xlsb", ".numbers", ".sxc")
WIDE_SHARE = 0.75  # the same where there are many columns
WRITTEN = b"ARROW:schema"


@dataclass(frozen=True)
class Files:
    """The files of a place: one of that very name, all that match it as a pattern, or all in a folder."""

    reading: Reading
    all: tuple[str, ...]
    ending: str
    folder: bool = False  # whether they are all that a folder has, so that nobody said that they belong together

    @classmethod
    def of(cls, reading: Reading) -> Files:
        if reading.more:
            return cls._several(reading)
        place = reading.place
        if not place:  # pathlib takes it for the folder one is in, whose files nobody named
            raise FileError("the path is an empty text, which names no file; give one ('.' is the folder you are in)")
        if Path(place).is_dir():
            return cls._folder(reading)
        ending = ending_of(place)
        if ending not in FILES:
            known = ", ".join(FILES)
            if ending in OTHER_SHEETS:
                raise InputError(f"{place}: {ending} files are not read; open it and save it as .xlsx or .csv")
            raise InputError(f"{place}: cannot tell what kind of file this is; known endings: {known}")
        pattern = glob.escape(place) if Path(place).exists() else place
        found = tuple(sorted(glob.iglob(pattern, recursive=True)))
        if not found:
            raise FileError(f"{place}: no such file")
        for path in found:
            check_readable(path)
        if Path(found[0]).stat().st_size == 0:
            raise InputError(f"{found[0]}: the file is empty")
        return cls(reading, found, ending)

    @classmethod
    def _several(cls, reading: Reading) -> Files:
        """The files of every place of a list, which must be of one kind and may not occur twice."""
        each = [cls.of(one) for one in reading.places]
        paths = [path for files in each for path in files.all]
        if len(endings := sorted({files.ending for files in each})) > 1:
            raise InputError(f"{reading.shown}: a list names files of one kind, here there are {', '.join(endings)}")
        known = [str(Path(path).resolve()) for path in paths]
        if twice := [path for path, one in zip(paths, known, strict=True) if known.count(one) > 1]:
            raise InputError(f"{twice[0]}: the list names this file twice; its rows would count twice")
        return cls(reading, tuple(paths), endings[0])

    @classmethod
    def _folder(cls, reading: Reading) -> Files:
        """Every file in it, and in folders in it, that has a known ending; all must have the same.

        Hidden ones are passed over, and those whose name begins with an underscore, as Spark's do.
        """
        found = sorted(str(p) for p in _below(Path(reading.place)) if p.is_file() and ending_of(p.name) in FILES)
        endings = sorted({ending_of(name) for name in found})
        if len(endings) != 1:
            holds = f"has files of several kinds ({', '.join(endings)})" if endings else "has no file of a known kind"
            raise InputError(f"{reading.place}: the folder {holds}; name them by a pattern, {reading.place}/*.parquet")
        for path in found:
            check_readable(path)
        return cls(reading, tuple(found), endings[0], folder=True)

    @property
    def limit(self) -> int:
        """Bytes that DuckDB may use: more where what it keeps of many columns takes most of the memory."""
        if self.ending in JSON:  # whose columns nobody knows before they are read
            return int(self.reading.size * WIDE_SHARE)
        if self.ending not in CSV or len(Header.of(self.all[0], self.reading.encoding).names) <= WIDE:
            return int(self.reading.size * SHARE)
        return max(int(self.reading.size * WIDE_SHARE), Delimited.of(self.all, self.reading).reserved)

    def check_alike(self, names: Callable[[str], Sequence[str]]) -> None:
        """Refuse a folder of files that have different columns: they are not one table."""
        first, *others = self.all if self.folder else self.all[:1]
        known = set(names(first))
        for path in others:
            if odd := sorted(known ^ set(names(path))):
                raise SchemaError(
                    f"{self.reading.place}: the folder has files with different columns: {odd[0]!r} is in one only of "
                    f"{first} and {path}; name those that belong together by a pattern, or move the others away"
                )

    def table(self, connection: Connection, known: Mapping[str, str]) -> Table:
        """How to read the files, columns matched by name."""
        if self.ending in PARQUET:
            check_sql_names(self.all[0], _parquet(self.all[0], pq.read_schema).names)
            self.check_alike(lambda path: _parquet(path, pq.read_schema).names)
            return Table(f"read_parquet({self._list}, union_by_name=true)", fields=parquet_fields(self.all))
        if self.ending in JSON:
            if self.reading.bad_lines != "error":
                raise InputError(f"{self.reading.place}: bad lines can be left out of CSV files only; mend the file")
            form = "auto" if self.ending == ".json" else "newline_delimited"
            columns = _fields_of_json(self.all[0])
            check_room(self.reading, f"{columns:,} columns of JSON", int(FEW * 2 * ROOM * columns))
            return Table(
                f"read_json({self._list}, format='{form}', union_by_name=true, sample_size=-1, "
                f"maximum_sample_files={len(self.all)}, map_inference_threshold=-1)"  # columns alike are no mapping
            )
        delimited = Delimited.of(self.all, self.reading)
        self.check_alike(lambda path: delimited.headers[path].names)
        return delimited.with_types(connection, known)

    @property
    def _list(self) -> str:
        """The files by their names for DuckDB, which would take some signs in them for a pattern."""
        return f"[{', '.join(literal(glob.escape(path)) for path in self.all)}]"


def _fields_of_json(path: str) -> int:
    """How many fields the first line of a file has, if it is one of JSON; 0 where that is not seen."""
    try:
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
            first = json.loads(file.readline(FIRST_LINE))
    except (OSError, EOFError, ValueError, RecursionError):  # what is wrong with it is said when it is read
        return 0
    return len(first) if isinstance(first, dict) else 0


def rows_of(source: object) -> int | None:
    """How many rows a place has, where its files say so."""
    if not is_place(source, "files") or Reading.of(source).query:
        return None
    files = Files.of(Reading.of(source))
    return sum(_parquet(path, pq.read_metadata).num_rows for path in files.all) if files.ending in PARQUET else None


def bytes_of(source: object) -> int:
    """How many bytes the files of a place have; 0 where it has none."""
    if not is_place(source, "files", "arrow", "sheets") or Reading.of(source).query:
        return 0
    return sum(Path(path).stat().st_size for path in Files.of(Reading.of(source)).all)


def _parquet(path: str, read: Callable[[str], Any]) -> Any:
    """What the end of a Parquet file says."""
    with name_damage(path):
        return read(path)


def contents_of(source: object) -> tuple[str, int, str]:
    """What the files of a place are called, how many bytes they have, and a SHA-256 of all that they hold.

    Nothing where the rows do not come from files: a database may change while it is read.
    """
    if not (found := files_of(source)):
        return "", 0, ""
    place, digests = Reading.of(source).place, [digest for _, _, digest in found]
    whole = digests[0] if len(digests) == 1 else hashlib.sha256("".join(sorted(digests)).encode()).hexdigest()
    name = Reading.of(source).shown if Reading.of(source).more else Path(place).name or place
    return name, sum(size for _, size, _ in found), whole


def files_of(source: object) -> list[tuple[str, int, str]]:
    """The same of each file of a place."""
    if not is_place(source, "files", "arrow", "sheets") or Reading.of(source).query:
        return []
    found = []
    for path in Files.of(Reading.of(source)).all:
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        found.append((Path(path).name, Path(path).stat().st_size, digest))
    return found


def find_malformed(paths: Sequence[str]) -> str:
    """Where the first line that is no JSON stands; DuckDB's own count is one off."""
    for path in paths:
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    json.loads(line or "null")
                except ValueError as error:
                    return f"line {number} of {path} is not JSON: {error}"
    return "a line is not JSON"


def _below(folder: Path) -> Iterator[Path]:
    """What lies in a folder and in those within it, but nothing hidden."""
    for path in folder.iterdir():
        if not path.name.startswith((".", "_")):
            yield path
            if path.is_dir() and not path.is_symlink():
                yield from _below(path)


def parquet_fields(paths: Sequence[str]) -> dict[str, pa.Field]:
    """Columns that Parquet stores as something else: categories, durations and truth values of a byte.

    A category of numbers is stored as numbers; its field says that it is one. The levels of an ordered category, and of
    one that pandas wrote, are those of the dictionary that stands in the file.
    """
    found: dict[str, pa.Field] = {}
    for path in paths:
        with name_damage(path):
            written = _written(path)
        for f in written:
            t = f.type
            if f.name in found:
                continue
            if pt.is_duration(t) or isinstance(t, pa.Bool8Type):
                found[f.name] = pa.field(f.name, plain_type(t))
            elif pt.is_dictionary(t) and is_level(t.value_type):
                declared = Declared.of(f) or (None if is_text(t.value_type) else Declared())
                found |= {f.name: declared.on(pa.field(f.name, t.value_type))} if declared is not None else {}
    return found


def _written(path: str) -> pa.Schema:
    """The schema of the Arrow table that was written, with what its dictionaries declare."""
    written = (pq.read_metadata(path).metadata or {}).get(WRITTEN)
    if written is None:
        return pa.schema([])
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(written)))
    bare = pa.schema([pa.field(f.name, f.type) for f in schema], schema.metadata)
    return declare_levels(bare, lambda name: _dictionaries(path, name))


def _dictionaries(path: str, name: str) -> Iterator[pa.Array]:
    with pq.ParquetFile(path) as file:
        for group in range(min(file.num_row_groups, 1)):
            for chunk in file.read_row_group(group, columns=[name]).column(0).chunks:
                if pt.is_dictionary(chunk.type):
                    yield chunk.dictionary
