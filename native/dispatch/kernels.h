// What every clone offers, and the types of its arguments. Plain pointers only: clones may not share inline code with
// anything else.
#pragma once
#include <stdint.h>
#include "dispatch/rows.h"

namespace bayeskit {

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

// Normal columns from which each row's own value is taken out: rows of LooClassRow (classes, columns) and of LooColumnRow
// (columns). A class is delicate if floors or the lack of values may move its density when another class loses a row. Rows
// that weigh more than `heaviest` are in doubt.
struct LooNormals {
    const double *weight, *mean, *mean_error, *density_mean, *precision, *constant, *variance_ratio;
    const bool *delicate;
    const double *scale, *total_weight, *grand_mean, *grand_mean_error, *total_deviation, *within, *total_constant;
    double heaviest;
};

// Cells of one width, closed on the right: near[i] is the identity of the cell low + i in units of the width, UNKNOWN
// where it has none and in near[0]. Nothing is inside where low is not below high.
struct CellGrid {
    double scale, low, high;  // 1 / width; the ends, in widths
    const int32_t *near;
};
constexpr int32_t NOT_COUNTED = -1, UNKNOWN = -2;
constexpr int64_t CELL_TILE = 128;  // rows

// Columns whose densities are backed off to those of all classes: `formula` columns by FormulaKind with numbers (formula, 3,
// classes), then `given` ones whose log densities are known, (given, rows, classes); their shares of classes, and what counts
// of a class and of all, are (formula + given, 3, classes). Counts have rows offset[j] .. offset[j+1] of a table (, classes).
struct BackedOffColumns {
    const int32_t *kind;
    const double *number, *weight, *table;
    const int64_t *offset;
    const double *known;
    int64_t formula, given, classes;
};

// Points in the order of a k-d tree: numbers (columns, count), which point each was, boxes (2^(depth + 1), 2, columns).
struct PointTree {
    const double *number;
    const int64_t *order;
    const double *box;
    int64_t columns, count, depth;
};

// Points to be compared with: numbers (columns, count) and level codes (coded, count), with the weights of their columns.
struct Points {
    const double *number, *weight;
    const int32_t *code;
    const double *code_weight;
    int64_t columns, coded, count;
};

// How numbers are read (UnitRow): x * scale * again - origin, at most `far` from 0; by column.
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
constexpr int MOST_INPUTS = 16, MOST_DIMS = 64;

struct Program {
    const int64_t *words;
    int64_t length;
    const int64_t *start;  // (ops,)
    int64_t ops;
    const double *tables;
    int64_t cells, result;  // of the arena; where the result stands
};

// Cells on both sides of 0: `inner` to a unit of arsinh up to `near`, then from cell `begin` on `outer` to one of the logarithm
// up to `far`.
struct ScoreScale {
    double near, far, inner, begin, outer;
    int64_t cells;
};

// A logistic regression a + b x: the inverse of its curvature (three entries), and the row of it that is asked about.
struct LogisticFit {
    double a, b, inverse[3], first, second;
};

// Codes by place in a dictionary, and whether each place is its own code.
struct PlaceTable {
    const int32_t *code;
    uint64_t size;
    bool same;
};

// What is known of each row: codes (variables, rows), -1 not observed, and likelihoods (cells, rows).
struct Evidence {
    Codes codes;
    const double *likelihood;
};

// What is asked: the result (states, rows) over 2^exponent; states of all variables; expected counts.
struct Request {
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
// same class and parents; what bases know of each, (bases, cells); pseudo-counts of the bases, (strengths, tables).
struct ShrinkageTables {
    const double *weight, *mass, *total, *known;
    const int64_t *start;
    int64_t tables, cells;
    const double *strength;
    int64_t strengths, bases;
};

enum class Status { fine, group, code, weight, window, memory, infinite };

// One function pointer for each line of kernels.def.
struct Kernels {
    const char *clone;
#define KERNEL(folder, name, result, arguments) result(*name) arguments;
#include "dispatch/kernels.def"
};

}  // namespace bayeskit
