"""Methods: how rows are divided so that each is predicted by a model that never saw it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from bayeskit.arrays import Array, Bool, Float, Int
from bayeskit.errors import InputError, warn
from bayeskit.model.labelled_table import Rows


@dataclass(frozen=True)
class Split:
    """One division of the rows: each tested fold is predicted by all others but the idle one."""

    fold: Int  # (n,)
    folds: int
    tested: tuple[int, ...]
    idle: int = -1

    def training(self, fold: int) -> Bool:
        """The rows to learn from: (n,)."""
        kept: Bool = (self.fold != fold) & (self.fold != self.idle)
        return kept

    @property
    def ratios(self) -> list[float]:
        """Rows tested to rows learned from, of each tested fold."""
        sizes = np.bincount(self.fold, minlength=self.folds)
        return [float(sizes[f] / sizes[self.training_folds(f)].sum()) for f in self.tested]

    def training_folds(self, fold: int) -> Bool:
        """The folds to learn from: (folds,)."""
        every = np.arange(self.folds)
        kept: Bool = (every != fold) & (every != self.idle)
        return kept


@dataclass(frozen=True)
class Holdout:
    """A share of the rows is kept back, the model learns from the others; repeated and averaged on request.

    Parameters
    ----------
    test_size : float, default 1/3
        The share that is kept back.
    repeats : int, default 1
        How often.
    stratified : bool, default True
        Keep nearly the same share of each class.
    """

    test_size: float = 1 / 3
    repeats: int = 1
    stratified: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.test_size < 1:
            raise InputError(f"test_size={self.test_size!r}: give the share of rows to test on, between 0 and 1")
        _at_least(1, repeats=self.repeats)

    def __str__(self) -> str:
        return _times(f"holdout of {self.test_size:.3g}", self.repeats)

    def splits(self, rows: Rows, rng: np.random.Generator) -> Iterator[Split]:
        for _ in range(self.repeats):
            test = np.ones(len(rows), dtype=np.int64)
            if rows.groups is not None:
                test[self._whole_groups(rows, rows.groups, rng)] = 0
            else:
                for members, share in self._shares(rows):
                    test[rng.permutation(members)[:share]] = 0
            yield Split(test, 2, (0,))

    def _shares(self, rows: Rows) -> Iterator[tuple[Int, int]]:
        """Rows drawn from together, and how many are tested; a class of two rows or more stays in training."""
        counted = np.flatnonzero(rows.counted)
        total = round(self.test_size * len(counted))
        if not 0 < total < len(counted):
            raise InputError(
                f"test_size={self.test_size:g} of {len(counted)} rows leaves none to test on, or none to learn from"
            )
        others = np.flatnonzero(~rows.counted), round(self.test_size * (len(rows) - len(counted)))
        if not self.stratified:
            yield counted, total
            yield others
            return
        sizes = np.bincount(rows.codes[counted], minlength=len(rows.classes))
        exact = sizes * (total / len(counted))
        share = np.minimum(np.floor(exact).astype(np.int64), np.maximum(sizes - 1, 0))
        for c in np.argsort(share - exact, kind="stable")[: max(total - int(share.sum()), 0)]:
            share[c] += share[c] + 1 < sizes[c]  # the largest remainders first
        if not share.any():
            raise InputError(
                f"no row is left to test on: {self} leaves a row of every class to learn from, and no class has a "
                f"second one; give more rows, stratified=False, or LeaveOneOut() as the method"
            )
        for c in range(len(sizes)):
            yield counted[rows.codes[counted] == c], int(share[c])
        yield others  # last: rows that do not count move no other

    def _whole_groups(self, rows: Rows, groups: Int, rng: np.random.Generator) -> Bool:
        sizes = np.bincount(groups)
        if len(sizes) < 2:
            raise InputError("all rows are of one group, which cannot be both learned from and tested on")
        order = rng.permutation(len(sizes))
        passed = np.cumsum(sizes[order])
        taken = order[: max(1, int(np.searchsorted(passed, self.test_size * len(rows), side="right")))]
        chosen: Bool = np.isin(groups, taken[: len(sizes) - 1])
        return chosen


@dataclass(frozen=True)
class CrossValidation:
    """Every fold is predicted by the model of the others.

    Parameters
    ----------
    folds : int, array of shape (n,) or splitter, default 10
        Their number, the fold number of each row, or a scikit-learn splitter.
    stratified : bool, default True
        Folds have nearly the same number of rows of each class.
    repeats : int, default 1
        How often, with other folds each time.
    """

    folds: Any = 10
    stratified: bool = True
    repeats: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.folds, Integral):
            _at_least(2, folds=self.folds)
        _at_least(1, repeats=self.repeats)
        if self.repeats > 1 and not isinstance(self.folds, Integral):
            raise InputError("repeats needs a number of folds; folds that are given can only be used once")

    def __str__(self) -> str:
        if isinstance(self.folds, Integral):
            return _times(f"{self.folds}-fold cross-validation", self.repeats)
        how = repr(self.folds).split("(")[0] if isinstance(self.folds, Splitter) else "given folds"
        return f"cross-validation by {how}"

    def splits(self, rows: Rows, rng: np.random.Generator) -> Iterator[Split]:
        if isinstance(self.folds, Splitter):
            yield from _of_splitter(self.folds, rows)
        elif isinstance(self.folds, Integral):
            self._check(rows, int(self.folds))
            for _ in range(self.repeats):
                yield Split(self._deal(rows, int(self.folds), rng), int(self.folds), tuple(range(int(self.folds))))
        else:
            yield _of_numbers(self.folds, rows)

    def _check(self, rows: Rows, folds: int) -> None:
        units, what = (int(rows.counted.sum()), "rows") if rows.groups is None else (_distinct(rows.groups), "groups")
        if units < folds:
            raise InputError(f"{folds} folds need at least as many {what}, there are {units}; give fewer folds")
        sizes = np.bincount(rows.codes[rows.counted], minlength=len(rows.classes))
        if self.stratified and (sizes < folds).any():
            c = int(np.argmin(sizes))
            label = rows.classes.tolist()[c]
            warn(f"class {label!r} has {sizes[c]} rows, fewer than the {folds} folds: not every fold tests it")

    def _deal(self, rows: Rows, folds: int, rng: np.random.Generator) -> Int:
        if rows.groups is not None:
            return _deal_groups(rows, rows.groups, folds, self.stratified, rng)
        fold = np.empty(len(rows), dtype=np.int64)
        stratum = np.where(rows.counted, rows.codes if self.stratified else 0, len(rows.classes))
        place = 0  # folds go on from class to class, so that they differ by one row at most
        for c in range(len(rows.classes) + 1):  # rows that do not count come last: they move no other
            members = rng.permutation(np.flatnonzero(stratum == c))
            fold[members] = np.resize((place + np.arange(folds)) % folds, len(members))
            place += len(members)
        return fold


@dataclass(frozen=True)
class LeaveOneOut:
    """Every row is predicted by the model of all others.

    By algebra where a model allows it; ``Evaluation.held`` then says what is that of all rows (grids, bandwidths, the
    target of shrinkage); what saw labels flatters small classes a little.

    Parameters
    ----------
    exact : bool, default False
        Refit the model without each row, and hold nothing.
    """

    exact: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.exact, bool):
            raise InputError(f"exact={self.exact!r}: give True to refit without each row, or False")

    def __str__(self) -> str:
        return "exact leave-one-out" if self.exact else "leave-one-out"


@dataclass(frozen=True)
class AsFitted:
    """The rows are new to a model that is fitted already: it is judged as it is, and learns nothing."""

    def __str__(self) -> str:
        return "as fitted, on new rows"


@dataclass(frozen=True)
class Bootstrap632:
    """Models learn from rows drawn with replacement, and are tested on the rows not drawn.

    A score is 0.632 new + 0.368 apparent: new is the mean over rows of their score by the models that have not drawn
    them, apparent that of the model of all rows on the same rows.

    Parameters
    ----------
    repeats : int, default 200
        How often rows are drawn.
    plus : bool, default False
        The new score weighs more, the more the model overfits (Efron and Tibshirani, JASA 92, 1997).
    """

    repeats: int = 200
    plus: bool = False

    def __post_init__(self) -> None:
        _at_least(1, repeats=self.repeats)

    def __str__(self) -> str:
        return _times(f".632{'+' if self.plus else ''} bootstrap", self.repeats)

    def draws(self, rows: Rows, rng: np.random.Generator) -> Iterator[Float]:
        """How often each row was drawn: (n,); groups are drawn whole."""
        units = np.flatnonzero(rows.counted) if rows.groups is None else np.unique(rows.groups[rows.counted])
        if len(units) < 2:
            raise InputError("a bootstrap needs at least two rows, or groups, to draw from")
        for _ in range(self.repeats):
            times = np.bincount(rng.choice(units, len(units)), minlength=int(units.max()) + 1).astype(np.float64)
            drawn = np.zeros(len(rows))
            which = units if rows.groups is None else np.flatnonzero(rows.counted)
            drawn[which] = times[which if rows.groups is None else rows.groups[which]]
            yield drawn


@runtime_checkable
class Splitter(Protocol):
    """What scikit-learn's splitters do."""

    def split(self, X: object, y: object = None, groups: object = None) -> Iterator[tuple[Int, Int]]:
        """Pairs of training and test rows."""


