// Boosted trees on columns of few levels: each is a Newton step on the conditional likelihood, with a value for each class.
#include <algorithm>
#include <cmath>
#include <queue>
#include "trees/trees.h"

namespace bayeskit::trees { namespace {

struct Settings {
    int64_t leaves;
    double least, rate, ridge;
};

struct Split {
    double gain = 0;
    int32_t column = -1;
    uint64_t mask = 0;
    bool majority = true;
};

constexpr double NOTHING = 1e-9;  // weight of a level that a difference of histograms has left over

// One tree after the other, on weights, slopes and curvatures of the loss: of two classes those of the second score alone.
class Booster {
    const Table &table;
    const Settings &how;
    const int64_t rows, channels, stride;  // numbers of a row: weight, slopes, curvatures
    std::vector<double> moves, gathered, total, under;
    std::vector<int32_t> row, spare, learned;
    std::vector<int64_t> offset;  // of the levels of each column in a histogram
    std::vector<int64_t> begin, end;
    std::vector<Split> split;
    std::vector<std::vector<double>> histogram, freed;  // of nodes that wait

public:
    std::vector<double> score;  // (rows, channels)
    std::vector<int32_t> column, child;
    std::vector<uint64_t> mask;
    std::vector<uint8_t> majority;
    std::vector<double> value;  // (nodes, channels)

    Booster(const Table &table, const Settings &how)
        : table(table), how(how), rows(table.codes.rows), channels(table.classes == 2 ? 1 : table.classes),
          stride(1 + 2 * channels) {
        moves.resize(size_t(rows * stride));
        gathered.resize(moves.size());
        total.resize(size_t(stride));
        under.resize(size_t(stride));
        row.resize(size_t(rows));
        spare.resize(size_t(rows));
        learned.resize(size_t(rows));
        offset.push_back(0);
        for (int64_t j = 0; j < table.codes.columns; ++j) offset.push_back(offset.back() + table.sizes[j]);
        score.resize(size_t(rows * channels));
    }

    // The shares of the classes by the scores, (rows, classes), and the loss of rows of these weights.
    double shares(const double *base, const double *held, std::vector<double> &p) const {
        const int64_t K = table.classes;
        std::vector<double> top(static_cast<size_t>(rows)), sum(static_cast<size_t>(rows), 0.0);
        p.resize(size_t(rows * K));
        for (int64_t i = 0; i < rows; ++i) {
            double *here = &p[size_t(i * K)];
            for (int64_t k = 0; k < K; ++k)
                here[k] = base[k] + (channels == K ? score[size_t(i * K + k)] : k ? score[size_t(i)] : 0.0);
            double best = *std::max_element(here, here + K);
            for (int64_t k = 0; k < K; ++k) here[k] -= best;
            top[size_t(i)] = here[table.label[i]];
        }
        kernels->exponentials(p.data(), rows * K, p.data());
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t k = 0; k < K; ++k) sum[size_t(i)] += p[size_t(i * K + k)];
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t k = 0; k < K; ++k) p[size_t(i * K + k)] /= sum[size_t(i)];
        kernels->logarithms(sum.data(), rows, sum.data());
        double loss = 0;
        for (int64_t i = 0; i < rows; ++i) loss += held[i] > 0 ? held[i] * (sum[size_t(i)] - top[size_t(i)]) : 0.0;
        return loss;
    }

