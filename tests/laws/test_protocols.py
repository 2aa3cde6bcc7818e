"""What is asked of an object is declared where its class is: no field hides it, and nothing is guessed or private."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property
from pathlib import Path

import pytest

import bayeskit
from bayeskit.densities.density import Density
from bayeskit.densities.likelihood import Likelihood
from bayeskit.families import families
from bayeskit.structures import structures


def _kinds(base: type) -> Iterator[type]:
    for kind in base.__subclasses__():
        if kind.__module__.startswith("bayeskit."):
            yield kind
            yield from _kinds(kind)


KNOWN = [*families().values(), *structures().values()]  # imports every module of theirs
CLASSES = sorted({kind for base in (Density, Likelihood) for kind in _kinds(base)}, key=lambda kind: kind.__qualname__)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__qualname__)
def test_no_field_has_a_question_of_its_base_as_its_default(kind: type) -> None:
    if is_dataclass(kind):
        assert [f.name for f in fields(kind) if isinstance(f.default, property | cached_property)] == []


def test_every_family_and_structure_is_a_likelihood_with_a_name_in_files() -> None:
    assert all(issubclass(kind, Likelihood) and kind.identifier and kind.kinds for kind in KNOWN)
    assert len(KNOWN) > 20


SOURCES = {path: ast.parse(path.read_text()) for path in sorted(Path(bayeskit.__file__).parent.rglob("*.py"))}
USERS = {"data/frame.py", "evaluation/protocols.py"}  # where tables and estimators of others are met
NAMED_TUPLE = {"_replace", "_make", "_asdict"}
ANY, IGNORED = 400, 8  # in the notes of signatures; comments in all
LONGEST = 400  # lines of a module
LONG = {"targets/runtime.py": "goes out as it stands, as one file, with every exported model"}
DOORS = {
    "compare",
    "evaluate",
    "export",
    "fit",
    "learn_network",
    "predict_frame",
}  # that users call, with many parameters


def _place(path: Path) -> str:
    return path.relative_to(Path(bayeskit.__file__).parent).as_posix()


def _functions() -> Iterator[tuple[Path, str, ast.FunctionDef]]:
    for path, tree in SOURCES.items():
        names = {id(f): f"{c.name}." for c in ast.walk(tree) if isinstance(c, ast.ClassDef) for f in c.body}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                yield path, f"{names.get(id(node), '')}{node.name}", node


def _arguments(function: ast.FunctionDef) -> list[ast.arg]:
    given = function.args
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]


def _named(function: ast.FunctionDef) -> list[str]:
    return [a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]


def _guesses(node: ast.AST) -> bool:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        return False
    return node.func.id == "hasattr" or (node.func.id == "getattr" and len(node.args) == 3)


def test_abilities_are_guessed_only_where_objects_of_users_are_met() -> None:
    found = [f"{_place(p)}:{n.lineno}" for p, tree in SOURCES.items() for n in ast.walk(tree) if _guesses(n)]
    assert [place for place in found if place.split(":")[0] not in USERS] == [], "declare it in a protocol or a base"
    assert found, "the law looks at nothing"


def _own(path: Path, tree: ast.Module) -> set[str]:
    """Names that the classes of a module have, those that they inherit and those set in their methods included."""
    module = importlib.import_module(f"bayeskit.{_place(path)[:-3].replace('/', '.')}")
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__]
    noted = {name for kind in kinds for base in kind.__mro__ for name in inspect.get_annotations(base)}
    stored = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
    return {name for kind in kinds for name in dir(kind)} | noted | stored


def _private(tree: ast.Module) -> Iterator[ast.Attribute]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.endswith("_"):
            mine = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            if not mine and not (isinstance(node.value, ast.Call) and ast.unparse(node.value) == "super()"):
                yield node


def test_private_parts_are_used_by_the_module_of_their_class_alone() -> None:
    strangers = []
    for path, tree in SOURCES.items():
        if found := [n for n in _private(tree) if n.attr not in NAMED_TUPLE]:
            own = _own(path, tree)
            strangers += [f"{_place(path)}:{n.lineno} {ast.unparse(n)}" for n in found if n.attr not in own]
    assert strangers == [], "make it public in its class, or ask something that is"


def test_types_are_named_and_few_are_any() -> None:
    notes = [note for _, _, f in _functions() for note in (*(a.annotation for a in _arguments(f)), f.returns) if note]
    found = sum(isinstance(n, ast.Name) and n.id == "Any" for note in notes for n in ast.walk(note))
    assert 0 < found < ANY, f"{found} Any in {len(notes)} notes; name the type (arrays.py has what users may give)"
    assert sum(path.read_text().count("type: ignore") for path in SOURCES) < IGNORED


def test_many_parameters_only_at_constructors_commands_and_doors() -> None:
    long = [(p, name) for p, name, f in _functions() if len([a for a in _named(f) if a not in ("self", "cls")]) > 6]
    usual = ("__init__", "from_estimator", "from_predictions")
    found = [f"{_place(p)} {name}" for p, name in long if not name.endswith(usual) and not _place(p).startswith("cli/")]
    assert [place for place in found if place.split()[1].split(".")[-1] not in DOORS] == [], "group them in a value"
    assert long


def test_a_module_holds_one_idea_and_those_that_are_long_have_a_reason() -> None:
    lines = {_place(path): len(path.read_text().splitlines()) for path in SOURCES}
    long = {place for place, count in lines.items() if count > LONGEST}
    assert long == set(LONG), f"over {LONGEST} lines: split it where two ideas meet; no longer long: take it off LONG"
    native = [*(Path(__file__).parents[2] / "native").glob("*/*")]
    assert [path.name for path in native if len(path.read_text().splitlines()) > LONGEST] == []
    assert len(native) > 50


def test_the_guide_for_contributors_draws_every_module_and_package_of_the_root() -> None:
    root = Path(bayeskit.__file__).parent
    found = {path.stem if path.suffix else f"{path.name}/" for path in root.iterdir() if path.name[0] not in "_."}
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text().split("## The tree")[1].split("\n## ")[0]
    assert sorted(name for name in found - {"py"} if f"`{name}`" not in text) == []
    assert len(found) > 20
