// Exact sums from outside: how wide, carrying, rounding.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include "dispatch/bindings.h"
#include "exact/magnitude.h"

namespace bayeskit::exact { namespace {

// The lowest bit a double between lowest and highest can have set: for one single double its own lowest set
// bit, else the ulp of the lowest (subnormals share theirs).
int64_t lowest_bit(double lowest, double highest) {
    Parts p = parts(lowest);
    return lowest == highest ? p.exponent + __builtin_ctzll(p.mantissa) : p.exponent;
}

// The smallest e with w * x^power < 2^e: from the whole product, 159 bits at most.
int64_t highest_bit(double w, double x, int power) {
    Parts a = parts(w), b = parts(x);
    Magnitude m, next;
    uint32_t value[2] = {uint32_t(b.mantissa), uint32_t(b.mantissa >> 32)};
    m.word = {uint32_t(a.mantissa), uint32_t(a.mantissa >> 32)};
    for (int i = 0; i < power; ++i) {
        next.word.resize(m.word.size() + 2);
        multiply(m.word.data(), int(m.word.size()), value, 2, next.word.data());
        m.word.swap(next.word);
    }
    m.length = int64_t(m.word.size());
    m.trim();
    return m.bits() + a.exponent + power * b.exponent;
}

int64_t floor_limb(int64_t bit) { return bit >> 5; }

std::pair<int64_t, int64_t> limb_window(double lowest, double highest, int power, double weight_lowest, double weight_highest) {
    require(power >= 0 && power <= 2, "power must be 0, 1 or 2");
    auto valid = [](double a, double b) { return (a > 0 && a <= b && b < INFINITY) || (a > 0 && b == 0); };
    require(valid(weight_lowest, weight_highest), "weights need 0 < weight_lowest <= weight_highest < inf");
    if (weight_highest == 0) return {0, 1};
    int64_t low = lowest_bit(weight_lowest, weight_highest);
    if (power) {
        require(valid(lowest, highest), "values need 0 < lowest <= highest < inf");
        if (highest == 0) return {0, 1};
        low += power * lowest_bit(lowest, highest);
    }
    int64_t high = highest_bit(weight_highest, power ? highest : 1.0, power);
    // 2^40 terms below 2^high, and a sign: the top limb stays a signed number of 32 bits.
    return {floor_limb(low), floor_limb(high + 40) + 1};
}

bool carry_limbs(Output<int64_t, 2> limbs) {
    Sums s = sums_of(limbs, 0);
    int64_t cells = int64_t(limbs.shape(0));
    nb::gil_scoped_release free;
    uint64_t beyond = 0;
    for (int64_t c = 0; c < cells; ++c) {
        int64_t *limb = s.limb + c * s.length;
        carry_cell(limb, s.length);
        beyond |= (uint64_t(limb[s.length - 1]) + (uint64_t(1) << 31)) >> 32;
    }
    return beyond;
}

Array<double, 1> round_sums(Input<int64_t, 2> limbs, int64_t low, int64_t shift) {
    Sums s = sums_of(limbs, low);
    size_t cells = limbs.shape(0);
    Owned<double, 1> out({cells});
    nb::gil_scoped_release free;
    shift = std::clamp<int64_t>(shift, -200000, 200000);  // beyond any double and any window
    Magnitude m;
    std::vector<int64_t> work;
    int64_t exponent = 32 * low + shift;
    bool plain = s.length <= 2 && std::abs(exponent) <= 900;  // counts, mostly: no rounding, and far from any limit
    double unit = plain ? std::ldexp(1.0, int(exponent)) : 0.0;
    if (s.length == 1 && !exponent) {  // one count each, the usual case
        constexpr uint64_t LIMIT = uint64_t(1) << 52;
        uint64_t beyond = 0;
        for (size_t c = 0; c < cells; ++c) {
            beyond |= (uint64_t(s.limb[c]) + LIMIT) / (2 * LIMIT);
            out.data[c] = double(s.limb[c]);
        }
        if (!beyond) return out.array;
    }
    for (size_t c = 0; c < cells; ++c) {
        const int64_t *limb = s.limb + int64_t(c) * s.length;
        int64_t below = limb[0], above = s.length == 2 ? limb[1] : 0;
        constexpr int64_t BELOW = int64_t(1) << 51, ABOVE = int64_t(1) << 19;
        if (plain && below > -BELOW && below < BELOW && above > -ABOVE && above < ABOVE) {
            out.data[c] = double(below + above * (int64_t(1) << 32)) * unit;
            continue;
        }
        uint64_t all = 0;
        for (int64_t l = 0; l < s.length; ++l) all |= uint64_t(limb[l]);
        if (!shift && all <= MASK32) {  // carried, and not below 0
            out.data[c] = rounded_cell(limb, s.length, low, m, work);
            continue;
        }
        m.read(limb, s.length, work);
        out.data[c] = m.length ? nearest(m, exponent) : 0.0;
    }
    return out.array;
}

const Binding binding([](nb::module_ &m) {
    m.def("limb_window", &limb_window, "lowest"_a, "highest"_a, "power"_a, "weight_lowest"_a, "weight_highest"_a,
          "Limb window (low inclusive, high exclusive) that holds any sum of 2^40 terms w * x^power.");
    m.def("carry_limbs", &carry_limbs, "limbs"_a.noconvert(),
          "Carries exact sums in place: all limbs but the top in [0, 2^32); whether a top one is no signed number of 32 bits.");
    m.def("round_sums", &round_sums, "limbs"_a.noconvert(), "low"_a, "shift"_a = 0,
          "Exact sums times 2^shift, each rounded once to the nearest double.");
});

}}  // namespace bayeskit::exact
