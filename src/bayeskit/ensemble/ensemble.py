"""Ensemble: what AutoBayes has learned, as a value; learning, forgetting and merging give a new one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from scipy.special import log_softmax

from bayeskit.arrays import Array, Float, Label, LabelsLike, PriorLike, Seed, TableLike, WeightsLike
from bayeskit.engines.engine import is_outside
from bayeskit.engines.workers import single_threaded_blas
from bayeskit.ensemble.candidate import Candidate, Classifier, Facts, Member
from bayeskit.ensemble.candidate_run import CandidateRun
from bayeskit.ensemble.cross_fitter import CandidatePrediction
from bayeskit.ensemble.deadline import Deadline
from bayeskit.ensemble.leaderboard import Leaderboard, LeaderboardEntry
from bayeskit.ensemble.pool import Pool, evidence, smooth_prior
from bayeskit.ensemble.views import ViewCache
from bayeskit.errors import HeldWarning, MergeError
from bayeskit.model.journal import Journal
from bayeskit.model.labelled_table import LabelledTable, portions, take_rows
from bayeskit.model.model import Model
from bayeskit.model.posterior import log_prior
from bayeskit.model.program import TableInputs
from bayeskit.portable.program import Program


@dataclass(frozen=True)
class Search:
    """Which candidates are tried, and for how long."""

    candidates: Callable[[Facts], Sequence[Candidate]]  # the most useful first
    fast: bool = False  # the first alone, with fitted weights
    deadline: Deadline = Deadline()
    max_candidates: int | None = None
    callback: Callable[[int, int, str], object] | None = None  # of what is done, of how many, and the next name
    random_state: Seed = 0

    def select(self, facts: Facts) -> tuple[list[Candidate], list[LeaderboardEntry]]:
        """The candidates to try, and why not the others."""
        found, skipped = [], []
        for candidate in self.candidates(facts):
            if why := candidate.helps(facts):
                skipped.append(LeaderboardEntry.of_skipped(candidate.name, why))
            else:
                found.append(candidate)
        if self.fast:
            found = [replace(found[0], plain=False)]
        return found[: self.max_candidates], skipped


@dataclass(frozen=True)
class Ensemble:
    """score_c = log P(c) + bias_c + sum over members of weight_m log P_m(c | x)/P(c)."""

    reader: Classifier  # knows columns and classes, and reads tables for the members
    members: tuple[Member, ...]
    pool: Pool
    leaderboard: Leaderboard
    rows: Model | None = None  # that keeps the rows, where they are kept
    prior: PriorLike = "empirical"  # unless a call gives another

    @classmethod
    def fit(cls, reader: Classifier, X: TableLike, y: LabelsLike, weight: WeightsLike, search: Search) -> Ensemble:
        """Try the candidates, judge them on rows they have not learned, and pool those that add something."""
        if len(reader.model_.classes) == 1:
            return cls(reader, (), Pool.empty(1), Leaderboard((), 0))
        sample = LabelledTable.of(X, y, weight)
        run = CandidateRun.of(sample, reader.model_, search.random_state, search.deadline)
        wanted, unhelpful = search.select(run.facts)
        plan = run.plan
        with single_threaded_blas():  # its threads cost more than they save in matrices of this size
            evaluated, skipped = run.evaluate(wanted, search.callback)
            pool = Pool.of(*run.evidence(evaluated), plan.label, plan.mass)
            made = _learn_all(evaluated, pool, search.deadline)
            if len(made) < (pool.weight > 0).sum():
                late = [e for i, e in enumerate(evaluated) if pool.weight[i] > 0 and i not in made]
                skipped += [LeaderboardEntry.of_skipped(e.name, "no time left to learn all rows") for e in late]
                evaluated = [evaluated[i] for i in sorted(made)]
                made = {place: made[i] for place, i in enumerate(sorted(made))}
                pool = Pool.of(*run.evidence(evaluated), plan.label, plan.mass)
        members = tuple(made[i] for i in sorted(made) if pool.weight[i] > 0)
        judged = [run.entry(*each) for each in zip(evaluated, pool.weight, pool.gain, strict=True)]
        return cls(reader, members, pool.kept(), Leaderboard.of([*unhelpful, *skipped, *judged], len(plan.label)))

    # -- posterior -------------------------------------------------------------------------------

    @property
    def classes(self) -> Array:
        return self.reader.model_.classes

    @property
    def weight(self) -> float:
        """Of all rows."""
        return float(self.reader.model_.weights.sum())

    @property
    def log_shares(self) -> Float:
        """log of the smoothed shares of the classes, which the members' posteriors are read against: (K,)."""
        return smooth_prior(self.reader.model_.weights)

    def log_prior(self, prior: PriorLike = None) -> Float:
        """log P(c): the smoothed shares, unless another prior is given, (K,)."""
        prior = self.prior if prior is None else prior
        if isinstance(prior, str) and prior == "empirical":
            return self.log_shares
        model = self.reader.model_
        return log_prior(prior, model.counted.domain.classes, model.weights)

    def log_base(self, prior: PriorLike = None) -> Float:
        """What the members' evidence is added to: log P(c) and the bias of the classes, (K,)."""
        return self.log_prior(prior) + self.pool.bias

    def log_posterior(self, X: TableLike, prior: PriorLike = None) -> Float:
        """log P(class | row), (n, K)."""
        if not self.members:  # the prior of each
            return np.tile(log_softmax(self.log_base(prior)), (len(self.reader.predict_log_proba(X)), 1))
        scores = [self.score(some, prior) for some in ViewCache.of(self.reader.model_, X).portions()]
        out: Float = log_softmax(np.concatenate(scores), axis=1)
        return out

    def score(self, table: ViewCache, prior: PriorLike = None) -> Float:
        """log P(c) + bias + what all members add: (n, K)."""
        added = (w * self._evidence(m, table) for m, w in zip(self.members, self.pool.weight, strict=True))
        return sum(added, self.log_base(prior))

    def _evidence(self, member: Member, table: ViewCache) -> Float:
        """What a member adds to the prior: (n, K)."""
        logs = member.classifier.predict_log_proba(table.through(member.view))
        return evidence(logs, self.log_shares, self.weight)

    def program(self) -> Program:
        """A portable program: every member, and how they are pooled."""
        inputs, members = TableInputs.of(self.reader.model_), []
        for member, weight in zip(self.members, self.pool.weight.tolist(), strict=True):
            numbers = None if member.view is None else member.view.symbols(inputs)
            members.append(inputs.member(member.classifier.model_, member.name, weight, numbers))
        pool = self.log_base(), self.log_shares, 1 / (self.weight + 10)
        return Program(tuple(self.classes.tolist()), inputs.columns, tuple(members), *pool, np.exp(self.log_prior()))

    # -- learning --------------------------------------------------------------------------------

    def learn(
        self, X: TableLike, y: LabelsLike, classes: LabelsLike | None = None, weight: WeightsLike = None
    ) -> Ensemble:
        """Learn more rows, after the weights of the members have moved by what these predict for them."""
        if is_outside(X):
            return reduce(lambda some, part: some.learn(part, y, classes, weight), self._portions(X), self)
        rows, labels, weight = _with_labels(X, y, weight)
        pool, known = self.pool, np.flatnonzero(np.isin(labels, self.classes))
        if self.members and len(known):
            table = ViewCache.of(self.reader.model_, take_rows(rows, known))
            added = np.stack([self._evidence(m, table) for m in self.members], axis=1)
            mass = np.ones(len(known)) if weight is None else weight[known]
            pool = pool.step(added, self.log_shares, np.searchsorted(self.classes, labels[known]), mass)
        moved = replace(self, pool=pool)
        return moved._change(lambda c, table: c.partial_fit(table, labels, classes, weight), rows)

    def forget(self, X: TableLike, y: LabelsLike, weight: WeightsLike = None) -> Ensemble:
        """Unlearn rows; what the fit chose with them stays."""
        if is_outside(X):
            return reduce(lambda some, part: some.forget(part, y, weight), self._portions(X), self)
        rows, labels, weight = _with_labels(X, y, weight)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HeldWarning)  # of each member
            rest = self._change(lambda c, table: c.forget(table, labels, weight), rows)
        views = {id(m.view): m.view.without_forgotten(rest.reader.model_) for m in rest.members if m.view is not None}
        members = tuple(replace(m, view=views.get(id(m.view))) for m in rest.members)
        return replace(rest, members=members, leaderboard=rest.leaderboard.without_values())

    def merge(self, other: Ensemble) -> Ensemble:
        """Members that have learned what both have; the weights of the members are this one's."""
        if [m.name for m in self.members] != [m.name for m in other.members]:
            raise MergeError("the two have chosen different members; fit one and let it learn the other rows")
        members = []
        for mine, theirs in zip(self.members, other.members, strict=True):
            if not mine.sees_like(theirs):
                raise MergeError(
                    f"the member {mine.name!r} of the two puts rows on scales of its own, found in different rows; "
                    f"fit one and let it learn the other rows"
                )
            members.append(replace(mine, classifier=mine.classifier.merge(theirs.classifier)))
        return replace(self, members=tuple(members))._with_reader(self.reader.merge(other.reader))

    def declare(self, classes: Sequence[Label]) -> Ensemble:
        """The same, in which these classes stay without a row."""
        if not len(classes):
            return self
        members = tuple(replace(m, classifier=_declare(m.classifier, classes)) for m in self.members)
        return replace(self, members=members)._with_reader(_declare(self.reader, classes))

    def with_journal(self, journal: Journal) -> Ensemble:
        """The same, with another history of its file."""
        return replace(self, reader=self.reader.with_model(replace(self.reader.model_, journal=journal)))

    def _portions(self, X: TableLike) -> Iterator[TableLike]:
        """The rows of a file or relation, some at a time."""
        return portions(X, self.reader.model_.counted.types)

    def _change(self, change: Callable[[Classifier, TableLike], object], X: TableLike) -> Ensemble:
        """Every member changed, and the reader."""
        members, table = [], ViewCache.of(self.reader.model_, X)
        for member in self.members:
            changed = copy(member.classifier)
            changed.model_ = changed.model_.declaring(self.reader.model_.schema.classes)
            change(changed, table.through(member.view))
            members.append(replace(member, classifier=changed))
        reader = copy(self.reader)
        change(reader, X)
        return replace(self, members=tuple(members))._with_reader(reader)

    def _with_reader(self, reader: Classifier) -> Ensemble:
        """With a reader that may know more classes, in whose order the biases are put."""
        old, new = (r.model_.counted.domain.classes for r in (self.reader, reader))
        return replace(self, reader=reader, pool=self.pool.place(old.codes_in(new), len(new)))


def _learn_all(evaluated: Sequence[CandidatePrediction], pool: Pool, deadline: Deadline) -> dict[int, Member]:
    """The members that can learn all rows in time, the heaviest first, and that one in any case; by their place."""
    made: dict[int, Member] = {}
    for i in np.argsort(-pool.weight, kind="stable").tolist():
        if pool.weight[i] > 0 and not (made and deadline.is_past(evaluated[i].seconds)):
            made[i] = evaluated[i].made()
    return made


def _declare(classifier: Classifier, classes: Sequence[Label]) -> Classifier:
    return classifier.with_model(classifier.model_.declaring(tuple(classes)))


def _with_labels(X: TableLike, y: LabelsLike, weight: WeightsLike) -> tuple[TableLike, Array, Float | None]:
    """The rows that have a label, with it and their weights."""
    sample = LabelledTable.of(X, y, weight, least=1)
    return sample.take(np.flatnonzero(sample.rows.counted))
