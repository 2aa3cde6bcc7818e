"""AutoBayes: what the pool promises, and what odd tables get."""

import re
import warnings
from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayeskit as bk
from bayeskit.ensemble import candidate_run
from bayeskit.ensemble.candidate import Facts
from bayeskit.ensemble.candidate_run import CandidateRun
from bayeskit.ensemble.deadline import Deadline
from bayeskit.ensemble.pool import Pool, evidence, smooth_prior
from bayeskit.errors import BayeskitError, ModelFileError
from bayeskit.estimators.candidates import candidates


def mixed(n=240, seed=0):
    """Numbers, levels and missing values of two classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    table = pd.DataFrame(
        {
            "x": rng.normal(y, 1.0),
            "amount": np.exp(rng.normal(0.5 * y, 1.0)),
            "colour": np.where(rng.random(n) < 0.3 + 0.4 * y, "red", "blue"),
            "town": rng.choice(["a", "b", "c"], n),
        }
    )
    table.loc[rng.random(n) < 0.1, "x"] = np.nan
    return table, np.where(y == 1, "ill", "well")


def small(**more):
    return bk.AutoBayes(max_candidates=5, **more)


def test_a_marginal_has_no_mass_beyond_the_values_seen():
    table, y = mixed()
    found = small().fit(table, y).marginal("amount")
    assert table["amount"].min() == min(found.values) > 0
    assert max(found.values) == table["amount"].max()
    np.testing.assert_allclose(found.weights @ np.exp(found.log_density) @ found.prior, 1.0)


def test_it_beats_logistic_regression_where_classes_are_not_linear():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 3))
    y = (np.abs(X[:, 0]) + 0.3 * rng.normal(size=800) > 0.8).astype(int)
    auto = log_loss(y[400:], small().fit(X[:400], y[:400]).predict_proba(X[400:]))
    peer = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:400], y[:400]).predict_proba(X[400:])
    assert auto < log_loss(y[400:], peer) - 0.1


def test_it_is_as_good_as_logistic_regression_where_they_are():
    X, y = load_breast_cancer(return_X_y=True)
    train = np.arange(len(y)) % 2 == 0
    auto = small().fit(X[train], y[train])
    peer = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[train], y[train])
    ours, theirs = (log_loss(y[~train], m.predict_proba(X[~train])) for m in (auto, peer))
    assert ours < theirs + 0.03


def test_explanations_add_up_through_the_pool():
    table, y = mixed()
    model = bk.AutoBayes().fit(table, y)
    for prior in (None, {"ill": 0.02, "well": 0.98}):
        found = model.explain(table, prior=prior)
        proba = np.exp(log_softmax(found.prior + found.terms.sum(axis=1), axis=1))
        np.testing.assert_allclose(proba, model.predict_proba(table, prior=prior), atol=1e-10)
    assert len(model.explain(table, top=2).parts) == 3


def test_a_new_prior_is_bayes_rule():
    table, y = mixed()
    model = small().fit(table, y)
    share = np.array([(y == c).sum() + 0.5 for c in model.classes_]) / (len(y) + 1)
    moved = model.predict_proba(table) / share * [0.1, 0.9]
    np.testing.assert_allclose(
        model.predict_proba(table, prior={"ill": 0.1, "well": 0.9}),
        moved / moved.sum(axis=1, keepdims=True),
        atol=1e-12,
    )


def test_it_is_the_same_for_the_same_state_and_leaves_its_settings_alone():
    table, y = mixed()
    one, two = small(random_state=3).fit(table, y), small(random_state=3).fit(table, y)
    np.testing.assert_array_equal(one.predict_proba(table), two.predict_proba(table))
    assert clone(one).get_params() == one.get_params()


def test_members_learn_and_forget_exactly():
    table, y = mixed()
    model = small().fit(table[:160], y[:160])
    before = [m.classifier.model_.digest for m in model.members_]
    model.partial_fit(table[160:], y[160:])
    assert before != [m.classifier.model_.digest for m in model.members_]
    model.forget(table[160:], y[160:])
    assert before == [m.classifier.model_.digest for m in model.members_]


def test_a_failed_forget_changes_nothing():
    table, y = mixed()
    model = small().fit(table, y)
    before = model.predict_proba(table)
    with pytest.raises(BayeskitError):
        model.forget(table.assign(colour="green"), y)
    np.testing.assert_array_equal(model.predict_proba(table), before)


def test_new_rows_move_the_weights_toward_what_they_favour():
    table, y = mixed()
    model = small().fit(table, y)
    again = small().fit(table, y).partial_fit(*mixed(400, seed=9))
    assert np.abs(model.pool_.weight - again.pool_.weight).max() > 1e-4
    assert (again.pool_.weight >= 0).all()


def test_a_class_that_comes_later_is_learned():
    table, y = mixed()
    model = small().fit(table, y)
    model.partial_fit(table[:60], np.where(y[:60] == "ill", "ill", "dead"))
    assert model.classes_.tolist() == ["dead", "ill", "well"]
    np.testing.assert_allclose(model.predict_proba(table).sum(axis=1), 1)


def test_evidence_is_backed_off_to_the_prior():
    prior = smooth_prior(np.array([3.0, 1.0]))
    np.testing.assert_allclose(np.exp(prior), [3.5 / 5, 1.5 / 5])
    said = evidence(np.array([[0.0, -np.inf]]), prior, 90.0)
    np.testing.assert_allclose(np.exp(said + prior), [[0.99 + 0.01 * 0.7, 0.01 * 0.3]])


def test_a_useless_voice_is_dropped_and_a_good_one_kept():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 300)
    good = np.where(label[:, None] == [0, 1], np.log(0.8), np.log(0.2)) - np.log(0.5)
    noise = rng.normal(size=(300, 2)) * 3
    base = np.full((300, 2), np.log(0.5))
    pool = Pool.of(np.stack([good, noise], axis=1), base, label, np.ones(300))
    assert pool.weight[0] > 0.8
    assert pool.weight[1] < 0.05
    assert pool.gain[0] > 0.3


def test_summary_names_every_candidate_and_why_it_was_left_out():
    X, y = load_iris(return_X_y=True)
    text = str(small().fit(X, y).summary())
    assert "KDB(k=2) on equal frequencies" in text
    assert "there are no levels to indicate" in text


def test_every_candidate_is_tried_somewhere_and_none_fails():
    """A candidate that raises an error is left out with a line of the summary, so that it must be looked for."""
    known = candidates(None, "missing", ["x"], 100)
    assert len({c.name for c in known}) == len(known), "two candidates have the same name"
    lines = [line for n in (160, 1_010) for line in bk.AutoBayes().fit(*mixed(n)).summary().lines]
    assert [line for line in lines if line.why.startswith("failed")] == []
    tried = {line.name.removesuffix(", weighted") for line in lines if np.isfinite(line.loss)}
    wanted = {name for c in known for name in ([f"{k} {c.name}" for k in c.sizes] or [c.name])}
    assert wanted - tried == set(), "mixed(160) and mixed(1_010) have no use for them: give this test a table that has"


def test_evaluation_chooses_anew_in_every_fold():
    table, y = mixed()
    found = bk.evaluate(small(), table, y, bk.CrossValidation(3))
    assert found.computed == "refit"
    assert found.accuracy > 0.65


def test_it_is_saved_whole_and_goes_on_learning(tmp_path):
    table, y = mixed()
    model = bk.AutoBayes(max_candidates=8).fit(table[:160], y[:160])
    model.save(tmp_path / "auto.bayes")
    again = bk.load(tmp_path / "auto.bayes")
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    assert str(again.summary()) == str(model.summary())
    for one in (model, again):
        one.partial_fit(table[160:], y[160:])
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))


def test_a_damaged_file_is_refused(tmp_path):
    table, y = mixed()
    small().fit(table, y).save(tmp_path / "auto.bayes")
    whole = bytearray((tmp_path / "auto.bayes").read_bytes())
    whole[len(whole) // 2] ^= 1
    (tmp_path / "auto.bayes").write_bytes(whole)
    with pytest.raises(ModelFileError):
        bk.load(tmp_path / "auto.bayes")


def test_the_target_may_be_named_and_stay_in_the_table():
    table, y = mixed()
    whole = table.assign(state=y)
    named, given = small().fit(whole, "state"), small().fit(table, y)
    np.testing.assert_array_equal(named.predict_proba(whole), given.predict_proba(table))
    np.testing.assert_array_equal(named.explain(whole[:3]).terms, given.explain(table[:3]).terms)


def test_fast_pools_by_weights_that_are_known_beforehand():
    table, y = mixed()
    model = bk.AutoBayes(fast=True).fit(table, y)
    weights = {"corrected naive": 0.55, "forest": 0.35 / 0.9 * 1.1, "shrunk normal on scores": 0.1 / 0.9 * 1.1}
    assert [m.name for m in model.members_] == list(weights)
    counts = pd.Series(y).value_counts().sort_index()
    share = ((counts + 0.5) / (counts + 0.5).sum()).to_numpy()
    score, e = np.log(share), 1 / (len(y) + 10)
    for member in model.members_:
        asked = table if member.view is None else member.view.matrix(model.reader_.model_, table)
        said = (1 - e) * member.classifier.predict_proba(asked) + e * share
        score = score + weights[member.name] * np.log(said / share)
    np.testing.assert_allclose(model.predict_proba(table), np.exp(log_softmax(score, axis=1)), rtol=1e-9, atol=1e-12)
    assert "not judged" in str(model.summary())
    levels = bk.AutoBayes(fast=True).fit(table[["colour"]], y)  # no numbers: the others count more
    assert levels.pool_.weight.sum() == pytest.approx(1.1)


@pytest.mark.parametrize(("rows", "names"), [(1_200, 4), (15_000, 2)])
def test_of_many_rows_a_fast_pool_has_boosted_trees(rows, names):
    """Above 12,000 some rows make the choices, and all are counted: all can be forgotten."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 2))
    y = x[:, 0] * x[:, 1] > 0
    model = bk.AutoBayes(fast=True).fit(x, y)
    assert [m.name for m in model.members_].count("boosted trees") == 1
    assert len(model.members_) == names
    assert model.score(x, y) > 0.95
    if names == 2:
        assert model.pool_.weight == pytest.approx([0.33, 0.77])
        assert [m.classifier.model_.weights.sum() for m in model.members_] == [rows, rows]
        said = re.search(r"choices made by (\d,\d{3}) different rows drawn of 15,000", str(model.summary()))
        assert 2_500 < int(said[1].replace(",", "")) < 3_500
        with pytest.warns(UserWarning, match="no longer counted"):
            model.forget(x[:14_000], y[:14_000])


