"""CandidateRun: what the candidates of AutoBayes predict for rows they have not learned."""

from __future__ import annotations

import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from bayeskit.arrays import Float, Int, Seed
from bayeskit.data.schema import Schema
from bayeskit.ensemble.candidate import Candidate, Facts, Member
from bayeskit.ensemble.cross_fit import ROWS, CrossFit, Share
from bayeskit.ensemble.cross_fitter import CandidatePrediction, CrossFitter
from bayeskit.ensemble.deadline import Deadline, OutOfTime
from bayeskit.ensemble.leaderboard import FAILED, LeaderboardEntry
from bayeskit.ensemble.passes import Job, Learned, learn_together, see
from bayeskit.ensemble.pool import Pool, evidence, smooth_prior
from bayeskit.ensemble.views import View
from bayeskit.errors import InputError, warn
from bayeskit.model.coded import CodedTable
from bayeskit.model.distinct_rows import Distinct, Sample
from bayeskit.model.learn import Spec, learn
from bayeskit.model.model import Model
from bayeskit.model.open_table import OpenTable

K = TypeVar("K")
JUDGED = 12_000  # different rows candidates are judged on; all rows are learned in the end
SEVERAL = 60_000  # rows times classes up to which the folds are five, else two
CHOOSING = 4  # one of so many of these rows makes the choices of members that are not judged
HUGE = 10_000_000  # rows times classes times columns beyond which there are no folds: some rows are held out once
TESTED, FEWEST = 4_000_000, 500  # numbers that are kept of the rows that are predicted, at most; such rows, at least


