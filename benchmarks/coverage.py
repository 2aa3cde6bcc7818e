"""How often nominal 95 % intervals hold the truth: the mean score of the models of the folds on 100,000 fresh rows, a
fifth of them for each model.

Normal columns that hang together, so that naive Bayes is too sure; 100, 300 and 1,000 rows, two and three classes,
balanced or with one of 8 %. For a bootstrap the truth is that of the model of all rows. Models other than naive Bayes
are asked about 20,000 fresh rows.

    python benchmarks/coverage.py [--model knn] [--folds 0] [--rows 100 300] [--repeats 200]
    python benchmarks/coverage.py --tables   # balanced accuracy alone, ten times as fast
    python benchmarks/coverage.py --cells    # calibration errors by cells and parts of the Brier score alone, likewise
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from scipy.special import softmax

import bayeskit as bk
from bayeskit.evaluation.areas import ScoreHistogram
from bayeskit.evaluation.confusion import against_rest, f1
from bayeskit.evaluation.out_of_fold import Repeat
from bayeskit.evaluation.recalibration import debiased_square
from bayeskit.evaluation.score import PredictedRows
from bayeskit.evaluation.score_sums import ScoreSums
from bayeskit.evaluation.scores import SCORES
from bayeskit.evaluation.scores.smooth_ece import smooth_error
from bayeskit.model.labelled_table import Rows
from bayeskit.numerics.rates import BINS, gap, sum_cells, width_bins

COLUMNS, FRESH, FRESH_SLOW, FRESH_TABLES, APART = 4, 100_000, 20_000, 25_000, 1.5
LINES = ("calibration_slope", "calibration_intercept")
CELLED = ("ece", "ece_classwise", "brier_reliability", "brier_resolution")
MEASURES = (
    "accuracy",
    "balanced_accuracy",
    "mcc",
    "kappa",
    "f1",
    "log_loss",
    "brier",
    "ece_l2",
    "auc",
    *LINES,
    *CELLED,
)
BY_BOOTSTRAP = ("accuracy", "log_loss", "brier")
BIASES = ("auc", "auc_by_fold", "ece", "ece_debiased", "ece_l2")
ROWS, LEAST = (100, 300, 1000), -700.0
Table = tuple[np.ndarray, np.ndarray]
MODELS: dict[str, Callable[[], Any]] = {
    "naive": lambda: bk.NaiveBayes(),
    "full": lambda: bk.FullBayes(),
    "tan": lambda: bk.TAN(),
    "knn": lambda: bk.KNNBayes(k=1, pseudo=1.0),  # overfits: it knows its own rows by heart
    "kernel": lambda: bk.NaiveBayes(families="Kernel"),
}


@dataclass(frozen=True)
class Design:
    """A population to draw rows from."""

    rows: int
    classes: int
    rare: bool

    def __str__(self) -> str:
        return f"{self.rows} rows, {self.classes} classes, {'8 %' if self.rare else 'balanced'}"

    @property
    def share(self) -> np.ndarray:
        """Of the classes: (K,)."""
        if not self.rare:
            return np.full(self.classes, 1 / self.classes)
        return np.append(np.full(self.classes - 1, 0.92 / (self.classes - 1)), 0.08)

    @property
    def uncertainty(self) -> float:
        """What always saying the shares would score."""
        return 1 - float((self.share**2).sum())

    def draw(self, rng: np.random.Generator, rows: int) -> Table:
        """Rows with at least three of each class, fewer of which cannot be cross-validated."""
        y = rng.choice(self.classes, rows, p=self.share)
        while np.bincount(y, minlength=self.classes).min() < 3:
            y = rng.choice(self.classes, rows, p=self.share)
        centre = (
            APART * np.eye(COLUMNS)[: self.classes] if self.classes > 2 else np.outer([0, APART / 2], np.ones(COLUMNS))
        )
        return centre[y] + 0.8 * rng.normal(size=(rows, COLUMNS)) + 0.6 * rng.normal(size=(rows, 1)), y


def terms(x: np.ndarray) -> np.ndarray:
    """What the log-odds of normal naive Bayes are linear in."""
    return np.concatenate([x * x, x, np.ones((len(x), 1))], axis=1)


def naive(x: np.ndarray, y: np.ndarray, classes: int) -> np.ndarray:
    """Normal naive Bayes as coefficients of ``terms``: (2 columns + 1, K)."""
    out = []
    for k in range(classes):
        mean, variance = x[y == k].mean(axis=0), x[y == k].var(axis=0)
        level = np.log(np.mean(y == k)) - 0.5 * (np.log(2 * np.pi * variance) + mean**2 / variance).sum()
        out.append(np.concatenate([-0.5 / variance, mean / variance, [level]]))
    return np.array(out).T


@dataclass
class Truth:
    """True scores of several models, each on rows of its own, and their mean."""

    found: dict[str, list[float]] = field(default_factory=dict)
    top: list[np.ndarray] = field(default_factory=list)
    right: list[np.ndarray] = field(default_factory=list)
    logs: list[np.ndarray] = field(default_factory=list)
    labels: list[np.ndarray] = field(default_factory=list)

    def add(self, joint: np.ndarray, y: np.ndarray) -> None:
        """One more model, by its joint log-probabilities of fresh rows."""
        n, k = joint.shape
        row, p = np.arange(n), np.exp(joint - joint.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        best, mine = np.argmax(joint, axis=1), p[row, y]
        table = np.bincount(y * k + best, minlength=k * k).reshape(k, k).astype(float)
        logs = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
        ranks = ScoreHistogram.empty(1, k).update(y, logs, np.ones(n), np.zeros(n, dtype=np.int64))
        scores = {
            "accuracy": np.trace(table) / n,
            "balanced_accuracy": np.mean(np.diagonal(table) / table.sum(axis=1)),
            "mcc": SCORES["mcc"].of_tables(table),
            "kappa": SCORES["kappa"].of_tables(table),
            "f1": f1(against_rest(table, k - 1)),
            "log_loss": -np.log(np.maximum(mine, 1e-15)).mean(),
            "brier": (np.einsum("ij,ij->i", p, p) - 2 * mine + 1).mean(),
            "auc": np.mean([ranks.area(c)[0] for c in range(k)]),
        }
        for name, value in scores.items():
            self.found.setdefault(name, []).append(float(value))
        self.top.append(p[row, best])
        self.right.append(best == y)
        self.logs.append(logs)
        self.labels.append(y)

    def mean(self) -> dict[str, float]:
        """Calibration errors are of all models together, as those of the folds are."""
        top, right = (np.concatenate(each) for each in (self.top, self.right))
        ones = np.ones(len(top))
        mass = np.searchsorted(np.quantile(top, np.arange(1, BINS) / BINS), top)
        width = gap(sum_cells(top, right, ones, width_bins(top), BINS))
        square = debiased_square(sum_cells(top, right, ones, mass, BINS))
        out = {name: float(np.mean(values)) for name, values in self.found.items()}
        logs, y = np.concatenate(self.logs), np.concatenate(self.labels)
        whole = Repeat(np.exp(logs), np.zeros(len(y), dtype=np.int64), None, logs)
        rows = Rows(y, ones, np.arange(logs.shape[1]))
        out |= {name: SCORES[name].of_repeat(rows, whole, rows.counted) for name in LINES}
        out |= cells_truth(whole.proba, y)
        return out | {"auc_by_fold": out["auc"], "ece": width, "ece_debiased": width, "ece_l2": max(square, 0.0) ** 0.5}


def _chance(table: np.ndarray) -> float:
    """What chance adds to the reliability and the resolution of a class: (FIELDS, BINS)."""
    rows, came = table[0], table[2]
    share = came / np.maximum(rows, 1)
    return float((rows * share * (1 - share) / np.maximum(rows - 1, 1)).sum() / rows.sum())


@dataclass(frozen=True)
class Judge:
    """A model and what it is worth on fresh rows."""

    model: str
    design: Design
    fresh: Table

    def joint(self, x: np.ndarray, y: np.ndarray, some: slice) -> np.ndarray:
        """Joint log-probabilities of fresh rows by the model of these rows, up to a constant of each row."""
        if self.model == "naive":
            return self.terms[some] @ naive(x, y, self.design.classes)
        logs = MODELS[self.model]().fit(x, y).predict_log_proba(self.fresh[0][some])
        return np.maximum(logs, LEAST)

    @cached_property
    def terms(self) -> np.ndarray:
        return terms(self.fresh[0])

    def cross_validated(self, rng: np.random.Generator, folds: int) -> tuple[bk.Evaluation, Truth]:
        x, y = self.design.draw(rng, self.design.rows)
        fold, truth = _dealt(rng, y, folds), Truth()
        for f in range(folds):
            some = slice(f, None, folds)
            truth.add(self.joint(x[fold != f], y[fold != f], some), self.fresh[1][some])
        return bk.evaluate(MODELS[self.model](), x, y, bk.CrossValidation(fold)), truth

    def tables(self, rng: np.random.Generator, folds: int) -> tuple[np.ndarray, np.ndarray]:
        """Confusion of normal naive Bayes over the folds, (K, K), and of their models on fresh rows, (folds, K, K)."""
        x, y = self.design.draw(rng, self.design.rows)
        k, fold = self.design.classes, _dealt(rng, y, folds)
        table, true = np.zeros((k, k)), []
        for f in range(folds):
            model = naive(x[fold != f], y[fold != f], k)
            np.add.at(table, (y[fold == f], np.argmax(terms(x[fold == f]) @ model, axis=1)), 1)
            best, label = np.argmax(self.terms[f::folds] @ model, axis=1), self.fresh[1][f::folds]
            true.append(np.bincount(label * k + best, minlength=k * k).reshape(k, k))
        return table, np.array(true, dtype=np.float64)

    def bootstrapped(self, rng: np.random.Generator, plus: bool) -> tuple[bk.Evaluation, Truth]:
        x, y = self.design.draw(rng, self.design.rows)
        truth = Truth()
        truth.add(self.joint(x, y, slice(None)), self.fresh[1])
        seed = int(rng.integers(1 << 30))
        return bk.evaluate(MODELS[self.model](), x, y, bk.Bootstrap632(plus=plus), random_state=seed), truth


def _dealt(rng: np.random.Generator, y: np.ndarray, folds: int) -> np.ndarray:
    """The fold of each row: every class dealt in turn."""
    order, fold = np.lexsort((rng.random(len(y)), y)), np.empty(len(y), dtype=np.int64)
    fold[order] = np.arange(len(y)) % folds
    return fold


def of_tables(design: Design, repeats: int, folds: int, seed: int) -> float:
    """The share of the intervals of balanced accuracy that hold the truth."""
    rng = np.random.default_rng([seed, design.rows, design.classes, design.rare])
    judge, held = Judge("naive", design, design.draw(rng, FRESH_TABLES)), []
    for _ in range(repeats):
        table, true = judge.tables(rng, folds)
        recalls = np.diagonal(true, axis1=1, axis2=2) / true.sum(axis=2)
        interval = bk.Confusion(table, range(design.classes)).interval("balanced_accuracy")
        held.append(interval.low <= recalls.mean() <= interval.high)
    return float(np.mean(held))


def of_cells(design: Design, model: str, repeats: int, folds: int, seed: int) -> dict[str, float]:
    """The share of the intervals of calibration errors and parts of the Brier score that hold the truth."""
    rng = np.random.default_rng([seed, design.rows, design.classes, design.rare])
    judge = Judge(model, design, design.draw(rng, FRESH_TABLES))
    held: dict[str, list[bool]] = {}
    for _ in range(repeats):
        x, y = design.draw(rng, design.rows)
        fold = _dealt(rng, y, folds)
        each = [slice(f, None, folds) for f in range(folds)]
        joint = np.concatenate([judge.joint(x[fold != f], y[fold != f], some) for f, some in enumerate(each)])
        label = np.concatenate([judge.fresh[1][some] for some in each])
        truth = cells_truth(softmax(joint, axis=1), label)
        top = softmax(joint, axis=1).max(axis=1)
        truth["smooth_ece"] = smooth_error(top, np.argmax(joint, axis=1) == label, np.ones(len(label)))
        found = bk.evaluate(MODELS[model](), x, y, bk.CrossValidation(fold))
        for name, true in truth.items():
            interval = found.interval(name)
            held.setdefault(name, []).append(interval.low <= true <= interval.high)
        parts = found.frame("pyarrow", of="brier").to_pylist()[0]
        held.setdefault("uncertainty", []).append(parts["low"] - 1e-9 <= design.uncertainty <= parts["high"] + 1e-9)
    return {name: float(np.mean(each)) for name, each in held.items()}


def cells_truth(proba: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Of many rows, without what chance adds to a square."""
    sums = ScoreSums.of(PredictedRows(y, proba))
    out = {name: float(SCORES[name].of_sums(sums)[0]) for name in CELLED}
    for name in ("brier_reliability", "brier_resolution"):
        out[name] = max(out[name] - sum(_chance(table) for table in sums.each[0]), 0.0)
    return out


