"""Explanations: weights of evidence that add up, in any unit, for any rival."""

from fractions import Fraction
from math import log2, log10

import numpy as np
import pytest
from scipy.stats import norm

import bayeskit as bk
from bayeskit.errors import InputError
from shapes import LABELS, TABLE, one


def test_evidence_in_bits_adds_up_to_the_log_odds_of_exact_fractions():
    explained = bk.NaiveBayes(smoothing=0).fit(TABLE, LABELS).explain(one("circle", "blue", "medium"))
    odds = Fraction(9, 275) / Fraction(1, 99)
    assert explained.evidence(unit="bits").sum() == pytest.approx(log2(odds), abs=1e-12)


def test_a_shape_alone_weighs_what_its_shares_say():
    explained = bk.NaiveBayes(smoothing=0).fit(TABLE, LABELS).explain(one("circle", None, None))
    assert explained.evidence(0, "+", unit="points")[1] == pytest.approx(
        10 * log10(Fraction(1, 5) / Fraction(2, 6)), abs=1e-12
    )
    assert explained.evidence(0, "+", unit="points")[2:].tolist() == [0, 0]


def test_a_rival_is_one_class_alone():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 2)), np.repeat(["p", "q", "r"], 20)
    explained = bk.NaiveBayes().fit(X, y).explain(X[:1])
    terms = [norm.logpdf(X[0], X[y == c].mean(axis=0), X[y == c].std(axis=0)) for c in "pqr"]
    assert explained.evidence(0, "q", rival="r")[1:] == pytest.approx(terms[1] - terms[2], abs=1e-10)


@pytest.mark.parametrize("wrong", [{"unit": "inches"}, {"label": "z"}, {"rival": "z"}, {"label": "+", "rival": "+"}])
def test_wrong_units_and_labels_are_named(wrong):
    explained = bk.NaiveBayes().fit(TABLE, LABELS).explain(one("circle", "blue", "medium"))
    with pytest.raises(InputError):
        explained.evidence(**wrong)


def test_missing_and_unseen_values_are_shown_as_such():
    explained = bk.NaiveBayes().fit(TABLE, LABELS).explain(one("hexagon", None, "large"))
    values = explained.frame().to_pydict()["value"]
    assert values == [None, "hexagon (never seen)", "missing", "large"]
    for text in (str(explained), explained._repr_html_()):
        assert "never seen" in text
        assert "missing" in text


def test_the_frame_of_an_explanation_adds_up():
    model = bk.NaiveBayes(smoothing=0).fit(TABLE, LABELS)
    shown = model.explain(one("circle", "blue", "medium")).frame("pandas")
    assert np.exp(shown[["+", "-"]].sum()).tolist() == pytest.approx([9 / 275, 1 / 99], rel=1e-12)


def test_names_are_text_in_notebooks_and_terminals():
    label = "<img src=x onerror=alert(1)>"
    explained = bk.NaiveBayes().fit({"[red]a": ["u", "v"]}, [label, "b"]).explain({"[red]a": ["u"]})
    assert "<img" not in explained._repr_html_()
    from io import StringIO

    from rich.console import Console

    out = StringIO()
    Console(file=out, width=200).print(explained)
    assert "[red]a" in out.getvalue()


def test_sixty_long_labels_stay_readable():
    labels = [f"{i:02d}" + "x" * 300 for i in range(60)]
    explained = bk.NaiveBayes().fit([[float(i)] for i in range(60)] * 2, labels * 2).explain([[3.0]])
    assert max(map(len, str(explained).splitlines())) < 260
    assert "52 more" in str(explained)
