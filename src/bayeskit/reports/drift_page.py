"""Drift page: what moved since a model was fitted, as one file that needs nothing else."""

from __future__ import annotations

import numpy as np

from bayeskit.evaluation.drift import LARGE, MODERATE, ColumnDrift, Drift
from bayeskit.reports.markup import Safe, Section, folding_table, number, percent, table, text

WORDS = {"large": "moved, large", "moderate": "moved, moderate", "small": "moved, small", "": "–"}


def lead(drift: Drift) -> str:
    """The verdict, and how far it can be trusted."""
    alarm = f"Where nothing drifts, any mark at all has a chance of at most {drift.level:.10g} (Holm, all tests)."
    return f'<p class="lead"><strong>{text(drift.verdict, 400)}.</strong> {text(alarm, 400)}</p>'


def sections(drift: Drift) -> list[Section]:
    """The parts of the page."""
    found = [_columns(drift), _missing(drift), _unseen(drift), _classes(drift), _evidence(drift), _notes(drift)]
    return [section for section in found if section is not None]


def _columns(drift: Drift) -> Section:
    rows = [
        [c.name, c.kind, WORDS[c.strength], c.measure, number(c.size), number(c.psi), _chance(c.p)]
        for c in drift.columns
    ]
    head = ["column", "kind", "values", "compared by", "size", "PSI", "p"]
    words = (
        f"PSI is the population stability index: below {MODERATE:g} a move is called small, below {LARGE:g} moderate. "
        "Levels, and numbers that the model counts in cells, are compared by their shares, other numbers by mean and "
        "spread. p is adjusted for all tests of this page."
    )
    return Section("columns", "Columns", f"<p>{text(words, 600)}</p>{folding_table(rows, head, 4)}")


def _missing(drift: Drift) -> Section | None:
    incomplete = [c for c in drift.columns if c.missing_before > 0 or c.missing_now > 0]
    if not incomplete:
        return None
    order = sorted(incomplete, key=lambda c: (not c.missing_moved, -abs(c.missing_now - c.missing_before)))
    rows = [
        [
            c.name,
            "moved" if c.missing_moved else "–",
            percent(c.missing_before),
            percent(c.missing_now),
            _chance(c.missing_p),
        ]
        for c in order
    ]
    return Section("missing", "Missing values", folding_table(rows, ["column", "share", "before", "now", "p"], 2))


def _unseen(drift: Drift) -> Section | None:
    changed: list[ColumnDrift] = [c for c in drift.columns if c.unseen > 0]
    if not changed:
        return None
    rows = [[c.name, ", ".join(c.unseen_levels), percent(c.unseen)] for c in changed]
    words = "Levels that the model has never learned; what they say of the class is missing to it."
    return Section(
        "unseen", "Levels never seen", f"<p>{words}</p>{folding_table(rows, ['column', 'levels', 'share'], 2)}"
    )


def _classes(drift: Drift) -> Section | None:
    if drift.classes is None or drift.accuracy is None:
        return None
    shift, a = drift.classes, drift.accuracy
    rows = [
        [label, percent(float(before)), percent(float(now))]
        for label, before, now in zip(shift.classes.tolist(), shift.old, shift.new, strict=True)
    ]
    words = (
        "The shares that make the new rows most likely (adapt_prior). They take the model's probabilities at their "
        "word and suppose that nothing but the shares of the classes changed, so they are not tested."
    )
    right = (
        f"If so, the model is right in {percent(a.as_is)} of the new rows as it is, and in {percent(a.adapted)} with "
        f"the new shares as its prior."
    )
    body = f"<p>{text(words, 600)}</p>{table(['class', 'before', 'now'], rows)}<p>{text(right, 600)}</p>"
    return Section("classes", "Classes", body)


def _evidence(drift: Drift) -> Section | None:
    return (
        None if drift.evidence is None else Section("evidence", "Evidence", f"<p>{text(str(drift.evidence), 600)}.</p>")
    )


def _notes(drift: Drift) -> Section | None:
    if not drift.notes:
        return None
    return Section("notes", "Notes", f"<ul>{''.join(f'<li>{text(note, 600)}</li>' for note in drift.notes)}</ul>")


def _chance(p: float) -> Safe:
    return Safe("–" if np.isnan(p) else "&lt; 0.0001" if p < 1e-4 else f"{p:.4f}")
