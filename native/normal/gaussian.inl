// Log densities of independent normal columns: with r = precision / sqrt(2),
//
//   out + sum of constant_j  -  sum of ((x_j - mean_j) r_j)^2,   each sum over the columns that are not missing.
//
// A tile of rows is worked on with rows in the lanes, the columns turned once on the way in. Each (row, class) sees the
// same operations in the same order whatever the tile is: a tile without missing values takes the sum of all constants, which
// is the same number.
namespace bayeskit::normal { namespace {

constexpr int64_t TILE = 64;     // rows: TILE * (WIDE columns + 2 * ABREAST classes) doubles stay in the nearest cache
constexpr int64_t WIDE = 32;     // columns
constexpr int64_t ABREAST = 16;  // classes
constexpr int TOGETHER_ROWS = 4; // vectors of rows, so that no sum waits for itself
static_assert(TILE % (TOGETHER_ROWS * LANES) == 0, "a tile is worked on in whole vectors");

// x * scale of columns [j, j + w) of rows [at, at + rows) into out, column j + k from out + k * TILE on; w <= WIDE.
// The scale is finite, so what is NaN here is missing; returns whether something is not finite. SCALED: not all are 1.
template <bool SCALED>
inline bool unpack(Columns c, int64_t j, int64_t w, int64_t at, int64_t rows, const double *scale, double *out) {
    int64_t stride = c.stride[j], i = 0;
    Whole broken = splat(int64_t(0));  // bits of x - x: 0 only where x is finite
    auto put = [&](double *to, Real x, int64_t k) {
        broken |= as<Whole>(x - x);
        store(to, SCALED ? x * splat(scale[j + k]) : x);
    };
    if (LANES > 1 && w >= LANES && adjacent(c, j, w) == w)
        for (; i + LANES <= rows; i += LANES) {
            const char *from = (const char *) c.address[j] + (at + i) * stride;
            for (int64_t r = 0; r < LANES; ++r)  // the next tile, whoever comes for it
                for (int64_t b = 0; b < 8 * w; b += 64) __builtin_prefetch(from + (TILE + r) * stride + b, 0, 2);
            for (int64_t l = 0; l < w; l += LANES) {
                int64_t first = least(l, w - LANES);  // a narrow last panel takes columns before it once more
                Real v[LANES];
                for (int r = 0; r < LANES; ++r) v[r] = load(from + r * stride + 8 * first);
                transpose(v);
                for (int k = 0; k < LANES; ++k) put(out + (first + k) * TILE + i, v[k], first + k);
            }
        }
    for (int64_t k = 0; k < w; ++k) {
        int64_t r = i, step = c.stride[j + k];
        for (; r + LANES <= rows; r += LANES) {
            const char *from = (const char *) c.address[j + k] + step * (at + r);
            __builtin_prefetch(from + step * TILE, 0, 2);
            put(out + k * TILE + r, step == 8 ? load(from) : load_apart(from, step), k);
        }
        for (; r < rows; ++r) {
            double x = number_at(c.address[j + k], (at + r) * step);
            broken |= as<Whole>(splat(x - x));
            out[k * TILE + r] = x * scale[j + k];
        }
    }
    return any(broken);
}

inline bool has_infinite(Columns c, int64_t j, int64_t w, int64_t at, int64_t rows) {
    bool found = false;
    for (int64_t k = j; k < j + w; ++k)
        for (int64_t i = at; i < at + rows; ++i) found |= __builtin_fabs(number_at(c.address[k], i * c.stride[k])) == INFINITE;
    return found;
}

// root is r, which is 0 where precision is: 0 * inf then has no value, and the density is 0.
struct Normal {
    double mean, root, constant;
};

// Adds the squares of w columns for one class; CAREFUL also their constants, and passes over what is missing; ODD where
// a square may have no value. What lies beyond the last row is never looked at.
template <bool CAREFUL, bool ODD>
inline void add_squares(const double *x, const Normal *p, int64_t w, int64_t rows, double *square, double *constant) {
    for (int64_t i = 0; i < rows; i += TOGETHER_ROWS * LANES) {
        Real sum[TOGETHER_ROWS], known[TOGETHER_ROWS];
        for (int v = 0; v < TOGETHER_ROWS; ++v) {
            sum[v] = load(square + i + v * LANES);
            if (CAREFUL) known[v] = load(constant + i + v * LANES);
        }
        for (int64_t l = 0; l < w; ++l) {
            Real mean = splat(p[l].mean), root = splat(p[l].root), fixed = splat(p[l].constant);
            for (int v = 0; v < TOGETHER_ROWS; ++v) {
                Real a = load(x + l * TILE + i + v * LANES), z = (a - mean) * root, more = z * z;
                if (CAREFUL) {
                    Whole there = equal(a, a);
                    if (ODD) more = select(equal(more, more), more, splat(INFINITE));
                    more = keep(there, more);
                    known[v] += select(there, fixed, splat(-0.0));
                }
                sum[v] += more;
            }
        }
        for (int v = 0; v < TOGETHER_ROWS; ++v) {
            store(square + i + v * LANES, sum[v]);
            if (CAREFUL) store(constant + i + v * LANES, known[v]);
        }
    }
}

// The parameters of up to ABREAST classes, class by class.
struct Normals {
    Normal *at;
    int64_t columns;

