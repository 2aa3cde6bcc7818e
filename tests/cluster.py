"""A small real Spark cluster for tests: a master, two workers, each with an executor process of its own."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import warnings
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import bayeskit

MISSING = (
    "needs pyspark: pip install 'bayeskit[spark]'"
    if find_spec("pyspark") is None
    else None
    if shutil.which("java") or os.environ.get("JAVA_HOME")
    else "needs Java 17 for Spark"
)
# a JVM of a test lives for seconds: compiling it well does not pay; set here, so that those of commands have it too
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
SOURCE = str(Path(bayeskit.__file__).parents[1])
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.executor.memory": "512m",
    "spark.executorEnv.PYTHONPATH": os.pathsep.join([SOURCE, os.environ.get("PYTHONPATH", "")]),
    "spark.pyspark.python": sys.executable,
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "4",
}


@cache
def session() -> Any:
    """The one session of this process; a test that asks for it is skipped where Spark cannot run."""
    if MISSING:
        pytest.skip(MISSING)
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable  # executors take the first python3 of the path otherwise
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("bayeskit tests")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = builder.getOrCreate()
    atexit.register(started.stop)
    return started
