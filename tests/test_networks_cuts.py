"""Numbers of a network as intervals: a number is never a level unless it is declared, and finds its interval."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

import bayeskit as bk
from bayeskit.errors import InputError, MergeError, SchemaError

EDGES = [("grower", "alcohol"), ("alcohol", "hue"), ("grower", "hue")]
CUTS = {"alcohol": [12.5, 13.5], "hue": [0.9]}


@pytest.fixture(scope="module")
def wine() -> pd.DataFrame:
    found = load_wine(as_frame=True)
    return found.data[["alcohol", "hue"]].assign(grower=found.target.map({0: "A", 1: "B", 2: "C"}))


def cut_by_pandas(wine: pd.DataFrame) -> pd.DataFrame:
    """The same table with intervals as texts, by pandas alone."""
    out = wine.copy()
    for name, cuts in CUTS.items():
        ends = ["-inf", *map(str, cuts), "inf"]
        names = [f"({a}, {b}{')' if b == 'inf' else ']'}" for a, b in pairwise(ends)]
        out[name] = pd.cut(wine[name], [-np.inf, *cuts, np.inf], labels=names).astype(str)
    return out


@pytest.mark.parametrize("method", ["counts", "em"])
def test_given_cuts_count_what_pandas_cuts(wine: pd.DataFrame, method: str) -> None:
    mine = bk.Network(EDGES).fit(wine, method, cuts=CUTS)
    theirs = bk.Network(EDGES, states={n: mine.states(n) for n in CUTS}).fit(cut_by_pandas(wine), method)
    for node in mine.nodes:
        assert mine.states(node) == theirs.states(node)
        assert mine.table(node).probabilities == pytest.approx(theirs.table(node).probabilities, abs=1e-12)
    number, name = {"alcohol": 13.5, "hue": 0.91}, {"alcohol": "(12.5, 13.5]", "hue": "(0.9, inf)"}
    assert mine.query("grower", number) == theirs.query("grower", name)
    assert mine.predict_proba(wine, "grower") == pytest.approx(theirs.predict_proba(cut_by_pandas(wine), "grower"))
    assert mine.predict_proba(cut_by_pandas(wine), "grower") == pytest.approx(mine.predict_proba(wine, "grower"))


def test_cuts_of_equal_weight_have_the_weight_pandas_finds(wine: pd.DataFrame) -> None:
    net = bk.Network(nodes=list(wine)).fit(wine, cuts=4, smoothing=0)
    share = net.table("alcohol").probabilities
    quartiles = pd.qcut(wine["alcohol"], 4).value_counts(normalize=True, sort=False)
    assert share == pytest.approx(quartiles.to_numpy(), abs=2 / len(wine))
    assert len(bk.learn_network(wine, cuts="frequency").states("hue")) == round(len(wine) ** (1 / 3))


def test_mdlp_needs_a_label_and_cuts_as_the_discretizer(wine: pd.DataFrame) -> None:
    net = bk.learn_network(wine, cuts="mdlp", label="grower")
    found = bk.Discretizer(method="mdlp").fit(wine[["alcohol", "hue"]], wine["grower"])
    for name in CUTS:
        mine = np.array(net.network_.cuts[name])
        edges = np.searchsorted(np.sort(wine[name]), [mine, np.array(found.cuts_[name])], side="right")
        assert (edges[0] == edges[1]).all()  # between the same values
    with pytest.raises(InputError, match='label="diagnosis"'):
        bk.learn_network(wine, cuts="mdlp")


def test_learning_forgetting_and_files_keep_the_cuts(wine: pd.DataFrame, tmp_path: Path) -> None:
    whole = bk.Network(EDGES).fit(wine, cuts=CUTS)
    first = bk.Network(EDGES).fit(wine[:100], cuts=CUTS)
    first.save(tmp_path / "n.bayes")
    loaded = bk.load(tmp_path / "n.bayes")
    assert loaded.partial_fit(wine[100:]).digest == whole.digest
    assert loaded.forget(wine[100:]).digest == first.digest
    assert first.merge(bk.Network(EDGES).fit(wine[100:], cuts=CUTS)).digest == whole.digest
    with pytest.raises(MergeError, match="cut differently"):
        first.merge(bk.Network(EDGES).fit(wine[100:], cuts=3))
    again = bk.Network(EDGES).fit(wine, cuts=3).fit(wine, cuts=CUTS)
    assert again.digest == whole.digest


def test_missing_numbers_are_summed_out(wine: pd.DataFrame) -> None:
    net = bk.Network(EDGES).fit(wine, cuts=CUTS)
    hole = net.predict_proba(pd.DataFrame({"alcohol": [np.nan], "hue": [1.0]}), "grower")[0]
    assert hole == pytest.approx(list(net.query("grower", {"hue": 1.0}).values()))
    assert net.query("grower", {"alcohol": float("nan")}) == net.query("grower")


@pytest.mark.parametrize(
    ("settings", "error", "told"),
    [
        ({"cuts": "halves"}, InputError, "'halves': choose"),
        ({"cuts": True}, InputError, "True: choose"),
        ({"cuts": 1}, InputError, "2 to 1000"),
        ({"cuts": {"grower": 3}}, SchemaError, "'grower', which is nominal"),
        ({"cuts": {"colour": 3}}, SchemaError, "'colour'"),
        ({"cuts": [3, 1]}, InputError, "ascending"),
        ({"cuts": "mdlp", "label": "hue"}, InputError, "no column of levels"),
        ({"cuts": 3, "label": "grower"}, InputError, "mdlp"),
    ],
)
def test_bad_cuts_are_refused_by_name(
    wine: pd.DataFrame, settings: dict[str, object], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        bk.Network(EDGES).fit(wine, **settings)


def test_numbers_without_cuts_are_no_levels(wine: pd.DataFrame) -> None:
    net = bk.learn_network(wine)
    assert net.network_.numbers == ("alcohol", "hue")
    assert str(net.schema_).count("linear normal") == 2
    assert bk.learn_network(wine, kinds={"alcohol": "nominal"}).network_.numbers == ("hue",)
