"""Interchange: networks as XMLBIF and as the JSON of Gaussian networks, read without trust."""

from __future__ import annotations

import gzip
import json
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn
from xml.parsers import expat
from xml.sax.saxutils import escape

import numpy as np

from bayeskit.arrays import FilePath
from bayeskit.data.levels import TEXT, Levels
from bayeskit.errors import NetworkError
from bayeskit.networks import bif
from bayeskit.networks.graph import Graph
from bayeskit.networks.linear import Linear
from bayeskit.networks.network import Network
from bayeskit.networks.table import MOST_STATES, Table, cells_of
from bayeskit.replacement import replace_file

INTERCEPT = "(Intercept)"
DEEPEST = 32  # elements in each other


def read_network(path: FilePath) -> Network:
    """The network of a file; its ending says of what kind, gzipped or not."""
    return bif.read(path, _of(path)[0])


def write_network(network: Network, path: FilePath) -> None:
    """Write a network as its ending says, gzipped if the name ends in .gz: whole or not at all."""
    data = "".join(_of(path)[1](network)).encode()
    if os.fspath(path).endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    replace_file(os.fspath(path), [data])


def _of(path: FilePath) -> tuple[Callable[[str], Network], Callable[[Network], Iterator[str]]]:
    """How a file of this ending is read and written."""
    name = os.fspath(path).removesuffix(".gz")
    for endings, pair in KINDS.items():
        if name.endswith(endings):
            return pair
    known = ", ".join(ending for endings in KINDS for ending in endings)
    raise NetworkError(
        f"{os.fspath(path)}: the ending says of what kind a file is, and this is a folder or has no known one; give "
        f"a file of one of {known}, perhaps with .gz"
    )


# -- XMLBIF ------------------------------------------------------------------------------------------


@dataclass
class Element:
    """A part of an XML file."""

    tag: str
    text: str = ""
    parts: list[Element] = field(default_factory=list)

    def every(self, tag: str) -> list[Element]:
        return [part for part in self.parts if part.tag == tag]

    def one(self, tag: str) -> str:
        """The text of the one part of this name."""
        found = self.every(tag)
        if len(found) != 1:
            raise NetworkError(f"a {self.tag} has {len(found)} parts {tag}, and needs one")
        return found[0].text.strip()


def parse_xml(text: str) -> Network:
    """The network of an XMLBIF text.

    >>> parse_xml("<BIF><NETWORK><VARIABLE><NAME>a</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>"
    ...           "<DEFINITION><FOR>a</FOR><TABLE>0.25 0.75</TABLE></DEFINITION></NETWORK></BIF>").states("a")
    ('x', 'y')
    """
    whole = _elements(text)
    networks = whole.every("NETWORK")
    if whole.tag != "BIF" or len(networks) != 1:
        raise NetworkError("no BIF element with one NETWORK in it; give an XMLBIF file")
    levels: dict[str, Levels] = {}
    for variable in networks[0].every("VARIABLE"):
        name = variable.one("NAME")
        states = [part.text.strip() for part in variable.every("OUTCOME")]
        if name in levels:
            raise NetworkError(f"variable {name!r} is declared twice")
        if not 1 <= len(states) <= MOST_STATES or len(set(states)) < len(states):
            raise NetworkError(f"variable {name!r} must have 1 to {MOST_STATES} different outcomes")
        levels[name] = Levels(tuple((TEXT, state) for state in states))
    tables: dict[str, Table] = {}
    cells = 0
    for definition in networks[0].every("DEFINITION"):
        child = definition.one("FOR")
        family = (*(part.text.strip() for part in definition.every("GIVEN")), child)
        for name in family:
            if name not in levels:
                raise NetworkError(f"{name!r} in the table of {child!r} is no variable")
        if child in tables:
            raise NetworkError(f"{child!r} has two tables")
        shape = cells_of(child, {name: len(levels[name]) for name in family}, family)
        cells += math.prod(shape)
        if cells > bif.MOST_TOTAL:
            raise NetworkError(f"the tables have more than {bif.MOST_TOTAL} cells; this is no usable network")
        try:
            values = [float(word) for word in definition.one("TABLE").split()]
        except ValueError as error:
            raise NetworkError(f"the table of {child!r} has an entry that is no number ({error})") from error
        if len(values) != math.prod(shape):
            raise NetworkError(f"the table of {child!r} has {len(values)} entries, not {math.prod(shape)}")
        named = tuple(tuple(levels[name].values) for name in family)
        tables[child] = Table(child, family[:-1], np.array(values).reshape(shape), named)
    if not levels:
        raise NetworkError("no variable is declared; give an XMLBIF file")
    for name in levels:
        if name not in tables:
            raise NetworkError(f"variable {name!r} has no table of probabilities")
    return Network(Graph({name: tables[name].parents for name in levels}), levels, tables)


