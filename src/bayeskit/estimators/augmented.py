"""TAN, KDB, AODE and AJE: classifiers that let columns depend on each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np

from bayeskit.arrays import Axes, KindsLike, MissingLike, PriorLike
from bayeskit.data.schema import Schema
from bayeskit.errors import InputError
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.docstrings import document
from bayeskit.estimators.learner import wants_weights
from bayeskit.explain.arcs import Arcs, arcs_of
from bayeskit.model.learn import Spec, in_one_component
from bayeskit.plots.style import Display
from bayeskit.structures.augmented import Augmented
from bayeskit.structures.averaged import Averaged
from bayeskit.structures.discrete import Discrete
from bayeskit.structures.joined import Joined
from bayeskit.structures.naive import Naive
from bayeskit.structures.paired import Paired


@document()
class Dependent(BayesClassifier):
    """What the three share: one likelihood over all columns as levels."""

    weights: str | None = None
    exact: bool = False

    def spec(self) -> Spec:
        if not isinstance(self.exact, bool | np.bool_):
            raise InputError(f"exact={self.exact!r}: choose True (keep the rows) or False (hold cuts and arcs)")
        weighted = wants_weights(self.weights)  # cuts and arcs are chosen in passes of their own
        return replace(super().spec(), one_pass=False, fits_weights=weighted, keeps_rows=bool(self.exact))

    @property
    def arcs_(self) -> Arcs:
        """The arcs between columns with the mutual information of the two, in bits."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("arcs_ is there after fit")
        return arcs_of(self.model_)

    @property
    def edges_(self) -> tuple[tuple[str, str], ...]:
        """The arcs between columns as (parent, child), besides those from the class."""
        return self.arcs_.edges

    def plot(self, top: int | None = None, ax: Axes | None = None) -> Display:
        """The columns and the arcs between them, the wider the larger their mutual information given the class.

        Parameters
        ----------
        top : int, optional
            Draw so many arcs, the strongest.
        """
        return self.arcs_.plot(top, ax)

    def _likelihood(self) -> Discrete:
        raise NotImplementedError

    def _build(self, schema: Schema) -> tuple[Naive, Schema]:
        likelihood = self._likelihood()
        if not schema.numeric:  # nothing to cut, so one pass less
            likelihood = replace(likelihood, grid=())
        return self._as_levels(likelihood, schema)

    def _as_levels(self, likelihood: Discrete, schema: Schema) -> tuple[Naive, Schema]:
        """All columns together, and why numbers are no longer numbers."""
        naive, named = in_one_component(likelihood, schema, "columns depend on each other")
        cut = f"; numbers become intervals, cuts={likelihood.cuts!r}"
        columns = tuple(replace(c, why_family=c.why_family + cut) if c.numeric else c for c in named.columns)
        return naive, replace(named, columns=columns)


@document()
@dataclass(kw_only=True, eq=False, repr=False)
class TAN(Dependent):
    """Tree-augmented naive Bayes: each column may depend on one other, along the most informative tree.

    P(c | x) is proportional to P(c) times the product over columns of P(x_j | parent of j, c). The tree is the one of
    Chow and Liu on conditional mutual information. Each column of numbers is cut into intervals by a pass of its own;
    the cuts are then part of the model, held for rows learned or forgotten later (see ``exact_``). Missing values
    are summed out of the tree exactly; ties between columns go by name. Fitted weights multiply what a column adds to
    those given before it in the order of the arcs.

    Attributes
    ----------
    classes_, schema_, model_, exact_, edges_, arcs_, weights_

    Examples
    --------
    >>> import bayeskit as bk
    >>> table = [{"a": a, "b": b} for a in "xy" for b in "xy" for _ in range(20)]
    >>> model = bk.TAN().fit(table, [row["a"] == row["b"] for row in table])
    >>> model.predict([{"a": "x", "b": "x"}, {"a": "x", "b": "y"}])
    array([ True, False])
    """

    cuts: str = "frequency"
    penalty: float | None = 2.0
    strength: float | None = None
    backoff: str = "both"
    kinds: KindsLike = None
    prior: PriorLike = "empirical"
    smoothing: float = 1.0
    unseen: str = "missing"
    missing: MissingLike = "skip"
    weights: str | None = None
    exact: bool = False
    n_jobs: int | None = None

    def _likelihood(self) -> Discrete:
        return Augmented(self.cuts, self.smoothing, "tree", 1, self.penalty, self.strength, self.backoff)


