// Rows of arrays that one side of the border between Python and C++ fills and the other reads. Both name them by these.
#pragma once

#define BAYESKIT_ROWS(ENUM, ROW)                                                                                           \
    /* Of column_ranges: magnitudes that are not 0, number of missing values, values. */                                   \
    ENUM(RangeRow, ROW(SMALLEST) ROW(LARGEST) ROW(MISSING) ROW(LEAST) ROW(GREATEST))                                       \
    /* Of a normal column in a class: the exact mean is MEAN + MEAN_ERROR; variance as a share of the column's. */         \
    ENUM(LooClassRow, ROW(WEIGHT) ROW(MEAN) ROW(MEAN_ERROR) ROW(DENSITY_MEAN) ROW(DENSITY_PRECISION) ROW(DENSITY_CONSTANT) \
                          ROW(VARIANCE_RATIO))                                                                             \
    /* Of a normal column as a whole: unit of its values, pooled variance within classes as a share, log density at */     \
    /* the mean. */                                                                                                        \
    ENUM(LooColumnRow, ROW(SCALE) ROW(WEIGHT) ROW(MEAN) ROW(MEAN_ERROR) ROW(DEVIATION) ROW(WITHIN) ROW(CONSTANT))          \
    /* How mahalanobis reads numbers: x * SCALE * SCALE_AGAIN - ORIGIN; one factor alone might overflow. */                \
    ENUM(UnitRow, ROW(SCALE) ROW(SCALE_AGAIN) ROW(ORIGIN))                                                                 \
    /* Of a column of texts: addresses of offsets, bytes and validity bits (0 for none), bytes of an offset, length of */  \
    /* the data, first row, code of a missing text, code of the next new text (-2: it gets none), row of out. Views are */ \
    /* 16 bytes wide, and their data pairs of address and length, of which there are DATA_LENGTH. */                       \
    ENUM(TextField, ROW(OFFSETS) ROW(DATA) ROW(VALID) ROW(OFFSET_WIDTH) ROW(DATA_LENGTH) ROW(FIRST_ROW) ROW(MISSING_CODE)  \
                        ROW(NEXT_CODE) ROW(OUT_ROW))                                                                       \
    /* Of a column of places in a dictionary: addresses of the places and of validity bits (0 for none), bytes of a */     \
    /* place, first row, row of out. */                                                                                    \
    ENUM(PlaceField, ROW(PLACES) ROW(VALID) ROW(WIDTH) ROW(FIRST_ROW) ROW(OUT_ROW))                                        \
    /* Log densities of a column in a class, of numbers a, b, c: c - ((x - a) b)^2 / 2; the same of log x, less log x; */  \
    /* c + a x; c + a x + b log x; c + a log x + b log(1 - x); of counts a row of a table. */                              \
    ENUM(FormulaKind, ROW(NORMAL) ROW(LOG_NORMAL) ROW(EXPONENTIAL) ROW(GAMMA) ROW(BETA) ROW(COUNTS))                       \
    /* Ops of a compiled elimination; see Program. */                                                                      \
    ENUM(OpKind, ROW(INDICATE) ROW(GATHER) ROW(STEP))

namespace bayeskit {

#define AS_STRUCT(type, rows)          \
    struct type {                      \
        enum Row : int { rows COUNT }; \
    };
#define AS_ENUMERATOR(name) name,
BAYESKIT_ROWS(AS_STRUCT, AS_ENUMERATOR)
#undef AS_STRUCT
#undef AS_ENUMERATOR

}  // namespace bayeskit
