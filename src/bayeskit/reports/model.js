// The model: what a program says of the values it now has.
function modelOf(program, unpacked) {
  "use strict";
  const { classes, questions } = program;
  const BIT = Math.LN2;
  const values = questions.map((q) => q.start);
  const prior = program.prior.slice();
  const { heard, zeros } = voicesOf(program, unpacked, values);
  const added = (a, b, by = 1) => a.map((v, k) => v + by * b[k]);

  // What the prior begins with, and what each column, the neighbours and the backing-off add, as Python's explanations
  // have it: all that a voice says counts as much as the voice, and as much as it shows after backing off.
  function terms() {
    let first = added(program.base, prior.map((p, k) => Math.log(p) - Math.log(program.prior[k])));
    let told = [...questions.map(zeros), zeros(), zeros()];
    const all = program.voices.map((voice) => {
      const { start, told, together } = heard(voice);
      return { start, terms: [...told, together], weight: voice.weight };
    });
    if (!program.backOff) {
      for (const one of all) {
        first = added(first, added(one.start, program.own, -1), one.weight);
        one.terms.forEach((row, j) => { told[j] = added(told[j], row, one.weight); });
      }
      return { first, told };
    }
    for (const one of all) one.logs = normal(one.terms.reduce((sum, row) => added(sum, row), one.start));
    const score = all.reduce((sum, one) => added(sum, backedOff(one.logs), one.weight), program.base);
    const rival = score.indexOf(Math.max(...score));
    for (const one of all) {
      const shown = backedOffTerms(one, rival);
      first = added(first, shown.base, one.weight);
      told = told.map((row, j) => added(row, shown.terms[j], one.weight));
    }
    return { first, told };
  }

  const normal = (joint) => { const all = logsum(joint); return joint.map((v) => v - all); };
  const centred = (row) => { const mean = row.reduce((a, b) => a + b, 0) / row.length; return row.map((v) => v - mean); };
  const backedOff = (logs) =>
    logs.map((v, k) => logsum([Math.log1p(-program.backOff) + v, Math.log(program.backOff) + program.own[k]]) - program.own[k]);

  // As backed_off_terms in Python: terms for a class and terms against it each share what they move of the odds that show.
  function backedOffTerms(voice, rival) {
    const FAR = 1e6, e = program.backOff, own = program.own, { logs } = voice;
    const start = voice.start.map((v) => Math.max(v, -FAR));
    const terms = voice.terms.map((row) => row.map((v) => within(v, -FAR, FAR)));
    const base = backedOff(normal(start)), gain = added(backedOff(logs), base, -1);
    const moved = terms.map(zeros), rest = zeros();
    classes.forEach((_, c) => {
      const apart = terms.map((row) => row[c] - row[rival]);
      const more = apart.reduce((sum, v) => sum + Math.max(v, 0), 0), less = apart.reduce((sum, v) => sum + Math.min(v, 0), 0);
      const share = Math.log1p(-e) + logsum([logs[c], logs[rival]]);
      const shown = (by) => {
        const odds = start[c] - start[rival] + by;
        return logsum([share + logExpit(odds), Math.log(e) + own[c]]) - logsum([share + logExpit(-odds), Math.log(e) + own[rival]]);
      };
      const none = shown(0), up = shown(more), down = shown(less), both = shown(more + less);
      const rise = more > 0 ? (up - none + both - down) / (2 * more) : 0;
      const fall = less < 0 ? (down - none + both - up) / (2 * less) : 0;
      apart.forEach((v, j) => { moved[j][c] = v * (v > 0 ? rise : fall); });
      const left = gain[c] - gain[rival] - moved.reduce((sum, row) => sum + row[c], 0);
      const size = 1 + moved.reduce((sum, row) => sum + Math.abs(row[c]), 0);
      rest[c] = Math.abs(left) <= 1e-13 * size ? 0 : left;
    });
    return { base, terms: [...moved, rest].map(centred) };
  }

  const logExpit = (x) => (x < 0 ? x - Math.log1p(Math.exp(x)) : -Math.log1p(Math.exp(-x)));

  function posterior(first, told) {
    const joint = told.reduce((sum, row) => added(sum, row), first);
    const all = logsum(joint);
    return joint.map((v) => (all === -Infinity ? NaN : Math.exp(v - all)));
  }

  // Log-odds of a class against all others, and how each part moved them, in bits.
  function evidence(first, told, c) {
    const odds = (path) => path[c] - logsum(path.filter((_, k) => k !== c));
    let path = first, last = odds(path);
    const steps = [last / BIT];
    for (const row of told) {
      path = added(path, row);
      const now = odds(path);
      steps.push((now - last) / BIT);
      last = now;
    }
    return steps;
  }

  const parts = [...questions.map((q) => q.name), "similar rows", "kept from being certain"];
  return { values, prior, parts, terms, posterior, evidence };
}
