"""FullBayes of categories, and of categories and numbers together."""

from itertools import product
from math import log

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk
from bayeskit.errors import InputError
from full_reference import FullReference, left_out, log_densities

LEVELS = {"c": list("uvw"), "d": ["no", "yes"]}
SIZES = (3, 2)
KINDS = LEVELS  # all levels declared, so that none is left out with a row


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.choice(levels, n, p=None) for name, levels in LEVELS.items()})
    y = np.where(rng.random(n) < 0.3 + 0.4 * (frame["c"] == "u"), "p", "q")
    return frame, y, rng.choice([0.5, 1.0, 2.25], n)


def counted(frame, y, w):
    """Weights of the cells of each class, by hand."""
    found = {}
    for cell, label, weight in zip(frame.itertuples(index=False, name=None), y, w, strict=True):
        found[label, cell] = found.get((label, cell), 0.0) + weight
    return found


CELLS = pd.DataFrame(list(product(*LEVELS.values())), columns=list(LEVELS))


@pytest.mark.parametrize("alpha", [0.25, 1, 3.5])
def test_a_cell_has_its_share_of_the_rows_and_a_pseudo_count(alpha):
    frame, y, w = data()
    model = bk.FullBayes(kinds=KINDS, smoothing=alpha).fit(frame, y, sample_weight=w)
    count = counted(frame, y, w)
    for k, label in enumerate("pq"):
        whole = w[y == label].sum()
        cells = CELLS.itertuples(index=False, name=None)
        wanted = [(count.get((label, cell), 0) + alpha) / (whole + 6 * alpha) for cell in cells]
        assert np.exp(log_densities(model, CELLS))[:, k] == pytest.approx(wanted, rel=1e-12)


def test_auto_spreads_as_many_rows_and_one_by_the_product_of_the_margins():
    frame, y, w = data(20)
    model = bk.FullBayes(kinds=KINDS, smoothing="auto").fit(frame, y, sample_weight=w)
    count = counted(frame, y, w)
    for column, label in enumerate("pq"):
        mine = y == label
        whole = w[mine].sum()

        def margin(name, level, mine=mine, whole=whole):
            return (w[mine & (frame[name] == level)].sum() + 1) / (whole + len(LEVELS[name]))

        cells = list(CELLS.itertuples(index=False, name=None))
        spread = [(1 + whole) * margin("c", c) * margin("d", d) for c, d in cells]
        wanted = [(count.get((label, k), 0) + more) / (1 + 2 * whole) for k, more in zip(cells, spread, strict=True)]
        assert np.exp(log_densities(model, CELLS))[:, column] == pytest.approx(wanted, rel=1e-12)
        assert sum(wanted) == pytest.approx(1)


def test_cells_never_seen_leave_the_prior_in_force():
    """Every cell of a factorial design occurs once: what is asked about was never seen; columns decide one by one."""
    levels = np.array([(a, b, c) for a in "abcd" for b in "abcd" for c in "abcd"])
    y = np.where(np.arange(64) % 7 < 6, "often", "rarely")
    held = np.arange(64) == 40
    model = bk.FullBayes().fit(levels[~held], y[~held])
    joint = model.predict_joint_log_proba(levels[held])[0]
    for k, label in enumerate(model.classes_):
        mine = levels[~held & (y == label)]
        shares = [((mine[:, j] == levels[40, j]).sum() + 1) / (len(mine) + 4) for j in range(3)]
        wanted = log(len(mine) / 63) + sum(map(log, shares)) + log(len(mine) + 1) - log(2 * len(mine) + 1)
        assert joint[k] == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("smoothing", [0, 1, "auto"])
@pytest.mark.parametrize("hidden", [["c"], ["d"], ["c", "d"]])
def test_a_hole_is_summed_out(smoothing, hidden):
    frame, y, _ = data()
    model = bk.FullBayes(kinds=KINDS, smoothing=smoothing).fit(frame, y)
    every = np.exp(log_densities(model, CELLS))
    for row in range(len(CELLS)):
        asked = CELLS[row : row + 1].copy()
        asked[hidden] = None
        kept = [name for name in LEVELS if name not in hidden]
        same = (CELLS[kept] == CELLS.loc[row, kept]).all(axis=1)
        assert np.exp(log_densities(model, asked))[0] == pytest.approx(every[same].sum(axis=0), rel=1e-12)


def test_a_cell_no_class_has_had_and_no_smoothing():
    """The limit of vanishing smoothing: a over the rows of each class, times the prior."""
    X = pd.DataFrame({"c": list("uuvvuv"), "d": ["no", "no", "yes", "yes", "no", "yes"]})
    model = bk.FullBayes(smoothing=0).fit(X, list("pppqqq"))
    assert model.predict_proba(pd.DataFrame({"c": ["u"], "d": ["yes"]}))[0] == pytest.approx([0.5, 0.5])


def test_a_level_never_seen():
    frame, y, _ = data()
    new = pd.DataFrame({"c": ["mauve"], "d": ["no"]})
    hole = pd.DataFrame({"c": [None], "d": ["no"]})
    ignored = bk.FullBayes().fit(frame, y)
    assert np.array_equal(ignored.predict_proba(new), ignored.predict_proba(hole))
    declared = bk.FullBayes(kinds={"c": [*"uvw", "mauve"], "d": LEVELS["d"]}).fit(frame, y)
    smooth = bk.FullBayes(unseen="smooth").fit(frame, y)
    assert smooth.predict_proba(new) == pytest.approx(declared.predict_proba(new), rel=1e-12)
    with pytest.raises(InputError, match="mauve"):
        bk.FullBayes(unseen="error").fit(frame, y).predict(new)


