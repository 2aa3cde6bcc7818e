// Rows through trees: the leaf each is counted in, and what the trees say of it on the average.
#include <algorithm>
#include "trees/trees.h"

namespace bayeskit::trees { namespace {

// A node as rows meet it: the bits of a code, and of a missing value, say which child comes next. A leaf leads to itself.
struct Step {
    uint64_t first[2];
    int32_t column, next;
};

constexpr uint8_t ABSENT = MOST_LEVELS;  // the code of a missing value there
constexpr int TOGETHER = 8;              // rows that go down a tree side by side, as none waits for another

class Descent {
    const Forest &f;
    const int64_t rows, columns;
    std::vector<uint8_t> code;  // (rows, columns), and one more for leaves where there is no column
    std::vector<Step> step;     // of one tree

public:
    std::vector<int32_t> whole, holed;  // rows without a missing value, and with one

    Descent(const Levels &c, const Forest &f) : f(f), rows(c.rows), columns(c.columns), code(size_t(c.rows * c.columns) + 1) {
        std::vector<uint8_t> missing(size_t(rows), 0);
        for (int64_t j = 0; j < columns; ++j)
            for (int64_t r = 0; r < rows; ++r) {
                uint8_t level = c.data[j * rows + r];
                missing[size_t(r)] |= level == MISSING;
                code[size_t(r * columns + j)] = level == MISSING ? ABSENT : level;
            }
        for (int64_t r = 0; r < rows; ++r) (missing[size_t(r)] ? holed : whole).push_back(int32_t(r));
    }

