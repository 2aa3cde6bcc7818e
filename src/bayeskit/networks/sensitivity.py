"""Sensitivity: how an answer moves when one probability of a table does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Axes, Code, Frame, Label
from bayeskit.data.frame import frame
from bayeskit.docstrings import document_frame
from bayeskit.errors import InputError
from bayeskit.networks.contradiction import check_possible
from bayeskit.networks.inference import Inference
from bayeskit.plots.bars import TornadoDisplay


@dataclass(frozen=True)
class Parameter:
    """One probability t = P(node = state | parents), and the answer as a function of it: (a t + b) / (c t + d).

    The other probabilities of its line share what is left as they do now, so the function is exact for every t from 0
    to 1 (Laskey 1995, Castillo, Gutierrez and Hadi 1997); c t + d is 1 at the present value.
    """

    node: str
    state: Label
    parents: Mapping[str, Label]
    value: float
    a: float
    b: float
    c: float
    d: float
    pair: bool = False  # whether its line has two probabilities above 0, so that one says both

    def __call__(self, t: float) -> float:
        """The answer if the probability were ``t``; NaN where the evidence would then be impossible.

        Parameters
        ----------
        t : float
            From 0 to 1.
        """
        if not 0 <= t <= 1:
            raise InputError(f"t={t!r}: a probability lies between 0 and 1")
        below = self.c * t + self.d
        return float(np.clip((self.a * t + self.b) / below, 0.0, 1.0)) if below > 1e-300 else float("nan")

    @property
    def derivative(self) -> float:
        """How fast the answer moves at the present value."""
        t = self.value
        return (self.a * self.d - self.b * self.c) / (self.c * t + self.d) ** 2

    @property
    def name(self) -> str:
        given = ", ".join(f"{parent}={state}" for parent, state in self.parents.items())
        return f"P({self.node}={self.state}{' | ' if given else ''}{given})"


@dataclass(frozen=True)
class Sensitivity:
    """An answer as a function of every probability that is neither 0 nor 1, those that move it most first.

    Attributes
    ----------
    parameters : tuple of Parameter
        The probabilities, each with its exact function.
    answer : float
        The answer now.
    odds : float
        By how much the odds of each are divided and multiplied for its range.
    """

    target: str
    state: Label
    answer: float
    odds: float
    parameters: tuple[Parameter, ...]

    def range_of(self, parameter: Parameter) -> tuple[float, float]:
        """The answer where the odds of a probability are divided, and multiplied.

        Parameters
        ----------
        parameter : Parameter
            One of ``parameters``.
        """
        now = parameter.value / (1 - parameter.value)
        low, high = (parameter(odds / (1 + odds)) for odds in (now / self.odds, now * self.odds))
        return low, high

    @document_frame
    def frame(self, kind: str = "pyarrow") -> Frame:
        """A line for each probability: its name and value, the answer at both ends of its range, the derivative and the
        function's a, b, c and d.
        """
        ends = [self.range_of(p) for p in self.parameters]
        columns: dict[str, object] = {
            "parameter": [p.name for p in self.parameters],
            "value": [p.value for p in self.parameters],
            "low": [low for low, _ in ends],
            "high": [high for _, high in ends],
            "derivative": [p.derivative for p in self.parameters],
        }
        columns |= {name: [getattr(p, name) for p in self.parameters] for name in "abcd"}
        return frame(columns, kind)

    def plot(self, ax: Axes | None = None, most: int = 12) -> TornadoDisplay:
        """Bars from the answer at one end of a range to the other, the longest on top; one for two states of a line.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure unless given.
        most : int, default 12
            How many probabilities.
        """
        lines: dict[tuple[str, tuple[Label, ...], object], Parameter] = {}
        for p in self.parameters:  # two states of one line are one number
            line = (p.node, tuple(p.parents.values()), p.pair or p.state)
            lines.setdefault(line, p)
        drawn = list(lines.values())[:most]
        ends = np.array([self.range_of(p) for p in drawn]).reshape(-1, 2)
        title, measure = f"P({self.target}={self.state})", f"answer, odds divided and multiplied by {self.odds:g}"
        names = [p.name for p in drawn]
        return TornadoDisplay.from_ranges(names, ends[:, 0], ends[:, 1], self.answer, title, measure).plot(ax)


def vary_parameters(inference: Inference, codes: Code, target: str, state: int, odds: float) -> Sensitivity:
    """P(target = state | evidence) as a function of each probability, from two passes forward and back.

    P(e) = R + sum over a line of theta_j D_j; a pass has theta_j D_j = P(cell, e) of all cells at once.
    """
    network, place = inference.network, inference.network.nodes.index(target)
    if codes[place, 0] >= 0:
        raise InputError(f"{target!r} is in the evidence, so nothing can move it; leave it out")
    if not 1 < odds < np.inf:
        raise InputError(f"odds={odds!r}: give a finite number above 1")
    both = codes.copy()
    both[place, 0] = state
    whole, log_e = inference.expect_counts(codes, None)
    check_possible(log_e, inference, codes)
    answer = float(inference.joint(codes, [target])[0][0, state])
    part = inference.expect_counts(both, None)[0] * answer if answer > 0 else np.zeros_like(whole)
    found, begin = [], 0
    for node in network.nodes:
        table = network.potentials[node]
        cells = slice(begin, begin + table.size)
        begin += table.size
        theta, n_e, n_y = (x.reshape(-1, table.shape[-1]) for x in (table, whole[cells], part[cells]))
        line_e, line_y = n_e.sum(axis=1), n_y.sum(axis=1)
        for line, k in np.argwhere((theta > 0) & (theta < 1) & (line_e > 0)[:, None]).tolist():
            t = float(theta[line, k])
            a, b = _line(t, float(n_y[line, k]), float(line_y[line]), answer)
            c, d = _line(t, float(n_e[line, k]), float(line_e[line]), 1.0)
            at = np.unravel_index(line, table.shape[:-1]) if table.ndim > 1 else ()
            given = {p: network.states(p)[int(i)] for p, i in zip(network.graph.parents[node], at, strict=True)}
            pair = int((theta[line] > 0).sum()) == 2
            found.append(Parameter(node, network.states(node)[k], given, t, a, b, c, d, pair))
    made = Sensitivity(target, network.states(target)[state], answer, float(odds), ())
    found.sort(key=lambda p: (-_length(made.range_of(p)), p.name))
    return Sensitivity(target, made.state, answer, float(odds), tuple(found))


def _line(t: float, cell: float, line: float, now: float) -> tuple[float, float]:
    """Slope and value at 0 of a sum that is ``now`` at t, where the cell gives ``cell`` of it and its line ``line``."""
    at_zero = now - line + (line - cell) / (1 - t)
    return cell / t - (line - cell) / (1 - t), at_zero


def _length(ends: tuple[float, float]) -> float:
    found = abs(ends[1] - ends[0])
    return found if np.isfinite(found) else 0.0
