"""Converters: classifiers of this library inside pipelines that sklearn-onnx converts."""

from __future__ import annotations

from typing import Any

import numpy as np

import bayeskit
from bayeskit.errors import InputError
from bayeskit.portable.program import Portable, Unportable
from bayeskit.targets.door import check_rows
from bayeskit.targets.graph import Graph
from bayeskit.targets.onnx import LABEL, OPSET, PROBABILITIES, Writer, is_text, labels_of

DOUBLE = 11  # as ONNX numbers types


def register_onnx() -> list[str]:
    """Tell sklearn-onnx how classifiers of this library are converted, so that pipelines with them are.

    The outputs are ``label`` and ``probabilities`` (doubles), without a ZipMap. Numbers are computed with as doubles
    whatever type they come in; a text of no characters is a missing one.

    Returns
    -------
    list of str
        The names of the classes.

    Examples
    --------
    >>> import bayeskit as bk
    >>> "NaiveBayes" in bk.register_onnx()
    True
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError as why:
        raise InputError("pipelines are converted by sklearn-onnx: pip install 'bayeskit[onnx]'") from why
    found = []
    for name in bayeskit.__all__:
        made = getattr(bayeskit, name)
        if (
            isinstance(made, type) and issubclass(made, Portable) and name != "RiskClassifier"
        ):  # whose label is an action
            update_registered_converter(made, f"Bayeskit{name}", _declare_types, _convert, parser=_parse)
            found.append(name)
    return found


def _parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """An operator with a label and probabilities."""
    operator = scope.declare_local_operator(f"Bayeskit{type(model).__name__}", model)
    operator.inputs = inputs
    for name, kind in zip((LABEL, PROBABILITIES), _types(model), strict=True):
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return operator.outputs


def _types(model: Any) -> tuple[Any, Any]:
    from skl2onnx.common import data_types as types

    known = {"O": types.StringTensorType, "i": types.Int64TensorType, "b": types.BooleanTensorType}
    kind = labels_of(tuple(model.classes_.tolist()))[0].dtype.kind
    return known.get(kind, types.DoubleTensorType)([None]), types.DoubleTensorType([None, len(model.classes_)])


def _declare_types(operator: Any) -> None:
    for output, kind in zip(operator.outputs, _types(operator.raw_operator), strict=True):
        output.type = kind


def _convert(scope: Any, operator: Any, container: Any) -> None:
    from onnx import helper

    model = operator.raw_operator
    if container.target_opset < OPSET:
        raise InputError(f"target_opset={container.target_opset}: classifiers of bayeskit take {OPSET} or later")
    try:
        program = model.program()
        check_rows(program)
        graph = Graph(scope.get_unique_variable_name("bayeskit") + "/")
        columns = _columns(graph, operator.inputs, model.table_reader().schema.names)
        given = [_given(graph, *columns[column.name], column) for column in program.columns]
        Writer(program, graph, given).write((operator.outputs[0].full_name, operator.outputs[1].full_name))
    except Unportable as why:
        raise InputError(f"{type(model).__name__} cannot be converted to onnx: {why}") from why
    for made in graph.initializers:
        texts = made.string_data
        container.add_initializer(made.name, made.data_type, list(made.dims), list(texts) if texts else made)
    for node in graph.nodes:
        settings = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        version = 2 if node.domain else None  # of a table of texts, as sklearn-onnx knows it
        container.add_node(
            node.op_type, list(node.input), list(node.output), node.domain, version, name=node.name, **settings
        )


def _columns(graph: Graph, inputs: Any, names: tuple[str, ...]) -> dict[str, tuple[str, Any]]:
    """The tensor (n, 1) of each column, and its type; inputs of several columns are cut."""
    found: list[tuple[str, Any]] = []
    for given in inputs:
        wide = given.type.shape[1] if len(given.type.shape) > 1 else 1
        if wide is None:
            raise InputError(f"input {given.raw_name!r} has no number of columns; say so in initial_types")
        for j in range(wide):
            at = graph.constant(np.array([j]))
            found.append(
                (graph.add("Gather", given.full_name, at, axis=1) if wide > 1 else given.full_name, given.type)
            )
    if len(found) != len(names):
        raise InputError(f"the inputs have {len(found)} columns, and the model learned {len(names)}")
    return dict(zip(names, found, strict=True))


def _given(graph: Graph, name: str, kind: Any, column: Any) -> str:
    text = type(kind).__name__ == "StringTensorType"
    if text != is_text(column):
        wanted = "texts" if is_text(column) else "numbers"
        raise InputError(
            f"column {column.name!r} was learned as {wanted}; the input that gives it is a {type(kind).__name__}"
        )
    return name if text else graph.add("Cast", name, to=DOUBLE)
