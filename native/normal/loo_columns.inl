// Leave-one-out of normal columns one by one: the log-odds of the other classes against a row's own, from each column by
// itself without the row. Rows lie in the lanes; the formulas and the doubts are those of loo_rows.inl.
namespace bayeskit::normal { namespace {

// Parameters of one class and column; weight is that of the class.
struct ColumnNormal {
    double mean, low, precision, constant, margin;
    double gone;  // w / left for w = 1; with weights W itself
    bool delicate;  // any class of the column
};

// LANES rows: their parameters by lane, the same where all are of one class.
template <typename F> inline Real by_lane(bool alike, F value) {
    if (alike) return splat(value(0));
    double v[LANES];
    for (int i = 0; i < LANES; ++i) v[i] = value(i);
    return load(v);
}

constexpr int64_t LOO_ROWS_AT_ONCE = 64;

// Classes and weights of some rows, filled up with the last of them.
struct RowClasses {
    int32_t group[LOO_ROWS_AT_ONCE];
    double mass[LOO_ROWS_AT_ONCE];
    bool alike[LOO_ROWS_AT_ONCE];  // whether all rows of the vector that starts here are of one class
    int64_t count;

    RowClasses(const int32_t *groups, const double *weights, int64_t at, int64_t count) : count(count) {
        for (int64_t i = 0; i < LOO_ROWS_AT_ONCE; ++i) {
            group[i] = groups[at + least(i, count - 1)];
            mass[i] = weights ? weights[at + least(i, count - 1)] : 1.0;
        }
        for (int64_t i = 0; i < LOO_ROWS_AT_ONCE; i += LANES) {
            alike[i] = true;
            for (int64_t l = 0; l < LANES; ++l) alike[i] &= group[i + l] == group[i];
        }
    }
};

// LANES rows from at + v on of column j.
inline void loo_column_rows(Columns c, int64_t j, int64_t at, int64_t v, const RowClasses &rows, const ColumnNormal *by,
                            double scale, double heaviest, bool weighted, int64_t classes, double lowest, double *out,
                            int64_t by_class, bool *doubt) {
    int64_t n = least(LANES, rows.count - v), stride = c.stride[j];
    const char *from = (const char *) c.address[j] + (at + v) * stride;
    const int32_t *group = rows.group + v;
    bool alike = rows.alike[v];
    double value[LANES], odds[LANES];
    for (int64_t i = 0; i < LANES && !(n == LANES && stride == 8); ++i)
        value[i] = number_at(uint64_t(from), least(i, n - 1) * stride);
    Real x = load(n == LANES && stride == 8 ? (const void *) from : value) * splat(scale), w = load(rows.mass + v);
    Real one = splat(1.0), half = splat(0.5);
    Real mean = by_lane(alike, [&](int i) { return by[group[i]].mean; });
    Real low = by_lane(alike, [&](int i) { return by[group[i]].low; });
    Real precision = by_lane(alike, [&](int i) { return by[group[i]].precision; });
    Real constant = by_lane(alike, [&](int i) { return by[group[i]].constant; });
    Real gone = by_lane(alike, [&](int i) { return by[group[i]].gone; });
    Real margin = by_lane(alike, [&](int i) { return by[group[i]].margin; });
    if (weighted) gone = w / (gone - w);
    Real away = (x - mean) - low, u = away * precision, rest = one - u * u * gone, spread = rest * (one + gone);
    Real step = low - away * gone, now = mean + step, z = (x - now) * precision;
    Whole there = equal(x, x);
    Whole sure = less(splat(LEAST_LEFT), rest) & less(gone, splat(MOST_GONE)) & less(splat(-0.5), gone) &
                 no_tie(mean, step, now, margin) & ~less(splat(heaviest), w);
    if (by->delicate) sure = splat(int64_t(0));
    Whole good = there & sure;
    Real own = larger(splat(lowest), constant - half * (logarithm(spread) + z * z / spread));
    for (int64_t k = 0; k + 1 < classes; ++k) {
        auto other = [&](int i) -> const ColumnNormal & { return by[k + (k >= group[i])]; };
        Real far = (x - by_lane(alike, [&](int i) { return other(i).mean; })) *
                   by_lane(alike, [&](int i) { return other(i).precision; });
        Real term = by_lane(alike, [&](int i) { return other(i).constant; }) - half * (far * far);
        Real more = keep(good, larger(splat(lowest), term) - own);
        double *to = out + k * by_class;
        if (n == LANES) {
            store(to, load(to) + more);
            continue;
        }
        store(odds, more);
        for (int64_t i = 0; i < n; ++i) to[i] += odds[i];
    }
    if (any(there & ~sure))
        for (int64_t i = 0; i < n; ++i) doubt[i] = lane(there & ~sure, int(i)) != 0;
}

// out has for each column by_column doubles, of which class c of the others has those from c * by_class on; doubt (columns,
// rows) names what exact sums must decide, and is left as it was in out.
Status loo_gaussian_odds(Columns c, const int32_t *groups, const double *weights, LooNormals p, int64_t classes, double floor,
                         double *out, int64_t by_column, int64_t by_class, bool *doubt) {
    for (int64_t i = 0; i < c.rows; ++i)
        if (groups[i] < 0 || groups[i] >= classes) return Status::group;
    Scratch scratch(c.count * classes * int64_t(sizeof(ColumnNormal)));
    ColumnNormal *all = scratch.as<ColumnNormal>();
    if (!scratch.data) return Status::memory;
    for (int64_t j = 0; j < c.count; ++j)
        for (int64_t k = 0; k < classes; ++k) {
            int64_t at = k * c.count + j;
            double margin = tie_margin(p.mean[at], p.precision[at]);
            double gone = weights ? p.weight[at] : 1 / (p.weight[at] - 1);
            all[j * classes + k] = {p.mean[at], p.mean_error[at], p.precision[at], p.constant[at], margin,
                                    gone,       p.delicate[at]};
            all[j * classes].delicate |= p.delicate[at];
        }
    for (int64_t at = 0; at < c.rows; at += LOO_ROWS_AT_ONCE) {
        RowClasses rows(groups, weights, at, least(LOO_ROWS_AT_ONCE, c.rows - at));
        for (int64_t j = 0; j < c.count; ++j)
            for (int64_t v = 0; v < rows.count; v += LANES)
                loo_column_rows(c, j, at, v, rows, all + j * classes, p.scale[j], p.heaviest, weights != nullptr, classes,
                                -floor, out + j * by_column + at + v, by_class, doubt + j * c.rows + at + v);
    }
    return Status::fine;
}

}}  // namespace bayeskit::normal
