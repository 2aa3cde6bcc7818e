// Products of tables over few columns, with missing values summed out exactly, row by row.
#include <algorithm>
#include <cmath>
#include "dispatch/bindings.h"

namespace bayeskit::tables { namespace {

constexpr int64_t FRONT = 2;                  // places in front of the levels on each axis: never seen, missing
constexpr double DEEP = -900, SCALED = -200;  // log2 below which a product is scaled, and what is expected of it then
constexpr double LOG_2 = 0.69314718055994530942;

// Table j is over the parents of column j and, last, itself: cells (parents + 2 ..., size + 2), each with all classes.
struct Net {
    int64_t columns, most, classes;
    const int32_t *parents, *size, *order, *rank;  // order: parents before children; rank: who is cut first in a tie
    const int64_t *offset;
    const double *log, *share, *floor;  // floor: log2 of the smallest share of each table
    double limit;                       // cells of an elimination table, classes included
    std::vector<int64_t> step;          // (columns, most) of the parents; the column itself has 1

    const int32_t *above(int64_t j) const { return parents + j * most; }
};

enum State : uint8_t { IDLE, FIXED, ONLY, OPEN };  // missing and of no account; given; of one level; to be summed out

struct Factor {  // a table or a message, as a function of some open columns
    int32_t table;
    int64_t at;  // of a message
    int32_t scope, length;
    double floor;
    bool gone;
};

struct Step {  // the product of all factors that hold a column, summed over its levels
    int32_t input, inputs, narrow, dim, dims, states;  // the first `narrow` inputs hold no other open column
    int64_t cells, out;
};

// How to sum out one pattern of missing values; the same for all rows that have it.
class Plan {
public:
    explicit Plan(const Net &net)
        : net(net), state(size_t(net.columns)), needed(size_t(net.columns)), cut(size_t(net.columns)),
          marked(size_t(net.columns)), weight(size_t(net.columns)), left(size_t(net.columns)), holders(size_t(net.columns)) {}

    bool partly = false;        // whether a column had to be cut from its missing parents
    int64_t cells = 0, widest = 0;  // of all messages, and of the largest product

    void make(const int32_t *code) {
        partly = false;
        std::fill(cut.begin(), cut.end(), false);
        if (net.most <= 1) {  // a tree: children first makes no table larger than those it has
            open(code);
            for (int32_t v : open_columns) step(v);
            return;
        }
        while (!(open(code), eliminate(true)) && !(open(code), eliminate(false))) cut_one();
    }

    // Adds log p to out (classes,).
    void run(const int32_t *code, double *arena, double *work, double *exponent, double *out) const {
        int64_t K = net.classes;
        for (int32_t j : closed) {
            const double *cell = net.log + K * base(code, j);
            for (int64_t k = 0; k < K; ++k) out[k] += cell[k];
        }
        std::fill(exponent, exponent + K, 0.0);
        for (const Step &s : steps) {
            double *small = work, *wide = s.dims ? work + s.states * K : work, *made = arena + s.out * K;
            double depth = 0;
            for (int64_t i = 0; i < s.narrow; ++i) multiply(code, arena, s, s.input + i, 0, small, depth, exponent, i == 0);
            if (s.dims)
                for (int64_t c = 0; c < s.cells; ++c)
                    for (int64_t i = 0; i < s.states * K; ++i) wide[c * s.states * K + i] = s.narrow ? small[i] : 1.0;
            for (int64_t i = s.narrow; i < s.inputs; ++i)
                multiply(code, arena, s, s.input + i, s.dims, wide, depth, exponent, false);
            for (int64_t c = 0; c < s.cells; ++c)
                for (int64_t k = 0; k < K; ++k) {
                    double sum = 0;
                    for (int64_t v = 0; v < s.states; ++v) sum += wide[(c * s.states + v) * K + k];
                    made[c * K + k] = sum;
                }
            if (!s.dims)
                for (int64_t k = 0; k < K; ++k) out[k] += std::log(made[k]);
        }
        for (int64_t k = 0; k < K; ++k) out[k] += exponent[k] * LOG_2;
    }

private:
    const Net &net;
    std::vector<uint8_t> state, needed, cut;
    std::vector<int32_t> closed, open_columns, scopes, marked;
    std::vector<double> weight;
    std::vector<uint8_t> left;
    std::vector<std::vector<int32_t>> holders;  // of each column the factors that hold it
    std::vector<Factor> factors;
    std::vector<Step> steps;
    std::vector<int32_t> inputs;              // factors
    std::vector<int64_t> strides, in_strides;  // parallel to scopes; of inputs: the summed column's, then the dims'
    std::vector<int64_t> in_begin;
    std::vector<int64_t> dim_sizes;
    int32_t stamp = 0;

