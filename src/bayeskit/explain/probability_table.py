"""Probability table: P(level | class), P(word | class) and P(cell | class) of a model, with what was counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Array, Float, Frame, NamesLike
from bayeskit.data.frame import TableRepr, frame, shorten
from bayeskit.docstrings import document_frame
from bayeskit.errors import InputError
from bayeskit.explain.marginal import marginals
from bayeskit.explain.words import name_columns, word_densities
from bayeskit.model.model import Model
from bayeskit.statistics.rows import Distinct
from bayeskit.statistics.sliced import Sliced
from bayeskit.statistics.tables import Tables
from bayeskit.structures.full import FullDensity

LINES, SHOWN = 20, 6  # lines and classes of the text
EVERY = 10_000  # cells up to which a joint table has those that no row has


@dataclass(frozen=True, eq=False, repr=False)
class ProbabilityTable(TableRepr):
    """P(what a line names | c) and the weight of the rows that have it; ``frame()`` has a line for each class."""

    keys: Mapping[str, Sequence[str]]  # what a line names
    classes: Array  # (K,)
    probability: Float  # (m, K)
    count: Float  # (m, K), NaN where the model does not count it

    def __len__(self) -> int:
        return len(self.probability)

    def __contains__(self, name: object) -> bool:
        """Whether a line names this column, level or word."""
        return any(name in values for values in self.keys.values())

    @document_frame
    def frame(self, kind: str = "pyarrow") -> Frame:
        """A line for each line of the table and class: what it names, class, P, count."""
        times, labels = len(self.classes), self.classes.tolist()
        keys = {name: [value for value in values for _ in range(times)] for name, values in self.keys.items()}
        one_type = len({type(label) for label in labels}) == 1
        each = (labels if one_type else list(map(str, labels))) * len(self)
        return frame({**keys, "class": each, "P": self.probability.ravel(), "count": self.count.ravel()}, kind)

    @property
    def _left(self) -> int:  # type: ignore[override]
        return len(self.keys)

    def _title(self) -> str:
        more = [f"the {LINES} of {len(self):,} lines in which classes differ most"] if len(self) > LINES else []
        more += [f"the first {SHOWN} of {len(self.classes)} classes"] if len(self.classes) > SHOWN else []
        return "P(... | class), and the weight counted" + (
            f" ({'; '.join([*more, '.frame() has all'])})" if more else ""
        )

    def _lines(self) -> list[list[str]]:
        order = np.arange(len(self))
        if len(self) > LINES:
            order = np.sort(np.argsort(-np.ptp(self.probability, axis=1), kind="stable")[:LINES])
        labels = [shorten(label) for label in self.classes[:SHOWN].tolist()]
        lines = [[*self.keys, *labels]]
        for i in order.tolist():
            cells = zip(self.probability[i, :SHOWN].tolist(), self.count[i, :SHOWN].tolist(), strict=True)
            shown = [f"{p:.4g}" + ("" if n != n else f" ({n:.6g})") for p, n in cells]
            lines.append([*(shorten(values[i]) for values in self.keys.values()), *shown])
        return lines


def level_probabilities(model: Model, names: NamesLike = None) -> ProbabilityTable:
    """Of the levels and words of a model; columns of numbers have densities instead."""
    called, counts = dict(zip(model.schema.names, name_columns(model.schema.names, names), strict=True)), _counts(model)
    column: list[str] = []
    level: list[str] = []
    probability, count = [], []
    for name, alone in marginals(model, model.schema.coded).items():
        place = list(model.counted.domain.levels[name].values)
        known = counts.get(name)
        for value, log in zip(alone.values, alone.log_density, strict=True):
            column.append(called[name])
            level.append(_text(value))
            probability.append(np.exp(log))
            there = known is not None and value in place
            count.append(known[:, place.index(value)] if known is not None and there else np.full(len(log), np.nan))
    for density in word_densities(model):
        share, sums = density.probabilities(), density.totals.sums.dense.to_float() / density.unit
        column += density.columns
        level += [called[name] for name in density.columns]
        probability += list(share)
        count += list(sums.T)
    if not column:
        raise InputError(
            "no column has levels or words; ask marginal(column) for the density of numbers, or summary() for their "
            "means and deviations"
        )
    return ProbabilityTable({"column": column, "level": level}, model.classes, np.array(probability), np.array(count))


def cell_probabilities(model: Model) -> ProbabilityTable:
    """Of the cells of all categories together; those that no row has too, if they are not too many."""
    (density,) = model.class_density.densities
    assert isinstance(density, FullDensity)
    joint = density.joint
    if not joint.columns:
        raise InputError(
            "no column has levels, so there is no joint table; means_ and covariances_ describe the numbers"
        )
    every = float(np.log(joint.sizes).sum()) <= np.log(EVERY)
    cells = np.stack(np.unravel_index(np.arange(joint.sizes.prod()), joint.sizes), axis=1) if every else joint.cells
    found = joint.find(cells)
    count = np.where((found >= 0)[:, None], joint.rounded[np.maximum(found, 0)] if len(joint.cells) else 0.0, 0.0)
    levels = [model.counted.domain.levels[name].values for name in joint.columns]
    texts = ([_text(values[i]) for i in codes.tolist()] for values, codes in zip(levels, cells.T, strict=True))
    keys = dict(zip(joint.columns, texts, strict=True))
    return ProbabilityTable(keys, model.classes, np.exp(joint.log(cells)), count)


def _text(value: object) -> str:
    return "missing" if value is None else str(value)


def _counts(model: Model) -> dict[str, Float]:
    """The weight of each level in each class, (K, m), of the columns of which the model keeps a table."""
    found: dict[str, Float] = {}
    for family, part in model.features.parts.items():
        counted = family.chosen(part, model.context)[1] if isinstance(part, Distinct) else part
        counted = counted["levels"] if isinstance(counted, Sliced) else counted
        if isinstance(counted, Tables):
            single = [t for t, names in enumerate(counted.tables) if len(names) == 1]
            found |= {counted.tables[t][0]: counted.table(t).to_float() for t in single}
    for density in model.class_density.densities:
        if isinstance(density, FullDensity):
            found |= {
                name: sums.to_float().T for name, sums in zip(density.joint.columns, density.joint.margins, strict=True)
            }
    return found
