// What GNU compilers have built in, for those that do not. Clones may use nothing else from outside: see dispatch/clone.cpp.
#pragma once
#include <stdint.h>

#if defined(__GNUC__)
#define SEPARATE __attribute__((noinline))
#else
#define SEPARATE
#include <intrin.h>
#include <math.h>
#include <string.h>
#define __builtin_memcpy memcpy
#define __builtin_fabs fabs
#define __builtin_ceil ceil
#define __builtin_floor floor
#define __builtin_sqrt sqrt
#define __builtin_inf() ((double) INFINITY)
#define __builtin_nan(text) ((double) NAN)
#define __builtin_prefetch(...) ((void) 0)
static inline int __builtin_clz(unsigned x) {
    unsigned long i;
    _BitScanReverse(&i, x);
    return 31 - int(i);
}
static inline int __builtin_clzll(unsigned long long x) {
    unsigned long i;
    _BitScanReverse64(&i, x);
    return 63 - int(i);
}
static inline int __builtin_ctzll(unsigned long long x) {
    unsigned long i;
    _BitScanForward64(&i, x);
    return int(i);
}
static inline bool __builtin_mul_overflow(size_t a, size_t b, size_t *product) {
    *product = a * b;
    return a && *product / a != b;
}
static inline int __builtin_popcountll(unsigned long long x) {
    int n = 0;
    for (; x; x &= x - 1) ++n;
    return n;
}
#endif
