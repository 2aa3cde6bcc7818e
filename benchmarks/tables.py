"""Real tables, fixed folds: accuracy, log-loss, Brier score and calibration error beside published baselines.

    python benchmarks/tables.py FOLDER [--out tables.csv] [--only iris_uci car] [--models naive] [--jobs 2]

FOLDER holds tables/, TYPES.json, FOLDS.json.gz and baselines*.csv: ten fixed folds per table.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import bayeskit as bk


def prepared(model: Any) -> Any:
    """A peer that takes complete numbers only: holes filled, numbers scaled, levels one-hot."""
    numbers = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    levels = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="?"), OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    )
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include=float)), (levels, make_column_selector(dtype_exclude=float))
    )
    return make_pipeline(columns, model)


MODELS: dict[str, Callable[[], Any]] = {
    "naive": lambda: bk.NaiveBayes(),
    "naive_auto": lambda: bk.NaiveBayes(families="auto"),
    "full": lambda: bk.FullBayes(),
    "full_pooled": lambda: bk.FullBayes(shrinkage="pooled"),
    "full_diagonal": lambda: bk.FullBayes(covariance="diagonal"),
    "full_spherical": lambda: bk.FullBayes(covariance="spherical"),
    "full_tied": lambda: bk.FullBayes(covariance="tied"),
    "tan": lambda: bk.TAN(),
    "kdb": lambda: bk.KDB(),
    "aode": lambda: bk.AODE(),
    "a2de": lambda: bk.AODE(n=2),
    "network_bayes": lambda: bk.NetworkBayes(),
    "knn": lambda: bk.KNNBayes(k=10, metric="gower"),
    "knn_weighted": lambda: bk.KNNBayes(
        k=10, metric="gower", scale="mutual_information", weights="epanechnikov", pseudo=1.0
    ),
    "naive_weighted": lambda: bk.NaiveBayes(families="auto", weights="fitted"),
    "kdb2_weighted": lambda: bk.KDB(k=2, cuts="frequency", weights="fitted"),
    "auto": lambda: bk.AutoBayes(),
    "auto_fast": lambda: bk.AutoBayes(fast=True),
    "lda": lambda: prepared(LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")),
    "qda": lambda: prepared(QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto")),
}
REFUSES = ("qda",)  # peers that have no answer for some tables
PEERS = ("weka_nb_gauss", "weka_nb_kernel", "weka_nb_mdl", "weka_tan", "weka_aode_mdl", "logreg", "knn10", "hgb")
METRICS = ("accuracy", "log_loss", "brier", "ece15")


def read(folder: Path, name: str, types: dict[str, str]) -> tuple[pd.DataFrame, pd.Series]:
    """Features with numbers as numbers, everything else as text, and the class."""
    path = next(p for p in (folder / "tables").glob(f"{name}.csv*"))
    table = pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])
    for column, kind in types.items():
        if kind == "numeric":
            table[column] = table[column].astype(float)
    return table.drop(columns="class"), table["class"]


def scores(proba: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Over pooled out-of-fold predictions; truth as column numbers."""
    rows = np.arange(len(truth))
    one = np.zeros_like(proba)
    one[rows, truth] = 1
    top, hit = proba.max(axis=1), proba.argmax(axis=1) == truth
    bins = np.clip(np.ceil(top * 15).astype(int) - 1, 0, 14)
    gaps = [abs(hit[bins == b].mean() - top[bins == b].mean()) * (bins == b).mean() for b in np.unique(bins)]
    return {
        "accuracy": hit.mean(),
        "log_loss": -np.log(np.clip(proba[rows, truth], 1e-15, 1)).mean(),
        "brier": ((proba - one) ** 2).sum(axis=1).mean(),
        "ece15": sum(gaps),
    }


def out_of_fold(model: Callable[[], Any], X: pd.DataFrame, y: pd.Series, folds: np.ndarray) -> np.ndarray:
    """Posteriors of every row from a model that did not see its fold; a class the fold lacks gets 0."""
    classes = np.unique(y)
    proba = np.zeros((len(y), len(classes)))
    for fold in np.unique(folds):
        held = folds == fold
        fitted = model().fit(X[~held], y[~held])
        proba[np.ix_(held, np.searchsorted(classes, fitted.classes_))] = fitted.predict_proba(X[held])
    return proba


def one(model: str, name: str, X: pd.DataFrame, y: pd.Series, folds: np.ndarray) -> dict[str, Any]:
    """A model on a table."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = scores(out_of_fold(MODELS[model], X, y, folds), np.searchsorted(np.unique(y), y))
        except (np.linalg.LinAlgError, ValueError):
            if model not in REFUSES:
                raise
            found = dict.fromkeys(METRICS, np.nan)
    print(f"{name:<24} {model:<14} " + " ".join(f"{found[m]:.4f}" for m in METRICS), file=sys.stderr, flush=True)
    return {"dataset": name, "model": model, **found, "seconds": time.perf_counter() - start}


def run(folder: Path, models: list[str], only: list[str] | None, jobs: int) -> pd.DataFrame:
    types = json.loads((folder / "TYPES.json").read_text())
    folds = json.loads(gzip.decompress((folder / "FOLDS.json.gz").read_bytes()))
    work = []
    for name in only or [n for n in types if not n.startswith("text_")]:
        X, y = read(folder, name, types[name])
        digits = np.array(list(folds[name]), dtype=int)
        work += [delayed(one)(model, name, X, y, digits) for model in models]
    return pd.DataFrame(Parallel(n_jobs=jobs)(work))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    found = run(asked.folder, asked.models, asked.only, asked.jobs)
    peers = pd.concat([pd.read_csv(p) for p in sorted(asked.folder.glob("baselines*.csv"))])
    peers = peers[peers.model.isin(PEERS) & peers.dataset.isin(found.dataset)]
    whole = pd.concat([found, peers], ignore_index=True)[["dataset", "model", *METRICS, "seconds"]]
    if asked.out:
        whole.to_csv(asked.out, index=False)
    print(whole.groupby("model")[list(METRICS)].mean().sort_values("log_loss").round(4).to_string())


if __name__ == "__main__":
    main()
