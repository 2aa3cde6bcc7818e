"""Counted: one canonical state however rows, levels and classes arrive."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from bayeskit.data.encode import Roles
from bayeskit.data.kinds import infer
from bayeskit.engines.local import Local
from bayeskit.errors import ForgetError
from bayeskit.families import families
from bayeskit.statistics.counted import Counted
from bayeskit.statistics.statistic import Product
from bayeskit.statistics.tables import Tables

from .tables import FEATURES, SCHEMA, columns_of, numbers, random_batch


def statistic(groups: int) -> Product:
    """Rows, what every family counts, and a table of three columns."""
    counts = {name: family().statistic(columns_of(family), groups) for name, family in families().items()}
    joint = Tables.empty([(), ("colour", "town", "y")], groups)
    return Product({"joint": joint, **counts}, groups)


def growing(rows: int, seed: int, weighted: bool = True) -> pa.RecordBatch:
    """Later rows have levels and classes that earlier ones have not; some rows weigh nothing."""
    rng = np.random.default_rng(seed)
    age = np.arange(rows) * 8 // rows + 1

    def named(stem: str) -> pa.Array:
        return pa.array([f"{stem}{rng.integers(9 - a, 10)}" if rng.random() < 0.9 else None for a in age])

    batch = random_batch(seed, rows, "some zero" if weighted else None)
    for name in ("colour", "town", "class"):
        batch = batch.set_column(batch.schema.get_field_index(name), name, named(name))
    return batch.append_column("fold", pa.array(rng.integers(0, 4, rows)))


def empty(folds: int = 1, weighted: bool = True) -> Counted:
    roles = Roles("class", "w" if weighted else None, "fold" if folds > 1 else None)
    return Counted.empty(SCHEMA, statistic, roles, folds)


def state(counted: Counted) -> tuple[Any, ...]:
    """The canonical form, to be compared bit for bit."""
    form = counted.canonical()
    arrays = {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in form.statistic.arrays().items()}
    return form.domain.classes.keys, {n: levels.keys for n, levels in form.domain.levels.items()}, arrays


def count(start: Counted, *batches: pa.RecordBatch) -> Counted:
    for batch in batches:
        start = start.update(batch)
    return start


TRIPLE = ("colour", "town", "shape")
TABLE = growing(400, seed=1)
WHOLE = state(count(empty(), TABLE))


@pytest.mark.parametrize("seed", range(200))
def test_any_split_gives_one_canonical_state(seed: int) -> None:
    """Rows shuffled, cut anywhere, batches dealt to some counters, these merged in any order."""
    rng = np.random.default_rng(seed)
    rows = TABLE.take(pa.array(rng.permutation(TABLE.num_rows))) if seed % 2 else TABLE
    edges = np.sort(rng.integers(0, TABLE.num_rows + 1, rng.integers(1, 12)))
    cut = [0, *edges.tolist(), TABLE.num_rows]
    batches = [rows.slice(a, b - a) for a, b in pairwise(cut)]
    shares = [empty() for _ in range(rng.integers(1, 5))]
    for i in rng.permutation(len(batches)):
        k = rng.integers(len(shares))
        shares[k] = shares[k].update(batches[i])
    order = rng.permutation(len(shares))
    assert state(reduce(Counted.merge, [shares[k] for k in order])) == WHOLE


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("rows", [7, 64, 1000])
def test_the_number_of_threads_does_not_show(n_jobs: int, rows: int) -> None:
    table = pa.Table.from_batches([TABLE])
    assert state(Local(n_jobs, rows).reduce(table, TABLE.schema.names, empty())) == WHOLE


@pytest.mark.parametrize("name", ["class", "colour", "town"])
def test_the_canonical_domain_is_sorted_and_carries_weight(name: str) -> None:
    counted = TABLE.filter(pa.array(TABLE.column("w").to_numpy() > 0))
    counted = counted.filter(counted.column("class").is_valid())
    seen = set(counted.column(name).drop_null().to_pylist())
    domain = count(empty(), TABLE).canonical().domain
    assert (domain.classes if name == "class" else domain.levels[name]).values == sorted(seen)


def test_levels_sort_by_their_utf8_bytes() -> None:
    levels = ["\uff5e", "\U0001f600", "zebra", "Zebra", "éclair", "eclair", ""]
    batch = pa.RecordBatch.from_pydict({"word": levels, "class": ["a"] * len(levels)})
    assert words(batch).canonical().domain.levels["word"].values == sorted(levels, key=str.encode)


def test_levels_sort_by_number_not_by_text() -> None:
    batch = pa.RecordBatch.from_pydict({"word": pa.array([10, 9, -1, 100]), "class": ["a"] * 4})
    assert words(batch).canonical().domain.levels["word"].values == [-1, 9, 10, 100]


def test_declared_levels_keep_their_order_and_stay_without_weight() -> None:
    nothing = count(empty(), TABLE.slice(0, 0)).canonical()
    assert nothing.domain.levels["grade"].values == ["low", "middle", "high"]


def test_minus_zero_is_the_level_zero() -> None:
    batch = pa.RecordBatch.from_pydict({"word": pa.array([0.0, -0.0, 1.5]), "class": ["a"] * 3})
    assert words(batch).canonical().domain.levels["word"].values == [0, 1.5]


def words(batch: pa.RecordBatch) -> Counted:
    """Counts of one nominal column, word."""
    schema = infer(pa.schema([batch.schema.field("word")]), kinds={"word": "nominal"})
    table = Counted.empty(schema, lambda n: Product({"t": Tables.empty([("word",)], n)}, n), Roles("class"))
    return table.update(batch)


def test_levels_of_equal_number_in_another_order_are_not_mixed_up() -> None:
    """The trap: (red, blue) + (blue, green) have tables of equal shape."""
    first, second = ["red", "blue", "red", "red"], ["blue", "green", "green", "blue", "blue"]
    a, b = (words(pa.RecordBatch.from_pydict({"word": w, "class": ["c"] * len(w)})) for w in (first, second))
    for both in (a.merge(b), b.merge(a)):
        form = both.canonical()
        cells = form.statistic["t"].table(0)
        found = {v: cells.fraction(0, i) for i, v in enumerate(form.domain.levels["word"].values)}
        assert found == Counter(first + second)
        assert state(both.subtract(b)) == state(a)


@pytest.mark.parametrize("fold", range(4))
@pytest.mark.parametrize("weighted", [True, False])
def test_the_training_set_of_a_fold_is_the_other_rows(fold: int, weighted: bool) -> None:
    table = growing(300, 5, weighted)
    others = table.filter(pa.array(np.array(table.column("fold").to_pylist()) != fold))
    folded = count(empty(4, weighted), *(table.slice(i, 37) for i in range(0, 300, 37)))
    assert state(folded.training(fold)) == state(count(empty(1, weighted), others))


def test_all_folds_together_are_the_whole_table() -> None:
    assert state(count(empty(4), TABLE).pool()) == WHOLE


@pytest.mark.parametrize("seed", range(10))
def test_forgetting_undoes_learning(seed: int) -> None:
    """New levels and classes of what is forgotten go too."""
    a, b = growing(60, seed), growing(90, seed + 100)
    assert state(count(empty(), a, b).subtract(count(empty(), b))) == state(count(empty(), a))


@pytest.mark.parametrize(("column", "value"), [("colour", "mauve"), ("class", "nobody")])
def test_what_was_never_seen_cannot_be_forgotten(column: str, value: str) -> None:
    whole = count(empty(), TABLE)
    row = TABLE.slice(399, 1)
    row = row.set_column(row.schema.get_field_index("w"), "w", pa.array([1.0]))
    row = row.set_column(row.schema.get_field_index("class"), "class", pa.array(["class9"]))
    strange = row.set_column(row.schema.get_field_index(column), column, pa.array([value]))
    with pytest.raises(ForgetError, match=f"{value}.*never learned"):
        whole.subtract(count(empty(), strange))


def test_weightless_classes_and_levels_are_not_there() -> None:
    extra = growing(50, 77)
    extra = extra.set_column(extra.schema.get_field_index("w"), "w", pa.array(np.zeros(50)))
    assert state(count(empty(), TABLE, extra)) == WHOLE


def test_a_column_of_nulls_counts_nothing() -> None:
    rng = np.random.default_rng(0)
    holes = {f.name: pa.nulls(20, f.type) for f in FEATURES}
    batch = pa.RecordBatch.from_pydict({**holes, "x": pa.array(numbers(rng, 20)), "class": ["a"] * 20})
    form = count(empty(weighted=False), batch).canonical()
    assert all(not form.domain.levels[name].values for name in ("colour", "town", "shape", "flag"))


@pytest.mark.parametrize("late", TRIPLE)
def test_a_joint_table_waits_for_the_first_level_of_a_column(late: str) -> None:
    """A batch may lack every value of a column that a table crosses with others."""
    holes = pa.nulls(TABLE.num_rows, pa.string())
    early = TABLE.set_column(TABLE.schema.get_field_index(late), late, holes)
    start = Counted.empty(SCHEMA, lambda n: Product({"t": Tables.empty([TRIPLE], n)}, n), Roles("class"))
    assert state(start.update(early).update(TABLE)) == state(start.update(TABLE))
