// Counts of many pairs of columns: the raw material of every tree and network search.
//
// Rows are put in the order of their groups, each group from a new word of 64 bits on. Then every level of every
// column is a plane of bits, and a cell of a pair is popcount(plane of a & plane of b): 64 rows at a time. Where a
// column has no missing values its last level needs no work: it is what the others leave of the whole.
namespace bayeskit::counts { namespace {

#if defined(__POPCNT__) || defined(__aarch64__)
constexpr double WORD_COST = 0.35;  // of one word of one cell, in units of counting one row directly
#else
constexpr double WORD_COST = 3.0;
#endif
constexpr double BUILD_COST = 1.5;  // of one row of a column whose planes are built, in the same units
constexpr int64_t SPAN_ROWS = 32768;

// Levels up to which the codes of 64 rows are compared with each level at once; beyond, every row sets its bit.
#if defined(__AVX512BW__)
constexpr int64_t COMPARED = 64;
inline uint64_t equal_bytes(const uint8_t *code, uint8_t level) {
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(code), _mm512_set1_epi8(char(level)));
}
#elif defined(__AVX2__)
constexpr int64_t COMPARED = 32;
inline uint64_t equal_bytes(const uint8_t *code, uint8_t level) {
    __m256i v = _mm256_set1_epi8(char(level));
    auto half = [&](const uint8_t *p) {
        __m256i same = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *) p), v);
        return uint64_t(uint32_t(_mm256_movemask_epi8(same)));
    };
    return half(code) | half(code + 32) << 32;
}
#else
constexpr int64_t COMPARED = 0;
inline uint64_t equal_bytes(const uint8_t *, uint8_t) { return 0; }
#endif

// The planes of a span: level v of column j from plane[j] + v * words on; null for columns without planes.
struct Planes {
    uint64_t *data;
    uint64_t **plane;
    int64_t *margin;    // (column, group, level) counts, from first[j] on
    int64_t *first;
    bool *full;         // no missing value in any counted row
    int64_t *word;      // group g has the words [word[g], word[g + 1])
    int64_t words, groups;

    int64_t *margins(int64_t j, int64_t g, int64_t size) const { return margin + first[j] + g * size; }

    // One column, 64 rows at a time, through one word per level.
    void build(const int32_t *code, int64_t j, int64_t size, const Order &o, uint64_t *level) {
        full[j] = true;
        for (int64_t g = 0; g < groups; ++g) {
            int64_t *sum = margins(j, g, size);
            for (int64_t v = 0; v < size; ++v) sum[v] = 0;
            int64_t k = o.start[g], end = o.start[g + 1];
            for (int64_t w = word[g]; w < word[g + 1]; ++w) {
                int n = int(least(64, end - k));
                if (size + 2 <= COMPARED) {
                    uint8_t place[64];
                    for (int b = 0; b < n; ++b) place[b] = uint8_t(code[o.row[k + b]] + 2);
                    for (int b = n; b < 64; ++b) place[b] = 255;
                    for (int64_t v = 0; v < size + 2; ++v) level[v] = equal_bytes(place, uint8_t(v));
                } else {
                    for (int64_t v = 0; v < size + 2; ++v) level[v] = 0;
                    for (int b = 0; b < n; ++b) level[code[o.row[k + b]] + 2] |= uint64_t(1) << b;
                }
                k += n;
                full[j] &= !(level[0] | level[1]);
                for (int64_t v = 0; v < size; ++v) {
                    plane[j][v * words + w] = level[v + 2];
                    sum[v] += __builtin_popcountll(level[v + 2]);
                }
            }
        }
    }
};

// Cells of A levels of a and B of b over some words; planes of a column lie `words` apart, counts `size` apart.
template <int A, int B>
inline void intersect(const uint64_t *a, const uint64_t *b, int64_t words, int64_t n, int64_t *out, int64_t size) {
    int64_t sum[A][B] = {};
    for (int64_t w = 0; w < n; ++w)
        for (int i = 0; i < A; ++i)
            for (int j = 0; j < B; ++j) sum[i][j] += __builtin_popcountll(a[i * words + w] & b[j * words + w]);
    for (int i = 0; i < A; ++i)
        for (int j = 0; j < B; ++j) out[i * size + j] = sum[i][j];
}

