"""Curves: ROC, reliability, cost by threshold, net benefit and the cost of either mistake."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayeskit.arrays import (
    Array,
    ArrayLike,
    Axes,
    Classifier,
    CostsLike,
    CostTable,
    Float,
    Int,
    Json,
    Label,
    LabelsLike,
    TableLike,
    WeightsLike,
)
from bayeskit.errors import InputError
from bayeskit.numerics.rates import BANDS, Curve, band_of, curve, effective, sum_cells, width_bins, wilson
from bayeskit.plots.style import (
    FAINT,
    INK,
    LEGEND,
    PALETTE,
    Display,
    codes_of,
    colour,
    document,
    entry,
    labels_of,
    legend,
    line,
    tidy,
)


@dataclass(frozen=True)
class Predictions:
    """Probabilities of classes and the classes that came true."""

    classes: list[Any]  # (K)
    proba: Float  # (n, K)
    codes: Int  # (n,)
    weights: Float  # (n,)

    @classmethod
    def of(
        cls, y: LabelsLike, proba: ArrayLike, classes: Sequence[Label] | None = None, sample_weight: WeightsLike = None
    ) -> Predictions:
        """A single column of probabilities is that of the second of two classes."""
        known = np.unique(np.asarray(y)).tolist() if classes is None else list(classes)
        p = np.asarray(proba, dtype=np.float64)
        if p.ndim == 1:
            p = np.column_stack([1 - p, p])
        if p.shape != (len(np.asarray(y).ravel()), len(known)):
            raise InputError(
                f"probabilities of shape {p.shape} do not fit {len(np.asarray(y).ravel())} labels of {len(known)} "
                f"classes; give (n, K) in the order of classes=[...]"
            )
        weights = np.ones(len(p)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        finite = np.isfinite(p).all(axis=1)
        return cls(known, p[finite], codes_of(np.asarray(y).ravel()[finite], known), weights[finite])

    @classmethod
    def by(cls, estimator: Classifier, X: TableLike, y: LabelsLike) -> Predictions:
        if isinstance(y, str):
            raise InputError(f"y={y!r}: a plot takes the labels themselves; give the column, frame[{y!r}]")
        return cls.of(y, estimator.predict_proba(X), np.asarray(estimator.classes_).tolist())

    def place(self, label: Label) -> int:
        return int(codes_of([label], self.classes)[0])


@document
@dataclass(eq=False, repr=False)
class RocDisplay(Display):
    """True against false positives as the threshold falls, a curve for each class against the rest."""

    curves: dict[Any, Curve]

    size = (4.8, 4.6)

    @classmethod
    def from_predictions(
        cls,
        y: LabelsLike,
        proba: ArrayLike,
        classes: Sequence[Label] | None = None,
        label: Label | None = None,
        sample_weight: WeightsLike = None,
    ) -> RocDisplay:
        """Of one class, or of all; of two classes the second says all."""
        return cls._of(Predictions.of(y, proba, classes, sample_weight), label)

    @classmethod
    def from_estimator(
        cls, estimator: Classifier, X: TableLike, y: LabelsLike, label: Label | None = None
    ) -> RocDisplay:
        """Of a fitted classifier, on rows it should not have learned."""
        return cls._of(Predictions.by(estimator, X, y), label)

    @classmethod
    def _of(cls, given: Predictions, label: Label) -> RocDisplay:
        if label is not None:
            wanted = [given.place(label)]
        else:
            wanted = [1] if len(given.classes) == 2 else list(range(len(given.classes)))
        return cls(
            {given.classes[k]: curve(given.proba[:, k], given.codes == k, given.weights) for k in wanted},
        )

    def _columns(self) -> Json:
        each = list(self.curves.items())
        return {
            "class": [str(label) for label, c in each for _ in c.threshold],
            "threshold": np.concatenate([c.threshold for _, c in each]),
            "false_positive": np.concatenate([c.false_positive for _, c in each]),
            "true_positive": np.concatenate([c.true_positive for _, c in each]),
        }

    def _draw(self, ax: Axes) -> None:
        ax.plot([0, 1], [0, 1], color=FAINT, lw=1)
        many = len(self.curves) > LEGEND
        for k, (name, c) in enumerate(zip(labels_of(list(self.curves)), self.curves.values(), strict=True)):
            look: Json = {"color": FAINT, "lw": 0.8} if many else {"color": colour(k), "ls": line(k), "lw": 1.8}
            ax.plot(c.false_positive, c.true_positive, label=entry(f"{name}, area {c.area:.3f}"), **look)
        ax.set_aspect("equal")
        ax.set_xlim(-0.01, 1.01)
        ax.set_ylim(-0.01, 1.01)
        tidy(ax, "ROC, each class against the rest", "share of the others predicted as it", "share of the class found")
        legend(ax, list(self.curves), loc="lower right")


@document
@dataclass(eq=False, repr=False)
class ReliabilityDisplay(Display):
    """How often what was said with probability p came true, in cells of equal width.

    ``bands`` are Wilson's 95 % intervals of (Σw)² / Σw² rows around each share ("wilson"), what drawing rows anew gives
    ("bootstrap"), or, around the diagonal, where shares lie in 95 % of draws if every probability is right
    ("consistency", Bröcker and Smith 2007).
    """

    cells: dict[str, Float]  # from, to, weight, effective rows, probability, right
    says: str
    bands: str = "wilson"
    ends: tuple[Float, Float] | None = None  # (cells,) each, of other bands than Wilson's

    size = (4.8, 4.6)

    @classmethod
    def from_predictions(
        cls,
        y: LabelsLike,
        proba: ArrayLike,
        classes: Sequence[Label] | None = None,
        label: Label | None = None,
        bins: int = 15,
        sample_weight: WeightsLike = None,
        bands: str = "wilson",
    ) -> ReliabilityDisplay:
        """Of the probability of one class, or of the most probable class of each row."""
        return cls._of(Predictions.of(y, proba, classes, sample_weight), label, bins, bands)

    @classmethod
    def from_estimator(
        cls,
        estimator: Classifier,
        X: TableLike,
        y: LabelsLike,
        label: Label | None = None,
        bins: int = 15,
        bands: str = "wilson",
    ) -> ReliabilityDisplay:
        """Of a fitted classifier, on rows it should not have learned."""
        return cls._of(Predictions.by(estimator, X, y), label, bins, bands)

    @classmethod
    def _of(cls, given: Predictions, label: Label, bins: int, bands: str) -> ReliabilityDisplay:
        if bands not in BANDS:
            raise InputError(f"bands={bands!r}: choose one of {', '.join(BANDS)}")
        if label is None:
            best = np.argmax(given.proba, axis=1)
            p, true = given.proba[np.arange(len(best)), best], best == given.codes
        else:
            p, true = given.proba[:, given.place(label)], given.codes == given.place(label)
        cell = width_bins(p, bins)
        table = sum_cells(p, true, given.weights, cell, bins)
        found = cls.from_cells(table, "the most probable class" if label is None else labels_of([label])[0])
        if bands != "wilson":
            low, high = band_of(bands, p, true, given.weights, cell, bins)
            found.bands, found.ends = bands, (low[table[0] > 0], high[table[0] > 0])
        return found

    @classmethod
    def from_cells(cls, table: Float, says: str = "the most probable class") -> ReliabilityDisplay:
        """From what ``sum_cells`` finds in cells of equal width: (FIELDS, cells).

        Parameters
        ----------
        table : array
            Probabilities, or cells, as the method says.
        says : str
            What the probability is of, for the axis.
        """
        weight, said, right, squared = np.asarray(table, dtype=np.float64)
        there = weight > 0
        edges = np.arange(len(weight) + 1) / len(weight)
        cells = {"from": edges[:-1][there], "to": edges[1:][there], "weight": weight[there]}
        cells["rows"] = effective(weight, squared)[there]
        return cls(
            {**cells, "probability": (said / np.where(there, weight, 1))[there], "right": right[there] / weight[there]},
            says,
        )

    def _columns(self) -> Json:
        if self.ends is not None:
            return {**self.cells, "low": self.ends[0], "high": self.ends[1]}
        found = [wilson(r, w) for r, w in zip(self.cells["right"], self.cells["rows"], strict=True)]
        return {**self.cells, "low": [i.low for i in found], "high": [i.high for i in found]}

    def _draw(self, ax: Axes) -> None:
        shown = {name: np.asarray(values) for name, values in self._columns().items()}
        ax.plot([0, 1], [0, 1], color=FAINT, lw=1)
        if len(shown["weight"]):
            size = 20 + 130 * np.sqrt(shown["weight"] / shown["weight"].max())
            if self.bands == "consistency":
                middle, half = (shown["from"] + shown["to"]) / 2, 0.45 * (shown["to"] - shown["from"])
                ax.bar(middle, shown["high"] - shown["low"], 2 * half, shown["low"], color=FAINT, alpha=0.45, lw=0)
            else:
                ends = [shown["right"] - shown["low"], shown["high"] - shown["right"]]
                ax.errorbar(shown["probability"], shown["right"], np.maximum(ends, 0), fmt="none", ecolor=INK, lw=1)
            ax.scatter(shown["probability"], shown["right"], s=size, c=PALETTE[0], ec="white", zorder=3, clip_on=False)
        ax.set_aspect("equal")
        ax.set_xlim(-0.01, 1.01)
        ax.set_ylim(-0.01, 1.01)
        shade = "grey: 95 % if right" if self.bands == "consistency" else "95 % intervals"
        tidy(ax, f"reliability of {self.says}", "probability said", f"share that came true ({shade})")


@document
@dataclass(eq=False, repr=False)
class CostDisplay(Display):
    """Mean cost of a row if a class is decided for from a probability of t on, for every t.

    The least expected cost is at t* = (C(n, p) - C(n, n)) / (C(n, p) - C(n, n) + C(p, n) - C(p, p)), p the class, n the
    other.
    """

    threshold: Float  # (points,)
    cost: Float  # (points,)
    best: float  # what the costs alone say
    label: Any

    size = (5.4, 3.8)

    @classmethod
    def from_predictions(
        cls,
        y: LabelsLike,
        proba: ArrayLike,
        costs: CostsLike,
        classes: Sequence[Label] | None = None,
        label: Label | None = None,
        sample_weight: WeightsLike = None,
    ) -> CostDisplay:
        """Of two classes; ``costs`` are {true: {decided: cost}}, or a matrix in the order of the classes."""
        return cls._of(Predictions.of(y, proba, classes, sample_weight), costs, label)

    @classmethod
    def from_estimator(
        cls, estimator: Classifier, X: TableLike, y: LabelsLike, costs: CostsLike, label: Label | None = None
    ) -> CostDisplay:
        """Of a fitted classifier of two classes, on rows it should not have learned."""
        return cls._of(Predictions.by(estimator, X, y), costs, label)

    @classmethod
    def _of(cls, given: Predictions, costs: CostsLike, label: Label) -> CostDisplay:
        if len(given.classes) != 2:
            raise InputError(f"a threshold divides two classes, not {len(given.classes)}; use decide(proba, costs)")
        k = 1 if label is None else given.place(label)
        table = _costs(costs, given.classes)
        positive, scores = given.codes == k, given.proba[:, k]
        found = curve(scores, positive, given.weights)
        share = float(given.weights[positive].sum() / given.weights.sum())
        miss, right = table[k, 1 - k], table[k, k]
        alarm, calm = table[1 - k, k], table[1 - k, 1 - k]
        hit, false = np.nan_to_num(found.true_positive), np.nan_to_num(found.false_positive)
        cost = share * (miss + hit * (right - miss)) + (1 - share) * (calm + false * (alarm - calm))
        gain = (alarm - calm) + (miss - right)
        best = float((alarm - calm) / gain) if gain > 0 else float("nan")
        return cls(np.append(1.0, found.threshold[1:]), cost, best, given.classes[k])

    def _columns(self) -> Json:
        return {"threshold": self.threshold, "cost": self.cost}

    def _draw(self, ax: Axes) -> None:
        ends = np.append(self.threshold, 0.0), np.append(self.cost, self.cost[-1])
        ax.step(*ends, where="pre", color=PALETTE[0], lw=1.8, label="mean cost of these rows")
        least = int(np.argmin(self.cost))
        ax.plot(self.threshold[least], self.cost[least], "o", color=PALETTE[1], label=f"least: {self.cost[least]:.4g}")
        if np.isfinite(self.best):
            ax.axvline(self.best, color=INK, ls="--", lw=1, label=f"by the costs alone: t = {self.best:.3g}")
        ax.set_xlim(-0.01, 1.01)
        name = labels_of([self.label])[0]
        tidy(ax, f"cost of deciding for {name}", f"threshold of P({name})", "mean cost of a row")
        ax.legend(frameon=False, fontsize=9)


def _costs(costs: CostsLike, classes: Sequence[Label]) -> Array:
    """A table of costs of two classes, in their order: (2, 2)."""
    if isinstance(costs, CostTable):
        places = [list(costs.actions).index(c) for c in classes if c in costs.actions]
        if len(places) < len(classes):
            raise InputError("a threshold decides for one of the classes; give costs whose actions are the classes")
        found: Array = costs.matrix_for(list(classes))[:, places]
        return found
    try:
        table = [[costs[a][b] for b in classes] for a in classes] if isinstance(costs, dict) else costs
        matrix = np.asarray(table, dtype=np.float64)
    except KeyError as error:
        raise InputError(
            f"the costs lack {error.args[0]!r}; give {{true: {{decided: cost}}}} for both classes"
        ) from error
    if matrix.shape != (2, 2) or not np.isfinite(matrix).all():
        raise InputError("costs of two classes are a table of two rows (true) and two columns (decided) of numbers")
    return matrix


@document
@dataclass(eq=False, repr=False)
class BenefitDisplay(Display):
    """Net benefit by the threshold one would act at, with 95 % intervals, beside acting on all rows and on none."""

    columns: dict[str, Float]  # threshold, net_benefit, low, high, treat_all and others: (m,) each
    label: Any

    size: ClassVar[tuple[float, float]] = (5.6, 3.8)

    def _columns(self) -> Json:
        return dict(self.columns)

    def _draw(self, ax: Axes) -> None:
        at, name = self.columns["threshold"], labels_of([self.label])[0]
        ax.fill_between(at, self.columns["low"], self.columns["high"], color=PALETTE[0], alpha=0.2, lw=0)
        ax.plot(at, self.columns["net_benefit"], color=PALETTE[0], lw=1.8, label="by the model, 95 % intervals")
        ax.plot(at, self.columns["treat_all"], color=INK, ls="--", lw=1, label="act on all rows")
        ax.axhline(0.0, color=FAINT, lw=1, label="act on none")
        top = float(np.nanmax(np.append(self.columns["high"], 1e-3)))
        ax.set_ylim(-0.3 * top, 1.05 * top)
        tidy(ax, f"net benefit of acting on P({name})", "threshold", "true positives a row")
        ax.legend(frameon=False, fontsize=9)


@document
@dataclass(eq=False, repr=False)
class CostCurveDisplay(Display):
    """Cost of decisions by how dear misses are, with 95 % intervals, beside the best threshold and no model."""

    columns: dict[str, Float]  # probability_cost, cost, low, high, least, trivial and others: (m,) each
    label: Any

    size: ClassVar[tuple[float, float]] = (5.6, 3.8)

    def _columns(self) -> Json:
        return dict(self.columns)

    def _draw(self, ax: Axes) -> None:
        at, name = self.columns["probability_cost"], labels_of([self.label])[0]
        ax.fill_between(at, self.columns["low"], self.columns["high"], color=PALETTE[0], alpha=0.2, lw=0)
        ax.plot(at, self.columns["cost"], color=PALETTE[0], lw=1.8, label="by the model, 95 % intervals")
        ax.plot(at, self.columns["least"], color=PALETTE[1], lw=1.2, label="best threshold, afterwards")
        ax.plot(at, self.columns["trivial"], color=INK, ls="--", lw=1, label="the same for every row")
        ax.set_xlim(0, 1)
        ax.set_ylim(0, None)
        tidy(ax, f"cost of deciding for {name}", "probability × cost of a miss, as a share", "cost, of the most")
        ax.legend(frameon=False, fontsize=9)
