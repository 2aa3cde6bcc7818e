"""The calculation as a textbook writes it: fractions of counts, products of factors, sums over hidden nodes."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from typing import Any
from xml.etree import ElementTree

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


RNG = np.random.default_rng(7)
A = RNG.integers(0, 3, 90)
B = (A + (RNG.random(90) < 0.3)) % 3
C = np.where(RNG.random(90) < 0.7, (A + B) % 2, RNG.integers(0, 2, 90))
HOLED = [
    {
        "a": None if i % 17 == 3 else f"a{a}",
        "b": None if i % 13 == 5 else f"b{b}",
        "c": None if i % 11 == 2 else f"c{c}",
    }
    for i, (a, b, c) in enumerate(zip(A, B, C, strict=True))
]
LABELS = np.where((A + C + (RNG.random(90) < 0.25)) % 2 == 0, "no", "yes").tolist()
LEVELS = {"a": 3, "b": 3, "c": 2}
ASKED = [dict(zip("abc", values, strict=True)) for values in (("a0", "b1", "c1"), ("a2", "b2", "c0"))]
TABLES_OF = {
    "tan": lambda **s: bk.TAN(penalty=None, **s),
    "kdb": lambda **s: bk.KDB(k=2, penalty=None, **s),
    "network": lambda **s: bk.NetworkBayes([("class", "a"), ("class", "c"), ("a", "b"), ("a", "c"), ("b", "c")], **s),
}


def count(label: str | None, known: dict[str, str], present: str = "") -> int:
    """Rows of a class, or of all, that have these values, and some value in these columns."""
    return sum(
        (label is None or y == label) and all(row[k] == v for k, v in known.items()) and all(row[k] for k in present)
        for row, y in zip(HOLED, LABELS, strict=True)
    )


def laplace(name: str, row: dict[str, str], given: str, label: str | None, plus: Fraction = Fraction(1)) -> Fraction:
    known = {key: row[key] for key in given}
    n, of = count(label, {**known, name: row[name]}), count(label, known, name)
    return (n + plus) / (of + plus * LEVELS[name])


def shrunk(name: str, row: dict[str, str], given: str, label: str | None, strength: int, base: Fraction) -> Fraction:
    known = {key: row[key] for key in given}
    return (count(label, {**known, name: row[name]}) + strength * base) / (count(label, known, name) + strength)


def families_of(model: Any) -> dict[str, tuple[str, bool]]:
    """The parents of each column, and whether the class is one."""
    arcs, network = model.edges_, isinstance(model, bk.NetworkBayes)
    parents = {name: [p for p, child in arcs if child == name] for name in "abc"}
    return {
        name: ("".join(p for p in of if p != "class"), not network or "class" in of) for name, of in parents.items()
    }


def posterior_of(likelihood: dict[str, Fraction]) -> tuple[Fraction, ...]:
    joint = [Fraction(LABELS.count(label), 90) * likelihood[label] for label in ("no", "yes")]
    return tuple(p / sum(joint) for p in joint)


def check_worked(model: Any, row: dict[str, str], likelihood: dict[str, Fraction]) -> None:
    """The exact posterior, each number in the text by Python's arithmetic, and the same fractions on page and paper."""
    worked = model.explain([row]).worked()
    assert worked.exact == posterior_of(likelihood)
    np.testing.assert_allclose([float(p) for p in worked.exact], model.predict_proba([row])[0], rtol=1e-12)
    for factor in worked.factors:
        sums = [eval(str(ratio).replace("·", "*")) for ratio in factor.ratios]
        np.testing.assert_allclose(sums, np.exp(factor.log), rtol=1e-12)
        written = str(worked).replace("\n    + ", "+").replace(" · ", "·")  # a mean has a line for each product
        assert all((ratio.above if factor.products else str(ratio)) in written for ratio in factor.ratios)
    shown = [piece for line in worked._lines() for piece in line if isinstance(piece, Ratio)]
    page = ElementTree.fromstring(worked._repr_html_().replace("&emsp;", " ").replace("<br>", "<br/>"))
    assert ["".join(fraction.itertext()) for fraction in page.iter("mfrac")] == [r.above + r.below for r in shown]
    for ratio in shown:
        above, below = (text.replace("·", r"\cdot ") for text in (ratio.above, ratio.below))
        assert rf"\tfrac{{{above}}}{{{below}}}" in worked.latex()


@pytest.mark.parametrize("row", ASKED, ids=str)
@pytest.mark.parametrize("name", TABLES_OF)
def test_tables_given_parents_are_fractions_of_counts(name: str, row: dict[str, str]) -> None:
    model = TABLES_OF[name](backoff="even").fit(HOLED, LABELS)
    found = families_of(model)
    assert any(given for given, _ in found.values())
    check_worked(
        model,
        row,
        {
            label: prod(laplace(x, row, given, label if own else None) for x, (given, own) in found.items())
            for label in ("no", "yes")
        },
    )


