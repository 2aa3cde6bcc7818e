"""The law of erasure: after forgetting, nothing that holds a model holds a text or a number of the rows forgotten."""

from __future__ import annotations

import inspect
import pickle
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk
from bayeskit.errors import HeldWarning
from bayeskit.estimators.candidates import candidates
from bayeskit.families import Histogram, Kernel
from bayeskit.structures.exactness import Exactness
from golden.cases import table as golden_table
from traces import GONE, NUMBERS, ROWS, Found, check_erased, limbs_of, part, people

# What to make of each class that can forget; a new one has to be named here.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "NaiveBayes": [
        {},
        {"families": "auto"},
        {"families": {"x": Kernel(), "z": Histogram()}},
        {"families": "auto", "weights": "fitted"},
        {"missing": "level", "unseen": "smooth"},
        {"backoff": 0.1},
    ],
    "FullBayes": [{}, {"covariance": "tied"}, {"covariance": "diagonal"}, {"missing": "available"}],
    "KNNBayes": [
        {"metric": "gower"},
        {"metric": "gower", "max_rows": 50},
        {"metric": "mahalanobis"},
        {"scale": "mutual_information", "weights": "epanechnikov", "pseudo": 1.0},
    ],
    "TAN": [{}, {"cuts": "mdlp"}, {"weights": "fitted"}, {"exact": True}, {"exact": True, "weights": "fitted"}],
    "KDB": [{}, {"cuts": "mdlp", "k": 2}, {"weights": "fitted"}, {"exact": True}],
    "AODE": [{}, {"cuts": "mdlp"}, {"exact": True}],
    "AJE": [{}, {"cuts": "mdlp"}, {"weights": None}, {"exact": True}],
    "CorrectedNaiveBayes": [{}, {"missing": "level"}, {"exact": True}],
    "ProbabilityForest": [{"trees": 10}, {"trees": 10, "missing": "level"}, {"trees": 10, "exact": True}],
    "BoostedTrees": [{"trees": 10}, {"trees": 10, "missing": "level"}, {"trees": 10, "exact": True}],
    "NetworkBayes": [{}, {"cuts": "mdlp"}, {"structure": [("class", "x"), ("x", "town")]}, {"exact": True}],
    "AutoBayes": [{"fast": True}, {"max_candidates": 8}, {"exact": True, "max_candidates": 2}],
    "Discretizer": [{"method": "frequency"}, {"method": "mdlp"}],
    "NormalScores": [{}],
    "Network": [{}, {"method": "em"}],
    "RiskClassifier": [],  # keeps what the classifier inside keeps, beside a table of costs that names all classes
}


UNHELD = ("Discretizer", "NormalScores", "Network")  # what is read from counts alone, and has nothing to renew


def forgetters() -> list[str]:
    """Every public class that forgets; a method that is refused is no instance of a function."""
    kinds = {name: kind for name in bk.__all__ if isinstance(kind := getattr(bk, name), type)}
    return [name for name, kind in kinds.items() if inspect.isfunction(getattr(kind, "forget", None))]


def cases() -> Iterator[Any]:
    for name in forgetters():
        for settings in SETTINGS[name]:
            shown = ",".join(f"{k}={'...' if isinstance(v, dict | list) else v}" for k, v in settings.items())
            yield pytest.param(name, settings, id=f"{name}({shown})")


def taken(model: Any, table: dict[str, list[Any]]) -> tuple[Any, ...]:
    """The rows as a model takes them."""
    if isinstance(model, bk.Network):
        return ({n: table[n] for n in ("class", "town", "who")},)
    distances = isinstance(model, bk.KNNBayes) and model.metric != "gower"
    return {n: table[n] for n in (NUMBERS if distances else table) if n != "class"}, table["class"]


def holders(model: Any, path: Path) -> Iterator[tuple[str, bytes]]:
    """All that keeps or shows a model."""
    if hasattr(model, "save"):
        model.save(path)
        yield "the file", path.read_bytes()
    yield "the pickle", pickle.dumps(model)
    yield "its text", repr(model).encode()
    if hasattr(model, "summary"):
        yield "the summary", str(model.summary()).encode()


