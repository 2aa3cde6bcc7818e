// Numbers on another scale: through knots, straight between them, in whole grains.
#include <cmath>
#include "dispatch/bindings.h"

namespace bayeskit::normal { namespace {

// The rounding of numpy.interp, bit by bit, so that what is written as a program elsewhere gives the same.
double between(const double *value, const double *score, int64_t j, double x) {
    if (value[j] == x) return score[j];
    double slope = (score[j + 1] - score[j]) / (value[j + 1] - value[j]);
    double found = slope * (x - value[j]) + score[j];
    if (found != found) found = slope * (x - value[j + 1]) + score[j + 1];
    return found != found && score[j] == score[j + 1] ? score[j] : found;
}

void scale_numbers(nb::ndarray<const double, nb::ndim<1>, nb::device::cpu> x, Input<double, 1> values, Input<double, 1> scores,
                   double missing, double grains, Output<double, 1> out) {
    size_t n = x.shape(0);
    int64_t knots = int64_t(values.shape(0)), stride = x.stride(0);
    require(knots >= 1 && scores.shape(0) == values.shape(0), "give as many scores as values, one at least");
    require(out.shape(0) == n, "out differs in length");
    require(grains > 0, "grains must be above 0");
    const double *value = values.data(), *score = scores.data();
    for (int64_t j = 1; j < knots; ++j) require(value[j - 1] <= value[j], "values must ascend");
    nb::gil_scoped_release free;
    for (size_t i = 0; i < n; ++i) {
        double v = x.data()[int64_t(i) * stride], found;
        const double *at = value;  // the last value that is not above v, or the first
        for (int64_t left = knots; left > 1;) {
            int64_t half = left / 2;
            at += at[half] <= v ? half : 0;
            left -= half;
        }
        int64_t j = at - value;
        if (v != v) found = missing;
        else if (v < *value) found = *score;
        else if (j + 1 == knots) found = score[j];
        else found = between(value, score, j, v);
        out.data()[i] = std::floor((found != found ? missing : found) * grains + 0.5) / grains;
    }
}

const Binding binding([](nb::module_ &m) {
    m.def("scale_numbers", &scale_numbers, "x"_a.noconvert(), "values"_a.noconvert(), "scores"_a.noconvert(), "missing"_a,
          "grains"_a, "out"_a.noconvert(),
          "Where each number is on a scale through knots (numpy.interp), in whole grains; `missing` for a NaN.");
});

}}  // namespace bayeskit::normal
