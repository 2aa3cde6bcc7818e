// What scores of families by leave-one-out spend their time on.
namespace bayeskit::search { namespace {

// Of log densities f (classes, cells): the highest at each cell, weight exp(f - highest) by class, and their sum.
void class_shares(const double *f, int64_t classes, int64_t cells, const double *weight, double *top, double *part,
                  double *sum) {
    for (int64_t c = 0; c < cells; c += LANES) {
        Real high = splat(-INFINITE), all = splat(0.0);
        for (int64_t k = 0; k < classes; ++k) high = larger(take(f + k * cells, c, cells, 0.0), high);
        for (int64_t k = 0; k < classes; ++k) {
            Real p = exponential(take(f + k * cells, c, cells, 0.0) - high) * splat(weight[k]);
            give(part + k * cells, c, cells, p);
            all += p;
        }
        give(top, c, cells, high);
        give(sum, c, cells, all);
    }
}

// log of (n f + (n f + r g) / m) / (n + 1) by row, log f = own, log g = top, n and m weights of the class and of all without
// what leaves; NaN where that is below 1e-280.
void loo_backoff(const double *own, const double *top, const double *rest, const double *leaves, int64_t rows, double weight,
                 double whole, double *out) {
    for (int64_t i = 0; i < rows; i += LANES) {
        Real mine = take(own, i, rows, 0.0), high = take(top, i, rows, 0.0), by = take(rest, i, rows, 1.0);
        Real gone = take(leaves, i, rows, 0.0), n = splat(weight) - gone, others = splat(whole) - gone;
        Real apart = exponential(-magnitude(mine - high)), one = splat(1.0);
        Whole above = less(high, mine);
        Real f = n * select(above, one, apart), all = f + by * select(above, apart, one);
        Real p = (f + all / others) / (n + one), level = larger(mine, high);
        Whole good = less(splat(1e-280), p);
        give(out, i, rows, select(good, logarithm(select(good, p, one)) + level, splat(__builtin_nan(""))));
    }
}

constexpr double SERIES_FROM = 10.0;  // gamma functions are read from their series from here on
constexpr double DIGAMMA[] = {1.0 / 12, 1.0 / 120, 1.0 / 252, 1.0 / 240, 1.0 / 132, 691.0 / 32760};
constexpr double TRIGAMMA[] = {1.0 / 6, 1.0 / 30, 1.0 / 42, 1.0 / 30, 5.0 / 66};
constexpr double STIRLING[] = {1.0 / 12, 1.0 / 360, 1.0 / 1260, 1.0 / 1680, 1.0 / 1188};

// terms[0] - terms[1] x + terms[2] x^2 - ...
template <int N> inline Real alternating(const double (&terms)[N], Real x) {
    Real sum = splat(terms[N - 1]);
    for (int i = N - 2; i >= 0; --i) sum = splat(terms[i]) - sum * x;
    return sum;
}

// log k - digamma(k) and its slope.
inline void log_minus_digamma(Real k, Real &value, Real &slope) {
    Real start = k, sum = splat(0.0), squares = sum, one = splat(1.0);
    for (Whole small = less(k, splat(SERIES_FROM)); any(small); small = less(k, splat(SERIES_FROM))) {
        Real r = keep(small, one / k);
        sum += r;
        squares += r * r;
        k += keep(small, one);
    }
    Real r = one / k, i = r * r;
    value = logarithm(start / k) + splat(0.5) * r + alternating(DIGAMMA, i) * i + sum;
    slope = one / start - (r + splat(0.5) * i + alternating(TRIGAMMA, i) * i * r + squares);
}

// log Gamma(k).
inline Real log_gamma(Real k) {
    Real before = splat(1.0);
    for (Whole small = less(k, splat(SERIES_FROM)); any(small); small = less(k, splat(SERIES_FROM))) {
        before = select(small, before * k, before);
        k += keep(small, splat(1.0));
    }
    Real r = splat(1.0) / k, series = alternating(STIRLING, r * r) * r;
    return (k - splat(0.5)) * logarithm(k) - k + splat(0.91893853320467274178) + series - logarithm(before);
}

// The shapes k with log k - digamma(k) = gap, by Newton in 1/k from those given; and k log k - k - log Gamma(k).
void gamma_shapes(const double *gap, int64_t n, double *shape, double *level) {
    Real begun = splat(0.0), first_value = begun, first_slope = begun;  // many begin with the same shapes
    for (int64_t at = 0; at < n; at += LANES) {
        Real wanted = take(gap, at, n, gap[n - 1]), k = take(shape, at, n, shape[n - 1]);
        Whole open = less(splat(0.0), splat(1.0));
        if (any(differs(k, begun))) {
            begun = k;
            log_minus_digamma(k, first_value, first_slope);
        }
        for (int i = 0; i < 30 && any(open); ++i) {
            Real value = first_value, slope = first_slope;
            if (i) log_minus_digamma(k, value, slope);
            Real step = (value - wanted) / (slope * k);
            k = select(open, k / (splat(1.0) + step), k);
            open = open & less(splat(1e-7), magnitude(step));  // the next step would be its square
        }
        give(shape, at, n, k);
        give(level, at, n, k * logarithm(k) - k - log_gamma(k));
    }
}

}}  // namespace bayeskit::search