def test_the_search_sees_what_is_there() -> None:
    """The same search finds everything in a model that has not forgotten."""
    table = people()
    gone, left = part(table, 0, GONE), part(table, GONE)
    model = bk.KNNBayes(metric="gower")
    data = pickle.dumps(model.fit(*taken(model, table)))
    found = Found(data)
    assert len(found.texts(gone["who"])) == GONE
    assert len(found.numbers(gone["x"])) == GONE
    for written in (struct.pack("<d", -0.7), struct.pack(">d", -0.7), b"[-0.7,2]", limbs_of(-0.7)):
        assert Found(b"any" + written).numbers([-0.7])
    assert Found(struct.pack("<q", 7)).numbers([7.0])
    with pytest.raises(AssertionError):
        check_erased(data, gone, left, "unforgotten")


def fitted(name: str, settings: dict[str, Any], table: dict[str, list[Any]]) -> Any:
    """A model of all rows of a table; how a network learns is a setting of its fit."""
    if name == "Network":
        network = bk.Network([("class", "town"), ("class", "who")])
        return network.fit(*taken(network, table), **settings)
    model = getattr(bk, name)(**settings)
    return model.fit(*taken(model, table))


def forgotten(name: str, settings: dict[str, Any], table: dict[str, list[Any]], after: bool = False) -> Any:
    """A model that has forgotten the first rows, which it learned with the others or after them."""
    gone, left = part(table, 0, GONE), part(table, GONE)
    model = fitted(name, settings, left if after else table)
    if after:
        model.partial_fit(*taken(model, gone))
    return model.forget(*taken(model, gone))


def digests(model: Any) -> list[str]:
    """Of all models in it."""
    if isinstance(model, bk.AutoBayes):
        return [model.reader_.model_.digest, *(m.classifier.model_.digest for m in model.members_)]
    return [model.model_.digest]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("after", [False, True], ids=["together", "after"])
@pytest.mark.parametrize(("name", "settings"), list(cases()))
def test_nothing_of_forgotten_rows_is_left(name: str, settings: dict[str, Any], after: bool, tmp_path: Path) -> None:
    table = people()
    gone, left = part(table, 0, GONE), part(table, GONE)
    model = forgotten(name, settings, table, after)
    for where, data in holders(model, tmp_path / "m.bayes"):
        check_erased(data, gone, left, where)
    if hasattr(model, "exact_") and model.exact_.forgetting:
        assert digests(model) == digests(fitted(name, settings, left))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("view", ["indicators", "scores", "numbers"])