def test_progress_is_told_and_time_ends_the_trying():
    table, y = mixed()
    told = []
    model = bk.AutoBayes(callback=lambda *news: told.append(news), time_budget=1e-9).fit(table, y)
    assert told[0][0] == 0
    assert "no time left to try it" in str(model.summary())
    assert {m.name for m in model.members_} <= {
        "KDB(k=2) on equal frequencies",
        "KDB(k=2) on equal frequencies, weighted",
    }


def test_members_that_cannot_learn_all_rows_in_time_are_named(monkeypatch):
    table, y = mixed()
    monkeypatch.setattr("bayeskit.ensemble.deadline.Deadline.is_past", lambda self, needed=0.0: needed > self.at)
    monkeypatch.setattr("bayeskit.ensemble.deadline.Deadline.check", lambda self, needed=0.0: None)
    monkeypatch.setattr("bayeskit.ensemble.deadline.Deadline.within", lambda seconds: Deadline(1e-12))
    model = small(time_budget=1.0).fit(table, y)
    assert len(model.members_) == 1  # the quickest, in any case
    assert "no time left to learn all rows" in str(model.summary())
    np.testing.assert_allclose(model.predict_proba(table).sum(axis=1), 1)


def test_a_candidate_is_tried_where_there_is_time_to_learn_all_rows_too(monkeypatch):
    """A clock on which every look takes a second: judging five folds and learning take as long as they look."""
    moments = iter(range(10**6))
    monkeypatch.setattr("time.monotonic", lambda: float(next(moments)))
    table, y = mixed()
    begin = next(moments)
    model = bk.AutoBayes(time_budget=150.0).fit(table, y)
    assert "no time left to try it" in str(model.summary())
    assert next(moments) - begin < 151


