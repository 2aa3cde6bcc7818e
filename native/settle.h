// Correct rounding: a double close to an exact value, moved to the one nearest to it.
#pragma once
#include "words.h"

namespace {

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
double settled(double y, Above above) {
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

}  // namespace
