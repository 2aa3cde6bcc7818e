"""Tables of an evaluation: which numbers of it each frame has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit.arrays import Json
from bayeskit.errors import InputError
from bayeskit.evaluation.gaps import gaps_interval, uncertainty_ends
from bayeskit.evaluation.intervals import no_interval
from bayeskit.evaluation.measures import Measures
from bayeskit.evaluation.score import SumScore
from bayeskit.evaluation.scores import SCORES
from bayeskit.numerics.rates import BINS, effective

if TYPE_CHECKING:
    from bayeskit.evaluation.evaluation import Evaluation


def table_of(evaluation: Evaluation, measured: Measures, of: str) -> Json:
    """The columns of one table; ``measured`` are the measures of the rows themselves."""
    tables: Mapping[str, Callable[[Evaluation], Json]] = {
        "measures": _measures,
        "classes": lambda one: _classes(one, measured),
        "folds": _folds,
        "rows": _rows,
        "reliability": _reliability,
        "brier": lambda one: _brier(one, measured),
        "roc": _roc,
    }
    if of not in tables:
        raise InputError(f"frame(of={of!r}): choose one of {', '.join(tables)}")
    return tables[of](evaluation)


def _measures(evaluation: Evaluation) -> Json:
    names = list(evaluation.measures.names)
    found = [evaluation.measures.interval(name) for name in names]
    return {
        "measure": names,
        "value": [evaluation.measures.value(name) for name in names],
        "baseline": [evaluation.baseline.value(name) for name in names],
        "low": [interval.low for interval in found],
        "high": [interval.high for interval in found],
        "interval": [interval.how for interval in found],
        "held": ["; ".join(evaluation.held)] * len(names),
    }


def _classes(evaluation: Evaluation, measured: Measures) -> Json:
    table, labels = evaluation.confusion, evaluation.classes.tolist()
    columns: dict[str, Any] = {"class": evaluation.classes, "weight": table.matrix.sum(axis=1)}
    for rate in ("sensitivity", "specificity", "precision"):
        ends = [table.interval(rate, label) for label in labels]
        columns[rate] = list(getattr(table, rate).values())
        columns[f"{rate}_low"], columns[f"{rate}_high"] = [e.low for e in ends], [e.high for e in ends]
    return {**columns, "f1": list(table.f1.values()), "auc": evaluation.measures.areas, **_recalibration(measured)}


def _recalibration(measured: Measures) -> Json:
    """Intercept and slope of each class against the rest, by the first division, with intervals unless grouped."""
    kept = measured.kept
    if kept is None:
        return {}
    columns: Json = {}
    for name, lines in (("calibration_intercept", kept.intercepts), ("calibration_slope", kept.slopes)):
        columns[name] = [line.value for line in lines]
        if not measured.grouped:
            ends = [line.around(line.value, measured.rows, measured.design_effect) for line in lines]
            columns[f"{name}_low"], columns[f"{name}_high"] = [e.low for e in ends], [e.high for e in ends]
    return columns


def _brier(evaluation: Evaluation, measured: Measures) -> Json:
    """Murphy's decomposition over the cells of each class, what differs within a cell, and where the parts lie."""
    share = evaluation.confusion.matrix.sum(axis=1) / evaluation.confusion.matrix.sum()
    total, uncertainty = evaluation.value("brier"), float((share * (1 - share)).sum())
    resolution, reliability = evaluation.value("brier_resolution"), evaluation.value("brier_reliability")
    ends = [
        gaps_interval(measured, lambda _: uncertainty_ends(share, float(measured.total.rows[0])), ""),
        *(evaluation.interval(name) for name in ("brier_resolution", "brier_reliability")),
        no_interval(""),
        evaluation.interval("brier"),
    ]
    within = total - (uncertainty - resolution + reliability)
    return {
        "part": ["uncertainty", "resolution", "reliability", "within cells", "brier"],
        "sign": [1, -1, 1, 1, 1],
        "value": [uncertainty, resolution, reliability, within, total],
        "low": [end.low for end in ends],
        "high": [end.high for end in ends],
        "meaning": [
            "of the classes alone: what always saying their shares would score",
            "what telling rows apart takes off",
            "what miscalibration adds",
            "what differs within the 15 cells of a class",
            "the sum",
        ],
    }


def _folds(evaluation: Evaluation) -> Json:
    headline = (
        name for name in evaluation.measures.names if SCORES[name].headline and isinstance(SCORES[name], SumScore)
    )
    each = {name: evaluation.measures.by_fold(name) for name in headline}
    return {"fold": np.arange(len(each["accuracy"])), **each}


def _rows(evaluation: Evaluation) -> Json:
    kept = evaluation.require_rows("rows")
    labels = [None if code < 0 else evaluation.classes[code] for code in kept.rows.codes.tolist()]
    names = [*evaluation.classes.tolist(), *evaluation.others]
    names = list(map(str, names)) if evaluation.others else names  # a column of a frame has one type
    best = [None if code < 0 else names[code] for code in kept.action.tolist()]
    named = {f"P({label})": kept.proba[:, k] for k, label in enumerate(evaluation.classes.tolist())}
    return {"true": labels, "predicted": best, **named}


def _reliability(evaluation: Evaluation) -> Json:
    """Cells of the top probability: how sure the model was, and how often it was right."""
    weight, said, right, squared = evaluation.measures.total.top[0]
    there = weight > 0
    return {
        "from": (np.arange(BINS) / BINS)[there],
        "to": (np.arange(1, BINS + 1) / BINS)[there],
        "weight": weight[there],
        "rows": effective(weight[there], squared[there]),
        "probability": said[there] / weight[there],
        "right": right[there] / weight[there],
    }


def _roc(evaluation: Evaluation) -> Json:
    curves = {label: evaluation.roc(label) for label in evaluation.classes.tolist()}
    return {
        "class": [label for label, c in curves.items() for _ in c.threshold],
        "threshold": np.concatenate([c.threshold for c in curves.values()]),
        "false_positive": np.concatenate([c.false_positive for c in curves.values()]),
        "true_positive": np.concatenate([c.true_positive for c in curves.values()]),
    }
