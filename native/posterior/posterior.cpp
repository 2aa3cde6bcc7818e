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

bool backed_off_sums(Input<uint64_t, 1> address, Input<int64_t, 1> stride, int64_t rows, Input<int32_t, 1> kind,
                     Input<double, 3> number, Input<double, 3> weight, Input<double, 2> table, Input<int64_t, 1> offset,
                     Input<double, 3> known, Output<double, 2> out) {
    Columns columns = columns_of(address, stride, rows);
    size_t formula = kind.shape(0), given = known.shape(0), classes = out.shape(1);
    require(columns.count == int64_t(formula) && number.shape(0) == formula && number.shape(1) == 3 &&
                number.shape(2) == classes && offset.shape(0) == formula + 1,
            "kinds, numbers and offsets do not fit the columns");
    require(weight.shape(0) == formula + given && weight.shape(1) == 3 && weight.shape(2) == classes,
            "weights do not fit the columns");
    require(int64_t(out.shape(0)) == rows && (!given || int64_t(known.shape(1)) == rows) && known.shape(2) == classes &&
                table.shape(1) == classes,
            "out, table and what is known differ in rows or classes");
    for (size_t j = 0; j < formula; ++j) {
        require(kind.data()[j] >= 0 && kind.data()[j] < FormulaKind::COUNT, "no such formula");
        require(offset.data()[j] >= 0 && offset.data()[j] <= offset.data()[j + 1], "offsets of the table must ascend");
    }
    require(offset.data()[formula] >= 0 && offset.data()[formula] <= int64_t(table.shape(0)), "offsets go beyond the table");
    BackedOffColumns p = {kind.data(),  number.data(),    weight.data(),  table.data(),    offset.data(),
                          known.data(), int64_t(formula), int64_t(given), int64_t(classes)};
    int64_t odd = 0;
    run([&] { return kernels->backed_off_sums(columns, p, out.data(), &odd); });
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
    m.def("backed_off_sums", &backed_off_sums, "address"_a.noconvert(), "stride"_a.noconvert(), "rows"_a, "kind"_a.noconvert(),
          "number"_a.noconvert(), "weight"_a.noconvert(), "table"_a.noconvert(), "offset"_a.noconvert(), "known"_a.noconvert(),
          "out"_a.noconvert(),
          "Sums over columns of log densities that are backed off (see back_off): by formulas (FormulaKind) of the columns, "
          "then those that are known. NaN where doubles do not do. Returns whether that is anywhere.");
});

}}  // namespace bayeskit::posterior
