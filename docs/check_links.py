"""Check a built site: every link inside leads somewhere, and nothing is loaded from elsewhere.

python docs/check_links.py docs/_build/html
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href")}


class Page(HTMLParser):
    """The links and anchors of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[tuple[str, str, str]] = []  # tag, attribute, address
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        if tag == "link" and given.get("rel") in ("canonical", "search"):
            return
        self.links += [(tag, name, given[name]) for name in ("href", "src") if name in given]


def broken(site: Path) -> list[str]:
    """What is wrong with the links of a site: one line each."""
    pages = {}
    for file in sorted(file for file in site.rglob("*.html") if "_static" not in file.parts):  # no pages are there
        pages[file.resolve()] = page = Page()
        page.feed(file.read_text(encoding="utf-8"))
    found = []
    for file, page in pages.items():
        for tag, name, address in page.links:
            parts = urlsplit(address)
            where = f"{file.relative_to(site.resolve())}: {address[:200]}"
            if parts.scheme in ("data", "mailto", "javascript"):
                continue
            if parts.scheme or parts.netloc:
                if (tag, name) in LOADED:
                    found.append(f"{where} is loaded from elsewhere")
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                found.append(f"{where} does not exist")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{where} has no such anchor")
    return found


if __name__ == "__main__":
    site = Path(sys.argv[1])
    faults = broken(site)
    print("\n".join([*faults, f"{site}: {len(list(site.rglob('*.html')))} pages, {len(faults)} broken links"]))
    sys.exit(1 if faults else 0)
