// The best order of nodes, of which each takes the best of its known sets of parents among the nodes before it.
#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include "dispatch/bindings.h"
#include "vectors/compiler.h"
#include "vectors/random.h"

namespace bayeskit::networks { namespace {

using Set = uint64_t;
constexpr int NODES = 58;                     // the bits above name the node that was placed last
constexpr Set MEMBERS = (Set(1) << NODES) - 1;
constexpr int PATTERN = 20;                   // nodes that are ordered together for the bound
constexpr double NONE = -std::numeric_limits<double>::infinity();

struct Family {
    Set parents;
    double score;
};

// A set of nodes placed, the last of them, and the best score of an order that begins with it.
struct Begun {
    Set key = 0;
    double score = NONE;
};

// Sets by their members; a set met again keeps the better score, of equal ones that of the lower node.
class Layer {
public:
    std::vector<Begun> slots = std::vector<Begun>(64);
    size_t used = 0;

    void offer(Set members, int last, double score) {
        if (2 * used >= slots.size()) widen();
        Begun &slot = slots[find(members)];
        used += !slot.key;
        Set key = members | Set(last) << NODES;
        if (score > slot.score || (score == slot.score && key < slot.key)) slot = {key, score};
    }

private:
    size_t find(Set members) const {
        size_t mask = slots.size() - 1, at = size_t((members * GOLDEN) >> 20) & mask;
        while (slots[at].key && (slots[at].key & MEMBERS) != members) at = (at + 1) & mask;
        return at;
    }
    void widen() {
        std::vector<Begun> old(2 * slots.size());
        old.swap(slots);
        for (const Begun &slot : old)
            if (slot.key) slots[find(slot.key & MEMBERS)] = slot;
    }
};

class Orders {
public:
    Orders(std::vector<std::vector<Family>> given) : nodes(int(given.size())), families(std::move(given)) {
        every = (Set(1) << nodes) - 1;
        group_nodes();
        relate_patterns();
    }

    // Its score, the nodes in order (of the caller), and how many sets were met; no order where they take too many bytes.
    std::tuple<double, std::vector<int>, int64_t> best(double least, int64_t bytes) {
        std::vector<std::vector<Set>> placed;
        Layer layer;
        layer.slots[0] = {0, 0.0};  // the empty set, which has no key of its own
        int64_t met = 1, taken = 0;
        for (int size = 0; size < nodes; ++size) {
            Layer next;
            placed.emplace_back();
            for (const Begun &begun : layer.slots) {
                if (!begun.key && (size || begun.score == NONE)) continue;
                placed.back().push_back(begun.key);
                place(begun, least, next);
                int64_t now = int64_t(16 * (3 * next.slots.size() + layer.slots.size()) + 16 * placed.back().size());
                if (taken + now > bytes) return {NONE, {}, met + int64_t(next.used)};
            }
            met += int64_t(next.used);
            taken += int64_t(16 * placed.back().size());
            std::swap(layer, next);
        }
        Begun last = *std::max_element(layer.slots.begin(), layer.slots.end(),
                                       [](const Begun &a, const Begun &b) { return a.score < b.score; });
        std::vector<int> order;
        if (last.score == NONE) return {NONE, {}, met};
        for (Set key = last.key; (key & MEMBERS) != 0;) {
            int v = int(key >> NODES);
            order.push_back(name[size_t(v)]);
            Set before = (key & MEMBERS) & ~(Set(1) << v);
            placed.resize(size_t(__builtin_popcountll(before)) + 1);
            key = *std::find_if(placed.back().begin(), placed.back().end(), [&](Set k) { return (k & MEMBERS) == before; });
        }
        std::reverse(order.begin(), order.end());
        return {last.score, order, met};
    }

private:
    int nodes;
    Set every;
    std::vector<std::vector<Family>> families;  // best first
    std::vector<int> name, begin;               // of each node the caller's number; where each group of nodes begins
    std::vector<std::vector<double>> pattern;   // of each group and each subset of it: the most it can add when placed last

    // The best score among those of at least `needed`.
    double best_within(int v, Set before, double needed = NONE) const {
        for (const Family &f : families[size_t(v)]) {
            if (f.score < needed) break;
            if (!(f.parents & ~before)) return f.score;
        }
        return NONE;
    }

    // What two nodes lose because they cannot both be parents of each other.
    double conflict(int a, int b) const {
        double top_a = families[size_t(a)][0].score, top_b = families[size_t(b)][0].score;
        double loss = std::min(top_a - best_within(a, every & ~(Set(1) << b)), top_b - best_within(b, every & ~(Set(1) << a)));
        return std::min(loss, 1e100);
    }

