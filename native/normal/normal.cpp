// Normal columns: their log densities, those without each row's own values, and Mahalanobis distances.
#include <algorithm>
#include <cmath>
#include "dispatch/bindings.h"

namespace bayeskit::normal { namespace {

bool gaussian_log_density(Input<uint64_t, 1> address, Input<int64_t, 1> stride, int64_t rows, Input<double, 1> scale,
                          Input<double, 2> mean, Input<double, 2> precision, Input<double, 2> constant, Anywhere out) {
    Columns c = columns_of(address, stride, rows);
    size_t d = size_t(c.count), k = out.shape(1);
    require(scale.shape(0) == d && mean.shape(0) == d && precision.shape(0) == d && constant.shape(0) == d,
            "scale, mean, precision and constant need one row per column");
    require(mean.shape(1) == k && precision.shape(1) == k && constant.shape(1) == k, "classes differ");
    require(int64_t(out.shape(0)) == rows, "out differs from rows");
    for (size_t j = 0; j < d; ++j) require(std::isfinite(scale.data()[j]) && scale.data()[j] > 0, "a scale is not above 0");
    for (size_t u = 0; u < d * k; ++u) {
        require(std::isfinite(mean.data()[u]) && std::isfinite(constant.data()[u]), "a mean or constant is not finite");
        require(!std::isnan(precision.data()[u]), "a precision is NaN");
    }
    Status status;
    {
        nb::gil_scoped_release free;
        status = kernels->gaussian_log_density(c, scale.data(), mean.data(), precision.data(), constant.data(), int64_t(k),
                                               grid_of(out));
    }
    if (status == Status::infinite) return true;
    check(status);
    return false;
}

LooNormals loo_normals_of(const Input<double, 3> &by_class, const Input<bool, 2> &delicate, const Input<double, 2> &by_column,
                          double heaviest, size_t classes, size_t d) {
    require(by_class.shape(0) == LooClassRow::COUNT && by_class.shape(1) == classes && by_class.shape(2) == d,
            "by_class must be (rows of LooClassRow, classes, columns)");
    require(delicate.shape(0) == classes && delicate.shape(1) == d, "delicate must be (classes, columns)");
    require(by_column.shape(0) == LooColumnRow::COUNT && by_column.shape(1) == d,
            "by_column must be (rows of LooColumnRow, columns)");
    auto of_class = [&](LooClassRow::Row row) { return by_class.data() + size_t(row) * classes * d; };
    auto of_column = [&](LooColumnRow::Row row) { return by_column.data() + size_t(row) * d; };
    LooNormals p;
    p.weight = of_class(LooClassRow::WEIGHT);
    p.mean = of_class(LooClassRow::MEAN);
    p.mean_error = of_class(LooClassRow::MEAN_ERROR);
    p.density_mean = of_class(LooClassRow::DENSITY_MEAN);
    p.precision = of_class(LooClassRow::DENSITY_PRECISION);
    p.constant = of_class(LooClassRow::DENSITY_CONSTANT);
    p.variance_ratio = of_class(LooClassRow::VARIANCE_RATIO);
    p.delicate = delicate.data();
    p.scale = of_column(LooColumnRow::SCALE);
    p.total_weight = of_column(LooColumnRow::WEIGHT);
    p.grand_mean = of_column(LooColumnRow::MEAN);
    p.grand_mean_error = of_column(LooColumnRow::MEAN_ERROR);
    p.total_deviation = of_column(LooColumnRow::DEVIATION);
    p.within = of_column(LooColumnRow::WITHIN);
    p.total_constant = of_column(LooColumnRow::CONSTANT);
    p.heaviest = heaviest;
    return p;
}

Array<int64_t, 1> loo_gaussian(Input<uint64_t, 1> address, Input<int64_t, 1> stride, int64_t rows, Input<int32_t, 1> groups,
                               Weights weights, Input<double, 3> by_class, Input<bool, 2> delicate, Input<double, 2> by_column,
                               double heaviest, Anywhere out) {
    Columns c = columns_of(address, stride, rows);
    size_t classes = out.shape(1);
    require(int64_t(groups.shape(0)) == rows && int64_t(out.shape(0)) == rows, "groups or out differ from rows");
    const double *w = weights_of(weights, rows);
    LooNormals p = loo_normals_of(by_class, delicate, by_column, heaviest, classes, size_t(c.count));
    std::vector<int64_t> doubtful(size_t(rows) + 1);
    int64_t found = 0;
    run([&] { return kernels->loo_gaussian(c, groups.data(), w, p, int64_t(classes), grid_of(out), doubtful.data(), &found); });
    Owned<int64_t, 1> named({size_t(found)});
    std::copy(doubtful.begin(), doubtful.begin() + found, named.data);
    return named.array;
}

Array<bool, 2> loo_gaussian_odds(Input<uint64_t, 1> address, Input<int64_t, 1> stride, int64_t rows, Input<int32_t, 1> groups,
                                 Weights weights, Input<double, 3> by_class, Input<bool, 2> delicate,
                                 Input<double, 2> by_column, double heaviest, double floor, Spaced out) {
    Columns c = columns_of(address, stride, rows);
    size_t d = size_t(c.count), classes = out.shape(1) + 1;
    require(int64_t(groups.shape(0)) == rows && int64_t(out.shape(2)) == rows && out.shape(0) == d && out.stride(2) == 1,
            "groups or out differ from rows");
    const double *w = weights_of(weights, rows);
    LooNormals p = loo_normals_of(by_class, delicate, by_column, heaviest, classes, d);
    Owned<bool, 2> doubt({d, size_t(rows)});
    run([&] {
        return kernels->loo_gaussian_odds(c, groups.data(), w, p, int64_t(classes), floor, out.data(), out.stride(0),
                                          out.stride(1), doubt.data);
    });
    return doubt.array;
}

Array<double, 2> mahalanobis(Input<uint64_t, 1> address, Input<int64_t, 1> stride, int64_t rows,
                             std::optional<Input<int64_t, 1>> row, Input<double, 2> units, double limit,
                             Input<double, 3> matrix, Input<double, 2> whitened_mean, Input<double, 2> shifts,
                             std::optional<Input<int64_t, 2>> shift_index) {
    Columns c = columns_of(address, stride, rows);
    size_t n = row ? row->shape(0) : size_t(rows), classes = matrix.shape(0), d = size_t(c.count);
    require(matrix.shape(1) == d && matrix.shape(2) == d && whitened_mean.shape(0) == classes && whitened_mean.shape(1) == d,
            "matrices and starts do not fit the columns");
    require(units.shape(0) == UnitRow::COUNT && units.shape(1) == d && shifts.shape(1) == d,
            "units or shifts do not fit the columns");
    for (size_t i = 0; row && i < n; ++i) require(row->data()[i] >= 0 && row->data()[i] < rows, "there is no such row");
    if (shift_index) {
        require(shift_index->shape(0) == n && shift_index->shape(1) == classes, "places do not fit rows and classes");
        for (size_t i = 0; i < n * classes; ++i) require(shift_index->data()[i] < int64_t(shifts.shape(0)), "no such shift");
    }
    Owned<double, 2> out({n, classes});
    const double *u = units.data();
    Units how = {u + UnitRow::SCALE * d, u + UnitRow::SCALE_AGAIN * d, u + UnitRow::ORIGIN * d, limit};
    run([&] {
        return kernels->mahalanobis(c, row ? row->data() : nullptr, int64_t(n), how, matrix.data(), whitened_mean.data(),
                                    int64_t(classes), shifts.data(), shift_index ? shift_index->data() : nullptr, out.data);
    });
    return out.array;
}

const Binding binding([](nb::module_ &m) {
    m.def("gaussian_log_density", &gaussian_log_density, "address"_a.noconvert(), "stride"_a.noconvert(), "rows"_a,
          "scale"_a.noconvert(), "mean"_a.noconvert(), "precision"_a.noconvert(), "constant"_a.noconvert(), "out"_a.noconvert(),
          "Adds constant - z^2/2, z = (x * scale - mean) * precision, of every column to out (rows, classes); returns "
          "whether a value was infinite.");
    m.def("loo_gaussian", &loo_gaussian, "address"_a.noconvert(), "stride"_a.noconvert(), "rows"_a, "groups"_a.noconvert(),
          "weights"_a.noconvert().none(), "by_class"_a.noconvert(), "delicate"_a.noconvert(), "by_column"_a.noconvert(),
          "heaviest"_a, "out"_a.noconvert(),
          "Adds to out (rows, classes) what log densities of normal columns change by without the row's own values; "
          "returns the rows it cannot be sure of, which it leaves as they are.");
    m.def("loo_gaussian_odds", &loo_gaussian_odds, "address"_a.noconvert(), "stride"_a.noconvert(), "rows"_a,
          "groups"_a.noconvert(), "weights"_a.noconvert().none(), "by_class"_a.noconvert(), "delicate"_a.noconvert(),
          "by_column"_a.noconvert(), "heaviest"_a, "floor"_a, "out"_a.noconvert(),
          "Adds to out (columns, classes - 1, rows) the log-odds of the other classes against a row's own, by each normal "
          "column alone and without the row, log densities being -floor at least; says (columns, rows) where it cannot be "
          "sure, and leaves out as it is there.");
    m.def("mahalanobis", &mahalanobis, "address"_a.noconvert(), "stride"_a.noconvert(), "rows"_a, "row"_a.noconvert().none(),
          "units"_a.noconvert(), "limit"_a, "matrix"_a.noconvert(), "whitened_mean"_a.noconvert(), "shifts"_a.noconvert(),
          "shift_index"_a.noconvert().none(),
          "|W_k z - whitened_mean_k - shift|^2 of some rows (None: all) in every class, (n, K): W (K, d, d) lower triangular, "
          "z = x * SCALE * SCALE_AGAIN - ORIGIN (UnitRow) within +-limit, shift = shifts[shift_index] (n, K), none where that "
          "is -1.");
});

}}  // namespace bayeskit::normal
