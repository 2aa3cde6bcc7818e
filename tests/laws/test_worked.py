"""Every family writes its calculation down: what stands there, worked out by Python and SciPy, is the posterior."""

from __future__ import annotations

import importlib
import re
from math import comb, factorial
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats

import bayeskit as bk
from bayeskit.families import families

RNG = np.random.default_rng(19)
CLASS = np.where(RNG.random(60) < 0.4, "a", "b")
SIZE = np.where(CLASS == "a", RNG.gamma(2, 1, 60), RNG.gamma(4, 1, 60)).round(2)
COUNT = np.where(CLASS == "a", RNG.poisson(2, 60), RNG.poisson(4, 60)).astype(float)
LEVEL = np.array(["low", "some", "high"])[np.digitize(SIZE, [2, 4])]
WORDS = ("Bernoulli", "Complement", "Multinomial")
VALUES: dict[str, tuple[Any, list[Any]]] = {  # of one column, and what is asked; otherwise SIZE
    "Bernoulli": (COUNT, [0.0, 2.0]),
    "Beta": (SIZE / 20, [0.1, 0.4]),
    "Binomial": (np.minimum(COUNT, 12), [0.0, 3.0, 12.0]),
    "Categorical": (LEVEL, ["low", "some"]),
    "Complement": (COUNT, [1.0, 3.0]),
    "Multinomial": (COUNT, [1.0, 3.0]),
    "NegativeBinomial": (COUNT * (1 + (COUNT > 3)), [0.0, 7.0]),
    "Ordinal": (LEVEL, ["low", "some"]),
    "Poisson": (COUNT, [0.0, 5.0]),
    "VonMises": (SIZE - 3, [-1.0, 2.0]),
    "ZeroInflated": (np.where(COUNT > 2, SIZE, 0.0), [0.0, 1.5]),
}
SETTINGS = {"Binomial": "Binomial(trials=12)"}
NAMES = [*sorted(families()), "Gaussian(predictive=True)"]
CASES = [(name, x) for name in NAMES for x in VALUES.get(name, (SIZE, [0.4, 2.5, 12.0]))[1]]
NUMBER = r"(-?[\d.]+(?:e[-+]?\d+)?|inf)"


def reference_of(name: str) -> Any:
    """The module of a family's reference values."""
    family = families()[name.split("(")[0]]
    return importlib.import_module(f"{__package__}.references.{family.__module__.rsplit('.', 1)[1]}")


WORKED = {text: meaning for name in families() for text, meaning in getattr(reference_of(name), "WORKED", {}).items()}
FORMULAS = {re.escape(text).replace(r"\#", NUMBER): meaning for text, meaning in WORKED.items()}


def fitted(name: str, x: Any) -> tuple[bk.NaiveBayes, dict[str, list[Any]]]:
    """A model of columns of one family, and a row."""
    values = VALUES.get(name, (SIZE, []))[0]
    table, row = {"x": values}, {"x": [x]}
    if name in WORDS:
        table["z"], row["z"] = 2.0 * (SIZE > 2) + COUNT, [2.0]
    kinds = {"x": ["low", "some", "high"]} if name == "Ordinal" else None
    return bk.NaiveBayes(families=SETTINGS.get(name, name), kinds=kinds).fit(table, CLASS), row


def work_out(text: str, label: str) -> float:
    """A formula as it stands in the text, by other means."""
    for pattern, meaning in FORMULAS.items():
        text = re.sub(
            pattern,
            lambda m, of=meaning: repr(float(of(*(float(g.replace("infinite", "inf")) for g in m.groups())))),
            text,
        )
    if found := re.fullmatch(
        rf"mean of N\({NUMBER}; x_i, deviation {NUMBER}\) over the (\d+) values of the class", text
    ):
        x, h, n = map(float, found.groups())
        assert n == np.sum(label == CLASS)
        return float(stats.norm.pdf(x, SIZE[label == CLASS], h).mean())
    text = re.sub(
        r"(\d+)!", lambda m: str(factorial(int(m[1]))), text.removesuffix(", over the largest of the classes")
    )
    plain = text.replace("·", "*").replace("^", "**").replace("C(", "comb(")
    assert ";" not in plain, (
        f"say in WORKED of the family's tests/laws/references/NAME.py what {text!r} means, by SciPy"
    )
    return float(eval(plain, {"comb": comb, "e": np.e, "__builtins__": {}}))


@pytest.mark.parametrize(("name", "x"), CASES)
def test_what_is_written_gives_the_posterior(name: str, x: Any) -> None:
    model, row = fitted(name, x)
    worked, expected = model.explain(row).worked(), model.predict_proba(row)[0]
    lines = str(worked).replace("\n    =", " =").splitlines()
    products = [work_out(line.split(" = ")[-2], "") for line in lines[:2]]
    np.testing.assert_allclose(products / np.sum(products), expected, rtol=1e-3)  # four digits are shown
    np.testing.assert_allclose(products, [float(line.split(" = ")[-1]) for line in lines[:2]], rtol=1e-3)
    if worked.exact is not None:
        np.testing.assert_allclose([float(p) for p in worked.exact], expected, rtol=1e-9)


@pytest.mark.parametrize(("name", "x"), CASES)
def test_every_factor_is_a_fraction_or_says_where_it_comes_from(name: str, x: Any) -> None:
    model, row = fitted(name, x)
    worked = model.explain(row).worked()
    assert worked.factors
    for factor in worked.factors:
        assert factor.ratios or factor.formulas, factor
        if factor.formulas:
            values = np.array([work_out(f, label) for f, label in zip(factor.formulas, "ab", strict=True)])
            values = values / values.max() if factor.relative else values
            np.testing.assert_allclose(values, np.exp(factor.log), rtol=1e-3)  # six digits are shown
        for ratio, log in zip(factor.ratios, factor.log, strict=bool(factor.ratios)):
            assert work_out(str(ratio), "") == pytest.approx(float(ratio), rel=1e-9)
            assert float(ratio) == pytest.approx(np.exp(log), rel=1e-9)


@pytest.mark.parametrize(("name", "x"), CASES)
def test_text_page_and_latex_say_the_same(name: str, x: Any) -> None:
    model, row = fitted(name, x)
    worked = model.explain(row).worked()
    pieces = [piece for line in worked._lines() for piece in line]
    fractions = [piece for piece in pieces if not isinstance(piece, str)]
    page = ElementTree.fromstring(worked._repr_html_().replace("&emsp;", " ").replace("<br>", "<br/>"))
    shown = ["".join(f.itertext()) for f in page.iter("mfrac")]
    assert shown == [f.above + f.below for f in fractions]
    assert [f.text for p in page.iter("msup") for f in p.findall("mn")] == [
        str(f.power) for f in fractions if f.power != 1
    ]
    latex = worked.latex()
    assert latex.count(r"\tfrac") == len(fractions)
    assert latex.count("{") == latex.count("}")
    assert latex.count(r"\left(") == latex.count(r"\right)") == sum(f.power != 1 for f in fractions)
    assert latex.count("$") % 2 == 0
