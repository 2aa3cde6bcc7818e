"""Wrapper: a classifier around others, with the surface that every classifier of this library has."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import update_wrapper
from types import MethodType
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bayeskit.arrays import (
    Array,
    ColumnNames,
    CostsLike,
    FilePath,
    Float,
    Frame,
    Json,
    Label,
    LabelsLike,
    NamesLike,
    PriorLike,
    TableLike,
    WeightsLike,
)
from bayeskit.data.schema import Schema
from bayeskit.decision.information import InformationValue
from bayeskit.decision.shift import PriorShift
from bayeskit.errors import NoSuchAnswer
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.docstrings import document
from bayeskit.estimators.frames import predict_frame
from bayeskit.estimators.views import Surface
from bayeskit.evaluation.protocols import check_offers
from bayeskit.explain.explanation import Explanation
from bayeskit.explain.flips import Decide, Flips, Freedom
from bayeskit.explain.marginal import Marginal
from bayeskit.explain.nomogram import Nomogram
from bayeskit.model.batch_predictor import BatchPredictor
from bayeskit.model.model import Model
from bayeskit.storage.model_file import Bundle
from bayeskit.structures.exactness import Exactness


class Refused:
    """In place of a method: there is no such answer. It is not there for ``hasattr``, and asking for it says why."""

    def __init__(self, why: str) -> None:
        self.why = why  # and what to do instead

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, asked: object, owner: type) -> Any:
        if asked is None:
            return self
        raise NoSuchAnswer(f"{self.name}(): {owner.__name__} {self.why}")


class if_inside:
    """A method that is there where the estimator inside has one of its name; else that one says why not."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        update_wrapper(cast(Any, self), method)

    def __get__(self, asked: Any, owner: type) -> Any:
        if asked is None:
            return self.method
        check_offers(asked.estimator, self.method.__name__)
        return MethodType(self.method, asked)


