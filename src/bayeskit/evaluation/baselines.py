"""Baselines: scikit-learn's logistic regression and support vector machine, for any table bayeskit reads."""

from __future__ import annotations

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

from bayeskit.arrays import Batch, Float, Json, KindsLike, LabelsLike, TableLike
from bayeskit.data.encode import Roles
from bayeskit.model.open_table import OpenTable
from bayeskit.statistics.counted import Counted
from bayeskit.statistics.statistic import Product

MANY = 10_000  # rows above which a kernel machine takes too long


class Design(TransformerMixin, BaseEstimator):
    """Any table as a matrix for linear models: numbers scaled, holes filled and marked, levels as indicators."""

    def __init__(self, kinds: KindsLike = None) -> None:
        self.kinds = kinds

    def fit(self, X: TableLike, y: LabelsLike | None = None) -> Self:
        table = OpenTable.of(X, None, None, None)
        schema = table.schema(self.kinds, "skip", ())
        empty = Counted.empty(schema, lambda groups: Product({}, groups), Roles())
        self.counted_ = table.engine.reduce(table.rows(False), schema.names, empty)
        numbers = make_pipeline(SimpleImputer(add_indicator=True, keep_empty_features=True), StandardScaler())
        width, levels = len(schema.numeric), OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        self.columns_ = ColumnTransformer(
            [("numbers", numbers, slice(0, width)), ("levels", levels, slice(width, None))]
        )
        self.columns_.fit(self._matrix(X))
        return self

    def transform(self, X: TableLike) -> Float:
        made: Float = np.asarray(self.columns_.transform(self._matrix(X)), dtype=np.float64)
        return made

    def _matrix(self, X: TableLike) -> Float:
        """Numbers, then codes of levels, NaN where missing: (n, d)."""
        counted = self.counted_
        table = OpenTable.of(X, None, None, None).against(counted.schema, type(self).__name__)

        def step(batch: Batch, _: int) -> Float:
            block = counted.block(batch)
            numbers = [block.numeric.column(j) for j in range(len(block.numeric))]
            codes = np.where(block.codes == -1, np.nan, block.codes)
            return np.column_stack([*numbers, *codes]) if numbers or len(codes) else np.empty((block.rows, 0))

        return np.concatenate(list(table.engine.map(table.rows(False), counted.schema.names, step)))


def baselines(rows: int) -> Json:
    """By name; the support vector machine is linear where there are too many rows for a kernel."""
    machine, name = (SVC(), "SVM (RBF)") if rows <= MANY else (LinearSVC(), "SVM (linear)")
    return {
        "logistic regression": make_pipeline(Design(), LogisticRegression(max_iter=1000)),
        name: make_pipeline(Design(), CalibratedClassifierCV(machine, cv=3, ensemble=False)),
    }
