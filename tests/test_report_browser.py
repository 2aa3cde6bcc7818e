"""The report in a real browser: what it shows is what Python says, and it does nothing else."""

import re

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect
from scipy.stats import norm

import bayeskit as bk
from browser import AUDIT, Panel, chromium

COSTS = {"ill": {"treat": 1.0, "wait": 50.0}, "well": {"treat": 5.0, "wait": 0.0}}
NAMES = {"similar rows": "(neighbours)", "kept from being certain": "(back-off)"}
NASTY = "</script><img src=x onerror=alert(1)>"


def patients(n=160):
    rng = np.random.default_rng(7)
    ill = rng.random(n) < 0.45
    table = pd.DataFrame(
        {
            "age": rng.normal(50 + 8 * ill, 12).round(1),
            "sugar": rng.gamma(20 + 6 * ill, 5.0).round(2),
            "visits": rng.poisson(2 + 2 * ill),
            "smoker": np.where(rng.random(n) < 0.3 + 0.3 * ill, "yes", "no"),
            "region": np.array(["north", "south", "east"])[(ill + rng.integers(0, 2, n)) % 3],
        }
    )
    table.loc[5:20, "age"] = np.nan
    table.loc[15:30, "region"] = None
    return table, np.where(ill, "ill", "well")


def by_hand(table, labels, prior=None, **row):
    """P(ill | row) of naive Bayes: normal densities with ddof 0, Laplace's correction, missing values left out."""
    joint = []
    for c in ("ill", "well"):
        mine = table[labels == c]
        p = len(mine) / len(table) if prior is None else prior[c]
        for name, value in row.items():
            known = mine[name].dropna()
            if isinstance(value, str):
                p *= ((known == value).sum() + 1) / (len(known) + table[name].nunique())
            else:
                p *= norm.pdf(value, known.mean(), known.std(ddof=0))
        joint.append(p)
    return joint[0] / sum(joint)


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def rows():
    return patients()


@pytest.fixture(scope="module")
def naive(rows, folder):
    return bk.report(bk.evaluate(bk.NaiveBayes(), *rows, costs=COSTS), folder / "naive.html", rows=True)


@pytest.fixture
def panel(browser, naive):
    opened = Panel(browser, naive)
    yield opened
    assert opened.complaints == []
    opened.page.close()


def settle(panel, values):
    for name, value in values.items():
        if isinstance(value, str):
            panel.question(name).select_option(label=value)
        else:
            panel.number(name, value)


def test_values_give_the_posterior(panel, rows):
    row = {"age": 61.25, "sugar": 131.5, "visits": 4, "smoker": "yes", "region": "south"}
    settle(panel, row)
    assert panel.posterior()[0] == pytest.approx(by_hand(*rows, **row), abs=1e-6)


def test_missing_values_are_left_out(panel, rows):
    settle(panel, {"sugar": 90.5, "visits": 1, "smoker": "no"})
    panel.missing("age")
    panel.question("region").select_option(label="(missing)")
    assert panel.posterior()[0] == pytest.approx(by_hand(*rows, sugar=90.5, visits=1, smoker="no"), abs=1e-6)


def test_all_missing_is_the_prior(panel, rows):
    panel.page.get_by_role("button", name="All missing").click()
    assert panel.posterior()[0] == pytest.approx((rows[1] == "ill").mean(), abs=1e-9)


def test_slider_by_keyboard(panel, rows):
    panel.page.get_by_role("button", name="All missing").click()
    panel.page.get_by_label("age is missing", exact=True).focus()
    panel.page.keyboard.press("Space")  # known again
    panel.question("age").focus()
    for _ in range(7):
        panel.page.keyboard.press("ArrowRight")
    value = float(panel.page.get_by_label("age, as a number", exact=True).input_value())
    assert value > np.nanmedian(rows[0]["age"])
    assert panel.posterior()[0] == pytest.approx(by_hand(*rows, age=value), abs=1e-6)


