"""Worked examples B to E of five course texts, by letter and number, through the public names only."""

import math
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_iris

import bayeskit as bk
from bayeskit.smoothing import AddM, ReplaceZeros
from printed import column_given, joint

SHAPES = """circle blue large +;circle red medium -;circle red large -;square blue small -;square red small -;
square red medium +;square blue medium +;square blue large -;triangle red small -;triangle red large +;
triangle blue medium +"""
BUYERS = """<=30 high no fair no;<=30 high no excellent no;31...40 high no fair yes;>40 medium no fair yes;
>40 low yes fair yes;>40 low yes excellent no;31...40 low yes excellent yes;<=30 medium no fair no;
<=30 low yes fair yes;>40 medium yes fair yes;<=30 medium yes excellent yes;31...40 medium no excellent yes;
31...40 high yes fair yes;>40 medium no excellent no"""
EVENINGS = """Urgent Yes Yes Party;Urgent No Yes Study;Near Yes Yes Party;None Yes No Party;None No Yes Pub;
None Yes No Party;Near No No Study;Near No Yes Gaming;Near Yes Yes Party;Urgent No No Study"""


def table(text, names):
    """Rows of a printed table as records."""
    return [dict(zip(names.split(), row.split(), strict=True)) for row in text.split(";")]


def test_b1_stiff_neck_and_meningitis():
    assert bk.bayes_rule(prior=0.00002, likelihood=0.5, evidence=0.05) == pytest.approx(0.0002, rel=1e-15)
    exact = bk.bayes_rule(prior=F(2, 100_000), likelihood=F(1, 2), evidence=F(1, 20))
    assert exact == F(2, 10_000)


def test_b2_eleven_shapes_without_smoothing():
    rows = table(SHAPES, "shape colour size sign")
    model = bk.NaiveBayes(smoothing=0).fit(rows, [row.pop("sign") for row in rows])
    new = [{"shape": "circle", "colour": "blue", "size": "medium"}]
    assert model.classes_.tolist() == ["+", "-"]
    assert joint(model, new)[0] == pytest.approx([9 / 275, 1 / 99], rel=1e-14)
    assert model.predict_proba(new)[0, 0] == pytest.approx(float(F(9, 275) / (F(9, 275) + F(1, 99))), rel=1e-14)
    assert model.predict(new).tolist() == ["+"]


@pytest.mark.parametrize(
    ("given", "red", "large", "both"),
    [(None, F(6, 11), F(4, 11), F(2, 11)), ({"sign": "+"}, F(2, 5), F(2, 5), F(1, 5))],
)
def test_b3_red_and_large_are_not_independent(given, red, large, both):
    found = bk.independence(table(SHAPES, "shape colour size sign"), {"colour": "red"}, {"size": "large"}, given)
    assert (found.p_a, found.p_b, found.p_both) == (red, large, both)
    assert not found.independent


COINS = {"side": ["h", "h", "h", "t", "h", "h", "h", "h"]}  # class a: 3 h, 1 t; class b: 4 h
COIN_CLASSES = list("aaaabbbb")


@pytest.mark.parametrize(
    ("rule", "a", "b"),
    [
        (ReplaceZeros(0.5), F(1, 4), F(1, 2) / 8),
        (ReplaceZeros("class"), F(1, 4), F(4, 8) / 8),
        (AddM(1), F(1 + 1, 4 + 1), F(0 + 1, 4 + 1)),
        (AddM(3), F(1 + 3, 4 + 3), F(0 + 3, 4 + 3)),
    ],
)
def test_b4_zero_count_rules(rule, a, b):
    model = bk.NaiveBayes(smoothing=rule).fit(COINS, COIN_CLASSES)
    tails = {"side": ["t"]}
    assert column_given(model, tails)[0] == pytest.approx([float(a), float(b)], rel=1e-14)
    assert model.predict_proba(tails)[0] == pytest.approx([float(a / (a + b)), float(b / (a + b))], rel=1e-14)


def test_b4_p_class_over_n_tells_unequal_classes_apart():
    sides, classes = ["h", "t", "h", "h", "h", "h", "e", "e", "e", "e"], list("aa" + "b" * 8)
    model = bk.NaiveBayes(smoothing=ReplaceZeros("class")).fit({"side": sides}, classes)
    assert column_given(model, {"side": ["e"]})[0] == pytest.approx([float(F(2, 10) / 10), 4 / 8], rel=1e-14)
    assert column_given(model, {"side": ["t"]})[0] == pytest.approx([1 / 2, float(F(8, 10) / 10)], rel=1e-14)


