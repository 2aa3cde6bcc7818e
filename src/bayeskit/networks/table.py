"""Table: the probabilities of a node's states in every configuration of its parents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from bayeskit.arrays import Float, Frame, Label
from bayeskit.data.frame import align, as_list, frame, html_table, is_frame, shorten
from bayeskit.data.levels import Levels, key
from bayeskit.docstrings import document_frame
from bayeskit.errors import NetworkError

MOST_STATES = 10_000
MOST_CELLS = 1 << 26
MOST_PARENTS = 48
ROUNDING = 1e-4  # how far from one the sum of a row of rounded probabilities may lie
PROBABILITY = "probability"
SHOWN = 64  # configurations of the parents that are shown


@dataclass(frozen=True, eq=False)
class Table:
    """P(child | parents).

    >>> Table("b", ("a",), np.array([[0.8, 0.2], [0.1, 0.9]]), (("no", "yes"), ("low", "high")))
    P(b | a)
    a    low  high
    no   0.8   0.2
    yes  0.1   0.9
    """

    child: str
    parents: tuple[str, ...]
    probabilities: Float  # (states of the first parent, ..., states of the child)
    states: tuple[tuple[Any, ...], ...] | None = None  # of each parent and the child, where they are to be shown

    def __post_init__(self) -> None:
        values = np.array(self.probabilities, dtype=np.float64, order="C")
        if values.ndim != len(self.parents) + 1 or not values.size:
            raise NetworkError(
                f"the table of {self.child!r} has the shape {values.shape}; it needs one axis for each of its "
                f"{len(self.parents)} parents and one for its own states"
            )
        if not (np.isfinite(values) & (values >= 0)).all():
            raise NetworkError(f"the table of {self.child!r} has a probability that is negative or no number")
        off = np.abs(values.sum(axis=-1) - 1)
        if off.max() > ROUNDING:
            where = np.unravel_index(int(off.argmax()), off.shape)
            given = zip(self.parents, self._named_as(values.shape), map(int, where), strict=False)
            shown = ", ".join(f"{parent!r} in the state {states[i]!r}" for parent, states, i in given)
            shown = f" for {shown}" if shown else ""
            raise NetworkError(
                f"the probabilities of {self.child!r}{shown} add up to {values[where].sum():.9g}, not to 1; "
                f"correct them"
            )
        values.flags.writeable = False
        object.__setattr__(self, "probabilities", values)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Table)
            and (self.child, self.parents) == (other.child, other.parents)
            and np.array_equal(self.probabilities, other.probabilities)
        )

    def _named_as(self, shape: tuple[int, ...]) -> tuple[tuple[Label, ...], ...]:
        return self.states or tuple(tuple(range(size)) for size in shape)

    @property
    def _named(self) -> tuple[tuple[Label, ...], ...]:
        return self._named_as(self.probabilities.shape)

    @property
    def _lines(self) -> list[list[str]]:
        """A line for each configuration of the parents, below the names of these and the child's states."""
        *given, own = self._named
        configurations = list(product(*given))
        rows = self.probabilities.reshape(-1, len(own))
        lines = [[*self.parents, *map(shorten, own)]]
        for labels, row in zip(configurations[:SHOWN], rows.tolist(), strict=False):
            lines.append([*map(shorten, labels), *(f"{p:.6g}" for p in row)])
        if len(rows) > SHOWN:
            lines.append(["…"] * len(lines[0]))
        return lines

    @property
    def _title(self) -> str:
        return f"P({self.child}{' | ' + ', '.join(self.parents) if self.parents else ''})"

    def __repr__(self) -> str:
        return f"{self._title}\n{align(self._lines, len(self.parents))}"

    def _repr_html_(self) -> str:
        return html_table(self._lines, len(self.parents), self._title)

    @document_frame
    def frame(self, kind: str = "pyarrow") -> Frame:
        """A row for each cell: the states of parents and child, and their probability, as ``tables=`` takes it."""
        cells = list(zip(*product(*self._named), strict=True))
        columns = {name: _alike(labels) for name, labels in zip((*self.parents, self.child), cells, strict=True)}
        return frame({**columns, PROBABILITY: self.probabilities.ravel()}, kind)


def cells_of(node: str, sizes: Mapping[str, int], family: tuple[str, ...]) -> tuple[int, ...]:
    """The shape of a table, refused if no memory should be spent on it."""
    if len(family) > MOST_PARENTS + 1:
        raise NetworkError(
            f"{node!r} has {len(family) - 1} parents, and a node may have {MOST_PARENTS}; take some away"
        )
    shape = tuple(sizes[name] for name in family)
    for name, size in zip(family, shape, strict=True):
        if size > MOST_STATES:
            raise NetworkError(
                f"{name!r} has {size} states, and a node may have {MOST_STATES}; group its values, cut it into "
                f"intervals, or leave it out"
            )
    if prod(shape) > MOST_CELLS:
        raise NetworkError(
            f"the table of {node!r} would have {prod(shape):.3g} cells ({' x '.join(map(str, shape))}), more than "
            f"{MOST_CELLS}; take away parents or group states"
        )
    return shape


