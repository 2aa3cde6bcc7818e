// Exact sums of w, w x, w x^2 by group and column.
#include "direct.inl"

namespace {

Status moments(Columns c, const int32_t *groups, const double *weights, int64_t n_groups, Sums present, Sums first,
               Sums second) {
    Status status = check_rows(groups, weights, c.rows, n_groups);
    if (status != Status::fine) return status;
    bool good = true;
    for (int64_t i = 0; i < c.rows; ++i) {
        if (groups[i] < 0) continue;
        Parts w = parts(weights ? weights[i] : 1.0);
        if (!w.mantissa) continue;
        for (int64_t j = 0; j < c.count; ++j) {
            double x = number_at(c.address[j], i * c.stride[j]);
            int64_t cell = groups[i] * c.count + j;
            if (x == x) good &= add_weighted(present, first, second, cell, x, w);
        }
    }
    return good ? Status::fine : Status::window;
}

}  // namespace
