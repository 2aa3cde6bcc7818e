// Rows by their stored values: what these are like, sums without them, and log densities that are linear in them.
#include "exact/magnitude.h"
#include "sparse/rows.h"

namespace bayeskit::sparse { namespace {

// Whether no row names a column twice.
bool sparse_distinct(Starts indptr, Places indices, int64_t width) {
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
std::tuple<double, double, bool, int64_t, int64_t> sparse_value_range(Numbers values) {
    const double *x = values.data();
    int64_t n = int64_t(values.shape(0)), good = 0, missing = 0, below = 0;
    double low, high;
    bool whole;
    nb::gil_scoped_release free;
    kernels->value_range(x, n, &low, &high, &whole, &good);
    if (good != n)
        for (int64_t k = 0; k < n; ++k) {
            missing += x[k] != x[k];
            below += x[k] < 0;
        }
    return {low, high, whole, missing, below};
}

// Least and greatest value of every column (inf, -inf if none), the zeros that are not stored included.
void sparse_column_ranges(Starts indptr, Places indices, Numbers values, Output<double, 2> out) {
    int64_t width = int64_t(out.shape(1));
    require(out.shape(0) == 2, "out must be (2, columns)");
    Rows rows = rows_of(indptr, indices, values, width);
    nb::gil_scoped_release free;
    struct Ends {
        double low = INFINITY, high = -INFINITY;
        int64_t stored = 0;
    };
    std::vector<Ends> found(out.shape(1));
    for (int64_t k = 0; k < rows.start[rows.count]; ++k) {
        Ends &e = found[size_t(rows.column[k])];
        double x = rows.value[k];
        e.low = x < e.low ? x : e.low;
        e.high = x > e.high ? x : e.high;
        ++e.stored;
    }
    for (int64_t j = 0; j < width; ++j) {
        const Ends &e = found[size_t(j)];
        bool zero = e.stored < rows.count;
        out.data()[j] = zero && e.low > 0 ? 0 : e.low;
        out.data()[width + j] = zero && e.high < 0 ? 0 : e.high;
    }
}

// Cell cell[t] without w[t] times the values of stretch t, rounded once.
Array<double, 1> loo_sparse_sums(Starts start, Numbers values, Weights weights, Input<int64_t, 1> cell, bool presence,
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
    require(good, "a value does not fit the limbs; widen them (see limb_window)");
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

void sparse_linear_terms(Starts indptr, Places indices, Numbers values, bool presence, Input<double, 2> table, Anywhere out) {
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

const Binding binding([](nb::module_ &m) {
    m.def("sparse_distinct", &sparse_distinct, "indptr"_a.noconvert(), "indices"_a.noconvert(), "width"_a,
          "Whether no row names a column twice.");
    m.def("sparse_value_range", &sparse_value_range, "values"_a.noconvert(),
          "Smallest and largest value above 0, whether all are whole, the number of NaN and of values below 0.");
    m.def("sparse_column_ranges", &sparse_column_ranges, "indptr"_a.noconvert(), "indices"_a.noconvert(),
          "values"_a.noconvert(), "out"_a.noconvert(),
          "Least and greatest value of every column (inf, -inf if none), unstored zeros included.");
    m.def("loo_sparse_sums", &loo_sparse_sums, "start"_a.noconvert(), "values"_a.noconvert(), "weights"_a.noconvert().none(),
          "cell"_a.noconvert(), "presence"_a, "limbs"_a.noconvert(), "low"_a,
          "Exact sums of some cells without w x of a stretch of values each, rounded once.");
    m.def("sparse_linear_terms", &sparse_linear_terms, "indptr"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert(),
          "presence"_a, "table"_a.noconvert(), "out"_a.noconvert(),
          "Adds x (or 1 where x > 0) times the table's row of its column to out (rows, classes).");
});

}}  // namespace bayeskit::sparse
