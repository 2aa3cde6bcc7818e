// Exact sums: a number is kept as limbs of 32 bits in int64, so additions need no carry for 2^31 steps.
// Everything is static: this header is compiled into every clone with that clone's flags.
#pragma once
#include "dispatch/kernels.h"
#include "vectors/compiler.h"

namespace bayeskit { namespace {

constexpr uint64_t MASK32 = 0xffffffffu;

inline uint64_t bits_of(double x) {
    uint64_t b;
    __builtin_memcpy(&b, &x, 8);
    return b;
}

inline double double_of(uint64_t b) {
    double x;
    __builtin_memcpy(&x, &b, 8);
    return x;
}

inline double number_at(uint64_t address, int64_t offset) {
    double x;
    __builtin_memcpy(&x, (const char *) address + offset, 8);
    return x;
}

// a + b modulo 2^64: limbs that callers made too large give a wrong sum, but nothing undefined.
inline int64_t wrapped(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }

// A finite double is (negative ? -1 : 1) * mantissa * 2^exponent, subnormals included.
struct Parts {
    uint64_t mantissa;
    int64_t exponent;
    bool negative;
    bool finite;
};

inline Parts parts(double x) {
    uint64_t b = bits_of(x), field = (b >> 52) & 2047, m = b & ((uint64_t(1) << 52) - 1);
    return {field ? m | (uint64_t(1) << 52) : m, int64_t(field ? field : 1) - 1075, (b >> 63) != 0, field != 2047};
}

// cell += (negative ? -1 : 1) * magnitude * 2^exponent. False if a set bit lies outside the window.
inline bool add(Sums s, int64_t cell, uint64_t magnitude, bool negative, int64_t exponent) {
    int64_t p = exponent - 32 * s.low, k = p >> 5;
    int shift = int(p & 31);
    uint64_t low = magnitude << shift, top = (magnitude >> 1) >> (63 - shift);
    int64_t sign = negative ? -1 : 0;  // (v ^ sign) - sign negates without a branch: signs are random
    int64_t piece[3] = {int64_t(low & MASK32), int64_t(low >> 32), int64_t(top)};
    int64_t *limb = s.limb + cell * s.length;
    if (k >= 0 && k + 2 < s.length) {
        for (int i = 0; i < 3; ++i) limb[k + i] = wrapped(limb[k + i], (piece[i] ^ sign) - sign);
        return true;
    }
    for (int i = 0; i < 3; ++i)
        if (piece[i]) {
            if (k + i < 0 || k + i >= s.length) return false;
            limb[k + i] = wrapped(limb[k + i], (piece[i] ^ sign) - sign);
        }
    return true;
}

inline bool add(Sums s, int64_t cell, double x) {
    Parts p = parts(x);
    return p.finite && add(s, cell, p.mantissa, p.negative, p.exponent);
}

inline bool add(Sums s, int64_t cell, int64_t value, int64_t exponent) {
    return add(s, cell, value < 0 ? uint64_t(0) - uint64_t(value) : uint64_t(value), value < 0, exponent);
}

// The same for a magnitude of n words of 32 bits, lowest first (n <= 8).
inline bool add_words(Sums s, int64_t cell, const uint32_t *word, int n, bool negative, int64_t exponent) {
    int64_t p = exponent - 32 * s.low, k = p >> 5;
    int shift = int(p & 31);
    int64_t sign = negative ? -1 : 0;
    int64_t *limb = s.limb + cell * s.length;
    uint64_t carry = 0;
    for (int i = 0; i <= n; ++i) {
        uint64_t v = (i < n ? uint64_t(word[i]) << shift : 0) | carry;
        int64_t piece = int64_t(v & MASK32);
        carry = v >> 32;
        if (!piece) continue;
        if (k + i < 0 || k + i >= s.length) return false;
        limb[k + i] = wrapped(limb[k + i], (piece ^ sign) - sign);
    }
    return true;
}

// out (na + nb words) = a * b; out may not overlap.
inline void multiply(const uint32_t *a, int na, const uint32_t *b, int nb, uint32_t *out) {
    for (int i = 0; i < na + nb; ++i) out[i] = 0;
    for (int i = 0; i < na; ++i) {
        uint64_t carry = 0;
        for (int j = 0; j < nb; ++j) {
            carry += uint64_t(a[i]) * b[j] + out[i + j];
            out[i + j] = uint32_t(carry);
            carry >>= 32;
        }
        out[i + nb] = uint32_t(carry);
    }
}

// cell += sign * w * x exactly; the product has at most 106 bits.
inline bool add_product(Sums s, int64_t cell, double x, double w, bool negative) {
    Parts p = parts(x), q = parts(w);
    if (!p.finite || !q.finite) return false;
    uint32_t a[2] = {uint32_t(p.mantissa), uint32_t(p.mantissa >> 32)};
    uint32_t b[2] = {uint32_t(q.mantissa), uint32_t(q.mantissa >> 32)}, product[4];
    multiply(a, 2, b, 2, product);
    return add_words(s, cell, product, 4, negative, p.exponent + q.exponent);
}

// Carries a cell: limbs 0 .. n-2 into [0, 2^32), the top limb signed.
inline void carry_cell(int64_t *limb, int64_t n) {
    int64_t carry = 0;
    for (int64_t i = 0; i + 1 < n; ++i) {  // halves of a limb are added apart, so that no limb is too large
        int64_t low = (limb[i] & int64_t(MASK32)) + carry;
        carry = (limb[i] >> 32) + (low >> 32);
        limb[i] = low & int64_t(MASK32);
    }
    limb[n - 1] = wrapped(limb[n - 1], carry);
}

}}  // namespace bayeskit
