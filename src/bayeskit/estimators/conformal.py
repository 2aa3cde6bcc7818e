"""Conformal: sets of classes that hold the true one as often as they promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bayeskit.arrays import (
    Array,
    Bool,
    Classifier,
    ColumnLike,
    ColumnNames,
    CostsLike,
    Float,
    Frame,
    Int,
    Label,
    LabelsLike,
    PriorLike,
    Seed,
    TableLike,
)
from bayeskit.decision.conformity import Nonconformity, Rank
from bayeskit.errors import InputError, KindError, ModelFileError
from bayeskit.estimators.any_wrapper import AnyWrapper
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.docstrings import document
from bayeskit.estimators.fold_models import fit_folds, fit_to, labelled_rows, split_rows
from bayeskit.estimators.learner import non_default_settings
from bayeskit.estimators.revive import disclose_all, enclose
from bayeskit.estimators.wrapper import Refused, Wrapper
from bayeskit.evaluation.grouping import table_columns
from bayeskit.evaluation.learned_rows import LearnedRows, Strata
from bayeskit.evaluation.methods import Holdout
from bayeskit.evaluation.protocols import ReadsTables, SupportsSpec
from bayeskit.evaluation.refit import logs_of
from bayeskit.model.batch_predictor import BatchPredictor
from bayeskit.model.codec import build, describe
from bayeskit.model.labelled_table import LabelledTable, take_rows, values_of
from bayeskit.model.open_table import OpenTable
from bayeskit.storage.bundle import Bundle

METHODS = ("full", "jackknife+", "cv+", "split")
CLASS = "class"
STALE = "promises what it does of the very rows of fit, and of no others; fit it anew with all rows"


@document()
class Conformal(AnyWrapper):
    """Sets of classes with a promise: of rows like those of ``fit``, the share whose set holds the true class.

    A class is in the set of a row where its p-value, the share of learned rows that are at least as strange, is above
    1 - ``coverage``. *Full* conformal prediction learns the new row with each class in turn and ranks it among all
    rows, each judged by the model without it: no row is held back, no order matters, and P(true class in set) >=
    coverage for any model that treats its rows alike (Vovk, Gammerman and Shafer 2005). It is for models that are
    counts, as leaving one out of them is algebra. *CV+* and *jackknife+* rank by models of folds, or without one row
    each, and promise 1 - 2 (1 - coverage), less a term of folds (Barber and others 2021). *Split* holds rows back, for
    any classifier, and promises ``coverage``.

    A set may be empty: the row is strange for every class. A row without any value gets all classes.

    Parameters
    ----------
    estimator : classifier
        The classifier; a copy is fitted. ``full`` and ``jackknife+`` take classifiers of this library whose cuts,
        families, arcs and weights are not chosen by labels; ``cv+`` and ``split`` any with ``predict_proba``.
    coverage : float, default 0.9
        The share of sets that shall hold the true class.
    method : {"full", "jackknife+", "cv+", "split"}, default "full"
        How rows are ranked.
    conformity_score : {"lac", "margin", "aps", "raps"}, default "lac"
        How strange a class is for a row: 1 - P(c | x), which gives the smallest sets on the average; the largest other
        probability less P(c | x); the probability of all classes before this one and a random part of its own, which
        adapts the size of a set to the row; the same with ``penalty`` for each place beyond ``rank``.
    by : str or sequence of str, optional
        Rank rows only among those of the same class (``"class"``), or of the same value of a column, or of several:
        the promise then holds in each (Mondrian). A row of a value that no learned row has gets all classes.
    folds : int or splitter, default 10
        Folds of ``cv+``.
    calibration_size : float, default 1/3
        The share of rows that ``split`` holds back.
    randomised : bool, default False
        Break ties by random numbers, so that p-values of true classes are uniform and the coverage is not above what is
        promised.
    penalty : float, default 0.01
        Of ``raps``.
    rank : int, default 1
        Places without penalty in ``raps``.
    random_state : int, default 0
        Seed of what is drawn.

    Attributes
    ----------
    classes_ : array of shape (K,)
        The classes of the estimator.

    Examples
    --------
    >>> import bayeskit as bk
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = bk.Conformal(bk.NaiveBayes(), coverage=0.95).fit(X, y)
    >>> model.predict_set(X[[0, 70, 83, 133]])
    array([[ True, False, False],
           [False, False,  True],
           [False,  True, False],
           [False,  True, False]])
    """

    def __init__(
        self,
        estimator: Classifier,
        coverage: float = 0.9,
        method: str = "full",
        *,
        conformity_score: str = "lac",
        by: str | Sequence[str] | None = None,
        folds: object = 10,
        calibration_size: float = 1 / 3,
        randomised: bool = False,
        penalty: float = 0.01,
        rank: int = 1,
        random_state: Seed = 0,
    ) -> None:
        self.estimator = estimator
        self.coverage = coverage
        self.method = method
        self.conformity_score = conformity_score
        self.by = by
        self.folds = folds
        self.calibration_size = calibration_size
        self.randomised = randomised
        self.penalty = penalty
        self.rank = rank
        self.random_state = random_state

    def fit(self, X: TableLike, y: LabelsLike, ratio: ColumnLike | None = None, **others: object) -> Self:
        """Fit the classifier, and score rows by models that have not learned them.

        Parameters
        ----------
        ratio : array of shape (n,), optional
            How much more frequent a row like each is among those to be asked about than among these: the ratio of the
            densities, up to a factor. The promise then holds of these others (Tibshirani and others 2019).
        **others
            None is taken; ``sample_weight`` is refused with what to do instead.
        """
        if others.pop("sample_weight", None) is not None:
            raise InputError(
                "sample_weight: rows are ranked among each other, each as one row like the new one, so a weight would "
                "break the promise; give ratio= if new rows are of another mixture, or repeat rows that were counted"
            )
        if others:
            raise TypeError(f"fit() got an unexpected keyword argument {next(iter(others))!r}")
        how = self._check_settings()
        given, known, sample = labelled_rows(X, y)
        weights = self._ratio(ratio, len(given.rows))[known]
        if self.method in ("full", "jackknife+"):
            spec = self.estimator.fold_spec() if isinstance(self.estimator, SupportsSpec) else None
            rows = LearnedRows.of(spec, type(self.estimator).__name__, sample, self.method)
            fitted = fit_to(self.estimator, given, known)
            rows = replace(rows, model=fitted.model_)
            return self._adopt(how, fitted, (), sample, np.zeros(len(known), dtype=np.int64), weights, rows)
        if self.method == "cv+":
            split = split_rows(self.folds, sample, self._rng(0))
            fitted = fit_to(self.estimator, given, known)
            return self._adopt(how, fitted, fit_folds(self.estimator, sample, split), sample, split.fold, weights)
        (split,) = Holdout(self.calibration_size).splits(sample.rows, self._rng(0))
        train, test = np.flatnonzero(split.fold == 1), np.flatnonzero(split.fold == 0)
        fitted = fit_to(self.estimator, given, known[train])
        held, labels, _ = sample.take(test)
        return self._around(how, fitted, held, labels, weights[test])

    def around(self, fitted: Classifier, X: TableLike, y: LabelsLike, ratio: ColumnLike | None = None) -> Self:
        """Split conformal prediction of a classifier that is fitted already, by rows that are new to it.

        Parameters
        ----------
        fitted : classifier
            It stays as it is.
        ratio : array of shape (n,), optional
            As in ``fit``.
        """
        how = self._check_settings()
        if self.method != "split":
            raise InputError(f"a fitted classifier is taken as it is by method='split', not {self.method!r}; set that")
        check_is_fitted(fitted)
        given = LabelledTable.of(X, y, least=1)
        known = np.flatnonzero(given.rows.counted)
        features, labels, _ = given.take(known)
        return self._around(how, fitted, features, labels, self._ratio(ratio, len(given.rows))[known])

    def _around(self, how: Nonconformity, fitted: Any, X: TableLike, y: Array, weights: Float) -> Self:
        sample = LabelledTable.of(X, y, least=1)
        known = fitted.classes_.tolist()
        if strange := [label for label in sample.rows.classes.tolist() if label not in known]:
            raise InputError(
                f"class {strange[0]!r} is among the rows held back, and none that was learned is of it; give more rows "
                f"of it, or leave it out"
            )
        return self._adopt(how, fitted, (fitted,), sample, np.zeros(len(sample.rows), dtype=np.int64), weights)

    def _adopt(
        self,
        how: Nonconformity,
        fitted: Any,
        folds: tuple[Any, ...],
        sample: LabelledTable,
        fold: Int,
        weights: Float,
        rows: LearnedRows | None = None,
    ) -> Self:
        """Take a fitted classifier, and what its rows are ranked by."""
        n = len(sample.rows)
        keys = self._strata_of(sample.features)
        index = {key: k for k, key in enumerate(dict.fromkeys(keys))}
        part = self._rng(1).uniform(size=n) if how.takes_part else np.ones(n)
        classes = fitted.classes_
        place = {label: k for k, label in enumerate(classes.tolist())}
        codes = np.array([place[label] for label in sample.rows.classes.tolist()], dtype=np.int64)[sample.rows.codes]
        if rows is not None:
            scores, evidence = rows.scores(how, part), None
        else:
            scores, evidence = _score_folds(how, folds, sample, fold, codes, part, classes)
        self.estimator_, self.rows_, self.fold_models_ = fitted, rows, folds
        self.groups_, self.stratum_ = index, np.array([index[key] for key in keys], dtype=np.int64)
        self.scores_, self.evidence_, self.codes_, self.fold_ = scores, evidence, codes, fold
        self.ratio_, self.part_ = weights, part
        self._take_features(fitted)
        return self

    def p_values(self, X: TableLike, ratio: ColumnLike | None = None) -> Float:
        """The share of learned rows that are at least as strange as each row would be with each class: (n, K).

        With ``full`` and ``split`` the p-value of the true class is at most t with probability at most t, and with
        ``randomised`` just t; with ``jackknife+`` and ``cv+`` at most 2 t.

        Parameters
        ----------
        ratio : array of shape (n,), optional
            As in ``fit``, of these rows.

        Returns
        -------
        array of shape (n, K)
            By the order of ``classes_``.
        """
        return self._p_values(X, self._check_settings(), ratio)

    def predict_set(self, X: TableLike, coverage: float | None = None, ratio: ColumnLike | None = None) -> Bool:
        """Whether each class is in the set of each row: (n, K).

        Parameters
        ----------
        coverage : float, optional
            Another one than that of the settings.
        ratio : array of shape (n,), optional
            As in ``fit``, of these rows.

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
        """Prediction, P(class | row) and the set of classes as columns, beside those to ``keep``.

        Parameters
        ----------
        coverage : float, optional
            Another one than that of the settings.
        novelty : bool, default False
            Adds the p-value of each row.
        """
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

    def novelty(self, X: TableLike, ratio: ColumnLike | None = None) -> Float:
        """How usual each row is: a p-value, (n,), small where log p(row) is low beside that of learned rows.

        Of rows like those of ``fit`` at most a share t has a p-value of at most t (2 t with ``jackknife+`` and
        ``cv+``). With ``full`` it is the largest over the classes the row might have.

        Parameters
        ----------
        ratio : array of shape (n,), optional
            As in ``fit``, of these rows.

        Returns
        -------
        array of shape (n,)
            From 1 / (rows + 1), like nothing learned, to 1.
        """
        check_is_fitted(self)
        if self.rows_ is None and self.evidence_ is None:
            raise KindError(
                f"novelty(): {type(self.estimator_).__name__} has no density of rows (log_evidence), so none is "
                f"unusual to it; use a classifier of this library that has one, such as NaiveBayes or FullBayes"
            )
        if self.rows_ is not None:
            self.rows_.model.check_evidence()
        usual: Float = self._p_values(X, Nonconformity("evidence"), ratio).max(axis=1)
        return usual

    def _p_values(self, X: TableLike, how: Nonconformity, ratio: ColumnLike | None) -> Float:
        check_is_fitted(self)
        keys = self._strata_of(X)
        stratum = np.array([self.groups_.get(key, -1) for key in keys], dtype=np.int64)
        own = self._ratio(ratio, len(keys))
        part, share = self._rng(2).uniform(size=(2, len(keys)))
        part, share = part if how.takes_part else np.ones_like(part), share if self.randomised else np.ones_like(share)
        strata = Strata(self.stratum_, self.ratio_, self._by_class)
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
            logs = _evidence(model, X, len(self.classes_)) if how.of_joint else logs_of(model, X, self.classes_)
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
            return [()] * _rows_of(X)
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

    partial_fit: Any = Refused(STALE)
    forget: Any = Refused(STALE)
    renew: Any = Refused(STALE)
    merge: Any = Refused(STALE)
    adapt_prior: Any = Refused(
        "promises coverage of rows like those of fit, which others priors are not; give ratio= for other rows, or "
        "adapt estimator_"
    )
    calibrated: Any = Refused("ranks what estimator_ says; calibrate that first (estimator_.calibrated) and wrap it")

    def bundle(self) -> Bundle:
        numbers = {"scores": self.scores_, "ratio": self.ratio_, "part": self.part_}
        for name, whole in (("codes", self.codes_), ("stratum", self.stratum_), ("fold", self.fold_)):
            numbers[name] = whole.astype(np.float64)
        if self.evidence_ is not None:
            numbers["evidence"] = self.evidence_
        if self.rows_ is not None:
            numbers |= {f"rows {name}": a for name, a in self.rows_.numbers().items()}
        others = () if self.method == "split" else self.fold_models_
        if not all(isinstance(m, BayesClassifier | Wrapper) for m in others):
            raise KindError("save(): Conformal keeps models of another library, which a file does not hold; pickle it")
        notes = {"groups": describe([list(key) for key in self.groups_])}
        settings = non_default_settings(self, "estimator")
        return enclose(type(self).__name__, settings, self.base_, notes, numbers, others)

    @classmethod
    def from_bundle(cls, saved: Bundle) -> Self:
        """Back from a file."""
        (fitted, *others), notes, numbers = disclose_all(saved)
        made = cls(clone(fitted), **saved.settings)
        made._check_settings()
        names = ("codes", "stratum", "fold")
        scores, ratio, part = (numbers[name] for name in ("scores", "ratio", "part"))
        codes, stratum, fold = (numbers[name].astype(np.int64) for name in names)
        groups = {tuple(key): k for k, key in enumerate(build(notes["groups"]))}
        folds = (fitted,) if made.method == "split" else tuple(others)
        same = {a.shape for a in (scores, ratio, part, codes, stratum, fold)} == {(len(scores),)}
        inside = same and (codes >= 0).all() and (codes < len(fitted.classes_)).all() and (ratio >= 0).all()
        if not inside or (stratum < 0).any() or (stratum >= len(groups)).any() or (fold < 0).any():
            raise ModelFileError("its scores are not of rows of its classes")
        made.estimator_, made.rows_, made.fold_models_ = fitted, None, folds
        if made.method in ("full", "jackknife+"):
            spec = fitted.fold_spec() if isinstance(fitted, BayesClassifier) else None
            if spec is None or not isinstance(fitted, BayesClassifier):
                raise ModelFileError("its classifier is none of counts")
            kept = {n.removeprefix("rows "): a for n, a in numbers.items() if n.startswith("rows ")}
            made.rows_ = LearnedRows.restore(spec, fitted.model_, kept)
            if (made.rows_.codes != codes).any():
                raise ModelFileError("its rows are of other classes than its scores")
        elif not folds or (fold >= len(folds)).any():
            raise ModelFileError("its scores are of folds that it has no models of")
        if any(model.classes_.tolist() != fitted.classes_.tolist() for model in folds):
            raise ModelFileError("its models are of other classes")
        made.groups_, made.stratum_, made.scores_, made.codes_ = groups, stratum, scores, codes
        made.evidence_, made.fold_, made.ratio_, made.part_ = numbers.get("evidence"), fold, ratio, part
        made._take_features(fitted)
        return made


