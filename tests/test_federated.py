"""Sites that share model files, never rows: what is merged is the model of all rows, bit for bit."""

import pandas as pd
import pytest

import bayeskit as bk
from bayeskit.errors import MergeError
from portable_cases import table

COLOURS = ["red", "o'hara", 'say "hi"', "back\\slash", "-- drop", "ünï"]


def site(rows, y, path):
    """What each site does: the same settings, its own rows; only the file leaves it."""
    model = bk.NaiveBayes(kinds={"colour": bk.Nominal(COLOURS), "visits": "count"}, families={"visits": "Poisson"})
    model.fit(rows, y).save(path)


def test_merged_files_are_the_model_of_all_rows(tmp_path):
    frame, y = table(240)
    rows = frame[["age", "visits", "colour", "flag"]]
    parts = [slice(0, 30), slice(30, 31), slice(31, 240)]  # a site with one row too
    for i, part in enumerate(parts):
        site(rows[part], y[part], tmp_path / f"site{i}.bayes")
    merged = bk.merge([bk.load(tmp_path / f"site{i}.bayes") for i in (2, 0, 1)])
    site(rows, y, tmp_path / "all.bayes")
    assert merged.model_.digest == bk.load(tmp_path / "all.bayes").model_.digest
    left = merged.forget(rows[parts[0]], y[parts[0]])  # a site that leaves
    others = pd.concat([rows[parts[1]], rows[parts[2]]])
    site(others, y[30:], tmp_path / "others.bayes")
    assert left.model_.digest == bk.load(tmp_path / "others.bayes").model_.digest


def test_sites_that_count_different_things_are_refused(tmp_path):
    frame, y = table(60)
    one = bk.NaiveBayes().fit(frame[["age"]], y)
    with pytest.raises(MergeError):
        bk.merge([one, bk.NaiveBayes(families="Kernel").fit(frame[["age"]], y)])
    with pytest.raises(MergeError):
        bk.merge([one, bk.NaiveBayes().fit(frame[["height"]], y)])
