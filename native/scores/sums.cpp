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
// of the probability of each class, and last of the most probable one: (groups, classes + 1, 4, cells).
Array<double, 4> reliability_sums(Input<double, 2> p, Input<int64_t, 1> best, Input<int64_t, 1> codes, Weights weights,
                                  Groups group, int64_t groups, int64_t cells) {
    int64_t rows = int64_t(p.shape(0)), classes = int64_t(p.shape(1)), each = classes + 1;
    require(int64_t(codes.shape(0)) == rows && int64_t(best.shape(0)) == rows, "one class, and one found, per row");
    for (int64_t i = 0; i < rows; ++i) require(best.data()[i] >= 0 && best.data()[i] < classes, "no such class");
    require(cells >= 1 && cells <= 1 << 20, "a positive number of cells");
    Given given(weights, group, rows, groups);
    Owned<double, 4> out({size_t(groups), size_t(each), 4, size_t(cells)});
    const double *from = p.data();
    {
        nb::gil_scoped_release free;
        std::vector<double> sums(size_t(groups * each * cells * 4));  // the four of a cell together
        for (int64_t i = 0; i < rows; ++i) {
            double w = given.w(i), square = w * w, *here = sums.data() + given.g(i) * each * cells * 4;
            int64_t code = codes.data()[i], found = best.data()[i];
            for (int64_t k = 0; k < each; ++k, here += 4 * cells) {
                int64_t c = k < classes ? k : found;
                double q = from[i * classes + c], place = q * double(cells);
                int64_t up = place >= double(cells) ? cells : place > 0 ? int64_t(place) : 0;  // NaN is in the first
                double *cell = here + 4 * (up - (double(up) >= place || up == cells) * (up > 0));
                cell[0] += w, cell[1] += w * q, cell[2] += code == c ? w : 0.0, cell[3] += square;
            }
        }
        for (int64_t u = 0; u < groups * each; ++u)
            for (int64_t cell = 0; cell < cells; ++cell)
                for (int64_t f = 0; f < 4; ++f) out.data[(u * 4 + f) * cells + cell] = sums[size_t((u * cells + cell) * 4 + f)];
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

// Adds weights by cell of score: of each class by whether it is true, and last of the most probable class.
void add_scores(Input<double, 2> odds, Input<int64_t, 1> best, Input<int64_t, 1> codes, Weights weights, Groups group,
                std::tuple<double, double, double, double, double> scale, Output<double, 4> table) {
    int64_t rows = int64_t(odds.shape(0)), classes = int64_t(odds.shape(1)), cells = int64_t(table.shape(3));
    require(int64_t(codes.shape(0)) == rows && int64_t(best.shape(0)) == rows, "one class, and one found, per row");
    require(int64_t(table.shape(1)) == classes + 1 && table.shape(2) == 2, "table must be (groups, classes + 1, 2, cells)");
    require(cells >= 2 && cells % 2 == 0 && cells <= 1 << 20, "an even number of cells");
    for (int64_t i = 0; i < rows; ++i) require(best.data()[i] >= 0 && best.data()[i] < classes, "no such class");
    Given given(weights, group, rows, int64_t(table.shape(0)));
    auto [near, far, inner, begin, outer] = scale;
    require(near >= 1 && far > near && far < 1e300, "scores are cut at 1 or above, and further out");
    ScoreScale s{near, far, inner, begin, outer, cells};
    nb::gil_scoped_release free;
    constexpr int64_t TILE = 64;
    for (int64_t from = 0; from < rows; from += TILE) {
        int64_t n = std::min(TILE, rows - from);
        double score[TILE];
        int32_t cell[TILE], cell_of_best[TILE];
        auto add = [&](int64_t i, int64_t k, bool hit, int32_t to) {
            table.data()[((given.g(from + i) * (classes + 1) + k) * 2 + hit) * cells + to] += given.w(from + i);
        };
        for (int64_t k = 0; k < classes; ++k) {
            for (int64_t i = 0; i < n; ++i) score[i] = odds.data()[(from + i) * classes + k];
            kernels->score_cells(score, n, s, cell);
            for (int64_t i = 0; i < n; ++i) {
                add(i, k, codes.data()[from + i] == k, cell[i]);
                if (best.data()[from + i] == k) cell_of_best[i] = cell[i];
            }
        }
        for (int64_t i = 0; i < n; ++i) add(i, classes, codes.data()[from + i] == best.data()[from + i], cell_of_best[i]);
    }
}

const Binding binding([](nb::module_ &m) {
    m.def("reliability_sums", &reliability_sums, "p"_a.noconvert(), "best"_a.noconvert(), "codes"_a.noconvert(),
          "weights"_a.noconvert().none(), "group"_a.noconvert().none(), "groups"_a, "cells"_a,
          "Weight, weight times probability, weight that came true and squared weight by group, class (and last the best) and "
          "cell.");
    m.def("add_scores", &add_scores, "odds"_a.noconvert(), "best"_a.noconvert(), "codes"_a.noconvert(),
          "weights"_a.noconvert().none(), "group"_a.noconvert().none(), "scale"_a, "table"_a.noconvert(),
          "Adds the weight of rows to a table by group, class (and last the best), whether it is true, and cell of log-odds; "
          "scale is near, far, cells to a unit within, the first cell beyond, cells to a unit beyond.");
    m.def("power_sums", &power_sums, "x"_a.noconvert(), "weights"_a.noconvert().none(), "group"_a.noconvert().none(),
          "groups"_a, "Weight times x, its square and its cube, by group.");
});

}}  // namespace bayeskit::scores
