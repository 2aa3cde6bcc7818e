"""Classifiers of posteriors alone: a forest, boosted trees, and naive Bayes corrected by conditional likelihood."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bayeskit.arrays import KindsLike, MissingLike, PriorLike
from bayeskit.data.schema import Schema
from bayeskit.estimators.augmented import Dependent
from bayeskit.estimators.docstrings import document
from bayeskit.model.learn import Spec, in_one_component
from bayeskit.structures.boosted import Boosted
from bayeskit.structures.corrected import Corrected
from bayeskit.structures.discrete import Discrete
from bayeskit.structures.forest import Forest
from bayeskit.structures.naive import Naive


class Discriminative(Dependent):
    """What the three share: they have posteriors, and no densities."""

    @property
    def _has_evidence(self) -> bool:
        return False


class Trees(Discriminative):
    """Trees weigh their columns themselves."""

    def spec(self) -> Spec:
        return replace(super().spec(), fits_weights=False)


@document()
@dataclass(kw_only=True, eq=False, repr=False)
class ProbabilityForest(Trees):
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

    def _build(self, schema: Schema) -> tuple[Naive, Schema]:
        return in_one_component(Forest(self.trees, self.random_state, self.strength), schema, "trees split all columns")


@document()
@dataclass(kw_only=True, eq=False, repr=False)
class BoostedTrees(Trees):
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

    def _build(self, schema: Schema) -> tuple[Naive, Schema]:
        return in_one_component(Boosted(self.trees, self.rate), schema, "trees split all columns")


@document()
@dataclass(kw_only=True, eq=False, repr=False)
class CorrectedNaiveBayes(Discriminative):
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

    def _likelihood(self) -> Discrete:
        return Corrected(bins=self.bins, pairs=self.pairs)
