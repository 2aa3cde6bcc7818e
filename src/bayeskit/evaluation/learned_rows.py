"""LearnedRows: rows a model has learned, which it learns one more beside, or forgets one of, to judge a new row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayeskit.arrays import Bool, Float, Int, TableLike
from bayeskit.data.block import Block, Columns
from bayeskit.data.matrix import Sparse
from bayeskit.decision.conformity import Nonconformity, Rank, ScoredRows, rank_among
from bayeskit.errors import KindError, ModelFileError
from bayeskit.evaluation.algebra import Algebra, Singles, each_block, recode_for, with_labels
from bayeskit.model.batch_predictor import BatchPredictor
from bayeskit.model.labelled_table import LabelledTable, take_rows
from bayeskit.model.learn import Spec, learn, learn_like
from bayeskit.model.model import Model
from bayeskit.statistics.content import Content
from bayeskit.statistics.counted import Counted


@dataclass(frozen=True)
class Strata:
    """Among which rows a new one is ranked, and what each weighs."""

    stratum: Int  # (n,)
    weights: Float  # (n,)
    by_class: bool = False

    def scored(self, scores: Float, codes: Int, rows: Int | Bool | slice = slice(None)) -> ScoredRows:
        """Some of the rows, with their scores."""
        return ScoredRows(scores, codes, self.stratum[rows], self.weights[rows], self.by_class)

    def mask(self, stratum: int, code: int, codes: Int) -> Bool:
        """The rows among which one of a stratum is ranked for a class: (n,)."""
        mine: Bool = self.stratum == stratum
        return mine & (codes == code) if self.by_class else mine


@dataclass(frozen=True)
class NewRow:
    """A row to be ranked: of which table, its place there and its codes, its stratum, and how ties fall."""

    table: TableLike
    place: int
    block: Block
    stratum: int
    part: float

    @property
    def alone(self) -> Any:
        """A table of it alone."""
        return take_rows(self.table, np.array([self.place]))


@dataclass(frozen=True)
class LearnedRows:
    """The rows of a model in its codes, each of weight 1, in the order they came."""

    spec: Spec
    model: Model
    blocks: tuple[Block, ...]  # with classes

    @classmethod
    def of(cls, spec: Spec | None, name: str, sample: LabelledTable, method: str) -> LearnedRows:
        """Learn the rows of a table; refused where what is learned is more than counts."""
        way_out = f"use method='cv+', which refits folds, or method='split', instead of {method!r}"
        if spec is None:
            raise KindError(
                f"{name} is no model of counts alone, from which one row could be taken (it fits weights, is made of "
                f"several models, or is of another library); {way_out}"
            )
        if spec.one_pass and not Algebra(spec, sample).leave_one_out:
            raise KindError(
                f"{name} has cuts or families that are chosen by the labels, and would be chosen anew for every row; "
                f"{way_out}"
            )
        model = learn(spec, sample.open(spec.n_jobs))
        if not spec.one_pass and not model.exact.forgetting:
            what = ", ".join(model.exact.held + model.exact.lost)
            raise KindError(
                f"{name} holds what it chose by all rows, and one row less or more would choose anew: {what}; {way_out}"
                f", or fit with exact=True, which chooses anew each time"
            )
        table = sample.open(spec.n_jobs)
        blocks = each_block(table, model, lambda block, start: with_labels(block, start, sample.rows))
        return cls(spec, model, tuple(replace(b, weights=None) for b in blocks))

    @cached_property
    def codes(self) -> Int:
        """Classes of the rows: (n,)."""
        return np.concatenate([b.classes for b in self.blocks]).astype(np.int64)

    @cached_property
    def _level_counts(self) -> list[Int]:
        counts = [Singles.count(block) for block in self.blocks]
        return [np.sum(each, axis=0) for each in zip(*counts, strict=True)]

    def scores(self, how: Nonconformity, part: Float | float = 1.0) -> Float:
        """Of every row by the model without it: (n,)."""
        return how(self._left_out(self.model, self.blocks, self._level_counts, how.of_joint), self.codes, part)

    def rank_full(
        self, X: TableLike, how: Nonconformity, strata: Strata, stratum: Int, part: Float, new_part: Float
    ) -> Rank:
        """Full conformal: new rows are learned with each class in turn, and all rows are judged by the others then."""
        asked = BatchPredictor.of(self.model, X, self.spec.name)
        found: list[list[tuple[float, float, float]]] = []
        for block in asked.blocks():
            for i in range(block.rows):
                row = len(found)
                new = NewRow(X, row, block.at(np.array([i])), int(stratum[row]), float(new_part[row]))
                found.append(self._rank_row(new, how, strata, part))
        return Rank(*np.array(found).transpose(2, 0, 1))

    def _rank_row(
        self, row: NewRow, how: Nonconformity, strata: Strata, part: Float
    ) -> list[tuple[float, float, float]]:
        """The rank of one new row for each class: stranger, as strange, total."""
        found = []
        unseen = bool((row.block.codes == -2).any())
        blocks, counts, single = self.blocks, self._level_counts, row.block
        for code, label in enumerate(self.model.classes.tolist()):
            mine = strata.mask(row.stratum, code, self.codes)
            if not mine.any():  # no row to be ranked among
                found.append((0.0, 0.0, 0.0))
                continue
            if unseen:  # its levels join, as they would in a fit
                whole = self.model.merge(learn_like(self.spec, self.model, row.alone, np.array([label])))
                blocks = tuple(b.recode(whole.counted.domain.levels) for b in self.blocks)
                batch = BatchPredictor.of(whole, row.alone, self.spec.name)
                single = next(iter(batch.blocks()))
                counts = self._counts_in(whole)
            new = replace(single, groups=np.array([code], dtype=np.int32), weights=None)
            if not unseen:
                whole = replace(self.model, counted=self._with(new))
            with_new = [_add_level(n, c) for n, c in zip(counts, new.codes[:, 0].tolist(), strict=True)]
            logs = self._left_out(whole, (*blocks, new), with_new, how.of_joint)
            scores = how(logs[:-1], self.codes, part)
            own = float(how(logs[-1:], code, row.part)[0])
            found.append(rank_among(scores[mine], strata.weights[mine], own))
        return found

    def _with(self, new: Block) -> Counted:
        """What was counted, and a row more whose levels are all known."""
        counted = self.model.counted
        return replace(counted, statistic=counted.statistic.merge(counted.without_counts().statistic.update(new)))

    def _counts_in(self, whole: Model) -> list[Int]:
        """Rows of each level, in the codes of a model that knows more levels."""
        found = []
        for name, counts in zip(self.model.schema.coded, self._level_counts, strict=True):
            old, new = self.model.counted.domain.levels[name], whole.counted.domain.levels[name]
            wide = np.zeros(len(new), dtype=np.int64)
            wide[old.codes_in(new)] = counts
            found.append(wide)
        return found

    def _left_out(self, model: Model, blocks: Sequence[Block], counts: list[Int], joint: bool) -> Float:
        """log P(c | x), or log P(c, x), of rows that a model has learned, by the model without each: (n, K)."""
        if not model.structure.leave_one_out:
            return self._forgotten(model, blocks, joint)
        singles = Singles.of([counts] if model.schema.coded else (), model)
        parts = []
        for block in blocks:
            asked, apart = singles.without_each(model, block)
            logs = model.joint(asked, left_out=True) if joint else model.posterior(asked, log=True, left_out=True)
            for i in apart.tolist():
                logs[i] = self._without(model, block.at(np.array([i])), joint)
            parts.append(logs)
        return np.concatenate(parts)

    def _forgotten(self, model: Model, blocks: Sequence[Block], joint: bool) -> Float:
        """The same where no density can take a row out: the model forgets it; once for all rows that are equal."""
        words = np.concatenate([Content().words(block) for block in blocks], axis=1)
        groups = np.concatenate([b.classes for b in blocks]).astype(np.uint64)
        _, first, which = np.unique(np.vstack([words, groups]), axis=1, return_index=True, return_inverse=True)
        begin = np.cumsum([0, *(block.rows for block in blocks)])
        of = np.searchsorted(begin, first, side="right") - 1
        logs = [
            self._without(model, blocks[b].at(np.array([row - begin[b]])), joint)
            for b, row in zip(of.tolist(), first.tolist(), strict=True)
        ]
        return np.array(logs)[which.ravel()]

    def _without(self, model: Model, row: Block, joint: bool) -> Float:
        """What a model says of one of its rows once it has forgotten it: (K,)."""
        found: Float = _ask(self.forget(model, row), replace(row, groups=None), joint)[0]
        return found

    def forget(self, model: Model, row: Block) -> Model:
        """A model without one of its rows."""
        statistic = model.counted.without_counts().statistic.update(row)
        left = replace(model.counted, statistic=model.counted.statistic.subtract(statistic))
        return replace(model, counted=left.trim())

    def rank_jackknife(
        self, X: TableLike, how: Nonconformity, strata: Strata, stratum: Int, part: Float, new_part: Float
    ) -> Rank:
        """Jackknife+: each learned row against the new rows, both by the model without that row."""
        asked = list(BatchPredictor.of(self.model, X, self.spec.name).blocks())
        own, place = self.scores(how, part), 0
        whole: Rank | None = None
        for block in self.blocks:
            for i in range(block.rows):
                less = self.forget(self.model, block.at(np.array([i])))
                logs = np.concatenate([_ask(less, b, how.of_joint) for b in asked])
                scored = strata.scored(own[place : place + 1], self.codes[place : place + 1], slice(place, place + 1))
                ranked = scored.rank(how.of_classes(logs, new_part), stratum)
                whole = ranked if whole is None else whole + ranked
                place += 1
        assert whole is not None
        return whole

    def numbers(self) -> dict[str, Float]:
        """The rows as arrays of numbers, all finite, for a file."""
        found: dict[str, Float] = {"class": self.codes.astype(np.float64)}
        found["codes"] = np.concatenate([b.codes for b in self.blocks], axis=1).astype(np.float64)
        if isinstance(self.blocks[0].numeric.arrays, Sparse):
            raise KindError(
                "save(): Conformal keeps its rows for this method, and rows of a sparse matrix have no place in a "
                "file; use method='cv+' or 'split'"
            )
        values = np.concatenate([b.numeric.matrix() for b in self.blocks])
        missing = np.isnan(values)
        return found | {"values": np.where(missing, 0.0, values), "missing": missing.astype(np.float64)}

    @classmethod
    def restore(cls, spec: Spec, model: Model, numbers: Mapping[str, Float]) -> LearnedRows:
        """Back from a file, for the model that has learned them."""
        schema, levels = model.schema, model.counted.domain.levels
        codes, values = numbers["codes"].astype(np.int32), numbers["values"]
        groups = numbers["class"].astype(np.int32)
        rows, sizes = len(groups), np.array([len(levels[name]) for name in schema.coded], dtype=np.int64)
        fits = codes.shape == (len(schema.coded), rows) and values.shape == (rows, len(schema.numeric))
        if not fits or numbers["missing"].shape != values.shape or groups.ndim != 1:
            raise ModelFileError("its rows are not of the columns of its model")
        if (
            (codes < -1).any()
            or (codes >= sizes[:, None]).any()
            or ((groups < 0) | (groups >= len(model.weights))).any()
        ):
            raise ModelFileError("its rows have levels or classes that its model lacks")
        numeric = Columns(np.where(numbers["missing"] > 0, np.nan, values), rows)
        block = Block(schema, numeric, np.ascontiguousarray(codes), groups, None, levels)
        made = cls(spec, model, (block,))
        statistic = model.counted.without_counts().statistic.update(block)
        if replace(model, counted=replace(model.counted, statistic=statistic), weighting=None).digest != model.digest:
            raise ModelFileError("its rows are not those its model has learned")
        return made


def _ask(model: Model, block: Block, joint: bool) -> Float:
    """log P(c | x), or log P(c, x), of new rows: (n, K)."""
    asked = recode_for(model, block)
    return model.joint(asked) if joint else model.posterior(asked, log=True)


def _add_level(counts: Int, code: int) -> Int:
    if code < 0:
        return counts
    more = counts.copy()
    more[code] += 1
    return more
