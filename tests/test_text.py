"""Sparse text: Multinomial, Complement and Bernoulli beside scikit-learn, without a dense matrix anywhere."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline

import bayeskit as bk
from bayeskit.data.matrix import Sparse
from bayeskit.families import Bernoulli, Complement, Multinomial

TEXTS = ["free money now", "free free prize", "see you at home", "home now", "prize money money", "you and me"]
LABELS = ["spam", "spam", "ham", "ham", "spam", "ham"]
PEERS = {
    "multinomial": (Multinomial(), MultinomialNB(), "empirical"),
    "multinomial, 0.1": (Multinomial(0.1), MultinomialNB(alpha=0.1), "empirical"),
    "multinomial, uniform": (Multinomial(), MultinomialNB(fit_prior=False), "uniform"),
    "complement": (Complement(), ComplementNB(), "uniform"),
    "complement, normed": (Complement(0.5, norm=True), ComplementNB(alpha=0.5, norm=True), "uniform"),
    "bernoulli": (Bernoulli(), BernoulliNB(), "empirical"),
    "bernoulli, 0.3": (Bernoulli(0.3), BernoulliNB(alpha=0.3), "empirical"),
}
peers = pytest.mark.parametrize(("family", "peer", "prior"), PEERS.values(), ids=list(PEERS))
FAMILIES = [Multinomial(), Complement(), Complement(norm=True), Bernoulli()]
every_family = pytest.mark.parametrize("family", FAMILIES, ids=str)


def words(sort: str, rows: int = 200, columns: int = 150, classes: int = 4) -> tuple[Any, np.ndarray]:
    """Counts, or fractions as of TF-IDF; some rows and some columns are empty."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, classes, rows)
    rate = rng.gamma(0.2, 0.5, (classes, columns))[y]
    rate[:, :5] = 0
    rate[:3] = 0
    X = rng.poisson(rate).astype(float)
    if sort == "fractions":
        X *= rng.random(X.shape)
    return sp.csr_matrix(X if sort == "fractions" else X.astype(np.int64)), y


@peers
@pytest.mark.parametrize("sort", ["counts", "fractions"])
@pytest.mark.parametrize("weighted", [False, True])
def test_posteriors_are_those_of_scikit_learn(family: Any, peer: Any, prior: str, sort: str, weighted: bool) -> None:
    X, y = words(sort)
    w = np.random.default_rng(1).random(len(y)) if weighted else None
    ours = bk.NaiveBayes(families=family, prior=prior).fit(X, y, sample_weight=w)
    theirs = peer.fit(X, y, sample_weight=w)
    assert np.abs(ours.predict_proba(X) - theirs.predict_proba(X)).max() < 1e-10
    assert (ours.predict(X) == theirs.predict(X)).all()


@every_family
@pytest.mark.parametrize("sort", ["counts", "fractions"])
def test_every_way_to_hold_the_matrix_gives_the_same_model(family: Any, sort: str) -> None:
    X, y = words(sort)
    backward = sp.csr_matrix((X.data[::-1], X.indices[::-1], X.nnz - X.indptr[::-1]), shape=X.shape)[::-1]
    forms = [X, X.tocsc(), X.tocoo(), sp.csr_array(X), X.toarray(), X.astype(np.float64), backward]
    assert not backward.has_sorted_indices
    models = [bk.NaiveBayes(families=family).fit(form, y) for form in forms]
    assert len({m.model_.digest for m in models}) == 1
    proba = [m.predict_proba(form).tobytes() for m, form in zip(models, forms, strict=True)]
    assert len(set(proba)) == 1


