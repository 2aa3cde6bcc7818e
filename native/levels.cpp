// Bindings of the kernels on level codes.
#include <algorithm>
#include "bindings.h"

namespace {

Codes codes_of(const Input<int32_t, 2> &codes) {
    return {codes.data(), int64_t(codes.shape(0)), int64_t(codes.shape(1))};
}

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

void count(Input<int32_t, 2> codes, Input<int32_t, 1> groups, Weights weights, Input<int32_t, 1> columns,
           Input<int64_t, 1> start, Input<int32_t, 1> size, Input<int64_t, 1> offset, Output<int64_t, 3> limbs,
           int64_t low) {
    Codes c = codes_of(codes);
    check_rows(c.rows, groups.shape(0));
    const double *w = weights_of(weights, c.rows);
    Sums s = sums_of(limbs, low);
    require(w || (-low >= 0 && -low < s.length), "the limbs do not reach 2^0");
    require(start.shape(0) == offset.shape(0) + 1, "start needs one entry more than offset");
    require(int64_t(size.shape(0)) == c.columns, "size needs one entry per column");
    Tables t = {columns.data(), start.data(), size.data(), offset.data(), int64_t(offset.shape(0)),
                int64_t(limbs.shape(1))};
    check_tables(t, int64_t(columns.shape(0)), c.columns);
    Status status;
    {
        nb::gil_scoped_release free;
        status = kernels->count(c, groups.data(), w, int64_t(limbs.shape(0)), t, s);
    }
    check(status);
}

void pairs(Input<int32_t, 2> codes, Input<int32_t, 1> groups, Input<int32_t, 2> pairs, Input<int32_t, 1> size,
           Input<int64_t, 1> offset, Output<int64_t, 3> limbs, int64_t low) {
    Codes c = codes_of(codes);
    check_rows(c.rows, groups.shape(0));
    Sums s = sums_of(limbs, low);
    require(-low >= 0 && -low < s.length, "the limbs do not reach 2^0");
    require(pairs.shape(1) == 2 && pairs.shape(0) == offset.shape(0), "pairs must be (tables, 2)");
    require(int64_t(size.shape(0)) == c.columns, "size needs one entry per column");
    std::vector<int64_t> start(pairs.shape(0) + 1);
    for (size_t u = 0; u < start.size(); ++u) start[u] = int64_t(2 * u);
    Tables t = {pairs.data(), start.data(), size.data(), offset.data(), int64_t(offset.shape(0)),
                int64_t(limbs.shape(1))};
    check_tables(t, 2 * t.count, c.columns);
    Status status;
    {
        nb::gil_scoped_release free;
        status = kernels->pairs(c, groups.data(), int64_t(limbs.shape(0)), t, s);
    }
    check(status);
}

void lookup(Input<int32_t, 2> codes, Input<int32_t, 1> columns, Input<int64_t, 1> offset, Input<double, 2> table,
            Anywhere out) {
    Codes c = codes_of(codes);
    size_t tables = columns.shape(0);
    int64_t cells = int64_t(table.shape(0));
    require(offset.shape(0) == tables, "offset needs one entry per table");
    require(int64_t(out.shape(0)) == c.rows && out.shape(1) == table.shape(1), "out must be (rows, classes)");
    // A table ends where the next one begins, in order of place.
    std::vector<int64_t> ends(offset.data(), offset.data() + tables), size(tables);
    ends.push_back(cells);
    std::sort(ends.begin(), ends.end());
    for (size_t t = 0; t < tables; ++t) {
        int64_t at = offset.data()[t];
        require(columns.data()[t] >= 0 && columns.data()[t] < c.columns, "a table names a column that is not there");
        require(at >= 0 && at < cells, "a table lies outside the cells");
        size[t] = *std::upper_bound(ends.begin(), ends.end(), at) - at;
    }
    Status status;
    {
        nb::gil_scoped_release free;
        status = kernels->lookup(c, columns.data(), offset.data(), size.data(), int64_t(tables), table.data(), cells,
                                 int64_t(table.shape(1)), grid_of(out));
    }
    check(status);
}

// Cells of tables with places in front for codes -2 and -1: the code of a child, and of its parents in steps; parent -1 is
// none.
void cells(Input<int32_t, 2> codes, Input<int32_t, 1> child, Input<int32_t, 2> parents, Input<int32_t, 2> steps,
           Output<int32_t, 2> out) {
    Codes c = codes_of(codes);
    size_t tables = child.shape(0), most = parents.shape(1);
    require(parents.shape(0) == tables && steps.shape(0) == tables && steps.shape(1) == most,
            "parents and steps must be (tables, most parents)");
    require(out.shape(0) == tables && int64_t(out.shape(1)) == c.rows, "out must be (tables, rows)");
    for (size_t t = 0; t < tables; ++t)
        require(child.data()[t] >= 0 && child.data()[t] < c.columns, "a table names a column that is not there");
    for (size_t i = 0; i < tables * most; ++i)
        require(parents.data()[i] >= -1 && parents.data()[i] < c.columns, "a table names a column that is not there");
    nb::gil_scoped_release free;
    for (size_t t = 0; t < tables; ++t) {
        int32_t *to = out.data() + int64_t(t) * c.rows;
        const int32_t *own = c.data + child.data()[t] * c.rows;
        std::copy(own, own + c.rows, to);
        for (size_t p = t * most; p < (t + 1) * most; ++p) {
            if (parents.data()[p] < 0) continue;
            const int32_t *code = c.data + parents.data()[p] * c.rows;
            uint32_t step = uint32_t(steps.data()[p]);  // wrong codes may wrap; whoever looks cells up refuses them
            for (int64_t i = 0; i < c.rows; ++i) to[i] = int32_t(uint32_t(to[i]) + (uint32_t(code[i]) + 2) * step);
        }
    }
}

Array<double, 3> lean(Input<double, 1> weight, Input<double, 1> mass, Input<double, 1> total, Input<double, 2> known,
                      Input<int64_t, 1> start, Input<double, 2> strength) {
    size_t cells = weight.shape(0), tables = strength.shape(1), bases = known.shape(0);
    require(mass.shape(0) == cells && total.shape(0) == cells && known.shape(1) == cells, "cells differ in number");
    require(start.shape(0) == tables + 1, "start needs one entry more than there are tables");
    require(start.data()[0] == 0 && start.data()[tables] == int64_t(cells), "start must run from 0 to the number of cells");
    for (size_t t = 0; t < tables; ++t) require(start.data()[t] <= start.data()[t + 1], "start must not decrease");
    Owned<double, 3> out({strength.shape(0), bases, tables});
    Leaning l = {weight.data(), mass.data(), total.data(), known.data(), start.data(), int64_t(tables), int64_t(cells),
                 strength.data(), int64_t(strength.shape(0)), int64_t(bases)};
    Status status;
    {
        nb::gil_scoped_release free;
        status = kernels->lean(l, out.data);
    }
    check(status);
    return out.array;
}

int64_t integers(Input<uint64_t, 1> address, Input<int64_t, 1> stride, int64_t rows, Input<int64_t, 1> base,
                 Input<int64_t, 1> start, Input<int32_t, 1> table, Output<int32_t, 2> out) {
    Columns c = columns_of(address, stride, rows);
    require(int64_t(base.shape(0)) == c.count && int64_t(start.shape(0)) == c.count + 1, "one base per column");
    require(int64_t(out.shape(0)) == c.count && int64_t(out.shape(1)) == rows, "out must be (columns, rows)");
    const int64_t *s = start.data();
    require(s[0] >= 0 && s[c.count] <= int64_t(table.shape(0)), "start leaves the table");
    for (int64_t j = 0; j < c.count; ++j) require(s[j] <= s[j + 1], "start must not decrease");
    int64_t unseen;
    {
        nb::gil_scoped_release free;
        unseen = kernels->integers(c, base.data(), s, table.data(), out.data());
    }
    if (unseen < 0) throw std::bad_alloc();
    return unseen;
}

}  // namespace

