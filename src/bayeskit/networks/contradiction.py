"""Contradiction: evidence of probability zero, and the observations that cannot be together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayeskit.arrays import Code, Float
from bayeskit.errors import ImpossibleEvidence, NetworkError

if TYPE_CHECKING:
    from bayeskit.networks.inference import Inference


def check_possible(
    log_evidence: Float, inference: Inference, codes: Code, likelihoods: Mapping[str, Float] | None = None
) -> None:
    """Refuse rows that the network holds impossible, and name what of the first of them cannot be together.

    ``codes`` are those of ``inference``, of all rows or of the impossible ones alone.
    """
    bad = np.flatnonzero(np.isneginf(log_evidence))
    if len(bad):
        first = bad[0] if codes.shape[1] == len(log_evidence) else 0
        soft = {node: given[:, [first]] for node, given in (likelihoods or {}).items()}
        why = _contradiction(inference, codes[:, [first]], soft)
        more = f" and {len(bad) - 1} more rows" if len(bad) > 1 else ""
        raise ImpossibleEvidence(
            f"the evidence of row {bad[0]}{more} has probability zero in this network{why}, so nothing follows from "
            f"it; check what was observed, or fit the network with smoothing"
        )


def _contradiction(inference: Inference, codes: Code, likelihoods: Mapping[str, Float]) -> str:
    """The observations of one row that cannot be together, none of which can be left out; in words."""
    network = inference.network
    place = {node: j for j, node in enumerate(network.nodes)}

    def possible(nodes: Sequence[str]) -> bool:
        part = np.full_like(codes, -1)
        for node in nodes:
            part[place[node]] = codes[place[node]]
        soft = {node: given for node, given in likelihoods.items() if node in nodes}
        return bool(np.isfinite(inference.joint(part, (), soft)[1][0]))

    kept = [node for node in network.graph.order if codes[place[node], 0] >= 0 or node in likelihoods]
    try:
        if possible(kept):  # the numbers contradict it
            return ""
        found: list[str] = []
        while not found or possible(found):  # the next is the last of the fewest, in this order, that cannot be
            low, high = 0, len(kept)
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if possible([*found, *kept[:middle]]) else (low, middle)
            found.append(kept[high - 1])
            kept = kept[: high - 1]
    except NetworkError:  # less evidence may leave too much open
        return ""
    states = (network.states(node)[codes[place[node], 0]] if node not in likelihoods else None for node in found)
    named = [
        f"{node!r} as likely as given" if state is None else f"{node!r} = {state!r}"
        for node, state in zip(found, states, strict=True)
    ]
    return f": {' and '.join(named[::-1])} cannot be{' together' if len(named) > 1 else ''}"
