// Bayes' rule by rows, and the back-off of densities.
#include "dispatch/bindings.h"

namespace bayeskit::posterior { namespace {

int64_t softmax(Anywhere joint, bool log, std::optional<Output<double, 1>> evidence, std::optional<Output<double, 2>> out) {
    int64_t rows = int64_t(joint.shape(0)), classes = int64_t(joint.shape(1));
    require(classes >= 1, "softmax needs a class");
    require(!evidence || int64_t(evidence->shape(0)) == rows, "evidence differs from rows");
    Grid from = grid_of(joint);
    if (out) require(int64_t(out->shape(0)) == rows && int64_t(out->shape(1)) == classes, "out differs from joint");
    else require(rows < 2 || (from.row == classes && (classes < 2 || from.column == 1)), "in place only in C order");
    int64_t impossible;
    {
        nb::gil_scoped_release free;
        impossible =
            kernels->softmax(from, rows, classes, log, evidence ? evidence->data() : nullptr, out ? out->data() : from.data);
    }
    if (impossible < 0) throw std::bad_alloc();
    return impossible;
}

bool back_off(Input<double, 3> terms, Input<double, 2> share, Input<double, 2> mine, Input<double, 2> rest,
              Output<double, 3> out) {
    size_t rows = terms.shape(0), parts = terms.shape(1), classes = terms.shape(2);
    require(out.shape(0) == rows && out.shape(1) == parts && out.shape(2) == classes, "out must be like the terms");
    for (const auto *a : {&share, &mine, &rest})
        require(a->shape(0) == parts && a->shape(1) == classes, "one number for each part and class");
    Status status;
    int64_t odd = 0;
    {
        nb::gil_scoped_release free;
        status = kernels->back_off(terms.data(), int64_t(rows), int64_t(parts), int64_t(classes), share.data(), mine.data(),
                                   rest.data(), out.data(), &odd);
    }
    check(status);
    return odd;
}

const Binding binding([](nb::module_ &m) {
    m.def("softmax", &softmax, "joint"_a.noconvert(), "log"_a, "evidence"_a.noconvert().none() = nb::none(),
          "out"_a.noconvert().none() = nb::none(),
          "Posteriors (or their logs) of joint log densities, to out or in place; returns how many rows were impossible.");
    m.def("back_off", &back_off, "terms"_a.noconvert(), "share"_a.noconvert(), "mine"_a.noconvert(), "rest"_a.noconvert(),
          "out"_a.noconvert(),
          "log(mine f + rest sum over classes of share f), log f = terms (rows, parts, classes); 0 where all terms are, NaN "
          "where doubles do not do. Returns whether that is anywhere.");
});

}}  // namespace bayeskit::posterior
