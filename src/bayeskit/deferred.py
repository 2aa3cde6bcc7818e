"""Deferred: functions of SciPy that are imported when they are first called, for a command that never calls them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


def deferred(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that takes long to import.

    >>> deferred("math", "sqrt")(9.0)
    3.0
    """

    @cache
    def find() -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(import_module(module), name)
        return found

    def call(*args: object, **settings: object) -> Any:
        return find()(*args, **settings)

    return call
