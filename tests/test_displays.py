"""Displays by the numbers they draw, against other libraries'."""

from functools import reduce

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pytest
from scipy.spatial.distance import mahalanobis
from scipy.stats import binomtest, bootstrap, multivariate_normal, norm
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, roc_auc_score, roc_curve

import bayeskit as bk
from bayeskit import plots
from bayeskit.errors import InputError

mpl.use("Agg")

X, Y = load_iris(return_X_y=True)
X[37] = [4.9, 3.1, 1.5, 0.1]  # as in the UCI repository
PLANE = X[:, :2]
TWO = np.where(Y == 0, "c1", "c2")


def scores(seed=0, n=300):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, "yes", "no")
    return y, np.round(np.clip(0.35 + 0.3 * (y == "yes") + rng.normal(0, 0.2, n), 0.01, 0.99), 2)


def columns(display):
    return {name: np.asarray(values) for name, values in display.frame().to_pydict().items()}


def test_a6_contours_are_shares_of_the_peak_of_the_class_density():
    model = bk.FullBayes(shrinkage=None).fit(PLANE, TWO)
    shown = columns(plots.ContourDisplay.from_estimator(model, PLANE, TWO, resolution=60))
    points = np.column_stack([shown["x0"], shown["x1"]])
    for label in ("c1", "c2"):
        mine = PLANE[label == TWO]
        density = multivariate_normal(mine.mean(axis=0), np.cov(mine.T, ddof=0)).pdf(points)
        assert shown[label] == pytest.approx(density / density.max(), rel=1e-8)


def test_a6_the_one_percent_contour_lies_where_a_normal_density_falls_to_it():
    model = bk.FullBayes(shrinkage=None).fit(PLANE, TWO)
    display = plots.ContourDisplay.from_estimator(model, PLANE, TWO, points=[(6.75, 4.25)]).plot()
    mine = PLANE[TWO == "c1"]
    inverse = np.linalg.inv(np.cov(mine.T, ddof=0))
    ring = display.ax_.collections[2].get_paths()[0].vertices  # after the two sets of points
    away = [mahalanobis(v, mine.mean(axis=0), inverse) for v in ring[:-1]]
    assert np.array(away) == pytest.approx(np.full(len(away), np.sqrt(2 * np.log(100))), rel=0.002)


def test_a6_the_circle_holds_five_rows_one_of_c1():
    model = bk.KNNBayes(k=5).fit(PLANE, TWO)
    display = plots.NeighbourDisplay.from_estimator(model, PLANE, TWO, (6.75, 4.25))
    shown = columns(display)
    assert display.radius == pytest.approx(np.sqrt(0.965), abs=1e-12)
    assert {c: shown["weight"][shown["class"] == c].sum() for c in ("c1", "c2")} == {"c1": 1, "c2": 4}


def test_decision_regions_of_any_classifier():
    table = pa.table({"length": PLANE[:, 0], "width": PLANE[:, 1]}).to_pandas()
    model = LogisticRegression().fit(table, Y)
    shown = plots.RegionDisplay.from_estimator(model, table, Y, resolution=25).frame("pandas")
    assert shown["class"].astype(int).tolist() == model.predict(shown[["length", "width"]]).tolist()


def test_columns_not_drawn_are_missing_or_held_still():
    model = bk.NaiveBayes().fit(X, Y)
    two = bk.NaiveBayes().fit(X[:, 2:], Y)
    free = columns(plots.SurfaceDisplay.from_estimator(model, X, label=1, columns=(2, 3), resolution=12))
    points = np.column_stack([free["x2"], free["x3"]])
    assert free["probability"] == pytest.approx(two.predict_proba(points)[:, 1], abs=1e-12)
    held = plots.SurfaceDisplay.from_estimator(model, X, label=1, columns=(2, 3), resolution=12, at={0: 5.0, 1: 3.0})
    assert not np.allclose(columns(held)["probability"], free["probability"])


def test_d1_the_posteriors_of_three_classes_are_bayes_rule_on_normal_densities():
    model = bk.NaiveBayes(prior="uniform").fit(PLANE, Y)
    found = [columns(plots.SurfaceDisplay.from_estimator(model, PLANE, label=k, resolution=15)) for k in range(3)]
    points = np.column_stack([found[0]["x0"], found[0]["x1"]])
    joint = [norm.pdf(points, PLANE[k == Y].mean(axis=0), PLANE[k == Y].std(axis=0)).prod(axis=1) for k in range(3)]
    for k in range(3):
        assert found[k]["probability"] == pytest.approx(joint[k] / np.sum(joint, axis=0), abs=1e-9)


