"""AJE: small sets of columns, each taken as one."""

from __future__ import annotations

from dataclasses import replace

from bayeskit.arrays import KindsLike, MissingLike, PriorLike
from bayeskit.estimators.augmented import Dependent
from bayeskit.model.spec import Spec
from bayeskit.structures.discrete import Discrete
from bayeskit.structures.joined import Joined


class AJE(Dependent):
    """Averaged join estimators: every set of up to n columns tells of the class as if it were one column.

    log P(c | x) = log P(c) + bias_c + sum over sets S of weight_S log P(c | x_S)/P(c), + a constant. With
    ``weights="fitted"`` each set counts as much as rows predicted by the others say, so the sets that matter speak and
    interactions that no arc between columns can tell are found; with None all count alike, divided by how many of them
    a column is in. Sets are every column and those ``sets`` of 2 to ``n`` columns that tell more than any smaller set
    within them, by leave-one-out. ``cuts`` as in ``TAN``. Rows learned later change the tables, not
    sets and weights, unless ``exact=True`` keeps the rows (see ``TAN``).

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
        kinds: KindsLike | None = None,
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