// The same eight words at a time, for processors that count the bits of vectors.
#if defined(__AVX512F__)
template <int A, int B>
__attribute__((target("avx512vpopcntdq"))) void intersect_wide(const uint64_t *a, const uint64_t *b, int64_t words, int64_t n,
                                                               int64_t *out, int64_t size) {
    __m512i sum[A][B];
    for (int i = 0; i < A; ++i)
        for (int j = 0; j < B; ++j) sum[i][j] = _mm512_setzero_si512();
    for (int64_t w = 0; w < n; w += 8) {
        __mmask8 some = n - w < 8 ? __mmask8((1 << (n - w)) - 1) : __mmask8(255);
        __m512i x[A], y[B];
        for (int i = 0; i < A; ++i) x[i] = _mm512_maskz_loadu_epi64(some, a + i * words + w);
        for (int j = 0; j < B; ++j) y[j] = _mm512_maskz_loadu_epi64(some, b + j * words + w);
        for (int i = 0; i < A; ++i)
            for (int j = 0; j < B; ++j)
                sum[i][j] = _mm512_add_epi64(sum[i][j], _mm512_popcnt_epi64(_mm512_and_si512(x[i], y[j])));
    }
    for (int i = 0; i < A; ++i)
        for (int j = 0; j < B; ++j) {
            int64_t part[8];
            _mm512_storeu_si512(part, sum[i][j]);
            out[i * size + j] = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
        }
}
inline bool is_wide() { return __builtin_cpu_supports("avx512vpopcntdq"); }
#else
template <int A, int B> constexpr auto intersect_wide = intersect<A, B>;
inline bool is_wide() { return false; }
#endif

inline void intersect_all(const uint64_t *a, int64_t na, const uint64_t *b, int64_t nb, int64_t words, int64_t n, int64_t *out,
                          int64_t size) {
    using Step = void (*)(const uint64_t *, const uint64_t *, int64_t, int64_t, int64_t *, int64_t);
    static constexpr Step narrow[3][3] = {{intersect<1, 1>, intersect<1, 2>, intersect<1, 3>},
                                          {intersect<2, 1>, intersect<2, 2>, intersect<2, 3>},
                                          {intersect<3, 1>, intersect<3, 2>, intersect<3, 3>}};
    static constexpr Step wide[3][3] = {{intersect_wide<1, 1>, intersect_wide<1, 2>, intersect_wide<1, 3>},
                                        {intersect_wide<2, 1>, intersect_wide<2, 2>, intersect_wide<2, 3>},
                                        {intersect_wide<3, 1>, intersect_wide<3, 2>, intersect_wide<3, 3>}};
    const auto &step = n > 8 && is_wide() ? wide : narrow;
    for (int64_t i = 0; i < na; i += 3)
        for (int64_t j = 0; j < nb; j += 3)
            step[least(3, na - i) - 1][least(3, nb - j) - 1](a + i * words, b + j * words, words, n, out + i * size + j, size);
}

// One pair in one group, into out (la, lb).
inline void count_pair(const Planes &p, int64_t a, int64_t la, int64_t b, int64_t lb, int64_t g, int64_t *out) {
    int64_t from = p.word[g], n = p.word[g + 1] - from, na = la - p.full[a], nb = lb - p.full[b];
    intersect_all(p.plane[a] + from, na, p.plane[b] + from, nb, p.words, n, out, lb);
    const int64_t *of_a = p.margins(a, g, la), *of_b = p.margins(b, g, lb);
    if (na < la)
        for (int64_t j = 0; j < nb; ++j) {
            int64_t rest = of_b[j];
            for (int64_t i = 0; i < na; ++i) rest -= out[i * lb + j];
            out[na * lb + j] = rest;
        }
    if (nb < lb)
        for (int64_t i = 0; i < la; ++i) {
            int64_t rest = of_a[i];
            for (int64_t j = 0; j < nb; ++j) rest -= out[i * lb + j];
            out[i * lb + nb] = rest;
        }
}

// Planes pay for a pair when its cells are few; each group costs one word more and its cells once more.
inline bool by_planes(int64_t la, int64_t lb, int64_t rows, int64_t groups) {
    return la > 0 && lb > 0 && WORD_COST * double(la * lb) * (double(rows) / 64 + 4.0 * double(groups)) < double(rows);
}

// They pay for a whole set of pairs when enough of them share the columns whose planes must be built first.
inline bool planes_pay(Tables t, const bool *used, int64_t columns, int64_t rows, int64_t groups) {
    double built = 0, direct = 0;
    for (int64_t j = 0; j < columns; ++j) built += used[j] ? BUILD_COST * double(rows) : 0.0;
    for (int64_t u = 0; u < t.count; ++u) {
        int64_t la = t.size[t.columns[2 * u]], lb = t.size[t.columns[2 * u + 1]];
        if (!by_planes(la, lb, rows, groups)) continue;
        built += WORD_COST * double(la * lb) * double(rows) / 64;
        direct += double(rows);
    }
    return built < direct;
}

