"""Conformity: how strange a class is for a row by what a model says of it, and the rank of that among other rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.special import logsumexp

from bayeskit.arrays import Bool, Float, Int
from bayeskit.errors import InputError

TIE = 1e-10  # scores nearer than this, as a share of one plus their magnitude, are equal
SURE = 700.0  # log-odds beyond which a double holds no more certainty
MOST = 1e300  # of a score, so that differences are numbers


@dataclass(frozen=True)
class Nonconformity:
    """A score of a row and a class: the larger, the less the class suits the row.

    ``lac`` is 1 - P(c | x), ranked by its log-odds, which do not round to 0 and 1 (Sadinle, Lei and Wasserman 2019);
    ``margin`` the largest other probability less P(c | x); ``aps`` what is more probable than the class, and a random
    part of its own probability (Romano, Sesia and Candès 2020); ``raps`` adds a penalty for every place beyond
    ``rank`` (Angelopoulos and others 2021); ``evidence`` is -log p(x), the same for every class.
    """

    name: str
    penalty: float = 0.01
    rank: int = 1

    def __post_init__(self) -> None:
        if self.name not in SCORES:
            raise InputError(
                f"conformity_score={self.name!r}: choose one of {', '.join(s for s in SCORES if s != 'evidence')}"
            )

    @property
    def takes_part(self) -> bool:
        """Whether a random part of a class's own probability counts, as it was published."""
        return self.name in ("aps", "raps")

    @property
    def of_joint(self) -> bool:
        """Whether it is a function of log P(c, x), and not of the posterior."""
        return self.name == "evidence"

    def __call__(self, logs: Float, code: Int | int, part: Float | float = 1.0) -> Float:
        """Scores, (n,), of one class for each row; ``part`` of its own probability counts in ``aps``, (n,)."""
        code = np.broadcast_to(np.asarray(code, dtype=np.int64), len(logs))
        return np.clip(SCORES[self.name](self, logs, code, part), -MOST, MOST)

    def of_classes(self, logs: Float, part: Float | float = 1.0) -> Float:
        """Scores of all classes: (n, K)."""
        return np.stack([self(logs, k, part) for k in range(logs.shape[1])], axis=1)


def _own(logs: Float, code: Int) -> Float:
    own: Float = logs[np.arange(len(logs)), code]
    return own


def _lac(how: Nonconformity, logs: Float, code: Int, part: Float | float) -> Float:
    if logs.shape[1] == 2:
        rest = _own(logs, 1 - code)
    else:
        others = logs.copy()
        others[np.arange(len(logs)), code] = -np.inf
        rest = logsumexp(others, axis=1) if logs.shape[1] > 1 else others[:, 0]
    with np.errstate(invalid="ignore"):
        odds: Float = np.clip(rest - _own(logs, code), -SURE, SURE)
    return odds


def _margin(how: Nonconformity, logs: Float, code: Int, part: Float | float) -> Float:
    others = np.exp(logs)
    own = _own(others, code)
    others[np.arange(len(logs)), code] = -np.inf
    margin: Float = others.max(axis=1) - own
    return margin


def _aps(how: Nonconformity, logs: Float, code: Int, part: Float | float) -> Float:
    p = np.exp(logs)
    own = _own(p, code)
    before: Float = np.where(logs > _own(logs, code)[:, None], p, 0.0).sum(axis=1)
    whole: Float = before + part * own
    return whole


def _raps(how: Nonconformity, logs: Float, code: Int, part: Float | float) -> Float:
    rank = 1 + (logs > _own(logs, code)[:, None]).sum(axis=1)
    whole: Float = _aps(how, logs, code, part) + how.penalty * np.maximum(rank - how.rank, 0)
    return whole


def _evidence(how: Nonconformity, logs: Float, code: Int, part: Float | float) -> Float:
    strange: Float = -logsumexp(logs, axis=1)
    return strange


SCORES: Mapping[str, Callable[[Nonconformity, Float, Int, Float | float], Float]] = {
    "lac": _lac,
    "margin": _margin,
    "aps": _aps,
    "raps": _raps,
    "evidence": _evidence,
}


@dataclass(frozen=True)
class Rank:
    """Where new rows stand among others: how much of these is stranger, or as strange, by class: (m, K) each."""

    stranger: Float
    as_strange: Float
    total: Float

    def __add__(self, other: Rank) -> Rank:
        mine, theirs = (vars(one).values() for one in (self, other))
        return Rank(*(a + b for a, b in zip(mine, theirs, strict=True)))

    def p_values(self, own: Float | float = 1.0, share: Float | float = 1.0) -> Float:
        """(stranger + share (as strange + own)) / (total + own), own being the weight of the new row itself: (m, K).

        With a share of one, ties speak for the class; with a uniform random number the p-value of a true class is
        uniform. It is 1 where nothing weighs anything.
        """
        own, share = (np.asarray(a, dtype=np.float64).reshape(-1, 1) for a in (own, share))
        above, whole = self.stranger + share * (self.as_strange + own), self.total + own
        return np.minimum(np.divide(above, whole, out=np.ones_like(above), where=whole > 0), 1.0)


@dataclass(frozen=True)
class ScoredRows:
    """Rows whose class is known, with their scores, to rank new rows among."""

    scores: Float  # (n,)
    codes: Int  # (n,) classes
    stratum: Int  # (n,) rows are ranked among those of their own; of new rows -1 is one that none of these is in
    weights: Float  # (n,)
    by_class: bool = False  # whether also among those of the class only
    _order: dict[tuple[int, int], tuple[Float, Float]] = field(default_factory=dict, compare=False, repr=False)

    def rank(self, scores: Float, stratum: Int) -> Rank:
        """Scores of new rows for every class, (m, K), among those of their stratum."""
        found = np.zeros((3, *scores.shape))
        for s in np.unique(stratum).tolist():
            rows = np.flatnonzero(stratum == s)
            for k in range(scores.shape[1]):
                known, heavier = self._sorted(s, k if self.by_class else -1)
                a = scores[rows, k]
                near = TIE * (1 + np.abs(a))
                stranger = heavier[np.searchsorted(known, a + near, side="right")]
                found[0, rows, k] = stranger
                found[1, rows, k] = heavier[np.searchsorted(known, a - near, side="left")] - stranger
                found[2, rows, k] = heavier[0]
        return Rank(*found)

    def _sorted(self, stratum: int, code: int) -> tuple[Float, Float]:
        """Scores in order, and the weight from each on: (r,) and (r + 1,)."""
        if (stratum, code) not in self._order:
            mine = (self.stratum == stratum) & ((self.codes == code) | (code < 0))
            order = np.argsort(self.scores[mine], kind="stable")
            weights = self.weights[mine][order]
            heavier = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
            self._order[stratum, code] = self.scores[mine][order], heavier
        return self._order[stratum, code]


def rank_among(scores: Float, weights: Float, new: float) -> tuple[float, float, float]:
    """How much of some rows is stranger than a new one, as strange, and all of it; scores and weights (n,)."""
    near = TIE * (1 + abs(new))
    stranger: Bool = scores > new + near
    equal: Bool = (scores >= new - near) & ~stranger
    return float(weights @ stranger), float(weights @ equal), float(weights.sum())