    void grow(const std::vector<double> &p) {
        const int64_t K = table.classes;
        for (int64_t i = 0; i < rows; ++i) {
            double *here = &moves[size_t(i * stride)], w = table.weight[i];
            here[0] = w;
            for (int64_t c = 0; c < channels; ++c) {
                int64_t k = channels == K ? c : 1;
                double q = p[size_t(i * K + k)];
                here[1 + c] = w * (q - (table.label[i] == k));
                here[1 + channels + c] = w * q * (1 - q);
            }
        }
        for (int64_t i = 0; i < rows; ++i) row[size_t(i)] = int32_t(i);
        column.clear(), child.clear(), mask.clear(), majority.clear(), begin.clear(), end.clear(), split.clear(), value.clear();
        histogram.clear();
        std::priority_queue<Waiting> waiting;
        std::vector<double> whole = empty();
        count(0, rows, whole);
        add(0, rows, std::move(whole), waiting);
        for (int64_t leaves = 1; !waiting.empty() && leaves < how.leaves; ++leaves) {
            size_t node = size_t(waiting.top().node);
            waiting.pop();
            int64_t from = begin[node], to = end[node], middle = divide(node);
            column[node] = split[node].column;
            mask[node] = split[node].mask;
            majority[node] = split[node].majority;
            child[node] = int32_t(column.size());
            // The rows of the smaller part are counted, those of the other are the rest.
            bool first = middle - from <= to - middle;
            std::vector<double> few = empty(), rest = std::move(histogram[node]);
            count(first ? from : middle, first ? middle : to, few);
            for (size_t i = 0; i < few.size(); ++i) rest[i] -= few[i];
            add(from, middle, std::move(first ? few : rest), waiting);
            add(middle, to, std::move(first ? rest : few), waiting);
        }
        for (size_t node = 0; node < column.size(); ++node) {
            if (!histogram[node].empty()) freed.push_back(std::move(histogram[node]));
            if (column[node] >= 0) continue;
            for (int64_t i = begin[node]; i < end[node]; ++i)
                for (int64_t c = 0; c < channels; ++c)
                    score[size_t(row[size_t(i)] * channels + c)] += value[node * size_t(channels) + size_t(c)];
        }
    }

private:
    std::vector<double> empty() {
        std::vector<double> out;
        if (!freed.empty()) {
            out = std::move(freed.back());
            freed.pop_back();
        }
        out.assign(size_t(offset.back() * stride), 0.0);
        return out;
    }

    // What the rows of a node weigh and where the loss falls, by level of each column; rows held out weigh nothing.
    void count(int64_t from, int64_t to, std::vector<double> &out) {
        int64_t n = 0;
        for (int64_t i = from; i < to; ++i) {
            learned[size_t(n)] = row[size_t(i)];
            n += table.weight[row[size_t(i)]] > 0;
        }
        for (int64_t i = 0; i < n; ++i)
            std::copy_n(&moves[size_t(learned[size_t(i)] * stride)], stride, &gathered[size_t(i * stride)]);
        for (int64_t j = 0; j < table.codes.columns; ++j) {
            const uint8_t *code = table.codes.data + j * rows;
            double *cells = &out[size_t(offset[size_t(j)] * stride)];
            switch (channels) {
            case 1: add_rows<3>(code, n, cells); break;
            case 3: add_rows<7>(code, n, cells); break;
            case 4: add_rows<9>(code, n, cells); break;
            case 5: add_rows<11>(code, n, cells); break;
            default: add_rows<0>(code, n, cells);
            }
        }
    }

    // Of W numbers of a row, any number where W is 0. All are read before one is written, else the next read waits for it.
    template <int64_t W> void add_rows(const uint8_t *code, int64_t n, double *cells) const {
        const double *more = gathered.data();
        const int32_t *which = learned.data();
        const int64_t numbers = W ? W : stride;
        for (int64_t i = 0; i < n; ++i, more += numbers) {
            uint8_t level = code[which[i]];
            if (level == MISSING) continue;
            double *cell = cells + level * numbers, sum[W ? W : 1];
            if constexpr (W > 0) {
                for (int64_t s = 0; s < W; ++s) sum[s] = cell[s] + more[s];
                for (int64_t s = 0; s < W; ++s) cell[s] = sum[s];
            } else {
                for (int64_t s = 0; s < numbers; ++s) cell[s] += more[s];
            }
        }
    }

    void add(int64_t from, int64_t to, std::vector<double> counted, std::priority_queue<Waiting> &waiting) {
        int64_t node = int64_t(column.size());
        column.push_back(-1);
        child.push_back(0);
        mask.push_back(0);
        majority.push_back(1);
        begin.push_back(from);
        end.push_back(to);
        std::fill(total.begin(), total.end(), 0.0);
        for (int64_t i = from; i < to; ++i)
            for (int64_t s = 0; s < stride; ++s) total[size_t(s)] += moves[size_t(row[size_t(i)] * stride + s)];
        for (int64_t c = 0; c < channels; ++c) {
            double step = -how.rate * total[size_t(1 + c)] / (total[size_t(1 + channels + c)] + how.ridge);
            value.push_back(float(std::isfinite(step) ? step : 0.0));  // as files have it
        }
        split.push_back(best(counted));
        histogram.push_back(std::move(counted));
        if (split.back().column >= 0) waiting.push({split.back().gain, node});
    }