def test_cells_stored_twice_add_up() -> None:
    X = sp.csr_matrix((np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    twice, once = (bk.NaiveBayes(families=Multinomial()).fit(x, [0, 1]) for x in (X, np.array([[0, 3.0], [4.0, 0]])))
    assert twice.model_.digest == once.model_.digest
    assert X.nnz == 3, "the matrix of the user stays as it was"


@every_family
def test_hundred_thousand_columns_are_never_written_out(family: Any, tmp_path: Any, monkeypatch: Any) -> None:
    rng = np.random.default_rng(3)
    place = rng.integers(0, 120_000, 10_000)
    X = sp.csr_matrix((rng.integers(1, 9, 10_000), (rng.integers(0, 400, 10_000), place)), shape=(400, 120_000))
    y = rng.choice(["a", "b", "c"], 400)
    written = Sparse.toarray

    def narrow(self: Sparse) -> np.ndarray:
        assert self.width < 100
        return written(self)

    monkeypatch.setattr(Sparse, "toarray", narrow)
    model = bk.NaiveBayes(families=family).fit(X, y)
    proba = model.predict_proba(X)
    shown = model.explain(X, top=6)
    assert shown.terms.shape == (400, 7, 3)
    logs = shown.joint - np.logaddexp.reduce(shown.joint, axis=1, keepdims=True)
    assert np.allclose(np.exp(logs), proba, atol=1e-9)
    model.save(tmp_path / "text.bayes")
    loaded = bk.load(tmp_path / "text.bayes")
    assert loaded.model_.digest == model.model_.digest
    assert loaded.predict_proba(X).tobytes() == proba.tobytes()
    loaded.partial_fit(X[:50], y[:50]).forget(X[:50], y[:50])
    assert loaded.model_.digest == model.model_.digest


@every_family
def test_top_shows_what_the_whole_explanation_would(family: Any) -> None:
    X, y = words("counts", columns=30)
    model = bk.NaiveBayes(families=family).fit(X, y)
    shown, whole = model.explain(X[:20], top=4), model.explain(X[:20]).top(4)
    assert shown.parts == whole.parts
    assert shown.values == whole.values
    assert np.allclose(shown.terms, whole.terms, rtol=1e-12, atol=1e-12)


def test_totals_are_exact() -> None:
    X, y = words("fractions", 60, 20, 2)
    w = np.random.default_rng(2).random(60)
    model = bk.NaiveBayes(families=Multinomial()).fit(X, y, sample_weight=w)
    (totals,) = model.model_.counted.statistic["features"].parts.values()
    dense = X.toarray()
    for c in range(2):
        for j in range(20):
            known = sum((Fraction(w[i]) * Fraction(dense[i, j]) for i in range(60) if y[i] == c), Fraction(0))
            assert totals.sums.fraction(c, j) == known


@pytest.mark.parametrize("far", [1e-5, 1e-30, 1e-300, 5e-324, 1e30, 1e300])
def test_totals_of_numbers_far_apart_are_exact(far: float) -> None:
    rng = np.random.default_rng(9)
    X = rng.random((300, 6)) * (rng.random((300, 6)) < 0.4)
    X[:, 1] *= far
    X[::7, 2] = far
    X[:, 3] = np.where(X[:, 3] > 0, 0.5, 0)
    y = rng.integers(0, 3, 300)
    model = bk.NaiveBayes(families=Multinomial()).fit(sp.csr_matrix(X), y).partial_fit(sp.csr_matrix(X), y)
    (totals,) = model.model_.counted.statistic["features"].parts.values()
    for c in range(3):
        for j in range(6):
            assert totals.sums.fraction(c, j) == 2 * sum(map(Fraction, X[y == c, j].tolist()), Fraction(0))


@pytest.mark.parametrize("least", [20, 30, 40], ids=["sums that fit", "sums moved up in time", "sums in limbs"])
def test_totals_of_many_rows_are_exact(least: int) -> None:
    """Numbers from 2^-least to 1, in 6,000 rows of one class and 7 of another; zeros are stored too."""
    rng = np.random.default_rng(least)
    X = rng.random((6007, 3)) * 2.0 ** -rng.integers(0, least, (6007, 3))
    X[rng.random(X.shape) < 0.1] = 0.0
    X[0, 0], X[:, 2] = 2.0**-least, 1 - 2.0**-53
    y = np.repeat([0, 1], [6000, 7])
    cells = sp.csr_matrix((X.ravel(), np.tile([2, 0, 1], 6007), np.arange(6008) * 3), shape=(6007, 5))
    (totals,) = bk.NaiveBayes(families=Multinomial()).fit(cells, y).model_.counted.statistic["features"].parts.values()
    for c in range(2):
        known = [sum(map(Fraction, column), Fraction(0)) for column in X[y == c].T.tolist()]
        assert [totals.sums.fraction(c, j) for j in range(5)] == [known[1], known[2], known[0], 0, 0]


@every_family
@pytest.mark.filterwarnings("ignore:only one class")
def test_sums_of_groups_and_columns_moved_are_those_of_the_table_moved(family: Any) -> None:
    """Merging, forgetting, new classes and new columns: the digest of one fit of all rows."""
    X, y = words("fractions", 120, 40, 3)
    names = np.array([f"w{j:02}" for j in range(40)], dtype=object)
    frame = pd.DataFrame.sparse.from_spmatrix(X, columns=names)
    whole = bk.NaiveBayes(families=family).fit(frame, y)
    parts = [bk.NaiveBayes(families=family).fit(frame[y == c], y[y == c]) for c in (2, 0, 1)]
    assert bk.merge(parts).model_.digest == whole.model_.digest
    back = bk.NaiveBayes(families=family).fit(frame[y > 0], y[y > 0]).partial_fit(frame[y == 0], y[y == 0])
    assert back.model_.digest == whole.model_.digest
    back.forget(frame[y > 0], y[y > 0])
    assert back.model_.digest == parts[1].model_.digest


@pytest.mark.parametrize("alpha", [0.1, 1.0, 3.0])
@pytest.mark.parametrize(
    ("family", "peer", "prior"),
    [
        (Multinomial, MultinomialNB, "empirical"),
        (Complement, ComplementNB, "uniform"),
        (Bernoulli, BernoulliNB, "empirical"),
    ],
)
def test_smoothing_of_the_classifier_reaches_families_without_their_own(
    family: Any, peer: Any, prior: str, alpha: float
) -> None:
    X, y = words("counts")
    expected = peer(alpha=alpha).fit(X, y).predict_proba(X)
    for given in (family, family(), family.__name__, {tuple(f"x{j}" for j in range(X.shape[1])): family()}):
        model = bk.NaiveBayes(families=given, prior=prior, smoothing=alpha).fit(X, y)
        assert np.abs(model.predict_proba(X) - expected).max() < 1e-10
    own = bk.NaiveBayes(families=family(alpha), prior=prior, smoothing=7).fit(X, y)
    assert np.abs(own.predict_proba(X) - expected).max() < 1e-10


def test_counts_take_one_limb() -> None:
    X, y = words("counts")
    model = bk.NaiveBayes(families=Multinomial()).fit(X, y, sample_weight=np.arange(len(y)) % 3)
    (totals,) = model.model_.counted.statistic["features"].parts.values()
    assert totals.sums.cells.limbs.shape[-1] == 1


@every_family
@pytest.mark.parametrize("sort", ["counts", "fractions"])
def test_learning_in_parts_and_forgetting_are_exact(family: Any, sort: str) -> None:
    X, y = words(sort)
    w = np.random.default_rng(4).random(len(y))
    whole = bk.NaiveBayes(families=family).fit(X, y, sample_weight=w)
    parts = bk.NaiveBayes(families=family)
    for some in np.array_split(np.random.default_rng(0).permutation(len(y)), 5):
        parts.partial_fit(X[some], y[some], sample_weight=w[some])
    assert parts.model_.digest == whole.model_.digest
    half = bk.NaiveBayes(families=family).fit(X[:90], y[:90], sample_weight=w[:90])
    rest = bk.NaiveBayes(families=family).fit(X[90:], y[90:], sample_weight=w[90:])
    assert (half + rest).model_.digest == whole.model_.digest
    assert whole.forget(X[90:], y[90:], sample_weight=w[90:]).model_.digest == half.model_.digest


def test_counts_that_were_never_learned_cannot_be_forgotten() -> None:
    model = bk.NaiveBayes(families=Multinomial()).fit([[1, 2], [3, 0]], [0, 0])
    with pytest.raises(bk.errors.ForgetError, match="'x0'"):
        model.forget([[5, 0]], [0])


def test_tuples_of_columns_are_groups_of_their_own() -> None:
    X, y = words("counts", columns=9)
    X = X.toarray() + 1.0
    table = {f"w{j}": X[:, j] for j in range(9)}
    first, second = tuple(f"w{j}" for j in (0, 2, 4)), tuple(f"w{j}" for j in (1, 3, 5, 6, 7, 8))
    model = bk.NaiveBayes(families={second: Multinomial(), first: Multinomial()}, prior="uniform").fit(table, y)
    known = 0.0
    for names in (first, second):
        peer = MultinomialNB(fit_prior=False).fit(X[:, [int(n[1:]) for n in names]], y)
        known = known + peer.predict_joint_log_proba(X[:, [int(n[1:]) for n in names]])
    proba = np.exp(known - np.logaddexp.reduce(known, axis=1, keepdims=True))
    assert np.abs(model.predict_proba(table) - proba).max() < 1e-10
    other_way = bk.NaiveBayes(families={first: Multinomial(), second: Multinomial()}, prior="uniform").fit(table, y)
    assert other_way.model_.digest == model.model_.digest


def test_a_group_of_a_sparse_matrix_beside_another_family() -> None:
    X, y = words("counts", columns=12)
    family = {tuple(range(8)): Multinomial(), 8: Bernoulli(), 9: Bernoulli()}
    model = bk.NaiveBayes(families=family).fit(X, y)
    dense = bk.NaiveBayes(families=family).fit(X.toarray(), y)
    assert model.model_.digest == dense.model_.digest
    assert model.predict_proba(X).tobytes() == dense.predict_proba(X.toarray()).tobytes()


@pytest.mark.parametrize("vectorizer", [CountVectorizer, TfidfVectorizer])
@pytest.mark.parametrize(("family", "peer"), [(Multinomial(), MultinomialNB()), (Bernoulli(), BernoulliNB())])
def test_in_a_pipeline_after_a_vectorizer(vectorizer: Any, family: Any, peer: Any) -> None:
    ours = make_pipeline(vectorizer(), bk.NaiveBayes(families=family)).fit(TEXTS, LABELS)
    theirs = make_pipeline(vectorizer(), peer).fit(TEXTS, LABELS)
    asked = [*TEXTS, "free home", "", "unknown words only"]
    assert np.abs(ours.predict_proba(asked) - theirs.predict_proba(asked)).max() < 1e-10


@every_family
def test_a_missing_count_is_skipped(family: Any) -> None:
    X, y = words("counts", 60, 8, 2)
    X = X.toarray().astype(float)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    model = bk.NaiveBayes(families=family, prior="uniform").fit(X, y)
    sparse = bk.NaiveBayes(families=family, prior="uniform").fit(sp.csr_matrix(X), y)
    assert model.model_.digest == sparse.model_.digest
    assert model.predict_proba(X).tobytes() == sparse.predict_proba(sp.csr_matrix(X)).tobytes()
    known = np.zeros((60, 2))
    for c in range(2):
        for j in range(8):
            rows = X[(y == c) & ~np.isnan(X[:, j]), j]
            if isinstance(family, Bernoulli):
                q = ((rows > 0).sum() + 1) / (len(rows) + 2)
                term = np.where(X[:, j] > 0, np.log(q), np.log(1 - q))
            else:
                others = np.nansum(X[y == c] if isinstance(family, Multinomial) else X[y != c], axis=0) + 1
                log = np.log(others / others.sum())
                weight = log if isinstance(family, Multinomial) else log / log.sum() if family.norm else -log
                term = X[:, j] * weight[j]
            known[:, c] += np.where(np.isnan(X[:, j]), 0, term)
    proba = np.exp(known - np.logaddexp.reduce(known, axis=1, keepdims=True))
    assert np.abs(model.predict_proba(X) - proba).max() < 1e-10


@every_family
@pytest.mark.parametrize("sparse", [False, True])
def test_a_negative_count_is_refused_by_name(family: Any, sparse: bool) -> None:
    X = np.array([[1.0, 0.0, 2.0], [0.0, -3.0, 1.0], [2.0, 1.0, 0.0]])
    X = sp.csr_matrix(X) if sparse else X
    with pytest.raises(ValueError, match=r"'x1'.*-3.*at least 0"):
        bk.NaiveBayes(families=family).fit(X, [0, 1, 0])
    model = bk.NaiveBayes(families=family).fit(abs(X), [0, 1, 0])
    asked, hole = np.array([[1.0, -3.0, 2.0]]), np.array([[1.0, np.nan, 2.0]])
    with pytest.warns(UserWarning, match="'x1'"):
        found = model.predict_proba(asked)
    assert found.tobytes() == model.predict_proba(hole).tobytes()


@every_family
def test_other_bad_input_is_refused(family: Any) -> None:
    X, y = words("counts")
    model = bk.NaiveBayes(families=family).fit(X, y)
    with pytest.raises(ValueError, match="150"):
        model.predict(X[:, :-1])
    infinite = sp.csr_matrix(np.array([[1.0, np.inf], [0.0, 1.0]]))
    with pytest.raises(ValueError, match=r"'x1'.*infinit"):
        bk.NaiveBayes(families=family).fit(infinite, [0, 1])
    for wrong in (-1.0, np.nan, np.inf, "much"):
        with pytest.raises(ValueError, match="smoothing"):
            type(family)(smoothing=wrong)
    with pytest.raises(ValueError, match="cannot take"):
        bk.NaiveBayes(families={"a": family}).fit({"a": ["x", "y"]}, [0, 1])


@every_family
def test_empty_rows_and_columns_say_what_they_should(family: Any) -> None:
    X, y = words("counts")
    model = bk.NaiveBayes(families=family, prior="uniform").fit(X, y)
    nothing = model.predict_proba(sp.csr_matrix((2, 150)))
    assert np.isfinite(nothing).all()
    if not isinstance(family, Bernoulli):
        assert np.allclose(nothing, 0.25)
    void = bk.NaiveBayes(families=family, prior="uniform").fit(sp.csr_matrix((6, 3)), [0, 0, 0, 1, 1, 1])
    assert np.allclose(void.predict_proba([[1, 2, 3]]), 0.5)


@every_family
@pytest.mark.parametrize("x", [1e300, 1.7e308, 5e-324])
def test_extreme_counts_never_give_nan(family: Any, x: float) -> None:
    X = np.array([[x, 0.0, 1.0], [0.0, x, 1.0], [x, x, 0.0]])
    model = bk.NaiveBayes(families=family).fit(X, [0, 1, 1])
    proba = model.predict_proba(np.vstack([X, np.full((1, 3), x)]))
    assert np.allclose(proba.sum(axis=1), 1)


def test_without_smoothing_the_fewest_impossible_words_win() -> None:
    X = [[1, 1, 0, 0], [0, 0, 1, 1]]
    model = bk.NaiveBayes(families=Multinomial(0)).fit(X, ["a", "b"])
    assert model.predict_proba([[1, 0, 0, 0]]).tolist() == [[1.0, 0.0]]
    assert model.predict_proba([[2, 0, 1, 0]]).tolist() == [[1.0, 0.0]]
    assert model.predict_proba([[1, 0, 1, 0]]).tolist() == [[0.5, 0.5]]
    assert np.isneginf(model.predict_joint_log_proba([[1, 0, 1, 0]])).all()


@pytest.mark.parametrize(
    ("family", "peer"),
    [("Multinomial", MultinomialNB()), ("Bernoulli", BernoulliNB())],
    ids=["multinomial", "bernoulli"],
)
def test_the_probabilities_of_words_are_those_of_scikit_learn(family: str, peer: Any) -> None:
    vectorizer = CountVectorizer()
    X = vectorizer.fit_transform(TEXTS)
    names = vectorizer.get_feature_names_out()
    found = bk.NaiveBayes(families=family).fit(X, LABELS).word_probabilities(names, kind="pandas")
    peer.fit(X, LABELS)
    assert found["word"].tolist() == names.tolist()
    for k, label in enumerate(peer.classes_):
        assert found[f"P(word | {label})"].to_numpy() == pytest.approx(np.exp(peer.feature_log_prob_[k]), rel=1e-13)


def test_an_explanation_names_the_words() -> None:
    pipeline = make_pipeline(CountVectorizer(), bk.NaiveBayes(families="Multinomial")).fit(TEXTS, LABELS)
    vectorizer, model = pipeline
    names = vectorizer.get_feature_names_out()
    X = vectorizer.transform(["free money at home"])
    plain, told = model.explain(X), model.explain(X, names=names)
    assert told.parts == tuple(names)
    assert np.array_equal(told.terms, plain.terms)
    few = model.explain(X, top=2, names=names)
    assert set(few.parts) <= {*names, "(rest)"}
    assert "x0" not in str(few)
    with pytest.raises(ValueError, match="names has 2 names for"):
        model.explain(X, names=["a", "b"])


@pytest.mark.parametrize(
    "model",
    [
        bk.NaiveBayes(families="Multinomial"),
        bk.NaiveBayes(families="Multinomial", weights="fitted"),
        bk.NaiveBayes(families="Bernoulli"),
        bk.NaiveBayes(families="Complement"),
        bk.TAN(),
        bk.KNNBayes(k=2),
        bk.AutoBayes(max_candidates=3),
        bk.Calibrated(bk.NaiveBayes(families="Multinomial")),
        bk.RiskClassifier(bk.Calibrated(bk.NaiveBayes(families="Multinomial"), "temperature")),
    ],
    ids=lambda model: repr(model)[:40],
)
def test_every_classifier_names_the_words_of_a_pipeline(model: Any) -> None:
    texts, labels = TEXTS * 3, LABELS * 3
    pipeline = make_pipeline(CountVectorizer(), TfidfTransformer(), model).fit(texts, labels)
    columns = pipeline[0].get_feature_names_out().tolist()
    asked = ["free money at home", "see you"]
    told = bk.explain_pipeline(pipeline, asked)
    plain = pipeline[-1].explain(pipeline[:-1].transform(asked))
    assert np.array_equal(told.terms, plain.terms)
    assert [columns[int(p[1:])] if p[1:].isdigit() else p for p in plain.parts] == list(told.parts)
    assert {*told.parts} & {*columns} or told.parts == ("neighbours",)
    one = bk.explain_pipeline(pipeline, asked[0], top=2)
    assert len(one) == 1
    assert not any(part[1:].isdigit() for part in one.parts)


def test_a_pipeline_that_names_no_words_or_explains_nothing_is_refused() -> None:
    hashed = make_pipeline(HashingVectorizer(n_features=8, alternate_sign=False), bk.NaiveBayes()).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match=r"names=\.\.\."):
        bk.explain_pipeline(hashed, TEXTS)
    with pytest.raises(ValueError, match="MultinomialNB explains nothing"):
        bk.explain_pipeline(make_pipeline(CountVectorizer(), MultinomialNB()).fit(TEXTS, LABELS), TEXTS)
    with pytest.raises(ValueError, match="no pipeline"):
        bk.explain_pipeline(bk.NaiveBayes(), TEXTS)


def test_summaries_and_marginals_name_the_words() -> None:
    X = np.array([[0.0, 2.0, 1.0], [1.0, 3.0, 1.0], [4.0, 1.0, 1.0], [5.0, 2.0, 1.0]])
    model, names = bk.NaiveBayes().fit(X, ["a", "a", "b", "b"]), ["free", "money", "the"]
    summary = model.summary(names=names)
    assert [row["name"] for row in summary.columns] == names
    assert summary.constant == ("the",)
    assert [p["column"] for p in summary.parameters] == ["free", "money"]
    assert "x0" not in str(summary)
    found = model.marginal("money", names=names)
    assert found.name == "money"
    assert found.mean.tolist() == pytest.approx([2.5, 1.5], abs=1e-6)
    assert model.marginal("x1").mean.tolist() == found.mean.tolist()
    with pytest.raises(ValueError, match="two columns are called 'free'"):
        model.marginal("free", names=["free", "free", "the"])
    with pytest.raises(ValueError, match="names has 1 names for 3 columns"):
        model.summary(names=["free"])


def test_what_is_no_text_has_no_probabilities_of_words() -> None:
    with pytest.raises(ValueError, match="no column is a word"):
        bk.NaiveBayes().fit({"a": [1.0, 2.0]}, ["u", "v"]).word_probabilities()
    X, y = words("counts")
    with pytest.raises(ValueError, match="Complement"):
        bk.NaiveBayes(families="Complement").fit(X, y).word_probabilities()


def test_a_column_of_sentences_is_told():
    sentences = [f"call {i} now" for i in range(30)]
    with pytest.warns(UserWarning, match="has another text in nearly every row.*leave it out.*CountVectorizer"):
        bk.NaiveBayes().fit({"said": sentences, "n": [i % 7 for i in range(30)]}, ["a", "b"] * 15)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bk.NaiveBayes().fit({"said": sentences[:10] * 3}, ["a", "b"] * 15)
        bk.NaiveBayes(kinds={"said": bk.Nominal(sentences)}).fit({"said": sentences}, ["a", "b"] * 15)
