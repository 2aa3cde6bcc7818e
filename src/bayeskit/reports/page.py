"""Page: the report of an evaluation as one file that needs nothing else."""

from __future__ import annotations

import html
import os
import platform
import re
from collections.abc import Sequence
from importlib import import_module, resources
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import bayeskit
from bayeskit.errors import InputError, KindError
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.network import Network
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.explain.explanation import Explanation
from bayeskit.replacement import replace_file
from bayeskit.reports import cases, effect_plot, network, overview, panel, performance
from bayeskit.reports.markup import Section, table, text
from bayeskit.reports.profile import Table
from bayeskit.reports.whatif import WhatIf

MOST_CLASSES = 1000
EXPLAINED = 400  # rows on which columns are ranked and the panel is checked
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def report(
    evaluation: Evaluation | Network,
    path: str | os.PathLike[str] = "report.html",
    title: str | None = None,
    *,
    rows: bool = True,
) -> Path:
    """Write an evaluation as one HTML file: data, performance, explanations, and the model to try out.

    It needs no network and no other file. Where the model can be written down term by term the page has a panel that
    computes posteriors for any values; the terms are checked against the model before. Of a ``Network`` the page
    shows the graph, and every marginal under evidence set by clicking.

    Parameters
    ----------
    evaluation : Evaluation or Network
        What ``evaluate`` found, or a network with tables.
    path : path, default "report.html"
        Where to write; written whole or not at all.
    title : str, optional
        The heading of the page.
    rows : bool, default True
        Whether learned rows may be part of the page, where neighbours (KNNBayes, members of AutoBayes) are looked up
        in them. False leaves them, and that panel, out; the hardest cases show the values of six rows all the same.

    Returns
    -------
    pathlib.Path
        The file.

    Examples
    --------
    >>> import bayeskit as bk, tempfile
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = report(bk.evaluate(bk.NaiveBayes(), X, y), f"{folder}/iris.html")
    ...     path.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    if isinstance(evaluation, Network):
        page = _page(network.sections(evaluation), title or repr(evaluation), ("elements.js", "network.js"))
    elif isinstance(evaluation, Evaluation):
        if len(evaluation.classes) > MOST_CLASSES:
            raise InputError(
                f"a page shows at most {MOST_CLASSES:,} classes, and this evaluation has {len(evaluation.classes):,}; "
                f"evaluation.frame() has all measures, or join classes and evaluate again"
            )
        page = _page(
            _sections(evaluation, rows),
            title or f"{evaluation.name}: evaluation",
            ("elements.js", "arithmetic.js", "summing.js", "voices.js", "model.js", "panel.js"),
        )
    else:
        raise KindError(f"report() takes what evaluate() gives, or a Network, not {type(evaluation).__name__}")
    target = Path(path)
    replace_file(os.fspath(target), [page.encode()])
    return target


def _page(sections: list[Section], title: str, scripts: Sequence[str]) -> str:
    contents = "".join(f'<li><a href="#{s.place}">{s.title}</a></li>' for s in sections)
    files = resources.files("bayeskit.reports")
    style, *code = (files.joinpath(name).read_text(encoding="utf-8") for name in ("style.css", *scripts))
    made = f"bayeskit {text(bayeskit.__version__)}"
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="generator" content="bayeskit {text(bayeskit.__version__)}">\n'
        f'<meta name="color-scheme" content="light dark">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<link rel="icon" href="data:,">\n<title>{html.escape(title)}</title>\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n"
        f'<a class="skip" href="#main">Skip to the report</a>\n'
        f'<header><p class="made">{made}</p><h1>{text(title, 120)}</h1></header>\n'
        f'<nav aria-label="Contents"><ol>{contents}</ol></nav>\n'
        f'<main id="main">\n{"".join(s.html() for s in sections)}</main>\n'
        f"<script>\n{''.join(code)}</script>\n</body>\n</html>\n"
    )


def _sections(evaluation: Evaluation, learned: bool) -> list[Section]:
    rows, model = Table.of(evaluation), evaluation.model
    profiles = {} if rows is None else rows.profiles
    some = np.empty(0, dtype=np.int64) if rows is None else rows.some(EXPLAINED)
    seen = None if rows is None else _explained(model, rows, some)
    told = None if seen is None else cases.importance(seen)
    found: list[Section | None] = [
        performance.measures(evaluation),
        overview.data(evaluation, profiles, None if rows is None else len(rows)),
        overview.model(evaluation),
        performance.confusion(evaluation),
        performance.calibration(evaluation),
        performance.costs(evaluation),
        None if seen is None or told is None else cases.informative(seen, told),
    ]
    whatif = WhatIf.of(model, rows, some, None if seen is None else seen.proba, learned)
    if whatif.program is not None and told is not None and seen is not None:
        found.append(effect_plot.effect_plots(whatif.program, dict(zip(seen.parts, told.tolist(), strict=True))))
    hard = np.empty(0, dtype=np.int64) if rows is None else cases.hardest(rows)
    if rows is not None and len(hard):
        found.append(cases.cases(rows, hard, evaluation.classes, _explained(model, rows, hard)))
    found.append(panel.section(evaluation, whatif, seen, told, hard, rows))
    found.append(_reproduce(evaluation))
    return [section for section in found if section is not None]


def _explained(model: Any, rows: Table, which: Any) -> Explanation | None:
    return model.explain(rows.take(which)) if isinstance(model, overview.EXPLAINS) else None


def _imports(call: str) -> str:
    """Where the names of a call come from."""
    names = sorted({*re.findall(r"([A-Za-z_]\w*)\(", call), "report"})
    lines = []
    for module in ("bayeskit", "bayeskit.families", "bayeskit.smoothing"):
        if mine := [name for name in names if name in dir(import_module(module))]:
            lines.append(f"from {module} import {', '.join(mine)}")
        names = [name for name in names if name not in mine]
    return "\n".join(lines)


def _reproduce(evaluation: Evaluation) -> Section:
    """What to run, and with what, to have the same figures."""
    model = evaluation.model
    settings = " ".join(repr(model).split())
    costs = ", costs=costs" if evaluation.decision_costs is not None and evaluation.decision_costs.given else ""
    call = f"evaluate({settings}, X, y, {evaluation.method!r}{costs}, random_state={evaluation.random_state!r})"
    code = f"{_imports(call)}\n\nreport({call})"
    facts = [("bayeskit", bayeskit.__version__), ("Python", platform.python_version())]
    facts += [(name, version(name)) for name in ("numpy", "scipy", "scikit-learn", "pyarrow")]
    if isinstance(model, BayesClassifier):
        facts.append(("digest of the model", model.model_.digest))
    versions = table(("what", "version"), [(name, text(value, 80)) for name, value in facts], 2)
    body = (
        f"<p>The same rows, seed and settings give the same figures; equal models have equal digests.</p>"
        f"<pre><code>{text(code, 100_000)}</code></pre>{versions}"
    )
    return Section("reproduce", "How to reproduce this", body)
