"""Pages of the library itself that the site embeds: reports and a network, each one self-contained HTML file."""

from pathlib import Path

import bayeskit as bk
from bayeskit.cli.example import clinic

EDGES = [
    ("family history", "lung cancer"),
    ("smoker", "lung cancer"),
    ("lung cancer", "x-ray"),
    ("lung cancer", "cough"),
]
TABLES = {
    "family history": {"yes": 0.1, "no": 0.9},
    "smoker": {"yes": 0.3, "no": 0.7},
    "lung cancer": {
        ("yes", "yes"): {"yes": 0.8, "no": 0.2},
        ("yes", "no"): {"yes": 0.5, "no": 0.5},
        ("no", "yes"): {"yes": 0.7, "no": 0.3},
        ("no", "no"): {"yes": 0.1, "no": 0.9},
    },
    "x-ray": {"yes": {"positive": 0.9, "negative": 0.1}, "no": {"positive": 0.2, "negative": 0.8}},
    "cough": {"yes": {"yes": 0.7, "no": 0.3}, "no": {"yes": 0.3, "no": 0.7}},
}


def write(folder: Path, digest: str) -> None:
    """Write the pages, unless those of this library are there already."""
    mark = folder.parent.parent / "live.digest"
    if mark.exists() and mark.read_text() == digest:
        return
    folder.mkdir(parents=True, exist_ok=True)
    found = bk.evaluate(bk.NaiveBayes(), clinic(2000), "diagnosis")
    bk.report(found, folder / "clinic.html", "Visits to a clinic")
    bk.report(bk.Network(EDGES, TABLES), folder / "network.html", "A belief network")
    mark.write_text(digest)
