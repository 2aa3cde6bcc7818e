"""FullBayes: all columns together given the class."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sklearn.utils.validation import check_is_fitted

from bayeskit.arrays import Float, KindsLike, Label, MissingLike, PriorLike, TableLike
from bayeskit.data.schema import Schema
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.docstrings import document
from bayeskit.explain.probability_table import ProbabilityTable, cell_probabilities
from bayeskit.model.learn import Spec, in_one_component
from bayeskit.structures.full import Full, FullDensity
from bayeskit.structures.naive import Naive

AVAILABLE = "available"


@document()
@dataclass(kw_only=True, eq=False, repr=False)
class FullBayes(BayesClassifier):
    """Full Bayes for any table: a normal density of the numbers, a joint table of the categories, in every class.

    P(c | x) is proportional to P(c) p(cell | c) N(numbers; mean of the cell in c, covariance of c). A missing value
    is integrated or summed out in predicting.

    Parameters
    ----------
    covariance : {"full", "tied", "diagonal", "spherical"}, default "full"
        Shape of the class covariances: free, one for all classes (linear discriminant analysis), without correlations
        (naive Bayes), or with one variance.
    shrinkage : {"auto", "pooled"}, float or None, default "auto"
        How far a covariance is drawn toward the diagonal of the pooled one, at the scale of the class: as far as the
        data ask for, by a share from 0 to 1, or not at all. "pooled" draws it toward the pooled covariance first. A
        diagonal is drawn by a number alone.
    smoothing : float or "auto", default 1.0
        Pseudo-rows in every cell of the categories. "auto", and 1 where there are more cells than rows or than
        10,000, puts 1 + n pseudo-rows on the n of a class, spread by the product of the margins.
    missing : {"skip", "level", "available"} or mapping, default "skip"
        How values are missing in fitting: means and covariances are the likeliest ones (EM), a missing category is a
        level of its own, or a covariance is that of the rows that hold both columns ("available").
    n_jobs : int, optional
        Number of threads; -1 is all cores, None those this process may use. Results do not depend on it.

    Attributes
    ----------
    classes_, schema_, model_, exact_
    means_ : array of shape (K, d)
        Means of the number columns in each class.
    covariances_ : array of shape (K, d, d)
        Their covariances, after shrinkage.
    regularised_ : dict
        The columns of each class that were constant or dependent, and needed the shrinkage.

    Examples
    --------
    >>> import bayeskit as bk
    >>> table = {"x": [0, 1, 2, 0, 1, 2], "y": [0.1, 0.9, 2.1, 2.0, 1.1, -0.1]}
    >>> model = bk.FullBayes().fit(table, ["up", "up", "up", "down", "down", "down"])
    >>> model.predict({"x": [1.9], "y": [1.9]})
    array(['up'], dtype='<U4')
    """

    covariance: str = "full"
    shrinkage: float | str | None = "auto"
    kinds: KindsLike = None
    prior: PriorLike = "empirical"
    smoothing: float | str = 1.0
    unseen: str = "missing"
    missing: MissingLike = "skip"
    n_jobs: int | None = None

    def _build(self, schema: Schema) -> tuple[Naive, Schema]:
        likelihood = Full(self.covariance, self.shrinkage, self.smoothing, self._available)
        return in_one_component(likelihood, schema, "all columns together")

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
        if not self.__sklearn_is_fitted__():
            raise AttributeError("means_, covariances_ and regularised_ are there after fit")
        (density,) = self.model_.density.densities
        assert isinstance(density, FullDensity)
        return density

    def joint_table(self) -> ProbabilityTable:
        """P(cell | class) of all columns of categories together, and the weight of the complete rows in each cell.

        Up to 10,000 cells all are there, beyond that those that rows have.

        Returns
        -------
        ProbabilityTable
            ``frame()`` has a column for each category, then "class", "P" and "count".
        """
        check_is_fitted(self, "model_")
        return cell_probabilities(self.model_)

    @property
    def means_(self) -> Float:
        """Means of the numeric columns that vary, by class: (K, d)."""
        return self._density.normals.means

    @property
    def covariances_(self) -> Float:
        """Covariances of the numeric columns that vary, by class, shrunk: (K, d, d)."""
        return self._density.normals.covariances

    @property
    def regularised_(self) -> dict[Label, tuple[str, ...]]:
        """By class, the columns that its own covariance does not tell apart: constant in it, or dependent."""
        found = self._density.regularised
        return {label: names for label, names in zip(self.classes_.tolist(), found, strict=False) if names}
