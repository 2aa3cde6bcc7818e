"""Symbols: numbers of a row not known yet, with which the formula of a density writes itself down; and at values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce, wraps
from typing import Any, TypeAlias, Union

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from bayeskit.arrays import ArrayLike, Bool, Float
from bayeskit.portable.nodes import Node, TableStore, to_json, to_list

UFUNCS = {  # those of numpy and SciPy that formulas may use, by the operation that stands for them
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "negative": "neg", "absolute": "abs",
    "minimum": "min", "maximum": "max", "floor": "floor", "log": "log", "log1p": "log1p", "exp": "exp", "sqrt": "sqrt",
    "sin": "sin", "cos": "cos", "less": "lt", "less_equal": "le", "equal": "eq", "isnan": "missing",
    "logical_and": "and", "bitwise_and": "and", "logical_or": "or", "bitwise_or": "or", "invert": "not",
    "logical_not": "not",
}  # fmt: skip
LOG2 = 1 / float(np.log(2))
PRIMITIVES: dict[str, Callable[..., Any]] = {}  # functions that every target knows, by the operation


# what is not known yet, or numbers: one, or one for each class
Value: TypeAlias = Union["Symbol", Float, float]
Step: TypeAlias = tuple[Any, ...]  # an operation by its name, and its arguments: places of steps, tables or nodes


class Symbol(NDArrayOperatorsMixin):
    """The result of an operation on a row: one number, or one for each class.

    numpy's functions and operators give another symbol, so that the code of a density, given a symbol, gives its own
    formula. A class axis is the first of arrays that meet a symbol, as in ``Parametric.log_density``.

    >>> x = Symbol("number", 0)
    >>> -0.5 * ((x - np.array([[1.0], [2.0]])) / 3) ** 2
    mul(-0.5, square(div(sub(number(0), [1. 2.]), 3.0)))
    """

    def __init__(self, op: str, *args: Any) -> None:
        self.op = op
        self.args = args

    def __repr__(self) -> str:
        return f"{self.op}({', '.join(map(str, self.args))})"

    @property
    def T(self) -> Symbol:
        return self

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *given: Value, **options: object) -> Any:
        name, args = ufunc.__name__, [constant(value) for value in given]
        if method != "__call__":
            return NotImplemented
        if name in UFUNCS:
            return simplify(UFUNCS[name], args)
        rewrite = _REWRITTEN.get(name)
        return NotImplemented if rewrite is None else rewrite(*args)

    def __array_function__(
        self, function: Callable[..., object], types: object, args: Sequence[Any], options: object
    ) -> Any:
        if function is np.where:
            return where(*args)
        if function is np.isneginf:
            return Symbol("lt", constant(args[0]), -1.7976931348623157e308)
        if function in (np.zeros_like, np.ones_like):
            return float(function is np.ones_like)
        return NotImplemented

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        raise TypeError("a formula may not depend on a value by if; use np.where")


def _ldexp(x: Value, by: Value) -> Value:
    factor = np.ldexp(1.0, np.asarray(by, dtype=np.int64) // 2)
    rest = np.ldexp(1.0, np.asarray(by, dtype=np.int64) - np.asarray(by, dtype=np.int64) // 2)
    return x if np.all(factor * rest == 1) else x * factor * rest


def _power(x: Value, by: Value) -> Symbol:
    if by != 2:
        raise TypeError(f"a formula has squares, not powers of {by}")
    return Symbol("square", x)


def _logaddexp(a: Value, b: Value) -> Symbol:
    return Symbol("logsum", a, b)


_REWRITTEN: dict[str, Callable[..., Any]] = {
    "greater": lambda a, b: Symbol("lt", b, a),
    "greater_equal": lambda a, b: Symbol("le", b, a),
    "not_equal": lambda a, b: Symbol("not", Symbol("eq", a, b)),
    "log2": lambda a: Symbol("mul", Symbol("log", a), LOG2),
    "exp2": lambda a: Symbol("exp", Symbol("mul", a, 1 / LOG2)),
    "isinf": lambda a: Symbol("lt", 1.7976931348623157e308, Symbol("abs", a)),
    "square": lambda a: Symbol("square", a),
    "power": _power,
    "ldexp": _ldexp,
    "logaddexp": _logaddexp,
    "xlogy": lambda a, b: where(a == 0, 0.0, a * np.log(b)),
    "xlog1py": lambda a, b: where(a == 0, 0.0, a * np.log1p(b)),
}


NEUTRAL = {"add": 0.0, "sub": 0.0, "mul": 1.0, "div": 1.0, "and": 1.0, "or": 0.0}  # what leaves the other as it is


def simplify(op: str, args: Sequence[Value]) -> Value:
    """The operation, without what changes nothing."""
    if op in NEUTRAL:
        one, other = args
        if isinstance(other, float) and other == NEUTRAL[op]:
            return one
        if isinstance(one, float) and one == NEUTRAL[op] and op not in ("sub", "div"):
            return other
        if op == "mul" and one is other:
            return Symbol("square", one)
        if op == "mul" and isinstance(one, Symbol) and one.op == "mul" and one.args[1] is other:  # c x x
            return Symbol("mul", one.args[0], Symbol("square", other))
    return Symbol(op, *args)


def constant(value: Value | ArrayLike) -> Value:
    """A number, or one for each class: (K,); a symbol as it is."""
    if isinstance(value, Symbol):
        return value
    array = np.asarray(value, dtype=np.float64)
    return float(array.reshape(-1)[0]) if array.size == 1 else array.reshape(-1)


def where(condition: Value | Bool | bool, one: Value, other: Value) -> Any:
    """np.where, decided at once if the condition is known."""
    test, one, other = constant(condition), constant(one), constant(other)
    if not isinstance(test, Symbol):
        if np.all(test):
            return one
        if not np.any(test):
            return other
    return Symbol("where", test, one, other)


def primitive(name: str) -> Callable[[Callable[..., Float]], Callable[..., Float]]:
    """Decorate a function that every target knows by a name of its own: of symbols it is one operation."""

    def register(function: Callable[..., Float]) -> Callable[..., Float]:
        PRIMITIVES[name] = function

        @wraps(function)
        def known(*args: Any) -> Any:
            if any(isinstance(a, Symbol) for a in args):
                return Symbol(name, *map(constant, args))
            return function(*args)

        return known

    return register


def total(terms: Sequence[Value]) -> Any:
    """The sum of some symbols."""
    given = [constant(term) for term in terms]
    return Symbol("add", *given) if any(isinstance(term, Symbol) for term in given) else sum(given, np.zeros(1))


def place(cuts: Float, x: Value) -> Any:
    """How many of some ascending cuts lie below a number."""
    return Symbol("place", x, Table(np.asarray(cuts, dtype=np.float64)))


def take(table: Float, index: Value) -> Symbol:
    """The line of a table that an index, from 0 on, points at: a number, or one for each class."""
    return Symbol("take", constant(index), Table(np.asarray(table, dtype=np.float64)))


def logsum(symbols: Sequence[Value]) -> Symbol:
    """log of the sum of exponentials."""
    return Symbol("logsum", *map(constant, symbols))


def largest(symbol: Value) -> Symbol:
    """Over the classes."""
    return Symbol("largest", symbol)


def least(symbol: Value) -> Symbol:
    """Over the classes."""
    return Symbol("least", symbol)


def together(symbol: Value) -> Symbol:
    """log of the sum of exponentials over the classes."""
    return Symbol("together", symbol)


class Table:
    """Numbers that steps look up."""

    def __init__(self, numbers: Float) -> None:
        self.numbers = numbers

    @property
    def count(self) -> int:
        """How many."""
        return self.numbers.size


Read = Sequence[Float]  # what the columns hold: numbers, NaN where missing, or codes; (n,) each

ONES: Mapping[str, Callable[..., Any]] = {
    "neg": np.negative, "abs": np.abs, "floor": np.floor, "square": np.square, "sqrt": np.sqrt, "log": np.log,
    "log1p": np.log1p, "exp": np.exp, "sin": np.sin, "cos": np.cos, "not": np.logical_not, "missing": np.isnan,
    "sub": np.subtract, "mul": np.multiply, "div": np.divide, "min": np.minimum, "max": np.maximum, "lt": np.less,
    "le": np.less_equal, "eq": np.equal, "and": np.logical_and, "or": np.logical_or,
    "where": lambda c, a, b: np.where(c, a, b),
    "add": lambda *terms: reduce(np.add, terms),
    "logsum": lambda *terms: reduce(np.logaddexp, terms),
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


class Steps:
    """Operations, each once, in an order in which arguments come first."""

    def __init__(self) -> None:
        self.made: list[Step] = []
        self._known: dict[Step, int] = {}
        self._of: dict[int, int] = {}
        self._held: list[tuple[Value, Step]] = []  # so that no id is given twice

    def add(self, value: Value) -> int:
        """The place of a symbol or constant."""
        waiting = [value]
        while waiting:
            one = waiting[-1]
            if id(one) in self._of:
                waiting.pop()
                continue
            if not isinstance(one, Symbol):
                self._put(one, ("constant", one if isinstance(one, float) else tuple(np.asarray(one).tolist())))
                waiting.pop()
                continue
            left = [a for a in one.args if not isinstance(a, int) and is_step(a) and id(a) not in self._of]
            if left:
                waiting += reversed(left)
                continue
            self._put(
                one, (one.op, *(self._of[id(a)] if not isinstance(a, int) and is_step(a) else a for a in one.args))
            )
            waiting.pop()
        return self._of[id(value)]

    def _put(self, value: Value, step: Step) -> None:
        key = tuple(id(a) if isinstance(a, Table | Node) else a for a in step)
        place = self._known.setdefault(key, len(self.made))
        if place == len(self.made):
            self.made.append(step)
        self._of[id(value)] = place
        self._held.append((value, step))

    def json(self, store: TableStore) -> list[list[object]]:
        return [_write_step(step, store) for step in self.made]


def is_step(argument: object) -> bool:
    """Whether an argument of a symbol is a step of its own: a symbol or a constant."""
    return isinstance(argument, Symbol | float | np.ndarray)


def _write_step(step: Step, store: TableStore) -> list[object]:
    op, *args = step
    if op == "constant":
        value = args[0]
        return [op, to_list(np.array(value)) if isinstance(value, tuple) else to_json(value)]
    out: list[object] = [op]
    for argument in args:
        if isinstance(argument, Table):
            many = argument.numbers.ndim > 1  # by class: logarithms
            out.append(store.logs(argument.numbers) if many else store.table(argument.numbers))
        elif isinstance(argument, int):
            out.append(argument)
        else:
            out.append(argument.json(store))
    return out
