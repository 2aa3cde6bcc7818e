"""AutoBayes: the Bayes classifiers that suit a table, pooled; one call."""

from __future__ import annotations

import html
import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bayeskit.arrays import (
    Array,
    ColumnNames,
    CostsLike,
    FilePath,
    Float,
    Frame,
    KindsLike,
    Label,
    LabelsLike,
    NamesLike,
    PriorLike,
    Seed,
    TableLike,
    WeightsLike,
)
from bayeskit.engines.engine import is_outside
from bayeskit.ensemble.candidate import Candidate, Facts, Member
from bayeskit.ensemble.candidate_run import CandidateRun
from bayeskit.ensemble.leaderboard import Leaderboard, LeaderboardEntry
from bayeskit.ensemble.pool import FAR, MemberBackoff, Pool, backed_off_terms, evidence, smoothed_prior
from bayeskit.ensemble.renewal import declaring_levels, learned_rows
from bayeskit.ensemble.views import ViewCache
from bayeskit.errors import HeldWarning, InputError, MergeError, ModelFileError
from bayeskit.estimators.augmented import TAN
from bayeskit.estimators.bundling import bundled, unbundled
from bayeskit.estimators.candidates import candidates
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.frames import predicted_frame
from bayeskit.estimators.learner import changed, check_renewable, check_rows_of, warn_of_held
from bayeskit.estimators.naive import NaiveBayes
from bayeskit.estimators.tags import any_table
from bayeskit.explain.explanation import Explanation
from bayeskit.explain.flips import Decide, Flips, Freedom, most_probable
from bayeskit.explain.nomogram import Link, Nomogram
from bayeskit.explain.words import called
from bayeskit.model.batch_predictor import BatchPredictor
from bayeskit.model.labelled_table import LabelledTable, take_rows
from bayeskit.model.learn import learn_rows
from bayeskit.model.model import Model
from bayeskit.model.prior import log_prior, normal_prior
from bayeskit.model.program import TableInputs
from bayeskit.model.read_rows import portions, read_rows
from bayeskit.portable.program import Program
from bayeskit.statistics import blas
from bayeskit.storage.bundle import Bundle
from bayeskit.storage.model_file import doubts
from bayeskit.structures.exactness import Exactness

NEIGHBOURS, BACK_OFF = "(neighbours)", "(back-off)"


