"""Comparison: several models on the same folds, side by side, with what is left of the differences after chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

from bayeskit.arrays import Axes, Float, Frame
from bayeskit.data.frame import TableRepr, frame
from bayeskit.docstrings import document_frame_like_x
from bayeskit.errors import InputError
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.evaluation.intervals import corrected_error
from bayeskit.evaluation.measures import Measures
from bayeskit.evaluation.score import ByRow, PredictedRows
from bayeskit.evaluation.scores import SCORES
from bayeskit.numerics.rates import LEVEL, effective
from bayeskit.plots.style import Display


@dataclass(frozen=True)
class Difference:
    """A measure of one model less that of the best, on the same rows."""

    value: float
    low: float
    high: float
    p: float  # the chance of a difference this large if there were none
    how: str


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(TableRepr):
    """Evaluations by name, compared by one measure.

    Differences to the best are tested by the corrected resampled t-test over folds: t = mean(d) / sqrt(var(d) (1/J +
    test/train)), J - 1 degrees of freedom (Nadeau and Bengio, Machine Learning 52, 2003); where there is one fold
    only, by a paired t-test over rows. Their p-values are Holm's unless ``correction=None``: with many models some
    difference is large by chance. Intervals are of each difference alone.
    """

    evaluations: Mapping[str, Evaluation]
    by: str = "log_loss"
    kind: str = "pyarrow"
    correction: str | None = "holm"  # of the p-values of all differences to the best

    _left = 2

    def __getitem__(self, name: str) -> Evaluation:
        return self.evaluations[name]

    @cached_property
    def ranking(self) -> tuple[str, ...]:
        """The names from best to worst."""
        values = {name: SCORES[self.by].loss(e.measures.value(self.by)) for name, e in self.evaluations.items()}
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
            return _test(value, corrected_error(each, mine.ratio), len(each) - 1, "folds, corrected t")
        score = SCORES[by]
        if isinstance(mine, Measures) and isinstance(theirs, Measures) and isinstance(score, ByRow):
            loss = _of_rows(score, mine) - _of_rows(score, theirs)
            if mine.kept is not None and len(loss):
                weights, judged = mine.kept.rows.weights, np.isfinite(loss)
                w, apart = weights[judged], loss[judged] - np.average(loss[judged], weights=weights[judged])
                freedom = max(float(effective(w.sum(), w @ w)) - 1, 1.0)
                error = np.sqrt(np.average(apart**2, weights=w) / freedom)
                return _test(value, error, freedom, "rows, paired t")
        return Difference(value, np.nan, np.nan, np.nan, "no test")

    def differences(self, by: str | None = None) -> tuple[Difference, ...]:
        """Of every model, in the order of ranking, to the best; p after the correction, which ``how`` names."""
        found = [self.difference(name, by=by) for name in self.ranking]
        if self.correction is None:
            return tuple(found)
        p = holm(np.array([d.p for d in found[1:]]))
        tests = int(np.isfinite(p).sum())
        how = f"; Holm over {tests}" if tests > 1 else ""
        return found[0], *(replace(d, p=float(q), how=d.how + how) for d, q in zip(found[1:], p, strict=True))

    @document_frame_like_x
    def frame(self, kind: str | None = None) -> Frame:
        """A line for each model, the best first: measures with intervals, and the difference to the best.

        ``p`` is after the correction that ``test`` names, ``p_alone`` before.
        """
        found = [self.evaluations[name] for name in self.ranking]
        columns: dict[str, Any] = {
            "rank": np.arange(1, len(found) + 1),
            "model": list(self.ranking),
            "computed": [e.computed for e in found],
            "held": ["; ".join(e.held) for e in found],
        }
        for name in self._shown:
            ends = [e.measures.interval(name) for e in found]
            columns[name] = [e.measures.value(name) for e in found]
            columns[f"{name}_low"], columns[f"{name}_high"] = [i.low for i in ends], [i.high for i in ends]
        apart, alone = self.differences(), [self.difference(name) for name in self.ranking]
        columns["difference"] = [d.value for d in apart]
        columns["difference_low"], columns["difference_high"] = [d.low for d in apart], [d.high for d in apart]
        columns["p"], columns["p_alone"] = [d.p for d in apart], [d.p for d in alone]
        columns["test"] = [d.how for d in apart]
        return frame(columns, kind or self.kind)

    def plot(self, of: str = "measure", by: str | None = None, ax: Axes | None = None) -> Display:
        """The models with the intervals of a measure, or its values in all "folds"; the best on top."""
        from bayeskit.plots.bars import ComparisonDisplay, FoldDisplay

        by = self.by if by is None else by
        found = {name: self.evaluations[name].measures for name in self.ranking}
        check_measure(by, self.evaluations[self.best])
        if of == "folds":
            return FoldDisplay.from_values({name: m.by_fold(by) for name, m in found.items()}, by).plot(ax)
        if of != "measure":
            raise InputError(f"plot(of={of!r}): choose measure or folds")
        ends = [m.interval(by) for m in found.values()]
        tests = [apart.p for apart in self.differences(by)[1:]]
        note = ["best", *("" if np.isnan(p) else f"p = {p:.2g}" for p in tests)]
        values = [m.value(by) for m in found.values()]
        low, high = [e.low for e in ends], [e.high for e in ends]
        return ComparisonDisplay.from_values(self.ranking, values, low, high, by, note).plot(ax)

    @property
    def _shown(self) -> list[str]:
        """The score compared by, and the usual ones."""
        known = self.evaluations[self.best].measures.names
        return list(dict.fromkeys((self.by, *(name for name in known if SCORES[name].headline))))

    @property
    def baseline(self) -> dict[str, float]:
        """The measures shown, of the answer that looks at no column (``Evaluation.baseline``)."""
        constant = self.evaluations[self.best].baseline
        return {name: constant.value(name) for name in self._shown}

    def _title(self) -> str:
        said = {"holm": "p by Holm", None: "p of each alone"}[self.correction]
        return f"compared by {self.by.replace('_', ' ')}, {self.evaluations[self.best].method}, {said}"

    def _lines(self) -> list[list[str]]:
        names = self._shown
        lines = [["", "model", *(n.replace("_", " ") for n in names), "difference", "95 % from", "to", "p"]]
        for rank, (name, apart) in enumerate(zip(self.ranking, self.differences(), strict=True), 1):
            values = [f"{self.evaluations[name].measures.value(n):.4f}" for n in names]
            tested = (
                [f"{x:.4f}" for x in (apart.value, apart.low, apart.high, apart.p)] if rank > 1 else ["", "", "", ""]
            )
            lines.append([str(rank), name, *values, *tested])
        constant = [f"{value:.4f}" for value in self.baseline.values()]
        return [*lines, ["", "(baseline)", *constant, "", "", "", ""]]


def holm(p: Float, tests: int | None = None) -> Float:
    """p-values so that the chance of any false one below a level is at most that level: (tests,), NaN left out.

    The i-th smallest of m times m - i + 1, at least those before it, at most 1 (Holm, Scand. J. Statistics 6, 1979).
    ``tests`` is m where there are more than are given, those with the least p among them or not.

    >>> holm(np.array([0.01, 0.04, 0.03])).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    out, known = np.full(len(p), np.nan), np.flatnonzero(np.isfinite(p))
    order, m = known[np.argsort(p[known], kind="stable")], len(known) if tests is None else tests
    out[order] = np.minimum(np.maximum.accumulate(p[order] * (m - np.arange(len(order)))), 1.0)
    return out


