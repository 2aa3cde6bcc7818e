// Bindings of leave-one-out: what a row's own value changes, and what the rounding of means lost.
#include <algorithm>
#include <cmath>
#include "bindings.h"
#include "settle.h"

namespace {

Leaving leaving_of(const Input<double, 3> &by_class, const Input<bool, 2> &delicate, const Input<double, 2> &by_column,
                   double most, size_t classes, size_t d) {
    require(by_class.shape(0) == 7 && by_class.shape(1) == classes && by_class.shape(2) == d,
            "by_class must be (7, classes, columns)");
    require(delicate.shape(0) == classes && delicate.shape(1) == d, "delicate must be (classes, columns)");
    require(by_column.shape(0) == 7 && by_column.shape(1) == d, "by_column must be (7, columns)");
    const double *k = by_class.data(), *j = by_column.data();
    size_t n = classes * d;
    return {k, k + n, k + 2 * n, k + 3 * n, k + 4 * n, k + 5 * n, k + 6 * n, delicate.data(),
            j, j + d, j + 2 * d, j + 3 * d, j + 4 * d, j + 5 * d, j + 6 * d, most};
}

Array<int64_t, 1> leave(Input<uint64_t, 1> address, Input<int64_t, 1> stride, int64_t rows, Input<int32_t, 1> groups,
                        Weights weights, Input<double, 3> by_class, Input<bool, 2> delicate, Input<double, 2> by_column,
                        double most, Anywhere out) {
    Columns c = columns_of(address, stride, rows);
    size_t classes = out.shape(1);
    require(int64_t(groups.shape(0)) == rows && int64_t(out.shape(0)) == rows, "groups or out differ from rows");
    const double *w = weights_of(weights, rows);
    Leaving p = leaving_of(by_class, delicate, by_column, most, classes, size_t(c.count));
    std::vector<int64_t> doubtful(size_t(rows) + 1);
    int64_t found = 0;
    Status status;
    {
        nb::gil_scoped_release free;
        status = kernels->leave(c, groups.data(), w, p, int64_t(classes), grid_of(out), doubtful.data(), &found);
    }
    check(status);
    Owned<int64_t, 1> named({size_t(found)});
    std::copy(doubtful.begin(), doubtful.begin() + found, named.data);
    return named.array;
}

Array<bool, 2> leave_odds(Input<uint64_t, 1> address, Input<int64_t, 1> stride, int64_t rows, Input<int32_t, 1> groups,
                          Weights weights, Input<double, 3> by_class, Input<bool, 2> delicate, Input<double, 2> by_column,
                          double most, double floor, Spaced out) {
    Columns c = columns_of(address, stride, rows);
    size_t d = size_t(c.count), classes = out.shape(1) + 1;
    require(int64_t(groups.shape(0)) == rows && int64_t(out.shape(2)) == rows && out.shape(0) == d && out.stride(2) == 1,
            "groups or out differ from rows");
    const double *w = weights_of(weights, rows);
    Leaving p = leaving_of(by_class, delicate, by_column, most, classes, d);
    Owned<bool, 2> doubt({d, size_t(rows)});
    Status status;
    {
        nb::gil_scoped_release free;
        status = kernels->leave_odds(c, groups.data(), w, p, int64_t(classes), floor, out.data(), out.stride(0),
                                     out.stride(1), doubt.data);
    }
    check(status);
    return doubt.array;
}

// a * 2^ea - b * 2^eb for magnitudes; exact words over the lower of the two limbs.
struct Difference {
    std::vector<uint32_t> x, y;
    Magnitude out;
    int64_t exponent;

