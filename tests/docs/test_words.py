"""Names and prose have the field's own words, in modules, in the core and in the documentation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import bayeskit

ROOT = Path(__file__).parents[2]
SOURCES = {path: ast.parse(path.read_text()) for path in sorted(Path(bayeskit.__file__).parent.rglob("*.py"))}
WORDS = {  # that say nothing of what they name, or belong to a language of our own
    *("some", "told", "intake", "tally", "holes", "dealt", "vast", "toll", "lens", "portrait", "loud"),
    *("foretold", "foretell", "leavers", "leaning", "hearing", "heard", "speaker", "voice", "inquiry", "gathered"),
}


def _words(node: ast.AST) -> str:
    """The name that a node of a module writes down."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.arg | ast.keyword):
        return node.arg or ""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def test_names_say_what_they_name() -> None:
    found = [
        f"{p.name}:{n.lineno} {word}"
        for p, tree in SOURCES.items()
        for n in ast.walk(tree)
        if (word := _words(n)).strip("_").lower() in WORDS
    ]
    assert found == [], "call it what it is: rows, levels, chosen, missing, declared, ..."


OUR_OWN = (WORDS - {"some", "gathered"}) | {"hole", "holed", "atom", "leaver", "foretells", "lean", "leans"}
COMMENT = re.compile(r"(?://|(?<!\S)#)[^\n]*")
QUOTED = re.compile(r"`[^`\n]*`")  # names of the past and of others
TEXTS = ("CHANGELOG.md", "CONTRIBUTING.md", "README.md", "docs/**/*.md", "native/*.md", "native/*/*.*")


def _prose() -> Iterator[tuple[Path, str]]:
    """What is there to read: comments, docstrings and messages of modules, comments of the core, pages."""
    for path, tree in SOURCES.items():
        yield path, "\n".join(COMMENT.findall(path.read_text()))
        strings = (n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str))
        yield path, "\n".join(text for text in strings if " " in text)  # without one it is a name, as files have it
    for path in (found for pattern in TEXTS for found in ROOT.glob(pattern)):
        text = path.read_text()
        yield path, QUOTED.sub("", text) if path.suffix == ".md" else "\n".join(COMMENT.findall(text))


def test_prose_has_the_words_of_the_field() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {word} in {line.strip()!r}"
        for path, text in _prose()
        for line in text.splitlines()
        for word in re.findall(r"\w+", line.lower())
        if word in OUR_OWN and path.name != "format1.py"
    ]
    assert found == [], "say missing, printed, known, distinguished, shrunk, ..."