    int64_t divide(size_t node) {
        const Split &s = split[node];
        const uint8_t *code = table.codes.data + int64_t(s.column) * rows;
        int64_t to = begin[node], other = 0;
        for (int64_t i = begin[node]; i < end[node]; ++i) {
            int32_t here = row[size_t(i)];
            uint8_t level = code[here];
            bool left = level == MISSING ? s.majority : in_mask(s.mask, level);
            row[size_t(to)] = spare[size_t(other)] = here;  // both are written: a branch would be guessed
            to += left;
            other += !left;
        }
        std::copy(spare.begin(), spare.begin() + other, row.begin() + to);
        return to;
    }

    // Twice what a Newton step lowers the loss by.
    double gain(const double *sums) const {
        double out = 0;
        for (int64_t c = 0; c < channels; ++c) out += sums[1 + c] * sums[1 + c] / (sums[1 + channels + c] + how.ridge);
        return out;
    }

    Split best(const std::vector<double> &counted) {
        Split found;
        if (total[0] < 2 * how.least) return found;
        for (int64_t j = 0; j < table.codes.columns; ++j) try_column(j, &counted[size_t(offset[size_t(j)] * stride)], found);
        return found;
    }

    void try_column(int64_t at, const double *cells, Split &found) {
        uint8_t order[MOST_LEVELS];
        int there = 0;
        uint64_t absent = 0;
        std::fill(total.begin(), total.end(), 0.0);
        for (int64_t b = 0; b < table.sizes[at]; ++b) {
            const double *cell = cells + b * stride;
            if (!(cell[0] > NOTHING)) {
                absent |= uint64_t(1) << b;
                continue;
            }
            for (int64_t s = 0; s < stride; ++s) total[size_t(s)] += cell[s];
            order[there++] = uint8_t(b);
        }
        if (there < 2) return;
        if (!table.ordered[at]) sort_levels(order, there, cells);
        double base = gain(total.data());
        uint64_t mask = 0;
        std::vector<double> &over = total;
        std::fill(under.begin(), under.end(), 0.0);
        for (int b = 0; b + 1 < there; ++b) {
            const double *cell = cells + order[b] * stride;
            for (int64_t s = 0; s < stride; ++s) {
                under[size_t(s)] += cell[s];
                over[size_t(s)] -= cell[s];
            }
            mask |= uint64_t(1) << order[b];
            if (under[0] < how.least || over[0] < how.least) continue;
            double more = gain(under.data()) + gain(over.data()) - base;
            if (!(more > found.gain + 1e-7)) continue;
            bool majority = under[0] >= over[0];
            // Intervals without rows here go with the nearer neighbour, levels without rows where most rows go.
            uint64_t low = (uint64_t(2) << ((order[b] + order[b + 1]) / 2)) - 1;
            found = {more, int32_t(at), table.ordered[at] ? low : mask | (majority ? absent : 0), majority};
        }
    }

    // By the step of the class whose steps differ most.
    void sort_levels(uint8_t *order, int there, const double *cells) const {
        int64_t leading = 0;
        double most = -1;
        for (int64_t c = 0; c < channels; ++c) {
            double moved = 0;
            for (int b = 0; b < there; ++b) {
                const double *cell = cells + order[b] * stride;
                moved += cell[1 + c] * cell[1 + c] / (cell[1 + channels + c] + how.ridge);
            }
            if (moved > most) most = moved, leading = c;
        }
        double key[MOST_LEVELS];
        for (int b = 0; b < there; ++b) {
            const double *cell = cells + order[b] * stride;
            double step = cell[1 + leading] / (cell[1 + channels + leading] + how.ridge);
            key[order[b]] = std::isfinite(step) ? step : 0.0;
        }
        std::stable_sort(order, order + there, [&](uint8_t a, uint8_t b) { return key[a] < key[b]; });
    }
};