def test_prior_moves_and_the_others_follow(panel, rows):
    settle(panel, {"age": 50.0, "sugar": 120.0, "visits": 3, "smoker": "no", "region": "east"})
    slider = panel.question("ill").first
    slider.fill("0.25")
    shown = [float(o.get_attribute("data-p")) for o in panel.page.query_selector_all(".priors output")]
    assert shown == pytest.approx([0.25, 0.75])
    row = {"age": 50.0, "sugar": 120.0, "visits": 3, "smoker": "no", "region": "east"}
    wanted = by_hand(*rows, prior={"ill": 0.25, "well": 0.75}, **row)
    assert panel.posterior()[0] == pytest.approx(wanted, abs=1e-6)


def test_cost_changes_the_action(panel):
    settle(panel, {"age": 50.0, "sugar": 118.0, "visits": 2})
    verdict = panel.page.locator("#verdict")
    assert verdict.get_attribute("data-action") == "treat"
    panel.page.get_by_label("Cost of wait if truly ill", exact=True).fill("2")
    p = panel.posterior()[0]
    treat, wait = p * 1 + (1 - p) * 5, p * 2
    assert verdict.get_attribute("data-action") == ("treat" if treat <= wait else "wait") == "wait"
    assert float(verdict.get_attribute("data-cost")) == pytest.approx(wait)


def test_steps_add_up_to_the_odds(panel):
    settle(panel, {"age": 61.0, "visits": 5})
    panel.page.select_option("#explained", label="ill")
    steps = [float(t.replace("−", "-")) for t in panel.page.locator(".answer .fall .n").all_inner_texts()]
    p = panel.posterior()[0]
    assert steps[-1] == pytest.approx(np.log2(p / (1 - p)), abs=0.006)
    assert sum(steps[:-1]) == pytest.approx(steps[-1], abs=0.006 * len(steps))


def test_keyboard_reaches_every_control(panel):
    reached = set()
    for _ in range(80):
        panel.page.keyboard.press("Tab")
        reached.add(
            panel.page.evaluate("document.activeElement.id || document.activeElement.getAttribute('aria-label')")
        )
    wanted = {"q0", "q1", "q2", "q3", "q4", "m0", "p0", "p1", "c0-0", "c1-1", "explained", "age, as a number"}
    assert wanted <= reached


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1400, "light")])
def test_fits_the_width(browser, naive, width, scheme):
    panel = Panel(browser, naive, width, scheme)
    assert panel.page.evaluate("document.documentElement.scrollWidth") <= width
    assert panel.complaints == []
    panel.page.close()


def test_contrast_of_text(browser, naive):
    """WCAG AA: at least 4.5 to 1 for every colour of text on the backgrounds it stands on."""
    for scheme in ("light", "dark"):
        panel = Panel(browser, naive, 1000, scheme)
        colours = panel.page.evaluate(
            "['ink','soft','accent','warm','page','raised'].map(n => { const e = document.createElement('i');"
            "e.style.color = `var(--${n})`; document.body.append(e); return getComputedStyle(e).color; })"
        )
        ink, soft, accent, warm, page, raised = (_luminance(c) for c in colours)
        for text in (ink, soft, accent):
            for ground in (page, raised):
                assert (max(text, ground) + 0.05) / (min(text, ground) + 0.05) >= 4.5
        assert (max(warm, page) + 0.05) / (min(warm, page) + 0.05) >= 3.0  # of a mark
        panel.page.close()


def _luminance(colour):
    parts = [int(c) / 255 for c in colour[4:-1].split(",")]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def test_every_control_has_a_name_and_headings_are_in_order(panel):
    nameless = panel.page.evaluate(
        "[...document.querySelectorAll('input,select,button')].filter(e => !(e.labels && e.labels.length)"
        " && !e.getAttribute('aria-label') && !e.textContent.trim()).length"
    )
    levels = panel.page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(h => Number(h.tagName[1]))")
    assert nameless == 0
    assert levels[0] == 1
    assert max(np.diff(levels)) <= 1


