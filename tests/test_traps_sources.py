"""The same table in another dress: frames, matrices, files, settings of other types give the same model or an error."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.errors import InputError, KindError, SchemaError

V = pd.DataFrame({"c": list("ababac"), "k": [1.0, 2, 3, 4, 5, 7]})
Y = [0, 1, 0, 1, 0, 1]


def digest(X, y=Y, **settings):
    return bk.NaiveBayes(**settings).fit(X, y).model_.digest


# -- settings --------------------------------------------------------------------------------------


@pytest.mark.parametrize("half", [0.5, np.float64(0.5), np.float32(0.5)])
def test_a_setting_is_the_same_whatever_number_type_it_has(half, tmp_path):
    model = bk.NaiveBayes(smoothing=half).fit(V, Y)
    model.save(tmp_path / "m.bayes")
    assert bk.load(tmp_path / "m.bayes").model_.digest == model.model_.digest == digest(V, smoothing=0.5)


@pytest.mark.parametrize(
    "prior", [[0.9, 0.1], (0.9, 0.1), np.array([0.9, 0.1]), {1: 0.1, 0: 0.9}, pd.Series({1: 0.1, 0: 0.9})]
)
def test_a_prior_is_by_class_and_survives_a_file(prior, tmp_path):
    model = bk.NaiveBayes(prior=prior).fit(V, Y)
    assert np.exp(model.model_.log_prior()) == pytest.approx([0.9, 0.1])
    assert model.predict_proba(V[:1], prior=prior) == pytest.approx(model.predict_proba(V[:1]))
    model.save(tmp_path / "m.bayes")
    assert (model + bk.load(tmp_path / "m.bayes")).model_.weights.tolist() == [6, 6]


def test_a_prior_set_after_the_fit_holds_from_the_next_learning():
    model = bk.NaiveBayes().fit(V, Y).set_params(prior={0: 0.9, 1: 0.1}).partial_fit(V, Y)
    assert np.exp(model.model_.log_prior()) == pytest.approx([0.9, 0.1])


# -- matrices --------------------------------------------------------------------------------------


def test_independence_takes_the_columns_named_of_a_matrix():
    M = np.array([[0, 1, 0], [0, 1, 0], [1, 1, 1], [1, 0, 1]])
    for x in (M, M.astype(float)):
        assert bk.independence(x, "x0", "x2").mutual_information == pytest.approx(np.log(2))
        assert bk.independence(x, {"x1": 1}, {"x0": 1}).p_a == pytest.approx(3 / 4)


def test_masked_cells_are_missing():
    values, mask = np.array([[1.0, 2], [3, 4], [5, 6], [7, 9]]), np.eye(4, 2, dtype=bool)
    y = [0, 1, 0, 1]
    assert digest(np.ma.masked_array(values, mask), y) == digest(np.where(mask, np.nan, values), y)


@pytest.mark.parametrize("dtype", [">f8", ">i4", np.longdouble, np.float16, np.uint8])
def test_every_number_type_of_a_matrix_counts_the_same(dtype):
    X = np.array([[1, 2], [3, 5], [4, 1], [7, 9]])
    assert digest(X.astype(dtype), [0, 1, 0, 1]) == digest(X.astype(float), [0, 1, 0, 1])
    nominal = bk.NaiveBayes(kinds="nominal").fit(X.astype(dtype), np.array([0, 1, 0, 1], dtype=">i4"))
    assert nominal.predict(X).tolist() == [0, 1, 0, 1]


def test_large_unsigned_numbers_do_not_wrap_onto_negative_levels():
    model = bk.NaiveBayes(kinds="nominal", unseen="error").fit([[-1], [2], [5]] * 2, Y)
    with pytest.raises(InputError, match="18446744073709551615"):
        model.predict(np.array([[2**64 - 1]], dtype=np.uint64))


# -- frames ----------------------------------------------------------------------------------------


def test_integer_column_names_are_names():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(6, 3)))
    model = bk.NaiveBayes(kinds={2: "quantitative"}).fit(frame, Y)
    assert (model.predict_proba(frame[[2, 1, 0]]) == model.predict_proba(frame)).all()


def test_many_named_columns():
    wide = pd.DataFrame(np.arange(6 * 4000.0).reshape(6, 4000), columns=[f"c{j}" for j in range(4000)])
    assert bk.NaiveBayes().fit(wide, Y).n_features_in_ == 4000


def test_a_column_may_not_change_its_type_family_between_fit_and_prediction():
    model = bk.NaiveBayes().fit(V, Y)
    with pytest.raises(KindError, match=r"'c' held text .* now has numbers"):
        model.predict({"c": [1, 2], "k": [1.0, 2.0]})


def test_a_record_without_a_key_has_a_missing_value():
    model = bk.NaiveBayes().fit([{"a": 1.0, "b": "u"}, {"a": 3.0, "b": "v"}], ["p", "q"])
    assert (model.predict_proba([{"a": 1.0}]) == model.predict_proba({"a": [1.0], "b": [None]})).all()
    with pytest.raises(SchemaError, match="z"):
        model.predict([{"a": 1.0, "z": 2}])


def test_an_ordered_category_keeps_its_order_over_chunks():
    grades = pd.Categorical(list("ababac"), categories=["c", "a", "b"], ordered=True)
    whole = pa.table({"c": pa.array(grades)})
    chunked = pa.concat_tables([whole.slice(0, 0), whole.slice(0, 2), whole.slice(2)])
    assert digest(chunked) == digest(whole)
    assert bk.NaiveBayes().fit(chunked, Y).schema_["c"].order == ("c", "a", "b")


def test_intervals_are_refused_by_name():
    with pytest.raises(KindError, match="'i'"):
        bk.NaiveBayes().fit(pd.DataFrame({"i": pd.cut([1, 2, 3, 4, 5, 6], 3)}), Y)


def test_labels_keep_their_width_whatever_comes_later():
    model = bk.NaiveBayes().fit(V, np.array(Y, dtype=np.int32)).partial_fit(V, np.array(Y, dtype=np.int64))
    assert model.classes_.dtype == np.int32
    assert model.score(V, Y) > 0


def test_the_label_and_weight_columns_of_a_fit_are_ignored_at_prediction():
    table = V.assign(y=Y, w=1.0)
    model = bk.NaiveBayes().fit(table, "y", sample_weight="w")
    assert (model.predict(table) == model.predict(V)).all()
    assert (bk.NaiveBayes().fit(V, Y) + bk.NaiveBayes().fit(V.assign(y=Y), "y")).predict(V.assign(y=Y)).shape == (6,)


def test_missing_counts_as_a_level_even_while_the_kind_of_a_column_is_unknown():
    unknown, known = V.assign(c=None), V.assign(c=["a", "b", None, "b", "a", "b"])
    parts = bk.NaiveBayes(missing="level").fit(unknown, Y).partial_fit(known, Y)
    whole = bk.NaiveBayes(missing="level").fit(pd.concat([unknown, known]), Y * 2)
    assert parts.model_.digest == whole.model_.digest


# -- streams and files -----------------------------------------------------------------------------


def test_a_stream_is_explained_in_one_reading():
    model = bk.NaiveBayes().fit(V, Y)
    table = pa.Table.from_pandas(V, preserve_index=False)
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=2))
    assert (model.explain(stream).proba == model.predict_proba(V)).all()


def test_a_csv_is_read_in_the_types_of_the_fit(tmp_path):
    (tmp_path / "train.csv").write_text("code,size,y\n1,2.5,a\n2,,b\nX,1,a\n1,2,a\n2,3,b\n")
    (tmp_path / "new.csv").write_text("code,size\n1,\n2,\n")
    model = bk.NaiveBayes(unseen="error").fit(tmp_path / "train.csv", "y")
    frame = {"code": ["1", "2"], "size": [None, None]}
    assert (model.predict_proba(tmp_path / "new.csv") == model.predict_proba(frame)).all()


def test_a_csv_with_digits_only_forgets_text_labels(tmp_path):
    (tmp_path / "all.csv").write_text("x,y\n1.5,0\n2.5,1\n4,unknown\n5,0\n")
    (tmp_path / "some.csv").write_text("x,y\n1.5,0\n")
    model = bk.NaiveBayes().fit(tmp_path / "all.csv", "y").forget(tmp_path / "some.csv", "y")
    assert model.model_.weights.tolist() == [1, 1, 1]


def test_a_model_without_names_does_not_read_files(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(SchemaError, match="without column names"):
        bk.NaiveBayes().fit(np.eye(2), [0, 1]).predict(tmp_path / "t.csv")


# -- explanations ----------------------------------------------------------------------------------


def test_evidence_is_never_nan():
    model = bk.NaiveBayes(smoothing=0).fit(V[["c"]], Y)
    for row in range(6):
        assert not np.isnan(model.explain(V[["c"]]).evidence(row)).any()


@pytest.mark.parametrize("top", [0, -1, "2", 1.5])
def test_top_is_a_number_of_parts(top):
    with pytest.raises(InputError, match="top"):
        bk.NaiveBayes().fit(V, Y).explain(V, top=top)


def test_evidence_against_an_unknown_class_is_refused():
    with pytest.raises(InputError, match="'z'"):
        bk.NaiveBayes().fit(V, Y).explain(V).evidence(0, "z")


def test_an_event_needs_a_value():
    with pytest.raises(InputError, match="missing"):
        bk.independence(V, {"c": None}, {"k": 1.0})


@pytest.mark.parametrize("nested", [False, True])
def test_a_stream_with_a_name_that_is_no_text_is_refused(nested):
    kind = pa.struct([("name", pa.int64())]) if nested else pa.int64()
    table = pa.table({"inside" if nested else "name": pa.array([{"name": 1}] if nested else [1], kind), "y": ["a"]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    damaged = sink.getvalue().to_pybytes().replace(b"name", b"n\xffme")
    with pytest.raises(InputError, match="damaged"):
        bk.NaiveBayes().fit(pa.ipc.open_stream(damaged), "y")
