"""Panel: the part of the page in which the model can be tried out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayeskit.arrays import Float, Json
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.explain.explanation import Explanation
from bayeskit.reports.cases import Case
from bayeskit.reports.markup import Section, script, text
from bayeskit.reports.profile import ABSENT, Table
from bayeskit.reports.program import PageProgram
from bayeskit.reports.whatif import AGREES, WhatIf

TITLE = "What if?"


def section(
    evaluation: Evaluation,
    whatif: WhatIf,
    seen: Explanation | None,
    importance: Float | None,
    cases: Sequence[Case],
    table: Table | None,
) -> Section:
    """The panel, filled by the script of the page; or why there is none."""
    program = whatif.program
    if program is None:
        return Section("what-if", TITLE, f"<p>Not on this page: {text(whatif.note, 400)}. {_way(evaluation)}</p>")
    worth = {} if seen is None or importance is None else dict(zip(seen.parts, importance.tolist(), strict=True))
    names = [question.name for question in program.questions]
    data = {
        **program.json(),
        "rank": sorted(range(len(names)), key=lambda j: -worth.get(names[j], 0.0)),
        "examples": [] if table is None or whatif.lead else _examples(program, cases, table),
        "first": "other columns" if whatif.lead else "prior",
        **_costs(evaluation),
    }
    if whatif.lead:
        agreed = str(text(whatif.lead, 1000))
    elif whatif.less:
        agreed = str(text(whatif.less, 1000))
    elif whatif.gap <= AGREES:
        exact = f"{max(whatif.gap, 1e-16):.0e}"
        agreed = f"The page computes from the model's own terms and agreed with Python to {exact}"
    else:
        agreed = f"Approximate: the page differed from Python by up to {whatif.gap:.0e}"
    agreed += "" if whatif.lead else f" on {whatif.checked:,} of the rows evaluated"
    note = f"; {text(whatif.note, 300)}." if whatif.note else "" if whatif.lead else "."
    held = f" To find neighbours it holds the values of {program.rows:,} learned rows." if program.rows else ""
    ranges = "" if whatif.lead else " Numbers range over the values that were observed."
    lead = f"<p>Change a value, a prior or a cost, and see what follows. {agreed}{note}{ranges}{held}</p>"
    body = (
        f'{lead}<noscript><p>The panel needs JavaScript.</p></noscript><div id="panel" class="panel"></div>'
        f'<script type="application/json" id="program">{script(data)}</script>'
    )
    return Section("what-if", TITLE, body)


def _way(evaluation: Evaluation) -> str:
    """How to try the model out where the page cannot."""
    if evaluation.proba is None:
        return (
            "Rows read into memory have a panel: <code>--sample 50000</code> in the shell, or a table instead of a "
            "file in Python. Without one, save the model (<code>--save model.bayes</code>) and ask "
            "<code>bayeskit predict model.bayes rows.csv</code>."
        )
    return (
        "Ask it in Python, with rows of your own: <code>evaluation.model.predict_proba(rows)</code>, or in the shell "
        "with <code>--save model.bayes</code> and <code>bayeskit predict model.bayes rows.csv</code>."
    )


def _examples(program: PageProgram, cases: Sequence[Case], table: Table) -> list[Json]:
    """Rows to begin from: their values as the program reads them, and what was said of them out of fold."""
    values = table.values(np.array([case.row for case in cases], dtype=np.int64), [q.name for q in program.questions])
    read = [q.read([row[j] for row in values]) for j, q in enumerate(program.questions)]
    return [
        {
            "row": case.number,
            "values": [
                None if values[i][j] is None or mine[i] == ABSENT else float(mine[i]) for j, mine in enumerate(read)
            ],
            "truth": str(case.truth),
            "expected": case.proba[0],
        }
        for i, case in enumerate(cases)
    ]


def _costs(evaluation: Evaluation) -> Json:
    """Costs as given, else one for every mistake."""
    decision_costs, labels = evaluation.decision_costs, [str(label) for label in evaluation.classes.tolist()]
    if decision_costs is None:
        return {"actions": labels, "costs": (1 - np.eye(len(labels))).tolist(), "reject": None, "priced": False}
    actions = [str(a) for a in decision_costs.actions] or [
        f"action {a + 1}" for a in range(decision_costs.table.shape[1])
    ]
    costs = {"actions": actions, "costs": decision_costs.table.tolist()}
    return {**costs, "reject": decision_costs.reject, "priced": decision_costs.priced}
