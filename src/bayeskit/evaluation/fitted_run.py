"""FittedRun: fitted classifiers judged as they are, by rows that are new to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from bayeskit.arrays import Array, Classifier
from bayeskit.data.coding import codes_of
from bayeskit.data.encode import weights_of
from bayeskit.data.levels import Levels
from bayeskit.data.schema import Column
from bayeskit.data.source import labels
from bayeskit.engines.engine import answering, is_outside
from bayeskit.errors import InputError
from bayeskit.evaluation.decisions import DecisionCosts, actions_of, costs_of_decisions
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.evaluation.measures import Measures
from bayeskit.evaluation.methods import AsFitted, Method
from bayeskit.evaluation.protocols import ReadsTables
from bayeskit.evaluation.refit import actions_by, logs_of
from bayeskit.evaluation.stream import PARTS, Judged, LabelledSource, sum_scores
from bayeskit.model.labelled_table import LabelledTable
from bayeskit.model.open_table import OpenTable


@dataclass(frozen=True)
class FittedRun:
    """Rows with their true classes, which may be others than those a model has learned."""

    source: LabelledSource
    costs_for: Callable[[Array], DecisionCosts | None]

    @property
    def rows(self) -> int:
        raise InputError("baselines are not fitted, and these rows are not to learn from; divide them instead")

    def run(self, model: Classifier, n_jobs: int | None = None) -> Evaluation:
        """A model judged."""
        check_is_fitted(model)
        given = self.source
        if not is_outside(given.X):
            return evaluate_fitted(
                model, LabelledTable.of(given.X, given.y, given.weight, least=1), AsFitted(), self.costs_for
            )
        known = model.table_reader() if isinstance(model, ReadsTables) else None
        if known is None:
            raise InputError(f"{type(model).__name__} does not read files; read the rows into memory first")
        table = OpenTable.of(given.X, given.y, given.weight, n_jobs, known.counted.types)
        return self._run_stream(model, table.against(known.schema, type(model).__name__), known.schema.names)

    def _run_stream(self, model: Classifier, table: OpenTable, names: Sequence[str]) -> Evaluation:
        """In two passes, the first for the classes there are; no row is kept."""
        classes = read_classes(table, model.classes_)
        decision_costs, actions = (
            costs_of_decisions(model, self.costs_for(classes), classes),
            actions_of(model, classes),
        )
        sums, ranks = sum_scores(judge(model, table, names, classes), PARTS, len(classes), decision_costs)
        return Evaluation(
            classes,
            Measures(sums, 1, 0.0, ranks=ranks, decision_costs=decision_costs),
            AsFitted(),
            "fit",
            type(model).__name__,
            fit=lambda: model,
            X=self.source.X,
            y=self.source.y,
            others=actions.others,
        )


def read_classes(table: OpenTable, *known: Array) -> Array:
    """The labels that the rows of a stream have and those known, sorted: one pass over their column."""
    label = str(table.source.roles.label)
    column, levels = Column(label, "nominal", "", "target"), Levels.of([c for each in known for c in each.tolist()])
    for values in table.engine.map(table.source.rows, [label], lambda batch, start: batch.column(label).unique()):
        levels = codes_of(values, levels, True, column)[1]
    return _sort_labels(levels, *known) if known else labels(levels.ordered.values, "O")


def judge(model: Classifier, table: OpenTable, names: Sequence[str], classes: Array) -> Iterator[Judged]:
    """What a fitted classifier says of the rows of a stream and does with them, batch by batch."""
    roles, known = table.source.roles, Levels.of(classes.tolist())
    label, actions = str(roles.label), actions_of(model, classes)
    column = Column(label, "nominal", "", "target")

    def step(batch: pa.RecordBatch, start: int) -> Judged:
        codes = np.maximum(codes_of(batch.column(label), known, False, column)[0], -1).astype(np.int64)
        given = weights_of(batch, roles)
        weights = np.ones(len(codes)) if given is None else given
        asked = pa.Table.from_batches([batch]).select(list(names))
        logs = logs_of(model, asked, classes)
        done = actions.encode(actions_by(model, asked))[0]
        used, part = codes >= 0, np.arange(start, start + len(codes)) % PARTS
        return codes[used], logs[used], weights[used], part[used], done[used]

    engine = answering(table.engine, len(names), len(classes))
    return engine.map(table.source.rows, [*names, *roles.names], step)


def evaluate_fitted(
    model: Classifier,
    sample: LabelledTable,
    method: Method | str,
    costs_for: Callable[[Array], DecisionCosts | None] = lambda classes: None,
) -> Evaluation:
    """A fitted model on rows in memory."""
    levels = Levels.of([*model.classes_.tolist(), *sample.rows.classes.tolist()])
    classes = _sort_labels(levels, model.classes_, sample.rows.classes)
    place = [classes.tolist().index(label) for label in sample.rows.classes.tolist()]
    rows = replace(sample.rows, codes=np.append(place, -1)[sample.rows.codes], classes=classes)
    logs = logs_of(model, sample.features, classes)
    action, actions = actions_of(model, classes).encode(actions_by(model, sample.features))
    return Evaluation(
        classes,
        Measures.of(rows, logs, 0.0, costs_of_decisions(model, costs_for(classes), classes), action),
        method,
        "fit",
        type(model).__name__,
        sample.kind,
        lambda: model,
        sample.X,
        sample.y,
        others=actions.others,
    )


def _sort_labels(levels: Levels, *given: Array) -> Array:
    """The labels, sorted, in the type that all of those given have."""
    kinds = {array.dtype.kind for array in given}
    same = len(kinds) == 1 and kinds <= set("biufU")
    kind = "U" if kinds == {"U"} else given[0].dtype.str
    return labels(levels.ordered.values, kind if same else "O")
