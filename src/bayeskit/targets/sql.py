"""SQL: a program as one SELECT, in levels of subqueries that each add columns to those before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayeskit.arrays import Float
from bayeskit.data.levels import BOOL, NUMBER, TEXT
from bayeskit.portable.nodes import Forest, Kernel
from bayeskit.portable.program import InputColumn, Program, Unportable
from bayeskit.portable.symbol import Step, Steps, Table, Value
from bayeskit.targets.alike import arguments
from bayeskit.targets.dialect import ABOVE, LOG_ZERO, Dialect, bound, deviance, held, is_number, stirling, truth
from bayeskit.targets.guards import Guards, guards_of, is_null_where_missing, is_rare
from bayeskit.targets.trees import pack, select_shares

FEW = 24  # lines of a table that are written as CASE; longer ones are joined
LONG = 1500  # characters of an expression that is used more than once, or stands in another, before it gets a column
SHORT = 40  # characters of an expression that may be repeated
MANY = 100  # numbers that are added up in one line

Text = tuple[str, ...]  # of one class for all, or of each


@dataclass
class Level:
    """A subquery: what it adds, and the tables it looks up."""

    columns: list[str] = field(default_factory=list)
    joins: list[str] = field(default_factory=list)
    views: dict[str, list[str]] = field(default_factory=dict)  # of the level before, by the alias they are joined as
    lists: dict[str, tuple[str, list[str]]] = field(default_factory=dict)  # of what is rare, by the condition: a name

    def select(self) -> list[str]:
        """All that it adds."""
        lists = ((test, f"[{', '.join(texts)}]", name) for test, (name, texts) in self.lists.items())
        return [*self.columns, *(f"{_only(test, text)} AS {name}" for test, text, name in lists)]


class Writer:
    """Steps as expressions over the columns of levels."""

    def __init__(self, program: Program, dialect: Dialect) -> None:
        self.program, self.sql, self.k = program, dialect, len(program.classes)
        self.levels: list[Level] = [Level()]
        self.tables: dict[Any, str] = {}  # constants to join, by what they hold
        self.steps = Steps()
        self.texts: dict[int, Text] = {}
        self.at: dict[int, int] = {}  # the level at which a step can be computed
        self.joined: dict[tuple[int, str], str] = {}  # alias of a table joined at a level by an index
        self.codes: dict[int, str] = {}  # names of the codes of columns
        self.bad: list[str] = []
        self.guards: list[Guards] = []
        self.rare: set[int] = set()  # steps asked for only where all classes are impossible
        self.kept: set[int] = set()  # steps that have columns of their own

    # -- columns ----------------------------------------------------------------------------------

    def source(self, keep: Sequence[str]) -> list[str]:
        """The first level: the inputs in the types of the program, and the columns to keep."""
        columns = [f"{self.sql.identifier(name)} AS keep_{i}" for i, name in enumerate(keep)]
        for j, column in enumerate(self.program.columns):
            columns.append(f"{self._input(j, column)} AS x{j}")
        return columns

    def _input(self, j: int, column: InputColumn) -> str:
        name = self.sql.identifier(column.name)
        if column.numeric:
            x = self.sql.cast(name, "number")
            nan, infinite = self.sql.finite(f"x{j}")
            self.bad.append(infinite)
            return x if nan == "0" else f"CASE WHEN {self.sql.finite(x)[0]} THEN NULL ELSE {x} END"
        families = {family for family, _ in column.keys} & {BOOL, NUMBER, TEXT}
        if len(families) > 1:
            raise Unportable(f"column {column.name!r} has levels of several types, and a column of SQL has one")
        kind = {BOOL: "truth", NUMBER: "number", TEXT: "text"}[families.pop()] if families else "text"
        return self.sql.cast(name, kind)

    def _code(self, j: int) -> str:
        """The code of a level."""
        column = self.program.columns[j]
        known = [(self._level(f, v), c) for c, (f, v) in enumerate(column.keys) if f in (BOOL, NUMBER, TEXT)]
        if len(known) > FEW:
            table = self._constants(("levels", j), lambda: self.sql.rows(["v", "c"], [[v, str(c)] for v, c in known]))
            self.level_of(1)
            self.levels[1].joins.append(f"LEFT JOIN {table} AS l{j} ON l{j}.v = q0.x{j}")
            found = f"coalesce(l{j}.c, -2)"
        else:
            found = f"CASE x{j} {' '.join(f'WHEN {v} THEN {c}' for v, c in known)} ELSE -2 END" if known else "-2"
        name = f"c{j}"
        self.level_of(1)
        self.levels[1].columns.append(f"CASE WHEN x{j} IS NULL THEN {column.missing_code} ELSE {found} END AS {name}")
        if column.known_only:
            self.bad.append(f"{name} = -2")
        return name

    def _level(self, family: int, value: Any) -> str:
        if family == TEXT:
            return self.sql.text(value)
        if isinstance(value, int) and abs(value) > 2**53:
            raise Unportable(f"the level {value} is a whole number that a double does not hold")
        return str(int(value)) if family == BOOL else self.sql.number(float(value))

    def _constants(self, key: Any, select: Callable[[], str]) -> str:
        if key not in self.tables:
            name = f"t{len(self.tables)}"
            self.tables[key] = f"{name} AS ({select()})"
        return self.tables[key].split(" ", 1)[0]

    def _table(self, names: Sequence[str], lines: Float) -> str:
        """The lines of a table by their places."""
        if np.isnan(lines).any():
            rows = [[str(i), *map(self._number, line)] for i, line in enumerate(lines)]
            return self.sql.rows(["i", *names], rows)
        columns = {name: [held(v) for v in column] for name, column in zip(names, lines.T.tolist(), strict=True)}
        return self.sql.long({"i": list(range(len(lines))), **columns})

    def level_of(self, number: int) -> Level:
        """The level of a number, with all before it."""
        while len(self.levels) <= number:
            self.levels.append(Level())
        return self.levels[number]

    # -- steps ------------------------------------------------------------------------------------

    def write(self, roots: Sequence[Value]) -> list[tuple[Text, int]]:
        """The expressions of some symbols, and the level at which they can be computed."""
        places = [self.steps.add(root) for root in roots]
        made = self.steps.made
        self.guards = guards_of(made, places)
        self.rare = {i for i, guards in enumerate(self.guards) if any(is_rare(made, guard) for guard in guards)}
        uses = [0] * len(made)
        for user, step in enumerate(made):
            for i in arguments(step):
                uses[i] += i in self.rare or user not in self.rare
        for i, step in enumerate(made):
            self.texts[i], self.at[i] = self._step(step)
            plain = step[0] in ("number", "code", "constant")
            heavy = (uses[i] > 1 and len(self.texts[i][0]) > 24) or max(map(len, self.texts[i])) > LONG
            if not plain and heavy and step[0] not in CONDITIONS:
                self._keep(i)
        return [(self.texts[i], self.at[i]) for i in places]

    def _name(self, i: int) -> tuple[int, str]:
        """The level and the name of a step of one number, which gets a column if it has none."""
        if not self.texts[i][0].replace("_", "").isalnum():
            self._keep(i, alone=True)
        return self.at[i], self.texts[i][0]

    def _keep(self, i: int, alone: bool = False) -> None:
        """Give a step columns of its own, computed only where it is asked for; what is rare shares a list."""
        level, texts = self.at[i], self.texts[i]
        self.kept.add(i)
        guards = [guard for guard in self.guards[i] if len(self.texts.get(guard[0], ())) == 1]  # not by class
        test = ""
        if guards:
            condition, holds = guards[-1]
            test, level = self.texts[condition][0], max(level, self.at[condition])
            test = test if holds else f"NOT coalesce({test}, {self.sql.false})"
        after, self.at[i] = self.level_of(level + 1), level + 1
        if i in self.rare and self.sql.lists and not alone:
            name, held = after.lists.setdefault(test, (f"s{i}", []))
            self.texts[i] = tuple(f"{name}[{len(held) + c}]" for c in range(1, len(texts) + 1))
            held.extend(texts)
            return
        names = tuple(f"s{i}" if len(texts) == 1 else f"s{i}_{c}" for c in range(len(texts)))
        after.columns.extend(f"{_only(test, t)} AS {n}" for t, n in zip(texts, names, strict=True))
        self.texts[i] = names

    def _step(self, step: Step) -> tuple[Text, int]:
        op, *args = step
        if op == "number":
            return (f"x{args[0]}",), 0
        if op == "code":
            if args[0] not in self.codes:
                self.codes[args[0]] = self._code(args[0])
            return (self.codes[args[0]],), 1
        if op == "constant":
            value = args[0]
            return tuple(self._number(v) for v in value) if isinstance(value, tuple) else (self._number(value),), 0
        if op == "take":
            return self._take(args[0], args[1])
        if op == "place":
            cuts = args[1].numbers.tolist()
            if len(cuts) > FEW and self.sql.below(cuts, "x"):
                self._name(args[0])
                return (self.sql.below([bound(cut) for cut in cuts], self.texts[args[0]][0]),), self.at[args[0]]
            return (self._place(self.texts[args[0]][0], cuts, 0),), self.at[args[0]]
        if op == "kernels":
            return self._kernels(args[0], args[1])
        if op == "forest":
            return self._trees(args[0], args[1:])
        if op == "add":
            return self._sum(args)
        if op == "where" and is_null_where_missing(self.steps.made, *args):
            level, default = self.at[args[2]], self.texts[args[1]][0]
            return tuple(f"coalesce({text}, {default})" for text in self.texts[args[2]]), level
        if op in REPEATING:
            for i in args:
                if max(map(len, self.texts[i])) > SHORT and self.steps.made[i][0] != "constant":
                    self._keep(i)
        level = max((self.at[i] for i in args if isinstance(i, int)), default=0)
        if op == "class":
            level = self.at[args[0]]
            mine = self.texts[args[0]]
            return (mine[args[1] if len(mine) > 1 else 0],), level
        given = [self.texts[i] for i in args]
        if op == "stack":
            return tuple(text[0] for text in given), level
        if op == "peak":  # the largest of all numbers of all classes, whichever are missing
            low = self.sql.number(LOG_ZERO)
            every = dict.fromkeys(text for texts in given for text in texts)
            return (self._extreme([f"coalesce({text}, {low})" for text in every], True),), level
        if op in ("largest", "least", "together"):
            each = given[0] if len(given[0]) > 1 else given[0] * self.k
            if op == "together":
                return self._logsums([each], level)
            return (self._extreme(each, op == "largest"),), level
        wide = max(map(len, given), default=1)
        rows = [text if len(text) > 1 else text * wide for text in given]
        if op == "logsum":
            return self._logsums([[row[c] for row in rows] for c in range(wide)], level)
        return tuple(self._simple(op, [row[c] for row in rows]) for c in range(wide)), level

    def _sum(self, args: Sequence[int]) -> tuple[Text, int]:
        """A sum; whether a term is log 0 in all classes is asked once, not by class."""
        made, tests, terms = self.steps.made, list[int](), list[int]()
        for arg in args:
            i = arg
            while made[i][0] == "where" and made[made[i][2]] == ("constant", -np.inf) and i not in self.kept:
                _, test, _, i = made[i]
                tests.append(test)
            terms.append(i)
        if any(len(self.texts[test]) > 1 for test in tests):
            tests, terms = [], list(args)
        level = max(self.at[i] for i in (*tests, *terms))
        given = [self.texts[i] for i in terms]
        wide = max(map(len, given))
        rows = [text if len(text) > 1 else text * wide for text in given]
        sums = [self._simple("add", [row[c] for row in rows]) for c in range(wide)]
        if not tests:
            return tuple(sums), level
        lost = any_of([truth(self.texts[test][0]) for test in tests])
        return tuple(f"(CASE WHEN {lost} THEN {self.sql.number(LOG_ZERO)} ELSE {text} END)" for text in sums), level

    def _number(self, value: float) -> str:
        if value != value:
            return "NULL"
        return self.sql.number(held(value))

    def _take(self, index: int, table: Table) -> tuple[Text, int]:
        numbers = table.numbers
        lines: Float = numbers.reshape(len(numbers), -1)
        level, text = self.at[index], self.texts[index][0]
        if len(lines) <= FEW:
            if len(text) > 40:
                self._keep(index)
                level, text = self.at[index], self.texts[index][0]
            branches = [[f"WHEN {i} THEN {self._number(v)}" for i, v in enumerate(column)] for column in lines.T]
            return tuple(f"(CASE {text} {' '.join(cases)} END)" for cases in branches), level
        level, text = self._name(index)
        if not np.isnan(lines).any() and self.sql.at([], text):
            return tuple(self.sql.at([held(v) for v in column], text) for column in lines.T.tolist()), level
        key = (lines.tobytes(), lines.shape)
        names = [f"v{c}" for c in range(lines.shape[1])]
        source = self._constants(key, lambda: self._table(names, lines))
        alias = self.joined.get((level, f"{source}:{text}"))
        if alias is None:
            alias = self.joined[level, f"{source}:{text}"] = f"j{len(self.joined)}"
            self.level_of(level + 1).joins.append(f"LEFT JOIN {source} AS {alias} ON {alias}.i = q{level}.{text}")
            self.levels[level + 1].columns.extend(f"{alias}.{name} AS {alias}_{name}" for name in names)
        return tuple(f"{alias}_{name}" for name in names), level + 1

    def _place(self, x: str, cuts: list[float], before: int) -> str:
        """How many cuts lie below x, by halves."""
        if not cuts:
            return str(before)
        middle = len(cuts) // 2
        below, above = self._place(x, cuts[:middle], before), self._place(x, cuts[middle + 1 :], before + middle + 1)
        return f"CASE WHEN {x} <= {self._number(cuts[middle])} THEN {below} ELSE {above} END"

    def _kernels(self, kernel: Kernel, y: int) -> tuple[Text, int]:
        _, text = self._name(y)
        made = self.sql.kernels(kernel.centre.tolist(), kernel.log_weight.tolist(), kernel.precision, text)
        return (made,), self.at[y]

    def _trees(self, node: Forest, codes: Sequence[int]) -> tuple[Text, int]:
        if (node.column < 0).all():
            said = node.shares[node.roots].sum(axis=0)
            said = (said if node.boosted else np.log(said / len(node.sizes))) - node.before
            return tuple(self._number(v) for v in said), 0
        level = max(self.at[i] for i in codes) + 1
        name = f"w{sum(len(known.views) for known in self.levels)}"
        packed, alias = f"{name}_z", f"{name}_v"
        self.level_of(level).columns.append(f"{pack([self.texts[i][0] for i in codes], self.sql)} AS {packed}")
        after = self.level_of(level + 1)
        after.views[alias] = select_shares(node, self.sql, name, f"q{level}", packed)
        after.joins.append(f"LEFT JOIN {name} AS {alias} ON {alias}.r = q{level}.{packed}")
        names = [f"{alias}{c}" for c in range(self.k)]
        after.columns.extend(f"{alias}.v{c} AS {n}" for c, n in enumerate(names))
        return tuple(names), level + 1

    def _extreme(self, each: Sequence[str], largest: bool) -> str:
        if len(each) > MANY:
            each = [self._extreme(each[i : i + MANY], largest) for i in range(0, len(each), MANY)]
        return self.sql.largest(each) if largest else self.sql.least(each)

    def _logsums(self, every: Sequence[Sequence[str]], level: int) -> tuple[Text, int]:
        """log of sums of exponentials; the largest of many gets a column of its own."""
        tops = [self._extreme(each, True) for each in every]
        if max(map(len, tops)) > SHORT:
            start = sum(len(known.columns) for known in self.levels)
            names = [f"m{start}_{c}" for c in range(len(tops))]
            self.level_of(level + 1).columns.extend(f"{t} AS {n}" for t, n in zip(tops, names, strict=True))
            tops, level = names, level + 1
        return tuple(self._logsum(each, top) for each, top in zip(every, tops, strict=True)), level

    def _logsum(self, each: Sequence[str], most: str) -> str:
        if len(each) == 1:
            return each[0]
        zero = self.sql.number(0.0)
        far = self.sql.number(-700.0)
        parts = [f"CASE WHEN {a} - {most} > {far} THEN exp({a} - {most}) ELSE {zero} END" for a in each]
        none, nothing = self.sql.number(-ABOVE), self.sql.number(LOG_ZERO)
        return f"(CASE WHEN {most} < {none} THEN {nothing} ELSE {most} + ln({' + '.join(parts)}) END)"

    def _simple(self, op: str, a: list[str]) -> str:
        number = self.sql.number
        if op == "where":
            if a[0] in (number(1.0), number(0.0)):
                return a[1] if a[0] == number(1.0) else a[2]
            return f"(CASE WHEN {truth(a[0])} THEN {a[1]} ELSE {a[2]} END)"
        if op == "add" and len(a) > MANY:  # by halves: parsers go only so deep
            return f"({self._simple(op, a[: len(a) // 2])} + {self._simple(op, a[len(a) // 2 :])})"
        if op in INFIX:
            return f"({f' {INFIX[op]} '.join(a)})"
        if op in ("and", "or"):
            return f"({truth(a[0])} {op.upper()} {truth(a[1])})"
        if op in ("min", "max"):
            test = "<" if op == "min" else ">"
            return f"(CASE WHEN {a[0]} {test} {a[1]} THEN {a[0]} WHEN {a[0]} IS NOT NULL THEN {a[1]} END)"
        one = a[0]
        if op == "div":
            return f"({one} / {a[1]})" if is_number(a[1]) else f"({one} / nullif({a[1]}, {number(0.0)}))"
        if op == "log":
            return f"(CASE WHEN {one} > 0 THEN ln({one}) WHEN {one} IS NOT NULL THEN {number(LOG_ZERO)} END)"
        if op == "exp":
            return f"(CASE WHEN {one} > {number(-700.0)} THEN exp({one}) WHEN {one} IS NOT NULL THEN {number(0.0)} END)"
        if op == "deviance":
            return deviance(one, a[1], number)
        if op == "stirling":
            return stirling(one, number)
        return {
            "neg": f"(-{one})",
            "abs": f"abs({one})",
            "floor": self.sql.floor(one),
            "square": self.sql.square(one),
            "sqrt": f"sqrt({one})",
            "log1p": f"({self.sql.log1p(one)})",
            "sin": f"sin({one})",
            "cos": f"cos({one})",
            "not": f"(NOT {truth(one)})",
            "missing": f"({one} IS NULL)",
        }[op]


def _only(condition: str, text: str) -> str:
    """An expression, where a condition holds if there is one."""
    return f"CASE WHEN {condition} THEN {text} END" if condition else text


def any_of(conditions: Sequence[str]) -> str:
    """Whether one of them holds, by halves: parsers go only so deep."""
    half = len(conditions) // 2
    if len(conditions) > MANY:
        return f"({any_of(conditions[:half])} OR {any_of(conditions[half:])})"
    return f"({' OR '.join(conditions)})" if conditions else ""


INFIX = {"add": "+", "sub": "-", "mul": "*", "lt": "<", "le": "<=", "eq": "="}
REPEATING = (
    "floor", "min", "max", "log", "log1p", "exp", "square", "deviance", "stirling", "logsum", "together", "largest",
    "least", "peak",
)  # fmt: skip
CONDITIONS = ("lt", "le", "eq", "and", "or", "not", "missing")
