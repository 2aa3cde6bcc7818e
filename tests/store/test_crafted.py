"""Model files with a right digest and a wrong content: every field is read as what it must be."""

from __future__ import annotations

import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.errors import ModelFileError
from bayeskit.storage import container
from fuzz.bayes_mutants import GOLDEN, content

from .container import dumped, tree_of

FOLDER = GOLDEN / f"format{container.FORMAT}"
DEEP = "[" * 100_000 + "]" * 100_000
LINE = {"operation": "update", "rows": 1.0, "time": ""}
GRIDS = [[["x", [3.0, 1.0]]], [["x", ["a"]]], [["y", [1.0]]], [["x", 1.0]], "x", [["x", []], ["x", []]]]
WRONG: dict[str, list[Any]] = {
    "target": [3, ["y"], {"map": []}],
    "named": [1, "yes", None, False],
    "label": ["", "x8", "M8[s]", "V4", "S1", 3, "<f8", "?"],
    "tuned": [1, "no", True],
    "declared": [["a", ["b"]], "ham", [{"is": "family/gaussian"}], [{"map": []}]],
    "tally": [[], {"rows": -1}, {"rows": 1.5}, {"rows": True}, {"rows": "3"}, {"lost": 3}],
    "prior": [3, None, "other", [0.5, 0.6], {"map": [["ham", 1.0]]}, {"map": [[[], 1.0]]}],
    "unseen": ["ignore", None, 0],
    "journal": [
        {},
        [{}],
        [{"operation": "burn", "rows": 1.0, "time": ""}],
        [{"operation": "fit", "rows": -1.0, "time": ""}],
    ],
    "settings": [3, [], {"map": [["nothing", 1]]}, {"map": [["smoothing", "much"]]}, {"map": [["families", [[]]]]}],
    "components": [
        [],
        [[{"is": "smoothing/laplace"}, 3]],
        [[{"is": "structure/choice", "candidates": [3]}, 3]],
        [[{"is": "structure/backoff", "family": {"is": "structure/full"}, "rows": 1.0}, 3]],
        [[{"is": "family/gaussian", "predictive": 1}, 3]],
        [[{"is": "family/gaussian"}, 10**9]],
        [[{"is": "family/gaussian"}, -1]],
        [[{"is": "family/beta"}, 3]],
    ],
    "more": [1],
}


def refused(folder: Path, header: dict[str, Any], arrays: dict[str, Any]) -> str:
    file = folder / "crafted.bayes"
    container.write(file, header, arrays)
    with pytest.raises(ModelFileError) as caught:
        bk.load(file)
    return str(caught.value)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, some in WRONG.items() for value in some])
def test_a_field_of_another_kind_is_refused(name: str, value: Any, tmp_path: Path) -> None:
    header, arrays = content(FOLDER / "gaussian.bayes")
    del header["digest"]
    refused(tmp_path, {**header, name: value}, arrays)


@pytest.mark.parametrize(
    "grid", [[["x", [3.0, 1.0]]], [["x", ["a"]]], [["y", [1.0]]], [["x", 1.0]], "x", [["x", []], ["x", []]]]
)
def test_a_grid_that_cannot_be_is_refused(grid: Any, tmp_path: Path) -> None:
    header, arrays = content(FOLDER / "tan.bayes")
    del header["digest"]
    header["components"][0][0]["grid"] = grid
    refused(tmp_path, header, arrays)


@pytest.mark.parametrize("owners", [[0, 1, 1], [0, 1, 5], [0, 1, -1], [0, 1]])
def test_owners_that_cannot_be_are_refused(owners: list[int], tmp_path: Path) -> None:
    header, arrays = content(FOLDER / "gaussian.bayes")
    del header["digest"]
    refused(tmp_path, header, {**arrays, "owners": np.array(owners)})


