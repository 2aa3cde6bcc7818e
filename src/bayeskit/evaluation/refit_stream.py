"""RefitStream: a classifier fitted anew for every fold of a file or relation, which is read in passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from bayeskit.arrays import Array, Batch, Bool, Classifier, TableLike
from bayeskit.data.hash_split import HashSplit
from bayeskit.engines.part import Part
from bayeskit.errors import InputError
from bayeskit.evaluation.decisions import DecisionCosts, actions_of, costs_of_decisions
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.evaluation.fitted_run import judge, read_classes
from bayeskit.evaluation.measures import Measures
from bayeskit.evaluation.methods import Holdout, Method
from bayeskit.evaluation.protocols import ReadsTables, SupportsSpec
from bayeskit.evaluation.stream import PARTS, Judged, LabelledSource, Stream, sum_scores
from bayeskit.model.open_table import OpenTable


@dataclass(frozen=True)
class RefitStream:
    """A classifier that reads files itself, and a source whose rows are divided by a hash of their key or number."""

    model: Classifier
    source: LabelledSource
    division: HashSplit
    n_jobs: int | None

    def run(self, costs_for: Callable[[Array], DecisionCosts | None], method: Method) -> Evaluation:
        """The evaluation: for each fold a fit to the rows outside it, and a pass over those inside; no row is kept."""
        given = self.source
        classes = read_classes(OpenTable.of(given.X, given.y, given.weight, self.n_jobs))
        if len(classes) < 2:
            raise InputError(f"the source has one class ({classes.tolist()}); evaluation needs two classes or more")
        tested = (0,) if isinstance(method, Holdout) else tuple(range(self.division.folds))
        decision_costs = costs_of_decisions(self.model, costs_for(classes), classes)
        folds = len(tested) if len(tested) > 1 else PARTS
        judged = (rows for f in tested for rows in self._judge_fold(f, classes, len(tested) > 1))
        sums, ranks = sum_scores(judged, folds, len(classes), decision_costs)
        ratio = 1 / (len(tested) - 1) if len(tested) > 1 else 0.0
        grouped = self.division.key is not None
        return Evaluation(
            classes,
            Measures(sums, 1, ratio, ranks=ranks, decision_costs=decision_costs, grouped=grouped),
            method,
            "refit",
            type(self.model).__name__,
            fit=lambda: self._fit(self._part(None)),
            X=given.X,
            y=given.y,
            others=actions_of(self.model, classes).others,
        )

    def _judge_fold(self, fold: int, classes: Array, apart: bool) -> Iterator[Judged]:
        """The rows of a fold by a model of the others; folds are scored apart where there are several."""
        fitted = self._fit(self._part(fold, outside=True))
        known = fitted.table_reader() if isinstance(fitted, ReadsTables) else None
        if known is None:
            raise InputError(f"{type(fitted).__name__} does not read files; read the rows into memory first")
        table = OpenTable.of(self._part(fold), self.source.y, self.source.weight, self.n_jobs, known.counted.types)
        table = table.against(known.schema, type(fitted).__name__)
        for codes, logs, weights, part, done in judge(fitted, table, known.schema.names, classes):
            yield codes, logs, weights, np.full_like(part, fold) if apart else part, done

    def _fit(self, rows: TableLike) -> Classifier:
        fitted: Classifier = clone(self.model).fit(rows, self.source.y, sample_weight=self.source.weight)
        return fitted

    def _part(self, fold: int | None, outside: bool = False) -> Any:
        """The rows inside a fold, or outside; all where there is none."""
        return Part(self.source.X, partial(_holds, self.division, fold, outside), self.division.key)


def _holds(division: HashSplit, fold: int | None, outside: bool, batch: Batch, start: int) -> Bool:
    if fold is None:
        return np.ones(batch.num_rows, dtype=bool)
    found: Bool = (division.fold(batch, start) == fold) != outside
    return found


def stream_for(
    model: Classifier, source: LabelledSource, division: HashSplit | None, n_jobs: int | None
) -> Stream | RefitStream:
    """How a classifier is judged on a stream: by statistics that are divided, or by fits if it has none."""
    counts_alone = isinstance(model, SupportsSpec) and model.fold_spec() is not None
    if division is None or counts_alone or not isinstance(model, ReadsTables):
        return Stream.of(model, source, division, n_jobs)
    return RefitStream(model, source, division, n_jobs)
