// Randomised classification trees on columns of few levels: at each node some columns are drawn, and the best split wins.
#include <algorithm>
#include <cmath>
#include <queue>
#include "trees/trees.h"
#include "vectors/compiler.h"
#include "vectors/random.h"

namespace bayeskit::trees { namespace {

constexpr int LANE = 16;  // bits of a class in a word

struct Settings {
    int64_t tried, leaves;
    double least;
};

struct Split {
    double gain = -1;  // by which the sum over children of (sum of squared class weights) / weight grows
    int32_t column = -1;
    uint64_t mask = 0;
    bool majority = true;
};

class Grower {
    const Table &table;
    const Settings &how;
    Random random;
    std::vector<int32_t> row, spare, drawn, label, by_level;
    std::vector<uint8_t> level_of;
    std::vector<double> histogram, over, under, share, weight;  // classes of both sides are 0 between columns
    std::vector<uint64_t> packed;                               // the weight of a row in the lane of its class
    bool whole, lanes;  // whether weights and their squares add up exactly; whether the classes' fit into the lanes of a word
    std::vector<int64_t> begin, end;
    std::vector<Split> split;

public:
    std::vector<int32_t> column, child;
    std::vector<uint64_t> mask;
    std::vector<uint8_t> majority;

    Grower(const Table &table, const Settings &how, uint64_t seed) : table(table), how(how), random{seed} {
        row.resize(size_t(table.codes.rows));
        spare.resize(row.size());
        label.resize(row.size());
        weight.resize(row.size());
        for (size_t i = 0; i < row.size(); ++i) row[i] = int32_t(i);
        drawn.resize(size_t(table.codes.columns));
        histogram.resize(size_t(MOST_LEVELS * table.classes));
        over.resize(size_t(table.classes));
        under.resize(size_t(table.classes));
        level_of.resize(row.size());
        by_level.resize(row.size());
        double total = 0;
        whole = true;
        for (size_t i = 0; i < row.size(); ++i) {
            total += table.weight[i];
            whole = whole && table.weight[i] == std::floor(table.weight[i]);
        }
        whole = whole && total <= 1 << 26;
        lanes = whole && table.classes <= 4 && total < 1 << LANE;
        packed.resize(lanes ? row.size() : 0);
        share.resize(MOST_LEVELS);
    }

    void grow() {
        std::priority_queue<Waiting> waiting;
        add(0, table.codes.rows, waiting);
        int64_t leaves = 1;
        while (!waiting.empty() && leaves < how.leaves) {
            int64_t node = waiting.top().node;
            waiting.pop();
            int64_t middle = divide(node);
            column[size_t(node)] = split[size_t(node)].column;
            mask[size_t(node)] = split[size_t(node)].mask;
            majority[size_t(node)] = split[size_t(node)].majority;
            child[size_t(node)] = int32_t(column.size());
            int64_t from = begin[size_t(node)], to = end[size_t(node)];
            add(from, middle, waiting);
            add(middle, to, waiting);
            ++leaves;
        }
    }

private:
    void add(int64_t from, int64_t to, std::priority_queue<Waiting> &waiting) {
        int64_t node = int64_t(column.size());
        column.push_back(-1);
        child.push_back(0);
        mask.push_back(0);
        majority.push_back(1);
        begin.push_back(from);
        end.push_back(to);
        split.push_back(best(from, to));
        if (split.back().column >= 0) waiting.push({split.back().gain, node});
    }

    bool goes_left(const Split &s, int32_t i) const {
        uint8_t code = table.codes.data[int64_t(s.column) * table.codes.rows + i];
        return code == MISSING ? s.majority : in_mask(s.mask, code);
    }

    // The rows of a node in two parts, each in the order it had.
    int64_t divide(int64_t node) {
        const Split &s = split[size_t(node)];
        int64_t to = begin[size_t(node)], other = 0;
        for (int64_t i = begin[size_t(node)]; i < end[size_t(node)]; ++i) {  // both are written: a branch would be guessed
            int32_t here = row[size_t(i)];
            bool left = goes_left(s, here);
            row[size_t(to)] = spare[size_t(other)] = here;
            to += left;
            other += !left;
        }
        std::copy(spare.begin(), spare.begin() + other, row.begin() + to);
        return to;
    }

