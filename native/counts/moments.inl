// Exact sums of w, w x, w x^2 by group and column.
//
// The fast way, unweighted. Rows are taken in spans; within a span they are put in order of their group, and
// LANES columns are added at once, a column to a lane. Let |x| < 2^E for the values of a column in the span.
// Adding an anchor A and taking it away splits a number without error: with t = fl(x + A), hi = t - A is a
// multiple of the ulp of A and lo = x - hi is exact. All t have A's exponent, so their bit patterns are integers
// that count ulps: bits(t) - bits(A) = hi / ulp(A), and sums of hi are sums of 64-bit integers.
//
//   x  :  A1 = 1.5 * 2^(E+1), ulp 2^(E-51).     |hi| <= 2^51 ulps.       |lo| <= 2^(E-52).
//   x^2:  h = fl(x^2) < 2^2E, l = x^2 - h by FMA, |l| <= 2^(2E-54), both exact.
//   h  :  A2 = 2^2E, ulp 2^(2E-52).             0 <= hi < 2^52 ulps.     |lo| <= 1.5 * 2^(2E-53).
//   l  :  A3 = 1.5 * 2^(2E-53), ulp 2^(2E-105). |hi| <= 2^51 ulps.       |lo| <= 2^(2E-106).
//
// (With FMA t = fl(x^2 + A2), not fl(h + A2): hi is the multiple next to x^2, so that h - hi may be |l| more than
// half an ulp; it is a multiple of the ulp of h all the same. Any such split gives the same sum.)
//
// At most 2^11 rows are added together, so the integers stay below 2^63. The sums of lo are plain doubles, and
// exact as long as they are integers of at most 53 bits in units of what all their terms are multiples of. Let
// every x be 0 or |x| >= 2^(E-D). Then x is a multiple of 2^(E-D-52), h of the ulp of 2^(2E-2D), 2^(2E-2D-52), and
// l of 2^(2E-2D-104). Bits between the units and the sums of 2^11 terms:
//   lo of x: (E-52+11) - (E-D-52) = 11 + D.    lo of h: (2E-53+1+11) - (2E-2D-52) = 11 + 2D.
//   lo of l: (2E-106+11) - (2E-2D-104) = 9 + 2D.
// D = 21 is the largest that keeps all within 53. Smaller values are left out (as zeros) and added in another round
// with E - 21; what is left after some rounds, or lies where squares overflow or lose bits, goes in by integers.
namespace bayeskit::counts { namespace {

constexpr int64_t TOGETHER = 2048;               // rows whose sums are exact in one accumulator
constexpr int DEPTH = 21;                        // D
constexpr int LOWEST = -400, HIGHEST = 480;      // E between these: x^2 < 2^960, l a multiple of 2^-946
constexpr int ROUNDS = 4;
constexpr int PANELS = 64 / LANES;               // seen together: 64 columns

// 2^e as a double, for -1022 <= e <= 1023.
inline double power_of_two(int64_t e) { return double_of(uint64_t(e + 1023) << 52); }

// The anchors of the lanes, and which magnitudes [lower, upper) they take.
struct Anchors {
    Real first, second, third, lower, upper;
    int64_t exponent[LANES];

