// Exponentials and logarithms of whole arrays, and the shapes of gamma densities.
namespace {

// out = f(in), a vector at a time; what lies beyond the end is read as `spare`.
template <class Function> inline void each_vector(const double *in, int64_t n, double *out, double spare, Function f) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) store(out + i, f(load(in + i)));
    if (i == n) return;
    double rest[LANES];
    for (int l = 0; l < LANES; ++l) rest[l] = i + l < n ? in[i + l] : spare;
    store(rest, f(load(rest)));
    for (int64_t l = 0; i + l < n; ++l) out[i + l] = rest[l];
}

// Of numbers of at most 0.
void exponentials(const double *in, int64_t n, double *out) {
    each_vector(in, n, out, 0.0, [](Real t) { return exponential(t); });
}

// Of positive numbers that are not subnormal.
void logarithms(const double *in, int64_t n, double *out) {
    each_vector(in, n, out, 1.0, [](Real s) { return logarithm(s); });
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
    for (int64_t at = 0; at < n; at += LANES) {
        double gaps[LANES], shapes[LANES], levels[LANES];
        for (int l = 0; l < LANES; ++l) gaps[l] = gap[least(at + l, n - 1)], shapes[l] = shape[least(at + l, n - 1)];
        Real wanted = load(gaps), k = load(shapes);
        Whole open = less(splat(0.0), splat(1.0));
        for (int i = 0; i < 30 && any(open); ++i) {
            Real value, slope;
            log_minus_digamma(k, value, slope);
            Real step = (value - wanted) / (slope * k);
            k = select(open, k / (splat(1.0) + step), k);
            open = open & less(splat(1e-7), magnitude(step));  // the next step would be its square
        }
        store(shapes, k);
        store(levels, k * logarithm(k) - k - log_gamma(k));
        for (int64_t l = 0; l < LANES && at + l < n; ++l) shape[at + l] = shapes[l], level[at + l] = levels[l];
    }
}

}  // namespace
