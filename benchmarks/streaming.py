"""One row at a time: learning and asking, beside river and scikit-learn, in microseconds of processor time.

``python benchmarks/streaming.py`` takes 12 mixed columns (6 numbers, 4 of 5 levels, 2 truth values) and 3 classes.
``predict_proba`` of fitted models is asked for a table of one row: a mapping of lists, an array of objects or numbers.
river and scikit-learn are asked with what they have for such columns: river's MixedNB is none, so numbers go to its
GaussianNB; scikit-learn's GaussianNB gets the 12 columns as one row of numbers. Those not installed are left out.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import bayeskit as bk

ROWS = 20_000


def table(rows: int = ROWS) -> tuple[list[dict[str, Any]], list[int]]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, rows)
    columns: dict[str, list[Any]] = {f"n{j}": rng.normal(y, 1.0).tolist() for j in range(6)}
    columns |= {f"c{j}": np.array(list("abcde"))[(y + rng.integers(0, 3, rows)) % 5].tolist() for j in range(4)}
    columns |= {f"b{j}": (rng.random(rows) < 0.3 + 0.2 * y).tolist() for j in range(2)}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)], y.tolist()


def each(step: Callable[[Any, Any], Any], rows: list[Any], labels: list[int]) -> float:
    """Microseconds of processor time for a row."""
    start = time.process_time()
    for row, label in zip(rows, labels, strict=True):
        step(row, label)
    return (time.process_time() - start) / len(rows) * 1e6


def show(name: str, learn: float, ask: float, both: float) -> None:
    print(f"{name:44s} learn {learn:7.1f} us, predict_proba {ask:7.1f} us, predict then learn {both:7.1f} us")


def single(rows: list[dict[str, Any]], labels: list[int], count: int = 2000) -> None:
    """Tables of one row put to fitted models, least of five rounds in turn."""
    from sklearn.naive_bayes import GaussianNB

    columns = {name: [row[name] for row in rows[:count]] for name in rows[0]}
    objects = np.array([list(row.values()) for row in rows[:count]], dtype=object)
    numbers = np.random.default_rng(1).normal(size=(count, 12))
    label = labels[:count]
    one = {name: values[:1] for name, values in columns.items()}
    naive, by_place = bk.NaiveBayes().fit(columns, label), bk.NaiveBayes().fit(objects, label)
    of_numbers, peer = bk.NaiveBayes().fit(numbers, label), GaussianNB().fit(numbers, label)
    pool = bk.AutoBayes().fit(columns, label)
    asked: dict[str, Callable[[], Any]] = {
        "NaiveBayes, a mapping of lists": lambda: naive.predict_proba(one),
        "NaiveBayes, an array of objects": lambda: by_place.predict_proba(objects[:1]),
        "NaiveBayes, an array of 12 numbers": lambda: of_numbers.predict_proba(numbers[:1]),
        "scikit-learn GaussianNB, an array of 12 numbers": lambda: peer.predict_proba(numbers[:1]),
        f"AutoBayes ({len(pool.members_)} members), a mapping of lists": lambda: pool.predict_proba(one),
    }
    least = dict.fromkeys(asked, np.inf)
    for _ in range(5):
        for name, ask in asked.items():
            start = time.process_time()
            for _ in range(200):
                ask()
            least[name] = min(least[name], (time.process_time() - start) / 200 * 1e6)
    for name, spent in least.items():
        print(f"predict_proba of one row: {name:48s} {spent:7.1f} us")


def main() -> None:
    rows, labels = table()
    half = ROWS // 2
    stream = bk.Stream(bk.NaiveBayes())
    learn = each(stream.learn_one, rows[:half], labels[:half])
    stream.counted()
    ask = each(lambda x, y: stream.predict_proba_one(x), rows[:half], labels[:half])

    def test_then_train(x: Any, y: Any) -> None:
        stream.predict_proba_one(x)
        stream.learn_one(x, y)

    show("bayeskit.Stream(NaiveBayes()), 12 columns", learn, ask, each(test_then_train, rows[half:], labels[half:]))
    model = stream.counted()
    whole = bk.NaiveBayes().fit({name: [row[name] for row in rows] for name in rows[0]}, labels)
    assert model.model_.digest == whole.model_.digest

    single(rows, labels)

    from sklearn.naive_bayes import GaussianNB

    peer = GaussianNB()
    codes = {"a": 0.0, "b": 1.0, "c": 2.0, "d": 3.0, "e": 4.0}
    plain = [np.array([[codes.get(v, v) if isinstance(v, str) else float(v) for v in row.values()]]) for row in rows]
    some = slice(0, 1000)
    peer.partial_fit(plain[0], [0], classes=[0, 1, 2])
    learn = each(lambda x, y: peer.partial_fit(x, [y]), plain[some], labels[some])
    ask = each(lambda x, y: peer.predict_proba(x), plain[some], labels[some])
    show("scikit-learn GaussianNB, 12 numbers", learn, ask, learn + ask)

    if importlib.util.find_spec("river"):
        from river.naive_bayes import GaussianNB as RiverNB

        numbers = [{name: float(v) for name, v in row.items() if not isinstance(v, str)} for row in rows[:5000]]
        other = RiverNB()
        learn = each(other.learn_one, numbers, labels[:5000])
        ask = each(lambda x, y: other.predict_proba_one(x), numbers, labels[:5000])
        show("river GaussianNB, the 8 numbers alone", learn, ask, learn + ask)


if __name__ == "__main__":
    main()
