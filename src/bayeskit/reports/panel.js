// The what-if panel: asks for a value of each column, for priors and costs, and shows what follows.
(async () => {
  "use strict";
  const source = document.getElementById("program");
  if (!source) return;
  const program = JSON.parse(source.textContent);
  const panel = document.getElementById("panel");
  if (typeof DecompressionStream === "undefined") {
    panel.textContent = "The panel needs a browser that can unpack numbers (any of 2023 or later).";
    return;
  }
  const { classes, questions } = program;
  const K = classes.length, FEW = 20, STEPS = 10, MANY = 12;
  const { values, prior, parts, terms, posterior, evidence } = modelOf(program, await unpack(program.numbers));
  const costs = program.costs.map((row) => row.slice());
  let chosen = -1; // the class explained; -1 is the most probable

  const shown = (p) => (Number.isNaN(p) ? "–" : p > 0 && p < 0.0001 ? "< 0.0001" : p.toFixed(4));
  const exact = (x) => String(Number(x.toPrecision(12)));
  const short = (x) => String(Number(x.toPrecision(6)));
  const brief = (x) => (x < 1000 ? x.toFixed(2) : x < 1e5 ? x.toFixed(0) : x.toExponential(1).replace("+", ""));
  const signed = (x) => (Math.abs(x) < 0.005 ? "" : x > 0 ? "+" : x < 0 ? "−" : "") + (Number.isFinite(x) ? brief(Math.abs(x)) : "∞");

  const setters = []; // by question: shows the value it now has

  function number(q, j) {
    const span = q.high - q.low;
    const step = q.whole ? 1 : span > 0 && Number.isFinite(span) ? 10 ** Math.floor(Math.log10(span / 200)) : 1;
    const usual = q.start;
    const slider = make("input", { type: "range", id: `q${j}`, min: q.low, max: q.high, step: q.whole ? 1 : "any" });
    const box = make("input", { type: "number", min: q.low, max: q.high, step: q.whole ? 1 : "any", "aria-label": `${q.name}, as a number` });
    const gone = make("input", { type: "checkbox", id: `m${j}`, "aria-label": `${q.name} is missing` });
    let kept = usual;
    const show = () => {
      const value = values[j];
      gone.checked = value === null;
      slider.disabled = box.disabled = value === null;
      if (value !== null) {
        kept = value;
        slider.value = value;
        if (document.activeElement !== box) box.value = exact(value);
      }
    };
    const move = (text) => {
      const value = Number(text);
      if (text === "" || !Number.isFinite(value)) return;
      values[j] = within(value, q.low, q.high);
      update(j);
    };
    slider.addEventListener("input", () => move(q.whole ? slider.value : exact(Math.round(slider.value / step) * step)));
    slider.addEventListener("keydown", (event) => { // "any" has no step of its own for the keys
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
      if (!by) return;
      event.preventDefault();
      move(exact(values[j] + by * (q.whole ? Math.max(1, Math.round(span / 100)) : step)));
    });
    box.addEventListener("input", () => move(box.value));
    box.addEventListener("change", () => { if (values[j] !== null) box.value = exact(values[j]); });
    gone.addEventListener("change", () => { values[j] = gone.checked ? null : kept; update(j); });
    if (usual === null) gone.disabled = true;
    setters[j] = show;
    return make("div", { class: "row" },
      named("label", q.name, { for: `q${j}` }),
      make("label", { class: "gone" }, gone, "missing"),
      make("div", { class: "set" }, slider, box));
  }

  function level(q, j) {
    const select = make("select", { id: `q${j}` });
    select.append(make("option", { value: "", text: "(missing)" }));
    q.levels.forEach((name, i) => { select.append(named("option", name, { value: i })); });
    select.addEventListener("change", () => { values[j] = select.value === "" ? null : Number(select.value); update(j); });
    setters[j] = () => { select.value = values[j] === null ? "" : values[j]; };
    const note = q.more ? make("small", { text: `the ${q.levels.length} most frequent of ${q.levels.length + q.more} levels` }) : "";
    return make("div", { class: "row" }, named("label", q.name, { for: `q${j}` }), note, make("div", { class: "set" }, select));
  }

  function fold(rows, what) {
    if (rows.length <= FEW) return rows;
    const rest = make("details", {}, make("summary", { text: `${(rows.length - FEW).toLocaleString("en")} more ${what}` }), ...rows.slice(FEW));
    return [...rows.slice(0, FEW), rest];
  }

  const fill = (of) => { of.forEach((v, j) => { values[j] = v; }); update(); };

  // A learned row: what was said of it by a model that had not learned it, beside what this one says.
  function open(example) {
    fill(example.values);
    const k = classes.indexOf(example.truth);
    about.textContent = `Row ${example.row} is truly ${cut(example.truth)}, which had probability ${shown(example.expected)} by a model ` +
      `that had not learned it. This is the final model, which has: ${shown(Number(outputs[k].value.dataset.p))}.`;
  }

  // The case in the address of the page: values by name (v.age=61), priors (p.flu=0.3), costs (c.flu.treat=2), the class explained.
  const CASE = "#case:";
  let restoring = false;

  function address() {
    const said = new URLSearchParams();
    questions.forEach((q, j) => {
      if (values[j] !== q.start) said.set(`v.${q.name}`, values[j] === null ? "" : q.levels ? q.levels[values[j]] : exact(values[j]));
    });
    classes.forEach((name, c) => { if (prior[c] !== program.prior[c]) said.set(`p.${name}`, prior[c]); });
    classes.forEach((name, c) => program.actions.forEach((action, a) => {
      if (costs[c][a] !== program.costs[c][a]) said.set(`c.${name}.${action}`, costs[c][a]);
    }));
    if (chosen >= 0) said.set("why", classes[chosen]);
    return String(said);
  }

  function remember() {
    if (restoring) return;
    const said = address();
    if (said || location.hash.startsWith(CASE)) history.replaceState(null, "", said ? CASE + said : "#what-if");
  }

  function restore() {
    if (!location.hash.startsWith(CASE)) return false;
    const said = new URLSearchParams(location.hash.slice(CASE.length));
    const example = program.examples.find((e) => String(e.row) === said.get("row"));
    restoring = true;
    if (example) open(example);
    else {
      questions.forEach((q, j) => {
        const text = said.get(`v.${q.name}`);
        const value = q.levels ? q.levels.indexOf(text) : Number(text);
        if (text === null) values[j] = q.start;
        else if (text === "") values[j] = null;
        else if (q.levels ? value >= 0 : Number.isFinite(value)) values[j] = q.levels ? value : within(value, q.low, q.high);
      });
      const share = classes.map((name, c) => (said.has(`p.${name}`) ? Number(said.get(`p.${name}`)) : program.prior[c]));
      const all = share.reduce((sum, p) => sum + p, 0);
      if (share.every((p) => p >= 0) && Math.abs(all - 1) < 1e-6) Object.assign(prior, share);
      classes.forEach((name, c) => program.actions.forEach((action, a) => {
        const cost = Number(said.get(`c.${name}.${action}`) ?? NaN);
        if (Number.isFinite(cost)) { costs[c][a] = cost; const box = document.getElementById(`c${c}-${a}`); if (box) box.value = cost; }
      }));
      chosen = classes.indexOf(said.get("why"));
      pick.value = chosen;
      update();
    }
    restoring = false;
    document.getElementById("what-if").scrollIntoView();
    return true;
  }

  function asked() {
    const rows = program.rank.map((j) => (questions[j].levels ? level : number)(questions[j], j));
    const tools = make("div", { class: "tools" },
      make("button", { type: "button", text: "Usual values", onclick: () => fill(questions.map((q) => q.start)) }),
      make("button", { type: "button", text: "All missing", onclick: () => fill(questions.map(() => null)) }));
    if (program.examples.length) {
      const pick = make("select", { id: "example" }, make("option", { value: "", text: "a hard case …" }),
        ...program.examples.map((e, i) => make("option", { value: i, text: `row ${e.row}` })));
      pick.addEventListener("change", () => { if (pick.value !== "") open(program.examples[pick.value]); });
      tools.append(make("label", {}, "or", pick));
    }
    return make("div", { class: "asked" },
      make("fieldset", { class: "ask" }, make("legend", { text: "Values" }), tools, ...fold(rows, "columns")),
      priors(), costTable());
  }

  // One prior changes, the others keep their proportions.
  function setPrior(c, p) {
    const rest = prior.reduce((sum, v, k) => (k === c ? sum : sum + v), 0);
    prior.forEach((v, k) => { prior[k] = k === c ? p : rest > 0 ? v * (1 - p) / rest : (1 - p) / (K - 1); });
    update();
  }

  const priorSetters = [];

  function priors() {
    const rows = classes.map((name, c) => {
      const slider = make("input", { type: "range", id: `p${c}`, min: 0, max: 1, step: 0.001 });
      const value = make("output", { class: "n", for: `p${c}` });
      slider.addEventListener("input", () => setPrior(c, Number(slider.value)));
      slider.disabled = !(program.prior[c] > 0) || K < 2;
      priorSetters[c] = () => { slider.value = prior[c]; value.textContent = prior[c].toFixed(3); value.dataset.p = prior[c]; };
      return make("div", { class: "row" }, named("label", name, { for: `p${c}` }), slider, value);
    });
    const reset = make("button", { type: "button", text: "As learned", onclick: () => { Object.assign(prior, program.prior); update(); } });
    return make("fieldset", { class: "priors" }, make("legend", { text: "Prior" }),
      make("div", { class: "tools" }, reset), ...fold(rows, "classes"));
  }

  function costTable() {
    if (K > MANY || program.actions.length > MANY) return "";
    const head = make("tr", {}, make("td"), ...program.actions.map((a) => named("th", a, { scope: "col" })));
    const body = classes.map((name, c) => make("tr", {}, named("th", name, { scope: "row" }),
      ...program.actions.map((action, a) => {
        const box = make("input", { type: "number", step: "any", value: costs[c][a], id: `c${c}-${a}`, "aria-label": `Cost of ${action} if truly ${name}` });
        box.addEventListener("input", () => {
          if (box.value !== "" && Number.isFinite(Number(box.value))) { costs[c][a] = Number(box.value); update(); }
        });
        return make("td", {}, box);
      })));
    return make("fieldset", { class: "costs" }, make("legend", { text: "Cost of an action, by the true class" }),
      make("div", { class: "wide" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...body))));
  }

  const verdict = make("p", { class: "verdict", role: "status", id: "verdict" });
  const slim = make("p", { class: "slim", "aria-hidden": "true" }); // on a phone the answer stays in sight, in one line
  const about = make("p", { class: "fine", id: "about" });
  const bars = make("ol", { class: "posterior", "aria-label": "Posterior probabilities" });
  const others = make("ol", { class: "posterior", "aria-label": "Posterior probabilities of the other classes" });
  const SORTED = K > 6, TOP = 5; // of many classes the most probable are shown, sorted
  const fall = make("ol", { class: "fall", "aria-label": "Steps from the prior to the posterior" });
  const pick = make("select", { id: "explained" }, make("option", { value: -1, text: "the most probable class" }),
    ...classes.map((name, c) => named("option", name, { value: c })));
  pick.addEventListener("change", () => { chosen = Number(pick.value); update(); });
  const outputs = classes.map((name, k) => {
    const bar = make("i"), value = make("output", { class: "n", "data-k": k });
    const item = make("li", {}, named("span", name, { class: "name" }), make("span", { class: "track" }, bar), value);
    bars.append(item);
    return { bar, value, item };
  });

  function answer() {
    return make("div", { class: "answer" },
      make("div", { class: "now" }, make("h3", { text: "Posterior" }), bars,
        SORTED ? make("details", {}, make("summary", { text: `${K - TOP} more classes` }), others) : "", verdict, about),
      make("div", { class: "why" },
        make("h3", {}, make("label", { for: "explained", text: "Why: evidence for " }), pick),
        make("p", { class: "fine", text: "In bits: one bit doubles or halves the odds. The address of the page holds the case: copy it to send it on." }), fall));
  }

  function said(j) {
    const q = questions[j], v = values[j];
    if (!q) return null;
    return v === null ? "missing" : q.levels ? q.levels[v] : short(v);
  }

  function step(name, value, begin, end, kind, low, wide, size) {
    const at = (v) => `${(100 * (v - low)) / wide}%`;
    const bar = make("i"), zero = make("u");
    bar.style.left = at(Math.min(begin, end));
    bar.style.width = `${(100 * Math.abs(end - begin)) / wide}%`;
    zero.style.left = at(0);
    const label = make("span", { class: "name" }, named("span", name), " ", value === null ? "" : make("small", { text: cut(value, 20) }));
    return make("li", { class: kind }, label, make("span", { class: "track" }, zero, bar), make("span", { class: "n", text: signed(size) }));
  }

  function drawFall(first, columnTerms, c) {
    const steps = evidence(first, columnTerms, c);
    fall.replaceChildren();
    if (!steps.every(Number.isFinite)) {
      fall.append(make("li", { text: "A class is impossible or certain: no step has a size." }));
      return;
    }
    const big = parts.map((_, j) => j).filter((j) => Math.abs(steps[j + 1]) >= 0.005);
    const order = big.sort((a, b) => Math.abs(steps[b + 1]) - Math.abs(steps[a + 1]));
    const rows = [[program.first, null, steps[0]], ...order.slice(0, STEPS).map((j) => [parts[j], said(j), steps[j + 1]])];
    const others = questions.length - order.slice(0, STEPS).filter((j) => j < questions.length).length;
    const rest = steps.reduce((sum, v) => sum + v, 0) - rows.reduce((sum, row) => sum + row[2], 0);
    if (others) rows.push([`${others.toLocaleString("en")} other column${others > 1 ? "s" : ""}`, null, rest]);
    const ends = rows.reduce((all, row) => [...all, all[all.length - 1] + row[2]], [0]);
    const low = Math.min(...ends), wide = Math.max(...ends) - low || 1, total = ends[ends.length - 1];
    rows.forEach(([name, value, size], i) => fall.append(step(name, value, ends[i], ends[i + 1], size >= 0 ? "for" : "against", low, wide, size)));
    fall.append(step("together", null, 0, total, "total", low, wide, total));
  }

  function drawVerdict(p, best) {
    verdict.replaceChildren();
    if (p.some(Number.isNaN)) {
      verdict.append("These values are impossible in every class.");
      return;
    }
    verdict.append("Most probable: ", named("b", classes[best]), ". ");
    const expected = program.actions.map((_, a) => p.reduce((sum, v, c) => sum + v * costs[c][a], 0));
    let least = expected.indexOf(Math.min(...expected)), cost = expected[least], action = program.actions[least];
    if (program.reject !== null && cost > program.reject) { action = "leave undecided"; cost = program.reject; }
    if (program.priced || costs.some((row, c) => row.some((v, a) => v !== program.costs[c][a]))) // else it is the most probable
      verdict.append("Least costly action: ", named("b", action, { id: "action" }), ` (expected cost ${Number(cost.toPrecision(3))}).`);
    verdict.dataset.action = action;
    verdict.dataset.cost = cost;
  }

  function update(only) {
    about.textContent = "";
    const { first, columnTerms } = terms(), p = posterior(first, columnTerms);
    const best = p.reduce((top, v, k) => (v > p[top] ? k : top), 0);
    outputs.forEach(({ bar, value, item }, k) => {
      bar.style.width = Number.isNaN(p[k]) ? "0" : `${100 * p[k]}%`;
      value.textContent = shown(p[k]);
      value.dataset.p = p[k];
      item.classList.toggle("best", k === best);
    });
    if (SORTED) {
      const order = p.map((_, k) => k).sort((a, b) => p[b] - p[a] || a - b);
      bars.replaceChildren(...order.slice(0, TOP).map((k) => outputs[k].item));
      others.replaceChildren(...order.slice(TOP).map((k) => outputs[k].item));
    }
    slim.replaceChildren(named("b", classes[best]), ` ${shown(p[best])}`);
    drawVerdict(p, best);
    drawFall(first, columnTerms, chosen < 0 ? best : chosen);
    if (only === undefined) setters.forEach((show) => show()); else setters[only]();
    priorSetters.forEach((show) => show());
    remember();
  }

  panel.append(slim, answer(), asked());
  tellWide();
  if (!restore()) update();
  addEventListener("hashchange", restore);
})();
