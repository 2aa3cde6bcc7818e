// What all kernels share: scratch memory, cells of matrices, columns side by side.
#pragma once
#include <stdlib.h>
#include "vectors/lanes.h"

namespace bayeskit { namespace {

constexpr int64_t STRANDS = 8;  // sums run in so many strands whatever the width of a vector, so all clones agree

// Scratch memory that frees itself; null when there is none.
struct Scratch {
    void *data;
    explicit Scratch(int64_t bytes) : data(malloc(size_t(bytes < 64 ? 64 : bytes) + 64)) {}
    ~Scratch() { free(data); }
    Scratch(const Scratch &) = delete;
    Scratch &operator=(const Scratch &) = delete;
    // Aligned to a cache line.
    template <typename T> T *as() const { return (T *) ((uintptr_t(data) + 63) & ~uintptr_t(63)); }
};

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

inline double &cell(Grid g, int64_t i, int64_t k) { return g.data[i * g.row + k * g.column]; }

// How many columns from j on lie side by side in memory, with one stride; at most limit.
inline int64_t adjacent(Columns c, int64_t j, int64_t limit = LANES) {
    int64_t w = 1;
    while (w < limit && j + w < c.count && c.stride[j + w] == c.stride[j] && c.address[j + w] == c.address[j] + 8 * uint64_t(w))
        ++w;
    return w;
}

}}  // namespace bayeskit
