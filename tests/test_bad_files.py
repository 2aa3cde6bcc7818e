"""What bad table files and bad model files get."""

import pickle
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayeskit as bk
from bayeskit.errors import InputError, ModelFileError, SchemaError

TABLE = {"age": [20.0, 30.0, 40.0, 50.0], "town": ["A", "B", "A", "B"], "sick": ["ill", "ill", "well", "well"]}


@pytest.fixture
def parquet(tmp_path):
    pq.write_table(pa.table(TABLE), tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


@pytest.fixture
def saved(tmp_path):
    bk.NaiveBayes().fit(pa.table(TABLE), "sick").save(tmp_path / "model.bayes")
    return tmp_path / "model.bayes"


# -- tables ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gone.csv", "gone.parquet", "gone-*.parquet", "gone.csv.gz"])
def test_a_missing_file_is_named(tmp_path, name):
    with pytest.raises(InputError, match=name.replace("*", r"\*").replace(".", r"\.")):
        bk.NaiveBayes().fit(tmp_path / name, "sick")


def test_an_empty_text_names_no_file_and_not_the_folder_one_is_in(tmp_path, monkeypatch):
    (tmp_path / "rows.csv").write_text("a,y\n1,p\n2,q\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="empty text"):
        bk.NaiveBayes().fit("", "y")


@pytest.mark.parametrize("name", ["empty.csv", "empty.parquet", "empty.tsv"])
def test_an_empty_file_is_named(tmp_path, name):
    (tmp_path / name).touch()
    with pytest.raises(InputError, match=f"{name}.*empty"):
        bk.NaiveBayes().fit(tmp_path / name, "sick")


def test_a_file_with_a_header_only_teaches_nothing(tmp_path):
    (tmp_path / "head.csv").write_text("age,town,sick\n")
    with pytest.raises(InputError, match="0 sample"):
        bk.NaiveBayes().fit(tmp_path / "head.csv", "sick")


@pytest.mark.parametrize("name", ["people.xlt", "people", "people.csv.bak"])
def test_an_unknown_ending_is_told_the_known_ones(tmp_path, name):
    (tmp_path / name).write_text("age,sick\n1,ill\n2,well\n")
    with pytest.raises(InputError, match=rf"{name}.*\.parquet.*\.csv"):
        bk.NaiveBayes().fit(tmp_path / name, "sick")


def test_a_file_that_is_not_what_its_ending_says_is_named(tmp_path):
    (tmp_path / "people.parquet").write_text("age,sick\n1,ill\n2,well\n")
    with pytest.raises(InputError, match=r"people\.parquet"):
        bk.NaiveBayes().fit(tmp_path / "people.parquet", "sick")


def test_a_parquet_file_cut_short_is_named(parquet):
    parquet.write_bytes(parquet.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"people\.parquet"):
        bk.NaiveBayes().fit(parquet, "sick")


def test_a_file_without_the_target_is_told_its_columns(parquet):
    with pytest.raises(SchemaError, match=r"'income'.*age, town, sick"):
        bk.NaiveBayes().fit(parquet, "income")


def test_a_file_takes_its_target_by_name_only(parquet):
    with pytest.raises(InputError, match="y must name a column"):
        bk.NaiveBayes().fit(parquet, TABLE["sick"])


def test_a_file_without_a_fitted_column_is_refused_at_prediction(parquet, tmp_path):
    model = bk.NaiveBayes().fit(parquet, "sick")
    pq.write_table(pa.table({"age": [1.0]}), tmp_path / "ages.parquet")
    with pytest.raises(SchemaError, match=r"(?s)missing.*town"):
        model.predict(tmp_path / "ages.parquet")


def test_a_file_without_rows_cannot_be_asked_about(parquet, tmp_path):
    model = bk.NaiveBayes().fit(parquet, "sick")
    pq.write_table(pa.table(TABLE).slice(0, 0), tmp_path / "none.parquet")
    with pytest.raises(InputError, match="0 sample"):
        model.predict(tmp_path / "none.parquet")


def test_an_infinite_value_in_a_file_is_named_by_its_column(tmp_path):
    (tmp_path / "far.csv").write_text("age,sick\n1.5,ill\ninf,well\n2.5,ill\n")
    with pytest.raises(InputError, match=r"'age'.*infinite"):
        bk.NaiveBayes().fit(tmp_path / "far.csv", "sick")


def test_dates_in_a_file_are_refused_by_name(tmp_path):
    (tmp_path / "days.csv").write_text("day,sick\n2024-05-01,ill\n2024-05-02,well\n")
    with pytest.raises(bk.errors.KindError, match=r"'day'.*date.*leave it out"):
        bk.NaiveBayes().fit(tmp_path / "days.csv", "sick")


def test_a_ragged_csv_is_refused_with_its_line(tmp_path):
    (tmp_path / "ragged.csv").write_text("age,town,sick\n1,A,ill\n2,B,well\n3,A,ill,extra\n4,B,well\n")
    with pytest.raises(InputError, match=r"ragged\.csv.*4"):
        bk.NaiveBayes().fit(tmp_path / "ragged.csv", "sick")


# -- models ----------------------------------------------------------------------------------------


def test_a_saved_model_comes_back(saved):
    model = bk.load(saved)
    assert model.model_.digest == bk.NaiveBayes().fit(pa.table(TABLE), "sick").model_.digest


def test_every_truncation_is_refused(saved):
    whole = saved.read_bytes()
    for length in sorted({0, 1, 7, 8, 9, len(whole) // 2, len(whole) - 1, *range(0, len(whole), 97)}):
        saved.write_bytes(whole[:length])
        with pytest.raises(ModelFileError, match=r"model\.bayes"):
            bk.load(saved)


def test_bytes_after_the_end_are_refused(saved):
    saved.write_bytes(saved.read_bytes() + b"\0")
    with pytest.raises(ModelFileError, match=r"model\.bayes"):
        bk.load(saved)


def test_flipped_bits_are_refused(saved):
    whole = saved.read_bytes()
    rng = random.Random(2)
    for bit in rng.sample(range(8 * len(whole)), 300):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        saved.write_bytes(damaged)
        with pytest.raises(ModelFileError, match=r"model\.bayes"):
            bk.load(saved)


@pytest.mark.parametrize("content", [b"", b"hello", b"{}", pickle.dumps({"a": 1}), b"\xff" * 4096])
def test_what_was_never_a_model_is_refused(saved, content):
    saved.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"model\.bayes"):
        bk.load(saved)


def test_a_missing_model_file_is_named(tmp_path):
    with pytest.raises(ModelFileError, match=r"gone\.bayes"):
        bk.load(tmp_path / "gone.bayes")


def test_a_directory_is_no_model(tmp_path):
    with pytest.raises(ModelFileError):
        bk.load(tmp_path)


def test_a_failed_save_leaves_the_old_model(saved, tmp_path):
    before = saved.read_bytes()
    with pytest.raises(Exception, match="fit"):
        bk.NaiveBayes().save(saved)
    assert saved.read_bytes() == before