    // The cell a row has in a table, with the first level of open columns.
    int64_t base(const int32_t *code, int64_t j) const {
        int64_t at = net.offset[j] + FRONT + (state[size_t(j)] >= ONLY ? 0 : code[j]);
        const int32_t *above = net.above(j);
        for (int64_t a = 0; a < net.most && above[a] >= 0; ++a) {
            int64_t p = above[a], x = cut[size_t(j)] ? -1 : state[size_t(p)] >= ONLY ? 0 : code[p];
            at += (x + FRONT) * net.step[size_t(j * net.most + a)];
        }
        return at;
    }

    // Which columns are to be summed out: those missing that something given depends on; and the factors that hold them.
    void open(const int32_t *code) {
        std::fill(needed.begin(), needed.end(), uint8_t(0));
        closed.clear(), open_columns.clear(), scopes.clear(), strides.clear(), factors.clear(), steps.clear();
        inputs.clear(), in_strides.clear(), in_begin.clear(), dim_sizes.clear();
        cells = widest = 0;
        for (int64_t i = net.columns - 1; i >= 0; --i) {
            int64_t j = net.order[i];
            state[size_t(j)] = code[j] != -1                           ? FIXED
                               : !needed[size_t(j)] || net.size[j] < 1 ? IDLE
                               : net.size[j] == 1                      ? ONLY
                                                                       : OPEN;
            if (state[size_t(j)] == OPEN) {
                open_columns.push_back(int32_t(j));
                holders[size_t(j)].clear();
            }
            if (state[size_t(j)] == IDLE || cut[size_t(j)]) continue;
            const int32_t *above = net.above(j);
            for (int64_t a = 0; a < net.most && above[a] >= 0; ++a) needed[size_t(above[a])] = 1;
        }
        for (int64_t j = 0; j < net.columns; ++j) {
            if (state[size_t(j)] == IDLE) continue;
            int32_t first = int32_t(scopes.size());
            if (state[size_t(j)] == OPEN) hold(int32_t(j), 1);
            const int32_t *above = net.above(j);
            for (int64_t a = 0; !cut[size_t(j)] && a < net.most && above[a] >= 0; ++a)
                if (state[size_t(above[a])] == OPEN) hold(above[a], net.step[size_t(j * net.most + a)]);
            int32_t length = int32_t(scopes.size()) - first;
            if (!length) closed.push_back(int32_t(j));
            else add({int32_t(j), 0, first, length, net.floor[j], false});
        }
    }

    void hold(int32_t column, int64_t stride) {
        scopes.push_back(column);
        strides.push_back(stride * net.classes);
    }

    void add(const Factor &f) {
        for (int32_t i = 0; i < f.length; ++i) holders[size_t(scopes[size_t(f.scope + i)])].push_back(int32_t(factors.size()));
        factors.push_back(f);
    }

    // Marks the columns of all factors that hold a column, and gives the cells of their product.
    double product(int32_t v) {
        ++stamp;
        double size = double(net.classes);
        for (int32_t f : holders[size_t(v)])
            if (!factors[size_t(f)].gone)
                for (int32_t i = 0; i < factors[size_t(f)].length; ++i) {
                    int32_t u = scopes[size_t(factors[size_t(f)].scope + i)];
                    if (marked[size_t(u)] == stamp) continue;
                    marked[size_t(u)] = stamp;
                    size *= net.size[u];
                }
        return size;
    }

