"""Effect plot: what each value of a column says, drawn from the model's own terms."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bayeskit.arrays import Float
from bayeskit.numerics.special import LOG_2
from bayeskit.portable.program import Term
from bayeskit.reports import drawing
from bayeskit.reports.inputs import InputField
from bayeskit.reports.markup import Section, text
from bayeskit.reports.program import PageProgram

COLUMNS, CLASSES, LEVELS = 6, 6, 10  # that are drawn at most
POINTS = 160
FAR = 12.0  # bits at which a curve is cut: 4096 to 1
WORTH = 0.01  # bits on average below which a column is not drawn


def effect_plots(program: PageProgram, told: Mapping[str, float]) -> Section | None:
    """The columns that tell most, each by itself; None where there are too many classes or columns hang together."""
    member = program.members[0]
    if len(program.members) > 1 or not 2 <= len(program.classes) <= CLASSES:
        return None
    place = {question.name: j for j, question in enumerate(program.questions)}
    together = {name for term in member.terms if len(term.columns) != 1 for name in term.columns}
    if any(not term.columns for term in member.terms):
        return None
    alone = {place[t.columns[0]]: t for t in Term.by_column([t for t in member.terms if len(t.columns) == 1])}
    worth = {j: told.get(program.questions[j].name, 0.0) for j in alone if program.questions[j].name not in together}
    order = sorted((j for j, bits in worth.items() if bits >= WORTH), key=lambda j: -worth[j])[:COLUMNS]
    drawn = [_effect_plot(program, j, alone[j]) for j in order]
    shown = [picture for picture in drawn if picture]
    if not shown:
        return None
    said = (
        f"Above zero a value speaks for {text(program.classes[1])}, below for {text(program.classes[0])}"
        if len(program.classes) == 2
        else "Each line is a class, measured against the mean of all: the higher, the more a value speaks for it"
    )
    lead = f"<p>The evidence in each value of a column, in bits; curves are cut at {FAR:g}. {said}.</p>"
    key = drawing.key(program.classes) if len(program.classes) > 2 else ""
    return Section("values", "What each value says", f'{lead}{key}<div class="portraits">{"".join(shown)}</div>')


def _effect_plot(program: PageProgram, j: int, term: Term) -> str:
    question, weight = program.questions[j], program.members[0].weight
    if question.levels is not None:
        return _levels(question, program.term(term, j, np.arange(float(len(question.levels)))) * weight)
    if not question.high > question.low:
        return ""
    x = np.linspace(question.low, question.high, POINTS)
    if question.whole:
        x = np.unique(np.rint(x))
    lines = np.clip(_bits(program.term(term, j, x)) * weight, -FAR, FAR)
    return _figure(question.name, drawing.lines(x, lines, question.name)) if np.isfinite(lines).all() else ""


def _levels(question: InputField, terms: Float) -> str:
    """Terms of the levels."""
    bits = _bits(terms)
    levels = list(zip(question.levels or (), bits, strict=True))
    if not 2 <= len(levels) <= LEVELS or not np.isfinite(bits).all():
        return ""
    if bits.shape[1] == 1:
        return _figure(question.name, drawing.leaning([(name, float(b[0])) for name, b in levels]))
    return _figure(question.name, drawing.strips([name for name, _ in levels], np.array([b for _, b in levels])))


def _bits(terms: Float) -> Float:
    """Of two classes the one against the other, (n, 1); of more each against their mean, (n, K)."""
    if terms.shape[1] == 2:
        return (terms[:, 1:] - terms[:, :1]) / LOG_2
    out: Float = (terms - terms.mean(axis=1, keepdims=True)) / LOG_2
    return out


def _figure(name: str, picture: str) -> str:
    return f"<figure><h3>{text(name)}</h3>{picture}</figure>"
