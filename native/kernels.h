// What every clone offers. Plain pointers only: clones may not share inline code with anything else.
#pragma once
#include <stdint.h>

// Value i of column j is the double (or int64) at address[j] + i * stride[j].
struct Columns {
    const uint64_t *address;
    const int64_t *stride;
    int64_t count;
    int64_t rows;
};

// Level codes (columns, rows): -1 missing, -2 never seen.
struct Codes {
    const int32_t *data;
    int64_t columns;
    int64_t rows;
};

// A matrix in any layout: row i, column k is at data[i * row + k * column].
struct Grid {
    double *data;
    int64_t row, column;
};

// Exact sums: cell c is sum over l of limb[c * length + l] * 2^(32 * (low + l)).
struct Sums {
    int64_t *limb;
    int64_t length;
    int64_t low;
};

// Tables over columns[start[t] .. start[t+1]), with their cells from offset[t] on; size is by column.
struct Tables {
    const int32_t *columns;
    const int64_t *start;
    const int32_t *size;
    const int64_t *offset;
    int64_t count;
    int64_t cells;
};

// Log densities of columns by class as piecewise cubics; (column j, class k) is unit j * classes + k. Its centres are
// centre[offset[u] .. offset[u+1]), of which real[u] count; its stretches stretch[u] .. stretch[u+1], each from low to
// high with steps[u] cells per unit of x and cubics from curve[4 * begin] on.
struct Curves {
    const double *centre, *log_weight;
    const int64_t *offset, *real;
    const double *precision, *constant, *steps;
    const int64_t *stretch;
    const double *low, *high;
    const int64_t *begin;
    const double *curve;
    int64_t longest;
};

// Normal columns from which each row's own value is taken out. (classes, columns): weight, mean, what its rounding lost, the
// mean, precision and constant of the plain density, the variance as a share of the column's, and whether floors or the
// lack of values may move the density when another class loses a row. (columns): scale of the values, weight, mean, what
// its rounding lost, deviation and pooled variance of the whole column, constant of a density of its deviation. Rows
// heavier than `most` are in doubt.
struct Leaving {
    const double *weight, *mean, *low, *normal, *precision, *constant, *share;
    const bool *delicate;
    const double *scale, *whole, *middle, *middle_low, *spread, *within, *base;
    double most;
};

// Cells of one width, closed on the right: near[i] is the identity of the cell low + i in units of the width, UNKNOWN
// where it has none and in near[0]. Nothing is inside where low is not below high.
struct CellGrid {
    double scale, low, high;  // 1 / width; the ends, in widths
    const int32_t *near;
};
constexpr int32_t NOT_COUNTED = -1, UNKNOWN = -2;
constexpr int64_t CELL_TILE = 128;  // rows

// Points to be compared with: numbers (columns, count) and level codes (coded, count), with the weights of their columns.
struct Points {
    const double *number, *weight;
    const int32_t *code;
    const double *code_weight;
    int64_t columns, coded, count;
};

// How numbers are read: x * scale * again - origin, at most `far` from 0; by column.
struct Units {
    const double *scale, *again, *origin;
    double far;
};

// A compiled elimination in a network: ops one after the other, each its length, its kind and what the kind needs.
//   INDICATE  out, column (-1 none), states, likelihood (-1 none)
//   GATHER    out, table, open dims, observed columns; column, stride, size of those; size, stride of the dims
//   STEP      out, dims, states, variable (-1 none), scaled, inputs; size, variable of the dims; inputs as
//             (message or table, offset, stride of the variable, strides of the dims)
// Offsets count cells: of ``tables``, or of the arena, which has a value for every row of a tile in each.
constexpr int INDICATE = 0, GATHER = 1, STEP = 2;
constexpr int MOST_INPUTS = 16, MOST_DIMS = 64;

struct Program {
    const int64_t *words;
    int64_t length;
    const int64_t *start;  // (ops,)
    int64_t ops;
    const double *tables;
    int64_t cells, result;  // of the arena; where the result stands
};

// What is known of each row: codes (variables, rows), -1 not observed, and likelihoods (cells, rows).
struct Evidence {
    Codes codes;
    const double *likelihood;
};

// What is asked: the result (states, rows) over 2^exponent; states of all variables; expected counts.
struct Asked {
    int64_t tile;
    bool largest;
    int64_t states;
    double *out, *exponent;
    int32_t *chosen;  // (variables, rows), or null
    uint64_t seed;
    double *counts;  // like tables, or null
    const double *weights;
    int64_t belief_from, beliefs;  // arena cells whose posterior goes to belief (beliefs, rows)
    double *belief;
};

constexpr int64_t EVEN_BLOCK = 32, EVEN_RUN = 32;  // cells of an even grid that kernels are summed at together, terms at a time

// Cells with weight of tables, one table after the other from start on: the weight of the other rows there and with the
// same class and parents; what bases know of each, (bases, cells); strengths to lean on them with, (strengths, tables).
struct Leaning {
    const double *weight, *mass, *total, *known;
    const int64_t *start;
    int64_t tables, cells;
    const double *strength;
    int64_t strengths, bases;
};

