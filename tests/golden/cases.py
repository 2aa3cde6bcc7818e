"""The models that golden files hold: every family, smoothing and structure, with settings other than the defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bayeskit as bk
from bayeskit import families as f
from bayeskit import smoothing as s

ROWS = 36
COLOURS, SIZES = ("red", "blue", "green"), ("small", "middle", "large")
ASKED = 6  # rows whose posteriors are kept


def table(begin: int = 0, rows: int = ROWS) -> dict[str, list[Any]]:
    """Rows of every kind of column, with holes, by arithmetic alone: no generator of random numbers may change it."""
    some = [(7919 * i + 104729) % 1009 for i in range(begin, begin + rows)]
    label = [("ham", "spam", "eggs")[n % 3 if n % 5 else 0] for n in some]
    kind = {"ham": 0, "spam": 1, "eggs": 2}
    c = [kind[name] for name in label]
    return {
        "x": [None if n % 17 == 0 else (n % 41) / 8 + 2.5 * k for n, k in zip(some, c, strict=True)],
        "y": [(n % 29) / 4 - 3 + (n % 41) / 16 for n in some],
        "wait": [0.125 + (n % 23) / 8 + k for n, k in zip(some, c, strict=True)],
        "share": [(1 + n % 31 + 4 * k) / 64 for n, k in zip(some, c, strict=True)],
        "hits": [n % 7 * (1 + k) % 9 for n, k in zip(some, c, strict=True)],
        "tries": [n % 3 for n in some],
        "colour": [None if n % 13 == 0 else COLOURS[(n + k) % 3] for n, k in zip(some, c, strict=True)],
        "size": [SIZES[(n // 3 + k) % 3] for n, k in zip(some, c, strict=True)],
        "flag": [n % 4 < 1 + k for n, k in zip(some, c, strict=True)],
        "class": label,
    }


KINDS = {"size": list(SIZES), "hits": "count", "tries": "count"}
LEVELS = ("colour", "size", "flag")
NUMBERS = ("x", "y", "wait")
ARCS = [("class", "size"), ("class", "flag"), ("colour", "size")]


def _of(estimator: Any, *columns: str) -> Any:
    data = table()
    return estimator.fit({name: data[name] for name in (columns or tuple(data)[:-1])}, data["class"])


def _naive(family: Any, *columns: str, **settings: Any) -> Callable[[], Any]:
    kinds = {name: kind for name, kind in KINDS.items() if name in columns}
    return lambda: _of(bk.NaiveBayes(families=family, kinds=kinds, **settings), *columns)


def _whole(kind: Any, *columns: str, **settings: Any) -> Callable[[], Any]:
    kinds = {name: value for name, value in KINDS.items() if not columns or name in columns}
    return lambda: _of(kind(kinds=kinds, **settings), *columns)


def _grown(*columns: str) -> Any:
    """Learned, learned more, forgotten."""
    data, more = table(), table(100, 12)
    model = bk.NaiveBayes(prior={"ham": 0.5, "spam": 0.25, "eggs": 0.25}, missing="level", unseen="smooth")
    model.fit({name: data[name] for name in columns}, data["class"], sample_weight=[1.0, 2.5] * (ROWS // 2))
    model.partial_fit({name: more[name] for name in columns}, more["class"])
    return model.forget({name: more[name][:4] for name in columns}, more["class"][:4])


def _matrix() -> Any:
    """Whole numbers as labels, columns without names."""
    data = table()
    X = [[data["y"][i], float(data["hits"][i])] for i in range(ROWS)]
    return bk.NaiveBayes().fit(X, [len(name) for name in data["class"]])


def _network(method: str = "counts") -> Any:
    data = table()
    rows = {name: data[name] for name in ("colour", "size", "flag")}
    return bk.Network([("colour", "size"), ("size", "flag")], unseen="missing").fit(rows, method, smoothing=0.5)


def _network_cut() -> Any:
    data = table()
    rows = {name: data[name] for name in ("colour", "x", "y")}
    return bk.Network([("colour", "x"), ("x", "y")]).fit(rows, cuts={"x": 3, "y": [-0.5, 1.25]})


def _network_numbers(method: str = "counts") -> Any:
    data = table()
    rows = {name: data[name] for name in ("colour", "flag", "x", "y", "hits")}
    edges = [("colour", "flag"), ("colour", "x"), ("x", "y"), ("flag", "y"), ("y", "hits")]
    return bk.Network(edges).fit(rows, method, iterations=3, tolerance=1.0)


def _given() -> Any:
    rain = {"yes": 0.25, "no": 0.75}
    wet = {"yes": {"yes": 0.875, "no": 0.125}, "no": {"yes": 0.25, "no": 0.75}}
    return bk.Network([("rain", "wet")], tables={"rain": rain, "wet": wet})


DECLARED = {"size": bk.Ordinal([*SIZES, "huge"]), "colour": bk.Nominal([*COLOURS, "black"])}
COSTS = bk.Costs({"ham": {"keep": 0, "bin": 9}, "spam": {"keep": 2, "bin": 0}, "eggs": {"keep": 1, "bin": 1}})
FAMILIES: dict[str, Callable[[], Any]] = {  # by module, with settings other than the defaults
    "gaussian": _naive(f.Gaussian, *NUMBERS),
    "gaussian_predictive": _naive(f.Gaussian(predictive=True), *NUMBERS),
    "lognormal": _naive(f.LogNormal, "wait", "share"),
    "gamma": _naive(f.Gamma, "wait", "share"),
    "exponential": _naive(f.Exponential(smoothing=0.5), "wait", "share"),
    "beta": _naive(f.Beta, "share"),
    "von_mises": _naive(f.VonMises, "y"),
    "poisson": _naive(f.Poisson(smoothing=0.25), "hits", "tries"),
    "negative_binomial": _naive(f.NegativeBinomial(smoothing=2.0), "hits"),
    "binomial": _naive(f.Binomial(trials=2, smoothing=0.5), "tries"),
    "zero_inflated": _naive(f.ZeroInflated(f.Gamma(), smoothing=0.5), "hits"),
    "kernel": _naive(f.Kernel(bandwidth=0.75), "x", "y"),
    "kernel_rule": _naive(f.Kernel(bandwidth="scott"), "x", "y"),
    "histogram": _naive(f.Histogram(bins=4, smoothing=0.5), "x", "y"),
    "histogram_cuts": _naive(f.Histogram(bins=(0.5, 2.0, 4.0)), "x"),
    "bernoulli": _naive(f.Bernoulli(smoothing=0.5), "tries"),
    "multinomial": _naive(f.Multinomial(smoothing=0.5), "hits", "tries"),
    "complement": _naive(f.Complement(smoothing=0.5, norm=True), "hits", "tries"),
    "categorical": _naive(None, *LEVELS, smoothing=0.5),
    "ordinal": _naive({"size": f.Ordinal(smoothing=0.5), "colour": f.Categorical(2.0)}, "size", "colour"),
}
COLUMN = {"quantitative": "share", "count": "tries", "nominal": "colour", "ordinal": "size", "binary": "flag"}
LATER = {  # families that have no model above, with their defaults, of a column that any support has
    f"family_{module}": _naive(family, COLUMN[family.kinds[0]])
    for family in f.families().values()
    if (module := family.__module__.rpartition(".")[2]) not in FAMILIES
}
CASES: dict[str, Callable[[], Any]] = {
    **FAMILIES,
    **LATER,
    "laplace": _naive(f.Categorical(s.Laplace(2)), *LEVELS),
    "no_smoothing": _naive(f.Categorical(s.NoSmoothing()), "size", "flag"),
    "replace_zeros": _naive(f.Categorical(s.ReplaceZeros("class")), *LEVELS),
    "m_estimate": _naive(f.Categorical(s.MEstimate(2, prior=(0.25, 0.25, 0.5))), "size"),
    "toward_pooled": _naive(f.Categorical(s.TowardPooled(3)), *LEVELS),
    "add_m": _naive(f.Categorical(s.AddM(2)), *LEVELS),
    "default": _naive(None, *tuple(table())[:-1]),
    "auto": _naive("auto", *NUMBERS, "hits", *LEVELS),
    "declared": lambda: _of(bk.NaiveBayes(kinds=DECLARED), "size", "colour"),
    "backoff": _naive(None, "x", "colour", backoff=2.0),
    "fitted_weights": _naive(None, "x", "y", "colour", weights="fitted"),
    "grown": lambda: _grown("x", "colour", "flag"),
    "matrix": _matrix,
    "full": _whole(bk.FullBayes, *NUMBERS, "colour"),
    "full_plain": _whole(bk.FullBayes, *NUMBERS, "colour", shrinkage=None, smoothing=0.5),
    "full_tied": _whole(bk.FullBayes, *NUMBERS, covariance="tied", shrinkage=None),
    "full_pooled": _whole(bk.FullBayes, *NUMBERS, shrinkage="pooled"),
    "knn": _whole(bk.KNNBayes, "y", "wait", k=3, pseudo=0.5, weights="epanechnikov", max_rows=30),
    "knn_gower": _whole(bk.KNNBayes, *NUMBERS, "colour", metric="gower"),
    "tan": _whole(bk.TAN, "x", *LEVELS, smoothing=0.5),
    "tan_exact": _whole(bk.TAN, "x", *LEVELS, exact=True),
    "kdb": _whole(bk.KDB, "x", "hits", *LEVELS, k=2, penalty=1.0),
    "aode": _whole(bk.AODE, "x", *LEVELS, limit=2.0),
    "aode_2": _whole(bk.AODE, "x", *LEVELS, n=2),
    "aje": _whole(bk.AJE, "x", *LEVELS, n=2, sets=3, weights=None),
    "forest": _whole(bk.ProbabilityForest, "x", *LEVELS, trees=5),
    "boosted": _whole(bk.BoostedTrees, "x", *LEVELS, trees=5),
    "corrected": _whole(bk.CorrectedNaiveBayes, "x", *LEVELS, bins=8, pairs=3),
    "aje_fitted": _whole(bk.AJE, "x", *LEVELS, n=2, sets=3),
    "network_bayes": _whole(bk.NetworkBayes, "x", *LEVELS, max_parents=2),
    "network_bayes_given": _whole(
        bk.NetworkBayes, *LEVELS, structure=[("class", "size"), ("class", "flag"), ("colour", "size")]
    ),
    "autobayes": _whole(bk.AutoBayes, "x", "colour", max_candidates=5),
    "autobayes_fast": _whole(bk.AutoBayes, "x", "y", "colour", fast=True),
    "autobayes_exact": _whole(bk.AutoBayes, "x", "colour", max_candidates=2, exact=True),
    "calibrated": lambda: _of(bk.Calibrated(bk.NaiveBayes()), "x", "colour"),
    "calibrated_sigmoid": lambda: _of(bk.Calibrated(bk.TAN(), "sigmoid", folds=3), "x", "colour"),
    "calibrated_isotonic": lambda: _of(bk.Calibrated(bk.NaiveBayes(), "isotonic", random_state=1), "x", "colour"),
    "calibrated_beta": lambda: _of(bk.Calibrated(bk.NaiveBayes(), "beta"), "x", "colour"),
    "calibrated_quadratic": lambda: _of(bk.Calibrated(bk.NaiveBayes(), "quadratic"), "x", "colour"),
    "calibrated_vector": lambda: _of(bk.Calibrated(bk.NaiveBayes(), "vector"), "x", "colour"),
    "calibrated_auto": lambda: _of(bk.Calibrated(bk.NaiveBayes(), "auto"), "x", "colour"),
    "calibrated_pool": lambda: _of(bk.Calibrated(bk.AutoBayes(fast=True), folds=2), "x", "colour"),
    "venn_abers": lambda: _of(bk.VennAbers(bk.TAN(), folds=2), "x", "colour"),
    "venn_abers_loo": lambda: _of(bk.VennAbers(bk.NaiveBayes(), "loo"), "x", "colour"),
    "conformal": lambda: _of(bk.Conformal(bk.NaiveBayes(), 0.8, by=["class", "colour"]), "x", "colour"),
    "conformal_jackknife": lambda: _of(bk.Conformal(bk.FullBayes(), 0.8, "jackknife+"), "x", "y"),
    "conformal_cv": lambda: _of(bk.Conformal(bk.TAN(), 0.8, "cv+", folds=3, conformity_score="aps"), "x", "colour"),
    "conformal_split": lambda: _of(bk.Conformal(bk.NaiveBayes(), 0.8, "split", randomised=True), "x", "colour"),
    "risk": lambda: _of(bk.RiskClassifier(bk.NaiveBayes(), reject=0.4, abstain="?"), "x", "colour"),
    "risk_calibrated": lambda: _of(bk.RiskClassifier(bk.Calibrated(bk.NaiveBayes()), COSTS), "x", "colour"),
    "network": _network,
    "network_cut": _network_cut,
    "network_numbers": _network_numbers,
    "network_numbers_em": lambda: _network_numbers("em"),
    "network_em": lambda: _network("em"),
    "network_given": _given,
}