@pytest.mark.parametrize(
    "model",
    [
        bk.TAN(),
        bk.KDB(missing="level"),
        bk.AODE(),
        bk.AJE(),
        bk.AJE(weights=None, sets=5),
        bk.NaiveBayes(families={"age": bk.families.Kernel(), "sugar": bk.families.Histogram()}),
        bk.NaiveBayes(families={"sugar": bk.families.Gamma(), "visits": bk.families.NegativeBinomial()}),
        bk.NaiveBayes(weights="fitted", missing="level"),
        bk.Calibrated(bk.NaiveBayes()),
        bk.Calibrated(bk.NaiveBayes(), "sigmoid"),
        bk.NaiveBayes(families="auto"),
        bk.FullBayes(),
        bk.FullBayes(covariance="tied", smoothing="auto"),
        bk.FullBayes(missing="level"),
        bk.KNNBayes(metric="gower", k=7),
        bk.KNNBayes(metric="gower", k=9, scale="mutual_information", weights="epanechnikov", pseudo=1.0),
        bk.RiskClassifier(bk.TAN(), COSTS),
        bk.ProbabilityForest(trees=30, missing="level"),
        bk.BoostedTrees(trees=30),
        bk.AutoBayes(),
    ],
    ids=[
        *(
            "tree",
            "two parents",
            "averaged",
            "sets",
            "plain sets",
            "kernels and pieces",
            "formulas",
            "weights",
            "temperature",
            "sigmoid",
        ),
        *(
            "families",
            "normal",
            "tied",
            "corrected naive",
            "neighbours",
            "weighted neighbours",
            "risk",
            "forest",
            "boosted",
            "pool",
        ),
    ],
)
def test_page_agrees_with_python(browser, folder, rows, model):
    table, labels = rows
    evaluation = bk.evaluate(model, table, labels, bk.Holdout(0.5))
    panel = Panel(browser, bk.report(evaluation, folder / "other.html", rows=True))
    for number in (3, 17, 40):
        row = table.iloc[[number]]
        for name, value in row.iloc[0].items():
            if isinstance(value, str):
                panel.question(name).select_option(label=value)
            elif name == "region":
                panel.question(name).select_option(label="(missing)")
            elif pd.isna(value):
                panel.missing(name)
            else:
                panel.page.get_by_label(f"{name} is missing", exact=True).uncheck()
                panel.number(name, value)
        assert panel.posterior() == pytest.approx(evaluation.model.predict_proba(row)[0].tolist(), abs=1e-6)
    assert panel.complaints == []
    panel.page.close()


@pytest.mark.parametrize(
    "model",
    [bk.TAN(penalty=None), bk.KDB(penalty=None), bk.TAN(penalty=None, weights="fitted"), bk.NetworkBayes()],
    ids=["tree", "two parents", "weights", "network"],
)
def test_page_sums_missing_values_out(browser, folder, rows, model):
    table, labels = rows
    evaluation = bk.evaluate(model, table, labels, bk.Holdout(0.5))
    panel = Panel(browser, bk.report(evaluation, folder / "summed.html"))
    row = {"age": 61.0, "sugar": 131.5, "visits": 4, "smoker": "yes", "region": "south"}
    settle(panel, row)
    for name in ("smoker", "age", "sugar", "region"):  # one hole more each time
        row[name] = None if isinstance(row[name], str) else np.nan
        if name in ("smoker", "region"):
            panel.question(name).select_option(label="(missing)")
        else:
            panel.missing(name)
        wanted = evaluation.model.predict_proba(pd.DataFrame([row]))[0]
        assert panel.posterior() == pytest.approx(wanted.tolist(), abs=1e-6)
    assert panel.complaints == []
    panel.page.close()


@pytest.fixture(scope="module")
def pool(rows, folder):
    table, labels = rows
    evaluation = bk.evaluate(bk.AutoBayes(), table, labels, bk.Holdout(0.5), costs=COSTS)
    return evaluation, bk.report(evaluation, folder / "pool.html", rows=True)


def test_the_steps_of_a_pool_are_those_of_its_explanation(browser, pool, rows):
    evaluation, path = pool
    panel = Panel(browser, path)
    row = {"age": 61.0, "sugar": 131.5, "visits": 5, "smoker": "yes", "region": "south"}
    settle(panel, row)
    panel.page.select_option("#explained", label="ill")
    told = evaluation.model.explain(pd.DataFrame([row]))
    bits = dict(zip(("prior", *told.parts), told.evidence(0, "ill", unit="bits"), strict=True))
    shown = panel.page.locator(".answer .fall li").all()[:-1]
    found = {
        s.locator(".name > span, .name").first.inner_text().split()[0]: s.locator(".n").inner_text() for s in shown
    }
    for name, text in found.items():
        wanted = bits.get(NAMES.get(name, name))
        if wanted is not None:  # but "2 other columns"
            assert float(text.replace("−", "-")) == pytest.approx(wanted, abs=0.006)
    assert {"age", "sugar", "visits", "smoker"} <= set(found)
    assert panel.complaints == []
    panel.page.close()


