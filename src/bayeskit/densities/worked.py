"""Worked factors: p(x | c) of one row as the product a textbook writes."""

from __future__ import annotations

from dataclasses import dataclass

from bayeskit.arrays import Float
from bayeskit.data.written import Ratio


@dataclass(frozen=True)
class WorkedFactor:
    """p(columns | given, c) of one row, by class."""

    columns: tuple[str, ...]  # whose values it is the probability of
    log: Float  # (K,)
    given: tuple[str, ...] = ()  # columns it depends on besides the class
    ratios: tuple[Ratio, ...] = ()  # (K) as fractions, where counts make it
    mass: bool = False  # whether it is a probability, and not a density
    formulas: tuple[str, ...] = ()  # (K) where a density comes from
