"""Golden files: what was saved once loads for ever, and says what it said."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.estimators.wrapper import core
from bayeskit.model.codec import registry
from bayeskit.storage import container, identifiers

from .cases import NUMBERS, table

HERE = Path(__file__).parent
EXPECTED = {folder.name: json.loads((folder / "expected.json").read_text()) for folder in HERE.glob("format*")}
FILES = [(folder, name) for folder, told in sorted(EXPECTED.items()) for name in sorted(told)]

# Where a rule of the statistics was changed on purpose after a format's files were cut, their posteriors may differ.
SHRINKAGE = "covariances shrink toward the diagonal on the scale of their class, no longer of all classes"
CHOICE = 'families="auto" weighs a column by how probable it is that it depends on the class'
CHANGED = {
    ("format1", "auto"): CHOICE,
    ("format1", "autobayes"): f"{CHOICE}; {SHRINKAGE}",
    ("format1", "full"): SHRINKAGE,
    ("format1", "full_diagonal"): "a diagonal is not shrunk",
    ("format1", "full_pooled"): SHRINKAGE,
}

pytestmark = pytest.mark.filterwarnings("ignore")


def posteriors(model: Any, told: dict[str, Any]) -> Any:
    """What the model of a golden file says of the rows that are kept with it."""
    return list(model.query(told["node"]).values()) if "node" in told else model.predict_proba(told["rows"])


@pytest.mark.parametrize(("folder", "name"), FILES)
def test_a_golden_file_loads_and_says_what_it_said(folder: str, name: str) -> None:
    model, told = bk.load(HERE / folder / f"{name}.bayes"), EXPECTED[folder][name]
    found = np.asarray(posteriors(model, told))
    assert found.shape == np.shape(told["proba"])
    assert np.isfinite(found).all()
    if "classes" in told:
        assert model.classes_.tolist() == told["classes"]
    if (folder, name) not in CHANGED:
        np.testing.assert_allclose(found, told["proba"], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", sorted(EXPECTED[f"format{container.FORMAT}"]))
def test_a_golden_file_of_this_format_has_its_digest_and_its_bytes(name: str, tmp_path: Path) -> None:
    file = HERE / f"format{container.FORMAT}" / f"{name}.bayes"
    model = bk.load(file)
    assert digest(model) == EXPECTED[f"format{container.FORMAT}"][name]["digest"]
    model.save(tmp_path / "again.bayes")
    assert (tmp_path / "again.bayes").read_bytes() == file.read_bytes()


def digest(model: Any) -> str:
    if isinstance(model, bk.Network):
        return model.digest
    return core(model).model_.digest


def test_golden_files_hold_every_value_class() -> None:
    files = (HERE / f"format{container.FORMAT}").glob("*.bayes")
    held = b"".join(file.read_bytes() for file in files)
    lacking = [name for name in registry() if rb"\"" + name.encode() + rb"\"" not in held]
    assert not lacking, "give tests/golden/cases.py a model with them (families have one), and run tests/golden/make.py"


@pytest.mark.parametrize("name", sorted(EXPECTED["format1"]))
def test_a_file_of_format_1_saved_again_is_of_this_format(name: str, tmp_path: Path) -> None:
    bk.load(HERE / "format1" / f"{name}.bayes").save(tmp_path / "new.bayes")
    model, told = bk.load(tmp_path / "new.bayes"), EXPECTED["format1"][name]
    if ("format1", name) not in CHANGED:
        np.testing.assert_allclose(posteriors(model, told), told["proba"], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "settings", "columns"),
    [
        ("full_diagonal", {"covariance": "diagonal"}, (*NUMBERS, "colour")),
        ("full_spherical", {"covariance": "spherical", "shrinkage": None}, NUMBERS),
    ],
)
def test_variances_of_format_1_are_those_of_a_fit(name: str, settings: Any, columns: tuple[str, ...]) -> None:
    """They were counted as products of every two columns, and go on learning as what is counted now."""
    old, data = bk.load(HERE / "format1" / f"{name}.bayes"), table()
    rows, y = {column: data[column] for column in columns}, data["class"]
    assert old.model_.digest == bk.FullBayes(**settings).fit(rows, y).model_.digest
    twice = bk.FullBayes(**settings).fit({n: v * 2 for n, v in rows.items()}, y * 2)
    assert old.partial_fit(rows, y).model_.digest == twice.model_.digest


def test_golden_files_name_no_python_class() -> None:
    classes = {kind.__name__ for kind in registry().values()} | set(identifiers.ESTIMATORS) - {
        "TAN",
        "KDB",
        "AODE",
        "AJE",
    }
    named = re.compile(rb"\b(" + "|".join(sorted(classes)).encode() + rb")\b")
    found = {}
    for file in (HERE / f"format{container.FORMAT}").glob("*.bayes"):
        if hits := named.findall(file.read_bytes()):
            found[file.name] = set(hits)
    assert found == {}
