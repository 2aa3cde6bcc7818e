"""OneClass: one class against the rest: calibration of its probability, ROC and precision by recall."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Float, Int, Label
from bayeskit.errors import InputError
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.numerics.rates import effective, gap, wilson
from bayeskit.reports import drawing
from bayeskit.reports.markup import folding_table, number, percent, text

SHOWN = 400  # points of a curve
FEW = 20  # rows a class should have to be drawn


@dataclass(frozen=True)
class OneClass:
    """A class by its place among those of an evaluation."""

    evaluation: Evaluation
    place: int
    named: bool = True  # by whoever asked

    @classmethod
    def of(cls, evaluation: Evaluation, label: Label | None) -> OneClass:
        """The class of this label, as it is or as it is written; unless given the rarest that has enough rows."""
        labels = evaluation.classes.tolist()
        if label is None:
            weight = evaluation.confusion.matrix.sum(axis=1)
            enough = weight >= FEW if (weight >= FEW).any() else weight > 0
            return cls(evaluation, int(np.argmin(np.where(enough, weight, np.inf))), named=False)
        written = [str(known) for known in labels]
        if str(label) not in written:
            raise InputError(f"the class of interest {label!r} is not a class (there are: {', '.join(written[:20])})")
        return cls(evaluation, written.index(str(label)))

    @property
    def label(self) -> Label:
        labels: list[Label] = self.evaluation.classes.tolist()
        return labels[self.place]

    @property
    def share(self) -> float:
        """Of the rows tested."""
        weight = self.evaluation.confusion.matrix.sum(axis=1)
        return float(weight[self.place] / max(float(weight.sum()), 1e-300))

    @property
    def ece(self) -> float:
        """The calibration error of its probability."""
        return gap(self._cells)

    @property
    def _cells(self) -> Float:
        cells: Float = self.evaluation.measures.total.each[0, self.place]
        return cells

    def precision_recall(self) -> tuple[Float, Float] | None:
        """Recall and precision as the threshold falls, (points,) each; None without rows, or without both sides."""
        if self.evaluation.proba is None:
            return None
        curve = self.evaluation.roc(self.label)
        found, false = np.asarray(curve.true_positive)[1:], np.asarray(curve.false_positive)[1:]
        if not (np.isfinite(found).all() and np.isfinite(false).all()):
            return None
        right, wrong = found * self.share, false * (1 - self.share)
        return found, right / (right + wrong)

    @property
    def average_precision(self) -> float:
        """The mean of precision over recall, Σ (R_i - R_(i-1)) P_i."""
        points = self.precision_recall()
        if points is None:
            return float("nan")
        recall, precision = points
        return float(np.diff(recall, prepend=0.0) @ precision)

    def figures(self) -> str:
        """Calibration, precision by recall and ROC."""
        return f"{self._calibration()}{self._precision()}{self._roc()}"

    def _calibration(self) -> str:
        weight, said, right, squared = self._cells[:, self._cells[0] > 0]
        rows, share = effective(weight, squared), right / weight
        ends = [wilson(float(s), float(n)) for s, n in zip(share, rows, strict=True)]
        low, high = np.array([e.low for e in ends]), np.array([e.high for e in ends])
        dots = drawing.dots(said / weight, share, low, high, weight)
        plot = drawing.square(dots, "predicted probability", "share of the rows", f"Reliability of {self.label}")
        return _figure(
            plot,
            f"Calibration of {text(self.label)}: error {number(self.ece)}. At each predicted probability, the share "
            f"of rows that are {text(self.label)}, with 95 % intervals.",
        )

    def _precision(self) -> str:
        points = self.precision_recall()
        if points is None:
            return ""
        recall, precision = (axis[_pick_points(len(axis))] for axis in points)
        base = drawing.level(self.share)
        plot = drawing.square(
            base + drawing.line(recall, precision),
            "recall",
            "precision",
            f"Precision by recall of {self.label}",
            even=False,
        )
        said = f"Precision by recall of {text(self.label)}: average {number(self.average_precision)}."
        return _figure(plot, f"{said} The dashed line is precision by chance: its share, {percent(self.share)}.")

    def _roc(self) -> str:
        if self.precision_recall() is None:
            return ""
        curve = self.evaluation.roc(self.label)
        drawn = _pick_points(len(curve.false_positive))
        line = drawing.line(np.asarray(curve.false_positive)[drawn], np.asarray(curve.true_positive)[drawn])
        plot = drawing.square(line, "false positive rate", "true positive rate (recall)", f"ROC curve of {self.label}")
        area = number(self.evaluation.auc_by_class[self.label])
        return _figure(plot, f"ROC curve of {text(self.label)}: area {area}. The diagonal is chance.")


def by_class(evaluation: Evaluation) -> str:
    """Calibration error and average precision of every class, each beside its baseline."""
    found = [OneClass(evaluation, k) for k in range(len(evaluation.classes))]
    rows = [(one.label, percent(one.share), number(one.ece, 4), number(one.average_precision)) for one in found]
    return folding_table(rows, ("class", "share", "calibration error", "average precision"), shown=12)


def _pick_points(points: int) -> Int:
    """Which points of a curve are drawn."""
    return np.unique(np.linspace(0, points - 1, SHOWN).astype(np.int64))


def _figure(plot: str, caption: str) -> str:
    return f"<figure>{plot}<figcaption>{caption}</figcaption></figure>"
