"""A model as the header and tensors of a ``.bayes`` file, and back with every doubt raised."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from itertools import pairwise
from typing import Any

import numpy as np

from bayeskit import store
from bayeskit.arrays import Array
from bayeskit.codec import build, describe, json_text, keys_of
from bayeskit.data.domain import Domain
from bayeskit.data.encode import Tally
from bayeskit.data.levels import BOOL, MARK, NUMBER, TEXT, Key, Levels
from bayeskit.data.schema import CODED, KINDS, MISSING_POLICIES, UNDETERMINED, Alike, Column, Schema
from bayeskit.errors import BayeskitError, ModelFileError
from bayeskit.journal import as_record, entries
from bayeskit.model import Model
from bayeskit.statistics.counted import Counted
from bayeskit.structures.naive import Naive
from bayeskit.structures.weighted import Tuning

TEXTS = ("names", "columns", "classes", "levels")
TYPES: dict[int, tuple[type, ...]] = {BOOL: (bool,), NUMBER: (int, float), TEXT: (str,), MARK: (str,)}


def save(path: Any, model: Model, kind: str, settings: Mapping[str, Any]) -> None:
    """Write a model with the name and the settings of its estimator."""
    store.write(path, *packed(model, kind, settings))


def packed(model: Model, kind: str, settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and tensors of a model."""
    counted, schema = model.counted, model.schema
    arrays: dict[str, Array] = {}
    domain = counted.domain
    names = schema.coded
    runs = list(schema.runs)
    texts = {
        "names": list(schema.names),
        "columns": [json_text(asdict(run.like)) for run in runs],
        "classes": keys_of(domain.classes),
        "levels": [text for name in names for text in keys_of(domain.levels[name])],
    }
    for name, lines in texts.items():
        arrays[f"{name}.text"], arrays[f"{name}.ends"] = store.pack(lines)
    arrays["columns.runs"] = np.array([len(run) for run in runs], dtype=np.int64)
    arrays["levels.sizes"] = np.array([len(domain.levels[n]) for n in names], dtype=np.int64)
    position = {name: j for j, name in enumerate(schema.names)}
    arrays["owners"] = np.array([position[n] for _, owned in model.structure.parts for n in owned], dtype=np.int64)
    arrays |= {f"counts/{name}": array for name, array in counted.statistic.arrays().items()}
    if model.tuning is not None:
        arrays["tuning.weight"], arrays["tuning.bias"] = model.tuning.weight, model.tuning.bias_of(domain.classes)
    header = {
        "model": kind,
        "tuned": model.tuning is not None,
        "families": [[describe(family), len(owned)] for family, owned in model.structure.parts],
        "named": schema.named,
        "target": schema.target,
        "label": schema.label,
        "declared": describe(schema.classes),
        "prior": describe(model.prior),
        "unseen": model.unseen,
        "settings": describe(settings),
        "tally": asdict(counted.tally),
        "journal": [as_record(entry) for entry in model.journal],
        "digest": model.digest,
        "shapes": {name: list(array.shape) for name, array in arrays.items()},
    }
    return header, arrays


Read = tuple[Model, str, dict[str, Any]]  # a model, the name and the settings of its estimator


def load(path: Any) -> Read:
    """What a file holds; ModelFileError if anything is not as saved."""
    header, arrays = store.read(path, expected)
    with doubts(path):
        return unpacked(header, arrays)


