"""Answers: what a model says about rows, as columns beside those to keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from bayeskit.arrays import Bool, Float, Label, PriorLike
from bayeskit.data.block import Block
from bayeskit.decision.costs import Costs, decide
from bayeskit.errors import InputError, SchemaError
from bayeskit.explain.explanation import Explanation
from bayeskit.model.model import Model
from bayeskit.model.open_table import ALL

PREDICTION, ACTION, COST, EVIDENCE, REASONS = "prediction", "action", "expected_cost", "log_evidence", "reasons"
SET, NOVELTY = "set", "novelty"
STRENGTHS = (  # log-odds from which evidence is called so: odds of 150, 20 and 3 (Kass and Raftery 1995)
    (5.0, "very strongly"),
    (3.0, "strongly"),
    (1.1, "clearly"),
    (0.0, "weakly"),
)


@dataclass(frozen=True)
class Answers:
    """A batch of rows in, a batch of answers out: the kept columns, the prediction, and ``P(class)`` of every class.

    ``costs`` add the action of least expected cost and that cost; where it is above ``reject`` the action is missing
    and the cost is ``reject`` (being wrong costs 1 where there are no costs). ``evidence`` adds log p(row),
    ``reasons`` as many columns that speak most for or against the prediction, in words, with their share of the
    log-odds against the other classes, ``coverage`` the set of classes that a Conformal gives with it, ``novelty`` its
    p-value of the row. The same on every engine, in workers too.
    """

    model: Model
    prior: Float  # (K,) log P(class), and the bias of weights that were fitted
    keep: tuple[pa.Field, ...] = ()
    costs: Costs | None = None
    reject: float | None = None
    evidence: bool = False
    reasons: int = 0
    coverage: float | None = None
    novelty: bool = False

    @classmethod
    def of(
        cls, model: Model, fields: pa.Schema, keep: Sequence[str] | str = (), prior: PriorLike = None, **wanted: Any
    ) -> Answers:
        """For a table of these fields; ``keep`` names columns of it, "all" is every one."""
        names = fields.names if keep == ALL else [keep] if isinstance(keep, str) else list(keep)
        for name in names:
            if name not in fields.names:
                raise SchemaError(
                    f"keep names {name!r}, which the table does not have (it has: {', '.join(fields.names)})"
                )
        if (reject := wanted.get("reject")) is not None and not np.isfinite(reject):
            raise InputError(f"reject={reject!r}: give the cost of leaving a row undecided")
        if wanted.get("costs") is not None or reject is not None:
            wanted["costs"] = Costs.of(wanted["costs"], model.classes.tolist())
            wanted["costs"].matrix_for(model.classes)  # a class without costs is refused before any answer
        made = cls(model, model.log_base(prior), tuple(_plain(fields.field(n)) for n in dict.fromkeys(names)), **wanted)
        if doubled := set(names) & {f.name for f in made._added}:
            raise SchemaError(
                f"the column {min(doubled)!r} of the table has the name of an answer; keep others, or rename it"
            )
        return made

    @cached_property
    def columns(self) -> list[str]:
        """The columns a batch must have."""
        return list(dict.fromkeys([*self.model.schema.names, *(f.name for f in self.keep)]))

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of the answers."""
        return pa.schema([*self.keep, *self._added])

    @cached_property
    def _labels(self) -> pa.Array:
        return _array(self.model.classes.tolist())

    @cached_property
    def _added(self) -> list[pa.Field]:
        columns = [pa.field(PREDICTION, self._labels.type)]
        columns += [pa.field(f"P({label})", pa.float64()) for label in self.model.classes.tolist()]
        if self.costs is not None:
            columns += [pa.field(ACTION, _array(self.costs.actions).type), pa.field(COST, pa.float64())]
        columns += [pa.field(EVIDENCE, pa.float64())] * self.evidence
        columns += [pa.field(SET, pa.string())] * (self.coverage is not None)
        columns += [pa.field(NOVELTY, pa.float64())] * self.novelty
        columns += [pa.field(REASONS, pa.string())] * bool(self.reasons)
        return columns

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return self.of_block(self.model.block(batch), batch)

    def of_block(self, block: Block, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The answers about rows that are encoded already."""
        proba = self.model.posterior(block, self.prior)
        evidence = self.model.evidence(block, self.prior) if self.evidence else None
        return self.beside(batch, proba, evidence, self._explain(block, batch, proba) if self.reasons else None)

    def beside(
        self,
        batch: pa.RecordBatch,
        proba: Float,
        evidence: Float | None = None,
        explained: Explanation | None = None,
        sets: Bool | None = None,
        novelty: Float | None = None,
    ) -> pa.RecordBatch:
        """The answers that follow from probabilities, (n, K), from log p(row), (n,), from what columns say, and from
        sets of classes, (n, K), and p-values of rows, (n,)."""
        columns = [_as(batch.column(f.name), f.type) for f in self.keep]
        columns.append(self._labels.take(pa.array(np.argmax(proba, axis=1))))
        columns += [pa.array(np.ascontiguousarray(p)) for p in proba.T]
        if self.costs is not None:
            decision = decide(proba, self.costs, self.model.classes)
            limit = np.inf if self.reject is None else self.reject
            best = pa.array(decision.best, mask=decision.cost > limit)
            columns += [_array(self.costs.actions).take(best), pa.array(np.minimum(decision.cost, limit))]
        columns += [] if evidence is None else [pa.array(evidence)]
        columns += [] if sets is None else [pa.array(name_sets(sets, self.model.classes.tolist()), pa.string())]
        columns += [] if novelty is None else [pa.array(novelty)]
        columns += [] if explained is None else [pa.array(self._reasons(explained), pa.string())]
        return pa.record_batch(columns, schema=self.schema)

    def _explain(self, block: Block, batch: pa.RecordBatch, proba: Float) -> Explanation:
        names = self.model.density.columns
        held: tuple[tuple[Any, ...], ...] = ((),) * block.rows  # neighbours speak of all columns at once
        if names == self.model.schema.names:
            values = [batch.column(name).to_pylist() for name in names]
            held = tuple(tuple(None if v != v else v for v in row) for row in zip(*values, strict=True))
        return Explanation(self.model.classes, self.prior, names, self.model.terms(block), held, proba)

    def _reasons(self, explained: Explanation) -> list[str]:
        """The columns that say most, with what the row holds there, for or against the prediction, and how strongly."""
        rows = len(explained)
        shares = np.array([explained.evidence(i)[1:] for i in range(rows)]).reshape(rows, len(explained.parts))
        most = np.argsort(-np.abs(shares), axis=1, kind="stable")[:, : self.reasons]
        return [
            "; ".join(_reason(explained, i, j, float(shares[i, j])) for j in strongest if shares[i, j])
            for i, strongest in enumerate(most.tolist())
        ]


def _reason(explained: Explanation, row: int, part: int, share: float) -> str:
    """One column in words.

    >>> [next(word for least, word in STRENGTHS if odds >= least) for odds in (0.5, 2.0, 4.0, 9.0)]
    ['weakly', 'clearly', 'strongly', 'very strongly']
    """
    name, value = explained.parts[part], explained.value(row, part) if explained.values[row] else ""
    word = next(word for least, word in STRENGTHS if abs(share) >= least)
    held = f"{name} = {value}" if value else name
    return f"{held} {word} {'for' if share > 0 else 'against'} ({share:+.2f})"


def name_sets(sets: Bool, labels: Sequence[Label]) -> list[str]:
    """The classes in each set, in words.

    >>> name_sets(np.array([[True, True], [False, False]]), ["cold", "flu"])
    ['cold; flu', '']
    """
    names = [str(label) for label in labels]
    return ["; ".join(names[k] for k in np.flatnonzero(row).tolist()) for row in sets]


def _plain(f: pa.Field) -> pa.Field:
    """A kept column in a type that files and engines know."""
    return f.with_type(pa.string()) if pa.types.is_string_view(f.type) else f


def _array(labels: Sequence[Label]) -> pa.Array:
    """Labels of one type, or as texts if they are of several."""
    try:
        return pa.array(list(labels))
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([str(label) for label in labels])


def _as(values: pa.Array, kind: pa.DataType) -> pa.Array:
    return pa.nulls(len(values)) if pa.types.is_null(kind) else values.cast(kind)
