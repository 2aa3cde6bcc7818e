"""Numbers of a model as the worked examples print them."""

import numpy as np


def joint(model, X):
    return np.exp(model.predict_joint_log_proba(X))


def column_given(model, X):
    """p(x_j | c) of the first row: (columns, K)."""
    return np.exp(model.explain(X).terms[0])