def declare_states(node: str, given: Any) -> Levels:
    """States as a user declares them: a list, or for a hidden node their number.

    >>> declare_states("h", 3).values, declare_states("colour", ["red", "blue"]).values
    ([0, 1, 2], ['red', 'blue'])
    """
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        given = range(min(max(int(given), 0), MOST_STATES + 1))
    listed: list[Label] = [given] if isinstance(given, str) else list(given)
    found = Levels.of(listed)
    if len(found) < len(listed) or not 1 <= len(found) <= MOST_STATES:
        raise NetworkError(
            f"the states of {node!r} must be 1 to {MOST_STATES} different values, none of them missing, or their number"
        )
    return found


def states_of(spec: object, child: str) -> Levels | None:
    """The states a table's description names, in its order; None where it is an array."""
    if isinstance(spec, Mapping):
        rows = list(spec.values())
        inner = rows[0] if rows and isinstance(rows[0], Mapping) else spec
        return Levels.of(inner)
    if is_frame(spec):
        return Levels.of(_column(spec, child))
    return None


def table_of(spec: object, child: str, parents: tuple[str, ...], states: Mapping[str, Levels]) -> Table:
    """A table from what a user writes: an array, {state: p}, {parents' states: {state: p}}, or a frame.

    A frame has a column for every parent and the child, and one named ``probability``.
    """
    family = (*parents, child)
    shape = cells_of(child, {name: len(states[name]) for name in family}, family)
    named = tuple(tuple(states[name].values) for name in family)
    if isinstance(spec, Table):
        spec = spec.probabilities
    if is_frame(spec):
        columns = [_column(spec, name) for name in family]
        cells = list(zip(zip(*columns, strict=True), _column(spec, PROBABILITY), strict=True))
    elif isinstance(spec, Mapping):
        cells = []
        for given, row in spec.items() if parents else [((), spec)]:
            if not isinstance(row, Mapping):
                raise NetworkError(
                    f"the table of {child!r} must map states of its parents ({', '.join(parents)}) to {{state: "
                    f"probability}}; {given!r} leads to {row!r}"
                )
            first = given if isinstance(given, tuple) else (given,)
            cells += [((*first, state), p) for state, p in row.items()]
    else:
        values = np.asarray(spec, dtype=np.float64)
        if values.shape != shape:
            raise NetworkError(
                f"the table of {child!r} has the shape {values.shape}, but {' x '.join(family)} has {shape}"
            )
        return Table(child, parents, values, named)
    out = np.full(shape, np.nan)
    for labels, p in cells:
        place = _place(labels, family, states)
        if not np.isnan(out[place]):
            raise NetworkError(f"the table of {child!r} has the states {labels!r} twice")
        out[place] = float(p)
    lacking = np.argwhere(np.isnan(out))
    if len(lacking):
        labels = tuple(states[name].values[code] for name, code in zip(family, lacking[0].tolist(), strict=True))
        raise NetworkError(
            f"the table of {child!r} says nothing on {dict(zip(family, labels, strict=True))}; give it a probability"
        )
    return Table(child, parents, out, named)


def _alike(labels: Sequence[Label]) -> list[Label]:
    """States as a column; of several types, as texts."""
    return list(labels) if len({type(label) for label in labels}) == 1 else [str(label) for label in labels]


def _column(frame: Any, name: str) -> list[Any]:
    try:
        column = frame[name]
    except (KeyError, ValueError) as error:
        raise NetworkError(f"the frame of a table lacks the column {name!r}") from error
    return list(as_list(column))


def _place(labels: tuple[Label, ...], family: tuple[str, ...], states: Mapping[str, Levels]) -> tuple[int, ...]:
    if len(labels) != len(family):
        raise NetworkError(f"a table over {' x '.join(family)} has an entry for {labels!r}; give one state for each")
    return tuple(code_of(states[name], label, name) for name, label in zip(family, labels, strict=True))


def code_of(states: Levels, label: Label, node: str) -> int:
    """The position of a state, or an error that names it."""
    try:
        found = key(label)
        code = None if found is None else states.index.get(found)
    except TypeError:
        code = None
    if code is None:
        raise NetworkError(f"node {node!r} has no state {label!r} (it has: {states.show()})")
    return code
