"""Heat maps: true classes against predicted ones, models of one population on another, the table of a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from bayeskit.arrays import Axes, Classifier, Float, Json, Label, LabelsLike, TableLike, WeightsLike
from bayeskit.data.frame import shorten
from bayeskit.errors import InputError
from bayeskit.plots.style import INK, Display, codes_of, document, labels_of, tidy

WRITTEN = 16  # classes up to which every cell holds its number
NAMED = 24  # labels on an axis


@document
@dataclass(eq=False, repr=False)
class ConfusionDisplay(Display):
    """Weights by true class (rows) and predicted class (columns), shaded by their share of the row.

    >>> ConfusionDisplay.from_predictions(["a", "a", "b"], ["a", "b", "b"]).matrix.tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """

    matrix: Float  # (K, K + others)
    labels: list[Any]  # (K)
    others: list[Any] = field(default_factory=list)  # actions that are no class

    @classmethod
    def from_predictions(
        cls,
        y_true: LabelsLike,
        y_pred: LabelsLike,
        labels: Sequence[Label] | None = None,
        sample_weight: WeightsLike = None,
    ) -> ConfusionDisplay:
        """From true and predicted labels; ``labels`` gives their order.

        Parameters
        ----------
        y_true : array of shape (n,)
            True labels.
        y_pred : array of shape (n,)
            Predicted labels.
        labels : sequence, optional
            The order of the labels.
        """
        true, said = np.asarray(y_true).ravel(), np.asarray(y_pred).ravel()
        if len(true) != len(said):
            raise InputError(f"{len(true)} true labels and {len(said)} predicted ones; give one of each for every row")
        known = sorted({*true.tolist(), *said.tolist()}) if labels is None else list(labels)
        matrix = np.zeros((len(known), len(known)))
        weight = np.ones(len(true)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        np.add.at(matrix, (codes_of(true, known), codes_of(said, known)), weight)
        return cls(matrix, known)

    @classmethod
    def from_estimator(cls, estimator: Classifier, X: TableLike, y: LabelsLike) -> ConfusionDisplay:
        """From the decisions of a fitted classifier on rows it should not have learned."""
        return cls.from_predictions(y, estimator.predict(X), np.asarray(estimator.classes_).tolist())

    @property
    def shares(self) -> Float:
        """Of each row: (K, K + others)."""
        total = self.matrix.sum(axis=1, keepdims=True)
        share: Float = np.divide(self.matrix, total, out=np.zeros_like(self.matrix), where=total > 0)
        return share

    def _columns(self) -> Json:
        done = [*self.labels, *self.others]
        return {
            "true": [str(label) for label in self.labels for _ in done],
            "predicted": [str(action) for action in done] * len(self.labels),
            "weight": self.matrix.ravel(),
            "share": self.shares.ravel(),
        }

    def _size(self) -> tuple[float, float]:
        side = min(9.0, 2.2 + 0.55 * len(self.labels))
        return side + 1.6, side

    def _draw(self, ax: Axes) -> None:
        shares, names = self.shares, labels_of(self.labels)
        texts = [[f"{w:.6g}" for w in row] for row in self.matrix] if len(names) <= WRITTEN else None
        heat(ax, shares, texts, names, labels_of([*self.labels, *self.others]))
        right = self.matrix.trace() / max(self.matrix.sum(), 1e-300)
        named = self.matrix[:, : len(self.labels)].any() or not self.others
        tidy(ax, f"accuracy {right:.1%}" if named else "no class was predicted", "predicted", "true")


@dataclass(eq=False, repr=False)
class PopulationDisplay(Display):
    """Sensitivity / specificity of models trained on one population (rows), tested on another (columns)."""

    names: list[str]
    rates: dict[str, Float]  # by name, (P, P) each
    title: str = ""

    def _columns(self) -> Json:
        p = len(self.names)
        pairs = {"train": [n for n in self.names for _ in range(p)], "test": self.names * p}
        return {**pairs, **{rate: table.ravel() for rate, table in self.rates.items()}}

    def _size(self) -> tuple[float, float]:
        return 2.6 + 1.25 * len(self.names), 1.6 + 0.75 * len(self.names)

    def _draw(self, ax: Axes) -> None:
        shade = np.mean(list(self.rates.values()), axis=0)
        cells = np.stack(list(self.rates.values()), axis=-1)
        texts = [["\n".join("–" if np.isnan(r) else f"{r:.1%}" for r in cell) for cell in row] for row in cells]
        heat(ax, shade, texts, labels_of(self.names), labels_of(self.names), 0.4)
        tidy(ax, self.title or " / ".join(self.rates), "tested on", "trained on")


def heat(
    ax: Axes,
    shade: Float,
    texts: Sequence[Sequence[str]] | None,
    rows: Sequence[str],
    columns: Sequence[str],
    low: float = 0.0,
) -> None:
    """Cells from white to dark, their texts in whatever can be read on them."""
    ax.imshow(np.nan_to_num(shade, nan=low), cmap="Blues", vmin=low, vmax=1.0, aspect="auto")
    if texts is not None:
        small = 9 if len(columns) <= 8 else 7
        for i, row in enumerate(texts):
            for j, text in enumerate(row):
                dark = shade[i, j] > low + 0.55 * (1 - low)
                ax.text(j, i, text, ha="center", va="center", fontsize=small, color="white" if dark else INK)
    for axis, names in ((ax.xaxis, columns), (ax.yaxis, rows)):
        every = -(-len(names) // NAMED)
        axis.set_ticks(np.arange(0, len(names), every), list(names[::every]))
    if sum(map(len, columns)) > 40 or len(columns) > 8:
        ax.tick_params(axis="x", rotation=90 if len(columns) > 8 else 30)
    ax.tick_params(length=0, labelsize=9 if len(columns) <= 12 else 7)
    ax.set_xticks(np.arange(-0.5, len(columns)), minor=True)
    ax.set_yticks(np.arange(-0.5, len(rows)), minor=True)
    ax.grid(which="minor", color="white", lw=1)
    ax.tick_params(which="minor", length=0)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)


ROWS, STATES = 24, 24  # drawn
WRITTEN_STATES = 12  # states up to which every cell holds its number


@dataclass(eq=False, repr=False)
class CptDisplay(Display):
    """P(node | parents): a line for each configuration of the parents, a column for each state.

    >>> shown = CptDisplay.from_table("wet", {"rain": ["no", "yes"]}, ["no", "yes"], [[0.9, 0.1], [0.2, 0.8]])
    >>> shown.frame().to_pydict()["probability"]
    [0.9, 0.1, 0.2, 0.8]
    """

    node: str
    parents: dict[str, list[Any]]  # with their states
    states: list[Any]
    table: Float  # (configurations, states), the last parent moving fastest

    @classmethod
    def from_table(
        cls, node: str, parents: Mapping[str, Sequence[Label]], states: Sequence[Label], table: object
    ) -> CptDisplay:
        """From probabilities with an axis for each parent and the last for the node.

        Parameters
        ----------
        node : str
            The node.
        parents : mapping
            Its parents with their states.
        states : sequence
            Its states.
        table : array
            Probabilities, or cells, as the method says.
        """
        known = {parent: list(values) for parent, values in parents.items()}
        shape = (*(len(values) for values in known.values()), len(states))
        found = np.asarray(table, dtype=np.float64)
        if found.shape != shape:
            raise InputError(f"the table of {node!r} has the shape {found.shape}; its states call for {shape}")
        return cls(str(node), known, list(states), found.reshape(-1, len(states)))

    @property
    def given(self) -> list[tuple[Label, ...]]:
        """The states of the parents in each line."""
        return list(product(*self.parents.values()))

    def _columns(self) -> Json:
        each = [(given, state) for given in self.given for state in self.states]
        named = {name: [str(given[i]) for given, _ in each] for i, name in enumerate(self.parents)}
        return {**named, self.node: [str(state) for _, state in each], "probability": self.table.ravel()}

    def _size(self) -> tuple[float, float]:
        longest = max((len(name) for name in self._names()), default=0)
        across = 0.85 * min(len(self.states), STATES) + 0.085 * longest + 1.2
        return float(np.clip(across, 3.4, 14.0)), 1.3 + 0.34 * min(len(self.table), ROWS)

    def _names(self) -> list[str]:
        most = 44 // max(1, len(self.parents))
        return [", ".join(shorten(value, most) for value in given) for given in self.given[:ROWS]]

    def _draw(self, ax: Axes) -> None:
        shown = self.table[:ROWS, :STATES]
        texts = [[f"{p:.3g}" for p in row] for row in shown] if len(self.states) <= WRITTEN_STATES else None
        names = self._names() if self.parents else [""]
        heat(ax, shown, texts, names, labels_of(self.states[:STATES]))
        more = [f"{len(self.table) - ROWS} more lines"] if len(self.table) > ROWS else []
        more += [f"{len(self.states) - STATES} more states"] if len(self.states) > STATES else []
        given = f" | {', '.join(shorten(parent, 16) for parent in self.parents)}" if self.parents else ""
        rest = f" ({', '.join(more)} in frame())" if more else ""
        tidy(ax, f"P({shorten(self.node, 24)}{given}){rest}", self.node)
        if self.parents:
            ax.set_ylabel(shorten(", ".join(self.parents), 48))
