"""ONNX: a program as a graph of double tensors, (n, 1) or (n, K), that any runtime of opset 18 computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.arrays import Float, Label
from bayeskit.data.levels import BOOL, NUMBER, TEXT
from bayeskit.errors import InputError
from bayeskit.portable.nodes import Kernel
from bayeskit.portable.program import InputColumn, Program, Unportable
from bayeskit.portable.symbol import Step, Steps
from bayeskit.targets.alike import Alike
from bayeskit.targets.expand import log_posterior
from bayeskit.targets.graph import CONDITIONS, FORMULAS, LAST, SIMPLE, Graph
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
        self.made: dict[int, Tensor] = {}
        self.codes: dict[int, Tensor] = {}

    def write(self, names: tuple[str, str]) -> None:
        """Add everything up to the label and the probabilities, of these names."""
        steps, graph = Steps(), self.graph
        root = steps.add(log_posterior(self.program))
        alike = Alike.of(steps.made, root)
        for i in alike.needed:
            self.made[i] = self._sum(steps.made[i][0], alike, i) if i in alike.groups else self._step(steps.made[i])
        k, add, constant = len(self.program.classes), graph.add, graph.constant
        rows = add("Shape", self.inputs[0], start=0, end=1)
        shape = add("Concat", rows, constant(np.array([k])), axis=0)
        score = add("Expand", self.number(self.made[root]), shape)
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

    def _sum(self, op: str, alike: Alike, i: int) -> Tensor:
        """A sum, or a peak, of many: those that are alike are computed together."""
        single, groups = alike.groups[i]
        parts = [self.number(self.made[a]) for a in single]
        for members in groups:
            every = Stack(self, alike, len(members)).value(tuple(members)).name
            by = "ReduceSum" if op == "add" else "ReduceMax"
            if op == "peak":  # whichever are missing
                every = self.graph.add("Where", self.graph.add("IsNaN", every), self.graph.constant(-np.inf), every)
            parts.append(self.graph.add(by, every, self.graph.constant(np.array([1])), keepdims=0))
        return Tensor(FORMULAS[op](self.graph, *parts))

    @property
    def _axis(self) -> str:
        return self.graph.constant(LAST)

    def _refused(self) -> str | None:
        """Where the model would refuse a row."""
        add, columns, found = self.graph.add, self.program.columns, []
        if numbers := [self.inputs[j] for j, column in enumerate(columns) if column.numeric]:
            found.append(add("IsInf", add("Concat", *numbers, axis=1)))
        if known := [self.code(j).name for j, column in enumerate(columns) if column.known_only]:
            found.append(add("Equal", add("Concat", *known, axis=1), self.graph.constant(-2.0)))
        if not found:
            return None
        bad = add("Concat", *(add("Cast", flags, to=6) for flags in found), axis=1)  # 6 is int32
        return add("Cast", add("ReduceMax", bad, self._axis, keepdims=1), to=9)

    def number(self, tensor: Tensor) -> str:
        return self.graph.add("Cast", tensor.name, to=11) if tensor.truth else tensor.name  # 11 is double

    def _truth(self, tensor: Tensor) -> str:
        return tensor.name if tensor.truth else self.graph.add("Cast", tensor.name, to=9)  # 9 is bool

    # -- columns ----------------------------------------------------------------------------------

    def code(self, j: int) -> Tensor:
        """The code of a column, a double."""
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
            return self.code(args[0])
        if op == "constant":
            return Tensor(constant(np.array(args[0], dtype=np.float64).reshape(1, -1)))
        if op == "take":
            return Tensor(self._take(self.number(self.made[args[0]]), args[1].numbers))
        if op == "place":
            return Tensor(self._place(self.number(self.made[args[0]]), args[1].numbers))
        if op == "kernels":
            return Tensor(self._kernels(args[0], self.number(self.made[args[1]])))
        if op == "forest":
            return Tensor(add_shares(args[0], graph, [self._rows(self.number(self.made[i])) for i in args[1:]]))
        if op == "class":
            whole = self.number(self.made[args[0]])
            return Tensor(add("Gather", whole, constant(np.array([args[1]])), axis=-1))
        return self.apply(op, [self.made[i] for i in args])

    def apply(self, op: str, given: Sequence[Tensor]) -> Tensor:
        """An operation on tensors."""
        graph, add = self.graph, self.graph.add
        if op in ("and", "or"):
            return Tensor(add(op.capitalize(), *map(self._truth, given)), True)
        if op == "not":
            return Tensor(add("Not", self._truth(given[0])), True)
        if op == "where":
            return Tensor(add("Where", self._truth(given[0]), *map(self.number, given[1:])))
        x = [self.number(tensor) for tensor in given]
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
        return self.take(index, [numbers])

    def take(self, index: str, tables: Sequence[Float]) -> str:
        """Lines of a table by places (n, 1), or of one table for each of (n, J, 1)."""
        add, constant, many = self.graph.add, self.graph.constant, len(tables) > 1
        each = [np.ascontiguousarray(t, dtype=np.float64).reshape(len(t), -1) for t in tables]
        sizes = np.array([len(lines) for lines in each], dtype=np.float64)
        low = add("Where", add("GreaterOrEqual", index, constant(0.0)), index, constant(0.0))  # NaN is 0
        at = add("Min", low, constant(sizes.reshape(-1, 1) - 1 if many else sizes[0] - 1))
        if many:
            at = add("Add", at, constant((np.cumsum(sizes) - sizes).reshape(-1, 1)))
        whole = add("Squeeze", add("Cast", at, to=7), self._axis)  # 7 is int64
        return add("Gather", constant(np.concatenate(each)), whole, axis=0)

    def _place(self, x: str, cuts: Float) -> str:
        return self.place(x, [cuts])

    def place(self, x: str, cuts: Sequence[Float]) -> str:
        """How many cuts lie below numbers (n, 1), or below (n, J, 1), each with cuts of its own."""
        add, constant, most = self.graph.add, self.graph.constant, max(map(len, cuts))
        half = 1 << (max(most, 1).bit_length() - 1)
        padded = np.full((len(cuts), most if most <= FEW else 2 * half), np.inf)
        for j, own in enumerate(cuts):
            padded[j, : len(own)] = own
        if most <= FEW:
            below = add("Cast", add("Less", constant(padded), x), to=11)
            return add("ReduceSum", below, self._axis, keepdims=1)
        at, tables = constant([[0.0]]), list(padded[..., None])
        while half:
            on = add("Add", at, constant(float(half)))
            asked = add("Sub", on, constant(1.0))
            if len(cuts) > 1:  # a place for each column
                asked = add("Add", asked, constant(np.zeros((1, len(cuts), 1))))
            below = add("Less", self.take(asked, tables), x)
            at, half = add("Where", below, on, at), half // 2
        return at

    def _kernels(self, kernel: Kernel, y: str) -> str:
        add, constant = self.graph.add, self.graph.constant
        away = add("Mul", add("Sub", y, constant(kernel.centre.reshape(1, -1))), constant(kernel.precision))
        near = add("Mul", add("Mul", away, away), constant(0.5))
        return FORMULAS["together"](self.graph, add("Sub", constant(kernel.log_weight.reshape(1, -1)), near))


class Stack:
    """Steps that are alike, each of another column: (n, J, 1) or (n, J, K) in place of (n, 1) or (n, K)."""

    def __init__(self, writer: Writer, alike: Alike, size: int) -> None:
        self.writer, self.alike, self.size = writer, alike, size
        self.known: dict[tuple[int, ...], Tensor] = {}

    def value(self, places: tuple[int, ...]) -> Tensor:
        """Of the steps at some places."""
        if places not in self.known:
            self.known[places] = self._value(places)
        return self.known[places]

    def _value(self, places: tuple[int, ...]) -> Tensor:
        writer, made = self.writer, self.alike.made
        graph, axis = writer.graph, writer.graph.constant(np.array([1]))
        if places[0] in self.alike.groups:  # one for all of them
            whole = writer.made[places[0]]
            return Tensor(graph.add("Unsqueeze", whole.name, axis), whole.truth)
        steps = [made[i] for i in places]
        op, *args = steps[0]
        if op == "constant":
            return Tensor(graph.constant(np.array([np.reshape(step[1], -1) for step in steps], dtype=np.float64)[None]))
        if op in ("number", "code"):
            each = [writer.inputs[s[1]] if op == "number" else writer.code(s[1]).name for s in steps]
            return Tensor(graph.add("Unsqueeze", graph.add("Concat", *each, axis=1), graph.constant(np.array([2]))))
        first = writer.number(self.value(tuple(step[1] for step in steps)))
        if op == "take":
            return Tensor(writer.take(first, [step[2].numbers for step in steps]))
        if op == "place":
            return Tensor(writer.place(first, [step[2].numbers for step in steps]))
        if op == "class":
            return Tensor(graph.add("Gather", first, graph.constant(np.array([args[1]])), axis=-1))
        return writer.apply(op, [self.value(tuple(step[k] for step in steps)) for k in range(1, len(args) + 1)])


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