@pytest.fixture(scope="module")
def trees(rows, folder):
    evaluation = bk.evaluate(bk.ProbabilityForest(trees=30), *rows, bk.Holdout(0.5))
    return evaluation, bk.report(evaluation, folder / "trees.html", rows=True)


@pytest.mark.parametrize("which", ["pool", "trees"])
def test_the_terms_of_a_pool_or_forest_are_those_of_python(browser, request, which, rows):
    evaluation, path = request.getfixturevalue(which)
    panel = Panel(browser, path)
    found = panel.page.evaluate("""async () => {
        const program = JSON.parse(document.getElementById("program").textContent);
        const model = modelOf(program, await unpack(program.numbers));
        return program.examples.map((example) => {
            example.values.forEach((v, j) => { model.values[j] = v; });
            return { row: example.row, parts: model.parts, ...model.terms() };
        });
    }""")
    assert found
    for page in found:
        told = evaluation.model.explain(rows[0].iloc[[page["row"] - 1]])
        terms = dict(zip(told.parts, told.terms[0].tolist(), strict=True))
        np.testing.assert_allclose(page["first"], told.prior, atol=1e-9)
        for part, row in zip(page["parts"], page["columnTerms"], strict=True):
            wanted = terms.get(NAMES.get(part, part), [0.0, 0.0])
            np.testing.assert_allclose(row, wanted, atol=1e-8)  # curves are packed
    panel.page.close()


def test_a_pool_by_keyboard_under_another_prior(browser, pool):
    evaluation, path = pool
    panel = Panel(browser, path, 390, "dark")
    panel.page.get_by_role("button", name="All missing").focus()
    panel.page.keyboard.press("Enter")
    panel.page.locator("#p0").focus()
    panel.page.keyboard.press("Home")
    for _ in range(3):
        panel.page.keyboard.press("PageUp")
    p = float(panel.page.query_selector_all(".priors output")[0].get_attribute("data-p"))
    assert 0 < p < 1
    empty = pd.DataFrame({n: pd.Series([None], dtype=t) for n, t in (
        ("age", "float64"), ("sugar", "float64"), ("visits", "float64"), ("smoker", "object"), ("region", "object")
    )})  # fmt: skip
    wanted = evaluation.model.predict_proba(empty, prior={"ill": p, "well": 1 - p})[0]
    assert panel.posterior() == pytest.approx(wanted.tolist(), abs=1e-6)
    assert panel.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert panel.complaints == []
    panel.page.close()


def test_a_hard_case_opens_with_both_figures(panel, rows):
    example = panel.page.locator("#example")
    example.select_option(index=1)
    number = int(re.search(r"row (\d+)", example.locator("option").nth(1).inner_text())[1])
    said = panel.page.inner_text("#about")
    told = re.search(
        r"Row (\d+) is truly (\w+), which had probability (\S+) by .* final model, which has: (\S+)\.$", said
    )
    evaluation = bk.evaluate(bk.NaiveBayes(), *rows)
    table, labels = rows
    k = ["ill", "well"].index(labels[number - 1])
    assert (int(told[1]), told[2]) == (number, labels[number - 1])
    assert float(told[3]) == pytest.approx(evaluation.proba[number - 1, k], abs=6e-5)
    final = evaluation.model.predict_proba(table.iloc[[number - 1]])[0, k]
    assert float(told[4]) == pytest.approx(final, abs=6e-5)
    assert panel.posterior()[k] == pytest.approx(final, abs=1e-6)
    panel.number("sugar", 100)
    assert panel.page.inner_text("#about") == ""


