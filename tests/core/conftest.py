"""The core by each of its clones."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bayeskit import _core as core

from .memory import BEST, CLONES


@pytest.fixture(params=CLONES)
def clone(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs the test once per clone."""
    core.use_clone(request.param)
    yield request.param
    core.use_clone(BEST)