    // What is done at the leaf of each of the rows in tree t; missing values go where most rows went.
    template <typename Act> void descend(int64_t t, const std::vector<int32_t> &asked, Act act) {
        int64_t begin = f.start[t];
        step.clear();
        for (int64_t i = begin; i < f.start[t + 1]; ++i)
            if (f.column[i] < 0) step.push_back({{~uint64_t(0), ~uint64_t(0)}, 0, int32_t(i - begin)});
            else step.push_back({{f.mask[i], f.majority[i]}, f.column[i], f.child[i]});
        size_t r = 0;
        for (; r + TOGETHER <= asked.size(); r += TOGETHER) {
            int32_t at[TOGETHER] = {}, moved = step.size() > 1;
            while (moved) {
                moved = 0;
                for (int i = 0; i < TOGETHER; ++i) {
                    int32_t to = next(at[i], asked[r + size_t(i)]);
                    moved |= to ^ at[i];
                    at[i] = to;
                }
            }
            for (int i = 0; i < TOGETHER; ++i) act(asked[r + size_t(i)], at[i]);
        }
        for (; r < asked.size(); ++r) {
            int32_t at = 0, to;
            while ((to = next(at, asked[r])) != at) at = to;
            act(asked[r], at);
        }
    }

private:
    int32_t next(int32_t at, int32_t row) const {
        const Step &here = step[size_t(at)];
        uint8_t level = code[size_t(row * columns + here.column)];
        return here.next + !((here.first[level >> 6] >> (level & 63)) & 1);
    }
};

void find_leaves(Input<uint8_t, 2> codes, Starts start, Columns32 column, Masks mask, Columns32 child, Flags majority,
                 Output<int32_t, 2> out) {
    Levels c = levels_of(codes);
    Forest f = forest_of(start, column, mask, child, majority, size_t(c.columns));
    require(int64_t(out.shape(0)) == f.trees && int64_t(out.shape(1)) == c.rows, "out must be (trees, rows)");
    nb::gil_scoped_release free;
    Descent down(c, f);
    std::vector<int32_t> leaf;
    for (int64_t t = 0; t < f.trees; ++t) {
        leaf.assign(size_t(f.start[t + 1] - f.start[t]), 0);
        for (int64_t i = f.start[t], n = 0; i < f.start[t + 1]; ++i)
            if (f.column[i] < 0) leaf[size_t(i - f.start[t])] = int32_t(n++);
        auto note = [&](int32_t row, int32_t at) { out.data()[t * c.rows + row] = leaf[size_t(at)]; };
        down.descend(t, down.whole, note);
        down.descend(t, down.holed, note);
    }
}

struct Node {
    uint64_t mask;
    int32_t column, child;
};

// A node that is yet to be visited: how much of the row gets there.
struct Visit {
    int64_t node;
    double part;
};

void forest_shares(Input<uint8_t, 2> codes, Starts start, Columns32 column, Masks mask, Columns32 child, Flags majority,
                   Input<double, 1> first, Input<double, 2> shares, Output<double, 2> out) {
    Levels c = levels_of(codes);
    Forest f = forest_of(start, column, mask, child, majority, size_t(c.columns));
    size_t K = shares.shape(1);
    require(int64_t(first.shape(0)) == f.nodes && int64_t(shares.shape(0)) == f.nodes, "shares need one entry per node");
    require(int64_t(out.shape(0)) == c.rows && out.shape(1) == K, "out must be (rows, classes)");
    nb::gil_scoped_release free;
    Descent down(c, f);
    std::vector<Visit> stack;
    std::vector<Node> node;
    // Tree after tree, so that each stays in the cache while all rows go through it.
    for (int64_t t = 0; t < f.trees; ++t) {
        int64_t begin = f.start[t];
        down.descend(t, down.whole, [&](int32_t row, int32_t at) {
            double *to = out.data() + size_t(row) * K;
            const double *p = shares.data() + size_t(begin + at) * K;
            for (size_t k = 0; k < K; ++k) to[k] += p[k];
        });
        node.clear();
        for (int64_t i = begin; i < f.start[t + 1]; ++i) node.push_back({f.mask[i], f.column[i], f.child[i]});
        for (int32_t r : down.holed) {
            double *to = out.data() + size_t(r) * K;
            stack.push_back({0, 1.0});
            while (!stack.empty()) {
                auto [at, part] = stack.back();
                stack.pop_back();
                while (node[size_t(at)].column >= 0) {
                    const Node &here = node[size_t(at)];
                    uint8_t code = c.data[here.column * c.rows + r];
                    if (code != MISSING) {
                        at = here.child + !in_mask(here.mask, code);
                        continue;
                    }
                    double mine = first.data()[begin + at];
                    if (mine < 1) stack.push_back({here.child + 1, part * (1 - mine)});
                    part *= mine;
                    at = here.child;
                    if (!(part > 0)) break;
                }
                if (!(part > 0)) continue;
                const double *p = shares.data() + size_t(begin + at) * K;
                for (size_t k = 0; k < K; ++k) to[k] += part * p[k];
            }
        }
    }
    size_t n = size_t(c.rows) * K;
    for (size_t i = 0; i < n; ++i) out.data()[i] /= double(f.trees);
}

// What trees say once the columns of the first 0, 1, ... ranks are known, all from one walk: below a split by a column of rank
// r, stages up to r go both ways. How much of a row gets to a node changes with the stage only at the ranks above it, so it
// is held as a few stretches of stages. What a leaf says is added where a stretch begins and taken off where it ends, in pairs
// of doubles, so that sums over stages leave nothing behind.
class Stages {
    struct Stretch {
        int64_t begin;
        double part;
    };
    const Levels &codes;
    const Forest &f;
    const int32_t *rank;
    const double *first, *shares;
    int64_t stages, K;
    std::vector<Stretch> path;      // of the nodes above, one after the other
    std::vector<double> sum, rest;  // (stages + 1, K) together

public:
    Stages(const Levels &codes, const Forest &f, const int32_t *rank, const double *first, const double *shares, int64_t K)
        : codes(codes), f(f), rank(rank), first(first), shares(shares), stages(codes.columns + 1), K(K) {}

    // Into out (stages, K), the means over all trees.
    void walk(int64_t row, double *out) {
        sum.assign(size_t((stages + 1) * K), 0.0);
        rest.assign(sum.size(), 0.0);
        for (int64_t t = 0; t < f.trees; ++t) {
            path.assign(1, {0, 1.0});
            visit(row, f.start[t], f.start[t], 0, stages);
        }
        for (int64_t i = K; i < stages * K; ++i) {
            rest[size_t(i)] += rest[size_t(i - K)];
            add(i, sum[size_t(i - K)]);
        }
        for (int64_t i = 0; i < stages * K; ++i) out[i] = (sum[size_t(i)] + rest[size_t(i)]) / double(f.trees);
    }

private:
    void add(int64_t at, double more) {
        double before = sum[size_t(at)], after = before + more, part = after - before;
        sum[size_t(at)] = after;
        rest[size_t(at)] += (before - (after - part)) + (more - part);
    }

