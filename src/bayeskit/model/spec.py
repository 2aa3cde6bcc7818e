"""Spec: what to learn from a table; an estimator makes one, and nothing below needs the estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from bayeskit.data.schema import Schema
from bayeskit.densities.likelihood import Staged, describe_family
from bayeskit.errors import InputError
from bayeskit.model.prior import normal_prior
from bayeskit.structures.from_rows import FromRows
from bayeskit.structures.naive import Naive

UNSEEN = ("missing", "smooth", "error")


@dataclass(frozen=True)
class Spec:
    """Kinds of columns, likelihood and prior, as settings say; refused where they make no sense.

    ``build`` says how the columns of a schema hang together given the class; the schema comes back with families named.
    """

    name: str  # of the estimator, for messages
    build: Callable[[Schema], tuple[Naive, Schema]]
    kinds: Any = None
    missing: Any = "skip"
    prior: Any = "empirical"
    unseen: str = "missing"
    n_jobs: int | None = None
    one_pass: bool = True  # whether the counts of some folds are what a fit to them would count
    fits_weights: bool = False  # whether fitting also finds how much each column counts
    fixes_choices: bool = False  # whether factors are the same only where what fitting chose is fixed
    keeps_rows: bool = False  # whether rows are kept, and all that fitting chooses is derived from them

    def __post_init__(self) -> None:
        if self.unseen not in UNSEEN:
            raise InputError(f"unseen={self.unseen!r}: choose one of {', '.join(UNSEEN)}")
        normal_prior(self.prior)

    def structure(self, schema: Schema) -> tuple[Naive, Schema]:
        """The likelihood of the columns, derived from the rows themselves where these are kept."""
        built, named = self.build(schema)
        if not self.keeps_rows:
            return built, named
        return Naive.alike([FromRows(f.unfitted()) for f, _ in built.components if isinstance(f, Staged)], named), named

    @property
    def algebraic(self) -> bool:
        """Whether models of folds come from one pass: fitting only counts, and nothing is fitted to labels after."""
        return self.one_pass and not self.fits_weights


def together(likelihood: Any, schema: Schema, why: str) -> tuple[Naive, Schema]:
    """All columns in one likelihood."""
    family = describe_family(likelihood)
    columns = tuple(replace(c, family=family, why_family=why) for c in schema.columns)
    schema = replace(schema, columns=columns)
    return Naive.alike([likelihood], schema), schema
