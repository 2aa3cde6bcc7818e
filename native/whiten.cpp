// Distances of rows to the means of classes, in units of their covariances.
#include "bindings.h"

namespace {

Array<double, 2> whiten(Input<uint64_t, 1> address, Input<int64_t, 1> stride, int64_t rows,
                        std::optional<Input<int64_t, 1>> row, Input<double, 2> units, double far, Input<double, 3> matrix,
                        Input<double, 2> start, Input<double, 2> shifts, std::optional<Input<int64_t, 2>> place) {
    Columns c = columns_of(address, stride, rows);
    size_t n = row ? row->shape(0) : size_t(rows), classes = matrix.shape(0), d = size_t(c.count);
    require(matrix.shape(1) == d && matrix.shape(2) == d && start.shape(0) == classes && start.shape(1) == d,
            "matrices and starts do not fit the columns");
    require(units.shape(0) == 3 && units.shape(1) == d && shifts.shape(1) == d, "units or shifts do not fit the columns");
    for (size_t i = 0; row && i < n; ++i) require(row->data()[i] >= 0 && row->data()[i] < rows, "there is no such row");
    if (place) {
        require(place->shape(0) == n && place->shape(1) == classes, "places do not fit rows and classes");
        for (size_t i = 0; i < n * classes; ++i) require(place->data()[i] < int64_t(shifts.shape(0)), "no such shift");
    }
    Owned<double, 2> out({n, classes});
    Units how = {units.data(), units.data() + d, units.data() + 2 * d, far};
    Status status;
    {
        nb::gil_scoped_release free;
        status = kernels->whiten(c, row ? row->data() : nullptr, int64_t(n), how, matrix.data(), start.data(),
                                 int64_t(classes), shifts.data(), place ? place->data() : nullptr, out.data);
    }
    check(status);
    return out.array;
}

}  // namespace

void bind_whiten(nb::module_ &m) {
    m.def("mahalanobis", &whiten, "address"_a.noconvert(), "stride"_a.noconvert(), "rows"_a, "row"_a.noconvert().none(),
          "units"_a.noconvert(), "far"_a, "matrix"_a.noconvert(), "start"_a.noconvert(), "shifts"_a.noconvert(),
          "place"_a.noconvert().none(),
          "|W_k z - start_k - shift|^2 of some rows (None: all) in every class, (n, K): W (K, d, d) lower triangular, "
          "z = x * units[0] * units[1] - units[2] within +-far, shift = shifts[place] (n, K), none where place is -1.");
}