    static void shifted(const Magnitude &a, int64_t by, std::vector<uint32_t> &to) {
        for (int64_t i = 0; i < a.length; ++i) {
            uint64_t v = uint64_t(a.word[size_t(i)]) << (by & 31);
            size_t at = size_t(i + (by >> 5));
            to[at] |= uint32_t(v);
            to[at + 1] |= uint32_t(v >> 32);
        }
    }
    void of(const Magnitude &a, int64_t ea, const Magnitude &b, int64_t eb) {
        exponent = std::min(ea, eb);
        size_t size = size_t(std::max(a.length + (ea - exponent) / 32, b.length + (eb - exponent) / 32)) + 3;
        x.assign(size, 0), y.assign(size, 0);
        shifted(a, ea - exponent, x), shifted(b, eb - exponent, y);
        out.negative = compare(a, ea, b, eb) < 0;
        if (out.negative) x.swap(y);
        out.word.resize(size);
        int64_t borrow = 0;
        for (size_t i = 0; i < size; ++i) {
            int64_t v = int64_t(x[i]) - int64_t(y[i]) + borrow;
            out.word[i] = uint32_t(uint64_t(v) & MASK32);
            borrow = v >> 32;
        }
        out.length = int64_t(size);
        out.trim();
    }
};

// S1 / S0 2^shift - mean, to nearly all digits of a double.
Array<double, 2> remainders(Input<int64_t, 3> present, int64_t low0, Input<int64_t, 3> first, int64_t low1,
                            Input<int64_t, 1> shift, Input<double, 2> mean) {
    Sums s0 = sums_of(present, low0), s1 = sums_of(first, low1);
    size_t groups = present.shape(0), columns = present.shape(1);
    require(first.shape(0) == groups && first.shape(1) == columns && shift.shape(0) == columns &&
                mean.shape(0) == groups && mean.shape(1) == columns,
            "sums, shift and means differ");
    Owned<double, 2> out({groups, columns});
    nb::gil_scoped_release free;
    Magnitude weight, sum, near;
    std::vector<int64_t> limbs;
    Difference lost;
    for (size_t c = 0; c < groups * columns; ++c) {
        double m = mean.data()[c];
        weight.read(s0.limb + int64_t(c) * s0.length, s0.length, limbs);
        sum.read(s1.limb + int64_t(c) * s1.length, s1.length, limbs);
        if (!weight.length || !std::isfinite(m) || m == 0) continue;
        Parts p = parts(m);
        times(weight, p.mantissa, near);
        int64_t by = std::clamp<int64_t>(shift.data()[c % columns], -2000, 2000);
        lost.of(sum, 32 * low1 + by, near, 32 * low0 + p.exponent);
        if (!lost.out.length) continue;
        bool negative = lost.out.negative != p.negative;
        lost.out.negative = false;
        int64_t top = lost.out.bits() - weight.bits(), e = lost.exponent - 32 * low0;
        double a = nearest(lost.out, -lost.out.bits()), b = nearest(weight, -weight.bits());
        double size = std::ldexp(a / b, int(std::clamp<int64_t>(top + e, -3000, 3000)));
        out.data[c] = negative ? -size : size;
    }
    return out.array;
}

}  // namespace

void bind_leave(nb::module_ &m) {
    m.def("loo_gaussian", &leave, "address"_a.noconvert(), "stride"_a.noconvert(), "rows"_a, "groups"_a.noconvert(),
          "weights"_a.noconvert().none(), "by_class"_a.noconvert(), "delicate"_a.noconvert(), "by_column"_a.noconvert(),
          "most"_a, "out"_a.noconvert(),
          "Adds to out (rows, classes) what log densities of normal columns change by without the row's own values; "
          "returns the rows it cannot be sure of, which it leaves as they are.");
    m.def("loo_gaussian_odds", &leave_odds, "address"_a.noconvert(), "stride"_a.noconvert(), "rows"_a, "groups"_a.noconvert(),
          "weights"_a.noconvert().none(), "by_class"_a.noconvert(), "delicate"_a.noconvert(), "by_column"_a.noconvert(),
          "most"_a, "floor"_a, "out"_a.noconvert(),
          "Adds to out (columns, classes - 1, rows) the log-odds of the other classes against a row's own, by each normal "
          "column alone and without the row, log densities being -floor at least; says (columns, rows) where it cannot be "
          "sure, and leaves out as it is there.");
    m.def("mean_rounding_errors", &remainders, "present"_a.noconvert(), "low0"_a, "first"_a.noconvert(), "low1"_a,
          "shift"_a.noconvert(), "mean"_a.noconvert(), "What the rounding of the means of exact sums lost.");
}
