// Bins: cells (edge - 2^e, edge] of a column, named by their right edge, at most a budget of them occupied.
#include <algorithm>
#include "counts/bin_counter.h"
#include "dispatch/bindings.h"

namespace bayeskit::counts { namespace {

using Ragged = std::pair<Array<double, 1>, Array<int64_t, 1>>;

Ragged ragged(const std::vector<std::vector<double>> &columns) {
    Owned<int64_t, 1> offset({columns.size() + 1});
    for (size_t j = 0; j < columns.size(); ++j) offset.data[j + 1] = offset.data[j] + int64_t(columns[j].size());
    Owned<double, 1> edges({size_t(offset.data[columns.size()])});
    for (size_t j = 0; j < columns.size(); ++j) std::copy(columns[j].begin(), columns[j].end(), edges.data + offset.data[j]);
    return {edges.array, offset.array};
}

// Ragged edges as given: checked once, so that nothing below needs to.
struct Cells {
    const double *edges;
    const int64_t *offset;
    size_t columns;

    Cells(const Input<double, 1> &e, const Input<int64_t, 1> &o, size_t d) : edges(e.data()), offset(o.data()), columns(d) {
        require(o.shape(0) == d + 1 && offset[0] == 0 && offset[d] == int64_t(e.shape(0)), "offset does not fit edges");
        for (size_t j = 0; j < d; ++j) require(offset[j] <= offset[j + 1], "offset must not decrease");
        for (size_t i = 0; i < e.shape(0); ++i) require(edges[i] - edges[i] == 0, "an edge is not finite");
    }
    // Different cells of a grid of 2^exponent in ascending order: what is looked up among them is found.
    void require_grid(const int64_t *exponent) const {
        for (size_t j = 0; j < columns; ++j)
            for (const double *x = begin(j); x < end(j); ++x)
                require((x == begin(j) || x[-1] < *x) && edge_of(*x, exponent[j]) == *x,
                        "the edges of a column must ascend and lie on its grid");
    }
    const double *begin(size_t j) const { return edges + offset[j]; }
    const double *end(size_t j) const { return edges + offset[j + 1]; }
};

void check_exponents(const int64_t *exponent, size_t d, int64_t budget) {
    require(budget >= 2 && budget <= int64_t(1) << 24, "the budget must be at least 2 cells and at most 2^24");
    for (size_t j = 0; j < d; ++j)
        require(exponent[j] >= FINEST && exponent[j] <= COARSEST, "an exponent is not that of a cell");
}

using Counted = std::tuple<Array<double, 1>, Array<int64_t, 1>, Array<int64_t, 1>, Array<int64_t, 2>>;

// Codes are written if they are asked for; otherwise rows are counted.
Counted count_bins(Input<uint64_t, 1> address, Input<int64_t, 1> stride, int64_t rows, Input<int32_t, 1> groups,
                   size_t n_groups, Weights weights, Input<double, 1> edges, Input<int64_t, 1> offset, int64_t budget,
                   Output<int64_t, 1> exponent, std::optional<Output<int32_t, 2>> codes) {
    Columns c = columns_of(address, stride, rows);
    size_t d = size_t(c.count);
    require(int64_t(groups.shape(0)) == rows, "groups differ in length from rows");
    require(rows <= int64_t(1) << 24, "a call takes at most 2^24 rows");
    require(exponent.shape(0) == d, "one exponent for each column");
    require(!codes || (codes->shape(0) == d && int64_t(codes->shape(1)) == rows), "codes do not fit");
    require(codes || !weights, "weighted rows are coded, not counted");
    int32_t last = rows ? *std::max_element(groups.data(), groups.data() + rows) : -1;
    require(last < int64_t(n_groups), "a group is not below the number of groups");
    const double *w = weights_of(weights, rows);
    Cells known(edges, offset, d);
    check_exponents(exponent.data(), d, budget);
    known.require_grid(exponent.data());
    std::vector<std::vector<double>> found(d);
    std::vector<std::vector<int32_t>> rank(d);
    std::vector<Counter> counters;
    bool finite = true;
    {
        nb::gil_scoped_release free;
        for (size_t j = 0; j < d; ++j)
            counters.emplace_back(exponent.data()[j], budget, rows, codes ? 0 : n_groups, known.begin(j), known.end(j));
        // A column without cells: few rows are sorted, and of many some in between tell how coarse the grid must be.
        int64_t some = 2 * budget;
        std::vector<Named> sorted;
        std::vector<double> values;
        std::vector<bool> done(d);
        std::vector<int32_t> unused(size_t(rows <= some && !codes ? rows : 0));
        for (size_t j = 0; j < d; ++j) {
            if (counters[j].live()) continue;
            auto at = [&](int64_t i) { return number_at(c.address[j], i * c.stride[j]) + 0.0; };  // there is one zero
            auto counts = [&](int64_t i, double x) { return groups.data()[i] >= 0 && (!w || w[i] > 0) && x - x == 0; };
            if (rows > some) {
                values.clear();
                for (int64_t k = 0; k < some; ++k) {
                    int64_t i = rows / some * k;
                    if (double x = at(i); counts(i, x)) values.push_back(x);
                }
                counters[j].choose_exponent(values);
            } else if (exponent.data()[j] == FINEST) {
                int32_t *code = codes ? codes->data() + j * size_t(rows) : unused.data();
                std::fill(code, code + rows, NOT_COUNTED);
                sorted.clear();
                for (int64_t i = 0; i < rows; ++i) {
                    double x = at(i);
                    finite &= x - x == 0 || x != x;
                    if (counts(i, x)) sorted.emplace_back(x, int32_t(i));
                }
                counters[j].count(sorted, groups.data(), code);
                done[j] = true;
            }
        }
        // Some rows of all columns at a time: those of a matrix then come from memory once.
        for (int64_t from = 0; from < rows; from += CELL_TILE)
            for (size_t j = 0; j < d; ++j) {
                if (done[j]) continue;
                Counter &counter = counters[j];
                int32_t tile[CELL_TILE], *code = codes ? codes->data() + j * size_t(rows) + from : tile;
                const int32_t *group = groups.data() + from;
                uint64_t at = c.address[j] + uint64_t(from * c.stride[j]);
                int64_t n = std::min(CELL_TILE, rows - from);
                int64_t unknown = kernels->find_cells(at, c.stride[j], n, group, w ? w + from : w, counter.grid(), code);
                finite &= unknown >= 0;
                // Rows that are found count before cells are made: one without rows may be no cell.
                int32_t *tally = counter.tally.data();
                for (int64_t i = 0; !codes && i < n; ++i)
                    if (code[i] >= 0) ++tally[size_t(code[i]) * n_groups + size_t(group[i])];
                for (int64_t i = 0; unknown > 0; ++i)
                    if (code[i] == UNKNOWN) {
                        code[i] = counter.search(number_at(at, i * c.stride[j]));
                        if (!codes) ++counter.tally[size_t(code[i]) * n_groups + size_t(group[i])];
                        --unknown;
                    }
            }
        for (size_t j = 0; j < d; ++j) {
            found[j] = counters[j].finish(rank[j]);
            exponent.data()[j] = counters[j].e;
            if (!codes) continue;
            int32_t *code = codes->data() + j * size_t(rows);
            for (int64_t i = 0; i < rows; ++i) code[i] = code[i] < 0 ? NOT_COUNTED : rank[j][size_t(code[i])];
        }
    }
    require(finite, "a value is infinite");
    auto [all, begin] = ragged(found);
    Owned<int64_t, 1> moves({edges.shape(0)});
    for (size_t j = 0; j < d; ++j)
        for (int64_t i = known.offset[j]; i < known.offset[j + 1]; ++i)
            moves.data[i] = begin.data()[j] + rank[j][size_t(i - known.offset[j])];
    Owned<int64_t, 2> counts({n_groups, codes ? 0 : all.shape(0)});
    for (size_t j = 0; j < d && !codes; ++j)
        for (size_t id = 0; id < rank[j].size(); ++id)
            for (size_t g = 0; g < n_groups; ++g)
                counts.data[g * all.shape(0) + size_t(begin.data()[j] + rank[j][id])] += counters[j].tally[id * n_groups + g];
    return {all, begin, moves.array, counts.array};
}

// The cells of both at the coarser of their exponents, or coarser still to keep the budget.
Ragged merge_bins(Input<double, 1> edges, Input<int64_t, 1> offset, Input<double, 1> others, Input<int64_t, 1> other_offset,
                  int64_t budget, Output<int64_t, 1> exponent) {
    size_t d = exponent.shape(0);
    Cells mine(edges, offset, d), theirs(others, other_offset, d);
    int64_t *e = exponent.data();
    check_exponents(e, d, budget);
    std::vector<std::vector<double>> found(d);
    for (size_t j = 0; j < d; ++j) {
        auto &cells = found[j];
        cells.assign(mine.begin(j), mine.end(j));
        cells.insert(cells.end(), theirs.begin(j), theirs.end(j));
        auto settle = [&] {
            for (double &c : cells) c = edge_of(c, e[j]);
            std::sort(cells.begin(), cells.end());
            cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
        };
        settle();
        if (int64_t(cells.size()) > budget) {
            e[j] = fitting(cells, e[j], budget);
            settle();
        }
    }
    return ragged(found);
}

// For every value (ragged by column) its cell among the edges of that column, counted over all columns; -1 for none.
Array<int64_t, 1> find_bins(Input<double, 1> values, Input<int64_t, 1> value_offset, Input<double, 1> edges,
                            Input<int64_t, 1> offset, Input<int64_t, 1> exponent) {
    size_t d = exponent.shape(0);
    Cells asked(values, value_offset, d), known(edges, offset, d);
    check_exponents(exponent.data(), d, 2);
    known.require_grid(exponent.data());
    Owned<int64_t, 1> out({values.shape(0)});
    for (size_t j = 0; j < d; ++j)
        for (const double *v = asked.begin(j); v < asked.end(j); ++v) {
            double cell = edge_of(*v, exponent.data()[j]);
            const double *at = std::lower_bound(known.begin(j), known.end(j), cell);
            out.data[v - asked.edges] = at < known.end(j) && *at == cell ? at - known.edges : -1;
        }
    return out.array;
}

constexpr size_t FEW_EDGES = 16, PLACE_TILE = 512;  // so few are compared one after the other, many rows at a time
constexpr size_t ABREAST = 16;                      // values that are halved side by side, as none waits for another

// How many edges lie below each value (all of them for a NaN): halving without a branch, as values come in any order.
Array<int64_t, 1> digitize(nb::ndarray<const double, nb::ndim<1>, nb::device::cpu> x, Input<double, 1> edges) {
    size_t n = x.shape(0), count = edges.shape(0);
    require(ascends(edges.data(), count), "edges must ascend");
    Owned<int64_t, 1> out({n});
    const double *edge = edges.data(), *value = x.data();
    int64_t stride = x.stride(0);
    nb::gil_scoped_release free;
    if (count <= FEW_EDGES && stride == 1) {
        for (size_t from = 0; from < n; from += PLACE_TILE) {
            size_t to = std::min(n, from + PLACE_TILE);
            for (size_t e = 0; e < count; ++e)
                for (size_t i = from; i < to; ++i) out.data[i] += edge[e] < value[i];
            for (size_t i = from; i < to; ++i) out.data[i] = value[i] != value[i] ? int64_t(count) : out.data[i];
        }
        return out.array;
    }
    for (size_t from = 0; from < n; from += ABREAST) {
        size_t width = std::min(ABREAST, n - from), at[ABREAST] = {};
        double v[ABREAST] = {};
        for (size_t i = 0; i < width; ++i) v[i] = value[int64_t(from + i) * stride];
        for (size_t left = count; left > 1;) {
            size_t half = left / 2;
            for (size_t i = 0; i < ABREAST; ++i) at[i] += edge[at[i] + half - 1] < v[i] ? half : 0;
            left -= half;
        }
        for (size_t i = 0; i < width; ++i)
            out.data[from + i] = int64_t(v[i] != v[i] ? count : at[i] + (count && edge[at[i]] < v[i]));
    }
    return out.array;
}

const Binding binding([](nb::module_ &m) {
    m.def("count_bins", &count_bins, "address"_a.noconvert(), "stride"_a.noconvert(), "rows"_a, "groups"_a.noconvert(),
          "n_groups"_a, "weights"_a.noconvert().none(), "edges"_a.noconvert(), "offset"_a.noconvert(), "budget"_a,
          "exponent"_a.noconvert(), "codes"_a.noconvert().none(),
          "Cells of the values and of the edges known so far: edges and offsets by column, where the known ones are now, and "
          "without codes the rows of each group and cell; codes of the rows (-1: not counted) and the exponents are written.");
    m.def("digitize", &digitize, "x"_a.noconvert(), "edges"_a.noconvert(),
          "How many of the ascending edges lie below each value.");
    m.def("merge_bins", &merge_bins, "edges"_a.noconvert(), "offset"_a.noconvert(), "others"_a.noconvert(),
          "other_offset"_a.noconvert(), "budget"_a, "exponent"_a.noconvert(),
          "Edges and offsets of both at the exponents given, which grow where the budget asks for it.");
    m.def("find_bins", &find_bins, "values"_a.noconvert(), "value_offset"_a.noconvert(), "edges"_a.noconvert(),
          "offset"_a.noconvert(), "exponent"_a.noconvert(), "The cell of every value, -1 where there is none.");
});

}}  // namespace bayeskit::counts
