"""cross_population: how a model trained on one population does on the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.arrays import Axes, Classifier, Frame, Label, Seed
from bayeskit.data.frame import TableRepr, frame
from bayeskit.docstrings import document_frame_like_x
from bayeskit.errors import InputError
from bayeskit.evaluation.evaluate import document, fit_copy, plan_run
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.evaluation.fitted_run import evaluate_fitted
from bayeskit.evaluation.intervals import known_mean
from bayeskit.evaluation.methods import MethodLike
from bayeskit.evaluation.refit import Refit
from bayeskit.evaluation.stream import LabelledSource
from bayeskit.model.labelled_table import LabelledTable
from bayeskit.numerics.rates import Interval
from bayeskit.plots.style import Display

RATES = ("sensitivity", "specificity")


@dataclass(frozen=True, eq=False, repr=False)
class Populations(TableRepr):
    """Evaluations by the names of training and test population; the diagonal is cross-validated.

    Rates are those of the ``positive`` class, or means over classes where none is named.
    """

    names: tuple[str, ...]
    evaluations: Mapping[tuple[str, str], Evaluation]
    positive: Any = None
    kind: str = "pyarrow"

    def __getitem__(self, pair: tuple[str, str]) -> Evaluation:
        """The evaluation of (training population, test population)."""
        return self.evaluations[pair]

    def rate(self, rate: str, pair: tuple[str, str]) -> float:
        """Sensitivity or specificity of a model trained on one population, tested on another."""
        found = getattr(self.evaluations[pair].confusion, rate)
        return known_mean(np.array(list(found.values()))) if self.positive is None else float(found[self.positive])

    def interval(self, rate: str, pair: tuple[str, str]) -> Interval:
        """Wilson's interval of a rate of the positive class."""
        if self.positive is None:
            return Interval(np.nan, np.nan, "a mean over classes has none")
        return self.evaluations[pair].confusion.interval(rate, self.positive)

    @document_frame_like_x
    def frame(self, kind: str | None = None) -> Frame:
        """A line for each pair of populations."""
        pairs = list(self.evaluations)
        columns: dict[str, Any] = {"train": [a for a, _ in pairs], "test": [b for _, b in pairs]}
        for rate in RATES:
            ends = [self.interval(rate, pair) for pair in pairs]
            columns[rate] = [self.rate(rate, pair) for pair in pairs]
            columns[f"{rate}_low"], columns[f"{rate}_high"] = [e.low for e in ends], [e.high for e in ends]
        columns["accuracy"] = [self.evaluations[pair].accuracy for pair in pairs]
        columns["weight"] = [self.evaluations[pair].confusion.weight for pair in pairs]
        return frame(columns, kind or self.kind)

    def plot(self, ax: Axes | None = None) -> Display:
        """The table as a heat map."""
        from bayeskit.plots.heat import PopulationDisplay

        rates = {r: np.array([[self.rate(r, (a, b)) for b in self.names] for a in self.names]) for r in RATES}
        return PopulationDisplay(list(self.names), rates, self._title().split(";")[0].replace(" in %", "")).plot(ax)

    def _title(self) -> str:
        of = "mean over classes" if self.positive is None else f"of {self.positive}"
        return f"sensitivity / specificity in %, {of}; the diagonal is cross-validated"

    def _lines(self) -> list[list[str]]:
        def cell(pair: tuple[str, str]) -> str:
            return " / ".join(f"{self.rate(rate, pair):.1%}".rstrip("%") for rate in RATES)

        head = ["trained on \\ tested on", *self.names]
        return [head, *([train, *(cell((train, test)) for test in self.names)] for train in self.names)]


@document
def cross_population(
    model: Classifier,
    populations: Mapping[Label, object],
    *,
    positive: Label | None = None,
    method: MethodLike = None,
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> Populations:
    """A model trained on each population and tested on each; on its own by ``method``, cross-validation unless given.

    Rows that two populations share are tested by models that have learned them.

    Parameters
    ----------
    model : classifier
        It is left as it is.
    populations : mapping
        Names to (X, y) or (X, y, sample_weight).
    positive : class, optional
        The class whose sensitivity and specificity are shown.

    Returns
    -------
    Populations
        Rates for each pair of training and test population.

    Examples
    --------
    >>> import bayeskit as bk
    >>> north = [[1.0], [2.0], [8.0], [9.0]], ["well", "well", "ill", "ill"]
    >>> south = [[2.0], [3.0], [6.0], [9.0]], ["well", "well", "ill", "ill"]
    >>> folds = bk.CrossValidation(2)
    >>> found = cross_population(bk.NaiveBayes(), {"N": north, "S": south}, positive="ill", method=folds)
    >>> found.rate("sensitivity", ("N", "S"))
    1.0
    """
    if not isinstance(populations, Mapping) or not populations:
        raise InputError("populations maps names to (X, y); give at least one")
    samples = {str(name): _sample(name, given) for name, given in populations.items()}
    known = {label for sample in samples.values() for label in sample.rows.classes.tolist()}
    if positive is not None and positive not in known:
        raise InputError(f"positive={positive!r} is no class of any population ({', '.join(map(str, known))})")
    Refit(model, next(iter(samples.values())))  # refuses a model without probabilities
    found = {}
    for train, learned in samples.items():
        ready = fit_copy(model, learned)
        for test, sample in samples.items():
            if train == test:
                given = LabelledSource(sample.X, sample.y, sample.weight)
                found[train, test] = plan_run(given, method, random_state=random_state).run(model, n_jobs)
            else:
                found[train, test] = evaluate_fitted(ready, sample, "another population")
    return Populations(tuple(samples), found, positive, next(iter(samples.values())).kind)


def _sample(name: Label, given: object) -> LabelledTable:
    if not isinstance(given, tuple | list) or len(given) not in (2, 3):
        raise InputError(f"population {name!r}: give (X, y) or (X, y, sample_weight)")
    try:
        return LabelledTable.of(*given)
    except InputError as error:
        raise type(error)(f"population {name!r}: {error}") from error
