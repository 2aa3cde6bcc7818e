"""Silent surprises of other libraries: what a level is, levels never seen, and zeros in every class."""

from fractions import Fraction as F

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.errors import InputError, KindError
from bayeskit.smoothing import AddM, MEstimate, ReplaceZeros

COLOURS = ["red", "blue", "red", "green", "blue", "red"]
Y = ["a", "a", "a", "b", "b", "b"]  # a: red 2, blue 1; b: red 1, blue 1, green 1


def posterior(*joint):
    return [float(p / sum(joint)) for p in joint]


# -- what a level is -------------------------------------------------------------------------------


def chunks(values, kind=None):
    """A column in chunks whose dictionaries give the same levels different codes."""
    parts = [pa.array(values[:2], kind), pa.array(values[2:4], kind), pa.array(values[4:], kind)]
    return pa.chunked_array([p.dictionary_encode() for p in parts])


SAME = {
    "list": {"c": COLOURS},
    "object": np.array(COLOURS, dtype=object),
    "string": pa.table({"c": pa.array(COLOURS, pa.string())}),
    "large_string": pa.table({"c": pa.array(COLOURS, pa.large_string())}),
    "string_view": pa.table({"c": pa.array(COLOURS, pa.string_view())}),
    "dictionary": pa.table({"c": pa.array(COLOURS).dictionary_encode()}),
    "chunks with codes of their own": pa.table({"c": chunks(COLOURS)}),
    "chunks of large_string": pa.table({"c": chunks(COLOURS, pa.large_string())}),
    "pandas str": pd.DataFrame({"c": COLOURS}),
    "pandas object": pd.DataFrame({"c": np.array(COLOURS, dtype=object)}),
    "pandas category": pd.DataFrame({"c": pd.Categorical(COLOURS, categories=["green", "red", "blue"])}),
    "pandas arrow": pd.DataFrame({"c": pd.array(COLOURS, dtype=pd.ArrowDtype(pa.string()))}),
    "polars": pl.DataFrame({"c": COLOURS}),
    "polars categorical": pl.DataFrame({"c": COLOURS}, schema={"c": pl.Categorical}),
    "records": [{"c": c} for c in COLOURS],
}


def named(table):
    return {"c": table} if isinstance(table, np.ndarray) else table


@pytest.mark.parametrize("kind", SAME)
def test_a_level_is_its_value_however_it_is_stored(kind):
    plain = bk.NaiveBayes().fit({"c": COLOURS}, Y)
    other = bk.NaiveBayes().fit(named(SAME[kind]), Y)
    assert other.model_.digest == plain.model_.digest
    a = [F(1, 2) * F({"red": 2, "blue": 1, "green": 0}[c] + 1, 3 + 3) for c in COLOURS]
    b = [F(1, 2) * F({"red": 1, "blue": 1, "green": 1}[c] + 1, 3 + 3) for c in COLOURS]
    expected = np.array([posterior(*pair) for pair in zip(a, b, strict=True)])
    for model in (plain, other):
        assert model.predict_proba(named(SAME[kind])) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("kind", SAME)
def test_levels_meet_across_storage_when_learning_more(kind):
    grown = bk.NaiveBayes().fit({"c": ["blue", "mauve"]}, ["b", "a"]).partial_fit(named(SAME[kind]), Y)
    assert grown.model_.digest == bk.NaiveBayes().fit({"c": ["blue", "mauve", *COLOURS]}, ["b", "a", *Y]).model_.digest


def test_text_and_number_are_different_levels():
    model = bk.NaiveBayes(kinds={"c": "nominal"}).fit({"c": ["1", "2", "1", "2"]}, ["a", "a", "b", "a"])
    with pytest.raises(KindError, match="'c'"):
        model.predict_proba({"c": [1, 2]})
    with pytest.raises(KindError, match="'c'"):
        model.partial_fit({"c": [1, 2]}, ["b", "a"])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.float32, np.float64])
def test_a_number_is_one_level_in_every_width(dtype):
    codes = np.array([1, 2, 1, 3, 2, 1])
    plain = bk.NaiveBayes(kinds={"c": "nominal"}).fit({"c": codes}, Y)
    other = bk.NaiveBayes(kinds={"c": "nominal"}).fit({"c": codes.astype(dtype)}, Y)
    assert other.model_.digest == plain.model_.digest
    assert np.array_equal(plain.predict_proba({"c": codes.astype(dtype)}), plain.predict_proba({"c": codes}))


