"""Candidate: a classifier that may join a pool, and what it is once it has joined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from bayeskit.arrays import Float, Json, Label, LabelsLike, NamesLike, PriorLike, TableLike, WeightsLike
from bayeskit.ensemble.views import View
from bayeskit.explain.explanation import Explanation
from bayeskit.explain.nomogram import Nomogram
from bayeskit.model.learn import Spec
from bayeskit.model.model import Model


class Classifier(Protocol):
    """What a pool asks of its members; every classifier of one model has it."""

    model_: Model

    def spec(self) -> Spec: ...
    def with_model(self, model: Model) -> Self: ...
    def settings_to_save(self) -> Json: ...
    def partial_fit(
        self, X: TableLike, y: LabelsLike, classes: LabelsLike | None = None, sample_weight: WeightsLike = None
    ) -> Self: ...
    def forget(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self: ...
    def merge(self, other: object) -> Self: ...
    def predict_log_proba(self, X: TableLike) -> Float: ...
    def explain(self, X: TableLike, *, prior: PriorLike = None) -> Explanation: ...
    def nomogram(
        self,
        target: Label | None = None,
        rival: Label | None = None,
        prior: PriorLike = None,
        among: TableLike | None = None,
        names: NamesLike = None,
    ) -> Nomogram: ...


@dataclass(frozen=True)
class Facts:
    """What decides which candidates can help."""

    rows: float  # what they weigh
    classes: int
    columns: int  # that are not constant, as the next two
    numeric: int
    coded: int
    incomplete: tuple[str, ...]  # columns that have some


@dataclass(frozen=True)
class Candidate:
    """A classifier, what it looks at, and whether its pieces are weighed."""

    name: str
    make: Callable[..., Classifier]  # with the number of neighbours, where it has several
    plain: bool = True  # whether it stands as it is
    weighed: bool = False  # whether it stands with fitted weights too
    view: str = ""  # "", "numbers", "scores" or "indicators"
    counts: str = ""  # what it counts, if others with the same view count it too
    sizes: tuple[int, ...] = ()  # numbers of neighbours that stand each for themselves
    helps: Callable[[Facts], str] = lambda facts: ""  # why not, if it cannot
    portable: bool = True  # whether all targets of export have a form of it
    cost: float = 1.0  # of judging it, that of the first candidate being 1
    share: float = 0.0  # its weight in a pool that is not judged; 0 where it is not in one
    many: float = 0.0  # the same where rows are many


@dataclass(frozen=True)
class Member:
    """One member of the pool: a classifier of all rows, and the view it takes."""

    name: str
    classifier: Classifier
    view: View | None = None

    @property
    def together(self) -> bool:
        """Whether it sees a row as a whole, so that columns say something only as they are revealed one by one."""
        return self.classifier.spec().name == "KNNBayes"

    def sees_like(self, other: Member) -> bool:
        """Whether rows look the same to both, so that what they counted can be added."""
        if self.view is None or other.view is None:
            return self.view is other.view
        mine, theirs = self.view.numbers(), other.view.numbers()
        same = self.view.notes() == other.view.notes()
        return same and all(np.array_equal(mine[name], theirs[name]) for name in mine)
