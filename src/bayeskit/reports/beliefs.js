// Exact beliefs of a network of levels and numbers: numbers are integrated out first, in each configuration of the levels
// above them; levels follow by a pass up and down a tree of cliques. All in logarithms, so that nothing vanishes.
class Refusal extends Error {}

function networkBeliefs({ nodes }) {
  const tables = nodes.map((n) => n.table), normals = nodes.map((n) => n.normal);
  const WIDEST = 1 << 18, ALL = 1 << 21, CONFIGURATIONS = 1 << 12;
  const size = nodes.map((n) => (n.states ? n.states.length : 0));
  const cells = (of) => of.reduce((n, v) => n * size[v], 1);
  const names = (of, most = 5) => of.slice(0, most).map((v) => nodes[v].name).join(", ") + (of.length > most ? ", …" : "");
  const sorted = (of) => [...new Set(of)].sort((a, b) => a - b);

  // Calls visit(i, cell) for every cell i of a scope with the cell of another whose axes are a part of it.
  function walk(of, part, visit) {
    const step = of.map(() => 0), at = of.map(() => 0), count = cells(of);
    part.reduceRight((stride, v) => { step[of.indexOf(v)] = stride; return stride * size[v]; }, 1);
    for (let i = 0, cell = 0; i < count; i++) {
      visit(i, cell);
      for (let k = of.length - 1; k >= 0; k--) { // the next configuration, as a counter turns
        cell += step[k];
        if (++at[k] < size[of[k]]) break;
        cell -= step[k] * at[k];
        at[k] = 0;
      }
    }
  }
  function add(into, factor) {
    walk(into.of, factor.of, (i, cell) => { into.log[i] += factor.log[cell]; });
    return into;
  }
  const flat = (of) => ({ of, log: new Float64Array(cells(of)) });

  // The logarithms of the sums over all that is not kept.
  function project(factor, of) {
    const top = new Float64Array(cells(of)).fill(-Infinity), sum = new Float64Array(top.length);
    walk(factor.of, of, (i, cell) => { if (factor.log[i] > top[cell]) top[cell] = factor.log[i]; });
    walk(factor.of, of, (i, cell) => { if (top[cell] > -Infinity) sum[cell] += Math.exp(factor.log[i] - top[cell]); });
    return { of, log: top.map((t, c) => (t > -Infinity ? t + Math.log(sum[c]) : t)) };
  }

  // A factor where the levels that are observed have their states.
  function reduce({ of, log }, codes) {
    const left = of.filter((v) => codes[v] < 0), out = flat(left);
    let from = 0;
    of.reduceRight((stride, v) => { if (codes[v] >= 0) from += stride * codes[v]; return stride * size[v]; }, 1);
    const step = new Map();
    of.reduceRight((stride, v) => { step.set(v, stride); return stride * size[v]; }, 1);
    const at = left.map(() => 0);
    for (let i = 0, cell = from; i < out.log.length; i++) {
      out.log[i] = log[cell];
      for (let k = left.length - 1; k >= 0; k--) {
        cell += step.get(left[k]);
        if (++at[k] < size[left[k]]) break;
        cell -= step.get(left[k]) * at[k];
        at[k] = 0;
      }
    }
    return out;
  }

  // The order in which levels are summed out, the cheapest first, with the scope of each clique.
  function cliques(scopes) {
    const near = new Map();
    for (const scope of scopes) for (const v of scope) {
      if (!near.has(v)) near.set(v, new Set());
      for (const u of scope) if (u !== v) near.get(v).add(u);
    }
    const cost = new Map([...near].map(([v, others]) => [v, cells([v, ...others])])), found = [];
    let total = 0;
    while (near.size) {
      let best = -1;
      for (const [v, c] of cost) if (best < 0 || c < cost.get(best) || (c === cost.get(best) && v < best)) best = v;
      const others = [...near.get(best)], scope = sorted([best, ...others]);
      total += cost.get(best);
      if (cost.get(best) > WIDEST || total > ALL) return { wide: scope };
      found.push({ v: best, of: scope });
      near.delete(best);
      cost.delete(best);
      for (const u of others) {
        near.get(u).delete(best);
        for (const w of others) if (w !== u) near.get(u).add(w);
        cost.set(u, cells([u, ...near.get(u)]));
      }
    }
    return { found };
  }

  // Beliefs of all cliques: log P(scope, evidence).
  function calibrate(factors, found) {
    const place = new Map(found.map(({ v }, i) => [v, i]));
    const home = (of) => Math.min(...of.map((v) => place.get(v))); // the clique of what is summed out first
    const tree = found.map(({ v, of }) => ({ v, ...flat(of), rest: of.filter((u) => u !== v) }));
    let constant = 0;
    for (const factor of factors) {
      if (factor.of.length) add(tree[home(factor.of)], factor); else constant += factor.log[0];
    }
    const up = [];
    tree.forEach((clique, i) => {
      up[i] = project(clique, clique.rest);
      if (clique.rest.length) add(tree[home(clique.rest)], up[i]); else constant += up[i].log[0];
    });
    for (let i = tree.length - 1; i >= 0; i--) {
      const clique = tree[i];
      if (!clique.rest.length) { // a root: what all others say
        const more = constant - up[i].log[0];
        clique.log.forEach((_, c) => { clique.log[c] += Number.isNaN(more) ? 0 : more; });
        continue;
      }
      const down = project(tree[home(clique.rest)], clique.rest);
      down.log.forEach((value, c) => { down.log[c] = up[i].log[c] > -Infinity ? value - up[i].log[c] : -Infinity; });
      add(clique, down);
    }
    return { log: constant, of: (scope) => (scope.length ? project(tree[home(scope)], scope) : { of: [], log: [constant] }) };
  }

  // -- numbers ---------------------------------------------------------------------------------------

  const parents = nodes.map((_, v) => (normals[v] ? [...normals[v].levels, ...normals[v].numbers] : tables[v].of.filter((u) => u !== v)));
  const order = (() => { // parents first
    const done = new Set(), found = [];
    const visit = (v) => { if (!done.has(v)) { done.add(v); parents[v].forEach(visit); found.push(v); } };
    nodes.forEach((_, v) => visit(v));
    return found;
  })();

  // Numbers that are tied by numbers not observed, among the ancestors of what is observed or asked for.
  function components(observed, asked) {
    const wanted = new Set(), left = [...observed, ...asked];
    while (left.length) {
      const v = left.pop();
      if (!wanted.has(v)) { wanted.add(v); left.push(...parents[v]); }
    }
    const mine = order.filter((v) => normals[v] && wanted.has(v)), leader = new Map(mine.map((v) => [v, v])), owner = new Map();
    const find = (v) => { while (leader.get(v) !== v) v = leader.get(v); return v; };
    for (const v of mine) for (const member of [...normals[v].numbers, v]) {
      if (observed.has(member)) continue;
      if (!owner.has(member)) owner.set(member, v);
      leader.set(find(v), find(owner.get(member)));
    }
    const groups = new Map();
    for (const v of mine) groups.set(find(v), [...(groups.get(find(v)) || []), v]);
    return [...groups.values()];
  }

  // One component in every configuration of its levels: log density of what is observed, means and variances of the rest.
  function integrate(group, codes, values) {
    const scope = sorted(group.flatMap((v) => normals[v].levels)), open = scope.filter((v) => codes[v] < 0);
    if (cells(open) > CONFIGURATIONS) {
      throw new Refusal(`${names(group)}: ${cells(open).toLocaleString("en")} configurations of ${names(open)}, too many for this page. ` +
        `Set the state of some of these, or ask in Python.`);
    }
    const unit = group.map((v) => Math.max(...normals[v].deviation)), place = new Map(group.map((v, j) => [v, j]));
    const seen = group.flatMap((v, j) => (values.has(v) ? [j] : [])), hidden = group.flatMap((v, j) => (values.has(v) ? [] : [j]));
    const log = new Float64Array(cells(open)), mean = [], variance = [], at = [...codes];
    for (let c = 0; c < log.length; c++) {
      open.reduceRight((rest, v) => { at[v] = rest % size[v]; return Math.floor(rest / size[v]); }, c);
      const middle = [], spread = []; // each node by the noise of all
      group.forEach((v, j) => {
        const one = normals[v], n = one.numbers.length;
        const here = one.levels.reduce((cell, u) => cell * size[u] + at[u], 0);
        const row = new Float64Array(group.length);
        row[j] = one.deviation[here] / unit[j];
        middle[j] = one.mean[here] / unit[j];
        one.numbers.forEach((u, k) => {
          const slope = one.slopes[here * n + k];
          if (values.has(u)) { middle[j] += (slope * (values.get(u) - one.centre[k])) / unit[j]; return; }
          const p = place.get(u), step = (slope * unit[p]) / unit[j];
          middle[j] += step * (middle[p] - one.centre[k] / unit[p]);
          spread[p].forEach((s, i) => { row[i] += step * s; });
        });
        spread[j] = row;
      });
      const cov = (a, b) => spread[a].reduce((sum, s, i) => sum + s * spread[b][i], 0);
      const root = seen.map(() => new Float64Array(seen.length)), white = [];
      seen.forEach((j, a) => { // Cholesky's root of the covariance of what is observed
        for (let b = 0; b <= a; b++) {
          let sum = cov(j, seen[b]);
          for (let k = 0; k < b; k++) sum -= root[a][k] * root[b][k];
          if (b < a) root[a][b] = sum / root[b][b];
          else if (sum > 0) root[a][a] = Math.sqrt(sum);
          else throw new Refusal(`${names(seen.map((i) => group[i]))} are so nearly dependent that doubles cannot tell them apart; take one back.`);
        }
        let sum = values.get(group[j]) / unit[j] - middle[j];
        for (let k = 0; k < a; k++) sum -= root[a][k] * white[k];
        white[a] = sum / root[a][a];
        log[c] -= white[a] ** 2 / 2 + Math.log(root[a][a]) + Math.log(2 * Math.PI) / 2 + Math.log(unit[j]);
      });
      mean[c] = [];
      variance[c] = [];
      for (const j of hidden) {
        const gain = [];
        seen.forEach((i, a) => {
          let sum = cov(i, j);
          for (let k = 0; k < a; k++) sum -= root[a][k] * gain[k];
          gain[a] = sum / root[a][a];
        });
        mean[c].push((middle[j] + gain.reduce((sum, g, a) => sum + g * white[a], 0)) * unit[j]);
        variance[c].push(Math.max(cov(j, j) - gain.reduce((sum, g) => sum + g * g, 0), 0) * unit[j] ** 2);
      }
    }
    return { of: open, log, hidden: hidden.map((j) => group[j]), mean, variance };
  }

  const logs = tables.map((t) => (t ? { of: t.of, log: Float64Array.from(t.p, Math.log) } : null));
  const tidy = logs.map((t) => { // axes in the order of the nodes
    if (!t) return null;
    const of = sorted(t.of), out = flat(of);
    const at = new Map();
    t.log.forEach((value, i) => {
      t.of.reduceRight((rest, v) => { at.set(v, rest % size[v]); return Math.floor(rest / size[v]); }, i);
      out.log[of.reduce((cell, v) => cell * size[v] + at.get(v), 0)] = value;
    });
    return out;
  });

  // What evidence, by node a state's number, a number, or null, says: log P(evidence), {p} of each level, {weights, means, deviations} of each number, or
  // {why} of what is not computed here.
  return function ask(evidence) {
    const codes = evidence.map((e, v) => (size[v] && e !== null ? e : -1));
    const values = new Map(evidence.flatMap((e, v) => (!size[v] && e !== null ? [[v, e]] : [])));
    const observed = new Set(values.keys()), memo = new Map();
    const solve = (group) => {
      const key = group.join();
      if (!memo.has(key)) memo.set(key, integrate(group, codes, values));
      return memo.get(key);
    };
    const said = components(observed, []).filter((g) => g.some((v) => observed.has(v))).map(solve);
    const about = nodes.map(() => null), factors = [...tidy.filter(Boolean).map((t) => reduce(t, codes)), ...said];
    nodes.forEach((_, v) => {
      if (size[v] || observed.has(v)) return;
      try {
        about[v] = solve(components(observed, [v]).find((g) => g.includes(v)));
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        about[v] = { why: error.message };
      }
    });
    let tree;
    for (;;) { // numbers that hang on too much are left out one by one
      const asked = about.filter((a) => a && a.of);
      tree = cliques([...factors, ...asked].map((f) => f.of));
      if (tree.found) break;
      const most = Math.max(1, ...asked.map((a) => cells(a.of))), which = about.findIndex((a) => a && a.of && a.of.length > 1 && cells(a.of) === most);
      if (which < 0) throw new Refusal(`${names(tree.wide)} would share a table of ${cells(tree.wide).toLocaleString("en")} cells, too many for this page. Set the state of some of these, or ask in Python.`);
      about[which] = { why: `${nodes[which].name}: ${cells(about[which].of).toLocaleString("en")} configurations of ${names(about[which].of)}, too many for this page with the rest. Set the state of some of these, or ask in Python.` };
    }
    const found = calibrate(factors, tree.found);
    const normalised = ({ log }) => Float64Array.from(log, (l) => Math.exp(l - found.log));
    return {
      log: found.log,
      nodes: nodes.map((_, v) => {
        if (codes[v] >= 0) return { p: Float64Array.from({ length: size[v] }, (_, s) => (s === codes[v] ? 1 : 0)) };
        if (size[v]) return { p: normalised(found.of([v])) };
        if (observed.has(v)) return { weights: [1], means: [values.get(v)], deviations: [0] };
        if (about[v].why) return about[v];
        const j = about[v].hidden.indexOf(v);
        return { weights: [...normalised(found.of(about[v].of))], means: about[v].mean.map((m) => m[j]), deviations: about[v].variance.map((s) => Math.sqrt(s[j])) };
      }),
    };
  };
}

