"""Component: numbers of a network that depend on each other given what is observed, integrated out together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from bayeskit.arrays import Bool, Code, Float, Int
from bayeskit.errors import NetworkError
from bayeskit.networks.graph import Graph
from bayeskit.networks.linear import Linear
from bayeskit.numerics.special import LOG_2PI

MOST_CONFIGURATIONS = 1 << 14


@dataclass(frozen=True)
class Cell:
    """One configuration of the levels above a component, and the rows that may be in it."""

    number: int
    codes: tuple[int, ...]  # of the levels of the scope
    rows: Int
    log_density: Float  # (rows,) of the observed numbers
    mean: Float  # (rows, hidden) of those not observed, given the others
    covariance: Float  # (hidden, hidden)


@dataclass(frozen=True)
class Component:
    """Number nodes, parents first, tied by numbers that are not observed, and the levels above them: its scope.

    With the observed numbers above them held fixed, all nodes are jointly normal in each configuration of the scope:
    m = (I - B)^-1 (a + E o), V = (I - B)^-1 D (I - B)^-T. What is observed of them has the density N(m_O, V_OO); the
    others follow by conditioning. Integrated out before any level is summed out, as a strong elimination order asks,
    they leave a table over the scope.
    """

    nodes: tuple[str, ...]
    observed: frozenset[str]  # all numbers that are observed, in the component or not
    scope: tuple[str, ...]
    normals: Mapping[str, Linear]
    sizes: Mapping[str, int]  # of levels

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.sizes[n] for n in self.scope)

    @cached_property
    def seen(self) -> list[int]:
        return [j for j, n in enumerate(self.nodes) if n in self.observed]

    @cached_property
    def hidden(self) -> tuple[str, ...]:
        return tuple(n for n in self.nodes if n not in self.observed)

    @cached_property
    def _units(self) -> Float:
        """What each node is divided by, so that no variance overflows: (nodes,)."""
        return np.array([float(self.normals[n].deviation.max()) for n in self.nodes])

    def _system(self, codes: tuple[int, ...], numbers: Mapping[str, Float]) -> tuple[Float, Float]:
        """Means (rows, nodes) and covariance (nodes, nodes) in the units of the nodes, in one configuration."""
        place = {n: j for j, n in enumerate(self.nodes)}
        at = dict(zip(self.scope, codes, strict=True))
        rows = len(next(iter(numbers.values()))) if numbers else 1
        size, units = len(self.nodes), self._units
        mean, spread = np.zeros((rows, size)), np.zeros((size, size))  # spread: each node by the noise of all
        for j, name in enumerate(self.nodes):
            one = self.normals[name]
            here = tuple(at[n] for n in one.levels)
            mean[:, j] = one.mean[here] / units[j]
            spread[j, j] = one.deviation[here] / units[j]
            for slope, centre, parent in zip(one.slopes[here].tolist(), one.centre.tolist(), one.numbers, strict=True):
                if parent in self.observed:
                    mean[:, j] += slope * (numbers[parent] - centre) / units[j]
                else:
                    p = place[parent]
                    step = slope * units[p] / units[j]
                    mean[:, j] += step * (mean[:, p] - centre / units[p])
                    spread[j] += step * spread[p]
        return mean, spread @ spread.T

    def cells(self, codes: Mapping[str, Code], numbers: Mapping[str, Float], rows: int) -> Iterator[Cell]:
        """Every configuration of the scope that rows may have, -1 where a level is not observed: density, and the
        numbers that are not observed."""
        if prod(self.shape) > MOST_CONFIGURATIONS:
            raise NetworkError(
                f"the numbers {', '.join(self.nodes[:5])} depend on each other and on {len(self.scope)} levels "
                f"({', '.join(self.scope[:5])}), whose {prod(self.shape):.3g} configurations exceed "
                f"{MOST_CONFIGURATIONS}; observe some of them, or take arcs away"
            )
        seen, unseen = self.seen, [j for j in range(len(self.nodes)) if j not in self.seen]
        units = self._units
        for number, labels in enumerate(np.ndindex(self.shape)):
            fits: Bool = np.ones(rows, dtype=bool)
            for name, code in zip(self.scope, labels, strict=True):
                fits &= (codes[name] < 0) | (codes[name] == code)
            mine = np.flatnonzero(fits)
            if not len(mine):
                continue
            values = {n: x[mine] for n, x in numbers.items()}
            mean, covariance = self._system(labels, values)
            mean = np.broadcast_to(mean, (len(mine), len(self.nodes)))
            density, gain = np.zeros(len(mine)), np.zeros((len(unseen), len(seen)))
            rest = covariance[np.ix_(unseen, unseen)]
            middle = mean[:, unseen]
            if seen:
                given = np.column_stack([values[self.nodes[j]] / units[j] for j in seen]) - mean[:, seen]
                try:
                    root = np.linalg.cholesky(covariance[np.ix_(seen, seen)])
                except np.linalg.LinAlgError as error:
                    raise NetworkError(
                        f"the numbers {', '.join(self.nodes[j] for j in seen[:5])} are so nearly dependent that their "
                        f"covariance is singular in doubles; leave one of them out"
                    ) from error
                white = np.linalg.solve(root, given.T)
                density = -0.5 * (white**2).sum(axis=0) - float(np.log(np.diagonal(root)).sum())
                density -= len(seen) * LOG_2PI / 2 + float(np.log(units[seen]).sum())
                gain = np.linalg.solve(root, covariance[np.ix_(seen, unseen)])
                middle, rest = middle + white.T @ gain, rest - gain.T @ gain
            out = np.outer(units[unseen], units[unseen])
            yield Cell(number, labels, mine, density, middle * units[unseen], rest * out)


def find_components(
    graph: Graph,
    normals: Mapping[str, Linear],
    sizes: Mapping[str, int],
    observed: Collection[str],
    asked: Collection[str],
) -> list[Component]:
    """The components of what is observed and asked for; other numbers below them say nothing."""
    known = frozenset(observed)
    wanted = graph.ancestors([*known, *asked])
    order = [n for n in graph.order if n in normals and n in wanted]
    leader = {n: n for n in order}

    def find(n: str) -> str:
        while leader[n] != n:
            n = leader[n]
        return n

    owner: dict[str, str] = {}
    for n in order:  # a factor is tied to others by the numbers in it that are not observed
        for member in (*normals[n].numbers, n):
            if member not in known:
                leader[find(n)] = find(owner.setdefault(member, n))
    groups: dict[str, list[str]] = {}
    for n in order:
        groups.setdefault(find(n), []).append(n)
    found = []
    for nodes in groups.values():
        above = {level for n in nodes for level in normals[n].levels}
        scope = tuple(n for n in sizes if n in above)
        found.append(Component(tuple(nodes), known, scope, normals, sizes))
    return found
