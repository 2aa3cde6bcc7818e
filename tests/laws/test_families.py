"""The laws of every family: its density against a reference, its terms, its total."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import mpmath
import numpy as np
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.families import families

from .tables import EXTREMES, LARGEST, classes_with

Groups = list[list[tuple[Any, float]]]
FAMILIES = classes_with("bayeskit.families", "statistic", "fit", "kinds")
ORDER = ["low", "middle", "high", "highest"]


def reference(family: Any) -> Any:
    """The reference module of a family: the one of its module's name."""
    name = f"{__package__}.references.{type(family).__module__.rsplit('.', 1)[1]}"
    return importlib.import_module(name)


def variants() -> list[Any]:
    found = []
    for family in FAMILIES.values():
        name = f"{__package__}.references.{family.__module__.rsplit('.', 1)[1]}"
        if importlib.util.find_spec(name):
            found += [v for v in importlib.import_module(name).VARIANTS if type(v) is family]
    return found


def dealt(values: list[Any], weights: list[float] | None = None) -> Groups:
    """Values dealt to three classes of unequal size."""
    cut, rows = len(values) // 5, list(zip(values, weights or [1.0] * len(values), strict=True))
    return [rows[:cut], rows[cut : 3 * cut], rows[3 * cut :]]


def real_groups() -> dict[str, Groups]:
    rng = np.random.default_rng(4)
    plain, mass = rng.normal(3, 2, 60).tolist(), rng.random(60).tolist()
    holes = [x if i % 4 else None for i, x in enumerate(plain)]
    return {
        "plain": dealt(plain),
        "weighted": dealt(plain, mass),
        "with missing values": dealt(holes, mass),
        "heavy": dealt(plain, [1e4 * w for w in mass]),
        "very heavy": dealt(plain, [1e9 * w for w in mass]),
        "light": dealt(plain, [1e-200 * w for w in mass]),
        "few rows": [[(1.0, 1.0), (2.0, 1.0)], [(1.5, 1.0), (4.0, 1.0)], [(0.5, 1.0), (9.0, 1.0)]],
        "one row in a class": [[(1.0, 1.0), (2.0, 1.0)], [(7.0, 1.0)], [(3.0, 1.0), (4.0, 1.0)]],
        "one row in each class": [[(1.0, 1.0)], [(7.0, 1.0)], [(3.0, 1.0)]],
        "a constant class": [[(5.0, 1.0)] * 4, [(1.0, 1.0), (2.0, 3.0)], [(3.0, 1.0), (4.0, 1.0)]],
        "a class without values": [[(None, 1.0)] * 4, [(1.0, 1.0), (2.0, 3.0)], [(3.0, 1.0), (4.0, 1.0)]],
        "a constant column": [[(5.0, 1.0)] * 4, [(5.0, 3.0)], [(5.0, 1.0), (None, 1.0)]],
        "huge": dealt([x * 2.0**1017 for x in plain]),
        "tiny": dealt([round(100 * x) * 5e-324 for x in plain]),
        "wide": dealt([x * 10.0 ** (i % 9) for i, x in enumerate(plain)]),
    }


def level_groups(levels: list[Any]) -> dict[str, Groups]:
    rng = np.random.default_rng(5)
    some = [levels[i] for i in rng.integers(0, len(levels), 40)]
    mass, holes = rng.random(40).tolist(), [x if i % 4 else None for i, x in enumerate(some)]
    first, last = levels[0], levels[-1]
    every = [(level, 1.0) for level in levels]
    return {
        "plain": dealt(some),
        "with missing values": dealt(holes, mass),
        "zero counts": [[(first, 1.0)] * 3, [(last, 2.0), (None, 5.0)], [*every, (None, 1.0)]],
        "a class without values": [[(None, 1.0)] * 2, [(last, 2.0), (first, 0.5)], every],
    }


def data(kind: str, family: Any = None) -> dict[str, Groups]:
    """Tables of one column of a kind; a family of a narrower support brings its own."""
    if hasattr(own := reference(family) if family is not None else None, "data"):
        return own.data(kind, family)  # type: ignore[union-attr, no-any-return]
    match kind:
        case "quantitative":
            return real_groups()
        case "count":
            counts = np.random.default_rng(6).poisson(4, 40).tolist()
            return {"counts": dealt(counts), "with missing values": dealt([c or None for c in counts])}
        case "binary":
            return level_groups([False, True])
        case "nominal":
            return level_groups(["red", "blue", "green", "é"])
        case "ordinal":
            return level_groups(ORDER)
    raise NotImplementedError(f"no data of kind {kind!r}: add some, or the families that take it go untested")


CASES = [
    pytest.param(family, kind, groups, id=f"{family}, {kind}, {name}")
    for family in variants()
    for kind in family.kinds
    for name, groups in data(kind, family).items()
]
on_real = [case for case in CASES if reference(case.values[0]).SUPPORT == "real" and "tiny" not in case.id]
on_levels = [case for case in CASES if reference(case.values[0]).SUPPORT == "levels"]


