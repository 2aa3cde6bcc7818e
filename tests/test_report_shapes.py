"""Pages of tables of many shapes in a real browser: no error, nothing too wide, everything named and legible."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression

import bayeskit as bk
from browser import AUDIT, Panel, chromium


def levels(n=240):
    """Quotes, commas, markup and long names among columns and levels."""
    rng = np.random.default_rng(0)
    y = rng.choice(['"yes"', "it's no", "<maybe>"], n)
    given = {"a, b": np.where(y == '"yes"', "x, y", 'z "quoted"'), "it's": rng.choice(["<i>", "&amp;", "'"], n)}
    return pd.DataFrame(given | {"n" * 80: rng.normal(size=n), "w": rng.choice(["l" * 90, "m" * 90], n)}), y


def holes(n=300):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, n)
    table = pd.DataFrame({f"c{j}": rng.normal(y * (j < 3), 1) for j in range(12)})
    return table.mask(rng.random(table.shape) < 0.6), np.where(y, "ill", "well")


def rare(n=900):
    rng = np.random.default_rng(2)
    y = rng.random(n) < 0.03
    return pd.DataFrame({"x": rng.normal(2 * y, 1), "g": rng.choice(["a", "b"], n)}), np.where(y, "fraud", "fine")


def letters(n=520):
    rng = np.random.default_rng(3)
    k = np.arange(n) % 26
    return pd.DataFrame({f"f{j}": rng.normal(k % (j + 2), 1) for j in range(8)}), np.array(
        [*"ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
    )[k]


def wide(columns, n=150):
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, columns))
    X[:, :5] += y[:, None]
    return pd.DataFrame(X, columns=[f"sensor_{j:04d}" for j in range(columns)]), y


def few():
    return pd.DataFrame({"a": ["u", "v"] * 6, "b": np.arange(12.0)}), np.array(["p", "q", "p", "p"] * 3)


def noise(n=200):
    rng = np.random.default_rng(5)
    return pd.DataFrame({"x": rng.normal(size=n), "z": rng.choice(["a", "b"], n)}), rng.choice(["u", "v"], n)


SHAPES = {
    "few rows": (bk.NaiveBayes(), few, {}),
    "iris": (bk.FullBayes(), lambda: load_iris(return_X_y=True, as_frame=True), {}),
    "quotes": (bk.TAN(), levels, {"by": ["it's", "w"]}),
    "many missing": (bk.AutoBayes(max_candidates=3), holes, {}),
    "rare class": (bk.NaiveBayes(), rare, {"by": "g"}),
    "26 classes": (bk.NaiveBayes(), letters, {}),
    "279 columns": (bk.AutoBayes(max_candidates=2), lambda: wide(279), {}),
    "2,000 columns": (bk.NaiveBayes(), lambda: wide(2000, 60), {}),
    "wine": (bk.AODE(), lambda: load_wine(return_X_y=True, as_frame=True), {}),
    "breast cancer": (
        bk.KNNBayes(k=15),
        lambda: load_breast_cancer(return_X_y=True, as_frame=True),
        {"by": "mean radius"},
    ),
    "digits": (LogisticRegression(max_iter=50), lambda: load_digits(return_X_y=True, as_frame=True), {}),
    "nothing to learn": (bk.NaiveBayes(), noise, {"costs": {"u": {"u": 0, "v": 5}, "v": {"u": 1, "v": 0}}}),
}
QUICK = ("quotes", "rare class")


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shape", [pytest.param(s, marks=() if s in QUICK else pytest.mark.slow) for s in SHAPES])
def test_pages_of_all_shapes_are_sound(browser, tmp_path, shape):
    model, table, settings = SHAPES[shape]
    evaluation = bk.evaluate(model, *table(), bk.CrossValidation(3), **settings)
    page = bk.report(evaluation, tmp_path / "page.html")
    assert page.stat().st_size < 3_000_000
    for width, scheme in ((1280, "light"), (390, "dark")):
        panel = Panel(browser, page, width, scheme)
        assert panel.page.evaluate("document.documentElement.scrollWidth") <= width
        assert panel.page.evaluate(AUDIT) == []
        texts = panel.page.inner_text("body")
        assert not [word for word in ("nan", "NaN", "undefined", "None") if f" {word} " in texts]
        assert panel.complaints == []
        panel.page.close()
    panel = Panel(browser, page, 680)
    panel.page.emulate_media(media="print")
    assert panel.page.evaluate("document.documentElement.scrollWidth") <= 680
    panel.page.close()
