"""Commands that show: inspect, rule, demo."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

import bayeskit as bk
from bayeskit.cli.options import ModelFile, command, exact, parse_settings
from bayeskit.cli.output import REPORT, Force, Saying, check_output, command_line
from bayeskit.model.journal import as_record

HOLDS = "; the file holds the rows learned, equal ones once"


def register(app: typer.Typer) -> None:
    command(app, inspect, "bayeskit inspect people.bayes")
    command(app, rule, "bayeskit rule --prior ill=0.01,well=0.99 --likelihood ill=0.9,well=0.09")
    command(app, demo, "bayeskit demo")


def inspect(file: ModelFile, say: Saying) -> None:
    """Show what a model file holds: classes, columns, settings, digest and journal."""
    from bayeskit.explain.summary import Summary
    from bayeskit.storage import container, identifiers, model_file, network_file

    kind = container.peek(file).get("model")
    if kind == network_file.KIND:
        network = bk.load(file)
        then = command_line("network", "query", file, "--target", network.nodes[0])
        say.answer(network, {"kind": kind, "nodes": network.nodes, "edges": network.edges}, then)
        return
    if kind in identifiers.BUNDLES.values():
        _inspect_wrapper(bk.load(file), say, command_line("predict", file, "NEW.csv"))
        return
    model, kind, settings = model_file.load(file)
    summary = Summary.of(model)
    journal = "\n".join(map(str, model.journal)) or "no update since it was fitted"
    given = ", ".join(f"{n}={v!r}" for n, v in settings.items())
    exact = f"{model.exact}{HOLDS if model.structure.kept else ''}"
    text = f"{kind}({given})\ntarget {model.schema.target!r}, digest {model.digest}\n{exact}\n\n{summary}\n\n{journal}"
    data = {
        "kind": kind,
        "settings": {n: v if isinstance(v, int | float | str | None) else repr(v) for n, v in settings.items()},
        "target": model.schema.target,
        **asdict(summary),
        "classes": [{"label": c, "weight": w, "prior": p} for c, w, p in summary.classes],
        "journal": [as_record(entry) for entry in model.journal],
        "exact": {"held": model.exact.held, "lost": model.exact.lost, "rows_kept": model.structure.kept},
    }
    say.answer(text, data, command_line("predict", file, "NEW.csv"))


def _inspect_wrapper(pool: Any, say: Saying, then: str) -> None:
    """What a pool, a calibration or a decision holds, and what the classifier that reads rows knows of them."""
    from bayeskit.cli.fit import candidates
    from bayeskit.estimators.wrapper import core
    from bayeskit.explain.summary import Summary

    model = core(pool).model_
    pooled = isinstance(pool, bk.AutoBayes)
    holds_rows = pool.ensemble_.rows is not None if pooled else model.structure.kept
    known = Summary.of(model)
    journal = "\n".join(map(str, model.journal)) or "no update since it was fitted"
    classes = [{"label": c, "weight": w, "prior": p} for c, w, p in known.classes]
    labelled = ", ".join(f"{c['label']} ({c['weight']:,.10g} rows)" for c in classes)
    exact = f"{pool.exact_}{HOLDS if holds_rows else ''}"
    text = f"{pool!r}\ntarget {model.schema.target!r}; classes {labelled}\n{exact}\n\n{pool.summary()}\n\n{journal}"
    data = {
        "kind": type(pool).__name__,
        "target": model.schema.target,
        "classes": classes,
        "columns": [{n: c[n] for n in ("name", "kind", "why")} for c in known.columns],
        **(candidates(pool) if pooled else {}),
        "exact": {"held": pool.exact_.held, "lost": pool.exact_.lost, "rows_kept": holds_rows},
        "journal": [as_record(entry) for entry in model.journal],
    }
    say.answer(text, data, then)


def rule(
    prior: Annotated[
        str, typer.Option(help="P(h): a number, or by hypothesis: ill=0.01,well=0.99", show_default=False)
    ],
    likelihood: Annotated[str, typer.Option(help="P(e | h), likewise.", show_default=False)],
    say: Saying,
    evidence: Annotated[str | None, typer.Option(help="P(e); one hypothesis alone needs it.")] = None,
) -> None:
    """Bayes' rule on numbers, P(h | e) = P(e | h) P(h) / P(e); fractions such as 1/50000 are exact."""
    from bayeskit.decision.independence import bayes_rule

    total = None if evidence is None else exact(evidence, "--evidence")
    found = bayes_rule(_parse_prior(prior, "--prior"), _parse_prior(likelihood, "--likelihood"), total)
    by_name = {n: float(p) for n, p in (found if isinstance(found, dict) else {"posterior": found}).items()}
    width = max(map(len, by_name))
    say.answer("\n".join(f"{name:<{width}}  {p:.6g}" for name, p in by_name.items()), by_name, command_line("demo"))


def _parse_prior(text: str, option: str) -> Any:
    if "=" not in text:
        return exact(text, option)
    return {name: exact(p, option) for name, p in parse_settings([text], option).items()}


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The report to write.")] = Path("report.html"),
    force: Force = False,
) -> None:
    """Learn from the embedded example through DuckDB, judge on rows held out, explain one case, learn and forget."""
    from bayeskit.cli.example import demonstrate

    check_output(output, REPORT, [], force)
    demonstrate(report=output)
