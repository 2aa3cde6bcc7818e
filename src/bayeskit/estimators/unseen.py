"""Unseen: what models say of rows they have not learned, piece by piece; what weights are fitted to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from sklearn.base import clone

from bayeskit.arrays import Float, Int
from bayeskit.engines.engine import is_outside
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.gathering import gathered
from bayeskit.estimators.sample import Sample, taken
from bayeskit.loglinear import Evidence
from bayeskit.model import Model
from bayeskit.structures.naive import Naive
from bayeskit.structures.weighted import Tuning

FOLDS = 5
ROWS = 4000  # rows that weights are fitted to
DRAWN = 100_000  # rows of a file among which they are
FEW = 100  # rows below which folds are drawn several times
PLENTY = 12_000  # rows above which one model, of the rows that are not tested, foretells all that are
TOWARD, BIAS = 10.0, 1.0  # pull of weights toward the common temperature, and of biases toward 0


@dataclass(frozen=True)
class Plan:
    """Which rows are foretold by a model of which others."""

    sample: Sample
    tests: tuple[Int, ...]  # rows of each part
    trains: tuple[Int, ...]  # rows its model learns

    @classmethod
    def of(cls, sample: Sample, rng: np.random.Generator, folds: int = FOLDS, most: int = ROWS) -> Plan:
        """Stratified folds; of many rows only some are tested, below 100 rows the folds are drawn three times.

        Above 12,000 rows some are held out: all parts are then foretold by one model of the others.
        """
        rows = sample.rows
        counted = np.flatnonzero(rows.counted)
        if len(counted) > PLENTY:
            held = _dealt(rows.codes[counted], len(counted) // most + 1, rng) == 0
            part = _dealt(rows.codes[counted[held]], FOLDS, rng)
            learned = counted[~held]
            return cls(sample, tuple(counted[held][part == f] for f in range(FOLDS)), (learned,) * FOLDS)
        repeats = 3 if len(counted) < FEW else 1
        tests, trains = [], []
        for _ in range(repeats):
            fold = _dealt(rows.codes[counted], folds, rng)
            for f in range(folds):
                test = counted[fold == f]
                if len(test) > most // folds:
                    test = np.sort(rng.choice(test, most // folds, replace=False))
                if len(test):
                    tests.append(test)
                    trains.append(counted[fold != f])
        return cls(sample, tuple(tests), tuple(trains))

    @property
    def rows(self) -> Int:
        """The rows tested, part after part: (m,)."""
        return np.concatenate(self.tests)

    @property
    def part(self) -> Int:
        """The part each of them is in: (m,)."""
        return np.repeat(np.arange(len(self.tests)), [len(t) for t in self.tests])

    @property
    def label(self) -> Int:
        return self.sample.rows.codes[self.rows]

    @property
    def mass(self) -> Float:
        """What each counts: 1 on the average over the rows, shared among the times a row is tested: (m,)."""
        weights, tested = self.sample.rows.weights[self.rows], len(np.unique(self.rows))
        out: Float = weights * (tested / weights.sum())
        return out

    def models(
        self, classifier: BayesClassifier, known: dict[int, Model] | None = None, held: Naive | None = None
    ) -> Iterator[tuple[BayesClassifier, Any]]:
        """For each set of training rows the classifier of them, and the rows of all its parts.

        ``known`` has models of the same rows that counted the same, and gets those that are made; ``held`` is a
        structure whose choices are kept.
        """
        every = tuple(self.sample.rows.classes.tolist())
        known = {} if known is None else known
        for number, parts in groupby(zip(self.tests, self.trains, strict=True), key=lambda part: id(part[1])):
            tests, (train, *_) = zip(*parts, strict=True)
            made = clone(classifier)
            if number in known:
                made._adopt(made._likewise(known[number]))
            else:
                made._adopt(made._learned(*self.sample.take(train), every, held=held))
                known[number] = made.model_
            yield made, taken(self.sample.features, np.concatenate(tests))

    def factors(self, classifier: BayesClassifier, held: Naive | None = None) -> tuple[Float, Float]:
        """Pieces of evidence, (m, J, K), and log priors, (m, K), by models that have not learned the row."""
        pieces, bases = [], []
        for made, X in self.models(classifier, held=held):
            found = np.concatenate(list(made._inquiry(X).steps(None, _factors)))
            pieces.append(found)
            bases.append(np.broadcast_to(made.model_.log_prior(), (len(found), found.shape[2])))
        return np.concatenate(pieces), np.concatenate(bases)


def _factors(model: Model, block: Any, *_: Any) -> Float:
    pieces = model.density.factors(block)
    return np.broadcast_to(pieces, (*pieces.shape[:2], len(model.weights)))


def _dealt(codes: Int, folds: int, rng: np.random.Generator) -> Int:
    """A fold for each row, every class dealt out evenly."""
    order = np.argsort(codes + rng.random(len(codes)), kind="stable")
    fold = np.empty(len(codes), dtype=np.int64)
    fold[order] = (np.arange(len(codes)) + rng.integers(folds)) % folds
    return fold


def tuned(classifier: BayesClassifier, model: Model, X: Any, y: Any, weight: Any, random_state: Any = 0) -> Model:
    """The model with a weight for each piece and a bias for each class, fitted to rows foretold by the others.

    Of a file or relation, these are among 100,000 rows drawn at random.
    """
    X = gathered(X, model.counted.types, DRAWN)[0] if is_outside(X) else X
    sample = Sample.of(X, y, weight)
    plan = Plan.of(sample, np.random.default_rng(random_state))
    held = model.structure if classifier._holds else None
    seen = Evidence.of(*plan.factors(classifier, held), plan.label, plan.mass)
    w, bias = seen.fitted(np.full(seen.terms.shape[2], seen.temperature()), TOWARD, BIAS)
    return replace(model, tuning=Tuning(w, bias, model.counted.domain.classes))
