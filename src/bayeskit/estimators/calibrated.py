"""Calibrated: a bayeskit classifier whose probabilities have been set right on rows it has not learned."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from bayeskit.arrays import (
    Bool,
    Classifier,
    Float,
    Label,
    LabelsLike,
    NamesLike,
    PriorLike,
    Seed,
    TableLike,
    WeightsLike,
)
from bayeskit.decision.calibration import (
    AUTO,
    METHODS,
    SURE,
    Sigmoid,
    Temperature,
    Vector,
    calibration,
    calibration_of,
    choose_method,
)
from bayeskit.decision.shift import prior_shift
from bayeskit.engines.engine import is_outside
from bayeskit.errors import InputError, KindError, ModelFileError, warn
from bayeskit.estimators.auto import AutoBayes
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.docstrings import document
from bayeskit.estimators.fold_models import deal_units
from bayeskit.estimators.learner import non_default_settings, set_features
from bayeskit.estimators.revive import disclose, enclose
from bayeskit.estimators.wrapper import Refused, Wrapper, core
from bayeskit.evaluation.evaluate import evaluate
from bayeskit.evaluation.methods import CrossValidation
from bayeskit.explain.explanation import Explanation
from bayeskit.explain.nomogram import Nomogram
from bayeskit.model.codec import build, describe
from bayeskit.model.labelled_table import LabelledTable, Rows
from bayeskit.model.learn import learn_rows
from bayeskit.model.posterior import normal_prior
from bayeskit.portable.program import Program, Unportable
from bayeskit.storage.model_file import Bundle

PART = "calibration"
STALE = (
    "has a map that is fitted to what cross-validation said of the rows of fit, which would no longer hold; fit it "
    "anew with all rows, or let estimator_ learn and set it right on new rows (estimator_.calibrated(X, y))"
)


@document()
@dataclass(eq=False, repr=False)
class Calibrated(MetaEstimatorMixin, Wrapper):
    """The posterior of a classifier through a map fitted to posteriors of rows it has not learned.

    ``fit(X, y)`` learns the classifier from the rows and the map from what cross-validation says of the same rows:
    for a classifier that is to be trained. ``model.calibrated(X_new, y_new)`` calibrates a fitted classifier as it is
    on rows that are new to it. A prior given to a call replaces the shares of the classes in the calibrated
    posterior. ``explain`` still adds up: a temperature multiplies prior and terms, the other maps add one part
    "calibration".

    Parameters
    ----------
    estimator : classifier
        The classifier to calibrate; a copy is fitted.
    method : {"temperature", "sigmoid", "isotonic", "beta", "quadratic", "vector", "auto"}, default "temperature"
        The map: all evidence weighs t times as much and the shares of the classes stay as learned; a straight line of
        the log-odds (Platt); a rising step function; a line of log p and of log(1 - p) (Kull and others); a parabola
        of the log-odds; a temperature and a bias for each class (Guo and others). ``auto`` takes the one of least
        log-loss on rows it is not fitted to, with a penalty for each number it fits. All but the first follow the
        shares of the classes in the rows they are fitted to.
    folds : int or splitter, default 5
        Folds whose posteriors the map is fitted to. A number of folds depends on what rows hold,
        not on their order: a row of weight 2 is as two equal rows.
    random_state : int, default 0
        Seed of the folds.

    Attributes
    ----------
    classes_
    method_ : str
        The map that was taken.

    Examples
    --------
    >>> import bayeskit as bk
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = bk.Calibrated(bk.NaiveBayes()).fit(X, y)
    >>> model.predict_proba(X[70:71]).round(2)
    array([[0.  , 0.27, 0.73]])
    """

    estimator: Classifier
    method: str = "temperature"
    folds: object = 5
    random_state: Seed = 0

    def fit(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Fit the map by cross-validation, and the classifier to all rows."""
        self._check_settings()
        sample, method = LabelledTable.of(X, y, sample_weight), CrossValidation(self.folds)
        fitted = clone(self.estimator).fit(X, y, sample_weight)
        if isinstance(self.folds, Integral):
            rows, fold, mass = deal_units(core(fitted).model_, sample, int(self.folds), self.random_state)
            features, labels, _ = sample.take(rows)
            sample, method = LabelledTable.of(features, labels, mass), CrossValidation(fold)
        X, y, weight = sample.X, sample.y, sample.weight
        tested = evaluate(self.estimator, X, y, method, sample_weight=weight, random_state=self.random_state)
        with np.errstate(divide="ignore"):
            return self._fit_map(fitted, np.log(np.asarray(tested.proba)), sample.rows)

    def around(
        self, fitted: BayesClassifier | AutoBayes, X: TableLike, y: LabelsLike, sample_weight: WeightsLike = None
    ) -> Self:
        """Fit the map only, to what a fitted classifier, which stays as it is, says of rows that are new to it."""
        self._check_settings()
        check_is_fitted(fitted)
        if is_outside(X):
            raise InputError(
                "the map is fitted to rows in memory; read some thousand rows of the file or relation first"
            )
        sample = LabelledTable.of(X, y, sample_weight)
        known, theirs = fitted.classes_.tolist(), sample.rows.classes.tolist()
        if known != theirs:
            raise InputError(f"the rows to calibrate on have the classes {theirs}, the model {known}")
        if _has_learned(fitted, X, y, sample_weight):
            warn(
                "the model has learned these very rows, of which it is too sure; calibrate it on other rows, or by "
                "cross-validation with Calibrated(model).fit(X, y)"
            )
        return self._fit_map(fitted, fitted.predict_log_proba(sample.features), sample.rows)

    def _fit_map(self, fitted: BayesClassifier | AutoBayes, log_posterior: Float, rows: Rows) -> Self:
        """Take the classifier, and the map that suits what was said of the rows."""
        known = rows.counted & ~np.isnan(log_posterior).any(axis=1)
        label, weights = rows.codes[known], rows.weights[known]
        automatic = self.method == AUTO
        self.method_ = choose_method(log_posterior[known], label, weights) if automatic else self.method
        self.calibration_ = calibration(self.method_, log_posterior[known], label, weights)
        self.shares_ = np.bincount(label, weights, minlength=len(rows.classes)) / weights.sum()
        self.estimator_ = fitted
        self.prior_ = None
        set_features(self, core(self).model_.schema)
        return self

    def _check_settings(self) -> None:
        if self.method not in (*METHODS, AUTO):
            raise InputError(f"method={self.method!r}: choose one of {', '.join((*METHODS, AUTO))}")
        if not isinstance(self.estimator, BayesClassifier | AutoBayes):
            raise KindError(
                f"{type(self.estimator).__name__} is no bayeskit classifier; "
                f"calibrate the last step of a pipeline, make_pipeline(vectorizer, Calibrated(NaiveBayes())), or "
                f"use sklearn.calibration.CalibratedClassifierCV"
            )

    def predict_log_proba(self, X: TableLike, prior: PriorLike = None) -> Float:
        check_is_fitted(self)
        logs = self.calibration_(self.estimator_.predict_log_proba(X))
        if prior is None and self.prior_ is None:
            return logs
        moved = logs + self._log_prior_ratio(prior)
        out: Float = moved - np.logaddexp.reduce(moved, axis=1, keepdims=True)
        return out

    @property
    def log_base(self) -> Float:
        """log of the shares of the classes that the calibrated posterior stands for: (K,).

        A temperature leaves those of the classifier; the other maps follow the rows they were fitted to.
        """
        if isinstance(self.calibration_, Temperature):
            return self.estimator_.log_prior()
        with np.errstate(divide="ignore"):
            logs: Float = np.log(self.shares_)
        return logs

    def program(self) -> Program:
        """The portable program of the classifier, with the calibration of its result."""
        check_is_fitted(self)
        if self.prior_ is not None:
            raise Unportable(
                "its prior was adapted, which a program does not hold; write the classifier as it was fitted"
            )
        inner: Program = self.estimator_.program()
        return replace(inner, calibration=self.calibration_.portable(), prior=np.exp(self.log_base))

    def _log_prior_ratio(self, prior: PriorLike) -> Float:
        """log of the prior asked for over the shares the calibrated posterior stands for: (K,)."""
        own, prior = self.log_base, self.prior_ if prior is None else prior
        if prior is None:
            return np.zeros(len(own))
        if not np.isfinite(own).all():
            raise InputError("a class had no prior in fitting, so its calibrated posterior says nothing under another")
        return self.estimator_.log_prior(prior) - own

    def log_prior(self, prior: PriorLike = None) -> Float:
        check_is_fitted(self)
        prior = self.prior_ if prior is None else prior
        return self.log_base if prior is None else self.estimator_.log_prior(prior)

    def adapt_prior(self, X: TableLike) -> Self:
        shift = prior_shift(self.classes_, self.predict_log_proba(X), self.log_prior())
        return self._with(prior_=shift.by_class, prior_shift_=shift)

    value_of_information: ClassVar[Any] = Refused("changes posteriors, which have no density then; ask estimator_")
    predict_joint_log_proba: ClassVar[Any] = Refused("changes posteriors, which have no density then; ask estimator_")
    calibrated: ClassVar[Any] = Refused(
        "is calibrated; calibrate the classifier inside anew: estimator_.calibrated(X, y)"
    )
    partial_fit: ClassVar[Any] = Refused(STALE)
    forget: ClassVar[Any] = Refused(STALE)
    renew: ClassVar[Any] = Refused(STALE)
    merge: ClassVar[Any] = Refused(STALE)

    @property
    def base_(self) -> BayesClassifier | Wrapper:
        return self.estimator_

    def bundle(self) -> Bundle:
        numbers = {"shares": self.shares_, **self.calibration_.numbers()}
        notes = {"prior": describe(self.prior_)} | ({"chosen": self.method_} if self.method == AUTO else {})
        return enclose(type(self).__name__, non_default_settings(self, "estimator"), self.estimator_, notes, numbers)

    @classmethod
    def from_bundle(cls, saved: Bundle) -> Self:
        """Back from a file."""
        fitted, notes, numbers = disclose(saved)
        made = cls(clone(fitted), **saved.settings)
        made._check_settings()
        made.estimator_, made.shares_, made.prior_ = fitted, numbers.pop("shares"), build(notes["prior"])
        if made.prior_ is not None:
            normal_prior(made.prior_)
        made.method_ = str(notes.get("chosen", "")) if made.method == AUTO else made.method
        made.calibration_ = calibration_of(made.method_, numbers, len(made.shares_))
        if made.shares_.shape != fitted.classes_.shape:
            raise ModelFileError("its map is of other classes")
        set_features(made, core(made).model_.schema)
        return made

    def explain(
        self, X: TableLike, top: int | None = None, prior: PriorLike = None, names: NamesLike = None
    ) -> Explanation:
        check_is_fitted(self)
        raw: Explanation = self.estimator_.explain(X, top, names=names)
        moved = self._log_prior_ratio(prior)
        before = self.estimator_.predict_log_proba(X)
        heat = self.calibration_.weight if isinstance(self.calibration_, Temperature) else 1.0
        changed = before < -SURE if isinstance(self.calibration_, Temperature) else np.ones_like(before, dtype=bool)
        scaled, rest = _settle(raw, heat, self.calibration_(before), changed)
        found = replace(
            scaled, prior=scaled.prior + moved, proba=self.predict_proba(X, prior), asked=None, density=False
        )
        if not rest.any() and isinstance(self.calibration_, Temperature):
            return found
        return replace(
            found,
            parts=(*raw.parts, PART),
            terms=np.concatenate([found.terms, rest[:, None]], axis=1),
            values=tuple((*row, "") for row in raw.values),
            unseen=None if raw.unseen is None else np.pad(raw.unseen, ((0, 0), (0, 1))),
        )

    def nomogram(
        self,
        target: Label | None = None,
        rival: Label | None = None,
        prior: PriorLike = None,
        among: TableLike | None = None,
        names: NamesLike = None,
    ) -> Nomogram:
        check_is_fitted(self)
        plain: Nomogram = self.estimator_.nomogram(target, rival, among=among, names=names)
        a, b = plain.pair
        moved = float(np.subtract(*self._log_prior_ratio(prior)[[a, b]]))
        if isinstance(self.calibration_, Temperature):
            return replace(plain, link=plain.link.scale(self.calibration_.weight, moved))
        if isinstance(self.calibration_, Sigmoid) and len(self.classes_) == 2:
            return replace(plain, link=plain.link.scale(self.calibration_.slope[a], self.calibration_.shift[a] + moved))
        more = isinstance(self.calibration_, Sigmoid | Vector)
        why = "between more than two classes" if more else "by a curve, or in steps"
        raise InputError(
            f"calibration by {self.method!r} moves the odds {why}, so they no longer add up column by column; "
            f"calibrate by 'temperature', or ask the classifier itself (estimator_.nomogram)"
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def _settle(raw: Explanation, heat: float, wanted: Float, changed: Bool) -> tuple[Explanation, Float]:
    """Terms times a temperature, and what they lack, (n, K), of the log posteriors wanted where these are changed.

    Where a term makes a class impossible but its calibrated probability is not 0, the term is what the others lack.
    """
    never = np.isneginf(raw.terms)
    terms = heat * np.where(never, 0.0, raw.terms)
    prior = heat * np.where(np.isneginf(raw.prior), 0.0, raw.prior)
    have, best = prior + terms.sum(axis=1), np.argmax(wanted, axis=1)[:, None]
    start = np.take_along_axis(have - wanted, best, axis=1)  # posteriors are known up to a constant of the row
    lack = np.where(changed, wanted + start - have, 0.0)
    times = never.sum(axis=1)
    terms += never * (lack / np.maximum(times, 1))[:, None]
    return replace(raw, prior=prior, terms=terms), np.where(times > 0, 0.0, lack)


def _has_learned(fitted: BayesClassifier | AutoBayes, X: TableLike, y: LabelsLike, weight: WeightsLike) -> bool:
    """Whether these are the rows a classifier has learned: they give the same counts."""
    inner = core(fitted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return learn_rows(inner.spec(), X, y, weight).digest == replace(inner.model_, weighting=None).digest
