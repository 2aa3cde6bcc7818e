"""PoolExplanations: why a pool answers as it does, for rows and over all values of columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bayeskit.arrays import Label, NamesLike, PriorLike, TableLike
from bayeskit.ensemble.ensemble import Ensemble
from bayeskit.ensemble.explanation import explain, nomogram
from bayeskit.ensemble.marginal import marginal, pairwise
from bayeskit.errors import InputError
from bayeskit.estimators.docstrings import document
from bayeskit.explain.explanation import Explanation
from bayeskit.explain.marginal import Marginal
from bayeskit.explain.nomogram import Nomogram
from bayeskit.explain.pairwise import PairwiseEffect
from bayeskit.explain.words import find_column


@document()
class PoolExplanations:
    """Explanations of rows, nomograms, and the effects of one column and of two."""

    if TYPE_CHECKING:

        @property
        def _pooled(self) -> Ensemble: ...

    def explain(
        self, X: TableLike, top: int | None = None, prior: PriorLike = None, names: NamesLike = None
    ) -> Explanation:
        """What each column says for each class, over all members, adding up to the posterior.

        A member's term counts as much as the member, and as much as it shows after the member is backed off to the
        prior (``back_off_terms``): no term moves the log-odds of two classes by more than the sum over members of
        2 weight log (rows + 10)/min P(c). Neighbours, forests and whatever does not take columns one by one reveal them
        in the order of the table, and a column says what changes: columns that tell the same share the credit by their
        order. "back-off" is what of the members' priors is lost in backing off. ``prior`` and terms add up to the
        score of the pool but for what all classes have in common. ``names`` are those of the columns of a matrix.
        """
        whole = explain(self._pooled, X, prior, names)
        return whole if top is None else whole.top(top)

    def nomogram(
        self,
        target: Label | None = None,
        rival: Label | None = None,
        prior: PriorLike = None,
        among: TableLike | None = None,
        names: NamesLike = None,
    ) -> Nomogram:
        """Points that add up to the odds, where they do: one member, with columns independent given two classes."""
        return nomogram(self._pooled, (target, rival), prior, among, names)

    def marginal(self, column: str, prior: PriorLike = None, names: NamesLike = None) -> Marginal:
        """The effect of one column on the answer: p(x | c) = p(x) P(c | x)/P(c), with P(c | x) if only x is known.

        Every member says what it knows from this column alone, and the pool weighs them as in ``predict_proba``.
        Differences of ``log_density`` between two classes are the log-odds that a value adds to those of a row without
        any value; p(x) is that of a naive Bayes model, and the same for all classes.
        """
        return replace(marginal(self._pooled, self._find(column, names), prior), name=column)

    def pairwise(self, first: str, second: str, prior: PriorLike = None, names: NamesLike = None) -> PairwiseEffect:
        """The effect of two columns together on the answer, and their interaction: what neither says alone.

        Every member says what it knows of rows with these two values alone, at levels or at quantiles of numbers.
        ``marginal`` is the effect of one of them.

        Parameters
        ----------
        first, second : str
            The columns.
        """
        one, two = self._find(first, names), self._find(second, names)
        if one == two:
            raise InputError(f"column {first!r} has no interaction with itself; name two columns")
        return replace(pairwise(self._pooled, one, two, prior), names=(first, second))

    def _find(self, column: str, names: NamesLike) -> str:
        return find_column(column, self._pooled.reader.model_.schema.names, names)
