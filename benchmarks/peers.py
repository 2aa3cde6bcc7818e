"""AutoBayes beside boosted trees and their relatives on the same folds: log-loss, accuracy and processor seconds.

    python benchmarks/peers.py FOLDER [--out peers.csv] [--only adult car] [--models auto hgb] [--folds 0 1]

FOLDER is that of tables.py. Lines are added to the file as they are made, and those it has are not made again. All
peers stand at their defaults, with one thread; categories are told as such to those that take them. ``hgb_calibrated``
is HGB with early stopping and a temperature fitted to three inner folds. The peers are in the extra ``peers``, but for
Khiops, which asks for an older scikit-learn: give it an environment of its own, and the same file.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import StratifiedKFold

import bayeskit as bk
from tables import METRICS, prepared, read, scores

LARGEST = (
    "segment",
    "kr_vs_kp",
    "abalone3",
    "hypothyroid",
    "page_blocks",
    "spambase",
    "splice",
    "waveform",
    "mushroom",
    "nursery",
    "adult",
    "pendigits",
    "optdigits",
    "letter",
)
INNER = StratifiedKFold(3, shuffle=True, random_state=0)
OPPONENTS = ("hgb_calibrated", "catboost", "ebm")  # the best of which AutoBayes is held against


class Levels:
    """A peer that takes categories as pandas has them, and classes as numbers.

    Classes of fewer than ``least`` rows, which it cannot learn, are answered by their share of the rows.
    """

    def __init__(self, model: Any, texts: bool = False, least: int = 1) -> None:
        self.model, self.texts, self.least = model, texts, least

    def fit(self, X: pd.DataFrame, y: pd.Series) -> Levels:
        self.classes_, rows = np.unique(y, return_counts=True)
        self.known, self.share = rows >= self.least, rows / len(y)
        some = y.isin(self.classes_[self.known])
        self.model.fit(self._as_told(X[some]), np.searchsorted(self.classes_[self.known], y[some]))
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        out = np.tile(self.share, (len(X), 1))
        out[:, self.known] = self.model.predict_proba(self._as_told(X)) * self.share[self.known].sum()
        return out

    def _as_told(self, X: pd.DataFrame) -> pd.DataFrame:
        """Categories, or texts where missing is a text too."""
        if not self.texts:
            return X
        told = X.copy()
        for name in X.select_dtypes("category"):
            told[name] = X[name].astype(object).where(X[name].notna(), "missing").astype(str)
        return told


def lightgbm(X: pd.DataFrame) -> Any:
    from lightgbm import LGBMClassifier

    return Levels(LGBMClassifier(n_jobs=1, verbose=-1))


def xgboost(X: pd.DataFrame) -> Any:
    from xgboost import XGBClassifier

    return Levels(XGBClassifier(enable_categorical=True, n_jobs=1))


def catboost(X: pd.DataFrame) -> Any:
    from catboost import CatBoostClassifier

    named = list(X.select_dtypes("category"))
    return Levels(CatBoostClassifier(thread_count=1, verbose=0, allow_writing_files=False, cat_features=named), True)


def ebm(X: pd.DataFrame) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return Levels(ExplainableBoostingClassifier(n_jobs=1), True)


def khiops(X: pd.DataFrame) -> Any:
    from khiops.sklearn import KhiopsClassifier

    return Levels(KhiopsClassifier(), True)


def boosted(**settings: Any) -> Any:
    return HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0, **settings)


MODELS: dict[str, Callable[[pd.DataFrame], Any]] = {  # the cheapest first
    "auto": lambda X: bk.AutoBayes(n_jobs=1),
    "lightgbm": lightgbm,
    "hgb": lambda X: Levels(boosted(), least=10),
    "xgboost": xgboost,
    "forest": lambda X: prepared(RandomForestClassifier(random_state=0)),
    "khiops": khiops,
    "hgb_calibrated": lambda X: Levels(
        CalibratedClassifierCV(boosted(early_stopping=True), method="temperature", cv=INNER, ensemble=False), least=10
    ),
    "catboost": catboost,
    "ebm": ebm,
}


def spent() -> float:
    """Processor seconds of this process and of those it started."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def one(model: str, X: pd.DataFrame, y: pd.Series, held: np.ndarray) -> dict[str, float]:
    """A model on one fold of a table, with the seconds of its fit and of its predictions."""
    classes = np.unique(y)
    if model in ("auto", "forest"):  # which take texts
        X = X.astype(dict.fromkeys(X.select_dtypes("category"), object))
    else:  # some refuse names with signs
        X = X.set_axis([f"c{j}" for j in range(X.shape[1])], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = spent()
        fitted = MODELS[model](X).fit(X[~held], y[~held])
        middle = spent()
        found = fitted.predict_proba(X[held])
        end = spent()
    proba = np.zeros((int(held.sum()), len(classes)))
    proba[:, np.searchsorted(classes, fitted.classes_)] = found
    return {**scores(proba, np.searchsorted(classes, y[held])), "fit": middle - begin, "predict": end - middle}


def run(folder: Path, out: Path, models: list[str], only: list[str], which: list[int]) -> None:
    types = json.loads((folder / "TYPES.json").read_text())
    folds = json.loads(gzip.decompress((folder / "FOLDS.json.gz").read_bytes()))
    done = (
        set() if not out.exists() else {tuple(line) for line in pd.read_csv(out)[["dataset", "fold", "model"]].values}
    )
    for fold in which:
        for model in models:
            for name in only:
                if (name, fold, model) in done:
                    continue
                X, y = read(folder, name, types[name])
                X = X.astype({c: "category" for c in X if X[c].dtype != float})
                held = np.array(list(folds[name]), dtype=int) == fold
                line = {"dataset": name, "fold": fold, "model": model, **one(model, X, y, held)}
                print(*line.values(), flush=True)
                pd.DataFrame([line]).to_csv(out, mode="a", header=not out.exists(), index=False)


def tell(found: pd.DataFrame) -> None:
    """Log-loss by table and model on the folds that all have, what AutoBayes wins, and what each costs."""
    shared = found.groupby(["dataset", "fold"]).model.transform("nunique") == found.model.nunique()
    mean = found[shared].groupby(["dataset", "model"])[[*METRICS, "fit", "predict"]].mean().reset_index()
    loss = mean.pivot(index="dataset", columns="model", values="log_loss")
    loss = loss[[m for m in MODELS if m in loss]]
    print(loss.round(4).to_string(), "\n")
    for model in loss.columns.drop("auto") if "auto" in loss else ():
        wins = int((loss.auto <= loss[model]).sum())
        print(f"AutoBayes at or below {model:<15} on {wins} of {len(loss)}")
    if {"auto", *OPPONENTS} <= set(loss):
        best = loss[list(OPPONENTS)].min(axis=1)
        print(
            f"at or below the best of {', '.join(OPPONENTS)} on {int((loss.auto <= best).sum())} of {len(loss)}; ",
            end="",
        )
        print(f"mean {loss.auto.mean():.4f}, theirs {best.mean():.4f}")
    print(mean.groupby("model")[["accuracy", "log_loss", "ece15", "fit", "predict"]].mean().round(4).to_string())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path("peers.csv"))
    parser.add_argument("--only", nargs="*", default=list(LARGEST))
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--folds", nargs="*", type=int, default=[0, 1])
    asked = parser.parse_args()
    run(asked.folder, asked.out, asked.models, asked.only, asked.folds)
    tell(pd.read_csv(asked.out))


if __name__ == "__main__":
    main()