def test_numbers_whose_squares_are_no_doubles_are_scaled():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    x = rng.normal(2.0 * y, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        huge = bk.AutoBayes().fit(x[:, None] * 1e200, y)
    plain = bk.AutoBayes().fit(x[:, None], y)
    assert plain.score(x[:, None], y) == pytest.approx(huge.score(x[:, None] * 1e200, y), abs=0.02)


def test_a_level_or_nothing_in_many_columns_is_seen():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500)
    there = rng.random((500, 160)) < 0.3 + 0.3 * y[:, None] * (np.arange(160) < 12)
    table = pd.DataFrame({f"c{j}": np.where(there[:, j], "yes", None) for j in range(160)})
    model = bk.AutoBayes(max_candidates=5).fit(table[:300], y[:300])
    losses = {line.name: line.loss for line in model.summary().lines}
    assert losses["linear on indicators"] < 0.5
    assert log_loss(y[300:], model.predict_proba(table[300:])) < 0.5  # the majority class has 0.69


ODD = {
    "two rows": (pd.DataFrame({"a": [1.0, 2.0]}), ["x", "y"]),
    "three rows, three classes": (pd.DataFrame({"a": [1.0, 2.0, 3.0]}), ["x", "y", "z"]),
    "a class with one row": (pd.DataFrame({"a": np.arange(12.0)}), ["x"] * 11 + ["y"]),
    "only holes": (pd.DataFrame({"a": np.full(10, np.nan), "b": np.full(10, np.nan)}), ["x", "y"] * 5),
    "a constant column": (pd.DataFrame({"a": np.ones(10), "b": ["s"] * 10}), ["x", "y"] * 5),
    "one column of levels": (pd.DataFrame({"a": list("stststst")}), ["x", "y"] * 4),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.filterwarnings("ignore")
def test_odd_tables_get_an_answer_down_to_the_prior(name):
    table, y = ODD[name]
    proba = bk.AutoBayes().fit(table, y).predict_proba(table)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)


