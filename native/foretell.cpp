// What families say about the cells of a column, each without one row of the cell: for the choice among families.
// Doubles only: where they might not do (floors, classes of few rows) the answer is that there is none.
#include <cmath>
#include "bindings.h"

namespace {

constexpr double SAFE = 0x1p-18;       // share of the whole variance from which on no floor comes near
constexpr double LEAST_LEFT = 0x1p-10; // of a variance: less makes digits doubtful
constexpr double LEAST_GAP = 1e-6;     // log of the mean minus mean of the logs: the shape keeps ten digits

struct Group {
    double weight = 0, mean = 0, variance = 0;

    // Without one row of value v; whether the digits can be trusted.
    bool without(double v, Group &out) const {
        double left = weight - 1, gone = 1 / left, d = v - mean;
        out = {left, mean - d * gone, (variance - d * d * gone) * (1 + gone)};
        return weight > 2.5 && variance - d * d * gone > LEAST_LEFT * variance;
    }
};

// A column: values and weights by class and of the whole, the last group.
struct Sample {
    const double *x;
    const double *weight;
    size_t classes, cells;
    std::vector<double> pooled;

    double at(size_t k, size_t c) const { return k < classes ? weight[k * cells + c] : pooled[c]; }

    std::vector<Group> moments(const double *v) const {
        std::vector<Group> out(classes + 1);
        for (size_t k = 0; k <= classes; ++k) {
            Group &g = out[k];
            double first = v[0], sum = 0, square = 0;
            for (size_t c = 0; c < cells; ++c) g.weight += at(k, c), sum += at(k, c) * (v[c] - first);
            g.mean = first + sum / g.weight;
            for (size_t c = 0; c < cells; ++c) square += at(k, c) * (v[c] - g.mean) * (v[c] - g.mean);
            g.variance = square / g.weight;
        }
        return out;
    }
};

// Terms by class of a class that another loses a row from (others) or that loses it itself (own), of the whole (pooled).
struct Terms {
    double *others, *own, *pooled;
};

bool varied(const std::vector<Group> &g) {
    for (const Group &k : g)
        if (!(k.weight > 2.5 && k.variance >= SAFE * g.back().variance)) return false;
    return g.back().variance > 0;
}

// log Gamma(k) and log k - digamma(k), trigamma(k), by their series from 10 on.
inline double log_gamma(double k) {
    double less = 1;
    for (; k < 10; ++k) less *= k;
    double i = 1 / (k * k);
    double series = (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - 1.0 / 1188 * i) * i) * i) * i) / k;
    return (k - 0.5) * std::log(k) - k + LOG_ROOT_2PI + series - std::log(less);
}

inline void log_minus_digamma(double k, double &value, double &slope) {
    double start = k, sum = 0, squares = 0;
    for (; k < 10; ++k) sum += 1 / k, squares += 1 / (k * k);
    double i = 1 / (k * k);
    double rest = (1.0 / 12 - (1.0 / 120 - (1.0 / 252 - (1.0 / 240 - (1.0 / 132 - 691.0 / 32760 * i) * i) * i) * i) * i) * i;
    double tri = 1 / k + i / 2 + (1.0 / 6 - (1.0 / 30 - (1.0 / 42 - (1.0 / 30 - 5.0 / 66 * i) * i) * i) * i) * i / k;
    value = (start == k ? 0.0 : std::log(start / k)) + 0.5 / k + rest + sum;
    slope = 1 / start - (tri + squares);
}

// The shape k with log k - digamma(k) = gap, by Newton in 1/k from a start.
inline double gamma_shape(double gap, double k) {
    for (int i = 0; i < 30; ++i) {
        double value, slope;
        log_minus_digamma(k, value, slope);
        double step = (value - gap) / (slope * k);
        k = k / (1 + step);
        if (std::fabs(step) < 1e-7) break;  // the next step would be its square
    }
    return k;
}

// log of Gamma(x + r) / Gamma(r)
inline double log_rising(double r, double x) {
    if (r < 1e4) return log_gamma(x + r) - log_gamma(r);
    return (r - 0.5) * std::log1p(x / r) + x * std::log(r + x) - x + (1 / (r + x) - 1 / r) / 12;
}

template <class Term> bool each(const Sample &s, const std::vector<Group> &g, const double *v, Terms out, Term term) {
    for (size_t k = 0; k <= s.classes; ++k)
        for (size_t c = 0; c < s.cells; ++c) {
            if (k < s.classes) out.others[k * s.cells + c] = term(k, c, g[k], false);
            if (!(s.at(k, c) > 0)) continue;
            Group left;
            if (!g[k].without(v[c], left)) return false;
            (k < s.classes ? out.own[k * s.cells + c] : out.pooled[c]) = term(k, c, left, true);
        }
    return true;
}

