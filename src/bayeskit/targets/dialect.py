"""Dialects: how each engine writes names, numbers, texts and the few functions that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.arrays import Label
from bayeskit.errors import InputError

LOG_ZERO = -1e300  # stands for log 0, so that no engine meets an infinity
ABOVE = 1e299  # beyond it a number counts as infinite


@dataclass(frozen=True)
class Dialect:
    """Standard SQL; the others say what differs."""

    name: str = "duckdb"
    text_type: str = "VARCHAR"
    double: str = "DOUBLE"
    fence: str = " LIMIT 9223372036854775807"  # ends a subquery that must not be merged with the query around it
    longest: int = 10**9  # bytes of a name
    columns: int = 100_000  # of a SELECT
    inputs: int = 1000  # columns of a model beyond which planning takes minutes
    false: str = "FALSE"
    once: str = "AS MATERIALIZED"  # of a common table that is worked out once, however often it is read
    lists: bool = True  # whether [a, b] is a list, and l[1] its first

    def identifier(self, name: str) -> str:
        """A name, quoted."""
        self._check(name, "a name")
        if len(name.encode()) > self.longest:
            raise InputError(f"the name {name!r} has more than {self.longest} bytes, which {self.name} would cut")
        return '"' + name.replace('"', '""') + '"'

    def table(self, source: str | Sequence[str]) -> str:
        """A table or view, with its schema before a dot or as a sequence of names."""
        names = source.split(".") if isinstance(source, str) else list(source)
        if not names or not all(isinstance(name, str) and name for name in names):
            raise InputError(f"source={source!r}: give the name of a table or view, with its schema before a dot")
        return ".".join(self.identifier(name) for name in names)

    def text(self, value: str) -> str:
        """A text, quoted."""
        self._check(value, "a text")
        return "'" + value.replace("'", "''") + "'"

    def _check(self, value: str, what: str) -> None:
        if "\0" in value:
            raise InputError(f"{value!r} is {what} with a NUL character, which SQL does not have; rename it")
        try:
            value.encode()
        except UnicodeEncodeError as why:
            raise InputError(f"{value!r} is {what} that no database can store; rename it") from why

    def number(self, value: float) -> str:
        """A double."""
        text = repr(bound(value))
        text = text if "e" in text else text + "e0"
        return f"({text})" if value < 0 else text

    def label(self, value: Label) -> str:
        """A class or an action, in its own type."""
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, int):
            return f"({value})" if value < 0 else str(value)
        return self.number(value) if isinstance(value, float) else self.text(str(value))

    def cast(self, expression: str, kind: str) -> str:
        """An expression as "text", "number", "whole" or "truth" (0 or 1)."""
        wanted = {"text": self.text_type, "number": self.double, "truth": "INTEGER", "whole": "INTEGER"}[kind]
        return f"CAST({expression} AS {wanted})"

    def finite(self, x: str) -> tuple[str, str]:
        """Conditions that a double is NaN, and that it is infinite."""
        return f"isnan({x})", f"isinf({x})"

    def largest(self, each: Sequence[str], name: str = "greatest") -> str:
        """The largest of some numbers."""
        return each[0] if len(set(each)) == 1 else f"{name}({', '.join(each)})"

    def least(self, each: Sequence[str]) -> str:
        """The least of some numbers."""
        return self.largest(each, "least")

    def square(self, x: str) -> str:
        """x x."""
        return f"({x} * {x})"

    def log1p(self, x: str) -> str:
        """log(1 + x): Kahan's, which keeps the digits of small x."""
        return f"CASE WHEN 1e0 + {x} = 1e0 THEN {x} ELSE ln(1e0 + {x}) * {x} / ((1e0 + {x}) - 1e0) END"

    def floor(self, x: str) -> str:
        """The largest whole number that is no larger."""
        return f"floor({x})"

    def at(self, numbers: Sequence[float], place: str) -> str:
        """The number at a place of many; "" where a join is better."""
        return ""

    def below(self, cuts: Sequence[float], x: str) -> str:
        """How many of many cuts lie below x; "" where halving is better."""
        return ""

    def rows(self, columns: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
        """A table of constants."""
        values = ",".join(f"({','.join(line)})" for line in lines)
        return f"SELECT * FROM (VALUES {values}) AS v({','.join(columns)})"

    def long(self, columns: Mapping[str, Sequence[int | float | str]]) -> str:
        """A long table of whole numbers, doubles and plain words, as texts, which are read faster than expressions."""
        each = [f"CAST({self.spread(' '.join(map(str, v)))} AS {self.kind(v)}) AS {n}" for n, v in columns.items()]
        return f"SELECT {', '.join(each)}"

    def spread(self, text: str) -> str:
        """The words of a text, one to a row."""
        return f"unnest(string_split('{text}', ' '))"

    def kind(self, values: Sequence[int | float | str]) -> str:
        """The type of a column of constants."""
        first = values[0]
        return self.text_type if isinstance(first, str) else self.double if isinstance(first, float) else "INTEGER"

    def within(self, text: str, part: str) -> str:
        """Whether a text has a part."""
        return f"instr({text}, {part}) > 0"

    def kernels(self, centre: Sequence[float], log_weight: Sequence[float], precision: float, y: str) -> str:
        """log of the sum of exp(w - ((y - c) p)^2 / 2) over centres."""
        one = "t[2] - 0.5e0 * (({y} - t[1]) * {p}) * (({y} - t[1]) * {p})".format(y=y, p=self.number(precision))
        pairs = ",".join(f"[{self.number(c)},{self.number(w)}]" for c, w in zip(centre, log_weight, strict=True))
        most = f"list_max([{one} FOR t IN [{pairs}]])"
        rest = f"list_sum([exp(greatest({one} - u, -700e0)) FOR t IN [{pairs}]])"
        return f"list_extract([u + ln({rest}) FOR u IN [{most}]], 1)"

    def rank(self, pairs: Sequence[tuple[str, str]], most: int) -> str:
        """The names of the largest positive numbers with them, as a text: "name +1.23, other +0.50"."""
        every = ",".join(f"{{'w': {weight}, 'j': {-j}, 'n': {name}}}" for j, (name, weight) in enumerate(pairs))
        kept = f"[r FOR r IN list_reverse_sort([{every}]) IF r.w > 0][1:{most}]"
        return f"array_to_string([r.n || ' ' || printf('%+.2f', r.w) FOR r IN {kept}], ', ')"


@dataclass(frozen=True)
class Relational(Dialect):
    """Engines without lists, where a sum over constants is a subquery."""

    lists: bool = False

    def kernels(self, centre: Sequence[float], log_weight: Sequence[float], precision: float, y: str) -> str:
        lines = [[self.number(c), self.number(w)] for c, w in zip(centre, log_weight, strict=True)]
        one = f"k.w - {self.number(0.5)} * {self.square(f'(({y} - k.c) * {self.number(precision)})')}"
        table = f"({self.rows(['c', 'w'], lines)}) AS k"
        most = f"(SELECT max({one}) FROM {table})"
        shown = f"CASE WHEN {one} - m.most > {self.number(-700.0)} THEN exp({one} - m.most) END"
        return f"(SELECT max(m.most) + ln(sum({shown})) FROM {table}, (SELECT {most} AS most) AS m)"


@dataclass(frozen=True)
class Sqlite(Relational):
    """SQLite 3.35 or later with its mathematical functions."""

    name: str = "sqlite"
    text_type: str = "TEXT"
    double: str = "REAL"
    fence: str = " LIMIT -1"
    columns: int = 1900
    inputs: int = 1900
    false: str = "0"

    def largest(self, each: Sequence[str], name: str = "max") -> str:
        return super().largest(each, name)

    def least(self, each: Sequence[str]) -> str:
        return self.largest(each, "min")

    def label(self, value: Label) -> str:
        return str(int(value)) if isinstance(value, bool) else super().label(value)

    def finite(self, x: str) -> tuple[str, str]:
        return "0", f"abs({x}) > 1.7976931348623157e308"

    def rows(self, columns: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
        first = ",".join(f"{value} AS {name}" for name, value in zip(columns, lines[0], strict=True))
        rest = ",".join(f"({','.join(line)})" for line in lines[1:])
        return f"SELECT {first}" + (f" UNION ALL VALUES {rest}" if rest else "")

    def long(self, columns: Mapping[str, Sequence[int | float | str]]) -> str:
        lines = zip(*(map(repr, values) for values in columns.values()), strict=True)
        return self.rows(list(columns), [list(line) for line in lines])

    def rank(self, pairs: Sequence[tuple[str, str]], most: int) -> str:
        every = " UNION ALL ".join(f"SELECT {name} AS n, {w} AS w, {j} AS j" for j, (name, w) in enumerate(pairs))
        kept = f"SELECT n, w FROM ({every}) WHERE w > 0 ORDER BY w DESC, j LIMIT {most}"
        return f"coalesce((SELECT group_concat(n || ' ' || printf('%+.2f', w), ', ') FROM ({kept})), '')"


@dataclass(frozen=True)
class Postgresql(Relational):
    """PostgreSQL 12 or later."""

    name: str = "postgresql"
    text_type: str = "text"
    double: str = "double precision"
    fence: str = " OFFSET 0"
    longest: int = 63
    columns: int = 1600
    inputs: int = 1600

    def text(self, value: str) -> str:
        quoted = super().text(value)
        return "E" + quoted.replace("\\", "\\\\") if "\\" in value else quoted

    def number(self, value: float) -> str:
        return f"float8 '{bound(value)!r}'"

    def cast(self, expression: str, kind: str) -> str:
        return f"({expression})::int" if kind == "truth" else super().cast(expression, kind)

    def square(self, x: str) -> str:
        return f"(CASE WHEN abs({x}) < float8 '1e150' THEN {x} * {x} WHEN {x} IS NOT NULL THEN float8 '1e300' END)"

    def finite(self, x: str) -> tuple[str, str]:
        return f"{x} = float8 'NaN'", f"abs({x}) = float8 'Infinity'"

    def long(self, columns: Mapping[str, Sequence[int | float | str]]) -> str:
        each = [f"'{{{','.join(map(str, values))}}}'::{self.kind(values)}[]" for values in columns.values()]
        return f"SELECT * FROM unnest({', '.join(each)}) AS v({', '.join(columns)})"

    def within(self, text: str, part: str) -> str:
        return f"strpos({text}, {part}) > 0"

    def rank(self, pairs: Sequence[tuple[str, str]], most: int) -> str:
        every = ",".join(f"({name}, {w}, {j})" for j, (name, w) in enumerate(pairs))
        kept = f"SELECT n, w, j FROM (VALUES {every}) AS v(n, w, j) WHERE w > 0 ORDER BY w DESC, j LIMIT {most}"
        shown = "n || ' ' || to_char(w, 'FMSG999999999999990.00')"
        return f"coalesce((SELECT string_agg({shown}, ', ' ORDER BY w DESC, j) FROM ({kept}) AS r), '')"


@dataclass(frozen=True)
class Spark(Dialect):
    """Spark SQL 3.4 or later, which does not merge what would be computed twice."""

    name: str = "spark"
    text_type: str = "STRING"
    fence: str = ""
    once: str = "AS"
    lists: bool = False

    def identifier(self, name: str) -> str:
        super().identifier(name)
        return "`" + name.replace("`", "``") + "`"

    def text(self, value: str) -> str:
        super().text(value)
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r") + "'"

    def number(self, value: float) -> str:
        text = f"{bound(value)!r}D"
        return f"({text})" if value < 0 else text

    def finite(self, x: str) -> tuple[str, str]:
        return f"isnan({x})", f"abs({x}) = double('Infinity')"

    def log1p(self, x: str) -> str:
        return f"log1p({x})"

    def floor(self, x: str) -> str:
        return f"(CASE WHEN abs({x}) < 4503599627370496D THEN double(floor({x})) ELSE {x} END)"  # of a bigint

    def at(self, numbers: Sequence[float], place: str) -> str:
        return f"get({_list(numbers)}, try_cast({place} AS INT))"

    def below(self, cuts: Sequence[float], x: str) -> str:
        lower = f"transform(array({x}), u -> size(filter({_list(cuts)}, c -> c < u)))[0]"
        return f"CASE WHEN {x} IS NULL THEN {len(cuts)} ELSE {lower} END"

    def long(self, columns: Mapping[str, Sequence[int | float | str]]) -> str:
        lists = ", ".join(f"split('{' '.join(map(str, values))}', ' ')" for values in columns.values())
        each = [f"CAST(v.l['{i}'] AS {self.kind(values)}) AS {n}" for i, (n, values) in enumerate(columns.items())]
        return f"SELECT {', '.join(each)} FROM (SELECT explode(arrays_zip({lists})) AS l) AS v"

    def kernels(self, centre: Sequence[float], log_weight: Sequence[float], precision: float, y: str) -> str:
        one = "t[1] - 0.5D * (({y} - t[0]) * {p}) * (({y} - t[0]) * {p})".format(y=y, p=self.number(precision))
        pairs = ",".join(f"array({self.number(c)},{self.number(w)})" for c, w in zip(centre, log_weight, strict=True))
        each = f"transform(array({pairs}), t -> {one})"
        rest = f"aggregate({each}, 0D, (s, v) -> s + exp(greatest(v - array_max({each}), -700D)))"
        return f"array_max({each}) + ln({rest})"

    def rank(self, pairs: Sequence[tuple[str, str]], most: int) -> str:
        every = ",".join(f"named_struct('w', {w}, 'j', {-j}, 'n', {name})" for j, (name, w) in enumerate(pairs))
        kept = f"slice(filter(sort_array(array({every}), false), r -> r.w > 0), 1, {most})"
        return f"array_join(transform({kept}, r -> concat(r.n, ' ', format_string('%+.2f', r.w))), ', ')"


def _list(numbers: Sequence[float]) -> str:
    """Numbers as an array of Spark, which is read once."""
    return f"CAST(split('{' '.join(map(repr, numbers))}', ' ') AS ARRAY<DOUBLE>)"


def bound(value: float) -> float:
    """A number, with one that every engine has in place of an infinite one."""
    return float(value) if np.isfinite(value) else float(np.sign(value)) * -LOG_ZERO


def held(value: float) -> float:
    """A number that no engine takes for an infinite one."""
    return float(np.sign(value)) * ABOVE if 1e308 < abs(value) < np.inf else bound(value)


def truth(text: str) -> str:
    """An expression as a condition; constants are numbers."""
    return f"({text} <> 0)" if is_number(text) else text


def is_number(text: str) -> bool:
    """Whether an expression is a constant."""
    bare = text.strip("()").removeprefix("float8 ").strip("'").removesuffix("D")
    try:
        float(bare)
    except ValueError:
        return False
    return True


def deviance(x: str, mean: str, number: Any) -> str:
    """x log(x / m) + m - x, by a series in (x - m) / (x + m) where it would cancel."""
    half = number(0.5)
    v = f"(({x} * {half} - {mean} * {half}) / ({x} * {half} + {mean} * {half}))"
    tail = number(0.0)
    for k in range(10, 0, -1):
        tail = f"(({tail} + {number(1 / (2 * k + 1))}) * {v} * {v})"
    near = f"(({x} - {mean}) * {v} + {x} * ({number(2.0)} * {v} * {tail}))"
    far = (
        f"(CASE WHEN {x} > 0 AND {mean} > 0 THEN {x} * (ln({x}) - ln({mean})) ELSE {number(0.0)} END + ({mean} - {x}))"
    )
    return f"(CASE WHEN abs({v}) < {number(0.1)} THEN {near} ELSE {far} END)"


def stirling(x: str, number: Any) -> str:
    """log Gamma(x + 1) less Stirling's formula: a series from 15 on, and fifteen factors before it below."""

    def series(z: str) -> str:
        out = number(691 / 360360)
        for part in (1 / 1188, 1 / 1680, 1 / 1260, 1 / 360, 1 / 12):
            out = f"({number(part)} - {out} / ({z} * {z}))"
        return f"({out} / {z})"

    far = f"({x} + {number(15.0)})"
    rising = " * ".join(f"({x} + {number(float(i))})" for i in range(1, 16))
    half = number(0.5)
    whole = f"({far} + {half}) * ln({far}) - {far} + {series(far)}"
    low = f"{whole} - ln({rising}) - ({x} + {half}) * ln({x}) + {x}"
    return f"(CASE WHEN {x} >= {number(15.0)} THEN {series(x)} WHEN {x} > 0 THEN {low} END)"


DIALECTS: dict[str, Dialect] = {d.name: d for d in (Dialect(), Sqlite(), Postgresql(), Spark())}


def dialect(name: str) -> Dialect:
    """The dialect of a name."""
    if name not in DIALECTS:
        raise InputError(f"dialect={name!r}: choose one of {', '.join(DIALECTS)}")
    return DIALECTS[name]
