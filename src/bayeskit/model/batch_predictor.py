"""BatchPredictor: the rows of a table put to a model, block by block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayeskit.arrays import Array, Batch, Float, PriorLike, TableLike
from bayeskit.data.block import Block
from bayeskit.engines.engine import answering
from bayeskit.errors import warn
from bayeskit.memory import check_memory
from bayeskit.model.model import Model
from bayeskit.model.open_table import OpenTable, no_rows

Step = Callable[[Model, Block, Float, Any, int], Any]


@dataclass(frozen=True)
class BatchPredictor:
    """A model and a table that has its columns; an estimator is not needed to answer, nor scikit-learn.

    ``pool`` is who answers where the model only knows the columns: a pool of several models. A table of one ``row``
    that is read already is opened only for questions that need more than its values.
    """

    model: Model
    open: Callable[[], OpenTable]
    pool: Any = None
    row: Block | None = None  # in the codes of the model

    @classmethod
    def of(
        cls, model: Model, X: TableLike, kind: str, keep: Any = (), n_jobs: int | None = None, pool: Any = None
    ) -> BatchPredictor:
        """The table checked against the columns of the fit; it may have others that are to be kept."""

        def opened() -> OpenTable:
            return OpenTable.of(X, None, None, n_jobs, model.counted.types, keep=keep).against(model.schema, kind)

        row = model.row_reader.read(X)
        return cls.over(model, opened(), pool) if row is None else cls(model, opened, pool, row)

    @classmethod
    def over(cls, model: Model, table: OpenTable, pool: object = None) -> BatchPredictor:
        """A table that is open and has the columns of the fit."""
        return cls(model, lambda: table, pool)

    @classmethod
    def of_row(cls, model: Model, row: Block) -> BatchPredictor:
        """One row that is coded, of a table that nobody asks for."""
        return cls(model, _no_table, None, row)

    @cached_property
    def table(self) -> OpenTable:
        """The table, opened."""
        return self.open()

    def rows(
        self, prior: PriorLike, step: Callable[[Model, Block, Float, Float | None], Array], wide: bool = True
    ) -> Array:
        """A step over all rows, collected; a ``wide`` one, (n, K), writes where it belongs if the rows are known."""
        if self.row is not None:
            self._warn(self.model.density.out_of_support(self.row), self.model.density.count_approximations(self.row))
            return step(self.model, self.row, self.model.log_base(prior), None)
        rows, classes = self.known_rows, len(self.model.weights)
        if wide and rows:
            check_memory(
                8 * rows * classes, f"{classes:,} probabilities of {rows:,} rows", "ask about fewer rows at a time"
            )
        whole = np.empty((rows, classes)) if wide and rows else None

        def one(model: Model, block: Block, known: Float, batch: Batch, start: int) -> Array:
            return step(model, block, known, None if whole is None else whole[start : start + block.rows])

        parts = list(self.steps(prior, one, self.model.density.checks_infinite))
        return np.concatenate(parts) if whole is None else whole

    @property
    def known_rows(self) -> int | None:
        """How many rows there are, where that is known before they are read."""
        return 1 if self.row is not None else self.table.source.known_rows

    def log_posterior(self, prior: PriorLike = None) -> Float:
        """log P(class | row), (n, K)."""
        return self.rows(prior, lambda model, block, p, out: model.posterior(block, p, log=True, out=out))

    def blocks(self) -> Iterator[Block]:
        """The rows in the codes of the model."""
        if self.row is not None:
            return iter([self.row])
        return self.steps(None, lambda model, block, *_: block)

    def steps(
        self,
        prior: PriorLike,
        step: Step,
        guarded: Collection[str] = (),
        columns: Sequence[str] | None = None,
        answers: int | None = None,
    ) -> Iterator[Any]:
        """A step over all rows in blocks, so that memory does not grow with them; it makes so many ``answers`` per row,
        by default one for each class.

        At the end one warning about values that no family of their column can have, and one about rows that were
        approximated. The step refuses infinite numbers in the ``guarded`` columns itself.
        """
        model = self.model
        known, names = model.log_base(prior), columns or model.schema.names

        def one(batch: Batch, start: int) -> tuple[Any, dict[str, int], dict[str, int]]:
            block = model.block(batch, guarded)
            found = step(model, block, known, batch, start)
            return found, model.density.out_of_support(block), model.density.count_approximations(block)

        outside: Counter[str] = Counter()
        approximated: Counter[str] = Counter()
        empty = True
        engine = answering(self.table.engine, len(names), answers or len(model.weights))
        for result, strange, estimated in engine.map(self.table.rows(model.structure.sparse), names, one):
            empty = False
            outside.update(strange)
            approximated.update(estimated)
            yield result
        if empty:
            raise no_rows(model.schema, self.table.place)
        self._warn(outside, approximated)

    def _warn(self, outside: Mapping[str, int], approximated: Mapping[str, int]) -> None:
        if outside:
            schema = self.model.described
            found = ", ".join(f"{count} of column {n!r} ({schema[n].family})" for n, count in sorted(outside.items()))
            warn(f"values outside the support of a family were taken as missing: {found}")
        for what, rows in sorted(approximated.items()):
            if rows:
                warn(f"in {rows:,} rows {what}")


def _no_table() -> OpenTable:
    raise AssertionError("coded rows have no table")
