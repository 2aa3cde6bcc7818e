// Exact sums of w x_i x_j by group for all pairs of columns, in slices (gram.inl) or one by one, and the covariances in them.
#include <algorithm>
#include <cstdlib>
#include "bindings.h"
#include "words.h"

namespace {

inline double value_at(const Columns &c, int64_t column, int64_t row) {
    double x;
    __builtin_memcpy(&x, (const char *) c.address[column] + row * c.stride[column], 8);
    return x;
}

void check_rows(const Columns &c, const int64_t *row, size_t n) {
    for (size_t i = 0; i < n; ++i) require(row[i] >= 0 && row[i] < c.rows, "a row is not in the columns");
}

// The upper triangle of m columns, row by row.
inline int64_t pair_at(int64_t i, int64_t j, int64_t m) { return i * m - i * (i - 1) / 2 + (j - i); }

int64_t pairs_of(size_t m) { return int64_t(m * (m + 1) / 2); }

Array<bool, 1> gram(Input<uint64_t, 1> address, Input<int64_t, 1> stride, int64_t rows, Input<int64_t, 1> row,
                    Weights weights, Input<int64_t, 1> exponent, int64_t weight_exponent, int64_t slices, int64_t heavy,
                    Output<int64_t, 3> limbs, int64_t low, int64_t group) {
    Columns c = columns_of(address, stride, rows);
    Sums to = sums_of(limbs, low);
    const double *w = weights_of(weights, rows);
    size_t n = row.shape(0), m = size_t(c.count);
    require(slices >= 1 && slices <= 16 && heavy >= 1 && heavy <= 16 && exponent.shape(0) == m && m,
            "1 to 16 slices, one exponent for each column");
    require(weight_exponent >= -1000 && weight_exponent <= 1000, "weights are too far from 1");
    require(group >= 0 && group < int64_t(limbs.shape(0)) && int64_t(limbs.shape(1)) == pairs_of(m),
            "sums have no such group, or other pairs");
    for (size_t j = 0; j < m; ++j) require(std::abs(exponent.data()[j] / 2) <= 1000, "an exponent is not that of a double");
    check_rows(c, row.data(), n);
    Owned<bool, 1> lost({n});
    Status status;
    {
        nb::gil_scoped_release free;
        status = kernels->gram(c, row.data(), int64_t(n), w, exponent.data(), weight_exponent, slices, heavy, to, group,
                               lost.data);
    }
    check(status);
    return lost.array;
}

void products(Input<uint64_t, 1> address, Input<int64_t, 1> stride, int64_t rows, Input<int64_t, 1> row,
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
                double v = value_at(c, j, r);
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

// a * b - c * d of signed magnitudes at their limb positions.
struct Difference {
    std::vector<uint32_t> first, second;
    Magnitude n;
    int64_t low = 0;

    void compute(const Magnitude &a, int64_t low_a, const Magnitude &b, int64_t low_b, const Magnitude &c, int64_t low_c,
                 const Magnitude &d, int64_t low_d) {
        int64_t low1 = low_a + low_b, low2 = low_c + low_d;
        bool one = a.length && b.length, two = c.length && d.length;
        if (!one) low1 = low2;
        if (!two) low2 = low1;
        low = std::min(low1, low2);
        int64_t size = std::max(low1 + a.length + b.length, low2 + c.length + d.length) - low + 1;
        first.assign(size_t(size), 0);
        second.assign(size_t(size), 0);
        if (one) multiply(a.word.data(), int(a.length), b.word.data(), int(b.length), first.data() + (low1 - low));
        if (two) multiply(c.word.data(), int(c.length), d.word.data(), int(d.length), second.data() + (low2 - low));
        bool minus1 = a.negative != b.negative, minus2 = !(c.negative != d.negative);
        bool add = minus1 == minus2, swap = false;
        if (!add)  // take the smaller magnitude from the larger
            for (int64_t i = size; i--;)
                if (first[size_t(i)] != second[size_t(i)]) {
                    swap = first[size_t(i)] < second[size_t(i)];
                    break;
                }
        const std::vector<uint32_t> &large = swap ? second : first, &small = swap ? first : second;
        n.word.assign(size_t(size) + 1, 0);
        int64_t carry = 0;
        for (size_t i = 0; i < size_t(size); ++i) {
            int64_t v = int64_t(large[i]) + (add ? int64_t(small[i]) : -int64_t(small[i])) + carry;
            n.word[i] = uint32_t(uint64_t(v) & MASK32);
            carry = v >> 32;
        }
        n.word[size_t(size)] = uint32_t(carry);
        n.length = size + 1;
        n.negative = swap ? minus2 : minus1;
        n.trim();
    }
};

// The leading bits of a magnitude as a double in [1/2, 1] and its exponent.
inline double leading(const Magnitude &m, int64_t &exponent) {
    exponent = m.bits();
    return std::fabs(nearest(m, -exponent));
}

inline double ratio(const Magnitude &n, int64_t low_n, const Magnitude &w, int64_t low_w, int power, int64_t shift) {
    if (!n.length || !w.length) return 0.0;
    int64_t en, ew;
    double top = leading(n, en), below = leading(w, ew);
    double q = power == 1 ? top / below : top / (below * below);
    int64_t e = std::clamp<int64_t>(en + 32 * low_n - power * (ew + 32 * low_w) + std::clamp<int64_t>(shift, -200000, 200000),
                                    -3000, 3000);
    double x = std::ldexp(q, int(e));
    return n.negative ? -x : x;
}

Array<double, 1> covariance(Input<int64_t, 2> weight, Input<int64_t, 2> one, Input<int64_t, 2> other,
                            Input<int64_t, 2> product, int64_t low, Input<int64_t, 1> shift) {
    Sums s[] = {sums_of(weight, low), sums_of(one, low), sums_of(other, low), sums_of(product, low)};
    size_t cells = weight.shape(0);
    require(one.shape(0) == cells && other.shape(0) == cells && product.shape(0) == cells && shift.shape(0) == cells,
            "sums and shifts differ in length");
    Owned<double, 1> out({cells});
    {
        nb::gil_scoped_release free;
        Magnitude m[4];
        std::vector<int64_t> work;
        Difference d;
        for (size_t c = 0; c < cells; ++c) {
            for (int i = 0; i < 4; ++i) m[i].read(s[i].limb + int64_t(c) * s[i].length, s[i].length, work);
            d.compute(m[0], low, m[3], low, m[1], low, m[2], low);
            out.data[c] = ratio(d.n, d.low, m[0], low, 2, shift.data()[c]);
        }
    }
    return out.array;
}

Array<double, 1> mean(Input<int64_t, 2> weight, Input<int64_t, 2> sum, int64_t low, Input<double, 1> origin,
                      Input<int64_t, 1> shift) {
    Sums s0 = sums_of(weight, low), s1 = sums_of(sum, low);
    size_t cells = weight.shape(0);
    require(sum.shape(0) == cells && origin.shape(0) == cells && shift.shape(0) == cells,
            "sums, origins and shifts differ in length");
    Owned<double, 1> out({cells});
    {
        nb::gil_scoped_release free;
        Magnitude w, sums, unit, from;
        unit.word = {1};
        unit.length = 1;
        std::vector<int64_t> work;
        Difference d;
        for (size_t c = 0; c < cells; ++c) {
            w.read(s0.limb + int64_t(c) * s0.length, s0.length, work);
            sums.read(s1.limb + int64_t(c) * s1.length, s1.length, work);
            Parts o = parts(origin.data()[c]);
            if (!o.finite) refuse("an origin is not finite");
            int64_t k = o.exponent >> 5;
            uint64_t m = o.mantissa;
            int by = int(o.exponent & 31);
            from.word = {uint32_t(m << by), uint32_t((m << by) >> 32), uint32_t((m >> 1) >> (63 - by))};
            from.length = 3;
            from.negative = o.negative;
            from.trim();
            d.compute(sums, low, unit, 0, w, low, from, k);
            out.data[c] = ratio(d.n, d.low, w, low, 1, shift.data()[c]);
        }
    }
    return out.array;
}

}  // namespace

void bind_products(nb::module_ &m) {
    m.def("gram_by_slices", &gram, "address"_a.noconvert(), "stride"_a.noconvert(), "rows"_a, "row"_a.noconvert(),
          "weights"_a.noconvert().none(), "exponent"_a.noconvert(), "weight_exponent"_a, "slices"_a, "heavy"_a,
          "limbs"_a.noconvert(), "low"_a, "group"_a,
          "Adds w x_i x_j of some rows to the sums of a group, (G, pairs, limbs): numbers below 2^exponent cut into "
          "slices, and with weights below 2^weight_exponent w x into heavy ones. Rows the slices do not hold are left "
          "out and reported.");
    m.def("gram_by_rows", &products, "address"_a.noconvert(), "stride"_a.noconvert(), "rows"_a, "row"_a.noconvert(),
          "groups"_a.noconvert(), "weights"_a.none(), "limbs"_a.noconvert(), "low"_a,
          "Adds w x_i x_j of some rows to the sums of their groups, one by one; a hole counts as zero.");
    m.def("covariance", &covariance, "weight"_a.noconvert(), "one"_a.noconvert(), "other"_a.noconvert(),
          "product"_a.noconvert(), "low"_a, "shift"_a.noconvert(),
          "(W Sxy - Sx Sy) / W^2 * 2^shift from exact sums, to the last digit or two; 0 where W is.");
    m.def("mean", &mean, "weight"_a.noconvert(), "sum"_a.noconvert(), "low"_a, "origin"_a.noconvert(),
          "shift"_a.noconvert(), "(Sx / W - origin) * 2^shift from exact sums, to the last digit; 0 where W is.");
}
