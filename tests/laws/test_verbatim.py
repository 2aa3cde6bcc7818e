"""Names of columns, levels and classes are shown as they are, in every picture: no TeX, no hidden names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.text import Text

import bayeskit as bk
from bayeskit import plots

HOSTILE = {  # names of two columns, of two classes and of a level
    "TeX": (r"$\frac{", "$$x$$", r"$\left(${", "$a_1^2$", r"$\sum_{$"),
    "other signs": ("_a", "%s{0}^", "_nolegend_", r"\textbf{q}<b>", "$"),
}


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


class Case:
    """A table of two numbers and a level, all with such names."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.a, self.b, self.no, self.yes, self.level = names
        self.y = np.repeat(np.array([self.no, self.yes], dtype=object), 30)
        x = np.random.default_rng(0).normal(np.repeat([0, 2], 30)[:, None], 1, (60, 2))
        self.plane = pa.table({self.a: x[:, 0], self.b: x[:, 1]})
        self.levels = pa.table({self.a: np.where(x[:, 0] > 1, self.level, "other"), self.b: x[:, 1]})
        self.model = bk.NaiveBayes().fit(self.plane, self.y)
        self.mixed = bk.NaiveBayes().fit(self.levels, self.y)
        self.proba = self.model.predict_proba(self.plane)
        self.classes = self.model.classes_.tolist()

    @property
    def network(self) -> bk.Network:
        table = pa.table({self.a: self.levels[self.a], self.b: pa.array(self.y.tolist())})
        return bk.Network([(self.a, self.b)]).fit(table)


def evaluated(case: Case) -> Any:
    return bk.evaluate(bk.NaiveBayes(), case.plane, case.y, bk.CrossValidation(3))


def compared(case: Case) -> Any:
    models = {case.a: bk.NaiveBayes(), case.b: bk.FullBayes()}
    return bk.compare(models, case.plane, case.y, method=bk.CrossValidation(3))


def populations(case: Case) -> Any:
    return bk.cross_population(bk.NaiveBayes(), {case.a: (case.plane, case.y), case.b: (case.plane, case.y)})


Drawn = Callable[[Case], Any]
PICTURES: dict[str, tuple[Drawn, Callable[[Case], list[str]]]] = {  # the picture, and names that stand in it
    "ArcDisplay": (lambda c: bk.TAN().fit(c.plane, c.y).plot(), lambda c: [c.a, c.b]),
    "ComparisonDisplay": (lambda c: compared(c).plot(), lambda c: [c.a, c.b]),
    "ConfusionDisplay": (lambda c: evaluated(c).plot("confusion"), lambda c: [c.no, c.yes]),
    "ContourDisplay": (
        lambda c: plots.ContourDisplay.from_estimator(c.model, c.plane, c.y, resolution=12).plot(),
        lambda c: [c.a, c.b, c.no, c.yes],
    ),
    "CostDisplay": (lambda c: evaluated(c).plot("cost", costs=cost(c), label=c.yes), lambda c: [c.yes]),
    "CptDisplay": (lambda c: c.network.plot_table(c.b), lambda c: [c.level, c.no, c.yes]),
    "DensityDisplay": (
        lambda c: plots.DensityDisplay.from_estimator(c.model, c.plane, c.y, c.a).plot(),
        lambda c: [c.a, c.no, c.yes],
    ),
    "EllipseDisplay": (lambda c: plots.EllipseDisplay.from_data(c.plane, c.y).plot(), lambda c: [c.a, c.no, c.yes]),
    "FoldDisplay": (lambda c: compared(c).plot("folds"), lambda c: [c.a, c.b]),
    "NeighbourDisplay": (
        lambda c: plots.NeighbourDisplay.from_estimator(
            bk.KNNBayes().fit(c.plane, c.y), c.plane, c.y, (1.0, 1.0)
        ).plot(),
        lambda c: [c.a, c.b, c.no, c.yes],
    ),
    "NetworkDisplay": (lambda c: c.network.plot({c.a: c.level}), lambda c: [c.a, c.b, c.no, c.level]),
    "NomogramDisplay": (lambda c: c.mixed.nomogram(c.yes).plot(), lambda c: [c.a, c.b, c.level, c.yes]),
    "PopulationDisplay": (lambda c: populations(c).plot(), lambda c: [c.a, c.b]),
    "BenefitDisplay": (lambda c: evaluated(c).plot("benefit", label=c.yes), lambda c: [c.yes]),
    "CostCurveDisplay": (lambda c: evaluated(c).plot("cost_curve", label=c.yes), lambda c: [c.yes]),
    "RegionDisplay": (
        lambda c: plots.RegionDisplay.from_estimator(c.model, c.plane, c.y, resolution=12).plot(),
        lambda c: [c.a, c.b, c.no, c.yes],
    ),
    "ReliabilityDisplay": (
        lambda c: plots.ReliabilityDisplay.from_predictions(c.y, c.proba, c.classes, label=c.yes).plot(),
        lambda c: [c.yes],
    ),
    "RocDisplay": (lambda c: evaluated(c).plot("roc", label=c.yes), lambda c: [c.yes]),
    "SurfaceDisplay": (
        lambda c: plots.SurfaceDisplay.from_estimator(c.model, c.plane, label=c.yes, resolution=12).plot(),
        lambda c: [c.a, c.b, c.yes],
    ),
    "TornadoDisplay": (
        lambda c: c.network.sensitivity(c.b, c.network.states(c.b)[0]).plot(),
        lambda c: [c.a, c.b],
    ),
    "WaterfallDisplay": (lambda c: c.mixed.explain(c.levels).plot(0, c.no, c.yes), lambda c: [c.a, c.b, c.no, c.yes]),
    "Panels": (lambda c: evaluated(c).plot(), lambda c: [c.no, c.yes]),
    "marginal": (lambda c: c.mixed.marginal(c.a).plot(), lambda c: [c.a, c.level, c.no, c.yes]),
}


