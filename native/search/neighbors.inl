// Gaps between rows and points over the columns that both have, in tiles of points that stay in the nearest cache: the sum of
// w_j |x_j - y_j|^power over numbers, and of w_j for each level that differs; and the weight of these columns.
namespace bayeskit::search { namespace {

constexpr int64_t POINT_TILE = 1024;

template <bool SQUARE>
inline void numbers_apart(double x, double w, const double *y, int64_t n, double *sum, double *mass) {
    for (int64_t t = 0; t < n; ++t) {
        double d = x - y[t], gap = SQUARE ? d * d : __builtin_fabs(d);
        bool there = d == d;
        sum[t] += there ? w * gap : 0.0;
        mass[t] += there ? w : 0.0;
    }
}

inline void levels_apart(int32_t x, double w, const int32_t *y, int64_t n, double *sum, double *mass) {
    for (int64_t t = 0; t < n; ++t) {
        double here = y[t] >= 0 ? w : 0.0;
        sum[t] += y[t] == x ? 0.0 : here;
        mass[t] += here;
    }
}

void partial_distances(const double *asked, const int32_t *asked_codes, int64_t rows, Points p, bool square, double *sum,
                       double *mass) {
    for (int64_t from = 0; from < p.count; from += POINT_TILE) {
        int64_t size = least(POINT_TILE, p.count - from);
        for (int64_t i = 0; i < rows; ++i) {
            double *s = sum + i * p.count + from, *m = mass + i * p.count + from;
            for (int64_t t = 0; t < size; ++t) s[t] = m[t] = 0;
            for (int64_t j = 0; j < p.columns; ++j) {
                double x = asked[i * p.columns + j];
                if (x != x) continue;
                auto add = square ? numbers_apart<true> : numbers_apart<false>;
                add(x, p.weight[j], p.number + j * p.count + from, size, s, m);
            }
            for (int64_t j = 0; j < p.coded; ++j) {
                int32_t x = asked_codes[i * p.coded + j];
                if (x != -1) levels_apart(x, p.code_weight[j], p.code + j * p.count + from, size, s, m);
            }
        }
    }
}

}}  // namespace bayeskit::search
