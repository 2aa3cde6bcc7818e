// Bindings of elimination row by row: for rows of which each has a pattern of missing values of its own and leaves little
// open, so that an order is found for each. Rows that leave much open are left to a compiled elimination.
#include <algorithm>
#include <cmath>
#include <queue>
#include "dispatch/bindings.h"

namespace bayeskit::networks { namespace {

constexpr double DEEP = -900;  // log2 of the smallest product that is trusted not to vanish
enum Row : int32_t { ANSWERED, WIDE };

struct Families {
    int64_t nodes;
    const int64_t *start, *begin;  // members of a family from start on, its table from begin on
    const int32_t *member, *size;  // the node itself last; states
    const double *tables, *floor;  // log2 of the smallest positive entry of a table
    std::vector<int64_t> stride;   // of each member in its table

    int64_t cells(int64_t v) const {
        int64_t found = 1;
        for (int64_t i = start[v]; i < start[v + 1]; ++i) found *= size[member[i]];
        return found;
    }
};

// A table over open nodes: where its cells begin, and dims places in `scope` and `stride` from `at` on.
struct Factor {
    const double *data;
    int64_t at, dims;
    double floor;
};

// The elimination of one row; its arrays are used again for the next.
class Eliminator {
public:
    Eliminator(const Families &f, const int32_t *targets, int64_t n_targets, double most)
        : f(f), targets(targets), n_targets(n_targets), most(most), place(size_t(f.nodes)), children(size_t(f.nodes)),
          barren(size_t(f.nodes)) {}

    // P(targets | evidence) and log P(evidence) of the codes of one row.
    Row answer(const int32_t *code, double *out, int64_t cells, double *log_evidence) {
        open_nodes(code);
        if (!order_nodes()) return WIDE;
        *log_evidence = -INFINITY;
        std::fill(out, out + cells, std::nan(""));
        scale = 1, exponent = 0;
        for (int64_t v = 0; v < f.nodes; ++v)
            if (!barren[size_t(v)] && !add_family(v, code)) return ANSWERED;
        for (int64_t t = 0; t < n_targets; ++t)
            if (code[targets[t]] >= 0) add_indicator(targets[t], code[targets[t]]);
        for (int64_t v : order) {
            std::vector<int64_t> used = holding[size_t(v)];
            for (int64_t i : used) gone[size_t(i)] = true;
            int result = sum_out(used, v);
            if (result < 0) return WIDE;
            if (!result) return ANSWERED;
        }
        std::vector<int64_t> last;
        for (size_t i = 0; i < factors.size(); ++i)
            if (!gone[i]) last.push_back(int64_t(i));
        double depth = 0, total = 0;
        for (int64_t i : last) depth += factors[size_t(i)].floor;
        if (depth < DEEP) return WIDE;
        std::vector<int64_t> scope;
        for (int64_t t = 0; t < n_targets; ++t) scope.push_back(place[size_t(targets[t])]);
        multiply(last, scope, -1, out);
        for (int64_t c = 0; c < cells; ++c) total += out[c];
        if (!(total > 0)) {
            std::fill(out, out + cells, std::nan(""));
            return ANSWERED;
        }
        for (int64_t c = 0; c < cells; ++c) out[c] /= total;
        *log_evidence = std::log(total) + std::log(scale) + exponent * 0.69314718055994530942;
        return ANSWERED;
    }

private:
    const Families &f;
    const int32_t *targets;
    int64_t n_targets;
    double most;
    std::vector<int64_t> place;     // of each node among the open ones, or -1
    std::vector<int64_t> children;  // that are not barren
    std::vector<char> barren;       // open, and nothing below it is observed or asked for
    std::vector<int64_t> open, order, scope, stride, queue;
    std::vector<std::vector<int64_t>> holding;  // factors of each open node
    std::vector<uint64_t> near;
    std::vector<double> log_size, arena;
    std::vector<int64_t> digit, size, step, move;  // of a product: places, sizes and strides
    std::vector<const double *> data;
    std::vector<Factor> factors;
    std::vector<char> gone;
    double scale = 1, exponent = 0, room = 0;
    int64_t words = 0;
    size_t taken = 0;

    bool asked(int64_t v) const { return std::find(targets, targets + n_targets, v) != targets + n_targets; }

