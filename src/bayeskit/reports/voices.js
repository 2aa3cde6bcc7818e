// The voices of a model: what each says of the values asked for, column by column.
function voicesOf(program, unpacked, values) {
  "use strict";
  const { classes, questions } = program;
  const K = classes.length, Q = questions.length, FRONT = 2, TIE = 1e-10;
  const zeros = () => new Array(K).fill(0);

  const row = (table, i, wide = K) => Array.from(table.subarray(i * wide, (i + 1) * wide));

  let hidden = () => false; // questions taken as missing for the moment

  function code(coding, q) {
    if (hidden(q)) return -1;
    const value = values[q];
    if (value === null) return coding.hole;
    return coding.codes ? coding.codes[value] : place(coding.cuts, value);
  }

  // How a sum changes as the columns are revealed in order: columns by classes.
  function revealed(whole) {
    let before = null;
    hidden = () => true;
    before = whole();
    const none = before, out = questions.map((_, j) => {
      hidden = (q) => q > j;
      const after = whole(), change = after.map((v, k) => (v === before[k] ? 0 : v - before[k]));
      before = after;
      return change;
    });
    hidden = () => false;
    out[0] = out[0].map((v, k) => v + none[k]);
    return out;
  }

  // -- curves and tables ------------------------------------------------------------------------

  const basis = {
    "1": () => 1, z: (x, z) => z, zz: (x, z) => z * z, log: (x) => Math.log(x), loglog: (x) => Math.log(x) ** 2,
    log1m: (x) => Math.log1p(-x), cos: (x) => Math.cos(x), sin: (x) => Math.sin(x),
  };

  const forms = {
    formula(c, x) {
      const z = (x - c.centre) / c.scale, out = zeros();
      c.names.forEach((name, i) => {
        const f = basis[name](x, z);
        for (let k = 0; k < K; k++) out[k] += f * c.factor[i][k];
      });
      return out;
    },
    whole(c, x) {
      const table = unpacked[c.values];
      return row(table, within(Math.round(x) - c.first, 0, table.length / K - 1));
    },
    pieces(c, x) {
      const breaks = unpacked[c.breaks], i = within(place(breaks, x) - 1, 0, breaks.length - 2);
      const slope = row(unpacked[c.slope], i);
      return row(unpacked[c.left], i).map((v, k) => v + slope[k] * (x - breaks[i]));
    },
    cubics(c, x) {
      const table = unpacked[c.values], breaks = unpacked[c.breaks], i = within(place(breaks, x) - 1, 0, breaks.length - 2);
      const t = (3 * (x - breaks[i])) / (breaks[i + 1] - breaks[i]);
      const w = [-(t - 1) * (t - 2) * (t - 3) / 6, t * (t - 2) * (t - 3) / 2, -t * (t - 1) * (t - 3) / 2, t * (t - 1) * (t - 2) / 6];
      return classes.map((_, k) => w.reduce((sum, weight, j) => sum + weight * table[(4 * i + j) * K + k], 0));
    },
  };

  function shape(factor) {
    const value = values[factor.of[0]];
    if (value === null) return factor.missing;
    return value === 0 && factor.zero ? factor.zero : forms[factor.curve.form](factor.curve, value);
  }

  function factors(voice) {
    const cell = (factor) => factor.of.reduce((sum, q, i) => sum + (code(voice.codings[q], q) + FRONT) * factor.steps[i], 0);
    const product = (tables) => tables.reduce((sum, f) => {
      const at = cell(f) * K, table = unpacked[f.table];
      for (let k = 0; k < K; k++) sum[k] += f.weight * table[at + k];
      return sum;
    }, zeros());
    // The mean of the products of tables over the parents that are known; the product of the plain ones without any.
    function averaged() {
      const each = voice.mixtures.filter((m) => m.known[code(voice.codings[m.of], m.of) + FRONT]).map((m) => product(m.factors));
      return each.length ? classes.map((_, k) => logsum(each.map((one) => one[k])) - Math.log(each.length)) : product(voice.factors);
    }
    if (voice.mixtures.length) return revealed(averaged);
    const out = questions.map(zeros);
    for (const factor of voice.factors) {
      if (factor.curve) {
        shape(factor).forEach((v, k) => { out[factor.of[0]][k] += factor.weight * v; });
        continue;
      }
      let at = factor.steps.reduce((sum, step) => sum + (FRONT - 1) * step, 0), before = zeros();
      const members = factor.of.map((q, i) => [q, factor.steps[i]]).sort((a, b) => a[0] - b[0]);
      for (const [q, step] of members) {
        at += (code(voice.codings[q], q) + 1) * step;
        const after = row(unpacked[factor.table], at).map((v) => factor.weight * v);
        after.forEach((v, k) => { out[q][k] += v === before[k] ? 0 : v - before[k]; });
        before = after;
      }
    }
    return out;
  }

  // -- networks ---------------------------------------------------------------------------------

  const sums = new Map(); // by voice

  function network(voice) {
    if (!sums.has(voice)) sums.set(voice, summing(voice, voice.tables.map((t) => unpacked[t]), K));
    const asked = (q) => (q === null ? 0 : Math.max(code(voice.codings[q], q), voice.smooth ? -2 : -1));
    return revealed(() => sums.get(voice)(voice.of.map(asked)));
  }

  // -- numbers ----------------------------------------------------------------------------------

  const facets = {
    plain(f, value) { return value === null ? NaN : f.codes ? f.codes[value] : value; },
    is(f, value) { return (value === null ? -1 : questions[f.of].levels ? value : 0.5) === f.place ? 1 : 0; },
    knots(f, value) {
      const grained = (score) => Math.floor(score * f.grains + 0.5) / f.grains;
      if (value === null) return grained(f.hole);
      const x = unpacked[f.values], y = unpacked[f.scores], last = x.length - 1;
      if (value <= x[0]) return grained(y[0]);
      if (value >= x[last]) return grained(y[last]);
      const i = place(x, value) - (x[place(x, value)] === value ? 0 : 1);
      return grained(((y[i + 1] - y[i]) / (x[i + 1] - x[i])) * (value - x[i]) + y[i]);
    },
  };
  const facet = (f) => facets[f.form](f, hidden(f.of) ? null : values[f.of]);

  const kept = new Map(); // factors of the covariances, by voice and the numbers that are there

  function lower(voice, some) {
    const id = `${program.voices.indexOf(voice)}:${some.join()}`;
    if (!kept.has(id)) {
      if (kept.size > 400) kept.clear();
      const d = voice.lens.length, half = unpacked[voice.covariance];
      const each = voice.shared ? [cholesky(half, 0, some)] : classes.map((_, k) => cholesky(half, (k * d * (d + 1)) / 2, some));
      kept.set(id, each);
    }
    return kept.get(id);
  }

  function standing(voice) {
    const origin = unpacked[voice.origin], scale = unpacked[voice.scale];
    const z = voice.lens.map((f, j) => (facet(f) - origin[j]) * scale[j]);
    const some = z.map((_, j) => j).filter((j) => !Number.isNaN(z[j]));
    return { z, some, L: lower(voice, some) };
  }

  function normal(voice) {
    const mean = unpacked[voice.mean], d = voice.lens.length;
    if (voice.cells) return revealed(() => classes.map((_, k) => celled(voice, k)));
    const { z, some, L } = standing(voice), out = questions.map(zeros);
    for (let k = 0; k < K; k++) {
      const own = voice.shared ? L[0] : L[k], away = solved(own, some.map((j) => z[j] - mean[k * d + j]));
      // the chain rule: what each number adds to those before it
      some.forEach((j, i) => { out[voice.lens[j].of][k] += -0.5 * away[i] ** 2 - Math.log(own[i][i]); });
    }
    return out;
  }

  // log of the sum over the cells a row may be in, of their mass times the density about their mean.
  function celled(voice, k) {
    const { cells } = voice, d = voice.lens.length, mean = unpacked[voice.mean];
    const { z, some, L } = standing(voice), own = voice.shared ? L[0] : L[k];
    const away = solved(own, some.map((j) => z[j] - mean[k * d + j]));
    const size = -some.reduce((sum, _, i) => sum + Math.log(own[i][i]), 0);
    const square = (v) => v.reduce((sum, x) => sum + x * x, 0);
    const codes = cells.of.map((q, j) => Math.max(-1, code(cells.codings[j], q)));
    const base = cells.base[k] === null ? -Infinity : cells.base[k];
    const together = codes.reduce((sum, c, j) => sum + unpacked[cells.margins[j]][(c + FRONT) * K + k], base);
    const known = unpacked[cells.codes[k]], mass = unpacked[cells.mass[k]], spare = unpacked[cells.spare[k]], offset = unpacked[cells.offset[k]];
    const logs = [];
    let used = 0;
    for (let i = 0; i < mass.length; i++) {
      if (!codes.every((c, j) => c === -1 || c === known[i * codes.length + j])) continue;
      if (together > -Infinity) used += Math.exp(spare[i] - together);
      const shift = solved(own, some.map((j) => offset[i * d + j]));
      logs.push(mass[i] - 0.5 * square(away.map((v, m) => v - shift[m])));
    }
    const left = together > -Infinity ? 1 - Math.min(used, 1) : 0;
    if (left > 0) logs.push(together + Math.log(left) - 0.5 * square(away));
    return size + logsum(logs) - cells.whole[k];
  }

  // -- neighbours -------------------------------------------------------------------------------

  function near(voice) {
    const points = unpacked[voice.points], levels = unpacked[voice.levels], heavy = unpacked[voice.heavy], group = unpacked[voice.group];
    const scale = unpacked[voice.scale], d = voice.lens.length, c = voice.of.length, n = heavy.length, weight = voice.importance;
    const x = voice.lens.map((f, j) => facet(f) * scale[j]), codes = voice.of.map((q, j) => code(voice.codings[j], q));
    const whole = x.reduce((sum, v, j) => sum + (Number.isNaN(v) ? 0 : weight[j]), 0);
    const distance = new Float64Array(n), order = [];
    for (let i = 0; i < n; i++) {
      let gap = 0, shared = 0;
      for (let j = 0; j < d; j++) {
        const apart = Math.abs(points[i * d + j] - x[j]);
        if (Number.isNaN(apart)) continue;
        gap += weight[j] * (voice.power === 2 ? apart * apart : apart);
        shared += weight[j];
      }
      for (let j = 0; j < c; j++) {
        const level = levels[i * c + j];
        if (level < 0 || codes[j] === -1) continue;
        shared += weight[d + j];
        if (level !== codes[j]) gap += weight[d + j];
      }
      if (!(shared > 0 && heavy[i] > 0)) continue;
      const far = voice.mean ? gap / shared : gap / (shared / whole);
      distance[i] = voice.power === 2 ? Math.sqrt(far) : far;
      order.push(i);
    }
    if (!order.length) return zeros();
    order.sort((a, b) => distance[a] - distance[b]);
    let reached = 0, last = order.length - 1;
    for (let i = 0; i < order.length; i++) {
      reached += heavy[order[i]];
      if (reached >= voice.k * (1 - 1e-12)) { last = i; break; }
    }
    const edge = distance[order[last]];
    const around = order.filter((i) => distance[i] <= edge * (1 + TIE));
    let counted = around.map((i) => heavy[i]);
    if (voice.fading) {
      const beyond = around.length < order.length ? distance[order[around.length]] : 2 * edge;
      const less = counted.map((m, i) => (beyond > 0 ? m * (1 - (distance[around[i]] / beyond) ** 2) : m));
      const all = counted.reduce((a, b) => a + b, 0), some = less.reduce((a, b) => a + b, 0);
      counted = less.map((m) => m * (all / (some || 1)));
    }
    const counts = zeros(), totals = zeros();
    around.forEach((i, j) => { counts[group[i]] += counted[j]; });
    order.forEach((i) => { totals[group[i]] += heavy[i]; });
    const every = totals.reduce((a, b) => a + b, 0), found = counts.reduce((a, b) => a + b, 0);
    return classes.map((_, k) => Math.log(totals[k] > 0 ? counts[k] / totals[k] + voice.pseudo / every : (found + voice.pseudo) / every));
  }

  // What a voice begins with, what each column adds, and what it says of the row as a whole.
  function heard(voice) {
    const start = voice.base.map((b) => (b === null ? -Infinity : b));
    const kinds = { normal, factors, network };
    const told = voice.kind in kinds ? kinds[voice.kind](voice) : questions.map(zeros);
    return { start, told, together: voice.kind === "near" ? near(voice) : zeros() };
  }

  return { heard, zeros };
}
