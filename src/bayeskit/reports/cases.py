"""Cases: the most informative columns, the rows the model found hardest, and a page on one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.arrays import Classifier, Float, Int, Label, TableLike
from bayeskit.ensemble.explanation import BACK_OFF
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.explain.explanation import Explains, Explanation
from bayeskit.explain.flips import Flips
from bayeskit.reports import drawing
from bayeskit.reports.markup import Safe, Section, chance, table, text
from bayeskit.reports.profile import Table
from bayeskit.structures.neighbours import PART

HARDEST = 6
STEPS = 8  # columns in a waterfall
SMALL = 0.005  # bits that are not worth a line
FEW = 20  # columns shown at first
MOST, WORTH = 4, 0.1  # columns named on each side of a case, if they moved the odds by so many bits
NO_COLUMNS = (BACK_OFF, PART)  # parts of an explanation
SAME = 1e-6  # a model fitted again predicts what was predicted
SHOWN = 20  # columns, and changes


def importance(seen: Explanation) -> Float:
    """Mean over rows of how many bits each part moved the odds of the most probable class: (parts,)."""
    steps = np.array([seen.evidence(row, unit="bits")[1:] for row in range(len(seen))])
    finite = np.where(np.isfinite(steps), np.abs(steps), 0.0)
    mean: Float = finite.mean(axis=0)
    return mean


def informative(seen: Explanation, importance: Float) -> Section:
    """Columns in the order of their evidence; what backing off took back is no column, and said in words."""
    order = [j for j in np.argsort(-importance, kind="stable").tolist() if seen.parts[j] != BACK_OFF]
    names, sizes = [part_name(seen.parts[j]) for j in order], importance[order].tolist()
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
            f"prior, which moved the odds by {importance[seen.parts.index(BACK_OFF)]:.2f} bits on average.</p>"
        )
    return Section("columns", "Most informative columns", body)


def informative_by_effects(worth: Mapping[str, float], rows: int) -> Section | None:
    """The same of a model whose explanations are not by column: by how far values move the odds."""
    order = sorted(worth, key=lambda name: -worth[name])
    if not order:
        return None
    body = (
        f"<p>Mean over {rows:,} rows of how far the value of a column moves the odds, in bits, with the other columns "
        f"as they are in some of the rows. One bit doubles or halves the odds.</p>"
        + drawing.bars(order[:FEW], [worth[name] for name in order[:FEW]], "mean effect in bits")
    )
    return Section("columns", "Most informative columns", body)


def hardest(table: Table) -> Int:
    """The rows whose true class was least expected, the worst first."""
    order = np.argsort(-np.nan_to_num(table.loss, nan=-1.0), kind="stable")[:HARDEST]
    return order[np.nan_to_num(table.loss, nan=-1.0)[order] > 0]


@dataclass(frozen=True)
class Case:
    """A row with what the model that had not learned it said, what the model of all rows says, and why."""

    row: int  # among those evaluated
    number: int  # in the source, from 1
    truth: Any  # its class
    likely: Any  # the class that was most probable
    proba: tuple[float, float]  # of these two, by the model that had not learned the row
    final: float  # P(true class) by the model of all rows
    why: Explanation | None
    own: bool  # whether ``why`` is of the model that had not learned the row, so that both have the same probability

    @classmethod
    def of(cls, evaluation: Evaluation, table: Table, row: int, number: int) -> Case:
        labels, proba = evaluation.classes.tolist(), table.proba[row]
        truth, best, asked = int(table.truth[row]), int(np.argmax(proba)), table.take(np.array([row]))
        final = evaluation.model.predict_proba(asked)[0]
        mine = evaluation.model_for(row)
        own = mine is not None and np.allclose(_align_proba(mine, asked, labels), proba, rtol=0, atol=SAME)
        why = explain(mine if own else evaluation.model, asked)
        found = (float(proba[truth]), float(proba[best]))
        return cls(row, number, labels[truth], labels[best], found, float(final[truth]), why, own)


def _align_proba(model: Classifier, asked: TableLike, labels: Sequence[Label]) -> Float:
    """P(class | row) by the classes of the evaluation: (K,)."""
    found = dict(zip(model.classes_.tolist(), model.predict_proba(asked)[0].tolist(), strict=True))
    return np.array([found.get(label, 0.0) for label in labels])


def explain(model: Classifier, rows: TableLike) -> Explanation | None:
    """Some rows explained, where the model can."""
    return model.explain(rows) if isinstance(model, Explains) else None


def cases(found: Sequence[Case], rows: bool, panel: bool) -> Section:
    """The hardest rows with what spoke for and against their true class; their values only if rows may be shown."""
    lead = (
        "<p>The rows whose true class was predicted with the least probability by a model that had not learned them; "
        "rows are numbered as in the source, from 1. "
    )
    if rows and any(case.why is not None for case in found):
        lead += (
            "Steps are the evidence of each column for (right) or against (left) the true class, in bits; they begin "
            "at the prior and add up to the log-odds of that probability."
        )
    elif not rows:
        lead += "Their values, and how far each moved the answer, are on pages made with --rows (rows=True in Python)."
    shown = "".join(_case(case, rows, panel) for case in found)
    return Section("cases", "The hardest cases", f'{lead}</p><div class="cases">{shown}</div>')


def _case(case: Case, rows: bool, panel: bool) -> str:
    missed, likely = case.proba
    head = (
        f"<h3>Row {case.number:,}</h3><p>True class <b>{text(case.truth)}</b>, predicted with probability "
        f"{chance(missed)}; most probable was <b>{text(case.likely)}</b> ({chance(likely)}).</p>"
    )
    final = f"The final model, which has learned the row, gives {text(case.truth)} {chance(case.final)}"
    final += "." if case.own or case.why is None else "; the steps are its."
    if rows and panel:
        final += f' <a href="#case:row={case.number}">Open it in the panel</a>'
    why = "" if case.why is None else _steps(case.why, 0, case.truth) if rows else _words(case.why, case.truth)
    return f'<article class="case" data-row="{case.number}">{head}<p class="fine">{final}</p>{why}</article>'


def _words(why: Explanation, label: Label) -> str:
    """Which columns spoke most against and for a class, without values or sizes: those would tell the row."""
    if label not in why.classes.tolist():
        return ""
    bits = why.evidence(0, label, unit="bits")[1:]
    order = [j for j in np.argsort(-np.abs(bits), kind="stable").tolist() if why.parts[j] not in NO_COLUMNS]
    sides = (
        ("Evidence against it:", [j for j in order if bits[j] <= -WORTH]),
        ("for it:", [j for j in order if bits[j] >= WORTH]),
    )
    said = [f"{begin} {', '.join(text(part_name(why.parts[j])) for j in side[:MOST])}" for begin, side in sides if side]
    return f"<p>{'; '.join(said)}.</p>".replace("<p>for it", "<p>Evidence for it") if said else ""


def _steps(explained: Explanation, i: int, label: Label) -> str:
    if label not in explained.classes.tolist():
        return '<p class="fine">That model had learned no row of this class.</p>'
    bits = explained.evidence(i, label, unit="bits")
    if not np.isfinite(bits).all():
        return '<p class="fine">A value that never occurred with a class makes it impossible: no step has a size.</p>'
    order = np.argsort(-np.abs(bits[1:]), kind="stable")
    order = order[np.abs(bits[1 + order]) >= SMALL]
    kept = order[:STEPS].tolist()
    rows = [(Safe("prior"), float(bits[0]))]
    rows += [(_name_part(explained, i, j), float(bits[1 + j])) for j in kept]
    others = len(explained.parts) - len(kept)
    if others:
        rest = float(bits.sum() - sum(step for _, step in rows))
        rows.append((Safe(f"{others:,} other column{'s' if others > 1 else ''}"), rest))
    return drawing.waterfall(rows)


def _name_part(explained: Explanation, i: int, j: int) -> Safe:
    part, value = part_name(explained.parts[j]), explained.value(i, j)
    if part != explained.parts[j]:
        return text(part)
    return Safe(f"{text(part, 28)} <small>{text(value, 18)}</small>") if value else text(part, 28)


def part_name(part: str) -> str:
    """A part of an explanation as a reader of the page knows it."""
    return {BACK_OFF: "kept from being certain", PART: "similar rows"}.get(part, part)


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
    found = [Section("posterior", "Probability of each class", posterior), _draw_steps(explanation, i)]
    return [*found, *([] if flips is None else [_changes(flips, i)])]


def _draw_steps(explanation: Explanation, i: int) -> Section:
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
