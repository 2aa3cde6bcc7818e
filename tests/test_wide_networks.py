"""Rows of which each leaves other nodes open, and networks too wide for memory, against enumeration in fractions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit import _core
from bayeskit.errors import ImpossibleEvidence, InputError, NetworkError
from bayeskit.networks import compiler, inference
from bayeskit.networks.inference import Inference
from enumeration import Enumeration, networks


def rows_of(net: bk.Network, seed: int, rows: int, share: float = 0.5) -> np.ndarray:
    """Codes (rows, nodes) by chance, possible or not, -1 where missing."""
    rng, value = np.random.default_rng(seed), net.network_
    codes = np.column_stack([rng.integers(value.sizes[n], size=rows) for n in value.nodes]).astype(np.int32)
    codes[rng.random(codes.shape) < share] = -1
    return codes


def check(by_hand: Enumeration, codes: np.ndarray, target: str, p: np.ndarray, logs: np.ndarray) -> None:
    names = list(by_hand.states)
    for row, mine, log in zip(codes, p, logs, strict=True):
        evidence = {n: by_hand.states[n][c] for n, c in zip(names, row, strict=True) if c >= 0}
        weight = by_hand.weight(evidence)
        if weight == 0:
            assert log == -np.inf
            assert np.isnan(mine).all()
        else:
            assert log == pytest.approx(np.log(float(weight)), abs=1e-11)
            assert mine == pytest.approx([float(x) for x in by_hand.posterior(target, evidence).values()], abs=1e-12)


@given(networks(most=5), st.integers(0, 99), st.data())
@settings(max_examples=25, deadline=None)
def test_an_order_for_each_row_gives_the_answers_of_enumeration(
    by_hand: Enumeration, seed: int, data: st.DataObject
) -> None:
    net = by_hand.network()
    inside = Inference(net.network_)
    codes = rows_of(net, seed, 8)
    target = data.draw(st.integers(0, len(net.nodes) - 1))
    p, logs = np.empty((8, net.network_.sizes[net.nodes[target]])), np.empty(8)
    state = np.ones(8, dtype=np.int32)
    targets = np.array([target], dtype=np.int32)
    _core.eliminate_rows(codes, *inside.numbered.arrays, targets, 1e6, p, logs, state)
    assert not state.any()
    check(by_hand, codes, net.nodes[target], p, logs)


@given(networks(most=4), st.integers(0, 99), st.data())
@settings(max_examples=100, deadline=None)
def test_a_network_too_wide_is_asked_given_states_in_turn(by_hand: Enumeration, seed: int, data: st.DataObject) -> None:
    """With hardly any memory every answer is put together of the states of other nodes, rows of one pattern or many."""
    net, target = by_hand.network(), data.draw(st.sampled_from(list(by_hand.states)))
    codes = rows_of(net, seed, 6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inference, "ORDERING", float("inf"))
        little = Inference(net.network_, compiler.MESSAGE_BYTES * net.network_.sizes[target] * 2)
        p, logs = little.joint(np.ascontiguousarray(codes.T), [target])
    check(by_hand, codes, target, p, logs)


def grid(side: int, memory: str | None = None) -> bk.Network:
    """Two states each; every node hangs on the one above it and the one to its left."""
    rng = np.random.default_rng(0)
    names = {(i, j): f"n{i}_{j}" for i in range(side) for j in range(side)}
    edges = [(names[i - 1, j], n) for (i, j), n in names.items() if i]
    edges += [(names[i, j - 1], n) for (i, j), n in names.items() if j]
    tables = {}
    for (i, j), n in names.items():
        above = (i > 0) + (j > 0)
        p = {key: rng.uniform(0.1, 0.9) for key in product("ab", repeat=above)}
        rows = {key: {"a": x, "b": 1 - x} for key, x in p.items()}
        tables[n] = rows if above == 2 else {k[0]: v for k, v in rows.items()} if above else rows[()]
    return bk.Network(edges, tables, nodes=list(names.values()), memory=memory)


def test_less_memory_changes_no_answer_and_too_little_time_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    net, last = grid(6), "n5_5"
    evidence = {"n4_4": "a", "n5_0": "b"}
    whole = net.query(last, evidence)
    little = grid(6, memory="2.4KB")
    split = little.query(last, evidence)
    assert split == pytest.approx(whole, abs=1e-12)
    assert len(little._inference.levels.splits) > 0
    assert little.probability(evidence) == pytest.approx(net.probability(evidence), rel=1e-12)
    monkeypatch.setattr(inference, "MOST_WORK", 1e4)
    with pytest.raises(NetworkError, match=r"GiB\) and .* products for each row, most of them around 'n\d_\d'"):
        grid(6, memory="2.4KB").query(last, evidence)
    with pytest.raises(InputError, match="memory='much': give a size such as 512MB"):
        bk.Network(memory="much")


@given(networks(most=5), st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_the_observations_that_cannot_be_together_are_named_and_no_others(by_hand: Enumeration, seed: int) -> None:
    net = by_hand.network()
    for row in rows_of(net, seed, 8):
        evidence = {n: s[c] for (n, s), c in zip(by_hand.states.items(), row.tolist(), strict=True) if c >= 0}
        if by_hand.weight(evidence) == 0:
            with pytest.raises(ImpossibleEvidence, match="cannot be") as refused:
                net.most_probable(evidence)
            said = str(refused.value).split("network: ")[1].split(" cannot be")[0]
            named = {n: state for n, state in evidence.items() if f"{n!r} = {state!r}" in said.split(" and ")}
            assert len(named) == said.count("=")
            assert by_hand.weight(named) == 0
            assert all(by_hand.weight({m: s for m, s in named.items() if m != n}) > 0 for n in named)


def test_rows_that_leave_much_open_are_answered_beside_those_that_leave_little(monkeypatch: pytest.MonkeyPatch) -> None:
    net = grid(12)  # 144 nodes
    X = net.sample(40, random_state=0)
    X = X.mask(np.random.default_rng(1).random(X.shape) < np.linspace(0, 1, 40)[:, None])
    monkeypatch.setattr(inference, "MOST_OF_ROW", 500.0)
    p = net.predict_proba(X, "n6_6")
    monkeypatch.setattr(inference, "ORDERING", float("inf"))
    again = grid(12)
    assert p == pytest.approx(again.predict_proba(X, "n6_6"), abs=1e-12)
    assert net.log_evidence(X) == pytest.approx(again.log_evidence(X), abs=1e-9)


def test_what_cannot_be_is_refused_with_node_and_state() -> None:
    rows = {"x": {"u": 0.5, "v": 0.4}, "y": {"u": 0.5, "v": 0.5}}
    with pytest.raises(NetworkError, match=r"'b' for 'a' in the state 'x' add up to 0\.9, not to 1"):
        bk.Network([("a", "b")], {"a": {"x": 0.5, "y": 0.5}, "b": rows})
    x = np.random.default_rng(0).normal(size=50)
    with pytest.raises(NetworkError, match="'p' is an exact linear function of 'r'"):
        bk.learn_network({"p": x, "q": x**2, "r": 3 - 2 * x})
