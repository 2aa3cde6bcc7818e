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
  // have it: all that a voice says counts as much as the voice.
  function terms() {
    let first = added(program.base, prior.map((p, k) => Math.log(p) - Math.log(program.prior[k])));
    const told = [...questions.map(zeros), zeros(), zeros()], together = questions.length, backed = together + 1;
    for (const voice of program.voices) {
      const one = heard(voice), begin = added(one.start, program.own, -1);
      first = added(first, begin, voice.weight);
      one.told.forEach((row, j) => { told[j] = added(told[j], row, voice.weight); });
      told[together] = added(told[together], one.together, voice.weight);
      if (!program.backOff) continue;
      const joint = one.told.reduce((sum, row) => added(sum, row), added(one.start, one.together)), all = logsum(joint);
      const e = program.backOff;
      const said = joint.map((v, k) => logsum([Math.log1p(-e) + v - all, Math.log(e) + program.own[k]]) - program.own[k]);
      const rest = said.map((v, k) => v - (joint[k] - program.own[k])), most = Math.max(...rest);
      told[backed] = added(told[backed], rest.map((v) => v - most), voice.weight);
    }
    return { first, told };
  }

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

  const parts = [...questions.map((q) => q.name), "neighbours", "back-off"];
  return { values, prior, parts, terms, posterior, evidence };
}
