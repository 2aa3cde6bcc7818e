"""The page of `make bench`: machine, versions, a picture of the ratios, and the times behind them."""

from __future__ import annotations

import io
import os
import platform
import time
from html import escape
from importlib.metadata import PackageNotFoundError, version
from math import ceil, floor, log10
from pathlib import Path

from matplotlib.figure import Figure

from duel import Duel

LIBRARIES = ("bayeskit", "numpy", "scipy", "scikit-learn", "pandas", "pyarrow", "pyagrum")
REACHED, MISSED = "#2a7f62", "#b5482a"
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; width: 100%; margin-bottom: 1.5rem; }
th, td { text-align: left; padding: .2rem .6rem; border-bottom: 1px solid #ddd; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.missed { color: #b5482a; font-weight: 600; } svg { width: 100%; height: auto; }
@media (max-width: 40rem) { body { font-size: 13px; } th, td { padding: .2rem .3rem; } }
"""


def write(found: dict[str, list[Duel]], took: float, path: Path) -> Path:
    """One page that needs no other file."""
    fast = {topic: [d for d in duels if d.goal >= 1] for topic, duels in found.items()}
    costs = [d for duels in found.values() for d in duels if d.goal < 1]
    every = [d for duels in found.values() for d in duels]
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
        f"<title>Benchmarks of bayeskit</title><style>{STYLE}</style><h1>Benchmarks of bayeskit</h1>",
        f"<p>{escape(machine())}</p><p>{escape(versions())}</p>",
        f"<p>{time.strftime('%d %B %Y, %H:%M')}; {took / 60:.1f} minutes. Both sides of a line ran in one process, "
        "in turns, by the clock; the best of the turns. Peers run at their defaults. "
        f"{sum(d.reached for d in every)} of {len(every)} goals reached.</p>",
        "<h2>Times faster than the peer</h2>",
        drawn([d for duels in fast.values() for d in duels]),
        *(f"<h3>{escape(topic)}</h3>{table(duels, False)}" for topic, duels in fast.items() if duels),
        f"<h2>Costs in units of a simpler run</h2>{table(costs, True)}" if costs else "",
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


def machine() -> str:
    """Processor, cores this process may use, memory and how busy the machine is."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    name = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = os.getloadavg()[0]
    return (
        f"{name}, {cores} cores, {memory:.0f} GiB, {platform.system()} {platform.machine()}; load {load:.1f} at the end"
    )


def versions() -> str:
    found = [f"Python {platform.python_version()}"]
    for name in LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def drawn(duels: list[Duel]) -> str:
    """Ratios as bars on a logarithmic axis, goals as ticks: an SVG."""
    figure = Figure(figsize=(9, 0.6 + 0.23 * len(duels)), layout="constrained")
    axes = figure.subplots()
    place = range(len(duels))
    axes.barh(place, [d.ratio for d in duels], color=[REACHED if d.reached else MISSED for d in duels], height=0.7)
    axes.plot([d.goal for d in duels], place, "|", color="black", markersize=9, markeredgewidth=2)
    axes.set_xscale("log")
    low, high = min(0.5, *(d.ratio for d in duels)), max(d.ratio for d in duels)
    axes.set_xlim(10 ** floor(log10(low)), 10 ** ceil(log10(high)))
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(place, [d.name for d in duels], fontsize=8)
    axes.invert_yaxis()
    axes.set_ylim(len(duels) - 0.4, -0.6)
    axes.set_xlabel("times faster than the peer; | is the goal", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    out = io.StringIO()
    figure.savefig(out, format="svg")
    return out.getvalue()[out.getvalue().index("<svg") :]


def table(duels: list[Duel], cost: bool) -> str:
    head = "<tr><th><th class=n>bayeskit<th class=n>other<th class=n>ratio<th class=n>goal<th>"
    rows = []
    for d in duels:
        ratio, goal = (1 / d.ratio, f"at most {1 / d.goal:.3g}") if cost else (d.ratio, f"{d.goal:g}")
        reached = "<td>reached" if d.reached else "<td class=missed>missed"
        times = f"<td class=n>{shown(d.ours)}<td class=n>{shown(d.theirs)}"
        rows.append(f"<tr><td>{escape(d.name)}{times}<td class=n>{ratio:.3g}x<td class=n>{goal}x{reached}")
    return f"<table>{head}{''.join(rows)}</table>"


def shown(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"
