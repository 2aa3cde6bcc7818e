"""The calculation as a textbook writes it: fractions of counts, products of factors, sums over hidden nodes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import CountVectorizer

import bayeskit as bk
from bayeskit.data.written import Ratio
from bayeskit.errors import InputError
from bayeskit.smoothing import AddM, Laplace, MEstimate, NoSmoothing, ReplaceZeros, TowardPooled

from .test_worked_examples_networks import EDGES, TABLES

BUYS = """
<=30 high no fair no; <=30 high no excellent no; 31...40 high no fair yes; >40 medium no fair yes; >40 low yes fair yes;
>40 low yes excellent no; 31...40 low yes excellent yes; <=30 medium no fair no; <=30 low yes fair yes;
>40 medium yes fair yes; <=30 medium yes excellent yes; 31...40 medium no excellent yes; 31...40 high yes fair yes;
>40 medium no excellent no"""
NAMES = ("age", "income", "student", "credit_rating", "buys")
TABLE = dict(zip(NAMES, zip(*(row.split() for row in BUYS.split(";")), strict=True), strict=True))
ROW = {"age": ["<=30"], "income": ["medium"], "student": ["yes"], "credit_rating": ["fair"]}
COUNTS = np.array([[0.0, 3.0, 2.0], [5.0, 1.0, 4.0]])
RULES = [
    Laplace(),
    Laplace(0.5),
    NoSmoothing(),
    ReplaceZeros(),
    ReplaceZeros("class"),
    MEstimate(2),
    MEstimate(1.5, (0.2, 0.3, 0.5)),
    TowardPooled(3),
    AddM(2),
]


def buys(**settings: Any) -> bk.NaiveBayes:
    return bk.NaiveBayes(**settings).fit({k: list(v) for k, v in TABLE.items()}, "buys")


def test_c1_counts_are_fractions_and_the_posterior_is_exact() -> None:
    worked = buys(smoothing=0).explain(ROW).worked()
    names, numbers = str(worked).splitlines()[2:4]
    assert names.startswith("P(yes) · P(age = <=30 | yes) · P(income = medium | yes) · P(student = yes | yes) · ")
    assert numbers == "    = 9/14 · 2/9 · 4/9 · 6/9 · 6/9 = 0.02822"
    no, yes = (Fraction(5, 14) * Fraction(12, 625), Fraction(9, 14) * Fraction(288, 6561))
    assert worked.exact == (no / (no + yes), yes / (no + yes))
    assert f"= {yes / (no + yes)} = 0.8045" in str(worked)
    assert r"\tfrac{9}{14}" in worked.latex()
    assert r"credit\_rating" in worked.latex()
    assert "&lt;=30" in worked._repr_html_()
    assert "<mfrac><mn>2</mn><mn>9</mn></mfrac>" in worked._repr_html_()


def test_laplace_terms_show_what_was_added() -> None:
    assert " = 9/14 · (2+1)/(9+3) · (4+1)/(9+3) · (6+1)/(9+2) · (6+1)/(9+2) = 0.02712" in str(
        buys().explain(ROW).worked()
    )


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_what_is_written_is_what_is_computed(rule: Any) -> None:
    classes = np.array([6.0, 11.0])
    expected = rule.probabilities(COUNTS, classes)
    for level in range(3):
        written = rule.written(level, COUNTS, classes)
        np.testing.assert_allclose([float(ratio) for ratio in written], expected[:, level], rtol=1e-14)
        sums = [eval(str(ratio).replace("·", "*")) for ratio in written]  # the text itself, by Python's arithmetic
        np.testing.assert_allclose(sums, expected[:, level], rtol=1e-14)


def _models() -> dict[str, Any]:
    iris = load_iris()
    X, y = iris.data[:, :2], np.where(iris.target == 0, "c1", "c2")
    whole = np.floor(X * 4)
    made: dict[str, Any] = {name: bk.NaiveBayes(families=name) for name in ("Gaussian", "Kernel", "Histogram", "auto")}
    made |= {"Poisson": bk.NaiveBayes(families="Poisson"), "full": bk.FullBayes(), "knn": bk.KNNBayes(k=5)}
    made |= {"tan": bk.TAN(), "kdb": bk.KDB(), "aode": bk.AODE(), "network": bk.NetworkBayes()}
    return {name: (model.fit(whole if name == "Poisson" else X, y), whole[:1] + 1) for name, model in made.items()}


@pytest.mark.parametrize(("name", "case"), _models().items(), ids=lambda given: given if isinstance(given, str) else "")
def test_the_product_is_the_joint_probability_of_every_model(name: str, case: tuple[Any, Any]) -> None:
    model, row = case
    found = model.explain(row)
    worked = found.worked()
    total = worked.log_prior + sum(factor.log for factor in worked.factors)
    np.testing.assert_allclose(total, found.joint[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(worked.log_joint, total, rtol=1e-12, atol=1e-12)
    posterior = np.exp(total - np.logaddexp.reduce(total))
    np.testing.assert_allclose(worked.proba, posterior, rtol=1e-9)
    assert str(worked).count("\n") >= 3


def test_a3_neighbours_are_a_share_of_k_and_follow_a_prior() -> None:
    iris = load_iris()
    y = np.where(iris.target == 0, "c1", "c2")
    model = bk.KNNBayes(k=5).fit(iris.data[:, :2], y)
    worked = model.explain([[6.75, 4.25]]).worked()
    assert worked.exact == (Fraction(1, 5), Fraction(4, 5))
    assert "100/150 · 4/(100·V)" in str(worked)
    assert model.explain([[6.75, 4.25]], prior="uniform").worked().exact == (Fraction(1, 3), Fraction(2, 3))


def test_a5_a_joint_table_is_one_fraction() -> None:
    iris = load_iris()
    cells = {
        "length": np.digitize(iris.data[:, 0], [5.2, 6.1, 7.0], right=True).astype(str),
        "width": np.digitize(iris.data[:, 1], [2.8, 3.6], right=True).astype(str),
    }
    model = bk.FullBayes().fit(cells, np.where(iris.target == 0, "c1", "c2"))
    assert "50/150 · (0+1)/(50+12) = " in str(model.explain({"length": ["2"], "width": ["2"]}).worked())


def test_full_bayes_names_mean_and_covariance() -> None:
    rows = [[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0], [5.0, 5.0], [7.0, 5.0], [5.0, 7.0], [7.0, 7.0]]
    model = bk.FullBayes(shrinkage=None).fit(rows, ["a"] * 4 + ["b"] * 4)
    text = str(model.explain([[1.0, 1.0]]).worked())
    assert "N(x; mean (1 1), covariance (1 0; 0 1))" in text
    assert f"1/2 · {1 / (2 * np.pi):.4g}" in text.replace("4/8", "1/2")


def test_missing_values_have_no_factor_and_are_named() -> None:
    worked = buys(smoothing=0).explain({**ROW, "income": [None]}).worked()
    assert "income =" not in str(worked)
    assert str(worked).endswith("Missing, and so without a factor: income.")


def test_words_stand_by_name_and_a_thousand_factors_do_not_underflow() -> None:
    texts = ["free money now", "meeting at noon", "money money", "noon meeting notes"]
    words = CountVectorizer().fit(texts)
    model = bk.NaiveBayes(families="Multinomial").fit(words.transform(texts), ["spam", "ham"] * 2)
    shown = str(model.explain(words.transform(["money"]), names=words.get_feature_names_out()).worked())
    assert "money = 1" in shown
    wide = bk.NaiveBayes().fit(np.array([["a"] * 2000, ["b"] * 2000] * 3), [0, 1] * 3)
    text = str(wide.explain(np.array([["a"] * 2000])).worked(most=3))
    assert "the rest" in text
    assert "e-" in text
    assert "P(0 | x)" in text


def test_a_network_query_is_a_sum_of_products() -> None:
    network = bk.Network(EDGES, TABLES)
    evidence = {"Smoker": "yes", "PositiveXRay": "yes"}
    text = str(network.worked("LungCancer", evidence))
    assert "0.3 · 0.4 · 0.8 · 0.9 + 0.7 · 0.4 · 0.7 · 0.9" in text  # over FamilyHistory; Cough sums to one
    yes, no = 0.4 * 0.9 * (0.3 * 0.8 + 0.7 * 0.7), 0.4 * 0.2 * (0.3 * 0.2 + 0.7 * 0.3)
    assert f" = {yes / (yes + no):.4g}" in text
    assert network.query("LungCancer", evidence)["yes"] == pytest.approx(yes / (yes + no))


@pytest.mark.parametrize(
    ("target", "evidence", "message"),
    [
        (["LungCancer", "Cough"], {}, "that of one node"),
        ("LungCancer", {"LungCancer": "yes"}, "is evidence itself"),
        ("LungCancer", {"Smoker": {"yes": 0.5}}, "is a likelihood"),
    ],
)
def test_queries_that_have_no_calculation_by_hand(target: Any, evidence: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        bk.Network(EDGES, TABLES).worked(target, evidence)


def test_models_that_are_no_product_refuse() -> None:
    X, y = load_iris(return_X_y=True)
    for model in (bk.AutoBayes(), bk.AJE(), bk.NaiveBayes(weights="fitted"), bk.Calibrated(bk.NaiveBayes())):
        with pytest.raises(InputError, match="no prior times factors"):
            model.fit(X, y).explain(X[:1]).worked()


def test_a_ratio_prints_parentheses_only_where_needed() -> None:
    assert str(Ratio.of([2], [9])) == "2/9"
    assert str(Ratio.of([0.5], [9, 3])) == "0.5/(9+3)"