    void open_nodes(const int32_t *code) {
        std::fill(children.begin(), children.end(), 0);
        for (int64_t v = 0; v < f.nodes; ++v)
            for (int64_t i = f.start[v]; i + 1 < f.start[v + 1]; ++i) ++children[size_t(f.member[i])];
        queue.clear();
        for (int64_t v = 0; v < f.nodes; ++v) {
            barren[size_t(v)] = false;
            if (code[v] < 0 && !children[size_t(v)] && !asked(v)) queue.push_back(v);
        }
        while (!queue.empty()) {
            int64_t v = queue.back();
            queue.pop_back();
            barren[size_t(v)] = true;
            for (int64_t i = f.start[v]; i + 1 < f.start[v + 1]; ++i) {
                int64_t p = f.member[i];
                if (!--children[size_t(p)] && code[p] < 0 && !asked(p)) queue.push_back(p);
            }
        }
        open.clear();
        for (int64_t v = 0; v < f.nodes; ++v) {
            bool stays = !barren[size_t(v)] && (code[v] < 0 || asked(v));
            place[size_t(v)] = stays ? int64_t(open.size()) : -1;
            if (stays) open.push_back(v);
        }
    }

    double weight_of(int64_t v) const {
        double sum = log_size[size_t(v)];
        for_near(v, [&](int64_t u) { sum += log_size[size_t(u)]; });
        return sum;
    }

    template <typename Visit> void for_near(int64_t v, Visit visit) const {
        for (int64_t w = 0; w < words; ++w)
            for (uint64_t bits = near[size_t(v * words + w)]; bits; bits &= bits - 1) visit(w * 64 + __builtin_ctzll(bits));
    }

    // An order of least products; false where they are too many.
    bool order_nodes() {
        int64_t m = int64_t(open.size());
        words = (m + 63) / 64;
        near.assign(size_t(m * words), 0);
        log_size.resize(size_t(m));
        for (int64_t v = 0; v < m; ++v) log_size[size_t(v)] = std::log2(double(f.size[open[size_t(v)]]));
        std::vector<int64_t> members;
        for (int64_t v = 0; v < f.nodes; ++v) {
            if (barren[size_t(v)]) continue;
            members.clear();
            for (int64_t i = f.start[v]; i < f.start[v + 1]; ++i)
                if (int64_t u = place[size_t(f.member[i])]; u >= 0) members.push_back(u);
            for (int64_t a : members)
                for (int64_t b : members)
                    if (a != b) near[size_t(a * words + b / 64)] |= uint64_t(1) << b % 64;
        }
        using Entry = std::pair<double, int64_t>;
        std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> heap;
        std::vector<double> now(static_cast<size_t>(m), -1);
        for (int64_t v = 0; v < m; ++v)
            if (!asked(open[size_t(v)])) heap.push({now[size_t(v)] = weight_of(v), v});
        order.clear();
        double work = 0;
        room = 0;
        std::vector<int64_t> around;
        while (!heap.empty()) {
            auto [weight, v] = heap.top();
            heap.pop();
            if (now[size_t(v)] != weight) continue;
            now[size_t(v)] = -1;
            order.push_back(v);
            work += std::exp2(weight);
            room += std::exp2(weight - log_size[size_t(v)]) + 1;
            if (work > most) return false;
            around.clear();
            for_near(v, [&](int64_t u) { around.push_back(u); });
            for (int64_t u : around) {
                uint64_t *mine = near.data() + u * words;
                for (int64_t w = 0; w < words; ++w) mine[w] |= near[size_t(v * words + w)];
                mine[u / 64] &= ~(uint64_t(1) << u % 64);
                mine[v / 64] &= ~(uint64_t(1) << v % 64);
            }
            for (int64_t u : around)
                if (now[size_t(u)] >= 0) heap.push({now[size_t(u)] = weight_of(u), u});
        }
        for (int64_t t = 0; t < n_targets; ++t) room += f.size[targets[t]];
        arena.resize(size_t(room) + 1);  // never moved while a row is answered: factors point into it
        taken = 0;
        factors.clear();
        gone.clear();
        scope.clear();
        stride.clear();
        holding.assign(size_t(m), {});
        return true;
    }

    void keep(const double *data, int64_t at, double floor) {
        int64_t dims = int64_t(scope.size()) - at;
        for (int64_t d = at; d < at + dims; ++d) holding[size_t(scope[size_t(d)])].push_back(int64_t(factors.size()));
        factors.push_back({data, at, dims, floor});
        gone.push_back(false);
    }

    // A number that multiplies everything; false if it is zero.
    bool times(double value) {
        if (!(value > 0)) return false;
        int power;
        scale = std::frexp(scale * value, &power);
        exponent += power;
        return true;
    }

    // The part of a table that a row leaves open; false if the row has probability zero.
    bool add_family(int64_t v, const int32_t *code) {
        const double *data = f.tables + f.begin[v];
        int64_t at = int64_t(scope.size());
        for (int64_t i = f.start[v]; i < f.start[v + 1]; ++i) {
            int64_t u = place[size_t(f.member[i])];
            if (u < 0) data += f.stride[size_t(i)] * code[f.member[i]];
            else scope.push_back(u), stride.push_back(f.stride[size_t(i)]);
        }
        if (int64_t(scope.size()) == at) return times(*data);
        keep(data, at, f.floor[v]);
        return true;
    }

