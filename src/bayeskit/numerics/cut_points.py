"""CutPoints: where a column of bins may be cut, and the information of levels and intervals on the class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from bayeskit import _core
from bayeskit.arrays import Float, Int
from bayeskit.errors import InputError
from bayeskit.statistics.bins import BinnedColumn, Bins
from bayeskit.statistics.tables import Tables


def ascending(cuts: Iterable[float], where: str) -> tuple[float, ...]:
    """Cuts as given from outside; refused unless they are finite numbers in ascending order."""
    try:
        found = tuple(float(c) for c in cuts)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{where}: cuts are numbers") from error
    if not found or not all(np.isfinite(found)) or any(a >= b for a, b in pairwise(found)):
        raise InputError(f"{where}: give at least one cut, all finite and in ascending order")
    return found


def intervals(cuts: Sequence[float]) -> list[str]:
    """The names of the right-closed cells between cuts, with as many digits as tell them apart.

    >>> intervals([5.2, 6.1])
    ['(-inf, 5.2]', '(5.2, 6.1]', '(6.1, inf)']
    """
    shown = next(
        names for digits in (6, 9, 12, 17) if len(set(names := [f"{c:.{digits}g}" for c in cuts])) == len(cuts)
    )
    ends = ["-inf", *shown, "inf"]
    return [f"({a}, {b}{')' if b == 'inf' else ']'}" for a, b in pairwise(ends)]


def short(low: Float, high: Float) -> Float:
    """A number of few digits strictly between two others, in the middle half of them; NaN where no double is between.

    The middle, rounded to the largest power of ten that is at most half the way. So neither of the two follows from it,
    nor follows from it and the other one.

    >>> short(np.array([43.0, 1.9, 0.1234567]), np.array([46.0, 3.1, 0.1234568]))
    array([44.        ,  2.5       ,  0.12345675])
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        middle = low / 2 + high / 2
        digits = -np.floor(np.log10(high / 2 - low / 2))
        unit = 10.0 ** np.abs(digits)  # exact up to 10^22: beyond, the last digits may be others
        rounded = np.where(digits < 0, np.rint(middle / unit) * unit, np.rint(middle * unit) / unit)
    found = np.where((low < rounded) & (rounded < high), rounded, middle)
    return np.where((low < found) & (found < high), found, np.nan)


def few(weight: float) -> int:
    """A number of cells that suits so many rows, n^(1/3) but from 3 to 12.

    >>> few(10), few(150), few(1e9)
    (3, 5, 12)
    """
    return int(np.clip(np.round(np.cbrt(weight)), 3, 12))


def heavy_apart(weight: Float, cells: int) -> Int:
    """After which bins to cut so that each that has 1/cells of the weight or more is alone, and so many equal cells of
    the others: all but the last.

    >>> heavy_apart(np.array([1.0, 1.0, 8.0, 1.0, 1.0]), 2).tolist()
    [1, 2]
    """
    heavy = np.flatnonzero(weight >= weight.sum() / cells)
    light = weight.copy()
    light[heavy] = 0.0
    after = np.concatenate([_core.equal_weight_cuts(light, cells), heavy - 1, heavy])
    return np.unique(after[(after >= 0) & (after < len(weight) - 1)])


