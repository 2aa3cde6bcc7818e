// Log densities of independent normal columns.
//
// A tile of rows is worked on with rows in the lanes: out and the columns are turned once on the way in, and out
// once on the way back. Each (row, class) sees the same operations in the same order whatever the tile is.
namespace {

constexpr int64_t TILE = 128;   // rows: 128 * (16 classes + LANES columns) doubles stay in the nearest cache
constexpr int64_t ABREAST = 16; // classes

// x * scale of columns [j, j + w) of rows [at, at + rows) into out, column k from out + k * TILE on; w <= LANES.
// The scale is finite, so what is NaN here is missing; returns whether there are such holes.
inline bool unpack(Columns c, int64_t j, int64_t w, int64_t at, int64_t rows, const double *scale, double *out) {
    int64_t back = least(j, LANES - w), i = 0;  // a narrow last panel reads over columns before it
    bool holes = false;
    if (LANES > 1 && back + w == LANES && adjacent(c, j - back) == LANES) {
        Real by[LANES];
        Whole missing = splat(int64_t(0));
        for (int k = 0; k < LANES; ++k) by[k] = splat(scale[j - back + k]);
        for (; i + LANES <= rows; i += LANES) {
            Real v[LANES];
            const char *from = (const char *) c.address[j - back] + (at + i) * c.stride[j];
            for (int k = 0; k < LANES; ++k) {
                v[k] = load(from + k * c.stride[j]);
                __builtin_prefetch(from + (k + TILE) * c.stride[j], 0, 2);  // the next tile, whoever comes for it
            }
            transpose(v);
            for (int k = 0; k < LANES; ++k) {
                missing |= differs(v[k], v[k]);
                if (k >= back) store(out + (k - back) * TILE + i, v[k] * by[k]);
            }
        }
        holes = any(missing);
    }
    for (int64_t k = 0; k < w; ++k) {
        int64_t r = i;
        Real by = splat(scale[j + k]);
        Whole missing = splat(int64_t(0));
        for (; r + LANES <= rows; r += LANES) {
            const char *from = (const char *) c.address[j + k] + c.stride[j + k] * (at + r);
            Real v = c.stride[j + k] == 8 ? load(from) : load_apart(from, c.stride[j + k]);
            __builtin_prefetch(from + c.stride[j + k] * TILE, 0, 2);
            missing |= differs(v, v);
            store(out + k * TILE + r, v * by);
        }
        holes |= any(missing);
        for (; r < rows; ++r) {
            double v = number_at(c.address[j + k], (at + r) * c.stride[j + k]);
            holes |= v != v;
            out[k * TILE + r] = v * scale[j + k];
        }
    }
    return holes;
}

struct Normal {
    double mean, precision, constant;
    // Parameters under which a finite x can give NaN: 0 * inf, inf - inf.
    bool odd() const { return !(precision > 0 && mean - mean == 0 && constant - constant == 0); }
};

// constant - z^2 / 2. CAREFUL: NaN gives -0.0, which changes nothing when added, and where the formula itself has
// no value the density is 0.
template <bool CAREFUL> inline Real log_density(Real x, Normal p) {
    Real z = (x - splat(p.mean)) * splat(p.precision), term = splat(p.constant) - splat(0.5) * z * z;
    if (!CAREFUL) return term;
    Real none = select(differs(x, x), splat(-0.0), splat(-INFINITE));
    return select(differs(term, term), none, term);
}

// Adds W columns to one class, two vectors of rows at a time; what lies beyond the last row is never looked at.
template <bool CAREFUL, int W> inline void add_normals(const double *x, const Normal *p, double *total, int64_t rows) {
    for (int64_t i = 0; i < rows; i += 2 * LANES) {
        Real a = load(total + i), b = load(total + i + LANES);
        for (int l = 0; l < W; ++l) {
            a += log_density<CAREFUL>(load(x + l * TILE + i), p[l]);
            b += log_density<CAREFUL>(load(x + l * TILE + i + LANES), p[l]);
        }
        store(total + i, a);
        store(total + i + LANES, b);
    }
}

// The parameters of some classes by panel of LANES columns, then class, then column; odd by panel.
struct Normals {
    Normal *at;
    bool *odd;

    void read(int64_t columns, const double *mean, const double *precision, const double *constant, int64_t classes,
              int64_t first, int64_t n) {
        for (int64_t j = 0; j < columns; ++j) {
            if (j % LANES == 0) odd[j / LANES] = false;
            for (int64_t k = 0; k < n; ++k) {
                int64_t i = j * classes + first + k;
                Normal p = {mean[i], precision[i] < HUGE_NUMBER ? precision[i] : HUGE_NUMBER, constant[i]};
                of(j, k)[j % LANES] = p;
                odd[j / LANES] |= p.odd();
            }
        }
    }
    // Columns [j, j + w) to n classes. Two columns at a time: half the traffic of totals, and registers enough.
    template <bool CAREFUL>
    inline void add(const double *x, int64_t j, int64_t w, int64_t n, double *total, int64_t rows) const {
        for (int64_t l = 0; l + 2 <= w; l += 2)
            for (int64_t k = 0; k < n; ++k)
                add_normals<CAREFUL, 2>(x + l * TILE, of(j, k) + l, total + k * TILE, rows);
        if (w % 2)
            for (int64_t k = 0; k < n; ++k)
                add_normals<CAREFUL, 1>(x + (w - 1) * TILE, of(j, k) + w - 1, total + k * TILE, rows);
    }
    Normal *of(int64_t j, int64_t k) const { return at + (j / LANES * ABREAST + k) * LANES; }
};

Status gaussian(Columns c, const double *scale, const double *mean, const double *precision, const double *constant,
                int64_t classes, double *out) {
    int64_t panels = (c.count + LANES - 1) / LANES;
    Scratch parameters(panels * ABREAST * LANES * int64_t(sizeof(Normal))), flags(panels);
    if (!parameters.data || !flags.data) return Status::memory;
    Normals normals = {parameters.as<Normal>(), flags.as<bool>()};
    alignas(64) double x[LANES * TILE] = {}, total[ABREAST * TILE] = {};
    for (int64_t first = 0; first < classes; first += ABREAST) {
        int64_t n = least(ABREAST, classes - first);
        normals.read(c.count, mean, precision, constant, classes, first, n);
        for (int64_t at = 0; at < c.rows; at += TILE) {
            int64_t rows = least(TILE, c.rows - at);
            double *block = out + at * classes + first;
            turn_in(block, classes, n, rows, total, TILE);
            for (int64_t j = 0; j < c.count; j += LANES) {
                int64_t w = least(LANES, c.count - j);
                bool careful = unpack(c, j, w, at, rows, scale, x) || normals.odd[j / LANES];
                if (careful)
                    normals.add<true>(x, j, w, n, total, rows);
                else
                    normals.add<false>(x, j, w, n, total, rows);
            }
            turn_out(block, classes, n, rows, total, TILE);
        }
    }
    return Status::fine;
}

}  // namespace
