"""Memory: what an array would take is compared with what there is before it is taken."""

from __future__ import annotations

import os
import re
import resource
from pathlib import Path

from bayeskit.errors import InputError, MemoryRefusal

SMALL = 1 << 28  # bytes that are never refused, so that nothing is asked of the system
PAIR = 1000  # bytes for each pair of columns while a model is fitted, as measured with few levels and two classes
SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]B)\s*", re.IGNORECASE)
UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_LIMITS = (  # of a container: how much it may have, and how much it has
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def check_memory(needed: int, what: str, advice: str) -> None:
    """Refuse what takes more bytes than are free.

    >>> check_memory(10**15, "covariances of 100,000 columns", "choose some")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    bayeskit.errors.MemoryRefusal: covariances of 100,000 columns take about 1,000,000.0 GB, ...
    """
    if needed > SMALL and needed > (free := free_memory()):
        raise MemoryRefusal(f"{what} take about {needed / 1e9:,.1f} GB, and {free / 1e9:,.1f} GB are free; {advice}")


def check_pairs(columns: int, what: str) -> None:
    """Refuse what is kept of every two columns, if there are too many of them."""
    asked = f"{what} of every two of {columns:,} columns"
    check_memory(
        PAIR * columns * (columns - 1) // 2, asked, "choose fewer columns (FeatureSelector), or use NaiveBayes"
    )


def read_size(text: object) -> int:
    """A size in bytes.

    >>> read_size("1.5GB")
    1500000000
    """
    found = SIZE.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise InputError(f"memory={text!r}: give a size such as 512MB or 2GB")
    return int(float(found[1]) * UNITS[found[2].upper()])


def free_memory() -> int:
    """Bytes that this process can still have, as far as the system says."""
    found = [_container(Path(most), Path(used)) for most, used in _LIMITS]
    known = [free for free in (_machine(), _process(), *found) if free is not None]
    return min(known, default=1 << 62)


def _machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):  # no Linux: all there is, used or not
        there = {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= os.sysconf_names.keys()
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if there else None


def _process() -> int | None:
    """What the process may still address (``ulimit -v``)."""
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:  # no Linux
        pages = 0
    return None if most == resource.RLIM_INFINITY else most - pages * resource.getpagesize()


def _container(most: Path, used: Path) -> int | None:
    try:
        return int(most.read_text()) - int(used.read_text())
    except (OSError, ValueError):  # none, or one without a limit ("max")
        return None
