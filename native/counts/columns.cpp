// Ranges and exact moments of numeric columns.
#include "dispatch/bindings.h"

namespace bayeskit::counts { namespace {

void column_ranges(Input<uint64_t, 1> address, Input<int64_t, 1> stride, int64_t rows, Output<double, 2> out) {
    Columns c = columns_of(address, stride, rows);
    require(out.shape(0) == RangeRow::COUNT && int64_t(out.shape(1)) == c.count, "out must be (rows of RangeRow, columns)");
    nb::gil_scoped_release free;
    kernels->column_ranges(c, out.data());
}

void add_moments(Input<uint64_t, 1> address, Input<int64_t, 1> stride, int64_t rows, Input<int32_t, 1> groups, Weights weights,
                 Output<int64_t, 3> present, int64_t low0, Output<int64_t, 3> first, int64_t low1, Output<int64_t, 3> second,
                 int64_t low2) {
    Columns c = columns_of(address, stride, rows);
    require(int64_t(groups.shape(0)) == rows, "groups differ in length from rows");
    require(rows <= int64_t(1) << 24, "a call takes at most 2^24 rows");
    const double *w = weights_of(weights, rows);
    Sums s0 = sums_of(present, low0), s1 = sums_of(first, low1), s2 = sums_of(second, low2);
    size_t n = present.shape(0), d = size_t(c.count);
    require(present.shape(1) == d && first.shape(1) == d && second.shape(1) == d, "sums differ from columns");
    require(first.shape(0) == n && second.shape(0) == n, "sums differ in groups");
    require(w || (-low0 >= 0 && -low0 < s0.length), "the limbs of present do not reach 2^0");
    run([&] { return kernels->add_moments(c, groups.data(), w, int64_t(n), s0, s1, s2); });
}

const Binding binding([](nb::module_ &m) {
    m.def("column_ranges", &column_ranges, "address"_a.noconvert(), "stride"_a.noconvert(), "rows"_a, "out"_a.noconvert(),
          "Rows of RangeRow by column: of |x| that is not 0 (inf if none), number of NaN, least and greatest x (inf, -inf "
          "if none).");
    m.def("add_moments", &add_moments, "address"_a.noconvert(), "stride"_a.noconvert(), "rows"_a, "groups"_a.noconvert(),
          "weights"_a.noconvert().none(), "present"_a.noconvert(), "low0"_a, "first"_a.noconvert(), "low1"_a,
          "second"_a.noconvert(), "low2"_a, "Adds w, w x and w x^2 of every value that is not NaN, exactly.");
});

}}  // namespace bayeskit::counts
