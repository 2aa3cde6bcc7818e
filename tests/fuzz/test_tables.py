"""Damaged files end in an error of bayeskit's own: never in a crash, never in a bare exception."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .mutants import FORMATS

RUNNER = Path(__file__).with_name("mutants.py")


def run(kind: str, seed: int, count: int, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(RUNNER), kind, str(seed), str(count), str(folder)],
        capture_output=True,
        text=True,
        timeout=3600,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, (
        f"mutant {lines[-1:]} of {kind} with seed {seed}: {done.returncode} {done.stderr[-800:]}"
    )
    assert [line for line in lines if line.startswith("raw")] == []
    assert lines[-1] == "done"


@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_files(kind: str, tmp_path: Path) -> None:
    run(kind, 1, 150, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_many_damaged_files(kind: str, tmp_path: Path) -> None:
    run(kind, 2, 4000, tmp_path)