@pytest.mark.parametrize("rule", [ReplaceZeros(0.5), ReplaceZeros("class"), AddM(1)])
def test_b4_a_thousand_attributes_do_not_underflow(rule):
    X = np.full((8, 1000), "h")
    X[3] = "t"
    model = bk.NaiveBayes(smoothing=rule).fit(X, COIN_CLASSES)
    new = np.full((1, 1000), "t")
    new[0, :500] = "h"
    a = (F(4, 5), F(2, 5)) if isinstance(rule, AddM) else (F(3, 4), F(1, 4))
    b = (F(1), F(1, 5)) if isinstance(rule, AddM) else (F(1), F(1, 16))
    log = np.array([500 * math.log(heads) + 500 * math.log(tails) for heads, tails in (a, b)])
    assert np.exp(log[1]) < 1e-300  # a product of doubles would be near or below the smallest
    assert model.predict_joint_log_proba(new)[0] == pytest.approx(log + math.log(0.5), rel=1e-12)
    assert model.predict_log_proba(new)[0] == pytest.approx(log - np.logaddexp(*log), rel=1e-12, abs=1e-9)


def test_b5_discretised_attributes_chosen_automatically_learned_once():
    """Numbers into intervals, a subset of attributes by itself, and then the data can be thrown away."""
    X, y = load_iris(return_X_y=True)
    noise = np.random.default_rng(0).normal(size=(150, 3))
    cut = bk.Discretizer(method="mdlp").fit(np.hstack([X, noise]), y)
    assert [len(cut.cuts_[f"x{j}"]) for j in range(7)] == [2, 2, 2, 2, 0, 0, 0]
    cells = cut.transform(np.hstack([X, noise]))
    chosen = bk.FeatureSelector(method="forward", estimator=bk.NaiveBayes(kinds="nominal")).fit(cells, y)
    kept = chosen.get_feature_names_out().tolist()
    assert kept == ["x2", "x3"]  # the petals
    model = bk.NaiveBayes(kinds="nominal").fit(chosen.transform(cells), y)
    table = sum(part.nbytes for part in model.model_.counted.statistic.arrays().values())
    assert table < X.nbytes / 4
    assert model.score(chosen.transform(cells), y) > 0.95


def test_c1_buys_computer():
    rows = table(BUYERS, "age income student credit_rating buys")
    model = bk.NaiveBayes(smoothing=0).fit(rows, [row.pop("buys") for row in rows])
    new = [{"age": "<=30", "income": "medium", "student": "yes", "credit_rating": "fair"}]
    yes, no = F(2, 9) * F(4, 9) * F(6, 9) * F(6, 9), F(3, 5) * F(2, 5) * F(1, 5) * F(2, 5)
    likelihood = np.prod(column_given(model, new), axis=0)
    assert likelihood == pytest.approx([float(no), float(yes)], rel=1e-14)
    assert [f"{p:.3f}" for p in likelihood] == ["0.019", "0.044"]
    assert [f"{p:.3f}" for p in joint(model, new)[0]] == ["0.007", "0.028"]
    assert model.predict(new).tolist() == ["yes"]


def test_c1_by_the_name_of_its_target():
    rows = table(BUYERS, "age income student credit_rating buys")
    named = bk.NaiveBayes(smoothing=0).fit(rows, "buys")
    new = [{"age": "<=30", "income": "medium", "student": "yes", "credit_rating": "fair"}]
    assert [f"{p:.3f}" for p in joint(named, new)[0]] == ["0.007", "0.028"]


def test_c2_laplace():
    incomes = ["medium"] * 990 + ["high"] * 10 + ["low"]
    model = bk.NaiveBayes().fit({"income": incomes}, ["yes"] * 1000 + ["no"])
    p = np.exp(model.explain({"income": ["low", "medium", "high"]}).terms[:, 0, 1])
    assert p == pytest.approx([1 / 1003, 991 / 1003, 11 / 1003], rel=1e-14)


def test_c3_gaussian_learned_in_parts_is_the_gaussian_learned_at_once():
    X, y = load_iris(return_X_y=True)
    whole = bk.NaiveBayes(families=bk.families.Gaussian()).fit(X, y)
    parts = bk.NaiveBayes(families=bk.families.Gaussian())
    for rows in np.array_split(np.random.default_rng(0).permutation(150), 7):
        parts.partial_fit(X[rows], y[rows])
    assert parts.model_.digest == whole.model_.digest
    assert np.array_equal(parts.predict_proba(X), whole.predict_proba(X))
    by_class = [stats.norm(X[y == c].mean(axis=0), X[y == c].std(axis=0)) for c in range(3)]
    log = np.stack([d.logpdf(X).sum(axis=1) - math.log(3) for d in by_class], axis=1)
    assert parts.predict_joint_log_proba(X) == pytest.approx(log, rel=1e-12)


