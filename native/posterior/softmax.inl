// Bayes' rule by rows: posterior = exp(joint - log of the sum of exp(joint)), without libm.
namespace bayeskit::posterior { namespace {

// LANES rows, one to a lane; class k of them lies at from + k * apart. Writes the exponentials (or the shifted logs) of
// class k to x + k * step.
struct Sum {
    Real top, level, sum;

    inline Sum(const double *from, int64_t apart, double *x, int64_t step, int64_t classes, bool log) {
        Real rest = splat(0.0);
        sum = rest;
        top = load(from);
        for (int64_t k = 1; k < classes; ++k) top = larger(load(from + k * apart), top);
        level = select(equal(top, splat(-INFINITE)), splat(0.0), top);
        // The sum keeps its rounding errors (TwoSum): with thousands of classes it is still right to an ulp.
        for (int64_t k = 0; k < classes; ++k) {
            Real shifted = load(from + k * apart) - level, e = exponential(shifted), total = sum + e, part = total - sum;
            rest += (sum - (total - part)) + (e - part);
            sum = total;
            store(x + k * step, log ? shifted : e);
        }
        sum += rest;
    }
};

// Rows [at, at + rows) of a matrix to a tile, class k from tile + k * step on; the lanes left over are zero.
// Classes outermost: they may be few, and short inner loops are slow.
inline void turn_in(Grid from, int64_t at, int64_t rows, int64_t classes, double *tile, int64_t step) {
    for (int64_t k = 0; k < classes; ++k) {
        for (int64_t i = 0; i < rows; ++i) tile[k * step + i] = cell(from, at + i, k);
        for (int64_t i = rows; i % LANES; ++i) tile[k * step + i] = 0.0;
    }
}

int64_t softmax(Grid joint, int64_t rows, int64_t classes, bool log, double *evidence, double *out) {
    // Several vectors of rows at once: a vector is not read just after its lanes were written, and the long chains
    // of one logarithm run beside those of the next.
    constexpr int64_t MOST = 64;
    int64_t tile = classes <= 64 ? MOST : LANES, impossible = 0;
    Scratch scratch(classes * 8 * tile);
    double *x = scratch.as<double>();
    if (!scratch.data) return -1;
    for (int64_t from = 0; from < rows; from += tile) {
        int64_t n = least(tile, rows - from), apart = tile;
        const double *given = x;
        if (joint.row == 1 && n == tile) {  // class by class already
            given = &cell(joint, from, 0);
            apart = joint.column;
        } else turn_in(joint, from, n, classes, x, tile);
        double top[MOST], level[MOST], sum[MOST];
        for (int64_t i = 0; i < n; i += LANES) {
            Sum s(given + i, apart, x + i, tile, classes, log);
            store(top + i, s.top);
            store(level + i, s.level);
            store(sum + i, s.sum);
        }
        if (!log) {
            double share[MOST];  // one division for all classes
            for (int64_t i = 0; i < n; i += LANES) store(share + i, splat(1.0) / load(sum + i));
            for (int64_t k = 0; k < classes; ++k)
                for (int64_t i = k * tile, r = 0; r < n; i += LANES, r += LANES) store(x + i, load(x + i) * load(share + r));
        }
        if (log || evidence)
            for (int64_t i = 0; i < n; i += LANES) store(sum + i, logarithm(load(sum + i)));
        if (log)
            for (int64_t k = 0; k < classes; ++k)
                for (int64_t i = k * tile, r = 0; r < n; i += LANES, r += LANES) store(x + i, load(x + i) - load(sum + r));
        double *block = out + from * classes;
        for (int64_t k = 0; k < classes; ++k)
            for (int64_t i = 0; i < n; ++i) block[i * classes + k] = x[k * tile + i];
        for (int64_t i = 0; i < n; ++i) {
            if (evidence) evidence[from + i] = level[i] + sum[i];
            if (top[i] == -INFINITE) {
                ++impossible;
                for (int64_t k = 0; k < classes; ++k) block[i * classes + k] = -INFINITE;
                if (evidence) evidence[from + i] = -INFINITE;
            }
        }
    }
    return impossible;
}

}}  // namespace bayeskit::posterior
