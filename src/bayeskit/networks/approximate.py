"""Approximate inference for networks too wide to be asked exactly, with the standard error of every answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Code, Float, Int
from bayeskit.errors import ImpossibleEvidence
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