def test_views_of_a_pool_forget(view: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with members that look through it alone; then rows can be learned and forgotten as before."""

    def some(*args: Any) -> tuple[Any, ...]:
        return tuple(c for c in candidates(*args) if c.view == view)

    monkeypatch.setattr("bayeskit.estimators.auto.candidates", some)
    table = people()
    gone, left, more = part(table, 0, GONE), part(table, GONE), part(table, GONE, GONE + 9)
    model = bk.AutoBayes().fit(*taken(bk.TAN(), table))
    assert model.members_
    model.forget(*taken(model, gone))
    for where, data in holders(model, tmp_path / "m.bayes"):
        check_erased(data, gone, left, where)
    before, back = digests(model), bk.load(tmp_path / "m.bayes")
    X, _ = taken(model, left)
    assert np.array_equal(back.predict_proba(X), model.predict_proba(X))
    back.partial_fit(*taken(model, more)).forget(*taken(model, more))
    assert digests(back) == before


def test_messages_of_candidates_that_failed_go_too(monkeypatch: pytest.MonkeyPatch) -> None:
    table = people()

    def refuses(*_: Any) -> Any:
        raise ValueError(f"{table['who'][0]} cannot be")

    monkeypatch.setattr("bayeskit.ensemble.cross_fitter.CrossFitter.plain", refuses)
    model = bk.AutoBayes(max_candidates=6).fit(*taken(bk.TAN(), table))
    assert table["who"][0] in str(model.summary())
    with pytest.warns(HeldWarning):
        model.forget(*taken(model, part(table, 0, GONE)))
    assert table["who"][0] not in str(model.summary())


@pytest.mark.filterwarnings("ignore")
def test_a_class_goes_from_members_that_had_declared_it(tmp_path: Path) -> None:
    """As those of files saved before did."""
    model, table = bk.load(Path(__file__).parents[1] / "golden" / "format2" / "autobayes.bayes"), golden_table()
    assert any(member.classifier.model_.schema.classes for member in model.members_)
    eggs = [i for i, label in enumerate(table["class"]) if label == "eggs"]
    model.forget({n: [table[n][i] for i in eggs] for n in model.feature_names_in_}, ["eggs"] * len(eggs))
    model.save(tmp_path / "m.bayes")
    assert b"eggs" not in (tmp_path / "m.bayes").read_bytes()
    X = {n: table[n] for n in model.feature_names_in_}
    assert bk.load(tmp_path / "m.bayes").predict_proba(X).shape == (len(table["class"]), 2)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [bk.NaiveBayes, bk.TAN, bk.AODE])
def test_what_was_declared_stays(kind: Any) -> None:
    """Classes and levels that were learned go with their last row; those that were declared are no row's."""
    table = people()
    gone, left = part(table, 0, GONE), part(table, GONE)
    towns, classes = sorted(set(table["town"])), sorted(set(table["class"]))
    learned = forgotten(kind.__name__, {}, table)
    assert learned.classes_.tolist() == classes[:2]
    assert set(learned.model_.counted.domain.levels["town"].values) == set(left["town"])
    model = kind(kinds={"town": bk.Nominal(towns)})
    model.partial_fit(*taken(model, left), classes=classes).partial_fit(*taken(model, gone))
    model.forget(*taken(model, gone))
    assert model.classes_.tolist() == classes
    assert model.model_.counted.domain.levels["town"].values == towns
    model.renew(*taken(model, left))
    assert model.classes_.tolist() == classes
    assert model.model_.counted.domain.levels["town"].values == towns


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_what_a_pool_was_told_stays(exact: bool) -> None:
    """Classes that the first rows declare, or later ones, and levels that only the type of earlier rows has."""
    table = people()
    left, gone = part(table, GONE), part(table, 0, GONE)
    towns, classes = [*sorted(set(table["town"])), "nowhere"], [*sorted(set(table["class"])), "never"]

    def rows(some: dict[str, list[Any]], declared: bool) -> Any:
        frame = pd.DataFrame({name: some[name] for name in ("x", "town")})
        return frame.astype({"town": pd.CategoricalDtype(towns)}) if declared else frame

    def told(model: Any) -> None:
        assert model.classes_.tolist() == sorted(classes)
        for each in (model.reader_, *(m.classifier for m in model.members_ if m.view is None)):
            assert each.classes_.tolist() == sorted(classes)
            assert each.model_.counted.domain.levels["town"].values == sorted(towns)
        proba = model.predict_proba(rows(table, False))
        assert proba.shape == (len(table["x"]), len(classes))
        assert np.allclose(proba.sum(axis=1), 1)

    first = bk.AutoBayes(max_candidates=2, exact=exact).partial_fit(rows(table, True), table["class"], classes)
    later = bk.AutoBayes(max_candidates=2, exact=exact).fit(rows(left, True), left["class"])
    later.partial_fit(rows(gone, True), gone["class"], classes)
    for model in (first, later):
        told(model)
        told(model.forget(rows(gone, False), gone["class"]))
        told(model.renew(rows(left, False), left["class"]))
    assert digests(first) == digests(later)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [bk.TAN, bk.KDB, bk.AODE, bk.AJE, bk.NetworkBayes, bk.CorrectedNaiveBayes])
