// Log densities of independent normal columns.
namespace {

void gaussian(Columns c, const double *scale, const double *mean, const double *precision, const double *constant,
              int64_t classes, double *out) {
    for (int64_t i = 0; i < c.rows; ++i)
        for (int64_t j = 0; j < c.count; ++j) {
            double x = number_at(c.address[j], i * c.stride[j]);
            if (x != x) continue;
            for (int64_t k = 0; k < classes; ++k) {
                int64_t p = j * classes + k;
                double precise = precision[p] < 1.7976931348623157e308 ? precision[p] : 1.7976931348623157e308;
                double z = (x * scale[j] - mean[p]) * precise;
                double term = constant[p] - 0.5 * z * z;
                out[i * classes + k] += term == term ? term : -__builtin_inf();
            }
        }
}

}  // namespace
