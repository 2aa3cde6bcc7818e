"""Classifiers of some rows: a copy fitted to a part of a table, and one for each fold."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.base import clone

from bayeskit.arrays import Classifier, Float, Int, LabelsLike, Seed, TableLike, WeightsLike
from bayeskit.errors import InputError, warn
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.wrapper import Wrapper
from bayeskit.evaluation.algebra import Algebra
from bayeskit.evaluation.evaluate import generator_of
from bayeskit.evaluation.methods import CrossValidation, Split
from bayeskit.evaluation.protocols import SupportsSpec
from bayeskit.memory import check_memory
from bayeskit.model.batch_predictor import BatchPredictor
from bayeskit.model.distinct_rows import Keys
from bayeskit.model.labelled_table import LabelledTable, drop_columns, take_rows
from bayeskit.model.model import Model
from bayeskit.statistics.content import Content, Units

ROW = 100  # bytes that one more row takes at least


def labelled_rows(X: TableLike, y: LabelsLike, weight: WeightsLike = None) -> tuple[LabelledTable, Int, LabelledTable]:
    """A table as it was given, its rows that have a label, each as often as it weighs, and a table of these alone."""
    given = LabelledTable.of(X, y, weight)
    weights = given.rows.weights
    if len(odd := np.flatnonzero(weights != np.floor(weights))):
        raise InputError(
            f"sample_weight of row {odd[0]} is {weights[odd[0]]:g}: rows are ranked among each other, each as one like "
            f"the new row, so a weight says how often a row came, a whole number; if new rows are of another mixture, "
            f"give ratio="
        )
    check_memory(int(ROW * weights.sum()), f"{weights.sum():,.0f} rows, as many as sample_weight says", "give fewer")
    known = np.flatnonzero(given.rows.counted)
    if (lost := int((given.rows.codes < 0).sum())) > 0:
        warn(f"{lost} rows have no label and are left out")
    known = np.repeat(known, weights[known].astype(np.int64))
    features, labels, _ = given.take(known)
    return given, known, LabelledTable.of(features, labels)


def fit_to(estimator: Classifier, given: LabelledTable, rows: Int) -> Any:
    """A copy of a classifier, fitted to some rows; it learns the name of the target, if that is a column."""
    if isinstance(given.y, str) and isinstance(estimator, BayesClassifier | Wrapper):
        table = pa.table(dict(given.X)) if isinstance(given.X, Mapping) else given.X
        table = drop_columns(table, [given.weight] if isinstance(given.weight, str) else [])
        return clone(estimator).fit(take_rows(table, rows), given.y)
    X, y, _ = given.take(rows)
    return clone(estimator).fit(X, y)


def split_rows(folds: object, sample: LabelledTable, rng: np.random.Generator) -> Split:
    """One division of the rows into folds."""
    splits = list(CrossValidation(folds).splits(sample.rows, rng))
    if len(splits) > 1:
        raise InputError(f"folds={folds!r} tests rows more than once; give a number of folds")
    return splits[0]


def deal_units(model: Model, sample: LabelledTable, folds: int, seed: Seed) -> tuple[Int, Int, Float]:
    """Rows, the fold of each, and what it weighs there: equal rows as one, in folds as ``Units`` says; (m,) each.

    Rows hold what a model of them reads.
    """
    known = np.flatnonzero(sample.rows.counted)
    key = int(seed) if isinstance(seed, Integral) else int(generator_of(seed).integers(1 << 62))
    asked = take_rows(sample.features, known)
    blocks = list(BatchPredictor.of(model, asked, "Calibrated").blocks())
    content = Content.varying(blocks, key)
    words = np.concatenate([content.words(block) for block in blocks], axis=1)
    rows, keys, _ = Keys.of(words, sample.rows.codes[known], sample.rows.weights[known]).distinct(len(known))
    units = Units(keys.words, keys.code, keys.weight.to_float())
    if (many := int(units.count.sum())) < folds:
        raise InputError(f"{folds} folds need at least as many rows, there are {many}; give fewer folds")
    place = units.places(folds)
    mass = np.stack([units.weigh_fold(place, folds, f) for f in range(folds)])
    fold, row = np.nonzero(mass)
    return known[rows[row]], fold, mass[fold, row]


def fit_folds(estimator: Classifier, sample: LabelledTable, split: Split) -> tuple[Any, ...]:
    """The classifier of all rows but those of each fold; by algebra where its statistics allow."""
    spec = estimator.fold_spec() if isinstance(estimator, SupportsSpec) else None
    if spec is not None and isinstance(estimator, SupportsSpec):
        models = Algebra(spec, sample).fold_models(split)[1]
        return tuple(estimator.with_model(models[f]) for f in split.tested)
    return tuple(fit_to(estimator, sample, np.flatnonzero(split.training(f))) for f in split.tested)
