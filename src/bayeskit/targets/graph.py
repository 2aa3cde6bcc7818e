"""Graph: what a program is in ONNX, nodes and the constants they use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


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
