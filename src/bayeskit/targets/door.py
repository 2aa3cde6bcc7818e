"""Export: a fitted model as a text or a file that runs without this library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

import bayeskit
from bayeskit.arrays import CostsLike
from bayeskit.decision.costs import Costs
from bayeskit.errors import InputError, KindError
from bayeskit.portable.nodes import Neighbours
from bayeskit.portable.program import Portable, Program, Unportable
from bayeskit.portable.symbol import Steps, Value
from bayeskit.targets.dialect import dialect as dialect_of
from bayeskit.targets.onnx import onnx
from bayeskit.targets.scripts import javascript, python
from bayeskit.targets.selection import Selection

COMMENTS = {"sql": "--", "javascript": "//", "python": "#"}  # how each text begins one
TARGETS = (*COMMENTS, "onnx")
MARK = "Written by bayeskit"


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
