"""Overview: the data and the model in words: classes, columns with kind, family and reason, and what is amiss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bayeskit.arrays import Classifier, Float, Json, Label
from bayeskit.ensemble.leaderboard import Leaderboard
from bayeskit.estimators.any_wrapper import AnyWrapper
from bayeskit.estimators.auto import AutoBayes
from bayeskit.estimators.calibrated import Calibrated
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.conformal import Conformal
from bayeskit.estimators.risk import RiskClassifier
from bayeskit.evaluation.evaluation import Evaluation
from bayeskit.model.model import Model
from bayeskit.model.row_names import are_names
from bayeskit.reports.markup import Safe, Section, folding_table, number, percent, table, text
from bayeskit.reports.profile import Profile
from bayeskit.structures.hidden import NetworkedDensity

WRAPPERS = (Calibrated, AnyWrapper)
EXPLAINS = (BayesClassifier, AutoBayes, *WRAPPERS)
WORDS = {  # by how the name of a candidate begins
    "boosted": "boosted trees: small trees of questions, each of which corrects those before it",
    "forest": "forest: many trees of questions, whose answers are averaged",
    "corrected": "corrected naive: columns independent given the class, corrected for what columns say together",
    "KDB": "KDB: each column given the class and up to k other columns",
    "AODE": "AODE: a mean of models, in each of which all columns depend on one",
    "sets": "sets of columns: the information of up to three columns together on the class, every set by itself",
    "naive": "naive: columns independent given the class",
    "shrunk normal": "shrunk normal: a normal density of all numbers in each class",
    "linear": "linear: normal densities with one covariance for all classes",
}
NEAREST = "nearest: the classes of the most similar rows"
VIEWS = {  # by how the name of a candidate ends
    "on indicators": "on indicators: every level as a column of its own that is 0 or 1",
    "on equal frequencies": "on equal frequencies: numbers cut into intervals with equally many rows",
    "on description lengths": "on description lengths: numbers cut where the classes change most",
    "on scores": "on scores: numbers by their rank among all",
    "on numbers": "on numbers: columns of numbers only",
}
TYPES = {  # by how Arrow's name of a type begins
    **dict.fromkeys(("int", "uint"), "whole numbers"),
    **dict.fromkeys(("double", "float", "halffloat", "decimal"), "numbers"),
    **dict.fromkeys(("string", "large_string", "dictionary"), "text"),
    "bool": "true or false",
}
FEW = 8  # members shown at first
COUNTED = 20  # rows from which numbers without a gap are no chance
MANY = 0.2  # share of missing values that is worth a word


def data(evaluation: Evaluation, profiles: Mapping[str, Profile], rows: int | None) -> Section:
    """Rows, classes, columns and their quality."""
    weight = evaluation.confusion.matrix.sum(axis=1)
    count = f"{rows:,}" if rows is not None else "a stream of"
    lead = f"<p>{count} rows, {len(evaluation.classes):,} classes"
    lead += f", {len(profiles):,} columns.</p>" if profiles else ".</p>"
    share = weight / max(float(weight.sum()), 1e-300)
    classes = [
        (label, f"{w:,.6g}", percent(s))
        for label, w, s in zip(evaluation.classes.tolist(), weight.tolist(), share.tolist(), strict=True)
    ]
    body = (
        lead
        + quality(profiles)
        + "<h3>Classes, in the rows tested</h3>"
        + folding_table(classes, ("class", "rows", "share"))
    )
    described = _describe_columns(evaluation.model)
    if profiles:
        body += "<h3>Columns</h3>" + _columns(profiles, described)
    return Section("data", "The data", body)


def _describe_columns(model: Classifier) -> dict[str, Json]:
    """Each column with its kind, and its family if one decides alone."""
    if isinstance(model, BayesClassifier):
        return {c["name"]: c for c in model.schema_.rows()}
    if isinstance(model, AutoBayes):  # its members have families of their own
        plain = _describe_columns(model.reader_)
        return {name: {**c, "family": "", "why_family": ""} for name, c in plain.items()}
    return _describe_columns(model.estimator_) if isinstance(model, WRAPPERS) else {}


def _columns(profiles: Mapping[str, Profile], described: Mapping[str, Json]) -> str:
    head = ("column", "kind", "family", "holds", "missing", "values", "from", "to")
    rows = [_column(p, described.get(name)) for name, p in profiles.items()]
    if any(row[2] not in ("", "–") for row in rows):
        return folding_table(rows, head, words=4)
    return folding_table([(*row[:2], *row[3:]) for row in rows], (*head[:2], *head[3:]), words=3)  # no family decides


def _column(profile: Profile, described: Json | None) -> tuple[Label, ...]:
    kind, family, why = (profile.type, "", "") if described is None else _choice(described)
    ends = (f"{profile.low:,.6g}", f"{profile.high:,.6g}") if profile.numeric else ("", "")
    share = profile.missing / max(profile.rows, 1)
    return (profile.name, kind, family, why, percent(share) if profile.missing else "0", f"{profile.distinct:,}", *ends)


def _choice(described: Json) -> tuple[str, str, str]:
    why = described["why"]
    if (kind := why.removeprefix("type ")) != why:  # Arrow's name of a type
        stem, *more = kind.split(", ", 1)
        why = ", ".join([next((words for start, words in TYPES.items() if stem.startswith(start)), stem), *more])
    why = "; ".join(filter(None, (why, described["why_family"])))
    return described["kind"], described["family"] or "–", why


def quality(profiles: Mapping[str, Profile]) -> str:
    """What should be looked at before anything is believed."""
    found = []
    empty = [p for p in profiles.values() if p.distinct == 0]
    constant = [p for p in profiles.values() if p.distinct == 1]
    sparse = [p for p in profiles.values() if p.distinct and p.missing > MANY * p.rows]
    names = [p for p in profiles.values() if not p.numeric and are_names(p.distinct, p.rows - p.missing)]
    counters = [p for p in profiles.values() if p.rows > COUNTED and p.distinct == p.rows == p.high - p.low + 1]
    for columns, what in (
        (empty, "no value at all: nothing to learn from"),
        (constant, "a single value, which does not distinguish the classes"),
        (sparse, f"more than {MANY:.0%} missing".replace("%", " %")),
        (names, "another value in nearly every row, like a name"),
        (counters, "the numbers of a count, one in each row, like a row number: leave it out unless the order counts"),
    ):
        if columns:
            listed = ", ".join(f"<b>{text(p.name)}</b>" for p in columns[:8])
            more = f" and {len(columns) - 8:,} more" if len(columns) > 8 else ""
            found.append(f"<li>{listed}{more}: {what}.</li>")
    if not profiles:
        return ""
    if not found:
        return '<p class="fine">No column is empty, constant, mostly missing, or like a name or a row number.</p>'
    return f'<ul class="notes">{"".join(found)}</ul>'


def model(evaluation: Evaluation) -> Section:
    """What was fitted, in words."""
    fitted = evaluation.model
    said = [f"<p>Its settings: <code>{text(fitted, 400)}</code></p>", *_describe_wrapper(fitted)]
    while isinstance(fitted, WRAPPERS):
        fitted = fitted.estimator_
    if isinstance(fitted, AutoBayes):
        said.append(_prior(fitted.classes_.tolist(), np.exp(fitted.log_prior())))
        said.append(_members(fitted.summary()))
    elif isinstance(fitted, BayesClassifier):
        said += _describe_model(fitted.model_)
    return Section("model", "The model", "".join(said))


def _describe_wrapper(fitted: Classifier) -> list[str]:
    if isinstance(fitted, Calibrated):
        return [f"<p>Its probabilities were set right by {text(fitted.method)} on rows it had not learned.</p>"]
    if isinstance(fitted, RiskClassifier):
        if fitted.cutoff_ is None:
            return ["<p>It takes the action of least expected cost.</p>"]
        label = text(fitted.classes_.tolist()[1])
        return [f"<p>It acts on “{label}” from a probability of {fitted.cutoff_:.4g} on.</p>"]
    if isinstance(fitted, Conformal):
        return [f"<p>{text(fitted.promise, 400)}</p>"]
    return []


def _prior(labels: Sequence[Label], prior: Float) -> str:
    shown = [f"“{text(label)}” {percent(p)}" for label, p in zip(labels[:12], prior.tolist(), strict=False)]
    more = f" and {len(prior) - 12:,} more" if len(prior) > 12 else ""
    return f"<p>Before it sees a column (the prior): {', '.join(shown)}{more}.</p>"


def _describe_model(record: Model) -> list[str]:
    said = [_prior(record.classes.tolist(), np.exp(record.log_prior()))]
    arcs = [arc for d in record.density.densities if isinstance(d, NetworkedDensity) for arc in d.name_families()]
    joined = [(name, parents) for name, parents in arcs if parents]
    if joined:
        named = [
            ("the class" if name is None else name, [p for p in parents if p is not None]) for name, parents in joined
        ]
        listed = [(name, Safe(", ".join(text(p) for p in parents) or "–")) for name, parents in named]
        said.append(
            "<h3>Columns that depend on others</h3>" + folding_table(listed, ("column", "given the class and"), 2)
        )
    elif arcs:
        said.append("<p>No column depends on another once the class is known.</p>")
    if record.weighting is not None:
        weight = record.weighting.weight
        rows = [(n, f"{w:.3f}") for n, w in zip(record.density.factor_names, weight.tolist(), strict=True)]
        said.append("<h3>How much each piece counts</h3>" + folding_table(rows, ("columns", "weight")))
    return said


def _members(leaderboard: Leaderboard) -> str:
    """Those that were kept by weight, and below what became of the others."""
    kept = [line for line in leaderboard.lines if line[2] > 0]
    most = max((weight for _, _, weight, *_ in kept), default=1.0)
    rows = [
        (name, _bar(weight / most), number(weight), number(loss, 4), _with_sign(gain))
        for name, loss, weight, gain, _ in kept
    ]
    head = ("member", "", "weight", "log loss alone", "adds")
    said = (
        f"<h3>What it is made of</h3><p>{len(leaderboard.lines)} candidates were tried or considered, and judged on "
        f"{leaderboard.rows:,} predictions of rows they had not learned. {len(kept)} are kept; the evidence of each "
        f"counts as much as its weight. What a member adds is how much the log loss of all would rise without it.</p>"
        f"{folding_table(rows, head, 2, FEW)}"
    )
    others = [
        (name, text(why, 200), number(loss, 4)) for name, loss, weight, _, why in leaderboard.lines if not weight > 0
    ]
    if others:
        left = table(("candidate", "why it was left out", "log loss alone"), others, 2)
        said += f"<details><summary>{len(others)} candidates left out</summary>{left}</details>"
    return said + _glossary([name for name, *_ in kept])


def _bar(share: float) -> Safe:
    return Safe(f'<span class="track mini"><i style="width:{100 * share:.1f}%"></i></span>')


def _with_sign(gain: float) -> str:
    return "–" if not np.isfinite(gain) else "0.0000" if abs(gain) < 5e-5 else f"{gain:+.4f}".replace("-", "−")


def _glossary(names: list[str]) -> str:
    found = [words for start, words in WORDS.items() if any(name.startswith(start) for name in names)]
    found += [NEAREST] if any("nearest" in name for name in names) else []
    found += [words for end, words in VIEWS.items() if any(end in name for name in names)]
    return f'<p class="fine">{"; ".join(found)}.</p>' if found else ""
