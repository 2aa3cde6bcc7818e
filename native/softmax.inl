// Bayes' rule by rows: posterior = exp(joint - log of the sum of exp(joint)), without libm.
namespace {

constexpr double ROUNDER = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer in the low bits
constexpr double LOG2E = 0x1.71547652b82fep+0;
constexpr double LN2_HIGH = 0x1.62e42fefa3800p-1;  // 42 bits: times an integer below 2^11 is exact
constexpr double LN2_LOW = 0x1.ef35793c76730p-45;

// e^t for t <= 0. t = k log 2 + r, |r| <= log(2)/2, and the Taylor series to r^13 / 13! (remainder < 2^-57);
// 2^k in two factors, so that a subnormal result is rounded once. Below -750 the answer is 0 all the same.
inline double exponential(double t) {
    t = t > -750.0 ? t : -750.0;
    double shifted = t * LOG2E + ROUNDER, k = shifted - ROUNDER;
    double r = (t - k * LN2_HIGH) - k * LN2_LOW;
    double q = 1.0 / 6227020800;
    q = q * r + 1.0 / 479001600;
    q = q * r + 1.0 / 39916800;
    q = q * r + 1.0 / 3628800;
    q = q * r + 1.0 / 362880;
    q = q * r + 1.0 / 40320;
    q = q * r + 1.0 / 5040;
    q = q * r + 1.0 / 720;
    q = q * r + 1.0 / 120;
    q = q * r + 1.0 / 24;
    q = q * r + 1.0 / 6;
    q = q * r + 0.5;
    double y = 1.0 + (r + r * r * q);
    uint64_t power = bits_of(shifted) - bits_of(ROUNDER) + 2048;  // k + 2048 > 0
    uint64_t half = power >> 1, rest = power - half;               // each is k/2 + 1024
    return y * double_of((half - 1) << 52) * double_of((rest - 1) << 52);
}

// log s for finite s >= 1: s = 2^e (1 + f), u = f / (2 + f), log(1 + f) = 2 atanh u = f - f^2/2 + u (f^2/2 + R).
inline double logarithm(double s) {
    uint64_t b = bits_of(s), above = (b & 0xfffffffffffffull) > 0x6a09e667f3bcdull;  // beyond sqrt 2: halve
    uint64_t field = (b >> 52) + above;
    double m = double_of((b & 0xfffffffffffffull) | ((1023 - above) << 52));
    double e = double_of(bits_of(ROUNDER) + field - 1023) - ROUNDER;
    double f = m - 1.0, u = f / (2.0 + f), z = u * u;
    double r = 2.0 / 23;
    r = r * z + 2.0 / 21;
    r = r * z + 2.0 / 19;
    r = r * z + 2.0 / 17;
    r = r * z + 2.0 / 15;
    r = r * z + 2.0 / 13;
    r = r * z + 2.0 / 11;
    r = r * z + 2.0 / 9;
    r = r * z + 2.0 / 7;
    r = r * z + 2.0 / 5;
    r = r * z + 2.0 / 3;
    r = r * z;
    double half = 0.5 * f * f;
    return e * LN2_HIGH - ((half - (u * (half + r) + e * LN2_LOW)) - f);
}

constexpr int64_t ROWS = 64;  // rows side by side: one lane each, so a row never depends on its neighbours

int64_t softmax(double *out, int64_t rows, int64_t classes, bool log, double *evidence) {
    Scratch scratch(classes * ROWS * 8);
    double *tile = scratch.as<double>();
    if (!scratch.data) return -1;
    int64_t impossible = 0;
    double largest[ROWS], sum[ROWS], rest[ROWS], level[ROWS];
    for (int64_t from = 0; from < rows; from += ROWS) {
        int64_t n = least(ROWS, rows - from);
        double *block = out + from * classes;
        for (int64_t i = n; i < ROWS; ++i)
            for (int64_t k = 0; k < classes; ++k) tile[k * ROWS + i] = 0;
        for (int64_t i = 0; i < n; ++i)
            for (int64_t k = 0; k < classes; ++k) tile[k * ROWS + i] = block[i * classes + k];
        for (int64_t i = 0; i < ROWS; ++i) largest[i] = tile[i];
        for (int64_t k = 1; k < classes; ++k)
            for (int64_t i = 0; i < ROWS; ++i) {
                double x = tile[k * ROWS + i];
                largest[i] = x > largest[i] ? x : largest[i];
            }
        for (int64_t i = 0; i < ROWS; ++i) {
            level[i] = largest[i] == -__builtin_inf() ? 0.0 : largest[i];
            sum[i] = rest[i] = 0;
        }
        // The sum keeps its rounding errors (TwoSum): with thousands of classes it is still right to an ulp.
        for (int64_t k = 0; k < classes; ++k)
            for (int64_t i = 0; i < ROWS; ++i) {
                double shifted = tile[k * ROWS + i] - level[i], e = exponential(shifted);
                double total = sum[i] + e, part = total - sum[i];
                rest[i] += (sum[i] - (total - part)) + (e - part);
                sum[i] = total;
                tile[k * ROWS + i] = log ? shifted : e;
            }
        for (int64_t i = 0; i < ROWS; ++i) sum[i] += rest[i];
        if (log || evidence)
            for (int64_t i = 0; i < ROWS; ++i) rest[i] = logarithm(sum[i]);
        for (int64_t k = 0; k < classes; ++k)
            for (int64_t i = 0; i < ROWS; ++i) {
                double x = tile[k * ROWS + i];
                tile[k * ROWS + i] = log ? x - rest[i] : x / sum[i];
            }
        for (int64_t i = 0; i < n; ++i) {
            bool none = largest[i] == -__builtin_inf();
            impossible += none;
            for (int64_t k = 0; k < classes; ++k)
                block[i * classes + k] = none ? -__builtin_inf() : tile[k * ROWS + i];
            if (evidence) evidence[from + i] = none ? -__builtin_inf() : level[i] + rest[i];
        }
    }
    return impossible;
}

}  // namespace
