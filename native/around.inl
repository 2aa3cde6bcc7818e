// Sums of Gaussian kernels seen from the cells they stand in: what the other cells of a mixture give near each of them.
namespace {

// For every place c: with a_k = log_weight[k] - z_k^2 / 2, z_k = (c - centre[k]) * precision, over all centres but c itself,
// scale = max a_k and moments[n] = sum of z_k^n exp(a_k - scale), n < terms. No other centre: scale = -inf, moments 0.
// Near c, at x = c + t / precision, the sum of the kernels is exp(scale - t^2 / 2) times the sum of (-t)^n moments[n] / n!.
void around(const double *centre, const double *log_weight, int64_t count, int64_t real, double precision, double depth,
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

}  // namespace
