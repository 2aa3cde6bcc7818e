// Logistic regression on one column, z = a + b x: what its steps and its errors are made of.
namespace bayeskit::scores { namespace {

// P(true) and P(false) at z, and log(1 + e^z).
struct Odds {
    Real yes, no, softplus;

    explicit Odds(Real z) {
        Real e = exponential(-magnitude(z)), share = splat(1.0) / (splat(1.0) + e), rest = e * share;
        Whole below = less(z, splat(0.0));
        yes = select(below, rest, share);
        no = select(below, share, rest);
        softplus = larger(z, splat(0.0)) + logarithm(splat(1.0) + e);
    }
};

// Weight times log(1 + e^z) - t z; t - p, the same times x; p (1 - p), the same times x and times x^2.
void logistic_sums(const double *x, const double *truth, const double *weight, int64_t rows, double a, double b, double *out) {
    constexpr int N = int(STRANDS / LANES);
    Real sum[6][N];
    for (int k = 0; k < 6; ++k)
        for (int n = 0; n < N; ++n) sum[k][n] = splat(0.0);
    for (int64_t from = 0; from < rows; from += STRANDS)
        for (int n = 0; n < N; ++n) {
            int64_t i = from + n * LANES;
            Real u = take(x, i, rows, 0.0), t = take(truth, i, rows, 0.0), w = take(weight, i, rows, 0.0);
            Real z = splat(a) + splat(b) * u;
            Odds p(z);
            Real apart = w * select(less(splat(0.5), t), p.no, -p.yes), spread = w * (p.yes * p.no);
            Real each[6] = {w * (p.softplus - t * z), apart, apart * u, spread, spread * u, spread * u * u};
            for (int k = 0; k < 6; ++k) sum[k][n] += each[k];
        }
    for (int k = 0; k < 6; ++k) {
        double strand[STRANDS], all = 0;
        for (int n = 0; n < N; ++n) store(strand + n * LANES, sum[k][n]);
        for (double s : strand) all += s;
        out[k] = all;
    }
}

// What a coefficient loses with each row: row (first, second) of the inverse times (1, x), times t - p over 1 - leverage.
void logistic_influence(const double *x, const double *truth, const double *weight, int64_t rows, LogisticFit f, double *out) {
    for (int64_t i = 0; i < rows; i += LANES) {
        Real u = take(x, i, rows, 0.0), t = take(truth, i, rows, 0.0), w = take(weight, i, rows, 0.0);
        Odds p(splat(f.a) + splat(f.b) * u);
        Real spread = w * (p.yes * p.no);
        Real leverage = (splat(f.inverse[0]) + splat(2 * f.inverse[1]) * u + splat(f.inverse[2]) * u * u) * spread;
        Real apart = w * select(less(splat(0.5), t), p.no, -p.yes) / larger(splat(1.0) - leverage, splat(1e-3));
        give(out, i, rows, (splat(f.first) + splat(f.second) * u) * apart);
    }
}

}}  // namespace bayeskit::scores
