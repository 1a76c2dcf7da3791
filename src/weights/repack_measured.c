/* Coordinate descent: the gradient H·e of every row is kept up to date, so a column knows at once
 * what a move would gain. Rows of one call take turns at each column, so that a row of H serves all
 * of them from the cache. Sums take one fixed order. */
#include "weights/repack_measured.h"

#include <math.h>

/* Nearly all is gained in three; a pass without a move is the last one anyway. */
#define PASS_LIMIT 8
/* Of a row whose unit is a number yet; smaller rows are zeros in 8 and 4 bits anyway. */
#define SMALLEST_EXPONENT (-120)

size_t clef_input_sums_floats(size_t columns, size_t block) {
    size_t rest = columns % block;
    return columns / block * block * block + rest * rest;
}

size_t clef_repack_measured_scratch(size_t columns) {
    size_t widest = columns < CLEF_INPUT_SUMS_BLOCK ? columns : CLEF_INPUT_SUMS_BLOCK;
    return 2 * CLEF_REPACK_MEASURED_ROWS * widest;
}

/* ---- values as stored ---- */

static uint8_t *byte_of(clef_weight weight, uint8_t *row, size_t column) {
    return weight.dtype == CLEF_DTYPE_I8 ? row + column : row + column / 32 * 16 + column % 16;
}

static int read_value(clef_weight weight, uint8_t *row, size_t column) {
    uint8_t byte = *byte_of(weight, row, column);
    if (weight.dtype == CLEF_DTYPE_I8) {
        return (int8_t)byte;
    }
    return (column % 32 < 16 ? byte & 15 : byte >> 4) - 8;
}

static void write_value(clef_weight weight, uint8_t *row, size_t column, int value) {
    uint8_t *byte = byte_of(weight, row, column);
    if (weight.dtype == CLEF_DTYPE_I8) {
        *byte = (uint8_t)value;
    } else if (column % 32 < 16) {
        *byte = (uint8_t)((*byte & 0xF0) | (value + 8));
    } else {
        *byte = (uint8_t)((*byte & 0x0F) | (value + 8) << 4);
    }
}

static bool is_in_range(clef_weight weight, int value) {
    return weight.dtype == CLEF_DTYPE_I8 ? value >= -127 && value <= 127
                                         : value >= -8 && value <= 7;
}

/* ---- one block of columns ---- */

/* One row inside a block. Errors and gradient are those of the row times `unit`, a power of two
 * that brings its largest weight near 1: squares then stay in the range of floats. */
typedef struct measured_row {
    const float *source; /* [columns] of the whole row */
    const float *scales; /* likewise */
    uint8_t *values;     /* likewise */
    float unit;
    float *errors;   /* [n] of the block */
    float *gradient; /* [n] */
} measured_row;

typedef struct measured_block {
    clef_weight weight;
    const float *sums; /* [n, n] */
    size_t first;      /* column */
    size_t n;
    measured_row *rows; /* [row_count] */
    size_t row_count;
} measured_block;

static float error_of(const measured_block *block, const measured_row *row, size_t column,
                      int value) {
    float scale = row->scales[column / block->weight.group];
    return (row->source[column] - (float)value * scale) * row->unit;
}

static void add_scaled(float *restrict to, const float *restrict from, float factor, size_t count) {
    for (size_t i = 0; i < count; i++) {
        to[i] += from[i] * factor;
    }
}

static void begin_block(const measured_block *block) {
    for (size_t r = 0; r < block->row_count; r++) {
        const measured_row *row = &block->rows[r];
        memset(row->gradient, 0, block->n * sizeof *row->gradient);
        for (size_t i = 0; i < block->n; i++) {
            size_t column = block->first + i;
            row->errors[i] =
                error_of(block, row, column, read_value(block->weight, row->values, column));
        }
    }
    for (size_t i = 0; i < block->n; i++) {
        for (size_t r = 0; r < block->row_count; r++) {
            const measured_row *row = &block->rows[r];
            if (row->errors[i] != 0) {
                add_scaled(row->gradient, block->sums + i * block->n, row->errors[i], block->n);
            }
        }
    }
}

/* Moves a column to the other neighbour of its weight if that helps. Returns whether it did. */
static bool improve_column(const measured_block *block, const measured_row *row, size_t i) {
    size_t column = block->first + i;
    float scale = row->scales[column / block->weight.group];
    float error = row->errors[i];
    if (scale == 0 || error == 0) {
        return false;
    }
    int value = read_value(block->weight, row->values, column);
    int other = (error > 0) == (scale > 0) ? value + 1 : value - 1;
    if (!is_in_range(block->weight, other)) {
        return false;
    }
    float other_error = error_of(block, row, column, other);
    float move = other_error - error;
    float change = move * (move * block->sums[i * block->n + i] + 2 * row->gradient[i]);
    if (!(change < 0)) {
        return false;
    }
    row->errors[i] = other_error;
    write_value(block->weight, row->values, column, other);
    add_scaled(row->gradient, block->sums + i * block->n, move, block->n);
    return true;
}

static void improve_block(const measured_block *block) {
    begin_block(block);
    bool has_moved = true;
    for (int pass = 0; pass < PASS_LIMIT && has_moved; pass++) {
        has_moved = false;
        for (size_t i = 0; i < block->n; i++) {
            for (size_t r = 0; r < block->row_count; r++) {
                has_moved |= improve_column(block, &block->rows[r], i);
            }
        }
    }
}

/* ---- rows ---- */

static float unit_of(const float *source, size_t columns) {
    float largest = 0;
    for (size_t i = 0; i < columns; i++) {
        float size = fabsf(source[i]);
        largest = size > largest ? size : largest;
    }
    int exponent;
    (void)frexpf(largest, &exponent);
    return ldexpf(1.0f, exponent < SMALLEST_EXPONENT ? -SMALLEST_EXPONENT : -exponent);
}

void clef_repack_measured(clef_weight weight, const clef_input_sums *sums, const float *source,
                          size_t count, void *values, const float *scales, float *scratch) {
    measured_row rows[CLEF_REPACK_MEASURED_ROWS];
    size_t widest = sums->block < weight.columns ? sums->block : weight.columns;
    for (size_t r = 0; r < count; r++) {
        const float *row = source + r * weight.columns;
        rows[r] = (measured_row){
            .source = row,
            .scales = scales + r * clef_weight_groups(weight),
            .values = (uint8_t *)values + r * clef_weight_row_bytes(weight),
            .unit = unit_of(row, weight.columns),
            .errors = scratch + 2 * r * widest,
            .gradient = scratch + (2 * r + 1) * widest,
        };
    }
    for (size_t first = 0; first < weight.columns; first += sums->block) {
        size_t left = weight.columns - first;
        improve_block(&(measured_block){.weight = weight,
                                        .sums = sums->values + first * sums->block,
                                        .first = first,
                                        .n = left < sums->block ? left : sums->block,
                                        .rows = rows,
                                        .row_count = count});
    }
}
