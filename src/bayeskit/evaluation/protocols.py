"""Protocols: what an evaluation asks of the classifiers of this library; any other is fitted and asked as it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self, runtime_checkable

from bayeskit.arrays import Float, PriorLike, TableLike
from bayeskit.errors import KindError
from bayeskit.model.learn import Spec
from bayeskit.model.model import Model


@runtime_checkable
class SupportsSpec(Protocol):
    """A classifier of one model: what it learns is a value."""

    def spec(self) -> Spec:
        """What to learn."""

    def count_spec(self) -> Spec | None:
        """The same, if it answers by counts alone; None where weights are fitted, or a class answers in its own way."""

    def fold_spec(self) -> Spec | None:
        """The same, if models of folds come from one pass; None where a fold needs a fit of its own."""

    def with_model(self, model: Model) -> Self:
        """A copy that knows what a model has learned."""


@runtime_checkable
class ReadsTables(Protocol):
    """A classifier that reads tables as a model does, perhaps around others: a pool, a calibration, a decision."""

    def table_reader(self) -> Model | None:
        """The model that knows the columns; None where the classifier inside is of another library."""

    def honest_log_proba(self, X: TableLike) -> Float | None:
        """log P(class | row) not rounded to 0 and 1 on the way, (n, K); None where ``predict_proba`` is its own."""


@runtime_checkable
class HasPrior(Protocol):
    """A classifier with a prior of its own beside that of the model inside it."""

    def log_prior(self, prior: PriorLike = None) -> Float:
        """log P(class), (K,)."""


@runtime_checkable
class Decider(Protocol):
    """A classifier that acts at least risk, or abstains."""

    costs: Any
    abstain: Any

    @property
    def reject_cost(self) -> float | None:
        """The cost of leaving a row undecided, if it has one."""

    @property
    def may_abstain(self) -> bool:
        """Whether a row may be left undecided."""


# What estimators of other libraries can do is asked here, and nowhere else.


def gives_probabilities(estimator: object) -> bool:
    """Whether it has ``predict_proba``; some have it only with certain settings."""
    return hasattr(estimator, "predict_proba")


def check_offers(estimator: object, method: str) -> None:
    """AttributeError where an estimator has no such method, with its own words."""
    getattr(estimator, method)


def can_fit(estimator: object) -> bool:
    """Whether it learns from rows, as every estimator of scikit-learn does."""
    return hasattr(estimator, "fit")


def jobs_of(estimator: object) -> int | None:
    """How many workers it is set to take, where it has such a setting."""
    jobs: int | None = getattr(estimator, "n_jobs", None)
    return jobs


def steps_of(estimator: object) -> Sequence[tuple[str, Any]]:
    """The steps of a pipeline; none of any other estimator."""
    steps: Sequence[tuple[str, Any]] = getattr(estimator, "steps", ())
    return steps


def features_of(fitted: object) -> dict[str, Any]:
    """Number and names of the columns of a fit, as far as the estimator knows them."""
    declared = {name: getattr(fitted, name, None) for name in ("n_features_in_", "feature_names_in_")}
    return {name: value for name, value in declared.items() if value is not None}


def score_samples(fitted: object, X: TableLike) -> Float:
    """log p(row) of a density estimator, (n,)."""
    if not hasattr(fitted, "score_samples"):
        raise KindError(
            f"{type(fitted).__name__} has neither log_evidence nor score_samples, so it finds no outliers; "
            f"choose a classifier with a density, or leave outlier=None"
        )
    usual: Float = fitted.score_samples(X)
    return usual
