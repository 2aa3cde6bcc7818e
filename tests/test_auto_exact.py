"""AutoBayes(exact=True): batches, forgetting, merging and files give the pool of one fit, bit for bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk
from bayeskit.errors import InputError, MergeError

NEW = pd.DataFrame({"x": [0.1, None, 2.5], "size": ["low", None, "high"], "town": ["a", "b", "z"]})


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(8)
    y = rng.choice(["no", "yes"], 160)
    there = y == "yes"
    size = pd.Categorical(np.where(rng.random(160) < 0.3 + 0.4 * there, "high", "low"), ["low", "middle", "high"], True)
    X = pd.DataFrame({"x": rng.normal(there, 1.0).round(2), "size": size, "town": rng.choice(list("abc"), 160)})
    X.loc[::9, "x"] = np.nan
    return X, y


def pool(**settings: Any) -> bk.AutoBayes:
    return bk.AutoBayes(exact=True, max_candidates=4, **settings)


def content(model: bk.AutoBayes) -> list[Any]:
    """All that a pool is."""
    members = [(m.name, m.classifier.model_.digest) for m in model.members_]
    numbers = [getattr(model.pool_, n).tolist() for n in ("weight", "bias", "gain")]
    return [model.reader_.model_.digest, members, numbers, model.ensemble_.rows.digest]


def test_batches_forgetting_and_merging_are_one_fit(table: tuple[pd.DataFrame, np.ndarray], tmp_path: Path) -> None:
    X, y = table
    first, second = (X[:100], y[:100]), (X[100:], y[100:])
    whole, part = pool().fit(X, y), pool().fit(*first)
    assert content(whole) != content(part)
    assert content(pool().fit(*first).partial_fit(*second)) == content(whole)
    assert content(pool().fit(X, y).forget(*second)) == content(part)
    assert content(part.merge(pool().fit(*second))) == content(whole)
    order = np.random.default_rng(0).permutation(len(y))
    assert content(pool().fit(X.iloc[order], y[order])) == content(whole)
    whole.save(tmp_path / "pool.bayes")
    again = bk.load(tmp_path / "pool.bayes")
    assert content(again) == content(whole)
    assert content(again.forget(*second)) == content(part)
    assert (whole.exact_.held, whole.exact_.forgetting) == ((), True)
    np.testing.assert_array_equal(again.predict_proba(NEW), part.predict_proba(NEW))


def test_it_is_the_pool_of_the_same_rows(table: tuple[pd.DataFrame, np.ndarray]) -> None:
    """Kinds, orders and levels declared survive the keeping of rows."""
    X, y = table
    kept, plain = pool().fit(X, y), bk.AutoBayes(max_candidates=4).fit(X, y)
    assert kept.reader_.model_.digest == plain.reader_.model_.digest
    np.testing.assert_allclose(kept.predict_proba(NEW), plain.predict_proba(NEW), atol=1e-9)
    matrix = X[["x"]].to_numpy()
    both = [m.fit(matrix, y).predict_proba(matrix) for m in (pool(), bk.AutoBayes(max_candidates=4))]
    np.testing.assert_allclose(*both, atol=1e-9)


def test_what_does_not_go_together_is_refused(table: tuple[pd.DataFrame, np.ndarray]) -> None:
    X, y = table
    with pytest.raises(MergeError, match="exact=True"):
        pool().fit(X, y).merge(bk.AutoBayes(max_candidates=4).fit(X, y))
    with pytest.raises(InputError, match="max_candidates"):
        pool(time_budget=3.0).fit(X, y)
    with pytest.raises(InputError, match="keep the rows"):
        bk.AutoBayes(exact="yes").fit(X, y)


def test_the_shell_updates_and_forgets_exactly_and_says_that_the_file_holds_rows(
    table: tuple[pd.DataFrame, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    from bayeskit.cli.app import main

    X, y = table
    monkeypatch.chdir(tmp_path)
    rows = X.assign(size=X["size"].astype(str), answer=y)
    for name, some in (("a", rows[:100]), ("b", rows[100:])):
        some.to_csv(f"{name}.csv", index=False)

    def run(*words: str) -> str:
        monkeypatch.setattr("sys.argv", ["bayeskit", *words])
        with pytest.raises(SystemExit) as left:
            main()
        found = capsys.readouterr()
        assert not left.value.code, found.err
        return str(found.out)

    run("fit", "a.csv", "-t", "answer", "-m", "auto", "--set", "exact=true,max_candidates=3", "-o", "m.bayes", "-q")
    before = content(bk.load("m.bayes"))
    run("update", "m.bayes", "b.csv", "-q")
    assert content(bk.load("m.bayes")) != before
    run("forget", "m.bayes", "b.csv", "-q")
    assert content(bk.load("m.bayes")) == before
    told = json.loads(run("inspect", "m.bayes", "--json"))
    assert told["exact"] == {"held": [], "lost": [], "rows_kept": True}
    assert [e["operation"] for e in told["journal"]] == ["fit", "update", "forget"]
    assert "holds the rows" in run("inspect", "m.bayes")
