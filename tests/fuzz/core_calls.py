"""Sound calls of every function of the core, recorded while small models are fitted, asked and judged."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

import bayeskit as bk
from bayeskit import _core
from bayeskit import families as f
from bayeskit._core import PlaceField, TextField
from golden.cases import CASES, table

CHOSEN_BY_NAME = ("clone", "clones", "use_clone")  # which instruction set is in use; not for numbers
FUNCTIONS = {name for name, value in vars(_core).items() if callable(value) and not isinstance(value, type)}
NAMES = sorted(FUNCTIONS - {*CHOSEN_BY_NAME})
KEPT = 6  # calls of each function


@dataclass(frozen=True)
class Columns:
    """What the arguments address, stride and rows of a call stand for."""

    data: np.ndarray  # (rows, columns), of words of 8 bytes

    def arguments(self) -> tuple[np.ndarray, np.ndarray, int]:
        rows, count = self.data.shape
        first, each, column = self.data.ctypes.data, self.data.strides[0], self.data.strides[1]
        address = np.array([first + j * column for j in range(count)], np.uint64)
        return address, np.full(count, each, np.int64), rows


@dataclass(frozen=True)
class Texts:
    """What the first argument of ``text_codes`` stands for: each column's offsets, bytes and other words."""

    columns: tuple[tuple[np.ndarray, bytes, np.ndarray], ...]

    def argument(self) -> np.ndarray:
        rows = []
        for offsets, data, words in self.columns:
            row = words.copy()
            row[[TextField.OFFSETS, TextField.DATA, TextField.VALID]] = offsets.ctypes.data, _pointer(data), 0
            row[[TextField.OFFSET_WIDTH, TextField.DATA_LENGTH]] = offsets.itemsize, len(data)
            rows.append(row)
        return np.array(rows, np.int64).reshape(len(rows), len(TextField))


@dataclass(frozen=True)
class Places:
    """What the first argument of ``dictionary_codes`` stands for: each column's places and other words."""

    columns: tuple[tuple[np.ndarray, np.ndarray], ...]

    def argument(self) -> np.ndarray:
        rows = []
        for places, words in self.columns:
            row = words.copy()
            row[[PlaceField.PLACES, PlaceField.VALID, PlaceField.WIDTH]] = places.ctypes.data, 0, places.itemsize
            rows.append(row)
        return np.array(rows, np.int64).reshape(len(rows), len(PlaceField))


def _pointer(data: bytes) -> int:
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


@dataclass(frozen=True)
class Call:
    name: str
    arguments: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...] = ()

    def made(self) -> tuple[Any, ...]:
        """The arguments as the core takes them."""
        out: list[Any] = []
        for value in self.arguments:
            if isinstance(value, Columns):
                out.extend(value.arguments())
            else:
                out.append(value.argument() if isinstance(value, Texts | Places) else value)
        return tuple(out)

    def run(self) -> Any:
        return getattr(_core, self.name)(*self.made(), **dict(self.named))


def _kept(name: str, given: tuple[Any, ...], named: dict[str, Any]) -> Call:
    arguments = [_copied(value) for value in given]
    if name == "text_codes":
        arguments[0] = Texts(tuple(_text(row, given[1]) for row in given[0]))
    elif name == "dictionary_codes":
        arguments[0] = Places(tuple(_places(row, given[1]) for row in given[0]))
    elif given and isinstance(given[0], np.ndarray) and given[0].dtype == np.uint64:
        arguments[:3] = [Columns(_matrix(*given[:3]))]
    return Call(name, tuple(arguments), tuple((key, _copied(value)) for key, value in named.items()))


