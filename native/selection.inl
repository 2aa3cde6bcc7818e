// Attribute choice: how well rows are foretold once a column's terms are added to, or taken from, what is there.
namespace {

constexpr double WORST = 690.0;  // nats: what a row counts at most, so that one impossible row does not decide alone
constexpr int64_t SLOTS = 8;     // sums by row modulo this, whatever the number of lanes: the same bits everywhere

// For candidate column j: sums over rows of w log(1 + sum over other classes of e^d), d = there + sign * terms[j], the
// log-odds of the others against the true class; and of w where one of them wins (in a tie the first class does).
struct Tally {
    double product[SLOTS], power[SLOTS], sum[SLOTS], wrong[SLOTS];
};

inline void tally_rows(const double *there, const double *term, double sign, int64_t others, int64_t step,
                       const double *truth, const double *w, int64_t first, Tally &t) {
    for (int64_t s = 0; s < SLOTS; s += LANES) {
        Real total = splat(1.0), wrong = splat(0.0), own = load(truth + first + s);
        for (int64_t c = 0; c < others; ++c) {
            Real d = load(there + c * step + first + s) + splat(sign) * load(term + c * step + first + s);
            d = larger(splat(-WORST), smaller(splat(WORST), d));
            // class c of the others stands before the true class if c < truth, and then wins a tie
            Real ahead = select(less(splat(double(c)), own), splat(-0x1p-1074), splat(0.0));
            wrong = select(less(ahead, d), splat(1.0), wrong);
            total += exponential(d);
        }
        if (w) {
            Real weight = load(w + first + s);
            store(t.sum + s, load(t.sum + s) + weight * logarithm(total));
            store(t.wrong + s, load(t.wrong + s) + weight * wrong);
        } else {  // the product of all totals, its exponent kept apart
            Bits b = as<Bits>(load(t.product + s) * total);
            Real e = as<Real>((b >> 52) + as<Bits>(splat(ROUNDER))) - splat(ROUNDER + 1023.0);
            store(t.power + s, load(t.power + s) + e);
            store(t.product + s, as<Real>((b & splat_bits(0xfffffffffffffull)) | splat_bits(uint64_t(1023) << 52)));
            store(t.wrong + s, load(t.wrong + s) + wrong);
        }
    }
}

Status selection(const double *there, const double *terms, double sign, int64_t rows, int64_t step, int64_t others,
                 const double *truth, const double *weights, const int64_t *candidates, int64_t count, double *out) {
    constexpr int64_t TILE = 512;
    Scratch scratch(count * int64_t(sizeof(Tally)));
    Tally *tally = scratch.as<Tally>();
    if (!scratch.data) return Status::memory;
    for (int64_t j = 0; j < count; ++j)
        for (int64_t s = 0; s < SLOTS; ++s)
            tally[j].product[s] = 1, tally[j].power[s] = tally[j].sum[s] = tally[j].wrong[s] = 0;
    for (int64_t from = 0; from < rows; from += TILE)
        for (int64_t j = 0; j < count; ++j)
            for (int64_t i = from; i < least(from + TILE, rows); i += SLOTS)
                tally_rows(there, terms + candidates[j] * others * step, sign, others, step, truth, weights, i, tally[j]);
    for (int64_t j = 0; j < count; ++j) {
        double sum = 0, wrong = 0;
        for (int64_t s = 0; s < SLOTS; ++s) {
            double log = lane(logarithm(splat(tally[j].product[s])), 0);
            sum += tally[j].sum[s] + tally[j].power[s] * (LN2_HIGH + LN2_LOW) + log;
            wrong += tally[j].wrong[s];
        }
        out[2 * j] = -sum;
        out[2 * j + 1] = wrong;
    }
    return Status::fine;
}

}  // namespace
