"""KNNBayes: against counting by hand, its laws, its files and engines, and bad input."""

import copy
import math
import warnings
from collections import defaultdict

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier

import bayeskit as bk
from bayeskit.data.encode import Roles
from bayeskit.errors import ForgetError, InputError, SchemaError
from bayeskit.families import Histogram

METRICS = ["euclidean", "manhattan", "mahalanobis", "gower"]


def numbers(rows=90, columns=3, classes=3, seed=0, digits=1):
    """Rounded numbers, so that ties and duplicates abound."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    return np.round(rng.normal(y[:, None], 1.0, (rows, columns)), digits), y


def mixed(rows=120, seed=3, holes=0.15):
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], rows, p=[0.5, 0.3, 0.2])
    table = pd.DataFrame(
        {
            "x": np.round(rng.normal((y == "a") * 2.0, 1.0), 1),
            "n": np.round(rng.gamma(2.0, 3.0, rows), 1),
            "town": rng.choice(["A", "B", "C"], rows),
            "grade": pd.Categorical(rng.choice(["low", "mid", "high"], rows), ["low", "mid", "high"], ordered=True),
            "flag": rng.random(rows) < 0.4,
        }
    )
    table["flag"] = table["flag"].astype(object)
    for name in table:
        table.loc[rng.random(rows) < holes, name] = None
    return table, y


# -- a reference by counting ------------------------------------------------------------------------


def gap(metric, table, root=None):
    """The distance of two rows as the documentation says it."""
    if metric != "gower":
        power = 1 if metric == "manhattan" else 2

        def numeric(x, z):
            if root is not None:
                x, z = np.asarray(x) @ root, np.asarray(z) @ root
            there = [(a, b) for a, b in zip(x, z, strict=True) if a == a and b == b]
            asked = sum(a == a for a in x)
            if not there:
                return math.inf
            return (sum(abs(a - b) ** power for a, b in there) * asked / len(there)) ** (1 / power)

        return numeric
    rank = {"low": 0.0, "mid": 0.5, "high": 1.0}
    span = {n: table[n].max() - table[n].min() for n in ("x", "n")}

    def gower(x, z):
        total = count = 0
        for name, a, b in zip(table.columns, x, z, strict=True):
            if pd.isna(a) or pd.isna(b):
                continue
            count += 1
            if name == "grade":
                total += abs(rank[a] - rank[b])
            elif name in span:
                total += abs(a - b) / span[name]
            else:
                total += a != b
        return total / count if count else math.inf

    return gower


def counted(distance, rows, labels, weights, x, k):
    """Weights by class of all rows as far as the k-th, and its distance."""
    found = sorted((distance(x, row), label, w) for row, label, w in zip(rows, labels, weights, strict=True) if w > 0)
    found = [f for f in found if f[0] < math.inf]
    below, radius = 0.0, math.nan
    for d, _, w in found:
        radius = d
        below += w
        if below >= k * (1 - 1e-9):
            break
    near = defaultdict(float)
    for d, label, w in found:
        if d <= radius * (1 + 1e-9):
            near[label] += w
    return near, radius


def rows_of(table):
    return [tuple(row) for row in (table.itertuples(index=False) if isinstance(table, pd.DataFrame) else table)]


def pooled_root(X, y):
    scatter = sum(np.cov(X[y == c].T, ddof=0) * (y == c).sum() for c in np.unique(y)) / len(y)
    return np.linalg.cholesky(np.linalg.inv(scatter))


@pytest.mark.parametrize("metric", METRICS[:3])
@pytest.mark.parametrize("k", [1, 4, 500])
@pytest.mark.parametrize("columns", [1, 3, 20])
def test_counts_are_those_of_all_rows_as_far_as_the_kth(metric, k, columns):
    X, y = numbers(columns=columns)
    w = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    asked = np.vstack([numbers(12, columns, seed=8)[0], X[:5]])
    for weight in (np.ones(len(y)), w, w / 3):
        model = bk.KNNBayes(k=k, metric=metric, prior="uniform").fit(X, y, sample_weight=weight)
        root = weighted_root(X, y, weight) if metric == "mahalanobis" else None
        distance = gap(metric, X, root)
        radius, proba = model.neighbors(asked).radius, model.predict_proba(asked)
        for i, x in enumerate(asked):
            near, known = counted(distance, X, y, weight, x, k)
            share = np.array([near[c] / weight[y == c].sum() for c in range(3)])
            assert proba[i] == pytest.approx(share / share.sum(), abs=1e-12)
            assert radius[i] == pytest.approx(known, rel=1e-9, abs=1e-12)


def weighted_root(X, y, w):
    scatter = np.zeros((X.shape[1], X.shape[1]))
    for c in np.unique(y):
        mine = y == c
        apart = X[mine] - np.average(X[mine], axis=0, weights=w[mine])
        scatter += (apart * w[mine, None]).T @ apart
    return np.linalg.cholesky(np.linalg.inv(scatter / w.sum()))


@pytest.mark.parametrize("holes", [0.0, 0.3])
@pytest.mark.parametrize("k", [1, 6])
def test_gower_of_mixed_tables_with_holes(k, holes):
    X, y = mixed(holes=holes)
    model = bk.KNNBayes(k=k, metric="gower", prior="uniform").fit(X, y)
    distance = gap("gower", X)
    proba = model.predict_proba(X)
    usable = {c: sum(y == c) for c in "abc"}
    for i, x in enumerate(rows_of(X)[:60]):
        near, _ = counted(distance, rows_of(X), y, np.ones(len(y)), x, k)
        if not holes:
            share = np.array([near[c] / usable[c] for c in "abc"])
            assert proba[i] == pytest.approx(share / share.sum(), abs=1e-12)
        else:
            assert set(np.flatnonzero(proba[i])) == {"abc".index(c) for c in near}
    assert np.isfinite(proba).all()


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_holes_scale_distances_up_to_the_columns_a_row_has(metric):
    X, y = numbers(columns=4)
    rng = np.random.default_rng(5)
    X[rng.random(X.shape) < 0.25] = np.nan
    asked = np.round(rng.normal(1, 1, (25, 4)), 1)
    asked[rng.random(asked.shape) < 0.3] = np.nan
    model = bk.KNNBayes(k=4, metric=metric).fit(X, y)
    found = model.neighbors(asked)
    for i, x in enumerate(asked):
        near, radius = counted(gap(metric, X), X, y, np.ones(len(y)), x, 4)
        mine = found[i]
        assert {c: mine.weights[mine.labels == c].sum() for c in near} == dict(near)
        assert mine.radius[0] == pytest.approx(radius, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("columns", [2, 5, 40])
def test_without_ties_it_is_scikit_learns(columns):
    X, y = numbers(2500, columns, digits=12)
    asked = numbers(300, columns, seed=4, digits=12)[0]
    for metric in ("euclidean", "manhattan"):
        theirs = KNeighborsClassifier(7, metric=metric).fit(X, y)
        ours = bk.KNNBayes(k=7, metric=metric).fit(X, y)
        assert ours.predict_proba(asked) == pytest.approx(theirs.predict_proba(asked), abs=1e-12)


def test_far_from_zero_and_far_apart_matrix_products_are_checked():
    """Single precision tells none of these rows apart."""
    X, y = numbers(600, 30, digits=12)
    for shift, factor in ((1e9, 1.0), (0.0, 1e200), (0.0, 1e-200), (1e6, 1e-3)):
        moved = shift + X * factor
        truth = np.sort(np.linalg.norm((moved[:, None, :20] - moved[None, :50, :20]) / factor, axis=2), axis=0)[4]
        radius = bk.KNNBayes(k=5).fit(moved[:, :20], y).neighbors(moved[:50, :20]).radius
        assert radius / factor == pytest.approx(truth, rel=1e-9)


# -- laws -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"weights": "epanechnikov"}, {"pseudo": 1.0}], ids=str)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "gower"])
@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_leaving_a_row_out_is_a_refit_without_it(metric, settings, holes):
    X, y = mixed(60, holes=holes)
    X = X if metric == "gower" else X[["x", "n"]]
    w = np.random.default_rng(2).integers(1, 3, len(y)).astype(float)
    model = bk.KNNBayes(k=4, metric=metric, **settings).fit(X, y, sample_weight=w)
    table = pa.Table.from_pandas(X.assign(w=w, y=y), preserve_index=False)
    learned = model.model_.counted.learned(table.to_batches()[0], Roles("y", "w"))
    found = model.model_.posterior(learned, own=True)
    ends = {int(np.nanargmax(X[n])) for n in ("x", "n")} | {int(np.nanargmin(X[n])) for n in ("x", "n")}
    for i in sorted(set(range(0, 60, 6)) - ends):  # the ranges and deviations of the metric are held
        kept = np.arange(60) != i
        less = copy.deepcopy(model).forget(X[~kept], y[~kept], sample_weight=w[~kept])
        assert found[i] == pytest.approx(less.predict_proba(X[~kept])[0], abs=1e-10)
    assert np.isfinite(found).all()


def test_leaving_out_the_only_row_of_a_class():
    X, y = [[0.0], [1.0], [2.0], [9.0]], ["a", "a", "a", "b"]
    model = bk.KNNBayes(k=2).fit(X, y)
    table = pa.record_batch({"x0": [0.0, 1.0, 2.0, 9.0], "y": y})
    found = model.model_.posterior(model.model_.counted.learned(table, Roles("y")), own=True)
    assert found == pytest.approx(np.array([[1.0, 0.0]] * 4))


def test_priors_count():
    X, y = numbers()
    model = bk.KNNBayes(k=9).fit(X, y)
    near = model.neighbors([[0.7, 0.7, 0.7]])
    share = np.array([near.weights[near.labels == c].sum() for c in range(3)])
    assert model.predict_proba([[0.7, 0.7, 0.7]])[0] == pytest.approx(share / share.sum())
    prior = {0: 0.7, 1: 0.2, 2: 0.1}
    moved = share / np.bincount(y) * list(prior.values())
    assert model.predict_proba([[0.7, 0.7, 0.7]], prior=prior)[0] == pytest.approx(moved / moved.sum())


@pytest.mark.parametrize("metric", METRICS)
def test_log_evidence_is_the_density_of_the_ball(metric):
    X, y = numbers(columns=2, digits=12)
    x = np.array([[0.3, 0.9]])
    model = bk.KNNBayes(k=6, metric=metric).fit(X, y)
    r = model.neighbors(x).radius[0]
    span = np.ptp(X, axis=0)
    ball = {
        "euclidean": math.pi * r**2,
        "manhattan": 2 * r**2,
        "mahalanobis": math.pi * r**2 / abs(np.linalg.det(pooled_root(X, y))),
        "gower": 2 * (2 * r) ** 2 * span[0] * span[1],
    }
    assert model.log_evidence(x)[0] == pytest.approx(math.log(6 / len(y) / ball[metric]), rel=1e-9)


def test_a_ball_of_no_radius_takes_the_next_distance():
    model = bk.KNNBayes(k=2).fit([[1.0], [1.0], [3.0]], ["a", "a", "b"])
    assert model.log_evidence([[1.0]])[0] == pytest.approx(math.log(2 / 3 / 4.0))


def test_epanechnikov_and_pseudo_rows():
    X, y = [[0.0], [1.0], [2.0], [4.0]], ["a", "b", "b", "a"]
    near = bk.KNNBayes(k=3, weights="epanechnikov").fit(X, y)
    weights = 1 - np.array([0.5, 0.5, 1.5]) ** 2 / 3.5**2
    shares = [weights[0] / weights.sum(), weights[1:].sum() / weights.sum()]
    assert near.predict_proba([[0.5]])[0] == pytest.approx(shares)
    pseudo = bk.KNNBayes(k=1, pseudo=1.0).fit(X, y)
    assert pseudo.predict_proba([[0.1]])[0] == pytest.approx([1.5 / 2, 0.5 / 2])


def test_mutual_information_leaves_noise_out():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = np.column_stack([y + rng.normal(0, 0.3, 600), rng.normal(0, 100, (600, 8))])
    plain, scaled = bk.KNNBayes().fit(X[:400], y[:400]), bk.KNNBayes(scale="mutual_information").fit(X[:400], y[:400])
    assert scaled.score(X[400:], y[400:]) > 0.9 > 0.7 > plain.score(X[400:], y[400:])


@pytest.mark.parametrize("metric", ["euclidean", "gower"])
def test_learning_forgetting_and_merging_are_by_rows(metric):
    X, y = mixed()
    X = X if metric == "gower" else X[["x", "n"]]
    whole = bk.KNNBayes(metric=metric).fit(X, y)
    half = np.arange(len(y)) % 2 == 0
    one, two = (bk.KNNBayes(metric=metric).fit(X[h], y[h]) for h in (half, ~half))
    assert (one + two).model_.digest == whole.model_.digest
    assert copy.deepcopy(one).partial_fit(X[~half], y[~half]).model_.digest == whole.model_.digest
    assert copy.deepcopy(whole).forget(X[half], y[half]).model_.digest == two.model_.digest
    shuffled = np.random.default_rng(0).permutation(len(y))
    assert bk.KNNBayes(metric=metric).fit(X.iloc[shuffled], y[shuffled]).model_.digest == whole.model_.digest
    with pytest.raises(ForgetError):
        two.forget(X[half], y[half])


@pytest.mark.parametrize("most", [None, 5])
def test_columns_without_a_value_so_far_find_their_kind_later(most):
    first = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "town": [None] * 4, "size": [None] * 4})
    later = pd.DataFrame({"x": [5.0, 6.0, 7.0, 9.0], "town": list("abab"), "size": [1.0, 2.0, 3.0, 4.0]})
    parts = bk.KNNBayes(metric="gower", max_rows=most).fit(first, [0, 0, 1, 1]).partial_fit(later, [0, 1, 0, 1])
    whole = bk.KNNBayes(metric="gower", max_rows=most).fit(pd.concat([first, later]), [0, 0, 1, 1, 0, 1, 0, 1])
    assert parts.model_.digest == whole.model_.digest


def test_files_engines_and_threads(tmp_path):
    X, y = mixed(4000)
    whole = bk.KNNBayes(metric="gower", n_jobs=2).fit(X, y)
    table = pa.Table.from_pandas(X.assign(y=y), preserve_index=False)
    levels = table["grade"].combine_chunks().cast(pa.string())
    table = table.set_column(table.column_names.index("grade"), "grade", levels)
    kinds = {"grade": ["low", "mid", "high"]}
    local = bk.KNNBayes(metric="gower", kinds=kinds).fit(table, "y")
    database = duckdb.from_arrow(table)
    assert bk.KNNBayes(metric="gower", kinds=kinds).fit(database, "y").model_.digest == local.model_.digest
    assert local.model_.digest == whole.model_.digest
    local.save(tmp_path / "m.bayes")
    back = bk.load(tmp_path / "m.bayes")
    assert isinstance(back, bk.KNNBayes)
    assert back.model_.digest == local.model_.digest
    assert np.array_equal(back.predict_proba(X[:50]), local.predict_proba(X[:50]))


# -- a cap on rows ----------------------------------------------------------------------------------


def test_a_capped_model_does_not_depend_on_order_or_split(tmp_path):
    X, y = mixed(3000)
    settings = {"metric": "gower", "max_rows": 400, "random_state": 7}
    whole = bk.KNNBayes(**settings).fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    parts = bk.KNNBayes(**settings)
    for some in np.array_split(order, 7):
        parts.partial_fit(X.iloc[some], y[some])
    assert parts.model_.digest == whole.model_.digest
    threads = bk.KNNBayes(**settings, n_jobs=2).fit(X.iloc[order], y[order])
    assert threads.model_.digest == whole.model_.digest
    kept = whole.model_.density.densities[0].statistic.rows
    assert 300 < len(kept) <= 400
    other = bk.KNNBayes(metric="gower", max_rows=400, random_state=8).fit(X, y)
    assert other.model_.digest != whole.model_.digest
    whole.save(tmp_path / "m.bayes")
    assert bk.load(tmp_path / "m.bayes").model_.digest == whole.model_.digest


def test_a_sample_is_like_the_whole():
    X, y = numbers(20_000, 2, digits=12)
    model = bk.KNNBayes(max_rows=1000).fit(X, y)
    kept = model.model_.density.densities[0].statistic
    assert np.bincount(kept.rows.group) / 1000 == pytest.approx(np.bincount(y) / len(y), abs=0.05)
    assert kept.rows.numbers.mean(axis=0) == pytest.approx(X.mean(axis=0), abs=0.2)
    assert model.predict_proba(X[:3]).sum(axis=1) == pytest.approx(1)


def test_forgetting_what_a_sample_dropped_changes_the_counts_only():
    X, y = numbers(500, 2, digits=12)
    model = bk.KNNBayes(max_rows=100).fit(X, y)
    kept = model.model_.density.densities[0].statistic.rows.numbers
    dropped = np.flatnonzero(~(X[:, None] == kept[None]).all(axis=2).any(axis=1))[:50]
    model.forget(X[dropped], y[dropped])
    assert np.array_equal(model.model_.density.densities[0].statistic.rows.numbers, kept)
    assert model.model_.weights.sum() == 450
    model.forget(kept[:1], model.neighbors(kept[:1]).labels[:1])
    assert len(model.model_.density.densities[0].statistic.rows) == 99


# -- asking -----------------------------------------------------------------------------------------


def test_neighbors_are_the_learned_rows():
    X, y = mixed()
    model = bk.KNNBayes(k=3, metric="gower").fit(X, y)
    found = model.neighbors(X[:4])
    assert len(found) == 4
    for i in range(4):
        mine = found[i]
        assert mine.distances[0] == 0
        assert (np.diff(mine.distances) >= 0).all()
        assert mine.weights.sum() >= 3
        assert mine.radius[0] == pytest.approx(mine.distances[-1])
        own = [None if pd.isna(v) else v for v in X.iloc[i]]
        assert own in [list(row.values()) for row in mine.rows.to_pylist()]


def test_explain_has_one_part():
    X, y = numbers()
    model = bk.KNNBayes().fit(X, y)
    told = model.explain(X[:3], top=1)
    assert told.parts == ("neighbours",)
    assert told.terms.shape == (3, 1, 3)
    assert "neighbours" in str(told)
    joint = told.prior + told.terms[:, 0]
    assert np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True) == pytest.approx(model.predict_proba(X[:3]))


def test_unseen_levels():
    X, y = mixed(holes=0)
    strange = X[:20].assign(town="nowhere")
    model = bk.KNNBayes(metric="gower").fit(X, y)
    assert np.array_equal(model.predict_proba(strange), model.predict_proba(strange.assign(town=None)))
    smooth = bk.KNNBayes(metric="gower", unseen="smooth").fit(X, y)
    far = smooth.neighbors(strange[:1]).distances
    assert (far >= 1 / 5).all()
    with pytest.raises(InputError, match="nowhere"):
        bk.KNNBayes(metric="gower", unseen="error").fit(X, y).predict(strange)


# -- bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS)
def test_hard_tables_give_finite_answers(metric):
    rng = np.random.default_rng(0)
    y = np.array([0, 0, 0, 1, 1, 2])
    X = rng.normal(size=(6, 4))
    tables = {
        "more columns than rows": rng.normal(size=(6, 30)),
        "duplicate columns": np.column_stack([X, X]),
        "constant columns": np.column_stack([X, np.ones(6)]),
        "only constant columns": np.ones((6, 2)),
        "constant within classes": np.column_stack([X, y.astype(float)]),
        "huge": X * 1e300,
        "tiny": X * 5e-324,
        "huge and tiny": X * [1e300, 1e-300, 1.0, 5e-324],
        "an empty column": np.column_stack([X, np.full(6, np.nan)]),
        "nothing": np.full((6, 2), np.nan),
    }
    for name, table in tables.items():
        model = bk.KNNBayes(k=50, metric=metric).fit(table, y)
        asked = np.vstack([table, table + 1e5, np.full((1, table.shape[1]), np.nan)])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            proba = model.predict_proba(asked, prior="uniform")
            assert np.isfinite(model.log_evidence(asked)).all(), name
        assert np.isfinite(proba).all(), name
        assert proba.sum(axis=1) == pytest.approx(1), name


@pytest.mark.parametrize("metric", METRICS)
def test_a_row_without_values_gets_the_prior(metric):
    X, y = numbers()
    asked = np.full((2, 3), np.nan)
    model = bk.KNNBayes(metric=metric).fit(X, y)
    assert model.predict_proba(asked) == pytest.approx(np.tile(np.bincount(y) / len(y), (2, 1)))
    assert model.predict_proba(asked, prior=[0.2, 0.3, 0.5]) == pytest.approx(np.tile([0.2, 0.3, 0.5], (2, 1)))
    assert np.isnan(model.neighbors(asked).radius).all()


def test_k_larger_than_the_rows_takes_them_all():
    X, y = load_iris(return_X_y=True)
    assert bk.KNNBayes(k=10**6).fit(X, y).predict_proba(X[:2]) == pytest.approx(np.full((2, 3), 1 / 3))


@pytest.mark.parametrize("metric", METRICS[:3])
def test_a_metric_of_numbers_refuses_other_columns_by_name(metric):
    X, y = mixed()
    with pytest.raises(SchemaError, match=r"'town' is nominal.*gower"):
        bk.KNNBayes(metric=metric).fit(X[["x", "town"]], y)
    with pytest.raises(SchemaError, match=r"'x' has missing=\"level\".*gower"):
        bk.KNNBayes(metric=metric, missing="level").fit(X[["x"]], y)
    assert bk.KNNBayes(metric="gower", missing="level").fit(X, y).score(X, y) > 0.3


def test_levels_have_no_evidence():
    X, y = mixed()
    with pytest.raises(InputError, match="volume"):
        bk.KNNBayes(metric="gower").fit(X, y).log_evidence(X)


@pytest.mark.parametrize(
    "settings",
    [
        {"k": 0},
        {"k": 2.5},
        {"k": True},
        {"metric": "cosine"},
        {"scale": "range"},
        {"weights": "distance"},
        {"pseudo": -1},
        {"max_rows": 0},
        {"random_state": -1},
        {"random_state": None},
    ],
    ids=str,
)
def test_bad_settings_are_named(settings):
    with pytest.raises(InputError, match=f"{next(iter(settings))}="):
        bk.KNNBayes(**settings).fit(*numbers())


# -- evaluation -------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "gower"])
def test_folds_by_algebra_are_refits(metric):
    X, y = mixed(90)
    X = X if metric == "gower" else X[["x", "n"]]
    fold = np.arange(90) % 4
    found = bk.evaluate(bk.KNNBayes(metric=metric), X, y, bk.CrossValidation(folds=fold))
    assert found.computed == "algebra"
    for f in range(4):
        alone = bk.KNNBayes(metric=metric).fit(X[fold != f], y[fold != f]).predict_proba(X[fold == f])
        assert found.proba[fold == f] == pytest.approx(alone, abs=1e-12)


def test_leave_one_out_by_self_exclusion_is_brute_force():
    X, y = numbers(60, 2)
    found = bk.evaluate(bk.KNNBayes(k=3), X, y, bk.LeaveOneOut())
    assert found.computed == "algebra"
    for i in range(60):
        kept = np.arange(60) != i
        alone = bk.KNNBayes(k=3).fit(X[kept], y[kept]).predict_proba(X[i : i + 1])
        assert found.proba[i] == pytest.approx(alone[0], abs=1e-12)


def test_a_histogram_with_mdlp_is_left_out_by_refits():
    X, y = numbers(40, 2)
    found = bk.evaluate(bk.NaiveBayes(families=Histogram("mdlp")), X, y, bk.LeaveOneOut())
    assert found.computed == "refit"