@pytest.mark.filterwarnings("ignore")
def test_one_class_is_always_it():
    assert bk.AutoBayes().fit([[1.0], [2.0]], ["x", "x"]).predict([[5.0]]).tolist() == ["x"]


def test_many_columns_leave_out_what_pairs_columns():
    X, y = make_classification(60, 160, n_informative=5, random_state=0)
    model = bk.AutoBayes(max_candidates=3).fit(X, y)
    assert "too many pairs" in str(model.summary())
    assert np.isfinite(model.predict_proba(X)).all()


def test_many_cells_leave_out_corrections_and_say_so():
    facts = Facts(5_000.0, 1_000, 10, 10, 0, ())
    said = {c.name: c.helps(facts) for c in candidates(None, "missing", (), 10)}
    assert said["corrected naive"] == "10,000 columns times classes have too many corrections"
    assert said["forest"] == said["naive, families chosen"] == ""


def test_of_huge_tables_few_rows_are_held_out_once(monkeypatch):
    """Rows times columns times classes bound what is kept of the rows that are predicted, and the number of models."""
    X, y = make_classification(300, 5, random_state=0)
    seen = []
    pool = CandidateRun.pool
    monkeypatch.setattr(CandidateRun, "pool", lambda run, found: (seen.append(run.plan), pool(run, found))[1])
    monkeypatch.setattr(candidate_run, "HUGE", 2_999)
    monkeypatch.setattr(candidate_run, "TESTED", 300)
    monkeypatch.setattr(candidate_run, "FEWEST", 25)
    bk.AutoBayes(max_candidates=1).fit(X, y)
    assert len({id(train) for train in seen[0].trains}) == 1
    assert sum(test.mass.sum() for test in seen[0].tests) == pytest.approx(30, abs=3)
    monkeypatch.setattr(candidate_run, "HUGE", 3_000)
    bk.AutoBayes(max_candidates=1).fit(X, y)
    assert len({id(train) for train in seen[-1].trains}) == 5


def test_settings_are_checked():
    with pytest.raises(BayeskitError, match="time_budget"):
        bk.AutoBayes(time_budget=0).fit([[1.0], [2.0]], ["x", "y"])


