"""Threshold: from which probability on to act on a class, what that finds, and what it is worth."""

from __future__ import annotations

import numpy as np

from bayeskit.evaluation.decisions import DecisionCurve
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.reports.drawing import round_ticks
from bayeskit.reports.markup import Section, number, percent, plain, script, text
from bayeskit.reports.one_class import OneClass

WIDE, HIGH, LEFT, RIGHT, TOP, BASE = 460, 240, 52, 24, 10, 42


def threshold(evaluation: Evaluation, interest: OneClass) -> Section | None:
    """The decision curve of the class of interest, with a slider; None where rows were not kept."""
    if evaluation.proba is None or not 0 < interest.share < 1:
        return None
    curve = evaluation.decision_curve(interest.label)
    start = _start(evaluation, interest.place)
    at = int(np.argmin(np.abs(curve.threshold - start)))
    name = text(interest.label)
    lead = (
        f"<p>Suppose something is done for every row in which “{name}” has at least some probability: a check, a call, "
        f"a treatment. The threshold follows from costs: if a miss is nine times as bad as a false alarm, act from "
        f"10 % on.</p>"
    )
    where = _useful(curve)
    figure = (
        f"<figure>{_draw(curve, interest)}<figcaption>Net benefit: true positives less false positives times the "
        f"odds of the threshold, as a share of all rows. The line is the model (with 95 % intervals), dashed is acting "
        f"on all rows, zero is acting on none. "
        f"{where}</figcaption></figure>"
    )
    data = {
        "share": curve.share,
        "threshold": curve.threshold.tolist(),
        "found": curve.found.tolist(),
        "false": curve.false.tolist(),
        "start": at,
        "place": interest.place,
        "tied": evaluation.decision_costs is None and len(evaluation.classes) == 2,
        "left": LEFT,
        "wide": WIDE - LEFT - RIGHT,
    }
    body = (
        f'{lead}<div class="figures">{figure}<div class="acting">{_controls(float(curve.threshold[at]), start)}'
        f'<dl class="cards two">{_cards(interest, curve, at)}</dl></div></div>'
        f'<script type="application/json" id="thresholds">{script(data)}</script>'
    )
    return Section("acting", f"Acting on “{name}”: where to draw the line", body)


def _start(evaluation: Evaluation, k: int) -> float:
    """Where costs of two classes and two actions draw the line, else at even odds."""
    costs = evaluation.decision_costs
    if costs is None or costs.table.shape != (2, 2):
        return 0.5
    act = int(np.argmin(costs.table[k]))
    gain, loss = costs.table[k, 1 - act] - costs.table[k, act], costs.table[1 - k, act] - costs.table[1 - k, 1 - act]
    return float(loss / (loss + gain)) if loss > 0 and gain > 0 else 0.5


def _useful(curve: DecisionCurve) -> str:
    """Between which thresholds the model beats acting on all and on none."""
    best = np.flatnonzero(curve.low > np.maximum(curve.treat_all, 0.0))
    if not len(best):
        return "Nowhere does the interval lie above both."
    ends = [f"{100 * curve.threshold[i]:.0f} %" for i in (best[0], best[-1])]
    if len(best) == best[-1] - best[0] + 1:
        return f"From {ends[0]} to {ends[1]} the whole interval lies above both: there the model is worth using."
    return f"At {len(best)} of {len(curve.threshold)} thresholds the whole interval lies above both."


def _controls(t: float, start: float) -> str:
    """The threshold in whole percents, and the ratio of costs as it was given."""
    times = min(max((1 - start) / start, 0.0102), 99.0)
    return (
        f'<p class="row"><label for="cut">Act from a probability of <output id="cut-value">{100 * t:.0f} %</output> '
        f'on</label><input type="range" id="cut" min="1" max="99" step="1" value="{100 * t:.0f}"></p>'
        f'<p class="row"><label for="ratio">How many times as bad as a false alarm is a miss?</label>'
        f'<input type="number" id="ratio" min="0.0102" max="99" step="any" value="{times:.4g}"></p>'
    )


def _cards(interest: OneClass, curve: DecisionCurve, at: int) -> str:
    found, false, share = float(curve.found[at]), float(curve.false[at]), curve.share
    name = text(interest.label)
    cards = (
        ("acted", "Acted on", percent(found + false), "of all rows"),
        ("sensitivity", "Found", percent(found / share), f"of all “{name}”"),
        ("precision", "Right", percent(float(curve.precision[at])), "of those acted on"),
        ("alarms", "False alarms", percent(false / (1 - share)), f"of all that are not “{name}”"),
        ("benefit", "Net benefit", number(float(curve.benefit[at]), 4), "true positives a row"),
        ("others", "Acting on all", number(float(curve.treat_all[at]), 4), "on none: 0"),
    )
    return "".join(
        f'<div class="card"><dt>{title}</dt><dd id="at-{key}">{value}</dd><dd class="fine">{of}</dd></div>'
        for key, title, value, of in cards
    )


def _draw(curve: DecisionCurve, interest: OneClass) -> str:
    top = 1.05 * max(float(curve.benefit.max()), curve.share)
    floor = -0.25 * top

    def x(t: float) -> float:
        return LEFT + t * (WIDE - LEFT - RIGHT)

    def y(benefit: float) -> float:
        return TOP + (top - min(max(benefit, floor), top)) / (top - floor) * (HIGH - TOP - BASE)

    def points(values: list[float], down: bool = False) -> str:
        pairs = list(zip(curve.threshold.tolist(), values, strict=True))
        return " ".join(f"{x(t):.1f},{y(v):.1f}" for t, v in (reversed(pairs) if down else pairs))

    parts = []
    for v in round_ticks(floor, top, 4):
        parts.append(f'<line class="rule" x1="{LEFT}" x2="{WIDE - RIGHT}" y1="{y(v):.1f}" y2="{y(v):.1f}"/>')
        shown = f"{v:.6g}".replace("-", "−")
        parts.append(f'<text class="tick" x="{LEFT - 6}" y="{y(v) + 4:.1f}" text-anchor="end">{shown}</text>')
    for t in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(
            f'<text class="tick" x="{x(t):.1f}" y="{HIGH - BASE + 16}" text-anchor="middle">{100 * t:.0f} %</text>'
        )
    drawn = [i for i, v in enumerate(curve.treat_all.tolist()) if v >= floor]
    everyone = " ".join(f"{x(float(curve.threshold[i])):.1f},{y(float(curve.treat_all[i])):.1f}" for i in drawn)
    band = f"{points(curve.low.tolist())} {points(curve.high.tolist(), down=True)}"
    label = f"Net benefit of acting on {interest.label} by threshold"
    return (
        f'<svg class="plot broad" viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{plain(label, 120)}">'
        f"{''.join(parts)}"
        f'<line class="zero" x1="{LEFT}" x2="{WIDE - RIGHT}" y1="{y(0):.1f}" y2="{y(0):.1f}"/>'
        f'<polygon class="band" points="{band}"/><polyline class="all" points="{everyone}"/>'
        f'<polyline class="line" points="{points(curve.benefit.tolist())}"/>'
        f'<line class="mark" id="cut-mark" x1="0" x2="0" y1="{TOP}" y2="{HIGH - BASE}"/>'
        f'<text class="axis" x="{x(0.5):.0f}" y="{HIGH - 8}" text-anchor="middle">act from this probability on</text>'
        f"</svg>"
    )
