"""VennAbers: probabilities as intervals, one end of which is calibrated whatever the model is."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bayeskit.arrays import Classifier, Float, Int, LabelsLike, PriorLike, Seed, TableLike
from bayeskit.decision.venn_abers import LEAST, VennAbersMap
from bayeskit.errors import InputError, KindError, ModelFileError
from bayeskit.estimators.any_wrapper import AnyWrapper
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.docstrings import document
from bayeskit.estimators.fold_models import fit_folds, fit_to, labelled_rows, split_rows
from bayeskit.estimators.learner import non_default_settings
from bayeskit.estimators.revive import disclose_all, enclose
from bayeskit.estimators.wrapper import Refused, Wrapper
from bayeskit.evaluation.evaluate import evaluate
from bayeskit.evaluation.methods import Holdout, LeaveOneOut
from bayeskit.evaluation.refit import logs_of
from bayeskit.model.labelled_table import LabelledTable, take_rows
from bayeskit.portable.program import Portable, Program, Unportable
from bayeskit.storage.model_file import Bundle

METHODS = ("cross", "inductive", "loo")
STALE = "is fitted to what a model said of the rows of fit, which would no longer hold; fit it anew with all rows"


@document()
@dataclass(eq=False, repr=False)
class VennAbers(AnyWrapper):
    """The posterior of a classifier as an interval: isotonic regression with the row tried as either class.

    Of p0 and p1 one is calibrated, whichever class the row has, for any classifier and any number of rows
    (Vovk and Petej 2014); their distance says how little the rows tell. ``predict_proba`` merges them to
    p1 / (1 - p0 + p1), the choice that loses least log-loss against both. Several classes are compared in pairs.

    Parameters
    ----------
    estimator : classifier
        Any with ``predict_proba``; a copy is fitted.
    method : {"cross", "inductive", "loo"}, default "cross"
        A regression for each fold by the model of the others, merged by geometric means; one on rows held back, for
        which the theorem holds; or one on what leave-one-out says of every row, at the price of a fit where that is
        algebra.
    folds : int or splitter, default 5
        Folds of ``cross``.
    calibration_size : float, default 1/3
        The share of rows that ``inductive`` holds back.
    random_state : int, default 0
        Seed of folds and of the rows held back.

    Attributes
    ----------
    classes_ : array of shape (K,)
        The classes of the estimator.

    Examples
    --------
    >>> import bayeskit as bk
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = bk.VennAbers(bk.NaiveBayes(), "loo").fit(X, y)
    >>> model.predict_interval(X[[40, 0]]).round(3)
    array([[0.944, 0.963],
           [0.   , 0.007]])
    """

    estimator: Classifier
    method: str = "cross"
    _: KW_ONLY
    folds: object = 5
    calibration_size: float = 1 / 3
    random_state: Seed = 0

    def fit(self, X: TableLike, y: LabelsLike) -> Self:
        """Fit the classifier, and regressions to what models that have not learned a row say of it."""
        self._check_settings()
        given, known, sample = labelled_rows(X, y)
        codes = sample.rows.codes
        rng = np.random.default_rng(self.random_state)
        if self.method == "inductive":
            (split,) = Holdout(self.calibration_size).splits(sample.rows, rng)
            train, test = np.flatnonzero(split.fold == 1), np.flatnonzero(split.fold == 0)
            return self._around(fit_to(self.estimator, given, known[train]), sample, test)
        fitted = fit_to(self.estimator, given, known)
        if self.method == "loo":
            found = evaluate(self.estimator, sample.features, sample.rows.classes[codes], LeaveOneOut())
            kept = found.measures.kept
            assert kept is not None  # rows in memory are
            logs = kept.repeats[0].log_proba
            return self._adopt(fitted, (fitted,), logs, codes, np.zeros(len(codes), dtype=np.int64))
        split = split_rows(self.folds, sample, rng)
        models = fit_folds(self.estimator, sample, split)
        logs = np.empty((len(codes), len(sample.rows.classes)))
        for f, model in enumerate(models):
            mine = np.flatnonzero(split.fold == f)
            logs[mine] = logs_of(model, take_rows(sample.features, mine), sample.rows.classes)
        return self._adopt(fitted, models, logs, codes, split.fold)

    def around(self, fitted: Classifier, X: TableLike, y: LabelsLike) -> Self:
        """Inductive Venn-Abers of a classifier that is fitted already, by rows that are new to it.

        Parameters
        ----------
        fitted : classifier
            It stays as it is.
        """
        self._check_settings()
        if self.method != "inductive":
            raise InputError(f"a fitted classifier is taken as it is by method='inductive', not {self.method!r}")
        check_is_fitted(fitted)
        sample = LabelledTable.of(X, y)
        return self._around(fitted, sample, np.flatnonzero(sample.rows.counted))

    def _around(self, fitted: Any, sample: LabelledTable, rows: Int) -> Self:
        X, _, _ = sample.take(rows)
        if sample.rows.classes.tolist() != fitted.classes_.tolist():
            raise InputError(
                f"the rows to calibrate on have the classes {sample.rows.classes.tolist()}, the model "
                f"{fitted.classes_.tolist()}; give rows of the same classes"
            )
        logs = logs_of(fitted, X, fitted.classes_)
        return self._adopt(fitted, (fitted,), logs, sample.rows.codes[rows], np.zeros(len(rows), dtype=np.int64))

    def _adopt(self, fitted: Any, models: tuple[Any, ...], logs: Float, codes: Int, fold: Int) -> Self:
        lost = sorted(set(range(logs.shape[1])) - set(codes.tolist()))  # other folds have rows of one that a fold lacks
        if lost:
            raise InputError(
                f"class {fitted.classes_.tolist()[lost[0]]!r} has no row among those the regression is fitted to; give "
                f"more rows of it"
            )
        self.estimator_, self.fold_models_ = fitted, models
        self.map_ = VennAbersMap(np.maximum(logs, LEAST), codes, fold)
        self._take_features(fitted)
        return self

    def predict_interval(self, X: TableLike) -> Float:
        """p0 and p1 of each row: (n, 2), of the second class; of several classes (n, pairs, 2), pairs in order.

        Returns
        -------
        array of shape (n, 2) or (n, pairs, 2)
            Of the pair (a, b) the probability of b if the class is one of the two.
        """
        check_is_fitted(self)
        found = self.map_.intervals([logs_of(model, X, self.classes_) for model in self.fold_models_])
        return found[:, 0] if len(self.classes_) == 2 else found

    def predict_proba(self, X: TableLike, prior: PriorLike = None) -> Float:
        if prior is not None:
            raise InputError(
                "prior=: a regression follows the shares of the classes in the rows it is fitted to; ask "
                "estimator_.predict_proba(X, prior)"
            )
        both = self.predict_interval(X)
        return self.map_.merge(both[:, None] if both.ndim == 2 else both)

    def predict_log_proba(self, X: TableLike, prior: PriorLike = None) -> Float:
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, prior))

    def honest_log_proba(self, X: TableLike) -> Float | None:
        return None

    def program(self) -> Program:
        """The portable program of the classifier, with the regressions of its result, unless folds are merged."""
        check_is_fitted(self)
        calibration = self.map_.portable()
        (fitted,) = self.fold_models_
        if not isinstance(fitted, Portable):
            raise Unportable(f"{type(fitted).__name__} is a classifier of another library, which has no program")
        inner = fitted.program()
        if inner.calibration is not None:
            raise Unportable("the classifier inside is calibrated itself, and a program holds one map; leave one out")
        return replace(inner, calibration=calibration)

    def _check_settings(self) -> None:
        if self.method not in METHODS:
            raise InputError(f"method={self.method!r}: choose one of {', '.join(METHODS)}")
        self._check_probabilities("interval of them")

    explain: ClassVar[Any] = Refused(
        "has steps in place of terms that add up; explain the classifier inside: estimator_.explain(X)"
    )
    nomogram: ClassVar[Any] = Refused(
        "has steps in place of points that add up; ask the classifier inside: estimator_.nomogram()"
    )
    value_of_information: ClassVar[Any] = Refused("changes posteriors, which have no density then; ask estimator_")
    predict_joint_log_proba: ClassVar[Any] = Refused("changes posteriors, which have no density then; ask estimator_")
    partial_fit: ClassVar[Any] = Refused(STALE)
    forget: ClassVar[Any] = Refused(STALE)
    renew: ClassVar[Any] = Refused(STALE)
    merge: ClassVar[Any] = Refused(STALE)
    adapt_prior: ClassVar[Any] = Refused("follows the shares of the classes in the rows of fit; adapt estimator_")
    calibrated: ClassVar[Any] = Refused("is calibrated; calibrate the classifier inside: estimator_.calibrated(X, y)")

    def bundle(self) -> Bundle:
        found = self.map_
        numbers = {"logs": found.logs, "codes": found.codes.astype(np.float64), "fold": found.fold.astype(np.float64)}
        others = self.fold_models_ if self.method == "cross" else ()
        if not all(isinstance(model, BayesClassifier | Wrapper) for model in others):
            raise KindError("save(): VennAbers keeps models of another library, which a file does not hold; pickle it")
        return enclose(type(self).__name__, non_default_settings(self, "estimator"), self.base_, {}, numbers, others)

    @classmethod
    def from_bundle(cls, saved: Bundle) -> Self:
        """Back from a file."""
        (fitted, *others), _, numbers = disclose_all(saved)
        made = cls(clone(fitted), **saved.settings)
        made._check_settings()
        logs, codes, fold = numbers["logs"], numbers["codes"].astype(np.int64), numbers["fold"].astype(np.int64)
        models = tuple(others) if made.method == "cross" else (fitted,)
        rows = len(codes)
        shapes = logs.shape == (rows, len(fitted.classes_)) and fold.shape == codes.shape == (rows,)
        if not shapes or not models or (codes < 0).any() or (codes >= logs.shape[1]).any():
            raise ModelFileError("its regressions are not of its classes")
        if set(fold.tolist()) != set(range(len(models))):
            raise ModelFileError("its regressions are of folds that it has no models of")
        if any(model.classes_.tolist() != fitted.classes_.tolist() for model in models):
            raise ModelFileError("its models are of other classes")
        return made._adopt(fitted, models, logs, codes, fold)
