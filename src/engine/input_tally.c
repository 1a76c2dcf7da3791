/* The products of a step are a matrix product of its transposed rows with themselves, so the
 * backend's own product does the work, in bands of rows of the result and left of the diagonal
 * alone. */
#include "engine/input_tally.h"

#include "base/memory.h"
#include "base/size.h"

#include <math.h>

#define BAND 256 /* columns of input that a band of products belongs to */
/* Added to the diagonal, in parts of its mean. Directions that the records hardly show are not free
 * to be wrong; 0.1 to 1 do nearly alike on clef-tiny, 0.01 and 3 worse. */
#define FLOOR 0.3f

size_t clef_input_tally_floats(size_t columns) {
    return clef_input_sums_floats(columns, CLEF_INPUT_SUMS_BLOCK) + columns;
}

size_t clef_tally_scratch_floats(size_t columns, size_t rows) {
    return columns * rows +
           clef_size_smaller(columns, BAND) * clef_size_smaller(columns, CLEF_INPUT_SUMS_BLOCK);
}

clef_status clef_input_tally_create(size_t columns, clef_input_tally *tally, clef_error *error) {
    size_t floats = clef_input_sums_floats(columns, CLEF_INPUT_SUMS_BLOCK);
    tally->values = clef_allocate_aligned(floats, sizeof *tally->values);
    tally->importance = clef_allocate_aligned(columns, sizeof *tally->importance);
    tally->sums = (clef_input_sums){.columns = columns,
                                    .block = CLEF_INPUT_SUMS_BLOCK,
                                    .values = tally->values,
                                    .importance = tally->importance};
    return tally->values == NULL || tally->importance == NULL
               ? clef_fail_memory(error, floats * sizeof(float), "the products of measured inputs")
               : CLEF_OK;
}

void clef_input_tally_release(clef_input_tally *tally) {
    clef_release(tally->values);
    clef_release(tally->importance);
    *tally = (clef_input_tally){0};
}

clef_status clef_tally_scratch_create(size_t columns, size_t rows, clef_tally_scratch *scratch,
                                      clef_error *error) {
    size_t band =
        clef_size_smaller(columns, BAND) * clef_size_smaller(columns, CLEF_INPUT_SUMS_BLOCK);
    scratch->transposed = clef_allocate_aligned(columns * rows, sizeof *scratch->transposed);
    scratch->band = clef_allocate_aligned(band, sizeof *scratch->band);
    return scratch->transposed == NULL || scratch->band == NULL
               ? clef_fail_memory(error, columns * rows * sizeof(float), "the inputs of a step")
               : CLEF_OK;
}

void clef_tally_scratch_release(clef_tally_scratch *scratch) {
    clef_release(scratch->transposed);
    clef_release(scratch->band);
    *scratch = (clef_tally_scratch){0};
}

/* Block number `first` / block, of n columns, as a matrix. */
static clef_matrix block_at(const clef_input_tally *tally, size_t first) {
    size_t n = clef_size_smaller(tally->sums.block, tally->sums.columns - first);
    return (clef_matrix){tally->values + first * tally->sums.block, n, n, n};
}

void clef_input_tally_restart(clef_input_tally *tally) {
    size_t floats = clef_input_sums_floats(tally->sums.columns, tally->sums.block);
    memset(tally->values, 0, floats * sizeof *tally->values);
}

static void transpose(clef_matrix x, float *out) {
    for (size_t row = 0; row < x.rows; row++) {
        for (size_t column = 0; column < x.columns; column++) {
            out[column * x.rows + row] = x.data[row * x.stride + column];
        }
    }
}

void clef_input_tally_add(clef_input_tally *tally, clef_backend *backend, clef_matrix x,
                          const clef_tally_scratch *scratch) {
    transpose(x, scratch->transposed);
    for (size_t first = 0; first < x.columns; first += tally->sums.block) {
        clef_matrix block = block_at(tally, first);
        float *inputs = scratch->transposed + first * x.rows;
        for (size_t begin = 0; begin < block.rows; begin += BAND) {
            size_t count = clef_size_smaller(BAND, block.rows - begin);
            size_t end = begin + count;
            clef_matrix left = {inputs + begin * x.rows, count, x.rows, x.rows};
            clef_weight right = {
                .data = inputs, .dtype = CLEF_DTYPE_F32, .rows = end, .columns = x.rows};
            clef_matrix products = {scratch->band, count, end, end};
            clef_matrix into = clef_matrix_columns(clef_matrix_rows(block, begin, count), 0, end);
            clef_linear(backend, left, right, NULL, products);
            backend->operations->add(backend, into, products);
        }
    }
}

/* Scales a block, and copies its lower triangle to the upper one. */
static void complete(clef_matrix block, float factor) {
    for (size_t i = 0; i < block.rows; i++) {
        for (size_t j = 0; j < i; j++) {
            float value = block.data[i * block.stride + j] * factor;
            block.data[i * block.stride + j] = value;
            block.data[j * block.stride + i] = value;
        }
        block.data[i * block.stride + i] = block.data[i * block.stride + i] * factor + FLOOR;
    }
}

clef_tally_result clef_input_tally_finish(clef_input_tally *tally) {
    double total = 0;
    for (size_t i = 0; i < tally->sums.columns; i++) {
        clef_matrix block = block_at(tally, i / tally->sums.block * tally->sums.block);
        total += block.data[i % tally->sums.block * (block.stride + 1)];
    }
    float factor = (float)((double)tally->sums.columns / total);
    if (total == 0) {
        return CLEF_TALLY_EMPTY;
    }
    if (!isfinite(total) || !isfinite(factor)) {
        return CLEF_TALLY_NOT_FINITE;
    }
    for (size_t first = 0; first < tally->sums.columns; first += tally->sums.block) {
        clef_matrix block = block_at(tally, first);
        complete(block, factor);
        for (size_t i = 0; i < block.rows; i++) {
            tally->importance[first + i] = block.data[i * (block.stride + 1)];
        }
    }
    return CLEF_TALLY_GOOD;
}
