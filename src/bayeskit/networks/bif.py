"""The Bayesian Interchange Format: networks as text, read without trust and written to the last digit."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Callable, Iterator
from itertools import product
from math import prod

import numpy as np

from bayeskit.arrays import FilePath, Float
from bayeskit.data.levels import TEXT, Levels
from bayeskit.errors import NetworkError
from bayeskit.networks.graph import Graph
from bayeskit.networks.network import Network
from bayeskit.networks.table import MOST_STATES, Table, cells_of
from bayeskit.replacement import check_readable, replace_file

# white space, then a comment, a quoted name, a mark, or a word, which ends at white space or a mark
_TOKEN = re.compile(
    r'\s*+(?:(?P<comment>//[^\n]*+|/\*)|"(?P<quoted>[^"\n]*+)"|(?P<mark>[{}()\[\];,|])|(?P<word>[^\s{}()\[\];,|"]++)|(?P<end>\Z))'
)
_NUMBERS = re.compile(r"[\s,0-9eE.+-]*+")


class Tokens:
    """A place in a text, and how to go on from there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.is_mark = False  # of the last token taken

    def _look(self) -> tuple[str | None, bool, int]:
        """The next token (None at the end), whether it is a mark, and where it ends."""
        place = self.at
        while True:
            found = _TOKEN.match(self.text, place)
            if found is None:
                self.at = place
                raise self.error("a quoted name is not closed")
            kind, place = found.lastgroup, found.end()
            if kind == "comment":
                if found["comment"] == "/*":
                    place = self.text.find("*/", place) + 2
                    if place < 2:
                        raise self.error("a comment is not closed")
                continue
            return (None if kind == "end" else found[str(kind)]), kind == "mark", place

    def next(self) -> str | None:
        word, self.is_mark, self.at = self._look()
        return word

    def need(self, what: str) -> str:
        if (word := self.next()) is None:
            raise self.error(f"it ends where {what} belongs; it is cut short")
        return word

    def name(self, what: str) -> str:
        word = self.need(f"the name of {what}")
        if self.is_mark:
            raise self.error(f"{word!r} stands where the name of {what} belongs")
        return word

    def mark(self, wanted: str) -> None:
        word = self.need(repr(wanted))
        if word != wanted or not self.is_mark:
            raise self.error(f"{word[:40]!r} stands where {wanted!r} belongs")

    def ahead(self, mark: str) -> bool:
        """Whether the next token is this mark, which is then taken."""
        word, is_mark, end = self._look()
        if is_mark and word == mark:
            self.at = end
            return True
        return False

    def number(self) -> float:
        word = self.name("a probability")
        try:
            return float(word)
        except ValueError:
            raise self.error(f"{word[:40]!r} is no number") from None

    def numbers(self) -> list[float]:
        """All numbers up to a semicolon, which is taken."""
        plain = _NUMBERS.match(self.text, self.at)
        if plain is not None and self.text[plain.end() : plain.end() + 1] == ";":  # nearly always, and much faster
            try:
                found = [float(word) for word in plain[0].replace(",", " ").split()]
            except ValueError:
                found = []  # the long way says where
            if found:
                self.at = plain.end() + 1
                return found
        return [self.number() for _ in self.items_until(";")]

    def items_until(self, end: str) -> Iterator[None]:
        """Once before every item of a list; commas may separate them."""
        while not self.ahead(end):
            yield
            self.ahead(",")

    def skip_braces(self) -> None:
        depth = 0
        while True:
            word = self.need("'}'")
            if self.is_mark:
                depth += (word == "{") - (word == "}")
                if depth <= 0:
                    return

    def skip_property(self) -> None:
        while not (self.need("';'") == ";" and self.is_mark):
            pass

    def error(self, what: str) -> NetworkError:
        return NetworkError(f"line {self.text.count(chr(10), 0, self.at) + 1}: {what}")


MOST_BYTES = 1 << 26
MOST_TOTAL = 1 << 26  # cells of all tables together
CHUNK = 1 << 20
_PLAIN = re.compile(r'(?!//|/\*)[^\s{}()\[\];,|"]+')


def read_bif(path: FilePath) -> Network:
    """The network of a BIF file, gzipped or not; all states are texts."""
    return read(path, parse)


