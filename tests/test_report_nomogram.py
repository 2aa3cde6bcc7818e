"""The nomogram on the page: its figures are the model's, and whoever adds up its points by hand gets the posterior."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

import bayeskit as bk

TICK = re.compile(r'<text x="([\d.]+)" y="(\d+)" text-anchor="middle">([^<]*)</text>')
NAME = re.compile(r'<text class="axis" x="0" y="(\d+)">([^<]*)</text>')
HOLE = re.compile(r'<circle class="unknown" cx="([\d.]+)" cy="(\d+)"')


def patients(n=600):
    rng = np.random.default_rng(7)
    ill = rng.random(n) < 0.35
    X = pd.DataFrame(
        {
            "cough": np.where(rng.random(n) < 0.3 + 0.4 * ill, "wet", "dry"),
            "region": np.array(["north", "south", "west"])[(ill + rng.choice(3, n, p=[0.6, 0.3, 0.1])) % 3],
            "smoker": np.where(rng.random(n) < 0.2 + 0.3 * ill, "yes", "no"),
            "steps": rng.poisson(np.where(ill, 3.0, 5.0)),
        }
    )
    X.loc[rng.random(n) < 0.1, "cough"] = None
    return X, np.where(ill, "ill", "well")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """The model, and by line of the page its marks: label to place."""
    X, y = patients()
    found = bk.evaluate(bk.NaiveBayes(families={"steps": bk.families.Poisson()}), X, y, bk.CrossValidation(3))
    page = bk.report(found, tmp_path_factory.mktemp("page") / "p.html", interest="ill").read_text(encoding="utf-8")
    svg = page[page.index('aria-label="Nomogram of P(ill)') :]
    svg = svg[: svg.index("</svg>")]
    lines = {int(y) - 4: name for y, name in NAME.findall(svg)}
    marks = {name: {} for name in lines.values()}
    for x, y, label in TICK.findall(svg):
        line = next(line for line in lines if int(y) in (line - 9, line + 17))
        marks[lines[line]][label] = float(x)
    holes = {lines[int(y)]: float(x) for x, y in HOLE.findall(svg)}
    return found.model, X, marks, holes


def scale(marks):
    """Place to value on a line whose marks are numbers."""
    places, values = np.array(list(marks.values())), np.array([float(label) for label in marks])
    return lambda x: np.interp(x, places, values)


def test_the_points_on_the_page_are_those_of_the_model(drawn):
    model, _, marks, holes = drawn
    points = scale(marks["points"])
    chart = {s.name: s for s in model.nomogram("ill", "well").scales}
    assert set(chart) == {"cough", "region", "smoker", "steps"} <= set(marks)
    for name, one in chart.items():
        assert len(marks[name]) >= 2
        for label, x in marks[name].items():
            if one.numeric:
                wanted = np.interp(float(label), np.asarray(one.values, dtype=float), one.points)
            else:
                wanted = one.points[[str(v) for v in one.values].index(label)]
            assert points(x) == pytest.approx(wanted, abs=0.05)
        assert points(holes[name]) == pytest.approx(one.missing, abs=0.05)


def test_added_up_by_hand_they_give_the_posterior(drawn):
    model, X, marks, holes = drawn
    points, total = scale(marks["points"]), marks["total points"]
    chances = marks["P(ill)"]
    odds = logit([float(p) for p in chances])
    place = np.polyfit([float(t) for t in total], list(total.values()), 1)  # the totals stand evenly
    worth = np.polyfit(list(chances.values()), odds, 1)  # and so do log-odds
    np.testing.assert_allclose(np.polyval(worth, list(chances.values())), odds, atol=0.01)
    drawable = [str(v) for v in range(20) if str(v) in marks["steps"]]
    compared = 0
    for _, row in X.head(60).iterrows():
        if str(row["steps"]) not in drawable:
            continue
        values = {name: None if pd.isna(v) else str(v) for name, v in row.items()}
        places = [holes[name] if value is None else marks[name][value] for name, value in values.items()]
        summed = sum(float(points(x)) for x in places)
        read = expit(np.polyval(worth, np.polyval(place, summed)))
        true = model.predict_proba(pd.DataFrame([row]))[0][model.classes_.tolist().index("ill")]
        assert read == pytest.approx(true, abs=0.004)
        compared += 1
    assert compared >= 20


def test_every_level_is_named_where_they_say_nearly_the_same(tmp_path):
    rng = np.random.default_rng(1)
    X, y = patients()
    X["place"] = rng.choice(["Hanover", "Heilbronn", "Hamburg", "Halle"], len(y))
    found = bk.evaluate(bk.NaiveBayes(), X[["cough", "smoker", "place"]], y, bk.CrossValidation(3))
    page = bk.report(found, tmp_path / "p.html").read_text(encoding="utf-8")
    svg = page[page.index('aria-label="Nomogram of') :]
    names = ", ".join(label for _, _, label in TICK.findall(svg[: svg.index("</svg>")]))
    assert {"Hanover", "Heilbronn", "Hamburg", "Halle"} <= set(names.split(", "))
