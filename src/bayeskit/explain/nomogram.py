"""Nomogram: points for every value of every column, added up to a probability by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.arrays import ArrayLike, Axes, Float, Frame, Label, NamesLike, PriorLike, TableLike
from bayeskit.data.block import Block
from bayeskit.data.frame import TableRepr, frame, shorten
from bayeskit.deferred import deferred
from bayeskit.docstrings import document_frame
from bayeskit.errors import InputError
from bayeskit.explain.explanation import Explanation
from bayeskit.explain.marginal import Marginal, log_densities, marginals
from bayeskit.explain.trials import numbers_of
from bayeskit.explain.words import name_parts, word_densities
from bayeskit.explain.written import between
from bayeskit.model.model import Model
from bayeskit.plots.style import Display

expit = deferred("scipy.special", "expit")

FULL = 100.0  # points of the column with the widest range
MOST = 1000  # columns that a person could add up, and then some


@dataclass(frozen=True)
class Contrast:
    """The class whose odds are shown, the one it is held against, and another prior than that of the model."""

    target: Label
    rival: Label | None = None
    prior: PriorLike = None


@dataclass(frozen=True)
class Scale:
    """One column: its values with their points; a number column is an axis between them."""

    name: str
    values: tuple[Any, ...]  # (m)
    points: Float  # (m,)
    missing: float  # points where it is not known
    numeric: bool
    joined: bool  # whether numbers between the values exist


@dataclass(frozen=True)
class Link:
    """What a model made of another one does to the log odds that add up, and the way back."""

    odds: Callable[[Float], Float] = lambda summed: summed
    summed: Callable[[Float], Float] = lambda odds: odds

    def scale(self, slope: float, shift: float) -> Link:
        """The same, then slope * odds + shift."""
        if not slope > 0:
            raise InputError(f"the odds are multiplied by {slope:.3g}, so that no column distinguishes the classes")
        return Link(lambda summed: slope * self.odds(summed) + shift, lambda odds: self.summed((odds - shift) / slope))


@dataclass(frozen=True, eq=False, repr=False)
class Nomogram(TableRepr):
    """log odds of target against rival = link(base + unit * total points), each column from 0 at its least.

    The odds of two classes add up over the columns of a naive model; the odds of one class against several others
    together do not, so with more than two classes the probability is P(target | target or rival, x).

    >>> import bayeskit as bk
    >>> model = bk.NaiveBayes().fit({"fever": ["no", "yes", "yes", "no"]}, ["ill", "ill", "ill", "well"])
    >>> chart = model.nomogram("ill")
    >>> chart.probability(chart.points({"fever": ["yes"]}).sum(axis=1)).round(6).tolist()
    [0.84375]
    >>> model.predict_proba({"fever": ["yes"]})[:, 0].round(6).tolist()
    [0.84375]
    """

    target: Any
    rival: Any
    pair: tuple[int, int]  # places of the two among the classes
    scales: tuple[Scale, ...]
    low: Float  # (parts,) least weight of evidence of each column in nats, 0 for those that say nothing
    base: float  # log odds at 0 points
    unit: float  # nats to a point
    explain: Callable[[Any], Explanation]
    several: bool  # whether there are classes besides the two
    link: Link = Link()

    @classmethod
    def of(
        cls,
        model: Model,
        explain: Callable[[TableLike], Explanation],
        contrast: Contrast,
        among: Sequence[Block] = (),
        names: NamesLike = None,
    ) -> Nomogram:
        labels = model.classes.tolist()
        a, b = _pair(labels, contrast.target, contrast.rival)
        if not model.density.additive:
            raise InputError(
                "a nomogram adds up points column by column, which only a model with columns independent given the "
                "class allows (NaiveBayes); explain the rows of this one instead"
            )
        axes = _axes(model, among)
        weights = {name: axis.weight * (axis.log_density[:, a] - axis.log_density[:, b]) for name, axis in axes.items()}
        for name, weight in weights.items():
            if not np.isfinite(weight).all():
                raise InputError(
                    f"column {name!r} has a value that rules a class out, which is no number of points; "
                    f"fit with smoothing above 0"
                )
        low = {name: float(weight.min()) for name, weight in weights.items()}
        widest = max((float(np.ptp(weight)) for weight in weights.values()), default=0.0)
        if not widest > 0:
            raise InputError(f"no column distinguishes {labels[a]!r} from {labels[b]!r}; there is nothing to draw")
        unit, start = widest / FULL, model.log_base(contrast.prior)
        if not np.isfinite(start[[a, b]]).all():
            raise InputError("a class with prior 0 has no odds; give both classes a prior above 0")
        scales = tuple(
            Scale(shown, axis.values, (weights[name] - low[name]) / unit, -low[name] / unit, axis.numeric, axis.joined)
            for (name, axis), shown in zip(axes.items(), name_parts(list(axes), model.schema.names, names), strict=True)
        )
        below = np.array([low.get(name, 0.0) for name in model.density.columns])
        base = float(start[a] - start[b] + below.sum())
        return cls(labels[a], labels[b], (a, b), scales, below, base, unit, explain, len(labels) > 2)

    def points(self, X: TableLike) -> Float:
        """The points of every column of some rows, exact also between and beyond the values listed: (n, columns)."""
        terms = self.explain(X).terms
        found: Float = (terms[:, :, self.pair[0]] - terms[:, :, self.pair[1]] - self.low) / self.unit
        return found

    def probability(self, total: ArrayLike) -> Float:
        """P(target) for a total of points; of the two classes alone if there are more."""
        found: Float = np.asarray(expit(self.link.odds(self.base + self.unit * np.asarray(total, np.float64))))
        return found

    def total(self, probability: ArrayLike) -> Float:
        """The total of points that gives a probability; infinite or NaN for one that no total gives."""
        p = np.asarray(probability, dtype=np.float64)
        points: Float = np.asarray((self.link.summed(np.log(p) - np.log1p(-p)) - self.base) / self.unit)
        return points

    @document_frame
    def frame(self, kind: str = "pyarrow") -> Frame:
        """A line for each value of each column: its points."""
        each = [(s, v, p) for s in self.scales for v, p in [*zip(s.values, s.points, strict=True), (None, s.missing)]]
        return frame(
            {
                "column": [s.name for s, _, _ in each],
                "value": [None if v is None else str(v) for _, v, _ in each],
                "number": [float(v) if s.numeric and v is not None else None for s, v, _ in each],
                "points": np.array([p for *_, p in each]),
            },
            kind,
        )

    def plot(self, most: int = 12, ax: Axes | None = None) -> Display:
        """A page to print: an axis of points, one for each column, the total and the probability.

        Only the columns with the most points are shown, ``most`` of them; the others count as missing.
        """
        from bayeskit.plots.nomogram import NomogramDisplay

        ranked = sorted(self.scales, key=lambda s: -float(np.ptp(s.points)))[:most]
        shown = [s for s in self.scales if s in ranked]
        others = [s for s in self.scales if s not in ranked]
        unshown = sum(s.missing for s in others)
        return NomogramDisplay.from_scales(
            shown,
            lambda total: self.probability(total + unshown),
            lambda chance: self.total(chance) - unshown,
            self._says,
            len(others),
        ).plot(ax)

    @property
    def _says(self) -> str:
        given = f" | {shorten(self.target)} or {shorten(self.rival)}" if self.several else ""
        return f"P({shorten(self.target)}{given})"

    def _title(self) -> str:
        return f"nomogram of {self._says}; even odds at {float(self.total(0.5)):.1f} points"

    def _lines(self) -> list[list[str]]:
        lines = [["column", "fewest points at", "most points at", "points", "missing"]]
        for s in self.scales:
            least, most = (shorten(s.values[int(i)]) for i in (np.argmin(s.points), np.argmax(s.points)))
            lines.append([shorten(s.name), least, most, f"{float(np.max(s.points)):.1f}", f"{s.missing:.1f}"])
        return lines


def _pair(labels: list[Label], target: Label, rival: Label) -> tuple[int, int]:
    """Places of the class and of the one it is held against."""
    names = ", ".join(map(shorten, labels[:20]))
    for label in (target, rival):
        if label is not None and label not in labels:
            raise InputError(f"label {label!r} is not a class ({names})")
    if len(labels) < 2:
        raise InputError("a model of one class has no odds to draw; learn rows of another class first")
    if target is None and len(labels) == 2:
        target = labels[0] if rival == labels[1] else labels[1]
    if target is None or (rival is None and len(labels) > 2):
        raise InputError(
            f"name the class and the rival it is held against, of {names}: the odds of one class against all others "
            f"together do not add up column by column"
        )
    other = 1 - labels.index(target) if rival is None else labels.index(rival)
    if other == labels.index(target):
        raise InputError(f"the class {target!r} cannot be its own rival; name another")
    return labels.index(target), other


def _marginals(model: Model) -> dict[str, Marginal]:
    if len(model.schema.names) > MOST:
        raise InputError(f"{len(model.schema.names)} columns are too many for a nomogram; choose up to {MOST}")
    alone, words = marginals(model), _words(model)
    there = {*alone, *words, *model.constant}
    if lost := [n for n in model.schema.names if n not in there and model.schema[n].family]:
        raise InputError(
            f"column {lost[0]!r} ({model.described[lost[0]].family}) has no range of values to put on an axis; "
            f"leave it out or choose another family"
        )
    return alone


def _words(model: Model) -> dict[str, tuple[float, float]]:
    """The columns of texts, of which every count adds as much, with the range learned."""
    known = {name: model.counted.seen(name) for density in word_densities(model) for name in density.columns}
    return {name: seen for name, seen in known.items() if np.isfinite(seen).all() and name not in model.constant}


@dataclass(frozen=True)
class Axis:
    """The values of a column that are shown, and what it says there."""

    values: tuple[Any, ...]  # (m)
    log_density: Float  # (m, K)
    weight: float
    numeric: bool
    joined: bool  # whether numbers between the values exist


def _axes(model: Model, among: Sequence[Block]) -> dict[str, Axis]:
    """All levels, the usual numbers as far as rows have such, written with the decimals of the column."""
    alone = {n: m.among(numbers_of(among, n)) if m.numeric else m for n, m in _marginals(model).items()}
    shown = {name: m.as_recorded() for name, m in alone.items() if m.numeric}
    for name, seen in _words(model).items():
        known = numbers_of(among, name)
        ends = (float(known.min()), float(known.max())) if len(known) else seen
        shown[name] = between(*ends, model.counted.decimals(name))
    logs = log_densities(model, {name: values for name, (values, _) in shown.items()})
    counts = model.factor_weights
    found = {
        name: Axis(tuple(values.tolist()), logs[name], counts.get(name, 1.0), True, joined)
        for name, (values, joined) in shown.items()
    }
    for name, m in alone.items():
        if not m.numeric:
            found[name] = Axis(tuple(m.values), m.log_density, m.weight, False, False)
    return {name: found[name] for name in model.schema.names if name in found}
