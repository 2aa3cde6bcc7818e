"""Why a decision was made, what would change it, and how to add it up by hand."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import log2, log10

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import bayeskit as bk
from bayeskit.errors import InputError

SHAPES = [
    *("circle blue large +", "circle red medium -", "circle red large -", "square blue small -", "square red small -"),
    *("square red medium +", "square blue medium +", "square blue large -", "triangle red small -"),
    *("triangle red large +", "triangle blue medium +"),
]
NAMES = ("shape", "colour", "size")
ROWS = [line.split() for line in SHAPES]
TABLE = {name: [row[j] for row in ROWS] for j, name in enumerate(NAMES)}
LABELS = [row[3] for row in ROWS]


def exact_joint(values, smoothing):
    """Joint probability of each class by counting, as fractions; None is a missing value."""
    found = {}
    for label, n in Counter(LABELS).items():
        joint = Fraction(n, len(ROWS))
        for j, value in enumerate(values):
            if value is not None:
                count = sum(row[j] == value and row[3] == label for row in ROWS)
                levels = len({row[j] for row in ROWS})
                joint *= Fraction(count + smoothing, n + smoothing * levels)
        found[label] = joint
    return found


def one(*values):
    return {name: [value] for name, value in zip(NAMES, values, strict=True)}


def two_normals(n=200, seed=0):
    """Classes whose means and deviations are exactly 0, 1 and 2, 1."""
    z = norm.ppf((np.arange(n) + 0.5) / n)
    z = (z - z.mean()) / z.std()
    return {"x": np.concatenate([z, z + 2])}, np.repeat(["a", "b"], n)


# -- weights of evidence -------------------------------------------------------------------------


def test_evidence_in_bits_adds_up_to_the_log_odds_of_exact_fractions():
    explained = bk.NaiveBayes(smoothing=0).fit(TABLE, LABELS).explain(one("circle", "blue", "medium"))
    odds = Fraction(9, 275) / Fraction(1, 99)
    assert explained.evidence(unit="bits").sum() == pytest.approx(log2(odds), abs=1e-12)


def test_a_shape_alone_weighs_what_its_shares_say():
    explained = bk.NaiveBayes(smoothing=0).fit(TABLE, LABELS).explain(one("circle", None, None))
    assert explained.evidence(0, "+", unit="points")[1] == pytest.approx(
        10 * log10(Fraction(1, 5) / Fraction(2, 6)), abs=1e-12
    )
    assert explained.evidence(0, "+", unit="points")[2:].tolist() == [0, 0]


def test_a_rival_is_one_class_alone():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 2)), np.repeat(["p", "q", "r"], 20)
    explained = bk.NaiveBayes().fit(X, y).explain(X[:1])
    terms = [norm.logpdf(X[0], X[y == c].mean(axis=0), X[y == c].std(axis=0)) for c in "pqr"]
    assert explained.evidence(0, "q", rival="r")[1:] == pytest.approx(terms[1] - terms[2], abs=1e-10)


@pytest.mark.parametrize("wrong", [{"unit": "inches"}, {"label": "z"}, {"rival": "z"}, {"label": "+", "rival": "+"}])
def test_wrong_units_and_labels_are_named(wrong):
    explained = bk.NaiveBayes().fit(TABLE, LABELS).explain(one("circle", "blue", "medium"))
    with pytest.raises(InputError):
        explained.evidence(**wrong)


def test_missing_and_unseen_values_are_shown_as_such():
    explained = bk.NaiveBayes().fit(TABLE, LABELS).explain(one("hexagon", None, "large"))
    values = explained.frame().to_pydict()["value"]
    assert values == [None, "hexagon (never seen)", "missing", "large"]
    for text in (str(explained), explained._repr_html_()):
        assert "never seen" in text
        assert "missing" in text


def test_the_frame_of_an_explanation_adds_up():
    model = bk.NaiveBayes(smoothing=0).fit(TABLE, LABELS)
    shown = model.explain(one("circle", "blue", "medium")).frame("pandas")
    assert np.exp(shown[["+", "-"]].sum()).tolist() == pytest.approx([9 / 275, 1 / 99], rel=1e-12)


def test_names_are_text_in_notebooks_and_terminals():
    label = "<img src=x onerror=alert(1)>"
    explained = bk.NaiveBayes().fit({"[red]a": ["u", "v"]}, [label, "b"]).explain({"[red]a": ["u"]})
    assert "<img" not in explained._repr_html_()
    from io import StringIO

    from rich.console import Console

    out = StringIO()
    Console(file=out, width=200).print(explained)
    assert "[red]a" in out.getvalue()


def test_sixty_long_labels_stay_readable():
    labels = [f"{i:02d}" + "x" * 300 for i in range(60)]
    explained = bk.NaiveBayes().fit([[float(i)] for i in range(60)] * 2, labels * 2).explain([[3.0]])
    assert max(map(len, str(explained).splitlines())) < 260
    assert "52 more" in str(explained)


# -- what would change the decision --------------------------------------------------------------


def test_a_number_flips_where_two_normals_cross():
    X, y = two_normals()
    found = bk.NaiveBayes().fit(X, y).counterfactual({"x": [0.2, 5.0]})
    near, far = found.nearest
    assert (near.before, near.after) == ("a", "b")
    assert near.becomes == pytest.approx(1, abs=1e-4)
    assert far.becomes == pytest.approx(1, abs=1e-4)
    assert near.distance == pytest.approx(0.8 / np.sqrt(2), rel=1e-3)


@pytest.mark.parametrize("row", ROWS, ids=SHAPES)
def test_levels_that_flip_are_those_that_exact_fractions_flip(row):
    held = row[:3]
    before = exact_joint(held, 1)
    found = bk.NaiveBayes().fit(TABLE, LABELS).counterfactual(one(*held))
    flips = {f.column for f in found.rows[0] if f.becomes is not None}
    expected = set()
    for j, name in enumerate(NAMES):
        for value in {r[j] for r in ROWS}:
            after = exact_joint([*held[:j], value, *held[j + 1 :]], 1)
            if max(after, key=after.get) != max(before, key=before.get):
                expected.add(name)
    assert flips == expected


def test_leaving_a_value_out_may_flip_too():
    for row in ([*r[:3]] for r in ROWS):
        found = bk.NaiveBayes().fit(TABLE, LABELS).counterfactual(one(*row)).rows[0]
        left_out = {f.column for f in found if f.becomes is None}
        before = exact_joint(row, 1)
        for j, name in enumerate(NAMES):
            after = exact_joint([*row[:j], None, *row[j + 1 :]], 1)
            assert (name in left_out) == (max(after, key=after.get) != max(before, key=before.get))


@pytest.mark.parametrize("model", [bk.FullBayes(), bk.NaiveBayes(families=bk.families.Kernel())], ids=repr)
def test_the_nearest_value_flips_and_nothing_nearer_does(model):
    rng = np.random.default_rng(2)
    X = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(1.5, 1.2, (40, 2))])
    model.fit(X, np.repeat([0, 1], 40))
    for row, flip in zip(X[:3], model.counterfactual(X[:3]).nearest, strict=True):
        along = np.repeat(row[None], 50, axis=0)
        along[:, int(flip.column[1:])] = np.linspace(flip.value, flip.becomes, 50)
        decided = model.predict(along)
        assert decided[-1] == flip.after
        assert (decided[:-2] == flip.before).all()


def test_columns_without_a_density_take_values_of_the_rows_learned_or_of_a_table():
    X, y = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]], list("aaabbb")
    model = bk.KNNBayes(k=1).fit(X, y)
    assert model.counterfactual([[1.0]]).nearest[0].becomes == 8.0
    assert model.counterfactual([[1.0]], among=[[0.0], [6.0]]).nearest[0].becomes == 6.0


def test_a_number_that_is_cut_flips_at_the_cut():
    x = np.array([1.0, 2.0, 3.0, 7.0, 8.0, 9.0] * 4)
    model = bk.TAN(cuts="mdlp").fit({"x": x}, np.where(x > 5, "b", "a"))
    up, down = model.counterfactual({"x": [2.0, 8.0]}).nearest
    assert (up.becomes, up.distance) == (np.nextafter(5.0, 9), 1.0)  # cut midway, right-closed: 5 itself lies below
    assert (down.becomes, down.distance) == (5.0, 1.0)


@pytest.mark.parametrize("model", [bk.NaiveBayes(), bk.TAN(cuts="mdlp")], ids=repr)
def test_whole_numbers_become_whole_numbers(model):
    n = np.array([1, 2, 3, 6, 7, 8] * 4)
    flip = model.fit({"n": n}, np.where(n > 4, "b", "a")).counterfactual({"n": np.array([2])}).nearest[0]
    assert flip.becomes == 5


def clinic(n=90, seed=4):
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.5
    table = {
        "dose": rng.normal(1.4 * ill, 1.0).round(2),
        "sign": np.where(rng.random(n) < 0.25 + 0.5 * ill, "yes", "no").tolist(),
        "ward": rng.choice(["a", "b", "c"], n).tolist(),
    }
    return table, np.where(ill, "ill", "well")


EVERY = [
    bk.AutoBayes(max_candidates=9),
    bk.Calibrated(bk.NaiveBayes(), "isotonic"),
    bk.Calibrated(bk.TAN()),
    bk.FullBayes(),
    bk.KNNBayes(metric="gower", k=9),
    bk.AODE(n=2),
    bk.NetworkBayes(),
    bk.RiskClassifier(bk.NaiveBayes(), {"ill": {"treat": 1, "wait": 9}, "well": {"treat": 4, "wait": 0}}, reject=1.9),
]


@pytest.mark.parametrize("model", EVERY, ids=lambda m: type(m).__name__)
def test_every_classifier_says_which_level_flips_it(model):
    """Against asking for every level of every column in turn."""
    table, labels = clinic()
    model.fit(table, labels)
    rows = {name: values[:6] for name, values in table.items()}
    before = model.predict(rows)
    found = model.counterfactual(rows)
    for i, flips in enumerate(found.rows):
        row = {name: values[i : i + 1] for name, values in rows.items()}
        expected = {}
        for name, levels in (("sign", ("no", "yes")), ("ward", ("a", "b", "c"))):
            after = {level: model.predict({**row, name: [level]})[0] for level in levels}
            expected[name] = {level for level, what in after.items() if what != before[i]}
        told = {f.column: f for f in flips if f.becomes is not None}
        for name, levels in expected.items():
            assert (name in told) == bool(levels)
            assert not levels or told[name].becomes in levels
        for flip in flips:
            assert model.predict({**row, flip.column: [flip.becomes]})[0] == flip.after != flip.before


@pytest.mark.parametrize("model", EVERY, ids=lambda m: type(m).__name__)
def test_every_classifier_explains_what_it_says(model):
    table, labels = clinic()
    explained = model.fit(table, labels).explain(table)
    proba = model.predict_proba(table)
    joint = np.exp(explained.joint - explained.joint.max(axis=1, keepdims=True))
    assert joint / joint.sum(axis=1, keepdims=True) == pytest.approx(proba, abs=1e-9)


def test_the_action_after_a_flip_costs_least_or_nothing_is_done():
    table, labels = clinic()
    model = EVERY[-1].fit(table, labels)
    for i, flips in enumerate(model.counterfactual({n: v[:8] for n, v in table.items()}).rows):
        for flip in flips:
            row = {n: v[i : i + 1] for n, v in table.items()} | {flip.column: [flip.becomes]}
            p = bk.NaiveBayes().fit(table, labels).predict_proba(row)[0]
            costs = {"treat": p[0] * 1 + p[1] * 4, "wait": p[0] * 9}
            assert flip.after == ("abstain" if min(costs.values()) > 1.9 else min(costs, key=costs.get))
            assert np.isnan(flip.probability)


def test_costs_around_a_stranger_are_not_explained():
    from sklearn.linear_model import LogisticRegression

    model = bk.RiskClassifier(LogisticRegression()).fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(bk.errors.KindError, match="LogisticRegression"):
        model.counterfactual([[0.0]])


# -- the nomogram --------------------------------------------------------------------------------


def mixed(seed=0, classes=2, n=120):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    X = {
        "age": rng.normal(y, 1 + 0.3 * y),
        "visits": rng.poisson(2 + y),
        "colour": rng.choice(["red", "blue", "green"], n).tolist(),
        "hole": [None if rng.random() < 0.3 else float(v) for v in rng.normal(y)],
    }
    return X, np.array(["low", "mid", "top"])[y]


@pytest.mark.parametrize("weights", [None, "fitted"])
def test_points_of_two_classes_give_the_posterior(weights):
    X, y = mixed()
    model = bk.NaiveBayes(kinds={"visits": "count"}, weights=weights).fit(X, y)
    chart = model.nomogram("mid")
    read = chart.probability(chart.points(X).sum(axis=1))
    assert read == pytest.approx(model.predict_proba(X)[:, 1], abs=1e-9)
    assert max(np.ptp(s.points) for s in chart.scales) == pytest.approx(100)


def test_points_read_from_the_table_give_exact_fractions():
    chart = bk.NaiveBayes().fit(TABLE, LABELS).nomogram("+")
    table = chart.frame().to_pydict()
    points = {(c, v): p for c, v, p in zip(table["column"], table["value"], table["points"], strict=True)}
    for row in [*(r[:3] for r in ROWS), [None, "red", "small"], [None, None, None]]:
        joint = exact_joint(row, 1)
        total = sum(points[name, value] for name, value in zip(NAMES, row, strict=True))
        assert float(chart.probability(total)) == pytest.approx(float(joint["+"] / sum(joint.values())), abs=1e-9)


def test_with_three_classes_a_rival_is_named_and_the_two_compared():
    X, y = mixed(classes=3)
    model = bk.NaiveBayes().fit(X, y)
    with pytest.raises(InputError, match="rival"):
        model.nomogram("low")
    p = model.predict_proba(X)
    chart = model.nomogram("low", rival="top")
    assert chart.probability(chart.points(X).sum(axis=1)) == pytest.approx(p[:, 0] / (p[:, 0] + p[:, 2]), abs=1e-9)


@pytest.mark.parametrize(
    ("model", "message"),
    [(bk.FullBayes(), "independent"), (bk.KNNBayes(metric="gower"), "independent"), (bk.TAN(), "independent")],
    ids=["full", "neighbours", "tree"],
)
def test_models_whose_columns_depend_on_each_other_have_no_nomogram(model, message):
    X, y = mixed()
    del X["hole"]
    with pytest.raises(InputError, match=message):
        model.fit(X, y).nomogram("low")


def test_a_value_that_rules_a_class_out_has_no_points():
    with pytest.raises(InputError, match="smoothing"):
        bk.NaiveBayes(smoothing=0).fit({"a": ["x", "y"]}, ["p", "q"]).nomogram("p")


def test_a_new_prior_moves_the_odds_only():
    X, y = mixed()
    model = bk.NaiveBayes().fit(X, y)
    prior = {"low": 0.9, "mid": 0.1}
    chart = model.nomogram("low", prior=prior)
    assert chart.probability(chart.points(X).sum(axis=1)) == pytest.approx(
        model.predict_proba(X, prior=prior)[:, 0], abs=1e-9
    )


def test_columns_left_out_of_the_printed_page_count_as_missing():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 9))
    model = bk.NaiveBayes().fit(X, X[:, 0] + X[:, 4] > 0)
    chart = model.nomogram(True)
    page = chart.plot(most=2)
    shown = [s.name for s in page.scales]
    kept = [int(name[1:]) for name in shown]
    some = np.full_like(X, np.nan)
    some[:, kept] = X[:, kept]
    read = page.probability(chart.points(X)[:, kept].sum(axis=1))
    assert read == pytest.approx(model.predict_proba(some)[:, 1], abs=1e-9)
    assert page.total(page.probability(120.0)) == pytest.approx(120.0)


@pytest.mark.parametrize(("method", "classes"), [("temperature", 2), ("temperature", 3), ("sigmoid", 2)])
def test_points_of_a_calibrated_model_give_its_posterior(method, classes):
    X, y = mixed(classes=classes)
    model = bk.Calibrated(bk.NaiveBayes(), method).fit(X, y)
    prior = dict.fromkeys(model.classes_, 1 / classes)
    for given in (None, prior):
        chart = model.nomogram("low", "mid", prior=given)
        p = model.predict_proba(X, prior=given)
        wanted = p[:, 0] / (p[:, 0] + p[:, 1])
        assert chart.probability(chart.points(X).sum(axis=1)) == pytest.approx(wanted, abs=1e-9)
    assert float(chart.probability(chart.total(0.3))) == pytest.approx(0.3)


def test_a_pool_of_one_member_between_two_classes_has_a_nomogram():
    X, y = mixed()
    pool = bk.AutoBayes(max_candidates=1)
    pool.fit(X, y)
    naive = next(c for c in bk.AutoBayes().fit(X, y).members_ if c.name == "naive, families chosen")
    pool.members_ = (naive,)
    pool.pool_ = replace(pool.pool_, weight=np.array([0.8]))
    chart = pool.nomogram("mid")
    read = chart.probability(chart.points(X).sum(axis=1))
    assert read == pytest.approx(pool.predict_proba(X)[:, 1], abs=1e-9)
    assert chart.probability(chart.total([0.2, 0.7])) == pytest.approx([0.2, 0.7])
    assert not np.isfinite(chart.total(1 - 1e-6))  # backed off to the prior, it is never as sure as that


@pytest.mark.parametrize(
    ("model", "classes", "message"),
    [
        (bk.AutoBayes(max_candidates=3), 2, "depend on each other"),
        (bk.Calibrated(bk.NaiveBayes(), "isotonic"), 2, "in steps"),
        (bk.Calibrated(bk.NaiveBayes(), "sigmoid"), 3, "more than two"),
        (bk.Calibrated(bk.TAN()), 2, "independent"),
        (bk.NetworkBayes(), 2, "independent"),
    ],
    ids=["pool", "steps", "three", "tree", "network"],
)
def test_why_there_is_no_nomogram_is_said(model, classes, message):
    X, y = mixed(classes=classes)
    with pytest.raises(InputError, match=message):
        model.fit(X, y).nomogram("low", "mid")


# -- columns by themselves -----------------------------------------------------------------------


def test_a_column_tells_what_an_integral_says():
    X, y = two_normals()
    found = bk.NaiveBayes().fit(X, y).marginal("x")
    pooled = lambda x: (norm.pdf(x) + norm.pdf(x, 2)) / 2  # noqa: E731
    told = quad(lambda x: norm.pdf(x) * log2(norm.pdf(x) / pooled(x)), -9, 11)[0]
    assert found.information == pytest.approx(told, abs=1e-6)
    assert found.mean == pytest.approx([0, 2], abs=1e-8)
    assert found.deviation == pytest.approx([1, 1], abs=1e-8)


def test_levels_tell_what_their_shares_say():
    found = bk.NaiveBayes(smoothing=0).fit(TABLE, LABELS).marginal("size")
    told = 0.0
    for size in ("small", "medium", "large"):
        for label, n in Counter(LABELS).items():
            joint = Fraction(sum(r[2] == size and r[3] == label for r in ROWS), len(ROWS))
            if joint:
                told += float(joint) * log2(joint / (Fraction(TABLE["size"].count(size), 11) * Fraction(n, 11)))
    assert found.information == pytest.approx(told, abs=1e-12)


def test_full_bayes_knows_its_columns_alone():
    rng = np.random.default_rng(4)
    X = rng.multivariate_normal([0, 0], [[2, 1.2], [1.2, 1]], 200)
    y = np.repeat(["a", "b"], 100)
    found = bk.FullBayes(shrinkage=None).fit(X, y).marginal("x1")
    assert found.mean == pytest.approx([X[:100, 1].mean(), X[100:, 1].mean()], abs=1e-6)
    assert found.deviation == pytest.approx([X[:100, 1].std(), X[100:, 1].std()], rel=1e-6)


def test_a_hole_that_is_a_level_does_not_colour_other_columns():
    X, y = two_normals(20)
    X["hole"] = [None, 1.0] * 10 + [1.0] * 20
    found = bk.NaiveBayes(missing={"hole": "level"}).fit(X, y).marginal("x")
    values = np.asarray(found.values)
    assert np.exp(found.log_density[:, 0]) == pytest.approx(norm.pdf(values), abs=1e-9)


def test_the_summary_ranks_columns_and_tells_their_parameters():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 100)
    X = {"noise": rng.normal(size=200), "signal": rng.normal(size=200) + 3 * (y == "b"), "empty": [None] * 200}
    summary = bk.NaiveBayes().fit(X, y).summary()
    assert [p["column"] for p in summary.parameters] == ["signal", "noise"]
    mean = [c["mean"] for c in summary.parameters[0]["classes"]]
    assert mean == pytest.approx([X["signal"][:100].mean(), X["signal"][100:].mean()], abs=1e-7)
    assert "most informative" in str(summary)


def test_one_row_and_one_class_are_explained_or_refused_by_name():
    with pytest.warns(UserWarning, match="one class"):
        model = bk.NaiveBayes().fit({"a": ["x"]}, ["p"])
    assert "P(c | x)" in str(model.explain({"a": ["x"]}))
    assert model.counterfactual({"a": ["x"]}).nearest == (None,)
    with pytest.raises(InputError, match="one class"):
        model.nomogram("p")
