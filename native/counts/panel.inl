// Panels: LANES columns of some rows, one row to a vector.
namespace bayeskit::counts { namespace {

// Lane l of the row vector at data + i * stride is column first + l; lanes outside [from, to) are done elsewhere
// or padding.
struct Panel {
    const char *data;
    int64_t stride;
    int64_t first;
    int from, to;
};

// Writes w columns into rows of LANES doubles, the spare lanes zero.
inline void pack(Columns c, int64_t j, int w, int64_t at, int64_t rows, double *out) {
    int64_t i = 0;
    bool dense = true;
    for (int k = 0; k < w; ++k) dense &= c.stride[j + k] == 8;
    if (dense)
        for (; i + LANES <= rows; i += LANES) {
            Real v[LANES];
            for (int k = 0; k < LANES; ++k) v[k] = k < w ? load((const char *) c.address[j + k] + 8 * (at + i)) : splat(0.0);
            transpose(v);
            for (int k = 0; k < LANES; ++k) store(out + (i + k) * LANES, v[k]);
        }
    for (; i < rows; ++i)
        for (int k = 0; k < LANES; ++k)
            out[i * LANES + k] = k < w ? number_at(c.address[j + k], (at + i) * c.stride[j + k]) : 0.0;
}

// The panel that starts at column j, for rows [at, at + rows): read where it lies if columns are adjacent, else
// packed into buffer. A last panel of adjacent columns reaches back over columns already done.
inline Panel panel_at(Columns c, int64_t j, int64_t at, int64_t rows, double *buffer) {
    int64_t w = adjacent(c, j);
    if (w == LANES) return {(const char *) c.address[j] + at * c.stride[j], c.stride[j], j, 0, LANES};
    int64_t back = j - (LANES - w);
    if (back >= 0 && adjacent(c, back) == LANES)
        return {(const char *) c.address[back] + at * c.stride[back], c.stride[back], back, int(LANES - w), LANES};
    w = least(LANES, c.count - j);
    for (int64_t k = 1; k < w; ++k)
        if (adjacent(c, j + k) == LANES) w = k;  // leave a run of adjacent columns to itself
    pack(c, j, int(w), at, rows, buffer);
    return {(const char *) buffer, 8 * LANES, j, 0, int(w)};
}

// Whether column j goes on where panel p ended, so that both are read where they lie.
inline bool adjacent_panel(Columns c, int64_t j, const Panel &p) {
    int64_t last = j - 1;
    return j < c.count && c.stride[j] == p.stride && c.stride[last] == p.stride && c.address[j] == c.address[last] + 8 &&
           adjacent(c, p.first) == LANES;
}

}}  // namespace bayeskit::counts
