"""Model: a prior, a likelihood and what was counted; an immutable value."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayeskit.arrays import Array, Batch, Float, Int, Label, PriorLike
from bayeskit.data.block import Block
from bayeskit.data.encode import error_on_unseen
from bayeskit.data.row import RowReader
from bayeskit.data.schema import Schema
from bayeskit.data.source import labels
from bayeskit.densities.likelihood import Context
from bayeskit.densities.tabular import LooStrata
from bayeskit.errors import InputError
from bayeskit.model import posterior as rule
from bayeskit.model.codec import describe, fingerprint, keys_of
from bayeskit.model.journal import Entry
from bayeskit.model.posterior import log_prior
from bayeskit.statistics.counted import Counted
from bayeskit.statistics.exact import ExactSum
from bayeskit.statistics.statistic import Product
from bayeskit.statistics.tables import Tables
from bayeskit.structures.exactness import Exactness
from bayeskit.structures.naive import Naive, NaiveDensity
from bayeskit.structures.wrapped import FactorWeights


@dataclass(frozen=True)
class Model:
    """Everything a fitted classifier knows; learning and forgetting give a new one."""

    counted: Counted  # canonical
    structure: Naive
    prior: Any = "empirical"
    unseen: str = "missing"
    weighting: FactorWeights | None = (
        None  # weights found by labels; not derived from the counts, so learning more leaves them
    )
    journal: tuple[Entry, ...] = field(default=(), compare=False)  # what was done to its file

    @staticmethod
    def statistic(structure: Naive, schema: Schema) -> Callable[[int], Product]:
        """What to count: the rows of each class, and what the structure asks for."""
        return lambda groups: Product(
            {"classes": Tables.empty([()], groups), "features": structure.statistic(schema.columns, groups)}, groups
        )

    @property
    def schema(self) -> Schema:
        return self.counted.schema

    @cached_property
    def classes(self) -> Array:
        """The labels in the type they came in, sorted: (K,)."""
        return labels(self.counted.domain.classes.values, self.schema.label)

    @cached_property
    def weights(self) -> Float:
        """Weight of the rows of each class: (K,)."""
        return self._exact_weights.to_float()

    @property
    def _exact_weights(self) -> ExactSum:
        return self.counted.statistic.part("classes", Tables).table(0)

    @property
    def features(self) -> Product:
        """What was counted of the columns, by likelihood."""
        return self.counted.statistic.part("features", Product)

    @property
    def context(self) -> Context:
        return Context(self.weights, self.unseen, self._exact_weights, self.classes, self.counted.domain)

    @cached_property
    def class_density(self) -> NaiveDensity:
        """log p(x | c) of each factor, before any weight."""
        return self.structure.fit(self.features, self.context)

    @cached_property
    def density(self) -> NaiveDensity:
        """What the posterior adds up: the log-densities, multiplied by the weights where some were fitted."""
        return self.class_density if self.weighting is None else self.class_density.with_weights(self.weighting.weight)

    def with_weights(self, weighting: FactorWeights) -> Model:
        """The same with other weights; where its log-densities, which these multiply, are derived, they are kept."""
        made = replace(self, weighting=weighting)
        if "class_density" in vars(self):
            vars(made)["class_density"] = self.class_density
        return made

    @property
    def factor_weights(self) -> dict[Label, float]:
        """How much each factor counts: a column, or a set of columns; 1 unless weights were fitted."""
        factors = self.class_density.factor_names
        weights = np.ones(len(factors)) if self.weighting is None else self.weighting.weight
        return dict(zip(factors, weights.tolist(), strict=True))

    def next_stage(self) -> Naive | None:
        """The structure to count the same rows for next, if what was counted is only what it chooses from."""
        return self.structure.next_stage(self.features, self.context)

    def reuse_counts(self, structure: Naive, schema: Schema) -> Counted:
        """What was counted, as what another structure of the same columns would have counted."""
        whole = self.counted.statistic
        features = structure.rename(self.features, self.structure)
        both = Product({"classes": whole["classes"], "features": features}, whole.groups)
        return replace(self.counted, schema=schema, statistic=both)

    @cached_property
    def described(self) -> Schema:
        """The schema with the families the data chose, and why."""
        chosen = self.density.chosen
        if not chosen:
            return self.schema
        columns = tuple(
            replace(c, family=chosen[c.name].family, why_family=chosen[c.name].why) if c.name in chosen else c
            for c in self.schema.columns
        )
        return replace(self.schema, columns=columns)

    @property
    def constant(self) -> tuple[str, ...]:
        """Columns with a single value, which say nothing about the class."""
        return self.density.constant

    def block(self, batch: Batch, guarded: Collection[str] = ()) -> Block:
        """Rows to be asked about, in the codes of this model; a level never seen may be an error."""
        block = self.counted.block(batch, guarded)
        if self.unseen == "error":
            error_on_unseen(block, batch, self.counted.domain)
        return block

    @cached_property
    def row_reader(self) -> RowReader:
        """Reads tables of one row."""
        return RowReader(self.schema, self.counted.domain.levels, self.unseen == "error")

    def log_prior(self, prior: PriorLike = None, left_out: Block | None = None) -> Float:
        """log P(class), (K,); ``prior`` overrides the model's own.

        With the block of learned rows as ``left_out``, (n, K): an empirical prior as it was before each was learned.
        """
        prior, classes = self.prior if prior is None else prior, self.counted.domain.classes
        if left_out is None:
            return log_prior(prior, classes, self.weights)
        strata = LooStrata.of(left_out, len(self.weights))
        by_stratum = log_prior(prior, classes, self._weights_without(strata))
        return np.broadcast_to(by_stratum, (len(strata.group) + 1, len(self.weights)))[strata.member]

    def log_base(self, prior: PriorLike = None) -> Float:
        """What the columns' evidence is added to: the log prior, and the bias of the classes if weights were fitted."""
        return self._base.copy() if prior is None else self.log_prior(prior) + self._bias

    @cached_property
    def _base(self) -> Float:
        out: Float = self.log_prior() + self._bias
        return out

    @property
    def _bias(self) -> Float | float:
        return 0.0 if self.weighting is None else self.weighting.bias_of(self.counted.domain.classes)

    def _weights_without(self, strata: LooStrata) -> Float:
        """Weight of the rows of each class as they are, and without each pair of class and weight: (1 + pairs, K)."""
        weights = np.tile(self.weights, (len(strata.group) + 1, 1))
        there = 1 + np.flatnonzero(np.bincount(strata.member, minlength=len(weights))[1:])
        group, mass = strata.group[there - 1], strata.mass[there - 1]
        weights[there, group] = self._exact_weights.without(group, mass)
        if not weights.any(axis=1).all():
            raise InputError("leaving out the only row leaves nothing to learn from; give two rows or more")
        return weights

    def joint(
        self, block: Block, prior: Float | None = None, left_out: bool = False, out: Float | None = None
    ) -> Float:
        """log P(c, x), (n, K); ``left_out`` leaves each learned row out and moves an empirical prior not given here."""
        return rule.joint(self._density(left_out), self._prior(block, prior, left_out), block, out)

    def posterior(
        self,
        block: Block,
        prior: Float | None = None,
        log: bool = False,
        left_out: bool = False,
        out: Float | None = None,
    ) -> Float:
        """P(c | x), (n, K), or its logarithm; ``left_out`` as in ``joint``."""
        return rule.posterior(self._density(left_out), self._prior(block, prior, left_out), block, log, out)

    def _density(self, left_out: bool) -> NaiveDensity:
        return self.density.left_out if left_out else self.density

    def _prior(self, block: Block, prior: Float | None, left_out: bool) -> Float:
        return self.log_prior(left_out=block if left_out else None) + self._bias if prior is None else prior

    def terms(self, block: Block, left_out: bool = False) -> Float:
        """log p of each column given the class, in schema order: (n, columns, K)."""
        terms = self._density(left_out).terms(block)
        return np.broadcast_to(terms, (*terms.shape[:2], len(self.weights)))

    def terms_of(self, block: Block, which: Int) -> Float:
        """log p of some columns given the class, and of all others together: (n, which + 1, K)."""
        terms = self.density.terms_of(block, which)
        rest = np.zeros((block.rows, 1, len(self.weights)))
        if self.density.additive:
            others = np.ones(len(self.schema.names), dtype=bool)
            others[which] = False
            self.density.add(block.reveal(others), rest[:, 0])
        else:  # what the others say depends on these
            self.density.add(block, rest[:, 0])
            with np.errstate(invalid="ignore"):
                left = rest - terms.sum(axis=1, keepdims=True)
            rest = np.where(np.isneginf(rest), np.where(np.isneginf(left), left, 0.0), left)
        return np.concatenate([np.broadcast_to(terms, (*terms.shape[:2], len(self.weights))), rest], axis=1)

    def check_evidence(self) -> None:
        """Refuse where there is no log p(x)."""
        if self.weighting is not None:
            raise InputError("fitted weights make scores of the densities, which have no evidence; use weights=None")
        if not self.density.normalised:
            raise InputError(
                "a smoothing that does not normalise (ReplaceZeros, AddM) has no evidence, use Laplace or MEstimate; "
                "nor have Multinomial and Complement, which leave out what all classes have in common, nor distances "
                "between levels, which have no volume, nor sets of columns that overlap (AJE)"
            )

    def evidence(self, block: Block, prior: Float | None = None) -> Float:
        """log p(x), (n,)."""
        self.check_evidence()
        return rule.evidence(self.density, self.log_prior() if prior is None else prior, block)

    def merge(self, other: Model) -> Model:
        """The model of both tables."""
        return self._with(other, Counted.merge, self.schema.unify(other.schema))

    def subtract(self, other: Model) -> Model:
        """The model without the other's rows; what these declared does not join."""
        return self._with(other, Counted.subtract, self.schema.unify(other.schema.without_declared()))

    def _with(self, other: Model, combine: Callable[[Counted, Counted], Counted], schema: Schema) -> Model:
        structure = self.structure.union(other.structure, schema)
        empty = self.statistic(structure, schema)
        both = combine(self.counted.conform(schema, empty), other.counted.conform(schema, empty)).canonical()
        weighting = None if self.weighting is None else self.weighting.on(both.domain.classes)
        return replace(self, counted=both, structure=structure, weighting=weighting)

    def declaring(self, classes: tuple[Label, ...]) -> Model:
        """The same counts, with these classes as the ones that stay without a row."""
        schema = replace(self.schema, classes=classes)
        if schema == self.schema:
            return self
        counted = self.counted.declaring(schema)
        weighting = None if self.weighting is None else self.weighting.on(counted.domain.classes)
        return replace(self, counted=counted, weighting=weighting)

    @property
    def exact(self) -> Exactness:
        """What learning, forgetting and merging give bit for bit, and what is held."""
        return Exactness.of(self.structure, self.counted.statistic, self.weighting is not None)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of statistics, schema and hyper-parameters: equal models have equal digests."""
        domain = self.counted.domain
        identity = {
            "columns": self.schema.identity,
            "families": [[describe(family), list(names)] for family, names in self.structure.components],
            "prior": describe(self.prior),
            "unseen": self.unseen,
            "classes": keys_of(domain.classes),
            "levels": {name: keys_of(levels) for name, levels in domain.levels.items()},
        }
        arrays = self.counted.statistic.arrays()
        if self.weighting is not None:
            bias = self.weighting.bias_of(domain.classes)
            arrays = {**arrays, "tuning.weight": self.weighting.weight, "tuning.bias": bias}
        return fingerprint(identity, arrays)
