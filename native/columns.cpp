// Bindings of the kernels on numeric columns.
#include <cmath>
#include "bindings.h"

namespace {

void scan(Input<uint64_t, 1> address, Input<int64_t, 1> stride, int64_t rows, Output<double, 2> out) {
    Columns c = columns_of(address, stride, rows);
    require(out.shape(0) == 5 && int64_t(out.shape(1)) == c.count, "out must be (5, columns)");
    nb::gil_scoped_release free;
    kernels->scan(c, out.data());
}

void moments(Input<uint64_t, 1> address, Input<int64_t, 1> stride, int64_t rows, Input<int32_t, 1> groups,
             Weights weights, Output<int64_t, 3> present, int64_t low0, Output<int64_t, 3> first, int64_t low1,
             Output<int64_t, 3> second, int64_t low2) {
    Columns c = columns_of(address, stride, rows);
    require(int64_t(groups.shape(0)) == rows, "groups differ in length from rows");
    require(rows <= int64_t(1) << 24, "a call takes at most 2^24 rows");
    const double *w = weights_of(weights, rows);
    Sums s0 = sums_of(present, low0), s1 = sums_of(first, low1), s2 = sums_of(second, low2);
    size_t n = present.shape(0), d = size_t(c.count);
    require(present.shape(1) == d && first.shape(1) == d && second.shape(1) == d, "sums differ from columns");
    require(first.shape(0) == n && second.shape(0) == n, "sums differ in groups");
    require(w || (-low0 >= 0 && -low0 < s0.length), "the limbs of present do not reach 2^0");
    Status status;
    {
        nb::gil_scoped_release free;
        status = kernels->moments(c, groups.data(), w, int64_t(n), s0, s1, s2);
    }
    check(status);
}

bool gaussian(Input<uint64_t, 1> address, Input<int64_t, 1> stride, int64_t rows, Input<double, 1> scale,
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
        status = kernels->gaussian(c, scale.data(), mean.data(), precision.data(), constant.data(), int64_t(k),
                                   grid_of(out));
    }
    if (status == Status::infinite) return true;
    check(status);
    return false;
}

int64_t softmax(Anywhere joint, bool log, std::optional<Output<double, 1>> evidence,
                std::optional<Output<double, 2>> out) {
    int64_t rows = int64_t(joint.shape(0)), classes = int64_t(joint.shape(1));
    require(classes >= 1, "softmax needs a class");
    require(!evidence || int64_t(evidence->shape(0)) == rows, "evidence differs from rows");
    Grid from = grid_of(joint);
    if (out)
        require(int64_t(out->shape(0)) == rows && int64_t(out->shape(1)) == classes, "out differs from joint");
    else
        require(rows < 2 || (from.row == classes && (classes < 2 || from.column == 1)), "in place only in C order");
    int64_t impossible;
    {
        nb::gil_scoped_release free;
        impossible = kernels->softmax(from, rows, classes, log, evidence ? evidence->data() : nullptr,
                                      out ? out->data() : from.data);
    }
    if (impossible < 0) throw std::bad_alloc();
    return impossible;
}

bool back_off(Input<double, 3> terms, Input<double, 2> share, Input<double, 2> mine, Input<double, 2> rest,
              Output<double, 3> out) {
    size_t rows = terms.shape(0), parts = terms.shape(1), classes = terms.shape(2);
    require(out.shape(0) == rows && out.shape(1) == parts && out.shape(2) == classes, "out must be like the terms");
    for (const auto *a : {&share, &mine, &rest})
        require(a->shape(0) == parts && a->shape(1) == classes, "one number for each part and class");
    Status status;
    int64_t odd = 0;
    {
        nb::gil_scoped_release free;
        status = kernels->back_off(terms.data(), int64_t(rows), int64_t(parts), int64_t(classes), share.data(), mine.data(),
                                   rest.data(), out.data(), &odd);
    }
    check(status);
    return odd;
}

}  // namespace

void bind_columns(nb::module_ &m) {
    m.def("column_ranges", &scan, "address"_a.noconvert(), "stride"_a.noconvert(), "rows"_a, "out"_a.noconvert(),
          "Per column: smallest nonzero |x| (inf if none), largest |x|, number of NaN, least and greatest x (inf, -inf "
          "if none).");
    m.def("add_moments", &moments, "address"_a.noconvert(), "stride"_a.noconvert(), "rows"_a, "groups"_a.noconvert(),
          "weights"_a.noconvert().none(), "present"_a.noconvert(), "low0"_a, "first"_a.noconvert(), "low1"_a,
          "second"_a.noconvert(), "low2"_a, "Adds w, w x and w x^2 of every value that is not NaN, exactly.");
    m.def("gaussian_log_density", &gaussian, "address"_a.noconvert(), "stride"_a.noconvert(), "rows"_a, "scale"_a.noconvert(),
          "mean"_a.noconvert(), "precision"_a.noconvert(), "constant"_a.noconvert(), "out"_a.noconvert(),
          "Adds constant - z^2/2, z = (x * scale - mean) * precision, of every column to out (rows, classes); returns "
          "whether a value was infinite.");
    m.def("softmax", &softmax, "joint"_a.noconvert(), "log"_a, "evidence"_a.noconvert().none() = nb::none(),
          "out"_a.noconvert().none() = nb::none(),
          "Posteriors (or their logs) of joint log densities, to out or in place; returns how many rows were impossible.");
    m.def("back_off", &back_off, "terms"_a.noconvert(), "share"_a.noconvert(), "mine"_a.noconvert(), "rest"_a.noconvert(),
          "out"_a.noconvert(),
          "log(mine f + rest sum over classes of share f), log f = terms (rows, parts, classes); 0 where all terms are, NaN "
          "where doubles do not do. Returns whether that is anywhere.");
}
