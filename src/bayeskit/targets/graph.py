"""Graph: what a program is in ONNX, nodes and the constants they use, and the operations that take several nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

LAST = np.array([-1])  # the axis of the classes


@dataclass
class Graph:
    """Nodes in order, and the constants they use; equal ones are held once."""

    prefix: str = ""
    nodes: list[Any] = field(default_factory=list)
    constants: dict[tuple[str, tuple[int, ...], bytes], tuple[str, Any]] = field(default_factory=dict)

    def add(self, op: str, *inputs: str, output: str = "", **attributes: object) -> str:
        """The result of an operation."""
        name = output or f"{self.prefix}s{len(self.nodes)}"
        self.add_many(op, inputs, (name,), **attributes)
        return name

    def add_many(self, op: str, inputs: tuple[str, ...], outputs: tuple[str, ...], **attributes: object) -> None:
        """An operation with several results, of these names."""
        from onnx import helper

        domain = "ai.onnx.ml" if op == "LabelEncoder" else ""
        name = f"{outputs[-1]}/{op}"
        self.nodes.append(helper.make_node(op, list(inputs), list(outputs), name=name, domain=domain, **attributes))

    def constant(self, value: object) -> str:
        """An array, or numbers as doubles."""
        array = np.asarray(value) if isinstance(value, np.ndarray) else np.asarray(value, dtype=np.float64)
        key = (
            array.dtype.str,
            array.shape,
            repr(array.tolist()).encode() if array.dtype == object else array.tobytes(),
        )
        return self.constants.setdefault(key, (f"{self.prefix}k{len(self.constants)}", array))[0]

    def body(self, name: str) -> Graph:
        """The graph of a loop, which uses the constants of this one."""
        return Graph(f"{self.prefix}{name}/", [], self.constants)

    @property
    def initializers(self) -> list[Any]:
        from onnx import numpy_helper

        used = _used(self.nodes)
        return [numpy_helper.from_array(array, name) for name, array in self.constants.values() if name in used]


def _used(nodes: Any) -> set[str]:
    """What nodes take, those of loops included."""
    own = {name for node in nodes for name in node.input}
    return own.union(*(_used(a.g.node) for node in nodes for a in node.attribute if a.HasField("g")))


def _together(graph: Graph, x: str) -> str:
    """log of the sum of exponentials over the second axis."""
    add, constant, axis = graph.add, graph.constant, graph.constant(LAST)
    top = add("ReduceMax", x, axis, keepdims=1)
    top = add("Where", add("IsInf", top), constant(0.0), top)
    return add("Add", top, add("Log", add("ReduceSum", add("Exp", add("Sub", x, top)), axis, keepdims=1)))


def _logsum(graph: Graph, *x: str) -> str:
    if len(x) == 1:
        return x[0]
    add = graph.add
    top = reduce(lambda a, b: add("Max", a, b), x)
    top = add("Where", add("IsInf", top), graph.constant(0.0), top)
    return add(
        "Add", top, add("Log", reduce(lambda a, b: add("Add", a, b), [add("Exp", add("Sub", v, top)) for v in x]))
    )


def _peak(graph: Graph, *x: str) -> str:
    """The largest of all numbers of all classes, whichever are missing."""
    add, low = graph.add, graph.constant(-np.inf)
    each = [add("Where", add("IsNaN", v), low, v) for v in x]
    tops = [add("ReduceMax", v, graph.constant(LAST), keepdims=1) for v in each]
    return reduce(lambda a, b: add("Max", a, b), tops)


def _log1p(graph: Graph, x: str) -> str:
    """Kahan's, which keeps the digits of small x."""
    add, one = graph.add, graph.constant(1.0)
    more = add("Add", x, one)
    found = add("Div", add("Mul", add("Log", more), x), add("Sub", more, one))
    return add("Where", add("Equal", more, one), x, found)


def _deviance(graph: Graph, x: str, mean: str) -> str:
    """x log(x / m) + m - x, by a series in (x - m) / (x + m) where it would cancel."""
    add, constant = graph.add, graph.constant
    half, zero = constant(0.5), constant(0.0)
    a, b = add("Mul", x, half), add("Mul", mean, half)
    v = add("Div", add("Sub", a, b), add("Add", a, b))
    square, tail = add("Mul", v, v), zero
    for k in range(10, 0, -1):
        tail = add("Mul", add("Add", tail, constant(1 / (2 * k + 1))), square)
    rest = add("Mul", x, add("Mul", add("Mul", constant(2.0), v), tail))
    near = add("Add", add("Mul", add("Sub", x, mean), v), rest)
    logs = add("Mul", x, add("Sub", add("Log", x), add("Log", mean)))
    far = add("Add", add("Where", add("Greater", x, zero), logs, zero), add("Sub", mean, x))
    return add("Where", add("Less", add("Abs", v), constant(0.1)), near, far)


def _stirling(graph: Graph, x: str) -> str:
    """log Gamma(x + 1) less Stirling's formula: a series from 15 on, and fifteen factors before it below."""
    add, constant = graph.add, graph.constant
    low = add("Less", x, constant(15.0))
    far = add("Where", low, add("Add", x, constant(15.0)), x)
    inverse = add("Div", constant(1.0), add("Mul", far, far))
    series = constant(691 / 360360)
    for part in (1 / 1188, 1 / 1680, 1 / 1260, 1 / 360, 1 / 12):
        series = add("Sub", constant(part), add("Mul", series, inverse))
    series = add("Div", series, far)
    factors = [add("Add", x, constant(float(i))) for i in range(1, 16)]
    rising = add("Log", reduce(lambda a, b: add("Mul", a, b), factors))
    whole = add("Sub", add("Mul", add("Add", far, constant(0.5)), add("Log", far)), far)
    own = add("Sub", add("Mul", add("Add", x, constant(0.5)), add("Log", x)), x)
    below = add("Sub", add("Sub", add("Add", whole, series), rising), own)
    return add("Where", low, below, series)


def _stack(graph: Graph, *x: str) -> str:
    """One number for each class; constants have one row."""
    return graph.add("Concat", *x, axis=-1)


CONDITIONS = {"lt": "Less", "le": "LessOrEqual", "eq": "Equal", "missing": "IsNaN"}
SIMPLE = {
    "sub": "Sub", "mul": "Mul", "div": "Div", "min": "Min", "max": "Max", "neg": "Neg", "abs": "Abs", "floor": "Floor",
    "sqrt": "Sqrt", "log": "Log", "exp": "Exp", "sin": "Sin", "cos": "Cos",
}  # fmt: skip
FORMULAS: Mapping[str, Callable[..., str]] = {
    "add": lambda graph, *x: reduce(lambda a, b: graph.add("Add", a, b), x),
    "square": lambda graph, x: graph.add("Mul", x, x),
    "largest": lambda graph, x: graph.add("ReduceMax", x, graph.constant(LAST), keepdims=1),
    "least": lambda graph, x: graph.add("ReduceMin", x, graph.constant(LAST), keepdims=1),
    "together": _together, "logsum": _logsum, "peak": _peak, "log1p": _log1p, "deviance": _deviance,
    "stirling": _stirling, "stack": _stack,
}  # fmt: skip
