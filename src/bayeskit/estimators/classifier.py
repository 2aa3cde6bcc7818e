"""BayesClassifier: the surface every bayeskit classifier shares."""

from __future__ import annotations

import html
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from bayeskit import record
from bayeskit.arrays import Array, Bool, Float, Int
from bayeskit.data.block import Block
from bayeskit.data.matrix import Matrix
from bayeskit.data.schema import Schema
from bayeskit.decision.shift import PriorShift, prior_shift
from bayeskit.errors import InputError, MergeError, SchemaError
from bayeskit.estimators.frames import predicted_frame
from bayeskit.estimators.inquiry import Inquiry, Step
from bayeskit.estimators.intake import Intake, check_rows
from bayeskit.explain.explanation import REST, Explanation, check_top, widest
from bayeskit.explain.flips import Decide, Flip, Flips, flips, most_probable
from bayeskit.explain.marginal import Marginal, marginal
from bayeskit.explain.nomogram import Nomogram
from bayeskit.explain.summary import Summary
from bayeskit.explain.trials import Trials
from bayeskit.frame import kind_of
from bayeskit.likelihood import shown
from bayeskit.model import Model
from bayeskit.prior import normal_prior
from bayeskit.statistics.counted import Counted
from bayeskit.structures.naive import Naive

UNSEEN = ("missing", "smooth", "error")


