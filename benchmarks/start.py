"""Start: what ``import bayeskit``, and the first fit and answer after it, cost over the bare interpreter.

``python benchmarks/start.py`` prints the least of five in seconds of processor time, with bytecode written before.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile

FIRST = """
import bayeskit as bk
model = bk.NaiveBayes().fit({"x": [1.0, 2.0, 3.0, 4.0], "c": ["a", "b", "a", "b"]}, [0, 1, 0, 1])
model.predict_proba({"x": [1.0], "c": ["a"]})
"""
SKLEARN = "import sklearn.base, sklearn.utils.validation, sklearn.utils.metaestimators"


def processor(code: str, folder: str) -> float:
    """The least of five runs of an interpreter."""
    known = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    found = []
    for _ in range(6):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, env={**known, "PYTHONPYCACHEPREFIX": folder})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found[1:])  # the first writes bytecode


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        bare = processor("pass", folder)
        ours, learned, others = (processor(code, folder) - bare for code in ("import bayeskit", FIRST, SKLEARN))
    print(f"over the interpreter's {bare:.3f} s: import bayeskit {ours:.3f} s (goal 0.3)")
    print(f"import, first fit and first predict_proba {learned:.2f} s; scikit-learn's base alone {others:.2f} s")


if __name__ == "__main__":
    main()
