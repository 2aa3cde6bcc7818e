"""compare: several classifiers on the same folds, side by side; baselines: two of scikit-learn beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

from bayeskit.arrays import (
    Batch,
    Classifier,
    ColumnLike,
    CostsLike,
    Float,
    Json,
    KindsLike,
    LabelsLike,
    Seed,
    TableLike,
    WeightsLike,
)
from bayeskit.data.encode import Roles
from bayeskit.data.frame import kind_of
from bayeskit.errors import InputError
from bayeskit.evaluation.comparison import Comparison, check_correction, check_measure
from bayeskit.evaluation.evaluate import document, plan_run
from bayeskit.evaluation.methods import MethodLike
from bayeskit.evaluation.stream import LabelledSource
from bayeskit.model.open_table import OpenTable
from bayeskit.statistics.counted import Counted
from bayeskit.statistics.statistic import Product

MANY = 10_000  # rows above which a kernel machine takes too long


class Design(TransformerMixin, BaseEstimator):
    """Any table as a matrix for linear models: numbers scaled, missing ones filled and marked, levels as indicators."""

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


def usual_baselines(rows: int) -> Json:
    """By name; the support vector machine is linear where there are too many rows for a kernel."""
    machine, name = (SVC(), "SVM (RBF)") if rows <= MANY else (LinearSVC(), "SVM (linear)")
    return {
        "logistic regression": make_pipeline(Design(), LogisticRegression(max_iter=1000)),
        name: make_pipeline(Design(), CalibratedClassifierCV(machine, cv=3, ensemble=False)),
    }


@document
def compare(
    models: Classifier | Sequence[Classifier] | Mapping[str, Classifier],
    X: TableLike,
    y: LabelsLike,
    method: MethodLike = None,
    *,
    by: str = "log_loss",
    baselines: bool = False,
    correction: str | None = "holm",
    costs: CostsLike = None,
    reject: float | None = None,
    groups: ColumnLike | None = None,
    sample_weight: WeightsLike = None,
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> Comparison:
    """Several classifiers side by side, each evaluated on the same folds.

    Parameters
    ----------
    models : mapping or sequence
        Classifiers by name, or a list of them.
    by : str, default "log_loss"
        The measure that ranks them.
    baselines : bool, default False
        Add scikit-learn's logistic regression and support vector machine.
    correction : {"holm"} or None, default "holm"
        Of the p-values of the differences to the best; None takes each alone.

    Returns
    -------
    Comparison
        The evaluations by name, ranked, with differences, intervals and p-values.

    Examples
    --------
    >>> import bayeskit as bk
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = compare({"normal": bk.NaiveBayes(), "flat": bk.NaiveBayes(prior="uniform")}, X, y)
    >>> found["normal"].accuracy == found["flat"].accuracy
    True
    """
    check_correction(correction)
    named = dict(models) if isinstance(models, Mapping) else _name_models(models)
    plan = plan_run(LabelledSource(X, y, sample_weight, groups), method, costs, reject, random_state)
    if baselines:
        named |= {name: model for name, model in usual_baselines(plan.rows).items() if name not in named}
    if not named:
        raise InputError("there is nothing to compare; give models by name")
    found = {}
    for name, model in named.items():
        found[str(name)] = plan.run(model, n_jobs)
        check_measure(by, found[str(name)])
    return Comparison(found, by, kind_of(X), correction)


def _name_models(models: Classifier | Sequence[Classifier]) -> dict[str, Classifier]:
    """Models by the names of their classes, numbered where one occurs twice."""
    given: list[Any] = list(models) if isinstance(models, list | tuple) else [models]
    kinds = [type(model).__name__ for model in given]
    names = [k if kinds.count(k) == 1 else f"{k} {kinds[: i + 1].count(k)}" for i, k in enumerate(kinds)]
    return dict(zip(names, given, strict=True))
