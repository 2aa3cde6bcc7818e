"""Posteriors in the tails: the whole support of every family, where log densities leave the range of a double."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import mpmath
import numpy as np
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.arrays import Float, Int
from bayeskit.data.support import ANY, Support
from bayeskit.densities.parametric import Parametric, Views
from bayeskit.numerics.special import log2_distance

from .references import gaussian
from .tables import EXTREMES, LARGEST
from .test_families import CASES, Groups, fitted, reference

FAR = [*EXTREMES, 1e308, -1e308, -LARGEST, 1e150, -1e150, 1e20, -1e20]
CLEAR = 1e-9  # of a log density: what classes must differ by before the law knows which is ahead
pytestmark = pytest.mark.filterwarnings("ignore:values outside the support")
numeric = [case for case in CASES if case.values[1] in ("quantitative", "count")]


@dataclass(frozen=True)
class Laplace(Parametric):
    """log p(x | c) = -log 2b - |x - m| / b, of mean m and deviation b sqrt(2): a family of the whole line."""

    identifier: ClassVar[str] = "family/test_laplace"
    kinds: ClassVar[tuple[str, ...]] = ("quantitative",)
    scales: ClassVar[bool] = True
    support: ClassVar[Support] = ANY

    def parameters(self, sums: Views) -> tuple[Float, ...]:
        mean, deviation = sums["x"].normal()
        return mean, deviation / np.sqrt(2)

    def log_density(self, x: Float, *parameters: Float) -> Float:
        mean, b = parameters
        out: Float = -np.log(2) - np.log(b) - np.abs(x / 2 - mean / 2) / (b / 2)  # x - mean may overflow
        return out

    def magnitude(self, x: Float, shift: Int, *parameters: Float) -> Float:
        mean, b = parameters
        return log2_distance(x, shift, mean) - np.log2(b)


def laplace(groups: Groups, points: list[float]) -> list[list[Any]]:
    known = gaussian.parameters(bk.families.Gaussian(), groups)
    if known is None:
        return [[mpmath.mpf(0)] * len(groups) for _ in points]
    b = [mpmath.sqrt(gaussian.number(variance) / 2) for _, variance, _ in known]
    away = [[abs(gaussian.number(Fraction(x) - mean)) for mean, _, _ in known] for x in points]
    return [[-mpmath.log(2 * s) - far / s for far, s in zip(line, b, strict=True)] for line in away]


def check(model: bk.NaiveBayes, known: list[list[Any]], near: float) -> None:
    """Posteriors are those of the reference, as far as its log densities tell the classes apart."""
    found = model.predict_proba(pa.table({"v": pa.array(FAR, pa.float64())}))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
    for x, line, row in zip(FAR, known, found.tolist(), strict=True):
        joint = [mpmath.mpf(p) + w for p, w in zip(model.model_.log_prior().tolist(), line, strict=True)]
        best = max(joint)
        if best == -mpmath.inf:  # the limit of vanishing smoothing: tests/test_vanishing.py
            continue
        doubt = max(near, CLEAR) * max(1, abs(best))
        told = f"at {x!r}, where log p(x, c) is {[mpmath.nstr(w, 8) for w in joint]}: does log_density overflow?"
        if doubt < 1e-5:
            whole = mpmath.fsum(mpmath.exp(w - best) for w in joint)
            np.testing.assert_allclose(
                row, [float(mpmath.exp(w - best) / whole) for w in joint], atol=1e-4, err_msg=told
            )
        behind = [p for p, w in zip(row, joint, strict=True) if best - w > 1000 * (1 + doubt)]
        np.testing.assert_allclose(behind, 0, atol=1e-12, err_msg=told)


@pytest.mark.parametrize(("family", "kind", "groups"), numeric)
def test_posteriors_in_the_tails_are_those_of_the_reference(family: Any, kind: str, groups: Groups) -> None:
    known = reference(family).log_density(family, groups, FAR)
    check(fitted(family, kind, groups), known, getattr(reference(family), "TOLERANCE", 1e-12))


on_line = [c for c in numeric if type(c.values[0]).__name__ == "Gaussian" and c.values[1] == "quantitative"]


@pytest.mark.parametrize("groups", [c.values[2] for c in on_line][: len(on_line) // 2], ids=lambda g: str(len(g[0])))
def test_a_family_of_the_whole_line_is_right_on_both_sides(groups: Groups) -> None:
    check(fitted(Laplace(), "quantitative", groups), laplace(groups, FAR), 1e-12)
