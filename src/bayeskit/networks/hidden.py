"""Hidden: how well the rows support the number of states of nodes that none of them has."""

from __future__ import annotations

from math import lgamma

import numpy as np
from scipy.special import gammaln, xlogy

from bayeskit.arrays import Float, Int
from bayeskit.errors import InputError
from bayeskit.networks.fitted import Fitted
from bayeskit.networks.learning import Learning
from bayeskit.networks.state_order import hidden_nodes

BIC, CHEESEMAN_STUTZ = "bic", "cheeseman-stutz"
SCORES = (BIC, CHEESEMAN_STUTZ)


def score_hidden(fitted: Fitted, score: str) -> float:
    """An approximation of log p(rows) of a network that EM or the gradient has learned, its tables integrated out.

    "bic": log p(rows | tables) - free / 2 log n. "cheeseman-stutz" (Cheeseman and Stutz 1996): with the expected counts
    N for rows and the pseudo-counts of the smoothing as the prior, log p(N) + log p(rows | tables) - log p(N | tables),
    plus log k! for each hidden node of k states, whose names could be exchanged.
    """
    learned, rows = fitted.learned, fitted.rows
    if score not in SCORES:
        raise InputError(f"score={score!r}: choose {' or '.join(SCORES)}")
    if learned is None or rows is None:
        raise InputError("there are too many distinct rows to judge hidden states by; fit a sample of the rows")
    if score == BIC:
        return learned.log_likelihood - fitted.network.parameters / 2 * float(np.log(rows.weights.sum()))
    if rows.names:
        raise InputError(f'score={score!r} is for levels alone, and {rows.names[0]!r} is a number; choose "{BIC}"')
    learning = Learning(fitted.network, rows.codes, rows.weights, fitted.recipe.smoothing, fitted.recipe.ess)
    if not (learning.prior > 0).all():
        raise InputError(
            f'score={score!r} takes the pseudo-counts as its prior; pass smoothing above 0, or choose "{BIC}"'
        )
    tables = learning.inference.numbered.tables
    counts, _, likelihood = learning.expect(tables)
    complete = _dirichlet(counts, learning.prior, learning.row) - float(xlogy(counts, tables).sum())
    names = hidden_nodes(fitted.network, rows.codes)
    return likelihood + complete + sum(lgamma(fitted.network.sizes[n] + 1) for n in names)


def _dirichlet(counts: Float, prior: Float, row: Int) -> float:
    """log of the probability of counts, tables integrated out: a Dirichlet prior for each row of them."""
    whole, before = np.bincount(row, counts + prior), np.bincount(row, prior)
    cells = gammaln(counts + prior) - gammaln(prior)
    return float(cells.sum() + (gammaln(before) - gammaln(whole)).sum())
