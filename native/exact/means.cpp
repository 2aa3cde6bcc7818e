// Means, deviations and covariances from exact sums: about 100 bits give a double, integers say whether it is the nearest.
#include <algorithm>
#include "dispatch/bindings.h"
#include "exact/double_double.h"
#include "exact/magnitude.h"

namespace bayeskit::exact { namespace {

// a * b - c * d of signed magnitudes at their limb positions.
struct Difference {
    std::vector<uint32_t> first, second;
    Magnitude n;
    int64_t low = 0;

    void compute(const Magnitude &a, int64_t low_a, const Magnitude &b, int64_t low_b, const Magnitude &c, int64_t low_c,
                 const Magnitude &d, int64_t low_d) {
        int64_t low1 = low_a + low_b, low2 = low_c + low_d;
        bool one = a.length && b.length, two = c.length && d.length;
        if (!one) low1 = low2;
        if (!two) low2 = low1;
        low = std::min(low1, low2);
        int64_t size = std::max(low1 + a.length + b.length, low2 + c.length + d.length) - low + 1;
        first.assign(size_t(size), 0);
        second.assign(size_t(size), 0);
        if (one) multiply(a.word.data(), int(a.length), b.word.data(), int(b.length), first.data() + (low1 - low));
        if (two) multiply(c.word.data(), int(c.length), d.word.data(), int(d.length), second.data() + (low2 - low));
        bool minus1 = a.negative != b.negative, minus2 = !(c.negative != d.negative);
        bool add = minus1 == minus2, swap = false;
        if (!add)  // take the smaller magnitude from the larger
            for (int64_t i = size; i--;)
                if (first[size_t(i)] != second[size_t(i)]) {
                    swap = first[size_t(i)] < second[size_t(i)];
                    break;
                }
        const std::vector<uint32_t> &large = swap ? second : first, &small = swap ? first : second;
        n.word.assign(size_t(size) + 1, 0);
        int64_t carry = 0;
        for (size_t i = 0; i < size_t(size); ++i) {
            int64_t v = int64_t(large[i]) + (add ? int64_t(small[i]) : -int64_t(small[i])) + carry;
            n.word[i] = uint32_t(uint64_t(v) & MASK32);
            carry = v >> 32;
        }
        n.word[size_t(size)] = uint32_t(carry);
        n.length = size + 1;
        n.negative = swap ? minus2 : minus1;
        n.trim();
    }
};

// The leading bits of a magnitude as a double in [1/2, 1] and its exponent.
inline double leading(const Magnitude &m, int64_t &exponent) {
    exponent = m.bits();
    return std::fabs(nearest(m, -exponent));
}

inline double ratio(const Magnitude &n, int64_t low_n, const Magnitude &w, int64_t low_w, int power, int64_t shift) {
    if (!n.length || !w.length) return 0.0;
    int64_t en, ew;
    double top = leading(n, en), below = leading(w, ew);
    double q = power == 1 ? top / below : top / (below * below);
    int64_t e = std::clamp<int64_t>(en + 32 * low_n - power * (ew + 32 * low_w) + std::clamp<int64_t>(shift, -200000, 200000),
                                    -3000, 3000);
    double x = std::ldexp(q, int(e));
    return n.negative ? -x : x;
}

// The leading 106 bits of m as a number in [1, 2), and the power of two it was divided by.
inline Pair leading_pair(const Magnitude &m, int64_t &exponent) {
    int64_t bits = m.bits();
    exponent = bits - 1;
    return fast_sum(std::ldexp(double(m.slice(bits - 53, 53)), -52), std::ldexp(double(m.slice(bits - 106, 53)), -105));
}

// (high + low) * 2^exponent, rounded once: a subnormal result is rounded from all the bits.
inline double scaled(Pair x, int64_t exponent, Magnitude &work) {
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

using Result = std::tuple<Array<double, 2>, Array<double, 2>, Array<bool, 2>>;

Result means_and_deviations(Input<int64_t, 3> present, int64_t low0, Input<int64_t, 3> first, int64_t low1,
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
        Difference spread;
        std::vector<int64_t> limbs;
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
            spread.compute(weight, low0, squares, low2, sum, low1, sum, low1);
            good &= !spread.n.negative || !spread.n.length;
            sound.data[c] = good;
            if (weight.negative) continue;
            int64_t e0, e1, en, by = std::clamp<int64_t>(shifts[c % columns], -200000, 200000);
            Pair w = leading_pair(weight, e0);
            e0 += 32 * low0;
            if (sum.length) {
                Pair s = leading_pair(sum, e1);
                double near = scaled(quotient(s, w), e1 + 32 * low1 - e0 + by, work);
                double x = correctly_rounded(near, [&](uint64_t t, int64_t e) {  // S1 / S0 against t
                    times(weight, t, bound);
                    return compare(sum, 32 * low1 + by, bound, 32 * low0 + e);
                });
                mean.data[c] = sum.negative ? -x : x;
            }
            if (good && spread.n.length) {
                Pair n = leading_pair(spread.n, en);
                en += 32 * spread.low;
                if (en & 1) n = {2 * n.high, 2 * n.low}, --en;
                double near = scaled(quotient(root(n), w), en / 2 - e0 + by, work);
                deviation.data[c] = correctly_rounded(near, [&](uint64_t t, int64_t e) {  // N / S0^2 against t^2
                    times(weight, t, bound);
                    square(bound, squared);
                    return compare(spread.n, 32 * spread.low + 2 * by, squared, 2 * (32 * low0 + e));
                });
            }
        }
    }
    return {mean.array, deviation.array, sound.array};
}

Array<double, 1> covariance(Input<int64_t, 2> weight, Input<int64_t, 2> one, Input<int64_t, 2> other, Input<int64_t, 2> product,
                            int64_t low, Input<int64_t, 1> shift) {
    Sums s[] = {sums_of(weight, low), sums_of(one, low), sums_of(other, low), sums_of(product, low)};
    size_t cells = weight.shape(0);
    require(one.shape(0) == cells && other.shape(0) == cells && product.shape(0) == cells && shift.shape(0) == cells,
            "sums and shifts differ in length");
    Owned<double, 1> out({cells});
    {
        nb::gil_scoped_release free;
        Magnitude m[4];
        std::vector<int64_t> work;
        Difference d;
        for (size_t c = 0; c < cells; ++c) {
            for (int i = 0; i < 4; ++i) m[i].read(s[i].limb + int64_t(c) * s[i].length, s[i].length, work);
            d.compute(m[0], low, m[3], low, m[1], low, m[2], low);
            out.data[c] = ratio(d.n, d.low, m[0], low, 2, shift.data()[c]);
        }
    }
    return out.array;
}

// (sum / weight - origin) * 2^shift, origin being that of a double over 2^-down; to the last digit.
class CentredMean {
public:
    CentredMean() { unit.word = {1}, unit.length = 1; }
    double of(Sums weights, Sums sums, int64_t cell, double origin, int64_t down, int64_t shift) {
        weight.read(weights.limb + cell * weights.length, weights.length, work);
        sum.read(sums.limb + cell * sums.length, sums.length, work);
        Parts o = parts(origin);
        int64_t exponent = o.exponent - down;
        int by = int(exponent & 31);
        from.word = {uint32_t(o.mantissa << by), uint32_t((o.mantissa << by) >> 32), uint32_t((o.mantissa >> 1) >> (63 - by))};
        from.length = 3;
        from.negative = o.negative;
        from.trim();
        d.compute(sum, sums.low, unit, 0, weight, weights.low, from, exponent >> 5);
        return ratio(d.n, d.low, weight, weights.low, 1, shift);
    }

private:
    Magnitude weight, sum, unit, from;
    std::vector<int64_t> work;
    Difference d;
};

Array<double, 1> mean(Input<int64_t, 2> weight, Input<int64_t, 2> sum, int64_t low, Input<double, 1> origin,
                      Input<int64_t, 1> shift) {
    Sums s0 = sums_of(weight, low), s1 = sums_of(sum, low);
    size_t cells = weight.shape(0);
    require(sum.shape(0) == cells && origin.shape(0) == cells && shift.shape(0) == cells,
            "sums, origins and shifts differ in length");
    for (size_t c = 0; c < cells; ++c) require(std::isfinite(origin.data()[c]), "an origin is not finite");
    Owned<double, 1> out({cells});
    nb::gil_scoped_release free;
    CentredMean centred;
    for (size_t c = 0; c < cells; ++c) out.data[c] = centred.of(s0, s1, int64_t(c), origin.data()[c], 0, shift.data()[c]);
    return out.array;
}

Array<double, 2> mean_rounding_errors(Input<int64_t, 3> present, int64_t low0, Input<int64_t, 3> first, int64_t low1,
                                      Input<int64_t, 1> shift, Input<double, 2> mean) {
    Sums s0 = sums_of(present, low0), s1 = sums_of(first, low1);
    size_t groups = present.shape(0), columns = present.shape(1);
    require(first.shape(0) == groups && first.shape(1) == columns && shift.shape(0) == columns && mean.shape(0) == groups &&
                mean.shape(1) == columns,
            "sums, shift and means differ");
    Owned<double, 2> out({groups, columns});
    nb::gil_scoped_release free;
    CentredMean centred;
    for (size_t c = 0; c < groups * columns; ++c) {
        double rounded = mean.data()[c];
        int64_t by = std::clamp<int64_t>(shift.data()[c % columns], -2000, 2000);
        if (std::isfinite(rounded) && rounded != 0) out.data[c] = centred.of(s0, s1, int64_t(c), rounded, by, by);
    }
    return out.array;
}

const Binding binding([](nb::module_ &m) {
    m.def("means_and_deviations", &means_and_deviations, "present"_a.noconvert(), "low0"_a, "first"_a.noconvert(), "low1"_a,
          "second"_a.noconvert(), "low2"_a, "shift"_a.noconvert(),
          "Mean, deviation (ddof 0) and soundness of exact sums of w, w x, w x^2, scaled by 2^shift by column.");
    m.def("mean_rounding_errors", &mean_rounding_errors, "present"_a.noconvert(), "low0"_a, "first"_a.noconvert(), "low1"_a,
          "shift"_a.noconvert(), "mean"_a.noconvert(), "What the rounding of the means of exact sums lost.");
    m.def("covariance", &covariance, "weight"_a.noconvert(), "one"_a.noconvert(), "other"_a.noconvert(),
          "product"_a.noconvert(), "low"_a, "shift"_a.noconvert(),
          "(W Sxy - Sx Sy) / W^2 * 2^shift from exact sums, to the last digit or two; 0 where W is.");
    m.def("mean", &mean, "weight"_a.noconvert(), "sum"_a.noconvert(), "low"_a, "origin"_a.noconvert(), "shift"_a.noconvert(),
          "(Sx / W - origin) * 2^shift from exact sums, to the last digit; 0 where W is.");
});

}}  // namespace bayeskit::exact
