"""Prune: a model without small cells, for who may share counts of many rows alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bayeskit.arrays import Bool, Float
from bayeskit.data.encode import IngestReport
from bayeskit.errors import InputError, warn
from bayeskit.model.journal import Entry
from bayeskit.model.model import Model
from bayeskit.statistics.bins import Bins
from bayeskit.statistics.counted import Counted
from bayeskit.statistics.cuts import Cuts
from bayeskit.statistics.moments import Moments
from bayeskit.statistics.ranges import Ranges
from bayeskit.statistics.statistic import Product
from bayeskit.statistics.tables import Tables

SHOWN = 5  # columns that a warning names


def prune_model(model: Model, min_count: float, name: str) -> Model:
    """The model without cells of less weight, or of so much less than their class that the rest of it shows them.

    A class below ``min_count`` falls whole. In the others, with W the weight of the class:

    - of the levels, or intervals, of a column those below fall; then W less what is kept is what fell and what is
      missing, and while that lies between 0 and ``min_count`` the least of the others falls too;
    - the sums of a column of numbers fall where the weight of its values, or W less it, is below and not 0, and in a
      column of two neighbouring whole numbers, whose sum is a count, where that of one of them is.

    What shows single rows falls everywhere: least and greatest values, decimals, what was read, the journal.
    """
    if isinstance(min_count, bool) or not isinstance(min_count, int | float) or not 1 < min_count < np.inf:
        raise InputError(f"min_count={min_count!r}: give a number above 1, the least weight that a cell may have")
    if model.weighting is not None:
        raise InputError("weights fitted to single rows are no counts, and cannot be pruned; use weights=None")
    rows = model.weights
    there = rows >= min_count
    if not there.any():
        raise InputError(f"no class has a weight of {min_count:g} (the largest has {rows.max():g}), so nothing is left")
    weights = np.where(there, rows, 0.0)
    owners: dict[str, Any] = {}
    parts: dict[Any, Any] = {}
    lost: list[str] = []
    for family, part in model.features.parts.items():
        if not isinstance(part, Tables | Moments | Cuts | Bins) or (isinstance(part, Tables) and _joined(part)):
            raise InputError(_refusal(name, f"of {family}" if name == "NaiveBayes" else ""))
        for column, _ in part.column_weights():
            if owners.setdefault(column, family) != family:
                raise InputError(_refusal(name, f"of column {column!r}, which is counted in two ways"))
        parts[family], gone = _prune(part, weights, min_count, model.counted)
        lost += gone
    counted, whole = model.counted, model.counted.statistic
    classes = whole.part("classes", Tables)
    statistic = Product(
        {"classes": replace(classes, cells=classes.cells.keep(there[:, None])), "features": Product(parts, len(rows))},
        whole.groups,
    )
    ranges = Ranges.unknown(len(model.schema.numeric))
    pruned = replace(counted, statistic=statistic, ranges=ranges, ingest=IngestReport()).canonical()
    _tell(model.classes[~there & (rows > 0)].tolist(), lost, min_count)
    return replace(model, counted=pruned, journal=(Entry.now("prune", pruned.weight),))


def _joined(tables: Tables) -> bool:
    return any(len(columns) != 1 for columns in tables.tables)


def _refusal(name: str, of: str) -> str:
    return (
        f"{name} keeps more than counts and sums of single columns {of}".rstrip() + ", from which small cells could be "
        "found by subtracting others, so it cannot be pruned; NaiveBayes can, but for the families of words "
        "(Multinomial, Complement, Bernoulli)"
    )


def _prune(part: Any, rows: Float, least: float, counted: Counted) -> tuple[Any, list[str]]:
    """A statistic without small cells, and the columns that lost sums."""
    if isinstance(part, Moments):
        small = _small_sums(part, rows, least, counted)
        lost = [name for j, name in enumerate(part.columns) if small[rows > 0, j].any()]
        present, first, second = (sums.keep(~small) for sums in part.sums)
        return replace(part, present=present, first=first, second=second), lost
    if isinstance(part, Cuts):
        flat = part.cells.to_float()
        kept = np.stack([_kept(flat[:, j], rows, least) for j in range(flat.shape[1])], axis=1)
        return replace(part, cells=part.cells.keep(kept)), []
    offset = part.layout.offset if isinstance(part, Tables) else part.offset
    flat = part.cells.to_float()
    spans = [slice(a, b) for a, b in zip(offset[:-1].tolist(), offset[1:].tolist(), strict=True)]
    kept = np.concatenate([np.ones((len(rows), 0), bool), *(_kept(flat[:, s], rows, least) for s in spans)], axis=1)
    pruned = replace(part, cells=part.cells.keep(kept))
    every = np.arange(len(rows), dtype=np.int64)
    return pruned.place(every, len(rows), {}), []  # intervals without weight go


def _kept(cells: Float, rows: Float, least: float) -> Bool:
    """Which cells (G, n) of a column stay, where its classes have so much weight: (G,)."""
    order = np.argsort(cells, axis=1, kind="stable")
    ascending = np.take_along_axis(cells, order, axis=1)
    n = cells.shape[1]
    fallen = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(ascending, axis=1)], axis=1)  # of the k least
    rest = rows[:, None] - fallen[:, -1:] + fallen  # what is not kept, if these fall
    small = (cells < least).sum(axis=1)[:, None]
    able = (np.arange(n + 1) >= small) & ((rest <= 0) | (rest >= least))
    able[:, n] = True
    many = np.argmax(able, axis=1)
    kept = np.zeros(cells.shape, dtype=bool)
    np.put_along_axis(kept, order, np.arange(n) >= many[:, None], axis=1)
    return kept & (rows > 0)[:, None]


def _small_sums(part: Moments, rows: Float, least: float, counted: Counted) -> Bool:
    """Which sums (G, d) fall."""
    present = part.present.to_float()

    def between(weight: Float) -> Bool:
        return (weight > 0) & (weight < least)

    small: Bool = (rows[:, None] == 0) | between(present) | between(rows[:, None] - present)
    for j, name in enumerate(part.columns):
        low, high = counted.seen(name)
        if counted.decimals(name) == 0 and high - low == 1 and part.view.function == "x":
            upper = part.first.to_float()[:, j] - low * present[:, j]
            small[:, j] |= between(upper) | between(present[:, j] - upper)
    return small


def _tell(classes: list[Any], columns: list[str], least: float) -> None:
    for what, names in (("class", classes), ("the sums, in some class, of column", columns)):
        if names:
            more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
            warn(f"below min_count={least:g} and gone: {what} {', '.join(map(repr, names[:SHOWN]))}{more}")
