// Sums of Gaussian kernels over weighted centres, and the tables that stand for them.
namespace bayeskit::kernel { namespace {

// Centres ascend; count is a multiple of STRANDS, of which the first `real` are centres and the rest weigh nothing.
// Logarithms of weights are relative to the heaviest.
struct Mixture {
    const double *centre, *log_weight;
    int64_t count, real;
    double precision;
};

// The first centre not below x, among n.
inline int64_t first_from(const double *centre, int64_t n, double x) {
    int64_t low = 0;
    while (n > 0) {
        int64_t half = n / 2;
        if (centre[low + half] < x) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

// log of the sum over k of exp(log_weight[k] - z_k^2 / 2), z_k = (x - centre[k]) * precision, and its slope by x in units
// of the bandwidth. With z the signed distance to the nearest centre, z_k^2 - z^2 = d (2 z + d), d = z_k - z: nothing
// cancels however far x lies. Centres below e^-depth of the sum are left out.
inline double log_mixture(Mixture m, double x, double depth, double *scratch, double *slope) {
    int64_t at = first_from(m.centre, m.real, x);
    if (at == m.real || (at > 0 && x - m.centre[at - 1] < m.centre[at] - x)) --at;
    double near = m.centre[at], z = (x - near) * m.precision, square = z * z;
    *slope = -z;
    if (!(square < INFINITE)) return -INFINITE;
    double radius = __builtin_sqrt(square + 2 * (depth - m.log_weight[at])) / m.precision;
    int64_t from = first_from(m.centre, m.real, x - radius) / STRANDS * STRANDS;
    int64_t to = (first_from(m.centre, m.real, x + radius) + STRANDS - 1) / STRANDS * STRANDS;
    if (to <= at) to = (at / STRANDS + 1) * STRANDS;
    if (from > at) from = at / STRANDS * STRANDS;
    Real top = splat(-INFINITE), middle = splat(near), scale = splat(m.precision), twice = splat(2 * z);
    for (int64_t k = from; k < to; k += LANES) {
        Real d = (middle - load(m.centre + k)) * scale;
        Real a = load(m.log_weight + k) - splat(0.5) * d * (twice + d);
        store(scratch + k - from, a);
        top = larger(a, top);
    }
    double most = lane(top, 0);
    for (int i = 1; i < LANES; ++i) most = lane(top, i) > most ? lane(top, i) : most;
    constexpr int N = int(STRANDS / LANES);
    Real sum[N], moment[N], level = splat(most);
    for (int v = 0; v < N; ++v) sum[v] = moment[v] = splat(0.0);
    for (int64_t k = from; k < to; k += STRANDS)
        for (int v = 0; v < N; ++v) {
            Real e = exponential(load(scratch + k - from + v * LANES) - level);
            Real d = (middle - load(m.centre + k + v * LANES)) * scale;
            sum[v] += e;
            moment[v] += keep(less(splat(0.0), e), e * d);  // a distance may be infinite
        }
    double total = 0, away = 0;
    for (int v = 0; v < N; ++v)
        for (int i = 0; i < LANES; ++i) {
            total += lane(sum[v], i);
            away += lane(moment[v], i);
        }
    *slope = -z - away / total;
    return (most - 0.5 * square) + lane(logarithm(splat(total)), 0);
}

void mixture_log_density(const double *centre, const double *log_weight, int64_t count, int64_t real, double precision,
                         double depth, const double *x, int64_t rows, double *out, double *slope, double *scratch) {
    Mixture m = {centre, log_weight, count, real, precision};
    for (int64_t i = 0; i < rows; ++i) out[i] = log_mixture(m, x[i], depth, scratch, slope + i);
}

constexpr int64_t CURVE_ROWS = 1024;

// Adds constant + the curve of every (column, class) at its value; see Curves. Values in no stretch of a curve, or where
// the curve is not good enough (NaN), are summed directly.
Status mixture_curves(Columns c, const double *scale, const double *base, Curves t, int64_t classes, Grid out) {
    Scratch room(8 * t.longest + 8 * CURVE_ROWS);
    if (!room.data) return Status::memory;
    double *x = room.as<double>(), *scratch = x + CURVE_ROWS;
    for (int64_t from = 0; from < c.rows; from += CURVE_ROWS) {
        int64_t n = least(CURVE_ROWS, c.rows - from);
        for (int64_t j = 0; j < c.count; ++j) {
            for (int64_t i = 0; i < n; ++i) x[i] = number_at(c.address[j], (from + i) * c.stride[j]) * scale[j] - base[j];
            for (int64_t k = 0; k < classes; ++k) {
                int64_t u = j * classes + k;
                int64_t first = t.stretch[u], stretches = t.stretch[u + 1] - first;
                Mixture m = {t.centre + t.offset[u], t.log_weight + t.offset[u], t.offset[u + 1] - t.offset[u], t.real[u],
                             t.precision[u]};
                double constant = t.constant[u], steps = t.steps[u];
                for (int64_t i = 0; i < n; ++i) {
                    double v = x[i], value = __builtin_nan("");
                    if (v != v) continue;
                    int64_t s = first;
                    if (stretches > 1) {
                        s += first_from(t.low + first, stretches, v);
                        s -= s > first;
                    }
                    if (stretches > 0 && v > t.low[s] && v < t.high[s]) {
                        double place = (v - t.low[s]) * steps;
                        int64_t cell = int64_t(place);
                        const double *a = t.curve + 4 * (t.begin[s] + cell);
                        double y = place - double(cell);
                        value = ((a[3] * y + a[2]) * y + a[1]) * y + a[0];
                    }
                    if (value != value) {
                        double slope;
                        value = m.real ? log_mixture(m, v, 40.0, scratch, &slope) : 0.0;
                    }
                    cell(out, from + i, k) += constant + value;
                }
            }
        }
    }
    return Status::fine;
}

// Sums of Gaussian kernels seen from the cells they stand in: what the other cells of a mixture give near each of them.

// For every place c: with a_k = log_weight[k] - z_k^2 / 2, z_k = (c - centre[k]) * precision, over all centres but c itself,
// scale = max a_k and moments[n] = sum of z_k^n exp(a_k - scale), n < terms. No other centre: scale = -inf, moments 0.
// Near c, at x = c + t / precision, the sum of the kernels is exp(scale - t^2 / 2) times the sum of (-t)^n moments[n] / n!.
void kernel_moments(const double *centre, const double *log_weight, int64_t count, int64_t real, double precision, double depth,
                    const double *place, int64_t places, int64_t terms, double *scale, double *moments, double *scratch) {
    double least_log = 0;
    for (int64_t k = 0; k < real; ++k) least_log = log_weight[k] < least_log ? log_weight[k] : least_log;
    double *level = scratch, *distance = scratch + count + STRANDS;
    for (int64_t c = 0; c < places; ++c) {
        double x = place[c], *out = moments + c * terms;
        int64_t at = first_from(centre, real, x), own = at < real && centre[at] == x ? at : -1;
        int64_t right = own < 0 ? at : at + 1;
        double near = INFINITE;
        if (at > 0) near = x - centre[at - 1];
        if (right < real && centre[right] - x < near) near = centre[right] - x;
        for (int64_t n = 0; n < terms; ++n) out[n] = 0;
        scale[c] = -INFINITE;
        double first = near * precision;
        if (!(first * first < INFINITE)) continue;
        double radius = __builtin_sqrt(first * first + 2 * (depth - least_log)) / precision;
        int64_t from = first_from(centre, real, x - radius) / STRANDS * STRANDS;
        int64_t to = (first_from(centre, real, x + radius) + STRANDS - 1) / STRANDS * STRANDS;
        to = to <= at && at < real ? (at / STRANDS + 1) * STRANDS : to;
        Real here = splat(x), by = splat(precision), top = splat(-INFINITE);
        for (int64_t k = from; k < to; k += LANES) {
            Real z = (here - load(centre + k)) * by;
            store(distance + k - from, z);
            store(level + k - from, load(log_weight + k) - splat(0.5) * z * z);
        }
        if (own >= 0) level[own - from] = -INFINITE;
        for (int64_t k = from; k < to; k += LANES) top = larger(load(level + k - from), top);
        double most = lane(top, 0);
        for (int i = 1; i < LANES; ++i) most = lane(top, i) > most ? lane(top, i) : most;
        if (most == -INFINITE) continue;
        scale[c] = most;
        constexpr int N = int(STRANDS / LANES);
        Real sum[N];
        for (int v = 0; v < N; ++v) sum[v] = splat(0.0);
        for (int64_t k = 0; k < to - from; k += STRANDS)
            for (int v = 0; v < N; ++v) {
                Real e = exponential(load(level + k + v * LANES) - splat(most));
                store(level + k + v * LANES, e);
                sum[v] += e;
            }
        for (int64_t n = 0;; ++n) {
            for (int v = 0; v < N; ++v)
                for (int i = 0; i < LANES; ++i) out[n] += lane(sum[v], i);
            if (n + 1 == terms) break;
            for (int v = 0; v < N; ++v) sum[v] = splat(0.0);
            for (int64_t k = 0; k < to - from; k += STRANDS)
                for (int v = 0; v < N; ++v) {
                    Real e = load(level + k + v * LANES) * load(distance + k + v * LANES);
                    store(level + k + v * LANES, e);
                    sum[v] += e;
                }
        }
    }
}

}}  // namespace bayeskit::kernel
