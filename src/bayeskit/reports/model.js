// The model: what a program says of the values it now has.
function modelOf(program, tables) {
  "use strict";
  const { classes, questions } = program;
  const BIT = Math.LN2;
  const values = questions.map((q) => q.start);
  const prior = program.prior.slice();
  const { memberTerms, zeros, added, normalise } = engineOf(program, tables);
  const number = (v) => (v === "-inf" ? -Infinity : v);
  const pool = { base: program.pool.base.map(number), own: program.pool.own.map(number), backOff: program.pool.backOff };
  const input = (q, value) => (q.levels ? (value === null ? q.missingCode : q.codes[value]) : value === null ? NaN : value);

  // What the prior begins with, and what each column, neighbours by themselves and the backing-off add, as Python has
  // it: all that a member says counts as much as the member, and as much as it shows after backing off.
  function terms() {
    let first = added(pool.base, prior.map((p, k) => Math.log(p) - Math.log(program.prior[k])));
    let columnTerms = [...questions.map(zeros), zeros(), zeros()];
    const inputs = questions.map((q, j) => input(q, values[j]));
    const all = program.members.map((member) => {
      const { start, columns, together } = memberTerms(member, inputs);
      return { start, terms: [...columns, together], weight: member.weight };
    });
    if (!pool.backOff) {
      for (const one of all) {
        first = added(first, added(one.start, pool.own, -1), one.weight);
        one.terms.forEach((row, j) => { columnTerms[j] = added(columnTerms[j], row, one.weight); });
      }
      return { first, columnTerms };
    }
    for (const one of all) one.logs = normalise(one.terms.reduce((sum, row) => added(sum, row), one.start));
    const score = all.reduce((sum, one) => added(sum, backedOff(one.logs), one.weight), pool.base);
    const rival = score.indexOf(Math.max(...score));
    for (const one of all) {
      const shown = backedOffTerms(one, rival);
      first = added(first, shown.base, one.weight);
      columnTerms = columnTerms.map((row, j) => added(row, shown.terms[j], one.weight));
    }
    return { first, columnTerms };
  }

  const centred = (row) => { const mean = row.reduce((a, b) => a + b, 0) / row.length; return row.map((v) => v - mean); };
  const backedOff = (logs) =>
    logs.map((v, k) => logsum([Math.log1p(-pool.backOff) + v, Math.log(pool.backOff) + pool.own[k]]) - pool.own[k]);

  // As backed_off_terms in Python: terms for a class and terms against it each share what they move of the odds that show.
  function backedOffTerms(member, rival) {
    const FAR = 1e6, e = pool.backOff, own = pool.own, { logs } = member;
    const start = member.start.map((v) => Math.max(v, -FAR));
    const terms = member.terms.map((row) => row.map((v) => within(v, -FAR, FAR)));
    const base = backedOff(normalise(start)), gain = added(backedOff(logs), base, -1);
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

  function posterior(first, columnTerms) {
    const joint = columnTerms.reduce((sum, row) => added(sum, row), first);
    const all = logsum(joint);
    return joint.map((v) => (all === -Infinity ? NaN : Math.exp(v - all)));
  }

  // Log-odds of a class against all others, and how each part moved them, in bits.
  function evidence(first, columnTerms, c) {
    const odds = (path) => path[c] - logsum(path.filter((_, k) => k !== c));
    let path = first, last = odds(path);
    const steps = [last / BIT];
    for (const row of columnTerms) {
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