def unpacked(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Read:
    """Back from header and tensors."""
    return _model(header, arrays), str(header["model"]), build(header["settings"])


@contextmanager
def doubts(path: Any) -> Iterator[None]:
    """Whatever turns out wrong in the content of a file is told with its name."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error
    except (BayeskitError, ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
        raise ModelFileError(f"{path}: its content contradicts itself ({error}); save the model again") from error


def expected(header: Mapping[str, Any]) -> store.Spec:
    """Names, types and shapes a file with this header must have."""
    try:
        shapes = {name: tuple(shape) for name, shape in header["shapes"].items()}
        families = [(build(record), int(count)) for record, count in header["families"]]
        (d,) = shapes["names.ends"]
        owned = tuple((family, tuple(f"{i}.{j}" for j in range(min(n, d)))) for i, (family, n) in enumerate(families))
        blank = Alike(Column("", "nominal", "", ""), tuple(name for _, names in owned for name in names))
        empty = Model.statistic(Naive((), owned), Schema(blank))(0)
        counts = {f"counts/{name}": array.dtype for name, array in empty.arrays().items()}
        whole = dict.fromkeys(("owners", "columns.runs", "levels.sizes"), np.dtype(np.int64))
        tuned = ("tuning.weight", "tuning.bias") if header["tuned"] else ()
        spec = {**whole, **counts, **dict.fromkeys(tuned, np.dtype(np.float64))}
        for name in TEXTS:
            spec |= {f"{name}.text": np.dtype(np.uint8), f"{name}.ends": np.dtype(np.int64)}
        return {name: (dtype, shapes[name]) for name, dtype in spec.items()}
    except (BayeskitError, ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"the header does not describe a model ({error}); save the model again") from error


def _model(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Model:
    text = {name: store.unpack(arrays[f"{name}.text"], arrays[f"{name}.ends"]) for name in TEXTS}
    columns = _columns(text["columns"], arrays["columns.runs"].tolist(), text["names"])
    schema = Schema(columns, header["named"], header["target"], header["label"], build(header["declared"]))
    if len(set(schema.names)) < len(columns):
        raise ModelFileError("two columns have the same name")
    domain = _domain(schema, text["classes"], text["levels"], arrays["levels.sizes"].tolist())
    owners = [schema.names[j] for j in arrays["owners"].tolist() if j >= 0]
    begin = np.cumsum([0, *(count for _, count in header["families"])]).tolist()
    if len(owners) != begin[-1] or len(owners) != len(arrays["owners"]):
        raise ModelFileError("a column has no family, or a family no column")
    parts = tuple(
        (build(record), tuple(owners[begin[i] : begin[i + 1]])) for i, (record, _) in enumerate(header["families"])
    )
    structure = Naive(schema.names, parts)
    empty = Model.statistic(structure, schema)(len(domain.classes))
    counts = {n.removeprefix("counts/"): a for n, a in arrays.items() if n.startswith("counts/")}
    counted = Counted(schema, domain, empty.with_arrays(counts), tally=Tally(**header["tally"]))
    _agree(counted)
    tuning = _tuning(arrays, structure, domain) if header["tuned"] else None
    journal = entries(header["journal"])
    model = Model(counted, structure, build(header["prior"]), header["unseen"], tuning, journal)
    if model.digest != header["digest"]:
        raise ModelFileError("its digest does not fit its content")
    model.log_prior()
    return model


def _tuning(arrays: Mapping[str, Array], structure: Naive, domain: Domain) -> Tuning:
    weight, bias = arrays["tuning.weight"], arrays["tuning.bias"]
    fits = weight.shape == (len(structure.pieces),) and bias.shape == (len(domain.classes),)
    if not fits or not np.isfinite(weight).all() or not np.isfinite(bias).all() or (weight < 0).any():
        raise ModelFileError("its weights do not fit its pieces and classes")
    return Tuning(weight, bias, domain.classes)


def _agree(counted: Counted) -> None:
    """Totals that must agree in any table: sizes with levels, no column heavier than its class, canonical order."""
    classes = counted.statistic["classes"].table(0)  # type: ignore[attr-defined]
    if not len(counted.domain.classes) or not classes.nonzero().any():
        raise ModelFileError("it has no class")
    for part in counted.statistic["features"].parts.values():  # type: ignore[attr-defined]
        for name, size in getattr(part, "sizes", {}).items():
            if size != len(counted.domain.levels[name]):
                raise ModelFileError(f"column {name!r} has {len(counted.domain.levels[name])} levels but {size} counts")
    if counted.outweighed():
        raise ModelFileError("a column has more values than its class has rows")
    if counted.canonical().domain != counted.domain:
        raise ModelFileError("its levels or classes are not in order")


def _domain(schema: Schema, classes: list[str], levels: list[str], sizes: list[int]) -> Domain:
    if len(sizes) != len(schema.coded) or any(size < 0 for size in sizes) or sum(sizes) != len(levels):
        raise ModelFileError("its levels do not fit its columns")
    keys = [key_of(line) for line in levels]
    begin = np.cumsum([0, *sizes]).tolist()
    by_column = {n: Levels(tuple(keys[begin[j] : begin[j + 1]])) for j, n in enumerate(schema.coded)}
    domain = Domain(Levels(tuple(map(key_of, classes))), by_column)
    for some in (domain.classes, *domain.levels.values()):
        if len(some.index) < len(some):
            raise ModelFileError("a level occurs twice")
    return domain


def key_of(line: str) -> Key:
    """The level of a text that ``keys_of`` made."""
    family, value = json.loads(line)
    if family not in TYPES or type(value) not in TYPES[family]:
        raise ModelFileError(f"{line} is not a level")
    return (family, value)


def _columns(lines: list[str], sizes: list[int], names: list[str]) -> Sequence[Column]:
    """The columns from what neighbours that differ only in name have in common."""
    if len(lines) != len(sizes) or sum(sizes) != len(names) or any(size < 1 for size in sizes):
        raise ModelFileError("its columns do not fit their names")
    begin = np.cumsum([0, *sizes]).tolist()
    likes = [_column(json.loads(line)) for line in lines]
    runs = [Alike(like, tuple(names[begin[i] : begin[i + 1]])) for i, like in enumerate(likes)]
    if any(like.name for like in likes) or any(a == b for a, b in pairwise(likes)):
        raise ModelFileError("its columns are not told apart as they should be")
    return runs[0] if len(runs) == 1 else tuple(column for run in runs for column in run)


def _column(record: Mapping[str, Any]) -> Column:
    if set(record) != {f.name for f in fields(Column)}:
        raise ModelFileError("a column is described by other fields than this version knows")
    order = None if record["order"] is None else tuple(record["order"])
    column = Column(**{**record, "order": order})
    texts = (column.name, column.type, column.why, column.family, column.why_family)
    if not all(isinstance(t, str) for t in texts) or column.kind not in (*KINDS, UNDETERMINED):
        raise ModelFileError(f"column {column.name!r} has the unknown kind {column.kind!r}")
    if column.missing not in MISSING_POLICIES or (order is not None and column.kind not in CODED):
        raise ModelFileError(f"column {column.name!r} is described in a way that cannot be")
    return column
