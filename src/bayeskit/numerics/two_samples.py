"""Two samples: whether two tables have the same values, from counts and moments alone."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, chdtrc, gammainc, gammaincc, stdtr

from bayeskit.arrays import Bool, Float

OLD, NEW, GROUPS = 25.0, 10.0, 10  # rows a group of neighbours should have in each sample; groups at most
EXPECTED = 5.0  # rows that a cell should have in each sample for the chi-square distribution to hold
FEW = 8  # rows below which a spread is not tested
NORMAL = 3.0  # the kurtosis of a normal distribution
SKEWED = 1e-3  # skewness of a mean from which on it matters
LEAST = 1.2  # the least that a standard error is found by: two values alone have 1


def total_variation(old: Float, new: Float) -> float:
    """Half the sum of the differences of shares, between 0 and 1.

    >>> total_variation(np.array([6.0, 4.0]), np.array([1.0, 3.0]))
    0.35
    """
    return float(np.abs(_shares(old) - _shares(new)).sum() / 2)


def stability_index(old: Float, new: Float) -> float:
    """The population stability index of two rows of counts, Σ (q - p) log(q / p); half a row is added to each cell.

    >>> round(stability_index(np.array([600.0, 400.0]), np.array([500.0, 500.0])), 4)
    0.0405
    """
    p, q = _shares(old + 0.5), _shares(new + 0.5)
    return float(((q - p) * np.log(q / p)).sum())


def normal_index(shift: float, ratio: float) -> float:
    """The same index of two normal densities: the sum of both Kullback-Leibler divergences.

    ``shift`` is the difference of the means in deviations of the first, ``ratio`` the second deviation over the first.

    >>> normal_index(1.0, 1.0)
    1.0
    """
    square = ratio * ratio
    return float((square + 1 / square - 2) / 2 + shift * shift * (1 + 1 / square) / 2)


def merge_rare(old: Float, new: Float) -> tuple[Float, Float]:
    """The counts with all cells as one that have fewer than five expected rows in the smaller sample.

    >>> merge_rare(np.array([90.0, 1.0, 2.0]), np.array([95.0, 0.0, 3.0]))
    (array([90.,  3.]), array([95.,  3.]))
    """
    rare = _rare(old, new)
    if not rare.any():
        return old, new
    return np.append(old[~rare], old[rare].sum()), np.append(new[~rare], new[rare].sum())


def merge_neighbours(old: Float, new: Float) -> tuple[Float, Float]:
    """The counts of cells in order, as at most ten groups of neighbours that hold about as many old rows.

    The groups do not depend on the new rows, beyond their number: groups that were merged because few new rows fall
    into them would be found different more often than chance says. Where old rows are few, a border between two cells
    lies at one of them, and Pearson's chi-square needs more than the usual five in each.

    >>> merge_neighbours(np.full(10, 5.0), np.arange(10.0))
    (array([25., 25.]), array([10., 35.]))
    """
    n, m = float(old.sum()), float(new.sum())
    count = int(np.clip(min(n / OLD, m / NEW), 2, GROUPS))
    group = np.searchsorted(np.arange(1, count) / count, (np.cumsum(old) - old) / n + 1e-12, side="right")
    before, now = (np.bincount(group, counts, minlength=count).astype(np.float64) for counts in (old, new))
    return before, now


def homogeneity(old: Float, new: Float) -> float:
    """The probability of two rows of counts at least as different if both come from the same shares.

    Pearson's chi-square over the cells that have five expected rows in each sample. The other cells are one cell; if
    that has too few rows too, it is compared with all others by a conditional binomial test, which does not need many,
    and the smaller of both probabilities counts twice. NaN without rows, or with one cell.

    >>> round(homogeneity(np.array([30.0, 70.0]), np.array([20.0, 20.0])), 4)
    0.0257
    """
    n, m = float(old.sum()), float(new.sum())
    if not (n > 0 and m > 0):
        return float("nan")
    rare = _rare(old, new)
    a, b = float(old[rare].sum()), float(new[rare].sum())
    if not 0 < (a + b) * min(n, m) / (n + m) < EXPECTED:
        return _pearson(*merge_rare(old, new))
    few, many = binomial_test(a, b, n, m), _pearson(old[~rare], new[~rare])
    return few if np.isnan(many) else min(1.0, 2 * min(few, many))


def proportions(old: float, new: float, n: float, m: float) -> float:
    """The same for a share: ``old`` of n rows and ``new`` of m."""
    return homogeneity(np.array([old, n - old]), np.array([new, m - new]))


def binomial_test(old: float, new: float, n: float, m: float) -> float:
    """Whether rows of a rare kind, ``old`` of n and ``new`` of m, are spread as the samples are, given their number.

    Each of the k = old + new rows is a new one with probability m / (n + m), and P is twice the smaller tail. That is a
    little cautious: the rows are drawn without replacement.

    >>> round(binomial_test(0.0, 5.0, 900.0, 100.0), 6)
    2e-05
    """
    total, share = old + new, m / (n + m)
    if not total > 0:
        return 1.0
    above = 1.0 if new <= 0 else float(betainc(new, old + 1, share))  # P(X >= new)
    below = 1.0 if old <= 0 else float(betainc(old, new + 1, 1 - share))  # P(X <= new)
    return min(1.0, 2 * min(above, below))


def mean_test(shift: float, variances: tuple[float, float], rows: tuple[float, float], skewness: float = 0.0) -> float:
    """Student's test of equal means from their difference, the variances (ddof 0) and the numbers of rows.

    Of two samples of one distribution the variances are equal, so they are pooled: that holds its level with skewed
    values too, where one sample is much smaller, which Welch's test does not. Far out, where many tests are paid for,
    it does not: log-normal values, 5,000 rows against 200, are found different at 0.001 twice as often as that. So
    where the ``skewness`` g of the values is known, the probability is at least that of a gamma distribution with the
    skewness of the difference, g (1/m² - 1/n²) / (1/n + 1/m)^(3/2).

    >>> round(mean_test(1.0, (1.0, 4.0), (10.0, 10.0)), 4)
    0.1964
    """
    total = sum(rows)
    if min(rows) < 2:
        return float("nan")
    pooled = sum(v * n for v, n in zip(variances, rows, strict=True)) / (total - 2)
    if not pooled > 0:
        return 1.0 if shift == 0 else 0.0
    z, (n, m) = shift / np.sqrt(pooled * sum(1 / n for n in rows)), rows
    student = float(2 * stdtr(total - 2, -abs(z)))
    skew = skewness * (1 / m**2 - 1 / n**2) / (1 / n + 1 / m) ** 1.5
    if not abs(skew) > SKEWED:
        return student
    shape = 4 / skew**2
    at = max(shape + np.sign(skew) * z * np.sqrt(shape), 0.0)
    return max(student, 2 * float(min(gammainc(shape, at), gammaincc(shape, at))))


def spread_test(variances: tuple[float, float], rows: tuple[float, float], fourth: float, reach: float) -> float:
    """A test of equal variances (ddof 0) that holds for other than normal values, too.

    The difference over its standard error, sqrt(κ - 1) v sqrt(1/n + 1/m), v the pooled variance; two-sided by
    Student's distribution. The kurtosis κ is not that of a normal sample but the largest that the samples speak for:
    ``fourth`` is the fourth central moment of the second sample, ``reach`` the largest distance of a value of the first
    from its mean, which alone contributes reach⁴ / n; and values so far away, if they have a share of 5 / m, may be
    absent from m rows.
    """
    n, m = rows
    if min(rows) < FEW or not max(variances) > 0:
        return float("nan")
    pooled = (variances[0] * n + variances[1] * m) / (n + m)
    far = 0.0 if np.isnan(reach) else reach**4 / pooled**2
    kurtosis = max(fourth / pooled**2, far / n, min(np.sqrt(far), 5 * far / m), LEAST)
    if variances[1] > 0:
        kurtosis = max(kurtosis, fourth / variances[1] ** 2)
    difference = variances[1] * m / (m - 1) - variances[0] * n / (n - 1)
    error = pooled * np.sqrt((kurtosis - 1) * (1 / n + 1 / m))
    freedom = (1 / n + 1 / m) ** 2 / (1 / (n * n * (n - 1)) + 1 / (m * m * (m - 1)))
    return float(2 * stdtr(freedom, -abs(difference) / error))


def holm(probabilities: Float) -> Float:
    """Holm's adjusted probabilities: one below a level is a false alarm in any of the tests with at most that chance.

    NaN is no test, and stays.

    >>> holm(np.array([0.01, np.nan, 0.04, 0.03])).tolist()
    [0.03, nan, 0.06, 0.06]
    """
    tested = np.flatnonzero(~np.isnan(probabilities))
    order = tested[np.argsort(probabilities[tested], kind="stable")]
    steps = probabilities[order] * np.arange(len(order), 0, -1)
    out = np.full(len(probabilities), np.nan)
    out[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return out


def _shares(counts: Float) -> Float:
    total: Float = counts / counts.sum()
    return total


def _rare(old: Float, new: Float) -> Bool:
    """Which cells have too few rows to be compared by themselves."""
    n, m = float(old.sum()), float(new.sum())
    return (old + new) * min(n, m) < EXPECTED * (n + m)


def _pearson(old: Float, new: Float) -> float:
    """Of the cells that have rows; NaN with fewer than two."""
    used = old + new > 0
    old, new = old[used], new[used]
    if len(old) < 2:
        return float("nan")
    pooled = _shares(old + new)
    found = sum((((c - c.sum() * pooled) ** 2) / (c.sum() * pooled)).sum() for c in (old, new))
    return float(chdtrc(len(old) - 1, found))
