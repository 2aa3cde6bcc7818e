"""The protocols of families and structures, and of what they become once fitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from bayeskit.arrays import Float
from bayeskit.data.block import Block
from bayeskit.data.schema import Column
from bayeskit.statistics.statistic import Statistic

S = TypeVar("S", bound=Statistic)
S_in = TypeVar("S_in", bound=Statistic)


class LogDensity(Protocol):
    """log p(x | class), read back from a statistic."""

    @property
    def parts(self) -> tuple[str, ...]:
        """What its terms belong to: the columns."""

    @property
    def normalised(self) -> bool:
        """Whether it is a density: sums or integrates to one in every class."""

    def add(self, block: Block, out: Float) -> None:
        """Add log p(x | class) into out (n, K); a missing value adds nothing."""

    def terms(self, block: Block, vast: bool = False) -> Float:
        """log p of each part, (n, parts, K); ``vast`` gives it in units of 2^3200, so that only -inf is infinite."""


class Likelihood(Protocol[S]):
    """Names a statistic and reads it back; a family and a structure are the same thing."""

    def statistic(self, columns: Sequence[Column], n_groups: int) -> S:
        """Empty: what to count, for all its columns at once."""

    def fit(self, statistic: S, unseen: str = "missing") -> Any:
        """Hyper-parameters enter here, rows never."""