LeaderboardEntry = dict[str, float]


def line(
    design: Design, model: str, repeats: int, folds: int, seed: int
) -> tuple[LeaderboardEntry, LeaderboardEntry, LeaderboardEntry]:
    """By measure the share of the intervals given that hold the truth, that of the draws which have one, and the mean
    error; a bootstrap for 0 folds."""
    rng = np.random.default_rng([seed, design.rows, design.classes, design.rare])
    judge = Judge(model, design, design.draw(rng, FRESH if model == "naive" else FRESH_SLOW))
    names = MEASURES if folds else BY_BOOTSTRAP
    held: dict[str, list[bool]] = {name: [] for name in names}
    apart: dict[str, list[float]] = {name: [] for name in BIASES}
    for _ in range(repeats):
        found, truth = judge.cross_validated(rng, folds) if folds else judge.bootstrapped(rng, False)
        true = truth.mean()
        for name in names:
            interval = found.confusion.interval("f1", design.classes - 1) if name == "f1" else found.interval(name)
            if np.isfinite(interval.low):
                held[name].append(interval.low <= true[name] <= interval.high)
        for name in BIASES if folds else ():
            apart[name].append(found.measures.value(name) - true[name])
    covered = {n: float(np.mean(h)) if h else np.nan for n, h in held.items()}
    bias = {n: float(np.mean(a)) for n, a in apart.items() if a}
    return covered, {n: len(h) / repeats for n, h in held.items()}, bias


