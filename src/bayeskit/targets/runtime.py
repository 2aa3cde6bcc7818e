"""Runtime: the steps of a portable program at the values of one row, with Python's standard library alone.

``Scorer(program)`` takes the JSON of a program; ``predict_proba(row)`` takes a mapping from column to value.
"""

import math
from bisect import bisect_left
from functools import partial, reduce
from itertools import accumulate, combinations
from operator import mul

INFINITY, NAN = math.inf, math.nan
OVERFLOW, NOTHING, SURE, FAR, MOST, FRONT = 900.0, 1e-12, 700.0, 30.0, 1e300, 2


def logsum(numbers):
    most = max(numbers, default=-INFINITY)
    return most if math.isinf(most) else most + math.log(math.fsum(math.exp(v - most) for v in numbers))


def number(value):
    return float(value) if isinstance(value, str) else value


def log(x):
    return math.log(x) if x > 0 else -INFINITY if x == 0 else NAN


def log1p(x):
    return math.log1p(x) if x > -1 else -INFINITY if x == -1 else NAN


def exp(x):
    return math.exp(x) if x < 709.7 else INFINITY if x >= 709.7 else NAN


def divide(a, b):
    if b:
        return a / b
    return NAN if not a or math.isnan(a) or math.isnan(b) else math.copysign(INFINITY, a)


def series(z):
    i = 1 / (z * z)
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - (1 / 1188 - 691 / 360360 * i) * i) * i) * i) * i) / z


def stirling(x):
    """log Gamma(x + 1) less Stirling's formula."""
    if x >= 15:
        return series(x)
    far, rising = x + 15, math.log(reduce(mul, (x + i for i in range(1, 16))))
    return (far + 0.5) * math.log(far) - far + series(far) - rising - (x + 0.5) * log(x) + x if x > 0 else NAN


def deviance(x, mean):
    """x log(x / mean) + mean - x."""
    v = divide(x / 2 - mean / 2, x / 2 + mean / 2)
    if abs(v) < 0.1:
        tail = 0.0
        for k in range(10, 0, -1):
            tail = (tail + 1 / (2 * k + 1)) * v * v
        return (x - mean) * v + x * (2 * v * tail)
    ratio = divide(x, mean)
    logs = log(ratio) if 1e-300 < ratio < 1e300 else log(x) - log(mean)
    return (x * logs if x > 0 else 0.0) + (mean - x)


def least(a, b):
    return NAN if a != a or b != b else min(a, b)


def greatest(a, b):
    return NAN if a != a or b != b else max(a, b)


SIMPLE = {
    "neg": lambda a: -a,
    "abs": abs,
    "floor": lambda a: float(math.floor(a)) if math.isfinite(a) else a,
    "square": lambda a: a * a,
    "sqrt": lambda a: math.sqrt(a) if a >= 0 else NAN,
    "log": log,
    "log1p": log1p,
    "exp": exp,
    "sin": lambda a: math.sin(a) if math.isfinite(a) else NAN,
    "cos": lambda a: math.cos(a) if math.isfinite(a) else NAN,
    "not": lambda a: not a,
    "missing": lambda a: a != a,
    "stirling": stirling,
    "deviance": deviance,
    "add": lambda *terms: sum(terms[1:], terms[0]),
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": divide,
    "min": least,
    "max": greatest,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "and": lambda a, b: bool(a) and bool(b),
    "or": lambda a, b: bool(a) or bool(b),
    "logsum": lambda *terms: logsum(terms),
}
ACROSS = {"largest": max, "least": min, "together": logsum}


