// One value into the exact sums by integers: for extreme magnitudes and for weights.
namespace bayeskit::counts { namespace {

struct Square {
    uint32_t word[4];
};

// (2^32 b + a)^2 for a 53-bit mantissa, b < 2^21: no partial sum leaves 64 bits.
inline Square square(uint64_t mantissa) {
    uint64_t a = mantissa & MASK32, b = mantissa >> 32;
    uint64_t aa = a * a, ab = 2 * a * b, bb = b * b;
    uint64_t w1 = (aa >> 32) + (ab & MASK32);
    uint64_t w2 = (w1 >> 32) + (ab >> 32) + (bb & MASK32);
    uint64_t w3 = (w2 >> 32) + (bb >> 32);
    return {{uint32_t(aa), uint32_t(w1), uint32_t(w2), uint32_t(w3)}};
}

inline bool add_value(Sums first, Sums second, int64_t cell, double x) {
    Parts p = parts(x);
    if (!p.finite) return false;
    if (!p.mantissa) return true;
    Square q = square(p.mantissa);
    bool good = add(first, cell, p.mantissa, p.negative, p.exponent);
    good &= add_words(second, cell, q.word, 4, false, 2 * p.exponent);
    return good;
}

// w * x is at most 106 bits, w * x^2 at most 159.
inline bool add_weighted(Sums present, Sums first, Sums second, int64_t cell, double x, Parts w) {
    bool good = add(present, cell, w.mantissa, false, w.exponent);
    Parts p = parts(x);
    if (!p.finite) return false;
    if (!p.mantissa) return good;
    uint32_t weight[2] = {uint32_t(w.mantissa), uint32_t(w.mantissa >> 32)};
    uint32_t value[2] = {uint32_t(p.mantissa), uint32_t(p.mantissa >> 32)};
    uint32_t once[4], twice[6];
    multiply(weight, 2, value, 2, once);
    multiply(once, 4, value, 2, twice);
    good &= add_words(first, cell, once, 4, p.negative, p.exponent + w.exponent);
    good &= add_words(second, cell, twice, 6, false, 2 * p.exponent + w.exponent);
    return good;
}

// Groups below n_groups, weights finite and not negative: checked before anything is added.
inline Status check_rows(const int32_t *groups, const double *weights, int64_t rows, int64_t n_groups) {
    int32_t largest = -1, smallest = -1;
    for (int64_t i = 0; i < rows; ++i) {
        largest = groups[i] > largest ? groups[i] : largest;
        smallest = groups[i] < smallest ? groups[i] : smallest;
    }
    if (largest >= n_groups || smallest < -1) return Status::group;
    if (weights) {
        int64_t bad = 0;
        for (int64_t i = 0; i < rows; ++i) bad += !(weights[i] >= 0 && weights[i] < __builtin_inf());
        if (bad) return Status::weight;
    }
    return Status::fine;
}

}}  // namespace bayeskit::counts
