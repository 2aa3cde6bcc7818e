"""Random tables for the laws: mixed columns, holes, extreme doubles, every sort of weight."""

from __future__ import annotations

import base64
import importlib
import pkgutil
from collections.abc import Iterator
from itertools import combinations
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from bayeskit.data.block import Block
from bayeskit.data.encode import Roles, encode
from bayeskit.data.kinds import infer
from bayeskit.data.levels import MISSING, PRESENT, Domain, Levels
from bayeskit.families import families
from bayeskit.statistics.bins import Bins
from bayeskit.statistics.complete import Complete
from bayeskit.statistics.cuts import Cuts
from bayeskit.statistics.keyed import Keyed
from bayeskit.statistics.leaves import NODE, Leaves, TreeColumn, Trees
from bayeskit.statistics.moments import Moments
from bayeskit.statistics.rows import Distinct, Rows
from bayeskit.statistics.scatter import Scatter
from bayeskit.statistics.sliced import Sliced, Slices
from bayeskit.statistics.statistic import Product
from bayeskit.statistics.tables import Tables

LARGEST, SMALLEST = 1.7976931348623157e308, 5e-324
EXTREMES = [1e300, -1e300, LARGEST, SMALLEST, -SMALLEST, 1e-300, 2.2250738585072014e-308, 0.0, -0.0]
LEVELS = {
    "colour": ["red", "blue", "green", "éclair"],
    "town": [f"town {i}" for i in range(20)],
    "shape": ["round", "square"],
    "flag": [True, False],
    "grade": ["low", "middle", "high"],
}
CLASSES = ["spam", "ham", "eggs"]
FEATURES = pa.schema(
    {
        "x": pa.float64(),
        "y": pa.float64(),
        "hits": pa.int64(),
        "coin": pa.int64(),
        "size": pa.float64(),
        "share": pa.float64(),
        "angle": pa.float64(),
        "colour": pa.string(),
        "town": pa.string(),
        "shape": pa.string(),
        "flag": pa.bool_(),
        "grade": pa.string(),
    }
)
SUPPORTED = {  # values of the columns that some families are made for; the other numbers are any
    "hits": np.arange(9.0),
    "coin": np.arange(2.0),
    "size": np.array([5e-324, 1e-300, 0.1, 1.0, 3.7, 250.0, 1e300]),
    "share": np.array([1e-300, 0.01, 0.25, 0.5, 0.999, 1 - 2.0**-53]),
    "angle": np.array([-6.0, -3.1, -1e-9, 0.3, 1.5, 6.28]),
}
SCHEMA = infer(FEATURES, kinds={"hits": "count", "coin": "count", "grade": LEVELS["grade"]}, missing={"y": "level"})
KNOWN = {name: Levels.of(values) for name, values in LEVELS.items()}
DOMAIN = Domain(Levels.of(CLASSES), {"y": Levels((PRESENT, MISSING)), **KNOWN})
WEIGHTS = (None, "integer", "fraction", "some zero", "tiny", "huge", "any")


def weights(rng: np.random.Generator, sort: str, rows: int) -> np.ndarray:
    """Row weights of one sort."""
    draw = {
        "integer": lambda: rng.integers(0, 5, rows).astype(float),
        "fraction": lambda: rng.random(rows),
        "some zero": lambda: rng.choice([0.0, 0.1, 1.0, 3.0], rows),
        "tiny": lambda: rng.choice([5e-324, 1e-320, 1e-300, 3e-17], rows),
        "huge": lambda: rng.choice([1e300, 1.7e308, 2.0**53 + 2], rows),
        "any": lambda: rng.choice([0.0, 5e-324, 1e-17, 1.0, 1e17, 1e300], rows),
    }
    return draw[sort]()