// A mixture of normals.
const mixture = {
  mean: ({ weights, means }) => weights.reduce((sum, w, k) => sum + (w > 0 ? w * means[k] : 0), 0),
  deviation(of) {
    const middle = mixture.mean(of);
    return Math.sqrt(of.weights.reduce((sum, w, k) => sum + (w > 0 ? w * (of.deviations[k] ** 2 + (of.means[k] - middle) ** 2) : 0), 0));
  },
  density: ({ weights, means, deviations }, x) => weights.reduce((sum, w, k) =>
    sum + (w > 0 ? (w * Math.exp(-(((x - means[k]) / deviations[k]) ** 2) / 2)) / (deviations[k] * Math.sqrt(2 * Math.PI)) : 0), 0),
  cdf: ({ weights, means, deviations }, x) => weights.reduce((sum, w, k) =>
    sum + (w > 0 ? w * (deviations[k] > 0 ? below((x - means[k]) / deviations[k]) : Number(x >= means[k])) : 0), 0),
  quantile(of, p) { // by bisection between the ends of the normals
    const used = of.weights.flatMap((w, k) => (w > 0 ? [k] : []));
    let low = Math.min(...used.map((k) => of.means[k] - 9 * of.deviations[k])), high = Math.max(...used.map((k) => of.means[k] + 9 * of.deviations[k]));
    for (let i = 0; i < 80; i++) {
      const middle = (low + high) / 2;
      if (mixture.cdf(of, middle) < p) low = middle; else high = middle;
    }
    return high;
  },
};

// P(a standard normal <= z): a series near the middle, a continued fraction in the tails.
function below(z) {
  const a = Math.abs(z), density = Math.exp(-(a ** 2) / 2) / Math.sqrt(2 * Math.PI);
  let tail;
  if (a < 3.5) {
    let term = a, sum = a;
    for (let k = 3; term > sum * 1e-17; k += 2) sum += term *= a ** 2 / k;
    tail = 0.5 - density * sum;
  } else {
    let fraction = a;
    for (let k = 60; k > 0; k--) fraction = a + k / fraction;
    tail = density / fraction;
  }
  return z < 0 ? tail : 1 - tail;
}
