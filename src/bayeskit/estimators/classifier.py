"""BayesClassifier: the surface every bayeskit classifier shares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from bayeskit.arrays import (
    Array,
    Batch,
    Bool,
    ColumnNames,
    CostsLike,
    Float,
    Frame,
    Int,
    Label,
    LabelsLike,
    NamesLike,
    PriorLike,
    TableLike,
    WeightsLike,
)
from bayeskit.data.block import Block
from bayeskit.data.frame import kind_of
from bayeskit.data.matrix import Matrix
from bayeskit.data.schema import Schema
from bayeskit.decision.costs import Costs
from bayeskit.decision.information import InformationValue, value_of_columns
from bayeskit.decision.shift import PriorShift, prior_shift
from bayeskit.errors import InputError
from bayeskit.estimators.docstrings import document
from bayeskit.estimators.frames import predict_frame
from bayeskit.estimators.learner import Learner
from bayeskit.estimators.views import Views
from bayeskit.evaluation.grouping import table_columns
from bayeskit.explain.explanation import REST, Explanation, check_top, widest
from bayeskit.explain.flips import Decide, Flip, Flips, Freedom, flips
from bayeskit.explain.marginal import Marginal, marginal
from bayeskit.explain.nomogram import Contrast, Nomogram
from bayeskit.explain.summary import Summary
from bayeskit.explain.trials import Trials
from bayeskit.explain.words import find_column, name_parts
from bayeskit.explain.worked import AskedRows
from bayeskit.memory import check_memory
from bayeskit.model.batch_predictor import BatchPredictor
from bayeskit.model.learn import Spec
from bayeskit.model.model import Model
from bayeskit.model.posterior import normal_prior
from bayeskit.model.program import program_of
from bayeskit.portable.program import Program

OWN = ("fit", "predict", "predict_proba")  # what makes a classifier that of its statistics
Step = tuple[
    Float, Float, list[tuple[Label, ...]], Bool, Block
]  # terms, posteriors, values, what is unseen, of a batch


def explain_rows(
    asked: BatchPredictor, top: int | None, prior: PriorLike, kind: str, words: NamesLike = None
) -> Explanation:
    """The terms of every row, of all columns or of those ``top`` that say most and of the rest together.

    ``words`` are names of columns that have none.
    """
    model = asked.model
    names = model.density.columns
    which = np.arange(len(names))
    by_column = names == model.schema.names
    shown_as = name_parts(names, model.schema.names, words)
    if top is not None and check_top(top) < len(names):
        spreads = asked.steps(prior, lambda model, block, *_: model.density.class_range(block))
        which = widest(sum(spreads, np.zeros(len(names))), top)
    rest = (REST,) if len(which) < len(names) else ()

    def step(model: Model, block: Block, p: Float, batch: Batch, start: int) -> Step:
        terms = model.terms_of(block, which) if rest else model.terms(block)
        shown = _values(batch, model.schema, which) if by_column else [("",) * len(which)] * block.rows
        values = [(*row, *(None for _ in rest)) for row in shown]
        unseen = _unseen(block, which) if by_column else np.zeros((block.rows, len(which)), dtype=bool)
        return terms, model.posterior(block, p), values, np.pad(unseen, ((0, 0), (0, len(rest)))), block

    each = (len(which) + 1) * len(model.weights)
    if (rows := asked.known_rows) is not None:
        what = f"terms of {len(which):,} columns and {len(model.weights):,} classes for {rows:,} rows"
        check_memory(8 * rows * each, what, "explain fewer rows, or give top=")
    terms, proba, values, unseen, blocks = zip(*asked.steps(prior, step, answers=each), strict=True)
    product = model.weighting is None and not model.density.class_ratios
    return Explanation(
        model.classes,
        model.log_base(prior),
        (*(shown_as[j] for j in which.tolist()), *rest),
        np.concatenate(terms),
        tuple(row for rows in values for row in rows),
        np.concatenate(proba),
        np.concatenate(unseen),
        kind,
        AskedRows(model, blocks, prior, shown_as) if product else None,
        model.weighting is None and model.density.normalised,
    )


def find_flips(
    asked: BatchPredictor, decide: Decide, outcomes: Array, others: Iterator[Block] | None, kind: str, free: Freedom
) -> Flips:
    """What would change the decision of each row; ``others`` have the values that may be tried."""
    columns = asked.model.schema.names
    hold = [find_column(name, columns, free.names) for name in free.hold]
    trials = Trials.of(asked.model, among=others).without(hold, columns)
    labels = outcomes.tolist()

    def step(model: Model, block: Block, p: Float, batch: Batch, start: int) -> list[tuple[Flip, ...]]:
        return flips(trials, decide, labels, batch, block.rows, free.columns)

    rows = tuple(row for rows in asked.steps(None, step) for row in rows)
    return Flips(rows, outcomes, trials.untried, kind).with_names(columns, free.names)


def _unseen(block: Block, which: Int) -> Bool:
    """Where some columns have a level that was never learned: (n, which)."""
    out = np.zeros((block.rows, len(which)), dtype=bool)
    for place, j in enumerate(which.tolist()):
        if (code := block.schema.coded_index.get(block.schema.names[j])) is not None:
            out[:, place] = block.codes[code] == -2
    return out


def _values(batch: Batch, schema: Schema, which: Int) -> list[tuple[Label, ...]]:
    """What the rows of a batch hold in some columns, None where missing."""
    if isinstance(batch, Matrix):
        cells = [column.tolist() for column in batch.dense(which).T]
    else:
        cells = [batch.column(schema.names[j]).to_pylist() for j in which.tolist()]
    return [tuple(None if v != v else v for v in row) for row in zip(*cells, strict=True)]


@document()
class BayesClassifier(Views, Learner):
    """What was learned, asked about rows: posteriors, evidence, explanations."""

    prior_shift_: PriorShift

    def count_spec(self) -> Spec | None:
        """What to learn, if it answers by counts alone; a class that learns or answers in its own way is refitted."""
        own = all(getattr(type(self), name) is getattr(BayesClassifier, name) for name in OWN)
        spec = self.spec()
        return spec if own and not spec.fits_weights else None

    def fold_spec(self) -> Spec | None:
        """The same, if models of folds come from one pass."""
        spec = self.count_spec()
        return spec if spec is not None and spec.one_pass else None

    def table_reader(self) -> Model:
        """The model that knows the columns."""
        return self.model_

    def program(self) -> Program:
        """Itself as a portable program, which every target reads."""
        check_is_fitted(self, "model_")
        return program_of(self.model_, type(self).__name__)

    def honest_log_proba(self, X: TableLike) -> Float | None:
        """log P(class | row), (n, K); None where a class has a ``predict_proba`` of its own."""
        return self.predict_log_proba(X) if type(self).predict_proba is BayesClassifier.predict_proba else None

    @property
    def _has_evidence(self) -> bool:
        """Whether its scores are densities."""
        return not self.spec().fits_weights

    def predict(self, X: TableLike, prior: PriorLike = None) -> Array:
        """The most probable class of each row; the first of ``classes_`` in a tie."""
        best = self._predictor(X).rows(
            prior, lambda model, block, p, _: np.argmax(model.posterior(block, p), axis=1), wide=False
        )
        return self.classes_[best.astype(np.intp)]

    def predict_proba(self, X: TableLike, prior: PriorLike = None) -> Float:
        """P(class | row), (n, K); ``prior`` overrides the model's prior for this call."""
        return self._predictor(X).rows(prior, lambda model, block, p, out: model.posterior(block, p, out=out))

    def predict_log_proba(self, X: TableLike, prior: PriorLike = None) -> Float:
        """log P(class | row), (n, K)."""
        return self._predictor(X).log_posterior(prior)

    def predict_joint_log_proba(self, X: TableLike, prior: PriorLike = None) -> Float:
        """log P(class, row), (n, K); -inf where a class is impossible."""
        return self._predictor(X).rows(prior, lambda model, block, p, out: model.joint(block, p, out=out))

    def predict_frame(
        self,
        X: TableLike,
        keep: ColumnNames = (),
        prior: PriorLike = None,
        *,
        costs: CostsLike = None,
        reject: float | None = None,
        evidence: bool = False,
        reasons: int = 0,
    ) -> Frame:
        """Prediction and P(class | row) as columns, beside those to ``keep``.

        The frame is of the kind X was: on Spark the executors work it out.
        """
        wanted = {"costs": costs, "reject": reject, "evidence": evidence, "reasons": reasons}
        return predict_frame(self._predictor(X, keep), X, keep, prior, wanted)

    def log_evidence(self, X: TableLike, prior: PriorLike = None) -> Float:
        """log p(row) under the whole model, (n,): how usual a row is."""
        return self._predictor(X).rows(prior, lambda model, block, p, _: model.evidence(block, p), wide=False)

    @available_if(lambda self: self._has_evidence)  # type: ignore[untyped-decorator]
    def score_samples(self, X: TableLike) -> Float:
        """The same as ``log_evidence``, by scikit-learn's name."""
        return self.log_evidence(X)

    def explain(
        self, X: TableLike, top: int | None = None, prior: PriorLike = None, names: NamesLike = None
    ) -> Explanation:
        """What each column says for each class, in log-likelihoods that add up to the posterior.

        ``names`` are those of the columns of a matrix: the words of a text (``vectorizer.get_feature_names_out()``).
        """
        return explain_rows(self._predictor(X), top, prior, kind_of(X), names)

    def flips(self, X: TableLike, decide: Decide, outcomes: Array, free: Freedom) -> Flips:
        """Flips of decisions that this classifier, or one made of it, takes."""
        others = None if free.among is None else self._predictor(free.among).blocks()
        return find_flips(self._predictor(X), decide, outcomes, others, kind_of(X), free)

    def nomogram(
        self,
        target: Label | None = None,
        rival: Label | None = None,
        prior: PriorLike = None,
        among: TableLike | None = None,
        names: NamesLike = None,
    ) -> Nomogram:
        """Points for every value of every column, which add up to the odds of one class against another.

        With more than two classes a ``rival`` is needed: the odds of a class against all others do not add up. An axis
        of numbers shows the usual ones of its density, and none beyond those learned.
        """
        check_is_fitted(self, "model_")
        known = () if among is None else tuple(self._predictor(among).blocks())
        return Nomogram.of(self.model_, self.explain, Contrast(target, rival, prior), known, names)

    def marginal(self, column: str, prior: PriorLike = None, names: NamesLike = None) -> Marginal:
        """p(x | c) of one column by itself, whatever the others hold; ``names`` as in ``explain``.

        Of a word of a text it is P(word | class), which ``word_probabilities`` has of all: that it is there
        (``Bernoulli``), or that a word is this one (``Multinomial``).
        """
        check_is_fitted(self, "model_")
        found = marginal(self.model_, find_column(column, self.model_.schema.names, names), prior)
        return replace(found, name=column)

    def value_of_information(
        self,
        X: TableLike,
        costs: CostsLike = None,
        prices: Mapping[str, float] | None = None,
        columns: Sequence[str] | None = None,
        prior: PriorLike = None,
    ) -> InformationValue:
        """Which missing value of a row is worth its price: what knowing each is expected to save.

        By the model's own p(value | row): levels, whole numbers and the intervals of models that cut their
        numbers are summed over, numbers integrated.

        Parameters
        ----------
        X : table
            One row, with the values that are not known missing.
        costs : Costs, mapping, frame or path, optional
            A row for each class and a column for each action; None is 0/1.
        prices : mapping, optional
            What it costs to know a column, by name; 0 unless given.
        columns : sequence of str, optional
            Only these; all that are missing unless given.

        Returns
        -------
        InformationValue
            ``frame()`` has the columns "column", "saving", "price" and "net"; ``best`` is the one to ask for first.
        """
        check_is_fitted(self, "model_")
        self._predictor(X)
        given = {name: values.to_pylist() for name, values in table_columns(X) if name in self.model_.schema.names}
        if any(len(values) != 1 for values in given.values()):
            raise InputError("value_of_information() judges one row at a time; give a table of one row")
        known = {name: v for name, (v,) in given.items() if v is not None and v == v}
        table = Costs.of(costs, self.classes_.tolist())
        return value_of_columns(self.model_, known, self.model_.log_prior(prior), table, columns, prices)

    def log_prior(self, prior: PriorLike = None) -> Float:
        """log P(class), (K,): the model's own, or that of ``prior``."""
        check_is_fitted(self, "model_")
        return self.model_.log_prior(prior)

    def summary(self, names: NamesLike = None) -> Summary:
        """What was learned: classes and priors, columns with kind, family and reason; ``names`` as in ``explain``."""
        check_is_fitted(self, "model_")
        return Summary.of(self.model_, names)

    def _predictor(self, X: TableLike, keep: ColumnNames = ()) -> BatchPredictor:
        """A question about a table, checked against the columns of the fit; it may have others that are to be kept."""
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self, "model_")
        return BatchPredictor.of(self.model_, X, type(self).__name__, keep, self.n_jobs)

    def calibrated(
        self, X: TableLike, y: LabelsLike, method: str = "sigmoid", sample_weight: WeightsLike = None
    ) -> Any:
        """This classifier, as it is, with its probabilities set right on rows that are new to it.

        The map is fitted to what it says of these rows. To calibrate on the
        rows a classifier learns from, by cross-validation, use ``Calibrated(model).fit(X, y)``.
        """
        from bayeskit.estimators.calibrated import Calibrated

        check_is_fitted(self, "model_")
        return Calibrated(clone(self), method).around(self, X, y, sample_weight)

    def adapt_prior(self, X: TableLike) -> Self:
        """A copy whose prior is the one that makes new, unlabelled rows most likely; ``prior_shift_`` shows both."""
        shift = prior_shift(self.classes_, self.predict_log_proba(X), self.model_.log_prior())
        prior = shift.by_class
        adapted = type(self)(**{**self.get_params(deep=False), "prior": prior})
        adapted = adapted.with_model(replace(self.model_, prior=normal_prior(prior)))
        adapted.prior_shift_ = shift
        return adapted