def test_e6_ellipses_are_points_of_one_mahalanobis_distance():
    matrix = np.array([[2.0, 1.2], [1.2, 1.5]])
    shown = columns(plots.EllipseDisplay.from_moments([[1.0, -1.0]], [matrix], ["c"], (1, 2.5)))
    for i, distance in enumerate((1, 2.5)):
        angle = np.radians(shown["angle"][i])
        along, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
        for end in (shown["major"][i] * along, shown["minor"][i] * across):
            assert mahalanobis(end, [0, 0], np.linalg.inv(matrix)) == pytest.approx(distance)


def test_the_density_of_a_column_is_that_of_its_family():
    shown = columns(plots.DensityDisplay.from_estimator(bk.NaiveBayes().fit(PLANE, TWO), PLANE, TWO, 0))
    mine = PLANE[TWO == "c2", 0]
    assert shown["c2"] == pytest.approx(norm.pdf(shown["x0"], mine.mean(), mine.std()), abs=1e-12)


def test_roc_has_the_points_and_area_of_scikit_learn():
    y, p = scores()
    display = plots.RocDisplay.from_predictions(y, p, ["no", "yes"])
    false, true, threshold = roc_curve(y == "yes", p, drop_intermediate=False)
    shown = columns(display)
    assert shown["false_positive"] == pytest.approx(false)
    assert shown["true_positive"] == pytest.approx(true)
    assert shown["threshold"][1:] == pytest.approx(threshold[1:])
    assert display.curves["yes"].area == pytest.approx(roc_auc_score(y == "yes", p))


def test_reliability_has_the_cells_of_scikit_learn_and_wilsons_intervals():
    y, p = scores()
    shown = columns(plots.ReliabilityDisplay.from_predictions(y, p, ["no", "yes"], label="yes", bins=10))
    right, said = calibration_curve(y == "yes", p, n_bins=10)
    assert shown["right"] == pytest.approx(right)
    assert shown["probability"] == pytest.approx(said)
    ends = binomtest(round(shown["right"][3] * shown["weight"][3]), int(shown["weight"][3])).proportion_ci(
        method="wilson"
    )
    assert (shown["low"][3], shown["high"][3]) == pytest.approx((ends.low, ends.high))


def test_consistency_bands_are_those_of_sums_of_unequal_coins():
    y, p = scores(n=900)
    drawn = plots.ReliabilityDisplay.from_predictions(y, p, ["no", "yes"], label="yes", bins=10, bands="consistency")
    shown = columns(drawn)
    for start, end, low, high in zip(shown["from"], shown["to"], shown["low"], shown["high"], strict=True):
        mine = p[(np.ceil(np.round(10 * p, 6)) / 10).round(1) == round(end, 1)]
        chance = np.cumsum(reduce(np.convolve, [[1 - q, q] for q in mine]))  # of how many come true
        wanted = np.searchsorted(chance, [0.025, 0.975]) / len(mine)
        assert (low, high) == pytest.approx(wanted, abs=1.01 / len(mine)), start


def test_bootstrap_bands_are_those_of_scipy():
    y, p = scores(n=400)
    shown = columns(plots.ReliabilityDisplay.from_predictions(y, p, label="yes", bins=2, bands="bootstrap"))
    for cell in (0, 1):
        hit = (y == "yes")[(p > 0.5) == cell].astype(float)
        wanted = bootstrap((hit,), np.mean, method="percentile", rng=np.random.default_rng(1)).confidence_interval
        assert (shown["low"][cell], shown["high"][cell]) == pytest.approx(tuple(wanted), abs=0.015)
    with pytest.raises(InputError, match="choose one of wilson, consistency, bootstrap"):
        plots.ReliabilityDisplay.from_predictions(y, p, label="yes", bands="hope")


def test_cost_by_threshold_is_the_mean_cost_of_the_decisions():
    y, p = scores()
    costs = {"yes": {"yes": -1, "no": 10}, "no": {"yes": 2, "no": 0}}
    display = plots.CostDisplay.from_predictions(y, p, costs, ["no", "yes"])
    for threshold, cost in zip(display.threshold[1:], display.cost[1:], strict=True):
        decided = np.where(p >= threshold, "yes", "no")
        assert cost == pytest.approx(np.mean([costs[t][d] for t, d in zip(y, decided, strict=True)]))
    assert display.best == pytest.approx(2 / (2 + 11))


def test_confusion_counts_as_scikit_learn_does():
    rng = np.random.default_rng(1)
    true, said = rng.integers(0, 4, 100), rng.integers(0, 4, 100)
    assert plots.ConfusionDisplay.from_predictions(true, said).matrix.tolist() == confusion_matrix(true, said).tolist()


