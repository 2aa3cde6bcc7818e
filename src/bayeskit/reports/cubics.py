"""Cubics: curves that no formula is known of, in pieces as short as they must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from bayeskit.arrays import Float, Json
from bayeskit.reports.packed import Store

KNOWN = np.array([0, 1 / 3, 2 / 3, 1])  # of a piece: where it is asked for
JUDGED = np.array([1 / 6, 1 / 2, 5 / 6])  # where it is judged
ROUNDS = 24  # times a piece may be halved
GOOD = 1e-7  # what a piece may be off


@dataclass(frozen=True)
class Cubics:
    """A cubic in each piece, through its ends and two places between; a curve may jump from piece to piece.

    >>> ends = np.array([[0.0, 1.0], [1.0, 4.0]])
    >>> float(Cubics(ends, (spread(ends, KNOWN) ** 3)[..., None]).at(np.array([2.5]))[0, 0])
    15.625
    """

    ends: Float  # (m, 2) of each piece, one after the other
    values: Float  # (m, 4, K)

    def at(self, x: Float) -> Float:
        i = np.clip(np.searchsorted(self.ends[:, 0], x, side="left") - 1, 0, len(self.ends) - 1)
        begin, end = self.ends[i].T
        out: Float = np.einsum("nj,njk->nk", _weights((x - begin) / (end - begin)), self.values[i])
        return out

    def json(self, store: Store) -> Json:
        breaks = np.append(self.ends[:, 0], self.ends[-1, 1])
        return {"form": "cubics", "breaks": store.exact(breaks), "values": store.close(self.values)}


def refined(ask: Callable[[Mapping[int, Float]], Float], start: Mapping[int, Float], most: int) -> dict[int, Cubics]:
    """Curves of several columns at once, from the ends of their first pieces: those that are off are halved.

    A bump that lies between all places of a first piece is not seen: begin with those of an ``Axis``. ``ask`` gives
    terms at some values of some columns: (n, columns, K). Columns with terms that are not finite have no curve. Where
    ``most`` pieces, of all curves together, are not enough, the worst are halved.
    """
    done: dict[int, list[tuple[Float, Float]]] = {j: [] for j in start}
    left, count = dict(start), 0
    for turn in range(ROUNDS):
        found = _asked(ask, left)
        for j in [j for j, (values, _) in found.items() if not np.isfinite(values).all()]:
            del found[j], left[j], done[j]
        if not found:
            break
        off = np.concatenate([off for _, off in found.values()])
        count += len(off)
        room = max(0, most - count) if turn < ROUNDS - 1 else 0
        bar = max(GOOD, float(np.sort(off)[-room - 1]) if 0 < room < len(off) else GOOD if room else np.inf)
        for j, (values, away) in found.items():
            ends, bad = left.pop(j), away > bar
            done[j].append((ends[~bad], values[~bad]))
            count -= int(bad.sum())
            if bad.any():
                middle = ends[bad].mean(axis=1)
                left[j] = np.vstack([np.column_stack([ends[bad, 0], middle]), np.column_stack([middle, ends[bad, 1]])])
    return {j: _joined(parts) for j, parts in done.items()}


def _asked(ask: Callable[[Mapping[int, Float]], Float], left: Mapping[int, Float]) -> dict[int, tuple[Float, Float]]:
    """Of each column what its pieces are known by, (m, 4, K), and how far each is off, (m,)."""
    if not left:
        return {}
    places = {j: np.hstack([spread(ends, KNOWN), spread(ends, JUDGED)]) for j, ends in left.items()}
    for x in places.values():  # where the curve jumps, its value belongs to the piece before
        x[:, 0] = np.nextafter(x[:, 0], np.inf)
    terms = ask({j: x.ravel() for j, x in places.items()})
    found = {}
    for j, x in places.items():
        mine = terms[: x.size, j].reshape(*x.shape, -1)
        values, true = mine[:, : len(KNOWN)], mine[:, len(KNOWN) :]
        with np.errstate(invalid="ignore"):
            apart = np.einsum("pj,mjk->mpk", _weights(JUDGED), values) - true
        found[j] = np.where(np.isfinite(true).all(), values, np.nan), np.abs(apart).max(axis=(1, 2))
    return found


def spread(ends: Float, shares: Float) -> Float:
    """Places along each piece: (m, shares)."""
    out: Float = ends[:, :1] + np.diff(ends, axis=1) * shares
    return out


def _weights(share: Float) -> Float:
    """Lagrange's, of the four places a piece is known at: (n, 4)."""
    t = 3 * share
    return np.stack(
        [
            -(t - 1) * (t - 2) * (t - 3) / 6,
            t * (t - 2) * (t - 3) / 2,
            -t * (t - 1) * (t - 3) / 2,
            t * (t - 1) * (t - 2) / 6,
        ],
        axis=1,
    )


def _joined(parts: list[tuple[Float, Float]]) -> Cubics:
    ends, values = (np.concatenate(some) for some in zip(*parts, strict=True))
    order = np.argsort(ends[:, 0], kind="stable")
    return Cubics(ends[order], values[order])
