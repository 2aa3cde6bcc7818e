"""Calibration error in cells of equal mass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayeskit.arrays import Float
from bayeskit.evaluation.score import Score
from bayeskit.numerics.rates import gap

if TYPE_CHECKING:
    from bayeskit.evaluation.measures import Measures


class MassECE(Score):
    """As ``ece``, with 15 cells that hold about the same weight of rows."""

    name = "ece_mass"
    title = "Calibration error, equal mass"
    meaning = "calibration error in cells of equal mass; less is better"
    topic = "calibration"
    larger_is_better = False
    no_interval = "no valid interval; see ece_l2"

    def of_cells(self, table: Float) -> float:
        """Of the reliability of one set of cells: (FIELDS, BINS)."""
        return gap(table)

    def value(self, found: Measures) -> float:
        return float(np.mean([self.of_cells(table) for table in found.mass_tables]))

    def by_fold(self, found: Measures) -> Float:
        return np.array([self.of_cells(table) for table in found.fold_mass_tables])