class BayesClassifier(ClassifierMixin, BaseEstimator):
    """Fitted state is one immutable ``model_``, replaced whole: a call that fails changes nothing."""

    kinds: Any
    prior: Any
    unseen: str
    missing: Any
    n_jobs: int | None
    prior_shift_: PriorShift

    _algebra: ClassVar[bool] = True  # whether fit is one pass of counting, so that folds are algebra on the counts

    @property
    def _weighs(self) -> bool:
        """Whether fitting also finds how much each column counts."""
        return False

    @property
    def _has_evidence(self) -> bool:
        """Whether its scores are densities."""
        return not self._weighs

    @property
    def _holds(self) -> bool:
        """Whether pieces are the same only where what fitting chose is held, so that weights need it to be."""
        return False

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
        family = shown(likelihood)
        columns = tuple(replace(c, family=family, why_family=why) for c in schema.columns)
        schema = replace(schema, columns=columns)
        return Naive.alike([likelihood], schema), schema

    # -- learning --------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a table; ``y`` holds the labels or names a column of X."""
        model = self._learned(X, y, sample_weight, ())
        if self._weighs and len(model.classes) > 1:
            from bayeskit.estimators.unseen import tuned

            model = tuned(self, model, X, y, sample_weight)
        self._adopt(model)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows; new classes and levels are welcome, ``classes`` only declares some beforehand."""
        known = () if classes is None else tuple(np.asarray(classes).tolist())
        fresh = self._learned(X, y, sample_weight, known, self._fitted)
        if self._fitted:  # prior and unseen may have been set anew; they are not part of the counts
            fresh = replace(self.model_, prior=fresh.prior, unseen=fresh.unseen).merge(fresh)
        self._adopt(fresh)
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Unlearn rows: afterwards the model is the one that never saw them, bit for bit.

        Refused where it shows that they were never learned; sums cannot show every such case.
        """
        check_is_fitted(self, "model_")
        rest = self.model_.subtract(self._learned(X, y, sample_weight, (), True))
        if not rest.weights.sum() > 0:
            raise InputError("forgetting these rows would leave nothing; drop the model instead")
        self._adopt(rest)
        return self

    def merge(self, other: BayesClassifier) -> Self:
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
            both._adopt(self.model_.merge(other.model_))
        except SchemaError as error:
            raise MergeError(f"the models count different things and cannot be merged. {error}") from error
        return both

    def __add__(self, other: Any) -> Self:
        return self.merge(other) if isinstance(other, BayesClassifier) else NotImplemented

    def _learned(
        self, X: Any, y: Any, weight: Any, classes: Sequence[Any], known: bool = False, held: Naive | None = None
    ) -> Model:
        """The model of one table alone; ``known`` if its columns must be those of the fit.

        ``held`` is a structure whose choices are kept.
        """
        self._check_settings()
        if y is None:
            raise InputError("requires y to be passed, but the target y is None: give the labels, or name their column")
        table = self._opened(X, y, weight, self.model_.schema if known else None)
        return self._counted(table, classes, resumed=self.model_.structure if known else held)

    def _counted(
        self, table: Intake, classes: Sequence[Any] = (), folds: int = 1, resumed: Naive | None = None
    ) -> Model:
        """The model of all rows of a table; what it counted may be kept apart by fold.

        ``resumed`` is a structure whose choices are kept.
        """
        structure, schema = self._structure(table.schema(self.kinds, self._policy, classes))
        further: Naive | None = structure if resumed is None else structure.resumed(resumed)
        while further is not None:  # what to count may depend on what was counted before
            structure = further
            empty = Counted.empty(schema, Model.statistic(structure, schema), table.source.roles, folds)
            counted = table.engine.reduce(table.rows(structure.sparse), table.columns(schema), empty)
            check_rows(counted)
            model = Model(counted.canonical(), structure, normal_prior(self.prior), self.unseen)
            further = model.further()
        return model

    def _likewise(self, model: Model) -> Model:
        """The model of the same counts with the settings of this classifier, which must ask for the same counts."""
        structure, schema = self._structure(model.schema)
        counted = model.likewise(structure, schema)
        return Model(counted, structure, normal_prior(self.prior), self.unseen)

    def _opened(self, X: Any, y: Any = None, weight: Any = None, schema: Schema | None = None) -> Intake:
        known = None if schema is None else self.model_.counted.types
        return Intake.of(X, y, weight, self.n_jobs, known).against(schema, type(self).__name__)

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
    def schema_(self) -> Schema:
        """Each column with its kind, its family and why."""
        if not self._fitted:
            raise AttributeError("schema_ is there after fit")
        return self.model_.described

    # -- asking ----------------------------------------------------------------------------------

    def predict(self, X: Any, prior: Any = None) -> Array:
        """The most probable class of each row; the first of ``classes_`` in a tie."""
        best = self._rows(X, prior, lambda model, block, p, _: np.argmax(model.posterior(block, p), axis=1), wide=False)
        return self.classes_[best.astype(np.intp)]

    def predict_proba(self, X: Any, prior: Any = None) -> Float:
        """P(class | row), (n, K); ``prior`` overrides the model's prior for this call."""
        return self._rows(X, prior, lambda model, block, p, out: model.posterior(block, p, out=out))

    def predict_log_proba(self, X: Any, prior: Any = None) -> Float:
        """log P(class | row), (n, K)."""
        return self._rows(X, prior, lambda model, block, p, out: model.posterior(block, p, log=True, out=out))

    def predict_joint_log_proba(self, X: Any, prior: Any = None) -> Float:
        """log P(class, row), (n, K); -inf where a class is impossible."""
        return self._rows(X, prior, lambda model, block, p, out: model.joint(block, p, out=out))

    def predict_frame(
        self,
        X: Any,
        keep: Any = (),
        prior: Any = None,
        *,
        costs: Any = None,
        evidence: bool = False,
        reasons: int = 0,
    ) -> Any:
        """Prediction and P(class | row) as columns, beside those to ``keep`` ("all", or names, also of no features).

        ``costs`` add the action of least expected cost, ``evidence`` log p(row), ``reasons`` so many columns that
        speak most for the prediction. The frame is of the kind X was: on Spark the executors work it out.
        """
        wanted = {"costs": costs, "evidence": evidence, "reasons": reasons}
        return predicted_frame(self._inquiry(X, keep), X, keep, prior, wanted)

    def log_evidence(self, X: Any, prior: Any = None) -> Float:
        """log p(row) under the whole model, (n,): how usual a row is."""
        return self._rows(X, prior, lambda model, block, p, _: model.evidence(block, p), wide=False)

    @available_if(lambda self: self._has_evidence)  # type: ignore[untyped-decorator]
    def score_samples(self, X: Any) -> Float:
        """The same as ``log_evidence``, by scikit-learn's name."""
        return self.log_evidence(X)

    def explain(self, X: Any, top: int | None = None, prior: Any = None) -> Explanation:
        """What each column says for each class, in log-likelihoods that add up to the posterior."""
        table = self._asked(X)
        names = self.model_.density.parts
        which = np.arange(len(names))
        by_column = names == self.model_.schema.names
        if top is not None and check_top(top) < len(names):
            spreads = self._steps(table, prior, lambda model, block, *_: model.density.spread(block))
            which = widest(sum(spreads, np.zeros(len(names))), top)
        rest = (REST,) if len(which) < len(names) else ()

        def step(model: Model, block: Block, p: Float, batch: Any, start: int) -> tuple[Any, ...]:
            terms = model.some_terms(block, which) if rest else model.terms(block)
            shown = _values(batch, model.schema, which) if by_column else [("",) * len(which)] * block.rows
            values = [(*row, *(None for _ in rest)) for row in shown]
            unseen = _unseen(block, which) if by_column else np.zeros((block.rows, len(which)), dtype=bool)
            return terms, model.posterior(block, p), values, np.pad(unseen, ((0, 0), (0, len(rest))))

        terms, proba, values, unseen = zip(*self._steps(table, prior, step), strict=True)
        return Explanation(
            self.classes_,
            self.model_.log_base(prior),
            (*(names[j] for j in which.tolist()), *rest),
            np.concatenate(terms),
            tuple(row for rows in values for row in rows),
            np.concatenate(proba),
            np.concatenate(unseen),
            kind_of(X),
        )

    def counterfactual(self, X: Any, prior: Any = None, among: Any = None) -> Flips:
        """What would change the decision of each row: in each column the nearest value that flips it.

        ``among`` is a table whose values are tried in columns of which the model knows none.
        """
        check_is_fitted(self, "model_")
        return self._flips(X, lambda table: most_probable(self.predict_proba(table, prior)), self.classes_, among)

    def _flips(self, X: Any, decide: Decide, outcomes: Array, among: Any = None) -> Flips:
        """Flips of decisions that this classifier, or one made of it, takes."""
        others = None if among is None else self._steps(self._asked(among), None, lambda model, block, *_: block)
        trials, labels = Trials.of(self.model_, among=others), outcomes.tolist()

        def step(model: Model, block: Block, p: Float, batch: Any, start: int) -> list[tuple[Flip, ...]]:
            return flips(trials, decide, labels, batch, block.rows)

        rows = tuple(row for rows in self._steps(self._asked(X), None, step) for row in rows)
        return Flips(rows, outcomes, trials.untried, kind_of(X))

    def nomogram(self, target: Any = None, rival: Any = None, prior: Any = None) -> Nomogram:
        """Points for every value of every column, which add up to the odds of one class against another.

        With more than two classes a ``rival`` is needed: the odds of a class against all others do not add up.
        """
        check_is_fitted(self, "model_")
        return Nomogram.of(self.model_, self.explain, target, rival, prior)

    def marginal(self, column: str, prior: Any = None) -> Marginal:
        """p(x | c) of one column by itself, whatever the others hold."""
        check_is_fitted(self, "model_")
        return marginal(self.model_, column, prior)

    def summary(self) -> Summary:
        """What was learned: classes and priors, columns with kind, family and reason."""
        check_is_fitted(self, "model_")
        return Summary.of(self.model_)

    def _html_repr(self) -> str:
        """In a notebook: the settings, and once fitted what was learned."""
        if not self._fitted:
            return str(super()._html_repr())
        return f"<div><code>{html.escape(repr(self))}</code>{self.summary()._repr_html_()}</div>"

    def _rows(
        self,
        X: Any,
        prior: Any,
        step: Callable[[Model, Block, Float, Float | None], Array],
        wide: bool = True,
    ) -> Array:
        """A step over all rows, collected; a ``wide`` one, (n, K), writes where it belongs if the rows are known."""
        table = self._asked(X)
        rows = getattr(table.source.rows, "num_rows", None)
        whole = np.empty((rows, len(self.model_.weights))) if wide and rows else None

        def one(model: Model, block: Block, known: Float, batch: Any, start: int) -> Array:
            return step(model, block, known, None if whole is None else whole[start : start + block.rows])

        parts = list(self._steps(table, prior, one, self.model_.density.guards))
        return np.concatenate(parts) if whole is None else whole

    def _steps(
        self,
        table: Intake,
        prior: Any,
        step: Step,
        guarded: Collection[str] = (),
        columns: Sequence[str] | None = None,
    ) -> Iterator[Any]:
        return Inquiry(self.model_, table).steps(prior, step, guarded, columns)

    def _asked(self, X: Any, keep: Any = ()) -> Intake:
        """The table of a question, checked against the columns of the fit; it may have others that are to be kept."""
        return self._inquiry(X, keep).table

    def _inquiry(self, X: Any, keep: Any = ()) -> Inquiry:
        if not self._fitted:
            check_is_fitted(self, "model_")
        return Inquiry.of(self.model_, X, type(self).__name__, keep, self.n_jobs)

    def calibrated(
        self, X: Any, y: Any, method: str = "temperature", sample_weight: Any = None, random_state: Any = 0
    ) -> Any:
        """This classifier with its probabilities set right by "temperature", "sigmoid" or "isotonic".

        The map is fitted to posteriors of these rows by cross-validation, so that no row is judged by itself.
        """
        from bayeskit.estimators.calibrated import Calibrated

        check_is_fitted(self, "model_")
        like = type(self)(**self.get_params(deep=False))
        return Calibrated(like, method, random_state=random_state).around(self, X, y, sample_weight)

    def adapt_prior(self, X: Any) -> Self:
        """A copy whose prior is the one that makes new, unlabelled rows most likely; ``prior_shift_`` shows both."""
        shift = prior_shift(self.classes_, self.predict_log_proba(X), self.model_.log_prior())
        prior = dict(zip(self.classes_.tolist(), shift.new.tolist(), strict=True))
        adapted = type(self)(**{**self.get_params(deep=False), "prior": prior})
        adapted._adopt(replace(self.model_, prior=normal_prior(prior)))
        adapted.prior_shift_ = shift
        return adapted

    # -- keeping ---------------------------------------------------------------------------------

    def save(self, path: Any) -> None:
        """Write a ``.bayes`` file: whole or not at all."""
        check_is_fitted(self, "model_")
        record.save(path, self.model_, type(self).__name__, self._settings)

    @property
    def _settings(self) -> dict[str, Any]:
        """What a file keeps of the parameters."""
        return {n: v for n, v in self.get_params(deep=False).items() if n != "n_jobs"}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags


def fitted_weights(weights: Any) -> bool:
    """Whether the setting asks for weights; anything it cannot mean is refused."""
    if weights not in (None, "fitted"):
        raise InputError(f"weights={weights!r}: choose None (every column counts once) or 'fitted'")
    return weights is not None


def _unseen(block: Block, which: Int) -> Bool:
    """Where some columns have a level that was never learned: (n, which)."""
    out = np.zeros((block.rows, len(which)), dtype=bool)
    for place, j in enumerate(which.tolist()):
        if (code := block.schema.coded_index.get(block.schema.names[j])) is not None:
            out[:, place] = block.codes[code] == -2
    return out


def _values(batch: Any, schema: Schema, which: Int) -> list[tuple[Any, ...]]:
    """What the rows of a batch hold in some columns, None where missing."""
    if isinstance(batch, Matrix):
        cells = [column.tolist() for column in batch.dense(which).T]
    else:
        cells = [batch.column(schema.names[j]).to_pylist() for j in which.tolist()]
    return [tuple(None if v != v else v for v in row) for row in zip(*cells, strict=True)]