Method: TypeAlias = CrossValidation | Holdout | LeaveOneOut | Bootstrap632 | AsFitted
MethodLike: TypeAlias = Method | int | Sequence[int] | Array | Splitter | None


def method_of(given: MethodLike) -> Method:
    """A method, from itself or from what ``CrossValidation`` takes: a number of folds, folds or a splitter.

    >>> print(method_of(5))
    5-fold cross-validation
    """
    if given is None:
        return CrossValidation()
    if isinstance(given, Method):
        return given
    folds = isinstance(given, Integral | list | tuple | np.ndarray) and not isinstance(given, bool)
    if isinstance(given, type) or not (folds or isinstance(given, Splitter)) or isinstance(given, str):
        known = "CrossValidation(), Holdout(), LeaveOneOut(), Bootstrap632(), AsFitted()"
        raise InputError(f"method={given!r}: choose one of {known}, a number of folds or a scikit-learn splitter")
    return CrossValidation(int(given) if isinstance(given, Integral) else given)


def _times(what: str, repeats: int) -> str:
    return what if repeats == 1 else f"{what}, {repeats} times"


def _at_least(least: int, **given: object) -> None:
    for name, number in given.items():
        if isinstance(number, bool) or not isinstance(number, Integral) or number < least:
            raise InputError(f"{name}={number!r}: give a whole number of at least {least}")