    Split best(int64_t from, int64_t to) {
        Split found;
        int32_t first = table.label[row[size_t(from)]];
        bool pure = true;
        for (int64_t i = from; i < to && pure; ++i) pure = table.label[row[size_t(i)]] == first;
        if (pure) return found;
        int64_t columns = table.codes.columns, able = 0;
        for (int64_t j = 0; j < columns; ++j) drawn[size_t(j)] = int32_t(j);
        for (int64_t i = from; i < to; ++i) {  // read once for all columns
            int32_t k = table.label[row[size_t(i)]];
            double w = table.weight[row[size_t(i)]];
            if (lanes) packed[size_t(i - from)] = uint64_t(w) << (LANE * k);
            else label[size_t(i - from)] = k, weight[size_t(i - from)] = w;
        }
        // Columns that cannot split the node do not count among those tried.
        for (int64_t j = 0; j < columns && able < how.tried; ++j) {
            std::swap(drawn[size_t(j)], drawn[size_t(j + random.below(columns - j))]);
            int32_t at = drawn[size_t(j)];
            uint64_t leading = random.next();  // of the classes, once it is needed
            able += try_column(at, leading, from, to, found);
        }
        return found;
    }

    // The levels of a column that the rows of a node have, and what splits are made of.
    struct Levels {
        uint64_t seen = 0, absent = 0;
        uint8_t order[MOST_LEVELS];  // in which they go to the first child
        int there = 0;
        double total = 0;
    };

    // Whether the column has two levels here; a better split replaces the one found so far. Sums of whole weights are
    // exact in any order, so that class by class and row by row find the same; few rows of many classes go row by row.
    bool try_column(int32_t at, uint64_t number, int64_t from, int64_t to, Split &found) {
        const int64_t K = table.classes, n = to - from, leading = table.ordered[at] ? 0 : int64_t(number % uint64_t(K));
        if (lanes) return by_lanes(at, leading, from, n, found);
        if (whole && 2 * n < std::min<int64_t>(table.sizes[at], n) * K) return by_rows(at, leading, from, n, found);
        switch (K) {
        case 2: return by_classes<2>(at, leading, from, n, found);
        case 3: return by_classes<3>(at, leading, from, n, found);
        default: return by_classes<0>(at, leading, from, n, found);
        }
    }

    static uint64_t lane(uint64_t word, int64_t k) { return (word >> (LANE * k)) & ((1 << LANE) - 1); }

    static uint64_t mass_of(uint64_t word) { return lane(word, 0) + lane(word, 1) + lane(word, 2) + lane(word, 3); }

    static uint64_t squares_of(uint64_t word) {
        uint64_t out = 0;
        for (int k = 0; k < 4; ++k) out += lane(word, k) * lane(word, k);
        return out;
    }

    // All classes of a level in one word: up to four, of whole weights that are few enough.
    bool by_lanes(int32_t at, int64_t leading, int64_t from, int64_t n, Split &found) {
        const int64_t size = table.sizes[at];
        const uint8_t *code = table.codes.data + int64_t(at) * table.codes.rows;
        const int32_t *here = &row[size_t(from)];
        uint64_t cell[2][MISSING + 1];  // missing values have one of their own
        Levels levels;
        cell[0][MISSING] = cell[1][MISSING] = 0;
        if (n >= size) {
            std::fill(cell[0], cell[0] + size, 0), std::fill(cell[1], cell[1] + size, 0);
            int64_t i = 0;
            for (; i + 1 < n; i += 2) {  // two words for each level, so that no sum waits for the one before
                cell[0][code[here[i]]] += packed[size_t(i)];
                cell[1][code[here[i + 1]]] += packed[size_t(i + 1)];
            }
            if (i < n) cell[0][code[here[i]]] += packed[size_t(i)];
            for (int64_t b = 0; b < size; ++b) cell[0][b] += cell[1][b];
            for (int64_t b = 0; b < size; ++b) levels.seen |= uint64_t(cell[0][b] > 0) << b;
        } else {
            for (int64_t i = 0; i < n; ++i) cell[0][code[here[i]]] = 0;
            for (int64_t i = 0; i < n; ++i) {
                uint8_t level = code[here[i]];
                cell[0][level] += packed[size_t(i)];
                levels.seen |= uint64_t(level != MISSING) << (level & (MOST_LEVELS - 1));
            }
        }
        uint64_t whole_node = 0, below = 0;
        auto mass = [&](int64_t b) {
            whole_node += cell[0][b];
            return double(mass_of(cell[0][b]));
        };
        sort_levels(at, levels, mass, [&](int64_t b) { return double(lane(cell[0][b], leading)); });
        if (levels.there < 2) return false;
        levels.total = double(mass_of(whole_node));
        auto move = [&](int64_t b, double &under_squares, double &over_squares) {
            below += cell[0][b];
            under_squares = double(squares_of(below));
            over_squares = double(squares_of(whole_node - below));
            return double(mass_of(below));
        };
        scan(at, levels, double(squares_of(whole_node)), move, found);
        return true;
    }

