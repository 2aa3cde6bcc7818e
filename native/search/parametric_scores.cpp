// What parametric families say about the cells of a column, each without one row of the cell: for the choice among
// families. Doubles only: where they might not do (floors, classes of few rows) the answer is that there is none.
#include "search/family_scores.h"

namespace bayeskit::search {

namespace {

constexpr double SAFE = 0x1p-18;    // share of the whole variance from which on no floor comes near
constexpr double LEAST_GAP = 1e-6;  // log of the mean minus mean of the logs: the shape keeps ten digits

bool varied(const Sample &s, const std::vector<Group> &g) {
    for (size_t k = 0; k < g.size(); ++k)
        if (!(g[k].weight > LEAST_ROWS * s.heaviest[k] && g[k].variance >= SAFE * g.back().variance)) return false;
    return g.back().variance > 0;
}

bool normal(const Sample &s, const std::vector<Group> &g, const double *v, const double *minus, Terms &out) {
    if (!varied(s, g)) return false;
    sum_over_lattice(s, out, [&](size_t k, size_t i) -> double {
        double point = s.lattice->points[i], log = s.lattice->logs[i], d = (minus ? log : point) - g[k].mean;
        if (minus && !(point > 0)) return -INFINITY;
        return -0.5 * std::log(g[k].variance) - LOG_ROOT_2PI - d * d / (2 * g[k].variance) - (minus ? log : 0.0);
    });
    for (size_t k = 0; k < s.classes; ++k) {
        double constant = -0.5 * std::log(g[k].variance) - LOG_ROOT_2PI, half = 0.5 / g[k].variance;
        for (size_t c = 0; c < s.cells; ++c) {
            double d = v[c] - g[k].mean;
            out.others[k * s.cells + c] = constant - d * d * half - (minus ? minus[c] : 0.0);
        }
    }
    Numbers logs(out.own.size());
    bool good = true;
    for (size_t k = 0; k <= s.classes; ++k) {
        Downdated group(g[k], s.heaviest[k]);
        for (size_t e = s.begin[k]; e < s.begin[k + 1]; ++e) {
            Group left;
            double value = v[s.cell[e]];
            good &= group.without(value, s.one[e], left);
            double d = value - left.mean;
            logs[e] = left.variance;
            out.own[e] = -d * d / (2 * left.variance) - LOG_ROOT_2PI - (minus ? minus[s.cell[e]] : 0.0);
        }
    }
    if (!good) return false;
    logarithms(logs);
    for (size_t e = 0; e < logs.size(); ++e) out.own[e] -= 0.5 * logs[e];
    return true;
}

// Families of the class mean with alpha pseudo-rows at the mean of the whole, which moves with every row. The density is
// asked with the cell, the mean, its logarithm and the class.
template <class Density> bool of_mean(const Sample &s, double alpha, Terms &out, Density density) {
    const std::vector<Group> &g = s.moments();
    if (s.fractions || !varied(s, g) || !(g.back().mean > 0)) return false;  // the whole moves by what leaves
    for (const Group &k : g)
        if (!(k.mean > 1e-6 * g.back().mean)) return false;
    Numbers whole(s.cells), mean(out.others.size());
    std::vector<Group> left(out.own.size());
    Downdated everyone(g.back(), 1);
    for (size_t c = 0; c < s.cells; ++c) {
        Group all;
        everyone.without(s.x[c], 1, all);
        whole[c] = alpha * all.mean;
    }
    for (size_t k = 0; k < s.classes; ++k)
        for (size_t c = 0; c < s.cells; ++c)
            mean[k * s.cells + c] = (g[k].weight * g[k].mean + whole[c]) / (g[k].weight + alpha);
    Numbers logs = mean;
    logarithms(logs);
    for (size_t k = 0, i = 0; k < s.classes; ++k)
        for (size_t c = 0; c < s.cells; ++c, ++i) out.others[i] = density(c, mean[i], logs[i], g[k]);
    mean.resize(left.size());
    bool good = true;
    for (size_t k = 0; k <= s.classes; ++k) {
        Downdated group(g[k], s.heaviest[k]);
        for (size_t e = s.begin[k]; e < s.begin[k + 1]; ++e) {
            good &= group.without(s.x[s.cell[e]], 1, left[e]);
            mean[e] = (left[e].weight * left[e].mean + whole[s.cell[e]]) / (left[e].weight + alpha);
        }
    }
    if (!good) return false;
    logs = mean;
    logarithms(logs);
    for (size_t e = 0; e < left.size(); ++e) out.own[e] = density(s.cell[e], mean[e], logs[e], left[e]);
    return true;
}

// e^r - 1 - r, given e^r: by its series where that would cancel.
inline double below_peak(double r, double exponential) {
    constexpr double TERMS[] = {1.0 / 2,     1.0 / 6,      1.0 / 24,      1.0 / 120,      1.0 / 720,      1.0 / 5040,
                                1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600};
    double sum = 0;
    for (int n = 10; n >= 0; --n) sum = sum * r + TERMS[n];
    return std::fabs(r) < 0.25 ? sum * r * r : exponential - 1 - r;
}

bool gamma_terms(const Sample &s, Terms &out) {
    const std::vector<Group> &g = s.moments(), &l = s.log_moments();
    const Numbers &logs = s.logs();
    if (!varied(s, g) || !varied(s, l)) return false;
    Numbers shape, gaps, level(g.size());
    for (size_t k = 0; k < g.size(); ++k) {
        double gap = std::log(g[k].mean) - l[k].mean;
        if (!(gap > LEAST_GAP)) return false;
        gaps.push_back(gap);
        shape.push_back((3 - gap + std::sqrt((gap - 3) * (gap - 3) + 24 * gap)) / (12 * gap));
    }
    kernels->gamma_shapes(gaps.data(), int64_t(gaps.size()), shape.data(), level.data());
    sum_over_lattice(s, out, [&](size_t k, size_t i) -> double {
        double point = s.lattice->points[i], log = s.lattice->logs[i];
        if (!(point > 0)) return -INFINITY;
        return level[k] - shape[k] * below_peak(log - std::log(g[k].mean), point / g[k].mean) - log;
    });
    for (size_t k = 0; k < s.classes; ++k) {
        double log_mean = std::log(g[k].mean);
        for (size_t c = 0; c < s.cells; ++c) {
            double away = below_peak(logs[c] - log_mean, s.x[c] / g[k].mean);
            out.others[k * s.cells + c] = level[k] - shape[k] * away - logs[c];
        }
    }
    size_t n = out.own.size();
    Numbers mean(n), own(n), by(n), base(n);
    bool good = true;
    for (size_t k = 0; k < g.size(); ++k) {
        Downdated group(g[k], s.heaviest[k]), in_logs(l[k], s.heaviest[k]);
        for (size_t e = s.begin[k]; e < s.begin[k + 1]; ++e) {
            Group left;
            good &= group.without(s.x[s.cell[e]], s.one[e], left);
            mean[e] = left.mean;
            in_logs.without(logs[s.cell[e]], s.one[e], left);
            own[e] = -left.mean;
            by[e] = shape[k];
        }
    }
    if (!good) return false;
    Numbers log_mean = mean;
    logarithms(log_mean);
    for (size_t e = 0; e < n; ++e) good &= (own[e] += log_mean[e]) > LEAST_GAP;
    if (!good) return false;
    kernels->gamma_shapes(own.data(), int64_t(n), by.data(), base.data());
    for (size_t e = 0; e < n; ++e) {
        double log = logs[s.cell[e]];
        out.own[e] = base[e] - by[e] * below_peak(log - log_mean[e], s.x[s.cell[e]] / mean[e]) - log;
    }
    return true;
}

// log Gamma(k), by its series from 10 on.
inline double log_gamma(double k) {
    double less = 1;
    for (; k < 10; ++k) less *= k;
    double i = 1 / (k * k);
    double series = (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - 1.0 / 1188 * i) * i) * i) * i) / k;
    return (k - 0.5) * std::log(k) - k + LOG_ROOT_2PI + series - std::log(less);
}

