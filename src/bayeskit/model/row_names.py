"""Row names: columns that name or count the rows, which say nothing of new ones."""

from __future__ import annotations

import numpy as np

from bayeskit.errors import warn
from bayeskit.model.model import Model
from bayeskit.statistics.margin import Margin, margins, summarise

FEW = 20  # rows up to which a column may have another value in each by chance
ALIKE = 1e-3  # of the number of rows: how far from those of a counter mean and deviation may lie (cells have a width)
LEAVE_OUT = "leave it out (frame.drop; of a file, bk.Reading(path, ignore=[...]) or --ignore)"


def warn_of_identifiers(model: Model) -> None:
    """Tell of columns that name or count the rows: new rows have other names, and other numbers."""
    rows, levels = float(model.weights.sum()), model.counted.domain.levels
    for name in model.schema.coded:
        if not are_names(len(levels[name]), rows):
            continue
        column = model.schema[name]
        if column.kind == "nominal" and not column.declared:
            warn(
                f"column {name!r} has another text in nearly every row, so it says next to nothing of new "
                f"ones: {LEAVE_OUT}, or learn its words, "
                f"make_pipeline(CountVectorizer(), NaiveBayes(families='Multinomial'))"
            )
    for name in _counters(model, rows) if model.schema.named and rows > FEW else ():
        first = model.counted.seen(name)[0]
        warn(
            f"column {name!r} counts the rows ({first:,.0f}, {first + 1:,.0f}, ...): it says where a row stands in "
            f"this table, and nothing of new ones; {LEAVE_OUT}"
        )


def _counters(model: Model, rows: float) -> list[str]:
    """Columns whose values are 0 to n - 1 or 1 to n, once each, as their ends, mean and deviation say."""
    ends = {name: model.counted.seen(name) for name in model.schema.numeric}
    able = [name for name, (low, high) in ends.items() if low in (0, 1) and high - low == rows - 1]
    found = margins(model.features) if able else {}
    wanted = np.sqrt((rows - 1) * (rows + 1) / 12)

    def counts(name: str) -> bool:
        margin = found.get(name, Margin())
        of_cells = None if margin.cells is None else summarise(margin.cells)
        sums = [s for s in (*margin.sums, of_cells) if s is not None and s.view.function == "x" and s.weight == rows]
        return any(abs(s.mean - sum(ends[name]) / 2) + abs(s.deviation - wanted) < ALIKE * rows for s in sums)

    return [name for name in able if model.counted.decimals(name) == 0 and counts(name)]


def are_names(different: int, rows: float) -> bool:
    """Whether so many different values are like names: nearly every row has one of its own."""
    return rows > FEW and different > 0.9 * rows
