// Bindings of the search for graphs: likelihoods of families, and which step of one arc gains most.
#include <algorithm>
#include <limits>
#include <tuple>
#include "dispatch/bindings.h"
#include "vectors/random.h"

namespace bayeskit::networks { namespace {

using Bits = std::vector<uint64_t>;

// The ancestors of every node as bits, `words` for each; a graph with a cycle is refused.
Bits ancestors(const bool *arcs, int64_t nodes, int64_t words) {
    Bits above(size_t(nodes * words), 0);
    std::vector<int64_t> left(size_t(nodes), 0), ready;
    for (int64_t c = 0; c < nodes; ++c) {
        for (int64_t p = 0; p < nodes; ++p) left[c] += arcs[c * nodes + p];
        if (!left[c]) ready.push_back(c);
    }
    for (size_t i = 0; i < ready.size(); ++i) {
        int64_t p = ready[i];
        for (int64_t c = 0; c < nodes; ++c) {
            if (!arcs[c * nodes + p]) continue;
            for (int64_t w = 0; w < words; ++w) above[c * words + w] |= above[p * words + w];
            above[c * words + p / 64] |= uint64_t(1) << p % 64;
            if (!--left[c]) ready.push_back(c);
        }
    }
    require(int64_t(ready.size()) == nodes, "the arcs form a cycle");
    return above;
}

struct Best {
    double gain = -std::numeric_limits<double>::infinity();
    int64_t move = 0, child = 0, parent = 0;
    void offer(double value, int64_t m, int64_t c, int64_t p) {
        bool first = value == gain && std::tie(m, c, p) < std::tie(move, child, parent);
        if (value > gain || first) gain = value, move = m, child = c, parent = p;
    }
};

// A number from 0 to 1 of a seed and a place.
double uniform(uint64_t seed, uint64_t place) { return from_0_to_1(scatter(seed + (place + 1) * GOLDEN)); }

std::tuple<double, int64_t, int64_t, int64_t> best_step(Input<bool, 2> arcs, Input<double, 2> gain, Input<int64_t, 2> recent,
                                                        double most, double noise, uint64_t seed) {
    int64_t nodes = int64_t(arcs.shape(0)), words = (nodes + 63) / 64;
    require(int64_t(arcs.shape(1)) == nodes && int64_t(gain.shape(0)) == nodes && int64_t(gain.shape(1)) == nodes,
            "arcs and gains are (nodes, nodes)");
    require(noise >= 0 && noise - noise == 0, "noise is not a finite number of at least 0");
    require(recent.shape(1) == 2, "recent arcs are pairs");
    std::vector<bool> late(size_t(nodes * nodes), false);
    for (size_t i = 0; i < recent.shape(0); ++i) {
        int64_t a = recent.data()[2 * i], b = recent.data()[2 * i + 1];
        require(a >= 0 && a < nodes && b >= 0 && b < nodes, "a recent arc names no node");
        late[size_t(a * nodes + b)] = late[size_t(b * nodes + a)] = true;
    }
    const bool *has = arcs.data();
    const double *value = gain.data();
    Bits above = ancestors(has, nodes, words);
    auto over = [&](int64_t node, int64_t other) { return above[size_t(node * words + other / 64)] >> other % 64 & 1; };
    Best best;
    auto offer = [&](double found, int64_t move, int64_t child, int64_t parent) {
        if (found + noise < best.gain) return;
        if (noise > 0) found += noise * uniform(seed, uint64_t((move * nodes + child) * nodes + parent));
        if (!(late[size_t(child * nodes + parent)] && found <= most)) best.offer(found, move, child, parent);
    };
    for (int64_t c = 0; c < nodes; ++c)
        for (int64_t p = 0; p < nodes; ++p) {
            if (c == p) continue;
            double mine = value[c * nodes + p];
            if (!has[c * nodes + p]) {
                if (!has[p * nodes + c] && !over(p, c)) offer(mine, 0, c, p);
                continue;
            }
            offer(mine, 1, c, p);
            bool detour = false;  // another way down than the arc itself
            for (int64_t q = 0; q < nodes && !detour; ++q) detour = has[c * nodes + q] && over(q, p);
            if (!detour) offer(mine + value[p * nodes + c], 2, c, p);
        }
    return {best.gain, best.move, best.child, best.parent};
}

// The largest log-likelihood of each table, sum of n log(n / N) over its cells, N the sum of a line; and its rows.
void likelihoods(Input<double, 2> counts, Input<int64_t, 1> start, Output<double, 1> gain, Output<double, 1> rows) {
    int64_t lines = int64_t(counts.shape(0)), states = int64_t(counts.shape(1)), tables = int64_t(start.shape(0));
    require(int64_t(gain.shape(0)) == tables && int64_t(rows.shape(0)) == tables, "gain and rows need one entry per table");
    for (int64_t t = 0; t < tables; ++t)
        require(start.data()[t] >= (t ? start.data()[t - 1] : 0) && start.data()[t] <= lines, "start leaves the lines");
    constexpr int64_t STRETCH = 256;  // lines whose logarithms are taken together
    std::vector<double> value(size_t(STRETCH * (states + 1))), log(value.size());
    nb::gil_scoped_release free;
    const double *count = counts.data();
    for (int64_t t = 0; t < tables; ++t) {
        int64_t end = t + 1 < tables ? start.data()[t + 1] : lines;
        double sum = 0, all = 0;
        for (int64_t at = start.data()[t]; at < end; at += STRETCH) {
            int64_t n = std::min(STRETCH, end - at), cells = n * states;
            for (int64_t i = 0; i < n; ++i) {
                double whole = 0;
                for (int64_t k = 0; k < states; ++k) {
                    double c = count[(at + i) * states + k];
                    value[size_t(i * states + k)] = c;
                    whole += c;
                }
                value[size_t(cells + i)] = whole;
                all += whole;
            }
            for (int64_t i = 0; i < cells + n; ++i) log[size_t(i)] = std::max(value[size_t(i)], 1e-300);
            kernels->logarithms(log.data(), cells + n, log.data());
            for (int64_t i = 0; i < cells; ++i) sum += value[size_t(i)] * log[size_t(i)];
            for (int64_t i = cells; i < cells + n; ++i) sum -= value[size_t(i)] * log[size_t(i)];
        }
        gain.data()[t] = sum;
        rows.data()[t] = all;
    }
}

const Binding binding([](nb::module_ &m) {
    m.def("best_step", &best_step, "arcs"_a.noconvert(), "gain"_a.noconvert(), "recent"_a.noconvert(), "most"_a, "noise"_a,
          "seed"_a,
          "The step of one arc (child, parent) that gains most and leaves no cycle: gain, move (0 add, 1 drop, 2 turn), "
          "child, parent. A step on a recent arc must gain more than `most`; up to "
          "`noise` is added to each gain by chance.");
    m.def("likelihoods", &likelihoods, "counts"_a.noconvert(), "start"_a.noconvert(), "gain"_a.noconvert(),
          "rows"_a.noconvert(),
          "The largest log-likelihood of tables one after the other, counts (lines, states), and their rows.");
});

}}  // namespace bayeskit::networks
