"""Learner: what learns, forgets and merges tables, and keeps what was learned."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bayeskit.arrays import Array
from bayeskit.data.schema import Schema
from bayeskit.densities.density import describe_family
from bayeskit.errors import ForgetError, HeldWarning, InputError, MergeError, SchemaError
from bayeskit.estimators.tags import any_table
from bayeskit.model.codec import describe, json_text
from bayeskit.model.model import Model
from bayeskit.model.open_table import OpenTable, check_rows
from bayeskit.model.prior import normal_prior
from bayeskit.statistics.counted import Counted
from bayeskit.storage import model_file
from bayeskit.storage.model_file import UNSEEN
from bayeskit.structures.exactness import Exactness
from bayeskit.structures.naive import Naive


class Learner(BaseEstimator):
    """Fitted state is one immutable ``model_``, replaced whole: a call that fails changes nothing."""

    kinds: Any
    prior: Any
    unseen: str
    missing: Any
    n_jobs: int | None

    @property
    def _algebra(self) -> bool:
        """Whether the counts of some folds are what a fit to them would count, so that folds are algebra."""
        return True

    @property
    def _weighs(self) -> bool:
        """Whether fitting also finds how much each column counts."""
        return False

    @property
    def _holds(self) -> bool:
        """Whether pieces are the same only where what fitting chose is held, so that weights need it to be."""
        return False

    @property
    def _keeps(self) -> bool:
        """Whether rows are kept, and all that fitting chooses is derived from them."""
        return False

    def _renewed(self, model: Model) -> Model:
        """With weights derived from the rows the model keeps, if it keeps them and is to have weights."""
        return self._weighed(model, None, None, None) if self._keeps else model

    @property
    def _policy(self) -> Any:
        """What missing values mean to the schema."""
        return self.missing

    def _structure(self, schema: Schema) -> tuple[Naive, Schema]:
        """How the columns hang together; the schema comes back with the families named."""
        raise NotImplementedError

    @staticmethod
    def _together(likelihood: Any, schema: Schema, why: str) -> tuple[Naive, Schema]:
        """All columns in one likelihood."""
        family = describe_family(likelihood)
        columns = tuple(replace(c, family=family, why_family=why) for c in schema.columns)
        schema = replace(schema, columns=columns)
        return Naive.alike([likelihood], schema), schema

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a table; ``y`` holds the labels or names a column of X."""
        self._adopt(self._weighed(self._learned(X, y, sample_weight, ()), X, y, sample_weight))
        return self

    def _weighed(self, model: Model, X: Any, y: Any, weight: Any) -> Model:
        """The model of all rows with its weights fitted to them, if it is to have some."""
        if not self._weighs:
            return model
        if np.count_nonzero(model.weights) < 2:
            warnings.warn("no weights are fitted, for the rows have one class: fit anew with two or more", stacklevel=3)
            return model
        if self._keeps:
            from bayeskit.estimators.renewal import renewed

            return renewed(self, model)
        from bayeskit.estimators.cross_fit import tuned

        return tuned(self, model, X, y, weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows; new classes and levels are welcome, ``classes`` only declares some beforehand.

        Weights are fitted to the first rows, as by ``fit``, and stay, unless the rows are kept (``exact=True``).
        """
        known = () if classes is None else tuple(np.asarray(classes).tolist())
        fresh = self._learned(X, y, sample_weight, known, self._fitted)
        if self._fitted:
            self.model_.counted.domain.check_classes(fresh.counted.domain)
        if self._fitted:  # prior and unseen may have been set anew; they are not part of the counts
            fresh = replace(self.model_, prior=fresh.prior, unseen=fresh.unseen).merge(fresh)
            fresh = self._renewed(fresh)
        else:
            fresh = self._weighed(fresh, X, y, sample_weight)
        self._adopt(fresh)
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Unlearn rows: afterwards the counts are those of a model that never saw them, bit for bit.

        So is the model, unless choices made with these rows are held (see ``exact_``), which a warning tells and
        ``renew`` mends. No text or number that only these rows had stays, but for declared classes and levels. Refused
        where it shows that the rows were never learned; sums cannot show every such case.
        """
        check_is_fitted(self, "model_")
        rest = self.model_.subtract(self._learned(X, y, sample_weight, (), True))
        if not rest.weights.sum() > 0:
            raise InputError("forgetting these rows would leave nothing; drop the model instead")
        self._adopt(self._renewed(rest))
        warn_of_held(self.exact_, "exact" in self.get_params(deep=False))
        return self

    def renew(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose anew what is held, from the rows that the model has: it is then the model of one fit of them.

        These are the rows it has learned and not forgotten; others are refused. They may be left out where the model
        holds nothing, or keeps its rows (``exact=True``). Classes and levels that were declared stay so.
        """
        check_is_fitted(self, "model_")
        model = self.model_
        if X is None:
            check_renewable(self.exact_)
            self._adopt(self._renewed(model))
            return self
        check_rows_of(model, self._learned(X, y, sample_weight, (), True))
        table = self._opened(X, y, sample_weight, model.schema)
        fresh = self._counted(table, model.schema.classes, declared=model.schema)
        self._adopt(replace(self._weighed(fresh, X, y, sample_weight), journal=model.journal))
        return self

    def merge(self, other: Learner) -> Self:
        """A new classifier that has learned what both have."""
        if type(other) is not type(self):
            raise MergeError(f"cannot merge {type(self).__name__} with {type(other).__name__}; give two of one kind")
        check_is_fitted(self, "model_")
        check_is_fitted(other, "model_")
        for what in ("prior", "unseen"):
            if getattr(self.model_, what) != getattr(other.model_, what):
                raise MergeError(f"the models differ in {what}; fit both with the same")
        both = type(self)(**self.get_params(deep=False))
        try:
            both._adopt(self._renewed(self.model_.merge(other.model_)))
        except SchemaError as error:
            raise MergeError(f"the models count different things and cannot be merged. {error}") from error
        return both

    def __add__(self, other: Any) -> Self:
        return self.merge(other) if isinstance(other, Learner) else NotImplemented

    def _learned(
        self, X: Any, y: Any, weight: Any, classes: Sequence[Any], known: bool = False, fixed: Naive | None = None
    ) -> Model:
        """The model of one table alone; ``known`` if its columns must be those of the fit.

        ``fixed`` is a structure whose choices are kept.
        """
        self._check_settings()
        if y is None:
            raise InputError("requires y to be passed, but the target y is None: give the labels, or name their column")
        table = self._opened(X, y, weight, self.model_.schema if known else None)
        return self._counted(table, classes, fixed=self.model_.structure if known else fixed)

    def _counted(
        self,
        table: OpenTable,
        classes: Sequence[Any] = (),
        folds: int = 1,
        fixed: Naive | None = None,
        declared: Schema | None = None,
    ) -> Model:
        """The model of all rows of a table; what it counted may be kept apart by fold.

        ``fixed`` is a structure whose choices are kept, ``declared`` a schema whose kinds and levels are.
        """
        found = table.schema(self.kinds, self._policy, classes)
        structure, schema = self._structure(found if declared is None else declared.unify(found))
        next_stage: Naive | None = structure if fixed is None else structure.with_choices_of(fixed)
        while next_stage is not None:  # what to count may depend on what was counted before
            structure = next_stage
            empty = Counted.empty(schema, Model.statistic(structure, schema), table.source.roles, folds)
            counted = table.engine.reduce(table.rows(structure.sparse), table.columns(schema), empty)
            check_rows(counted, table.place)
            model = Model(counted.canonical(), structure, normal_prior(self.prior), self.unseen)
            next_stage = model.next_stage()
        return model

    def _reuse_counts(self, model: Model) -> Model:
        """The model of the same counts with the settings of this classifier, which must ask for the same counts."""
        structure, schema = self._structure(model.schema)
        counted = model.reuse_counts(structure, schema)
        return Model(counted, structure, normal_prior(self.prior), self.unseen)

    def _opened(self, X: Any, y: Any = None, weight: Any = None, schema: Schema | None = None) -> OpenTable:
        known = None if schema is None else self.model_.counted.types
        return OpenTable.of(X, y, weight, self.n_jobs, known).against(schema, type(self).__name__)

    def _adopt(self, model: Model) -> None:
        """Take a new model, once all that can be derived from it has been."""
        model.log_prior(), model.density
        if len(model.classes) == 1:
            warnings.warn(
                f"only one class ({model.classes.tolist()[0]!r}) has been seen; every prediction will be it",
                stacklevel=3,
            )
        self.model_ = model
        self.n_features_in_ = len(model.schema.names)
        if model.schema.named:
            self.feature_names_in_ = np.array(model.schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _check_settings(self) -> None:
        if self.unseen not in UNSEEN:
            raise InputError(f"unseen={self.unseen!r}: choose one of {', '.join(UNSEEN)}")
        normal_prior(self.prior)

    @property
    def _fitted(self) -> bool:
        return hasattr(self, "model_")

    @property
    def classes_(self) -> Array:
        """The classes, sorted; columns of probabilities follow this order."""
        if not self._fitted:
            raise AttributeError("classes_ is there after fit")
        return self.model_.classes

    @property
    def exact_(self) -> Exactness:
        """What learning, forgetting and merging give bit for bit, and what is held as an earlier fit chose it."""
        check_is_fitted(self, "model_")
        return self.model_.exact

    @property
    def weights_(self) -> dict[Any, float]:
        """How much each factor (a column, or a set of columns) counts, where weights are fitted."""
        if not self._fitted or self.model_.weighting is None:
            raise AttributeError("weights_ is there after fit where weights are fitted to the labels")
        return self.model_.factor_weights

    @property
    def schema_(self) -> Schema:
        """Each column with its kind, its family and why."""
        if not self._fitted:
            raise AttributeError("schema_ is there after fit")
        return self.model_.described

    def save(self, path: Any) -> None:
        """Write a ``.bayes`` file: whole or not at all."""
        check_is_fitted(self, "model_")
        model_file.save(path, self.model_, type(self).__name__, self._settings)

    @property
    def _settings(self) -> dict[str, Any]:
        """What a file keeps of the parameters."""
        return changed(self, "n_jobs")

    def __sklearn_tags__(self) -> Tags:
        return any_table(super().__sklearn_tags__())


def changed(estimator: Any, *besides: str) -> dict[str, Any]:
    """The parameters of an estimator that differ from their defaults, but for some."""
    usual = signature(type(estimator)).parameters
    given = {n: v for n, v in estimator.get_params(deep=False).items() if n not in besides}
    return {n: v for n, v in given.items() if json_text(describe(v)) != json_text(describe(usual[n].default))}


def warn_of_held(exact: Exactness, able: bool) -> None:
    """Tell that choices made with forgotten rows remain; ``able`` says whether ``exact=True`` is a way out."""
    if exact.forgetting:
        return
    renew = "renew(X, y), or bayeskit renew, chooses them anew from the rows that are left"
    warnings.warn(
        f"the rows are no longer counted, but what was chosen with them remains: {', '.join(exact.held + exact.lost)}; "
        f"{renew}{', and fitting with exact=True derives them anew each time' if able else ''}",
        HeldWarning,
        stacklevel=3,
    )


def check_renewable(exact: Exactness) -> None:
    """Refuse to choose anew without rows what only rows can tell."""
    if not exact.forgetting:
        what = ", ".join(exact.held + exact.lost)
        raise InputError(f"{what} can be chosen anew from rows alone; give those that the model has: renew(X, y)")


def check_rows_of(model: Model, given: Model) -> None:
    """Refuse rows that are not all that a model has learned and not forgotten."""
    try:
        left = model.subtract(given)
    except ForgetError as error:
        raise InputError(f"these are not the rows that the model has, for some of them it has not: {error}") from error
    if (weight := float(left.weights.sum())) > 0:
        raise InputError(f"these are not all rows that the model has: it has {weight:,.10g} more; give all of them")


def fitted_weights(weights: Any) -> bool:
    """Whether the setting asks for weights; anything it cannot mean is refused."""
    if weights not in (None, "fitted"):
        raise InputError(f"weights={weights!r}: choose None (every column counts once) or 'fitted'")
    return weights is not None
