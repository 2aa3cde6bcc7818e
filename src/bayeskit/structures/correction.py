"""Correction: what conditional likelihood adds to naive Bayes' evidence, held as the rows of a fit chose it."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Float, Int
from bayeskit.data.levels import Domain
from bayeskit.errors import InputError


def pack(numbers: Float) -> str:
    """Doubles as a text, exactly.

    >>> unpack(pack(np.array([0.1, -2.0])))
    array([ 0.1, -2. ])
    """
    return base64.b64encode(np.ascontiguousarray(numbers, dtype="<f8").tobytes()).decode()


def unpack(text: str) -> Float:
    """And back; refused where they are not finite."""
    try:
        numbers = np.frombuffer(base64.b64decode(text, validate=True), dtype="<f8").astype(np.float64)
    except ValueError as error:
        raise InputError("a table of corrections is no text of doubles") from error
    if not np.isfinite(numbers).all():
        raise InputError("a correction is not finite")
    return numbers


def words_of(domain: Domain, name: str) -> tuple[int, ...]:
    """Hashes of the levels of a column: what distinguishes them once their texts are forgotten."""
    return tuple(domain.levels[name].words.view(np.int64).tolist())


def places(known: Sequence[int], wanted: Sequence[int]) -> Int:
    """Where each wanted number stands among known ones, -1 where it does not."""
    at = {word: i for i, word in enumerate(known)}
    return np.array([at.get(word, -1) for word in wanted], dtype=np.int64)


@dataclass(frozen=True)
class ColumnCorrection:
    """weight times the evidence of a column, + a table by level and class."""

    name: str
    weight: float
    levels: tuple[int, ...]  # hashes of them; of a column of numbers none
    table: str  # (levels, classes)


@dataclass(frozen=True)
class PairCorrection:
    """A table by groups of the levels of two columns, and class."""

    names: tuple[str, str]
    groups: tuple[tuple[int, ...], tuple[int, ...]]  # of the levels of each
    table: str  # (groups, groups, classes)


@dataclass(frozen=True)
class Correction:
    """What is added to the evidence of columns, and of pairs of them, by class."""

    classes: tuple[int, ...]  # hashes of them
    columns: tuple[ColumnCorrection, ...]
    pairs: tuple[PairCorrection, ...] = ()

    def __post_init__(self) -> None:
        known = {column.name: column for column in self.columns}
        if len(known) < len(self.columns) or len(set(self.classes)) < len(self.classes):
            raise InputError("a correction names a column or a class twice")
        for column in self.columns:
            if not 0 <= column.weight < np.inf or (
                column.levels and unpack(column.table).size != len(column.levels) * len(self.classes)
            ):
                raise InputError(f"the correction of column {column.name!r} does not fit its levels")
        for pair in self.pairs:
            cells = [max(groups, default=-1) + 1 for groups in pair.groups]
            apart = pair.names[0] != pair.names[1] and all(name in known for name in pair.names)
            low = min((min(groups, default=0) for groups in pair.groups), default=0)
            if not apart or low < 0 or unpack(pair.table).size != cells[0] * cells[1] * len(self.classes):
                raise InputError(f"the correction of columns {' and '.join(pair.names)} does not fit their groups")

    def of_columns(self, domain: Domain, sizes: Mapping[str, int]) -> dict[str, tuple[float, Float]]:
        """The weight of each column and what is added to its levels, (levels, K), in the codes of a domain."""
        return {c.name: (c.weight, self._main(c, domain, sizes[c.name])) for c in self.columns if c.name in sizes}

    def of_pairs(self, domain: Domain, sizes: Mapping[str, int]) -> dict[tuple[str, str], Float]:
        """What is added to the levels of two columns, (levels, levels, K)."""
        columns = {column.name: column for column in self.columns}
        found = {}
        for pair in self.pairs:
            if all(name in sizes for name in pair.names):
                lines = [self._groups(columns[n], g, domain, sizes[n]) for n, g in zip(*self._of(pair), strict=True)]
                cells = [max(g) + 1 for g in pair.groups]
                table = np.zeros((cells[0] + 1, cells[1] + 1, len(self.classes)))
                table[:-1, :-1] = unpack(pair.table).reshape(*cells, -1)
                found[pair.names] = self._by_class(table, domain)[np.ix_(*lines)]
        return found

    @staticmethod
    def _of(pair: PairCorrection) -> tuple[tuple[str, str], tuple[tuple[int, ...], tuple[int, ...]]]:
        return pair.names, pair.groups

    def _main(self, column: ColumnCorrection, domain: Domain, size: int) -> Float:
        table = unpack(column.table).reshape(-1, len(self.classes))
        line = self._lines(column, domain, size, len(table))
        whole = np.concatenate([table, np.zeros((1, table.shape[1]))])
        out: Float = self._by_class(whole[line], domain)
        return out

    def _groups(self, column: ColumnCorrection, groups: tuple[int, ...], domain: Domain, size: int) -> Int:
        line = self._lines(column, domain, size, len(groups))
        return np.append(groups, max(groups) + 1).astype(np.int64)[line]

    @staticmethod
    def _lines(column: ColumnCorrection, domain: Domain, size: int, known: int) -> Int:
        """Where each level stands in the tables, the last line for none."""
        if not column.levels:
            if size != known:
                raise InputError(f"column {column.name!r} has {size} intervals, and its correction {known}")
            return np.arange(size)
        return places(column.levels, words_of(domain, column.name))

    def _by_class(self, table: Float, domain: Domain) -> Float:
        """With nothing for a class that came later."""
        place = places(self.classes, domain.classes.words.view(np.int64).tolist())
        whole = np.concatenate([table, np.zeros((*table.shape[:-1], 1))], axis=-1)
        out: Float = whole[..., place]
        return out
