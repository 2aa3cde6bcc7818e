"""AJE: small sets of columns, each taken as one."""

from __future__ import annotations

from dataclasses import replace

from bayeskit.arrays import KindsLike, MissingLike, PriorLike
from bayeskit.estimators.augmented import Dependent
from bayeskit.estimators.docstrings import document
from bayeskit.model.learn import Spec
from bayeskit.structures.discrete import Discrete
from bayeskit.structures.joined import Joined


@document()
class AJE(Dependent):
    """Averaged join estimators: every set of up to n columns tells of the class as if it were one column.

    log P(c | x) = log P(c) + bias_c + sum over sets S of weight_S log P(c | x_S)/P(c), + a constant. Sets are every
    column and those sets of 2 to n columns that tell more than any smaller set within them, by leave-one-out; so
    interactions are found that no arc between columns can tell. Rows learned later change the tables, not sets and
    weights.

    Parameters
    ----------
    n : int, default 3
        Most columns of a set.
    sets : int, default 100
        Most sets of two columns and more.
    cuts : {"frequency", "mdlp"}, default "mdlp"
        How columns of numbers are cut into intervals: n^(1/3) of equal weight, from 3 to 12, or where the class
        changes, by minimum description length, which leaves a column out where it finds no cut.
    weights : {"fitted"} or None, default "fitted"
        "fitted" counts each set as much as rows predicted by models of the others say. None counts all alike, divided
        by how many of them a column is in.

    Attributes
    ----------
    classes_, schema_, model_, exact_, weights_

    Examples
    --------
    >>> import bayeskit as bk
    >>> table = [{"a": a, "b": b, "c": c} for a in "xy" for b in "xy" for c in "xy" for _ in range(20)]
    >>> odd = [(row["a"] + row["b"] + row["c"]).count("x") % 2 == 1 for row in table]
    >>> bk.AJE().fit(table, odd).score(table, odd), bk.KDB(k=1).fit(table, odd).score(table, odd)
    (1.0, 0.5)
    """

    def __init__(
        self,
        *,
        n: int = 3,
        sets: int = 100,
        cuts: str = "mdlp",
        kinds: KindsLike = None,
        prior: PriorLike = "empirical",
        unseen: str = "missing",
        missing: MissingLike = "skip",
        weights: str | None = "fitted",
        exact: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.n = n
        self.sets = sets
        self.cuts = cuts
        self.kinds = kinds
        self.prior = prior
        self.unseen = unseen
        self.missing = missing
        self.weights = weights
        self.exact = exact
        self.n_jobs = n_jobs

    @property
    def _has_evidence(self) -> bool:
        return False  # sets overlap

    def spec(self) -> Spec:
        return replace(super().spec(), fixes_choices=True)

    def _likelihood(self) -> Discrete:
        return Joined(self.cuts, n=self.n, most=self.sets)
