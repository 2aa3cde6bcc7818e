"""Every score has a reference from outside, keeps its limits and its direction, and is shown wherever scores are."""

from dataclasses import replace

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.evaluation.decisions import DecisionCosts
from bayeskit.evaluation.measures import Measures
from bayeskit.evaluation.out_of_fold import OutOfFold, Repeat
from bayeskit.evaluation.score import TOPICS, PredictedRows
from bayeskit.evaluation.score_sums import ScoreSums
from bayeskit.evaluation.scores import SCORES, TABLE_SCORES
from bayeskit.model.labelled_table import Rows

from .references import scores as references
from .references.scores import Judged

FOLDS = 3


def judged(classes, weighted, ties=False, own=False):
    """Rows whose probabilities know something of the class; ``own``: the model does not name the most probable one."""
    rng = np.random.default_rng(classes)
    n = 240
    true = rng.integers(0, classes, n)
    p = rng.dirichlet(np.ones(classes), n) + 0.7 * np.eye(classes)[true]
    p = np.round(p, 1) + 0.1 if ties else p
    p = p / p.sum(axis=1, keepdims=True)
    w = rng.integers(1, 5, n) / 2 if weighted else np.ones(n)
    done = (p * rng.uniform(0.2, 1, classes)).argmax(axis=1) if own else p.argmax(axis=1)
    costs = 4 * rng.uniform(size=(classes, classes)) * (1 - np.eye(classes))
    return Judged(true, done, p, w, np.arange(n) % FOLDS, costs, 0.6)


def measures(rows):
    costs = DecisionCosts(rows.costs, rows.reject)
    sums = ScoreSums.of(PredictedRows(rows.true, rows.p, rows.w, rows.done, costs), rows.fold, FOLDS)
    known = Rows(rows.true, rows.w, np.arange(rows.p.shape[1]))
    kept = OutOfFold(known, (Repeat(rows.p, rows.fold, rows.done),))
    return Measures(sums, 1, 1 / (FOLDS - 1), kept, decision_costs=costs)


CASES = {
    "two classes": judged(2, False),
    "weights": judged(2, True),
    "four classes, weights": judged(4, True),
    "ties": judged(3, True, ties=True),
    "own decisions": judged(3, False, own=True),
}


@pytest.mark.parametrize("name", SCORES)
def test_a_score_has_a_value_from_outside(name):
    reference = getattr(references, name, None)
    assert reference is not None, f"tests/laws/references/scores.py has no {name}(rows): give its value from outside"
    for what, rows in CASES.items():
        assert measures(rows).value(name) == pytest.approx(reference(rows), abs=1e-10), what


@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
def test_a_score_says_what_it_is(score):
    assert score.topic in TOPICS
    assert score.name
    assert score.title
    assert score.meaning
    assert score.limits[0] < score.limits[1]


@pytest.mark.parametrize("name", SCORES)
def test_values_and_intervals_keep_the_limits(name):
    low, high = SCORES[name].limits
    for what, rows in CASES.items():
        found = measures(rows)
        for grouped in (False, True):
            interval = replace(found, grouped=grouped).interval(name)
            if not np.isnan(interval.low):
                assert low <= interval.low <= found.value(name) <= interval.high <= high, what
        assert len(found.by_fold(name)) == FOLDS
        assert (found.by_fold(name) >= low).all()
        assert (found.by_fold(name) <= high).all()


TABLES = {  # true class by action; the classes come first among the actions
    "no row at all": np.zeros((3, 3)),
    "a class without rows": np.array([[5.0, 1.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 0.0]]),
    "a class never named": np.array([[5.0, 0.0, 1.0], [2.0, 0.0, 3.0], [0.0, 0.0, 4.0]]),
    "rows of one class": np.array([[5.0, 1.0], [0.0, 0.0]]),
    "an action that is no class": np.array([[5.0, 1.0, 2.0], [2.0, 4.0, 1.0]]),
    "nothing but such an action": np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 1.0]]),
}


@pytest.mark.parametrize("name", TABLE_SCORES)
@pytest.mark.parametrize("what", TABLES)
def test_a_function_of_the_confusion_takes_any_table(name, what):
    """One or many at a time: within the limits, or NaN where nothing can be said (``ratio`` of numerics/rates.py)."""
    low, high = SCORES[name].limits
    with np.errstate(all="raise"):
        one = np.asarray(TABLE_SCORES[name].of_tables(TABLES[what]))
        many = TABLE_SCORES[name].of_tables(np.stack([TABLES[what], TABLES[what] + 1]))
    assert one.shape == ()
    assert many.shape == (2,)
    assert np.isnan(one) or low <= one <= high
    np.testing.assert_array_equal(many[0], one)


@pytest.mark.parametrize("name", SCORES)
def test_direction(name):
    """Knowing the class is no worse than guessing it: the same rows with the truth and with shuffled probabilities."""
    rows = CASES["four classes, weights"]
    sure = np.where(np.eye(4)[rows.true] > 0, 1 - 3e-9, 1e-9)
    mixed = np.random.default_rng(0).permutation(rows.p)
    best, worst = (measures(replace(rows, p=p, done=p.argmax(axis=1))).value(name) for p in (sure, mixed))
    if SCORES[name].ideal is None:
        assert best > worst if SCORES[name].larger_is_better else best < worst, (
            "larger_is_better is the other way round"
        )
        return
    drawn = np.array([np.random.default_rng(i).choice(4, p=p) for i, p in enumerate(rows.p)])
    tilted = rows.p ** [3, 3, 3, 1]
    tilted /= tilted.sum(axis=1, keepdims=True)
    right, sure = (SCORES[name].loss(measures(replace(rows, true=drawn, p=p)).value(name)) for p in (rows.p, tilted))
    assert right < sure, "its ideal is another"


def test_every_score_is_shown_wherever_scores_are(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = rng.normal(y[:, None], 1.0, (60, 2))
    arguments = {"costs": [[0, 1], [2, 0]], "reject": 0.4}
    found = bk.evaluate(bk.NaiveBayes(), X, y, bk.CrossValidation(3), **arguments)
    assert found.measures.names == tuple(SCORES)
    assert found.frame("pyarrow")["measure"].to_pylist() == list(SCORES)
    page = tmp_path / "page.html"
    bk.report(found, page)
    html, text = page.read_text(encoding="utf-8"), str(found)
    compared = bk.compare({"a": bk.NaiveBayes(), "b": bk.FullBayes()}, X, y, bk.CrossValidation(3), **arguments)
    for name, score in SCORES.items():
        assert getattr(found, name) == found.value(name)
        assert name.replace("_", " ") in html
        assert not score.headline or (score.title in html and name.replace("_", " ") in text)
        assert not score.headline or name in compared.frame("pyarrow").column_names
        assert replace(compared, by=name).ranking
