"""Files and relations are evaluated in passes: what comes out is what memory would give with the same folds."""

from dataclasses import replace

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB

import bayeskit as bk
from bayeskit.data.hash_split import HashSplit
from bayeskit.errors import BayeskitError, InputError, SchemaError

ROWS = 40_000
SUMS = ("accuracy", "balanced_accuracy", "mcc", "kappa", "log_loss", "brier", "ece", "ece_classwise")


def table():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, ROWS)
    return pa.table(
        {
            "x": pa.array(np.where(rng.random(ROWS) < 0.1, np.nan, rng.normal(y, 2)), from_pandas=True),
            "town": np.array([f"town {i}" for i in range(9)])[(rng.integers(0, 6, ROWS) + y) % 9],
            "id": np.array([f"person {i}" for i in rng.integers(0, 9000, ROWS)]),
            "w": rng.choice([0.5, 1.0, 2.0], ROWS),
            "kind": np.array(["a", "b", "c"])[y],
        }
    )


TABLE = table()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("stream")
    pq.write_table(TABLE, path / "all.parquet", row_group_size=7000)
    pq.write_table(TABLE.drop_columns(["id"]), path / "plain.parquet", row_group_size=7000)
    pc.write_csv(TABLE.drop_columns(["id"]), path / "plain.csv")
    for part in range(4):
        pq.write_table(TABLE.drop_columns(["id"]).slice(part * 10_000, 10_000), path / f"part-{part}.parquet")
    return path


def seed_of(random_state):
    return int(np.random.default_rng(random_state).integers(1 << 62))


def folds(division):
    (batch,) = TABLE.combine_chunks().to_batches()
    return division.fold(batch, 0)


def same(found, wanted):
    for name in SUMS:
        assert found.measures.value(name) == pytest.approx(wanted.measures.value(name), abs=1e-11), name
    assert found.confusion.matrix == pytest.approx(wanted.confusion.matrix)


def passed(evaluation):
    """As a stream has it, which does not ask the model of all rows about its own: without the design effect."""
    return replace(evaluation, measures=replace(evaluation.measures, overlap=None))


def same_intervals(found, wanted):
    wanted = passed(wanted)
    for name in ("accuracy", "balanced_accuracy", "mcc", "log_loss", "brier"):
        one, other = found.interval(name), wanted.interval(name)
        assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-9), name
    for name in ("auc", "ece_l2"):  # from bins
        one, other = found.interval(name), wanted.interval(name)
        assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=5e-3), name


@pytest.mark.parametrize("hole", [None, np.nan])
def test_a_row_without_a_key_falls_into_no_fold(hole):
    batch = pa.record_batch({"id": pa.array([1.5, hole, 2.5])})
    with pytest.raises(InputError, match="the key 'id' is missing"):
        HashSplit((0.5, 1.0), key="id").fold(batch, 0)


def test_folds_of_a_stream_are_those_of_memory(folder):
    found = bk.evaluate(bk.NaiveBayes(), folder / "plain.parquet", "kind", bk.CrossValidation(5), sample_weight="w")
    fold = folds(HashSplit((0.2, 0.4, 0.6, 0.8, 1.0), seed_of(0)))
    memory = TABLE.drop_columns(["id"])
    wanted = bk.evaluate(bk.NaiveBayes(), memory, "kind", bk.CrossValidation(fold), sample_weight="w")
    same(found, wanted)
    same_intervals(found, wanted)
    assert found.proba is None
    assert found.computed == "algebra"
    assert found.auc_bound < 0.002
    for k, label in enumerate(found.classes):
        exact = roc_auc_score(TABLE["kind"].to_numpy() == label, wanted.proba[:, k], sample_weight=TABLE["w"])
        assert abs(found.auc_by_class[label] - exact) <= found.auc_bound + 1e-12
    assert found.ece_mass == pytest.approx(wanted.ece_mass, abs=2e-3)
    assert "off by" in found.interval("auc").how


@pytest.mark.parametrize("source", ["plain.csv", "part-*.parquet"])
@pytest.mark.parametrize("jobs", [None, 2])
def test_the_same_rows_give_the_same_from_any_file_and_with_threads(folder, source, jobs):
    one = bk.evaluate(bk.NaiveBayes(), folder / "plain.parquet", "kind", bk.CrossValidation(4), sample_weight="w")
    other = bk.evaluate(bk.NaiveBayes(n_jobs=jobs), folder / source, "kind", bk.CrossValidation(4), sample_weight="w")
    same(other, one)
    assert other.auc == pytest.approx(one.auc, abs=1e-12)


def test_relations_are_streamed():
    relation = duckdb.from_arrow(TABLE.drop_columns(["id"]))
    found = bk.evaluate(bk.NaiveBayes(), relation, "kind", bk.LeaveOneOut(), sample_weight="w")
    wanted = bk.evaluate(bk.NaiveBayes(), TABLE.drop_columns(["id"]), "kind", bk.LeaveOneOut(), sample_weight="w")
    same(found, wanted)
    one, other = found.interval("log_loss"), passed(wanted).interval("log_loss")
    assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-9)


def test_a_key_keeps_its_rows_together_and_is_no_feature(folder):
    found = bk.evaluate(bk.NaiveBayes(), folder / "all.parquet", "kind", bk.CrossValidation(3), groups="id")
    fold = folds(HashSplit((1 / 3, 2 / 3, 1.0), seed_of(0), "id"))
    by_person = {}
    for person, number in zip(TABLE["id"].to_pylist(), fold.tolist(), strict=True):
        assert by_person.setdefault(person, number) == number
    wanted = bk.evaluate(bk.NaiveBayes(), TABLE.drop_columns(["id"]), "kind", bk.CrossValidation(fold))
    same(found, wanted)
    assert found.model.schema_.names == ("x", "town", "w")
    assert found.interval("accuracy").how == "folds, corrected t"


