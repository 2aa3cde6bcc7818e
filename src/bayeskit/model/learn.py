"""learn: what to learn, and the way from that and a table to a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from bayeskit.arrays import KindsLike, Label, LabelsLike, MissingLike, TableLike, WeightsLike
from bayeskit.data.encode import Roles
from bayeskit.data.schema import Schema
from bayeskit.densities.likelihood import Staged, describe_family
from bayeskit.errors import InputError
from bayeskit.model.model import Model
from bayeskit.model.open_table import OpenTable, check_rows
from bayeskit.model.posterior import normal_prior
from bayeskit.statistics.counted import Counted
from bayeskit.structures.naive import Naive
from bayeskit.structures.wrapped import FromRows

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
        return Naive.alike(
            [FromRows(f.first_stage()) for f, _ in built.components if isinstance(f, Staged)], named
        ), named

    @property
    def algebraic(self) -> bool:
        """Whether models of folds come from one pass: fitting only counts, and nothing is fitted to labels after."""
        return self.one_pass and not self.fits_weights


def in_one_component(likelihood: Any, schema: Schema, why: str) -> tuple[Naive, Schema]:
    """All columns in one likelihood."""
    family = describe_family(likelihood)
    columns = tuple(replace(c, family=family, why_family=why) for c in schema.columns)
    schema = replace(schema, columns=columns)
    return Naive.alike([likelihood], schema), schema


class Countable(Protocol):
    """A table whose rows can be counted: one that was opened, or coded already."""

    @property
    def roles(self) -> Roles: ...
    @property
    def place(self) -> str: ...
    def schema(self, kinds: KindsLike, missing: MissingLike, classes: Sequence[Label]) -> Schema: ...
    def count(self, empty: Counted, sparse: bool) -> Counted: ...


def learn(
    spec: Spec,
    table: Countable,
    classes: Sequence[Label] = (),
    folds: int = 1,
    fixed: Naive | None = None,
    declared: Schema | None = None,
) -> Model:
    """The model of all rows of a table; what it counted may be kept apart by fold.

    ``fixed`` is a structure whose choices are kept, ``declared`` a schema whose kinds and levels are.
    """
    found = table.schema(spec.kinds, spec.missing, classes)
    structure, schema = spec.structure(found if declared is None else declared.unify(found))
    next_stage: Naive | None = structure if fixed is None else structure.with_choices_of(fixed)
    while next_stage is not None:  # what to count may depend on what was counted before
        structure = next_stage
        empty = Counted.empty(schema, Model.statistic(structure, schema), table.roles, folds)
        counted = table.count(empty, structure.sparse)
        check_rows(counted, table.place)
        model = Model(counted.canonical(), structure, normal_prior(spec.prior), spec.unseen)
        next_stage = model.next_stage()
    return model


def learn_rows(
    spec: Spec,
    X: TableLike,
    y: LabelsLike | None,
    weight: WeightsLike = None,
    classes: Sequence[Label] = (),
    fixed: Naive | None = None,
) -> Model:
    """The model of one table alone."""
    return learn(spec, OpenTable.of(X, _labels(y), weight, spec.n_jobs), classes, fixed=fixed)


def learn_like(
    spec: Spec,
    known: Model,
    X: TableLike,
    y: LabelsLike | None,
    weight: WeightsLike = None,
    classes: Sequence[Label] = (),
) -> Model:
    """The model of one table alone, whose columns must be those of a known model; the choices of that are kept."""
    table = OpenTable.of(X, _labels(y), weight, spec.n_jobs, known.counted.types).against(known.schema, spec.name)
    return learn(spec, table, classes, fixed=known.structure)


def _labels(y: LabelsLike | None) -> LabelsLike:
    if y is None:
        raise InputError("requires y to be passed, but the target y is None: give the labels, or name their column")
    return y


def learn_more(
    spec: Spec, model: Model, X: TableLike, y: LabelsLike, weight: WeightsLike, classes: Sequence[Label]
) -> Model:
    """The model of its rows and those of a table; new classes and levels join, and ``classes`` declares some."""
    fresh = learn_like(spec, model, X, y, weight, classes)
    model.counted.domain.check_classes(fresh.counted.domain)
    # prior and unseen may have been set anew; they are not part of the counts
    return replace(model, prior=fresh.prior, unseen=fresh.unseen).merge(fresh)


def forget_rows(spec: Spec, model: Model, X: TableLike, y: LabelsLike, weight: WeightsLike) -> Model:
    """The model without the rows of a table; refused where it shows that they were not learned, or none is left."""
    return forget_counts(model, learn_like(spec, model, X, y, weight))


def forget_counts(model: Model, gone: Model) -> Model:
    """The model without the rows of another, refused as by ``forget_rows``."""
    rest = model.subtract(gone)
    if not rest.weights.sum() > 0:
        raise InputError("forgetting these rows would leave nothing; drop the model instead")
    return rest


def reuse_counts(spec: Spec, model: Model) -> Model:
    """The model of the same counts with other settings, which must ask for the same counts."""
    structure, schema = spec.structure(model.schema)
    return Model(model.reuse_counts(structure, schema), structure, normal_prior(spec.prior), spec.unseen)
