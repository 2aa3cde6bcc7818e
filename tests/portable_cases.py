"""Models of every kind with rows to ask them about: holes, levels never seen, numbers far out, borders of cells."""

from functools import cache

import numpy as np
import pandas as pd
from sklearn.base import clone

import bayeskit as bk
from bayeskit import families as f
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.model.batch_predictor import BatchPredictor

LEVELS = ["red", "o'hara", 'say "hi"', "back\\slash", "-- drop", "ünï"]


def table(n=240, seed=3, classes=3):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, classes, n)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40 + 6 * label, 9).round(1),
            "height": rng.normal(170 - 5 * label, 7),
            "sugar": rng.gamma(3 + label, 2.0) + 0.01,
            "visits": rng.poisson(2 + 2 * label),
            "share": rng.beta(2 + label, 3),
            "spend": np.where(rng.random(n) < 0.3, 0.0, rng.lognormal(1 + label / 2, 0.7)),
            "angle": rng.vonmises(label, 2.0),
            "tries": rng.binomial(5, 0.2 + 0.2 * label),
            "colour": np.array(LEVELS)[(label + rng.integers(0, 4, n)) % 6],
            "select": np.array(["a", "b", "c"])[(label + rng.integers(0, 2, n)) % 3],
            "flag": rng.random(n) < 0.3 + 0.2 * label,
            "rooms": (label + rng.integers(0, 3, n)).astype(np.int64),
        }
    )
    for j, name in enumerate(frame.columns[:10]):
        if name not in ("visits", "tries"):
            frame.loc[rng.random(n) < 0.05, name] = np.nan if j < 7 else None
    return frame, np.array(["no", "yes", "it's"])[label]


