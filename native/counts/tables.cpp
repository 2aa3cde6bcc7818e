// Counts of level codes.
#include <algorithm>
#include "dispatch/bindings.h"

namespace bayeskit::counts { namespace {

// Every table must lie inside the cells: its size is the product of the sizes of its columns.
void check_tables(const Tables &t, int64_t used, int64_t columns) {
    require(t.start[0] == 0 && t.start[t.count] == used, "start must run from 0 to the number of columns used");
    for (int64_t j = 0; j < columns; ++j) require(t.size[j] >= 0, "a size is negative");
    for (int64_t u = 0; u < t.count; ++u) {
        // A table over no column counts the rows of each group.
        require(t.start[u] <= t.start[u + 1] && t.start[u + 1] <= used, "start must not decrease");
        bool empty = false;
        for (int64_t a = t.start[u]; a < t.start[u + 1]; ++a) {
            require(t.columns[a] >= 0 && t.columns[a] < columns, "a table names a column that is not there");
            empty |= t.size[t.columns[a]] == 0;
        }
        // A column without a level yet makes its tables empty, however large the others are.
        int64_t cells = empty ? 0 : 1;
        for (int64_t a = t.start[u]; cells && a < t.start[u + 1]; ++a) {
            cells *= t.size[t.columns[a]];
            require(cells <= t.cells, "a table has more cells than the sums");
        }
        require(t.offset[u] >= 0 && t.offset[u] <= t.cells - cells, "a table does not fit the sums");
    }
}

void check_rows(int64_t rows, size_t groups) {
    require(int64_t(groups) == rows, "groups differ in length from rows");
    require(rows <= int64_t(1) << 24, "a call takes at most 2^24 rows");
}

void count_tables(Input<int32_t, 2> codes, Input<int32_t, 1> groups, Weights weights, Input<int32_t, 1> columns,
                  Input<int64_t, 1> start, Input<int32_t, 1> size, Input<int64_t, 1> offset, Output<int64_t, 3> limbs,
                  int64_t low) {
    Codes c = codes_of(codes);
    check_rows(c.rows, groups.shape(0));
    const double *w = weights_of(weights, c.rows);
    Sums s = sums_of(limbs, low);
    require(w || (-low >= 0 && -low < s.length), "the limbs do not reach 2^0");
    require(start.shape(0) == offset.shape(0) + 1, "start needs one entry more than offset");
    require(int64_t(size.shape(0)) == c.columns, "size needs one entry per column");
    Tables t = {columns.data(), start.data(), size.data(), offset.data(), int64_t(offset.shape(0)), int64_t(limbs.shape(1))};
    check_tables(t, int64_t(columns.shape(0)), c.columns);
    run([&] { return kernels->count_tables(c, groups.data(), w, int64_t(limbs.shape(0)), t, s); });
}

void count_pairs(Input<int32_t, 2> codes, Input<int32_t, 1> groups, Input<int32_t, 2> pairs, Input<int32_t, 1> size,
                 Input<int64_t, 1> offset, Output<int64_t, 3> limbs, int64_t low) {
    Codes c = codes_of(codes);
    check_rows(c.rows, groups.shape(0));
    Sums s = sums_of(limbs, low);
    require(-low >= 0 && -low < s.length, "the limbs do not reach 2^0");
    require(pairs.shape(1) == 2 && pairs.shape(0) == offset.shape(0), "pairs must be (tables, 2)");
    require(int64_t(size.shape(0)) == c.columns, "size needs one entry per column");
    std::vector<int64_t> start(pairs.shape(0) + 1);
    for (size_t u = 0; u < start.size(); ++u) start[u] = int64_t(2 * u);
    Tables t = {pairs.data(), start.data(), size.data(), offset.data(), int64_t(offset.shape(0)), int64_t(limbs.shape(1))};
    check_tables(t, 2 * t.count, c.columns);
    run([&] { return kernels->count_pairs(c, groups.data(), int64_t(limbs.shape(0)), t, s); });
}

const Binding binding([](nb::module_ &m) {
    m.def("count_tables", &count_tables, "codes"_a.noconvert(), "groups"_a.noconvert(), "weights"_a.noconvert().none(),
          "columns"_a.noconvert(), "start"_a.noconvert(), "size"_a.noconvert(), "offset"_a.noconvert(), "limbs"_a.noconvert(),
          "low"_a, "Counts level codes by group into tables of any number of columns.");
    m.def("count_pairs", &count_pairs, "codes"_a.noconvert(), "groups"_a.noconvert(), "pairs"_a.noconvert(),
          "size"_a.noconvert(), "offset"_a.noconvert(), "limbs"_a.noconvert(), "low"_a,
          "Counts many pairs of columns at once; the same result as count.");
});

}}  // namespace bayeskit::counts
