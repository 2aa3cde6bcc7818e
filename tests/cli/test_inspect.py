"""What hostile names and cells do to a terminal and to a spreadsheet: nothing."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest

HOSTILE = "\x1b[31mred\x1b[0m\x9b2J\u202e"
SEEN = r"\x1b[31mred\x1b[0m\x9b2J\u202e"
CELLS = ["=HYPERLINK(1)", "+1+1", "-2+3", "@sum", "\tx", "\rx", "plain", "'=1"]
CONTROLS = {chr(c) for c in (*range(32), *range(127, 160), 0x202E)} - {"\n", "\t"}


@pytest.fixture
def hostile(here: Path) -> str:
    """Names of columns, levels and classes that a terminal would obey."""
    lines = [f"{i},{HOSTILE if i % 3 else 'calm'},{'a' if i % 2 else 'b' + HOSTILE}" for i in range(30)]
    Path("h.csv").write_text(f"n{HOSTILE},word,y{HOSTILE}\n" + "\n".join(lines) + "\n")
    return f"y{HOSTILE}"


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_no_command_sends_escape_sequences(run: Any, hostile: str, more: list[str]) -> None:
    said = ""
    for words in (
        ["fit", "h.csv", "-t", hostile, "-o", "h.bayes"],
        ["inspect", "h.bayes"],
        ["update", "h.bayes", "h.csv"],
        ["update", "h.bayes", "h.csv"],
        ["forget", "h.bayes", "h.csv"],
        ["explain", "h.bayes", "h.csv", "--row", "1"],
        ["evaluate", "h.csv", "-t", hostile],
        ["compare", "h.csv", "-t", hostile, "-m", "naive", "-m", "full"],
        ["predict", "h.bayes", "h.csv", "-o", "out.csv", "--keep", hostile],
        ["network", "learn", "h.csv", "--ignore", f"n{HOSTILE}", "-o", "net.bayes"],
        ["network", "query", "net.bayes", "--target", hostile],
        ["inspect", "net.bayes"],
        ["rule", "--prior", f"{HOSTILE}=0.5,b=0.5", "--likelihood", f"{HOSTILE}=0.5,b=0.5"],
    ):
        code, out, err = run(*words, *more)
        assert code == 0, err
        assert not CONTROLS & set(out + err), words
        said += out
    assert (json.dumps(HOSTILE)[1:-1] if more else SEEN) in said


def test_no_error_sends_escape_sequences(run: Any, hostile: str, model: str) -> None:
    for words in (
        ["fit", "h.csv", "-t", f"nothing{HOSTILE}"],
        ["fit", f"gone{HOSTILE}.csv", "-t", "y"],
        ["predict", model, "h.csv"],
        ["fit", "h.csv", "-t", hostile, "--families", f"n{HOSTILE}=Beta"],
        ["inspect", f"{HOSTILE}.bayes"],
        ["fit", "h.csv", "-t", hostile, "--ignore", f"x{HOSTILE}"],
    ):
        code, out, err = run(*words)
        assert code
        assert not CONTROLS & set(out + err), words
        assert r"\x1b[31mred" in err or words[0] == "predict", err


def test_answers_are_shown_to_people_and_piped_as_they_are(
    run: Any, hostile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("fit", "h.csv", "-t", hostile, "-o", "h.bayes")
    piped = run("predict", "h.bayes", "h.csv", "--keep", "word")[1]
    assert HOSTILE in piped
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda self: True, raising=False)
    shown = run("predict", "h.bayes", "h.csv", "--keep", "word", "-q")[1]
    assert not CONTROLS & set(shown)
    assert SEEN in shown


@pytest.fixture
def formulas(here: Path) -> list[dict[str, str]]:
    rows = [{"=id": c, "v": str(i - 5), "class": "=bad()" if i % 2 else "good"} for i, c in enumerate(CELLS * 3)]
    with open("f.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return rows


def read(path: str) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_texts_that_a_spreadsheet_would_run_are_escaped_on_demand(run: Any, formulas: list[dict[str, str]]) -> None:
    run("fit", "f.csv", "-t", "class", "--ignore", "=id", "-o", "f.bayes")
    asked = ("predict", "f.bayes", "f.csv", "--keep", "=id,v", "--reasons", "1")
    assert run(*asked, "-o", "plain.csv")[0] == 0
    code, _, err = run(*asked, "--spreadsheet-safe", "-o", "safe.csv")
    plain, safe = read("plain.csv"), read("safe.csv")
    escaped = 0
    for before, after in zip(plain, safe, strict=True):
        for (name, old), (title, new) in zip(before.items(), after.items(), strict=True):
            runs = name in ("=id", "prediction", "reasons") and old[:1] in list("=+-@\t\r")
            assert new == ("'" + old if runs else old), name
            assert title == ("'=id" if name == "=id" else name)
            escaped += runs
    assert any(row["v"].startswith("-") for row in safe), "numbers keep their sign"
    assert [row["=id"] for row in plain] == [row["=id"] for row in formulas]
    assert code == 0
    assert f"{escaped + 1} texts that a spreadsheet would run begin with '" in err


def test_only_csv_is_for_spreadsheets(run: Any, model: str) -> None:
    for more in (["-o", "out.parquet"], ["--json"]):
        code, _, err = run("predict", model, "all.parquet", "--spreadsheet-safe", *more)
        assert code == 2
        assert "--spreadsheet-safe" in err
