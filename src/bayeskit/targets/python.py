"""Python: a program as one file that needs the standard library alone."""

from __future__ import annotations

import json
from importlib import resources

from bayeskit.portable.program import Program
from bayeskit.targets.tables import Tables

DOOR = """

PROGRAM = %s

_scorer = Scorer(json.loads(PROGRAM))
classes = _scorer.classes
predict_proba = _scorer.predict_proba
predict = _scorer.predict
"""


def python(program: Program) -> str:
    """A module with ``classes``, ``predict_proba(row)`` and ``predict(row)``; a row maps columns to values."""
    code = resources.files("bayeskit.targets").joinpath("runtime.py").read_text(encoding="utf-8")
    data = json.dumps(Tables().whole(program), ensure_ascii=True, separators=(",", ":"))
    return code.replace("import math\n", "import json\nimport math\n", 1) + DOOR % repr(data)
