"""Sets of classes: where new rows stand among rows whose class is known, and which classes that leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayeskit.arrays import (
    Bool,
    ColumnLike,
    ColumnNames,
    CostsLike,
    Float,
    Frame,
    Int,
    Label,
    PriorLike,
    Seed,
    TableLike,
)
from bayeskit.decision.conformity import Nonconformity, Rank
from bayeskit.errors import InputError, KindError
from bayeskit.estimators.any_wrapper import AnyWrapper
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.docstrings import ROWS, document
from bayeskit.evaluation.grouping import table_columns
from bayeskit.evaluation.learned_rows import LearnedRows, Strata
from bayeskit.evaluation.protocols import ReadsTables
from bayeskit.evaluation.refit import logs_of
from bayeskit.model.batch_predictor import BatchPredictor
from bayeskit.model.labelled_table import values_of
from bayeskit.model.open_table import OpenTable

METHODS = ("full", "jackknife+", "cv+", "split")
CLASS = "class"
ASKED = ROWS | {
    "ratio": """array of shape (n,), optional
        As in ``fit``, of these rows.""",
    "coverage": """float, optional
        Another one than that of the settings.""",
    "novelty": """bool, default False
        Adds the p-value of each row.""",
}


@document(ASKED)
class ConformalSets(AnyWrapper):
    """What is asked of rows once others are scored: p-values, sets of classes, how usual a row is."""

    coverage: float
    method: str
    conformity_score: str
    by: str | Sequence[str] | None
    randomised: bool
    penalty: float
    rank: int
    random_state: Seed

    rows_: LearnedRows | None  # where leaving one out is algebra
    fold_models_: tuple[Any, ...]  # else
    fold_: Int  # (n,) which of these has not learned the row
    scores_: Float  # (n,)
    evidence_: Float | None  # (n,) -log p(row), where the models have a density
    codes_: Int  # (n,)
    groups_: dict[tuple[Label, ...], int]  # strata by their values
    stratum_: Int  # (n,)
    ratio_: Float  # (n,)
    part_: Float  # (n,)

    def p_values(self, X: TableLike, ratio: ColumnLike | None = None) -> Float:
        """The share of learned rows that are at least as strange as each row would be with each class: (n, K).

        With ``full`` and ``split`` the p-value of the true class is at most t with probability at most t, and with
        ``randomised`` just t; with ``jackknife+`` and ``cv+`` at most 2 t.

        Returns
        -------
        array of shape (n, K)
            By the order of ``classes_``.
        """
        return self._p_values(X, self._check_settings(), ratio)

    def predict_set(self, X: TableLike, coverage: float | None = None, ratio: ColumnLike | None = None) -> Bool:
        """Whether each class is in the set of each row: (n, K).

        Returns
        -------
        array of shape (n, K)
            By the order of ``classes_``.
        """
        return self.p_values(X, ratio) > least_p(self.coverage if coverage is None else coverage)

    def predict_frame(
        self,
        X: TableLike,
        keep: ColumnNames = (),
        prior: PriorLike = None,
        *,
        costs: CostsLike = None,
        reject: float | None = None,
        evidence: bool = False,
        reasons: int = 0,
        coverage: float | None = None,
        novelty: bool = False,
    ) -> Frame:
        """Prediction, P(class | row) and the set of classes as columns, beside those to ``keep``."""
        coverage = self.coverage if coverage is None else coverage
        least_p(coverage)
        wanted = {"costs": costs, "reject": reject, "evidence": evidence, "reasons": reasons}
        return self._frame(X, keep, prior, {**wanted, "coverage": coverage, "novelty": novelty})

    @property
    def promise(self) -> str:
        """What its sets promise, in one sentence."""
        miss = least_p(self.coverage)
        held = max(1 - 2 * miss, 0) if self.method in ("jackknife+", "cv+") else 1 - miss
        less = ", less a little for the folds" if self.method == "cv+" else ""
        within = f" in each group by {', '.join(self._by)}" if self._by else ""
        return (
            f"Of rows like those it has learned, the set of classes given by its {self.method} conformal prediction "
            f"holds the true class in at least {100 * held:.4g} %{less}{within}."
        )

    @property
    def has_density(self) -> bool:
        """Whether it knows how usual a row is."""
        return self.evidence_ is not None if self.rows_ is None else has_density(self.estimator_)

    def novelty(self, X: TableLike, ratio: ColumnLike | None = None) -> Float:
        """How usual each row is: a p-value, (n,), small where log p(row) is low beside that of learned rows.

        Of rows like those of ``fit`` at most a share t has a p-value of at most t (2 t with ``jackknife+`` and
        ``cv+``). With ``full`` it is the largest over the classes the row might have.

        Returns
        -------
        array of shape (n,)
            From 1 / (rows + 1), like nothing learned, to 1.
        """
        check_is_fitted(self)
        if isinstance(self.estimator_, BayesClassifier):
            self.estimator_.model_.check_evidence()
        if self.rows_ is None and self.evidence_ is None:
            raise KindError(
                f"novelty(): {type(self.estimator_).__name__} has no density of rows (log_evidence), so none is "
                f"unusual to it; use a classifier of this library that has one, such as NaiveBayes or FullBayes"
            )
        usual: Float = self._p_values(X, Nonconformity("evidence"), ratio).max(axis=1)
        return usual

    def _p_values(self, X: TableLike, how: Nonconformity, ratio: ColumnLike | None) -> Float:
        check_is_fitted(self)
        keys = self._strata_of(X)
        stratum = np.array([self.groups_.get(key, -1) for key in keys], dtype=np.int64)
        own = self._ratio(ratio, len(keys))
        scale = -int(np.frexp(max(float(self.ratio_.max()), float(own.max(initial=0.0))))[1])  # sums stay numbers
        own = np.ldexp(own, scale)
        part, share = self._rng(2).uniform(size=(2, len(keys)))
        part, share = part if how.takes_part else np.ones_like(part), share if self.randomised else np.ones_like(share)
        strata = Strata(self.stratum_, np.ldexp(self.ratio_, scale), self._by_class)
        p = self._rank(X, how, strata, stratum, part).p_values(own, share)
        p[_without_values(self.estimator_, X)] = 1.0
        return p

    def _rank(self, X: TableLike, how: Nonconformity, strata: Strata, stratum: Int, part: Float) -> Rank:
        if self.rows_ is not None:
            rank = self.rows_.rank_full if self.method == "full" else self.rows_.rank_jackknife
            return rank(X, how, strata, stratum, self.part_, part)
        known = self.evidence_ if how.of_joint else self.scores_
        assert known is not None
        whole: Rank | None = None
        for f, model in enumerate(self.fold_models_):
            mine = self.fold_ == f
            logs = evidence_of(model, X, len(self.classes_)) if how.of_joint else logs_of(model, X, self.classes_)
            found = strata.scored(known[mine], self.codes_[mine], mine).rank(how.of_classes(logs, part), stratum)
            whole = found if whole is None else whole + found
        assert whole is not None
        return whole

    @property
    def _columns(self) -> tuple[str, ...]:
        """The columns by whose values rows are ranked apart."""
        return tuple(name for name in self._by if name != CLASS)

    @property
    def _by(self) -> tuple[str, ...]:
        return () if self.by is None else (self.by,) if isinstance(self.by, str) else tuple(self.by)

    @property
    def _by_class(self) -> bool:
        return CLASS in self._by

    def _strata_of(self, X: TableLike) -> list[tuple[Label, ...]]:
        """The values of each row in those columns."""
        known = dict(table_columns(X)) if self._columns else {}
        if lost := [name for name in self._columns if name not in known]:
            raise InputError(
                f"by={lost[0]!r} names no column of the rows (there are: {', '.join(list(known)[:20])}), nor 'class'"
            )
        if not self._columns:
            return [()] * rows_of(X)
        values = [[None if v != v else v for v in known[name].to_pylist()] for name in self._columns]
        return list(zip(*values, strict=True))

    def _ratio(self, ratio: ColumnLike | None, rows: int) -> Float:
        if ratio is None:
            return np.ones(rows)
        given = np.asarray(ratio, dtype=np.float64)
        if given.shape != (rows,) or not np.isfinite(given).all() or (given < 0).any():
            raise InputError(
                f"ratio has shape {given.shape}; give a number of at least 0 for each of {rows} rows: how much more "
                f"frequent such rows are among those to be asked about"
            )
        return given

    def _rng(self, use: int) -> np.random.Generator:
        return np.random.default_rng([self.random_state, use] if isinstance(self.random_state, int) else use)

    def _check_settings(self) -> Nonconformity:
        least_p(self.coverage)
        if self.method not in METHODS:
            raise InputError(f"method={self.method!r}: choose one of {', '.join(METHODS)}")
        if not all(isinstance(name, str) for name in self._by) or len(set(self._by)) < len(self._by):
            raise InputError(f"by={self.by!r}: name 'class', a column, or several of them, each once")
        if not 0 <= self.penalty < np.inf or self.rank < 0:
            raise InputError(f"penalty={self.penalty!r}, rank={self.rank!r}: give numbers of at least 0")
        self._check_probabilities("set of classes")
        if self.conformity_score == "evidence":
            raise InputError(
                "conformity_score='evidence' says nothing of classes; ask novelty(X), or choose lac, aps or raps"
            )
        return Nonconformity(self.conformity_score, self.penalty, self.rank)


def has_density(model: object) -> bool:
    """Whether a classifier knows log p(row)."""
    if not isinstance(model, BayesClassifier):
        return False
    try:
        model.model_.check_evidence()
    except InputError:
        return False
    return True


def least_p(coverage: float) -> float:
    """The p-value above which a class is in a set.

    >>> least_p(0.9)
    0.1
    """
    if isinstance(coverage, bool) or not isinstance(coverage, int | float | np.floating) or not 0 < coverage < 1:
        raise InputError(f"coverage={coverage!r}: give the share of sets that hold the true class, between 0 and 1")
    return round(1 - float(coverage), 12)


def evidence_of(model: Any, X: TableLike, classes: int) -> Float:
    """log p(row) in the first column, nothing in the others: (n, K)."""
    out = np.full((rows_of(X), classes), -np.inf)
    out[:, 0] = model.log_evidence(X)
    return out


def _without_values(fitted: object, X: TableLike) -> Bool:
    """Rows of which nothing is known: (n,)."""
    model = fitted.table_reader() if isinstance(fitted, ReadsTables) else None
    if model is None:
        return np.zeros(rows_of(X), dtype=bool)
    found = []
    for block in BatchPredictor.of(model, X, type(fitted).__name__).blocks():
        known = (block.codes >= 0).any(axis=0)
        for j in range(len(block.numeric) if not block.schema.coded or not known.all() else 0):
            known |= ~np.isnan(block.numeric.column(j))
        found.append(~known)
    return np.concatenate(found)


def rows_of(X: TableLike) -> int:
    """How many rows a table in memory has."""
    values = values_of(X)
    rows = len(values) if values is not None else OpenTable.of(X, None, None, None).source.known_rows
    if rows is None:
        raise InputError("rows are ranked in memory; read a file or relation first, or ask predict_frame")
    return rows