def test_twenty_columns_of_ten_levels():
    """10^20 cells: only those that occur are kept, and the product of the margins decides among the others."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    X = (rng.integers(0, 10, (2000, 20)) * (1 + y[:, None]) // 2).astype(str)
    model = bk.FullBayes().fit(X[:1500], y[:1500])
    assert model.score(X[1500:], y[1500:]) > 0.9
    levels = [len(set(X[:1500, j])) for j in range(20)]
    for k in range(2):
        mine, other = X[:1500][y[:1500] == k], X[1500]
        shares = [((mine[:, j] == other[j]).sum() + 1) / (len(mine) + levels[j]) for j in range(20)]
        wanted = sum(map(log, shares)) + log(len(mine) + 1) - log(2 * len(mine) + 1)
        assert log_densities(model, X[1500:1501])[0, k] == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("smoothing", [1.0, 0.0, "auto"])
def test_leaving_a_row_out_of_a_table_is_a_refit(smoothing):
    frame, y, w = data(40)
    settings = {"kinds": KINDS, "smoothing": smoothing, "prior": "uniform"}
    found = left_out(bk.FullBayes(**settings), frame, y, w)
    for i in range(40):
        kept = np.arange(40) != i
        less = bk.FullBayes(**settings).fit(frame[kept], y[kept], sample_weight=w[kept])
        assert np.exp(found[i]) == pytest.approx(np.exp(log_densities(less, frame[i : i + 1])[0]), rel=1e-10, abs=1e-15)


# -- numbers in the cells --------------------------------------------------------------------------


def mixed(n=80, seed=1):
    frame, y, w = data(n, seed)
    rng = np.random.default_rng(seed + 10)
    shift = frame["c"].map({"u": 0.0, "v": 1.5, "w": -2.0}).to_numpy() * np.where(y == "p", 1, -1)
    x = rng.normal(size=(n, 2)) @ [[1.0, 0.5], [0.0, 0.7]] + shift[:, None]
    return frame.assign(x=x[:, 0], z=x[:, 1]), y, w


def cells_of(frame):
    return list(frame[["c", "d"]].itertuples(index=False, name=None))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", ["full", "tied", "diagonal"])
def test_numbers_are_normal_about_the_mean_of_their_cell(shape, weighted):
    frame, y, w = mixed()
    w = w if weighted else np.ones(len(y))
    model = bk.FullBayes(kinds=KINDS, covariance=shape).fit(frame, y, sample_weight=w)
    numbers, cells = frame[["x", "z"]].to_numpy(), cells_of(frame)
    theirs = FullReference(numbers, cells, y, w, SIZES, shape)
    wanted = [theirs.log(x, cell) for x, cell in zip(numbers, cells, strict=True)]
    assert log_densities(model, frame) == pytest.approx(np.array(wanted), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("shape", ["full", "tied", "spherical"])
def test_leaving_a_mixed_row_out_moves_cell_class_and_covariance(shape):
    frame, y, w = mixed(40)
    found = left_out(bk.FullBayes(kinds=KINDS, covariance=shape), frame, y, w)
    numbers, cells = frame[["x", "z"]].to_numpy(), cells_of(frame)
    whole = FullReference(numbers, cells, y, w, SIZES, shape)
    for i in range(40):
        kept = np.arange(40) != i
        others = [cell for cell, k in zip(cells, kept, strict=True) if k]
        less = FullReference(numbers[kept], others, y[kept], w[kept], SIZES, shape, held=whole)
        assert found[i] == pytest.approx(less.log(numbers[i], cells[i]), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("smoothing", [0, 1, "auto"])
def test_a_cell_known_in_part_is_a_mixture_over_what_it_may_be(smoothing):
    frame, y, _ = mixed()
    model = bk.FullBayes(kinds=KINDS, smoothing=smoothing).fit(frame, y)
    asked = frame[:8].copy()
    asked["c"] = None
    asked.loc[:2, "d"] = None
    asked.loc[4, "x"] = np.nan
    for i in range(8):
        row = asked[i : i + 1]
        options = [{"c": c, "d": d} for c, d in product(*LEVELS.values()) if d == row["d"].iloc[0] or i <= 2]
        full = pd.concat([row.assign(**option) for option in options])
        wanted = np.exp(log_densities(model, full)).sum(axis=0)
        assert np.exp(log_densities(model, row))[0] == pytest.approx(wanted, rel=1e-10)


def test_terms_of_mixed_columns_add_up():
    frame, y, _ = mixed()
    frame = frame[["x", "c", "z", "d"]]
    model = bk.FullBayes().fit(frame, y)
    shown = model.explain(frame[:5])
    assert shown.terms.sum(axis=1) == pytest.approx(log_densities(model, frame[:5]), rel=1e-10)
    hidden = frame[:5].assign(c=None, z=np.nan, d=None)
    assert shown.terms[:, 0] == pytest.approx(log_densities(model, hidden), rel=1e-10)


@pytest.mark.parametrize("smoothing", [0, 1, "auto"])
def test_two_columns_never_there_together(smoothing):
    """No row is complete, so the table of cells is empty: what smoothing says is left, and it is finite."""
    frame = pd.DataFrame({"c": ["u", "v", None, None], "d": [None, None, "u", "v"], "x": [0.0, 1.0, 2.0, 4.0]})
    asked = pd.DataFrame({"c": ["u", None], "d": ["v", None], "x": [0.5, 0.5]})
    for names in (["c", "d"], ["c", "d", "x"]):
        found = bk.FullBayes(smoothing=smoothing).fit(frame[names], list("pqpq")).predict_proba(asked[names])
        assert np.isfinite(found).all()
        assert found.sum(axis=1) == pytest.approx([1, 1])
