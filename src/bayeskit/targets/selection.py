"""Selection: the answers that a query gives beside the columns to keep."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.arrays import Float
from bayeskit.decision.costs import Costs
from bayeskit.errors import InputError
from bayeskit.explain.answers import ACTION, COST, PREDICTION, REASONS
from bayeskit.portable.program import Program, Unportable
from bayeskit.portable.symbol import Symbol, Value, logsum
from bayeskit.targets.dialect import Dialect
from bayeskit.targets.expand import expand, log_posterior
from bayeskit.targets.sql import MANY, Writer


@dataclass(frozen=True)
class Selection:
    """What to select: as ``predict_frame`` names it."""

    program: Program
    dialect: Dialect
    keep: tuple[str, ...] = ()
    costs: Costs | None = None
    reasons: int = 0

    def __post_init__(self) -> None:
        added = [PREDICTION, *self._probabilities, ACTION, COST, REASONS]
        if doubled := sorted(set(self.keep) & set(added)):
            raise InputError(f"the column {doubled[0]!r} to keep has the name of an answer; keep others, or rename it")
        if isinstance(self.reasons, bool) or not isinstance(self.reasons, int) or self.reasons < 0:
            raise InputError(f"reasons={self.reasons!r}: give a number of columns")
        inputs = len(self.program.columns)
        if inputs + len(self.keep) > self.dialect.columns or inputs > self.dialect.inputs:
            raise Unportable(
                f"its {inputs:,} columns are more than the {self.dialect.inputs:,} of a query of {self.dialect.name}; "
                "export it to onnx, javascript or python, which take thousands, or keep fewer columns (FeatureSelector)"
            )

    @property
    def _probabilities(self) -> list[str]:
        return [f"P({label})" for label in self.program.classes]

    def write(self, source: str) -> str:
        """The whole SELECT."""
        writer, sql = Writer(self.program, self.dialect), self.dialect
        first = writer.source(self.keep)
        roots = [log_posterior(self.program), *(self._reasons() if self.reasons else ())]
        (logs, level), *said = writer.write(roots)
        k = len(self.program.classes)
        proba = _level(writer, max([level, *(at for _, at in said)]) + 1)
        zero, far = sql.number(0.0), sql.number(-700.0)
        proba += [f"{t} AS g{c}" for c, t in enumerate(logs if len(logs) > 1 else logs * k)]
        proba += [f"{t} AS r{j}_{c}" for j, (texts, _) in enumerate(said) for c, t in enumerate(texts)]
        _level(writer, len(writer.levels)).append(f"{sql.largest([f'g{c}' for c in range(k)])} AS most")
        shares = [f"CASE WHEN g{c} - most > {far} THEN exp(g{c} - most) ELSE {zero} END AS e{c}" for c in range(k)]
        _level(writer, len(writer.levels)).extend(shares)
        whole = " + ".join(f"e{c}" for c in range(k))
        _level(writer, len(writer.levels)).extend(f"e{c} / ({whole}) AS p{c}" for c in range(k))
        decided = _level(writer, len(writer.levels))
        decided.append(f"{_first([f'p{c}' for c in range(k)], '>=')} AS best")
        answers = [f"keep_{i} AS {sql.identifier(name)}" for i, name in enumerate(self.keep)]
        labels = [sql.label(label) for label in self.program.classes]
        named = [(PREDICTION, _choose("best", labels)), *((n, f"p{c}") for c, n in enumerate(self._probabilities))]
        if self.costs is not None:
            named += self._costs(decided)
        if self.reasons:
            names = [sql.text(column.name) for column in self.program.columns]
            each = [_choose("best", [f"r{j}_{c}" for c in range(k)]) for j in range(len(said))]
            named.append((REASONS, sql.rank(list(zip(names, each, strict=True)), self.reasons)))
        bad = _any([f"({b})" for b in writer.bad])
        if bad:
            _level(writer, 2).append(f"CASE WHEN {bad} THEN 1 ELSE 0 END AS refused")  # codes are of level 1
        for name, text in named:
            shown = f"CASE WHEN refused = 1 THEN NULL ELSE {text} END" if bad else text
            answers.append(f"{shown} AS {sql.identifier(name)}")
        return _assemble(writer, first, source, answers)

    def _costs(self, decided: list[str]) -> list[tuple[str, str]]:
        assert self.costs is not None
        matrix: Float = self.costs.matrix_for(np.array(self.program.classes, dtype=object))
        number, names = self.dialect.number, [f"cost_{a}" for a in range(matrix.shape[1])]
        for name, column in zip(names, matrix.T.tolist(), strict=True):
            terms = [f"p{c} * {number(cost)}" for c, cost in enumerate(column)]
            decided.append(f"{' + '.join(terms)} AS {name}")
        actions = [self.dialect.label(action) for action in self.costs.actions]
        best = _first(names, "<=")
        return [(ACTION, _choose(f"({best})", actions)), (COST, _choose(f"({best})", names))]

    def _reasons(self) -> list[Any]:
        """Of each column how it moves the log-odds of every class against all others, the columns revealed in order."""
        (member, *others), k = self.program.members or (None,), len(self.program.classes)
        if others or member is None or self.program.calibration or any(len(t.columns) != 1 for t in member.terms):
            raise Unportable(
                "reasons are of columns that are independent given the class, in a model that is not calibrated"
            )
        if k < 2:
            raise Unportable("there is one class only, and nothing speaks for it")
        path: Any = Symbol("add", member.base, 0.0)
        before, found = _odds(path, k), []
        for column in self.program.columns:
            for term in member.terms:
                path = path + term.value if term.columns == (column.name,) else path
            after = _odds(path, k)
            found.append(expand(after - before))
            before = after
        return found


def _odds(score: Value, k: int) -> Symbol:
    one = [Symbol("class", score, c) for c in range(k)]
    return Symbol("stack", *(one[c] - logsum([one[j] for j in range(k) if j != c]) for c in range(k)))


def _any(conditions: Sequence[str]) -> str:
    """Whether one of them holds, by halves: parsers go only so deep."""
    half = len(conditions) // 2
    if len(conditions) > MANY:
        return f"({_any(conditions[:half])} OR {_any(conditions[half:])})"
    return f"({' OR '.join(conditions)})" if conditions else ""


def _level(writer: Writer, number: int) -> list[str]:
    return writer.level_of(number).columns


def _first(names: Sequence[str], test: str) -> str:
    """The place of the best, the first in a tie."""
    ways = [
        f"WHEN {' AND '.join(f'{name} {test} {other}' for other in names[i + 1 :])} THEN {i}"
        for i, name in enumerate(names[:-1])
    ]
    return f"CASE {' '.join(ways)} ELSE {len(names) - 1} END" if ways else "0"


NAME = re.compile(r"\b[a-z]\w*")


def _names(texts: Sequence[str]) -> set[str]:
    """What looks like names of columns and tables in expressions."""
    return {name for text in texts for name in NAME.findall(text)}


def _alias(join: str) -> str:
    return join.split(" AS ", 1)[1].split(" ", 1)[0]


def _choose(place: str, texts: Sequence[str]) -> str:
    return f"CASE {place} {' '.join(f'WHEN {i} THEN {text}' for i, text in enumerate(texts))} END"


def _assemble(writer: Writer, first: Sequence[str], source: str, answers: Sequence[str]) -> str:
    """The levels, each with the columns that a later one asks for."""
    fence, levels = writer.sql.fence, [first, *(level.columns for level in writer.levels[1:])]
    made = {column.rsplit(" AS ", 1)[1]: i for i, columns in enumerate(levels) for column in columns}
    wanted, parts = _names(answers) & made.keys(), []
    for i in range(len(levels) - 1, 0, -1):
        own = [column for column in levels[i] if column.rsplit(" AS ", 1)[1] in wanted]
        joins = [join for join in writer.levels[i].joins if _alias(join) in _names(own)]
        wanted = {n for n in wanted if made[n] < i} | {n for n in _names([*own, *joins]) & made.keys() if made[n] < i}
        columns = [*(f"q{i - 1}.{name}" for name in sorted(wanted)), *own]
        if len(columns) > writer.sql.columns:
            raise Unportable(f"it takes {len(columns):,} columns at once, more than {writer.sql.name} can have")
        shown = "".join(f"\n  {join}" for join in joins)
        listed = ",\n    ".join(columns)
        parts.append(f"q{i} AS (\n  SELECT {listed}\n  FROM q{i - 1}{shown}{fence})")
        used = {_alias(join) for join in joins}
        parts += [view for alias, made in writer.levels[i].views.items() if alias in used for view in reversed(made)]
    parts.append(f"q0 AS (SELECT {', '.join(first)} FROM {source}{fence})")
    parts = [*writer.tables.values(), *reversed(parts)]
    last = len(levels) - 1
    return "WITH " + ",\n".join(parts) + "\nSELECT " + ",\n  ".join(answers) + f"\nFROM q{last}\n"
