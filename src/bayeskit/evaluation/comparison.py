"""Comparison: several models on the same folds, side by side, with what is left of the differences after chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

from bayeskit.arrays import Float
from bayeskit.errors import InputError
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.evaluation.intervals import corrected_error
from bayeskit.evaluation.kept import Kept
from bayeskit.evaluation.measures import Measures
from bayeskit.evaluation.scores import CLIP
from bayeskit.frame import Shown, frame
from bayeskit.proportion import LEVEL

SHOWN = ("accuracy", "log_loss", "brier", "ece", "auc")
LARGER_IS_BETTER = ("accuracy", "balanced_accuracy", "mcc", "kappa", "auc", "coverage", "covered_accuracy")


@dataclass(frozen=True)
class Difference:
    """A measure of one model less that of the best, on the same rows."""

    value: float
    low: float
    high: float
    p: float  # the chance of a difference this large if there were none
    how: str


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Shown):
    """Evaluations by name, compared by one measure.

    Differences to the best are tested by the corrected resampled t-test over folds: t = mean(d) / sqrt(var(d) (1/J +
    test/train)), J - 1 degrees of freedom (Nadeau and Bengio, Machine Learning 52, 2003); where there is one fold
    only, by a paired t-test over rows.
    """

    evaluations: Mapping[str, Evaluation]
    by: str = "log_loss"
    kind: str = "pyarrow"

    _left = 2

    def __getitem__(self, name: str) -> Evaluation:
        return self.evaluations[name]

    @cached_property
    def ranking(self) -> tuple[str, ...]:
        """The names from best to worst."""
        sign = -1.0 if self.by in LARGER_IS_BETTER else 1.0
        values = {name: sign * e.measures.value(self.by) for name, e in self.evaluations.items()}
        return tuple(sorted(values, key=lambda name: (np.isnan(values[name]), values[name])))

    @property
    def best(self) -> str:
        return self.ranking[0]

    def difference(self, name: str, other: str | None = None, by: str | None = None) -> Difference:
        """A model less another, the best unless named; by the measure of the comparison unless named."""
        by = self.by if by is None else by
        mine, theirs = (self.evaluations[n].measures for n in (name, self.best if other is None else other))
        value = mine.value(by) - theirs.value(by)
        each = mine.by_fold(by) - theirs.by_fold(by)
        each = each[np.isfinite(each)]
        if len(each) > 1 and isinstance(mine, Measures):
            return _tested(value, corrected_error(each, mine.ratio), len(each) - 1, "folds, corrected t")
        if isinstance(mine, Measures) and isinstance(theirs, Measures) and mine.kept and theirs.kept and by in _LOSSES:
            loss = _LOSSES[by](mine.kept) - _LOSSES[by](theirs.kept)
            weights = mine.kept.rows.weights
            some = mine.kept.rows.counted & np.isfinite(loss)
            total = float(weights[some].sum())
            spread = float(weights[some] @ (loss[some] - np.average(loss[some], weights=weights[some])) ** 2)
            error = np.sqrt(spread / max(total - 1, 1) / total)
            return _tested(value, error, max(total - 1, 1), "rows, paired t")
        return Difference(value, np.nan, np.nan, np.nan, "no test")

    def frame(self, kind: str | None = None) -> Any:
        """A line for each model, the best first: measures with intervals, and the difference to the best."""
        found = [self.evaluations[name] for name in self.ranking]
        columns: dict[str, Any] = {
            "rank": np.arange(1, len(found) + 1),
            "model": list(self.ranking),
            "computed": [e.computed for e in found],
            "held": ["; ".join(e.held) for e in found],
        }
        for name in dict.fromkeys((self.by, *SHOWN)):
            ends = [e.measures.interval(name) for e in found]
            columns[name] = [e.measures.value(name) for e in found]
            columns[f"{name}_low"], columns[f"{name}_high"] = [i.low for i in ends], [i.high for i in ends]
        apart = [self.difference(name) for name in self.ranking]
        columns["difference"] = [d.value for d in apart]
        columns["difference_low"], columns["difference_high"] = [d.low for d in apart], [d.high for d in apart]
        columns["p"], columns["test"] = [d.p for d in apart], [d.how for d in apart]
        return frame(columns, kind or self.kind)

    def plot(self, of: str = "measure", by: str | None = None, ax: Any = None) -> Any:
        """The models with the intervals of a measure, or its values in all "folds"; the best on top."""
        from bayeskit.plots.spread import ComparisonDisplay, FoldDisplay

        by = self.by if by is None else by
        found = {name: self.evaluations[name].measures for name in self.ranking}
        check_measure(by, self.evaluations[self.best])
        if of == "folds":
            return FoldDisplay.from_values({name: m.by_fold(by) for name, m in found.items()}, by).plot(ax)
        if of != "measure":
            raise InputError(f"plot(of={of!r}): choose measure or folds")
        ends = [m.interval(by) for m in found.values()]
        tests = [self.difference(name, by=by).p for name in self.ranking[1:]]
        note = ["best", *("" if np.isnan(p) else f"p = {p:.2g}" for p in tests)]
        values = [m.value(by) for m in found.values()]
        low, high = [e.low for e in ends], [e.high for e in ends]
        return ComparisonDisplay.from_values(self.ranking, values, low, high, by, note).plot(ax)

    def _title(self) -> str:
        return f"compared by {self.by.replace('_', ' ')}, {self.evaluations[self.best].method}"

    def _lines(self) -> list[list[str]]:
        names = list(dict.fromkeys((self.by, *SHOWN)))
        lines = [["", "model", *(n.replace("_", " ") for n in names), "difference", "95 % from", "to", "p"]]
        for rank, name in enumerate(self.ranking, 1):
            values = [f"{self.evaluations[name].measures.value(n):.4f}" for n in names]
            apart = self.difference(name)
            tested = (
                [f"{x:.4f}" for x in (apart.value, apart.low, apart.high, apart.p)] if rank > 1 else ["", "", "", ""]
            )
            lines.append([str(rank), name, *values, *tested])
        return lines


def check_measure(by: str, evaluation: Evaluation) -> None:
    """Refuse a measure that was not taken."""
    if by not in evaluation.measures.names:
        raise InputError(f"by={by!r}: choose one of {', '.join(evaluation.measures.names)}")


def _tested(value: float, error: float, freedom: float, how: str) -> Difference:
    if not error > 0:
        return Difference(value, value, value, 1.0 if value == 0 else 0.0, how)
    half = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error
    return Difference(value, value - half, value + half, float(2 * stdtr(freedom, -abs(value) / error)), how)


def _true(kept: Kept) -> Float:
    """P(true class) of each row: (n,)."""
    truth: Float = kept.proba[np.arange(len(kept.rows)), np.maximum(kept.rows.codes, 0)]
    return truth


def _log_loss(kept: Kept) -> Float:
    return -np.log(np.clip(_true(kept), CLIP, 1.0))


def _brier(kept: Kept) -> Float:
    square: Float = (kept.proba**2).sum(axis=1) - 2 * _true(kept) + 1
    return square


def _accuracy(kept: Kept) -> Float:
    return np.where(kept.action < 0, np.nan, kept.action == kept.rows.codes)


_LOSSES = {"log_loss": _log_loss, "brier": _brier, "accuracy": _accuracy}
