"""A file to write, and the bytes of a small one."""

import pytest

from bayeskit.storage import container

from .container import ARRAYS, HEADER


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.bayes"


@pytest.fixture
def raw(path):
    container.write(path, HEADER, ARRAYS)
    return path.read_bytes()
