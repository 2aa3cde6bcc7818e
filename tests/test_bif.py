"""BIF: what is read, that writing gives it back, and what malformed and hostile files get."""

from __future__ import annotations

import gzip
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.errors import FileError, NetworkError
from bayeskit.networks.bif import parse

CHEST = """
// states as child.bif has them, comments, quoted names, properties
network "a test" { property version 1.0 ; }
variable Age { type discrete [ 3 ] { <5, 5-12, 12+ }; property position = (1, 2) ; }
variable "Chest X-ray" { /* two
lines */ type discrete[2]{Normal,Asy/Patch}; }
probability ( Age ) { table 0.25, 0.25, 0.5; }
probability ( "Chest X-ray" | Age ) {
  (5-12) 0.5, 0.5;
  (<5) 0.125, 0.875;
  default 1e0, 0;
}
"""


def test_what_the_format_allows_is_read() -> None:
    net = parse(CHEST)
    assert net.states("Age") == ("<5", "5-12", "12+")
    assert net.states("Chest X-ray") == ("Normal", "Asy/Patch")
    assert net.graph.edges == (("Age", "Chest X-ray"),)
    assert net.tables["Chest X-ray"].probabilities.tolist() == [[0.125, 0.875], [0.5, 0.5], [1.0, 0.0]]


def test_a_flat_table_lists_the_child_slowest() -> None:
    text = """
    variable a { type discrete [ 2 ] { x, y }; } variable b { type discrete [ 2 ] { u, v }; }
    probability ( a ) { table 0.5 0.5; }
    probability ( b | a ) { table 0.1, 0.2, 0.9, 0.8; }
    """
    assert parse(text).tables["b"].probabilities.tolist() == [[0.1, 0.9], [0.2, 0.8]]


@pytest.mark.parametrize("name", ["net.bif", "net.bif.gz"])
def test_writing_gives_every_digit_back(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    states = {"a": ["//x", "/*", "{", "a b", "é", "1.0"], "b b": ["<5", ">=7.5", "Asy/Patch"]}
    table = rng.dirichlet(np.ones(3), size=6)
    table[0] = [1 / 3, 2 / 3 - 5e-324, 0]
    net = bk.Network([("a", "b b")], {"a": rng.dirichlet(np.ones(6)), "b b": table}, states=states)
    bk.write_bif(net, tmp_path / name)
    again = bk.read_bif(tmp_path / name)
    assert again.network_ == net.network_
    assert (tmp_path / name).read_bytes()[:2] == (b"\x1f\x8b" if name.endswith("gz") else b"ne")


def test_rounded_rows_are_kept_as_written_and_used_as_probabilities() -> None:
    net = parse(
        "variable a { type discrete [ 3 ] { x, y, z }; } probability ( a ) { table 0.33333, 0.33333, 0.33333; }"
    )
    assert net.tables["a"].probabilities.tolist() == [0.33333] * 3
    assert net.potentials["a"] == pytest.approx([1 / 3] * 3, rel=1e-15)


A = "variable a { type discrete [ 2 ] { x, y }; } "
PA = "probability ( a ) { table 0.5, 0.5; } "
B = "variable b { type discrete [ 2 ] { u, v }; } "


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no variable"),
        ("hello", "'hello' begins no part"),
        ("variable a { type discrete [ 1000000000 ] { x, y }; }", "1e.09 states"),
        ("variable a { type discrete [ 1e999 ] { x, y }; }", "inf states"),
        ("variable a { type discrete [ nan ] { x, y }; }", "nan states"),
        ("variable a { type discrete [ 0 ] { }; }", "0 states"),
        ("variable a { type discrete [ 3 ] { x, y }; }", "declares 3 states and names 2"),
        ("variable a { type discrete [ 2 ] { x, x }; }", "names 1 different"),
        ("variable a { type continuous; }", "discrete"),
        ("variable a { }", "no type"),
        (A + A, "declared twice"),
        (A, "'a' has no table"),
        (A + PA + PA, "two tables"),
        (A + "probability ( a ) { table 0.5; }", "1 entries, not 2"),
        (A + "probability ( a ) { table 0.5, 0.6; }", "add up to 1.1"),
        (A + "probability ( a ) { table 0.5, -0.5; }", "negative"),
        (A + "probability ( a ) { table 0.5, nan; }", "lacks|no number|says nothing"),
        (A + "probability ( a ) { table 0.5, half; }", "'half' is no number"),
        (A + "probability ( a ) { column 0.5, 0.5; }", "'column' begins no entry"),
        (A + PA + "probability ( z | a ) { table 1; }", "'z' .* no variable"),
        (A + B + PA + "probability ( b | z ) { table 1; }", "'z' .* no variable"),
        (A + B + PA + "probability ( b | a ) { (x) 0.5, 0.5; }", "lacks 1 configurations"),
        (A + B + PA + "probability ( b | a ) { (x) 0.5, 0.5; (x) 0.5, 0.5; }", "stands twice"),
        (A + B + PA + "probability ( b | a ) { (w) 0.5, 0.5; }", "no states of the parents"),
        (A + B + PA + "probability ( b | a ) { (x, x) 0.5, 0.5; }", "no states of the parents"),
        (A + B + PA + "probability ( b | a ) { (x) 0.5; }", "2 states and here 1"),
        (A + B + PA + "probability ( b | a, a ) { default 0.5, 0.5; }", "parent twice"),
        (A + B + "probability ( a | b ) { default 1, 0; } probability ( b | a ) { default 1, 0; }", "cycle"),
        (A + PA + 'variable "b', "not closed"),
        (A + PA + "/* never", "comment is not closed"),
        ("/* " * 100_000, "comment is not closed"),
        ('" ' * 100_001, "not closed|begins no part"),
        ("network x " + "{" * 200_000, "cut short"),
        ("{" * 200_000, "begins no part"),
        ("network x " + "{" * 200_000 + "}" * 200_000, "no variable"),
    ],
)
def test_malformed_files_are_refused_by_name(text: str, told: str) -> None:
    with pytest.raises(NetworkError, match=told):
        parse(text)


