"""Performance: how the model did on rows it had not learned, with intervals."""

from __future__ import annotations

import numpy as np

from bayeskit.arrays import Json, Label
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.evaluation.measures import Measures
from bayeskit.evaluation.scores import SCORES
from bayeskit.numerics.rates import wilson
from bayeskit.reports import drawing
from bayeskit.reports.markup import Safe, Section, folding_table, number, percent, table, text
from bayeskit.reports.one_class import OneClass, by_class
from bayeskit.reports.verdict import Verdict, by_probability

MOST, CELLS = 12, 40  # classes in a table of true classes against predicted ones: with shares, and of small cells
PAIRS = 10  # mistakes shown at first
RATES = ("sensitivity", "specificity", "precision")


def measures(evaluation: Evaluation) -> Section:
    """Every measure with its interval."""
    cards = []
    for score in (SCORES[name] for name in evaluation.measures.names if SCORES[name].headline):
        found = evaluation.interval(score.name)
        shown = percent if score.percent else number
        there = not (np.isnan(found.low) or np.isnan(found.high))
        ends = f"95 %: {shown(found.low)} to {shown(found.high)}" if there else "no interval"
        if score.name == "ece":  # chance alone makes it larger than zero
            ends = f"beyond chance {shown(evaluation.value('ece_debiased'))}"
        cards.append(
            f'<div class="card"><dt>{score.title}</dt><dd>{shown(evaluation.value(score.name))}</dd>'
            f'<dd class="ends">{ends}</dd>'
            f'<dd class="ends">baseline {shown(evaluation.baseline.value(score.name))}</dd>'
            f'<dd class="fine">{score.meaning}</dd></div>'
        )
    held = f", but for what is held from all rows: {', '.join(evaluation.held)}" if evaluation.held else ""
    head = (
        f"<p>Judged by {text(evaluation.method, 200)}: every figure is of rows the model had not learned"
        f"{text(held)}. The baseline looks at no column: "
        f"it always names the commonest class, and its probabilities are the shares of the classes.</p>"
    )
    every = evaluation.frame("pyarrow").to_pylist()
    shown_of = ("value", "baseline", "low", "high")
    rows = [(m["measure"].replace("_", " "), *(number(m[k], 4) for k in shown_of), m["interval"]) for m in every]
    whole = table(("measure", "value", "baseline", "95 % from", "to", "interval by"), rows)
    classes = evaluation.frame("pyarrow", of="classes").to_pylist()
    whole_weight = max(sum(c["weight"] for c in classes), 1e-300)
    rates = folding_table(
        [
            (c["class"], f"{c['weight']:,.6g}", percent(c["weight"] / whole_weight), *(_rate(c, r) for r in RATES),
             number(c["f1"]), number(c["auc"]))
            for c in classes
        ],
        ("class", "rows", "share", *RATES, "F1", "AUC"),
        shown=MOST,
    )  # fmt: skip
    rates += (
        '<p class="fine">Baselines: the share of a class is the precision of naming it always, with sensitivity 1 and '
        "specificity 0; of AUC it is 0.5.</p>"
    )
    body = (
        f'{head}<dl class="cards">{"".join(cards)}</dl><details><summary>All measures</summary>{whole}</details>'
        f"<h3>By class</h3>{rates}"
    )
    return Section("performance", "Performance", body)


def _rate(row: Json, rate: str) -> Safe:
    low, high = row[f"{rate}_low"], row[f"{rate}_high"]
    ends = "" if low is None or high is None or np.isnan([low, high]).any() else f"{number(low, 2)}–{number(high, 2)}"
    return Safe(f"{number(row[rate])} <small>{ends}</small>")


def confusion(evaluation: Evaluation) -> Section:
    """True classes against predicted ones."""
    found = evaluation.confusion
    labels = evaluation.classes.tolist()
    actions = [*labels, *found.others]
    wrong = found.matrix.copy()
    np.fill_diagonal(wrong, 0.0)
    shown = PAIRS if len(labels) <= CELLS else 3 * PAIRS
    order = np.argsort(-wrong, axis=None, kind="stable")[:shown]
    pairs = [np.unravel_index(o, wrong.shape) for o in order if wrong.flat[o] > 0]
    of = np.maximum(found.matrix.sum(axis=1), 1e-300)
    rows = [(labels[i], actions[j], f"{wrong[i, j]:,.6g}", percent(float(wrong[i, j] / of[i]))) for i, j in pairs]
    head = ("true", "predicted as", "rows", "share of the true class")
    worst = "<h3>Most frequent mistakes</h3>" + folding_table(rows, head, 2, PAIRS) if rows else ""
    if len(labels) <= MOST:
        body = drawing.heat(found.matrix, labels, actions) + (worst if len(actions) > 2 else "")
    elif len(labels) <= CELLS:
        body = drawing.small_heat(found.matrix, labels, actions) + worst
    else:
        body = f"<p>{len(labels)} classes: the mistakes made most.</p>{worst}"
    if by_probability(evaluation):
        body = (
            '<p class="fine">Predicted is the most probable class, whatever the costs; the actions they lead to are '
            f'under <a href="#costs">what decisions cost</a>.</p>{body}'
        )
    return Section("confusion", "True classes against predicted ones", body)


