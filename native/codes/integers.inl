// Integers to level codes through a table per column.
namespace bayeskit::codes { namespace {

// For column j, d = v - base without sign is a place in its table if it is below size: where v < base, d is at
// least 2^63 - base, and beyond the size if that is cut to this many (no int64 lies that far above base anyway).
inline uint64_t table_size(const int64_t *base, const int64_t *start, int64_t j) {
    uint64_t size = uint64_t(start[j + 1] - start[j]), room = (uint64_t(1) << 63) - uint64_t(base[j]);
    return base[j] <= 0 || size < room ? size : room;
}

inline int32_t code_of(uint64_t v, int64_t base, uint64_t size, const int32_t *codes) {
    uint64_t d = v - uint64_t(base);
    return d < size ? codes[d] : -2;
}

constexpr int64_t STRIP = 128;  // rows of a C-order matrix that stay in the nearest cache while columns are taken out
constexpr int64_t PATCH = 8;    // rows whose places are worked out before their codes are fetched

// LANES adjacent columns, of which [from, LANES) are wanted: places in the table by vectors, codes one by one.
inline void strip_codes(const char *data, int64_t stride, int64_t rows, int from, const int64_t *base, const int64_t *start,
                        const int32_t *table, int32_t *out, int64_t step, int64_t j) {
    Bits lowest, size, first;
    for (int l = 0; l < LANES; ++l) {
        ((uint64_t *) &lowest)[l] = uint64_t(base[j + l]);
        ((uint64_t *) &size)[l] = table_size(base, start, j + l);
        ((uint64_t *) &first)[l] = uint64_t(start[j + l]);
    }
    alignas(64) uint64_t place[PATCH * LANES];
    int64_t i = 0;
    for (; i + PATCH <= rows; i += PATCH) {
        Whole known = splat(int64_t(-1));
        for (int64_t r = 0; r < PATCH; ++r) {
            Bits d = as<Bits>(load(data + (i + r) * stride)) - lowest;
            __builtin_prefetch(data + (i + r + STRIP) * stride, 0, 2);  // the next strip
            known &= below(d, size);
            store(place + r * LANES, as<Real>(d + first));
        }
        if (!any(~known)) {
            for (int l = from; l < LANES; ++l)
                for (int64_t r = 0; r < PATCH; ++r) out[l * step + i + r] = table[place[r * LANES + l]];
        } else {
            for (int l = from; l < LANES; ++l)
                for (int64_t r = 0; r < PATCH; ++r) {
                    uint64_t d = place[r * LANES + l] - uint64_t(start[j + l]);
                    out[l * step + i + r] = d < table_size(base, start, j + l) ? table[place[r * LANES + l]] : -2;
                }
        }
    }
    for (; i < rows; ++i)
        for (int l = from; l < LANES; ++l) {
            uint64_t v;
            __builtin_memcpy(&v, data + i * stride + 8 * l, 8);
            out[l * step + i] = code_of(v, base[j + l], table_size(base, start, j + l), table + start[j + l]);
        }
}

#if defined(SCALAR)
inline void store_narrow(int32_t *p, Whole v) { *p = int32_t(v); }
#else
typedef int32_t Half __attribute__((vector_size(4 * LANES)));
inline void store_narrow(int32_t *p, Whole v) {
    Half h = __builtin_convertvector(v, Half);
    __builtin_memcpy(p, &h, sizeof h);
}
#endif

// Whether the table of column j says no more than v - base: levels in order, without gaps.
inline bool counts_up(const int64_t *start, const int32_t *table, int64_t j) {
    int64_t size = start[j + 1] - start[j], wrong = 0;
    for (int64_t d = 0; d < size; ++d) wrong += table[start[j] + d] != int32_t(d);
    return !wrong;
}

// w >= LANES adjacent columns from j on whose tables count up; false if a value is in none of them.
inline bool strip_differences(const char *data, int64_t stride, int64_t rows, const int64_t *base, const uint64_t *size,
                              int64_t w, int32_t *out, int64_t step) {
    Whole known = splat(int64_t(-1));
    int64_t i = 0;
    for (; i + LANES <= rows; i += LANES) {
        const char *from = data + i * stride;
        for (int64_t r = 0; r < LANES; ++r)  // the next strip
            for (int64_t b = 0; b < 8 * w; b += 64) __builtin_prefetch(from + (STRIP + r) * stride + b, 0, 2);
        for (int64_t l = 0; l < w; l += LANES) {
            int64_t first = least(l, w - LANES);  // a narrow last panel takes columns before it once more
            Bits lowest = as<Bits>(load(base + first)), most = as<Bits>(load(size + first));
            Real v[LANES];  // moved about, never computed with
            for (int64_t r = 0; r < LANES; ++r) {
                Bits d = as<Bits>(load(from + r * stride + 8 * first)) - lowest;
                known &= below(d, most);
                v[r] = as<Real>(d);
            }
            transpose(v);
            for (int k = 0; k < LANES; ++k) store_narrow(out + (first + k) * step + i, as<Whole>(v[k]));
        }
    }
    bool every = !any(~known);
    for (; i < rows; ++i)
        for (int64_t l = 0; l < w; ++l) {
            uint64_t v;
            __builtin_memcpy(&v, data + i * stride + 8 * l, 8);
            uint64_t d = v - uint64_t(base[l]);
            every &= d < size[l];
            out[l * step + i] = int32_t(d);
        }
    return every;
}

// One column without gaps, in one stream; how many values were in no table.
inline int64_t column_codes(const char *data, int64_t rows, int64_t base, uint64_t size, const int32_t *table, bool plain,
                            int32_t *out) {
    int64_t unseen = 0;
    for (int64_t at = 0; at < rows; at += STRIP) {
        int64_t end = least(at + STRIP, rows), i = at;
        Whole known = splat(int64_t(-1));
        for (; plain && i + LANES <= end; i += LANES) {
            Bits d = as<Bits>(load(data + 8 * i)) - splat_bits(uint64_t(base));
            known &= below(d, splat_bits(size));
            store_narrow(out + i, as<Whole>(d));
        }
        int32_t missed = 0;
        for (i = any(~known) ? at : i; i < end; ++i) {
            uint64_t v;
            __builtin_memcpy(&v, data + 8 * i, 8);
            out[i] = code_of(v, base, size, table);
            missed += out[i] == -2;
        }
        unseen += missed;
    }
    return unseen;
}

int64_t integer_codes(Columns c, const int64_t *base, const int64_t *start, const int32_t *table, int32_t *out) {
    int64_t unseen = 0;
    Scratch sizes(8 * c.count), runs(8 * c.count);
    if (!sizes.data || !runs.data) return -1;
    uint64_t *size = sizes.as<uint64_t>();
    int64_t *run = runs.as<int64_t>();  // how many columns from here on can be taken together
    for (int64_t j = c.count - 1; j >= 0; --j) {
        size[j] = table_size(base, start, j);
        bool plain = LANES > 1 && start[j + 1] - start[j] <= c.rows && counts_up(start, table, j);
        run[j] = !plain ? 0 : j + 1 < c.count && adjacent(c, j, 2) == 2 ? 1 + run[j + 1] : 1;
        if (c.stride[j] == 8)
            unseen +=
                column_codes((const char *) c.address[j], c.rows, base[j], size[j], table + start[j], plain, out + j * c.rows);
    }
    for (int64_t at = 0; at < c.rows; at += STRIP) {
        int64_t rows = least(STRIP, c.rows - at);
        for (int64_t j = 0; j < c.count;) {
            if (c.stride[j] == 8) {
                ++j;
                continue;
            }
            int32_t *to = out + j * c.rows + at;
            const char *data = (const char *) c.address[j] + at * c.stride[j];
            if (run[j] >= LANES && strip_differences(data, c.stride[j], rows, base + j, size + j, run[j], to, c.rows)) {
                j += run[j];
                continue;
            }
            int64_t w = adjacent(c, j), first = j + w - LANES, done = j;
            if (LANES > 1 && first >= 0 && adjacent(c, first) == LANES) {
                strip_codes((const char *) c.address[first] + at * c.stride[j], c.stride[j], rows, int(j - first), base, start,
                            table, out + first * c.rows + at, c.rows, first);
                j += w;
            } else {
                for (int64_t i = 0; i < rows; ++i) {
                    uint64_t v;
                    __builtin_memcpy(&v, data + i * c.stride[j], 8);
                    to[i] = code_of(v, base[j], size[j], table + start[j]);
                }
                ++j;
            }
            for (; done < j; ++done) {
                int32_t missed = 0;
                for (int64_t i = 0; i < rows; ++i) missed += out[done * c.rows + at + i] == -2;
                unseen += missed;
            }
        }
    }
    return unseen;
}

}}  // namespace bayeskit::codes
