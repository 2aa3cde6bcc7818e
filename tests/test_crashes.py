"""A command killed at any moment, or out of disk space, leaves what was there: whole files only."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayeskit as bk
from bayeskit.cli.example import clinic

VISITS = clinic(20_000)
HALF = VISITS.slice(0, 10_000)
LOOP = """
import sys, warnings
from bayeskit.cli.commands import app
import bayeskit as bk
bk.NaiveBayes, bk.load  # what takes long is loaded before the first moment at which it may be killed
print("ready", flush=True)
while True:
    app([*sys.argv[1:]], standalone_mode=False)
"""
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(bk.__file__).parents[1]), "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    pq.write_table(HALF, folder / "half.parquet")
    pq.write_table(VISITS.slice(10_000), folder / "other.parquet")
    return folder


def killed(*words: str, moments: list[float], folder: Path) -> None:
    """The command again and again, killed at each of these moments; what it leaves is in the folder."""
    environment = {**ENVIRONMENT, "TMPDIR": str(folder)}
    for moment in moments:
        with subprocess.Popen([sys.executable, "-c", LOOP, *words], env=environment, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            try:
                process.wait(moment)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL


def moments(seed: int, count: int = 3) -> list[float]:
    rng = random.Random(seed)
    return [rng.uniform(0.02, 0.6) for _ in range(count)]


def test_a_killed_fit_leaves_the_old_model_or_the_new(tables: Path, tmp_path: Path) -> None:
    target = tmp_path / "m.bayes"
    old = bk.NaiveBayes().fit(HALF.slice(0, 100), "diagnosis")
    old.save(target)
    killed(
        "fit",
        str(tables / "half.parquet"),
        "-t",
        "diagnosis",
        "-o",
        str(target),
        "-q",
        moments=moments(1),
        folder=tmp_path,
    )
    assert bk.load(target).model_.digest in {old.model_.digest, bk.NaiveBayes().fit(HALF, "diagnosis").model_.digest}


def test_a_killed_update_leaves_the_model_of_some_updates(tables: Path, tmp_path: Path) -> None:
    """Each time round the model has learned the other half once more; its journal says how often."""
    target = tmp_path / "m.bayes"
    bk.NaiveBayes().fit(HALF, "diagnosis").save(target)
    killed("update", str(target), str(tables / "other.parquet"), "-q", moments=moments(2), folder=tmp_path)
    found = bk.load(target).model_
    weight = pa.array([1.0] * 10_000 + [float(len(found.journal))] * 10_000)
    expected = bk.NaiveBayes().fit(VISITS, "diagnosis", sample_weight=weight)
    assert found.digest == expected.model_.digest


def test_a_killed_predict_leaves_no_part_of_a_file(tables: Path, tmp_path: Path) -> None:
    bk.NaiveBayes().fit(HALF, "diagnosis").save(tmp_path / "m.bayes")
    target = tmp_path / "out.parquet"
    words = ["predict", str(tmp_path / "m.bayes"), str(tables / "other.parquet"), "-o", str(target), "-q"]
    killed(*words, moments=moments(3), folder=tmp_path)
    assert not target.exists() or pq.read_table(target).num_rows == 10_000


COMMAND = "from bayeskit.cli.commands import app; print('ready', flush=True); from bayeskit.cli.app import main; main()"


def test_an_interrupted_command_says_so_in_a_line(tmp_path: Path) -> None:
    """Ctrl-C while it waits for rows."""
    bk.NaiveBayes().fit(HALF, "diagnosis").save(tmp_path / "m.bayes")
    before = (tmp_path / "m.bayes").read_bytes()
    words = [sys.executable, "-c", COMMAND, "fit", "-", "-t", "diagnosis", "-o", str(tmp_path / "m.bayes")]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, env=ENVIRONMENT, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.stdin.write(b"age,diagnosis\n" * 10_000)  # more than a pipe holds: it is being read when this returns
        process.send_signal(signal.SIGINT)
        told, said = process.communicate(timeout=60)
    assert (process.returncode, told, said.decode()) == (130, b"", "bayeskit: interrupted; files are as they were\n")
    assert (tmp_path / "m.bayes").read_bytes() == before


def words_of(command: str, model: Path, other: str, target: Path) -> list[str]:
    words = {
        "fit": ["fit", other, "-t", "diagnosis", "-o", str(model)],
        "update": ["update", str(model), other],
        "predict": ["predict", str(model), other, "-o", str(target)],
        "report": ["report", other, "-t", "diagnosis", "-m", "naive", "-o", str(target)],
    }
    return [sys.executable, "-m", "bayeskit.cli", *words[command], "-q"]


@pytest.mark.parametrize("command", ["fit", "update", "predict", "report"])
def test_a_file_that_may_not_grow_leaves_the_old_one(tables: Path, tmp_path: Path, command: str) -> None:
    """No file may grow beyond a few bytes, as under a quota."""
    model, other = tmp_path / "m.bayes", str(tables / "other.parquet")
    bk.NaiveBayes().fit(HALF, "diagnosis").save(model)
    target = {"predict": tmp_path / "out.parquet", "report": tmp_path / "out.html"}.get(command, model)
    if command == "report":
        bk.report(bk.evaluate(bk.NaiveBayes(), HALF.slice(0, 100), "diagnosis", bk.Holdout(0.5)), target)
    if command == "predict":
        pq.write_table(pa.table({"prediction": ["cold"], "P(cold)": [1.0]}), target)
    before = target.read_bytes()
    run = subprocess.run(
        words_of(command, model, other, target),
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    assert run.returncode == 4, run.stderr
    assert "an older file is intact" in run.stderr
    assert target.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted({"m.bayes", target.name})


MOUNT = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs -o size=64k tmpfs "$0" && "$@"']
ON_A_SMALL_DISK = """
import json, os, pathlib, shutil, subprocess, sys
import pyarrow as pa, pyarrow.parquet as pq
disk, model, *words = sys.argv[1:]
disk, page = pathlib.Path(disk), 4096
shutil.copy(model, disk / "m.bayes")
pq.write_table(pa.table({"prediction": ["cold"], "P(cold)": [1.0]}), disk / "out.parquet")
filler = open(disk / "filler", "wb", buffering=0)
try:
    while True:
        filler.write(bytes(page))
