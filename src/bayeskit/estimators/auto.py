"""AutoBayes: the Bayes classifiers that suit a table, pooled; one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bayeskit.arrays import (
    Float,
    KindsLike,
    Label,
    LabelsLike,
    NamesLike,
    PriorLike,
    Seed,
    TableLike,
    WeightsLike,
)
from bayeskit.decision.shift import prior_shift
from bayeskit.ensemble import bundling
from bayeskit.ensemble.candidate import Member
from bayeskit.ensemble.deadline import Deadline
from bayeskit.ensemble.ensemble import Ensemble, Search
from bayeskit.ensemble.leaderboard import Leaderboard
from bayeskit.ensemble.pool import Pool
from bayeskit.ensemble.renewal import declaring_levels, keeping_rows, rows_of
from bayeskit.ensemble.views import READER
from bayeskit.errors import InputError, MergeError, ModelFileError
from bayeskit.estimators.candidates import FEWER, TREES, candidates
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.docstrings import document
from bayeskit.estimators.learner import (
    any_table,
    check_rows_of,
    non_default_settings,
    only_rows_tell,
    set_features,
    warn_of_held,
)
from bayeskit.estimators.naive import NaiveBayes
from bayeskit.estimators.pool_explanations import PoolExplanations
from bayeskit.estimators.revive import revive
from bayeskit.estimators.wrapper import Refused, Wrapper
from bayeskit.model.learn import Spec, forget_rows, learn_like, learn_more, learn_rows
from bayeskit.model.model import Model
from bayeskit.model.open_table import OpenTable
from bayeskit.model.posterior import normal_prior
from bayeskit.model.row_names import warn_of_identifiers
from bayeskit.portable.program import Program
from bayeskit.storage.model_file import Bundle
from bayeskit.structures.exactness import SAMPLE, Exactness

NO_DENSITY = (
    "weighs what several models say of the classes and has no density of rows; ask a member "
    "(members_[0].classifier), or fit a model that has one (bk.NaiveBayes, --model naive)"
)


@document()
@dataclass(kw_only=True, eq=False, repr=False)
class AutoBayes(PoolExplanations, Wrapper):
    """Tries the Bayes classifiers that can suit a table, and pools those that predict unseen rows best.

    score_c = log P(c) + bias_c + sum over members of weight_m log P_m(c | x)/P(c): additive, so that explanations add
    up and a new prior is Bayes' rule. Members, weights and what each adds are in ``summary()``.

    Parameters
    ----------
    fast : bool, default False
        Pool a corrected naive Bayes, a forest, a shrunk normal and, above 1,000 rows, boosted trees by weights that are
        known beforehand: nothing is judged. Above 12,000 rows pool boosted trees and a KDB, whose splits, cuts and arcs
        a quarter of 12,000 drawn rows choose and all rows fill; where the trees would take too long, one weighted
        candidate.
    time_budget : float, optional
        Seconds for the whole fit. Candidates that would not be judged and learned in time are left out, which
        ``summary()`` says; the first that can be fitted is not. What is in time depends on the machine, so that the
        same rows may give another pool; without a budget they never do.
    max_candidates : int, optional
        Number of candidates to try; variants that share a fit (weighted or not, several k) count once.
    portable : bool, default False
        Leave out members that no target of ``export`` has a form of: neighbours, which look up learned rows.
    callback : callable, optional
        Called with (done, of how many, name) before each candidate, and before members learn all rows.
    random_state : int, default 0
        Seed of what is drawn.

    Attributes
    ----------
    classes_, exact_

    Examples
    --------
    >>> import bayeskit as bk
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> bk.AutoBayes(max_candidates=4).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    True
    """

    value_of_information: ClassVar[Any] = Refused(
        "pools several models, which have no one p(value | row); ask a member, or a NaiveBayes"
    )

    kinds: KindsLike = None
    prior: PriorLike = "empirical"
    unseen: str = "missing"
    fast: bool = False
    time_budget: float | None = None
    max_candidates: int | None = None
    exact: bool = False
    portable: bool = False
    callback: Callable[[int, int, str], object] | None = None
    random_state: Seed = 0
    n_jobs: int | None = None

    # -- learning --------------------------------------------------------------------------------

    def fit(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Try, judge and pool, then learn from all rows.

        Candidates are judged on the 12,000 different rows of the smallest hashes; members learn all rows in passes, so
        that files, relations and frames of a cluster need not fit in memory. Where rows times columns times classes are
        more than 10 million, 500 to 4,000 of the rows are held out once instead of in folds; above 3,000 columns times
        classes there is no corrected naive Bayes, above 10,000 there are no boosted trees.
        """
        return self._learn(X, y, sample_weight)

    def _learn(self, X: TableLike, y: LabelsLike, weight: WeightsLike, classes: LabelsLike | None = None) -> Self:
        """``fit``, where ``classes`` are declared: they stay without a row."""
        self._check_settings()
        if self.exact:
            return self._derive(learn_rows(self._keeper, X, y, weight, _labels(classes)))
        return self._adopt(self._search(OpenTable.of(X, y, weight, self.n_jobs), self.kinds).declare(_labels(classes)))

    def _search(self, table: OpenTable, kinds: KindsLike) -> Ensemble:
        """What one fit of a table finds."""
        deadline = Deadline.within(self.time_budget)
        reader = NaiveBayes(kinds=kinds, unseen=self.unseen, n_jobs=self.n_jobs)
        limits = self.fast, deadline, self.max_candidates, self.callback, self.random_state, self.portable
        trees = FEWER if self.fast else TREES
        search = Search(lambda facts: candidates(kinds, self.unseen, facts.incomplete, trees), *limits)
        found = Ensemble.fit(reader, table, search)
        if table.roles.weight is None:
            warn_of_identifiers(found.reader.model_)
        return found

    def _derive(self, rows: Model) -> Self:
        """Everything tried, pooled and learned from the rows that a model keeps; the journal goes on."""
        X, y, weight, kinds = rows_of(rows)
        found = self._search(OpenTable.of(X, y, weight, self.n_jobs), kinds).declare(rows.schema.classes)
        journal = self.reader_.model_.journal if self.__sklearn_is_fitted__() else ()
        return self._adopt(replace(found.with_journal(journal), rows=rows))

    @property
    def _keeper(self) -> Spec:
        """What keeps the rows."""
        return keeping_rows(self.kinds, self.unseen, self.n_jobs)

    def partial_fit(
        self, X: TableLike, y: LabelsLike, classes: LabelsLike | None = None, sample_weight: WeightsLike = None
    ) -> Self:
        """Learn more rows: the members learn them, and their weights move as far as the old rows allow.

        The new rows are predicted before they are learned. Candidates are not tried anew; ``fit`` does that.
        """
        if not self.__sklearn_is_fitted__():
            return self._learn(X, y, sample_weight, classes)
        if self.ensemble_.rows is not None:
            return self._derive(learn_more(self._keeper, self.ensemble_.rows, X, y, sample_weight, _labels(classes)))
        return self._adopt(self.ensemble_.learn(X, y, _labels(classes), sample_weight))

    def forget(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Unlearn rows in every member; what the fit chose with them stays, which a warning says (see ``exact_``)."""
        check_is_fitted(self)
        if self.ensemble_.rows is not None:
            return self._derive(forget_rows(self._keeper, self.ensemble_.rows, X, y, sample_weight))
        self._adopt(self.ensemble_.forget(X, y, sample_weight))
        warn_of_held(self.exact_, able=True)
        return self

    def renew(self, X: TableLike | None = None, y: LabelsLike | None = None, sample_weight: WeightsLike = None) -> Self:
        """Try, judge and pool anew from the rows that the pool has: it is then the pool of one fit of them.

        These are the rows it has learned and not forgotten, and others are refused; with ``exact=True`` it keeps them,
        and they may be left out. Classes and levels that were declared stay so.
        """
        check_is_fitted(self)
        reader, rows = self.reader_, self.ensemble_.rows
        known = reader.model_
        if X is not None:
            check_rows_of(known, learn_like(reader.spec(), known, X, y, sample_weight))
        if rows is not None:
            return self._derive(rows)
        if X is None or y is None:
            raise only_rows_tell(self.exact_)
        table = OpenTable.of(X, y, sample_weight, self.n_jobs, known.counted.types).against(known.schema, READER)
        fresh = self._search(declaring_levels(table, known.schema), self.kinds)
        return self._adopt(fresh.declare(known.schema.classes).with_journal(known.journal))

    @property
    def exact_(self) -> Exactness:
        """What learning, forgetting and merging give bit for bit, and what is held as the fit chose it."""
        if self.exact:
            return Exactness()
        lost = [
            f"the sample of rows of {m.name!r}"
            for m in (self.members_ if self.__sklearn_is_fitted__() else ())
            if SAMPLE in m.classifier.model_.exact.lost
        ]
        return Exactness(("the members and what each of them chose", "the weights of the members"), tuple(lost))

    def merge(self, other: AutoBayes) -> AutoBayes:
        """A new classifier whose members have learned what both have; the weights of the members are this one's.

        Parameters
        ----------
        other : AutoBayes
            A pool that sees rows alike.
        """
        if not isinstance(other, AutoBayes):
            raise MergeError(f"cannot merge AutoBayes with {type(other).__name__}; give two of one kind")
        check_is_fitted(self)
        check_is_fitted(other)
        mine, theirs = self.ensemble_, other.ensemble_
        both = type(self)(**self.get_params(deep=False))
        if mine.rows is not None and theirs.rows is not None:
            return both._derive(mine.rows.merge(theirs.rows))
        if mine.rows is not None or theirs.rows is not None:
            raise MergeError("one of the two keeps its rows (exact=True) and the other does not; fit both alike")
        return both._adopt(mine.merge(theirs))

    def _adopt(self, ensemble: Ensemble) -> Self:
        self.ensemble_ = ensemble
        set_features(self, ensemble.reader.model_.schema)
        return self

    def _check_settings(self) -> None:
        normal_prior(self.prior)
        if not isinstance(self.portable, bool | np.bool_):
            raise InputError(f"portable={self.portable!r}: choose True (what every target of export has) or False")
        if not isinstance(self.exact, bool | np.bool_):
            raise InputError(f"exact={self.exact!r}: choose True (keep the rows) or False (hold what was chosen)")
        if self.exact and self.time_budget is not None:
            raise InputError("exact=True is the pool of one fit, which the clock must not decide; use max_candidates")
        for name, value in (("time_budget", self.time_budget), ("max_candidates", self.max_candidates)):
            if value is not None and not value > 0:
                raise InputError(f"{name}={value!r}: give a number above 0, or None")

    @property
    def _pooled(self) -> Ensemble:
        """What was learned, with the prior that the settings say now."""
        check_is_fitted(self)
        return replace(self.ensemble_, prior=self.prior)

    @property
    def base_(self) -> BayesClassifier:
        return self.reader_

    @property
    def n_jobs_(self) -> int | None:
        return self.n_jobs

    @property
    def reader_(self) -> BayesClassifier:
        """The classifier that knows the columns and reads tables for the members."""
        reader = self.ensemble_.reader
        assert isinstance(reader, BayesClassifier)
        return reader

    @property
    def members_(self) -> tuple[Member, ...]:
        """The classifiers that are pooled, each with its name and the view of the table it takes."""
        return self.ensemble_.members

    @property
    def pool_(self) -> Pool:
        """The weights of the members and the biases of the classes."""
        return self.ensemble_.pool

    # -- asking ----------------------------------------------------------------------------------

    def predict_log_proba(self, X: TableLike, prior: PriorLike = None) -> Float:
        return self._pooled.log_posterior(X, prior)

    def log_base(self, prior: PriorLike = None) -> Float:
        """What the members' evidence is added to: log P(c) and the bias of the classes, (K,)."""
        return self._pooled.log_base(prior)

    def calibrated(
        self, X: TableLike, y: LabelsLike, method: str = "sigmoid", sample_weight: WeightsLike = None
    ) -> Any:
        """This classifier, as it is, with its probabilities set right on rows that are new to it."""
        from bayeskit.estimators.calibrated import Calibrated

        check_is_fitted(self)
        return Calibrated(clone(self), method).around(self, X, y, sample_weight)

    @property
    def log_shares(self) -> Float:
        """log of the smoothed shares of the classes, which the members' posteriors are read against: (K,)."""
        return self.ensemble_.log_shares

    def log_prior(self, prior: PriorLike = None) -> Float:
        return self._pooled.log_prior(prior)

    def summary(self, names: NamesLike = None) -> Leaderboard:
        """Every candidate: its log-loss on unseen rows, its weight, what it adds, or why it was left out.

        Parameters
        ----------
        names : sequence of str, optional
            Names of the columns of a matrix; candidates have none.
        """
        check_is_fitted(self)
        return self.ensemble_.leaderboard

    def program(self) -> Program:
        """Itself as a portable program, which every target reads."""
        return self._pooled.program()

    def adapt_prior(self, X: TableLike) -> Self:
        shift = prior_shift(self.classes_, self.predict_log_proba(X), self.log_prior())
        adapted = type(self)(**{**self.get_params(deep=False), "prior": shift.by_class})._adopt(self.ensemble_)
        adapted.prior_shift_ = shift
        return adapted

    predict_joint_log_proba: ClassVar[Any] = Refused(NO_DENSITY)
    log_evidence: ClassVar[Any] = Refused(NO_DENSITY)
    score_samples: ClassVar[Any] = Refused(NO_DENSITY)
    probabilities: ClassVar[Any] = Refused(NO_DENSITY)

    def bundle(self) -> Bundle:
        return bundling.bundle(type(self).__name__, non_default_settings(self, "n_jobs", "callback"), self.ensemble_)

    @classmethod
    def from_bundle(cls, saved: Bundle) -> Self:
        """Back from a file."""
        made = cls(**saved.settings)
        made._check_settings()
        found = bundling.unbundle(saved, revive)
        if made.exact != (found.rows is not None):
            raise ModelFileError("its rows do not fit its settings")
        return made._adopt(found)

    def __sklearn_tags__(self) -> Tags:
        return any_table(super().__sklearn_tags__())


def _labels(classes: LabelsLike | None) -> tuple[Label, ...]:
    return () if classes is None else tuple(np.asarray(classes).tolist())
