"""The report as a file: whole, self-contained, readable whatever the data are."""

import base64
import html
import re
import zlib
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, precision_recall_curve
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.naive_bayes import GaussianNB

import bayeskit as bk
from bayeskit.reports.one_class import OneClass
from bayeskit.reports.program import Store

VOID = {"meta", "link", "line", "circle", "polyline", "input", "img", "br"}


class Outline(HTMLParser):
    """Tags in order, unclosed ones, text, and what refers to elsewhere."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.links, self.ids, self.text = [], [], [], set(), ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [v for k, v in attrs if k in ("href", "src", "action", "data", "srcset")]
        self.ids |= {v for k, v in attrs if k == "id"}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.text += data


def written(folder, model, X, y, method=None, **settings):
    path = bk.report(bk.evaluate(model, X, y, method or bk.CrossValidation(2), **settings), folder / "report.html")
    page = path.read_text(encoding="utf-8")
    assert path.stat().st_size < 3_000_000
    outline = Outline(page)
    assert outline.open == []
    return page, outline


def test_is_whole_and_refers_to_nothing_outside(tmp_path):
    page, outline = written(tmp_path, bk.NaiveBayes(), *load_iris(return_X_y=True))
    assert all(link.startswith("#") or link == "data:," for link in outline.links)
    assert {link[1:] for link in outline.links if link.startswith("#")} <= outline.ids
    assert "url(" not in page
    assert '<html lang="en">' in page
    assert "@import" not in page


def test_says_what_evaluation_found(tmp_path):
    X, y = load_iris(return_X_y=True)
    _, outline = written(tmp_path, bk.NaiveBayes(), X, y, bk.LeaveOneOut())
    peer = cross_val_score(GaussianNB(), X, y, cv=LeaveOneOut()).mean()
    assert f"{100 * peer:.1f} %" in outline.text
    assert bk.NaiveBayes().fit(X, y).model_.digest in outline.text
    assert "random_state=0" in outline.text


def test_quality_is_told(tmp_path):
    table = pd.DataFrame({"void": np.full(40, np.nan), "same": ["x"] * 40, "holes": [1.0, None, 2.0, None] * 10})
    _, outline = written(tmp_path, bk.NaiveBayes(), table, ["a", "b", "b", "a"] * 10)
    assert "void: no value at all" in outline.text
    assert "same: a single value" in outline.text
    assert "holes: more than 20 % missing" in outline.text


def test_costs_are_judged(tmp_path):
    X, y = load_iris(return_X_y=True)
    costs = {0: {"keep": 0, "drop": 3}, 1: {"keep": 2, "drop": 0}, 2: {"keep": 4, "drop": 0}}
    _, outline = written(tmp_path, bk.NaiveBayes(), X, y, costs=costs, reject=0.5)
    assert "What decisions cost" in outline.text
    assert re.search(r"single action for all rows, drop, would have cost 1\.0000", outline.text)  # 3 * 50 / 150


def test_actions_by_costs_are_told_apart_from_the_most_probable_class(tmp_path):
    rng = np.random.default_rng(4)
    y = np.where(rng.random(300) < 0.3, "bad", "good")
    X = rng.normal((y == "bad") * 1.0, 1.0)[:, None]
    costs = {"bad": {"refuse": 0, "lend": 5}, "good": {"refuse": 1, "lend": 0}}
    found = bk.evaluate(bk.NaiveBayes(), X, y, costs=costs)
    page = bk.report(found, tmp_path / "p.html", interest="bad").read_text("utf-8")
    refused = found.proba[:, 0] * 5 > found.proba[:, 1]  # the cost expected of lending, and of refusing
    section = page[page.index('<section id="costs">') :]
    for label in ("bad", "good"):
        mine = refused[y == label]
        cells = [f"{n} <small>{100 * n / len(mine):.1f} %</small>" for n in (mine.sum(), (~mine).sum())]
        assert f'<tr><td>{label}</td><td class="n">{cells[0]}</td><td class="n">{cells[1]}</td></tr>' in section
    paid = (5 * ((y == "bad") & ~refused) + ((y == "good") & refused)).mean()
    assert f"Its decisions cost {paid:.4f} a row" in page
    named = 100 * (found.proba[y == "bad", 0] > 0.5).mean()
    assert f"Its most probable class, whatever the costs, finds {named:.1f} % of" in page
    assert re.search(r'id="ratio"[^>]* value="5"', page)  # as given, though the slider has whole percents
    assert '<output id="cut-value">17 %</output>' in page


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (LogisticRegression(max_iter=1000), "LogisticRegression cannot"),
        (bk.KNNBayes(metric="mahalanobis"), "KNNBayes: its distances depend"),
        (bk.Calibrated(bk.NaiveBayes(), "isotonic"), "calibration by 'isotonic' cannot"),
    ],
    ids=["stranger", "mahalanobis", "isotonic"],
)
def test_what_cannot_be_written_down_is_answered_beforehand(tmp_path, model, why):
    page, outline = written(tmp_path, model, *load_iris(return_X_y=True))
    assert re.search(
        r"holds the answers of the model at all [\d,]+ combinations.*because " + re.escape(why), outline.text
    )
    assert 'id="program"' in page


def test_learned_rows_stay_out_unless_asked_for(tmp_path):
    evaluation = bk.evaluate(bk.KNNBayes(), *load_iris(return_X_y=True), bk.CrossValidation(2))
    held = bk.report(evaluation, tmp_path / "with.html", rows=True).read_text(encoding="utf-8")
    assert "holds the values of 149 learned rows" in held  # two rows of virginica are equal
    page = bk.report(evaluation, tmp_path / "without.html").read_text(encoding="utf-8")
    assert "only if they are asked for (--rows" in page
    assert "answers of the model to combinations of values" in page
    assert "<li>no learned row</li>" in page


def cases_of(page):
    """Row, probability of the true class and the sum of the steps, if there are any, of every case."""
    section = page[page.index('<section id="cases">') : page.index('<section id="what-if">')]
    found = []
    for case in re.findall("<article.*?</article>", section, re.DOTALL):
        said = re.search(r"data-row=\"(\d+)\".*?predicted with probability (?:&lt; |< )?(\d\.\d+);", case, re.DOTALL)
        total = re.search('class="total">.*class="n">(.*?)</span>', case, re.DOTALL)
        found.append((int(said[1]), float(said[2]), total and float(total[1].replace("−", "-"))))
    return found


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (bk.NaiveBayes(), bk.CrossValidation(3)),
        (bk.NaiveBayes(), bk.LeaveOneOut()),
        (bk.TAN(), bk.CrossValidation(3)),
        (bk.KNNBayes(k=9, metric="gower"), bk.Holdout(0.5)),
        (bk.AutoBayes(max_candidates=3), bk.CrossValidation(2)),
    ],
    ids=["naive", "left out", "tree", "neighbours", "pool"],
)
def test_steps_of_a_case_add_up_to_the_probability_it_is_headed_by(tmp_path, model, method):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = pd.DataFrame(
        {"a": rng.normal(y, 1.5), "b": rng.normal(size=200), "c": np.where(rng.random(200) < 0.5, "x", "y")}
    )
    evaluation = bk.evaluate(model, X, y, method, keep_models=True)
    page = bk.report(evaluation, tmp_path / "p.html", rows=True).read_text(encoding="utf-8")
    right = evaluation.proba[np.arange(200), y]
    order = np.argsort(np.nan_to_num(right, nan=2.0), kind="stable")[:6]
    found = cases_of(page)
    assert [row for row, _, _ in found] == (order + 1).tolist()  # as in the file, from 1
    for (_, told, total), i in zip(found, order, strict=True):
        assert told == pytest.approx(right[i], abs=6e-5)
        assert total == pytest.approx(np.log2(right[i] / (1 - right[i])), abs=0.006)
    assert "the steps are its" not in page


def test_a_row_that_several_models_predicted_has_both_figures(tmp_path):
    X, y = load_iris(return_X_y=True)
    evaluation = bk.evaluate(bk.NaiveBayes(), X, y, bk.CrossValidation(3, repeats=2))
    page = bk.report(evaluation, tmp_path / "p.html", rows=True).read_text(encoding="utf-8")
    row, told, total = cases_of(page)[0]
    final = evaluation.model.predict_proba(X[[row - 1]])[0][y[row - 1]]
    assert told == pytest.approx(evaluation.proba[row - 1, y[row - 1]], abs=6e-5)
    assert total == pytest.approx(np.log2(final / (1 - final)), abs=0.006)
    assert f"gives {y[row - 1]} {final:.4f}; the steps are its." in page


def test_cases_have_no_values_unless_rows_are_asked_for(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = pd.DataFrame({"secret": rng.normal(y, 1.0).round(6), "tag": [f"tag{i % 7}" for i in range(60)]})
    evaluation = bk.evaluate(bk.NaiveBayes(), X, y, bk.CrossValidation(3))
    page = bk.report(evaluation, tmp_path / "p.html").read_text(encoding="utf-8")
    shown = bk.report(evaluation, tmp_path / "r.html", rows=True).read_text(encoding="utf-8")
    worst = X.iloc[cases_of(page)[0][0] - 1]
    section = page[page.index('<section id="cases">') : page.index('<section id="what-if">')]
    assert 'class="fall"' not in section
    assert "Evidence against it: secret" in section
    assert '"examples":[]' in page
    assert f"{worst.secret:.6g}"[:6] not in section
    assert worst.tag not in section
    assert f"{worst.secret:.6g}"[:5] in shown
    assert "<li>no learned row</li>" in page
    assert "the values of 6 learned rows, the hardest cases" in shown


def test_levels_of_one_row_alone_are_told(tmp_path):
    names = ["ann", "bob", *["carl"] * 20]
    page, _ = written(tmp_path, bk.NaiveBayes(), pd.DataFrame({"name": names}), ["u", "v"] * 11)
    assert "the names of 3 levels, 2 of which one row alone has" in page


def test_a_pool_says_what_it_is_made_of(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = bk.AutoBayes(max_candidates=6)
    page, outline = written(tmp_path, model, X, y)
    fitted, shown = model.fit(X, y), set(re.findall(r">(\d+\.\d+)<", page))
    for name, loss, weight, _, why in fitted.summary().lines:
        assert name in outline.text
        assert {f"{loss:.4f}", f"{weight:.3f}"} <= shown if weight > 0 else why in outline.text
    assert 'id="program"' in page


def test_what_reproduces_a_report_can_be_run(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = bk.NaiveBayes(families={"x0": bk.families.Kernel()})
    page, _ = written(tmp_path, model, X, y)
    code = html.unescape(re.search("<pre><code>(.*?)</code></pre>", page, re.DOTALL)[1])
    names = {"X": X, "y": y}
    exec(code.replace("report(evaluate", "found = (evaluate"), names)
    assert names["found"].accuracy == bk.evaluate(model, X, y, bk.CrossValidation(2)).accuracy


def test_streamed_rows_have_a_report(tmp_path):
    rng = np.random.default_rng(0)
    pd.DataFrame({"x": rng.normal(size=300), "y": rng.choice(["u", "v"], 300)}).to_parquet(tmp_path / "rows.parquet")
    _, outline = written(tmp_path, bk.NaiveBayes(), str(tmp_path / "rows.parquet"), "y")
    assert "streamed" in outline.text


def test_long_names_do_not_become_attributes(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.array(["a", "b" * 90 + " onload=alert(1) " + "b" * 90])[rng.integers(0, 2, 50)]
    page, _ = written(tmp_path, bk.NaiveBayes(), pd.DataFrame({"x" * 90 + " onclick=y ": rng.normal(size=50)}), labels)
    found = []

    class Attributes(HTMLParser):
        def handle_starttag(self, tag, attrs):
            found.extend(name for name, _ in attrs)

    Attributes().feed(page)
    assert not [name for name in found if name.startswith("on")]


def test_many_levels_are_cut_to_the_most_frequent(tmp_path):
    rng = np.random.default_rng(0)
    names = [f"level {i}" for i in range(5000)] + ["often"] * 100
    _, outline = written(tmp_path, bk.NaiveBayes(), pd.DataFrame({"id": names}), rng.choice(["u", "v"], len(names)))
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("level ") < 700
    assert '"more":4801' in page
    assert "another value in nearly every row" in outline.text


@pytest.mark.parametrize(
    ("X", "y"),
    [([[1.0], [2.0]], ["a", "b"]), (pd.DataFrame({"n" * 300: ["v" * 300, "w"] * 4}), ["a" * 300, "b"] * 4)],
    ids=["two rows", "300 characters"],
)
@pytest.mark.parametrize("model", [bk.NaiveBayes(), bk.FullBayes()], ids=["naive", "full"])
def test_odd_tables_have_a_report(tmp_path, X, y, model):
    page, outline = written(tmp_path, model, X, y)
    assert "What if?" in outline.text
    assert "nan" not in re.sub("<script.*?</script>", "", page, flags=re.DOTALL).replace("finance", "")


def test_what_is_no_evaluation_is_refused(tmp_path):
    with pytest.raises(TypeError, match="takes what evaluate"):
        bk.report(bk.NaiveBayes(), tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_a_network_too_wide_for_a_page_says_so(tmp_path):
    parents = [f"p{i}" for i in range(17)]
    tables = {p: [0.5, 0.5] for p in parents} | {"child": np.full((2,) * 18, 0.5)}
    path = bk.report(bk.Network([(p, "child") for p in parents], tables), tmp_path / "wide.html")
    assert "too large to be computed in a page" in path.read_text(encoding="utf-8")


def test_numbers_are_packed_to_the_digits_that_matter():
    store = Store()
    logs = np.array([[-0.1, -20.0], [-np.inf, 0.0]])
    first, second = store.logs(logs), store.table(np.array([np.pi, 1e300]))
    packed = store.json()
    raw = zlib.decompress(base64.b64decode(packed["data"]))
    assert [first, second, store.logs(logs)] == [0, 1, 0]
    (size, unit, count, columns), (wide, *_) = packed["parts"]
    steps = np.frombuffer(raw[: size * count], "<i4")
    assert (steps * unit)[[0, 1, 3]] == pytest.approx([-0.1, -20, 0], abs=1e-8)
    assert steps[2] == -(2**31)
    assert np.frombuffer(raw[size * count :], "<f8").tolist() == [np.pi, 1e300]
    assert (wide, columns) == (8, 2)


def test_notebooks_show_models_and_explanations():
    table = pd.DataFrame({"<b>": ["<i>", "x"] * 5, "n": np.arange(10.0)})
    model = bk.NaiveBayes().fit(table, ["<u>", "w"] * 5)
    for shown in (model._repr_html_(), model.explain(table[:2])._repr_html_(), model.summary()._repr_html_()):
        assert "&lt;b&gt;" in shown
        assert "<b>" not in shown
        assert Outline(shown).open == []
    assert "NaiveBayes" in bk.NaiveBayes()._repr_html_()


def test_notebooks_show_the_candidates_of_a_pool():
    table = pd.DataFrame({"<b>": ["<i>", "x"] * 15, "n": np.arange(30.0)})
    model = bk.AutoBayes(max_candidates=2)
    assert "AutoBayes" in model._repr_html_()
    shown = model.fit(table, ["<u>", "w"] * 15)._repr_html_()
    assert "naive, families chosen" in shown
    assert Outline(shown).open == []


@pytest.mark.parametrize("classes", [2, 3])
def test_precision_by_recall_is_scikit_learns(classes):
    rng = np.random.default_rng(classes)
    y = np.arange(240) % classes
    X = rng.normal(y[:, None] * 0.8, 1.0, size=(240, 2)).round(1)  # with ties
    weight = rng.integers(1, 4, 240).astype(float)
    found = bk.evaluate(bk.NaiveBayes(), X, y, bk.CrossValidation(3), sample_weight=weight)
    for k in range(classes):
        one = OneClass(found, k)
        score = found.proba[:, k]
        assert one.average_precision == pytest.approx(average_precision_score(y == k, score, sample_weight=weight))
        recall, precision = one.precision_recall()
        wanted, by, _ = precision_recall_curve(y == k, score, sample_weight=weight)
        assert recall == pytest.approx(by[:-1][::-1])
        assert precision == pytest.approx(wanted[:-1][::-1])
        assert one.share == pytest.approx(weight[y == k].sum() / weight.sum())


def test_the_class_of_interest_is_the_rarest_or_the_one_named(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [60, 20, 40])
    found = bk.evaluate(bk.NaiveBayes(), rng.normal(y[:, None], 1.0), y, bk.CrossValidation(2))
    assert "The class of interest: 1<" in bk.report(found, tmp_path / "p.html").read_text(encoding="utf-8")
    assert "The class of interest: 2<" in bk.report(found, tmp_path / "p.html", interest=2).read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="of interest 7 is not a class"):
        bk.report(found, tmp_path / "p.html", interest=7)


@pytest.mark.parametrize(("classes", "cells"), [(12, True), (26, True), (41, False)])
def test_mistakes_of_many_classes_are_a_heat_map_or_pairs(tmp_path, classes, cells):
    rng = np.random.default_rng(0)
    y = np.array([f"c{k}" for k in range(classes)])[np.arange(classes * 12) % classes]
    X = rng.normal((np.arange(classes * 12) % classes)[:, None], 0.7)
    found = bk.evaluate(bk.NaiveBayes(), X, y, bk.CrossValidation(2))
    page = bk.report(found, tmp_path / "p.html").read_text(encoding="utf-8")
    section = page[page.index('<section id="confusion">') : page.index('<section id="calibration">')]
    assert ('class="heat' in section) is cells
    shown = [int(n) for n in re.findall(r'--share:[\d.]+"[^>]*>(?:<b>)?(\d+)<', section)]
    assert shown == (found.confusion.matrix[found.confusion.matrix > 0].tolist() if classes == 26 else shown)
    assert "Most frequent mistakes" in section
    wrong = found.confusion.matrix - np.diag(np.diag(found.confusion.matrix))
    assert f'<td class="n">{wrong.max():g}</td>' in section
