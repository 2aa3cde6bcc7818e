// Numbers of 64 bits that depend on a seed alone (SplitMix64; Steele, Lea and Flood, OOPSLA 2014).
#pragma once
#include <stdint.h>

namespace bayeskit { namespace {

constexpr uint64_t GOLDEN = 0x9e3779b97f4a7c15u;  // 2^64 over the golden ratio

// Every bit of what comes out hangs on all bits that go in.
inline uint64_t scatter(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

inline double from_0_to_1(uint64_t x) { return double(x >> 11) * 0x1p-53; }

// One number after the other.
struct Random {
    uint64_t state;
    uint64_t next() { return scatter(state += GOLDEN); }
    int64_t below(int64_t n) { return int64_t(next() % uint64_t(n)); }
};

}}  // namespace bayeskit
