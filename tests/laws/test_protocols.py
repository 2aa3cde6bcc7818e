"""What is asked of likelihoods and densities is declared in their base classes, and no field hides it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property

import pytest

from bayeskit.densities.density import Density
from bayeskit.densities.likelihood import Likelihood
from bayeskit.families import families
from bayeskit.structures import structures


def _kinds(base: type) -> Iterator[type]:
    for kind in base.__subclasses__():
        if kind.__module__.startswith("bayeskit."):
            yield kind
            yield from _kinds(kind)


KNOWN = [*families().values(), *structures().values()]  # imports every module of theirs
CLASSES = sorted({kind for base in (Density, Likelihood) for kind in _kinds(base)}, key=lambda kind: kind.__qualname__)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__qualname__)
def test_no_field_has_a_question_of_its_base_as_its_default(kind: type) -> None:
    if is_dataclass(kind):
        assert [f.name for f in fields(kind) if isinstance(f.default, property | cached_property)] == []


def test_every_family_and_structure_is_a_likelihood_with_a_name_in_files() -> None:
    assert all(issubclass(kind, Likelihood) and kind.identifier and kind.kinds for kind in KNOWN)
    assert len(KNOWN) > 20