@dataclass(frozen=True)
class CandidateRun:
    """A table, the rows of it on which candidates are judged, and what candidates that see or count the same share."""

    opened: OpenTable
    read: Schema  # as which it is
    reader: Model  # of all rows
    drawn: Distinct  # the rows that are judged: all, or some
    plan: CrossFit  # of them
    seconds: float  # that a pass over all rows takes
    _tables: dict[str, tuple[View | None, CodedTable]] = field(default_factory=dict)  # by view
    _models: dict[tuple[str, str], dict[int, Model]] = field(default_factory=lambda: defaultdict(dict))
    _capped: dict[int, int] = field(default_factory=dict)  # rows that jobs took where they took some only

    @classmethod
    def of(cls, opened: OpenTable, spec: Spec, random_state: Seed, deadline: Deadline) -> CandidateRun:
        """The first pass over a table: the reader learns all rows, and those that are judged are drawn."""
        key = int(np.random.default_rng(random_state).integers(1 << 62))
        read, begin = opened.schema(spec.kinds, spec.missing, ()), time.monotonic()
        first = learn_together(opened, read, [Job(spec)], beside=[Sample.of(read, JUDGED, key)])
        (reader,), (drawn,) = first.models, first.beside
        distinct = drawn.distinct(reader, opened)
        cells, units = len(reader.classes) * max(len(read.names), 1), int(distinct.units.sum())
        folds = 1 if units * cells > HUGE else 5 if units * len(reader.classes) <= SEVERAL else 2
        plan = CrossFit.of(distinct, folds, int(np.clip(TESTED // cells, FEWEST, ROWS)))
        plan = replace(plan, deadline=deadline)
        took = time.monotonic() - begin
        return cls(opened, read, reader, distinct, plan, took, {"": (None, distinct.table)})

    @property
    def facts(self) -> Facts:
        """What decides which candidates can help."""
        model, schema = self.reader, self.reader.schema
        weights = model.counted.statistic["features"].column_weights()
        present = {name: float(w.total().to_float()[0]) for name, w in weights if name not in self.drawn.constant}
        rows = float(model.weights.sum())
        every = schema.names, schema.numeric, schema.coded
        names, numeric, coded = (set(named) - self.drawn.constant for named in every)
        incomplete = tuple(name for name, weight in present.items() if weight < rows * (1 - 1e-12))
        return Facts(rows, len(model.classes), len(names), len(numeric), len(coded), incomplete)

    def evaluate(
        self,
        wanted: list[Candidate],
        callback: Callable[[int, int, str], object] | None,
    ) -> tuple[list[CandidatePrediction], list[LeaderboardEntry]]:
        """What each says of the rows of the plan, and why some say nothing; the first that can is finished in any case.

        Another is tried if there is time for it, and to learn all rows with it and with those that were.
        """
        deadline, unit, reserved = self.plan.deadline, 0.0, 0.0
        models = len({id(train) for train in self.plan.trains})
        again = len(self.drawn.rows) / max(min(len(train.rows) for train in self.plan.trains), 1) / models
        calm = replace(self, plan=replace(self.plan, deadline=Deadline()))
        found: list[CandidatePrediction] = []
        skipped: list[LeaderboardEntry] = []
        for done, candidate in enumerate(wanted):
            if callback is not None:
                callback(done, len(wanted), candidate.name)
            begin = time.monotonic()
            try:
                if found:
                    deadline.check(candidate.cost * unit * (1 + again) + reserved)
                predictions = (self if found else calm)._predictions(candidate)
                took = time.monotonic() - begin
                seconds = max(again * took, self.seconds) if self.drawn.sampled else again * took
                unit, reserved = max(unit, took / candidate.cost), reserved + seconds
                found += [replace(p, seconds=seconds) for p in predictions]
            except OutOfTime:
                skipped.append(LeaderboardEntry.of_skipped(candidate.name, "no time left to try it"))
            except Exception as error:  # whatever goes wrong inside one candidate, the others answer
                skipped.append(LeaderboardEntry.of_failure(candidate.name, error))
        if not found:
            raise InputError(f"no candidate could be fitted; the first said: {skipped[0].why}")
        failed = [entry for entry in skipped if entry.why.startswith(FAILED)]
        if 2 * len(failed) > len(wanted):
            warn(
                f"{len(failed)} of {len(wanted)} candidates failed, so the answer rests on the few others; "
                f"{failed[0].name!r} {failed[0].why}; summary() has all of them"
            )
        return found, skipped

    def unjudged(
        self, wanted: list[Candidate], callback: Callable[[int, int, str], object] | None
    ) -> tuple[list[CandidatePrediction], list[LeaderboardEntry]]:
        """The members of a pool whose weights are known beforehand: nothing is predicted for them."""
        for done, candidate in enumerate(wanted):
            if callback is not None:
                callback(done, len(wanted), candidate.name)
        return [CrossFitter(candidate, self.plan, self._unjudged(candidate)).unjudged() for candidate in wanted], []

    def _unjudged(self, candidate: Candidate) -> Job:
        """What is learned from all rows; of many, some make the choices."""
        view, table = self._see(candidate.view)
        job = Job(candidate.make().spec(), view)
        if not self.drawn.sampled:
            return job
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            chosen = learn(job.spec, table.take(*self._choosing), tuple(self.reader.classes.tolist())).structure
        return replace(job, fixed=chosen)

    @property
    def _choosing(self) -> tuple[Int, Float]:
        """The rows that make the choices of members that are not judged, and their weights."""
        part = self.drawn.weigh_fold(self.drawn.places(CHOOSING), CHOOSING, 0)
        rows = np.flatnonzero(part)
        return rows, part[rows]

    def pool(self, evaluated: Sequence[CandidatePrediction]) -> Pool:
        """How much each counts."""
        plan = self.plan
        if not all(len(v.log_posterior) for v in evaluated):
            return Pool.unjudged(np.array([v.share for v in evaluated]), len(self.reader.classes))
        rows = float(np.mean([train.mass.sum() for train in plan.trains]))
        base = np.concatenate([self._prior(t, len(x.rows)) for t, x in zip(plan.trains, plan.tests, strict=True)])
        added = np.stack([evidence(v.log_posterior, base, rows) for v in evaluated], axis=1)
        return Pool.of(added, base, plan.label, plan.mass)

    def entry(self, member: CandidatePrediction, weight: float, gain: float) -> LeaderboardEntry:
        """What became of it."""
        if not len(member.log_posterior):
            return LeaderboardEntry(member.name, np.nan, float(weight), np.nan, "not judged")
        given = member.log_posterior[np.arange(len(self.plan.label)), self.plan.label]
        loss = float(-np.average(np.maximum(given, np.log(1e-15)), weights=self.plan.mass))
        taken = self._capped.get(id(member.job))
        capped = "" if taken is None else f"took {taken:,} of {self._rows:,.0f} rows"
        return LeaderboardEntry(member.name, loss, float(weight), float(gain), capped if weight > 0 else "adds nothing")

    def note(self, evaluated: Sequence[CandidatePrediction]) -> str:
        """How the rows that were judged, or that choices were made by, were drawn, where these are not all."""
        if not self.drawn.sampled:
            return ""
        judged = any(len(each.log_posterior) for each in evaluated)
        rows = len(self.drawn.rows) if judged else len(self._choosing[0])
        done = "judged on" if judged else "choices made by"
        return f"{done} {rows:,} different rows drawn of {self._rows:,.0f}; members learned all rows"

    @property
    def _rows(self) -> float:
        return float(self.reader.weights.sum())

    def _prior(self, train: Share, rows: int) -> Float:
        known = self.plan.known
        weights = np.bincount(known.codes[train.rows], train.mass, minlength=len(known.classes))
        return np.broadcast_to(smooth_prior(weights.astype(np.float64)), (rows, len(weights)))

    def _predictions(self, candidate: Candidate) -> list[CandidatePrediction]:
        known = self._models[candidate.view, candidate.counts] if candidate.counts else {}
        view, table = self._see(candidate.view)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            job = Job(candidate.make().spec(), view)
            if job.spec.fixes_choices:
                job = replace(job, fixed=learn(job.spec, table, tuple(self.reader.classes.tolist())).structure)
            fitter = CrossFitter(candidate, replace(self.plan, table=table), job)
            if candidate.sizes:
                return list(fitter.by_size(known))
            return list(fitter.predict_weighted() if candidate.weighed else fitter.plain(known))

    def learn(
        self, wanted: Sequence[CandidatePrediction], known: Mapping[str, Member], deadline: Deadline
    ) -> tuple[dict[str, Member], list[LeaderboardEntry]]:
        """The members that can learn all rows in time, one in any case (the quickest if the first cannot), by name; and
        why others cannot.

        Rows that are at hand are learned by one member after the other, others by all of them in the same passes.
        """
        made = dict(known)
        wanted = [each for each in wanted if each.name not in made]
        if not made and wanted and deadline.is_past(wanted[0].seconds):
            wanted.sort(key=lambda each: each.seconds)
        lost: list[LeaderboardEntry] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is to be said of the rows the reader has
            at_once = self._learn_together(wanted, deadline) if self.drawn.sampled and wanted else {}
            models = dict(at_once)
            for each in wanted:
                try:
                    if made and each.counts not in at_once and deadline.is_past(each.seconds):
                        lost.append(LeaderboardEntry.of_skipped(each.name, "no time left to learn all rows"))
                        continue
                    if each.counts not in models:
                        models[each.counts] = self._learn(each.job)
                    made[each.name] = each.make(models[each.counts])
                except Exception as error:  # as where it is judged
                    lost.append(LeaderboardEntry.of_failure(each.name, error))
                    if not made and each is wanted[-1]:
                        raise
        return made, lost

    def _learn(self, job: Job) -> Model:
        """Of all rows."""
        if self.drawn.sampled:
            return self._learn_jobs({0: job})[0]
        table = next(table for view, table in self._tables.values() if view is job.view)
        return learn(job.spec, table, fixed=job.fixed)

    def _learn_together(self, wanted: Sequence[CandidatePrediction], deadline: Deadline) -> dict[object, Model]:
        """The models of those for which there is time; none where one of them fails, which is then found out."""
        time_for = np.cumsum([each.seconds for each in wanted]).tolist()
        jobs = {each.counts: each.job for i, each in enumerate(wanted) if not i or not deadline.is_past(time_for[i])}
        try:
            return self._learn_jobs(jobs)
        except Exception:
            if len(jobs) == 1:
                raise
            return {}

    def _learn_jobs(self, jobs: Mapping[K, Job]) -> dict[K, Model]:
        """In the same passes; who took some of the rows only is noted."""
        found: Learned[Sample] = learn_together(self.opened, self.read, list(jobs.values()))
        for job, rows in zip(jobs.values(), found.capped, strict=True):
            if rows is not None:
                self._capped[id(job)] = rows
        return dict(zip(jobs, found.models, strict=True))

    def _see(self, name: str) -> tuple[View | None, CodedTable]:
        """A view made of the rows that are judged, and what it shows of them."""
        if name == "indicators" and not set(self.reader.schema.coded) - self.drawn.constant:
            name = "scores"  # there is nothing to indicate
        if name not in self._tables:
            table = self.drawn.table
            view = View.of(table.block, self.drawn.weight, name != "numbers", name == "indicators")
            if not len(view):
                raise InputError("no column has two values, so that there is nothing to compare rows by")
            self._tables[name] = view, see(table, view)
        return self._tables[name]