@document()
class Wrapper(Surface, BaseEstimator):
    """A classifier made of others: a pool, a calibration, a decision.

    It says ``predict_log_proba``, ``explain``, ``base_`` and ``bundle``; what it does not answer in its own way the
    classifier inside answers, or it refuses by name, with advice (``Refused``).
    """

    prune: ClassVar[Any] = Refused(
        "keeps more than counts and sums of single columns; prune a NaiveBayes of the same rows"
    )

    prior_shift_: PriorShift

    @property
    @abstractmethod
    def base_(self) -> BayesClassifier | Wrapper:
        """The classifier of this library inside, which reads tables; refused where it is of another library."""

    @abstractmethod
    def bundle(self) -> Bundle:
        """All that a file holds."""

    def __sklearn_is_fitted__(self) -> bool:
        return bool({"ensemble_", "estimator_"} & vars(self).keys())

    @property
    def classes_(self) -> Array:
        """The classes, sorted; columns of probabilities follow this order."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("classes_ is there after fit")
        return self.base_.classes_

    @property
    def schema_(self) -> Schema:
        """Each column with its kind and why."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("schema_ is there after fit")
        return self.base_.schema_

    @property
    def exact_(self) -> Exactness:
        """What learning, forgetting and merging give bit for bit, and what is held as the fit chose it."""
        check_is_fitted(self)
        return self.base_.exact_

    @property
    def n_jobs_(self) -> int | None:
        """Number of threads that answer."""
        base = self.base_
        return base.n_jobs if isinstance(base, BayesClassifier) else base.n_jobs_

    def predict(self, X: TableLike, prior: PriorLike = None) -> Array:
        """The most probable class of each row; the first of ``classes_`` in a tie."""
        best = np.argmax(self.predict_log_proba(X, prior), axis=1)
        labels: Array = self.classes_[best]
        return labels

    def predict_proba(self, X: TableLike, prior: PriorLike = None) -> Float:
        """P(class | row), (n, K); ``prior`` overrides the model's prior for this call."""
        return np.exp(self.predict_log_proba(X, prior))

    @abstractmethod
    def predict_log_proba(self, X: TableLike, prior: PriorLike = None) -> Float:
        """log P(class | row), (n, K)."""

    def predict_joint_log_proba(self, X: TableLike, prior: PriorLike = None) -> Float:
        """log P(class, row), (n, K), of the classifier inside."""
        check_is_fitted(self)
        return self.base_.predict_joint_log_proba(X, prior)

    def predict_frame(
        self,
        X: TableLike,
        keep: ColumnNames = (),
        prior: PriorLike = None,
        *,
        costs: CostsLike = None,
        reject: float | None = None,
        evidence: bool = False,
        reasons: int = 0,
    ) -> Frame:
        """Prediction and P(class | row) as columns, beside those to ``keep``."""
        wanted = {"costs": costs, "reject": reject, "evidence": evidence, "reasons": reasons}
        return self._frame(X, keep, prior, wanted)

    def _frame(self, X: TableLike, keep: ColumnNames, prior: PriorLike, wanted: Json) -> Frame:
        check_is_fitted(self)
        asked = BatchPredictor.of(core(self).model_, X, type(self).__name__, keep, self.n_jobs_, self)
        return predict_frame(asked, X, keep, prior, wanted)

    def log_evidence(self, X: TableLike, prior: PriorLike = None) -> Float:
        """log p(row) of the classifier inside, (n,): how usual a row is."""
        check_is_fitted(self)
        return self.base_.log_evidence(X, prior)

    @if_inside
    def score_samples(self, X: TableLike) -> Float:
        """The same as ``log_evidence``, by scikit-learn's name."""
        return self.log_evidence(X)

    @abstractmethod
    def explain(
        self, X: TableLike, top: int | None = None, prior: PriorLike = None, names: NamesLike = None
    ) -> Explanation:
        """What each column says for each class, adding up to the posterior."""

    def flips(self, X: TableLike, decide: Decide, outcomes: Array, free: Freedom) -> Flips:
        """Flips of decisions that this classifier, or one made of it, takes."""
        return self.base_.flips(X, decide, outcomes, free)

    def nomogram(
        self,
        target: Label | None = None,
        rival: Label | None = None,
        prior: PriorLike = None,
        among: TableLike | None = None,
        names: NamesLike = None,
    ) -> Nomogram:
        """Points for every value of every column, which add up to the odds of one class against another."""
        check_is_fitted(self)
        return self.base_.nomogram(target, rival, prior, among, names)

    def marginal(self, column: str, prior: PriorLike = None, names: NamesLike = None) -> Marginal:
        """p(x | c) of one column by itself, of the classifier inside."""
        check_is_fitted(self)
        return self.base_.marginal(column, prior, names)

    def value_of_information(
        self,
        X: TableLike,
        costs: CostsLike = None,
        prices: Mapping[str, float] | None = None,
        columns: Sequence[str] | None = None,
        prior: PriorLike = None,
    ) -> InformationValue:
        """Which missing value of a row is worth its price, by the classifier inside.

        Parameters
        ----------
        prices : mapping, optional
            What it costs to know a column, by name; 0 unless given.
        columns : sequence of str, optional
            Only these; all that are missing unless given.
        """
        check_is_fitted(self)
        return self.base_.value_of_information(X, costs, prices, columns, prior)

    def log_prior(self, prior: PriorLike = None) -> Float:
        """log P(class), (K,): the model's own, or that of ``prior``."""
        check_is_fitted(self)
        return self.base_.log_prior(prior)

    def summary(self, names: NamesLike = None) -> Any:
        """What was learned."""
        check_is_fitted(self)
        return self.base_.summary(names)

    @abstractmethod
    def adapt_prior(self, X: TableLike) -> Self:
        """A copy whose prior is the one that makes new, unlabelled rows most likely; ``prior_shift_`` shows both."""

    @abstractmethod
    def partial_fit(
        self, X: TableLike, y: LabelsLike, classes: LabelsLike | None = None, sample_weight: WeightsLike = None
    ) -> Self:
        """Learn more rows."""

    @abstractmethod
    def forget(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Unlearn rows."""

    @abstractmethod
    def renew(self, X: TableLike | None = None, y: LabelsLike | None = None, sample_weight: WeightsLike = None) -> Self:
        """Choose anew what is held, from the rows that were learned and not forgotten."""

    @abstractmethod
    def merge(self, other: Any) -> Self:
        """A new classifier that has learned what both have."""

    def probabilities(self, names: NamesLike = None) -> Any:
        """The table of P(value | class) of the classifier inside."""
        check_is_fitted(self)
        return self.base_.probabilities(names)

    def save(self, path: FilePath) -> None:
        """Write a ``.bayes`` file: whole or not at all."""
        check_is_fitted(self)
        self.bundle().save(path)

    def table_reader(self) -> Model | None:
        """The model that knows the columns; None where the estimator inside is of another library."""
        return core(self).model_

    def honest_log_proba(self, X: TableLike) -> Float | None:
        """log P(class | row), (n, K); None where a class has a ``predict_proba`` of its own."""
        return self.predict_log_proba(X) if type(self).predict_proba is Wrapper.predict_proba else None

    def _with(self, **state: object) -> Self:
        """A copy with other fitted state."""
        made = copy(self)
        made.__dict__.update(state)
        return made


def core(model: BayesClassifier | Wrapper) -> BayesClassifier:
    """The classifier of one model inside all wrappers, which knows columns and rows."""
    while isinstance(model, Wrapper):
        model = model.base_
    return model
