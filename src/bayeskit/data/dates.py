"""Dates of a table in memory as features."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import pyarrow as pa

from bayeskit.arrays import Frame, TableLike
from bayeskit.data.frame import convert_frame, kind_of
from bayeskit.data.source import source
from bayeskit.engines.dates import check_parts, date_parts, day_of
from bayeskit.engines.engine import is_outside
from bayeskit.errors import InputError


def date_features(
    X: TableLike, parts: Sequence[str] = ("year", "month", "weekday"), today: str | date | None = None
) -> Frame:
    """A table whose dates are turned into columns that a model can count, such as ``visit.year``.

    The year is a number, month and weekday are levels, of which all are known, and the age is the number of years until
    ``today``. Do the same to the rows to predict. Files are read so by ``--dates``.

    Parameters
    ----------
    X : table
        A frame, an Arrow table, a mapping of columns or records.
    parts : sequence of {"year", "month", "weekday", "age"}
        What to make of each date.
    today : str or date, optional
        The day at which ages are taken; that of the clock unless given.

    Returns
    -------
    frame
        Of the kind X is.

    Examples
    --------
    >>> from datetime import date
    >>> import bayeskit as bk
    >>> bk.date_features({"visit": [date(2024, 2, 29)], "pulse": [71]}).to_pylist()
    [{'visit.year': 2024, 'visit.month': 'Feb', 'visit.weekday': 'Thu', 'pulse': 71}]
    """
    if is_outside(X):
        raise InputError(
            "date_features() takes rows in memory; the dates of a file are read by Reading(path, dates=...)"
        )
    rows = source(X).rows
    if not isinstance(rows, pa.Table):
        raise InputError("a matrix has no dates; give a frame, an Arrow table or a mapping of columns")
    day = today if isinstance(today, date) else day_of(today or "")
    return convert_frame(date_parts(rows, check_parts([parts] if isinstance(parts, str) else parts), day), kind_of(X))
