"""FoldModels: the models that predicted rows they had not learned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from bayeskit.evaluation.methods import Split
from bayeskit.evaluation.refit import weighted
from bayeskit.model.labelled_table import LabelledTable


@dataclass(frozen=True)
class FoldModels:
    """Of one division of the rows, or of leaving one out; a model that was not kept is fitted when it is asked for."""

    model: Any
    sample: LabelledTable
    split: Split | None  # None: each row was left out by itself
    fitted: dict[int, Any] = field(default_factory=dict)  # by fold

    def of(self, row: int) -> Any:
        """The model that predicted a row."""
        fold = row if self.split is None else int(self.split.fold[row])
        if fold not in self.fitted:
            every = np.arange(len(self.sample.rows))
            training = every != row if self.split is None else self.split.training(fold)
            X, y, weight = self.sample.take(np.flatnonzero(training & self.sample.rows.counted))
            estimator = clone(self.model)
            self.fitted[fold] = estimator.fit(X, y, **weighted(estimator, weight))
        return self.fitted[fold]
