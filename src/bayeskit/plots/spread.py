"""Spread: how a measure varies over folds, and between models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import ArrayLike, Axes, Float, Json
from bayeskit.errors import InputError
from bayeskit.plots.style import FAINT, INK, PALETTE, Display, document, labels_of, tidy


@document
@dataclass(eq=False, repr=False)
class FoldDisplay(Display):
    """A measure in every fold, a line of dots for each model, with its mean.

    >>> FoldDisplay.from_values({"naive": [0.9, 0.94], "full": [0.95, 0.97]}, "accuracy").frame().num_rows
    4
    """

    values: dict[str, Float]  # by model, (folds,)
    measure: str

    @classmethod
    def from_values(cls, values: Mapping[str, object], measure: str) -> FoldDisplay:
        """From the values of every fold.

        Parameters
        ----------
        values : mapping
            Values of every fold, by name of the model.
        """
        found = {str(name): np.asarray(v, dtype=np.float64) for name, v in values.items()}
        if not any(np.isfinite(v).any() for v in found.values()):
            raise InputError(f"no fold has a value of {measure!r}; evaluate by folds to see how it varies")
        return cls(found, measure)

    def _columns(self) -> Json:
        return {
            "model": [name for name, v in self.values.items() for _ in v],
            "fold": np.concatenate([np.arange(len(v)) for v in self.values.values()]),
            self.measure: np.concatenate(list(self.values.values())),
        }

    def _size(self) -> tuple[float, float]:
        return 6.0, 1.5 + 0.45 * len(self.values)

    def _draw(self, ax: Axes) -> None:
        for i, v in enumerate(self.values.values()):
            known = v[np.isfinite(v)]
            if not len(known):
                continue
            beside = i + 0.22 * np.sin(2.4 * np.arange(len(known)))  # apart, and the same each time
            ax.plot([known.min(), known.max()], [i, i], color=FAINT, lw=1, zorder=1)
            ax.plot(known, beside, "o", color=PALETTE[0], alpha=0.6, ms=5, mec="none")
            ax.plot([known.mean()] * 2, [i - 0.32, i + 0.32], color=INK, lw=2)
        ax.set_yticks(range(len(self.values)), labels_of(list(self.values)))
        ax.set_ylim(len(self.values) - 0.4, -0.6)
        tidy(ax, f"{_words(self.measure)} by fold, and the mean", _words(self.measure))
        ax.tick_params(axis="y", length=0)


@document
@dataclass(eq=False, repr=False)
class ComparisonDisplay(Display):
    """A measure of several models with its intervals, the best on top."""

    names: list[str]
    value: Float  # (models,)
    low: Float  # (models,)
    high: Float  # (models,)
    measure: str
    note: list[str]  # (models) what is said beside each

    @classmethod
    def from_values(
        cls,
        names: Sequence[str],
        value: object,
        low: ArrayLike,
        high: ArrayLike,
        measure: str,
        note: Sequence[str] = (),
    ) -> ComparisonDisplay:
        """In the order to be shown.

        Parameters
        ----------
        value : sequence of float
            The values.
        low : sequence of float
            Lower ends of the intervals.
        high : sequence of float
            Upper ends.
        note : str
            A remark below.
        """
        middle, first, last = (np.asarray(v, dtype=np.float64) for v in (value, low, high))
        return cls(list(map(str, names)), middle, first, last, measure, list(note) or [""] * len(names))

    def _columns(self) -> Json:
        return {"model": self.names, self.measure: self.value, "low": self.low, "high": self.high}

    def _size(self) -> tuple[float, float]:
        return 6.4, 1.5 + 0.36 * len(self.names)

    def _draw(self, ax: Axes) -> None:
        y = np.arange(len(self.names))
        ends = np.nan_to_num(np.maximum([self.value - self.low, self.high - self.value], 0.0))
        ax.errorbar(self.value, y, xerr=ends, fmt="none", ecolor=PALETTE[0], lw=2)
        ax.plot(self.value, y, "o", color=PALETTE[0], mec="white", ms=8)
        if len(y) and np.isfinite(self.value[0]):
            ax.axvline(self.value[0], color=FAINT, lw=1, zorder=0)
        for i, text in enumerate(self.note):
            ax.annotate(text, (1.01, i), xycoords=("axes fraction", "data"), va="center", fontsize=8, color=INK)
        ax.set_yticks(y, labels_of(self.names))
        ax.set_ylim(len(y) - 0.4, -0.6)
        tidy(ax, f"{_words(self.measure)} with 95 % intervals", _words(self.measure))
        ax.tick_params(axis="y", length=0)


def _words(name: str) -> str:
    return name.replace("_", " ")
