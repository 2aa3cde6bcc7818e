// Vectors of the clone's own width. Compilers without GNU vectors get one lane, with the same results:
// no kernel lets a number depend on how many lanes there are.
#pragma once
#include "exact/limbs.h"
#if defined(__AVX2__)
#include <immintrin.h>  // always_inline only: nothing of it can be shared between clones
#endif

namespace bayeskit { namespace {

#if !defined(__GNUC__) || defined(ONE_LANE)  // ONE_LANE: to test what other compilers get
#define SCALAR
constexpr int LANES = 1;
#elif defined(__AVX512F__)
constexpr int LANES = 8;
#elif defined(__AVX2__)
constexpr int LANES = 4;
#else
constexpr int LANES = 2;
#endif

constexpr double HUGE_NUMBER = 1.7976931348623157e308;
constexpr double INFINITE = __builtin_inf();

#if !defined(SCALAR)
typedef double Real __attribute__((vector_size(8 * LANES)));
typedef int64_t Whole __attribute__((vector_size(8 * LANES)));  // also masks: 0 or -1 by lane
typedef uint64_t Bits __attribute__((vector_size(8 * LANES)));
inline Bits splat_bits(uint64_t x) { return x - Bits{}; }
inline Real splat(double x) { return x - Real{}; }  // x - 0 is x, -0.0 too
inline Whole splat(int64_t x) { return x - Whole{}; }
inline double lane(Real v, int i) { return v[i]; }
inline int64_t lane(Whole v, int i) { return v[i]; }
inline uint64_t lane(Bits v, int i) { return v[i]; }
#else
typedef double Real;
typedef int64_t Whole;
typedef uint64_t Bits;
inline Bits splat_bits(uint64_t x) { return x; }
inline Real splat(double x) { return x; }
inline Whole splat(int64_t x) { return x; }
inline double lane(Real v, int) { return v; }
inline int64_t lane(Whole v, int) { return v; }
inline uint64_t lane(Bits v, int) { return v; }
#endif

template <typename To, typename From> inline To as(From from) {
    static_assert(sizeof(To) == sizeof(From), "only the type changes");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}

inline Real load(const void *p) {
    Real v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
// LANES doubles, stride bytes from one to the next.
inline Real load_apart(const char *p, int64_t stride) {
    double v[LANES];
    for (int i = 0; i < LANES; ++i) __builtin_memcpy(v + i, p + i * stride, 8);
    return load(v);
}
inline void store(void *p, Real v) { __builtin_memcpy(p, &v, sizeof v); }

#if !defined(SCALAR)
inline Whole less(Real a, Real b) { return a < b; }
inline Whole below(Bits a, Bits b) { return (Whole) (a < b); }
inline Whole equal(Real a, Real b) { return a == b; }
inline Whole differs(Real a, Real b) { return a != b; }
inline Real select(Whole mask, Real a, Real b) { return mask ? a : b; }
#else
inline Whole less(Real a, Real b) { return -int64_t(a < b); }
inline Whole below(Bits a, Bits b) { return -int64_t(a < b); }
inline Whole equal(Real a, Real b) { return -int64_t(a == b); }
inline Whole differs(Real a, Real b) { return -int64_t(a != b); }
inline Real select(Whole mask, Real a, Real b) { return mask ? a : b; }
#endif

inline Real keep(Whole mask, Real a) { return as<Real>(mask & as<Whole>(a)); }
inline Real magnitude(Real a) { return as<Real>(as<Whole>(a) & splat(INT64_MAX)); }
// Where either is NaN these give b, as the instructions do.
inline Real smaller(Real a, Real b) { return select(less(a, b), a, b); }
inline Real larger(Real a, Real b) { return select(less(b, a), a, b); }

// Whether a bit is set in any lane.
inline bool any(Whole mask) {
#if defined(__AVX512F__) && !defined(SCALAR)
    return _mm512_test_epi64_mask((__m512i) mask, (__m512i) mask) != 0;
#elif defined(__AVX2__) && !defined(SCALAR)
    return !_mm256_testz_si256((__m256i) mask, (__m256i) mask);
#else
    int64_t found = 0;
    for (int i = 0; i < LANES; ++i) found |= lane(mask, i);
    return found != 0;
#endif
}

#if defined(__FMA__) && !defined(SCALAR)
#define FUSED
// a * b + c with one rounding.
inline Real fused(Real a, Real b, Real c) {
#if defined(__AVX512F__)
    return (Real) _mm512_fmadd_pd((__m512d) a, (__m512d) b, (__m512d) c);
#else
    return (Real) _mm256_fmadd_pd((__m256d) a, (__m256d) b, (__m256d) c);
#endif
}
#endif

// x * x - h for h = fl(x * x), exactly: by FMA, or by Dekker's halves of 26 bits (|x| in the middle range).
inline Real square_rest(Real x, Real h) {
#if defined(FUSED)
    return fused(x, x, -h);
#else
    Real t = splat(134217729.0) * x, a = t - (t - x), b = x - a;
    return ((a * a - h) + splat(2.0) * a * b) + b * b;
#endif
}

// a * b + c where one rounding or two make no difference to the caller.
inline Real multiply_add(Real a, Real b, Real c) {
#if defined(FUSED)
    return fused(a, b, c);
#else
    return a * b + c;
#endif
}

// a + b by the multiplier, which many CPUs keep beside the adder: halves the wait where adders are the limit.
inline Real sum_by_multiplier(Real a, Real b) {
#if defined(FUSED)
    Real one = splat(1.0);
    asm("" : "+x"(one));  // or the compiler makes it an addition again
    return fused(a, one, b);
#else
    return a + b;
#endif
}

// Row i of v becomes column i.
#if defined(SCALAR)
inline void transpose(Real *) {}
#elif defined(__AVX512F__)
inline void transpose(Real *v) {
    Real a[8], b[8];
    for (int i = 0; i < 8; i += 2) {
        a[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        a[i + 1] = __builtin_shufflevector(v[i], v[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < 8; i += 4)
        for (int j = 0; j < 2; ++j) {
            b[i + j] = __builtin_shufflevector(a[i + j], a[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            b[i + j + 2] = __builtin_shufflevector(a[i + j], a[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int j = 0; j < 4; ++j) {
        v[j] = __builtin_shufflevector(b[j], b[j + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        v[j + 4] = __builtin_shufflevector(b[j], b[j + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}
#elif defined(__AVX2__)
inline void transpose(Real *v) {
    Real a[4];
    for (int i = 0; i < 4; i += 2) {
        a[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 4, 2, 6);
        a[i + 1] = __builtin_shufflevector(v[i], v[i + 1], 1, 5, 3, 7);
    }
    for (int j = 0; j < 2; ++j) {
        v[j] = __builtin_shufflevector(a[j], a[j + 2], 0, 1, 4, 5);
        v[j + 2] = __builtin_shufflevector(a[j], a[j + 2], 2, 3, 6, 7);
    }
}
#else
inline void transpose(Real *v) {
    Real a = {v[0][0], v[1][0]}, b = {v[0][1], v[1][1]};
    v[0] = a;
    v[1] = b;
}
#endif

}}  // namespace bayeskit
