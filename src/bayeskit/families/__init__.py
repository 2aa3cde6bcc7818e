"""Likelihoods of columns of one kind given the class: each family one file, found by walking this package."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from bayeskit.densities.likelihood import likelihoods
from bayeskit.keywords import guide


@cache
def families() -> dict[str, type[Any]]:
    """Every family by name."""
    return likelihoods(sys.modules[__name__])


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(families())
    if not name.startswith("_") and name in families():
        found: Any = families()[name]
        return guide(found)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(families())
