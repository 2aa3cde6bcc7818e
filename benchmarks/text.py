"""Sparse text beside scikit-learn: 20,000 rows, 100,000 columns; with a folder of texts also real ones.

python benchmarks/text.py [folder with text_sms_spam.csv.gz and text_reuters_corn.csv.gz], or BAYESKIT_TEXTS=folder
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline

import bayeskit as bk
from bayeskit.families import Complement, Multinomial
from duel import duel

ROWS, COLUMNS, LENGTH = 20_000, 100_000, 100
PEERS = {
    "multinomial": (lambda: bk.NaiveBayes(families=Multinomial()), MultinomialNB),
    "complement": (lambda: bk.NaiveBayes(families=Complement(), prior="uniform"), ComplementNB),
}


def words(classes: int, weighted: bool) -> tuple[Any, np.ndarray]:
    """Words of a long-tailed vocabulary; counts, or fractions as of TF-IDF."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, ROWS)
    sizes = rng.poisson(LENGTH, ROWS)
    place = np.minimum(rng.pareto(0.8, sizes.sum()) * 30, COLUMNS - 1).astype(np.int64)
    place = (place + 17 * np.repeat(y, sizes)) % COLUMNS
    X = sp.csr_matrix((np.ones(len(place)), (np.repeat(np.arange(ROWS), sizes), place)), shape=(ROWS, COLUMNS))
    X.sum_duplicates()
    if weighted:
        X.data = np.log1p(X.data) * rng.random(X.nnz)
    return X, y


def random_texts() -> None:
    for classes in (2, 20):
        for weighted in (False, True):
            X, y = words(classes, weighted)
            name = f"{'fractions' if weighted else 'counts'}, {classes} classes"
            for variant in PEERS:
                random_duels(f"{name}, {variant}", variant, X, y)


def random_duels(title: str, variant: str, X: Any, y: np.ndarray) -> None:
    """Fit, the first answer of a model, and later ones."""
    ours, theirs = PEERS[variant]
    mine, peer = ours(), theirs()
    duel(f"{title}: fit", lambda: mine.fit(X, y), lambda: peer.fit(X, y), 1, 9)
    fresh = [ours().fit(X, y) for _ in range(6)]  # one for each turn
    asked = lambda: peer.predict_proba(X)  # noqa: E731
    duel(f"{title}: first predict_proba", lambda: fresh.pop().predict_proba(X), asked, 1)
    duel(f"{title}: predict_proba", lambda: mine.predict_proba(X), asked, 1)
    assert np.abs(mine.predict_proba(X) - peer.predict_proba(X)).max() < 1e-10


def real_texts(folder: Path) -> None:
    import pandas as pd

    for name in ("text_sms_spam", "text_reuters_corn"):
        frame = pd.read_csv(folder / f"{name}.csv.gz")
        texts, y = frame.iloc[:, 0].astype(str), frame.iloc[:, -1].astype(str).to_numpy()
        for vectorizer in (CountVectorizer(), TfidfVectorizer()):
            X = vectorizer.fit_transform(texts)
            for variant, (ours, theirs) in PEERS.items():
                title = f"{name}, {type(vectorizer).__name__}, {variant}"
                mine, peer = ours(), theirs()
                duel(f"{title}: fit", lambda: mine.fit(X, y), lambda: peer.fit(X, y), 1)  # noqa: B023
                apart = np.abs(mine.predict_proba(X) - peer.predict_proba(X)).max()
                found = [
                    np.mean(cross_val_predict(make_pipeline(type(vectorizer)(), m()), texts, y, cv=5) == y)
                    for m in (ours, theirs)
                ]
                print(f"{'':<20} posteriors differ by {apart:.1e}; accuracy {found[0]:.4f}, peer {found[1]:.4f}")


def main() -> None:
    random_texts()
    given = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("BAYESKIT_TEXTS")
    if given:
        real_texts(Path(given))


if __name__ == "__main__":
    main()