@dataclass(frozen=True)
class CutPoints:
    """Cuts between the bins of one column, right-closed: a value equal to a cut lies below it.

    Between distinct values a cut is their midpoint; on a coarse grid it is an end of a cell. So the weights on both
    sides of a cut are known from the bins, and a row falls on the side on which it was counted. A cut that is ``held``
    is a short number between the values instead, and none is made between two with no double between them; where two
    cells of a coarse grid touch it lies a third of a cell above, where no number of few digits is.

    >>> from bayeskit.statistics.exact import ExactSum
    >>> sums = ExactSum(np.array([[[8], [1], [0], [0]], [[0], [0], [1], [8]]]), 0)
    >>> column = CutPoints(BinnedColumn("age", -1074, np.array([1.0, 2.0, 5.0, 9.0]), sums))
    >>> column.mdlp(), column.equal_frequency(2), column.equal_width(4)
    (array([3.5]), array([3.5]), array([3., 5., 7.]))
    """

    column: BinnedColumn
    shift: int = 0  # cuts are in units of 2^-shift
    held: bool = False  # whether the cuts outlive the bins, and so are not to tell the values beside them

    @cached_property
    def last(self) -> Float:
        """The largest value each bin may hold: (m,)."""
        return np.ldexp(self.column.edges, self.shift)

    @cached_property
    def first(self) -> Float:
        """Where each bin begins, not in it unless it is one value: (m,)."""
        return self.last - np.ldexp(self.column.width, self.shift)

    @cached_property
    def between(self) -> Float:
        """Where cuts may stand, above the values of a bin and below those of the next; NaN where none may: (m - 1,)"""
        if self.held:
            width = (self.last - self.first)[:-1]
            brief = short(self.last[:-1], self.first[1:])
            above = np.where(width > 0, self.last[:-1] + width / 3, np.nan)
            return np.where(np.isnan(brief), above, brief)
        one_value = self.first[1:] == self.last[1:]
        highest = np.where(one_value, np.nextafter(self.last[1:], -np.inf), np.inf)
        middle = np.minimum(self.last[:-1] / 2 + self.first[1:] / 2, highest)
        return np.maximum(middle, self.last[:-1])

    def equal_frequency(self, cells: int) -> Float:
        """Cuts after the bins at which 1/cells, 2/cells, ... of the weight are reached."""
        cuts: Float = self.between[_core.equal_weight_cuts(self.column.pooled, cells)]
        return cuts

    def to_hold(self, by_class: bool, cells: int | None = None) -> tuple[float, ...]:
        """Cuts that become part of a model, by the classes or of equal weight: so many cells, or as suits the rows."""
        held = replace(self, held=True)
        cuts = held.mdlp() if by_class else held.equal_frequency(cells or few(float(self.column.pooled.sum())))
        return tuple(np.unique(cuts[~np.isnan(cuts)]).tolist())

    def heavy_apart(self, cells: int) -> Float:
        """Cuts around each bin that has 1/cells of the weight or more, and of equal weight among the others."""
        return self.between[heavy_apart(self.column.pooled, cells)]

    def equal_width(self, cells: int, low: float | None = None, high: float | None = None) -> Float:
        """Cuts at equal steps from ``low`` to ``high``, the range of the column unless given."""
        if not len(self.last):
            return self.between
        low = float(self.first[0]) if low is None else float(low)
        high = float(self.last[-1]) if high is None else float(high)
        share, width = np.arange(1, cells) / cells, high - low
        inner = low + share * width if np.isfinite(width) else low * (1 - share) + high * share
        if not self.column.distinct:  # a cut inside a bin moves to where the bin ends
            bin_of = np.minimum(np.searchsorted(self.last, inner), len(self.last) - 1)
            inner = np.where(inner > self.first[bin_of], self.last[bin_of], inner)
        inner = np.unique(inner)
        return inner[(inner >= low) & (inner < high)]

    def mdlp(self) -> Float:
        """Cuts that tell more of the class than they cost to describe (Fayyad and Irani 1993).

        A stretch of n rows is cut where the entropy of the class falls most, if that is by more than
        (log2(n - 1) + log2(3^k - 2) - k H + k1 H1 + k2 H2) / n bits, k the classes on it; then each side by itself.
        """
        weights = self.column.weights
        counts = np.concatenate([np.zeros((1, len(weights))), np.cumsum(weights.T, axis=0)])  # (m + 1, K)
        found: list[int] = []
        stretches = [(0, len(counts) - 1)]
        while stretches:
            begin, end = stretches.pop()
            cut = _best(counts[begin : end + 1] - counts[begin])
            if cut is not None:
                found.append(begin + cut - 1)
                stretches += [(begin, begin + cut), (begin + cut, end)]
        return self.between[np.sort(np.array(found, dtype=np.int64))]


