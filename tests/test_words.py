"""Words: explanations of a text model call its columns by the names given."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

import bayeskit as bk
from bayeskit.errors import InputError

TEXTS = [
    "free money now",
    "money money offer",
    "lunch with team",
    "team meeting now",
    "free offer offer",
    "lunch meeting",
]
LABELS = ["spam", "spam", "ham", "ham", "spam", "ham"]
READER = CountVectorizer()
X = READER.fit_transform(TEXTS)
WORDS = READER.get_feature_names_out().tolist()  # free lunch meeting money now offer team with
FAMILIES = ["Multinomial", "Bernoulli", "Complement"]


def naive(family: str, **settings: Any) -> Any:
    return bk.NaiveBayes(families=family, **settings)


@pytest.mark.parametrize(
    ("family", "expected"),
    [("Multinomial", (Fraction(1, 16), Fraction(3, 17))), ("Bernoulli", (Fraction(1, 5), Fraction(3, 5)))],
)
def test_a_marginal_of_a_word_is_its_probability_in_each_class(
    family: str, expected: tuple[Fraction, Fraction]
) -> None:
    model = naive(family).fit(X, LABELS)
    found = model.marginal("free", names=WORDS)
    assert found.name == "free"
    assert list(found.values) == [0, 1]
    np.testing.assert_allclose(found.shares[1], [float(p) for p in expected], rtol=1e-12)
    np.testing.assert_allclose(found.shares[0], [float(1 - p) for p in expected], rtol=1e-12)
    table = model.word_probabilities(WORDS)
    assert np.allclose([table[f"P(word | {c})"][0].as_py() for c in ("ham", "spam")], found.shares[1], rtol=1e-14)
    assert "free" in str(found)


def test_complement_says_that_it_has_none_and_what_to_ask() -> None:
    with pytest.raises(InputError, match=r"no P\(word \| class\); ask explain"):
        naive("Complement").fit(X, LABELS).marginal("free", names=WORDS)


MODELS = [
    *map(naive, FAMILIES),
    naive("Multinomial", weights="fitted"),
    bk.NaiveBayes(),
    bk.Calibrated(naive("Multinomial"), "temperature"),
    bk.RiskClassifier(naive("Bernoulli"), bk.Costs.zero_one(["ham", "spam"])),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_points_of_words_give_the_posterior(model: Any) -> None:
    model.fit(X, LABELS)
    chart = model.nomogram("spam", "ham", names=WORDS)
    assert [scale.name for scale in chart.scales] == [w for w in WORDS if w in {s.name for s in chart.scales}]
    assert "money" in {scale.name for scale in chart.scales}
    total = chart.points(X).sum(axis=1)
    np.testing.assert_allclose(chart.probability(total), model.predict_proba(X)[:, 1], atol=1e-10)
    money = next(scale for scale in chart.scales if scale.name == "money")
    assert list(money.values) == [0, 1, 2]
    assert all(s.points.min() == pytest.approx(0, abs=1e-12) for s in chart.scales)


@pytest.mark.parametrize("model", [*MODELS, bk.AutoBayes(max_candidates=2)], ids=repr)
def test_changes_are_told_by_word(model: Any) -> None:
    model.fit(X.toarray(), LABELS)
    plain = model.counterfactual(X.toarray(), among=X.toarray(), columns=2)
    named = model.counterfactual(X.toarray(), among=X.toarray(), columns=2, names=WORDS)
    word = {f"x{j}": name for j, name in enumerate(WORDS)}
    assert any(plain.rows)
    for mine, theirs in zip(plain.rows, named.rows, strict=True):
        told = [tuple(word[c] for c in f.column) if isinstance(f.column, tuple) else word[f.column] for f in mine]
        assert [f.column for f in theirs] == told
    held = model.counterfactual(X.toarray(), among=X.toarray(), hold="money", names=WORDS)
    assert "money" not in {f.column for row in held.rows for f in row}


def test_columns_that_were_not_tried_are_told_by_word() -> None:
    found = naive("Multinomial").fit(X, LABELS).counterfactual(X, names=WORDS)
    assert found.untried == tuple(WORDS)


def test_names_are_one_for_each_column() -> None:
    model = naive("Multinomial").fit(X, LABELS)
    for ask in (lambda: model.nomogram("spam", names=["a"]), lambda: model.counterfactual(X, names=["a"])):
        with pytest.raises(InputError, match="1 names for 8 columns"):
            ask()
