"""Cross-fitting: what models of the other rows say, worked out with SciPy, where equal rows lie on both sides."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import bayeskit as bk
from bayeskit.ensemble.cross_fit import CrossFit


@pytest.mark.parametrize("weighted", [False, True])
def test_evidence_is_that_of_models_of_the_other_rows(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that occurs twice may be learned once and tested once; its model must not know the second."""
    rng = np.random.default_rng(2)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 4)) + 0.5 * y[:, None]
    X[30], y[30] = X[0], y[0]
    weight = np.where(np.arange(60) == 7, 2.0, 1.0) if weighted else None
    seen = []
    factors = CrossFit.factors

    def watch(plan: CrossFit, *given: object) -> tuple[np.ndarray, np.ndarray]:
        seen.append((plan, factors(plan, *given)))
        return seen[-1][1]

    monkeypatch.setattr(CrossFit, "factors", lambda self, spec, fixed=None: watch(self, spec, fixed))
    bk.NaiveBayes(weights="fitted").fit(X, y, weight)
    ((plan, (pieces, _)),) = seen
    x, code, at = plan.table.block.numeric.matrix(), plan.known.codes, 0
    for test, train in zip(plan.tests, plan.trains, strict=True):
        known = x[train.rows]
        for c in range(3):
            w = (train.mass * (code[train.rows] == c))[:, None]
            mean = (w * known).sum(axis=0) / w.sum()
            deviation = np.sqrt((w * (known - mean) ** 2).sum(axis=0) / w.sum())
            found = pieces[at : at + len(test.rows), :, c]
            np.testing.assert_allclose(found, norm.logpdf(x[test.rows], mean, deviation), rtol=1e-10, atol=1e-10)
        at += len(test.rows)
    assert at == len(pieces)
