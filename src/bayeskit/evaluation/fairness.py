"""Fairness: how far rates of a class are apart over groups, by the measures that have names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from bayeskit.arrays import Float
from bayeskit.evaluation.confusion import Confusion
from bayeskit.numerics.rates import effective, ratio


@dataclass(frozen=True)
class FairnessMeasure:
    """A difference (0 is equal) or a ratio (1 is equal) of rates over groups."""

    name: str
    value: float
    meaning: str
    lowest: str  # the group with the lowest rate
    highest: str
    p: float  # the chance of rates this far apart if they were equal in all groups; NaN with too few rows


@dataclass(frozen=True)
class Rate:
    """A share of rows in each group."""

    groups: tuple[str, ...]
    share: Float  # (groups,)
    rows: Float  # (groups,) of equal weight that say as much

    @property
    def _known(self) -> Float:
        return self.share[np.isfinite(self.share)]

    @property
    def difference(self) -> float:
        return float(np.ptp(self._known)) if len(self._known) else float("nan")

    @property
    def ratio(self) -> float:
        """Least by greatest; 1 where all are 0."""
        if not len(self._known):
            return float("nan")
        low, high = float(self._known.min()), float(self._known.max())
        return low / high if high > 0 else 1.0

    @property
    def ends(self) -> tuple[str, str]:
        if not len(self._known):
            return "", ""
        return self.groups[int(np.nanargmin(self.share))], self.groups[int(np.nanargmax(self.share))]

    @property
    def homogeneity(self) -> tuple[float, int]:
        """Pearson's χ² of equal rates and its degrees of freedom; NaN where cells expect too few rows (Cochran)."""
        mask = np.isfinite(self.share) & (self.rows > 0)
        share, rows = self.share[mask], self.rows[mask]
        if len(share) < 2:
            return float("nan"), 0
        pooled = float(share @ rows / rows.sum())
        if not 0 < pooled < 1:
            return 0.0, len(share) - 1
        expected = np.concatenate([rows * pooled, rows * (1 - pooled)])
        if expected.min() < 1 or (expected < 5).mean() > 0.2:
            return float("nan"), len(share) - 1
        return float((rows * (share - pooled) ** 2).sum() / (pooled * (1 - pooled))), len(share) - 1


def fairness(tables: Mapping[str, Confusion], k: int) -> tuple[FairnessMeasure, ...]:
    """Measures over groups of the class at place k, by the confusion of each.

    Differences are greatest less least, ratios least by greatest, as fairlearn has them. p is Pearson's χ² of equal
    rates; of equalized odds the sum of two independent ones.

    >>> tables = {"f": Confusion([[5, 5], [2, 8]], ["no", "yes"]), "m": Confusion([[8, 2], [2, 8]], ["no", "yes"])}
    >>> {m.name: round(m.value, 3) for m in fairness(tables, 1)}["demographic parity difference"]
    0.15
    """
    c = tables[next(iter(tables))].labels.tolist()[k]
    selected = _rate(tables, k, [True, True], "true")
    found, false = _rate(tables, k, [True, False], "true"), _rate(tables, k, [False, True], "true")
    right = _rate(tables, k, [True, False], "predicted")
    accurate = _accuracy(tables)
    worst = max((found, false), key=lambda rate: -np.inf if np.isnan(rate.difference) else rate.difference)
    least = min((found, false), key=lambda rate: np.inf if np.isnan(rate.ratio) else rate.ratio)
    both = _p(found, false)
    shares = f"of the share predicted as {c}"
    return (
        _measure("demographic parity difference", selected.difference, f"range {shares}", selected),
        _measure("demographic parity ratio", selected.ratio, f"least by greatest {shares}", selected),
        _measure("equal opportunity difference", found.difference, f"range of the share of true {c} found", found),
        _measure("equal opportunity ratio", found.ratio, f"least by greatest of the share of true {c} found", found),
        _measure(
            "equalized odds difference",
            worst.difference,
            f"the larger range of two shares predicted as {c}: of true {c}, and of the others",
            worst,
            both,
        ),
        _measure(
            "equalized odds ratio",
            least.ratio,
            f"the smaller ratio of two shares predicted as {c}: of true {c}, and of the others",
            least,
            both,
        ),
        _measure("predictive parity difference", right.difference, f"range of the precision of {c}", right),
        _measure("accuracy difference", accurate.difference, "range of the share predicted rightly", accurate),
    )


def _measure(name: str, value: float, meaning: str, rate: Rate, p: float | None = None) -> FairnessMeasure:
    return FairnessMeasure(name, value, meaning, *rate.ends, _p(rate) if p is None else p)


def _p(*rates: Rate) -> float:
    found = [rate.homogeneity for rate in rates]
    freedom = sum(d for _, d in found)
    return float(chdtrc(freedom, sum(x for x, _ in found))) if freedom else float("nan")


def _rate(tables: Mapping[str, Confusion], k: int, sides: list[bool], of: str) -> Rate:
    """The share of some rows that are of the class, by what was predicted or by the truth.

    ``of`` "true": of rows that are (first of ``sides``) or are not (second) truly the class, the share predicted as
    it; "predicted": of rows predicted as it, the share that is truly of it.
    """
    share, rows = [], []
    for table in tables.values():
        mine = np.arange(len(table.labels)) == k
        if of == "predicted":
            judged, hit = np.zeros(table.matrix.shape, dtype=bool), np.zeros(table.matrix.shape, dtype=bool)
            judged[:, k], hit[k, k] = True, True
        else:
            which = (mine & sides[0]) | (~mine & sides[1])
            judged = np.broadcast_to(which[:, None], table.matrix.shape)
            hit = judged & (np.arange(table.matrix.shape[1]) == k)
        share.append(float(ratio(table.matrix[hit].sum(), table.matrix[judged].sum())))
        rows.append(float(effective(table.matrix[judged].sum(), table.squared[judged].sum())))
    return Rate(tuple(tables), np.array(share), np.array(rows))


def _accuracy(tables: Mapping[str, Confusion]) -> Rate:
    share = np.array([table.value("accuracy") for table in tables.values()])
    rows = np.array([float(effective(table.weight, table.squared.sum())) for table in tables.values()])
    return Rate(tuple(tables), share, rows)