def test_a_pool_that_keeps_nobody_gives_the_prior() -> None:
    X, y = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}), list("aaaabb")
    auto = bk.AutoBayes(max_candidates=1).fit(X, y)
    auto.ensemble_ = replace(auto.ensemble_, members=(), pool=Pool.empty(2))
    prior = [4.5 / 7, 2.5 / 7]
    assert auto.predict_proba(X) == pytest.approx(np.tile(prior, (6, 1)))
    assert auto.predict_proba(X, prior="uniform") == pytest.approx(np.full((6, 2), 0.5))
    told = auto.explain(X)
    assert not told.terms.any()
    assert told.proba == pytest.approx(np.tile(prior, (6, 1)))
    with pytest.raises(bk.errors.InputError, match="better than its prior"):
        auto.nomogram("a")
    with pytest.raises(bk.errors.InputError):
        auto.predict_proba(X[[]])


def test_interactions_of_three_columns_are_found() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (1600, 6))
    y = X[:, :3].sum(axis=1) % 2
    table = pd.DataFrame(X).astype(str).add_prefix("c")
    model = bk.AutoBayes(max_candidates=7).fit(table[:1000], y[:1000])
    assert model.members_[0].name in ("sets of up to three columns, weighted", "forest")
    assert log_loss(y[1000:], model.predict_proba(table[1000:])) < 0.05


@pytest.mark.parametrize("kind", ["frame", "matrix", "sparse"])
def test_many_rows_are_asked_some_at_a_time_and_it_does_not_show(kind, monkeypatch) -> None:
    table, y = mixed(500)
    X = {
        "frame": table,
        "matrix": table[["x", "amount"]].to_numpy(),
        "sparse": csr_matrix(table[["amount"]].to_numpy()),
    }[kind]
    model = bk.AutoBayes().fit(X, y)
    assert any(m.view for m in model.members_)
    whole, terms = model.predict_log_proba(X), model.explain(X).terms
    monkeypatch.setattr("bayeskit.ensemble.views.PORTION", 64)
    np.testing.assert_allclose(model.predict_log_proba(X), whole, rtol=1e-12)
    np.testing.assert_array_equal(model.explain(X).terms, terms)


def test_members_learn_views_of_some_rows_at_a_time_and_it_does_not_show(monkeypatch) -> None:
    table, y = mixed(500)
    monkeypatch.setattr("bayeskit.ensemble.candidate_run.JUDGED", 450)  # others are read in passes
    whole = bk.AutoBayes().fit(table, y)
    assert any(m.view for m in whole.members_)
    monkeypatch.setattr("bayeskit.ensemble.passes.CELLS", 1000)
    assert bk.AutoBayes().fit(table, y).ensemble_.digest == whole.ensemble_.digest


def test_members_that_see_the_same_share_a_view_also_after_loading(tmp_path) -> None:
    X, y = load_iris(return_X_y=True)
    model = bk.AutoBayes().fit(X, y)
    model.save(tmp_path / "m.bayes")
    back = bk.load(tmp_path / "m.bayes")
    for fitted in (model, back):
        seeing = [m for m in fitted.members_ if m.view is not None]
        assert len(seeing) > 1
        assert [a.view is b.view for a in seeing for b in seeing] == [a.sees_like(b) for a in seeing for b in seeing]


@pytest.fixture
def sampled(monkeypatch):
    """Tables of more than 200 different rows are read in passes."""
    monkeypatch.setattr("bayeskit.ensemble.candidate_run.JUDGED", 200)
    monkeypatch.setattr("bayeskit.estimators.candidates.NEAR", 100)


def test_files_relations_and_tables_give_the_same_pool(sampled, tmp_path) -> None:
    """Rows that are drawn, members of all rows, what is learned and forgotten later."""
    table, y = mixed(500)
    whole = table.assign(label=y)
    for part in range(3):
        whole.iloc[part:400:3].to_parquet(tmp_path / f"{part}.parquet", index=False)
    first, more = whole[:400], whole[400:]
    more.to_parquet(tmp_path / "more.parquet", index=False)
    made = [
        bk.AutoBayes(n_jobs=jobs).fit(source, "label")
        for source, jobs in ((first, 1), (str(tmp_path / "[0-2].parquet"), 2), (duckdb.sql("from first order by x"), 1))
    ]
    assert len({model.ensemble_.digest for model in made}) == 1
    assert made[0].ensemble_.weight == 400
    assert all(m.classifier.model_.counted.weight == 400 for m in made[0].members_)
    assert "judged on 200 different rows drawn of 400" in str(made[0].summary())
    before = {m.name: m.classifier.model_.digest for m in made[0].members_}
    for model, rows in zip(
        made, (more, str(tmp_path / "more.parquet"), more.sample(frac=1, random_state=0)), strict=True
    ):
        model.partial_fit(rows, "label")
    assert len({model.ensemble_.digest for model in made}) == 1
    with pytest.warns(bk.errors.HeldWarning):
        made[1].forget(str(tmp_path / "more.parquet"), "label")
    after = {m.name: m.classifier.model_.digest for m in made[1].members_}
    dropped = {name for name in after if "nearest" in name}  # rows that a cap dropped do not come back
    assert dropped < after.keys()
    assert {name: after[name] for name in after.keys() - dropped}.items() <= before.items()


