"""NormalScores: numbers by their ranks, on the scale of N(0, 1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Float, KindsLike
from bayeskit.data.schema import Schema
from bayeskit.estimators.binned import Binned
from bayeskit.numerics.scale import Scale
from bayeskit.statistics.bins import Bins


class NormalScores(Binned):
    """Puts number columns on the scale of N(0, 1) by their ranks; other columns pass, what is missing stays missing.

    The score of a value is the quantile of N(0, 1) at the share of the rows below it and half of those equal to it,
    classes not looked at; between the values learned it is straight, beyond them level. So a column of any shape
    looks normal, and outliers are no farther than others: what ``FullBayes`` and ``KNNBayes`` like. Scores are read
    from bins: exact while a column has at most 1,024 distinct values, to the width of a cell beyond, so a stream can
    be learned, and rows forgotten.

    Parameters
    ----------
    kinds : mapping, str or list, optional
        Kinds of the columns, one for all or by name: "binary", "nominal", "ordinal", "quantitative", "count", a list
        of levels in order, ``Nominal(...)`` or ``Ordinal(...)``. Without it the type of a column decides.
    n_jobs : int, optional
        Number of threads; -1 is all cores, None one. Results do not depend on it.

    Examples
    --------
    >>> import bayeskit as bk
    >>> from sklearn.pipeline import make_pipeline
    >>> NormalScores().fit_transform([[1.0], [10.0], [1000.0], [float("nan")]]).ravel().round(2)
    array([-0.97,  0.  ,  0.97,   nan])
    >>> model = make_pipeline(NormalScores(), bk.FullBayes())
    """

    def __init__(self, *, kinds: KindsLike = None, n_jobs: int | None = None) -> None:
        self.kinds = kinds
        self.n_jobs = n_jobs

    def _column(self, name: str, x: Float, as_numbers: bool) -> Any:
        scores = self.scales_[name].of(x)
        return scores if as_numbers else pa.array(scores, mask=np.isnan(scores))

    def _read(self, schema: Schema, bins: Bins) -> None:
        self.scales_ = {}
        for j, name in enumerate(schema.numeric):
            column = bins.column(j)
            there = column.pooled > 0
            known = (column.centres[there], column.pooled[there]) if there.any() else (np.zeros(1), np.ones(1))
            self.scales_[name] = Scale.normal(*known)