    void set(int l, int64_t e, bool used) {
        exponent[l] = e;
        double *at[] = {(double *) &first + l, (double *) &second + l, (double *) &third + l, (double *) &lower + l,
                        (double *) &upper + l};
        *at[0] = 1.5 * power_of_two(e + 1);
        *at[1] = power_of_two(2 * e);
        *at[2] = 1.5 * power_of_two(2 * e - 53);
        *at[3] = used ? power_of_two(e - DEPTH) : INFINITE;
        *at[4] = used ? power_of_two(e) : INFINITE;
    }
};

struct Partial {
    Bits first = {}, second = {}, third = {};
    Real first_low = {}, second_low = {}, third_low = {};
    Whole missing = {};  // minus the number of NaN
};

// What may be in the rows: numbers in [lower, upper) and zeros only; NaN as well; anything.
enum class Rows { plain, missing, any };

// Memory of the next span, asked for while this one is added: reading and adding then take place together.
struct Ahead {
    const char *at;
    int64_t step;
};

// Adds the rows of one group; what does not belong here counts as zero.
template <Rows ROWS>
inline Partial accumulate(const Panel &p, const int32_t *order, int64_t n, const Anchors &a, Ahead &ahead) {
    Partial s;
    const char *next = ahead.at;
    for (int64_t k = 0; k < n; ++k) {
        __builtin_prefetch(next, 0, 2);
        next += ahead.step;
        Real x = load(p.data + order[k] * p.stride);
        if (ROWS != Rows::plain) s.missing += differs(x, x);
        if (ROWS == Rows::missing) x = keep(equal(x, x), x);
        if (ROWS == Rows::any) {
            Real m = magnitude(x);
            x = keep(less(m, a.upper) & ~less(m, a.lower), x);
        }
        Real t = sum_by_multiplier(x, a.first);
        s.first += as<Bits>(t);
        s.first_low = sum_by_multiplier(x - (t - a.first), s.first_low);
        Real h = x * x, l = square_rest(x, h);
        t = multiply_add(x, x, a.second);
        s.second += as<Bits>(t);
        s.second_low = sum_by_multiplier(h - (t - a.second), s.second_low);
        t = l + a.third;
        s.third += as<Bits>(t);
        s.third_low = sum_by_multiplier(l - (t - a.third), s.third_low);
    }
    ahead.at = next;
    // Every row also added the bits of the anchors; unsigned, where wrapping round is defined.
    s.first -= as<Bits>(a.first) * splat_bits(uint64_t(n));
    s.second -= as<Bits>(a.second) * splat_bits(uint64_t(n));
    s.third -= as<Bits>(a.third) * splat_bits(uint64_t(n));
    return s;
}

inline bool fold(const Partial &s, const Anchors &a, int l, int64_t cell, Sums first, Sums second) {
    int64_t e = a.exponent[l];
    bool good = add(first, cell, int64_t(lane(s.first, l)), e - 51);
    good &= add(first, cell, lane(s.first_low, l));
    good &= add(second, cell, lane(s.second, l), false, 2 * e - 52);
    good &= add(second, cell, lane(s.second_low, l));
    good &= add(second, cell, int64_t(lane(s.third, l)), 2 * e - 105);
    good &= add(second, cell, lane(s.third_low, l));
    return good;
}

// Rows of a span in the order of their groups: group g has order[start[g] .. start[g+1]).
struct Order {
    int32_t *row;
    int32_t *start;
    int64_t groups;

