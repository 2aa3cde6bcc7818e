"""Candidates: the classifiers AutoBayes chooses from, when each is worth trying, and what they say of unseen rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import log_softmax

from bayeskit.arrays import Float
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.unseen import BIAS, TOWARD, Plan
from bayeskit.estimators.views import View
from bayeskit.loglinear import Evidence
from bayeskit.structures.weighted import Tuning


@dataclass(frozen=True)
class Facts:
    """What decides which candidates can help."""

    rows: int
    classes: int
    columns: int
    numeric: int
    coded: int
    holes: float  # share of cells


@dataclass(frozen=True)
class Candidate:
    """A classifier, what it looks at, and whether its pieces are weighed."""

    name: str
    make: Callable[[], BayesClassifier]
    plain: bool = True  # whether it stands as it is
    weighed: bool = False  # whether it stands with fitted weights too
    view: str = ""  # "", "numbers", "scores" or "indicators"
    helps: Callable[[Facts], str] = lambda facts: ""  # why not, if it cannot


@dataclass(frozen=True)
class Member:
    """One voice of the pool: a classifier of all rows, and the view it takes."""

    name: str
    classifier: BayesClassifier
    view: View | None = None

    @property
    def together(self) -> bool:
        """Whether it sees a row as a whole, so that no column has a part of its own."""
        return type(self.classifier).__name__ == "KNNBayes"

    def asked(self, encoder: BayesClassifier, X: Any) -> Any:
        """The table as the classifier takes it."""
        return X if self.view is None else self.view.matrix(encoder, X)


@dataclass(frozen=True)
class Voice:
    """What a member would have said of the rows of a plan, and how to make the member."""

    name: str
    log_posterior: Float  # (m, K)
    made: Callable[[], Member]


def voices(candidate: Candidate, plan: Plan, view: View | None, every: Callable[[], Any]) -> Iterator[Voice]:
    """A candidate on the rows of a plan, plain and weighed; ``every`` fits it to all rows when it is wanted."""
    classifier = candidate.make()
    if not candidate.weighed:
        parts = [m.predict_log_proba(X) for m, X in plan.models(classifier)]
        yield Voice(candidate.name, np.concatenate(parts), lambda: Member(candidate.name, every(), view))
        return
    pieces, base = plan.factors(classifier)
    if candidate.plain:
        with np.errstate(invalid="ignore"):
            summed: Float = log_softmax(np.maximum(pieces, -700.0).sum(axis=1) + np.maximum(base, -700.0), axis=1)
        yield Voice(candidate.name, summed, lambda: Member(candidate.name, every(), view))
    seen = Evidence.of(pieces, base, plan.label, plan.mass / plan.mass.mean())
    common = np.full(seen.terms.shape[2], seen.temperature())
    logs = np.empty(base.shape)
    for part in np.unique(plan.part):
        test = plan.part == part
        rest = ~np.isin(plan.rows, plan.rows[test])
        weight, bias = seen.at(rest).fitted(common, TOWARD, BIAS)
        logs[test] = seen.at(test).log_posterior(weight, bias)
    name = f"{candidate.name}, weighted"

    def made() -> Member:
        weight, bias = seen.fitted(common, TOWARD, BIAS)
        fitted = every()
        fitted._adopt(replace(fitted.model_, tuning=Tuning(weight, bias, fitted.model_.counted.domain.classes)))
        return Member(name, fitted, view)

    yield Voice(name, logs, made)
