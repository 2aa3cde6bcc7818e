// Hashes that nobody outside the process can foresee: chosen values must not all fall on one place of a table.
#pragma once
#include <cstdint>

struct Seed {
    uint64_t start, factor;
};
extern const Seed seed;  // drawn once per process; no result depends on it

// Both halves of a product of 128 bits, folded.
inline uint64_t folded(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128) a * b;
    return uint64_t(product) ^ uint64_t(product >> 64);
}