def numbers(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Doubles of every size: ordinary, patterned, extreme and of random bits; some missing."""
    bits = rng.integers(0, 2**64, rows, dtype=np.uint64).view(np.float64)
    sorts = [
        rng.normal(3, 10, rows),
        1e7 + rng.choice([0.1, 0.2, 0.3], rows),
        rng.choice(EXTREMES, rows),
        np.where(np.isfinite(bits), bits, 1.0),
        np.full(rows, np.nan),
    ]
    return np.choose(rng.choice(5, rows, p=[0.4, 0.2, 0.15, 0.1, 0.15]), sorts)


def random_batch(seed: int, rows: int, sort: str | None = None) -> pa.RecordBatch:
    """A table of the schema with classes, and with weights unless ``sort`` is None."""
    rng, apart = np.random.default_rng(seed), np.random.default_rng([seed, 1])

    def some(known: list[Any]) -> list[Any]:
        return [known[i] if i < len(known) else None for i in rng.integers(0, len(known) + 1, rows)]

    columns = {
        "x": pa.array(numbers(rng, rows)),
        "y": pa.array(numbers(rng, rows), from_pandas=True),
        "hits": pa.array([None if i == 9 else int(i) for i in rng.integers(0, 10, rows)], pa.int64()),
        "coin": pa.array([None if i == 2 else int(i) for i in apart.integers(0, 3, rows)], pa.int64()),
        **{name: pa.array(apart.choice([*SUPPORTED[name], np.nan], rows)) for name in ("size", "share", "angle")},
        **{name: pa.array(some(known), FEATURES.field(name).type) for name, known in LEVELS.items()},
        "class": pa.array(some(CLASSES), pa.string()),
    }
    if sort is not None:
        columns["w"] = pa.array(weights(rng, sort, rows))
    return pa.RecordBatch.from_pydict(columns)


seeds = st.integers(0, 2**32 - 1)
batches = st.builds(random_batch, seeds, st.integers(0, 60), st.sampled_from(WEIGHTS))


def block(batch: pa.RecordBatch) -> Block:
    """The batch in the codes of DOMAIN."""
    roles = Roles("class", "w" if "w" in batch.schema.names else None)
    coded, domain, _ = encode(batch, SCHEMA, DOMAIN, roles)
    assert domain == DOMAIN
    return coded


def drop(batch: pa.RecordBatch, name: str) -> pa.RecordBatch:
    """The batch without one column."""
    return batch.select([n for n in batch.schema.names if n != name])


def modules(package: str) -> Iterator[ModuleType]:
    """Every module of a package, found by walking it."""
    for info in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        yield importlib.import_module(info.name)


def classes_with(package: str, *methods: str) -> dict[str, type[Any]]:
    """Every class defined in a package that has these methods; protocols are none."""
    return {
        name: value
        for module in modules(package)
        for name, value in vars(module).items()
        if isinstance(value, type)
        and value.__module__ == module.__name__
        and not getattr(value, "_is_protocol", False)
        and all(hasattr(value, method) for method in methods)
    }


def columns_of(family: Any) -> list[Any]:
    """The columns of SCHEMA a family takes."""
    support = getattr(family() if isinstance(family, type) else family, "support", None)
    anything = np.array(EXTREMES)
    found = [
        c
        for c in SCHEMA.columns
        if c.kind in family.kinds and (support is None or support.inside(SUPPORTED.get(c.name, anything)).all())
    ]
    assert found, f"{family} goes untested: add a column of a kind in {family.kinds} to FEATURES"
    return found


def statistics() -> dict[str, Any]:
    """Empty statistics of no group by name: what every family counts, and tables of every arity."""
    coded = [name for name in SCHEMA.coded if name != "town"]
    found = {f"{name} counts": f().statistic(columns_of(f), 0) for name, f in families().items()}
    found |= {f"table of {a}": Tables.empty([tuple(coded[:a])], 0) for a in range(4)}
    every = [("grade", "flag", "y"), (), ("town",), ("shape", "colour")]
    found["tables of every arity"] = Tables.empty(every, 0)
    found["all pairs"] = Tables.empty(list(combinations(SCHEMA.coded, 2)), 0)
    found["scatter"] = Scatter.empty(["x", "y", "hits"], 0)
    found["scatter of what is available"] = Scatter.empty(["hits", "x"], 0, available=True)
    means = Product({"rows": Tables.empty([()], 0), "means": Moments.empty(["x", "hits"], 0)}, 0)
    found["cells"] = Keyed.empty(["grade", "flag", "y", "colour"], means, 0)
    numbers = ["x", "y", "hits"]
    found["patterns"] = Keyed.empty(numbers, Scatter.empty(numbers, 0), 0, patterns=True)
    found["complete families"] = Complete(
        ("grade", "flag", "x", "y"), Keyed.empty(["grade", "flag"], Scatter.empty(["x", "y"], 0), 0)
    )
    found["bins"] = Bins.empty(["x", "y", "hits"], 0)
    found["cuts"] = Cuts.empty(["x", "y", "hits"], [-1.0, 0.0, 3.5], 0)
    found["rows"] = Rows.empty(SCHEMA.columns, 0)
    found["distinct rows"] = Distinct.empty(SCHEMA.columns, 0)
    found["rows of a few columns"] = Rows.empty([SCHEMA["hits"], SCHEMA["flag"]], 0)
    slices = Slices.of([c for c in SCHEMA.columns if c.name != "town"], dict.fromkeys(SCHEMA.numeric, (-1.0, 0.0, 3.5)))
    some = {"levels": [(n,) for n in slices.columns], "pairs": list(combinations(slices.columns, 2))}
    found["sliced"] = Sliced.empty(slices, some, 0)
    nodes = np.array([(0, 0, 1, 1), (-1, 0, 0, 0), (-1, 0, 0, 0), (-1, 0, 0, 0)], dtype=NODE)  # a split and a leaf
    trees = Trees((TreeColumn("x", (0.0,), numeric=True),), (3, 1), base64.b64encode(nodes.tobytes()).decode())
    found["leaves"] = Leaves.empty(trees, [SCHEMA["x"], SCHEMA["flag"]], 0)
    found["product"] = Product(dict(found), 0)
    return found
