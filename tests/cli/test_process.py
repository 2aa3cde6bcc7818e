"""The command in a process of its own: files, pipes, terminals, memory."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayeskit as bk

from .visits import ENVIRONMENT, FEATURES, HALF, digest, typed


def test_a_user_learns_updates_forgets_and_predicts(here: Path) -> None:
    fit = typed("fit", "first.csv", "--target", "diagnosis", "--ignore", "id")
    assert (fit.returncode, fit.stderr) == (0, "")
    assert "learned; the model has 300 rows; saved in first.bayes" in fit.stdout
    update = typed("update", "first.bayes", "second.csv", "--ignore", "id", "--json")
    assert json.loads(update.stdout)["digest"] == digest(FEATURES)
    forget = typed("forget", "first.bayes", "second.csv", "--ignore", "id", "--quiet")
    assert (forget.returncode, forget.stdout, forget.stderr) == (0, "", "")
    assert bk.load("first.bayes").model_.digest == digest(HALF)
    predict = typed("predict", "first.bayes", "second.csv", "--keep", "id", "-o", "out.csv")
    assert (predict.returncode, predict.stdout) == (
        0,
        "300 rows answered in out.csv\n\nnext: bayeskit explain first.bayes second.csv --ignore id --row 1\n",
    )


PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_several_million_rows_pass_through_little_memory(tmp_path: Path) -> None:
    """105 different rows, each as often as its remainders occur together: the model is that of as many weights."""
    rows = 3_000_000
    duckdb.sql(f"select i % 7 as a, (i % 5) / 2 as x, 'c' || (i % 3) as class from range({rows}) t(i)").write_parquet(
        str(tmp_path / "many.parquet")
    )
    i = np.arange(105)
    weight = rows // 105 + (i < rows % 105)
    few = pa.table({"a": i % 7, "x": (i % 5) / 2, "class": [f"c{k % 3}" for k in i], "w": weight.astype(float)})
    expected = bk.NaiveBayes().fit(few, "class", sample_weight="w")
    for line in ("fit many.parquet -t class", "predict many.bayes many.parquet -o out.parquet"):
        command = [sys.executable, "-m", "bayeskit.cli", *line.split(), "-q", "--memory", "500MB"]
        # asked by a small process: that of the tests may be larger, and a child begins with the size of its parent
        small = [sys.executable, "-c", PEAK, *command]
        used = subprocess.run(small, env=ENVIRONMENT, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert int(used.stdout) < 700_000  # KB
    assert bk.load(tmp_path / "many.bayes").model_.digest == expected.model_.digest
    found = pq.read_table(tmp_path / "out.parquet", columns=["P(c1)"])["P(c1)"].to_numpy()
    np.testing.assert_array_equal(found, expected.predict_proba(few.drop_columns(["w"]))[np.arange(rows) % 105, 1])


def test_help_rule_inspect_and_predict_never_load_scikit_learn(model: str) -> None:
    spy = "import sys\nfrom bayeskit.cli.app import main\ntry: main()\nfinally: print('sklearn' in sys.modules)"
    for words in (
        ["--help"],
        ["fit", "--help"],
        ["rule", "--prior", "0.5", "--likelihood", "1", "--evidence", "1"],
        ["inspect", model],
        ["predict", model, "all.parquet", "--keep", "id", "-o", "out.csv", "--reasons", "2", "--evidence"],
    ):
        found = subprocess.run([sys.executable, "-c", spy, *words], env=ENVIRONMENT, capture_output=True, text=True)
        assert found.stdout.splitlines()[-1] == "False", words


def test_standard_input_is_read_and_standard_output_written(here: Path, model: str) -> None:
    asked = subprocess.run(
        [sys.executable, "-m", "bayeskit.cli", "predict", model, "-", "--keep", "id"],
        env=ENVIRONMENT,
        input=(here / "all.parquet").read_bytes(),
        capture_output=True,
    )
    lines = asked.stdout.decode().splitlines()
    assert lines[0] == '"id","prediction","P(cold)","P(flu)","P(pneumonia)"'
    assert len(lines) == 601
    assert lines[1].startswith('"0000",')


@pytest.mark.parametrize(
    ("more", "said"),
    [([], "rows/s"), (["-m", "auto", "--set", "max_candidates=1"], "fit 1 of 1")],
    ids=["rows", "fits"],
)
def test_progress_is_shown_on_a_terminal_only(here: Path, more: list[str], said: str) -> None:
    words = ["fit", "all.parquet", "-t", "diagnosis", "--ignore", "id", *more]
    leader, follower = pty.openpty()
    shown = subprocess.run(
        [sys.executable, "-m", "bayeskit.cli", *words],
        env={**ENVIRONMENT, "TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=follower,
    )
    os.close(follower)
    told = os.read(leader, 100_000).decode()
    os.close(leader)
    assert shown.returncode == 0
    assert said in told
    assert typed(*words).stderr == ""


def test_an_interrupted_pipe_is_no_error(here: Path, model: str) -> None:
    line = f"{sys.executable} -m bayeskit.cli predict {model} all.parquet --keep all | head -1"
    found = subprocess.run(["bash", "-o", "pipefail", "-c", line], env=ENVIRONMENT, capture_output=True, text=True)
    assert found.stderr == ""
    assert found.returncode == 0
    assert found.stdout.count("\n") == 1


def test_a_terminal_without_the_letters_shows_others(here: Path, model: str) -> None:
    (here / "umlaut.csv").write_text("a,b\n1,Köln\n2,Zürich – „x“\n" * 5, encoding="utf-8")
    words = [sys.executable, "-m", "bayeskit.cli", "fit", "umlaut.csv", "--target", "b"]
    plain = ENVIRONMENT | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    found = subprocess.run(words, env=plain, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert "K?ln" in found.stdout


def test_a_shell_completes_commands() -> None:
    asked = {"_BAYESKIT_COMPLETE": "complete_bash", "COMP_WORDS": "bayeskit fo", "COMP_CWORD": "1"}
    line = "import sys; sys.argv = ['bayeskit']; from bayeskit.cli.app import main; main()"
    found = subprocess.run([sys.executable, "-c", line], env=ENVIRONMENT | asked, capture_output=True, text=True)
    assert found.stdout.split() == ["forget"]
