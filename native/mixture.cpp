// Bindings of the sums of kernels.
#include <cmath>
#include "bindings.h"

namespace {

void check_centres(const double *centre, const double *log_weight, int64_t count, int64_t real) {
    require(count % 8 == 0 && real >= 0 && real <= count, "centres come in eights, the last ones padding");
    for (int64_t k = 0; k < count; ++k) {
        require(std::isfinite(centre[k]) && (k == 0 || centre[k - 1] <= centre[k]), "centres must ascend");
        require(log_weight[k] <= 0, "logarithms of weights are at most 0");
    }
}

std::pair<Array<double, 1>, Array<double, 1>> mixture(Input<double, 1> centre, Input<double, 1> log_weight, int64_t real,
                                                      double precision, double depth, Input<double, 1> x) {
    size_t count = centre.shape(0), rows = x.shape(0);
    require(log_weight.shape(0) == count, "centres and weights differ in length");
    check_centres(centre.data(), log_weight.data(), int64_t(count), real);
    require(real > 0 && precision > 0 && std::isfinite(precision), "a mixture needs a centre and a bandwidth");
    Owned<double, 1> out({rows}), slope({rows});
    std::vector<double> scratch(count + 8);
    {
        nb::gil_scoped_release free;
        kernels->mixture(centre.data(), log_weight.data(), int64_t(count), real, precision, depth, x.data(),
                         int64_t(rows), out.data, slope.data, scratch.data());
    }
    return {out.array, slope.array};
}

void curves(Input<uint64_t, 1> address, Input<int64_t, 1> stride, int64_t rows, Input<double, 1> scale,
            Input<double, 1> base, Input<double, 1> centre, Input<double, 1> log_weight, Input<int64_t, 1> offset, Input<int64_t, 1> real,
            Input<double, 1> precision, Input<double, 1> constant, Input<double, 1> steps, Input<int64_t, 1> stretch,
            Input<double, 1> low, Input<double, 1> high, Input<int64_t, 1> begin, Input<double, 2> curve,
            Anywhere out) {
    Columns c = columns_of(address, stride, rows);
    size_t classes = out.shape(1), units = size_t(c.count) * classes, stretches = low.shape(0);
    require(int64_t(out.shape(0)) == rows && int64_t(scale.shape(0)) == c.count && base.shape(0) == scale.shape(0),
            "out, scale or base do not fit");
    require(offset.shape(0) == units + 1 && real.shape(0) == units && precision.shape(0) == units &&
                constant.shape(0) == units && steps.shape(0) == units && stretch.shape(0) == units + 1,
            "one entry per column and class");
    require(high.shape(0) == stretches && begin.shape(0) == stretches + 1 && curve.shape(1) == 4, "stretches differ");
    require(centre.shape(0) == log_weight.shape(0), "centres and weights differ in length");
    const int64_t *o = offset.data(), *s = stretch.data(), *b = begin.data();
    require(o[0] == 0 && o[units] == int64_t(centre.shape(0)) && s[0] == 0 && s[units] == int64_t(stretches) &&
                b[0] == 0 && b[stretches] == int64_t(curve.shape(0)),
            "offsets do not fit");
    int64_t longest = 8;
    for (size_t u = 0; u < units; ++u) {
        require(o[u] <= o[u + 1] && s[u] <= s[u + 1], "offsets must not decrease");
        check_centres(centre.data() + o[u], log_weight.data() + o[u], o[u + 1] - o[u], real.data()[u]);
        longest = std::max(longest, o[u + 1] - o[u]);
        for (int64_t i = s[u]; i < s[u + 1]; ++i) {
            double span = (high.data()[i] - low.data()[i]) * steps.data()[u];
            require(b[i] <= b[i + 1] && span < double(b[i + 1] - b[i]), "a stretch is longer than its curve");
        }
    }
    Curves t = {centre.data(), log_weight.data(), o,           real.data(), precision.data(), constant.data(), steps.data(),
                s,             low.data(),        high.data(), b,           curve.data(),     longest};
    Status status;
    {
        nb::gil_scoped_release free;
        status = kernels->curves(c, scale.data(), base.data(), t, int64_t(classes), grid_of(out));
    }
    check(status);
}

}  // namespace

void bind_mixture(nb::module_ &m) {
    m.def("mixture", &mixture, "centre"_a.noconvert(), "log_weight"_a.noconvert(), "real"_a, "precision"_a, "depth"_a,
          "x"_a.noconvert(), "log of the sum of exp(log_weight - ((x - centre) precision)^2 / 2), and its slope.");
    m.def("curves", &curves, "address"_a.noconvert(), "stride"_a.noconvert(), "rows"_a, "scale"_a.noconvert(),
          "base"_a.noconvert(), "centre"_a.noconvert(), "log_weight"_a.noconvert(), "offset"_a.noconvert(), "real"_a.noconvert(),
          "precision"_a.noconvert(), "constant"_a.noconvert(), "steps"_a.noconvert(), "stretch"_a.noconvert(),
          "low"_a.noconvert(), "high"_a.noconvert(), "begin"_a.noconvert(), "curve"_a.noconvert(),
          "out"_a.noconvert(), "Adds the log density of every column and class, from its curve where there is one.");
}