def _best(below: Float) -> int | None:
    """Before which bin a stretch is best cut, if that pays; ``below`` are the class weights up to each: (m + 1, K)."""
    whole = below[-1:]
    (rows,), (entropy,), (classes,) = _entropy(whole)
    if len(below) < 3 or classes < 2 or not rows > 1:
        return None
    left, right = _entropy(below[1:-1]), _entropy(whole - below[1:-1])
    mean = (left[0] * left[1] + right[0] * right[1]) / rows
    best = int(np.argmin(mean))
    apart = classes * entropy - left[2][best] * left[1][best] - right[2][best] * right[1][best]
    # log2(3^k - 2) in a form that does not overflow with many classes
    cost = np.log2(rows - 1) + classes * np.log2(3) + np.log2(1 - 2 * 3.0**-classes) - apart
    return best + 1 if entropy - mean[best] > cost / rows else None


def _entropy(weights: Float) -> tuple[Float, Float, Float]:
    """Of each line of class weights: their sum, the entropy in bits, and how many classes are there: (n,) each."""
    rows = weights.sum(axis=1)
    share = weights / np.maximum(rows, 5e-324)[:, None]
    bits = -np.sum(share * np.log2(np.where(share > 0, share, 1)), axis=1)
    return rows, bits, np.count_nonzero(share, axis=1).astype(np.float64)


ROUNDING = 1e-10  # share of the largest score


def mutual_information(table: Float) -> float:
    """I(class; column) = sum over cells of p(c, x) log p(c, x) / (p(c) p(x)) in nats, from weights (K, m).

    Less (K - 1)(m - 1) / (2 n), what independent columns show by chance (Miller 1955), and never below 0.

    >>> round(mutual_information(np.array([[50.0, 0.0], [0.0, 50.0]])), 4)
    0.6881
    """
    total = table.sum()
    if not total > 0:
        return 0.0
    joint = table / total
    chance = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    seen = joint > 0
    found = float(np.sum(joint[seen] * np.log(joint[seen] / chance[seen])))
    classes, cells = np.count_nonzero(joint.sum(axis=1)), np.count_nonzero(joint.sum(axis=0))
    return max(0.0, found - float((classes - 1) * (cells - 1)) / (2 * float(total)))


def of_levels(tables: Tables) -> dict[str, float]:
    """Of each coded column."""
    return {names[0]: mutual_information(tables.table(t).to_float()) for t, names in enumerate(tables.tables)}


def of_numbers(bins: Bins) -> dict[str, float]:
    """Of each number column, cut into a few cells of equal weight."""
    return {name: _of_column(bins, j) for j, name in enumerate(bins.columns)}


def _of_column(bins: Bins, j: int) -> float:
    column = bins.column(j)
    cuts = CutPoints(column).equal_frequency(few(float(column.pooled.sum())))
    table = np.zeros((bins.groups, len(cuts) + 1))
    np.add.at(table.T, np.searchsorted(cuts, column.edges, side="left"), column.weights.T)
    return mutual_information(table)


def best_first(scores: Float, names: Sequence[object]) -> list[int]:
    """Positions by score, the best first; scores that are equal but for rounding by name.

    >>> best_first(np.array([1.0, 3.0, 1.0 + 1e-15]), ["b", "c", "a"])
    [1, 2, 0]
    """
    order = np.argsort(-scores, kind="stable").tolist()
    drop = -np.diff(scores[order], prepend=scores[order[:1]])
    place = np.cumsum(drop > ROUNDING * np.abs(scores).max(initial=0.0)).tolist()
    return [j for _, _, j in sorted((at, names[j], j) for at, j in zip(place, order, strict=True))]
