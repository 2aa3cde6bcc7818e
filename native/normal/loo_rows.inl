// Leave-one-out of independent normal columns: what changes in a row's log densities once its own value is taken out.
//
// With d = x - mean and left = W - w, in a class and in the whole column alike: mean' = mean - d w / left and
// variance' = (variance - d^2 w / left) W / left. Means come with what their rounding lost. A row for which a difference
// cancels, or a floor is too close to call, is left as it is and named: exact sums decide there.
namespace bayeskit::normal { namespace {

constexpr int64_t LOO_ROWS = 32, LOO_COLUMNS = 64;  // 16 kB of values
constexpr double LEAST_LEFT = 0x1p-10;  // of a variance or weight: less makes digits doubtful
constexpr double MOST_GONE = 1000;      // w / left beyond which the weight left is doubtful
constexpr double VARIANCE_FLOOR = 1e-9; // of the column's variance

// A refit rounds the mean once. middle + step may be rounded otherwise where it lies halfway between two doubles, as means
// of whole numbers do; many deviations from zero that shows, and elsewhere the margin of 0 lets everything pass. Whether it
// is not so close to halfway.
inline double tie_margin(double mean, double precision) { return __builtin_fabs(mean) * precision > 0x1p14 ? 1 + 0x1p-18 : 0; }
inline Whole no_tie(Real middle, Real step, Real sum, Real margin) {
    return equal(sum + (step - (sum - middle)) * margin, sum);
}

// Columns [first, first + n) of one class, padded to LOO_COLUMNS; what is not there has precision 0 and loses nothing.
struct ClassNormals {
    double mean[LOO_COLUMNS], low[LOO_COLUMNS], precision[LOO_COLUMNS], margin[LOO_COLUMNS];
    double gone[LOO_COLUMNS];  // w / left for w = 1; with weights W itself

    void read(const LooNormals &p, int64_t columns, int64_t k, int64_t first, int64_t n, bool weighted) {
        for (int64_t j = 0; j < LOO_COLUMNS; ++j) {
            int64_t at = k * columns + first + j;
            bool used = j < n && !p.delicate[at];
            mean[j] = used ? p.mean[at] : 0;
            low[j] = used ? p.mean_error[at] : 0;
            precision[j] = used ? p.precision[at] : 0;
            margin[j] = tie_margin(mean[j], precision[j]);
            gone[j] = weighted ? (used ? p.weight[at] : INFINITE) : used ? 1 / (p.weight[at] - 1) : 0;
        }
    }
};

// One row: half of what -2 log p of its class gains without it, less the logarithm of `product`; false if in doubt.
template <bool WEIGHTED>
inline bool loo_row(const ClassNormals &p, const double *x, int64_t columns, double weight, double *gain, double *product) {
    constexpr int N = int(STRANDS / LANES);
    Real sum[N], times[N], one = splat(1.0), w = splat(weight);
    Whole doubt = splat(int64_t(0));
    for (int v = 0; v < N; ++v) sum[v] = splat(0.0), times[v] = one;
    for (int64_t j = 0; j < columns; j += STRANDS)
        for (int v = 0; v < N; ++v) {
            int64_t at = j + v * LANES;
            Real value = load(x + at), mean = load(p.mean + at), low = load(p.low + at), by = load(p.precision + at);
            Real gone = WEIGHTED ? w / (load(p.gone + at) - w) : load(p.gone + at);
            Real near = value - mean, away = near - low, u = away * by, old = near * by;
            Real rest = one - u * u * gone, spread = rest * (one + gone);
            Real step = low - away * gone, now = mean + step, z = (value - now) * by;
            Whole there = equal(value, value);
            Whole sure = less(splat(LEAST_LEFT), rest) & less(gone, splat(MOST_GONE)) & less(splat(-0.5), gone);
            doubt |= there & ~(sure & no_tie(mean, step, now, load(p.margin + at)));
            sum[v] += keep(there, z * z / spread - old * old);
            times[v] *= select(there, spread, one);
        }
    double total = 0, whole = 1;
    for (int v = 0; v < N; ++v)
        for (int i = 0; i < LANES; ++i) {
            total += lane(sum[v], i);
            whole *= lane(times[v], i);
        }
    *gain = total;
    *product = whole;
    return !any(doubt);
}

// A number taken out of a weighted sum: what is left of weight, mean and variance (as a share); false if in doubt.
struct Removal {
    double left, gone, mean, share, lost;