def _distinct(values: Int) -> int:
    return len(np.unique(values))


def _of_numbers(given: object, rows: Rows) -> Split:
    """Folds as the user numbers them, by any numbers or texts."""
    numbers = np.asarray(given)
    if numbers.ndim != 1 or len(numbers) != len(rows):
        raise InputError(f"folds has shape {numbers.shape}; give their number, or the fold of each of {len(rows)} rows")
    if numbers.dtype.kind == "f" and np.isnan(numbers).any():
        raise InputError(f"folds has no number for row {int(np.flatnonzero(np.isnan(numbers))[0])}")
    names, fold = np.unique(numbers, return_inverse=True)
    if len(names) < 2:
        raise InputError("folds puts all rows into one fold; there must be at least two")
    return Split(fold.astype(np.int64), len(names), tuple(range(len(names))))


def _of_splitter(splitter: Splitter, rows: Rows) -> Iterator[Split]:
    """The divisions of a scikit-learn splitter; those that make up one partition come as one."""
    y = rows.classes[np.maximum(rows.codes, 0)]
    n = len(rows)
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(np.zeros((n, 1)), y, rows.groups)]
    fold = np.full(n, -1, dtype=np.int64)
    for number, (train, test) in enumerate(pairs):
        often = np.bincount(train, minlength=n)
        if not len(train) or not len(test) or often.max() > 1 or often[test].any():
            raise InputError(f"split {number} of {splitter!r} is empty, draws a row twice, or tests on training rows")
        fold[test] = number
    complete = sum(len(test) for _, test in pairs) == n and (fold >= 0).all()
    if complete and all(len(train) + len(test) == n for train, test in pairs):
        yield Split(fold, len(pairs), tuple(range(len(pairs))))
        return
    for train, test in pairs:
        part = np.full(n, 2, dtype=np.int64)
        part[train], part[test] = 1, 0
        yield Split(part, 3, (0,), idle=2)


def _deal_groups(rows: Rows, groups: Int, folds: int, stratified: bool, rng: np.random.Generator) -> Int:
    """Whole groups, largest first, each to the fold that then is most like its fair share of every class."""
    strata = np.where(rows.counted, rows.codes if stratified else 0, -1)
    table = np.zeros((int(groups.max()) + 1, len(rows.classes)))
    np.add.at(table, (groups[strata >= 0], strata[strata >= 0]), 1.0)
    fair = table.sum(axis=0) / folds
    scale = np.maximum(fair, 1e-12)
    filled, place = np.zeros((folds, table.shape[1])), np.zeros(len(table), dtype=np.int64)
    for group in sorted(rng.permutation(len(table)).tolist(), key=lambda g: -table[g].sum()):
        grown = ((filled + table[group]) / scale) ** 2 - (filled / scale) ** 2
        place[group] = int(np.argmin(grown.sum(axis=1)))
        filled[place[group]] += table[group]
    return place[groups]