bool normal(const Sample &s, const double *v, const double *minus, Terms out) {
    std::vector<Group> g = s.moments(v);
    if (!varied(g)) return false;
    std::vector<double> constant;
    for (const Group &k : g) constant.push_back(-0.5 * std::log(k.variance) - LOG_ROOT_2PI);
    return each(s, g, v, out, [&](size_t k, size_t c, const Group &now, bool own) {
        double d = v[c] - now.mean, level = own ? -0.5 * std::log(now.variance) - LOG_ROOT_2PI : constant[k];
        return level - d * d / (2 * now.variance) - (minus ? minus[c] : 0.0);
    });
}

// Families of the class mean with alpha pseudo-rows at the mean of the whole, which moves with every row.
template <class Density> bool of_mean(const Sample &s, double alpha, Terms out, Density density) {
    std::vector<Group> g = s.moments(s.x);
    if (!varied(g) || !(g.back().mean > 0)) return false;
    for (const Group &k : g)
        if (!(k.mean > 1e-6 * g.back().mean)) return false;
    return each(s, g, s.x, out, [&](size_t, size_t c, const Group &now, bool own) {
        Group all;
        g.back().without(s.x[c], all);
        double mean = (now.weight * now.mean + alpha * all.mean) / (now.weight + alpha);
        return density(c, mean, now, own);
    });
}

bool gamma_terms(const Sample &s, const double *logs, Terms out) {
    std::vector<Group> g = s.moments(s.x), l = s.moments(logs);
    if (!varied(g) || !varied(l)) return false;
    std::vector<double> shape, constant;
    auto level = [](double k) { return k * std::log(k) - k - log_gamma(k); };
    for (size_t k = 0; k < g.size(); ++k) {
        double gap = std::log(g[k].mean) - l[k].mean;
        if (!(gap > LEAST_GAP)) return false;
        double start = (3 - gap + std::sqrt((gap - 3) * (gap - 3) + 24 * gap)) / (12 * gap);
        shape.push_back(gamma_shape(gap, start));
        constant.push_back(level(shape.back()));
    }
    bool sure = true;
    bool fine = each(s, g, s.x, out, [&](size_t k, size_t c, const Group &now, bool own) {
        double by = shape[k], base = constant[k], ratio = logs[c] - std::log(now.mean);
        if (own) {
            Group left;
            l[k].without(logs[c], left);
            double gap = std::log(now.mean) - left.mean;
            sure &= gap > LEAST_GAP;
            if (!sure) return 0.0;
            by = gamma_shape(gap, by);
            base = level(by);
        }
        return base + by * (ratio - std::expm1(ratio)) - logs[c];
    });
    return fine && sure;
}

bool fill(const std::string &family, const Sample &s, double alpha, Terms out) {
    std::vector<double> logs;
    for (size_t c = 0; c < s.cells; ++c) logs.push_back(s.x[c] > 0 ? std::log(s.x[c]) : 0.0);
    if (family == "Gaussian") return normal(s, s.x, nullptr, out);
    if (family == "LogNormal") return normal(s, logs.data(), logs.data(), out);
    if (family == "Gamma") return gamma_terms(s, logs.data(), out);
    if (family == "Exponential")
        return of_mean(s, alpha, out, [&](size_t c, double mean, const Group &, bool) {
            return -std::log(mean) - s.x[c] / mean;
        });
    std::vector<double> factorial;
    for (size_t c = 0; c < s.cells; ++c) factorial.push_back(log_gamma(s.x[c] + 1));
    auto poisson = [&](size_t c, double mean) { return s.x[c] * std::log(mean) - mean - factorial[c]; };
    if (family == "Poisson")
        return of_mean(s, alpha, out, [&](size_t c, double mean, const Group &, bool) { return poisson(c, mean); });
    require(family == "NegativeBinomial", "no such family here");
    return of_mean(s, alpha, out, [&](size_t c, double mean, const Group &now, bool) {
        double excess = now.variance / (now.mean * now.mean) - 1 / now.mean;
        if (!(excess > 0)) return poisson(c, mean);
        double r = 1 / excess;
        return log_rising(r, s.x[c]) - factorial[c] - r * std::log1p(mean / r) + s.x[c] * std::log(mean / (r + mean));
    });
}

using Answer = std::optional<std::tuple<Array<double, 2>, Array<double, 2>, Array<double, 1>>>;

