// Finds the cells of values on an even grid.
namespace bayeskit::counts { namespace {

// For every row the identity of the cell its value is in; NOT_COUNTED where it is missing or the row has no group or
// weight, UNKNOWN where the grid does not tell. How many are unknown; -1 if a value is infinite.
int64_t find_cells(uint64_t address, int64_t stride, int64_t rows, const int32_t *group, const double *weight, CellGrid g,
                   int32_t *code) {
    int64_t unknown = 0;
    int32_t good = 1;
    for (int64_t from = 0; from < rows; from += CELL_TILE) {
        int64_t n = least(CELL_TILE, rows - from);
        double value[CELL_TILE];
        int32_t there[CELL_TILE], place[CELL_TILE], missed = 0;
        for (int64_t i = 0; i < n; ++i) value[i] = number_at(address, (from + i) * stride);
        for (int64_t i = 0; i < n; ++i) {
            int32_t finite = value[i] - value[i] == 0, missing = value[i] != value[i];
            good &= finite | missing;
            there[i] = finite & (group[from + i] >= 0);
        }
        if (weight)
            for (int64_t i = 0; i < n; ++i) there[i] &= weight[from + i] > 0;
        for (int64_t i = 0; i < n; ++i) {
            double t = value[i] * g.scale, at = __builtin_ceil(t) - g.low;
            at = t > g.low ? at : 0.0;
            at = t <= g.high ? at : 0.0;
            place[i] = int32_t(t != 0 || value[i] == 0 ? at : 0.0);  // t is exact but where it underflows
        }
        for (int64_t i = 0; i < n; ++i) {
            int32_t id = there[i] ? g.near[place[i]] : NOT_COUNTED;
            missed += id == UNKNOWN;
            code[from + i] = id;
        }
        unknown += missed;
    }
    return good ? unknown : -1;
}

}}  // namespace bayeskit::counts