    // Children before parents, or the smallest product first; false if a product would be too large.
    bool eliminate(bool smallest) {
        size_t many = open_columns.size();
        if (smallest)
            for (int32_t v : open_columns) weight[size_t(v)] = product(v);
        for (int32_t v : open_columns) left[size_t(v)] = 1;
        for (size_t turn = 0; turn < many; ++turn) {
            int32_t v = open_columns[turn];
            if (smallest) {
                v = -1;
                for (int32_t u : open_columns)
                    if (left[size_t(u)] && (v < 0 || weight[size_t(u)] < weight[size_t(v)])) v = u;
            }
            if (product(v) > net.limit) return false;
            left[size_t(v)] = 0;
            step(v);
            const Step &s = steps.back();
            if (smallest && s.dims) {
                const Factor &made = factors.back();
                for (int32_t i = 0; i < made.length; ++i) {
                    int32_t u = scopes[size_t(made.scope + i)];
                    weight[size_t(u)] = product(u);
                }
            }
        }
        return true;
    }

    void step(int32_t v) {
        Step s = {int32_t(inputs.size()), 0, 0, int32_t(dim_sizes.size()), 0, net.size[v], 1, cells};
        int32_t scope = int32_t(scopes.size());
        double depth = 0;
        ++stamp;
        marked[size_t(v)] = stamp;
        for (bool narrow : {true, false}) {
            for (int32_t f : holders[size_t(v)]) {
                Factor &one = factors[size_t(f)];
                if (one.gone || (one.length == 1) != narrow) continue;
                inputs.push_back(f);
                ++s.inputs, s.narrow += narrow;
                depth += one.floor;
                for (int32_t i = 0; i < one.length; ++i) {
                    int32_t u = scopes[size_t(one.scope + i)];
                    if (marked[size_t(u)] == stamp) continue;
                    marked[size_t(u)] = stamp;
                    hold(u, 0);
                    dim_sizes.push_back(net.size[u]);
                    ++s.dims;
                }
            }
        }
        for (int32_t d = s.dims - 1; d >= 0; --d) {
            strides[size_t(scope + d)] = s.cells * net.classes;
            s.cells *= dim_sizes[size_t(s.dim + d)];
        }
        for (int32_t i = 0; i < s.inputs; ++i) {
            Factor &one = factors[size_t(inputs[size_t(s.input + i)])];
            one.gone = true;
            in_begin.push_back(int64_t(in_strides.size()));
            in_strides.push_back(stride_of(one, v));
            for (int32_t d = 0; d < s.dims; ++d) in_strides.push_back(stride_of(one, scopes[size_t(scope + d)]));
        }
        cells += s.cells;
        widest = std::max(widest, (s.cells + 1) * s.states);
        steps.push_back(s);
        if (s.dims) add({-1, s.out, scope, s.dims, std::max(depth, DEEP), false});
    }

    int64_t stride_of(const Factor &f, int32_t column) const {
        for (int32_t i = 0; i < f.length; ++i)
            if (scopes[size_t(f.scope + i)] == column) return strides[size_t(f.scope + i)];
        return 0;
    }

    // The table with the most open cells no longer depends on its missing parents.
    void cut_one() {
        partly = true;
        int64_t found = -1;
        double most = 0;
        for (int64_t j = 0; j < net.columns; ++j) {
            if (state[size_t(j)] == IDLE || cut[size_t(j)]) continue;
            double size = state[size_t(j)] == OPEN ? net.size[j] : 1;
            bool depends = false;
            const int32_t *above = net.above(j);
            for (int64_t a = 0; a < net.most && above[a] >= 0; ++a)
                if (state[size_t(above[a])] == OPEN) size *= net.size[above[a]], depends = true;
            if (depends && (found < 0 || size > most || (size == most && net.rank[j] < net.rank[found]))) {
                found = j;
                most = size;
            }
        }
        require(found >= 0, "a column alone has more levels than can be summed");
        cut[size_t(found)] = 1;
    }

