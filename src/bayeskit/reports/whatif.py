"""WhatIf: the model in the page, or why it is not there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.decision.calibration import Temperature
from bayeskit.estimators.augmented import AODE, KDB, TAN
from bayeskit.estimators.calibrated import Calibrated
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.naive import NaiveBayes
from bayeskit.explain.explanation import Explanation
from bayeskit.reports.additive import Additive
from bayeskit.reports.discrete import Discrete
from bayeskit.reports.profile import Profile
from bayeskit.reports.program import Program

AGREES = 1e-6  # what a panel may differ from Python
FAR = 1e-4  # a panel that differs by more is left out
COLUMNS = 2000  # of which a panel can hold terms


@dataclass(frozen=True)
class WhatIf:
    """A program, how far it was from Python on the evaluated rows, and what is to be said of it."""

    program: Program | None
    note: str
    gap: float = np.nan
    checked: int = 0  # rows

    @classmethod
    def of(cls, estimator: Any, profiles: Mapping[str, Profile], seen: Explanation | None) -> WhatIf:
        """Written down, and checked on rows that were explained; too far off, it is left out."""
        plain, temperature = _plain(estimator)
        if plain is None:
            return cls(None, f"{type(estimator).__name__} cannot be written down term by term")
        if seen is None:
            return cls(None, "the rows were streamed and none was kept, so the range of values is not known")
        model = plain.model_
        if len(model.schema.names) > COLUMNS or not set(model.schema.names) <= set(profiles):
            return cls(None, f"its {len(model.schema.names):,} columns are too many for a page")
        maker = Additive(model, profiles) if isinstance(plain, NaiveBayes) else Discrete(model, profiles)
        if not maker.possible:
            return cls(None, "its tables are too large for a page, or belong to groups of columns")
        parts = maker.parts()
        program = Program(
            tuple(map(str, model.classes.tolist())),
            parts,
            model.log_base(),
            np.exp(model.log_prior()),
            temperature,
        )
        gap, checked = program.gap(seen.values, seen.proba)
        if gap > FAR:
            return cls(None, f"what could be written down differs from the model by {gap:.1g}")
        return cls(program, parts.note, gap, checked)


def _plain(estimator: Any) -> tuple[BayesClassifier | None, float]:
    """The classifier whose terms can be written down, and the temperature they are multiplied by."""
    if isinstance(estimator, Calibrated) and isinstance(estimator.calibration_, Temperature):
        return _plain(estimator.estimator_)[0], estimator.calibration_.weight
    return (estimator if isinstance(estimator, NaiveBayes | TAN | KDB | AODE) else None), 1.0
