"""Published figures beside ours: scores of bnlearn's learning.test, and errors of AODE and TAN on UCI tables.

    python benchmarks/tables.py FOLDER --models aode tan --out tables.csv
    python benchmarks/published.py FOLDER tables.csv

FOLDER holds published/, bnlearn/learning_test.csv and what tables.py reads. A difference is given in standard errors of
a share of that many rows; those beyond two are marked.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

import bayeskit as bk
from bayeskit.networks.score import Scores, score_rule, total

RULES = {"bic": ("bic", 1.0), "aic": ("aic", 1.0), "bde (iss=1)": ("bdeu", 1.0)}
SAME = {  # published name: ours, where the rows are the same
    "balance-scale": "balance_scale",
    "breast-cancer-wisconsin": "breast_w",
    "diabetes": "pima",
    "glass": "glass",
    "haberman": "haberman",
    "heart-statlog": "heart_statlog",
    "ionosphere": "ionosphere",
    "iris": "iris_uci",
    "kr-vs-kp": "kr_vs_kp",
    "letter": "letter",
    "nursery": "nursery",
    "optdigits": "optdigits",
    "page-blocks": "page_blocks",
    "pendigits": "pendigits",
    "segment": "segment",
    "sonar": "sonar",
    "spambase": "spambase",
    "tic-tac-toe": "tic_tac_toe",
    "vehicle": "vehicle",
    "waveform": "waveform",
    "wine": "wine",
}


def parents(graph: str) -> dict[str, list[str]]:
    """Of a graph as bnlearn writes it: [A][B|A:C]."""
    found = (part.partition("|") for part in re.findall(r"\[(.*?)\]", graph))
    return {node: some.split(":") if some else [] for node, _, some in found}


def scores(folder: Path) -> None:
    table = pd.read_csv(folder / "bnlearn" / "learning_test.csv", dtype="category")
    codes = np.array([table[c].cat.codes for c in table], dtype=np.int32)
    sizes = tuple(len(table[c].cat.categories) for c in table)
    place = {name: j for j, name in enumerate(table.columns)}
    published = pd.read_csv(folder / "published" / "bnlearn_learning_test_scores.csv")
    print("learning.test: score, published, ours")
    for row in published.itertuples():
        rule, _, node = str(row.quantity).partition(" node ")
        if rule not in RULES:
            continue
        name, ess = RULES[rule]
        graph = {place[n]: [place[p] for p in some] for n, some in parents(row.structure).items()}
        wanted = {place[node]: graph[place[node]]} if node else graph
        ours = total(Scores(codes, sizes, score_rule(name, ess)), wanted)
        digits = len(str(row.value).partition(".")[2])
        verdict = "equal" if round(ours, digits) == row.value else "DIFFERENT"
        print(f"  {row.structure:<42} {row.quantity:<12} {row.value:12.3f} {ours:14.4f}  {verdict}")


def errors(folder: Path, ours: pd.DataFrame) -> None:
    theirs = pd.read_csv(folder / "published" / "aode_boostaode_rmontanana2026.csv")
    theirs = theirs[theirs.classifier == "AODE"].set_index("dataset")
    lines = [
        (mine, "aode", theirs.rows[name], theirs.accuracy_mean[name])
        for name, mine in SAME.items()
        if name in theirs.index
    ]
    tans = pd.read_csv(folder / "published" / "bnclassify_car.csv")
    (tan,) = tans[tans.quantity == "10-fold CV accuracy"].value.head(1)
    lines.append(("car", "tan", 1728, float(tan)))
    known = ours.set_index(["dataset", "model"]).accuracy
    weka = {"aode": "weka_aode_mdl", "tan": "weka_tan"}
    print("\nerror: published, ours, Weka's on our folds; ours less published in standard errors")
    for name, model, rows, accuracy in lines:
        if (name, model) not in known.index:
            continue
        mine, other = known[name, model], known.get((name, weka[model]), np.nan)
        apart = (accuracy - mine) / np.sqrt(max(accuracy * (1 - accuracy), 1 / rows) / rows)
        mark = ("  better" if apart < 0 else "  worse") if abs(apart) > 2 else ""
        print(f"  {name:<16} {model:<5} {1 - accuracy:.4f} {1 - mine:.4f} {1 - other:.4f}  {apart:+6.1f}{mark}")


def car(folder: Path) -> None:
    """The published table of this name has two classes, "unacc" and all others together."""
    theirs = pd.read_csv(folder / "published" / "aode_boostaode_rmontanana2026.csv")
    (theirs,) = theirs[(theirs.dataset == "car") & (theirs.classifier == "AODE")].itertuples()
    table = pd.read_csv(folder / "tables" / "car.csv", dtype=str)
    X, y = table.drop(columns="class"), (table["class"] == "unacc").to_numpy()
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=5, random_state=0)
    found = cross_val_score(bk.AODE(), X, y, cv=folds)
    print(f"  car, two classes aode  {1 - theirs.accuracy_mean:.4f} {1 - found.mean():.4f} (5 x 5 folds)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("tables", type=Path, nargs="?", help="what tables.py --out wrote")
    asked = parser.parse_args()
    scores(asked.folder)
    if asked.tables:
        errors(asked.folder, pd.read_csv(asked.tables))
        car(asked.folder)


if __name__ == "__main__":
    main()
