"""Pages of the site: where they are, their code, and running it without a notebook."""

from __future__ import annotations

import ast
import os
import re
from contextlib import chdir
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = re.compile(r"\A(?::[\w-]+:[^\n]*\n)+\n?|\A---\n.*?\n---\n", re.DOTALL)


def sources() -> list[Path]:
    """Pages that are written by hand."""
    return sorted(f for f in DOCS.rglob("*.md") if not {"_build", "generated", "examples"} & set(f.parts))


def cells(page: Path) -> list[str]:
    """The code of a page, cell by cell, without the options of a cell."""
    return [OPTIONS.sub("", code) for code in CELL.findall(page.read_text(encoding="utf-8"))]


def run(page: Path, folder: Path, show: Any = None) -> dict[str, Any]:
    """Run the cells of a page in an empty folder; ``show`` gets what a notebook would show of each."""
    names: dict[str, Any] = {"__name__": "__main__"}
    os.environ.setdefault("MPLBACKEND", "agg")
    with chdir(folder):
        for number, code in enumerate(cells(page), 1):
            tree = ast.parse(code, f"{page.name}, cell {number}")
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, f"{page.name}, cell {number}", "exec"), names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), f"{page.name}, cell {number}", "eval"), names)
                if show is not None:
                    show(number, code, value)
    return names