def least_p(coverage: float) -> float:
    """The p-value above which a class is in a set.

    >>> least_p(0.9)
    0.1
    """
    if isinstance(coverage, bool) or not isinstance(coverage, int | float | np.floating) or not 0 < coverage < 1:
        raise InputError(f"coverage={coverage!r}: give the share of sets that hold the true class, between 0 and 1")
    return round(1 - float(coverage), 12)


def _score_folds(
    how: Nonconformity,
    folds: tuple[Any, ...],
    sample: LabelledTable,
    fold: Int,
    codes: Int,
    part: Float,
    classes: Array,
) -> tuple[Float, Float | None]:
    """Scores of rows by the model of their fold, and how unlikely they are to it, if it has a density: (n,) each."""
    scores, evidence = np.empty(len(codes)), np.empty(len(codes))
    dense = all(_has_density(model) for model in folds)
    for f, model in enumerate(folds):
        mine = np.flatnonzero(fold == f)
        X = take_rows(sample.features, mine)
        scores[mine] = how(logs_of(model, X, classes), codes[mine], part[mine])
        if dense:
            evidence[mine] = Nonconformity("evidence")(_evidence(model, X, len(classes)), codes[mine])
    return scores, evidence if dense else None


def _has_density(model: Any) -> bool:
    """Whether it tells log p(row)."""
    if not isinstance(model, BayesClassifier):
        return False
    try:
        model.model_.check_evidence()
    except InputError:
        return False
    return True


def _evidence(model: Any, X: TableLike, classes: int) -> Float:
    """log p(row) in the first column, nothing in the others: (n, K)."""
    out = np.full((_rows_of(X), classes), -np.inf)
    out[:, 0] = model.log_evidence(X)
    return out


def _without_values(fitted: Any, X: TableLike) -> Bool:
    """Rows of which nothing is known: (n,)."""
    model = fitted.table_reader() if isinstance(fitted, ReadsTables) else None
    if model is None:
        return np.zeros(_rows_of(X), dtype=bool)
    found = []
    for block in BatchPredictor.of(model, X, type(fitted).__name__).blocks():
        known = (block.codes >= 0).any(axis=0)
        for j in range(len(block.numeric) if not block.schema.coded or not known.all() else 0):
            known |= ~np.isnan(block.numeric.column(j))
        found.append(~known)
    return np.concatenate(found)


def _rows_of(X: TableLike) -> int:
    """How many rows a table in memory has."""
    values = values_of(X)
    rows = len(values) if values is not None else OpenTable.of(X, None, None, None).source.known_rows
    if rows is None:
        raise InputError("rows are ranked in memory; read a file or relation first, or ask predict_frame")
    return rows
