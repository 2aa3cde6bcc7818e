// Unevaluated sums of two doubles, about 106 bits. No FMA: the same bits on every machine.
#pragma once
#include <cmath>

namespace bayeskit { namespace {

struct Pair {
    double high, low;
};

inline Pair two_sum(double a, double b) {
    double s = a + b, v = s - a;
    return {s, (a - (s - v)) + (b - v)};
}

inline Pair fast_sum(double a, double b) {  // |a| >= |b|
    double s = a + b;
    return {s, b - (s - a)};
}

inline Pair product(double a, double b) {  // Dekker
    double ta = 134217729.0 * a, tb = 134217729.0 * b;
    double ah = ta - (ta - a), al = a - ah, bh = tb - (tb - b), bl = b - bh, p = a * b;
    return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

inline Pair operator*(Pair a, Pair b) {
    Pair p = product(a.high, b.high);
    return fast_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}

inline Pair operator+(Pair a, Pair b) {
    Pair s = two_sum(a.high, b.high), t = two_sum(a.low, b.low);
    s = fast_sum(s.high, s.low + t.high);
    return fast_sum(s.high, s.low + t.low);
}

inline Pair quotient(Pair a, Pair b) {
    double q = a.high / b.high;
    Pair p = product(q, b.high);
    double rest = (((a.high - p.high) - p.low) + a.low) - q * b.low;
    return fast_sum(q, rest / b.high);
}

inline Pair root(Pair a) {
    double s = std::sqrt(a.high);
    Pair p = product(s, s);
    double rest = ((a.high - p.high) - p.low) + a.low;
    return fast_sum(s, rest / (2 * s));
}

}}  // namespace bayeskit
