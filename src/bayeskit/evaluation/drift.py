"""Drift: whether new rows are still like those a model has learned, from what the model counted."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from numbers import Real

import numpy as np

from bayeskit.arrays import Classifier, Frame, Json, TableLike, WeightsLike
from bayeskit.data.frame import TableRepr, frame, shorten
from bayeskit.decision.shift import PriorShift
from bayeskit.docstrings import document_frame
from bayeskit.errors import InputError, KindError
from bayeskit.evaluation.column_counts import Counts, Known, counts_of, known_columns
from bayeskit.evaluation.new_rows import Accuracy, Evidence, read_new_rows
from bayeskit.evaluation.protocols import ReadsTables
from bayeskit.model.model import Model
from bayeskit.numerics.two_samples import (
    NORMAL,
    holm,
    homogeneity,
    mean_test,
    merge_neighbours,
    merge_rare,
    normal_index,
    proportions,
    spread_test,
    stability_index,
    total_variation,
)
from bayeskit.statistics.margin import margins

MODERATE, LARGE = 0.1, 0.25  # stability indices from which a move is called so, by an old convention
SHOWN = 5  # levels never seen that are named
LINES = 30


@dataclass(frozen=True)
class ColumnDrift:
    """One column, before and after.

    ``size`` is the total variation of levels or cells, or the standardised difference of means; ``psi`` the population
    stability index. ``p`` tests the values and ``missing_p`` the share of missing ones; both adjusted for all tests.
    """

    name: str
    kind: str
    measure: str  # of size: "total variation", "mean difference", or why nothing was compared
    size: float
    psi: float
    p: float
    missing_before: float  # share of the rows
    missing_now: float
    missing_p: float
    unseen: float  # share of the values
    unseen_levels: tuple[str, ...]  # the most frequent of them
    moved: bool = False
    missing_moved: bool = False

    @property
    def strength(self) -> str:
        """In words: "large", "moderate", "small", or nothing where values have not moved."""
        if not self.moved:
            return ""
        return "large" if self.psi >= LARGE else "moderate" if self.psi >= MODERATE else "small"


@dataclass(frozen=True, eq=False, repr=False)
class Drift(TableRepr):
    """What ``drift`` found: columns that moved, levels never seen, missing values, classes and evidence."""

    columns: tuple[ColumnDrift, ...]  # the most moved first
    rows_before: float
    rows_now: float
    level: float
    classes: PriorShift | None  # None against another model
    accuracy: Accuracy | None
    evidence: Evidence | None
    notes: tuple[str, ...] = ()

    _left = 3

    @property
    def moved(self) -> tuple[ColumnDrift, ...]:
        """The columns whose values moved."""
        return tuple(c for c in self.columns if c.moved)

    def __bool__(self) -> bool:
        """Whether any test found a move."""
        return any(c.moved or c.missing_moved for c in self.columns)

    @document_frame
    def frame(self, kind: str = "pyarrow") -> Frame:
        """A line for each column, the most moved first."""
        lines = [
            {**asdict(c), "unseen_levels": ", ".join(c.unseen_levels), "strength": c.strength} for c in self.columns
        ]
        names = list(lines[0]) if lines else ["name"]
        return frame({name: [line[name] for line in lines] for name in names}, kind)

    @property
    def data(self) -> Json:
        """All of it, for machines."""
        classes = self.classes
        return {
            "drift": bool(self),
            "level": self.level,
            "rows_before": self.rows_before,
            "rows_now": self.rows_now,
            "columns": [{**asdict(c), "strength": c.strength} for c in self.columns],
            "classes": None
            if classes is None
            else [
                {"label": label, "before": before, "now": now}
                for label, before, now in zip(classes.classes.tolist(), classes.old, classes.new, strict=True)
            ],
            "accuracy": None if self.accuracy is None else asdict(self.accuracy),
            "evidence": None if self.evidence is None else asdict(self.evidence),
            "notes": list(self.notes),
        }

    @property
    def verdict(self) -> str:
        """In one sentence."""
        count, tested = len(self.moved), sum(not np.isnan(c.p) for c in self.columns)
        moved = sum(c.missing_moved for c in self.columns)
        strange = sum(c.unseen > 0 for c in self.columns)
        said = f"{count} of {tested} columns moved" if count else f"none of {tested} columns moved"
        said += f"; missing values are more or less common in {moved}" if moved else ""
        said += f"; levels never seen in {strange}" if strange else ""
        return f"{said} ({self.rows_now:,.10g} rows against {self.rows_before:,.10g})"

    def _title(self) -> str:
        chance = f"with no drift at all, a column is marked with a chance of at most {self.level:.10g}"
        return f"{self.verdict}\n{chance}\n"

    def _lines(self) -> list[list[str]]:
        head = ["column", "moved", "by", "size", "PSI", "p", "missing before", "now", "p", "unseen"]
        return [head] + [
            [
                shorten(c.name),
                c.strength or ("missing" if c.missing_moved else ""),
                c.measure,
                *(_number(v) for v in (c.size, c.psi)),
                _chance(c.p),
                *(_share(v) for v in (c.missing_before, c.missing_now)),
                _chance(c.missing_p),
                _share(c.unseen),
            ]
            for c in self.columns[:LINES]
        ]

    def __str__(self) -> str:
        parts = [super().__str__()]
        if len(self.columns) > LINES:
            parts[0] += f"\nand {len(self.columns) - LINES} others; frame() has all"
        parts += [f"levels never seen in {c.name}: {', '.join(c.unseen_levels)}" for c in self.columns if c.unseen > 0][
            :LINES
        ]
        if self.classes is not None and self.accuracy is not None:
            a = self.accuracy
            parts.append(
                f"classes, if probabilities are right and only their shares changed\n{self.classes}\n"
                f"right in {a.as_is:.1%} of the rows as it is, in {a.adapted:.1%} with the new prior (adapt_prior)"
            )
        parts += [str(self.evidence)] * (self.evidence is not None)
        return "\n\n".join([*parts, *(f"note: {note}" for note in self.notes)])


def drift(
    model: Classifier,
    new: TableLike | Classifier,
    *,
    sample_weight: WeightsLike = None,
    level: float = 0.05,
    effective_rows: float | None = None,
) -> Drift:
    """Whether new rows, or those of another model, are like the rows a model has learned; no old row is needed.

    A column of levels is compared by Pearson's chi-square over the counts that the model keeps, one of numbers by its
    exact moments (a test of the mean, and one of the spread that makes room for heavy tails), or where the model counts
    cells of numbers by their counts. Missing values are compared by their share. All tests together mark
    something where nothing drifts with a chance of at most ``level`` (Holm). How much a column moved says ``psi``, the
    population stability index. Class shares among the new rows are those of ``adapt_prior``, which takes the model's
    probabilities at their word, so they are not tested.

    Parameters
    ----------
    model : classifier
        A fitted classifier of this library, from ``fit`` or ``load``.
    new : table or classifier
        New rows, labelled or not: a frame, a mapping of columns, records, an array, a path, a relation; or a second
        model of the same columns.
    sample_weight : array of shape (n,) or str, optional
        Weights of the new rows; (Σw)²/Σw² rows of equal weight say as much.
    level : float, default 0.05
        The chance that a column is marked although nothing drifts.
    effective_rows : float, optional
        How many rows of equal weight those of the model are worth, (Σw)²/Σw², where it was fitted with weights, whose
        squares it does not keep; the sum of the weights unless given.

    Returns
    -------
    Drift
        Columns, classes, accuracy and evidence; ``frame()``, ``moved``, ``data``; true where something moved.

    Examples
    --------
    >>> import bayeskit as bk
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> found = bk.drift(bk.NaiveBayes().fit(X, y), X[y == 2])
    >>> bool(found), found.columns[0].name, found.columns[0].strength
    (True, 'petal length (cm)', 'large')
    """
    known_model = _reader(model, "model")
    if isinstance(level, bool) or not isinstance(level, Real) or not 0 < float(level) < 1:
        raise InputError(f"level={level!r}: give a chance between 0 and 1, as 0.05")
    total_weight = known_model.counted.weight
    if effective_rows is not None and not 0 < effective_rows <= total_weight:
        raise InputError(
            f"effective_rows={effective_rows!r}: give a number above 0, and at most the {total_weight:,.10g} rows "
            f"of the model"
        )
    share = 1.0 if effective_rows is None else float(effective_rows) / total_weight
    notes = _notes(known_model, effective_rows)
    other = _reader(new, "new") if isinstance(new, ReadsTables) else None
    if other is not None:
        if sample_weight is not None:
            raise InputError("sample_weight belongs to rows; a second model has the weights it was fitted with")
        known = known_columns(known_model, share, margins(other.features))
        counts = counts_of(other, known)
        shift, accuracy, evidence, rows = None, None, None, other.counted.weight
        notes += ["two models: classes and evidence need rows; spreads of columns without cells are tested as normal"]
        if lacking := sorted(set(known_model.schema.names) ^ set(other.schema.names)):
            notes.append(f"in one model only: {', '.join(lacking[:12])}")
    else:
        known = known_columns(known_model, share)
        found = read_new_rows(model, known_model, new, sample_weight, known)
        counts, shift, accuracy, evidence, rows = found.counts, found.shift, found.accuracy, found.evidence, found.rows
        notes += [*found.notes, *(["classes and evidence come from a random sample of the rows"] * found.sampled)]
    columns = [_compare(one, counts[one.name]) for one in known if one.name in counts]
    if untested := [c.name for c in columns if np.isnan(c.p)]:
        notes.append(f"values not compared: {', '.join(untested[:12])}{', ...' * (len(untested) > 12)}")
    return Drift(
        _adjust(columns, float(level)),
        total_weight * share,
        rows,
        float(level),
        shift,
        accuracy,
        evidence,
        tuple(notes),
    )


def _reader(model: object, argument: str) -> Model:
    reader = model.table_reader() if isinstance(model, ReadsTables) else None
    if reader is None:
        raise KindError(
            f"drift({argument}) is {type(model).__name__}, which keeps no counts; give a fitted classifier of bayeskit"
        )
    return reader


def _notes(model: Model, effective_rows: float | None) -> list[str]:
    if model.schema.weight is None or effective_rows is not None:
        return []
    return ["the model was fitted with weights and counts each as so many rows; if they are none, give effective_rows"]


def _compare(known: Known, new: Counts) -> ColumnDrift:
    """One column, before the tests of all are adjusted."""
    old = known.counts
    measure, size, psi, p = _values(known, new)
    if np.isnan(old.there) or np.isnan(new.there):
        before, now, missing = np.nan, np.nan, np.nan
    else:
        before, now = (max(0.0, 1 - c.there / c.rows) if c.rows > 0 else np.nan for c in (old, new))
        absent = [max(c.rows - c.there, 0.0) for c in (old, new)]
        missing = proportions(absent[0], absent[1], old.rows, new.rows) if sum(absent) > 0 else np.nan
    strange = sorted(new.unseen.items(), key=lambda one: (-one[1], str(one[0])))
    share = sum(new.unseen.values()) / new.there if new.there > 0 else 0.0
    named = tuple(str(label) for label, _ in strange[:SHOWN] if label is not None)
    return ColumnDrift(known.name, known.kind, measure, size, psi, p, before, now, missing, share, named)


def _values(known: Known, new: Counts) -> tuple[str, float, float, float]:
    """How the values of a column differ: the measure of size, size, stability index and probability."""
    old = known.counts
    nothing = np.nan, np.nan, np.nan
    if not known.tested or (known.levels is None and new.cells is None and not new.spreads):
        return "not counted by itself", *nothing
    if not old.there > 0 or not new.there > 0:
        return "no values", *nothing
    if old.levels is not None and new.levels is not None:
        more = np.array(list(new.unseen.values()))
        before, now = np.append(old.levels, np.zeros(len(more))), np.append(new.levels, more)
    elif old.cells is not None and new.cells is not None:
        ordered = bool((old.cells > 0).all())  # else one value, and whether others are below, equal or above
        before, now = merge_neighbours(old.cells, new.cells) if ordered else (old.cells, new.cells)
    else:
        return _moments(old, new)
    few_before, few_now = merge_rare(before, now)
    psi, p = stability_index(few_before, few_now), homogeneity(before, now)
    same = len(few_before) < 2  # one value on both sides
    return "total variation", total_variation(few_before, few_now), psi, 1.0 if same and np.isnan(p) else p


def _moments(old: Counts, new: Counts) -> tuple[str, float, float, float]:
    """By mean and spread of each view; several tests of one column are paid for by their number."""
    tests: list[float] = []
    sizes: list[tuple[float, float]] = []
    for a, b in zip(old.spreads, new.spreads, strict=True):
        if not (a.rows > 0 and b.rows > 0) or np.isnan(b.mean):
            continue
        shift, rows, variances = b.mean - a.mean, (a.rows, b.rows), (a.deviation**2, b.deviation**2)
        fourth = variances[1] ** 2 * (NORMAL if np.isnan(b.kurtosis) else b.kurtosis)
        tests += [mean_test(shift, variances, rows, b.skewness), spread_test(variances, rows, fourth, a.reach)]
        both = np.sqrt((variances[0] + variances[1]) / 2)
        ratio = b.deviation / a.deviation if a.deviation > 0 else np.nan
        sizes.append((shift / both, normal_index(shift, max(ratio, 1e-3))))
    held = [p for p in tests if not np.isnan(p)]
    if not held:
        return "too few values", np.nan, np.nan, np.nan
    size, psi = max(sizes, key=lambda one: one[1])
    return "mean difference", size, psi, min(1.0, len(held) * min(held))


def _adjust(columns: list[ColumnDrift], level: float) -> tuple[ColumnDrift, ...]:
    """All tests adjusted together, the most moved columns first."""
    n = len(columns)
    adjusted = holm(np.array([c.p for c in columns] + [c.missing_p for c in columns]))
    judged = [
        replace(c, p=float(p), missing_p=float(m), moved=bool(p <= level), missing_moved=bool(m <= level))
        for c, p, m in zip(columns, adjusted[:n], adjusted[n:], strict=True)
    ]
    order = sorted(
        range(n),
        key=lambda j: (not judged[j].moved, not judged[j].missing_moved, -np.nan_to_num(judged[j].psi, nan=-1.0), j),
    )
    return tuple(judged[j] for j in order)


def _number(x: float) -> str:
    return "–" if np.isnan(x) else f"{x:.3f}"


def _share(x: float) -> str:
    return "–" if np.isnan(x) else f"{x:.1%}"


def _chance(p: float) -> str:
    return "–" if np.isnan(p) else "< 0.0001" if p < 1e-4 else f"{p:.4f}"
