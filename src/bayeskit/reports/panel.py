"""Panel: the part of the page in which the model can be tried out."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.arrays import Float, Int
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.explain.explanation import Explanation
from bayeskit.reports.markup import Section, script, text
from bayeskit.reports.program import ABSENT
from bayeskit.reports.whatif import AGREES, WhatIf

TITLE = "What if?"


def section(
    evaluation: Evaluation, whatif: WhatIf, told: Float | None, hard: Int, explained: Explanation | None
) -> Section:
    """The panel, filled by the script of the page; or why there is none."""
    program = whatif.program
    if program is None:
        return Section("what-if", TITLE, f"<p>Not available for this model: {text(whatif.note, 400)}.</p>")
    rank = np.arange(len(program.questions)) if told is None else np.argsort(-told, kind="stable")
    data = {
        **program.json(),
        "rank": rank.tolist(),
        "examples": [] if explained is None else _examples(whatif, hard, explained),
        **_costs(evaluation),
    }
    if whatif.gap <= AGREES:
        exact = f"{max(whatif.gap, 1e-16):.0e}"
        agreed = f"The page computes from the model's own terms and agreed with Python to {exact}"
    else:
        agreed = f"Approximate: the page differed from Python by up to {whatif.gap:.0e}"
    agreed += f" on {whatif.checked:,} of the rows evaluated"
    note = f"; {text(whatif.note, 300)}" if whatif.note else ""
    lead = (
        f"<p>Change a value, a prior or a cost, and see what follows. {agreed}{note}. "
        f"Numbers range over the values that were observed.</p>"
    )
    body = (
        f'{lead}<noscript><p>The panel needs JavaScript.</p></noscript><div id="panel" class="panel"></div>'
        f'<script type="application/json" id="program">{script(data)}</script>'
    )
    return Section("what-if", TITLE, body)


def _examples(whatif: WhatIf, hard: Int, explained: Explanation) -> list[dict[str, Any]]:
    """Rows to begin from: their values as the program reads them."""
    assert whatif.program is not None
    read = [q.read([row[j] for row in explained.values]) for j, q in enumerate(whatif.program.questions)]
    shown = []
    for i, row in enumerate(hard.tolist()):
        values = [
            None if explained.values[i][j] is None or mine[i] == ABSENT else float(mine[i])
            for j, mine in enumerate(read)
        ]
        shown.append({"name": f"row {row}", "values": values})
    return shown


def _costs(evaluation: Evaluation) -> dict[str, Any]:
    """Costs as given, else one for every mistake."""
    stakes, labels = evaluation.stakes, [str(label) for label in evaluation.classes.tolist()]
    if stakes is None:
        return {"actions": labels, "costs": (1 - np.eye(len(labels))).tolist(), "reject": None}
    actions = [str(a) for a in stakes.actions] or [f"action {a + 1}" for a in range(stakes.table.shape[1])]
    return {"actions": actions, "costs": stakes.table.tolist(), "reject": stakes.reject}
