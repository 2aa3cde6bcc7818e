// The model: what a program says of the values it now has.
function modelOf(program) {
  "use strict";
  const { classes, questions, factors } = program;
  const K = classes.length, FRONT = 2, MISSING = -1, BIT = Math.LN2;
  const values = questions.map((q) => q.start);
  const prior = program.prior.slice();

  const basis = {
    "1": () => 1, z: (x, z) => z, zz: (x, z) => z * z, log: (x) => Math.log(x), loglog: (x) => Math.log(x) ** 2,
    log1m: (x) => Math.log1p(-x), cos: (x) => Math.cos(x), sin: (x) => Math.sin(x),
  };

  // The first place whose border is not below x.
  function place(borders, x) {
    let low = 0, high = borders.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (borders[middle] < x) low = middle + 1; else high = middle;
    }
    return low;
  }

  const forms = {
    formula(c, x) {
      const z = (x - c.centre) / c.scale, out = new Array(K).fill(0);
      c.names.forEach((name, i) => {
        const f = basis[name](x, z);
        for (let k = 0; k < K; k++) out[k] += f * c.factor[i][k];
      });
      return out;
    },
    whole(c, x) {
      return c.values[within(Math.round(x) - c.first, 0, c.values.length - 1)];
    },
    pieces(c, x) {
      const i = within(place(c.breaks, x) - 1, 0, c.left.length - 1);
      return c.left[i].map((v, k) => v + c.slope[i][k] * (x - c.breaks[i]));
    },
    grid(c, x) {
      const at = (x - c.low) / c.step, i = within(Math.floor(at), 1, c.values.length - 3), t = at - i;
      const w = [-t * (t - 1) * (t - 2) / 6, (t + 1) * (t - 1) * (t - 2) / 2, -(t + 1) * t * (t - 2) / 2, (t + 1) * t * (t - 1) / 6];
      return classes.map((_, k) => w.reduce((sum, weight, j) => sum + weight * c.values[i - 1 + j][k], 0));
    },
  };

  let hidden = () => false; // questions taken as missing for the moment

  function code(q) {
    if (hidden(q)) return MISSING;
    const question = questions[q], value = values[q];
    if (question.levels) return value === null ? question.hole : value;
    return value === null ? question.hole : place(question.cuts, value);
  }

  function shape(factor) {
    const value = values[factor.of[0]];
    if (value === null) return factor.missing;
    return value === 0 && factor.zero ? factor.zero : forms[factor.curve.form](factor.curve, value);
  }

  function cell(factor) {
    return factor.of.reduce((sum, q, i) => sum + (code(q) + FRONT) * factor.steps[i], 0);
  }

  // The mean of the products of tables over the parents that are known; the product of the plain ones without any.
  function averaged() {
    const product = (tables) => tables.reduce((sum, f) => { const row = f.table[cell(f)]; return sum.map((v, k) => v + row[k]); }, new Array(K).fill(0));
    const each = program.mixtures.filter((m) => m.known[code(m.of) + FRONT]).map((m) => product(m.factors));
    return each.length ? classes.map((_, k) => logsum(each.map((row) => row[k])) - Math.log(each.length)) : product(factors);
  }

  // Of a mean: how it changes as the columns are revealed in order.
  function revealed() {
    let before = new Array(K).fill(0);
    const out = questions.map((_, j) => {
      hidden = (q) => q > j;
      const after = averaged(), change = after.map((v, k) => v - before[k]);
      before = after;
      return change;
    });
    hidden = () => false;
    return out;
  }

  // What each column adds when revealed, in order, as Python's explanations have it: columns by classes.
  function terms() {
    if (program.mixtures.length) return revealed().map((row) => row.map((v) => v * program.temperature));
    const out = questions.map(() => new Array(K).fill(0));
    for (const factor of factors) {
      if (factor.curve) {
        shape(factor).forEach((v, k) => { out[factor.of[0]][k] += v; });
        continue;
      }
      let cell = factor.steps.reduce((sum, step) => sum + (MISSING + FRONT) * step, 0);
      let before = new Array(K).fill(0);
      const members = factor.of.map((q, i) => [q, factor.steps[i]]).sort((a, b) => a[0] - b[0]);
      for (const [q, step] of members) {
        cell += (code(q) - MISSING) * step;
        const after = factor.table[cell].map((v) => (v === null ? -Infinity : v));
        after.forEach((v, k) => { out[q][k] += v === before[k] ? 0 : v - before[k]; });
        before = after;
      }
    }
    return out.map((row) => row.map((v) => v * program.temperature));
  }

  function start() {
    return program.base.map((b, k) => program.temperature * b + Math.log(prior[k]) - Math.log(program.prior[k]));
  }

  function logsum(numbers) {
    const most = Math.max(...numbers);
    return most === -Infinity ? most : most + Math.log(numbers.reduce((sum, v) => sum + Math.exp(v - most), 0));
  }

  function posterior(first, told) {
    const joint = told.reduce((sum, row) => sum.map((v, k) => v + row[k]), first);
    const all = logsum(joint);
    return joint.map((v) => (all === -Infinity ? NaN : Math.exp(v - all)));
  }

  // Log-odds of a class against all others, and how each column moved them, in bits.
  function evidence(first, told, c) {
    const odds = (path) => path[c] - logsum(path.filter((_, k) => k !== c));
    let path = first, last = odds(path);
    const steps = [last / BIT];
    for (const row of told) {
      path = path.map((v, k) => v + row[k]);
      const now = odds(path);
      steps.push((now - last) / BIT);
      last = now;
    }
    return steps;
  }

  return { values, prior, start, terms, posterior, evidence };
}