def calibration(evaluation: Evaluation, interest: OneClass) -> Section:
    """Whether the model is right as often as it says, and how well it finds the class of interest."""
    cells = evaluation.frame("pyarrow", of="reliability")
    said, right, weight, rows = (cells.column(n).to_numpy() for n in ("probability", "right", "weight", "rows"))
    ends = [wilson(float(r), float(n)) for r, n in zip(right, rows, strict=True)]
    low, high = np.array([e.low for e in ends]), np.array([e.high for e in ends])
    dots = drawing.dots(said, right, low, high, weight)
    plot = drawing.square(dots, "probability of the predicted class", "share that was right", "Reliability diagram")
    figure = (
        f"<figure>{plot}<figcaption>How sure the model was, and how often it was right; whiskers are 95 % intervals, "
        f"areas the number of rows. On the diagonal, probabilities mean what they say.</figcaption></figure>"
    )
    answer = Verdict(evaluation).trust
    why = (
        "" if interest.named else '<p class="fine">The rarest class that has enough rows; --interest names another.</p>'
    )
    body = (
        f'<p>{text(answer[0].upper() + answer[1:], 1000)}.</p><div class="figures">{figure}</div>'
        f"<h3>The class of interest: {text(interest.label)}</h3>{why}"
        f'<div class="figures three">{interest.figures()}</div><h3>By class</h3>{by_class(evaluation)}'
        f'<p class="fine">Baselines: of the calibration error 0, of the average precision the share of the class.</p>'
    )
    return Section("calibration", "Can the probabilities be trusted?", body)


def costs(evaluation: Evaluation) -> Section | None:
    """What decisions cost, where costs were given."""
    decision_costs = evaluation.decision_costs
    if decision_costs is None or not decision_costs.priced:
        return None
    actions = decision_costs.actions or tuple(f"action {a + 1}" for a in range(decision_costs.table.shape[1]))
    labels = evaluation.classes.tolist()
    given = table(
        ("true class", *actions),
        [(label, *(f"{c:g}" for c in row)) for label, row in zip(labels, decision_costs.table.tolist(), strict=True)],
    )
    names = [n for n in evaluation.measures.names if SCORES[n].topic == "costs"]
    found = [
        (
            n.replace("_", " "),
            number(evaluation.value(n), 4),
            number(evaluation.baseline.value(n), 4),
            *_ends(evaluation, n),
        )
        for n in names
    ]
    rejected = (
        ""
        if decision_costs.reject is None
        else f"<p>A row may be left undecided at a cost of {decision_costs.reject:g}.</p>"
    )
    fixed = _blind(evaluation, actions)
    who = "Each row was given the action of least expected cost."
    who = who if decision_costs.own is None else "These are the decisions the model takes itself."
    body = f"<p>{who}</p>{rejected}" + table(("per row", "value", "baseline", "95 % from", "to"), found)
    return Section(
        "costs", "What decisions cost",
        f"{body}{fixed}{_taken(evaluation, actions)}<h3>Cost of each action, by the true class</h3>{given}",
    )  # fmt: skip


def _taken(evaluation: Evaluation, actions: tuple[Label, ...]) -> str:
    """How often each action was taken, by the true class; nothing where rows were not kept, or were divided often."""
    found, costs = evaluation.measures, evaluation.decision_costs
    kept = found.kept if isinstance(found, Measures) else None
    if costs is None or kept is None or len(kept.repeats) > 1:
        return ""
    judged = kept.rows.counted & (kept.action >= 0)
    rows = kept.rows
    counts = costs.count_actions(rows.codes[judged], kept.proba[judged], kept.action[judged], rows.weights[judged])
    names = (*actions, "undecided") if costs.abstains else actions
    of = np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    lines = [
        (label, *(Safe(f"{n:,.10g} <small>{percent(s)}</small>") for n, s in zip(line, share, strict=True)))
        for label, line, share in zip(
            evaluation.classes.tolist(),
            counts[:, : len(names)].tolist(),
            (counts / of)[:, : len(names)].tolist(),
            strict=True,
        )
    ]
    return f"<h3>Actions taken, by the true class</h3>{table(('true class', *names), lines)}"


def _ends(evaluation: Evaluation, name: str) -> tuple[str, str]:
    found = evaluation.interval(name)
    return number(found.low, 4), number(found.high, 4)


def _blind(evaluation: Evaluation, actions: tuple[Label, ...]) -> str:
    """What one action for all rows would have cost."""
    assert evaluation.decision_costs is not None
    weight = evaluation.confusion.matrix.sum(axis=1)
    mean = (weight / max(float(weight.sum()), 1e-300)) @ evaluation.decision_costs.table
    best = int(np.argmin(mean))
    return (
        f"<p>The best single action for all rows, {text(actions[best])}, would have cost {number(mean[best], 4)}.</p>"
    )
