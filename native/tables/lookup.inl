// Adds table entries by level code: log densities of categorical columns.
namespace bayeskit::tables { namespace {

// Codes of every table's column must lie in [-2, size - 2): size counts the two cells in front.
inline bool codes_fit(Codes codes, const int32_t *columns, const int64_t *size, int64_t tables) {
    for (int64_t t = 0; t < tables; ++t) {
        const int32_t *code = codes.data + columns[t] * codes.rows;
        int32_t largest = -2, smallest = -2;
        for (int64_t i = 0; i < codes.rows; ++i) {
            largest = code[i] > largest ? code[i] : largest;
            smallest = code[i] < smallest ? code[i] : smallest;
        }
        if (smallest < -2 || (codes.rows && largest + int64_t(2) >= size[t])) return false;
    }
    return true;
}

// Adds four tables (in their order) to n rows of `step` doubles; V vectors to a row, or step / LANES if V is 0.
template <int V>
inline void add_four(double *total, int64_t n, int64_t step, const int32_t *const *code, const double *const *from) {
    int64_t vectors = V ? V : step / LANES;
    for (int64_t i = 0; i < n; ++i) {
        const double *a = from[0] + code[0][i] * step, *b = from[1] + code[1][i] * step;
        const double *c = from[2] + code[2][i] * step, *d = from[3] + code[3][i] * step;
        double *sum = total + i * step;
        for (int64_t v = 0; v < vectors * LANES; v += LANES)
            store(sum + v, (((load(sum + v) + load(a + v)) + load(b + v)) + load(c + v)) + load(d + v));
    }
}

template <int V> inline void add_one(double *total, int64_t n, int64_t step, const int32_t *code, const double *from) {
    int64_t vectors = V ? V : step / LANES;
    for (int64_t i = 0; i < n; ++i) {
        const double *a = from + code[i] * step;
        for (int64_t v = 0; v < vectors * LANES; v += LANES)
            store(total + i * step + v, load(total + i * step + v) + load(a + v));
    }
}

// Rows of the table are padded to whole vectors (step doubles), so that a row of out is a few vectors too.
template <int V>
inline void add_tables(Codes codes, const int32_t *columns, const int64_t *offset, int64_t tables, const double *padded,
                       int64_t step, int64_t classes, Grid out, double *total, int64_t tile) {
    for (int64_t at = 0; at < codes.rows; at += tile) {
        int64_t n = least(tile, codes.rows - at), t = 0;
        for (int64_t i = 0; i < n; ++i)
            for (int64_t k = 0; k < classes; ++k) total[i * step + k] = cell(out, at + i, k);
        auto code = [&](int64_t u) { return codes.data + columns[u] * codes.rows + at; };
        auto from = [&](int64_t u) { return padded + (offset[u] + 2) * step; };
        for (; t + 4 <= tables; t += 4) {
            const int32_t *c[] = {code(t), code(t + 1), code(t + 2), code(t + 3)};
            const double *f[] = {from(t), from(t + 1), from(t + 2), from(t + 3)};
            add_four<V>(total, n, step, c, f);
        }
        for (; t < tables; ++t) add_one<V>(total, n, step, code(t), from(t));
        for (int64_t i = 0; i < n; ++i)
            for (int64_t k = 0; k < classes; ++k) cell(out, at + i, k) = total[i * step + k];
    }
}

Status lookup_tables(Codes codes, const int32_t *columns, const int64_t *offset, const int64_t *size, int64_t tables,
                     const double *table, int64_t cells, int64_t classes, Grid out) {
    if (!codes_fit(codes, columns, size, tables)) return Status::code;
    int64_t step = (classes + LANES - 1) / LANES * LANES, tile = most(1, 2048 / step);
    if (codes.rows < cells / 8 + 4) {  // few rows: padding the table would cost more than it saves
        for (int64_t i = 0; i < codes.rows; ++i)
            for (int64_t t = 0; t < tables; ++t) {
                const double *from = table + (offset[t] + codes.data[columns[t] * codes.rows + i] + 2) * classes;
                for (int64_t k = 0; k < classes; ++k) cell(out, i, k) += from[k];
            }
        return Status::fine;
    }
    Scratch pad(cells * step * 8), sums(tile * step * 8);
    if (!pad.data || !sums.data) return Status::memory;
    double *padded = pad.as<double>(), *total = sums.as<double>();
    for (int64_t i = 0; i < tile * step; ++i) total[i] = 0;
    for (int64_t c = 0; c < cells; ++c)
        for (int64_t k = 0; k < step; ++k) padded[c * step + k] = k < classes ? table[c * classes + k] : 0.0;
    auto run = step == LANES       ? add_tables<1>
               : step == 2 * LANES ? add_tables<2>
               : step == 3 * LANES ? add_tables<3>
                                   : add_tables<0>;
    run(codes, columns, offset, tables, padded, step, classes, out, total, tile);
    return Status::fine;
}

}}  // namespace bayeskit::tables
