// Exponentials and logarithms without libm, whose last bits differ from machine to machine.
namespace bayeskit {
namespace {

constexpr double ROUNDER = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer in the low bits
constexpr double LOG2E = 0x1.71547652b82fep+0;
constexpr double LN2_HIGH = 0x1.62e42fefa3800p-1;  // 42 bits: times an integer below 2^11 is exact
constexpr double LN2_LOW = 0x1.ef35793c76730p-45;

constexpr double EXP_TERMS[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                                1.0 / 5040,       1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      1.0 / 2};
constexpr double LOG_TERMS[] = {2.0 / 25, 2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15,
                                2.0 / 13, 2.0 / 11, 2.0 / 9,  2.0 / 7,  2.0 / 5,  2.0 / 3};

// terms[0] x^(N-1) + ... + terms[N-1] in pairs (Estrin: short chains). The order of operations is part of the result.
template <int N> inline Real polynomial(const double (&terms)[N], Real x) {
    static_assert(N == 12, "three groups of four");
    Real square = x * x, fourth = square * square, group[3];
    for (int i = 0; i < 3; ++i)
        group[i] = (splat(terms[4 * i]) * x + splat(terms[4 * i + 1])) * square +
                   (splat(terms[4 * i + 2]) * x + splat(terms[4 * i + 3]));
    return (group[0] * fourth + group[1]) * fourth + group[2];
}

// e^t for t <= 0. t = k log 2 + r, |r| <= log(2)/2, and the Taylor series to r^13 / 13! (remainder < 2^-57);
// 2^k in two factors where it may be small, so that a subnormal result is rounded once. Below -750 the answer is 0.
inline Real exponential(Real t) {
    t = larger(t, splat(-750.0));
    Real shifted = t * splat(LOG2E) + splat(ROUNDER), k = shifted - splat(ROUNDER);
    Real r = (t - k * splat(LN2_HIGH)) - k * splat(LN2_LOW);
    Real y = splat(1.0) + (r + r * r * polynomial(EXP_TERMS, r));
    if (!any(less(t, splat(-700.0)))) return y * as<Real>((as<Bits>(shifted) << 52) + as<Bits>(splat(1.0)));
    Bits power = as<Bits>(shifted) - as<Bits>(splat(ROUNDER)) + splat_bits(2048);  // k + 2048 > 0
    Bits half = power >> 1, rest = power - half;                                  // each is k/2 + 1024
    return y * as<Real>((half - splat_bits(1)) << 52) * as<Real>((rest - splat_bits(1)) << 52);
}

// log s for finite s >= 1: s = 2^e (1 + f), u = f / (2 + f), log(1 + f) = 2 atanh u = f - f^2/2 + u (f^2/2 + R),
// R = 2 u^2 / 3 + 2 u^4 / 5 + ... to u^24 (|u| < 0.172: remainder < 2^-66).
inline Real logarithm(Real s) {
    Bits b = as<Bits>(s), fraction = b & splat_bits(0xfffffffffffffull);
    Bits above = (splat_bits(0x6a09e667f3bcdull) - fraction) >> 63;  // 1 beyond sqrt 2: halve
    Real m = as<Real>(fraction | ((splat_bits(1023) - above) << 52));
    Real e = as<Real>(as<Bits>(splat(ROUNDER)) + (b >> 52) + above - splat_bits(1023)) - splat(ROUNDER);
    Real f = m - splat(1.0), u = f / (splat(2.0) + f), z = u * u, r = z * polynomial(LOG_TERMS, z);
    Real half = splat(0.5) * f * f;
    return e * splat(LN2_HIGH) - ((half - (u * (half + r) + e * splat(LN2_LOW))) - f);
}

// Numbers i, i + 1, ... of n; beyond the end `spare`.
inline Real take(const double *in, int64_t i, int64_t n, double spare) {
    if (i + LANES <= n) return load(in + i);
    double rest[LANES];
    for (int l = 0; l < LANES; ++l) rest[l] = i + l < n ? in[i + l] : spare;
    return load(rest);
}
inline void give(double *out, int64_t i, int64_t n, Real v) {
    if (i + LANES <= n) {
        store(out + i, v);
        return;
    }
    for (int64_t l = 0; i + l < n; ++l) out[i + l] = lane(v, int(l));
}

}  // namespace

namespace vectors { namespace {

// Of numbers of at most 0.
void exponentials(const double *in, int64_t n, double *out) {
    for (int64_t i = 0; i < n; i += LANES) give(out, i, n, exponential(take(in, i, n, 0.0)));
}

// Of positive numbers that are not subnormal.
void logarithms(const double *in, int64_t n, double *out) {
    for (int64_t i = 0; i < n; i += LANES) give(out, i, n, logarithm(take(in, i, n, 1.0)));
}

}}  // namespace vectors
}  // namespace bayeskit
