"""Chromium for the tests of pages: found, or skipped with a reason; required where BAYESKIT_BROWSER says so."""

import os
import shutil
from contextlib import contextmanager

import pytest

WHERE = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def lacking(what):
    if os.environ.get("BAYESKIT_BROWSER") == "required":
        pytest.fail(f"{what}, and BAYESKIT_BROWSER=required")
    pytest.skip(what)


@contextmanager
def chromium():
    if WHERE is None:
        lacking("Chromium is not installed (Debian: apt-get install chromium)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        lacking("playwright is not installed (pip install playwright)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=WHERE, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


class Panel:
    """A report open in the browser, with what it must not do written down."""

    def __init__(self, browser, path, width=1400, scheme="light"):
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page.set_default_timeout(10_000)
        self.complaints = []
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda e: self.complaints.append(str(e)))
        self.page.on("dialog", lambda d: (self.complaints.append(d.message), d.dismiss()))
        self.page.on(
            "request", lambda r: None if r.url.startswith(("file:", "data:")) else self.complaints.append(r.url)
        )
        self.page.goto(path.resolve().as_uri())
        if self.page.query_selector("#program"):
            self.page.wait_for_selector(".posterior output")

    def posterior(self):
        """By class, however they are sorted."""
        found = {
            int(o.get_attribute("data-k")): float(o.get_attribute("data-p"))
            for o in self.page.query_selector_all(".posterior output")
        }
        return [found[k] for k in sorted(found)]

    def question(self, name):
        """The element with this label."""
        return self.page.get_by_label(name, exact=True)

    def number(self, name, value):
        self.page.get_by_label(f"{name}, as a number", exact=True).fill(str(value))

    def missing(self, name):
        self.page.get_by_label(f"{name} is missing", exact=True).check()


# Names of controls and pictures, contrast, landmarks, order of focus, heads of tables, ids: what is wrong, in words.
AUDIT = """() => {
  const light = (c) => {
    const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = c.match(/[\\d.]+/g).map((v) => linear(Number(v) / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor;
      if (c.startsWith("rgb(")) return c;
      if (!c.startsWith("rgba(0, 0, 0, 0")) return null; // mixed colours are looked at by eye
    }
    return "rgb(255, 255, 255)";
  };
  const found = [];
  for (const e of document.querySelectorAll("input, select, button, a, summary")) {
    const labels = [...(e.labels || [])].map((l) => l.textContent).join("");
    const named = e.getAttribute("aria-label") || labels.trim() || e.textContent.trim();
    if (!named) found.push(`no name: ${e.outerHTML.slice(0, 80)}`);
  }
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || !e.getClientRects().length) continue;
    if (e.closest("script, style, svg, option, :disabled")) continue;
    const back = ground(e), ink = getComputedStyle(e).color;
    if (!back || !ink.startsWith("rgb(")) continue;
    const [a, b] = [light(back), light(ink)].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.push(`contrast ${ratio.toFixed(2)}: ${e.outerHTML.slice(0, 80)}`);
  }
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  ids.filter((id, i) => ids.indexOf(id) !== i).forEach((id) => found.push(`two elements are #${id}`));
  const many = (selector, count) => {
    const there = document.querySelectorAll(selector).length;
    if (there !== count) found.push(`${there} of ${selector}, not ${count}`);
  };
  many("html[lang]", 1);
  many("main", 1);
  many("h1", 1);
  many("header h1", 1);
  const none = (what, selector, test = () => true) => [...document.querySelectorAll(selector)].filter(test)
    .forEach((e) => found.push(`${what}: ${e.outerHTML.slice(0, 80)}`));
  none("a nav without a name", "nav:not([aria-label])");
  none("a picture without a name", 'svg:not([role="img"][aria-label]):not([aria-hidden])');
  none("whose head?", "th:not([scope])");
  none("jumps the order", "[tabindex]", (e) => e.tabIndex > 0);
  none("scrolls, and does not say so or take the keyboard", ".wide", (e) => e.scrollWidth > e.clientWidth + 1
    && e.getClientRects().length && !(e.classList.contains("scrolls") && e.tabIndex === 0));
  return [...new Set(found)];
}"""
