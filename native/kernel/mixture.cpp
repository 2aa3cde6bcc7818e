// Sums of kernels: bindings, and what is asked of the cells of a column.
#include <algorithm>
#include <cmath>
#include "dispatch/bindings.h"

namespace bayeskit::kernel { namespace {

void check_centres(const double *centre, const double *log_weight, int64_t count, int64_t real) {
    require(count % 8 == 0 && real >= 0 && real <= count, "centres come in eights, the last ones padding");
    require_ascending(centre, size_t(count), true, "centres must ascend");
    for (int64_t k = 0; k < count; ++k) require(log_weight[k] <= 0, "logarithms of weights are at most 0");
}

std::pair<Array<double, 1>, Array<double, 1>> mixture_log_density(Input<double, 1> centre, Input<double, 1> log_weight,
                                                                  int64_t real, double precision, double depth,
                                                                  Input<double, 1> x) {
    size_t count = centre.shape(0), rows = x.shape(0);
    require(log_weight.shape(0) == count, "centres and weights differ in length");
    check_centres(centre.data(), log_weight.data(), int64_t(count), real);
    require(real > 0 && precision > 0 && std::isfinite(precision), "a mixture needs a centre and a bandwidth");
    Owned<double, 1> out({rows}), slope({rows});
    std::vector<double> scratch(count + 8);
    {
        nb::gil_scoped_release free;
        kernels->mixture_log_density(centre.data(), log_weight.data(), int64_t(count), real, precision, depth, x.data(),
                                     int64_t(rows), out.data, slope.data, scratch.data());
    }
    return {out.array, slope.array};
}

std::pair<Array<double, 1>, Array<double, 2>> kernel_moments(Input<double, 1> centre, Input<double, 1> log_weight, int64_t real,
                                                             double precision, double depth, Input<double, 1> place,
                                                             int64_t terms) {
    size_t count = centre.shape(0), places = place.shape(0);
    require(log_weight.shape(0) == count, "centres and weights differ in length");
    check_centres(centre.data(), log_weight.data(), int64_t(count), real);
    require(real > 0 && precision > 0 && std::isfinite(precision), "a mixture needs a centre and a bandwidth");
    require(terms >= 1 && terms <= 64, "1 to 64 terms");
    Owned<double, 1> scale({places});
    Owned<double, 2> moments({places, size_t(terms)});
    std::vector<double> scratch(2 * (count + 8));
    {
        nb::gil_scoped_release free;
        kernels->kernel_moments(centre.data(), log_weight.data(), int64_t(count), real, precision, depth, place.data(),
                                int64_t(places), terms, scale.data, moments.data, scratch.data());
    }
    return {scale.array, moments.array};
}

// log of the sum of kernels at x = place[cell] + t without some of the mass of that cell: of each row the mass left there
// (rest), and in scale and moments what the other cells give (see kernel_moments). Where the series is too short for its
// cell the sum is made anew.
void loo_kernel_sums(Input<double, 1> centre, Input<double, 1> log_weight, int64_t real, double precision,
                     Input<double, 1> place, Input<double, 1> scale, Input<double, 2> moments, Input<bool, 1> good,
                     double heaviest, Input<double, 1> x, Input<int64_t, 1> cell, Input<double, 1> rest,
                     Output<double, 1> out) {
    size_t places = place.shape(0), terms = moments.shape(1), n = x.shape(0);
    require(centre.shape(0) == log_weight.shape(0) && real >= 0 && real <= int64_t(centre.shape(0)), "centres do not fit");
    require(scale.shape(0) == places && moments.shape(0) == places && good.shape(0) == places, "places differ");
    require(terms >= 1, "a series has a term");
    require(cell.shape(0) == n && rest.shape(0) == n && out.shape(0) == n, "rows differ");
    for (size_t i = 0; i < n; ++i) require(cell.data()[i] >= 0 && cell.data()[i] < int64_t(places), "no such cell");
    nb::gil_scoped_release free;
    std::vector<double> factor(terms, 1.0), linear(places);
    for (size_t k = 1; k < terms; ++k) factor[k] = -factor[k - 1] / double(k);
    std::vector<double> series(places * terms);
    for (size_t c = 0; c < places; ++c) {
        linear[c] = scale.data()[c] > -600 ? std::exp(scale.data()[c]) : 0.0;
        for (size_t k = 0; k < terms; ++k) series[c * terms + k] = moments.data()[c * terms + k] * factor[k];
    }
    for (size_t i = 0; i < n; ++i) {
        size_t c = size_t(cell.data()[i]);
        double t = (x.data()[i] - place.data()[c]) * precision, mass = rest.data()[i] / heaviest, level = scale.data()[c];
        double sum;
        if (good.data()[c]) {
            const double *a = series.data() + c * terms;
            sum = a[terms - 1];
            for (size_t k = terms - 1; k--;) sum = sum * t + a[k];
        } else {
            double most = -INFINITY;
            auto exponent = [&](int64_t k) {
                double z = (x.data()[i] - centre.data()[k]) * precision;
                return centre.data()[k] == place.data()[c] ? -INFINITY : log_weight.data()[k] - 0.5 * z * z;
            };
            for (int64_t k = 0; k < real; ++k) most = std::max(most, exponent(k));
            sum = 0;
            for (int64_t k = 0; most > -INFINITY && k < real; ++k) sum += std::exp(exponent(k) - most);
            level = most + 0.5 * t * t;
        }
        bool plain = good.data()[c] && (linear[c] > 0 || mass > 0);
        if (plain && (mass == 0 || linear[c] * sum > 0)) out.data()[i] = std::log(linear[c] * sum + mass) - 0.5 * t * t;
        else {
            double others = sum > 0 ? level + std::log(sum) : -INFINITY, own = mass > 0 ? std::log(mass) : -INFINITY;
            double high = std::max(others, own), low = std::min(others, own);
            out.data()[i] = (low > -INFINITY ? high + std::log1p(std::exp(low - high)) : high) - 0.5 * t * t;
        }
    }
}

void mixture_curves(Input<uint64_t, 1> address, Input<int64_t, 1> stride, int64_t rows, Input<double, 1> scale,
                    Input<double, 1> base, Input<double, 1> centre, Input<double, 1> log_weight, Input<int64_t, 1> offset,
                    Input<int64_t, 1> real, Input<double, 1> precision, Input<double, 1> constant, Input<double, 1> steps,
                    Input<int64_t, 1> stretch, Input<double, 1> low, Input<double, 1> high, Input<int64_t, 1> begin,
                    Input<double, 2> curve, Anywhere out) {
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
    require(o[0] == 0 && o[units] == int64_t(centre.shape(0)) && s[0] == 0 && s[units] == int64_t(stretches) && b[0] == 0 &&
                b[stretches] == int64_t(curve.shape(0)),
            "offsets do not fit");
    // All of them before anything is read by one: a later one may fall.
    require(std::is_sorted(o, o + units + 1) && std::is_sorted(s, s + units + 1) && std::is_sorted(b, b + stretches + 1),
            "offsets must not decrease");
    int64_t longest = 8;
    for (size_t u = 0; u < units; ++u) {
        check_centres(centre.data() + o[u], log_weight.data() + o[u], o[u + 1] - o[u], real.data()[u]);
        longest = std::max(longest, o[u + 1] - o[u]);
        require_ascending(low.data() + s[u], size_t(s[u + 1] - s[u]), true, "stretches must ascend");
        for (int64_t i = s[u]; i < s[u + 1]; ++i) {
            double span = (high.data()[i] - low.data()[i]) * steps.data()[u];
            require(span < double(b[i + 1] - b[i]), "a stretch is longer than its curve");
            require(steps.data()[u] >= 0, "a step is negative");
        }
    }
    Curves t = {centre.data(), log_weight.data(), o, real.data(),  precision.data(), constant.data(), steps.data(), s,
                low.data(),    high.data(),       b, curve.data(), longest};
    run([&] { return kernels->mixture_curves(c, scale.data(), base.data(), t, int64_t(classes), grid_of(out)); });
}

const Binding binding([](nb::module_ &m) {
    m.def("mixture_log_density", &mixture_log_density, "centre"_a.noconvert(), "log_weight"_a.noconvert(), "real"_a,
          "precision"_a, "depth"_a, "x"_a.noconvert(),
          "log of the sum of exp(log_weight - ((x - centre) precision)^2 / 2), and its slope.");
    m.def("kernel_moments", &kernel_moments, "centre"_a.noconvert(), "log_weight"_a.noconvert(), "real"_a, "precision"_a,
          "depth"_a, "place"_a.noconvert(), "terms"_a,
          "What the kernels of all other centres give at each place: the logarithm of a unit, and moments in it.");
    m.def("loo_kernel_sums", &loo_kernel_sums, "centre"_a.noconvert(), "log_weight"_a.noconvert(), "real"_a, "precision"_a,
          "place"_a.noconvert(), "scale"_a.noconvert(), "moments"_a.noconvert(), "good"_a.noconvert(), "heaviest"_a,
          "x"_a.noconvert(), "cell"_a.noconvert(), "rest"_a.noconvert(), "out"_a.noconvert(),
          "log of the sum of kernels at x, with a mass left in the cell of x that is not its own.");
    m.def("mixture_curves", &mixture_curves, "address"_a.noconvert(), "stride"_a.noconvert(), "rows"_a, "scale"_a.noconvert(),
          "base"_a.noconvert(), "centre"_a.noconvert(), "log_weight"_a.noconvert(), "offset"_a.noconvert(),
          "real"_a.noconvert(), "precision"_a.noconvert(), "constant"_a.noconvert(), "steps"_a.noconvert(),
          "stretch"_a.noconvert(), "low"_a.noconvert(), "high"_a.noconvert(), "begin"_a.noconvert(), "curve"_a.noconvert(),
          "out"_a.noconvert(), "Adds the log density of every column and class, from its curve where there is one.");
});

}}  // namespace bayeskit::kernel
