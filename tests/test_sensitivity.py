"""Answers as functions of one probability, the most probable explanations, relevance: against sums in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import log

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.errors import InputError, NetworkError

Tables = dict[str, dict[tuple[str, ...], dict[str, Fraction]]]
PARENTS = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c"), "e": ("d",)}
STATES = {"a": "012", "b": "01", "c": "012", "d": "01", "e": "01"}


def drawn(seed: int, zeros: bool = False) -> Tables:
    rng = np.random.default_rng(seed)
    found: Tables = {}
    for node, parents in PARENTS.items():
        found[node] = {}
        for given in product(*(STATES[p] for p in parents)):
            parts = [Fraction(int(n)) for n in rng.integers(0 if zeros else 1, 9, len(STATES[node]))]
            parts[0] += not sum(parts)
            found[node][given] = {s: p / sum(parts) for s, p in zip(STATES[node], parts, strict=True)}
    return found


def network(tables: Tables) -> bk.Network:
    edges = [(p, n) for n, parents in PARENTS.items() for p in parents]
    given = {
        node: {(k[0] if len(k) == 1 else k): {s: float(p) for s, p in line.items()} for k, line in lines.items()}
        for node, lines in tables.items()
    }
    return bk.Network(
        edges, {n: lines.get((), lines) for n, lines in given.items()}, {n: list(s) for n, s in STATES.items()}
    )


def joint(tables: Tables) -> dict[tuple[str, ...], Fraction]:
    """P of all states, by the product of the tables."""
    found = {}
    for states in product(*STATES.values()):
        at = dict(zip(STATES, states, strict=True))
        p = Fraction(1)
        for node, parents in PARENTS.items():
            p *= tables[node][tuple(at[q] for q in parents)][at[node]]
        found[states] = p
    return found


def ask(tables: Tables, target: str, state: str, evidence: dict[str, str]) -> Fraction:
    names = list(STATES)
    hit = whole = Fraction(0)
    for states, p in joint(tables).items():
        at = dict(zip(names, states, strict=True))
        if all(at[n] == s for n, s in evidence.items()):
            whole += p
            hit += p * (at[target] == state)
    return hit / whole


@pytest.mark.parametrize(("seed", "evidence"), [(0, {}), (1, {"e": "1"}), (2, {"e": "0", "c": "2"})])
def test_every_function_is_that_of_fractions(seed: int, evidence: dict[str, str]) -> None:
    tables = drawn(seed)
    found = network(tables).sensitivity("b", "1", evidence)
    assert found.answer == pytest.approx(float(ask(tables, "b", "1", evidence)), rel=1e-12)
    for p in found.parameters:
        key = tuple(p.parents[q] for q in PARENTS[p.node])
        line = tables[p.node][key]
        assert p.value == float(line[p.state])
        for t in (Fraction(0), Fraction(1, 3), Fraction(1)):
            rest = {s: q * (1 - t) / (1 - line[p.state]) for s, q in line.items()}
            changed = {**tables, p.node: {**tables[p.node], key: {**rest, p.state: t}}}
            assert p(float(t)) == pytest.approx(float(ask(changed, "b", "1", evidence)), abs=1e-12), p.name
        step = 1e-6
        slope = (p(p.value + step) - p(p.value - step)) / (2 * step)
        assert p.derivative == pytest.approx(slope, abs=1e-7)
    if not evidence:  # every cell lies strictly between 0 and 1
        assert len(found.parameters) == sum(len(line) for table in tables.values() for line in table.values())
    ends = np.abs([high - low for low, high in map(found.range_of, found.parameters)])
    assert (np.diff(ends) <= 1e-12).all()
    assert found.frame().num_rows == len(found.parameters)
    shown = found.plot(most=5).frame().to_pydict()
    ends = {p.name: found.range_of(p) for p in found.parameters}
    assert [(low, high) for low, high in zip(shown["low"], shown["high"], strict=True)] == [
        pytest.approx(ends[name]) for name in shown["name"]
    ]
    assert sum(name.startswith("P(e=") for name in shown["name"]) <= 2  # two lines of two states


def test_certain_cells_stay_and_bad_questions_are_refused() -> None:
    net = network(drawn(3, zeros=True))
    assert all(0 < p.value < 1 for p in net.sensitivity("e", "1").parameters)
    with pytest.raises(InputError, match="'b' is in the evidence"):
        net.sensitivity("b", "1", {"b": "0"})
    with pytest.raises(InputError, match="no state 'x'"):
        net.sensitivity("b", "x")
    with pytest.raises(InputError, match="odds=1"):
        net.sensitivity("b", "1", odds=1)
    with pytest.raises(InputError, match="likelihoods"):
        net.sensitivity("b", "1", {"e": {"0": 0.5, "1": 1.0}})
    with pytest.raises(InputError, match="t=2"):
        net.sensitivity("b", "1").parameters[0](2)
    with pytest.raises(NetworkError, match="no node is named 'q'"):
        net.sensitivity("q", "1")


@pytest.mark.parametrize(("seed", "zeros", "evidence"), [(0, False, {}), (4, True, {"d": "1"}), (5, False, {"a": "2"})])
def test_the_most_probable_explanations_are_those_of_all_states(
    seed: int, zeros: bool, evidence: dict[str, str]
) -> None:
    tables = drawn(seed, zeros)
    names = list(STATES)
    every = {
        states: p
        for states, p in joint(tables).items()
        if p and all(states[names.index(n)] == s for n, s in evidence.items())
    }
    whole = sum(every.values())
    wanted = sorted((float(p / whole) for p in every.values()), reverse=True)
    net = network(tables)
    for k in (1, 7, 1000):
        found = net.most_probable(evidence, k=k)
        assert [p for _, p in found] == pytest.approx(wanted[:k], rel=1e-9)
        for states, p in found:
            assert p == pytest.approx(float(every[tuple(str(states[n]) for n in names)] / whole), rel=1e-9)
        assert len({tuple(s.items()) for s, _ in found}) == len(found) == min(k, len(every))
    assert net.most_probable(evidence) == found[0][0]
    with pytest.raises(InputError, match="k=0"):
        net.most_probable(k=0)


def test_relevance_is_information_by_hand() -> None:
    tables = drawn(6)
    found = network(tables).relevance("b", {"e": "1"})
    assert set(found) == set("acde")
    assert list(found.values()) == sorted(found.values(), reverse=True)
    now, without = ({s: float(ask(tables, "b", s, given)) for s in "01"} for given in ({"e": "1"}, {}))
    assert found["e"] == pytest.approx(sum(now[s] * log(now[s] / without[s]) for s in "01"), rel=1e-9)
    information = 0.0
    for state in STATES["c"]:
        share = float(ask(tables, "c", state, {"e": "1"}))
        given = {s: float(ask(tables, "b", s, {"e": "1", "c": state})) for s in "01"}
        information += share * sum(given[s] * log(given[s] / now[s]) for s in "01")
    assert found["c"] == pytest.approx(information, rel=1e-9)
    with pytest.raises(InputError, match="'b' is in the evidence"):
        network(tables).relevance("b", {"b": "0"})
