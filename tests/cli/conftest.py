"""A folder of visits, the command in this process, and models it has saved."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import bayeskit as bk
from bayeskit.cli.app import main

from .visits import FEATURES, HALF, VISITS


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the visits in two parts."""
    monkeypatch.chdir(tmp_path)
    for name, begin in (("first", 0), ("second", 300)):
        csv.write_csv(VISITS.slice(begin, 300), tmp_path / f"{name}.csv")
    pq.write_table(VISITS, tmp_path / "all.parquet")
    return tmp_path


@pytest.fixture
def run(here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Any:
    """The command in this process: exit code, standard output, standard error."""

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["bayeskit", *words])
        with pytest.raises(SystemExit) as left:
            main()
        sys.stdout.flush()
        return (left.value.code or 0, *capfd.readouterr())

    return call


@pytest.fixture
def model(here: Path) -> str:
    bk.NaiveBayes().fit(HALF, "diagnosis").save(here / "m.bayes")
    return "m.bayes"


@pytest.fixture
def pool(here: Path) -> str:
    csv.write_csv(FEATURES.slice(0, 120), "few.csv")
    bk.AutoBayes(max_candidates=4).fit(FEATURES.slice(0, 120), "diagnosis").save(here / "auto.bayes")
    return "auto.bayes"
