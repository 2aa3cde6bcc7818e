// Magnitudes as words of 32 bits, lowest first: what is left of an exact sum once its sign is known.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>
#include "exact/limbs.h"

namespace bayeskit { namespace {

struct Magnitude {
    std::vector<uint32_t> word;  // capacity is kept from cell to cell
    int64_t length = 0;          // without leading zeros
    bool negative = false;

    // Reads one cell of limbs, carried or not.
    void read(const int64_t *limb, int64_t n, std::vector<int64_t> &work) {
        work.assign(limb, limb + n);
        carry_cell(work.data(), n);
        negative = work[size_t(n) - 1] < 0;
        if (negative) {
            for (auto &v : work) v = int64_t(-uint64_t(v));  // also of the smallest
            carry_cell(work.data(), n);
        }
        word.resize(size_t(n) + 1);
        for (int64_t i = 0; i < n; ++i) word[size_t(i)] = uint32_t(uint64_t(work[size_t(i)]) & MASK32);
        word[size_t(n)] = uint32_t(uint64_t(work[size_t(n) - 1]) >> 32);
        length = n + 1;
        trim();
    }
    void trim() {
        while (length && !word[size_t(length) - 1]) --length;
    }
    int64_t bits() const { return length ? 32 * length - __builtin_clz(word[size_t(length) - 1]) : 0; }
    // Bits [from, from + count), count <= 53; below bit 0 there are zeros.
    uint64_t slice(int64_t from, int count) const {
        uint64_t v = 0;
        int64_t k = from >> 5;
        int shift = int(from & 31);
        for (int i = 0; i < 3; ++i) {
            uint64_t w = k + i >= 0 && k + i < length ? word[size_t(k + i)] : 0;
            int at = 32 * i - shift;
            v |= at < 0 ? w >> -at : at < 64 ? w << at : 0;
        }
        return count ? v & (~uint64_t(0) >> (64 - count)) : 0;
    }
    bool any_below(int64_t bit) const {
        int64_t k = bit >> 5;
        for (int64_t i = 0; i < k && i < length; ++i)
            if (word[size_t(i)]) return true;
        return k >= 0 && k < length && (word[size_t(k)] & ((uint32_t(1) << (bit & 31)) - 1));
    }
};

// m * 2^exponent to the nearest double, ties to even, rounded once whether the result is normal or not.
inline double nearest(const Magnitude &m, int64_t exponent) {
    int64_t bits = m.bits(), top = bits + exponent;  // the value lies in [2^(top-1), 2^top)
    if (!bits || top < -1074) return m.negative ? -0.0 : 0.0;
    if (top > 1024) return m.negative ? -INFINITY : INFINITY;
    int64_t keep = top >= -1021 ? 53 : top + 1074, drop = bits - keep;
    uint64_t v;
    if (drop <= 0) {
        v = m.slice(0, int(bits));
        drop = 0;
    } else {
        v = m.slice(drop, int(keep));
        if (m.slice(drop - 1, 1) && ((v & 1) || m.any_below(drop - 1))) ++v;
    }
    double x = std::ldexp(double(v), int(exponent + drop));
    return m.negative ? -x : x;
}

// A carried cell of at least 0 to the nearest double: its top 64 bits, the last of them sticky, rounded once.
inline double rounded_cell(const int64_t *limb, int64_t length, int64_t low, Magnitude &m, std::vector<int64_t> &work) {
    int64_t t = length - 1;
    while (t >= 0 && !limb[t]) --t;
    if (t < 0) return 0.0;
    if (t == 0 && limb[0] > 0 && low == 0) return double(limb[0]);
    if (limb[t] < 0 || limb[t] >> 32 || t + low > 28 || t + low < -28) {  // not of the usual form or range
        m.read(limb, length, work);
        return m.length ? nearest(m, 32 * low) : 0.0;
    }
    auto at = [&](int64_t i) { return i >= 0 ? uint64_t(limb[i]) : 0; };
    uint64_t high = at(t) << 32 | at(t - 1), rest = at(t - 2) << 32 | at(t - 3);
    int z = __builtin_clzll(high);
    uint64_t top = z ? high << z | rest >> (64 - z) : high;
    bool sticky = (rest << z) != 0;
    for (int64_t i = t - 4; i >= 0; --i) sticky |= limb[i] != 0;
    // a power of two among the normal doubles, so that nothing is rounded twice
    return double(top | uint64_t(sticky)) * double_of(uint64_t(32 * (t - 1 + low) - z + 1023) << 52);
}

// Correct rounding: a double close to an exact value, moved to the one nearest to it.

// Sign of a * 2^ea - b * 2^eb.
inline int compare(const Magnitude &a, int64_t ea, const Magnitude &b, int64_t eb) {
    int64_t bits_a = a.bits(), bits_b = b.bits();
    if (!bits_a || !bits_b) return int(bits_a > 0) - int(bits_b > 0);
    if (bits_a + ea != bits_b + eb) return bits_a + ea < bits_b + eb ? -1 : 1;
    int64_t longest = bits_a > bits_b ? bits_a : bits_b;
    for (int64_t done = 53; done - 53 < longest; done += 53) {
        uint64_t x = a.slice(bits_a - done, 53), y = b.slice(bits_b - done, 53);
        if (x != y) return x < y ? -1 : 1;
    }
    return 0;
}

// a * t for a t of at most 64 bits.
inline void times(const Magnitude &a, uint64_t t, Magnitude &out) {
    uint32_t factor[2] = {uint32_t(t), uint32_t(t >> 32)};
    out.word.assign(size_t(a.length) + 2, 0);
    multiply(a.word.data(), int(a.length), factor, 2, out.word.data());
    out.length = a.length + 2;
    out.trim();
}

inline void square(const Magnitude &a, Magnitude &out) {
    out.word.assign(2 * size_t(a.length), 0);
    multiply(a.word.data(), int(a.length), a.word.data(), int(a.length), out.word.data());
    out.length = 2 * a.length;
    out.trim();
}

// The double nearest to a value v >= 0, ties to even, from one at most a few steps away.
// above(t, e) is the sign of v - t * 2^e: asked of the midpoints to both neighbours, it decides exactly.
template <class Above>
double correctly_rounded(double y, Above above) {
    for (;;) {
        int e = 0;
        uint64_t m;  // y = m * 2^q; infinity counts as 2^1024
        int64_t q;
        if (std::isinf(y)) {
            m = uint64_t(1) << 53, q = 971;
        } else {
            std::frexp(y, &e);
            q = y == 0 || e - 53 < -1074 ? -1074 : e - 53;
            m = uint64_t(std::ldexp(y, int(-q)));
        }
        int up = std::isinf(y) ? -1 : above(2 * m + 1, q - 1);
        if (up > 0 || (up == 0 && (m & 1))) {
            y = std::nextafter(y, INFINITY);
            continue;
        }
        if (m == 0) return y;
        // below a power of two the doubles lie twice as close
        bool power = m == (uint64_t(1) << 52) && q > -1074;
        int down = power ? above(4 * m - 1, q - 2) : above(2 * m - 1, q - 1);
        if (down > 0 || (down == 0 && !(m & 1))) return y;
        y = std::nextafter(y, 0.0);
    }
}

}}  // namespace bayeskit
