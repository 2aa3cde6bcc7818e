"""Groups: every measure by group of rows, with intervals, tests of differences, and measures of fairness."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from bayeskit.arrays import Array, Bool, Frame, Json, Label
from bayeskit.data.frame import TableRepr, frame
from bayeskit.docstrings import document_frame_like_x
from bayeskit.errors import InputError
from bayeskit.evaluation.comparison import Difference, holm
from bayeskit.evaluation.confusion import Confusion
from bayeskit.evaluation.fairness import FairnessMeasure, fairness
from bayeskit.evaluation.grouping import Grouping
from bayeskit.evaluation.intervals import corrected_error, no_interval
from bayeskit.evaluation.measures import Measures
from bayeskit.evaluation.out_of_fold import OutOfFold, Repeat
from bayeskit.evaluation.score import PredictedRows, TableScore
from bayeskit.evaluation.score_sums import ScoreSums
from bayeskit.evaluation.scores import SCORES
from bayeskit.model.labelled_table import Rows
from bayeskit.numerics.rates import LEVEL, Interval

Z = float(ndtri((1 + LEVEL) / 2))
FEW = 20  # rows of a group below which losses may hide their tail, so that means have no interval and nothing a test


def measures_of(found: Measures, mask: Bool) -> Measures:
    """The measures of some of the rows, predicted as they were; rows must have been kept."""
    assert found.kept is not None
    rows, costs = found.kept.rows, found.decision_costs
    groups = None if rows.groups is None else rows.groups[mask]
    mine = Rows(rows.codes[mask], rows.weights[mask], rows.classes, groups)
    repeats, parts = [], []
    for trial in found.kept.repeats:
        action = None if trial.action is None else trial.action[mask]
        logs = None if trial.logs is None else trial.logs[mask]
        one = Repeat(trial.proba[mask], trial.fold[mask], action, logs)
        predicted = PredictedRows(mine.codes, one.proba, mine.weights, action, costs)
        parts.append(ScoreSums.of(predicted, one.fold, int(trial.fold.max()) + 1))
        repeats.append(one)
    return replace(found, sums=reduce(ScoreSums.beside, parts), kept=OutOfFold(mine, tuple(repeats)))


def difference(name: str, mine: Measures, rest: Measures) -> Difference:
    """A measure of some rows less that of others, which have no row in common.

    The interval is by MOVER from those of the two (Zou and Donner, Statistics in Medicine 27, 2008): of a proportion
    that is Newcombe's tenth method. p is two-sided, of the error that the interval takes on the side of zero, so it is
    below 0.05 where the interval leaves zero out. Where rows come in groups the folds are compared, by the corrected t.
    """
    a, b = mine.value(name), rest.value(name)
    value = a - b
    if mine.grouped:
        return _by_folds(name, value, mine, rest)
    if SCORES[name].chance_adds:
        return Difference(value, np.nan, np.nan, np.nan, "no test: chance adds more to the smaller group")
    one, other = group_interval(name, mine), group_interval(name, rest)
    if min(_rows(mine), _rows(rest)) < FEW:
        return Difference(value, np.nan, np.nan, np.nan, f"no test: fewer than {FEW} rows")
    if not np.isfinite([value, one.low, one.high, other.low, other.high]).all():
        why = one.how if not np.isfinite(one.low) else other.how
        return Difference(value, np.nan, np.nan, np.nan, f"no test: {why}")
    down, up = np.hypot(a - one.low, other.high - b), np.hypot(one.high - a, b - other.low)
    toward = float(down if value > 0 else up)
    p = 1.0 if value == 0 else float(2 * ndtr(-abs(value) * Z / toward)) if toward > 0 else 0.0
    return Difference(value, value - float(down), value + float(up), p, "MOVER")


def group_interval(name: str, mine: Measures) -> Interval:
    """Where a measure of a group lies; means of losses of few rows have none, those of proportions Wilson's."""
    if not _rows(mine) > 0:
        return no_interval("no rows")
    if _rows(mine) < FEW and not isinstance(SCORES[name], TableScore):
        return no_interval(f"fewer than {FEW} rows")
    return mine.interval(name)


