"""Model files of any content are refused or work in every use: never a bare exception, nor much time or memory."""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.errors import BayeskitError, ModelFileError
from bayeskit.storage import container
from store.container import dumped, tree_of

from .bayes_mutants import GOLDEN, content, crafted, damaged
from .bayes_uses import every_use

FILES = sorted((GOLDEN / f"format{container.FORMAT}").glob("*.bayes"))
OLD = sorted((GOLDEN / "format1").glob("*.bayes"))
SECONDS = 30  # of the processor, for all uses of one file
GROWTH = 256 * 2**20  # bytes beyond what sound files took; the largest file has 40 kB

pytestmark = pytest.mark.filterwarnings("ignore")


class TooLong(BaseException):
    """Not to be taken for an error of the file."""


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A limit to the memory of the process, and no waiting for the disk."""
    if not sys.platform.startswith("linux"):
        pytest.skip("memory is limited where Linux can")
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + GROWTH, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _late(*_: Any) -> None:
    raise TooLong


def used(file: Path, what: str) -> bool:
    """Whether a file loads; it then works, soon."""
    handler = signal.signal(signal.SIGPROF, _late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        return every_use(file, file.with_name("again.bayes"))
    except (Exception, TooLong) as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Sound files work in every use; what they import counts for none of the others."""
    folder = tmp_path_factory.mktemp("sound")
    for source in (*FILES[::6], *OLD[3::12]):
        file = folder / "sound.bayes"
        file.write_bytes(source.read_bytes())
        assert used(file, source.name)


def run_crafted(seed: int, count: int, folder: Path, old: bool = False) -> int:
    """So many files, perhaps of format 1, with a right digest and a wrong content; how many of them loaded."""
    chance, loaded, file = random.Random(seed), 0, folder / "crafted.bayes"
    for number in range(count):
        source = chance.choice(OLD if old else FILES)
        try:
            container.write(file, *crafted(source, chance))
        except BayeskitError:  # nothing that a container could hold
            continue
        if old:
            tree, data = tree_of(file.read_bytes())
            tree["__metadata__"]["bayeskit"]["format"] = 1
            file.write_bytes(dumped(tree, data))
        loaded += used(file, f"mutant {number} of seed {seed}, of {source.name}")
    return loaded


def run_damaged(seed: int, count: int, folder: Path) -> int:
    chance, loaded, file = random.Random(seed), 0, folder / "damaged.bayes"
    for number in range(count):
        source = chance.choice([*FILES, *OLD])
        file.write_bytes(damaged(source.read_bytes(), chance))
        loaded += used(file, f"damaged {number} of seed {seed}, of {source.name}")
    return loaded


@pytest.mark.usefixtures("warm", "limits")
def test_crafted_files(tmp_path: Path) -> None:
    assert run_crafted(1, 150, tmp_path) > 5, "hardly any loads: nothing was tried"


@pytest.mark.usefixtures("warm", "limits")
def test_crafted_files_of_format_1(tmp_path: Path) -> None:
    assert run_crafted(1, 100, tmp_path, old=True) > 5, "hardly any loads: nothing was tried"


@pytest.mark.usefixtures("warm", "limits")
def test_damaged_files(tmp_path: Path) -> None:
    assert run_damaged(1, 300, tmp_path) == 0


@pytest.mark.parametrize(
    ("name", "array", "place", "value"),
    [
        ("zero_inflated", "features/0/x = 0/first", 0, -4),
        ("full_pooled", "features/0/numbers/of/products", 7, -1),
        ("kernel", "classes/cells.low", 0, 256),
    ],
    ids=["fewer zeros than none", "a negative variance", "more weight than a number has"],
)
def test_sums_that_no_rows_have_are_refused(name: str, array: str, place: int, value: int, tmp_path: Path) -> None:
    header, arrays = content(next(file for file in FILES if file.stem == name))
    header.pop("digest")
    changed = np.array(arrays[f"counts/{array}"])
    changed.reshape(-1)[place] = value
    container.write(tmp_path / "crafted.bayes", header, {**arrays, f"counts/{array}": changed})
    with pytest.raises(ModelFileError, match=r"its content contradicts itself|its rows weigh more"):
        bk.load(tmp_path / "crafted.bayes")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 22))
@pytest.mark.usefixtures("warm", "limits")
def test_many_crafted_files(seed: int, tmp_path: Path) -> None:
    run_crafted(seed, 1000, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 7))
@pytest.mark.usefixtures("warm", "limits")
def test_many_crafted_files_of_format_1(seed: int, tmp_path: Path) -> None:
    run_crafted(seed, 1000, tmp_path, old=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
@pytest.mark.usefixtures("warm", "limits")
def test_many_damaged_files(seed: int, tmp_path: Path) -> None:
    assert run_damaged(seed, 2000, tmp_path) == 0