def test_a_case_can_be_linked(browser, naive, panel):
    settle(panel, {"age": 61.25, "smoker": "yes"})
    panel.missing("sugar")
    panel.question("region").select_option(label="(missing)")
    panel.page.locator("#p0").fill("0.25")
    panel.page.get_by_label("Cost of treat if truly well", exact=True).fill("7")
    panel.page.select_option("#explained", label="well")
    address = panel.page.evaluate("location.hash")
    assert address.startswith("#case:")
    other = Panel(browser, naive)
    other.page.goto(naive.resolve().as_uri() + address)
    other.page.reload()
    other.page.wait_for_selector(".posterior output")
    assert other.posterior() == panel.posterior()
    assert other.page.inner_text("#verdict") == panel.page.inner_text("#verdict")
    assert other.page.inner_text(".why") == panel.page.inner_text(".why")
    other.page.get_by_role("link", name="Open it in the panel").first.click()
    expect(other.page.locator("#about")).to_have_text(re.compile("^Row"))
    assert other.complaints == []
    other.page.close()


@pytest.mark.parametrize("hash", ["#case:v.age=x&v.smoker=nobody&p.ill=9&c.ill.treat=&why=no", "#case:%%%"])
def test_an_address_that_makes_no_sense_is_passed_over(browser, naive, panel, hash):
    usual = panel.posterior()
    other = Panel(browser, naive)
    other.page.goto(naive.resolve().as_uri() + hash)
    other.page.reload()
    other.page.wait_for_selector(".posterior output")
    assert other.posterior() == usual
    assert other.complaints == []
    other.page.close()


def test_a_pool_without_neighbours_says_how_far_it_moves(browser, folder, pool, rows):
    evaluation, _ = pool
    path = bk.report(evaluation, folder / "less.html")
    panel = Panel(browser, path)
    page = path.read_text(encoding="utf-8")
    told = re.search(r"moves answers by (\d\.\d+) on average and (\d\.\d+) at most", page)
    assert '"kind":"near"' not in page
    assert "<li>no learned row</li>" in page
    moved = []
    for number in (3, 40, 55):
        row = rows[0].iloc[[number]]
        settle(panel, {name: value for name, value in row.iloc[0].items() if not pd.isna(value)})
        moved.append(np.abs(np.array(panel.posterior()) - evaluation.model.predict_proba(row)[0]).max())
    assert max(moved) <= float(told[2]) + 5e-4
    assert 0 < float(told[1]) <= float(told[2])
    assert panel.complaints == []
    panel.page.close()


@pytest.mark.parametrize("model", [bk.NaiveBayes(), bk.AutoBayes(max_candidates=8)], ids=["naive", "pool"])
def test_names_stay_text(browser, folder, model):
    rng = np.random.default_rng(1)
    labels = np.array([NASTY, "b&<i>"])[rng.integers(0, 2, 60)]
    table = pd.DataFrame({NASTY: np.where(rng.random(60) < 0.5, NASTY, "\u2028<b>"), "<u>x": rng.normal(size=60)})
    costs = {label: {NASTY: float(i), "wait": 1.0} for i, label in enumerate(sorted(set(labels)))}
    path = bk.report(
        bk.evaluate(model, table, labels, bk.Holdout(0.5), costs=costs), folder / "nasty.html", title=NASTY
    )
    panel = Panel(browser, path)
    assert panel.page.title() == NASTY
    assert panel.page.query_selector_all("img, main i i, main b b") == []
    assert NASTY in panel.page.inner_text("h1")
    panel.page.locator("#panel select").first.select_option(index=1)
    assert sum(panel.posterior()) == pytest.approx(1)
    assert panel.complaints == []
    panel.page.close()


def test_many_columns_and_classes_fold(browser, folder):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(300, 120)), np.array([f"class {c} {'x' * 300}" for c in range(60)])[np.arange(300) % 60]
    path = bk.report(bk.evaluate(bk.NaiveBayes(), X, y, bk.CrossValidation(2)), folder / "many.html")
    panel = Panel(browser, path, 390)
    assert path.stat().st_size < 3_000_000
    assert panel.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert len(panel.posterior()) == 60
    assert panel.page.locator(".ask > .row").count() == 20
    assert panel.complaints == []
    panel.page.close()


