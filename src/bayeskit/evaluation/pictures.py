"""Pictures of an evaluation: which numbers of it each display takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from bayeskit.arrays import Array, Axes, CostsLike, Float, Frame, Label
from bayeskit.decision.costs import Costs
from bayeskit.errors import InputError
from bayeskit.numerics.rates import BINS
from bayeskit.plots.bars import FoldDisplay
from bayeskit.plots.curves import BenefitDisplay, CostCurveDisplay, CostDisplay, ReliabilityDisplay, RocDisplay
from bayeskit.plots.heat import ConfusionDisplay
from bayeskit.plots.style import Display, Panels

if TYPE_CHECKING:
    from bayeskit.evaluation.evaluation import Evaluation

OVERVIEW = "overview"


def picture(evaluation: Evaluation, of: str, ax: Axes | None, **options: object) -> Display | Panels:
    """One display, drawn; "overview" puts those side by side that the evaluation has numbers for."""
    kinds: Mapping[str, Callable[..., Display]] = {
        "confusion": _confusion,
        "roc": _roc,
        "reliability": _reliability,
        "folds": _folds,
        "cost": _cost,
        "cost_curve": _cost_curve,
        "benefit": _benefit,
    }
    if of == OVERVIEW:
        if ax is not None:
            raise InputError("an overview is a figure of its own; name one picture to draw into ax")
        panels = [_confusion(evaluation), _reliability(evaluation)]
        panels += [] if evaluation.proba is None else [_roc(evaluation)]
        panels += [_folds(evaluation)] if np.isfinite(evaluation.measures.by_fold("accuracy")).sum() > 1 else []
        return Panels.of(panels)
    if of not in kinds:
        raise InputError(f"plot(of={of!r}): choose one of {OVERVIEW}, {', '.join(kinds)}")
    return kinds[of](evaluation, **options).plot(ax)


def _confusion(evaluation: Evaluation) -> ConfusionDisplay:
    found = evaluation.confusion
    return ConfusionDisplay(found.matrix, evaluation.classes.tolist(), list(found.others))


def _roc(evaluation: Evaluation, label: Label | None = None) -> RocDisplay:
    labels = evaluation.classes.tolist()
    wanted = (labels[1:] if len(labels) == 2 else labels) if label is None else [label]
    return RocDisplay({name: evaluation.roc(name) for name in wanted})


def _reliability(evaluation: Evaluation, label: Label | None = None, bands: str = "wilson") -> ReliabilityDisplay:
    """Of the most probable class from sums alone; of a class, or with other bands, from the rows."""
    if label is None and bands == "wilson":
        return ReliabilityDisplay.from_cells(evaluation.measures.total.top[0])
    labels, proba, weights = _tested(evaluation, "such a reliability diagram")
    classes = evaluation.classes.tolist()
    return ReliabilityDisplay.from_predictions(
        labels, proba, classes, label, bins=BINS, sample_weight=weights, bands=bands
    )


def _tested(evaluation: Evaluation, what: str) -> tuple[Array, Float, Float]:
    """Classes, probabilities, (n, K), and weights of the rows that were tested."""
    kept = evaluation.require_rows(what)
    tested = kept.rows.counted & ~np.isnan(kept.proba).any(axis=1)
    labels = np.array(evaluation.classes.tolist(), dtype=object)[kept.rows.codes[tested]]
    return labels, kept.proba[tested], kept.rows.weights[tested]


def _folds(evaluation: Evaluation, measure: str = "accuracy") -> FoldDisplay:
    return FoldDisplay.from_values({evaluation.name or "model": evaluation.measures.by_fold(measure)}, measure)


def _cost(evaluation: Evaluation, costs: CostsLike = None, label: Label | None = None) -> CostDisplay:
    """By the costs given, else by those of the evaluation, else by one for every mistake."""
    decision_costs = evaluation.decision_costs
    if costs is None and decision_costs is not None:
        costs = Costs(decision_costs.table, evaluation.classes.tolist(), decision_costs.actions)
    costs = Costs.of(costs, evaluation.classes.tolist())
    labels, proba, weights = _tested(evaluation, "a cost curve")
    return CostDisplay.from_predictions(labels, proba, costs, evaluation.classes.tolist(), label, weights)


def _cost_curve(evaluation: Evaluation, label: Label | None = None) -> CostCurveDisplay:
    label = evaluation.classes.tolist()[-1] if label is None else label
    return CostCurveDisplay(_numbers(evaluation.cost_curve(label).frame("pyarrow")), label)


def _benefit(evaluation: Evaluation, label: Label | None = None) -> BenefitDisplay:
    label = evaluation.classes.tolist()[-1] if label is None else label
    return BenefitDisplay(_numbers(evaluation.decision_curve(label).frame("pyarrow")), label)


def _numbers(table: Frame) -> dict[str, Float]:
    return {name: table.column(name).to_numpy() for name in table.column_names}
