"""Summary: what a model has learned, in a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.arrays import Frame, Json, NamesLike
from bayeskit.data.frame import align, frame, html_table, shorten
from bayeskit.docstrings import document_frame
from bayeskit.explain.marginal import marginals
from bayeskit.explain.words import name_columns, name_parts
from bayeskit.model.model import Model

MOST = 20
SHOWN = 6  # classes side by side
RANKED = 500  # columns up to which they are ranked by information
LEVELS = 12  # of a column, by class


@dataclass(frozen=True, repr=False)
class Summary:
    """Classes with their priors, columns with their kinds, families and reasons, information, what was left out."""

    classes: tuple[tuple[Any, float, float], ...]  # label, weight, prior
    columns: tuple[dict[str, Any], ...]
    constant: tuple[str, ...]  # columns that have one value only, which say nothing
    regularised: tuple[tuple[Any, tuple[str, ...]], ...]  # label, columns its own covariance does not tell apart
    unlabelled: int
    rounded: int
    digest: str
    inclusion: Mapping[str, tuple[float, float]]  # by column whose family the data chose: weight, and nats gained
    parameters: tuple[
        dict[str, Any], ...
    ] = ()  # of columns, the most informative first: bits, and by class what it has

    @classmethod
    def of(cls, model: Model, names: NamesLike = None) -> Summary:
        """Of a model whose columns may be called by names they did not come with."""
        prior = np.exp(model.log_prior())
        ingest = model.counted.ingest
        said = dict(zip(model.schema.names, name_columns(model.schema.names, names), strict=True))
        return cls(
            tuple(zip(model.classes.tolist(), model.weights.tolist(), prior.tolist(), strict=True)),
            tuple({**row, "name": said[row["name"]]} for row in model.described.rows()),
            tuple(said[name] for name in model.constant),
            tuple(
                (label, name_parts(parts, model.schema.names, names))
                for label, parts in zip(model.classes.tolist(), model.density.regularised, strict=False)
                if parts
            ),
            ingest.unlabelled,
            ingest.rounded,
            model.digest,
            {said[name]: (chosen.weight, chosen.gain) for name, chosen in model.density.chosen.items()},
            tuple({**found, "column": said[found["column"]]} for found in _parameters(model)),
        )

    def __str__(self) -> str:
        text = [align(self._class_lines(), left=1), align(self._column_lines(), left=4)]
        if len(self.columns) > MOST:
            text.append(f"... and {len(self.columns) - MOST:,} more columns; .frame() has all")
        if self.parameters:
            labels = [shorten(label) for label, *_ in self.classes[:SHOWN]]
            lines = [
                [shorten(p["column"]), f"{p['bits']:.3f}", *(_words(c) for c in p["classes"][:SHOWN])]
                for p in self.parameters[:MOST]
            ]
            text.append(align([["most informative", "bits", *labels], *lines], left=1))
            if len(self.classes) > SHOWN:
                text.append(f"(the first {SHOWN} classes; {len(self.classes) - SHOWN} more)")
        for label, names in self.regularised:
            shown = ", ".join(names[:MOST]) + (", ..." if len(names) > MOST else "")
            text.append(f"regularised in class {label}: {shown}")
        if self.unlabelled:
            text.append(f"{self.unlabelled} rows without a label were skipped")
        if self.rounded:
            text.append(f"{self.rounded} integers beyond 2**53 were rounded")
        return "\n\n".join(text)

    def __repr__(self) -> str:
        return str(self)

    @document_frame
    def frame(self, kind: str = "pyarrow") -> Frame:
        """A line for each column: name, kind, family, why, and its bits on the class, where known."""
        bits = {found["column"]: found["bits"] for found in self.parameters}
        names = [column["name"] for column in self.columns]
        return frame(
            {
                "column": names,
                "kind": [column["kind"] for column in self.columns],
                "family": [column["family"] for column in self.columns],
                "why": [self._why(column) for column in self.columns],
                "bits": np.array([bits.get(name, np.nan) for name in names], dtype=np.float64),
            },
            kind,
        )

    def _repr_html_(self) -> str:
        more = f", the first {MOST} shown" if len(self.columns) > MOST else ""
        classes = html_table(self._class_lines(), left=1, caption=f"{len(self.classes)} classes")
        columns = html_table(self._column_lines(), left=4, caption=f"{len(self.columns)} columns{more}")
        return f"<div>{classes}{columns}</div>"

    def _class_lines(self) -> list[list[str]]:
        return [["class", "weight", "prior"], *([shorten(c), f"{w:g}", f"{p:.4g}"] for c, w, p in self.classes)]

    def _column_lines(self) -> list[list[str]]:
        shown = self.columns[:MOST]
        return [
            ["column", "kind", "family", "why"],
            *([shorten(c["name"]), c["kind"], c["family"] or "-", self._why(c)] for c in shown),
        ]

    def _why(self, column: Json) -> str:
        why = str(column["why"])
        if column["name"] in self.constant:
            return f"{why}; constant: says nothing"
        if column["name"] not in self.inclusion:
            return why
        weight, gain = self.inclusion[column["name"]]
        return f"{why}; weight {weight:.2g}: a density for each class gains {gain:.1f} nats over one for all"


def _parameters(model: Model) -> tuple[Json, ...]:
    """What each column has in each class under the model, and its information on the class; most informative first."""
    if len(model.schema.names) > RANKED:
        return ()
    labels, found = model.classes.tolist(), []
    for alone in marginals(model).values():
        if alone.numeric:
            each = [
                {"mean": m, "deviation": d} for m, d in zip(alone.mean.tolist(), alone.deviation.tolist(), strict=True)
            ]
        else:
            each = []
            for share in alone.shares.T:
                best = np.argsort(-share, kind="stable")[:LEVELS].tolist()
                each.append({"levels": [(alone.values[i], float(share[i])) for i in best]})
        classes = [{"class": label, **parameters} for label, parameters in zip(labels, each, strict=True)]
        found.append({"column": alone.name, "bits": alone.information, "classes": classes})
    return tuple(sorted(found, key=lambda p: -p["bits"]))


def _words(parameters: Json) -> str:
    if "mean" in parameters:
        return f"{parameters['mean']:.4g} ± {parameters['deviation']:.3g}"
    return ", ".join(f"{shorten(value, 14)} {share:.2f}" for value, share in parameters["levels"][:2])
