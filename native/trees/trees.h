// Binary trees over columns of at most 64 levels, one after the other; what growing and routing share.
#pragma once
#include "dispatch/bindings.h"

namespace bayeskit::trees {

constexpr uint8_t MISSING = 255;  // the code of a value that is not there
constexpr int MOST_LEVELS = 64;   // of a column: a split is a set of them

// A node that splits sends the levels in `mask` to `child`, the others to the next node; a leaf has column -1.
struct Forest {
    const int64_t *start;     // (trees + 1) where the nodes of each tree begin
    const int32_t *column;    // (nodes) or -1
    const uint64_t *mask;     // (nodes)
    const int32_t *child;     // (nodes) counted within the tree; above the node itself
    const uint8_t *majority;  // (nodes) 1 where the first child has most rows: where missing values were counted
    int64_t trees, nodes;
};

using Starts = Input<int64_t, 1>;
using Columns32 = Input<int32_t, 1>;
using Masks = Input<uint64_t, 1>;
using Flags = Input<uint8_t, 1>;

// Every child lies behind its parent within the tree, so that routing ends.
inline Forest forest_of(const Starts &start, const Columns32 &column, const Masks &mask, const Columns32 &child,
                        const Flags &majority, size_t columns) {
    size_t nodes = column.shape(0);
    require(start.shape(0) >= 1 && mask.shape(0) == nodes && child.shape(0) == nodes && majority.shape(0) == nodes,
            "the arrays of nodes differ in length");
    size_t trees = start.shape(0) - 1;
    require(start.data()[0] == 0 && start.data()[trees] == int64_t(nodes), "start must run from 0 to the number of nodes");
    for (size_t t = 0; t < trees; ++t) {
        int64_t begin = start.data()[t], size = start.data()[t + 1] - begin;
        require(size >= 1 && size <= int64_t(nodes), "a tree has no node");
        for (int64_t i = 0; i < size; ++i) {
            int32_t at = column.data()[begin + i], next = child.data()[begin + i];
            require(at >= -1 && at < int32_t(columns), "a node names a column that is not there");
            require(at < 0 || (next > i && next < size - 1), "a child does not lie behind its parent");
        }
    }
    return {start.data(), column.data(), mask.data(), child.data(), majority.data(), int64_t(trees), int64_t(nodes)};
}

// Codes (columns, rows), each below 64 or missing.
struct Levels {
    const uint8_t *data;
    int64_t columns, rows;
};

inline Levels levels_of(const Input<uint8_t, 2> &codes) {
    const uint8_t *c = codes.data();
    size_t n = codes.shape(0) * codes.shape(1);
    bool good = true;
    for (size_t i = 0; i < n; ++i) good &= c[i] < MOST_LEVELS || c[i] == MISSING;
    require(good, "a code is neither below 64 nor missing");
    return {c, int64_t(codes.shape(0)), int64_t(codes.shape(1))};
}

inline bool in_mask(uint64_t mask, uint8_t code) { return (mask >> code) & 1; }

}  // namespace bayeskit::trees
