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

// Labelled rows that trees are grown on.
struct Table {
    Levels codes;
    const int32_t *label;
    const double *weight;
    const uint8_t *ordered, *sizes;
    int64_t classes;
};

inline Table table_of(const Input<uint8_t, 2> &codes, const Input<int32_t, 1> &label, const Input<double, 1> &weight,
                      const Flags &ordered, const Flags &sizes, int64_t classes) {
    Levels c = levels_of(codes);
    require(int64_t(label.shape(0)) == c.rows && int64_t(weight.shape(0)) == c.rows, "labels or weights differ in length");
    require(int64_t(ordered.shape(0)) == c.columns && int64_t(sizes.shape(0)) == c.columns, "one entry per column is needed");
    require(c.rows >= 1 && c.rows < int64_t(1) << 31, "give 1 to 2^31 rows");
    require(classes >= 1 && classes <= 1 << 20, "classes are out of range");
    require_weights(weight.data(), size_t(c.rows), "a weight is negative or not finite");
    for (int64_t j = 0; j < c.columns; ++j) {
        require(sizes.data()[j] <= MOST_LEVELS, "a column has more than 64 levels");
        for (int64_t i = 0; i < c.rows; ++i) {
            uint8_t code = c.data[j * c.rows + i];
            require(code == MISSING || code < sizes.data()[j], "a code is not below the size of its column");
        }
    }
    for (int64_t i = 0; i < c.rows; ++i)
        require(label.data()[i] >= 0 && label.data()[i] < classes, "a label is not below the number of classes");
    return {c, label.data(), weight.data(), ordered.data(), sizes.data(), classes};
}

// Best first; the one made first where gains are equal.
struct Waiting {
    double gain;
    int64_t node;
    bool operator<(const Waiting &other) const { return gain != other.gain ? gain < other.gain : node > other.node; }
};

template <typename T> Array<T, 1> joined(const std::vector<std::vector<T>> &parts) {
    size_t n = 0, at = 0;
    for (const auto &part : parts) n += part.size();
    Owned<T, 1> out({n});
    for (const auto &part : parts) at = size_t(std::copy(part.begin(), part.end(), out.data + at) - out.data);
    return out.array;
}

}  // namespace bayeskit::trees