Status count_pairs(Codes codes, const int32_t *groups, int64_t n_groups, Tables t, Sums s) {
    Status status = check_rows(groups, nullptr, codes.rows, n_groups);
    if (status == Status::fine) status = check_codes(codes, t);
    if (status != Status::fine) return status;
    int64_t m = codes.columns, span = least(SPAN_ROWS, most(codes.rows, 1)), levels = 0, margins = 0, widest = 1;
    Scratch uses(m + 1), places(8 * (m + 1)), pointers(8 * (m + 1)), fulls(m + 1);
    if (!uses.data || !places.data || !pointers.data || !fulls.data) return Status::memory;
    bool *used = uses.as<bool>();
    for (int64_t j = 0; j < m; ++j) used[j] = false;
    for (int64_t u = 0; u < t.count; ++u) {
        int64_t a = t.columns[2 * u], b = t.columns[2 * u + 1];
        if (by_planes(t.size[a], t.size[b], span, n_groups)) {
            used[a] = used[b] = true;
            widest = most(widest, int64_t(t.size[a]) * t.size[b]);
        }
    }
    bool pay = planes_pay(t, used, m, span, n_groups);
    for (int64_t j = 0; j < m; ++j) {
        used[j] &= pay;
        places.as<int64_t>()[j] = margins;
        if (!used[j]) continue;
        levels += t.size[j];
        margins += t.size[j] * n_groups;
        widest = most(widest, t.size[j] + int64_t(2));
    }
    int64_t words = span / 64 + n_groups + 1;
    Scratch planes(8 * levels * words), sums(8 * margins), firsts(8 * (n_groups + 1)), cells(8 * widest), rows(4 * span),
        starts(4 * (n_groups + 2)), local(4 * most(LOCAL + 1, SMALL * COPIES));
    if (!planes.data || !sums.data || !firsts.data || !cells.data || !rows.data || !starts.data || !local.data)
        return Status::memory;
    Planes p = {planes.as<uint64_t>(),
                pointers.as<uint64_t *>(),
                sums.as<int64_t>(),
                places.as<int64_t>(),
                fulls.as<bool>(),
                firsts.as<int64_t>(),
                words,
                n_groups};
    uint64_t *next = p.data;
    for (int64_t j = 0; j < m; ++j) {
        p.plane[j] = next;
        next += used[j] ? t.size[j] * words : 0;
    }
    Order order = {rows.as<int32_t>(), starts.as<int32_t>(), n_groups};
    int64_t *cell = cells.as<int64_t>();
    for (int64_t at = 0; at < codes.rows && levels; at += span) {
        order.sort(groups + at, least(span, codes.rows - at));
        p.word[0] = 0;
        for (int64_t g = 0; g < n_groups; ++g) p.word[g + 1] = p.word[g] + (order.start[g + 1] - order.start[g] + 63) / 64;
        for (int64_t j = 0; j < m; ++j)
            if (used[j]) p.build(codes.data + j * codes.rows + at, j, t.size[j], order, (uint64_t *) cell);
        for (int64_t u = 0; u < t.count; ++u) {
            int64_t a = t.columns[2 * u], b = t.columns[2 * u + 1], la = t.size[a], lb = t.size[b];
            if (!by_planes(la, lb, span, n_groups)) continue;
            for (int64_t g = 0; g < n_groups; ++g) {
                if (p.word[g] == p.word[g + 1]) continue;
                count_pair(p, a, la, b, lb, g, cell);
                int64_t *to = s.limb + (g * t.cells + t.offset[u]) * s.length - s.low;
                for (int64_t k = 0; k < la * lb; ++k) to[k * s.length] = wrapped(to[k * s.length], cell[k]);
            }
        }
    }
    for (int64_t u = 0; u < t.count; ++u) {
        int64_t a = t.columns[2 * u], b = t.columns[2 * u + 1], n = cells_in(t, u);
        if (pay && by_planes(t.size[a], t.size[b], span, n_groups)) continue;
        if (is_local(n * n_groups, codes.rows)) count_local(codes, groups, t, u, n_groups, n, s, local.as<uint32_t>());
        else count_direct(codes, groups, nullptr, t, u, s);
    }
    return Status::fine;
}

}}  // namespace bayeskit::counts
