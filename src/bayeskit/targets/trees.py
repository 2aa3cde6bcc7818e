"""Trees: a forest as joins of its nodes, depth by depth, in SQL, and as a loop over depths in ONNX.

Either holds a front: for each row and tree the nodes it has come to and their weights, two where a code is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters, digits

import numpy as np

from bayeskit.arrays import Int
from bayeskit.portable.nodes import Forest
from bayeskit.targets.dialect import Dialect
from bayeskit.targets.graph import Graph

LETTERS = "-" + ascii_letters + digits + "+/"  # of codes from -1 on
CODE = 7  # int64, in ONNX


def pack(codes: Sequence[str], dialect: Dialect) -> str:
    """The codes of a row as a text, a letter each."""
    return " || ".join(f"substr('{LETTERS}', {dialect.cast(code, 'whole')} + 2, 1)" for code in codes)


def select_shares(node: Forest, dialect: Dialect, name: str, source: str, packed: str) -> list[str]:
    """Tables, the last of which is called ``name``: what they say of each class as v0, v1, ... by packed codes r.

    Rows that have the same codes walk together. Of each node that splits there are four arcs: codes that go to its
    child have key 3 i, others 3 i + 1, and missing ones 3 i + 2, both ways.
    """
    depth, children, shares = depths(node), node.children, node.shares
    inner, leaf = np.flatnonzero(node.column >= 0), np.flatnonzero(node.column < 0)
    nodes = {
        "i": inner.tolist(),
        "d": depth[inner].tolist(),
        "c": children[inner].tolist(),
        "j": (node.column[inner] + 1).tolist(),
        "m": [_members(low, high) for low, high in node.mask[inner].tolist()],
        "f": node.first[inner].tolist(),
    }
    leaves = {"i": leaf.tolist(), **{f"p{c}": shares[leaf, c].tolist() for c in range(shares.shape[1])}}
    one = dialect.number(1.0)
    ways = [("0", "c", one), ("1", "c + 1", one), ("2", "c", "f"), ("2", "c + 1", f"{one} - f")]
    arcs = " UNION ALL ".join(f"SELECT d, i * 3 + {k} AS k, {n} AS n, {p} AS p FROM {name}_n" for k, n, p in ways)
    made = [
        f"{name}_n {dialect.once} ({dialect.long(nodes)})",
        f"{name}_l {dialect.once} ({dialect.long(leaves)})",
        f"{name}_a {dialect.once} "
        f"(SELECT a.d, a.k, a.n, a.p, b.j, b.m FROM ({arcs}) AS a LEFT JOIN {name}_n AS b ON b.i = a.n)",
        f"{name}_t AS ({dialect.long({'n': node.roots.tolist()})})",
        f"{name}_0 AS (SELECT r.r, t.n, {one} AS p, b.j, b.m FROM (SELECT DISTINCT {packed} AS r FROM {source}) AS r "
        f"CROSS JOIN {name}_t AS t LEFT JOIN {name}_n AS b ON b.i = t.n)",
    ]
    for d in range(int(depth.max())):
        letter = "substr(r, j, 1)"
        way = f"CASE WHEN {letter} = '-' THEN 2 WHEN {dialect.within('m', letter)} THEN 0 ELSE 1 END"
        front = f"SELECT r, n, p, CASE WHEN j IS NOT NULL THEN n * 3 + {way} END AS k FROM {name}_{d}{dialect.fence}"
        made.append(
            f"{name}_{d + 1} AS (SELECT v.r, coalesce(a.n, v.n) AS n, v.p * coalesce(a.p, {one}) AS p, a.j, a.m "
            f"FROM ({front}) AS v LEFT JOIN (SELECT * FROM {name}_a WHERE d = {d}) AS a ON a.k = v.k)"
        )
    sums = [f"sum(w.p * l.p{c})" for c in range(shares.shape[1])]
    if not node.boosted:
        sums = [f"ln({total} / {dialect.number(float(len(node.sizes)))})" for total in sums]
    logs = [
        f"{total} - {dialect.number(float(p))} AS v{c}"
        for c, (total, p) in enumerate(zip(sums, node.before, strict=True))
    ]
    last = f"{name}_{int(depth.max())} AS w JOIN {name}_l AS l ON l.i = w.n"
    made.append(f"{name} AS (SELECT w.r, {', '.join(logs)} FROM {last} GROUP BY w.r)")
    return made


def add_shares(node: Forest, graph: Graph, codes: Sequence[str]) -> str:
    """What they say of each class, (n, K), from doubles (n, 1)."""
    from onnx import TensorProto, helper

    add, constant = graph.add, graph.constant
    width, trees, classes = len(codes), len(node.sizes), node.shares.shape[1]
    whole = add("Cast", add("Concat", *codes, axis=1), to=CODE)
    flat = add("Reshape", whole, constant(np.array([-1])))
    rows = add("Shape", whole, start=0, end=1)
    many = add("Concat", rows, constant(np.array([trees])), axis=0)
    each = add("Range", constant(np.array(0)), add("Squeeze", rows), constant(np.array(1)))

    def begin(values: str) -> str:
        return add("Reshape", add("Expand", values, many), constant(np.array([-1])))

    row = begin(add("Unsqueeze", each, constant(np.array([1]))))
    front = row, begin(constant(node.roots.reshape(1, -1))), begin(constant([[1.0]]))
    start = add("Expand", constant([[0.0]]), add("Concat", rows, constant(np.array([classes])), axis=0))
    body = graph.body(f"trees{len(graph.nodes)}")
    kinds = {"row": CODE, "node": CODE, "weight": TensorProto.DOUBLE, "sum": TensorProto.DOUBLE}
    given = {name: f"{body.prefix}{name}" for name in ("step", "go", *kinds)}
    ends = _walk(node, body, given, flat, width)
    scalar = [helper.make_tensor_value_info(given["step"], CODE, []), helper.make_tensor_value_info(given["go"], 9, [])]
    shapes = {name: ["rows", classes] if name == "sum" else [None] for name in kinds}
    inputs = [*scalar, *(helper.make_tensor_value_info(given[n], kind, shapes[n]) for n, kind in kinds.items())]
    outputs = [helper.make_tensor_value_info(ends[0], 9, [])]
    outputs += [helper.make_tensor_value_info(e, kinds[n], shapes[n]) for e, n in zip(ends[1:], kinds, strict=True)]
    loop = helper.make_graph(body.nodes, f"{body.prefix}depth", inputs, outputs)
    made = tuple(f"{body.prefix}{name}_end" for name in kinds)
    graph.add_many("Loop", ("", constant(np.array(True)), *front, start), made, body=loop)
    logs = made[-1] if node.boosted else add("Log", add("Div", made[-1], constant(float(trees))))
    return add("Sub", logs, constant(node.before.reshape(1, -1)))


def _walk(node: Forest, body: Graph, given: dict[str, str], flat: str, width: int) -> list[str]:
    """One depth: nodes that are leaves are added up, the others go on to their children."""
    add, constant = body.add, body.constant
    one, zero, column_axis = constant(np.array(1)), constant(np.array(0)), constant(np.array([1]))
    column = add("Gather", constant(np.asarray(node.column, dtype=np.int64)), given["node"])
    leaf = add("Less", column, zero)

    def only(values: str, where: str) -> str:
        return add("Compress", values, where, axis=0)

    done, at, mass = (only(given[name], leaf) for name in ("row", "node", "weight"))
    shares = add("Mul", add("Unsqueeze", mass, column_axis), add("Gather", constant(node.shares), at))
    place = add("Expand", add("Unsqueeze", done, column_axis), add("Shape", shares))
    # not ScatterND, in which threads of onnxruntime overwrite each other's sums (its issue 18048)
    total = add("ScatterElements", given["sum"], place, shares, axis=0, reduction="add")
    inner = add("Not", leaf)
    row, at, mass, column = (only(values, inner) for values in (given["row"], given["node"], given["weight"], column))
    code = add("Gather", flat, add("Add", add("Mul", row, constant(np.array(width))), column))
    absent = add("Less", code, zero)
    low, high = node.mask.astype(np.uint64).T
    bits = add("Gather", constant(low | high << np.uint64(32)), at)
    shifted = add("BitShift", bits, add("Cast", add("Max", code, zero), to=13), direction="RIGHT")  # 13 is uint64
    bit = add("Cast", add("BitwiseAnd", shifted, constant(np.array(1, dtype=np.uint64))), to=CODE)
    child = add("Gather", constant(node.children), at)
    second = add("Add", child, one)
    part = add("Mul", mass, add("Gather", constant(node.first), at))
    there = add("Where", absent, child, add("Sub", second, bit))
    ends = [
        (row, only(row, absent)),
        (there, only(second, absent)),
        (add("Where", absent, part, mass), only(add("Sub", mass, part), absent)),
    ]
    front = [add("Concat", *both, axis=0) for both in ends]
    go = add("Greater", add("Size", front[0]), zero)
    return [go, *front, total]


def depths(node: Forest) -> Int:
    """How many splits lie above each node: (nodes,)."""
    out, children = np.zeros(len(node.column), dtype=np.int64), node.children
    level, d = node.roots, 0
    while len(inner := level[node.column[level] >= 0]):
        d += 1
        level = np.concatenate([children[inner], children[inner] + 1])
        out[level] = d
    return out


def _members(low: int, high: int) -> str:
    """The letters of the codes in a mask."""
    mask = low | high << 32
    return "".join(letter for i, letter in enumerate(LETTERS[1:]) if mask >> i & 1)