@pytest.mark.parametrize(
    ("model", "groups"),
    [(bk.AutoBayes(max_candidates=1), None), (bk.NaiveBayes(weights="fitted"), "id")],
    ids=["pool", "weighted"],
)
def test_models_that_do_not_count_alone_are_fitted_to_the_rows_outside_each_fold(tmp_path, model, groups):
    """Against fits of the rows in memory, by the same folds; the column that keeps rows together is no feature."""
    rows = TABLE.slice(0, 600) if groups else TABLE.slice(0, 600).drop_columns(["id"])
    pq.write_table(rows, tmp_path / "some.parquet", row_group_size=200)
    method = bk.CrossValidation(2)
    found = bk.evaluate(model, tmp_path / "some.parquet", "kind", method, sample_weight="w", groups=groups)
    (batch,) = rows.combine_chunks().to_batches()
    fold = HashSplit((0.5, 1.0), seed_of(0), groups).fold(batch, 0)
    memory = rows if groups is None else rows.drop_columns([groups])
    wanted = bk.evaluate(model, memory, "kind", bk.CrossValidation(fold), sample_weight="w")
    same(found, wanted)
    assert found.computed == "refit"
    asked = memory.drop_columns(["kind", "w"])
    assert found.model.predict_proba(asked) == pytest.approx(wanted.model.predict_proba(asked), abs=1e-12)


def test_a_holdout_of_a_stream_tests_its_share(folder):
    found = bk.evaluate(bk.NaiveBayes(), folder / "plain.parquet", "kind", bk.Holdout(0.25))
    fold = folds(HashSplit((0.25, 1.0), seed_of(0)))
    assert found.confusion.weight == np.sum(fold == 0)
    assert found.confusion.weight == pytest.approx(ROWS / 4, rel=0.03)
    train, test = TABLE.drop_columns(["id"]).filter(fold == 1), TABLE.drop_columns(["id"]).filter(fold == 0)
    model = bk.NaiveBayes().fit(train, "kind")
    assert found.accuracy == pytest.approx(np.mean(model.predict(test) == test["kind"].to_numpy()))
    interval = found.interval("log_loss")
    assert interval.low < found.log_loss < interval.high


def test_folds_of_a_hash_are_even_and_differ_by_seed():
    one, other = (folds(HashSplit(tuple((f + 1) / 10 for f in range(10)), seed)) for seed in (1, 2))
    assert np.bincount(one).std() < 2 * np.sqrt(ROWS / 10)
    assert np.mean(one == other) == pytest.approx(0.1, abs=0.01)


def test_the_model_of_all_rows_is_the_fitted_one(folder):
    found = bk.evaluate(bk.NaiveBayes(), folder / "plain.parquet", "kind", bk.CrossValidation(4))
    assert found.model.model_.digest == bk.NaiveBayes().fit(folder / "plain.parquet", "kind").model_.digest


WRONG = [
    ({"method": bk.Bootstrap632()}, InputError, "not for a stream"),
    ({"method": bk.CrossValidation(5, repeats=2)}, InputError, "not for a stream"),
    ({"method": bk.CrossValidation([0, 1])}, InputError, "not for a stream"),
    ({"model": GaussianNB()}, InputError, "read the rows into memory"),
    ({"groups": "nobody"}, SchemaError, "'nobody'"),
    ({"groups": [1, 2]}, InputError, "groups must name a column"),
    ({"y": ["a"]}, InputError, "y must name a column"),
    ({"y": "nothing"}, SchemaError, "'nothing'"),
    ({"model": bk.NaiveBayes(families="auto"), "method": bk.LeaveOneOut()}, InputError, "CrossValidation"),
]


@pytest.mark.parametrize(("given", "error", "message"), WRONG)
def test_what_a_stream_cannot_give_is_refused(folder, given, error, message):
    call = {"model": bk.NaiveBayes(), "X": folder / "all.parquet", "y": "kind", **given}
    with pytest.raises(error, match=message) as caught:
        bk.evaluate(**call)
    assert isinstance(caught.value, BayeskitError)


def test_rows_of_a_stream_cannot_be_shown(folder):
    found = bk.evaluate(bk.NaiveBayes(), folder / "plain.parquet", "kind", bk.CrossValidation(3))
    with pytest.raises(InputError, match="not kept"):
        found.frame(of="rows")
    with pytest.raises(InputError, match="not kept"):
        found.roc("a")


def test_one_class_is_refused(tmp_path):
    pq.write_table(TABLE.filter(np.array(TABLE["kind"]) == "a"), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="one class"):
        bk.evaluate(bk.NaiveBayes(), tmp_path / "a.parquet", "kind")


def test_models_are_compared_on_the_same_folds_of_a_stream(folder):
    models = {"one": bk.NaiveBayes(), "same": bk.NaiveBayes(), "flat": bk.NaiveBayes(prior="uniform")}
    found = bk.compare(models, folder / "plain.parquet", "kind", bk.CrossValidation(4))
    assert found["one"].log_loss == found["same"].log_loss
    assert found.difference("flat", "one").how == "folds, corrected t"
    with pytest.raises(InputError, match="memory"):
        bk.compare({}, folder / "plain.parquet", "kind", baselines=True)


def test_populations_are_tables_in_memory(folder):
    with pytest.raises(InputError, match="'N'"):
        bk.cross_population(bk.NaiveBayes(), {"N": (folder / "plain.parquet", "kind")})
