// Cells of scores: of equal width in arsinh(log-odds) up to `near`, from there in the logarithm.
namespace bayeskit::scores { namespace {

// The cell of each of up to 64 scores; what is no number lies in the middle.
void score_cells(const double *score, int64_t n, ScoreScale s, int32_t *out) {
    double size[64], root[64], place[64];
    for (int64_t i = 0; i < n; i += LANES) store(size + i, magnitude(take(score, i, n, 0.0)));
    for (int64_t i = 0; i < n; ++i) {
        double v = size[i] < s.near ? size[i] : s.near;
        root[i] = v + __builtin_sqrt(v * v + 1);
    }
    for (int64_t i = 0; i < n; i += LANES) {
        Real v = take(size, i, n, 0.0), far = smaller(larger(v, splat(s.near)), splat(s.far * 2));
        Real inner = logarithm(take(root, i, n, 1.0)) * splat(s.inner);
        Real outer = splat(s.begin) + logarithm(far / splat(s.near)) * splat(s.outer);
        Real found = select(less(splat(s.near), v), outer, inner), half = splat(double(s.cells / 2));
        store(place + i, smaller(found, half));
    }
    const double last = double(s.cells - 1);
    for (int64_t i = 0; i < n; ++i) {
        double v = (score[i] < 0 ? -place[i] : place[i]) + double(s.cells / 2);
        out[i] = v >= 0 ? int32_t(v < last ? v : last) : int32_t(s.cells / 2);
    }
}

}}  // namespace bayeskit::scores