@pytest.mark.filterwarnings("ignore:only one class")
def test_c3_one_row_at_a_time():
    X, y = load_iris(return_X_y=True)
    whole, parts = bk.NaiveBayes().fit(X[45:55], y[45:55]), bk.NaiveBayes()
    for i in range(45, 55):
        parts.partial_fit(X[i : i + 1], y[i : i + 1])
    assert parts.model_.digest == whole.model_.digest


def test_d1_three_gaussian_classes_on_a_grid():
    rng = np.random.default_rng(231)
    X = np.concatenate([rng.normal(m, s, (n, 2)) for m, s, n in [((0, 0), 1, 40), ((3, 1), 0.6, 25), ((1, 4), 2, 9)]])
    y = np.repeat([1, 2, 3], [40, 25, 9])
    model = bk.NaiveBayes(prior="uniform").fit(X, y)
    grid = np.stack(np.meshgrid(np.linspace(-6, 9, 61), np.linspace(-6, 9, 61)), axis=-1).reshape(-1, 2)
    log = np.stack(
        [stats.norm(X[y == c].mean(axis=0), X[y == c].std(axis=0)).logpdf(grid).sum(axis=1) for c in (1, 2, 3)], axis=1
    )
    expected = np.exp(log - np.logaddexp.reduce(log, axis=1, keepdims=True))
    assert model.predict_proba(grid) == pytest.approx(expected, rel=1e-10, abs=1e-15)
    assert model.predict(grid).tolist() == (np.argmax(expected, axis=1) + 1).tolist()


def test_e3_evening_activity():
    rows = table(EVENINGS, "deadline party lazy activity")
    model = bk.NaiveBayes(smoothing=0).fit(rows, [row.pop("activity") for row in rows])
    new = [{"deadline": "Near", "party": "No", "lazy": "Yes"}]
    found = dict(zip(model.classes_.tolist(), joint(model, new)[0].tolist(), strict=True))
    assert found == pytest.approx({"Party": 0, "Study": 1 / 30, "Pub": 0, "Gaming": 1 / 10}, rel=1e-14)
    assert model.predict(new).tolist() == ["Gaming"]


def coins():
    """Two coins with rates 0.287 and 0.706: one fair share of 20 heads, the rest of none."""
    rows, labels, weights = [[20], [0], [20], [0]], [1, 1, 2, 2], [287.0, 713.0, 706.0, 294.0]
    return rows, labels, weights


def test_d2_two_coins_in_twenty_tosses():
    rows, labels, weights = coins()
    family = bk.families.Binomial(trials=20, smoothing=0)
    model = bk.NaiveBayes(families=family, prior="uniform").fit(rows, labels, sample_weight=weights)
    found = model.predict_proba([[x] for x in range(8, 13)])[:, 1]
    assert found.round(4).tolist() == [0.0314, 0.1620, 0.5355, 0.8731, 0.9762]


@pytest.mark.parametrize("prior", ["empirical", "uniform", {1: 0.999, 2: 0.001}])
def test_d3_any_class_conditional_and_any_prior(prior):
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.gamma(2, 1, 30), rng.gamma(3, 4, 10)])[:, None]
    y = np.repeat([1, 2], [30, 10])
    known = {"empirical": [0.75, 0.25], "uniform": [0.5, 0.5]}.get(
        prior if isinstance(prior, str) else "", [0.999, 0.001]
    )
    for family, density in (
        (bk.families.Exponential(smoothing=0), lambda v: stats.expon(scale=v.mean())),
        (bk.families.LogNormal(), lambda v: stats.lognorm(np.log(v).std(), scale=np.exp(np.log(v).mean()))),
        (bk.families.Gaussian(), lambda v: stats.norm(v.mean(), v.std())),
    ):
        model = bk.NaiveBayes(families=family, prior=prior).fit(X, y)
        p = np.stack([density(X[y == c]).pdf(X[:, 0]) * q for c, q in zip((1, 2), known, strict=True)], axis=1)
        assert model.predict_proba(X) == pytest.approx(p / p.sum(axis=1, keepdims=True), rel=1e-9)


