"""Sets: how often the sets of a conformal classifier held the true class, and how large they were."""

from __future__ import annotations

import numpy as np

from bayeskit.arrays import Bool, Float, Int
from bayeskit.estimators.conformal import Conformal
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.model.labelled_table import take_rows
from bayeskit.numerics.rates import wilson
from bayeskit.reports.markup import Section, number, percent, table, text

LONGEST = 400  # letters of a promise
NOVEL = (0.05, 0.01)  # p-values
MOST = 6  # sizes of sets that have a line of their own


def sets(evaluation: Evaluation) -> Section | None:
    """Coverage by class and sizes of sets, each row by the model of its fold; None without sets."""
    models = evaluation.fold_models
    if models is None or models.split is None or not isinstance(models.model, Conformal):
        return None
    tested = np.flatnonzero((models.split.fold >= 0) & models.sample.rows.counted)
    found = np.zeros((len(tested), len(evaluation.classes)), dtype=bool)
    usual = np.full(len(tested), np.nan)
    for fold in np.unique(models.split.fold[tested]).tolist():
        mine = np.flatnonzero(models.split.fold[tested] == fold)
        model = models.of(int(tested[mine[0]]))
        assert isinstance(model, Conformal)
        places = [evaluation.classes.tolist().index(label) for label in model.classes_.tolist()]
        rows = take_rows(models.sample.features, tested[mine])
        found[np.ix_(mine, places)] = model.predict_set(rows)
        if model.has_density:
            usual[mine] = model.novelty(rows)
    codes = models.sample.rows.codes[tested]
    promise = text(models.model.promise, LONGEST)
    lead = f"<p>{promise} What was found of rows that the models had not learned, with 95 % intervals:</p>"
    by_class = table(
        ("class", "rows", "true class in the set", "from", "to", "mean size"), _by_class(evaluation, found, codes)
    )
    sizes = table(("classes in the set", "rows", "share", "true class in it"), _sizes(found, codes))
    each = "" if models.model.by else '<p class="fine">The promise is of all rows together, not of each class.</p>'
    body = f"{lead}{by_class}{each}<h3>Sizes of sets</h3>{sizes}"
    return Section("sets", "Sets of classes", body if np.isnan(usual).any() else body + _novelty(usual))


def _novelty(usual: Float) -> str:
    """How many rows are unlike those the models had learned, beside how many may be by chance."""
    lines = []
    for level in NOVEL:
        share = float((usual <= level).mean())
        ends = wilson(share, float(len(usual)))
        shown = (percent(x) for x in (share, ends.low, ends.high))
        lines.append((f"at most {level:g}", f"{(usual <= level).sum():,}", *shown, f"{percent(level)} at most"))
    lead = (
        "<p>How usual log p(row) is beside those of learned rows, as a p-value: of rows like these few are below.</p>"
    )
    return (
        "<h3>Rows unlike those learned</h3>"
        + lead
        + table(("p-value", "rows", "share", "from", "to", "of rows like those learned"), lines)
    )


def _by_class(evaluation: Evaluation, found: Bool, codes: Int) -> list[tuple[object, ...]]:
    held, size = found[np.arange(len(codes)), codes], found.sum(axis=1)
    lines: list[tuple[object, ...]] = []
    for name, mine in [("all", codes >= 0), *((c, codes == k) for k, c in enumerate(evaluation.classes.tolist()))]:
        if mine.any():
            share = float(held[mine].mean())
            ends = wilson(share, float(mine.sum()))
            shown = (percent(x) for x in (share, ends.low, ends.high))
            lines.append((name, f"{mine.sum():,}", *shown, number(float(size[mine].mean()), 2)))
    return lines


def _sizes(found: Bool, codes: Int) -> list[tuple[object, ...]]:
    held, size = found[np.arange(len(codes)), codes], found.sum(axis=1)
    lines: list[tuple[object, ...]] = []
    for n in range(min(int(size.max(initial=0)), MOST) + 1):
        mine = size >= n if n == MOST else size == n
        name = "none: unlike every class" if n == 0 else f"{n} or more" if n == MOST else f"{n}"
        if mine.any():
            lines.append((name, f"{mine.sum():,}", percent(float(mine.mean())), percent(float(held[mine].mean()))))
    return lines
