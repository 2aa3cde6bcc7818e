// Adds table entries by level code.
namespace {

Status lookup(Codes codes, const int32_t *columns, const int64_t *offset, const int64_t *size, int64_t tables,
              const double *table, int64_t, int64_t classes, double *out) {
    for (int64_t t = 0; t < tables; ++t)
        for (int64_t i = 0; i < codes.rows; ++i) {
            int64_t code = codes.data[columns[t] * codes.rows + i] + int64_t(2);
            if (code < 0 || code >= size[t]) return Status::code;
        }
    for (int64_t i = 0; i < codes.rows; ++i)
        for (int64_t t = 0; t < tables; ++t) {
            int64_t cell = offset[t] + codes.data[columns[t] * codes.rows + i] + 2;
            for (int64_t k = 0; k < classes; ++k) out[i * classes + k] += table[cell * classes + k];
        }
    return Status::fine;
}

}  // namespace
