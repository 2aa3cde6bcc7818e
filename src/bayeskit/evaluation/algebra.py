"""Algebra: models of all folds from one pass of counting, and each row predicted by the model of its fold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np

from bayeskit.arrays import Array, ArrayLike, Bool, ColumnLike, Float, Int
from bayeskit.data.block import Block
from bayeskit.data.encode import Roles
from bayeskit.data.schema import Schema
from bayeskit.engines.engine import answering
from bayeskit.errors import InputError, warn
from bayeskit.evaluation.methods import Split
from bayeskit.model.batch_predictor import BatchPredictor
from bayeskit.model.labelled_table import LabelledTable, Rows, take_rows
from bayeskit.model.learn import Spec, learn, learn_rows
from bayeskit.model.model import Model
from bayeskit.model.open_table import OpenTable
from bayeskit.model.row_names import warn_of_identifiers
from bayeskit.numerics.rates import best_class
from bayeskit.statistics.bins import FINEST, Bins
from bayeskit.statistics.statistic import Product, Statistic
from bayeskit.structures.naive import Naive


@dataclass(frozen=True)
class Singles:
    """Leave-one-out takes the row's mass out of its levels, but knows them all: these it must not know."""

    once: tuple[Bool, ...]  # by coded column: (levels,)

    @classmethod
    def of(cls, counts: Iterable[list[Int]], model: Model) -> Singles:
        """From the rows of each level, block by block; a declared level is known without a row."""
        totals = [np.zeros(len(model.counted.domain.levels[name]), dtype=np.int64) for name in model.schema.coded]
        for batch in counts:
            totals = [one + other for one, other in zip(totals, batch, strict=True)]
        levels = ((model.counted.domain.levels[n].keys, set(model.schema[n].declared)) for n in model.schema.coded)
        found = [np.array([key not in declared for key in keys], dtype=bool) for keys, declared in levels]
        return cls(tuple((rows == 1) & undeclared for rows, undeclared in zip(totals, found, strict=True)))

    @staticmethod
    def count(block: Block) -> list[Int]:
        """Rows that count by level, of each coded column of a labelled block."""
        own = block.rows_with_weight()[0]
        batch = (block.codes[j, own] for j in range(len(block.codes)))
        sizes = [len(block.levels[name]) for name in block.schema.coded]
        return [np.bincount(c[c >= 0], minlength=size) for c, size in zip(batch, sizes, strict=True)]

    def without_each(self, model: Model, block: Block) -> tuple[Block, Int]:
        """Learned rows as the model without each would read them, and those that only a refit can judge."""
        alone = np.zeros(block.codes.shape, dtype=bool)
        own = block.rows_with_weight()[0]
        for j, once in enumerate(self.once):
            if once.any():
                codes = block.codes[j, own]
                alone[j, own] = (codes >= 0) & once[codes]
        if not alone.any():
            return block, np.empty(0, dtype=np.int64)
        if model.unseen == "error":
            raise unseen_level(block, *np.argwhere(alone)[0].tolist())
        if not model.density.additive:
            return block, np.flatnonzero(alone.any(axis=0))
        if model.unseen == "missing":  # "smooth" gives what the level has once the row is gone
            block = replace(block, codes=np.where(alone, np.int32(-2), block.codes))
        return block, np.empty(0, dtype=np.int64)


def unseen_level(block: Block, column: int, row: int) -> InputError:
    """The refusal of a level that no other row has."""
    name, code = block.schema.coded[column], int(block.codes[column, row])
    level = repr(block.levels[name].values[code]) if code >= 0 else "a level"
    return InputError(
        f"column {name!r} has {level}, which no row has that the model of others learned; "
        f'evaluate with unseen="missing" or "smooth", or declare the levels'
    )


