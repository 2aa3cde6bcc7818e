"""Calibration: maps from the posteriors of a model to probabilities that come true as often as they say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from typing import Protocol

import numpy as np
from scipy.optimize import isotonic_regression, minimize, minimize_scalar
from scipy.special import expit, log_expit, log_softmax

from bayeskit.arrays import Float, Int
from bayeskit.errors import InputError, ModelFileError, warn

SURE = 700.0  # log-odds beyond which a double holds no more certainty
FAR = 30.0  # log-odds that no rows can tell from certainty
LEAST = -34.5  # log of the least probability that is judged, 1e-15


class Calibration(Protocol):
    """A map of log posteriors, (n, K) to (n, K)."""

    def __call__(self, log_posterior: Float) -> Float:
        """Calibrated log posteriors."""

    def numbers(self) -> dict[str, Float]:
        """All that a file holds of it."""

    def portable(self) -> tuple[object, ...]:
        """Itself in a portable program: a name, and numbers by class."""


@dataclass(frozen=True)
class Temperature:
    """log q_c = t log p_c + constant: all evidence weighs t times as much, that of the prior too."""

    weight: float

    @classmethod
    def of(cls, log_posterior: Float, label: Int, weights: Float) -> Temperature:
        """The t with the least log-loss."""
        row = np.arange(len(label))
        terms = np.maximum(log_posterior, -SURE)

        def loss(log_t: float) -> float:
            return -float(weights @ log_softmax(np.exp(log_t) * terms, axis=1)[row, label])

        return cls(
            float(np.exp(minimize_scalar(loss, bounds=(-6.0, 4.0), method="bounded", options={"xatol": 1e-9}).x))
        )

    def __call__(self, log_posterior: Float) -> Float:
        out: Float = log_softmax(self.weight * np.maximum(log_posterior, -SURE), axis=1)
        return out

    def numbers(self) -> dict[str, Float]:
        return {"weight": np.array([self.weight])}

    def portable(self) -> tuple[object, ...]:
        return "temperature", self.weight


@dataclass(frozen=True)
class Sigmoid:
    """Platt's: the log-odds of each class against the rest, times a, plus b; then made to sum to one.

    The targets are (n+ + 1)/(n+ + 2) and 1/(n- + 2) instead of 1 and 0. Of two classes one sigmoid serves both.
    """

    slope: Float  # (K,)
    shift: Float  # (K,)

    @classmethod
    def of(cls, log_posterior: Float, label: Int, weights: Float) -> Sigmoid:
        odds = log_odds(log_posterior)
        found = [_platt(odds[:, c], label == c, weights) for c in _apart(odds.shape[1])]
        slope, shift = (np.array(part) for part in zip(*found, strict=True))
        if odds.shape[1] == 2:
            slope, shift = np.repeat(slope, 2), np.array([-shift[0], shift[0]])
        return cls(slope, shift)

    def __call__(self, log_posterior: Float) -> Float:
        return _to_one(log_expit(self.slope * log_odds(log_posterior) + self.shift))

    def numbers(self) -> dict[str, Float]:
        return {"slope": self.slope, "shift": self.shift}

    def portable(self) -> tuple[object, ...]:
        return "sigmoid", self.slope.tolist(), self.shift.tolist()


@dataclass(frozen=True)
class Isotonic:
    """For each class against the rest a rising step function of its log-odds; then made to sum to one.

    Pooling adjacent violators gives blocks; a block with k of n rows of the class says (k + 1/2)/(n + 1), so that no
    answer is certain. Between blocks the nearer one speaks.
    """

    edges: tuple[Float, ...]  # by class, (blocks - 1,) log-odds between blocks
    levels: tuple[Float, ...]  # by class, (blocks,) log-probabilities

    @classmethod
    def of(cls, log_posterior: Float, label: Int, weights: Float) -> Isotonic:
        odds = log_odds(log_posterior)
        found = [_steps(odds[:, c], label == c, weights) for c in _apart(odds.shape[1])]
        if odds.shape[1] == 2:
            (edge, level), *_ = found
            found = [(-edge[::-1], np.log(-np.expm1(level[::-1]))), (edge, level)]
        edges, levels = zip(*found, strict=True)
        return cls(tuple(edges), tuple(levels))

    def __call__(self, log_posterior: Float) -> Float:
        odds = log_odds(log_posterior)
        columns = [
            level[np.searchsorted(edge, odds[:, c])]
            for c, (edge, level) in enumerate(zip(self.edges, self.levels, strict=True))
        ]
        return _to_one(np.stack(columns, axis=1))

    def numbers(self) -> dict[str, Float]:
        edges = {f"edges {c}": edge for c, edge in enumerate(self.edges)}
        return edges | {f"levels {c}": level for c, level in enumerate(self.levels)}

    def portable(self) -> tuple[object, ...]:
        return "isotonic", [e.tolist() for e in self.edges], [level.tolist() for level in self.levels]


@dataclass(frozen=True)
class Beta:
    """log-odds of each class against the rest: a log p - b log(1 - p) + c, a and b at least 0; then made to sum to one.

    Kull, Silva Filho and Flach (2017): the map of scores that are Beta distributed in either class, unlike the sigmoid
    also for probabilities that are too timid; a = b = 1, c = 0 leaves them as they are.
    """

    rise: Float  # (K,) a
    fall: Float  # (K,) b
    shift: Float  # (K,) c

    @classmethod
    def of(cls, log_posterior: Float, label: Int, weights: Float) -> Beta:
        odds = log_odds(log_posterior)
        found = []
        for c in _apart(odds.shape[1]):
            s = odds[:, c]
            x = np.column_stack([log_expit(s), -log_expit(-s), np.ones_like(s)])
            found.append(_logistic(x, label == c, weights, np.array([1.0, 1.0, 0.0]), least=(0.0, 0.0, -np.inf)))
        rise, fall, shift = np.array(found).T
        if odds.shape[1] == 2:  # of the first class p and 1 - p change places
            rise, fall, shift = np.append(fall, rise), np.append(rise, fall), np.append(-shift, shift)
        return cls(rise, fall, shift)

    def __call__(self, log_posterior: Float) -> Float:
        s = log_odds(log_posterior)
        return _to_one(log_expit(self.rise * log_expit(s) - self.fall * log_expit(-s) + self.shift))

    def numbers(self) -> dict[str, Float]:
        return {"rise": self.rise, "fall": self.fall, "shift": self.shift}

    def portable(self) -> tuple[object, ...]:
        return "beta", self.rise.tolist(), self.fall.tolist(), self.shift.tolist()


@dataclass(frozen=True)
class Quadratic:
    """log-odds of each class against the rest: a + b s + c s^2 of the log-odds s; then made to sum to one.

    The map of scores that are normal in either class with variances of their own. Log-odds beyond +-30 count as these.
    """

    shift: Float  # (K,) a
    slope: Float  # (K,) b
    bend: Float  # (K,) c

    @classmethod
    def of(cls, log_posterior: Float, label: Int, weights: Float) -> Quadratic:
        odds = np.clip(log_odds(log_posterior), -FAR, FAR)
        found = []
        for c in _apart(odds.shape[1]):
            s = odds[:, c] / FAR
            x = np.column_stack([np.ones_like(s), s, s * s])
            found.append(_logistic(x, label == c, weights, np.array([0.0, FAR, 0.0])) / FAR ** np.arange(3))
        shift, slope, bend = np.array(found).T
        if odds.shape[1] == 2:
            shift, slope, bend = np.append(-shift, shift), np.repeat(slope, 2), np.append(-bend, bend)
        return cls(shift, slope, bend)

    def __call__(self, log_posterior: Float) -> Float:
        s = np.clip(log_odds(log_posterior), -FAR, FAR)
        return _to_one(log_expit(self.shift + (self.slope + self.bend * s) * s))

    def numbers(self) -> dict[str, Float]:
        return {"shift": self.shift, "slope": self.slope, "bend": self.bend}

    def portable(self) -> tuple[object, ...]:
        return "quadratic", self.shift.tolist(), self.slope.tolist(), self.bend.tolist()


@dataclass(frozen=True)
class Vector:
    """log q_c = w_c log p_c + b_c + constant (Guo, Pleiss, Sun and Weinberger 2017): a temperature and a bias by class.

    A normal prior of variance 1 on w - 1 and b keeps them finite.
    """

    weight: Float  # (K,)
    bias: Float  # (K,)

    @classmethod
    def of(cls, log_posterior: Float, label: Int, weights: Float) -> Vector:
        terms, row = np.maximum(log_posterior, -SURE), np.arange(len(label))
        classes = terms.shape[1]
        truth = np.zeros_like(terms)
        truth[row, label] = 1.0

        def loss(wb: Float) -> tuple[float, Float]:
            w, b = wb[:classes], wb[classes:]
            logs = log_softmax(w * terms + b, axis=1)
            slope = weights[:, None] * (np.exp(logs) - truth)
            value = -float(weights @ logs[row, label]) + 0.5 * float(((w - 1) ** 2).sum() + (b**2).sum())
            return value, np.concatenate([(slope * terms).sum(axis=0) + w - 1, slope.sum(axis=0) + b])

        start = np.concatenate([np.ones(classes), np.zeros(classes)])
        found = minimize(
            loss, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-8, "maxiter": 999}
        )
        return cls(found.x[:classes], found.x[classes:])

    def __call__(self, log_posterior: Float) -> Float:
        out: Float = log_softmax(self.weight * np.maximum(log_posterior, -SURE) + self.bias, axis=1)
        return out

    def numbers(self) -> dict[str, Float]:
        return {"weight": self.weight, "bias": self.bias}

    def portable(self) -> tuple[object, ...]:
        return "vector", self.weight.tolist(), self.bias.tolist()


METHODS: Mapping[str, Callable[[Float, Int, Float], Calibration]] = {
    "temperature": Temperature.of,
    "sigmoid": Sigmoid.of,
    "isotonic": Isotonic.of,
    "beta": Beta.of,
    "quadratic": Quadratic.of,
    "vector": Vector.of,
}
AUTO = "auto"
FEW = 200  # rows of a class below which steps fit chance
FOLDS = 5  # by which a map is chosen
FREE: Mapping[str, Callable[[int], int]] = {  # numbers that are fitted, by the number of classes that have a map
    "temperature": lambda k: 1,
    "sigmoid": lambda k: 2 * k,
    "vector": lambda k: 2 * max(k, 2),
    "beta": lambda k: 3 * k,
    "quadratic": lambda k: 3 * k,
}


def choose_method(log_posterior: Float, label: Int, weights: Float) -> str:
    """The map with the least log-loss on rows it is not fitted to, plus a penalty of its free numbers by row.

    Every fifth row of a class is a fold; the penalty, numbers / rows, is what they are expected to overfit (Akaike).
    Steps are tried where every class has some hundred rows.
    """
    classes, fold = log_posterior.shape[1], np.empty(len(label), dtype=np.int64)
    for c in range(classes):
        fold[label == c] = np.arange(int((label == c).sum())) % FOLDS
    total, found = float(weights.sum()), {}
    tried = {name: FREE[name](len(_apart(classes))) for name in FREE}
    if np.bincount(label, minlength=classes).min() >= FEW:
        tried["isotonic"] = round(len(label) ** (1 / 3)) * len(_apart(classes))
    for name, free in tried.items():
        loss = 0.0
        for f in range(FOLDS):
            test = fold == f
            if not test.any() or len(np.unique(label[~test])) < classes:
                continue
            logs = METHODS[name](log_posterior[~test], label[~test], weights[~test])(log_posterior[test])
            loss -= float(weights[test] @ np.maximum(logs[np.arange(int(test.sum())), label[test]], LEAST))
        found[name] = (loss + free) / total
    return min(found, key=lambda name: found[name])


def calibration(method: str, log_posterior: Float, label: Int, weights: Float | None = None) -> Calibration:
    """The map that does best on posteriors of rows the model has not learned from, and their classes (n,)."""
    if method not in METHODS:
        raise InputError(f"method={method!r}: choose one of {', '.join(METHODS)}")
    if log_posterior.shape[1] < 2:
        raise InputError("there is one class only, and nothing to calibrate")
    w = np.ones(len(label)) if weights is None else np.asarray(weights, dtype=np.float64)
    few = int(np.bincount(label, minlength=log_posterior.shape[1]).min())
    if method == "isotonic" and few < FEW:
        warn(
            f"isotonic steps are fitted to {few} rows of a class; below some hundred they follow chance and harm the "
            f"log-loss (Niculescu-Mizil and Caruana 2005); use method='temperature', 'beta' or 'auto'"
        )
    return METHODS[method](log_posterior, label, w)


def calibration_of(method: str, numbers: Mapping[str, Float], classes: int) -> Calibration:
    """The map of a file, from its ``numbers``; refused where they cannot be those of a map of so many classes."""
    vectors = all(a.ndim == 1 for a in numbers.values())
    sizes = {name: len(a) for name, a in numbers.items()} if vectors else {}
    if method == "temperature" and sizes == {"weight": 1} and numbers["weight"][0] > 0:
        return Temperature(float(numbers["weight"][0]))
    if method == "sigmoid" and sizes == {"slope": classes, "shift": classes}:
        return Sigmoid(numbers["slope"], numbers["shift"])
    for name, kind in (("beta", Beta), ("quadratic", Quadratic), ("vector", Vector)):
        fields = [f.name for f in dataclass_fields(kind)]
        if method == name and sizes == dict.fromkeys(fields, classes):
            made: Calibration = kind(**{field: numbers[field] for field in fields})
            return made
    names = {f"{what} {c}" for what in ("edges", "levels") for c in range(classes)}
    if method == "isotonic" and sizes.keys() == names:
        edges, levels = (tuple(numbers[f"{what} {c}"] for c in range(classes)) for what in ("edges", "levels"))
        rising = all((np.diff(a) >= 0).all() for a in (*edges, *levels))
        if rising and all(len(e) + 1 == len(v) and (v <= 0).all() for e, v in zip(edges, levels, strict=True)):
            return Isotonic(edges, levels)
    raise ModelFileError("its calibration is no map of its classes")


def log_odds(log_posterior: Float) -> Float:
    """log P(c)/(1 - P(c)) of each class, within what a double can tell from certainty: (n, K)."""
    rest = np.empty_like(log_posterior)
    for c in range(log_posterior.shape[1]):
        rest[:, c] = np.logaddexp.reduce(np.delete(log_posterior, c, axis=1), axis=1)
    with np.errstate(invalid="ignore"):
        odds: Float = np.clip(log_posterior - rest, -SURE, SURE)
    return odds


def _apart(classes: int) -> range:
    """The classes that need a map of their own: of two, the second stands for both."""
    return range(1, 2) if classes == 2 else range(classes)


def _platt(odds: Float, is_class: Float, weights: Float) -> tuple[float, float]:
    """Slope and shift by maximum likelihood."""
    many = float(weights @ is_class)
    few = float(weights.sum()) - many
    target = np.where(is_class, (many + 1) / (many + 2), 1 / (few + 2))
    unit = max(1.0, float(np.abs(odds).max()))  # on this scale one step length fits both numbers

    def loss(ab: Float) -> tuple[float, Float]:
        z = ab[0] * odds / unit + ab[1]
        value = -(weights * (target * log_expit(z) + (1 - target) * log_expit(-z))).sum()
        slope = weights * (expit(z) - target)
        return value, np.array([slope @ odds / unit, slope.sum()])

    start = np.array([unit, np.log((many + 1) / (few + 1))])
    found = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-9 * weights.sum()})
    return float(found.x[0] / unit), float(found.x[1])


def _logistic(x: Float, is_class: Float, weights: Float, start: Float, least: tuple[float, ...] = ()) -> Float:
    """Coefficients by maximum likelihood, with Platt's targets, which keep them finite."""
    many = float(weights @ is_class)
    few = float(weights.sum()) - many
    target = np.where(is_class, (many + 1) / (many + 2), 1 / (few + 2))

    def loss(b: Float) -> tuple[float, Float]:
        z = x @ b
        value = -float((weights * (target * log_expit(z) + (1 - target) * log_expit(-z))).sum())
        return value, x.T @ (weights * (expit(z) - target))

    bounds = [(low, None) for low in least] or None
    options = {"ftol": 1e-15, "gtol": 1e-9 * float(weights.sum()), "maxiter": 9999, "maxfun": 99999}
    found: Float = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    return found


def _steps(odds: Float, is_class: Float, weights: Float) -> tuple[Float, Float]:
    """Edges between blocks and log-probabilities of the blocks."""
    kept = weights > 0
    value, place = np.unique(odds[kept], return_inverse=True)
    total = np.bincount(place, weights[kept])
    hits = np.bincount(place, (weights * is_class)[kept])
    blocks = isotonic_regression(hits / total, weights=total).blocks
    first, last = blocks[:-1], blocks[1:] - 1
    n, k = np.add.reduceat(total, first), np.add.reduceat(hits, first)
    share = np.maximum.accumulate((k + 0.5) / (n + 1))  # small blocks are drawn to 1/2, which must not turn the order
    return (value[last[:-1]] + value[first[1:]]) / 2, np.log(share)


def _to_one(logs: Float) -> Float:
    out: Float = logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)
    return out
