"""The two columns and two classes that the pictures of the Iris data share."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_iris

COLUMNS = ("sepal length", "sepal width")
ASKED = (6.75, 4.25)


def iris() -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Sepal length and width; class c1 is setosa, c2 the rest.

    scikit-learn's copy differs from the one of the UCI repository in row 38, which is put right here.
    """
    X, y = load_iris(return_X_y=True)
    X[37] = [4.9, 3.1, 1.5, 0.1]
    return dict(zip(COLUMNS, X[:, :2].T, strict=True)), np.where(y == 0, "c1", "c2")
