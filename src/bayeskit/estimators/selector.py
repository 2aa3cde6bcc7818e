"""FeatureSelector: which columns to keep, by the odds each adds to rows that are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
import pyarrow as pa
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bayeskit import _core
from bayeskit.arrays import Array, Batch, Bool, Classifier, Float, Frame, Int, LabelsLike, TableLike, WeightsLike
from bayeskit.data.block import Block
from bayeskit.data.frame import kind_of
from bayeskit.data.schema import Schema
from bayeskit.engines.sql import quote
from bayeskit.errors import InputError
from bayeskit.estimators.docstrings import document
from bayeskit.estimators.learner import any_table
from bayeskit.estimators.naive import NaiveBayes
from bayeskit.model.model import Model
from bayeskit.model.open_table import OpenTable, check_rows
from bayeskit.numerics.cut_points import of_levels, of_numbers
from bayeskit.statistics.bins import Bins
from bayeskit.statistics.counted import Counted
from bayeskit.statistics.statistic import Product
from bayeskit.statistics.tables import Tables

TILE = 512  # rows that the core looks at together
CLOSE = 2.0**-22  # nats: single precision may be wrong by half of that, in each of two columns
SLOTS = 8  # rows are filled up to a multiple of this, for the core
WORST = 690.0  # nats: more, a row does not count
FLOOR = 1e5  # nats: what a term counts at least
CRITERIA = ("log_score", "error")


@dataclass(frozen=True)
class Step:
    """One column more, or less."""

    column: int  # -1: where the path begins
    columns: tuple[int, ...]  # chosen after it, ascending
    log_score: float  # mean log P(true class), each row predicted without itself
    error: float  # share of the rows predicted wrongly


@dataclass(frozen=True)
class Odds:
    """Log-odds of the other classes against the true one, from the prior and from each column by itself.

    Each row is left out of what predicts it. The odds of some columns together are the sum of theirs, so trying a
    column costs one addition per row.
    """

    prior: Float  # (K - 1, n)
    terms: Float  # (columns, K - 1, n)
    truth: Float  # (n,) the true class
    weights: Float | None  # (n,)
    weight: float

    @classmethod
    def of(cls, model: Model, blocks: list[Block]) -> Odds:
        """From blocks of learned rows; those of a class stand together, which the core likes."""
        rows = sum(len(block.rows_with_weight()[0]) for block in blocks)
        columns, others, size = len(model.schema.names), len(model.weights) - 1, rows + -rows % SLOTS
        prior, terms = np.zeros((others, size)), np.zeros((columns, others, size))
        prior[:, rows:] = -2 * WORST
        truth, weights = np.zeros(size), np.zeros(size)
        start = 0
        for block in blocks:
            row, group, mass = block.rows_with_weight()
            order = np.argsort(group.astype(np.int16 if others < 1 << 15 else np.int64), kind="stable")  # by digits
            span = slice(start, start + len(row))
            start += len(row)
            # one row is left out at a time, also where it stands for several
            once = None if (mass >= 1).all() else np.minimum(mass[order], 1.0)
            alone = replace(block.at(row[order]), weights=once)
            before = np.array(np.broadcast_to(model.log_prior(left_out=alone), (len(row), others + 1)))
            _core.log_odds(before, alone.classes, FLOOR, prior[:, span])
            model.density.left_out.odds(alone, FLOOR, terms[:, :, span])
            truth[span], weights[span] = group[order], mass[order]
        plain = bool((weights[:rows] == 1).all())
        return cls(prior, terms, truth, None if plain else weights, float(weights.sum()))

    def path(self, forward: bool, criterion: str, steps: int) -> tuple[Step, ...]:
        """Greedy: in each step the column that serves best; the first of equal ones."""
        left = np.arange(len(self.terms))
        chosen: set[int] = set() if forward else set(left.tolist())
        trail = Trail.of(self, forward)
        found = [Step(-1, tuple(sorted(chosen)), *trail.scored)]
        for _ in range(steps):
            best = trail.best(left, criterion)
            column = int(left[best])
            trail.take(column)
            chosen ^= {column}
            left = np.delete(left, best)
            found.append(Step(column, tuple(sorted(chosen)), *trail.scored))
        return tuple(found)


@dataclass
class Trail:
    """A path under way: what is there, and how well it serves.

    e^d of what is there times e^d of a column is e^d of both: a trial needs no exponential, only products of what is
    known, in single precision. The columns that could be best by that are tried again in full.
    """

    odds: Odds
    sign: float
    there: Float  # (K - 1, n) log-odds
    powers: Float  # (K - 1, n) e^there
    reach: Float  # (tiles,) the largest |there|
    factors: tuple[Array, Float]  # (tiles, columns, K - 1, TILE) e^(sign * terms), (tiles, columns) the largest |terms|
    scored: tuple[float, float]  # mean log P(true class) and share of errors

    @classmethod
    def of(cls, odds: Odds, forward: bool) -> Trail:
        """From no column, or from all."""
        there = odds.prior.copy() if forward else odds.prior + odds.terms.sum(axis=0)
        sign = 1.0 if forward else -1.0
        columns, others, rows = odds.terms.shape
        tiles = -(-rows // TILE)
        factors = np.empty((tiles, columns, others, TILE), dtype=np.float32), np.empty((tiles, columns))
        _core.selection_factors(odds.terms, sign, *factors)
        new = cls(odds, sign, there, np.empty_like(there), np.empty(tiles), factors, (0.0, 0.0))
        new.take(None)
        return new

    def take(self, column: int | None) -> None:
        """Go one step."""
        term = None if column is None else self.odds.terms[column]
        rows = self.odds.truth, self.odds.weights
        sums = _core.selection_update(self.there, term, self.sign, *rows, self.powers, self.reach)
        self.scored = sums[0] / self.odds.weight, sums[1] / self.odds.weight

    def best(self, left: Int, criterion: str) -> int:
        """The place among the columns left of the one that serves best."""
        rows = self.there, self.odds.terms, self.sign, self.odds.truth, self.odds.weights
        able = np.arange(len(left))
        if criterion == "log_score":
            quick = _core.selection_approximate(*rows, self.powers, self.reach, *self.factors, left)
            able = np.flatnonzero(quick >= quick.max() - CLOSE * self.odds.weight)
            if len(able) == 1:
                return int(able[0])
        scores = _core.selection_scores(*rows, left[able])
        goodness = (
            scores[:, 0] if criterion == "log_score" else -scores[:, 1] + 1e-9 * scores[:, 0]
        )  # ties by log score
        return int(able[np.argmax(goodness)])


def best(path: Sequence[Step], criterion: str) -> Step:
    """The step with the best score; with fewest columns of equal ones."""

    def worth(step: Step) -> tuple[float, int]:
        return round(step.log_score if criterion == "log_score" else -step.error, 12), -len(step.columns)

    return max(path, key=worth)


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