@dataclass(frozen=True)
class Algebra:
    """A classifier on statistics: what it learned from a fold can be taken out again.

    Classes and grids are those of all rows; whatever used labels is derived anew from the counts of a fold.
    """

    spec: Spec
    sample: LabelledTable

    computed: ClassVar[str] = "algebra"

    @property
    def leave_one_out(self) -> bool:
        """Whether a density can take a row out; not where labels chose something."""
        return self._structure[0].leave_one_out

    @property
    def _structure(self) -> tuple[Naive, Schema]:
        return self.spec.structure(self._table().schema(self.spec.kinds, self.spec.missing, ()))

    @property
    def grids(self) -> tuple[str, ...]:
        """What the models of folds have of all rows."""
        structure, schema = self._structure
        if not any(_bins(Model.statistic(structure, schema)(0))):
            return ()
        return coarse_grids(learn(self.spec, self._table()))

    def out_of_fold(self, split: Split) -> tuple[Float, None]:
        """Log-posteriors of every tested row by the model of its fold, NaN for the others: (n, K); it does what is most
        probable, so that is not said."""
        table, (learned, models) = self._table(split.fold), self.fold_models(split)
        fold = split.fold.astype(np.int16 if split.folds < 1 << 15 else np.int64)  # small numbers sort faster
        out = np.empty((len(fold), len(self.sample.rows.classes)))

        def step(block: Block, start: int) -> None:
            span = slice(start, start + block.rows)
            predict_folds(block, fold[span], models, out[span])

        each_block(table, learned, step)
        return out, None

    def fold_models(self, split: Split) -> tuple[Model, dict[int, Model]]:
        """The model of all rows with its folds apart, and that of each tested fold, which learned the others."""
        learned = learn(self.spec, self._table(split.fold), folds=split.folds)
        vars(self).setdefault("_whole", replace(learned, counted=learned.counted.pool()))  # not to be learned again
        models = {f: replace(learned, counted=learned.counted.train_on(split.training_folds(f))) for f in split.tested}
        warn_lost((model.weights for model in models.values()), self.sample.rows.classes)
        return learned, models

    def left_out(self) -> tuple[Float, None, tuple[str, ...]]:
        """Log-posteriors of every row by the model without it, (n, K), and what that model still has of all rows."""
        table, rows, model = self._table(), self.sample.rows, self._whole
        out, apart = np.empty((len(rows), len(rows.classes))), []

        def count(block: Block, start: int) -> list[Int]:
            return Singles.count(with_labels(block, start, rows))

        singles = Singles.of(each_block(table, model, count) if model.schema.coded else (), model)

        def step(block: Block, start: int) -> None:
            asked, refitted = singles.without_each(model, with_labels(block, start, rows))
            model.posterior(asked, log=True, left_out=True, out=out[start : start + block.rows])
            apart.extend((start + refitted).tolist())

        each_block(table, model, step)
        for row in apart:
            out[row] = self._refit_without(row)
        return out, None, model.density.held

    def learned_best(self) -> Int:
        """The most probable class of every row by the model of all rows, which has learned it too: (n,)."""
        out = np.empty((len(self.sample.rows), len(self.sample.rows.classes)))

        def step(block: Block, start: int) -> None:
            self._whole.posterior(block, out=out[start : start + block.rows])

        if self.sample.rows.unweighted:
            warn_of_identifiers(self._whole)
        each_block(self._table(), self._whole, step)
        return best_class(out)

    @cached_property
    def _whole(self) -> Model:
        """The model of all rows."""
        return learn(self.spec, self._table())

    def _refit_without(self, row: int) -> Float:
        """The log-posterior of a row by a classifier fitted to the others: (K,)."""
        rows = self.sample.rows
        others = np.flatnonzero(rows.counted & (np.arange(len(rows)) != row))
        X, y, weight = self.sample.take(others)
        less = learn_rows(self.spec, X, y, weight, tuple(rows.classes.tolist()))
        asked = BatchPredictor.of(less, take_rows(self.sample.features, np.array([row])), self.spec.name)
        found: Float = asked.log_posterior()[0]
        return found

    def resample(self, draws: Iterable[Float]) -> Iterator[tuple[Float, tuple[Float, None]]]:
        """How often each row was drawn, (n,), and log-posteriors of all rows by the model of those drawn, (n, K)."""
        table, rows = self._table(), self.sample.rows
        learned = learn(self.spec, table)
        blocks = each_block(table, learned, lambda block, start: (block, start))
        for drawn in draws:
            often = replace(rows, weights=rows.weights * drawn)
            statistic = learned.counted.without_counts().statistic
            for block, start in blocks:  # a level only weightless rows have has no code to be counted by
                statistic = statistic.update(
                    with_labels(replace(block, codes=np.maximum(block.codes, -1)), start, often)
                )
            model = replace(learned, counted=replace(learned.counted, statistic=statistic).trim())
            yield (
                drawn,
                (np.concatenate([model.posterior(recode_for(model, block), log=True) for block, _ in blocks]), None),
            )

    def _table(self, fold: ColumnLike | None = None) -> OpenTable:
        return self.sample.open(self.spec.n_jobs, fold)


