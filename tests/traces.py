"""Rows to be erased, and a search for their traces in the bytes of whatever holds a model."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np

ROWS, GONE = 90, 36
NUMBERS, TEXTS = ("x", "z", "pay"), ("who", "town", "class")
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def people(rows: int = ROWS) -> dict[str, list[Any]]:
    """Every number and every name once; some towns and one class only among the rows that will be forgotten."""
    rng = np.random.default_rng(5)
    kind = np.arange(rows) % 2
    kind[:GONE:7] = 2
    town = [f"town-{(k + (i % 5 == 0)) % 3}" for i, k in enumerate(kind.tolist())]
    town[:GONE:4] = [f"gone-town-{i % 3}" for i in range(0, GONE, 4)]
    return {
        "x": (rng.normal(size=rows) + 2 * kind).tolist(),
        "z": np.exp(rng.normal(size=rows) - kind).tolist(),
        "pay": (rng.choice(9 * 10**8, rows, replace=False) + 10**8).tolist(),
        "who": [f"person-{i:04d}" for i in range(rows)],
        "town": town,
        "flag": [i % 3 == k for i, k in enumerate(kind.tolist())],
        "class": [f"class-{k}" for k in kind.tolist()],
    }


def part(table: dict[str, list[Any]], begin: int, end: int | None = None) -> dict[str, list[Any]]:
    return {name: values[begin:end] for name, values in table.items()}


class Found:
    """Whatever bytes hold: texts, and numbers in every form in which one is written."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        ends = [(len(data) - i) // 8 * 8 + i for i in range(8)]
        words = [np.frombuffer(data[i:end], kind) for i, end in enumerate(ends) for kind in ("<f8", ">f8", "<i8")]
        told = np.array([float(n) for n in NUMBER.findall(data) if len(n) < 40])
        self.doubles = np.unique(np.concatenate([told, *words]))

    def texts(self, wanted: Any) -> list[str]:
        return [text for text in wanted if text.encode() in self.data]

    def numbers(self, wanted: Any) -> list[float]:
        """As doubles, as whole numbers, as texts, or as the limbs of a sum of that number alone."""
        there = np.isin(known := np.array(sorted(wanted), dtype=np.float64), self.doubles)
        return [x for x, seen in zip(known.tolist(), there, strict=True) if seen or limbs_of(x) in self.data]

    def within(self, wanted: Any) -> int:
        """How many of some doubles are there."""
        return int(np.isin(np.unique(wanted), self.doubles).sum())


def limbs_of(x: float) -> bytes:
    """x as exact sums have it: whole numbers of 32 bits, the last with the sign, from the first that is not 0 on."""
    whole = int(Fraction(x) * 2 ** (32 * 40))
    whole >>= 32 * (((whole & -whole).bit_length() - 1) // 32)
    low = []
    while not -(2**31) <= whole < 2**31:
        low.append(whole & 0xFFFFFFFF)
        whole >>= 32
    return np.array([*low, whole], dtype="<i8").tobytes()


def check_erased(data: bytes, gone: dict[str, list[Any]], left: dict[str, list[Any]], where: str) -> None:
    found = Found(data)
    for name in TEXTS:
        assert found.texts(set(gone[name]) - set(left[name])) == [], f"{where}: texts of {name!r}"
    for name in NUMBERS:
        assert found.numbers(set(gone[name]) - set(left[name])) == [], f"{where}: numbers of {name!r}"
        every = np.array([*gone[name], *left[name]])
        middles = [(v + every[every != v]) / 2 for v in gone[name]]
        assert found.within(np.concatenate(middles)) == 0, f"{where}: {name!r} follows from a middle of two numbers"
