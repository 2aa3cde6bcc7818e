"""A declared domain counts: the text's Laplace example, and every model, frame and change after it."""

from fractions import Fraction as F

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import bayeskit as bk
from bayeskit.errors import InputError, MergeError, SchemaError

LEVELS = ["low", "medium", "high"]
INCOME = ["medium"] * 990 + ["high"] * 10
Y = ["paid"] * 1000


def category(values, ordered=False, levels=LEVELS):
    return pd.Categorical(values, categories=levels, ordered=ordered)


def parquet(folder, frame):
    frame.to_parquet(folder / "t.parquet", row_group_size=100)
    return folder / "t.parquet"


def feather(folder, frame):
    pyarrow.feather.write_feather(frame, folder / "t.feather")
    return folder / "t.feather"


def relation(_, frame):
    return duckdb.connect().from_df(frame)


def database(folder, frame):
    with duckdb.connect(folder / "t.duckdb") as connection:
        connection.register("given", frame)
        connection.execute("create table kept as from given")
    return folder / "t.duckdb"


DECLARING = {  # how a frame with an unordered category, two of its three levels seen, comes
    "pandas": lambda _, frame: frame,
    "arrow of pandas": lambda _, frame: pa.Table.from_pandas(frame),
    "parquet of pandas": parquet,
    "feather of pandas": feather,
    "relation": relation,
    "database": database,
}


def laplace(model):
    """P(level | paid) of low, medium, high."""
    found = np.exp(model.predict_joint_log_proba({"income": LEVELS})[:, list(model.classes_).index("paid")])
    return found / np.exp(model.model_.log_prior()[list(model.classes_).index("paid")])


EXPECTED = [float(F(1, 1003)), float(F(991, 1003)), float(F(11, 1003))]  # the textbook's correction of 0, 990, 10


def frame(more=("low",), labels=("failed",)):
    """The thousand paid, and what the others have."""
    return pd.DataFrame({"income": category([*INCOME, *more]), "y": [*Y, *labels]})


@pytest.mark.parametrize("how", DECLARING)
def test_the_textbook_example_comes_out_of_a_declared_type(how, tmp_path):
    seen = frame(("medium",))
    model = bk.NaiveBayes().fit(DECLARING[how](tmp_path, seen), "y")
    assert model.schema_["income"].kind == "nominal"
    assert laplace(model) == pytest.approx(EXPECTED, rel=1e-13)
    assert model.model_.digest == bk.NaiveBayes().fit(seen, "y").model_.digest


@pytest.mark.parametrize("kind", [bk.Nominal(LEVELS), bk.Nominal(LEVELS[::-1]), category([]).dtype])
def test_the_textbook_example_comes_out_of_declared_kinds(kind):
    seen = frame(("medium",))
    model = bk.NaiveBayes(kinds={"income": kind}).fit({"income": seen["income"].tolist()}, seen["y"])
    assert laplace(model) == pytest.approx(EXPECTED, rel=1e-13)
    assert model.model_.digest == bk.NaiveBayes().fit(seen, "y").model_.digest


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"income": category([*INCOME, "medium"], ordered=True)}),
        pl.DataFrame({"income": pl.Series([*INCOME, "medium"], dtype=pl.Enum(LEVELS))}),
        {"income": category([*INCOME, "medium"], ordered=True)},
    ],
    ids=["pandas", "polars", "mapping"],
)
def test_an_ordered_type_declares_levels_and_their_order(table):
    model = bk.NaiveBayes(families=bk.families.Categorical()).fit(table, [*Y, "failed"])
    assert model.schema_["income"].order == tuple(LEVELS)
    assert laplace(model) == pytest.approx(EXPECTED, rel=1e-13)
    nominal = bk.NaiveBayes(kinds={"income": "nominal"}).fit(table, [*Y, "failed"])
    assert laplace(nominal) == pytest.approx(EXPECTED, rel=1e-13)
    for kind in (bk.Ordinal(LEVELS), LEVELS, category([], ordered=True).dtype, pl.Enum(LEVELS)):
        declared = bk.NaiveBayes(kinds={"income": kind}, families=bk.families.Categorical())
        declared.fit({"income": [*INCOME, "medium"]}, [*Y, "failed"])
        assert declared.model_.digest == model.model_.digest


