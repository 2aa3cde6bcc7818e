"""New rows: one pass over rows that nobody labelled, counted and put to a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Array, Batch, Bool, Classifier, Float, TableLike, WeightsLike
from bayeskit.data.block import Block
from bayeskit.data.encode import weights_of
from bayeskit.data.hash_split import splitmix
from bayeskit.data.matrix import Matrix
from bayeskit.decision.sampling import draw_rows
from bayeskit.decision.shift import PriorShift, prior_shift
from bayeskit.errors import InputError
from bayeskit.evaluation.column_counts import ColumnCounter, Counts, Known
from bayeskit.evaluation.protocols import HasPrior, ReadsTables, SupportsSpec, jobs_of
from bayeskit.model.batch_predictor import BatchPredictor
from bayeskit.model.model import Model
from bayeskit.model.open_table import OpenTable

MOST = 100_000  # rows, drawn at random, from which classes and evidence are found
DRAWN = 2_000  # rows that the model draws itself
TAIL = 0.01  # of them are below the evidence that counts as unusual


@dataclass(frozen=True)
class Evidence:
    """log p(row), and what the model would give rows of its own with values missing in the same places."""

    mean: float
    own_mean: float
    unusual: float  # share of the rows below what the model gives 1 % of its own

    def __str__(self) -> str:
        return (
            f"log p(row) {self.mean:.2f} in the mean, where rows drawn from the model have {self.own_mean:.2f}; "
            f"{self.unusual:.1%} of the rows are less probable than {1 - TAIL:.0%} of the model's own"
        )


@dataclass(frozen=True)
class Accuracy:
    """The share of rows a model is right in, if its probabilities are right: as it is, and with the prior adapted."""

    as_is: float  # decisions under the old prior, judged by posteriors under the new one
    adapted: float
    believed: float  # as the model has it that knows of no shift


@dataclass(frozen=True)
class NewRows:
    """What one pass found."""

    counts: dict[str, Counts]
    rows: float  # effective number
    shift: PriorShift
    accuracy: Accuracy
    evidence: Evidence | None
    sampled: bool  # whether classes and evidence come from some of the rows
    notes: tuple[str, ...]


@dataclass
class _Kept:
    """Rows of the smallest hashes: a random sample, the same whatever the batches are."""

    most: int
    parts: list[tuple[Array, ...]] = field(default_factory=list)
    limit: np.uint64 = np.uint64(2**64 - 1)
    dropped: bool = False

    def add(self, start: int, *columns: Array) -> None:
        rows = len(columns[0])
        words = splitmix(np.arange(start, start + rows, dtype=np.uint64))
        self.parts.append(tuple(c[words <= self.limit] for c in (words, *columns)))
        if sum(len(p[0]) for p in self.parts) > 2 * self.most:
            self._fewer()

    def _fewer(self) -> None:
        columns = self.columns
        if len(columns[0]) > self.most:
            self.limit, self.dropped = np.partition(columns[0], self.most - 1)[self.most - 1], True
            self.parts = [tuple(c[columns[0] <= self.limit] for c in columns)]

    @property
    def columns(self) -> tuple[Array, ...]:
        return tuple(np.concatenate(parts) for parts in zip(*self.parts, strict=True))

    def rows(self) -> tuple[Array, ...]:
        """What was kept, at most so many rows, without the hashes."""
        self._fewer()
        return self.columns[1:]


def read_new_rows(
    classifier: Classifier, model: Model, X: TableLike, weight: WeightsLike, known: Sequence[Known]
) -> NewRows:
    """One pass over the rows: columns counted as the model counted them, posteriors and evidence of a sample."""
    name, jobs = type(classifier).__name__, jobs_of(classifier)
    table = OpenTable.of(X, None, weight, jobs, model.counted.types).against(model.schema, name)
    notes: list[str] = []
    evident = _evidence_of(classifier, model, notes)
    counter, kept, patterns = ColumnCounter(known), _Kept(MOST), _Kept(DRAWN)
    roles = table.source.roles

    def step(model: Model, block: Block, prior: Float, batch: Batch, start: int) -> tuple[Any, ...]:
        weights = weights_of(batch, roles)
        said = _log_proba(classifier, model, block, prior, batch)
        evidence = model.evidence(block) if evident else np.zeros(block.rows)
        return block, batch, start, weights, said, evidence, _missing_pattern(block)

    columns = [*([] if isinstance(table.source.rows, Matrix) else model.schema.names), *roles.names]
    for block, batch, start, weights, said, evidence, missing in BatchPredictor.over(model, table).steps(
        None, step, columns=columns or None
    ):
        counter.add(block, batch, weights)
        kept.add(start, said, np.ones(block.rows) if weights is None else weights, evidence)
        patterns.add(start, missing)
    if not counter.weight > 0:
        raise InputError("all weights of the new rows are zero; give rows that count")
    said, mass, evidence = kept.rows()
    prior = classifier.log_prior() if isinstance(classifier, HasPrior) else model.log_prior()
    shift = prior_shift(model.classes, said, prior, mass)
    found = _evidence(model, evidence, mass, patterns.rows()[0], notes) if evident else None
    counts = counter.counts()
    total = next(iter(counts.values())).rows if counts else counter.weight
    return NewRows(counts, total, shift, _accuracy(said, shift, mass), found, kept.dropped, tuple(notes))


def _log_proba(classifier: Classifier, model: Model, block: Block, prior: Float, batch: Batch) -> Float:
    """log P(class | row), (n, K); of a pool or a calibration from whoever answers."""
    if isinstance(classifier, SupportsSpec):
        return model.posterior(block, prior, log=True)
    rows = batch.dense() if isinstance(batch, Matrix) else pa.Table.from_batches([batch]).select(model.schema.names)
    said = classifier.honest_log_proba(rows) if isinstance(classifier, ReadsTables) else None
    with np.errstate(divide="ignore"):
        found: Float = np.log(classifier.predict_proba(rows)) if said is None else said
    return found


def _evidence_of(classifier: Classifier, model: Model, notes: list[str]) -> bool:
    """Whether the model has an evidence; why not is noted."""
    if not isinstance(classifier, SupportsSpec):
        notes.append(f"no evidence: {type(classifier).__name__} weighs or maps posteriors and has no density of rows")
        return False
    if model.weighting is not None or not model.density.normalised:
        notes.append("no evidence: the scores of this model are no densities of rows")
        return False
    return True


def _evidence(model: Model, evidence: Float, mass: Float, missing: Bool, notes: list[str]) -> Evidence | None:
    """Held against that of rows which the model draws itself."""
    mean = float(np.average(evidence, weights=mass))
    try:
        own = draw_rows(model, DRAWN, np.random.default_rng(0))
    except InputError as error:
        notes.append(f"log p(row) is {mean:.2f} in the mean; the model draws no rows to compare it with ({error})")
        return None
    pattern = missing[np.arange(DRAWN) % len(missing)]
    arrays = [pa.array(c, mask=pattern[:, j]) for j, c in enumerate(own)]
    usual = model.evidence(model.block(pa.RecordBatch.from_arrays(arrays, names=list(model.schema.names))))
    low = np.quantile(usual, TAIL)
    return Evidence(mean, float(usual.mean()), float(np.average(evidence < low, weights=mass)))


def _missing_pattern(block: Block) -> Bool:
    """Which values are missing, or of levels never seen: (n, columns)."""
    out = np.zeros((block.rows, len(block.schema.names)), dtype=bool)
    for j, name in enumerate(block.schema.names):
        if (place := block.schema.numeric_index.get(name)) is not None:
            out[:, j] = np.isnan(block.numeric.column(place))
        elif (place := block.schema.coded_index.get(name)) is not None:
            out[:, j] = block.codes[place] < 0
        else:
            out[:, j] = True
    return out


def _accuracy(said: Float, shift: PriorShift, mass: Float) -> Accuracy:
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = said + np.where(shift.old > 0, np.log(shift.new) - np.log(shift.old), -np.inf)
    new = np.exp(moved - moved.max(axis=1, keepdims=True))
    new /= new.sum(axis=1, keepdims=True)
    best = np.argmax(said, axis=1)
    as_is, adapted, believed = new[np.arange(len(new)), best], new.max(axis=1), np.exp(said.max(axis=1))
    return Accuracy(*(float(np.average(p, weights=mass)) for p in (as_is, adapted, believed)))
