"""BoostedTrees: small trees, each of which corrects the class scores of those before it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bayeskit.arrays import KindsLike, MissingLike, PriorLike
from bayeskit.data.schema import Schema
from bayeskit.estimators.augmented import Dependent
from bayeskit.estimators.docstrings import document
from bayeskit.model.learn import Spec, in_one_component
from bayeskit.structures.boosted import Boosted
from bayeskit.structures.naive import Naive


@document()
@dataclass(kw_only=True, eq=False, repr=False)
class BoostedTrees(Dependent):
    """Gradient-boosted trees for probabilities: scores of the classes that add up over small trees, from the prior on.

    log P(c | x) = log P(c) + sum over trees of v_t(leaf of x)_c + a constant. A tree has up to 15 leaves of at least
    10 rows, on numbers in up to 64 intervals and levels in any two sets; it is a Newton step on the conditional
    likelihood, cut short by ``rate``. A tenth of the rows is held out to tell where the trees end. A row without a
    value goes both ways, by the shares of the rows counted there. They take at most 2 MB in a file. Rows learned or
    forgotten later are counted in the leaves; the trees and what their leaves say are held (see ``exact_``), so
    models with trees of their own do not merge.

    Parameters
    ----------
    trees : int, default 400
        Number of trees at most; with many classes fewer.
    rate : float, default 0.1
        How much of its Newton step each tree takes.
    unseen : {"missing", "smooth", "error"}, default "missing"
        What a level never seen in fitting means in predicting: nothing ("smooth" is the same here), or an error.
    n_jobs : int, optional
        Number of threads that count rows, and of processes where models are refitted; -1 is all cores, None the threads
        that this process may have, and one process. Trees are grown by one thread. Results do not depend on it.

    Attributes
    ----------
    classes_, schema_, model_, exact_

    Examples
    --------
    >>> import bayeskit as bk
    >>> table = [{"a": a, "b": b, "c": c} for a in "xy" for b in "xy" for c in "xy" for _ in range(50)]
    >>> both = [row["a"] == "x" and (row["b"] == "x" or row["c"] == "x") for row in table]
    >>> bk.BoostedTrees().fit(table, both).score(table, both)
    1.0
    """

    trees: int = 400
    rate: float = 0.1
    kinds: KindsLike = None
    prior: PriorLike = "empirical"
    unseen: str = "missing"
    missing: MissingLike = "skip"
    exact: bool = False
    n_jobs: int | None = None

    @property
    def _has_evidence(self) -> bool:
        return False  # posteriors, no densities

    def spec(self) -> Spec:
        return replace(super().spec(), fits_weights=False)

    def _build(self, schema: Schema) -> tuple[Naive, Schema]:
        return in_one_component(Boosted(self.trees, self.rate), schema, "trees split all columns")