def test_a_dictionary_of_arrow_alone_declares_nothing():
    codes = pa.array([LEVELS.index(v) for v in [*INCOME, "medium"]])
    table = pa.table({"income": pa.DictionaryArray.from_arrays(codes, pa.array(LEVELS))})
    model = bk.NaiveBayes().fit(table, [*Y, "failed"])
    assert model.model_.counted.domain.levels["income"].values == ["high", "medium"]


# -- every model -----------------------------------------------------------------------------------


RNG = np.random.default_rng(4)
ROWS = 60
PLAIN = {
    "c": RNG.choice(["u", "v", "w"], ROWS).tolist(),
    "d": RNG.choice(["p", "q"], ROWS).tolist(),
    "e": RNG.choice(["m", "n"], ROWS).tolist(),
}
LABELS = [("a", "b")[c == "u" or r > 0.8] for c, r in zip(PLAIN["c"], RNG.random(ROWS).tolist(), strict=True)]
KINDS = {"c": bk.Nominal(["t", "u", "v", "w"]), "d": bk.Nominal(["p", "q"])}
MODELS = {
    "naive": bk.NaiveBayes,
    "naive, weighted": lambda **kw: bk.NaiveBayes(weights="fitted", **kw),
    "naive, auto": lambda **kw: bk.NaiveBayes(families="auto", **kw),
    "full": bk.FullBayes,
    "tan": bk.TAN,
    "tan, exact": lambda **kw: bk.TAN(exact=True, **kw),
    "kdb": bk.KDB,
    "aode": bk.AODE,
    "aje": bk.AJE,
    "network": bk.NetworkBayes,
    "knn": lambda **kw: bk.KNNBayes(metric="gower", **kw),
}


def declared_frame():
    return pd.DataFrame(
        {"c": category(PLAIN["c"], levels=["t", "u", "v", "w"]), "d": category(PLAIN["d"], levels=["p", "q"])}
        | {"e": PLAIN["e"]}
    )


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_the_same_domain_by_type_and_by_kinds(name, tmp_path):
    by_kinds = MODELS[name](kinds=KINDS).fit(PLAIN, LABELS)
    by_type = MODELS[name]().fit(declared_frame(), LABELS)
    assert by_type.model_.digest == by_kinds.model_.digest
    assert by_kinds.model_.counted.domain.levels["c"].values == ["t", "u", "v", "w"]
    new = {"c": ["t", "u"], "d": ["p", "q"], "e": ["m", "n"]}
    assert np.isfinite(by_kinds.predict_proba(new)).all()
    assert np.array_equal(by_type.predict_proba(new), by_kinds.predict_proba(new))
    by_kinds.save(tmp_path / "m.bayes")
    loaded = bk.load(tmp_path / "m.bayes")
    assert loaded.model_.digest == by_kinds.model_.digest
    assert loaded.model_.schema["c"].declared == by_kinds.model_.schema["c"].declared
    with pytest.raises(InputError, match=r"'c' has level 'z'.*t, u, v, w.*kinds\['c'\]"):
        loaded.fit({**PLAIN, "c": ["z", *PLAIN["c"][1:]]}, LABELS)


@pytest.mark.parametrize("name", [n for n in MODELS if n not in ("naive, weighted",)])
def test_declared_levels_survive_learning_forgetting_and_merging(name):
    whole = MODELS[name]().fit(declared_frame(), LABELS)
    if name in ("naive", "full", "knn", "naive, auto"):  # nothing is chosen by the first rows alone
        parts = MODELS[name]().fit(declared_frame()[:30], LABELS[:30])
        assert parts.merge(MODELS[name]().fit(declared_frame()[30:], LABELS[30:])).model_.digest == whole.model_.digest
        assert parts.partial_fit(declared_frame()[30:], LABELS[30:]).model_.digest == whole.model_.digest
    grown = MODELS[name]().fit(declared_frame(), LABELS)
    more = {name: values[:20] for name, values in PLAIN.items()}  # plain text declares nothing
    grown.partial_fit(more, LABELS[:20]).forget(more, LABELS[:20])
    assert grown.model_.digest == whole.model_.digest
    rest = grown.forget(declared_frame()[:59], LABELS[:59]).model_
    assert rest.counted.domain.levels["c"].values == ["t", "u", "v", "w"]