enum class Status { fine, group, code, weight, window, memory, infinite };

struct Kernels {
    const char *name;
    void (*scan)(Columns, double *out);
    Status (*moments)(Columns, const int32_t *groups, const double *weights, int64_t n_groups, Sums present,
                      Sums first, Sums second);
    Status (*gaussian)(Columns, const double *scale, const double *mean, const double *precision,
                       const double *constant, int64_t classes, Grid out);
    Status (*leave)(Columns, const int32_t *groups, const double *weights, Leaving, int64_t classes, Grid out,
                    int64_t *doubtful, int64_t *found);
    Status (*count)(Codes, const int32_t *groups, const double *weights, int64_t n_groups, Tables, Sums);
    Status (*pairs)(Codes, const int32_t *groups, int64_t n_groups, Tables, Sums);
    Status (*lookup)(Codes, const int32_t *columns, const int64_t *offset, const int64_t *size, int64_t tables,
                     const double *table, int64_t cells, int64_t classes, Grid out);
    int64_t (*softmax)(Grid joint, int64_t rows, int64_t classes, bool log, double *evidence, double *out);
    int64_t (*integers)(Columns, const int64_t *base, const int64_t *start, const int32_t *table, int32_t *out);
    void (*mixture)(const double *centre, const double *log_weight, int64_t count, int64_t real, double precision,
                    double depth, const double *x, int64_t rows, double *out, double *slope, double *scratch);
    void (*around)(const double *centre, const double *log_weight, int64_t count, int64_t real, double precision,
                   double depth, const double *place, int64_t places, int64_t terms, double *scale, double *moments,
                   double *scratch);
    Status (*gauss)(const double *centre, const double *weight, int64_t count, double precision, const double *place,
                    int64_t places, double *out, double *near);
    void (*gauss_even)(const double *weight, int64_t n, const double *height, int64_t reach, double *out);
    void (*exponentials)(const double *in, int64_t n, double *out);
    void (*logarithms)(const double *in, int64_t n, double *out);
    void (*class_parts)(const double *f, int64_t classes, int64_t cells, const double *weight, double *top, double *part,
                        double *sum);
    void (*backed_off)(const double *own, const double *top, const double *rest, const double *leaves, int64_t rows,
                       double weight, double whole, double *out);
    Status (*back_off)(const double *terms, int64_t rows, int64_t parts, int64_t classes, const double *share,
                       const double *mine, const double *rest, double *out, int64_t *odd);
    void (*gamma_shapes)(const double *gap, int64_t n, double *shape, double *level);
    Status (*curves)(Columns, const double *scale, const double *base, Curves, int64_t classes, Grid out);
    Status (*propagate)(Program, Evidence, Asked);
    Status (*selection)(const double *there, const double *terms, double sign, int64_t rows, int64_t step,
                        int64_t others, const double *truth, const double *weights, const int64_t *candidates,
                        int64_t count, double *out);
    int64_t (*cells)(uint64_t address, int64_t stride, int64_t rows, const int32_t *groups, const double *weights,
                     CellGrid, int32_t *code);
    void (*selection_step)(double *there, const double *term, double sign, int64_t rows, int64_t others,
                           const double *truth, const double *weights, double *odds, double *reach, double *out);
    void (*selection_factors)(const double *terms, double sign, int64_t rows, int64_t columns, int64_t others,
                              float *factor, double *reach);
    Status (*selection_quick)(const double *there, const double *terms, double sign, int64_t rows, int64_t columns,
                              int64_t others, const double *truth, const double *weights, const double *odds,
                              const double *reach, const float *factor, const double *reaches, const int64_t *candidates, int64_t count,
                              double *out);
    void (*odds)(Grid terms, const int32_t *groups, int64_t rows, int64_t classes, double floor, double *out, int64_t step);
    Status (*leave_odds)(Columns, const int32_t *groups, const double *weights, Leaving, int64_t classes, double floor,
                         double *out, int64_t by_column, int64_t by_class, bool *doubt);
    Status (*gram)(Columns, const int64_t *row, int64_t n, const double *weights, const int64_t *exponent,
                   int64_t weight_exponent, int64_t slices, int64_t heavy, Sums to, int64_t group, bool *lost);
    Status (*whiten)(Columns, const int64_t *row, int64_t n, Units, const double *matrix, const double *start,
                     int64_t classes, const double *shifts, const int64_t *place, double *out);
    Status (*lean)(Leaning, double *out);
    void (*apart)(const double *asked, const int32_t *asked_codes, int64_t rows, Points, bool square, double *sum,
                  double *mass);
    bool (*within)(const int32_t *number, int64_t n, int64_t limit);
    void (*stored)(const double *x, int64_t n, double *lowest, double *highest, bool *whole, int64_t *good);
    void (*add_pairs)(const int32_t *column, const double *value, int64_t n, double big, double *pair, uint8_t *mark);
};
