"""Cutting: how the numbers of a network become intervals, from the word of a user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

from bayeskit.arrays import KindsLike, TableLike, WeightsLike
from bayeskit.data.kinds import by_name
from bayeskit.data.schema import Schema
from bayeskit.errors import InputError, SchemaError
from bayeskit.estimators.binned import bins_of
from bayeskit.model.open_table import OpenTable, check_rows
from bayeskit.numerics.cut_points import CutPoints, ascending
from bayeskit.statistics.counted import Counted

FREQUENCY, MDLP = "frequency", "mdlp"
MOST = 1000  # intervals of a node


@dataclass(frozen=True)
class Cutting:
    """Which number columns are cut and how: "frequency", "mdlp", so many intervals, or the cuts, for all or by column.

    "mdlp" cuts where the shares of a ``label`` change, which is a column of levels: a network has no class of its own,
    so that it must be named.
    """

    cuts: Any
    label: str | None = None

    def learn(
        self, X: TableLike, kinds: KindsLike, weight: WeightsLike, n_jobs: int | None, known: Iterable[str] = ()
    ) -> dict[str, tuple[float, ...]]:
        """The cuts of the columns of numbers that are to be cut, ``known`` levels left out: one pass over the rows."""
        if self.cuts is None:
            if self.label is not None:
                raise InputError(f'label={self.label!r} is for cuts="mdlp" alone; leave it out')
            return {}
        table = OpenTable.of(X, None, weight, n_jobs)
        schema = table.schema(kinds, "skip", ())
        asked = self._by_column(schema, set(known))
        given = {name: ascending(how, f"cuts[{name!r}] = {how!r}") for name, how in asked.items() if _listed(how)}
        found = dict(given)
        for by_class in (False, True):
            names = [n for n, how in asked.items() if n not in given and (how == MDLP) == by_class]
            if names:
                bins = self._count(X, schema, names, weight, n_jobs, by_class)
                for j, name in enumerate(names):
                    cells = int(asked[name]) if isinstance(asked[name], Integral) else None
                    found[name] = CutPoints(bins.column(j)).to_hold(by_class, cells)
        return {name: found[name] for name in asked}

    def _by_column(self, schema: Schema, known: set[str]) -> dict[str, Any]:
        numbers = [name for name in schema.numeric if name not in known]
        if not isinstance(self.cuts, Mapping):
            asked = dict.fromkeys(numbers, self.cuts)
            _check(self.cuts, "cuts")
        else:
            asked = by_name(self.cuts, schema.names, True, "cuts")
        for name, how in asked.items():
            if name not in numbers:
                raise SchemaError(
                    f"cuts names column {name!r}, which is {schema[name].kind} ({schema[name].why}) and has no numbers "
                    f"to cut; leave it out"
                )
            _check(how, f"cuts[{name!r}]")
        if MDLP in [how for how in asked.values() if isinstance(how, str)]:
            if self.label is None:
                raise InputError(
                    'cuts="mdlp" cuts where the shares of a label change, and a network has none: name a column of '
                    'levels (label="diagnosis"), or take cuts="frequency"'
                )
            if self.label not in schema or schema[self.label].numeric:
                raise InputError(f"label={self.label!r} is no column of levels; name one")
        elif self.label is not None:
            raise InputError(f'label={self.label!r} is for cuts="mdlp" alone; leave it out')
        return asked

    def _count(
        self, X: TableLike, schema: Schema, names: list[str], weight: WeightsLike, n_jobs: int | None, by_class: bool
    ) -> Any:
        """The bins of some columns, by label where they are to be cut by it."""
        table = OpenTable.of(X, self.label if by_class else None, weight, n_jobs)
        chosen = replace(schema, columns=tuple(schema[name] for name in names))
        empty = Counted.empty(chosen, bins_of(chosen), table.source.roles)
        counted = table.engine.reduce(table.rows(False), [*names, *table.source.roles.names], empty)
        check_rows(counted, table.place)
        return counted.canonical().statistic["bins"]


def _listed(how: object) -> bool:
    return not isinstance(how, str | Integral)


def _check(how: object, where: str) -> None:
    """Refuse what is neither a rule, nor a number of intervals, nor a list of cuts."""
    if isinstance(how, str) and how in (FREQUENCY, MDLP):
        return
    if isinstance(how, Integral) and not isinstance(how, bool) and 2 <= int(how) <= MOST:
        return
    if isinstance(how, str | bool | Integral) or not isinstance(how, Iterable):
        raise InputError(
            f'{where}={how!r}: choose "{FREQUENCY}", "{MDLP}", a number of intervals from 2 to {MOST}, or list the cuts'
        )