    void add_indicator(int64_t v, int32_t state) {
        double *data = arena.data() + taken;
        for (int32_t k = 0; k < f.size[v]; ++k) data[k] = k == state;
        taken += size_t(f.size[v]);
        scope.push_back(place[size_t(v)]), stride.push_back(1);
        keep(data, int64_t(scope.size()) - 1, 0.0);
    }

    // The product of the first inputs where they stand, summed over the states of a node; few of them without a loop.
    double sum_products(size_t inputs, int64_t states) const {
        double sum = 0;
        if (inputs == 1) {
            const double *a = data[0];
            for (int64_t k = 0, s = step[0]; k < states; ++k) sum += a[k * s];
        } else if (inputs == 2) {
            const double *a = data[0], *b = data[1];
            for (int64_t k = 0, s = step[0], t = step[1]; k < states; ++k) sum += a[k * s] * b[k * t];
        } else if (inputs == 3) {
            const double *a = data[0], *b = data[1], *c = data[2];
            for (int64_t k = 0, s = step[0], t = step[1], u = step[2]; k < states; ++k) sum += a[k * s] * b[k * t] * c[k * u];
        } else {
            for (int64_t k = 0; k < states; ++k) {
                double product = 1;
                for (size_t j = 0; j < inputs; ++j) product *= data[j][k * step[j]];
                sum += product;
            }
        }
        return sum;
    }

    // The product of some factors over the cells of nodes, summed over the states of v, or as it is if v is -1.
    int64_t multiply(const std::vector<int64_t> &used, const std::vector<int64_t> &nodes, int64_t v, double *out) {
        size_t dims = nodes.size(), inputs = used.size();
        digit.assign(dims, 0), size.assign(dims, 1), step.assign(inputs, 0), move.assign(inputs * dims, 0), data.resize(inputs);
        int64_t cells = 1, states = v < 0 ? 1 : f.size[open[size_t(v)]];
        for (size_t d = 0; d < dims; ++d) cells *= size[d] = f.size[open[size_t(nodes[d])]];
        for (size_t j = 0; j < inputs; ++j) {
            const Factor &mine = factors[size_t(used[j])];
            data[j] = mine.data;
            for (int64_t a = mine.at; a < mine.at + mine.dims; ++a)
                for (size_t d = 0; d <= dims; ++d)
                    if (scope[size_t(a)] == (d < dims ? nodes[d] : v))
                        (d < dims ? move[j * dims + d] : step[j]) = stride[size_t(a)];
        }
        for (int64_t cell = 0; cell < cells; ++cell) {
            out[cell] = sum_products(inputs, states);
            for (size_t d = dims; d-- > 0;) {
                bool carry = ++digit[d] == size[d];
                int64_t by = carry ? 1 - size[d] : 1;
                for (size_t j = 0; j < inputs; ++j) data[j] += by * move[j * dims + d];
                if (!carry) break;
                digit[d] = 0;
            }
        }
        return cells;
    }

