"""Model: a prior, a likelihood and what was counted; an immutable value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayeskit import posterior as rule
from bayeskit import store
from bayeskit.arrays import Array, Float
from bayeskit.codec import describe, keys_of
from bayeskit.data.block import Block
from bayeskit.data.schema import Schema
from bayeskit.errors import InputError
from bayeskit.likelihood import Context
from bayeskit.prior import log_prior
from bayeskit.statistics.counted import Counted
from bayeskit.statistics.product import Product
from bayeskit.statistics.tables import Tables
from bayeskit.structures.naive import Naive, NaiveDensity


@dataclass(frozen=True)
class Model:
    """Everything a fitted classifier knows; learning and forgetting give a new one."""

    counted: Counted  # canonical
    structure: Naive
    prior: Any = "empirical"
    unseen: str = "missing"

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
        values = self.counted.domain.classes.values
        label = self.schema.label
        if label == "U":
            return np.array(values, dtype=str)
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array if label == "O" else array.astype(np.dtype(label))

    @cached_property
    def weights(self) -> Float:
        """Weight of the rows of each class: (K,)."""
        return self.counted.statistic["classes"].table(0).rounded()  # type: ignore[attr-defined, no-any-return]

    @cached_property
    def density(self) -> NaiveDensity:
        context = Context(self.weights, self.unseen)
        return self.structure.fit(self.counted.statistic["features"], context)  # type: ignore[arg-type]

    @property
    def constant(self) -> tuple[str, ...]:
        """Columns with a single value, which say nothing about the class."""
        return self.density.constant

    def log_prior(self, prior: Any = None) -> Float:
        """log P(class), (K,); ``prior`` overrides the model's own."""
        return log_prior(self.prior if prior is None else prior, self.counted.domain.classes, self.weights)

    def joint(self, block: Block, prior: Float) -> Float:
        return rule.joint(self.density, prior, block)

    def posterior(self, block: Block, prior: Float, log: bool = False) -> Float:
        return rule.posterior(self.density, prior, block, log)

    def terms(self, block: Block) -> Float:
        """log p of each column given the class, in schema order: (n, columns, K)."""
        terms = self.density.terms(block)
        return np.broadcast_to(terms, (*terms.shape[:2], len(self.weights)))

    def evidence(self, block: Block, prior: Float) -> Float:
        if not self.density.normalised:
            raise InputError(
                "a smoothing that does not normalise (ReplaceZeros, AddM) has no evidence; use Laplace or MEstimate"
            )
        return rule.evidence(self.density, prior, block)

    def merge(self, other: Model) -> Model:
        """The model of both tables."""
        return self._with(other, Counted.merge)

    def subtract(self, other: Model) -> Model:
        """The model without the other's rows."""
        return self._with(other, Counted.subtract)

    def _with(self, other: Model, combine: Callable[[Counted, Counted], Counted]) -> Model:
        schema = self.schema.unify(other.schema)
        structure = self.structure.union(other.structure, schema)
        empty = self.statistic(structure, schema)
        both = combine(self.counted.conform(schema, empty), other.counted.conform(schema, empty)).canonical()
        return replace(self, counted=both, structure=structure)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of statistics, schema and hyper-parameters: equal models have equal digests."""
        domain = self.counted.domain
        identity = {
            "columns": [c.identity for c in self.schema.columns],
            "families": [[describe(family), list(names)] for family, names in self.structure.parts],
            "prior": describe(self.prior),
            "unseen": self.unseen,
            "classes": keys_of(domain.classes),
            "levels": {name: keys_of(levels) for name, levels in domain.levels.items()},
        }
        return store.fingerprint(identity, self.counted.statistic.arrays())
