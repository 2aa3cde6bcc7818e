"""Many classes, columns and variables: time and memory, or a refusal: ``python benchmarks/limits.py [NAME ...]``.

Every line is a process of its own, start and imports included; the end of what it prints is told beside its processor
time and peak memory.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLASSES, ROWS = 10_000, 100_000
SHELL = ("-m", "bayeskit.cli")
TABLE = f"""
import numpy as np, pyarrow as pa, bayeskit as bk
rng = np.random.default_rng(1)
def table(rows, classes={CLASSES}):
    y = np.arange(rows) % classes
    return pa.table({{"a": y + rng.normal(size=rows), "b": rng.normal(size=rows), "y": [f"c{{k}}" for k in y]}})
"""
MODEL = f"{TABLE}\nmodel = bk.load('many.bayes')\n"
WIDE = """
import numpy as np, bayeskit as bk
X, y = np.random.default_rng(1).normal(size=(20, 100_000)), np.arange(20) % 2
try:
    bk.{0}().fit(X, y)
except bk.errors.MemoryRefusal as refusal:
    print(refusal)
"""
CASES: dict[str, tuple[str, ...]] = {
    "fit": ("-c", f"{TABLE}\nbk.NaiveBayes().fit(table({ROWS}), 'y').save('many.bayes')"),
    "predict": ("-c", f"{MODEL}\nprint(len(set(model.predict(table({ROWS}).drop_columns('y')))))"),
    "predict_proba by 1,000 rows": (
        "-c",
        f"{MODEL}\nX = table({ROWS}).drop_columns('y')\n"
        f"print(sum(model.predict_proba(X.slice(i, 1000)).max(axis=1).sum() for i in range(0, {ROWS}, 1000)))",
    ),
    "predict_proba of all rows": (
        "-c",
        f"{MODEL}\nimport resource\nresource.setrlimit(resource.RLIMIT_AS, (6 << 30,) * 2)\n"
        f"try:\n    model.predict_proba(table({ROWS}).drop_columns('y'))\n"
        f"except bk.errors.MemoryRefusal as refusal:\n    print(refusal)",
    ),
    "write rows": (
        "-c",
        f"{TABLE}\nimport pyarrow.parquet as pq\npq.write_table(table({ROWS}), 'rows.parquet')\n"
        f"pq.write_table(table(20_000), 'some.parquet')",
    ),
    "bayeskit fit": (*SHELL, "fit", "rows.parquet", "-t", "y", "--model", "naive", "-o", "shell.bayes"),
    "bayeskit predict, 20,000 rows": (*SHELL, "predict", "many.bayes", "some.parquet", "-o", "told.parquet"),
    "bayeskit evaluate": (*SHELL, "evaluate", "rows.parquet", "-t", "y", "--model", "naive", "--folds", "3"),
    "bayeskit report": (*SHELL, "report", "rows.parquet", "-t", "y", "--model", "naive", "-o", "page.html"),
    **{f"{name}, 100,000 columns": ("-c", WIDE.format(name)) for name in ("FullBayes", "TAN", "KDB", "AODE")},
    **{
        f"BIF of {count:,} variables": ("-c", f"import bayeskit as bk; print(len(bk.read_bif('{count}.bif').nodes))")
        for count in (10_000, 20_000, 40_000)
    },
}


def write_bif(path: Path, count: int) -> None:
    rng = random.Random(1)
    lines = ["network many {\n}\n"]
    lines += [f"variable v{i} {{\n  type discrete [ 2 ] {{ a, b }};\n}}\n" for i in range(count)]
    lines.append("probability ( v0 ) {\n  table 0.5, 0.5;\n}\n")
    for i in range(1, count):
        lines.append(f"probability ( v{i} | v{rng.randrange(i)} ) {{\n  (a) 0.25, 0.75;\n  (b) 0.5, 0.5;\n}}\n")
    path.write_text("".join(lines))


def run(name: str, words: tuple[str, ...]) -> None:
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ask = (
        "import json, resource, subprocess, sys; done = subprocess.run(sys.argv[1:], capture_output=True, text=True); "
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); "
        "print(json.dumps([done.returncode, (done.stdout + done.stderr).strip()[-300:], used.ru_maxrss]))"
    )
    # asked by a small process: a child begins with the size of its parent
    asked = subprocess.run([sys.executable, "-S", "-c", ask, sys.executable, *words], capture_output=True, text=True)
    code, said, peak = json.loads(asked.stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"{name}: {spent:.1f} s of processor, {time.perf_counter() - begin:.1f} s, {peak / 1024:,.0f} MB, exit {code}: "
        f"{' '.join(said.split())[-220:]}",
        flush=True,
    )


def main(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for count in (10_000, 20_000, 40_000):
            write_bif(Path(f"{count}.bif"), count)
        for name, words in CASES.items():
            if not names or name in names:
                run(name, words)


if __name__ == "__main__":
    main(sys.argv[1:])
