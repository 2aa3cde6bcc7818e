"""Answer: what a network says on some nodes given others; exactly, estimated, or worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from numbers import Real
from typing import Any

import numpy as np

from bayeskit.arrays import Code, Float, Int, Label, Seed
from bayeskit.data.frame import shorten
from bayeskit.data.written import NEXT, Line, Written
from bayeskit.errors import ImpossibleEvidence, InputError, NetworkError
from bayeskit.networks.contradiction import check_possible
from bayeskit.networks.hybrid import HybridInference
from bayeskit.networks.inference import Inference
from bayeskit.networks.mixture import NumberAnswer
from bayeskit.networks.network import Network

CHAINS = 64


@dataclass(frozen=True)
class Estimate:
    """Probabilities of a target's states, and how far chance may have moved each."""

    probabilities: Float  # (states,)
    standard_error: Float  # (states,)


def weighting(network: Network, codes: Int, target: str, samples: int, rng: np.random.Generator) -> Estimate:
    """Likelihood weighting: rows drawn parents first, each weighted by P(evidence | what was drawn).

    p = sum of w * [x = k] / sum of w, with variance sum of w^2 ([x = k] - p)^2 / (sum of w)^2.
    """
    place = {node: j for j, node in enumerate(network.nodes)}
    drawn = np.empty((len(place), samples), dtype=np.int32)
    log_weight = np.zeros(samples)
    for node in network.graph.order:
        mine = network.potentials[node][tuple(drawn[place[p]] for p in network.graph.parents[node])]
        if (fixed := int(codes[place[node]])) >= 0:
            drawn[place[node]] = fixed
            with np.errstate(divide="ignore"):
                log_weight += np.log(mine[..., fixed])
        else:
            drawn[place[node]] = _draw(np.broadcast_to(mine, (samples, network.sizes[node])), rng)
    top = log_weight.max()
    if np.isneginf(top):
        raise ImpossibleEvidence(
            f"none of {samples} draws agrees with the evidence, which is impossible or very rare; observe less, or "
            f'take more samples or approximate="gibbs"'
        )
    weight = np.exp(log_weight - top)
    hit = drawn[place[target]] == np.arange(network.sizes[target])[:, None]
    p = (hit * weight).sum(axis=1) / weight.sum()
    error = np.sqrt((weight**2 * (hit - p[:, None]) ** 2).sum(axis=1)) / weight.sum()
    return Estimate(p, error)


