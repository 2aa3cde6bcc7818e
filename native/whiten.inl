// Squared Mahalanobis distances: |W_k z - start_k - shift|^2 for the lower triangular W_k of every class.
//
// Rows lie in the lanes, BLOCK of the sums of W_k z at a time in registers; the zeros of W_k cost nothing. A row's result
// does not depend on its place, but without FMA its last bits differ from those with it, as those of any BLAS do.
namespace {

constexpr int64_t BLOCK = 4;
constexpr int WHITE_ROWS = LANES == 8 ? 4 : 2;  // vectors of rows at once
static_assert(TILE % (WHITE_ROWS * LANES) == 0, "a tile is worked on in whole vectors");

// Four rows of a class's matrix by columns, as far as they are not zero, one block after the other.
struct Triangle {
    const double *packed, *start;
    int64_t size;

    static int64_t cells(int64_t size) { return (size + BLOCK) * (size + 2 * BLOCK) / 2 + BLOCK * size; }
    static int64_t length(int64_t size, int64_t i) { return least(i + BLOCK, size); }

    static void pack(const double *matrix, int64_t size, double *to) {
        for (int64_t i = 0; i < size; i += BLOCK)
            for (int64_t j = 0; j < length(size, i); ++j)
                for (int64_t b = 0; b < BLOCK; ++b) *to++ = i + b < size && j <= i + b ? matrix[(i + b) * size + j] : 0.0;
    }
    // Squares of the rows [from, from + WHITE_ROWS * LANES) of a tile, columns TILE apart; shift as z, or null.
    inline void squares(const double *z, const double *shift, int64_t from, double *out) const {
        Real total[WHITE_ROWS];
        for (int v = 0; v < WHITE_ROWS; ++v) total[v] = splat(0.0);
        const double *w = packed;
        for (int64_t i = 0; i < size; i += BLOCK) {
            Real sum[BLOCK][WHITE_ROWS];
            for (int b = 0; b < BLOCK; ++b)
                for (int v = 0; v < WHITE_ROWS; ++v) {
                    sum[b][v] = splat(i + b < size ? -start[i + b] : 0.0);
                    if (shift && i + b < size) sum[b][v] -= load(shift + (i + b) * TILE + from + v * LANES);
                }
            for (int64_t j = 0; j < length(size, i); ++j, w += BLOCK) {
                Real x[WHITE_ROWS];
                for (int v = 0; v < WHITE_ROWS; ++v) x[v] = load(z + j * TILE + from + v * LANES);
                for (int b = 0; b < BLOCK; ++b)
                    for (int v = 0; v < WHITE_ROWS; ++v) sum[b][v] = multiply_add(splat(w[b]), x[v], sum[b][v]);
            }
            for (int b = 0; b < BLOCK; ++b)
                for (int v = 0; v < WHITE_ROWS; ++v) total[v] = multiply_add(sum[b][v], sum[b][v], total[v]);
        }
        for (int v = 0; v < WHITE_ROWS; ++v) store(out + from + v * LANES, total[v]);
    }
};

// z = (x * scale * again - origin), at most `far` from it, of some rows: column j from z + j * TILE on.
inline void read_tile(Columns c, const int64_t *row, int64_t at, int64_t rows, const Units &u, double *z) {
    for (int64_t j = 0, w; j < c.count; j += w) {
        w = least(WIDE, c.count - j);
        if (!row)
            unpack<true>(c, j, w, at, rows, u.scale, z + j * TILE);
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

// out (n, classes) for rows `row`, or the first n, of columns without holes there. place (n, classes) says which shift
// (shifts, columns) is taken away for a row in a class, -1 none; it may be null.
Status whiten(Columns c, const int64_t *row, int64_t n, Units units, const double *matrix, const double *start,
              int64_t classes, const double *shifts, const int64_t *place, double *out) {
    int64_t size = c.count, cells = Triangle::cells(size);
    Scratch scratch(8 * (classes * cells + 2 * size * TILE + TILE));
    if (!scratch.data) return Status::memory;
    double *packed = scratch.as<double>(), *z = packed + (classes * cells + 7) / 8 * 8, *shift = z + size * TILE;
    double square[TILE];
    for (int64_t k = 0; k < classes; ++k) Triangle::pack(matrix + k * size * size, size, packed + k * cells);
    for (int64_t i = 0; i < size * TILE; ++i) z[i] = 0;
    for (int64_t at = 0; at < n; at += TILE) {
        int64_t rows = least(TILE, n - at);
        read_tile(c, row, at, rows, units, z);
        for (int64_t k = 0; k < classes; ++k) {
            for (int64_t r = 0; place && r < TILE; ++r) {
                int64_t p = r < rows ? place[(at + r) * classes + k] : -1;
                for (int64_t j = 0; j < size; ++j) shift[j * TILE + r] = p < 0 ? 0.0 : shifts[p * size + j];
            }
            Triangle t = {packed + k * cells, start + k * size, size};
            for (int64_t r = 0; r < rows; r += WHITE_ROWS * LANES) t.squares(z, place ? shift : nullptr, r, square);
            for (int64_t r = 0; r < rows; ++r) out[(at + r) * classes + k] = square[r];
        }
    }
    return Status::fine;
}

}  // namespace
