// What the stored values of a sparse matrix are like: what decides how they are added up.
namespace bayeskit::sparse { namespace {

// Whether all numbers are at least 0 and below the limit.
bool indices_within(const int32_t *number, int64_t n, int64_t limit) {
    uint32_t most = 0;  // a negative number is a large one
    for (int64_t k = 0; k < n; ++k) {
        uint32_t v = uint32_t(number[k]);
        most = v > most ? v : most;
    }
    return !n || int64_t(most) < limit;
}

// Smallest and largest above 0 (infinite and 0 if there is none), whether all that are above 0 are whole, and how many
// are at least 0.
struct Seen {
    Real least = splat(INFINITE), most = splat(0.0);
    Whole good = splat(int64_t(0)), broken = good;

    inline void look(Real v) {
        constexpr double STEP = 4503599627370496.0;  // 2^52: doubles from here on are whole
        Whole above = less(splat(0.0), v), there = above | equal(v, splat(0.0));
        least = smaller(select(above, v, splat(INFINITE)), least);
        most = larger(v, most);
        good -= there;
        Real small = keep(less(v, splat(STEP)), v);
        broken |= differs((small + splat(STEP)) - splat(STEP), small);
    }
};

void value_range(const double *x, int64_t n, double *lowest, double *highest, bool *whole, int64_t *good) {
    constexpr int APART = 4;  // so that no step waits for the one before
    Seen seen[APART];
    int64_t k = 0;
    for (; k + APART * LANES <= n; k += APART * LANES)
        for (int i = 0; i < APART; ++i) seen[i].look(load(x + k + i * LANES));
    int64_t spare = 0;
    for (; k < n; k += LANES) {
        seen[0].look(take(x, k, n, 0.0));
        spare += k + LANES > n ? k + LANES - n : 0;
    }
    *lowest = INFINITE, *highest = 0, *whole = true, *good = -spare;
    for (const Seen &s : seen)
        for (int i = 0; i < LANES; ++i) {
            *lowest = lane(s.least, i) < *lowest ? lane(s.least, i) : *lowest;
            *highest = lane(s.most, i) > *highest ? lane(s.most, i) : *highest;
            *good += lane(s.good, i);
            *whole &= lane(s.broken, i) == 0;
        }
}

// Adds each value above 0 to the pair of its column: what is above the last place of `big`, and what is below. Marks the
// sixteen columns it is among.
void add_high_low(const int32_t *column, const double *value, int64_t n, double big, double *pair, uint8_t *mark) {
    const Real by = splat(big), nothing = splat(0.0);
    double above[LANES], below[LANES];
    for (int64_t k = 0; k < n; k += LANES) {
        Real x = take(value, k, n, 0.0);
        x = keep(less(nothing, x), x);
        Real high = (x + by) - by;
        store(above, high);
        store(below, x - high);
        int count = int(least(LANES, n - k));
        for (int i = 0; i < count; ++i) {
            double *to = pair + 2 * int64_t(column[k + i]);
            to[0] += above[i];
            to[1] += below[i];
            mark[column[k + i] >> 4] = 1;
        }
    }
}

}}  // namespace bayeskit::sparse
