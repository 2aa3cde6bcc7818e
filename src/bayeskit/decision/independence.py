"""Bayes' rule on numbers and tables, and whether two events or two columns are independent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import chdtrc, xlogy

from bayeskit.arrays import Json, Label, TableLike, WeightsLike
from bayeskit.data.encode import Roles
from bayeskit.data.kinds import infer
from bayeskit.data.levels import key, show
from bayeskit.data.source import source
from bayeskit.engines.engine import engine_for
from bayeskit.errors import InputError, SchemaError
from bayeskit.statistics.counted import Counted
from bayeskit.statistics.statistic import Product
from bayeskit.statistics.tables import Tables

Event = Mapping[str, Any]  # column -> the key it must have, None for the column itself


@dataclass(frozen=True)
class Independence:
    """P(a, b | given) against P(a | given) P(b | given), exactly, and how likely such a difference is by chance.

    ``independent`` compares the exact fractions; the tests judge whether the difference is more than noise.
    """

    a: str
    b: str
    given: str | None
    p_a: Fraction | None  # of the events; None for whole columns
    p_b: Fraction | None
    p_both: Fraction | None
    independent: bool
    g: float  # the G statistic, 2 sum n log(n / expected)
    chi2: float  # Pearson's
    freedom: int
    p_value_g: float
    p_value_chi2: float
    mutual_information: float  # in nats
    weight: float

    def __str__(self) -> str:
        under = f" given {self.given}" if self.given else ""
        lines = [f"{self.a} and {self.b}{under}: {'independent' if self.independent else 'not independent'}"]
        if self.p_a is not None and self.p_b is not None:
            lines.append(
                f"  P(a) = {self.p_a}, P(b) = {self.p_b}, P(a) P(b) = {self.p_a * self.p_b}, P(a, b) = {self.p_both}"
            )
        lines.append(
            f"  G = {self.g:.4g} (p = {self.p_value_g:.3g}), chi2 = {self.chi2:.4g} (p = {self.p_value_chi2:.3g}), "
            f"df = {self.freedom}, mutual information {self.mutual_information:.4g} nats, weight {self.weight:g}"
        )
        return "\n".join(lines)


def independence(
    X: TableLike,
    a: Label,
    b: Label,
    given: object = None,
    sample_weight: WeightsLike = None,
) -> Independence:
    """Compare P(a, b) with P(a) P(b), perhaps given an event or within the levels of a column.

    Rows in which a column asked about is missing are left out. G and chi-squared test the table of the two (events
    count as true / false; within a column's levels the statistics add up).

    Parameters
    ----------
    X : table
        Rows of categories.
    a : mapping or str
        An event such as {"colour": "red"} (several columns: all of them hold), or the name of a column.
    b : mapping or str
        Likewise.
    given : mapping or str, optional
        Only the rows of this event, or within each level of this column.
    sample_weight : array of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    Independence
        ``p_a``, ``p_b`` and ``p_both`` as fractions, ``independent``, and the tests.

    Examples
    --------
    >>> rows = [{"sky": "grey", "rain": "yes"}] * 3 + [{"sky": "blue", "rain": "no"}] * 5
    >>> found = independence(rows, {"sky": "grey"}, {"rain": "yes"})
    >>> found.p_both, found.p_a * found.p_b, found.independent
    (Fraction(3, 8), Fraction(9, 64), False)
    """
    first, second = _event("a", a), _event("b", b)
    third = {} if given is None else _event("given", given)
    counted = _table(X, list(dict.fromkeys([*first, *second, *third])), sample_weight)
    _check_known(counted, [first, second, third])
    strata = [table for table in _strata(counted, first, second, third) if table.total]
    if not strata:
        raise InputError("no row has all the columns asked about, or none satisfies given")
    whole = strata[0] if len(strata) == 1 else None
    event_a, event_b = (any(v is not None for v in side.values()) for side in (first, second))
    g, chi2, freedom = (sum(values) for values in zip(*(t.test() for t in strata), strict=True))
    weight = float(sum(t.total for t in strata))
    return Independence(
        _event_text(first),
        _event_text(second),
        _event_text(third) or None,
        whole.share({True}, None) if whole and event_a else None,
        whole.share(None, {True}) if whole and event_b else None,
        whole.share({True}, {True}) if whole and event_a and event_b else None,
        all(t.independent() for t in strata),
        g,
        chi2,
        int(freedom),
        float(chdtrc(freedom, g)) if freedom else 1.0,
        float(chdtrc(freedom, chi2)) if freedom else 1.0,
        g / 2 / weight,
        weight,
    )


def _event(argument: str, wanted: object) -> Json:
    """Columns of an event with the value each must have; a column alone has none."""
    if isinstance(wanted, str):
        return {wanted: None}
    if isinstance(wanted, Mapping) and wanted:
        event = {str(name): key(value) for name, value in wanted.items()}
        if None in event.values():
            raise InputError(f"{argument}={wanted!r}: an event needs a value for each column, not a missing one")
        return event
    raise InputError(f"{argument}={wanted!r}: give a column's name, or an event such as {{'colour': 'red'}}")


def _side(row: Mapping[str, object], asked: Event) -> Any:
    """Where a row falls: whether an event holds, or the level of a column."""
    if all(value is None for value in asked.values()):
        return tuple(row[name] for name in asked)
    return all(row[name] == value for name, value in asked.items())


def _table(X: TableLike, columns: Sequence[str], weight: WeightsLike) -> Counted:
    """The joint table of the columns, counted by the engine of the source."""
    given = source(X, None, weight)
    engine = engine_for(given.rows)
    fields = engine.schema(given.rows)
    lacking = [name for name in columns if name not in fields.names]
    if lacking:
        raise SchemaError(f"no column is named {lacking[0]!r} (there are: {', '.join(fields.names[:12])})")
    schema = infer(pa.schema([fields.field(name) for name in columns]), kinds="nominal")
    roles = Roles(weight=given.roles.weight)
    empty = Counted.empty(
        schema, lambda groups: Product({"joint": Tables.empty([tuple(columns)], groups)}, groups), roles, 1
    )
    return engine.reduce(given.rows, [*columns, *roles.names], empty)


def _strata(counted: Counted, a: Event, b: Event, given: Event) -> list[_Cross]:
    """The cross table within each level of what is given (one if it is an event)."""
    columns = counted.schema.names
    tables = counted.statistic["joint"]
    assert isinstance(tables, Tables)
    table = tables.table(0)
    levels = [counted.domain.levels[name].keys for name in columns]
    strata: dict[Any, dict[tuple[Any, Any], Fraction]] = {}
    for cell in np.argwhere(table.nonzero()).tolist():
        row = {name: keys[c] for name, keys, c in zip(columns, levels, cell[1:], strict=True)}
        if (stratum := _side(row, given)) is not False:
            cells = strata.setdefault(stratum, {})
            place = (_side(row, a), _side(row, b))
            cells[place] = cells.get(place, Fraction(0)) + table.fraction(*cell)
    return [_Cross(cells) for cells in strata.values()]


def _check_known(counted: Counted, events: Sequence[Event]) -> None:
    for name, value in (pair for event in events for pair in event.items()):
        known = counted.domain.levels[name]
        if value is not None and value not in known.index:
            raise InputError(f"column {name!r} has no value {show(value)!r} (it has: {known.show()})")


@dataclass(frozen=True)
class _Cross:
    """Exact weights of one event or column against another."""

    cells: Mapping[tuple[Any, Any], Fraction]

    @property
    def total(self) -> Fraction:
        return sum(self.cells.values(), Fraction(0))

    def share(self, rows: set[Label] | None, columns: set[Label] | None) -> Fraction:
        """Probability that a row falls on these sides; None is any."""
        inside = (
            n for (r, c), n in self.cells.items() if (rows is None or r in rows) and (columns is None or c in columns)
        )
        return sum(inside, Fraction(0)) / self.total

    def independent(self) -> bool:
        """Whether every cell is the product of its margins, exactly."""
        rows, columns = ({side[i] for side in self.cells} for i in (0, 1))
        down = {r: self.share({r}, None) for r in rows}
        across = {c: self.share(None, {c}) for c in columns}
        return all(self.share({r}, {c}) == down[r] * across[c] for r in rows for c in columns)

    def test(self) -> tuple[float, float, int]:
        """G = 2 sum n log(n/e), chi2 = sum (n - e)^2 / e, and the degrees of freedom."""
        rows, columns = (sorted({side[i] for side, n in self.cells.items() if n}) for i in (0, 1))
        observed = np.array([[float(self.cells.get((r, c), 0)) for c in columns] for r in rows])
        expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / observed.sum()
        g = 2 * float(xlogy(observed, observed / expected).sum())
        chi2 = float(((observed - expected) ** 2 / expected).sum())
        return g, chi2, (len(rows) - 1) * (len(columns) - 1)


def _event_text(asked: Event) -> str:
    return ", ".join(name if value is None else f"{name}={show(value)}" for name, value in asked.items())


TOLERANCE = 1e-6  # of the sum of priors, as of a model's


def bayes_rule(prior: Any, likelihood: Any, evidence: float | Fraction | None = None) -> Any:
    """P(h | e) = P(e | h) P(h) / P(e): for one hypothesis with its evidence, or for a table of them.

    Fractions stay exact.

    Parameters
    ----------
    prior : number, mapping or sequence
        P(h): a number, or the probabilities of the hypotheses by name or in order.
    likelihood : number, mapping or sequence
        P(e | h), likewise.
    evidence : number, optional
        P(e). For a table it is the sum of the joint probabilities unless given; the priors must then sum to 1.

    Returns
    -------
    number, dict or list
        P(h | e), in the form of the prior.

    Examples
    --------
    >>> round(bayes_rule(prior=0.00002, likelihood=0.5, evidence=0.05), 7)
    0.0002
    >>> bayes_rule({"ill": 0.01, "well": 0.99}, {"ill": 0.9, "well": 0.09})
    {'ill': 0.09174311926605506, 'well': 0.9082568807339451}
    """
    if isinstance(prior, Mapping) != isinstance(likelihood, Mapping):
        raise InputError("give prior and likelihood both by name, or both in order")
    if isinstance(prior, Mapping):
        if prior.keys() != likelihood.keys():
            odd = sorted(map(str, prior.keys() ^ likelihood.keys()))
            raise InputError(f"prior and likelihood name different hypotheses: {', '.join(odd)} stand in one only")
        values = bayes_rule(list(prior.values()), [likelihood[name] for name in prior], evidence)
        return dict(zip(prior, values, strict=True))
    single = np.ndim(prior) == 0
    if single != (np.ndim(likelihood) == 0):
        raise InputError("prior and likelihood must be two numbers, or two lists of equal length")
    priors, likelihoods = ([prior], [likelihood]) if single else (list(prior), list(likelihood))
    if len(priors) != len(likelihoods):
        raise InputError(f"{len(priors)} priors but {len(likelihoods)} likelihoods")
    if single and evidence is None:
        raise InputError(
            "one hypothesis alone needs evidence=P(e); or give all, prior={'ill': 0.01, 'well': 0.99} and likelihood "
            "likewise, and P(e) is computed"
        )
    for what, numbers in (("prior", priors), ("likelihood", likelihoods)):
        _check(what, numbers, 1 if what == "prior" else np.inf)
    if sum(priors) > 1 + 1e-9:
        raise InputError(f"the priors sum to {sum(priors)}; probabilities of different hypotheses sum to at most 1")
    if not single and evidence is None and abs(sum(priors) - 1) > TOLERANCE:
        raise InputError(
            f"the priors must be probabilities that sum to one (the sum is {float(sum(priors)):g}); give those of all "
            f"hypotheses, or evidence=P(e) if some are left out"
        )
    joint = [p * q for p, q in zip(priors, likelihoods, strict=True)]
    total = sum(joint) if evidence is None else evidence
    _check("evidence", [total], np.inf)
    if total == 0:
        raise InputError("the evidence has probability 0: it cannot have happened under any hypothesis given")
    if evidence is not None and sum(joint) > total * (1 + 1e-9):
        raise InputError(f"evidence {total} is smaller than the joint probabilities it must include ({sum(joint)})")
    posterior = [j / total for j in joint]
    if single:
        return posterior[0]
    exact = all(isinstance(p, Fraction | int) for p in posterior)
    return posterior if exact or not isinstance(prior, np.ndarray) else np.array(posterior)


def _check(what: str, numbers: list[Any], most: float) -> None:
    for number in numbers:
        if not 0 <= number <= most:
            raise InputError(
                f"{what} has the value {number}; "
                + ("a probability lies in 0..1" if most == 1 else "it is not negative")
            )
