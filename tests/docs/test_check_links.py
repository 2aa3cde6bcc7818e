"""The check of links in a built site finds what it is for."""

import importlib.util

import pytest

from .pages import DOCS


@pytest.fixture(scope="module")
def broken():
    spec = importlib.util.spec_from_file_location("check_links", DOCS / "check_links.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.broken


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="b.html#here">b</a>', None),
        ('<a href="b.html#there">b</a>', "has no such anchor"),
        ('<a href="c.html">c</a>', "does not exist"),
        ('<a href="https://example.org/">elsewhere</a>', None),
        ('<script src="https://example.org/x.js"></script>', "is loaded from elsewhere"),
        ('<img src="data:image/png;base64,AA==">', None),
        ('<a href="#top">up</a>', "has no such anchor"),
        ('<p id="top"></p><a href="#top">up</a>', None),
    ],
)
def test_faults_of_links(broken, tmp_path, body, fault):
    (tmp_path / "a.html").write_text(body)
    (tmp_path / "b.html").write_text('<h1 id="here">b</h1>')
    found = broken(tmp_path)
    assert len(found) == (fault is not None)
    if fault:
        assert fault in found[0]
