"""Classifiers of some rows: a copy fitted to a part of a table, and one for each fold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.base import clone

from bayeskit.arrays import Classifier, Int, LabelsLike, TableLike
from bayeskit.errors import InputError, warn
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.wrapper import Wrapper
from bayeskit.evaluation.algebra import Algebra
from bayeskit.evaluation.methods import CrossValidation, Split
from bayeskit.evaluation.protocols import SupportsSpec
from bayeskit.model.labelled_table import LabelledTable, take_rows


def labelled_rows(X: TableLike, y: LabelsLike) -> tuple[LabelledTable, Int, LabelledTable]:
    """A table as it was given, its rows that have a label, and a table of these alone."""
    given = LabelledTable.of(X, y)
    known = np.flatnonzero(given.rows.counted)
    if len(known) < len(given.rows):
        warn(f"{len(given.rows) - len(known)} rows have no label and are left out")
    features, labels, _ = given.take(known)
    return given, known, LabelledTable.of(features, labels)


def fit_to(estimator: Classifier, given: LabelledTable, rows: Int) -> Any:
    """A copy of a classifier, fitted to some rows; it learns the name of the target, if that is a column."""
    if isinstance(given.y, str) and isinstance(estimator, BayesClassifier | Wrapper):
        table = pa.table(dict(given.X)) if isinstance(given.X, Mapping) else given.X
        return clone(estimator).fit(take_rows(table, rows), given.y)
    X, y, _ = given.take(rows)
    return clone(estimator).fit(X, y)


def split_rows(folds: object, sample: LabelledTable, rng: np.random.Generator) -> Split:
    """One division of the rows into folds."""
    splits = list(CrossValidation(folds).splits(sample.rows, rng))
    if len(splits) > 1:
        raise InputError(f"folds={folds!r} tests rows more than once; give a number of folds")
    return splits[0]


def fit_folds(estimator: Classifier, sample: LabelledTable, split: Split) -> tuple[Any, ...]:
    """The classifier of all rows but those of each fold; by algebra where its statistics allow."""
    spec = estimator.fold_spec() if isinstance(estimator, SupportsSpec) else None
    if spec is not None and isinstance(estimator, SupportsSpec):
        models = Algebra(spec, sample).fold_models(split)[1]
        return tuple(estimator.with_model(models[f]) for f in split.tested)
    return tuple(fit_to(estimator, sample, np.flatnonzero(split.training(f))) for f in split.tested)