def read(path: FilePath, parse: Callable[[str], Network]) -> Network:
    """The network of a text file, gzipped or not, that ``parse`` understands."""
    name = os.fspath(path)
    check_readable(name)
    try:
        with open(name, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with gzip.open(name, "rb") if packed else open(name, "rb") as file:
            parts, size = [], 0
            while part := file.read(CHUNK):  # a small file can unpack to a huge one
                size += len(part)
                if size > MOST_BYTES:
                    raise NetworkError(f"longer than {MOST_BYTES} bytes; no network needs that")
                parts.append(part)
        return parse(b"".join(parts).decode("utf-8"))
    except NetworkError as error:
        raise NetworkError(f"{name}: {error}") from error
    except UnicodeDecodeError as error:
        raise NetworkError(f"{name}: not text in UTF-8 ({error}); give a file of a network") from error
    except (OSError, EOFError, zlib.error) as error:
        raise NetworkError(f"{name}: cannot be read ({error}); check the path and the file") from error


def write_bif(network: Network, path: FilePath) -> None:
    """Write a network as BIF, states as texts, gzipped if the name ends in .gz: whole or not at all."""
    data = "".join(lines(network)).encode()
    if os.fspath(path).endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    replace_file(os.fspath(path), [data])


def parse(text: str) -> Network:
    """The network of a BIF text.

    >>> parse("variable a { type discrete [ 2 ] { <5, 5-12 }; } probability ( a ) { table 0.25, 0.75; }").states("a")
    ('<5', '5-12')
    """
    tokens = Tokens(text)
    levels: dict[str, Levels] = {}
    tables: dict[str, Table] = {}
    cells = 0  # of all tables so far
    waiting: list[tuple[tuple[str, ...], int]] = []  # families of variables not declared so far, and their places
    while (word := tokens.next()) is not None:
        if word == "network":
            tokens.name("the network")
            tokens.skip_braces()
        elif word == "variable":
            node = tokens.name("a variable")
            if node in levels:
                raise tokens.error(f"variable {node!r} is declared twice")
            levels[node] = _states(tokens, node)
        elif word == "probability":
            family = _family(tokens)
            if all(name in levels for name in family):
                cells = _add(tables, tokens, family, levels, cells)
            else:
                waiting.append((family, tokens.at))
                tokens.skip_braces()
        else:
            raise tokens.error(f"{word[:40]!r} begins no part of a network (network, variable or probability does)")
    if not levels:
        raise NetworkError("no variable is declared; give a BIF file")
    for family, begin in waiting:
        tokens.at = begin
        cells = _add(tables, tokens, family, levels, cells)
    for node in levels:
        if node not in tables:
            raise NetworkError(f"variable {node!r} has no table of probabilities")
    return Network(Graph({node: tables[node].parents for node in levels}), levels, tables)


def _add(
    tables: dict[str, Table], tokens: Tokens, family: tuple[str, ...], levels: dict[str, Levels], cells: int
) -> int:
    """One more table, from where its braces open, beside those of so many cells; the cells of all of them."""
    child = family[-1]
    if child in tables:
        raise tokens.error(f"{child!r} has two tables")
    for name in family:
        if name not in levels:
            raise tokens.error(f"{name!r} in the table of {child!r} is no variable")
    shape = cells_of(child, {name: len(levels[name]) for name in family}, family)
    cells += prod(shape)
    if cells > MOST_TOTAL:
        raise NetworkError(f"the tables have more than {MOST_TOTAL} cells; this is no usable network")
    named = tuple(tuple(levels[name].values) for name in family)
    tables[child] = Table(child, family[:-1], _entries(tokens, family, shape, levels), named)
    return cells


def _states(tokens: Tokens, node: str) -> Levels:
    tokens.mark("{")
    found: list[str] | None = None
    while not tokens.ahead("}"):
        if tokens.name("a type or property") == "property":
            tokens.skip_property()
            continue
        if found is not None or tokens.name("a type") != "discrete":
            raise tokens.error(f"variable {node!r} must be of one discrete type")
        tokens.mark("[")
        states = tokens.number()
        tokens.mark("]")
        if not 1 <= states <= MOST_STATES or states != int(states):
            raise tokens.error(f"variable {node!r} declares {states:g} states; 1 to {MOST_STATES} are possible")
        tokens.mark("{")
        found = [tokens.name("a state") for _ in tokens.items_until("}")]
        tokens.ahead(";")
        if len(found) != states or len(set(found)) < len(found):
            raise tokens.error(
                f"variable {node!r} declares {states:g} states and names {len(set(found))} different ones"
            )
    if found is None:
        raise tokens.error(f"variable {node!r} has no type")
    return Levels(tuple((TEXT, state) for state in found))


def _family(tokens: Tokens) -> tuple[str, ...]:
    """Parents and child of a table, from ``( child | parents )``."""
    tokens.mark("(")
    child = tokens.name("a variable")
    tokens.ahead("|")
    parents = [tokens.name("a variable") for _ in tokens.items_until(")")]
    return (*parents, child)


def _entries(tokens: Tokens, family: tuple[str, ...], shape: tuple[int, ...], levels: dict[str, Levels]) -> Float:
    """The entries of a table, from where its braces open."""
    child, width = family[-1], shape[-1]
    tokens.mark("{")
    out: Float | None = None
    default: list[float] | None = None
    while not tokens.ahead("}"):
        if tokens.ahead("("):
            labels = [tokens.name("a state") for _ in tokens.items_until(")")]
            codes = [levels[name].index.get((TEXT, s), -1) for name, s in zip(family, labels, strict=False)]
            if len(labels) != len(shape) - 1 or -1 in codes:
                raise tokens.error(f"({', '.join(labels)[:80]}) are no states of the parents of {child!r}")
            row = tokens.numbers()
            if len(row) != width:
                raise tokens.error(f"{child!r} has {width} states and here {len(row)} probabilities")
            out = np.full(shape, np.nan) if out is None else out
            if not np.isnan(out[tuple(codes)]).all():
                raise tokens.error(f"({', '.join(labels)}) stands twice in the table of {child!r}")
            out[tuple(codes)] = row
            continue
        word = tokens.name("an entry")
        if word == "property":
            tokens.skip_property()
        elif word == "table" and out is None:
            values = tokens.numbers()
            if len(values) != prod(shape):
                raise tokens.error(f"the table of {child!r} has {len(values)} entries, not {prod(shape)}")
            # the format lists the child first, so it varies slowest
            out = np.moveaxis(np.array(values).reshape(width, *shape[:-1]), 0, -1).copy()
        elif word == "default" and default is None:
            default = tokens.numbers()
            if len(default) != width:
                raise tokens.error(f"{child!r} has {width} states, and its default {len(default)} probabilities")
        else:
            raise tokens.error(f"{word[:40]!r} begins no entry of the table of {child!r}")
    out = np.full(shape, np.nan) if out is None else out
    lacking = np.isnan(out)
    if default is not None:
        out = np.where(lacking.all(axis=-1, keepdims=True), default, out)
    elif lacking.any():
        count = int(lacking.any(axis=-1).sum())
        raise tokens.error(f"the table of {child!r} lacks {count} configurations of its parents")
    return out


def lines(network: Network) -> Iterator[str]:
    """A network as BIF, part by part."""
    if network.normals:
        raise NetworkError(
            f"BIF knows levels only, and {network.numbers[0]!r} is a number; save the network as .bayes, or cut its "
            f"numbers into intervals (cuts)"
        )
    names = {node: [_quote(str(state)) for state in network.states(node)] for node in network.nodes}
    yield "network unknown {\n}\n"
    for node, states in names.items():
        if len(set(states)) < len(states):
            raise NetworkError(f"{node!r} has states that read alike as text: {', '.join(states)}; rename them")
        yield f"variable {_quote(node)} {{\n  type discrete [ {len(states)} ] {{ {', '.join(states)} }};\n}}\n"
    for node in names:
        table = network.tables[node]
        rows = table.probabilities.reshape(-1, table.probabilities.shape[-1]).tolist()
        given = " | " + ", ".join(map(_quote, table.parents)) if table.parents else ""
        yield f"probability ( {_quote(node)}{given} ) {{\n"
        for labels, row in zip(product(*(names[p] for p in table.parents)), rows, strict=True):
            yield f"  {'(' + ', '.join(labels) + ')' if table.parents else 'table'} {', '.join(map(repr, row))};\n"
        yield "}\n"


def _quote(name: str) -> str:
    if _PLAIN.fullmatch(name):
        return name
    if '"' in name or "\n" in name:
        raise NetworkError(f"{name!r} cannot stand in a BIF file; rename it")
    return f'"{name}"'
