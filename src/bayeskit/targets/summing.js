// Summing: the product of the tables of a network, what is missing summed out; all classes at once, the last axis.
function summing(net, tables, K) {
  "use strict";
  const { size, parents, order, rank, limit } = net, FRONT = 2;
  const steps = parents.map((some, j) => { // of the parents, then of the column itself
    const out = [1];
    [j, ...[...some].reverse()].reduce((step, v) => { out.unshift(step * (size[v] + FRONT)); return out[0]; }, 1);
    return out.slice(1);
  });
  const cells = (of) => of.reduce((n, v) => n * size[v], 1);

  // A factor is the columns it is about, its numbers with the last column moving fastest, and none for all.
  function sliced(j, code, open, cut) {
    const family = [...parents[j], j], of = family.filter((v, i) => open.has(v) && !(cut && i < parents[j].length));
    const out = { of, p: new Float64Array(cells(of) * K) }, digit = of.map(() => 0);
    for (let c = 0; c < out.p.length; c += K) {
      const at = family.reduce((sum, v, i) => {
        const x = cut && i < parents[j].length ? -1 : open.has(v) ? digit[of.indexOf(v)] : code[v];
        return sum + (x + FRONT) * steps[j][i];
      }, 0);
      for (let k = 0; k < K; k++) out.p[c + k] = tables[j][at * K + k];
      for (let d = of.length - 1; d >= 0 && ++digit[d] === size[of[d]]; d--) digit[d] = 0;
    }
    return out;
  }

  // The logarithm of the sum over a column of the product of factors, which are logarithms.
  function without(factors, v) {
    const of = [...new Set(factors.flatMap((f) => f.of))].filter((u) => u !== v), whole = [...of, v];
    const strides = factors.map((f) => whole.map((u) => (f.of.includes(u) ? cells(f.of.slice(f.of.indexOf(u) + 1)) * K : 0)));
    const out = { of, p: new Float64Array(cells(of) * K) }, digit = of.map(() => 0), each = new Array(size[v]);
    for (let c = 0; c < out.p.length; c += K) {
      const at = factors.map((_, f) => digit.reduce((sum, x, d) => sum + x * strides[f][d], 0));
      for (let k = 0; k < K; k++) {
        for (let x = 0; x < size[v]; x++) {
          each[x] = factors.reduce((sum, f, i) => sum + f.p[at[i] + x * strides[i][of.length] + k], 0);
        }
        out.p[c + k] = logsum(each);
      }
      for (let d = of.length - 1; d >= 0 && ++digit[d] === size[of[d]]; d--) digit[d] = 0;
    }
    return out;
  }

  const joined = (scopes, v) => [...new Set(scopes.filter((s) => s.includes(v)).flat())];

  // The order of summing, the smallest product first or as they stand; null where a product would be too large.
  function path(scopes, open, smallest) {
    const left = [...open], found = [];
    while (left.length) {
      let best = 0;
      if (smallest) left.forEach((v, i) => { if (cells(joined(scopes, v)) < cells(joined(scopes, left[best]))) best = i; });
      const [v] = left.splice(best, 1), together = joined(scopes, v);
      if (cells(together) * K > limit) return null;
      scopes = [...scopes.filter((s) => !s.includes(v)), together.filter((u) => u !== v)];
      found.push(v);
    }
    return found;
  }

  // log p(what is given | class) of codes by column, -1 missing.
  function marginal(code) {
    const cut = new Set();
    for (;;) {
      const needed = new Set(), open = new Set(), live = [];
      for (const j of [...order].reverse()) {
        if (code[j] === -1) {
          if (!needed.has(j) || size[j] < 1) continue;
          open.add(j);
        }
        live.push(j);
        if (!cut.has(j)) parents[j].forEach((p) => needed.add(p));
      }
      const asked = (j) => (cut.has(j) ? [] : parents[j]).filter((p) => open.has(p));
      const scopes = live.map((j) => [...asked(j), ...(open.has(j) ? [j] : [])]);
      const way = path(scopes, open, true) || path(scopes, open, false);
      if (way) {
        let factors = live.map((j) => sliced(j, code, open, cut.has(j)));
        for (const v of way) {
          const mine = factors.filter((f) => f.of.includes(v));
          factors = [...factors.filter((f) => !f.of.includes(v)), without(mine, v)];
        }
        return factors.reduce((sum, f) => sum.map((s, k) => s + f.p[k]), new Array(K).fill(0));
      }
      const wide = live.filter((j) => asked(j).some((p) => size[p] > 1));
      const room = (j) => cells([...asked(j), ...(open.has(j) ? [j] : [])]);
      cut.add(wide.reduce((a, b) => (room(b) > room(a) || (room(b) === room(a) && rank[b] < rank[a]) ? b : a)));
    }
  }

  // Where weights were fitted: of each column, what it adds to those given before it in the order of the arcs.
  function weighed(code) {
    const seen = code.map(() => -1);
    let before = new Array(K).fill(0);
    return order.reduce((sum, j) => {
      seen[j] = code[j];
      const after = marginal(seen), out = sum.map((s, k) => s + net.weights[j] * (after[k] - before[k]));
      before = after;
      return out;
    }, new Array(K).fill(0));
  }

  return net.weights ? weighed : (code) => marginal(code).map((v, k) => v - net.logClass[k]);
}
