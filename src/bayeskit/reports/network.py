"""Network: a Bayesian network as a page in which evidence can be set and every marginal follows."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice, product
from math import prod

from bayeskit.arrays import Float, Json
from bayeskit.estimators.network import Network
from bayeskit.networks.drawing import Drawing
from bayeskit.networks.influence import influences
from bayeskit.networks.network import Network as Value
from bayeskit.plots.network import Layout
from bayeskit.reports.markup import Safe, Section, folding_table, script, table, text

NUMBERS = 100_000  # in all tables of a page
WIDEST = 1 << 18  # cells of the largest table in between that a page computes with, as in beliefs.js
TITLE = "What if?"
SCRIPTS = ("beliefs.js", "network.js")
WIDTH, HEAD, LINE, STATES, NUMBER = 232.0, 37.0, 25.6, 8, 160.0  # pixels of a card
GAP, RISE, EDGE = 28.0, 54.0, 16.0  # between cards, between layers, around all
DRAWN = 60  # nodes of a picture
LISTED, LINES = 100, 64  # nodes with their tables, lines of a table


def sections(network: Network) -> list[Section]:
    """The panel, the nodes and the tables of a network that has probabilities; a picture where there is no panel."""
    value = network.network_
    rows = [
        (
            node,
            Safe(", ".join(text(p) for p in network.parents(node)) or "–"),
            "a number" if node in value.normals else f"{len(network.states(node)):,}",
        )
        for node in network.nodes
    ]
    large = bool(_too_large(value)) and len(network.nodes) <= DRAWN
    picture = f'<div class="wide graph">{network.svg()}</div>' if large else ""
    lead = f"<p>{len(network.nodes):,} nodes, {len(network.edges):,} arcs.</p>"
    every = folding_table(rows, ("node", "parents", "states"), 2)
    tables = "".join(_table(value, node) for node in value.nodes[:LISTED])
    return [
        panel(network),
        Section("graph", "The network", lead + picture + every),
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


def panel(network: Network) -> Section:
    """The board on which evidence is set, or why there is none."""
    value = network.network_
    if refused := _too_large(value):
        return Section("what-if", TITLE, f"<p>Not available: {refused}. Ask in Python: <code>network.query</code>.</p>")
    numbers = " A number is set by its slider or field; × takes it back." if value.normals else ""
    body = (
        f"<p>Choose a state to set it as evidence, choose it again to take it back.{numbers} Every answer is exact: "
        f"the page computes with the tables. Ticks and dashed lines show how things stood without evidence; the "
        f"thicker an arc, the more of what is uncertain of its child comes through it.</p>"
        f"<noscript><p>The panel needs JavaScript.</p></noscript>"
        f'<p id="evidence" class="verdict" role="status"></p><div id="network"></div>'
        f'<script type="application/json" id="tables">{script(_data(network))}</script>'
    )
    return Section("what-if", TITLE, body)


def _too_large(value: Value) -> str:
    """Why a page cannot compute with this network, or nothing."""
    held = sum(value.potentials[node].size for node in value.coded)
    held += sum(one.free for one in value.normals.values())
    if held > NUMBERS:
        return f"its tables have {held:,} numbers, more than {NUMBERS:,}; it is too large to be computed in a page"
    cells, scope = widest(value.level_part) if value.coded else (0, ())
    if cells > WIDEST:
        named = ", ".join(map(str, map(text, sorted(scope)[:5])))
        return (
            f"{len(scope)} nodes ({named}, …) would share a table of {cells:,} cells; it is too large to be computed "
            f"in a page"
        )
    return ""


def _data(network: Network) -> Json:
    """Nodes with their tables and places, and the arcs, for the script."""
    value = network.network_
    place = {node: v for v, node in enumerate(value.nodes)}
    boxes = {node: (WIDTH, _height(value, node)) for node in value.nodes}
    layout = Layout.of(Drawing(value.graph).layers, value.graph.edges, boxes, GAP, RISE)
    shares = influences(network.fitted.inference())
    nodes = []
    for node in value.nodes:
        (x, y), (wide, tall) = layout.middle[node], boxes[node]
        at = {"x": EDGE + x - wide / 2, "y": EDGE + y - tall / 2, "wide": wide, "tall": tall}
        nodes.append({"name": node, "py": repr(node), "at": at, **_node(value, node, place)})
    arcs = [
        {"from": place[a], "to": place[b], "share": shares.get((a, b)), "route": _route(layout.routes[a, b])}
        for a, b in value.graph.edges
    ]
    return {"nodes": nodes, "arcs": arcs, "digest": network.digest}


def _node(value: Value, node: str, place: Mapping[str, int]) -> Json:
    """The states and the table of a level, or the means, slopes and deviations of a number."""
    if node not in value.normals:
        states, family = value.states(node), [place[n] for n in value.graph.family(node)]
        table = {"of": family, "p": value.potentials[node].ravel().tolist()}
        return {"states": [str(s) for s in states], "literals": [repr(s) for s in states], "table": table}
    one = value.normals[node]
    numbers = {"centre": one.centre, "mean": one.mean, "slopes": one.slopes, "deviation": one.deviation}
    above = {"levels": [place[n] for n in one.levels], "numbers": [place[n] for n in one.numbers]}
    return {"normal": {**above, **{name: array.ravel().tolist() for name, array in numbers.items()}}}


def _height(value: Value, node: str) -> float:
    """Pixels of a card."""
    return NUMBER if node in value.normals else HEAD + LINE * min(value.sizes[node], STATES)


def _route(points: Float) -> str:
    """An arc as a path of SVG."""
    first, *others = (f"{EDGE + x:.1f},{EDGE + y:.1f}" for x, y in points.tolist())
    return f"M{first}C{' '.join(others)}"


def widest(value: Value) -> tuple[int, set[str]]:
    """Cells of the largest table when nodes are summed out one by one, the cheapest first, and what it is about.

    >>> cells, scope = widest(Value.of([("a", "b")], {"a": [0.5, 0.5], "b": [[0.1, 0.9], [0.2, 0.8]]}))
    >>> cells, sorted(scope)
    (4, ['a', 'b'])
    """
    near = {node: others | {node} for node, others in value.graph.moral().items()}
    cost = {node: prod(value.sizes[n] for n in scope) for node, scope in near.items()}
    most, widest_scope = 0, set[str]()
    while cost:
        node = min(cost, key=lambda n: (cost[n], n))
        scope = near.pop(node)
        if cost.pop(node) > most:
            most, widest_scope = prod(value.sizes[n] for n in scope), scope
        for other in scope - {node}:
            near[other] = (near[other] | scope) - {node}
            cost[other] = prod(value.sizes[n] for n in near[other])
    return most, widest_scope
