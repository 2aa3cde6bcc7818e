"""Worked example C4: a belief network of lung cancer, and the ways to train it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk

EDGES = [
    ("FamilyHistory", "LungCancer"),
    ("Smoker", "LungCancer"),
    ("LungCancer", "PositiveXRay"),
    ("LungCancer", "Cough"),
]
YES = {("yes", "yes"): 0.8, ("yes", "no"): 0.5, ("no", "yes"): 0.7, ("no", "no"): 0.1}  # of LungCancer
TABLES = {
    "FamilyHistory": {"yes": 0.3, "no": 0.7},
    "Smoker": {"yes": 0.4, "no": 0.6},
    "LungCancer": {given: {"yes": p, "no": 1 - p} for given, p in YES.items()},
    "PositiveXRay": {"yes": {"yes": 0.9, "no": 0.1}, "no": {"yes": 0.2, "no": 0.8}},
    "Cough": {"yes": {"yes": 0.7, "no": 0.3}, "no": {"yes": 0.3, "no": 0.7}},
}


@pytest.fixture(scope="module")
def network() -> bk.Network:
    return bk.Network(EDGES, TABLES)


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """20,000 people, drawn by NumPy alone."""
    rng, n = np.random.default_rng(4), 20_000
    history, smoker = rng.random(n) < 0.3, rng.random(n) < 0.4
    cancer = rng.random(n) < np.select([history & smoker, history, smoker], [0.8, 0.5, 0.7], 0.1)
    xray = rng.random(n) < np.where(cancer, 0.9, 0.2)
    cough = rng.random(n) < np.where(cancer, 0.7, 0.3)
    columns = {"FamilyHistory": history, "Smoker": smoker, "LungCancer": cancer, "PositiveXRay": xray, "Cough": cough}
    return pd.DataFrame({name: np.where(values, "yes", "no") for name, values in columns.items()})


def recovered(net: bk.Network, rows: float) -> None:
    """P(LungCancer | parents) within five standard errors, given so many rows that tell it."""
    shares = {("yes", "yes"): 0.12, ("yes", "no"): 0.18, ("no", "yes"): 0.28, ("no", "no"): 0.42}
    for (history, smoker), p in YES.items():
        found = net.query("LungCancer", {"FamilyHistory": history, "Smoker": smoker})["yes"]
        assert abs(found - p) < 5 * np.sqrt(p * (1 - p) / (rows * shares[history, smoker]))


def test_c4_the_table_of_lung_cancer(network: bk.Network) -> None:
    assert network.query("LungCancer", {"FamilyHistory": "yes", "Smoker": "yes"})["yes"] == pytest.approx(0.8)
    assert network.query("LungCancer", {"FamilyHistory": "no", "Smoker": "no"})["no"] == pytest.approx(0.9)


def test_c4_the_joint_probability_is_the_product_over_parents(network: bk.Network) -> None:
    state = {"FamilyHistory": "yes", "Smoker": "no", "LungCancer": "yes", "PositiveXRay": "yes", "Cough": "no"}
    assert network.probability(state) == pytest.approx(0.3 * 0.6 * 0.5 * 0.9 * 0.3, rel=1e-14)


def test_c4_x_rays_depend_on_history_only_through_the_cancer(network: bk.Network) -> None:
    assert network.d_separated("PositiveXRay", ["FamilyHistory", "Smoker"], "LungCancer")
    with_history = network.query("PositiveXRay", {"LungCancer": "no", "FamilyHistory": "yes"})
    assert with_history["yes"] == pytest.approx(0.2)


def test_c4_known_structure_all_observed_is_counting(rows: pd.DataFrame) -> None:
    net = bk.Network(EDGES).fit(rows, smoothing=0)
    recovered(net, len(rows))
    both = rows[(rows.FamilyHistory == "yes") & (rows.Smoker == "yes")]
    found = net.query("LungCancer", {"FamilyHistory": "yes", "Smoker": "yes"})["yes"]
    assert found == pytest.approx((both.LungCancer == "yes").mean(), rel=1e-14)


@pytest.mark.parametrize("method", ["gradient", "em"])
def test_c4_cancer_known_of_few(rows: pd.DataFrame, method: str) -> None:
    """Of every fourth person only is it known; the others still tell of X-rays and coughs."""
    few = rows.copy()
    few.loc[np.arange(len(few)) % 4 != 0, "LungCancer"] = None
    recovered(bk.Network(EDGES).fit(few, method=method, smoothing=0), len(rows) / 4)


@pytest.mark.parametrize("method", ["gradient", "em"])
def test_c4_hidden_cancer(rows: pd.DataFrame, network: bk.Network, method: str) -> None:
    """Nobody noted the cancer: its states have no names, and no tables explain the rest better."""
    seen = rows.drop(columns="LungCancer")
    net = bk.Network(EDGES, states={"LungCancer": 2}).fit(seen, method=method, smoothing=0, restarts=3, random_state=1)
    gain = net.log_likelihood(seen) - network.log_likelihood(seen)
    assert 0 < gain < 30  # ten free numbers gain about five
    pairs = [("FamilyHistory", "PositiveXRay"), ("Smoker", "Cough"), ("PositiveXRay", "Cough")]
    for a, b in pairs:
        share = ((seen[a] == "yes") & (seen[b] == "yes")).mean()
        assert net.query([a, b])[("yes", "yes")] == pytest.approx(share, abs=0.01)
