// Means and deviations from exact sums: about 100 bits give a double, integers say whether it is the nearest.
#include <algorithm>
#include "bindings.h"
#include "settle.h"

namespace {

// An unevaluated sum of two doubles near 1. No FMA: the same bits on every machine.
struct Double2 {
    double high, low;
};

inline Double2 fast_sum(double a, double b) {  // |a| >= |b|
    double s = a + b;
    return {s, b - (s - a)};
}

inline Double2 product(double a, double b) {  // Dekker: halves of 26 bits
    auto split = [](double x) {
        double t = 134217729.0 * x, high = t - (t - x);
        return Double2{high, x - high};
    };
    Double2 x = split(a), y = split(b);
    double p = a * b;
    return {p, ((x.high * y.high - p) + x.high * y.low + x.low * y.high) + x.low * y.low};
}

inline Double2 quotient(Double2 a, Double2 b) {
    double q = a.high / b.high;
    Double2 p = product(q, b.high);
    double rest = (((a.high - p.high) - p.low) + a.low) - q * b.low;
    return fast_sum(q, rest / b.high);
}

inline Double2 root(Double2 a) {
    double s = std::sqrt(a.high);
    Double2 p = product(s, s);
    double rest = ((a.high - p.high) - p.low) + a.low;
    return fast_sum(s, rest / (2 * s));
}

// The leading 106 bits of m as a number in [1, 2), and the power of two it was divided by.
inline Double2 leading(const Magnitude &m, int64_t &exponent) {
    int64_t bits = m.bits();
    exponent = bits - 1;
    return fast_sum(std::ldexp(double(m.slice(bits - 53, 53)), -52),
                    std::ldexp(double(m.slice(bits - 106, 53)), -105));
}

// (high + low) * 2^exponent, rounded once: a subnormal result is rounded from all the bits.
inline double scaled(Double2 x, int64_t exponent, Magnitude &work) {
    int e;
    double m = std::frexp(x.high, &e);  // x.high = m * 2^e, m in [1/2, 1)
    if (exponent + e > 1024) return INFINITY;
    if (exponent + e >= -1021) return std::ldexp(x.high, int(exponent));
    if (exponent + e < -1080) return 0.0;
    // 2^53 m is an integer and |low| at most half of one: 64 more bits hold what low says.
    uint64_t whole = uint64_t(std::ldexp(m, 53));
    int64_t part = int64_t(std::ldexp(x.low, 53 + 62 - e));
    whole -= part < 0;
    uint64_t rest = uint64_t(part) & ((uint64_t(1) << 62) - 1);  // whole * 2^62 + rest
    uint64_t low = (whole << 62) | rest, high = whole >> 2;
    work.word = {uint32_t(low), uint32_t(low >> 32), uint32_t(high), uint32_t(high >> 32)};
    work.length = 4;
    work.negative = false;
    work.trim();
    return nearest(work, exponent + e - 53 - 62);
}

// N = a * b - c * c, with the limb positions of a, b, c; false if negative.
struct Spread {
    std::vector<uint32_t> plus, minus;
    Magnitude n;
    int64_t low = 0;

    bool compute(const Magnitude &a, int64_t low_a, const Magnitude &b, int64_t low_b, const Magnitude &c,
                 int64_t low_c) {
        int64_t low_plus = low_a + low_b, low_minus = 2 * low_c;
        low = std::min(low_plus, low_minus);
        int64_t size = std::max(low_plus + a.length + b.length, low_minus + 2 * c.length) - low + 1;
        plus.assign(size_t(size), 0);
        minus.assign(size_t(size), 0);
        multiply(a.word.data(), int(a.length), b.word.data(), int(b.length), plus.data() + (low_plus - low));
        multiply(c.word.data(), int(c.length), c.word.data(), int(c.length), minus.data() + (low_minus - low));
        n.word.resize(size_t(size));
        int64_t borrow = 0;
        for (size_t i = 0; i < size_t(size); ++i) {
            int64_t v = int64_t(plus[i]) - int64_t(minus[i]) + borrow;
            n.word[i] = uint32_t(uint64_t(v) & MASK32);
            borrow = v >> 32;
        }
        n.length = size;
        n.trim();
        return borrow == 0;
    }
};

using Result = std::tuple<Array<double, 2>, Array<double, 2>, Array<bool, 2>>;

Result finish(Input<int64_t, 3> present, int64_t low0, Input<int64_t, 3> first, int64_t low1,
              Input<int64_t, 3> second, int64_t low2, Input<int64_t, 1> shift) {
    Sums s0 = sums_of(present, low0), s1 = sums_of(first, low1), s2 = sums_of(second, low2);
    size_t groups = present.shape(0), columns = present.shape(1);
    require(first.shape(0) == groups && second.shape(0) == groups, "sums differ in groups");
    require(first.shape(1) == columns && second.shape(1) == columns && shift.shape(0) == columns,
            "sums and shift differ in columns");
    Owned<double, 2> mean({groups, columns}), deviation({groups, columns});
    Owned<bool, 2> sound({groups, columns});
    const int64_t *shifts = shift.data();
    {
        nb::gil_scoped_release free;
        Magnitude weight, sum, squares, work, bound, squared;
        std::vector<int64_t> limbs;
        Spread spread;
        for (size_t c = 0; c < groups * columns; ++c) {
            int64_t at = int64_t(c);
            weight.read(s0.limb + at * s0.length, s0.length, limbs);
            sum.read(s1.limb + at * s1.length, s1.length, limbs);
            squares.read(s2.limb + at * s2.length, s2.length, limbs);
            bool good = !weight.negative && !squares.negative;
            if (!weight.length) {
                sound.data[c] = good && !sum.length && !squares.length;
                continue;
            }
            good &= spread.compute(weight, low0, squares, low2, sum, low1);
            sound.data[c] = good;
            if (weight.negative) continue;
            int64_t e0, e1, en, by = std::clamp<int64_t>(shifts[c % columns], -200000, 200000);
            Double2 w = leading(weight, e0);
            e0 += 32 * low0;
            if (sum.length) {
                Double2 s = leading(sum, e1);
                double near = scaled(quotient(s, w), e1 + 32 * low1 - e0 + by, work);
                double x = settled(near, [&](uint64_t t, int64_t e) {  // S1 / S0 against t
                    times(weight, t, bound);
                    return compare(sum, 32 * low1 + by, bound, 32 * low0 + e);
                });
                mean.data[c] = sum.negative ? -x : x;
            }
            if (good && spread.n.length) {
                Double2 n = leading(spread.n, en);
                en += 32 * spread.low;
                if (en & 1) n = {2 * n.high, 2 * n.low}, --en;
                double near = scaled(quotient(root(n), w), en / 2 - e0 + by, work);
                deviation.data[c] = settled(near, [&](uint64_t t, int64_t e) {  // N / S0^2 against t^2
                    times(weight, t, bound);
                    square(bound, squared);
                    return compare(spread.n, 32 * spread.low + 2 * by, squared, 2 * (32 * low0 + e));
                });
            }
        }
    }
    return {mean.array, deviation.array, sound.array};
}

}  // namespace

void bind_finish(nb::module_ &m) {
    m.def("means_and_deviations", &finish, "present"_a.noconvert(), "low0"_a, "first"_a.noconvert(), "low1"_a,
          "second"_a.noconvert(), "low2"_a, "shift"_a.noconvert(),
          "Mean, deviation (ddof 0) and soundness of exact sums of w, w x, w x^2, scaled by 2^shift by column.");
}