    // A product of the factors so far, over some dims and the summed column, times one more.
    void multiply(const int32_t *code, const double *arena, const Step &s, int32_t input, int32_t dims, double *product,
                  double &depth, double *exponent, bool first) const {
        const Factor &f = factors[size_t(inputs[size_t(input)])];
        int64_t K = net.classes, digit[64] = {0};
        const int64_t *stride = in_strides.data() + in_begin[size_t(input)], *size = dim_sizes.data() + s.dim;
        const double *at = f.table < 0 ? arena + f.at * K : net.share + K * base(code, f.table);
        int64_t all = dims ? s.cells : 1;
        double *into = product;
        for (int64_t c = 0; c < all; ++c, into += s.states * K) {
            for (int64_t v = 0; v < s.states; ++v) {
                const double *from = at + v * stride[0];
                for (int64_t k = 0; k < K; ++k) into[v * K + k] = first ? from[k] : into[v * K + k] * from[k];
            }
            for (int32_t d = dims - 1; d >= 0; --d) {
                at += stride[1 + d];
                if (++digit[d] < size[d]) break;
                at -= stride[1 + d] * size[d], digit[d] = 0;
            }
        }
        depth += f.floor;
        if (depth < DEEP) {
            scale(product, all * s.states, exponent);
            depth = SCALED;
        }
    }

