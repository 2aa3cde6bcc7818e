// Exact sums by group and column of which only those are kept that are not 0: what is left of them for log densities.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include "exact/magnitude.h"
#include "sparse/rows.h"

namespace bayeskit::sparse { namespace {

// Group g has cells start[g] .. start[g + 1], their columns in order.
struct Cells {
    const int64_t *start;
    const int32_t *column;
    int64_t groups, count;
};

Cells cells_of(const Starts &starts, const Places &columns, int64_t width) {
    require(starts.shape(0) >= 1, "starts are empty");
    int64_t groups = int64_t(starts.shape(0)) - 1, n = int64_t(columns.shape(0));
    const int64_t *start = starts.data();
    require(start[0] == 0 && start[groups] == n, "starts do not span the cells");
    require(std::is_sorted(start, start + groups + 1), "starts fall");
    for (int64_t g = 0; g < groups; ++g)
        for (int64_t k = start[g]; k < start[g + 1]; ++k) {
            require(columns.data()[k] >= 0 && columns.data()[k] < width, "a cell lies outside the columns");
            require(k == start[g] || columns.data()[k - 1] < columns.data()[k], "columns of a group must ascend");
        }
    return {start, columns.data(), groups, n};
}

void all_logs(std::vector<double> &values) {
    bool usual = true;
    for (double v : values) usual &= v >= DBL_MIN && v <= DBL_MAX;
    if (usual) kernels->logarithms(values.data(), int64_t(values.size()), values.data());
    else
        for (double &v : values) v = std::log(v);
}

constexpr int64_t STRETCH = 512;  // columns that are laid out together

// Runs through all columns, so many at a time: `begin` gives the place of a stretch (columns, groups), filled with what holds
// where there is no cell; the cells are laid over it; `end` may use it.
template <class Begin, class End> void by_columns(const Cells &c, const double *value, int64_t width, Begin begin, End end) {
    std::vector<int64_t> next(c.start, c.start + c.groups);
    for (int64_t from = 0; from < width; from += STRETCH) {
        int64_t n = std::min(STRETCH, width - from);
        double *line = begin(from, n);
        for (int64_t g = 0; g < c.groups; ++g)
            for (int64_t &k = next[size_t(g)]; k < c.start[g + 1] && c.column[k] < from + n; ++k)
                line[(c.column[k] - from) * c.groups + g] = value[k];
        end(from, n);
    }
}

// The same row, STRETCH times.
std::vector<double> repeated(const double *row, int64_t n) {
    std::vector<double> out(size_t(STRETCH * n));
    for (int64_t i = 0; i < STRETCH; ++i) std::copy_n(row, n, out.data() + i * n);
    return out;
}

// out (columns, groups) = log(sum + smoothing) - size[group]; sums that are not kept are rest[group].
void sparse_log_table(Starts starts, Places columns, Numbers sums, Numbers rest, double smoothing, Numbers size,
                      Output<double, 2> out) {
    int64_t width = int64_t(out.shape(0)), groups = int64_t(out.shape(1));
    Cells c = cells_of(starts, columns, width);
    require(c.groups == groups && int64_t(sums.shape(0)) == c.count, "one sum for each cell, one group for each column of out");
    require(int64_t(size.shape(0)) == groups && int64_t(rest.shape(0)) == groups, "one number for each group");
    nb::gil_scoped_release free;
    std::vector<double> value(sums.data(), sums.data() + c.count);
    value.insert(value.end(), rest.data(), rest.data() + groups);
    for (double &v : value) v += smoothing;
    all_logs(value);
    for (int64_t g = 0; g < groups; ++g) {
        for (int64_t k = c.start[g]; k < c.start[g + 1]; ++k) value[size_t(k)] -= size.data()[g];
        value[size_t(c.count + g)] -= size.data()[g];
    }
    std::vector<double> empty = repeated(value.data() + c.count, groups);
    auto begin = [&](int64_t from, int64_t n) {
        double *line = out.data() + from * groups;
        std::copy_n(empty.data(), n * groups, line);
        return line;
    };
    by_columns(c, value.data(), width, begin, [](int64_t, int64_t) {});
}

// Columns that have a cell, in order, and the place among them of each cell.
struct Used {
    std::vector<int32_t> columns, place;
    Used(const Cells &c, int64_t width) : place(size_t(c.count)) {
        std::vector<int32_t> at(size_t(width), 0);
        for (int64_t k = 0; k < c.count; ++k) at[size_t(c.column[k])] = 1;
        columns.reserve(size_t(std::min(width, c.count)));
        for (int64_t j = 0; j < width; ++j)
            if (at[size_t(j)]) {
                at[size_t(j)] = int32_t(columns.size());
                columns.push_back(int32_t(j));
            }
        for (int64_t k = 0; k < c.count; ++k) place[size_t(k)] = at[size_t(c.column[k])];
    }
};

// Sums of all groups by column that has any, then of each cell the sum of all other groups there; rounded once.
std::vector<double> others(const Cells &c, const Used &used, Sums s) {
    int64_t n = int64_t(used.columns.size()), length = s.length + 1;  // sums of groups may carry
    std::vector<int64_t> whole(size_t(n * length)), cell(static_cast<size_t>(length)), work;
    std::vector<double> out(size_t(n + c.count));
    Magnitude m;
    for (int64_t k = 0; k < c.count; ++k) {
        int64_t *to = whole.data() + used.place[size_t(k)] * length;
        for (int64_t l = 0; l < s.length; ++l) to[l] = wrapped(to[l], s.limb[k * s.length + l]);
    }
    for (int64_t j = 0; j < n; ++j) {
        carry_cell(whole.data() + j * length, length);
        out[size_t(j)] = rounded_cell(whole.data() + j * length, length, s.low, m, work);
    }
    for (int64_t k = 0; k < c.count; ++k) {
        const int64_t *from = whole.data() + used.place[size_t(k)] * length;
        int64_t carry = 0;
        for (int64_t l = 0; l < s.length; ++l) {
            carry = int64_t(uint64_t(carry) + uint64_t(from[l]) - uint64_t(s.limb[k * s.length + l]));
            cell[size_t(l)] = carry & int64_t(MASK32);
            carry >>= 32;
        }
        cell[size_t(s.length)] = wrapped(from[s.length], carry);
        out[size_t(n + k)] = rounded_cell(cell.data(), length, s.low, m, work);
    }
    return out;
}

// Weights of a complement: log(R + smoothing) - size[group], R the sums of all other groups, times -1 or over scale[group];
// less the largest of the column. Returns the sums over the columns of those logarithms.
Array<double, 1> sparse_complement_weights(Starts starts, Places columns, Input<int64_t, 2> limbs, int64_t low,
                                           double smoothing, Numbers size, std::optional<Numbers> scale,
                                           Output<double, 2> out) {
    Sums s = sums_of(limbs, low);
    int64_t width = int64_t(out.shape(0)), groups = int64_t(out.shape(1));
    Cells c = cells_of(starts, columns, width);
    require(c.groups == groups && int64_t(limbs.shape(0)) == c.count,
            "one sum for each cell, one group for each column of out");
    require(int64_t(size.shape(0)) == groups && (!scale || int64_t(scale->shape(0)) == groups), "one number for each group");
    Owned<double, 1> sums({size_t(groups)});
    nb::gil_scoped_release free;
    if (width == 1) {  // one column alone says nothing, whatever two logarithms of one number are rounded to
        std::fill(out.data(), out.data() + groups, 0.0);
        return sums.array;
    }
    Used used(c, width);
    int64_t n_used = int64_t(used.columns.size());
    std::vector<double> value = others(c, used, s), sum(static_cast<size_t>(groups)), row(sum);
    value.push_back(0);  // of columns without a cell
    for (double &v : value) v += smoothing;
    all_logs(value);
    auto weigh = [&](const double *log, double *to) {
        double top = -HUGE_VAL;
        for (int64_t g = 0; g < groups; ++g) {
            double by = scale ? scale->data()[g] : 1.0;
            to[g] = !scale ? -log[g] : by ? log[g] / by : 0.0;
            top = to[g] > top ? to[g] : top;
        }
        for (int64_t g = 0; g < groups; ++g) to[g] -= top;
    };
    for (int64_t g = 0; g < groups; ++g) {
        row[size_t(g)] = value.back() - size.data()[g];
        sums.data[g] = double(width - n_used) * row[size_t(g)];
    }
    weigh(row.data(), row.data());
    std::vector<double> empty = repeated(row.data(), groups), line(empty.size());
    for (int64_t from = 0; from < width; from += STRETCH)
        std::copy_n(empty.data(), std::min(STRETCH, width - from) * groups, out.data() + from * groups);
    auto begin = [&](int64_t from, int64_t n) {
        for (int64_t j = 0; j < n; ++j) std::fill_n(line.data() + j * groups, groups, value[size_t(from + j)]);
        return line.data();
    };
    by_columns({c.start, used.place.data(), groups, c.count}, value.data() + n_used, n_used, begin,
               [&](int64_t from, int64_t n) {
                   std::fill(sum.begin(), sum.end(), 0.0);
                   for (int64_t j = 0; j < n; ++j) {
                       double *log = line.data() + j * groups;
                       for (int64_t g = 0; g < groups; ++g) sum[size_t(g)] += log[g] -= size.data()[g];
                       weigh(log, out.data() + used.columns[size_t(from + j)] * groups);
                   }
                   for (int64_t g = 0; g < groups; ++g) sums.data[g] += sum[size_t(g)];
               });
    return sums.array;
}

// The sum of the cells of each group, limb by limb.
Array<int64_t, 2> sparse_group_sums(Starts starts, Input<int64_t, 2> limbs) {
    require(starts.shape(0) >= 1, "starts are empty");
    size_t groups = starts.shape(0) - 1, length = limbs.shape(1);
    const int64_t *start = starts.data();
    require(start[0] == 0 && start[groups] == int64_t(limbs.shape(0)), "starts do not span the cells");
    for (size_t g = 0; g < groups; ++g) require(start[g] <= start[g + 1], "starts fall");
    Owned<int64_t, 2> out({groups, length});
    nb::gil_scoped_release free;
    for (size_t g = 0; g < groups; ++g)
        for (int64_t k = start[g]; k < start[g + 1]; ++k)
            for (size_t l = 0; l < length; ++l)
                out.data[g * length + l] = wrapped(out.data[g * length + l], limbs.data()[size_t(k) * length + l]);
    return out.array;
}

const Binding binding([](nb::module_ &m) {
    m.def("sparse_log_table", &sparse_log_table, "starts"_a.noconvert(), "columns"_a.noconvert(), "sums"_a.noconvert(),
          "rest"_a.noconvert(), "smoothing"_a, "size"_a.noconvert(), "out"_a.noconvert(),
          "log(sum + smoothing) - size of every group and column, as (columns, groups); sums that are not kept are rest.");
    m.def("sparse_complement_weights", &sparse_complement_weights, "starts"_a.noconvert(), "columns"_a.noconvert(),
          "limbs"_a.noconvert(), "low"_a, "smoothing"_a, "size"_a.noconvert(), "scale"_a.noconvert().none(),
          "out"_a.noconvert(),
          "log(R + smoothing) - size by column and group, R the sums of all other groups, times -1 or over scale, less the "
          "largest of the column, to out (columns, groups); returns their sums over the columns before that.");
    m.def("sparse_group_sums", &sparse_group_sums, "starts"_a.noconvert(), "limbs"_a.noconvert(),
          "Sums of the limbs of the cells of each group: (groups, limbs).");
});

}}  // namespace bayeskit::sparse
