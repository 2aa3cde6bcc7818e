"""Working: the calculation of a posterior as a textbook writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from bayeskit.arrays import Array, Float
from bayeskit.data.block import Block
from bayeskit.data.frame import shorten
from bayeskit.data.written import NEXT, Line, Piece, Ratio, Written, from_log, text_of
from bayeskit.densities.density import WorkedFactor
from bayeskit.model.model import Model

WIDE = 110  # characters above which the numbers stand on a line of their own
LONG = 40  # characters of a fraction above which it stands on a line of its own
SMALL = 10**6  # denominators up to which an exact posterior is shown
REST = "the rest"


@dataclass(frozen=True)
class AskedRows:
    """The rows of an explanation and the model that was asked."""

    model: Model
    blocks: tuple[Block, ...]
    prior: Any  # what was asked for instead of the model's own, if anything
    parts: tuple[str, ...]  # what the columns of the density are called

    def worked(self, row: int, texts: Mapping[str, str], most: int) -> Working:
        """The calculation of one row; ``texts`` are the values by the name of the part."""
        for block in self.blocks:
            if row < block.rows:
                break
            row -= block.rows
        one, model = block.at(np.array([row])), self.model
        factors = model.density.work_out(one)
        called = dict(zip(model.density.columns, self.parts, strict=True))
        names = {column: _name_part(shown, texts.get(shown, "")) for column, shown in called.items()}
        missing = [part for part, text in texts.items() if text == "missing"]
        log_prior = model.log_base(self.prior)
        return Working(
            model.classes,
            log_prior,
            self._prior_ratios,
            tuple(_widest(factors, most, len(log_prior))),
            names,
            log_prior + sum((f.log for f in factors), np.zeros(len(log_prior))),
            model.posterior(one, log_prior)[0],
            tuple(missing),
        )

    @property
    def _prior_ratios(self) -> tuple[Ratio, ...]:
        """The prior as fractions, where it is one of counts or uniform."""
        prior, weights = self.model.prior if self.prior is None else self.prior, self.model.weights
        if isinstance(prior, str) and prior == "empirical":
            return tuple(Ratio.of([w], [weights.sum()]) for w in weights)
        return (Ratio.of([1], [len(weights)]),) * len(weights) if isinstance(prior, str) else ()


@dataclass(frozen=True, repr=False)
class Working(Written):
    """P(c) times the factors of p(x | c), written out for each class, and the posterior.

    ``print`` it, show it in a notebook, or take its ``latex()``.
    """

    classes: Array  # (K,)
    log_prior: Float  # (K,)
    prior_ratios: tuple[Ratio, ...]  # (K), or none
    factors: tuple[WorkedFactor, ...]
    names: Mapping[str, str]  # "column = value" by column
    log_joint: Float  # (K,) log P(c) p(x | c)
    proba: Float  # (K,)
    missing: tuple[str, ...] = ()  # parts without a value

    @property
    def exact(self) -> tuple[Fraction, ...] | None:
        """The posterior as fractions, where all numbers are: (K)."""
        if not self.prior_ratios or not all(f.ratios for f in self.factors):
            return None
        joint = []
        for k in range(len(self.classes)):
            product = self.prior_ratios[k].value
            for factor in self.factors:
                product *= factor.ratios[k].value
            joint.append(product)
        whole = sum(joint, Fraction(0))
        return tuple(p / whole for p in joint) if whole else None

    def _lines(self) -> list[Line]:
        labels = [shorten(label) for label in self.classes.tolist()]
        lines = [self._product(k, label) for k, label in enumerate(labels)]
        for factor in self.factors:
            each = zip(labels if factor.of_class else labels[:1], _origins(factor), strict=False)
            lines += [(f"{self._name(factor, label)} = ", *origin) for label, origin in each]
        joint, exact = [from_log(log) for log in self.log_joint], self.exact
        for k, label in enumerate(labels):
            line: Line = (f"P({label} | x) = {joint[k]} / ({' + '.join(joint)})",)
            if exact is not None and exact[k].denominator <= SMALL:
                line = (*line, " = ", Ratio(str(exact[k].numerator), str(exact[k].denominator), exact[k]))
            lines.append((*line, f" = {self.proba[k]:.4g}"))
        if self.missing:
            lines.append((f"Missing, and so without a factor: {', '.join(self.missing)}.",))
        return lines

    def _product(self, k: int, label: str) -> Line:
        """One class: the names of the factors, their numbers, and the product."""
        names = " · ".join([f"P({label})", *(self._name(f, label) for f in self.factors)])
        prior = self.prior_ratios[k] if self.prior_ratios else from_log(self.log_prior[k])
        numbers: list[Piece] = [prior]
        for factor in self.factors:
            inline = factor.ratios and not _is_long(factor)
            numbers += [" · ", factor.ratios[k] if inline else from_log(factor.log[k])]
        line: Line = (" = ", *numbers, f" = {from_log(self.log_joint[k])}")
        return (names, NEXT, *line) if len(names) + len(text_of(line)) > WIDE else (names, *line)

    def _name(self, factor: WorkedFactor, label: str) -> str:
        what = ", ".join(self.names.get(name, name) for name in factor.columns)
        given = ", ".join([*(self.names.get(name, name) for name in factor.given), *[label] * factor.of_class])
        return f"{'w' if factor.relative else 'P' if factor.mass else 'p'}({what}{' | ' * bool(given)}{given})"


def _origins(factor: WorkedFactor) -> list[Line]:
    """Where the number of each class comes from, if the product only shows the number."""
    if factor.products:
        return [_mean(products) for products in factor.products]
    return [(formula,) for formula in factor.formulas or (factor.ratios if _is_long(factor) else ())]


def _mean(products: Sequence[Sequence[Ratio]]) -> Line:
    pieces: list[Piece] = [Ratio.of([1], [len(products)]), " · ("]
    for i, product in enumerate(products):
        pieces += [NEXT, " + " if i else "   ", product[0]]
        for ratio in product[1:]:
            pieces += [" · ", ratio]
    return (*pieces, ")")


def _is_long(factor: WorkedFactor) -> bool:
    return any(len(str(ratio)) > LONG for ratio in factor.ratios)


def _widest(factors: Sequence[WorkedFactor], most: int, classes: int) -> list[WorkedFactor]:
    """The factors in which the classes lie farthest apart, in order, and the others as one."""
    if len(factors) <= most:
        return list(factors)
    apart = [-np.ptp(np.maximum(factor.log, -1e300)) for factor in factors]
    kept = set(np.argsort(apart, kind="stable")[:most].tolist())
    rest = sum((f.log for i, f in enumerate(factors) if i not in kept), np.zeros(classes))
    return [*(f for i, f in enumerate(factors) if i in kept), WorkedFactor((REST,), rest)]


def _name_part(part: str, value: str) -> str:
    return f"{shorten(part)} = {value}" if value else "x" if part == "neighbours" else shorten(part)