    // Nodes in groups of equal size such that those in conflict stand together, and all renumbered group after group.
    void group_nodes() {
        int groups = (nodes + PATTERN - 1) / PATTERN;
        std::vector<int> group(size_t(nodes), 0);
        for (int v = 0; v < nodes; ++v) group[size_t(v)] = v * groups / nodes;
        std::vector<double> loss(size_t(nodes * nodes), 0.0);
        for (int a = 0; a < nodes; ++a)
            for (int b = 0; b < a; ++b) loss[size_t(a * nodes + b)] = loss[size_t(b * nodes + a)] = conflict(a, b);
        for (int turn = 0; turn < 100; ++turn) {  // the exchange of two nodes that gains most
            double most = 0;
            std::pair<int, int> exchange{0, 0};
            for (int a = 0; a < nodes; ++a)
                for (int b = 0; b < a; ++b) {
                    if (group[size_t(a)] == group[size_t(b)]) continue;
                    double gain = 0;
                    for (int c = 0; c < nodes; ++c) {
                        if (c == a || c == b) continue;
                        double change = loss[size_t(b * nodes + c)] - loss[size_t(a * nodes + c)];
                        if (group[size_t(c)] == group[size_t(a)]) gain += change;
                        if (group[size_t(c)] == group[size_t(b)]) gain -= change;
                    }
                    if (gain > most) most = gain, exchange = {a, b};
                }
            if (most <= 0) break;
            std::swap(group[size_t(exchange.first)], group[size_t(exchange.second)]);
        }
        name.resize(size_t(nodes));
        std::iota(name.begin(), name.end(), 0);
        std::stable_sort(name.begin(), name.end(), [&](int a, int b) { return group[size_t(a)] < group[size_t(b)]; });
        std::vector<std::vector<Family>> sorted;
        std::vector<int> place(size_t(nodes), 0);
        for (int v = 0; v < nodes; ++v) {
            place[size_t(name[size_t(v)])] = v;
            if (begin.empty() || group[size_t(name[size_t(v)])] != group[size_t(name[size_t(v - 1)])]) begin.push_back(v);
        }
        begin.push_back(nodes);
        for (int v : name) {
            sorted.push_back(families[size_t(v)]);
            for (Family &f : sorted.back()) {
                Set parents = 0;
                for (int p = 0; p < nodes; ++p) parents |= (f.parents >> p & 1) << place[size_t(p)];
                f.parents = parents;
            }
        }
        families = std::move(sorted);
    }

    // Of each subset of a group the best order of it, where the nodes of other groups may be parents of any.
    void relate_patterns() {
        for (size_t g = 0; g + 1 < begin.size(); ++g) {
            pattern.emplace_back(size_t(1) << (begin[g + 1] - begin[g]), NONE);
            std::vector<double> &most = pattern.back();
            most[0] = 0;
            for (Set subset = 1; subset < most.size(); ++subset)
                for (Set rest = subset; rest; rest &= rest - 1) {
                    int first = __builtin_ctzll(rest);
                    double after = most[subset & ~(Set(1) << first)];
                    double needed = most[subset] - after;
                    double own = best_within(begin[g] + first, every & ~(subset << begin[g]), needed);
                    most[subset] = std::max(most[subset], after + own);
                }
        }
    }

    // What the nodes that are not placed can add at most.
    double bound(Set placed) const {
        double sum = 0;
        for (size_t g = 0; g < pattern.size(); ++g) sum += pattern[g][(~placed & every) >> begin[g] & (pattern[g].size() - 1)];
        return sum;
    }

    // Every node that can be next; one that has its best parents is next, for it would gain nothing later.
    void place(const Begun &begun, double least, Layer &next) const {
        Set before = begun.key & MEMBERS;
        for (Set rest = every & ~before; rest; rest &= rest - 1) {
            int v = __builtin_ctzll(rest);
            const Family &top = families[size_t(v)][0];
            if (top.parents & ~before) continue;
            if (begun.score + top.score + bound(before | Set(1) << v) >= least)
                next.offer(before | Set(1) << v, v, begun.score + top.score);
            return;
        }
        for (Set rest = every & ~before; rest; rest &= rest - 1) {
            int v = __builtin_ctzll(rest);
            double others = begun.score + bound(before | Set(1) << v);
            double own = best_within(v, before, least - others);
            if (own > NONE) next.offer(before | Set(1) << v, v, begun.score + own);
        }
    }
};

std::tuple<double, std::vector<int>, int64_t> best_order(Input<int64_t, 1> parents, Input<double, 1> score,
                                                         Input<int64_t, 1> begin, double least, int64_t bytes) {
    int64_t nodes = int64_t(begin.shape(0)) - 1, total = int64_t(parents.shape(0));
    require(nodes >= 1 && nodes <= NODES, "there are no nodes, or more than 58");
    require(int64_t(score.shape(0)) == total, "every family has a score");
    require(begin.data()[0] == 0 && begin.data()[nodes] == total, "begin leaves the families");
    std::vector<std::vector<Family>> families;
    for (int64_t v = 0; v < nodes; ++v) {
        int64_t first = begin.data()[v], end = begin.data()[v + 1];
        require(first >= 0 && first < end && end <= total, "every node has a family, in order");
        families.emplace_back();
        for (int64_t i = first; i < end; ++i) {
            Set set = Set(parents.data()[i]);
            double value = score.data()[i];
            require(!(set >> nodes) && !(set >> v & 1), "a parent is no other node");
            require(value - value == 0 && (i == first || value <= score.data()[i - 1]), "scores are finite, the best first");
            families.back().push_back({set, value});
        }
    }
    nb::gil_scoped_release free;
    return Orders(std::move(families)).best(least, bytes);
}

const Binding binding([](nb::module_ &m) {
    m.def("best_order", &best_order, "parents"_a.noconvert(), "score"_a.noconvert(), "begin"_a.noconvert(), "least"_a,
          "bytes"_a,
          "The order of nodes with the largest sum of scores, each node taking the best of its families (sets of parents as "
          "bits, from begin on, best first) whose parents stand before it: the sum, the order, and how many sets of nodes were "
          "met. No "
          "order where none reaches `least`, or where the sets would take more bytes.");
});

}}  // namespace bayeskit::networks