def test_a_default_cannot_make_a_table_that_memory_does_not_hold() -> None:
    """Ten lines can ask for 10^12 cells."""
    states = ", ".join(f"s{i}" for i in range(1000))
    text = "".join(f"variable v{j} {{ type discrete [ 1000 ] {{ {states} }}; }}\n" for j in range(4))
    text += "probability ( v0 | v1, v2, v3 ) { default " + "0.001, " * 1000 + "; }"
    with pytest.raises(NetworkError, match=r"1e.12 cells"):
        parse(text)


def test_every_cut_of_a_file_is_refused() -> None:
    text = CHEST.rstrip()
    for end in range(0, len(text) - 1, 3):
        with pytest.raises(NetworkError):
            parse(text[:end])


def test_files_that_are_no_text_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "net.bif"
    with pytest.raises(FileError, match="no such file"):
        bk.read_bif(path)
    path.write_bytes(b"\xff\xfe\x00variable")
    with pytest.raises(NetworkError, match="UTF-8"):
        bk.read_bif(path)
    path.write_bytes(gzip.compress(CHEST.encode())[:-20])
    with pytest.raises(NetworkError, match="cannot be read"):
        bk.read_bif(path)


def test_a_small_file_cannot_unpack_to_a_huge_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayeskit.networks.bif.MOST_BYTES", 1 << 22)
    path = tmp_path / "bomb.bif.gz"
    path.write_bytes(gzip.compress(bytes(1 << 26)))
    with pytest.raises(NetworkError, match="longer than"):
        bk.read_bif(path)


def test_states_that_would_read_alike_are_refused(tmp_path: Path) -> None:
    net = bk.Network([], {"a": {1: 0.5, "1": 0.5}})
    with pytest.raises(NetworkError, match="'a' has states that read alike"):
        bk.write_bif(net, tmp_path / "a.bif")


def test_names_that_no_file_can_hold_are_refused(tmp_path: Path) -> None:
    net = bk.Network([], {'a"b': {"x": 1.0}})
    with pytest.raises(NetworkError, match="cannot stand in a BIF file"):
        bk.write_bif(net, tmp_path / "a.bif")
    assert not (tmp_path / "a.bif").exists()


def test_tables_may_stand_in_any_order(tmp_path: Path) -> None:
    """Rain and sprinkler by hand: P(wet) = .2 (.4 .99 + .6 .8) + .8 (.01 .9 + .99 0)."""
    parts = [
        "probability ( wet | rain, on ) { (y, y) 0.99, 0.01; (y, n) 0.8, 0.2; (n, y) 0.9, 0.1; (n, n) 0.0, 1.0; }",
        "probability ( on | rain ) { (y) 0.4, 0.6; (n) 0.01, 0.99; }",
        "probability ( rain ) { table 0.2, 0.8; }",
    ]
    names = "".join(f"variable {v} {{ type discrete [ 2 ] {{ y, n }}; }}\n" for v in ("rain", "on", "wet"))
    for order in permutations(parts):
        (tmp_path / "n.bif").write_text(names + "\n".join(order))
        net = bk.read_bif(tmp_path / "n.bif")
        assert net.query("wet")["y"] == pytest.approx(0.2 * (0.4 * 0.99 + 0.6 * 0.8) + 0.8 * 0.01 * 0.9)
        assert net.query("rain", {"wet": "y"})["y"] == pytest.approx(0.1752 / 0.1824)
