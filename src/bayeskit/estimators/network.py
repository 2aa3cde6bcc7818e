"""Network: the door to Bayesian networks; build, learn, ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Self

from sklearn.exceptions import NotFittedError

from bayeskit.arrays import FilePath, KindsLike, Label, Seed, TableLike, WeightsLike
from bayeskit.data.schema import Column, Schema
from bayeskit.errors import InputError, MergeError, NetworkError
from bayeskit.estimators.binned import Cutting
from bayeskit.estimators.docstrings import document
from bayeskit.estimators.network_pictures import NetworkPictures
from bayeskit.estimators.network_queries import NODES
from bayeskit.estimators.node_table import NodeKinds, NodeTable
from bayeskit.estimators.state_choice import StateChoice
from bayeskit.memory import read_size
from bayeskit.networks.equivalence import Pattern, structural_distance
from bayeskit.networks.fitted import COUNTS, EM, Fitted, Recipe, interval_levels
from bayeskit.networks.graph import Graph
from bayeskit.networks.hidden import BIC, score_hidden
from bayeskit.networks.learning import Learned
from bayeskit.networks.network import Network as Value
from bayeskit.networks.table import declare_states
from bayeskit.storage import network_file
from bayeskit.storage.model_file import doubts

UNSEEN = ("error", "missing")


@document(NODES)
class Network(NetworkPictures):
    """A Bayesian network over columns: P(x) = product over nodes of P(node | its parents).

    A level has a table; a number is normal around a linear function of the numbers above it, with means, slopes and a
    deviation for each state of the levels above it. No number stands above a level.

    Parameters
    ----------
    edges : sequence of pairs
        Arcs (parent, child).
    tables : mapping, optional
        Probabilities by node: {state: p}, {states of the parents: {state: p}}, an array (states of the parents ...,
        states) or a frame; of a number {"intercept": a, "slopes": {parent: b}, "deviation": s}, for each state of the
        levels above it. Without them ``fit`` learns the tables.
    states : mapping, optional
        States by node, where rows or tables do not tell them; a number of them for a hidden node.
    nodes : sequence, optional
        Nodes without arcs.
    unseen : {"error", "missing"}, default "error"
        What a state never seen means in a row that is asked about.
    n_jobs : int, optional
        Number of threads; -1 is all cores, None those this process may use. Results do not depend on it.
    memory : str, optional
        What the messages of an exact answer may take, such as "512MB"; None allows 1 GiB of what is free. A network
        that needs more is asked given each state of some nodes in turn, which takes time instead, or is refused.

    Examples
    --------
    >>> net = Network([("rain", "wet")]).fit({"rain": ["no", "no", "no", "yes"], "wet": ["no", "no", "yes", "yes"]})
    >>> {state: round(p, 3) for state, p in net.query("rain", {"wet": "yes"}).items()}
    {'no': 0.545, 'yes': 0.455}
    """

    search_: Any = None  # how the arcs were found, where learn_network found them

    def __init__(
        self,
        edges: Iterable[Iterable[Label]] = (),
        tables: Mapping[Label, object] | None = None,
        states: Mapping[Label, object] | None = None,
        nodes: Iterable[Label] = (),
        unseen: str = "error",
        n_jobs: int | None = None,
        memory: str | None = None,
    ) -> None:
        if unseen not in UNSEEN:
            raise InputError(f"unseen={unseen!r}: choose one of {', '.join(UNSEEN)}")
        self.unseen, self.n_jobs, self.memory = unseen, n_jobs, memory
        self._bytes = None if memory is None else read_size(memory)
        self._declared = {str(n): declare_states(str(n), s) for n, s in (states or {}).items()}
        self._fit: Fitted | None = None
        if tables is None:
            self.graph = Graph.of(edges, nodes)
            if extra := [n for n in self._declared if n not in self.graph.parents]:
                raise NetworkError(f"states are declared for {extra[0]!r}, which is no node; add it to nodes")
        else:
            levels = {name: known.values for name, known in self._declared.items()}
            value = Value.of(edges, tables, levels, nodes)
            self.graph, self._declared, self._fit = value.graph, dict(value.levels), Fitted(value)

    @classmethod
    def of(cls, value: Value, unseen: str = "error", n_jobs: int | None = None, memory: str | None = None) -> Network:
        """The door to a network that is there already."""
        made = cls((), None, None, value.nodes, unseen, n_jobs, memory)
        made.graph, made._declared, made._fit = value.graph, dict(value.levels), Fitted(value)
        return made

    # -- the graph -------------------------------------------------------------------------------

    @property
    def nodes(self) -> tuple[str, ...]:
        return self.graph.nodes

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        return self.graph.edges

    def cpdag(self) -> Pattern:
        """The arcs that all graphs of the same independences share, and the edges that may go either way."""
        return Pattern.of(self.graph)

    def structural_distance(self, other: Network) -> int:
        """How many edges must be added, dropped or turned to come from one pattern to the other (SHD).

        Parameters
        ----------
        other : Network
            With the same nodes.
        """
        return structural_distance(self.graph, other.graph)

    # -- the fitted value ------------------------------------------------------------------------

    @property
    def fitted(self) -> Fitted:
        if self._fit is None:
            raise NotFittedError("this network has no tables yet; give tables=, or call fit with rows")
        return self._fit

    @property
    def network_(self) -> Value:
        """The immutable network; what is learned replaces it whole."""
        return self.fitted.network

    @property
    def learned_(self) -> Learned | None:
        """The way EM or gradient went, None after counting."""
        return self.fitted.learned

    def table(self, node: str) -> Any:
        """P(node | parents) with the states; ``frame()`` has a row for each cell. Of a number: means, slopes and
        deviations by the levels above it.

        Examples
        --------
        >>> Network([("rain", "wet")], {"rain": {"no": 0.8, "yes": 0.2},
        ...         "wet": {"no": {"no": 0.9, "yes": 0.1}, "yes": {"no": 0.05, "yes": 0.95}}}).table("wet")
        P(wet | rain)
        rain    no   yes
        no     0.9   0.1
        yes   0.05  0.95
        """
        if self.graph.check(node) in self.network_.normals:
            one = self.network_.normals[node]
            return replace(one, states=tuple(self.states(n) for n in one.levels))
        found = self.network_.tables[node]
        return replace(found, states=tuple(self.states(n) for n in (*found.parents, node)))

    @property
    def schema_(self) -> Schema:
        """What each node is, and why: levels, intervals between cuts, or a number."""
        value, columns = self.network_, []
        for node in self.nodes:
            if node in value.normals:
                one = value.normals[node]
                about = "quantitative", "a number, never a level unless declared", "linear normal"
                above = f"given {', '.join(one.parents)}" if one.parents else "nothing stands above it"
            elif node in value.cuts:
                about = "quantitative", "a number", f"{value.sizes[node]} intervals"
                above = f"cut at {', '.join(f'{c:.6g}' for c in value.cuts[node]) or 'nothing'}"
            else:
                about = "nominal", "has states", "table"
                above = f"{value.sizes[node]} states"
            kind, why, family = about
            columns.append(Column(node, kind, "", why, family=family, why_family=above))
        return Schema(tuple(columns))

    def to_networkx(self) -> Any:
        return self.network_.to_networkx()

    # -- learning --------------------------------------------------------------------------------

    def fit(
        self,
        X: TableLike,
        method: str = "counts",
        smoothing: object = 1.0,
        ess: float = 1.0,
        sample_weight: WeightsLike = None,
        restarts: int | None = None,
        random_state: Seed = 0,
        tolerance: float = 1e-8,
        iterations: int = 1000,
        kinds: KindsLike = None,
        cuts: object = None,
        label: str | None = None,
    ) -> Self:
        """Learn the tables: "counts" from rows whose family is complete, "em" and "gradient" from all rows.

        ``smoothing`` adds to every cell (a number, or "bdeu" with equivalent sample size ``ess``). Nodes without a
        column are hidden: declare how many ``states`` they have and take "em" or "gradient"; these begin by chance,
        always the same unless ``random_state`` is another number, or None. States of a hidden node come in the order
        of their probability, the most probable first; where tables were given, they keep the sense of these.
        ``choose_states`` finds how many there are, and ``learned_.climbs`` says where each beginning led.

        A column of numbers is a number, by least squares in every cell of the levels above it, unless ``cuts`` makes
        intervals of it, or its states or ``kinds`` (as in ``NaiveBayes``) say that they are levels; ``schema_`` says
        which. Intervals are right-closed and part of the network from then on: a number given as evidence, or in a
        row, stands for the one it lies in.

        Parameters
        ----------
        X : table
            Rows; a column for each node that is not hidden.
        method : {"counts", "em", "gradient"}, default "counts"
            Count the rows whose family is complete, or climb the likelihood of all rows, with missing values and
            hidden nodes.
        smoothing : float or "bdeu", default 1.0
            Pseudo-rows in every cell; where levels stand above a number, they vary as rows do within all cells.
        ess : float, default 1.0
            Equivalent sample size of "bdeu".
        restarts : int, optional
            How often EM or the gradient begins anew at random tables.
        random_state : int, default 0
            Seed of the beginnings.
        tolerance : float, default 1e-8
            Relative gain of the likelihood below which it ends.
        iterations : int, default 1000
            Most steps.
        kinds : mapping or str, optional
            As in ``NaiveBayes``.
        cuts : {"frequency", "mdlp"}, int, sequence or mapping, optional
            How columns of numbers become intervals: of equal weight, as many as suit the rows or a given number; where
            the shares of ``label`` change (Fayyad and Irani); or at these cuts; for all columns of numbers or by
            column.
        label : str, optional
            The column of levels by which "mdlp" cuts.

        Examples
        --------
        >>> rows = {"age": [20, 25, 31, 60, 62, 70], "state": ["well"] * 3 + ["ill"] * 3}
        >>> net = Network([("state", "age")]).fit(rows, cuts="mdlp", label="state")
        >>> net.states("age"), round(net.query("state", {"age": 66.5})["ill"], 3)
        (('(-inf, 50]', '(50, inf)'), 0.8)
        """
        recipe = Recipe(method, smoothing, ess, restarts, random_state, tolerance, iterations)
        begin = self._fit.network if self._fit is not None and self._fit.given else None
        before = {} if self._fit is None else self._fit.network.cuts
        declared = {node: states for node, states in self._declared.items() if node not in before}
        found = Cutting(cuts, label).learn(X, kinds, sample_weight, self.n_jobs, declared)
        table = NodeTable.of(X, self.graph, sample_weight, self.n_jobs, kinds, NodeKinds(declared, found))
        declared |= interval_levels(found)
        if recipe.method == COUNTS:
            self._fit = Fitted.from_counts(self.graph, table.count(declared, True), recipe, found)
        else:
            self._fit = Fitted.from_rows(self.graph, table.rows(declared), recipe, begin, found)
        self._declared = declared
        return self

    def choose_states(
        self,
        X: TableLike,
        node: str,
        most: int = 8,
        score: str = BIC,
        settings: Mapping[str, Any] | None = None,
    ) -> StateChoice[Network]:
        """How many states a hidden node needs: networks with one state, two, and so on, judged by a score.

        It ends where two more states in a row do not score higher. This network stays as it is.

        Parameters
        ----------
        X : table
            Rows; a column for each node that is not hidden.
        node : str
            The hidden node.
        most : int, default 8
            The largest number of states that is tried.
        score : {"bic", "cheeseman-stutz"}, default "bic"
            The log-likelihood less half the logarithm of the number of rows for each free parameter; or the
            approximation of the marginal likelihood by expected counts, with the smoothing as prior, for levels alone.
        settings : mapping, optional
            Parameters of ``fit`` by name; ``method`` is "em" unless given.

        Returns
        -------
        StateChoice
            ``scores`` by number of states, ``best``, and the ``network`` that has it.

        Examples
        --------
        >>> net = Network([("h", "a"), ("h", "b"), ("h", "c")])
        >>> rows = {name: ["x"] * 40 + ["y"] * 40 for name in "abc"}
        >>> net.choose_states(rows, "h", most=3).best
        2
        """
        if self.graph.check(node) in NodeTable.of(X, self.graph, None, self.n_jobs).observed:
            raise InputError(f"{node!r} has a column, so it is not hidden; leave the column out")

        def learn(k: int) -> tuple[Network, float]:
            known: dict[Label, object] = {name: levels.values for name, levels in self._declared.items()}
            made = Network(self.edges, None, {**known, node: k}, self.nodes, self.unseen, self.n_jobs, self.memory)
            made.fit(X, **{"method": EM, **(settings or {})})
            return made, score_hidden(made.fitted, score)

        return StateChoice.climb(node, score, most, learn)

    def partial_fit(self, X: TableLike, sample_weight: WeightsLike = None) -> Self:
        """Learn more rows, the way the others were learned; new states are welcome unless they were declared."""
        if self._fit is None:
            return self.fit(X, sample_weight=sample_weight)
        self._fit = self._fit.merge(self._more(X, sample_weight))
        return self

    def forget(self, X: TableLike, sample_weight: WeightsLike = None) -> Self:
        """Unlearn rows: afterwards the counts are those of a network that never saw them."""
        self._fit = self.fitted.subtract(self._more(X, sample_weight), self._declared)
        return self

    def merge(self, other: Network) -> Network:
        """A new network that has learned what both have.

        Parameters
        ----------
        other : Network
            With the same graph.
        """
        one, two = self.fitted, other.fitted
        if dict(self.graph.parents) != dict(other.graph.parents):
            raise MergeError("the networks have different graphs and cannot be merged")
        if dict(one.network.cuts) != dict(two.network.cuts):
            raise MergeError("the numbers of the networks are cut differently; fit both with the same list of cuts")
        if one.recipe != two.recipe:
            raise MergeError(f"the networks were learned differently: {one.recipe} and {two.recipe}; fit both alike")
        return self._with(one.merge(two))

    def __add__(self, other: object) -> Network:
        return self.merge(other) if isinstance(other, Network) else NotImplemented

    def _more(self, X: TableLike, sample_weight: WeightsLike) -> Fitted:
        """The statistic of other rows, alone."""
        fitted = self.fitted
        fitted.check_learns()
        table = NodeTable.known(X, fitted.network, sample_weight, self.n_jobs)
        if fitted.counted is None:
            return replace(fitted, rows=table.rows(self._declared))
        table.check_columns(fitted.counted.schema.names)
        return replace(fitted, counted=table.count(self._declared, True))

    # -- keeping ---------------------------------------------------------------------------------

    def save(self, path: FilePath) -> None:
        """Write a ``.bayes`` file: whole or not at all; ``load`` gives the network back."""
        network_file.save(path, self.fitted, self._declared, {"unseen": self.unseen})

    @classmethod
    def restore(cls, path: FilePath) -> Network:
        """The network of a ``.bayes`` file."""
        fitted, declared, settings = network_file.load(path)
        with doubts(path):
            made = cls.of(fitted.network, **settings)
        made._declared, made._fit = declared, fitted
        return made

    @property
    def digest(self) -> str:
        """SHA-256 of graph, states and tables: equal networks have equal digests."""
        return network_file.digest(self.network_)

    def _with(self, fitted: Fitted) -> Network:
        made = Network.of(fitted.network, self.unseen, self.n_jobs, self.memory)
        made._declared, made._fit = self._declared, fitted
        return made

    # -- showing ---------------------------------------------------------------------------------

    def __repr__(self) -> str:
        value = self._fit.network if self._fit else None
        free = f", {value.parameters} free {value.free}" if value else ", without tables"
        return f"Network({len(self.nodes)} nodes, {len(self.edges)} arcs{free})"
