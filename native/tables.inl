// Counts of level codes by group: tables of any number of columns.
namespace {

// Codes at most size - 1 and at least -2, for every column used by a table.
inline Status check_codes(Codes codes, Tables t) {
    for (int64_t u = t.start[0]; u < t.start[t.count]; ++u) {
        const int32_t *code = codes.data + t.columns[u] * codes.rows;
        int32_t largest = -2, smallest = -2;
        for (int64_t i = 0; i < codes.rows; ++i) {
            largest = code[i] > largest ? code[i] : largest;
            smallest = code[i] < smallest ? code[i] : smallest;
        }
        if (largest >= t.size[t.columns[u]] || smallest < -2) return Status::code;
    }
    return Status::fine;
}

Status count(Codes codes, const int32_t *groups, const double *weights, int64_t n_groups, Tables t, Sums s) {
    Status status = check_rows(groups, weights, codes.rows, n_groups);
    if (status == Status::fine) status = check_codes(codes, t);
    if (status != Status::fine) return status;
    bool good = true;
    for (int64_t u = 0; u < t.count; ++u)
        for (int64_t i = 0; i < codes.rows; ++i) {
            if (groups[i] < 0) continue;
            int64_t cell = 0;
            bool known = true;
            for (int64_t a = t.start[u]; a < t.start[u + 1]; ++a) {
                int32_t code = codes.data[t.columns[a] * codes.rows + i];
                known &= code >= 0;
                cell = cell * t.size[t.columns[a]] + code;
            }
            if (known) good &= add(s, groups[i] * t.cells + t.offset[u] + cell, weights ? weights[i] : 1.0);
        }
    return good ? Status::fine : Status::window;
}

}  // namespace