def test_tables_are_sized_by_the_number_of_levels_not_by_the_largest_code():
    codes = np.array([10**15, -(10**15), 10**15, 7, -(10**15), 10**15])
    model = bk.NaiveBayes(kinds="nominal").fit(codes[:, None], Y)
    assert model.predict_proba([[10**15]])[0] == pytest.approx(posterior(F(3, 6), F(2, 6)), rel=1e-14)


def test_minus_zero_is_zero():
    for kinds in (None, "nominal"):
        zeros = bk.NaiveBayes(kinds=kinds).fit({"c": [0.0, 0.0, 1.0, 2.0]}, [0, 1, 0, 1])
        minus = bk.NaiveBayes(kinds=kinds).fit({"c": [-0.0, 0.0, 1.0, 2.0]}, [0, 1, 0, 1])
        assert zeros.model_.digest == minus.model_.digest
        assert np.array_equal(zeros.predict_proba({"c": [-0.0]}), zeros.predict_proba({"c": [0.0]}))


def test_minus_zero_is_the_class_zero():
    model = bk.NaiveBayes().fit({"c": COLOURS}, np.array([0.0, -0.0, 1.0, -0.0, 1.0, 1.0]))
    assert model.classes_.tolist() == [0.0, 1.0]


# -- levels never seen -----------------------------------------------------------------------------


TABLE = {"c": COLOURS, "d": ["x", "y", "x", "x", "y", "y"]}  # d: a: x 2, y 1; b: x 1, y 2


def test_unseen_says_nothing_by_default():
    model = bk.NaiveBayes().fit(TABLE, Y)
    found = model.predict_proba({"c": ["mauve"], "d": ["x"]})[0]
    assert found == pytest.approx(posterior(F(3, 5), F(2, 5)), rel=1e-14)
    assert np.array_equal(found, model.predict_proba({"c": [None], "d": ["x"]})[0])


@pytest.mark.parametrize("alpha", [1, 0.25, 3])
def test_unseen_smooth_is_what_a_refit_with_the_level_declared_gives(alpha):
    labels = ["a"] * 5 + ["b"]  # classes of unequal weight, where the common short cut goes wrong
    model = bk.NaiveBayes(unseen="smooth", smoothing=alpha).fit(TABLE, labels)
    levels = {"c": ["red", "blue", "green", "mauve"]}
    refit = bk.NaiveBayes(kinds=levels, families=bk.families.Categorical(alpha)).fit(TABLE, labels)
    new = {"c": ["mauve"], "d": ["y"]}
    al = F(alpha)
    joint = (
        F(5, 6) * al / (5 + al * 4) * (2 + al) / (5 + 2 * al),
        F(1, 6) * al / (1 + al * 4) * (1 + al) / (1 + 2 * al),
    )
    assert np.exp(model.predict_joint_log_proba(new)[0]) == pytest.approx([float(p) for p in joint], rel=1e-13)
    assert np.exp(refit.predict_joint_log_proba(new)[0]) == pytest.approx([float(p) for p in joint], rel=1e-13)


def test_unseen_smooth_does_not_change_levels_that_were_seen():
    smooth, plain = bk.NaiveBayes(unseen="smooth").fit(TABLE, Y), bk.NaiveBayes().fit(TABLE, Y)
    assert np.array_equal(smooth.predict_proba(TABLE), plain.predict_proba(TABLE))


@pytest.mark.parametrize("rule", [0, MEstimate(2), ReplaceZeros(0.5), ReplaceZeros("class"), AddM(2)], ids=repr)
def test_unseen_smooth_under_every_rule(rule):
    model = bk.NaiveBayes(unseen="smooth", smoothing=rule).fit({"c": COLOURS}, ["a"] * 5 + ["b"])
    a, b = {
        "0": (1, 1),  # none: as missing
        "MEstimate(m=2.0, prior=None)": (F(2, 4) / (5 + 2), F(2, 4) / (1 + 2)),
        "ReplaceZeros(by=0.5)": (F(1, 12), F(1, 12)),
        "ReplaceZeros(by='class')": (F(5, 36), F(1, 36)),
        "AddM(m=2.0)": (F(2, 5 + 2), F(2, 1 + 2)),
    }[repr(rule)]
    expected = posterior(F(5, 6) * a, F(1, 6) * b)
    assert model.predict_proba({"c": ["mauve"]})[0] == pytest.approx(expected, rel=1e-13)


