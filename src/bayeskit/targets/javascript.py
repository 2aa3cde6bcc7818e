"""JavaScript: a program as an ES module that needs nothing else."""

from __future__ import annotations

import json
from importlib import resources

from bayeskit.portable.program import Program
from bayeskit.targets.tables import Tables

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


def javascript(program: Program) -> str:
    """An ES module with ``classes``, ``predictProba(row)`` and ``predict(row)``."""
    files = resources.files("bayeskit.targets")
    code = "\n".join(files.joinpath(name).read_text(encoding="utf-8") for name in ENGINE)
    return code + DOOR % _literal(Tables().whole(program))


def _literal(data: object) -> str:
    """JSON that is a literal of JavaScript, in a page as well."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("</", "<\\/")
