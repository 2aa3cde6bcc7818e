"""Hidden nodes: how many states, in which order, against enumeration and formulas written out here."""

from itertools import product
from math import lgamma

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln, logsumexp

import bayeskit as bk
from bayeskit.networks.hidden import score_hidden


def star(rows, states, **settings):
    return bk.Network([("h", name) for name in rows], states={"h": states}).fit(rows, method="em", **settings)


def dirichlet(counts, alpha=1.0):
    """log p of counts of one line of a table, its probabilities integrated out."""
    counts = np.asarray(counts, dtype=float)
    return (
        lgamma(alpha * len(counts))
        - lgamma(alpha * len(counts) + counts.sum())
        + float((gammaln(alpha + counts) - lgamma(alpha)).sum())
    )


def groups(n, k, seed=0, columns=5):
    """Rows of k groups that differ in every column."""
    rng = np.random.default_rng(seed)
    tables = rng.dirichlet(np.full(3, 0.5), size=(columns, k))
    group = rng.choice(k, n, p=np.arange(2, k + 2) / np.arange(2, k + 2).sum())
    draw = {f"x{j}": [f"s{rng.choice(3, p=tables[j, g])}" for g in group] for j in range(columns)}
    return pd.DataFrame(draw)


@pytest.mark.parametrize("method", ["em", "gradient"])
def test_states_stand_in_one_order_wherever_the_climb_began(method):
    """The order is that of the probabilities, and the distribution of the columns is that of the tables before it."""
    rows = groups(1500, 3)
    nets = [
        bk.Network([("h", name) for name in rows], states={"h": 3}).fit(
            rows, method, random_state=seed, restarts=3, tolerance=1e-9
        )
        for seed in (1, 2, 3)
    ]
    for net in nets:
        shares = list(net.query("h").values())
        assert shares == sorted(shares, reverse=True)
        assert net.log_likelihood(rows) == pytest.approx(net.learned_.log_likelihood, rel=1e-12)
        assert max(net.learned_.climbs) == pytest.approx(net.learned_.path[-1], rel=1e-12)
        assert len(net.learned_.climbs) == 3
        for name in rows:
            expected = nets[0].table(name).probabilities
            assert net.table(name).probabilities == pytest.approx(expected, abs=0.01)


def test_numbers_below_a_hidden_level_follow_its_order():
    """Two normals, the larger group at 4 with the deviation 0.5; a number between hangs on it with another slope."""
    rng = np.random.default_rng(8)
    first = rng.random(2000) < 0.7
    x = np.where(first, rng.normal(4, 0.5, 2000), rng.normal(0, 1.5, 2000))
    y = np.where(first, 2 * x, -x) + rng.normal(0, 0.3, 2000)
    net = bk.Network([("k", "x"), ("k", "y"), ("x", "y")], states={"k": 2})
    for seed in (1, 2):
        net.fit({"x": x, "y": y}, "em", smoothing=0.1, random_state=seed)
        assert net.table("x").mean == pytest.approx([4, 0], abs=0.25)
        assert net.table("x").deviation == pytest.approx([0.5, 1.5], abs=0.2)
        assert net.table("y").slopes[:, 0] == pytest.approx([2, -1], abs=0.1)
        assert net.query("k")[0] == pytest.approx(0.7, abs=0.04)


@pytest.mark.parametrize("states", [1, 2, 3])
def test_cheeseman_and_stutz_by_hand(states):
    """log p(N) + log p(rows) - log p(N | tables), from counts expected row by row; exact where nothing is hidden."""
    rows = groups(60, 2)
    net = star(rows, states, random_state=4)
    prior = net.table("h").probabilities
    tables = [net.table(name).probabilities for name in rows]
    codes = np.array([[net.states(name).index(v) for v in rows[name]] for name in rows])
    joint = np.log(prior) + sum(np.log(t[:, c]).T for t, c in zip(tables, codes, strict=True))
    logs = logsumexp(joint, axis=1)
    posterior = np.exp(joint - logs[:, None])
    score = logs.sum() + lgamma(states + 1) + dirichlet(posterior.sum(axis=0))
    score -= float(posterior.sum(axis=0) @ np.log(prior))
    for table, code in zip(tables, codes, strict=True):
        counts = np.array([[posterior[code == v, h].sum() for v in range(table.shape[1])] for h in range(states)])
        score += sum(dirichlet(line) for line in counts) - float((counts * np.log(table)).sum())
    assert score_hidden(net.fitted, "cheeseman-stutz") == pytest.approx(score, rel=1e-9)
    if states == 1:
        exact = sum(dirichlet(rows[name].value_counts()) for name in rows)
        assert score == pytest.approx(exact, rel=1e-9)


def test_cheeseman_and_stutz_is_near_the_sum_over_all_completions():
    """Ten rows of three columns, a hidden node of two states: 1,024 completions, each with its Dirichlet integrals."""
    rows = pd.DataFrame({name: list("ttttttffff") for name in ("a", "b", "c")})
    rows.loc[0, "a"] = "f"
    net = star(rows, 2)
    codes = np.array([[net.states(name).index(v) for v in rows[name]] for name in rows])
    logs = []
    for hidden in product((0, 1), repeat=10):
        h = np.array(hidden)
        total = dirichlet(np.bincount(h, minlength=2))
        for column in codes:
            total += sum(dirichlet(np.bincount(column[h == s], minlength=2)) for s in (0, 1))
        logs.append(total)
    assert score_hidden(net.fitted, "cheeseman-stutz") == pytest.approx(logsumexp(logs), abs=1.0)


def test_the_number_of_states_is_found_and_ends_where_more_do_not_help():
    rows = groups(1200, 3)
    net = bk.Network([("h", name) for name in rows])
    for score in ("bic", "cheeseman-stutz"):
        choice = net.choose_states(rows, "h", score=score, settings={"random_state": 1})
        assert choice.best == 3
        assert list(choice.scores) == [1, 2, 3, 4, 5]
        assert choice.network.states("h") == (0, 1, 2)
        assert choice.frame("pandas")["score"].idxmax() == 2
    one = sum(np.log(rows[name].map((rows[name].value_counts() + 1) / 1203)).sum() for name in rows)
    bic = net.choose_states(rows, "h", most=1).scores[1]
    assert bic == pytest.approx(one - 10 / 2 * np.log(1200), rel=1e-9)
    assert "5 states" not in repr(choice)


def test_what_cannot_be_chosen_is_refused_by_name():
    rows = groups(100, 2)
    net = bk.Network([("h", name) for name in rows])
    numbers = bk.Network([("h", "x"), ("h", "y")])
    normal = {"x": np.random.default_rng(0).normal(size=50), "y": np.arange(50.0) ** 2}
    with pytest.raises(ValueError, match="choose bic or cheeseman-stutz"):
        net.choose_states(rows, "h", score="aic")
    with pytest.raises(ValueError, match="no node is named 'g'"):
        net.choose_states(rows, "g")
    with pytest.raises(ValueError, match="'x0' has a column, so it is not hidden"):
        bk.Network([("x1", "x0")]).choose_states(rows[["x0", "x1"]], "x0")
    with pytest.raises(ValueError, match="largest number of states"):
        net.choose_states(rows, "h", most=0)
    with pytest.raises(ValueError, match="'x' is a number; choose \"bic\""):
        numbers.choose_states(normal, "h", score="cheeseman-stutz")
    with pytest.raises(ValueError, match="pass smoothing above 0"):
        net.choose_states(rows, "h", score="cheeseman-stutz", settings={"smoothing": 0})
