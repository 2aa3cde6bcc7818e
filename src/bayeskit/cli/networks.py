"""Commands on networks: network learn, query, draw, panel."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

import bayeskit as bk
from bayeskit.arrays import Label
from bayeskit.cli.options import Kinds, command, kinds_of, parse_settings, split_names
from bayeskit.cli.output import NETWORK, PICTURE, REPORT, Force, Saying, check_output, command_line, notes
from bayeskit.cli.sources import Rows, open_source
from bayeskit.errors import InputError, UsageError
from bayeskit.networks.mixture import NumberAnswer

NetworkFile = Annotated[Path, typer.Argument(help="A .bif file, or a network saved as .bayes.", show_default=False)]
Arcs = Annotated[list[str] | None, typer.Option(help="Arcs as parent>child.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Bayesian networks: learn one from a table, ask it, draw it, make a page of it.", no_args_is_help=True
    )
    command(group, learn, "bayeskit network learn survey.csv -o survey.bif --kinds zip=nominal --max-parents 3")
    command(group, query, "bayeskit network query survey.bif --target job --evidence age=young,sex=F")
    command(group, draw, "bayeskit network draw survey.bif -o survey.svg")
    command(group, panel, "bayeskit network panel survey.bif -o survey.html")
    app.add_typer(group, name="network")


def learn(
    rows: Rows,
    say: Saying,
    output: Annotated[Path, typer.Option("--output", "-o", help="A .bif or .bayes file.", show_default=False)],
    score: Annotated[str, typer.Option(help="bic, aic, bdeu, k2 or loo; with numbers bic, aic or bge.")] = "bic",
    search: Annotated[
        str, typer.Option(help="hill-climb, tabu, order, exact, k2, chow-liu, pc or mmhc.")
    ] = "hill-climb",
    required: Arcs = None,
    forbidden: Arcs = None,
    max_parents: Annotated[int | None, typer.Option(help="Of a node.", min=0)] = None,
    restarts: Annotated[int, typer.Option(help="Climb again from a changed graph.", min=0)] = 0,
    kinds: Kinds = None,
    cuts: Annotated[
        str | None, typer.Option(help="Cut numbers into intervals: frequency, mdlp, or how many of equal weight.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="The column of levels by which mdlp cuts.")] = None,
    force: Force = False,
) -> None:
    """Learn a network over the columns of a table: arcs by search, tables by counting."""
    check_output(output, NETWORK, [rows.place], force, rows.sql)
    given, barred = _arcs(required, "--required"), _arcs(forbidden, "--forbidden")
    with notes(say) as messages, open_source(rows, say, "reading") as source:
        network = bk.learn_network(
            source,
            score,
            search,
            required=given,
            forbidden=barred,
            max_parents=max_parents,
            restarts=restarts,
            kinds=kinds_of(kinds),
            cuts=int(cuts) if cuts and cuts.isdecimal() else cuts,
            label=label,
        )
    network.save(output) if output.suffix == ".bayes" else bk.write_bif(network, output)
    arcs = "\n".join(f"{parent} > {child}" for parent, child in network.edges) or "no arcs"
    data = {"network": str(output), "nodes": network.nodes, "edges": network.edges, "score": network.search_.score}
    then = command_line("network", "draw", output, "-o", output.with_suffix(".svg"))
    say.answer(f"{arcs}\n\n{network!r}; saved in {output}", {**data, "notes": messages}, then)


def query(
    file: NetworkFile,
    say: Saying,
    target: Annotated[str, typer.Option("--target", "-t", help="The node asked about.", show_default=False)],
    evidence: Annotated[list[str] | None, typer.Option(help="What is known: age=young,sex=F")] = None,
) -> None:
    """Ask for the probabilities of a node, or of a number for mean, deviation and quantiles, given what is known."""
    network = _load(file)
    known = {node: _state(network, node, text) for node, text in parse_settings(evidence or (), "--evidence").items()}
    answer = network.query(_node(network, target), known)
    if isinstance(answer, NumberAnswer):
        quantiles = {f"{p:.0%}": answer.quantile(p) for p in (0.05, 0.25, 0.5, 0.75, 0.95)}
        found = {"mean": answer.mean, "deviation": answer.deviation, **quantiles}
    else:
        found = {str(state): float(p) for state, p in answer.items()}
    width = max(map(len, found))
    then = command_line("network", "draw", file, "-o", file.with_suffix(".svg"))
    say.answer("\n".join(f"{state:<{width}}  {p:.6g}" for state, p in found.items()), found, then)


def draw(
    file: NetworkFile,
    say: Saying,
    output: Annotated[Path, typer.Option("--output", "-o", help="An .svg file.", show_default=False)],
    force: Force = False,
) -> None:
    """Draw a network, parents above their children."""
    from bayeskit.replacement import replace_file

    check_output(output, PICTURE, [file], force)
    network = _load(file)
    replace_file(str(output), [network.svg().encode()])
    then = command_line("network", "query", file, "--target", network.nodes[0])
    say.answer(f"{network!r}; drawn in {output}", {"picture": str(output), "nodes": network.nodes}, then)


def panel(
    file: NetworkFile,
    say: Saying,
    output: Annotated[Path, typer.Option("--output", "-o", help="An .html file.", show_default=False)],
    title: Annotated[str | None, typer.Option(help="The heading of the page.")] = None,
    force: Force = False,
) -> None:
    """Write a page on which states and numbers are set as evidence, and the beliefs of all nodes follow."""
    check_output(output, REPORT, [file], force)
    network = _load(file)
    bk.report(network, output, title or file.name)
    then = command_line("network", "query", file, "--target", network.nodes[0])
    say.answer(f"{network!r}; the page is {output}", {"page": str(output), "nodes": network.nodes}, then)


def _load(file: Path) -> bk.Network:
    if not file.name.endswith(".bayes"):
        return bk.read_network(file)
    network = bk.load(file)
    if not isinstance(network, bk.Network):
        raise InputError(f"{file}: this is a {type(network).__name__}, not a network")
    return network


def _node(network: bk.Network, name: str) -> str:
    if name not in network.nodes:
        raise InputError(f"the network has no node {name!r} (it has: {', '.join(network.nodes)})")
    return name


def _state(network: bk.Network, node: str, text: str) -> Label:
    """A state by how it is written; states may be numbers, truth values or intervals, in which a number lies."""
    value = network.network_
    if _node(network, node) in value.normals and not is_decimal(text):
        raise InputError(f"node {node!r} is a number, and {text!r} is none")
    if (node in value.cuts or node in value.normals) and is_decimal(text):
        return float(text)
    states = {str(state): state for state in network.states(_node(network, node))}
    if text not in states:
        raise InputError(f"node {node!r} has no state {text!r} (it has: {', '.join(states)})")
    return states[text]


def is_decimal(text: str) -> bool:
    """Whether a text is a finite number."""
    return re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text) is not None


def _arcs(given: list[str] | None, option: str) -> list[tuple[str, str]]:
    found = []
    for text in split_names(given):
        parent, arrow, child = text.partition(">")
        if not (parent and arrow and child) or ">" in child:
            raise UsageError(f"{option} {text!r}: write an arc as parent>child")
        found.append((parent, child))
    return found