    // The stretches of this node are those from `low` on, up to stage `high`.
    void visit(int64_t row, int64_t begin, int64_t at, size_t low, int64_t high) {
        size_t top = path.size();
        if (f.column[at] < 0) {
            const double *p = shares + at * K;
            for (size_t i = low; i < top; ++i) {
                int64_t from = path[i].begin, to = i + 1 < top ? path[i + 1].begin : high;
                for (int64_t k = 0; k < K; ++k) {
                    double said = path[i].part * p[k];
                    add(from * K + k, said);
                    add(to * K + k, -said);
                }
            }
            return;
        }
        uint8_t code = codes.data[f.column[at] * codes.rows + row];
        int64_t known = code == MISSING ? stages : rank[f.column[at]] + 1;  // the first stage that goes one way
        for (int side = 0; side < 2; ++side) {
            bool here = code != MISSING && in_mask(f.mask[at], code) == (side == 0);
            double share = side ? 1 - first[at] : first[at];
            int64_t until = here ? high : std::min(known, high);
            for (size_t i = low; i < top && path[i].begin < until; ++i) {
                Stretch s = path[i];
                int64_t end = i + 1 < top ? path[i + 1].begin : high;
                if (s.begin < known) path.push_back({s.begin, s.part * share});
                if (here && end > known) path.push_back({std::max(s.begin, known), s.part});
            }
            if (path.size() > top) visit(row, begin, begin + f.child[at] + side, top, until);
            path.resize(top);
        }
    }
};

void forest_stages(Input<uint8_t, 2> codes, Starts start, Columns32 column, Masks mask, Columns32 child, Flags majority,
                   Input<double, 1> first, Input<double, 2> shares, Columns32 rank, Output<double, 3> out) {
    Levels c = levels_of(codes);
    Forest f = forest_of(start, column, mask, child, majority, size_t(c.columns));
    int64_t K = int64_t(shares.shape(1));
    require(int64_t(first.shape(0)) == f.nodes && int64_t(shares.shape(0)) == f.nodes, "shares need one entry per node");
    require(int64_t(rank.shape(0)) == c.columns, "rank needs one entry per column");
    for (int64_t j = 0; j < c.columns; ++j)
        require(rank.data()[j] >= 0 && rank.data()[j] < c.columns, "a rank is not below the number of columns");
    require(int64_t(out.shape(0)) == c.rows && int64_t(out.shape(1)) == c.columns + 1 && int64_t(out.shape(2)) == K,
            "out must be (rows, columns + 1, classes)");
    nb::gil_scoped_release free;
    Stages walker(c, f, rank.data(), first.data(), shares.data(), K);
    size_t line = size_t(c.columns + 1) * size_t(K);
    for (int64_t r = 0; r < c.rows; ++r) {
        walker.walk(r, out.data() + size_t(r) * line);
    }
}

const Binding binding([](nb::module_ &m) {
    m.def("find_leaves", &find_leaves, "codes"_a.noconvert(), "start"_a.noconvert(), "column"_a.noconvert(),
          "mask"_a.noconvert(), "child"_a.noconvert(), "majority"_a.noconvert(), "out"_a.noconvert(),
          "The leaf of each row in each tree, counted within the tree; missing values go where most rows went.");
    m.def("forest_shares", &forest_shares, "codes"_a.noconvert(), "start"_a.noconvert(), "column"_a.noconvert(),
          "mask"_a.noconvert(), "child"_a.noconvert(), "majority"_a.noconvert(), "first"_a.noconvert(), "shares"_a.noconvert(),
          "out"_a.noconvert(),
          "The mean over trees of the class shares of each row's leaf; missing values go both ways, `first` of them to "
          "the first child.");
    m.def("forest_stages", &forest_stages, "codes"_a.noconvert(), "start"_a.noconvert(), "column"_a.noconvert(),
          "mask"_a.noconvert(), "child"_a.noconvert(), "majority"_a.noconvert(), "first"_a.noconvert(), "shares"_a.noconvert(),
          "rank"_a.noconvert(), "out"_a.noconvert(),
          "The same with the columns of the first 0, 1, ... ranks known: (rows, columns + 1, classes).");
});

}}  // namespace bayeskit::trees
