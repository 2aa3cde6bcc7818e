"""BLAS on the caller's thread only: engines share rows out, BLAS must not start threads as well."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_inside = 0
_limited: Any = None


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def alone() -> Iterator[None]:
    """One thread per BLAS call while any thread is inside; the number is global, so the last one out restores it."""
    global _inside, _limited
    with _lock:
        if _inside == 0:
            _limited = _controller().limit(limits=1)
            _limited.__enter__()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limited.__exit__(None, None, None)
