"""CandidateRun: what the candidates of AutoBayes predict for rows they have not learned."""

from __future__ import annotations

import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, reduce

import numpy as np

from bayeskit.arrays import Float, Seed
from bayeskit.data.encode import Roles
from bayeskit.ensemble.candidate import Candidate, Facts
from bayeskit.ensemble.cross_fit import CrossFit, Share
from bayeskit.ensemble.cross_fitter import CandidatePrediction, CrossFitter
from bayeskit.ensemble.deadline import Deadline, OutOfTime
from bayeskit.ensemble.leaderboard import FAILED, LeaderboardEntry
from bayeskit.ensemble.pool import evidence, smooth_prior
from bayeskit.ensemble.views import PORTION, View, as_arrow
from bayeskit.errors import InputError
from bayeskit.model.distinct_rows import Distinct
from bayeskit.model.labelled_table import LabelledTable, drop_columns
from bayeskit.model.learn import Spec, learn_rows, reuse_counts
from bayeskit.model.model import Model
from bayeskit.structures.naive import Naive

EVERY = -1  # in place of a part of the plan: all rows
JUDGED = 14_000  # rows candidates are judged on; all rows are learned in the end
SEVERAL = 60_000  # rows times classes up to which the folds are five, else two


@dataclass(frozen=True)
class CandidateRun:
    """A table, the rows on which candidates are judged, and what candidates that see or count the same share."""

    sample: LabelledTable  # of distinct rows
    judged: LabelledTable  # those the plan is of
    reader: Model  # of all rows
    plan: CrossFit
    constant: frozenset[str] = frozenset()  # columns that say nothing
    _views: dict[str, tuple[View, Float]] = field(default_factory=dict)
    _models: dict[tuple[str, str], dict[int, Model]] = field(default_factory=lambda: defaultdict(dict))

    @classmethod
    def of(cls, sample: LabelledTable, reader: Model, random_state: Seed, deadline: Deadline) -> CandidateRun:
        key = int(np.random.default_rng(random_state).integers(1 << 62))
        distinct = Distinct.of(_as_arrow(sample), reader, key)
        judged = distinct.some(JUDGED)
        whole = distinct.sample
        some = whole if judged is distinct else judged.sample
        few = int(judged.units.sum()) * len(reader.classes) <= SEVERAL
        inner = replace(judged, X=some.X, index=np.arange(len(some.rows)))
        plan = replace(CrossFit.of(inner, 5 if few else 2), deadline=deadline)
        return cls(whole, some, reader, plan, distinct.constant)

    @property
    def facts(self) -> Facts:
        """What decides which candidates can help."""
        model, schema = self.reader, self.reader.schema
        weights = model.counted.statistic["features"].column_weights()
        present = {name: float(w.total().to_float()[0]) for name, w in weights if name not in self.constant}
        rows = float(model.weights.sum())
        names, numeric, coded = (set(some) - self.constant for some in (schema.names, schema.numeric, schema.coded))
        holes = 1 - sum(present.values()) / (max(rows, 1e-300) * max(len(present), 1))
        holed = tuple(name for name, weight in present.items() if weight < rows * (1 - 1e-12))
        return Facts(rows, len(model.classes), len(names), len(numeric), len(coded), holes, holed)

    def evaluate(
        self,
        wanted: list[Candidate],
        callback: Callable[[int, int, str], object] | None,
    ) -> tuple[list[CandidatePrediction], list[LeaderboardEntry]]:
        """What each says of the rows of the plan, and why some say nothing; the first that can is finished in any case.

        Another is tried if there is time for it, and to learn all rows with those that were.
        """
        deadline, unit, reserved = self.plan.deadline, 0.0, 0.0
        share = len(self.sample.rows) / max(min(len(train.rows) for train in self.plan.trains), 1)
        calm = replace(self, plan=replace(self.plan, deadline=Deadline()))
        found: list[CandidatePrediction] = []
        skipped: list[LeaderboardEntry] = []
        for done, candidate in enumerate(wanted):
            if callback is not None:
                callback(done, len(wanted), candidate.name)
            begin = time.monotonic()
            try:
                if found:
                    deadline.check(candidate.cost * unit + reserved)
                predictions = (self if found else calm)._predictions(candidate)
                took = time.monotonic() - begin
                seconds = share * took / len({id(train) for train in self.plan.trains})
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
            warnings.warn(
                f"{len(failed)} of {len(wanted)} candidates failed, so the answer rests on the few others; "
                f"{failed[0].name!r} {failed[0].why}; summary() has all of them",
                stacklevel=4,
            )
        return found, skipped

    def evidence(self, evaluated: list[CandidatePrediction]) -> tuple[Float, Float]:
        """What each member adds to the prior of the rows it learned, (m, M, K), and that prior, (m, K)."""
        plan = self.plan
        rows = float(np.mean([train.mass.sum() for train in plan.trains]))
        base = np.concatenate([self._prior(t, len(x.rows)) for t, x in zip(plan.trains, plan.tests, strict=True)])
        return np.stack([evidence(v.log_posterior, base, rows) for v in evaluated], axis=1), base

    def entry(self, member: CandidatePrediction, weight: float, gain: float) -> LeaderboardEntry:
        """What became of it."""
        given = member.log_posterior[np.arange(len(self.plan.label)), self.plan.label]
        loss = float(-np.average(np.maximum(given, np.log(1e-15)), weights=self.plan.mass))
        return LeaderboardEntry(member.name, loss, float(weight), float(gain), "" if weight > 0 else "adds nothing")

    def _prior(self, train: Share, rows: int) -> Float:
        known = self.plan.known
        weights = np.bincount(known.codes[train.rows], train.mass, minlength=len(known.classes))
        return np.broadcast_to(smooth_prior(weights.astype(np.float64)), (rows, len(weights)))

    def _predictions(self, candidate: Candidate) -> list[CandidatePrediction]:
        classes = tuple(self.sample.rows.classes.tolist())
        known = self._models[candidate.view, candidate.counts] if candidate.counts else {}
        view, seen = self._make_view(candidate.view) if candidate.view else (None, self.plan)

        spec, fixed = candidate.make().spec(), None
        if spec.fixes_choices:
            fixed = learn_rows(spec, *self.judged.take(np.arange(len(self.judged.rows))), classes).structure

        @cache
        def every() -> Model:
            if EVERY in known:
                return reuse_counts(spec, known[EVERY])
            known[EVERY] = self._whole(spec, view, fixed)
            return known[EVERY]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitter = CrossFitter(candidate, seen, view, every)
            if candidate.sizes:
                return list(fitter.by_size(known))
            return list(fitter.predict_weighted(fixed) if candidate.weighed else fitter.plain(known))

    def _whole(self, spec: Spec, view: View | None, fixed: Naive | None) -> Model:
        """The model of all rows; a view is made of some at a time."""
        rows = np.arange(len(self.sample.rows))
        if view is None:
            return learn_rows(spec, *self.sample.take(rows), fixed=fixed)
        parts = []
        for some in np.array_split(rows, -(-len(rows) // PORTION)):
            X, y, weight = self.sample.take(some)
            parts.append(learn_rows(spec, view.matrix(self.reader, X), y, weight))
        return reduce(Model.merge, parts)

    def _make_view(self, name: str) -> tuple[View, CrossFit]:
        """A view made of the rows that are judged, and their plan in it."""
        if name == "indicators" and not set(self.reader.schema.coded) - self.constant:
            name = "scores"  # there is nothing to indicate
        if name not in self._views:
            X, weight = self.judged.X, self.judged.rows.weights
            view = View.of(self.reader, X, weight, name != "numbers", name == "indicators")
            self._views[name] = view, view.matrix(self.reader, X)
        view, numbers = self._views[name]
        return view, replace(self.plan, X=numbers)


def _as_arrow(sample: LabelledTable) -> LabelledTable:
    """The sample with its columns as Arrow has them, so that candidates need not convert a frame again and again."""
    rows = as_arrow(sample.X, sample.open(None).source.rows)
    if rows is sample.X:
        return sample
    features = drop_columns(rows, [name for name in sample.roles.names if name in rows.column_names])
    return replace(sample, X=features, roles=Roles(), beside={})
