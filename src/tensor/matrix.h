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

/* [rows, heads, size] fp32: head h of row r at data + r·row_stride + h·head_stride. */
typedef struct clef_heads {
    float *data;
    size_t rows;
    size_t row_stride; /* elements */
    size_t heads;
    size_t head_stride; /* elements */
    size_t size;
} clef_heads;

/* [rows, columns] as stored, row-major and dense: one output a row. Read-only. */
typedef struct clef_weight {
    const void *data;
    clef_dtype dtype; /* F32, BF16 or F16 */
    size_t rows;
    size_t columns;
} clef_weight;

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
    size_t bytes = first * weight.columns * clef_dtype_bytes(weight.dtype);
    return (clef_weight){(const char *)weight.data + bytes, weight.dtype, rows, weight.columns};
}

/* A matrix seen as heads of equal size, side by side. */
static inline clef_heads clef_matrix_heads(clef_matrix matrix, size_t heads) {
    size_t size = matrix.columns / heads;
    return (clef_heads){matrix.data, matrix.rows, matrix.stride, heads, size, size};
}

#endif
