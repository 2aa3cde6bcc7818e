// Attribute choice: what each candidate column would make of the rows.
#include "dispatch/bindings.h"

namespace bayeskit::search { namespace {

constexpr size_t STRANDS = 8, TILE = 512;

// The rows that selection is about: log-odds of the other classes (others, rows) and terms (columns, others, rows).
struct Rows {
    size_t others, rows, tiles;
    const double *weights;

    Rows(size_t others, size_t rows, const Input<double, 1> &truth, const Weights &weights)
        : others(others), rows(rows), tiles((rows + TILE - 1) / TILE), weights(weights_of(weights, int64_t(rows))) {
        require(rows % STRANDS == 0, "rows must be filled up to a multiple of 8");
        require(truth.shape(0) == rows, "truth differs in length from rows");
    }
    template <typename T> void fit(const T &terms) const {
        require(terms.shape(1) == others && terms.shape(2) == rows, "terms do not fit");
    }
};

void check_candidates(const Input<int64_t, 1> &candidates, size_t columns) {
    for (size_t j = 0; j < candidates.shape(0); ++j)
        require(candidates.data()[j] >= 0 && size_t(candidates.data()[j]) < columns, "no such candidate");
}

Array<double, 2> selection_scores(Input<double, 2> current, Input<double, 3> terms, double sign, Input<double, 1> truth,
                                  Weights weights, Input<int64_t, 1> candidates) {
    Rows r(current.shape(0), current.shape(1), truth, weights);
    r.fit(terms);
    check_candidates(candidates, terms.shape(0));
    size_t count = candidates.shape(0);
    Owned<double, 2> out({count, 2});
    run([&] {
        return kernels->selection_scores(current.data(), terms.data(), sign, int64_t(r.rows), int64_t(r.rows),
                                         int64_t(r.others), truth.data(), r.weights, candidates.data(), int64_t(count),
                                         out.data);
    });
    return out.array;
}

std::pair<double, double> selection_update(Output<double, 2> current, std::optional<Input<double, 2>> term, double sign,
                                           Input<double, 1> truth, Weights weights, Output<double, 2> odds,
                                           Output<double, 1> reach) {
    Rows r(current.shape(0), current.shape(1), truth, weights);
    require(!term || (term->shape(0) == r.others && term->shape(1) == r.rows), "the term does not fit");
    require(odds.shape(0) == r.others && odds.shape(1) == r.rows && reach.shape(0) == r.tiles, "odds or reach do not fit");
    double out[2];
    nb::gil_scoped_release free;
    kernels->selection_update(current.data(), term ? term->data() : nullptr, sign, int64_t(r.rows), int64_t(r.others),
                              truth.data(), r.weights, odds.data(), reach.data(), out);
    return {out[0], out[1]};
}

void check_factors(const Input<double, 3> &terms, const Output<float, 4> &factors, const Output<double, 2> &reach) {
    size_t rows = terms.shape(2), tiles = (rows + TILE - 1) / TILE;
    require(rows % STRANDS == 0, "rows must be filled up to a multiple of 8");
    require(factors.shape(0) == tiles && factors.shape(1) == terms.shape(0) && factors.shape(2) == terms.shape(1) &&
                factors.shape(3) == TILE && reach.shape(0) == tiles && reach.shape(1) == terms.shape(0),
            "factors or their reach do not fit the terms");
}

void selection_factors(Input<double, 3> terms, double sign, Output<float, 4> factors, Output<double, 2> reach) {
    check_factors(terms, factors, reach);
    nb::gil_scoped_release free;
    kernels->selection_factors(terms.data(), sign, int64_t(terms.shape(2)), int64_t(terms.shape(0)), int64_t(terms.shape(1)),
                               factors.data(), reach.data());
}

Array<double, 1> selection_approximate(Input<double, 2> current, Input<double, 3> terms, double sign, Input<double, 1> truth,
                                       Weights weights, Input<double, 2> odds, Input<double, 1> reach, Output<float, 4> factors,
                                       Output<double, 2> reaches, Input<int64_t, 1> candidates) {
    Rows r(current.shape(0), current.shape(1), truth, weights);
    r.fit(terms);
    check_factors(terms, factors, reaches);
    check_candidates(candidates, terms.shape(0));
    require(odds.shape(0) == r.others && odds.shape(1) == r.rows && reach.shape(0) == r.tiles, "odds or reach do not fit");
    size_t count = candidates.shape(0);
    Owned<double, 1> out({count});
    run([&] {
        return kernels->selection_approximate(current.data(), terms.data(), sign, int64_t(r.rows), int64_t(terms.shape(0)),
                                              int64_t(r.others), truth.data(), r.weights, odds.data(), reach.data(),
                                              factors.data(), reaches.data(), candidates.data(), int64_t(count), out.data);
    });
    return out.array;
}

void log_odds(Anywhere terms, Input<int32_t, 1> groups, double floor, Anywhere out) {
    size_t rows = terms.shape(0), classes = terms.shape(1);
    require(groups.shape(0) == rows && out.shape(0) + 1 == classes && out.shape(1) == rows && out.stride(1) == 1,
            "groups or out do not fit the terms");
    for (size_t i = 0; i < rows; ++i)
        require(groups.data()[i] >= 0 && size_t(groups.data()[i]) < classes, "a row has no class");
    nb::gil_scoped_release free;
    kernels->log_odds(grid_of(terms), groups.data(), int64_t(rows), int64_t(classes), floor, out.data(), out.stride(0));
}

const Binding binding([](nb::module_ &m) {
    m.def("selection_scores", &selection_scores, "current"_a.noconvert(), "terms"_a.noconvert(), "sign"_a,
          "truth"_a.noconvert(), "weights"_a.noconvert().none(), "candidates"_a.noconvert(),
          "For each candidate the sum of log P(true class) and the weight of the rows it gets wrong, (candidates, 2), "
          "from log-odds of the other classes against the true one: current (others, rows) + sign * terms[candidate].");
    m.def("selection_update", &selection_update, "current"_a.noconvert(), "term"_a.noconvert().none(), "sign"_a,
          "truth"_a.noconvert(), "weights"_a.noconvert().none(), "odds"_a.noconvert(), "reach"_a.noconvert(),
          "Adds sign * term to current and says what ``selection_scores`` would; keeps e^current in odds and, by 512 rows, the "
          "largest |current| in reach.");
    m.def("selection_factors", &selection_factors, "terms"_a.noconvert(), "sign"_a, "factors"_a.noconvert(),
          "reach"_a.noconvert(),
          "e^(sign * terms) as floats, (tiles, columns, others, 512), and the largest |term| by 512 rows: (tiles, columns).");
    m.def("selection_approximate", &selection_approximate, "current"_a.noconvert(), "terms"_a.noconvert(), "sign"_a,
          "truth"_a.noconvert(), "weights"_a.noconvert().none(), "odds"_a.noconvert(), "reach"_a.noconvert(),
          "factors"_a.noconvert(), "reaches"_a.noconvert(), "candidates"_a.noconvert(),
          "The sum of log P(true class) with each candidate, off by at most 2^-23 of the weight: (candidates,).");
    m.def("log_odds", &log_odds, "terms"_a.noconvert(), "groups"_a.noconvert(), "floor"_a, "out"_a.noconvert(),
          "Adds to out (classes - 1, rows) the log-odds of the other classes against each row's own, from log densities "
          "(rows, classes) of at least -floor.");
});

}}  // namespace bayeskit::search
