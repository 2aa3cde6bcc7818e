"""Names in model files are identifiers of their own: unique, and older files outlive renaming and new settings."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import bayeskit as bk
from bayeskit import families as f
from bayeskit import smoothing as s
from bayeskit.data.encode import IngestReport
from bayeskit.data.schema import Column
from bayeskit.errors import InputError, ModelFileError
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.wrapper import Wrapper, core
from bayeskit.model import codec
from bayeskit.model.codec import build, describe, parse_fields, registry, write_fields
from bayeskit.model.journal import Entry
from bayeskit.statistics import leaves
from bayeskit.storage import container, format1, identifiers, model_file
from bayeskit.structures import (
    augmented,
    averaged,
    boosted,
    choice,
    corrected,
    correction,
    forest,
    full,
    joined,
    neighbours,
    networked,
    paired,
    wrapped,
)
from bayeskit.validation import name_in_files

from .test_families import variants

GOLDEN = Path(__file__).parents[1] / "golden"
FOLDER = GOLDEN / f"format{container.FORMAT}"
GRID = (("x", (1.0, 2.5)),)
CUT = {"cuts": "mdlp", "grid": GRID, "smoothing": 0.5}
AVERAGED = {**CUT, "limit": 2.0, "parents": 3, "given": 0.25}
# every field of every value class away from its default; of families, only those whose reference has no such variant
SETTINGS: dict[type[Any], dict[str, Any]] = {
    f.Bernoulli: {"smoothing": 0.5, "group": 1},
    f.Categorical: {"smoothing": s.MEstimate(2.0)},
    f.Complement: {"smoothing": 0.5, "norm": True, "group": 1},
    f.Histogram: {"bins": (1.0, 2.0), "smoothing": 0.5},
    f.Multinomial: {"smoothing": 0.5, "group": 1},
    f.ZeroInflated: {"family": f.Exponential(0.25), "smoothing": 0.5},
    augmented.Augmented: {
        **CUT,
        "arcs": "order",
        "k": 3,
        "penalty": None,
        "strength": 2.0,
        "backoff": "class",
        "parents": (("x", ("y",)),),
    },
    averaged.Averaged: AVERAGED,
    paired.Paired: {**AVERAGED, "chosen": ("x", "y")},
    wrapped.Backoff: {"family": f.Gaussian(True), "rows": 2.0},
    choice.Choice: {"candidates": (f.Gaussian(), f.Gamma())},
    choice.LevelChoice: {"candidates": (f.Categorical(s.TowardPooled(4.0)),)},
    full.Full: {"covariance": "tied", "shrinkage": None, "smoothing": "auto", "available": True},
    corrected.Corrected: {
        "cuts": "mdlp",
        "grid": GRID,
        "bins": 5,
        "pairs": 3,
        "correction": correction.Correction(
            (1, -2),
            (
                correction.ColumnCorrection("x", 0.5, (), "AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8="),
                correction.ColumnCorrection("town", 1.0, (7, 8), "AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8="),
            ),
            (
                correction.PairCorrection(
                    ("x", "town"), ((0, 0), (0, 1)), "AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8="
                ),
            ),
        ),
    },
    joined.Joined: {"cuts": "frequency", "grid": GRID, "n": 2, "most": 7, "tried": (), "sets": (("x",), ("x", "y"))},
    neighbours.Neighbours: {
        "k": 3,
        "metric": "gower",
        "scale": "mutual_information",
        "weights": "epanechnikov",
        "pseudo": 1.0,
        "most": 20,
        "seed": 4,
    },
    networked.Networked: {
        **CUT,
        "given": ((None, ("x",)),),
        "score": "bic",
        "search": "chow-liu",
        "max_parents": 2,
        "ess": 2.0,
        "restarts": 2,
        "random_state": 7,
        "strength": 2.0,
        "backoff": "class",
        "augmented": False,
        "found": (("x", (None,)),),
    },
    forest.Forest: {
        "trees": 2,
        "seed": 3,
        "strength": 0.5,
        "grown": leaves.Trees(
            (
                leaves.TreeColumn("town", levels=(7, 8), others=True),
                leaves.TreeColumn("x", (1.0,), numeric=True, missing=True),
            ),
            (1,),
            "//8BAAAAAAAAAAAAAA==",
        ),
        "chosen": 2.0,
    },
    boosted.Leafage: {
        "trees": leaves.Trees((leaves.TreeColumn("x", (1.0,), numeric=True),), (1,), "//8BAAAAAAAAAAAAAA=="),
        "classes": (3, 4),
        "values": "AACAPwAAgL8=",
    },
    boosted.Boosted: {
        "trees": 2,
        "rate": 0.5,
        "grown": boosted.Leafage(
            leaves.Trees((leaves.TreeColumn("x", (1.0,), numeric=True),), (1,), "//8BAAAAAAAAAAAAAA=="),
            (3, 4),
            "AACAPwAAgL8=",
        ),
    },
    wrapped.FromRows: {"likelihood": augmented.Augmented(k=2)},
    bk.Nominal: {"levels": ("a", "b")},
    bk.Ordinal: {"levels": ("b", "a")},
    s.Laplace: {"alpha": 2.0},
    s.NoSmoothing: {},
    s.ReplaceZeros: {"by": "class"},
    s.MEstimate: {"m": 2.0, "prior": (0.25, 0.75)},
    s.TowardPooled: {"m": 2.0},
    s.AddM: {"m": 2.0},
}
NEEDED = (
    wrapped.Backoff,
    choice.Choice,
    choice.LevelChoice,
    bk.Nominal,
    bk.Ordinal,
)  # some of their fields
every_kind = pytest.mark.parametrize("kind", list(registry().values()), ids=list(registry()))
pytestmark = pytest.mark.filterwarnings("ignore")


def settings(kind: type[Any]) -> dict[str, Any]:
    """Every field away from its default: as given here, or as a variant in the reference of a family has them."""
    if kind in SETTINGS:
        return SETTINGS[kind]
    for variant in variants():
        if type(variant) is kind and len(write_fields(variant)) == len(fields(kind)):
            return {field.name: getattr(variant, field.name) for field in fields(kind)}
    pytest.fail(
        f"{kind.__name__}: give it an entry in SETTINGS of this file, or a family a variant in VARIANTS of its "
        f"reference, with every field away from its default"
    )


def test_identifiers_are_unique_and_each_class_has_its_own() -> None:
    kinds = list(registry().values())
    assert len({kind.identifier for kind in kinds}) == len(kinds) == len(set(kinds))
    for kind in kinds:
        assert "identifier" in vars(kind), f"{kind} goes by the identifier of the class it derives from"
        assert re.fullmatch(r"(family|structure|smoothing|kind)/[a-z0-9_]+", kind.identifier)


def test_every_estimator_that_saves_has_an_identifier() -> None:
    kinds = (getattr(bk, name) for name in bk.__all__)
    saved = {k.__name__ for k in kinds if isinstance(k, type) and issubclass(k, BayesClassifier | Wrapper)}
    assert saved == set(identifiers.ESTIMATORS), "name it in LATER of storage/identifiers.py, as files call it"
    assert len(set(identifiers.ESTIMATORS.values())) == len(saved)


@every_kind
def test_every_setting_comes_back(kind: type[Any]) -> None:
    value = kind(**settings(kind))
    told = json.loads(json.dumps(describe(value)))
    assert told.keys() == {"is", *write_fields(value)}
    assert len(write_fields(value)) == len(fields(kind)), "a field is not given here, or given its default"
    assert build(told) == value
    assert hash(build(told)) == hash(value)


@every_kind
def test_defaults_are_left_out(kind: type[Any]) -> None:
    needed = {n: v for n, v in settings(kind).items() if kind in NEEDED}
    assert describe(kind(**needed)).keys() == {"is", *needed}


def grown(kind: type[Any]) -> type[Any]:
    """A later version of a class: with one field more, which has a default, and under another name."""
    later = field(default=0.5, kw_only=True)
    return make_dataclass(f"Later{kind.__name__}", [("added_later", float, later)], bases=(kind,), frozen=True)


def instead(monkeypatch: pytest.MonkeyPatch, *kinds: type[Any]) -> None:
    """As if these were the classes of their identifiers."""
    known = {**registry(), **{kind.identifier: kind for kind in kinds}}
    monkeypatch.setattr(codec, "registry", lambda: known)


def holding(kind: type[Any]) -> list[Path]:
    found = [p for p in FOLDER.glob("*.bayes") if rb"\"" + kind.identifier.encode() + rb"\"" in p.read_bytes()]
    return sorted(found, key=lambda p: p.stat().st_size)[:1]


@every_kind
def test_a_field_added_later_leaves_older_files_readable(kind: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    assert holding(kind), f"no golden file holds {kind.identifier}: run python tests/golden/make.py"
    (file,) = holding(kind)
    told = json.loads((FOLDER / "expected.json").read_text())[file.stem]
    instead(monkeypatch, grown(kind))
    model = bk.load(file)
    assert core(model).model_.digest == told["digest"]
    np.testing.assert_allclose(model.predict_proba(told["rows"]), told["proba"], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", [model_file.Header, Column, IngestReport, Entry])
def test_a_field_added_later_leaves_older_records_readable(kind: type[Any]) -> None:
    told = {
        model_file.Header: {"model": "tan", "components": []},
        Column: {"name": "", "kind": "nominal", "type": "string", "why": ""},
        IngestReport: {},
        Entry: {"operation": "update", "rows": 2.0, "time": "now"},
    }[kind]
    assert write_fields(parse_fields(grown(kind), told)) == told


def test_a_field_that_was_renamed_keeps_its_name_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class Gaussian:
        student: bool = field(default=False, metadata=name_in_files("predictive"))
        identifier: ClassVar[str] = f.Gaussian.identifier

    instead(monkeypatch, Gaussian)
    told = {"is": "family/gaussian", "predictive": True}
    assert build(told) == Gaussian(True)
    assert describe(Gaussian(True)) == told


def test_a_family_may_share_its_class_name_with_a_smoothing(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class Laplace:
        scale: float = 1.0
        identifier: ClassVar[str] = "family/laplace"

    instead(monkeypatch, Laplace)
    for value in (Laplace(2.0), s.Laplace(2.0)):
        assert build(describe(value)) == value
    known = {**f.families(), "Laplace": Laplace}
    monkeypatch.setattr(codec, "families", lambda: known)
    assert codec.read("Laplace(2.0)") == Laplace(2.0)
    assert codec.read("Categorical(Laplace(2.0))") == f.Categorical(s.Laplace(2.0))
    assert codec.read("Categorical(smoothing=Laplace)") == f.Categorical(s.Laplace())


def test_a_model_of_a_family_named_as_a_smoothing_comes_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    later = type("Laplace", (f.Gaussian,), {"identifier": "family/laplace", "__module__": "bayeskit.families.laplace"})
    instead(monkeypatch, later)
    families = {"x": later(True), "y": f.Categorical(s.Laplace(2.0))}
    rows = {"x": [1.0, 2.0, 4.0, 7.0], "y": list("abba")}
    model = bk.NaiveBayes(families=families).fit(rows, [0, 1, 0, 1])
    model.save(tmp_path / "m.bayes")
    again = bk.load(tmp_path / "m.bayes")
    assert [family for family, _ in again.model_.structure.components] == list(families.values())
    assert again.model_.digest == model.model_.digest
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))


def test_two_classes_with_one_identifier_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {**f.families(), "Other": grown(f.Gaussian)}
    monkeypatch.setattr(codec, "families", lambda: known)
    with pytest.raises(TypeError, match=r"gaussian\.Gaussian and .*LaterGaussian have the same identifier"):
        registry.__wrapped__()


def test_only_what_files_know_is_saved(tmp_path: Path) -> None:
    class Mine(bk.NaiveBayes):
        pass

    mine = Mine().fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(InputError, match="Mine cannot be saved"):
        mine.save(tmp_path / "m.bayes")
    with pytest.raises(InputError, match="only bayeskit's own families"):
        describe(grown(f.Gaussian)())
    for told in ({"is": "family/unknown"}, {"is": 3}, {"is": "family/gaussian", "more": 1}, {}):
        with pytest.raises(ModelFileError):
            build(told)


@pytest.mark.parametrize("wrong", [1, "yes", None, [True]])
def test_a_setting_of_another_type_is_refused(wrong: object) -> None:
    with pytest.raises(ModelFileError, match="predictive"):
        build({"is": "family/gaussian", "predictive": wrong})


def test_format_1_knows_every_class_it_may_name() -> None:
    assert {name for name, _ in format1.CLASSES.values()} <= registry().keys()


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**300, {"a": [2**70, "x"]}])
def test_integers_of_any_length_come_back(value: Any) -> None:
    told = json.loads(json.dumps(describe(value)))
    assert build(told) == (value if isinstance(value, int) else {"a": (2**70, "x")})
