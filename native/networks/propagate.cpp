// Bindings of inference in networks: every op is checked before any runs.
#include <algorithm>
#include "dispatch/bindings.h"

namespace bayeskit::networks { namespace {

using Words = Input<int64_t, 1>;

// The largest place that sizes and strides lead to; they may not be negative.
int64_t farthest(int64_t from, int64_t dims, const int64_t *size, const int64_t *stride) {
    constexpr int64_t FARTHEST = int64_t(1) << 50;
    require(from >= 0 && from <= FARTHEST, "an offset is out of range");
    for (int64_t d = 0; d < dims; ++d) {
        require(size[d] >= 1 && size[d] <= (int64_t(1) << 32) && stride[d] >= 0, "a size or stride is out of range");
        require(!stride[d] || size[d] - 1 <= (FARTHEST - from) / stride[d], "an offset is out of range");
        from += (size[d] - 1) * stride[d];
    }
    return from;
}

struct Limits {
    int64_t tables, cells, columns, likelihoods;
};

int64_t cells_of(int64_t dims, const int64_t *size, int64_t most) {
    int64_t cells = 1;
    for (int64_t d = 0; d < dims; ++d) {
        require(size[d] >= 1 && size[d] <= most / cells, "a message does not fit the arena");
        cells *= size[d];
    }
    return cells;
}

void check_op(const int64_t *w, int64_t left, const Limits &l) {
    require(left >= 2 && w[0] >= 6 && w[0] <= left, "an op is cut short");
    if (w[1] == OpKind::INDICATE) {
        require(w[0] == 6 && w[4] >= 1 && w[2] >= 0 && w[2] <= l.cells - w[4], "an indicator does not fit the arena");
        require(w[3] >= -1 && w[3] < l.columns, "an indicator names no column");
        require(w[5] == -1 || (w[5] >= 0 && w[5] <= l.likelihoods - w[4]), "an indicator names no likelihood");
    } else if (w[1] == OpKind::GATHER) {
        int64_t dims = w[4], known = w[5];
        require(dims >= 0 && dims <= MOST_DIMS && known >= 0 && known <= MOST_DIMS && w[0] == 6 + 3 * known + 2 * dims,
                "a gather has a wrong length");
        const int64_t *column = w + 6, *size = w + 6 + 3 * known;
        for (int64_t h = 0; h < known; ++h) require(column[h] >= 0 && column[h] < l.columns, "a gather names no column");
        int64_t last = farthest(w[3], known, column + 2 * known, column + known);
        require(farthest(last, dims, size, size + dims) < l.tables, "a gather leaves the tables");
        require(w[2] >= 0 && w[2] <= l.cells - cells_of(dims, size, l.cells), "a gather does not fit the arena");
    } else {
        require(w[1] == OpKind::STEP && w[0] >= 8, "an op is of no known kind");
        int64_t dims = w[3], states = w[4], inputs = w[7];
        require(dims >= 0 && dims <= MOST_DIMS && inputs >= 0 && inputs <= MOST_INPUTS && states >= 1 &&
                    states <= l.tables + l.cells && w[0] == 8 + 2 * dims + inputs * (3 + dims),
                "a step has a wrong length");
        require(w[5] >= -1 && w[5] < l.columns, "a step eliminates no variable");
        const int64_t *size = w + 8, *axis = size + dims;
        for (int64_t d = 0; d < dims; ++d) require(axis[d] >= 0 && axis[d] < l.columns, "a step has an unknown axis");
        require(w[2] >= 0 && w[2] <= l.cells - cells_of(dims, size, l.cells) - (w[6] != 0), "a step leaves the arena");
        for (const int64_t *in = axis + dims, *end = w + w[0]; in < end; in += 3 + dims) {
            int64_t last = farthest(farthest(in[1], dims, size, in + 3), 1, &states, in + 2);
            require(last < (in[0] ? l.cells : l.tables), "an input leaves its array");
        }
    }
}

void propagate(Words words, Input<double, 1> tables, int64_t cells, int64_t result, Input<int32_t, 2> codes,
               std::optional<Input<double, 2>> likelihood, int64_t tile, bool largest, Output<double, 2> out,
               Output<double, 1> exponent, std::optional<Output<int32_t, 2>> chosen, uint64_t seed,
               std::optional<Output<double, 1>> counts, Weights weights, int64_t belief_from,
               std::optional<Output<double, 2>> belief) {
    int64_t rows = int64_t(codes.shape(1)), length = int64_t(words.shape(0));
    Limits limits = {int64_t(tables.shape(0)), cells, int64_t(codes.shape(0)), likelihood ? int64_t(likelihood->shape(0)) : 0};
    require(tile == 1 || tile == 8 || tile == 32, "a tile has 1, 8 or 32 rows");
    require(cells >= 0 && cells <= (int64_t(1) << 40), "the arena is too large");
    std::vector<int64_t> start;
    for (int64_t at = 0; at < length; at += words.data()[at]) {
        check_op(words.data() + at, length - at, limits);
        start.push_back(at);
    }
    int64_t states = std::max(int64_t(out.shape(0)), int64_t(counts.has_value()));  // counts begin at the first
    require(result >= 0 && result <= cells - states, "the result leaves the arena");
    require(int64_t(out.shape(1)) == rows && int64_t(exponent.shape(0)) == rows, "out and exponent need all rows");
    require(!likelihood || int64_t(likelihood->shape(1)) == rows, "likelihoods need all rows");
    require(!chosen || (chosen->shape(0) == codes.shape(0) && chosen->shape(1) == codes.shape(1)), "chosen is like codes");
    require(!counts || counts->shape(0) == tables.shape(0), "counts are like tables");
    require(!belief || (counts && belief_from >= 0 && belief_from <= cells - int64_t(belief->shape(0)) &&
                        int64_t(belief->shape(1)) == rows),
            "beliefs do not fit");
    Program p = {words.data(), length, start.data(), int64_t(start.size()), tables.data(), cells, result};
    Evidence e = {{codes.data(), limits.columns, rows}, likelihood ? likelihood->data() : nullptr};
    Request a = {tile,
                 largest,
                 int64_t(out.shape(0)),
                 out.data(),
                 exponent.data(),
                 chosen ? chosen->data() : nullptr,
                 seed,
                 counts ? counts->data() : nullptr,
                 weights_of(weights, rows),
                 belief_from,
                 belief ? int64_t(belief->shape(0)) : 0,
                 belief ? belief->data() : nullptr};
    run([&] { return kernels->propagate(p, e, a); });
}

const Binding binding([](nb::module_ &m) {
    m.def("propagate", &propagate, "words"_a.noconvert(), "tables"_a.noconvert(), "cells"_a, "result"_a, "codes"_a.noconvert(),
          "likelihood"_a.noconvert().none(), "tile"_a, "largest"_a, "out"_a.noconvert(), "exponent"_a.noconvert(),
          "chosen"_a.noconvert().none() = nb::none(), "seed"_a = 0, "counts"_a.noconvert().none() = nb::none(),
          "weights"_a.noconvert().none() = nb::none(), "belief_from"_a = 0, "belief"_a.noconvert().none() = nb::none(),
          "Runs a compiled elimination over all rows: results (states, rows) over 2^exponent, and on demand states of "
          "the eliminated variables, expected counts of the tables and posteriors of indicators.");
});

}}  // namespace bayeskit::networks
