"""CorrectedNaiveBayes: naive Bayes where rows are few, an additive discriminative model where they are many."""

from __future__ import annotations

from dataclasses import dataclass

from bayeskit.arrays import KindsLike, MissingLike, PriorLike
from bayeskit.estimators.augmented import Dependent
from bayeskit.estimators.docstrings import document
from bayeskit.structures.corrected import Corrected
from bayeskit.structures.discrete import Discrete


@document()
@dataclass(kw_only=True, eq=False, repr=False)
class CorrectedNaiveBayes(Dependent):
    """Naive Bayes whose evidence is corrected by penalised conditional likelihood, with some pairs of columns.

    log P(c | x) = log P(c) + sum over columns of (weight_j log P(c | x_j)/P(c) + d_j(x_j)_c) + sum over pairs of
    d_ij(x_i, x_j)_c, + a constant. Naive Bayes' log-ratios, of levels and of up to 64 intervals of numbers (a value
    that is common has one of its own), are the prior mean; the corrections d are drawn toward 0, those of
    neighbouring intervals toward each other. How strongly, and which pairs of columns are added, is what predicts
    best the rows that inner folds hold out. With few rows it is naive Bayes, with many an additive model. Rows
    learned later change the counts; cuts, weights and corrections are held (see ``exact_``).

    Parameters
    ----------
    bins : int, default 64
        Most intervals of a column of numbers, beside those of common values.
    pairs : int, default 40
        Most pairs of columns; 0 adds none, and what each column says is then a table of its own.
    unseen : {"missing", "smooth", "error"}, default "missing"
        What a level never seen in fitting means in predicting: nothing ("smooth" is the same here), or an error.

    Attributes
    ----------
    classes_, schema_, model_, exact_

    Examples
    --------
    >>> import bayeskit as bk
    >>> table = [{"a": a, "b": b} for a in "xy" for b in "xy" for _ in range(20)]
    >>> model = bk.CorrectedNaiveBayes().fit(table, [row["a"] == row["b"] for row in table])
    >>> model.predict([{"a": "x", "b": "x"}, {"a": "x", "b": "y"}])
    array([ True, False])
    """

    bins: int = 64
    pairs: int = 40
    kinds: KindsLike = None
    prior: PriorLike = "empirical"
    unseen: str = "missing"
    missing: MissingLike = "skip"
    exact: bool = False
    n_jobs: int | None = None

    @property
    def _has_evidence(self) -> bool:
        return False  # a score, no density

    def _likelihood(self) -> Discrete:
        return Corrected(bins=self.bins, pairs=self.pairs)
