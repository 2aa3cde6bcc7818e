"""CrossFitter: what a candidate of AutoBayes predicts for rows it has not learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_softmax

from bayeskit.arrays import Float
from bayeskit.data.block import Block
from bayeskit.ensemble.candidate import Candidate, Member
from bayeskit.ensemble.cross_fit import BIAS, TOWARD, CrossFit
from bayeskit.ensemble.views import View
from bayeskit.model.learn import reuse_counts
from bayeskit.model.model import Model
from bayeskit.numerics.log_linear import WIDE, Evidence
from bayeskit.structures.naive import Naive
from bayeskit.structures.neighbours import NeighbourDensity
from bayeskit.structures.wrapped import FactorWeights


@dataclass(frozen=True)
class CandidatePrediction:
    """What a member would have said of the rows of a plan, and how to make the member."""

    name: str
    log_posterior: Float  # (m, K)
    made: Callable[[], Member]
    seconds: float = 0.0  # that learning all rows may take


@dataclass(frozen=True)
class CrossFitter:
    """A candidate before the rows of a plan, in the view it takes; it may give several members."""

    candidate: Candidate
    plan: CrossFit
    view: View | None
    every: Callable[[], Model]  # of all rows, when a member is wanted

    def plain(self, known: dict[int, Model]) -> Iterator[CandidatePrediction]:
        """As it stands; ``known`` has models of candidates that count the same, and gets those that are made."""
        parts = [asked.log_posterior() for asked in self.plan.models(self.candidate.make().spec(), known)]
        yield self._unweighted(np.concatenate(parts))

    def by_size(self, known: dict[int, Model]) -> Iterator[CandidatePrediction]:
        """Neighbours, searched once for all numbers of them; ``known`` as for ``plain``."""
        candidate = self.candidate

        def asked(model: Model, block: Block, *_: object) -> Float:
            (density,) = model.density.densities
            assert isinstance(density, NeighbourDensity)
            out: Float = log_softmax(density.several(block, candidate.sizes) + model.log_prior(), axis=2)
            return out

        models = self.plan.models(candidate.make().spec(), known)
        found = np.concatenate([step for predictor in models for step in predictor.steps(None, asked)])
        for i, k in enumerate(candidate.sizes):
            name = f"{k} nearest"

            def made(k: int = k, name: str = name) -> Member:
                member = candidate.make(k)
                return Member(name, member.with_model(reuse_counts(member.spec(), self.every())), self.view)

            yield CandidatePrediction(name, found[:, i], made)

    def weighed(self, fixed: Naive | None) -> Iterator[CandidatePrediction]:
        """With fitted weights, and without if it stands so too; ``fixed`` is a structure whose choices are kept."""
        pieces, base = self.plan.factors(self.candidate.make().spec(), fixed)
        if self.candidate.plain:
            with np.errstate(invalid="ignore"):
                summed: Float = log_softmax(np.maximum(pieces, -700.0).sum(axis=1) + np.maximum(base, -700.0), axis=1)
            yield self._unweighted(summed)
        (weight, bias), logs = _tuned(pieces, base, self.plan)
        name = f"{self.candidate.name}, weighted"

        def made() -> Member:
            model = self.every()
            weighting = FactorWeights(weight, bias, model.counted.domain.classes)
            return Member(name, self.candidate.make().with_model(replace(model, weighting=weighting)), self.view)

        yield CandidatePrediction(name, logs, made)

    def _unweighted(self, log_posterior: Float) -> CandidatePrediction:
        name = self.candidate.name

        def made() -> Member:
            return Member(name, self.candidate.make().with_model(self.every()), self.view)

        return CandidatePrediction(name, log_posterior, made)


def _tuned(pieces: Float, base: Float, plan: CrossFit) -> tuple[tuple[Float, Float], Float]:
    """Weights of the pieces and biases of the classes; and what such say that were fitted to the other rows: (m, K)."""
    seen = Evidence.of(pieces, base, plan.label, plan.mass)
    common = np.full(seen.terms.shape[2], seen.temperature())
    weighting = seen.fit(common, TOWARD, BIAS)
    found, logs = np.concatenate(weighting), np.empty(base.shape)
    bend = seen.curvature(*weighting) if len(weighting[0]) <= WIDE else None
    for part in np.unique(plan.part):
        test = plan.part == part
        rest = ~np.isin(plan.unit, plan.unit[test])
        near = None if bend is None else (found, rest.mean() * bend)
        weight, bias = seen.at(rest).fit(common, TOWARD, BIAS, near)
        logs[test] = seen.at(test).log_posterior(weight, bias)
    return weighting, logs