def test_e10_four_types_of_columns_with_missing_values():
    rows = [
        {"smokes": 1, "town": "A", "pain": "none", "age": 31.0},
        {"smokes": 2, "town": "B", "pain": "much", "age": None},
        {"smokes": None, "town": "B", "pain": "some", "age": 62.0},
        {"smokes": 1, "town": None, "pain": None, "age": 35.0},
        {"smokes": 2, "town": "C", "pain": "much", "age": 70.0},
    ]
    kinds = {"smokes": "binary", "town": "nominal", "pain": ["none", "some", "much"], "age": "quantitative"}
    labels = ["well", "ill", "ill", "well", "ill"]
    model = bk.NaiveBayes(kinds=kinds).fit(rows, labels)
    kind_of = {c.name: (c.kind, c.family.split("(")[0]) for c in model.schema_.columns}
    assert kind_of == {
        "smokes": ("binary", "Categorical"),
        "town": ("nominal", "Categorical"),
        "pain": ("ordinal", "Ordinal"),
        "age": ("quantitative", "Gaussian"),
    }
    # ill: smokes 2, 2 of 2 values; town B, C, B; pain much, some, much; age 62, 70
    pain = F(1 + 3 * (F(1, 6) + F(F(0) + F(2, 3), 4)), 3 + 3)  # (n + a m q) / (n_c + a m) of "some"
    expected = float(F(3, 5) * F(3, 4) * F(3, 6) * pain) * stats.norm(66, 4).pdf(60)
    new = [{"smokes": 2, "town": "B", "pain": "some", "age": 60.0}]
    assert joint(model, new)[0][0] == pytest.approx(expected, rel=1e-12)
    hole = [{"smokes": None, "town": "B", "pain": None, "age": None}]
    assert joint(model, hole)[0].tolist() == pytest.approx([3 / 5 * 3 / 6, 2 / 5 * 1 / 4], rel=1e-12)


def test_e6_mahalanobis_distance_and_shapes_of_covariance():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(400, 2)) @ [[2.0, 0.6], [0.0, 0.5]], np.repeat(["a", "b"], 200)
    X[200:] += [3, 0]
    at = [[1.0, 2.0]]
    for shape in ("full", "diagonal", "spherical"):
        model = bk.FullBayes(covariance=shape, shrinkage=None).fit(X, y)
        for k, label in enumerate(["a", "b"]):
            rows = X[y == label]
            matrix = np.cov(rows.T, ddof=0)
            matrix = {
                "full": matrix,
                "diagonal": np.diag(np.diag(matrix)),
                "spherical": np.eye(2) * np.trace(matrix) / 2,
            }[shape]
            away = np.array(at[0]) - rows.mean(axis=0)
            assert model.mahalanobis(at)[0, k] == pytest.approx(np.sqrt(away @ np.linalg.inv(matrix) @ away), rel=1e-10)
            density = stats.multivariate_normal(rows.mean(axis=0), matrix).pdf(at[0])
            assert joint(model, at)[0, k] == pytest.approx(density / 2, rel=1e-10)


def test_e6_with_the_identity_the_distance_is_euclidean():
    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    X, y = np.vstack([corners, corners + 4]), np.repeat([0, 1], 4)
    found = bk.FullBayes(shrinkage=None).fit(X, y).mahalanobis([[3.0, 4.0]])
    assert found[0] == pytest.approx([5.0, 1.0])


def vertigo():
    """815 rows, 38 columns (1 nominal, 11 binary, 10 ordinal, 16 quantitative), 6 classes; zeros in some classes."""
    rng = np.random.default_rng(8)
    y = rng.choice(6, 815, p=[0.4, 0.2, 0.15, 0.1, 0.1, 0.05])
    table = {"n0": rng.choice(list("abcd"), 815)}
    for j in range(11):
        table[f"b{j}"] = np.where(rng.random(815) < rng.random(6)[y], "yes", "no")
    for j in range(10):
        table[f"o{j}"] = np.clip(rng.normal(2 + rng.normal(size=6)[y], 1).round(), 0, 4).astype(int)
    for j in range(16):
        size = rng.choice([0.0, 1.0], 6, p=[0.2, 0.8])
        table[f"q{j}"] = (rng.normal(size=815) + rng.normal(size=6)[y]) * size[y]
    frame = pd.DataFrame(table)
    return frame, y, {f"o{j}": [0, 1, 2, 3, 4] for j in range(10)}


def test_e8_full_bayes_where_class_covariances_are_singular():
    X, y, kinds = vertigo()
    with pytest.raises(bk.errors.InputError, match=r"class \d is singular: columns 'q"):
        bk.FullBayes(kinds=kinds, shrinkage=None).fit(X, y)
    train = np.arange(815) % 3 > 0
    model = bk.FullBayes(kinds=kinds).fit(X[train], y[train])
    proba = model.predict_proba(X[~train])
    assert np.isfinite(np.log(proba)).all()
    assert (model.predict(X[~train]) == y[~train]).mean() > np.mean(y[~train] == 0) + 0.1
    still = {c: tuple(f"q{j}" for j in range(16) if not X[f"q{j}"][train & (y == c)].any()) for c in range(6)}
    assert model.regularised_ == {c: names for c, names in still.items() if names}