@pytest.mark.parametrize(
    ("low", "high"),
    [([0.0, 0.0], [1.0, 1.0]), ([2.0, 0.0, 0.0], [1.0, 1.0, 1.0]), ([-np.inf, 0.0, 0.0], [1.0, 1.0, 1.0])],
    ids=["too few", "reversed", "infinite"],
)
def test_ranges_that_cannot_be_are_refused(low: list[float], high: list[float], tmp_path: Path) -> None:
    header, arrays = content(FOLDER / "gaussian.bayes")
    numbers = {"ranges.low": np.array(low), "ranges.high": np.array(high)}
    assert "range" in refused(tmp_path, {**header, "ranged": True}, {**arrays, **numbers})


@pytest.mark.parametrize("source", ["categorical", "knn_gower", "tan"])
def test_levels_of_two_types_are_refused(source: str, tmp_path: Path) -> None:
    header, arrays = content(FOLDER / f"{source}.bayes")
    del header["digest"]
    lines = container.unpack(arrays["levels.text"], arrays["levels.ends"])
    place = next(j for j, line in enumerate(lines) if line.startswith("[2,"))
    lines[place] = "[1,-7]"  # a number, which sorts before texts
    arrays["levels.text"], arrays["levels.ends"] = container.pack(lines)
    assert "numbers and text" in refused(tmp_path, header, arrays)


@pytest.mark.parametrize("seed", [{"unseen": "missing"}, -1, 0.5, True, "x"])
def test_a_seed_that_is_none_is_refused(seed: Any, tmp_path: Path) -> None:
    header, arrays = content(FOLDER / "network_em.bayes")
    header["recipe"] = {**header["recipe"], "random_state": seed}
    refused(tmp_path, header, arrays)


@pytest.mark.parametrize("limb", [2**63 - 1, -(2**63), 2**40])
def test_limbs_beyond_their_range_are_refused(limb: int, tmp_path: Path) -> None:
    for name in (n for n in content(FOLDER / "gaussian.bayes")[1] if n.startswith("counts/") and "." not in n):
        header, arrays = content(FOLDER / "gaussian.bayes")
        del header["digest"]
        if arrays[name].size:
            arrays[name].reshape(-1)[0] = limb
            refused(tmp_path, header, arrays)


@pytest.mark.parametrize("name", ["classes", "levels", "columns"])
def test_deep_json_is_refused(name: str, tmp_path: Path) -> None:
    header, arrays = content(FOLDER / "categorical.bayes")
    lines = container.unpack(arrays[f"{name}.text"], arrays[f"{name}.ends"])
    arrays[f"{name}.text"], arrays[f"{name}.ends"] = container.pack([DEEP, *lines[1:]])
    assert "nested too deep" in refused(tmp_path, header, arrays)


@pytest.mark.parametrize("name", ["names.ends", "owners", "counts/classes/cells", "levels.sizes"])
@pytest.mark.parametrize("shape", [[10**9], [0, 10**9], [2**62]])
def test_a_length_beyond_the_file_takes_no_memory(name: str, shape: list[int], tmp_path: Path) -> None:
    tree, data = tree_of((FOLDER / "gaussian.bayes").read_bytes())
    tree[name]["shape"] = shape
    file = tmp_path / "bomb.bayes"
    file.write_bytes(dumped(tree, data))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ModelFileError, match=r"cannot hold|bytes where"):
        bk.load(file)
    if sys.platform.startswith("linux"):  # in kilobytes
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


@pytest.mark.parametrize("decimals", [[0.5, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0], [13.0, 0.0, 0.0]], ids=str)
def test_decimals_that_cannot_be_are_refused(decimals: list[float], tmp_path: Path) -> None:
    header, arrays = content(FOLDER / "gaussian.bayes")
    numbers = {"ranges.low": np.zeros(3), "ranges.high": np.ones(3), "ranges.decimals": np.array(decimals)}
    told = {**header, "ranged": True, "stepped": True}
    assert "decimals" in refused(tmp_path, told, {**arrays, **numbers})
