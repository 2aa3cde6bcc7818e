// Integers to level codes through a table per column.
namespace {

int64_t integers(Columns c, const int64_t *base, const int64_t *start, const int32_t *table, int32_t *out) {
    int64_t unseen = 0;
    for (int64_t j = 0; j < c.count; ++j) {
        uint64_t size = uint64_t(start[j + 1] - start[j]);
        for (int64_t i = 0; i < c.rows; ++i) {
            int64_t v;
            __builtin_memcpy(&v, (const char *) c.address[j] + i * c.stride[j], 8);
            // Unsigned: a difference below zero or beyond 63 bits becomes huge, so one comparison is enough,
            // save when the true difference is 2^64 + something, which two int64 cannot have.
            uint64_t d = uint64_t(v) - uint64_t(base[j]);
            bool known = v >= base[j] && d < size;
            int32_t code = known ? table[start[j] + int64_t(d)] : -2;
            out[j * c.rows + i] = code;
            unseen += code == -2;
        }
    }
    return unseen;
}

}  // namespace
