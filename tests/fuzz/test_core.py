"""Wrong arguments are refused by the core, or answered: never by reading or writing beyond an array."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bayeskit import _core

RUNNER = Path(__file__).with_name("core_mutants.py")


def run(seed: int, count: int) -> None:
    command = [sys.executable, str(RUNNER), str(seed), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600)
    lines, number = done.stdout.splitlines(), done.stderr.splitlines()[-1:]
    assert done.returncode == 0, f"mutant {lines[-1:]} {number}: {done.returncode} {done.stderr[-800:]}"
    assert [line for line in lines if line.startswith("raw")] == []
    assert lines[-1] == "done"


def test_wrong_arguments() -> None:
    run(1, 40)


@pytest.mark.slow
def test_many_wrong_arguments() -> None:
    run(2, 4000)


def test_values_of_cells_must_ascend() -> None:
    """Sums over the steps of a column were read beyond their array where values did not ascend."""
    x, weights, step = np.array([0.0, 9.0, 1.0]), np.ones((2, 3)), np.array([1.0])
    given = np.array([0, 3]), weights, weights.sum(axis=0), step, np.ones((1, 1), dtype=bool), -700.0
    with pytest.raises(ValueError, match="ascend"):
        _core.loo_family_scores([("Kernel", 1.0, -1.0, False)], x, *given)


def test_families_of_counts_take_no_negative_value() -> None:
    """The logarithm of a factorial never came back from -1e60."""
    x, weights = np.array([-1e60, 1.0, 2.0]), np.full((2, 3), 5.0)
    given = np.array([0, 3]), weights, weights.sum(axis=0), np.zeros(1), np.ones((1, 1), dtype=bool), -700.0
    assert np.isnan(_core.loo_family_scores([("Poisson", 1.0, -1.0, True)], x, *given)).all()


def test_the_whole_has_the_weight_of_the_classes() -> None:
    x, weights = np.arange(3.0), np.full((2, 3), 5.0)
    given = np.array([0, 3]), weights, np.zeros(3), np.zeros(1), np.ones((1, 1), dtype=bool), -700.0
    with pytest.raises(ValueError, match="whole"):
        _core.loo_family_scores([("Kernel", 1.0, -1.0, False)], x, *given)


@pytest.mark.parametrize("limb", [-(2**63), 2**63 - 1])
def test_the_largest_limbs(limb: int) -> None:
    """Carried and rounded as whole numbers are; nothing overflows."""
    limbs = np.array([[limb, 0, 0], [0, limb, 0]], dtype=np.int64)
    assert _core.round_sums(limbs, 0).tolist() == [float(limb), float(limb * 2**32)]
    assert _core.round_sums(limbs[:1, :1].copy(), 0).tolist() == [float(limb)]
    carried = limbs.copy()
    assert not _core.carry_limbs(carried)
    assert [sum(int(v) << 32 * i for i, v in enumerate(row)) for row in carried] == [limb, limb * 2**32]


def test_a_part_of_a_program_beyond_its_cells_is_refused() -> None:
    """An offset so large that it wrapped around."""
    table, codes = np.full(2, 0.5), np.zeros((1, 1), dtype=np.int32)
    gather = np.array([8, 1, 2**63 - 1, 0, 1, 0, 2, 1], dtype=np.int64)
    with pytest.raises(ValueError, match="gather"):
        _core.propagate(gather, table, 2, 0, codes, None, 1, False, np.zeros((2, 1)), np.zeros(1))


def test_counts_of_a_program_need_the_place_of_its_result() -> None:
    """An answer of no state was allowed to begin behind the last cell, where counts then began."""
    table, codes = np.full(2, 0.5), np.zeros((1, 1), dtype=np.int32)
    gather = np.array([8, 1, 0, 0, 1, 0, 2, 1], dtype=np.int64)
    given = gather, table, 2, 2, codes, None, 1, False, np.zeros((0, 1)), np.zeros(1)
    _core.propagate(*given)
    with pytest.raises(ValueError, match="arena"):
        _core.propagate(*given, counts=np.zeros(2))
