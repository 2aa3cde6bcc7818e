"""FeatureSelector: ranks against scikit-learn, paths against refits without each row, and bad input."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.special import logsumexp
from sklearn.metrics import mutual_info_score
from sklearn.pipeline import make_pipeline

import bayeskit as bk
from bayeskit import _core
from bayeskit.errors import InputError, SchemaError
from bayeskit.families import Histogram


def people(rows=80, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], rows, p=[0.5, 0.3, 0.2])
    table = pd.DataFrame(
        {
            "noise": rng.normal(size=rows),
            "size": rng.normal((y == "a") * 1.5, 1.0),
            "town": np.where(rng.random(rows) < 0.4, y, rng.choice(["a", "b", "c"], rows)),
            "same": (y == "a") * 1.5 + rng.normal(0, 1.2, rows),
        }
    )
    table.loc[rng.random(rows) < 0.1, ["size", "town"]] = None
    return table, y


def left_out(X, y, weight=None):
    """Mean log P and share of errors of naive Bayes, by refits without each row."""
    weight = np.ones(len(y)) if weight is None else weight
    scores = []
    for i in range(len(y)):
        less = weight.copy()
        less[i] -= 1
        model = bk.NaiveBayes().fit(X, y, sample_weight=less)
        log = model.predict_log_proba(X[i : i + 1])[0]
        c = list(model.classes_).index(y[i])
        scores.append((log[c], float(log.argmax() != c)))
    return np.average(scores, axis=0, weights=weight)


@pytest.mark.parametrize("method", ["forward", "backward"])
@pytest.mark.parametrize("criterion", ["log_score", "error"])
def test_every_step_is_the_best_by_refits_without_each_row(method, criterion):
    X, y = people(36)
    chosen = bk.FeatureSelector(method=method, criterion=criterion).fit(X, y)
    names = X.columns.tolist()
    assert len(chosen.path_) == 5
    known: dict[tuple[int, ...], np.ndarray] = {}
    for before, step in zip(chosen.path_[:-1], chosen.path_[1:], strict=True):
        free = set(range(4)) - {*before.columns} if method == "forward" else {*before.columns}
        trials = [tuple(sorted({*before.columns} ^ {j})) for j in sorted(free)]
        for columns in trials:
            if columns and columns not in known:
                known[columns] = left_out(X[[names[j] for j in columns]], y)
        if not step.columns:
            continue
        assert (step.log_score, step.error) == pytest.approx(tuple(known[step.columns]), abs=1e-10)
        if criterion == "log_score":
            assert step.log_score >= max(known[t][0] for t in trials if t) - 1e-10
        else:
            assert step.error <= min(known[t][1] for t in trials if t) + 1e-10
    found = [s for s in chosen.path_ if s.columns]
    best = max(s.log_score for s in found) if criterion == "log_score" else -min(s.error for s in found)
    kept = next(s for s in found if s.columns == tuple(chosen.get_support(indices=True)))
    assert (kept.log_score if criterion == "log_score" else -kept.error) == pytest.approx(best)


def test_weights_are_rows_left_out_one_at_a_time():
    X, y = people(40)
    w = np.random.default_rng(1).integers(1, 4, 40).astype(float)
    weighted = bk.FeatureSelector(method="forward").fit(X, y, sample_weight=w)
    often = np.repeat(np.arange(40), w.astype(int))
    repeated = bk.FeatureSelector(method="forward").fit(X.iloc[often], y[often])
    assert [s.columns for s in weighted.path_] == [s.columns for s in repeated.path_]
    assert [s.log_score for s in weighted.path_] == pytest.approx([s.log_score for s in repeated.path_])
    first = weighted.path_[1]
    assert first.log_score == pytest.approx(left_out(X.iloc[:, list(first.columns)], y, w)[0], abs=1e-10)


def test_information_of_categories_is_scikit_learns_less_chance():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 500)
    X = pd.DataFrame({"a": np.where(rng.random(500) < 0.5, y, rng.integers(0, 3, 500)), "b": rng.integers(0, 6, 500)})
    found = bk.FeatureSelector().fit(X.astype(str), y)
    assert found.information_["a"] == pytest.approx(mutual_info_score(X["a"], y) - 2 * 2 / 1000)
    assert found.information_["b"] == pytest.approx(max(0, mutual_info_score(X["b"], y) - 2 * 5 / 1000))
    assert found.ranking_ == ("a", "b")


def test_information_of_numbers_is_that_of_their_quantiles():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1000)
    X = pd.DataFrame({"x": rng.normal(y, 1), "noise": rng.normal(size=1000)})
    found = bk.FeatureSelector().fit(X, y)
    known = mutual_info_score(pd.qcut(X["x"], 10, labels=False), y) - 9 / 2000
    assert found.information_["x"] == pytest.approx(known, abs=1e-12)
    assert found.get_feature_names_out().tolist()[0] == "x"


def test_a_stream_gives_the_same_ranking(tmp_path):
    X, y = people(500)
    pq.write_table(pa.Table.from_pandas(X.assign(y=y), preserve_index=False), tmp_path / "t.parquet")
    for method in ("information", "forward"):
        table = bk.FeatureSelector(method=method).fit(X, y)
        file = bk.FeatureSelector(method=method, n_jobs=2).fit(tmp_path / "t.parquet", "y")
        assert file.ranking_ == table.ranking_
        assert file.get_support().tolist() == table.get_support().tolist()


@pytest.mark.parametrize("make", [lambda t: t, pl.from_pandas, lambda t: pa.Table.from_pandas(t, preserve_index=False)])
def test_frames_keep_their_kind(make):
    X, y = people(200)
    chosen = bk.FeatureSelector(n_features=2).fit(make(X), y)
    out = chosen.transform(make(X))
    assert type(out) is type(make(X))
    names = out.column_names if isinstance(out, pa.Table) else list(out.columns)
    assert names == chosen.get_feature_names_out().tolist()
    assert len(names) == 2


def test_in_a_pipeline_before_naive_bayes():
    X, y = people(300)
    piped = make_pipeline(bk.FeatureSelector(method="forward"), bk.NaiveBayes()).fit(X, y)
    assert "noise" not in piped[-1].schema_.names
    assert piped.score(X, y) > 0.6


def test_duplicate_columns_are_taken_once():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    x = rng.normal(y, 1)
    chosen = bk.FeatureSelector(method="forward").fit(np.column_stack([x, x, x]), y)
    assert chosen.get_support().tolist() == [True, False, False]


def test_the_core_scores_what_a_softmax_does():
    """Ties, impossible classes and weights; the same bits from every clone."""
    rng = np.random.default_rng(0)
    n, classes, columns = 800, 4, 3
    logs, terms = rng.normal(size=(n, classes)), 40 * rng.normal(size=(n, columns, classes))
    logs[:80], terms[:80] = 0.0, 0.0
    y, w = rng.integers(0, classes, n), rng.random(n)
    others = np.array([[c for c in range(classes) if c != t] for t in y])

    def odds(a):
        return np.ascontiguousarray((np.take_along_axis(a, others, 1) - a[np.arange(n), y][:, None]).T)

    there, apart = odds(logs), np.stack([odds(terms[:, j]) for j in range(columns)])
    every, in_use, bits = np.arange(columns), _core.clone(), set()
    for sign, weight in ((1.0, None), (-1.0, None), (1.0, w)):
        found = _core.selection_scores(there, apart, sign, y.astype(float), weight, every)
        for j in range(columns):
            joint = logs + sign * terms[:, j]
            score = (joint - logsumexp(joint, axis=1, keepdims=True))[np.arange(n), y]
            mass = np.ones(n) if weight is None else weight
            assert found[j] == pytest.approx([mass @ score, mass @ (joint.argmax(axis=1) != y)], rel=1e-12)
    try:
        for clone in _core.clones():
            _core.use_clone(clone)
            bits.add(_core.selection_scores(there, apart, 1.0, y.astype(float), w, every).tobytes())
    finally:
        _core.use_clone(in_use)
    assert len(bits) == 1


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("size", [1.0, 40.0, 400.0], ids="odds of {}".format)
def test_columns_tried_quickly_are_scored_to_the_digits_of_floats(classes, size):
    """Also where e^odds is no float, or no double; a row counts 690 nats at most. The same bits from every clone."""
    rng = np.random.default_rng(1)
    n, columns = 1288, 4
    there, terms = size * rng.normal(size=(classes - 1, n)), size * rng.normal(size=(columns, classes - 1, n))
    truth, w = np.zeros(n), rng.random(n)
    every, in_use, bits = np.arange(columns), _core.clone(), set()
    for sign, weight in ((1.0, None), (-1.0, w)):
        mass = np.ones(n) if weight is None else weight
        odds = np.clip(there + sign * terms, -690, 690)
        wanted = -(np.logaddexp(0.0, logsumexp(odds, axis=1)) * mass).sum(axis=1)
        for clone in _core.clones():
            factors, reaches = np.empty((3, columns, classes - 1, 512), dtype=np.float32), np.empty((3, columns))
            powers, reach, copy = np.empty_like(there), np.empty(3), there.copy()
            try:
                _core.use_clone(clone)
                _core.selection_factors(terms, sign, factors, reaches)
                log_score, _ = _core.selection_update(copy, None, sign, truth, weight, powers, reach)
                rows = copy, terms, sign, truth, weight
                found = _core.selection_approximate(*rows, powers, reach, factors, reaches, every)
                _core.selection_update(copy, terms[2], sign, truth, weight, powers, reach)
            finally:
                _core.use_clone(in_use)
            assert np.abs(found - wanted).max() < 2**-23 * mass.sum()
            alone = np.logaddexp(0.0, logsumexp(np.clip(there, -690, 690), axis=0))
            assert log_score == pytest.approx(-(alone @ mass), rel=1e-12)
            assert np.array_equal(copy, there + sign * terms[2])
            bits.add((sign, found.tobytes(), powers.tobytes()))
    assert len(bits) == 2


@pytest.mark.parametrize(
    "settings",
    [{"method": "best"}, {"criterion": "auc"}, {"n_features": 0}, {"n_features": 9}, {"n_features": 1.5}],
    ids=str,
)
def test_bad_settings_are_named(settings):
    with pytest.raises(InputError, match=f"{next(iter(settings))}="):
        bk.FeatureSelector(**settings).fit(*people())


def test_bad_tables_are_named(tmp_path):
    X, y = people()
    with pytest.raises(InputError, match="only NaiveBayes"):
        bk.FeatureSelector(method="forward", estimator=bk.KNNBayes()).fit(X, y)
    estimator = bk.NaiveBayes(families={"size": Histogram("mdlp")})
    with pytest.raises(InputError, match="refit"):
        bk.FeatureSelector(method="forward", estimator=estimator).fit(X, y)
    with pytest.raises(InputError, match="weights=None"):
        bk.FeatureSelector(method="forward", estimator=bk.NaiveBayes(weights="fitted")).fit(X, y)
    with pytest.raises(InputError, match="one class only"), pytest.warns(UserWarning, match="only one class"):
        bk.FeatureSelector(method="forward").fit(X, ["a"] * len(y))
    chosen = bk.FeatureSelector().fit(X, y)
    with pytest.raises(SchemaError, match="size"):
        chosen.transform(X.drop(columns="size"))
    pq.write_table(pa.Table.from_pandas(X, preserve_index=False), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="cannot be narrowed"):
        chosen.transform(tmp_path / "t.parquet")


def test_a_constant_and_an_empty_column_are_left_out():
    X, y = people(150)
    wide = X.assign(flat=1.0, none=np.nan)
    for method in ("information", "forward", "backward"):
        kept = bk.FeatureSelector(method=method).fit(wide, y).get_feature_names_out().tolist()
        assert "flat" not in kept
        assert "none" not in kept
        assert "size" in kept
