// Arithmetic: sums of logarithms, places between borders, triangular factors.
function logsum(numbers) {
  const most = numbers.reduce((a, b) => Math.max(a, b), -Infinity);
  return most === -Infinity ? most : most + Math.log(numbers.reduce((sum, v) => sum + Math.exp(v - most), 0));
}

// The first place whose border is not below x.
function place(borders, x) {
  let low = 0, high = borders.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (borders[middle] < x) low = middle + 1; else high = middle;
  }
  return low;
}

// The lower factor of a covariance over some of its columns, which is given by its lower half.
function cholesky(half, start, some) {
  const L = some.map(() => new Float64Array(some.length));
  some.forEach((a, i) => {
    for (let j = 0; j <= i; j++) {
      let sum = half[start + (a * (a + 1)) / 2 + some[j]];
      for (let m = 0; m < j; m++) sum -= L[i][m] * L[j][m];
      L[i][j] = i === j ? Math.sqrt(sum) : sum / L[j][j];
    }
  });
  return L;
}

function solved(L, x) {
  const out = new Float64Array(x.length);
  for (let i = 0; i < x.length; i++) {
    let sum = x[i];
    for (let m = 0; m < i; m++) sum -= L[i][m] * out[m];
    out[i] = sum / L[i][i];
  }
  return out;
}