def _elements(text: str) -> Element:
    """The elements of an XML text; entities, which could unfold without end, are refused."""
    parser = expat.ParserCreate()
    top = Element("")
    path = [top]

    def refuse(name: str, *_: object) -> None:
        raise NetworkError(f"it declares the entity {name!r}; a network needs none")

    def begin(tag: str, _: object) -> None:
        if len(path) > DEEPEST:
            raise NetworkError(f"elements lie more than {DEEPEST} deep in each other")
        element = Element(tag.upper())
        path[-1].parts.append(element)
        path.append(element)

    def say(data: str) -> None:
        path[-1].text += data

    parser.EntityDeclHandler = refuse
    parser.StartElementHandler, parser.EndElementHandler = begin, lambda _: path.pop()
    parser.CharacterDataHandler, parser.buffer_text = say, True
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise NetworkError(f"not well-formed XML ({error}); give an XMLBIF file") from error
    return top.parts[0]


def _xml(network: Network) -> Iterator[str]:
    _check_levels(network, "XMLBIF")
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<BIF VERSION="0.3">\n<NETWORK>\n<NAME>unknown</NAME>\n'
    for node in network.nodes:
        states = [str(state) for state in network.states(node)]
        if len(set(map(str.strip, states))) < len(states):
            raise NetworkError(f"{node!r} has states that read alike as text: {', '.join(states)}; rename them")
        outcomes = "".join(f"<OUTCOME>{_plain(state)}</OUTCOME>" for state in states)
        yield f'<VARIABLE TYPE="nature"><NAME>{_plain(node)}</NAME>{outcomes}</VARIABLE>\n'
    for node in network.nodes:
        table = network.tables[node]
        given = "".join(f"<GIVEN>{_plain(parent)}</GIVEN>" for parent in table.parents)
        numbers = " ".join(map(repr, table.probabilities.ravel().tolist()))
        yield f"<DEFINITION><FOR>{_plain(node)}</FOR>{given}<TABLE>{numbers}</TABLE></DEFINITION>\n"
    yield "</NETWORK>\n</BIF>\n"


def _plain(name: str) -> str:
    if name != name.strip() or not name or any(ord(c) < 32 for c in name):
        raise NetworkError(f"{name!r} cannot stand in an XMLBIF file; rename it")
    return escape(name)


def _check_levels(network: Network, kind: str) -> None:
    if network.normals:
        raise NetworkError(
            f"{kind} knows levels only, and {network.numbers[0]!r} is a number; save the network as .bayes, or cut its "
            f"numbers into intervals (cuts)"
        )


# -- Gaussian networks as JSON -----------------------------------------------------------------------


def parse_json(text: str) -> Network:
    """The Gaussian network of a JSON text, as bnlearn's repository is passed on: nodes, arcs and cpds.

    >>> parse_json('{"nodes": ["a"], "arcs": [], "cpds": {"a": {"coefficients": {"(Intercept)": [2]}, '
    ...            '"variance": [0.25], "parents": []}}}').normals["a"]
    a = 2, deviation 0.5
    """
    try:
        data = json.loads(text, object_pairs_hook=_distinct, parse_constant=_no_constant)
    except (json.JSONDecodeError, RecursionError) as error:
        raise NetworkError(f"not JSON ({error}); give a Gaussian network") from error
    if not isinstance(data, dict) or not isinstance(data.get("cpds"), dict) or not isinstance(data.get("nodes"), list):
        raise NetworkError("it has no nodes and cpds; give a Gaussian network")
    nodes = [_text(node) for node in data["nodes"]]
    if len(set(nodes)) < len(nodes) or set(nodes) != set(data["cpds"]):
        raise NetworkError("its nodes and its cpds are not the same, or a node stands twice")
    normals = {node: _normal(node, data["cpds"][node]) for node in nodes}
    graph = Graph({node: normals[node].numbers for node in nodes})
    arcs = data.get("arcs", [])
    if not isinstance(arcs, list) or sorted(map(_arc, arcs)) != sorted(graph.edges):
        raise NetworkError("its arcs are not those of the parents of its cpds")
    return Network(graph, {}, {}, {}, normals)


