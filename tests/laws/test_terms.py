"""The laws of a density's terms: they add up, masking finds the same ones, holes add nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from bayeskit.data.block import Block
from bayeskit.data.encode import Roles
from bayeskit.densities.density import reveal_terms
from bayeskit.densities.likelihood import Context
from bayeskit.families import families
from bayeskit.statistics.counted import Counted
from bayeskit.statistics.statistic import Product
from bayeskit.structures.full import Full
from bayeskit.structures.naive import Naive

from .tables import DOMAIN, SCHEMA, columns_of, drop, random_batch
from .test_families import variants

CLASSES = len(DOMAIN.classes)


def ordinary(seed: int, rows: int) -> pa.RecordBatch:
    """A table without extreme numbers."""
    rng = np.random.default_rng(seed)
    labels = pa.array(rng.choice(list("abc"), rows))
    batch = drop(random_batch(seed, rows), "class").append_column("class", labels)
    for j, name in enumerate(("x", "y")):
        values = np.where(rng.random(rows) < 0.1, np.nan, rng.normal(5, 2, rows))
        batch = batch.set_column(j, name, pa.array(values, from_pandas=True))
    return batch


TABLES = {"ordinary": ordinary(1, 300), "extreme": random_batch(2, 300)}


LEARNED: dict[Any, tuple[Any, Block]] = {}


def learned(likelihood: Any, columns: Any, table: pa.RecordBatch) -> tuple[Any, Block]:
    """The density of a likelihood fitted to a table, and the table in its codes; few rows where terms take long."""
    if (key := (repr(likelihood), id(table))) not in LEARNED:
        few = table.slice(0, 60) if isinstance(likelihood, Full) else table
        LEARNED[key] = _learned(likelihood, columns, few)
    return LEARNED[key]


def _learned(likelihood: Any, columns: Any, table: pa.RecordBatch) -> tuple[Any, Block]:
    def counts(groups: int) -> Product:
        return Product({"f": likelihood.statistic(columns, groups)}, groups)

    empty = Counted.empty(SCHEMA, counts, Roles("class"))
    counted = empty.update(table).canonical()
    context = Context(np.ones(len(counted.domain.classes)))
    return likelihood.fit(counted.statistic["f"], context), counted.block(table)


def everything() -> Naive:
    """All columns, each with a family that takes it, in one structure."""
    taken = {c.name: [next(f() for f in families().values() if c in columns_of(f))] for c in SCHEMA.columns}
    return Naive.of(taken, SCHEMA)


SUBJECTS = {
    **{str(f): (f, columns_of(f)) for f in variants()},
    "naive": (everything(), SCHEMA.columns),
    "full": (Full(), SCHEMA.columns),
    "full spherical": (Full("spherical"), SCHEMA.columns),
}
every_density = pytest.mark.parametrize("subject", SUBJECTS.values(), ids=list(SUBJECTS))
on_tables = pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))


def added(density: Any, rows: Block) -> np.ndarray:
    out = np.zeros((rows.rows, CLASSES))
    density.add(rows, out)
    return out


@every_density
@on_tables
def test_the_terms_add_up(subject: Any, table: pa.RecordBatch) -> None:
    density, rows = learned(*subject, table)
    terms, whole = density.terms(rows), added(density, rows)
    assert terms.shape == (rows.rows, len(density.columns), CLASSES)
    assert not np.isnan(terms).any()
    total, size = terms.sum(axis=1), np.abs(terms).sum(axis=1)
    finite = np.isfinite(size)
    assert (np.abs(whole[finite] - total[finite]) <= 1e-12 * size[finite]).all()
    assert np.isneginf(whole[~finite]).all()


@every_density
def test_masking_finds_the_same_terms(subject: Any) -> None:
    density, rows = learned(*subject, TABLES["ordinary"])
    terms, masked = density.terms(rows), reveal_terms(density, rows, CLASSES)
    position = [SCHEMA.names.index(part) for part in density.columns]
    others = [j for j in range(len(SCHEMA.names)) if j not in position]
    size = np.abs(masked).sum(axis=1, keepdims=True)
    known = np.isfinite(masked).all(axis=1, keepdims=True)
    close = np.abs(masked[:, position] - np.where(known, terms, 0)) <= 1e-12 * size
    assert known.mean() > 0.3
    assert (close | ~known).all()
    assert np.where(known, masked[:, others], 0).any() == 0


@every_density
@on_tables
def test_a_hole_adds_nothing(subject: Any, table: pa.RecordBatch) -> None:
    density, rows = learned(*subject, table)
    for j, part in enumerate(density.columns):
        seen = np.array([name != part for name in SCHEMA.names])
        assert not density.terms(rows.reveal(seen))[:, j].any()
    nothing = rows.reveal(np.zeros(len(SCHEMA.names), dtype=bool))
    assert added(density, nothing).tobytes() == np.zeros((rows.rows, CLASSES)).tobytes()


@every_density
def test_a_level_never_seen_adds_nothing(subject: Any) -> None:
    """The default, unseen="missing"."""
    density, rows = learned(*subject, TABLES["ordinary"])
    masked = replace(rows, codes=np.full_like(rows.codes, -1))
    unseen = replace(rows, codes=np.full_like(rows.codes, -2))
    assert added(density, unseen).tobytes() == added(density, masked).tobytes()


@every_density
@on_tables
def test_a_row_alone_gives_the_bits_it_gives_among_others(subject: Any, table: pa.RecordBatch) -> None:
    density, rows = learned(*subject, table)
    alone = [added(density, rows.at(np.array([i]))) for i in range(rows.rows)]
    assert np.concatenate(alone).tobytes() == added(density, rows).tobytes()


@every_density
def test_adding_starts_from_what_is_there(subject: Any) -> None:
    density, rows = learned(*subject, TABLES["ordinary"])
    out = np.full((rows.rows, CLASSES), 0.5)
    density.add(rows, out)
    assert np.allclose(out, 0.5 + added(density, rows), rtol=1e-13, atol=1e-13)
