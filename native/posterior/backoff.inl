// Densities of classes backed off to that of all classes.
namespace bayeskit::posterior { namespace {

// out (rows, parts, classes) = log(mine f + rest sum over classes of share f), log f = terms; share, mine and rest are (parts,
// classes). 0 where all terms are, as a missing value says nothing; NaN where some are infinite or the sum is below 1e-280,
// and how many vectors of rows have such.
Status back_off(const double *terms, int64_t rows, int64_t parts, int64_t classes, const double *share, const double *mine,
                const double *rest, double *out, int64_t *odd) {
    Scratch room(8 * LANES * classes);
    if (!room.data) return Status::memory;
    double *part = room.as<double>();
    for (int64_t p = 0; p < parts; ++p)
        for (int64_t i = 0; i < rows; i += LANES) {
            int64_t place[LANES];
            for (int64_t l = 0; l < LANES; ++l) place[l] = (least(i + l, rows - 1) * parts + p) * classes;
            Real top = splat(-INFINITE), sum = splat(0.0), nothing = sum;
            Whole silent = less(nothing, splat(1.0));
            for (int64_t k = 0; k < classes; ++k) {
                double at[LANES];
                for (int l = 0; l < LANES; ++l) at[l] = terms[place[l] + k];
                Real t = load(at);
                store(part + k * LANES, t);
                silent = silent & equal(t, nothing);
                if (share[p * classes + k] > 0) top = larger(t, top);
            }
            for (int64_t k = 0; k < classes; ++k) {
                double weight = share[p * classes + k];
                Real f = exponential(smaller(load(part + k * LANES) - top, nothing));
                f = weight > 0 ? f : nothing;
                store(part + k * LANES, f);
                sum += splat(weight) * f;
            }
            Whole usual = equal(top - top, nothing);
            for (int64_t k = 0; k < classes; ++k) {
                Real v = splat(mine[p * classes + k]) * load(part + k * LANES) + splat(rest[p * classes + k]) * sum;
                Whole good = usual & less(splat(1e-280), v);
                Real log = logarithm(select(good, v, splat(1.0))) + top, none = splat(__builtin_nan(""));
                Real found = select(silent, nothing, select(good, log, none));
                *odd += any(differs(found, found));
                for (int l = 0; l < LANES && i + l < rows; ++l) out[place[l] + k] = lane(found, l);
            }
        }
    return Status::fine;
}

}}  // namespace bayeskit::posterior
