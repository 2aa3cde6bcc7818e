// Attribute choice: what each candidate column would make of the rows.
#include "bindings.h"

namespace {

constexpr size_t SLOTS = 8;

Array<double, 2> selection(Input<double, 2> there, Input<double, 3> terms, double sign, Input<double, 1> truth,
                           Weights weights, Input<int64_t, 1> candidates) {
    size_t others = there.shape(0), rows = there.shape(1), count = candidates.shape(0);
    require(rows % SLOTS == 0, "rows must be filled up to a multiple of 8");
    require(terms.shape(1) == others && terms.shape(2) == rows && truth.shape(0) == rows, "terms do not fit");
    const double *w = weights_of(weights, int64_t(rows));
    for (size_t j = 0; j < count; ++j)
        require(candidates.data()[j] >= 0 && size_t(candidates.data()[j]) < terms.shape(0), "no such candidate");
    Owned<double, 2> out({count, 2});
    Status status;
    {
        nb::gil_scoped_release free;
        status = kernels->selection(there.data(), terms.data(), sign, int64_t(rows), int64_t(rows), int64_t(others),
                                    truth.data(), w, candidates.data(), int64_t(count), out.data);
    }
    check(status);
    return out.array;
}

}  // namespace

void bind_selection(nb::module_ &m) {
    m.def("selection", &selection, "there"_a.noconvert(), "terms"_a.noconvert(), "sign"_a, "truth"_a.noconvert(),
          "weights"_a.noconvert().none(), "candidates"_a.noconvert(),
          "For each candidate the sum of log P(true class) and the weight of the rows it gets wrong, (candidates, 2), "
          "from log-odds of the other classes against the true one: there (others, rows) + sign * terms[candidate].");
}
