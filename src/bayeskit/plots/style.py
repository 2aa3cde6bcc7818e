"""Style: colours everyone can tell apart, and the frame every display stands in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from bayeskit.arrays import Axes, Frame, Int, Json, Label, LabelsLike
from bayeskit.data.frame import frame, shorten
from bayeskit.docstrings import complete_docstrings, document_frame
from bayeskit.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase
    from matplotlib.text import Text

# Okabe and Ito's palette, which the colour-blind can tell apart; the order puts the strongest contrasts first
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#555555")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":")
INK, FAINT = "#222222", "#B0B0B0"
FOR, AGAINST = PALETTE[0], PALETTE[1]
HIDDEN = "\u200b"  # a space of no width
LEGEND = 10  # classes named in a legend


SHARED = {  # parameters that displays have in common
    "X": """table
        Rows to draw.""",
    "y": """array of shape (n,) or str
        Their classes.""",
    "estimator": """classifier
        Fitted.""",
    "proba": """array of shape (n, K)
        P(class | row).""",
    "classes": """sequence, optional
        The classes, in the order of the columns of ``proba``.""",
    "label": """class, optional
        The class to show.""",
    "sample_weight": """array of shape (n,), optional
        Weights of the rows: a weight of 2 is the same as two copies of a row.""",
    "columns": """pair, optional
        The two columns of the plane; the first two unless named.""",
    "resolution": """int, default 240
        Points of the grid along each axis.""",
    "margin": """float, default 0.12
        How far the plane reaches beyond the rows, as a share of their range.""",
    "at": """mapping, optional
        Values of the columns that are not drawn; missing unless given.""",
    "bands": """{"wilson", "consistency", "bootstrap"}, default "wilson"
        Which 95 % bands: of each share, around the diagonal where probabilities are right, or by drawing rows anew.""",
    "bins": """int, default 15
        Cells of equal width.""",
    "costs": """mapping or matrix
        {true: {decided: cost}}, or a matrix in the order of the classes.""",
    "distances": """sequence of float
        Mahalanobis distances to draw.""",
    "layers": """sequence of sequences
        Nodes of every layer, left to right.""",
    "measure": """str
        Name of the measure.""",
    "names": """sequence of str
        Names, in the order to be shown.""",
}
document = complete_docstrings(SHARED, {})


class Display:
    """Numbers first, a picture second: ``frame()`` holds what ``plot()`` draws."""

    size: ClassVar[tuple[float, float]] = (6.0, 4.2)  # inches
    ax_: Any
    figure_: Any

    def _columns(self) -> Json:
        raise NotImplementedError

    def _draw(self, ax: Axes) -> None:
        raise NotImplementedError

    def _size(self) -> tuple[float, float]:
        return self.size

    def __repr__(self) -> str:
        """The kind of display and the columns of its frame: what it holds may be many numbers."""
        return f"<{type(self).__name__}: frame() has {', '.join(self._columns())}>"

    @document_frame
    def frame(self, kind: str = "pyarrow") -> Frame:
        """What is drawn, as a frame of one kind ("pyarrow", "pandas", "polars")."""
        return frame(self._columns(), kind)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into ``ax``, or a new figure; ``ax_`` and ``figure_`` lead to it.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure unless given.
        """
        others = {} if ax is None else _texts(ax.figure)
        if ax is None:
            ax = new_axes(self._size())
        self._draw(ax)
        _verbatim(ax, others)
        object.__setattr__(self, "ax_", ax)
        object.__setattr__(self, "figure_", ax.figure)
        return self


def new_axes(size: tuple[float, float]) -> Axes:
    """The axes of a new figure, its parts kept apart."""
    import matplotlib.pyplot as plt

    made: Axes = plt.subplots(figsize=size, layout="constrained")[1]
    return made


def _texts(figure: FigureBase) -> dict[Text, str]:
    from matplotlib.text import Text

    return {text: text.get_text() for text in figure.findobj(Text)}