def fitted(family: Any, kind: str, groups: Groups) -> bk.NaiveBayes:
    """The family fitted to one column, v, through the estimator."""
    rows = [(x, w, label) for label, rows in zip("abc", groups, strict=True) for x, w in rows]
    v, w, label = zip(*rows, strict=True)
    declared = {"v": ORDER if kind == "ordinal" else kind}
    model = bk.NaiveBayes(families={"v": family}, kinds=declared)
    return model.fit(pa.table({"v": v, "w": w, "class": label}), "class", sample_weight="w")


def density(model: bk.NaiveBayes, points: list[Any]) -> np.ndarray:
    """log p(point | class), (points, classes)."""
    kind = pa.float64() if model.schema_["v"].numeric else None
    rows = model.model_.counted.block(pa.RecordBatch.from_pydict({"v": pa.array(points, kind)}))
    out = np.zeros((len(points), len(model.classes_)))
    model.model_.density.add(rows, out)
    return out


def points_of(groups: Groups, kind: str) -> list[Any]:
    """Every value there is; for numbers also the tails, to a thousand ranges, and the extremes."""
    seen = list(dict.fromkeys(x for rows in groups for x, _ in rows if x is not None))
    if kind not in ("quantitative", "count"):
        return seen
    middle, half = seen[0], max(seen) / 2 - min(seen) / 2
    tails = [middle + k * half for k in (-1000.0, -30.0, -3.0, 0.5, 3.0, 30.0, 1000.0)]
    return seen + [x for x in tails if np.isfinite(x)] + EXTREMES


def test_every_family_is_found_and_has_a_reference() -> None:
    assert set(FAMILIES) == set(families())
    referred = {type(family).__name__ for family in variants()}
    assert referred == set(FAMILIES), "add tests/laws/references/<module of the family>.py, with it in VARIANTS"


@pytest.mark.parametrize(("family", "kind", "groups"), CASES)
def test_density_is_that_of_the_reference(family: Any, kind: str, groups: Groups) -> None:
    points = points_of(groups, kind)
    found = density(fitted(family, kind, groups), points)
    known = reference(family).log_density(family, groups, points)
    near = getattr(reference(family), "TOLERANCE", 1e-12)
    for row, wanted in zip(found.tolist(), known, strict=True):
        for f, w in zip(row, wanted, strict=True):
            w = w if abs(w) < LARGEST else mpmath.sign(w) * mpmath.inf
            assert f == w or abs(f - w) <= near * max(1, abs(w)), (f, mpmath.nstr(w, 20))


@pytest.mark.parametrize(("family", "kind", "groups"), on_real)
def test_density_integrates_to_one(family: Any, kind: str, groups: Groups) -> None:
    """By the trapezoidal rule in u, where x = centre ± scale e^(sinh u): however long the tails, with a kink or a peak
    at the location that the reference names."""
    places = reference(family).location(family, groups)
    if places is None:
        pytest.skip("a constant column says nothing")
    model, u = fitted(family, kind, groups), np.linspace(-5, 5, 1001)
    for c, (centre, scale) in enumerate(places):
        slope = np.log(scale) + np.sinh(u) + np.log(np.cosh(u))
        with np.errstate(over="ignore"):
            sides = [centre + side * scale * np.exp(np.sinh(u)) for side in (-1, 1)]
        total = 0.0
        for x in sides:
            there = np.isfinite(x)
            terms = density(model, x[there].tolist())[:, c] + slope[there]
            total += np.exp(terms).sum() * (u[1] - u[0])
        assert total == pytest.approx(1, abs=1e-9), f"class {c}, centre {centre!r}, scale {scale!r}"


@pytest.mark.parametrize(("family", "kind", "groups"), on_levels)
def test_probabilities_sum_to_one(family: Any, kind: str, groups: Groups) -> None:
    model = fitted(family, kind, groups)
    levels = ORDER if kind == "ordinal" else points_of(groups, kind)
    total = np.exp(density(model, levels)).sum(axis=0)
    if model.model_.density.normalised:
        assert total == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("family", variants(), ids=str)
def test_a_class_of_the_table_that_is_not_normalised_says_so(family: Any) -> None:
    """Some table shows a total other than one, unless the density claims that none does."""
    if hasattr(reference(family), "NORMALISED"):  # not to be seen in one column
        assert found_normalised(family) == reference(family).NORMALISED[type(family).__name__]
        return
    off = 0.0
    for kind in family.kinds:
        for groups in data(kind, family).values() if reference(family).SUPPORT == "levels" else ():
            levels = ORDER if kind == "ordinal" else points_of(groups, kind)
            found = fitted(family, kind, groups)
            off = max(off, abs(np.exp(density(found, levels)).sum(axis=0) - 1).max())
    assert (off < 1e-12) == found_normalised(family)


def found_normalised(family: Any) -> bool:
    kind = family.kinds[0]
    return fitted(family, kind, next(iter(data(kind, family).values()))).model_.density.normalised
