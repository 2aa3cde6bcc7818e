// Sums of Gaussian kernels at many places at once: a fast Gauss transform.
namespace bayeskit::kernel { namespace {

constexpr int64_t GAUSS_REACH = 9;       // bandwidths: what lies beyond is below 3e-18 of its weight
constexpr int64_t GAUSS_TERMS = 20;      // of the series of a box one bandwidth wide: 1e-14 of the weight around it
constexpr int64_t GAUSS_ROWS = 24;       // the same in vectors of eight
constexpr double HEIGHT[] = {1.0,
                             0.6065306597126334236,
                             0.13533528323661269189,
                             0.011108996538242306496,
                             0.00033546262790251183882,
                             3.7266531720786709929e-6,
                             1.5229979744712628436e-8,
                             2.2897348456455528941e-11,
                             1.2664165549094175723e-14,
                             2.5767571091549809481e-18};  // exp(-d^2 / 2)

// He_{m+n}(d) exp(-d^2 / 2) by d, n, m: the derivatives of the kernel at whole distances, but for their sign. And 1/k!, 1/k.
struct GaussTable {
    alignas(64) double at[GAUSS_REACH + 1][GAUSS_TERMS][GAUSS_ROWS];
    double inverse_factorial[GAUSS_ROWS], inverse[GAUSS_ROWS + 1];

