"""The panel of a network in a real browser: its answers are those of a sum over all states, and of ``Network``."""

import json
from itertools import product

import numpy as np
import pytest
from playwright.sync_api import expect
from scipy.stats import multivariate_normal, norm

import bayeskit as bk
from bayeskit.networks.hybrid import HybridInference
from bayeskit.networks.influence import influences
from browser import AUDIT, Panel, chromium

ASK = """(asked) => {
  const ask = networkBeliefs(JSON.parse(document.getElementById("tables").textContent));
  return asked.map((evidence) => {
    const found = ask(evidence);
    return [found.log, found.nodes.map((n) => n.p ? [...n.p]
      : [mixture.mean(n), mixture.deviation(n), mixture.quantile(n, 0.9), mixture.density(n, mixture.mean(n) + 0.1)])];
  });
}"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


def show(browser, network, path, width=1280, scheme="light"):
    path.write_text(network.panel().html, encoding="utf-8")
    return Panel(browser, path, width, scheme)


def asked(network, evidence):
    """Evidence as the page holds it."""
    value = network.network_
    return [
        None if n not in evidence else evidence[n] if n in value.normals else value.states(n).index(evidence[n])
        for n in value.nodes
    ]


def hybrid():
    """Two levels with numbers below them; y hangs on x and both levels, z on y alone."""
    line = lambda a, b, s: {"intercept": a, "slopes": b, "deviation": s}  # noqa: E731
    tables = {
        "a": {"no": 0.7, "yes": 0.3},
        "b": {"no": {"low": 0.6, "mid": 0.3, "high": 0.1}, "yes": {"low": 0.1, "mid": 0.2, "high": 0.7}},
        "x": {"no": line(1.0, {}, 0.5), "yes": line(3.0, {}, 1.5)},
        "y": {
            (s, t): line(i - j, {"x": 0.5 * i + j}, 0.4 + 0.2 * j)
            for i, s in enumerate(("no", "yes"))
            for j, t in enumerate(("low", "mid", "high"))
        },
        "z": line(-2.0, {"y": 1e3}, 50.0),
    }
    return bk.Network([("a", "b"), ("a", "x"), ("a", "y"), ("b", "y"), ("x", "y"), ("y", "z")], tables)


def normals_of(network):
    """P(a, b) and the joint normal of x, y, z in every configuration, from the definition."""
    parts = []
    for (i, s), (j, t) in product(enumerate(("no", "yes")), enumerate(("low", "mid", "high"))):
        p = [0.7, 0.3][i] * [[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]][i][j]
        slope, noise = 0.5 * i + j, np.array([[0.5, 1.5][i], 0.4 + 0.2 * j, 50.0])
        mix = np.array([[1, 0, 0], [slope, 1, 0], [1e3 * slope, 1e3, 1]])
        mean = mix @ np.array([[1.0, 3.0][i], i - j, -2.0])
        parts.append(((s, t), p, mean, mix @ np.diag(noise**2) @ mix.T))
    return parts


@pytest.mark.parametrize("evidence", [{}, {"z": 1500.0}, {"b": "mid", "x": 2.0}, {"a": "yes", "z": -900.0, "x": 9.0}])
def test_levels_and_numbers_are_those_of_scipys_normals(browser, tmp_path, evidence):
    network, names = hybrid(), ("x", "y", "z")
    panel = show(browser, network, tmp_path / "hybrid.html")
    (log, found), *_ = panel.page.evaluate(ASK, [asked(network, evidence)])
    seen = [j for j, n in enumerate(names) if n in evidence]
    hidden = [j for j in range(3) if j not in seen]
    values = np.array([evidence[names[j]] for j in seen])
    weights, middles, spreads, states = [], [], [], []
    for (s, t), p, mean, cov in normals_of(network):
        fits = evidence.get("a", s) == s and evidence.get("b", t) == t
        inner = cov[np.ix_(seen, seen)]
        density = multivariate_normal.pdf(values, mean[seen], inner) if seen else 1.0
        gain = cov[np.ix_(hidden, seen)] @ np.linalg.inv(inner) if seen else np.zeros((len(hidden), 0))
        weights.append(p * density * fits)
        middles.append(mean[hidden] + gain @ (values - mean[seen]))
        spreads.append(np.sqrt(np.diag(cov[np.ix_(hidden, hidden)] - gain @ cov[np.ix_(seen, hidden)])))
        states.append((s, t))
    weights = np.array(weights)
    assert log == pytest.approx(np.log(weights.sum()), abs=1e-9)
    weights /= weights.sum()
    for v, levels in enumerate((("no", "yes"), ("low", "mid", "high"))):
        expected = [weights[[pair[v] == level for pair in states]].sum() for level in levels]
        assert found[v] == pytest.approx(expected, abs=1e-9)
    for k, j in enumerate(hidden):
        m, s = np.array(middles)[:, k], np.array(spreads)[:, k]
        mean = weights @ m
        deviation = np.sqrt(weights @ (s**2 + (m - mean) ** 2))
        assert found[2 + j][:2] == pytest.approx([mean, deviation], rel=1e-9)
        assert weights @ norm.cdf(found[2 + j][2], m, s) == pytest.approx(0.9, abs=1e-9)
        assert found[2 + j][3] == pytest.approx(weights @ norm.pdf(mean + 0.1, m, s), rel=1e-9)
    assert panel.complaints == []
    panel.page.close()


def large(rng, levels=26, numbers=8):
    """Nodes with up to three parents among the ten before them, tables with zeros among them, and numbers below."""
    edges, tables = [], {}
    for i in range(levels):
        parents = rng.choice(np.arange(max(i - 10, 0), i), min(i, int(rng.integers(4))), replace=False)
        edges += [(f"n{p}", f"n{i}") for p in parents]
        sizes = [len(np.atleast_1d(tables[f"n{p}"][(0,) * (np.ndim(tables[f"n{p}"]) - 1)])) for p in parents]
        table = rng.dirichlet(np.full(int(rng.integers(2, 5)), 0.6), size=sizes)
        table[table < 0.02] = 0.0
        tables[f"n{i}"] = table / table.sum(axis=-1, keepdims=True)
    for i in range(numbers):
        level = int(rng.integers(levels))
        edges += [(f"n{level}", f"x{i}")] + [(f"x{p}", f"x{i}") for p in {i - 1, i - 3} if p >= 0]
        slopes = {f"x{p}": float(rng.normal()) for p in {i - 1, i - 3} if p >= 0}
        states = tables[f"n{level}"].shape[-1]
        tables[f"x{i}"] = {
            s: {"intercept": float(rng.normal(0, 3)), "slopes": slopes, "deviation": float(rng.uniform(0.2, 2))}
            for s in range(states)
        }
    return bk.Network(edges, tables)


@pytest.mark.parametrize("numbers", [0, 8])
def test_a_network_of_dozens_of_nodes_agrees_with_python(browser, tmp_path, numbers):
    rng = np.random.default_rng(3)
    network = large(rng, numbers=numbers)
    panel = show(browser, network, tmp_path / "large.html")
    drawn = network.sample(6, random_state=1)
    cases = [
        {str(n): drawn[n][i].item() for n in rng.choice(network.nodes, 3 * i, replace=False)}
        for i in range(len(drawn["n0"]))
    ]
    for case, (log, found) in zip(
        cases, panel.page.evaluate(ASK, [asked(network, case) for case in cases]), strict=True
    ):
        expected = network.marginals(case)
        assert np.isfinite(log)
        for node, mine in zip(network.nodes, found, strict=True):
            theirs = expected[node]
            if isinstance(theirs, dict):
                assert mine == pytest.approx(list(theirs.values()), abs=1e-9)
            else:
                assert mine[:2] == pytest.approx([theirs.mean, theirs.deviation], rel=1e-9, abs=1e-9)
    assert panel.complaints == []
    panel.page.close()


def test_states_sliders_fields_and_the_code_follow_each_other(browser, tmp_path):
    network = hybrid()
    panel = show(browser, network, tmp_path / "hybrid.html")
    page, card = panel.page, lambda name: panel.page.locator(f"#node-{network.nodes.index(name)}")
    expect(page.locator("#evidence")).to_have_text("No evidence is set.")
    state = card("a").get_by_role("button", name="yes")
    state.focus()
    page.keyboard.press("Enter")
    expect(state).to_have_attribute("aria-pressed", "true")
    page.get_by_label("z, as a number", exact=True).fill("1500")
    said = card("y").locator(".said")
    expected = network.query("y", {"a": "yes", "z": 1500.0})
    assert float(said.get_attribute("data-mean")) == pytest.approx(expected.mean, rel=1e-12)
    assert page.inner_text("#python") == "network.marginals({'a': 'yes', 'z': 1500.0})"
    page.get_by_label("In Python, of").select_option(label="b")
    assert eval(page.inner_text("#python"), {"network": network}) == network.query("b", {"a": "yes", "z": 1500.0})
    page.get_by_label("x", exact=True).focus()
    page.keyboard.press("ArrowRight")
    x = float(page.get_by_label("x, as a number", exact=True).input_value())
    assert f"'x': {x}" in page.inner_text("#python")
    page.get_by_label("x is not known", exact=True).click()
    assert "'x'" not in page.inner_text("#python")
    state.click()
    expect(state).to_have_attribute("aria-pressed", "false")
    page.get_by_role("button", name="Clear the evidence").click()
    expect(page.locator("#evidence")).to_have_text("No evidence is set.")
    assert page.get_by_label("z, as a number", exact=True).input_value() == ""
    assert panel.complaints == []
    page.close()


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_sliders_have_steps_of_any_size(browser, tmp_path, scale):
    network = bk.Network([], {"x": {"intercept": 3 * scale, "deviation": scale}})
    panel = show(browser, network, tmp_path / "tiny.html")
    panel.page.get_by_label("x", exact=True).focus()
    panel.page.keyboard.press("ArrowRight")
    x = float(panel.page.get_by_label("x, as a number", exact=True).input_value())
    assert x == pytest.approx((3 + 8 / 400) * scale, rel=1e-9)
    assert eval(panel.page.inner_text("#python"), {"network": network})["x"].mean == x
    assert panel.complaints == []
    panel.page.close()


def test_a_dragged_node_stays_where_it_is_put(browser, tmp_path):
    panel = show(browser, hybrid(), tmp_path / "hybrid.html")
    page = panel.page
    place = lambda v: page.locator(f"#node-{v}").evaluate("e => [e.offsetLeft, e.offsetTop]")  # noqa: E731
    before, other, arc = place(0), place(1), page.locator(".arc").first.get_attribute("d")
    box = page.locator("#node-0").bounding_box()
    page.mouse.move(box["x"] + 40, box["y"] + 12)
    page.mouse.down()
    page.mouse.move(box["x"] + 160, box["y"] + 52, steps=4)
    page.mouse.up()
    after = place(0)
    assert np.subtract(after, before) == pytest.approx([120, 40], abs=1)
    assert place(1) == other
    assert page.locator(".arc").first.get_attribute("d") != arc
    page.reload()
    assert place(0) == pytest.approx(after, abs=1)
    page.get_by_label("Move a", exact=True).press("ArrowLeft")
    assert place(0)[0] < after[0]
    page.get_by_role("button", name="Arrange again").click()
    assert place(0) == pytest.approx(before, abs=1)
    assert page.locator(".arc").first.get_attribute("d") == arc
    assert panel.complaints == []
    page.close()


def test_what_a_page_cannot_compute_is_refused_by_name(browser, tmp_path):
    """A number below thirteen levels: 8,192 configurations; one of them observed leaves 4,096."""
    parents = [f"p{i}" for i in range(13)]
    given = {s: {"intercept": sum(s), "deviation": 1.0} for s in product((0, 1), repeat=13)}
    tables = {p: [0.5, 0.5] for p in parents} | {"x": given}
    network = bk.Network([(p, "x") for p in parents], tables)
    panel = show(browser, network, tmp_path / "wide.html")
    said = panel.page.locator("#node-1 .said")
    expect(said).to_contain_text("x: 8,192 configurations of p0, p1, p2, p3, p4, …, too many for this page")
    panel.page.get_by_label("x, as a number", exact=True).fill("6.5")
    expect(panel.page.locator("#evidence")).to_contain_text("x: 8,192 configurations of p0")
    panel.page.get_by_label("x is not known", exact=True).click()
    panel.page.locator("#node-0 .state").nth(1).click()
    assert float(said.get_attribute("data-mean")) == pytest.approx(1 + 12 / 2, rel=1e-12)
    assert panel.complaints == []
    panel.page.close()


def test_impossible_evidence_says_so(browser, tmp_path):
    network = bk.Network([("a", "b")], {"a": [0.5, 0.5], "b": [[1.0, 0.0], [0.5, 0.5]]})
    panel = show(browser, network, tmp_path / "sure.html")
    panel.page.locator("#node-0 .state").nth(0).click()
    panel.page.locator("#node-1 .state").nth(1).click()
    expect(panel.page.locator("#evidence")).to_have_text("This evidence is impossible.")
    panel.page.locator("#node-0 .state").nth(0).click()
    expect(panel.page.locator("#evidence")).to_contain_text("Probability of the evidence: 0.25.")
    panel.page.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_names_contrast_and_focus(browser, tmp_path, width, scheme):
    network = hybrid()
    bk.report(network, tmp_path / "hybrid.html")
    panel = Panel(browser, tmp_path / "hybrid.html", width, scheme)
    panel.page.locator("#node-1 .state").nth(2).click()
    panel.page.get_by_label("x, as a number", exact=True).fill("2.5")
    panel.page.wait_for_timeout(250)  # bars and borders have come to rest
    assert panel.page.evaluate(AUDIT) == []
    assert panel.page.evaluate("document.documentElement.scrollWidth") <= width
    assert panel.complaints == []
    panel.page.close()


def test_names_of_a_user_are_text(browser, tmp_path):
    nasty = "</script><img src=x onerror=alert(1)>"
    network = bk.Network([(nasty, "b")], {nasty: {"'": 0.5, '"': 0.5}, "b": {"'": {"x": 1.0}, '"': {"x": 1.0}}})
    panel = show(browser, network, tmp_path / "nasty.html")
    panel.page.locator("#node-0 .state").nth(0).click()
    assert panel.page.inner_text("#python") == f"network.marginals({{{nasty!r}: {chr(39)!r}}})"
    assert panel.page.locator("img").count() == 0
    assert panel.complaints == []
    panel.page.close()


def test_influence_is_the_share_of_what_is_uncertain():
    """By hand: H(wet) less H(wet | rain), and the variance of a mean over that of the whole."""
    found = influences(HybridInference(hybrid().network_))
    p = np.array([[0.7 * 0.6, 0.7 * 0.3, 0.7 * 0.1], [0.3 * 0.1, 0.3 * 0.2, 0.3 * 0.7]])
    b = p.sum(axis=0)
    mutual = (p * np.log(p / np.outer([0.7, 0.3], b))).sum()
    assert found["a", "b"] == pytest.approx(mutual / -(b * np.log(b)).sum(), rel=1e-12)
    assert found["a", "x"] == pytest.approx(0.21 * 4 / (0.21 * 4 + 0.7 * 0.25 + 0.3 * 2.25), rel=1e-12)
    parts = normals_of(None)
    weights, variances = np.array([p for _, p, _, _ in parts]), np.array([c[1, 1] for *_, c in parts])
    means = np.array([m[1] for _, _, m, _ in parts])
    y = weights @ (variances + (means - weights @ means) ** 2)
    assert found["y", "z"] == pytest.approx(1e6 * y / (1e6 * y + 2500), rel=1e-12)


def test_a_panel_takes_no_rows_and_a_network_needs_tables():
    with pytest.raises(bk.errors.InputError, match="takes no rows"):
        bk.panel(hybrid(), {"a": ["no"]})
    with pytest.raises(Exception, match="no tables yet"):
        bk.Network([("a", "b")]).panel()
    assert json.loads(json.dumps(hybrid().panel()._repr_html_())).startswith("<iframe")
