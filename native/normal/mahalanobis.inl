// Squared Mahalanobis distances: |W_k z - start_k - shift|^2 for the lower triangular W_k of every class.
//
// Rows lie in the lanes, BLOCK of the sums of W_k z at a time in registers; the zeros of W_k cost nothing. A row's result
// does not depend on its place, but without FMA its last bits differ from those with it, as those of any BLAS do.
namespace bayeskit::normal { namespace {

constexpr int64_t BLOCK = 4;
constexpr int WHITE_ROWS = LANES == 8 ? 4 : 2;  // vectors of rows at once
static_assert(TILE % (WHITE_ROWS * LANES) == 0, "a tile is worked on in whole vectors");

// Adds |W z - start - shift|^2 of BLOCK rows of W, by columns, to the totals of V vectors of rows; shift may be null.
// By itself, so that the compiler keeps all sums in registers.
template <int V>
SEPARATE void add_block(const double *w, const double *z, int64_t length, const double *start, const double *shift,
                        double *total) {
    Real sum[BLOCK][V];
    for (int b = 0; b < BLOCK; ++b)
        for (int v = 0; v < V; ++v) {
            sum[b][v] = splat(-start[b]);
            if (shift) sum[b][v] -= load(shift + b * TILE + v * LANES);
        }
    for (int64_t j = 0; j < length; ++j, w += BLOCK, z += TILE) {
        Real x[V];
        for (int v = 0; v < V; ++v) x[v] = load(z + v * LANES);
        for (int b = 0; b < BLOCK; ++b) {
            Real y = splat(w[b]);
            for (int v = 0; v < V; ++v) sum[b][v] = multiply_add(y, x[v], sum[b][v]);
        }
    }
    for (int v = 0; v < V; ++v) {
        Real t = load(total + v * LANES);
        for (int b = 0; b < BLOCK; ++b) t = multiply_add(sum[b][v], sum[b][v], t);
        store(total + v * LANES, t);
    }
}

// A class: BLOCK rows of its matrix by columns, as far as they are not zero, one block after the other; then its start.
struct Triangle {
    double *packed;
    int64_t size;

    static int64_t filled(int64_t size) { return (size + BLOCK - 1) / BLOCK * BLOCK; }
    static int64_t cells(int64_t size) { return (filled(size) * (filled(size) + BLOCK) / 2 + filled(size) + 7) / 8 * 8; }
    double *start() const { return packed + filled(size) * (filled(size) + BLOCK) / 2; }
    int64_t length(int64_t i) const { return least(i + BLOCK, size); }

    void pack(const double *matrix, const double *from) const {
        double *to = packed;
        for (int64_t i = 0; i < size; i += BLOCK)
            for (int64_t j = 0; j < length(i); ++j)
                for (int64_t b = 0; b < BLOCK; ++b) *to++ = i + b < size && j <= i + b ? matrix[(i + b) * size + j] : 0.0;
        for (int64_t i = 0; i < filled(size); ++i) start()[i] = i < size ? from[i] : 0.0;
    }
    // Squares of the first rows of a tile, columns TILE apart.
    void squares(const double *z, const double *shift, int64_t rows, double *out) const {
        for (int64_t r = 0; r < rows; r += WHITE_ROWS * LANES) {
            for (int64_t i = 0; i < WHITE_ROWS * LANES; ++i) out[r + i] = 0;
            const double *w = packed;
            for (int64_t i = 0; i < size; w += BLOCK * length(i), i += BLOCK)
                add_block<WHITE_ROWS>(w, z + r, length(i), start() + i, shift ? shift + i * TILE + r : nullptr, out + r);
        }
    }
};

// z = (x * scale * again - origin), at most `far` from it, of some rows: column j from z + j * TILE on.
inline void read_tile(Columns c, const int64_t *row, int64_t at, int64_t rows, const Units &u, double *z) {
    for (int64_t j = 0, w; j < c.count; j += w) {
        w = least(WIDE, c.count - j);
        if (!row) unpack<true>(c, j, w, at, rows, u.scale, z + j * TILE);
        else
            for (int64_t k = j; k < j + w; ++k)
                for (int64_t r = 0; r < rows; ++r)
                    z[k * TILE + r] = number_at(c.address[k], row[at + r] * c.stride[k]) * u.scale[k];
        for (int64_t k = j; k < j + w; ++k)
            for (int64_t r = 0; r < rows; r += LANES) {
                double *to = z + k * TILE + r;
                Real x = load(to) * splat(u.again[k]) - splat(u.origin[k]);
                store(to, larger(splat(-u.far), smaller(splat(u.far), x)));
            }
    }
}

// out (n, classes) for rows `row`, or the first n, of columns without missing values there. place (n, classes) says which shift
// (shifts, columns) is taken away for a row in a class, -1 none; it may be null.
Status mahalanobis(Columns c, const int64_t *row, int64_t n, Units units, const double *matrix, const double *start,
                   int64_t classes, const double *shifts, const int64_t *place, double *out) {
    int64_t size = c.count, filled = Triangle::filled(size), cells = Triangle::cells(size);
    Scratch scratch(8 * (classes * cells + (size + filled) * TILE));
    if (!scratch.data) return Status::memory;
    double *packed = scratch.as<double>(), *z = packed + classes * cells, *shift = z + size * TILE, square[TILE];
    auto of = [&](int64_t k) { return Triangle{packed + k * cells, size}; };
    for (int64_t k = 0; k < classes; ++k) of(k).pack(matrix + k * size * size, start + k * size);
    for (int64_t i = 0; i < (size + filled) * TILE; ++i) z[i] = 0;
    for (int64_t at = 0; at < n; at += TILE) {
        int64_t rows = least(TILE, n - at);
        read_tile(c, row, at, rows, units, z);
        for (int64_t k = 0; k < classes; ++k) {
            for (int64_t r = 0; place && r < TILE; ++r) {
                int64_t p = r < rows ? place[(at + r) * classes + k] : -1;
                for (int64_t j = 0; j < size; ++j) shift[j * TILE + r] = p < 0 ? 0.0 : shifts[p * size + j];
            }
            of(k).squares(z, place ? shift : nullptr, rows, square);
            for (int64_t r = 0; r < rows; ++r) out[(at + r) * classes + k] = square[r];
        }
    }
    return Status::fine;
}

}}  // namespace bayeskit::normal