using Boosted = std::tuple<Array<int64_t, 1>, Array<int32_t, 1>, Array<uint64_t, 1>, Array<int32_t, 1>, Array<uint8_t, 1>,
                           Array<double, 2>>;

Boosted boost_trees(Input<uint8_t, 2> codes, Input<int32_t, 1> label, Input<double, 1> weight, Input<double, 1> held,
                    Input<double, 1> base, Flags ordered, Flags sizes, int64_t trees, int64_t leaves, double least, double rate,
                    double ridge, int64_t patience) {
    int64_t classes = int64_t(base.shape(0));
    require(trees >= 1 && trees <= 1 << 16 && leaves >= 2 && leaves <= 1 << 16 && patience >= 1, "a setting is out of range");
    require(least > 0 && rate > 0 && ridge > 0 && least < 1e300 && rate < 1e300 && ridge < 1e300, "a setting is out of range");
    Table table = table_of(codes, label, weight, ordered, sizes, classes);
    require(classes >= 2, "one class has no other to be distinguished from");
    require(int64_t(held.shape(0)) == table.codes.rows, "labels or weights differ in length");
    require_weights(held.data(), held.shape(0), "a weight is negative or not finite");
    for (int64_t k = 0; k < classes; ++k) require(std::isfinite(base.data()[k]), "a base is not finite");
    bool any = std::any_of(held.data(), held.data() + held.shape(0), [](double w) { return w > 0; });
    Settings how = {leaves, least, rate, ridge};
    std::vector<std::vector<int32_t>> column, child;
    std::vector<std::vector<uint64_t>> mask;
    std::vector<std::vector<uint8_t>> majority;
    std::vector<std::vector<double>> value;
    size_t kept = 0;
    {
        nb::gil_scoped_release free;
        Booster one(table, how);
        std::vector<double> p;
        double least_loss = one.shares(base.data(), held.data(), p);
        while (int64_t(column.size()) < trees && (!any || int64_t(column.size() - kept) < patience)) {
            one.grow(p);
            if (one.column[0] < 0) break;  // nothing is left to gain
            column.push_back(one.column);
            child.push_back(one.child);
            mask.push_back(one.mask);
            majority.push_back(one.majority);
            value.push_back(one.value);
            double loss = one.shares(base.data(), held.data(), p);
            if (any && !(loss < least_loss)) continue;
            least_loss = loss;
            kept = column.size();
        }
    }
    column.resize(kept), child.resize(kept), mask.resize(kept), majority.resize(kept), value.resize(kept);
    Owned<int64_t, 1> start({kept + 1});
    for (size_t t = 0; t < kept; ++t) start.data[t + 1] = start.data[t] + int64_t(column[t].size());
    size_t nodes = size_t(start.data[kept]), K = size_t(classes), C = K == 2 ? 1 : K, at = 0;
    Owned<double, 2> values({nodes, K});
    for (size_t t = 0; t < kept; ++t)
        for (size_t i = 0; i < column[t].size(); ++i, ++at)
            for (size_t c = 0; c < C; ++c) values.data[at * K + (C == K ? c : 1)] = value[t][i * C + c];
    return Boosted(start.array, joined(column), joined(mask), joined(child), joined(majority), values.array);
}

const Binding binding([](nb::module_ &m) {
    m.def("boost_trees", &boost_trees, "codes"_a.noconvert(), "label"_a.noconvert(), "weight"_a.noconvert(),
          "held"_a.noconvert(), "base"_a.noconvert(), "ordered"_a.noconvert(), "sizes"_a.noconvert(), "trees"_a, "leaves"_a,
          "least"_a, "rate"_a, "ridge"_a, "patience"_a,
          "Trees over codes (columns, rows) that each lower the loss of scores that begin with `base`, up to the one after "
          "which rows of the weights `held` are predicted best: as grow_trees gives them, and what each node adds to the "
          "score of each class.");
});

}}  // namespace bayeskit::trees
