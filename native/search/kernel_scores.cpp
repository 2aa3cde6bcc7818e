// Kernels on the cells of a column: how wide they are, and what they say about cells without one row of theirs.
#include <algorithm>
#include "search/family_scores.h"

namespace bayeskit::search {

namespace {

constexpr double SILVERMAN = 0.9;
constexpr double QUARTILES = 1.349;  // of a normal column: distance between them in deviations
constexpr double FLOOR = 1e-9;       // of the column's whole variance, as for normal densities

// Weight, deviation and quartiles of weighted centres. Weights are read as shares of the heaviest and distances as shares
// of the largest, so that nothing leaves the range of a double.
struct Spread {
    double weight = 0, deviation = 0, quartiles = 0, median = 0;

    // Of centres that have weight, ascending.
    Spread(const Numbers &at, const Numbers &weights) {
        double top = 0, total = 0, mean = 0, largest = 0, square = 0;
        size_t n = at.size();
        if (!n) return;
        for (double w : weights) top = std::max(top, w), weight += w;
        Numbers share(n), below(n);
        for (size_t i = 0; i < n; ++i) share[i] = weights[i] / top;
        for (size_t i = 0; i < n; ++i) mean += share[i] * at[i], below[i] = total += share[i];
        mean /= total;
        largest = std::max(std::fabs(at[0] - mean), std::fabs(at[n - 1] - mean));
        for (size_t i = 0; i < n && largest > 0; ++i) {
            double away = (at[i] - mean) / largest;
            square += share[i] * away * away;
        }
        // The centre at which a share of the weight is reached, halfway to the next where it is reached exactly.
        auto quantile = [&](double q) {
            double goal = q * total;
            size_t i = size_t(std::lower_bound(below.begin(), below.end(), goal) - below.begin());
            bool between = i + 1 < n && below[i] == goal;
            return between ? at[i] / 2 + at[i + 1] / 2 : at[std::min(i, n - 1)];
        };
        // a group of one cell is constant, whatever its mean was rounded to
        deviation = n > 1 ? std::sqrt(square / total) * largest : 0.0;
        quartiles = quantile(0.75) - quantile(0.25);
        median = quantile(0.5);
    }

    // The smaller of deviation and quartile distance / 1.349; the deviation where the quartiles meet.
    double scale() const {
        double robust = quartiles / QUARTILES;
        return robust > 0 ? std::min(robust, deviation) : deviation;
    }
};

// factor A n^(-1/5) of each group, the last of which is the whole. A constant group takes
// A^2 = max(P / (n + 1), 1e-9 T), P the pooled within-group variance and T that of the whole. At least `least`.
Numbers bandwidths(const std::vector<Spread> &groups, double factor, double least) {
    const Spread &whole = groups.back();
    double heaviest = 5e-324, inside = 0, mass = 0;
    for (size_t g = 0; g + 1 < groups.size(); ++g) heaviest = std::max(heaviest, groups[g].weight);
    for (size_t g = 0; g + 1 < groups.size(); ++g) {
        double heavy = groups[g].weight / heaviest, share = groups[g].deviation / whole.deviation;
        inside += heavy * (share * share), mass += heavy;
    }
    inside /= std::max(mass, 1e-300);
    Numbers out;
    for (size_t g = 0; g < groups.size(); ++g) {
        double scale = groups[g].scale();
        if (!(scale > 0) && g + 1 < groups.size())
            scale = whole.deviation * std::sqrt(std::max(inside / (groups[g].weight + 1), FLOOR));
        out.push_back(std::max(factor * scale * std::pow(std::max(groups[g].weight, 1.0), -0.2), least));
    }
    return out;
}

constexpr double DIM = 1e-4, FAINT = 1e-7;  // of the weight around, of the whole: a fast sum below has too few digits
constexpr double OUTWEIGHED = 1e-4;            // of a class: where all together are above, its fast sum will do
constexpr double DEPTH = 40;                // kernels below e^-DEPTH of the highest are left out

// Kernels on centres with weight, and their sum where fast sums do not do.
struct KernelSum {
    Numbers centre, weight, log_weight;
    double precision, heaviest = 0;

    // log of the sum over centres of weight exp(-z^2 / 2) at a place, with `rest` instead of the weight it may have
    // itself; -inf for none. From the nearest centres outward, until what is left cannot count.
    double log_sum(double place, double rest) {
        if (log_weight.empty()) log_weight = weight, logarithms(log_weight);
        Numbers heights;
        double best = -INFINITY, heaviest_log = std::log(heaviest), sum = 0;
        auto counts = [&](size_t k) {
            double z = (centre[k] - place) * precision, fall = z * z / 2;
            if (heaviest_log - fall < best - DEPTH) return false;
            bool mine = centre[k] == place;
            if (!mine || rest > 0) {
                heights.push_back((mine ? std::log(rest) : log_weight[k]) - fall);
                best = std::max(best, heights.back());
            }
            return true;
        };
        size_t middle = size_t(std::lower_bound(centre.begin(), centre.end(), place) - centre.begin());
        for (size_t k = middle; k < centre.size() && counts(k); ++k) {}
        for (size_t k = middle; k > 0 && counts(k - 1); --k) {}
        if (best == -INFINITY) return best;
        for (double &h : heights) h -= best;
        exponentials(heights);
        for (double h : heights) sum += h;
        return best + std::log(sum);
    }
};

// Cells of one power of two apart, as those of a coarse grid are; their places on it.
struct EvenGrid {
    static constexpr double LONGEST = 1 << 14, CLOSEST = 24;  // steps in all, and to a bandwidth: beyond, series are faster
    static constexpr double REACH = 9;                        // bandwidths: what lies beyond is below 3e-18 of its weight
    double step;
    std::vector<size_t> place;
    std::vector<std::pair<size_t, size_t>> runs;  // of blocks that have cells: the first place, and how many

