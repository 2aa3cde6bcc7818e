"""NetworkBayes: a Bayesian network as a classifier."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Protocol, runtime_checkable

from sklearn.utils.validation import check_is_fitted

from bayeskit.arrays import Json, KindsLike, MissingLike, PriorLike
from bayeskit.data.schema import Schema
from bayeskit.errors import InputError
from bayeskit.estimators.augmented import Dependent
from bayeskit.estimators.docstrings import document
from bayeskit.estimators.learner import non_default_settings
from bayeskit.explain.arcs import Arcs, arcs_of
from bayeskit.networks.graph import Graph
from bayeskit.structures.hidden import NetworkedDensity
from bayeskit.structures.naive import Naive
from bayeskit.structures.networked import Families, Networked

CLASS = "class"


@document()
@dataclass(eq=False, repr=False)
class NetworkBayes(Dependent):
    """A Bayesian network over the columns and the class: P(c, x) = P(c | parents) prod P(x_j | parents of j).

    In a complete row only the class's Markov blanket speaks for it; missing values are summed out exactly over the
    whole network. Numbers are cut into intervals first; intervals and arcs are then part of the model, so that rows
    learned or forgotten later change the tables alone. A prior replaces the P(c) of the network; ``log_evidence`` is
    exact.

    Parameters
    ----------
    structure : sequence of pairs or Network, optional
        Arcs (parent, child), or a network whose arcs are taken; the class goes by the name of the target column, or
        "class". None searches it on up to 100,000 different rows, in which a missing value is a level.
    criterion : {"loo", "bic", "aic", "bdeu", "k2"}, default "loo"
        Score of the search, as in ``learn_network``.
    search : {"hill-climb", "tabu", "exact", "k2", "chow-liu"}, default "hill-climb"
        How arcs are searched, as in ``learn_network``.
    augmented : bool, default True
        The search begins with the class as a parent of every column and keeps it. False lets it find the place of the
        class too, unless the search is "chow-liu", which has none for it in any case.
    max_parents : int or None, default 4
        Most parents of a column; None sets no limit.
    ess : float, default 1.0
        Equivalent sample size of "bdeu".
    restarts : int, default 1
        How often the search climbs again from the start.
    random_state : int, default 0
        Seed of ties and restarts.

    Attributes
    ----------
    classes_, schema_, model_, exact_
    edges_ : tuple of pairs
        The arcs (parent, child).
    markov_blanket_ : tuple of str
        The columns that speak for the class in a complete row.

    Examples
    --------
    >>> import bayeskit as bk
    >>> table = [{"a": a, "b": b} for a in "xy" for b in "xy" for _ in range(20)]
    >>> y = [row["a"] == row["b"] for row in table]
    >>> model = bk.NetworkBayes([("class", "b"), ("a", "b")]).fit(table, y)
    >>> model.predict([{"a": "x", "b": "x"}, {"a": "x", "b": "y"}])
    array([ True, False])
    >>> model.markov_blanket_
    ('a', 'b')
    """

    structure: object = None
    criterion: str = "loo"
    search: str = "hill-climb"
    _: KW_ONLY
    augmented: bool = True
    max_parents: int | None = 4
    ess: float = 1.0
    restarts: int = 1
    random_state: int | None = 0
    cuts: str = "frequency"
    strength: float | None = None
    backoff: str = "both"
    kinds: KindsLike = None
    prior: PriorLike = "empirical"
    smoothing: float = 1.0
    unseen: str = "missing"
    missing: MissingLike = "skip"
    exact: bool = False
    n_jobs: int | None = None

    def _build(self, schema: Schema) -> tuple[Naive, Schema]:
        likelihood = Networked(
            self.cuts,
            self.smoothing,
            self._given(schema),
            self.criterion,
            self.search,
            self.max_parents,
            self.ess,
            self.restarts,
            self.random_state,
            self.strength,
            self.backoff,
            self.augmented,
            grid=None if schema.numeric else (),
        )
        return self._as_levels(likelihood, schema)

    def _given(self, schema: Schema) -> Families | None:
        """The arcs of the structure in the order of the columns, the class before them."""
        if self.structure is None:
            return None
        graph = Graph.of(edges_of(self.structure))
        target = schema.target or (self.model_.schema.target if self.__sklearn_is_fitted__() else None)
        label = target if target in graph.parents or CLASS in schema.names else CLASS
        nodes: dict[str | None, str | None] = {label: None, **{name: name for name in schema.names if name != label}}
        for node in graph.nodes:
            if node not in nodes:
                raise InputError(
                    f"structure names {node!r}, which is no column, nor the class ({label or 'y without a name'!r}); "
                    f"there are: {', '.join(schema.names[:12])}"
                )
        if graph.nodes and label not in graph.parents:
            raise InputError(
                f"no arc of the structure names the class; it goes by {label or 'the name of its column'!r}"
            )
        rank = {node: i for i, node in enumerate(nodes)}
        families = sorted((n for n, parents in graph.parents.items() if parents), key=lambda n: rank[n])
        return tuple(
            (nodes[n], tuple(nodes[p] for p in sorted(graph.parents[n], key=rank.__getitem__))) for n in families
        )

    @property
    def arcs_(self) -> Arcs:
        """The arcs with the mutual information of parent and child, in bits; those of the class too."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("arcs_ is there after fit")
        return arcs_of(self.model_, self._label)

    @property
    def edges_(self) -> tuple[tuple[str, str], ...]:
        """The arcs of the model as (parent, child)."""
        return self._graph.edges

    @property
    def markov_blanket_(self) -> tuple[str, ...]:
        """The columns that speak for the class where none is missing: parents, children, and their other parents."""
        blanket = self._graph.markov_blanket(self._label)
        return tuple(name for name in self.model_.schema.names if name in blanket)

    @property
    def _label(self) -> str:
        return self.model_.schema.target or (CLASS if CLASS not in self.model_.schema.names else "(class)")

    @property
    def _graph(self) -> Graph:
        check_is_fitted(self, "model_")
        (density,) = self.model_.density.densities
        assert isinstance(density, NetworkedDensity)
        named: dict[str | None, str] = {**{name: name for name in density.columns}, None: self._label}
        return Graph({named[n]: tuple(named[p] for p in parents) for n, parents in density.name_families()})

    def settings_to_save(self) -> Json:
        found = non_default_settings(self, "n_jobs", "structure")
        if self.structure is not None:
            found["structure"] = tuple(edges_of(self.structure))
        return found


@document()
@runtime_checkable
class HasEdges(Protocol):
    """A network."""

    @property
    def edges(self) -> Any:
        """Its arcs, pairs of nodes."""


def edges_of(structure: object) -> Any:
    """The arcs of a network, or arcs as they are given."""
    return structure.edges if isinstance(structure, HasEdges) else structure
