// Sums of Gaussian kernels at many places at once: a fast Gauss transform.
namespace {

constexpr int64_t GAUSS_TERMS = 18;   // of a box one bandwidth wide: 2e-14 of its weight
constexpr double GAUSS_REACH = 9.0;   // bandwidths: what lies beyond is below 3e-18 of its weight

// The sum over k of weight[k] exp(-z_k^2 / 2), z_k = (place - centre[k]) * precision, for ascending places and centres.
// Centres of one box, c of them at u = (centre - middle) precision: exp(-t^2 / 2) sum over n of t^n C_n with
// C_n = sum of weight exp(-u^2 / 2) u^n / n!, t = (place - middle) precision.
Status gauss(const double *centre, const double *weight, int64_t count, double precision, const double *place,
             int64_t places, double *out) {
    Scratch room(8 * count * (GAUSS_TERMS + 2));
    if (!room.data) return Status::memory;
    double *middle = room.as<double>(), *series = middle + count;
    int64_t boxes = 0;
    for (int64_t k = 0; k < count;) {
        double from = centre[k], *c = series + boxes * GAUSS_TERMS;
        int64_t end = k;
        while (end < count && (centre[end] - from) * precision <= 1.0) ++end;
        double half = from + (centre[end - 1] - from) / 2;
        middle[boxes] = half;
        for (int64_t n = 0; n < GAUSS_TERMS; ++n) c[n] = 0;
        for (; k < end; ++k) {
            double u = (centre[k] - half) * precision, e = weight[k] * lane(exponential(splat(-0.5 * u * u)), 0);
            for (int64_t n = 0; n < GAUSS_TERMS; ++n) {
                c[n] += e;
                e *= u / double(n + 1);
            }
        }
        ++boxes;
    }
    double reach = GAUSS_REACH / precision;
    for (int64_t i = 0; i < places; i += LANES) {
        double x[LANES], sums[LANES];
        for (int l = 0; l < LANES; ++l) x[l] = place[least(i + l, places - 1)];
        Real at = load(x), sum = splat(0.0);
        int64_t from = first_from(middle, boxes, x[0] - reach), to = first_from(middle, boxes, x[LANES - 1] + reach);
        for (int64_t b = from; b < to; ++b) {
            const double *c = series + b * GAUSS_TERMS;
            Real t = (at - splat(middle[b])) * splat(precision), even = splat(c[GAUSS_TERMS - 2]), odd = splat(c[GAUSS_TERMS - 1]);
            Real square = t * t;
            for (int64_t n = GAUSS_TERMS - 4; n >= 0; n -= 2) {
                even = even * square + splat(c[n]);
                odd = odd * square + splat(c[n + 1]);
            }
            // lanes may lie further apart than the reach
            sum += keep(less(magnitude(t), splat(GAUSS_REACH)), (even + odd * t) * exponential(splat(-0.5) * square));
        }
        store(sums, sum);
        for (int64_t l = 0; l < LANES && i + l < places; ++l) out[i + l] = sums[l];
    }
    return Status::fine;
}

}  // namespace