class Scorer:
    """Posteriors of rows, one at a time."""

    def __init__(self, program):
        if program["format"] != 1:
            raise ValueError(f"format {program['format']} of the program is not known here")
        self.program = program
        self.classes = program["classes"]
        self.k = len(self.classes)
        self.tables = [([number(v) for v in t["data"]], t["width"]) for t in program["tables"]]
        self.levels = [{tuple(key): code for code, key in enumerate(c.get("levels", ()))} for c in program["columns"]]
        self.factors, self.grown = {}, {}

    def predict_proba(self, row):
        """P(class | row) by class, of a mapping from column to value; None, NaN and what is not there are missing."""
        logs = self.log_proba(self.read(row))
        return {label: math.exp(v) for label, v in zip(self.classes, logs, strict=False)}

    def predict(self, row):
        """The most probable class; the first in a tie."""
        logs = self.log_proba(self.read(row))
        return self.classes[max(range(self.k), key=lambda c: (logs[c], -c))]

    def read(self, row):
        """The inputs of a row: numbers, and codes of levels."""
        return [self._input(j, column, row.get(column["name"])) for j, column in enumerate(self.program["columns"])]

    def _input(self, j, column, value):
        name = column["name"]
        if value is None or value != value:
            return NAN if column["numeric"] else float(column["missingCode"])
        if column["numeric"]:
            if isinstance(value, str):
                raise ValueError(f"column {name!r} takes numbers, not {value!r}")
            if math.isinf(value):
                raise ValueError(f"column {name!r} has an infinite number")
            return float(value)
        if isinstance(value, bool):
            family = 0
        elif isinstance(value, (int, float)):
            family, value = 1, int(value) if value == int(value) else float(value)
        else:
            family = 2
        code = self.levels[j].get((family, value), -2)
        if code == -2 and column["knownOnly"]:
            raise ValueError(f"column {name!r} has level {value!r}, which was not learned")
        return float(code)

    def log_proba(self, inputs):
        """log P(class | row) of inputs, in the order of the classes."""
        pool = self.program["pool"]
        score, own, e = [number(v) for v in pool["base"]], [number(v) for v in pool["own"]], pool["backOff"]
        for member in self.program["members"]:
            logs = self._member(member, inputs)
            if e:
                logs = [logsum((math.log1p(-e) + v, math.log(e) + o)) for v, o in zip(logs, own, strict=False)]
            score = [s + member["weight"] * (v - o) for s, v, o in zip(score, logs, own, strict=False)]
        return self._calibrate(normalise(score))

    def _member(self, member, inputs):
        value = Row(self, inputs)
        base = [number(v) for v in member["base"]]
        terms = [self.by_class(value(term["value"])) for term in member["terms"]]
        joint = [sum((t[k] for t in terms), b) for k, b in enumerate(base)]
        return normalise(joint if max(joint) > -INFINITY else self._limit(member, base, value))

    def by_class(self, value):
        return value if isinstance(value, list) else [value] * self.k

    def _limit(self, member, base, value):
        """log P(c, x) of the classes that are left as smoothing vanishes."""
        zeros, sizes, rest = [0.0] * self.k, [], [0.0] * self.k
        for term in member["terms"]:
            tail = term["tail"]
            if tail is not None:
                zeros = [a + b for a, b in zip(zeros, self.by_class(value(tail[0])), strict=False)]
                size = [-INFINITY] * self.k if tail[1] is None else self.by_class(value(tail[1]))
                sizes.append([-INFINITY if s != s else s for s in size])
            rest = [
                a + b
                for a, b in zip(rest, self.by_class(value(term["value"] if tail is None else tail[2])), strict=False)
            ]
        unit = max([0.0, *(s for size in sizes for s in size)])
        overflow = [-sum(2.0 ** min(s[k] - unit, 0.0) for s in sizes if s[k] > OVERFLOW) for k in range(self.k)]
        running = [k for k in range(self.k) if base[k] > -INFINITY]
        for order in ([-z for z in zeros], overflow):
            best = max(order[k] for k in running)
            running = [k for k in running if order[k] == best]
        return [max(rest[k], -1e300) + base[k] if k in running else -INFINITY for k in range(self.k)]

    def _calibrate(self, logs):
        calibration = self.program["calibration"]
        if calibration is None:
            return logs
        kind, *given = calibration
        if kind == "temperature":
            return normalise([given[0] * max(v, -SURE) for v in logs])
        if kind == "pairs":
            return normalise(join_pairs(*given, [max(v, -MOST) for v in logs]))
        made = []
        for c, numbers in enumerate(zip(*given, strict=True)):
            rest = logsum([v for k, v in enumerate(logs) if k != c])
            made.append(CALIBRATED[kind](max(logs[c], -SURE), min(max(logs[c] - rest, -SURE), SURE), *numbers))
        return normalise(made)

    # -- nodes ------------------------------------------------------------------------------------

    def mixture(self, spec, y):
        return [self._kernel(kernel, y) for kernel in spec["kernels"]]

    def _kernel(self, kernel, y):
        for low, high, cubics in kernel["stretches"]:
            if low < y < high:
                place = (y - low) * kernel["steps"]
                cell = int(place)
                a, b, c, d = self.line(cubics, cell)
                t = place - cell
                value = ((d * t + c) * t + b) * t + a
                if value == value:
                    return value + kernel["constant"]
        centre, weight = self.tables[kernel["centre"]][0], self.tables[kernel["logWeight"]][0]
        away = [(y - m) * kernel["precision"] for m in centre]
        return kernel["constant"] + logsum([w - 0.5 * a * a for a, w in zip(away, weight, strict=False)])

    def normal(self, spec, *args):
        (mean, d), units = self.tables[spec["mean"]], self.tables[spec["units"]][0]
        z, codes = args[:d], [int(c) for c in args[d:]]
        present = [j for j in range(d) if z[j] == z[j]]
        lower, out = self._lower(spec, tuple(present), d), []
        for k in range(self.k):
            own = lower[0 if spec["shared"] else k]
            whiten = partial(solve_present, own, present)
            away = whiten([z[j] - mean[k * d + j] for j in range(d)])
            size = sum(units[j] - math.log(own[i][i]) for i, j in enumerate(present))
            rest = self._log_cells(spec["cells"], k, codes, away, whiten) if spec["cells"] else -0.5 * square(away)
            out.append(size + rest)
        return out

    def _lower(self, spec, present, d):
        key = (spec["covariance"], present)
        if key not in self.factors:
            half = self.tables[spec["covariance"]][0]
            each = range(1 if spec["shared"] else self.k)
            self.factors[key] = [cholesky(half, k * d * (d + 1) // 2, present) for k in each]
        return self.factors[key]

    def _log_cells(self, cells, k, codes, away, whiten):
        """log of the sum over the cells a row may be in of their mass times the density about their mean."""

        def at(names):
            return sum(self.line(name, c + FRONT)[k] for name, c in zip(names, codes, strict=False))

        together, q = number(cells["base"][k]) + at(cells["margins"]), len(codes)
        known, mass, spare = (self.tables[cells[name][k]][0] for name in ("codes", "mass", "spare"))
        used, logs = 0.0, []
        for i in range(len(mass)):
            if all(c in (-1, known[i * q + j]) for j, c in enumerate(codes)):
                used += math.exp(spare[i] - together) if together > -INFINITY else 0.0
                shift = whiten(self.row(cells["offset"][k], i))
                logs.append(mass[i] - 0.5 * square([a - b for a, b in zip(away, shift, strict=False)]))
        left = 1 - used if together > -INFINITY else 0.0
        if left > NOTHING:
            logs.append(together + math.log(left) - 0.5 * square(away))
        return logsum(logs) - logsum((number(cells["weight"][k]), number(cells["every"][k]) + at(cells["more"])))

    def network(self, spec, *codes):
        asked = [int(c) for c in codes]
        return Summing(spec, [self.tables[t][0] for t in spec["tables"]], self.k).log(
            asked + [0] * (len(spec["size"]) - len(asked))
        )

    def forest(self, spec, *codes):
        if id(spec) not in self.grown:
            tables = [self.tables[spec[name]][0] for name in (*TREES, "values") if name in spec]
            self.grown[id(spec)] = Trees(spec, tables, self.k)
        return self.grown[id(spec)].log([int(c) for c in codes])

    def line(self, table, i):
        return self.tables[table][0][i] if self.tables[table][1] == 1 else self.row(table, i)

    def row(self, table, i):
        data, width = self.tables[table]
        return data[i * width : (i + 1) * width]


class Row:
    """The steps of a program for the inputs of a row, each worked out once, where it is asked for."""

    def __init__(self, scorer, inputs):
        self.scorer, self.inputs, self.known = scorer, inputs, {}

    def __call__(self, i):
        if i not in self.known:
            self.known[i] = self._compute(*self.scorer.program["steps"][i])
        return self.known[i]

    def _compute(self, op, *args):
        scorer = self.scorer
        if op in ("number", "code"):
            return self.inputs[args[0]]
        if op == "constant":
            return [number(v) for v in args[0]] if isinstance(args[0], list) else number(args[0])
        if op == "place":
            x = self(args[0])
            return float(bisect_left(scorer.tables[args[1]][0], x)) if x == x else NAN
        if op == "take":
            (data, width), index = scorer.tables[args[1]], self(args[0])
            last = len(data) // width - 1
            return scorer.line(args[1], int(min(max(index, 0), last)) if index == index else 0)
        if op == "where":
            test = self(args[0])
            if not isinstance(test, list):
                return self(args[1] if test else args[2])
            one, other = (scorer.by_class(self(a)) for a in args[1:])
            return [a if t else b for t, a, b in zip(test, one, other, strict=False)]
        if op in ACROSS:
            return ACROSS[op](scorer.by_class(self(args[0])))
        if op not in SIMPLE:
            return getattr(scorer, op)(args[0], *map(self, args[1:]))
        given = [self(a) for a in args]
        if not any(isinstance(g, list) for g in given):
            return SIMPLE[op](*given)
        return [SIMPLE[op](*each) for each in zip(*map(scorer.by_class, given), strict=False)]


TREES = ("column", "child", "low", "high", "counts")


class Trees:
    """Trees with the class shares of every node, or with the values of every leaf where they are boosted."""

    def __init__(self, spec, tables, k):
        self.column, self.child, low, high = ([int(v) for v in table] for table in tables[:4])
        self.mask = [one | other << 32 for one, other in zip(low, high, strict=True)]
        self.k, nodes, counts, leaf = k, len(self.column), tables[4], 0
        self.begins = [0, *accumulate(spec["sizes"][:-1])]
        weight = [[0.0] * k for _ in range(nodes)]
        for i in range(nodes):
            if self.column[i] < 0:
                weight[i] = list(counts[leaf * k : leaf * k + k])
                leaf += 1
        of_class = [sum(w[c] for w in weight[: spec["sizes"][0]]) for c in range(k)]
        above = [(n + 0.5) / (sum(of_class) + 0.5 * k) for n in of_class]
        self.first, self.shares, a = [0.5] * nodes, [None] * nodes, spec["strength"]
        for begin, size in zip(self.begins, spec["sizes"], strict=True):
            for i in reversed(range(begin, begin + size)):  # children lie behind their parents
                if self.column[i] >= 0:
                    at = begin + self.child[i]
                    weight[i] = [x + y for x, y in zip(weight[at], weight[at + 1], strict=True)]
            self.shares[begin] = shrink(weight[begin], a, above)
            for i in range(begin, begin + size):
                if self.column[i] >= 0:
                    at = begin + self.child[i]
                    self.shares[at], self.shares[at + 1] = (shrink(weight[j], a, self.shares[i]) for j in (at, at + 1))
                    self.first[i] = sum(weight[at]) / sum(weight[i]) if sum(weight[i]) > 0 else 0.5
        self.said = math.log
        if len(tables) > len(TREES):
            leaves = [i for i in range(nodes) if self.column[i] < 0]
            for n, i in enumerate(leaves):
                self.shares[i] = list(tables[5][n * k : n * k + k])
            self.said = float(len(self.begins)).__mul__
        self.nothing = [self.said(p) for p in self.mean([-1] * (1 + max(self.column)))]

    def log(self, codes):
        return [self.said(p) - nothing for p, nothing in zip(self.mean(codes), self.nothing, strict=True)]

    def mean(self, codes):
        """The mean over trees; what is missing goes both ways."""
        out = [0.0] * self.k
        for begin in self.begins:
            waiting = [(begin, 1.0)]
            while waiting:
                i, part = waiting.pop()
                if part > 0 and self.column[i] < 0:
                    out = [v + part * p for v, p in zip(out, self.shares[i], strict=True)]
                elif part > 0:
                    at, code = begin + self.child[i], codes[self.column[i]]
                    if code < 0:
                        waiting += [(at, part * self.first[i]), (at + 1, part * (1 - self.first[i]))]
                    else:
                        waiting.append((at + 1 - (self.mask[i] >> code & 1), part))
        return [v / len(self.begins) for v in out]


def shrink(weight, strength, above):
    """Shares of classes, toward those of the node above."""
    whole = sum(weight) + strength
    return [(n + strength * p) / whole for n, p in zip(weight, above, strict=True)]


class Summing:
    """The product of the tables of a network, what is missing summed out; all classes at once."""

    def __init__(self, net, tables, k):
        self.net, self.tables, self.k = net, tables, k
        self.size, self.parents = net["size"], net["parents"]

    def log(self, code):
        if self.net["weights"] is None:
            return [v - c for v, c in zip(self._marginal(code), self.net["logClass"], strict=False)]
        seen, before, out = [-1] * len(code), [0.0] * self.k, [0.0] * self.k
        for j in self.net["order"]:  # what each column adds to those given before it
            seen[j] = code[j]
            after = self._marginal(seen)
            out = [o + self.net["weights"][j] * (a - b) for o, a, b in zip(out, after, before, strict=False)]
            before = after
        return out

    def _cells(self, of):
        return reduce(mul, (self.size[v] for v in of), 1)

    def _marginal(self, code):
        """log p(what is given | class); columns whose parents take too large a product say P(x | class)."""
        cut = set()
        while True:
            needed, open_, live = set(), set(), []
            for j in reversed(self.net["order"]):
                if code[j] == -1:
                    if j not in needed or self.size[j] < 1:
                        continue
                    open_.add(j)
                live.append(j)
                if j not in cut:
                    needed.update(self.parents[j])
            asked = {j: [p for p in ([] if j in cut else self.parents[j]) if p in open_] for j in live}
            scopes = [[*asked[j], *([j] if j in open_ else [])] for j in live]
            way = self._path(scopes, open_, True) or self._path(scopes, open_, False)
            if way is not None:
                factors = [self._slice(j, code, open_, j in cut) for j in live]
                for v in way:
                    mine = [f for f in factors if v in f[0]]
                    factors = [f for f in factors if v not in f[0]] + [self._without(mine, v)]
                return [sum(p[k] for _, p in factors) for k in range(self.k)]
            wide = [j for j in live if any(self.size[p] > 1 for p in asked[j])]
            cut.add(
                max(wide, key=lambda j: (self._cells([*asked[j], *([j] if j in open_ else [])]), -self.net["rank"][j]))
            )

    def _path(self, scopes, open_, smallest):
        """The order of summing, the smallest product first or as they stand; None where one would be too large."""
        left, found = list(open_), []
        while left:
            joined = {v: {u for s in scopes if v in s for u in s} for v in left}
            v = min(left, key=lambda u: self._cells(joined[u])) if smallest else left[0]
            if self._cells(joined[v]) * self.k > self.net["limit"]:
                return None
            scopes = [s for s in scopes if v not in s] + [[u for u in joined[v] if u != v]]
            left.remove(v)
            found.append(v)
        return found

    def _slice(self, j, code, open_, cut):
        """The table of a column over what is open: a factor is its columns and logarithms, the last moving fastest."""
        parents, family = self.parents[j], [*self.parents[j], j]
        of = [v for i, v in enumerate(family) if v in open_ and not (cut and i < len(parents))]
        logs = []
        for digits in places([self.size[v] for v in of]):
            at = 0
            for i, v in enumerate(family):
                x = -1 if cut and i < len(parents) else digits[of.index(v)] if v in open_ else code[v]
                at = at * (self.size[v] + FRONT) + x + FRONT
            logs += self.tables[j][at * self.k : (at + 1) * self.k]
        return of, logs

    def _without(self, factors, v):
        of = [u for u in dict.fromkeys(u for f in factors for u in f[0]) if u != v]
        logs = []
        for digits in places([self.size[u] for u in of]):
            known, each = dict(zip(of, digits, strict=False)), []
            for x in range(self.size[v]):
                known[v] = x
                total = [0.0] * self.k
                for scope, p in factors:
                    at = reduce(lambda a, u: a * self.size[u] + known[u], scope, 0)
                    total = [t + p[at * self.k + k] for k, t in enumerate(total)]
                each.append(total)
            logs += [logsum([t[k] for t in each]) for k in range(self.k)]
        return of, logs


def places(sizes):
    """All digits, the last moving fastest."""
    found = [()]
    for size in sizes:
        found = [(*digits, x) for digits in found for x in range(size)]
    return found


def log_expit(z):
    return z - math.log1p(math.exp(z)) if z < 0 else -math.log1p(math.exp(-z))


def bend(s, a, b, c):
    near = min(max(s, -FAR), FAR)
    return a + (b + c * near) * near


CALIBRATED = {  # of log p of a class and its log-odds s, with numbers of the class
    "vector": lambda log_p, s, a, b: a * log_p + b,
    "sigmoid": lambda log_p, s, a, b: log_expit(a * s + b),
    "beta": lambda log_p, s, a, b, c: log_expit(a * log_expit(s) - b * log_expit(-s) + c),
    "quadratic": lambda log_p, s, a, b, c: log_expit(bend(s, a, b, c)),
    "isotonic": lambda log_p, s, edges, levels: levels[bisect_left(edges, s)],
}


def join_pairs(edges, levels, logs):
    """Probabilities of the second class of each pair, by steps of their log-odds, as those of all classes."""
    inverse = [2.0 - len(logs)] * len(logs)
    for (a, b), edge, level in zip(combinations(range(len(logs)), 2), edges, levels, strict=True):
        second = level[bisect_left(edge, logs[b] - logs[a])]
        inverse[a] += 1 / (1 - second)
        inverse[b] += 1 / second
    return [-math.log(v) for v in inverse]


def normalise(joint):
    whole = logsum(joint)
    return [v - whole for v in joint]


def square(numbers):
    return sum(v * v for v in numbers)


def cholesky(half, start, present):
    """The lower factor of a covariance, given by its lower half, over some of its columns."""
    lower = [[0.0] * len(present) for _ in present]
    for i, a in enumerate(present):
        for j in range(i + 1):
            rest = half[start + a * (a + 1) // 2 + present[j]] - sum(lower[i][m] * lower[j][m] for m in range(j))
            lower[i][j] = math.sqrt(rest) if i == j else rest / lower[j][j]
    return lower


def solve_present(lower, present, x):
    """The solution of a lower triangle over some columns."""
    return solve(lower, [x[j] for j in present])


def solve(lower, x):
    out = []
    for i, v in enumerate(x):
        out.append((v - sum(lower[i][m] * out[m] for m in range(i))) / lower[i][i])
    return out
