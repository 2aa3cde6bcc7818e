"""network: answers, pictures, learning."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bayeskit as bk

SPRINKLER = """network garden { }
variable rain { type discrete [ 2 ] { no, yes }; }
variable wet { type discrete [ 2 ] { no, yes }; }
probability ( rain ) { table 0.75, 0.25; }
probability ( wet | rain ) { (no) 0.9, 0.1; (yes) 0.2, 0.8; }
"""


def test_a_network_answers(run: Any) -> None:
    """P(rain | wet) = 0.25 x 0.8 / (0.25 x 0.8 + 0.75 x 0.1) = 8/11."""
    Path("garden.bif").write_text(SPRINKLER)
    found = json.loads(run("network", "query", "garden.bif", "-t", "rain", "--evidence", "wet=yes", "--json")[1])
    assert found == pytest.approx({"no": 3 / 11, "yes": 8 / 11})
    for words in (["-t", "snow"], ["-t", "rain", "--evidence", "wet=soaked"], ["-t", "rain", "--evidence", "snow=yes"]):
        code, _, err = run("network", "query", "garden.bif", *words)
        assert (code, "it has:" in err) == (3, True)


def test_a_network_is_drawn(run: Any) -> None:
    Path("garden.bif").write_text(SPRINKLER)
    assert run("network", "draw", "garden.bif", "-o", "garden.svg", "-q") == (0, "", "")
    assert Path("garden.svg").read_text().startswith("<svg")
    assert run("network", "draw", "garden.bif", "-o", "garden.png")[0] == 2
    assert run("network", "panel", "garden.bif", "-o", "garden.html", "--title", "A garden", "-q") == (0, "", "")
    assert "<h1>A garden</h1>" in Path("garden.html").read_text()
    Path("mine.html").write_text("mine")
    code, _, err = run("network", "panel", "garden.bif", "-o", "mine.html")
    assert (code, "--force replaces it" in err, Path("mine.html").read_text()) == (4, True, "mine")


@pytest.mark.parametrize("ending", ["bif", "bayes"])
def test_a_network_is_learned_from_a_table(run: Any, ending: str) -> None:
    """Two columns that go together and one that does not; 27 and 9 of 36 rows, and pseudo-counts of one."""
    lines = [f"{a},{a if i else 'x'},{c}\n" for a in "xy" for c in "uvw" for i in range(6)]
    Path("t.csv").write_text("a,b,c\n" + "".join(lines))
    code, out, _ = run("network", "learn", "t.csv", "-o", f"t.{ending}", "--forbidden", "b>a", "--json")
    assert (code, json.loads(out)["edges"]) == (0, [["a", "b"]])
    found = json.loads(run("network", "query", f"t.{ending}", "-t", "b", "--evidence", "a=y", "--json")[1])
    assert found == pytest.approx({"x": (3 + 1) / (18 + 2), "y": (15 + 1) / (18 + 2)})


def test_numbers_are_numbers_until_they_are_declared(run: Any) -> None:
    words = ("network", "learn", "first.csv", "-o", "n.bif", "--ignore", "id")
    code, _, err = run(*words)
    assert code == 3
    assert "BIF knows levels only" in err
    code, _, err = run("network", "learn", "first.csv", "-o", "n.bayes", "--ignore", "id")
    assert code == 0, err
    net = bk.load("n.bayes")
    found = json.loads(run("network", "query", "n.bayes", "-t", "pulse", "--evidence", "age=40", "--json")[1])
    assert found["mean"] == net.query("pulse", {"age": 40}).mean
    code, _, err = run("network", "query", "n.bayes", "-t", "pulse", "--evidence", "age=old")
    assert (code, "'age' is a number" in err) == (3, True)
    code, _, err = run(*words, "--ignore", "temperature,pulse", "--kinds", "age=nominal,cough=none|dry|wet|whooping")
    assert code == 0, err
    assert bk.read_bif("n.bif").states("cough") == ("dry", "none", "wet", "whooping")


def test_numbers_are_cut_into_intervals(run: Any) -> None:
    words = ("network", "learn", "first.csv", "--ignore", "id", "--force")
    code, _, err = run(*words, "-o", "n.bayes", "--cuts", "3")
    assert code == 0, err
    net = bk.load("n.bayes")
    assert len(net.states("age")) == 3
    found = json.loads(run("network", "query", "n.bayes", "-t", "pulse", "--evidence", "age=64.5", "--json")[1])
    assert found == {str(state): p for state, p in net.query("pulse", {"age": net.states("age")[-1]}).items()}
    code, _, err = run(*words, "-o", "n.bayes", "--cuts", "mdlp")
    assert (code, "label=" in err) == (3, True)