def _rows(mine: Measures) -> float:
    return float(mine.total.rows[0])


def _by_folds(name: str, value: float, mine: Measures, rest: Measures) -> Difference:
    each = mine.by_fold(name) - rest.by_fold(name)
    each = each[np.isfinite(each)]
    if len(each) < 2 or not mine.ratio > 0:
        return Difference(value, np.nan, np.nan, np.nan, "no test: rows come in groups")
    error = corrected_error(each, mine.ratio)
    half = float(stdtrit(len(each) - 1, (1 + LEVEL) / 2)) * error
    p = float(2 * stdtr(len(each) - 1, -abs(value) / error)) if error > 0 else float(value == 0)
    return Difference(value, value - half, value + half, p, "folds, corrected t")


@dataclass(frozen=True, eq=False, repr=False)
class Groups(TableRepr):
    """An evaluation by group: each group against all other rows.

    p-values of one measure are Holm's over the groups of one column (two groups are one test).
    """

    measures: Measures
    classes: Array  # (K,)
    groupings: tuple[Grouping, ...]
    others: tuple[Label, ...] = ()  # actions that are no class
    kind: str = "pyarrow"

    _left = 2

    @classmethod
    def of(
        cls, measures: object, classes: Array, by: tuple[Grouping, ...], others: tuple[Label, ...], kind: str
    ) -> Groups:
        if not isinstance(measures, Measures) or measures.kept is None:
            raise InputError(
                "groups are judged by predictions of rows that were kept, one for each row: cross-validate in memory"
            )
        return cls(measures, classes, by, others, kind)

    @property
    def names(self) -> tuple[str, ...]:
        """What rows are grouped by."""
        return tuple(grouping.name for grouping in self.groupings)

    def __getitem__(self, name: str) -> dict[str, Measures]:
        """The measures of each group of a column."""
        return {group: mine for group, (mine, _) in self._parts[self._check_name(name)].items()}

    def confusion(self, name: str, group: str) -> Confusion:
        """The confusion of one group.

        Parameters
        ----------
        name : str
            What rows are grouped by.
        group : str
            Which group.
        """
        found = self[name]
        if group not in found:
            raise InputError(f"{name!r} has no group {group!r} (there are: {', '.join(found)})")
        return self._confusion(found[group])

    def differences(self, name: str, measure: str) -> dict[str, Difference]:
        """Of each group to all other rows, p after Holm.

        Parameters
        ----------
        name : str
            What rows are grouped by.
        measure : str
            Name of a measure.
        """
        parts = self._parts[self._check_name(name)]
        found = {group: difference(measure, mine, rest) for group, (mine, rest) in parts.items()}
        if len(found) < 3:  # both are the same test
            return found
        p = holm(np.array([d.p for d in found.values()]))
        how = f"; Holm over {int(np.isfinite(p).sum())}"
        return {g: replace(d, p=float(q), how=d.how + how) for (g, d), q in zip(found.items(), p, strict=True)}

    def fairness(
        self, name: str | None = None, label: Label | None = None, least: float = 0
    ) -> tuple[FairnessMeasure, ...]:
        """How far rates of one class are apart over the groups: each measure with its definition and a test.

        Parameters
        ----------
        name : str, optional
            What rows are grouped by; the first unless given.
        label : class, optional
            The class whose prediction is at issue; the second of two unless given.
        least : float, default 0
            Rows a group must have to count: rates of small groups are far apart by chance.
        """
        labels = self.classes.tolist()
        if label is None and len(labels) > 2:
            raise InputError(f"name the class at issue: label=, one of {', '.join(map(str, labels[:20]))}")
        label = labels[-1] if label is None else label
        if label not in labels:
            raise InputError(f"label {label!r} is not a class ({', '.join(map(str, labels[:20]))})")
        parts = self[self.names[0] if name is None else name]
        tables = {group: self._confusion(mine) for group, mine in parts.items() if _rows(mine) >= least}
        return fairness(tables, labels.index(label)) if tables else ()

    @document_frame_like_x
    def frame(self, kind: str | None = None, of: str = "measures", label: Label | None = None) -> Frame:
        """A table of one kind of frame: "measures" of every group, or "fairness" of a class.

        Parameters
        ----------
        of : {"measures", "fairness"}
            What to show.
        label : class, optional
            The class whose fairness is shown; the second of two unless given.
        """
        tables: Mapping[str, Callable[[], Json]] = {
            "measures": self._measures,
            "fairness": lambda: self._fairness(label),
        }
        if of not in tables:
            raise InputError(f"frame(of={of!r}): choose one of {', '.join(tables)}")
        return frame(tables[of](), kind or self.kind)

    def _measures(self) -> Json:
        rows: list[Json] = []
        for name, parts in self._parts.items():
            for measure in self.measures.names:
                apart = self.differences(name, measure)
                for group, (mine, rest) in parts.items():
                    ends, d = group_interval(measure, mine), apart[group]
                    weight = float(mine.total.weight[0])
                    rows.append({
                        "by": name, "group": group, "weight": weight, "measure": measure,
                        "value": mine.value(measure), "low": ends.low, "high": ends.high, "interval": ends.how,
                        "rest": rest.value(measure), "difference": d.value, "difference_low": d.low,
                        "difference_high": d.high, "p": d.p, "test": d.how,
                    })  # fmt: skip
        return {key: [row[key] for row in rows] for key in rows[0]}

    def _fairness(self, label: Label | None) -> Json:
        found = [(name, measure) for name in self.names for measure in self.fairness(name, label)]
        return {
            "by": [name for name, _ in found],
            "measure": [m.name for _, m in found],
            "value": [m.value for _, m in found],
            "p": [m.p for _, m in found],
            "lowest": [m.lowest for _, m in found],
            "highest": [m.highest for _, m in found],
            "meaning": [m.meaning for _, m in found],
        }

    @cached_property
    def _parts(self) -> dict[str, dict[str, tuple[Measures, Measures]]]:
        """By grouping and group the measures of its rows and of all others; groups without rows are left out."""
        found: dict[str, dict[str, tuple[Measures, Measures]]] = {}
        for grouping in self.groupings:
            each = {}
            for code, group in enumerate(grouping.groups):
                mine = measures_of(self.measures, grouping.codes == code)
                rest = measures_of(self.measures, grouping.codes != code)
                if mine.total.weight[0] > 0:
                    each[group] = mine, rest
            found[grouping.name] = each
        return found

    def _confusion(self, mine: Measures) -> Confusion:
        more = len(self.classes) + len(self.others) - mine.confusion.shape[1]
        counts, squared = (np.pad(table, ((0, 0), (0, max(more, 0)))) for table in (mine.confusion, mine.squared))
        return Confusion(counts, self.classes, self.kind, self.others, squared)

    def _check_name(self, name: str) -> str:
        if name not in self.names:
            raise InputError(f"rows are not grouped by {name!r} (they are by {', '.join(self.names)})")
        return name

    def _title(self) -> str:
        return "each group against all other rows; p by Holm over the groups"

    def _lines(self) -> list[list[str]]:
        headline = [name for name in self.measures.names if SCORES[name].headline]
        lines = [["by", "group", "rows", *(name.replace("_", " ") for name in headline)]]
        for name, parts in self._parts.items():
            apart = {measure: self.differences(name, measure) for measure in headline}
            for group, (mine, _) in parts.items():
                cells = [f"{mine.value(m):.4f}{'*' if apart[m][group].p < 1 - LEVEL else ' '}" for m in headline]
                lines.append([name, group, f"{mine.total.weight[0]:.10g}", *cells])
        return [*lines, ["", "* p < 0.05", *[""] * (1 + len(headline))]]
