"""RiskClassifier: any classifier with probabilities, made to act at least risk or to abstain."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from bayeskit.arrays import (
    Array,
    Bool,
    Classifier,
    ColumnNames,
    CostsLike,
    Float,
    Int,
    Label,
    LabelsLike,
    NamesLike,
    TableLike,
    WeightsLike,
)
from bayeskit.decision.costs import Costs
from bayeskit.decision.decision import Decision, decide
from bayeskit.errors import InputError, KindError
from bayeskit.evaluation.protocols import Wrapper
from bayeskit.explain.explanation import Explanation
from bayeskit.explain.flips import Decide, Flips, Freedom
from bayeskit.explain.nomogram import Nomogram
from bayeskit.model.model import Model
from bayeskit.portable.program import Portable, Program, Unportable


class RiskClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Predicts the action of least expected cost, sum over c of P(c | x) cost(c, action), or abstains.

    Parameters
    ----------
    estimator : classifier
        The classifier whose posterior is weighed; a copy is fitted.
    costs : Costs, mapping, frame or path, optional
        A row for each class and a column for each action. None is 0/1: the most probable class.
    reject : float, optional
        Abstain where the best action is expected to cost more.
    threshold : float, optional
        Abstain where the most probable class has less.
    outlier : float, optional
        Abstain where log p(x) is below: the row is like nothing learned. It needs an estimator with ``log_evidence``
        or ``score_samples``.
    abstain : object, default "abstain"
        The answer that stands for abstaining.

    Attributes
    ----------
    classes_ : array of shape (K,)
        The classes of the estimator.

    Examples
    --------
    >>> import bayeskit as bk
    >>> costs = bk.Costs({"ill": {"treat": 1, "wait": 50}, "well": {"treat": 5, "wait": 0}})
    >>> model = bk.RiskClassifier(bk.NaiveBayes(), costs, reject=2)
    >>> model = model.fit([[1.0], [2.0], [2.0], [3.0]], ["well", "well", "ill", "ill"])
    >>> model.predict([[0.0], [2.0], [5.0]])
    array(['wait', 'abstain', 'treat'], dtype=object)
    """

    def __init__(
        self,
        estimator: Classifier,
        costs: CostsLike = None,
        reject: float | None = None,
        *,
        threshold: float | None = None,
        outlier: float | None = None,
        abstain: Label = "abstain",
    ) -> None:
        self.estimator = estimator
        self.costs = costs
        self.reject = reject
        self.threshold = threshold
        self.outlier = outlier
        self.abstain = abstain

    def fit(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike = None, **fit_params: Any) -> Self:
        """Fit the estimator; the costs must have a row for every class found.

        Parameters
        ----------
        X : table
            Rows: a frame, a mapping of columns, records, an array, a sparse matrix, a path, a relation or a Spark
            frame.
        y : array of shape (n,) or str
            The labels, or the name of their column in X.
        sample_weight : array of shape (n,), optional
            Weights of the rows, if the estimator takes them.
        **fit_params
            Further arguments of the ``fit`` of the estimator.
        """
        self._check_settings()
        if sample_weight is not None:
            fit_params["sample_weight"] = sample_weight
        if not hasattr(self.estimator, "predict_proba"):
            raise KindError(
                f"{type(self.estimator).__name__} gives no probabilities (predict_proba), so no expected cost; "
                f"choose a classifier that does, or calibrate it"
            )
        fitted = clone(self.estimator).fit(X, y, **fit_params)
        costs = Costs.of(self.costs, fitted.classes_.tolist())
        costs.matrix_for(fitted.classes_)
        self.estimator_, self.costs_ = fitted, costs
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        return self

    @property
    def classes_(self) -> Array:
        """The classes of the estimator; columns of probabilities follow this order."""
        if not hasattr(self, "estimator_"):
            raise AttributeError("classes_ is there after fit")
        classes: Array = self.estimator_.classes_
        return classes

    def decide(self, X: TableLike) -> Decision:
        """For each row what every action is expected to cost, and the best; abstaining is left aside.

        Parameters
        ----------
        X : table
            Rows: a frame, a mapping of columns, records, an array, a sparse matrix, a path, a relation or a Spark
            frame.
        """
        return self._decided(X)[0]

    def predict(self, X: TableLike) -> Array:
        """The action of each row; in the type of the classes if every answer is one.

        Parameters
        ----------
        X : table
            Rows: a frame, a mapping of columns, records, an array, a sparse matrix, a path, a relation or a Spark
            frame.
        """
        decision, refused = self._decided(X)
        if not refused.any() and set(self.costs_.actions) <= set(self.classes_.tolist()):
            return decision.action.astype(self.classes_.dtype)
        return np.where(refused, np.array([self.abstain], dtype=object), decision.action)

    @property
    def may_abstain(self) -> bool:
        """Whether there is a reason to abstain."""
        return any(reason is not None for reason in (self.reject, self.threshold, self.outlier))

    def abstained(self, X: TableLike) -> Bool:
        """Whether no action is taken: (n,).

        Parameters
        ----------
        X : table
            Rows: a frame, a mapping of columns, records, an array, a sparse matrix, a path, a relation or a Spark
            frame.
        """
        return self._decided(X)[1]

    def _decided(self, X: TableLike, proba: Float | None = None) -> tuple[Decision, Bool]:
        """The best action of each row, and whether to abstain from it; the posterior may be known already."""
        proba = self.predict_proba(X) if proba is None else proba
        decision, refused = decide(proba, self.costs_, self.classes_), np.zeros(len(proba), dtype=bool)
        if self.reject is not None:
            refused |= decision.cost > self.reject
        if self.threshold is not None:
            refused |= proba.max(axis=1) < self.threshold
        if self.outlier is not None:
            refused |= self._usual(X) < self.outlier
        return decision, refused

    def predict_proba(self, X: TableLike) -> Float:
        """P(class | row) of the estimator, (n, K).

        Parameters
        ----------
        X : table
            Rows: a frame, a mapping of columns, records, an array, a sparse matrix, a path, a relation or a Spark
            frame.
        """
        check_is_fitted(self, "estimator_")
        proba: Float = self.estimator_.predict_proba(X)
        return proba

    def table_reader(self) -> Model | None:
        """The model that knows the columns, if the estimator is of this library."""
        inner = self.estimator_
        return inner.table_reader() if isinstance(inner, Wrapper) else None

    def program(self) -> Program:
        """The portable program of the estimator, whose posterior the costs are weighed with."""
        if not isinstance(self.estimator_, Portable):
            raise Unportable(f"{type(self.estimator_).__name__} is of another library")
        return self.estimator_.program()

    def honest_log_proba(self, X: TableLike) -> Float | None:
        """log P(class | row) of the estimator, (n, K), if it says it so."""
        inner = self.estimator_
        return inner.honest_log_proba(X) if isinstance(inner, Wrapper) else None

    def explain(self, X: TableLike, top: int | None = None, names: NamesLike = None) -> Explanation:
        """What each column says for each class, adding up to the posterior that the costs are weighed with.

        ``names`` are those of the columns of a matrix.

        Parameters
        ----------
        X : table
            Rows: a frame, a mapping of columns, records, an array, a sparse matrix, a path, a relation or a Spark
            frame.
        top : int, optional
            Show so many columns, those with the widest spread between classes, and the others as one.
        names : sequence of str, optional
            Names of the columns of a matrix, such as the words of a vectorizer.
        """
        check_is_fitted(self, "estimator_")
        found: Explanation = self._explaining("explain").explain(X, top, names=names)
        return found

    def counterfactual(
        self,
        X: TableLike,
        among: TableLike | None = None,
        *,
        hold: ColumnNames = (),
        columns: int = 1,
        names: NamesLike = None,
    ) -> Flips:
        """What would change the action of each row: in each column the nearest value that does; abstaining counts.

        ``among``, ``hold``, ``columns`` and ``names`` as in the classifier's own ``counterfactual``.

        Parameters
        ----------
        X : table
            Rows: a frame, a mapping of columns, records, an array, a sparse matrix, a path, a relation or a Spark
            frame.
        among : table, optional
            Rows as they occur: only numbers within theirs are used, and their values in columns of which the model
            knows none.
        hold : sequence of str
            Columns that stay as they are (age, sex).
        columns : {1, 2}, default 1
            Change one column, or two together where that takes a smaller change.
        names : sequence of str, optional
            Names of the columns of a matrix, such as the words of a vectorizer.
        """
        check_is_fitted(self, "estimator_")
        actions = np.array([*self.costs_.actions, self.abstain], dtype=object)
        return self.flips(X, self._taken, actions, Freedom.of(among, hold, columns, names))

    def flips(self, X: TableLike, decide: Decide, outcomes: Array, free: Freedom) -> Flips:
        found: Flips = self._explaining("counterfactual").flips(X, decide, outcomes, free)
        return found

    def _taken(self, X: TableLike) -> tuple[Int, Float]:
        """The action of each row by number, the last one for none, and its probability if it is a class."""
        proba = self.predict_proba(X)
        decision, refused = self._decided(X, proba)
        place = {label: k for k, label in enumerate(self.classes_.tolist())}
        column = np.array([place.get(action, -1) for action in (*self.costs_.actions, None)])
        action = np.where(refused, len(column) - 1, decision.best)
        chance = np.column_stack([proba, np.full(len(proba), np.nan)])[np.arange(len(proba)), column[action]]
        return action, chance

    def nomogram(
        self,
        target: Label | None = None,
        rival: Label | None = None,
        among: TableLike | None = None,
        names: NamesLike = None,
    ) -> Nomogram:
        """The nomogram of the estimator's posterior.

        Parameters
        ----------
        target : class, optional
            The class whose odds are shown.
        rival : class, optional
            The class it is compared with; needed with more than two classes.
        among : table, optional
            Rows as they occur: only numbers within theirs are used, and their values in columns of which the model
            knows none.
        names : sequence of str, optional
            Names of the columns of a matrix, such as the words of a vectorizer.
        """
        check_is_fitted(self, "estimator_")
        found: Nomogram = self._explaining("nomogram").nomogram(target, rival, among=among, names=names)
        return found

    def _explaining(self, what: str) -> Any:
        if not hasattr(self.estimator_, "explain"):
            raise KindError(
                f"{what}() asks a bayeskit classifier for its terms, and {type(self.estimator_).__name__} is none; "
                f"wrap one of bayeskit's"
            )
        return self.estimator_

    def score(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike = None) -> float:
        """Minus the mean cost of the actions taken, so that more is better; abstaining costs ``reject`` (or nothing).

        Without costs it is the accuracy.

        Parameters
        ----------
        X : table
            Rows: a frame, a mapping of columns, records, an array, a sparse matrix, a path, a relation or a Spark
            frame.
        y : array of shape (n,) or str
            The labels, or the name of their column in X.
        sample_weight : array of shape (n,), optional
            Weights of the rows: a weight of 2 is the same as two copies of a row.
        """
        if self.costs is None and self.reject is None:
            return float(super().score(X, y, sample_weight))
        decision, refused = self._decided(X)
        row = {label: i for i, label in enumerate(self.classes_.tolist())}
        labels = np.asarray(y).tolist()
        if unknown := [label for label in labels if label not in row]:
            raise InputError(f"y has the label {unknown[0]!r}, which is not a class the costs are given for")
        matrix = self.costs_.matrix_for(self.classes_)
        cost = matrix[[row[label] for label in labels], decision.best]
        weights = None if sample_weight is None else np.asarray(sample_weight)
        return -float(np.average(np.where(refused, self.reject or 0.0, cost), weights=weights))

    def _usual(self, X: TableLike) -> Float:
        for name in ("log_evidence", "score_samples"):
            if hasattr(self.estimator_, name):
                usual: Float = getattr(self.estimator_, name)(X)
                return usual
        raise KindError(
            f"outlier={self.outlier}: {type(self.estimator_).__name__} has neither log_evidence nor score_samples; "
            f"choose a classifier with a density, or leave outlier=None"
        )

    def _check_settings(self) -> None:
        for name in ("reject", "threshold", "outlier"):
            value = getattr(self, name)
            if value is not None and not np.isfinite(value):
                raise InputError(f"{name}={value!r}: give a finite number, or None")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise InputError(f"threshold={self.threshold!r} is a probability, between 0 and 1")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags
        return tags