    inline bool of(double weight, double middle, double low, double variance, double unit, double x, double w) {
        left = weight - w;
        gone = w / left;
        double away = (x - middle) - low, far = away / unit;
        lost = gone * (far * far);
        double step = low - away * gone;
        mean = middle + step;
        share = (variance - lost) * (1 + gone);
        Real margin = splat(tie_margin(middle, 1 / unit));
        if (!(gone >= 0 && gone < MOST_GONE) || !lane(no_tie(splat(middle), splat(step), splat(mean), margin), 0)) return false;
        return lost == 0 || variance - lost > LEAST_LEFT * variance;
    }
};

inline double log_of(double v) { return lane(logarithm(splat(v)), 0); }

// What floors and empty classes make of column j: adds to `more` (classes); false if in doubt.
inline bool loo_delicate(const LooNormals &p, int64_t columns, int64_t classes, int64_t j, int64_t g, double x, double w,
                         double *more) {
    Removal own, all;
    int64_t mine = g * columns + j;
    double unit = p.total_deviation[j];
    if (!own.of(p.weight[mine], p.mean[mine], p.mean_error[mine], p.variance_ratio[mine], unit, x, w)) return false;
    if (!all.of(p.total_weight[j], p.grand_mean[j], p.grand_mean_error[j], 1, unit, x, w)) return false;
    double before = p.within[j] * p.total_weight[j], after = before - own.lost * p.weight[mine];
    if (own.lost != 0 && !(after > LEAST_LEFT * before)) return false;
    double within = after / all.left, floor = VARIANCE_FLOOR * all.share;
    for (int64_t k = 0; k < classes; ++k) {
        int64_t at = k * columns + j;
        if (!p.delicate[at]) continue;
        double weight = k == g ? own.left : p.weight[at], share = k == g ? own.share : p.variance_ratio[at];
        double mean = k == g ? own.mean : p.mean[at];
        if (weight <= 0) {
            mean = all.mean;
            share = all.share;
        } else if (share < floor) {
            if (share > floor * (1 - 1e-6)) return false;
            double other = within / (weight + 1);
            share = other > floor ? other : floor;
        } else if (share < floor * (1 + 1e-6)) {
            return false;
        }
        double z = (x - mean) / unit, old = (x - p.density_mean[at]) * p.precision[at];
        double now = p.total_constant[j] - 0.5 * (log_of(share) + z * z / share), then = p.constant[at] - 0.5 * old * old;
        if (!(now - then < INFINITE && now - then > -INFINITE)) return false;
        more[k] += now - then;
    }
    return true;
}

// Values times scale of some rows and columns, a row to LOO_COLUMNS doubles.
inline void by_row(Columns c, const double *scale, int64_t first, int64_t n, int64_t at, int64_t rows, double *out) {
    for (int64_t j = 0; j < n; ++j) {
        const char *from = (const char *) c.address[first + j] + at * c.stride[first + j];
        int64_t stride = c.stride[first + j];
        for (int64_t i = 0; i < rows; ++i) out[i * LOO_COLUMNS + j] = number_at(uint64_t(from), i * stride) * scale[first + j];
    }
}

template <bool WEIGHTED>
inline int64_t loo_rows(Columns c, const int32_t *groups, const double *weights, const LooNormals &p, int64_t classes, Grid out,
                        int64_t *doubtful, ClassNormals *normals, double *more, const int64_t *delicate, int64_t delicates) {
    alignas(64) double x[LOO_ROWS * LOO_COLUMNS] = {}, product[LOO_ROWS] = {}, delta[LOO_ROWS];
    bool sure[LOO_ROWS];
    int64_t found = 0, chunks = (c.count + LOO_COLUMNS - 1) / LOO_COLUMNS;
    for (int64_t at = 0; at < c.rows; at += LOO_ROWS) {
        int64_t rows = least(LOO_ROWS, c.rows - at);
        auto weight = [&](int64_t i) { return WEIGHTED ? weights[at + i] : 1.0; };
        auto counted = [&](int64_t i) { return groups[at + i] >= 0 && weight(i) > 0; };
        for (int64_t i = 0; i < LOO_ROWS; ++i) delta[i] = 0, product[i] = 1, sure[i] = true;
        for (int64_t i = 0; i < rows; ++i) sure[i] = !counted(i) || weight(i) <= p.heaviest;
        for (int64_t chunk = 0; chunk < chunks; ++chunk) {
            int64_t first = chunk * LOO_COLUMNS, n = least(LOO_COLUMNS, c.count - first);
            by_row(c, p.scale, first, n, at, rows, x);
            for (int64_t i = 0; i < rows; ++i)
                if (counted(i)) {
                    double gain;
                    const ClassNormals &mine = normals[chunk * classes + groups[at + i]];
                    sure[i] &= loo_row<WEIGHTED>(mine, x + i * LOO_COLUMNS, n, weight(i), &gain, product + i);
                    delta[i] -= 0.5 * gain;
                }
            for (int64_t i = 0; i < LOO_ROWS; i += LANES)
                store(delta + i, load(delta + i) - splat(0.5) * logarithm(load(product + i)));
        }
        for (int64_t i = 0; i < rows; ++i) {
            if (!counted(i)) continue;
            for (int64_t k = 0; delicates && k < classes; ++k) more[k] = 0;
            for (int64_t d = 0; sure[i] && d < delicates; ++d) {
                int64_t j = delicate[d];
                double value = number_at(c.address[j], (at + i) * c.stride[j]) * p.scale[j];
                if (value == value) sure[i] = loo_delicate(p, c.count, classes, j, groups[at + i], value, weight(i), more);
            }
            if (!sure[i]) {
                doubtful[found++] = at + i;
                continue;
            }
            cell(out, at + i, groups[at + i]) += delta[i];
            for (int64_t k = 0; delicates && k < classes; ++k) cell(out, at + i, k) += more[k];
        }
    }
    return found;
}

// Adds to out (rows, classes) what each counted row's densities change by without it; names the rows in doubt.
Status loo_gaussian(Columns c, const int32_t *groups, const double *weights, LooNormals p, int64_t classes, Grid out,
                    int64_t *doubtful, int64_t *found) {
    int64_t chunks = (c.count + LOO_COLUMNS - 1) / LOO_COLUMNS, delicates = 0;
    for (int64_t i = 0; i < c.rows; ++i)
        if (groups[i] < -1 || groups[i] >= classes) return Status::group;
    Scratch normals(chunks * classes * int64_t(sizeof(ClassNormals))), more(8 * classes), which(8 * c.count);
    if (!normals.data || !more.data || !which.data) return Status::memory;
    ClassNormals *of = normals.as<ClassNormals>();
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
        for (int64_t k = 0; k < classes; ++k) {
            int64_t first = chunk * LOO_COLUMNS;
            of[chunk * classes + k].read(p, c.count, k, first, least(LOO_COLUMNS, c.count - first), weights != nullptr);
        }
    for (int64_t j = 0; j < c.count; ++j) {
        bool some = false;
        for (int64_t k = 0; k < classes; ++k) some |= p.delicate[k * c.count + j];
        if (some) which.as<int64_t>()[delicates++] = j;
    }
    auto run = weights ? loo_rows<true> : loo_rows<false>;
    *found = run(c, groups, weights, p, classes, out, doubtful, of, more.as<double>(), which.as<int64_t>(), delicates);
    return Status::fine;
}

}}  // namespace bayeskit::normal