def test_unseen_error_names_column_level_and_what_is_known():
    model = bk.NaiveBayes(unseen="error").fit(TABLE, Y)
    with pytest.raises(InputError, match=r"(?s)'c'.*'mauve'.*blue, green, red.*unseen"):
        model.predict({"c": ["red", "mauve"], "d": ["x", "y"]})
    assert np.isfinite(model.predict_proba({"c": [None], "d": ["x"]})).all()  # missing is not unseen


@pytest.mark.parametrize("unseen", [4, -1, 2**40])
def test_an_unseen_code_of_a_matrix_is_not_clipped_or_wrapped(unseen):
    codes = np.array([[1, 0], [2, 0], [1, 1], [3, 1], [2, 0], [1, 0]])
    model = bk.NaiveBayes(kinds="nominal").fit(codes, Y)
    d = {0: (F(3, 5), F(3, 5)), 1: (F(2, 5), F(2, 5))}
    assert model.predict_proba([[unseen, 1]])[0] == pytest.approx(posterior(*d[1]), rel=1e-14)
    with pytest.raises(InputError, match=f"'x0'.*{unseen}"):
        bk.NaiveBayes(kinds="nominal", unseen="error").fit(codes, Y).predict([[unseen, 1]])


# -- zeros in every class --------------------------------------------------------------------------


def limit(alpha, rows, labels, new):
    """Exact posterior with a smoothing of alpha."""
    joint = []
    for c in sorted(set(labels)):
        mine = [row for row, label in zip(rows, labels, strict=True) if label == c]
        p = F(len(mine), len(rows))
        for j, value in enumerate(new):
            levels = len({row[j] for row in rows})
            p *= (sum(row[j] == value for row in mine) + alpha) / (len(mine) + alpha * levels)
        joint.append(p)
    return posterior(*joint)


ROWS = [("r", "x", "p"), ("r", "x", "p"), ("g", "y", "p"), ("g", "x", "q"), ("b", "y", "q"), ("b", "z", "p")]
EQUAL, UNEQUAL = list("aabbcc"), list("aaabcc")


@pytest.mark.parametrize("labels", [EQUAL, UNEQUAL], ids=["equal classes", "unequal classes"])
def test_zeros_in_every_class_give_the_limit_of_vanishing_smoothing(labels):
    model = bk.NaiveBayes(smoothing=0).fit(ROWS, labels)
    for first in "rgb":
        for second in "xyz":
            for third in "pq":
                new = (first, second, third)
                found = model.predict_proba([new])[0]
                assert found == pytest.approx(limit(F(1, 10**30), ROWS, labels, new), rel=1e-12, abs=1e-14), new


def test_the_limit_is_approached_by_small_smoothing():
    none, little = bk.NaiveBayes(smoothing=0).fit(ROWS, EQUAL), bk.NaiveBayes(smoothing=1e-9).fit(ROWS, EQUAL)
    new = [(f, s, t) for f in "rgb" for s in "xyz" for t in "pq"]
    assert none.predict_proba(new) == pytest.approx(little.predict_proba(new), abs=1e-7)
    assert np.isneginf(none.predict_joint_log_proba([("r", "z", "q")])).all()


@pytest.mark.parametrize("kind", ["?", "i1", "u4", "i8"])
def test_levels_of_many_rows_have_the_type_of_the_matrix(kind: str) -> None:
    x = np.tile(np.array([[0, 1], [1, 1]], dtype=kind), (2000, 1))
    model = bk.NaiveBayes(kinds="nominal").fit(x, np.arange(len(x)) % 2)
    family = bool if kind == "?" else int
    for name, values in (("x0", [0, 1]), ("x1", [1])):
        found = model.model_.counted.domain.levels[name].values
        assert found == values
        assert {type(v) for v in found} == {family}


@pytest.mark.parametrize("new", [[1, 2, 2], [True, False, True]], ids=["numbers", "truth values"])
@pytest.mark.parametrize("model", [bk.NaiveBayes(kinds={"a": "nominal"}), bk.TAN(kinds={"a": "nominal"})], ids=repr)
def test_levels_of_another_type_do_not_join(model, new):
    """1 and "1" would be two levels of one column, which no table holds."""
    model.fit({"a": ["x", "y", "x"]}, [0, 1, 0])
    digest = model.model_.digest
    with pytest.raises(TypeError, match=r"column 'a' has levels that are .* and text .*convert it"):
        model.partial_fit({"a": new}, [0, 1, 0])
    assert model.model_.digest == digest
    other = bk.NaiveBayes(kinds={"a": "nominal"}).fit({"a": new}, [0, 1, 0])
    if isinstance(model, bk.NaiveBayes):
        with pytest.raises(TypeError, match="values of one type"):
            model.merge(other)
