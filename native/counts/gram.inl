// Sums of x_i x_j, or w x_i x_j, over some rows of one group and every two columns, exact.
//
// Let |x| < 2^E for the values of a column. A number is cut into slices, integers of at most 22 bits and a sign:
// x = 2^E * sum over s of slice_s * 2^-(22 + 23 s). A product of slices, or of sums of two slices, has at most 46 bits, so
// 2^7 of them add up to an integer of at most 2^53, exact in doubles in whatever order they are added: what is multiplied
// is S_s' S_s, and (S_s + S_t)' (S_s + S_t), from which S_s' S_t + S_t' S_s follows with half the work. With weights,
// w x is cut as well as x, and the products are those of the slices of both. A row with a number that the slices do not
// hold is left out (as zeros) and named.
namespace bayeskit::counts { namespace {

constexpr int64_t GRAM_ROWS = 128, GRAM_TILES = 256, FIRST_BITS = 22, NEXT_BITS = 23, MOST_SLICES = 16;
constexpr int64_t DOWN = 4, ACROSS = LANES == 8 ? 6 : 3;  // factors by vectors of factors whose sums stay in registers
constexpr int64_t GRAM_PANEL = 192;  // columns: a tile of so many stays in the second cache
constexpr double MOST_SLICED = 0x1p22;  // of the first slice, where numbers are below 2^E as was said
constexpr double LEAST_SLICED = 0x1p-800;  // smaller numbers may lose bits while they are cut

inline Whole whole_numbers(Real x) {
#if !defined(SCALAR)
    return __builtin_convertvector(x, Whole);
#else
    return Whole(x);
#endif
}

inline Real round_off(Real x) { return (x + splat(ROUNDER)) - splat(ROUNDER); }

// a * b - h for h = fl(a * b), exactly, in the middle range.
inline Real product_rest(Real a, Real b, Real h) {
#if defined(FUSED)
    return fused(a, b, -h);
#else
    Real s = splat(134217729.0) * a, t = splat(134217729.0) * b, p = s - (s - a), q = t - (t - b), u = a - p, v = b - q;
    return (((p * q - h) + p * v) + u * q) + u * v;
#endif
}

// The slices of a tile of rows: row r of slice s is at data + (s * GRAM_ROWS + r) * step. What lies beyond the columns is 0.
struct Slices {
    double *data;
    int64_t step, count;

    double *of(int64_t s) const { return data + s * GRAM_ROWS * step; }
    void clear(int64_t r) const {
        for (int64_t s = 0; s < count; ++s)
            for (int64_t j = 0; j < step; ++j) of(s)[r * step + j] = 0;
    }
};

// Cuts high + low, which do not overlap; what is left of them says whether bits were lost.
inline Whole cut(Real high, Real low, const Slices &to, double *first) {
    for (int64_t s = 0; s < to.count; ++s) {
        Real h = round_off(high), a = (high - h) * splat(double(1 << NEXT_BITS)), b = low * splat(double(1 << NEXT_BITS));
        store(first + s * GRAM_ROWS * to.step, h);
        high = a + b;
        Real part = high - a;
        low = (a - (high - part)) + (b - part);
    }
    return differs(high, splat(0.0)) | differs(low, splat(0.0));
}

// Adds to sums[i][b], for the factors i of a and b >= from of b, the products of rows: DOWN by V vectors.
template <int V>
inline void multiply_block(const double *a, const double *b, int64_t step, int64_t rows, int64_t *sums, int64_t across) {
    Real sum[DOWN][V];
    for (int i = 0; i < DOWN; ++i)
        for (int v = 0; v < V; ++v) sum[i][v] = splat(0.0);
    for (int64_t r = 0; r < rows; ++r, a += step, b += step) {
        Real x[V];
        for (int v = 0; v < V; ++v) x[v] = load(b + v * LANES);
        for (int i = 0; i < DOWN; ++i) {
            Real y = splat(a[i]);
            for (int v = 0; v < V; ++v) sum[i][v] = multiply_add(y, x[v], sum[i][v]);  // exact with any rounding
        }
    }
    for (int i = 0; i < DOWN; ++i)
        for (int v = 0; v < V; ++v) {
            int64_t *to = sums + i * across + v * LANES;
            store(to, as<Real>(as<Whole>(load(to)) + whole_numbers(sum[i][v])));
        }
}

inline void multiply_blocks(int64_t vectors, const double *a, const double *b, int64_t step, int64_t rows, int64_t *sums,
                            int64_t across) {
    auto run = multiply_block<1>;
    if (vectors == 2) run = multiply_block<2>;
    if (vectors == 3) run = multiply_block<3>;
    if (ACROSS > 3 && vectors == 4) run = multiply_block<(ACROSS > 3 ? 4 : 1)>;
    if (ACROSS > 3 && vectors == 5) run = multiply_block<(ACROSS > 3 ? 5 : 1)>;
    if (ACROSS > 3 && vectors == 6) run = multiply_block<(ACROSS > 3 ? 6 : 1)>;
    run(a, b, step, rows, sums, across);
}

// The products of every two of m factors, i of a and j >= i of b: sums (m, across).
inline void multiply_tile(const double *a, const double *b, int64_t step, int64_t rows, int64_t m, int64_t *sums,
                          int64_t across) {
    for (int64_t panel = 0; panel < m; panel += GRAM_PANEL) {
        int64_t end = least(panel + GRAM_PANEL, m);
        for (int64_t i = 0; i < end; i += DOWN) {
            int64_t before = i < panel ? (panel - i + LANES - 1) / LANES * LANES : 0;  // vectors start at i, not at a panel
            for (int64_t j = i + before; j < end; j += ACROSS * LANES)
                multiply_blocks(least(ACROSS, (end - j + LANES - 1) / LANES), a + i, b + j, step, rows, sums + i * across + j,
                                across);
        }
    }
}

struct Gram {
    Columns c;
    const int64_t *row;
    const double *weights;  // by row of the table, or null
    const int64_t *exponent;
    int64_t weight_exponent;
    Slices plain, heavy;  // of x, and with weights of w x
    Slices both;          // room for sums of two slices
    double *value, *scale;
    int64_t *sums, across;

