// The range of each column: what decides how wide its exact sums must be, and which values were seen.
namespace bayeskit::counts { namespace {

// The largest magnitude between the least and the greatest value; 0 where there is none.
inline double largest_of(double low, double high) { return low > high ? 0 : high > -low ? high : -low; }

// Range of one lane per column. The smallest nonzero magnitude is kept as its predecessor: bits - 1 of a zero is
// a NaN, which the minimum passes over, so zeros cost nothing.
struct Range {
    Real before = splat(INFINITE), low = splat(INFINITE), high = splat(-INFINITE);
    Whole missing = splat(int64_t(0));  // minus the number of NaN

    inline void see(Real x) {
        before = smaller(as<Real>(as<Whole>(magnitude(x)) - splat(int64_t(1))), before);
        low = smaller(x, low);
        high = larger(x, high);
        missing += differs(x, x);
    }
    double smallest(int i) const {
        double b = lane(before, i);
        return b < INFINITE ? double_of(bits_of(b) + 1) : INFINITE;
    }
    double largest(int i) const { return largest_of(lane(low, i), lane(high, i)); }
};

struct Extent {
    double smallest = INFINITE, low = INFINITE, high = -INFINITE;  // smallest nonzero magnitude; least and greatest value
    int64_t missing = 0;

    void see(double nonzero, double least, double greatest, int64_t absent) {
        smallest = nonzero < smallest ? nonzero : smallest;
        low = least < low ? least : low;
        high = greatest > high ? greatest : high;
        missing += absent;
    }
    void see(const Range &r, int i) { see(r.smallest(i), lane(r.low, i), lane(r.high, i), -lane(r.missing, i)); }
    void see(double x) {
        double a = __builtin_fabs(x);
        see(a > 0 ? a : INFINITE, x, x, x != x);
    }
};

// One column of any stride.
inline Extent column_extent(uint64_t address, int64_t stride, int64_t rows) {
    Extent e;
    Range r[4];  // independent, so that no step waits for the one before
    int64_t i = 0;
    const char *at = (const char *) address;
    if (stride == 8)
        for (; i + 4 * LANES <= rows; i += 4 * LANES)
            for (int k = 0; k < 4; ++k) r[k].see(load(at + 8 * (i + k * LANES)));
    else
        for (; i + 4 * LANES <= rows; i += 4 * LANES)
            for (int k = 0; k < 4; ++k) r[k].see(load_apart(at + (i + k * LANES) * stride, stride));
    for (int k = 0; k < 4; ++k)
        for (int l = 0; l < LANES; ++l) e.see(r[k], l);
    for (; i < rows; ++i) e.see(number_at(address, i * stride));
    return e;
}

// N vectors side by side, down some rows: enough chains at once that none is waited for.
template <int N> inline void see_rows(Range *r, const char *const *at, int64_t stride, int64_t rows) {
    Range own[N];
    for (int k = 0; k < N; ++k) own[k] = r[k];
    for (int64_t i = 0; i < rows; ++i)
        for (int k = 0; k < N; ++k) own[k].see(load(at[k] + i * stride));
    for (int k = 0; k < N; ++k) r[k] = own[k];
}

// So many rows of some columns that they stay in the nearest cache from the first vector to the last; wide rows one
// by one, since the hardware foresees a walk through memory, but not jumps.
inline int64_t rows_together(int64_t columns) { return columns > 48 ? 1 : 2048 / columns; }

inline void see_all(Range *r, const char *const *at, int n, int64_t stride, int64_t rows) {
    int k = 0;
    for (; k + 3 <= n; k += 3) see_rows<3>(r + k, at + k, stride, rows);
    if (k + 2 == n) see_rows<2>(r + k, at + k, stride, rows);
    if (k + 1 == n) see_rows<1>(r + k, at + k, stride, rows);
}

// w >= LANES adjacent columns by rows; the last vector overlaps the one before, since a range may be seen twice.
constexpr int64_t SCAN_COLUMNS = 512;

inline void scan_rows(Columns c, int64_t j, int64_t w, Extent *out) {
    constexpr int MOST = SCAN_COLUMNS / LANES;
    Range r[MOST];
    const char *at[MOST];
    int64_t stride = c.stride[j];
    int n = int((w + LANES - 1) / LANES);
    auto first = [&](int k) { return least(int64_t(k) * LANES, w - LANES); };
    for (int64_t from = 0, rows; from < c.rows; from += rows) {
        rows = least(rows_together(w), c.rows - from);
        for (int k = 0; k < n; ++k) at[k] = (const char *) c.address[j] + 8 * first(k) + from * stride;
        see_all(r, at, n, stride, rows);
    }
    for (int k = 0; k < n; ++k)
        for (int l = 0; l < LANES; ++l) {
            out[first(k) + l] = Extent();
            out[first(k) + l].see(r[k], l);
        }
}

void column_ranges(Columns c, double *out) {
    Extent found[SCAN_COLUMNS];
    for (int64_t j = 0, w; j < c.count; j += w) {
        w = adjacent(c, j, SCAN_COLUMNS);
        if (w >= LANES && LANES > 1) scan_rows(c, j, w, found);
        else
            for (int64_t k = 0; k < w; ++k) found[k] = column_extent(c.address[j + k], c.stride[j + k], c.rows);
        for (int64_t k = 0; k < w; ++k) {
            const Extent &e = found[k];
            auto row = [&](RangeRow::Row i) -> double & { return out[i * c.count + j + k]; };
            row(RangeRow::SMALLEST) = e.smallest;
            row(RangeRow::LARGEST) = largest_of(e.low, e.high);
            row(RangeRow::MISSING) = double(e.missing);
            row(RangeRow::LEAST) = e.low;
            row(RangeRow::GREATEST) = e.high;
        }
    }
}

}}  // namespace bayeskit::counts