    void sort(const int32_t *group, int64_t n) {
        for (int64_t g = 0; g < groups + 2; ++g) start[g] = 0;
        for (int64_t i = 0; i < n; ++i) ++start[group[i] + 2];
        start[1] = 0;  // rows of no group
        for (int64_t g = 2; g < groups + 2; ++g) start[g] += start[g - 1];
        // Now start[g+1] is where g begins; placing its rows moves it to where g ends.
        for (int64_t i = 0; i < n; ++i)
            if (group[i] >= 0) row[start[group[i] + 1]++] = int32_t(i);
    }
};

struct Target {
    Sums present, first, second;
    int64_t columns;
};

// What the rounds left: magnitudes below bound (all, where bound is NaN), one by one.
inline bool add_rest(const Panel &p, const Order &o, const double *bound, const Target &to) {
    bool good = true;
    for (int64_t g = 0; g < o.groups; ++g)
        for (int32_t k = o.start[g]; k < o.start[g + 1]; ++k)
            for (int l = p.from; l < p.to; ++l) {
                double x = number_at(uint64_t(p.data), o.row[k] * p.stride + 8 * l), a = __builtin_fabs(x);
                if (a > 0 && !(a >= bound[l])) good &= add_value(to.first, to.second, g * to.columns + p.first + l, x);
            }
    return good;
}

// The ranges of some panels of one stride, a few hundred rows at a time: this is also what brings a span into the
// cache, in the order of memory, before it is read in the order of groups.
inline void see_panels(const Panel *p, Range *range, int n, int64_t rows) {
    const char *at[PANELS];
    for (int64_t i = 0, m; i < rows; i += m) {
        m = least(rows_together(n * LANES), rows - i);
        for (int k = 0; k < n; ++k) at[k] = p[k].data + i * p[k].stride;
        see_all(range, at, n, p->stride, m);
    }
}

inline bool add_panel(const Panel &p, const Range &range, const Order &o, const Target &to, Ahead &ahead) {
    Anchors a;
    double smallest[LANES], bound[LANES];
    bool more = false, rest = false;
    Rows kind = Rows::plain;
    for (int l = 0; l < LANES; ++l) {
        double largest = range.largest(l);
        int64_t e = largest > 0 ? int64_t(bits_of(largest) >> 52) - 1022 : 0;
        bool used = l >= p.from && l < p.to, middle = e >= LOWEST && e <= HIGHEST;
        a.set(l, middle ? e : 0, middle);
        smallest[l] = used && middle ? range.smallest(l) : INFINITE;
        bound[l] = used && !middle ? __builtin_nan("") : lane(a.lower, l);
        rest |= used && !middle;
        if (used && (!middle || smallest[l] < lane(a.lower, l))) kind = Rows::any;
        else if (used && lane(range.missing, l) && kind == Rows::plain) kind = Rows::missing;
    }
    bool good = true;
    for (int round = 0; round < ROUNDS; ++round) {
        for (int64_t g = 0; g < o.groups; ++g)
            for (int64_t k = o.start[g], n; k < o.start[g + 1]; k += n) {
                n = least(TOGETHER, o.start[g + 1] - k);
                auto run = kind == Rows::plain     ? accumulate<Rows::plain>
                           : kind == Rows::missing ? accumulate<Rows::missing>
                                                   : accumulate<Rows::any>;
                Partial s = run(p, o.row + k, n, a, ahead);
                for (int l = p.from; l < p.to; ++l) {
                    int64_t cell = g * to.columns + p.first + l;
                    if (round == 0) good &= add(to.present, cell, n + lane(s.missing, l), 0);
                    good &= fold(s, a, l, cell, to.first, to.second);
                }
            }
        more = false;
        for (int l = 0; l < LANES; ++l) {
            bool deeper = smallest[l] < bound[l] && a.exponent[l] - DEPTH >= LOWEST;
            rest |= smallest[l] < bound[l] && !deeper;
            more |= deeper;
            a.set(l, deeper ? a.exponent[l] - DEPTH : 0, deeper);
            if (deeper && round + 1 < ROUNDS) bound[l] = lane(a.lower, l);
        }
        kind = Rows::any;
        if (!more) break;
    }
    return rest || more ? good & add_rest(p, o, bound, to) : good;
}

Status add_moments(Columns c, const int32_t *groups, const double *weights, int64_t n_groups, Sums present, Sums first,
                   Sums second) {
    Status status = check_rows(groups, weights, c.rows, n_groups);
    if (status != Status::fine) return status;
    bool good = true;
    if (weights) {
        for (int64_t i = 0; i < c.rows; ++i) {
            if (groups[i] < 0) continue;
            Parts w = parts(weights[i]);
            if (!w.mantissa) continue;
            for (int64_t j = 0; j < c.count; ++j) {
                double x = number_at(c.address[j], i * c.stride[j]);
                if (x == x) good &= add_weighted(present, first, second, groups[i] * c.count + j, x, w);
            }
        }
        return good ? Status::fine : Status::window;
    }
    // A span holds about 64 rows of each group, so that folding costs little, but stays in the cache if it can.
    int64_t span = least(c.rows, least(65536, most(TOGETHER, 64 * n_groups)));
    Scratch rows(4 * span), starts(4 * (n_groups + 2)), packed(8 * LANES * span);
    if (!rows.data || !starts.data || !packed.data) return Status::memory;
    Order order = {rows.as<int32_t>(), starts.as<int32_t>(), n_groups};
    Target to = {present, first, second, c.count};
    for (int64_t from = 0; from < c.rows; from += span) {
        int64_t n = least(span, c.rows - from);
        order.sort(groups + from, n);
        int64_t row = c.count ? c.stride[0] : 0, lines = (c.count + LANES - 1) / LANES;
        bool next = from + n < c.rows && row > 0 && row <= 16 * c.count;
        Ahead ahead = {(const char *) (next ? c.address[0] + (from + n) * row : uint64_t(groups)), next ? row / lines : 0};
        for (int64_t j = 0; j < c.count;) {
            Panel p[PANELS];
            Range range[PANELS];
            int k = 0;
            do {
                p[k] = panel_at(c, j, from, n, packed.as<double>());
                j = p[k].first + p[k].to;
                ++k;
            } while (k < PANELS && adjacent_panel(c, j, p[k - 1]));
            see_panels(p, range, k, n);
            for (int i = 0; i < k; ++i) good &= add_panel(p[i], range[i], order, to, ahead);
        }
    }
    return good ? Status::fine : Status::window;
}

}}  // namespace bayeskit::counts
