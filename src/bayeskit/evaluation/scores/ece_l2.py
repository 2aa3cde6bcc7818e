"""Root mean squared calibration error, without what chance adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayeskit.arrays import Float
from bayeskit.evaluation.recalibration import debiased_square, square_interval
from bayeskit.evaluation.score import unless_grouped
from bayeskit.evaluation.scores.ece_mass import MassECE
from bayeskit.numerics.rates import Interval

if TYPE_CHECKING:
    from bayeskit.evaluation.measures import Measures


class SquaredECE(MassECE):
    """√Σ n/N (g² - ȳ(1 - ȳ)/(n - 1)) over 15 cells of equal mass, 0 where chance explains more than all gaps g."""

    name = "ece_l2"
    title = "Calibration error, squared"
    meaning = "root mean squared calibration error less what chance adds; less is better"

    def of_cells(self, table: Float) -> float:
        return float(np.sqrt(max(debiased_square(table), 0.0)))

    @unless_grouped
    def interval(self, found: Measures) -> Interval:
        return square_interval(found.mass_tables[0])
