"""Wrong arguments for every function of the core: ``python core_mutants.py SEED COUNT``.

First, of every argument that has to ascend two neighbours are exchanged, which must be refused.
Each mutant is a sound call with some of its arguments cut, turned around, of another type, out of order or out of
range. The core may refuse it by a ValueError, TypeError or MemoryError, or compute something; whatever else is raised
is printed, and a crash ends the process after the name and the number of the mutant. Where columns
lie in memory is the caller's promise: addresses, strides and rows are mutated together, as the table they stand for.
"""

from __future__ import annotations

import resource
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.core_calls import Call, Columns, Places, Texts, recorded

WHOLE = (0, -1, -2, -3, 1, 2, 7, 8, 1023, 2**24, 2**31 - 1, 2**31, -(2**31), 2**32, 2**40, 2**62, 2**63 - 1, -(2**63))
REAL = (0.0, -0.0, -1.0, 1.0, 0.5, 1e-320, 1e308, -1e308, 1e16, np.nan, np.inf, -np.inf, 2.0**63, 1e-9)
# Where an argument has to ascend: its place, and that of the offsets of its parts where it has parts.
ASCENDING: dict[str, tuple[tuple[int, int | None], ...]] = {
    "digitize": ((1, None),),
    "count_bins": ((4, 5), (5, None)),
    "merge_bins": ((1, None), (3, None)),
    "find_bins": ((1, None), (2, 3), (3, None)),
    "mixture_log_density": ((0, None),),
    "kernel_moments": ((0, None),),
    "mixture_curves": ((3, 5), (5, None), (10, None), (11, 10), (13, None)),
    "bandwidths": ((0, None),),
    "loo_family_scores": ((1, 2), (2, None)),
    "lattice_points": ((0, None),),
    "merge_smallest": ((2, None),),
    "sparse_distinct": ((0, None),),
    "sparse_column_ranges": ((0, None),),
    "sparse_sums": ((0, None),),
    "sparse_linear_terms": ((0, None),),
    "loo_sparse_sums": ((0, None),),
    "sparse_log_table": ((0, None), (1, 0)),
    "sparse_complement_weights": ((0, None), (1, 0)),
    "sparse_group_sums": ((0, None),),
    "count_tables": ((4, None),),
    "shrinkage_scores": ((4, None),),
    "sum_by_code": ((1, None),),
    "find_leaves": ((1, None),),
    "forest_shares": ((1, None),),
    "forest_stages": ((1, None),),
    "integer_codes": ((2, None),),
    "text_codes": ((3, None), (5, None)),
    "dictionary_codes": ((3, None),),
}
PATIENCE = 60  # seconds of the processor for one call
MEMORY = 6 << 30  # bytes; what asks for more is refused by a MemoryError


def _some(rng: np.random.Generator, kind: np.dtype[Any]) -> Any:
    if kind.kind == "f":
        return kind.type(rng.choice(REAL))
    if kind.kind == "b":
        return bool(rng.integers(2))
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    return kind.type(min(max(int(WHOLE[rng.integers(len(WHOLE))]), int(low)), int(high)))