    explicit EvenGrid(const Sample &s) : step(s.gap()) {
        int exponent;
        double length = (s.x[s.cells - 1] - s.x[0]) / step;
        if (std::frexp(step, &exponent) != 0.5 || !(length < LONGEST)) return;
        for (size_t c = 0; c < s.cells; ++c) {
            double at = (s.x[c] - s.x[0]) / step;
            if (at != std::floor(at)) {
                place.clear();
                return;
            }
            place.push_back(size_t(at));
            size_t begin = place.back() / size_t(EVEN_BLOCK) * size_t(EVEN_BLOCK);
            if (runs.empty() || begin > runs.back().first + runs.back().second) runs.emplace_back(begin, EVEN_BLOCK);
            else runs.back().second = begin + size_t(EVEN_BLOCK) - runs.back().first;
        }
    }

    // Sums of kernels at all cells; whether the grid is even and the kernels narrow enough.
    bool sums(const double *weight, double bandwidth, Numbers &out) const {
        double close = bandwidth / step;
        if (place.empty() || !(close <= CLOSEST)) return false;
        size_t run = size_t(EVEN_RUN), reach = (size_t(REACH * close) + run) / run * run, n = place.back() + 1;
        Numbers height, dense(n + 2 * (reach + EVEN_BLOCK)), found(n + EVEN_BLOCK);
        for (size_t j = 0; j <= reach; ++j) height.push_back(-0.5 * (double(j) / close) * (double(j) / close));
        exponentials(height);
        double *first = dense.data() + reach;
        for (size_t c = 0; c < place.size(); ++c) first[place[c]] = weight[c];
        for (auto [at, count] : runs)
            kernels->grid_gauss_sums(first + at, int64_t(count), height.data(), int64_t(reach), found.data() + at);
        for (size_t c = 0; c < place.size(); ++c) out[c] = found[place[c]];
        return true;
    }
};

}  // namespace

// Sums of all kernels of each group over the lattice, of which every centre is a point.
static void sum_kernels(const Sample &s, const Numbers &bandwidth, Terms &out) {
    if (!s.lattice) return;
    const Numbers &points = s.lattice->points;
    double step = std::exp(s.lattice->log_step);
    for (size_t k = 0; k <= s.classes; ++k) {
        Numbers beside(points.size());  // sums of heights at so many points on one side
        for (size_t i = 1; i < beside.size(); ++i)
            beside[i] = -0.5 * (double(i) * step / bandwidth[k]) * (double(i) * step / bandwidth[k]);
        exponentials(beside);
        beside[0] = 0;
        for (size_t i = 1; i < beside.size(); ++i) beside[i] += beside[i - 1];
        double sum = 0;
        for (size_t c = 0; c < s.cells; ++c) {
            size_t before = size_t(std::llround((s.x[c] - points[0]) / step));
            sum += s.at(k, c) * (1 + beside[before] + beside[points.size() - 1 - before]);
        }
        out.sums[k] = sum / s.total(k) * step / bandwidth[k] * std::exp(-LOG_ROOT_2PI);
    }
}

// Distances from the median, in a unit that makes the largest value about 1: exact enough however far from 0 a column lies.
bool kernel_terms(const Sample &s, Terms &out) {
    size_t m = s.cells;
    for (size_t k = 0; k <= s.classes; ++k)
        if (!(s.total(k) > 0)) return false;
    int size;
    std::frexp(std::max(std::fabs(s.x[0]), std::fabs(s.x[m - 1])), &size);
    double unit = std::ldexp(1.0, -size), shift = -size * 0.69314718055994530942;
    std::vector<Spread> spreads;
    std::vector<KernelSum> kernel_sums(s.classes + 1);
    for (size_t k = 0; k <= s.classes; ++k) {
        size_t n = 0;
        kernel_sums[k].centre.resize(m), kernel_sums[k].weight.resize(m);
        for (size_t c = 0; c < m; ++c) {
            kernel_sums[k].centre[n] = s.x[c] * unit;
            kernel_sums[k].weight[n] = s.at(k, c);
            n += s.at(k, c) > 0;
        }
        kernel_sums[k].centre.resize(n), kernel_sums[k].weight.resize(n);
        spreads.emplace_back(kernel_sums[k].centre, kernel_sums[k].weight);
    }
    Numbers width = bandwidths(spreads, SILVERMAN, std::max(s.gap() * unit / 2, 0x1p-1000)), at;
    Numbers bandwidth = width;
    for (double &h : bandwidth) h /= unit;
    sum_kernels(s, bandwidth, out);
    double base = spreads.back().median;
    for (size_t c = 0; c < m; ++c) at.push_back(s.x[c] * unit - base);
    EvenGrid grid(s);
    std::vector<Numbers> fast(s.classes + 1, Numbers(m)), around(s.classes + 1, Numbers(m));
    Numbers height(m);  // of all classes together without a row of each, but for a constant
    for (size_t k = 0; k <= s.classes; ++k) {
        KernelSum &made = kernel_sums[k];
        made.precision = 1 / width[k];
        for (double &c : made.centre) c -= base;
        made.heaviest = *std::max_element(made.weight.begin(), made.weight.end());
        if (!grid.sums(&s.mass[k * m], width[k] / unit, fast[k]))  // there all terms count, and nothing is around
            check(kernels->fast_gauss_transform(made.centre.data(), made.weight.data(), int64_t(made.centre.size()),
                                                made.precision, at.data(), int64_t(m), fast[k].data(), around[k].data()));
        for (size_t c = 0; c < m && k < s.classes; ++c)
            height[c] += std::max(fast[k][c] - double(s.at(k, c) > 0), 0.0) * made.precision;
    }
    for (size_t k = 0; k <= s.classes; ++k) {
        const double *w = &s.mass[k * m];
        KernelSum &made = kernel_sums[k];
        Numbers &sums = fast[k];
        const Numbers &near = around[k];
        double total = s.total(k);
        double constant = std::log(made.precision) - LOG_ROOT_2PI + shift, whole = std::log(total);
        auto least = [&](size_t c) { return std::max(DIM * near[c], FAINT * total); };
        // What is faint beside the other classes counts for no digit of all of them together.
        auto outweighed = [&](size_t c) {
            return k < s.classes && height[c] >= made.precision * std::max(0.1 * near[c], OUTWEIGHED * total);
        };
        for (size_t c = 0; c < m; ++c)
            if (sums[c] < least(c)) sums[c] = outweighed(c) ? std::max(sums[c], 1e-290) : -1;
        size_t first = s.begin[k];
        Numbers own(s.begin[k + 1] - first);
        for (size_t i = 0; i < own.size(); ++i) {
            size_t c = size_t(s.cell[first + i]);
            double left = sums[c] - s.one[first + i];
            own[i] = left < std::max(least(c), DIM * sums[c]) ? -1 : left;
        }
        auto logs = [&](const Numbers &from, double *to, auto by, auto anew) {
            size_t odd = 0;
            for (size_t i = 0; i < from.size(); ++i) to[i] = from[i] > 0 ? from[i] : 1.0, odd += !(from[i] > 0);
            kernels->logarithms(to, int64_t(from.size()), to);
            for (size_t i = 0; odd; ++i)
                if (!(from[i] > 0)) to[i] = anew(i), --odd;
            for (size_t i = 0; i < from.size(); ++i) to[i] = to[i] - by(i) + constant;
        };
        if (k < s.classes)
            logs(sums, &out.others[k * m], [&](size_t) { return whole; }, [&](size_t c) { return made.log_sum(at[c], w[c]); });
        auto anew = [&](size_t i) {
            size_t c = size_t(s.cell[first + i]);
            return made.log_sum(at[c], w[c] - s.one[first + i]);
        };
        Numbers rest(s.fractions ? own.size() : 1);
        for (size_t i = 0; i < rest.size(); ++i) rest[i] = std::max(total - s.one[first + i], 1e-300);
        logarithms(rest);
        if (s.fractions) logs(own, &out.own[first], [&](size_t i) { return rest[i]; }, anew);
        else logs(own, &out.own[first], [&](size_t) { return rest[0]; }, anew);
    }
    return true;
}

namespace {

Array<double, 1> bandwidths_of_groups(Input<double, 1> centres, Input<double, 2> weights, double factor, double least) {
    size_t groups = weights.shape(0), cells = weights.shape(1);
    require(centres.shape(0) == cells && groups > 0, "one weight for each group and centre");
    require_ascending(centres.data(), cells, true, "centres must ascend");
    require_weights(weights.data(), groups * cells, "a weight is negative or not finite");
    std::vector<Spread> spreads;
    for (size_t g = 0; g < groups; ++g) {
        Numbers at, share;
        for (size_t c = 0; c < cells; ++c) {
            double w = weights.data()[g * cells + c];
            if (w > 0) at.push_back(centres.data()[c]), share.push_back(w);
        }
        spreads.emplace_back(at, share);
    }
    Numbers found = bandwidths(spreads, factor, least);
    Owned<double, 1> out({groups});
    std::copy(found.begin(), found.end(), out.data);
    return out.array;
}

const Binding binding([](nb::module_ &m) {
    m.def("bandwidths", &bandwidths_of_groups, "centres"_a.noconvert(), "weights"_a.noconvert(), "factor"_a, "least"_a,
          "factor A n^(-1/5) of each group of weighted centres, the last of which is the whole.");
});

}  // namespace

}  // namespace bayeskit::search
