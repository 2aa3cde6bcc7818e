// Bins: cells (edge - 2^e, edge] of a column, named by their right edge, at most a budget of them occupied.
#include <algorithm>
#include "bindings.h"
#include "exact.h"

namespace {

constexpr int64_t FINEST = -1074, COARSEST = 1024;  // every double is its own cell; one cell on each side of 0
constexpr double LARGEST = 1.7976931348623157e308;
constexpr uint64_t SIGN = uint64_t(1) << 63;

inline double power(int64_t e) {
    if (e > 1023) return LARGEST;
    return double_of(e >= -1022 ? uint64_t(e + 1023) << 52 : uint64_t(1) << (e + 1074));
}

// The right edge of the cell of a finite x: x itself where doubles lie at least 2^e apart, else the next multiple of
// 2^e, by its bits: the product x * 2^-e might underflow. Beyond the largest double the edge is that.
inline double edge_of(double x, int64_t e) {
    uint64_t b = bits_of(x), size = b & ~SIGN, sign = b & SIGN;
    int64_t field = int64_t(size >> 52), shift = e - ((field ? field : 1) - 1075);
    if (shift > 52) return sign || !size ? 0.0 : power(e);
    uint64_t low = (uint64_t(1) << (shift < 0 ? 0 : shift)) - 1;
    size = (size + (sign ? 0 : low)) & ~low;  // up, or toward zero
    if (size >= uint64_t(2047) << 52) return LARGEST;
    return double_of(size ? size | sign : 0);
}

// Whether ascending cells have at most budget distinct edges once they are coarsened to e.
bool fits(const std::vector<double> &cells, int64_t e, int64_t budget) {
    int64_t found = 0;
    double last = 0;
    for (double c : cells) {
        double edge = edge_of(c, e);
        if ((!found || edge != last) && ++found > budget) return false;
        last = edge;
    }
    return true;
}

// The smallest exponent from e on with at most budget cells: near the one at which an even grid over them all has so many.
int64_t fitting(const std::vector<double> &cells, int64_t e, int64_t budget) {
    if (int64_t(cells.size()) <= budget) return e;
    int64_t bad = e, good = COARSEST, stride = 1;
    double range = cells.back() / double(budget) - cells.front() / double(budget);
    int64_t guess = int64_t(bits_of(range) >> 52) - 1023;
    auto bounded = [&](int64_t at) { return std::clamp(at, bad + 1, std::max(good - 1, bad + 1)); };
    for (int64_t at = bounded(guess); good - bad > 1; stride *= 2) {
        if (fits(cells, at, budget)) {
            good = at;
            at = bounded(at - stride);
        } else {
            bad = at;
            if (good < COARSEST) break;  // both sides are found
            at = bounded(at + stride);
        }
    }
    while (good - bad > 1) {
        int64_t middle = bad + (good - bad) / 2;
        (fits(cells, middle, budget) ? good : bad) = middle;
    }
    return good;
}

// Cells of one column while it is counted. Identities are given in order of arrival and never taken back; a cell that
// is coarsened away points to the one that took it.
struct Counter {
    int64_t e, budget, bits = 6;
    std::vector<uint64_t> key;  // bits of the edge; a NaN where the slot is free
    std::vector<int32_t> slot;  // the identity
    std::vector<double> edge;   // by identity
    std::vector<int32_t> next;  // by identity: the cell that took it, or itself
    int64_t live = 0, first = 0;  // cells in the table, and the first identity of this exponent
    std::vector<int32_t> near;    // identities of the cells low, low + 1, ... of the grid
    double scale = 0, low = 0, high = 0;
    static constexpr uint64_t FREE = ~uint64_t(0);
    static constexpr int64_t NEAR = 1 << 16;

    Counter(int64_t e, int64_t budget) : e(e), budget(budget) { clear(); }

    // Where the cells lie close together their number leads straight to them.
    void lay() {
        low = high = 0;
        near.assign(1, UNKNOWN);
        if (e > 900 || e < -900 || !live) return;
        scale = power(-e);
        auto ends = std::minmax_element(edge.begin() + first, edge.end());
        double from = *ends.first * scale, to = *ends.second * scale, half = (to - from) / 2 + 64;
        if (!(to - from < NEAR / 2)) return;
        low = double(int64_t(from - half)), high = low + double(int64_t(2 * half + to - from));
        near.assign(size_t(high - low) + 1, UNKNOWN);
        for (size_t id = size_t(first); id < edge.size(); ++id) near[size_t(edge[id] * scale - low)] = int32_t(id);
    }

    CellGrid grid() const { return {scale, low, high, near.data()}; }

