"""Predictions as a frame: answers beside the columns to keep, in batches, as a table, or on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bayeskit.answers import Answers
from bayeskit.arrays import Float
from bayeskit.data.block import Block
from bayeskit.errors import InputError
from bayeskit.estimators.intake import Intake
from bayeskit.frame import kind_of, turned
from bayeskit.model import Model

if TYPE_CHECKING:
    from bayeskit.estimators.classifier import BayesClassifier


def predicted_frame(classifier: BayesClassifier, X: Any, keep: Any, prior: Any, wanted: Any) -> Any:
    """The kind of frame X was (a Spark frame stays where it is), else an Arrow table."""
    table, answers = _opened(classifier, X, keep, prior, wanted)
    if hasattr(table.engine, "frame"):
        return table.engine.frame(table.source.rows, answers.columns, answers, answers.schema)
    return turned(pa.Table.from_batches(_batches(classifier, table, answers), answers.schema), kind_of(X))


def predicted_batches(
    classifier: BayesClassifier, X: Any, keep: Any = (), prior: Any = None, **wanted: Any
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The answers batch by batch in the order of the rows, so that memory does not grow with them."""
    table, answers = _opened(classifier, X, keep, prior, wanted)
    return answers.schema, _batches(classifier, table, answers)


def _opened(classifier: BayesClassifier, X: Any, keep: Any, prior: Any, wanted: Any) -> tuple[Intake, Answers]:
    table = classifier._asked(X, keep)
    if not isinstance(table.fields, pa.Schema):
        raise InputError("a matrix has no columns to name; use predict_proba, or give a frame")
    return table, Answers.of(classifier.model_, table.fields, keep, prior, **wanted)


def _batches(classifier: BayesClassifier, table: Intake, answers: Answers) -> Iterator[pa.RecordBatch]:
    def step(model: Model, block: Block, prior: Float, batch: pa.RecordBatch, start: int) -> pa.RecordBatch:
        return answers.of_block(block, batch)

    return classifier._steps(table, None, step, answers.columns)
