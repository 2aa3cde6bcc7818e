"""Support: which numbers a family can take, and what to do about the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Bool, Float


@dataclass(frozen=True)
class Support:
    """An interval of numbers, its ends included unless ``open``, perhaps whole numbers only.

    >>> COUNTS.inside(np.array([0.0, 2.0, 1.5, -1.0, np.nan]))
    array([ True,  True, False, False,  True])
    """

    description: str
    low: float = -np.inf
    high: float = np.inf
    open: bool = False
    integer: bool = False
    advice: str = "choose another family for the column, or leave such values missing"

    @property
    def everything(self) -> bool:
        return self.low == -np.inf and self.high == np.inf and not self.integer

    def inside(self, x: Float) -> Bool:
        """Which values belong to it; a missing one is no reason to complain."""
        with np.errstate(invalid="ignore"):
            return np.asarray(~self.outside(x) | np.isnan(x))

    def outside(self, x: Float) -> Bool:
        """Which values do not belong to it; of a missing one anything."""
        outside: Bool = x != x
        if self.low > -np.inf:
            outside = outside | self.below(x)
        if self.high < np.inf:
            outside = outside | self.above(x)
        return outside | (x != np.floor(x)) if self.integer else outside

    def below(self, x: Float) -> Bool:
        """Which values are below the interval."""
        found: Bool = x <= self.low if self.open else x < self.low
        return found

    def above(self, x: Float) -> Bool:
        """Which values are above the interval."""
        found: Bool = x >= self.high if self.open else x > self.high
        return found

    def mask(self, x: Float) -> Float:
        """The values with those outside made missing; itself if there are none."""
        if self.everything:
            return x
        inside = self.inside(x)
        return x if inside.all() else np.where(inside, x, np.nan)

    def refusal(self, column: str, value: float, family: str) -> str:
        """What to say about a value outside."""
        short = f"{value:g}"  # 1.0000001 is not to be shown as 1
        number = short if float(short) == value else repr(value)
        return f"column {column!r} has the value {number}; {family} takes {self.description}: {self.advice}"


ANY = Support("any finite number")
POSITIVE = Support(
    "numbers above 0", 0.0, open=True, advice="choose a family that takes them (Gaussian, or ZeroInflated for zeros)"
)
NONNEGATIVE = Support("numbers of at least 0", 0.0, advice="choose a family that takes them, such as Gaussian")
COUNTS = Support(
    "whole numbers of at least 0", 0.0, integer=True, advice="choose a family that takes them, such as Gaussian"
)
UNIT = Support(
    "numbers above 0 and below 1", 0.0, 1.0, open=True, advice="divide by the range, or choose another family"
)
ANGLES = Support(
    "angles in radians, from -2 pi to 2 pi",
    -2 * np.pi,
    2 * np.pi,
    advice="multiply degrees by pi/180, or take the remainder of 2 pi",
)


def counts_up_to(most: int) -> Support:
    """Whole numbers from 0 to ``most``."""
    advice = "raise trials, or choose another family such as Poisson"
    return Support(f"whole numbers from 0 to {most}", 0.0, float(most), integer=True, advice=advice)
