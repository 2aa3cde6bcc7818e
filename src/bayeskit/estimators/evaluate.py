"""evaluate: any classifier on rows it has not learned; by algebra where its statistics allow."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as np
from sklearn.base import clone

from bayeskit.arrays import Array, Float
from bayeskit.errors import InputError, KindError
from bayeskit.estimators.algebra import Algebra
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.refit import Refit, weighted
from bayeskit.estimators.sample import Sample
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.evaluation.kept import Kept, Trial
from bayeskit.evaluation.measures import Bootstrapped, Measures
from bayeskit.evaluation.methods import Bootstrap632, CrossValidation, Holdout, LeaveOneOut, Rows, Split
from bayeskit.evaluation.scores import Scores, Stakes

METHODS = (CrossValidation, Holdout, LeaveOneOut, Bootstrap632)


def evaluate(
    model: Any,
    X: Any,
    y: Any,
    method: Any = None,
    *,
    costs: Any = None,
    reject: float | None = None,
    groups: Any = None,
    sample_weight: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Evaluation:
    """How well a classifier does on rows it has not learned.

    ``model`` is any classifier with probabilities; it is left as it is. ``method`` is CrossValidation() unless given;
    Holdout, LeaveOneOut and Bootstrap632 are the others. ``groups`` (an array, or a column that then is no feature)
    keeps rows together. With ``costs`` the least costly action is judged too, with ``reject`` a row whose best action
    is expected to cost more is left undecided. ``n_jobs`` is for processes where models are refitted.

    >>> import bayeskit as bk
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> evaluation = evaluate(bk.NaiveBayes(), X, y, bk.LeaveOneOut())
    >>> f"{evaluation.accuracy:.4f}", evaluation.computed
    ('0.9533', 'algebra')
    """
    sample = Sample.of(X, y, sample_weight, groups)
    method = CrossValidation() if method is None else method
    return evaluated(model, sample, method, stakes(costs, reject, sample.rows.classes), random_state, n_jobs)


def evaluated(
    model: Any, sample: Sample, method: Any, at_stake: Stakes | None, random_state: Any, n_jobs: int | None
) -> Evaluation:
    """The same of a sample that has been read."""
    if not isinstance(method, METHODS):
        raise InputError(f"method={method!r}: choose one of {', '.join(way.__name__ for way in METHODS)}")
    if not hasattr(model, "fit") or isinstance(model, type):
        raise KindError(f"{model!r} is no classifier; give an object with fit and predict_proba")
    way = _way(model, sample, method, n_jobs)
    rng = generator(random_state)
    measures: Measures | Bootstrapped
    if isinstance(method, LeaveOneOut):
        measures = _left_out(way, sample.rows, at_stake)
    elif isinstance(method, Bootstrap632):
        measures = _resampled(way, sample.rows, at_stake, method, rng)
    else:
        measures = _divided(way, sample.rows, at_stake, method.splits(sample.rows, rng))
    return Evaluation(
        sample.rows.classes,
        measures,
        method,
        way.computed,
        type(model).__name__,
        sample.kind,
        lambda: _fitted(model, sample),
        sample.X,
        sample.y,
    )


def _way(model: Any, sample: Sample, method: Any, n_jobs: int | None) -> Algebra | Refit:
    """By algebra where the model has the statistics for it; leave-one-out of what labels chose is a refit."""
    if isinstance(method, LeaveOneOut) and sample.rows.groups is not None:
        raise InputError("leaving one row out does not keep groups together; use CrossValidation(folds=groups)")
    if isinstance(model, BayesClassifier) and model._algebra:
        algebra = Algebra(model, sample)
        if not (isinstance(method, LeaveOneOut) and algebra.chooses):
            return algebra
    return Refit(model, sample, n_jobs)


def _divided(way: Algebra | Refit, rows: Rows, at_stake: Stakes | None, splits: Iterable[Split]) -> Measures:
    trials, parts, ratios = [], [], []
    for split in splits:
        proba = way.foretold(split)
        tested = np.isin(np.arange(split.folds), split.tested)
        number = np.where(tested, np.cumsum(tested) - 1, -1)
        fold = number[split.fold]
        trials.append(Trial(proba, fold))
        parts.append(Scores.of(rows.codes, proba, rows.weights, fold, len(split.tested), at_stake))
        ratios += [(split.fold == f).sum() / split.training(f).sum() for f in split.tested]
    kept = Kept(rows, tuple(trials))
    return Measures(reduce(Scores.beside, parts), len(trials), float(np.mean(ratios)), kept, stakes=at_stake)


def _left_out(way: Algebra | Refit, rows: Rows, at_stake: Stakes | None) -> Measures:
    proba = way.left_out()
    trial = Trial(proba, np.zeros(len(rows), dtype=np.int64))
    scores = Scores.of(rows.codes, proba, rows.weights, stakes=at_stake)
    return Measures(scores, 1, 1 / max(len(rows) - 1, 1), Kept(rows, (trial,)), stakes=at_stake)


def _resampled(
    way: Algebra | Refit, rows: Rows, at_stake: Stakes | None, method: Bootstrap632, rng: np.random.Generator
) -> Bootstrapped:
    outs, drawns, chances = [], [], []
    summed, times = np.zeros((len(rows), len(rows.classes))), np.zeros(len(rows))
    share = np.bincount(rows.codes[rows.counted], rows.weights[rows.counted], minlength=len(rows.classes))
    for drawn, proba in way.resampled(method.draws(rows, rng)):
        out = drawn == 0
        summed[out] += proba[out]
        times += out
        group = np.where(out, 0, -1)
        outs.append(Scores.of(rows.codes, proba, rows.weights, group, stakes=at_stake))
        drawns.append(Scores.of(rows.codes, proba, rows.weights * drawn, stakes=at_stake))
        chances.append(_by_chance(proba, rows, share / share.sum(), at_stake))
    mean = np.divide(summed, times[:, None], out=np.full(summed.shape, np.nan), where=times[:, None] > 0)
    kept = Kept(rows, (Trial(mean, np.where(times > 0, 0, -1)),))
    test = Measures(reduce(Scores.beside, outs), method.repeats, 0.368 / 0.632, kept, stakes=at_stake)
    return Bootstrapped(test, reduce(Scores.beside, drawns), reduce(Scores.merge, chances), method.plus)


def _by_chance(proba: Float, rows: Rows, share: Float, at_stake: Stakes | None) -> Scores:
    """Scores if the classes had nothing to do with the rows: every row counts in every class, by its share."""
    each = (
        Scores.of(np.full(len(proba), k), proba, rows.weights * rows.counted * p, stakes=at_stake)
        for k, p in enumerate(share.tolist())
    )
    return reduce(Scores.merge, each)


def _fitted(model: Any, sample: Sample) -> Any:
    """A copy of the model, fitted to all rows."""
    if isinstance(model, BayesClassifier):
        return clone(model).fit(sample.X, sample.y, sample.weight)
    X, y, weight = sample.take(np.flatnonzero(sample.rows.counted))
    return clone(model).fit(X, y, **weighted(model, weight))


def stakes(costs: Any, reject: float | None, classes: Array) -> Stakes | None:
    """The cost table by the classes of the sample; being wrong costs 1 where only rejection has a price."""
    if costs is None and reject is None:
        return None
    if costs is not None and not hasattr(costs, "matrix_for"):
        raise KindError(f"costs is {type(costs).__name__}; give bk.Costs")
    if reject is not None and not np.isfinite(reject):
        raise InputError(f"reject={reject!r}: give the cost of leaving a row undecided")
    table = 1.0 - np.eye(len(classes)) if costs is None else np.asarray(costs.matrix_for(classes), dtype=np.float64)
    return Stakes(table, None if reject is None else float(reject))


def generator(random_state: Any) -> np.random.Generator:
    """Random numbers from a seed, a generator, or scikit-learn's kind of state."""
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    return np.random.default_rng(random_state)
