"""Views: what was learned under the names that scikit-learn's users look for."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

import bayeskit
from bayeskit.arrays import Array, ColumnNames, Float, LabelsLike, NamesLike, PriorLike, TableLike, WeightsLike
from bayeskit.estimators.docstrings import document
from bayeskit.explain.flips import Decide, Flips, Freedom, most_probable
from bayeskit.explain.probability_table import ProbabilityTable, level_probabilities
from bayeskit.explain.words import word_probabilities

if TYPE_CHECKING:
    from bayeskit.model.model import Model


@document()
class Surface(ClassifierMixin):
    """What classifiers of one model and those made of others answer in the same way."""

    if TYPE_CHECKING:

        @property
        def classes_(self) -> Array: ...
        def __sklearn_is_fitted__(self) -> bool: ...
        def predict_proba(self, X: TableLike, prior: PriorLike = None) -> Float: ...
        def flips(self, X: TableLike, decide: Decide, outcomes: Array, free: Freedom) -> Flips: ...
        def summary(self, names: NamesLike = None) -> Any: ...

    def score(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike = None) -> float:
        """The share of rows that are predicted right."""
        if isinstance(y, str):
            from bayeskit.evaluation.evaluate import evaluate  # 0.1 s that no other method needs
            from bayeskit.evaluation.methods import AsFitted

            check_is_fitted(self)
            return float(evaluate(self, X, y, AsFitted(), sample_weight=sample_weight).accuracy)
        return float(super().score(X, y, sample_weight))

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
        """What would change the decision of each row: in each column the nearest value that flips it.

        Only numbers within those learned are tried, unless there are rows ``among`` which to stay.
        """
        check_is_fitted(self)
        free = Freedom.of(among, hold, columns, names)
        return self.flips(X, lambda table: most_probable(self.predict_proba(table, prior)), self.classes_, free)

    def panel(self, X: TableLike | None = None, *, height: int = 720) -> Any:
        """A panel in a notebook on which values are set and the posterior is seen, as ``bk.panel``.

        Parameters
        ----------
        X : table, optional
            Rows whose values the panel offers; those that the model has learned unless given.
        """
        check_is_fitted(self)
        return bayeskit.panel(self, X, height=height)

    def _html_repr(self) -> str:
        """In a notebook: the settings, and once fitted what was learned."""
        if not self.__sklearn_is_fitted__():
            return str(super()._html_repr())
        return f"<div><code>{html.escape(repr(self))}</code>{self.summary()._repr_html_()}</div>"


@document()
class Views(Surface):
    """Counts, priors and tables of probabilities of one model."""

    if TYPE_CHECKING:
        model_: Model

    @property
    def class_count_(self) -> Float:
        """The weight of the rows of each class: (K,)."""
        return self._require_model("class_count_").weights

    @property
    def class_prior_(self) -> Float:
        """P(class), (K,)."""
        return np.exp(self.class_log_prior_)

    @property
    def class_log_prior_(self) -> Float:
        """log P(class), (K,)."""
        return self._require_model("class_prior_").log_prior()

    @property
    def feature_log_prob_(self) -> Float:
        """log P(word | class) where all columns are words, (K, columns)."""
        model = self._require_model("feature_log_prob_")
        words = {name for group in model.class_density.densities for name in group.columns}
        try:
            columns, share = word_probabilities(model)
        except ValueError as error:
            raise AttributeError(f"feature_log_prob_: {error}") from error
        if len(columns) < len(words):
            raise AttributeError("feature_log_prob_ is there where all columns are words; ask probabilities()")
        with np.errstate(divide="ignore"):
            logs: Float = np.log(share).T
        return logs

    def probabilities(self, names: NamesLike = None) -> ProbabilityTable:
        """P(level | class) and P(word | class) of every column that has levels or words, with the weight counted.

        Columns of numbers have densities: ``marginal(column)``.

        Returns
        -------
        ProbabilityTable
            ``frame()`` has the columns "column", "level" (or the word), "class", "P" and "count".
        """
        check_is_fitted(self, "model_")
        return level_probabilities(self.model_, names)

    def _require_model(self, what: str) -> Model:
        if "model_" not in vars(self):
            raise AttributeError(f"{what} is there after fit")
        return self.model_