@pytest.mark.parametrize("model", [bk.FullBayes(), bk.AutoBayes(max_candidates=8)], ids=["normal", "pool"])
def test_evidence_beyond_all_bounds_stays_inside_the_page(browser, folder, model):
    """Classes told apart perfectly: weights of evidence of millions of bits, and labels of 300 letters."""
    table = pd.DataFrame({"n" * 300: ["v" * 300, "w"] * 20, "x": np.tile([0.0, 1e9], 20) + np.arange(40)})
    evaluation = bk.evaluate(model, table, np.array(["a" * 300, "b"] * 20), bk.Holdout(0.5))
    panel = Panel(browser, bk.report(evaluation, folder / "sure.html"), 390)
    assert panel.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert sum(panel.posterior()) == pytest.approx(1)
    assert panel.complaints == []
    panel.page.close()


def test_network_marginals_follow_the_evidence(browser, folder):
    rng = np.random.default_rng(5)
    a, b, c, d = (rng.dirichlet(np.ones(k), size=s) for k, s in ((2, ()), (3, (2,)), (2, (2,)), (3, (3, 2))))
    net = bk.Network([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")], {"a": a, "b": b, "c": c, "d": d})
    panel = Panel(browser, bk.report(net, folder / "network.html"), 390)
    joint = np.einsum("a,ab,ac,bcd->abcd", a, b, c, d)
    for evidence in ({}, {"d": 2}, {"d": 2, "c": 0}):
        for node, state in evidence.items():
            button = panel.page.locator("fieldset", has_text=node).filter(
                has=panel.page.locator(f"legend:text-is('{node}')")
            )
            if button.locator(".state").nth(state).get_attribute("aria-pressed") == "false":
                button.locator(".state").nth(state).focus()
                panel.page.keyboard.press("Enter")
        held = joint[:, :, evidence.get("c", slice(None)), evidence.get("d", slice(None))]
        held = held.reshape(2, 3, -1, 1 if "d" in evidence else 3)
        p = [float(x.get_attribute("data-p")) for x in panel.page.query_selector_all(".state")]
        assert p[:2] == pytest.approx((held.sum(axis=(1, 2, 3)) / held.sum()).tolist(), abs=1e-12)
        assert p[2:5] == pytest.approx((held.sum(axis=(0, 2, 3)) / held.sum()).tolist(), abs=1e-12)
    assert f"{held.sum():.5g}"[:6] in panel.page.inner_text("#evidence")
    assert panel.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert panel.complaints == []
    panel.page.close()


@pytest.fixture(scope="module")
def letters(folder):
    """26 classes with long names, quotes among levels, missing values."""
    rng = np.random.default_rng(4)
    k = np.arange(520) % 26
    table = pd.DataFrame(
        {
            "a long name of a column that many tables have, north": rng.normal(k / 4, 1.0),
            "a long name of a column that many tables have, south": rng.normal(k % 5, 1.0),
            "level": np.array(['"quoted"', "it's", "a, b"])[k % 3],
        }
    )
    table.iloc[::7, 0] = np.nan
    labels = np.array([f"class number {c} of all" for c in range(26)])[k]
    return bk.report(
        bk.evaluate(bk.NaiveBayes(), table, labels, bk.CrossValidation(2)), folder / "letters.html", rows=True
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("which", ["naive", "letters"])
def test_names_contrast_and_width(browser, request, which, width, scheme):
    panel = Panel(browser, request.getfixturevalue(which), width, scheme)
    assert panel.page.evaluate(AUDIT) == []
    assert panel.page.evaluate("document.documentElement.scrollWidth") <= width
    for box in panel.page.locator(".wide").all():
        scrolls = box.evaluate("e => e.scrollWidth > e.clientWidth + 1")
        assert (box.get_attribute("tabindex") == "0") is scrolls
    stuck = "[...document.querySelectorAll('main *')].filter((e) => getComputedStyle(e).position === 'sticky')"
    high = panel.page.evaluate(f"Math.max(0, ...{stuck}.map((e) => e.offsetHeight))")
    assert width > 390 or high <= 60  # nothing that stays in sight covers a phone
    assert panel.complaints == []
    panel.page.close()


def test_it_prints_within_the_paper(browser, letters):
    panel = Panel(browser, letters, 680)  # A4 less its margins
    panel.page.emulate_media(media="print")
    assert panel.page.evaluate("document.documentElement.scrollWidth") <= 680
    panel.page.close()


def test_the_most_probable_of_many_classes_come_first(browser, letters):
    panel = Panel(browser, letters)
    shown = [float(o.get_attribute("data-p")) for o in panel.page.locator(".now > .posterior output").all()]
    assert len(shown) == 5
    assert shown == sorted(panel.posterior(), reverse=True)[:5]
    assert len(panel.posterior()) == 26
    names = panel.page.locator(".ask label").all_inner_texts()
    assert len(set(names)) >= 3  # long names that differ at the end stay apart
    panel.page.close()


def test_the_threshold_and_the_costs_are_one(browser, rows, folder):
    evaluation = bk.evaluate(bk.NaiveBayes(), *rows)
    panel = Panel(browser, bk.report(evaluation, folder / "line.html", interest="ill"))
    curve = evaluation.decision_curve("ill")
    for t in (10, 37, 80):
        panel.page.locator("#cut").fill(str(t))
        shown = {
            name: panel.page.inner_text(f"#at-{name}").replace("−", "-") for name in ("benefit", "others", "acted")
        }
        assert float(shown["benefit"]) == pytest.approx(curve.benefit[t - 1], abs=6e-5)
        assert float(shown["others"]) == pytest.approx(curve.treat_all[t - 1], abs=6e-5)
        assert float(shown["acted"].split()[0]) == pytest.approx(
            100 * (evaluation.proba[:, 0] >= t / 100).mean(), abs=0.06
        )
        assert float(panel.page.input_value("#ratio")) == pytest.approx((100 - t) / t, rel=1e-3)
        assert float(panel.page.get_by_label("Cost of well if truly ill", exact=True).input_value()) == pytest.approx(
            (100 - t) / t, rel=1e-3
        )  # the panel decides by the same costs
    panel.page.locator("#ratio").fill("9")
    assert panel.page.input_value("#cut") == "10"
    p, verdict = panel.posterior()[0], panel.page.locator("#verdict")
    assert verdict.get_attribute("data-action") == ("ill" if p >= 0.1 else "well")
    assert panel.complaints == []
    panel.page.close()


def test_a_panel_of_answers_says_what_the_model_says(browser, rows, folder):
    table, labels = rows
    evaluation = bk.evaluate(bk.KNNBayes(metric="gower", k=9), table, labels, bk.Holdout(0.5))
    panel = Panel(browser, bk.report(evaluation, folder / "answers.html"))
    names = panel.page.locator(".ask .row > label").all_inner_texts()
    assert {"smoker", "region", "age"} <= set(names)
    row = {"age": table.age.median(), "sugar": table.sugar.median(), "visits": table.visits.median()}
    row |= {"smoker": table.smoker.mode()[0], "region": table.region.mode()[0]}
    for name, place in (("smoker", 2), ("age", 3), ("region", 1), ("sugar", 5)):
        if name in names:
            panel.question(name).select_option(index=place)
    for name in names:
        shown = panel.question(name).locator("option:checked").inner_text()
        row[name] = shown if name in ("smoker", "region") else float(shown)
    wanted = evaluation.model.predict_proba(pd.DataFrame([row]))[0]
    assert panel.posterior() == pytest.approx(wanted.tolist(), abs=1e-6)
    assert panel.complaints == []
    panel.page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_drift_fits_a_phone_and_says_what_scrolls(browser, folder, scheme):
    table, labels = patients()
    moved = table.assign(age=table["age"] + 9, region="west")
    page = bk.report(bk.drift(bk.NaiveBayes().fit(table, labels), moved), folder / f"drift-{scheme}.html")
    phone = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme=scheme)
    phone.goto(page.as_uri())
    assert phone.evaluate("document.documentElement.scrollWidth") == 390
    assert phone.evaluate(AUDIT) == []
    wide = phone.locator(".wide.scrolls").first
    assert "scrolls sideways" in wide.evaluate("box => getComputedStyle(box, '::before').content")
    phone.close()
