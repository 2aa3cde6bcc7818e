"""Reference values of scores, one function per score by its name, by scikit-learn, SciPy or exact fractions.

Each is given rows as plain arrays: ``true`` class, ``done`` (what the model did), ``p`` (n, K), weights ``w``, ``fold``
of each row, ``costs`` (K, actions) and what it costs to ``reject``.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.optimize import brentq, root
from scipy.special import expit, logit
from scipy.stats import foldnorm, norm
from sklearn import metrics

CELLS = 15


@dataclass(frozen=True)
class Judged:
    true: np.ndarray
    done: np.ndarray
    p: np.ndarray
    w: np.ndarray
    fold: np.ndarray
    costs: np.ndarray
    reject: float

    def only(self, some):
        each = (x[some] for x in (self.true, self.done, self.p, self.w, self.fold))
        return Judged(*each, self.costs, self.reject)


def accuracy(rows):
    return metrics.accuracy_score(rows.true, rows.done, sample_weight=rows.w)


def error_rate(rows):
    return metrics.zero_one_loss(rows.true, rows.done, sample_weight=rows.w)


def balanced_accuracy(rows):
    return metrics.balanced_accuracy_score(rows.true, rows.done, sample_weight=rows.w)


def mcc(rows):
    return metrics.matthews_corrcoef(rows.true, rows.done, sample_weight=rows.w)


def kappa(rows):
    return metrics.cohen_kappa_score(rows.true, rows.done, sample_weight=rows.w)


def log_loss(rows):
    return metrics.log_loss(rows.true, rows.p, sample_weight=rows.w, labels=range(rows.p.shape[1]))


def brier(rows):
    truth = np.eye(rows.p.shape[1])[rows.true]
    return metrics.mean_squared_error(truth, rows.p, sample_weight=rows.w, multioutput="raw_values").sum()


def _cells(p, hit, w, cell):
    """Of each cell with rows: weight, mean probability, share that came true, and how many rows of equal weight."""
    for b in set(cell):
        some = [i for i in range(len(p)) if cell[i] == b and w[i] > 0]
        weights = [Fraction(w[i]) for i in some]
        total = sum(weights)
        if total > 0:
            said = sum(weight * Fraction(p[i]) for weight, i in zip(weights, some, strict=True)) / total
            came = sum(weight for weight, i in zip(weights, some, strict=True) if hit[i]) / total
            yield total, said, came, total**2 / sum(weight**2 for weight in weights)


def _width(p):
    """Right-closed cells of equal width; 3/15 as a double is taken for the number it stands for."""
    return (np.ceil(p * CELLS).clip(1) - 1).tolist()


def _mass(p, w):
    """Cells of about equal weight: where the middle of the rows of one probability lies."""
    total, passed, cell = Fraction(w.sum()), Fraction(0), {}
    for x in sorted(set(p.tolist())):
        mine = Fraction(w[p == x].sum())
        cell[x] = min(CELLS - 1, int((passed + mine / 2) * CELLS / total))
        passed += mine
    return [cell[x] for x in p.tolist()]


def _gap(cells):
    cells = list(cells)
    return float(sum(n * abs(came - said) for n, said, came, _ in cells) / sum(n for n, *_ in cells))


def _top(rows):
    return rows.p.max(axis=1), rows.p.argmax(axis=1) == rows.true


def ece(rows):
    top, hit = _top(rows)
    return _gap(_cells(top, hit, rows.w, _width(top)))


def ece_classwise(rows):
    return np.mean([_gap(_cells(p, rows.true == k, rows.w, _width(p))) for k, p in enumerate(rows.p.T)])


def ece_debiased(rows):
    top, hit = _top(rows)
    total = expected = 0.0
    for n, said, came, size in _cells(top, hit, rows.w, _width(top)):
        gap, error = float(abs(came - said)), float(came * (1 - came) / size) ** 0.5
        folded = foldnorm.mean(gap / error, scale=error) if error > 0 else gap
        total, expected = total + float(n), expected + float(n) * (2 * gap - folded)
    return max(0.0, expected / total)


def ece_mass(rows):
    top, hit = _top(rows)
    return _gap(_cells(top, hit, rows.w, _mass(top, rows.w)))


def ece_l2(rows):
    top, hit = _top(rows)
    known = [cell for cell in _cells(top, hit, rows.w, _mass(top, rows.w)) if cell[3] > 1]
    total = sum(n for n, *_ in known)
    square = sum(n / total * ((c - said) ** 2 - c * (1 - c) / (size - 1)) for n, said, c, size in known)
    return max(float(square), 0.0) ** 0.5


def _areas(rows):
    return [metrics.roc_auc_score(rows.true == k, p, sample_weight=rows.w) for k, p in enumerate(rows.p.T)]


def auc(rows):
    return np.mean(_areas(rows))


def auc_by_fold(rows):
    return np.mean([_areas(rows.only(rows.fold == f)) for f in np.unique(rows.fold)])


def _decided(rows):
    """Of each row its weight, the expected and the realised cost, and whether it was decided."""
    for true, p, w in zip(rows.true, rows.p, rows.w, strict=True):
        expected = [sum(p[k] * rows.costs[k, a] for k in range(len(p))) for a in range(rows.costs.shape[1])]
        best = int(np.argmin(expected))
        if expected[best] <= rows.reject:
            yield w, expected[best], rows.costs[true, best], True
        else:
            yield w, rows.reject, rows.reject, False


def expected_cost(rows):
    return sum(w * cost for w, cost, _, _ in _decided(rows)) / rows.w.sum()


def realised_cost(rows):
    return sum(w * cost for w, _, cost, _ in _decided(rows)) / rows.w.sum()


def coverage(rows):
    return sum(w for w, _, _, decided in _decided(rows) if decided) / rows.w.sum()


def covered_accuracy(rows):
    decided = np.array([d for *_, d in _decided(rows)])
    return metrics.accuracy_score(rows.true[decided], rows.done[decided], sample_weight=rows.w[decided])


def brier_reliability(rows):
    total = Fraction(rows.w.sum())
    cells = [c for k, p in enumerate(rows.p.T) for c in _cells(p, rows.true == k, rows.w, _width(p))]
    return float(sum(n * (came - said) ** 2 for n, said, came, _ in cells) / total)


def brier_resolution(rows):
    total, found = Fraction(rows.w.sum()), Fraction(0)
    for k, p in enumerate(rows.p.T):
        share = Fraction(rows.w[rows.true == k].sum()) / total
        found += sum(n * (came - share) ** 2 for n, _, came, _ in _cells(p, rows.true == k, rows.w, _width(p)))
    return float(found / total)


def smooth_ece(rows):
    """By the kernel itself, with its reflections, and a root finder."""
    top, hit = _top(rows)
    at = (np.minimum(np.floor(top * 1024), 1023) + 0.5) / 1024
    t = (np.arange(1024) + 0.5) / 1024
    off = rows.w * (hit - top) / rows.w.sum()

    def gap(deviation):
        images = [norm.pdf(t[:, None], sign * at + 2 * k, deviation) for k in range(-4, 5) for sign in (-1, 1)]
        return np.abs(sum(images) @ off).mean() - deviation

    return brentq(gap, 1e-3, 1, xtol=1e-14)


def calibration_slope(rows):
    """Cox's logistic recalibration of each class against the rest: the roots of the derivatives of its likelihood."""

    def of(k, p):
        x, y = logit(p), rows.true == k
        off = lambda ab: rows.w * (y - expit(ab[0] + ab[1] * x))  # noqa: E731
        return root(lambda ab: [off(ab).sum(), off(ab) @ x], [0.0, 1.0], tol=1e-13).x[1]

    return np.mean([of(k, p) for k, p in enumerate(rows.p.T)])


def calibration_intercept(rows):
    """Where the mean of what is said equals the share that came true, by a root finder."""

    def of(k):
        said = lambda a: rows.w @ (1 / (1 + np.exp(-a) * (1 / rows.p[:, k] - 1)) - (rows.true == k))  # noqa: E731
        return brentq(said, -20, 20, xtol=1e-14)

    each = [of(k) for k in range(rows.p.shape[1])]
    return each[1] if len(each) == 2 else max(np.abs(each))