    // A node summed out of the factors that hold it: 1, 0 if nothing is left, -1 if the product might vanish.
    int sum_out(const std::vector<int64_t> &used, int64_t v) {
        std::vector<int64_t> nodes;
        double floor = 0;
        for (int64_t i : used) {
            const Factor &mine = factors[size_t(i)];
            floor += mine.floor;
            for (int64_t a = mine.at; a < mine.at + mine.dims; ++a) {
                int64_t u = scope[size_t(a)];
                if (u == v) continue;
                if (std::find(nodes.begin(), nodes.end(), u) == nodes.end()) nodes.push_back(u);
                auto &list = holding[size_t(u)];
                list.erase(std::remove(list.begin(), list.end(), i), list.end());
            }
        }
        if (floor < DEEP) return -1;
        double *out = arena.data() + taken, top = 0, least = INFINITY;
        int64_t cells = multiply(used, nodes, v, out);
        taken += size_t(cells);
        if (nodes.empty()) return times(*out);
        for (int64_t c = 0; c < cells; ++c) {
            top = std::max(top, out[c]);
            if (out[c] > 0) least = std::min(least, out[c]);
        }
        if (!(top > 0)) return 0;
        int power, lowest;
        std::frexp(top, &power);
        std::frexp(least, &lowest);
        double factor = std::ldexp(1.0, -power);
        for (int64_t c = 0; c < cells; ++c) out[c] *= factor;
        exponent += power;
        int64_t at = int64_t(scope.size()), span = cells;
        for (int64_t u : nodes) {
            span /= f.size[open[size_t(u)]];
            scope.push_back(u), stride.push_back(span);
        }
        keep(out, at, lowest - 1 - power);
        return 1;
    }
};

using Numbers = Input<int32_t, 1>;
using Places = Input<int64_t, 1>;

Families families_of(const Places &start, const Numbers &member, const Numbers &size, const Places &begin,
                     const Input<double, 1> &tables, const Input<double, 1> &floor) {
    int64_t nodes = int64_t(size.shape(0)), used = int64_t(member.shape(0)), cells = int64_t(tables.shape(0));
    require(int64_t(start.shape(0)) == nodes + 1 && int64_t(begin.shape(0)) >= nodes && int64_t(floor.shape(0)) == nodes,
            "start, begin and floor need an entry per node");
    Families f = {nodes, start.data(), begin.data(), member.data(), size.data(), tables.data(), floor.data(), {}};
    f.stride.resize(size_t(used));
    require(f.start[0] == 0 && f.start[nodes] == used, "start must run from 0 to the number of members");
    for (int64_t v = 0; v < nodes; ++v) require(f.size[v] >= 1, "a node has no state");
    for (int64_t v = 0; v < nodes; ++v) {
        require(f.start[v] < f.start[v + 1] && f.start[v + 1] <= used, "a family is empty");
        require(f.member[f.start[v + 1] - 1] == v, "a family ends with its node");
        int64_t step = 1;
        for (int64_t i = f.start[v + 1]; i-- > f.start[v];) {
            require(f.member[i] >= 0 && f.member[i] < nodes, "a family names no node");
            for (int64_t j = i + 1; j < f.start[v + 1]; ++j) require(f.member[j] != f.member[i], "a family names a node twice");
            f.stride[size_t(i)] = step;
            require(step <= cells / f.size[f.member[i]], "a table leaves the tables");
            step *= f.size[f.member[i]];
        }
        require(f.begin[v] >= 0 && f.begin[v] <= cells - step, "a table leaves the tables");
    }
    return f;
}

void eliminate_rows(Input<int32_t, 2> codes, Places start, Numbers member, Numbers size, Places begin, Input<double, 1> tables,
                    Input<double, 1> floor, Numbers targets, double most, Output<double, 2> out, Output<double, 1> log_evidence,
                    Output<int32_t, 1> state) {
    Families f = families_of(start, member, size, begin, tables, floor);
    int64_t rows = int64_t(codes.shape(0)), n = int64_t(targets.shape(0)), cells = int64_t(out.shape(1)), joint = 1;
    require(int64_t(codes.shape(1)) == f.nodes, "codes are (rows, nodes)");
    require(int64_t(out.shape(0)) == rows && int64_t(log_evidence.shape(0)) == rows && int64_t(state.shape(0)) == rows,
            "out, log_evidence and state need all rows");
    require(most >= 0 && most <= double(int64_t(1) << 32), "a row may take up to 2^32 products");
    for (int64_t t = 0; t < n; ++t) {
        int32_t v = targets.data()[t];
        require(v >= 0 && v < f.nodes && std::find(targets.data(), targets.data() + t, v) == targets.data() + t,
                "the targets are different nodes");
        require(joint <= cells / f.size[v], "out needs a cell for each state of the targets");
        joint *= f.size[v];
    }
    require(joint == cells, "out needs a cell for each state of the targets");
    run([&] {
        Eliminator one(f, targets.data(), n, most);
        for (int64_t r = 0; r < rows; ++r) {
            const int32_t *code = codes.data() + r * f.nodes;
            for (int64_t v = 0; v < f.nodes; ++v)
                if (code[v] < -1 || code[v] >= f.size[v]) return Status::code;
            state.data()[r] = one.answer(code, out.data() + r * cells, cells, log_evidence.data() + r);
        }
        return Status::fine;
    });
}

const Binding binding([](nb::module_ &m) {
    m.def("eliminate_rows", &eliminate_rows, "codes"_a.noconvert(), "start"_a.noconvert(), "member"_a.noconvert(),
          "size"_a.noconvert(), "begin"_a.noconvert(), "tables"_a.noconvert(), "floor"_a.noconvert(), "targets"_a.noconvert(),
          "most"_a, "out"_a.noconvert(), "log_evidence"_a.noconvert(), "state"_a.noconvert(),
          "P(targets | evidence) of each row (rows, cells) and log P(evidence), by an order of its own; state is 1 where a row "
          "would take more than `most` products, and is not answered.");
});

}}  // namespace bayeskit::networks
