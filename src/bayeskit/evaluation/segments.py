"""Segments: groups of rows, by one column or two, that a model predicts worse than the other rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np
from scipy.special import ndtr, stdtr
from scipy.stats import hypergeom

from bayeskit.arrays import Float, Frame, Int
from bayeskit.data.frame import TableRepr, frame, shorten
from bayeskit.docstrings import document_frame_like_x
from bayeskit.errors import InputError
from bayeskit.evaluation.comparison import holm
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.evaluation.grouping import Grouping, columns_of
from bayeskit.evaluation.measures import Measures
from bayeskit.evaluation.score import ByRow, PredictedRows
from bayeskit.evaluation.scores import SCORES
from bayeskit.model.labelled_table import LabelledTable
from bayeskit.numerics.rates import effective, ratio

LEAST = 20  # rows of a segment
PAIRED = 20  # columns that are joined in twos
LEVELS = 12  # groups of a column


@dataclass(frozen=True)
class Segment:
    """Rows with these values: how they are predicted, and how the others are."""

    where: tuple[tuple[str, str], ...]  # columns and groups
    rows: int
    value: float
    rest: float  # of all other rows
    p: float  # after correction for all segments there are

    def __str__(self) -> str:
        return " and ".join(f"{column} = {group}" for column, group in self.where)


@dataclass(frozen=True, eq=False, repr=False)
class Segments(TableRepr):
    """The segments in which a measure is worse than elsewhere beyond chance, the worst first.

    The rows of a segment are tested against all others, one-sided: by Fisher's exact test where a row is right or
    wrong, else by Welch's t. A segment of two columns must be worse than the rest of either of its two columns' groups
    too, so that it says more than they do. p is Holm's over all segments of enough rows, tested or not.
    """

    measure: str
    found: tuple[Segment, ...]
    tested: int  # segments there are, for which p is corrected
    compared: int  # of these; pairs of columns whose groups hardly differ are not looked at
    least: int  # rows
    kind: str = "pyarrow"

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, place: int) -> Segment:
        return self.found[place]

    @document_frame_like_x
    def frame(self, kind: str | None = None) -> Frame:
        """A line for each segment."""
        columns: dict[str, Any] = {
            "segment": [str(s) for s in self.found],
            "rows": [s.rows for s in self.found],
            self.measure: [s.value for s in self.found],
            "rest": [s.rest for s in self.found],
            "p": [s.p for s in self.found],
        }
        return frame(columns, kind or self.kind)

    def _title(self) -> str:
        many = f"{self.tested:,} segments of at least {self.least} rows"
        if not self.found:
            return f"no segment has a worse {self.measure.replace('_', ' ')} than chance explains ({many})"
        return f"worst {self.measure.replace('_', ' ')} of {many}; p by Holm"

    def _lines(self) -> list[list[str]]:
        lines = [["segment", "rows", self.measure.replace("_", " "), "other rows", "p"]]
        for s in self.found:
            lines.append([shorten(s, 60), f"{s.rows:,}", f"{s.value:.4f}", f"{s.rest:.4f}", f"{s.p:.2g}"])
        return lines


def worst_segments(
    evaluation: Evaluation,
    measure: str = "error_rate",
    *,
    columns: Sequence[str] | None = None,
    least: int | None = None,
    most: int = 10,
    overlap: float = 1.0,
) -> Segments:
    """As ``Evaluation.worst_segments`` says.

    All columns are looked at one by one, in twos the 20 whose groups differ most; the correction for many comparisons
    counts all pairs of columns.

    >>> import bayeskit as bk
    >>> rng = np.random.default_rng(0)
    >>> y, north = rng.integers(0, 2, 600), rng.random(600) < 0.3
    >>> table = {"x": np.where(north, rng.normal(size=600), y + 0.3 * rng.normal(size=600)), "north": north}
    >>> str(worst_segments(bk.evaluate(bk.NaiveBayes(), table, y))[0])
    'north = True'
    """
    score, measures, X = SCORES.get(measure), evaluation.measures, evaluation.X
    if not isinstance(measures, Measures) or measures.kept is None or X is None:
        raise InputError("segments are found among rows that were kept: cross-validate in memory")
    if measure not in measures.names or not isinstance(score, ByRow):
        known = [name for name in measures.names if isinstance(SCORES[name], ByRow)]
        raise InputError(f"measure={measure!r}: choose one that is a mean over rows ({', '.join(known)})")
    kept = measures.kept
    models = evaluation.fold_models
    sample = LabelledTable.of(X, evaluation.y) if models is None else models.sample
    judged = kept.rows.counted & (kept.action >= 0)
    rows = PredictedRows(kept.rows.codes, kept.proba, kept.rows.weights, kept.action, measures.decision_costs)
    sign = -1.0 if SCORES[measure].larger_is_better else 1.0
    loss = sign * score.of_rows(rows.take(judged))
    weights = kept.rows.weights[judged]
    least = max(LEAST, -(-int(judged.sum()) // 100)) if least is None else least
    given = dict(columns_of(sample))
    if not 0 <= overlap <= 1:
        raise InputError(f"overlap={overlap!r}: give a share of rows, from 0 to 1")
    if columns is not None and (lost := [name for name in columns if name not in given]):
        raise InputError(f"columns: {lost[0]!r} is no column of the rows evaluated")
    by = [Grouping.of(name, given[name].filter(judged), LEVELS) for name in (given if columns is None else columns)]
    search = Search([g for g in by if len(g.groups) > 1], loss, weights, least)
    found, tested = search.run()
    worst = sorted((s for s in found if s.p < 0.05), key=lambda s: s.rest - s.value)
    chosen = list(islice(search.leave_out_overlaps(worst, overlap), most))
    reported = tuple(Segment(s.where, s.rows, sign * s.value, sign * s.rest, s.p) for s in chosen)
    return Segments(measure, reported, tested, len(found), least, evaluation.kind)


@dataclass(frozen=True)
class Search:
    """All cells of groupings, and of pairs of them, against the rest."""

    groupings: Sequence[Grouping]
    loss: Float  # (n,) more is worse
    weights: Float  # (n,)
    least: int

    def run(self) -> tuple[list[Segment], int]:
        """Segments of enough rows with Holm's p, and how many there are."""
        singles = [self._cells(g.codes, len(g.groups)) for g in self.groupings]
        total = self._cells(np.zeros(len(self.loss), dtype=np.int64), 1)
        found = [self._single(g, cells, total) for g, cells in zip(self.groupings, singles, strict=True)]
        apart = [float(np.nan_to_num(_gain(cells, total))) for cells in singles]
        order = np.argsort(-np.array(apart), kind="stable")[:PAIRED].tolist()
        for i, j in combinations(sorted(order), 2):
            found.append(self._pair(i, j, singles, total))
        every = [s for segments in found for s in segments]
        counts = [len(g.groups) for g in self.groupings]
        untested = sum(a * b for a, b in combinations(counts, 2)) - sum(
            counts[i] * counts[j] for i, j in combinations(order, 2)
        )
        tests = len(every) + untested
        p = holm(np.array([s.p for s in every]), tests)
        return [Segment(s.where, s.rows, s.value, s.rest, float(q)) for s, q in zip(every, p, strict=True)], tests

    def leave_out_overlaps(self, segments: Sequence[Segment], overlap: float) -> Iterator[Segment]:
        """Those of which at most this share of the rows is in the ones before."""
        listed = np.zeros(len(self.loss), dtype=bool)
        by_name = {g.name: g for g in self.groupings}
        for segment in segments:
            inside = np.ones(len(self.loss), dtype=bool)
            for name, group in segment.where:
                inside &= by_name[name].codes == list(by_name[name].groups).index(group)
            if listed[inside].mean() <= overlap:
                listed |= inside
                yield segment

    def _cells(self, codes: Int, groups: int) -> Float:
        """Rows, weight, squared weight, and weight times loss and its square: (5, groups)."""
        w, x = self.weights, self.loss
        return np.array(
            [np.bincount(codes, v, minlength=groups) for v in (np.ones(len(x)), w, w * w, w * x, w * x * x)]
        )

    def _single(self, grouping: Grouping, cells: Float, total: Float) -> Iterator[Segment]:
        p = self._worse(cells, total)
        mean, rest = _mean(cells), _mean(total - cells)
        enough = (cells[0] >= self.least) & (total[0] - cells[0] >= self.least)
        for g in np.flatnonzero(enough).tolist():
            where = ((grouping.name, grouping.groups[g]),)
            yield Segment(where, int(cells[0, g]), float(mean[g]), float(rest[g]), float(p[g]))

    def _pair(self, i: int, j: int, singles: list[Float], total: Float) -> Iterator[Segment]:
        a, b = self.groupings[i], self.groupings[j]
        wide = len(b.groups)
        cells = self._cells(a.codes * wide + b.codes, len(a.groups) * wide)
        enough = (cells[0] >= self.least) & (total[0] - cells[0] >= self.least)
        p = self._worse(cells, total)
        g, h = np.divmod(np.arange(cells.shape[1]), wide)
        for parent in (singles[i][:, g], singles[j][:, h]):
            p = np.maximum(p, self._worse(cells, parent))
        mean, rest = _mean(cells), _mean(total - cells)
        for cell in np.flatnonzero(enough).tolist():
            where = ((a.name, a.groups[g[cell]]), (b.name, b.groups[h[cell]]))
            yield Segment(where, int(cells[0, cell]), float(mean[cell]), float(rest[cell]), float(p[cell]))

    def _worse(self, cells: Float, total: Float) -> Float:
        """One-sided p of a larger mean loss in the cells than in the rest of the whole: (groups,)."""
        rest = total - cells
        if np.isin(self.loss, (0.0, 1.0)).all():
            if (self.weights == 1).all():
                rows, bad = cells[0], cells[3]
                return np.asarray(hypergeom.sf(bad - 1, total[0], total[3], rows), dtype=np.float64)
            n, m, pooled = effective(cells[1], cells[2]), effective(rest[1], rest[2]), _mean(total)
            with np.errstate(divide="ignore", invalid="ignore"):
                z = (_mean(cells) - _mean(rest)) / np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
            return np.nan_to_num(np.asarray(ndtr(-z), dtype=np.float64), nan=1.0)
        (v, n), (u, m) = _error(cells), _error(rest)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (_mean(cells) - _mean(rest)) / np.sqrt(v + u)
            freedom = (v + u) ** 2 / (v**2 / (n - 1) + u**2 / (m - 1))
            return np.nan_to_num(np.asarray(stdtr(freedom, -t), dtype=np.float64), nan=1.0)


def _mean(cells: Float) -> Float:
    return ratio(cells[3], cells[1])


def _error(cells: Float) -> tuple[Float, Float]:
    """Squared standard error of the mean, and rows of equal weight that say as much: (groups,) each."""
    n = effective(cells[1], cells[2])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.maximum(ratio(cells[4], cells[1]) - _mean(cells) ** 2, 0.0) / (n - 1), n


def _gain(cells: Float, total: Float) -> float:
    """How far the means of groups are apart: Σ w (mean - mean of all)²."""
    return float(np.nansum(cells[1] * (_mean(cells) - _mean(total)) ** 2))
