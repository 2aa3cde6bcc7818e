// Fixed: numbers of 64 bits before and 320 behind the point, for the few arguments a quick answer cannot decide.
#pragma once
#include <cmath>
#include <cstdint>

namespace bayeskit { namespace {

struct Fixed {
    static constexpr int N = 6, POINT = 320;  // limb[N - 1] is the whole part
    uint64_t limb[N] = {0, 0, 0, 0, 0, 0};
    bool negative = false;

    Fixed() = default;
    explicit Fixed(double x) {  // exact for a double without bits below 2^-320
        int e;
        double m = std::frexp(std::fabs(x), &e);
        negative = x < 0;
        place(uint64_t(std::ldexp(m, 53)), e - 53 + POINT);
    }
    void place(uint64_t mantissa, int shift) {
        if (!mantissa) return;
        if (shift < 0) mantissa >>= -shift > 63 ? 63 : -shift, shift = 0;
        int k = shift >> 6, by = shift & 63;
        limb[k] |= mantissa << by;
        if (by && k + 1 < N) limb[k + 1] |= mantissa >> (64 - by);
    }
    bool zero() const {
        for (uint64_t v : limb)
            if (v) return false;
        return true;
    }
};

inline int compare(const Fixed &a, const Fixed &b) {  // of magnitudes
    for (int i = Fixed::N; i--;)
        if (a.limb[i] != b.limb[i]) return a.limb[i] < b.limb[i] ? -1 : 1;
    return 0;
}

inline Fixed operator-(Fixed a) {
    a.negative = !a.negative;
    return a;
}

inline Fixed operator+(const Fixed &a, const Fixed &b) {
    Fixed out;
    if (a.negative == b.negative) {
        unsigned __int128 carry = 0;
        for (int i = 0; i < Fixed::N; ++i) {
            carry += (unsigned __int128) a.limb[i] + b.limb[i];
            out.limb[i] = uint64_t(carry);
            carry >>= 64;
        }
        out.negative = a.negative;
        return out;
    }
    bool less = compare(a, b) < 0;
    const Fixed &large = less ? b : a, &small = less ? a : b;
    uint64_t borrow = 0;
    for (int i = 0; i < Fixed::N; ++i) {
        unsigned __int128 v = (unsigned __int128) large.limb[i] - small.limb[i] - borrow;
        out.limb[i] = uint64_t(v);
        borrow = uint64_t(v >> 64) & 1;
    }
    out.negative = large.negative;
    return out;
}

inline Fixed operator-(const Fixed &a, const Fixed &b) { return a + -b; }

inline Fixed operator*(const Fixed &a, const Fixed &b) {
    uint64_t whole[2 * Fixed::N] = {};
    for (int i = 0; i < Fixed::N; ++i) {
        unsigned __int128 carry = 0;
        for (int j = 0; j < Fixed::N; ++j) {
            carry += (unsigned __int128) a.limb[i] * b.limb[j] + whole[i + j];
            whole[i + j] = uint64_t(carry);
            carry >>= 64;
        }
        whole[i + Fixed::N] = uint64_t(carry);
    }
    Fixed out;
    for (int i = 0; i < Fixed::N; ++i) out.limb[i] = whole[i + Fixed::N - 1];
    out.negative = a.negative != b.negative;
    return out;
}

inline Fixed operator*(Fixed a, uint64_t by) {
    unsigned __int128 carry = 0;
    for (uint64_t &v : a.limb) {
        carry += (unsigned __int128) v * by;
        v = uint64_t(carry);
        carry >>= 64;
    }
    return a;
}

inline Fixed operator/(Fixed a, uint64_t by) {
    unsigned __int128 rest = 0;
    for (int i = Fixed::N; i--;) {
        rest = (rest << 64) | a.limb[i];
        a.limb[i] = uint64_t(rest / by);
        rest %= by;
    }
    return a;
}

// To the nearest double; what is lost below 2^-320 decides no tie of the functions here.
inline double nearest(const Fixed &a) {
    int top = Fixed::N * 64 - 1;
    while (top >= 0 && !(a.limb[top >> 6] >> (top & 63) & 1)) --top;
    if (top < 0) return 0.0;
    uint64_t m = 0;
    for (int i = 0; i < 54; ++i) {  // 53 bits and one to round by
        int bit = top - i;
        m = m << 1 | (bit >= 0 ? a.limb[bit >> 6] >> (bit & 63) & 1 : 0);
    }
    bool rest = false;
    for (int bit = top - 54; bit >= 0 && !rest; --bit) rest = a.limb[bit >> 6] >> (bit & 63) & 1;
    m = (m >> 1) + ((m & 1) && (rest || (m & 2)));
    double x = std::ldexp(double(m), top - 52 - Fixed::POINT);
    return a.negative ? -x : x;
}

// sum of t^k / k! over k, k + step, ...: the exponential (step 1), with signs in turn sine and cosine (step 2).
inline Fixed series(const Fixed &t, Fixed term, int k, int step) {
    Fixed sum = term, power = step == 2 ? -(t * t) : t;
    while (!term.zero()) {
        term = term * power;
        for (int i = 1; i <= step; ++i) term = term / uint64_t(k + i);
        k += step;
        sum = sum + term;
    }
    return sum;
}

inline Fixed exponential(const Fixed &t) { return series(t, Fixed(1.0), 0, 1); }
inline Fixed sine(const Fixed &t) { return series(t, t, 1, 2); }
inline Fixed cosine(const Fixed &t) { return series(t, Fixed(1.0), 0, 2); }

// log of a number in (1/4, 4): a step from a double, the rest by a short series.
inline Fixed logarithm(const Fixed &m) {
    Fixed y(std::log(nearest(m)));
    for (int i = 0; i < 2; ++i) {
        Fixed d = m * exponential(-y) - Fixed(1.0);
        y = y + d - d * d / 2;
    }
    return y;
}

inline Fixed arctangent_of_inverse(uint64_t n) {
    Fixed power = Fixed(1.0) / n, sum = power;
    for (uint64_t k = 3; !power.zero(); k += 2) {
        power = power / (n * n);
        sum = k & 2 ? sum - power / k : sum + power / k;
    }
    return sum;
}

inline const Fixed &log_two() {
    static const Fixed value = logarithm(Fixed(2.0));
    return value;
}

inline const Fixed &half_pi() {  // Machin: pi/4 = 4 atan(1/5) - atan(1/239)
    static const Fixed value = (arctangent_of_inverse(5) * 4 - arctangent_of_inverse(239)) * 2;
    return value;
}

}}  // namespace bayeskit
