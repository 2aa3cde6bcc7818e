"""FeatureSelector: which columns to keep."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
import pyarrow as pa
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bayeskit.arrays import Array, Batch, Bool, Classifier, Frame, LabelsLike, TableLike, WeightsLike
from bayeskit.data.block import Block
from bayeskit.data.frame import kind_of
from bayeskit.data.schema import Schema
from bayeskit.engines.sql import quote
from bayeskit.errors import InputError
from bayeskit.estimators.docstrings import document
from bayeskit.estimators.learner import any_table
from bayeskit.estimators.naive import NaiveBayes
from bayeskit.evaluation.selection import CRITERIA, Odds, best
from bayeskit.model.open_table import OpenTable, check_rows
from bayeskit.numerics.cut_points import of_levels, of_numbers
from bayeskit.statistics.bins import Bins
from bayeskit.statistics.counted import Counted
from bayeskit.statistics.statistic import Product
from bayeskit.statistics.tables import Tables

METHODS = ("information", "forward", "backward")


@document()
@dataclass(kw_only=True, eq=False, repr=False)
class FeatureSelector(TransformerMixin, BaseEstimator):
    """Keeps the columns that distinguish the classes.

    Parameters
    ----------
    method : {"information", "forward", "backward"}, default "information"
        Rank columns by their mutual information with the class, less what chance shows (one pass, so a stream will
        do); or from no column, or from all, add or take away the one that serves naive Bayes best, step by step.
    criterion : {"log_score", "error"}, default "log_score"
        How well a set of columns serves: the mean log P of the true class, or the share of errors, with each row
        predicted by the model of all others, exactly.
    n_features : int or "auto", default "auto"
        How many to keep; "auto" is the best set of the path, or all columns with some information.
    estimator : NaiveBayes, optional
        The classifier to serve, a plain one by default; families it chooses by the data stay as they are.
    n_jobs : int, optional
        Number of threads; -1 is all cores, None those this process may use. Results do not depend on it.

    Attributes
    ----------
    ranking_ : list
        The columns from the best on.
    information_ : dict
        Their information in nats, of "information".
    path_ : list
        The steps with their scores, of "forward" and "backward".

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> X = np.column_stack([rng.normal(size=200), y + rng.normal(size=200)])
    >>> chosen = FeatureSelector(method="forward").fit(X, y)
    >>> chosen.get_feature_names_out().tolist(), chosen.transform(X).shape
    (['x1'], (200, 1))
    """

    method: str = "information"
    criterion: str = "log_score"
    n_features: int | str = "auto"
    estimator: Classifier | None = None
    n_jobs: int | None = None

    def fit(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Choose columns by a table; ``y`` holds the labels or names a column of X."""
        self._check_settings()
        if y is None:
            raise InputError("requires y to be passed, but the target y is None: give the labels, or name their column")
        model = NaiveBayes(n_jobs=self.n_jobs) if self.estimator is None else clone(self.estimator)
        schema, kept = (self._rank if self.method == "information" else self._walk)(X, y, sample_weight, model)
        self.support_ = np.array([name in kept for name in schema.names], dtype=bool)
        self.schema_ = schema
        self.n_features_in_ = len(schema.names)
        if schema.named:
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        return self

    def _rank(self, X: TableLike, y: LabelsLike, weight: WeightsLike, model: NaiveBayes) -> tuple[Schema, set[str]]:
        """Counts every column by class and reads its information from its table or bins; which columns to keep."""
        table = OpenTable.of(X, y, weight, self.n_jobs)
        schema = table.schema(model.kinds, model.missing, ())
        most = self._most(schema)

        def statistic(groups: int) -> Product:
            levels = Tables.empty([(name,) for name in schema.coded], groups)
            rows, numbers = Tables.empty([()], groups), Bins.empty(schema.numeric, groups)
            return Product({"classes": rows, "numbers": numbers, "levels": levels}, groups)

        empty = Counted.empty(schema, statistic, table.source.roles)
        counted = table.engine.reduce(table.rows(False), table.columns(schema), empty).canonical()
        check_rows(counted, table.place)
        bins, tables = counted.statistic["numbers"], counted.statistic["levels"]
        assert isinstance(bins, Bins)
        assert isinstance(tables, Tables)
        information = of_numbers(bins)
        for name, more in of_levels(tables).items():
            information[name] = information.get(name, 0.0) + more  # a number whose absence is a level adds both
        self.information_ = {name: information.get(name, 0.0) for name in schema.names}
        self.ranking_ = tuple(sorted(schema.names, key=lambda name: -self.information_[name]))
        useful = [n for n in self.ranking_ if self.n_features != "auto" or self.information_[n] > 0]
        return schema, set(useful[:most] or self.ranking_[:1])  # a transformer keeps one column at least

    def _walk(self, X: TableLike, y: LabelsLike, weight: WeightsLike, model: NaiveBayes) -> tuple[Schema, set[str]]:
        """Goes the path; which columns to keep."""
        if model.spec().fits_weights:
            raise InputError("weights fitted to all rows have seen each row's label; select columns with weights=None")
        model.fit(X, y, sample_weight=weight)
        if len(model.classes_) < 2:
            raise InputError("one class only: no column can tell it from another; give rows of two classes or more")
        schema, counted = model.model_.schema, model.model_.counted
        most, names = self._most(schema), schema.names
        table = OpenTable.of(X, y, weight, model.n_jobs, counted.types).against(schema, type(model).__name__)
        roles = table.source.roles

        def read(batch: Batch, _: int) -> Block:
            return counted.block_with_classes(batch, roles)

        blocks = list(table.engine.map(table.rows(False), table.columns(schema), read))
        forward, given = self.method == "forward", self.n_features != "auto"
        steps = most if forward else len(names) - (most if given else 0)
        self.path_ = Odds.of(model.model_, blocks).path(forward, self.criterion, steps)
        walked = [names[step.column] for step in self.path_[1:]]
        self.ranking_ = tuple(walked if forward else [*(n for n in names if n not in walked), *reversed(walked)])
        found = [step for step in self.path_ if step.columns]
        chosen = self.path_[-1] if given else best(found, self.criterion)
        return schema, {names[j] for j in chosen.columns}

    def _most(self, schema: Schema) -> int:
        """How many columns to keep at most."""
        if self.n_features != "auto" and int(self.n_features) > len(schema.names):
            raise InputError(f"n_features={self.n_features} is more than the {len(schema.names)} columns there are")
        return len(schema.names) if self.n_features == "auto" else int(self.n_features)

    def get_support(self, indices: bool = False) -> Array:
        """Which columns are kept: a mask, or their positions.

        Parameters
        ----------
        indices : bool, default False
            Places instead of a mask.
        """
        check_is_fitted(self, "support_")
        mask: Bool = self.support_
        return np.asarray(np.flatnonzero(mask) if indices else mask)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the columns kept.

        Parameters
        ----------
        input_features : ignored
            For scikit-learn.
        """
        check_is_fitted(self, "support_")
        names = np.array(self.schema_.names, dtype=object)
        if input_features is not None:
            if self.schema_.named and list(input_features) != names.tolist():
                raise InputError("input_features is not equal to feature_names_in_")
            if len(input_features) != len(names):
                raise InputError("input_features should have length equal to number of features")
            names = np.asarray(input_features, dtype=object)
        return np.asarray(names[self.support_])

    def transform(self, X: TableLike) -> Frame | Array:
        """The columns kept, as the kind of table X is.

        Parameters
        ----------
        X : table
            Rows with the columns of the fit.
        """
        check_is_fitted(self, "support_")
        table = OpenTable.of(X, None, None, self.n_jobs).against(self.schema_, type(self).__name__)
        given: Any = X
        if isinstance(X, pa.Table | pa.RecordBatch) or kind_of(X) == "polars":
            return given.select(self.get_feature_names_out().tolist())
        if kind_of(X) == "pandas":
            names = [str(name) for name in given.columns]
            return given.iloc[:, [names.index(name) for name in self.get_feature_names_out()]]
        if type(X).__name__ == "DuckDBPyRelation":
            return given.project(", ".join(map(quote, self.get_feature_names_out())))
        if table.source.named:
            raise InputError(
                f"{type(X).__name__} cannot be narrowed; read the columns {', '.join(self.get_feature_names_out())}"
            )
        if issparse(X):
            return given.tocsr()[:, self.get_support(indices=True)]
        return np.asarray(X)[:, self.support_]

    def _check_settings(self) -> None:
        if self.method not in METHODS:
            raise InputError(f"method={self.method!r}: choose one of {', '.join(METHODS)}")
        if self.criterion not in CRITERIA:
            raise InputError(f"criterion={self.criterion!r}: choose one of {', '.join(CRITERIA)}")
        whole = isinstance(self.n_features, Integral) and not isinstance(self.n_features, bool)
        if self.n_features != "auto" and not (whole and int(self.n_features) >= 1):
            raise InputError(f"n_features={self.n_features!r}: give a number of columns of at least 1, or 'auto'")
        if self.estimator is not None and not isinstance(self.estimator, NaiveBayes):
            raise InputError(f"estimator={self.estimator!r}: only NaiveBayes has terms by column; give one, or None")

    def __sklearn_tags__(self) -> Tags:
        tags = any_table(super().__sklearn_tags__())
        tags.target_tags.required = True
        return tags
