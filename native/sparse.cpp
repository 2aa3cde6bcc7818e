// Rows by their stored values: exact totals by group and column, and log densities that are linear in them.
#include <algorithm>
#include <cmath>
#include "bindings.h"
#include "lanes.h"
#include "wide.h"
#include "words.h"

namespace {

using Starts = Input<int64_t, 1>;
using Places = Input<int32_t, 1>;
using Numbers = Input<double, 1>;

struct Rows {
    const int64_t *start;
    const int32_t *column;
    const double *value;
    int64_t count;
};

Rows rows_of(const Starts &indptr, const Places &indices, const Numbers &values, int64_t width) {
    require(indptr.shape(0) >= 1 && indices.shape(0) == values.shape(0), "indptr, indices and values do not fit");
    int64_t n = int64_t(indptr.shape(0)) - 1;
    const int64_t *start = indptr.data();
    require(start[0] == 0 && start[n] == int64_t(values.shape(0)), "indptr does not span the values");
    for (int64_t i = 0; i < n; ++i) require(start[i] <= start[i + 1], "indptr falls");
    int32_t least = 0, most = -1;
    for (size_t k = 0; k < indices.shape(0); ++k) {
        int32_t j = indices.data()[k];
        least = j < least ? j : least;
        most = j > most ? j : most;
    }
    require(least >= 0 && most < width, "an index lies outside the columns");
    return {start, indices.data(), values.data(), n};
}

// Whether no row names a column twice.
bool distinct(Starts indptr, Places indices, int64_t width) {
    require(indptr.shape(0) >= 1 && width >= 0, "indptr is empty, or the width negative");
    int64_t n = int64_t(indptr.shape(0)) - 1;
    const int64_t *start = indptr.data();
    require(start[0] >= 0 && start[n] <= int64_t(indices.shape(0)), "indptr does not fit the indices");
    for (int64_t i = 0; i < n; ++i) require(start[i] <= start[i + 1], "indptr falls");
    std::vector<int64_t> last(size_t(width), -1);  // the row that named a column last
    bool good = true, once = true;
    {
        nb::gil_scoped_release free;
        for (int64_t i = 0; i < n && good; ++i)
            for (int64_t k = start[i]; k < start[i + 1]; ++k) {
                int64_t j = indices.data()[k];
                if (j < 0 || j >= width) {
                    good = false;
                    break;
                }
                once &= last[size_t(j)] != i;
                last[size_t(j)] = i;
            }
    }
    require(good, "an index lies outside the columns");
    return once;
}

// Smallest and largest above zero, whether all values are whole, how many are NaN, how many are below zero.
std::tuple<double, double, bool, int64_t, int64_t> bounds(Numbers values) {
    constexpr double STEP = 4503599627370496.0;  // 2^52: doubles from here on are whole
    Real least = splat(INFINITE), most = splat(0.0);
    Whole odd = splat(int64_t(0)), broken = odd;
    const double *x = values.data();
    size_t n = values.shape(0), k = 0;
    nb::gil_scoped_release free;
    auto look = [&](Real v) {
        Whole above = less(splat(0.0), v), there = above | equal(v, splat(0.0));
        least = smaller(select(above, v, splat(INFINITE)), least);
        most = larger(v, most);
        odd -= there;
        Real small = keep(less(v, splat(STEP)), v);
        broken |= differs((small + splat(STEP)) - splat(STEP), small);
    };
    for (; k + LANES <= n; k += LANES) look(load(x + k));
    double rest[LANES] = {};  // zeros change nothing
    for (size_t i = 0; k + i < n; ++i) rest[i] = x[k + i];
    look(load(rest));
    int64_t good = -int64_t((LANES - n % LANES));
    double low = INFINITE, high = 0;
    for (int i = 0; i < LANES; ++i) {
        low = lane(least, i) < low ? lane(least, i) : low;
        high = lane(most, i) > high ? lane(most, i) : high;
        good += lane(odd, i);
    }
    int64_t holes = 0, below = 0;
    if (good != int64_t(n))
        for (k = 0; k < n; ++k) {
            holes += x[k] != x[k];
            below += x[k] < 0;
        }
    return {low, high, !any(broken), holes, below};
}

// cell += sign * w * x exactly; the product has at most 106 bits.
bool add_product(Sums s, int64_t cell, double x, double w, bool negative) {
    Parts p = parts(x), q = parts(w);
    if (!p.finite || !q.finite) return false;
    uint32_t a[2] = {uint32_t(p.mantissa), uint32_t(p.mantissa >> 32)};
    uint32_t b[2] = {uint32_t(q.mantissa), uint32_t(q.mantissa >> 32)}, product[4];
    multiply(a, 2, b, 2, product);
    return add_words(s, cell, product, 4, negative, p.exponent + q.exponent);
}

// What a stored value adds: itself, or one where only presence counts; NaN and negative values nothing.
inline double counted(double x, bool presence) { return x > 0 ? (presence ? 1.0 : x) : 0.0; }

// Whole numbers go to the limbs of 2^0.
void add_whole(Rows r, const int32_t *groups, const double *w, bool presence, int64_t width, Sums s) {
    for (int64_t i = 0; i < r.count; ++i) {
        int64_t g = groups[i], mass = w ? int64_t(w[i]) : 1;
        if (g < 0) continue;
        int64_t *limb = s.limb + g * width * s.length - s.low;
        if (s.length == 1 && !presence && !w)  // the usual case, without a product
            for (int64_t k = r.start[i]; k < r.start[i + 1]; ++k) {
                double x = r.value[k];
                limb[r.column[k]] += x > 0 ? int64_t(x) : 0;
            }
        else
            for (int64_t k = r.start[i]; k < r.start[i + 1]; ++k)
                limb[r.column[k] * s.length] += int64_t(counted(r.value[k], presence)) * mass;
    }
}

// Doubles of any kind, group by group. False if one does not fit the limbs.
bool add_fractions(Rows r, const int32_t *groups, int64_t n_groups, int64_t width, Sums s, bool &carried) {
    std::vector<int64_t> begin(size_t(n_groups) + 1), order(size_t(r.count));  // rows by group, those of none left out
    for (int64_t i = 0; i < r.count; ++i)
        if (groups[i] >= 0) ++begin[size_t(groups[i]) + 1];
    for (size_t g = 0; g < size_t(n_groups); ++g) begin[g + 1] += begin[g];
    std::vector<int64_t> next(begin.begin(), begin.end() - 1);
    for (int64_t i = 0; i < r.count; ++i)
        if (groups[i] >= 0) order[size_t(next[size_t(groups[i])]++)] = i;
    constexpr int64_t AHEAD = 3;
    bool good = true;
    WideSums sums(s, width, r.start[r.count], n_groups);
    for (int64_t g = 0; g < n_groups; ++g) {
        for (int64_t at = begin[size_t(g)]; at < begin[size_t(g) + 1]; ++at) {
            int64_t i = order[size_t(at)];
            if (at + AHEAD < begin[size_t(g) + 1]) {  // rows of a group lie anywhere
                int64_t soon = order[size_t(at + AHEAD)];
                for (int64_t k = r.start[soon]; k < r.start[soon + 1]; k += 8) __builtin_prefetch(r.value + k);
                for (int64_t k = r.start[soon]; k < r.start[soon + 1]; k += 16) __builtin_prefetch(r.column + k);
            }
            good &= sums.add(g, r.column + r.start[i], r.value + r.start[i], r.start[i + 1] - r.start[i]);
        }
        sums.empty_into(g);
    }
    carried = sums.carried();
    return good;
}

// Returns whether limbs that were all zero are carried afterwards; if in doubt they are not.
bool totals(Starts indptr, Places indices, Numbers values, Input<int32_t, 1> groups, Weights weights, bool presence,
            bool whole, Output<int64_t, 3> limbs, int64_t low) {
    Sums s = sums_of(limbs, low);
    int64_t width = int64_t(limbs.shape(1)), n_groups = int64_t(limbs.shape(0));
    Rows r = rows_of(indptr, indices, values, width);
    require(int64_t(groups.shape(0)) == r.count, "groups differ in length from rows");
    const double *w = weights_of(weights, r.count);
    require(!whole || (-low >= 0 && -low < s.length), "the limbs do not reach 2^0");
    bool good = true, carried = false;
    {
        nb::gil_scoped_release free;
        for (int64_t i = 0; i < r.count; ++i) good &= groups.data()[i] >= -1 && groups.data()[i] < n_groups;
        if (good && whole)
            add_whole(r, groups.data(), w, presence, width, s);
        else if (good && !w && !presence)
            good = add_fractions(r, groups.data(), n_groups, width, s, carried);
        else if (good)
            for (int64_t i = 0; i < r.count; ++i) {
                int64_t g = groups.data()[i];
                double mass = w ? w[i] : 1.0;
                if (g < 0 || !(mass > 0)) continue;
                for (int64_t k = r.start[i]; k < r.start[i + 1]; ++k) {
                    double x = counted(r.value[k], presence);
                    if (x > 0) good &= add_product(s, g * width + r.column[k], x, mass, false);
                }
            }
    }
    require(good, "a group lies outside the sums, or a value does not fit the limbs; widen them (see window)");
    return carried;
}

// A carried cell of at least 0 to the nearest double: its top 64 bits, the last of them sticky, rounded once.
inline double rounded_cell(const int64_t *limb, int64_t length, int64_t low, Magnitude &m, std::vector<int64_t> &work) {
    int64_t t = length - 1;
    while (t >= 0 && !limb[t]) --t;
    if (t < 0) return 0.0;
    if (t == 0 && limb[0] > 0 && low == 0) return double(limb[0]);
    if (limb[t] < 0 || limb[t] >> 32 || t + low > 28 || t + low < -28) {  // not of the usual form or range
        m.read(limb, length, work);
        return m.length ? nearest(m, 32 * low) : 0.0;
    }
    auto at = [&](int64_t i) { return i >= 0 ? uint64_t(limb[i]) : 0; };
    uint64_t high = at(t) << 32 | at(t - 1), rest = at(t - 2) << 32 | at(t - 3);
    int z = __builtin_clzll(high);
    uint64_t top = z ? high << z | rest >> (64 - z) : high;
    bool sticky = (rest << z) != 0;
    for (int64_t i = t - 4; i >= 0; --i) sticky |= limb[i] != 0;
    // a power of two among the normal doubles, so that nothing is rounded twice
    return double(top | uint64_t(sticky)) * double_of(uint64_t(32 * (t - 1 + low) - z + 1023) << 52);
}

constexpr int64_t KNOWN = 1024;  // logarithms of small counts, which most are

// Cells of LENGTH limbs (of any number where it is 0), some columns at a time.
template <int64_t LENGTH>
void logs_of(Sums s, int64_t groups, int64_t width, const double *known, double smoothing, const double *size, double *out) {
    constexpr int64_t STRETCH = 1024;
    int64_t length = LENGTH ? LENGTH : s.length;
    Magnitude m;
    std::vector<int64_t> work;
    for (int64_t from = 0; from < width; from += STRETCH) {
        int64_t to = from + STRETCH < width ? from + STRETCH : width;
        for (int64_t g = 0; g < groups; ++g)
            for (int64_t j = from; j < to; ++j) {
                const int64_t *cell = s.limb + (g * width + j) * length;
                int64_t any = 0;
                for (int64_t l = 0; l < length; ++l) any |= cell[l];
                double value;
                if (!any || (LENGTH == 1 && s.low == 0 && cell[0] >= 0 && cell[0] < KNOWN))
                    value = known[any];
                else
                    value = std::log(rounded_cell(cell, length, s.low, m, work) + smoothing);
                out[j * groups + g] = value - size[g];
            }
    }
}

// out (columns, groups) = log(sum + smoothing) - size[group].
void logs(Input<int64_t, 3> limbs, int64_t low, double smoothing, Input<double, 1> size, Output<double, 2> out) {
    Sums s = sums_of(limbs, low);
    int64_t groups = int64_t(limbs.shape(0)), width = int64_t(limbs.shape(1));
    require(int64_t(out.shape(0)) == width && int64_t(out.shape(1)) == groups, "out must be (columns, groups)");
    require(int64_t(size.shape(0)) == groups, "size needs one number per group");
    nb::gil_scoped_release free;
    std::vector<double> known(KNOWN);
    for (int64_t v = 0; v < KNOWN; ++v) known[size_t(v)] = std::log(double(v) + smoothing);
    auto run = s.length == 1 ? logs_of<1> : s.length == 3 ? logs_of<3> : s.length == 4 ? logs_of<4> : logs_of<0>;
    run(s, groups, width, known.data(), smoothing, size.data(), out.data());
}

// Short sums a - b times a unit, plus something. Limb by limb from the top: where limbs cancel nothing is rounded before, else
// each step rounds by 2^-53.
template <size_t LENGTH>
void short_differences(const int64_t *a, const int64_t *b, size_t cells, double unit, double plus, double *out) {
    for (size_t j = 0; j < cells; ++j, a += LENGTH, b += LENGTH) {
        double rest = double(a[LENGTH - 1] - b[LENGTH - 1]);
        for (size_t l = LENGTH - 1; l--;) rest = rest * 0x1p32 + double(a[l] - b[l]);
        out[j] = rest * unit + plus;
    }
}

// Weights of a complement: log(R + smoothing) - size[group], R the sums of all other groups, times -1 or over scale[group];
// less the largest of the column. Returns the sums over the columns of those logarithms.
Array<double, 1> complement(Input<int64_t, 3> limbs, int64_t low, double smoothing, Input<double, 1> size,
                            std::optional<Input<double, 1>> scale, Output<double, 2> out) {
    Sums s = sums_of(limbs, low);
    size_t groups = limbs.shape(0), width = limbs.shape(1), length = limbs.shape(2);
    require(out.shape(0) == width && out.shape(1) == groups, "out must be (columns, groups)");
    require(size.shape(0) == groups && (!scale || scale->shape(0) == groups), "one number for each group");
    Owned<double, 1> sums({groups});
    nb::gil_scoped_release free;
    if (width == 1) {  // one column alone says nothing, whatever two logarithms of one number are rounded to
        std::fill(out.data(), out.data() + groups, 0.0);
        return sums.array;
    }
    constexpr size_t STRETCH = 512;
    Magnitude m;
    std::vector<int64_t> work, whole(STRETCH * length), other(length + 1);  // one limb more, where sums may carry
    bool brief = length <= 4 && low > -28 && low < 24;  // sums far from the ends of a double
    double unit = brief ? std::ldexp(1.0, int(32 * low)) : 0;
    auto differences = length == 1   ? short_differences<1>
                       : length == 2 ? short_differences<2>
                       : length == 3 ? short_differences<3>
                                     : short_differences<4>;
    std::vector<double> line(STRETCH * groups);
    for (size_t from = 0; from < width; from += STRETCH) {
        size_t n = std::min(STRETCH, width - from);
        std::fill(whole.begin(), whole.end(), 0);
        for (size_t g = 0; g < groups; ++g) {
            const int64_t *cell = s.limb + (g * width + from) * length;
            for (size_t i = 0; i < n * length; ++i) whole[i] += cell[i];
        }
        for (size_t g = 0; g < groups; ++g) {
            const int64_t *cell = s.limb + (g * width + from) * length;
            if (brief) differences(whole.data(), cell, n, unit, smoothing, line.data() + g * n);
            for (size_t j = 0; !brief && j < n; ++j) {
                int64_t carry = 0, any = 0;
                for (size_t l = 0; l < length; ++l) {
                    int64_t limb = whole[j * length + l] - cell[j * length + l] + carry;
                    carry = limb >> 32;
                    any |= other[l] = limb & int64_t(MASK32);
                }
                other[length] = carry;
                double rest = any | carry ? rounded_cell(other.data(), int64_t(length) + 1, low, m, work) : 0.0;
                line[g * n + j] = rest + smoothing;
            }
        }
        kernels->logarithms(line.data(), int64_t(groups * n), line.data());
        for (size_t g = 0; g < groups; ++g) {
            double sum = 0;
            for (size_t j = 0; j < n; ++j) sum += line[g * n + j] -= size.data()[g];
            sums.data[g] += sum;
        }
        for (size_t j = 0; j < n; ++j) {
            double *to = out.data() + (from + j) * groups, top = -INFINITE;
            for (size_t g = 0; g < groups; ++g) {
                double log = line[g * n + j], by = scale ? scale->data()[g] : 1.0;
                to[g] = !scale ? -log : by ? log / by : 0.0;
                top = std::max(top, to[g]);
            }
            for (size_t g = 0; g < groups; ++g) to[g] -= top;
        }
    }
    return sums.array;
}

// Sums of cells of so many limbs, limb by limb.
template <size_t LENGTH> void add_cells(const int64_t *from, size_t cells, int64_t *to) {
    int64_t sum[LENGTH] = {};
    for (size_t j = 0; j < cells * LENGTH; j += LENGTH)
        for (size_t l = 0; l < LENGTH; ++l) sum[l] += from[j + l];
    for (size_t l = 0; l < LENGTH; ++l) to[l] += sum[l];
}

// The sum over the columns of each group, limb by limb.
Array<int64_t, 2> across(Input<int64_t, 3> limbs) {
    size_t groups = limbs.shape(0), width = limbs.shape(1), length = limbs.shape(2);
    Owned<int64_t, 2> out({groups, length});
    nb::gil_scoped_release free;
    for (size_t g = 0; g < groups; ++g) {
        const int64_t *from = limbs.data() + g * width * length;
        int64_t *to = out.data + g * length;
        switch (length) {
        case 1: add_cells<1>(from, width, to); break;
        case 2: add_cells<2>(from, width, to); break;
        case 3: add_cells<3>(from, width, to); break;
        case 4: add_cells<4>(from, width, to); break;
        default:
            for (size_t j = 0; j < width * length; j += length)
                for (size_t l = 0; l < length; ++l) to[l] += from[j + l];
        }
    }
    return out.array;
}

// Cell cell[t] without w[t] times the values of stretch t, rounded once.
Array<double, 1> without(Starts start, Numbers values, Weights weights, Input<int64_t, 1> cell, bool presence,
                         Input<int64_t, 2> limbs, int64_t low) {
    Sums s = sums_of(limbs, low);
    int64_t n = int64_t(cell.shape(0));
    require(int64_t(start.shape(0)) == n + 1, "one stretch of values is needed for every cell");
    for (int64_t t = 0; t < n; ++t) {
        require(start.data()[t] <= start.data()[t + 1], "the stretches fall");
        require(cell.data()[t] >= 0 && cell.data()[t] < int64_t(limbs.shape(0)), "a cell lies outside the sums");
    }
    require(start.data()[0] >= 0 && start.data()[n] <= int64_t(values.shape(0)), "a stretch lies outside the values");
    const double *w = weights_of(weights, n);
    Owned<double, 1> out({size_t(n)});
    bool good = true;
    {
        nb::gil_scoped_release free;
        std::vector<int64_t> left(size_t(s.length)), work;
        Magnitude m;
        for (int64_t t = 0; t < n; ++t) {
            const int64_t *from = s.limb + cell.data()[t] * s.length;
            left.assign(from, from + s.length);
            Sums one = {left.data(), s.length, s.low};
            for (int64_t k = start.data()[t]; k < start.data()[t + 1]; ++k) {
                double x = counted(values.data()[k], presence);
                if (x > 0) good &= add_product(one, 0, x, w ? w[t] : 1.0, true);
            }
            m.read(left.data(), s.length, work);
            out.data[t] = m.length ? nearest(m, 32 * low) : 0.0;
        }
    }
    require(good, "a value does not fit the limbs; widen them (see window)");
    return out.array;
}

template <int K>
void weigh_rows(Rows r, const double *table, int64_t classes, bool presence, Grid out) {
    int64_t n = K ? K : classes;
    std::vector<double> sums(static_cast<size_t>(n));
    double *row = sums.data();
    for (int64_t i = 0; i < r.count; ++i) {
        double *to = out.data + i * out.row;
        for (int64_t c = 0; c < n; ++c) row[c] = to[c * out.column];
        for (int64_t k = r.start[i]; k < r.start[i + 1]; ++k) {
            double x = counted(r.value[k], presence);
            const double *weight = table + r.column[k] * n;
            if (k + 8 < r.start[r.count]) __builtin_prefetch(table + r.column[k + 8] * n);
            if (!(x > 0)) continue;  // zero times a log of zero would be NaN
            for (int64_t c = 0; c < n; ++c) row[c] += x * weight[c];
        }
        for (int64_t c = 0; c < n; ++c) to[c * out.column] = row[c];
    }
}

void weigh(Starts indptr, Places indices, Numbers values, bool presence, Input<double, 2> table, Anywhere out) {
    Rows r = rows_of(indptr, indices, values, int64_t(table.shape(0)));
    int64_t classes = int64_t(table.shape(1));
    require(int64_t(out.shape(0)) == r.count && int64_t(out.shape(1)) == classes, "out must be (rows, classes)");
    nb::gil_scoped_release free;
    switch (classes) {
    case 2: return weigh_rows<2>(r, table.data(), classes, presence, grid_of(out));
    case 3: return weigh_rows<3>(r, table.data(), classes, presence, grid_of(out));
    case 4: return weigh_rows<4>(r, table.data(), classes, presence, grid_of(out));
    default: return weigh_rows<0>(r, table.data(), classes, presence, grid_of(out));
    }
}

}  // namespace

