"""Cases: which columns are most informative, and the rows the model found hardest, explained."""

from __future__ import annotations

import numpy as np

from bayeskit.arrays import Array, Float, Int, Label
from bayeskit.estimators.auto import BACK_OFF
from bayeskit.explain.explanation import Explanation
from bayeskit.reports import drawing
from bayeskit.reports.markup import Safe, Section, number, text
from bayeskit.reports.profile import Table

HARDEST = 6
STEPS = 8  # columns in a waterfall
SMALL = 0.005  # bits that are not worth a line
FEW = 20  # columns shown at first


def importance(seen: Explanation) -> Float:
    """Mean over rows of how many bits each part moved the odds of the most probable class: (parts,)."""
    steps = np.array([seen.evidence(row, unit="bits")[1:] for row in range(len(seen))])
    finite = np.where(np.isfinite(steps), np.abs(steps), 0.0)
    mean: Float = finite.mean(axis=0)
    return mean


def informative(seen: Explanation, told: Float) -> Section:
    """Columns in the order of what they tell; what backing off took back is no column, and said in words."""
    order = [j for j in np.argsort(-told, kind="stable").tolist() if seen.parts[j] != BACK_OFF]
    names, sizes = [seen.parts[j] for j in order], told[order].tolist()
    body = (
        f"<p>Mean weight of evidence over {len(seen):,} rows: by how many bits a column moved the odds of the most "
        f"probable class, for or against it. One bit doubles or halves the odds.</p>"
        + drawing.bars(names[:FEW], sizes[:FEW], "mean weight of evidence in bits")
    )
    if len(names) > FEW:
        rest = drawing.bars(names[FEW:], sizes[FEW:], "mean weight of evidence in bits")
        body += f"<details><summary>{len(names) - FEW:,} more columns</summary>{rest}</details>"
    if BACK_OFF in seen.parts:
        body += (
            f'<p class="fine">The members of the pool are kept from being certain: what they say is backed off to the '
            f"prior, which moved the odds by {told[seen.parts.index(BACK_OFF)]:.2f} bits on average.</p>"
        )
    return Section("columns", "Most informative columns", body)


def hardest(table: Table) -> Int:
    """The rows whose true class was least expected, the worst first."""
    order = np.argsort(-np.nan_to_num(table.loss, nan=-1.0), kind="stable")[:HARDEST]
    return order[np.nan_to_num(table.loss, nan=-1.0)[order] > 0]


def cases(table: Table, rows: Int, classes: Array, explained: Explanation | None) -> Section:
    """The hardest rows with what spoke for and against their true class."""
    shown = [
        _case(int(row), i, int(table.truth[row]), table.proba[row], classes, explained)
        for i, row in enumerate(rows.tolist())
    ]
    lead = (
        "<p>The rows whose true class was predicted with the least probability by a model that had not learned them. "
    )
    if explained is not None:
        lead += (
            "The steps are those of the model of all rows: what each column said for (right) or against (left) the "
            "true class, in bits; they begin at the prior."
        )
    return Section("cases", "The hardest cases", f'{lead}</p><div class="cases">{"".join(shown)}</div>')


def _case(row: int, i: int, truth: int, proba: Float, classes: Array, explained: Explanation | None) -> str:
    label, likely = classes.tolist()[truth], classes.tolist()[int(np.argmax(proba))]
    head = (
        f"<h3>Row {row}</h3><p>Truly <b>{text(label)}</b> ({number(float(proba[truth]), 4)}), most probable was "
        f"<b>{text(likely)}</b> ({number(float(proba.max()), 4)}).</p>"
    )
    return f'<article class="case">{head}{"" if explained is None else _steps(explained, i, label)}</article>'


def _steps(explained: Explanation, i: int, label: Label) -> str:
    bits = explained.evidence(i, label, unit="bits")
    if not np.isfinite(bits).all():
        return '<p class="fine">A value that never occurred with a class makes it impossible: no step has a size.</p>'
    order = np.argsort(-np.abs(bits[1:]), kind="stable")
    order = order[np.abs(bits[1 + order]) >= SMALL]
    kept = order[:STEPS].tolist()
    rows = [(Safe("prior"), float(bits[0]))]
    rows += [(_named(explained, i, j), float(bits[1 + j])) for j in kept]
    others = len(explained.parts) - len(kept)
    if others:
        rest = float(bits.sum() - sum(step for _, step in rows))
        rows.append((Safe(f"{others:,} other column{'s' if others > 1 else ''}"), rest))
    return drawing.waterfall(rows)


def _named(explained: Explanation, i: int, j: int) -> Safe:
    part, value = explained.parts[j], explained.value(i, j)
    return Safe(f"{text(part, 28)} <small>{text(value, 18)}</small>") if value else text(part, 28)
