"""The pages of the gallery that show the scripts of ``examples/``: each with its code and the picture it draws."""

import ast
import re
import subprocess
import sys
from pathlib import Path

HELPERS = ("iris", "output")  # what the examples share; they draw nothing
CITED = re.compile(r"\s*\(([A-E])(\d+)\)$")  # an example of the course, at the end of a title
CHAPTERS = {"A": "classifiers", "B": "rule", "C": "networks-and-accuracy", "D": "distributions", "E": "decisions"}


def write(examples: Path, folder: Path, digest: str) -> None:
    """Run every example whose code or library changed, and write a page for each."""
    folder.mkdir(parents=True, exist_ok=True)
    cards = []
    for script in sorted(file for file in examples.glob("*.py") if file.stem not in HELPERS):
        text = script.read_text(encoding="utf-8")
        line = (ast.get_docstring(ast.parse(text)) or script.stem).splitlines()[0].rstrip(".")
        said, cited = CITED.sub("", line), CITED.search(line)
        title, _, more = said.partition(": ")
        picture, mark = folder / f"{script.stem}.png", folder / f"{script.stem}.digest"
        if not (mark.exists() and mark.read_text() == digest + text):
            subprocess.run([sys.executable, script, picture], cwd=examples, check=True, stdout=subprocess.DEVNULL)
            mark.write_text(digest + text)
        page = f"# {title}\n\n{said}."
        if cited:
            page += f" Example {cited[1]}{cited[2]} of the [course](../../course/{CHAPTERS[cited[1]]}.md)."
        page += f"\n\n```{{image}} {picture.name}\n:alt: {said}\n```\n\n"
        include = Path("..", "..", "..", "examples", script.name).as_posix()
        _replace(folder / f"{script.stem}.md", page + f"```{{literalinclude}} {include}\n:language: python\n```\n")
        cards.append(
            f":::{{grid-item-card}} {title}\n:link: {script.stem}\n:link-type: doc\n:img-top: {picture.name}\n\n"
            f"{more[:1].upper()}{more[1:]}\n:::\n"
        )
    names = "\n".join(script.stem for script in sorted(examples.glob("*.py")) if script.stem not in HELPERS)
    index = "# Pictures of the textbooks\n\nThe scripts of `examples/`, each with what it draws.\n\n"
    index += "::::{grid} 1 2 2 3\n:gutter: 3\n\n" + "\n".join(cards) + "::::\n\n"
    _replace(folder / "index.md", index + f"```{{toctree}}\n:hidden:\n\n{names}\n```\n")


def _replace(file: Path, text: str) -> None:
    """Write a page only if it changed, so that Sphinx does not read it again."""
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")
