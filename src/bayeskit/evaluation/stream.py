"""Stream: a file or relation evaluated in two passes, block by block, with no row kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Self

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Array, Batch, Classifier, ColumnLike, Float, Int, LabelsLike, TableLike, WeightsLike
from bayeskit.data.block import Block
from bayeskit.data.coding import codes_of
from bayeskit.data.encode import FOLD, weights_of
from bayeskit.data.hash_split import HashSplit
from bayeskit.data.schema import Column
from bayeskit.engines.engine import Engine, R, answering
from bayeskit.errors import InputError, SchemaError
from bayeskit.evaluation.algebra import Singles, coarse_grids, predict_folds, warn_lost
from bayeskit.evaluation.areas import RANKED, ScoreHistogram
from bayeskit.evaluation.decisions import DecisionCosts
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.evaluation.measures import Measures
from bayeskit.evaluation.methods import CrossValidation, Holdout, LeaveOneOut, Method
from bayeskit.evaluation.protocols import SupportsSpec
from bayeskit.evaluation.score import PredictedRows
from bayeskit.evaluation.score_sums import ScoreSums
from bayeskit.model.learn import Spec, learn
from bayeskit.model.model import Model
from bayeskit.model.open_table import OpenTable

PARTS = 20  # of the rows where there is one fold only, to judge scores by
# class, log-probabilities, weight, fold and action (None: the most probable class) of the rows that count
Judged = tuple[Int, Float, Float, Int, Int | None]


class Divided(Engine):
    """An engine whose batches come with the fold of each row."""

    def __init__(self, engine: Engine, division: HashSplit) -> None:
        super().__init__(engine.n_jobs, engine.rows)
        self.engine = engine
        self.division = division

    def at_most(self, rows: int) -> Self:
        return type(self)(self.engine.at_most(rows), self.division)

    @staticmethod
    def takes(source: object) -> bool:
        return False  # it is made around another engine, never chosen

    def schema(self, source: object, known: Mapping[str, str] | None = None) -> pa.Schema:
        return self.engine.schema(source, known)

    def reduce(self, source: object, columns: Sequence[str], empty: R) -> R:
        """Batches are counted one by one: only in their order are rows known by number."""
        parts = self.map(source, columns, lambda batch, _: empty.without_counts().update(batch))
        return reduce(lambda one, other: one.merge(other), parts, empty.without_counts())

    def map(self, source: object, columns: Sequence[str], step: Callable[[Any, int], Any]) -> Iterator[Batch]:
        key = [self.division.key] if self.division.key is not None else []
        wanted = [*(name for name in columns if name != FOLD), *key]

        def with_folds(batch: pa.RecordBatch, start: int) -> Any:
            return step(batch.append_column(FOLD, pa.array(self.division.fold(batch, start))), start)

        return self.engine.map(source, wanted, with_folds)


@dataclass(frozen=True)
class LabelledSource:
    """Rows with labels, weights and groups as they were given: of a table in memory, a file or a relation."""

    X: TableLike
    y: LabelsLike
    weight: WeightsLike = None
    groups: ColumnLike | None = None


@dataclass(frozen=True)
class Stream:
    """A classifier on statistics, and a source whose rows are divided by a hash of their key or number."""

    classifier: SupportsSpec
    spec: Spec
    table: OpenTable
    division: HashSplit | None  # None leaves each row out

    @classmethod
    def of(
        cls,
        model: Classifier,
        source: LabelledSource,
        division: HashSplit | None,
        n_jobs: int | None,
    ) -> Stream:
        spec = model.fold_spec() if isinstance(model, SupportsSpec) else None
        if spec is None or not isinstance(model, SupportsSpec):
            raise InputError(
                f"{model!r} must be refitted for every fold, which a stream does not allow; read the rows "
                f"into memory first"
            )
        table = OpenTable.of(source.X, source.y, source.weight, spec.n_jobs if n_jobs is None else n_jobs)
        if division is not None:
            if division.key is not None and division.key not in table.names:
                raise SchemaError(f"groups={division.key!r} names no column of the source")
            fields = pa.schema([field for field in table.fields if field.name != division.key])
            roles = replace(table.source.roles, fold=FOLD)
            table = OpenTable(replace(table.source, roles=roles), Divided(table.engine, division), fields)
        return cls(model, spec, table, division)

    def run(self, costs_for: Callable[[Array], DecisionCosts | None], method: Method) -> Evaluation:
        """The evaluation: one pass to count, one to predict and score."""
        learned = learn(self.spec, self.table, folds=1 if self.division is None else self.division.folds)
        pooled = replace(learned, counted=learned.counted.pool())
        if len(pooled.classes) < 2:
            raise InputError(
                f"the source has one class ({pooled.classes.tolist()[0]!r}); evaluation needs two classes or more"
            )
        if isinstance(method, LeaveOneOut) and (method.exact or not learned.structure.leave_one_out):
            raise InputError("leaving one row out is a refit where labels choose; use CrossValidation for a stream")
        decision_costs = costs_for(pooled.classes)
        models = {f: replace(learned, counted=learned.counted.training(f)) for f in self._test_folds(method)}
        warn_lost((model.weights for model in models.values()), pooled.classes)
        folds = len(models) if len(models) > 1 else PARTS
        step = self._step(pooled, models, None if self.division is not None else self._singles(pooled))
        columns = self.table.columns(learned.schema)
        ratio = 1 / (len(models) - 1) if len(models) > 1 else 0.0
        engine = answering(self.table.engine, len(columns), len(pooled.classes))
        judged = engine.map(self.table.rows(False), columns, step)
        sums, ranks = sum_scores(judged, folds, len(pooled.classes), decision_costs)
        return Evaluation(
            pooled.classes,
            Measures(
                sums,
                1,
                ratio,
                ranks=ranks,
                decision_costs=decision_costs,
                grouped=self.division is not None and self.division.key is not None,
                left_out=self.division is None,
            ),
            method,
            "algebra",
            self.spec.name,
            fit=lambda: self.classifier.with_model(pooled),
            X=self.table.source.rows,
            y=self.table.source.roles.label,
            held=pooled.density.held if isinstance(method, LeaveOneOut) else coarse_grids(pooled),
        )

    def _test_folds(self, method: Method) -> Iterable[int]:
        """The folds that are tested; none where each row is left out."""
        if self.division is None:
            return ()
        return (0,) if isinstance(method, Holdout) else range(self.division.folds)

    def _singles(self, learned: Model) -> Singles:
        """Levels of one row, found in a pass of their own where a column has levels."""
        if not learned.schema.coded:
            return Singles(())
        read, columns = self._reader(learned), self.table.columns(learned.schema)
        counts = self.table.engine.map(self.table.rows(False), columns, lambda batch, _: Singles.count(read(batch)))
        return Singles.of(counts, learned)

    def _reader(self, learned: Model) -> Callable[[pa.RecordBatch], Block]:
        """How to read a batch, with classes and weights of its rows."""
        roles, classes = self.table.source.roles, learned.counted.domain.classes
        label = str(roles.label)
        column = Column(label, "nominal", "", "target")

        def read(batch: pa.RecordBatch) -> Block:
            block = learned.counted.block(batch)
            codes = np.maximum(codes_of(batch.column(label), classes, False, column)[0], -1)
            given = weights_of(batch, roles)
            weights = np.ones(block.rows) if given is None else given
            return replace(block, groups=codes.astype(np.int32), weights=weights)

        return read

    def _step(
        self, learned: Model, models: Mapping[int, Model], singles: Singles | None
    ) -> Callable[[pa.RecordBatch, int], Judged]:
        read = self._reader(learned)

        def step(batch: pa.RecordBatch, start: int) -> Judged:
            block = read(batch)
            codes, weights = block.classes.astype(np.int64), np.asarray(block.weights)
            logs = np.empty((block.rows, len(learned.classes)))
            used, part = codes >= 0, np.arange(start, start + block.rows) % PARTS
            if singles is not None:
                asked, apart = singles.without_each(learned, block)
                if len(apart):
                    raise InputError(
                        f"{self.classifier!r} must be refitted without a row whose level no other has, which a stream "
                        f"does not allow (row {start + int(apart[0])}); use CrossValidation"
                    )
                learned.posterior(asked, log=True, left_out=True, out=logs)
            else:
                fold = batch.column(FOLD).to_numpy()
                predict_folds(block, fold, models, logs)
                used, part = used & np.isin(fold, list(models)), fold if len(models) > 1 else part
            return codes[used], logs[used], weights[used], part[used], None

        return step


def sum_scores(
    judged: Iterable[Judged], folds: int, classes: int, decision_costs: DecisionCosts | None
) -> tuple[ScoreSums, ScoreHistogram]:
    """What scores are made of, from rows that are predicted batch by batch, none of which is kept."""
    sums = ScoreSums.empty(folds, classes)
    apart = folds * classes <= RANKED  # else all folds are ranked together, which takes less memory
    ranks = ScoreHistogram.empty(folds if apart else 1, classes)
    for codes, logs, weights, fold, action in judged:
        rows = PredictedRows(codes, np.exp(logs), weights, action, decision_costs)
        sums = sums.add(rows, fold)
        ranks = ranks.update(codes, logs, weights, fold if apart else np.zeros_like(fold))
    return sums, ranks


def hash_split(method: Method, key: ColumnLike | None, seed: int) -> HashSplit | None:
    """The division of a stream that a method asks for, by row or by key; None leaves each row out."""
    if key is not None and not isinstance(key, str):
        raise InputError(f"groups must name a column of the file or relation, not be {type(key).__name__}")
    if isinstance(method, LeaveOneOut) and key is None:
        return None
    if isinstance(method, Holdout) and method.repeats == 1:
        return HashSplit((float(method.test_size), 1.0), seed, key)
    if isinstance(method, CrossValidation) and method.repeats == 1 and isinstance(method.folds, int):
        return HashSplit(tuple((f + 1) / method.folds for f in range(method.folds)), seed, key)
    raise InputError(
        f"{method} is not for a stream, whose rows are read but not kept; use CrossValidation(number of folds), "
        f"Holdout or LeaveOneOut without repeats, or read the rows into memory"
    )