Answer foretell(const std::string &family, Input<double, 1> x, Input<double, 2> weights, double alpha) {
    size_t classes = weights.shape(0), cells = weights.shape(1);
    require(x.shape(0) == cells && cells > 0 && classes > 0, "one weight for each class and cell");
    Owned<double, 2> others({classes, cells}), own({classes, cells});
    Owned<double, 1> pooled({cells});
    Sample s = {x.data(), weights.data(), classes, cells, std::vector<double>(cells)};
    for (size_t k = 0; k < classes; ++k)
        for (size_t c = 0; c < cells; ++c) s.pooled[c] += weights.data()[k * cells + c];
    bool sure;
    {
        nb::gil_scoped_release free;
        sure = fill(family, s, alpha, {others.data, own.data, pooled.data});
    }
    if (!sure) return std::nullopt;
    return Answer({others.array, own.array, pooled.array});
}

// Scores with one density for all classes and with one for each: the sum of weight times max(worst, log p), and the
// largest log p. That of a class is p = (n' f' + F') / (n' + 1): f' without a row of the cell, F' that of all classes by
// their weights. `more` is added to the logarithms of each cell.
using Scores = std::pair<std::pair<double, double>, std::pair<double, double>>;

Scores foretold_scores(Input<double, 2> others, Input<double, 2> own, Input<double, 1> pooled, Input<double, 2> weights,
                       Input<double, 1> more, double worst) {
    size_t classes = weights.shape(0), cells = weights.shape(1);
    for (auto *a : {&others, &own}) require(a->shape(0) == classes && a->shape(1) == cells, "shapes differ");
    require(pooled.shape(0) == cells && more.shape(0) == cells, "shapes differ");
    nb::gil_scoped_release free;
    const double *w = weights.data(), *f = others.data(), *g = own.data();
    std::vector<double> n(classes), part(classes);
    double total = 0, score = 0, largest = -INFINITY, shared = 0, most = -INFINITY;
    for (size_t k = 0; k < classes; ++k) {
        for (size_t c = 0; c < cells; ++c) n[k] += w[k * cells + c];
        total += n[k];
    }
    for (size_t c = 0; c < cells; ++c) {
        double top = -INFINITY, sum = 0, mass = 0, extra = more.data()[c];
        for (size_t k = 0; k < classes; ++k) top = std::max(top, f[k * cells + c]);
        for (size_t k = 0; k < classes; ++k) {
            mass += w[k * cells + c];
            sum += part[k] = top > -INFINITY ? n[k] * std::exp(f[k * cells + c] - top) : 0.0;
        }
        double all_one = pooled.data()[c] + extra;
        shared += mass * std::max(all_one, worst);
        most = std::max(most, all_one);
        for (size_t k = 0; k < classes; ++k) {
            size_t at = k * cells + c;
            if (!(w[at] > 0)) continue;
            double left = n[k] - 1, rest = 0, level = std::max(top, g[at]);
            if (part[k] < 0.5 * sum)
                rest = sum - part[k];
            else
                for (size_t j = 0; j < classes; ++j) rest += j == k ? 0.0 : part[j];
            double mine = left * std::exp(g[at] - level), all = mine + (level > top ? rest * std::exp(top - level) : rest);
            double p = mine + all / (total - 1);
            double value;
            if (p > 1e-280) {
                value = std::log(p / (left + 1)) + level;
            } else {  // all of it lies far below the highest: from the logarithms themselves
                double high = g[at] + std::log(left);
                for (size_t j = 0; j < classes; ++j)
                    if (j != k && n[j] > 0) high = std::max(high, f[j * cells + c] + std::log(n[j]) - std::log(total - 1));
                double fine = std::exp(g[at] + std::log(left) - high) * (1 + 1 / (total - 1));
                for (size_t j = 0; j < classes; ++j)
                    if (j != k && n[j] > 0) fine += std::exp(f[j * cells + c] + std::log(n[j]) - std::log(total - 1) - high);
                value = high + std::log(fine) - std::log(left + 1);
            }
            largest = std::max(largest, value + extra);
            score += w[at] * std::max(value + extra, worst);
        }
    }
    return {{shared, most}, {score, largest}};
}

}  // namespace

void bind_foretell(nb::module_ &m) {
    m.def("foretell", &foretell, "family"_a, "x"_a.noconvert(), "weights"_a.noconvert(), "alpha"_a,
          "log p of each cell by class when another class loses a row of it, when the class does, and of all classes as "
          "one; None where doubles might not do.");
    m.def("foretold_scores", &foretold_scores, "others"_a.noconvert(), "own"_a.noconvert(), "pooled"_a.noconvert(),
          "weights"_a.noconvert(), "more"_a.noconvert(), "worst"_a,
          "Weighted sum of log p + more and the largest, each row foretold by the others: with one density for all classes "
          "and with one for each, backed off.");
}