class AutoBayes(ClassifierMixin, BaseEstimator):
    """Tries the Bayes classifiers that can suit a table, and pools those that predict unseen rows best.

    score_c = log P(c) + bias_c + sum over members of weight_m log P_m(c | x)/P(c): additive, so that explanations add
    up and a new prior is Bayes' rule. Members, weights and what each adds are in ``summary()``.

    Parameters
    ----------
    kinds : mapping, str or list, optional
        Kinds of the columns, one for all or by name: "binary", "nominal", "ordinal", "quantitative", "count", a list
        of levels in order, ``Nominal(...)`` or ``Ordinal(...)``. Without it the type of a column decides.
    prior : {"empirical", "uniform"} or mapping, default "empirical"
        P(class): the shares of the rows, equal shares, or probabilities by class, which sum to 1. Calls may override
        it.
    unseen : {"missing", "smooth", "error"}, default "missing"
        What a level never seen in fitting means in predicting: nothing, the probability it would have had if it had
        been declared, or an error.
    fast : bool, default False
        Take one weighted KDB alone.
    time_budget : float, optional
        Seconds after which no further candidate is tried.
    max_candidates : int, optional
        Number of candidates to try; variants that share a fit (weighted or not, several k) count once.
    exact : bool, default False
        Keep the different rows with their weights, at most 200,000, and derive all choices from them anew after every
        change: batches, forgetting and merging then give the model of one fit, bit for bit.
    callback : callable, optional
        Called with (done, of how many, name) after each candidate.
    random_state : int, default 0
        Seed of what is drawn.
    n_jobs : int, optional
        Number of threads, and of processes where models are refitted; -1 is all cores, None one. Results do not
        depend on it.

    Attributes
    ----------
    classes_ : array of shape (K,)
        The classes, sorted; columns of probabilities follow this order.
    exact_ : Exactness
        What learning and forgetting give bit for bit, and what is held as an earlier fit chose it.

    Examples
    --------
    >>> import bayeskit as bk
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> bk.AutoBayes(max_candidates=4).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    True
    """

    def __init__(
        self,
        *,
        kinds: KindsLike = None,
        prior: PriorLike = "empirical",
        unseen: str = "missing",
        fast: bool = False,
        time_budget: float | None = None,
        max_candidates: int | None = None,
        exact: bool = False,
        callback: Callable[[int, int, str], object] | None = None,
        random_state: Seed = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.kinds = kinds
        self.prior = prior
        self.unseen = unseen
        self.fast = fast
        self.time_budget = time_budget
        self.max_candidates = max_candidates
        self.exact = exact
        self.callback = callback
        self.random_state = random_state
        self.n_jobs = n_jobs

    # -- learning --------------------------------------------------------------------------------

    def fit(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Try, judge and pool, then learn from all rows; those of a file or relation are read into memory.

        Parameters
        ----------
        X : table
            Rows: a frame, a mapping of columns, records, an array, a sparse matrix, a path, a relation or a Spark
            frame.
        y : array of shape (n,) or str
            The labels, or the name of their column in X.
        sample_weight : array of shape (n,), optional
            Weights of the rows: a weight of 2 is the same as two copies of a row.
        """
        return self._fit(X, y, sample_weight)

    def _fit(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike, classes: LabelsLike | None = None) -> Self:
        """``fit``, where ``classes`` are declared: they stay without a row."""
        self._check_settings()
        if self.exact:
            keeper = TAN(exact=True, kinds=self.kinds, unseen=self.unseen, n_jobs=self.n_jobs)
            return self._renewed(keeper.partial_fit(X, y, classes, sample_weight))
        X = read_rows(X)[0] if is_outside(X) else X
        reader = NaiveBayes(kinds=self.kinds, unseen=self.unseen, n_jobs=self.n_jobs).fit(X, y, sample_weight)
        if len(reader.classes_) == 1:
            return self._adopt(reader, (), Pool.empty(1), Leaderboard((), 0))._declaring(classes)
        run = CandidateRun.of(LabelledTable.of(X, y, sample_weight), reader.model_, self.random_state)
        wanted, unhelpful = self._wanted(run.facts)
        plan = run.plan
        with blas.alone():  # its threads cost more than they save in matrices of this size
            evaluated, skipped = run.evaluated(wanted, self.time_budget, self.callback)
            pool = Pool.of(*run.evidence(evaluated), plan.label, plan.mass)
            members = tuple(v.made() for v, w in zip(evaluated, pool.weight, strict=True) if w > 0)
        judged = [run.line(*each) for each in zip(evaluated, pool.weight, pool.gain, strict=True)]
        leaderboard = Leaderboard.of([*unhelpful, *skipped, *judged], len(plan.label))
        return self._adopt(reader, members, pool.kept(), leaderboard)._declaring(classes)

    def partial_fit(
        self, X: TableLike, y: LabelsLike, classes: LabelsLike | None = None, sample_weight: WeightsLike = None
    ) -> Self:
        """Learn more rows: the members learn them, and their weights move as far as the old rows allow.

        The new rows are predicted before they are learned. Candidates are not tried anew; ``fit`` does that.

        Parameters
        ----------
        X : table
            Rows: a frame, a mapping of columns, records, an array, a sparse matrix, a path, a relation or a Spark
            frame.
        y : array of shape (n,) or str
            The labels, or the name of their column in X.
        classes : sequence, optional
            Classes to declare beforehand.
        sample_weight : array of shape (n,), optional
            Weights of the rows: a weight of 2 is the same as two copies of a row.
        """
        if not hasattr(self, "reader_"):
            return self._fit(X, y, sample_weight, classes)
        if self.exact:
            return self._renewed(copy(self.rows_).partial_fit(X, y, classes, sample_weight))
        if is_outside(X):
            return self._by_portions(X, lambda pool, part: pool.partial_fit(part, y, classes, sample_weight))
        rows, labels, weight = _labelled(X, y, sample_weight)
        pool = self.pool_
        known = np.flatnonzero(np.isin(labels, self.classes_))
        if self.members_ and len(known):
            asked = ViewCache.of(self.reader_.model_, take_rows(rows, known))
            said = np.stack([self._said(m, asked) for m in self.members_], axis=1)
            mass = np.ones(len(known)) if weight is None else weight[known]
            pool = pool.stepped(said, self.log_shares, np.searchsorted(self.classes_, labels[known]), mass)
        return self._moved(lambda c, table: c.partial_fit(table, labels, classes, weight), rows, pool)

    def forget(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Unlearn rows in every member; what the fit chose with them stays, which a warning tells (see ``exact_``).

        Parameters
        ----------
        X : table
            Rows: a frame, a mapping of columns, records, an array, a sparse matrix, a path, a relation or a Spark
            frame.
        y : array of shape (n,) or str
            The labels, or the name of their column in X.
        sample_weight : array of shape (n,), optional
            Weights of the rows: a weight of 2 is the same as two copies of a row.
        """
        check_is_fitted(self, "reader_")
        if self.exact:
            return self._renewed(copy(self.rows_).forget(X, y, sample_weight))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HeldWarning)  # of each member
            self._forget(X, y, sample_weight)
        views = {id(m.view): m.view.without_forgotten(self.reader_.model_) for m in self.members_ if m.view is not None}
        members = tuple(replace(m, view=views.get(id(m.view))) for m in self.members_)
        self._adopt(self.reader_, members, self.pool_, self.leaderboard_.without_values())
        warn_of_held(self.exact_, able=True)
        return self

    def renew(self, X: TableLike | None = None, y: LabelsLike | None = None, sample_weight: WeightsLike = None) -> Self:
        """Try, judge and pool anew from the rows that the pool has: it is then the pool of one fit of them.

        These are the rows it has learned and not forgotten, and others are refused; with ``exact=True`` it keeps them,
        and they may be left out. Classes and levels that were declared stay so.

        Parameters
        ----------
        X : table
            Rows: a frame, a mapping of columns, records, an array, a sparse matrix, a path, a relation or a Spark
            frame.
        y : array of shape (n,) or str
            The labels, or the name of their column in X.
        sample_weight : array of shape (n,), optional
            Weights of the rows: a weight of 2 is the same as two copies of a row.
        """
        check_is_fitted(self, "reader_")
        known = self.reader_
        X = read_rows(X, known.model_.counted.types)[0] if X is not None and is_outside(X) else X
        if X is not None:
            check_rows_of(known.model_, learn_rows(known.spec(), X, y, sample_weight, known=known.model_))
        if X is None or self.exact:
            check_renewable(self.exact_)
            return self._renewed(self.rows_)
        schema = known.model_.schema
        fresh = clone(self)._fit(declaring_levels(X, y, schema), y, sample_weight, schema.classes)
        fresh.reader_._adopt(replace(fresh.reader_.model_, journal=known.model_.journal))
        return self._adopt(fresh.reader_, fresh.members_, fresh.pool_, fresh.leaderboard_)

    @property
    def exact_(self) -> Exactness:
        """What learning, forgetting and merging give bit for bit, and what is held as the fit chose it."""
        if self.exact:
            return Exactness()
        return Exactness(("the members and what each of them chose", "the weights of the members"))

    def _renewed(self, rows: BayesClassifier) -> Self:
        """Everything tried, pooled and learned from the rows that ``rows`` keeps; its journal goes on."""
        X, y, weight, kinds = learned_rows(rows.model_)
        journal = self.reader_.model_.journal if hasattr(self, "reader_") else ()
        plain = clone(self).set_params(exact=False, kinds=kinds)._fit(X, y, weight, rows.model_.schema.classes)
        reader = plain.reader_.with_model(replace(plain.reader_.model_, journal=journal))
        self.rows_ = rows
        return self._adopt(reader, plain.members_, plain.pool_, plain.leaderboard_)

    def _declaring(self, classes: LabelsLike | None) -> Self:
        """The same pool, in which these classes stay without a row."""
        told = () if classes is None else tuple(np.asarray(classes).tolist())
        if not told:
            return self
        reader = self.reader_.with_model(self.reader_.model_.declaring(told))
        members = tuple(
            replace(m, classifier=m.classifier.with_model(m.classifier.model_.declaring(told))) for m in self.members_
        )
        return self._adopt(reader, members, self._pool_on(reader, self.pool_), self.leaderboard_)

    def _pool_on(self, reader: BayesClassifier, pool: Pool) -> Pool:
        """A pool of this reader's classes in the order of another's, which may know more."""
        old, new = (r.model_.counted.domain.classes for r in (self.reader_, reader))
        return pool.placed(old.codes_in(new), len(new))

    def _forget(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike) -> Self:
        if is_outside(X):
            return self._by_portions(X, lambda pool, part: pool.forget(part, y, sample_weight))
        rows, labels, weight = _labelled(X, y, sample_weight)
        return self._moved(lambda c, table: c.forget(table, labels, weight), rows, self.pool_)

    def merge(self, other: AutoBayes) -> AutoBayes:
        """A new classifier whose members have learned what both have; the weights of the members are this one's.

        Parameters
        ----------
        other : AutoBayes
            A pool that sees rows alike.
        """
        if not isinstance(other, AutoBayes):
            raise MergeError(f"cannot merge AutoBayes with {type(other).__name__}; give two of one kind")
        check_is_fitted(self, "reader_")
        check_is_fitted(other, "reader_")
        if self.exact != other.exact:
            raise MergeError("one of the two keeps its rows (exact=True) and the other does not; fit both alike")
        both = type(self)(**self.get_params(deep=False))
        if self.exact:
            return both._renewed(self.rows_.merge(other.rows_))
        if [m.name for m in self.members_] != [m.name for m in other.members_]:
            raise MergeError("the two have chosen different members; fit one and let it learn the other rows")
        for mine, theirs in zip(self.members_, other.members_, strict=True):
            if not mine.sees_like(theirs):
                raise MergeError(
                    f"the member {mine.name!r} of the two puts rows on scales of its own, found in different rows; "
                    f"fit one and let it learn the other rows"
                )
        members = tuple(
            replace(m, classifier=m.classifier.merge(o.classifier))
            for m, o in zip(self.members_, other.members_, strict=True)
        )
        return both._adopt(self.reader_.merge(other.reader_), members, self.pool_, self.leaderboard_)

    def _by_portions(self, X: TableLike, change: Callable[[AutoBayes, pa.Table], object]) -> Self:
        """The rows of a file or relation, some at a time; all are taken, or none."""
        moved = copy(self)
        for part in portions(X, self.reader_.model_.counted.types):
            change(moved, part)
        return self._adopt(moved.reader_, moved.members_, moved.pool_, moved.leaderboard_)

    def _moved(self, change: Callable[[Any, Any], object], X: TableLike, pool: Pool) -> Self:
        """Every member changed, or none."""
        members, shown = [], ViewCache.of(self.reader_.model_, X)
        for member in self.members_:
            changed = copy(member.classifier)
            changed.model_ = changed.model_.declaring(self.reader_.model_.schema.classes)
            change(changed, shown.through(member.view))
            members.append(replace(member, classifier=changed))
        reader = copy(self.reader_)
        change(reader, X)
        return self._adopt(reader, tuple(members), self._pool_on(reader, pool), self.leaderboard_)

    def _wanted(self, facts: Facts) -> tuple[list[Candidate], list[LeaderboardEntry]]:
        """The candidates to try, and why not the others."""
        found, skipped = [], []
        for candidate in candidates(self.kinds, self.unseen, facts.holed):
            if why := candidate.helps(facts):
                skipped.append(LeaderboardEntry.skipped(candidate.name, why))
            else:
                found.append(candidate)
        if self.fast:
            found = [replace(found[0], plain=False)]
        return found[: self.max_candidates], skipped

    def _adopt(
        self, reader: BayesClassifier, members: tuple[Member, ...], pool: Pool, leaderboard: Leaderboard
    ) -> Self:
        self.reader_, self.members_, self.pool_, self.leaderboard_ = reader, members, pool, leaderboard
        self.n_features_in_ = reader.n_features_in_
        if hasattr(reader, "feature_names_in_"):
            self.feature_names_in_ = reader.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _check_settings(self) -> None:
        normal_prior(self.prior)
        if not isinstance(self.exact, bool | np.bool_):
            raise InputError(f"exact={self.exact!r}: choose True (keep the rows) or False (hold what was chosen)")
        if self.exact and self.time_budget is not None:
            raise InputError("exact=True is the pool of one fit, which the clock must not decide; use max_candidates")
        for name in ("time_budget", "max_candidates"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{name}={value!r}: give a number above 0, or None")

    @property
    def classes_(self) -> Array:
        """The classes, sorted; columns of probabilities follow this order."""
        if not hasattr(self, "reader_"):
            raise AttributeError("classes_ is there after fit")
        return self.reader_.classes_

    # -- asking ----------------------------------------------------------------------------------

    def predict(self, X: TableLike, prior: PriorLike = None) -> Array:
        """The most probable class of each row; the first of ``classes_`` in a tie.

        Parameters
        ----------
        X : table
            Rows: a frame, a mapping of columns, records, an array, a sparse matrix, a path, a relation or a Spark
            frame.
        prior : {"empirical", "uniform"} or mapping, optional
            Another P(class) than that of the model, for this call.
        """
        logs = self.predict_log_proba(X, prior)
        best: Array = self.classes_[np.argmax(logs, axis=1)]
        return best

    def predict_proba(self, X: TableLike, prior: PriorLike = None) -> Float:
        """P(class | row), (n, K); ``prior`` overrides the model's prior for this call.

        Parameters
        ----------
        X : table
            Rows: a frame, a mapping of columns, records, an array, a sparse matrix, a path, a relation or a Spark
            frame.
        prior : {"empirical", "uniform"} or mapping, optional
            Another P(class) than that of the model, for this call.
        """
        return np.exp(self.predict_log_proba(X, prior))

    def predict_log_proba(self, X: TableLike, prior: PriorLike = None) -> Float:
        """log P(class | row), (n, K).

        Parameters
        ----------
        X : table
            Rows: a frame, a mapping of columns, records, an array, a sparse matrix, a path, a relation or a Spark
            frame.
        prior : {"empirical", "uniform"} or mapping, optional
            Another P(class) than that of the model, for this call.
        """
        check_is_fitted(self, "reader_")
        if not self.members_:  # the prior of each
            return np.tile(log_softmax(self.log_base(prior)), (len(self.reader_.predict_log_proba(X)), 1))
        scores = [self._score(some, prior) for some in ViewCache.of(self.reader_.model_, X).portions()]
        out: Float = log_softmax(np.concatenate(scores), axis=1)
        return out

    def _score(self, shown: ViewCache, prior: PriorLike = None) -> Float:
        """log P(c) + bias + what all members add: (n, K)."""
        added = (w * self._said(m, shown) for m, w in zip(self.members_, self.pool_.weight, strict=True))
        return sum(added, self.log_base(prior))

    def predict_frame(
        self,
        X: TableLike,
        keep: ColumnNames = (),
        prior: PriorLike = None,
        *,
        costs: CostsLike = None,
        reasons: int = 0,
    ) -> Frame:
        """Prediction and P(class | row) as columns, beside those to ``keep`` ("all", or names, also of no features).

        ``costs`` add the action of least expected cost, ``reasons`` so many columns that speak most for the prediction.

        Parameters
        ----------
        X : table
            Rows: a frame, a mapping of columns, records, an array, a sparse matrix, a path, a relation or a Spark
            frame.
        keep : str or sequence, optional
            Columns of X to keep beside the answers, or "all"; also such that are no features.
        prior : {"empirical", "uniform"} or mapping, optional
            Another P(class) than that of the model, for this call.
        costs : Costs or mapping, optional
            Adds the action of least expected cost, and that cost.
        reasons : int, default 0
            Adds so many columns that speak most for the prediction.
        """
        check_is_fitted(self, "reader_")
        asked = BatchPredictor.of(self.reader_.model_, X, type(self).__name__, keep, self.n_jobs, self)
        return predicted_frame(asked, X, keep, prior, {"costs": costs, "reasons": reasons})

    def _said(self, member: Member, shown: ViewCache) -> Float:
        """What a member adds to the prior: (n, K)."""
        logs = member.classifier.predict_log_proba(shown.through(member.view))
        return evidence(logs, self.log_shares, self._weights.sum())

    def log_base(self, prior: PriorLike = None) -> Float:
        """What the members' evidence is added to: log P(c) and the bias of the classes, (K,)."""
        return self.log_prior(prior) + self.pool_.bias

    def explain(
        self, X: TableLike, top: int | None = None, prior: PriorLike = None, names: NamesLike = None
    ) -> Explanation:
        """What each column says for each class, over all members, adding up to the posterior.

        A member's term counts as much as the member, and as much as it shows after the member is backed off to the
        prior (``backed_off_terms``): no term moves the log-odds of two classes by more than the sum over members of
        2 weight log (rows + 10)/min P(c). Members that see a row as a whole (neighbours) have one part of their own;
        "back-off" is what of their priors is lost in backing off. ``prior`` and terms add up to the score of the pool
        but for what all classes have in common. ``names`` are those of the columns of a matrix.

        Parameters
        ----------
        X : table
            Rows: a frame, a mapping of columns, records, an array, a sparse matrix, a path, a relation or a Spark
            frame.
        top : int, optional
            Show so many columns, those with the widest spread between classes, and the others as one.
        prior : {"empirical", "uniform"} or mapping, optional
            Another P(class) than that of the model, for this call.
        names : sequence of str, optional
            Names of the columns of a matrix, such as the words of a vectorizer.
        """
        plain = self.reader_.explain(X, prior=prior)
        parts = (*plain.parts, NEIGHBOURS, BACK_OFF)
        place = {name: j for j, name in enumerate(parts)}
        terms = np.zeros((len(plain), len(parts), len(self.classes_)))
        base, shown = self.log_base(prior).copy(), ViewCache.of(self.reader_.model_, X)
        rival = np.argmax(self._score(shown), axis=1) if self.members_ else np.empty(0, dtype=np.int64)
        for member, weight in zip(self.members_, self.pool_.weight, strict=True):
            table = shown.through(member.view)
            found, logs = member.classifier.explain(table), member.classifier.predict_log_proba(table)
            owners = [NEIGHBOURS] if member.together else found.parts if member.view is None else member.view.owners
            own = np.zeros_like(terms)
            for j, name in enumerate(owners):
                own[:, place[name]] += np.clip(found.terms[:, j], -FAR, FAR)
            first, moved, rest = backed_off_terms(found.prior, own, logs, self.log_shares, self._weights.sum(), rival)
            base += weight * first
            terms += weight * moved
            terms[:, -1] += weight * rest
        kept = [j for j, name in enumerate(parts) if name in plain.parts or terms[:, j].any()]
        values = tuple((*row, "", "") for row in plain.values)
        unseen = np.zeros((len(plain), 0), dtype=bool) if plain.unseen is None else plain.unseen
        whole = replace(
            plain,
            prior=base,
            parts=called([parts[j] for j in kept], self.reader_.model_.schema.names, names),
            terms=terms[:, kept],
            values=tuple(tuple(row[j] for j in kept) for row in values),
            unseen=np.pad(unseen, ((0, 0), (0, len(parts) - unseen.shape[1])))[:, kept],
            proba=self.predict_proba(X, prior),
            asked=None,
            density=False,
        )
        return whole if top is None else whole.top(top)

    def counterfactual(
        self,
        X: TableLike,
        prior: PriorLike = None,
        among: TableLike | None = None,
        *,
        hold: ColumnNames = (),
        columns: int = 1,
        names: NamesLike = None,
    ) -> Flips:
        """What would change the decision of each row: in each column the nearest value that flips it.

        Arguments as in the classifiers' own ``counterfactual``.

        Parameters
        ----------
        X : table
            Rows: a frame, a mapping of columns, records, an array, a sparse matrix, a path, a relation or a Spark
            frame.
        prior : {"empirical", "uniform"} or mapping, optional
            Another P(class) than that of the model, for this call.
        among : table, optional
            Rows as they occur: only numbers within theirs are used, and their values in columns of which the model
            knows none.
        hold : sequence of str
            Columns that stay as they are (age, sex).
        columns : {1, 2}, default 1
            Change one column, or two together where that takes a smaller change.
        names : sequence of str, optional
            Names of the columns of a matrix, such as the words of a vectorizer.
        """
        check_is_fitted(self, "reader_")
        free = Freedom.of(among, hold, columns, names)
        return self.flips(X, lambda table: most_probable(self.predict_proba(table, prior)), self.classes_, free)

    def flips(self, X: TableLike, decide: Decide, outcomes: Array, free: Freedom) -> Flips:
        return self.reader_.flips(X, decide, outcomes, free)

    def nomogram(
        self,
        target: Label | None = None,
        rival: Label | None = None,
        prior: PriorLike = None,
        among: TableLike | None = None,
        names: NamesLike = None,
    ) -> Nomogram:
        """Points that add up to the odds, where they do: one member, with columns independent given two classes.

        Parameters
        ----------
        target : class, optional
            The class whose odds are shown.
        rival : class, optional
            The class it is compared with; needed with more than two classes.
        prior : {"empirical", "uniform"} or mapping, optional
            Another P(class) than that of the model, for this call.
        among : table, optional
            Rows as they occur: only numbers within theirs are used, and their values in columns of which the model
            knows none.
        names : sequence of str, optional
            Names of the columns of a matrix, such as the words of a vectorizer.
        """
        check_is_fitted(self, "reader_")
        if not self.members_:
            raise InputError("nothing predicts the class better than its prior here, so there are no points to add up")
        member, *others = self.members_
        mixed = [m.name for m in self.members_ if m.view is not None or not m.classifier.model_.density.additive]
        if mixed or others or len(self.classes_) > 2:
            why = (
                f"its member {mixed[0]!r} has columns that depend on each other"
                if mixed
                else f"its {len(self.members_)} members are each backed off to the prior, which is no sum over columns"
                if others
                else "between more than two classes a member backed off to the prior is no sum over columns"
            )
            raise InputError(f"a nomogram adds up points column by column, and {why}; explain the rows instead")
        plain = member.classifier.nomogram(target, rival, among=among, names=names)
        pair, base = list(plain.pair), self.log_base(prior)
        shift = float(base[pair[0]] - base[pair[1]])
        backed = MemberBackoff(self.log_shares[pair], float(self._weights.sum()), float(self.pool_.weight[0]), shift)
        link = Link(backed.odds, backed.member_odds)
        return replace(
            plain, link=link, explain=lambda rows: member.classifier.explain(ViewCache.of(self.reader_.model_, rows).X)
        )

    def calibrated(
        self, X: TableLike, y: LabelsLike, method: str = "sigmoid", sample_weight: WeightsLike = None
    ) -> Any:
        """This classifier, as it is, with its probabilities set right on rows that are new to it, as any other's.

        Parameters
        ----------
        X : table
            Rows: a frame, a mapping of columns, records, an array, a sparse matrix, a path, a relation or a Spark
            frame.
        y : array of shape (n,) or str
            The labels, or the name of their column in X.
        method : {"sigmoid", "isotonic", "temperature"}, default "sigmoid"
            The map that is fitted, as in ``Calibrated``.
        sample_weight : array of shape (n,), optional
            Weights of the rows: a weight of 2 is the same as two copies of a row.
        """
        from bayeskit.estimators.calibrated import Calibrated

        check_is_fitted(self, "reader_")
        return Calibrated(clone(self), method).around(self, X, y, sample_weight)

    @property
    def _weights(self) -> Float:
        return self.reader_.model_.weights

    @property
    def log_shares(self) -> Float:
        """log of the smoothed shares of the classes, which the members' posteriors are read against: (K,)."""
        return smoothed_prior(self._weights)

    def log_prior(self, prior: PriorLike = None) -> Float:
        """log P(c): the smoothed shares, unless another prior was asked for.

        Parameters
        ----------
        prior : {"empirical", "uniform"} or mapping, optional
            Another P(class) than that of the model, for this call.
        """
        given = self.prior if prior is None else prior
        if isinstance(given, str) and given == "empirical":
            return self.log_shares
        return log_prior(given, self.reader_.model_.counted.domain.classes, self._weights)

    def table_reader(self) -> Model:
        """The model that knows the columns."""
        return self.reader_.model_

    def program(self) -> Program:
        """Itself as a portable program: every member, and how they are pooled."""
        check_is_fitted(self, "reader_")
        inputs = TableInputs.of(self.reader_.model_)
        members = []
        for member, weight in zip(self.members_, self.pool_.weight.tolist(), strict=True):
            numbers = None if member.view is None else member.view.symbols(inputs)
            members.append(inputs.member(member.classifier.model_, member.name, weight, numbers))
        pool = self.log_base(), self.log_shares, 1 / (float(self._weights.sum()) + 10)
        return Program(tuple(self.classes_.tolist()), inputs.columns, tuple(members), *pool, np.exp(self.log_prior()))

    def honest_log_proba(self, X: TableLike) -> Float | None:
        """log P(class | row), (n, K); None where a class has a ``predict_proba`` of its own."""
        return self.predict_log_proba(X) if type(self).predict_proba is AutoBayes.predict_proba else None

    def summary(self) -> Leaderboard:
        """Every candidate: its log-loss on unseen rows, its weight, what it adds, or why it was left out."""
        check_is_fitted(self, "reader_")
        return self.leaderboard_

    def _html_repr(self) -> str:
        """In a notebook: the settings, and once fitted what became of the candidates."""
        if not hasattr(self, "reader_"):
            return str(super()._html_repr())
        return f"<div><code>{html.escape(repr(self))}</code>{self.summary()._repr_html_()}</div>"

    # -- keeping ---------------------------------------------------------------------------------

    def save(self, path: FilePath) -> None:
        """Write a ``.bayes`` file with all members: whole or not at all.

        Parameters
        ----------
        path : path
            The file.
        """
        check_is_fitted(self, "reader_")
        settings = changed(self, "n_jobs", "callback")
        rows = self.rows_ if self.exact else None
        bundled(type(self).__name__, settings, self.reader_, self.members_, self.pool_, self.leaderboard_, rows).save(
            path
        )

    @classmethod
    def restored(cls, path: FilePath) -> Self:
        """Back from a file."""
        bundle = Bundle.load(path)
        with doubts(path):
            made = cls(**bundle.settings)
            made._check_settings()
            reader, members, pool, leaderboard, rows = unbundled(bundle)
            if made.exact != (rows is not None):
                raise ModelFileError("its rows do not fit its settings")
            if rows is not None:
                made.rows_ = rows
            return made._adopt(reader, members, pool, leaderboard)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "reader_")

    def __sklearn_tags__(self) -> Tags:
        return any_table(super().__sklearn_tags__())


def _labelled(X: TableLike, y: LabelsLike, weight: WeightsLike) -> tuple[Any, Array, Float | None]:
    """The rows that have a label, with it and their weights."""
    sample = LabelledTable.of(X, y, weight, least=1)
    return sample.take(np.flatnonzero(sample.rows.counted))