def test_an_evaluation_draws_its_own_numbers():
    found = bk.evaluate(bk.NaiveBayes(), X, Y, bk.CrossValidation(5))
    proba = np.asarray(found.proba)
    assert columns(found.plot("roc", label=2))["true_positive"] == pytest.approx(
        roc_curve(Y == 2, proba[:, 2], drop_intermediate=False)[1]
    )
    assert found.plot("confusion").matrix.tolist() == confusion_matrix(Y, proba.argmax(axis=1)).tolist()
    assert found.plot("folds").frame().num_rows == 5
    assert len(found.plot().displays) == 4


def test_an_evaluation_draws_costs_of_two_classes():
    found = bk.evaluate(bk.NaiveBayes(), PLANE, TWO, bk.CrossValidation(5))
    costs = {"c1": {"c1": 0, "c2": 5}, "c2": {"c1": 1, "c2": 0}}
    display = found.plot("cost", costs=costs, label="c1")
    decided = np.where(np.asarray(found.proba)[:, 0] >= display.threshold[20], "c1", "c2")
    expected = np.mean([costs[t][d] for t, d in zip(TWO, decided, strict=True)])
    assert display.cost[20] == pytest.approx(expected)


def test_a_comparison_puts_the_best_on_top():
    found = bk.compare({"one": bk.NaiveBayes(), "other": bk.FullBayes()}, PLANE, Y, bk.CrossValidation(5))
    assert found.plot().frame().to_pydict()["model"] == list(found.ranking)
    assert found.plot("folds", by="accuracy").frame().num_rows == 10


def test_populations_are_drawn_by_pair():
    found = bk.cross_population(
        bk.NaiveBayes(), {"A": (PLANE[::2], TWO[::2]), "B": (PLANE[1::2], TWO[1::2])}, positive="c1"
    )
    shown = found.plot().frame().to_pydict()
    assert shown["sensitivity"][1] == found.rate("sensitivity", ("A", "B"))


def test_a_network_shows_what_follows_from_evidence():
    net = bk.Network(
        [("rain", "wet")],
        {"rain": {"no": 0.8, "yes": 0.2}, "wet": {"no": {"no": 0.9, "yes": 0.1}, "yes": {"no": 0.0, "yes": 1.0}}},
    )
    shown = net.plot({"wet": "yes"}).frame().to_pydict()
    assert dict(zip(shown["state"][:2], shown["probability"][:2], strict=True))["yes"] == pytest.approx(0.2 / 0.28)
    assert shown["observed"] == [False, False, True, True]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: plots.CostDisplay.from_predictions([0, 1, 2], np.full((3, 3), 1 / 3), np.eye(2)),
        lambda: plots.RocDisplay.from_predictions([0, 1], np.full((3, 2), 0.5)),
        lambda: plots.RocDisplay.from_predictions([0, 1], [0.5, 0.5], label=7),
        lambda: plots.ConfusionDisplay.from_predictions([0, 1], [0]),
        lambda: plots.ContourDisplay.from_estimator(LogisticRegression().fit(PLANE, Y), PLANE, Y),
        lambda: plots.DensityDisplay.from_estimator(LogisticRegression().fit(PLANE, Y), PLANE, Y, 0),
        lambda: plots.DensityDisplay.from_estimator(bk.NaiveBayes().fit(PLANE, Y), PLANE, Y, "z"),
        lambda: plots.RegionDisplay.from_estimator(bk.NaiveBayes().fit(X, Y), X, columns=(0, 1, 2)),
        lambda: plots.NeighbourDisplay.from_estimator(bk.NaiveBayes().fit(PLANE, Y), PLANE, Y, (1, 1)),
        lambda: plots.NetworkDisplay.from_layers([[f"n{i}" for i in range(100)]], []),
        lambda: bk.evaluate(bk.NaiveBayes(), X, Y, bk.CrossValidation(3)).plot("pie"),
    ],
)
def test_what_cannot_be_drawn_is_refused_by_name(wrong):
    with pytest.raises(InputError):
        wrong()


def test_the_cost_curve_of_an_evaluation_counts_rows_by_their_weight():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 2)), np.array(["no", "yes"])[rng.integers(0, 2, 60)]
    weight = rng.integers(0, 4, 60).astype(float)
    found = bk.evaluate(bk.NaiveBayes(), X, y, bk.CrossValidation(3), sample_weight=weight)
    costs = {"yes": {"yes": 0.0, "no": 7.0}, "no": {"yes": 2.0, "no": 1.0}}
    shown = found.plot("cost", costs=costs)
    for threshold, cost in zip(shown.threshold[1::5], shown.cost[1::5], strict=True):
        decided = np.where(found.proba[:, 1] >= threshold, "yes", "no")
        each = [costs[true][what] for true, what in zip(y, decided, strict=True)]
        assert cost == pytest.approx(np.average(each, weights=weight))
