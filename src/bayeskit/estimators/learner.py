"""Learner: what learns, forgets and merges tables, and keeps what was learned."""

from __future__ import annotations

from dataclasses import replace
from inspect import signature
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bayeskit.arrays import Array, FilePath, Json, Label, LabelsLike, TableLike, WeightsLike
from bayeskit.data.schema import Schema
from bayeskit.ensemble.cross_fit import fit_weights
from bayeskit.ensemble.renewal import refit_weights
from bayeskit.errors import ForgetError, HeldWarning, InputError, MergeError, SchemaError, warn
from bayeskit.estimators.docstrings import document
from bayeskit.model.codec import describe, json_text
from bayeskit.model.learn import Spec, forget_rows, learn, learn_like, learn_more, learn_rows
from bayeskit.model.model import Model
from bayeskit.model.open_table import OpenTable
from bayeskit.model.prune import prune_model
from bayeskit.model.row_names import warn_of_identifiers
from bayeskit.storage import model_file
from bayeskit.structures.exactness import Exactness
from bayeskit.structures.naive import Naive


@document()
class Learner(BaseEstimator):
    """Fitted state is one immutable ``model_``, replaced whole: a call that fails changes nothing."""

    kinds: Any
    prior: Any
    unseen: str
    missing: Any
    n_jobs: int | None

    def spec(self) -> Spec:
        """What to learn, as a value: all that cross-validation, pools and streams need to know of this classifier."""
        settings = self.kinds, self.missing, self.prior, self.unseen, self.n_jobs
        return Spec(type(self).__name__, self._build, *settings)

    def with_model(self, model: Model) -> Self:
        """A copy that knows what a model has learned."""
        made = type(self)(**self.get_params(deep=False))
        made._adopt(model)
        return made

    def _build(self, schema: Schema) -> tuple[Naive, Schema]:
        """How the columns hang together; the schema comes back with the families named."""
        raise NotImplementedError

    def fit(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Learn from a table; ``y`` holds the labels or names a column of X."""
        spec = self.spec()
        self._adopt(_with_weights(spec, learn_rows(spec, X, y, sample_weight), X, y, sample_weight))
        if sample_weight is None:
            warn_of_identifiers(self.model_)
        return self

    def partial_fit(
        self, X: TableLike, y: LabelsLike, classes: LabelsLike | None = None, sample_weight: WeightsLike = None
    ) -> Self:
        """Learn more rows; new classes and levels are welcome, ``classes`` only declares some beforehand.

        Weights are fitted to the first rows, as by ``fit``, and stay, unless the rows are kept (``exact=True``).
        """
        known = () if classes is None else tuple(np.asarray(classes).tolist())
        spec = self.spec()
        if self.__sklearn_is_fitted__():
            self._adopt(_renew_weights(spec, learn_more(spec, self.model_, X, y, sample_weight, known)))
        else:
            self._adopt(_with_weights(spec, learn_rows(spec, X, y, sample_weight, known), X, y, sample_weight))
        return self

    def forget(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Unlearn rows: afterwards the counts are those of a model that never saw them, bit for bit.

        So is the model, unless choices made with these rows are held (see ``exact_``), which a warning says and
        ``renew`` mends. No text or number that only these rows had stays, but for declared classes and levels. Refused
        where it shows that the rows were never learned; sums cannot show every such case.
        """
        check_is_fitted(self, "model_")
        spec = self.spec()
        self._adopt(_renew_weights(spec, forget_rows(spec, self.model_, X, y, sample_weight)))
        warn_of_held(self.exact_, "exact" in self.get_params(deep=False))
        return self

    def renew(self, X: TableLike | None = None, y: LabelsLike | None = None, sample_weight: WeightsLike = None) -> Self:
        """Choose anew what is held, from the rows that the model has: it is then the model of one fit of them.

        These are the rows it has learned and not forgotten; others are refused. They may be left out where the model
        holds nothing, or keeps its rows (``exact=True``). Classes and levels that were declared stay so.
        """
        check_is_fitted(self, "model_")
        spec, model = self.spec(), self.model_
        if X is None:
            if not self.exact_.forgetting:
                raise only_rows_tell(self.exact_)
            self._adopt(_renew_weights(spec, model))
            return self
        check_rows_of(model, learn_like(spec, model, X, y, sample_weight))
        table = OpenTable.of(X, y, sample_weight, spec.n_jobs, model.counted.types).against(model.schema, spec.name)
        fresh = learn(spec, table, model.schema.classes, declared=model.schema)
        self._adopt(replace(_with_weights(spec, fresh, X, y, sample_weight), journal=model.journal))
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
        try:
            return self.with_model(_renew_weights(self.spec(), self.model_.merge(other.model_)))
        except SchemaError as error:
            raise MergeError(f"the models count different things and cannot be merged. {error}") from error

    def prune(self, min_count: float) -> Self:
        """A new classifier without small cells, to be given to those who may see counts of many rows alone.

        With W the weight of a class (its number of rows, unless they had weights): a class whose W is below
        ``min_count`` falls whole. Of each other class and column the levels, or intervals, with less weight fall; and
        while what fell or is missing in the column has together less than ``min_count``, so that W would show it, the
        next larger too. Of a column of numbers the sums of a class fall if fewer than ``min_count`` values of it are
        there, or are missing. Least and greatest values, and the journal, fall everywhere. What fell is missing from
        then on: smoothing counts nothing of it, priors follow the classes that are left. ``partial_fit`` and ``merge``
        add to what is left; ``forget`` refuses rows of which a count fell.
        """
        check_is_fitted(self, "model_")
        return self.with_model(prune_model(self.model_, min_count, type(self).__name__))

    def __add__(self, other: object) -> Self:
        return self.merge(other) if isinstance(other, Learner) else NotImplemented

    def _adopt(self, model: Model) -> None:
        """Take a new model, once all that can be derived from it has been."""
        model.log_prior(), model.density
        if len(model.classes) == 1:
            warn(f"only one class ({model.classes.tolist()[0]!r}) has been seen; every prediction will be it")
        self.model_ = model
        set_features(self, model.schema)

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    @property
    def classes_(self) -> Array:
        """The classes, sorted; columns of probabilities follow this order."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("classes_ is there after fit")
        return self.model_.classes

    @property
    def exact_(self) -> Exactness:
        """What learning, forgetting and merging give bit for bit, and what is held as an earlier fit chose it."""
        check_is_fitted(self, "model_")
        return self.model_.exact

    @property
    def weights_(self) -> dict[Label, float]:
        """How much each factor (a column, or a set of columns) counts, where weights are fitted."""
        if not self.__sklearn_is_fitted__() or self.model_.weighting is None:
            raise AttributeError("weights_ is there after fit where weights are fitted to the labels")
        return self.model_.factor_weights

    @property
    def schema_(self) -> Schema:
        """Each column with its kind, its family and why."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("schema_ is there after fit")
        return self.model_.described

    def save(self, path: FilePath) -> None:
        """Write a ``.bayes`` file: whole or not at all."""
        check_is_fitted(self, "model_")
        model_file.save(path, self.model_, type(self).__name__, self.settings_to_save())

    def settings_to_save(self) -> Json:
        """What a file keeps of the parameters."""
        return non_default_settings(self, "n_jobs")

    def __sklearn_tags__(self) -> Tags:
        return any_table(super().__sklearn_tags__())


def _with_weights(spec: Spec, model: Model, X: TableLike | None, y: LabelsLike | None, weight: WeightsLike) -> Model:
    """The model of all rows with its weights fitted to them, if it is to have some."""
    if not spec.fits_weights:
        return model
    if np.count_nonzero(model.weights) < 2:
        warn("no weights are fitted, for the rows have one class: fit anew with two or more")
        return model
    if spec.keeps_rows or X is None or y is None:
        return refit_weights(spec, model)
    return fit_weights(spec, model, X, y, weight)


def _renew_weights(spec: Spec, model: Model) -> Model:
    """With weights derived from the rows the model keeps, if it keeps them and is to have weights."""
    return _with_weights(spec, model, None, None, None) if spec.keeps_rows else model


def set_features(estimator: Any, schema: Schema) -> None:
    """Number and names of the columns, as scikit-learn wants them; columns of a matrix have no names."""
    estimator.n_features_in_ = len(schema.names)
    vars(estimator).pop("feature_names_in_", None)
    if schema.named:
        estimator.feature_names_in_ = np.array(schema.names, dtype=object)


def non_default_settings(estimator: BaseEstimator, *besides: str) -> Json:
    """The parameters of an estimator that differ from their defaults, but for some."""
    usual = signature(type(estimator)).parameters
    given = {n: v for n, v in estimator.get_params(deep=False).items() if n not in besides}
    return {n: v for n, v in given.items() if json_text(describe(v)) != json_text(describe(usual[n].default))}


def warn_of_held(exact: Exactness, able: bool) -> None:
    """Tell that choices made with forgotten rows remain; ``able`` says whether ``exact=True`` is a way out."""
    if exact.forgetting:
        return
    renew = "renew(X, y), or bayeskit renew, chooses them anew from the rows that are left"
    warn(
        f"the rows are no longer counted, but what was chosen with them remains: {', '.join(exact.held + exact.lost)}; "
        f"{renew}{', and fitting with exact=True derives them anew each time' if able else ''}",
        HeldWarning,
    )


def only_rows_tell(exact: Exactness) -> InputError:
    """Why what is held cannot be chosen anew without rows."""
    what = ", ".join(exact.held + exact.lost)
    return InputError(f"{what} can be chosen anew from rows alone; give those that the model has: renew(X, y)")


def check_rows_of(model: Model, given: Model) -> None:
    """Refuse rows that are not all that a model has learned and not forgotten."""
    try:
        left = model.subtract(given)
    except ForgetError as error:
        raise InputError(f"these are not the rows that the model has, for some of them it has not: {error}") from error
    if (weight := float(left.weights.sum())) > 0:
        raise InputError(f"these are not all rows that the model has: it has {weight:,.10g} more; give all of them")


def wants_weights(weights: object) -> bool:
    """Whether the setting asks for weights; anything it cannot mean is refused."""
    if weights not in (None, "fitted"):
        raise InputError(f"weights={weights!r}: choose None (every column counts once) or 'fitted'")
    return weights is not None


def any_table(tags: Tags) -> Tags:
    """With missing values, texts, categories and sparse matrices among what it takes."""
    for name in ("allow_nan", "string", "categorical", "sparse"):
        setattr(tags.input_tags, name, True)
    return tags
