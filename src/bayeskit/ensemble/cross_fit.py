"""CrossFit: what models say of rows they have not learned, piece by piece; what weights are fitted to."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from bayeskit.arrays import Float, Int, LabelsLike, TableLike, WeightsLike
from bayeskit.data.block import Block
from bayeskit.data.levels import Levels
from bayeskit.ensemble.deadline import Deadline
from bayeskit.model.coded import CodedTable, count_together, in_codes_of
from bayeskit.model.distinct_rows import Distinct, Sample
from bayeskit.model.labelled_table import Rows
from bayeskit.model.learn import Spec, learn, reuse_counts
from bayeskit.model.model import Model
from bayeskit.model.open_table import OpenTable
from bayeskit.numerics.log_linear import Evidence
from bayeskit.structures.naive import Naive
from bayeskit.structures.wrapped import FactorWeights

FOLDS = 5
ROWS = 4000  # rows that weights are fitted to
DRAWN = 100_000  # different rows among which they are
FEW = 100  # rows below which folds are drawn several times
HELD = 4  # at most one row of so many is held out where there are no folds
PLENTY = 10_000  # rows above which one model, of the rows that are not tested, predicts all that are
TOWARD, BIAS = 10.0, 1.0  # pull of weights toward the common temperature, and of biases toward 0


@dataclass(frozen=True)
class Share:
    """Some rows of a sample, and how much of each."""

    rows: Int  # (m,)
    mass: Float  # (m,)

    @classmethod
    def of(cls, mass: Float) -> Share:
        """From the mass of every row of the sample."""
        rows = np.flatnonzero(mass > 0)
        return cls(rows, mass[rows])


@dataclass(frozen=True)
class CrossFit:
    """Which rows are predicted by a model of which others."""

    table: CodedTable  # distinct rows
    known: Rows  # class and weight of each
    tests: tuple[Share, ...]  # each part
    trains: tuple[Share, ...]  # what its model learns
    unit: Int  # (m,) what is tested, part after part: the same unit may be tested again
    repeats: int = 1
    deadline: Deadline = Deadline()  # of what its models predict

    @classmethod
    def of(cls, distinct: Distinct, folds: int = FOLDS, most: int = ROWS) -> CrossFit:
        """Stratified folds; of many units only some are tested, below 100 the folds are drawn three times.

        Above 12,000 units, or where one fold is asked for, some are held out: all parts are then predicted by one model
        of the others.
        """
        total, weight = int(distinct.units.sum()), distinct.weight
        if total < FEW:
            return cls._repeat(distinct, folds, 3)
        if total > PLENTY or folds == 1:
            fixed = max(total // most + 1, HELD)
            place = distinct.places(fixed * FOLDS)
            masses = [distinct.weigh_fold(place, fixed * FOLDS, f * fixed) for f in range(FOLDS)]
            learned = Share.of(weight - distinct.weigh_fold(place, fixed, 0))
            return cls._of(distinct, [(Share.of(mass), learned) for mass in masses])
        place, parts = distinct.places(folds), []
        for f in range(folds):
            whole = distinct.weigh_fold(place, folds, f)
            thinned = distinct.weigh_fold(place, folds, f, most, total) if total > most else whole
            parts.append((Share.of(thinned), Share.of(weight - whole)))
        return cls._of(distinct, parts)

    @classmethod
    def _of(cls, of: Distinct, parts: list[tuple[Share, Share]]) -> CrossFit:
        tests, trains = zip(*((test, train) for test, train in parts if len(test.rows)), strict=True)
        return cls(of.table, of.rows, tests, trains, np.arange(sum(len(test.rows) for test in tests)))

    @classmethod
    def _repeat(cls, distinct: Distinct, folds: int, repeats: int) -> CrossFit:
        """Unit by unit, so that it is known which of them are tested again."""
        units, weight = distinct.units, distinct.weight
        row = np.repeat(np.arange(len(units)), units)
        end = np.cumsum(units)
        within = np.arange(len(row)) - np.repeat(end - units, units)
        mass = np.where(within + 1 < units[row], 1.0, weight[row] - within)
        tests, trains, unit = [], [], []
        for repeat in range(repeats):
            fold = (distinct.places(folds, repeat)[row] + within) % folds
            if (fold == fold[0]).all():  # nothing would be left to learn from, as where each class has one row
                fold = np.arange(len(row)) % folds
            for f in range(folds):
                mine = np.flatnonzero(fold == f)
                if len(mine):
                    others = np.flatnonzero(fold != f)
                    tests.append(Share(row[mine], mass[mine]))
                    left = np.bincount(row[others], mass[others], minlength=len(units))
                    trains.append(Share.of(left.astype(np.float64, copy=False)))
                    unit.append(mine)
        return cls(distinct.table, distinct.rows, tuple(tests), tuple(trains), np.concatenate(unit), repeats)

    @property
    def rows(self) -> Int:
        """The rows tested, part after part: (m,)."""
        return np.concatenate([test.rows for test in self.tests])

    @property
    def part(self) -> Int:
        """The part each of them is in: (m,)."""
        return np.repeat(np.arange(len(self.tests)), [len(test.rows) for test in self.tests])

    @property
    def label(self) -> Int:
        return self.known.codes[self.rows]

    @property
    def mass(self) -> Float:
        """What each counts, shared among the times it is tested: (m,)."""
        out: Float = np.concatenate([test.mass for test in self.tests]) / self.repeats
        return out

    def models(
        self, spec: Spec, known: dict[int, Model] | None = None, fixed: Naive | None = None
    ) -> Iterator[tuple[Model, Block]]:
        """For each set of training rows the model of them, and the rows of all its parts in its codes.

        ``known`` has models of the same rows that counted the same, and gets those that are made; ``fixed`` is a
        structure whose choices are kept.
        """
        every = tuple(self.known.classes.tolist())
        known, begin, took = {} if known is None else known, time.monotonic(), 0.0
        for number, parts in groupby(zip(self.tests, self.trains, strict=True), key=lambda part: id(part[1])):
            tests, (train, *_) = zip(*parts, strict=True)
            self.deadline.check(took)
            if number in known:
                model = reuse_counts(spec, known[number])
            else:
                model = known[number] = learn(spec, self.table.take(train.rows, train.mass), every, fixed=fixed)
            asked = self.table.block.at(np.concatenate([test.rows for test in tests]))
            yield model, in_codes_of(model, asked)
            begin, took = time.monotonic(), time.monotonic() - begin

    def factors(self, spec: Spec, fixed: Naive | None = None) -> tuple[Float, Float]:
        """Pieces of evidence, (m, J, K), and log priors, (m, K), by models that have not learned the row."""
        pieces, bases = [], []
        for model, block in self.models(spec, fixed=fixed):
            found = model.density.factors(block)
            pieces.append(np.broadcast_to(found, (*found.shape[:2], len(model.weights))))
            bases.append(np.broadcast_to(model.log_prior(), (len(found), len(model.weights))))
        return np.concatenate(pieces), np.concatenate(bases)


def fit_weights(spec: Spec, model: Model, X: TableLike, y: LabelsLike, weight: WeightsLike) -> Model:
    """The model with a weight for each piece and a bias for each class, fitted to rows predicted by the others.

    Of more than 100,000 different rows, these are among the 100,000 of the smallest hashes.
    """
    table = OpenTable.of(X, y, weight, spec.n_jobs, model.counted.types).against(model.schema, spec.name)
    read = table.schema(spec.kinds, "skip", ())
    (drawn,) = count_together(table, read, [Sample.of(read, DRAWN)]).parts
    plan = CrossFit.of(drawn.distinct(model, table))
    fixed = model.structure if spec.fixes_choices else None
    with warnings.catch_warnings():  # what is to be said of the rows has been, by the model of all of them
        warnings.simplefilter("ignore")
        seen = Evidence.of(*plan.factors(spec, fixed), plan.label, plan.mass)
    w, bias = seen.fit(np.full(seen.terms.shape[2], seen.temperature()), TOWARD, BIAS)
    return model.with_weights(FactorWeights(w, bias, Levels.of(plan.known.classes.tolist())))
