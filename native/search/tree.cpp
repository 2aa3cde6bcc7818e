// A k-d tree: the points in an order in which every node is a stretch of them, and the box of each node.
#include <algorithm>
#include <numeric>
#include "dispatch/bindings.h"

namespace bayeskit::search { namespace {

constexpr int64_t LEAF = 16;  // points of a leaf at most

int64_t depth_for(int64_t count) {
    int64_t depth = 0;
    while (count >> depth > LEAF || (count >> depth == LEAF && count & ((int64_t(1) << depth) - 1))) ++depth;
    return depth;
}

struct Builder {
    const double *x;  // (columns, count)
    int64_t columns, count, depth;
    int64_t *order;
    double *box;

    void build(int64_t node, int64_t level) {
        int64_t i = node - (int64_t(1) << level), from = count * i >> level, to = count * (i + 1) >> level, widest = 0;
        double *low = box + node * 2 * columns, *high = low + columns;
        for (int64_t j = 0; j < columns; ++j) {
            const double *y = x + j * count;
            low[j] = high[j] = y[order[from]];
            for (int64_t t = from + 1; t < to; ++t) {
                low[j] = std::min(low[j], y[order[t]]);
                high[j] = std::max(high[j], y[order[t]]);
            }
            if (high[j] - low[j] > high[widest] - low[widest]) widest = j;
        }
        if (level == depth) return;
        const double *y = x + widest * count;
        std::nth_element(order + from, order + (count * (2 * i + 1) >> (level + 1)), order + to,
                         [y](int64_t a, int64_t b) { return y[a] < y[b] || (y[a] == y[b] && a < b); });
        build(2 * node, level + 1);
        build(2 * node + 1, level + 1);
    }
};

using Tree = std::tuple<Array<double, 2>, Array<int64_t, 1>, Array<double, 3>>;

Tree build_tree(Input<double, 2> points) {
    int64_t columns = int64_t(points.shape(0)), count = int64_t(points.shape(1)), depth = depth_for(count);
    require(columns >= 1 && count >= 1, "a tree needs a point and a column");
    const double *x = points.data();
    bool finite = true;
    for (size_t i = 0; i < points.size(); ++i) finite &= x[i] - x[i] == 0;
    require(finite, "points of a tree are finite");
    size_t nodes = size_t(2) << depth;
    Owned<double, 2> number({size_t(columns), size_t(count)});
    Owned<int64_t, 1> order({size_t(count)});
    Owned<double, 3> box({nodes, 2, size_t(columns)});
    {
        nb::gil_scoped_release free;
        std::iota(order.data, order.data + count, int64_t(0));
        Builder{x, columns, count, depth, order.data, box.data}.build(1, 0);
        for (int64_t j = 0; j < columns; ++j)
            for (int64_t t = 0; t < count; ++t) number.data[j * count + t] = x[j * count + order.data[t]];
    }
    return {number.array, order.array, box.array};
}

void nearest_in_tree(Input<double, 2> queries, Input<double, 2> points, Input<int64_t, 1> order, Input<double, 3> box,
                     bool square, Output<double, 2> distance, Output<int64_t, 2> index) {
    int64_t rows = int64_t(queries.shape(0)), columns = int64_t(points.shape(0)), count = int64_t(points.shape(1));
    int64_t depth = depth_for(count);
    require(count >= 1 && columns >= 1 && int64_t(queries.shape(1)) == columns && int64_t(order.shape(0)) == count,
            "queries, points and order do not fit");
    require(box.shape(0) == size_t(2) << depth && box.shape(1) == 2 && int64_t(box.shape(2)) == columns,
            "boxes do not fit the points");
    require(int64_t(distance.shape(0)) == rows && index.shape(0) == distance.shape(0) && index.shape(1) == distance.shape(1) &&
                index.shape(1) >= 1,
            "distance and index do not fit the queries");
    PointTree tree = {points.data(), order.data(), box.data(), columns, count, depth};
    nb::gil_scoped_release free;
    kernels->nearest_in_tree(queries.data(), rows, tree, square, int64_t(index.shape(1)), distance.data(), index.data());
}

const Binding binding([](nb::module_ &m) {
    m.def("build_tree", &build_tree, "points"_a.noconvert(),
          "A k-d tree of points (columns, points): the points in its order, which each was, and the least and greatest "
          "value of every node in every column (nodes, 2, columns).");
    m.def("nearest_in_tree", &nearest_in_tree, "queries"_a.noconvert(), "points"_a.noconvert(), "order"_a.noconvert(),
          "box"_a.noconvert(), "square"_a, "distance"_a.noconvert(), "index"_a.noconvert(),
          "The nearest points of a tree to each query (rows, columns), ascending, by the sum of squared or absolute gaps; "
          "infinite and -1 where there are no more.");
});

}}  // namespace bayeskit::search