def cost(case: Case) -> bk.Costs:
    return bk.Costs({case.no: {case.no: 0, case.yes: 1}, case.yes: {case.no: 5, case.yes: 0}})


def test_every_picture_is_looked_at() -> None:
    assert set(plots.__all__) <= set(PICTURES)


@pytest.mark.parametrize("names", HOSTILE.values(), ids=list(HOSTILE))
@pytest.mark.parametrize("picture", PICTURES)
def test_names_are_drawn_as_they_are(picture: str, names: tuple[str, ...]) -> None:
    case = Case(names)
    draw, expected = PICTURES[picture]
    figure = draw(case).figure_
    figure.set_dpi(30)
    figure.canvas.draw()
    texts = [t for t in figure.findobj(Text) if t.get_text() and t.get_visible()]
    odd = [t for t in texts if set(t.get_text()) & set("$\\_^{")]
    assert not [t.get_text() for t in odd if t.get_parse_math() or t.get_usetex()]
    for name in expected(case):
        assert any(name in t.get_text() for t in texts), f"{name} is not among {[t.get_text() for t in texts]}"


def test_texts_of_others_in_the_same_axes_stay_as_they_are() -> None:
    """Somebody's own title and note may be formulas."""
    _, ax = plt.subplots()
    title, note = ax.set_title("$x^2$", loc="right"), ax.text(0, 0, "$y$")
    case = Case(HOSTILE["TeX"])
    plots.EllipseDisplay.from_data(case.plane, case.y).plot(ax)
    assert title.get_parse_math()
    assert note.get_parse_math()
    assert not ax.xaxis.label.get_parse_math()


@pytest.mark.parametrize("names", HOSTILE.values(), ids=list(HOSTILE))
def test_notebooks_do_not_typeset_tables(names: tuple[str, ...]) -> None:
    case = Case(names)
    for shown in (case.mixed, case.mixed.summary(), case.mixed.explain(case.levels), evaluated(case), case.network):
        page = shown._repr_html_()
        assert page.count("<table") == page.count('<table class="tex2jax_ignore mathjax_ignore"')
        assert repr(shown)
