// Exact sums of w x_i x_j by group for all pairs of columns, in slices (gram.inl) or one by one.
#include <cstdlib>
#include "dispatch/bindings.h"
#include "exact/limbs.h"

namespace bayeskit::counts { namespace {

void check_rows(const Columns &c, const int64_t *row, size_t n) {
    for (size_t i = 0; i < n; ++i) require(row[i] >= 0 && row[i] < c.rows, "a row is not in the columns");
}

// The upper triangle of m columns, row by row.
inline int64_t pair_at(int64_t i, int64_t j, int64_t m) { return i * m - i * (i - 1) / 2 + (j - i); }

int64_t pairs_of(size_t m) { return int64_t(m * (m + 1) / 2); }

Array<bool, 1> gram_by_slices(Input<uint64_t, 1> address, Input<int64_t, 1> stride, int64_t rows, Input<int64_t, 1> row,
                              Weights weights, Input<int64_t, 1> exponent, int64_t weight_exponent, int64_t slices,
                              int64_t weighted_slices, Output<int64_t, 3> limbs, int64_t low, int64_t group) {
    Columns c = columns_of(address, stride, rows);
    Sums to = sums_of(limbs, low);
    const double *w = weights_of(weights, rows);
    size_t n = row.shape(0), m = size_t(c.count);
    require(slices >= 1 && slices <= 16 && weighted_slices >= 1 && weighted_slices <= 16 && exponent.shape(0) == m && m,
            "1 to 16 slices, one exponent for each column");
    require(weight_exponent >= -1000 && weight_exponent <= 1000, "weights are too far from 1");
    require(group >= 0 && group < int64_t(limbs.shape(0)) && int64_t(limbs.shape(1)) == pairs_of(m),
            "sums have no such group, or other pairs");
    for (size_t j = 0; j < m; ++j) require(std::abs(exponent.data()[j] / 2) <= 1000, "an exponent is not that of a double");
    check_rows(c, row.data(), n);
    Owned<bool, 1> lost({n});
    run([&] {
        return kernels->gram_by_slices(c, row.data(), int64_t(n), w, exponent.data(), weight_exponent, slices, weighted_slices,
                                       to, group, lost.data);
    });
    return lost.array;
}

void gram_by_rows(Input<uint64_t, 1> address, Input<int64_t, 1> stride, int64_t rows, Input<int64_t, 1> row,
                  Input<int32_t, 1> groups, Weights weights, Output<int64_t, 3> limbs, int64_t low) {
    Columns c = columns_of(address, stride, rows);
    Sums to = sums_of(limbs, low);
    const double *w = weights_of(weights, rows);
    size_t n = row.shape(0);
    int64_t m = c.count, pairs = pairs_of(size_t(m));
    require(int64_t(limbs.shape(1)) == pairs && int64_t(groups.shape(0)) == rows, "sums have other pairs, or rows");
    check_rows(c, row.data(), n);
    bool good = true;
    {
        nb::gil_scoped_release free;
        std::vector<Parts> x(size_t(m), Parts{});
        for (size_t i = 0; i < n && good; ++i) {
            int64_t r = row.data()[i], g = groups.data()[r];
            if (g < 0) continue;
            good &= g < int64_t(limbs.shape(0));
            if (!good) break;
            Parts mass = parts(w ? w[r] : 1.0);
            good &= mass.finite && !mass.negative;
            if (!mass.mantissa) continue;
            uint32_t weight[2] = {uint32_t(mass.mantissa), uint32_t(mass.mantissa >> 32)};
            for (int64_t j = 0; j < m; ++j) {
                double v = number_at(c.address[j], r * c.stride[j]);
                x[size_t(j)] = v == v ? parts(v) : Parts{0, 0, false, true};
                good &= x[size_t(j)].finite;
            }
            for (int64_t a = 0; a < m; ++a) {
                const Parts &p = x[size_t(a)];
                if (!p.mantissa) continue;
                uint32_t value[2] = {uint32_t(p.mantissa), uint32_t(p.mantissa >> 32)}, once[4] = {}, twice[6];
                if (w) multiply(weight, 2, value, 2, once);
                for (int64_t b = a; b < m; ++b) {
                    const Parts &q = x[size_t(b)];
                    if (!q.mantissa) continue;
                    int64_t cell = g * pairs + pair_at(a, b, m);
                    uint32_t second[2] = {uint32_t(q.mantissa), uint32_t(q.mantissa >> 32)};
                    bool negative = p.negative != q.negative;
                    if (w) {
                        multiply(once, 4, second, 2, twice);
                        good &= add_words(to, cell, twice, 6, negative, p.exponent + q.exponent + mass.exponent);
                    } else {
                        multiply(value, 2, second, 2, once);
                        good &= add_words(to, cell, once, 4, negative, p.exponent + q.exponent);
                    }
                }
            }
        }
    }
    require(good, "a group, a weight or a product does not fit the sums; widen them (see limb_window)");
}

const Binding binding([](nb::module_ &m) {
    m.def("gram_by_slices", &gram_by_slices, "address"_a.noconvert(), "stride"_a.noconvert(), "rows"_a, "row"_a.noconvert(),
          "weights"_a.noconvert().none(), "exponent"_a.noconvert(), "weight_exponent"_a, "slices"_a, "weighted_slices"_a,
          "limbs"_a.noconvert(), "low"_a, "group"_a,
          "Adds w x_i x_j of some rows to the sums of a group, (G, pairs, limbs): numbers below 2^exponent cut into "
          "slices, and with weights below 2^weight_exponent w x into heavy ones. Rows the slices do not hold are left "
          "out and reported.");
    m.def("gram_by_rows", &gram_by_rows, "address"_a.noconvert(), "stride"_a.noconvert(), "rows"_a, "row"_a.noconvert(),
          "groups"_a.noconvert(), "weights"_a.none(), "limbs"_a.noconvert(), "low"_a,
          "Adds w x_i x_j of some rows to the sums of their groups, one by one; a missing value counts as zero.");
});

}}  // namespace bayeskit::counts
