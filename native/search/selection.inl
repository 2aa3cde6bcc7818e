// Attribute choice: how well rows are predicted once a column's terms are added to, or taken from, what is there.
//
// d are the log-odds of the other classes against the true one: a row counts w log(1 + sum of e^d), and w if one of them
// wins (in a tie the first class does).
namespace bayeskit::search { namespace {

constexpr double WORST = 690.0;  // nats: what a row counts at most, so that one impossible row does not decide alone
constexpr int64_t SELECT_TILE = 512;           // rows
constexpr double NEAR_ODDS = 80, FAR_ODDS = 600;  // nats: e^80 is a float, e^680 a double

struct Tally {
    double product[STRANDS], power[STRANDS], sum[STRANDS], wrong[STRANDS];

    void clear() {
        for (int64_t s = 0; s < STRANDS; ++s) product[s] = 1, power[s] = sum[s] = wrong[s] = 0;
    }
    // The product of all totals so far, its exponent kept apart.
    static inline void settle(Real &product, Real &power) {
        Bits b = as<Bits>(product);
        power += as<Real>((b >> 52) + as<Bits>(splat(ROUNDER))) - splat(ROUNDER + 1023.0);
        product = as<Real>((b & splat_bits(0xfffffffffffffull)) | splat_bits(uint64_t(1023) << 52));
    }
    inline void add(int64_t s, Real total, Real lost, const double *w) {
        if (w) {
            Real weight = load(w);
            store(sum + s, load(sum + s) + weight * logarithm(total));
            store(wrong + s, load(wrong + s) + weight * lost);
        } else {
            Real p = load(product + s) * total, e = load(power + s);
            settle(p, e);
            store(product + s, p);
            store(power + s, e);
            store(wrong + s, load(wrong + s) + lost);
        }
    }
    void finish(double *log_score, double *errors) const {
        double whole = 0, lost = 0;
        for (int64_t s = 0; s < STRANDS; ++s) {
            double log = lane(logarithm(splat(product[s])), 0);
            whole += sum[s] + power[s] * (LN2_HIGH + LN2_LOW) + log;
            lost += wrong[s];
        }
        *log_score = -whole;
        if (errors) *errors = lost;
    }
};

// Log-odds of the other classes: class c of them from data + c * step on.
struct Others {
    int64_t count, step;
};

// LANES rows from `there`, with sign * term if there is one; keeps e^d from `kept` on if asked to.
inline void tally_rows(const double *there, const double *term, double sign, Others o, Real own, const double *w, int64_t s,
                       double *kept, Tally &t) {
    Real total = splat(1.0), wrong = splat(0.0);
    for (int64_t c = 0; c < o.count; ++c) {
        Real d = load(there + c * o.step);
        if (term) d = d + splat(sign) * load(term + c * o.step);
        d = larger(splat(-WORST), smaller(splat(WORST), d));
        // class c of the others stands before the true class if c < truth, and then wins a tie
        Real ahead = select(less(splat(double(c)), own), splat(-0x1p-1074), splat(0.0)), e = exponential(d);
        wrong = select(less(ahead, d), splat(1.0), wrong);
        total += e;
        if (kept) store(kept + c * o.step, e);
    }
    t.add(s, total, wrong, w);
}

inline void tally_tile(const double *there, const double *term, double sign, Others o, const double *truth,
                       const double *weights, int64_t from, int64_t to, double *kept, Tally &t) {
    for (int64_t i = from; i < to; i += LANES)
        tally_rows(there + i, term ? term + i : nullptr, sign, o, load(truth + i), weights ? weights + i : nullptr, i % STRANDS,
                   kept ? kept + i : nullptr, t);
}

Status selection_scores(const double *there, const double *terms, double sign, int64_t rows, int64_t step, int64_t others,
                        const double *truth, const double *weights, const int64_t *candidates, int64_t count, double *out) {
    Scratch scratch(count * int64_t(sizeof(Tally)));
    Tally *tally = scratch.as<Tally>();
    if (!scratch.data) return Status::memory;
    for (int64_t j = 0; j < count; ++j) tally[j].clear();
    for (int64_t from = 0; from < rows; from += SELECT_TILE)
        for (int64_t j = 0; j < count; ++j)
            tally_tile(there, terms + candidates[j] * others * step, sign, {others, step}, truth, weights, from,
                       least(from + SELECT_TILE, rows), nullptr, tally[j]);
    for (int64_t j = 0; j < count; ++j) tally[j].finish(out + 2 * j, out + 2 * j + 1);
    return Status::fine;
}

inline double largest(Real v) {
    double most = 0;
    for (int i = 0; i < LANES; ++i) most = lane(v, i) > most ? lane(v, i) : most;
    return most;
}

// Adds a column's terms (none: null) to what is there, and says what the rows then count; e^d goes to odds, the largest
// |d| of each tile to reach.
void selection_update(double *there, const double *term, double sign, int64_t rows, int64_t others, const double *truth,
                      const double *weights, double *odds, double *reach, double *out) {
    Tally tally;
    tally.clear();
    for (int64_t from = 0, tile = 0; from < rows; from += SELECT_TILE, ++tile) {
        int64_t to = least(from + SELECT_TILE, rows);
        Real far = splat(0.0);
        for (int64_t c = 0; c < others; ++c)
            for (int64_t i = c * rows + from; i < c * rows + to; i += LANES) {
                Real d = load(there + i);
                if (term) {
                    __builtin_prefetch(term + i + SELECT_TILE, 0, 2);  // the next tile
                    store(there + i, d = d + splat(sign) * load(term + i));
                }
                far = larger(magnitude(d), far);
            }
        reach[tile] = largest(far);
        tally_tile(there, nullptr, 0, {others, rows}, truth, weights, from, to, odds, tally);
    }
    tally.finish(out, out + 1);
}

#if !defined(SCALAR)
typedef float Single __attribute__((vector_size(4 * LANES)));
inline Real widened(const float *p) {
#if defined(__AVX512F__)
    return (Real) _mm512_maskz_cvtps_pd(255, _mm256_loadu_ps(p));  // some compilers take the vector apart
#else
    Single v;
    __builtin_memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, Real);
#endif
}
inline void narrow(float *p, Real x) {
    Single v = __builtin_convertvector(x, Single);
    __builtin_memcpy(p, &v, sizeof v);
}
#else
inline Real widened(const float *p) { return *p; }
inline void narrow(float *p, Real x) { *p = float(x); }
#endif

constexpr double INVERSE_FACTORIAL[] = {1, 1, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720};

// e^t to the digits of a float, |t| <= NEAR_ODDS: the series of softmax.inl as far as r^7.
inline Real rough_exponential(Real t) {
    Real shifted = t * splat(LOG2E) + splat(ROUNDER), k = shifted - splat(ROUNDER);
    Real r = (t - k * splat(LN2_HIGH)) - k * splat(LN2_LOW), y = splat(1.0 / 5040);
    for (int n = 6; n >= 0; --n) y = y * r + splat(INVERSE_FACTORIAL[n]);
    return y * as<Real>((as<Bits>(shifted) << 52) + as<Bits>(splat(1.0)));
}

// e^(sign * term) of all columns as floats, and the largest |term|, tile by tile: (tiles, columns, others, SELECT_TILE) and
// (tiles, columns), so that trying columns reads memory in one stream.
void selection_factors(const double *terms, double sign, int64_t rows, int64_t columns, int64_t others, float *factor,
                       double *reach) {
    for (int64_t from = 0; from < rows; from += SELECT_TILE)
        for (int64_t j = 0; j < columns; ++j) {
            Real far = splat(0.0);
            for (int64_t c = 0; c < others; ++c, factor += SELECT_TILE)
                for (int64_t i = 0; i < least(SELECT_TILE, rows - from); i += LANES) {
                    const double *term = terms + (j * others + c) * rows + from + i;
                    __builtin_prefetch(term + rows, 0, 2);  // the next class or column
                    Real d = splat(sign) * load(term);
                    far = larger(magnitude(d), far);
                    narrow(factor + i, rough_exponential(larger(splat(-NEAR_ODDS), smaller(splat(NEAR_ODDS), d))));
                }
            *reach++ = largest(far);
        }
}

// Totals 1 + sum of odds * factor of a tile; so many of them may be multiplied before their exponent is taken apart.
// What is read next is another tile of another column: memory is asked for it meanwhile.
template <int OTHERS>  // how many there are, 0 for any number
inline void quick_tile(const double *odds, const float *factor, const float *next, Others o, const double *weights,
                       int64_t rows, int64_t times, Tally &t) {
    for (int64_t s = 0; s < STRANDS; s += LANES) {
        Real product = load(t.product + s), power = load(t.power + s), sum = load(t.sum + s);
        int64_t left = times;
        for (int64_t i = s; i < rows; i += STRANDS) {
            Real total = splat(1.0);
            for (int64_t c = 0; c < (OTHERS ? OTHERS : o.count); ++c) {
                total += load(odds + c * o.step + i) * widened(factor + c * SELECT_TILE + i);
                if (i % 16 == 0) __builtin_prefetch(next + c * SELECT_TILE + i, 0, 2);
            }
            if (weights) {
                sum += load(weights + i) * logarithm(total);
            } else {
                product *= total;
                if (--left == 0) Tally::settle(product, power), left = times;
            }
        }
        Tally::settle(product, power);
        store(t.product + s, product);
        store(t.power + s, power);
        store(t.sum + s, sum);
    }
}

// The log score with each candidate, to the digits of floats: no exponential is taken where e^d is a product of two that
// are known.
Status selection_approximate(const double *there, const double *terms, double sign, int64_t rows, int64_t columns,
                             int64_t others, const double *truth, const double *weights, const double *odds,
                             const double *reach, const float *factor, const double *reaches, const int64_t *candidates,
                             int64_t count, double *out) {
    Scratch scratch(count * int64_t(sizeof(Tally)));
    Tally *tally = scratch.as<Tally>();
    if (!scratch.data) return Status::memory;
    for (int64_t j = 0; j < count; ++j) tally[j].clear();
    Others o = {others, rows};
    auto run = others == 1 ? quick_tile<1> : others == 2 ? quick_tile<2> : quick_tile<0>;
    for (int64_t tile = 0; tile * SELECT_TILE < rows; ++tile)
        for (int64_t j = 0; j < count; ++j) {
            int64_t from = tile * SELECT_TILE, to = least(from + SELECT_TILE, rows), place = tile * columns + candidates[j];
            int64_t next = to == rows || j + 1 < count ? tile * columns + candidates[least(j + 1, count - 1)]
                                                       : (tile + 1) * columns + candidates[0];
            double far = reaches[place], bits = (far + reach[tile]) * LOG2E + double(32 - __builtin_clz(unsigned(others) + 1));
            if (far <= NEAR_ODDS && reach[tile] <= FAR_ODDS)
                run(odds + from, factor + place * others * SELECT_TILE, factor + next * others * SELECT_TILE, o,
                    weights ? weights + from : nullptr, to - from, most(1, least(64, int64_t(1000 / bits))), tally[j]);
            else tally_tile(there, terms + candidates[j] * others * rows, sign, o, truth, weights, from, to, nullptr, tally[j]);
        }
    for (int64_t j = 0; j < count; ++j) tally[j].finish(out + j, nullptr);
    return Status::fine;
}

// Adds the log-odds of the other classes against the true one, from log densities of at least -floor: class c of the
// others from out + c * step on.
void log_odds(Grid terms, const int32_t *groups, int64_t rows, int64_t classes, double floor, double *out, int64_t step) {
    auto bounded = [&](int64_t i, int64_t k) { return cell(terms, i, k) > -floor ? cell(terms, i, k) : -floor; };
    for (int64_t i = 0; i < rows; ++i) {
        double own = bounded(i, groups[i]);
        for (int64_t k = 0, c = 0; k < classes; ++k)
            if (k != groups[i]) out[c++ * step + i] += bounded(i, k) - own;
    }
}

}}  // namespace bayeskit::search