def check_correction(correction: str | None) -> None:
    """Refuse a correction that is not known."""
    if correction not in ("holm", None):
        raise InputError(f"correction={correction!r}: choose 'holm', or None for p-values of each difference alone")


def check_measure(by: str, evaluation: Evaluation) -> None:
    """Refuse a measure that was not taken."""
    if by not in evaluation.measures.names:
        raise InputError(f"by={by!r}: choose one of {', '.join(evaluation.measures.names)}")


def _test(value: float, error: float, freedom: float, how: str) -> Difference:
    if not error > 0:
        return Difference(value, value, value, 1.0 if value == 0 else 0.0, how)
    half = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error
    return Difference(value, value - half, value + half, float(2 * stdtr(freedom, -abs(value) / error)), how)


def _of_rows(score: ByRow, found: Measures) -> Float:
    """What each row adds to a mean, NaN where it was not tested or does not count: (n,); (0,) where none is kept."""
    kept = found.kept
    if kept is None:
        return np.empty(0)
    judged = kept.rows.counted & (kept.action >= 0)
    out = np.full(len(kept.rows), np.nan)
    rows = PredictedRows(kept.rows.codes, kept.proba, kept.rows.weights, kept.action, found.decision_costs)
    out[judged] = score.of_rows(rows.take(judged))
    return out
