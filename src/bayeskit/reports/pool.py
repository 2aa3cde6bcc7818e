"""Pool: the candidates of AutoBayes, what became of each, and what it adds."""

from __future__ import annotations

import numpy as np

from bayeskit.ensemble.leaderboard import Leaderboard
from bayeskit.reports.markup import Safe, folded, number, table

WORDS = {  # by how the name of a candidate begins
    "KDB": "KDB: each column given the class and up to k other columns",
    "AODE": "AODE: a mean of models, in each of which all columns depend on one",
    "sets": "sets of columns: what up to three columns together tell of the class, every set by itself",
    "naive": "naive: columns independent given the class",
    "shrunk normal": "shrunk normal: a normal density of all numbers in each class",
    "linear": "linear: normal densities with one covariance for all classes",
}
NEAREST = "nearest: the classes of the most similar rows"
FEW = 8  # members shown at first


def members(leaderboard: Leaderboard) -> str:
    """Those that were kept by weight, and below what became of the others."""
    kept = [line for line in leaderboard.lines if line[2] > 0]
    most = max((weight for _, _, weight, *_ in kept), default=1.0)
    rows = [
        (name, _bar(weight / most), number(weight), number(loss, 4), _signed(gain))
        for name, loss, weight, gain, _ in kept
    ]
    head = ("member", "", "weight", "log loss alone", "adds")
    said = (
        f"<h3>What it is made of</h3><p>{len(leaderboard.lines)} candidates were tried or considered, and judged on "
        f"{leaderboard.rows:,} predictions of rows they had not learned. {len(kept)} are kept; the evidence of each "
        f"counts as much as its weight. What a member adds is how much the log loss of all would rise without it.</p>"
        f"{folded(rows, head, 2, FEW)}"
    )
    others = [(name, why, number(loss, 4)) for name, loss, weight, _, why in leaderboard.lines if not weight > 0]
    if others:
        left = table(("candidate", "why it was left out", "log loss alone"), others, 2)
        said += f"<details><summary>{len(others)} candidates left out</summary>{left}</details>"
    return said + _glossary([name for name, *_ in kept])


def _bar(share: float) -> Safe:
    return Safe(f'<span class="track mini"><i style="width:{100 * share:.1f}%"></i></span>')


def _signed(gain: float) -> str:
    return "–" if not np.isfinite(gain) else "0.0000" if abs(gain) < 5e-5 else f"{gain:+.4f}".replace("-", "−")


def _glossary(names: list[str]) -> str:
    found = [words for start, words in WORDS.items() if any(name.startswith(start) for name in names)]
    found += [NEAREST] if any("nearest" in name for name in names) else []
    return f'<p class="fine">{"; ".join(found)}.</p>' if found else ""
