"""AnyWrapper: around any classifier with probabilities, of this library or another."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from bayeskit.arrays import Array, Float, NamesLike, PriorLike, TableLike
from bayeskit.errors import KindError
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.docstrings import document
from bayeskit.estimators.wrapper import Wrapper
from bayeskit.evaluation.protocols import ReadsTables, features_of, gives_probabilities
from bayeskit.explain.explanation import Explanation
from bayeskit.model.model import Model
from bayeskit.portable.program import Portable, Program, Unportable


@document()
class AnyWrapper(MetaEstimatorMixin, Wrapper):
    """Its probabilities are those of ``estimator_``; what asks for terms needs a classifier of this library there."""

    estimator: Any
    estimator_: Any

    @property
    def base_(self) -> BayesClassifier | Wrapper:
        if isinstance(self.estimator_, BayesClassifier | Wrapper):
            return self.estimator_
        raise KindError(
            f"this asks a bayeskit classifier for its terms, and {type(self.estimator_).__name__} is none; wrap one of "
            f"bayeskit's"
        )

    @property
    def classes_(self) -> Array:
        """The classes of the estimator; columns of probabilities follow this order."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("classes_ is there after fit")
        classes: Array = self.estimator_.classes_
        return classes

    def predict_proba(self, X: TableLike, prior: PriorLike = None) -> Float:
        check_is_fitted(self)
        proba: Float = self.estimator_.predict_proba(X) if prior is None else self.base_.predict_proba(X, prior)
        return proba

    def predict_log_proba(self, X: TableLike, prior: PriorLike = None) -> Float:
        check_is_fitted(self)
        if isinstance(self.estimator_, BayesClassifier | Wrapper):
            return self.estimator_.predict_log_proba(X, prior)
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, prior))

    def program(self) -> Program:
        """The portable program of the estimator, whose posterior is that of the wrapper."""
        if not isinstance(self.estimator_, Portable):
            raise Unportable(f"{type(self.estimator_).__name__} is of another library")
        return self.estimator_.program()

    def honest_log_proba(self, X: TableLike) -> Float | None:
        inner = self.estimator_
        return inner.honest_log_proba(X) if isinstance(inner, ReadsTables) else None

    def table_reader(self) -> Model | None:
        inner = self.estimator_
        return inner.table_reader() if isinstance(inner, ReadsTables) else None

    def explain(
        self, X: TableLike, top: int | None = None, prior: PriorLike = None, names: NamesLike = None
    ) -> Explanation:
        check_is_fitted(self)
        return self.base_.explain(X, top, prior, names)

    def _check_probabilities(self, why: str) -> None:
        """Refuse an estimator without probabilities."""
        if not gives_probabilities(self.estimator):
            raise KindError(
                f"{type(self.estimator).__name__} gives no probabilities (predict_proba), so no {why}; "
                f"choose a classifier that does, or calibrate it"
            )

    def _take_features(self, fitted: object) -> None:
        """Number and names of the columns, as far as the estimator knows them."""
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(features_of(fitted))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags
        return tags
