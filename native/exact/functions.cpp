// Correctly rounded logarithm, sine and cosine: the same bits on every machine, since only IEEE operations decide.
// A quick answer of about 2^-70 (two doubles) is enough unless the exact value lies close to a midpoint (Ziv 1991).
#include "dispatch/bindings.h"
#include "exact/double_double.h"
#include "exact/fixed.h"
#include "exact/limbs.h"

namespace bayeskit::exact { namespace {

inline Pair pair_of(const Fixed &a) {
    double high = nearest(a);
    return {high, nearest(a - Fixed(high))};
}

// Whether high + low rounds the same for every error up to bound, and the result.
inline bool rounds_safely(Pair y, double bound, double &out) {
    double a = y.high + (y.low - bound), b = y.high + (y.low + bound);
    out = a;
    return a == b;
}

// -- log ------------------------------------------------------------------------------------------------

constexpr int FIRST = 90, LAST = 182;  // m in [0.7, 1.42] in steps of 1/128

// To a multiple of 2^-42: such numbers below 2^10 add up without rounding.
inline double coarse(double x) { return (x + 0x1.8p10) - 0x1.8p10; }

struct Logs {
    double inverse[LAST - FIRST + 1];  // of at most 10 bits; exactly 1 around m = 1
    Pair minus_log[LAST - FIRST + 1];
    Pair log_two_;
    Pair split[LAST - FIRST + 1], split_two;  // the same, the high parts coarse

    Logs() {
        for (int i = FIRST; i <= LAST; ++i) {
            double r = std::floor(65536.0 / i + 0.5) / 512;
            inverse[i - FIRST] = r;
            minus_log[i - FIRST] = r == 1 ? Pair{0, 0} : pair_of(-logarithm(Fixed(r)));
        }
        log_two_ = pair_of(log_two());
        auto apart = [](Pair a) { return Pair{coarse(a.high), (a.high - coarse(a.high)) + a.low}; };
        for (int i = 0; i <= LAST - FIRST; ++i) split[i] = apart(minus_log[i]);
        split_two = apart(log_two_);
    }
};

// The upper 26 bits, so that products of halves are exact.
inline double upper(double x) { return double_of(bits_of(x) & ~uint64_t(0x7ffffff)); }

// log(2^e (m + rest)) to 2^-65 of itself, m in [0.707, 1.414): all but the cube and what follows in two doubles.
inline Pair quick_log(double m, double rest, int e, int i, const Logs &t) {
    double r = t.inverse[i], top = upper(m);
    double a = top * r - 1, b = (m - top) * r;  // exact: 26 bits times 10
    Pair z = fast_sum(a, b);
    if (std::fabs(a) < std::fabs(b)) z = fast_sum(b, a);
    double low = z.low + rest * r, h = z.high, square = h * h, c = upper(h), d = h - c;
    double square_low = ((c * c - square) + 2 * c * d) + d * d;
    double tail = ((((((-1.0 / 10 * h + 1.0 / 9) * h - 1.0 / 8) * h + 1.0 / 7) * h - 1.0 / 6) * h + 1.0 / 5) * h - 1.0 / 4);
    tail = (tail * h + 1.0 / 3) * (square * h);
    double base = e * t.split_two.high + t.split[i].high;  // exact
    Pair first = two_sum(base, h), second = two_sum(first.high, -0.5 * square);
    low = low - 0.5 * square_low - (h - square) * low + e * t.split_two.low + t.split[i].low + first.low + second.low + tail;
    return fast_sum(second.high, low);
}

// log(high + low) for a positive pair.
double log_of(double high, double low, const Logs &t) {
    int e = 0;
    if (high < 0x1p-1022) high *= 0x1p54, low *= 0x1p54, e = -54;
    uint64_t bits = bits_of(high), fraction = bits & 0xfffffffffffff, above = fraction >= 0x6a00000000000;  // [0.707, 1.414)
    e += int(bits >> 52) - 1023 + int(above);
    double m = double_of(fraction | (1023 - above) << 52), out;
    double rest = low == 0 ? 0 : std::ldexp(low, -e);
    int i = int(m * 128 + 0.5) - FIRST;
    Pair quick = quick_log(m, rest, e, i, t);
    if (rounds_safely(quick, std::fabs(quick.high) * 0x1p-64, out)) return out;
    Pair p = product(m, t.inverse[i]);
    Pair z = fast_sum(p.high - 1, p.low);
    z = fast_sum(z.high, z.low + rest * t.inverse[i]);
    Pair square = z * z, cube = square * z;
    double h = z.high, tail = 0;
    for (int k = 12; k >= 4; --k) tail = tail * h + (k % 2 ? 1.0 : -1.0) / k;
    tail *= square.high * square.high;
    Pair third = cube * Pair{1.0 / 3, 1.850371707708594e-17};  // 1/3 to 106 bits
    Pair y = z + Pair{-0.5 * square.high, -0.5 * square.low} + third + Pair{tail, 0};
    y = t.minus_log[i] + y;
    if (e) y = product(t.log_two_.high, e) + Pair{t.log_two_.low * e, 0} + y;
    if (rounds_safely(y, std::fabs(y.high) * 0x1p-73, out)) return out;
    Fixed exact = Fixed(m) + Fixed(rest);
    Fixed y_exact = logarithm(exact), whole = log_two() * uint64_t(e < 0 ? -e : e);
    return nearest(y_exact + (e < 0 ? -whole : whole));
}

const Logs &logs() {
    static const Logs t;
    return t;
}

inline double nearest_log(double x) {
    if (!(x > 0) || std::isinf(x)) return x == 0 ? -INFINITY : x > 0 ? x : NAN;
    return x == 1 ? 0.0 : log_of(x, 0, logs());
}

inline double nearest_log1m(double x) {  // log(1 - x)
    if (!(x < 1) || std::isinf(x)) return x == 1 ? -INFINITY : NAN;
    if (std::fabs(x) < 0x1p-54) return -x;
    Pair y = two_sum(1, -x);
    return log_of(y.high, y.low, logs());
}

// -- sine and cosine ------------------------------------------------------------------------------------

struct Circle {
    Pair sine_[52], cosine_[52];  // of i / 64, to pi/4
    double quarter[3];            // pi/2 in pieces of 48 bits, so that four times a piece is exact

