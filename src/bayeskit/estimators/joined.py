"""AJE: small sets of columns, each taken as one."""

from __future__ import annotations

from dataclasses import replace

from bayeskit.arrays import KindsLike, MissingLike, PriorLike
from bayeskit.estimators.augmented import Dependent
from bayeskit.model.learn import Spec
from bayeskit.structures.discrete import Discrete
from bayeskit.structures.joined import Joined


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
    kinds : mapping, str or list, optional
        Kinds of the columns, one for all or by name: "binary", "nominal", "ordinal", "quantitative", "count", a list
        of levels in order, ``Nominal(...)`` or ``Ordinal(...)``. Without it the type of a column decides.
    prior : {"empirical", "uniform"} or mapping, default "empirical"
        P(class): the shares of the rows, equal shares, or probabilities by class, which sum to 1. Calls may override
        it.
    unseen : {"missing", "smooth", "error"}, default "missing"
        What a level never seen in fitting means in predicting: nothing, the probability it would have had if it had
        been declared, or an error.
    missing : {"skip", "level"} or mapping, default "skip"
        A missing value says nothing, or is a level of its own; for all columns or by name.
    weights : {"fitted"} or None, default "fitted"
        "fitted" counts each set as much as rows predicted by models of the others say. None counts all alike, divided
        by how many of them a column is in.
    exact : bool, default False
        Keep the different rows with their weights, at most 200,000, and derive all choices from them anew after every
        change: batches, forgetting and merging then give the model of one fit, bit for bit.
    n_jobs : int, optional
        Number of threads, and of processes where models are refitted; -1 is all cores, None one. Results do not
        depend on it.

    Attributes
    ----------
    classes_ : array of shape (K,)
        The classes, sorted; columns of probabilities follow this order.
    schema_ : Schema
        Each column with its kind, its family and why.
    model_ : Model
        What was learned; ``model_.digest`` is equal for equal models.
    exact_ : Exactness
        What learning and forgetting give bit for bit, and what is held as an earlier fit chose it.
    weights_ : dict
        The weight of each column or set of columns, where weights are fitted.

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
