"""Conformal: sets of classes that hold the true one as often as they promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bayeskit.arrays import Array, Classifier, ColumnLike, Float, Int, LabelsLike, Seed, TableLike, WeightsLike
from bayeskit.decision.conformity import Nonconformity
from bayeskit.errors import InputError, KindError, ModelFileError
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.conformal_sets import ConformalSets, evidence_of, has_density
from bayeskit.estimators.docstrings import document
from bayeskit.estimators.fold_models import fit_folds, fit_to, labelled_rows, split_rows
from bayeskit.estimators.learner import non_default_settings
from bayeskit.estimators.revive import disclose_all, enclose
from bayeskit.estimators.wrapper import Refused, Wrapper
from bayeskit.evaluation.learned_rows import LearnedRows
from bayeskit.evaluation.methods import Holdout
from bayeskit.evaluation.protocols import SupportsSpec
from bayeskit.evaluation.refit import logs_of
from bayeskit.model.codec import build, describe
from bayeskit.model.labelled_table import LabelledTable, take_rows
from bayeskit.storage.model_file import Bundle

STALE = "promises what it does of the very rows of fit, and of no others; fit it anew with all rows"


@dataclass(frozen=True)
class JudgedRows:
    """Rows whose class is known, and the models of folds that have not learned them."""

    sample: LabelledTable
    ratio: Float  # (n,)
    models: tuple[Any, ...]  # none where leaving one out is algebra
    fold: Int  # (n,) which of these judges the row

    @classmethod
    def undivided(cls, sample: LabelledTable, ratio: Float, models: tuple[Any, ...] = ()) -> JudgedRows:
        """All rows in one fold."""
        return cls(sample, ratio, models, np.zeros(len(sample.rows), dtype=np.int64))

    def codes(self, classes: Array) -> Int:
        """Their classes, in the order of a classifier: (n,)."""
        place = {label: k for k, label in enumerate(classes.tolist())}
        rows = self.sample.rows
        return np.array([place[label] for label in rows.classes.tolist()], dtype=np.int64)[rows.codes]

    def scores(self, how: Nonconformity, classes: Array, part: Float) -> tuple[Float, Float | None]:
        """By the model of their fold, and how unlikely they are to it, if it has a density: (n,) each."""
        codes = self.codes(classes)
        scores, evidence = np.empty(len(codes)), np.empty(len(codes))
        dense = all(has_density(model) for model in self.models)
        for f, model in enumerate(self.models):
            mine = np.flatnonzero(self.fold == f)
            X = take_rows(self.sample.features, mine)
            scores[mine] = how(logs_of(model, X, classes), codes[mine], part[mine])
            if dense:
                evidence[mine] = Nonconformity("evidence")(evidence_of(model, X, len(classes)), codes[mine])
        return scores, evidence if dense else None


@document()
@dataclass(eq=False, repr=False)
class Conformal(ConformalSets):
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
        The classifier; a copy is fitted. ``full`` and ``jackknife+`` take classifiers of this library that are counts:
        those without cuts, families and weights chosen by labels; of those with arcs, where these are given or follow
        from the counts (``exact_``). ``cv+`` and ``split`` take any with ``predict_proba``.
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

    estimator: Classifier
    coverage: float = 0.9
    method: str = "full"
    _: KW_ONLY
    conformity_score: str = "lac"
    by: str | Sequence[str] | None = None
    folds: object = 10
    calibration_size: float = 1 / 3
    randomised: bool = False
    penalty: float = 0.01
    rank: int = 1
    random_state: Seed = 0

    def fit(
        self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike = None, ratio: ColumnLike | None = None
    ) -> Self:
        """Fit the classifier, and score rows by models that have not learned them.

        Parameters
        ----------
        sample_weight : array of shape (n,), optional
            How often each row came, whole numbers: a row of weight 3 is three rows.
        ratio : array of shape (n,), optional
            How much more frequent a row like each is among those to be asked about than among these: the ratio of the
            densities, up to a factor. The promise then holds of these others (Tibshirani and others 2019).
        """
        how = self._check_settings()
        given, known, sample = labelled_rows(X, y, sample_weight)
        weights = self._ratio(ratio, len(given.rows))[known]
        if self.method in ("full", "jackknife+"):
            spec = self.estimator.count_spec() if isinstance(self.estimator, SupportsSpec) else None
            rows = LearnedRows.of(spec, type(self.estimator).__name__, sample, self.method)
            fitted = fit_to(self.estimator, given, known)
            rows = replace(rows, model=fitted.model_)
            return self._adopt(how, fitted, JudgedRows.undivided(sample, weights), rows)
        if self.method == "cv+":
            split = split_rows(self.folds, sample, self._rng(0))
            fitted = fit_to(self.estimator, given, known)
            models = fit_folds(self.estimator, sample, split)
            return self._adopt(how, fitted, JudgedRows(sample, weights, models, split.fold))
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
        return self._adopt(how, fitted, JudgedRows.undivided(sample, weights, (fitted,)))

    def _adopt(self, how: Nonconformity, fitted: Any, judged: JudgedRows, rows: LearnedRows | None = None) -> Self:
        """Take a fitted classifier, and what its rows are ranked by."""
        keys = self._strata_of(judged.sample.features)
        index = {key: k for k, key in enumerate(dict.fromkeys(keys))}
        part = self._rng(1).uniform(size=len(keys)) if how.takes_part else np.ones(len(keys))
        codes = judged.codes(fitted.classes_)
        if rows is not None:
            self.scores_, self.evidence_ = rows.scores(how, part), None
        else:
            self.scores_, self.evidence_ = judged.scores(how, fitted.classes_, part)
        self.estimator_, self.rows_, self.fold_models_ = fitted, rows, judged.models
        self.groups_, self.stratum_ = index, np.array([index[key] for key in keys], dtype=np.int64)
        self.codes_, self.fold_, self.ratio_, self.part_ = codes, judged.fold, judged.ratio, part
        self._take_features(fitted)
        return self

    partial_fit: ClassVar[Any] = Refused(STALE)
    forget: ClassVar[Any] = Refused(STALE)
    renew: ClassVar[Any] = Refused(STALE)
    merge: ClassVar[Any] = Refused(STALE)
    adapt_prior: ClassVar[Any] = Refused(
        "promises coverage of rows like those of fit, which others priors are not; give ratio= for other rows, or "
        "adapt estimator_"
    )
    calibrated: ClassVar[Any] = Refused(
        "ranks what estimator_ says; calibrate that first (estimator_.calibrated) and wrap it"
    )

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
            spec = fitted.count_spec() if isinstance(fitted, BayesClassifier) else None
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