void bind_sparse(nb::module_ &m) {
    m.def("sparse_distinct", &distinct, "indptr"_a.noconvert(), "indices"_a.noconvert(), "width"_a,
          "Whether no row names a column twice.");
    m.def("sparse_bounds", &bounds, "values"_a.noconvert(),
          "Smallest and largest value above 0, whether all are whole, the number of NaN and of values below 0.");
    m.def("sparse_totals", &totals, "indptr"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert(),
          "groups"_a.noconvert(), "weights"_a.noconvert().none(), "presence"_a, "whole"_a, "limbs"_a.noconvert(),
          "low"_a, "Adds w x (or w where x > 0) of the stored values to (groups, columns), exactly; returns whether limbs "
          "that were all zero are carried now.");
    m.def("sparse_logs", &logs, "limbs"_a.noconvert(), "low"_a, "smoothing"_a, "size"_a.noconvert(),
          "out"_a.noconvert(), "log(sum + smoothing) - size of every cell (groups, columns), as (columns, groups).");
    m.def("sparse_complement", &complement, "limbs"_a.noconvert(), "low"_a, "smoothing"_a, "size"_a.noconvert(),
          "scale"_a.noconvert().none(), "out"_a.noconvert(),
          "log(R + smoothing) - size by column and group, R the sums of all other groups, times -1 or over scale, less the "
          "largest of the column, to out (columns, groups); returns their sums over the columns before that.");
    m.def("sparse_across", &across, "limbs"_a.noconvert(), "Sums of the limbs over the columns: (groups, limbs).");
    m.def("sparse_without", &without, "start"_a.noconvert(), "values"_a.noconvert(), "weights"_a.noconvert().none(),
          "cell"_a.noconvert(), "presence"_a, "limbs"_a.noconvert(), "low"_a,
          "Exact sums of some cells without w x of a stretch of values each, rounded once.");
    m.def("sparse_weigh", &weigh, "indptr"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert(),
          "presence"_a, "table"_a.noconvert(), "out"_a.noconvert(),
          "Adds x (or 1 where x > 0) times the table's row of its column to out (rows, classes).");
}
