"""Any row order, any split: the same network, by EM, by gradient and by structural EM; weights may be fractions."""

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk

ARCS = [("rain", "wet"), ("season", "rain"), ("season", "sprinkler"), ("sprinkler", "wet")]
HIDDEN = [("cause", name) for name in ("rain", "season", "sprinkler", "wet")]


def table(n=400, seed=3):
    """Text with missing values; every row occurs many times, with weights whose sums round."""
    rng = np.random.default_rng(seed)
    season = rng.integers(0, 3, n)
    rain = rng.random(n) < 0.2 + 0.3 * season / 2
    sprinkler = rng.random(n) < 0.6 - 0.25 * season
    wet = rng.random(n) < 0.1 + 0.4 * rain + 0.4 * sprinkler
    columns = {"season": np.array(["dry", "mild", "moist"])[season], "rain": rain, "sprinkler": sprinkler, "wet": wet}
    X = pd.DataFrame(columns).astype(str)
    return X.mask(rng.random(X.shape) < 0.15), rng.choice([0.1, 0.2, 0.3, 0.7, 1.1], n)


def learned(**settings):
    return lambda X, weight: bk.Network(ARCS).fit(X, sample_weight=weight, **settings)


NETWORKS = {
    "counts": learned(method="counts"),
    "EM": learned(method="em", iterations=25),
    "gradient": learned(method="gradient", iterations=10),
    "EM, a hidden node": lambda X, weight: bk.Network(HIDDEN, states={"cause": 2}).fit(
        X, method="em", sample_weight=weight, restarts=2, iterations=25
    ),
    "structural EM": lambda X, weight: bk.learn_network(X, sample_weight=weight),
    "structural EM, tabu": lambda X, weight: bk.learn_network(X, score="loo", search="tabu", sample_weight=weight),
}


def told(network):
    """What makes two networks the same, the score reached by a search too."""
    return network.digest, network.edges, network.search_


@pytest.fixture(scope="module", params=NETWORKS)
def make(request):
    return NETWORKS[request.param]


@pytest.mark.filterwarnings("ignore:.*converged")
def test_rows_in_any_order(make):
    X, weight = table()
    wanted = told(make(X, weight))
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(X))
        assert told(make(X.iloc[order], weight[order])) == wanted


@pytest.mark.filterwarnings("ignore:.*converged")
def test_rows_in_several_files(make, tmp_path):
    X, weight = table()
    for part, rows in enumerate(np.array_split(np.random.default_rng(1).permutation(len(X)), 4)):
        X.iloc[rows].assign(w=weight[rows]).to_parquet(tmp_path / f"{part}.parquet", index=False)
    assert told(make(str(tmp_path / "*.parquet"), "w")) == told(make(X, weight))


@pytest.mark.filterwarnings("ignore:.*converged")
def test_a_weight_is_a_repetition(make):
    X, weight = table()
    times = np.rint(10 * weight).astype(int)
    rows = np.repeat(np.arange(len(X)), times)
    assert told(make(X, times)) == told(make(X.iloc[rows], None))


def test_rows_learned_and_forgotten_leave_no_trace(tmp_path):
    """Weights are added without rounding, also those of a file."""
    X, weight = table()
    some = np.arange(len(X)) < 150
    network = bk.Network(ARCS).fit(X, method="em", sample_weight=weight, iterations=5, tolerance=1e-3)
    network.save(tmp_path / "n.bayes")
    again = bk.load(tmp_path / "n.bayes").partial_fit(X[some], weight[some]).forget(X[some], weight[some])
    rows, left = network.fitted.rows, again.fitted.rows
    assert np.array_equal(rows.codes, left.codes)
    assert (rows.mass - left.mass).nonzero().sum() == 0
