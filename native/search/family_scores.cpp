// How well families predict the cells of columns, each without one row of it: for the choice among families.
#include <algorithm>
#include "search/family_scores.h"

namespace bayeskit::search {

Lattice::Lattice(const double *x, size_t cells, double step) {
    double reach = cells ? (x[cells - 1] - x[0]) / step : 0;
    if (!(step > 0 && reach >= 1 && reach <= MOST)) return;
    for (size_t c = 0; c < cells; ++c)
        if (std::fabs((x[c] - x[0]) / step - std::round((x[c] - x[0]) / step)) > NEAR) return;
    double last = std::round(reach), margin = std::max(last, MARGIN);
    for (double i = -margin; i <= last + margin; ++i) {
        double point = x[0] + i * step;
        points.push_back(std::fabs(point) < NEAR * step ? 0.0 : point);
        logs.push_back(points.back() > 0 ? points.back() : 1.0);
    }
    log_step = std::log(step);
    logarithms(logs);
}

Lattice Lattice::positive() const {
    Lattice out;
    out.log_step = log_step;
    for (size_t i = 0; i < points.size(); ++i)
        if (points[i] > 0) out.points.push_back(points[i]), out.logs.push_back(logs[i]);
    return out;
}

Sample::Sample(const double *x, const double *weight, size_t step, const double *pooled, size_t classes, size_t cells)
    : classes(classes), cells(cells), x(x), totals_(classes + 1) {
    mass.resize((classes + 1) * cells), heaviest.resize(classes + 1);
    size_t e = 0, most = 1;  // one more is written to
    for (size_t k = 0; k <= classes; ++k) {
        const double *from = k < classes ? weight + k * step : pooled;
        for (size_t c = 0; c < cells; ++c) most += from[c] > 0;
    }
    group.resize(most), cell.resize(most), rows.resize(most);
    for (size_t k = 0; k <= classes; ++k) {
        begin.push_back(e);
        const double *from = k < classes ? weight + k * step : pooled;
        std::copy(from, from + cells, &mass[k * cells]);
        double total = 0;
        for (size_t c = 0; c < cells; ++c) {
            group[e] = int(k), cell[e] = int(c), rows[e] = from[c], total += from[c];
            e += from[c] > 0;
            fractions |= k < classes && from[c] > 0 && from[c] < 1;
        }
        totals_[k] = total;
    }
    entries = begin.back();
    if (fractions) {
        e = 2 * entries;
        group.resize(e), cell.resize(e), rows.resize(e);
        for (size_t i = 0; i < entries; ++i)
            group[entries + i] = int(classes), cell[entries + i] = cell[i], rows[entries + i] = rows[i];
    }
    begin.push_back(e), group.resize(e), cell.resize(e), rows.resize(e), one.assign(e, 1.0);
    for (size_t i = 0; i < e && fractions; ++i) one[i] = std::min(rows[i], 1.0);
    for (size_t k = 0; k <= classes; ++k)
        heaviest[k] = !fractions || begin[k] == begin[k + 1]
                          ? 1.0
                          : *std::max_element(one.begin() + long(begin[k]), one.begin() + long(begin[k + 1]));
}

// Whether cells have values and weights of ordinary size, and every class has some.
bool Sample::ordinary() const {
    constexpr double SMALLEST = 1e-100, LARGEST = 1e100, HEAVIEST = 1e15, LIGHTEST = 1e-9;
    if (cells < 2 || !(totals_[classes] < HEAVIEST)) return false;
    for (size_t k = 0; k < classes; ++k)
        if (!(totals_[k] > 0)) return false;
    size_t odd = 0;
    double least = LIGHTEST * totals_[classes];
    for (size_t i = 0; i < classes * cells && fractions; ++i) odd += mass[i] > 0 && mass[i] < least;
    for (size_t c = 0; c < cells; ++c) {
        double size = std::fabs(x[c]);
        odd += (size > 0) & (size <= SMALLEST);
        odd += size >= LARGEST;
    }
    return !odd;
}

double Sample::gap() const {
    double least = INFINITY;
    for (size_t c = 1; c < cells; ++c) least = std::min(least, x[c] - x[c - 1]);
    return least;
}

const Numbers &Sample::logs() const {
    if (logs_.empty()) {
        for (size_t c = 0; c < cells; ++c) logs_.push_back(x[c] > 0 ? x[c] : 1.0);
        logarithms(logs_);
    }
    return logs_;
}

std::vector<Group> Sample::moments_of(const double *v) const {
    constexpr size_t STRANDS = 4;  // additions wait for each other
    std::vector<Group> out(classes + 1);
    for (size_t k = 0; k <= classes; ++k) {
        Group &g = out[k];
        g.weight = totals_[k];
        auto sum = [&](double from, bool square) {
            double parts[STRANDS] = {};
            for (size_t e = begin[k]; e < begin[k + 1]; ++e) {
                double d = v[cell[e]] - from;
                parts[e % STRANDS] += square ? rows[e] * d * d : rows[e] * d;
            }
            return (parts[0] + parts[1]) + (parts[2] + parts[3]);
        };
        g.mean = v[0] + sum(v[0], false) / g.weight;
        g.variance = sum(g.mean, true) / g.weight;
    }
    return out;
}

const std::vector<Group> &Sample::moments() const {
    if (moments_.empty()) moments_ = moments_of(x);
    return moments_;
}

const std::vector<Group> &Sample::log_moments() const {
    if (log_moments_.empty()) log_moments_ = moments_of(logs().data());
    return log_moments_;
}

namespace {

bool fill(const Recipe &family, const Sample &s, Terms &out);

// A point mass z = (zeros + a) / (n + 2 a) at zero, and the density of the rest times 1 - z.
bool zero_inflated(const Recipe &family, const Sample &s, Terms &out) {
    size_t first = s.x[0] == 0;
    if (s.fractions || !(s.x[0] >= 0) || s.cells - first < 1) return false;
    Sample rest = s.from(first);
    Lattice above = s.lattice ? s.lattice->positive() : Lattice();
    if (s.lattice) rest.lattice = &above;
    Terms inner(rest);
    double a = family.zeros;
    if (!fill({family.name, family.smoothing, -1, family.whole}, rest, inner)) return false;
    for (size_t k = 0; k <= s.classes; ++k) {
        double zeros = first ? s.at(k, 0) : 0, all = s.total(k) + 2 * a;
        if (!a && zeros < 2) return false;
        if (s.lattice) out.sums[k] = (zeros + a) / all + (s.total(k) - zeros + a) / all * inner.sums[k];
        if (k == s.classes) break;
        double other = std::log((s.total(k) - zeros + a) / all);
        for (size_t c = 0; c < s.cells; ++c)
            out.others[k * s.cells + c] =
                c < first ? std::log((zeros + a) / all) : other + inner.others[k * rest.cells + c - first];
    }
    for (size_t e = 0, i = 0; e < s.group.size(); ++e) {
        size_t k = size_t(s.group[e]);
        double zeros = first ? s.at(k, 0) : 0, all = s.total(k) - 1 + 2 * a;
        if (size_t(s.cell[e]) < first) out.own[e] = std::log((zeros - 1 + a) / all);
        else out.own[e] = std::log((s.total(k) - zeros - 1 + a) / all) + inner.own[i++];
    }
    return true;
}

bool fill(const Recipe &family, const Sample &s, Terms &out) {
    if (family.zeros >= 0) return zero_inflated(family, s, out);
    if (family.name == "Histogram") return histogram_terms(family.smoothing, s, out);
    if (family.name == "Kernel") return kernel_terms(s, out);
    return parametric_terms(family, s, out);
}

// The sum of weight times max(worst, log p), and the largest log p: with one density for all classes, and with one for each
// that is backed off, p = (n' f' + F') / (n' + 1): f' without a row of the cell, F' that of all classes by their
// weights. `more` is added to the logarithms; not at zero where a family has a point mass there.
struct Score {
    double shared = 0, most = -INFINITY, by_class = 0, largest = -INFINITY;
};

// log p where all of it lies far below the highest class: from the logarithms themselves.
double far_log(const Sample &s, const Terms &terms, size_t e) {
    size_t k = size_t(s.group[e]), c = size_t(s.cell[e]);
    double left = s.total(k) - s.one[e], others = std::log(s.total(s.classes) - s.one[e]);
    double mine = terms.own[e] + std::log(left);
    double high = mine, sum = 0;
    auto other = [&](size_t j) { return terms.others[j * s.cells + c] + std::log(s.total(j)) - others; };
    for (size_t j = 0; j < s.classes; ++j)
        if (j != k) high = std::max(high, other(j));
    for (size_t j = 0; j < s.classes; ++j) sum += j == k ? 0.0 : std::exp(other(j) - high);
    return high + std::log(sum + std::exp(mine - high) * (1 + std::exp(-others))) - std::log(left + 1);
}

// Room that is used again for every family.
struct Room {
    Numbers top, part, sum, high, rest, value;
    explicit Room(const Sample &s)
        : top(s.cells), part(s.classes * s.cells), sum(s.cells), high(s.entries), rest(s.entries), value(s.group.size()) {}
};

Score score(const Sample &s, const Terms &terms, double more, bool atom, double worst, Room &room) {
    size_t m = s.cells, classes = s.classes;
    auto &[top, part, sum, high, rest, value] = room;
    std::copy(terms.own.begin() + long(s.entries), terms.own.end(), value.begin() + long(s.entries));
    kernels->class_shares(terms.others.data(), int64_t(classes), int64_t(m), s.totals(), top.data(), part.data(), sum.data());
    for (size_t k = 0; k < classes; ++k) {
        size_t begin = s.begin[k], count = s.begin[k + 1] - begin;
        for (size_t e = begin; e < begin + count; ++e) {
            size_t c = size_t(s.cell[e]);
            double mine = part[k * m + c];
            high[e] = top[c];
            rest[e] = sum[c] - mine;
            if (mine >= 0.5 * sum[c]) {  // the difference would cancel
                rest[e] = 0;
                for (size_t j = 0; j < classes; ++j) rest[e] += j == k ? 0.0 : part[j * m + c];
            }
        }
        kernels->loo_backoff(&terms.own[begin], &high[begin], &rest[begin], &s.one[begin], int64_t(count), s.total(k),
                             s.total(classes), &value[begin]);
    }
    for (size_t e = 0; e < s.entries; ++e)
        if (std::isnan(value[e])) value[e] = far_log(s, terms, e);
    auto summed = [&, &value = room.value](size_t from, size_t to, double &total, double &largest) {
        constexpr size_t STRANDS = 4;  // additions wait for each other
        double sums[STRANDS] = {}, most[STRANDS] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
        for (size_t e = from; e < to; ++e) {
            size_t i = e % STRANDS;
            double log = value[e] + (atom && s.x[s.cell[e]] == 0 ? 0.0 : more);
            sums[i] += s.rows[e] * std::max(log, worst);
            most[i] = std::max(most[i], log);
        }
        total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        largest = *std::max_element(most, most + STRANDS);
    };
    Score out;
    summed(0, s.entries, out.by_class, out.largest);
    summed(s.entries, value.size(), out.shared, out.most);
    return out;
}

// Makes probabilities of the steps of a lattice of densities that give them more than there is: divides each group by its
// sum over them, held whichever row leaves. The largest logarithm of a sum among the classes, and that of the whole.
std::pair<double, double> normalise(const Sample &s, Terms &terms) {
    double largest = 0, whole = 0;
    for (size_t k = 0; k <= s.classes; ++k) {
        double excess = terms.sums[k] > 1 ? std::log(terms.sums[k]) : 0.0;
        if (excess == 0) continue;
        (k < s.classes ? largest : whole) = std::max(k < s.classes ? largest : whole, excess);
        for (size_t c = 0; k < s.classes && c < s.cells; ++c) terms.others[k * s.cells + c] -= excess;
        for (size_t e = s.begin[k]; e < s.begin[k + 1]; ++e) terms.own[e] -= excess;
    }
    return {largest, whole};
}

// Values far from 1 in units of a power of two in which they are ordinary; none where some would then be lost, or where they
// are ordinary as they are. A score is per step, which is in the same units, so it stays what it was.
Numbers in_units(const double *x, size_t cells, int &exponent) {
    constexpr double SMALL = 1e-90, LARGE = 1e90;
    double largest = cells ? std::max(std::fabs(x[0]), std::fabs(x[cells - 1])) : 1.0;
    Numbers out;
    exponent = 0;
    if (!(largest > 0) || (largest > SMALL && largest < LARGE)) return out;
    std::frexp(largest, &exponent);
    for (size_t c = 0; c < cells; ++c) out.push_back(std::ldexp(x[c], -exponent));
    for (size_t c = 0; c < cells; ++c)
        if (x[c] != 0 && std::fabs(out[c]) <= SMALL) return {};
    return out;
}

using GivenRecipe = std::tuple<std::string, double, double, bool>;

Recipe recipe_of(const GivenRecipe &given) {
    return {std::get<0>(given), std::get<1>(given), std::get<2>(given), std::get<3>(given)};
}

// Values of a column ascend, and all classes together have weight where one of them has some.
void check_column(const double *x, const double *weight, size_t step, const double *pooled, size_t classes, size_t cells) {
    require_ascending(x, cells, false, "values of cells must ascend");
    require_weights(pooled, cells, "a weight of the whole is negative or not finite");
    std::vector<char> some(cells);
    for (size_t k = 0; k < classes; ++k) {
        require_weights(weight + k * step, cells, "a weight is negative or not finite");
        for (size_t c = 0; c < cells; ++c) some[c] |= weight[k * step + c] > 0;
    }
    for (size_t c = 0; c < cells; ++c)
        require(some[c] == (pooled[c] > 0), "the whole has weight where no class has, or none where one has");
}

Array<double, 3> loo_family_scores(const std::vector<GivenRecipe> &families, Input<double, 1> x, Input<int64_t, 1> offset,
                                   Input<double, 2> weights, Input<double, 1> pooled, Input<double, 1> step,
                                   Input<bool, 2> requested, double worst) {
    size_t classes = weights.shape(0), all = weights.shape(1), columns = step.shape(0), count = families.size();
    require(offset.shape(0) == columns + 1 && requested.shape(0) == columns && requested.shape(1) == count, "columns differ");
    require(x.shape(0) == all && pooled.shape(0) == all && classes > 0, "one weight for each class and cell");
    const int64_t *begin = offset.data();
    require(begin[0] == 0 && begin[columns] == int64_t(all) && std::is_sorted(begin, begin + columns + 1),
            "offsets do not fit");
    std::vector<Recipe> recipes;
    for (const GivenRecipe &given : families) recipes.push_back(recipe_of(given));
    Owned<double, 3> out({columns, count, 4});
    std::fill(out.data, out.data + columns * count * 4, double(NAN));
    nb::gil_scoped_release free;
    for (size_t j = 0; j < columns; ++j) {
        size_t from = size_t(begin[j]), cells = size_t(begin[j + 1]) - from;
        check_column(x.data() + from, weights.data() + from, all, pooled.data() + from, classes, cells);
        Numbers some;  // weights of the classes that have any here: the others do not count
        for (size_t k = 0; k < classes; ++k) {
            const double *w = weights.data() + k * all + from;
            if (std::any_of(w, w + cells, [](double v) { return v > 0; })) some.insert(some.end(), w, w + cells);
        }
        if (some.empty()) continue;
        int exponent;
        Numbers other = in_units(x.data() + from, cells, exponent);
        double gap = other.empty() ? step.data()[j] : std::ldexp(step.data()[j], -exponent);
        const double *values = other.empty() ? x.data() + from : other.data();
        Sample s(values, some.data(), cells, pooled.data() + from, some.size() / cells, cells);
        if (!s.ordinary()) continue;
        Lattice lattice(s.x, s.cells, gap);
        if (!lattice.points.empty()) s.lattice = &lattice;
        Terms terms(s);
        Room room(s);
        for (size_t f = 0; f < count; ++f) {
            std::fill(terms.sums.begin(), terms.sums.end(), 0.0);
            bool counts = recipes[f].whole && !other.empty();  // probabilities of whole numbers have no unit
            if (!requested.data()[j * count + f] || counts || !fill(recipes[f], s, terms)) continue;
            double more = gap > 0 && !recipes[f].whole ? std::log(gap) : 0.0;
            auto [narrowest, narrow] = normalise(s, terms);
            Score found = score(s, terms, more, recipes[f].zeros >= 0, worst, room);
            double *to = out.data + (j * count + f) * 4;
            to[0] = found.shared, to[1] = found.most + narrow, to[2] = found.by_class, to[3] = found.largest + narrowest;
        }
    }
    return out.array;
}

Array<double, 1> lattice_points(Input<double, 1> x, double step) {
    require_ascending(x.data(), x.shape(0), true, "values must ascend");
    Lattice found(x.data(), x.shape(0), step);
    Owned<double, 1> out({found.points.size()});
    std::copy(found.points.begin(), found.points.end(), out.data);
    return out.array;
}

const Binding binding([](nb::module_ &m) {
    m.def("lattice_points", &lattice_points, "x"_a.noconvert(), "step"_a,
          "The values a column recorded in steps may have, around those it has (ascending); none where they are no lattice.");
    m.def("loo_family_scores", &loo_family_scores, "families"_a, "x"_a.noconvert(), "offset"_a.noconvert(),
          "weights"_a.noconvert(), "pooled"_a.noconvert(), "step"_a.noconvert(), "requested"_a.noconvert(), "worst"_a,
          "By column and family: the weighted sum of log p per step and the largest before steps were normalised, each row "
          "predicted by the others, with "
          "one density for all classes and with one for each, backed off; NaN where not asked or doubles might not do.");
});

}  // namespace

}  // namespace bayeskit::search