@document()
@dataclass(kw_only=True, eq=False, repr=False)
class KDB(Dependent):
    """k-dependence Bayes: columns in the order of their information on the class, each with up to k parents before it.

    P(c | x) is proportional to P(c) times the product over columns of P(x_j | parents of j, c). Parents are those
    that are most informative on the column given the class, as many as pay for themselves. Two parents and more take a
    further pass over the rows; the arcs found are then kept, so rows learned later change the tables and not the arcs.
    Missing values are summed out exactly while this takes no table of more than a million cells; beyond that a column
    with missing parents says P(x | class), and a warning says in how many rows.

    Parameters
    ----------
    k : int, default 2
        Most parents of a column, besides the class.

    Attributes
    ----------
    classes_, schema_, model_, exact_, edges_, arcs_, weights_

    Examples
    --------
    >>> import bayeskit as bk
    >>> table = [{"a": a, "b": b, "c": c} for a in "xy" for b in "xy" for c in "xy" for _ in range(9)]
    >>> model = bk.KDB().fit(table, [(row["a"] == row["b"]) or (row["b"] == row["c"]) for row in table])
    >>> model.predict([{"a": "x", "b": "y", "c": "x"}, {"a": "x", "b": "y", "c": "y"}])
    array([False,  True])
    """

    k: int = 2
    cuts: str = "frequency"
    penalty: float | None = 2.0
    strength: float | None = None
    backoff: str = "both"
    kinds: KindsLike = None
    prior: PriorLike = "empirical"
    smoothing: float = 1.0
    unseen: str = "missing"
    missing: MissingLike = "skip"
    weights: str | None = None
    exact: bool = False
    n_jobs: int | None = None

    def _likelihood(self) -> Discrete:
        if not isinstance(self.k, Integral) or isinstance(self.k, bool) or not 0 <= self.k <= 8:
            raise InputError(f"k={self.k!r}: give a number of parents from 0 to 8")
        return Augmented(self.cuts, self.smoothing, "order", int(self.k), self.penalty, self.strength, self.backoff)


@document()
@dataclass(kw_only=True, eq=False, repr=False)
class AODE(Dependent):
    """Averaged one-dependence estimators: every column in turn is the parent of all others, and no arc is searched.

    P(c | x) is proportional to P(c) times the mean over parents p of P(x_p | c) prod P(x_j | x_p, c).
    ``log_evidence`` is approximate: the mean of several models is none of them.

    Parameters
    ----------
    n : {1, 2}, default 1
        Columns that are parents together. With 2 (A2DE) the parents are pairs of which a row has both values; a row
        without such a pair has the mean over single parents. All triples of columns are then counted.
    limit : float, default 1.0
        A column (or pair) is a parent in the rows whose value of it was seen with at least this weight.
    parents : int, optional
        At most so many columns, the most informative on the class, are parents. It must limit them where all triples
        would not fit in memory.
    given : float, default 0.5
        Pseudo-rows in every level of P(x_j | x_p, c).

    Attributes
    ----------
    classes_, schema_, model_, exact_, edges_, arcs_

    Examples
    --------
    >>> import bayeskit as bk
    >>> table = [{"a": a, "b": b} for a in "xy" for b in "xy" for _ in range(20)]
    >>> model = bk.AODE().fit(table, [row["a"] == row["b"] for row in table])
    >>> model.predict([{"a": "x", "b": "x"}, {"a": "x", "b": "y"}])
    array([ True, False])
    """

    n: int = 1
    cuts: str = "frequency"
    limit: float = 1.0
    parents: int | None = None
    given: float = 0.5
    kinds: KindsLike = None
    prior: PriorLike = "empirical"
    smoothing: float = 1.0
    unseen: str = "missing"
    missing: MissingLike = "skip"
    exact: bool = False
    n_jobs: int | None = None

    def _likelihood(self) -> Discrete:
        if isinstance(self.n, bool) or self.n not in (1, 2):
            raise InputError(f"n={self.n!r}: there are one or two parents at a time; for more of them take KDB(k=...)")
        return (Averaged if self.n == 1 else Paired)(
            self.cuts, self.smoothing, limit=self.limit, parents=self.parents, given=self.given
        )


@document()
@dataclass(kw_only=True, eq=False, repr=False)
class AJE(Dependent):
    """Averaged join estimators: every set of up to n columns speaks for the class as if it were one column.

    log P(c | x) = log P(c) + bias_c + sum over sets S of weight_S log P(c | x_S)/P(c), + a constant. Sets are every
    column and those sets of 2 to n columns that are more informative than any smaller set within them, by
    leave-one-out; so interactions are found that no arc between columns can express. Rows learned later change the
    tables, not sets and weights.

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

    n: int = 3
    sets: int = 100
    cuts: str = "mdlp"
    kinds: KindsLike = None
    prior: PriorLike = "empirical"
    unseen: str = "missing"
    missing: MissingLike = "skip"
    weights: str | None = "fitted"
    exact: bool = False
    n_jobs: int | None = None

    @property
    def _has_evidence(self) -> bool:
        return False  # sets overlap

    def spec(self) -> Spec:
        return replace(super().spec(), fixes_choices=True)

    def _likelihood(self) -> Discrete:
        return Joined(self.cuts, n=self.n, most=self.sets)
