"""A model to try out in a notebook: the panel of the report, by itself."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.arrays import TableLike
from bayeskit.errors import InputError, KindError
from bayeskit.estimators.any_wrapper import AnyWrapper
from bayeskit.estimators.auto import AutoBayes
from bayeskit.estimators.calibrated import Calibrated
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.network import Network
from bayeskit.evaluation.evaluate import evaluate
from bayeskit.evaluation.methods import AsFitted
from bayeskit.explain.marginal import marginals
from bayeskit.explain.words import word_densities
from bayeskit.model.model import Model
from bayeskit.reports import cases
from bayeskit.reports import network as network_page
from bayeskit.reports import panel as what_if
from bayeskit.reports.markup import Section
from bayeskit.reports.page import EXPLAINED, SCRIPTS, _page
from bayeskit.reports.profile import Table
from bayeskit.reports.whatif import WhatIf

DRAWN = 200  # rows made up to check the page by
MISSING = 0.1  # of their values
HEIGHT = 720  # pixels
# a frame has a page around it
ALONE = "<style>body { display: block } body > header, body > nav, .skip { display: none }</style>"


@dataclass(frozen=True, repr=False)
class Panel:
    """The page of the panel: a notebook shows it, ``html`` is the whole file."""

    html: str
    height: int = HEIGHT

    def _repr_html_(self) -> str:
        page = html.escape(self.html, quote=True)
        style = f"width:100%;height:{self.height}px;border:1px solid #ccc;border-radius:6px"
        return f'<iframe srcdoc="{page}" style="{style}" title="A model to try out"></iframe>'

    def __repr__(self) -> str:
        return f"<Panel of {len(self.html):,} characters: a notebook shows it; .html is the page>"


def panel(model: object, X: TableLike | None = None, *, title: str = "What if?", height: int = HEIGHT) -> Panel:
    """The model to try out in a notebook: change a value, a prior or a cost, and see what follows.

    It is the panel of a report, which computes in the page from the model's own terms. They are checked against the
    model on rows whose values are drawn from those learned, or on those of X. On that of a ``Network`` evidence is set
    by choosing states and moving sliders, and the beliefs of all nodes follow, exactly.

    Parameters
    ----------
    model : classifier or Network
        A fitted classifier, or a network with tables.
    X : table, optional
        Rows whose values the panel offers; those that the model has learned unless given.
    title : str, default "What if?"
        The heading.
    height : int, default 720
        Pixels of the frame in the notebook.

    Returns
    -------
    Panel
        A notebook shows it; ``html`` is the page.

    Examples
    --------
    >>> import bayeskit as bk
    >>> from bayeskit.cli.example import clinic
    >>> bk.panel(bk.NaiveBayes().fit(clinic(200), "diagnosis")).html[:15]
    '<!doctype html>'
    """
    if isinstance(model, Network):
        if X is not None:
            raise InputError("the panel of a network takes no rows; leave X out")
        return _alone(network_page.panel(model), title, network_page.SCRIPTS, height)
    if not isinstance(model, BayesClassifier | AutoBayes | Calibrated | AnyWrapper):
        raise KindError(f"panel() takes a fitted classifier of bayeskit or a Network, not {type(model).__name__}")
    known = model.table_reader()
    if X is None and known is None:
        raise InputError("the classifier inside is not of bayeskit, so the values it has learned are not known; give X")
    rows = _made_up(known) if X is None and known is not None else X
    assert rows is not None
    count = len(model.predict(rows))
    found = evaluate(model, rows, model.classes_[np.arange(count) % len(model.classes_)], AsFitted())  # any labels do
    table = Table.of(found)
    if table is None:
        raise InputError("a panel needs rows in memory; leave X out, or read some of them first")
    chosen = table.pick_rows(EXPLAINED)
    seen = cases.explain(model, table.take(chosen))
    importance = None if seen is None else cases.importance(seen)
    written = WhatIf.of(model, table, chosen, None if seen is None else seen.proba, False)
    section = what_if.section(found, written, seen, importance, [], table)
    return _alone(section, title, SCRIPTS, height)


def _alone(section: Section, title: str, scripts: tuple[str, ...], height: int) -> Panel:
    """One section as a page without heading and contents, for a frame."""
    return Panel(_page([section], title, scripts).replace("</head>", f"{ALONE}</head>", 1), height)


def _made_up(model: Model) -> TableLike:
    """Rows of values that the model has learned, each drawn by itself; the first two have the ends of numbers."""
    rng, known = np.random.default_rng(0), marginals(model)
    words = {name for density in word_densities(model) for name in density.columns}
    rows: dict[str, list[Any]] = {}
    for name in model.schema.names:
        alone = known.get(name)
        if alone is None:  # a word, or constant
            word = model.schema[name].numeric and name in words
            rows[name] = rng.integers(3, size=DRAWN).tolist() if word else [None] * DRAWN
            continue
        values = alone.as_recorded()[0].tolist() if alone.numeric else list(alone.values)
        drawn = [values[i] for i in rng.integers(len(values), size=DRAWN).tolist()]
        drawn = [None if missing else value for value, missing in zip(drawn, rng.random(DRAWN) < MISSING, strict=True)]
        if alone.numeric:
            drawn[:2] = [end if np.isfinite(end) else values[0] for end in alone.seen]
        rows[name] = drawn
    return rows if model.schema.named else np.array(list(rows.values()), dtype=np.float64).T
