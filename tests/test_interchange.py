"""XMLBIF and JSON of Gaussian networks: round trips, the formats' own examples, and what damaged files get."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.errors import NetworkError

DOG = """<?xml version="1.0"?>
<!-- in the form of the description of XMLBIF 0.3 (Cozman) -->
<!DOCTYPE BIF [ <!ELEMENT BIF ( NETWORK )*> <!ATTLIST BIF VERSION CDATA #REQUIRED> ]>
<BIF VERSION="0.3"><NETWORK><NAME>Dog</NAME>
<VARIABLE TYPE="nature"><NAME>bowel</NAME><OUTCOME>ill</OUTCOME><OUTCOME>well</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>family</NAME><OUTCOME>out</OUTCOME><OUTCOME>in</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>dog</NAME><OUTCOME>out</OUTCOME><OUTCOME>in</OUTCOME><PROPERTY>x</PROPERTY></VARIABLE>
<DEFINITION><FOR>dog</FOR><GIVEN>bowel</GIVEN><GIVEN>family</GIVEN>
<TABLE>0.99 0.01 <!-- ill, out --> 0.97 0.03 0.9 0.1 0.3 0.7</TABLE></DEFINITION>
<DEFINITION><FOR>bowel</FOR><TABLE>0.01 0.99</TABLE></DEFINITION>
<DEFINITION><FOR>family</FOR><TABLE>0.15 0.85</TABLE></DEFINITION>
</NETWORK></BIF>"""

LINE = {
    "nodes": ["a", "b"],
    "arcs": [["a", "b"]],
    "cpds": {
        "a": {"coefficients": {"(Intercept)": [2.0]}, "variance": [0.0853], "parents": []},
        "b": {"coefficients": {"(Intercept)": [0.1], "a": [-3.5]}, "variance": [0.3], "parents": ["a"]},
    },
}


def test_the_states_of_the_child_vary_fastest(tmp_path: Path) -> None:
    (tmp_path / "dog.xml").write_text(DOG)
    net = bk.read_network(tmp_path / "dog.xml")
    assert net.nodes == ("bowel", "family", "dog")
    table = net.table("dog")
    assert table.parents == ("bowel", "family")
    assert table.probabilities.tolist() == [[[0.99, 0.01], [0.97, 0.03]], [[0.9, 0.1], [0.3, 0.7]]]
    wanted = 0.01 * (0.15 * 0.99 + 0.85 * 0.97) + 0.99 * (0.15 * 0.9 + 0.85 * 0.3)
    assert net.query("dog")["out"] == pytest.approx(wanted)


@pytest.mark.parametrize("ending", ["bif", "xml", "xmlbif.gz", "bif.gz"])
def test_networks_of_levels_come_back_to_the_last_digit(tmp_path: Path, ending: str) -> None:
    rng = np.random.default_rng(0)
    rows = {"<a&b>": rng.choice(["x y", 'q"', "<5"], 99) if "xml" in ending else rng.choice(["x y", "<5"], 99)}
    rows |= {"c": rng.choice(["u", "v"], 99), "d": rng.choice(["1", "2", "3"], 99)}
    net = bk.Network([("<a&b>", "d"), ("c", "d"), ("c", "<a&b>")]).fit(rows)
    bk.write_network(net, tmp_path / f"n.{ending}")
    again = bk.read_network(tmp_path / f"n.{ending}")
    assert again.digest == net.digest
    bk.write_network(again, tmp_path / f"m.{ending}")
    assert (tmp_path / f"m.{ending}").read_bytes() == (tmp_path / f"n.{ending}").read_bytes()


def test_an_xml_parser_of_others_reads_what_is_written(tmp_path: Path) -> None:
    net = bk.Network([("a", "b")]).fit({"a": ["x", "y", "x"], "b": ["<1", "&", "<1"]})
    bk.write_network(net, tmp_path / "n.xml")
    root = ET.parse(tmp_path / "n.xml").getroot()
    assert [e.text for e in root.iter("OUTCOME")] == ["x", "y", "&", "<1"]
    numbers = [float(w) for w in root.findall(".//DEFINITION/TABLE")[1].text.split()]  # type: ignore[union-attr]
    assert numbers == net.table("b").probabilities.ravel().tolist()


def test_gaussian_networks_come_back_to_the_last_digit(tmp_path: Path) -> None:
    (tmp_path / "n.json").write_text(json.dumps(LINE))
    net = bk.read_network(tmp_path / "n.json")
    found = net.query("b")
    assert found.mean == pytest.approx(0.1 - 3.5 * 2)
    assert found.deviation**2 == pytest.approx(0.3 + 3.5**2 * 0.0853)
    assert net.query("a", {"b": -6.0}).mean == pytest.approx(2 - 3.5 * 0.0853 / (0.3 + 3.5**2 * 0.0853) * 0.9)
    bk.write_network(net, tmp_path / "m.json.gz")
    again = bk.read_network(tmp_path / "m.json.gz")
    assert again.digest == net.digest
    bk.write_network(again, tmp_path / "m.json")
    assert json.loads((tmp_path / "m.json").read_text()) == LINE


def broken(**changes: Any) -> str:
    return json.dumps({**LINE, **changes})


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("n.txt", "", "the ending says"),
        ("n.xml", "<BIF>", "not well-formed"),
        ("n.xml", "<a/>", "no BIF element"),
        ("n.xml", '<!DOCTYPE b [<!ENTITY e "eeee"> <!ENTITY f "&e;&e;">]><BIF>&f;</BIF>', "declares the entity 'e'"),
        ("n.xml", "<a>" * 40 + "</a>" * 40, "32 deep"),
        ("n.xml", DOG.replace("0.01 0.99", "0.01 0.9"), "add up to 0.91"),
        ("n.xml", DOG.replace("0.01 0.99", "0.01"), "1 entries, not 2"),
        ("n.xml", DOG.replace("0.01 0.99", "0.01 much"), "no number"),
        ("n.xml", DOG.replace("<FOR>bowel", "<FOR>bowels"), "'bowels'"),
        ("n.xml", DOG.replace("<OUTCOME>ill</OUTCOME>", "<OUTCOME>well</OUTCOME>"), "different outcomes"),
        ("n.xml", DOG.replace("<FOR>family", "<FOR>family</FOR><GIVEN>dog</GIVEN><FOR>x"), "2 parts FOR"),
        ("n.json", "{", "not JSON"),
        ("n.json", "[" * 100_000, "not JSON"),
        ("n.json", "[]", "no nodes and cpds"),
        ("n.json", '{"nodes": [], "nodes": []}', "stands twice"),
        ("n.json", broken(nodes=["a"]), "not the same"),
        ("n.json", broken(nodes=["a", 3]), "no name"),
        ("n.json", broken(arcs=[]), "arcs are not those"),
        ("n.json", broken(arcs=[["a"]]), "no arc"),
        ("n.json", json.dumps(LINE).replace("0.3", "NaN"), "NaN"),
        ("n.json", json.dumps(LINE).replace("0.3", "0"), "not above 0"),
        ("n.json", json.dumps(LINE).replace("0.3", '"0.3"'), "where a number is needed"),
        ("n.json", json.dumps(LINE).replace("-3.5", "1e999"), "where a number is needed"),
        ("n.json", json.dumps(LINE).replace('"a": [-3.5]', '"c": [-3.5]'), "coefficients of 'b'"),
    ],
)
def test_damaged_files_are_refused_with_their_reason(tmp_path: Path, name: str, text: str, told: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(NetworkError, match=told) as error:
        bk.read_network(tmp_path / name)
    assert name in str(error.value)


def test_what_a_format_does_not_know_is_refused(tmp_path: Path) -> None:
    mixed = bk.Network([("k", "x")]).fit({"k": ["a", "b"] * 5, "x": [float(i * i) for i in range(10)]})
    for ending in ("bif", "xml"):
        with pytest.raises(NetworkError, match="levels only, and 'x' is a number"):
            bk.write_network(mixed, tmp_path / f"n.{ending}")
    with pytest.raises(NetworkError, match="'k' has levels"):
        bk.write_network(mixed, tmp_path / "n.json")
    assert not list(tmp_path.iterdir())
