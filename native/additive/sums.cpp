// Sums of rows by the level codes of many columns at once: the gradient of a sum of tables.
#include "dispatch/bindings.h"

namespace bayeskit::additive { namespace {

// With W values of each row, any number where W is 0.
template <size_t W> Status add(Codes c, const int64_t *offset, const double *values, size_t any, double *out) {
    const size_t wide = W ? W : any;
    for (int64_t j = 0; j < c.columns; ++j) {
        const int32_t *code = c.data + j * c.rows;
        int64_t size = offset[j + 1] - offset[j];
        double *table = out + size_t(offset[j]) * wide;
        for (int64_t i = 0; i < c.rows; ++i) {
            int64_t cell = int64_t(code[i]) + 2;
            if (cell < 0 || cell >= size) return Status::code;
            double *to = table + size_t(cell) * wide;
            const double *from = values + size_t(i) * wide;
            for (size_t k = 0; k < wide; ++k) to[k] += from[k];
        }
    }
    return Status::fine;
}

void sum_by_code(Input<int32_t, 2> codes, Input<int64_t, 1> offset, Input<double, 2> values, Output<double, 2> out) {
    Codes c = codes_of(codes);
    size_t wide = values.shape(1);
    require(int64_t(values.shape(0)) == c.rows, "values differ in length from rows");
    require(int64_t(offset.shape(0)) == c.columns + 1, "offset needs one entry more than there are columns");
    require(out.shape(1) == wide, "out must be (cells, values)");
    require(offset.data()[0] >= 0 && offset.data()[c.columns] <= int64_t(out.shape(0)), "a table lies outside the cells");
    for (int64_t j = 0; j < c.columns; ++j) require(offset.data()[j] <= offset.data()[j + 1], "offset must not decrease");
    run([&] {
        switch (wide) {
        case 2: return add<2>(c, offset.data(), values.data(), wide, out.data());
        case 3: return add<3>(c, offset.data(), values.data(), wide, out.data());
        case 4: return add<4>(c, offset.data(), values.data(), wide, out.data());
        default: return add<0>(c, offset.data(), values.data(), wide, out.data());
        }
    });
}

const Binding binding([](nb::module_ &m) {
    m.def("sum_by_code", &sum_by_code, "codes"_a.noconvert(), "offset"_a.noconvert(), "values"_a.noconvert(),
          "out"_a.noconvert(), "Adds the values of each row, (rows, values), to out[offset + code + 2] of every column.");
});

}}  // namespace bayeskit::additive
