"""Visits to a clinic, as tables, and the command in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

import bayeskit as bk
from bayeskit.cli.example import clinic

VISITS = clinic(600).append_column("id", pa.array([f"{i:04d}" for i in range(600)]))
FEATURES = VISITS.drop_columns(["id"])
HALF = FEATURES.slice(0, 300)
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(bk.__file__).parents[1]), "OMP_NUM_THREADS": "1"}


def typed(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    command = [sys.executable, "-m", "bayeskit.cli", *words]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, **options)


def digest(*parts: pa.Table) -> str:
    return bk.NaiveBayes().fit(pa.concat_tables(parts), "diagnosis").model_.digest