    // W classes, any number where W is 0.
    template <int64_t W> bool by_classes(int32_t at, int64_t leading, int64_t from, int64_t n, Split &found) {
        const int64_t K = W ? W : table.classes, size = table.sizes[at];
        const uint8_t *code = table.codes.data + int64_t(at) * table.codes.rows;
        Levels levels;
        if (n >= size) {  // else only the levels that the rows have are cleared and looked at
            levels.seen = (uint64_t(2) << (size - 1)) - 1;
            std::fill(histogram.begin(), histogram.begin() + size * K, 0.0);
        }
        for (int64_t i = 0; i < n; ++i) {
            uint8_t level = code[row[size_t(from + i)]];
            if (level == MISSING) continue;
            double *cell = &histogram[size_t(level * K)];
            if (!in_mask(levels.seen, level)) {
                levels.seen |= uint64_t(1) << level;
                std::fill(cell, cell + K, 0.0);
            }
            cell[label[size_t(i)]] += weight[size_t(i)];
        }
        double few[2 * (W ? W : 1)], *left = W ? few : over.data(), *below = W ? few + W : under.data();
        std::fill(left, left + K, 0.0);
        auto mass = [&](int64_t b) {
            double sum = 0;
            for (int64_t k = 0; k < K; ++k) sum += histogram[size_t(b * K + k)], left[k] += histogram[size_t(b * K + k)];
            return sum;
        };
        sort_levels(at, levels, mass, [&](int64_t b) { return histogram[size_t(b * K + leading)]; });
        double squares = 0;
        for (int64_t k = 0; k < K; ++k) squares += left[k] * left[k];
        for (int64_t k = 0; k < K; ++k) levels.total += left[k];
        std::fill(below, below + K, 0.0);
        double weight_below = 0;
        auto move = [&](int64_t b, double &under_squares, double &over_squares) {
            const double *cell = &histogram[size_t(b * K)];
            under_squares = over_squares = 0;
            for (int64_t k = 0; k < K; ++k) {
                weight_below += cell[k];
                below[k] += cell[k];
                double above = left[k] - below[k];
                under_squares += below[k] * below[k];
                over_squares += above * above;
            }
            return weight_below;
        };
        bool able = levels.there > 1;
        if (able) scan(at, levels, squares, move, found);
        if (!W) clear_classes(n);
        return able;
    }

    // Rows sorted by their level, each of which moves one class.
    bool by_rows(int32_t at, int64_t leading, int64_t from, int64_t n, Split &found) {
        const uint8_t *code = table.codes.data + int64_t(at) * table.codes.rows;
        Levels levels;
        double squares = 0, mass[MOST_LEVELS], led[MOST_LEVELS];
        int32_t count[MOST_LEVELS], start[MOST_LEVELS];
        for (int64_t i = 0; i < n; ++i) {
            uint8_t level = level_of[size_t(i)] = code[row[size_t(from + i)]];
            if (level == MISSING) continue;
            if (!in_mask(levels.seen, level)) {
                levels.seen |= uint64_t(1) << level;
                mass[level] = led[level] = 0;
                count[level] = 0;
            }
            double w = weight[size_t(i)], &whole_class = over[size_t(label[size_t(i)])];
            ++count[level];
            mass[level] += w;
            if (label[size_t(i)] == leading) led[level] += w;
            squares += w * (2 * whole_class + w);
            whole_class += w;
            levels.total += w;
        }
        sort_levels(at, levels, [&](int64_t b) { return mass[b]; }, [&](int64_t b) { return led[b]; });
        bool able = levels.there > 1;
        if (able) {
            int32_t next = 0;
            for (uint64_t rest = levels.seen; rest; rest &= rest - 1) {
                int64_t b = __builtin_ctzll(rest);
                start[b] = next;
                next += count[b];
            }
            for (int64_t i = 0; i < n; ++i)
                if (level_of[size_t(i)] != MISSING) by_level[size_t(start[level_of[size_t(i)]]++)] = int32_t(i);
            double under_sum = 0, over_sum = squares, weight_below = 0;
            auto move = [&](int64_t b, double &under_squares, double &over_squares) {
                for (int32_t at_row = start[b] - count[b]; at_row < start[b]; ++at_row) {
                    size_t i = size_t(by_level[size_t(at_row)]), k = size_t(label[i]);
                    double w = weight[i];
                    under_sum += w * (2 * under[k] + w);
                    under[k] += w;
                    over_sum -= w * (2 * over[k] - w);
                    over[k] -= w;
                    weight_below += w;
                }
                under_squares = under_sum;
                over_squares = over_sum;
                return weight_below;
            };
            scan(at, levels, squares, move, found);
        }
        clear_classes(n);
        return able;
    }

