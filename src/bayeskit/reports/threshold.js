// The threshold at which one acts: the slider and the ratio of costs are the same thing, t = 1 / (1 + ratio).
(() => {
  "use strict";
  const source = document.getElementById("thresholds");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const at = (id) => document.getElementById(id);
  const cut = at("cut"), ratio = at("ratio");
  const percent = (p) => (Number.isFinite(p) ? (p > 0 && p < 0.001 ? "< 0.1 %" : `${(100 * p).toFixed(1)} %`) : "–");

  function show(i) {
    const t = data.threshold[i], found = data.found[i], wrong = data.false[i], share = data.share, odds = t / (1 - t);
    at("cut-value").textContent = `${Math.round(100 * t)} %`;
    at("at-acted").textContent = percent(found + wrong);
    at("at-sensitivity").textContent = percent(found / share);
    at("at-precision").textContent = percent(found + wrong > 0 ? found / (found + wrong) : NaN);
    at("at-alarms").textContent = percent(wrong / (1 - share));
    at("at-benefit").textContent = (found - wrong * odds).toFixed(4).replace("-", "−");
    at("at-others").textContent = (share - (1 - share) * odds).toFixed(4).replace("-", "−");
    const x = data.left + t * data.wide;
    at("cut-mark").setAttribute("x1", x);
    at("cut-mark").setAttribute("x2", x);
  }

  // Where every mistake costs one, the panel below decides by the same costs.
  function tie(times) {
    if (!data.tied) return;
    const k = data.place;
    for (const [c, a, cost] of [[k, 1 - k, times], [1 - k, k, 1]]) {
      const box = at(`c${c}-${a}`);
      if (box) { box.value = cost; box.dispatchEvent(new Event("input")); }
    }
  }

  cut.addEventListener("input", () => {
    const i = Number(cut.value) - 1, times = Number(((1 - data.threshold[i]) / data.threshold[i]).toPrecision(4));
    ratio.value = times;
    show(i);
    tie(times);
  });
  ratio.addEventListener("input", () => {
    const times = Number(ratio.value);
    if (!(times > 0)) return;
    const i = Math.max(0, Math.min(98, Math.round(100 / (1 + times)) - 1));
    cut.value = i + 1;
    show(i);
    tie(times);
  });
  show(data.start);
})();