def test_a_pool_knows_the_declared_levels(tmp_path):
    by_type = bk.AutoBayes().fit(declared_frame(), LABELS)
    by_kinds = bk.AutoBayes(kinds=KINDS).fit(PLAIN, LABELS)
    new = {"c": ["t", "u"], "d": ["p", "q"], "e": ["m", "n"]}
    assert by_type.predict_proba(new) == pytest.approx(by_kinds.predict_proba(new), rel=1e-12)
    by_kinds.save(tmp_path / "m.bayes")
    assert np.array_equal(bk.load(tmp_path / "m.bayes").predict_proba(new), by_kinds.predict_proba(new))


def test_what_two_models_declare_is_known_to_both_together():
    one = bk.NaiveBayes().fit(pd.DataFrame({"c": category(["u", "v"], levels=["u", "v", "x"])}), ["a", "b"])
    two = bk.NaiveBayes().fit(pd.DataFrame({"c": category(["v", "w"], levels=["v", "w", "y"])}), ["a", "b"])
    plain = bk.NaiveBayes().fit({"c": ["z", "u"]}, ["a", "b"])
    assert (one + two).model_.counted.domain.levels["c"].values == ["u", "v", "w", "x", "y"]
    assert (one + two).model_.digest == (two + one).model_.digest
    assert (plain + one).model_.digest == (one + plain).model_.digest
    assert (plain + one).model_.counted.domain.levels["c"].values == ["u", "v", "x", "z"]
    assert bk.merge([one, two, plain]).model_.digest == bk.merge([plain, two, one]).model_.digest


def test_a_declaration_in_forgotten_rows_does_not_join():
    model = bk.NaiveBayes().fit({"c": ["u", "v", "u"]}, ["a", "b", "b"])
    model.forget(pd.DataFrame({"c": category(["u"], levels=["u", "v", "x"])}), ["b"])
    assert model.model_.digest == bk.NaiveBayes().fit({"c": ["u", "v"]}, ["a", "b"]).model_.digest


def test_an_order_is_merged_with_one_that_holds_it_and_with_no_other():
    low = bk.NaiveBayes(kinds={"c": bk.Ordinal(["s", "l"])}).fit({"c": ["s", "l"]}, ["a", "b"])
    all_three = bk.NaiveBayes(kinds={"c": bk.Ordinal(["s", "m", "l"])}).fit({"c": ["m", "l"]}, ["a", "b"])
    other = bk.NaiveBayes(kinds={"c": bk.Ordinal(["l", "s"])}).fit({"c": ["s", "l"]}, ["a", "b"])
    assert (low + all_three).model_.digest == (all_three + low).model_.digest
    assert (low + all_three).schema_["c"].order == ("s", "m", "l")
    with pytest.raises(MergeError, match="order"):
        low + other


def test_new_levels_join_a_type_but_not_declared_kinds():
    table = pd.DataFrame({"c": category(["u", "v"], levels=["u", "v"])})
    model = bk.NaiveBayes().fit(table, ["a", "b"]).partial_fit({"c": ["w"]}, ["a"])
    assert model.model_.counted.domain.levels["c"].values == ["u", "v", "w"]
    with pytest.raises(InputError, match=r"'c' has level 'w'.*declared levels.*kinds\['c'\]"):
        bk.NaiveBayes(kinds={"c": bk.Nominal(["u", "v"])}).fit(table, ["a", "b"]).partial_fit({"c": ["w"]}, ["a"])


@pytest.mark.parametrize("given", ["low", 3, [], ["a", "a"], ["a", None], [float("nan")]])
def test_levels_that_cannot_be_are_refused(given):
    with pytest.raises((InputError, SchemaError)):
        bk.Nominal(given)
    with pytest.raises((InputError, SchemaError)):
        bk.Ordinal(given)