    // Divides by a power of two that brings the largest of each class near one.
    void scale(double *product, int64_t many, double *exponent) const {
        int64_t K = net.classes;
        for (int64_t k = 0; k < K; ++k) {
            double top = 0;
            for (int64_t i = 0; i < many; ++i) top = std::max(top, product[i * K + k]);
            if (!(top > 0)) continue;
            int e = std::ilogb(top);
            for (int64_t i = 0; i < many; ++i) product[i * K + k] = std::ldexp(product[i * K + k], -e);
            exponent[k] += e;
        }
    }
};

// Rows with the same missing values one after the other.
std::vector<int64_t> together(const std::vector<int32_t> &codes, int64_t columns, int64_t rows) {
    int64_t words = (columns + 63) / 64;
    std::vector<uint64_t> bits(size_t(rows * words), 0);
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
            bits[size_t(i * words + j / 64)] |= uint64_t(codes[size_t(i * columns + j)] == -1) << (j % 64);
    std::vector<int64_t> order(size_t(rows), 0);
    for (int64_t i = 0; i < rows; ++i) order[size_t(i)] = i;
    auto less = [&](int64_t a, int64_t b) {
        const uint64_t *x = bits.data() + a * words, *y = bits.data() + b * words;
        for (int64_t w = 0; w < words; ++w)
            if (x[w] != y[w]) return x[w] < y[w];
        return a < b;
    };
    std::sort(order.begin(), order.end(), less);
    return order;
}

void sum_out_missing(Input<int32_t, 2> codes, Input<int32_t, 2> parents, Input<int32_t, 1> size, Input<int32_t, 1> order,
                     Input<int32_t, 1> rank, Input<int64_t, 1> offset, Input<double, 2> log, Input<double, 2> share,
                     Input<double, 1> floor, int64_t most_cells, Output<double, 2> out, Output<uint8_t, 1> partly) {
    int64_t columns = int64_t(codes.shape(0)), rows = int64_t(codes.shape(1)), most = int64_t(parents.shape(1));
    require(int64_t(parents.shape(0)) == columns && int64_t(size.shape(0)) == columns && int64_t(order.shape(0)) == columns &&
                int64_t(rank.shape(0)) == columns && int64_t(floor.shape(0)) == columns &&
                int64_t(offset.shape(0)) == columns + 1,
            "every column needs a table, parents, a size, a place in the order, a rank and a floor");
    require(log.shape(0) == share.shape(0) && log.shape(1) == share.shape(1), "shares are like their logarithms");
    require(int64_t(out.shape(0)) == rows && out.shape(1) == log.shape(1), "out must be (rows, classes)");
    require(int64_t(partly.shape(0)) == rows, "partly needs all rows");
    require(most < 64, "a column has too many parents");
    Net net = {columns,     most,         int64_t(log.shape(1)), parents.data(),
               size.data(), order.data(), rank.data(),           offset.data(),
               log.data(),  share.data(), floor.data(),          double(most_cells),
               {}};
    net.step.assign(size_t(columns * most), 0);
    std::vector<uint8_t> seen(size_t(columns), 0);
    for (int64_t j = 0; j < columns; ++j) require(size.data()[j] >= 0, "a size is negative");
    for (int64_t i = 0; i < columns; ++i) {
        int64_t j = order.data()[i], cells = 0;
        require(j >= 0 && j < columns && !seen[size_t(j)], "the order names no column, or one twice");
        int64_t many = 0;
        while (many < most && net.above(j)[many] >= 0) ++many;
        cells = size.data()[j] + FRONT;
        for (int64_t a = many - 1; a >= 0; --a) {
            int64_t p = net.above(j)[a];
            require(p < columns && seen[size_t(p)], "a parent stands behind its child in the order");
            net.step[size_t(j * most + a)] = cells;
            require(cells <= int64_t(log.shape(0)), "a table has more cells than there are");
            cells *= size.data()[p] + FRONT;
        }
        int64_t all = int64_t(log.shape(0));
        require(offset.data()[j] >= 0 && offset.data()[j] <= all && cells <= all - offset.data()[j] &&
                    offset.data()[j + 1] == offset.data()[j] + cells,
                "a table has another size than its columns make");
        seen[size_t(j)] = 1;
    }
    std::vector<int32_t> by_row(size_t(columns * rows));
    for (int64_t j = 0; j < columns; ++j)
        for (int64_t i = 0; i < rows; ++i) {
            int32_t code = codes.data()[j * rows + i];
            require(code >= -2 && code < size.data()[j], "a level code is below -2 or not below the size of its column");
            by_row[size_t(i * columns + j)] = code;
        }
    nb::gil_scoped_release free;
    Plan plan(net);
    std::vector<double> arena, work, exponent(size_t(net.classes));
    const int32_t *before = nullptr;
    for (int64_t row : together(by_row, columns, rows)) {
        const int32_t *code = by_row.data() + row * columns;
        bool same = before;
        for (int64_t j = 0; same && j < columns; ++j) same = (code[j] == -1) == (before[j] == -1);
        if (!same) {
            plan.make(code);
            if (int64_t(arena.size()) < plan.cells * net.classes) arena.resize(size_t(plan.cells * net.classes));
            if (int64_t(work.size()) < plan.widest * net.classes) work.resize(size_t(plan.widest * net.classes));
            before = code;
        }
        plan.run(code, arena.data(), work.data(), exponent.data(), out.data() + row * net.classes);
        partly.data()[row] = plan.partly;
    }
}

const Binding binding([](nb::module_ &m) {
    m.def("sum_out_missing", &sum_out_missing, "codes"_a.noconvert(), "parents"_a.noconvert(), "size"_a.noconvert(),
          "order"_a.noconvert(), "rank"_a.noconvert(), "offset"_a.noconvert(), "log"_a.noconvert(), "share"_a.noconvert(),
          "floor"_a.noconvert(), "most_cells"_a, "out"_a.noconvert(), "partly"_a.noconvert(),
          "Adds log p of what is given in codes (columns, rows), missing values (-1) summed out of the product of tables; "
          "partly: whether a product of tables above the limit was avoided by cutting columns from missing parents.");
});

}}  // namespace bayeskit::tables
