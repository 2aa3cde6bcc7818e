"""ProbabilityForest: many randomised trees, whose class shares shrink toward those of the nodes above."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bayeskit.arrays import KindsLike, MissingLike, PriorLike
from bayeskit.data.schema import Schema
from bayeskit.estimators.augmented import Dependent
from bayeskit.estimators.docstrings import document
from bayeskit.model.learn import Spec, in_one_component
from bayeskit.structures.forest import Forest
from bayeskit.structures.naive import Naive


@document()
@dataclass(kw_only=True, eq=False, repr=False)
class ProbabilityForest(Dependent):
    """Randomised trees for probabilities: a node's class shares shrink toward its parent's, and trees are averaged.

    P(c | x) = mean over trees of p_leaf(c), with p_node = (n_c + a p_parent) / (n + a) from the root down. At each node
    a third of the columns is drawn, at most a hundred, and the split of least Gini impurity is taken; trees grow best
    first on all rows, numbers in up to 64 intervals. A row without a value goes both ways, by the shares of the rows
    counted there. A forest takes at most 2 MB in a file. Rows learned or forgotten later are counted in the leaves; the
    splits are held (see ``exact_``), so models with trees of their own do not merge.

    Parameters
    ----------
    trees : int, default 150
        Number of trees; with many classes fewer are grown, so that each may have a hundred leaves.
    strength : float, optional
        Pseudo-rows a with which the shares of a node shrink toward its parent's; None takes as many as predict best the
        rows that inner folds hold out.
    random_state : int, default 0
        Which columns are drawn.
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
    >>> table = [{"a": a, "b": b, "c": c} for a in "xy" for b in "xy" for c in "xy" for _ in range(20)]
    >>> odd = [(row["a"] + row["b"] + row["c"]).count("x") % 2 == 1 for row in table]
    >>> bk.ProbabilityForest(trees=20).fit(table, odd).score(table, odd)
    1.0
    """

    trees: int = 150
    strength: float | None = None
    random_state: int = 0
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
        return in_one_component(Forest(self.trees, self.random_state, self.strength), schema, "trees split all columns")
