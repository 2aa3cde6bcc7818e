"""Damaged tables of every format, read in a process of their own: ``python mutants.py FORMAT SEED COUNT FOLDER``.

Each mutant is a sound file with some of its bytes changed, cut out or doubled. Whatever comes of it, only an error of
bayeskit's own is allowed; anything else is printed with the number of the mutant, and a crash ends the process.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
from pyarrow import csv

import bayeskit as bk
from bayeskit.errors import BayeskitError

BIF = """network unknown {}
variable a { type discrete [ 2 ] { yes, no }; }
variable b { type discrete [ 3 ] { low, mid, high }; }
probability ( a ) { table 0.25, 0.75; }
probability ( b | a ) { (yes) 0.2, 0.3, 0.5; (no) 0.1, 0.1, 0.8; }
"""


def table(rows: int = 60) -> pa.Table:
    """One column of each type that a model takes, with missing values."""
    rng = np.random.default_rng(7)
    holes = rng.random(rows) < 0.2
    texts = rng.choice(["red", "green", "blue", "ünïcode"], rows).tolist()
    return pa.table(
        {
            "number": pa.array(rng.normal(size=rows), mask=holes),
            "whole": pa.array(rng.integers(0, 9, rows)),
            "small": pa.array(rng.integers(0, 9, rows).astype(np.int8)),
            "truth": pa.array((rng.random(rows) < 0.5).tolist()),
            "text": pa.array(texts, mask=holes),
            "large": pa.array(texts, pa.large_string()),
            "viewed": pa.array(texts, pa.string_view()),
            "coded": pa.array(texts).dictionary_encode(),
            "class": pa.array(rng.choice(["x", "y", "z"], rows)),
        }
    )


def _arrow(path: Path) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table().schema) as writer:
        writer.write_table(table(), max_chunksize=25)


def _stream(path: Path) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table().schema) as writer:
        writer.write_table(table(), max_chunksize=25)


def _odd_csv(path: Path) -> None:
    """Two byte-order marks, CRLF, line ends and signs of terminals, formulas and TeX in names and cells."""
    names = ["number", '"two\nlines"', '"\x1b[31mred"', "=1+1", "$\\frac{", "class"]
    lines = [[str(i / 4), '"p\nq"', "\x1b]0;t\x07", "=SUM(A1)", "@x", "xyz"[i % 3]] for i in range(60)]
    text = "".join(",".join(line) + "\r\n" for line in [names, *lines])
    path.write_bytes(("\ufeff\ufeff" + text).encode())


def _learned(path: Path) -> Any:
    model = bk.NaiveBayes().fit(path, "class")
    return model.predict_proba(path)


def _read_by_pyarrow(path: Path) -> Any:
    """A reader that someone else opened, given as a stream."""
    with pa.memory_map(str(path)) as file:
        try:
            reader = pa.ipc.open_stream(file)
        except (pa.ArrowException, OSError, ValueError):  # pyarrow's own refusal
            return None
        return bk.NaiveBayes().fit(reader, "class")


FORMATS: dict[str, tuple[str, Callable[[Path], None], Callable[[Path], Any]]] = {
    "arrow": ("t.arrow", _arrow, _learned),
    "stream": ("t.arrows", _stream, _learned),
    "reader": ("t.arrows", _stream, _read_by_pyarrow),
    "feather": (
        "t.feather",
        lambda path: feather.write_feather(table().drop(["viewed"]), path, compression="lz4"),
        _learned,
    ),
    "parquet": ("t.parquet", lambda path: pq.write_table(table().drop(["viewed"]), path), _learned),
    "csv": ("t.csv", lambda path: csv.write_csv(table().drop(["viewed", "coded"]), path), _learned),
    "odd csv": ("t.csv", _odd_csv, _learned),
    "bif": ("t.bif", lambda path: path.write_text(BIF) and None, lambda path: bk.read_bif(path).query("a", {})),
}


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """The bytes with one to eight changes, most of them small."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 9))):
        place, size = int(rng.integers(len(out))), int(rng.integers(1, 9))
        kind = int(rng.integers(6))
        if kind == 0:
            out[place] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            out[place : place + size] = rng.integers(0, 256, min(size, len(out) - place)).astype(np.uint8).tobytes()
        elif kind == 2:
            out[place : place + size] = b"\xff" * min(size, len(out) - place)
        elif kind == 3:
            out[place : place + size] = b"\0" * min(size, len(out) - place)
        elif kind == 4 and len(out) > 2 * size:
            del out[place : place + size]
        else:
            out[place:place] = out[place : place + size]
    return bytes(out)


def main(kind: str, seed: int, count: int, folder: str) -> None:
    name, write, use = FORMATS[kind]
    path = Path(folder, name)
    write(path)
    sound = path.read_bytes()
    use(path)
    warnings.simplefilter("ignore")
    for number in range(count):
        path.write_bytes(mutated(sound, np.random.default_rng([seed, number])))
        print("mutant", number, flush=True)
        try:
            use(path)
        except BayeskitError:
            continue
        except Exception as error:
            print("raw", number, type(error).__name__, " ".join(str(error).split())[:200], flush=True)
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
