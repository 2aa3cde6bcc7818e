"""Docstrings: parameters that many methods share are described once, in glossaries."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

T = TypeVar("T", bound=Callable[..., object])  # a class or a function
SECTION = re.compile(r"^(\w[\w ]*)\n-+\n", re.MULTILINE)
PARAMETERS, ATTRIBUTES = "Parameters", "Attributes"


def complete_docstrings(methods: Mapping[str, str], settings: Mapping[str, str]) -> Callable[[T], T]:
    """Complete the docstrings of a class and of its methods, or of a function, from glossaries.

    A parameter that the docstring does not describe is described as the glossary does, in the order of the signature;
    so are attributes of which the docstring has the names alone, with commas.
    """

    def complete(documented: T) -> T:
        if inspect.isfunction(documented):
            documented.__doc__ = _complete(documented.__doc__ or "", _parameters(documented, 0), methods)
            return documented
        assert isinstance(documented, type)
        for name, member in vars(documented).items():
            function = inspect.unwrap(member)
            if inspect.isfunction(function) and not name.startswith("_") and function.__doc__:
                function.__doc__ = _complete(function.__doc__, _parameters(function), methods)
                member.__doc__ = function.__doc__  # of what wraps it, such as scikit-learn's set_output
        if documented.__doc__:
            made = vars(documented).get("__init__")
            documented.__doc__ = _complete(documented.__doc__, _parameters(made) if made else (), settings)
        return documented

    return complete


def _parameters(function: Callable[..., object], first: int = 1) -> tuple[str, ...]:
    """The names in a signature, those of a method after the first, which is the object."""
    code = function.__code__
    return code.co_varnames[first : code.co_argcount + code.co_kwonlyargcount]


def _complete(text: str, names: Iterable[str], glossary: Mapping[str, str]) -> str:
    """A docstring with what it lacks of these parameters, and of attributes that it only names."""
    head, *parts = SECTION.split(inspect.cleandoc(text))
    sections = {PARAMETERS: ""} | dict(zip(parts[::2], parts[1::2], strict=True))
    own = _entries(sections[PARAMETERS])
    shared = {name: name for name in names if name in own or name in glossary}
    for title, entries in ((PARAMETERS, shared | own), (ATTRIBUTES, _entries(sections.get(ATTRIBUTES, "")))):
        sections[title] = "\n".join(_describe(entry, glossary) for entry in entries.values())
    shown = [f"{title}\n{'-' * len(title)}\n{body.strip()}" for title, body in sections.items() if body]
    return "\n\n".join([head.rstrip(), *shown]) + "\n"


def _entries(section: str) -> dict[str, str]:
    """What a section says, by the name it begins with."""
    found = re.split(r"\n(?=\S)", section.strip())
    return {re.split(r"[\s:,]", entry.lstrip("*"), maxsplit=1)[0]: entry for entry in found if entry}


def _describe(entry: str, glossary: Mapping[str, str]) -> str:
    """The entry, or what the glossary says of the names where it has nothing else."""
    names = entry.split(", ")
    if not all(name in glossary for name in names):
        return entry
    return "\n".join(f"{name} : " + glossary[name].replace("\n        ", "\n    ") for name in names)


document_frame = complete_docstrings(
    {
        "kind": """{"pyarrow", "pandas", "polars"}, default "pyarrow"
        The kind of frame."""
    },
    {},
)
document_frame_like_x = complete_docstrings(
    {
        "kind": """{"pandas", "polars", "pyarrow"}, optional
        The kind of frame; that of X, or Arrow, unless asked."""
    },
    {},
)
