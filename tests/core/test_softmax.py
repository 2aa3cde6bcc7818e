"""Softmax: exact to the last digits, never NaN."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from bayeskit import _core as core

from .memory import BEST, CLONES, INF
from .sums import ulps


def softmax_all(joint: np.ndarray, log: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """Runs all clones and checks that they agree to the bit."""
    found: list[tuple[bytes, bytes, int]] = []
    for name in CLONES:
        core.use_clone(name)
        out, evidence = joint.copy(), np.empty(len(joint))
        n = core.softmax(out, log, evidence)
        again = joint.copy()
        assert core.softmax(again, log, None) == n
        assert again.tobytes() == out.tobytes()
        beside = np.empty_like(joint)
        assert core.softmax(np.asfortranarray(joint), log, None, beside) == n
        assert beside.tobytes() == out.tobytes()
        found.append((out.tobytes(), evidence.tobytes(), n))
    core.use_clone(BEST)
    assert all(f == found[0] for f in found)
    return out, evidence, n


@pytest.mark.parametrize("classes", [1, 2, 3, 5, 8, 17, 300, 3000])
def test_softmax(classes: int) -> None:
    rng = np.random.default_rng(12)
    n = 200 if classes < 100 else 20
    joint = rng.normal(size=(n, classes)) * rng.choice([1, 30, 600], (n, 1)) - rng.choice([0, 1e4], (n, 1))
    joint[rng.random(joint.shape) < 0.1] = -INF
    joint[3] = -INF
    proba, evidence, impossible = softmax_all(joint, False)
    logs, _, _ = softmax_all(joint, True)
    none = np.isneginf(joint).all(axis=1)
    assert impossible == none.sum()
    assert np.isneginf(evidence[none]).all()
    assert np.isneginf(proba[none]).all()
    assert np.isneginf(logs[none]).all()
    assert (proba[~none][np.isneginf(joint[~none])] == 0).all()
    for i in np.flatnonzero(~none)[:20]:
        assert abs(math.fsum(proba[i]) - 1) <= 4 * 2**-52
        top = max(joint[i])
        with mpmath.workdps(60):
            terms = [mpmath.exp(mpmath.mpf(v)) if v > -INF else mpmath.mpf(0) for v in joint[i].tolist()]
            total = mpmath.fsum(terms)
            lse = mpmath.log(total)
            assert ulps(float(evidence[i]), lse) <= 1.5 or abs(float(evidence[i]) - lse) < 3e-16 * max(1, abs(top))
            for k in range(min(classes, 40)):
                if joint[i, k] > -INF:
                    p = terms[k] / total
                    # the difference to the top is rounded once, which moves exp by |difference| * 2^-53
                    slack = 3 + abs(joint[i, k] - top) * 1.01
                    assert ulps(float(proba[i, k]), p) <= slack
                    assert abs(logs[i, k] - mpmath.log(p)) <= 2**-52 * (2 + abs(float(mpmath.log(p))))
    for i in range(5):
        row, _, _ = softmax_all(joint[i : i + 1], False)
        assert row.tobytes() == proba[i : i + 1].tobytes()


def test_softmax_exp_and_log_are_accurate() -> None:
    """A first class at 0 and a second at t <= 0: exp(t) / (1 + exp(t)) and log(1 + exp(t))."""
    rng = np.random.default_rng(13)
    t = np.concatenate([-rng.random(300), -rng.random(300) * 40, -rng.random(400) * 760, [-745.13, -745.14, -708.4]])
    joint = np.stack([np.zeros_like(t), t], axis=1)
    proba, evidence, _ = softmax_all(joint, False)
    with mpmath.workdps(60):
        for v, p, e in zip(t.tolist(), proba[:, 1].tolist(), evidence.tolist(), strict=True):
            exact = mpmath.exp(mpmath.mpf(v))
            assert ulps(p, exact / (1 + exact)) <= 2.0
            if exact > 1e-15:
                assert abs(e - mpmath.log1p(exact)) <= 2**-53 * 2
    assert proba[-3, 1] == 5e-324
    assert proba[-2, 1] == 0