    void clear() {
        key.assign(size_t(1) << bits, FREE);
        slot.assign(size_t(1) << bits, 0);
    }
    inline size_t place(uint64_t k) const {
        size_t at = size_t((k * 0x9e3779b97f4a7c15ull) >> (64 - bits)), mask = (size_t(1) << bits) - 1;
        while (key[at] != k && key[at] != FREE) at = (at + 1) & mask;
        return at;
    }
    int32_t search(double x) {
        double cell = edge_of(x, e);
        uint64_t k = bits_of(cell);
        size_t at = place(k);
        return key[at] == k ? slot[at] : added(cell);
    }
    int32_t insert(double cell) {
        int32_t id = int32_t(edge.size());
        edge.push_back(cell);
        next.push_back(id);
        size_t at = place(bits_of(cell));
        key[at] = bits_of(cell);
        slot[at] = id;
        ++live;
        return id;
    }
    int32_t added(double cell) {
        if (2 * live >= int64_t(1) << bits) rehash();
        int32_t id = insert(cell);
        double t = cell * scale;
        if (t > low && t <= high) near[size_t(t - low)] = id;
        // Twice the budget may gather before the cells are coarsened, so that this happens seldom.
        if (live > 2 * budget) coarsen();
        return id;
    }
    void rehash() {
        bits += 2;
        clear();
        for (int64_t id = first; id < int64_t(edge.size()); ++id) {
            size_t at = place(bits_of(edge[size_t(id)]));
            key[at] = bits_of(edge[size_t(id)]);
            slot[at] = int32_t(id);
        }
    }
    std::vector<double> sorted() const {
        std::vector<double> cells(edge.begin() + first, edge.end());
        std::sort(cells.begin(), cells.end());
        return cells;
    }
    void coarsen() {
        e = fitting(sorted(), e, budget);
        int64_t from = first, to = int64_t(edge.size());
        clear();
        live = 0;
        first = to;
        for (int64_t id = from; id < to; ++id) {
            double cell = edge_of(edge[size_t(id)], e);
            size_t at = place(bits_of(cell));
            next[size_t(id)] = key[at] == bits_of(cell) ? slot[at] : insert(cell);
        }
        lay();
    }
    // Ends counting: edges in order, and for every identity its place among them.
    std::vector<double> finish(std::vector<int32_t> &rank) {
        if (live > budget) coarsen();
        size_t n = edge.size(), from = size_t(first);
        std::vector<int32_t> order(n - from);
        for (size_t i = from; i < n; ++i) order[i - from] = int32_t(i);
        // cells known before came in order: only what is new needs to be sorted
        auto below = [&](int32_t a, int32_t b) { return edge[size_t(a)] < edge[size_t(b)]; };
        auto fresh = std::is_sorted_until(order.begin(), order.end(), below);
        std::sort(fresh, order.end(), below);
        std::inplace_merge(order.begin(), fresh, order.end(), below);
        rank.resize(n);
        std::vector<double> cells;
        for (int32_t id : order) {
            rank[size_t(id)] = int32_t(cells.size());
            cells.push_back(edge[size_t(id)]);
        }
        for (size_t i = from; i--;) rank[i] = rank[size_t(next[i])];
        return cells;
    }
};

using Ragged = std::pair<Array<double, 1>, Array<int64_t, 1>>;

Ragged ragged(const std::vector<std::vector<double>> &columns) {
    Owned<int64_t, 1> offset({columns.size() + 1});
    for (size_t j = 0; j < columns.size(); ++j) offset.data[j + 1] = offset.data[j] + int64_t(columns[j].size());
    Owned<double, 1> edges({size_t(offset.data[columns.size()])});
    for (size_t j = 0; j < columns.size(); ++j)
        std::copy(columns[j].begin(), columns[j].end(), edges.data + offset.data[j]);
    return {edges.array, offset.array};
}

// Ragged edges as given: checked once, so that nothing below needs to.
struct Cells {
    const double *edges;
    const int64_t *offset;
    size_t columns;

