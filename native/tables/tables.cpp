// Tables of log probabilities by level codes: what rows find there, and how well shrunken tables predict.
#include <algorithm>
#include "dispatch/bindings.h"

namespace bayeskit::tables { namespace {

void lookup_tables(Input<int32_t, 2> codes, Input<int32_t, 1> columns, Input<int64_t, 1> offset, Input<double, 2> table,
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
    run([&] {
        return kernels->lookup_tables(c, columns.data(), offset.data(), size.data(), int64_t(tables), table.data(), cells,
                                      int64_t(table.shape(1)), grid_of(out));
    });
}

// Cells of tables with places in front for codes -2 and -1: the code of a child, and of its parents in steps; parent -1 is
// none.
void table_cells(Input<int32_t, 2> codes, Input<int32_t, 1> child, Input<int32_t, 2> parents, Input<int32_t, 2> steps,
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

Array<double, 3> shrinkage_scores(Input<double, 1> weight, Input<double, 1> mass, Input<double, 1> total, Input<double, 2> base,
                                  Input<int64_t, 1> start, Input<double, 2> pseudo_count) {
    size_t cells = weight.shape(0), tables = pseudo_count.shape(1), bases = base.shape(0);
    require(mass.shape(0) == cells && total.shape(0) == cells && base.shape(1) == cells, "cells differ in number");
    require(start.shape(0) == tables + 1, "start needs one entry more than there are tables");
    require(start.data()[0] == 0 && start.data()[tables] == int64_t(cells), "start must run from 0 to the number of cells");
    for (size_t t = 0; t < tables; ++t) require(start.data()[t] <= start.data()[t + 1], "start must not decrease");
    Owned<double, 3> out({pseudo_count.shape(0), bases, tables});
    ShrinkageTables l = {weight.data(),  mass.data(),         total.data(),
                         base.data(),    start.data(),        int64_t(tables),
                         int64_t(cells), pseudo_count.data(), int64_t(pseudo_count.shape(0)),
                         int64_t(bases)};
    run([&] { return kernels->shrinkage_scores(l, out.data); });
    return out.array;
}

const Binding binding([](nb::module_ &m) {
    m.def("lookup_tables", &lookup_tables, "codes"_a.noconvert(), "columns"_a.noconvert(), "offset"_a.noconvert(),
          "table"_a.noconvert(), "out"_a.noconvert(), "Adds table[offset + code + 2] of every column to out (rows, classes).");
    m.def("table_cells", &table_cells, "codes"_a.noconvert(), "child"_a.noconvert(), "parents"_a.noconvert(),
          "steps"_a.noconvert(), "out"_a.noconvert(),
          "Cells of tables over a child and its parents, from -2 on; parent -1 is none.");
    m.def("shrinkage_scores", &shrinkage_scores, "weight"_a.noconvert(), "mass"_a.noconvert(), "total"_a.noconvert(),
          "base"_a.noconvert(), "start"_a.noconvert(), "pseudo_count"_a.noconvert(),
          "Sums over the cells of each table of weight * log((mass + pseudo_count * base) / (total + pseudo_count)), by it "
          "and base: (strengths, bases, tables).");
});

}}  // namespace bayeskit::tables