def gibbs(network: Network, codes: Int, target: str, samples: int, rng: np.random.Generator) -> Estimate:
    """Gibbs sampling: each node in turn drawn given its Markov blanket, in many chains; errors from their spread.

    Chains cannot cross states of probability zero: with deterministic tables prefer weighting.
    """
    place = {node: j for j, node in enumerate(network.nodes)}
    state = _start_chains(network, codes, place, rng)
    free = [node for node in network.graph.order if codes[place[node]] < 0]
    sweeps = max(20, samples // CHAINS)
    burn = sweeps // 5
    total = np.zeros((CHAINS, network.sizes[target]))
    logs = {}
    with np.errstate(divide="ignore"):
        for node in network.nodes:
            logs[node] = np.log(network.potentials[node])
    for sweep in range(sweeps + burn):
        for node in free:
            density = _conditional(network, logs, state, place, node)
            state[place[node]] = _draw(density, rng)
            if node == target and sweep >= burn:
                total += density  # the conditional itself varies less than draws from it
    if target not in free:
        total[:, int(codes[place[target]])] += sweeps
    means = total / total.sum(axis=1, keepdims=True)
    return Estimate(means.mean(axis=0), means.std(axis=0, ddof=1) / np.sqrt(CHAINS))


METHODS = {"weighting": weighting, "gibbs": gibbs}


def _draw(density: Float, rng: np.random.Generator) -> Code:
    """A state for each row of densities (rows, states)."""
    ladder = np.cumsum(density, axis=-1)
    u = rng.random(len(ladder)) * ladder[:, -1]
    # the first step above u; steps without probability are never the first
    return np.asarray((u[:, None] >= ladder).sum(axis=-1).clip(max=ladder.shape[1] - 1), dtype=np.int32)


def _start_chains(network: Network, codes: Int, place: dict[str, int], rng: np.random.Generator) -> Code:
    """States for all chains that have a positive probability with the evidence."""
    found: list[Code] = []
    for _ in range(50):
        drawn = np.empty((len(place), CHAINS), dtype=np.int32)
        alive = np.ones(CHAINS, dtype=bool)
        for node in network.graph.order:
            mine = network.potentials[node][tuple(drawn[place[p]] for p in network.graph.parents[node])]
            fixed = int(codes[place[node]])
            mine = np.broadcast_to(mine, (CHAINS, network.sizes[node]))
            drawn[place[node]] = fixed if fixed >= 0 else _draw(mine, rng)
            alive &= mine[np.arange(CHAINS), drawn[place[node]]] > 0
        found += list(drawn[:, alive].T)
        if len(found) >= CHAINS:
            return np.ascontiguousarray(np.array(found[:CHAINS]).T)
    raise ImpossibleEvidence(
        "no state of the network was found in which the evidence is possible: it is impossible or very rare; "
        "observe less"
    )


def _conditional(network: Network, logs: dict[str, Float], state: Code, place: dict[str, int], node: str) -> Float:
    """P(node | its Markov blanket) in every chain: (chains, states)."""
    size, chains = network.sizes[node], state.shape[1]
    every = np.arange(size)[None, :]
    total = np.zeros((chains, size))
    for child in (node, *network.graph.children[node]):
        axes = [every if n == node else state[place[n]][:, None] for n in network.graph.family(child)]
        total = total + logs[child][tuple(axes)]
    total -= total.max(axis=1, keepdims=True)
    density = np.exp(total)
    return np.asarray(density / density.sum(axis=1, keepdims=True))


class Answer(dict[Any, float]):
    """Probabilities by state; with ``standard_error`` by state where they were estimated by chance."""

    standard_error: dict[Any, float] | None = None


def answer(
    inference: HybridInference, target: str | Sequence[str], evidence: Mapping[str, object]
) -> Answer | NumberAnswer:
    """P(target | evidence), exactly; a list of targets gives their joint distribution by tuples of states."""
    network = inference.network
    targets = [target] if isinstance(target, str) else list(target)
    given = evidence_of(network, evidence)
    if isinstance(target, str) and target in network.normals:
        return NumberAnswer(inference.mixture(given.codes, given.numbers, target, given.likelihoods))
    if numbers := [t for t in targets if t in network.normals]:
        raise InputError(f"{numbers[0]!r} is a number; ask for it alone, the joint distribution is one of levels")
    keys = list(product(*(network.states(t) for t in targets)))
    found, logs = inference.joint(given.codes, targets, given.likelihoods, given.numbers)
    check_possible(logs, inference.levels, given.codes, given.likelihoods)
    labels = [label[0] for label in keys] if isinstance(target, str) else keys
    return Answer(zip(labels, found[0].ravel().tolist(), strict=True))


def estimate(
    network: Network,
    target: str | Sequence[str],
    evidence: Mapping[str, object],
    method: str,
    samples: int,
    random_state: Seed,
) -> Answer:
    """P(target | evidence) by chance, with standard errors."""
    check_levels(network, "an approximate answer")
    codes = hard_evidence(network, evidence, "an approximate answer").codes
    if not isinstance(target, str):
        raise InputError("an approximate answer has one target; ask for its name, or for all of them exactly")
    states = network.states(target)
    found = sample(network, codes[:, 0], target, method, samples, np.random.default_rng(random_state))
    answer = Answer(zip(states, found.probabilities.tolist(), strict=True))
    answer.standard_error = dict(zip(states, found.standard_error.tolist(), strict=True))
    return answer


def sample(network: Network, codes: Code, target: str, method: str, samples: int, rng: np.random.Generator) -> Estimate:
    """P(target | evidence) for the codes of one row, (nodes,), by a method of ``METHODS``."""
    if method not in METHODS or samples < 1:
        raise InputError(f"approximate={method!r}, samples={samples!r}: choose {' or '.join(METHODS)} and samples > 0")
    return METHODS[method](network, codes.astype(np.int64), target, samples, rng)


@dataclass(frozen=True)
class Given:
    """What is observed: states and numbers, and states that are only likely."""

    codes: Code  # (nodes with states, 1), -1 where not observed
    numbers: Float  # (number nodes, 1), NaN where not observed
    likelihoods: dict[str, Float]  # (states, 1) by node


def hard_evidence(network: Network, evidence: Mapping[str, object], what: str) -> Given:
    """Evidence without likelihoods."""
    given = evidence_of(network, evidence)
    if given.likelihoods:
        raise InputError(f"{what} takes states as evidence, not likelihoods ({', '.join(given.likelihoods)})")
    return given


def check_levels(network: Network, what: str) -> None:
    """Refuse networks that have numbers."""
    if network.normals:
        raise NetworkError(
            f"{what} is for networks of levels alone, and {network.numbers[0]!r} is a number; ask exactly "
            f"(query, predict_proba, sample), or cut the numbers into intervals (cuts)"
        )


def evidence_of(network: Network, evidence: Mapping[str, object]) -> Given:
    """What is observed, in the words of a user.

    None and NaN are not observed; {state: likelihood} is soft, and states it lacks are impossible.
    """
    place = {node: j for j, node in enumerate(network.coded)}
    codes, likelihoods = np.full((len(place), 1), -1, dtype=np.int32), {}
    numbers = np.full((len(network.numbers), 1), np.nan)
    for node, state in evidence.items():
        network.graph.check(node)
        if state is None or (isinstance(state, float) and np.isnan(state)):
            continue
        if node in network.normals:
            if isinstance(state, bool) or not isinstance(state, Real) or not np.isfinite(float(state)):
                raise InputError(f"evidence on the number {node!r} is {state!r}; give a finite number")
            numbers[network.numbers.index(node)] = float(state)
        elif isinstance(state, Mapping):
            likelihood = np.zeros((network.sizes[node], 1))
            for label, given in state.items():
                likelihood[network.code(node, label)] = float(given)
            if not (np.isfinite(likelihood) & (likelihood >= 0)).all() or not likelihood.any():
                raise InputError(f"the likelihoods of {node!r} must be finite, at least 0 and not all 0")
            likelihoods[node] = likelihood
        elif state == state:
            codes[place[node]] = network.code(node, state)
    return Given(codes, numbers, likelihoods)


SUMMANDS = 8  # of a sum over hidden nodes that are written out
MOST = 100_000  # configurations of hidden nodes that are summed by hand


@dataclass(frozen=True, repr=False)
class WorkedQuery(Written):
    """P(target, evidence) = sum over hidden nodes of the product of P(node | parents), for each state of the target."""

    network: Network
    target: str
    evidence: Mapping[str, Any]

    @property
    def nodes(self) -> tuple[str, ...]:
        """The target, the evidence and their ancestors, parents first; the tables of all others sum to one."""
        graph, wanted = self.network.graph, {self.target, *self.evidence}
        for node in reversed(graph.order):
            if node in wanted:
                wanted.update(graph.parents[node])
        return tuple(node for node in graph.order if node in wanted)

    @property
    def hidden(self) -> tuple[str, ...]:
        """The nodes that are summed over."""
        return tuple(node for node in self.nodes if node != self.target and node not in self.evidence)

    def _lines(self) -> list[Line]:
        given = ", ".join(_assignment(node, state) for node, state in self.evidence.items())
        states = self.network.states(self.target)
        sums = [self._products(state) for state in states]
        over = f" = sum over {', '.join(self.hidden)} of the product" if self.hidden else ""
        factors = " · ".join(self._factor(node) for node in self.nodes)
        lines: list[Line] = [(f"P({', '.join(self.nodes)}) = {factors}",)] if len(self.nodes) > 1 else []
        for state, products in zip(states, sums, strict=True):
            shown = [" · ".join(f"{p:.4g}" for p in entries) for entries in products[:SUMMANDS]]
            more = [f"... ({len(products) - SUMMANDS} more)"] if len(products) > SUMMANDS else []
            name = ", ".join(filter(None, [_assignment(self.target, state), given]))
            whole = f" = {_total(products):.4g}" if len(products) > 1 or len(self.nodes) > 1 else ""
            lines.append((f"P({name}){over}", *[NEXT] * bool(over), f" = {' + '.join([*shown, *more])}{whole}"))
        joint = [_total(products) for products in sums]
        whole = " + ".join(f"{p:.4g}" for p in joint)
        for state, p in zip(states, joint, strict=True):
            name = f"{_assignment(self.target, state)} | {given}" if given else _assignment(self.target, state)
            lines.append((f"P({name}) = {p:.4g} / ({whole}) = {p / sum(joint):.4g}",))
        return lines

    def _factor(self, node: str) -> str:
        parents = self.network.graph.parents[node]
        return f"P({node} | {', '.join(parents)})" if parents else f"P({node})"

    def _products(self, state: Label) -> list[list[float]]:
        """The entries of the tables whose product is one summand, for each configuration of the hidden nodes."""
        known = {**self.evidence, self.target: state}
        code = {node: self.network.code(node, value) for node, value in known.items()}
        sizes = [range(self.network.sizes[node]) for node in self.hidden]
        found = []
        for states in islice(product(*sizes), MOST):
            code.update(zip(self.hidden, states, strict=True))
            found.append([self._entry(node, code) for node in self.nodes])
        return found

    def _entry(self, node: str, code: Mapping[str, int]) -> float:
        where = tuple(code[n] for n in self.network.graph.family(node))
        return float(self.network.potentials[node][where])


def work_query(network: Network, target: Label, evidence: Mapping[str, object]) -> WorkedQuery:
    """The calculation of one target from states that are known."""
    if not isinstance(target, str):
        raise InputError(f"target={target!r}: the calculation by hand is that of one node; give its name")
    known = {node: state for node, state in evidence.items() if state is not None and state == state}
    for node, state in {target: network.states(target)[0], **known}.items():
        if isinstance(state, Mapping):
            raise InputError(f"the evidence on {node!r} is a likelihood; the calculation by hand takes states")
        network.code(node, state)
    if target in known:
        raise InputError(f"{target!r} is evidence itself; ask for a node that is not known")
    made = WorkedQuery(network, target, known)
    if (size := float(np.prod([float(network.sizes[node]) for node in made.hidden]))) > MOST:
        raise InputError(
            f"{len(made.hidden)} hidden nodes have {size:.3g} configurations, more than {MOST:,} to sum by hand; give "
            f"more evidence, or ask query, which is exact as well"
        )
    if not sum(_total(made._products(state)) for state in network.states(target)):
        check_possible(np.array([-np.inf]), Inference(network), evidence_of(network, known).codes)
    return made


def _total(products: list[list[float]]) -> float:
    return float(sum(np.prod(factors) for factors in products))


def _assignment(node: str, state: Label) -> str:
    return f"{node} = {shorten(state)}"