    Normal *of(int64_t k) const { return at + k * columns; }

    // Returns whether a finite x can give NaN: 0 * inf.
    bool read(const double *mean, const double *precision, const double *constant, int64_t classes, int64_t first, int64_t n) {
        bool odd = false;
        for (int64_t j = 0; j < columns; ++j)
            for (int64_t k = 0; k < n; ++k) {
                int64_t u = j * classes + first + k;
                double p = precision[u] < HUGE_NUMBER ? precision[u] : HUGE_NUMBER;
                of(k)[j] = {mean[u], p * ROOT_HALF, constant[u]};
                odd |= of(k)[j].root == 0;
            }
        return odd;
    }
    // The constants of the columns before j, added up in their order.
    double before(int64_t k, int64_t j) const {
        double sum = -0.0;
        for (int64_t l = 0; l < j; ++l) sum += of(k)[l].constant;
        return sum;
    }

    static constexpr double ROOT_HALF = 0x1.6a09e667f3bcdp-1;
};

// One tile: the sums of constants and squares by class.
struct Tile {
    alignas(64) double x[WIDE * TILE], constant[ABREAST * TILE], square[ABREAST * TILE];

    // Adds up all columns; returns whether a value was infinite. whole has the sum of all constants of each class.
    bool fill(Columns c, const double *scale, const Normals &normals, bool odd, const double *whole, int64_t n, int64_t at,
              int64_t rows) {
        bool careful = false, infinite = false;
        for (int64_t i = 0; i < n * TILE; ++i) square[i] = 0.0;
        for (int64_t j = 0, w; j < c.count; j += w) {
            w = least(WIDE, c.count - j);
            bool scaled = false;
            for (int64_t l = 0; l < w; ++l) scaled |= scale[j + l] != 1;
            bool broken = (scaled ? unpack<true> : unpack<false>) (c, j, w, at, rows, scale, x);
            infinite = infinite || (broken && beyond(w) && has_infinite(c, j, w, at, rows));
            if (!careful && (broken || odd)) {  // from here on to the end of the tile
                careful = true;
                for (int64_t k = 0; k < n; ++k) spread(normals.before(k, j), k);
            }
            for (int64_t k = 0; k < n; ++k) {
                auto add = odd ? add_squares<true, true> : careful ? add_squares<true, false> : add_squares<false, false>;
                add(x, normals.of(k) + j, w, rows, square + k * TILE, constant + k * TILE);
            }
        }
        for (int64_t k = 0; k < n && !careful; ++k) spread(whole[k], k);
        return infinite;
    }
    // Whether a scaled value is infinite: it need not have been so before.
    bool beyond(int64_t w) const {
        Whole found = splat(int64_t(0));
        for (int64_t i = 0; i < w * TILE; i += LANES) found |= equal(magnitude(load(x + i)), splat(INFINITE));
        return any(found);
    }
    void spread(double value, int64_t k) {
        for (int64_t i = 0; i < TILE; ++i) constant[k * TILE + i] = value;
    }
    void add_to(Grid out, int64_t at, int64_t rows, int64_t first, int64_t n) const {
        for (int64_t k = 0; k < n; ++k) {
            const double *c = constant + k * TILE, *q = square + k * TILE;
            if (out.row == 1) {
                double *to = &cell(out, at, first + k);
                for (int64_t i = 0; i < rows; ++i) to[i] = (to[i] + c[i]) - q[i];
            } else
                for (int64_t i = 0; i < rows; ++i) {
                    double &to = cell(out, at + i, first + k);
                    to = (to + c[i]) - q[i];
                }
        }
    }
};

Status gaussian_log_density(Columns c, const double *scale, const double *mean, const double *precision, const double *constant,
                            int64_t classes, Grid out) {
    Scratch parameters(c.count * ABREAST * int64_t(sizeof(Normal)));
    if (!parameters.data) return Status::memory;
    Normals normals = {parameters.as<Normal>(), c.count};
    Tile tile = {};
    bool infinite = false;
    for (int64_t first = 0; first < classes; first += ABREAST) {
        int64_t n = least(ABREAST, classes - first);
        bool odd = normals.read(mean, precision, constant, classes, first, n);
        double whole[ABREAST];
        for (int64_t k = 0; k < n; ++k) whole[k] = normals.before(k, c.count);
        for (int64_t at = 0; at < c.rows; at += TILE) {
            int64_t rows = least(TILE, c.rows - at);
            infinite |= tile.fill(c, scale, normals, odd, whole, n, at, rows);
            tile.add_to(out, at, rows, first, n);
        }
    }
    return infinite ? Status::infinite : Status::fine;
}

}}  // namespace bayeskit::normal
