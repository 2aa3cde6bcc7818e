"""Bundling: a pool of classifiers as one file, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import bayeskit
from bayeskit.arrays import Json
from bayeskit.ensemble.candidate import Member
from bayeskit.ensemble.leaderboard import Leaderboard, LeaderboardEntry
from bayeskit.ensemble.pool import Pool
from bayeskit.ensemble.views import View, ViewNotes
from bayeskit.errors import ModelFileError
from bayeskit.estimators.classifier import BayesClassifier
from bayeskit.model.codec import parsed, written
from bayeskit.model.model import Model
from bayeskit.storage.bundle import Bundle
from bayeskit.storage.model_file import Read
from bayeskit.validation import saved_as

POOL = ("weight", "bias", "gain", "curvature")
Score = float | None  # where there is none


@dataclass(frozen=True)
class Notes:
    """What a file tells of the members beside their models."""

    names: tuple[str, ...]
    views: tuple[ViewNotes | None, ...]
    leaderboard: tuple[tuple[str, Score, Score, Score, str], ...] = field(metadata=saved_as("roll"))
    rows: int


def bundled(
    name: str,
    settings: Mapping[str, object],
    reader: BayesClassifier,
    members: Sequence[Member],
    pool: Pool,
    leaderboard: Leaderboard,
    rows: BayesClassifier | None = None,
) -> Bundle:
    """All that a pool has learned; ``rows`` keeps those that it learned, where it does."""
    kept = {} if rows is None else {"rows": _kept(rows)}
    parts = {"encoder": _kept(reader), **kept, **{f"member {i}": _kept(m.classifier) for i, m in enumerate(members)}}
    numbers = {f"pool.{n}": getattr(pool, n) for n in POOL}
    for i, view in enumerate(m.view for m in members):
        numbers |= {} if view is None else {f"view {i}.{n}": a for n, a in view.numbers().items()}
    lines: tuple[Any, ...] = tuple(
        (n, *(float(v) if np.isfinite(v) else None for v in values), why) for n, *values, why in leaderboard.lines
    )
    views = tuple(None if m.view is None else m.view.described() for m in members)
    notes = Notes(tuple(m.name for m in members), views, lines, leaderboard.rows)
    return Bundle(name, dict(settings), parts, written(notes), numbers)


def unbundled(bundle: Bundle) -> tuple[BayesClassifier, tuple[Member, ...], Pool, Leaderboard, BayesClassifier | None]:
    """Reader, members, pool, leaderboard, and what keeps the rows if any does; members share equal views."""
    notes, numbers = parsed(Notes, bundle.notes), bundle.numbers
    made = {name: revived(*part) for name, part in bundle.parts.items()}
    reader, rows = made.pop("encoder"), made.pop("rows", None)
    if rows is not None and not rows.model_.structure.kept:
        raise ModelFileError("it says that it keeps rows and does not")
    if made.keys() != {f"member {i}" for i in range(len(notes.names))} or notes.rows < 0:
        raise ModelFileError("its members are not those it names")
    members: list[Member] = []
    for i, (name, view) in enumerate(zip(notes.names, notes.views, strict=True)):
        mine = {k.removeprefix(f"view {i}."): a for k, a in numbers.items() if k.startswith(f"view {i}.")}
        member = Member(name, made[f"member {i}"], None if view is None else View.rebuilt(view, mine, reader.model_))
        _agrees(member, reader)
        same = next((m for m in members if member.sees_like(m)), member)
        members.append(replace(member, view=same.view))
    pool = Pool(*(numbers[f"pool.{n}"] for n in POOL))
    m, k = len(members), len(reader.classes_)
    shapes = [np.shape(getattr(pool, n)) for n in POOL]
    known = {f"view {i}.{n}" for i, one in enumerate(members) if one.view is not None for n in one.view.numbers()}
    if shapes != [(m,), (k,), (m,), (m + k, m + k)] or numbers.keys() != known | {f"pool.{n}" for n in POOL}:
        raise ModelFileError("its members do not fit its weights")
    even = np.allclose(pool.curvature, pool.curvature.T)
    if not (pool.weight >= 0).all() or not even or not (np.linalg.eigvalsh(pool.curvature) > 0).all():
        raise ModelFileError("its weights cannot be")
    lines = [
        LeaderboardEntry._make([n, *(np.nan if v is None else v for v in values), why])
        for n, *values, why in notes.leaderboard
    ]
    return reader, tuple(members), pool, Leaderboard(tuple(lines), notes.rows), rows


def _agrees(member: Member, reader: BayesClassifier) -> None:
    """Refuse a member that cannot read the rows as the encoder gives them, or tells of other classes."""
    mine, whole = member.classifier.model_, reader.model_
    columns = mine.schema.names == whole.schema.names and mine.schema.named == whole.schema.named
    seen = columns if member.view is None else not mine.schema.named and len(mine.schema.names) == len(member.view)
    # labels may be of another type, texts as objects for instance: answers have that of the encoder
    if not seen or mine.counted.domain.classes != whole.counted.domain.classes:
        raise ModelFileError(f"its member {member.name!r} does not fit the others")


def _kept(classifier: Any) -> Read:
    return classifier.model_, type(classifier).__name__, classifier.saved_settings()


def revived(model: Model, name: str, settings: Json) -> BayesClassifier:
    """The estimator of a model that was saved."""
    kind = getattr(bayeskit, name)
    if not issubclass(kind, BayesClassifier):
        raise ModelFileError(f"a {name} is no classifier of one model")
    made: BayesClassifier = kind(**settings)
    made.spec().structure(model.schema)  # refuses settings that no table of these columns could have been learned with
    return made.with_model(model)
