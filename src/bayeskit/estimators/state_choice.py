"""StateChoice: how many states a hidden node needs, by a score of networks that were learned with each number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from bayeskit.arrays import Frame
from bayeskit.data.frame import align, frame
from bayeskit.errors import InputError

FALLS = 2  # numbers of states that score lower, one after the other, before the search ends
N = TypeVar("N")


@dataclass(frozen=True, repr=False)
class StateChoice(Generic[N]):
    """What each number of states scores, and the network of the best.

    Attributes
    ----------
    node : str
        The hidden node.
    score : str
        The name of the score; larger is better.
    scores : mapping
        The score of every number of states that was tried.
    best : int
        The number of states that scores highest.
    network : Network
        The network with that number, learned.
    """

    node: str
    score: str
    scores: Mapping[int, float]
    best: int
    network: N

    @classmethod
    def climb(cls, node: str, score: str, most: int, learn: Callable[[int], tuple[N, float]]) -> StateChoice[N]:
        """One state, two, and so on, until the score has fallen below the best twice in a row."""
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise InputError(f"most={most!r}: give the largest number of states to try, at least 1")
        scores: dict[int, float] = {}
        best, kept = 1, learn(1)
        scores[1] = kept[1]
        for k in range(2, most + 1):
            found = learn(k)
            scores[k] = found[1]
            if found[1] > kept[1]:
                best, kept = k, found
            elif k - best >= FALLS:
                break
        return cls(node, score, scores, best, kept[0])

    def __repr__(self) -> str:
        lines = [["states", self.score], *([str(k), f"{s:.2f}"] for k, s in self.scores.items())]
        return f"{self.node}: {self.best} states\n{align(lines, 0)}"

    def frame(self, kind: str = "pyarrow") -> Frame:
        """A row for each number of states: ``states``, ``score``."""
        return frame({"states": list(self.scores), "score": list(self.scores.values())}, kind)
