// Hashes that nobody outside the process can foresee: chosen values must not all fall on one place of a table.
#pragma once
#include <cstdint>
#include <random>

namespace bayeskit {

// Drawn once per process; no result depends on it.
struct HashSeed {
    uint64_t start, factor;
};
inline const HashSeed hash_seed = [] {
    std::random_device device;
    auto word = [&] { return uint64_t(device()) << 32 | device(); };
    return HashSeed{word(), word() | 1};
}();

// Both halves of a product of 128 bits, folded.
inline uint64_t folded(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128) a * b;
    return uint64_t(product) ^ uint64_t(product >> 64);
}

}  // namespace bayeskit
