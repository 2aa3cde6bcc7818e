"""Export: a fitted model as text that runs without this library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bayeskit
from bayeskit.arrays import CostsLike
from bayeskit.decision.costs import Costs
from bayeskit.errors import InputError, KindError
from bayeskit.portable.nodes import Neighbours
from bayeskit.portable.program import Portable, Program, Steps, Unportable
from bayeskit.portable.symbol import Value
from bayeskit.targets.dialect import dialect as dialect_of
from bayeskit.targets.javascript import javascript
from bayeskit.targets.python import python
from bayeskit.targets.selection import Selection

COMMENTS = {"sql": "--", "javascript": "//", "python": "#"}  # how each begins one
MARK = "Written by bayeskit"


def export(
    model: Any,
    target: str,
    *,
    dialect: str = "duckdb",
    source: str | Sequence[str] | None = None,
    keep: Sequence[str] | str = (),
    costs: CostsLike = None,
    reasons: int = 0,
) -> str:
    """A fitted model as SQL, a JavaScript module or a Python file that gives the same posteriors without this library.

    Missing values and levels never seen are treated as the model does. Where the model would refuse a row (an infinite
    number, or a level never seen under ``unseen="error"``), SQL answers NULL and the others raise an error.

    Parameters
    ----------
    model : classifier
        A fitted classifier of this library that looks up no learned rows.
    target : {"sql", "javascript", "python"}
        SQL is one SELECT; JavaScript an ES module with ``classes``, ``predictProba(row)`` and ``predict(row)``; Python
        a file with ``classes``, ``predict_proba(row)`` and ``predict(row)`` that imports the standard library alone.
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

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> import bayeskit as bk, duckdb
    >>> model = bk.NaiveBayes().fit({"colour": ["red", "red", "blue", "blue"]}, ["a", "a", "a", "b"])
    >>> db = duckdb.connect()
    >>> _ = db.execute("CREATE TABLE t AS SELECT 'red' AS colour")
    >>> db.execute(export(model, "sql", source="t")).fetchall()[0][0]
    'a'
    """
    if target not in COMMENTS:
        raise InputError(f"target={target!r}: choose one of {', '.join(COMMENTS)}")
    if not isinstance(model, Portable):
        raise KindError(f"export() takes a fitted classifier of this library, not {type(model).__name__}")
    text = _write(model, target, dialect, source=source, keep=keep, costs=costs, reasons=reasons)
    return f"{COMMENTS[target]} {MARK} {bayeskit.__version__}\n{text}"


def _write(model: Portable, target: str, dialect: str, **wanted: Any) -> str:
    try:
        program = model.program()
        _check_rows(program)
        if target != "sql":
            if given := [name for name, value in wanted.items() if value not in (None, (), 0)]:
                raise InputError(f"{', '.join(given)} belong to SQL, not to {target}")
            return javascript(program) if target == "javascript" else python(program)
        source, keep, costs = (wanted[name] for name in ("source", "keep", "costs"))
        if source is None:
            raise InputError("give source=, the table or view that the SELECT reads")
        table = None if costs is None else Costs.of(costs, list(program.classes))
        names = (keep,) if isinstance(keep, str) else tuple(dict.fromkeys(keep))
        chosen = dialect_of(dialect)
        return Selection(program, chosen, names, table, wanted["reasons"]).write(chosen.table(source))
    except Unportable as why:
        raise InputError(f"{type(model).__name__} cannot be exported to {target}: {why}") from why


def _check_rows(program: Program) -> None:
    """Refuse members that look up learned rows, and name those that do not."""
    gone = [m.name for m in program.members if any(_looks_up(term.value) for term in m.terms)]
    if not gone:
        return
    kept = [m.name for m in program.members if m.name not in gone]
    nearest = (
        f"its members {', '.join(map(repr, kept))} can, each by itself" if kept else "NaiveBayes, FullBayes and TAN can"
    )
    raise Unportable(f"{', '.join(map(repr, gone))} looks up the learned rows, which would go with it; {nearest}")


def _looks_up(value: Value) -> bool:
    steps = Steps()
    steps.add(value)
    return any(isinstance(argument, Neighbours) for step in steps.made for argument in step)
