/* Views of numbers: fp32 activations, and weights as they are stored. A view owns nothing. */
#ifndef CLEF_TENSOR_MATRIX_H
#define CLEF_TENSOR_MATRIX_H

#include "tensor/dtype.h"

/* [rows, columns] fp32, row r at data + r·stride. data belongs to a backend's address space. */
typedef struct clef_matrix {
    float *data;
    size_t rows;
    size_t columns;
    size_t stride; /* elements */
} clef_matrix;

/* Stride of a matrix of our own: rows begin on a cache line, and one line further on than a power
 * of two would have it, since rows a multiple of 4 KiB apart would share one set of the first-level
 * cache. */
static inline size_t clef_padded_stride(size_t columns) {
    return (columns + 15) / 16 * 16 + 16;
}

/* [rows, heads, size] fp32: head h of row r at data + r·row_stride + h·head_stride. */
typedef struct clef_heads {
    float *data;
    size_t rows;
    size_t row_stride; /* elements */
    size_t heads;
    size_t head_stride; /* elements */
    size_t size;
} clef_heads;

/* How products with a weight are computed; sums are fp32 in all of them. */
typedef enum clef_arithmetic {
    CLEF_ARITHMETIC_F32,  /* weights widened exactly, fp32 products */
    CLEF_ARITHMETIC_BF16, /* inputs rounded to bfloat16, as the weights are */
    CLEF_ARITHMETIC_INT8, /* inputs rounded to int8 per row and group of columns */
} clef_arithmetic;

/* [rows, columns] as stored, row-major and dense: one output a row. Read-only. */
typedef struct clef_weight {
    const void *data;
    clef_dtype dtype; /* F32, BF16, F16; with scales I8, or U8: two 4-bit values a byte */
    size_t rows;
    size_t columns;
    clef_arithmetic arithmetic;
    const float *scales; /* [rows, groups] factors of quantised weights, else NULL */
    size_t group;        /* columns that share a factor */
} clef_weight;

/* Bytes from one stored row to the next. 4-bit rows hold blocks of 32 columns in 16 bytes: byte i
 * has column i in its low and column i + 16 in its high half, each as value + 8; the last block is
 * filled up with zeros. */
static inline size_t clef_weight_row_bytes(clef_weight weight) {
    return weight.dtype == CLEF_DTYPE_U8 ? (weight.columns + 31) / 32 * 16
                                         : weight.columns * clef_dtype_bytes(weight.dtype);
}

/* Groups of a row; the last may be shorter. */
static inline size_t clef_weight_groups(clef_weight weight) {
    return weight.group == 0 ? 0 : (weight.columns + weight.group - 1) / weight.group;
}

/* Columns [first, first + columns) of a matrix. */
static inline clef_matrix clef_matrix_columns(clef_matrix matrix, size_t first, size_t columns) {
    return (clef_matrix){matrix.data + first, matrix.rows, columns, matrix.stride};
}

/* Rows [first, first + rows) of a matrix. */
static inline clef_matrix clef_matrix_rows(clef_matrix matrix, size_t first, size_t rows) {
    return (clef_matrix){matrix.data + first * matrix.stride, rows, matrix.columns, matrix.stride};
}

/* Rows [first, first + rows) of a weight. */
static inline clef_weight clef_weight_rows(clef_weight weight, size_t first, size_t rows) {
    weight.data = (const char *)weight.data + first * clef_weight_row_bytes(weight);
    weight.scales += weight.scales == NULL ? 0 : first * clef_weight_groups(weight);
    weight.rows = rows;
    return weight;
}

/* Widens columns [begin, begin + count) of one row to fp32; quantised values times their scales. */
void clef_weight_widen(clef_weight weight, size_t row, size_t begin, size_t count, float *out);

/* A matrix seen as heads of equal size, side by side. */
static inline clef_heads clef_matrix_heads(clef_matrix matrix, size_t heads) {
    size_t size = matrix.columns / heads;
    return (clef_heads){matrix.data, matrix.rows, matrix.stride, heads, size, size};
}

#endif
