"""Correction: what conditional likelihood adds to naive Bayes' evidence, and the search for it on rows held out."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from bayeskit import _core
from bayeskit.arrays import FRONT, Code, Float, Int
from bayeskit.data.levels import Domain
from bayeskit.errors import InputError
from bayeskit.numerics.cut_points import best_first
from bayeskit.numerics.log_linear import ROUGH, AdditiveTables, Evidence
from bayeskit.statistics.content import Units
from bayeskit.statistics.rows import ContentOrder, Rows
from bayeskit.statistics.sliced import Slices
from bayeskit.structures.joined import class_share, evidence_strengths

RIDGES = (64.0, 16.0, 4.0, 1.0, 0.25)  # penalties of corrections to choose from, the strongest first
FUSED = 10.0  # times as much for the difference of neighbouring intervals
PAIRED = (64.0, 8.0, 1.0)  # those of pairs
FOLDS, FEW, JUDGED = 3, 500, 8_000  # inner folds, rows up to which all are tested, rows that penalties are chosen by
WEIGHED, CELLS = 6_000, 20_000_000  # rows that weights of columns are fitted to; numbers that takes at most
TOWARD, FIRM = 10.0, 1e9  # pull of weights toward the common temperature; of biases toward 0, which has no bias
COLUMNS, GROUPS = 32, 8  # columns that pairs are made of, and groups of levels of each
GAINED = 16.0  # penalty in what a pair is expected to gain


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


@dataclass(frozen=True)
class CorrectionSearch:
    """Rows in an order of their content, columns in the order of their names, classes by what their rows hold.

    So no order and no names move a bit of what is found.
    """

    names: tuple[str, ...]
    codes: Code  # (d, n)
    sizes: tuple[int, ...]  # levels of each column
    intervals: tuple[int, ...]  # of them those that are neighbours
    label: Int  # (n,)
    classes: Int  # (P,) the code of each label in the domain
    units: Units

    @classmethod
    def of(cls, rows: Rows, slices: Slices, domain: Domain) -> CorrectionSearch:
        kept = ContentOrder.of(rows, domain)
        sizes = {**{name: len(levels) for name, levels in domain.levels.items()}, **slices.sizes}
        codes = dict(zip(slices.columns, slices.codes(kept.block), strict=True))
        names = tuple(sorted(name for name in slices.columns if len(np.unique(codes[name][codes[name] >= 0])) > 1))
        return cls(
            names,
            np.array([codes[name][kept.order] for name in names], dtype=np.int32).reshape(len(names), len(kept.order)),
            tuple(sizes[name] for name in names),
            tuple(len(slices.cuts[name]) + 1 if name in slices.cuts else 0 for name in names),
            kept.label,
            kept.classes,
            kept.units,
        )

    @cached_property
    def counts(self) -> list[Float]:
        """Weight of each class and level, by column: (P, m) each."""
        found = []
        for codes, size in zip(self.codes, self.sizes, strict=True):
            there = codes >= 0
            cell = self.label[there] * size + codes[there]
            weight = np.bincount(cell, self.units.weight[there], minlength=len(self.classes) * size)
            found.append(weight.reshape(len(self.classes), size).astype(np.float64, copy=False))
        return found

    def evidence(self, j: int, strength: float, rows: int) -> Float:
        """log P(c | x_j)/P(c) of the first rows, each without a unit of its own: (rows, P)."""
        codes, label, counts = self.codes[j, :rows], self.label[:rows], self.counts[j]
        share, there = class_share(counts), np.flatnonzero(self.codes[j, :rows] >= 0)
        out = np.zeros((len(codes), len(share)))
        own = np.minimum(self.units.weight[there], 1.0)
        mine = counts[:, codes[there]].T.copy()
        mine[np.arange(len(there)), label[there]] = np.maximum(mine[np.arange(len(there)), label[there]] - own, 0.0)
        whole = mine.sum(axis=1, keepdims=True) + strength
        out[there] = np.log((mine / share + strength) / whole)
        return out

    def found(self, domain: Domain, most: int) -> Correction:
        """The correction of these rows, with at most so many pairs."""
        keys = domain.classes.words.view(np.int64)
        classes = tuple(keys[self.classes].tolist())
        if len(classes) < 2 or not self.names:
            return Correction(classes, ())
        weight, rows = self._weigh_columns()
        ridge, pairs, pair_ridge = self._choices(rows, most)
        made = rows.with_ridge(ridge, self.intervals)
        table = made.fit(self.units.weight)
        if pairs:
            chosen = Pairs.of(self).best(made, table, self.units.weight, pairs)
            made = chosen.join(made, pair_ridge)
            table = made.fit(self.units.weight, chosen.extend(table))
        parts = [table[a + FRONT : b] for a, b in zip(made.offset[:-1], made.offset[1:], strict=True)]
        columns = tuple(
            ColumnCorrection(name, float(w), () if n else words_of(domain, name), pack(part))
            for name, w, n, part in zip(self.names, weight, self.intervals, parts, strict=False)
        )
        if not pairs:
            return Correction(classes, columns)
        each = zip(chosen.members, parts[len(columns) :], strict=True)
        return Correction(classes, columns, tuple(chosen.held(self.names, m, part) for m, part in each))

    def _weigh_columns(self) -> tuple[Float, PenalisedRows]:
        """How much the evidence of each column counts, and the rows with what that says of them."""
        n, p = len(self.label), len(self.classes)
        strengths, _ = evidence_strengths(self.counts)
        rows = int(min(n, WEIGHED, max(CELLS // (len(self.names) * p), 200)))
        total = np.bincount(self.label, self.units.weight, minlength=p)
        base = np.log((total + 0.5) / (total.sum() + 0.5 * p))
        terms = np.stack([self.evidence(j, s, rows) for j, s in enumerate(strengths.tolist())], axis=1)
        seen = Evidence.of(terms, base, self.label[:rows], self.units.weight[:rows])
        weight, _ = seen.fit(np.full(len(self.names), seen.temperature()), TOWARD, FIRM)
        scores = np.tile(base, (n, 1))
        for j, s in enumerate(strengths.tolist()):
            scores += weight[j] * (terms[:, j] if rows == n else self.evidence(j, s, n))
        offset = np.cumsum([0, *(FRONT + size for size in self.sizes)], dtype=np.int64)
        nothing = np.zeros(int(offset[-1]))
        return weight, PenalisedRows(self.codes, offset, scores, self.label, nothing, nothing)

    def _choices(self, rows: PenalisedRows, most: int) -> tuple[float, int, float]:
        """The penalty of corrections, the number of pairs and their penalty with the least loss on rows held out."""
        few = rows.first(JUDGED)
        mass = self.units.weight[: len(few.label)]
        units = Units(np.ascontiguousarray(self.units.words[:, : len(mass)]), few.label, mass)
        place = units.places(FOLDS)
        tested = [units.weigh_fold(place, FOLDS, fold) for fold in range(FOLDS if mass.sum() <= FEW else 1)]
        losses: list[float] = []
        tables: list[list[Float]] = []
        for ridge in RIDGES:
            made = few.with_ridge(ridge, self.intervals)
            before = tables[-1] if tables else [np.zeros((few.cells, len(self.classes)))] * len(tested)
            tables.append([made.fit(mass - test, t, ROUGH) for test, t in zip(tested, before, strict=True)])
            losses.append(sum(made.loss(t, test) for test, t in zip(tested, tables[-1], strict=True)))
            if len(losses) > 1 and losses[-1] > losses[-2]:
                break
        best = int(np.argmin(losses))
        made = few.with_ridge(RIDGES[best], self.intervals)
        pairs = Pairs.of(self)
        if most < 1 or not pairs.members:
            return RIDGES[best], 0, 1.0
        chosen = [pairs.best(made, t, mass - test, most) for test, t in zip(tested, tables[best], strict=True)]
        lowest, wanted = losses[best], (RIDGES[best], 0, 1.0)
        wider = [pairs_of.extend(table) for pairs_of, table in zip(chosen, tables[best], strict=True)]
        for ridge in PAIRED:
            loss = 0.0
            for i, (pairs_of, test) in enumerate(zip(chosen, tested, strict=True)):
                wide = pairs_of.join(made, ridge)
                wider[i] = wide.fit(mass - test, wider[i], ROUGH)
                loss += wide.loss(wider[i], test)
            if loss >= lowest:
                break  # a weaker penalty would be no better
            lowest, wanted = loss, (RIDGES[best], most, ridge)
        return wanted


class PenalisedRows(AdditiveTables):
    """Rows whose tables get their penalties later."""

    def with_ridge(self, ridge: float, intervals: Sequence[int]) -> PenalisedRows:
        """With one penalty for all entries, and a stronger one between neighbouring intervals."""
        fused = np.zeros(self.cells)
        for begin, n in zip(self.offset[:-1].tolist(), intervals, strict=True):
            fused[begin + FRONT : begin + FRONT + max(n - 1, 0)] = FUSED * ridge
        return replace(self, ridge=np.full(self.cells, ridge), fused=fused)

    def first(self, most: int) -> PenalisedRows:
        """Some of the rows."""
        codes = np.ascontiguousarray(self.codes[:, :most])
        return replace(self, codes=codes, base=self.base[:most], label=self.label[:most])


@dataclass(frozen=True)
class Pairs:
    """Pairs of columns, each column in a few groups of levels."""

    codes: Code  # (d, n) the group, -1 where missing
    groups: tuple[Int, ...]  # of the levels of each column
    sizes: tuple[int, ...]
    members: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, search: CorrectionSearch) -> Pairs:
        """Of the columns that are most informative by themselves."""
        _, gains = evidence_strengths(search.counts)
        every = zip(search.counts, search.intervals, strict=True)
        groups = tuple(_group_levels(counts.sum(axis=0), n) for counts, n in every)
        sizes = tuple(int(g.max()) + 1 for g in groups)
        codes = np.stack([np.append(g, -1)[np.maximum(c, -1)] for g, c in zip(groups, search.codes, strict=True)])
        kept = sorted(best_first(gains, search.names)[:COLUMNS])
        return cls(codes.astype(np.int32), groups, sizes, tuple(combinations(kept, 2)))

    def cells(self, member: tuple[int, int], rows: int) -> Code:
        """Of each row, -1 where one of the two is missing: (n,)."""
        a, b = (self.codes[j, :rows] for j in member)
        return np.where((a < 0) | (b < 0), np.int32(-1), a * np.int32(self.sizes[member[1]]) + b)

    def best(self, rows: AdditiveTables, table: Float, mass: Float, most: int) -> Pairs:
        """The pairs by what a Newton step on the residuals is expected to gain, beyond what noise would."""
        p, n = rows.posterior(table), len(rows.label)
        both = np.concatenate([-p, p * (1 - p)], axis=1)
        both[np.arange(n), rows.label] += 1.0
        both *= mass[:, None]
        gains = np.empty(len(self.members))
        for i, member in enumerate(self.members):
            size = FRONT + self.sizes[member[0]] * self.sizes[member[1]]
            sums = np.zeros((size, both.shape[1]))
            offset = np.array([0, size], dtype=np.int64)
            _core.sum_by_code(self.cells(member, n)[None], offset, both, sums)
            slope, bend = np.split(sums[FRONT:], 2, axis=1)
            gains[i] = float(((slope * slope - bend) / (bend + GAINED)).sum()) / 2
        order = best_first(gains, list(self.members))[:most]
        return replace(self, members=tuple(self.members[i] for i in order))

    def join(self, rows: PenalisedRows, ridge: float) -> PenalisedRows:
        """The rows with the tables of the pairs behind those of the columns."""
        n = len(rows.label)
        more = [FRONT + self.sizes[a] * self.sizes[b] for a, b in self.members]
        offset = np.concatenate([rows.offset, rows.offset[-1] + np.cumsum(more, dtype=np.int64)])
        codes = np.concatenate([rows.codes, [self.cells(member, n) for member in self.members]]).astype(np.int32)
        pulls = np.concatenate([rows.ridge, np.full(sum(more), ridge)])
        return replace(rows, codes=codes, offset=offset, ridge=pulls, fused=np.pad(rows.fused, (0, sum(more))))

    def extend(self, table: Float) -> Float:
        """Tables of the columns with empty ones for the pairs behind them."""
        more = sum(FRONT + self.sizes[a] * self.sizes[b] for a, b in self.members)
        return np.pad(table, ((0, more), (0, 0)))

    def held(self, names: Sequence[str], member: tuple[int, int], table: Float) -> PairCorrection:
        a, b = member
        groups = tuple(self.groups[a].tolist()), tuple(self.groups[b].tolist())
        return PairCorrection((names[a], names[b]), groups, pack(table))


def _group_levels(weight: Float, intervals: int) -> Int:
    """A few groups of the levels of a column: neighbouring intervals of about equal weight, or the most frequent
    levels and all others as one: (m,)."""
    if len(weight) <= GROUPS:
        return np.arange(len(weight))
    if not intervals:
        group = np.full(len(weight), GROUPS - 1)
        group[np.argsort(-weight, kind="stable")[: GROUPS - 1]] = np.arange(GROUPS - 1)
        return group
    inner = weight[:intervals]
    middle = (np.cumsum(inner) - inner / 2) / max(float(inner.sum()), 1e-300)
    group = np.full(len(weight), GROUPS)  # that of missing values, where they are a level
    group[:intervals] = np.minimum((middle * GROUPS).astype(np.int64), GROUPS - 1)
    return np.unique(group, return_inverse=True)[1].astype(np.int64)
