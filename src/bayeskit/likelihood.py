"""The protocols of families and structures, and of what they become once fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from bayeskit.arrays import Float
from bayeskit.data.block import Block
from bayeskit.data.schema import Column
from bayeskit.statistics.statistic import Statistic

S = TypeVar("S", bound=Statistic)
S_in = TypeVar("S_in", bound=Statistic)


@dataclass(frozen=True)
class Context:
    """What a likelihood may know besides its own statistic."""

    weights: Float  # (K,) weight of all rows of each class
    unseen: str = "missing"  # what a level never seen means


VAST = 900.0  # log2 of the magnitude above which terms are compared apart


@dataclass(frozen=True)
class Limit:
    """A log-density beyond the range of a double: zeros * log(a) + vast * 2^unit + rest, as a -> 0+."""

    zeros: Float  # (n, K) factors that vanish with the smoothing
    vast: Float  # (n, K) sum of the terms beyond 2^VAST, in a unit of the row
    rest: Float  # (n, K)

    def __add__(self, other: Limit) -> Limit:
        return Limit(self.zeros + other.zeros, self.vast + other.vast, self.rest + other.rest)


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

    def terms(self, block: Block) -> Float:
        """log p of each part, (n, parts, K); -inf where it is zero or below the range of a double."""

    def reach(self, block: Block) -> Float:
        """log2 of the largest magnitude of a term of each row, (n,)."""

    def limit(self, block: Block, unit: Float) -> Limit:
        """log p(x | class) where ``add`` would give -inf; terms beyond 2^900 in units of 2^unit of the row."""


class Likelihood(Protocol[S]):
    """Names a statistic and reads it back; a family and a structure are the same thing."""

    def statistic(self, columns: Sequence[Column], n_groups: int) -> S:
        """Empty: what to count, for all its columns at once."""

    def fit(self, statistic: S, context: Context) -> Any:
        """Hyper-parameters enter here, rows never."""
