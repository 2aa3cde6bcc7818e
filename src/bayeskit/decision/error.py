"""The Bayes error: how often the best possible decision is wrong if the fitted densities are true."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from typing import Any, Protocol, runtime_checkable

import numpy as np

from bayeskit.arrays import Array, Classifier, Float, Json, PriorLike, Seed
from bayeskit.decision.sampling import Column, column_of, rows_of, sample_error
from bayeskit.errors import InputError
from bayeskit.model.model import Model

TOLERANCE = {1: 1e-9, 2: 1e-6}  # of the whole integral, by the number of axes
MOST = 4_000_000  # points
AXIS = 40  # panels of each of two axes to begin with
COARSE, FINE = np.polynomial.legendre.leggauss(5), np.polynomial.legendre.leggauss(8)


def integrate(joint: Callable[[Float], Float], points: Sequence[Float], classes: int) -> tuple[Float, Float]:
    """Integral of P(c, x) where c is the best class, and everywhere: (K,) each.

    Panels between the points of each axis; those on which two Gauss-Legendre rules differ are halved along every axis,
    the worst first, until they agree: a boundary between decisions is a kink that only small panels follow.
    """
    if not points:
        value = joint(np.empty((1, 0)))
        return _best(value)[0], value[0]
    if len(points) > 1:
        points = [np.append(p[:-1][:: -(-len(p) // AXIS)], p[-1]) for p in points]
    panels = np.array(list(product(*(pairwise(p) for p in points))))  # (m, d, 2)
    right, mass, used = np.zeros(classes), np.zeros(classes), 0
    tolerance = TOLERANCE[len(points)]
    while len(panels):
        used += len(panels) * (len(COARSE[0]) ** len(points) + len(FINE[0]) ** len(points))
        rough, fine = _panels(joint, panels, COARSE), _panels(joint, panels, FINE)
        gap = np.abs(fine[0] - rough[0]).sum(axis=1) + np.abs(fine[1] - rough[1]).sum(axis=1)
        order = np.argsort(gap)
        settled = order[: np.searchsorted(np.cumsum(gap[order]), tolerance / 2)]
        open_ones = order[len(settled) :]
        if used > MOST:
            settled, open_ones = order, order[:0]
        right += fine[0][settled].sum(axis=0)
        mass += fine[1][settled].sum(axis=0)
        panels, tolerance = _halve(panels[open_ones]), tolerance / 2
    return right, mass


def _panels(joint: Callable[[Float], Float], panels: Float, rule: tuple[Float, Float]) -> tuple[Float, Float]:
    """The two integrals over each panel: (m, K) each."""
    d = panels.shape[1]
    nodes = np.array(list(product(rule[0], repeat=d)))  # (q, d)
    weights = np.array([np.prod(w) for w in product(rule[1], repeat=d)])  # (q,)
    half, middle = (panels[:, :, 1] - panels[:, :, 0]) / 2, (panels[:, :, 1] + panels[:, :, 0]) / 2
    right, mass = [], []
    step = max(1, (1 << 18) // len(nodes))
    for begin in range(0, len(panels), step):
        part = slice(begin, begin + step)
        x = middle[part, None] + half[part, None] * nodes  # (m, q, d)
        value = joint(x.reshape(-1, d)).reshape(*x.shape[:2], -1)
        scale = weights[:, None] * half[part].prod(axis=1)[:, None, None]
        right.append((_best(value) * scale).sum(axis=1))
        mass.append((value * scale).sum(axis=1))
    return np.concatenate(right), np.concatenate(mass)


def _best(value: Float) -> Float:
    """What each class has where it is the best (the first of equal ones), 0 elsewhere."""
    best = np.zeros_like(value)
    place = np.argmax(value, axis=-1)[..., None]
    np.put_along_axis(best, place, np.take_along_axis(value, place, axis=-1), axis=-1)
    return best


def _halve(panels: Float) -> Float:
    """Each panel in two along every axis: (2^d m, d, 2)."""
    middle = panels.mean(axis=2)
    ends = np.stack(
        [np.stack([panels[:, :, 0], middle], -1), np.stack([middle, panels[:, :, 1]], -1)], -2
    )  # (m, d, 2, 2)
    d = panels.shape[1]
    axis = np.arange(d)
    return np.concatenate([ends[:, axis, list(side)] for side in product((0, 1), repeat=d)])


CELLS = 4096  # combinations of levels and whole numbers that are summed over
COVERED = 1e-5  # what integration may leave out of a density before it gives way to sampling


@dataclass(frozen=True)
class BayesError:
    """P(wrong) = 1 - integral over x of max over c of P(c) p(x | c); a number, and how it was found.

    ``bounds`` are Bhattacharyya's, for Gaussian classes: with r = integral of sqrt(p_a p_b), classes a and b alone err
    by at least (1 - sqrt(1 - 4 P(a) P(b) r^2))/2 of their mass, and all classes by at most the sum of
    sqrt(P(a) P(b)) r over all pairs.
    """

    error: float
    standard_error: float  # of sampling; 0 where it was integrated
    method: str  # "integration", "sum" or "sampling"
    classes: Array  # (K,)
    by_class: Float  # (K,) P(wrong | c)
    bounds: tuple[float, float] | None = None

    def __float__(self) -> float:
        return self.error

    def __str__(self) -> str:
        exact = f" (standard error {self.standard_error:.2g})" if self.standard_error else ""
        lines = [f"Bayes error {self.error:.4g}{exact}, by {self.method}"]
        if self.bounds is not None:
            lines.append(f"Bhattacharyya bounds {self.bounds[0]:.4g} to {self.bounds[1]:.4g}")
        lines += [
            f"  wrong given {label}: {wrong:.4g}" for label, wrong in zip(self.classes, self.by_class, strict=True)
        ]
        return "\n".join(lines)


@runtime_checkable
class HasModel(Protocol):
    """A fitted classifier of one model."""

    model_: Model


def bayes_error(
    model: Classifier, prior: PriorLike = None, samples: int = 200_000, random_state: Seed = 0
) -> BayesError:
    """The misclassification probability of a fitted model's own class densities and priors.

    Levels and whole numbers are summed over, one or two continuous columns integrated; beyond that, or beyond 4,096
    combinations, rows are drawn from the model and a standard error is given.

    Parameters
    ----------
    model : classifier
        Fitted, with class densities.
    prior : {"empirical", "uniform"} or mapping, optional
        Another prior than that of the model.
    samples : int, default 200,000
        Rows to draw where nothing can be integrated.
    random_state : int, default 0
        Seed of what is drawn.

    Returns
    -------
    BayesError
        ``error``, its parts by class, and how it was found.

    Examples
    --------
    >>> import bayeskit as bk
    >>> model = bk.NaiveBayes().fit([[-1.0], [1.0], [1.0], [3.0]], ["a", "a", "b", "b"])  # N(0, 1) and N(2, 1)
    >>> round(float(bk.bayes_error(model)), 4)
    0.1587
    """
    fitted = model.model_ if isinstance(model, HasModel) else model
    if not isinstance(fitted, Model):
        raise InputError(f"bayes_error takes a fitted bayeskit classifier with densities, not {type(model).__name__}")
    if not fitted.density.normalised:
        raise InputError(
            "these class likelihoods do not integrate to one (ReplaceZeros, AddM, Multinomial, Complement), so there "
            "is no error probability; choose Laplace or another family"
        )
    log_prior = fitted.log_prior(prior)
    columns = [c for name in fitted.schema.names if (c := column_of(fitted, name)) is not None]
    open_ended = [c for c in columns if c.continuous]
    cells = math.prod([len(c.values) for c in columns if not c.continuous])
    found = None
    if len(open_ended) <= 2 and cells <= CELLS:
        found = _integrate(fitted, log_prior, columns, open_ended)
    if found is None:
        found = sample_error(fitted, log_prior, columns, samples, np.random.default_rng(random_state))
    right, mass, spread, method = found
    prior_of = np.exp(log_prior)
    with np.errstate(invalid="ignore", divide="ignore"):
        by_class = np.where(prior_of > 0, 1 - right / mass, 0.0)
    error = float(np.clip(1 - right.sum() / mass.sum(), 0.0, 1.0))
    return BayesError(error, spread, method, fitted.classes, np.clip(by_class, 0.0, 1.0), _bounds(fitted, prior_of))


def _integrate(
    model: Model, log_prior: Float, columns: Sequence[Column], axes: Sequence[Column]
) -> tuple[Float, Float, float, str] | None:
    """Mass decided right and mass in all, by class; None if some of the densities was not found."""
    listed = [c for c in columns if not c.continuous]
    right, mass = np.zeros((2, len(log_prior)))
    for cell in product(*(c.values for c in listed)):
        for at_zero in product(*([False, True] if c.point_mass else [False] for c in axes)):
            known = {c.name: value for c, value in zip(listed, cell, strict=True)}
            known |= {c.name: 0.0 for c, here in zip(axes, at_zero, strict=True) if here}
            free = [c for c, here in zip(axes, at_zero, strict=True) if not here]
            found = integrate(partial(_joint, model, log_prior, known, free), [c.points for c in free], len(log_prior))
            right, mass = right + found[0], mass + found[1]
    if np.abs(mass - np.exp(log_prior)).max() > COVERED:
        return None
    return right, mass, 0.0, "integration" if axes else "sum"


def _joint(model: Model, log_prior: Float, known: Json, free: Sequence[Column], x: Float) -> Float:
    """P(c, x), (n, K), where some columns are fixed and x has the others: (n, free)."""
    given: dict[str, Any] = {name: [value] * len(x) for name, value in known.items()}
    given |= {c.name: x[:, j] for j, c in enumerate(free)}
    return np.exp(model.joint(model.counted.block(rows_of(model, given, len(x))), log_prior))


def _bounds(model: Model, prior: Float) -> tuple[float, float] | None:
    """Bhattacharyya's bounds, where every part of the density knows how its classes overlap."""
    if model.density.overlap is None:
        return None
    r = np.exp(model.density.overlap)
    least, most = 0.0, 0.0
    for a, b in zip(*np.triu_indices(len(prior), 1), strict=True):
        both = prior[a] + prior[b]
        if both > 0:
            least = max(least, both * (1 - np.sqrt(max(0.0, 1 - 4 * prior[a] * prior[b] * r[a, b] ** 2 / both**2))) / 2)
        most += np.sqrt(prior[a] * prior[b]) * r[a, b]
    return float(least), float(min(most, 1 - prior.max()))