    constexpr GaussTable() : at(), inverse_factorial(), inverse() {
        for (int64_t d = 0; d <= GAUSS_REACH; ++d) {
            double he[GAUSS_ROWS + GAUSS_TERMS] = {HEIGHT[d], double(d) * HEIGHT[d]};
            for (int64_t k = 2; k < GAUSS_ROWS + GAUSS_TERMS; ++k) he[k] = double(d) * he[k - 1] - double(k - 1) * he[k - 2];
            for (int64_t n = 0; n < GAUSS_TERMS; ++n)
                for (int64_t m = 0; m < GAUSS_ROWS; ++m) at[d][n][m] = he[m + n];
        }
        inverse_factorial[0] = 1;
        for (int64_t k = 1; k <= GAUSS_ROWS; ++k) {
            inverse[k] = 1 / double(k);
            if (k < GAUSS_ROWS) inverse_factorial[k] = inverse_factorial[k - 1] / double(k);
        }
    }
};
constexpr GaussTable GAUSS;

// A box of centres, one bandwidth wide: its number, and sums of weight u^n / n! with u from its middle, with alternating
// signs too.
struct GaussBox {
    double number;
    double plain[GAUSS_TERMS], turned[GAUSS_TERMS];
};

inline double gauss_box(double x, double precision) { return __builtin_floor(x * precision); }

inline void gauss_sums(const double *centre, const double *weight, int64_t count, double precision, GaussBox &box) {
    constexpr int N = int(STRANDS / LANES);
    Real sum[GAUSS_TERMS][N];
    for (auto &term : sum)
        for (Real &s : term) s = splat(0.0);
    for (int64_t k = 0; k < count; k += STRANDS) {
        double u[STRANDS], w[STRANDS];
        for (int64_t i = 0; i < STRANDS; ++i) {
            bool real = k + i < count;
            u[i] = real ? centre[k + i] * precision - box.number - 0.5 : 0.0;
            w[i] = real ? weight[k + i] : 0.0;
        }
        for (int v = 0; v < N; ++v) {
            Real at = load(u + v * LANES), term = load(w + v * LANES);
            for (int64_t n = 0; n < GAUSS_TERMS; ++n) {
                sum[n][v] += term;
                term = term * (at * splat(GAUSS.inverse[n + 1]));
            }
        }
    }
    for (int64_t n = 0; n < GAUSS_TERMS; ++n) {
        double strand[STRANDS], all = 0;
        for (int v = 0; v < N; ++v) store(strand + v * LANES, sum[n][v]);
        for (double s : strand) all += s;
        box.plain[n] = all;
        box.turned[n] = n % 2 ? -all : all;
    }
}

// Adds to out[m] the sum over n of table[n][m] * box[n].
template <int64_t ROWS>
inline void gauss_shift(const double (*table)[GAUSS_ROWS], const double *box, int64_t terms, double *out) {
    constexpr int N = int(ROWS / LANES);
    Real even[N], odd[N];  // two sums, as additions wait for each other
    for (int v = 0; v < N; ++v) even[v] = load(out + v * LANES), odd[v] = splat(0.0);
    for (int64_t n = 0; n < terms; n += 2)
        for (int v = 0; v < N; ++v) {
            even[v] += load(table[n] + v * LANES) * splat(box[n]);
            odd[v] += load(table[n + 1] + v * LANES) * splat(box[n + 1]);
        }
    for (int v = 0; v < N; ++v) store(out + v * LANES, even[v] + odd[v]);
}

// The sum over k of weight[k] exp(-z_k^2 / 2), z_k = (place - centre[k]) * precision, for ascending places and centres, to
// 1e-14 of `near`, the weight around, where it is 3e-18 of all at least. Boxes stand at whole numbers of bandwidths: with
// u and v from the middles of two boxes d apart, exp(-(d + v - u)^2 / 2) = sum over m, n of
// (-v)^m / m! u^n / n! He_{m+n}(d) exp(-d^2 / 2).
Status fast_gauss_transform(const double *centre, const double *weight, int64_t count, double precision, const double *place,
                            int64_t places, double *out, double *near) {
    Scratch room(int64_t(sizeof(GaussBox)) * count);
    if (!room.data) return Status::memory;
    GaussBox *boxes = room.as<GaussBox>();
    int64_t made = 0;
    for (int64_t k = 0; k < count; ++made) {
        double number = boxes[made].number = gauss_box(centre[k], precision);
        int64_t end = k + 1;
        while (end < count && gauss_box(centre[end], precision) == number) ++end;
        gauss_sums(centre + k, weight + k, end - k, precision, boxes[made]);
        k = end;
    }
    int64_t first = 0;
    for (int64_t i = 0; i < places;) {
        double number = gauss_box(place[i], precision), around = 0;
        int64_t end = i + 1;
        while (end < places && gauss_box(place[end], precision) == number) ++end;
        double above[GAUSS_ROWS] = {}, below[GAUSS_ROWS] = {};
        while (first < made && boxes[first].number < number - GAUSS_REACH) ++first;
        for (int64_t b = first; b < made && boxes[b].number <= number + GAUSS_REACH; ++b) {
            double apart = number - boxes[b].number;
            int64_t d = int64_t(apart < 0 ? -apart : apart);
            const double *from = apart < 0 ? boxes[b].turned : boxes[b].plain;
            const double (*table)[GAUSS_ROWS] = GAUSS.at[d];
            double *to = apart < 0 ? below : above;
            if (d < 6) gauss_shift<GAUSS_ROWS>(table, from, GAUSS_TERMS, to);
            else  // the further away, the sooner the series ends
                gauss_shift<16>(table, from, d < 8 ? 16 : 12, to);
            around += boxes[b].plain[0] * __builtin_sqrt(HEIGHT[d]);
        }
        double series[GAUSS_ROWS];
        for (int64_t m = 0; m < GAUSS_ROWS; ++m)
            series[m] = ((m % 2 ? -above[m] : above[m]) + below[m]) * GAUSS.inverse_factorial[m];
        for (; i < end; i += LANES) {
            double x[LANES], sums[LANES];
            for (int l = 0; l < LANES; ++l) x[l] = place[least(i + l, end - 1)];
            Real v = load(x) * splat(precision) - splat(number) - splat(0.5), square = v * v;
            Real even = splat(series[GAUSS_ROWS - 2]), odd = splat(series[GAUSS_ROWS - 1]);
            for (int64_t m = GAUSS_ROWS - 4; m >= 0; m -= 2) {
                even = even * square + splat(series[m]);
                odd = odd * square + splat(series[m + 1]);
            }
            store(sums, even + odd * v);
            for (int64_t l = 0; l < LANES && i + l < end; ++l) out[i + l] = sums[l], near[i + l] = around;
        }
        i = end;
    }
    return Status::fine;
}

// The same on an even grid: out[i] = sum over |j| <= reach of height[|j|] weight[i + j]; reach is a whole number of EVEN_RUN.
// Weights are there for `reach` and a block of cells more on both sides, as is room in out. Terms are taken 8 apart, since
// what is 8 cells further on for one part of a block is what another part has loaded already.
void grid_gauss_sums(const double *weight, int64_t n, const double *height, int64_t reach, double *out) {
    constexpr int64_t APART = 8, RUNS = EVEN_RUN / APART, N = EVEN_BLOCK / LANES, PER = APART / LANES,
                      ALL = N + (RUNS - 1) * PER;
    for (int64_t i = 0; i < n; i += EVEN_BLOCK) {
        Real sum[N];
        for (int64_t v = 0; v < N; ++v) sum[v] = load(weight + i + v * LANES) * splat(height[0]);
        for (int64_t from = 1; from <= reach; from += EVEN_RUN)
            for (int64_t j = from; j < from + APART; ++j) {
                Real below[ALL], above[ALL];  // of terms j + 8 (RUNS - 1) to j, and of j to j + 8 (RUNS - 1)
                const double *at = weight + i;
                for (int64_t k = 0; k < ALL; ++k) {
                    below[k] = load(at - j - APART * (RUNS - 1) + k * LANES);
                    above[k] = load(at + j + k * LANES);
                }
                for (int64_t r = 0; r < RUNS; ++r) {
                    Real by = splat(height[j + APART * r]);
                    for (int64_t v = 0; v < N; ++v) {
                        Real low = below[v + (RUNS - 1 - r) * PER], high = above[v + r * PER];
                        sum[v] += (v % 2 ? low + high : sum_by_multiplier(low, high)) * by;
                    }
                }
            }
        for (int64_t v = 0; v < N; ++v) store(out + i + v * LANES, sum[v]);
    }
}

}}  // namespace bayeskit::kernel