def test_held_cuts_of_many_numbers_are_no_values(kind: Any) -> None:
    """On a coarse grid they were ends of cells, which whole numbers and halves may be."""
    rng = np.random.default_rng(4)
    whole, halves = rng.permutation(6000)[:3000].astype(float), rng.permutation(4000)[:3000] / 2
    y = np.where(whole + halves + 300 * rng.normal(size=3000) > 4000, "a", "b")
    model = kind().fit({"whole": whole, "halves": halves}, y)
    (likelihood,) = (family for family, _ in model.model_.structure.components)
    grid = dict(likelihood.grid)
    assert all(grid.values())
    assert not set(grid["whole"]) & set(whole.tolist())
    assert not set(grid["halves"]) & set(halves.tolist())
    if kind is not bk.CorrectedNaiveBayes:  # whose cuts beside a common value may lie in an empty cell
        assert not [c for cuts in grid.values() for c in cuts if 2 * c == np.floor(2 * c)]


HELD = [(name, s) for name in forgetters() for s in SETTINGS[name] if name not in (*UNHELD, "AutoBayes")]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "settings"), [*HELD, ("AutoBayes", {"fast": True})])
def test_a_renewed_model_is_that_of_one_fit(name: str, settings: dict[str, Any]) -> None:
    table = people()
    left = part(table, GONE)
    model = forgotten(name, settings, table)
    rows = taken(model, left)
    assert digests(model.renew(*rows)) == digests(fitted(name, settings, left))
    others = [part(table, GONE + 1), part(table, GONE - 1)]
    if name != "BoostedTrees":  # which has leaves of ten rows, and so may not tell one value from another
        others.append({**left, "x": [9.0, *left["x"][1:]]})
    for wrong in others:
        with pytest.raises(bk.errors.InputError, match=r"not (all |the )rows that the model has"):
            model.renew(*taken(model, wrong))
    assert digests(model) == digests(fitted(name, settings, left))


def test_without_rows_only_what_is_kept_is_renewed() -> None:
    table = people()
    kept, held = (bk.TAN(exact=exact).fit(*taken(bk.TAN(), table)) for exact in (True, False))
    before = digests(kept)
    assert digests(kept.renew()) == before
    pool = bk.AutoBayes(exact=True, max_candidates=1).fit(*taken(bk.TAN(), table))
    assert digests(pool.renew()) == digests(bk.AutoBayes(exact=True, max_candidates=1).fit(*taken(pool, table)))
    for model in (held, bk.AutoBayes(fast=True).fit(*taken(held, table))):
        with pytest.raises(bk.errors.InputError, match="give those that the model has"):
            model.renew()


DOCS = Path(__file__).parents[2] / "docs" / "guide" / "erasure.md"


def documented() -> list[tuple[str, str, str]]:
    """The table of the docs: the model, how many of the numbers and texts of rows its file has, and what is held."""
    lines = [line.strip("|").split("|") for line in DOCS.read_text().splitlines() if line.startswith("| `")]
    return [(cells[0].strip().strip("`"), cells[1].strip(), cells[2].strip()) for cells in lines]


def test_the_docs_name_every_model_that_forgets() -> None:
    saved = {name for name in forgetters() if SETTINGS[name] and hasattr(getattr(bk, name), "save")}
    assert {call.split("(")[0] for call, _, _ in documented()} == saved


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("call", "numbers", "held"), documented(), ids=[call for call, _, _ in documented()])
def test_the_docs_say_what_files_hold(call: str, numbers: str, held: str, tmp_path: Path) -> None:
    table = people()
    structure = [("class", "town"), ("class", "who")]
    model = eval(f"bk.{call}", {"bk": bk, "families": bk.families, "structure": structure})
    model.fit(*taken(model, table)).save(tmp_path / "m.bayes")
    found = Found((tmp_path / "m.bayes").read_bytes())
    known = {name: set(found.numbers(table[name])) for name in NUMBERS}
    ends = {name: {min(table[name]), max(table[name])} for name in NUMBERS}
    inner = len(known["x"] - ends["x"]) / (ROWS - 2)
    told = {"none": not any(known.values()), "the ends": known == ends, "all": inner == 1, "some": 0 < inner < 1}
    assert told[numbers.split(",")[0]], f"{inner:.0%} of the numbers between the ends are in the file"
    exact = model.exact_ if hasattr(model, "exact_") else Exactness()
    assert held == (", ".join(exact.held + exact.lost).replace("3 columns", "the columns") or "nothing")
