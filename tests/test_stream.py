"""One row at a time: the same digest and the same posteriors as tables give, in constant memory."""

import tracemalloc

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.errors import InputError, KindError, SchemaError
from portable_cases import asked, table


def records(frame):
    plain = frame.astype(object).where(frame.notna(), None)
    return [{k: v.item() if isinstance(v, np.generic) else v for k, v in r.items()} for r in plain.to_dict("records")]


COLUMNS = ["age", "height", "sugar", "visits", "colour", "select", "flag"]
MODELS = [bk.NaiveBayes(), bk.NaiveBayes(unseen="smooth"), bk.NaiveBayes(missing="level"), bk.FullBayes()]


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("batch", [1, 7, 256])
def test_rows_one_by_one_are_the_table(model, batch):
    frame, y = table(120)
    columns = COLUMNS if isinstance(model, bk.NaiveBayes) else ["age", "select", "flag"]
    rows = records(frame[columns])
    stream = bk.Stream(type(model)(**model.get_params()), batch=batch)
    for row, label in zip(rows, y.tolist(), strict=True):
        stream.learn_one(row, label)
    whole = type(model)(**model.get_params()).fit(frame[columns], y)
    assert stream.counted().model_.digest == whole.model_.digest
    odd = asked(frame[columns].astype({"visits": float}) if "visits" in columns else frame[columns], n=60)
    for row, wanted in zip(records(odd), whole.predict_proba(odd), strict=True):
        found = stream.predict_proba_one(row)
        assert list(found) == whole.classes_.tolist()
        np.testing.assert_array_equal(list(found.values()), wanted)
        assert stream.predict_one(row) == whole.classes_[wanted.argmax()]


def test_predictions_are_no_later_than_said():
    stream, known = bk.Stream(bk.NaiveBayes(), batch=16), []
    for i in range(2000):
        stream.learn_one({"x": float(i % 7)}, i % 2)
        known.append(stream._classifier.model_.weights.sum() if i else 0)
    late = np.arange(1, 2001) - np.array(known)
    assert late[1:].max() <= 16
    assert (late[1:] <= 1 + np.arange(2, 2001) / 32).all()


def test_before_anything_is_learned_nothing_is_said():
    stream = bk.Stream(bk.NaiveBayes())
    assert stream.predict_proba_one({"x": 1.0}) == {}
    assert stream.predict_one({"x": 1.0}) is None
    stream.learn_one({"x": 1.0}, "a")
    assert stream.predict_proba_one({"x": 1.0}) == {}  # one class says nothing
    stream.learn_one({"x": 2.0}, "b")
    assert sum(stream.predict_proba_one({"x": 1.0}).values()) == pytest.approx(1.0)


def test_a_fitted_model_goes_on():
    frame, y = table(120)
    model = bk.TAN().fit(frame[["age", "select"]].head(80), y[:80])
    again = (
        bk.TAN().fit(frame[["age", "select"]].head(80), y[:80]).partial_fit(frame[["age", "select"]].tail(40), y[80:])
    )
    stream = bk.Stream(model)
    for row, label in zip(records(frame[["age", "select"]].tail(40)), y[80:].tolist(), strict=True):
        stream.learn_one(row, label)
    assert stream.counted().model_.digest == again.model_.digest


def test_a_row_that_is_refused_is_left_out_and_named():
    stream = bk.Stream(bk.NaiveBayes(), batch=64)
    good = [({"x": float(i), "c": "ab"[i % 2]}, i % 2) for i in range(60)]
    for row, label in good:
        stream.learn_one(row, label)
    stream.counted()
    stream.learn_one({"x": float("inf"), "c": "a"}, 0)
    with pytest.raises(InputError, match="infinite"):
        stream.learn_one({"x": 60.0, "c": "a"}, 0)
    rows = {"x": [float(i) for i in range(61)], "c": ["ab"[i % 2] for i in range(61)]}
    assert stream.counted().model_.digest == bk.NaiveBayes().fit(rows, [i % 2 for i in range(61)]).model_.digest
    with pytest.raises(SchemaError, match="'z' is not one of"):
        stream.learn_one({"z": 1.0}, 0)
    with pytest.raises(InputError, match="infinite"):
        stream.predict_proba_one({"x": float("inf")})
    strict = bk.Stream(bk.NaiveBayes(unseen="error").fit({"c": ["a", "b"]}, [0, 1]))
    with pytest.raises(InputError, match="never"):
        strict.predict_proba_one({"c": "never"})


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: bk.Stream(bk.KNNBayes()), KindError, "keeps the rows"),
        (lambda: bk.Stream(bk.TAN(exact=True)), KindError, "keeps the rows"),
        (lambda: bk.Stream(bk.TAN()), InputError, "fit it to some"),
        (lambda: bk.Stream(bk.AutoBayes()), KindError, "that counts"),
        (lambda: bk.Stream(bk.NaiveBayes(), batch=0), InputError, "number of rows"),
    ],
)
def test_what_cannot_be_a_stream_is_refused(make, error, match):
    with pytest.raises(error, match=match):
        make()


def test_memory_does_not_grow_with_the_rows():
    stream = bk.Stream(bk.NaiveBayes())

    def learn(n, start):
        for i in range(start, start + n):
            stream.learn_one({"x": i * 0.37 % 11, "c": "abc"[i % 3]}, i % 2)

    learn(4000, 0)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    learn(4000, 4000)
    stream.counted()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 200_000  # 4,000 rows as mappings take a megabyte


@pytest.mark.parametrize("odd", [
    {"x": 7}, {"x": True}, {"x": np.float64(2.5)}, {"x": None}, {"c": None}, {"c": "new"}, {"c": np.str_("a")}, {},
    {"b": None}, {"y": "third"}, {"y": np.str_("u")},
], ids=str)  # fmt: skip
def test_rows_that_are_not_plain_count_as_in_a_table(odd):
    rows = [{"x": i / 7, "c": "abc"[i % 3], "b": i % 2 == 0} for i in range(40)]
    labels = ["uv"[i % 2] for i in range(40)]
    added = [dict(rows[3]), {**rows[4], **{k: v for k, v in odd.items() if k != "y"}}]
    stream = bk.Stream(bk.NaiveBayes(), batch=2)
    for row, label in zip(rows + added, [*labels, "u", odd.get("y", "v")], strict=True):
        stream.learn_one(row, label)
    table = bk.NaiveBayes().fit({n: [row[n] for row in rows] for n in rows[0]}, labels)
    table.partial_fit({n: [row[n] for row in added] for n in rows[0]}, ["u", odd.get("y", "v")])
    assert stream.counted().model_.digest == table.model_.digest
    assert stream.counted().model_.counted.rows == 42


def test_what_was_learned_before_stays_as_it_was():
    model = bk.NaiveBayes().fit({"x": [1.0, 2.0, 3.0, 4.0], "c": ["a", "b"] * 2}, ["u", "v"] * 2)
    before, digest = model.model_, model.model_.digest
    stream = bk.Stream(model, batch=1)
    stream.learn_one({"x": 9.0, "c": "a"}, "u")
    assert model.model_.weights.tolist() == [3.0, 2.0]
    assert before.weights.tolist() == [2.0, 2.0]
    assert type(before)(before.counted, before.structure).digest == digest
    with pytest.raises(InputError, match="infinity"):
        stream.learn_one({"x": np.inf, "c": "a"}, "u")
    assert model.model_.weights.tolist() == [3.0, 2.0]