def test_members_that_keep_rows_say_how_many(sampled, tmp_path) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (400, 2))
    y = (np.hypot(*x.T) > 1.2) ^ (rng.random(400) < 0.02)
    model = bk.AutoBayes().fit(x, y)
    keeping = [line for line in model.summary().lines if "nearest" in line.name and line.weight > 0]
    assert {line.why for line in keeping} == {"took 100 of 400 rows"}
    assert {*model.exact_.lost} == {f"the sample of rows of {line.name!r}" for line in keeping}
    model.save(tmp_path / "m.bayes")
    assert str(bk.load(tmp_path / "m.bayes").summary()) == str(model.summary())


def test_a_portable_pool_goes_to_every_target() -> None:
    table, y = mixed(300)
    model = bk.AutoBayes(portable=True).fit(table, y)
    tried = {line.name: not np.isnan(line.loss) for line in model.summary().lines}
    assert tried["forest"]
    assert not tried["nearest"]
    query = bk.export(model, "sql", source="table_of_rows")
    found = duckdb.connect().register("table_of_rows", table).sql(query).fetchnumpy()
    shown = np.column_stack([found[f"P({label})"] for label in model.classes_])
    np.testing.assert_allclose(shown, model.predict_proba(table), atol=1e-9)
    for target in ("javascript", "python", "onnx"):
        assert len(bk.export(model, target)) > 1000
    with pytest.raises(bk.errors.InputError, match="portable='yes'"):
        bk.AutoBayes(portable="yes").fit(table, y)


POOR = {
    "two rows": ({"a": [1.0, 2.0]}, ["p", "q"]),
    "columns without a value": ({"a": [None] * 40, "b": [np.nan] * 40}, ["p", "q"] * 20),
    "a column without a value": ({"a": np.arange(40.0), "b": [None] * 40}, ["p", "q"] * 20),
    "constant and duplicated columns": (
        {"a": np.arange(40.0), "b": np.arange(40.0), "c": [1.0] * 40, "d": ["k"] * 40},
        ["p", "q"] * 20,
    ),
    "identifiers": ({"id": np.arange(40), "name": [f"n{i}" for i in range(40)]}, ["p", "q"] * 20),
    "a class of one row each": ({"a": np.arange(30.0)}, [f"c{i}" for i in range(30)]),
}


@pytest.mark.parametrize("name", POOR)
@pytest.mark.filterwarnings("ignore")
def test_poor_tables_get_finite_answers_from_memory_and_from_files(name, tmp_path) -> None:
    """No member fails but with a reason that a person can read."""
    columns, y = POOR[name]
    table = pd.DataFrame(columns)
    model = bk.AutoBayes().fit(table, y)
    table.assign(label=y).to_parquet(tmp_path / "t.parquet", index=False)
    again = bk.AutoBayes().fit(str(tmp_path / "t.parquet"), "label")
    assert again.ensemble_.digest == model.ensemble_.digest
    proba = model.predict_proba(table)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    failed = {line.why for line in model.summary().lines if line.why.startswith("failed")}
    assert failed <= {"failed: no column has two values, so that there is nothing to compare rows by"}


def test_columns_that_say_nothing_leave_the_prior():
    rows = pd.DataFrame({"m": np.full(60, np.nan), "k": "same"})
    model = bk.AutoBayes().fit(rows, ["a"] * 45 + ["b"] * 15)
    assert "failed" not in str(model.summary())
    np.testing.assert_allclose(model.predict_proba(rows[:1]), [[0.75, 0.25]], atol=0.01)
