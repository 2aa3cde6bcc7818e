// Logistic regression of what came true on log-odds: intercept alone, or with a slope.
#include <algorithm>
#include <cmath>
#include "dispatch/bindings.h"

namespace bayeskit::scores { namespace {

constexpr int STEPS = 100;

using Came = Input<bool, 1>;

// The rows, log-odds cut to +-most; z = a + b x, where b is 1 unless it is fitted.
class Rows {
    std::vector<double> x, truth;
    const double *weight;
    bool slope;

public:
    struct Sums {
        double loss, step[2], curve[3];
    };

    Rows(Input<double, 1> odds, Came came, Input<double, 1> weights, double most, bool slope)
        : weight(weights.data()), slope(slope) {
        size_t rows = odds.shape(0);
        require(came.shape(0) == rows && weights.shape(0) == rows, "one truth and one weight per row");
        require(most > 0, "log-odds are cut at a positive number");
        require_weights(weights.data(), rows, "weights are finite and not negative");
        x.resize(rows), truth.resize(rows);
        for (size_t i = 0; i < rows; ++i) {
            x[i] = std::min(std::max(odds.data()[i], -most), most), truth[i] = came.data()[i];
        }
    }

    // Whether both sides have weight, and log-odds do not tell them apart without a mistake where a slope is wanted.
    bool known() const {
        double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
        for (size_t i = 0; i < x.size(); ++i)
            if (weight[i] > 0) {
                int side = truth[i] > 0;
                low[side] = std::min(low[side], x[i]), high[side] = std::max(high[side], x[i]);
            }
        bool both = low[0] <= high[0] && low[1] <= high[1];
        return both && !(slope && (low[1] >= high[0] || low[0] >= high[1]));
    }

    Sums at(double a, double b) const {
        double s[6];
        kernels->logistic_sums(x.data(), truth.data(), weight, int64_t(x.size()), a, b, s);
        if (!slope) s[2] = s[4] = s[5] = 0;
        return {s[0], {s[1], s[2]}, {s[3], s[4], s[5]}};
    }

    // The inverse of a curvature, its pseudo-inverse where it is singular.
    static void invert(const double *curve, double *out) {
        double trace = curve[0] + curve[2], det = curve[0] * curve[2] - curve[1] * curve[1];
        if (curve[2] == 0 && curve[1] == 0) {
            out[0] = curve[0] > 0 ? 1 / curve[0] : 0, out[1] = out[2] = 0;
        } else if (det > 4e-16 * trace * trace) {
            out[0] = curve[2] / det, out[1] = -curve[1] / det, out[2] = curve[0] / det;
        } else {
            for (int k = 0; k < 3; ++k) out[k] = curve[k] / trace / trace;
        }
    }

    // Newton's steps from what is right of log-odds that come true as said, halved while the likelihood falls.
    std::pair<double, double> fit() const {
        double a = 0, b = 1;
        Sums now = at(a, b);
        for (int n = 0; n < STEPS; ++n) {
            double inverse[3], size = 1;
            invert(now.curve, inverse);
            double da = inverse[0] * now.step[0] + inverse[1] * now.step[1];
            double db = inverse[1] * now.step[0] + inverse[2] * now.step[1];
            Sums then = at(a + da, b + db);
            while (then.loss > now.loss + 1e-12 * std::abs(now.loss) && size > 1e-10) {
                size /= 2;
                then = at(a + size * da, b + size * db);
            }
            a += size * da, b += size * db;
            double fall = now.loss - then.loss;
            now = then;
            if (size * std::max(std::abs(da), std::abs(db)) < 1e-12 || fall == 0) break;
        }
        return {a, b};
    }

    void influence(double a, double b, double *out) const {
        LogisticFit f{a, b, {}, 0, 0};
        invert(at(a, b).curve, f.inverse);
        f.first = slope ? f.inverse[1] : f.inverse[0], f.second = f.inverse[2];
        kernels->logistic_influence(x.data(), truth.data(), weight, int64_t(x.size()), f, out);
    }
};

std::pair<double, double> logistic_line(Input<double, 1> odds, Came came, Input<double, 1> weights, double most, bool slope) {
    Rows rows(odds, came, weights, most, slope);
    nb::gil_scoped_release free;
    return rows.known() ? rows.fit() : std::make_pair(std::nan(""), std::nan(""));
}

Array<double, 1> logistic_influence(Input<double, 1> odds, Came came, Input<double, 1> weights, double most, bool slope,
                                    std::pair<double, double> line) {
    Rows rows(odds, came, weights, most, slope);
    Owned<double, 1> out({odds.shape(0)});
    {
        nb::gil_scoped_release free;
        rows.influence(line.first, line.second, out.data);
    }
    return out.array;
}

const Binding binding([](nb::module_ &m) {
    m.def("logistic_line", &logistic_line, "odds"_a.noconvert(), "came"_a.noconvert(), "weights"_a.noconvert(), "most"_a,
          "slope"_a,
          "Intercept and slope (1 unless it is fitted) of log-odds that came true on log-odds said, cut to +-most; NaN where "
          "rows know none.");
    m.def("logistic_influence", &logistic_influence, "odds"_a.noconvert(), "came"_a.noconvert(), "weights"_a.noconvert(),
          "most"_a, "slope"_a, "line"_a, "What each row adds to the error of the last coefficient of such a line.");
});

}}  // namespace bayeskit::scores
