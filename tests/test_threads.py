"""Python threads that share models and tables: every answer has the bits it has alone, no call sees half a change."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk

THREADS = 6
RNG = np.random.default_rng(5)
Y = RNG.integers(0, 3, 3000)
TABLE = pd.DataFrame({
    "n": RNG.normal(Y, 1.0), "g": RNG.gamma(2.0 + Y), "c": np.array(list("abcde"))[(Y + RNG.integers(0, 3, 3000)) % 5],
    "b": RNG.random(3000) < 0.3 + 0.2 * Y,
})  # fmt: skip
TABLE.loc[::17, ["n", "c"]] = None
MODELS = {
    "naive": lambda: bk.NaiveBayes(),
    "kernels": lambda: bk.NaiveBayes(families={"n": "Kernel", "g": "Histogram"}),
    "choice": lambda: bk.NaiveBayes(families="auto"),
    "full": lambda: bk.FullBayes(),
    "tan": lambda: bk.TAN(),
    "aode": lambda: bk.AODE(),
    "neighbours": lambda: bk.KNNBayes(metric="gower", max_rows=500),
    "forest": lambda: bk.ProbabilityForest(trees=5, random_state=0),
}


def at_once(step):
    """What a step gives in each of several threads that begin together."""
    gate = Barrier(THREADS)

    def run(i):
        gate.wait()
        return step(i)

    with ThreadPoolExecutor(THREADS) as pool:
        return [task.result() for task in [pool.submit(run, i) for i in range(THREADS)]]


@pytest.mark.parametrize("name", MODELS)
def test_threads_that_fit_and_ask_get_the_bits_of_one(name):
    alone = MODELS[name]().fit(TABLE, Y)
    wanted = alone.predict_proba(TABLE)
    shared = MODELS[name]().fit(TABLE, Y)  # what it derives from its counts is first asked for by all at once
    for found in at_once(lambda i: (shared.predict_proba(TABLE), MODELS[name]().fit(TABLE, Y).model_.digest)):
        np.testing.assert_array_equal(found[0], wanted)
        assert found[1] == alone.model_.digest


def test_a_model_that_learns_is_asked_meanwhile():
    """Those who ask see the model before a batch or after it, never between."""
    parts = np.array_split(np.arange(len(Y)), 20)
    states, model = [], bk.NaiveBayes().fit(TABLE.loc[parts[0]], Y[parts[0]])
    states.append(model.predict_proba(TABLE[:50]))
    for part in parts[1:]:
        model.partial_fit(TABLE.loc[part], Y[part])
        states.append(model.predict_proba(TABLE[:50]))
    shared = bk.NaiveBayes().fit(TABLE.loc[parts[0]], Y[parts[0]])

    def step(i):
        if i:
            return [shared.predict_proba(TABLE[:50]) for _ in range(15)]
        for part in parts[1:]:
            shared.partial_fit(TABLE.loc[part], Y[part])
        return []

    for asked in at_once(step):
        for found in asked:
            assert any(np.array_equal(found, state) for state in states)
    assert shared.model_.digest == model.model_.digest == bk.NaiveBayes().fit(TABLE, Y).model_.digest


def test_parts_learned_by_threads_are_merged_to_the_whole():
    parts = np.array_split(np.arange(len(Y)), THREADS)
    made = at_once(lambda i: bk.NaiveBayes().fit(TABLE.loc[parts[i]], Y[parts[i]]))
    assert bk.merge(made).model_.digest == bk.NaiveBayes().fit(TABLE, Y).model_.digest