@pytest.mark.parametrize("name", TABLES_OF)
def test_pseudo_rows_spread_as_the_class_are_fractions(name: str) -> None:
    row, model = ASKED[0], TABLES_OF[name](backoff="class", strength=3).fit(HOLED, LABELS)

    def factor(x: str, given: str, label: str | None) -> Fraction:
        alone = laplace(x, row, "", label)
        return shrunk(x, row, given, label, 3, alone) if given else alone

    found = families_of(model)
    each = {y: prod(factor(x, given, y if own else None) for x, (given, own) in found.items()) for y in ("no", "yes")}
    check_worked(model, row, each)


@pytest.mark.parametrize(("name", "strength"), [("tan", None), ("kdb", None), ("kdb", 8)])
def test_the_default_base_is_written_in_its_parts(name: str, strength: int | None) -> None:
    model = TABLES_OF[name](strength=strength).fit(HOLED, LABELS)
    assert ("+0.75·" in str(model.explain(ASKED[:1]).worked())) == (strength == 8)  # of P(x | parents)
    found, grid = families_of(model), [2**e if e >= 0 else Fraction(1, 2**-e) for e in range(10, -3, -1)]
    parts = [Fraction(i, 4) for i in range(5)]
    for row in ASKED:
        worked = model.explain([row]).worked()
        check_worked(
            model, row, {y: prod(f.ratios[k].value for f in worked.factors) for k, y in enumerate(("no", "yes"))}
        )
        for factor in worked.factors:
            (x,), given = factor.columns, found[factor.columns[0]][0]
            alone = [laplace(x, row, "", label) for label in ("no", "yes")]
            anywhere, tried = laplace(x, row, "", None), [alone]
            for s, part, pseudo in product([strength] if strength else grid, parts, grid) if given else ():
                of_all = shrunk(x, row, given, None, pseudo, anywhere)
                bases = [part * one + (1 - part) * of_all for one in alone]
                each = zip(("no", "yes"), bases, strict=True)
                tried.append([shrunk(x, row, given, label, s, base) for label, base in each])
            assert [ratio.value for ratio in factor.ratios] in (tried[1:] if given else tried)


@pytest.mark.parametrize("row", ASKED, ids=str)
def test_averaged_estimators_are_a_mean_of_products(row: dict[str, str]) -> None:
    model, half = bk.AODE().fit(HOLED, LABELS), Fraction(1, 2)

    def member(parent: str, label: str) -> Fraction:
        others = (laplace(x, row, parent, label, half) for x in "abc" if x != parent)
        return laplace(parent, row, "", label) * prod(others)

    check_worked(model, row, {label: sum(member(p, label) for p in "abc") / 3 for label in ("no", "yes")})
    lines = str(model.explain([row]).worked()).split(" = 1/3 · (\n")[1:]
    sums = [eval("(" + text.partition(")\nP(")[0].strip().replace("\n", "").replace("·", "*") + ")") for text in lines]
    np.testing.assert_allclose(sums, [float(sum(member(p, label) for p in "abc")) for label in ("no", "yes")])


def test_a_node_without_the_class_is_named_without_it() -> None:
    text = str(TABLES_OF["network"](backoff="even").fit(HOLED, LABELS).explain([ASKED[0]]).worked())
    n, of = count(None, {"a": "a0", "b": "b1"}), count(None, {"a": "a0"}, "b")
    assert "P(b = b1 | a = a0) · P(c = c1 | a = a0, b = b1, no)" in text
    assert text.count(f" · ({n}+1)/({of}+3) · ") == 2


@pytest.mark.parametrize(
    "model", [bk.AODE(unseen="smooth"), *(m(unseen="smooth") for m in TABLES_OF.values())], ids=str
)
def test_a_level_never_seen_has_its_pseudo_rows(model: Any) -> None:
    model.fit(HOLED, LABELS)
    for new in ({"a": "new"}, {"b": "new"}, {"c": "new"}, {"a": "new", "c": "new"}):
        worked = model.explain([{**ASKED[1], **new}]).worked()
        assert {name for factor in worked.factors for name in factor.columns} == set("abc")
        for factor in worked.factors:
            np.testing.assert_allclose([float(r) for r in factor.ratios], np.exp(factor.log), rtol=1e-12)


def test_an_average_of_one_member_or_none_is_a_product() -> None:
    one = bk.AODE(parents=1).fit(HOLED, LABELS)
    ((parent,),) = {factor.given for factor in one.explain([ASKED[0]]).worked().factors} - {()}
    half, row = Fraction(1, 2), ASKED[0]
    each = {
        y: prod(laplace(x, row, parent, y, half) for x in "abc" if x != parent) * laplace(parent, row, "", y)
        for y in ("no", "yes")
    }
    check_worked(one, row, each)
    none = bk.AODE(limit=1000).fit(HOLED, LABELS)
    check_worked(none, row, {y: prod(laplace(x, row, "", y) for x in "abc") for y in ("no", "yes")})


def test_numbers_stay_where_a_parent_is_missing() -> None:
    worked = TABLES_OF["tan"]().fit(HOLED, LABELS).explain([{**ASKED[0], "a": None}]).worked()
    assert worked.exact is None
    assert not any(factor.ratios for factor in worked.factors)
