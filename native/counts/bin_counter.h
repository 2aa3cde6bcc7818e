// Counter: the cells of one column while it is counted, and the grid they lie on.
#pragma once
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>
#include "dispatch/hash_seed.h"
#include "exact/limbs.h"

namespace bayeskit { namespace {

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

// How many cells ascending numbers have on grids 2^0, 2^1, ... coarser than that they are counted on, cell less one. Two share
// a cell once all the bits that differ between them are gone.
class Coarsening {
public:
    void see(int64_t cell) {
        if (any) ++apart[cell == last ? 0 : 64 - __builtin_clzll(uint64_t(cell) ^ uint64_t(last))];
        any = true;
        last = cell;
    }
    // How much coarser the grid must be at least for so many cells.
    int64_t needed(int64_t budget) const {
        int64_t found = 1;
        int bits = 64;
        while (bits > 0 && found + apart[bits] <= budget) found += apart[bits--];
        return bits;
    }

private:
    int64_t apart[65] = {}, last = 0;
    bool any = false;
};

// The smallest exponent above e with at most budget cells, if there are more at e: counted where the cells are numbers that
// doubles hold, else searched for, from where an even grid over them all has so many.
int64_t fitting(const std::vector<double> &cells, int64_t e, int64_t budget) {
    if (int64_t(cells.size()) <= budget) return e;
    double size = std::max(std::fabs(cells.front()), std::fabs(cells.back()));
    if (e >= -900 && e <= 900 && size < power(e + 50)) {
        Coarsening counted;
        double scale = power(-e);
        for (double c : cells) counted.see(int64_t(c * scale) - 1);
        return e + std::max<int64_t>(counted.needed(budget), 1);
    }
    int64_t bad = e, good = COARSEST, stride = 1;
    double range = cells.back() / double(budget) - cells.front() / double(budget);
    int64_t guess = e > FINEST ? e + 2 : int64_t(bits_of(range) >> 52) - 1023;
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

// Values on a grid of 2^-24 of their range, in ascending order; none where they do not lie on one that doubles can count.
class Coarse {
public:
    explicit Coarse(const std::vector<double> &values) {
        auto ends = std::minmax_element(values.begin(), values.end());
        double range = *ends.second - *ends.first, size = std::max(std::fabs(*ends.first), std::fabs(*ends.second));
        if (!(range > size * 0x1p-26) || size > 0x1p900 || range < 0x1p-900) return;
        exponent = int64_t(bits_of(range) >> 52) - 1023 - 24;
        scale = power(-exponent);
        base = int64_t(std::floor(*ends.first * scale)) - 1;
        std::vector<uint32_t> spare(values.size());
        place.reserve(values.size());
        for (double x : values) {
            double t = x * scale;
            int64_t cell = int64_t(t);  // rounded up below; t is exact but where it underflows
            place.push_back(uint32_t(cell + (double(cell) < t || (t == 0 && x > 0)) - 1 - base));
        }
        for (int shift = 0; shift < 26; shift += 9) {
            uint32_t count[512] = {}, at = 0;
            for (uint32_t p : place) ++count[p >> shift & 511];
            for (uint32_t &n : count) at += std::exchange(n, at);
            for (uint32_t p : place) spare[count[p >> shift & 511]++] = p;
            place.swap(spare);
        }
    }

    // The smallest exponent with at most budget cells; FINEST where it lies below this grid, or nothing does.
    int64_t fitting(int64_t budget) const {
        Coarsening counted;
        for (size_t k = 0; k < place.size(); ++k) counted.see(at(k));
        int64_t more = counted.needed(budget);
        return more ? exponent + more : FINEST;
    }

    // Whether there are at most so many cells on this grid.
    bool few(int64_t budget) const { return !place.empty() && fitting(budget) == FINEST; }

    // The edges of the cells at an exponent from this grid on, ascending.
    template <class Use> void each(int64_t e, Use use) const {
        for (size_t k = 0; k < place.size(); ++k)
            if (!k || at(k) >> (e - exponent) != at(k - 1) >> (e - exponent))
                use(edge_of(double(at(k) + 1) * power(exponent), e));
    }

    // The first and the last of them, in units of 2^e.
    std::pair<int64_t, int64_t> ends(int64_t e) const {
        return {(at(0) >> (e - exponent)) + 1, (at(place.size() - 1) >> (e - exponent)) + 1};
    }

private:
    int64_t at(size_t k) const { return base + int64_t(place[k]); }  // one less than the cell, so that cells open on the left

    int64_t exponent = 0, base = 0;
    double scale = 1;
    std::vector<uint32_t> place;
};

// Numbers with their identities in ascending order, digit by digit; most digits are the same in all and passed over.
using Named = std::pair<double, int32_t>;

inline uint64_t order_of(double x) {  // bits in the order of the numbers
    uint64_t b = bits_of(x);
    return b & SIGN ? ~b : b | SIGN;
}

// Sorts by digits of 8 bits from `first` on.
void sort_digits(std::vector<Named> &cells, size_t first) {
    constexpr size_t DIGITS = 8, VALUES = 256;
    std::vector<Named> spare(cells.size());
    uint32_t count[DIGITS][VALUES] = {};
    for (const Named &c : cells) {
        uint64_t k = order_of(c.first);
        for (size_t d = first; d < DIGITS; ++d) ++count[d][k >> 8 * d & 255];
    }
    for (size_t d = first; d < DIGITS; ++d) {
        uint32_t *n = count[d], at = 0;
        if (n[order_of(cells[0].first) >> 8 * d & 255] == cells.size()) continue;
        for (size_t v = 0; v < VALUES; ++v) at += std::exchange(n[v], at);
        for (const Named &c : cells) spare[n[order_of(c.first) >> 8 * d & 255]++] = c;
        cells.swap(spare);
    }
}

// By the upper half of their bits, and the few that agree there by insertion; by all bits where many do.
void sort_named(std::vector<Named> &cells) {
    constexpr size_t FEW = 64;
    if (cells.size() < FEW) {
        std::sort(cells.begin(), cells.end());
        return;
    }
    sort_digits(cells, 4);
    size_t moves = 0;
    for (size_t i = 1; i < cells.size() && moves < cells.size(); ++i) {
        Named c = cells[i];
        size_t to = i;
        for (; to && c.first < cells[to - 1].first; --to, ++moves) cells[to] = cells[to - 1];
        cells[to] = c;
    }
    if (moves >= cells.size()) sort_digits(cells, 0);
}

// Cells of one column while it is counted. Identities are given in order of arrival and never taken back; a cell that
// is coarsened away points to the one that took it. Where the cells lie close together their number leads straight to
// them (near); others are found by hashing.
struct Counter {
    int64_t e, budget, bits = 6;
    size_t groups;  // whose rows are tallied
    std::vector<uint64_t> key;  // bits of the edge; a NaN where the slot is free
    std::vector<int32_t> slot;  // the identity
    std::vector<double> edge;  // by identity
    std::vector<int32_t> next;  // by identity: the cell that took it, or itself
    std::vector<int32_t> tally;  // by identity and group
    int64_t first = 0, hashed = 0;  // the first identity of this exponent; cells that are not near
    int64_t spared = 0;  // identities given before a row came: those without one are no cells
    std::vector<int32_t> near;  // identities of the cells low, low + 1, ... of the grid
    double scale = 0, low = 0, high = 0;
    static constexpr uint64_t FREE = ~uint64_t(0);
    static constexpr int64_t NEAR = 1 << 16;

    // With cells that are known, ascending.
    Counter(int64_t e, int64_t budget, int64_t rows, size_t groups, const double *from, const double *to)
        : e(e), budget(budget), groups(groups) {
        while (int64_t(1) << bits < 2 * std::min(rows + (to - from), 2 * budget)) ++bits;
        for (; from < to; ++from) fresh(edge_of(*from, e));
        lay();
    }

    // The exponent that some of the values need, all need too: with it their cells are laid out at once.
    void choose_exponent(std::vector<double> &values) {
        if (int64_t(values.size()) <= budget) return;
        Coarse coarse(values);
        int64_t found = coarse.fitting(budget);
        if (found > e) {
            e = found;
            auto [from, to] = coarse.ends(e);
            if (groups && to - from < 2 * budget && e > -900 && e < 900) {  // all in between, at once
                spared = to - from + 1;
                edge.resize(size_t(spared)), next.resize(size_t(spared)), tally.resize(size_t(spared) * groups);
                for (int64_t k = 0; k < spared; ++k) {
                    edge[size_t(k)] = double(from + k) * power(e);
                    next[size_t(k)] = int32_t(k);
                }
            } else coarse.each(e, [&](double cell) { fresh(cell); });
        } else if (coarse.few(budget)) {
            return;  // each value may be its own cell
        } else {
            std::sort(values.begin(), values.end());
            values.erase(std::unique(values.begin(), values.end()), values.end());
            if (int64_t(values.size()) <= budget) return;
            if (!fits(values, e, budget)) e = fitting(values, e, budget);
            for (double x : values) {
                double cell = edge_of(x, e);
                if (edge.empty() || edge.back() != cell) fresh(cell);
            }
        }
        lay();
    }

    // All values of a column, each with its row, where there are no cells yet; an identity for every row.
    void count(std::vector<Named> &values, const int32_t *group, int32_t *code) {
        sort_named(values);
        for (const Named &v : values) {
            if (edge.empty() || edge.back() != v.first) fresh(v.first);
            code[v.second] = int32_t(edge.size()) - 1;
            if (groups) ++tally[tally.size() - groups + size_t(group[v.second])];
        }
    }

    int64_t live() const { return int64_t(edge.size()) - first; }
    bool there(int32_t id) const {
        if (id >= spared) return true;
        int32_t rows = 0;
        for (size_t g = 0; g < groups; ++g) rows |= tally[size_t(id) * groups + g];
        return rows != 0;
    }
    CellGrid grid() const { return {scale, low, high, near.data()}; }
    bool on_grid(double cell) const { return cell * scale > low && cell * scale <= high; }

    // Finds room for the cells of this exponent.
    void lay() {
        scale = low = high = 0;
        hashed = 0;
        near.assign(1, UNKNOWN);
        if (e <= 900 && e >= -900 && live()) {
            scale = power(-e);
            auto ends = std::minmax_element(edge.begin() + first, edge.end());
            double from = *ends.first * scale, to = *ends.second * scale, half = (to - from) / (spared ? 4 : 2) + 64;
            if (to - from < NEAR / 2) {
                low = double(int64_t(from - half)), high = low + double(int64_t(2 * half + to - from));
                near.assign(size_t(high - low) + 1, UNKNOWN);
            }
        }
        if (!key.empty() || low == high) clear();
        for (size_t id = size_t(first); id < edge.size(); ++id) put(int32_t(id));
    }

    void clear() {
        key.assign(size_t(1) << bits, FREE);
        slot.assign(size_t(1) << bits, 0);
    }
    inline size_t place(uint64_t k) const {
        size_t at = size_t(folded(k ^ hash_seed.start, hash_seed.factor) >> (64 - bits)), mask = (size_t(1) << bits) - 1;
        while (key[at] != k && key[at] != FREE) at = (at + 1) & mask;
        return at;
    }
    int32_t fresh(double cell) {
        int32_t id = int32_t(edge.size());
        edge.push_back(cell);
        next.push_back(id);
        tally.resize(tally.size() + groups);
        return id;
    }
    // Where a cell will be found.
    void put(int32_t id) {
        double cell = edge[size_t(id)];
        if (on_grid(cell)) {
            near[size_t(cell * scale - low)] = id;
            return;
        }
        if (key.empty()) clear();
        if (2 * ++hashed >= int64_t(1) << bits) rehash();
        size_t at = place(bits_of(cell));
        key[at] = bits_of(cell);
        slot[at] = id;
    }
    void rehash() {
        bits += 2;
        hashed = 0;
        clear();
        for (size_t id = size_t(first); id < edge.size(); ++id)
            if (!on_grid(edge[id])) put(int32_t(id));
    }
    int32_t search(double x) {
        double cell = edge_of(x, e);
        if (on_grid(cell)) {
            int32_t id = near[size_t(cell * scale - low)];
            if (id != UNKNOWN) return id;
        } else if (hashed) {
            size_t at = place(bits_of(cell));
            if (key[at] != FREE) return slot[at];
        }
        int32_t id = fresh(cell);
        put(id);
        // Twice the budget may gather before the cells are coarsened, so that this happens seldom.
        if (live() > 2 * budget + (first ? 0 : spared)) coarsen();
        return id;
    }
    // The cells of this exponent in ascending order.
    std::vector<Named> sorted() const {
        std::vector<Named> cells;
        if (high > low && !hashed && int64_t(near.size()) < 16 * live()) {
            for (int32_t id : near)
                if (id != UNKNOWN && there(id)) cells.emplace_back(edge[size_t(id)], id);
            return cells;
        }
        for (size_t id = size_t(first); id < edge.size(); ++id)
            if (there(int32_t(id))) cells.emplace_back(edge[id], int32_t(id));
        if (!std::is_sorted(cells.begin(), cells.end())) sort_named(cells);
        return cells;
    }
    void coarsen() {
        std::vector<Named> old = sorted();
        std::vector<double> cells;
        cells.reserve(old.size());
        for (const Named &c : old) cells.push_back(c.first);
        e = fitting(cells, e, budget);
        first = int64_t(edge.size());
        for (const Named &c : old) {
            double cell = edge_of(c.first, e);
            next[size_t(c.second)] = live() && edge.back() == cell ? int32_t(edge.size()) - 1 : fresh(cell);
        }
        lay();
    }
    // Ends counting: edges in order, and for every identity its place among them (0 where it is no cell).
    std::vector<double> finish(std::vector<int32_t> &rank) {
        std::vector<Named> live = sorted();
        std::vector<double> cells;
        cells.reserve(live.size());
        for (const Named &c : live) cells.push_back(c.first);
        int64_t last = int64_t(cells.size()) > budget ? fitting(cells, e, budget) : e;
        rank.assign(edge.size(), 0);
        cells.clear();
        for (const Named &c : live) {
            double cell = last > e ? edge_of(c.first, last) : c.first;
            if (cells.empty() || cells.back() != cell) cells.push_back(cell);
            rank[size_t(c.second)] = int32_t(cells.size()) - 1;
        }
        e = last;
        for (size_t i = size_t(first); i--;) rank[i] = rank[size_t(next[i])];
        return cells;
    }
};

}}  // namespace bayeskit
