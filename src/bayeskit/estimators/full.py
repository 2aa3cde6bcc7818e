"""FullBayes: all columns together given the class."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bayeskit.arrays import Float, KindsLike, MissingLike, PriorLike, TableLike
from bayeskit.data.schema import Schema
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.model.spec import Spec, together
from bayeskit.structures.full import Full, FullDensity
from bayeskit.structures.naive import Naive

AVAILABLE = "available"


class FullBayes(BayesClassifier):
    """Full Bayes for any table: a normal density of the numbers, a joint table of the categories, in every class.

    P(c | x) is proportional to P(c) p(cell | c) N(numbers; mean of the cell in c, covariance of c).

    ``covariance`` is "full", "tied" (one for all classes: linear discriminant analysis), "diagonal" (naive Bayes) or
    "spherical"; ``shrinkage`` draws it toward the diagonal of the pooled covariance, at the scale of the class: "auto",
    a number between 0 and 1, or None; with "pooled" it is drawn toward the pooled covariance first. A diagonal is drawn
    by a number alone. ``smoothing`` is the
    pseudo-count of every cell of categories; "auto", and 1 where there are more cells than rows or than 10,000, is half
    of what the columns say one by one: 1 + n pseudo-rows for the n of a class, spread by the product of the margins.
    A missing value is integrated or summed out in predicting, and in fitting means and
    covariances are the likeliest ones (EM); with ``missing="available"`` those of the rows that hold both columns.
    The other arguments are those of ``NaiveBayes``.

    >>> import bayeskit as bk
    >>> table = {"x": [0, 1, 2, 0, 1, 2], "y": [0.1, 0.9, 2.1, 2.0, 1.1, -0.1]}
    >>> model = bk.FullBayes().fit(table, ["up", "up", "up", "down", "down", "down"])
    >>> model.predict({"x": [1.9], "y": [1.9]})
    array(['up'], dtype='<U4')
    """

    def __init__(
        self,
        *,
        covariance: str = "full",
        shrinkage: float | str | None = "auto",
        kinds: KindsLike | None = None,
        prior: PriorLike = "empirical",
        smoothing: float | str = 1.0,
        unseen: str = "missing",
        missing: MissingLike = "skip",
        n_jobs: int | None = None,
    ) -> None:
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.kinds = kinds
        self.prior = prior
        self.smoothing = smoothing
        self.unseen = unseen
        self.missing = missing
        self.n_jobs = n_jobs

    def _build(self, schema: Schema) -> tuple[Naive, Schema]:
        likelihood = Full(self.covariance, self.shrinkage, self.smoothing, self._available)
        return together(likelihood, schema, "all columns together")

    @property
    def _available(self) -> bool:
        return isinstance(self.missing, str) and self.missing == AVAILABLE

    def spec(self) -> Spec:
        return replace(super().spec(), missing="skip" if self._available else self.missing)

    def mahalanobis(self, X: TableLike) -> Float:
        """Distance of the numbers of each row to the mean of every class, in its deviations: (n, K).

        Of the columns that are there; with categories, to the mean of the row's cell.
        """
        return self._predictor(X).rows(None, lambda _, block, *__: self._density.distances(block), wide=False)

    @property
    def _density(self) -> FullDensity:
        if not self._fitted:
            raise AttributeError("means_, covariances_ and regularised_ are there after fit")
        return self.model_.density.densities[0]  # type: ignore[return-value]

    @property
    def means_(self) -> Float:
        """Means of the numeric columns that vary, by class: (K, d)."""
        return self._density.normals.means

    @property
    def covariances_(self) -> Float:
        """Covariances of the numeric columns that vary, by class, shrunk: (K, d, d)."""
        return self._density.normals.covariances

    @property
    def regularised_(self) -> dict[Any, tuple[str, ...]]:
        """By class, the columns that its own covariance does not tell apart: constant in it, or dependent."""
        found = self._density.regularised
        return {label: names for label, names in zip(self.classes_.tolist(), found, strict=False) if names}
