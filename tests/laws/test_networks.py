"""Laws of inference in networks: every answer equals enumeration in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit import _core
from bayeskit.networks.inference import Inference
from enumeration import Enumeration, networks


def some_evidence(data: st.DataObject, exact: Enumeration) -> dict[str, str]:
    state = data.draw(st.sampled_from([s for s, p in exact.joint if p]))
    shown = data.draw(st.sets(st.sampled_from(sorted(state))))
    return {n: state[n] for n in shown}


@settings(max_examples=150, deadline=None)
@given(networks(), st.data())
def test_posterior_is_enumeration(exact: Enumeration, data: st.DataObject) -> None:
    net, evidence = exact.network(), some_evidence(data, exact)
    for target in net.nodes:
        wanted = exact.posterior(target, evidence)
        assert net.query(target, evidence) == pytest.approx({s: float(p) for s, p in wanted.items()}, abs=1e-13)
    assert net.probability(evidence) == pytest.approx(float(exact.weight(evidence)), rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(networks(), st.data())
def test_marginals_of_all_nodes_are_enumeration(exact: Enumeration, data: st.DataObject) -> None:
    net, evidence = exact.network(), some_evidence(data, exact)
    for node, found in net.marginals(evidence).items():
        wanted = exact.posterior(node, evidence)
        assert found == pytest.approx({s: float(p) for s, p in wanted.items()}, abs=1e-13)


@settings(max_examples=60, deadline=None)
@given(networks(), st.data())
def test_joint_of_two_is_enumeration(exact: Enumeration, data: st.DataObject) -> None:
    net, evidence = exact.network(), some_evidence(data, exact)
    a, b = data.draw(st.permutations(net.nodes))[:2] if len(net.nodes) > 1 else (net.nodes[0],) * 2
    if a == b:
        return
    total = exact.weight(evidence)
    for (one, two), p in net.query([a, b], evidence).items():
        clash = evidence.get(a, one) != one or evidence.get(b, two) != two
        wanted = Fraction(0) if clash else exact.weight({**evidence, a: one, b: two}) / total
        assert p == pytest.approx(float(wanted), abs=1e-13)


@settings(max_examples=60, deadline=None)
@given(networks(), st.data())
def test_soft_evidence_is_a_virtual_child(exact: Enumeration, data: st.DataObject) -> None:
    net = exact.network()
    node, target = data.draw(st.sampled_from(net.nodes)), data.draw(st.sampled_from(net.nodes))
    likelihood = {s: data.draw(st.integers(1, 9)) for s in exact.states[node]}
    weights = {s: sum((p * likelihood[state[node]] for state, p in exact.joint if state[target] == s), Fraction(0))
               for s in exact.states[target]}  # fmt: skip
    wanted = {s: float(w / sum(weights.values())) for s, w in weights.items()}
    assert net.query(target, {node: likelihood}) == pytest.approx(wanted, abs=1e-13)


@settings(max_examples=60, deadline=None)
@given(networks(), st.data())
def test_most_probable_state_is_the_best_of_all(exact: Enumeration, data: st.DataObject) -> None:
    net, evidence = exact.network(), some_evidence(data, exact)
    found = net.most_probable(evidence)
    assert {n: found[n] for n in evidence} == evidence
    assert exact.weight(found) == pytest.approx(exact.best(evidence), rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(networks(), st.data())
def test_a_batch_with_holes_is_its_rows(exact: Enumeration, data: st.DataObject) -> None:
    """Whether rows share one plan, or each missing pattern has its own, the answers are those of enumeration."""
    net = exact.network()
    patch = pytest.MonkeyPatch()
    patch.setattr("bayeskit.networks.inference.COMPILING", data.draw(st.sampled_from([0, 40_000, 1 << 60])))
    rows = [some_evidence(data, exact) for _ in range(data.draw(st.integers(1, 40)))]
    target = data.draw(st.sampled_from(net.nodes))
    table = [{n: row.get(n) for n in net.nodes} for row in rows]
    found = net.predict_proba(table, target)
    for row, p in zip(rows, found, strict=True):
        known = {n: s for n, s in row.items() if n != target}
        assert p == pytest.approx([float(x) for x in exact.posterior(target, known).values()], abs=1e-13)
    patch.undo()
    logs = [math.log(exact.weight(row)) for row in rows]
    assert net.log_evidence(table) == pytest.approx(logs, abs=1e-11)
    assert net.log_likelihood(table) == pytest.approx(sum(logs), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(networks(most=5), st.data())
def test_expected_counts_are_posteriors_of_families(exact: Enumeration, data: st.DataObject) -> None:
    net, evidence = exact.network(), some_evidence(data, exact)
    value = net.network_
    codes = np.array([[-1 if n not in evidence else value.code(n, evidence[n])] for n in net.nodes], dtype=np.int32)
    counts, _ = Inference(value).expect_counts(np.repeat(codes, 3, axis=1), np.array([1.0, 0.5, 0.0]))
    begin = 0
    for node in net.nodes:
        table = value.tables[node].probabilities
        part = counts[begin : begin + table.size].reshape(table.shape)
        begin += table.size
        for place in np.ndindex(table.shape):
            family = value.graph.family(node)
            state = {n: value.states(n)[k] for n, k in zip(family, place, strict=True)}
            clash = any(evidence.get(n, s) != s for n, s in state.items())
            wanted = 0.0 if clash else 1.5 * float(exact.weight({**evidence, **state}) / exact.weight(evidence))
            assert part[place] == pytest.approx(wanted, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(networks(zeros=False), st.data())
def test_d_separation_holds_in_the_numbers(exact: Enumeration, data: st.DataObject) -> None:
    net = exact.network()
    if len(net.nodes) < 2:
        return
    a, b, *rest = data.draw(st.permutations(net.nodes))
    given = rest[: data.draw(st.integers(0, len(rest)))]
    if not net.d_separated(a, b, given):
        return
    state = data.draw(st.sampled_from([s for s, _ in exact.joint]))
    known = {n: state[n] for n in given}
    assert exact.posterior(a, known) == exact.posterior(a, {**known, b: state[b]})


@settings(max_examples=30, deadline=None)
@given(networks(zeros=False), st.data())
def test_markov_blanket_screens_off_everything_else(exact: Enumeration, data: st.DataObject) -> None:
    net = exact.network()
    node = data.draw(st.sampled_from(net.nodes))
    blanket = net.markov_blanket(node)
    state = data.draw(st.sampled_from([s for s, _ in exact.joint]))
    near = {n: state[n] for n in blanket}
    assert exact.posterior(node, near) == exact.posterior(node, {n: s for n, s in state.items() if n != node})


@settings(max_examples=25, deadline=None)
@given(networks())
def test_files_give_networks_back(exact: Enumeration) -> None:
    import tempfile
    from pathlib import Path

    net = exact.network()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a.bif", "a.bif.gz"):
            bk.write_bif(net, Path(folder) / name)
            assert bk.read_bif(Path(folder) / name).network_ == net.network_
        net.save(Path(folder) / "a.bayes")
        assert bk.load(Path(folder) / "a.bayes").network_ == net.network_


def chain(length: int) -> bk.Network:
    """x0 -> x1 -> ..., each like its parent with probability 0.9."""
    tables: dict[str, object] = {"x0": {0: 0.5, 1: 0.5}}
    tables |= {f"x{i}": {0: {0: 0.9, 1: 0.1}, 1: {0: 0.1, 1: 0.9}} for i in range(1, length)}
    return bk.Network([(f"x{i}", f"x{i + 1}") for i in range(length - 1)], tables)


@pytest.mark.parametrize("seen", [1.0, 0.5])
def test_long_products_do_not_underflow(seen: float) -> None:
    """P(row) of 2000 alternating nodes is 10^-1999 and less; the logarithm and the posterior stay right."""
    length = 2001
    net = chain(length)
    shown = np.random.default_rng(0).random(length) < seen
    row = {f"x{i}": i % 2 for i in range(length) if shown[i] and i != 1000}
    at = sorted(int(n[1:]) for n in row)
    change = Fraction(1, 10)

    def moved(gap: int) -> tuple[float, float]:  # P(same), P(other) after so many steps
        drift = float((1 - 2 * change) ** gap)
        return (1 + drift) / 2, (1 - drift) / 2

    wanted = math.log(0.5) + sum(math.log(moved(b - a)[(a + b) % 2]) for a, b in pairwise(at))
    assert net.log_evidence([row])[0] == pytest.approx(wanted, rel=1e-12)
    before, after = max(i for i in at if i < 1000), min(i for i in at if i > 1000)
    weights = [moved(1000 - before)[(before + s) % 2] * moved(after - 1000)[(after + s) % 2] for s in (0, 1)]
    assert net.query("x1000", row)[0] == pytest.approx(weights[0] / sum(weights), rel=1e-9)


def test_every_clone_gives_the_same_bits() -> None:
    net = chain(30)
    X = net.sample(333, random_state=3)
    codes = np.array([[net.network_.code(n, v) for v in X[n]] for n in net.nodes], dtype=np.int32)
    codes[np.random.default_rng(4).random(codes.shape) < 0.4] = -1
    before, results = _core.clone(), []
    try:
        for name in _core.clones():
            _core.use_clone(name)
            inference = Inference(net.network_)
            whole = inference.joint(codes, ["x7"])
            alone = [inference.joint(np.ascontiguousarray(codes[:, i : i + 1]), ["x7"]) for i in range(3)]
            counts, _ = inference.expect_counts(codes, None)
            results.append((whole[0].tobytes(), whole[1].tobytes(), counts.tobytes()))
            for i, (p, _) in enumerate(alone):
                assert p[0] == pytest.approx(whole[0][i], rel=1e-13)
    finally:
        _core.use_clone(before)
    assert len(set(results)) == 1


def test_programs_that_leave_their_arrays_are_refused() -> None:
    """The core checks every op of a program before it runs one."""
    codes, tables = np.zeros((2, 3), dtype=np.int32), np.ones(4)
    out, exponent = np.empty((1, 3)), np.empty(3)
    bad = [
        [6, 0, 9, 0, 2, -1],  # an indicator beyond the arena
        [6, 0, 0, 5, 2, -1],  # of a column that is not there
        [6, 0, 0, 0, 2, 0],  # with a likelihood that is not there
        [9, 1, 0, 3, 0, 1, 0, 2, 2],  # a gather beyond the tables
        [11, 2, 0, 0, 3, 0, 0, 1, 0, 2, 1],  # a step beyond the tables
        [11, 2, 0, 0, 3, 0, 0, 1, 1, -1, 1],  # a negative offset
        [11, 2, 0, 0, 3, 0, 0, 40, 1, 0, 1],  # more inputs than words
        [0, 2],
        [7, 3, 0, 0, 0, 0, 0],
    ]
    for words in bad:
        with pytest.raises(ValueError, match=r"\w+"):
            _core.propagate(np.array(words, dtype=np.int64), tables, 4, 0, codes, None, 8, False, out, exponent)
