"""Page: the report of an evaluation as one file that needs nothing else."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np

import bayeskit
from bayeskit.arrays import Label
from bayeskit.errors import InputError, KindError
from bayeskit.estimators.network import Network
from bayeskit.evaluation.drift import Drift
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.replacement import replace_file
from bayeskit.reports import (
    cases,
    drift_page,
    effect_plot,
    groups,
    network,
    nomogram,
    overview,
    panel,
    performance,
    reduced,
    sets,
    threshold,
)
from bayeskit.reports.cases import Case
from bayeskit.reports.markup import Section, text
from bayeskit.reports.one_class import OneClass
from bayeskit.reports.profile import Table
from bayeskit.reports.provenance import Provenance, card, lead, target_of
from bayeskit.reports.verdict import Verdict
from bayeskit.reports.whatif import WhatIf
from bayeskit.targets.scripts import ENGINE

MOST_CLASSES = 1000
EXPLAINED = 400  # rows on which columns are ranked and the panel is checked
SCRIPTS = ("packed.js", *ENGINE, "model.js", "panel.js", "threshold.js")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def report(
    evaluation: Evaluation | Network | Drift,
    path: str | os.PathLike[str] = "report.html",
    title: str | None = None,
    *,
    rows: bool = False,
    note: str = "",
    interest: Label | None = None,
) -> Path:
    """Write an evaluation as one HTML file: a verdict, performance, explanations, the model to try out and its card.

    It needs no network and no other file. Where the model can be written down term by term the page has a panel that
    computes posteriors for any values; the terms are checked against the model before. Of a ``Network`` the page
    shows the graph, and every marginal under evidence set by clicking.

    Parameters
    ----------
    evaluation : Evaluation, Network or Drift
        What ``evaluate`` or ``drift`` found, or a network with tables.
    path : path, default "report.html"
        Where to write; written whole or not at all.
    title : str, optional
        The heading of the page.
    rows : bool, default False
        Whether learned rows may be part of the page: values and steps of the hardest cases, and the rows among which
        neighbours are found (KNNBayes, members of AutoBayes). Without them a pool is tried out without its neighbours,
        and the page says by how much answers move.
    note : str, default ""
        What the model is for; it stands on the page.
    interest : class, optional
        The class whose calibration, precision and ROC are drawn; the rarest unless given.

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
        made = _page(network.sections(evaluation), title or repr(evaluation), network.SCRIPTS)
        replace_file(os.fspath(path), [made.encode()])
    elif isinstance(evaluation, Drift):
        write_sections(path, drift_page.sections(evaluation), title or "Drift", drift_page.lead(evaluation))
    elif isinstance(evaluation, Evaluation):
        Page.of(evaluation, title, rows, Provenance(note=note), interest).write(path)
    else:
        raise KindError(
            f"report() takes what evaluate() or drift() gives, or a Network, not {type(evaluation).__name__}"
        )
    return Path(path)


