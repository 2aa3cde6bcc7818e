"""Counted: a domain and a statistic over its codes; what engines reduce, a model keeps and a file holds."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Bool, Int
from bayeskit.data.block import Block
from bayeskit.data.encode import EXACT_INTEGERS, IngestReport, Roles, encode, encode_asked
from bayeskit.data.levels import BOOL, MISSING, NUMBER, TEXT, Domain, Levels, show
from bayeskit.data.matrix import Matrix
from bayeskit.data.schema import Schema
from bayeskit.errors import ForgetError, KindError, SchemaError
from bayeskit.statistics.ranges import Ranges
from bayeskit.statistics.rows import Rows
from bayeskit.statistics.statistic import Product

NAMES = {BOOL: "truth", NUMBER: "number", TEXT: "text"}
ABOUT = ":about:"  # beside the arrays: classes, levels and what came in; ranges
LOW, HIGH, DECIMALS = ":low:", ":high:", ":decimals:"


@dataclass(frozen=True)
class Counted:
    """Domain + statistic. Groups are class x fold, fold innermost; one fold is the plain case."""

    schema: Schema
    domain: Domain
    statistic: Product
    ranges: Ranges  # of the numeric columns
    roles: Roles = Roles()
    folds: int = 1
    ingest: IngestReport = IngestReport()

    @classmethod
    def empty(
        cls,
        schema: Schema,
        statistic: Callable[[int], Product],
        roles: Roles = Roles(),
        folds: int = 1,
    ) -> Counted:
        """Nothing counted yet; declared classes and levels are known from the start."""
        classes = Levels.of(schema.classes)
        levels = {c.name: Levels.intern(c.declared) for c in schema.coded_columns}
        bare = Domain(Levels(), dict.fromkeys(levels, Levels.intern(())))
        ranges = Ranges.empty(len(schema.numeric))
        return cls(schema, bare, statistic(0), ranges, roles, folds)._on(Domain(classes, levels))

    def update(self, batch: pa.RecordBatch | Matrix) -> Counted:
        """Count a batch more; new classes and levels join."""
        return self.count(*encode(batch, self.schema, self.domain, self.roles, self.folds))

    def count(self, block: Block, domain: Domain, ingest: IngestReport) -> Counted:
        """Count rows more that are coded already, in a domain that has all of these classes and levels."""
        wide = self._on(domain)
        ranges = self.ranges.update(block)
        return replace(wide, statistic=wide.statistic.update(block), ranges=ranges, ingest=self.ingest + ingest)

    def add(self, block: Block) -> Counted:
        """With rows more that are in these codes; unlike by ``count`` these counts stay as they are."""
        return self.merge(self.without_counts().count(block, self.domain, IngestReport(block.rows)))

    def without_counts(self) -> Counted:
        """The same classes and levels, with nothing counted."""
        nowhere = np.full(self.statistic.groups, -1, dtype=np.int64)
        bare = self.statistic.place(nowhere, self.statistic.groups, {})
        return replace(self, statistic=bare, ranges=Ranges.empty(len(self.schema.numeric)), ingest=IngestReport())

    def block(self, batch: pa.RecordBatch | Matrix, guarded: Collection[str] = ()) -> Block:
        """A batch in the codes of this domain, which stays as it is; the label is not looked at. ``guarded`` as in
        ``encode_asked``."""
        return encode_asked(batch, self.schema, self.domain, guarded)

    def block_with_classes(self, batch: pa.RecordBatch | Matrix, roles: Roles | None = None) -> Block:
        """A batch of rows that have been counted, with their classes and weights, for leave-one-out."""
        block, domain, _ = encode(batch, self.schema, self.domain, self.roles if roles is None else roles)
        if domain != self.domain:
            self._knows("target", self.domain.classes, domain.classes)
            for name, levels in domain.levels.items():
                self._knows(f"column {name!r}", self.domain.levels[name], levels)
        return block

    def _on(self, domain: Domain) -> Counted:
        """The same counts in the codes of another domain; levels it lacks are dropped."""
        if domain is self.domain or domain == self.domain:
            return self
        classes = self.domain.classes.codes_in(domain.classes)
        fold = np.arange(self.folds)
        groups = np.where(classes[:, None] < 0, -1, classes[:, None] * self.folds + fold).ravel()
        levels = {
            name: (old.codes_in(new), len(new))
            for name, old in self.domain.levels.items()
            if (new := domain.levels[name]) != old
        }
        placed = self.statistic.place(groups, len(domain.classes) * self.folds, levels)
        return replace(self, domain=domain, statistic=placed)

    def conform(self, schema: Schema, statistic: Callable[[int], Product]) -> Counted:
        """The same counts under a schema that has determined columns undetermined so far, or declares more levels."""
        if schema.columns == self.schema.columns:
            return replace(self, schema=schema)
        like = statistic(0)
        levels = {name: self.domain.levels.get(name, Levels()) for name in schema.coded}
        wide = replace(
            self,
            schema=schema,
            domain=Domain(self.domain.classes, levels),
            statistic=self.statistic.over_columns(like),
            ranges=self.ranges.over_columns(self.schema.numeric, schema.numeric),
        )
        known = {c.name: levels[c.name].union(Levels.intern(c.declared)) for c in schema.coded_columns}
        return wide._on(Domain(self.domain.classes, known))

    def declaring(self, schema: Schema) -> Counted:
        """The same counts under a schema of the same columns that declares other classes."""
        declared = Domain(Levels.of(schema.classes), {})
        self.domain.check_classes(declared)
        return replace(self, schema=schema)._on(self.domain.union(declared)).canonical()

    def merge(self, other: Counted) -> Counted:
        """The counts of both tables: union of the domains, place both, merge."""
        domain = self.domain.union(other.domain)
        both = self._on(domain).statistic.merge(other._on(domain).statistic)
        ranges = self.ranges.merge(other.ranges)
        return replace(self, domain=domain, statistic=both, ranges=ranges, ingest=self.ingest + other.ingest)

    def subtract(self, other: Counted) -> Counted:
        """The counts without the other's rows; refused where they cannot have been learned."""
        theirs = other.canonical()
        self._knows("target", self.domain.classes, theirs.domain.classes)
        for name, levels in theirs.domain.levels.items():
            if not self._sampled:  # else rows of levels that are not among its own may have been left out
                self._knows(f"column {name!r}", self.domain.levels[name], levels)
        left = self.statistic.subtract(theirs._on(self.domain).statistic)
        rest = replace(self, statistic=left, ranges=self.ranges.subtract(other.ranges))
        if heavy := rest.find_outweighed():
            raise ForgetError(
                f"these rows cannot have been learned: without them column {heavy!r} would have more values than its "
                f"class has rows; the model stays as it was"
            )
        return rest

    @cached_property
    def types(self) -> dict[str, str]:
        """What each column holds, for sources that do not say it: text, number or truth; under "" the labels."""
        held = {name: _type(levels) for name, levels in self.domain.levels.items() if levels.keys}
        if self.schema.named:  # a matrix has one type, and perhaps 100,000 columns
            held |= dict.fromkeys(self.schema.numeric, NAMES[NUMBER])
        held[""] = _type(self.domain.classes)
        return held

    def seen(self, name: str) -> tuple[float, float]:
        """The least and the greatest value of a numeric column; NaN where it is not known."""
        return self._known_ranges.of(self.schema.numeric_index[name])

    def decimals(self, name: str) -> float:
        """With how many decimals the values of a numeric column are written, 0 if all are whole; NaN if not known."""
        return float(self._known_ranges.decimals[self.schema.numeric_index[name]])

    @cached_property
    def _known_ranges(self) -> Ranges:
        """Those counted; of what became unknown by forgetting, those of the rows that are kept, if all are."""
        features = self.statistic.parts.get("features")
        parts = features.parts.values() if isinstance(features, Product) else ()
        found, place = self.ranges, self.schema.numeric_index
        for part in parts if found.doubtful else ():
            if isinstance(part, Rows) and not part.sampled:
                kept = Ranges.empty(len(part.schema.numeric)).update(part.block())
                found = found.known_from(kept, [place[name] for name in part.schema.numeric])
        return found

    @property
    def weight(self) -> float:
        """Of all rows."""
        (_, rows), *_ = self.statistic["classes"].column_weights()
        return float(rows.total().to_float()[0])

    def find_outweighed(self) -> str | None:
        """A column with more weight than the rows of its class, which no table can have."""
        if "classes" not in self.statistic.parts:
            return None
        (_, rows), *_ = self.statistic["classes"].column_weights()
        heavy = (name for name, weight in self.statistic.column_weights() if (rows - weight).negative().any())
        return next(heavy, None)

    @property
    def _sampled(self) -> bool:
        """Whether it keeps some of the rows it counted."""
        features = self.statistic.parts.get("features")
        parts = features.parts.values() if isinstance(features, Product) else ()
        return any(isinstance(part, Rows) and part.sampled for part in parts)

    @staticmethod
    def _knows(where: str, mine: Levels, theirs: Levels) -> None:
        for k in theirs.keys:
            if k not in mine.index:
                raise ForgetError(
                    f"{where} has the value {show(k)!r}, which the model never learned "
                    f"(known: {mine.show()}); the model stays as it was"
                )

    def canonical(self) -> Counted:
        """Sorted, without undeclared classes and levels that carry no weight: equal counts compare equal.

        Refused where the levels of a column are of several types, or those of a binary one more than two.
        """
        groups, occupied = self.statistic.occupancy()
        classes = groups.reshape(-1, self.folds).any(axis=1)
        domain = Domain(self.domain.classes.canonical(classes | self._declared_classes), self._levels_there(occupied))
        for name, levels in domain.levels.items():
            if len(types := levels.types) > 1:
                raise KindError(
                    f"column {name!r} has levels that are {' and '.join(types)} ({levels.show()}); a column holds "
                    f"values of one type: convert it"
                )
            if self.schema[name].kind == "binary" and len(levels) - (MISSING in levels.index) > 2:
                raise SchemaError(
                    f"column {name!r} is binary ({self.schema[name].why}) but has the levels {levels.show()}; "
                    f"declare it 'nominal'"
                )
        return self._on(domain)

    def trim(self) -> Counted:
        """Without undeclared levels that carry no weight; the classes stay."""
        return self._on(Domain(self.domain.classes, self._levels_there(self.statistic.occupancy()[1])))

    def _levels_there(self, occupied: Mapping[str, Bool]) -> dict[str, Levels]:
        """The declared and the occupied levels of each column."""
        return {
            name: self.schema[name].known(old, occupied.get(name, np.zeros(len(old), bool)))
            for name, old in self.domain.levels.items()
        }

    @cached_property
    def _declared_classes(self) -> Bool:
        declared = Levels.of(self.schema.classes).index
        return np.array([k in declared for k in self.domain.classes.keys], dtype=bool)

    def to_bytes(self) -> bytes:
        """What was counted as data, for an engine whose workers are other processes."""
        levels = [[name, known.keys] for name, known in self.domain.levels.items()]
        about = json.dumps([self.domain.classes.keys, levels, astuple(self.ingest)]).encode()
        out = io.BytesIO()
        beside: dict[str, Any] = {ABOUT: np.frombuffer(about, np.uint8), LOW: self.ranges.low, HIGH: self.ranges.high}
        beside |= {DECIMALS: self.ranges.decimals, **self.statistic.arrays()}
        np.savez(out, **beside)
        return out.getvalue()

    def with_bytes(self, data: bytes) -> Counted:
        """What another process counted from this empty one."""
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        classes, levels, read = json.loads(arrays.pop(ABOUT).tobytes())
        ranges = Ranges(arrays.pop(LOW), arrays.pop(HIGH), arrays.pop(DECIMALS))
        domain = Domain(_levels(classes), {name: _levels(keys) for name, keys in levels})
        there = self._on(domain)
        return replace(there, statistic=there.statistic.with_arrays(arrays), ranges=ranges, ingest=IngestReport(*read))

    @property
    def rows(self) -> int:
        """How many rows came in, labelled or not."""
        return self.ingest.rows

    def training(self, fold: int) -> Counted:
        """The rows outside one fold, with classes as groups: the training set of that fold."""
        return self.train_on(np.arange(self.folds) != fold)

    def train_on(self, kept: Bool) -> Counted:
        """Some folds together, as if there were no others: a level that only the others have was never seen."""
        return replace(self.pool(kept).trim(), ranges=Ranges.unknown(len(self.schema.numeric)))

    def pool(self, kept: Bool | None = None) -> Counted:
        """Some folds together, all unless marked in ``kept``, with classes and levels as they are."""
        kept = np.ones(self.folds, dtype=bool) if kept is None else kept
        classes = np.arange(len(self.domain.classes))
        groups: Int = np.where(kept[None, :], classes[:, None], -1).ravel().astype(np.int64)
        placed = self.statistic.place(groups, len(classes), {})
        return replace(self, statistic=placed, folds=1, roles=replace(self.roles, fold=None))


def _type(levels: Levels) -> str:
    """What levels are; nothing of numbers that a double cannot tell apart, whose type is to be found out."""
    family = levels.keys[0][0]
    numbers = (value for f, value in levels.keys if f == NUMBER and isinstance(value, int))
    exact = all(abs(value) <= EXACT_INTEGERS for value in numbers)
    return NAMES.get(family, "") if exact else ""


def _levels(keys: list[list[Any]]) -> Levels:
    return Levels(tuple((family, value) for family, value in keys))
