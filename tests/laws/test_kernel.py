"""Kernel: the table against the sum, bandwidths against theory, leave-one-out with bandwidths found anew or held."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pyarrow as pa
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import gaussian_kde

import bayeskit as bk
from bayeskit import _core
from bayeskit.data.block import Columns
from bayeskit.data.encode import Roles
from bayeskit.densities.mixture import Curves, Mixture
from bayeskit.errors import InputError
from bayeskit.families.kernel import Kernel, Kernels

from .tables import EXTREMES
from .test_families import Groups, data, density, fitted
from .test_leave_one_out import duplicated, model_of, table_of

TABLES = {(kind, name): groups for kind in ("quantitative", "count") for name, groups in data(kind).items()}
every_table = pytest.mark.parametrize(
    ("kind", "groups"), [(k, g) for (k, _), g in TABLES.items()], ids=map(str, TABLES)
)
ROWS = 6000


def shapes() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    z = rng.normal(size=ROWS)
    return {
        "normal": z,
        "far from zero": 1e6 + z,
        "long tail": np.exp(2 * z),
        "no mean": z / rng.normal(size=ROWS),
        "two heaps": z + 40 * (np.arange(ROWS) % 2),
        "heaps that touch": z + 9 * (np.arange(ROWS) % 2),
        "rounded": np.round(z, 1),
        "whole": np.round(5 * z),
        "an outlier": np.append(z[1:], 1e6),
        "few values": rng.choice([0.0, 1.0, 7.0], ROWS),
        "mostly zero": np.where(rng.random(ROWS) < 0.9, 0.0, np.abs(z)),
    }


SHAPES = shapes()
every_shape = pytest.mark.parametrize("x", SHAPES.values(), ids=list(SHAPES))


def kernels(model: bk.NaiveBayes) -> Kernels | None:
    (one,) = model.model_.density.densities
    return one.kernels[0]  # type: ignore[no-any-return, attr-defined]


def learned(x: np.ndarray, rule: Any = "silverman") -> tuple[bk.NaiveBayes, Kernels]:
    """Two classes, the second of a fifth of the rows."""
    model = bk.NaiveBayes(families=Kernel(rule)).fit(pa.table({"v": x}), np.arange(len(x)) % 5 == 0)
    made = kernels(model)
    assert made is not None
    return model, made


def direct(x: np.ndarray, made: Kernels, weights: np.ndarray, h: float) -> np.ndarray:
    """log of the kernel sum over the centres of the bins, by SciPy."""
    centre, h = made.column.centres[weights > 0], h * 2.0**-made.shift
    out = [
        logsumexp(-(((some[:, None] - centre) / h) ** 2) / 2, b=weights[weights > 0] / weights.sum(), axis=1)
        for some in np.array_split(x, max(1, len(x) // 500))
    ]
    return np.concatenate(out) - np.log(h) - np.log(2 * np.pi) / 2


@every_shape
@pytest.mark.parametrize("rule", ["silverman", "isj"])
def test_the_table_keeps_to_the_sum(x: np.ndarray, rule: str) -> None:
    """Within 1e-6 at the values, between them, and far in the tails."""
    model, made = learned(x, rule)
    rng = np.random.default_rng(1)
    low, high = np.quantile(x, [0.02, 0.98])
    asked = np.concatenate(
        [x[:800], rng.uniform(low - 1, high + 1, 800), rng.normal(0, 30, 200), rng.choice(x, 400) + 0.3]
    )
    found = density(model, asked.tolist())
    for c in (0, 1):
        known = direct(asked, made, made.column.weights[c], float(made.bandwidth[c]))
        assert (np.abs(found[:, c] - known) <= 1e-6 + 1e-12 * np.abs(known)).all()


@every_shape
def test_a_kernel_density_integrates_to_one(x: np.ndarray) -> None:
    """By the trapezoidal rule around every centre, which for kernels is exact to many digits."""
    model, made = learned(x)
    for c in (0, 1):
        h = float(made.bandwidth[c]) * 2.0**-made.shift
        used = made.column.centres[made.column.weights[c] > 0]
        ends = np.stack([np.floor((used - 10 * h - used[0]) / (h / 2)), np.ceil((used + 10 * h - used[0]) / (h / 2))])
        places = np.unique(np.concatenate([np.arange(a, b) for a, b in ends.T]))
        total = np.exp(density(model, (used[0] + places * h / 2).tolist())[:, c]).sum() * h / 2
        assert total == pytest.approx(1, abs=1e-6)


def test_a_number_gives_the_density_of_scipy() -> None:
    x = np.random.default_rng(0).normal(3, 2, 300)
    model = bk.NaiveBayes(families=Kernel(0.4)).fit(pa.table({"v": x}), np.arange(300) % 2)
    points = np.linspace(-5, 11, 200)
    for c in (0, 1):
        mine = x[np.arange(300) % 2 == c]
        peer = gaussian_kde(mine, bw_method=0.4 / mine.std(ddof=1)).logpdf(points)
        assert density(model, points.tolist())[:, c] == pytest.approx(peer, abs=1e-6)


@every_shape
def test_no_double_is_out_of_reach(x: np.ndarray) -> None:
    model, _ = learned(x)
    far = np.array([*EXTREMES, 1e5, -1e5, 1e150, -1e150])
    posterior = model.predict_proba(pa.table({"v": far}))
    assert np.isfinite(posterior).all()
    assert posterior.sum(axis=1) == pytest.approx(1)
    assert np.isfinite(model.predict_joint_log_proba(pa.table({"v": [1e150, -1e150]}))).all()


def test_far_tails_against_mpmath() -> None:
    m = Mixture.of(np.array([0.0, 1.0, 1.5]), np.array([3.0, 1e-9, 2.0]), 0.1)
    h, total = mpmath.mpf(0.1), mpmath.mpf(5) + mpmath.mpf(1e-9)
    for x in (-1e6, -40.0, 0.7, 1.0, 25.0, 3e7):
        away = [((mpmath.mpf(x) - c) / h, mpmath.mpf(w)) for c, w in ((0.0, 3.0), (1.0, 1e-9), (1.5, 2.0))]
        known = mpmath.log(sum(w * mpmath.exp(-z * z / 2) for z, w in away) / total / h / mpmath.sqrt(2 * mpmath.pi))
        assert m.log_density(np.array([x]))[0] == pytest.approx(float(known), rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("clone", _core.clones())
def test_every_clone_gives_the_same_bits(clone: str) -> None:
    rng, chosen = np.random.default_rng(2), _core.clone()
    centre = np.sort(rng.normal(size=203))
    m = Mixture.of(centre, rng.random(203), 0.2)
    x = np.concatenate([rng.normal(size=3000), rng.normal(0, 50, 100), [1e300, np.nan]])
    numbers = Columns((x,), len(x))

    def run() -> bytes:
        out = np.zeros((len(x), 1))
        Curves((m,), 1.0, 0.0, 0.0).add(numbers, out)
        return out.tobytes() + m.log_density(x[:-1]).tobytes()

    known = run()
    try:
        _core.use_clone(clone)
        assert run() == known
    finally:
        _core.use_clone(chosen)


MIXTURES = {
    "normal": [(1.0, 0.0, 1.0)],
    "two": [(0.5, -3.0, 0.3), (0.5, 2.0, 1.0)],
    "claw": [(0.5, 0.0, 1.0), *((0.1, k / 2 - 1, 0.1) for k in range(5))],
}


@pytest.mark.parametrize("parts", MIXTURES.values(), ids=list(MIXTURES))
@pytest.mark.parametrize(("rows", "near"), [(4000, 0.15), (40_000, 0.07)])
def test_improved_sheather_jones_finds_the_best_bandwidth(parts: list[Any], rows: int, near: float) -> None:
    """Of mixtures whose optimum is known: (2 sqrt(pi) n integral of f''^2)^(-1/5)."""

    def bend(x: float) -> float:
        return sum(p * np.exp(-(((x - m) / s) ** 2) / 2) / s**3 * (((x - m) / s) ** 2 - 1) for p, m, s in parts)

    rough = quad(lambda x: bend(x) ** 2 / (2 * np.pi), -12, 12, limit=500, points=[m for _, m, _ in parts])[0]
    best = (2 * np.sqrt(np.pi) * rows * rough) ** -0.2
    rng = np.random.default_rng(7)
    p, m, s = np.array(parts).T
    part = rng.choice(len(parts), 2 * rows, p=p)
    x = rng.normal(m[part], s[part])
    model = bk.NaiveBayes(families=Kernel("isj")).fit(x[:, None], np.arange(2 * rows) % 2)
    made = kernels(model)
    assert made is not None
    assert made.bandwidth * 2.0**-made.shift == pytest.approx(best, rel=near)


@every_table
@pytest.mark.parametrize("family", [Kernel(), Kernel("isj"), Kernel(0.5)], ids=str)
def test_leaving_a_row_out_is_the_sum_over_the_others(family: Kernel, kind: str, groups: Groups) -> None:
    """Bandwidths of "silverman" are those of a refit, of "isj" held; a class left without rows takes the column's."""
    rows = table_of(duplicated(groups))
    whole = model_of(family, kind, rows)
    made = kernels(whole)
    block = whole.model_.counted.block_with_classes(rows, Roles("class", "w"))
    found = whole.model_.terms(block, left_out=True)[:, 0]
    assert np.isfinite(whole.model_.posterior(block, left_out=True)).all()
    if made is None:
        assert not found.any()
        return
    x, w = (np.array(rows.column(n).to_pylist(), dtype=float) for n in ("v", "w"))
    label = np.array([list(whole.classes_).index(c) for c in rows.column("class").to_pylist()])
    places = np.ldexp(x, made.shift)
    with np.errstate(over="ignore"):
        for i in range(0, rows.num_rows, max(1, rows.num_rows // 9)):
            if np.isnan(x[i]):
                assert not found[i].any()
                continue
            others = (np.arange(len(x)) != i) & ~np.isnan(x) & (w > 0)
            here, names = made, list(whole.classes_)
            if family == Kernel() and others.any():
                less = model_of(family, kind, rows.filter(pa.array(np.arange(len(x)) != i)))
                here, names = kernels(less), list(less.classes_)
                if here is None:
                    assert not found[i].any()
                    continue
            for c, label_of in enumerate(whole.classes_):
                mine = others & (label == c)
                mine, h = (mine, here.bandwidth[names.index(label_of)]) if mine.any() else (others, here.common)
                h = np.ldexp(h, made.shift - here.shift)
                z = (places[i] - places[mine]) / h
                known = logsumexp(-z * z / 2, b=w[mine] / w[mine].sum()) - np.log(h) - np.log(2 * np.pi) / 2
                known += made.shift * np.log(2)
                assert found[i, c] == pytest.approx(known, abs=1e-10, rel=1e-12) or (found[i, c] == known)


def test_leaving_a_row_out_of_a_coarse_grid() -> None:
    x = SHAPES["long tail"]
    rows = table_of([[(v, 1.0) for v in x[np.arange(ROWS) % 5 != 0]], [(v, 1.0) for v in x[::5]], [(0.5, 1.0)]])
    whole = model_of(Kernel(), "quantitative", rows)
    made = kernels(whole)
    assert made is not None
    assert not made.column.distinct
    found = whole.model_.terms(whole.model_.counted.block_with_classes(rows, Roles("class", "w")), left_out=True)[:, 0]
    place = np.searchsorted(made.column.edges, rows.column("v").to_numpy())
    for i in range(0, rows.num_rows - 1, 311):
        c = int(i >= (np.arange(ROWS) % 5 != 0).sum())
        left = made.column.weights[c].copy()
        left[place[i]] -= 1
        known = direct(rows.column("v").to_numpy()[i : i + 1], made, left, float(made.bandwidth[c]))[0]
        assert found[i, c] == pytest.approx(known, abs=1e-10)


@pytest.mark.parametrize("bandwidth", [0, -1.0, np.nan, np.inf, "wide", True, None, (1, 2)], ids=repr)
def test_bad_bandwidths_are_named(bandwidth: Any) -> None:
    with pytest.raises(InputError, match=r"Kernel\(bandwidth="):
        Kernel(bandwidth)


def test_a_saved_kernel_comes_back_and_forgets(tmp_path: Any) -> None:
    x = np.random.default_rng(0).normal(size=(500, 2))
    y = np.arange(500) % 3
    model = bk.NaiveBayes(families=Kernel("scott")).fit(x, y)
    model.save(tmp_path / "m.bayes")
    again = bk.load(tmp_path / "m.bayes")
    assert (again.predict_proba(x) == model.predict_proba(x)).all()
    half = bk.NaiveBayes(families=Kernel("scott")).fit(x[:250], y[:250])
    assert again.forget(x[250:], y[250:]).model_.digest == half.model_.digest


def test_a_class_without_values_takes_the_whole_column() -> None:
    groups = data("quantitative")["a class without values"]
    model = fitted(Kernel(), "quantitative", groups)
    made = kernels(model)
    assert made is not None
    known = direct(np.array([1.7]), made, made.column.pooled, made.common)
    assert density(model, [1.7])[0, 0] == pytest.approx(known[0], abs=1e-6)