@dataclass(frozen=True)
class Page:
    """The report of an evaluation, and what it shows of the rows."""

    html: str
    verdict: Verdict
    contents: tuple[str, ...]

    @classmethod
    def of(
        cls,
        evaluation: Evaluation,
        title: str | None,
        rows: bool,
        origin: Provenance,
        interest: Label | None = None,
    ) -> Page:
        """``rows`` says whether learned rows may be in it."""
        if len(evaluation.classes) > MOST_CLASSES:
            raise InputError(
                f"a page shows at most {MOST_CLASSES:,} classes, and this evaluation has {len(evaluation.classes):,}; "
                f"evaluation.frame() has all measures, or join classes and evaluate again"
            )
        target = target_of(evaluation)
        title = title or (f"Predicting {target}" if target else f"{evaluation.name}: evaluation")
        one = OneClass.of(evaluation, interest)
        verdict = Verdict(evaluation, target, one.label)
        table = Table.of(evaluation)
        sections, contents = _sections(evaluation, table, rows, origin, one)
        head = lead(evaluation, origin, 0 if table is None else len(table.profiles)) + verdict.html()
        sections.append(card(evaluation, origin, contents))
        return cls(_page(sections, title, SCRIPTS, head), verdict, tuple(contents))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Whole, or not at all."""
        replace_file(os.fspath(path), [self.html.encode()])


def write_sections(path: str | os.PathLike[str], sections: list[Section], title: str, head: str) -> None:
    """A page to read, whole or not at all."""
    replace_file(os.fspath(path), [_page(sections, title, (), head).encode()])


def _page(sections: list[Section], title: str, scripts: Sequence[str], head: str = "") -> str:
    contents = "".join(f'<li><a href="#{s.place}">{s.title}</a></li>' for s in sections)
    style, *code = map(_file, ("style.css", "elements.js", *scripts))
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
        f'<header><p class="made">{made}</p><h1>{text(title, 120)}</h1>{head}</header>\n'
        f'<nav aria-label="Contents"><ol>{contents}</ol></nav>\n'
        f'<main id="main">\n{"".join(s.html() for s in sections)}</main>\n'
        f"<script>\n{''.join(code)}</script>\n</body>\n</html>\n"
    )


def _file(name: str) -> str:
    """A part of the page; the engine is that of every export."""
    package = "bayeskit.targets" if name in ENGINE else "bayeskit.reports"
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def _sections(
    evaluation: Evaluation, rows: Table | None, learned: bool, origin: Provenance, interest: OneClass
) -> tuple[list[Section], list[str]]:
    """The parts of the page, and in words what it holds of the rows."""
    model = evaluation.model
    profiles = {} if rows is None else rows.profiles
    chosen = np.empty(0, dtype=np.int64) if rows is None else rows.pick_rows(EXPLAINED)
    seen = None if rows is None else cases.explain(model, rows.take(chosen))
    importance = None if seen is None else cases.importance(seen)
    parts = {} if importance is None or seen is None else dict(zip(seen.parts, importance.tolist(), strict=True))
    worth = {name: bits for name, bits in parts.items() if name in profiles and bits > 0} or None  # of columns
    effects = effect_plot.Effects.of(evaluation, rows, interest, worth)
    if seen is not None and importance is not None and set(seen.parts) - set(cases.NO_COLUMNS):
        informative: Section | None = cases.informative(seen, importance)
    else:
        informative = cases.informative_by_effects(effects.worth, 0 if rows is None else len(rows))
    found: list[Section | None] = [
        performance.measures(evaluation),
        performance.confusion(evaluation),
        performance.calibration(evaluation, interest),
        sets.sets(evaluation),
        threshold.threshold(evaluation, interest),
        performance.costs(evaluation),
        groups.groups(evaluation, interest),
        groups.segments(evaluation),
        informative,
        effects.section(),
        nomogram.nomogram(evaluation, rows, interest),
    ]
    whatif = WhatIf.of(model, rows, chosen, None if seen is None else seen.proba, learned)
    if whatif.program is None and rows is not None:
        whatif = reduced.reduce_columns(model, rows, worth or effects.worth, whatif.note) or whatif
    hard = (
        [] if rows is None else [Case.of(evaluation, rows, i, origin.number(i)) for i in cases.hardest(rows).tolist()]
    )
    if hard:
        found.append(cases.cases(hard, learned, whatif.program is not None))
    shown = hard if learned else []
    found.append(panel.section(evaluation, whatif, seen, importance, shown, rows))
    found.append(overview.data(evaluation, profiles, None if rows is None else len(rows)))
    found.append(overview.model(evaluation))
    return [section for section in found if section is not None], _contents(rows, whatif, shown)


def _contents(rows: Table | None, whatif: WhatIf, shown: list[Case]) -> list[str]:
    """What a reader of the page can learn of the rows."""
    contents = ["measures, shares of classes, and mistakes by class"]
    if rows is None:
        return [*contents, "no row and no value of a row: the rows were streamed"]
    contents.append(
        f"of {len(rows.profiles):,} columns the kind, the share of missing values, the number of values, the least and "
        f"the greatest"
    )
    program = whatif.program
    if program is not None:
        levels = [len(q.levels) for q in program.questions if q.levels is not None]
        single = sum(
            rows.profiles[q.name].single for q in program.questions if q.levels is not None and not whatif.lead
        )
        once = f", {single:,} of which one row alone has" if single else ""
        what = "answers of the model to combinations of values" if whatif.lead else "the model"
        contents.append(f"{what}, with the names of {sum(levels):,} levels{once}" if levels else what)
    if program is not None and program.rows:
        contents.append(f"the values of {program.rows:,} learned rows, among which neighbours are found")
    if shown:
        contents.append(f"the values of {len(shown)} learned rows, the hardest cases")
    return contents if shown or (program is not None and program.rows) else [*contents, "no learned row"]
