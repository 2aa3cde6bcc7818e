"""What holds for all tests: where they run side by side, and that a slow example of hypothesis is no failure."""

import os

import pytest
from hypothesis import settings

if "PYTEST_XDIST_WORKER" in os.environ:  # set before NumPy is loaded: processes side by side leave BLAS a core each
    os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests on Spark first: processes begin with equal shares, in order, so that one of them has all of these."""
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)