    int64_t products() const { return weights ? plain.count * heavy.count : plain.count * (plain.count + 1) / 2; }
    int64_t *sums_of(int64_t product) const { return sums + product * across * across; }

    // 2^(22 - E) may be no double, but is the product of two.
    void scales() {
        for (int64_t j = 0; j < plain.step; ++j) {
            int64_t by = j < c.count ? FIRST_BITS - most(-1100, least(1100, exponent[j])) : 0;
            scale[j] = double_of(uint64_t(1023 + by / 2) << 52);
            scale[plain.step + j] = double_of(uint64_t(1023 + (by - by / 2)) << 52);
        }
    }
    // The numbers of n rows, a row at a time where columns lie side by side.
    void read(int64_t from, int64_t n) {
        for (int64_t j = 0, w; j < c.count; j += w) {
            w = adjacent(c, j, c.count);
            if (w >= LANES)
                for (int64_t r = 0; r < n; ++r)
                    __builtin_memcpy(value + r * plain.step + j, (const char *) c.address[j] + row[from + r] * c.stride[j],
                                     size_t(8 * w));
            else
                for (int64_t k = j; k < j + w; ++k)
                    for (int64_t r = 0; r < n; ++r)
                        value[r * plain.step + k] = number_at(c.address[k], row[from + r] * c.stride[k]);
        }
    }
    // Cuts row r of the tile; false, and zeros, if the slices do not hold it.
    bool cut_row(int64_t r, double weight) {
        Whole bad = splat(int64_t(0));
        Real w = splat(weight), zero = splat(0.0);
        for (int64_t j = 0; j < c.count; j += LANES) {
            Real x = load(value + r * plain.step + j);
            x = keep(equal(x, x), x);
            Real y = x * load(scale + j) * load(scale + plain.step + j);
            bad |= differs(x, zero) & less(magnitude(y), splat(LEAST_SLICED));
            bad |= less(splat(MOST_SLICED), magnitude(y));
            bad |= cut(y, zero, plain, plain.data + r * plain.step + j);
            if (!weights) continue;
            Real h = y * w;
            bad |= differs(y, zero) & less(magnitude(h), splat(LEAST_SLICED));
            bad |= less(splat(MOST_SLICED), magnitude(h));
            bad |= cut(h, product_rest(y, w, h), heavy, heavy.data + r * heavy.step + j);
        }
        if (!any(bad)) return true;
        plain.clear(r);
        if (weights) heavy.clear(r);
        return false;
    }
    void multiply(int64_t rows) {
        int64_t at = 0;
        for (int64_t s = 0; s < plain.count; ++s)
            for (int64_t t = weights ? 0 : s; t < (weights ? heavy.count : plain.count); ++t) {
                const double *a = plain.of(s), *b = weights ? heavy.of(t) : a;
                if (!weights && t != s) {
                    for (int64_t i = 0; i < rows * plain.step; i += LANES)
                        store(both.data + i, load(a + i) + load(plain.of(t) + i));
                    a = b = both.data;
                }
                multiply_tile(a, b, plain.step, rows, c.count, sums_of(at++), across);
            }
    }
    // Moves the sums to the limbs of a group: of x_i x_j, the upper triangle row by row.
    bool fold(Sums to, int64_t group) {
        bool good = true;
        int64_t k = plain.count, m = c.count, cell = group * (m * (m + 1) / 2);
        auto at = [&](int64_t s, int64_t t) { return s * k - s * (s - 1) / 2 + (t - s); };  // s <= t
        for (int64_t i = 0; i < m; ++i)
            for (int64_t j = i; j < m; ++j, ++cell) {
                int64_t place = i * across + j, total[2 * MOST_SLICES] = {};
                for (int64_t s = 0; s < k && weights; ++s)
                    for (int64_t t = 0; t < heavy.count; ++t) total[s + t] += sums_of(s * heavy.count + t)[place];
                for (int64_t s = 0; s < k && !weights; ++s) {
                    int64_t alone = sums_of(at(s, s))[place];
                    total[2 * s] += alone;
                    for (int64_t t = 0; t < k; ++t)
                        if (t != s) total[s + t] += (t > s ? sums_of(at(s, t))[place] : 0) - alone;
                }
                for (int64_t u = 0; u < (weights ? k + heavy.count : 2 * k) - 1; ++u)
                    if (total[u])
                        good &= add(to, cell, total[u],
                                    exponent[i] + exponent[j] + weight_exponent - 2 * FIRST_BITS - NEXT_BITS * u);
            }
        for (int64_t i = 0; i < products() * across * across; ++i) sums[i] = 0;
        return good;
    }
};

// Adds rows of one group; lost says which are left to be added: all, if half of the first do not fit.
Status gram_by_slices(Columns c, const int64_t *row, int64_t n, const double *weights, const int64_t *exponent,
                      int64_t weight_exponent, int64_t slices, int64_t heavy_slices, Sums to, int64_t group, bool *lost) {
    int64_t m = c.count, step = (m + LANES - 1) / LANES * LANES + 8, tile = GRAM_ROWS * step, across = step + 8;
    Gram g = {c,
              row,
              weights,
              exponent,
              weights ? weight_exponent : 0,
              {nullptr, step, slices},
              {nullptr, step, weights ? heavy_slices : 0},
              {nullptr, step, 1},
              nullptr,
              nullptr,
              nullptr,
              across};
    int64_t cells = g.products() * across * across;
    Scratch numbers(8 * ((slices + g.heavy.count + 2) * tile + 2 * step + 8)), counts(8 * cells);
    if (!numbers.data || !counts.data) return Status::memory;
    g.plain.data = numbers.as<double>();
    g.heavy.data = g.plain.data + slices * tile;
    g.both.data = g.heavy.data + g.heavy.count * tile;
    g.value = g.both.data + tile;
    g.scale = g.value + tile;
    g.sums = counts.as<int64_t>();
    for (int64_t i = 0; i < (slices + g.heavy.count + 2) * tile; ++i) g.plain.data[i] = 0;
    for (int64_t i = 0; i < cells; ++i) g.sums[i] = 0;
    g.scales();
    bool good = true;
    double unit = double_of(uint64_t(1023 - most(-1000, least(1000, g.weight_exponent))) << 52);
    for (int64_t from = 0, tiles = 0; from < n; from += GRAM_ROWS) {
        int64_t now = least(GRAM_ROWS, n - from), missed = 0;
        g.read(from, now);
        for (int64_t r = 0; r < now; ++r)
            missed += lost[from + r] = !g.cut_row(r, weights ? weights[row[from + r]] * unit : 1.0);
        if (from == 0 && 2 * missed > now) {  // more slices are needed
            for (int64_t r = 0; r < n; ++r) lost[r] = true;
            break;
        }
        g.multiply(now);
        if (++tiles % GRAM_TILES == 0) good &= g.fold(to, group);
    }
    good &= g.fold(to, group);
    return good ? Status::fine : Status::window;
}

}}  // namespace bayeskit::counts
