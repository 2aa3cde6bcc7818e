"""Passes: several models learned from all rows of a table, wherever it is, in as many passes as the longest needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Self, TypeGuard

import numpy as np

from bayeskit.arrays import Label
from bayeskit.data.block import Block
from bayeskit.data.encode import IngestReport
from bayeskit.data.kinds import infer
from bayeskit.data.levels import Domain
from bayeskit.data.schema import Schema
from bayeskit.ensemble.views import View
from bayeskit.model.coded import C, CodedTable, CountsOther, count_together
from bayeskit.model.learn import Spec
from bayeskit.model.model import Model
from bayeskit.model.open_table import OpenTable, check_rows
from bayeskit.model.posterior import normal_prior
from bayeskit.statistics.counted import Counted
from bayeskit.statistics.rows import Rows
from bayeskit.statistics.statistic import Statistic
from bayeskit.structures.naive import Naive

CELLS = 1 << 20  # numbers of a view that are made at a time


@dataclass(frozen=True)
class Job:
    """A model to learn: what it is, the view it takes, and a structure whose choices are kept."""

    spec: Spec
    view: View | None = None
    fixed: Naive | None = None


@dataclass(frozen=True)
class CountsView(CountsOther):
    """A reduction of the numbers that a view makes of coded rows, some at a time."""

    view: View

    def count(self, block: Block, domain: Domain, ingest: IngestReport) -> Self:
        counted, step = self.counted, max(1, CELLS // max(len(self.view), 1))
        known = Domain(domain.classes).union(counted.domain)  # with those that are declared
        for start in range(0, block.rows, step):
            rows = np.arange(start, min(start + step, block.rows))
            viewed = self.view.block(block if step >= block.rows else block.at(rows))
            counted = counted.count(viewed, known, ingest if not start else IngestReport())
        return replace(self, counted=counted)


@dataclass(frozen=True)
class Learned(Generic[C]):
    """Models of all rows, what was counted beside them, and how many rows each that keeps or looks at some took."""

    models: list[Model]
    beside: list[C]
    capped: list[int | None]


def see(table: CodedTable, view: View | None) -> CodedTable:
    """Coded rows, as a view shows them."""
    if view is None:
        return table
    about, domain = _about_view(table.about), Domain(table.domain.classes)
    return replace(table, block=view.block(table.block), domain=domain, features=view.fields, about=about)


def learn_together(
    table: OpenTable,
    read: Schema,
    jobs: Sequence[Job],
    classes: Sequence[Label] = (),
    beside: Sequence[C] = (),
) -> Learned[C]:
    """The models of all rows of a table that is read by a schema, and what is counted ``beside`` in the first pass."""
    found: dict[int, Model] = {}
    drawn: list[Any] = []
    capped: dict[int, int] = {}
    stages = {i: _first_stage(table, job, classes) for i, job in enumerate(jobs)}
    while stages:
        parts = [_counts(jobs[i], schema, structure, table) for i, (structure, schema) in stages.items()]
        sparse = all(structure.sparse for structure, _ in stages.values())
        every: list[Any] = [*parts, *(() if drawn else beside)]
        whole = count_together(table, read, every, sparse).parts
        drawn = drawn or list(whole[len(parts) :])
        later = {}
        for (i, (structure, schema)), part in zip(stages.items(), whole, strict=False):
            spec = jobs[i].spec
            if not found:
                check_rows(part.counted, table.place)
            found[i] = Model(part.counted.canonical(), structure, normal_prior(spec.prior), spec.unseen)
            if kept := [len(rows.rows) for rows in found[i].features.parts.values() if _is_capped(rows)]:
                capped[i] = max(kept)
            if (next_stage := found[i].next_stage()) is not None:
                later[i] = next_stage, schema
        stages = later
    every_job = range(len(jobs))
    return Learned([found[i] for i in every_job], drawn, [capped.get(i) for i in every_job])


def _is_capped(statistic: Statistic) -> TypeGuard[Rows]:
    """Whether rows are kept, and not all of them."""
    return isinstance(statistic, Rows) and statistic.sampled


def _first_stage(table: OpenTable, job: Job, classes: Sequence[Label]) -> tuple[Naive, Schema]:
    spec = job.spec
    if job.view is None:
        found = table.schema(spec.kinds, spec.missing, classes)
    else:
        found = infer(job.view.fields, about=replace(_about_view(table.about), classes=tuple(classes)))
    structure, schema = spec.structure(found)
    return structure if job.fixed is None else structure.with_choices_of(job.fixed), schema


def _counts(job: Job, schema: Schema, structure: Naive, table: OpenTable) -> CountsOther:
    empty = Counted.empty(schema, Model.statistic(structure, schema), table.roles)
    return CountsOther(empty) if job.view is None else CountsView(empty, job.view)


def _about_view(about: Schema) -> Schema:
    return replace(about, named=False, target=None, weight=None)
