"""Every use of a model that was loaded."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

import bayeskit as bk
from bayeskit.errors import BayeskitError
from bayeskit.estimators.wrapper import core

NUMBERS = (0.5, 1.0, 3.25, 0.0)


def every_use(file: Path, again: Path) -> bool:
    """Load a file and use what it holds in every way; only bayeskit's own errors are let pass. Whether it loaded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = bk.load(file)
        except BayeskitError:
            return False
        for use in _network(model, again) if isinstance(model, bk.Network) else _classifier(model, again):
            try:
                use()
            except BayeskitError:
                continue
    return True


def _classifier(model: Any, again: Path) -> list[Callable[[], Any]]:
    known = core(model).model_
    columns = {}
    for column in known.schema.columns:
        levels = known.counted.domain.levels.get(column.name)
        values = list(NUMBERS) if column.numeric or not levels else [*levels.values, None][:4]
        columns[column.name] = (values * 4)[:4]
    X: Any = columns if known.schema.named else [list(row) for row in zip(*columns.values(), strict=True)]
    y = [known.classes.tolist()[i % len(known.classes)] for i in range(4)]
    name = next(iter(columns), "")
    uses = [
        lambda: model.predict(X),
        lambda: np.isfinite(model.predict_proba(X)).all() or _fail("a posterior is no number"),
        lambda: model.predict_log_proba(X),
        lambda: model.predict_frame(X, reasons=1),
        lambda: str(model.explain(X)),
        lambda: model.summary()._repr_html_(),
        lambda: (str(model.summary()), repr(model), model._html_repr()),
        lambda: _same(model, again),
        lambda: copy(model).partial_fit(X, y).predict(X),
        lambda: copy(model).forget(X, y).predict(X),
        lambda: model.merge(copy(model)).predict(X),
        lambda: model.nomogram(),
        lambda: model.counterfactual(X),
    ]
    if isinstance(model, bk.AutoBayes):
        return uses
    return [
        *uses,
        lambda: str(model.schema_),
        lambda: model.log_evidence(X),
        lambda: model.predict_joint_log_proba(X),
        lambda: model.marginal(name),
        lambda: model.adapt_prior(X),
    ]


def _network(net: Any, again: Path) -> list[Callable[[], Any]]:
    numbers = [column.name for column in net.schema_.columns if column.kind == "quantitative"]
    rows = {
        node: [0.5, -1.0, None, 2.0] if node in numbers else ([*net.states(node), None] * 4)[:4] for node in net.nodes
    }
    node, given = net.nodes[-1], {name: states[0] for name, states in list(rows.items())[:1]}
    return [
        lambda: net.query(node),
        lambda: net.query(node, given),
        lambda: (repr(net), net._repr_html_(), net.svg()),
        lambda: net.table(node),
        lambda: _same(net, again),
        lambda: copy(net).partial_fit(rows).query(node),
        lambda: copy(net).forget(rows).query(node),
        lambda: net.merge(copy(net)).query(node),
        lambda: net.markov_blanket(node),
    ]


def _same(model: Any, again: Path) -> None:
    """What was loaded is saved, loads again, and saves as the same bytes."""
    try:
        model.save(again)
        first = again.read_bytes()
        bk.load(again).save(again)
    except BayeskitError as error:
        raise AssertionError(f"what was loaded cannot be saved and loaded again: {error}") from error
    assert again.read_bytes() == first, "saved again it is another file"


def _fail(why: str) -> None:
    raise AssertionError(why)
