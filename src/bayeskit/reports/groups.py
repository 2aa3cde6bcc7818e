"""Groups on the page: measures by group of rows, fairness, and where the model fails most."""

from __future__ import annotations

import numpy as np

from bayeskit.arrays import Label
from bayeskit.evaluation.comparison import Difference
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.evaluation.groups import FEW as LEAST
from bayeskit.evaluation.groups import Groups, group_interval
from bayeskit.evaluation.measures import Measures
from bayeskit.evaluation.scores import SCORES
from bayeskit.numerics.rates import LEVEL
from bayeskit.reports.markup import Safe, Section, folding_table, number, percent, table, text
from bayeskit.reports.one_class import OneClass

SHOWN = ("accuracy", "balanced_accuracy", "log_loss", "ece", "auc", "realised_cost")  # of the measures, by group
FEW = 12  # groups shown at first
SEGMENTS, OVERLAP = 8, 0.5  # listed at most, and the share of rows that one may have in common with worse ones


def groups(evaluation: Evaluation, interest: OneClass) -> Section | None:
    """Every measure by group, where groups were asked for."""
    found = evaluation.groups
    if found is None:
        return None
    lead = (
        "<p>Each group against all other rows. ▼ worse and ▲ better than the others beyond chance (p below 0.05 after "
        "Holm's correction for the number of groups); small figures are 95 % intervals.</p>"
    )
    names = [name for name in SHOWN if name in found.measures.names]
    parts = []
    for name in found.names:
        fair = _fairness(found, name, interest.label)
        parts.append(f"<h3>By {text(name)}</h3>{_table(found, name, names)}{_all(found, name)}")
        title = f"Fairness of predicting {text(interest.label)}, by {text(name)}"
        folded_away = f"<details><summary>{title}</summary>{fair}</details>"
        parts.append(folded_away if len(found.names) > 1 else f"<h4>{title}</h4>{fair}" if fair else "")
    return Section("groups", "By group", lead + "".join(parts))


def _table(found: Groups, name: str, measures: list[str]) -> str:
    apart = {measure: found.differences(name, measure) for measure in measures}
    rows = []
    for group, mine in found[name].items():
        cells = [_cell(mine, measure, apart[measure][group]) for measure in measures]
        rows.append((group, f"{mine.total.weight[0]:,.6g}", *cells))
    return folding_table(rows, ("group", "rows", *(SCORES[m].title for m in measures)), shown=FEW)


def _cell(mine: Measures, measure: str, apart: Difference) -> Safe:
    score, ends = SCORES[measure], group_interval(measure, mine)
    shown = percent if score.percent else number
    value = mine.value(measure)
    better = score.loss(value) < score.loss(value - apart.value)
    mark = "" if not apart.p < 1 - LEVEL else " ▲" if better else " ▼"
    says = f'<span title="{"better" if better else "worse"} than the other rows, p = {apart.p:.2g}">{mark}</span>'
    known = np.isfinite(ends.low) and np.isfinite(ends.high)
    between = f" <small>{_short(ends.low, score.percent)}–{_short(ends.high, score.percent)}</small>" if known else ""
    return Safe(f"{shown(value)}{says if mark else ''}{between}")


def _short(value: float, share: bool) -> str:
    return f"{100 * value:.0f}" if share else f"{value:.2f}"


def _all(found: Groups, name: str) -> str:
    """Every measure with its difference and test, folded away."""
    rows = []
    for measure in found.measures.names:
        apart = found.differences(name, measure)
        for group, mine in found[name].items():
            d, ends = apart[group], group_interval(measure, mine)
            figures = (mine.value(measure), ends.low, ends.high, d.value, d.low, d.high, d.p)
            rows.append((measure.replace("_", " "), group, *(number(x, 4) for x in figures)))
    head = ("measure", "group", "value", "95 % from", "to", "less the others", "from", "to", "p")
    return f"<details><summary>All measures by {text(name)}, with tests</summary>{table(head, rows, 2)}</details>"


def _fairness(found: Groups, name: str, label: Label) -> str:
    measures = found.fairness(name, label, LEAST)
    rows = [
        (Safe(f"{m.name}<br><small>{text(m.meaning, 200)}</small>"), number(m.value), _p(m.p), m.lowest, m.highest)
        for m in measures
    ]
    small = [group for group, mine in found[name].items() if mine.total.rows[0] < LEAST]
    left = f" Groups of fewer than {LEAST} rows are left out: {text(', '.join(small), 200)}." if small else ""
    shown = table(("measure", "value", "p", "lowest in", "highest in"), rows) if rows else ""
    return (
        f"<p>Of a difference 0 is equal, of a ratio 1; p is the chance of rates this far apart if they were equal in "
        f"all groups (a dash where too few rows tell). Which of these should be equal is not for a table to say, and "
        f"they cannot all be.{left}</p>{shown}"
    )


def _p(p: float) -> str:
    return "–" if not np.isfinite(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def segments(evaluation: Evaluation) -> Section | None:
    """Where errors are most frequent; None where rows were not kept."""
    if evaluation.proba is None or evaluation.X is None or not isinstance(evaluation.measures, Measures):
        return None
    found = evaluation.worst_segments(most=SEGMENTS, overlap=OVERLAP)
    if not found.tested:
        return None
    how = (
        f"{found.compared:,} groups of at least {found.least} rows were compared with all other rows, by the values of "
        f"one column and of two together (numbers in quarters of the rows)"
    )
    if found.tested > found.compared:
        how += (
            f", of two the columns whose groups differ most; the correction of p counts all {found.tested:,} there are"
        )
    if not len(found):
        return Section(
            "segments", "Where it fails most", f"<p>Nowhere in particular: {how}, and none has more errors than chance "
            f"explains.</p>",
        )  # fmt: skip
    rows = []
    for s in found.found:
        where = Safe(" and ".join(f"{text(column)} <b>{text(group)}</b>" for column, group in s.where))
        rows.append((where, f"{s.rows:,}", percent(s.value), percent(s.rest), _p(s.p)))
    lead = (
        f"<p>{how}. These have more errors than chance explains; p is corrected for their number. Two "
        f"columns are listed only where they are worse together than each is alone, and of groups that share most of "
        f"their rows the worst.</p>"
    )
    head = ("rows with", "rows", "wrong here", "wrong elsewhere", "p")
    return Section("segments", "Where it fails most", lead + table(head, rows))
