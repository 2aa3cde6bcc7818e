"""Every zero-count rule as an exact fraction, through the estimator."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit import smoothing

# colour by class: a has 3 red 1 blue and 1 hole, b has 2 blue and 2 green; 9 rows, 3 levels
COLOURS = ["red", "red", "red", "blue", None, "blue", "blue", "green", "green"]
LABELS = ["a"] * 5 + ["b"] * 4
LEVELS = ["blue", "green", "red"]
COUNTS = {"a": [1, 0, 3], "b": [2, 2, 0]}
VALUES = {"a": 4, "b": 4}
F = Fraction


def fitted(rule: Any, unseen: str = "missing") -> bk.NaiveBayes:
    model = bk.NaiveBayes(smoothing=rule, prior="uniform", unseen=unseen)
    return model.fit(pa.table({"colour": COLOURS}), LABELS)


def probabilities(model: bk.NaiveBayes, levels: list[str]) -> dict[str, list[float]]:
    joint = np.exp(model.predict_joint_log_proba(pa.table({"colour": levels})))
    return {label: (2 * column).tolist() for label, column in zip(model.classes_, joint.T, strict=True)}


RULES: dict[str, tuple[Any, dict[str, list[Fraction]]]] = {
    "default": (1.0, {c: [F(n + 1, 4 + 3) for n in COUNTS[c]] for c in COUNTS}),
    "laplace 1/2": (0.5, {c: [F(2 * n + 1, 8 + 3) for n in COUNTS[c]] for c in COUNTS}),
    "laplace 2": (smoothing.Laplace(2), {c: [F(n + 2, 4 + 6) for n in COUNTS[c]] for c in COUNTS}),
    "none": (0, {c: [F(n, 4) for n in COUNTS[c]] for c in COUNTS}),
    "none, by name": (smoothing.NoSmoothing(), {c: [F(n, 4) for n in COUNTS[c]] for c in COUNTS}),
    "zeros by 1/2 of all rows": (
        smoothing.ReplaceZeros(),
        {c: [F(n, 4) if n else F(1, 18) for n in COUNTS[c]] for c in COUNTS},
    ),
    "zeros by the class's share of all rows": (
        smoothing.ReplaceZeros("class"),
        {"a": [F(1, 4), F(5, 81), F(3, 4)], "b": [F(1, 2), F(1, 2), F(4, 81)]},
    ),
    "m-estimate": (smoothing.MEstimate(2), {c: [(n + F(2, 3)) / 6 for n in COUNTS[c]] for c in COUNTS}),
    "m-estimate with a prior": (
        smoothing.MEstimate(4, (0.5, 0.25, 0.25)),
        {"a": [F(3, 8), F(1, 8), F(4, 8)], "b": [F(4, 8), F(3, 8), F(1, 8)]},
    ),
    "toward all classes": (
        smoothing.TowardPooled(4),
        {c: [(n + 4 * F(k, 8)) / (4 + 4) for n, k in zip(COUNTS[c], (3, 2, 3), strict=True)] for c in COUNTS},
    ),
    "add m": (smoothing.AddM(2), {c: [F(n + 2, 4 + 2) for n in COUNTS[c]] for c in COUNTS}),
}
every_rule = pytest.mark.parametrize(("rule", "wanted"), RULES.values(), ids=list(RULES))


@every_rule
def test_each_level_has_its_fraction(rule: Any, wanted: dict[str, list[Fraction]]) -> None:
    found = probabilities(fitted(rule), LEVELS)
    for label, exact in wanted.items():
        assert found[label] == pytest.approx([float(p) for p in exact], rel=1e-14)


@every_rule
def test_a_rule_that_does_not_normalise_says_so(rule: Any, wanted: dict[str, list[Fraction]]) -> None:
    claims = smoothing.smoothing(rule).normalised
    assert claims == all(sum(exact) == 1 for exact in wanted.values())


def test_every_rule_of_the_module_is_here() -> None:
    there = {n for n, v in vars(smoothing).items() if isinstance(v, type) and hasattr(v, "probabilities")}
    tried = {type(smoothing.smoothing(rule)).__name__ for rule, _ in RULES.values()}
    assert there - {"Smoothing"} == tried


UNSEEN: dict[str, tuple[Any, Fraction | None]] = {
    "laplace": (1.0, F(1, 4 + 4)),
    "laplace 1/2": (0.5, F(1, 2) / (4 + F(4, 2))),
    "none": (0, None),
    "zeros by 1/2": (smoothing.ReplaceZeros(), F(1, 18)),
    "m-estimate": (smoothing.MEstimate(2), F(2, 4) / 6),
    "toward all classes": (smoothing.TowardPooled(2), None),
    "add m": (smoothing.AddM(2), F(2, 6)),
}


@pytest.mark.parametrize(("rule", "wanted"), UNSEEN.values(), ids=list(UNSEEN))
def test_a_level_never_seen_is_scored_as_a_refit_would(rule: Any, wanted: Fraction | None) -> None:
    """alpha / (n_c + alpha (m + 1)); with no smoothing it says nothing."""
    found = probabilities(fitted(rule, "smooth"), ["mauve"])
    assert found == {c: [pytest.approx(1.0 if wanted is None else float(wanted), rel=1e-14)] for c in "ab"}


@pytest.mark.parametrize(("rule", "wanted"), UNSEEN.values(), ids=list(UNSEEN))
def test_a_level_never_seen_says_nothing_by_default(rule: Any, wanted: Fraction | None) -> None:
    assert probabilities(fitted(rule), ["mauve"]) == {"a": [1.0], "b": [1.0]}


def test_unseen_levels_do_not_invert_the_prior() -> None:
    """Classes 990 / 10 with three unseen columns: the odds of the refit."""
    labels = ["common"] * 990 + ["rare"] * 10
    table = {f"c{j}": ["x", "y"] * 500 for j in range(3)}
    model = bk.NaiveBayes(unseen="smooth").fit(table, labels)
    p = {c: F(n, 1000) * F(1, n + 3) ** 3 for c, n in (("common", 990), ("rare", 10))}
    found = model.predict_proba({f"c{j}": ["new"] for j in range(3)})[0]
    assert found == pytest.approx([float(p[c] / sum(p.values())) for c in ("common", "rare")], rel=1e-12)


def test_weights_are_frequencies() -> None:
    """(0.5 + 1) / (2 + 2) for weights 0.5 and 1.5 on two levels."""
    weights = [0.5, 1.5, 2.0]
    model = bk.NaiveBayes(prior="uniform").fit({"v": ["x", "y", "x"]}, ["a", "a", "b"], sample_weight=weights)
    joint = model.predict_joint_log_proba({"v": ["x", "y"]})
    assert 2 * np.exp(joint) == pytest.approx(np.array([[1.5 / 4, 3 / 4], [2.5 / 4, 1 / 4]]), rel=1e-14)


def test_declared_levels_count_among_the_levels() -> None:
    settings = {"kinds": {"v": ["x", "y", "z"]}, "families": bk.families.Categorical(), "prior": "uniform"}
    model = bk.NaiveBayes(**settings).fit({"v": ["x", "y"]}, ["a", "b"])
    assert 2 * np.exp(model.predict_joint_log_proba({"v": ["z"]})) == pytest.approx(np.array([[0.25, 0.25]]))
