"""Confusion: true classes against predicted ones, and every rate that follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit.arrays import Array, ArrayLike, Axes, CostsLike, Float, Frame, Label
from bayeskit.data.frame import TableRepr, frame
from bayeskit.decision.costs import Costs
from bayeskit.docstrings import document_frame_like_x
from bayeskit.errors import InputError
from bayeskit.evaluation.intervals import against_rest, dirichlet_interval, f1, no_interval
from bayeskit.evaluation.scores import TABLE_SCORES, with_scores
from bayeskit.numerics.rates import Interval, effective, ratio, wilson
from bayeskit.plots.style import Display

FEW = 20  # rows of a class below which an interval of its F1 misses the truth too often
RATES = ("sensitivity", "specificity", "precision", "f1")
SHOWN = 15  # classes of a table of all against all


@with_scores(TABLE_SCORES)
@dataclass(frozen=True, eq=False, repr=False)
class Confusion(TableRepr):
    """Weights of rows by true class (rows) and predicted class (columns).

    A row that is given no class is not predicted rightly. A rate without any row to judge it by (the precision of a
    class never predicted, the accuracy where no class ever was) is NaN.

    Parameters
    ----------
    matrix : array of shape (K, K + others)
        Weights; the true class is the row.
    labels : sequence of length K
        The classes.
    kind : {"pyarrow", "pandas", "polars"}, default "pyarrow"
        The kind of frame that ``frame()`` gives.
    others : sequence, optional
        Actions that are no class: the last columns of the matrix.
    squared : array of shape (K, K + others), optional
        Sums of squared weights, for intervals of weighted rows.

    Examples
    --------
    >>> table = Confusion([[6954, 46], [412, 2588]], ["yes", "no"])
    >>> f"{table.accuracy:.2%} {table.sensitivity['yes']:.2%} {table.precision['yes']:.2%}"
    '95.42% 99.34% 94.41%'
    """

    matrix: Float  # (K, K + others)
    labels: Array  # (K,)
    squared: Float  # (K, K + others) squared weights, for intervals; the counts, unless rows have weights
    kind: str = "pyarrow"
    others: tuple[Any, ...] = ()

    def __init__(
        self,
        matrix: ArrayLike,
        labels: Sequence[Label] | Array,
        kind: str = "pyarrow",
        others: Sequence[Label] = (),
        squared: Float | None = None,
    ) -> None:
        counts = np.asarray(matrix, dtype=np.float64)
        names = labels if isinstance(labels, np.ndarray) else np.array(list(labels), dtype=object)
        if counts.ndim != 2 or counts.shape != (len(names), len(names) + len(others)):
            more = f", and {len(others)} columns more" if len(others) else ""
            raise InputError(
                f"a confusion matrix of {len(names)} labels has {len(names)} rows and columns{more}, not shape "
                f"{counts.shape}"
            )
        if not np.isfinite(counts).all() or (counts < 0).any():
            raise InputError("a confusion matrix holds counts or weights: finite numbers of at least 0")
        if len(set(names.tolist())) < len(names):
            raise InputError("a confusion matrix names a label twice; labels are the classes, each once")
        object.__setattr__(self, "matrix", counts)
        object.__setattr__(self, "labels", names)
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "others", tuple(others))
        object.__setattr__(self, "squared", counts if squared is None else squared)

    def merge(self, other: Confusion) -> Confusion:
        """The table of both sets of rows.

        Parameters
        ----------
        other : Confusion
            Of other rows.
        """
        if self.labels.tolist() != other.labels.tolist() or self.others != other.others:
            raise InputError("confusion matrices of different labels cannot be merged")
        squared = self.squared + other.squared
        return Confusion(self.matrix + other.matrix, self.labels, self.kind, self.others, squared)

    # -- of all rows -----------------------------------------------------------------------------

    @cached_property
    def weight(self) -> float:
        return float(self.matrix.sum())

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> float: ...  # the scores

    def value(self, name: str) -> float:
        """A score that is a function of the confusion, as "accuracy"; each is a property too.

        Parameters
        ----------
        name : str
            Name of a rate.
        """
        return float(TABLE_SCORES[name].of_tables(self.matrix))

    # -- by class, one against the rest ----------------------------------------------------------

    @property
    def sensitivity(self) -> dict[Label, float]:
        """Share of the rows of a class that were found (recall, recognition rate)."""
        return self._by_label(ratio(self.right, self.true))

    recall = sensitivity

    @property
    def specificity(self) -> dict[Label, float]:
        """Share of the rows of all other classes not predicted as this one."""
        others = self.weight - self.true
        return self._by_label(ratio(others - (self._predicted - self.right), others))

    @property
    def precision(self) -> dict[Label, float]:
        """Share of the rows predicted as a class that are of it."""
        return self._by_label(ratio(self.right, self._predicted))

    @property
    def f1(self) -> dict[Label, float]:
        """Harmonic mean of sensitivity and precision."""
        return self._by_label(ratio(2 * self.right, self.true + self._predicted))

    def interval(self, rate: str, label: Label | None = None) -> Interval:
        """Of a score of the confusion ("accuracy", "mcc" ...), or of a label one of the other rates.

        Wilson's for proportions, their mean by MOVER, percentiles of Dirichlet draws for the others.

        Parameters
        ----------
        rate : str
            Name of the rate.
        label : class, optional
            Which class.
        """
        if rate in TABLE_SCORES:
            return TABLE_SCORES[rate].of_table(self)
        if rate not in RATES or label not in self.labels.tolist():
            raise InputError(
                f"no interval of {rate!r} for the label {label!r}; rates: {', '.join(TABLE_SCORES)}, "
                f"and of a label {', '.join(RATES)}"
            )
        k, value = self.labels.tolist().index(label), getattr(self, rate)[label]
        if rate == "f1" and self.rows_by_class[k] < FEW:
            return no_interval(f"fewer than {FEW} rows of the class")
        if rate == "f1":
            return dirichlet_interval(f1, value, against_rest(self.effective, k))
        mine = np.arange(len(self.labels)) == k
        cells = {
            "sensitivity": mine[:, None],
            "specificity": ~mine[:, None],
            "precision": np.eye(len(mine), self.matrix.shape[1])[k] > 0,
        }
        judged = np.broadcast_to(cells[rate], self.matrix.shape)
        return wilson(value, float(effective(self.matrix[judged].sum(), self.squared[judged].sum())))

    def cost(self, costs: CostsLike) -> float:
        """Mean cost of a row when the predicted class is the action taken; negative costs are gains.

        Every class is an action of the costs, unless no row was predicted as it.

        Parameters
        ----------
        costs : Costs or mapping
            What each predicted class costs under each true class.
        """
        costs = Costs.of(costs, self.labels.tolist())
        actions, taken = list(costs.actions), [*self.labels.tolist(), *self.others]
        needed = self.matrix.sum(axis=0) > 0 if self.others else np.ones(len(taken), dtype=bool)
        unknown = [name for name, there in zip(taken, needed.tolist(), strict=True) if there and name not in actions]
        if unknown:
            raise InputError(f"the cost table has no action {unknown[0]!r} (actions: {', '.join(map(str, actions))})")
        known = [j for j, name in enumerate(taken) if name in actions]
        table = np.asarray(costs.matrix_for(self.labels))[:, [actions.index(taken[j]) for j in known]]
        return float(ratio((self.matrix[:, known] * table).sum(), self.weight))

    # -- showing ---------------------------------------------------------------------------------

    @document_frame_like_x
    def frame(self, kind: str | None = None) -> Frame:
        """One line for each class: its row of the matrix and its rates."""
        columns: dict[str, Any] = {"class": self.labels}
        columns |= {f"as {name}": self.matrix[:, j] for j, name in enumerate((*self.labels.tolist(), *self.others))}
        columns |= {rate: list(getattr(self, rate).values()) for rate in RATES}
        return frame(columns, kind or self.kind)

    def plot(self, ax: Axes | None = None) -> Display:
        """A heat map, shaded by the share of the true class.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure unless given.
        """
        from bayeskit.plots.heat import ConfusionDisplay

        return ConfusionDisplay(self.matrix, self.labels.tolist(), list(self.others)).plot(ax)

    def _title(self) -> str:
        folded = len(self.labels) > SHOWN
        what = f"; of {len(self.labels):,} classes the {SHOWN} with most mistakes (frame() has all)" if folded else ""
        if np.isnan(self.accuracy):
            return f"no row was predicted as a class, so there is no accuracy{what}"
        return f"accuracy {self.accuracy:.2%}{what}"

    def _lines(self) -> list[list[str]]:
        if len(self.labels) > SHOWN:
            return self._most_mistaken()
        shown = () if np.isnan(self.accuracy) else RATES  # actions that are no classes are neither right nor wrong
        head = ["true \\ predicted", *map(str, self.labels), *map(str, self.others), *shown]
        rates = [getattr(self, rate) for rate in shown]
        body = [
            [str(label), *(f"{w:.10g}" for w in row), *(_percent(rate[label]) for rate in rates)]
            for label, row in zip(self.labels.tolist(), self.matrix, strict=True)
        ]
        return [head, *body]

    def _most_mistaken(self) -> list[list[str]]:
        """The classes with most mistakes, each with what it is mistaken for most: a table of all would be too wide."""
        wrong = self.matrix.copy()
        np.fill_diagonal(wrong, 0.0)
        names, rates = [*map(str, self.labels), *map(str, self.others)], [getattr(self, rate) for rate in RATES]
        found = [["true", "weight", "wrong", "mostly predicted as", *RATES]]
        for i in np.argsort(-wrong.sum(axis=1), kind="stable")[:SHOWN].tolist():
            label, other = self.labels.tolist()[i], names[int(np.argmax(wrong[i]))]
            mistaken = other if wrong[i].any() else "-"
            shown = (f"{w:.10g}" for w in (self.true[i], wrong[i].sum()))
            found.append([str(label), *shown, mistaken, *(_percent(rate[label]) for rate in rates)])
        return found

    @property
    def right(self) -> Float:
        """Weight predicted rightly, of each class: (K,)."""
        return np.diagonal(self.matrix)

    @property
    def true(self) -> Float:
        """Weight of each class: (K,)."""
        rows: Float = self.matrix.sum(axis=1)
        return rows

    @property
    def rows_by_class(self) -> Float:
        """Rows of equal weight that say as much, of each class: (K,)."""
        return effective(self.true, self.squared.sum(axis=1))

    @property
    def effective(self) -> Float:
        """The table in rows of equal weight."""
        table: Float = self.matrix * np.nan_to_num(ratio(self.rows_by_class, self.true))[:, None]
        return table

    @property
    def _predicted(self) -> Float:
        columns: Float = self.matrix.sum(axis=0)[: len(self.labels)]
        return columns

    def _by_label(self, values: Float) -> dict[Label, float]:
        return dict(zip(self.labels.tolist(), values.tolist(), strict=True))


def _percent(share: float) -> str:
    return "-" if share != share else f"{share:.2%}"
