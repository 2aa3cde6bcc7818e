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

// LANES values of a column from row i on; beyond the end the last.
inline Real column_values(const Columns &columns, int64_t j, int64_t i) {
    const char *from = (const char *) uintptr_t(columns.address[j]);
    if (i + LANES <= columns.rows) return load_apart(from + i * columns.stride[j], columns.stride[j]);
    double rest[LANES];
    for (int l = 0; l < LANES; ++l) __builtin_memcpy(rest + l, from + least(i + l, columns.rows - 1) * columns.stride[j], 8);
    return load(rest);
}

// What a formula needs of x beside its numbers: which lanes have a value it takes, logarithms of x and of 1 - x.
struct Values {
    Real x, log, log_rest;
    Whole there;

    inline Values(int32_t kind, Real value) : x(value), log(splat(0.0)), log_rest(log), there(equal(value, value)) {
        Real zero = splat(0.0), one = splat(1.0);
        if (kind == FormulaKind::EXPONENTIAL) there = there & ~less(x, zero);
        if (kind == FormulaKind::LOG_NORMAL || kind == FormulaKind::GAMMA || kind == FormulaKind::BETA) {
            there = there & less(zero, x);
            if (kind == FormulaKind::BETA) there = there & less(x, one);
            log = logarithm(select(there, x, one));
            if (kind == FormulaKind::BETA) log_rest = logarithm(one - select(there, x, splat(0.5)));
        }
    }
    // Where the logarithms are right: subnormal numbers have other ones.
    inline Whole regular() const { return ~there | less(splat(1e-300), magnitude(x)) | equal(x, splat(0.0)); }

    inline Real term(int32_t kind, Real a, Real b, Real c) const {
        Real z = ((kind == FormulaKind::NORMAL ? x : log) - a) * b;
        switch (kind) {
        case FormulaKind::NORMAL: return c - splat(0.5) * z * z;
        case FormulaKind::LOG_NORMAL: return c - splat(0.5) * z * z - log;
        case FormulaKind::EXPONENTIAL: return c + a * x;
        case FormulaKind::GAMMA: return c + a * x + b * log;
        default: return c + a * log + b * log_rest;
        }
    }
};

// The sums over columns of log(mine f + rest sum over classes of share f) are logarithms of products, which are kept as a
// number from 1 to 2 and a power of 2: one logarithm for each class and row. A row for which doubles do not do gets NaN.
Status backed_off_sums(Columns columns, BackedOffColumns p, double *out, int64_t *odd) {
    int64_t K = p.classes, rows = columns.rows;
    Scratch room(8 * LANES * 4 * K);
    if (!room.data) return Status::memory;
    double *part = room.as<double>(), *product = part + K * LANES, *power = product + K * LANES, *own = power + K * LANES;
    Real zero = splat(0.0), one = splat(1.0);
    Bits mantissa = splat_bits(0xfffffffffffffull);
    for (int64_t i = 0; i < rows; i += LANES) {
        int64_t size = least(LANES, rows - i);
        Real level = zero;
        Whole good = equal(zero, zero);
        for (int64_t k = 0; k < K; ++k) {
            store(product + k * LANES, one);
            store(power + k * LANES, zero);
            store(own + k * LANES, zero);
        }
        for (int64_t j = 0; j < p.formula + p.given; ++j) {
            const double *share = p.weight + j * 3 * K, *mine = share + K, *rest = mine + K;
            Real top = splat(-INFINITE), sum = zero;
            Whole there;
            if (j < p.formula) {
                int32_t kind = p.kind[j];
                Real x = column_values(columns, j, i);
                if (kind == FormulaKind::COUNTS) {
                    for (int l = 0; l < size; ++l) {
                        double v = lane(x, l);
                        if (!(v >= 0) || (v < 1e15 && double(int64_t(v)) != v)) continue;
                        if (!(v < double(p.offset[j + 1] - p.offset[j]))) {
                            for (int64_t k = 0; k < K; ++k) own[k * LANES + l] = __builtin_nan("");
                            continue;
                        }
                        const double *from = p.table + (p.offset[j] + int64_t(v)) * K;
                        for (int64_t k = 0; k < K; ++k) own[k * LANES + l] += from[k];
                    }
                    continue;
                }
                Values values(kind, x);
                const double *a = p.number + j * 3 * K, *b = a + K, *c = b + K;
                for (int64_t k = 0; k < K; ++k) {
                    Real t = values.term(kind, splat(a[k]), splat(b[k]), splat(c[k]));
                    store(part + k * LANES, t);
                    if (share[k] > 0) top = larger(t, top);
                }
                there = values.there;
                if (kind != FormulaKind::NORMAL) good = good & values.regular();
            } else {
                const double *from = p.known + ((j - p.formula) * rows + i) * K;
                Whole silent = equal(zero, zero);
                for (int64_t k = 0; k < K; ++k) {
                    double at[LANES];
                    for (int64_t l = 0; l < LANES; ++l) at[l] = from[least(l, size - 1) * K + k];
                    Real t = load(at);
                    store(part + k * LANES, t);
                    silent = silent & equal(t, zero);
                    if (share[k] > 0) top = larger(t, top);
                }
                there = ~silent;
            }
            for (int64_t k = 0; k < K; ++k) {
                if (!(share[k] > 0)) {
                    store(part + k * LANES, zero);
                    continue;
                }
                Real f = exponential(smaller(load(part + k * LANES) - top, zero));
                store(part + k * LANES, f);
                sum += splat(share[k]) * f;
            }
            good = good & (~there | less(magnitude(top), splat(1e290)));
            level += keep(there, top);
            for (int64_t k = 0; k < K; ++k) {
                Real v = splat(mine[k]) * load(part + k * LANES) + splat(rest[k]) * sum;
                Whole fine = less(splat(1e-280), v);
                good = good & (~there | fine);
                Bits b = as<Bits>(load(product + k * LANES) * select(there & fine, v, one));
                store(product + k * LANES, as<Real>((b & mantissa) | as<Bits>(one)));
                Bits raised = as<Bits>(load(power + k * LANES)) + (b >> 52) - splat_bits(1023);
                store(power + k * LANES, as<Real>(raised));
            }
        }
        for (int64_t k = 0; k < K; ++k) {
            Bits raised = as<Bits>(load(power + k * LANES)) + as<Bits>(splat(ROUNDER));
            Real e = as<Real>(raised) - splat(ROUNDER), log = logarithm(load(product + k * LANES));
            Real found = (e * splat(LN2_HIGH) + (level + load(own + k * LANES))) + (e * splat(LN2_LOW) + log);
            found = select(good, found, splat(__builtin_nan("")));
            for (int64_t l = 0; l < size; ++l) {
                out[(i + l) * K + k] = lane(found, int(l));
                *odd += lane(found, int(l)) != lane(found, int(l));
            }
        }
    }
    return Status::fine;
}

}}  // namespace bayeskit::posterior