def _normal(node: str, record: object) -> Linear:
    if not isinstance(record, dict) or not isinstance(record.get("coefficients"), dict):
        raise NetworkError(f"the cpd of {node!r} has no coefficients")
    parents = record.get("parents", [])
    parents = [parents] if isinstance(parents, str) else parents
    if not isinstance(parents, list):
        raise NetworkError(f"the parents of {node!r} are no list")
    names = tuple(_text(parent) for parent in parents)
    if set(record["coefficients"]) != {INTERCEPT, *names} or len(set(names)) < len(names):
        raise NetworkError(f"the coefficients of {node!r} are not {INTERCEPT} and one for each of its parents")
    variance = _number(record.get("variance"), node)
    if not variance > 0:
        raise NetworkError(f"{node!r} has a variance that is not above 0; give it some noise, or leave the node out")
    slopes = np.array([_number(record["coefficients"][name], node) for name in names], dtype=np.float64)
    mean = np.array(_number(record["coefficients"][INTERCEPT], node))
    return Linear(node, (), names, np.zeros(len(names)), mean, slopes, np.array(math.sqrt(variance)))


def _number(entry: object, node: str) -> float:
    """A finite number, perhaps alone in a list."""
    value = entry[0] if isinstance(entry, list) and len(entry) == 1 else entry
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e300:
        raise NetworkError(f"the cpd of {node!r} has {str(entry)[:40]} where a number is needed")
    return float(value)


def _text(entry: object) -> str:
    if not isinstance(entry, str):
        raise NetworkError(f"{str(entry)[:40]} is no name of a node")
    return entry


def _arc(entry: object) -> tuple[str, str]:
    if not isinstance(entry, list) or len(entry) != 2:
        raise NetworkError(f"{str(entry)[:40]} is no arc; arcs are pairs (parent, child)")
    return _text(entry[0]), _text(entry[1])


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(found := dict(pairs)) < len(pairs):
        raise NetworkError("a name stands twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise NetworkError(f"it has {name}, which is no number")


def _json(network: Network) -> Iterator[str]:
    if network.coded:
        raise NetworkError(
            f"this JSON knows numbers only, and {network.coded[0]!r} has levels; write .bif or .xml, or save as .bayes"
        )
    cpds: dict[str, Any] = {}
    for node in network.nodes:
        one = network.normals[node]
        slopes: dict[str, list[float]] = {n: [slope] for n, slope in zip(one.numbers, one.slopes.tolist(), strict=True)}
        cpds[node] = {
            "coefficients": {INTERCEPT: [float(one.intercept)], **slopes},
            "variance": [_square(float(one.deviation))],
            "parents": list(one.numbers),
        }
    data = {"nodes": list(network.nodes), "arcs": [list(arc) for arc in network.graph.edges], "cpds": cpds}
    yield json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _square(deviation: float) -> float:
    """The variance of fewest digits whose root is the deviation."""
    whole = deviation * deviation
    tries = [
        *(float(f"{whole:.{digits}g}") for digits in range(1, 18)),
        math.nextafter(whole, 0),
        math.nextafter(whole, math.inf),
    ]
    return next((v for v in tries if math.sqrt(v) == deviation), whole)


KINDS: dict[tuple[str, ...], tuple[Callable[[str], Network], Callable[[Network], Iterator[str]]]] = {
    (".bif",): (bif.parse, bif.lines),
    (".xml", ".xmlbif", ".bifxml"): (parse_xml, _xml),
    (".json",): (parse_json, _json),
}
