// One clone of the kernels: compiled several times with different instruction sets and CLONE names.
// No std:: templates or shared inline functions here: the linker keeps one copy of those, and it might
// be the AVX one, which would then run on a CPU without AVX. Only anonymous namespaces and builtins.
#include <stdlib.h>
#include "lanes.h"

namespace {

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

inline double number_at(uint64_t address, int64_t offset) {
    double x;
    __builtin_memcpy(&x, (const char *) address + offset, 8);
    return x;
}

}  // namespace

#include "scan.inl"
#include "moments.inl"
#include "gaussian.inl"
#include "tables.inl"
#include "pairs.inl"
#include "lookup.inl"
#include "softmax.inl"
#include "mixture.inl"
#include "around.inl"
#include "gauss.inl"
#include "arrays.inl"
#include "leave.inl"
#include "alone.inl"
#include "selection.inl"
#include "lean.inl"
#include "gram.inl"
#include "whiten.inl"
#include "integers.inl"
#include "propagate.inl"
#include "cells.inl"
#include "nearest.inl"
#include "stored.inl"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define JOIN_OF(a, b) a##b
#define JOIN(a, b) JOIN_OF(a, b)

extern const Kernels JOIN(kernels_, CLONE);
const Kernels JOIN(kernels_, CLONE) = {TEXT(CLONE), scan,    moments,  gaussian, leave, count, pairs, lookup,
                                       softmax, integers, mixture, around, gauss, gauss_even, exponentials, logarithms,
                                       class_parts, backed_off, back_off, gamma_shapes, curves, propagate, selection,
                                       cells, selection_step, selection_factors, selection_quick, odds, leave_odds,
                                       gram, whiten, lean, apart, within, stored,
                                       add_pairs};
