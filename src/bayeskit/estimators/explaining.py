"""Explaining: what the columns of asked rows say, and what would change the answer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bayeskit.arrays import Array, Batch, Bool, Float, Int, Label, NamesLike, PriorLike
from bayeskit.data.block import Block
from bayeskit.data.matrix import Matrix
from bayeskit.data.schema import Schema
from bayeskit.explain.explanation import REST, Explanation, check_top, widest
from bayeskit.explain.flips import Decide, Flip, Flips, Freedom, flips
from bayeskit.explain.trials import Trials
from bayeskit.explain.words import find_column, name_parts
from bayeskit.explain.worked import AskedRows
from bayeskit.memory import check_memory
from bayeskit.model.batch_predictor import BatchPredictor
from bayeskit.model.model import Model

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
