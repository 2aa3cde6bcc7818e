"""Evaluation: symbols at the values of some rows, by numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from bayeskit.arrays import Float
from bayeskit.portable.symbol import PRIMITIVES, Symbol, Value

Read = Sequence[Float]  # what the columns hold: numbers, NaN where missing, or codes; (n,) each

ONES: Mapping[str, Callable[..., Any]] = {
    "neg": np.negative, "abs": np.abs, "floor": np.floor, "square": np.square, "sqrt": np.sqrt, "log": np.log,
    "log1p": np.log1p, "exp": np.exp, "sin": np.sin, "cos": np.cos, "not": np.logical_not, "missing": np.isnan,
    "sub": np.subtract, "mul": np.multiply, "div": np.divide, "min": np.minimum, "max": np.maximum, "lt": np.less,
    "le": np.less_equal, "eq": np.equal, "and": np.logical_and, "or": np.logical_or,
    "where": lambda c, a, b: np.where(c, a, b),
    "add": lambda *some: reduce(np.add, some),
    "logsum": lambda *some: reduce(np.logaddexp, some),
    "largest": lambda a: np.max(a, axis=1, keepdims=True),
    "least": lambda a: np.min(a, axis=1, keepdims=True),
    "together": lambda a: np.logaddexp.reduce(a, axis=1, keepdims=True),
    "place": lambda x, table: np.searchsorted(table.numbers, x, side="left").astype(np.float64),
}  # fmt: skip


def evaluate(symbols: Sequence[Value], read: Read) -> list[Float]:
    """Their values at some rows: (n, 1), (n, K) or what broadcasts to it."""
    known: dict[int, Float] = {}
    return [_value(symbol, read, known) for symbol in symbols]


def evaluate_at(symbol: Value, x: Symbol, values: Float) -> Float:
    """A formula of one symbol at some values of it: (n, K)."""
    out: Float = _value(symbol, (values,), {id(x): values[:, None]})
    return np.broadcast_to(out, (len(values), out.shape[1]))


def _value(symbol: Value, read: Read, known: dict[int, Float]) -> Float:
    waiting = [symbol]
    with np.errstate(all="ignore"):
        while waiting:
            one = waiting[-1]
            if id(one) in known:
                waiting.pop()
            elif not isinstance(one, Symbol):
                known[id(one)] = np.atleast_2d(np.asarray(one, dtype=np.float64))
                waiting.pop()
            else:
                left = [a for a in one.args if isinstance(a, Symbol | float | np.ndarray) and id(a) not in known]
                if left:
                    waiting += left
                    continue
                args = [known[id(a)] if isinstance(a, Symbol | float | np.ndarray) else a for a in one.args]
                known[id(one)] = _apply(one.op, args, read)
                waiting.pop()
    return known[id(symbol)]


def _apply(op: str, args: list[Any], read: Read) -> Any:
    if op in ("number", "code"):
        return np.asarray(read[args[0]], dtype=np.float64)[:, None]
    if op == "take":
        index, table = args
        line = np.clip(np.nan_to_num(index), 0, len(table.numbers) - 1).astype(np.int64)
        return table.numbers[line[:, 0]].reshape(len(line), -1)
    if op in ONES:
        return ONES[op](*args)
    if op in PRIMITIVES:
        return PRIMITIVES[op](*args)
    spec, *values = args
    return spec.log([np.broadcast_to(v, (len(read[0]), 1))[:, 0] for v in values])
