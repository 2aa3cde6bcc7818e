"""Full: all columns together given the class, a joint table of categories and a normal density of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from bayeskit.arrays import Bool, Float, Int
from bayeskit.data.block import Block
from bayeskit.data.schema import CODED, NUMERIC, Column
from bayeskit.densities.density import Axis, Density, SupportsLeftOut, TailLogDensity, WorkedFactor
from bayeskit.densities.likelihood import Context, Likelihood
from bayeskit.errors import InputError
from bayeskit.numerics.special import LOG_2, LOG_2PI
from bayeskit.portable.nodes import Normal
from bayeskit.portable.program import Inputs, Tail, Term
from bayeskit.portable.symbol import Symbol, where
from bayeskit.statistics.keyed import Keyed
from bayeskit.statistics.moments import Moments
from bayeskit.statistics.scatter import Scatter
from bayeskit.statistics.statistic import Product
from bayeskit.statistics.tables import Tables
from bayeskit.structures.covariance import FLAT, SHAPES, factor_of, refuse_singular
from bayeskit.structures.joint import Cells, Joint, LeftOutRows
from bayeskit.structures.normals import Normals, left_out, mixture_log_density
from bayeskit.structures.numbers import Numbers, Points, moments_of
from bayeskit.validation import keep, number

TINY = 2.0**-900
SHOWN = 4  # number columns up to which a covariance is written out


@dataclass(frozen=True)
class Full(Likelihood[Product]):
    """p(x | c) = p(cell | c) N(numbers; mean of the cell, covariance of the class).

    The cell is that of all categorical columns; its mean is (n x_cell + 5 x_class) / (n + 5).

    >>> import bayeskit as bk
    >>> rows = [[0.0, 0.1], [1.0, 0.9], [2.0, 2.1], [0.0, 2.0], [1.0, 1.1], [2.0, -0.1]]
    >>> bk.FullBayes().fit(rows, ["up", "up", "up", "down", "down", "down"]).predict([[1.9, 1.9]])
    array(['up'], dtype='<U4')
    """

    covariance: str = "full"
    shrinkage: float | str | None = "auto"
    smoothing: float | str = 1.0
    available: bool = False

    identifier: ClassVar[str] = "structure/full"
    kinds: ClassVar[tuple[str, ...]] = (*CODED, *NUMERIC)

    def __post_init__(self) -> None:
        if self.covariance not in SHAPES:
            raise InputError(f"covariance={self.covariance!r}: choose one of {', '.join(SHAPES)}")
        for name, value, what, most in (
            ("shrinkage", self.shrinkage, "'auto', None or", 1.0),
            ("smoothing", self.smoothing, "'auto' or", np.inf),
        ):
            if value == "auto" or (name == "shrinkage" and value in (None, "pooled")):
                continue
            known = number(value)
            if known is None or not 0 <= known <= most:
                bound = "between 0 and 1" if most == 1 else "of at least 0"
                raise InputError(f"{name}={value!r}: give {what} a number {bound}")
            keep(self, **{name: known})

    @property
    def leave_one_out(self) -> bool:
        """Whether a density can take a row out; what is available of every two columns has to be refitted."""
        return self.shrinkage != "pooled" and (not self.available or self.covariance in FLAT)

    def statistic(self, columns: Sequence[Column], n_groups: int) -> Product:
        coded, numeric = ([c.name for c in columns if c.coded], [c.name for c in columns if c.numeric])
        means = Product({"rows": Tables.empty([()], 0), "means": Moments.empty(numeric, 0)}, 0)
        numbers: Keyed | Scatter | Moments
        if self.covariance in FLAT:
            numbers = Moments.empty(numeric, n_groups)
        elif self.available:
            numbers = Scatter.empty(numeric, n_groups, available=True)
        else:
            numbers = Keyed.empty(numeric, Scatter.empty(numeric, 0), n_groups, patterns=True)
        return Product({"cells": Keyed.empty(coded, means, n_groups), "numbers": numbers}, n_groups)

    def fit(self, statistic: Product, context: Context) -> FullDensity:
        cells = statistic.part("cells", Keyed)
        joint = Joint.of(cells, self.smoothing, context.unseen)
        numbers = Numbers.of(_numeric(statistic), self.covariance == "spherical")
        normals = Normals.of(numbers, _cells(cells, joint, numbers), self.covariance, self.shrinkage)
        singular = normals.covariance.singular(numbers.total) if len(numbers.columns) else []
        if not self.shrinkage:
            refuse_singular(singular, numbers.weight, numbers.columns, context.labels)
        regularised = tuple(tuple(numbers.columns[j] for j in places) for places in singular)
        empty = tuple(name for name, size in cells.sizes.items() if size == 1)
        parts = tuple(dict.fromkeys((*_numeric(statistic).columns, *cells.columns)))
        return FullDensity(parts, joint, normals, empty, regularised, len(context.weights), self.leave_one_out)


def _list(numbers: Float) -> str:
    return " ".join(f"{x:.4g}" for x in numbers)


def _numeric(counts: Product) -> Keyed | Scatter | Moments:
    """What is counted of numbers."""
    found = counts["numbers"]
    assert isinstance(found, Keyed | Scatter | Moments)
    return found


def without_products(counts: Product) -> Product:
    """What a full covariance counts, as what variances alone do."""
    return replace(counts, parts={**counts.parts, "numbers": moments_of(_numeric(counts))})


def _cells(statistic: Keyed, joint: Joint, numbers: Numbers) -> tuple[Cells, ...]:
    """The complete cells of each class with the means of their numbers."""
    codes = statistic.keys[:, [1 + statistic.columns.index(name) for name in joint.columns]]
    which = joint.find(codes) if joint.columns else np.full(len(codes), -1)
    weight, mean = numbers.cells(statistic.inner["means"])
    found = []
    for k, centre in enumerate(numbers.mean):
        mine = np.flatnonzero((statistic.keys[:, 0] == k) & (which >= 0) & bool(len(numbers.columns)))
        away = np.where(weight[mine] > 0, mean[mine] - centre, 0.0)
        found.append(Cells(which[mine], weight[mine], away))
    return tuple(found)


@dataclass(frozen=True)
class FullDensity(SupportsLeftOut):
    """log p(cell | c) + log N(numbers | c, cell); what is missing is summed or integrated out."""

    columns: tuple[str, ...]
    joint: Joint
    normals: Normals
    single: tuple[str, ...]  # categorical columns of one level
    singular: tuple[tuple[str, ...], ...]  # (K) columns a class covariance alone does not tell apart
    classes: int
    removable: bool  # whether a row can be taken out

    normalised: ClassVar[bool] = True
    additive: ClassVar[bool] = False

    @property
    def held(self) -> tuple[str, ...]:
        """What leave-one-out has of all rows; a diagonal has no target, and no shrinkage needs none."""
        covariance = self.normals.covariance
        shrunk = len(covariance.target) and covariance.shape != "diagonal" and covariance.shrinkage
        return ("pooled variances that covariances are drawn toward, which saw the label of the row",) if shrunk else ()

    @property
    def regularised(self) -> tuple[tuple[str, ...], ...]:
        return self.singular

    @property
    def constant(self) -> tuple[str, ...]:
        return (*self.normals.numbers.constant, *self.single)

    @property
    def axes(self) -> dict[str, Axis]:
        """Where each number column has its values: around the mean of every class, as wide as its cells lie apart."""
        normals, shift = self.normals, self.normals.numbers.shift
        apart = np.array([np.abs(cells.offset).max(axis=0, initial=0.0) for cells in normals.cells])
        wide = np.hypot(normals.deviations, np.ldexp(apart, -shift))
        columns = enumerate(normals.numbers.columns)
        return {name: Axis.around(normals.means[:, j], wide[:, j]) for j, name in columns}

    @property
    def overlap(self) -> Float | None:
        """Of numbers alone."""
        return None if self.joint.columns else self.normals.covariance.overlap(self.normals.numbers.mean)

    def draw(self, group: int, rows: int, rng: np.random.Generator) -> dict[str, Float]:
        """Rows of a class, by column; of numbers alone."""
        if self.joint.columns:
            raise InputError(
                "rows of categories and numbers together cannot be drawn; leave columns out, or take the "
                "cross-validated error instead"
            )
        white = rng.standard_normal((rows, len(self.normals.numbers.columns)))
        z = self.normals.numbers.mean[group] + self.normals.covariance.colour(group, white)
        x = self.normals.numbers.origin + np.ldexp(z, -self.normals.numbers.shift)
        return {name: np.ascontiguousarray(x[:, j]) for j, name in enumerate(self.normals.numbers.columns)}

    def verify(self) -> None:
        try:
            self.normals.factor(np.ones(len(self.normals.numbers.columns), dtype=bool))
        except np.linalg.LinAlgError as error:
            raise InputError("the sums of products are those of no rows: a covariance has no root") from error

    def add(self, block: Block, out: Float) -> None:
        points, codes = self._read(block)
        out += self._log(points, codes, self._own(block, points, codes))

    def distances(self, block: Block) -> Float:
        """Mahalanobis distance of the numbers to the mean of every class, or of the row's cell in it: (n, K)."""
        points, codes = self._read(block)
        squares, _ = self.normals.squares(points, self.joint.find(codes) if self.joint.columns else None)
        return np.sqrt(squares)

    def portable(self, inputs: Inputs) -> list[Term]:
        """One term; where there is no smoothing at all, what a vanishing one would give stands behind it."""
        value = self._symbol(inputs)
        if not self.joint.columns:
            return [Term(self.columns, value, chain=self.normals.numbers.columns)]
        if self.joint.alpha != 0:
            return [Term(self.columns, value)]
        tiny = replace(self, joint=replace(self.joint, alpha=TINY))._symbol(inputs) - np.log(TINY)
        zero = np.isneginf(value)
        return [Term(self.columns, value, Tail(where(zero, 1.0, 0.0), None, where(zero, tiny, value)))]

    def _symbol(self, inputs: Inputs) -> Any:
        numbers, matrix = self.normals.numbers, self.normals.covariance.dense
        shared = len(matrix) > 1 and bool((matrix == matrix[0]).all())
        codes = [inputs.code(name) for name in self.joint.columns]
        if not self.joint.smooth_unseen:
            codes = [np.maximum(code, -1.0) for code in codes]
        cells = self.joint.portable(self.normals.cells, len(numbers.columns)) if codes else None
        units = np.asarray(numbers.shift * LOG_2 - LOG_2PI / 2, dtype=np.float64)
        node = Normal(numbers.mean, matrix[:1] if shared else matrix, units, cells)
        z = [numbers.symbol(inputs.number(name), j) for j, name in enumerate(numbers.columns)]
        return Symbol("normal", node, *z, *codes)

    def _read(self, block: Block) -> tuple[Points, Int]:
        """Numbers (n, d) and codes (n, q) of the columns that say something."""
        codes = block.codes[block.code_positions(self.joint.columns)].T.astype(np.int64)
        return self.normals.numbers.read(block), np.ascontiguousarray(codes)

    @property
    def left_out(self) -> Density:
        if not self.removable:
            raise InputError(
                "a model with missing='available' or shrinkage='pooled' cannot leave a row out; refit without the row"
            )
        kept = self.columns, self.joint, self.normals, self.single, self.singular, self.classes
        return LeftOutFull(*kept, self.removable)

    def _own(self, block: Block, points: Points, codes: Int) -> LeftOutRows | None:
        """What is to be taken out of each row."""
        return None

    def _log(self, points: Points, codes: Int, own: LeftOutRows | None) -> Float:
        if not self.normals.numbers.columns:
            return self.joint.log(codes, own)
        if not self.joint.columns:
            return self._numbers(points, None, own)
        return mixture_log_density(self.joint, self.normals, points, codes, own)

    def _numbers(self, points: Points, cell: Int | None, own: LeftOutRows | None) -> Float:
        squares, constant = self.normals.squares(points, cell) if own is None else left_out(self.normals, points, own)
        return constant - 0.5 * squares

    def terms(self, block: Block) -> Float:
        """How log p(x | c) changes as each column is revealed, in schema order: (n, parts, K)."""
        points, codes = self._read(block)
        z, mine = points.z, self._own(block, points, codes)
        if mine is None and not self.joint.columns:
            return self._chain(points, block.schema.names)
        numeric = {name: j for j, name in enumerate(self.normals.numbers.columns)}
        coded = {name: j for j, name in enumerate(self.joint.columns)}
        seen_z, seen_codes = np.full_like(z, np.nan), np.full_like(codes, -1)
        out = np.zeros((block.rows, len(self.columns), self.classes))
        place = {name: j for j, name in enumerate(self.columns)}
        before = np.zeros((block.rows, self.classes))
        for name in block.schema.names:
            if name not in numeric and name not in coded:
                continue
            if name in numeric:
                seen_z[:, numeric[name]] = z[:, numeric[name]]
            if name in coded:
                seen_codes[:, coded[name]] = codes[:, coded[name]]
            after = self._log(Points.of(seen_z), seen_codes, mine)
            with np.errstate(invalid="ignore"):
                out[:, place[name]] = np.where(np.isneginf(after), -np.inf, after - before)
            before = after
        return out

    def work_out(self, row: Block) -> list[WorkedFactor]:
        """The probability of the cell, and the normal density of the numbers."""
        points, codes = self._read(row)
        whole, found = self._log(points, codes, None)[0], []
        if (known := codes[0] != -1).any():
            cell = self.joint.log(codes)[0]
            names = tuple(np.array(self.joint.columns, dtype=object)[known])
            found.append(WorkedFactor(names, cell, ratios=self.joint.written(codes), mass=True))
            with np.errstate(invalid="ignore"):
                whole = np.where(np.isneginf(cell), 0.0, whole - cell)
        there = ~np.isnan(points.z[0])
        if there.any():
            names = tuple(np.array(self.normals.numbers.columns, dtype=object)[there])
            given = found[0].columns if found else ()
            found.append(WorkedFactor(names, whole, given, formulas=self._formulas(there) if not found else ()))
        return found

    def _formulas(self, there: Bool) -> tuple[str, ...]:
        """The mean and covariance of the columns that are there, by class."""
        if there.sum() > SHOWN:
            return ()
        means, covariances = self.normals.means[:, there], self.normals.covariances[:, there][:, :, there]
        each = zip(means, covariances, strict=True)
        return tuple(f"N(x; mean ({_list(m)}), covariance ({'; '.join(map(_list, s))}))" for m, s in each)

    def _chain(self, points: Points, names: Sequence[str]) -> Float:
        """The same of numbers alone: one factor in the order of revealing holds all conditional densities.

        With x = mean + L u, log p(x_j | those before, c) = -u_j^2 / 2 - log L_jj, and a constant.
        """
        columns = self.normals.numbers.columns
        order = np.array([columns.index(name) for name in names if name in columns], dtype=np.int64)
        place = [self.columns.index(columns[j]) for j in order.tolist()]
        out = np.zeros((len(points), len(self.columns), self.classes))
        for there, chosen in points.patterns():
            rows = np.arange(len(points)) if chosen is None else chosen
            present = order[there[order]]
            if len(present):
                matrix, numbers = self.normals.covariance.matrix, self.normals.numbers
                factor = factor_of(present, matrix, numbers.mean, numbers.shift)
                white = factor.whiten(points.z[rows])  # (n, K, o)
                log = factor.sizes - 0.5 * white**2 - LOG_2PI / 2 + numbers.shift[present] * LOG_2
                which = np.array(place)[there[order]]
                out[np.ix_(rows, which)] = np.moveaxis(log, 1, 2)
        return out

    def tail(self, block: Block, unit: Float) -> TailLogDensity:
        """One factor vanishes with the smoothing where a cell has no rows: as a over the rows of the class."""
        out = np.zeros((block.rows, self.classes))
        self.add(block, out)
        zero = np.isneginf(out)
        tiny = replace(self, joint=replace(self.joint, alpha=TINY))
        rest = np.full_like(out, -np.log(TINY))
        tiny.add(block, rest)
        return TailLogDensity(zero.astype(np.float64), np.zeros_like(out), np.where(zero, rest, out))


@dataclass(frozen=True)
class LeftOutFull(FullDensity):
    """Without each row itself."""

    def _own(self, block: Block, points: Points, codes: Int) -> LeftOutRows:
        return LeftOutRows(*block.rows_with_weight(), codes, points)
