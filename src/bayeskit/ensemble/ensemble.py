"""Ensemble: what AutoBayes has learned, as a value; learning, forgetting and merging give a new one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bayeskit.arrays import Array, Float, Label, LabelsLike, PriorLike, Seed, TableLike, WeightsLike
from bayeskit.data.block import Block
from bayeskit.deferred import deferred
from bayeskit.engines.workers import single_threaded_blas
from bayeskit.ensemble.candidate import Candidate, Classifier, Facts, Member
from bayeskit.ensemble.candidate_run import CandidateRun
from bayeskit.ensemble.cross_fitter import CandidatePrediction
from bayeskit.ensemble.deadline import Deadline
from bayeskit.ensemble.leaderboard import Leaderboard, LeaderboardEntry
from bayeskit.ensemble.passes import Job, learn_together
from bayeskit.ensemble.pool import Pool, evidence, smooth_prior
from bayeskit.ensemble.views import READER, ViewCache
from bayeskit.errors import MergeError
from bayeskit.model.batch_predictor import BatchPredictor
from bayeskit.model.codec import fingerprint, write_fields
from bayeskit.model.coded import in_codes_of
from bayeskit.model.distinct_rows import Distinct, Sample
from bayeskit.model.journal import Journal
from bayeskit.model.learn import forget_counts
from bayeskit.model.model import Model
from bayeskit.model.open_table import OpenTable
from bayeskit.model.posterior import log_prior
from bayeskit.model.program import TableInputs
from bayeskit.portable.program import Program

log_softmax = deferred("scipy.special", "log_softmax")

QUICK = 12_000  # rows up to which the members of a fast pool choose by all of them
STEPPED = 100_000  # different rows by which the weights of the members move when more are learned


@dataclass(frozen=True)
class Search:
    """Which candidates are tried, and for how long."""

    candidates: Callable[[Facts], Sequence[Candidate]]  # the most useful first
    fast: bool = False  # some, with weights that are known beforehand
    deadline: Deadline = Deadline()
    max_candidates: int | None = None
    callback: Callable[[int, int, str], object] | None = None  # of what is done, of how many, and the next name
    random_state: Seed = 0
    portable: bool = False  # without what cannot be exported

    def select(self, facts: Facts) -> tuple[list[Candidate], list[LeaderboardEntry]]:
        """The candidates to try, and why not the others."""
        found, skipped = [], []
        for candidate in self.candidates(facts):
            if self.portable and not candidate.portable:
                skipped.append(LeaderboardEntry.of_skipped(candidate.name, "SQL and ONNX have no form of it"))
            elif why := candidate.helps(facts):
                skipped.append(LeaderboardEntry.of_skipped(candidate.name, why))
            else:
                found.append(candidate)
        if self.fast:
            found = _quick(found, facts.rows)
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
    def fit(cls, reader: Classifier, table: OpenTable, search: Search) -> Ensemble:
        """Try the candidates, judge them on rows they have not learned, and pool those that add something.

        ``reader`` has learned nothing yet.
        """
        run = CandidateRun.of(table, reader.spec(), search.random_state, search.deadline)
        reader = reader.with_model(run.reader)
        if len(run.reader.classes) == 1:
            return cls(reader, (), Pool.empty(1), Leaderboard((), 0))
        wanted, skipped = search.select(run.facts)
        with single_threaded_blas():  # its threads cost more than they save in matrices of this size
            judge = run.unjudged if search.fast and wanted[0].share else run.evaluate
            evaluated, failed = judge(wanted, search.callback)
            pool = run.pool(evaluated)
            if search.callback is not None:
                search.callback(len(wanted), len(wanted), "all rows")
            made, lost = run.learn(_heaviest_first(evaluated, pool), {}, search.deadline)
            while lost:  # others may take their place
                skipped, without = [*skipped, *lost], {entry.name for entry in lost}
                evaluated = [each for each in evaluated if each.name not in without]
                pool = run.pool(evaluated)
                made, lost = run.learn(_heaviest_first(evaluated, pool), made, search.deadline)
        members = tuple(made[e.name] for e, weight in zip(evaluated, pool.weight, strict=True) if weight > 0)
        judged = [run.entry(*each) for each in zip(evaluated, pool.weight, pool.gain, strict=True)]
        board = Leaderboard.of([*skipped, *failed, *judged], len(run.plan.label), run.note(evaluated))
        return cls(reader, members, pool.kept(), board)

    # -- posterior -------------------------------------------------------------------------------

    @property
    def classes(self) -> Array:
        return self.reader.model_.classes

    @property
    def weight(self) -> float:
        """Of all rows."""
        return float(self.reader.model_.weights.sum())

    @property
    def digest(self) -> str:
        """SHA-256 of members, views and weights: equal pools have equal digests."""
        views = [m.view for m in self.members if m.view is not None]
        arrays = {f"view {i}.{name}": a for i, view in enumerate(views) for name, a in view.numbers().items()}
        identity = {
            "reader": self.reader.model_.digest,
            "members": [[m.name, m.classifier.model_.digest] for m in self.members],
            "views": [write_fields(view.notes()) for view in views],
        }
        pool = {"weight": self.pool.weight, "bias": self.pool.bias}
        return fingerprint(identity, {**arrays, **{f"pool.{name}": a for name, a in pool.items()}})

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
        row = self.reader.model_.row_reader.read(X)
        if row is not None:
            views = {id(m.view): row if m.view is None else m.view.block(row) for m in self.members}
            scores = [self._add(lambda member: _ask(member, views[id(member.view)]), prior)]
        else:
            scores = [self.score(portion, prior) for portion in ViewCache.of(self.reader.model_, X).portions()]
        out: Float = log_softmax(np.concatenate(scores), axis=1)
        return out

    def score(self, table: ViewCache, prior: PriorLike = None) -> Float:
        """log P(c) + bias + what all members add: (n, K)."""
        return self._add(lambda member: member.classifier.predict_log_proba(table.through(member.view)), prior)

    def _add(self, answer: Callable[[Member], Float], prior: PriorLike) -> Float:
        """log P(c) + bias + what the answers of all members, log P(class | row), add: (n, K)."""
        shares, weight = self.log_shares, self.weight
        pairs = zip(self.members, self.pool.weight, strict=True)
        return sum((w * evidence(answer(m), shares, weight) for m, w in pairs), self.log_base(prior))

    def program(self) -> Program:
        """A portable program: every member, and how they are pooled."""
        inputs, members = TableInputs.of(self.reader.model_), []
        for member, weight in zip(self.members, self.pool.weight.tolist(), strict=True):
            numbers = None if member.view is None else member.view.symbols(inputs)
            members.append(inputs.member(member.classifier.model_, member.name, weight, numbers))
        pool = self.log_base(), self.log_shares, 1 / (self.weight + 10)
        return Program(tuple(self.classes.tolist()), inputs.columns, tuple(members), *pool, np.exp(self.log_prior()))

    # -- learning --------------------------------------------------------------------------------

    def learn(self, X: TableLike, y: LabelsLike, classes: Sequence[Label] = (), weight: WeightsLike = None) -> Ensemble:
        """Learn more rows, after the weights of the members have moved by what these predict for them.

        Of many rows, the weights move by those of the smallest hashes, which count as much as all.
        """
        table = self._open(X, y, weight)
        sample = Sample.of(read := table.schema(self.reader.spec().kinds, "skip", classes), STEPPED)
        found = learn_together(table, read, self._jobs, classes, beside=[sample])
        fresh, (drawn,) = found.models, found.beside
        moved = replace(self, pool=self._step(drawn.distinct(fresh[-1], table), fresh[-1]))
        for model, old in zip(fresh, self._models, strict=True):
            old.counted.domain.check_classes(model.counted.domain)
        return moved._with_models(
            [
                replace(old, prior=new.prior, unseen=new.unseen).merge(new)
                for old, new in zip(self._models, fresh, strict=True)
            ]
        )

    def forget(self, X: TableLike, y: LabelsLike, weight: WeightsLike = None) -> Ensemble:
        """Unlearn rows; what the fit chose with them stays."""
        table = self._open(X, y, weight)
        gone = learn_together(table, table.schema(self.reader.spec().kinds, "skip", ()), self._jobs).models
        left = [forget_counts(old, new) for old, new in zip(self._models, gone, strict=True)]
        rest = self._with_models(left)
        views = {id(m.view): m.view.without_forgotten(rest.reader.model_) for m in rest.members if m.view is not None}
        members = tuple(replace(m, view=views.get(id(m.view))) for m in rest.members)
        return replace(rest, members=members, leaderboard=rest.leaderboard.without_values())

    def _open(self, X: TableLike, y: LabelsLike, weight: WeightsLike) -> OpenTable:
        """A table of rows to learn or to forget, which has the columns of the fit."""
        reader = self.reader
        table = OpenTable.of(X, y, weight, reader.spec().n_jobs, reader.model_.counted.types)
        return table.against(reader.model_.schema, READER)

    @property
    def _models(self) -> list[Model]:
        """Those of the members and, last, that of the reader; all know the classes that were declared."""
        declared = self.reader.model_.schema.classes
        return [*(m.classifier.model_.declaring(declared) for m in self.members), self.reader.model_]

    @property
    def _jobs(self) -> list[Job]:
        """What each of them learns of more rows."""
        reader = Job(self.reader.spec(), None, self.reader.model_.structure)
        return [*(Job(m.classifier.spec(), m.view, m.classifier.model_.structure) for m in self.members), reader]

    def _with_models(self, models: Sequence[Model]) -> Ensemble:
        """With other models of the members and of the reader."""
        *mine, reader = models
        pairs = zip(self.members, mine, strict=True)
        members = tuple(replace(m, classifier=m.classifier.with_model(model)) for m, model in pairs)
        return replace(self, members=members)._with_reader(self.reader.with_model(reader))

    def _step(self, drawn: Distinct, fresh: Model) -> Pool:
        """The pool moved by rows that the members have not learned."""
        place = drawn.table.domain.classes.codes_in(self.reader.model_.counted.domain.classes)
        label = place[drawn.rows.codes]
        known = np.flatnonzero(label >= 0)
        if not self.members or not len(known):
            return self.pool
        block = drawn.table.block.at(known)
        seen = ((m.classifier.model_, block if m.view is None else m.view.block(block)) for m in self.members)
        said = [model.posterior(in_codes_of(model, rows), log=True) for model, rows in seen]
        added = np.stack([evidence(logs, self.log_shares, self.weight) for logs in said], axis=1)
        mass = drawn.weight[known] * (float(fresh.weights.sum()) / drawn.weight.sum())
        return self.pool.step(added, self.log_shares, label[known], mass)

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

    def _with_reader(self, reader: Classifier) -> Ensemble:
        """With a reader that may know more classes, in whose order the biases are put."""
        old, new = (r.model_.counted.domain.classes for r in (self.reader, reader))
        return replace(self, reader=reader, pool=self.pool.place(old.codes_in(new), len(new)))


def _ask(member: Member, row: Block) -> Float:
    """log P(class | row) of a row that is coded as the member's view shows it: (1, K)."""
    model = member.classifier.model_
    return BatchPredictor.of_row(model, in_codes_of(model, row)).log_posterior()


def _quick(found: Sequence[Candidate], rows: float) -> list[Candidate]:
    """Those of a pool that is not judged; where one of many rows lacks some, the first, with fitted weights."""
    if rows <= QUICK:
        return [candidate for candidate in found if candidate.share]
    many = [replace(candidate, share=candidate.many) for candidate in found if candidate.many]
    return many if len(many) > 1 else [replace(found[0], plain=False, share=0.0)]


def _heaviest_first(evaluated: Sequence[CandidatePrediction], pool: Pool) -> list[CandidatePrediction]:
    """Those that have some weight."""
    return [evaluated[i] for i in np.argsort(-pool.weight, kind="stable").tolist() if pool.weight[i] > 0]


def _declare(classifier: Classifier, classes: Sequence[Label]) -> Classifier:
    return classifier.with_model(classifier.model_.declaring(tuple(classes)))
