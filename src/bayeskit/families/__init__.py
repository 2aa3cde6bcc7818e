"""Likelihoods of columns of one kind given the class: each family one file, found by walking this package."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any


@cache
def families() -> dict[str, type[Any]]:
    """Every family by name."""
    found: dict[str, type[Any]] = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ == module.__name__ and hasattr(value, "kinds"):
                found[value.__name__] = value
    return found


def __getattr__(name: str) -> Any:
    if not name.startswith("_") and name in families():
        return families()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(families())
