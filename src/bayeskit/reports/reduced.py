"""Reduced: a panel of the columns that matter most, for models that do not fit into a page as they are.

The model is asked beforehand, at every combination of some values of these columns, with all others at their usual
values; the page looks the answers up. So any classifier has a panel, and at these values it says what ``predict_proba``
says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from bayeskit.arrays import FRONT, Classifier, Float, Label
from bayeskit.estimators.any_wrapper import AnyWrapper
from bayeskit.estimators.auto import AutoBayes
from bayeskit.estimators.calibrated import Calibrated
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.portable.program import InputColumn, Member, Program, Term
from bayeskit.portable.symbol import Symbol, take, total
from bayeskit.reports.effects import EffectProbe, change_rows, usual_values, value_text
from bayeskit.reports.profile import InputField, Profile, Table
from bayeskit.reports.program import PageProgram
from bayeskit.reports.whatif import WhatIf

MOST, VALUES = 6, 7  # columns, and values of each
ASKED, NUMBERS = 4_000, 400_000  # combinations, and numbers in the page
LEAST = -60.0  # nats: a class that is impossible to begin with can still become possible


def reduce_columns(model: Classifier, table: Table, worth: Mapping[str, float], why: str) -> WhatIf | None:
    """A panel of the columns worth most; None where no column has two values."""
    probe = EffectProbe(model, table, (0,))
    profiles = sorted(table.profiles.values(), key=lambda p: -worth.get(p.name, 0.0))
    chosen = _choose(probe, [p for p in profiles if worth.get(p.name, 0.0) > 0], len(model.classes_))
    if not chosen:
        return None
    logs = _predict_grid(probe, chosen)
    start = np.maximum(logs[(0,) * len(chosen)], LEAST)
    program = _program(probe, chosen, logs - start, start)
    others = len(table.names) - len(chosen)
    missing = "" if probe.optional else " A value left open counts as usual: this model needs every column."
    which = f"The {len(chosen)} columns that matter most (the other {others:,} are at their usual values)"
    which = which if others else f"All {len(chosen)} columns"
    lead = (
        f"{which} can be changed. The page holds the answers of the model at all {logs[..., 0].size:,} combinations of "
        f"the values offered, as Python gives them, because {why}.{missing}"
    )
    return WhatIf(program, "", 0.0, 0, lead=lead)


def _choose(probe: EffectProbe, profiles: Sequence[Profile], classes: int) -> dict[str, Sequence[Label]]:
    """Columns with the values offered, as many as the combinations allow."""
    found: dict[str, Sequence[Label]] = {}
    cells, numbers = 1, classes
    for profile in profiles[: 4 * MOST]:
        values = probe.values(profile, VALUES)
        more = len(values) + 1
        if len(values) < 2 or cells * more > ASKED or numbers * (more + FRONT - 1) > NUMBERS:
            continue
        found[profile.name] = values
        cells, numbers = cells * more, numbers * (more + FRONT - 1)
        if len(found) == MOST:
            break
    return found


def _predict_grid(probe: EffectProbe, chosen: Mapping[str, Sequence[Label]]) -> Float:
    """log P(class) at every combination, in front a missing (or else the usual) value: (m + 1, ..., K)."""
    table, model = probe.table, probe.model
    usual = usual_values(table)
    first = {name: None if probe.optional else usual[name] for name in chosen}
    every = list(product(*([first[name], *values] for name, values in chosen.items())))
    changed = {name: [usual[name]] * len(every) for name in table.names}
    changed |= {name: [cell[j] for cell in every] for j, name in enumerate(chosen)}
    rows = change_rows(table, np.zeros(len(every), dtype=np.int64), changed)
    with np.errstate(divide="ignore"):
        logs = np.log(model.predict_proba(rows))
    return logs.reshape(*(len(values) + 1 for values in chosen.values()), logs.shape[1])


def _program(
    probe: EffectProbe, chosen: Mapping[str, Sequence[Label]], logs_by_value: Float, base: Float
) -> PageProgram:
    """One term of all columns: what each combination adds to ``base``."""
    model, usual = probe.model, usual_values(probe.table)
    steps = [float(np.prod(logs_by_value.shape[j + 1 : -1])) for j in range(len(chosen))]
    codes = [Symbol("code", j) for j in range(len(chosen))]
    index = total([(code + 1) * step for code, step in zip(codes, steps, strict=True)])
    term = Term(tuple(chosen), take(logs_by_value.reshape(-1, len(base)), index))
    columns = tuple(InputColumn(name, False) for name in chosen)
    member = Member(type(model).__name__, 1.0, base, (term,))
    fields = tuple(
        InputField(n, _start(v, usual[n]), tuple(map(value_text, v)), tuple(range(len(v)))) for n, v in chosen.items()
    )
    return PageProgram(Program.alone(model.classes_.tolist(), columns, member, _prior(model, probe.table)), fields)


def _start(values: Sequence[Label], usual: Label) -> int:
    """The place of the usual value, or of the number next to it."""
    if usual in values or not isinstance(usual, float | int):
        return values.index(usual) if usual in values else 0
    return int(np.argmin(np.abs(np.array(values, dtype=np.float64) - usual)))


def _prior(model: Classifier, table: Table) -> Float:
    """The model's own, or the shares of the classes."""
    while isinstance(model, Calibrated | AnyWrapper):
        model = model.estimator_
    if isinstance(model, BayesClassifier | AutoBayes):
        return np.exp(model.log_prior())
    labels = table.sample.rows.classes.tolist()
    often = dict(zip(labels, np.bincount(table.truth[table.truth >= 0], minlength=len(labels)), strict=True))
    share = np.array([float(often.get(label, 0)) for label in model.classes_.tolist()])
    prior: Float = share / share.sum()
    return prior
