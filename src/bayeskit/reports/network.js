// The network panel: evidence by choosing states, every marginal by summing out the other nodes.
(() => {
  "use strict";
  const source = document.getElementById("tables");
  if (!source) return;
  const { nodes, tables } = JSON.parse(source.textContent);
  const size = nodes.map((n) => n.states.length);
  const evidence = nodes.map(() => -1);

  // A factor is the nodes it is about and its numbers, the last node moving fastest.
  function product(factors) {
    const of = [...new Set(factors.flatMap((f) => f.of))].sort((a, b) => a - b);
    const p = new Float64Array(of.reduce((n, v) => n * size[v], 1)).fill(1);
    for (const f of factors) {
      const step = of.map(() => 0);
      f.of.reduceRight((stride, v) => { step[of.indexOf(v)] = stride; return stride * size[v]; }, 1);
      const at = of.map(() => 0);
      let cell = 0;
      for (let i = 0; i < p.length; i++) {
        p[i] *= f.p[cell];
        for (let k = of.length - 1; k >= 0; k--) { // the next state, as a counter turns
          cell += step[k];
          if (++at[k] < size[of[k]]) break;
          cell -= step[k] * at[k];
          at[k] = 0;
        }
      }
    }
    return { of, p };
  }

  function without(factor, v) {
    const k = factor.of.indexOf(v);
    const inner = factor.of.slice(k + 1).reduce((n, u) => n * size[u], 1);
    const p = new Float64Array(factor.p.length / size[v]);
    for (let i = 0; i < factor.p.length; i++) p[Math.floor(i / (inner * size[v])) * inner + (i % inner)] += factor.p[i];
    return { of: factor.of.filter((u) => u !== v), p };
  }

  // The order in which nodes are summed out: the cheapest first.
  const order = (() => {
    let scopes = tables.map((t) => t.of);
    const left = new Set(nodes.keys()), found = [];
    while (left.size) {
      let best = -1, least = Infinity, scope = [];
      for (const v of left) {
        const joined = [...new Set(scopes.filter((s) => s.includes(v)).flat())];
        const cells = joined.reduce((n, u) => n * size[u], 1);
        if (cells < least) { least = cells; best = v; scope = joined; }
      }
      scopes = [...scopes.filter((s) => !s.includes(best)), scope.filter((u) => u !== best)];
      left.delete(best);
      found.push(best);
    }
    return found;
  })();

  // P(node, evidence) by state: all other nodes are summed out.
  function marginal(target) {
    const known = evidence.flatMap((s, v) => (s < 0 ? [] : [{ of: [v], p: nodes[v].states.map((_, i) => (i === s ? 1 : 0)) }]));
    let factors = [...tables, ...known];
    for (const v of order) {
      if (v === target) continue;
      const mine = factors.filter((f) => f.of.includes(v));
      factors = [...factors.filter((f) => !f.of.includes(v)), without(product(mine), v)];
    }
    return Array.from(product(factors).p);
  }

  const said = document.getElementById("evidence");
  const rows = nodes.map((node, v) => node.states.map((state, s) => {
    const bar = make("i"), value = make("span", { class: "n" });
    const button = make("button", { type: "button", class: "state", "aria-pressed": "false" },
      named("span", state, { class: "name" }), make("span", { class: "track" }, bar), value);
    button.addEventListener("click", () => { evidence[v] = evidence[v] === s ? -1 : s; update(); });
    return { bar, value, button };
  }));
  const clear = make("button", { type: "button", text: "Clear the evidence" });
  clear.addEventListener("click", () => { evidence.fill(-1); update(); });

  function update() {
    let all = NaN;
    nodes.forEach((_, v) => {
      const joint = marginal(v);
      all = joint.reduce((sum, p) => sum + p, 0);
      rows[v].forEach(({ bar, value, button }, s) => {
        const p = joint[s] / all;
        bar.style.width = all > 0 ? `${100 * p}%` : "0";
        value.textContent = all > 0 ? p.toFixed(4) : "–";
        button.dataset.p = p;
        button.setAttribute("aria-pressed", String(evidence[v] === s));
      });
    });
    const given = evidence.filter((s) => s >= 0).length;
    said.textContent = all > 0 ? (given ? `Probability of the evidence: ${Number(all.toPrecision(6))}` : "No evidence is set.") : "This evidence is impossible.";
  }

  const panel = document.getElementById("network");
  panel.before(make("div", { class: "tools" }, clear));
  nodes.forEach((node, v) => panel.append(make("fieldset", { class: "node" },
    named("legend", node.name), ...rows[v].map((r) => r.button))));
  update();
})();