    Cells(const Input<double, 1> &e, const Input<int64_t, 1> &o, size_t d)
        : edges(e.data()), offset(o.data()), columns(d) {
        require(o.shape(0) == d + 1 && offset[0] == 0 && offset[d] == int64_t(e.shape(0)), "offset does not fit edges");
        for (size_t j = 0; j < d; ++j) require(offset[j] <= offset[j + 1], "offset must not decrease");
        for (size_t i = 0; i < e.shape(0); ++i) require(edges[i] - edges[i] == 0, "an edge is not finite");
    }
    const double *begin(size_t j) const { return edges + offset[j]; }
    const double *end(size_t j) const { return edges + offset[j + 1]; }
};

void check_exponents(const int64_t *exponent, size_t d, int64_t budget) {
    require(budget >= 2 && budget <= int64_t(1) << 24, "the budget must be at least 2 cells and at most 2^24");
    for (size_t j = 0; j < d; ++j)
        require(exponent[j] >= FINEST && exponent[j] <= COARSEST, "an exponent is not that of a cell");
}

Ragged bins(Input<uint64_t, 1> address, Input<int64_t, 1> stride, int64_t rows, Input<int32_t, 1> groups,
            Weights weights, Input<double, 1> edges, Input<int64_t, 1> offset, int64_t budget,
            Output<int64_t, 1> exponent, Output<int32_t, 2> codes) {
    Columns c = columns_of(address, stride, rows);
    size_t d = size_t(c.count);
    require(int64_t(groups.shape(0)) == rows, "groups differ in length from rows");
    require(rows <= int64_t(1) << 24, "a call takes at most 2^24 rows");
    require(exponent.shape(0) == d && codes.shape(0) == d && int64_t(codes.shape(1)) == rows, "codes or exponents do not fit");
    const double *w = weights_of(weights, rows);
    Cells known(edges, offset, d);
    check_exponents(exponent.data(), d, budget);
    std::vector<std::vector<double>> found(d);
    bool finite = true;
    {
        nb::gil_scoped_release free;
        std::vector<Counter> counters;
        for (size_t j = 0; j < d; ++j) {
            counters.emplace_back(exponent.data()[j], budget);
            for (const double *cell = known.begin(j); cell < known.end(j); ++cell) counters[j].search(*cell);
            counters[j].lay();
        }
        // Some rows of all columns at a time: those of a matrix then come from memory once.
        for (int64_t from = 0; from < rows; from += CELL_TILE)
            for (size_t j = 0; j < d; ++j) {
                Counter &counter = counters[j];
                int32_t *code = codes.data() + j * size_t(rows) + from;
                uint64_t at = c.address[j] + uint64_t(from * c.stride[j]);
                int64_t n = std::min(CELL_TILE, rows - from);
                int64_t unknown =
                    kernels->cells(at, c.stride[j], n, groups.data() + from, w ? w + from : w, counter.grid(), code);
                finite &= unknown >= 0;
                for (int64_t i = 0; unknown > 0 && i < n; ++i)
                    if (code[i] == UNKNOWN) {
                        double x;
                        __builtin_memcpy(&x, (const char *) at + i * c.stride[j], 8);
                        code[i] = counter.search(x);
                    }
            }
        std::vector<int32_t> rank;
        for (size_t j = 0; j < d; ++j) {
            found[j] = counters[j].finish(rank);
            exponent.data()[j] = counters[j].e;
            int32_t *code = codes.data() + j * size_t(rows);
            rank.insert(rank.begin(), NOT_COUNTED);
            for (int64_t i = 0; i < rows; ++i) code[i] = rank[size_t(code[i] + 1)];
        }
    }
    require(finite, "a value is infinite");
    return ragged(found);
}

// The cells of both at the coarser of their exponents, or coarser still to keep the budget.
Ragged unite_bins(Input<double, 1> edges, Input<int64_t, 1> offset, Input<double, 1> others,
                  Input<int64_t, 1> other_offset, int64_t budget, Output<int64_t, 1> exponent) {
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
    Owned<int64_t, 1> out({values.shape(0)});
    for (size_t j = 0; j < d; ++j)
        for (const double *v = asked.begin(j); v < asked.end(j); ++v) {
            double cell = edge_of(*v, exponent.data()[j]);
            const double *at = std::lower_bound(known.begin(j), known.end(j), cell);
            out.data[v - asked.edges] = at < known.end(j) && *at == cell ? at - known.edges : -1;
        }
    return out.array;
}

constexpr size_t FEW_EDGES = 24, PLACE_TILE = 512;  // so few are compared one after the other, many rows at a time

// How many edges lie below each value (all of them for a NaN): halving without a branch, as values come in any order.
Array<int64_t, 1> place(nb::ndarray<const double, nb::ndim<1>, nb::device::cpu> x, Input<double, 1> edges) {
    size_t n = x.shape(0), count = edges.shape(0);
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
    for (size_t i = 0; i < n; ++i) {
        double v = value[int64_t(i) * stride];
        const double *at = edge;
        for (size_t left = count; left > 1;) {
            size_t half = left / 2;
            at += at[half - 1] < v ? half : 0;
            left -= half;
        }
        out.data[i] = v != v ? int64_t(count) : (at - edge) + (count && *at < v);
    }
    return out.array;
}

}  // namespace

void bind_bins(nb::module_ &m) {
    m.def("bins", &bins, "address"_a.noconvert(), "stride"_a.noconvert(), "rows"_a, "groups"_a.noconvert(),
          "weights"_a.noconvert().none(), "edges"_a.noconvert(), "offset"_a.noconvert(), "budget"_a,
          "exponent"_a.noconvert(), "codes"_a.noconvert(),
          "Cells of the values and of the edges known so far: edges and offsets by column; codes of the rows (-1: not "
          "counted) and the exponents are written.");
    m.def("place", &place, "x"_a.noconvert(), "edges"_a.noconvert(), "How many of the ascending edges lie below each value.");
    m.def("unite_bins", &unite_bins, "edges"_a.noconvert(), "offset"_a.noconvert(), "others"_a.noconvert(),
          "other_offset"_a.noconvert(), "budget"_a, "exponent"_a.noconvert(),
          "Edges and offsets of both at the exponents given, which grow where the budget asks for it.");
    m.def("find_bins", &find_bins, "values"_a.noconvert(), "value_offset"_a.noconvert(), "edges"_a.noconvert(),
          "offset"_a.noconvert(), "exponent"_a.noconvert(), "The cell of every value, -1 where there is none.");
}
