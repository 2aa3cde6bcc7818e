// The range of each column: what decides how wide its exact sums must be.
namespace {

// Range of one lane per column. The smallest nonzero magnitude is kept as its predecessor: bits - 1 of a zero is
// a NaN, which the minimum passes over, so zeros cost nothing.
struct Range {
    Real before = splat(INFINITE), largest = splat(0.0);
    Whole missing = splat(int64_t(0));  // minus the number of NaN

    inline void see(Real x) {
        Real a = magnitude(x);
        before = smaller(as<Real>(as<Whole>(a) - splat(int64_t(1))), before);
        largest = larger(a, largest);
        missing += differs(x, x);
    }
    double smallest(int i) const {
        double b = lane(before, i);
        return b < INFINITE ? double_of(bits_of(b) + 1) : INFINITE;
    }
};

struct Extent {
    double smallest = INFINITE, largest = 0;
    int64_t missing = 0;

    void see(double smaller, double larger, int64_t holes) {
        smallest = smaller < smallest ? smaller : smallest;
        largest = larger > largest ? larger : largest;
        missing += holes;
    }
    void see(const Range &r, int i) { see(r.smallest(i), lane(r.largest, i), -lane(r.missing, i)); }
    void see(double x) {
        double a = __builtin_fabs(x);
        see(a > 0 ? a : INFINITE, a, x != x);
    }
};

// How many columns from j on lie side by side in memory, with one stride.
inline int64_t adjacent(Columns c, int64_t j) {
    int64_t w = 1;
    while (j + w < c.count && c.stride[j + w] == c.stride[j] && c.address[j + w] == c.address[j] + 8 * uint64_t(w))
        ++w;
    return w;
}

// One column of any stride.
inline Extent column_extent(uint64_t address, int64_t stride, int64_t rows) {
    Extent e;
    int64_t i = 0;
    if (stride == 8) {
        Range r[4];  // independent, so that no step waits for the one before
        for (; i + 4 * LANES <= rows; i += 4 * LANES)
            for (int k = 0; k < 4; ++k) r[k].see(load((const char *) address + 8 * (i + k * LANES)));
        for (int k = 0; k < 4; ++k)
            for (int l = 0; l < LANES; ++l) e.see(r[k], l);
    }
    for (; i < rows; ++i) e.see(number_at(address, i * stride));
    return e;
}

void scan(Columns c, double *out) {
    auto write = [&](int64_t j, const Extent &e) {
        out[j] = e.smallest;
        out[c.count + j] = e.largest;
        out[2 * c.count + j] = double(e.missing);
    };
    for (int64_t j = 0, w; j < c.count; j += w) {
        w = adjacent(c, j);
        if (w < LANES || LANES == 1) {
            for (int64_t k = j; k < j + w; ++k) write(k, column_extent(c.address[k], c.stride[k], c.rows));
            continue;
        }
        // Rows of many columns: GROUP vectors side by side, the last ones overlapping what was done.
        constexpr int GROUP = LANES == 8 ? 4 : 3;
        w = least(w, GROUP * LANES);
        if (c.count - j - w > 0 && c.count - j - w < LANES && w > LANES) w -= LANES;
        const char *at[GROUP];
        int64_t first[GROUP];
        int n = int((w + LANES - 1) / LANES);
        for (int k = 0; k < GROUP; ++k) {
            first[k] = k + 1 < n ? k * LANES : w - LANES;
            at[k] = (const char *) c.address[j] + 8 * first[k];
        }
        Range r[GROUP];
        int64_t stride = c.stride[j];
        switch (n) {
#define ROWS_OF(N)                                                                                                     \
    case N:                                                                                                            \
        for (int64_t i = 0; i < c.rows; ++i)                                                                           \
            for (int k = 0; k < N; ++k) r[k].see(load(at[k] + i * stride));                                            \
        break;
            ROWS_OF(1) ROWS_OF(2) ROWS_OF(3) ROWS_OF(4)
#undef ROWS_OF
        }
        for (int k = 0; k < n; ++k)
            for (int l = 0; l < LANES; ++l) {
                Extent e;
                e.see(r[k], l);
                write(j + first[k] + l, e);
            }
    }
}

}  // namespace