def _copied(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    copy = np.empty_like(value)  # the same order of axes
    copy[...] = value
    return copy


def _matrix(address: np.ndarray, stride: np.ndarray, rows: int) -> np.ndarray:
    data = np.empty((rows, len(address)), np.int64)
    for j, (first, step) in enumerate(zip(address.tolist(), stride.tolist(), strict=True)):
        for i in range(rows):
            data[i, j] = ctypes.c_int64.from_address(first + i * step).value
    return data


def _text(row: np.ndarray, rows: int) -> tuple[np.ndarray, bytes, np.ndarray]:
    width = int(row[TextField.OFFSET_WIDTH])
    offsets = ctypes.string_at(int(row[TextField.OFFSETS]), (rows + 1) * width)
    data = ctypes.string_at(int(row[TextField.DATA]), int(row[TextField.DATA_LENGTH]))
    return np.frombuffer(offsets, np.int32 if width == 4 else np.int64).copy(), data, row.copy()


def _places(row: np.ndarray, rows: int) -> tuple[np.ndarray, np.ndarray]:
    width = int(row[PlaceField.WIDTH])
    places = ctypes.string_at(int(row[PlaceField.PLACES]), rows * width)
    return np.frombuffer(places, f"u{width}").copy(), row.copy()


def recorded() -> dict[str, list[Call]]:
    """Some calls of every function: those with the most different shapes of arguments."""
    found: dict[str, dict[Any, Call]] = {name: {} for name in NAMES}
    sound = {name: getattr(_core, name) for name in NAMES}

    def recorder(name: str) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            shapes = tuple(v.shape if isinstance(v, np.ndarray) else type(v) for v in (*given, *named.values()))
            small = all(v.size <= 20_000 for v in given if isinstance(v, np.ndarray))
            if small and shapes not in found[name] and len(found[name]) < KEPT:
                found[name][shapes] = _kept(name, given, named)
            return sound[name](*given, **named)

        return call

    for name in NAMES:
        setattr(_core, name, recorder(name))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _use_everything()
    finally:
        for name in NAMES:
            setattr(_core, name, sound[name])
    return {name: list(calls.values()) for name, calls in found.items()}


def _use_what_is_known(rng: np.random.Generator) -> None:
    """Cells and smallest values that are known already, and curves of two stretches."""
    apart, labels = np.concatenate([rng.normal(size=60), rng.normal(100, 1, 60)])[:, None], np.arange(120) % 2
    bk.NaiveBayes(families=f.Kernel(bandwidth=0.3)).fit(apart, labels).predict_proba(apart)
    address, stride, rows = Columns(apart.view(np.int64)).arguments()
    given = address, stride, rows, labels.astype(np.int32), 2, None
    edges, offset = np.empty(0), np.zeros(2, dtype=np.int64)
    for _ in range(2):
        exponent = np.full(1, -1074)
        edges, offset, *_ = _core.count_bins(*given, edges, offset, 1024, exponent, None)
    for view in (_core.log, _core.log1m, _core.cos, _core.sin):  # moments have bound them before calls are recorded
        view(rng.uniform(0.1, 0.9, 20))
    best, index = np.full((3, 4), np.inf), np.zeros((3, 4), dtype=np.int64)
    for start, count in ((0, 40), (40, 30)):
        _core.merge_smallest(rng.normal(size=(3, count)), start, best, index)
    given = (
        rng.normal(0, 9, (40, 3)),
        rng.integers(0, 3, 40),
        rng.integers(0, 3, 40),
        rng.uniform(size=40),
        np.arange(40) % 2,
    )
    _core.add_scores(*given, (9.0, 99.0, 4.0, 12.0, 2.0), np.zeros((2, 4, 2, 32)))
    for count in (30, 200):
        tree = _core.build_tree(rng.normal(size=(3, count)))
        _core.nearest_in_tree(rng.normal(size=(4, 3)), *tree, count == 30, np.empty((4, 5)), np.empty((4, 5), np.int64))


def _use_everything() -> None:
    rng = np.random.default_rng(5)
    _use_what_is_known(rng)
    data = table()
    rows = {name: values for name, values in data.items() if name != "class"}
    numbers: dict[str, list[Any]] = {name: rows[name] for name in ("wait", "share", "hits")}
    for name, make in CASES.items():
        model = make()
        if name not in ("network", "network_given", "matrix") and not isinstance(model, bk.Network):
            model.predict_proba({column: rows[column] for column in model.feature_names_in_})
    counts = sparse.csr_array(rng.poisson(0.4, (36, 12)).astype(float))
    for family in (f.Multinomial(), f.Complement(), f.Bernoulli(), f.Multinomial(smoothing=0.25)):
        bk.evaluate(bk.NaiveBayes(families=family), counts, data["class"], bk.LeaveOneOut())
    for family in (f.Gaussian(), f.Kernel(), f.Histogram(), f.ZeroInflated(f.Gamma()), "auto"):
        bk.evaluate(bk.NaiveBayes(families=family), numbers, data["class"], bk.LeaveOneOut())
    bk.evaluate(bk.NaiveBayes(), rows, data["class"], bk.CrossValidation(3)).frame("pyarrow", of="classes")
    bk.evaluate(bk.NaiveBayes(weights="fitted"), numbers, data["class"], bk.CrossValidation(3))
    X, y = rng.normal(size=(40, 4)), np.arange(40) % 3
    for method in ("forward", "backward"):
        bk.FeatureSelector(method=method).fit(X, y)
        bk.FeatureSelector(method=method, criterion="error").fit(X, y)
        bk.FeatureSelector(method=method, estimator=bk.NaiveBayes(families=f.Kernel())).fit(X, y)
    one = bk.NaiveBayes(families=f.Kernel()).fit(numbers, data["class"])
    (one + bk.NaiveBayes(families=f.Kernel()).fit(numbers, data["class"])).forget(numbers, data["class"])
    bk.FullBayes().fit(rng.normal(size=(2000, 5)), np.arange(2000) % 2)
    levels = {name: rows[name] for name in ("colour", "size", "flag")}
    bk.NaiveBayes().fit(
        {name: pa.array(map(str, values)).dictionary_encode() for name, values in levels.items()}, data["class"]
    )
    holes = {name: [None if (i + j) % 3 else v for i, v in enumerate(levels[name])] for j, name in enumerate(levels)}
    trees = bk.ProbabilityForest(trees=3), bk.BoostedTrees(trees=3)
    for classifier in (bk.TAN(), bk.KDB(k=2), bk.AODE(), bk.CorrectedNaiveBayes(), *trees):
        again = [f"again {size}" for size in rows["size"]]
        twice = {name: [*values] * 9 for name, values in {**levels, "again": again}.items()}
        classifier.fit(twice, data["class"] * 9).predict_proba({**holes, "again": again})
    bk.ProbabilityForest(trees=3).fit(levels, data["class"]).explain(holes)
    network = bk.Network([("colour", "size"), ("size", "flag")]).fit(levels)
    network.query("flag", {"colour": "red"})
    network.sample(8, random_state=1)
    bk.Network([("colour", "size"), ("size", "flag")]).fit(holes, "em")
    bk.learn_network(levels)
    bk.learn_network({name: [*"xyzxyx"] * 9 for name in "abc"}, search="exact")
    many = {f"n{i}": [*"ababab"] for i in range(130)}
    bk.Network([(f"n{i}", f"n{i + 1}") for i in range(129)]).fit(many).predict_proba(many, "n9")
    repeated = sparse.csr_array((np.ones(4), [0, 0, 1, 2], [0, 2, 4]), shape=(2, 3))
    bk.NaiveBayes(families=f.Multinomial()).fit(repeated, ["a", "b"])