def _entries(a: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    out = a.copy(order="K")
    for _ in range(min(int(rng.integers(1, 4)), a.size)):
        out[np.unravel_index(rng.integers(a.size), a.shape)] = _some(rng, a.dtype)
    return out


def _nudged(a: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    out = a.copy(order="K")
    if a.size and a.dtype.kind in "iu" and rng.random() < 0.9:
        place = np.unravel_index(rng.integers(a.size), a.shape)
        with np.errstate(over="ignore"):
            out[place] += a.dtype.type(rng.choice([-1, 1])) if a.dtype.kind == "i" else a.dtype.type(1)
    return out


def _shuffled(a: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(a.ravel()).reshape(a.shape) if a.size else a


def _filled(a: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    out = a.copy(order="K")
    out[...] = _some(rng, a.dtype)
    return out


def _resized(a: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if not a.ndim:
        return a
    axis = int(rng.integers(a.ndim))
    if rng.random() < 0.2:
        return np.ascontiguousarray(a[(slice(None),) * axis + (slice(0, 0),)])
    if rng.random() < 0.5:
        return np.ascontiguousarray(np.delete(a, -1, axis)) if a.shape[axis] else a
    more = np.concatenate([a, a[(slice(None),) * axis + (slice(0, 1),)]], axis)
    return np.ascontiguousarray(more)


def _retyped(a: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return a.astype(rng.choice(["f8", "f4", "i8", "i4", "u1", "?", "i2"]))


def _reshaped(a: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return [a.T, a.ravel(), a[None], a[::2], np.asfortranarray(a)][rng.integers(5)]


ARRAYS: tuple[Callable[[np.ndarray, np.random.Generator], np.ndarray], ...] = (
    *(_entries, _entries, _entries, _nudged, _nudged, _shuffled, _filled),
    *(_resized, _resized, _retyped, _reshaped),
)


def _mutated(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, Columns):
        data = value.data if rng.random() < 0.5 else _resized(value.data, rng)
        words = data.copy()
        for _ in range(3 if words.size else 0):
            place = np.unravel_index(rng.integers(words.size), words.shape)
            words[place] = _some(rng, np.dtype(float)).view(np.int64)
        return Columns(words)
    if isinstance(value, Texts):
        columns = [list(column) for column in value.columns]
        for column in columns:
            what = rng.integers(4)
            if what == 0:
                column[0] = ARRAYS[rng.integers(7)](column[0], rng)
            elif what == 1:
                column[1] = column[1][: rng.integers(len(column[1]) + 1)]
            elif what == 2:
                column[2] = np.concatenate([column[2][:5], _entries(column[2][5:], rng)])
        return Texts(tuple((a, b, c) for a, b, c in columns))
    if isinstance(value, Places):
        changed = [(ARRAYS[rng.integers(7)](a, rng), b) for a, b in value.columns]
        return Places(tuple((a, np.concatenate([b[:3], _entries(b[3:], rng)])) for a, b in changed))
    if isinstance(value, np.ndarray):
        return ARRAYS[rng.integers(len(ARRAYS))](value, rng)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return int(WHOLE[rng.integers(len(WHOLE))]) if rng.random() < 0.6 else value + int(rng.integers(-2, 3))
    if isinstance(value, float):
        return float(rng.choice(REAL))
    if isinstance(value, bytes):
        return value[: rng.integers(len(value) + 1)]
    if isinstance(value, str):
        return str(rng.choice(["", "Gaussian", "Kernel", "Gamma", "Histogram", "NegativeBinomial", "no such"]))
    if isinstance(value, tuple | list):
        changed = [_mutated(v, rng) if rng.random() < 0.4 else v for v in value]
        return type(value)(changed)
    return [None, 0, np.zeros(3), np.zeros((2, 2), np.int32)][rng.integers(4)]


def mutant(call: Call, rng: np.random.Generator) -> Call:
    arguments, named = list(call.arguments), list(call.named)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(arguments) + len(named)))
        if at < len(arguments):
            arguments[at] = _mutated(arguments[at], rng)
        else:
            key, value = named[at - len(arguments)]
            named[at - len(arguments)] = (key, _mutated(value, rng))
    if isinstance(arguments[0], Texts) and isinstance(arguments[1], int):  # as many rows as there are offsets for
        arguments[1] = min(arguments[1], *(len(offsets) - 1 for offsets, _, _ in arguments[0].columns), 2**31)
    if isinstance(arguments[0], Places) and isinstance(arguments[1], int):
        arguments[1] = min(arguments[1], *(len(places) for places, _ in arguments[0].columns), 2**31)
    return replace(call, arguments=tuple(arguments), named=tuple(named))


def _fresh(value: Any) -> Any:
    """A copy, as functions write into their arguments."""
    return value.copy(order="K") if isinstance(value, np.ndarray) else value


def disordered(calls: dict[str, list[Call]]) -> None:
    """Prints every call that takes an argument out of order."""
    for name, arguments in ASCENDING.items():
        for place, parts in arguments:
            tried = 0
            for call in calls[name]:
                wrong = _exchanged(call, place, parts)
                tried += wrong is not None
                try:
                    if wrong is not None:
                        replace(call, arguments=tuple(map(_fresh, wrong))).run()
                        print(f"raw {name}: argument {place} out of order is taken", flush=True)
                except ValueError:
                    pass  # refused, as it should be
            if not tried:
                print(f"raw {name}: no sound call has two neighbours to exchange in argument {place}", flush=True)


def _exchanged(call: Call, place: int, parts: int | None) -> tuple[Any, ...] | None:
    """The arguments with two different neighbours of one part exchanged."""
    given = list(call.arguments)
    values = given[place].copy()
    line = values if values.ndim == 1 else values[-1]
    ends = [0, len(line)] if parts is None else given[parts].tolist()
    for first, last in pairwise(ends):
        for i in range(first, last - 1):
            if line[i] < line[i + 1]:
                line[[i, i + 1]] = line[[i + 1, i]]
                given[place] = values
                return tuple(given)
    return None


def main(seed: int, count: int, only: str | None = None) -> None:
    calls = recorded()
    missing = [name for name, found in calls.items() if not found]
    if missing:
        raise AssertionError(f"no sound call of {missing}: use them in core_calls.py")
    checked = "libasan" in Path("/proc/self/maps").read_text()
    if not checked:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    if not only:
        disordered(calls)
    for place, (name, sound) in enumerate(calls.items()):
        if only and name != only:
            continue
        print(f"{name} {seed}", flush=True)
        for number in range(count):
            rng = np.random.default_rng([seed, place, number])
            call = mutant(sound[number % len(sound)], rng)
            call = replace(call, arguments=tuple(map(_fresh, call.arguments)))
            if checked and any(isinstance(v, int) and 2**20 < v < 2**60 for v in call.arguments):
                continue  # AddressSanitizer ends a process that asks for too much memory; elsewhere it is an error
            print(number, file=sys.stderr, flush=True)
            signal.setitimer(signal.ITIMER_PROF, PATIENCE)  # what hangs ends as a crash does
            try:
                call.run()
            except (ValueError, TypeError, MemoryError):
                pass  # refused, as it should be
            except Exception as error:
                print(f"raw {name} {number}: {type(error).__name__}: {error}", flush=True)
    print("done")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
