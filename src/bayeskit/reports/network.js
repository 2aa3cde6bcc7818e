// The network panel: cards on a board, or in a list where it is narrow; evidence by states and sliders, every belief follows.
(() => {
  "use strict";
  const source = document.getElementById("tables");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const { nodes, arcs } = data, ask = networkBeliefs(data);
  const TICKS = 400, STEP = 12, EDGE = 16; // of a slider; pixels of a move by the keyboard; around all
  const evidence = nodes.map(() => null);
  const above = nodes.map((_, v) => arcs.filter((a) => a.to === v));
  const share = (a) => (a.share === null ? "" : `${(100 * a.share).toFixed(a.share < 0.1 ? 1 : 0)} %`);

  function answer(given) {
    try { return ask(given); } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { why: error.message };
    }
  }
  const before = answer(evidence);
  const first = nodes.map((_, v) => (before.nodes ? before.nodes[v] : { why: before.why }));

  // -- cards -----------------------------------------------------------------------------------------

  const cards = nodes.map((node, v) => (node.states ? levelCard(node, v) : numberCard(node, v)));
  cards.forEach((card, v) => {
    const given = above[v].map((a) => `${nodes[a.from].name} ${share(a)}`.trim()).join(", ");
    const move = make("button", { type: "button", class: "move", "aria-label": `Move ${nodes[v].name}`, title: "Drag, or use the arrow keys", text: "⠿" });
    card.box = make("fieldset", { class: "node", id: `node-${v}` }, named("legend", nodes[v].name), move,
      make("p", { class: "above fine", text: given ? `given ${given}` : "" }), ...card.inside);
    card.move = move;
  });

  function levelCard(node, v) {
    const rows = node.states.map((state, s) => {
      const bar = make("i"), tick = make("u"), value = make("span", { class: "n" });
      const button = make("button", { type: "button", class: "state", "aria-pressed": "false" },
        make("span", { class: "name", text: cut(state), title: state }), make("span", { class: "track" }, bar, tick), value);
      button.addEventListener("click", () => set(v, evidence[v] === s ? null : s));
      if (first[v].p) tick.style.left = `${100 * first[v].p[s]}%`; else tick.hidden = true;
      return { bar, tick, value, button };
    });
    return {
      inside: [make("div", { class: "states" }, ...rows.map((r) => r.button))],
      show(now) {
        rows.forEach(({ bar, value, button, tick }, s) => {
          const p = now && now.p ? now.p[s] : NaN;
          bar.style.width = p >= 0 ? `${100 * p}%` : "0";
          value.textContent = p >= 0 ? percent(p) : "–";
          button.dataset.p = p;
          button.setAttribute("aria-pressed", String(evidence[v] === s));
          tick.hidden = !(first[v].p && Math.abs(p - first[v].p[s]) > 0.002);
        });
        return now && now.p && first[v].p ? now.p.reduce((sum, p, s) => sum + Math.abs(p - first[v].p[s]), 0) / 2 : 0;
      },
    };
  }

  function numberCard(node, v) {
    const known = first[v].weights, middle = known ? mixture.mean(first[v]) : 0, spread = known ? mixture.deviation(first[v]) : 1;
    const low = middle - 4 * spread, high = middle + 4 * spread;
    const digits = within(1 - Math.floor(Math.log10(spread)), 0, 12), plain = spread > 1e-9 && spread < 1e12;
    const shown = (x) => String(Number(plain ? x.toFixed(digits + 1) : x.toPrecision(15)));
    const slider = make("input", { type: "range", min: 0, max: TICKS, step: 1, "aria-label": node.name });
    const field = make("input", { type: "number", step: "any", "aria-label": `${node.name}, as a number`, placeholder: "–" });
    const clear = make("button", { type: "button", class: "clear", "aria-label": `${node.name} is not known`, text: "×" });
    const said = make("p", { class: "said" }), picture = svg("svg", { class: "density", viewBox: "0 0 200 60", preserveAspectRatio: "none", role: "img", "aria-label": node.name });
    const was = svg("path", { class: "was" }), curve = svg("path", { class: "curve" }), at = svg("line", { class: "at", y1: 0, y2: 60 });
    picture.append(was, curve, at);
    slider.addEventListener("input", () => { const x = low + ((high - low) * slider.valueAsNumber) / TICKS; field.value = shown(x); set(v, Number(shown(x))); });
    field.addEventListener("input", () => { if (Number.isFinite(field.valueAsNumber)) set(v, field.valueAsNumber); else if (!field.value && !field.validity.badInput) set(v, null); });
    clear.addEventListener("click", () => { field.value = ""; set(v, null); slider.focus(); });
    const points = Array.from({ length: 101 }, (_, i) => low + ((high - low) * i) / 100);
    const height = (of) => points.map((x) => mixture.density(of, x));
    const draw = (heights, top) => `M0,60${heights.map((h, i) => `L${2 * i},${(60 - (54 * Math.min(h, top)) / top).toFixed(2)}`).join("")}L200,60Z`;
    const old = known ? height(first[v]) : [];
    return {
      inside: [picture, said, make("div", { class: "set" }, slider, field, clear)],
      reset() { field.value = ""; },
      show(now) {
        const fixed = evidence[v] !== null;
        clear.disabled = !fixed;
        slider.classList.toggle("idle", !fixed);
        if (!now || !now.weights) {
          said.textContent = now ? now.why : "–";
          [was, curve].forEach((p) => p.removeAttribute("d"));
          at.setAttribute("visibility", "hidden");
          delete said.dataset.mean;
          return 0;
        }
        const mean = mixture.mean(now), deviation = mixture.deviation(now), heights = fixed ? [] : height(now);
        const top = Math.max(...old, ...heights);
        said.dataset.mean = mean;
        said.dataset.deviation = deviation;
        said.dataset.density = fixed ? "" : mixture.density(now, mean);
        said.textContent = fixed ? `known: ${mean}` : `${shown(mean)} ± ${shown(deviation)}\n90 % in ${shown(mixture.quantile(now, 0.05))} – ${shown(mixture.quantile(now, 0.95))}`;
        picture.setAttribute("aria-label", `${node.name}: ${said.textContent.replace("\n", ", ")}`);
        was.setAttribute("d", old.length ? draw(old, top) : "");
        curve.setAttribute("d", fixed || !(top > 0) ? "" : draw(heights, top));
        const where = within((200 * (mean - low)) / (high - low), 0, 200);
        at.setAttribute("x1", where);
        at.setAttribute("x2", where);
        at.setAttribute("visibility", fixed ? "visible" : "hidden");
        if (document.activeElement !== slider) slider.value = within((TICKS * (mean - low)) / (high - low), 0, TICKS);
        return Math.min(Math.abs(mean - middle) / spread, 1);
      },
    };
  }

  // -- the board -------------------------------------------------------------------------------------

  const drawn = svg("svg", { class: "arcs", "aria-hidden": "true" });
  const tip = (id) => svg("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { d: "M0,0L8,4L0,8z" }));
  drawn.append(svg("defs", {}, tip("tip"), tip("tip-near")));
  const paths = arcs.map((a) => {
    const path = svg("path", { class: "arc", "marker-end": "url(#tip)", "stroke-width": (1 + 5 * Math.sqrt(a.share ?? 0)).toFixed(2) });
    const title = svg("title", {});
    title.textContent = `${nodes[a.from].name} → ${nodes[a.to].name}${a.share === null ? "" : `: ${share(a)} of what is uncertain of ${nodes[a.to].name}`}`;
    path.append(title);
    drawn.append(path);
    return path;
  });
  const canvas = make("div", { class: "canvas" }, drawn, ...cards.map((c) => c.box));
  const board = make("div", { class: "board" }, canvas);
  const places = nodes.map((n) => ({ ...n.at })), moved = new Set(), KEY = `bayeskit network ${data.digest}`;
  let scale = 1;

  function route(a, i) {
    if (!moved.has(a.from) && !moved.has(a.to)) return paths[i].setAttribute("d", a.route);
    const [p, q] = [places[a.from], places[a.to]], ends = [p, q].map((b) => ({ x: b.x + b.wide / 2, y: b.y + b.tall / 2, ...b, mx: b.wide / 2, my: b.tall / 2 }));
    const [m, n] = [p, q].map((b) => [b.x + b.wide / 2, b.y + b.tall / 2]);
    const reach = ({ mx, my }, dx, dy) => Math.min(mx / Math.max(Math.abs(dx), 1e-9), my / Math.max(Math.abs(dy), 1e-9));
    const dx = n[0] - m[0], dy = n[1] - m[1], s = reach(ends[0], dx, dy), t = reach(ends[1], dx, dy);
    return paths[i].setAttribute("d", `M${m[0] + s * dx},${m[1] + s * dy}L${n[0] - t * dx},${n[1] - t * dy}`);
  }
  function place() {
    canvas.style.setProperty("--wide", `${right(places)}px`);
    canvas.style.setProperty("--tall", `${bottom(places)}px`);
    cards.forEach(({ box }, v) => {
      for (const [name, value] of [["--x", places[v].x], ["--y", places[v].y], ["--w", places[v].wide], ["--h", places[v].tall]]) box.style.setProperty(name, `${value}px`);
    });
    arcs.forEach(route);
  }
  function shift(v, dx, dy) {
    places[v].x = Math.max(places[v].x + dx, 0);
    places[v].y = Math.max(places[v].y + dy, 0);
    moved.add(v);
    place();
  }
  function keep() { // the layout outlives a reload, where the browser lets a page keep anything
    const held = JSON.stringify([...moved].map((v) => [v, places[v].x, places[v].y]));
    try { localStorage.setItem(KEY, held); } catch (error) { canvas.dataset.kept = error.name; }
  }
  function recall() {
    try {
      for (const [v, x, y] of JSON.parse(localStorage.getItem(KEY) || "[]")) if (places[v] && x >= 0 && y >= 0) { Object.assign(places[v], { x, y }); moved.add(v); }
    } catch (error) { canvas.dataset.kept = error.name; }
  }
  cards.forEach(({ box, move }, v) => {
    const near = (on) => arcs.forEach((a, i) => {
      const mine = on && (a.from === v || a.to === v);
      paths[i].classList.toggle("near", mine);
      paths[i].setAttribute("marker-end", mine ? "url(#tip-near)" : "url(#tip)");
    });
    box.addEventListener("pointerenter", () => near(true));
    box.addEventListener("pointerleave", () => near(false));
    box.addEventListener("focusin", () => near(true));
    box.addEventListener("focusout", () => near(false));
    let from = null;
    for (const handle of [move, box.querySelector("legend")]) {
      handle.addEventListener("pointerdown", (e) => { if (e.button === 0 && !listed()) { from = [e.clientX, e.clientY]; handle.setPointerCapture(e.pointerId); box.classList.add("moving"); } });
      handle.addEventListener("pointermove", (e) => { if (from) { shift(v, (e.clientX - from[0]) / scale, (e.clientY - from[1]) / scale); from = [e.clientX, e.clientY]; } });
      for (const end of ["pointerup", "pointercancel"]) handle.addEventListener(end, () => { if (from) { from = null; box.classList.remove("moving"); keep(); } });
    }
    move.addEventListener("keydown", (e) => {
      const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
      if (by) { e.preventDefault(); shift(v, STEP * by[0], STEP * by[1]); keep(); }
    });
  });
  const narrow = matchMedia("(max-width: 44rem)"), listed = () => panel.classList.contains("list");
  function zoom(to) {
    scale = within(to, 0.3, 1.5);
    canvas.style.zoom = scale;
  }
  const right = (boxes) => Math.max(...boxes.map((b) => b.x + b.wide)) + EDGE, bottom = (boxes) => Math.max(...boxes.map((b) => b.y + b.tall)) + EDGE;
  function fit(boxes) {
    const wide = right(boxes);
    zoom(within((board.clientWidth - 2) / wide, 0.55, 1));
    canvas.style.setProperty("--start", `${Math.max(((board.clientWidth - 2) / scale - wide) / 2, 0)}px`); // in the middle, and there while nodes are dragged
  }
  function list(on) {
    panel.classList.toggle("list", on);
    asList.setAttribute("aria-pressed", String(on));
    if (on) canvas.style.zoom = 1; else fit(nodes.map((n) => n.at)); // as before nodes were dragged: these stay where they were
    tellBoard();
  }
  function tellBoard() {
    const scrolls = !listed() && (board.scrollWidth > board.clientWidth + 1 || board.scrollHeight > board.clientHeight + 1);
    if (scrolls) { board.tabIndex = 0; board.setAttribute("role", "region"); board.setAttribute("aria-label", "The network, scrolls"); }
    else { board.removeAttribute("tabindex"); board.removeAttribute("role"); board.removeAttribute("aria-label"); }
  }

  // -- tools -----------------------------------------------------------------------------------------

  const said = document.getElementById("evidence");
  const target = make("select", { id: "target" }, make("option", { value: "", text: "all nodes" }), ...nodes.map((n, v) => named("option", n.name, { value: v })));
  const code = make("pre", { id: "python" }), copied = make("span", { role: "status", class: "fine" });
  const button = (text, act, more = {}) => { const made = make("button", { type: "button", text, ...more }); made.addEventListener("click", act); return made; };
  const asList = button("As a list", () => list(!listed()), { "aria-pressed": "false" });
  const reset = button("Clear the evidence", () => { evidence.fill(null); cards.forEach((c) => c.reset && c.reset()); update(); });
  const tools = make("div", { class: "tools" }, reset, asList, make("span", { class: "onboard" },
    button("−", () => zoom(scale - 0.1), { "aria-label": "Smaller" }), button("+", () => zoom(scale + 0.1), { "aria-label": "Larger" }), button("Fit", () => fit(places)),
    button("Arrange again", () => { nodes.forEach((n, v) => Object.assign(places[v], n.at)); moved.clear(); keep(); place(); fit(places); })));
  const copy = button("Copy as Python", async () => {
    try { await navigator.clipboard.writeText(code.textContent); copied.textContent = "copied"; } catch {
      getSelection().selectAllChildren(code);
      copied.textContent = "selected: copy it with the keyboard";
    }
  });
  target.addEventListener("change", write);

  function write() {
    const given = nodes.flatMap((n, v) => (evidence[v] === null ? [] : [`${n.py}: ${n.states ? n.literals[evidence[v]] : python(evidence[v])}`]));
    const known = given.length ? `{${given.join(", ")}}` : "";
    const asked = target.value === "" ? `network.marginals(${known})` : `network.query(${[nodes[target.value].py, known].filter(Boolean).join(", ")})`;
    code.textContent = asked;
    copied.textContent = "";
  }
  const python = (x) => (Number.isInteger(x) && Math.abs(x) < 1e15 ? x.toFixed(1) : String(x));

  function set(v, to) {
    evidence[v] = to;
    update();
  }
  function update() {
    const found = answer(evidence), possible = found.nodes && found.log > -Infinity, given = evidence.filter((e) => e !== null).length;
    const moves = cards.map((card, v) => {
      const much = card.show(found.why ? { why: "–" } : possible ? found.nodes[v] : null);
      card.box.style.setProperty("--moved", much.toFixed(3));
      card.box.classList.toggle("known", evidence[v] !== null);
      return { v, much: evidence[v] === null ? much : 0 };
    });
    const most = moves.filter((m) => m.much > 0.02).sort((a, b) => b.much - a.much).slice(0, 3).map((m) => nodes[m.v].name);
    const numbers = nodes.some((n, v) => !n.states && evidence[v] !== null);
    const p = Math.exp(found.log), much = found.log < -30 || numbers ? `log ${numbers ? "density" : "probability"} of the evidence: ${found.log?.toPrecision(6)}` : `Probability of the evidence: ${Number(p.toPrecision(6))}`;
    said.textContent = found.why || (!possible ? "This evidence is impossible." : !given ? "No evidence is set." : `${much[0].toUpperCase()}${much.slice(1)}.${most.length ? ` Moved most: ${most.join(", ")}.` : ""}`);
    said.dataset.log = found.log;
    reset.disabled = !given;
    write();
  }
  const percent = (p) => (p === 0 || p === 1 ? `${100 * p} %` : p > 0 && p < 0.0005 ? "< 0.1 %" : p < 1 && p > 0.9995 ? "> 99.9 %" : `${(100 * p).toFixed(1)} %`);

  function svg(tag, settings, ...inside) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(settings)) element.setAttribute(name, value);
    element.append(...inside);
    return element;
  }

  const panel = document.getElementById("network");
  panel.append(tools, board, make("div", { class: "query" }, make("label", { for: "target", text: "In Python, of" }), target, copy, copied, code));
  recall();
  place();
  narrow.addEventListener("change", () => list(narrow.matches));
  addEventListener("resize", tellBoard);
  list(narrow.matches);
  update();
})();
