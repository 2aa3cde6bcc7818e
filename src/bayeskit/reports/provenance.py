"""Provenance: where an evaluation came from, and the card of its model."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version

from sklearn.base import clone

import bayeskit
from bayeskit.arrays import Classifier, Int
from bayeskit.estimators.any_wrapper import AnyWrapper
from bayeskit.estimators.auto import AutoBayes
from bayeskit.estimators.calibrated import Calibrated
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.model.journal import Origin
from bayeskit.reports.markup import Safe, Section, folding_table, table, text

PACKAGES = ("numpy", "scipy", "scikit-learn", "pyarrow", "duckdb")
HOW = {
    "algebra": "the model of each part computed exactly from the counts",
    "refit": "the model of each part fitted anew",
    "fit": "the model taken as it is",
}
HOMES = (
    "bayeskit",
    "bayeskit.families",
    "bayeskit.smoothing",
    "bayeskit.engines.reading",
    "bayeskit.model.labelled_table",
)  # where names of a call may come from


@dataclass(frozen=True)
class Provenance:
    """What is known of an evaluation beside its figures; whoever read the rows says it.

    ``rows`` is Python for the table, and ``arguments`` for those of evaluate, so that both can be run again.
    """

    note: str = ""  # the purpose of the model, in words
    command: str = ""  # as typed
    files: tuple[Origin, ...] = ()
    rows: str = "X"
    target: str = "y"
    arguments: Mapping[str, str] = field(default_factory=dict)
    read: int | None = None  # rows there were, if a sample was taken
    numbers: Int | None = None  # (n,) of the rows evaluated in their source, from 1; None is 1, 2, 3, ...
    excluded: Mapping[str, str] = field(default_factory=dict)  # columns that are no features, and why
    warnings: tuple[str, ...] = ()
    made: datetime = field(default_factory=lambda: datetime.now(UTC))

    def number(self, row: int) -> int:
        """Of a row evaluated, in its source, from 1."""
        return row + 1 if self.numbers is None else int(self.numbers[row])

    @property
    def day(self) -> str:
        return f"{self.made.day} {self.made:%B %Y}"

    @property
    def source(self) -> str:
        """The names of the files."""
        names = [origin.file for origin in self.files]
        return ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")


def target_of(evaluation: Evaluation) -> str:
    """The name of the column that was predicted, if it has one."""
    return evaluation.y if isinstance(evaluation.y, str) else ""


def lead(evaluation: Evaluation, origin: Provenance, columns: int) -> str:
    """Data, target, rows, date and command in a line or two."""
    rows = f"{evaluation.measures.total.weight[0]:,.10g}"
    facts = [f"<b>{text(origin.source, 90)}</b>"] if origin.source else []
    facts += [f"target <b>{text(name)}</b>"] if (name := target_of(evaluation)) else []
    drawn = f" (a sample of {origin.read:,} rows)" if origin.read else ""
    facts += [f"{rows} rows judged{drawn}", *([f"{columns:,} columns"] if columns else []), text(evaluation.name)]
    facts += [f'<time datetime="{origin.made:%Y-%m-%d}">{origin.day}</time>']
    shell = f"<br><code>{text(origin.command, 1000)}</code>" if origin.command else ""
    note = f'<p class="purpose">{text(origin.note, 2000)}</p>' if origin.note else ""
    return f'{note}<p class="facts">{" · ".join(facts)}{shell}</p>'


def card(evaluation: Evaluation, origin: Provenance, contents: list[str]) -> Section:
    """Purpose, data, warnings, what the page holds, and how to have the same figures again."""
    said = [("Purpose", origin.note or "not stated (--note, or note= in Python)")]
    said += [("Target", name)] if (name := target_of(evaluation)) else []
    said += [("Judged by", f"{evaluation.method}, {HOW[evaluation.computed]}")]
    if origin.read:
        said.append(("Sample", f"drawn at random from {origin.read:,} rows; row numbers are those of the source"))
    said += [(f"Left out: {name}", why) for name, why in origin.excluded.items()]
    parts = [table(("what", "said"), [(name, text(what, 2000)) for name, what in said], 2)]
    if origin.files:
        rows = [(o.file, o.sha256, f"{o.size:,}") for o in origin.files]
        parts.append(
            "<h3>Source</h3>"
            + folding_table(
                [(text(f, 90), Safe(f"<code>{h}</code>"), s) for f, h, s in rows], ("file", "SHA-256", "bytes"), 2
            )
        )
    warned = "".join(f"<li>{text(warning, 1000)}</li>" for warning in origin.warnings)
    if warned:
        parts.append(f'<h3>Warnings</h3><ul class="notes">{warned}</ul>')
    held = "".join(f"<li>{text(line, 400)}</li>" for line in contents)
    parts.append(f'<h3>What this page contains</h3><ul class="notes">{held}</ul>')
    parts.append(_how_to_reproduce(evaluation, origin))
    return Section("card", "Model card", "".join(parts))


def _how_to_reproduce(evaluation: Evaluation, origin: Provenance) -> str:
    """What to run, and with what, to have the same figures."""
    shell = f"<pre><code>{text(origin.command, 100_000)}</code></pre><p>or in Python</p>" if origin.command else ""
    facts = [("bayeskit", bayeskit.__version__), ("Python", platform.python_version())]
    facts += [(name, version(name)) for name in PACKAGES]
    digest = digest_of(evaluation.model)
    facts += [("digest of the model", Safe(f"<code>{digest}</code>"))] if digest else []
    versions = table(("what", "version"), facts, 2)
    return (
        f"<h3>How to reproduce this</h3>"
        f"<p>The same rows, seed and settings give the same figures; equal models have equal digests.</p>"
        f"{shell}<pre><code>{text(python(evaluation, origin), 100_000)}</code></pre>{versions}"
    )


def digest_of(model: Classifier) -> str:
    """The digest of a model, if it has one: of a pool that of what it has read."""
    while isinstance(model, Calibrated | AnyWrapper):
        model = model.estimator_
    model = model.reader_ if isinstance(model, AutoBayes) else model
    return str(model.model_.digest) if isinstance(model, BayesClassifier) else ""


def python(evaluation: Evaluation, origin: Provenance) -> str:
    """The evaluation as Python."""
    model = evaluation.model
    if isinstance(model, AutoBayes):
        model = clone(model).set_params(callback=None)
    settings = " ".join(repr(model).split())
    costs = {"costs": "costs"} if evaluation.decision_costs is not None and evaluation.decision_costs.given else {}
    others = {**costs, **origin.arguments, "random_state": repr(evaluation.random_state)}
    given = "".join(f", {name}={value}" for name, value in others.items())
    call = f"evaluate({settings}, {origin.rows}, {origin.target}, {evaluation.method!r}{given})"
    return f"{_imports(call)}\n\nreport({call})"


def _imports(call: str) -> str:
    """Where the names of a call come from."""
    names = sorted({*re.findall(r"([A-Za-z_]\w*)\(", call), "report"})
    lines = []
    for module in HOMES:
        if mine := [name for name in names if name in dir(import_module(module))]:
            lines.append(f"from {module} import {', '.join(mine)}")
        names = [name for name in names if name not in mine]
    return "\n".join(lines)
