"""Nomogram on the page: points for the values of each column, added up by hand to a probability."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayeskit.arrays import Label
from bayeskit.errors import BayeskitError
from bayeskit.estimators.any_wrapper import AnyWrapper
from bayeskit.estimators.calibrated import Calibrated
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.explain.nomogram import Nomogram, Scale
from bayeskit.plots.nomogram import CHANCES, level_ticks, number_ticks, round_step, stretches
from bayeskit.reports.markup import Section, cut, plain, text
from bayeskit.reports.one_class import OneClass
from bayeskit.reports.profile import Table

SCALES, COLUMNS, CLASSES = 10, 200, 6  # columns that are drawn, and columns and classes of a model at most
LINES = 22  # a chart with more (densities that rise and fall) cannot be read
WIDE, LEFT, RIGHT, ROW = 800, 190, 24, 46
NAME = 20  # letters of a name that stands before its line
LETTER = 6.2  # about the width of one, at most


def nomogram(evaluation: Evaluation, table: Table | None, interest: OneClass) -> Section | None:
    """The class of interest against the other, or against the commonest; None where points do not add up."""
    plainly = evaluation.model
    while isinstance(plainly, Calibrated | AnyWrapper):
        plainly = plainly.estimator_
    if table is None or not isinstance(plainly, BayesClassifier) or not 2 <= len(evaluation.classes) <= CLASSES:
        return None
    if len(plainly.model_.schema.names) > COLUMNS:
        return None
    weight = evaluation.confusion.matrix.sum(axis=1)
    weight[interest.place] = -1.0
    rival = evaluation.classes.tolist()[int(np.argmax(weight))]
    try:
        chart: Nomogram = evaluation.model.nomogram(interest.label, rival)
    except BayeskitError:  # columns that depend on each other, values that rule a class out: said by nomogram()
        return None
    top = sorted(chart.scales, key=lambda s: -float(np.ptp(s.points)))[:SCALES]
    if sum(len(list(stretches(scale))) for scale in top) > LINES:
        return None
    label, other = cut(str(interest.label), NAME - 3), ""
    if len(evaluation.classes) > 2:
        other = f", were “{text(interest.label)}” and “{text(rival)}” the only classes,"
    lead = (
        f"<p>To be used on paper: find the points of each column's value on the line at the top, add them up, and read "
        f"the probability of “{text(interest.label)}”{other} below the total. "
        f"A circle marks the points of a value that is missing.</p>"
    )
    return Section("nomogram", "By hand: the nomogram", lead + _draw(chart, f"P({label})"))


def _draw(chart: Nomogram, said: str) -> str:
    ranked = sorted(chart.scales, key=lambda s: -float(np.ptp(s.points)))
    shown, others = ranked[:SCALES], ranked[SCALES:]
    unshown = float(sum(s.missing for s in others))
    parts = [_line(0, "points", [(p, f"{p:g}") for p in range(0, 101, 10)], 0.0, 100.0)]
    row = 0
    for scale in shown:
        pieces = list(stretches(scale))
        where = next((i for i, (_, p) in enumerate(pieces) if p.min() <= scale.missing <= p.max()), len(pieces) - 1)
        for number, (values, points) in enumerate(pieces):
            row += 1
            ticks = number_ticks(values, points, scale.joined) if scale.numeric else level_ticks(values, points)
            ticks = ticks or [(float(points[i]), f"{values[i]:.6g}") for i in (0, -1)]
            ends, title = (float(points.min()), float(points.max())), scale.name if not number else ""
            parts.append(_line(row, title, ticks, *ends, every=not scale.numeric))
            if number == where and 0 <= scale.missing <= 100:
                parts.append(f'<circle class="unknown" cx="{_x(scale.missing):.1f}" cy="{_y(row)}" r="4.5"/>')
    low, high = _ends(chart, shown, unshown)
    step = round_step((high - low) / 10)
    marks = [k * step for k in range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1)]

    def place(total: float) -> float:
        return 100 * (total - low) / (high - low)

    parts.append(_line(row + 1, "total points", [(place(t), f"{t:g}") for t in marks], 0.0, 100.0))
    chances = zip(CHANCES, (chart.total(np.array(CHANCES)) - unshown).tolist(), strict=True)
    inside = [(place(t), f"{p:g}") for p, t in chances if low - 1e-9 <= t <= high + 1e-9]
    if inside:
        parts.append(_line(row + 2, said, inside, inside[0][0], inside[-1][0]))
    high_svg = _y(row + 2) + 34
    note = f'<p class="fine">{len(others):,} columns with fewer points count as missing.</p>' if others else ""
    return (
        f'<div class="wide"><svg class="chart" viewBox="0 0 {WIDE} {high_svg}" width="{WIDE}" height="{high_svg}" '
        f'role="img" aria-label="{plain(f"Nomogram of {said}", 120)}">{"".join(parts)}</svg></div>{note}'
    )


def _ends(chart: Nomogram, shown: Sequence[Scale], unshown: float) -> tuple[float, float]:
    """The totals that are drawn: where the probability is not as good as certain."""
    high = float(sum(np.max(s.points) for s in shown))
    near = chart.total(np.array([CHANCES[0], CHANCES[-1]])) - unshown
    inner = float(np.fmax(0.0, near[0])), float(np.fmin(high, near[1]))
    return inner if inner[0] < inner[1] else (0.0, high)


def _x(points: float) -> float:
    return LEFT + points / 100 * (WIDE - LEFT - RIGHT)


def _y(row: int) -> int:
    return 30 + ROW * row


def _line(
    row: int, name: Label, ticks: Sequence[tuple[float, str]], low: float, high: float, every: bool = False
) -> str:
    """A line with marks; labels stand above it, or below where those above would touch.

    Where they would touch there, too, a number has none, and a level (``every``) shares the label of the nearest.
    """
    y, ends, out = _y(row), {-1: -np.inf, 1: -np.inf}, []
    labels: list[tuple[float, int, str]] = []  # where, on which side, and what
    for points, label in sorted(ticks):
        x, half = _x(points), LETTER * len(label) / 2 + 3
        side = next((s for s in (-1, 1) if x - half > ends[s]), 0)
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + 5 * (side or -1)}"/>')
        if side:
            ends[side] = x + half
            labels.append((x, side, label))
        elif every:
            at, side, others = labels[-1]
            labels[-1] = (at, side, f"{others}, {label}")
            ends[side] = max(ends[side], at + LETTER * len(labels[-1][2]) / 2 + 3)
    out += [
        f'<text x="{x:.1f}" y="{y - 9 if side < 0 else y + 17}" text-anchor="middle">{plain(label, 60)}</text>'
        for x, side, label in labels
    ]
    head = f'<text class="axis" x="0" y="{y + 4}">{plain(name, NAME)}</text>' if name else ""
    return f'{head}<line x1="{_x(low):.1f}" x2="{_x(high):.1f}" y1="{y}" y2="{y}"/>{"".join(out)}'