def designs() -> Iterator[Design]:
    return (Design(*each) for each in product(ROWS, (2, 3), (False, True)))


def shown(title: str, lines: dict[str, dict[str, float]], form: str) -> None:
    names = list(next(iter(lines.values())))
    print(f"\n| {title} | " + " | ".join(n.replace("_", " ") for n in names) + " |")
    print("|---" * (len(names) + 1) + "|")
    for what, values in lines.items():
        print(f"| {what} | " + " | ".join(format(values[n], form) for n in names) + " |", flush=True)


def main(given: argparse.Namespace) -> None:
    """Tables of coverage, of how many draws have an interval and of bias: a line for each design."""
    if given.tables:
        found = {
            str(d): of_tables(d, given.repeats, given.folds, given.seed) for d in designs() if d.rows in given.rows
        }
        found |= {"mean": float(np.mean([*found.values()])), "least": min(found.values())}
        shown("coverage", {name: {"balanced_accuracy": share} for name, share in found.items()}, ".1%")
        return
    if given.cells:
        every: dict[str, dict[str, float]] = {}
        for design in designs():
            if design.rows in given.rows:
                every[str(design)] = of_cells(design, given.model, given.repeats, given.folds, given.seed)
                print(design, {n: round(c, 3) for n, c in every[str(design)].items()}, flush=True)
        names = list(next(iter(every.values())))
        every |= {
            how: {n: float(of([e[n] for e in every.values()])) for n in names}
            for how, of in (("mean", np.mean), ("least", np.min))
        }
        shown("coverage", every, ".1%")
        return
    coverage, shares, bias = {}, {}, {}
    for design in designs():
        if design.rows not in given.rows:
            continue
        name = str(design)
        coverage[name], shares[name], bias[name] = line(design, given.model, given.repeats, given.folds, given.seed)
        print(design, {n: round(c, 3) for n, c in coverage[name].items()}, flush=True)
    lines, names = list(coverage.values()), list(next(iter(coverage.values())))
    for how, of in (("mean", np.nanmean), ("least", np.nanmin)):
        coverage[how] = {n: float(of([c[n] for c in lines])) for n in names}
    shown("coverage", coverage, ".1%")
    shown("share of draws with an interval", shares, ".0%")
    if given.folds:
        shown("bias", bias, "+.4f")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--folds", type=int, default=5, help="0 for the .632 bootstrap")
    parser.add_argument("--model", choices=MODELS, default="naive")
    parser.add_argument("--rows", type=int, nargs="*", default=ROWS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tables", action="store_true", help="balanced accuracy of naive Bayes alone")
    parser.add_argument("--cells", action="store_true", help="calibration errors by cells and parts of the Brier score")
    warnings.simplefilter("ignore")
    main(parser.parse_args())
