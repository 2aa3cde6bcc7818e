"""ONNX: a program as a graph of double tensors, (n, 1) or (n, K), that any runtime of opset 18 computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from bayeskit.arrays import Float, Label
from bayeskit.data.levels import BOOL, NUMBER, TEXT
from bayeskit.errors import InputError
from bayeskit.portable.nodes import Kernel
from bayeskit.portable.program import InputColumn, Program, Step, Steps, Unportable
from bayeskit.targets.expand import log_posterior
from bayeskit.targets.graph import Graph
from bayeskit.targets.trees import add_shares

OPSET, ML_OPSET, IR = 18, 3, 8
START = b"\x08\x08\x12\x08bayeskit"  # of a file: the version of the format, and who wrote it
FEW = 32  # cuts that are compared one by one; more are halved
LABEL, PROBABILITIES = "label", "probabilities"  # as sklearn-onnx names them


@dataclass(frozen=True)
class Tensor:
    """A result by its name; conditions are of another type than numbers."""

    name: str
    truth: bool = False


class Writer:
    """Steps as nodes; ``inputs`` names a tensor (n, 1) for each column: doubles, or texts."""

    def __init__(self, program: Program, graph: Graph, inputs: Sequence[str], missing: str = "") -> None:
        if not program.columns:
            raise Unportable("it has no column, and a graph counts rows by them")
        self.program, self.graph, self.inputs, self.missing = program, graph, inputs, missing
        self.made: list[Tensor] = []
        self.codes: dict[int, Tensor] = {}

    def write(self, names: tuple[str, str]) -> None:
        """Add everything up to the label and the probabilities, of these names."""
        steps, graph = Steps(), self.graph
        root = steps.add(log_posterior(self.program))
        for step in steps.made:
            self.made.append(self._step(step))
        k, add, constant = len(self.program.classes), graph.add, graph.constant
        rows = add("Shape", self.inputs[0], start=0, end=1)
        shape = add("Concat", rows, constant(np.array([k])), axis=0)
        score = add("Expand", self._number(self.made[root]), shape)
        share = add("Exp", add("Sub", score, add("ReduceMax", score, self._axis, keepdims=1)))
        proba = add("Div", share, add("ReduceSum", share, self._axis, keepdims=1))
        best = add("ArgMax", proba, axis=1, keepdims=0)
        refused = self._refused()
        label, none = labels_of(self.program.classes)
        if refused is None:
            add("Identity", proba, output=names[1])
            add("Gather", constant(label), best, output=names[0])
            return
        add("Where", refused, constant(np.nan), proba, output=names[1])
        flat, said = add("Squeeze", refused, self._axis), add("Gather", constant(label), best)
        if label.dtype == np.bool_:  # of which runtimes cannot choose
            add("And", said, add("Not", flat), output=names[0])
        else:
            add("Where", flat, constant(none), said, output=names[0])

    @property
    def _axis(self) -> str:
        return self.graph.constant(np.array([1]))

    def _refused(self) -> str | None:
        """Where the model would refuse a row."""
        add, found = self.graph.add, []
        for j, column in enumerate(self.program.columns):
            if column.numeric:
                found.append(add("IsInf", self.inputs[j]))
            elif column.known_only:
                found.append(add("Equal", self._code(j).name, self.graph.constant(-2.0)))
        return reduce(lambda a, b: add("Or", a, b), found) if found else None

    def _number(self, tensor: Tensor) -> str:
        return self.graph.add("Cast", tensor.name, to=11) if tensor.truth else tensor.name  # 11 is double

    def _truth(self, tensor: Tensor) -> str:
        return tensor.name if tensor.truth else self.graph.add("Cast", tensor.name, to=9)  # 9 is bool

    # -- columns ----------------------------------------------------------------------------------

    def _code(self, j: int) -> Tensor:
        if j not in self.codes:
            self.codes[j] = self._look_up(self.program.columns[j], self.inputs[j])
        return self.codes[j]

    def _look_up(self, column: InputColumn, x: str) -> Tensor:
        """The code of a level."""
        add, constant = self.graph.add, self.graph.constant
        known = [(value, code) for code, (family, value) in enumerate(column.keys) if family != 3]
        if is_text(column):
            if self.missing in {value for value, _ in known}:
                raise InputError(
                    f"column {column.name!r} has the level {self.missing!r}, which is how a missing text is given too; "
                    "choose another text for it by missing="
                )
            texts, places = [self.missing, *(v for v, _ in known)], [column.missing_code, *(c for _, c in known)]
            found = add("LabelEncoder", x, keys_strings=texts, values_int64s=places, default_int64=-2)
            return Tensor(add("Cast", found, to=11))
        if large := [v for v, _ in known if isinstance(v, int) and abs(v) > 2**53]:
            raise Unportable(f"the level {large[0]} is a whole number that a double does not hold")
        if known:
            keys, codes = (np.array(side, dtype=np.float64) for side in zip(*sorted(known), strict=True))
            at = self._place(x, keys)
            same = add("Equal", self._take(at, keys.reshape(-1, 1)), x)
            found = add("Where", same, self._take(at, codes.reshape(-1, 1)), constant([[-2.0]]))
        else:
            found = constant([[-2.0]])
        return Tensor(add("Where", add("IsNaN", x), constant([[float(column.missing_code)]]), found))

    # -- steps ------------------------------------------------------------------------------------

    def _step(self, step: Step) -> Tensor:
        op, *args = step
        graph, add, constant = self.graph, self.graph.add, self.graph.constant
        if op == "number":
            return Tensor(self.inputs[args[0]])
        if op == "code":
            return self._code(args[0])
        if op == "constant":
            return Tensor(constant(np.array(args[0], dtype=np.float64).reshape(1, -1)))
        if op == "take":
            return Tensor(self._take(self._number(self.made[args[0]]), args[1].numbers))
        if op == "place":
            return Tensor(self._place(self._number(self.made[args[0]]), args[1].numbers))
        if op == "kernels":
            return Tensor(self._kernels(args[0], self._number(self.made[args[1]])))
        if op == "forest":
            return Tensor(add_shares(args[0], graph, [self._rows(self._number(self.made[i])) for i in args[1:]]))
        if op == "class":
            whole = self._number(self.made[args[0]])
            return Tensor(add("Gather", whole, constant(np.array([args[1]])), axis=1))
        given = [self.made[i] for i in args]
        if op in ("and", "or"):
            return Tensor(add(op.capitalize(), *map(self._truth, given)), True)
        if op == "not":
            return Tensor(add("Not", self._truth(given[0])), True)
        if op == "where":
            return Tensor(add("Where", self._truth(given[0]), *map(self._number, given[1:])))
        x = [self._number(tensor) for tensor in given]
        if op in CONDITIONS:
            return Tensor(add(CONDITIONS[op], *x), True)
        if op in SIMPLE:
            return Tensor(add(SIMPLE[op], *x))
        return Tensor(FORMULAS[op](graph, *x))

    def _rows(self, x: str) -> str:
        """A number for each row, if it was one for all."""
        rows = self.graph.add("Shape", self.inputs[0], start=0, end=1)
        return self.graph.add("Expand", x, self.graph.add("Concat", rows, self.graph.constant(np.array([1])), axis=0))

    def _take(self, index: str, numbers: Float) -> str:
        add, constant = self.graph.add, self.graph.constant
        lines = np.ascontiguousarray(numbers, dtype=np.float64).reshape(len(numbers), -1)
        low = add("Where", add("GreaterOrEqual", index, constant(0.0)), index, constant(0.0))  # NaN is 0
        at = add("Cast", add("Min", low, constant(float(len(lines) - 1))), to=7)  # 7 is int64
        return add("Gather", constant(lines), add("Squeeze", at, self._axis), axis=0)

    def _place(self, x: str, cuts: Float) -> str:
        """How many cuts lie below x."""
        add, constant = self.graph.add, self.graph.constant
        if len(cuts) <= FEW:
            below = add("Cast", add("Less", constant(cuts.reshape(1, -1)), x), to=11)
            return add("ReduceSum", below, self._axis, keepdims=1)
        half = 1 << (len(cuts).bit_length() - 1)
        padded = np.concatenate([cuts, np.full(2 * half - len(cuts), np.inf)]).reshape(-1, 1)
        at = constant([[0.0]])
        while half:
            on = add("Add", at, constant(float(half)))
            below = add("Less", self._take(add("Sub", on, constant(1.0)), padded), x)
            at, half = add("Where", below, on, at), half // 2
        return at

    def _kernels(self, kernel: Kernel, y: str) -> str:
        add, constant = self.graph.add, self.graph.constant
        away = add("Mul", add("Sub", y, constant(kernel.centre.reshape(1, -1))), constant(kernel.precision))
        near = add("Mul", add("Mul", away, away), constant(0.5))
        return _together(self.graph, add("Sub", constant(kernel.log_weight.reshape(1, -1)), near))


def _together(graph: Graph, x: str) -> str:
    """log of the sum of exponentials over the second axis."""
    add, constant, axis = graph.add, graph.constant, graph.constant(np.array([1]))
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
    tops = [add("ReduceMax", v, graph.constant(np.array([1])), keepdims=1) for v in each]
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
    return graph.add("Concat", *x, axis=1)


CONDITIONS = {"lt": "Less", "le": "LessOrEqual", "eq": "Equal", "missing": "IsNaN"}
SIMPLE = {
    "sub": "Sub", "mul": "Mul", "div": "Div", "min": "Min", "max": "Max", "neg": "Neg", "abs": "Abs", "floor": "Floor",
    "sqrt": "Sqrt", "log": "Log", "exp": "Exp", "sin": "Sin", "cos": "Cos",
}  # fmt: skip
FORMULAS: Mapping[str, Callable[..., str]] = {
    "add": lambda graph, *x: reduce(lambda a, b: graph.add("Add", a, b), x),
    "square": lambda graph, x: graph.add("Mul", x, x),
    "largest": lambda graph, x: graph.add("ReduceMax", x, graph.constant(np.array([1])), keepdims=1),
    "least": lambda graph, x: graph.add("ReduceMin", x, graph.constant(np.array([1])), keepdims=1),
    "together": _together, "logsum": _logsum, "peak": _peak, "log1p": _log1p, "deviance": _deviance,
    "stirling": _stirling, "stack": _stack,
}  # fmt: skip


def is_text(column: InputColumn) -> bool:
    """Whether a column is given as texts; numbers and truth values (0 and 1) are doubles."""
    families = {family for family, _ in column.keys} & {BOOL, NUMBER, TEXT}
    if len(families) > 1:
        raise Unportable(f"column {column.name!r} has levels of several types, and a tensor has one")
    return not column.numeric and families != {NUMBER} and families != {BOOL}


def labels_of(classes: Sequence[Label]) -> tuple[Any, Any]:
    """The classes as a tensor, and what stands where there is none."""
    if all(isinstance(label, str) for label in classes):
        return np.array(classes, dtype=object), np.array("", dtype=object)
    if all(isinstance(label, bool) for label in classes):
        return np.array(classes), np.array(False)
    if all(isinstance(label, int) and not isinstance(label, bool) and abs(label) < 2**63 for label in classes):
        return np.array(classes, dtype=np.int64), np.array(-(2**63), dtype=np.int64)
    if all(isinstance(label, float) for label in classes):
        return np.array(classes, dtype=np.float64), np.array(np.nan)
    raise Unportable("its classes are of several types, and a tensor has one")


def onnx(program: Program, missing: str, version: str) -> bytes:
    """A model with an input for each column, and the outputs ``label`` and ``probabilities``."""
    try:
        from onnx import TensorProto, helper
    except ImportError as why:
        raise InputError("ONNX files are written by the package onnx: pip install 'bayeskit[onnx]'") from why
    names = [column.name for column in program.columns]
    if taken := sorted({LABEL, PROBABILITIES, ""} & set(names)):
        raise Unportable(f"a column is named {taken[0]!r}, as an output is; rename it")
    graph = Graph("bayeskit/")
    Writer(program, graph, names, missing).write((LABEL, PROBABILITIES))
    text, double = TensorProto.STRING, TensorProto.DOUBLE
    given = [
        helper.make_tensor_value_info(c.name, text if is_text(c) else double, ["rows", 1]) for c in program.columns
    ]
    label = helper.np_dtype_to_tensor_dtype(labels_of(program.classes)[0].dtype)
    answers = [
        helper.make_tensor_value_info(LABEL, label, ["rows"]),
        helper.make_tensor_value_info(PROBABILITIES, double, ["rows", len(program.classes)]),
    ]
    made = helper.make_graph(graph.nodes, "bayeskit", given, answers, graph.initializers)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    model = helper.make_model(
        made, opset_imports=opsets, ir_version=IR, producer_name="bayeskit", producer_version=version
    )
    return bytes(model.SerializeToString())