def test_every_fold_knows_the_declared_levels():
    """Against counts by hand: m is 4 in every fold, however few of the levels it has."""
    codes = np.arange(ROWS) % 5
    found = bk.evaluate(bk.NaiveBayes(), declared_frame()[["c"]], LABELS, bk.CrossValidation(codes)).proba
    classes = ["a", "b"]
    for i in range(ROWS):
        train = [j for j in range(ROWS) if codes[j] != codes[i]]
        joint = []
        for label in classes:
            mine = [PLAIN["c"][j] for j in train if LABELS[j] == label]
            joint.append(F(len(mine), len(train)) * F(mine.count(PLAIN["c"][i]) + 1, len(mine) + 4))
        assert found[i] == pytest.approx([float(p / sum(joint)) for p in joint], rel=1e-12)


def test_leaving_one_out_leaves_the_declared_levels():
    """The only row of a declared level: P(level | class) without it is that of a count of 0, not of a level unseen."""
    table = pd.DataFrame({"c": category(["u", "u", "v", "v", "w"], levels=["u", "v", "w"])})
    found = bk.evaluate(bk.NaiveBayes(), table, list("aabba"), bk.LeaveOneOut()).proba[4]
    joint = [F(2, 4) * F(1, 2 + 3), F(2, 4) * F(1, 2 + 3)]
    assert found == pytest.approx([float(p / sum(joint)) for p in joint], rel=1e-12)
    second = bk.evaluate(bk.NaiveBayes(), table, list("aabba"), bk.LeaveOneOut()).proba[2]
    joint = [F(3, 4) * F(1, 3 + 3), F(1, 4) * F(2, 1 + 3)]
    assert second == pytest.approx([float(p / sum(joint)) for p in joint], rel=1e-12)


def test_declared_levels_are_shown():
    model = bk.NaiveBayes().fit(declared_frame(), LABELS)
    assert "t" in model.marginal("c").values
    assert "levels" in model.schema_["c"].why


# -- networks --------------------------------------------------------------------------------------


def test_a_network_has_the_declared_states(tmp_path):
    table = declared_frame()
    net = bk.Network([("c", "d")]).fit(table[["c", "d"]])
    assert net.states("c") == ("t", "u", "v", "w")
    assert net.query("c")["t"] == pytest.approx(float(F(1, ROWS + 4)), rel=1e-13)
    assert dict(net.query("d", {"c": "t"})) == pytest.approx({"p": 0.5, "q": 0.5}, rel=1e-13)
    learned = bk.learn_network(table)
    assert learned.states("c") == ("t", "u", "v", "w")
    both = net.merge(bk.Network([("c", "d")]).fit({"c": ["z"], "d": ["p"]}))
    assert both.states("c") == ("t", "u", "v", "w", "z")
    net.save(tmp_path / "n.bayes")
    again = bk.load(tmp_path / "n.bayes")
    assert again.digest == net.digest
    again.forget(table[["c", "d"]][:30])
    assert again.states("c") == ("t", "u", "v", "w")
    by_em = bk.Network([("c", "d")]).fit(table[["c", "d"]], method="em")
    assert by_em.states("c") == ("t", "u", "v", "w")


def test_the_states_of_a_network_are_declared_for_one_call_too():
    table = {"c": PLAIN["c"], "n": RNG.integers(0, 3, ROWS)}
    kinds = {"c": bk.Nominal(["t", "u", "v", "w"]), "n": "nominal"}
    assert bk.learn_network(table, kinds=kinds).states("c") == ("t", "u", "v", "w")


def test_parquet_of_arrow_alone_declares_nothing(tmp_path):
    codes = pa.array([1, 2, 1, 2])
    table = pa.table({"c": pa.DictionaryArray.from_arrays(codes, pa.array(LEVELS)), "y": ["a", "a", "b", "b"]})
    pq.write_table(table, tmp_path / "t.parquet")
    model = bk.NaiveBayes().fit(tmp_path / "t.parquet", "y")
    assert model.model_.counted.domain.levels["c"].values == ["high", "medium"]
