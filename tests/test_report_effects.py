"""Effects, panels of some columns, groups and thresholds on the page: their numbers are those of Python."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import bayeskit as bk
from bayeskit.reports.effects import EffectProbe, change_rows
from bayeskit.reports.one_class import OneClass
from bayeskit.reports.profile import Table
from bayeskit.reports.reduced import reduce_columns


def people(n=300):
    rng = np.random.default_rng(4)
    ill = rng.random(n) < 0.4
    sex = rng.choice(["f", "m"], n)
    flip = np.where(sex == "f", 1, -1) * (2 * ill - 1)
    table = pd.DataFrame(
        {
            "age": rng.normal(50 + 6 * ill, 10).round(1),
            "x": (flip + rng.normal(0, 0.8, n)).round(2),
            "sex": sex,
            "visits": rng.poisson(2 + ill),
            'say "so"': rng.choice(["it's", '"q"', "<b>"], n),
        }
    )
    table.loc[:20, "age"] = np.nan
    return table, np.where(ill, "ill", "well")


def asked(model, X, y):
    found = bk.evaluate(model, X, y, bk.Holdout(0.5))
    return found.model, Table.of(found)


def odds(model, rows):
    logs = model.predict_log_proba(rows)
    return (logs[:, 0] - logs[:, 1]) / np.log(2)


@pytest.mark.parametrize("model", [bk.NaiveBayes(), bk.TAN(), bk.RiskClassifier(bk.NaiveBayes(), None)], ids=str)
def test_an_effect_is_what_the_model_says_with_the_value_less_without(model):
    X, y = people()
    fitted, table = asked(model, X, y)
    effect = EffectProbe(fitted, table, (0,)).effect(table.profiles["sex"])
    plain = fitted.estimator_ if isinstance(fitted, bk.RiskClassifier) else fitted
    rows = X.iloc[table.pick_rows(20)]
    for value, bits in zip(effect.values, effect.bits[:, 0], strict=True):
        moved = odds(plain, rows.assign(sex=value)) - odds(plain, rows.assign(sex=None))
        assert bits == pytest.approx(moved.mean(), abs=1e-9)
    assert effect.share.sum() == pytest.approx(1)


def test_effects_of_a_pool_on_the_page_are_measured_against_the_mean_of_the_column(tmp_path):
    X, y = people()
    X["town"] = np.where(
        y == "ill", *np.random.default_rng(9).choice(["x", "y", "z"], (2, len(y)), p=[0.94, 0.04, 0.02])
    )
    X.loc[y == "ill", "town"] = X["town"][y == "ill"].replace("y", "z")
    pool = bk.AutoBayes(max_candidates=4)
    found = bk.evaluate(pool, X, y, bk.Holdout(0.5))
    page = bk.report(found, tmp_path / "p.html", interest="ill").read_text(encoding="utf-8")
    section = page[page.index('<section id="values">') :]
    section = section[: section.index("</section>")]
    assert "compared with the average of the column" in section
    rows = X.iloc[np.unique(np.linspace(0, len(X) - 1, 20).astype(int))]

    def bits(name, value):  # log-odds by the probabilities, no further
        p = found.model.predict_proba(rows.assign(**{name: value}))
        return np.log2(p[:, 0] / p[:, 1]).mean()

    compared = 0
    for name in ("sex", "town"):
        often = X[name].value_counts(normalize=True)
        said = pd.Series({value: bits(name, value) for value in often.index})
        wanted = said - (said * often).sum()  # none of them says much where nearly all rows have it
        figure = section[section.index(f"<h3>{name}</h3>") :]
        shown = re.findall(
            r'<span class="name">(\w) <small>.*?<span class="n">(\S+) </span>', figure[: figure.index("</figure>")]
        )
        assert {value for value, _ in shown} == set(often.index)
        for value, told in shown:
            assert float(told.replace("−", "-")) == pytest.approx(wanted[value], abs=0.006)
            compared += 1
    assert compared == 5


def test_in_a_naive_model_an_effect_is_the_term_of_the_column():
    X, y = people()
    fitted, table = asked(bk.NaiveBayes(), X, y)
    effect = EffectProbe(fitted, table, (0,)).effect(table.profiles["age"])
    assert not effect.varies
    for value, bits in list(zip(effect.values, effect.bits[:, 0], strict=True))[::8]:
        log = [
            -0.5 * ((value - X.age[y == c].mean()) / X.age[y == c].std(ddof=0)) ** 2 - np.log(X.age[y == c].std(ddof=0))
            for c in ("ill", "well")
        ]
        assert bits == pytest.approx((log[0] - log[1]) / np.log(2), abs=1e-9)


def test_columns_that_work_together_are_found():
    X, y = people()
    fitted, table = asked(bk.KDB(penalty=None), X, y)
    asking, profiles = EffectProbe(fitted, table, (0,)), table.profiles
    together = asking.pair(profiles["x"], profiles["sex"])
    apart = asking.pair(profiles["age"], profiles["visits"])
    assert together.size > 1 > apart.size
    naive = EffectProbe(asked(bk.NaiveBayes(), X, y)[0], table, (0,)).pair(profiles["x"], profiles["sex"])
    assert naive.size == pytest.approx(0, abs=1e-9)


def test_bars_of_few_rows_are_not_drawn():
    X, y = people()
    X.loc[5, "age"] = 95.0
    _, table = asked(bk.NaiveBayes(), X, y)
    effect = EffectProbe(bk.NaiveBayes().fit(X, y), table, (0,)).effect(table.profiles["age"])
    counts = np.round(effect.share * X.age.notna().sum())
    assert ((counts == 0) | (counts >= 5)).all()


@pytest.mark.parametrize(
    "given",
    [
        lambda X: X,
        lambda X: pytest.importorskip("polars").from_pandas(X),
        lambda X: pytest.importorskip("pyarrow").Table.from_pandas(X, preserve_index=False),
        lambda X: X.to_dict("list"),
        lambda X: X.to_dict("records"),
    ],
    ids=["pandas", "polars", "arrow", "mapping", "records"],
)
def test_columns_of_any_table_can_be_changed(given):
    X, y = people(80)
    found = bk.evaluate(bk.NaiveBayes(), given(X), y, bk.Holdout(0.5))
    changed = change_rows(Table.of(found), np.array([30, 40]), {"sex": ["f", None], "age": [1.5, None]})
    wanted = X.iloc[[30, 40]].assign(sex=["f", None], age=[1.5, np.nan])
    assert found.model.predict_proba(changed) == pytest.approx(found.model.predict_proba(wanted))


@pytest.mark.parametrize(
    ("model", "X", "y"),
    [
        (bk.AODE(n=2), *people()),
        (bk.KNNBayes(metric="gower", k=9), *people()),
        (LogisticRegression(max_iter=1000), *load_iris(return_X_y=True)),
        (bk.Calibrated(bk.NaiveBayes(), "isotonic"), *people()),
    ],
    ids=["pairs", "neighbours", "stranger", "isotonic"],
)
def test_a_panel_of_some_columns_says_what_the_model_says(model, X, y):
    fitted, table = asked(model, X, y)
    worth = {name: 1.0 / (1 + j) for j, name in enumerate(table.names[:3])}
    program = reduce_columns(fitted, table, worth, "why").program
    rng = np.random.default_rng(0)
    places = [[int(rng.integers(0, len(q.levels))) for q in program.questions] for _ in range(20)]
    values = [[q.levels[i] for q, i in zip(program.questions, row, strict=True)] for row in places]
    usual = {n: p.middle if p.numeric else p.common[0] for n, p in table.profiles.items()}
    numeric = {q.name: table.profiles[q.name].numeric for q in program.questions}
    named = [dict(zip(numeric, row, strict=True)) for row in values]
    rows = [usual | {name: float(v) if numeric[name] else v for name, v in row.items()} for row in named]
    whole = pd.DataFrame(rows) if isinstance(X, pd.DataFrame) else np.array([list(row.values()) for row in rows])
    assert program.proba(values) == pytest.approx(fitted.predict_proba(whole), abs=1e-9)


def test_a_table_of_two_thousand_columns_has_a_panel(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 2100))
    X[:, 7] += 2 * y
    page = bk.report(bk.evaluate(bk.NaiveBayes(), X, y, bk.Holdout(0.5)), tmp_path / "p.html").read_text("utf-8")
    assert 'id="program"' in page
    assert "columns that matter most" in page
    assert "its 2,100 columns are too many" in page


def test_groups_and_segments_are_on_the_page(tmp_path):
    X, y = people(600)
    found = bk.evaluate(bk.NaiveBayes(), X, y, bk.CrossValidation(3), by=["sex", "visits"])
    page = bk.report(found, tmp_path / "p.html", interest="ill").read_text("utf-8")
    section = page[page.index('<section id="groups">') : page.index('<section id="segments">')]
    for group, mine in found.groups["sex"].items():
        row = re.search(rf"<tr><td>{group}</td>.*?</tr>", section)[0]
        assert f"{100 * mine.value('accuracy'):.1f} %" in row
        assert f"{mine.value('log_loss'):.3f}" in row
    for m in found.groups.fairness("sex", "ill", 20):
        assert re.search(rf'{m.name}<br>.*?class="n">{m.value:.3f}<', section)
    worst = found.worst_segments()
    text = page[page.index('<section id="segments">') :]
    assert all(f"{s.rows:,}" in text for s in worst.found[:8])


def test_the_class_of_interest_has_enough_rows():
    rng = np.random.default_rng(0)
    y = np.array(["common"] * 60 + ["rare"] * 25 + ["single"] * 2)
    found = bk.evaluate(bk.NaiveBayes(), rng.normal(size=(87, 2)), y, bk.LeaveOneOut())
    assert OneClass.of(found, None).label == "rare"
    assert OneClass.of(found, "single").label == "single"