void bind_levels(nb::module_ &m) {
    m.def("count_tables", &count, "codes"_a.noconvert(), "groups"_a.noconvert(), "weights"_a.noconvert().none(),
          "columns"_a.noconvert(), "start"_a.noconvert(), "size"_a.noconvert(), "offset"_a.noconvert(),
          "limbs"_a.noconvert(), "low"_a, "Counts level codes by group into tables of any number of columns.");
    m.def("count_pairs", &pairs, "codes"_a.noconvert(), "groups"_a.noconvert(), "pairs"_a.noconvert(),
          "size"_a.noconvert(), "offset"_a.noconvert(), "limbs"_a.noconvert(), "low"_a,
          "Counts many pairs of columns at once; the same result as count.");
    m.def("lookup_tables", &lookup, "codes"_a.noconvert(), "columns"_a.noconvert(), "offset"_a.noconvert(),
          "table"_a.noconvert(), "out"_a.noconvert(),
          "Adds table[offset + code + 2] of every column to out (rows, classes).");
    m.def("table_cells", &cells, "codes"_a.noconvert(), "child"_a.noconvert(), "parents"_a.noconvert(), "steps"_a.noconvert(),
          "out"_a.noconvert(), "Cells of tables over a child and its parents, from -2 on; parent -1 is none.");
    m.def("shrinkage_scores", &lean, "weight"_a.noconvert(), "mass"_a.noconvert(), "total"_a.noconvert(), "known"_a.noconvert(),
          "start"_a.noconvert(), "strength"_a.noconvert(),
          "Sums over the cells of each table of weight * log((mass + strength * known) / (total + strength)), by strength "
          "and base: (strengths, bases, tables).");
    m.def("integer_codes", &integers, "address"_a.noconvert(), "stride"_a.noconvert(), "rows"_a, "base"_a.noconvert(),
          "start"_a.noconvert(), "table"_a.noconvert(), "out"_a.noconvert(),
          "Level codes of integer columns through tables; returns how many were never seen (-2).");
}
