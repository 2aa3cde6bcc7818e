"""How columns hang together given the class; a likelihood of many columns is one file, found by walking."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from bayeskit.densities.likelihood import likelihoods


@cache
def structures() -> dict[str, type[Any]]:
    """Every likelihood of several columns together by name."""
    return likelihoods(sys.modules[__name__])