    void clear_classes(int64_t n) {
        for (int64_t i = 0; i < n; ++i) under[size_t(label[size_t(i)])] = over[size_t(label[size_t(i)])] = 0;
    }

    // Those that weigh something: intervals as they follow each other, levels by the share of one class.
    template <typename Mass, typename Led> void sort_levels(int32_t at, Levels &levels, Mass mass, Led led) {
        levels.absent = ~levels.seen & ((uint64_t(2) << (table.sizes[at] - 1)) - 1);
        for (uint64_t rest = levels.seen; rest; rest &= rest - 1) {
            int64_t b = __builtin_ctzll(rest);
            double sum = mass(b);
            if (!(sum > 0)) {
                levels.absent |= uint64_t(1) << b;
                continue;
            }
            if (!table.ordered[at]) share[size_t(b)] = led(b) / sum;
            levels.order[levels.there++] = uint8_t(b);
        }
        if (!table.ordered[at])
            std::stable_sort(levels.order, levels.order + levels.there,
                             [&](uint8_t a, uint8_t b) { return share[a] < share[b]; });
    }

    // Every cut between two levels; ``move`` puts a level below it and says the squares of both sides and the weight below.
    template <typename Move> void scan(int32_t at, const Levels &levels, double squares, Move move, Split &found) {
        const uint8_t *order = levels.order;
        double base = squares / levels.total;
        double wanted = found.column >= 0 ? (found.gain + base) * (1 - 1e-9) : -1;  // to be reached before it is divided
        uint64_t mask = 0;
        for (int b = 0; b + 1 < levels.there; ++b) {
            double under_squares, over_squares, below = move(order[b], under_squares, over_squares);
            mask |= uint64_t(1) << order[b];
            double above = levels.total - below;
            if (under_squares * above + over_squares * below <= wanted * (below * above)) continue;
            if (below < how.least || above < how.least) continue;
            double gain = under_squares / below + over_squares / above - base;
            if (gain <= found.gain && found.column >= 0) continue;
            bool majority = below >= above;
            // Intervals without rows here go with the nearer neighbour, levels without rows where most rows go.
            uint64_t low = (uint64_t(2) << ((order[b] + order[b + 1]) / 2)) - 1;
            found = {gain, at, table.ordered[at] ? low : mask | (majority ? levels.absent : 0), majority};
            wanted = (gain + base) * (1 - 1e-9);
        }
    }
};

using Grown = std::tuple<Array<int64_t, 1>, Array<int32_t, 1>, Array<uint64_t, 1>, Array<int32_t, 1>, Array<uint8_t, 1>>;

Grown grow_trees(Input<uint8_t, 2> codes, Input<int32_t, 1> label, Input<double, 1> weight, Flags ordered, Flags sizes,
                 int64_t classes, int64_t trees, int64_t tried, int64_t leaves, double least, uint64_t seed) {
    require(trees >= 1 && trees <= 1 << 16 && tried >= 1 && leaves >= 1 && leaves <= 1 << 24 && least > 0,
            "a setting is out of range");
    Table table = table_of(codes, label, weight, ordered, sizes, classes);
    Settings how = {tried, leaves, least};
    std::vector<std::vector<int32_t>> column(static_cast<size_t>(trees)), child(static_cast<size_t>(trees));
    std::vector<std::vector<uint64_t>> mask(static_cast<size_t>(trees));
    std::vector<std::vector<uint8_t>> majority(static_cast<size_t>(trees));
    {
        nb::gil_scoped_release free;
        for (size_t t = 0; t < size_t(trees); ++t) {
            Grower tree(table, how, Random{seed + GOLDEN * (t + 1)}.next());
            tree.grow();
            column[t] = std::move(tree.column);
            child[t] = std::move(tree.child);
            mask[t] = std::move(tree.mask);
            majority[t] = std::move(tree.majority);
        }
    }
    Owned<int64_t, 1> start({size_t(trees) + 1});
    for (size_t t = 0; t < size_t(trees); ++t) start.data[t + 1] = start.data[t] + int64_t(column[t].size());
    return Grown(start.array, joined(column), joined(mask), joined(child), joined(majority));
}

const Binding binding([](nb::module_ &m) {
    m.def("grow_trees", &grow_trees, "codes"_a.noconvert(), "label"_a.noconvert(), "weight"_a.noconvert(),
          "ordered"_a.noconvert(), "sizes"_a.noconvert(), "classes"_a, "trees"_a, "tried"_a, "leaves"_a, "least"_a, "seed"_a,
          "Trees of least Gini impurity over codes (columns, rows), grown best first: where each begins, and of its nodes the "
          "column, the levels of the first child, its place, and whether it has most rows.");
});

}}  // namespace bayeskit::trees
