"""Export: a fitted model as a text or a file that runs without this library."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np

import bayeskit
from bayeskit.arrays import CostsLike, Float
from bayeskit.decision.costs import Costs
from bayeskit.errors import InputError, KindError
from bayeskit.explain.answers import ACTION, COST, PREDICTION, REASONS
from bayeskit.portable.nodes import Neighbours
from bayeskit.portable.program import Portable, Program, Unportable
from bayeskit.portable.symbol import Steps, Symbol, Value, logsum
from bayeskit.targets.dialect import Dialect
from bayeskit.targets.dialect import dialect as dialect_of
from bayeskit.targets.expand import expand, log_posterior
from bayeskit.targets.onnx import onnx
from bayeskit.targets.scripts import javascript, python
from bayeskit.targets.sql import Writer, any_of

COMMENTS = {"sql": "--", "javascript": "//", "python": "#"}  # how each text begins one
TARGETS = (*COMMENTS, "onnx")
MARK = "Written by bayeskit"


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
        bad = any_of([f"({b})" for b in writer.bad])
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
    fence, levels = writer.sql.fence, [first, *(level.select() for level in writer.levels[1:])]
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


@overload
def export(model: Any, target: Literal["onnx"], *, missing: str = ...) -> bytes: ...
@overload
def export(
    model: Any,
    target: str,
    *,
    dialect: str = ...,
    source: str | Sequence[str] | None = ...,
    keep: Sequence[str] | str = ...,
    costs: CostsLike = ...,
    reasons: int = ...,
    missing: str = ...,
) -> str: ...
def export(
    model: Any,
    target: str,
    *,
    dialect: str = "duckdb",
    source: str | Sequence[str] | None = None,
    keep: Sequence[str] | str = (),
    costs: CostsLike = None,
    reasons: int = 0,
    missing: str = "",
) -> str | bytes:
    """A fitted model as SQL, a JavaScript module, a Python file or ONNX: the same posteriors without this library.

    Missing values and levels never seen are treated as the model does. Where the model would refuse a row (an infinite
    number, or a level never seen under ``unseen="error"``), SQL answers NULL, ONNX has NaN as probabilities, and the
    others raise an error.

    Parameters
    ----------
    model : classifier
        A fitted classifier of this library that looks up no learned rows.
    target : {"sql", "javascript", "python", "onnx"}
        SQL is one SELECT; JavaScript an ES module with ``classes``, ``predictProba(row)`` and ``predict(row)``; Python
        a file with ``classes``, ``predict_proba(row)`` and ``predict(row)`` that imports the standard library alone;
        ONNX a model of opset 18 with an input of shape (rows, 1) for each column (doubles, NaN where missing; truth
        values as 0 and 1; texts) and the outputs ``label`` and ``probabilities``.
    dialect : {"duckdb", "sqlite", "postgresql", "spark"}, default "duckdb"
        Of SQL.
    source : str or sequence of str, optional
        The table or view the SELECT reads, with its schema before a dot, or as a sequence of names; for SQL.
    keep : sequence of str, optional
        Columns of the source to select too; for SQL.
    costs : Costs or mapping, optional
        Adds the action of least expected cost, and that cost; for SQL.
    reasons : int, default 0
        Adds so many columns that speak most for the prediction, with their log-odds; for SQL, of columns that are
        independent given the class.
    missing : str, default ""
        The text that stands for a missing one; for ONNX, whose texts are never missing.

    Returns
    -------
    str or bytes
        The text, or the bytes of an ONNX file.

    Examples
    --------
    >>> import bayeskit as bk, duckdb
    >>> model = bk.NaiveBayes().fit({"colour": ["red", "red", "blue", "blue"]}, ["a", "a", "a", "b"])
    >>> db = duckdb.connect()
    >>> _ = db.execute("CREATE TABLE t AS SELECT 'red' AS colour")
    >>> db.execute(export(model, "sql", source="t")).fetchall()[0][0]
    'a'
    """
    if target not in TARGETS:
        raise InputError(f"target={target!r}: choose one of {', '.join(TARGETS)}")
    if not isinstance(model, Portable):
        raise KindError(f"export() takes a fitted classifier of this library, not {type(model).__name__}")
    wanted: dict[str, Any] = {"source": source, "keep": keep, "costs": costs, "reasons": reasons}
    if target != "sql" and (given := [name for name, value in wanted.items() if value not in (None, (), 0)]):
        raise InputError(f"{', '.join(given)} belong to SQL, not to {target}")
    if target != "onnx" and missing:
        raise InputError(f"missing belongs to onnx, not to {target}")
    try:
        program = model.program()
        check_rows(program)
        if target == "onnx":
            return onnx(program, missing, bayeskit.__version__)
        text = _select(program, dialect, **wanted) if target == "sql" else WRITERS[target](program)
    except Unportable as why:
        raise InputError(f"{type(model).__name__} cannot be exported to {target}: {why}") from why
    return f"{COMMENTS[target]} {MARK} {bayeskit.__version__}\n{text}"


WRITERS = {"javascript": javascript, "python": python}


def _select(program: Program, dialect: str, source: Any, keep: Sequence[str] | str, costs: Any, reasons: int) -> str:
    if source is None:
        raise InputError("give source=, the table or view that the SELECT reads")
    table = None if costs is None else Costs.of(costs, list(program.classes))
    names = (keep,) if isinstance(keep, str) else tuple(dict.fromkeys(keep))
    chosen = dialect_of(dialect)
    return Selection(program, chosen, names, table, reasons).write(chosen.table(source))


def check_rows(program: Program) -> None:
    """Refuse members that look up learned rows, and name those that do not."""
    gone = [m.name for m in program.members if any(_looks_up(term.value) for term in m.terms)]
    if not gone:
        return
    kept = [m.name for m in program.members if m.name not in gone]
    nearest = "fit AutoBayes(portable=True), which has none such" if kept else "NaiveBayes, FullBayes and TAN can"
    verb, them = ("looks", "it") if len(gone) == 1 else ("look", "them")
    raise Unportable(f"{', '.join(map(repr, gone))} {verb} up the learned rows, which would go with {them}; {nearest}")


def _looks_up(value: Value) -> bool:
    steps = Steps()
    steps.add(value)
    return any(isinstance(argument, Neighbours) for step in steps.made for argument in step)
