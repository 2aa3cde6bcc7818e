"""RiskClassifier: any classifier with probabilities, made to act at least risk or to abstain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bayeskit.arrays import (
    Array,
    Bool,
    Classifier,
    ColumnNames,
    CostsLike,
    Float,
    Frame,
    Int,
    Label,
    LabelsLike,
    NamesLike,
    PriorLike,
    TableLike,
    WeightsLike,
)
from bayeskit.decision.costs import Costs, Decision, decide
from bayeskit.decision.information import InformationValue
from bayeskit.decision.threshold import least_cost_threshold, threshold_of_costs
from bayeskit.errors import InputError, KindError, MergeError, ModelFileError
from bayeskit.estimators.any_wrapper import AnyWrapper
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.conformal import Conformal
from bayeskit.estimators.docstrings import document
from bayeskit.estimators.learner import non_default_settings
from bayeskit.estimators.revive import disclose, enclose
from bayeskit.estimators.wrapper import Refused, Wrapper, if_inside
from bayeskit.evaluation.evaluate import evaluate
from bayeskit.evaluation.methods import CrossValidation
from bayeskit.evaluation.protocols import score_samples
from bayeskit.explain.flips import Flips, Freedom
from bayeskit.model.codec import build, describe
from bayeskit.model.labelled_table import LabelledTable
from bayeskit.storage.model_file import Bundle

SET = "set"
TUNED = "out-of-fold"
CERTAIN = float(np.nextafter(1.0, 2.0))  # a cutoff that no probability reaches


@document()
@dataclass(eq=False, repr=False)
class RiskClassifier(AnyWrapper):
    """Predicts the action of least expected cost, sum over c of P(c | x) cost(c, action), or abstains.

    Parameters
    ----------
    estimator : classifier
        The classifier whose posterior is weighed; a copy is fitted.
    costs : Costs, mapping, frame or path, optional
        A row for each class and a column for each action. None is 0/1: the most probable class.
    reject : float or "set", optional
        Abstain where the best action is expected to cost more; it is the cost of abstaining. With "set", abstain where
        the set of a ``Conformal`` inside has not just one class.
    threshold : float, optional
        Abstain where the most probable class has less.
    outlier : float, optional
        Abstain where log p(x) is below: the row is like nothing learned. It needs an estimator with ``log_evidence``
        or ``score_samples``.
    novelty : float, optional
        Abstain where the p-value of the row, by a ``Conformal`` inside, is at most this: it is like nothing learned.
    abstain : object, default "abstain"
        The answer that stands for abstaining: a label, not a cost.
    cutoff : float or "out-of-fold", optional
        With two classes and two actions: the probability of the second class from which on its action is taken, in
        place of the one that the costs say. "out-of-fold" takes that of least cost over the rows of ``fit``, each
        judged by a model of other folds: where probabilities are not right, costs alone draw the line amiss.
    folds : int or splitter, default 5
        Folds of ``cutoff="out-of-fold"``.

    Attributes
    ----------
    classes_ : array of shape (K,)
        The classes of the estimator.
    cutoff_ : float or None
        The cutoff in use; None where the costs decide.

    Examples
    --------
    >>> import bayeskit as bk
    >>> costs = bk.Costs({"ill": {"treat": 1, "wait": 50}, "well": {"treat": 5, "wait": 0}})
    >>> model = bk.RiskClassifier(bk.NaiveBayes(), costs, reject=2)
    >>> model = model.fit([[1.0], [2.0], [2.0], [3.0]], ["well", "well", "ill", "ill"])
    >>> model.predict([[0.0], [2.0], [5.0]])
    array(['wait', 'abstain', 'treat'], dtype=object)
    """

    estimator: Classifier
    costs: CostsLike = None
    reject: float | str | None = None
    _: KW_ONLY
    threshold: float | None = None
    outlier: float | None = None
    novelty: float | None = None
    abstain: Label = "abstain"
    cutoff: float | str | None = None
    folds: object = 5

    def fit(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike = None, **fit_params: object) -> Self:
        """Fit the estimator; the costs must have a row for every class found.

        Parameters
        ----------
        sample_weight : array of shape (n,), optional
            Weights of the rows, if the estimator takes them.
        **fit_params
            Further arguments of the ``fit`` of the estimator.
        """
        self._check_settings()
        if sample_weight is not None:
            fit_params["sample_weight"] = sample_weight
        self._check_probabilities("expected cost")
        fitted = clone(self.estimator).fit(X, y, **fit_params)
        tuned = self._tune(X, y, sample_weight, fitted.classes_) if self.cutoff == TUNED else self._fixed_cutoff
        return self._adopt(fitted, tuned)

    @property
    def _fixed_cutoff(self) -> float | None:
        return None if self.cutoff is None or isinstance(self.cutoff, str) else float(self.cutoff)

    def _tune(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike, classes: Array) -> float:
        """The cutoff of least cost over rows that the model of their fold has not learned."""
        table = Costs.of(self.costs, classes.tolist()).matrix_for(classes)
        threshold_of_costs(table)
        tested = evaluate(
            self.estimator, X, y, CrossValidation(self.folds), sample_weight=sample_weight, random_state=0
        )
        rows = tested.require_rows("cutoff='out-of-fold'").rows
        proba = np.asarray(tested.proba)
        known = rows.counted & ~np.isnan(proba).any(axis=1)
        return least_cost_threshold(proba[known, 1], rows.codes[known] == 1, rows.weights[known], table)

    def _adopt(self, fitted: Any, cutoff: float | None = None) -> Self:
        """Take a fitted estimator, if the costs have its classes."""
        costs = Costs.of(self.costs, fitted.classes_.tolist())
        table = costs.matrix_for(fitted.classes_)
        if cutoff is not None:
            threshold_of_costs(table)
        self.estimator_, self.costs_, self.cutoff_ = fitted, costs, cutoff
        self._take_features(fitted)
        return self

    def _readopt(self, fitted: object) -> Self:
        """Take an estimator that has learned or forgotten rows; a cutoff that was tuned is of the old ones."""
        if self.cutoff == TUNED:
            raise KindError(
                "the cutoff was tuned to the rows of fit, and would have to be tuned anew; fit it to all rows"
            )
        return self._adopt(fitted, self._fixed_cutoff)

    calibrated: ClassVar[Any] = Refused(
        "acts on what estimator_ says; calibrate that (estimator_.calibrated) and wrap it"
    )

    @if_inside
    def partial_fit(
        self, X: TableLike, y: LabelsLike, classes: LabelsLike | None = None, sample_weight: WeightsLike = None
    ) -> Self:
        self._check_settings()
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        fitted = self._copy() if self.__sklearn_is_fitted__() else clone(self.estimator)
        return self._readopt(fitted.partial_fit(X, y, classes, **weight))

    def _copy(self) -> Any:
        """The estimator, to be changed; models of this library are replaced whole, so that one level is enough."""
        inner = self.estimator_
        return copy(inner) if isinstance(inner, BayesClassifier | Wrapper) else deepcopy(inner)

    def forget(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        check_is_fitted(self)
        return self._readopt(copy(self.base_).forget(X, y, sample_weight))

    def renew(self, X: TableLike | None = None, y: LabelsLike | None = None, sample_weight: WeightsLike = None) -> Self:
        check_is_fitted(self)
        return self._readopt(copy(self.base_).renew(X, y, sample_weight))

    def merge(self, other: object) -> Self:
        if not isinstance(other, RiskClassifier):
            raise MergeError(f"cannot merge RiskClassifier with {type(other).__name__}; give two of one kind")
        check_is_fitted(self)
        check_is_fitted(other)
        return type(self)(**self.get_params(deep=False))._readopt(self.base_.merge(other.base_))

    def adapt_prior(self, X: TableLike) -> Self:
        check_is_fitted(self)
        adapted = self.base_.adapt_prior(X)
        return self._with(estimator_=adapted, prior_shift_=adapted.prior_shift_)

    def decide(self, X: TableLike) -> Decision:
        """For each row what every action is expected to cost, and the best; abstaining is left aside."""
        return self._decide(X)[0]

    def predict(self, X: TableLike, prior: PriorLike = None) -> Array:
        """The action of each row; in the type of the classes if every answer is one."""
        decision, refused = self._decide(X, self.predict_proba(X, prior))
        if not refused.any() and set(self.costs_.actions) <= set(self.classes_.tolist()):
            return decision.action.astype(self.classes_.dtype)
        return np.where(refused, np.array([self.abstain], dtype=object), decision.action)

    @property
    def may_abstain(self) -> bool:
        """Whether there is a reason to abstain."""
        return any(reason is not None for reason in (self.reject, self.threshold, self.outlier, self.novelty))

    @property
    def reject_cost(self) -> float | None:
        """The cost of abstaining, if it has one."""
        return None if self.reject is None or isinstance(self.reject, str) else float(self.reject)

    def abstained(self, X: TableLike) -> Bool:
        """Whether no action is taken: (n,)."""
        return self._decide(X)[1]

    def _decide(self, X: TableLike, proba: Float | None = None) -> tuple[Decision, Bool]:
        """The best action of each row, and whether to abstain from it; the posterior may be known already."""
        proba = self.predict_proba(X) if proba is None else proba
        decision, refused = decide(proba, self.costs_, self.classes_), np.zeros(len(proba), dtype=bool)
        if self.cutoff_ is not None:
            act = threshold_of_costs(self.costs_.matrix_for(self.classes_))[1]
            decision = replace(decision, taken=np.where(proba[:, 1] >= self.cutoff_, act, 1 - act))
        if self.reject_cost is not None:
            refused |= decision.cost > self.reject_cost
        if self.reject == SET:
            refused |= self._conformal().predict_set(X).sum(axis=1) != 1
        if self.novelty is not None:
            refused |= self._conformal().novelty(X) <= self.novelty
        if self.threshold is not None:
            refused |= proba.max(axis=1) < self.threshold
        if self.outlier is not None:
            refused |= self._usual(X) < self.outlier
        return decision, refused

    def _conformal(self) -> Conformal:
        inner = self.estimator_
        assert isinstance(inner, Conformal)
        return inner

    def value_of_information(
        self,
        X: TableLike,
        costs: CostsLike = None,
        prices: Mapping[str, float] | None = None,
        columns: Sequence[str] | None = None,
        prior: PriorLike = None,
    ) -> InformationValue:
        check_is_fitted(self)
        costs = self.costs_ if costs is None else costs
        return self.base_.value_of_information(X, costs, prices, columns, prior)

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
        check_is_fitted(self)
        self.check_acts()
        costs, reject = self.costs_ if costs is None else costs, self.reject_cost if reject is None else reject
        return super().predict_frame(X, keep, prior, costs=costs, reject=reject, evidence=evidence, reasons=reasons)

    def check_acts(self) -> None:
        """Refuse to put actions beside rows where it may abstain for another reason than their cost."""
        others = self.threshold, self.outlier, self.novelty, self.reject if self.reject_cost is None else None
        if any(reason is not None for reason in (*others, self.cutoff)):
            raise KindError(
                "predict_frame(): RiskClassifier may abstain by threshold, outlier, novelty or set, or act by a "
                "cutoff, which its columns do not show; call predict, or decide"
            )

    def counterfactual(
        self,
        X: TableLike,
        prior: PriorLike = None,
        among: TableLike | None = None,
        *,
        hold: ColumnNames = (),
        columns: int = 1,
        names: NamesLike = None,
    ) -> Flips:
        check_is_fitted(self)
        actions = np.array([*self.costs_.actions, self.abstain], dtype=object)
        free = Freedom.of(among, hold, columns, names)
        return self.flips(X, lambda table: self._taken(table, prior), actions, free)

    def _taken(self, X: TableLike, prior: PriorLike) -> tuple[Int, Float]:
        """The action of each row by number, the last one for none, and its probability if it is a class."""
        proba = self.predict_proba(X, prior)
        decision, refused = self._decide(X, proba)
        place = {label: k for k, label in enumerate(self.classes_.tolist())}
        column = np.array([place.get(action, -1) for action in (*self.costs_.actions, None)])
        action = np.where(refused, len(column) - 1, decision.best)
        chance = np.column_stack([proba, np.full(len(proba), np.nan)])[np.arange(len(proba)), column[action]]
        return action, chance

    def score(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike = None) -> float:
        """Minus the mean cost of the actions taken, so that more is better; abstaining costs ``reject`` (or nothing).

        Without costs it is the accuracy.
        """
        if self.costs is None and self.reject_cost is None:
            return float(super().score(X, y, sample_weight))
        decision, refused = self._decide(X)
        row = {label: i for i, label in enumerate(self.classes_.tolist())}
        if isinstance(y, str):
            rows = LabelledTable.of(X, y, sample_weight).rows
            y, sample_weight = rows.classes[rows.codes], rows.weights
        labels = np.asarray(y).tolist()
        if unknown := [label for label in labels if label not in row]:
            raise InputError(f"y has the label {unknown[0]!r}, which is not a class the costs are given for")
        matrix = self.costs_.matrix_for(self.classes_)
        cost = matrix[[row[label] for label in labels], decision.best]
        weights = None if sample_weight is None else np.asarray(sample_weight)
        return -float(np.average(np.where(refused, self.reject_cost or 0.0, cost), weights=weights))

    def _usual(self, X: TableLike) -> Float:
        inner = self.estimator_
        return inner.log_evidence(X) if isinstance(inner, BayesClassifier | Wrapper) else score_samples(inner, X)

    def bundle(self) -> Bundle:
        costs = self.costs_
        notes = {"costs": describe([costs.classes, costs.actions, costs.matrix]), "given": self.costs is not None}
        notes |= {} if self.cutoff_ is None else {"cutoff": self.cutoff_}
        return enclose(type(self).__name__, non_default_settings(self, "estimator", "costs"), self.base_, notes, {})

    @classmethod
    def from_bundle(cls, saved: Bundle) -> Self:
        """Back from a file."""
        fitted, notes, _ = disclose(saved)
        classes, actions, matrix = build(notes["costs"])
        costs = Costs(np.array(matrix, dtype=np.float64), classes, actions)
        made = cls(clone(fitted), costs if notes["given"] else None, **saved.settings)
        made._check_settings()
        cutoff = notes.get("cutoff")
        if cutoff is not None and not (isinstance(cutoff, float) and 0 <= cutoff <= CERTAIN):
            raise ModelFileError("its cutoff is no probability")
        return made._adopt(fitted, cutoff)

    def _check_settings(self) -> None:
        if isinstance(self.reject, str) and self.reject != SET:
            raise InputError(f"reject={self.reject!r}: give the cost of abstaining, or 'set'")
        if (self.reject == SET or self.novelty is not None) and not isinstance(self.estimator, Conformal):
            raise KindError(
                f"reject='set' and novelty= ask a Conformal for its guarantee, and {type(self.estimator).__name__} has "
                f"none; wrap it: RiskClassifier(Conformal(model), ...)"
            )
        for name, value in (("reject", self.reject_cost), ("threshold", self.threshold), ("outlier", self.outlier)):
            if value is not None and not np.isfinite(value):
                raise InputError(f"{name}={value!r}: give a finite number, or None")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise InputError(f"threshold={self.threshold!r} is a probability, between 0 and 1")
        numeric = isinstance(self.cutoff, int | float) and not isinstance(self.cutoff, bool)
        if self.cutoff is not None and self.cutoff != TUNED and not (numeric and 0 <= float(self.cutoff) <= 1):
            raise InputError(f"cutoff={self.cutoff!r}: give a probability, between 0 and 1, or {TUNED!r}")
        if self.novelty is not None and not 0 < self.novelty < 1:
            raise InputError(f"novelty={self.novelty!r} is a p-value, between 0 and 1")
        if isinstance(self.abstain, float) and not self.abstain.is_integer() and not self.may_abstain:
            raise InputError(
                f"abstain={self.abstain!r} is the answer for rows left undecided, and nothing says which; "
                f"reject={self.abstain!r} is the cost of leaving a row"
            )
