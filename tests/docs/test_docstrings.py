"""Every parameter of every public name is documented, in the sections that numpydoc reads."""

import inspect
import pydoc
import re

import pytest

import bayeskit as bk
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.explain.explanation import Explanation
from bayeskit.families import families

from .pages import DOCS

# What the parts of the library ask of each other; not for users.
INNER = {
    "flips", "count_spec", "fold_spec", "honest_log_proba", "table_reader", "with_model", "settings_to_save", "spec",
    "restore",
    "from_bundle", "bundle", "check_acts",
    "around", "log_base", "log_shares", "draws", "splits",
}  # fmt: skip
INNER_OF = {("Network", "of")}
SMOOTHING = ("AddM", "Laplace", "MEstimate", "NoSmoothing", "ReplaceZeros", "TowardPooled")
SECTION = re.compile(r"^(\w[\w ]*)\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", re.MULTILINE | re.DOTALL)


def public():
    """Public classes and functions by name."""
    for name in bk.__all__:
        thing = getattr(bk, name)
        if not inspect.ismodule(thing):
            yield name, thing
    for module, names in ((bk.families, dir(bk.families)), (bk.plots, bk.plots.__all__), (bk.smoothing, SMOOTHING)):
        for name in names:
            yield f"{module.__name__.split('.')[-1]}.{name}", getattr(module, name)
    yield "Evaluation", Evaluation
    yield "Explanation", Explanation


def methods(thing):
    """The methods of a class that this library defines and users call."""
    for name in dir(thing):
        raw = inspect.getattr_static(thing, name)
        function = inspect.unwrap(raw.__func__ if isinstance(raw, classmethod | staticmethod) else raw)
        ours = inspect.isfunction(function) and function.__module__.startswith("bayeskit")
        if ours and not name.startswith("_") and name not in INNER and (thing.__name__, name) not in INNER_OF:
            yield name, function


def documented(text):
    """The parameters that the section of that name lists."""
    sections = dict(SECTION.findall(inspect.cleandoc(text or "")))
    lines = [line for line in sections.get("Parameters", "").splitlines() if line and not line.startswith(" ")]
    return {name.strip().lstrip("*") for line in lines for name in line.split(" : ")[0].split(",")}


def undocumented(callable_, text):
    asked = [p.name for p in inspect.signature(callable_).parameters.values() if p.name not in ("self", "cls")]
    return [name for name in asked if name not in documented(text)]


NAMES = dict(public())
# Built by their own methods (``from_estimator``, ``evaluate``, ``explain``): the constructor is not for users.
BUILT = {name for name in NAMES if name.startswith("plots.")} | {"Evaluation", "Explanation"}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in BUILT])
def test_every_parameter_is_documented(name):
    thing = NAMES[name]
    assert thing.__doc__
    assert undocumented(thing, thing.__doc__) == []


@pytest.mark.parametrize("name", [name for name in NAMES if name not in BUILT])
def test_a_documented_default_is_that_of_the_signature(name):
    thing = NAMES[name]
    stated = dict(re.findall(r"^(\w+) : .*, default (.+)$", inspect.cleandoc(thing.__doc__), re.MULTILINE))
    actual = inspect.signature(thing).parameters
    for parameter, text in stated.items():
        assert eval(re.sub(r"(?<=\d),(?=\d)", "", text)) == actual[parameter].default, parameter


# The methods of families and smoothings are asked by the library; CONTRIBUTING.md describes them.
CLASSES = [n for n, thing in NAMES.items() if inspect.isclass(thing) and not n.startswith(("families.", "smoothing."))]


@pytest.mark.parametrize("name", CLASSES)
def test_every_parameter_of_every_method_is_documented(name):
    lacking = {
        method: undocumented(f, inspect.getdoc(getattr(NAMES[name], method))) for method, f in methods(NAMES[name])
    }
    assert {method: names for method, names in lacking.items() if names} == {}


def test_the_walk_sees_what_is_missing():
    def f(a, b):
        """One.

        Parameters
        ----------
        a : int
            First.
        """

    assert undocumented(f, f.__doc__) == ["b"]
    assert undocumented(f, "No section; a, b.") == ["a", "b"]


def listed():
    """What the lists of the reference name, which autosummary writes pages of."""
    module, pages = "", [(DOCS / "api" / name).read_text(encoding="utf-8") for name in ("index.md", "families.md")]
    for line in "\n".join(pages).splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r" {3}\w[\w.]*", line):
            yield pydoc.locate(f"{module}.{line.strip()}")


def test_the_reference_lists_every_public_name():
    there = list(listed())
    assert None not in there, "docs/api names what does not exist"
    lacking = [name for name, thing in NAMES.items() if thing not in there]
    assert not lacking, "add them to the lists of docs/api/index.md; families to that of docs/api/families.md"


def test_every_family_has_a_section_of_its_page():
    headings = re.findall(r"^## (.*)$", (DOCS / "api" / "families.md").read_text(encoding="utf-8"), re.MULTILINE)
    shown = {name for heading in headings for name in heading.split(", ")}
    assert shown == set(families()), "give it a section of docs/api/families.md: formula, support, statistic, use"
