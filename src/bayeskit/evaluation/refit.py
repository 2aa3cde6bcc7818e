"""Refit: the honest way for any classifier, a new fit for every fold."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from bayeskit.arrays import Array, ArrayLike, Classifier, Float, Int, TableLike
from bayeskit.errors import InputError, KindError, warn
from bayeskit.evaluation.algebra import warn_lost
from bayeskit.evaluation.methods import Split
from bayeskit.evaluation.protocols import ReadsTables, gives_probabilities, steps_of
from bayeskit.model.labelled_table import LabelledTable, take_rows

TOLERANCE = 1e-6
Predicted = tuple[Float, Array]  # log-posteriors (n, K), and what the model does with each row, as predict says it (n,)


@dataclass(frozen=True)
class Refit:
    """A classifier fitted anew to the training rows of each fold, in several processes on request."""

    estimator: Any
    sample: LabelledTable
    n_jobs: int | None = None
    kept: dict[int, Classifier] | None = None  # where the models of the folds go, if they are to be kept

    computed: ClassVar[str] = "refit"
    grids: ClassVar[tuple[str, ...]] = ()  # nothing is that of all rows

    def __post_init__(self) -> None:
        if not gives_probabilities(self.estimator):
            raise KindError(
                f"{type(self.estimator).__name__} gives no probabilities (it has no predict_proba); wrap it in "
                f"sklearn.calibration.CalibratedClassifierCV, or choose another model"
            )
        unlabelled = int(np.count_nonzero(self.sample.rows.codes < 0))
        if unlabelled:
            rows = len(self.sample.rows)
            warn(f"{unlabelled} of {rows} rows have no label and are not learned from")

    def out_of_fold(self, split: Split) -> Predicted:
        """Every tested row by the model of its fold; the others are NaN and None."""
        counted = self.sample.rows.counted
        jobs = [(np.flatnonzero(split.training(f) & counted), np.flatnonzero(split.fold == f)) for f in split.tested]
        logs = np.full((len(counted), len(self.sample.rows.classes)), np.nan)
        label = np.full(len(counted), None, dtype=object)
        for fold, (_, test), (predicted, done, estimator) in zip(
            split.tested, jobs, self._predict_jobs(jobs), strict=True
        ):
            logs[test], label[test] = predicted, done
            if self.kept is not None and estimator is not None:
                self.kept[fold] = estimator
        return logs, label

    def left_out(self) -> tuple[Float, Array, tuple[str, ...]]:
        """Every row by the model without it; nothing is held."""
        n = len(self.sample.rows)
        return *self.out_of_fold(Split(np.arange(n), n, tuple(range(n)))), ()

    def resample(self, draws: Iterable[Float]) -> Iterator[tuple[Float, Predicted]]:
        """How often each row was drawn, (n,), and all rows by the model of those drawn."""
        every = np.arange(len(self.sample.rows))
        times = list(draws)
        jobs = [(np.repeat(every, drawn.astype(np.int64)), every) for drawn in times]
        return zip(times, ((logs, done) for logs, done, _ in self._predict_jobs(jobs)), strict=True)

    def _predict_jobs(self, jobs: list[tuple[Int, Int]]) -> Iterator[tuple[Float, Array, Classifier | None]]:
        """The test rows of each job by a model of its training rows, and that model if models are kept."""
        codes, classes = self.sample.rows.codes, self.sample.rows.classes
        warn_lost([np.bincount(codes[train], minlength=len(classes)) for train, _ in jobs], classes)
        work = (
            delayed(_fit_and_predict)(
                clone(self.estimator),
                self.sample.take(train),
                take_rows(self.sample.features, test),
                classes,
                self.kept is not None,
            )
            for train, test in jobs
        )
        answers: Iterator[tuple[Float, Array, Classifier | None]] = Parallel(n_jobs=self.n_jobs, return_as="generator")(
            work
        )
        return answers


def _fit_and_predict(
    estimator: Classifier, training: tuple[TableLike, Array, Float | None], test: TableLike, classes: Array, keep: bool
) -> tuple[Float, Array, Classifier | None]:
    X, y, weight = training
    estimator.fit(X, y, **weight_argument(estimator, weight))
    return logs_of(estimator, test, classes), actions_by(estimator, test), estimator if keep else None


def logs_of(estimator: Classifier, X: TableLike, classes: Array) -> Float:
    """log P(class | row) by the classes of the whole table, -inf for one the model never saw: (n, K).

    Classifiers of this library say it themselves, without rounding to 0 and 1 on the way; of others it is the logarithm
    of their probabilities.
    """
    logs = estimator.honest_log_proba(X) if isinstance(estimator, ReadsTables) else None
    if logs is not None:
        check_proba(np.exp(logs), estimator.classes_, classes)
        return _align_classes(logs, estimator.classes_, classes, -np.inf)
    with np.errstate(divide="ignore"):
        return np.log(check_proba(estimator.predict_proba(X), estimator.classes_, classes))


def actions_by(estimator: Classifier, X: TableLike) -> Array:
    """What a fitted classifier does with each row, as it says it: (n,)."""
    done = np.asarray(estimator.predict(X))
    if done.ndim != 1:
        raise InputError(f"predict gave shape {done.shape}; one answer for each row is wanted")
    return done


def weight_argument(estimator: Classifier, weight: Float | None) -> dict[str, Float]:
    """The argument that gives an estimator its weights; the last step of a pipeline takes them."""
    if weight is None:
        return {}
    steps = steps_of(estimator)
    last = steps[-1][1] if steps else estimator
    if "sample_weight" not in inspect.signature(last.fit).parameters:
        raise InputError(f"{type(last).__name__} takes no sample_weight; evaluate it without weights")
    return {f"{steps[-1][0]}__sample_weight" if steps else "sample_weight": weight}


def check_proba(proba: ArrayLike, given: Array, classes: Array) -> Float:
    """Probabilities by the classes of the whole table; a class the model never saw has none."""
    p = np.asarray(proba, dtype=np.float64)
    if p.ndim != 2 or p.shape[1] != len(given):
        raise InputError(f"predict_proba gave shape {p.shape} for the {len(given)} classes of the model")
    off = ~(np.isfinite(p).all(axis=1) & (p >= 0).all(axis=1) & (np.abs(p.sum(axis=1) - 1) <= TOLERANCE))
    if off.any():
        row = int(np.flatnonzero(off)[0])
        raise InputError(
            f"probabilities of row {row} are {p[row].tolist()}, which are not numbers from 0 to 1 with sum one"
        )
    return _align_classes(p, given, classes, 0.0)


def _align_classes(values: Float, given: Array, classes: Array, absent: float) -> Float:
    """Columns of the classes given in the order of all classes."""
    place = {label: k for k, label in enumerate(classes.tolist())}
    out = np.full((len(values), len(classes)), absent)
    out[:, [place[label] for label in np.asarray(given).tolist()]] = values
    return out


@dataclass(frozen=True)
class FoldModels:
    """Of one division of the rows, or of leaving one out; a model that was not kept is fitted when it is asked for."""

    model: Any
    sample: LabelledTable
    split: Split | None  # None: each row was left out by itself
    fitted: dict[int, Classifier] = field(default_factory=dict)  # by fold

    def of(self, row: int) -> Classifier:
        """The model that predicted a row."""
        fold = row if self.split is None else int(self.split.fold[row])
        if fold not in self.fitted:
            every = np.arange(len(self.sample.rows))
            training = every != row if self.split is None else self.split.training(fold)
            X, y, weight = self.sample.take(np.flatnonzero(training & self.sample.rows.counted))
            estimator = clone(self.model)
            self.fitted[fold] = estimator.fit(X, y, **weight_argument(estimator, weight))
        return self.fitted[fold]
