"""Neighbors: the learned rows around rows asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Array, Float, Int
from bayeskit.model.model import Model
from bayeskit.numerics.neighbor_search import NearestPoints
from bayeskit.statistics.rows import Rows


@dataclass(frozen=True)
class Neighbors:
    """All rows no farther than the k-th nearest, nearest first; equal rows of a class are one, with their weight."""

    asked: Int  # (m,) which of the rows asked each one belongs to
    distances: Float  # (m,)
    weights: Float  # (m,)
    labels: Array  # (m,)
    rows: pa.Table  # (m) what they hold
    radius: Float  # (n,) distance of the k-th, NaN where a row has nothing to compare

    @classmethod
    def of(cls, parts: Sequence[NearestPoints], statistic: Rows, model: Model) -> Neighbors:
        start = np.cumsum([0, *(part.rows for part in parts)])
        asked = np.concatenate([part.row + begin for part, begin in zip(parts, start[:-1], strict=True)])
        index = np.concatenate([part.index for part in parts])
        return cls(
            asked,
            np.concatenate([part.distance for part in parts]),
            np.concatenate([part.weight for part in parts]),
            model.classes[statistic.rows.group[index]],
            _table(statistic, index, model),
            np.concatenate([part.radius for part in parts]),
        )

    def __len__(self) -> int:
        """How many rows were asked about."""
        return len(self.radius)

    def __getitem__(self, row: int) -> Neighbors:
        """Those of one row asked."""
        number = range(len(self))[row]
        mine = np.flatnonzero(self.asked == number)
        return Neighbors(
            np.zeros(len(mine), dtype=np.int64),
            self.distances[mine],
            self.weights[mine],
            self.labels[mine],
            self.rows.take(pa.array(mine)),
            self.radius[number : number + 1],
        )


def _table(statistic: Rows, index: Int, model: Model) -> pa.Table:
    """Learned rows with values instead of codes."""
    kept, schema = statistic.rows, statistic.schema
    columns: dict[str, Any] = {}
    for column in schema.columns:
        if column.numeric:
            columns[column.name] = pa.array(kept.numbers[index, schema.numeric_index[column.name]], from_pandas=True)
        elif column.coded:
            values = [*model.counted.domain.levels[column.name].values, None]
            codes = kept.codes[index, schema.coded_index[column.name]]
            columns[column.name] = pa.array([values[c] for c in codes.tolist()])
        else:
            columns[column.name] = pa.nulls(len(index))
    return pa.table(columns)