    Circle() {
        for (int i = 0; i < 52; ++i) {
            Fixed t = Fixed(i / 64.0);
            sine_[i] = pair_of(sine(t));
            cosine_[i] = pair_of(cosine(t));
        }
        Fixed rest = half_pi();
        for (int i = 0; i < 3; ++i) {
            double piece = nearest(rest);
            int e;
            double m = std::frexp(piece, &e);
            if (i < 2) piece = std::ldexp(std::trunc(std::ldexp(m, 48)), e - 48);
            quarter[i] = piece;
            rest = rest - Fixed(piece);
        }
    }
};

const Circle &circle() {
    static const Circle t;
    return t;
}

// sin(x + turn pi/2) for |x| <= 8
double sine_of(double x, int turn, const Circle &t) {
    if (std::fabs(x) < 0x1p-27) return turn & 1 ? 1.0 : x;
    double k = std::floor(x / 1.5707963267948966 + 0.5);
    Pair u = two_sum(x, -k * t.quarter[0]);
    u = u + Pair{-k * t.quarter[1], 0} + Pair{-k * t.quarter[2], 0};
    bool below = u.high < 0;
    if (below) u = {-u.high, -u.low};
    int i = int(u.high * 64 + 0.5);
    if (i > 51) i = 51;
    u = u + Pair{-i / 64.0, 0};
    Pair square = u * u, cube = square * u;
    double s = square.high;
    double tail_s = u.high * s * s * (1.0 / 120 - s * (1.0 / 5040 - s * (1.0 / 362880 - s / 39916800)));
    double tail_c = s * s * s * (-1.0 / 720 + s * (1.0 / 40320 - s * (1.0 / 3628800 - s / 479001600)));
    Pair sixth = cube * Pair{1.0 / 6, 9.25185853854297e-18}, fourth = square * square * Pair{1.0 / 24, 2.3129646346357427e-18};
    Pair sin_u = u + Pair{-sixth.high, -sixth.low} + Pair{tail_s, 0};
    Pair cos_u = Pair{1, 0} + Pair{-0.5 * square.high, -0.5 * square.low} + fourth + Pair{tail_c, 0};
    int q = (int(k) + turn) & 3;
    Pair y;
    if (q & 1) {  // cosine of the reduced angle, which is even
        Pair a = t.cosine_[i] * cos_u, b = t.sine_[i] * sin_u;
        y = a + Pair{-b.high, -b.low};
    } else {
        y = t.sine_[i] * cos_u + t.cosine_[i] * sin_u;
        if (below) y = {-y.high, -y.low};
    }
    if (q & 2) y = {-y.high, -y.low};
    double out;
    if (rounds_safely(y, std::fabs(y.high) * 0x1p-66 + 0x1p-98, out)) return out;
    Fixed turns = half_pi() * uint64_t(std::fabs(k)), angle = Fixed(x) - (k < 0 ? -turns : turns);
    Fixed exact = q & 1 ? cosine(angle) : sine(angle);
    return nearest(q & 2 ? -exact : exact);
}

inline double nearest_sin(double x) { return std::fabs(x) <= 8 ? sine_of(x, 0, circle()) : NAN; }
inline double nearest_cos(double x) { return std::fabs(x) <= 8 ? sine_of(x, 1, circle()) : NAN; }

template <double (*function)(double)> Array<double, 1> each(Input<double, 1> x) {
    size_t n = x.shape(0);
    Owned<double, 1> out({n});
    {
        nb::gil_scoped_release free;
        for (size_t i = 0; i < n; ++i) out.data[i] = std::isnan(x.data()[i]) ? x.data()[i] : function(x.data()[i]);
    }
    return out.array;
}

const Binding binding([](nb::module_ &m) {
    m.def("log", &each<nearest_log>, "x"_a.noconvert(), "log x, correctly rounded.");
    m.def("log1m", &each<nearest_log1m>, "x"_a.noconvert(), "log(1 - x), correctly rounded.");
    m.def("sin", &each<nearest_sin>, "x"_a.noconvert(), "sin x for |x| <= 8, correctly rounded; NaN beyond.");
    m.def("cos", &each<nearest_cos>, "x"_a.noconvert(), "cos x for |x| <= 8, correctly rounded; NaN beyond.");
});

}}  // namespace bayeskit::exact
