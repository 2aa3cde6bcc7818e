"""The law of honest evaluation: with any setting, every row is judged as by a plain refit without its fold."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import PredefinedSplit, StratifiedKFold, cross_val_predict

import bayeskit as bk
from bayeskit.data.hash_split import HashSplit
from bayeskit.errors import InputError
from bayeskit.families import Histogram, Kernel
from bayeskit.smoothing import MEstimate

CLASSES = ["a", "b", "c"]
ORDER = ["low", "mid", "high"]
NUMBERS = ["x", "z"]
FOLDS = 2
COUNTING = (bk.NaiveBayes, bk.FullBayes, bk.KNNBayes)  # whose folds may be algebra; of others one fold is enough
N = 48

# What to set each parameter to, by name; a parameter that an estimator reads in its own way is named with it.
VALUES: dict[str, list[Any]] = {
    "abstain": ["none"],
    "augmented": [False],
    "backoff": ["class"],
    "bins": [5],
    "callback": [print],
    "costs": [{"a": {"a": 0, "b": 1, "wait": 2}, "b": {"a": 5, "b": 0, "wait": 1}, "c": {"a": 2, "b": 3, "wait": 0}}],
    "criterion": ["bdeu"],
    "cuts": ["mdlp", "frequency"],
    "ess": [5.0],
    "estimator": [bk.NaiveBayes(families={"x": Kernel()}), bk.TAN()],
    "exact": [True],
    "fast": [True],
    "folds": [3],
    "given": [2.0],
    "kinds": [{"grade": ORDER, "hits": "count"}],
    "limit": [5.0],
    "max_candidates": [2],
    "max_parents": [1],
    "method": ["sigmoid", "isotonic"],
    "missing": ["level"],
    "n_jobs": [2],
    "novelty": [0.2],
    "outlier": [-6.0],
    "pairs": [0],
    "parents": [2],
    "prior": ["uniform", {"a": 0.2, "b": 0.3, "c": 0.5}],
    "random_state": [7],
    "reject": [0.3],
    "restarts": [3],
    "search": ["tabu"],
    "sets": [5],
    "smoothing": [3.0],
    "strength": [4.0],
    "rate": [0.5],
    "structure": [[("class", "x"), ("class", "town"), ("town", "flag"), ("class", "flag")]],
    "threshold": [0.6],
    "time_budget": [1e9],
    "trees": [20],
    "penalty": [0.0],
    "portable": [True],
    "unseen": ["smooth"],
    "weights": ["fitted", None],
}
OWN: dict[tuple[str, str], list[Any]] = {
    ("NaiveBayes", "families"): ["auto", {"x": Kernel()}, {"x": Histogram()}, {"x": "auto", "town": "auto"}],
    ("NaiveBayes", "smoothing"): [0.0, 3.0, MEstimate(2.0)],
    ("NaiveBayes", "backoff"): [0.1],
    ("RiskClassifier", "cutoff"): [],  # of two classes only: tests/test_risk.py
    ("AODE", "n"): [2],
    ("Calibrated", "method"): ["sigmoid", "isotonic", "beta", "auto"],
    ("Conformal", "estimator"): [bk.NaiveBayes(families={"x": Kernel()})],
    ("Conformal", "coverage"): [0.5],
    ("VennAbers", "estimator"): [bk.NaiveBayes(families={"x": Kernel()})],
    ("VennAbers", "method"): ["inductive", "loo"],
    ("VennAbers", "calibration_size"): [0.5],
    ("Conformal", "method"): ["cv+"],
    ("Conformal", "folds"): [3],
    ("Conformal", "conformity_score"): ["margin"],
    ("Conformal", "by"): ["class"],
    ("Conformal", "calibration_size"): [0.5],
    ("Conformal", "randomised"): [True],
    ("Conformal", "rank"): [2],
    ("AJE", "n"): [2],
    ("KDB", "k"): [1],
    ("KNNBayes", "k"): [3],
    ("KNNBayes", "metric"): ["manhattan", "mahalanobis"],
    ("KNNBayes", "scale"): ["deviation", "mutual_information"],
    ("KNNBayes", "weights"): ["epanechnikov"],
    ("KNNBayes", "pseudo"): [1.0],
    ("KNNBayes", "max_rows"): [20],
    ("FullBayes", "covariance"): ["tied", "diagonal", "spherical"],
    ("FullBayes", "shrinkage"): [None, 0.3, "pooled"],
    ("FullBayes", "smoothing"): [0.0, 3.0, "auto"],
    ("FullBayes", "missing"): ["level", "available"],
}
BASE: dict[str, dict[str, Any]] = {
    "Calibrated": {"estimator": bk.NaiveBayes()},
    "RiskClassifier": {"estimator": bk.NaiveBayes()},
    "Conformal": {"estimator": bk.NaiveBayes()},
    "VennAbers": {"estimator": bk.NaiveBayes()},
    "AutoBayes": {"fast": True},
    "ProbabilityForest": {"trees": 10},
    "BoostedTrees": {"trees": 10},
}


NEEDS: dict[tuple[str, str], dict[str, Any]] = {  # what else must be set
    ("RiskClassifier", "novelty"): {"estimator": bk.Conformal(bk.NaiveBayes())},
}


def classifiers() -> list[type[Any]]:
    """Every public class that is fitted to labelled rows and gives probabilities."""
    found = (getattr(bk, name) for name in bk.__all__)
    kinds = [kind for kind in found if isinstance(kind, type) and hasattr(kind, "predict_proba")]
    return [kind for kind in kinds if list(inspect.signature(kind.fit).parameters)[2:3] == ["y"]]


def cases() -> Iterator[Any]:
    for kind in classifiers():
        name = kind.__name__
        base = BASE.get(name, {})
        yield pytest.param(kind, base, id=name)
        for parameter, known in inspect.signature(kind).parameters.items():
            values = OWN.get((name, parameter), VALUES.get(parameter))
            if values is None:
                yield pytest.param(kind, {parameter: NotImplemented}, id=f"{name}-{parameter}")
                continue
            for value in values:
                if value is None or value != known.default:
                    settings = {**base, **NEEDS.get((name, parameter), {}), parameter: value}
                    yield pytest.param(kind, settings, id=f"{name}-{parameter}-{value}"[:60])


def table_of(columns: list[str] | None = None) -> tuple[pa.Table, np.ndarray, np.ndarray]:
    """Numbers, counts, texts, an order and truth values, with missing values, and a level that only one fold has."""
    rng = np.random.default_rng(5)
    k, fold = np.arange(N) % 3, np.arange(N) // 3 % FOLDS
    town = [None if i % 9 == 4 else "lonely" if i in (0, 10) else f"town {rng.integers(3)}" for i in range(N)]
    table = pa.table(
        {
            "x": pa.array(np.where(rng.random(N) < 0.1, np.nan, rng.normal(k, 1)), from_pandas=True),
            "z": pa.array(np.where(rng.random(N) < 0.1, np.nan, rng.normal(-k, 2)), from_pandas=True),
            "hits": pa.array(rng.poisson(2 + k)),
            "town": pa.array(town),
            "flag": pa.array(rng.random(N) < 0.3 + 0.2 * k),
            "grade": pa.array(rng.choice(ORDER, N)),
        }
    )
    return (table if columns is None else table.select(columns)), np.array(CLASSES)[k], fold


def by_hand(model: Any, table: pa.Table, y: np.ndarray, fold: np.ndarray, tested: Any = None) -> Any:
    """Posteriors and predictions of every row by a plain refit to the rows of the other folds."""
    proba, told = np.zeros((len(y), len(CLASSES))), np.empty(len(y), dtype=object)
    for f in np.unique(fold) if tested is None else tested:
        less = clone(model).fit(table.filter(fold != f), y[fold != f])
        places = [CLASSES.index(label) for label in less.classes_.tolist()]
        proba[np.ix_(fold == f, places)] = less.predict_proba(table.filter(fold == f))
        told[fold == f] = less.predict(table.filter(fold == f))
    return proba, told


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "settings"), list(cases()))
def test_every_setting_of_every_classifier_is_judged_as_by_refits(kind: Any, settings: dict[str, Any]) -> None:
    lacking = [name for name, value in settings.items() if value is NotImplemented]
    assert not lacking, f"give {kind.__name__}({lacking[0]}=...) a value other than its default in VALUES or OWN"
    model = kind(**settings)
    columns = None
    if "metric" in model.get_params():
        columns = NUMBERS if set(settings) & {"metric", "scale"} else None
        model = model if columns else model.set_params(metric="gower")
    table, y, fold = table_of(columns)
    tested = range(FOLDS) if kind in COUNTING else [0]
    splits = PredefinedSplit(np.where(np.isin(fold, tested), fold, -1))
    found = bk.evaluate(model, table, y, bk.CrossValidation(splits))
    proba, told = by_hand(model, table, y, fold, tested)
    some = np.isin(fold, tested)
    assert np.abs(found.proba - proba)[some].max() <= 1e-9
    assert found.accuracy == pytest.approx(np.mean((told == y)[some]), abs=1e-12)


LOOPED = [
    bk.TAN(),
    bk.KDB(cuts="mdlp"),
    bk.AODE(),
    bk.AJE(sets=5),
    bk.NetworkBayes(),
    bk.NaiveBayes(families="auto"),
    bk.NaiveBayes(weights="fitted"),
    bk.KNNBayes(scale="mutual_information"),
    bk.FullBayes(shrinkage="pooled"),
    bk.Calibrated(bk.NaiveBayes(), method="sigmoid"),
    bk.RiskClassifier(bk.NaiveBayes(), costs={0: {0: 0, 1: 1, 2: 1}, 1: {0: 9, 1: 0, 2: 1}, 2: {0: 9, 1: 1, 2: 0}}),
    bk.AutoBayes(fast=True),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", LOOPED, ids=lambda model: repr(model)[:40])
def test_all_folds_are_those_of_scikit_learns_own_loop(model: Any) -> None:
    """Splits, fits, posteriors and decisions by ``cross_val_predict``: no code of ours but fit and predict."""
    rng = np.random.default_rng(11)
    k = np.arange(60) % 3
    X = np.column_stack([rng.normal(k, 1.0), rng.normal(-k, 2.0), rng.poisson(2 + k)])
    y = k  # as the loop codes them
    splits = StratifiedKFold(3, shuffle=True, random_state=2)
    found = bk.evaluate(model, X, y, bk.CrossValidation(splits))
    proba, told = (cross_val_predict(model, X, y, cv=splits, method=how) for how in ("predict_proba", "predict"))
    assert np.abs(found.proba - proba).max() <= 1e-9
    assert found.accuracy == pytest.approx(np.mean(told == y), abs=1e-12)
    assert found.log_loss == pytest.approx(-np.log(np.clip(proba[np.arange(60), k], 1e-15, 1)).mean(), abs=1e-9)


LEVELS = pa.table({"town": ["n", "n", "s", "s", "e", "n", "s", "n", "s", "s", "w", "e"], "x": np.arange(12.0) % 5})
LABELS = np.array(["a", "b"] * 6)
PARTS = np.repeat([0, 1, 2], 4)  # of fold 1 and 2 the rows that alone have "e" and "w": "e" is in both, "w" in one


@pytest.mark.parametrize("unseen", ["missing", "smooth"])
@pytest.mark.parametrize("model", [bk.NaiveBayes(), bk.FullBayes(), bk.KNNBayes(metric="gower", k=3)], ids=repr)
@pytest.mark.parametrize("folds", [PARTS, np.where(PARTS == 2, 2, 1)], ids=["three", "two"])
def test_a_level_of_the_tested_rows_alone_is_unseen(model: Any, unseen: str, folds: np.ndarray) -> None:
    model = clone(model).set_params(unseen=unseen)
    found = bk.evaluate(model, LEVELS, LABELS, bk.CrossValidation(folds))
    assert found.computed == "algebra"
    for f in np.unique(folds):
        less = clone(model).fit(LEVELS.filter(folds != f), LABELS[folds != f])
        assert np.abs(found.proba[folds == f] - less.predict_proba(LEVELS.filter(folds == f))).max() <= 1e-12


@pytest.mark.parametrize(
    "settings", [{}, {"unseen": "smooth"}, {"smoothing": 0.0}, {"missing": "level"}, {"prior": "uniform"}]
)
@pytest.mark.parametrize("kind", [bk.NaiveBayes, bk.FullBayes, bk.KNNBayes])
def test_a_level_of_one_row_is_unseen_to_the_model_without_it(kind: Any, settings: dict[str, Any]) -> None:
    """Of levels alone, so that nothing else is held; the towns "w" and "sole" are of one row each."""
    towns = ["sole" if i == 5 else town for i, town in enumerate(LEVELS["town"].to_pylist())]
    table = pa.table({"town": towns, "flag": [i % 3 == 0 for i in range(12)]})
    model = kind(**{name: value for name, value in settings.items() if name in kind().get_params()})
    model = model.set_params(metric="gower") if kind is bk.KNNBayes else model
    found = bk.evaluate(model, table, LABELS, bk.LeaveOneOut())
    every = np.arange(len(LABELS))
    for i in every:
        less = clone(model).fit(table.filter(every != i), LABELS[every != i])
        assert found.proba[i] == pytest.approx(less.predict_proba(table.slice(i, 1))[0], abs=1e-12)
    assert found.computed == "algebra"
    with pytest.raises(InputError, match="column 'town' has 'sole'"):
        bk.evaluate(model.set_params(unseen="error"), table, LABELS, bk.LeaveOneOut())


def test_a_level_of_one_row_of_a_stream_is_unseen_to_the_model_without_it(tmp_path: Any) -> None:
    table = LEVELS.append_column("class", pa.array(LABELS))
    pq.write_table(table, tmp_path / "rows.parquet")
    found = bk.evaluate(bk.NaiveBayes(), str(tmp_path / "rows.parquet"), "class", bk.LeaveOneOut())
    proba, told = by_hand(bk.NaiveBayes(), LEVELS, LABELS, np.arange(12))
    true = proba[np.arange(12), [CLASSES.index(label) for label in LABELS]]
    assert found.log_loss == pytest.approx(-np.mean(np.log(true)), abs=1e-12)
    assert found.accuracy == pytest.approx(np.mean(told == LABELS), abs=1e-12)
    with pytest.raises(InputError, match=r"FullBayes\(\) must be refitted .* \(row 10\)"):
        bk.evaluate(bk.FullBayes(), str(tmp_path / "rows.parquet"), "class", bk.LeaveOneOut())


def test_a_level_of_the_tested_rows_alone_is_an_error_where_it_is_to_be_one() -> None:
    with pytest.raises(InputError, match="column 'town' has 'w'"):
        bk.evaluate(bk.NaiveBayes(unseen="error"), LEVELS, LABELS, bk.CrossValidation(PARTS))
    declared = bk.NaiveBayes(unseen="error", kinds={"town": ["e", "n", "s", "w"]})
    assert bk.evaluate(declared, LEVELS, LABELS, bk.CrossValidation(PARTS)).computed == "algebra"


def test_a_level_that_was_not_drawn_is_unseen() -> None:
    """The posterior of the one row with "w" is that of the town missing, in every draw without it: exact fractions."""
    table, y = pa.table({"town": ["n", "s", "n", "w"]}), np.array(["a", "b", "b", "a"])
    found = bk.evaluate(bk.NaiveBayes(), table, y, bk.Bootstrap632(repeats=20))
    seed = int(np.random.default_rng(0).integers(1 << 62))
    draws = bk.Bootstrap632(repeats=20).draws(found.measures.out.kept.rows, np.random.default_rng(seed))
    share = [drawn[y == "a"].sum() / 4 for drawn in draws if drawn[3] == 0]
    assert found.proba[3, 0] == pytest.approx(np.mean(share), abs=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model",
    [
        bk.NaiveBayes(families="auto"),
        bk.NaiveBayes(families={"x": Kernel()}, unseen="smooth", prior="uniform"),
        bk.FullBayes(shrinkage="pooled"),
        bk.KNNBayes(metric="gower"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_bootstrap_is_of_refits_to_the_rows_drawn(model: Any) -> None:
    table, y, _ = table_of()
    found = bk.evaluate(model, table, y, bk.Bootstrap632(repeats=6))
    seed = int(np.random.default_rng(0).integers(1 << 62))
    summed, times = np.zeros((N, len(CLASSES))), np.zeros(N)
    for drawn in bk.Bootstrap632(repeats=6).draws(found.measures.out.kept.rows, np.random.default_rng(seed)):
        rows, out = np.repeat(np.arange(N), drawn.astype(int)), drawn == 0
        proba = clone(model).fit(table.take(pa.array(rows)), y[rows]).predict_proba(table)
        summed[out] += proba[out]
        times += out
    known = times > 0
    assert found.computed == "algebra"
    assert np.abs(found.proba[known] - summed[known] / times[known, None]).max() <= 1e-10


def test_a_level_of_one_fold_of_a_stream_is_unseen(tmp_path: Any) -> None:
    table, y, _ = table_of(["town", "x"])
    path = tmp_path / "rows.parquet"
    pq.write_table(table.append_column("class", pa.array(y)), path)
    found = bk.evaluate(bk.NaiveBayes(), str(path), "class", bk.CrossValidation(20))
    (batch,) = table.combine_chunks().to_batches()
    seed = int(np.random.default_rng(0).integers(1 << 62))
    fold = HashSplit(tuple((f + 1) / 20 for f in range(20)), seed).fold(batch, 0)
    proba, told = by_hand(bk.NaiveBayes(), table, y, fold)
    true = proba[np.arange(N), [CLASSES.index(label) for label in y]]
    assert found.log_loss == pytest.approx(-np.mean(np.log(true)), abs=1e-12)
    assert found.accuracy == pytest.approx(np.mean(told == y), abs=1e-12)


@pytest.mark.parametrize("model", [bk.NaiveBayes(weights="fitted"), bk.TAN()], ids=repr)
def test_a_stream_of_few_rows_is_refitted_by_its_own_folds(model: Any, tmp_path: Any) -> None:
    """Some batches, and some folds, have no row at all."""
    table, y, _ = table_of(["town", "x"])
    path = tmp_path / "rows.parquet"
    pq.write_table(table.append_column("class", pa.array(y)), path, row_group_size=3)
    found = bk.evaluate(model, str(path), "class", bk.CrossValidation(20))
    (batch,) = table.combine_chunks().to_batches()
    seed = int(np.random.default_rng(0).integers(1 << 62))
    fold = HashSplit(tuple((f + 1) / 20 for f in range(20)), seed).fold(batch, 0)
    proba, decided = by_hand(model, table, y, fold)
    true = proba[np.arange(N), [CLASSES.index(label) for label in y]]
    assert found.computed == "refit"
    assert found.log_loss == pytest.approx(-np.mean(np.log(true)), abs=1e-12)
    assert found.accuracy == pytest.approx(np.mean(decided == y), abs=1e-12)


def test_a_class_that_answers_in_its_own_way_is_refitted() -> None:
    class Cautious(bk.NaiveBayes):
        def predict_proba(self, X: Any, prior: Any = None) -> Any:
            return 0.5 * super().predict_proba(X, prior) + 0.5 / len(CLASSES)

    table, y, fold = table_of()
    found = bk.evaluate(Cautious(), table, y, bk.CrossValidation(fold))
    assert found.computed == "refit"
    assert np.abs(found.proba - by_hand(Cautious(), table, y, fold)[0]).max() <= 1e-12


def test_fitted_weights_are_those_of_cross_val_score() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    folds = StratifiedKFold(5)
    model = bk.NaiveBayes(weights="fitted")
    found = bk.evaluate(model, X, y, bk.CrossValidation(folds))
    wanted = np.concatenate([
        -np.log(clone(model).fit(X[a], y[a]).predict_proba(X[b])[np.arange(len(b)), y[b]]) for a, b in folds.split(X, y)
    ])  # fmt: skip
    assert found.computed == "refit"
    assert found.log_loss == pytest.approx(wanted.mean(), abs=1e-9)
    assert found.log_loss < 0.12
    compared = bk.compare({"plain": bk.NaiveBayes(), "fitted": model}, X, y, bk.CrossValidation(folds))
    assert compared["fitted"].log_loss == pytest.approx(found.log_loss, abs=1e-12)
    assert compared.best == "fitted"


@pytest.mark.parametrize("method", [bk.CrossValidation(3), bk.Holdout(), bk.Bootstrap632(2)], ids=str)
def test_a_grid_that_is_held_is_said(method: Any, tmp_path: Any) -> None:
    """Above 1,024 values of a column cells are coarser, and fewer rows might have finer ones."""
    rng = np.random.default_rng(0)
    y = np.arange(1500) % 2
    many, few = rng.normal(y[:, None], 1, (1500, 1)), rng.integers(0, 9, (1500, 1)) + 0.5
    X, model = np.hstack([many, few]), bk.NaiveBayes(families=Histogram())
    found = bk.evaluate(model, X, y, method)
    assert found.held == ("grid of 'x0'",)
    assert "grid of 'x0'" in str(found)
    assert bk.evaluate(model, X[:900], y[:900], method).held == ()
    assert bk.evaluate(bk.NaiveBayes(), X, y, method).held == ()
    if not isinstance(method, bk.Bootstrap632):
        pq.write_table(pa.table({"x0": X[:, 0], "x1": X[:, 1], "class": y}), tmp_path / "rows.parquet")
        assert bk.evaluate(model, str(tmp_path / "rows.parquet"), "class", method).held == found.held
