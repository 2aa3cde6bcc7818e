// The engine: the steps of a portable program at the values of one row; a result is a number, or an array by class.
function engineOf(program, tables) {
  "use strict";
  const K = program.classes.length, columns = program.columns.length, OVERFLOW = 900, NOTHING = 1e-12;
  const number = (v) => (typeof v === "string" ? { nan: NaN, inf: Infinity, "-inf": -Infinity }[v] : v);
  const classes = Array.from({ length: K }, (_, k) => k);
  const zeros = () => new Array(K).fill(0);
  const added = (a, b, by = 1) => a.map((v, k) => v + by * b[k]);
  const within = (x, low, high) => Math.min(Math.max(x, low), high);
  const line = ({ data, width }, i) => (width === 1 ? data[i] : Array.from(data.subarray(i * width, (i + 1) * width)));

  // log Gamma(x + 1) less Stirling's formula: a series from 15 on, and so many factors before it below.
  function stirling(x) {
    const series = (z) => {
      const i = 1 / (z * z);
      return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - (1 / 1188 - (691 / 360360) * i) * i) * i) * i) * i) / z;
    };
    if (x >= 15) return series(x);
    const far = x + 15, rising = Array.from({ length: 15 }, (_, i) => x + i + 1).reduce((a, b) => a * b, 1);
    return (far + 0.5) * Math.log(far) - far + series(far) - Math.log(rising) - (x > 0 ? (x + 0.5) * Math.log(x) : -Infinity) + x;
  }

  function deviance(x, mean) {
    const v = (x / 2 - mean / 2) / (x / 2 + mean / 2);
    if (Math.abs(v) < 0.1) {
      let tail = 0;
      for (let k = 10; k > 0; k--) tail = (tail + 1 / (2 * k + 1)) * v * v;
      return (x - mean) * v + x * (2 * v * tail);
    }
    const ratio = x / mean, log = ratio > 1e-300 && ratio < 1e300 ? Math.log(ratio) : Math.log(x) - Math.log(mean);
    return (x > 0 ? x * log : 0) + (mean - x);
  }

  const simple = {
    neg: (a) => -a, abs: Math.abs, floor: Math.floor, square: (a) => a * a, sqrt: Math.sqrt, log: Math.log, log1p: Math.log1p,
    exp: Math.exp, sin: Math.sin, cos: Math.cos, not: (a) => +!a, missing: (a) => +Number.isNaN(a), stirling, deviance,
    sub: (a, b) => a - b, mul: (a, b) => a * b, div: (a, b) => a / b, min: Math.min, max: Math.max,
    lt: (a, b) => +(a < b), le: (a, b) => +(a <= b), eq: (a, b) => +(a === b), and: (a, b) => +(a && b), or: (a, b) => +(a || b),
    add: (...some) => some.reduce((a, b) => a + b, 0), logsum: (...some) => logsum(some),
  };
  const across = { largest: (a) => Math.max(...a), least: (a) => Math.min(...a), together: logsum };
  const byClass = (a) => (Array.isArray(a) ? a : classes.map(() => a));

  // -- nodes ------------------------------------------------------------------------------------

  function mixture({ kernels }, y) {
    return kernels.map((kernel) => {
      for (const [low, high, cubics] of kernel.stretches) {
        if (!(y > low && y < high)) continue;
        const place = (y - low) * kernel.steps, cell = Math.floor(place), t = place - cell, [a, b, c, d] = line(tables[cubics], cell);
        const value = ((d * t + c) * t + b) * t + a;
        if (!Number.isNaN(value)) return value + kernel.constant;
      }
      const centre = tables[kernel.centre].data, weight = tables[kernel.logWeight].data;
      return kernel.constant + logsum(Array.from(centre, (m, i) => weight[i] - 0.5 * ((y - m) * kernel.precision) ** 2));
    });
  }

  const factors = new Map(); // of covariances, by node and the numbers that are there

  function lower(spec, some) {
    const id = `${spec.covariance}:${some.join()}`;
    if (!factors.has(id)) {
      if (factors.size > 400) factors.clear();
      const d = tables[spec.mean].width, half = tables[spec.covariance].data;
      const each = spec.shared ? [cholesky(half, 0, some)] : classes.map((k) => cholesky(half, (k * d * (d + 1)) / 2, some));
      factors.set(id, each);
    }
    return factors.get(id);
  }

  // What each number adds to those before it, by the chain rule: (numbers, classes).
  function chained(spec, z) {
    const { data: mean, width: d } = tables[spec.mean], units = tables[spec.units].data, out = z.map(zeros);
    const some = z.map((_, j) => j).filter((j) => !Number.isNaN(z[j])), L = lower(spec, some);
    for (const k of classes) {
      const own = spec.shared ? L[0] : L[k], away = solved(own, some.map((j) => z[j] - mean[k * d + j]));
      some.forEach((j, i) => { out[j][k] = units[j] - 0.5 * away[i] ** 2 - Math.log(own[i][i]); });
    }
    return out;
  }

  function normal(spec, ...args) {
    const { data: mean, width: d } = tables[spec.mean], units = tables[spec.units].data, z = args.slice(0, d), codes = args.slice(d);
    if (!spec.cells) return chained(spec, z).reduce((sum, row) => added(sum, row), zeros());
    const some = z.map((_, j) => j).filter((j) => !Number.isNaN(z[j])), L = lower(spec, some);
    return classes.map((k) => {
      const own = spec.shared ? L[0] : L[k], away = solved(own, some.map((j) => z[j] - mean[k * d + j]));
      const size = some.reduce((sum, j, i) => sum + units[j] - Math.log(own[i][i]), 0);
      return size + celled(spec.cells, k, codes, away, own, some, d);
    });
  }

  const square = (v) => v.reduce((sum, x) => sum + x * x, 0);

  // log of the sum over the cells a row may be in, of their mass times the density about their mean.
  function celled(cells, k, codes, away, own, some, d) {
    const at = (names) => codes.reduce((sum, c, j) => sum + line(tables[names[j]], c + 2)[k], 0);
    const together = number(cells.base[k]) + at(cells.margins), logs = [];
    const [known, mass, spare, offset] = ["codes", "mass", "spare", "offset"].map((name) => tables[cells[name][k]].data);
    let used = 0;
    for (let i = 0; i < mass.length; i++) {
      if (!codes.every((c, j) => c === -1 || c === known[i * codes.length + j])) continue;
      if (together > -Infinity) used += Math.exp(spare[i] - together);
      const shift = solved(own, some.map((j) => offset[i * d + j]));
      logs.push(mass[i] - 0.5 * square(away.map((v, m) => v - shift[m])));
    }
    const left = together > -Infinity ? 1 - used : 0;
    if (left > NOTHING) logs.push(together + Math.log(left) - 0.5 * square(away));
    return logsum(logs) - logsum([number(cells.weight[k]), number(cells.every[k]) + at(cells.more)]);
  }

  const sums = new Map(); // by network

  function network(spec, ...codes) {
    if (!sums.has(spec)) sums.set(spec, summing(spec, spec.tables.map((t) => tables[t].data), K));
    const asked = codes.length < spec.size.length ? [...codes, 0] : codes; // the class is as it is
    return sums.get(spec)(asked);
  }

  function neighbours(spec, ...args) {
    const [points, levels, mass, group, scale] = ["points", "levels", "mass", "group", "scale"].map((name) => tables[spec[name]].data);
    const d = scale.length, c = args.length - d, { weight } = spec, TIE = 1e-10;
    const x = args.slice(0, d).map((v, j) => v * scale[j]), codes = args.slice(d);
    const whole = x.reduce((sum, v, j) => sum + (Number.isNaN(v) ? 0 : weight[j]), 0);
    const distance = new Float64Array(mass.length), order = [];
    for (let i = 0; i < mass.length; i++) {
      let gap = 0, shared = 0;
      for (let j = 0; j < d; j++) {
        const apart = Math.abs(points[i * d + j] - x[j]);
        if (Number.isNaN(apart)) continue;
        gap += weight[j] * (spec.power === 2 ? apart * apart : apart);
        shared += weight[j];
      }
      for (let j = 0; j < c; j++) {
        const level = levels[i * c + j];
        if (level < 0 || codes[j] === -1) continue;
        shared += weight[d + j];
        if (level !== codes[j]) gap += weight[d + j];
      }
      if (!(shared > 0 && mass[i] > 0)) continue;
      const far = spec.mean ? gap / shared : gap / (shared / whole);
      distance[i] = spec.power === 2 ? Math.sqrt(far) : far;
      order.push(i);
    }
    if (!order.length) return zeros();
    order.sort((a, b) => distance[a] - distance[b]);
    let reached = 0, last = order.length - 1;
    for (let i = 0; i < order.length; i++) {
      reached += mass[order[i]];
      if (reached >= spec.k * (1 - 1e-12)) { last = i; break; }
    }
    const edge = distance[order[last]];
    const around = order.filter((i) => distance[i] <= edge * (1 + TIE));
    let counted = around.map((i) => mass[i]);
    if (spec.fading) {
      const beyond = around.length < order.length ? distance[order[around.length]] : 2 * edge;
      const less = counted.map((m, i) => (beyond > 0 ? m * (1 - (distance[around[i]] / beyond) ** 2) : m));
      const all = counted.reduce((a, b) => a + b, 0), some = less.reduce((a, b) => a + b, 0);
      counted = less.map((m) => m * (all / (some || 1)));
    }
    const counts = zeros(), totals = zeros();
    around.forEach((i, j) => { counts[group[i]] += counted[j]; });
    order.forEach((i) => { totals[group[i]] += mass[i]; });
    const every = totals.reduce((a, b) => a + b, 0), found = counts.reduce((a, b) => a + b, 0);
    return classes.map((k) => Math.log(totals[k] > 0 ? counts[k] / totals[k] + spec.pseudo / every : (found + spec.pseudo) / every));
  }

  const grown = new Map(); // by forest: its trees with the class shares of every node

  function treesOf(spec) {
    if (grown.has(spec)) return grown.get(spec);
    const [column, child, low, high, counts] = ["column", "child", "low", "high", "counts"].map((name) => tables[spec[name]].data);
    const nodes = column.length, start = [0], weight = new Float64Array(nodes * K), total = new Float64Array(nodes);
    spec.sizes.forEach((size, t) => start.push(start[t] + size));
    for (let i = 0, leaf = 0; i < nodes; i++) {
      if (column[i] < 0) { for (let k = 0; k < K; k++) weight[i * K + k] = counts[leaf * K + k]; leaf++; }
    }
    const shares = new Float64Array(nodes * K), first = new Float64Array(nodes).fill(0.5), ofClass = zeros();
    for (let i = 0; i < start[1]; i++) if (column[i] < 0) for (let k = 0; k < K; k++) ofClass[k] += weight[i * K + k];
    const all = ofClass.reduce((a, b) => a + b, 0), above = ofClass.map((v) => (v + 0.5) / (all + 0.5 * K)), a = spec.strength;
    spec.sizes.forEach((size, t) => {
      const begin = start[t];
      for (let i = begin + size - 1; i >= begin; i--) { // children lie behind their parents
        const at = begin + child[i];
        for (let k = 0; k < K; k++) {
          if (column[i] >= 0) weight[i * K + k] = weight[at * K + k] + weight[(at + 1) * K + k];
          total[i] += weight[i * K + k];
        }
      }
      for (let k = 0; k < K; k++) shares[begin * K + k] = (weight[begin * K + k] + a * above[k]) / (total[begin] + a);
      for (let i = begin; i < begin + size; i++) {
        if (column[i] < 0) continue;
        const at = begin + child[i];
        for (const of of [at, at + 1]) for (let k = 0; k < K; k++) shares[of * K + k] = (weight[of * K + k] + a * shares[i * K + k]) / (total[of] + a);
        if (total[i] > 0) first[i] = total[at] / total[i];
      }
    });
    const boosted = spec.values !== undefined; // then leaves have values, which are added up
    for (let i = 0, leaf = 0; boosted && i < nodes; i++) {
      if (column[i] < 0) { for (let k = 0; k < K; k++) shares[i * K + k] = tables[spec.values].data[leaf * K + k]; leaf++; }
    }
    const said = boosted ? (v) => v * spec.sizes.length : Math.log, trees = { column, child, low, high, start, shares, first, said };
    grown.set(spec, trees);
    const unknown = new Array(1 + column.reduce((most, j) => Math.max(most, j), 0)).fill(-1);
    trees.nothing = staged(trees, unknown, unknown.map(() => 0), 1)[0].map(said);
    return trees;
  }

  // The mean of the leaves once columns of rank 0, 1, ... are known, all stages in one walk: below a split by a column of
  // rank r the stages up to r go both ways.
  function staged({ column, child, low, high, start, shares, first }, codes, rank, stages) {
    const out = Array.from({ length: stages }, zeros), parts = [new Float64Array(stages).fill(1)];
    function visit(begin, i, depth, from, until) {
      if (from >= until) return;
      const part = parts[depth];
      if (column[i] < 0) {
        for (let s = from; s < until; s++) for (let k = 0; k < K; k++) out[s][k] += part[s] * shares[i * K + k];
        return;
      }
      const code = codes[column[i]], known = code < 0 ? stages : rank[column[i]];
      const mask = code < 32 ? low[i] >>> code : high[i] >>> (code - 32), split = within(known, from, until);
      for (let side = 0; side < 2; side++) {
        const here = code >= 0 && ((mask & 1) === 1) === (side === 0), share = side ? 1 - first[i] : first[i];
        const next = parts[depth + 1] ??= new Float64Array(stages), end = here ? until : split;
        for (let s = from; s < split; s++) next[s] = part[s] * share;
        for (let s = split; s < end; s++) next[s] = part[s];
        visit(begin, begin + child[i] + side, depth + 1, share > 0 ? from : split, end);
      }
    }
    for (let t = 0; t + 1 < start.length; t++) visit(start[t], start[t], 0, 0, stages);
    return out.map((row) => row.map((v) => v / (start.length - 1)));
  }

  function forest(spec, ...codes) {
    const trees = treesOf(spec);
    return staged(trees, codes, codes.map(() => 0), 1)[0].map((v, k) => trees.said(v) - trees.nothing[k]);
  }

  // What each column adds as they are revealed in the order of the table.
  function revealed(spec, codes, chain) {
    const order = chain.map((_, i) => i).sort((a, b) => chain[a] - chain[b]), rank = [];
    order.forEach((i, r) => { rank[i] = r + 1; });
    const trees = treesOf(spec), logs = staged(trees, codes, rank, codes.length + 1).map((row) => row.map(trees.said));
    return codes.map((_, i) => added(logs[rank[i]], logs[rank[i] - 1], -1));
  }

  const nodes = { mixture, normal, network, forest, neighbours };

  // -- steps ------------------------------------------------------------------------------------

  // What a step gives for the inputs of a row, each worked out once, and only where it is asked for.
  function row(inputs) {
    const known = new Array(program.steps.length);
    const value = (i) => { if (known[i] === undefined) known[i] = computed(program.steps[i]); return known[i]; };
    function computed([op, ...args]) {
      if (op === "number" || op === "code") return inputs[args[0]];
      if (op === "constant") return Array.isArray(args[0]) ? args[0].map(number) : number(args[0]);
      if (op === "place") return place(tables[args[1]].data, value(args[0]));
      if (op === "take") {
        const table = tables[args[1]];
        return line(table, within(value(args[0]) || 0, 0, table.data.length / table.width - 1));
      }
      if (op === "where") {
        const test = value(args[0]);
        if (!Array.isArray(test)) return value(test ? args[1] : args[2]);
        const [a, b] = [byClass(value(args[1])), byClass(value(args[2]))];
        return test.map((t, k) => (t ? a[k] : b[k]));
      }
      if (op in across) return across[op](byClass(value(args[0])));
      if (op in nodes) return nodes[op](args[0], ...args.slice(1).map(value));
      const given = args.map(value);
      if (!given.some(Array.isArray)) return simple[op](...given);
      const each = given.map(byClass);
      return classes.map((k) => simple[op](...each.map((a) => a[k])));
    }
    return value;
  }

  const hide = (inputs, from) => inputs.map((v, j) => (j < from ? v : program.columns[j].numeric ? NaN : -1));
  const sum = (terms, value) => terms.reduce((total, t) => added(total, byClass(value(t.value))), zeros());

  // What a member begins with, what each column adds, and what it says of the row as a whole: terms of several columns
  // change as the columns are revealed in order, and so do neighbours in a pool.
  function memberTerms(member, inputs) {
    const value = row(inputs), out = Array.from({ length: columns }, zeros);
    const several = member.terms.filter((t) => t.of.length > 1 && !t.chain.length);
    for (const t of member.terms.filter((t) => t.of.length === 1)) out[t.of[0]] = added(out[t.of[0]], byClass(value(t.value)));
    for (const t of member.terms.filter((t) => t.of.length > 1 && t.chain.length)) {
      const [op, spec, ...args] = program.steps[t.value], given = args.map(value);
      (op === "forest" ? revealed(spec, given, t.chain) : chained(spec, given)).forEach((row, i) => { out[t.chain[i]] = added(out[t.chain[i]], row); });
    }
    let before = zeros();
    for (let j = 0; several.length && j < columns; j++) {
      const after = sum(several, row(hide(inputs, j + 1)));
      out[j] = out[j].map((v, k) => v + (after[k] === before[k] ? 0 : after[k] - before[k]));
      before = after;
    }
    for (const t of member.terms.filter((t) => !t.of.length && t.chain.length)) {
      const [op, spec, ...args] = program.steps[t.value], given = args.map(value), d = tables[spec.scale].data.length;
      let last = zeros();
      for (let j = 0; j < columns; j++) {
        if (!t.chain.includes(j)) continue;
        const now = nodes[op](spec, ...given.map((v, i) => (t.chain[i] <= j ? v : i < d ? NaN : -1)));
        out[j] = out[j].map((v, k) => v + now[k] - last[k]);
        last = now;
      }
    }
    const together = sum(member.terms.filter((t) => !t.of.length && !t.chain.length), value);
    return { start: member.base.map(number), columns: out, together };
  }

  // log P(c, x) of the classes that are left as smoothing vanishes, where all of them are impossible.
  function limit(member, value) {
    const base = member.base.map(number), parts = member.terms.map(({ value: v, tail }) => ({
      zeros: byClass(tail ? value(tail[0]) : 0), size: byClass(tail && tail[1] !== null ? value(tail[1]) : -Infinity),
      rest: byClass(value(tail ? tail[2] : v)),
    }));
    const unit = Math.max(0, ...parts.flatMap((p) => p.size.filter((s) => !Number.isNaN(s))));
    const score = (of) => classes.map((k) => parts.reduce((total, p) => total + of(p, k), 0));
    let running = classes.filter((k) => base[k] > -Infinity);
    const orders = [score((p, k) => -p.zeros[k]), score((p, k) => (p.size[k] > OVERFLOW ? -(2 ** Math.min(p.size[k] - unit, 0)) : 0))];
    for (const order of orders) {
      const best = Math.max(...running.map((k) => order[k]));
      running = running.filter((k) => order[k] === best);
    }
    const rest = score((p, k) => p.rest[k]);
    return classes.map((k) => (running.includes(k) ? Math.max(rest[k], -1e300) + base[k] : -Infinity));
  }

  const normalise = (joint) => { const all = logsum(joint); return joint.map((v) => v - all); };

  function memberLogs(member, inputs) {
    const value = row(inputs), joint = added(member.base.map(number), sum(member.terms, value));
    return normalise(joint.some((v) => v > -Infinity) ? joint : limit(member, value));
  }

  function calibrate(logs) {
    if (!program.calibration) return logs;
    const [kind, a, b, d] = program.calibration, SURE = 700, FAR = 30;
    if (kind === "temperature") return normalise(logs.map((v) => a * Math.max(v, -SURE)));
    if (kind === "vector") return normalise(logs.map((v, c) => a[c] * Math.max(v, -SURE) + b[c]));
    if (kind === "pairs") return normalise(joinPairs(a, b, logs.map((v) => Math.max(v, -1e300))));
    const odds = classes.map((c) => within(logs[c] - logsum(logs.filter((_, k) => k !== c)), -SURE, SURE));
    const expit = (x) => (x < 0 ? x - Math.log1p(Math.exp(x)) : -Math.log1p(Math.exp(-x)));
    const quadratic = (x, c) => a[c] + (b[c] + d[c] * x) * x;
    const maps = {
      isotonic: (x, c) => b[c][place(a[c], x)],
      sigmoid: (x, c) => expit(a[c] * x + b[c]),
      beta: (x, c) => expit(a[c] * expit(x) - b[c] * expit(-x) + d[c]),
      quadratic: (x, c) => expit(quadratic(within(x, -FAR, FAR), c)),
    };
    return normalise(odds.map(maps[kind]));
  }

  // Probabilities of the second class of each pair, by steps of their log-odds, as those of all classes.
  function joinPairs(edges, levels, logs) {
    const inverse = classes.map(() => 2 - classes.length);
    let pair = 0;
    for (let i = 0; i < classes.length; i++) {
      for (let j = i + 1; j < classes.length; j++, pair++) {
        const second = levels[pair][place(edges[pair], logs[j] - logs[i])];
        inverse[i] += 1 / (1 - second);
        inverse[j] += 1 / second;
      }
    }
    return inverse.map((v) => -Math.log(v));
  }

  // log P(c | x) of the whole program.
  function logProba(inputs) {
    const { base, own: logs, backOff } = program.pool, own = logs.map(number);
    let score = base.map(number);
    for (const member of program.members) {
      const said = memberLogs(member, inputs);
      const shown = backOff ? said.map((v, k) => logsum([Math.log1p(-backOff) + v, Math.log(backOff) + own[k]])) : said;
      score = added(score, shown.map((v, k) => v - own[k]), member.weight);
    }
    return calibrate(normalise(score));
  }

  return { memberTerms, logProba, zeros, added, normalise };
}
