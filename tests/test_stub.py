"""The stub beside the lazy package shows type checkers and editors exactly the public names."""

from __future__ import annotations

from pathlib import Path

import bayeskit as bk

STUB = Path(bk.__file__).with_suffix(".pyi")


def stub() -> str:
    """What the table of places says, as imports."""
    names = [
        f"from {place} import {name} as {name}" for name, place in sorted(bk._PLACES.items(), key=lambda p: p[::-1])
    ]
    modules = [f"from bayeskit import {name} as {name}" for name in bk._MODULES]
    listed = "\n".join(f'    "{name}",' for name in bk.__all__)
    listed = f"__all__ = [  # noqa: RUF022\n{listed}\n]"
    return "\n".join([*modules, *names, "", listed, "__version__: str", ""])


def test_the_stub_says_what_the_package_has() -> None:
    assert STUB.read_text() == stub(), "write it anew: python tests/test_stub.py"


if __name__ == "__main__":
    STUB.write_text(stub())
