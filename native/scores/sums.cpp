// Sums over predicted rows from which the scores of a classifier follow, by group, added in the order of the rows.
#include <algorithm>
#include <cmath>
#include "dispatch/bindings.h"

namespace bayeskit::scores { namespace {

using Groups = std::optional<Input<int64_t, 1>>;

// The rows that every sum runs over: weight 1 and group 0 where none are given.
struct Given {
    const double *weight;
    const int64_t *group;
    int64_t rows, groups;

    Given(const Weights &weights, const Groups &group, int64_t rows, int64_t groups)
        : weight(weights ? weights->data() : nullptr), group(group ? group->data() : nullptr), rows(rows), groups(groups) {
        require(!weights || int64_t(weights->shape(0)) == rows, "one weight per row");
        require(!group || int64_t(group->shape(0)) == rows, "one group per row");
        require(groups >= 1 && groups < int64_t(1) << 31, "a positive number of groups");
        for (int64_t i = 0; this->group && i < rows; ++i)
            require(this->group[i] >= 0 && this->group[i] < groups, "no such group");
    }
    double w(int64_t i) const { return weight ? weight[i] : 1.0; }
    int64_t g(int64_t i) const { return group ? group[i] : 0; }
};

// Weight, weight times probability, weight of what came true and squared weight in cells of equal width, right-closed,
// of the probability of each class: (groups, classes, 4, cells).
Array<double, 4> reliability_sums(Input<double, 2> p, Input<int64_t, 1> codes, Weights weights, Groups group, int64_t groups,
                                  int64_t cells) {
    int64_t rows = int64_t(p.shape(0)), classes = int64_t(p.shape(1));
    require(int64_t(codes.shape(0)) == rows, "one class per row");
    require(cells >= 1 && cells <= 1 << 20, "a positive number of cells");
    Given given(weights, group, rows, groups);
    Owned<double, 4> out({size_t(groups), size_t(classes), 4, size_t(cells)});
    const double *from = p.data();
    {
        nb::gil_scoped_release free;
        for (int64_t i = 0; i < rows; ++i) {
            double w = given.w(i), *here = out.data + given.g(i) * classes * 4 * cells;
            for (int64_t c = 0; c < classes; ++c, here += 4 * cells) {
                double q = from[i * classes + c], place = std::ceil(q * double(cells)) - 1;
                int64_t cell = place >= double(cells) ? cells - 1 : place > 0 ? int64_t(place) : 0;  // NaN is in the first
                here[cell] += w;
                here[cells + cell] += w * q;
                here[2 * cells + cell] += codes.data()[i] == c ? w : 0.0;
                here[3 * cells + cell] += w * w;
            }
        }
    }
    return out.array;
}

// Weight times x, its square and its cube: (groups, 3).
Array<double, 2> power_sums(Input<double, 1> x, Weights weights, Groups group, int64_t groups) {
    Given given(weights, group, int64_t(x.shape(0)), groups);
    Owned<double, 2> out({size_t(groups), 3});
    {
        nb::gil_scoped_release free;
        for (int64_t i = 0; i < given.rows; ++i) {
            double v = x.data()[i], w = given.w(i), *here = out.data + 3 * given.g(i);
            here[0] += w * v;
            here[1] += w * (v * v);
            here[2] += w * (v * v * v);
        }
    }
    return out.array;
}

const Binding binding([](nb::module_ &m) {
    m.def(
        "reliability_sums", &reliability_sums, "p"_a.noconvert(), "codes"_a.noconvert(), "weights"_a.noconvert().none(),
        "group"_a.noconvert().none(), "groups"_a, "cells"_a,
        "Weight, weight times probability, weight that came true and squared weight by group, class and cell of equal width.");
    m.def("power_sums", &power_sums, "x"_a.noconvert(), "weights"_a.noconvert().none(), "group"_a.noconvert().none(),
          "groups"_a, "Weight times x, its square and its cube, by group.");
});

}}  // namespace bayeskit::scores
