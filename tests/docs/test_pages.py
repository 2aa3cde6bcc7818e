"""The pages of the site without building it: code parses and names what there is; sections; links between sources."""

import ast
import re

import pytest

import bayeskit as bk

from .pages import DOCS, cells, run, sources

PAGES = sources()
GUIDE = [page for page in PAGES if page.parent.name == "guide" and page.name != "index.md"]
COURSE = [page for page in PAGES if page.parent.name == "course" and page.name != "index.md"]
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)]*)?\)")


def name(page):
    return str(page.relative_to(DOCS))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_code_parses_and_names_public_things(page):
    for code in cells(page):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "bk":
                assert hasattr(bk, node.attr), f"{name(page)}: bk.{node.attr} does not exist"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_between_sources_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if target == "examples/index.md":  # written while the site is built
            continue
        assert (page.parent / target).exists(), f"{name(page)}: {target}"


@pytest.mark.parametrize("page", GUIDE, ids=name)
def test_a_page_of_the_guide_says_what_when_formula_example_pitfalls(page):
    text = page.read_text(encoding="utf-8")
    for part in ("**What.**", "**Formula.**" if "**When.**" in text else "$$", "## Pitfalls"):
        assert part in text, f"{name(page)} lacks {part}"
    assert "**When.**" in text or "## When" in text
    assert cells(page)


@pytest.mark.parametrize("page", [DOCS / "start.md", *COURSE], ids=name)
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
def test_the_start_and_the_course_run(page, tmp_path):
    """The course asserts its printed numbers; the other pages run in ``make docs``."""
    run(page, tmp_path)
