// A column of cells, each to be predicted without one row of it, and what families say about them.
#pragma once
#include <cmath>
#include "dispatch/bindings.h"

namespace bayeskit::search {

using Numbers = std::vector<double>;

constexpr double LEAST_ROWS = 2.5;  // rows of a group at least, in units of the one that leaves

struct Group {
    double weight = 0, mean = 0, variance = 0;
};

// A group that a row is taken from, of at most so much weight.
struct Downdated {
    double weight, mean, variance, one, least;

    Downdated(const Group &g, double heaviest)
        : weight(g.weight), mean(g.mean), variance(g.variance), one(1 / (g.weight - 1)),
          least(g.weight > LEAST_ROWS * heaviest ? 0x1p-10 * g.variance : INFINITY) {
    }  // a variance below makes digits doubtful

    // What is left without a row of value v and weight w; whether the digits can be trusted.
    bool without(double v, double w, Group &out) const {
        double left = weight - w, gone = w == 1 ? one : w / left, d = v - mean, rest = variance - d * d * gone;
        out = {left, mean - d * gone, rest * (1 + gone)};
        return rest > least;
    }
};

// All values that a column recorded in steps may have, as far again on both sides as its own values reach, and eight steps at
// least; none where its values do not lie on steps, or on more than MOST of them.
struct Lattice {
    static constexpr double MOST = 256, MARGIN = 8, NEAR = 1e-6;  // steps
    double log_step = 0;
    Numbers points, logs;  // ascending; the logarithms where there are any, else 0

    Lattice() = default;
    Lattice(const double *x, size_t cells, double step);
    Lattice positive() const;
};

// Values of cells in ascending order, and the weight of each class there; the last group is of all classes.
class Sample {
public:
    size_t classes, cells;
    const double *x;               // (cells,)
    Numbers mass;                  // (classes + 1, cells)
    std::vector<int> group, cell;  // of the entries: where a class has weight, class by class, and then the whole
    Numbers rows, one;             // of the entries: their weight, and that of the row that leaves, at most 1
    const Lattice *lattice = nullptr;  // what densities are summed over, if anything
    bool fractions = false;        // whether cells weigh less than a row; the whole then has the entries of all classes
    Numbers heaviest;              // (classes + 1) what leaves at most
    std::vector<size_t> begin;     // (classes + 2) the first entry of each group
    size_t entries;                // without those of the whole

    // Weights of class k begin at weight + k * step, those of the whole at `pooled`.
    Sample(const double *x, const double *weight, size_t step, const double *pooled, size_t classes, size_t cells);
    // Without the first cells.
    Sample from(size_t first) const {
        return Sample(x + first, mass.data() + first, cells, &mass[classes * cells + first], classes, cells - first);
    }

    double at(size_t k, size_t c) const { return mass[k * cells + c]; }
    double total(size_t k) const { return totals_[k]; }
    const double *totals() const { return totals_.data(); }
    bool ordinary() const;
    double gap() const;  // the smallest between values

    const Numbers &logs() const;                // of the values, 0 where there is none
    const std::vector<Group> &moments() const;  // of the values, by group
    const std::vector<Group> &log_moments() const;
    std::vector<Group> moments_of(const double *v) const;

private:
    Numbers totals_;
    mutable Numbers logs_;
    mutable std::vector<Group> moments_, log_moments_;
};

// log p by class at every cell when another class loses a row there (classes, cells), and at every entry when its class
// does, the whole as one included. Sums are those of all groups over the lattice, per step: (classes + 1); else 0.
struct Terms {
    Numbers others, own, sums;
    explicit Terms(const Sample &s) : others(s.classes * s.cells), own(s.group.size()), sums(s.classes + 1) {}
};

// A family as the core knows it; zeros: pseudo-rows of a point mass at zero beside it, or less than 0 for none.
struct Recipe {
    std::string name;
    double smoothing, zeros;
    bool whole;
};

inline void exponentials(Numbers &a) { kernels->exponentials(a.data(), int64_t(a.size()), a.data()); }
inline void logarithms(Numbers &a) { kernels->logarithms(a.data(), int64_t(a.size()), a.data()); }

// Sums of a density over the lattice: its logarithm by group and point.
template <class Log> void sum_over_lattice(const Sample &s, Terms &out, Log log) {
    if (!s.lattice) return;
    Numbers heights(s.lattice->points.size());
    for (size_t k = 0; k <= s.classes; ++k) {
        for (size_t i = 0; i < heights.size(); ++i) heights[i] = log(k, i) + s.lattice->log_step;
        exponentials(heights);
        out.sums[k] = 0;
        for (double height : heights) out.sums[k] += height;
    }
}

// Whether doubles do; the terms then.
bool parametric_terms(const Recipe &, const Sample &, Terms &);
bool histogram_terms(double smoothing, const Sample &, Terms &);
bool kernel_terms(const Sample &, Terms &);

}  // namespace bayeskit::search
