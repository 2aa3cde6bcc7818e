"""Names that people guess from other libraries: they are there, and say what those say."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import mutual_info_score
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.naive_bayes import CategoricalNB, MultinomialNB
from sklearn.preprocessing import OrdinalEncoder

import bayeskit as bk
from bayeskit.cli.example import clinic
from bayeskit.errors import FileError, InputError

RNG = np.random.default_rng(3)
LEVELS = pd.DataFrame({name: RNG.choice(list("pqrs")[:m], 400) for name, m in (("a", 2), ("b", 3), ("c", 4))})
LEVELS["d"] = np.where(RNG.random(400) < 0.7, LEVELS["a"], LEVELS["c"])
CLASS = np.where(RNG.random(400) < 0.3, "up", np.where(LEVELS["b"] == "q", "up", "down"))
TEXTS = ["free money now", "money free free", "lunch at noon", "see you at lunch", "free lunch"]
KINDS = ["spam", "spam", "ham", "ham", "ham"]


def test_counts_priors_and_levels_are_those_of_scikit_learn():
    model = bk.NaiveBayes().fit(LEVELS, CLASS)
    peer = CategoricalNB(alpha=1.0).fit(OrdinalEncoder().fit_transform(LEVELS).astype(int), CLASS)
    np.testing.assert_allclose(model.class_count_, peer.class_count_)
    np.testing.assert_allclose(model.class_log_prior_, peer.class_log_prior_)
    np.testing.assert_allclose(model.class_prior_.sum(), 1)
    frame = model.probabilities().frame("pandas")
    assert list(frame) == ["column", "level", "class", "P", "count"]
    for name, logs, counts in zip(LEVELS, peer.feature_log_prob_, peer.category_count_, strict=True):
        mine = frame[frame["column"] == name].pivot(index="class", columns="level")
        np.testing.assert_allclose(mine["P"], np.exp(logs))
        np.testing.assert_allclose(mine["count"], counts)


@pytest.mark.parametrize("model", [bk.TAN(), bk.KDB(exact=True), bk.FullBayes(smoothing=0.0), bk.NetworkBayes()])
def test_every_structure_counts_the_levels(model):
    frame = model.fit(LEVELS, CLASS).probabilities().frame("pandas")
    table = pd.crosstab(LEVELS["c"], CLASS).stack()
    mine = frame[frame["column"] == "c"].set_index(["level", "class"])
    assert mine["count"].to_dict() == table.to_dict()
    np.testing.assert_allclose(mine.groupby("class")["P"].sum(), 1)


def test_words_are_those_of_scikit_learn():
    words = CountVectorizer()
    X = words.fit_transform(TEXTS)
    model, peer = bk.NaiveBayes(families="multinomial").fit(X, KINDS), MultinomialNB().fit(X, KINDS)
    np.testing.assert_allclose(model.feature_log_prob_, peer.feature_log_prob_)
    frame = model.probabilities(names=words.get_feature_names_out()).frame("pandas")
    assert "money" in model.probabilities(names=words.get_feature_names_out())
    assert "monkey" not in model.probabilities(names=words.get_feature_names_out())
    mine = frame.pivot(index="class", columns="level")
    np.testing.assert_allclose(mine["count"], peer.feature_count_)
    np.testing.assert_allclose(np.log(mine["P"]), peer.feature_log_prob_)


def test_columns_without_levels_are_refused_with_a_way_out():
    model = bk.NaiveBayes().fit(*load_iris(return_X_y=True))
    with pytest.raises(InputError, match="marginal"):
        model.probabilities()
    with pytest.raises(AttributeError, match="marginal"):
        model.feature_log_prob_  # noqa: B018
    with pytest.raises(AttributeError, match="after fit"):
        bk.NaiveBayes().class_count_  # noqa: B018
    with pytest.raises(InputError, match="means_"):
        bk.FullBayes().fit(*load_iris(return_X_y=True)).joint_table()


def test_the_joint_table_is_the_relative_frequency_of_cells():
    model = bk.FullBayes(smoothing=0.0).fit(LEVELS[["a", "b"]], CLASS)
    frame = model.joint_table().frame("pandas").set_index(["a", "b", "class"])
    table = pd.crosstab([LEVELS["a"], LEVELS["b"]], CLASS).stack()
    assert len(frame) == 2 * 3 * 2
    np.testing.assert_allclose(frame["count"], table.reindex(frame.index).fillna(0))
    np.testing.assert_allclose(frame["P"], frame["count"] / frame.groupby("class")["count"].transform("sum"))


def test_arcs_carry_the_conditional_information_and_make_the_heaviest_tree():
    def bits(a, b):
        parts = [(c == CLASS) for c in np.unique(CLASS)]
        return sum(some.mean() * mutual_info_score(LEVELS[a][some], LEVELS[b][some]) for some in parts) / np.log(2)

    graph = nx.Graph()
    graph.add_weighted_edges_from((a, b, bits(a, b)) for a in LEVELS for b in LEVELS if a < b)
    best = nx.maximum_spanning_tree(graph)
    model = bk.TAN(penalty=None).fit(LEVELS, CLASS)
    assert {frozenset(edge) for edge in model.edges_} == {frozenset(edge) for edge in best.edges}
    for some in (model, bk.KDB(k=3, penalty=None).fit(LEVELS, CLASS), bk.AODE().fit(LEVELS, CLASS)):
        for (parent, child), found in zip(some.arcs_.edges, some.arcs_.bits, strict=True):
            assert found == pytest.approx(bits(parent, child))
        assert len(some.plot().frame()) == min(len(some.edges_), 6 if len(some.edges_) < 12 else 4)
    assert len(bk.AODE().fit(LEVELS, CLASS).edges_) == 12


def test_arcs_of_a_network_have_those_of_the_class():
    model = bk.NetworkBayes(structure=[("class", "b"), ("a", "d")]).fit(LEVELS, CLASS)
    found = dict(zip(model.arcs_.edges, model.arcs_.bits, strict=True))
    assert found["class", "b"] == pytest.approx(mutual_info_score(CLASS, LEVELS["b"]) / np.log(2))
    assert found["a", "d"] == pytest.approx(mutual_info_score(LEVELS["a"], LEVELS["d"]) / np.log(2))


def test_numbers_of_folds_and_splitters_are_methods():
    X, y = load_iris(return_X_y=True)
    for given in (
        5,
        np.int64(5),
        np.arange(150) % 5,
        StratifiedKFold(5),
        RepeatedStratifiedKFold(n_repeats=2, random_state=0),
    ):
        mine, usual = (bk.evaluate(bk.NaiveBayes(), X, y, m) for m in (given, bk.CrossValidation(given)))
        assert mine.log_loss == usual.log_loss
    assert "4-fold cross-validation" in str(bk.compare([bk.NaiveBayes(), bk.TAN()], X, y, 4))
    for wrong in ("5", True, 2.5, bk.LeaveOneOut):
        with pytest.raises(InputError, match="splitter"):
            bk.evaluate(bk.NaiveBayes(), X, y, wrong)


def test_score_takes_the_name_of_the_target_and_files(tmp_path):
    table = clinic(300).to_pandas()
    model = bk.NaiveBayes().fit(table, "diagnosis")
    file = tmp_path / "visits.csv"
    table.to_csv(file, index=False)
    right = (model.predict(table.drop(columns="diagnosis")) == table["diagnosis"]).mean()
    assert model.score(table, "diagnosis") == model.score(file, "diagnosis") == pytest.approx(right)
    assert model.score(table.drop(columns="diagnosis"), table["diagnosis"]) == pytest.approx(right)


def test_the_cost_score_of_decisions_takes_the_name_too():
    table = clinic(300).to_pandas()
    costs = {"cold": {"rest": 0, "treat": 2}, "flu": {"rest": 3, "treat": 1}, "pneumonia": {"rest": 50, "treat": 1}}
    model = bk.RiskClassifier(bk.NaiveBayes(), costs).fit(table, "diagnosis")
    by_hand = -np.mean([costs[c][a] for c, a in zip(table["diagnosis"], model.predict(table), strict=True)])
    assert model.score(table, "diagnosis") == pytest.approx(by_hand)


def test_a_list_of_files_is_one_table(tmp_path):
    table = clinic(300).to_pandas()
    whole = bk.NaiveBayes().fit(table, "diagnosis").model_.digest
    files = [tmp_path / f"{i}.parquet" for i in range(3)]
    for i, file in enumerate(files):
        table.iloc[100 * i : 100 * i + 100].to_parquet(file)
    for given in (files, tuple(map(str, files)), bk.Reading(files), replace(bk.Reading(files), memory="2GB")):
        assert bk.NaiveBayes().fit(given, "diagnosis").model_.digest == whole
    assert bk.evaluate(bk.NaiveBayes(), files, "diagnosis", 3).measures.sums.confusion.sum() == 300
    other = tmp_path / "other.csv"
    table.to_csv(other, index=False)
    for wrong, said in (([files[0], files[0]], "twice"), ([files[0], other], "one kind"), (["ab", "cd"], "no table")):
        with pytest.raises(InputError, match=said):
            bk.NaiveBayes().fit(wrong, "diagnosis")
    with pytest.raises(FileError, match="no such file"):
        bk.NaiveBayes().fit([files[0], tmp_path / "absent.parquet"], "diagnosis")


@pytest.mark.parametrize("name", ["kernel", "KERNEL", "log_normal", "lognormal"])
def test_names_of_families_in_any_case(name):
    X, y = load_iris(return_X_y=True)
    proper = "Kernel" if "k" in name.lower()[:1] else "LogNormal"
    one, other = (bk.NaiveBayes(families=given).fit(X, y).model_.digest for given in (name, proper))
    assert one == other


def test_results_stay_short_in_a_prompt_and_have_frames():
    words = 3000
    X = np.random.default_rng(0).poisson(0.1, (40, words))
    model = bk.NaiveBayes(families="multinomial").fit(X, np.arange(40) % 2)
    for found in (model.schema_, model.summary(), model.explain(X[:1]), model.probabilities()):
        assert len(repr(found).splitlines()) < 32
        assert "has all" in repr(found)
        assert len(found.frame("pandas")) >= words
    few = model.explain(X[:1]).row(0).splitlines()
    assert not any(line.endswith("+0.000  +0.000") for line in few[2:22])
    table = clinic(200)
    shown = repr(bk.NaiveBayes().fit(table, "diagnosis").explain(table.slice(0, 1)).plot())
    assert len(shown) < 120


@pytest.mark.parametrize("module", [bk, bk.families, bk.smoothing, bk.plots])
def test_tab_completion_and_help_show_public_names_only(module):
    assert set(dir(module)) <= {*module.__all__, "__version__"}
    for name in module.__all__:
        assert getattr(module, name).__doc__


@pytest.mark.filterwarnings("ignore:X has valid feature names")
@pytest.mark.parametrize("model", [bk.NaiveBayes(), bk.TAN(), bk.FullBayes(), bk.NaiveBayes(families="auto")])
def test_a_panel_is_the_page_checked_against_the_model(model):
    found = model.fit(clinic(300), "diagnosis").panel()
    assert "agreed with Python to" in found.html
    assert 'srcdoc="&lt;!doctype html&gt;' in found._repr_html_()
    assert len(repr(found)) < 120
