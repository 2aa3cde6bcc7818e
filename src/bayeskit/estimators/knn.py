"""KNNBayes: the rows around a row decide, and can be seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Array, Float, Int, KindsLike, MissingLike, PriorLike, TableLike
from bayeskit.data.schema import Schema
from bayeskit.errors import InputError, SchemaError
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.docstrings import document
from bayeskit.model.learn import Spec, in_one_component
from bayeskit.model.model import Model
from bayeskit.numerics.neighbor_search import NearestPoints
from bayeskit.statistics.rows import Rows
from bayeskit.structures.naive import Naive
from bayeskit.structures.neighbours import Neighbours


@dataclass(frozen=True)
class Neighbors:
    """All rows no farther than the k-th nearest, nearest first; equal rows of a class are one, with their weight."""

    asked: Int  # (m,) which of the rows asked each one belongs to
    distances: Float  # (m,)
    weights: Float  # (m,)
    labels: Array  # (m,)
    rows: pa.Table  # (m) what they hold
    radius: Float  # (n,) distance of the k-th, NaN where a row has nothing to compare

    @classmethod
    def of(cls, parts: Sequence[NearestPoints], statistic: Rows, model: Model) -> Neighbors:
        start = np.cumsum([0, *(part.rows for part in parts)])
        asked = np.concatenate([part.row + begin for part, begin in zip(parts, start[:-1], strict=True)])
        index = np.concatenate([part.index for part in parts])
        return cls(
            asked,
            np.concatenate([part.distance for part in parts]),
            np.concatenate([part.weight for part in parts]),
            model.classes[statistic.rows.group[index]],
            _table(statistic, index, model),
            np.concatenate([part.radius for part in parts]),
        )

    def __len__(self) -> int:
        """How many rows were asked about."""
        return len(self.radius)

    def __getitem__(self, row: int) -> Neighbors:
        """Those of one row asked."""
        number = range(len(self))[row]
        mine = np.flatnonzero(self.asked == number)
        return Neighbors(
            np.zeros(len(mine), dtype=np.int64),
            self.distances[mine],
            self.weights[mine],
            self.labels[mine],
            self.rows.take(pa.array(mine)),
            self.radius[number : number + 1],
        )


def _table(statistic: Rows, index: Int, model: Model) -> pa.Table:
    """Learned rows with values instead of codes."""
    kept, schema = statistic.rows, statistic.schema
    columns: dict[str, Any] = {}
    for column in schema.columns:
        if column.numeric:
            columns[column.name] = pa.array(kept.numbers[index, schema.numeric_index[column.name]], from_pandas=True)
        elif column.coded:
            values = [*model.counted.domain.levels[column.name].values, None]
            codes = kept.codes[index, schema.coded_index[column.name]]
            columns[column.name] = pa.array([values[c] for c in codes.tolist()])
        else:
            columns[column.name] = pa.nulls(len(index))
    return pa.table(columns)


@document()
@dataclass(kw_only=True, eq=False, repr=False)
class KNNBayes(BayesClassifier):
    """Nearest neighbours as densities, so that priors count: p(x | c) = K_c / (n_c V).

    The ball around x that holds its k nearest rows has volume V and K_c rows of class c, out of n_c. With the
    empirical prior P(c | x) is K_c / K; with another prior it is not. All rows as far as the k-th count (distances
    that agree to ten digits are ties), so K may exceed k, and order never decides; with fewer than k rows all of them
    count. Distances run over the columns both rows have, scaled up to those the asked row has; a row without any
    value gets the prior. ``log_evidence`` takes the next distance for a ball of radius 0; levels have no volume and
    so no evidence.

    Parameters
    ----------
    k : int, default 5
        Number of neighbours.
    metric : {"euclidean", "manhattan", "mahalanobis", "gower"}, default "euclidean"
        The distance. "mahalanobis" goes by the covariance pooled within classes and compares with the rows that have
        all columns the asked row has; "gower" takes any columns: the mean of ``|x - y| / range`` of numbers and
        ordered levels, and of [x differs from y] of other levels.
    scale : {"deviation", "mutual_information"}, optional
        Multiplies columns of numbers first: by 1 / deviation, or also by the root of their mutual information with
        the class. "gower" has a scale of its own, and "mutual_information" then weighs all columns.
    weights : {"uniform", "epanechnikov"}, default "uniform"
        Whether nearer rows count more, as 1 - (d / d')^2 with d' the first distance beyond the k-th.
    pseudo : float, default 0.0
        So many rows are added, spread as the classes are, so that no class is impossible.
    max_rows : int, optional
        Keep a random sample of so many distinct rows, the same for any order and split of the table. Forgetting is
        then exact only for what the sample kept.
    random_state : int, default 0
        Which rows the sample holds.
    n_jobs : int, optional
        Number of threads; -1 is all cores, None those this process may use. Results do not depend on it.

    Attributes
    ----------
    classes_, schema_, model_, exact_

    Examples
    --------
    >>> import bayeskit as bk
    >>> model = bk.KNNBayes(k=3).fit([[1.0], [2.0], [2.5], [7.0], [8.0]], ["a", "a", "b", "b", "b"])
    >>> model.predict_proba([[2.2]])
    array([[0.66666667, 0.33333333]])
    >>> model.predict_proba([[2.2]], prior="uniform")
    array([[0.75, 0.25]])
    >>> model.neighbors([[2.2]]).radius.round(3)
    array([1.2])
    """

    k: int = 5
    metric: str = "euclidean"
    scale: str | None = None
    weights: str = "uniform"
    pseudo: float = 0.0
    max_rows: int | None = None
    random_state: int = 0
    kinds: KindsLike = None
    prior: PriorLike = "empirical"
    unseen: str = "missing"
    missing: MissingLike = "skip"
    n_jobs: int | None = None

    def spec(self) -> Spec:
        return replace(super().spec(), one_pass=self.max_rows is None)  # a sample of all rows is none of a fold's

    def _build(self, schema: Schema) -> tuple[Naive, Schema]:
        seed = self.random_state
        if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or not 0 <= seed < 2**63:
            raise InputError(f"random_state={seed!r}: give a whole number of at least 0")
        likelihood = Neighbours(self.k, self.metric, self.scale, self.weights, self.pseudo, self.max_rows, int(seed))
        if self.metric != "gower" and schema.coded:
            column = schema[schema.coded[0]]
            what = 'has missing="level"' if column.numeric else f"is {column.kind} ({column.why})"
            raise SchemaError(
                f"column {column.name!r} {what}, and metric={self.metric!r} compares numbers only; "
                f'choose metric="gower", or leave the column out'
            )
        return in_one_component(likelihood, schema, f"the {self.k} nearest rows")

    def neighbors(self, X: TableLike) -> Neighbors:
        """The rows that decide about each row of X, nearest first, with their distances, and the radius around it."""
        parts = self._predictor(X).steps(None, lambda model, block, *_: model.density.densities[0].neighbours(block))
        density: Any = self.model_.density.densities[0]
        return Neighbors.of(list(parts), density.statistic, self.model_)