// log of Gamma(x + r) / Gamma(r)
inline double log_rising(double r, double x) {
    if (r < 1e4) return log_gamma(x + r) - log_gamma(r);
    return (r - 0.5) * std::log1p(x / r) + x * std::log(r + x) - x + (1 / (r + x) - 1 / r) / 12;
}

}  // namespace

bool parametric_terms(const Recipe &family, const Sample &s, Terms &out) {
    if (family.name == "Gaussian") return normal(s, s.moments(), s.x, nullptr, out);
    bool of_logs = family.name == "LogNormal" || family.name == "Gamma";
    if (of_logs ? !(s.x[0] > 0) : !(s.x[0] >= 0)) return false;  // no value of the family
    if (family.name == "LogNormal") return normal(s, s.log_moments(), s.logs().data(), s.logs().data(), out);
    if (family.name == "Gamma") return gamma_terms(s, out);
    if (family.name == "Exponential") {
        const std::vector<Group> &g = s.moments();
        sum_over_lattice(s, out, [&](size_t k, size_t i) -> double {
            double mean = (g[k].weight * g[k].mean + family.smoothing * g.back().mean) / (g[k].weight + family.smoothing);
            double point = s.lattice->points[i];
            return point >= 0 ? -std::log(mean) - point / mean : -INFINITY;
        });
        return of_mean(s, family.smoothing, out,
                       [&](size_t c, double mean, double log, const Group &) { return -log - s.x[c] / mean; });
    }
    Numbers factorial;
    for (size_t c = 0; c < s.cells; ++c) factorial.push_back(log_gamma(s.x[c] + 1));
    auto poisson = [&](size_t c, double mean, double log) { return s.x[c] * log - mean - factorial[c]; };
    if (family.name == "Poisson")
        return of_mean(s, family.smoothing, out,
                       [&](size_t c, double mean, double log, const Group &) { return poisson(c, mean, log); });
    require(family.name == "NegativeBinomial", "no such family here");
    return of_mean(s, family.smoothing, out, [&](size_t c, double mean, double log, const Group &now) {
        double excess = now.variance / (now.mean * now.mean) - 1 / now.mean;
        if (!(excess > 0)) return poisson(c, mean, log);
        double r = 1 / excess;
        return log_rising(r, s.x[c]) - factorial[c] - r * std::log1p(mean / r) + s.x[c] * std::log(mean / (r + mean));
    });
}

}  // namespace bayeskit::search
