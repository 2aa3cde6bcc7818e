// Nearest rows: distances over the columns that two rows share, and the smallest of many numbers.
#include "dispatch/bindings.h"

namespace bayeskit::search { namespace {

void partial_distances(Input<double, 2> queries, Input<double, 2> points, Input<double, 1> weight, bool square,
                       Input<int32_t, 2> query_codes, Input<int32_t, 2> codes, Input<double, 1> code_weight,
                       Output<double, 2> sum, Output<double, 2> shared_weight) {
    size_t rows = sum.shape(0), n = sum.shape(1), d = weight.shape(0), c = code_weight.shape(0);
    require(queries.shape(0) == rows && queries.shape(1) == d && points.shape(0) == d && points.shape(1) == n,
            "numbers do not fit");
    require(query_codes.shape(0) == rows && query_codes.shape(1) == c && codes.shape(0) == c && codes.shape(1) == n,
            "codes do not fit");
    require(shared_weight.shape(0) == rows && shared_weight.shape(1) == n, "shared_weight does not fit sum");
    Points all = {points.data(), weight.data(), codes.data(), code_weight.data(), int64_t(d), int64_t(c), int64_t(n)};
    nb::gil_scoped_release free;
    kernels->partial_distances(queries.data(), query_codes.data(), int64_t(rows), all, square, sum.data(),
                               shared_weight.data());
}

// Keeps the smallest values of each row seen so far, ascending, with their numbers; the first of equal ones.
template <typename T>
void smallest(Input<T, 2> values, int64_t start, Output<T, 2> best, Output<int64_t, 2> index) {
    size_t rows = values.shape(0), n = values.shape(1), k = best.shape(1);
    require(best.shape(0) == rows && index.shape(0) == rows && index.shape(1) == k && k >= 1, "best does not fit values");
    for (size_t i = 0; i < rows; ++i) require(ascends(best.data() + i * k, k), "the smallest values so far must ascend");
    nb::gil_scoped_release free;
    for (size_t i = 0; i < rows; ++i) {
        const T *v = values.data() + i * n;
        T *b = best.data() + i * k;
        int64_t *id = index.data() + i * k;
        constexpr size_t STEP = 32;
        for (size_t from = 0; from < n; from += STEP) {
            size_t size = n - from < STEP ? n - from : STEP;
            if (size == STEP) {
                T least = v[from];
                for (size_t t = 1; t < STEP; ++t) least = v[from + t] < least ? v[from + t] : least;
                if (!(least < b[k - 1])) continue;
            }
            for (size_t t = from; t < from + size; ++t) {
                if (!(v[t] < b[k - 1])) continue;
                size_t at = k - 1;
                for (; at > 0 && v[t] < b[at - 1]; --at) {
                    b[at] = b[at - 1];
                    id[at] = id[at - 1];
                }
                b[at] = v[t];
                id[at] = int64_t(uint64_t(start) + t);
            }
        }
    }
}

const Binding binding([](nb::module_ &m) {
    m.def("partial_distances", &partial_distances, "queries"_a.noconvert(), "points"_a.noconvert(), "weight"_a.noconvert(),
          "square"_a, "query_codes"_a.noconvert(), "codes"_a.noconvert(), "code_weight"_a.noconvert(), "sum"_a.noconvert(),
          "shared_weight"_a.noconvert(),
          "Gaps between queries (rows, columns) and points (columns, points) over the columns both have: their "
          "weighted sum, and the weight of these columns. NaN and -1 are missing, -2 is a level no point has.");
    m.def("merge_smallest", &smallest<float>, "values"_a.noconvert(), "start"_a, "best"_a.noconvert(), "index"_a.noconvert(),
          "Merges the values of each row, numbered from start on, into the smallest ones so far, kept ascending.");
    m.def("merge_smallest", &smallest<double>, "values"_a.noconvert(), "start"_a, "best"_a.noconvert(), "index"_a.noconvert());
});

}}  // namespace bayeskit::search
