"""WhatIf: the model in the page, or why it is not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.arrays import Float, Int
from bayeskit.decision.calibration import Sigmoid, Temperature
from bayeskit.estimators.auto import AutoBayes
from bayeskit.estimators.calibrated import Calibrated
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.estimators.risk import RiskClassifier
from bayeskit.model.model import Model
from bayeskit.reports.additive import Additive
from bayeskit.reports.discrete import Discrete, coding
from bayeskit.reports.inputs import InputField, InputMap, Plain, questions
from bayeskit.reports.near import NeighborTerms
from bayeskit.reports.normal import Cells, Normal
from bayeskit.reports.packed import Store
from bayeskit.reports.profile import Profile, Table
from bayeskit.reports.program import MemberProgram, Program, Says
from bayeskit.structures.averaged import AveragedDensity
from bayeskit.structures.factored import FactorDensity
from bayeskit.structures.full import FullDensity
from bayeskit.structures.hidden import NetworkedDensity
from bayeskit.structures.neighbours import NeighbourDensity

AGREES = 1e-6  # what a panel may differ from Python
FAR = 1e-4  # a panel that differs by more is left out
COLUMNS = 2000  # of which a panel can hold terms
MOST = 4_000_000  # numbers of one classifier, before they are packed
ROOM = 2_300_000  # characters of all numbers: the page stays under three million


class Unwritten(Exception):
    """Why a model is not in the page."""


@dataclass(frozen=True)
class WhatIf:
    """A program, how far it was from Python on the evaluated rows, and what is to be said of it."""

    program: Program | None
    note: str
    gap: float = np.nan
    checked: int = 0  # rows
    less: str = ""  # what the program is without, and how far that moves answers
    lead: str = ""  # what a panel of some columns is made of

    @classmethod
    def of(cls, estimator: Any, table: Table | None, which: Int, proba: Float | None, rows: bool) -> WhatIf:
        """Written down, and checked on some rows whose posterior is known; too far off, it is left out.

        ``rows`` says whether learned rows may be in the page; a pool does without the members that look them up, and
        how far its answers move is told.
        """
        if table is None:
            return cls(None, "the rows were streamed and none was kept, so the range of values is not known")
        try:
            whole = _program(estimator, table.profiles)
            program = whole if rows else _without_rows(whole)
            _check_room(program)
        except Unwritten as why:
            return cls(None, str(why))
        assert proba is not None  # what can be written down can be explained
        values = table.values(which, [q.name for q in program.questions])
        apart = whole.apart(values, proba)
        gap = float(apart.max(initial=0.0))
        if gap > FAR:
            return cls(None, f"what could be written down differs from the model by {gap:.1g}")
        notes = list(dict.fromkeys(program.notes))
        if program is not whole:
            gone = [m.name for m in whole.members if isinstance(m.says, NeighborTerms)]
            apart = program.apart(values, proba)
            gap = float(apart.max(initial=0.0))
            return cls(program, "; ".join(notes), gap, len(apart), _moved(gone, apart))
        return cls(program, "; ".join(notes), gap, len(apart))


def _without_rows(program: Program) -> Program:
    if not program.rows:
        return program
    less = program.without_rows()
    if less is None:
        raise Unwritten(
            "neighbours are looked up in the learned rows, which are in a page only if they are asked for (--rows, or "
            "rows=True in Python)"
        )
    return less


def _moved(gone: Sequence[str], apart: Float) -> str:
    names = " and ".join(filter(None, (", ".join(map(repr, gone[:-1])), repr(gone[-1]))))
    look, are = ("look", "are") if len(gone) > 1 else ("looks", "is")
    return (
        f"{names}, which {look} up learned rows, {are} left out (--rows puts them in the page, rows=True in "
        f"Python): that moves answers by {apart.mean():.3f} on average and {apart.max(initial=0.0):.3f} at most"
    )


def _program(estimator: Any, profiles: Mapping[str, Profile]) -> Program:
    if isinstance(estimator, RiskClassifier):
        return _program(estimator.estimator_, profiles)
    if isinstance(estimator, AutoBayes):
        if not estimator.members_:
            raise Unwritten("nothing predicts the class better than its prior, whatever the values")
        return _pooled(estimator, profiles)
    if isinstance(estimator, Calibrated):
        times, more = _calibrated(estimator)
        return _program(estimator.estimator_, profiles).scaled(times, more, np.exp(estimator.log_base))
    if not isinstance(estimator, BayesClassifier):
        raise Unwritten(f"{type(estimator).__name__} cannot be written down term by term")
    model, name = estimator.model_, type(estimator).__name__
    asked = _asked(model, profiles)
    member = MemberProgram(name, 1.0, model.log_base(), _says(model, asked, name))
    return Program.alone(tuple(map(str, model.classes.tolist())), asked, member, np.exp(model.log_prior()))


def _calibrated(estimator: Calibrated) -> tuple[float, Float]:
    """What the scores of the classifier are multiplied with, and what is added: (K,)."""
    found = estimator.calibration_
    if isinstance(found, Temperature):
        return found.weight, np.zeros(len(estimator.classes_))
    if isinstance(found, Sigmoid) and len(estimator.classes_) == 2:
        return float(found.slope[0]), np.array([0.0, found.shift[1]])
    raise Unwritten(f"calibration by {estimator.method!r} cannot be written down term by term")


def _asked(model: Model, profiles: Mapping[str, Profile]) -> tuple[InputField, ...]:
    names = model.schema.names
    if len(names) > COLUMNS or not set(names) <= set(profiles):
        raise Unwritten(f"its {len(names):,} columns are too many for a page")
    return questions(model, profiles)


def _pooled(pool: AutoBayes, profiles: Mapping[str, Profile]) -> Program:
    """Every member as a program."""
    asked = _asked(pool.reader_.model_, profiles)
    members = []
    for member, weight in zip(pool.members_, pool.pool_.weight.tolist(), strict=True):
        input_map = None if member.view is None else InputMap.of(member.view, asked)
        model = member.classifier.model_
        members.append(
            MemberProgram(member.name, weight, model.log_base(), _says(model, asked, member.name, input_map))
        )
    rows = float(pool.reader_.model_.weights.sum())
    return Program(
        tuple(map(str, pool.classes_.tolist())),
        asked,
        tuple(members),
        pool.log_base(),
        pool.log_shares,
        1 / (rows + 10),
        np.exp(pool.log_prior()),
    )


def _says(model: Model, asked: Sequence[InputField], name: str, input_map: InputMap | None = None) -> Says:
    """What the density of a model says, its columns being questions, or inputs of a map."""
    density = model.density
    first = density.densities[0] if len(density.densities) == 1 else None
    place = {q.name: j for j, q in enumerate(asked)}
    if isinstance(first, FactorDensity | AveragedDensity | NetworkedDensity):
        _check_numbers(name, first.numbers)
        return Discrete(model, asked).factors(first)
    if isinstance(first, FullDensity):
        columns, coded = first.normals.numbers.columns, first.joint.columns
        inputs = [
            Plain(place[n]) if input_map is None else input_map.inputs[model.schema.names.index(n)] for n in columns
        ]
        _check_numbers(name, first.classes * len(columns) ** 2 + sum(c.offset.size for c in first.normals.cells))
        codings = [coding(model, asked[place[n]]) for n in coded]
        cells = Cells.of_joint(first.joint, first, [place[n] for n in coded], codings) if coded else None
        return Normal.of(first, InputMap(tuple(inputs)), cells)
    if isinstance(first, NeighbourDensity):
        if first.metric.covariance is not None:
            raise Unwritten(f"the distances of {name} depend on which columns are known, which no table holds")
        _check_numbers(name, first.statistic.rows.numbers.size + first.statistic.rows.codes.size)
        return _near(model, first, asked, input_map)
    if density.additive and density.columns == model.schema.names:
        return Additive.of(model, asked).factors()
    raise Unwritten(f"{name} cannot be written down term by term")


def _near(
    model: Model, density: NeighbourDensity, asked: Sequence[InputField], input_map: InputMap | None
) -> NeighborTerms:
    schema, place = density.statistic.schema, {q.name: j for j, q in enumerate(asked)}
    if input_map is not None:
        inputs = tuple(input_map.inputs[model.schema.names.index(n)] for n in schema.numeric)
        return NeighborTerms.of_density(density, InputMap(inputs), (), ())
    codings = {n: coding(model, asked[place[n]]) for n in schema.coded}
    ranked = [n for n, most in zip(schema.coded, density.metric.ordinal, strict=True) if most > 0]
    plain = [n for n in schema.coded if n not in ranked]
    numbers = [Plain(place[n]) for n in schema.numeric] + [Plain(place[n], codings[n].codes) for n in ranked]
    return NeighborTerms.of_density(
        density, InputMap(tuple(numbers)), [place[n] for n in plain], [codings[n] for n in plain]
    )


def _check_numbers(name: str, numbers: int) -> None:
    """Refuse early what cannot fit."""
    if numbers > MOST:
        raise Unwritten(f"{name} has {numbers:,} numbers, too many for a page")


def _check_room(program: Program) -> None:
    whole, sizes = len(program.json()["numbers"]["data"]), {}
    if whole > ROOM:
        for member in program.members:
            store = Store()
            member.json(store)
            sizes[member.name] = len(store.json()["data"])
        largest = max(sizes, key=lambda name: sizes[name])
        raise Unwritten(
            f"its numbers take {whole / 1e6:.1f} MB ({largest} alone {sizes[largest] / 1e6:.1f}), too much for a page"
        )
