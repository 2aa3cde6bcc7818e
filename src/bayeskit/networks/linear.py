"""Linear: a node that is a number, normal around a linear function of the numbers above it, for each state of the
levels above it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from bayeskit.arrays import Float, Int
from bayeskit.data.frame import align
from bayeskit.data.levels import Levels
from bayeskit.errors import InputError, NetworkError
from bayeskit.networks.table import SHOWN, cells_of, code_of
from bayeskit.statistics.complete import Complete
from bayeskit.statistics.keyed import Keyed
from bayeskit.statistics.scatter import Scatter

WORDS = {"intercept", "slopes", "deviation"}
SINGULAR = 1e-12  # share of a variance that is rounding


@dataclass(frozen=True, eq=False)
class Linear:
    """x = mean + sum over the numbers above of slope (number - centre) + noise, noise ~ N(0, deviation^2).

    >>> Linear("y", (), ("x",), np.array([-1.0]), np.array(1.0), np.array([0.5]), np.array(0.25))
    y = 1.5 + 0.5 x, deviation 0.25
    """

    child: str
    levels: tuple[str, ...]  # the parents that are levels
    numbers: tuple[str, ...]  # the parents that are numbers
    centre: Float  # (numbers,)
    mean: Float  # (states of the first level, ...) where the numbers above are at their centre
    slopes: Float  # (states of the first level, ..., numbers)
    deviation: Float  # (states of the first level, ...)
    states: tuple[tuple[Any, ...], ...] | None = None  # of the levels, where they are to be shown

    def __post_init__(self) -> None:
        shape = self.mean.shape
        sizes = len(shape) == len(self.levels) and self.slopes.shape == (*shape, len(self.numbers))
        if not sizes or self.deviation.shape != shape or self.centre.shape != (len(self.numbers),):
            raise NetworkError(f"the means, slopes and deviations of {self.child!r} do not fit its parents")
        if not all(np.isfinite(a).all() for a in (self.mean, self.slopes, self.deviation, self.centre)):
            raise NetworkError(f"{self.child!r} has a mean, slope or deviation that is no finite number")
        if not (self.deviation > 0).all():
            raise NetworkError(
                f"{self.child!r} has a deviation that is not above 0, so that it is an exact function of its parents; "
                f"give it some noise, or leave the node out"
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Linear) and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            if isinstance(getattr(self, name), np.ndarray)
            else getattr(self, name) == getattr(other, name)
            for name in ("child", "levels", "numbers", "centre", "mean", "slopes", "deviation")
        )

    @property
    def parents(self) -> tuple[str, ...]:
        """Levels first."""
        return (*self.levels, *self.numbers)

    @property
    def intercept(self) -> Float:
        """The mean where the numbers above are 0: (states of the first level, ...)."""
        found: Float = self.mean - self.slopes @ self.centre
        return found

    @property
    def free(self) -> int:
        """How many means, slopes and deviations there are."""
        return int(self.mean.size * 2 + self.slopes.size)

    def __repr__(self) -> str:
        if not self.levels:
            return f"{self.child} = {self._sum(())}, deviation {float(self.deviation):.6g}"
        named = self.states or tuple(tuple(range(size)) for size in self.mean.shape)
        lines = [[*self.levels, f"mean of {self.child}", "deviation"]]
        for labels, at in zip(product(*named), np.ndindex(self.mean.shape), strict=True):
            if len(lines) > SHOWN:
                lines.append(["…"] * len(lines[0]))
                break
            lines.append([*map(str, labels), self._sum(at), f"{float(self.deviation[at]):.6g}"])
        return align(lines, len(self.levels) + 1)

    def _sum(self, at: tuple[int, ...]) -> str:
        """The linear function in one configuration of the levels."""
        terms = [
            f"{'-' if s < 0 else '+'} {abs(s):.6g} {n}" for n, s in zip(self.numbers, self.slopes[at], strict=True)
        ]
        return " ".join([f"{float(self.intercept[at]):.6g}", *terms])


def is_linear(spec: object) -> bool:
    """Whether a user describes a number: by an intercept and a deviation, for each state of its levels or once."""
    if not isinstance(spec, Mapping) or not spec:
        return isinstance(spec, Linear)
    if {"intercept", "deviation"} <= set(spec) <= WORDS:
        return not isinstance(spec["deviation"], Mapping)
    return all(is_linear(row) and isinstance(row, Mapping) for row in spec.values())


def linear_of(
    spec: Any, child: str, levels: tuple[str, ...], numbers: tuple[str, ...], states: Mapping[str, Levels]
) -> Linear:
    """From {"intercept": a, "slopes": {parent: b}, "deviation": s}, or that for each configuration of the levels."""
    if isinstance(spec, Linear):
        return spec
    shape = cells_of(child, {name: len(states[name]) for name in levels}, levels)
    mean, deviation, slopes = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros((*shape, len(numbers)))
    cells = spec.items() if levels else [((), spec)]
    for given, row in cells:
        first = given if isinstance(given, tuple) else (given,)
        if len(first) != len(levels) or not isinstance(row, Mapping):
            raise NetworkError(
                f"the number {child!r} has the levels {', '.join(levels) or 'none'} above it; give intercept, slopes "
                f"and deviation for each of their configurations, not for {given!r}"
            )
        at = tuple(code_of(states[name], label, name) for name, label in zip(levels, first, strict=True))
        mean[at], deviation[at] = float(row["intercept"]), float(row["deviation"])
        by_name: Mapping[str, Any] = row.get("slopes", {})
        if set(by_name) != set(numbers):
            raise NetworkError(
                f"the slopes of {child!r} must name the numbers above it ({', '.join(numbers) or 'none'}), and name "
                f"{', '.join(map(str, by_name)) or 'none'}"
            )
        slopes[at] = [float(by_name[name]) for name in numbers]
    if np.isnan(mean).any():
        at = tuple(np.argwhere(np.isnan(mean))[0].tolist())
        labels = {n: states[n].values[c] for n, c in zip(levels, at, strict=True)}
        raise NetworkError(f"the number {child!r} has no mean for {labels}; give one")
    return Linear(child, levels, numbers, np.zeros(len(numbers)), mean, slopes, deviation)


# -- learning ----------------------------------------------------------------------------------------


def linear_statistic(child: str, levels: tuple[str, ...], numbers: tuple[str, ...], groups: int) -> Complete:
    """What a number is learned from: the exact products of it and the numbers above, by cell of the levels above."""
    columns = (*numbers, child)
    inner: Any = Keyed.empty(levels, Scatter.empty(columns, 0), groups) if levels else Scatter.empty(columns, groups)
    return Complete((*levels, *columns), inner)


class NumberNode(NamedTuple):
    """A node that is a number, and what stands above it."""

    child: str
    levels: tuple[str, ...]
    numbers: tuple[str, ...]
    states: Mapping[str, Levels]  # of the levels, and maybe of others

    @property
    def shape(self) -> tuple[int, ...]:
        """How many states each of its levels has."""
        return cells_of(self.child, {name: len(self.states[name]) for name in self.levels}, self.levels)


def linear_from_counts(node: NumberNode, counted: Complete, pseudo: float) -> Linear:
    """The largest likelihood, with ``pseudo`` rows in every cell that vary as rows do within all cells."""
    child, levels, numbers, _ = node
    keyed = counted.inner
    scatter = keyed.inner if isinstance(keyed, Keyed) else keyed
    cells = np.ravel_multi_index(tuple(keyed.keys[:, 1:].T), node.shape) if levels else np.zeros(1, dtype=np.int64)
    weight = scatter.weight.to_float()
    if not weight.sum() > 0:
        raise InputError(
            f"no row has {child!r} and all of its parents ({', '.join((*levels, *numbers)) or 'none'}); fit with "
            f'method="em", which needs no complete row'
        )
    moments = scatter.moments()
    origin, spread, _ = moments.total().finish()
    shift = np.where(spread[0] > 0, -np.frexp(spread[0])[1], 0).astype(np.int64)
    sums = Cells(cells, weight, moments.means(origin[0], shift), np.array(list(scatter.covariances(shift))))
    return sums.fit(node, (origin[0], shift), pseudo)


@dataclass(frozen=True)
class Cells:
    """Weights, means and covariances of the numbers of a family by cell; the node itself is the last of them."""

    cell: Int  # (C,) which cell
    weight: Float  # (C,)
    mean: Float  # (C, d) less an origin, in units of 2^-shift
    covariance: Float  # (C, d, d)

    def fit(self, node: NumberNode, units: tuple[Float, Int], pseudo: float) -> Linear:
        """One regression for each cell; a cell without rows has that of all rows."""
        child, levels, numbers, _ = node
        shape, (origin, shift) = node.shape, units
        share = self.weight / self.weight.sum()
        middle = share @ self.mean
        within = np.einsum("c,cij->ij", share, self.covariance)
        apart = self.mean - middle
        total = within + np.einsum("c,ci,cj->ij", share, apart, apart)
        count = prod(shape)
        means, matrices = np.tile(middle, (count, 1)), np.tile(total, (count, 1, 1))
        if pseudo > 0:
            shrunk = (self.weight[:, None, None] * self.covariance + pseudo * within) / (self.weight + pseudo)[
                :, None, None
            ]
        else:
            shrunk = self.covariance
        used = self.weight > 0
        means[self.cell[used]], matrices[self.cell[used]] = self.mean[used], shrunk[used]
        slopes, variance = np.zeros((count, len(numbers))), np.zeros(count)
        for c in range(count):
            try:
                slopes[c], variance[c] = regress(matrices[c], float(total[-1, -1]))
            except ArithmeticError as error:
                raise NetworkError(_explain_singular(node, c, str(error), pseudo)) from error
        mean = means[:, -1] - np.einsum("cj,cj->c", slopes, means[:, :-1])
        back = np.ldexp(slopes, shift[:-1] - shift[-1])
        at_centre = np.ldexp(mean, -shift[-1]) + origin[-1]
        return Linear(
            child,
            levels,
            numbers,
            origin[:-1].copy(),
            at_centre.reshape(shape),
            back.reshape(*shape, len(numbers)),
            np.ldexp(np.sqrt(variance), -shift[-1]).reshape(shape),
        )


def regress(matrix: Float, total: float) -> tuple[Float, float]:
    """Slopes and variance of the last column given the others, from their covariance; singular ones are refused.

    ``total`` is the variance of the last column over all cells, beside which rounding is nothing.
    """
    x, y = matrix[:-1, :-1], matrix[:-1, -1]
    slopes = np.zeros(len(y))
    if len(y):
        deviation = np.sqrt(np.diagonal(x))
        if not (deviation > 0).all():
            raise ArithmeticError(f"constant {int(np.argmin(deviation))}")
        correlation = x / np.outer(deviation, deviation)
        values, vectors = np.linalg.eigh(correlation)
        if values[0] < SINGULAR * len(y):
            raise ArithmeticError("dependent")
        slopes = (vectors / values) @ (vectors.T @ (y / deviation)) / deviation
    variance = float(matrix[-1, -1] - slopes @ y)
    if not variance > SINGULAR * total:
        raise ArithmeticError("exact")
    return slopes, variance


def _explain_singular(node: NumberNode, cell: int, error: str, pseudo: float) -> str:
    """What is singular, where, and what to do."""
    child, levels, numbers, states = node
    codes = np.unravel_index(cell, node.shape) if levels else ()
    labels = {n: states[n].values[int(c)] for n, c in zip(levels, codes, strict=True)}
    where = f" in the rows where {', '.join(f'{n} = {v}' for n, v in labels.items())}" if levels and pseudo <= 0 else ""
    advice = "; pass smoothing above 0, or take an arc away" if where else "; take one of its arcs away"
    cannot = f"the number {child!r} cannot be learned: "
    if error.startswith("constant"):
        return f"{cannot}{numbers[int(error.split()[1])]!r} above it is constant{where}{advice}"
    if error == "dependent":
        return f"{cannot}the numbers above it ({', '.join(numbers)}) depend linearly on each other{where}{advice}"
    if numbers:
        return f"the number {child!r} is an exact linear function of {', '.join(numbers)}{where}{advice}"
    if where:
        return f"the number {child!r} has a single value{where}, so that its deviation there is 0{advice}"
    return f"the number {child!r} is constant; leave the column out"


def split_parents(parents: Sequence[str], levels: Mapping[str, object]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Parents that are levels, and those that are numbers."""
    return tuple(p for p in parents if p in levels), tuple(p for p in parents if p not in levels)


def check_arcs(
    edges: Iterator[tuple[str, str]] | Sequence[tuple[str, str]], numbers: Mapping[str, object] | set[str]
) -> None:
    """Refuse arcs from a number to a level."""
    for parent, child in edges:
        if parent in numbers and child not in numbers:
            raise NetworkError(
                f"node {child!r} has levels, and the number {parent!r} stands above it; a level has only levels above "
                f"it: turn the arc, cut the number into intervals (cuts={{{parent!r}: 'frequency'}}), or, if its "
                f"values are levels, say so (kinds={{{parent!r}: 'nominal'}})"
            )
