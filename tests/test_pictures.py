"""Every picture is drawn, and not blank; hard tables stay readable or are refused by name."""

import runpy
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt

import bayeskit as bk
from bayeskit import plots
from bayeskit.errors import InputError

EXAMPLES = Path(__file__).parent.parent / "examples"
RNG = np.random.default_rng(0)
PLANE = np.concatenate([RNG.normal(0, 1, (30, 2)), RNG.normal(2, 1, (30, 2))])
LABELS = np.repeat(["a", "b"], 30)
LONG = "label " * 50


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def inked(figure):
    """Whether anything stands on the paper, and all texts on it stand inside."""
    figure.set_dpi(40)
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[:, :, :3]
    return len(np.unique(pixels.reshape(-1, 3), axis=0)) > 8


def many_classes():
    return RNG.normal(np.repeat(np.arange(60), 3)[:, None], 0.3, (180, 2)), np.repeat(
        [f"class {i}" for i in range(60)], 3
    )


DRAWN = {
    "contours": lambda m, X, y: plots.ContourDisplay.from_estimator(m, X, y, resolution=30),
    "regions": lambda m, X, y: plots.RegionDisplay.from_estimator(m, X, y, resolution=30),
    "surface": lambda m, X, y: plots.SurfaceDisplay.from_estimator(m, X, y, resolution=30),
    "ellipses": lambda m, X, y: plots.EllipseDisplay.from_data(X, y),
    "density": lambda m, X, y: plots.DensityDisplay.from_estimator(m, X, y, 0),
    "confusion": lambda m, X, y: plots.ConfusionDisplay.from_estimator(m, X, y),
    "roc": lambda m, X, y: plots.RocDisplay.from_estimator(m, X, y),
    "reliability": lambda m, X, y: plots.ReliabilityDisplay.from_estimator(m, X, y),
}


@pytest.mark.parametrize("name", DRAWN)
def test_displays_are_drawn(name):
    display = DRAWN[name](bk.NaiveBayes().fit(PLANE, LABELS), PLANE, LABELS).plot()
    assert inked(display.figure_)
    assert display.ax_.figure is display.figure_


@pytest.mark.parametrize("name", DRAWN)
def test_sixty_classes_are_drawn(name):
    X, y = many_classes()
    assert inked(DRAWN[name](bk.NaiveBayes().fit(X, y), X, y).plot().figure_)


@pytest.mark.parametrize("name", DRAWN)
def test_labels_of_three_hundred_letters_leave_room_for_the_picture(name):
    y = np.where(LABELS == "a", LONG + "1", LONG + "2")
    display = DRAWN[name](bk.NaiveBayes().fit(PLANE, y), PLANE, y).plot()
    assert inked(display.figure_)
    assert display.ax_.get_position().width > 0.35


def test_a_picture_goes_where_it_is_asked_to():
    _, ax = plt.subplots()
    assert plots.EllipseDisplay.from_data(PLANE, LABELS).plot(ax).ax_ is ax


def test_an_explanation_and_a_nomogram_are_drawn():
    model = bk.NaiveBayes().fit({"x": PLANE[:, 0], "t": ["u", "v", "w"] * 20}, LABELS)
    assert inked(model.explain({"x": [1.0], "t": [None]}).plot().figure_)
    assert inked(model.nomogram("a").plot().figure_)
    assert inked(model.marginal("t").plot().figure_)


def test_many_columns_are_folded_in_a_waterfall():
    model = bk.NaiveBayes().fit(RNG.normal(size=(40, 50)), [0, 1] * 20)
    shown = model.explain(RNG.normal(size=(1, 50))).plot(most=5).frame().to_pydict()
    assert shown["part"][-1] == "45 others"
    assert len(shown["part"]) == 7


def test_a_certain_decision_is_drawn():
    model = bk.NaiveBayes(smoothing=0).fit({"a": ["x", "y"] * 3}, ["p", "q"] * 3)
    assert inked(model.explain({"a": ["x"]}).plot().figure_)


def test_a_column_without_a_value_is_refused_by_name():
    X = {"a": PLANE[:, 0], "b": [None] * 60}
    model = bk.NaiveBayes().fit(X, LABELS)
    with pytest.raises(InputError, match="'b'"):
        plots.RegionDisplay.from_estimator(model, X, LABELS)
    with pytest.raises(InputError, match="'b'"):
        model.marginal("b")


def test_one_row_is_drawn():
    with pytest.warns(UserWarning, match="one class"):
        model = bk.NaiveBayes().fit([[1.0, 2.0]], ["a"])
    assert inked(plots.RegionDisplay.from_estimator(model, [[1.0, 2.0]], ["a"], resolution=5).plot().figure_)
    assert inked(plots.ConfusionDisplay.from_predictions(["a"], ["a"]).plot().figure_)


def test_a_network_is_drawn():
    net = bk.Network([("a", "b"), ("a", LONG)], states={"a": [1, 2]})
    assert inked(net.plot().figure_)
    net.fit({"a": [1, 2, 1], "b": list("xyz"), LONG: list("ppq")})
    assert inked(net.plot({"b": "x"}).figure_)


def test_import_of_displays_leaves_matplotlib_alone():
    import subprocess

    code = "import sys, bayeskit as bk; bk.plots.RocDisplay; bk.NaiveBayes; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


SCRIPTS = sorted(p.stem for p in EXAMPLES.glob("*.py") if p.stem not in ("iris", "output"))


@pytest.mark.parametrize(
    "script",
    [pytest.param(name, marks=pytest.mark.slow) if name == "overview" else name for name in SCRIPTS],  # ten pools
)
def test_examples_write_their_picture(script, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", [script, str(tmp_path / "out.png")])
    monkeypatch.syspath_prepend(str(EXAMPLES))
    for name in ("iris", "output"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    runpy.run_path(str(EXAMPLES / f"{script}.py"), run_name="__main__")
    assert (tmp_path / "out.png").stat().st_size > 5000