except OSError:
    pass  # a file can be begun, but not written
before = {path.name: path.read_bytes() for path in disk.iterdir()}
run = subprocess.run(words, capture_output=True, text=True)
after = {path.name: path.read_bytes() for path in disk.iterdir()}
print(json.dumps([run.returncode, run.stderr, before == after]))
"""


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """Where a disk of 64 KB is mounted, for the process that mounts it alone."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if not shutil.which("unshare") or subprocess.run([*MOUNT, folder, "true"], capture_output=True).returncode:
        pytest.skip("needs the right to mount a small tmpfs (unshare --user --mount)")
    return folder


@pytest.mark.parametrize("command", ["fit", "update", "predict"])
def test_a_full_disk_leaves_the_old_file(tables: Path, tmp_path: Path, disk: Path, command: str) -> None:
    """A real one, that has no room left."""
    bk.NaiveBayes().fit(HALF, "diagnosis").save(tmp_path / "m.bayes")
    words = words_of(command, disk / "m.bayes", str(tables / "other.parquet"), disk / "out.parquet")
    inner = [sys.executable, "-c", ON_A_SMALL_DISK, str(disk), str(tmp_path / "m.bayes"), *words]
    run = subprocess.run([*MOUNT, str(disk), *inner], env=ENVIRONMENT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    code, told, intact = json.loads(run.stdout)
    assert (code, intact) == (4, True), told
    assert "No space left on device; not saved, an older file is intact" in told


def test_two_updates_at_once_both_count(tables: Path, tmp_path: Path) -> None:
    target = tmp_path / "m.bayes"
    bk.NaiveBayes().fit(HALF, "diagnosis").save(target)
    words = [sys.executable, "-m", "bayeskit.cli", "update", str(target), str(tables / "other.parquet"), "-q"]
    both = [subprocess.Popen(words, env=ENVIRONMENT) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert [entry.rows for entry in bk.load(target).model_.journal] == [10_000, 10_000]
    assert bk.load(target).model_.counted.weight == 30_000
