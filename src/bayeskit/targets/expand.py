"""Expand: nodes and the posterior itself as plain steps, for targets that know nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, product
from math import prod
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from bayeskit.arrays import FRONT, Float
from bayeskit.portable.nodes import NOTHING, Cells, Kernel, Mixture, Network, Normal
from bayeskit.portable.program import BY_CLASS, FAR, MOST, OVERFLOW, SURE, Calibration, Member, Program, Unportable
from bayeskit.portable.symbol import Symbol, Value, largest, least, logsum, place, take, together, total, where

Solve = Callable[[Sequence[Value]], list[Value]]  # a triangular system

ROOM = 60_000  # steps that summing out, or a factor of a covariance, may take


def log_posterior(program: Program) -> Any:
    """log P(c | x) of a whole program, up to what the classes have in common, without nodes."""
    if alone(program) and program.calibration is None:
        return expand(_joint(program.members[0]))
    score: Any = program.base
    for member in program.members:
        logs = _normalise(_joint(member))
        if program.back_off:
            logs = logsum([np.log1p(-program.back_off) + logs, np.log(program.back_off) + program.own])
        score = score + member.weight * (logs - program.own)
    if not isinstance(score, Symbol):  # no member: the prior
        score = Symbol("add", score, 0.0)
    return expand(score if program.calibration is None else _calibrate(program.calibration, _normalise(score)))


def alone(program: Program) -> bool:
    """Whether it is the posterior of its only member."""
    single = len(program.members) == 1 and not program.back_off and program.members[0].weight == 1
    return single and not np.any(program.base) and not np.any(program.own)


def _normalise(joint: Value) -> Any:
    near = joint - largest(joint)  # however far away all classes are
    return near - together(near)


def _joint(member: Member) -> Any:
    score = member.whole
    if not isinstance(score, Symbol):
        score = Symbol("add", score, 0.0)
    if all(term.tail is None for term in member.terms) and np.isfinite(member.base).all():
        return score
    top: Any = largest(score)
    return where(np.isneginf(top), _limit(member), score)


def _limit(member: Member) -> Any:
    """log P(c, x) of the classes that are left as smoothing vanishes."""
    limits = [term.limit for term in member.terms]
    sizes = [limit.size for limit in limits if limit.size is not None]
    zeros = total([np.zeros(len(member.base)), *(limit.zeros for limit in limits)])
    rest = total([limit.rest for limit in limits])
    overflow: Any = 0.0
    if sizes:
        unit: Any = Symbol("peak", 0.0, *sizes)
        overflow = total([where(size > OVERFLOW, -np.exp2(np.minimum(size - unit, 0.0)), 0.0) for size in sizes])
    able = np.isfinite(member.base)
    fewest = where(able, zeros, np.inf)
    running = (
        where(fewest == least(fewest), overflow, -np.inf)
        if isinstance(fewest, Symbol)
        else where(able, overflow, -np.inf)
    )
    best = running if not isinstance(running, Symbol) else where(running == largest(running), 1.0, 0.0)
    base = np.where(able, member.base, 0.0)
    if not isinstance(best, Symbol):
        return np.maximum(rest, -1e300) + base
    return where(best > 0, np.maximum(rest, -1e300) + base, -np.inf)


def _calibrate(calibration: Calibration, logs: Any) -> Any:
    kind, *numbers = calibration
    each = [np.array(row) for row in numbers] if kind in BY_CLASS else []
    if kind == "temperature":
        return numbers[0] * np.maximum(logs, -SURE)
    if kind == "vector":
        return each[0] * np.maximum(logs, -SURE) + each[1]
    if kind == "pairs":
        return _join_pairs(numbers[0], numbers[1], np.maximum(logs, -MOST))
    k = len(numbers[0])
    one = [Symbol("class", logs, c) for c in range(k)]
    rest = Symbol("stack", *(logsum([one[j] for j in range(k) if j != c]) for c in range(k)))
    odds = np.minimum(np.maximum(logs - rest, -SURE), SURE)
    if kind == "isotonic":
        tables = zip(*numbers, (Symbol("class", odds, c) for c in range(k)), strict=True)
        return Symbol("stack", *(take(np.array(levels), place(np.array(edges), x)) for edges, levels, x in tables))
    if kind == "sigmoid":
        return _log_expit(each[0] * odds + each[1])
    if kind == "beta":
        return _log_expit(each[0] * _log_expit(odds) - each[1] * _log_expit(-odds) + each[2])
    near = np.minimum(np.maximum(odds, -FAR), FAR)
    return _log_expit(each[0] + (each[1] + each[2] * near) * near)


def _log_expit(z: Any) -> Any:
    return where(z < 0, z, 0.0) - np.log1p(np.exp(-np.abs(z)))


def _join_pairs(edges: Sequence[Sequence[float]], levels: Sequence[Sequence[float]], logs: Value) -> Value:
    """Probabilities of pairs of classes as those of all, as ``portable.program.calibrate`` has it."""
    k = next(k for k in range(2, len(edges) + 2) if k * (k - 1) // 2 == len(edges))
    one = [Symbol("class", logs, c) for c in range(k)]
    inverse: list[list[Any]] = [[] for _ in range(k)]
    for (a, b), edge, level in zip(combinations(range(k), 2), edges, levels, strict=True):
        at, second = place(np.array(edge), one[b] - one[a]), np.array(level)
        inverse[a].append(take(1 / (1 - second), at))
        inverse[b].append(take(1 / second, at))
    return Symbol("stack", *(-np.log(total([2.0 - k, *ratios])) for ratios in inverse))


def expand(symbol: Value) -> Any:
    """The same without nodes."""
    done: dict[int, Any] = {}
    waiting = [symbol]
    while waiting:
        one = waiting[-1]
        if id(one) in done or not isinstance(one, Symbol):
            waiting.pop()
            continue
        left = [a for a in one.args if isinstance(a, Symbol) and id(a) not in done]
        if left:
            waiting += left
            continue
        args = [done.get(id(a), a) if isinstance(a, Symbol) else a for a in one.args]
        changed = any(a is not b for a, b in zip(args, one.args, strict=True))
        again = Symbol(one.op, *args) if changed else one
        rewrite = _NODES.get(one.op)
        if rewrite is not None:
            again = expand(rewrite(*args))
        if one.op == "neighbours":
            raise Unportable(
                "it looks up the learned rows, which only a report takes along (bk.report(..., rows=True))"
            )
        done[id(one)] = again
        waiting.pop()
    return done.get(id(symbol), symbol)


def _mixture(node: Mixture, y: Symbol) -> Symbol:
    return Symbol("stack", *(_kernel(kernel, y) for kernel in node.kernels))


def _kernel(kernel: Kernel, y: Symbol) -> Any:
    whole = Symbol("kernels", kernel, y)
    if not kernel.stretches:
        return whole + kernel.constant
    low, high = (np.array([s[i] for s in kernel.stretches]) for i in (0, 1))
    begin = np.cumsum([0, *(len(s[2]) for s in kernel.stretches)]).astype(np.float64)
    which = np.maximum(place(low, y) - 1, 0.0) if len(low) > 1 else 0.0
    first, last, start = (take(of, which) if len(low) > 1 else float(of[0]) for of in (low, high, begin[:-1]))
    at = (y - first) * kernel.steps
    cell = np.floor(at)
    t, index = at - cell, start + cell
    cubics = np.concatenate([s[2] for s in kernel.stretches])
    a, b, c, d = (take(np.where(np.isnan(cubics[:, i]), 0.0, cubics[:, i]), index) for i in range(4))
    curve = ((d * t + c) * t + b) * t + a
    inside = (y > first) & (y < last)
    bad = np.isnan(cubics[:, 0])
    if bad.any():
        inside = inside & (take(bad.astype(np.float64), index) == 0)
    return where(inside, curve, whole) + kernel.constant


def _normal(node: Normal, *args: Value) -> Any:
    d = node.mean.shape[1]
    z, codes = args[:d], args[d:]
    room = d**3 // 6 + (0 if node.cells is None else len(_union(node.cells)) * (d * d // 2 + 3))
    if np.any(np.tril(node.covariance, -1)) and room * len(node.mean) > ROOM:
        raise Unportable(
            f"a covariance of {d} columns with cells of categories takes too many steps; see covariance='diagonal'"
        )
    away = [z[j] - node.mean[:, j] for j in range(d)]
    if node.cells is not None and not d:
        return _log_mixture(node.cells, codes, [], list, 0.0)
    complete: Any = 1.0
    for x in z:
        complete = complete & ~np.isnan(x) if isinstance(complete, Symbol) else ~np.isnan(x)
    k = len(node.mean)
    matrices = [node.matrix(c) for c in range(k)]
    lower = np.array([np.linalg.cholesky(m) for m in matrices])
    inverse = np.array([solve_triangular(m, np.eye(d), lower=True) for m in lower])
    size = node.units.sum() - np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)

    def known(rest: Sequence[Value]) -> list[Value]:
        return [total([inverse[:, i, j] * rest[j] for j in range(i + 1) if inverse[:, i, j].any()]) for i in range(d)]

    there = [where(np.isnan(x), 0.0, 1.0) for x in z]
    left, sizes = _lower_factors(np.array(matrices), there)

    def solve(rest: Sequence[Value]) -> list[Any]:
        out: list[Any] = []
        for i in range(d):
            terms = [left[i][m] * out[m] for m in range(i) if left[i][m] is not None]
            out.append((rest[i] - total(terms) if terms else rest[i]) / left[i][i])
        return out

    filled = [where(np.isnan(x), 0.0, a) for x, a in zip(z, away, strict=True)]
    partly = total([o * u - s for o, u, s in zip(there, node.units.tolist(), sizes, strict=True)])
    if node.cells is None:
        full = size - 0.5 * _squares(known(away))
        return where(complete, full, partly - 0.5 * _squares(solve(filled)))
    cells = node.cells
    full = _log_mixture(cells, codes, away, known, 1.0) + size
    return where(complete, full, _log_mixture(cells, codes, filled, solve, there) + partly)


def _lower_factors(matrices: Float, there: Sequence[Value]) -> tuple[list[list[Value]], list[Value]]:
    """The lower factors of covariances (K, d, d) over the columns that are there, and the logs of their diagonals.

    A column that is missing has variance 1 and no covariance, which changes nothing for the others.
    """
    d, sizes = len(there), []
    lower: list[list[Any]] = []
    for i in range(d):
        row: list[Any] = []
        for j in range(i):
            terms = [row[m] * lower[j][m] for m in range(j) if row[m] is not None and lower[j][m] is not None]
            plain = matrices[:, i, j]
            if not terms and not plain.any():
                row.append(None)
                continue
            known = there[i] * there[j] * plain
            row.append((known - total(terms) if terms else known) / lower[j][j])
        squares = [Symbol("square", row[m]) for m in range(i) if row[m] is not None]
        own = there[i] * matrices[:, i, i] + (1 - there[i])
        root = np.sqrt(own - total(squares) if squares else own)
        lower.append([*row, root])
        sizes.append(np.log(root))
    return lower, sizes


def _squares(numbers: Sequence[Value]) -> Any:
    return total([Symbol("square", v) for v in numbers])


def _union(cells: Cells) -> list[tuple[int, ...]]:
    return sorted({tuple(row) for codes in cells.codes for row in codes.tolist()})


def _log_mixture(
    cells: Cells, codes: Sequence[Value], rest: Sequence[Value], solve: Solve, there: Value | Sequence[Value]
) -> Any:
    """log of the sum over the cells a row may be in of their mass times the density about their mean."""
    every, k, d = _union(cells), len(cells.codes), len(rest)
    at = [{tuple(row): i for i, row in enumerate(c.tolist())} for c in cells.codes]

    def of(values: Sequence[Float], cell: tuple[int, ...], none: float) -> Float:
        return np.array([values[c][at[c][cell]] if cell in at[c] else none for c in range(k)])

    margins = zip(cells.margins, codes, strict=True)
    joint = total([cells.base, *(take(table, code + FRONT) for table, code in margins)])
    plain = -0.5 * _squares(solve(rest)) if d else 0.0
    used, logs = [], []
    for cell in every:
        match: Any = None
        for code, c in zip(codes, cell, strict=True):
            one = (code == -1) | (code == float(c))
            match = one if match is None else match & one
        spare, mass = of(cells.spare, cell, -np.inf), of(cells.mass, cell, -np.inf)
        used.append(where(match, np.exp(spare - joint) if np.isfinite(spare).any() else 0.0, 0.0))
        near: Any = 0.0
        if d:
            offset = np.array([cells.offset[c][at[c][cell]] if cell in at[c] else np.zeros(d) for c in range(k)])
            shifts = [offset[:, j] * (there[j] if isinstance(there, list) else 1.0) for j in range(d)]
            near = -0.5 * _squares(solve([r - s for r, s in zip(rest, shifts, strict=True)]))
        logs.append(where(match, mass + near, -np.inf))
    left = 1 - total(used)
    logs.append(where((left > NOTHING) & ~np.isneginf(joint), joint + np.log(left) + plain, -np.inf))
    more = total([cells.every, *(take(table, code + FRONT) for table, code in zip(cells.more, codes, strict=True))])
    return logsum(logs) - logsum([cells.weight, more])


def _network(node: Network, *codes: Value) -> Any:
    known: list[Any] = [*codes, *([0.0] * (len(node.size) - len(codes)))]
    pieces = [_line(node, j, known) for j in range(len(node.size))]
    if node.weights is not None:
        return _weigh(node, known, pieces)
    plain = total(pieces) - node.log_class
    hidden: Any = None
    for j, parents in enumerate(node.parents):
        for p in parents:
            one = (known[p] == -1) & ~(known[j] == -1) if isinstance(known[j], Symbol) else known[p] == -1
            hidden = one if hidden is None else hidden | one
    if hidden is None:
        return plain
    return where(hidden, _marginal(node, known, range(len(node.size))) - node.log_class, plain)


def _line(node: Network, j: int, codes: Sequence[Value]) -> Value:
    index: Any = 0.0
    for v in (*node.parents[j], j):
        index = index * float(node.size[v] + FRONT) + (codes[v] + FRONT)
    return take(node.tables[j], index)


def _weigh(node: Network, codes: Sequence[Value], pieces: Sequence[Value]) -> Any:
    """What each column adds to those given before it in the order of the arcs, multiplied."""
    out: list[Any] = []
    seen: list[int] = []
    for j in node.order:
        piece = pieces[j]
        missing: Any = None
        for p in node.parents[j]:
            missing = codes[p] == -1 if missing is None else missing | (codes[p] == -1)
        if missing is not None:
            before, after = _marginal(node, codes, seen), _marginal(node, codes, [*seen, j])
            piece = where(missing & ~(codes[j] == -1), after - before, piece)
        seen.append(j)
        out.append((node.weights or ())[j] * piece)
    return total(out)


def _marginal(node: Network, codes: Sequence[Value], seen: Sequence[int]) -> Any:
    """log p of some columns given the class: levels that a row may have are summed, in the order that is cheapest."""
    kept = set(seen)
    for j in reversed(node.order):  # ancestors
        if j in kept:
            kept.update(node.parents[j])
    states = {v: [-2, *range(node.size[v])] if node.size[v] else [-2, -1] for v in kept}
    factors: list[tuple[tuple[int, ...], dict[tuple[int, ...], Any]]] = []
    for j in sorted(kept):
        scope = (*node.parents[j], j)
        steps = np.array([node.size[v] + FRONT for v in scope])
        logs = node.tables[j].reshape(*steps, -1)
        cells = product(*(states[v] for v in scope))
        factors.append((scope, {cell: np.exp(logs[tuple(c + FRONT for c in cell)]) for cell in cells}))
        code = codes[j]
        if isinstance(code, Symbol) and j in set(seen):
            may_be: dict[tuple[int, ...], Any] = {
                (s,): where((code == float(s)) | ((code == -1) if s >= 0 else (code == float(s))), 1.0, 0.0)
                for s in states[j]
            }
            factors.append(((j,), may_be))
        elif isinstance(code, Symbol):
            factors.append(((j,), {(s,): float(s >= 0) for s in states[j]}))
        else:
            factors.append(((j,), {(s,): float(s == code) for s in states[j]}))
    spent, left = 0, set(kept)
    while left:
        scopes = {v: tuple(dict.fromkeys(u for scope, _ in factors if v in scope for u in scope)) for v in left}
        v = min(sorted(left), key=lambda u: prod(len(states[w]) for w in scopes[u]))
        mine = [f for f in factors if v in f[0]]
        scope = tuple(u for u in scopes[v] if u != v)
        spent += prod(len(states[u]) for u in scopes[v])
        if spent * len(node.log_class) > ROOM:
            raise Unportable(
                "its columns depend on so many others that summing missing values out takes too many steps; fewer "
                "parents (TAN, KDB(k=1)), or missing='level', need fewer"
            )
        made = {}
        for cell in product(*(states[u] for u in scope)):
            at = dict(zip(scope, cell, strict=True))
            terms = []
            for s in states[v]:
                value: Any = 1.0
                for of, table in mine:
                    value = _times(value, table[tuple(s if u == v else at[u] for u in of)])
                if isinstance(value, Symbol) or np.any(value):
                    terms.append(value)
            made[cell] = total(terms) if any(isinstance(t, Symbol) for t in terms) else sum(terms, np.zeros(1))
        factors = [f for f in factors if v not in f[0]] + [(scope, made)]
        left.remove(v)
    value = 1.0
    for _, table in factors:
        value = _times(value, table[()])
    return np.log(value)


def _times(a: Value, b: Value) -> Value:
    for one, other in ((a, b), (b, a)):
        if not isinstance(one, Symbol):
            if not np.any(one):
                return 0.0
            if np.all(np.asarray(one) == 1):
                return other
    return a * b


_NODES: dict[str, Callable[..., Any]] = {"mixture": _mixture, "normal": _normal, "network": _network}