def asked(frame, model=None, n=120, seed=5):
    """Rows of the table with holes and odd values, and the borders of what a model has cut."""
    rng = np.random.default_rng(seed)
    rows = frame.sample(n, replace=True, random_state=seed).reset_index(drop=True)
    for name in rows.columns:
        column = rows[name].astype(object)
        holes = rng.random(n) < 0.15
        odd = np.flatnonzero(rng.random(n) < 0.15)
        if frame[name].dtype.kind == "f":
            column.iloc[odd] = rng.choice(
                [1e300, -1e300, 0.0, 1e-300, -5.0, 500.0, 1e150, -1e170, 40.0, 1.0, 6.28], len(odd)
            )
            known = frame[name].dropna().to_numpy()
            odd = np.flatnonzero(rng.random(n) < 0.1)
            column.iloc[odd] = rng.choice(known, len(odd))
        elif frame[name].dtype.kind in "iu":
            column.iloc[odd] = rng.choice([0, 1, 2, 7, 40, 300, -1], len(odd))
        elif frame[name].dtype.kind == "O":
            column.iloc[odd] = rng.choice(["never seen", "", "'; --", "NULL"], len(odd))
        column[holes] = None
        if frame[name].dtype.kind == "f":
            rows[name] = column.astype(float)
        elif frame[name].dtype.kind in "iu":
            rows[name] = column.astype("Int64")
        elif frame[name].dtype.kind == "b":
            rows[name] = column.astype("boolean")
        else:
            rows[name] = column
    if model is not None:
        cuts = {name: c for s in model.model_.structure.components for name, c in (getattr(s[0], "grid", None) or ())}
        for i, (name, some) in enumerate(cuts.items()):
            for k, cut in enumerate(some[: n // 4]):
                rows[name] = rows[name].astype(float)
                rows.loc[(i * 7 + k) % n, name] = cut
    return rows


def inputs(program, model, rows):
    """What the columns of a program hold in some rows: numbers and codes."""
    block = next(iter(BatchPredictor.of(model.table_reader(), rows, "a test").blocks()))
    found = []
    for column in program.columns:
        if column.numeric:
            found.append(np.asarray(block.numbers((column.name,))[0].column(0)))
        else:
            found.append(block.codes[block.schema.coded_index[column.name]].astype(float))
    return found


NUMBERS = {
    "Gaussian": (f.Gaussian(), ["age", "height"]),
    "Student": (f.Gaussian(predictive=True), ["age", "height"]),
    "LogNormal": (f.LogNormal(), ["sugar"]),
    "Gamma": (f.Gamma(), ["sugar"]),
    "Exponential": (f.Exponential(), ["sugar"]),
    "Exponential0": (f.Exponential(smoothing=0), ["sugar"]),
    "Beta": (f.Beta(), ["share"]),
    "Poisson": (f.Poisson(), ["visits"]),
    "Poisson0": (f.Poisson(smoothing=0), ["visits"]),
    "NegativeBinomial": (f.NegativeBinomial(), ["visits"]),
    "Binomial": (f.Binomial(trials=5), ["tries"]),
    "Binomial0": (f.Binomial(trials=5, smoothing=0), ["tries"]),
    "VonMises": (f.VonMises(), ["angle"]),
    "ZeroInflated": (f.ZeroInflated("LogNormal"), ["spend"]),
    "ZeroInflatedGamma": (f.ZeroInflated("Gamma"), ["spend"]),
    "Histogram": (f.Histogram(), ["age", "sugar"]),
    "Histogram0": (f.Histogram(6, smoothing=0), ["age", "sugar"]),
    "HistogramMdlp": (f.Histogram("mdlp"), ["age", "sugar"]),
    "Kernel": (f.Kernel(), ["age", "sugar"]),
    "KernelWide": (f.Kernel(3.0), ["age", "sugar"]),
    "Multinomial": (f.Multinomial(), ["visits", "tries", "rooms"]),
    "Multinomial0": (f.Multinomial(smoothing=0), ["visits", "tries", "rooms"]),
    "Complement": (f.Complement(), ["visits", "tries", "rooms"]),
    "Bernoulli": (f.Bernoulli(), ["visits", "tries", "rooms"]),
}
COLUMN = {"quantitative": "share", "count": "tries"}  # values that any support of the kind has
NUMBERS |= {
    name: (family(), [COLUMN[family.kinds[0]]])
    for name, family in f.families().items()
    if name not in NUMBERS and family.kinds[0] in COLUMN
}
LEVEL_COLUMNS = ["colour", "select", "flag"]


NUMERIC, EVERYTHING = ["age", "height", "sugar"], None
SOME = ["age", "sugar", "colour", "select", "flag"]
CASES = {
    **{name: (bk.NaiveBayes(families=family), columns) for name, (family, columns) in NUMBERS.items()},
    **{
        name + "Backoff": (bk.NaiveBayes(families=NUMBERS[name][0], backoff=1.0), NUMBERS[name][1])
        for name in ("Gaussian", "Kernel", "Poisson0")
    },
    "Categorical": (bk.NaiveBayes(), LEVEL_COLUMNS),
    "Categorical0": (bk.NaiveBayes(smoothing=0), LEVEL_COLUMNS),
    "CategoricalSmooth": (bk.NaiveBayes(unseen="smooth"), LEVEL_COLUMNS),
    "MissingLevel": (bk.NaiveBayes(missing="level"), ["age", *LEVEL_COLUMNS]),
    "NumberLevels": (bk.NaiveBayes(kinds={"rooms": "nominal"}), ["rooms", "age"]),
    "Ordinal": (bk.NaiveBayes(kinds={"rooms": "ordinal"}, families={"rooms": f.Ordinal()}), ["rooms"]),
    "Auto": (bk.NaiveBayes(families="auto"), EVERYTHING),
    "Weights": (bk.NaiveBayes(weights="fitted"), EVERYTHING),
    "Full": (bk.FullBayes(), NUMERIC),
    "FullShared": (bk.FullBayes(shrinkage="pooled"), NUMERIC),
    "FullDiagonal": (bk.FullBayes(covariance="diagonal"), NUMERIC),
    "FullSpherical": (bk.FullBayes(covariance="spherical"), NUMERIC),
    "FullTied": (bk.FullBayes(covariance="tied"), NUMERIC),
    "FullLevels": (bk.FullBayes(), LEVEL_COLUMNS),
    "FullLevels0": (bk.FullBayes(smoothing=0), LEVEL_COLUMNS),
    "FullAuto": (bk.FullBayes(smoothing="auto"), LEVEL_COLUMNS),
    "FullSmooth": (bk.FullBayes(unseen="smooth"), LEVEL_COLUMNS),
    "FullMixed": (bk.FullBayes(), [*NUMERIC, "select", "flag"]),
    "FullMixed0": (bk.FullBayes(smoothing=0), ["age", "height", "select", "flag"]),
    "TAN": (bk.TAN(penalty=None), SOME),
    "TANSmooth": (bk.TAN(penalty=None, unseen="smooth"), SOME),
    "TANWeights": (bk.TAN(penalty=None, weights="fitted"), SOME),
    "TANMissing": (bk.TAN(missing="level"), SOME),
    "KDB": (bk.KDB(k=2, penalty=None), SOME),
    "AODE": (bk.AODE(), SOME),
    "A2DE": (bk.AODE(n=2), SOME),
    "AJE": (bk.AJE(), SOME),
    "AJEWeights": (bk.AJE(weights="fitted"), SOME),
    "NetworkBayes": (bk.NetworkBayes(), ["colour", "select", "flag", "age"]),
    "CalibratedTemperature": (bk.Calibrated(bk.NaiveBayes(), method="temperature"), EVERYTHING),
    "CalibratedSigmoid": (bk.Calibrated(bk.NaiveBayes(), method="sigmoid"), EVERYTHING),
    "CalibratedIsotonic": (bk.Calibrated(bk.NaiveBayes(), method="isotonic"), EVERYTHING),
    "CalibratedTwo": (bk.Calibrated(bk.NaiveBayes(), method="isotonic"), EVERYTHING),
    **{
        f"Calibrated{method.title()}": (bk.Calibrated(bk.NaiveBayes(), method=method), EVERYTHING)
        for method in ("beta", "quadratic", "vector", "auto")
    },
    "CalibratedBetaTwo": (bk.Calibrated(bk.NaiveBayes(), method="beta"), EVERYTHING),
    "VennAbers": (bk.VennAbers(bk.NaiveBayes(), "loo"), SOME),
    "VennAbersTwo": (bk.VennAbers(bk.TAN(), "inductive"), SOME),
    "Risk": (bk.RiskClassifier(bk.NaiveBayes()), ["age", "select"]),
    "Forest": (bk.ProbabilityForest(trees=12), EVERYTHING),
    "ForestMissing": (bk.ProbabilityForest(trees=12, missing="level"), SOME),
    "Boosted": (bk.BoostedTrees(trees=12), EVERYTHING),
    "BoostedMissing": (bk.BoostedTrees(trees=12, missing="level"), SOME),
    "Pool": (bk.AutoBayes(max_candidates=3), EVERYTHING),
    "PoolTrees": (bk.AutoBayes(portable=True), SOME),
}


@cache
def case(name):
    """A model, fitted, and rows to ask it about."""
    frame, y = table()
    model, columns = CASES[name]
    X = frame[columns] if columns else frame
    if name.endswith("Two"):
        y = np.where(y == "no", "no", "yes")
    if name == "PoolTrees":  # of columns that say nothing alone
        y = np.where((frame["age"] > 46) ^ (frame["sugar"] > 7), "odd", "even")
    fitted = clone(model).fit(X, y)
    return fitted, asked(X, fitted if isinstance(fitted, BayesClassifier) else None)
