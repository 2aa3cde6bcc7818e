"""Costs: what each action costs when each class is the true one, and decisions of least expected cost."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bayeskit.arrays import Array, ArrayLike, CostsLike, Float, Frame, HasColumns, Int, Label
from bayeskit.data.frame import frame, kind_of
from bayeskit.data.levels import MISSING, key, show
from bayeskit.docstrings import document_frame
from bayeskit.errors import FileError, InputError, warn


@dataclass(frozen=True, init=False, eq=False)
class Costs:
    """A table of costs: rows are true classes, columns actions, which need not be classes; gains are negative.

    Parameters
    ----------
    table : mapping, frame, path or matrix
        {class: {action: cost}}, a frame with the classes in its index or first column, a CSV file of that shape, or a
        matrix with ``classes`` and ``actions``.
    classes : sequence, optional
        The classes of the rows of a matrix.
    actions : sequence, optional
        The actions of its columns; the classes themselves unless given.

    Attributes
    ----------
    actions : tuple
        The actions, in the order of the table: the first wins a tie.

    Examples
    --------
    >>> costs = Costs({"ill": {"treat": 1, "wait": 50}, "well": {"treat": 5, "wait": 0}})
    >>> costs.actions, costs.matrix_for(["well", "ill"])
    (('treat', 'wait'), array([[ 5.,  0.],
           [ 1., 50.]]))
    """

    classes: tuple[Any, ...]
    actions: tuple[Any, ...]
    matrix: Float  # (classes, actions)

    def __init__(
        self, table: object, classes: Sequence[Label] | None = None, actions: Sequence[Label] | None = None
    ) -> None:
        rows, columns, cells = _read(table, classes, actions)
        for what, labels in (("class", rows), ("action", columns)):
            if doubled := [label for i, label in enumerate(labels) if label in labels[:i]]:
                raise InputError(f"the {what} {doubled[0]!r} occurs twice in the cost table")
        if not rows or not columns:
            raise InputError("the cost table is empty; give a cost for each class (row) and action (column)")
        matrix = np.array([[_number(cell, c, a) for cell, a in zip(row, columns, strict=True)] for c, row in cells])
        object.__setattr__(self, "classes", rows)
        object.__setattr__(self, "actions", columns)
        object.__setattr__(self, "matrix", matrix)

    @classmethod
    def zero_one(cls, classes: Sequence[Label]) -> Costs:
        """Every error costs 1: the least risk is then the most probable class.

        Parameters
        ----------
        classes : sequence
            The classes, in the order wanted.
        """
        return cls(1.0 - np.eye(len(classes)), list(classes))

    @classmethod
    def of(cls, costs: CostsLike, classes: Sequence[Label]) -> Costs:
        """Costs as they are, from whatever describes them, or 0/1 if there are none.

        Parameters
        ----------
        costs : Costs, mapping, frame or path
            What may stand for a table of costs.
        classes : sequence
            The classes, in the order wanted.
        """
        if costs is None:
            return cls.zero_one(classes)
        table = costs if isinstance(costs, Costs) else cls(costs, *(_labels(costs, classes)))
        return table._with_labels(classes)

    def _with_labels(self, classes: Sequence[Label]) -> Costs:
        """Rows and actions that are texts of classes, as files have them, under the labels of these classes."""
        known = {key(label) for label in classes}
        named = {text: label for label in classes for text in (show(key(label) or MISSING), str(label))}
        rows, actions = (
            tuple(
                named.get(label, label) if isinstance(label, str) and key(label) not in known else label
                for label in labels
            )
            for labels in (self.classes, self.actions)
        )
        return self if (rows, actions) == (self.classes, self.actions) else Costs(self.matrix, rows, actions)

    def matrix_for(self, classes: Sequence[Label] | Array) -> Float:
        """The costs with the rows in the order of these classes, (K, actions); each of them must be there.

        A table with texts for labels (from a file) also stands for numbers written that way.

        Parameters
        ----------
        classes : sequence
            The classes, in the order wanted.
        """
        wanted = list(classes.tolist() if isinstance(classes, np.ndarray) else classes)
        rows = self._with_labels(wanted).classes
        place = {key(label): i for i, label in enumerate(rows)}
        lacking = [label for label in wanted if key(label) not in place]
        if lacking:
            turned = {key(action) for action in self.actions} >= {key(label) for label in wanted}
            advice = "rows are classes, columns actions: turn it" if turned else "give the cost of every action for it"
            known = ", ".join(map(str, self.classes))
            raise InputError(f"the cost table has no row for class {lacking[0]!r} (rows: {known}); {advice}")
        if extra := [label for label in rows if key(label) not in {key(c) for c in wanted}]:
            raise InputError(
                f"the cost table has a row for {extra[0]!r}, which is not a class ({', '.join(map(str, wanted))}); "
                f"remove or rename it"
            )
        return self.matrix[[place[key(label)] for label in wanted]]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Costs)
            and (self.classes, self.actions) == (other.classes, other.actions)
            and np.array_equal(self.matrix, other.matrix)
        )

    def __hash__(self) -> int:
        return hash((self.classes, self.actions))

    def __repr__(self) -> str:
        rows = {
            c: dict(zip(self.actions, row.tolist(), strict=True))
            for c, row in zip(self.classes, self.matrix, strict=True)
        }
        return f"Costs({rows!r})"


def _labels(costs: CostsLike, classes: Sequence[Label]) -> tuple[Sequence[Label], ...]:
    """The classes, for a square matrix without labels of its own."""
    return (list(classes),) if isinstance(costs, np.ndarray | list | tuple) else ()


Cells = list[tuple[Any, Sequence[Any]]]


def _read(
    table: object, classes: Sequence[Label] | None, actions: Sequence[Label] | None
) -> tuple[tuple[Label, ...], tuple[Label, ...], Cells]:
    """Row labels, column labels and the cells of each row."""
    if isinstance(table, Mapping) and not isinstance(table, HasColumns):
        return _mapping(table)
    if isinstance(table, str | os.PathLike):
        return _file(Path(table))
    if isinstance(table, HasColumns):
        return _frame(table)
    matrix = np.asarray(table, dtype=object)
    if matrix.ndim != 2:
        raise InputError(f"a cost table has rows (classes) and columns (actions), not the shape {matrix.shape}")
    if classes is None or not len(classes):
        raise InputError(
            "a matrix of costs has no names: write {class: {action: cost}}, "
            "or Costs(matrix, classes=[...], actions=[...])"
        )
    rows, columns = tuple(classes), tuple(classes if actions is None else actions)
    if matrix.shape != (len(rows), len(columns)):
        raise InputError(
            f"the matrix of costs is {matrix.shape}, but there are {len(rows)} classes, {len(columns)} actions; "
            f"actions that are no classes need names: Costs(matrix, classes=[...], actions=[...])"
        )
    return rows, columns, list(zip(rows, matrix.tolist(), strict=True))


def _mapping(table: Mapping[Label, Mapping[Label, object]]) -> tuple[tuple[Label, ...], tuple[Label, ...], Cells]:
    for label, row in table.items():
        if not isinstance(row, Mapping):
            raise InputError(f"the costs of class {label!r} must be a mapping from action to cost, not {row!r}")
    actions = tuple(dict.fromkeys(action for row in table.values() for action in row))
    for label, row in table.items():
        if lacking := [action for action in actions if action not in row]:
            raise InputError(f"the cost table lacks the cost of action {lacking[0]!r} for class {label!r}")
    return tuple(table), actions, [(label, [row[a] for a in actions]) for label, row in table.items()]


def _frame(table: Any) -> tuple[tuple[Label, ...], tuple[Label, ...], Cells]:
    """pandas keeps the classes in its index, or like any other frame in the first column."""
    if kind_of(table) == "pandas":
        first = table.iloc[:, 0] if table.shape[1] else None
        if first is None or str(first.dtype.kind) in "iufb":
            rows, columns = table.index.tolist(), table.columns.tolist()
            return tuple(rows), tuple(columns), list(zip(rows, table.to_numpy(dtype=object).tolist(), strict=True))
        table = table.set_index(table.columns[0])
        return _frame(table)
    import pyarrow as pa

    arrow = table if isinstance(table, pa.Table) else pa.table(table)
    labels, *cells = (column.to_pylist() for column in arrow.columns)
    return tuple(labels), tuple(arrow.column_names[1:]), list(zip(labels, zip(*cells, strict=True), strict=True))


def _file(path: Path) -> tuple[tuple[Label, ...], tuple[Label, ...], Cells]:
    if not path.is_file():
        raise FileError(f"no cost table at {str(path)!r}; give a CSV file with a row for each class")
    with path.open(newline="", encoding="utf-8-sig") as file:
        first = file.readline()
        sign = max(",;\t", key=first.count)  # where a comma is the decimal mark, cells are divided by others
        file.seek(0)
        lines = [line for line in csv.reader(file, delimiter=sign) if line]
    if len(lines) < 2:
        raise InputError(f"{path} holds no costs; its first line names the actions, each further line is a class")
    head, *body = lines
    for number, line in enumerate(body, 2):
        if len(line) != len(head):
            raise InputError(f"{path}, line {number}: {len(line)} cells, but the header has {len(head)}")
    if sign != ",":
        body = [[line[0], *(cell.replace(",", ".") for cell in line[1:])] for line in body]
    return tuple(line[0] for line in body), tuple(head[1:]), [(line[0], line[1:]) for line in body]


def _number(cell: Any, label: Label, action: Label) -> float:
    try:
        cost = float(cell)
    except (TypeError, ValueError):
        cost = np.nan
    if not np.isfinite(cost):
        raise InputError(f"the cost of action {action!r} for class {label!r} is {cell!r}; give a finite number")
    return cost


SLACK = 1e-6  # how far from one probabilities may sum


@dataclass(frozen=True, repr=False)
class Decision:
    """For each row the action of least expected cost, what every action is expected to cost, and how close it was."""

    actions: Array  # (A,) as in the cost table
    expected: Float  # (n, A) sum over classes of P(c | x) cost(c, action)
    taken: Int | None = None  # (n,) actions by another rule, a cutoff for instance

    @cached_property
    def best(self) -> Int:
        """Position of the action taken, the first of the cost table in a tie: (n,)."""
        best: Int = np.argmin(self.expected, axis=1) if self.taken is None else self.taken
        return best

    @property
    def action(self) -> Array:
        """What to do: (n,)."""
        return self.actions[self.best]

    @property
    def cost(self) -> Float:
        """What the action taken is expected to cost: (n,)."""
        return np.take_along_axis(self.expected, self.best[:, None], axis=1)[:, 0]

    @property
    def margin(self) -> Float:
        """How much more the best other action is expected to cost; infinite if there is no other: (n,)."""
        if self.expected.shape[1] == 1:
            return np.full(len(self.expected), np.inf)
        others = self.expected.copy()
        np.put_along_axis(others, self.best[:, None], np.inf, axis=1)
        margin: Float = others.min(axis=1) - self.cost
        return margin

    def __len__(self) -> int:
        return len(self.expected)

    def __repr__(self) -> str:
        taken = np.bincount(self.best, minlength=len(self.actions)).tolist()
        each = ", ".join(f"{action}: {n:,}" for action, n in zip(self.actions, taken, strict=True))
        return f"<Decision: rows by action {each}; action has each, frame() has expected costs>"

    @document_frame
    def frame(self, kind: str = "pyarrow") -> Frame:
        """Action, margin and the expected cost of every action, a row for each."""
        costs = {f"cost of {a}": self.expected[:, j] for j, a in enumerate(self.actions)}
        return frame({"action": self.action, "margin": self.margin, **costs}, kind)


def decide(proba: ArrayLike, costs: CostsLike, classes: Sequence[Label] | Array | None = None) -> Decision:
    """The action with the least expected cost, sum over c of P(c | x) cost(c, action), for each row.

    Parameters
    ----------
    proba : array of shape (n, K) or frame
        P(class | row); one row may be given flat.
    costs : Costs, mapping, frame or path
        What each action costs under each class.
    classes : sequence, optional
        The classes of the columns of ``proba``: ``model.classes_`` for probabilities of a classifier. Without it the
        columns of a frame go by their names, and those of an array by the rows of the cost table; a warning says
        where that is not the order of a classifier, which sorts its classes.

    Returns
    -------
    Decision
        ``action``, (n,), and ``expected``, (n, actions), the expected cost of every action.

    Examples
    --------
    >>> costs = Costs({"ill": {"treat": 1, "wait": 50}, "well": {"treat": 5, "wait": 0}})
    >>> decision = decide([[0.05, 0.95], [0.5, 0.5]], costs)
    >>> decision.action, decision.expected
    (array(['wait', 'treat'], dtype=object), array([[ 4.8,  2.5],
           [ 3. , 25. ]]))
    """
    known = [] if classes is None else list(classes.tolist() if isinstance(classes, np.ndarray) else classes)
    table = Costs.of(costs, known) if known or not isinstance(costs, Costs) else costs
    order = known
    if classes is None:
        order = list(proba.columns) if isinstance(proba, HasColumns) else list(table.classes)
        if isinstance(proba, np.ndarray):
            _warn_of_order(table.classes)
    matrix = table.matrix_for(order)
    p = probabilities(proba, order)
    actions = np.empty(len(table.actions), dtype=object)
    actions[:] = table.actions
    return Decision(actions, p @ matrix)


def _warn_of_order(rows: tuple[Label, ...]) -> None:
    """Tell of a cost table whose classes are not sorted as those of a classifier, where an array mostly comes from."""
    texts = [label for label in rows if isinstance(label, str)]
    if len(texts) == len(rows) and texts != sorted(texts):
        taken, usual = ", ".join(texts), ", ".join(sorted(texts))
        warn(
            f"the columns of proba are taken in the order of the cost table ({taken}); those of a classifier are in "
            f"the order {usual}: give classes=model.classes_, or the classes in the order that is meant"
        )


def probabilities(proba: ArrayLike, classes: Sequence[Label]) -> Float:
    """Checked: one column for each class, no negative or missing value, rows that sum to one."""
    p = np.atleast_2d(np.asarray(proba, dtype=np.float64))
    if p.ndim != 2 or p.shape[1] != len(classes):
        raise InputError(f"proba has the shape {p.shape}, but there are {len(classes)} classes: one column for each")
    bad = ~np.isfinite(p).all(axis=1) | (p < 0).any(axis=1) | (np.abs(p.sum(axis=1) - 1) > SLACK)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"row {row} of proba is {p[row].tolist()}, which is no distribution (its sum is {p[row].sum():g}); "
            f"give probabilities that sum to one"
        )
    return p
