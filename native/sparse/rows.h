// Rows of a matrix that is mostly zeros, by their stored values.
#pragma once
#include "dispatch/bindings.h"

namespace bayeskit::sparse {

using Starts = Input<int64_t, 1>;
using Places = Input<int32_t, 1>;
using Numbers = Input<double, 1>;

// Row i has value[k] in column[k], k from start[i] to start[i + 1]; a column at most once.
struct Rows {
    const int64_t *start;
    const int32_t *column;
    const double *value;
    int64_t count;
};

inline Rows rows_of(const Starts &indptr, const Places &indices, const Numbers &values, int64_t width) {
    require(indptr.shape(0) >= 1 && indices.shape(0) == values.shape(0), "indptr, indices and values do not fit");
    int64_t n = int64_t(indptr.shape(0)) - 1;
    const int64_t *start = indptr.data();
    require(start[0] == 0 && start[n] == int64_t(values.shape(0)), "indptr does not span the values");
    bool rises = true;
    for (int64_t i = 0; i < n; ++i) rises &= start[i] <= start[i + 1];
    require(rises, "indptr falls");
    require(kernels->indices_within(indices.data(), int64_t(indices.shape(0)), width), "an index lies outside the columns");
    return {start, indices.data(), values.data(), n};
}

// What a stored value adds: itself, or one where only presence counts; NaN and negative values nothing.
inline double counted(double x, bool presence) { return x > 0 ? (presence ? 1.0 : x) : 0.0; }

}  // namespace bayeskit::sparse
