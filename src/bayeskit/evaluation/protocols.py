"""Protocols: what an evaluation asks of the classifiers of this library; any other is fitted and asked as it stands."""

from __future__ import annotations

from typing import Any, Protocol, Self, runtime_checkable

from bayeskit.arrays import Float, TableLike
from bayeskit.model.learn import Spec
from bayeskit.model.model import Model


@runtime_checkable
class SupportsSpec(Protocol):
    """A classifier of one model: what it learns is a value."""

    def spec(self) -> Spec:
        """What to learn."""

    def fold_spec(self) -> Spec | None:
        """The same, if models of folds come from one pass; None where a fold needs a fit of its own."""

    def with_model(self, model: Model) -> Self:
        """A copy that knows what a model has learned."""


@runtime_checkable
class Wrapper(Protocol):
    """A classifier that reads tables as a model does, perhaps around others: a pool, a calibration, a decision."""

    def table_reader(self) -> Model | None:
        """The model that knows the columns; None where the classifier inside is of another library."""

    def honest_log_proba(self, X: TableLike) -> Float | None:
        """log P(class | row) not rounded to 0 and 1 on the way, (n, K); None where ``predict_proba`` is its own."""


@runtime_checkable
class Decider(Protocol):
    """A classifier that acts at least risk, or abstains."""

    costs: Any
    reject: float | None
    abstain: Any

    @property
    def may_abstain(self) -> bool:
        """Whether a row may be left undecided."""
