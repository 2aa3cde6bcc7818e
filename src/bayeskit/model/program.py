"""The portable program of a model: its columns as symbols, and what its density makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayeskit.arrays import FRONT
from bayeskit.data.levels import MISSING, PRESENT
from bayeskit.model.model import Model
from bayeskit.portable.program import InputColumn, Member, Program, Unportable
from bayeskit.portable.symbol import Symbol, take, where

View = Sequence[tuple[str, Any]]  # a column of the table, and a number made of it
COLUMNS = 5000  # whose terms a program may have


@dataclass(frozen=True)
class TableInputs:
    """The columns of a table as the model that reads it has them."""

    model: Model
    columns: tuple[InputColumn, ...]
    symbols: Mapping[str, Symbol]

    @classmethod
    def of(cls, model: Model) -> TableInputs:
        levels, found, symbols = model.counted.domain.levels, [], {}
        if len(model.schema.names) > COLUMNS:
            raise Unportable(f"its {len(model.schema.names):,} columns are more than {COLUMNS:,}")
        for j, column in enumerate(model.schema.columns):
            symbols[column.name] = Symbol("number" if column.numeric else "code", j)
            if column.numeric:
                found.append(InputColumn(column.name, True))
            else:
                known = levels[column.name] if column.coded else None
                keys = () if known is None else known.keys
                absent = -1 if known is None else known.index.get(MISSING, -1)
                found.append(InputColumn(column.name, False, keys, absent, model.unseen == "error"))
        return cls(model, tuple(found), symbols)

    def number(self, name: str) -> Any:
        return self.symbols[name]

    def code(self, name: str, model: Model | None = None) -> Any:
        """In the levels of a model, which may be another than the one that reads the table."""
        model = model or self.model
        known, symbol = model.counted.domain.levels[name], self.symbols[name]
        if model.schema[name].numeric:
            codes = [float(known.index.get(key, -2)) for key in (MISSING, PRESENT)]
            absent = codes[0] if codes[0] >= 0 else -1.0
            return where(np.isnan(self.number(name)), absent, codes[1])
        mine = self.model.counted.domain.levels[name]
        if mine.keys == known.keys:
            return symbol
        places = [known.index.get(key, -2) for key in mine.keys]
        return take(np.array([-2, known.index.get(MISSING, -1), *places], dtype=np.float64), symbol + FRONT)

    def member(self, model: Model, name: str, weight: float = 1.0, numbers: View | None = None) -> Member:
        """A model with levels of its own; ``numbers`` stand for its columns where it does not see the table itself."""
        view = None if numbers is None else dict(zip(model.schema.names, numbers, strict=True))
        given = None if view is None else {name: symbol for name, (_, symbol) in view.items()}
        try:
            terms = tuple(model.density.portable(MemberInputs(self, model, given)))
        except Unportable as why:
            raise Unportable(f"{name}: {why}") from why
        if view is None:  # neighbours by themselves are one part of an explanation
            terms = tuple(t if t.columns else replace(t, chain=()) for t in terms)
        else:
            owner = {name: of for name, (of, _) in view.items()}
            owned = [tuple(dict.fromkeys(owner[name] for name in term.columns)) for term in terms]
            chain = [tuple(owner[name] for name in term.chain) for term in terms]
            terms = tuple(replace(t, columns=of, chain=c) for t, of, c in zip(terms, owned, chain, strict=True))
        return Member(name, weight, model.log_base(), terms)


@dataclass(frozen=True)
class MemberInputs:
    """The columns of a table for a model that does not read it itself."""

    table: TableInputs
    model: Model
    given: Mapping[str, Any] | None

    def number(self, name: str) -> Any:
        return self.table.number(name) if self.given is None else self.given[name]

    def code(self, name: str) -> Any:
        return self.table.code(name, self.model)

    def words(self, name: str) -> list[int]:
        """Hashes of the levels of a column, by code."""
        found: list[int] = self.model.counted.domain.levels[name].words.view(np.int64).tolist()
        return found


def program_of(model: Model, name: str) -> Program:
    """Of a single model."""
    inputs = TableInputs.of(model)
    return Program.alone(model.classes.tolist(), inputs.columns, inputs.member(model, name), np.exp(model.log_prior()))
