// Tables shrunk toward simpler ones: how well each pseudo-count and base predict the rows, each by the others.
namespace bayeskit::tables { namespace {

constexpr double LEAST_SHARE = 0x1p-1022;

// out[s, b, t] = sum over the cells of table t of weight log((mass + r known_b) / (total + r)), r = strength[s, t].
Status shrinkage_scores(ShrinkageTables l, double *out) {
    int64_t longest = 0;
    for (int64_t t = 0; t < l.tables; ++t) longest = most(longest, l.start[t + 1] - l.start[t]);
    int64_t step = (longest + STRANDS - 1) / STRANDS * STRANDS;
    Scratch scratch(8 * step * (3 + l.bases)), sums(8 * l.bases * STRANDS);
    if (!scratch.data || !sums.data) return Status::memory;
    double *weight = scratch.as<double>(), *mass = weight + step, *total = mass + step, *known = total + step;
    double *sum = sums.as<double>();
    for (int64_t t = 0; t < l.tables; ++t) {
        int64_t from = l.start[t], n = l.start[t + 1] - from, padded = (n + STRANDS - 1) / STRANDS * STRANDS;
        for (int64_t i = 0; i < padded; ++i) {  // what fills up has no weight
            bool there = i < n;
            weight[i] = there ? l.weight[from + i] : 0;
            mass[i] = there ? l.mass[from + i] : 0;
            total[i] = there ? l.total[from + i] : 0;
            for (int64_t b = 0; b < l.bases; ++b) known[b * step + i] = there ? l.known[b * l.cells + from + i] : 1;
        }
        for (int64_t s = 0; s < l.strengths; ++s) {
            Real rows = splat(l.strength[s * l.tables + t]);
            for (int64_t k = 0; k < l.bases * STRANDS; ++k) sum[k] = 0;
            for (int64_t i = 0; i < padded; i += LANES) {
                Real beside = load(total + i) + rows, of = load(mass + i), w = load(weight + i);
                for (int64_t b = 0; b < l.bases; ++b) {
                    Real share = (rows * load(known + b * step + i) + of) / beside;
                    double *to = sum + b * STRANDS + i % STRANDS;
                    store(to, load(to) + w * logarithm(larger(share, splat(LEAST_SHARE))));
                }
            }
            for (int64_t b = 0; b < l.bases; ++b) {
                const double *part = sum + b * STRANDS;
                out[(s * l.bases + b) * l.tables + t] =
                    ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
            }
        }
    }
    return Status::fine;
}

}}  // namespace bayeskit::tables
