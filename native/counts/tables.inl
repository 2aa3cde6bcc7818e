// Counts of level codes by group: tables of any number of columns.
namespace bayeskit::counts { namespace {

// Whether the codes of a column are at most size - 1 and at least -2.
inline bool good_codes(Codes codes, Tables t, int64_t j) {
    const int32_t *code = codes.data + j * codes.rows;
    int32_t largest = -2, smallest = -2;
    for (int64_t i = 0; i < codes.rows; ++i) {
        largest = code[i] > largest ? code[i] : largest;
        smallest = code[i] < smallest ? code[i] : smallest;
    }
    return largest < t.size[j] && smallest >= -2;
}

// The codes of every column used by a table, each column once.
inline Status check_codes(Codes codes, Tables t) {
    Scratch flags(codes.columns);
    if (!flags.data) return Status::memory;
    bool *seen = flags.as<bool>();
    for (int64_t j = 0; j < codes.columns; ++j) seen[j] = false;
    for (int64_t u = 0; u < t.start[t.count]; ++u) {
        int64_t j = t.columns[u];
        if (!seen[j] && !good_codes(codes, t, j)) return Status::code;
        seen[j] = true;
    }
    return Status::fine;
}

constexpr int64_t STRETCH = 1024;    // rows whose cells are worked out together
constexpr int64_t LOCAL = 1 << 16;   // cells of a table that is counted in 32 bits first
constexpr int64_t COPIES = 4;        // of a small table: equal neighbours then do not wait for each other's store
constexpr int64_t SMALL = 2048;

// cell[i] = group * cells + place in the table, or `none` where a part or the group is missing.
template <typename Int>
inline void cells_of(Codes codes, const int32_t *groups, Tables t, int64_t u, int64_t at, int64_t n, Int cells, Int none,
                     Int *cell) {
    if (t.start[u + 1] == t.start[u] + 1) {  // the usual table, in one go
        const int32_t *code = codes.data + t.columns[t.start[u]] * codes.rows + at;
        for (int64_t i = 0; i < n; ++i) {
            Int found = code[i] + groups[at + i] * cells;
            cell[i] = (code[i] | groups[at + i]) < 0 ? none : found;
        }
        return;
    }
    int32_t missing[STRETCH];
    for (int64_t i = 0; i < n; ++i) {
        cell[i] = 0;
        missing[i] = groups[at + i];
    }
    for (int64_t a = t.start[u]; a < t.start[u + 1]; ++a) {
        const int32_t *code = codes.data + t.columns[a] * codes.rows + at;
        Int size = t.size[t.columns[a]];
        for (int64_t i = 0; i < n; ++i) {
            missing[i] |= code[i];
            cell[i] = cell[i] * size + code[i];
        }
    }
    for (int64_t i = 0; i < n; ++i) {
        Int found = cell[i] + groups[at + i] * cells;
        cell[i] = missing[i] < 0 ? none : found;
    }
}

// One table through counters of 32 bits (a call has at most 2^24 rows), which then go to the limbs of 2^0.
inline void count_local(Codes codes, const int32_t *groups, Tables t, int64_t u, int64_t groups_n, int64_t cells, Sums s,
                        uint32_t *counter) {
    int64_t all = groups_n * cells + 1, copies = all <= SMALL ? COPIES : 1, far = copies > 1 ? all : 0;
    for (int64_t i = 0; i < all * copies; ++i) counter[i] = 0;
    int32_t cell[STRETCH];
    for (int64_t at = 0; at < codes.rows; at += STRETCH) {
        int64_t n = least(STRETCH, codes.rows - at), i = 0;
        cells_of<int32_t>(codes, groups, t, u, at, n, int32_t(cells), int32_t(all - 1), cell);
        for (; i + 4 <= n; i += 4) {
            ++counter[cell[i]];
            ++counter[cell[i + 1] + far];
            ++counter[cell[i + 2] + 2 * far];
            ++counter[cell[i + 3] + 3 * far];
        }
        for (; i < n; ++i) ++counter[cell[i]];
    }
    for (int64_t g = 0; g < groups_n; ++g)
        for (int64_t k = 0; k < cells; ++k) {
            int64_t sum = 0;
            for (int64_t copy = 0; copy < copies; ++copy) sum += counter[copy * all + g * cells + k];
            int64_t &to = s.limb[(g * t.cells + t.offset[u] + k) * s.length - s.low];
            to = wrapped(to, sum);
        }
}

// The two cells in front of a column's own are for codes -2 and -1, the group in front of the first for rows of none.
inline int64_t cells_of_two(Tables t, int64_t u, int64_t n_groups) {
    return (n_groups + 1) * (t.size[t.columns[t.start[u]]] + int64_t(2)) * (t.size[t.columns[t.start[u + 1]]] + int64_t(2));
}

// Tables u and u + 1, of one column each, counted as one of both columns, whose margins they are: half the additions.
// False if a code is not one of its column.
inline bool count_two(Codes codes, const int32_t *groups, Tables t, int64_t u, int64_t n_groups, Sums s, uint32_t *counter) {
    int64_t first = t.columns[t.start[u]], second = t.columns[t.start[u + 1]], all = cells_of_two(t, u, n_groups);
    uint32_t m = uint32_t(t.size[first]) + 2, n = uint32_t(t.size[second]) + 2;
    for (int64_t i = 0; i < all * COPIES; ++i) counter[i] = 0;
    uint32_t cell[STRETCH];
    for (int64_t at = 0; at < codes.rows; at += STRETCH) {
        int64_t rows = least(STRETCH, codes.rows - at), i = 0;
        const int32_t *a = codes.data + first * codes.rows + at, *b = codes.data + second * codes.rows + at;
        uint32_t wrong = 0;
        for (int64_t r = 0; r < rows; ++r) {
            uint32_t x = uint32_t(a[r]) + 2, y = uint32_t(b[r]) + 2;
            wrong |= uint32_t(x >= m) | uint32_t(y >= n);
            cell[r] = (uint32_t(groups[at + r] + 1) * m + x) * n + y;
        }
        if (wrong) return false;
        for (; i + COPIES <= rows; i += COPIES)
            for (int64_t copy = 0; copy < COPIES; ++copy) ++counter[cell[i + copy] + copy * all];
        for (; i < rows; ++i) ++counter[cell[i]];
    }
    for (int64_t g = 0; g < n_groups; ++g)
        for (uint32_t x = 0; x < m; ++x)
            for (uint32_t y = 0; y < n; ++y) {
                int64_t sum = 0, at = ((g + 1) * m + x) * n + y;
                for (int64_t copy = 0; copy < COPIES; ++copy) sum += counter[copy * all + at];
                auto add = [&](int64_t place) {
                    int64_t &to = s.limb[(g * t.cells + place) * s.length - s.low];
                    to = wrapped(to, sum);
                };
                if (x >= 2) add(t.offset[u] + x - 2);
                if (y >= 2) add(t.offset[u + 1] + y - 2);
            }
    return true;
}

// One table straight into the limbs: many cells, or weights.
inline bool count_direct(Codes codes, const int32_t *groups, const double *weights, Tables t, int64_t u, Sums s) {
    bool good = true;
    int64_t cell[STRETCH];
    for (int64_t at = 0; at < codes.rows; at += STRETCH) {
        int64_t n = least(STRETCH, codes.rows - at);
        cells_of<int64_t>(codes, groups, t, u, at, n, t.cells, -1, cell);
        for (int64_t i = 0; i < n; ++i) {
            if (cell[i] < 0) continue;
            int64_t at_cell = cell[i] + t.offset[u];
            if (weights) good &= add(s, at_cell, weights[at + i]);
            else {
                int64_t &to = s.limb[at_cell * s.length - s.low];
                to = wrapped(to, 1);
            }
        }
    }
    return good;
}

inline int64_t cells_in(Tables t, int64_t u) {
    int64_t cells = 1;
    for (int64_t a = t.start[u]; a < t.start[u + 1]; ++a) cells *= t.size[t.columns[a]];
    return cells;
}

// Counting in 32 bits pays when the rows outnumber the counters that have to be cleared and added up.
inline bool is_local(int64_t counters, int64_t rows) { return counters < LOCAL && counters < 2 * rows + 64; }

Status count_tables(Codes codes, const int32_t *groups, const double *weights, int64_t n_groups, Tables t, Sums s) {
    Status status = check_rows(groups, weights, codes.rows, n_groups);
    if (status != Status::fine) return status;
    Scratch scratch(4 * most(LOCAL + 1, SMALL * COPIES));
    if (!scratch.data) return Status::memory;
    bool good = true;
    auto single = [&](int64_t u) { return u < t.count && t.start[u + 1] == t.start[u] + 1; };
    for (int64_t u = 0; u < t.count; ++u) {
        if (!weights && single(u) && single(u + 1) && cells_of_two(t, u, n_groups) <= least(SMALL, codes.rows)) {
            if (!count_two(codes, groups, t, u, n_groups, s, scratch.as<uint32_t>())) return Status::code;
            ++u;
            continue;
        }
        // right before they are counted, while they are read anyway: what was counted so far is discarded
        for (int64_t a = t.start[u]; a < t.start[u + 1]; ++a)
            if (!good_codes(codes, t, t.columns[a])) return Status::code;
        int64_t cells = cells_in(t, u);
        if (!weights && is_local(cells * n_groups, codes.rows))
            count_local(codes, groups, t, u, n_groups, cells, s, scratch.as<uint32_t>());
        else good &= count_direct(codes, groups, weights, t, u, s);
    }
    return good ? Status::fine : Status::window;
}

}}  // namespace bayeskit::counts
