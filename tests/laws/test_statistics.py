"""The laws of every statistic, bit for bit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache, reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayeskit.data.block import Block
from bayeskit.errors import ForgetError
from bayeskit.statistics.moments import Moments
from bayeskit.statistics.tables import Tables

from .tables import DOMAIN, batches, block, classes_with, drop, random_batch, seeds, statistics

Batch = pa.RecordBatch
EXAMPLES = statistics()
PROTOCOL = ("update", "place", "merge", "subtract", "arrays", "with_arrays")
NONE = np.empty(0, dtype=np.int64)
SIZES = {name: len(levels) for name, levels in DOMAIN.levels.items()}
every_statistic = pytest.mark.parametrize("example", EXAMPLES.values(), ids=list(EXAMPLES))
law = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def blank(example: Any, groups: int = len(DOMAIN.classes), sizes: dict[str, int] = SIZES) -> Any:
    """The statistic with nothing counted, in the codes of a domain."""
    return example.place(NONE, groups, {name: (NONE, size) for name, size in sizes.items()})


def count(example: Any, *given: pa.RecordBatch) -> Any:
    """The statistic of some batches, one after the other."""
    return counted(example, map(block, given))


def counted(example: Any, blocks: Iterable[Block]) -> Any:
    """The statistic of some blocks, one after the other."""
    return reduce(lambda so_far, rows: so_far.update(rows), blocks, blank(example))


@cache
def long_table(rows: int, sort: str | None) -> tuple[Block, list[Block]]:
    """A long table in one piece, and in pieces of so many rows; coded once for all statistics."""
    a = random_batch(rows, 6000 if rows > 1 else 300, sort)
    return block(a), [block(a.slice(start, rows)) for start in range(0, a.num_rows, rows)]


def state(statistic: Any) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """The whole state, to be compared bit for bit."""
    return {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in statistic.arrays().items()}


def test_every_statistic_of_the_package_is_exercised() -> None:
    exercised = {type(example).__name__ for example in EXAMPLES.values()}
    lacking = set(classes_with("bayeskit.statistics", *PROTOCOL)) - exercised
    assert not lacking, "give statistics() of tests/laws/tables.py an empty one: no family counts it by default"


@every_statistic
@given(a=batches, b=batches)
@law
def test_merge_is_commutative(example: Any, a: Batch, b: Batch) -> None:
    x, y = count(example, a), count(example, b)
    assert state(x.merge(y)) == state(y.merge(x))


@every_statistic
@given(a=batches, b=batches, c=batches)
@law
def test_merge_is_associative(example: Any, a: Batch, b: Batch, c: Batch) -> None:
    x, y, z = count(example, a), count(example, b), count(example, c)
    assert state(x.merge(y).merge(z)) == state(x.merge(y.merge(z)))


@every_statistic
@given(a=batches)
@law
def test_empty_is_neutral(example: Any, a: Batch) -> None:
    x, empty = count(example, a), blank(example)
    assert state(x.merge(empty)) == state(empty.merge(x)) == state(x.subtract(empty)) == state(x)


@every_statistic
@given(a=batches, b=batches)
@law
def test_merge_is_counting_both(example: Any, a: Batch, b: Batch) -> None:
    assert state(count(example, a).merge(count(example, b))) == state(count(example, a, b))


@every_statistic
@given(a=batches, b=batches)
@law
def test_what_is_learned_and_forgotten_leaves_no_trace(example: Any, a: Batch, b: Batch) -> None:
    x, y = count(example, a), count(example, b)
    both = x.merge(y)
    assert state(both.subtract(y)) == state(x)
    assert state(both.subtract(x).subtract(y)) == state(blank(example))


@every_statistic
@given(a=batches, seed=seeds)
@law
def test_row_order_does_not_matter(example: Any, a: Batch, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(a.num_rows)
    assert state(count(example, a.take(pa.array(order)))) == state(count(example, a))


@every_statistic
@given(a=batches, rows=st.integers(1, 20))
@law
def test_batch_size_does_not_matter(example: Any, a: Batch, rows: int) -> None:
    cut = [a.slice(start, rows) for start in range(0, a.num_rows, rows)]
    assert state(count(example, *cut)) == state(count(example, a))


@every_statistic
@pytest.mark.parametrize("rows", [1, 511, 1024, 4096])
@pytest.mark.parametrize("sort", [None, "any"])
def test_batch_size_does_not_matter_in_long_tables(example: Any, rows: int, sort: str | None) -> None:
    whole, cut = long_table(rows, sort)
    assert state(counted(example, cut)) == state(counted(example, [whole]))


@every_statistic
@given(a=st.builds(random_batch, seeds, st.integers(0, 60), st.just("integer")))
@law
def test_an_integer_weight_is_repetition(example: Any, a: Batch) -> None:
    times = a.column("w").to_numpy().astype(int)
    repeated = drop(a, "w").take(pa.array(np.repeat(np.arange(a.num_rows), times), pa.int64()))
    assert state(count(example, repeated)) == state(count(example, a))


@every_statistic
@given(a=batches.filter(lambda a: "w" in a.schema.names))
@law
def test_weight_zero_is_absence(example: Any, a: Batch) -> None:
    kept = a.filter(pa.array(a.column("w").to_numpy() > 0))
    assert state(count(example, kept)) == state(count(example, a))


@every_statistic
@given(a=batches)
@law
def test_a_row_without_a_label_is_not_counted(example: Any, a: Batch) -> None:
    assert state(count(example, a.filter(a.column("class").is_valid()))) == state(count(example, a))


@every_statistic
@given(a=batches, seed=seeds)
@law
def test_placing_there_and_back_changes_nothing(example: Any, a: Batch, seed: int) -> None:
    rng, x = np.random.default_rng(seed), count(example, a)
    groups = rng.permutation(len(DOMAIN.classes))
    levels = {name: (rng.permutation(size), size) for name, size in SIZES.items()}
    back = {name: (np.argsort(there), size) for name, (there, size) in levels.items()}
    moved = x.place(groups, len(groups), levels)
    assert state(moved.place(np.argsort(groups), len(groups), back)) == state(x)


@every_statistic
@given(a=batches, seed=seeds)
@law
def test_placing_is_counting_in_the_new_codes(example: Any, a: Batch, seed: int) -> None:
    """Many-to-one sums; -1 drops: the group's rows are not there, the level's values are missing."""
    rng, plain = np.random.default_rng(seed), block(a)
    sizes = {name: int(rng.integers(1, size + 2)) for name, size in SIZES.items()}
    levels = {name: (rng.integers(-1, sizes[name], old), sizes[name]) for name, old in SIZES.items()}
    groups = rng.integers(-1, 4, len(DOMAIN.classes))

    def mapped(codes: np.ndarray, new: np.ndarray) -> np.ndarray:
        return np.append(new, -1)[codes].astype(np.int32)

    codes = np.array([mapped(plain.codes[j], levels[n][0]) for j, n in enumerate(plain.schema.coded)])
    moved = replace(plain, codes=np.ascontiguousarray(codes), groups=mapped(plain.groups, groups))
    assert state(count(example, a).place(groups, 4, levels)) == state(blank(example, 4, sizes).update(moved))


@every_statistic
@given(a=batches, b=batches)
@law
def test_more_than_was_learned_cannot_be_forgotten(example: Any, a: Batch, b: Batch) -> None:
    x, y = count(example, a), count(example, b)
    if state(y) != state(blank(example)):
        with pytest.raises(ForgetError):
            x.subtract(x.merge(y))


def test_a_variance_cannot_become_negative() -> None:
    """W sum wx^2 < (sum wx)^2, tested exactly: here by one unit in the last place of the sums."""
    example = Moments.empty(["x"], 0)
    learned = count(example, of_one_class([1.0, 1.0, 1.0 + 2**-52]))
    with pytest.raises(ForgetError, match="'x'"):
        learned.subtract(count(example, of_one_class([1.0 - 2**-53])))


def of_one_class(x: list[float]) -> pa.RecordBatch:
    """Rows of one class with these values of x."""
    batch = random_batch(0, len(x))
    return batch.set_column(0, "x", pa.array(x)).set_column(
        batch.schema.get_field_index("class"), "class", pa.array(["ham"] * len(x))
    )


@every_statistic
@given(a=batches)
@law
def test_arrays_hold_the_whole_state(example: Any, a: Batch) -> None:
    x = count(example, a)
    assert state(blank(example).with_arrays(x.arrays())) == state(x)


TAMPERED = {
    "one group too few": lambda array: array[:-1],
    "one axis too many": lambda array: array[None],
    "one limb of zeros above": lambda array: np.concatenate([array, np.zeros_like(array[..., :1])], axis=-1),
    "one limb of zeros below": lambda array: np.concatenate([np.zeros_like(array[..., :1]), array], axis=-1),
    "a limb out of range": lambda array: array + (np.int64(1) << 40),
}


@every_statistic
@pytest.mark.parametrize("tamper", TAMPERED.values(), ids=list(TAMPERED))
def test_arrays_no_table_could_have_are_refused(example: Any, tamper: Any) -> None:
    true = count(example, random_batch(3, 200, "fraction")).arrays()
    for name in (name for name, array in true.items() if array.ndim > 1):
        with pytest.raises(ValueError, match=r"."):
            blank(example).with_arrays({**true, name: tamper(true[name])})


@every_statistic
def test_arrays_of_negative_weights_are_refused(example: Any) -> None:
    true = count(example, random_batch(3, 200)).arrays()
    negated = {name: array if name.endswith(("low", "sizes")) else -array for name, array in true.items()}
    with pytest.raises(ValueError, match="negative"):
        blank(example).with_arrays(negated)


@every_statistic
def test_a_missing_array_is_refused(example: Any) -> None:
    true = count(example, random_batch(3, 200)).arrays()
    for name in true:
        with pytest.raises((ValueError, KeyError)):
            blank(example).with_arrays({n: a for n, a in true.items() if n != name})


def test_sizes_of_levels_must_fit_the_cells() -> None:
    example = Tables.empty([("colour",), ("shape",)], 0)
    true = count(example, random_batch(3, 200)).arrays()
    with pytest.raises(ValueError, match="shape"):
        blank(example).with_arrays({**true, "sizes": true["sizes"] + 1})
