"""JavaScript and Python: a program as one module that needs nothing else."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from importlib import resources
from typing import ClassVar

import numpy as np

from bayeskit.arrays import Float, Json
from bayeskit.portable.nodes import to_list
from bayeskit.portable.program import Program

ENGINE = ("arithmetic.js", "summing.js", "engine.js")  # of the page as well

DOOR = """
const PROGRAM = %s;

const FAMILIES = { boolean: 0, number: 1 };
const key = (value) => `${FAMILIES[typeof value] ?? 2}:${value}`;
const LEVELS = PROGRAM.columns.map((column) => new Map((column.levels || []).map(([family, value], code) =>
  [`${family}:${value}`, code])));
const NUMBERS = { nan: NaN, inf: Infinity, "-inf": -Infinity };
const TABLES = PROGRAM.tables.map(({ data, width }) => ({
  data: Float64Array.from(data, (v) => (typeof v === "string" ? NUMBERS[v] : v)), width }));
const engine = engineOf(PROGRAM, TABLES);

function input(column, levels, value) {
  const missing = value === null || value === undefined || Number.isNaN(value);
  if (column.numeric) {
    if (missing) return NaN;
    if (!(typeof value in FAMILIES)) throw new TypeError(`column ${column.name} takes numbers`);
    if (!Number.isFinite(Number(value))) throw new RangeError(`column ${column.name} has an infinite number`);
    return Number(value);
  }
  if (missing) return column.missingCode;
  const code = levels.get(key(value)) ?? -2;
  if (code === -2 && column.knownOnly) throw new RangeError(`column ${column.name} has a level that was not learned`);
  return code;
}

/** The classes, in the order of probabilities.
 * @type {Array<string|number|boolean>} */
export const classes = PROGRAM.classes;

/** P(class | row), in the order of classes.
 * @param {Object<string, string|number|boolean|null>} row a value for each column; null, NaN and none are missing
 * @returns {number[]} */
export function predictProba(row) {
  const inputs = PROGRAM.columns.map((column, j) => input(column, LEVELS[j], row[column.name]));
  return engine.logProba(inputs).map(Math.exp);
}

/** The most probable class, the first in a tie.
 * @param {Object<string, string|number|boolean|null>} row
 * @returns {string|number|boolean} */
export function predict(row) {
  const proba = predictProba(row);
  return classes[proba.indexOf(Math.max(...proba))];
}
"""
MODULE = """

PROGRAM = %s

_scorer = Scorer(json.loads(PROGRAM))
classes = _scorer.classes
predict_proba = _scorer.predict_proba
predict = _scorer.predict
"""


@dataclass(frozen=True)
class Tables:
    """Tables by number; equal ones are held once."""

    curves: ClassVar[bool] = True  # kernels come with the cubics that the library itself computes with

    _tables: dict[tuple[bytes, int], int] = field(default_factory=dict, repr=False)

    def table(self, numbers: Float) -> int:
        """Doubles as they are."""
        raw = np.ascontiguousarray(numbers, dtype="<f8")
        return self._tables.setdefault((raw.tobytes(), raw.shape[1] if raw.ndim > 1 else 1), len(self._tables))

    logs = table

    def whole(self, program: Program) -> Json:
        """A program with its tables."""
        described = program.json(self)
        tables = [{"data": to_list(np.frombuffer(raw, "<f8")), "width": width} for raw, width in self._tables]
        return {**described, "tables": tables}


def javascript(program: Program) -> str:
    """An ES module with ``classes``, ``predictProba(row)`` and ``predict(row)``."""
    files = resources.files("bayeskit.targets")
    code = "\n".join(files.joinpath(name).read_text(encoding="utf-8") for name in ENGINE)
    return code + DOOR % _literal(Tables().whole(program))


def _literal(data: object) -> str:
    """JSON that is a literal of JavaScript, in a page as well."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("</", "<\\/")


def python(program: Program) -> str:
    """A module with ``classes``, ``predict_proba(row)`` and ``predict(row)``; a row maps columns to values."""
    code = resources.files("bayeskit.targets").joinpath("runtime.py").read_text(encoding="utf-8")
    data = json.dumps(Tables().whole(program), ensure_ascii=True, separators=(",", ":"))
    return code.replace("import math\n", "import json\nimport math\n", 1) + MODULE % repr(data)
