"""Answer: what a network says on some nodes given others, from the words of a user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from bayeskit.arrays import Code, Float, Seed
from bayeskit.errors import InputError
from bayeskit.networks.approximate import METHODS, Estimate
from bayeskit.networks.inference import Inference, check_possible
from bayeskit.networks.network import Network


class Answer(dict[Any, float]):
    """Probabilities by state; with ``standard_error`` by state where they were estimated by chance."""

    standard_error: dict[Any, float] | None = None


def answer(inference: Inference, target: str | Sequence[str], evidence: Mapping[str, object]) -> Answer:
    """P(target | evidence), exactly; a list of targets gives their joint distribution by tuples of states."""
    network = inference.network
    targets = [target] if isinstance(target, str) else list(target)
    codes, likelihoods = evidence_of(network, evidence)
    found, logs = inference.joint(codes, targets, likelihoods)
    check_possible(logs)
    labels = product(*(network.states(t) for t in targets))
    keys = [label[0] for label in labels] if isinstance(target, str) else list(labels)
    return Answer(zip(keys, found[0].ravel().tolist(), strict=True))


def estimate(
    network: Network,
    target: str | Sequence[str],
    evidence: Mapping[str, object],
    method: str,
    samples: int,
    random_state: Seed,
) -> Answer:
    """P(target | evidence) by chance, with standard errors."""
    codes = hard_evidence(network, evidence, "an approximate answer")
    if not isinstance(target, str):
        raise InputError("an approximate answer has one target; ask for its name, or for all of them exactly")
    states = network.states(target)
    found = sample(network, codes[:, 0], target, method, samples, np.random.default_rng(random_state))
    answer = Answer(zip(states, found.probabilities.tolist(), strict=True))
    answer.standard_error = dict(zip(states, found.standard_error.tolist(), strict=True))
    return answer


def sample(network: Network, codes: Code, target: str, method: str, samples: int, rng: np.random.Generator) -> Estimate:
    """P(target | evidence) for the codes of one row, (nodes,), by a method of ``approximate``."""
    if method not in METHODS or samples < 1:
        raise InputError(f"approximate={method!r}, samples={samples!r}: choose {' or '.join(METHODS)} and samples > 0")
    return METHODS[method](network, codes.astype(np.int64), target, samples, rng)


def hard_evidence(network: Network, evidence: Mapping[str, object], what: str) -> Code:
    """Codes (nodes, 1) of evidence without likelihoods."""
    codes, likelihoods = evidence_of(network, evidence)
    if likelihoods:
        raise InputError(f"{what} takes states as evidence, not likelihoods ({', '.join(likelihoods)})")
    return codes


def evidence_of(network: Network, evidence: Mapping[str, object]) -> tuple[Code, dict[str, Float]]:
    """Codes (nodes, 1) of what is observed, and likelihoods (states, 1) of what is only likely.

    None and NaN are not observed; {state: likelihood} is soft, and states it lacks are impossible.
    """
    place = {node: j for j, node in enumerate(network.nodes)}
    codes, likelihoods = np.full((len(place), 1), -1, dtype=np.int32), {}
    for node, state in evidence.items():
        network.graph.check(node)
        if isinstance(state, Mapping):
            likelihood = np.zeros((network.sizes[node], 1))
            for label, given in state.items():
                likelihood[network.code(node, label)] = float(given)
            if not (np.isfinite(likelihood) & (likelihood >= 0)).all() or not likelihood.any():
                raise InputError(f"the likelihoods of {node!r} must be finite, at least 0 and not all 0")
            likelihoods[node] = likelihood
        elif state is not None and state == state:
            codes[place[node]] = network.code(node, state)
    return codes, likelihoods
