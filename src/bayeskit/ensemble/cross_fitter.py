"""CrossFitter: what a candidate of AutoBayes predicts for rows it has not learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from bayeskit.arrays import Float
from bayeskit.data.block import Block
from bayeskit.deferred import deferred
from bayeskit.ensemble.candidate import Candidate, Classifier, Member
from bayeskit.ensemble.cross_fit import BIAS, TOWARD, CrossFit
from bayeskit.ensemble.passes import Job
from bayeskit.model.learn import reuse_counts
from bayeskit.model.model import Model
from bayeskit.numerics.log_linear import WIDE, Evidence
from bayeskit.structures.neighbours import NeighbourDensity
from bayeskit.structures.wrapped import FactorWeights

log_softmax = deferred("scipy.special", "log_softmax")


@dataclass(frozen=True)
class CandidatePrediction:
    """What a member would have said of the rows of a plan, and how to make the member."""

    name: str
    log_posterior: Float  # (m, K), or (0, K) where it is not judged
    job: Job  # what is to be learned from all rows
    counts: object  # members of which this is equal count the same
    make: Callable[[Model], Member]  # of that
    seconds: float = 0.0  # that learning all rows may take
    share: float = 0.0  # its weight where it is not judged


@dataclass(frozen=True)
class CrossFitter:
    """A candidate before the rows of a plan, in the view it takes; it may give several members."""

    candidate: Candidate
    plan: CrossFit
    job: Job

    def plain(self, known: dict[int, Model]) -> Iterator[CandidatePrediction]:
        """As it stands; ``known`` has models of candidates that count the same, and gets those that are made."""
        models = self.plan.models(self.job.spec, known, self.job.fixed)
        yield self._without_weights(np.concatenate([model.posterior(block, log=True) for model, block in models]))

    def by_size(self, known: dict[int, Model]) -> Iterator[CandidatePrediction]:
        """Neighbours, searched once for all numbers of them; ``known`` as for ``plain``."""
        candidate = self.candidate

        def asked(model: Model, block: Block) -> Float:
            (density,) = model.density.densities
            assert isinstance(density, NeighbourDensity)
            out: Float = log_softmax(density.several(block, candidate.sizes) + model.log_prior(), axis=2)
            return out

        models = self.plan.models(self.job.spec, known)
        found = np.concatenate([asked(model, block) for model, block in models])
        for i, k in enumerate(candidate.sizes):
            yield self._of_size(k, found[:, i])

    def unjudged(self) -> CandidatePrediction:
        """The member that stands in a pool that is not judged."""
        found = self._without_weights(np.empty((0, len(self.plan.known.classes))))
        return replace(found, share=self.candidate.share)

    def predict_weighted(self) -> Iterator[CandidatePrediction]:
        """With fitted weights, and without if it stands so too."""
        pieces, base = self.plan.factors(self.job.spec, self.job.fixed)
        if self.candidate.plain:
            with np.errstate(invalid="ignore"):
                summed: Float = log_softmax(np.maximum(pieces, -700.0).sum(axis=1) + np.maximum(base, -700.0), axis=1)
            yield self._without_weights(summed)
        (weight, bias), logs = _fit_weights(pieces, base, self.plan)
        name = f"{self.candidate.name}, weighted"

        def make(model: Model) -> Member:
            weighting = FactorWeights(weight, bias, model.counted.domain.classes)
            return self._member(name, self.candidate.make(), model.with_weights(weighting))

        yield self._prediction(name, logs, make)

    def _of_size(self, k: int, log_posterior: Float) -> CandidatePrediction:
        name = f"{k} nearest"
        return self._prediction(name, log_posterior, lambda model: self._member(name, self.candidate.make(k), model))

    def _without_weights(self, log_posterior: Float) -> CandidatePrediction:
        name = self.candidate.name
        return self._prediction(name, log_posterior, lambda model: self._member(name, self.candidate.make(), model))

    def _prediction(self, name: str, log_posterior: Float, make: Callable[[Model], Member]) -> CandidatePrediction:
        candidate = self.candidate
        counts = (candidate.view, candidate.counts) if candidate.counts else candidate.name
        return CandidatePrediction(name, log_posterior, self.job, counts, make)

    def _member(self, name: str, classifier: Classifier, model: Model) -> Member:
        """From a model that counted what it counts, perhaps for another."""
        if self.candidate.counts or self.candidate.sizes:
            model = reuse_counts(classifier.spec(), model)
        return Member(name, classifier.with_model(model), self.job.view)


def _fit_weights(pieces: Float, base: Float, plan: CrossFit) -> tuple[tuple[Float, Float], Float]:
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
