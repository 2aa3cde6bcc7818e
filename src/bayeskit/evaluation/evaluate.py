"""evaluate: any classifier on rows it has not learned; by algebra where its statistics allow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial, reduce
from itertools import chain
from typing import Any

import numpy as np
from sklearn.base import clone

from bayeskit.arrays import (
    Array,
    Classifier,
    ColumnLike,
    CostsLike,
    Float,
    Int,
    LabelsLike,
    Seed,
    TableLike,
    WeightsLike,
)
from bayeskit.docstrings import complete_docstrings
from bayeskit.engines.engine import is_outside
from bayeskit.errors import InputError, KindError
from bayeskit.evaluation.algebra import Algebra
from bayeskit.evaluation.bootstrapped import Bootstrapped, Influence
from bayeskit.evaluation.decisions import Actions, DecisionCosts, actions_of, costs_of_decisions, price_decisions
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.evaluation.fitted_run import FittedRun
from bayeskit.evaluation.grouping import Grouping, GroupsLike, groupings
from bayeskit.evaluation.groups import Groups
from bayeskit.evaluation.intervals import design_effect
from bayeskit.evaluation.measures import Measures, bin_ranks
from bayeskit.evaluation.methods import (
    AsFitted,
    Bootstrap632,
    CrossValidation,
    Holdout,
    LeaveOneOut,
    Method,
    MethodLike,
    Split,
    method_of,
)
from bayeskit.evaluation.out_of_fold import OutOfFold, Repeat
from bayeskit.evaluation.protocols import SupportsSpec, can_fit
from bayeskit.evaluation.refit import FoldModels, Refit, actions_by, weight_argument
from bayeskit.evaluation.refit_stream import stream_for
from bayeskit.evaluation.score import PredictedRows
from bayeskit.evaluation.score_sums import ScoreSums, by_chance, confusion_bytes
from bayeskit.evaluation.scores import BY_ROW
from bayeskit.evaluation.stream import LabelledSource, hash_split
from bayeskit.memory import check_memory
from bayeskit.model.labelled_table import LabelledTable, Rows

SHARED = {  # parameters of what evaluates
    "X": """table
        Rows, as for ``fit``.""",
    "y": """array of shape (n,) or str
        The labels, or the name of their column.""",
    "method": """method of evaluation, int or splitter, optional
        ``CrossValidation()`` unless given; ``Holdout``, ``LeaveOneOut``, ``Bootstrap632``, or ``AsFitted`` for a
        fitted model and rows that are new to it. A number of folds, the fold of each row or a scikit-learn splitter
        is taken as ``CrossValidation`` of it.""",
    "costs": """Costs or mapping, optional
        The action of least expected cost is judged too.""",
    "reject": """float, optional
        A row whose best action is expected to cost more is left undecided.""",
    "groups": """array of shape (n,) or str, optional
        Rows that stay together, or the column that says so, which then is no feature.""",
    "sample_weight": """array of shape (n,), optional
        Weights of the rows.""",
    "random_state": """int, default 0
        Seed of what is drawn.""",
    "n_jobs": """int, optional
        Number of threads, and of processes where models are refitted; -1 is all cores, None the threads that this
        process may have, and one process.""",
}
document = complete_docstrings(SHARED, {})


@document
def evaluate(
    model: Classifier,
    X: TableLike,
    y: LabelsLike,
    method: MethodLike = None,
    *,
    costs: CostsLike = None,
    reject: float | None = None,
    groups: ColumnLike | None = None,
    sample_weight: WeightsLike = None,
    random_state: Seed = 0,
    n_jobs: int | None = None,
    keep_models: bool = False,
    by: GroupsLike = None,
) -> Evaluation:
    """How well a classifier does on rows it has not learned.

    Confusion, accuracy and what follows from them are of what the model does (``predict``), log-loss, Brier score,
    calibration and areas of its probabilities. Of a RiskClassifier, or of scikit-learn's classifiers with a
    threshold, the decisions it takes itself are judged. A file or relation is read twice (by models that are fitted
    anew, as AutoBayes, some times for each fold) and no row is kept: folds come from a hash of the row's number, or of
    the column named by ``groups``. Of a file, and of more than 100,000 rows that are divided once, areas and equal-mass
    calibration come from 4,096 bins of log-odds; the interval of the area says how far that may move it.

    Parameters
    ----------
    model : classifier
        Any classifier with probabilities; it is left as it is.
    keep_models : bool, default False
        Keep the models of folds that are refitted, which ``model_for`` and a report else fit again.
    by : str, sequence of str, or mapping, optional
        Columns whose groups are judged one by one, each against all other rows, and together if they are several:
        ``evaluation.groups``. They stay features; values that are none are given as ``{name: values}``. Numbers of
        many values are cut into quarters of the rows.

    Returns
    -------
    Evaluation
        Measures with intervals, the confusion, out-of-sample probabilities, and plots.

    Examples
    --------
    >>> import bayeskit as bk
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> evaluation = evaluate(bk.NaiveBayes(), X, y, bk.LeaveOneOut())
    >>> f"{evaluation.accuracy:.4f}", evaluation.computed
    ('0.9533', 'algebra')
    """
    method = method_of(method)
    plan = plan_run(LabelledSource(X, y, sample_weight, groups), method, costs, reject, random_state)
    into = None if by is None else _groupings(by, X, y, method)
    found = plan.run(model, n_jobs, keep_models) if isinstance(plan, MemoryRun) else plan.run(model, n_jobs)
    found = replace(found, random_state=random_state)
    if into is None:
        return found
    return replace(found, groups=Groups.of(found.measures, found.classes, into, found.others, found.kind))


def _groupings(by: GroupsLike, X: TableLike, y: LabelsLike, method: Method) -> tuple[Grouping, ...]:
    """The groups of rows to judge, refused before any model is fitted."""
    if is_outside(X):
        raise InputError("by= judges groups of rows that were kept, and a file is read in passes; read it into memory")
    if isinstance(method, Bootstrap632):
        raise InputError("by= judges groups by one prediction for each row, which a bootstrap has not; cross-validate")
    return groupings(by, LabelledTable.of(X, y, least=1))


def plan_run(
    source: LabelledSource,
    method: MethodLike,
    costs: CostsLike = None,
    reject: float | None = None,
    random_state: Seed = 0,
) -> MemoryRun | StreamRun | FittedRun:
    """How models are to be evaluated on these rows, the same for all."""
    method = method_of(method)
    costs_for = partial(price_decisions, costs, reject)
    if isinstance(method, AsFitted):
        if source.groups is not None:
            raise InputError(
                "groups keep rows together where they are divided; a fitted model is judged by all of them"
            )
        return FittedRun(source, costs_for)
    rng = generator_of(random_state)
    if is_outside(source.X):
        return StreamRun(source, method, int(rng.integers(1 << 62)), costs_for)
    sample = LabelledTable.of(source.X, source.y, source.weight, source.groups)
    return MemoryRun.of(sample, method, costs_for(sample.rows.classes), rng)


@dataclass(frozen=True)
class StreamRun:
    """A file or relation, read anew for every model, with the same folds."""

    source: LabelledSource
    method: Method
    seed: int
    costs_for: Callable[[Array], DecisionCosts | None]

    @property
    def rows(self) -> int:
        raise InputError("baselines are refitted for every fold, which a stream does not allow; read it into memory")

    def run(self, model: Classifier, n_jobs: int | None = None) -> Evaluation:
        """A model evaluated."""
        division = hash_split(self.method, self.source.groups, self.seed)
        return stream_for(model, self.source, division, n_jobs).run(self.costs_for, self.method)


@dataclass(frozen=True)
class MemoryRun:
    """Rows, divided once: every model that is run meets the same folds."""

    sample: LabelledTable
    method: Method
    decision_costs: DecisionCosts | None
    splits: tuple[Split, ...]
    seed: int

    @classmethod
    def of(
        cls, sample: LabelledTable, method: Method, decision_costs: DecisionCosts | None, rng: np.random.Generator
    ) -> MemoryRun:
        if isinstance(method, LeaveOneOut) and sample.rows.groups is not None:
            raise InputError("leaving one row out does not keep groups together; use CrossValidation(folds=groups)")
        splits = tuple(method.splits(sample.rows, rng)) if isinstance(method, CrossValidation | Holdout) else ()
        return cls(sample, method, decision_costs, splits, int(rng.integers(1 << 62)))

    @property
    def rows(self) -> int:
        return len(self.sample.rows)

    def run(self, model: Classifier, n_jobs: int | None = None, keep: bool = False) -> Evaluation:
        """A model evaluated; ``keep`` the models of folds that are refitted."""
        if not can_fit(model) or isinstance(model, type):
            raise KindError(f"{model!r} is no classifier; give an object with fit and predict_proba")
        self._check_room()
        models, rows = self._fold_models(model), self.sample.rows
        kept = models.fitted if keep and models is not None and models.split is not None else None
        way = _way(model, self.sample, self.method, n_jobs, kept)
        decision_costs = costs_of_decisions(model, self.decision_costs, rows.classes)
        actions = actions_of(model, rows.classes)
        measures: Measures | Bootstrapped
        if isinstance(self.method, LeaveOneOut):
            logs, done, held = way.left_out()
            action, actions = _code_actions(actions, logs, done)
            measures = Measures.of(rows, logs, 1 / max(len(rows) - 1, 1), decision_costs, action, left_out=True)
        elif isinstance(self.method, Bootstrap632):
            held = way.grids
            measures, actions = _evaluate_draws(way, rows, decision_costs, self.method, self.seed, actions)
        else:
            held = way.grids
            measures, actions = _evaluate_splits(way, rows, decision_costs, self.splits, actions)
        full_model = cache(partial(fit_copy, model, self.sample))
        if isinstance(measures, Measures) and isinstance(self.method, CrossValidation | LeaveOneOut):
            new = measures.value("accuracy")
            measures = replace(
                measures, overlap=lambda: design_effect(new, _own_accuracy(way, full_model, self.sample, actions))
            )
        return Evaluation(
            rows.classes,
            measures,
            self.method,
            way.computed,
            type(model).__name__,
            self.sample.kind,
            full_model,
            self.sample.X,
            self.sample.y,
            others=actions.others,
            held=held,
            fold_models=models,
        )

    def _check_room(self) -> None:
        """Refuse probabilities of all rows, twice, and confusions of all folds that do not fit into memory together."""
        classes, repeats = len(self.sample.rows.classes), max(len(self.splits), 1)
        folds = max(sum(len(split.tested) for split in self.splits), 1)
        check_memory(
            16 * repeats * self.rows * classes + confusion_bytes(folds, classes),
            f"{classes:,} probabilities of {self.rows:,} rows, {repeats} times, and confusions in {folds} folds",
            "join classes, or take fewer rows or folds",
        )

    def _fold_models(self, model: Classifier) -> FoldModels | None:
        """What predicted each row, if it was one model."""
        if isinstance(self.method, LeaveOneOut):
            return FoldModels(model, self.sample, None)
        return FoldModels(model, self.sample, self.splits[0]) if len(self.splits) == 1 else None


def _way(
    model: Classifier, sample: LabelledTable, method: Method, n_jobs: int | None, kept: dict[int, Classifier] | None
) -> Algebra | Refit:
    """By algebra where the model has the statistics for it; leave-one-out of what labels chose is a refit."""
    spec = model.fold_spec() if isinstance(model, SupportsSpec) else None
    if spec is not None:
        algebra = Algebra(spec, sample)
        if not (isinstance(method, LeaveOneOut) and (method.exact or not algebra.leave_one_out)):
            return algebra
    return Refit(model, sample, n_jobs, kept)


def _code_actions(actions: Actions, logs: Float, done: Array | None) -> tuple[Int | None, Actions]:
    """What was done with each row by code, and the actions with those that came up; None is the most probable class."""
    if done is None:
        return None, actions
    tested = ~np.isnan(logs[:, 0])
    codes = np.full(len(logs), -1, dtype=np.int64)
    codes[tested], actions = actions.encode(done[tested])
    return codes, actions


def _evaluate_splits(
    way: Algebra | Refit, rows: Rows, decision_costs: DecisionCosts | None, splits: Iterable[Split], actions: Actions
) -> tuple[Measures, Actions]:
    trials, parts, ratios = [], [], []
    for split in splits:
        logs, done = way.out_of_fold(split)
        proba = np.exp(logs)
        action, actions = _code_actions(actions, logs, done)
        tested = np.isin(np.arange(split.folds), split.tested)
        number = np.where(tested, np.cumsum(tested) - 1, -1)
        fold = number[split.fold]
        trials.append(Repeat(proba, fold, action, logs))
        predicted = PredictedRows(rows.codes, proba, rows.weights, action, decision_costs)
        parts.append(ScoreSums.of(predicted, fold, len(split.tested)))
        ratios += split.ratios
    kept = OutOfFold(rows, tuple(trials))
    ratio, grouped = float(np.mean(ratios)), rows.groups is not None
    sums = reduce(ScoreSums.beside, parts)
    return Measures(sums, len(trials), ratio, kept, bin_ranks(kept), decision_costs, grouped), actions


def _own_accuracy(
    way: Algebra | Refit, model: Callable[[], Classifier], sample: LabelledTable, actions: Actions
) -> float:
    """The accuracy of the model of all rows on these rows."""
    rows = sample.rows
    if isinstance(way, Algebra):
        codes = way.learned_best()
    else:
        codes, _ = actions.encode(actions_by(model(), sample.features))
    return float(np.average(codes == rows.codes, weights=rows.weights * rows.counted))


def _evaluate_draws(
    way: Algebra | Refit,
    rows: Rows,
    decision_costs: DecisionCosts | None,
    method: Bootstrap632,
    seed: int,
    actions: Actions,
) -> tuple[Bootstrapped, Actions]:
    def draws() -> Iterator[Float]:
        return method.draws(rows, np.random.default_rng(seed))

    codes, weights = np.maximum(rows.codes, 0), rows.weights * rows.counted
    times = reduce(lambda so_far, drawn: so_far + (drawn == 0), draws(), np.zeros(len(rows)))
    once = np.divide(weights, times, out=np.zeros(len(rows)), where=times > 0)
    answers = way.resample(chain([rows.counted.astype(np.float64)], draws()))
    _, (logs, done) = next(answers)
    action, actions = _code_actions(actions, logs, done)
    share = np.bincount(codes, weights, minlength=len(rows.classes))
    seen = PredictedRows(rows.codes, np.exp(logs), weights, action, decision_costs)
    apparent, chance = ScoreSums.of(seen), by_chance(seen, share / share.sum())
    summed, loss, said = np.zeros(logs.shape), np.zeros((len(rows), len(BY_ROW))), []
    votes, each, new = np.zeros((len(rows), len(actions.names))), [], ScoreSums.empty(1, len(rows.classes))
    for drawn, (logs, done) in answers:
        proba, group = np.exp(logs), np.where(drawn == 0, 0, -1)
        action, actions = _code_actions(actions, logs, done)
        votes = np.pad(votes, ((0, 0), (0, len(actions.names) - votes.shape[1])))
        out = np.flatnonzero(drawn == 0)
        summed[out] += proba[out]
        predicted = PredictedRows(rows.codes, proba, weights, action, decision_costs)
        votes[out, predicted.done[out]] += 1
        each.append(ScoreSums.of(predicted, group))
        new = new.merge(ScoreSums.of(replace(predicted, weights=once), group))
        judged = replace(predicted, codes=codes).take(out)
        mine = np.stack([score.of_rows(judged) for score in BY_ROW], axis=1)
        loss[out] += mine
        said.append(weights[out] @ mine)
    with np.errstate(invalid="ignore"):
        mean, loss = summed / times[:, None], loss / times[:, None]
    heavy, squared = weights * once, np.zeros(new.confusion.shape)
    for c in range(len(rows.classes)):
        squared[0, c] = (heavy * (codes == c)) @ votes
    kept = OutOfFold(rows, (Repeat(mean, np.where(times > 0, 0, -1), np.argmax(votes, axis=1)),))
    influence = None if rows.groups is not None else Influence.of(loss, np.array(said), weights, draws())
    new = replace(new, squared=squared)
    found = Bootstrapped(
        new, reduce(ScoreSums.beside, each), apparent, chance, kept, influence, decision_costs, method.plus
    )
    return found, actions


def fit_copy(model: Classifier, sample: LabelledTable) -> Any:
    """A copy of the model, fitted to all rows."""
    if isinstance(model, SupportsSpec):
        return clone(model).fit(sample.X, sample.y, sample.weight)
    X, y, weight = sample.take(np.flatnonzero(sample.rows.counted))
    return clone(model).fit(X, y, **weight_argument(model, weight))


def generator_of(random_state: Seed) -> np.random.Generator:
    """Random numbers from a seed, a generator, or scikit-learn's kind of state."""
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    return np.random.default_rng(random_state)
