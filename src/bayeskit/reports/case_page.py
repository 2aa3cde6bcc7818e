"""Case page: one row that was scored, with what spoke for and against the prediction, as one file."""

from __future__ import annotations

import numpy as np

from bayeskit.explain.explanation import Explanation
from bayeskit.explain.flips import Flips
from bayeskit.reports import drawing
from bayeskit.reports.markup import Section, chance, table, text

SHOWN = 20  # columns, and changes


def lead(explanation: Explanation, i: int) -> str:
    """The prediction in a sentence."""
    best = int(np.argmax(explanation.proba[i]))
    label, p = explanation.classes.tolist()[best], float(explanation.proba[i, best])
    return f'<p class="lead"><strong>{text(label)} with probability {chance(p)}.</strong></p>'


def sections(explanation: Explanation, i: int, flips: Flips | None) -> list[Section]:
    """Posterior, steps from the prior to it, and what would change the decision."""
    labels, proba = explanation.classes.tolist(), explanation.proba[i]
    order = np.argsort(-proba, kind="stable")
    posterior = table(["class", "probability"], [[labels[c], chance(float(proba[c]))] for c in order.tolist()])
    found = [Section("posterior", "Probability of each class", posterior), _steps(explanation, i)]
    return [*found, *([] if flips is None else [_changes(flips, i)])]


def _steps(explanation: Explanation, i: int) -> Section:
    steps = explanation.evidence(i)
    held = [explanation.value(i, j) for j in range(len(explanation.parts))]
    names = ["prior", *(f"{part} = {v}" if v else part for part, v in zip(explanation.parts, held, strict=True))]
    order = [0, *(1 + np.argsort(-np.abs(steps[1:]), kind="stable")).tolist()]
    shown, rest = order[: SHOWN + 1], order[SHOWN + 1 :]
    rows = [(text(names[j]), float(steps[j])) for j in shown]
    rows += [(text(f"{len(rest)} others"), float(steps[rest].sum()))] if rest else []
    words = (
        "Log-odds of the predicted class against all others, in nats; they add up. To the right a column speaks for "
        "the prediction, to the left against it."
    )
    return Section("steps", "What speaks for and against it", f"<p>{words}</p>{drawing.waterfall(rows)}")


def _changes(flips: Flips, i: int) -> Section:
    each = flips.rows[i][:SHOWN]
    if not each:
        return Section("changes", "What would change it", "<p>No change of one column does.</p>")
    rows = [[_join(f.column), _join(f.value), _join(f.becomes), f.after, chance(f.probability)] for f in each]
    head = ["column", "from", "to", "then predicted", "probability"]
    return Section("changes", "What would change it", table(head, rows, 4))


def _join(value: object) -> str:
    if isinstance(value, tuple):
        return " and ".join(map(_join, value))
    return "missing" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