def coarse_grids(model: Model) -> tuple[str, ...]:
    """The grid of columns with more values than it has cells, in words: that of fewer rows may be finer."""
    names = [
        name
        for bins in _bins(model.counted.statistic)
        for name, exponent in zip(bins.columns, bins.exponent.tolist(), strict=True)
        if exponent > FINEST
    ]
    more = f" and {len(names) - 3} columns more" if len(names) > 3 else ""
    return (f"grid of {', '.join(map(repr, names[:3]))}{more}",) if names else ()


def _bins(statistic: Statistic) -> Iterator[Bins]:
    """The bins among statistics of the same rows."""
    if isinstance(statistic, Bins):
        yield statistic
    elif isinstance(statistic, Product):
        for part in statistic.parts.values():
            yield from _bins(part)


def predict_folds(block: Block, fold: Array, models: Mapping[int, Model], out: Float) -> None:
    """Log-posteriors of the rows of a block, each by the model of its fold, NaN where there is none."""
    order = np.argsort(fold, kind="stable")
    numbers = np.array(sorted(models))
    begin, end = (np.searchsorted(fold[order], numbers, side) for side in ("left", "right"))
    logs, place = np.full_like(out, np.nan), np.empty(len(order), dtype=np.int64)
    for f, one, last in zip(numbers.tolist(), begin.tolist(), end.tolist(), strict=True):
        if one < last:
            members = recode_for(models[f], block.at(order[one:last]))
            models[f].posterior(members, log=True, out=logs[one:last])
    place[order] = np.arange(len(order))
    logs.take(place, axis=0, out=out, mode="clip")  # four times as fast as to write each where it belongs


def recode_for(model: Model, block: Block) -> Block:
    """Rows in the codes of a model that may not have seen all their levels; that may be an error."""
    asked = block.recode(model.counted.domain.levels)
    if model.unseen == "error" and (asked.codes == -2).any():
        raise unseen_level(block, *np.argwhere(asked.codes == -2)[0].tolist())
    return asked


T = TypeVar("T")


def each_block(table: OpenTable, model: Model, step: Callable[[Block, int], T]) -> list[T]:
    """A step over all rows in blocks, given the number of the first."""
    counted = replace(model.counted, roles=Roles(), folds=1)
    rows = table.rows(model.structure.sparse)
    engine = answering(table.engine, len(model.schema.names), len(model.weights))
    return list(engine.map(rows, model.schema.names, lambda batch, start: step(counted.block(batch), start)))


def with_labels(block: Block, start: int, rows: Rows) -> Block:
    """The block with the classes and weights of its rows."""
    span = slice(start, start + block.rows)
    weights = None if rows.unweighted else np.ascontiguousarray(rows.weights[span])
    return replace(block, groups=rows.codes[span].astype(np.int32), weights=weights)


def warn_lost(weights: Iterable[ArrayLike], classes: Array) -> None:
    """Say which class some training set lacks."""
    lost = np.flatnonzero(np.any([np.asarray(w) <= 0 for w in weights], axis=0))
    if len(lost):
        warn(
            f"class {classes.tolist()[lost[0]]!r} has no row in the training set of some fold, which then gives it the "
            f"probability of a class never seen; give fewer or other folds"
        )
