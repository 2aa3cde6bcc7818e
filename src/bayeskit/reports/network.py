"""Network: a Bayesian network as a page in which evidence can be set and every marginal follows."""

from __future__ import annotations

from itertools import islice, product
from math import prod
from typing import Any

from bayeskit.estimators.network import Network
from bayeskit.networks.network import Network as Value
from bayeskit.reports.markup import Safe, Section, folding_table, script, table, text

NUMBERS = 100_000  # in all tables of a page
WIDEST = 1 << 16  # cells of the largest table in between that a page computes with
DRAWN = 60  # nodes of a picture
LISTED, LINES = 100, 64  # nodes with their tables, lines of a table


def sections(network: Network) -> list[Section]:
    """The picture, the panel and the tables of a network that has probabilities."""
    value = network.network_
    rows = [
        (
            node,
            Safe(", ".join(text(p) for p in network.parents(node)) or "–"),
            "a number" if node in value.normals else f"{len(network.states(node)):,}",
        )
        for node in network.nodes
    ]
    picture = f'<div class="wide graph">{network.svg()}</div>' if len(network.nodes) <= DRAWN else ""
    lead = f"<p>{len(network.nodes):,} nodes, {len(network.edges):,} arcs.</p>"
    every = folding_table(rows, ("node", "parents", "states"), 2)
    tables = "".join(_table(value, node) for node in value.nodes[:LISTED])
    return [
        Section("graph", "The network", lead + picture + every),
        _panel(value.level_part, value.numbers),
        Section("tables-of-nodes", "The tables", f"<p>P(node | its parents).</p>{tables}"),
    ]


def _table(value: Value, node: str) -> str:
    """The probabilities of a node, folded; the first lines of a long table."""
    if node in value.normals:
        return _normal(value, node)
    parents, states = value.graph.parents[node], value.states(node)
    numbers = value.potentials[node].reshape(-1, len(states))
    given = islice(product(*(value.states(p) for p in parents)), LINES)
    lines = [(*map(str, above), *(f"{p:.4g}" for p in row)) for above, row in zip(given, numbers, strict=False)]
    more = f"<p>{len(numbers) - LINES:,} more lines.</p>" if len(numbers) > LINES else ""
    head = f"{text(node)}{' given ' if parents else ''}{', '.join(text(p) for p in parents)}"
    listed = table((*parents, *states), lines, len(parents))
    return f"<details><summary>{head}</summary>{listed}{more}</details>"


def _normal(value: Value, node: str) -> str:
    """The means, slopes and deviations of a number, folded."""
    one = value.normals[node]
    cells = islice(product(*(enumerate(value.states(p)) for p in one.levels)), LINES)
    lines = []
    for cell in cells:
        at = tuple(code for code, _ in cell)
        numbers = (one.intercept[at], *one.slopes[at], one.deviation[at])
        lines.append((*(str(state) for _, state in cell), *(f"{float(x):.4g}" for x in numbers)))
    more = f"<p>{one.mean.size - LINES:,} more lines.</p>" if one.mean.size > LINES else ""
    head = f"{text(node)}{' given ' if one.parents else ''}{', '.join(text(p) for p in one.parents)}"
    listed = table((*one.levels, "intercept", *one.numbers, "deviation"), lines, len(one.levels))
    return f"<details><summary>{head}</summary>{listed}{more}</details>"


def _panel(value: Value, others: tuple[str, ...]) -> Section:
    """The nodes that have states; the others are numbers, which the page does not compute with."""
    title = "What if?"
    if not value.nodes:
        return Section("what-if", title, "<p>Not available: all nodes are numbers.</p>")
    numbers = sum(value.potentials[node].size for node in value.nodes)
    if numbers > NUMBERS or widest(value) > WIDEST:
        said = "Not available: this network is too large to be computed in a page."
        return Section("what-if", title, f"<p>{said}</p>")
    place = {node: j for j, node in enumerate(value.nodes)}
    data: dict[str, Any] = {
        "nodes": [{"name": node, "states": [str(s) for s in value.states(node)]} for node in value.nodes],
        "tables": [
            {"of": [place[n] for n in value.graph.family(node)], "p": value.potentials[node].ravel().tolist()}
            for node in value.nodes
        ],
    }
    without = f"<p>Without the numbers: {', '.join(map(text, others))}.</p>" if others else ""
    body = (
        f"{without}<p>Choose a state to set it as evidence, choose it again to take it back. Every probability is "
        "exact: the page computes with the tables.</p><noscript><p>The panel needs JavaScript.</p></noscript>"
        '<p id="evidence" class="verdict" role="status"></p><div id="network" class="nodes"></div>'
        f'<script type="application/json" id="tables">{script(data)}</script>'
    )
    return Section("what-if", title, body)


def widest(value: Value) -> int:
    """Cells of the largest table when nodes are summed out one by one, the cheapest first.

    >>> widest(Value.of([("a", "b")], {"a": [0.5, 0.5], "b": [[0.1, 0.9], [0.2, 0.8]]}))
    4
    """
    scopes = [set(value.graph.family(node)) for node in value.nodes]
    left, most = set(value.nodes), max(prod(value.sizes[n] for n in scope) for scope in scopes)

    def neighbours_of(node: str) -> set[str]:
        return set().union(*(scope for scope in scopes if node in scope))

    while left:
        node = min(sorted(left), key=lambda n: prod(value.sizes[m] for m in neighbours_of(n)))
        scope = neighbours_of(node)
        most = max(most, prod(value.sizes[n] for n in scope))
        scopes = [other for other in scopes if node not in other] + [scope - {node}]
        left.remove(node)
    return most