def _verbatim(ax: Axes, others: dict[Text, str]) -> None:
    """What was written into axes is no TeX, whatever signs names have; the texts of ``others`` stay as they are.

    So do ticks that are numbers: powers of ten are TeX.
    """
    from matplotlib.ticker import FixedLocator

    axes = [axis for panel in ax.figure.axes for axis in (panel.xaxis, panel.yaxis)]
    ticks = {axis: [label for tick in axis.get_major_ticks() for label in (tick.label1, tick.label2)] for axis in axes}
    numbers = {label for labels in ticks.values() for label in labels}
    fixed = [labels for axis, labels in ticks.items() if isinstance(axis.get_major_locator(), FixedLocator)]
    new = [text for text, said in _texts(ax.figure).items() if text not in numbers and others.get(text) != said]
    for text in (*chain.from_iterable(fixed), *new):
        text.set_parse_math(False)
        text.set_usetex(False)


def colour(k: int) -> str:
    return PALETTE[k % len(PALETTE)]


def marker(k: int) -> str:
    """Another shape once the colours come round again, so that a pair of both is one class."""
    return MARKERS[(k + k // len(PALETTE)) % len(MARKERS)]


def line(k: int) -> str:
    return LINES[(k // len(PALETTE) + k) % len(LINES)]


def tidy(ax: Axes, title: str = "", x: str = "", y: str = "") -> None:
    """Title and axis names of bearable length, no box around the picture."""
    if title:
        ax.set_title(shorten(title, 64), fontsize=11, color=INK, loc="left")
    if x:
        ax.set_xlabel(shorten(x, 48))
    if y:
        ax.set_ylabel(shorten(y, 48))
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def legend(ax: Axes, names: Sequence[str], **where: str) -> None:
    """The classes that were drawn, none if there are too many to read."""
    handles, labels = ax.get_legend_handles_labels()
    if len(names) > LEGEND:
        note = f"{len(names)} classes"
        ax.annotate(note, (0.99, 0.98), xycoords="axes fraction", ha="right", va="top", fontsize=9, color="#555555")
    elif labels:
        shown = ax.legend(handles, labels, framealpha=0.75, edgecolor="none", fontsize=9, **where)
        for text in shown.get_texts():
            text.set_text(text.get_text().removeprefix(HIDDEN))


def entry(label: str) -> str:
    """A label for a legend; matplotlib leaves out those that begin with an underscore."""
    return f"{HIDDEN}{label}" if label.startswith("_") else label


def labels_of(classes: LabelsLike | Sequence[Label]) -> list[str]:
    """Labels as short texts, numbered where shortening made them equal."""
    texts = [shorten(c) for c in np.asarray(classes, dtype=object).tolist()]
    return [t if texts.count(t) == 1 else f"{t} ({i})" for i, t in enumerate(texts)]


def codes_of(y: LabelsLike | Sequence[Label], classes: Sequence[Label]) -> Int:
    """The place of each label among the classes: (n,)."""
    place = {label: k for k, label in enumerate(classes)}
    given = np.asarray(y).ravel().tolist()
    if lost := [label for label in given if label not in place]:
        known = ", ".join(map(shorten, classes[:8]))
        raise InputError(f"label {lost[0]!r} is not a class of these predictions ({known}); give classes=[...]")
    return np.array([place[label] for label in given], dtype=np.int64)


@dataclass(eq=False, repr=False)
class Panels:
    """Displays in rows of two; ``displays`` keep their frames and axes."""

    displays: list[Display]
    figure_: Any = None

    def __repr__(self) -> str:
        return f"<Panels: {', '.join(type(display).__name__ for display in self.displays)}>"

    @classmethod
    def of(cls, displays: Sequence[Display], across: int = 2) -> Panels:
        """Displays side by side.

        Parameters
        ----------
        displays : sequence of displays
            What to draw.
        across : int, default 2
            Displays in a row.
        """
        import matplotlib.pyplot as plt

        made = cls(list(displays))
        down = -(-len(made.displays) // across)
        figure, axes = plt.subplots(
            down, across, figsize=(5.4 * across, 4.4 * down), layout="constrained", squeeze=False
        )
        for ax in axes.ravel()[len(made.displays) :]:
            ax.remove()
        for display, ax in zip(made.displays, axes.ravel(), strict=False):
            display.plot(ax)
        made.figure_ = figure
        return made
