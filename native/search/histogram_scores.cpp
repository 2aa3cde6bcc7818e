// Histograms of the cells of a column: which cells one of equal weights joins, and what it says about cells without one row of
// theirs.
#include <algorithm>
#include "search/family_scores.h"

namespace bayeskit::search {

namespace {

// After which cells 1/parts, 2/parts, ... of the weight are reached; each once, the last cell never.
std::vector<size_t> equal_weight(const double *weight, size_t cells, int64_t parts) {
    Numbers below;
    double heaviest = *std::max_element(weight, weight + cells), sum = 0;
    for (size_t c = 0; c < cells; ++c) below.push_back(sum += weight[c] / heaviest);
    std::vector<size_t> out;
    for (int64_t i = 1; i < parts; ++i) {
        double goal = double(i) / double(parts) * sum * (1 - 1e-12);
        size_t c = size_t(std::lower_bound(below.begin(), below.end(), goal) - below.begin());
        if (c + 1 < cells && (out.empty() || out.back() < c)) out.push_back(c);
    }
    return out;
}

// 2 n^(1/3) rounded up, from 2 to 256; by cubes, as cube roots differ from machine to machine. How fractions that sum to a
// cube were rounded does not matter.
int64_t histogram_bins(double weight) {
    int64_t parts = 2;
    while (parts < 256 && double(parts * parts * parts) < 8 * weight * (1 - 1e-12)) ++parts;
    return parts;
}

}  // namespace

bool histogram_terms(double smoothing, const Sample &s, Terms &out) {
    size_t m = s.cells, groups = s.classes + 1;
    double half = s.gap() / 2, low = std::min(s.x[0] - half, std::nextafter(s.x[0], -INFINITY)), high = s.x[m - 1] + half;
    Numbers cuts = {low};
    for (size_t c : equal_weight(&s.mass[s.classes * m], m, histogram_bins(s.total(s.classes)))) {
        double middle = std::min(s.x[c] / 2 + s.x[c + 1] / 2, std::nextafter(s.x[c + 1], -INFINITY));
        double cut = std::max(middle, s.x[c]);
        if (cut > low && cut < high) cuts.push_back(cut);
    }
    cuts.push_back(high);
    size_t inner = cuts.size() - 1, parts = inner + 2;  // and two tails
    double alpha = std::isnan(smoothing) ? 1 / double(parts) : smoothing;
    if (!(alpha > 0)) return false;
    double length = (high - low) / double(inner);
    Numbers widths(parts, length), counts(groups * parts);
    for (size_t i = 0; i < inner; ++i) widths[i + 1] = cuts[i + 1] - cuts[i];
    logarithms(widths);
    std::vector<size_t> part(m);
    for (size_t c = 0, i = 0; c < m; ++c) {
        while (i < cuts.size() && cuts[i] < s.x[c]) ++i;
        part[c] = i;
        for (size_t k = 0; k < groups; ++k) counts[k * parts + i] += s.at(k, c);
    }
    Numbers others(groups * parts), own(groups * parts);
    for (size_t k = 0; k < groups; ++k)
        for (size_t i = 0; i < parts; ++i) {
            double n = counts[k * parts + i], all = s.total(k) + alpha * double(parts);
            others[k * parts + i] = (n + alpha) / all;
            own[k * parts + i] = n >= 1 ? (n - 1 + alpha) / (all - 1) : 1.0;  // what is not there cannot leave
        }
    logarithms(others), logarithms(own);
    sum_over_lattice(s, out, [&](size_t k, size_t i) -> double {
        double point = s.lattice->points[i], beyond = std::max({low - point, point - high, 0.0});
        size_t at = size_t(std::lower_bound(cuts.begin(), cuts.end(), point) - cuts.begin());
        return others[k * parts + at] - widths[at] - beyond / length;
    });
    for (size_t k = 0; k < s.classes; ++k)
        for (size_t c = 0; c < m; ++c) out.others[k * m + c] = others[k * parts + part[c]] - widths[part[c]];
    if (s.fractions) {  // what leaves differs from cell to cell
        for (size_t e = 0; e < out.own.size(); ++e) {
            size_t k = size_t(s.group[e]), i = part[s.cell[e]];
            double n = std::max(counts[k * parts + i] - s.one[e], 0.0);
            out.own[e] = (n + alpha) / (s.total(k) + alpha * double(parts) - s.one[e]);
        }
        logarithms(out.own);
        for (size_t e = 0; e < out.own.size(); ++e) out.own[e] -= widths[part[s.cell[e]]];
        return true;
    }
    for (size_t e = 0; e < out.own.size(); ++e) {
        size_t i = part[s.cell[e]];
        out.own[e] = own[s.group[e] * parts + i] - widths[i];
    }
    return true;
}

namespace {

Array<int64_t, 1> equal_weight_cuts(Input<double, 1> weights, int64_t parts) {
    require(parts >= 1 && parts <= int64_t(1) << 24, "1 to 2^24 parts");
    require_weights(weights.data(), weights.shape(0), "a weight is negative or not finite");
    std::vector<size_t> found;
    if (weights.shape(0)) found = equal_weight(weights.data(), weights.shape(0), parts);
    Owned<int64_t, 1> out({found.size()});
    std::copy(found.begin(), found.end(), out.data);
    return out.array;
}

const Binding binding([](nb::module_ &m) {
    m.def("equal_weight_cuts", &equal_weight_cuts, "weights"_a.noconvert(), "parts"_a,
          "After which cells 1/parts, 2/parts, ... of the weight are reached.");
    m.def("histogram_bins", &histogram_bins, "weight"_a, "How many cells of equal weight suit so many rows.");
});

}  // namespace

}  // namespace bayeskit::search
