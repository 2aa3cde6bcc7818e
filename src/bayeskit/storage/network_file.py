"""Network file: a network as the header and tensors of a ``.bayes`` file, and back with every doubt raised."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from bayeskit.arrays import Array, FilePath, Float, Json
from bayeskit.data.encode import IngestReport
from bayeskit.data.levels import EVERYTHING, Domain, Key, Levels
from bayeskit.data.schema import Column, Schema
from bayeskit.errors import BayeskitError, ModelFileError
from bayeskit.model.codec import fingerprint, keys_of, parse_fields, write_fields
from bayeskit.networks.fitted import (
    COUNTS,
    NUMBERS,
    DistinctRows,
    Fitted,
    Recipe,
    counted_tables,
    family_counts,
    interval_levels,
)
from bayeskit.networks.graph import Graph
from bayeskit.networks.linear import Linear, check_arcs, split_parents
from bayeskit.networks.network import Network
from bayeskit.networks.table import Table
from bayeskit.numerics.cut_points import ascending
from bayeskit.statistics.counted import Counted
from bayeskit.statistics.exact import ExactSum
from bayeskit.statistics.ranges import Ranges
from bayeskit.statistics.statistic import Product, sizes_of
from bayeskit.storage import container
from bayeskit.storage.container import key_of
from bayeskit.storage.identifiers import settings_of
from bayeskit.validation import name_in_files

KIND = "network"
TEXTS = ("nodes", "states")
MASS, ROUNDED = "rows.mass", "rows.weights"  # the weights of rows: exact, and as files had them before
LINEAR: dict[str, Callable[[Linear], Float]] = {  # what a number is beside its parents
    "centre": lambda one: one.centre,
    "mean": lambda one: one.mean,
    "slopes": lambda one: one.slopes,
    "deviation": lambda one: one.deviation,
}
KEPT: dict[str, dict[str, Any]] = {
    "counts": {"columns": np.int64},
    "rows": {"probabilities": np.float64, "rows.codes": np.int64},
    "tables": {"probabilities": np.float64},
}


@dataclass(frozen=True)
class Header:
    """What a file says of a network beside its tensors; a field that is not there has its default."""

    model: str
    kept: str  # what its tables follow from
    declared: tuple[bool, ...] = ()  # by node, whether its states were
    known: tuple[tuple[Any, ...], ...] = ()  # by node, the states that its type declares
    recipe: Recipe = Recipe()
    cut: bool = False  # whether some nodes are cut into intervals
    numbers: tuple[bool, ...] = ()  # by node, whether it is a number, where some are
    settings: Any = field(default_factory=dict)
    ingest: IngestReport | None = field(default=None, metadata=name_in_files("tally"))
    digest: str | None = None


def save(path: FilePath, fitted: Fitted, declared: Mapping[str, Levels], settings: Mapping[str, object]) -> None:
    """Write a network with the statistic it was learned from, so that it can go on learning."""
    network = fitted.network
    arrays = _arrays(network)
    counted, rows = fitted.counted, fitted.rows
    columns = {} if counted is None else {c.name: c for c in counted.schema.columns}
    if counted is not None:  # the tables follow from the counts
        for name in ("probabilities", *(f"numbers.{part}" for part in LINEAR)):
            arrays.pop(name, None)
        number = {node: v for v, node in enumerate(network.nodes)}
        arrays["columns"] = np.array([number[name] for name in counted.schema.names], dtype=np.int64)
        arrays |= {f"counts/{name}": array for name, array in counted.statistic.arrays().items()}
    if rows is not None:
        arrays |= {"rows.codes": rows.codes.astype(np.int64), **rows.mass.arrays(MASS)}
        arrays |= {"rows.numbers": rows.numbers} if rows.names else {}
    header = Header(
        KIND,
        "counts" if counted is not None else "rows" if rows is not None else "tables",
        tuple(node in declared or bool(columns.get(node) and columns[node].order) for node in network.nodes),
        tuple(columns[node].levels if node in columns else () for node in network.nodes),
        fitted.recipe,
        bool(network.cuts),
        tuple(node in network.normals for node in network.nodes) if network.normals else (),
        dict(settings),
        None if counted is None else counted.ingest,
        digest(network),
    )
    container.write(path, write_fields(header), arrays)


def digest(network: Network) -> str:
    """SHA-256 of graph, states and tables."""
    return fingerprint({"model": KIND}, _arrays(network))


def load(path: FilePath) -> tuple[Fitted, dict[str, Levels], Json]:
    """The network of a file, its declared states and its settings; ModelFileError if anything is not as saved."""
    record, arrays = container.read(path, _tensor_spec)
    try:
        header = parse_fields(Header, record)
        fitted = _read_fitted(header, arrays)
        if header.digest is not None and digest(fitted.network) != header.digest:
            raise ModelFileError("its digest does not fit its content")
        levels = fitted.network.levels
        pairs = zip(fitted.network.nodes, header.declared, strict=True)
        return (
            fitted,
            {node: levels[node] for node, yes in pairs if yes and node in levels},
            settings_of(header.settings),
        )
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error
    except (BayeskitError, ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
        raise ModelFileError(f"{path}: its content contradicts itself ({error}); save the network again") from error


def _arrays(network: Network) -> dict[str, Array]:
    """Everything a network is."""
    number = {node: v for v, node in enumerate(network.nodes)}
    texts = {
        "nodes": list(network.nodes),
        "states": [text for node in network.coded for text in keys_of(network.levels[node])],
    }
    arrays: dict[str, Array] = {}
    for name, lines in texts.items():
        arrays[f"{name}.text"], arrays[f"{name}.ends"] = container.pack(lines)
    parents = [network.graph.parents[node] for node in network.nodes]
    arrays["states.sizes"] = np.array([network.sizes.get(node, 0) for node in network.nodes], dtype=np.int64)
    arrays["parents"] = np.array([number[p] for members in parents for p in members], dtype=np.int64)
    arrays["parents.sizes"] = np.array([len(members) for members in parents], dtype=np.int64)
    if network.cuts:
        cuts = [network.cuts.get(node) for node in network.nodes]
        arrays["cuts"] = np.array([c for members in cuts if members for c in members], dtype=np.float64)
        arrays["cuts.sizes"] = np.array([-1 if members is None else len(members) for members in cuts], dtype=np.int64)
    for part, fields in LINEAR.items() if network.normals else ():
        arrays[f"numbers.{part}"] = np.concatenate([fields(network.normals[n]).ravel() for n in network.numbers])
    tables = [network.tables[n].probabilities.ravel() for n in network.coded]
    arrays["probabilities"] = np.concatenate([np.empty(0), *tables])
    return arrays


def _tensor_spec(record: Mapping[str, object], shapes: container.Shapes) -> container.Spec:
    """Names and types of the tensors a file with this header must have; their shapes are those there are."""
    header = parse_fields(Header, record)
    spec: dict[str, np.dtype[Any]] = dict.fromkeys(("states.sizes", "parents", "parents.sizes"), np.dtype(np.int64))
    for name in TEXTS:
        spec |= {f"{name}.text": np.dtype(np.uint8), f"{name}.ends": np.dtype(np.int64)}
    kept = header.kept
    if header.model != KIND or kept not in KEPT:
        raise ModelFileError("the header does not describe a network; save it again")
    spec |= {name: np.dtype(kind) for name, kind in KEPT[kept].items()}
    if kept == "rows":
        exact = dict.fromkeys((MASS, f"{MASS}.low"), np.dtype(np.int64))
        spec |= exact if MASS in shapes else {ROUNDED: np.dtype(np.float64)}
    if header.numbers and kept != "counts":
        spec |= {f"numbers.{part}": np.dtype(np.float64) for part in LINEAR}
        spec |= {"rows.numbers": np.dtype(np.float64)} if kept == "rows" else {}
    if header.cut:
        spec |= {"cuts": np.dtype(np.float64), "cuts.sizes": np.dtype(np.int64)}
    if kept == "counts":
        schema = Schema((Column("a", "quantitative" if header.cut else "nominal", "", ""),))
        like = family_counts(Graph.of((), ("a",)), schema, {"a": ()} if header.cut else {})(0).arrays()
        spec |= {f"counts/{name}": array.dtype for name, array in like.items()}
        if header.numbers:  # how many sums each has depends on its parents
            spec |= {name: np.dtype(np.int64) for name in shapes if name.startswith(f"counts/{NUMBERS}/")}
    return {name: (dtype, shapes[name]) for name, dtype in spec.items()}


def _read_fitted(header: Header, arrays: Mapping[str, Array]) -> Fitted:
    nodes, lines = (container.unpack(arrays[f"{name}.text"], arrays[f"{name}.ends"]) for name in TEXTS)
    parents = _split([nodes[v] for v in arrays["parents"].tolist() if v >= 0], arrays["parents.sizes"], nodes)
    graph = Graph({node: tuple(values) for node, values in zip(nodes, parents, strict=True)})
    states = _split([key_of(line) for line in lines], arrays["states.sizes"], nodes)
    number = dict(zip(nodes, header.numbers or (False,) * len(nodes), strict=True))
    levels = {node: Levels(tuple(values)) for node, values in zip(nodes, states, strict=True) if not number[node]}
    if any(number[node] and values for node, values in zip(nodes, states, strict=True)):
        raise ModelFileError("a number has states")
    if len(graph.nodes) != len(nodes) or any(len(values.index) < len(values) for values in levels.values()):
        raise ModelFileError("a node or a state occurs twice")
    recipe, cuts = header.recipe, _read_cuts(arrays, nodes) if header.cut else {}
    for node, values in interval_levels(cuts).items():
        if values != levels[node]:
            raise ModelFileError(f"the states of {node!r} are not the intervals of its cuts")
    if header.kept != "tables" and (recipe.method == COUNTS) != (header.kept == "counts"):
        raise ModelFileError("its tables were learned in another way than from what is kept")
    if header.kept == "counts":
        return Fitted.from_counts(graph, _read_counts(header, arrays, graph, levels, cuts), recipe, cuts)
    check_arcs(graph.edges, {node for node in nodes if number[node]})
    shapes = [tuple(len(levels[n]) for n in graph.family(node)) for node in levels]
    flat = _split(arrays["probabilities"], np.array([int(np.prod(s, dtype=object)) for s in shapes]), list(levels))
    tables = {n: Table(n, graph.parents[n], p.reshape(s)) for n, p, s in zip(levels, flat, shapes, strict=True)}
    normals = _read_normals(arrays, graph, levels) if header.numbers else {}
    network = Network(graph, levels, tables, cuts, normals)
    if header.kept == "tables":
        return Fitted(network, recipe)
    return Fitted(network, recipe, rows=_rows(arrays, levels, network.numbers))


def _read_normals(arrays: Mapping[str, Array], graph: Graph, levels: Mapping[str, Levels]) -> dict[str, Linear]:
    """The nodes that are numbers."""
    names = [node for node in graph.nodes if node not in levels]
    parents = {node: split_parents(graph.parents[node], levels) for node in names}
    cells = {node: tuple(len(levels[n]) for n in parents[node][0]) for node in names}
    shapes: dict[str, list[tuple[int, ...]]] = {
        "centre": [(len(parents[node][1]),) for node in names],
        "mean": [cells[node] for node in names],
        "slopes": [(*cells[node], len(parents[node][1])) for node in names],
        "deviation": [cells[node] for node in names],
    }
    found: dict[str, list[Array]] = {}
    for part, wanted in shapes.items():
        sizes = np.array([int(np.prod(s, dtype=object)) for s in wanted], dtype=np.int64)
        flat = _split(arrays[f"numbers.{part}"], sizes, names)
        found[part] = [array.reshape(s) for array, s in zip(flat, wanted, strict=True)]
    every = zip(names, *(found[part] for part in LINEAR), strict=True)
    return {n: Linear(n, *parents[n], centre, mean, slopes, deviation) for n, centre, mean, slopes, deviation in every}


def _rows(arrays: Mapping[str, Array], levels: dict[str, Levels], names: tuple[str, ...]) -> DistinctRows:
    """The rows that EM learned from."""
    codes = arrays["rows.codes"]
    sizes = np.array([len(known) for known in levels.values()])
    if codes.ndim != 2 or len(codes) != len(sizes):
        raise ModelFileError("its rows do not fit its nodes")
    if (codes < -1).any() or (codes >= sizes[:, None]).any():
        raise ModelFileError("its rows have states that no node has")
    if ROUNDED in arrays:
        weights = arrays[ROUNDED]
        if weights.shape != codes.shape[1:] or not (np.isfinite(weights) & (weights > 0)).all():
            raise ModelFileError("its rows have weights that are none")
        mass = ExactSum.of(weights)
    else:
        mass = ExactSum.from_arrays(arrays, MASS, codes.shape[1:])
    numbers = arrays["rows.numbers"] if names else np.empty((0, codes.shape[1]))
    if numbers.shape != (len(names), codes.shape[1]) or np.isinf(numbers).any():
        raise ModelFileError("its rows have numbers that are none")
    rows = DistinctRows.join(levels, np.ascontiguousarray(codes, dtype=np.int32), mass, numbers, names)
    if rows.codes.shape != codes.shape or mass.negative().any() or not np.isfinite(rows.weights).all():
        raise ModelFileError("its rows are not distinct, or have weights that are none")
    return rows


def _read_cuts(arrays: Mapping[str, Array], nodes: list[str]) -> dict[str, tuple[float, ...]]:
    """The cuts by node of those that have some."""
    sizes = arrays["cuts.sizes"]
    parts = _split(arrays["cuts"], np.maximum(sizes, 0), nodes)
    if (sizes < -1).any():
        raise ModelFileError("a node has less cuts than none")
    by_node = {node: part.tolist() for node, part, size in zip(nodes, parts, sizes.tolist(), strict=True) if size >= 0}
    return {node: ascending(cuts, f"node {node!r}") if cuts else () for node, cuts in by_node.items()}


def _read_counts(
    header: Header,
    arrays: Mapping[str, Array],
    graph: Graph,
    levels: dict[str, Levels],
    cuts: dict[str, tuple[float, ...]],
) -> Counted:
    """The counts a network was learned from."""
    nodes = graph.nodes
    order = arrays["columns"].tolist()
    if sorted(order) != list(range(len(nodes))):
        raise ModelFileError("its columns are not its nodes")
    declared = dict(zip(nodes, header.declared, strict=True))
    known = dict(zip(nodes, header.known or ((),) * len(nodes), strict=True))
    kinds = ["nominal" if nodes[v] in levels and nodes[v] not in cuts else "quantitative" for v in order]
    plain = [
        Column(nodes[v], kind, "", "a node of the network", levels=known[nodes[v]])
        for v, kind in zip(order, kinds, strict=True)
    ]
    columns = tuple(
        replace(c, order=tuple(levels[c.name].values)) if declared[c.name] and not c.numeric else c for c in plain
    )
    schema = Schema(columns)
    empty = family_counts(graph, schema, cuts)(1)
    counts = {n.removeprefix("counts/"): a for n, a in arrays.items() if n.startswith("counts/")}
    domain = Domain(Levels((EVERYTHING,)), {name: levels[name] for name in schema.coded})
    ranges = Ranges.unknown(len(schema.numeric))
    counted = Counted(schema, domain, empty.with_arrays(counts), ranges, ingest=header.ingest or IngestReport())
    if {f"counts/{name}" for name in counted.statistic.arrays()} != {n for n in arrays if n.startswith("counts/")}:
        raise ModelFileError("it holds counts of nothing")
    every = counted.statistic.part(NUMBERS, Product).parts.values() if header.numbers else ()
    for part in (*counted_tables(counted.statistic), *every):
        if any(size != len(levels[name]) for name, size in sizes_of(part).items()):
            raise ModelFileError("its counts do not fit its states")
    if counted.find_outweighed():
        raise ModelFileError("a node has more values than there are rows")
    return counted


S = TypeVar("S", list[str], list[Key], Array)


def _split(items: S, sizes: Array, nodes: list[str]) -> list[S]:
    """A part of the items for each node."""
    if len(sizes) != len(nodes) or (sizes < 0).any() or sizes.sum() != len(items):
        raise ModelFileError("its parts do not fit its nodes")
    ends = np.cumsum([0, *sizes.tolist()]).tolist()
    return [items[a:b] for a, b in pairwise(ends)]
