"""Bundling: an ensemble as one file, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from bayeskit.arrays import Float, Json
from bayeskit.ensemble.candidate import Classifier, Member
from bayeskit.ensemble.ensemble import Ensemble
from bayeskit.ensemble.leaderboard import Leaderboard, LeaderboardEntry
from bayeskit.ensemble.pool import Pool
from bayeskit.ensemble.renewal import keeping_rows
from bayeskit.ensemble.views import View, ViewNotes
from bayeskit.errors import ModelFileError
from bayeskit.model.codec import parse_fields, write_fields
from bayeskit.model.learn import reuse_counts
from bayeskit.model.model import Model
from bayeskit.storage.model_file import Bundle, Read
from bayeskit.validation import name_in_files

Score = float | None  # where there is none


@dataclass(frozen=True)
class Notes:
    """What a file says of the members beside their models."""

    names: tuple[str, ...]
    views: tuple[ViewNotes | None, ...]
    leaderboard: tuple[tuple[str, Score, Score, Score, str], ...] = field(metadata=name_in_files("roll"))
    rows: int
    note: str = ""


def bundle(name: str, settings: Mapping[str, object], ensemble: Ensemble) -> Bundle:
    """All that an ensemble has learned, with the name and settings of its estimator."""
    rows: dict[str, Read] = {} if ensemble.rows is None else {"rows": (ensemble.rows, name, {})}
    members = {f"member {i}": _describe(m.classifier) for i, m in enumerate(ensemble.members)}
    numbers = {f"pool.{n}": a for n, a in asdict(ensemble.pool).items()}
    for i, view in enumerate(m.view for m in ensemble.members):
        numbers |= {} if view is None else {f"view {i}.{n}": a for n, a in view.numbers().items()}
    lines: tuple[Any, ...] = tuple(
        (n, *(float(v) if np.isfinite(v) else None for v in values), why)
        for n, *values, why in ensemble.leaderboard.lines
    )
    views = tuple(None if m.view is None else m.view.notes() for m in ensemble.members)
    board = ensemble.leaderboard
    notes = Notes(tuple(m.name for m in ensemble.members), views, lines, board.rows, board.note)
    return Bundle(
        name, dict(settings), {"encoder": _describe(ensemble.reader), **rows, **members}, write_fields(notes), numbers
    )


def unbundle(bundle: Bundle, revive: Callable[[Model, str, Json], Classifier]) -> Ensemble:
    """Back from a file; ``revive`` gives the classifier of a model. Members share equal views."""
    notes, numbers = parse_fields(Notes, bundle.notes), bundle.numbers
    kept = bundle.parts.get("rows")
    made = {name: revive(*part) for name, part in bundle.parts.items() if name != "rows"}
    reader = made.pop("encoder")
    if made.keys() != {f"member {i}" for i in range(len(notes.names))} or notes.rows < 0:
        raise ModelFileError("its members are not those it names")
    members: list[Member] = []
    for i, (name, view) in enumerate(zip(notes.names, notes.views, strict=True)):
        mine = {k.removeprefix(f"view {i}."): a for k, a in numbers.items() if k.startswith(f"view {i}.")}
        member = Member(name, made[f"member {i}"], None if view is None else View.rebuilt(view, mine, reader.model_))
        _check_agreement(member, reader)
        same = next((m for m in members if member.sees_like(m)), member)
        members.append(replace(member, view=same.view))
    known = {f"view {i}.{n}" for i, one in enumerate(members) if one.view is not None for n in one.view.numbers()}
    lines = [
        LeaderboardEntry._make([n, *(np.nan if v is None else v for v in values), why])
        for n, *values, why in notes.leaderboard
    ]
    pool = _pool(numbers, len(members), len(reader.model_.classes), known)
    rows = None if kept is None else _rows(kept[0])
    return Ensemble(reader, tuple(members), pool, Leaderboard(tuple(lines), notes.rows, notes.note), rows)


def _pool(numbers: Mapping[str, Float], m: int, k: int, others: Set[str]) -> Pool:
    """The pool of so many members and classes; beside it there are these numbers and no others."""
    shapes = {"weight": (m,), "bias": (k,), "gain": (m,), "curvature": (m + k, m + k)}
    found = {n: numbers[f"pool.{n}"] for n in shapes}
    if {n: a.shape for n, a in found.items()} != shapes or numbers.keys() != others | {f"pool.{n}" for n in shapes}:
        raise ModelFileError("its members do not fit its weights")
    pool = Pool(**found)
    even = np.allclose(pool.curvature, pool.curvature.T)
    if not (pool.weight >= 0).all() or not even or not (np.linalg.eigvalsh(pool.curvature) > 0).all():
        raise ModelFileError("its weights cannot be")
    return pool


def _rows(model: Model) -> Model:
    """The model that keeps the rows; in older files it has a likelihood beside."""
    if not model.structure.kept:
        raise ModelFileError("it says that it keeps rows and does not")
    return reuse_counts(keeping_rows(None, model.unseen, None), model)


def _check_agreement(member: Member, reader: Classifier) -> None:
    """Refuse a member that cannot read the rows as the encoder gives them, or knows other classes."""
    mine, whole = member.classifier.model_, reader.model_
    columns = mine.schema.names == whole.schema.names and mine.schema.named == whole.schema.named
    seen = columns if member.view is None else not mine.schema.named and len(mine.schema.names) == len(member.view)
    # labels may be of another type, texts as objects for instance: answers have that of the encoder
    if not seen or mine.counted.domain.classes != whole.counted.domain.classes:
        raise ModelFileError(f"its member {member.name!r} does not fit the others")


def _describe(classifier: Classifier) -> Read:
    return classifier.model_, type(classifier).__name__, classifier.settings_to_save()
